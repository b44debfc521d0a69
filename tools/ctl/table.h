/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * table - aligned text tables: a header line, names left, numbers right, two spaces between.
 *
 * Cells are added row by row; widths are found when it is written. Lines carry no trailing blanks,
 * so that pipes and diffs stay clean. Colour is decided by the caller and never changes widths.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_TABLE_H
#define TOOLS_CTL_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define TABLE_COLUMNS_MAX 24

enum table_align { TABLE_LEFT, TABLE_RIGHT };

enum table_tone {
	TABLE_PLAIN,
	TABLE_GOOD,  /* green */
	TABLE_BAD,   /* red */
	TABLE_QUIET, /* dim */
};

struct table;

/** An empty table, or NULL when out of memory. */
struct table *table_create(void);
void table_free(struct table *table);

/** Before the first row. Columns beyond TABLE_COLUMNS_MAX are a mistake of ours. */
void table_column(struct table *table, const char *header, enum table_align align);

/** Next cell, left to right; rows follow each other without a call between. Text is copied. */
void table_cell(struct table *table, const char *text, enum table_tone tone);

size_t table_row_count(const struct table *table);

/**
 * Write it.
 * @param colour escape sequences for header and tones
 * @param width  columns that fit, the rest of a line is cut off; 0: no limit
 * @param rows   rows that fit beneath the header; the last line then says how many more there are;
 *               0: no limit
 * @return 0, or -ENOMEM when a cell was lost on the way
 */
int table_write(const struct table *table, FILE *out, bool colour, size_t width, size_t rows);

#endif
