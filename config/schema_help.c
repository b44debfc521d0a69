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
	const char *name;
	const char *example;
};

static const struct type_help type_help[] = {
	[SCHEMA_NONE] = {"nothing", ""},
	[SCHEMA_BOOL] = {"true or false", "true"},
	[SCHEMA_UINT] = {"a number", "5"},
	[SCHEMA_RATE] = {"a rate", "100G"},
	[SCHEMA_SIZE] = {"a size", "64KB"},
	[SCHEMA_TIME] = {"a time", "50us"},
	[SCHEMA_LENGTH] = {"a length", "3m"},
	[SCHEMA_SHARE] = {"a share", "20%"},
	[SCHEMA_RATIO] = {"a ratio", "1/2"},
	[SCHEMA_NAME] = {"a name", "leaf1"},
	[SCHEMA_STRING] = {"a text", "text"},
	[SCHEMA_TEXT] = {"a text", "text"},
	[SCHEMA_ENUM] = {"a word", ""},
	[SCHEMA_SET] = {"a set", "5"},
	[SCHEMA_MAC] = {"a MAC address", "02:00:00:00:10:01"},
	[SCHEMA_IP] = {"an IP address", "10.1.0.1"},
	[SCHEMA_PREFIX] = {"a network", "10.2.0.0/24"},
	[SCHEMA_ADDRESS] = {"an interface's address", "10.1.0.1/24"},
	[SCHEMA_CUSTOM] = {"a value", "text"},
	[SCHEMA_MAP] = {"a mapping", "{key: value}"},
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
