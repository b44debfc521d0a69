/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scheduling on exact wires. Identifiers such as SCH-DWRR-RATE name the case of a switch tester's
 * catalogue that a test covers.
 *
 * A packet with P bytes of payload is 14 + 20 + 8 + 12 + P + 4 bytes long, 24 more on the wire, and 16
 * more still when it begins a message.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "config/schema_leaf.h"
#include "dataplane/egress.h"
#include "tests/lab/harness.h"

TestSuite(scheduling, .init = harness_start);

#define FRAME_1024 (58 + 1024)
#define FRAME_MAX  (FRAME_1024 + 16)

#define GBPS UINT64_C(1000000000)

static struct queue_totals totals(struct simulation *simulation, uint16_t port, uint8_t priority)
{
	struct queue_totals queue;

	leaf_queue_totals(simulation->fabric->switches[0]->leaf, port, priority, &queue);
	return queue;
}

/* Bytes that each queue of a port sent in a time. */
static void sent_between(struct simulation *simulation, uint16_t port, uint64_t from_ps,
			 uint64_t to_ps, uint64_t bytes[PRIORITY_COUNT])
{
	harness_run_to(simulation, from_ps);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		bytes[p] = totals(simulation, port, p).tx_bytes;
	harness_run_to(simulation, to_ps);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		bytes[p] = totals(simulation, port, p).tx_bytes - bytes[p];
}

/*
 * Of queues that were never empty: in v visits each gets v quanta and may be ahead by what is left of
 * the last one, or behind by a frame beyond it; visits of two queues differ by at most one. So
 *	|B_i / Q_i - B_j / Q_j| <= 1 + (1 + L / Q_i) + (1 + L / Q_j)
 * however long it lasts.
 */
static void check_shares(const uint64_t bytes[PRIORITY_COUNT],
			 const uint32_t weight[PRIORITY_COUNT])
{
	for (uint32_t i = 0; i < PRIORITY_COUNT; i++) {
		for (uint32_t j = 0; j < i; j++) {
			int64_t q_i = (int64_t)weight[i] * SCHEDULE_QUANTUM_BYTES;
			int64_t q_j = (int64_t)weight[j] * SCHEDULE_QUANTUM_BYTES;
			int64_t difference, bound;

			if (q_i == 0 || q_j == 0)
				continue;
			difference = llabs((int64_t)bytes[i] * q_j - (int64_t)bytes[j] * q_i);
			bound = 3 * q_i * q_j + FRAME_MAX * (q_i + q_j);
			cr_expect_leq(difference, bound,
				      "priorities %u and %u: %" PRIu64 " and %" PRIu64 " bytes", i,
				      j, bytes[i], bytes[j]);
		}
	}
}

/* Seven classes of SONiC's map, each offered the whole link by a host of its own. */
#define SONIC_RACK(speed_)                                                    \
	"fabric: {explicit: {nodes: [a, b, c, d, e, f, g, to, s], links: [\n" \
	"  {ends: [a, s]}, {ends: [b, s]}, {ends: [c, s]}, {ends: [d, s]},\n" \
	"  {ends: [e, s]}, {ends: [f, s]}, {ends: [g, s]},\n"                 \
	"  {ends: [to, s], speed: " speed_ "}]}}\n"                           \
	"leaf: {classes: sonic, memory: 16MiB}\n"                             \
	"hosts: {mtu: 1024}\n"
#define SONIC_TO_PORT 7

static const uint32_t sonic_weight[PRIORITY_COUNT] = {14, 14, 14, 15, 15, 14, 14, 0};

Test(scheduling, SCH_DWRR_RATE_every_queue_gets_its_weight_to_within_a_quantum)
{
	struct simulation *simulation = harness_begin(
		"duration: 3ms\n" SONIC_RACK("100G") "traffic:\n"
						     "  - flow: {from: a, to: to, dscp: 8}\n"
						     "  - flow: {from: b, to: to, dscp: 0}\n"
						     "  - flow: {from: c, to: to, dscp: 5}\n"
						     "  - flow: {from: d, to: to, dscp: 3}\n"
						     "  - flow: {from: e, to: to, dscp: 4}\n"
						     "  - flow: {from: f, to: to, dscp: 46}\n"
						     "  - flow: {from: g, to: to, dscp: 48}\n");
	uint64_t bytes[PRIORITY_COUNT], sum = 0;

	sent_between(simulation, SONIC_TO_PORT, 500 * PS_PER_US, 3 * PS_PER_MS, bytes);
	check_shares(bytes, sonic_weight);
	for (uint32_t p = 0; p < 7; p++)
		sum += bytes[p];
	/* The suite's own criterion: within 5 % of weight share * rate. */
	for (uint32_t p = 0; p < 7; p++) {
		uint64_t share = sum * sonic_weight[p] / 100;

		cr_expect(bytes[p] * 100 >= share * 95 && bytes[p] * 100 <= share * 105,
			  "priority %u: %" PRIu64 " of %" PRIu64 " bytes", p, bytes[p], share);
	}
	harness_finish(simulation);
}

Test(scheduling, SCH_DWRR_DRAIN_queues_filled_by_weight_end_together)
{
	/* 10 packets for each unit of weight come at 100G and leave at 1G. */
	struct simulation *simulation = harness_begin("duration: 50ms\n" SONIC_RACK(
		"1G") "traffic:\n"
		      "  - flow: {from: a, to: to, dscp: 8, bytes: 143360}\n"
		      "  - flow: {from: b, to: to, dscp: 0, bytes: 143360}\n"
		      "  - flow: {from: c, to: to, dscp: 5, bytes: 143360}\n"
		      "  - flow: {from: d, to: to, dscp: 3, bytes: 153600}\n"
		      "  - flow: {from: e, to: to, dscp: 4, bytes: 153600}\n"
		      "  - flow: {from: f, to: to, dscp: 46, bytes: 143360}\n"
		      "  - flow: {from: g, to: to, dscp: 48, bytes: 143360}\n");
	uint64_t first_ps = UINT64_MAX, last_ps = 0, bound_bytes = 0;

	harness_run_to(simulation, 50 * PS_PER_MS);
	for (uint32_t i = 0; i < 7; i++) {
		const struct flow *flow = &simulation->fabric->traffic.flows[i];
		uint64_t at_ps = flow->finished_ps - simulation->fabric->engine->start_ps;

		cr_assert(flow->finished, "flow %u", i);
		first_ps = at_ps < first_ps ? at_ps : first_ps;
		last_ps = at_ps > last_ps ? at_ps : last_ps;
		/* All need the same number of rounds, so they end in the same or in the next one. */
		bound_bytes += 2 * (sonic_weight[i] * SCHEDULE_QUANTUM_BYTES + FRAME_MAX + 24);
	}
	/* Two packets leave while the queues still fill. */
	bound_bytes += 2 * (FRAME_MAX + 24);
	cr_expect_leq((last_ps - first_ps) / PS_PER_NS, bound_bytes * 8,
		      "%" PRIu64 " ns between the first and the last to end",
		      (last_ps - first_ps) / PS_PER_NS);
	harness_finish(simulation);
}

#define FOUR_CLASSES                                                                \
	"leaf:\n"                                                                   \
	"  memory: 8MiB\n"                                                          \
	"  classes:\n"                                                              \
	"    - {priority: 3, name: gold, dscp: [26], lossless: true, weight: 20}\n" \
	"    - {priority: 2, name: a, dscp: [10], weight: 60}\n"                    \
	"    - {priority: 1, name: b, dscp: [12], weight: 20}\n"                    \
	"    - {priority: 0, name: best-effort, weight: 10}\n"                      \
	"hosts: {mtu: 1024}\n"

Test(scheduling, SCH_DWRR_CHG_new_weights_hold_at_once_and_drop_nothing_lossless)
{
	struct simulation *simulation = harness_begin(
		"duration: 2ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4}}\n" FOUR_CLASSES
		"traffic:\n"
		"  - flow: {from: leaf1.h1, to: leaf1.h4, class: a}\n"
		"  - flow: {from: leaf1.h2, to: leaf1.h4, class: b}\n"
		"  - flow: {name: gold, from: leaf1.h3, to: leaf1.h4, class: gold, rate: 10G}\n");
	uint32_t weight[PRIORITY_COUNT] = {0, 20, 60};
	struct config changed = simulation->scenario->leaf.config;
	uint64_t bytes[PRIORITY_COUNT];
	struct flow *gold = harness_flow(simulation, "gold");

	sent_between(simulation, 3, 300 * PS_PER_US, PS_PER_MS, bytes);
	check_shares(bytes, weight);
	for (uint32_t i = 0; i < changed.class_count; i++) {
		if (changed.classes[i].priority == 2)
			changed.classes[i].weight = 20;
		if (changed.classes[i].priority == 1)
			changed.classes[i].weight = 60;
	}
	cr_assert_eq(fabric_reload(simulation->fabric, &changed), 0);
	weight[1] = 60;
	weight[2] = 20;
	/* What a queue had left of its old quantum is at most that quantum. */
	sent_between(simulation, 3, PS_PER_MS + 10 * PS_PER_US, 2 * PS_PER_MS, bytes);
	check_shares(bytes, weight);
	cr_expect_eq(totals(simulation, 3, 3).drop_packets, 0);
	cr_expect_eq(gold->out_of_order, 0);
	/* All that gold sent is there, but for what is on its way: a packet per hop and round. */
	cr_expect_leq(gold->sent_packets - gold->received_packets, 8);
	harness_finish(simulation);
}

#define STRICT_CLASSES(max_rate_)                                                    \
	"leaf:\n"                                                                    \
	"  memory: 8MiB\n"                                                           \
	"  classes:\n"                                                               \
	"    - {priority: 7, name: first, dscp: [56], strict: true}\n"               \
	"    - {priority: 6, name: second, dscp: [48], strict: true" max_rate_ "}\n" \
	"    - {priority: 1, name: b, dscp: [12], weight: 20}\n"                     \
	"    - {priority: 0, name: best-effort, weight: 10}\n"                       \
	"hosts: {mtu: 1024}\n"                                                       \
	"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, host_cable: 1m}}\n"

/* Two hops of a frame without a queue, 1 m each, and at most one frame of another class in front. */
static void check_strict_delay(struct simulation *simulation, struct flow *flow, uint32_t bytes)
{
	uint64_t alone_ps = 2 * ((bytes + 24) * UINT64_C(80) + 5000);
	uint64_t frame_ps = (FRAME_MAX + 24) * UINT64_C(80);

	cr_assert_gt(flow->received_packets, 100);
	cr_expect_geq(flow->latency_min_ps, alone_ps);
	cr_expect_leq(flow->latency_max_ps, alone_ps + 16 * 160 + frame_ps,
		      "%" PRIu64 " ps, alone %" PRIu64, flow->latency_max_ps, alone_ps);
	/* Somebody has had to wait, or nothing was tested. */
	cr_expect_gt(flow->latency_max_ps, alone_ps + frame_ps / 2);
	cr_expect_eq(simulation->fabric->switches[0]->violations, 0);
}

Test(scheduling, SCH_SP_strict_priority_waits_for_one_frame_at_most)
{
	struct simulation *simulation = harness_begin("duration: 2ms\n" STRICT_CLASSES(
		"") "traffic:\n"
		    "  - flow: {name: first, from: leaf1.h1, to: leaf1.h4, class: first,\n"
		    "           payload: 256, rate: 1G}\n"
		    "  - flow: {from: leaf1.h2, to: leaf1.h4, class: b}\n"
		    "  - flow: {from: leaf1.h3, to: leaf1.h4, class: best-effort}\n");

	harness_run_to(simulation, 2 * PS_PER_MS);
	check_strict_delay(simulation, harness_flow(simulation, "first"), 58 + 256);
	cr_expect_eq(totals(simulation, 3, 7).drop_packets, 0);
	cr_expect_gt(totals(simulation, 3, 0).drop_packets, 0);
	harness_finish(simulation);
}

Test(scheduling, SCH_SP_higher_strict_priority_starves_the_lower)
{
	struct simulation *simulation = harness_begin("duration: 1ms\n" STRICT_CLASSES(
		"") "traffic:\n"
		    "  - flow: {from: leaf1.h1, to: leaf1.h4, class: first}\n"
		    "  - flow: {from: leaf1.h2, to: leaf1.h4, class: second}\n"
		    "  - flow: {from: leaf1.h3, to: leaf1.h4, class: b}\n");
	uint64_t bytes[PRIORITY_COUNT];

	sent_between(simulation, 3, 100 * PS_PER_US, PS_PER_MS, bytes);
	cr_expect_eq(bytes[6], 0);
	cr_expect_eq(bytes[1], 0);
	/* 100 Gb/s for 0.9 ms, in frames with 24 bytes of overhead. */
	cr_expect_geq(bytes[7], UINT64_C(11250000) * FRAME_1024 / (FRAME_1024 + 24) - FRAME_MAX);
	harness_finish(simulation);
}

/* A strict class held to 20 % of the port: below that it is not touched. */
Test(scheduling, SCH_SP_below_its_shaper_a_strict_class_is_untouched)
{
	struct simulation *simulation = harness_begin("duration: 2ms\n" STRICT_CLASSES(
		", max_rate: 20%") "traffic:\n"
				   "  - flow: {name: second, from: leaf1.h1, to: leaf1.h4, class: second,\n"
				   "           rate: 10G}\n"
				   "  - flow: {from: leaf1.h2, to: leaf1.h4, class: b}\n");

	harness_run_to(simulation, 2 * PS_PER_MS);
	check_strict_delay(simulation, harness_flow(simulation, "second"), FRAME_1024);
	cr_expect_eq(totals(simulation, 3, 6).drop_packets, 0);
	harness_finish(simulation);
}

Test(scheduling, SCH_SP_above_its_shaper_a_strict_class_gets_the_shaper_s_rate)
{
	struct simulation *simulation = harness_begin("duration: 3ms\n" STRICT_CLASSES(
		", max_rate: 20%") "traffic:\n"
				   "  - flow: {from: leaf1.h1, to: leaf1.h4, class: second, rate: 40G}\n"
				   "  - flow: {from: leaf1.h2, to: leaf1.h4, class: b}\n");
	/* 20 Gb/s for 2 ms on the wire. */
	const uint64_t wire_bytes = 5000000;
	uint64_t bytes[PRIORITY_COUNT];
	uint64_t expected = wire_bytes * FRAME_1024 / (FRAME_1024 + 24);

	sent_between(simulation, 3, PS_PER_MS, 3 * PS_PER_MS, bytes);
	/* A frame more or less at both ends, and the 16 bytes of a message's first packet. */
	cr_expect(bytes[6] + 3 * FRAME_MAX >= expected && bytes[6] <= expected + 3 * FRAME_MAX,
		  "%" PRIu64 " bytes, expected %" PRIu64, bytes[6], expected);
	cr_expect_gt(totals(simulation, 3, 6).drop_packets, 0);
	/* The rest of the link is the other's. */
	cr_expect_geq(bytes[1] + 3 * FRAME_MAX,
		      UINT64_C(20000000) * FRAME_1024 / (FRAME_1024 + 24));
	harness_finish(simulation);
}

Test(scheduling, SCH_WORK_CONS_one_active_queue_of_eight_gets_the_whole_link)
{
	for (uint32_t dscp = 0; dscp < 50; dscp += 8) {
		struct simulation *simulation;
		const struct wire *wire;
		uint64_t before_ps;
		char text[1024];

		snprintf(text, sizeof(text),
			 "duration: 300us\n" SONIC_RACK(
				 "100G") "traffic: [{flow: {from: a, to: to, dscp: %u}},\n"
					 "          {flow: {from: b, to: to, dscp: %u}}]\n",
			 dscp, dscp);
		simulation = harness_begin(text);
		wire = &simulation->fabric->wires[2 * SONIC_TO_PORT + 1];
		harness_run_to(simulation, 10 * PS_PER_US);
		before_ps = wire_busy_ps(wire);
		harness_run_to(simulation, 300 * PS_PER_US);
		/* Not a picosecond of it is lost. */
		cr_expect_eq(wire_busy_ps(wire) - before_ps, 290 * PS_PER_US, "DSCP %u: %" PRIu64,
			     dscp, wire_busy_ps(wire) - before_ps);
		harness_finish(simulation);
	}
}

/* One DSCP changes its class under 10 % of load: nothing is lost, nothing overtakes. */
Test(scheduling, CLS_MAP_EDIT_packets_go_to_the_new_queue_at_once)
{
	struct simulation *simulation = harness_begin(
		"duration: 2ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 2}}\n" FOUR_CLASSES
		"traffic: [{flow: {name: x, from: leaf1.h1, to: leaf1.h2, dscp: 10, rate: 10G}}]\n");
	struct config changed = simulation->scenario->leaf.config;
	struct flow *flow = harness_flow(simulation, "x");
	uint64_t old_packets, new_packets, sent;

	harness_run_to(simulation, PS_PER_MS);
	for (uint32_t i = 0; i < changed.class_count; i++) {
		changed.classes[i].dscp &= ~(UINT64_C(1) << 10);
		if (changed.classes[i].priority == 1)
			changed.classes[i].dscp |= UINT64_C(1) << 10;
	}
	old_packets = totals(simulation, 1, 2).tx_packets + totals(simulation, 1, 2).depth_packets;
	sent = flow->sent_packets;
	cr_expect_eq(totals(simulation, 1, 1).tx_packets, 0);
	cr_assert_eq(fabric_reload(simulation->fabric, &changed), 0);
	harness_run_to(simulation, 2 * PS_PER_MS);
	new_packets = totals(simulation, 1, 1).tx_packets;
	cr_expect_eq(totals(simulation, 1, 2).tx_packets, old_packets, "all later ones are new");
	/* One was on its way to the switch at the change, one is on its way now. */
	cr_expect(new_packets + 1 >= flow->sent_packets - sent &&
			  new_packets <= flow->sent_packets - sent + 1,
		  "%" PRIu64 " of %" PRIu64, new_packets, flow->sent_packets - sent);
	cr_expect_eq(totals(simulation, 1, 2).depth_packets, 0);
	cr_expect_eq(flow->out_of_order, 0);
	cr_expect_leq(flow->sent_packets - flow->received_packets, 2);
	harness_finish(simulation);
}
