/* SPDX-License-Identifier: BSD-3-Clause */
/* Safe moves over whole fabrics: no host ever gets a packet out of order, and elephants end up apart. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "dataplane/balance/adaptive.h"
#include "dataplane/internal.h"
#include "dataplane/leaf.h"
#include "tests/lab/harness.h"
#include "tools/lab/fabric.h"

#define PACKETS  400000
/* All flows begin then, and the clock wraps soon after. */
#define START_PS (UINT64_MAX - 20 * PS_PER_US)

static void start(void)
{
	harness_start_packets(PACKETS);
}

TestSuite(adaptive, .init = start);

#define SCENARIO                                                                            \
	"duration: 8ms\n"                                                                   \
	"seed: %u\n"                                                                        \
	"fabric: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, host_speed: 100G, " \
	"uplink_speed: 100G, host_cable: 30m, uplink_cable: 30m}}\n"                        \
	"hosts: {cc: dcqcn, dcqcn: {preset: hpcc}, mtu: 4096, ack_every: 4}\n"              \
	"leaf:\n"                                                                           \
	"  workers: %u\n"                                                                   \
	"  memory: 256MiB\n"                                                                \
	"  balance: {mode: %s}\n"                                                           \
	"  classes:\n"                                                                      \
	"    - {name: roce, priority: 3, dscp: [26], lossless: true, weight: 60, "          \
	"rdma_mtu: 4096, ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%%}}\n"                   \
	"    - {name: cnp, priority: 6, dscp: [48], strict: true, max_rate: 20%%}\n"        \
	"    - {name: control, priority: 7, dscp: [56], strict: true}\n"                    \
	"    - {name: best-effort, priority: 0, weight: 20}\n"                              \
	"traffic:\n"                                                                        \
	"  - permutation: {bytes: 10MB}\n"

/* 10 MB as packets of 4096 bytes, each with 84 bytes of headers and framing: IP 20, UDP 8, BTH 12, ICRC 4, Ethernet 40. */
#define EMPTY_PS (UINT64_C(10000000) / 4096 * (4096 + 84) * 80)

struct outcome {
	uint64_t out_of_order, unfinished, sum_ps, slowest_ps, moves, placed, refused, drops;
};

static void run_text(const char *text, struct outcome *outcome)
{
	struct fabric_conservation sum;
	struct simulation *simulation;

	simulation = harness_create(text, START_PS, false);
	harness_run_to(simulation, simulation->scenario->duration_ps);
	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	*outcome = (struct outcome){.drops = harness_drops(simulation)};
	for (uint32_t i = 0; i < simulation->fabric->traffic.flow_count; i++) {
		const struct flow *flow = &simulation->fabric->traffic.flows[i];
		uint64_t took_ps = flow->finished ? flow->finished_ps - START_PS : 0;

		outcome->out_of_order += flow->out_of_order;
		outcome->unfinished += !flow->finished;
		outcome->sum_ps += took_ps;
		if (took_ps > outcome->slowest_ps)
			outcome->slowest_ps = took_ps;
	}
	for (uint32_t i = 0; i < simulation->fabric->scenario->topology->switch_count; i++) {
		const struct leaf *leaf = simulation->fabric->switches[i]->leaf;
		struct balance_totals moved;
		struct spray_totals messages;

		leaf_balance_totals(leaf, &moved);
		leaf_spray_totals(leaf, &messages);
		outcome->moves += moved.moves;
		outcome->placed += moved.placed;
		outcome->refused += messages.messages_refused;
	}
	harness_finish(simulation);
}

static void run(const char *mode, uint32_t workers, uint32_t seed, struct outcome *outcome)
{
	char text[2048];

	snprintf(text, sizeof(text), SCENARIO, seed, workers, mode);
	run_text(text, outcome);
}

/* The same flows, sizes and hashes: what differs is that flows move. */
Test(adaptive, a_permutation_is_faster_than_by_hash_and_in_order)
{
	struct outcome all[2] = {{0}};

	for (uint32_t seed = 1; seed <= 3; seed++)
		for (uint32_t moves = 0; moves < 2; moves++) {
			struct outcome outcome;

			run(moves ? "adaptive" : "ecmp", 1, seed, &outcome);
			cr_expect_eq(outcome.out_of_order, 0);
			cr_expect_eq(outcome.unfinished, 0);
			cr_expect_eq(outcome.drops, 0);
			cr_expect_eq(outcome.refused, 0);
			cr_expect_eq(outcome.moves != 0, moves);
			all[moves].sum_ps += outcome.sum_ps;
			all[moves].slowest_ps += outcome.slowest_ps;
		}
	cr_expect_lt(all[1].sum_ps, all[0].sum_ps);
	/* 1.5 times the time on an empty network, and 20 us until leaves know of each other's flows. */
	cr_expect_lt(all[1].slowest_ps, 3 * (EMPTY_PS * 3 / 2 + 20 * PS_PER_US));
}

/*
 * A flow that isn't where its hash says stands still because its receiver pauses, and pauses keep its host silent for as
 * long: it goes on where its packets are, not by its hash.
 */
Test(adaptive, what_stood_still_goes_on_in_order)
{
	uint64_t placed = 0;

	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct outcome outcome;
		char text[2048];

		snprintf(text, sizeof(text),
			 "duration: 60ms\nseed: %u\n"
			 "fabric: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 2}}\n"
			 "hosts: {cc: none, mtu: 4096}\n"
			 "leaf: {balance: {mode: adaptive}, memory: 64MiB}\n"
			 "traffic:\n"
			 "  - flow: {from: leaf1.h1, to: leaf2.h1, bytes: 50MB}\n"
			 "  - flow: {from: leaf1.h2, to: leaf2.h2, bytes: 50MB}\n"
			 "faults:\n"
			 "  - pause_storm: {host: leaf2.h1, at: 1ms, for: 12ms}\n"
			 "  - pause_storm: {host: leaf2.h2, at: 2ms, for: 12ms}\n",
			 seed);
		run_text(text, &outcome);
		placed += outcome.placed;
		cr_expect_eq(outcome.out_of_order, 0, "seed %u: %llu", seed,
			     (unsigned long long)outcome.out_of_order);
		cr_expect_eq(outcome.unfinished, 0);
		cr_expect_eq(outcome.drops, 0);
	}
	cr_expect_gt(placed, 0);
}

Test(adaptive, workers_move_their_flows_in_order)
{
	struct outcome outcome;

	run("adaptive", 3, 1, &outcome);
	cr_expect_eq(outcome.out_of_order, 0);
	cr_expect_eq(outcome.unfinished, 0);
	cr_expect_eq(outcome.drops, 0);
	cr_expect_eq(outcome.refused, 0);
	cr_expect_gt(outcome.moves, 0);
}

/* All moves under way; none is older than the time-out. */
static uint32_t moves_under_way(const struct simulation *simulation)
{
	const struct fabric *fabric = simulation->fabric;
	uint32_t moves = 0;

	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++) {
		const struct worker *worker = fabric->switches[i]->leaf->worker[0];
		const struct adaptive *adaptive = balance_adaptive(worker);

		for (uint32_t m = 0; adaptive != NULL && m < SAFE_MOVES; m++) {
			const struct safe_move_step *step = &adaptive->move.step[m];

			if (step->flow == NULL)
				continue;
			moves++;
			cr_expect_leq(worker->now_ps - step->since_ps,
				      ADAPTIVE_TIMEOUT_PS + ADAPTIVE_TICK_PS);
		}
	}
	return moves;
}

/* A link goes while flows wait for their old path over it: probes are lost, or go nowhere for a while. */
Test(adaptive, a_move_whose_uplink_dies_ends_in_time)
{
	static const char *const faults[] = {"link_down", "stall"};
	uint64_t late = 0, aborted = 0;

	for (uint32_t row = 0; row < 8; row++) {
		struct fabric_conservation sum;
		struct simulation *simulation;
		uint32_t moving = 0;
		char text[2048];

		snprintf(text, sizeof(text),
			 SCENARIO "faults:\n  - %s: {link: leaf%u-spine%u, at: 20us, for: 2ms}\n",
			 1, 1, "adaptive", faults[row % 2], row / 2 + 1, row / 2 + 1);
		simulation = harness_create(text, START_PS, false);
		for (uint64_t at_ps = 0; at_ps < simulation->scenario->duration_ps;
		     at_ps += 10 * PS_PER_US) {
			harness_run_to(simulation, at_ps);
			moving += moves_under_way(simulation);
		}
		cr_expect_gt(moving, 0, "row %u", row);
		cr_expect_eq(moves_under_way(simulation), 0, "row %u", row);
		fabric_conservation(simulation->fabric, &sum);
		cr_expect(fabric_conserved(&sum));
		for (uint32_t i = 0; i < simulation->fabric->traffic.flow_count; i++)
			cr_expect(simulation->fabric->traffic.flows[i].finished, "row %u, flow %u",
				  row, i);
		for (uint32_t i = 0; i < simulation->fabric->scenario->topology->switch_count;
		     i++) {
			const struct leaf *leaf = simulation->fabric->switches[i]->leaf;
			struct balance_totals totals;

			for (uint16_t port = 0; port < leaf->ports; port++)
				cr_expect_eq(buffer_reasons(leaf_state(leaf, port, 3)), 0,
					     "row %u, port %u", row, port);
			leaf_balance_totals(leaf, &totals);
			late += totals.moves_late;
			aborted += totals.moves_aborted;
		}
		harness_finish(simulation);
	}
	cr_expect_gt(late, 0);
	cr_expect_gt(aborted, 0);
}
