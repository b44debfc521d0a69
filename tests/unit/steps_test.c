/* SPDX-License-Identifier: BSD-3-Clause */
/* Steps of a job: what is counted between two marks, and whom it names. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/steps.h"

#define PORTS 3
#define S_NS  UINT64_C(1000000000)

static struct steps *steps;
static struct history_look *now; /* counters */
static struct step_port port[PORTS];
static struct step out[STEPS_KEPT + 10];

static void start(void)
{
	steps = steps_create(PORTS);
	now = calloc(1, history_bytes(PORTS, 1));
	for (int i = 0; i < PORTS; i++)
		port[i] = (struct step_port){.rate_bps = UINT64_C(1000000000), .uplink = i > 0};
}

static void stop(void)
{
	steps_free(steps);
	free(now);
}

TestSuite(steps, .init = start, .fini = stop);

static void after_s(uint64_t seconds)
{
	now->time_ns += seconds * S_NS;
	now->monotonic_ns += seconds * S_NS;
}

static uint32_t read_after(uint64_t after)
{
	return steps_read(steps, now, port, after, out, STEPS_KEPT + 10);
}

Test(steps, there_are_none_without_a_mark)
{
	cr_expect_eq(read_after(0), 0);
}

Test(steps, a_mark_ends_a_step_and_begins_its_own)
{
	now->time_ns = 77 * S_NS;
	now->port[0].queue[3].tx_bytes = 5000; /* before the first mark */
	steps_mark(steps, now, port, "one");
	after_s(2);
	now->port[0].queue[3].tx_bytes += 10;
	now->port[2].queue[0].tx_bytes += 5;
	now->port[1].queue[3].ecn_marked += 4;
	now->port[1].queue[4].tx_pauses += 3;
	now->port[1].queue[4].tx_paused_ns += 2;
	now->port[1].drop_packets += 1;
	steps_mark(steps, now, port, "two");
	after_s(3);
	now->port[0].queue[3].rx_bytes += 9;
	cr_assert_eq(read_after(0), 2);
	cr_expect_str_eq(out[0].text, "one");
	cr_expect_eq(out[0].sequence, 1);
	cr_expect_eq(out[0].begin_ns, 77 * S_NS);
	cr_expect_eq(out[0].duration_ns, 2 * S_NS);
	cr_expect_not(out[0].running);
	cr_expect_eq(out[0].sum.tx_bytes, 15);
	cr_expect_eq(out[0].sum.rx_bytes, 0);
	cr_expect_eq(out[0].sum.ecn_marked, 4);
	cr_expect_eq(out[0].sum.tx_pauses, 3);
	cr_expect_eq(out[0].sum.tx_paused_ns, 2);
	cr_expect_eq(out[0].drop_packets, 1);
	cr_expect_str_eq(out[1].text, "two");
	cr_expect_eq(out[1].begin_ns, 79 * S_NS);
	cr_expect_eq(out[1].duration_ns, 3 * S_NS);
	cr_expect(out[1].running);
	cr_expect_eq(out[1].sum.tx_bytes, 0);
	cr_expect_eq(out[1].sum.rx_bytes, 9);
	cr_expect_eq(read_after(1), 1, "after the first");
	cr_expect_eq(out[0].sequence, 2);
	cr_expect_eq(read_after(2), 0);
}

/*
 * On the wire a frame takes 24 bytes more (802.3 preamble, gap, FCS). 1 Gb/s sends 125,000,000 bytes in a
 * second: 90,000 frames with 97,840,000 bytes take 100,000,000, which is 80 %.
 */
Test(steps, the_hottest_is_the_uplink_that_was_busy_for_longest)
{
	steps_mark(steps, now, port, "x");
	after_s(1);
	now->port[0].queue[0].tx_bytes = 120000000; /* no uplink */
	now->port[1].queue[0].tx_bytes = 49999000;
	now->port[2].queue[0].tx_bytes = 97840000;
	now->port[2].queue[0].tx_packets = 90000;
	cr_assert_eq(read_after(0), 1);
	cr_expect_eq(out[0].hottest, 2);
	cr_expect_eq(out[0].hottest_ppm, 800000);
	/* By its speed: of 500 Mb/s 50,000,000 bytes are 80 %. */
	port[1].rate_bps /= 2;
	cr_assert_eq(read_after(0), 1);
	cr_expect_eq(out[0].hottest, 2);
	now->port[1].queue[0].tx_bytes += 2000;
	cr_assert_eq(read_after(0), 1);
	cr_expect_eq(out[0].hottest, 1);
	/* Without uplinks it is the hottest port. */
	for (int i = 0; i < PORTS; i++)
		port[i].uplink = false;
	cr_assert_eq(read_after(0), 1);
	cr_expect_eq(out[0].hottest, 0);
	cr_expect_eq(out[0].hottest_ppm, 960000);
}

Test(steps, the_straggler_is_the_port_whose_peer_held_us_for_longest)
{
	steps_mark(steps, now, port, "x");
	after_s(1);
	cr_assert_eq(read_after(0), 1);
	cr_expect_eq(out[0].straggler, STEP_PORT_NONE);
	cr_expect_eq(out[0].hottest, STEP_PORT_NONE);
	now->port[0].queue[3].rx_paused_ns = 300;
	now->port[0].queue[4].rx_paused_ns = 300;
	now->port[1].queue[3].rx_paused_ns = 500;
	now->port[2].queue[3].tx_paused_ns = 10000; /* we held it, not it us */
	cr_assert_eq(read_after(0), 1);
	cr_expect_eq(out[0].straggler, 0);
	cr_expect_eq(out[0].straggler_paused_ns, 600);
}

Test(steps, the_last_are_kept)
{
	char text[16];

	for (unsigned i = 1; i <= STEPS_KEPT + 2; i++) {
		(void)snprintf(text, sizeof(text), "%u", i);
		steps_mark(steps, now, port, text);
	}
	/* One more than are kept has begun, and one of them was overwritten. */
	cr_assert_eq(read_after(0), STEPS_KEPT + 1);
	cr_expect_str_eq(out[0].text, "2");
	cr_expect_str_eq(out[STEPS_KEPT].text, "514");
	cr_expect(out[STEPS_KEPT].running);
	for (uint32_t i = 0; i <= STEPS_KEPT; i++)
		cr_expect_eq(out[i].sequence, i + 2);
	cr_expect_eq(steps_read(steps, now, port, 0, out, 3), 3);
	cr_expect_eq(out[2].sequence, 4);
}

Test(steps, texts_of_marks_are_utf8_in_one_line)
{
	static const struct {
		const char *text;
		bool fine;
	} row[] = {
		{"step 1200 begin", true},
		{"\xc2\xa0", true}, /* U+00A0, the first after the control characters */
		{"Z\xc3\xbcrich \xf0\x9f\x9a\x80", true},
		{"", false},
		{"a\nb", false},
		{"a\tb", false},
		{"\x1b[31m", false},
		{"\x7f", false},
		{"\xc2\x9b", false}, /* U+009B: a terminal takes it for ESC [ */
		{"\xc2", false},
		{"\xff", false},
	};
	char text[MARK_TEXT_BYTES + 2];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		cr_expect_eq(mark_text_wrong(row[i].text, strlen(row[i].text)) == NULL, row[i].fine,
			     "row %zu", i);
	memset(text, 'x', sizeof(text));
	cr_expect_null(mark_text_wrong(text, MARK_TEXT_BYTES));
	cr_expect_not_null(mark_text_wrong(text, MARK_TEXT_BYTES + 1));
	text[3] = '\0';
	cr_expect_not_null(mark_text_wrong(text, 5), "a NUL within");
}
