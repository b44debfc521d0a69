/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/ctl/reply.h"

#define COMMAND "/roceleaf/ports"

/* A page of two columns; `columns` is what stands behind the descriptions. */
#define PAGE_OF(instance, time_ns, next, columns)                                                      \
	"{\"" COMMAND "\":{\"instance\":" #instance ",\"time_ns\":" #time_ns ",\"next\":" #next        \
	",\"keys\":[\"port\"],\"counters\":[\"rx\"],\"units\":[\"bytes\"],\"flags\":[\"up\"]," columns \
	"}}"

static int add(struct reply *reply, const char *text, uint64_t *next)
{
	struct ctl_error error = {""};
	int ret = reply_add_page(reply, COMMAND, text, strlen(text), next, &error);

	cr_expect_eq(ret == 0, error.text[0] == '\0', "a message if and only if it failed: %d '%s'",
		     ret, error.text);
	return ret;
}

static struct reply read_page(const char *text)
{
	struct reply reply;
	uint64_t next;

	reply_init(&reply);
	cr_assert_eq(add(&reply, text, &next), 0);
	return reply;
}

Test(ctl_reply, a_page_becomes_rows_with_names_and_units)
{
	struct reply reply;
	uint64_t next;
	int rx;

	reply_init(&reply);
	cr_assert_eq(add(&reply,
			 PAGE_OF(9, 100, 2,
				 "\"port\":[\"h1\",\"h2\"],\"rx\":[5,9223372036854775807],"
				 "\"up\":[1,0]"),
			 &next),
		     0);
	cr_expect_eq(next, 2);
	cr_expect_eq(reply.instance, 9);
	cr_expect_eq(reply.time_ns, 100);
	cr_expect_eq(reply.rows, 2);
	cr_expect_eq(reply.columns, 3);
	cr_expect_str_eq(reply_text(&reply, "port", 1), "h2");
	cr_expect_eq(reply_number(&reply, "rx", 1), UINT64_C(9223372036854775807));
	rx = reply_column_find(&reply, "rx");
	cr_assert_geq(rx, 0);
	cr_expect(reply.column[rx].counter);
	cr_expect_str_eq(reply.column[rx].unit, "bytes");
	cr_expect(reply.column[reply_column_find(&reply, "port")].key);
	cr_expect(reply.column[reply_column_find(&reply, "up")].flag);
	reply_free(&reply);
}

Test(ctl_reply, absent_columns_read_as_nothing)
{
	struct reply reply = read_page(PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"rx\":[5],\"up\":[1]"));

	cr_expect_str_eq(reply_text(&reply, "nope", 0), "");
	cr_expect_eq(reply_number(&reply, "nope", 0), 0);
	cr_expect_str_eq(reply_text(&reply, "rx", 0), "", "a number is no text");
	cr_expect_eq(reply_number(&reply, "port", 0), 0, "a text is no number");
	reply_free(&reply);
}

Test(ctl_reply, pages_are_joined_in_order)
{
	struct reply reply;
	uint64_t next;

	reply_init(&reply);
	/* An empty page first: its columns have no type yet. */
	cr_assert_eq(add(&reply, PAGE_OF(9, 1, 1, "\"port\":[],\"rx\":[],\"up\":[]"), &next), 0);
	for (int page = 0; page < 100; page++) {
		char text[512];

		snprintf(text, sizeof(text),
			 PAGE_OF(9, 2, 0, "\"port\":[\"a%d\",\"b%d\"],\"rx\":[%d,0],\"up\":[1,1]"),
			 page, page, page);
		cr_assert_eq(add(&reply, text, &next), 0);
	}
	cr_expect_eq(reply.rows, 200);
	cr_expect_str_eq(reply_text(&reply, "port", 199), "b99");
	cr_expect_eq(reply_number(&reply, "rx", 198), 99);
	cr_expect_eq(reply.time_ns, 1, "the first page's");
	reply_free(&reply);
}

/* Whatever is wrong, the table stays as it was. */
Test(ctl_reply, hostile_pages_are_refused_and_change_nothing)
{
	static const struct {
		const char *what, *text;
	} rows[] = {
		{"nothing", ""},
		{"no JSON", "roceleaf"},
		{"cut off", "{\"" COMMAND "\":{\"instance\":9"},
		{"a NUL in a name", "{\"/roceleaf\\u0000/ports\":null}"},
		{"not an object", "[1,2,3]"},
		{"another command", "{\"/roceleaf/fdb\":{}}"},
		{"null: the daemon refused", "{\"" COMMAND "\":null}"},
		{"a string", "{\"" COMMAND "\":\"x\"}"},
		{"an array", "{\"" COMMAND "\":[]}"},
		{"no instance", "{\"" COMMAND "\":{\"time_ns\":1,\"next\":0}}"},
		{"negative next", PAGE_OF(9, 1, -1, "\"port\":[],\"rx\":[],\"up\":[]")},
		{"real next", PAGE_OF(9, 1, 1.5, "\"port\":[],\"rx\":[],\"up\":[]")},
		{"next as text", PAGE_OF(9, 1, "7", "\"port\":[],\"rx\":[],\"up\":[]")},
		{"too large a number",
		 PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"rx\":[18446744073709551616],\"up\":[1]")},
		{"negative count", PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"rx\":[-1],\"up\":[1]")},
		{"real count", PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"rx\":[1.5],\"up\":[1]")},
		{"null cell", PAGE_OF(9, 1, 0, "\"port\":[null],\"rx\":[1],\"up\":[1]")},
		{"nested cell", PAGE_OF(9, 1, 0, "\"port\":[[\"h1\"]],\"rx\":[1],\"up\":[1]")},
		{"mixed cells", PAGE_OF(9, 1, 0, "\"port\":[\"h1\",2],\"rx\":[1,2],\"up\":[1,1]")},
		{"ragged", PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"rx\":[1,2],\"up\":[1]")},
		{"another type", PAGE_OF(9, 1, 0, "\"port\":[7],\"rx\":[1],\"up\":[1]")},
		{"other columns", PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"rx\":[1]")},
		{"other names", PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"tx\":[1],\"up\":[1]")},
		{"a duplicate",
		 PAGE_OF(9, 1, 0, "\"port\":[\"h1\"],\"port\":[\"h2\"],\"rx\":[1],\"up\":[1]")},
		{"another instance", PAGE_OF(8, 1, 0, "\"port\":[\"h1\"],\"rx\":[1],\"up\":[1]")},
		{"not UTF-8", PAGE_OF(9, 1, 0, "\"port\":[\"\xFF\"],\"rx\":[1],\"up\":[1]")},
	};
	struct reply reply = read_page(PAGE_OF(9, 1, 0, "\"port\":[\"h9\"],\"rx\":[3],\"up\":[1]"));

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t next;

		cr_expect_lt(add(&reply, rows[i].text, &next), 0, "%s", rows[i].what);
		cr_expect_eq(reply.rows, 1, "%s", rows[i].what);
		cr_expect_eq(reply.columns, 3, "%s", rows[i].what);
		cr_expect_str_eq(reply_text(&reply, "port", 0), "h9", "%s", rows[i].what);
	}
	reply_free(&reply);
}

Test(ctl_reply, odd_descriptions_are_passed_over)
{
	struct reply reply =
		read_page("{\"" COMMAND "\":{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":7,"
			  "\"counters\":[1,null,\"rx\"],\"units\":\"bytes\",\"more\":{\"a\":[1]},"
			  "\"port\":[\"h1\"],\"rx\":[1]}}");

	cr_expect_eq(reply.columns, 2);
	cr_expect(reply.column[reply_column_find(&reply, "rx")].counter);
	cr_expect_str_eq(reply.column[reply_column_find(&reply, "rx")].unit, "");
	reply_free(&reply);
}

Test(ctl_reply, too_many_columns_are_refused)
{
	char text[8192];
	size_t used = (size_t)snprintf(text, sizeof(text),
				       "{\"" COMMAND "\":{\"instance\":9,\"time_ns\":1,\"next\":0");
	struct ctl_error error;
	struct reply reply;
	uint64_t next;

	for (int c = 0; c <= REPLY_COLUMNS_MAX; c++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, ",\"c%d\":[1]", c);
	used += (size_t)snprintf(text + used, sizeof(text) - used, "}}");
	reply_init(&reply);
	cr_expect_eq(reply_add_page(&reply, COMMAND, text, used, &next, &error), -EPROTO);
	cr_expect_eq(reply.columns, 0);
	reply_free(&reply);
}

Test(ctl_reply, deep_nesting_is_refused_without_harm)
{
	enum { DEPTH = 100000 };
	char *text = malloc(DEPTH);
	struct ctl_error error;
	struct reply reply;
	uint64_t next;

	cr_assert_not_null(text);
	memset(text, '[', DEPTH);
	reply_init(&reply);
	cr_expect_eq(reply_add_page(&reply, COMMAND, text, DEPTH, &next, &error), -EPROTO);
	reply_free(&reply);
	free(text);
}

Test(ctl_reply, a_baseline_is_taken_off_counters_only)
{
	struct reply now = read_page(PAGE_OF(
		9, 5, 0, "\"port\":[\"h1\",\"h2\",\"h3\"],\"rx\":[100,7,50],\"up\":[1,1,0]"));
	/* Rows in another order, h3 not there yet, h2 larger than now. */
	struct reply base =
		read_page(PAGE_OF(9, 1, 0, "\"port\":[\"h2\",\"h1\"],\"rx\":[8,40],\"up\":[1,1]"));

	reply_subtract(&now, &base);
	cr_expect_eq(reply_number(&now, "rx", 0), 60);
	cr_expect_eq(reply_number(&now, "rx", 1), 7, "below the baseline: left as it is");
	cr_expect_eq(reply_number(&now, "rx", 2), 50, "new since then");
	cr_expect_eq(reply_number(&now, "up", 0), 1, "not a counter");
	reply_free(&now);
	reply_free(&base);
}

Test(ctl_reply, a_baseline_of_another_instance_means_nothing)
{
	struct reply now = read_page(PAGE_OF(9, 5, 0, "\"port\":[\"h1\"],\"rx\":[100],\"up\":[1]"));
	struct reply base = read_page(PAGE_OF(8, 1, 0, "\"port\":[\"h1\"],\"rx\":[40],\"up\":[1]"));

	reply_subtract(&now, &base);
	cr_expect_eq(reply_number(&now, "rx", 0), 100);
	reply_free(&now);
	reply_free(&base);
}

Test(ctl_reply, rates_are_growth_over_the_time_between)
{
	struct reply before = read_page(
		PAGE_OF(9, 1000000000, 0, "\"port\":[\"h1\",\"h2\"],\"rx\":[100,9],\"up\":[1,1]"));
	struct reply now = read_page(
		PAGE_OF(9, 1500000000, 0,
			"\"port\":[\"h0\",\"h1\",\"h2\"],\"rx\":[50,350,3],\"up\":[1,1,1]"));
	struct reply other = read_page(PAGE_OF(8, 1, 0, "\"port\":[],\"rx\":[],\"up\":[]"));

	/* (350 - 100) in 0.5 s */
	cr_expect_float_eq(reply_rate(&now, &before, "rx", 1), 500.0, 1e-9);
	cr_expect_float_eq(reply_rate(&now, &before, "rx", 0), 100.0, 1e-9, "new: from 0");
	cr_expect_lt(reply_rate(&now, &before, "rx", 2), 0, "less than before");
	cr_expect_lt(reply_rate(&now, &now, "rx", 1), 0, "no time between");
	cr_expect_lt(reply_rate(&before, &now, "rx", 0), 0, "backwards");
	cr_expect_lt(reply_rate(&now, &other, "rx", 1), 0, "another instance");
	reply_free(&before);
	reply_free(&now);
	reply_free(&other);
}

static int by_rx(const struct reply *reply, size_t a, size_t b)
{
	uint64_t x = reply_number(reply, "rx", a), y = reply_number(reply, "rx", b);

	return (x > y) - (x < y);
}

Test(ctl_reply, sorting_is_stable_and_moves_whole_rows)
{
	struct reply reply = read_page(PAGE_OF(
		9, 1, 0,
		"\"port\":[\"a\",\"b\",\"c\",\"d\",\"e\"],\"rx\":[3,1,3,2,1],\"up\":[0,1,0,0,0]"));
	static const char *const order[] = {"b", "e", "d", "a", "c"};

	cr_assert_eq(reply_sort(&reply, by_rx), 0);
	for (size_t i = 0; i < 5; i++)
		cr_expect_str_eq(reply_text(&reply, "port", i), order[i]);
	cr_expect_eq(reply_number(&reply, "up", 0), 1);
	reply_free(&reply);

	reply = read_page(PAGE_OF(9, 1, 0, "\"port\":[],\"rx\":[],\"up\":[]"));
	cr_expect_eq(reply_sort(&reply, by_rx), 0);
	reply_free(&reply);
}

Test(ctl_reply, pieces_of_a_long_text_are_joined)
{
	struct reply reply = read_page(
		"{\"" COMMAND "\":{\"instance\":9,\"time_ns\":1,\"next\":0,"
		"\"text\":[\"one \",\"x\"],\"text_2\":[\"two \",\"\"],\"text_3\":[\"three\",\"\"],"
		"\"after\":[1,2]}}");

	cr_assert_eq(reply_join(&reply, "text"), 0);
	cr_expect_eq(reply.columns, 2);
	cr_expect_str_eq(reply_text(&reply, "text", 0), "one two three");
	cr_expect_str_eq(reply_text(&reply, "text", 1), "x");
	cr_expect_eq(reply_number(&reply, "after", 1), 2);
	cr_expect_eq(reply_join(&reply, "nope"), 0);
	reply_free(&reply);
}

Test(ctl_reply, json_has_a_row_per_object_and_flags_as_booleans)
{
	struct reply reply =
		read_page(PAGE_OF(9, 1, 0, "\"port\":[\"h1\",\"h2\"],\"rx\":[5,6],\"up\":[1,0]"));
	json_t *rows = reply_rows_json(&reply);
	json_t *expected = json_loads("[{\"port\":\"h1\",\"rx\":5,\"up\":true},"
				      "{\"port\":\"h2\",\"rx\":6,\"up\":false}]",
				      0, NULL);

	cr_expect(json_equal(rows, expected));
	json_decref(rows);
	json_decref(expected);
	reply_free(&reply);
}

Test(ctl_reply, a_page_written_out_reads_back_the_same)
{
	struct reply reply =
		read_page(PAGE_OF(9, 77, 0, "\"port\":[\"h1\",\"h2\"],\"rx\":[5,6],\"up\":[1,0]"));
	json_t *page = reply_page_json(&reply);
	struct ctl_error error;
	struct reply again;
	uint64_t next;
	int rx;

	reply_init(&again);
	cr_assert_eq(reply_add_page_json(&again, page, &next, &error), 0);
	cr_expect_eq(next, 0);
	cr_expect_eq(again.instance, 9);
	cr_expect_eq(again.rows, 2);
	rx = reply_column_find(&again, "rx");
	cr_assert_geq(rx, 0);
	cr_expect(again.column[rx].counter);
	cr_expect_str_eq(again.column[rx].unit, "bytes");
	cr_expect_eq(reply_row_find(&again, &reply, 1), 1);
	json_decref(page);
	reply_free(&again);
	reply_free(&reply);
}
