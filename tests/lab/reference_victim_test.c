/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A flow that shares a trunk with an incast, which pauses hold back: its goodput, from 2 to 20 ms.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/lab/reference.h"

TestSuite(reference_victim, .init = harness_start);

#define MIB       UINT64_C(1048576)
#define FLOWS_MAX 5u

#define FLOW(from, to) \
	"  - flow: {from: n" from ", to: n" to ", payload: 990, start: 0us, class: roce}\n"

static uint64_t received_bytes[FLOWS_MAX];

static void compare_goodput(const char *variant, uint32_t mib,
			    const struct reference_network *network)
{
	struct simulation *simulation = reference_simulation(reference_scenario(network), network);
	struct reference_table table;
	char begin[64], what[64];

	snprintf(begin, sizeof(begin), "ps,%s,off,%u,1000", variant, mib);
	table = reference_read("victim", begin);
	cr_assert_eq(table.count, simulation->fabric->traffic.flow_count);
	harness_run_to(simulation, 2 * PS_PER_MS);
	for (uint32_t i = 0; i < table.count; i++)
		received_bytes[i] = simulation->fabric->traffic.flows[i].received_bytes;
	harness_run_to(simulation, 20 * PS_PER_MS);
	printf("# %s, %2u MiB %42s %14s\n", variant, mib, "ours", "reference");
	for (uint32_t i = 0; i < table.count; i++) {
		const struct flow *flow = &simulation->fabric->traffic.flows[i];
		/* Payloads of 1000 bytes there. */
		double bytes = (double)(flow->received_bytes - received_bytes[i]) * 1000 /
			       REFERENCE_PAYLOAD_BYTES;

		snprintf(what, sizeof(what), "%s from %s to %s, Mb/s",
			 table.rows[i].field[7][0] == '1' ? "victim" : "flow",
			 table.rows[i].field[5], table.rows[i].field[6]);
		reference_compare(what, bytes * 8 / 18e-3 / 1e6,
				  1000 * reference_number(&table.rows[i], 8), 0.05);
	}
	reference_free(&table);
	harness_finish(simulation);
}

/* Four hosts and the victim on one switch, both receivers on the other. */
static void one_sided(const char *variant, uint32_t mib, uint32_t trunk_gbps)
{
	const struct reference_link links[] = {
		{{0, 7}, 100}, {{1, 7}, 100}, {{2, 7}, 100}, {{3, 7}, 100},
		{{4, 7}, 100}, {{5, 8}, 100}, {{6, 8}, 100}, {{7, 8}, trunk_gbps},
	};
	const struct reference_switch switches[] = {{32, 5}, {trunk_gbps == 400 ? 128 : 32, 1}};
	const struct reference_network network = {
		links,
		8,
		switches,
		7,
		2,
		mib * MIB,
		"duration: 100ms\n" REFERENCE_PFC_ONLY "traffic:\n" FLOW("0", "5") FLOW("1", "5")
			FLOW("2", "5") FLOW("3", "5") FLOW("4", "6")};

	compare_goodput(variant, mib, &network);
}

Test(reference_victim, the_trunk_is_the_bottleneck)
{
	one_sided("d1", 32, 100);
	one_sided("d1", 4, 100);
}

Test(reference_victim, the_receivers_link_is_the_bottleneck)
{
	one_sided("d2", 32, 400);
	one_sided("d2", 4, 400);
}

Test(reference_victim, some_senders_are_on_the_receivers_switch)
{
	static const struct reference_link links[] = {
		{{0, 9}, 100},  {{1, 9}, 100},  {{2, 9}, 100},  {{3, 9}, 100},  {{4, 9}, 100},
		{{5, 10}, 100}, {{6, 10}, 100}, {{7, 10}, 100}, {{8, 10}, 100}, {{9, 10}, 100},
	};
	static const struct reference_switch switches[] = {{32, 2}, {32, 3}};

	for (uint32_t mib = 4; mib <= 32; mib += 28) {
		const struct reference_network network = {links,
							  10,
							  switches,
							  9,
							  2,
							  mib * MIB,
							  "duration: 100ms\n" REFERENCE_PFC_ONLY
							  "traffic:\n" FLOW("0", "5") FLOW("4", "6")
								  FLOW("7", "5") FLOW("8", "5")};

		compare_goodput("d3", mib, &network);
	}
}
