/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as an answer of the leaf: it is refused and changes nothing, or it is a table that can be
 * printed, sorted, subtracted from itself and written out to the same again.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/view.h"

#define COMMAND "/roceleaf/queues"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int by_column(const struct reply *reply, size_t a, size_t b)
{
	return text_compare(reply_text(reply, "port", a), reply_text(reply, "port", b));
}

/* Nothing that could steer a terminal may come out. */
static void check_printed(const struct view *view, const struct reply *reply,
			  const struct reply *before)
{
	const struct view_source source = {.reply = reply, .before = before, .all = true};
	char *text = NULL;
	size_t text_size = 0, omitted;
	FILE *out = open_memstream(&text, &text_size);
	struct table *table = view_table(view, &source, NULL, 0, &omitted);

	assert(out != NULL && table != NULL);
	assert(table_row_count(table) == reply->rows);
	table_write(table, out, false, 100, 0);
	fclose(out);
	for (size_t i = 0; i < text_size; i++)
		assert(text[i] == '\n' || ((unsigned char)text[i] >= 0x20 && text[i] != 0x7F));
	free(text);
	table_free(table);
}

static void check_table(struct reply *reply)
{
	struct ctl_error error;
	struct reply again;
	json_t *page = reply_page_json(reply), *rows = reply_rows_json(reply);
	uint64_t next;

	assert(page != NULL && rows != NULL && json_array_size(rows) == reply->rows);
	reply_init(&again);
	assert(reply_add_page_json(&again, page, &next, &error) == 0 && next == 0);
	assert(again.rows == reply->rows && again.columns == reply->columns);
	again.time_ns = reply->time_ns / 2;
	for (size_t i = 0; i < view_count; i++) {
		check_printed(&views[i], reply, NULL);
		check_printed(&views[i], reply, &again);
	}
	assert(reply_sort(reply, by_column) == 0);
	reply_subtract(reply, &again);
	assert(reply_join(reply, "text") == 0);
	json_decref(page);
	json_decref(rows);
	reply_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct ctl_error error;
	struct reply reply;
	uint64_t next;

	/* A row costs a search among all; a page of DPDK's has at most 16 KiB. */
	if (size > 4096)
		return 0;
	reply_init(&reply);
	if (reply_add_page(&reply, COMMAND, (const char *)data, size, &next, &error) == 0) {
		/* The same page once more fits behind itself. */
		assert(reply_add_page(&reply, COMMAND, (const char *)data, size, &next, &error) ==
		       0);
		check_table(&reply);
	} else {
		assert(reply.rows == 0 && reply.columns == 0 && error.text[0] != '\0');
	}
	reply_free(&reply);
	return 0;
}
