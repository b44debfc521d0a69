/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Receive rings that have an end. Frames of 1082 bytes come at 100 Gb/s, one each 88.48 ns, while the worker
 * stands still; a ring of 1024 lasts 90.6 us, as `roceleaf --check` says of such a port under MEAN.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include <jansson.h>

#include "dataplane/snapshot.h"
#include "tests/lab/harness.h"

TestSuite(rx_ring, .init = harness_start);

#define TEXT_MAX 2048

#define LOSSLESS 3u
#define LOSSY    0u

#define RING     1024u
#define FRAME_PS UINT64_C(88480) /* (1082 + 24) * 8 bits at 100 Gb/s */
#define POLL_PS  (2 * PS_PER_US)

#define STALL_US 300u
#define END_US   4000u

static struct simulation *begin(const char *flows, uint32_t ring)
{
	static char text[TEXT_MAX];

	snprintf(
		text, sizeof(text),
		"name: rx-ring\n"
		"duration: 4ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, host_speed: 100G}}\n"
		"leaf: {poll: 2us, rx_ring: %u, memory: 16MiB}\n"
		"hosts: {mtu: 1024, cc: none}\n"
		"traffic:\n%s",
		ring, flows);
	return harness_begin(text);
}

/* To the end, with the worker at a stand for some time. */
static struct switch_lost run(struct simulation *simulation, uint64_t stall_ps)
{
	struct switch_node *node = simulation->fabric->switches[0];
	struct fabric_conservation sum;
	struct switch_lost lost;

	harness_run_to(simulation, STALL_US * PS_PER_US);
	switch_stall(node, 0, node->node.engine->now_ps + stall_ps);
	for (uint64_t step = 1; step <= 8; step++) {
		harness_run_to(simulation, STALL_US * PS_PER_US + step * stall_ps / 8);
		fabric_conservation(simulation->fabric, &sum);
		cr_assert(fabric_conserved(&sum), "after %" PRIu64 " eighths of the stall", step);
	}
	harness_run_to(simulation, END_US * PS_PER_US);
	harness_check_quiet(simulation, false);
	switch_lost(node, &lost);
	return lost;
}

static uint64_t lost_frames(const struct switch_lost *lost)
{
	uint64_t sum = lost->control;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		sum += lost->packets[p];
	return sum;
}

static uint64_t missing(struct simulation *simulation, const char *name)
{
	const struct flow *flow = harness_flow(simulation, name);

	return flow->sent_packets - flow->received_packets;
}

static uint64_t dropped_in_leaf(const struct simulation *simulation, enum drop_reason reason)
{
	const struct leaf *leaf = simulation->fabric->switches[0]->leaf;
	uint64_t sum = 0;

	for (uint16_t port = 0; port < leaf_port_count(leaf); port++) {
		struct port_totals totals;

		leaf_port_totals(leaf, port, &totals);
		sum += totals.drop[reason];
	}
	return sum;
}

static const char line_rate[] = "  - flow: {name: one, from: leaf1.h1, to: leaf1.h3, rate: 100G, "
				"stop: 1500us}\n";

/*
 * A stall begins at most one poll after the last look. One that ends before the ring is full loses nothing, one
 * that is a frame longer than the ring lasts loses that frame, and what has come in that poll.
 */
Test(rx_ring, loses_nothing_in_a_stall_as_short_as_the_ring_lasts_and_something_beyond_it)
{
	struct simulation *simulation = begin(line_rate, RING);
	struct switch_lost lost = run(simulation, RING * FRAME_PS - POLL_PS);
	uint64_t frames;

	cr_expect_eq(lost_frames(&lost), 0);
	cr_expect_eq(missing(simulation, "one"), 0);
	harness_finish(simulation);

	simulation = begin(line_rate, RING);
	lost = run(simulation, (RING + 1) * FRAME_PS);
	frames = lost_frames(&lost);
	cr_expect(frames >= 1 && frames <= 1 + POLL_PS / FRAME_PS + 1, "%" PRIu64, frames);
	cr_expect_eq(missing(simulation, "one"), frames);
	harness_finish(simulation);
}

/* The same stall with room for all that comes, or with no end. */
Test(rx_ring, that_is_longer_or_has_no_end_loses_nothing)
{
	static const uint32_t rings[] = {2 * RING, 0};

	for (uint32_t i = 0; i < sizeof(rings) / sizeof(rings[0]); i++) {
		struct simulation *simulation = begin(line_rate, rings[i]);
		struct switch_lost lost = run(simulation, (RING + 1) * FRAME_PS);

		cr_expect_eq(lost_frames(&lost), 0, "ring %u", rings[i]);
		cr_expect_eq(missing(simulation, "one"), 0, "ring %u", rings[i]);
		harness_finish(simulation);
	}
}

static void check_result(const struct simulation *simulation, uint64_t frames, uint64_t lossless)
{
	json_t *result = simulation_result(simulation);
	const json_t *drops = json_object_get(result, "drops");

	cr_expect_eq((uint64_t)json_integer_value(json_object_get(drops, "rx_ring")), frames);
	cr_expect_eq((uint64_t)json_integer_value(json_object_get(result, "lossless_drops")),
		     lossless);
	json_decref(result);
}

/* Four of five frames are lossless. Five rings' worth comes, so four are lost, in equal shares of what came. */
Test(rx_ring, counts_what_it_loses_by_class)
{
	static const char flows[] =
		"  - flow: {name: lossless, from: leaf1.h1, to: leaf1.h3, rate: 80G, stop: 1500us}\n"
		"  - flow: {name: lossy, from: leaf1.h1, to: leaf1.h4, rate: 20G, stop: 1500us, "
		"class: best-effort}\n";
	struct simulation *simulation = begin(flows, RING);
	struct switch_lost lost = run(simulation, 5 * RING * FRAME_PS);
	uint64_t frames = lost_frames(&lost);

	/* Rates leave no gap on the wire but one now and then. */
	cr_expect(frames >= 4 * RING - RING / 16 && frames <= 4 * RING + POLL_PS / FRAME_PS + 1,
		  "%" PRIu64, frames);
	cr_expect_eq(lost.packets[LOSSLESS] + lost.packets[LOSSY], frames);
	cr_expect_eq(missing(simulation, "lossless"), lost.packets[LOSSLESS]);
	cr_expect_eq(missing(simulation, "lossy"),
		     lost.packets[LOSSY] + dropped_in_leaf(simulation, DROP_BACKLOG));
	/* 1 % is some forty frames of 4096; the pattern repeats every five. */
	cr_expect(100 * lost.packets[LOSSLESS] >= 79 * frames &&
			  100 * lost.packets[LOSSLESS] <= 81 * frames,
		  "%" PRIu64 " of %" PRIu64, lost.packets[LOSSLESS], frames);
	check_result(simulation, frames, lost.packets[LOSSLESS]);
	harness_finish(simulation);
}

/*
 * A worker that takes 32 frames of a port each 5 to 10 us, while up to 113 come: its buffer stays nearly empty.
 * The ring's length is what pauses the senders: at half of it (dataplane/backlog.c), and at most 113 frames are
 * seen late, as many come until the pause is there.
 */
static struct switch_lost overload(uint32_t ring)
{
	static char text[TEXT_MAX];
	struct simulation *simulation;
	struct switch_lost lost;

	snprintf(
		text, sizeof(text),
		"name: rx-ring\n"
		"duration: 4ms\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, host_speed: 100G}}\n"
		"leaf: {poll: 10us, rx_ring: %u, memory: 64MiB}\n"
		"hosts: {mtu: 1024, cc: none}\n"
		"traffic:\n"
		"  - flow: {name: one, from: leaf1.h1, to: leaf1.h3, rate: 100G, stop: 1500us}\n"
		"  - flow: {name: two, from: leaf1.h2, to: leaf1.h4, rate: 100G, stop: 1500us}\n",
		ring);
	simulation = harness_begin(text);
	harness_run_to(simulation, END_US * PS_PER_US);
	harness_check_quiet(simulation, false);
	switch_lost(simulation->fabric->switches[0], &lost);
	cr_expect_gt(harness_pauses(simulation, 0, 1u << LOSSLESS), 0, "ring %u", ring);
	cr_expect_eq(missing(simulation, "one") + missing(simulation, "two"), lost_frames(&lost));
	check_result(simulation, lost_frames(&lost), lost.packets[LOSSLESS]);
	harness_finish(simulation);
	return lost;
}

Test(rx_ring, that_fills_pauses_the_senders_before_it_loses_something)
{
	struct switch_lost lost = overload(RING);

	cr_expect_eq(lost_frames(&lost), 0);
	/* One that a single look may fill. */
	lost = overload(64);
	cr_expect_gt(lost.packets[LOSSLESS], 0);
	cr_expect_eq(lost.packets[LOSSLESS], lost_frames(&lost));
}
