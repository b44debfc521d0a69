/* SPDX-License-Identifier: BSD-3-Clause */
/* How evenly uplinks are used, as results say it, where the answer is known. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdio.h>

#include "tests/lab/harness.h"
#include "tools/lab/flow_path.h"

TestSuite(uplinks, .init = harness_start);

#define SPINES 4

/* Seed, spines, mode. */
#define SCENARIO                                                             \
	"seed: %u\n"                                                         \
	"duration: 1ms\n"                                                    \
	"fabric: {leaf_spine: {leaves: 2, spines: %d, hosts_per_leaf: 1}}\n" \
	"leaf: {balance: {mode: %s}}\n"                                      \
	"hosts: {cc: none}\n"                                                \
	"traffic: [{flow: {from: leaf1.h1, to: leaf2.h1, bytes: 10MB}}]\n"

static double imbalance_of(const char *mode)
{
	char text[1024];
	struct simulation *simulation;
	json_t *result, *balance;
	double imbalance;

	snprintf(text, sizeof(text), SCENARIO, 1u, SPINES, mode);
	simulation = harness_simulate(text, 0, false);
	result = simulation_result(simulation);
	balance = json_object_get(result, "balance");
	imbalance = json_real_value(json_object_get(balance, "imbalance"));
	cr_assert_eq(json_integer_value(json_object_get(balance, "held_max_bytes")), 0);
	json_decref(result);
	harness_finish(simulation);
	return imbalance;
}

/* One flow by hash has one of four uplinks, its acknowledgements too: four times the mean, exactly. */
Test(uplinks, one_flow_on_one_of_four_uplinks_is_four_times_the_mean)
{
	cr_assert_float_eq(imbalance_of("ecmp"), SPINES, 1e-6);
	cr_assert_float_eq(imbalance_of("static"), SPINES, 1e-6);
}

/* The path that the lab tells of a flow is where its bytes went. */
Test(uplinks, paths_are_told_as_packets_take_them)
{
	static const char *const modes[] = {"ecmp", "static", "flowlet"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		for (uint32_t seed = 1; seed <= 8; seed++) {
			uint32_t wires[FLOW_PATH_WIRES_MAX], count;
			struct simulation *simulation;
			char text[512];

			snprintf(text, sizeof(text), SCENARIO, seed, SPINES, modes[i]);
			simulation = harness_simulate(text, 0, false);
			count = flow_path(simulation->fabric, &simulation->fabric->traffic.flows[0],
					  wires);
			cr_assert_eq(count, 4);
			for (uint32_t hop = 0; hop < count; hop++)
				cr_assert_gt(simulation->fabric->wires[wires[hop]].sent_bytes,
					     10000000, "%s, seed %u, hop %u", modes[i], seed, hop);
			harness_finish(simulation);
		}
	}
}

/*
 * Packet by packet the uplinks differ by one packet of 4 KB at most, of the 1.2 MB that 100G carry in a window;
 * acknowledgements weigh next to nothing.
 */
Test(uplinks, one_flow_sprayed_over_four_uplinks_is_even)
{
	double imbalance = imbalance_of("spray-unordered");

	cr_assert_geq(imbalance, 1);
	cr_assert_lt(imbalance, 1 + 4.0 * 4200 / 1200000, "%f", imbalance);
}
