/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tests/lab/harness.h"

TestSuite(link, .init = harness_start);

/* Sends `left` frames as fast as the wire takes them; or notes when they arrive. */
struct end {
	struct node node;
	struct wire *tx, *rx;
	uint32_t left;
	uint32_t bytes;
	uint64_t arrival_ps[64];
	uint32_t arrived;
};

static void end_arrive(struct node *node, uint16_t port)
{
	struct end *end = (struct end *)node;
	struct rte_mbuf *packet;

	(void)port;
	while (wire_receive(end->rx, &packet, 1) == 1) {
		end->arrival_ps[end->arrived++] = node->engine->now_ps - node->engine->start_ps;
		rte_pktmbuf_free(packet);
	}
}

static uint64_t end_run(struct node *node, uint64_t now_ps)
{
	struct end *end = (struct end *)node;
	struct rte_mbuf *packet;

	if (end->left == 0)
		return now_ps + TIME_IDLE_PS;
	if (wire_free(end->tx)) {
		packet = rte_pktmbuf_alloc(harness_pool());
		cr_assert_not_null(rte_pktmbuf_append(packet, 60));
		packet_virtual_bytes_set(packet, (uint16_t)(end->bytes - 60));
		wire_send(end->tx, packet);
		end->left--;
	}
	return end->tx->free_ps;
}

static const struct node_ops end_ops = {"end", end_arrive, end_run};

#define TRAIN 40

/* The n-th frame of a train arrives at n * (S + overhead) * 8 / R, rounded down, plus the delay. */
static void check_train(uint64_t start_ps, uint64_t rate_bps, uint32_t bytes, uint64_t cable_mm,
			uint32_t overhead)
{
	struct engine *engine = engine_create(start_ps);
	struct end from = {.left = TRAIN, .bytes = bytes}, to = {.arrived = 0};
	struct link_params link = {rate_bps, cable_delay_ps(cable_mm), overhead};
	struct wire wire;

	engine_add(engine, &from.node, &end_ops);
	engine_add(engine, &to.node, &end_ops);
	wire_init(&wire, engine, &link, &to.node, 0);
	from.tx = &wire;
	to.rx = &wire;
	engine_wake(engine, &from.node, start_ps);
	cr_assert_eq(engine_run(engine, start_ps + PS_PER_S), 0);
	cr_assert_eq(to.arrived, TRAIN);
	for (uint64_t n = 1; n <= TRAIN; n++) {
		uint64_t bits = n * (bytes + overhead) * 8;
		uint64_t expected_ps =
			(uint64_t)((unsigned __int128)bits * PS_PER_S / rate_bps) + cable_mm * 5;

		cr_assert_eq(to.arrival_ps[n - 1], expected_ps,
			     "%" PRIu64 " b/s, %u bytes, %" PRIu64 " mm, frame %" PRIu64
			     ": %" PRIu64 " instead of %" PRIu64 " ps",
			     rate_bps, bytes, cable_mm, n, to.arrival_ps[n - 1], expected_ps);
	}
	wire_fini(&wire);
	engine_free(engine);
}

Test(link, frames_arrive_at_the_exact_picosecond)
{
	static const uint64_t rates_mbps[] = {100, 1000, 3000, 7000, 10000, 25000, 100000, 400000};
	static const uint32_t sizes[] = {60, 61, 1082, 1514, 4170, 9234};
	static const uint64_t cables_mm[] = {0, 1, 3000, 100000, 10000000};

	for (size_t r = 0; r < sizeof(rates_mbps) / sizeof(*rates_mbps); r++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++)
			for (size_t c = 0; c < sizeof(cables_mm) / sizeof(*cables_mm); c++)
				check_train(0, rates_mbps[r] * 1000000, sizes[s], cables_mm[c], 24);
}

Test(link, a_minimum_frame_at_400g_over_3_m_takes_16680_ps)
{
	/* (60 + 24) * 8 / 400e9 s = 1.68 ns, and 3 m * 5 ns. */
	struct engine *engine = engine_create(0);
	struct end from = {.left = 1, .bytes = 60}, to = {.arrived = 0};
	struct link_params link = {UINT64_C(400000000000), cable_delay_ps(3000), 24};
	struct wire wire;

	engine_add(engine, &from.node, &end_ops);
	engine_add(engine, &to.node, &end_ops);
	wire_init(&wire, engine, &link, &to.node, 0);
	from.tx = &wire;
	to.rx = &wire;
	engine_wake(engine, &from.node, 0);
	cr_assert_eq(engine_run(engine, 16679), 0);
	cr_assert_eq(to.arrived, 0);
	cr_assert_eq(engine_run(engine, 16680), 0);
	cr_assert_eq(to.arrived, 1);
	wire_fini(&wire);
	engine_free(engine);
}

Test(link, overhead_is_what_it_is_set_to)
{
	check_train(0, UINT64_C(100000000000), 1048, 200000, 0);
	check_train(0, UINT64_C(100000000000), 1048, 200000, 20);
}

Test(link, arrivals_are_exact_across_the_wrap_of_time)
{
	/* 40 frames of 4170 + 24 bytes at 3 Gb/s last 447 us: the clock wraps among them. */
	check_train(UINT64_MAX - 200 * PS_PER_US, UINT64_C(3000000000), 4170, 100000, 24);
	check_train(UINT64_MAX, UINT64_C(400000000000), 60, 3000, 24);
}

/*
 * Over a switch that takes no time: the frame is there whole before it leaves again, so both links'
 * times add up. A WRITE_ONLY packet with 1000 bytes of payload has 14 + 20 + 8 + 12 + 16 + 1000 + 4
 * bytes, 24 more on the wire.
 */
static void check_store_and_forward(const char *in, uint64_t in_bps, const char *out,
				    uint64_t out_bps)
{
	const uint64_t wire_bits = (14 + 20 + 8 + 12 + 16 + 1000 + 4 + 24) * 8;
	uint64_t expected_ps = wire_bits * 1000000 / (in_bps / 1000000) +
			       wire_bits * 1000000 / (out_bps / 1000000) + 7000 * 5 + 2000000 * 5;
	struct simulation *simulation;
	struct flow *flow;
	char text[1024];

	snprintf(
		text, sizeof(text),
		"duration: 10ms\n"
		"fabric: {explicit: {nodes: [a, b, s], links: [\n"
		"  {ends: [a, s], speed: %s, cable: 7m}, {ends: [s, b], speed: %s, cable: 2km}]}}\n"
		"traffic: [{flow: {name: one, from: a, to: b, bytes: 1000, start: 1us}}]\n",
		in, out);
	simulation = harness_simulate(text, 0, true);
	flow = harness_flow(simulation, "one");
	cr_assert(flow->finished);
	cr_expect_eq(flow->latency_max_ps, expected_ps, "%s to %s: %" PRIu64 " not %" PRIu64 " ps",
		     in, out, flow->latency_max_ps, expected_ps);
	cr_expect_eq(flow->finished_ps, PS_PER_US + expected_ps);
	harness_finish(simulation);
}

Test(link, a_switch_stores_and_forwards_to_the_exact_picosecond)
{
	check_store_and_forward("100G", UINT64_C(100000000000), "100G", UINT64_C(100000000000));
	check_store_and_forward("400G", UINT64_C(400000000000), "25G", UINT64_C(25000000000));
	check_store_and_forward("10G", UINT64_C(10000000000), "400G", UINT64_C(400000000000));
	check_store_and_forward("100M", UINT64_C(100000000), "1G", UINT64_C(1000000000));
}

/* Back to back through the switch the trains stay packed: the bottleneck alone sets the pace. */
Test(link, a_train_leaves_a_slower_port_back_to_back)
{
	/* 100 packets: one with RETH, 99 without; all 1000 bytes but in one message of 100000. */
	const uint64_t middle = (14 + 20 + 8 + 12 + 1000 + 4 + 24) * 8, first = middle + 16 * 8;
	uint64_t expected_ps = first * 1000 / 100 + 15000 + /* the first is in the switch */
			       (first + 99 * middle) * 1000 / 40 + 15000;
	struct simulation *simulation = harness_simulate(
		"duration: 1ms\n"
		"fabric: {explicit: {nodes: [a, b, s], links: [\n"
		"  {ends: [a, s], speed: 100G}, {ends: [s, b], speed: 40G}]}}\n"
		"hosts: {mtu: 1000}\n"
		"traffic: [{flow: {name: train, from: a, to: b, bytes: 100000}}]\n",
		0, true);
	struct flow *flow = harness_flow(simulation, "train");

	cr_assert(flow->finished);
	cr_expect_eq(flow->finished_ps, expected_ps, "%" PRIu64 " not %" PRIu64 " ps",
		     flow->finished_ps, expected_ps);
	harness_finish(simulation);
}

/* --- a receiver's ring --- */

/* Takes nothing by itself. */
static void ring_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static const struct node_ops ring_ops = {"ring", ring_arrive, end_run};

struct ring_lost {
	uint32_t bytes[TRAIN], count;
};

static void ring_note(void *context, struct rte_mbuf *packet)
{
	struct ring_lost *lost = context;

	lost->bytes[lost->count++] = packet_length(packet);
}

/* Frames of 101, 102 ... 110 bytes, 1 km apart from their receiver: the last ones are still in flight. */
Test(link, a_receiver_s_ring_loses_what_came_while_it_was_full)
{
	struct engine *engine = engine_create(UINT64_MAX - 3 * PS_PER_US);
	struct link_params params = {10000000000, 5 * PS_PER_US, 24};
	struct end end = {.left = 0};
	struct ring_lost lost = {.count = 0};
	struct wire wire;
	struct rte_mbuf *packet;
	uint64_t arrival_ps = 5 * PS_PER_US, taken = 0;

	engine_add(engine, &end.node, &ring_ops);
	wire_init(&wire, engine, &params, &end.node, 0);
	for (uint32_t i = 1; i <= 10; i++) {
		packet = rte_pktmbuf_alloc(harness_pool());
		cr_assert_not_null(rte_pktmbuf_append(packet, (uint16_t)(100 + i)));
		packet_virtual_bytes_set(packet, 0);
		wire_send(&wire, packet);
		/* (100 + i + 24) * 8 bits at 10 Gb/s; the seventh is there when we look. */
		arrival_ps += i <= 7 ? (124 + i) * UINT64_C(800) : 0;
	}
	cr_assert_eq(engine_run(engine, engine->start_ps + arrival_ps), 0);
	cr_assert_eq(wire_arrived_count(&wire), 7);
	cr_expect_eq(wire_lose(&wire, 7, ring_note, &lost), 0, "it has just room for them");
	cr_expect_eq(wire_lose(&wire, 3, ring_note, &lost), 4);
	cr_expect_eq(wire_lose(&wire, 3, ring_note, &lost), 0, "once");
	cr_assert_eq(lost.count, 4);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(lost.bytes[i], 104 + i, "the first three stay");
	cr_expect_eq(wire_frame_count(&wire), 6);
	/* The rest comes when it would have come, in order. */
	for (uint32_t i = 1; i <= 10; i++) {
		if (i >= 4 && i <= 7)
			continue;
		if (i > 7) {
			cr_expect_eq(wire_receive(&wire, &packet, 1), 0);
			arrival_ps += (124 + i) * UINT64_C(800);
			cr_assert_eq(engine_run(engine, engine->start_ps + arrival_ps), 0);
		}
		cr_assert_eq(wire_receive(&wire, &packet, 1), 1, "frame %u", i);
		cr_expect_eq(packet_length(packet), 100 + i);
		rte_pktmbuf_free(packet);
		taken++;
	}
	cr_expect_eq(taken, 6);
	cr_expect_eq(wire_frame_count(&wire), 0);
	wire_fini(&wire);
	engine_remove(engine, &end.node);
	engine_free(engine);
	harness_check_pool();
}
