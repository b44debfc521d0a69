/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What people read: names of types, guesses at misspelt keys, the reference page.
 */
#include "config/schema_internal.h"

#include <string.h>

#define WORD_BYTES 48

/* Edits (insert, delete, replace, swap neighbours) from a to b. */
static uint32_t edit_distance(const char *a, const char *b)
{
	size_t a_length = strlen(a);
	size_t b_length = strlen(b);
	uint32_t cost[3][WORD_BYTES + 1];
	size_t i;
	size_t j;

	if (a_length > WORD_BYTES || b_length > WORD_BYTES)
		return UINT32_MAX;
	for (j = 0; j <= b_length; j++)
		cost[0][j] = (uint32_t)j;
	for (i = 1; i <= a_length; i++) {
		uint32_t *row = cost[i % 3];
		const uint32_t *above = cost[(i + 2) % 3];
		const uint32_t *two_above = cost[(i + 1) % 3];

		row[0] = (uint32_t)i;
		for (j = 1; j <= b_length; j++) {
			uint32_t best = above[j - 1] + (a[i - 1] != b[j - 1]);

			if (above[j] + 1 < best)
				best = above[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
			    two_above[j - 2] + 1 < best)
				best = two_above[j - 2] + 1;
			row[j] = best;
		}
	}
	return cost[a_length % 3][b_length];
}

void schema_nearest_offer(struct schema_nearest *nearest, const char *written, const char *known)
{
	uint32_t distance = edit_distance(written, known);
	size_t length = strlen(known);

	/* A third of the letters may be wrong; two at most in short words, and never all. */
	if (distance > (length + 2) / 3 || distance >= length)
		return;
	if (nearest->word != NULL && nearest->distance <= distance)
		return;
	nearest->word = known;
	nearest->distance = distance;
}

struct type_help {
	const char *name; /* with its article */
	const char *example;
	const char *unit; /* how it is written, for the reference */
};

static const struct type_help type_help[] = {
	[SCHEMA_NONE] = {"nothing", "", ""},
	[SCHEMA_BOOL] = {"true or false", "true", ""},
	[SCHEMA_UINT] = {"a number", "5", ""},
	[SCHEMA_RATE] = {"a rate", "100G", "K, M, G, T (bits/s)"},
	[SCHEMA_SIZE] = {"a size", "64KB", "bytes, KB, MB, GB, KiB, MiB, GiB"},
	[SCHEMA_TIME] = {"a time", "50us", "ps, ns, us, ms, s, min, h"},
	[SCHEMA_LENGTH] = {"a length", "3m", "mm, cm, m, km"},
	[SCHEMA_SHARE] = {"a share", "20%", "%"},
	[SCHEMA_RATIO] = {"a ratio", "1/2", ""},
	[SCHEMA_NAME] = {"a name", "leaf1", ""},
	[SCHEMA_STRING] = {"a text", "text", ""},
	[SCHEMA_TEXT] = {"a text", "text", ""},
	[SCHEMA_ENUM] = {"a word", "", ""},
	[SCHEMA_SET] = {"a set of numbers and ranges", "5", ""},
	[SCHEMA_MAC] = {"a MAC address", "02:00:00:00:10:01", ""},
	[SCHEMA_IP] = {"an IP address", "10.1.0.1", ""},
	[SCHEMA_PREFIX] = {"a network", "10.2.0.0/24", ""},
	[SCHEMA_ADDRESS] = {"an interface's address", "10.1.0.1/24", ""},
	[SCHEMA_CUSTOM] = {"a value", "text", ""},
	[SCHEMA_MAP] = {"a mapping", "{key: value}", ""},
};

const char *schema_type_name(const struct schema_row *row)
{
	return type_help[row->type].name;
}

const char *schema_type_example(const struct schema_row *row)
{
	if (row->words != NULL)
		return row->words[0].word;
	return row->fallback != NULL ? row->fallback : type_help[row->type].example;
}

/* A cell of a Markdown table. */
static void print_cell(const char *text, FILE *out)
{
	for (; *text != '\0'; text++) {
		if (*text == '|')
			fputc('\\', out);
		fputc(*text, out);
	}
}

/* How a value of this row looks: "list of rates", "`spin` or `adaptive`". */
static void print_type(const struct schema_row *row, FILE *out)
{
	const struct schema_word *word;

	if (row->shape == SCHEMA_MANY || row->shape == SCHEMA_HEAP)
		fputs("list: ", out);
	for (word = row->words; word != NULL && word->word != NULL; word++)
		fprintf(out, "%s`%s`", word == row->words ? "" : " or ", word->word);
	if (row->words != NULL)
		return;
	if (row->shape == SCHEMA_KEYED)
		fprintf(out, "a mapping: {NAME: %s}", schema_type_name(&row->table->rows[1]));
	else if (row->type == SCHEMA_MAP)
		print_cell(row->shape == SCHEMA_ONE ? "a mapping" : row->table->name, out);
	else
		print_cell(schema_type_name(row), out);
}

/* One line: a key with all of its forms. */
static void print_key(const struct schema_row *forms, uint32_t form_count, bool reload_column,
		      FILE *out)
{
	const char *fallback = NULL;
	const char *fallback_help = NULL;
	const struct schema_word *word;
	char range[80];
	uint32_t i;

	fprintf(out, "| `%s` | ", forms->key);
	for (i = 0; i < form_count; i++) {
		fputs(i > 0 ? ", or " : "", out);
		print_type(&forms[i], out);
		if (forms[i].fallback != NULL)
			fallback = forms[i].fallback;
		if (forms[i].fallback_help != NULL)
			fallback_help = forms[i].fallback_help;
	}
	fputs(" | ", out);
	for (i = 0; i < form_count; i++)
		print_cell(forms[i].unit != NULL ? forms[i].unit : type_help[forms[i].type].unit,
			   out);
	fputs(" | ", out);
	for (i = 0; i < form_count; i++) {
		schema_format_range(&forms[i], range, sizeof(range));
		fputs(i > 0 && range[0] != '\0' ? " " : "", out);
		print_cell(range, out);
	}
	fputs(" | ", out);
	if ((forms->flags & SCHEMA_REQUIRED) != 0)
		fputs("*required*", out);
	else if (fallback_help != NULL)
		print_cell(fallback_help, out);
	else if (fallback != NULL)
		fprintf(out, "`%s`", fallback);
	if (reload_column)
		fprintf(out, " | %s", (forms->flags & SCHEMA_RELOADABLE) != 0 ? "yes" : "no");
	fputs(" | ", out);
	for (i = 0; i < form_count; i++) {
		fputs(i > 0 && forms[i].help != NULL ? " " : "", out);
		print_cell(forms[i].help != NULL ? forms[i].help : "", out);
		for (word = forms[i].words; word != NULL && word->word != NULL; word++) {
			if (word->help != NULL) {
				fprintf(out, " `%s`: ", word->word);
				print_cell(word->help, out);
			}
		}
	}
	fputs(" |\n", out);
}

static uint32_t forms_of(const struct schema_row *row)
{
	uint32_t count = 1;

	while (row[count].key != NULL && strcmp(row[count].key, row->key) == 0)
		count++;
	return count;
}

#define REFERENCE_PATH_BYTES 128

static void print_table(const struct schema_table *table, const char *path, bool reload_column,
			FILE *out)
{
	const struct schema_row *row;

	if (path[0] != '\0')
		fprintf(out, "\n## `%s`\n\n", path);
	if (table->help != NULL)
		fprintf(out, "%s\n\n", table->help);
	if ((table->flags & SCHEMA_ONE_OF) != 0)
		fputs("Exactly one of these keys:\n\n", out);
	fprintf(out, "| key | type | unit | range | default |%s meaning |\n",
		reload_column ? " reloadable |" : "");
	fprintf(out, "|---|---|---|---|---|%s---|\n", reload_column ? "---|" : "");
	for (row = table->rows; row->key != NULL; row += forms_of(row)) {
		if ((row->flags & SCHEMA_HIDDEN) == 0)
			print_key(row, forms_of(row), reload_column, out);
	}
	for (row = table->rows; row->key != NULL; row++) {
		char below[REFERENCE_PATH_BYTES];
		bool list = row->shape == SCHEMA_MANY || row->shape == SCHEMA_HEAP;

		if (row->type != SCHEMA_MAP || (row->flags & SCHEMA_HIDDEN) != 0)
			continue;
		if (row->shape == SCHEMA_KEYED && row->table->rows[1].type != SCHEMA_MAP)
			continue;
		snprintf(below, sizeof(below), "%s%s%s%s", path, path[0] != '\0' ? "." : "",
			 row->key,
			 list                         ? "[]"
			 : row->shape == SCHEMA_KEYED ? ".NAME"
						      : "");
		print_table(row->shape == SCHEMA_KEYED ? row->table->rows[1].table : row->table,
			    below, reload_column, out);
	}
}

void schema_print_reference(const struct schema_table *table, const char *title, bool reload_column,
			    FILE *out)
{
	fprintf(out, "# %s\n\n", title);
	print_table(table, "", reload_column, out);
}
