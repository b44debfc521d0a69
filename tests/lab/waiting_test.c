/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who waits for whom at the end of a run: circles of pauses, and hosts that hold up others.
 *
 * In a ring of seven switches the shortest way to the third one clockwise is clockwise (3 hops against 4), so
 * that traffic of all to the third one makes each link depend on the next, all around.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/lab/harness.h"
#include "tools/lab/waiting.h"

TestSuite(waiting, .init = harness_start);

#define RING 7

/* @param hops each host sends to the so manyth one clockwise */
static const char *ring_text(uint32_t hops)
{
	static char text[8192];
	size_t at = 0;

#define ADD(...) at += (size_t)snprintf(text + at, sizeof(text) - at, __VA_ARGS__)
	ADD("duration: 3ms\nfabric:\n  explicit:\n    nodes: [");
	for (uint32_t i = 0; i < RING; i++)
		ADD("s%u, h%u%s", i, i, i + 1 == RING ? "]\n    links:\n" : ", ");
	for (uint32_t i = 0; i < RING; i++)
		ADD("      - {ends: [s%u, s%u], speed: 100G, cable: 3m}\n"
		    "      - {ends: [s%u, h%u], speed: 100G, cable: 3m}\n",
		    i, (i + 1) % RING, i, i);
	ADD("leaf:\n  memory: 4MiB\n  classes:\n"
	    "    - {priority: 3, name: roce, dscp: [26], lossless: true, ecn: off}\n"
	    "    - {priority: 0, name: best-effort}\n"
	    "traffic:\n");
	for (uint32_t i = 0; i < RING; i++)
		ADD("  - flow: {name: f%u, from: h%u, to: h%u, bytes: 1MB}\n", i, i,
		    (i + hops) % RING);
#undef ADD
	cr_assert_lt(at, sizeof(text));
	return text;
}

static json_t *at_end(const char *text)
{
	struct simulation *simulation = harness_simulate(text, UINT64_MAX - PS_PER_US, true);
	json_t *result = waiting_result(simulation->fabric);

	harness_finish(simulation);
	return result;
}

Test(waiting, a_circle_of_pauses_is_found_and_named_in_order)
{
	json_t *waiting = at_end(ring_text(3));
	json_t *cycles = json_object_get(waiting, "cycles");
	json_t *cycle = json_array_get(cycles, 0), *queues = json_object_get(cycle, "queues");
	uint32_t first;

	cr_assert_eq(json_array_size(cycles), 1);
	cr_assert_eq(json_array_size(queues), RING);
	cr_expect_eq(json_integer_value(json_object_get(cycle, "priority")), 3);
	/* "s3->s4" */
	first = (uint32_t)strtoul(json_string_value(json_array_get(queues, 0)) + 1, NULL, 10);
	for (uint32_t i = 0; i < RING; i++) {
		char name[32];

		snprintf(name, sizeof(name), "s%u->s%u", (first + i) % RING,
			 (first + i + 1) % RING);
		cr_expect_str_eq(json_string_value(json_array_get(queues, i)), name);
	}
	json_decref(waiting);
}

/* To the next switch no packet uses two links of the ring. */
Test(waiting, a_ring_without_transit_has_no_circle_and_ends)
{
	json_t *waiting = at_end(ring_text(1));

	cr_expect_eq(json_array_size(json_object_get(waiting, "cycles")), 0);
	cr_expect_eq(json_array_size(json_object_get(waiting, "holders")), 0);
	json_decref(waiting);
}

static const char *rack_text(const char *more)
{
	static char text[2048];

	snprintf(text, sizeof(text),
		 "duration: 3ms\n"
		 "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, "
		 "host_speed: 100G}}\n"
		 "leaf:\n  memory: 4MiB\n  classes:\n"
		 "    - {priority: 3, name: roce, dscp: [26], lossless: true, ecn: off}\n"
		 "    - {priority: 0, name: best-effort}\n"
		 "traffic:\n"
		 "  - flow: {name: a, from: leaf1.h2, to: leaf1.h1}\n"
		 "  - flow: {name: b, from: leaf1.h3, to: leaf1.h1}\n"
		 "%s",
		 more);
	return text;
}

Test(waiting, a_host_that_pauses_for_long_is_named_with_those_behind_it)
{
	json_t *waiting = at_end(
		rack_text("faults: [pause_storm: {host: leaf1.h1, priority: 3, at: 1ms}]\n"));
	json_t *holders = json_object_get(waiting, "holders"), *holder;
	json_t *behind;

	cr_expect_eq(json_array_size(json_object_get(waiting, "cycles")), 0);
	cr_assert_eq(json_array_size(holders), 1);
	holder = json_array_get(holders, 0);
	behind = json_object_get(holder, "behind");
	cr_expect_str_eq(json_string_value(json_object_get(holder, "host")), "leaf1.h1");
	cr_expect_str_eq(json_string_value(json_object_get(holder, "queue")), "leaf1->leaf1.h1");
	/* A pause frame, 84 bytes at 100G, and 3 m of cable after 1 ms, a packet at most later. */
	cr_expect_geq(json_integer_value(json_object_get(holder, "since_ns")), 1000000);
	cr_expect_leq(json_integer_value(json_object_get(holder, "since_ns")), 1001000);
	cr_assert_eq(json_array_size(behind), 2);
	cr_expect_str_eq(json_string_value(json_array_get(behind, 0)), "leaf1.h2->leaf1");
	cr_expect_str_eq(json_string_value(json_array_get(behind, 1)), "leaf1.h3->leaf1");
	json_decref(waiting);
}

/* One frame pauses for 65535 * 512 bits: 335.5 us at 100G. Less may end by itself. */
Test(waiting, a_pause_that_one_frame_can_have_caused_is_no_news)
{
	json_t *waiting = at_end(
		rack_text("faults: [pause_storm: {host: leaf1.h1, priority: 3, at: 2700us}]\n"));

	cr_expect_eq(json_array_size(json_object_get(waiting, "holders")), 0);
	json_decref(waiting);
	waiting = at_end(
		rack_text("faults: [pause_storm: {host: leaf1.h1, priority: 3, at: 2600us}]\n"));
	cr_expect_eq(json_array_size(json_object_get(waiting, "holders")), 1);
	json_decref(waiting);
}

/* Pauses come and go: both hosts get half of the link. */
Test(waiting, senders_that_are_paused_now_and_then_are_not_stuck)
{
	json_t *waiting = at_end(rack_text(""));

	cr_expect_eq(json_array_size(json_object_get(waiting, "cycles")), 0);
	cr_expect_eq(json_array_size(json_object_get(waiting, "holders")), 0);
	json_decref(waiting);
}
