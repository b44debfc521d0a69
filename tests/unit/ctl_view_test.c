/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/ctl/view.h"

#define QUEUES(time_ns, rows)                                                                   \
	"{\"instance\":9,\"time_ns\":" #time_ns ",\"next\":0,\"keys\":[\"port\",\"priority\"]," \
	"\"counters\":[\"tx_packets\",\"tx_bytes\",\"drop_packets\"],"                          \
	"\"units\":[\"packets\",\"bytes\",\"packets\"],\"flags\":[]," rows "}"

static struct reply read_page(const char *text)
{
	json_t *page = json_loads(text, 0, NULL);
	struct ctl_error error;
	struct reply reply;
	uint64_t next;

	reply_init(&reply);
	cr_assert_eq(reply_add_page_json(&reply, page, &next, &error), 0, "%s", error.text);
	json_decref(page);
	return reply;
}

/* The table as text; free() it. */
static char *shown(const char *name, const struct view_source *source, char *const *ports,
		   size_t port_count, size_t *omitted)
{
	const struct view *view = view_find(name);
	struct table *table;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	cr_assert_not_null(view);
	table = view_table(view, source, ports, port_count, omitted);
	cr_assert_not_null(table);
	cr_assert_eq(table_write(table, out, false, 0, 0), 0);
	fclose(out);
	table_free(table);
	return text;
}

#define ROWS(packets, bytes, drops)                                                       \
	"\"port\":[\"h1\",\"h1\",\"h1\",\"h2\"],\"priority\":[0,3,7,0],"                  \
	"\"class\":[\"rest\",\"roce\",\"-\",\"rest\"],\"tx_packets\":" packets            \
	",\"tx_bytes\":" bytes ",\"drop_packets\":" drops ",\"depth_packets\":[0,2,0,0]," \
	"\"depth_bytes\":[0,3000,0,0],\"depth_bytes_max\":[60,9000,0,60]"

Test(ctl_view, totals_are_exact_and_shares_are_of_the_port)
{
	struct reply reply =
		read_page(QUEUES(1, ROWS("[10,30,0,1]", "[1000,3000,0,60]", "[0,5,0,0]")));
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("queues", &source, NULL, 0, &omitted);

	/* 1000 and 3000 of the 4000 bytes of h1; h2 has but one queue. */
	cr_expect_str_eq(
		text,
		"Port  Queue  Class  TX packets  TX bytes  Share %  Drops  Depth bytes  Deepest bytes"
		"  Depth packets\n"
		"h1        0  rest           10      1000     25.0      0            0             60"
		"              0\n"
		"h1        3  roce           30      3000     75.0      5         3000           9000"
		"              2\n"
		"h2        0  rest            1        60    100.0      0            0             60"
		"              0\n");
	cr_expect_eq(omitted, 1, "the idle queue of h1");
	free(text);
	reply_free(&reply);
}

Test(ctl_view, rates_are_bits_and_packets_per_second)
{
	struct reply before =
		read_page(QUEUES(1000000000, ROWS("[10,30,0,1]", "[1000,3000,0,60]", "[0,5,0,0]")));
	struct reply now = read_page(
		QUEUES(3000000000, ROWS("[30,1030,0,1]", "[3000,253000,0,60]", "[0,25,0,0]")));
	struct view_source source = {.reply = &now, .before = &before};
	char *ports[] = {(char[]){"h1"}};
	size_t omitted;
	char *text = shown("queues", &source, ports, 1, &omitted);

	/*
	 * In 2 s: 20 and 1000 packets, 2000 and 250000 bytes, 0 and 20 drops. 2000 * 8 / 2 = 8000
	 * bit/s, 250000 * 8 / 2 = 1000000; shares 2 and 250 of 252.
	 */
	cr_expect_str_eq(text,
			 "Port  Queue  Class  TX packet/s  TX bit/s  Share %  Drop/s  Depth bytes"
			 "  Deepest bytes  Depth packets\n"
			 "h1        0  rest          10.0     8.00k      0.8       0            0"
			 "             60              0\n"
			 "h1        3  roce           500     1.00M     99.2    10.0         3000"
			 "           9000              2\n");
	free(text);
	reply_free(&before);
	reply_free(&now);
}

Test(ctl_view, all_shows_what_is_left_out_otherwise)
{
	struct reply reply = read_page(QUEUES(1, ROWS("[0,0,0,0]", "[0,0,0,0]", "[0,0,0,0]")));
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("queues", &source, NULL, 0, &omitted);

	cr_expect_eq(omitted, 3, "roce has packets in it");
	free(text);
	source.all = true;
	text = shown("queues", &source, NULL, 0, &omitted);
	cr_expect_eq(omitted, 0);
	/* Of a port that sent nothing there are no shares. */
	cr_expect_not_null(strstr(text, "h2        0  rest            0         0        -"), "%s",
			   text);
	free(text);
	reply_free(&reply);
}

Test(ctl_view, drops_that_a_baseline_made_zero_are_left_out)
{
	struct reply reply =
		read_page("{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":[\"port\",\"reason\"],"
			  "\"counters\":[\"packets\"],\"units\":[\"packets\"],\"flags\":[],"
			  "\"port\":[\"h1\",\"h2\"],\"reason\":[\"ttl\",\"mtu\"],\"packets\":[0,3],"
			  "\"help\":[\"used up\",\"too long\"]}");
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("drops", &source, NULL, 0, &omitted);

	cr_expect_str_eq(text, "Port  Reason  Packets  Meaning\n"
			       "h2    mtu           3  too long\n");
	cr_expect_eq(omitted, 1);
	free(text);
	reply_free(&reply);
}

Test(ctl_view, a_prefix_stands_once_before_all_its_next_hops)
{
	struct reply reply = read_page(
		"{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":[],\"counters\":[],\"units\":[],"
		"\"flags\":[],\"to\":[\"10.0.0.0/8\",\"10.0.0.0/8\",\"::/0\"],"
		"\"kind\":[\"static\",\"static\",\"static\"],\"via\":[\"a\",\"b\",\"c\"],"
		"\"interface\":[\"u1\",\"u2\",\"u1\"],\"mac\":[\"-\",\"-\",\"-\"],"
		"\"state\":[\"resolved\",\"down\",\"resolved\"]}");
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("routes", &source, NULL, 0, &omitted);

	cr_expect_str_eq(text, "To          Kind    Via  Interface  MAC  State\n"
			       "10.0.0.0/8  static  a    u1         -    resolved\n"
			       "            static  b    u2         -    down\n"
			       "::/0        static  c    u1         -    resolved\n");
	free(text);
	reply_free(&reply);
}

Test(ctl_view, every_view_survives_a_reply_without_its_columns)
{
	struct reply reply = read_page("{\"instance\":9,\"time_ns\":5,\"next\":0,\"x\":[1,2]}");
	struct reply before = read_page("{\"instance\":9,\"time_ns\":1,\"next\":0,\"x\":[1,2]}");

	for (size_t i = 0; i < view_count; i++) {
		struct view_source source = {.reply = &reply, .all = true};
		size_t omitted;

		free(shown(views[i].name, &source, NULL, 0, &omitted));
		source.before = &before;
		free(shown(views[i].name, &source, NULL, 0, &omitted));
		cr_expect_not_null(views[i].help);
		cr_expect(views[i].hides == NULL || views[i].hidden != NULL);
	}
	reply_free(&reply);
	reply_free(&before);
}
