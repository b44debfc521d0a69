/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/ctl/table.h"

/* The table as text; free() it. */
static char *written(const struct table *table, bool colour, size_t width, size_t rows)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	cr_assert_not_null(out);
	cr_assert_eq(table_write(table, out, colour, width, rows), 0);
	fclose(out);
	return text;
}

static struct table *ports(void)
{
	struct table *table = table_create();

	cr_assert_not_null(table);
	table_column(table, "Port", TABLE_LEFT);
	table_column(table, "Packets", TABLE_RIGHT);
	table_column(table, "State", TABLE_LEFT);
	table_cell(table, "h1", TABLE_PLAIN);
	table_cell(table, "7", TABLE_PLAIN);
	table_cell(table, "up", TABLE_GOOD);
	table_cell(table, "uplink1", TABLE_PLAIN);
	table_cell(table, "1234567890", TABLE_PLAIN);
	table_cell(table, "down", TABLE_BAD);
	return table;
}

Test(ctl_table, names_stand_left_and_numbers_right)
{
	struct table *table = ports();
	char *text = written(table, false, 0, 0);

	cr_expect_str_eq(text, "Port        Packets  State\n"
			       "h1                7  up\n"
			       "uplink1  1234567890  down\n");
	free(text);
	table_free(table);
}

Test(ctl_table, an_empty_table_is_its_header)
{
	struct table *table = table_create();
	char *text;

	table_column(table, "Reason", TABLE_LEFT);
	table_column(table, "Packets", TABLE_RIGHT);
	text = written(table, true, 0, 0);
	cr_expect_str_eq(text, "\033[1mReason\033[0m  \033[1mPackets\033[0m\n");
	cr_expect_eq(table_row_count(table), 0);
	free(text);
	table_free(table);
}

Test(ctl_table, colour_changes_no_width)
{
	struct table *table = ports();
	char *text = written(table, true, 0, 0), *plain = written(table, false, 0, 0);
	size_t kept = 0;

	for (char *c = text; *c != '\0'; c++) {
		if (*c == '\033')
			c = strchr(c, 'm');
		else
			text[kept++] = *c;
	}
	text[kept] = '\0';
	cr_expect_str_eq(text, plain);
	free(plain);
	free(text);
	table_free(table);
}

Test(ctl_table, no_line_ends_in_blanks)
{
	struct table *table = table_create();
	char *text;

	table_column(table, "A", TABLE_LEFT);
	table_column(table, "Long header", TABLE_LEFT);
	table_cell(table, "x", TABLE_PLAIN);
	table_cell(table, "", TABLE_PLAIN);
	text = written(table, false, 0, 0);
	cr_expect_str_eq(text, "A  Long header\nx\n");
	free(text);
	table_free(table);
}

Test(ctl_table, lines_are_cut_at_the_width_of_the_terminal)
{
	struct table *table = ports();

	for (size_t width = 1; width < 30; width++) {
		char *text = written(table, false, width, 0);

		for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
			cr_expect_leq(strlen(line), width, "width %zu: '%s'", width, line);
		free(text);
	}
	table_free(table);
}

Test(ctl_table, rows_that_do_not_fit_are_counted)
{
	struct table *table = table_create();
	char *text;

	table_column(table, "N", TABLE_RIGHT);
	for (int i = 0; i < 5; i++)
		table_cell(table, "1", TABLE_PLAIN);
	text = written(table, false, 0, 3);
	cr_expect_str_eq(text, "N\n1\n1\n... 3 more\n");
	free(text);
	text = written(table, false, 0, 5);
	cr_expect_str_eq(text, "N\n1\n1\n1\n1\n1\n");
	free(text);
	table_free(table);
}

Test(ctl_table, cells_are_cleaned_of_escapes)
{
	struct table *table = table_create();
	char *text;

	table_column(table, "Port", TABLE_LEFT);
	table_cell(table, "evil\033]0;title\007", TABLE_PLAIN);
	text = written(table, false, 0, 0);
	cr_expect_str_eq(text, "Port\nevil?]0;title?\n");
	free(text);
	table_free(table);
}
