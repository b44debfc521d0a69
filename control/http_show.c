/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/http_handler.h"
#include "control/telemetry.h"

void http_show(const struct http_request *request, struct http_answer *answer)
{
	FILE *out = open_memstream(&answer->text, &answer->size);
	bool failed;
	int ret;

	if (out == NULL)
		return;
	ret = telemetry_show(request->daemon, request->rest, out);
	failed = ferror(out) != 0;
	failed = fclose(out) != 0 || failed;
	if (ret == 0 && !failed) {
		answer->status = 200;
		answer->type = HTTP_TYPE_JSON;
		return;
	}
	free(answer->text);
	*answer = (struct http_answer){0};
	if (ret == -ENOENT)
		http_say(answer, 404,
			 "No table has that name; 'roceleafctl show --help' has them.\n");
	else if (ret == -E2BIG)
		http_say(answer, 503, "The table is too large; ask roceleafctl for it.\n");
}
