/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/html.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/output.h"

/* Where the page has its data. */
#define PLACE "@DATA@"

/* Made of tools/web by tools/web/embed. */
extern const uint8_t report[];
extern const size_t report_bytes;

/* Names may have anything in them, also what would end the element: a '<' stands in strings only. */
static void write_data(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		if (*text == '<')
			fputs("\\u003c", out);
		else
			fputc(*text, out);
	}
}

int html_write(const json_t *data, const char *path)
{
	const uint8_t *place = memmem(report, report_bytes, PLACE, strlen(PLACE));
	char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(12));
	const uint8_t *rest = place + strlen(PLACE);
	struct output output;
	int error;

	if (text == NULL) {
		fprintf(stderr, "%s: no memory for %s\n", program_invocation_short_name, path);
		return -ENOMEM;
	}
	error = output_open(&output, path);
	if (error == 0) {
		errno = 0;
		fwrite(report, 1, (size_t)(place - report), output.file);
		write_data(text, output.file);
		fwrite(rest, 1, (size_t)(report + report_bytes - rest), output.file);
		error = output_close(&output, true);
	}
	free(text);
	return error;
}
