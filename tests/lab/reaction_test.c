/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts that react to marks, on exact wires: frames of notifications, their spacing and their class, and
 * what becomes of the senders' rates. Identifiers such as ECN-PFC-ORDER name the case of a switch tester's
 * catalogue that a test covers.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tests/lab/harness.h"

TestSuite(reaction, .init = harness_start);

#define TEXT_MAX 4096
#define US       PS_PER_US

static struct queue_totals queue_of(struct simulation *simulation, uint16_t port, uint8_t priority)
{
	struct queue_totals queue;

	leaf_queue_totals(simulation->fabric->switches[0]->leaf, port, priority, &queue);
	return queue;
}

static uint64_t dropped(struct simulation *simulation)
{
	struct fabric_conservation sum;

	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	return sum.dropped;
}

/* --- alone --- */

static uint64_t completion_ps(const char *cc)
{
	struct simulation *simulation;
	const struct flow *flow;
	uint64_t time_ps;
	char text[TEXT_MAX];

	snprintf(text, sizeof(text),
		 "duration: 500us\n"
		 "fabric: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2}}\n"
		 "hosts: {%s}\n"
		 "traffic: [{flow: {name: alone, from: leaf1.h1, to: leaf2.h2, bytes: 5MB}}]\n",
		 cc);
	simulation = harness_simulate(text, UINT64_MAX - 100 * US, true);
	flow = harness_flow(simulation, "alone");
	cr_assert(flow->finished, "%s", cc);
	cr_expect_eq(flow->marked_packets, 0, "%s", cc);
	cr_expect_eq(flow->cnps, 0, "%s", cc);
	time_ps = flow->finished_ps - flow->params.start_ps;
	harness_finish(simulation);
	return time_ps;
}

Test(reaction, ECN_NOCONG_one_flow_sends_at_line_rate_to_the_picosecond)
{
	uint64_t none_ps = completion_ps("cc: none");

	cr_expect_eq(completion_ps("cc: dcqcn, dcqcn: {preset: nvidia}"), none_ps);
	cr_expect_eq(completion_ps("cc: dcqcn, dcqcn: {preset: hpcc}"), none_ps);
	cr_expect_eq(completion_ps("cc: dcqcn, dcqcn: {preset: paper}"), none_ps);
}

/* --- notifications --- */

Test(reaction, a_cnp_is_a_frame_as_the_annex_has_it)
{
	struct frame_path path = {
		.source_mac = {2, 0x10, 0, 1, 0, 1},
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.family = 4,
		.tos = 48 << 2,
		.source_ip = {10, 1, 0, 1},
		.destination_ip = {10, 2, 0, 1},
		.source_port = 50000,
		.queue_pair = 0x123456,
		.becn = true,
	};
	struct notifier notifier = {.interval_ps = 0};
	struct notification notification;
	struct rte_mbuf *packet = rte_pktmbuf_alloc(harness_pool());
	const uint8_t *data;
	struct frame_view view;

	cr_assert_not_null(packet);
	data = packet_data(packet);
	/* What the buffer held before doesn't show. */
	memset(packet_data(packet), 0xff, FRAME_REAL_BYTES_MAX);
	notification_init(&notification, &path);
	notification_marked(&notifier, &notification, 0);
	notifier_build(&notifier, packet);
	cr_expect_not(notifier_asked(&notifier));
	cr_expect_eq(notification.sent, 1);
	/* Ethernet 14, IPv4 20, UDP 8, BTH 12, reserved 16, invariant CRC 4. */
	cr_expect_eq(packet_length(packet), 74);
	cr_expect_eq(data[15], 48 << 2, "DSCP 48, not ECN capable");
	cr_expect_eq(data[42], 0x81, "opcode");
	cr_expect_eq(data[46], 0x40, "BECN alone");
	cr_expect_arr_eq(data + 47, "\x12\x34\x56", 3, "the sender's queue pair");
	cr_expect_eq(packet->data_len, 62);
	for (uint32_t i = 54; i < packet->data_len; i++)
		cr_expect_eq(data[i], 0, "byte %u is reserved", i);
	cr_assert(frame_read(packet, &view));
	cr_expect_eq(view.opcode, FRAME_CNP);
	cr_expect_eq(view.queue_pair, 0x123456);
	rte_pktmbuf_free(packet);
}

#define TWO_TO_ONE(dcqcn_)                                       \
	"duration: 2ms\n"                                        \
	"fabric: {explicit: {nodes: [a, b, to, s], links: [\n"   \
	"  {ends: [a, s]}, {ends: [b, s]}, {ends: [to, s]}]}}\n" \
	"hosts: {cc: dcqcn, dcqcn: {" dcqcn_ "}}\n"              \
	"traffic:\n"                                             \
	"  - flow: {name: a, from: a, to: to, bytes: 5MB}\n"     \
	"  - flow: {name: b, from: b, to: to, bytes: 5MB}\n"

/*
 * Two senders at line rate fill the receiver's queue by 100 Gb/s, beyond Kmax (400 KB) within 32 us, so
 * that every packet is marked from then on until rates have fallen.
 */
Test(reaction, cnps_come_at_most_once_an_interval_in_their_own_class)
{
	struct simulation *simulation = harness_begin(TWO_TO_ONE("preset: paper"));
	const struct flow *a = harness_flow(simulation, "a");
	uint64_t last_ps = 0, seen = 0;

	/* Their way back is free: they arrive as they were asked for, at the end of a window. */
	for (uint64_t t = 0; t < 2000; t++) {
		harness_run_to(simulation, t * US);
		if (a->cnps == seen)
			continue;
		cr_expect_eq(a->cnps, seen + 1, "after %" PRIu64 " us", t);
		if (seen != 0)
			cr_expect_geq(t * US, last_ps + 49 * US);
		last_ps = t * US;
		seen = a->cnps;
	}
	cr_expect_geq(seen, 2);
	/* What the leaf sent to a is CNPs, all in priority 6. */
	cr_expect_eq(queue_of(simulation, 0, 6).tx_packets, seen);
	cr_expect_eq(queue_of(simulation, 0, 3).tx_packets, 0);
	cr_expect_eq(queue_of(simulation, 0, 0).tx_packets, 0);
	cr_expect_eq(queue_of(simulation, 0, 6).tx_bytes, 74 * seen);
	cr_expect_eq(queue_of(simulation, 2, 6).rx_packets,
		     seen + harness_flow(simulation, "b")->cnps);
	cr_expect_eq(a->notification->sent, seen);
	cr_expect_eq(dropped(simulation), 0);
	harness_finish(simulation);
}

Test(reaction, without_an_interval_every_mark_has_its_cnp)
{
	struct simulation *simulation = harness_begin(TWO_TO_ONE("preset: hpcc"));
	const struct flow *a = harness_flow(simulation, "a"), *b = harness_flow(simulation, "b");

	harness_run_to(simulation, 2 * PS_PER_MS);
	cr_expect(a->finished && b->finished);
	cr_expect_gt(a->marked_packets, 0);
	cr_expect_eq(a->cnps, a->marked_packets);
	cr_expect_eq(b->cnps, b->marked_packets);
	cr_expect_eq(queue_of(simulation, 2, 3).ecn_marked, a->marked_packets + b->marked_packets);
	harness_finish(simulation);
}

Test(reaction, the_class_of_cnps_is_that_of_their_dscp)
{
	struct simulation *simulation =
		harness_begin("duration: 2ms\n"
			      "fabric: {explicit: {nodes: [a, b, to, s], links: [\n"
			      "  {ends: [a, s]}, {ends: [b, s]}, {ends: [to, s]}]}}\n"
			      "hosts: {cc: dcqcn, cnp_dscp: 56}\n"
			      "traffic: [{incast: {senders: 2, to: to, bytes: 5MB}}]\n");

	harness_run_to(simulation, 2 * PS_PER_MS);
	cr_expect_eq(queue_of(simulation, 0, 6).tx_packets, 0);
	cr_expect_gt(queue_of(simulation, 0, 7).tx_packets, 0);
	harness_finish(simulation);
}

/* --- rates --- */

/* The paper's first CNPs halve, as alpha is one; the flow is paced by what the controller says. */
Test(reaction, a_sender_that_is_told_sends_at_half_of_its_rate)
{
	struct simulation *simulation =
		harness_begin("duration: 2ms\n"
			      "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 2}}\n"
			      "hosts: {cc: dcqcn, dcqcn: {preset: paper, alpha_timer: 900us, "
			      "increase_timer: 900us}}\n"
			      "traffic: [{flow: {name: a, from: leaf1.h1, to: leaf1.h2}}]\n");
	struct flow *flow = harness_flow(simulation, "a");
	uint64_t before;

	for (uint32_t halvings = 0; halvings < 5; halvings++) {
		/* 4154 bytes and 24 of the wire; every 256th packet is 16 longer. */
		uint64_t packets = 100 * US / (4178 * 80 << halvings);

		harness_run_to(simulation, (200 * halvings + 1) * US);
		before = flow->sent_packets;
		harness_run_to(simulation, (200 * halvings + 101) * US);
		cr_expect_geq(flow->sent_packets - before, packets - 1, "%u", halvings);
		cr_expect_leq(flow->sent_packets - before, packets + 1, "%u", halvings);
		flow->cc->ops->cnp(flow->cc, simulation->fabric->engine->now_ps);
		cr_expect_eq(flow->cc->rate_bps, (UINT64_C(100000000000) >> (halvings + 1)));
	}
	harness_finish(simulation);
}

/* At 1 Mb/s a packet of 4 KB is due after 33 ms; the rate rises after 300 us. */
Test(reaction, a_rate_that_rises_brings_the_next_packet_forward)
{
	struct simulation *simulation =
		harness_begin("duration: 2ms\n"
			      "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 2}}\n"
			      "hosts: {cc: dcqcn, dcqcn: {preset: hpcc, min_rate: 1M}}\n"
			      "traffic: [{flow: {name: a, from: leaf1.h1, to: leaf1.h2}}]\n");
	struct flow *flow = harness_flow(simulation, "a");
	uint64_t before, cut_us = 0;

	for (uint64_t t = 0; flow->cc->rate_bps > 1000000; t++) {
		cr_assert_lt(t, 500);
		harness_run_to(simulation, t * US);
		flow->cc->ops->cnp(flow->cc, simulation->fabric->engine->now_ps);
		cut_us = t;
	}
	harness_run_to(simulation, (cut_us + 200) * US);
	before = flow->sent_packets;
	harness_run_to(simulation, (cut_us + 295) * US);
	cr_expect_leq(flow->sent_packets, before + 1);
	/* The first rise goes half of the way back to 100G: 150 packets in 100 us. */
	harness_run_to(simulation, (cut_us + 310 + 100) * US);
	cr_expect_gt(flow->sent_packets, before + 140);
	harness_finish(simulation);
}

/* Jain's index of what flows received since a look before, in millionths. */
static uint64_t fairness_ppm(const struct traffic *traffic, const uint64_t *before)
{
	unsigned __int128 sum = 0, squares = 0;

	for (uint32_t i = 0; i < traffic->flow_count; i++) {
		uint64_t bytes = traffic->flows[i].received_bytes - before[i];

		sum += bytes;
		squares += (unsigned __int128)bytes * bytes;
	}
	return (uint64_t)(sum * sum * 1000000 / (squares * traffic->flow_count));
}

static void check_convergence(uint32_t senders, uint32_t duration_ms)
{
	struct simulation *simulation;
	const struct traffic *traffic;
	uint64_t before[64], busy_ps, paused;
	char text[TEXT_MAX];

	/* Flows begin one after the other, 100 us apart on average. */
	snprintf(text, sizeof(text),
		 "duration: %ums\n"
		 "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: %u}}\n"
		 "hosts: {cc: dcqcn, dcqcn: {preset: hpcc}}\n"
		 "traffic: [{incast: {senders: %u, to: leaf1.h1, jitter: %uus}}]\n",
		 duration_ms, senders + 1, senders, 100 * senders);
	simulation = harness_begin(text);
	traffic = &simulation->fabric->traffic;
	harness_run_to(simulation, duration_ms / 2 * PS_PER_MS);
	paused = harness_pauses(simulation, 0, 0xff);
	busy_ps = wire_busy_ps(&simulation->fabric->wires[1]);
	for (uint32_t i = 0; i < senders; i++)
		before[i] = traffic->flows[i].received_bytes;
	harness_run_to(simulation, duration_ms * PS_PER_MS);
	cr_expect_geq(fairness_ppm(traffic, before), 950000, "%u senders: Jain's index %" PRIu64,
		      senders, fairness_ppm(traffic, before));
	busy_ps = wire_busy_ps(&simulation->fabric->wires[1]) - busy_ps;
	cr_expect_geq(busy_ps, duration_ms / 2 * PS_PER_MS / 100 * 95, "%u senders", senders);
	cr_expect_eq(harness_pauses(simulation, 0, 0xff), paused, "%u senders: marks do the work",
		     senders);
	cr_expect_eq(dropped(simulation), 0);
	harness_finish(simulation);
}

/* ECN-PFC-ORDER: with senders that react no pause at all once rates have settled. */
Test(reaction, ECN_PFC_ORDER_flows_converge_to_equal_shares_of_a_full_link_without_pauses)
{
	static const uint32_t senders[] = {2, 3, 4, 8, 16};

	for (uint32_t i = 0; i < sizeof(senders) / sizeof(senders[0]); i++)
		check_convergence(senders[i], 40);
}

/* The same senders without marks: pauses do the work, and nothing is lost either. */
Test(reaction, without_marks_pauses_do_the_work)
{
	struct simulation *simulation = harness_begin(
		"duration: 4ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 9}}\n"
		"leaf: {classes: [\n"
		"  {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60, ecn: off},\n"
		"  {priority: 0, name: best-effort, weight: 20}]}\n"
		"hosts: {cc: dcqcn, dcqcn: {preset: hpcc}}\n"
		"traffic: [{incast: {senders: 8, to: leaf1.h1}}]\n");

	harness_run_to(simulation, 4 * PS_PER_MS);
	for (uint32_t i = 0; i < 8; i++) {
		const struct flow *flow = &simulation->fabric->traffic.flows[i];

		cr_expect_eq(flow->cnps, 0);
		cr_expect_eq(flow->cc->rate_bps, UINT64_C(100000000000));
	}
	cr_expect_gt(harness_pauses(simulation, 0, 0xff), 100);
	cr_expect_eq(dropped(simulation), 0);
	harness_finish(simulation);
}
