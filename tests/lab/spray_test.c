/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In-order spray over whole fabrics: hosts get every packet in order and never see a number, uplinks share alike,
 * and what fails is gone round.
 */
#include <criterion/criterion.h>
#include <stdio.h>

#include "tests/lab/spray_runs.h"

TestSuite(spray, .init = spray_runs_start);

Test(spray, a_permutation_arrives_in_order_by_all_uplinks_alike)
{
	for (uint32_t workers = 1; workers <= 3; workers += 2) {
		struct simulation *simulation;
		struct spray_sums sums;
		char text[2048];

		snprintf(text, sizeof(text),
			 "duration: 2ms\n" FABRIC "}}\n" HOSTS "leaf:\n  workers: %u\n"
			 "  balance: {mode: spray}\n%s"
			 "traffic:\n  - permutation: {bytes: 5MB}\n",
			 workers, CLASSES);
		simulation = spray_runs_run(text, &sums);
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
	struct spray_sums sums;

	simulation = spray_runs_run("duration: 4ms\n" FABRIC
				    ", links: [{link: leaf1-spine1, speed: 25G}]}}\n" HOSTS
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
	struct spray_sums sums;

	simulation = spray_runs_run(
		"duration: 8ms\n" FABRIC "}}\n" HOSTS "leaf:\n  balance: {mode: spray}\n" CLASSES
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
	struct spray_sums sums;

	simulation = spray_runs_run(
		"duration: 6ms\n" FABRIC "}}\n" HOSTS "leaf:\n  balance: {mode: spray}\n" CLASSES
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
	struct spray_sums sums;

	simulation = spray_runs_run(
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
