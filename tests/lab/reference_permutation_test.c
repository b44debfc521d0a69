/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sixteen hosts on four leaves, each sending to one on another leaf, over the spines that the reference's flows
 * took: how long flows take.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include <rte_byteorder.h>

#include "dataplane/balance/hash.h"
#include "dataplane/snapshot.h"
#include "tests/lab/reference.h"

TestSuite(reference_permutation, .init = harness_start);

#define MIB    UINT64_C(1048576)
#define HOSTS  16u
#define LEAVES 4u
#define SPINES 4u

/* Columns of permutation.csv. */
enum { SRC = 5, DST = 6, FCT = 9, SPINE = 10 };

/* Over which spine a packet goes: of the flow, or of its acknowledgements. */
static uint32_t spine_of(const struct scenario *scenario, const struct scenario_flow *flow,
			 uint32_t id, bool back, const uint64_t seed[LEAVES])
{
	const struct topology *topology = scenario->topology;
	uint32_t from = back ? flow->destination : flow->source;
	uint32_t to = back ? flow->source : flow->destination;
	struct config_ip source = topology_ip(topology, topology->hosts[from]);
	struct config_ip destination = topology_ip(topology, topology->hosts[to]);
	struct parsed parsed = {
		.kind = KIND_IPV4,
		.protocol = 17,
		.ports = (uint32_t)rte_cpu_to_be_16(flow->source_port) |
			 (uint32_t)rte_cpu_to_be_16(4791) << 16,
		.bth_qp = rte_cpu_to_be_32(FLOW_QUEUE_PAIR + id),
	};

	memcpy(&parsed.source, source.bytes, 4);
	memcpy(&parsed.destination, destination.bytes, 4);
	return balance_member(balance_hash(&parsed, NULL, seed[from / (HOSTS / LEAVES)]), SPINES);
}

/* Give every flow a source port by which leaves send it and its acknowledgements over the right spines. */
static void pin(struct scenario *scenario, const struct reference_network *network,
		const struct reference_table *table)
{
	struct simulation *simulation = reference_simulation(scenario, network);
	uint64_t seed[LEAVES];

	for (uint32_t leaf = 0; leaf < LEAVES; leaf++)
		seed[leaf] = simulation->fabric->switches[leaf]->snapshot->hash_seed;
	simulation_free(simulation);
	for (uint32_t i = 0; i < scenario->flow_count; i++) {
		struct scenario_flow *flow = &scenario->flows[i];
		uint32_t spine = (uint32_t)reference_number(&table->rows[i], SPINE);
		uint32_t back = (uint32_t)reference_number(&table->rows[i], SPINE + 1);

		while (spine_of(scenario, flow, i, false, seed) != spine ||
		       spine_of(scenario, flow, i, true, seed) != back)
			flow->source_port++;
	}
}

/* By what its uplinks carried: flows are where they should be. */
static void check_paths(const struct simulation *simulation, const struct reference_table *table)
{
	uint32_t flows[LEAVES][SPINES] = {{0}};

	for (uint32_t i = 0; i < table->count; i++)
		flows[(uint32_t)reference_number(&table->rows[i], SRC) / (HOSTS / LEAVES)]
		     [(uint32_t)reference_number(&table->rows[i], SPINE)]++;
	for (uint32_t leaf = 0; leaf < LEAVES; leaf++) {
		for (uint32_t spine = 0; spine < SPINES; spine++) {
			struct queue_totals queue;

			leaf_queue_totals(simulation->fabric->switches[leaf]->leaf,
					  (uint16_t)(HOSTS / LEAVES + spine), REFERENCE_PRIORITY,
					  &queue);
			/* Acknowledgements of 62 bytes of four flows at most, too. */
			cr_assert_eq(queue.tx_bytes / (1050 * 10000), flows[leaf][spine],
				     "leaf %u, spine %u", leaf, spine);
		}
	}
}

/*
 * When the last acknowledgement of each flow has come, which is the end there: acknowledgements wait in the queues
 * of the data.
 */
static void wait_for_acks(struct simulation *simulation, double acked_ns[HOSTS])
{
	uint32_t left = HOSTS;

	memset(acked_ns, 0, HOSTS * sizeof(acked_ns[0]));
	for (uint64_t t = 0; left != 0; t += PS_PER_US) {
		cr_assert_lt(t, 10 * PS_PER_MS);
		harness_run_to(simulation, t);
		for (uint32_t i = 0; i < HOSTS; i++) {
			const struct flow *flow = &simulation->fabric->traffic.flows[i];

			if (acked_ns[i] != 0 || flow->acked.offset_bytes != flow->params.bytes)
				continue;
			acked_ns[i] = (double)t / PS_PER_NS;
			left--;
		}
	}
}

static void compare_permutation(const char *name, uint32_t mib)
{
	static char rest[16384];
	static struct reference_link links[HOSTS + LEAVES * SPINES];
	static struct reference_switch switches[LEAVES + SPINES];
	struct reference_network network = {
		links, HOSTS + LEAVES * SPINES, switches, HOSTS, LEAVES + SPINES, mib * MIB, rest};
	double ours[3] = {1e30, 0, 0}, theirs[3] = {1e30, 0, 0};
	struct reference_table table;
	struct scenario *scenario;
	struct simulation *simulation;
	double acked_ns[HOSTS];
	char begin[64];
	int at;

	snprintf(begin, sizeof(begin), "ps,%s,off,%u,1000", name, mib);
	table = reference_read("permutation", begin);
	cr_assert_eq(table.count, HOSTS);
	for (uint16_t i = 0; i < HOSTS; i++)
		links[i] = (struct reference_link){{i, (uint16_t)(HOSTS + i / 4)}, 100};
	for (uint16_t i = 0; i < LEAVES * SPINES; i++)
		links[HOSTS + i] = (struct reference_link){
			{(uint16_t)(HOSTS + i / SPINES), (uint16_t)(HOSTS + LEAVES + i % SPINES)},
			100};
	/* Each leaf has data from its hosts and from the spines; who pauses is the leaf's or the spine's. */
	for (uint32_t i = 0; i < LEAVES + SPINES; i++)
		switches[i] = (struct reference_switch){32, 4};
	at = snprintf(rest, sizeof(rest), "duration: 20ms\n" REFERENCE_PFC_ONLY "traffic:\n");
	for (uint32_t i = 0; i < HOSTS; i++)
		at += snprintf(
			rest + at, sizeof(rest) - (size_t)at,
			"  - flow: {from: n%s, to: n%s, bytes: %u, payload: 990, start: 0us, "
			"class: roce}\n",
			table.rows[i].field[SRC], table.rows[i].field[DST], 10000 * 990);
	scenario = reference_scenario(&network);
	pin(scenario, &network, &table);
	simulation = reference_simulation(scenario, &network);
	wait_for_acks(simulation, acked_ns);
	check_paths(simulation, &table);
	for (uint32_t i = 0; i < HOSTS; i++) {
		double fct[2] = {acked_ns[i], reference_number(&table.rows[i], FCT)};

		ours[0] = fct[0] < ours[0] ? fct[0] : ours[0];
		ours[1] += fct[0] / HOSTS;
		ours[2] = fct[0] > ours[2] ? fct[0] : ours[2];
		theirs[0] = fct[1] < theirs[0] ? fct[1] : theirs[0];
		theirs[1] += fct[1] / HOSTS;
		theirs[2] = fct[1] > theirs[2] ? fct[1] : theirs[2];
	}
	printf("# %s, %2u MiB %41s %14s\n", name, mib, "ours", "reference");
	reference_compare("shortest flow, ns", ours[0], theirs[0], 0.02);
	reference_compare("mean, ns", ours[1], theirs[1], 0.02);
	reference_compare("longest flow, ns", ours[2], theirs[2], 0.02);
	reference_free(&table);
	harness_finish(simulation);
}

Test(reference_permutation, shifted_by_a_leaf)
{
	compare_permutation("shift4", 32);
	compare_permutation("shift4", 4);
}

Test(reference_permutation, random)
{
	compare_permutation("rand1", 32);
	compare_permutation("rand1", 4);
	compare_permutation("rand2", 32);
	compare_permutation("rand2", 4);
}
