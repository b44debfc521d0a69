/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/telemetry_page.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/*
 * DPDK's buffer is 16 KiB with a terminator and the braces around; what it can't hold it leaves out
 * silently. Descriptions of the columns are counted exactly, so little is needed beyond.
 */
#define PAGE_BYTES_MAX (16 * 1024 - 128)

/* In JSON: quotes and a comma, and every character may need a backslash. */
#define TEXT_CELL_BYTES   (2 * TELEMETRY_TEXT_BYTES + 3)
#define NUMBER_CELL_BYTES 21

void telemetry_page_start(struct telemetry_page *page)
{
	memset(page, 0, sizeof(*page));
	/* The command in front, instance, time_ns, next, and four empty arrays with their names. */
	page->bytes = 64 + 3 * 32 + 64;
}

void telemetry_page_start_rows(struct telemetry_page *page, FILE *out, bool comma)
{
	telemetry_page_start(page);
	page->out = out;
	page->comma = comma;
}

static void add_column(struct telemetry_page *page, const char *name, unsigned kind,
		       const char *unit)
{
	struct rte_tel_data *cells = NULL;
	uint32_t name_bytes = (uint32_t)strlen(name) + 3;

	assert(page->columns < TELEMETRY_COLUMNS_MAX && page->rows == 0);
	if (page->out == NULL) {
		if (!page->failed)
			cells = rte_tel_data_alloc();
		if (cells == NULL) {
			page->failed = true;
			return;
		}
		rte_tel_data_start_array(cells, (kind & TELEMETRY_TEXT) != 0 ? RTE_TEL_STRING_VAL
									     : RTE_TEL_U64_VAL);
	}
	page->column[page->columns].name = name;
	page->column[page->columns].unit = unit;
	page->column[page->columns].kind = kind;
	page->column[page->columns].cells = cells;
	page->columns++;
	page->bytes += name_bytes + 4;
	if (unit != NULL)
		page->bytes += name_bytes + (uint32_t)strlen(unit) + 3;
	if ((kind & (TELEMETRY_KEY | TELEMETRY_FLAG)) != 0)
		page->bytes += name_bytes;
	page->row_bytes += (kind & TELEMETRY_TEXT) != 0 ? TEXT_CELL_BYTES : NUMBER_CELL_BYTES;
}

void telemetry_page_column(struct telemetry_page *page, const char *name, unsigned kind)
{
	add_column(page, name, kind, NULL);
}

void telemetry_page_counter(struct telemetry_page *page, const char *name, const char *unit)
{
	add_column(page, name, 0, unit);
}

bool telemetry_page_row(struct telemetry_page *page)
{
	assert(page->failed || page->at == 0);
	if (page->failed || page->rows == RTE_TEL_MAX_ARRAY_ENTRIES ||
	    (page->out == NULL && page->bytes + page->row_bytes > PAGE_BYTES_MAX))
		return false;
	page->rows++;
	return true;
}

/* Go on to the next cell. */
static void next_cell(struct telemetry_page *page)
{
	page->at = (page->at + 1) % page->columns;
}

/* What stands before a cell: the end of the one before, and the name. */
static void row_name(struct telemetry_page *page)
{
	if (page->at == 0) {
		fputs(page->comma ? ",\n{" : "\n{", page->out);
		page->comma = true;
	} else {
		fputs(", ", page->out);
	}
	fprintf(page->out, "\"%s\": ", page->column[page->at].name);
}

/* What stands after one. */
static void row_cell_end(struct telemetry_page *page)
{
	if (page->at + 1 == page->columns)
		fputc('}', page->out);
	next_cell(page);
}

static void row_text(struct telemetry_page *page, const char *text)
{
	uint32_t next = page->at + 1;

	if ((page->column[page->at].kind & TELEMETRY_MORE) == 0) {
		row_name(page);
		fputc('"', page->out);
	}
	for (const char *c = text; *c != '\0'; c++)
		fprintf(page->out, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
	if (next == page->columns || (page->column[next].kind & TELEMETRY_MORE) == 0)
		fputc('"', page->out);
	row_cell_end(page);
}

static void row_number(struct telemetry_page *page, uint64_t number)
{
	row_name(page);
	if ((page->column[page->at].kind & TELEMETRY_FLAG) != 0)
		fputs(number != 0 ? "true" : "false", page->out);
	else
		fprintf(page->out, "%" PRIu64, number);
	row_cell_end(page);
}

/*
 * DPDK 22.11 looks a character with its top bit set up before the start of a table (char has a sign
 * there), so that what comes out is anything. Only printable ASCII may go in.
 */
void telemetry_page_text(struct telemetry_page *page, const char *text)
{
	char clean[TELEMETRY_TEXT_BYTES + 1];
	uint32_t size = 0;

	if (page->failed)
		return;
	assert(page->at < page->columns && (page->column[page->at].kind & TELEMETRY_TEXT) != 0);
	for (uint32_t i = 0; i < TELEMETRY_TEXT_BYTES && text[i] != '\0'; i++) {
		unsigned char c = (unsigned char)text[i];

		/* A character of several bytes becomes one mark. */
		if ((c & 0xC0) == 0x80)
			continue;
		clean[size++] = c >= 0x20 && c < 0x7F ? (char)c : '?';
		page->bytes += c == '"' || c == '\\';
	}
	clean[size] = '\0';
	if (page->out != NULL) {
		row_text(page, clean);
		return;
	}
	page->bytes += size + 3;
	rte_tel_data_add_array_string(page->column[page->at].cells, clean);
	next_cell(page);
}

void telemetry_page_number(struct telemetry_page *page, uint64_t number)
{
	if (page->failed)
		return;
	assert(page->at < page->columns && (page->column[page->at].kind & TELEMETRY_TEXT) == 0);
	/* A client's JSON integers have a sign. */
	if (number > INT64_MAX)
		number = INT64_MAX;
	if (page->out != NULL) {
		row_number(page, number);
		return;
	}
	page->bytes += 2;
	for (uint64_t n = number; n >= 10; n /= 10)
		page->bytes++;
	rte_tel_data_add_array_u64(page->column[page->at].cells, number);
	next_cell(page);
}

/* Hand an array over to the answer, which frees it once it is sent. */
static void add_array(struct rte_tel_data *out, const char *name, struct rte_tel_data *array)
{
	if (array != NULL && rte_tel_data_add_dict_container(out, name, array, 0) != 0)
		rte_tel_data_free(array);
}

/* The names (or units) of all columns of a kind, as an array of texts. */
static struct rte_tel_data *column_names(const struct telemetry_page *page, unsigned kind,
					 bool counters, bool units)
{
	struct rte_tel_data *names = rte_tel_data_alloc();

	if (names == NULL)
		return NULL;
	rte_tel_data_start_array(names, RTE_TEL_STRING_VAL);
	for (uint32_t c = 0; c < page->columns; c++) {
		bool wanted = counters ? page->column[c].unit != NULL
				       : (page->column[c].kind & kind) != 0;

		if (wanted)
			rte_tel_data_add_array_string(names, units ? page->column[c].unit
								   : page->column[c].name);
	}
	return names;
}

int telemetry_page_end(struct telemetry_page *page, struct rte_tel_data *out, uint64_t instance,
		       uint64_t time_ns, uint64_t next)
{
	assert(page->out == NULL && (page->failed || page->at == 0));
	if (page->failed) {
		for (uint32_t c = 0; c < page->columns; c++)
			rte_tel_data_free(page->column[c].cells);
		return -ENOMEM;
	}
	/*
	 * DPDK frees the arrays of an answer only by sending it. So an array that can't be added is
	 * left out rather than the whole refused: the client sees that it is missing.
	 */
	rte_tel_data_start_dict(out);
	rte_tel_data_add_dict_u64(out, "instance", instance);
	rte_tel_data_add_dict_u64(out, "time_ns", time_ns);
	rte_tel_data_add_dict_u64(out, "next", next);
	add_array(out, "keys", column_names(page, TELEMETRY_KEY, false, false));
	add_array(out, "counters", column_names(page, 0, true, false));
	add_array(out, "units", column_names(page, 0, true, true));
	add_array(out, "flags", column_names(page, TELEMETRY_FLAG, false, false));
	for (uint32_t c = 0; c < page->columns; c++)
		add_array(out, page->column[c].name, page->column[c].cells);
	return 0;
}
