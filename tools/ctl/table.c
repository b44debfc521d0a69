/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/table.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/text.h"

#define GAP_COLUMNS 2

struct cell {
	char *text;
	enum table_tone tone;
};

struct table {
	struct {
		const char *header;
		enum table_align align;
	} column[TABLE_COLUMNS_MAX];
	size_t columns;
	struct cell *cell;
	size_t cells, room;
	bool incomplete; /* out of memory once */
};

/* One line on its way out; `used` counts terminal columns. */
struct line {
	FILE *out;
	bool colour;
	size_t width, used;
	size_t blanks; /* owed: written only when something follows */
};

struct table *table_create(void)
{
	return calloc(1, sizeof(struct table));
}

void table_free(struct table *table)
{
	if (table == NULL)
		return;
	for (size_t i = 0; i < table->cells; i++)
		free(table->cell[i].text);
	free(table->cell);
	free(table);
}

void table_column(struct table *table, const char *header, enum table_align align)
{
	assert(table->columns < TABLE_COLUMNS_MAX && table->cells == 0);
	table->column[table->columns].header = header;
	table->column[table->columns].align = align;
	table->columns++;
}

void table_cell(struct table *table, const char *text, enum table_tone tone)
{
	char *copy;

	if (table->cells == table->room) {
		size_t room = table->room == 0 ? 64 : 2 * table->room;
		struct cell *cell = reallocarray(table->cell, room, sizeof(*cell));

		if (cell == NULL) {
			table->incomplete = true;
			return;
		}
		table->cell = cell;
		table->room = room;
	}
	copy = strdup(text);
	if (copy == NULL) {
		table->incomplete = true;
		return;
	}
	text_clean(copy);
	table->cell[table->cells].text = copy;
	table->cell[table->cells].tone = tone;
	table->cells++;
}

size_t table_row_count(const struct table *table)
{
	return table->columns == 0 ? 0 : table->cells / table->columns;
}

static void line_begin(struct line *line)
{
	line->used = 0;
	line->blanks = 0;
}

/* Bytes of text that fit into so many columns. */
static size_t fitting_bytes(const char *text, size_t columns)
{
	size_t bytes = 0;

	for (; text[bytes] != '\0'; bytes++) {
		if (((unsigned char)text[bytes] & 0xC0) == 0x80)
			continue;
		if (columns-- == 0)
			break;
	}
	return bytes;
}

static void line_add(struct line *line, const char *text, const char *escape)
{
	size_t room = SIZE_MAX, bytes;

	if (*text == '\0')
		return;
	if (line->width != 0) {
		if (line->used + line->blanks >= line->width)
			return;
		room = line->width - line->used - line->blanks;
	}
	line->used += line->blanks;
	for (; line->blanks > 0; line->blanks--)
		fputc(' ', line->out);
	bytes = fitting_bytes(text, room);
	if (line->colour && *escape != '\0')
		fputs(escape, line->out);
	fwrite(text, 1, bytes, line->out);
	if (line->colour && *escape != '\0')
		fputs("\033[0m", line->out);
	line->used += text_width(text);
}

static void line_add_aligned(struct line *line, const char *text, const char *escape,
			     enum table_align align, size_t width)
{
	size_t pad = width - text_width(text);

	if (align == TABLE_RIGHT)
		line->blanks += pad;
	line_add(line, text, escape);
	if (align == TABLE_LEFT)
		line->blanks += pad;
	line->blanks += GAP_COLUMNS;
}

static const char *tone_escape(enum table_tone tone)
{
	switch (tone) {
	case TABLE_GOOD:
		return "\033[32m";
	case TABLE_BAD:
		return "\033[1;31m";
	case TABLE_QUIET:
		return "\033[2m";
	case TABLE_PLAIN:
		break;
	}
	return "";
}

int table_write(const struct table *table, FILE *out, bool colour, size_t width, size_t rows)
{
	struct line line = {.out = out, .colour = colour, .width = width};
	size_t widths[TABLE_COLUMNS_MAX];
	size_t count = table_row_count(table), shown = count;

	if (rows != 0 && count > rows)
		shown = rows - 1;
	for (size_t c = 0; c < table->columns; c++) {
		widths[c] = text_width(table->column[c].header);
		for (size_t r = 0; r < shown; r++) {
			size_t w = text_width(table->cell[r * table->columns + c].text);

			widths[c] = w > widths[c] ? w : widths[c];
		}
	}
	line_begin(&line);
	for (size_t c = 0; c < table->columns; c++)
		line_add_aligned(&line, table->column[c].header, "\033[1m", table->column[c].align,
				 widths[c]);
	fputc('\n', out);
	for (size_t r = 0; r < shown; r++) {
		line_begin(&line);
		for (size_t c = 0; c < table->columns; c++) {
			const struct cell *cell = &table->cell[r * table->columns + c];

			line_add_aligned(&line, cell->text, tone_escape(cell->tone),
					 table->column[c].align, widths[c]);
		}
		fputc('\n', out);
	}
	if (shown < count)
		fprintf(out, "... %zu more\n", count - shown);
	return table->incomplete ? -ENOMEM : 0;
}
