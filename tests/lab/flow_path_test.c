/* SPDX-License-Identifier: BSD-3-Clause */
/* The path that is told of a flow against the wires that its frames were seen on. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/lab/harness.h"
#include "tools/lab/flow_path.h"

TestSuite(flow_path, .init = harness_start, .timeout = 60);

/* One flow without acknowledgements: wires that carried frames are its path, all others none. */
static void check_path(const char *fabric, const char *from, const char *to, uint32_t seed,
		       uint32_t hops)
{
	uint32_t wires[FLOW_PATH_WIRES_MAX], count;
	struct simulation *simulation;
	char text[512];

	snprintf(text, sizeof(text),
		 "seed: %u\nduration: 200us\nfabric: {%s}\n"
		 "traffic: [{flow: {from: %s, to: %s, bytes: 40960}}]\n",
		 seed, fabric, from, to);
	simulation = harness_simulate(text, 0, false);
	count = flow_path(simulation->fabric, &simulation->fabric->traffic.flows[0], wires);
	cr_assert_eq(count, hops, "%u wires of %u", count, hops);
	for (uint32_t i = 0; i < 2 * simulation->scenario->topology->link_count; i++) {
		const struct wire *wire = &simulation->fabric->wires[i];
		bool told = false;

		for (uint32_t j = 0; j < count; j++)
			told |= wires[j] == i;
		/* Ten packets go that way; acknowledgements come the other. */
		cr_expect_eq(told, wire->sent_bytes > 40960, "%s carried %lu bytes", wire->name,
			     (unsigned long)wire->sent_bytes);
	}
	harness_finish(simulation);
}

Test(flow_path, it_is_the_one_that_the_frames_take)
{
	for (uint32_t seed = 1; seed <= 12; seed++) {
		check_path("leaf_spine: {leaves: 3, spines: 4, uplinks_per_spine: 2, "
			   "hosts_per_leaf: 2}",
			   "leaf1.h1", "leaf3.h2", seed, 4);
		check_path("three_tier: {pods: 3, spines_per_pod: 4, cores: 8}", "pod1.leaf1.h1",
			   "pod3.leaf2.h4", seed, 6);
	}
	check_path("single_leaf: {hosts: 3}", "leaf1.h1", "leaf1.h3", 1, 2);
}
