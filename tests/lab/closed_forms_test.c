/* SPDX-License-Identifier: BSD-3-Clause */
/* What can be worked out on paper: goodput, latency, and fairness of flows that are alike. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/lab/harness.h"

TestSuite(closed_forms, .init = harness_start, .timeout = 120);

/* Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4; preamble, gap and FCS. */
#define OTHER_BYTES (14 + 20 + 8 + 12 + 4 + WIRE_OVERHEAD_BYTES)
#define RETH_BYTES  16 /* in the first packet of a message */

/* --- goodput --- */

#define MESSAGES 10u

/*
 * Messages of 1 MiB in packets of `mtu` bytes follow each other on a wire that is never idle: a window of ten
 * messages' times takes ten messages, wherever it begins, and not a byte more or less.
 */
static void check_goodput(uint32_t mtu)
{
	uint64_t packets = FLOW_MESSAGE_BYTES / mtu;
	uint64_t message_ps = (packets * (mtu + OTHER_BYTES) + RETH_BYTES) * 80; /* at 100G */
	uint64_t packet_ps = (mtu + OTHER_BYTES) * UINT64_C(80);
	struct simulation *simulation;
	const struct flow *flow;
	char text[512];

	snprintf(text, sizeof(text),
		 "duration: 10ms\nfabric: {single_leaf: {hosts: 2, host_speed: 100G}}\n"
		 "hosts: {cc: none, mtu: %u}\n"
		 "traffic: [{flow: {name: one, from: leaf1.h1, to: leaf1.h2}}]\n",
		 mtu);
	simulation = harness_begin(text);
	flow = harness_flow(simulation, "one");
	for (uint64_t begin_ps = 100 * PS_PER_US; begin_ps < 1000 * PS_PER_US;
	     begin_ps += MESSAGES * message_ps + packet_ps / 3) {
		uint64_t before_bytes;

		harness_run_to(simulation, begin_ps);
		before_bytes = flow->received_bytes;
		harness_run_to(simulation, begin_ps + MESSAGES * message_ps);
		cr_expect_eq(flow->received_bytes - before_bytes, MESSAGES * FLOW_MESSAGE_BYTES,
			     "mtu %u: %lu bytes", mtu, flow->received_bytes - before_bytes);
	}
	harness_finish(simulation);
}

Test(closed_forms, a_flow_at_line_rate_delivers_its_payload_share)
{
	check_goodput(1024);
	check_goodput(4096);
}

/* --- latency --- */

/* A write of 1000 bytes in one packet. */
#define PACKET_BYTES (1000 + OTHER_BYTES + RETH_BYTES)

/* A byte lasts so long. */
#define PS_25G  320
#define PS_100G 80
#define PS_200G 40
#define PS_400G 20

static void check_latency(const char *fabric, const char *from, const char *to,
			  uint64_t expected_ps)
{
	struct simulation *simulation;
	const struct flow *flow;
	char text[1024];

	snprintf(text, sizeof(text),
		 "duration: 1ms\nfabric: {%s}\nhosts: {cc: none}\n"
		 "traffic: [{flow: {name: one, from: %s, to: %s, bytes: 1000}}]\n",
		 fabric, from, to);
	simulation = harness_simulate(text, UINT64_MAX - PS_PER_US, true);
	flow = harness_flow(simulation, "one");
	cr_expect_eq(flow->received_packets, 1);
	cr_expect_eq(flow->latency_min_ps, expected_ps, "%s: %lu ps, not %lu", fabric,
		     flow->latency_min_ps, expected_ps);
	cr_expect_eq(flow->latency_max_ps, expected_ps);
	harness_finish(simulation);
}

/* Each link takes the packet's time on it, and 5 ns a metre of cable. */
Test(closed_forms, an_empty_path_takes_its_wires_time_to_the_picosecond)
{
	check_latency("single_leaf: {hosts: 2, host_speed: 100G, host_cable: 3m}", "leaf1.h1",
		      "leaf1.h2", 2 * PACKET_BYTES * PS_100G + 2 * 3 * 5 * PS_PER_NS);
	check_latency("leaf_spine: {leaves: 2, spines: 1, hosts_per_leaf: 1, host_speed: 25G, "
		      "uplink_speed: 100G, host_cable: 2m, uplink_cable: 40m}",
		      "leaf1.h1", "leaf2.h1",
		      2 * PACKET_BYTES * (PS_25G + PS_100G) + 2 * (2 + 40) * 5 * PS_PER_NS);
	check_latency("three_tier: {pods: 2, leaves_per_pod: 1, spines_per_pod: 1, cores: 1, "
		      "hosts_per_leaf: 1, host_speed: 100G, uplink_speed: 400G, core_speed: 200G, "
		      "host_cable: 3m, uplink_cable: 30m, core_cable: 100m}",
		      "pod1.leaf1.h1", "pod2.leaf1.h1",
		      2 * PACKET_BYTES * (PS_100G + PS_400G + PS_200G) +
			      2 * (3 + 30 + 100) * 5 * PS_PER_NS);
}

/* --- fairness --- */

#define FLOWS_MAX 16u

/* Jain's index of what flows got: 1 when all got the same, 1/n when one got all (R. Jain et al., 1984). */
static double jain_index(const uint64_t *bytes, uint32_t count)
{
	double sum = 0, squares = 0;

	for (uint32_t i = 0; i < count; i++) {
		sum += (double)bytes[i];
		squares += (double)bytes[i] * (double)bytes[i];
	}
	return sum * sum / (count * squares);
}

/*
 * Flows that begin together, alike in all but their random starts, keep alike under DCQCN: over 10 ms, once their
 * rates have settled for 10 ms.
 */
static double fairness(uint32_t flows, const char *preset)
{
	uint64_t bytes[FLOWS_MAX];
	struct simulation *simulation;
	char text[512], name[32];

	snprintf(text, sizeof(text),
		 "duration: 20ms\nfabric: {single_leaf: {hosts: %u, host_speed: 100G}}\n"
		 "hosts: {cc: dcqcn, mtu: 4096, dcqcn: {preset: %s}}\n"
		 "traffic: [{incast: {name: f, senders: %u, to: leaf1.h1, bytes: 1GB}}]\n",
		 flows + 1, preset, flows);
	simulation = harness_begin(text);
	for (uint32_t half = 1; half <= 2; half++) {
		harness_run_to(simulation, half * 10 * PS_PER_MS);
		for (uint32_t i = 0; i < flows; i++) {
			uint64_t received_bytes;

			snprintf(name, sizeof(name), "f-%u", i + 1);
			received_bytes = harness_flow(simulation, name)->received_bytes;
			bytes[i] = half == 1 ? received_bytes : received_bytes - bytes[i];
		}
	}
	harness_finish(simulation);
	return jain_index(bytes, flows);
}

Test(closed_forms, equal_flows_get_equal_shares)
{
	for (uint32_t flows = 2; flows <= FLOWS_MAX; flows *= 2) {
		double index = fairness(flows, "hpcc");

		cr_expect_geq(index, 0.95, "%u flows: %.4f", flows, index);
	}
}
