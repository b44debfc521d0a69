/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "control/http_handler.h"
#include "control/openmetrics.h"

void http_metrics(const struct http_request *request, struct http_answer *answer)
{
	const char *accept = http_header(request, "Accept");
	bool classic = accept == NULL || strstr(accept, "application/openmetrics-text") == NULL;

	answer->text = openmetrics_text(request->daemon, classic, &answer->size);
	answer->type = classic ? OPENMETRICS_TYPE_TEXT : OPENMETRICS_TYPE;
	answer->status = answer->text == NULL ? 0 : 200;
}
