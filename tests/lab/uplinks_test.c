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

/* Of each leaf with several uplinks, all of them, with what they sent and their share of it. */
Test(uplinks, each_uplink_has_its_share_in_the_result)
{
	static const char *const modes[] = {"ecmp", "spray-unordered"};

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		double sum[2] = {0}, least = 1, most = 0;
		json_t *result, *uplinks, *uplink;
		struct simulation *simulation;
		uint64_t bytes = 0;
		char text[1024];
		size_t index;

		snprintf(text, sizeof(text), SCENARIO, 1u, SPINES, modes[i]);
		simulation = harness_simulate(text, 0, false);
		result = simulation_result(simulation);
		uplinks = json_object_get(json_object_get(result, "balance"), "uplinks");
		cr_assert_eq(json_array_size(uplinks), 2 * SPINES, "not those of spines");
		json_array_foreach(uplinks, index, uplink)
		{
			const char *leaf = json_string_value(json_object_get(uplink, "leaf"));
			double share = json_real_value(json_object_get(uplink, "share"));
			char name[32];

			cr_assert_str_eq(leaf, index < SPINES ? "leaf1" : "leaf2");
			snprintf(name, sizeof(name), "%s-spine%zu", leaf, index % SPINES + 1);
			cr_assert_str_eq(json_string_value(json_object_get(uplink, "name")), name);
			sum[index / SPINES] += share;
			if (index >= SPINES)
				continue;
			bytes += (uint64_t)json_integer_value(json_object_get(uplink, "bytes"));
			least = share < least ? share : least;
			most = share > most ? share : most;
		}
		cr_expect_float_eq(sum[0], 1, SPINES * 1e-6, "rounded down");
		cr_expect_float_eq(sum[1], 0, 1e-9, "nothing goes back");
		cr_expect_gt(bytes, 10000000, "all of the flow");
		if (i == 0) {
			cr_expect_float_eq(most, 1, 1e-6);
			cr_expect_float_eq(least, 0, 1e-6);
		} else {
			cr_expect_float_eq(most, 0.25, 0.001, "by turns");
			cr_expect_float_eq(least, 0.25, 0.001);
		}
		json_decref(result);
		harness_finish(simulation);
	}
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
