/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The sketch of flows. Expected errors are those of its sources: at most sqrt(bytes * S) for what is
 * looked at once in S bytes, four times of which is a bound for one chance in 16,000; and of Space-Saving
 * (Metwally et al. 2005, theorems 1 and 2), at most all/k more than there were, and none of more than all/k is missing.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "dataplane/balance/sketch.h"
#include "dataplane/parse.h"

#define SAMPLE ((uint64_t)SKETCH_SAMPLE_BYTES)

enum { PORTS = 4, FRAME = 4096 };

static struct sketch *sketch;
static int64_t left_bytes;
static uint64_t now_ps;
static struct sketch_look look;

static void start(void)
{
	sketch = sketch_create(PORTS, 1);
	cr_assert_not_null(sketch);
	left_bytes = 0;
	/* Just before time wraps. */
	now_ps = UINT64_MAX - SKETCH_WINDOW_PS / 2;
}

static void stop(void)
{
	sketch_free(sketch);
}

TestSuite(sketch, .init = start, .fini = stop);

static struct parsed parsed_of(uint32_t flow)
{
	return (struct parsed){
		.kind = KIND_IPV4,
		.flags = PARSED_PORTS | PARSED_ROCE,
		.protocol = IP_PROTOCOL_UDP,
		.ports = 0xb712c000,
		.source = 0x0100000a,
		.destination = 0x0200000a,
		.bth_qp = __builtin_bswap32(flow),
	};
}

static void pass_packet(const struct parsed *parsed, uint32_t bytes, uint16_t egress)
{
	static const uint8_t ip[40] = {[8] = 0xfd, [23] = 1, [24] = 0xfd, [39] = 2};

	left_bytes -= bytes;
	if (left_bytes < 0)
		left_bytes += sketch_take(sketch, now_ps, parsed, ip, 3, egress);
}

static void pass(uint32_t flow, uint64_t bytes, uint16_t egress)
{
	struct parsed parsed = parsed_of(flow);

	for (; bytes >= FRAME; bytes -= FRAME)
		pass_packet(&parsed, FRAME, egress);
}

/* One that ends the window, and is in the next one. */
static void end_window(void)
{
	now_ps += SKETCH_WINDOW_PS;
	pass(0xffffff, 2 * SAMPLE, 0);
}

static struct sketch_flow find(uint32_t qp)
{
	uint32_t i = 0;

	while (i < look.count && look.flow[i].key.qp != qp)
		i++;
	cr_assert_lt(i, look.count, "queue pair %u", qp);
	return look.flow[i];
}

static void expect_about(uint64_t estimate, uint64_t bytes, const char *what)
{
	double error = 4 * sqrt((double)bytes * SAMPLE);

	cr_expect_float_eq((double)estimate, (double)bytes, error, "%s: %ju of %ju", what,
			   (uintmax_t)estimate, (uintmax_t)bytes);
}

Test(sketch, flows_and_ports_have_their_bytes_within_the_error_of_sampling)
{
	uint64_t port_bytes[PORTS] = {0};

	cr_expect_not(sketch_read(sketch, &look, NULL), "nothing is complete yet");
	/* Interleaved, in a ratio of 1 to 2 to 7; periodic on purpose. */
	for (uint32_t i = 0; i < 20000; i++)
		for (uint32_t k = 0; k < 10; k++)
			pass(k == 0 ? 1 : k < 3 ? 2 : 3, FRAME, k == 0 ? 1 : k < 3 ? 2 : 3);
	end_window();
	cr_assert(sketch_read(sketch, &look, port_bytes));
	cr_assert_eq(look.count, 3);
	expect_about(look.bytes, UINT64_C(200000) * FRAME, "all");
	for (uint32_t flow = 1; flow <= 3; flow++) {
		static const uint64_t packets[] = {0, 20000, 40000, 140000};

		expect_about(find(flow).bytes, packets[flow] * FRAME, "flow");
		expect_about(port_bytes[flow], packets[flow] * FRAME, "port");
		expect_about(sketch_port_bytes(sketch, (uint16_t)flow), packets[flow] * FRAME,
			     "since the start");
		cr_expect_eq(find(flow).over_bytes, 0);
		cr_expect_eq(find(flow).egress, flow);
	}
	cr_expect_eq(port_bytes[0], 0);
}

Test(sketch, small_packets_count_by_bytes_like_large_ones)
{
	struct parsed small = parsed_of(1), large = parsed_of(2);

	for (uint32_t i = 0; i < 4096; i++) {
		pass_packet(&large, 8192, 1);
		for (uint32_t k = 0; k < 128; k++)
			pass_packet(&small, 64, 2);
	}
	end_window();
	cr_assert(sketch_read(sketch, &look, NULL));
	expect_about(find(1).bytes, UINT64_C(4096) * 8192, "small");
	expect_about(find(2).bytes, UINT64_C(4096) * 8192, "large");
}

/* A thousand mice, and elephants of 3 % each: more flows than counters. */
Test(sketch, elephants_are_found_among_more_flows_than_there_are_counters)
{
	enum { MICE = 1000, ELEPHANTS = 8, ROUNDS = 16 };
	const uint64_t mouse = 3 * SAMPLE, elephant = MICE * mouse / 25;
	uint64_t sum = 0;

	for (uint32_t round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < MICE; i++)
			pass(1000 + i, mouse / ROUNDS, 0);
		for (uint32_t i = 0; i < ELEPHANTS; i++)
			pass(i, elephant / ROUNDS, 0);
	}
	end_window();
	cr_assert(sketch_read(sketch, &look, NULL));
	cr_expect_eq(look.count, SKETCH_FLOWS);
	for (uint32_t i = 0; i < ELEPHANTS; i++) {
		struct sketch_flow flow = find(i);
		double error = 4 * sqrt((double)elephant * SAMPLE);

		cr_expect_gt((double)flow.bytes, (double)elephant - error);
		cr_expect_lt((double)(flow.bytes - flow.over_bytes), (double)elephant + error);
	}
	for (uint32_t i = 0; i < look.count; i++) {
		cr_expect_leq(look.flow[i].over_bytes, look.bytes / SKETCH_FLOWS);
		cr_expect_gt(look.flow[i].bytes, look.flow[i].over_bytes);
		sum += look.flow[i].bytes;
	}
	/* A counter that changes hands keeps its value, so together they are all (lemma 1 there). */
	cr_expect_eq(sum, look.bytes);
}

Test(sketch, a_window_holds_what_came_in_it_and_nothing_older)
{
	uint64_t port_bytes[PORTS];

	pass(1, 100 * SAMPLE, 1);
	now_ps += SKETCH_WINDOW_PS - 1;
	pass(2, 100 * SAMPLE, 2);
	cr_expect_not(sketch_read(sketch, &look, NULL), "a window lasts its time");
	now_ps += 1;
	pass(3, 100 * SAMPLE, 3);
	cr_assert(sketch_read(sketch, &look, NULL));
	cr_expect_eq(look.end_ps - look.start_ps, SKETCH_WINDOW_PS);
	cr_expect_eq(look.count, 2);
	end_window();
	cr_assert(sketch_read(sketch, &look, port_bytes));
	cr_expect_eq(look.count, 1);
	cr_expect_gt(find(3).bytes, 0);
	cr_expect_eq(port_bytes[1], 0);
	cr_expect_gt(port_bytes[3], 0);
	/* The third one lies where the first one was. */
	end_window();
	cr_assert(sketch_read(sketch, &look, port_bytes));
	cr_expect_eq(look.count, 1);
	cr_expect_eq(port_bytes[1], 0);
	cr_expect_gt(sketch_port_bytes(sketch, 1), 0);
}

Test(sketch, a_flow_is_named_by_addresses_ports_queue_pair_and_priority)
{
	struct parsed parsed = parsed_of(0x123456), ipv6 = parsed_of(7);

	ipv6.kind = KIND_IPV6;
	/* Of one without RoCE the queue pair doesn't count. */
	ipv6.flags = PARSED_PORTS;
	for (uint32_t i = 0; i < 400; i++) {
		pass_packet(&parsed, FRAME, (uint16_t)(i / 200));
		pass_packet(&ipv6, FRAME, 2);
	}
	end_window();
	cr_assert(sketch_read(sketch, &look, NULL));
	cr_assert_eq(look.count, 2);
	cr_expect_arr_eq(find(0x123456).key.source, ((uint8_t[16]){10, 0, 0, 1}), 16);
	cr_expect_eq(find(0x123456).key.priority, 3);
	cr_expect_eq(find(0x123456).egress, SKETCH_EGRESS_SEVERAL);
	cr_expect_eq(find(0).key.roce, 0);
	cr_expect_arr_eq(find(0).key.destination, ((uint8_t[16]){0xfd, [15] = 2}), 16);
	cr_expect_eq(find(0).egress, 2);
}
