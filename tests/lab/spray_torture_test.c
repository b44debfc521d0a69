/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In-order spray under random faults. ROCELEAF_TEST_RUNS: how many runs of each kind; ROCELEAF_TEST_SEED: one of them.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/message_chaos.h"
#include "tests/lab/spray_runs.h"
#include "tools/lab/random.h"

#define RUNS 25

TestSuite(spray_torture, .init = spray_runs_start);

static uint64_t first_seed(uint64_t *runs)
{
	uint64_t one = harness_number("ROCELEAF_TEST_SEED", 0);

	*runs = one != 0 ? 1 : harness_number("ROCELEAF_TEST_RUNS", RUNS);
	return one != 0 ? one : 1;
}

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

		switch (random_below(random, 7)) {
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
		case 5:
			at += (size_t)snprintf(text + at, size - at,
					       "  - stall: {link: leaf%u-spine%u", leaf, spine);
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

/*
 * Flaps, slow links, bit errors, stalls, storms; messages between leaves are lost, corrupted, repeated and overtaken: no
 * host ever sees a number, nothing is reordered but by loss, and all adds up.
 */
Test(spray_torture, no_host_ever_sees_a_number)
{
	uint64_t runs, first = first_seed(&runs), repeated = 0, corrupted = 0;

	for (uint64_t seed = first; seed < first + runs; seed++) {
		struct random random = {.state = seed * 77};
		struct simulation *simulation;
		struct fabric_conservation sum;
		struct message_chaos chaos;
		struct spray_sums sums;
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
		simulation = harness_create(text, UINT64_MAX - 20 * PS_PER_US, false);
		message_chaos_init(&chaos, simulation->fabric, seed);
		harness_run_to(simulation, simulation->scenario->duration_ps);
		fabric_conservation(simulation->fabric, &sum);
		sum.injected += chaos.repeated;
		cr_expect(fabric_conserved(&sum), "ROCELEAF_TEST_SEED=%llu",
			  (unsigned long long)seed);
		spray_runs_sum(simulation, &sums);
		cr_expect_eq(sums.checksums, 0, "ROCELEAF_TEST_SEED=%llu: %llu numbers seen",
			     (unsigned long long)seed, (unsigned long long)sums.checksums);
		cr_expect_gt(sums.spray.sequenced, 500, "ROCELEAF_TEST_SEED=%llu: %llu",
			     (unsigned long long)seed, (unsigned long long)sums.spray.sequenced);
		cr_expect_eq(sums.spray.duplicates, 0, "ROCELEAF_TEST_SEED=%llu",
			     (unsigned long long)seed);
		/*
		 * What fences have proved to be lost never comes; but a dead uplink has none, nor has one whose
		 * device takes nothing, though what waits there comes after all.
		 */
		if (strstr(text, "link_down") == NULL && strstr(text, "- stall:") == NULL &&
		    sums.spray.given_up[RESEQUENCER_TIMEOUT] == 0 &&
		    sums.spray.given_up[RESEQUENCER_WINDOW] == 0 &&
		    sums.spray.given_up[RESEQUENCER_CAP] == 0 &&
		    sums.spray.given_up[RESEQUENCER_FLUSH] == 0)
			cr_expect_eq(sums.spray.late, 0, "ROCELEAF_TEST_SEED=%llu: %llu late",
				     (unsigned long long)seed, (unsigned long long)sums.spray.late);
		repeated += chaos.repeated;
		corrupted += chaos.corrupted;
		message_chaos_fini(&chaos);
		harness_finish(simulation);
	}
	cr_expect_gt(repeated, 10 * runs);
	cr_expect_gt(corrupted, 5 * runs);
}

/*
 * Small buffers that pause, little room to hold, paths that are slow or stand still, incasts: whatever waits for each
 * other, all of it gets through.
 */
Test(spray_torture, nothing_waits_for_ever)
{
	static const char *const speeds[] = {"10G", "25G", "40G"};
	static const char *const memories[] = {"6MiB", "8MiB", "16MiB"};
	uint64_t runs, first = first_seed(&runs), pauses = 0, given_up = 0;

	for (uint64_t seed = first; seed < first + runs; seed++) {
		struct random random = {.state = seed * 1009};
		struct simulation *simulation;
		uint32_t stalls = (uint32_t)random_below(&random, 4);
		struct spray_sums sums;
		char text[4096];
		size_t at;

		at = (size_t)snprintf(
			text, sizeof(text),
			"duration: 100ms\nseed: %llu\n"
			"fabric: {leaf_spine: {leaves: 3, spines: 3, hosts_per_leaf: 3, host_speed: 100G, "
			"uplink_speed: 100G, links: [{link: leaf%u-spine%u, speed: %s}, {link: leaf%u-spine%u, "
			"speed: %s}]}}\n"
			"hosts: {cc: %s, mtu: 4096, ack_every: 4}\n"
			"leaf:\n  workers: %u\n  memory: %s\n  buffer: {allow_pfc_before_ecn: true}\n"
			"  balance: {mode: spray, spray: {promote: 4KB, hold_max: %s}}\n"
			"traffic:\n"
			"  - permutation: {bytes: 1MB}\n"
			"  - incast: {senders: 6, to: leaf1.h1, bytes: 500KB}\n"
			"  - incast: {senders: 5, to: leaf2.h2, bytes: 500KB, start: 50us}\n"
			"%s",
			(unsigned long long)seed, 1 + (unsigned)random_below(&random, 3),
			1 + (unsigned)random_below(&random, 3), speeds[random_below(&random, 3)],
			1 + (unsigned)random_below(&random, 3),
			1 + (unsigned)random_below(&random, 3), speeds[random_below(&random, 3)],
			random_below(&random, 2) == 0 ? "none" : "dcqcn",
			1 + (unsigned)random_below(&random, 2), memories[random_below(&random, 3)],
			random_below(&random, 2) == 0 ? "auto" : "64KiB",
			stalls != 0 ? "faults:\n" : "");
		for (uint32_t i = 0; i < stalls; i++)
			at += (size_t)snprintf(
				text + at, sizeof(text) - at,
				"  - stall: {link: leaf%u-spine%u, at: %uus, for: %uus}\n",
				1 + (unsigned)random_below(&random, 3), i + 1,
				(unsigned)random_below(&random, 500),
				1 + (unsigned)random_below(&random, 200));
		simulation = spray_runs_run(text, &sums);
		cr_expect_eq(sums.unfinished, 0, "ROCELEAF_TEST_SEED=%llu: %llu flows",
			     (unsigned long long)seed, (unsigned long long)sums.unfinished);
		cr_expect_eq(sums.spray.held_packets, 0, "ROCELEAF_TEST_SEED=%llu",
			     (unsigned long long)seed);
		cr_expect_eq(sums.checksums, 0, "ROCELEAF_TEST_SEED=%llu",
			     (unsigned long long)seed);
		/* A wire that stands still takes no pause either: behind it, one may come too late. */
		cr_expect(stalls != 0 || harness_drops(simulation) == 0,
			  "ROCELEAF_TEST_SEED=%llu: %llu", (unsigned long long)seed,
			  (unsigned long long)harness_drops(simulation));
		for (uint32_t i = 0; i < 3; i++)
			pauses += harness_pauses(simulation, i, 1u << 3);
		given_up += sums.spray.given_up[RESEQUENCER_CAP];
		harness_finish(simulation);
	}
	cr_expect_gt(pauses, runs, "%llu", (unsigned long long)pauses);
	cr_expect_gt(given_up, runs, "%llu", (unsigned long long)given_up);
}
