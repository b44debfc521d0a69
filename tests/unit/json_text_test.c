/* SPDX-License-Identifier: BSD-3-Clause */
/* Which bytes are UTF-8 (RFC 3629 section 4), and how texts look in JSON (RFC 8259 section 7). */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "control/json_text.h"

Test(json_text, characters_are_told_by_the_table_of_rfc_3629)
{
	static const struct {
		const char *text;
		size_t bytes;
	} row[] = {
		{"a", 1},
		{"\x7f", 1},
		{"\xc2\x80", 2},
		{"\xdf\xbf", 2},
		{"\xe0\xa0\x80", 3},
		{"\xe2\x82\xac", 3},
		{"\xed\x9f\xbf", 3},
		{"\xee\x80\x80", 3},
		{"\xf0\x90\x80\x80", 4},
		{"\xf4\x8f\xbf\xbf", 4},
		/* What a first byte can't be. */
		{"\x80", 0},
		{"\xbf", 0},
		{"\xc0\x80", 0},
		{"\xc1\xbf", 0},
		{"\xf5\x80\x80\x80", 0},
		{"\xff", 0},
		/* Longer than needed, surrogates, beyond U+10FFFF. */
		{"\xe0\x9f\xbf", 0},
		{"\xf0\x8f\xbf\xbf", 0},
		{"\xed\xa0\x80", 0},
		{"\xf4\x90\x80\x80", 0},
		/* Cut off, or not gone on with. */
		{"\xc2", 0},
		{"\xe2\x82", 0},
		{"\xf0\x90\x80", 0},
		{"\xc2\x41", 0},
		{"\xe2\x82\x41", 0},
		{"\xf0\x90\x80\xc0", 0},
		{"", 0},
	};

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		cr_expect_eq(json_utf8_bytes(row[i].text, strlen(row[i].text)), row[i].bytes,
			     "row %zu", i);
}

Test(json_text, what_json_forbids_is_escaped_and_what_is_no_text_is_replaced)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	json_write_text(out, "Z\xc3\xbcrich \"1\" \\ \x01\t\x7f \xff\xe2\x82 end");
	cr_assert_eq(fclose(out), 0);
	cr_assert_str_eq(text,
			 "\"Z\xc3\xbcrich \\\"1\\\" \\\\ \\u0001\\u0009\\u007f \x3f\x3f\x3f end\"");
	free(text);
}
