/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The promise: with hosts that obey pauses no packet of a lossless class is dropped. Identifiers such
 * as PFC-INCAST-N name the case of a switch tester's catalogue that a test covers.
 *
 * Hosts send at line rate and stop for nothing but pauses. That nothing was dropped says little
 * unless they had to be paused: that is checked wherever it should have been so.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/headroom.h"
#include "dataplane/snapshot.h"
#include "tests/lab/harness.h"
#include "tools/lab/allocate.h"

TestSuite(lossless, .init = harness_start);

#define GBPS     UINT64_C(1000000000)
#define TEXT_MAX 8192

static struct leaf *leaf_of(struct simulation *simulation, uint32_t index)
{
	return simulation->fabric->switches[index]->leaf;
}

static struct pfc_totals pauses(struct simulation *simulation, uint32_t index, uint16_t port,
				uint8_t priority)
{
	struct pfc_totals totals;

	leaf_pfc_totals(leaf_of(simulation, index), port, priority,
			simulation->fabric->engine->now_ps, &totals);
	return totals;
}

static struct queue_totals queue_of(struct simulation *simulation, uint16_t port, uint8_t priority)
{
	struct queue_totals queue;

	leaf_queue_totals(leaf_of(simulation, 0), port, priority, &queue);
	return queue;
}

static uint64_t drops(struct simulation *simulation, enum drop_reason reason)
{
	uint64_t sum = 0;

	for (uint32_t s = 0; s < simulation->scenario->topology->switch_count; s++)
		sum += leaf_drops(leaf_of(simulation, s), reason);
	return sum;
}

static const struct snapshot *snapshot_of_switch(struct simulation *simulation, uint32_t index)
{
	return simulation->fabric->switches[index]->snapshot;
}

/* The most of its headroom that a pair has used, and never more than it has. */
static uint64_t headroom_peak(struct simulation *simulation, uint32_t index)
{
	const struct snapshot *snapshot = snapshot_of_switch(simulation, index);
	uint64_t peak = 0;

	for (uint16_t port = 0; port < snapshot->port_count; port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			const struct buffer_pair *pair =
				&snapshot->buffer.pair[p * (snapshot->port_count + 1u) + port];
			struct buffer_totals totals;

			leaf_buffer_totals(leaf_of(simulation, index), snapshot, port, p, &totals);
			cr_expect_leq(totals.headroom_peak_bytes, pair->headroom_bytes,
				      "port %u, priority %u", port, p);
			peak = totals.headroom_peak_bytes > peak ? totals.headroom_peak_bytes
								 : peak;
		}
	}
	return peak;
}

/* What all pairs and lossy traffic of a switch may hold together. */
static uint64_t pool_bytes(struct simulation *simulation)
{
	const struct snapshot *snapshot = snapshot_of_switch(simulation, 0);
	const struct buffer_table *buffer = &snapshot->buffer;
	uint64_t sum = buffer->shared_bytes + buffer->lossy_bytes;

	for (uint32_t i = 0; i < PRIORITY_COUNT * (snapshot->port_count + 1u); i++)
		sum += buffer->pair[i].reserved_bytes + buffer->pair[i].headroom_bytes;
	return sum;
}

/* Busy time of the wire to the last node, in millionths of a time that ends now. */
static uint64_t busy_ppm(struct simulation *simulation, uint32_t link, uint64_t before_ps,
			 uint64_t time_ps)
{
	const struct wire *wire = &simulation->fabric->wires[2 * link + 1];

	return (wire_busy_ps(wire) - before_ps) / (time_ps / 1000000);
}

/* --- N hosts to one --- */

#define LOSSLESS_LEAF(memory_, class_)                                                        \
	"leaf:\n"                                                                             \
	"  memory: " memory_ "\n"                                                             \
	"  classes:\n"                                                                        \
	"    - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60" class_ "}\n" \
	"    - {priority: 0, name: best-effort, weight: 20}\n"

static void check_incast(uint32_t senders, uint32_t mtu, const char *cable, const char *memory)
{
	const uint64_t stop_ps = 1200 * PS_PER_US;
	struct simulation *simulation;
	uint64_t offered_bytes, paused = 0;
	char text[TEXT_MAX];

	snprintf(
		text, sizeof(text),
		"duration: 4ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: %u, host_cable: %s}}\n" LOSSLESS_LEAF(
			"%s",
			", ecn: off") "hosts: {mtu: %u}\n"
				      "traffic: [{incast: {senders: %u, to: leaf1.h1, stop: 1200us}}]\n",
		senders + 1, cable, memory, mtu, senders);
	simulation = harness_begin(text);
	harness_run_to(simulation, stop_ps);
	/* Line rate from all for so long, less what one of them could take. */
	offered_bytes = (senders - 1) * (stop_ps / 80); /* 80 ps a byte */
	cr_expect_gt(offered_bytes, pool_bytes(simulation), "%u senders", senders);
	cr_expect_eq(harness_drops(simulation), 0, "%u senders", senders);
	for (uint16_t port = 1; port <= senders; port++)
		paused += pauses(simulation, 0, port, 3).tx_pauses != 0;
	cr_expect_eq(paused, senders, "all of them were paused");
	cr_expect_eq(harness_pauses(simulation, 0, 0xf7), 0, "no other priority was");
	cr_expect_gt(headroom_peak(simulation, 0), 0);
	cr_expect_eq(queue_of(simulation, 0, 3).ecn_marked, 0);
	harness_run_to(simulation, 4 * PS_PER_MS);
	harness_check_quiet(simulation, true);
	harness_finish(simulation);
}

Test(lossless, PFC_INCAST_N_blasters_that_stop_only_for_pauses_lose_nothing)
{
	check_incast(2, 4096, "3m", "4MiB");
	check_incast(4, 4096, "3m", "4MiB");
	check_incast(8, 4096, "3m", "4MiB");
	check_incast(16, 4096, "3m", "10MiB");
	check_incast(32, 4096, "3m", "12MiB");
	check_incast(64, 4096, "3m", "24MiB");
	check_incast(16, 1024, "3m", "8MiB");
}

Test(lossless, HR_CABLE_headroom_fits_every_length)
{
	static const char *const cables[] = {"5m", "40m", "300m", "2km"};

	for (uint32_t i = 0; i < 4; i++)
		check_incast(8, 1024, cables[i], i == 3 ? "32MiB" : "8MiB");
}

Test(lossless, PFC_SPEED_MIX_400G_into_100G_loses_nothing)
{
	struct simulation *simulation = harness_begin(
		"duration: 2ms\n"
		"fabric: {explicit: {nodes: [a, b, s], links: [\n"
		"  {ends: [a, s], speed: 400G, cable: 3m}, {ends: [b, s], speed: 100G}]}}\n" LOSSLESS_LEAF(
			"8MiB",
			"") "hosts: {mtu: 1024}\n"
			    "traffic:\n"
			    "  - flow: {from: a, to: b, rate: 360G, stop: 1500us}\n"
			    "  - flow: {from: a, to: b, rate: 40G, class: best-effort, stop: 1500us}\n");
	uint64_t before_ps;

	harness_run_to(simulation, 500 * PS_PER_US);
	before_ps = wire_busy_ps(&simulation->fabric->wires[3]);
	harness_run_to(simulation, 1500 * PS_PER_US);
	cr_expect_geq(busy_ppm(simulation, 1, before_ps, PS_PER_MS), 970000);
	cr_expect_gt(harness_pauses(simulation, 0, 1u << 3), 0);
	cr_expect_eq(harness_pauses(simulation, 0, 0xf7), 0);
	cr_expect_eq(drops(simulation, DROP_HEADROOM), 0);
	cr_expect_eq(simulation->fabric->switches[0]->violations, 0);
	harness_finish(simulation);
}

/*
 * So slow a port that pauses must outlast the peer's timer (336 us at 100G), time and again. A frame at
 * each change, one for each half of the timer, and no more.
 */
Test(lossless, PFC_SPEED_MIX_100G_into_100M_is_refreshed_and_loses_nothing)
{
	struct simulation *simulation = harness_begin(
		"duration: 600ms\n"
		"fabric: {explicit: {nodes: [a, b, s], links: [\n"
		"  {ends: [a, s], speed: 100G}, {ends: [b, s], speed: 100M}]}}\n" LOSSLESS_LEAF(
			"3MiB", ", ecn: off") "hosts: {mtu: 4096}\n"
					      "traffic: [{flow: {from: a, to: b, stop: 30ms}}]\n");
	const uint64_t half_ps = 65535 * UINT64_C(512) * 10 / 2;
	struct pfc_totals totals;

	harness_run_to(simulation, 30 * PS_PER_MS);
	totals = pauses(simulation, 0, 0, 3);
	cr_expect_gt(totals.tx_xoff, totals.tx_pauses, "some were refreshed");
	cr_expect_leq(totals.tx_xoff, totals.tx_pauses + totals.tx_paused_ps / half_ps);
	harness_run_to(simulation, 600 * PS_PER_MS);
	cr_expect_eq(harness_drops(simulation), 0);
	harness_check_quiet(simulation, true);
	harness_finish(simulation);
}

Test(lossless, PFC_ONLY_CONG_line_rate_one_to_one_needs_no_pause)
{
	struct simulation *simulation = harness_begin(
		"duration: 1ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4}}\n"
		"leaf: {classes: sonic, memory: 16MiB}\n"
		"hosts: {mtu: 1024}\n"
		"traffic:\n"
		"  - flow: {from: leaf1.h1, to: leaf1.h2, dscp: 3, rate: 44G}\n"
		"  - flow: {from: leaf1.h1, to: leaf1.h2, dscp: 4, rate: 44G, payload: 512}\n"
		"  - flow: {from: leaf1.h1, to: leaf1.h2, dscp: 0, rate: 12G, payload: 64}\n"
		"  - flow: {from: leaf1.h3, to: leaf1.h4, dscp: 3}\n");
	uint64_t before_ps;

	harness_run_to(simulation, 100 * PS_PER_US);
	before_ps = wire_busy_ps(&simulation->fabric->wires[3]);
	harness_run_to(simulation, 1100 * PS_PER_US);
	cr_expect_geq(busy_ppm(simulation, 1, before_ps, PS_PER_MS), 970000);
	cr_expect_eq(harness_pauses(simulation, 0, 0xff), 0);
	cr_expect_eq(harness_drops(simulation), 0);
	harness_finish(simulation);
}

/* --- SONiC's classes, two ports into one --- */

#define TWO_TO_ONE                                                            \
	"duration: 3ms\n"                                                     \
	"fabric: {explicit: {nodes: [a, b, to, s], links: [{ends: [a, s]},\n" \
	"  {ends: [b, s]}, {ends: [to, s]}]}}\n"                              \
	"leaf: {classes: sonic, memory: 4MiB}\n"                              \
	"hosts: {mtu: 1024}\n"                                                \
	"traffic:\n"

#define TO_LINK 2

static struct simulation *two_to_one(const char *flows)
{
	char text[TEXT_MAX];
	struct simulation *simulation;
	uint64_t before_ps;

	snprintf(text, sizeof(text), TWO_TO_ONE "%s", flows);
	simulation = harness_begin(text);
	harness_run_to(simulation, PS_PER_MS);
	before_ps = wire_busy_ps(&simulation->fabric->wires[2 * TO_LINK + 1]);
	harness_run_to(simulation, 3 * PS_PER_MS);
	cr_expect_geq(busy_ppm(simulation, TO_LINK, before_ps, 2 * PS_PER_MS), 970000);
	/* Of lossless packets none is missing but those on their way. */
	cr_expect_eq(drops(simulation, DROP_HEADROOM), 0);
	for (uint8_t p = 3; p <= 4; p++)
		cr_expect_eq(queue_of(simulation, TO_LINK, p).drop_packets, 0);
	cr_expect_eq(harness_pauses(simulation, 0, 0xe7), 0, "lossy priorities are never paused");
	return simulation;
}

Test(lossless, PFC_2TO1_LL_ninety_percent_lossless_from_each)
{
	struct simulation *simulation =
		two_to_one("  - flow: {from: a, to: to, dscp: 3, rate: 45G}\n"
			   "  - flow: {from: a, to: to, dscp: 4, rate: 45G}\n"
			   "  - flow: {from: a, to: to, dscp: 8, rate: 10G}\n"
			   "  - flow: {from: b, to: to, dscp: 3, rate: 45G}\n"
			   "  - flow: {from: b, to: to, dscp: 4, rate: 45G}\n"
			   "  - flow: {from: b, to: to, dscp: 8, rate: 10G}\n");

	for (uint16_t port = 0; port < 2; port++)
		for (uint8_t p = 3; p <= 4; p++)
			cr_expect_gt(pauses(simulation, 0, port, p).tx_pauses, 0);
	harness_finish(simulation);
}

Test(lossless, PFC_M2O_LL_lossy_within_its_share_loses_nothing_either)
{
	/* 70 % lossless; two lossy classes of 22.5 %, whose weights give them 24.1 %. */
	struct simulation *simulation =
		two_to_one("  - flow: {from: a, to: to, dscp: 3, rate: 35G}\n"
			   "  - flow: {from: a, to: to, dscp: 8, rate: 22.5G}\n"
			   "  - flow: {from: b, to: to, dscp: 4, rate: 35G}\n"
			   "  - flow: {from: b, to: to, dscp: 5, rate: 22.5G}\n");

	cr_expect_eq(harness_drops(simulation), 0);
	cr_expect_gt(harness_pauses(simulation, 0, 1u << 3), 0);
	cr_expect_gt(harness_pauses(simulation, 0, 1u << 4), 0);
	harness_finish(simulation);
}

Test(lossless, PFC_M2O_LLLY_only_the_larger_lossy_flow_loses)
{
	struct simulation *simulation =
		two_to_one("  - flow: {from: a, to: to, dscp: 3, rate: 40G}\n"
			   "  - flow: {from: a, to: to, dscp: 8, rate: 20G}\n"
			   "  - flow: {from: b, to: to, dscp: 4, rate: 20G}\n"
			   "  - flow: {from: b, to: to, dscp: 5, rate: 40G}\n");
	const struct flow *large = &simulation->fabric->traffic.flows[3];

	/*
	 * Of 100 % two classes get the 20 % that they want; 60 % are divided 15 to 14: 29 % for 40.
	 * What the buffer holds of it isn't lost yet.
	 */
	cr_expect_gt(queue_of(simulation, TO_LINK, 2).drop_packets * 10, large->sent_packets);
	cr_expect_eq(queue_of(simulation, TO_LINK, 0).drop_packets, 0);
	cr_expect_eq(harness_drops(simulation), queue_of(simulation, TO_LINK, 2).drop_packets);
	cr_expect_gt(harness_pauses(simulation, 0, 1u << 3), 0);
	cr_expect_eq(harness_pauses(simulation, 0, 1u << 4), 0, "it has its share");
	harness_finish(simulation);
}

Test(lossless, PFC_M2O_LY_lossy_congestion_pauses_nobody)
{
	struct simulation *simulation =
		two_to_one("  - flow: {from: a, to: to, dscp: 3, rate: 25G}\n"
			   "  - flow: {from: a, to: to, dscp: 8, rate: 30G}\n"
			   "  - flow: {from: a, to: to, dscp: 5, rate: 30G}\n"
			   "  - flow: {from: b, to: to, dscp: 8, rate: 30G}\n"
			   "  - flow: {from: b, to: to, dscp: 5, rate: 30G}\n");

	cr_expect_eq(harness_pauses(simulation, 0, 0xff), 0);
	cr_expect_gt(queue_of(simulation, TO_LINK, 0).drop_packets, 0);
	cr_expect_gt(queue_of(simulation, TO_LINK, 2).drop_packets, 0);
	harness_finish(simulation);
}

/*
 * Rates that change all the time; the lossless class keeps what it needs: 10G and 20G by turns. What it
 * leaves, 85G in the mean, two lossy classes of equal weights share: 42.5G each of 60G, so that
 * 1 - 42.5/60 = 29.2 % of them is lost or waits at the end. One point more or less is allowed.
 */
Test(lossless, SCH_M2O_FLUCT_fluctuating_lossless_traffic_loses_nothing)
{
	char flows[TEXT_MAX];
	size_t used = 0;
	struct simulation *simulation;

	for (uint32_t i = 0; i < 10; i++)
		used += (size_t)snprintf(
			flows + used, sizeof(flows) - used,
			"  - flow: {from: %s, to: to, dscp: 3, rate: %s, start: %uus, stop: %uus}\n",
			i % 2 != 0 ? "a" : "b", i % 2 != 0 ? "20G" : "10G", i * 300, i * 300 + 300);
	snprintf(flows + used, sizeof(flows) - used,
		 "  - flow: {from: a, to: to, dscp: 8, rate: 60G}\n"
		 "  - flow: {from: b, to: to, dscp: 5, rate: 60G}\n");
	simulation = two_to_one(flows);
	cr_expect_eq(harness_pauses(simulation, 0, 0xff), 0);
	cr_expect_eq(harness_drops(simulation),
		     queue_of(simulation, TO_LINK, 0).drop_packets +
			     queue_of(simulation, TO_LINK, 2).drop_packets);
	for (uint32_t i = 0; i < 2; i++) {
		struct queue_totals queue = queue_of(simulation, TO_LINK, (uint8_t)(2 * i));
		double sent = (double)simulation->fabric->traffic.flows[10 + i].sent_packets;
		double lost = (double)(queue.drop_packets + queue.depth_packets) / sent;

		cr_expect(lost > 0.282 && lost < 0.302, "queue %u: %g", 2 * i, lost);
	}
	harness_finish(simulation);
}

/* --- whom a pause hits --- */

static double share(struct simulation *simulation, const char *name)
{
	const struct flow *flow = harness_flow(simulation, name);

	/* All are paced at 20G for 2 ms, and 24 bytes a frame are overhead. */
	return (double)flow->received_bytes / (0.002 * 20e9 / 8 * 1024 / (1024 + 58 + 24));
}

Test(lossless, PFC_HOL_VICTIM_only_what_shares_host_and_class_is_slowed)
{
	struct simulation *simulation = harness_begin(
		"duration: 2ms\n"
		"fabric: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 6}}\n"
		"leaf:\n"
		"  memory: 8MiB\n"
		"  classes:\n"
		"    - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 40, ecn: off}\n"
		"    - {priority: 4, name: other, dscp: [32], lossless: true, weight: 40, ecn: off}\n"
		"    - {priority: 0, name: best-effort, weight: 20}\n"
		"hosts: {mtu: 1024}\n"
		"traffic:\n"
		"  - flow: {name: blocked, from: leaf1.h1, to: leaf2.h1, rate: 60G}\n"
		"  - flow: {from: leaf2.h3, to: leaf2.h1}\n"
		"  - flow: {from: leaf2.h4, to: leaf2.h1}\n"
		"  - flow: {from: leaf2.h5, to: leaf2.h1}\n"
		"  - flow: {name: victim, from: leaf1.h1, to: leaf2.h2, rate: 20G}\n"
		"  - flow: {name: class, from: leaf1.h1, to: leaf2.h2, rate: 20G, class: other}\n"
		"  - flow: {name: host, from: leaf2.h6, to: leaf2.h2, rate: 20G}\n");
	const struct flow *class = harness_flow(simulation, "class");
	const struct flow *host = harness_flow(simulation, "host");

	harness_run_to(simulation, 2 * PS_PER_MS);
	cr_expect_eq(harness_drops(simulation), 0);
	/* The pause went through the spine to the host. */
	for (uint32_t s = 0; s < 3; s++)
		cr_expect_gt(harness_pauses(simulation, s, 1u << 3), 0, "switch %u", s);
	cr_expect_eq(harness_pauses(simulation, 0, 0xf7) + harness_pauses(simulation, 1, 0xf7) +
			     harness_pauses(simulation, 2, 0xf7),
		     0);
	/* A quarter of 100G for what wants 60G; the victim, paced alike, gets no more of its own. */
	cr_expect_lt(share(simulation, "victim"), 0.8, "%g", share(simulation, "victim"));
	/* The others get all they want, but for what is on its way. */
	cr_expect_geq(share(simulation, "class"), 0.98, "%g", share(simulation, "class"));
	cr_expect_geq(share(simulation, "host"), 0.98, "%g", share(simulation, "host"));
	cr_expect_leq(class->sent_packets - class->received_packets, 32);
	cr_expect_leq(host->sent_packets - host->received_packets, 8);
	harness_finish(simulation);
}

/* --- ECN before PFC --- */

Test(lossless, ECN_PFC_ORDER_in_a_slow_ramp_the_first_mark_precedes_the_first_pause)
{
	for (uint32_t senders = 2; senders <= 8; senders *= 2) {
		uint64_t marked_ps = 0, paused_ps = 0;
		struct simulation *simulation;
		char text[TEXT_MAX];

		/* 4 % more than the link takes. */
		snprintf(
			text, sizeof(text),
			"duration: 10ms\n"
			"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: %u}}\n" LOSSLESS_LEAF(
				"4MiB",
				"") "hosts: {mtu: 1024}\n"
				    "traffic: [{incast: {senders: %u, to: leaf1.h1, rate: %uM}}]\n",
			senders + 1, senders, 104000 / senders);
		simulation = harness_begin(text);
		for (uint64_t t = PS_PER_US; paused_ps == 0; t += PS_PER_US) {
			cr_assert_lt(t, 10 * PS_PER_MS, "nobody was paused");
			harness_run_to(simulation, t);
			if (marked_ps == 0 && queue_of(simulation, 0, 3).ecn_marked != 0)
				marked_ps = t;
			if (harness_pauses(simulation, 0, 0xff) != 0)
				paused_ps = t;
		}
		cr_expect(marked_ps != 0 && marked_ps < paused_ps,
			  "%u senders: mark at %" PRIu64 " ns, pause at %" PRIu64, senders,
			  marked_ps / PS_PER_NS, paused_ps / PS_PER_NS);
		cr_expect_eq(harness_drops(simulation), 0);
		harness_finish(simulation);
	}
}

/* --- the headroom is what is needed --- */

/*
 * The lab's hosts obey at once, so the lab's headroom has no term for their response. What is left: the
 * frame on our own wire, the pause, the cable both ways, the frame that the peer had begun, and the one
 * that was arriving.
 */
static uint64_t divide_headroom(struct simulation *simulation, uint32_t cable_mm, uint32_t divisor)
{
	struct snapshot *snapshot = (struct snapshot *)(uintptr_t)snapshot_of_switch(simulation, 0);
	struct headroom headroom;
	struct headroom_input input = {
		.rate_bps = 100 * GBPS,
		.frame_bytes_max = snapshot->port[0].frame_bytes_max,
		.cable_mm = cable_mm,
		.response = CONFIG_RESPONSE_TIME, /* of 0 */
		.polls = 1,
	};
	uint64_t left;

	headroom_compute(&input, &headroom);
	left = headroom.total_bytes / divisor;
	for (uint16_t port = 0; port < snapshot->port_count; port++) {
		struct buffer_pair *pair =
			&snapshot->buffer.pair[3 * (snapshot->port_count + 1u) + port];

		cr_assert_eq(pair->headroom_bytes, headroom.total_bytes);
		pair->headroom_bytes = (uint32_t)left;
	}
	return left;
}

/* @return 1 when something was dropped */
static bool tight(const char *cable, uint32_t cable_mm, const char *memory, uint32_t divisor)
{
	struct simulation *simulation;
	uint64_t headroom, peak, dropped;
	struct port_totals receiver;
	char text[TEXT_MAX];

	/* Full frames to the senders as well, for pauses to wait behind. */
	snprintf(
		text, sizeof(text),
		"duration: 3ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 5, host_cable: %s}}\n" LOSSLESS_LEAF(
			"%s",
			", ecn: off") "hosts: {mtu: 4096}\n"
				      "traffic:\n"
				      "  - incast: {senders: 4, to: leaf1.h1}\n"
				      "  - flow: {from: leaf1.h1, to: leaf1.h2, class: best-effort, rate: 99G}\n",
		cable, memory);
	simulation = harness_begin(text);
	headroom = divide_headroom(simulation, cable_mm, divisor);
	harness_run_to(simulation, 3 * PS_PER_MS);
	peak = headroom_peak(simulation, 0);
	dropped = drops(simulation, DROP_HEADROOM);
	cr_expect_eq(harness_drops(simulation), dropped, "for no other reason");
	leaf_port_totals(leaf_of(simulation, 0), 0, &receiver);
	cr_expect_eq(receiver.drop[DROP_HEADROOM], 0, "counted where the packet came from");
	cr_expect_eq(queue_of(simulation, 0, 3).drop_packets, dropped, "in that priority");
	cr_expect_geq(peak * 10, headroom * 6, "%s: %" PRIu64 " of %" PRIu64 " bytes", cable, peak,
		      headroom);
	harness_finish(simulation);
	return dropped != 0;
}

Test(lossless, headroom_is_enough_and_not_padded)
{
	cr_expect_not(tight("5m", 5000, "6MiB", 1));
	cr_expect_not(tight("300m", 300000, "6MiB", 1));
	cr_expect_not(tight("2km", 2000000, "16MiB", 1));
}

Test(lossless, half_of_the_headroom_is_not_enough_and_the_drop_says_so)
{
	cr_expect(tight("5m", 5000, "6MiB", 2));
	cr_expect(tight("300m", 300000, "6MiB", 2));
	cr_expect(tight("2km", 2000000, "16MiB", 2));
}
