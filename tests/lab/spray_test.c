/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In-order spray over whole fabrics: hosts get every packet in order and never see a number, uplinks share alike,
 * and what fails is gone round.
 */
#include <criterion/criterion.h>

#include "tests/lab/spray_runs.h"

TestSuite(spray, .init = spray_runs_start);

/* Every host sends so much to one of another leaf. @param fabric more of it @param leaf what isn't every leaf's mode */
#define RUN(duration, fabric, leaf, bytes)                    \
	"duration: " duration "\n" FABRIC fabric "}}\n" HOSTS \
	"leaf:\n  balance: {mode: spray}\n" leaf CLASSES      \
	"traffic:\n  - permutation: {bytes: " bytes "}\n"

/* Nothing is lost, and no host sees anything of it. */
static void expect_unseen(const struct simulation *simulation, const struct spray_sums *sums)
{
	cr_expect_eq(sums->unfinished, 0);
	cr_expect_eq(sums->out_of_order, 0);
	cr_expect_eq(sums->checksums, 0, "a host has seen a number");
	cr_expect_eq(sums->spray.restored, sums->spray.sequenced, "none is lost");
	cr_expect_eq(sums->spray.late, 0);
	cr_expect_eq(harness_drops(simulation), 0);
}

Test(spray, a_permutation_arrives_in_order_by_all_uplinks_alike)
{
	static const char *const texts[] = {
		RUN("2ms", "", "  workers: 1\n", "5MB"),
		RUN("2ms", "", "  workers: 3\n", "5MB"),
	};

	for (uint32_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		struct simulation *simulation;
		struct spray_sums sums;

		simulation = spray_runs_run(texts[i], &sums);
		expect_unseen(simulation, &sums);
		cr_expect_gt(sums.spray.sequenced, 10000, "most of them");
		cr_expect_eq(sums.spray.duplicates, 0);
		cr_expect_eq(sums.spray.held_packets, 0, "at the end");
		cr_expect_eq(sums.spray.messages_refused, 0);
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

	simulation = spray_runs_run(
		RUN("4ms", ", links: [{link: leaf1-spine1, speed: 25G}]", "", "10MB"), &sums);
	/* 10 MB take 0.8 ms, over 3.25 of 4 uplinks 1 ms. */
	expect_unseen(simulation, &sums);
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
		RUN("8ms", "", "",
		    "10MB") "faults:\n  - link_down: {link: leaf1-spine1, at: 300us, for: 400us}\n",
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
		RUN("6ms", "", "",
		    "10MB") "faults:\n  - stall: {link: leaf1-spine1, at: 300us, for: 100us}\n",
		&sums);
	expect_unseen(simulation, &sums);
	for (uint32_t r = 0; r < RESEQUENCER_REASON_COUNT; r++)
		cr_expect_eq(sums.spray.given_up[r], 0, "reason %u: %llu", r,
			     (unsigned long long)sums.spray.given_up[r]);
	harness_finish(simulation);
}

/* What leaves by hash comes to peers as it is; they spray, and it restores the order. */
Test(spray, half_of_the_leaves_may_stay_with_their_hash)
{
	struct simulation *simulation;
	struct spray_sums sums;

	simulation = spray_runs_run(
		RUN("8ms", "",
		    "  modes: [{switch: \"leaf*\", mode: spray}, {switch: \"leaf[24]\", mode: ecmp}]\n",
		    "5MB"),
		&sums);
	for (uint32_t i = 0; i < 4; i++) {
		struct spray_totals totals;

		leaf_spray_totals(simulation->fabric->switches[i]->leaf, &totals);
		if (i % 2 == 0)
			cr_expect_gt(totals.sequenced, 1000);
		else
			cr_expect_eq(totals.sequenced, 0);
	}
	expect_unseen(simulation, &sums);
	harness_finish(simulation);
}
