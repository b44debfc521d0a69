/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/html.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/output.h"
#include "tools/lab/why_result.h"

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

/* @return null when it can't be told */
static json_t *why_of(json_t *result)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	json_t *why = NULL;

	if (out == NULL)
		return json_null();
	if (why_result_print(result, true, out) == 0 && fflush(out) == 0)
		why = json_loadb(text, size, 0, NULL);
	fclose(out);
	free(text);
	return why == NULL ? json_null() : why;
}

static json_t *page_data(json_t *const *results, size_t count, json_t *comparison)
{
	json_t *data = json_object(), *runs = json_array(), *whys = json_array();

	for (size_t i = 0; i < count; i++) {
		json_array_append(runs, results[i]);
		json_array_append_new(whys, why_of(results[i]));
	}
	json_object_set_new(data, "results", runs);
	json_object_set_new(data, "why", whys);
	if (comparison != NULL)
		json_object_set(data, "comparison", comparison);
	return data;
}

int html_write(json_t *const *results, size_t count, json_t *comparison, const char *path)
{
	const uint8_t *place = memmem(report, report_bytes, PLACE, strlen(PLACE));
	const uint8_t *rest = place + strlen(PLACE);
	json_t *data = page_data(results, count, comparison);
	char *text = json_dumps(data, JSON_COMPACT | JSON_REAL_PRECISION(12));
	struct output output;
	int error;

	json_decref(data);
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
