/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lossless classes under hosts that send at line rate and stop for nothing but PFC. Nothing of a
 * lossless class may be lost; and so that this says something, the hosts must have been paused, and
 * must have wanted to send more than the whole buffer holds.
 */
#include "tests/lab/harness.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "dataplane/leaf.h"

#define ROCE 3

TestSuite(lossless, .init = harness_start, .timeout = 120);

struct sums {
	uint64_t pauses, xoff, xon; /* over all ports of a switch */
	uint64_t drops;             /* of any reason */
	uint64_t used_bytes;        /* that still wait */
	uint64_t headroom_peak_bytes;
};

static struct sums sums_of(const struct simulation *simulation, uint32_t index)
{
	const struct switch_node *node = simulation->fabric->switches[index];
	struct sums sums = {0};

	for (uint16_t port = 0; port < leaf_port_count(node->leaf); port++) {
		struct buffer_totals buffer;
		struct port_totals totals;
		struct pfc_totals pfc;

		leaf_pfc_totals(node->leaf, port, ROCE, simulation->fabric->engine->now_ps, &pfc);
		leaf_buffer_totals(node->leaf, node->snapshot, port, ROCE, &buffer);
		leaf_port_totals(node->leaf, port, &totals);
		sums.pauses += pfc.tx_pauses;
		sums.xoff += pfc.tx_xoff;
		sums.xon += pfc.tx_xon;
		sums.used_bytes += buffer.occupancy_bytes;
		if (buffer.headroom_peak_bytes > sums.headroom_peak_bytes)
			sums.headroom_peak_bytes = buffer.headroom_peak_bytes;
		for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
			sums.drops += totals.drop[reason];
	}
	return sums;
}

static void incast(uint32_t senders, const char *more)
{
	struct simulation *simulation;
	uint64_t received = 0, sent = 0;
	char text[1024];
	struct sums sums;

	/* 4 MB from each sender is half of the memory, and the last ones wait for all of it. */
	snprintf(text, sizeof(text),
		 "duration: 20ms\n"
		 "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: %u%s}}\n"
		 "leaf: {memory: 16MiB}\n"
		 "hosts: {mtu: 1024}\n"
		 "traffic: [incast: {name: a, senders: %u, to: leaf1.h1, bytes: %uKB}]\n",
		 senders + 1, more, senders, 64000 / senders);
	simulation = harness_simulate(text, 0, false);
	sums = sums_of(simulation, 0);
	for (uint32_t i = 0; i < senders; i++) {
		const struct flow *flow = &simulation->fabric->traffic.flows[i];

		cr_expect(flow->finished, "flow %u of %u%s", i, senders, more);
		cr_expect_eq(flow->out_of_order, 0);
		received += flow->received_bytes;
		sent += flow->sent_bytes;
	}
	cr_expect_eq(sums.drops, 0, "%u to 1%s: %" PRIu64 " drops", senders, more, sums.drops);
	cr_expect_eq(received, sent);
	cr_expect_gt(sent, UINT64_C(3) * (16 << 20), "more than the buffer was offered");
	cr_expect_geq(sums.pauses, senders, "everybody was paused");
	cr_expect_gt(sums.headroom_peak_bytes, 0, "headroom was needed");
	cr_expect_geq(sums.xon, sums.pauses, "and let go");
	cr_expect_eq(sums.used_bytes, 0, "and nothing is left");
	harness_finish(simulation);
}

Test(lossless, PFC_INCAST_N_loses_nothing)
{
	for (uint32_t senders = 2; senders <= 16; senders *= 2)
		incast(senders, "");
}

Test(lossless, HR_CABLE_headroom_covers_the_cable)
{
	incast(4, ", host_cable: 5m");
	incast(4, ", host_cable: 300m");
	incast(4, ", host_cable: 2km");
}

Test(lossless, PFC_ONLY_CONG_no_congestion_no_pause)
{
	struct simulation *simulation =
		harness_simulate("duration: 2ms\n"
				 "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4}}\n"
				 "leaf: {memory: 16MiB}\n"
				 "traffic:\n"
				 "  - flow: {from: leaf1.h1, to: leaf1.h2, bytes: 10MB}\n"
				 "  - flow: {from: leaf1.h3, to: leaf1.h4, bytes: 10MB}\n",
				 0, true);
	struct sums sums = sums_of(simulation, 0);

	cr_expect_eq(sums.xoff, 0);
	cr_expect_eq(sums.drops, 0);
	for (uint32_t i = 0; i < 2; i++)
		cr_expect(simulation->fabric->traffic.flows[i].finished);
	harness_finish(simulation);
}

/* From two racks to one host: leaves pause spines, spines pause leaves, leaves pause hosts. */
Test(lossless, PFC_pauses_spread_hop_by_hop_and_lose_nothing)
{
	struct simulation *simulation = harness_simulate(
		"duration: 20ms\n"
		"fabric: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 4}}\n"
		"leaf: {memory: 16MiB}\n"
		"traffic: [incast: {name: a, senders: 8, to: leaf1.h1, bytes: 10MB}]\n",
		0, false);
	uint64_t paused_hosts = 0;

	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(sums_of(simulation, i).drops, 0, "switch %u", i);
	for (uint32_t i = 0; i < simulation->fabric->scenario->topology->host_count; i++)
		paused_hosts += simulation->fabric->hosts[i].pause_frames != 0;
	cr_expect_geq(paused_hosts, 4);
	for (uint32_t i = 0; i < 8; i++)
		cr_expect(simulation->fabric->traffic.flows[i].finished, "flow %u", i);
	harness_finish(simulation);
}
