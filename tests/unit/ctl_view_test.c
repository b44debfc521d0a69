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
static char *laid_out(const struct view *view, const struct view_source *source, char *const *ports,
		      size_t port_count, size_t *omitted)
{
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

static char *shown(const char *name, const struct view_source *source, char *const *ports,
		   size_t port_count, size_t *omitted)
{
	return laid_out(view_find(name), source, ports, port_count, omitted);
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

Test(ctl_view, buffers_say_who_is_paused_and_why)
{
	struct reply reply = read_page(
		"{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":[\"port\",\"priority\"],"
		"\"counters\":[],\"units\":[],\"flags\":[],\"port\":[\"h1\",\"h2\",\"h3\"],"
		"\"priority\":[3,3,3],\"class\":[\"roce\",\"roce\",\"roce\"],"
		"\"state\":[\"running\",\"paused\",\"running\"],"
		"\"reason\":[\"-\",\"guard\",\"-\"],\"used_bytes\":[0,0,0],"
		"\"peak_bytes\":[4158,0,0],\"xoff_bytes\":[9000,9000,9000],"
		"\"xon_bytes\":[5000,5000,5000],\"headroom_used_bytes\":[0,0,0],"
		"\"headroom_peak_bytes\":[70,0,0],\"headroom_bytes\":[81000,81000,81000],"
		"\"lost_packets\":[5,0,0]}");
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("buffers", &source, NULL, 0, &omitted);

	/* One that is paused is shown though nothing was ever in it. */
	cr_expect_str_eq(text,
			 "Port  Class  State           Used bytes  Peak  Xoff   Xon  Headroom "
			 "used  Peak  Headroom  Lost\n"
			 "h1    roce   running                  0  4158  9000  5000"
			 "              0    70     81000     5\n"
			 "h2    roce   paused (guard)           0     0  9000  5000"
			 "              0     0     81000     0\n");
	cr_expect_eq(omitted, 1);
	free(text);
	reply_free(&reply);
}

#define PFC(time_ns, frames, paused, xoff)                                                         \
	"{\"instance\":9,\"time_ns\":" #time_ns ",\"next\":0,\"keys\":[\"port\",\"priority\"],"    \
	"\"counters\":[\"rx_frames\",\"rx_paused_ns\",\"tx_xoff\",\"tx_paused_ns\",\"rx_pauses\"," \
	"\"tx_xon\",\"tx_pauses\",\"watchdog_packets\"],"                                          \
	"\"units\":[\"frames\",\"ns\",\"frames\",\"ns\",\"pauses\",\"frames\",\"pauses\","         \
	"\"packets\"],\"watchdog\":[\"-\",\"storm\"],\"watchdog_packets\":[0," #frames "],"        \
	"\"flags\":[\"rx_paused\",\"tx_paused\"],\"port\":[\"h1\",\"h1\"],\"priority\":[0,3],"     \
	"\"class\":[\"rest\",\"roce\"],\"rx_paused\":[0,1],\"tx_paused\":[0,1],"                   \
	"\"rx_frames\":[0," #frames "],\"rx_pauses\":[0,2],\"rx_paused_ns\":[0," #paused           \
	"],\"tx_xoff\":[0," #xoff "],\"tx_xon\":[0,1],\"tx_pauses\":[0,1],\"tx_paused_ns\":[0,0]," \
	"\"rx_last_ns\":[0,1772600767000000000],\"tx_last_ns\":[0,0]}"

Test(ctl_view, pauses_are_frames_transitions_and_time)
{
	struct reply before = read_page(PFC(1000000000, 10, 1500000, 4));
	struct reply now = read_page(PFC(3000000000, 30, 501500000, 4));
	struct view_source source = {.reply = &before};
	size_t omitted;
	char *text;

	setenv("TZ", "UTC", 1);
	text = shown("pfc", &source, NULL, 0, &omitted);

	cr_expect_str_eq(text,
			 "Port  Priority  Class  Now        RX frames  RX pauses  RX paused ms"
			 "  TX xoff  TX xon  TX pauses  TX paused ms  Watchdog  Storms  Dropped"
			 "  Last RX pause        Last TX pause\n"
			 "h1           3  roce   both wait         10          2         1.500"
			 "        4       1          1         0.000  storm          0       10"
			 "  2026-03-04 05:06:07  -\n");
	cr_expect_eq(omitted, 1, "priority 0 has seen nothing");
	free(text);
	/* In 2 s: 20 frames, and 500 ms of pause. */
	source = (struct view_source){.reply = &now, .before = &before};
	text = shown("pfc", &source, NULL, 0, &omitted);
	cr_expect_str_eq(
		text,
		"Port  Priority  Class  Now        RX frame/s  RX pause/s  RX paused %"
		"  TX xoff/s  TX xon/s  TX pause/s  TX paused %  Watchdog  Storms  Dropped/s\n"
		"h1           3  roce   both wait        10.0           0         25.0"
		"          0         0           0          0.0  storm          0       10.0\n");
	free(text);
	reply_free(&before);
	reply_free(&now);
}

Test(ctl_view, marks_are_shown_as_a_share_of_what_was_sent)
{
	struct reply reply = read_page(
		"{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":[\"port\",\"priority\"],"
		"\"counters\":[\"tx_packets\",\"ecn_marked\",\"ecn_unmarked\",\"wred_packets\","
		"\"ecn_marked_bytes\"],"
		"\"units\":[\"packets\",\"packets\",\"packets\",\"packets\",\"bytes\"],"
		"\"flags\":[\"ecn\",\"wred\"],\"port\":[\"h1\",\"h1\",\"h2\"],"
		"\"priority\":[3,0,3],\"class\":[\"roce\",\"rest\",\"roce\"],\"ecn\":[1,0,1],"
		"\"wred\":[0,1,0],\"kmin_bytes\":[100000,0,1],\"kmax_bytes\":[400000,0,2],"
		"\"pmax_ppm\":[12500,0,1],\"wred_min_bytes\":[0,30,0],\"wred_max_bytes\":[0,40,0],"
		"\"tx_packets\":[800,10,0],\"ecn_marked\":[200,0,0],\"ecn_unmarked\":[7,0,0],"
		"\"wred_packets\":[0,5,0],\"depth_bytes\":[9,0,0],\"depth_bytes_max\":[99,1,0],"
		"\"ecn_marked_bytes\":[300000,0,0],\"half_life_ns\":[0,70000,0],"
		"\"average_bytes\":[0,35,0]}");
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("ecn", &source, NULL, 0, &omitted);

	/* 200 of 800; a queue without marking has no thresholds, and one of its depth no average. */
	cr_expect_str_eq(text, "Port  Class  Kmin bytes  Kmax bytes  Pmax %  Marked  Marked %"
			       "  Marked bytes  Not ECT  WRED drops  Depth bytes  Deepest bytes"
			       "  TX packets  WRED min  WRED max  Average of us  Average bytes\n"
			       "h1    roce       100000      400000    1.25     200      25.0"
			       "        300000        7           0            9             99"
			       "         800         -         -              -              -\n"
			       "h1    rest            -           -       -       0       0.0"
			       "             0        0           5            0              1"
			       "          10        30        40           70.0             35\n");
	cr_expect_eq(omitted, 1);
	free(text);
	reply_free(&reply);
}

/* Of 200 polls 100 took less than 1 us, 98 less than 4 us, and 2 longer than the last bound, 4 us. */
Test(ctl_view, workers_have_bounds_of_a_half_and_of_nearly_all_pauses)
{
	struct reply reply =
		read_page("{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":[\"worker\"],"
			  "\"counters\":[],\"units\":[],\"worker\":[0,1],"
			  "\"xoff_1us\":[100,0],\"xoff_2us\":[0,0],\"xoff_4us\":[98,0],"
			  "\"xoff_later\":[2,0]}");
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("workers", &source, NULL, 0, &omitted);

	cr_expect_not_null(strstr(text, "<1 (50%) <4 (99%) >4 (all)\n"), "%s", text);
	cr_expect_not_null(strstr(text, " -\n"), "a worker that has sent none: %s", text);
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
		if (views[i].beside == NULL)
			continue;
		free(laid_out(views[i].beside, &source, NULL, 0, &omitted));
		source.before = NULL;
		free(laid_out(views[i].beside, &source, NULL, 0, &omitted));
	}
	reply_free(&reply);
	reply_free(&before);
}

Test(ctl_view, flows_have_endpoints_queue_pairs_and_per_cent)
{
	struct reply reply = read_page(
		"{\"instance\":9,\"time_ns\":1,\"next\":0,\"keys\":[\"source\"],\"counters\":[],"
		"\"units\":[],\"flags\":[],"
		"\"source\":[\"10.0.0.1\",\"fd00::1\",\"10.0.0.3\"],\"source_port\":[49152,7,0],"
		"\"destination\":[\"10.1.0.1\",\"fd01::1\",\"10.1.0.3\"],"
		"\"destination_port\":[4791,80,0],\"protocol\":[\"roce\",\"tcp\",\"1\"],"
		"\"qp\":[291,0,0],\"class\":[\"roce\",\"rest\",\"rest\"],"
		"\"port\":[\"up1\",\"several\",\"up2\"],\"rate_bps\":[50000000000,0,0],"
		"\"share_ppm\":[666666,0,0]}");
	struct view_source source = {.reply = &reply};
	size_t omitted;
	char *text = shown("flows", &source, NULL, 0, &omitted);

	cr_expect_str_eq(
		text,
		"From            To             Protocol        QP  Class  Uplink   Rate bit/s  Share %\n"
		"10.0.0.1:49152  10.1.0.1:4791  roce      0x000123  roce   up1           50.0G     66.7\n"
		"[fd00::1]:7     [fd01::1]:80   tcp              -  rest   several           0      0.0\n"
		"10.0.0.3        10.1.0.3       1                -  rest   up2               0      0.0\n",
		"%s", text);
	free(text);
	reply_free(&reply);
}
