/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Packets across a fabric, and what becomes of them when there is no way left. Identifiers such as FWD-LAT
 * name the case of a switch tester's catalogue that a test covers.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <jansson.h>

#include "tests/lab/harness.h"

TestSuite(forwarding, .init = harness_start);

#define TEXT_MAX 2048

#define LOSSLESS_MASK (1u << 3)

/* --- latency --- */

#define HOPS     4u /* host, leaf, spine, leaf, host */
#define SWITCHES 3u
#define MESSAGE  1048576u /* 256 packets */

/* At 100 Gb/s a byte lasts 80 ps. Without and with RDMA extended header, which the first packet has. */
#define FRAME_PS ((4096 + 58 + WIRE_OVERHEAD_BYTES) * UINT64_C(80))
#define FIRST_PS (FRAME_PS + 16 * UINT64_C(80))

/* 3 m, 30 m, 30 m and 3 m, at 5 ns a metre. */
#define CABLES_PS (66 * 5 * PS_PER_NS)

static struct simulation *cross(const char *rate, const char *poll)
{
	static char text[TEXT_MAX];

	snprintf(
		text, sizeof(text),
		"name: latency\n"
		"duration: 2ms\n"
		"fabric: {leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, host_speed: 100G, "
		"uplink_speed: 100G, host_cable: 3m, uplink_cable: 30m}}\n"
		"leaf: {poll: %s}\n"
		"hosts: {mtu: 4096, cc: none}\n"
		"traffic: [{flow: {name: one, from: leaf1.h1, to: leaf2.h1, bytes: %u, rate: %s}}]\n",
		poll, MESSAGE, rate);
	return harness_simulate(text, 0, true);
}

static uint64_t reported_ns(const json_t *latency, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(latency, key));
}

/* What is reported lies between the bounds, in order, and ends with the longest. */
static void check_reported(const struct simulation *simulation, uint64_t min_ps, uint64_t max_ps)
{
	json_t *result = simulation_result(simulation);
	const json_t *latency = json_object_get(result, "latency_ns");
	uint64_t p50 = reported_ns(latency, "p50"), p99 = reported_ns(latency, "p99");
	uint64_t p999 = reported_ns(latency, "p999"), max = reported_ns(latency, "max");

	cr_expect_eq(max, max_ps / PS_PER_NS);
	cr_expect(p50 <= p99 && p99 <= p999 && p999 <= max);
	/* The histogram's buckets are a few percent wide. */
	cr_expect_geq(p50 * 100, min_ps / PS_PER_NS * 95);
	json_decref(result);
}

/*
 * Store and forward: packet n leaves hop k as soon as it is there and the packet before has left. The first one is
 * longer by its header, so all others, back to back, wait for it at each hop but the first: k first ones and
 * one more packet. To the picosecond.
 */
Test(forwarding, FWD_LAT_is_that_of_the_wires_where_a_leaf_is_never_late)
{
	struct simulation *simulation = cross("100G", "0");
	const struct flow *flow = harness_flow(simulation, "one");

	cr_assert_eq(flow->received_bytes, MESSAGE);
	cr_expect_eq(flow->latency_max_ps, HOPS * FIRST_PS + CABLES_PS);
	cr_expect_eq(flow->latency_min_ps, (HOPS - 1) * FIRST_PS + FRAME_PS + CABLES_PS);
	check_reported(simulation, flow->latency_min_ps, flow->latency_max_ps);
	harness_finish(simulation);
}

/* Each of three leaves looks at its ports at most 2 us after a packet came. At 10 Gb/s none waits for another. */
Test(forwarding, FWD_LAT_of_a_leaf_on_a_cpu_is_at_most_a_poll_more)
{
	struct simulation *simulation = cross("10G", "2us");
	const struct flow *flow = harness_flow(simulation, "one");
	uint64_t wires_ps = HOPS * FRAME_PS + CABLES_PS;

	cr_assert_eq(flow->received_bytes, MESSAGE);
	cr_expect_geq(flow->latency_min_ps, wires_ps);
	cr_expect_leq(flow->latency_max_ps, HOPS * FIRST_PS + CABLES_PS + SWITCHES * 2 * PS_PER_US);
	cr_expect_gt(flow->latency_max_ps, flow->latency_min_ps, "some wait, others don't");
	check_reported(simulation, flow->latency_min_ps, flow->latency_max_ps);
	harness_finish(simulation);
}

/* --- no way left --- */

#define DOWN_US 300u
#define UP_US   800u
#define STOP_US 1000u
#define END_US  1200u

static uint32_t link_named(const struct simulation *simulation, const char *name)
{
	const struct topology *topology = simulation->scenario->topology;

	for (uint32_t i = 0; i < topology->link_count; i++)
		if (strcmp(topology->links[i].name, name) == 0)
			return i;
	cr_assert_fail("no link %s", name);
	return 0;
}

static void set_uplinks(struct simulation *simulation, bool up)
{
	fabric_link_set(simulation->fabric, link_named(simulation, "leaf1-spine1"), up);
	fabric_link_set(simulation->fabric, link_named(simulation, "leaf1-spine2"), up);
	cr_assert_eq(fabric_refresh(simulation->fabric), 0);
}

static uint64_t drops_of(const struct simulation *simulation, enum drop_reason reason)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < simulation->scenario->topology->switch_count; i++)
		sum += leaf_drops(simulation->fabric->switches[i]->leaf, reason);
	return sum;
}

static uint64_t pauses(const struct simulation *simulation)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < simulation->scenario->topology->switch_count; i++)
		sum += harness_pauses(simulation, i, LOSSLESS_MASK);
	return sum;
}

/*
 * Both uplinks of a leaf go down under load, in a lossless class. What waits for them and what comes from
 * then on is dropped as link_down, since its next hops stay known; nobody is paused for it, and a neighbour in the rack is served as
 * before. When they are up again, everything arrives.
 */
Test(forwarding, LF_ALL_DOWN_is_counted_pauses_nobody_and_ends_with_the_links_return)
{
	struct simulation *simulation = harness_begin(
		"name: all-down\n"
		"duration: 1200us\n"
		"fabric: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2, host_speed: 100G, "
		"uplink_speed: 100G}}\n"
		"hosts: {mtu: 4096, cc: none}\n"
		"traffic:\n"
		"  - flow: {name: far, from: leaf1.h1, to: leaf2.h1, rate: 50G, stop: 1000us}\n"
		"  - flow: {name: near, from: leaf1.h1, to: leaf1.h2, rate: 40G, stop: 1000us}\n");
	const struct flow *far = harness_flow(simulation, "far");
	const struct flow *near = harness_flow(simulation, "near");
	uint64_t sent, received, dropped;

	harness_run_to(simulation, DOWN_US * PS_PER_US);
	sent = far->sent_packets;
	set_uplinks(simulation, false);
	harness_run_to(simulation, UP_US * PS_PER_US);
	received = far->received_packets;
	cr_expect_eq(pauses(simulation), 0);
	/* 50 Gb/s for half a millisecond; what is on a wire when they fail or come back, and one in between. */
	sent = far->sent_packets - sent;
	dropped = drops_of(simulation, DROP_LINK_DOWN);
	cr_expect(dropped + 4 >= sent && dropped <= sent + 4, "%" PRIu64 " of %" PRIu64, dropped,
		  sent);
	set_uplinks(simulation, true);
	harness_run_to(simulation, END_US * PS_PER_US);
	dropped = drops_of(simulation, DROP_LINK_DOWN);
	cr_expect_eq(harness_drops(simulation), dropped, "for no other reason");
	cr_expect_eq(far->sent_packets - far->received_packets, dropped);
	cr_expect_gt(far->received_packets, received, "it goes on");
	cr_expect_eq(near->received_packets, near->sent_packets);
	cr_expect_eq(pauses(simulation), 0);
	harness_check_quiet(simulation, false);
	harness_finish(simulation);
}
