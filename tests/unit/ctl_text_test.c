/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "tools/ctl/text.h"

Test(ctl_text, rates_have_three_digits_and_a_prefix)
{
	/* Three significant digits, rounded half up where the next digit says so. */
	static const struct {
		double rate;
		const char *text;
	} rows[] = {
		{0, "0"},
		{0.004, "0"},
		{0.25, "0.25"},
		{7.25, "7.25"},
		{9.996, "10.0"},
		{42, "42.0"},
		{99.96, "100"},
		{812, "812"},
		{999.4, "999"},
		{999.6, "1.00k"},
		{1234, "1.23k"},
		{94123456, "94.1M"},
		{99.96e6, "100M"},
		{999.7e6, "1.00G"},
		{400e9, "400G"},
		{1.25e12, "1.25T"},
		{1.8446744073709552e19, "18.4E"},
		{-1, "-"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[TEXT_NUMBER_BYTES];

		text_rate(text, rows[i].rate);
		cr_expect_str_eq(text, rows[i].text, "%f: %s, not %s", rows[i].rate, text,
				 rows[i].text);
	}
}

Test(ctl_text, rates_that_are_no_numbers_are_a_dash)
{
	char text[TEXT_NUMBER_BYTES];

	text_rate(text, __builtin_nan(""));
	cr_expect_str_eq(text, "-");
	text_rate(text, __builtin_inf());
	cr_expect_lt(strlen(text), sizeof(text));
}

Test(ctl_text, speeds_are_written_as_in_the_config)
{
	static const struct {
		uint64_t bps;
		const char *text;
	} rows[] = {
		{0, "-"},
		{UINT64_C(100000000000), "100G"},
		{UINT64_C(2500000000), "2.5G"},
		{UINT64_C(1000000000), "1G"},
		{UINT64_C(200000000), "200M"},
		{UINT64_C(1600000000000), "1600G"},
		{UINT64_C(1234567890), "1234567890"}, /* never rounded: it is a setting */
		{UINT64_C(1500000), "1.5M"},
		{64000, "64k"},
		{7, "7"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[TEXT_NUMBER_BYTES];

		text_speed(text, rows[i].bps);
		cr_expect_str_eq(text, rows[i].text, "%s, not %s", text, rows[i].text);
	}
}

Test(ctl_text, durations_have_two_units)
{
	static const struct {
		uint64_t seconds;
		const char *text;
	} rows[] = {
		{0, "0s"},         {59, "59s"},        {60, "1m00s"},     {192, "3m12s"},
		{3599, "59m59s"},  {3600, "1h00m"},    {86399, "23h59m"}, {86400, "1d00h"},
		{446400, "5d04h"}, {UINT64_MAX, NULL},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[TEXT_NUMBER_BYTES];

		text_duration(text, rows[i].seconds);
		cr_expect_lt(strlen(text), sizeof(text));
		if (rows[i].text != NULL)
			cr_expect_str_eq(text, rows[i].text, "%s, not %s", text, rows[i].text);
	}
}

Test(ctl_text, width_counts_characters_not_bytes)
{
	cr_expect_eq(text_width(""), 0);
	cr_expect_eq(text_width("port"), 4);
	cr_expect_eq(text_width("Zürich"), 6);
	cr_expect_eq(text_width("\xE2\x82\xAC"), 1); /* euro sign */
}

Test(ctl_text, control_characters_never_reach_a_terminal)
{
	char text[] = "a\033[2Jb\r\n\x7F\xC2\x9B!";

	text_clean(text);
	cr_expect_str_eq(text, "a?[2Jb"
			       "?????"
			       "!");
	cr_expect_null(strchr(text, 033));
}

Test(ctl_text, comparison_knows_numbers_in_names)
{
	static const struct {
		const char *a, *b;
		int order;
	} rows[] = {
		{"h2", "h10", -1},
		{"h10", "h2", 1},
		{"h2", "h2", 0},
		{"h", "h1", -1},
		{"h02", "h2", 0},
		{"h2a", "h2b", -1},
		{"10.0.0.9", "10.0.0.10", -1},
		{"", "", 0},
		{"", "a", -1},
		{"a", "", 1},
		{"99999999999999999999999", "100000000000000000000000", -1},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int order = text_compare(rows[i].a, rows[i].b);

		cr_expect_eq((order > 0) - (order < 0), rows[i].order, "%s and %s", rows[i].a,
			     rows[i].b);
	}
}
