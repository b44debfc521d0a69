/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In-order spray over whole fabrics: hosts get every packet in order and never see a number, uplinks share alike,
 * and what fails is gone round.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/leaf.h"
#include "tests/lab/harness.h"
#include "tools/lab/fabric.h"
#include "tools/lab/random.h"

#define PACKETS 400000

static void start(void)
{
	harness_start_packets(PACKETS);
}

TestSuite(spray, .init = start);

/* Marks begin so late that a standing queue of the start isn't slowed down. */
#define CLASSES                                                                     \
	"  memory: 256MiB\n"                                                        \
	"  classes:\n"                                                              \
	"    - {name: roce, priority: 3, dscp: [26], lossless: true, weight: 60, "  \
	"rdma_mtu: 4096, ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%}}\n"            \
	"    - {name: cnp, priority: 6, dscp: [48], strict: true, max_rate: 20%}\n" \
	"    - {name: control, priority: 7, dscp: [56], strict: true}\n"            \
	"    - {name: best-effort, priority: 0, weight: 20}\n"

#define FABRIC                                                                        \
	"fabric: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, host_speed: " \
	"100G, uplink_speed: 100G, host_cable: 30m, uplink_cable: 30m"

#define HOSTS "hosts: {cc: dcqcn, dcqcn: {preset: hpcc}, mtu: 4096, ack_every: 4}\n"

struct sums {
	struct spray_totals spray; /* of all leaves; peaks: the largest */
	uint64_t out_of_order, checksums, unfinished, slowest_ps;
	double imbalance;
};

static void sum_up(const struct simulation *simulation, struct sums *sums)
{
	const struct fabric *fabric = simulation->fabric;
	json_t *result = simulation_result(simulation);

	*sums = (struct sums){0};
	sums->imbalance =
		json_number_value(json_object_get(json_object_get(result, "balance"), "imbalance"));
	json_decref(result);
	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++) {
		struct spray_totals totals;

		leaf_spray_totals(fabric->switches[i]->leaf, &totals);
		sums->spray.sequenced += totals.sequenced;
		sums->spray.restored += totals.restored;
		sums->spray.rerouted += totals.rerouted;
		sums->spray.late += totals.late;
		sums->spray.duplicates += totals.duplicates;
		sums->spray.held_packets += totals.held_packets;
		sums->spray.messages_refused += totals.messages_refused;
		for (uint32_t r = 0; r < RESEQUENCER_REASON_COUNT; r++)
			sums->spray.given_up[r] += totals.given_up[r];
		if (totals.held_bytes_max > sums->spray.held_bytes_max)
			sums->spray.held_bytes_max = totals.held_bytes_max;
	}
	for (uint32_t i = 0; i < fabric->scenario->topology->host_count; i++)
		sums->checksums += fabric->hosts[i].checksums;
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++) {
		const struct flow *flow = &fabric->traffic.flows[i];

		sums->out_of_order += flow->out_of_order;
		sums->unfinished += !flow->finished;
	}
}

static struct simulation *run(const char *text, struct sums *sums)
{
	struct simulation *simulation = harness_create(text, UINT64_MAX - 20 * PS_PER_US, false);
	struct fabric_conservation sum;

	harness_run_to(simulation, simulation->scenario->duration_ps);
	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	sum_up(simulation, sums);
	return simulation;
}

Test(spray, a_permutation_arrives_in_order_by_all_uplinks_alike)
{
	for (uint32_t workers = 1; workers <= 3; workers += 2) {
		struct simulation *simulation;
		struct sums sums;
		char text[2048];

		snprintf(text, sizeof(text),
			 "duration: 2ms\n" FABRIC "}}\n" HOSTS "leaf:\n  workers: %u\n"
			 "  balance: {mode: spray}\n%s"
			 "traffic:\n  - permutation: {bytes: 5MB}\n",
			 workers, CLASSES);
		simulation = run(text, &sums);
		cr_expect_eq(sums.unfinished, 0);
		cr_expect_eq(sums.out_of_order, 0);
		cr_expect_eq(sums.checksums, 0, "a host has seen a number");
		cr_expect_gt(sums.spray.sequenced, 10000, "most of them");
		cr_expect_eq(sums.spray.restored, sums.spray.sequenced, "none is lost");
		cr_expect_eq(sums.spray.late, 0);
		cr_expect_eq(sums.spray.duplicates, 0);
		cr_expect_eq(sums.spray.held_packets, 0, "at the end");
		cr_expect_eq(sums.spray.messages_refused, 0);
		cr_expect_eq(harness_drops(simulation), 0);
		cr_expect_lt(sums.imbalance, 1.05, "%f", sums.imbalance);
		cr_expect_lt(sums.spray.held_bytes_max, 2000000);
		harness_finish(simulation);
	}
}

/* ECMP takes several times as long for the same (scenario elephants). */
Test(spray, a_slow_link_gets_its_share)
{
	struct simulation *simulation;
	struct sums sums;

	simulation =
		run("duration: 4ms\n" FABRIC ", links: [{link: leaf1-spine1, speed: 25G}]}}\n" HOSTS
		    "leaf:\n  balance: {mode: spray}\n" CLASSES
		    "traffic:\n  - permutation: {bytes: 10MB}\n",
		    &sums);
	cr_expect_eq(sums.unfinished, 0, "10 MB take 0.8 ms, over 3.25 of 4 uplinks 1 ms");
	cr_expect_eq(sums.out_of_order, 0);
	cr_expect_eq(sums.checksums, 0);
	cr_expect_eq(sums.spray.restored, sums.spray.sequenced);
	cr_expect_eq(harness_drops(simulation), 0);
	harness_finish(simulation);
}

/*
 * Link of a leaf that receives and sends at line rate by each of four uplinks; in 10 us pass 30 frames. What is lost
 * is what was on the wire, and what came to the spine until the other leaves had heard.
 */
Test(spray, LF_DOWN_a_dead_link_is_gone_round_within_10_us)
{
	struct simulation *simulation;
	struct sums sums;

	simulation = run("duration: 8ms\n" FABRIC "}}\n" HOSTS
			 "leaf:\n  balance: {mode: spray}\n" CLASSES
			 "traffic:\n  - permutation: {bytes: 10MB}\n"
			 "faults:\n  - link_down: {link: leaf1-spine1, at: 300us, for: 400us}\n",
			 &sums);
	cr_expect_eq(sums.unfinished, 0);
	cr_expect_eq(sums.checksums, 0);
	cr_expect_gt(harness_drops(simulation), 0, "the link did nothing");
	cr_expect_leq(harness_drops(simulation), 2 * 30, "%llu",
		      (unsigned long long)harness_drops(simulation));
	cr_expect_gt(sums.spray.given_up[RESEQUENCER_FENCE], 0, "holes end by fences");
	cr_expect_eq(sums.spray.given_up[RESEQUENCER_TIMEOUT], 0);
	cr_expect_eq(sums.spray.given_up[RESEQUENCER_CAP], 0);
	cr_expect_eq(sums.spray.late, 0, "nothing is reordered but by loss");
	harness_finish(simulation);
}

/* Whatever waits behind a stall comes: no fence says that it is lost, and nothing is late. */
Test(spray, a_stalled_link_costs_time_and_nothing_else)
{
	struct simulation *simulation;
	struct sums sums;

	simulation = run("duration: 6ms\n" FABRIC "}}\n" HOSTS
			 "leaf:\n  balance: {mode: spray}\n" CLASSES
			 "traffic:\n  - permutation: {bytes: 10MB}\n"
			 "faults:\n  - stall: {link: leaf1-spine1, at: 300us, for: 100us}\n",
			 &sums);
	cr_expect_eq(sums.unfinished, 0);
	cr_expect_eq(sums.out_of_order, 0);
	cr_expect_eq(sums.checksums, 0);
	cr_expect_eq(sums.spray.late, 0);
	for (uint32_t r = 0; r < RESEQUENCER_REASON_COUNT; r++)
		cr_expect_eq(sums.spray.given_up[r], 0, "reason %u: %llu", r,
			     (unsigned long long)sums.spray.given_up[r]);
	cr_expect_eq(harness_drops(simulation), 0);
	harness_finish(simulation);
}

/* What leaves by hash comes to peers as it is; they spray, and it restores the order. */
Test(spray, half_of_the_leaves_may_stay_with_their_hash)
{
	struct simulation *simulation;
	struct sums sums;

	simulation = run(
		"duration: 8ms\n" FABRIC "}}\n" HOSTS "leaf:\n  balance: {mode: spray}\n"
		"  modes: [{switch: \"leaf*\", mode: spray}, {switch: \"leaf[24]\", mode: ecmp}]\n" CLASSES
		"traffic:\n  - permutation: {bytes: 5MB}\n",
		&sums);
	for (uint32_t i = 0; i < 4; i++) {
		struct spray_totals totals;

		leaf_spray_totals(simulation->fabric->switches[i]->leaf, &totals);
		if (i % 2 == 0)
			cr_expect_gt(totals.sequenced, 1000);
		else
			cr_expect_eq(totals.sequenced, 0);
	}
	cr_expect_eq(sums.unfinished, 0);
	cr_expect_eq(sums.out_of_order, 0);
	cr_expect_eq(sums.checksums, 0);
	cr_expect_eq(sums.spray.restored, sums.spray.sequenced);
	harness_finish(simulation);
}

/* Flaps, slow links, bit errors, stalls, storms, silent hosts: no host ever sees a number, all adds up. */
#define RUNS 25

static void add_faults(struct random *random, char *text, size_t size)
{
	static const char *const rates[] = {"1e-8", "1e-7", "1e-6"};
	size_t at = strlen(text);
	uint32_t count = 1 + (uint32_t)random_below(random, 6);

	at += (size_t)snprintf(text + at, size - at, "faults:\n");
	for (uint32_t slot = 0; slot < count; slot++) {
		uint32_t leaf = 1 + (uint32_t)random_below(random, 3);
		uint32_t spine = 1 + (uint32_t)random_below(random, 3);
		uint32_t at_us = 40 + slot * 100 + (uint32_t)random_below(random, 20);
		uint32_t for_us = 1 + (uint32_t)random_below(random, 79);

		switch (random_below(random, 6)) {
		case 0:
		case 1:
			at += (size_t)snprintf(text + at, size - at,
					       "  - link_down: {link: leaf%u-spine%u", leaf, spine);
			break;
		case 2:
			at += (size_t)snprintf(text + at, size - at,
					       "  - link_speed: {link: leaf%u-spine%u, speed: 10G",
					       leaf, spine);
			break;
		case 3:
			at += (size_t)snprintf(
				text + at, size - at,
				"  - link_errors: {link: leaf%u-spine%u, bit_error_rate: %s", leaf,
				spine, rates[random_below(random, 3)]);
			break;
		case 4:
			at += (size_t)snprintf(text + at, size - at,
					       "  - pause_storm: {host: leaf%u.h%u", leaf, spine);
			break;
		default:
			at += (size_t)snprintf(text + at, size - at,
					       "  - worker_stall: {switch: leaf%u, worker: 0",
					       leaf);
			break;
		}
		at += (size_t)snprintf(text + at, size - at, ", at: %uus, for: %uus}\n", at_us,
				       for_us);
	}
	cr_assert_lt(at, size);
}

Test(spray, torture)
{
	uint64_t one = harness_number("ROCELEAF_TEST_SEED", 0);
	uint64_t first = one != 0 ? one : 1;
	uint64_t runs = one != 0 ? 1 : harness_number("ROCELEAF_TEST_RUNS", RUNS);

	for (uint64_t seed = first; seed < first + runs; seed++) {
		struct random random = {.state = seed * 77};
		struct simulation *simulation;
		struct sums sums;
		char text[4096];

		snprintf(
			text, sizeof(text),
			"duration: 1ms\nseed: %llu\n"
			"fabric: {leaf_spine: {leaves: 3, spines: 3, hosts_per_leaf: 3, host_speed: "
			"100G, uplink_speed: 100G}}\n" HOSTS "leaf:\n  workers: %llu\n  poll: %s\n"
			"  balance: {mode: spray, spray: {promote: 4KB, hold_max: %s}}\n%s"
			"traffic:\n"
			"  - permutation: {}\n"
			"  - incast: {senders: 5, to: leaf1.h1, bytes: 300KB}\n",
			(unsigned long long)seed, 1 + (unsigned long long)random_below(&random, 2),
			random_below(&random, 2) == 0 ? "0" : "1us",
			random_below(&random, 2) == 0 ? "auto" : "64KiB", CLASSES);
		add_faults(&random, text, sizeof(text));
		simulation = run(text, &sums);
		cr_expect_eq(sums.checksums, 0, "ROCELEAF_TEST_SEED=%llu: %llu numbers seen",
			     (unsigned long long)seed, (unsigned long long)sums.checksums);
		cr_expect_gt(sums.spray.sequenced, 500, "ROCELEAF_TEST_SEED=%llu: %llu",
			     (unsigned long long)seed, (unsigned long long)sums.spray.sequenced);
		cr_expect_eq(sums.spray.duplicates, 0, "ROCELEAF_TEST_SEED=%llu",
			     (unsigned long long)seed);
		harness_finish(simulation);
	}
}
