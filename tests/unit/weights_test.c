/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/balance/weights.h"

#define RATE_BPS UINT64_C(100000000000)

static struct weights equal(uint32_t count)
{
	struct weights weights;

	weights_init(&weights, count, 4096);
	for (uint32_t i = 0; i < count; i++)
		weights_link_set(&weights, i, RATE_BPS);
	return weights;
}

static void look(struct weights *weights, uint32_t live)
{
	static const uint32_t empty[WEIGHTS_UPLINKS_MAX];

	weights_look(weights, empty, live);
}

Test(weights, LB_PKT_gives_each_uplink_its_weight_in_every_cycle)
{
	static const uint32_t shares[][WEIGHTS_UPLINKS_MAX] = {
		{1, 1},
		{5, 1, 1},
		{1, 1, 1, 1, 1, 1, 1, 1},
		{100, 3, 17, 1, 55, 100, 9, 2},
		{7, 6, 5, 4, 3, 2, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9,
		 1, 1, 1, 1, 1, 1, 1, 1, 9, 9, 9, 9, 5, 5, 5, 5},
	};

	for (size_t row = 0; row < sizeof(shares) / sizeof(*shares); row++) {
		uint32_t count = 0, cycle = 0;
		struct weights weights;

		while (count < WEIGHTS_UPLINKS_MAX && shares[row][count] != 0)
			cycle += shares[row][count++];
		weights = equal(count);
		for (uint32_t i = 0; i < count; i++)
			weights_set(&weights, i, shares[row][i]);
		look(&weights, UINT32_MAX);
		for (uint32_t round = 0; round < 3; round++) {
			uint32_t chosen[WEIGHTS_UPLINKS_MAX] = {0};

			for (uint32_t i = 0; i < cycle; i++)
				chosen[weights_choose(&weights)]++;
			cr_expect_eq(memcmp(chosen, shares[row], sizeof(chosen)), 0, "row %zu",
				     row);
		}
	}
}

Test(weights, spreads_them_evenly)
{
	/* By hand: 5, 1, 1 earned each time, 7 paid. */
	static const uint32_t wanted[] = {0, 0, 1, 0, 2, 0, 0};
	struct weights weights = equal(3);

	weights_set(&weights, 0, 5);
	weights_set(&weights, 1, 1);
	weights_set(&weights, 2, 1);
	look(&weights, 7);
	for (uint32_t i = 0; i < 14; i++)
		cr_expect_eq(weights_choose(&weights), wanted[i % 7], "%u", i);
}

Test(weights, LB_UNEQUAL_begins_with_the_speeds_of_links)
{
	struct weights weights = equal(3);

	weights_link_set(&weights, 1, 4 * RATE_BPS);
	cr_expect_eq(weights_get(&weights, 1), WEIGHTS_ONE);
	/* A quarter, less what rounding takes. */
	cr_expect_leq(weights_get(&weights, 0), WEIGHTS_ONE / 4);
	cr_expect_geq(weights_get(&weights, 0), WEIGHTS_ONE / 4 - 1);
	weights_link_set(&weights, 1, 0);
	cr_expect_eq(weights_get(&weights, 1), 0);
	cr_expect_eq(weights_get(&weights, 0), WEIGHTS_ONE);
}

Test(weights, never_takes_a_dead_or_a_deep_uplink)
{
	struct weights weights = equal(10);
	uint32_t queues[WEIGHTS_UPLINKS_MAX] = {90000, 60000, 60001, 30000, 90000,
						90000, 90000, 90000, 90000, 60000};

	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t uplink;

		if (i % 64 == 0)
			weights_look(&weights, queues, 0x3ff);
		uplink = weights_choose(&weights);

		cr_assert(uplink == 1 || uplink == 3 || uplink == 9, "%u", uplink);
	}
	weights_link_set(&weights, 3, 0);
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t uplink;

		if (i % 64 == 0)
			weights_look(&weights, queues, 0x3ff);
		uplink = weights_choose(&weights);

		cr_assert_neq(uplink, 3);
		if (uplink != 1 && uplink != 2 && uplink != 9)
			cr_assert_eq(queues[uplink], 90000);
	}
	look(&weights, 1u << 6);
	cr_expect_eq(weights_choose(&weights), 6);
	/* All of them are down: any that may be taken. */
	for (uint32_t i = 0; i < 10; i++)
		weights_link_set(&weights, i, 0);
	look(&weights, 1u << 8);
	cr_expect_eq(weights_choose(&weights), 8);
}

/*
 * A slow path has little to carry, so its queue here is the shortest when our uplinks are full of what goes elsewhere.
 * That is no reason to send it more: 13 packets by weights of 4, 4, 4 and 1.
 */
Test(weights, a_slow_path_gets_no_more_because_its_queue_is_short)
{
	static const uint32_t queues[4] = {200000, 210000, 190000, 0}, wanted[4] = {40, 40, 40, 10};
	struct weights weights = equal(4);
	uint32_t chosen[4] = {0};

	weights_link_set(&weights, 3, RATE_BPS / 4);
	for (uint32_t i = 0; i < 130; i++) {
		if (i % 26 == 0)
			weights_look(&weights, queues, 15);
		chosen[weights_choose(&weights)]++;
	}
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(chosen[i], wanted[i], "%u: %u", i, chosen[i]);
}

Test(weights, hold_a_whole_burst_on_one_of_many)
{
	struct weights weights = equal(32);

	for (uint32_t i = 0; i < 32; i++)
		weights_set(&weights, i, 5 * WEIGHTS_ONE / 4);
	for (uint32_t i = 0; i < 64 * 10; i++) {
		if (i % 64 == 0)
			look(&weights, 1u << 31);
		cr_assert_eq(weights_choose(&weights), 31, "%u", i);
	}
}

Test(weights, does_not_flood_an_uplink_that_was_too_deep_for_long)
{
	struct weights weights = equal(4);
	uint32_t run = 0;

	for (uint32_t i = 0; i < 100000; i++) {
		if (i % 32 == 0)
			look(&weights, 7);
		weights_choose(&weights);
	}
	look(&weights, 15);
	while (weights_choose(&weights) == 3)
		run++;
	/* It comes with 3 sums of credit, and the others with less than none: 3 at 3/4 sum each, and 1. */
	cr_expect_leq(run, 6);
	cr_expect_geq(run, 2);
}

/*
 * Paths that all promise the same, one of which has a quarter of it: packets at 321 of 325 Gb/s; each path is a queue; the later of two paths keeps the other's packets waiting.
 */
Test(weights, find_the_share_of_a_slow_path)
{
	enum { PATHS = 4, ROUND_PS = 10000000, PACKET_BYTES = 4096, ROUNDS = 5000 };
	static const uint32_t ps_per_byte[PATHS] = {80, 80, 80, 320};
	struct weights weights = equal(PATHS);
	struct weights_news news[PATHS];
	int64_t backlog_ps[PATHS] = {0}, gap_ps = (int64_t)PACKET_BYTES * 80 * 100 / 321;
	int64_t credit_ps = 0;
	uint32_t sent[PATHS] = {0}, all = 0;

	look(&weights, 15);
	for (uint32_t round = 0; round < ROUNDS; round++) {
		int64_t sum_ps[PATHS] = {0}, least = INT64_MAX;
		uint32_t packets[PATHS] = {0};

		for (credit_ps += ROUND_PS; credit_ps >= gap_ps; credit_ps -= gap_ps) {
			uint32_t path = weights_choose(&weights);

			for (uint32_t i = 0; i < PATHS; i++)
				backlog_ps[i] = backlog_ps[i] < gap_ps ? 0 : backlog_ps[i] - gap_ps;
			backlog_ps[path] += PACKET_BYTES * ps_per_byte[path];
			sum_ps[path] += backlog_ps[path];
			packets[path]++;
			if (round >= ROUNDS / 2) {
				sent[path]++;
				all++;
			}
		}
		for (uint32_t i = 0; i < PATHS; i++)
			if (packets[i] != 0 && sum_ps[i] / packets[i] < least)
				least = sum_ps[i] / packets[i];
		for (uint32_t i = 0; i < PATHS; i++)
			news[i] = (struct weights_news){
				packets[i] == 0 ? 0 : (uint64_t)(sum_ps[i] / packets[i] - least),
				packets[i] != 0};
		weights_update(&weights, news);
	}
	/* No more than it can carry, 25 of 321, and no less than what the others can't: 300 of 321. */
	cr_expect_leq(sent[3] * 321, 25 * all + 321);
	cr_expect_geq(sent[3] * 321 + 321, 21 * all);
	for (uint32_t i = 0; i < PATHS; i++) {
		/* Queues of at most 100 us at 100 Gb/s, where equal shares would have grown without end. */
		cr_expect_leq(backlog_ps[i], 100 * (int64_t)PS_PER_US, "%u: %ld us, share %u/%u", i,
			      backlog_ps[i] / (int64_t)PS_PER_US, sent[i], all);
	}
}

Test(weights, without_news_they_stay)
{
	struct weights weights = equal(4), before;
	struct weights_news news[4] = {{5 * PS_PER_US, true}, {0, true}, {0, true}, {0, true}};

	for (uint32_t i = 0; i < 50; i++)
		weights_update(&weights, news);
	cr_expect_lt(weights_get(&weights, 0), weights_get(&weights, 1) * 9 / 10);
	before = weights;
	news[0] = (struct weights_news){0, false};
	weights_update(&weights, news);
	cr_expect_eq(weights.late_ps[0], before.late_ps[0]);
	/* An uplink that gets no packets any more isn't told again and again of what it once was late with. */
	before = weights;
	memset(news, 0, sizeof(news));
	for (uint32_t i = 0; i < 100; i++)
		weights_update(&weights, news);
	cr_expect_arr_eq(weights.base, before.base, sizeof(before.base));
	/* Lateness is bounded, whatever is told; and floors hold: .02 * .05 */
	news[0] = (struct weights_news){UINT64_MAX, true};
	for (uint32_t i = 0; i < 5000; i++)
		weights_update(&weights, news);
	cr_expect_eq(weights_get(&weights, 0), WEIGHTS_ONE / 1000);
}

static void tell(struct weights *weights, uint32_t uplink, uint64_t late_ps, uint32_t times)
{
	struct weights_news news[WEIGHTS_UPLINKS_MAX] = {0};

	for (uint32_t i = 0; i < weights->count; i++)
		news[i].fresh = true;
	news[uplink].lateness_ps = late_ps;
	for (uint32_t i = 0; i < times; i++)
		weights_update(weights, news);
}

/* What a stall has taught isn't true for ever: 1/2048 of what is missing comes back each time; (1 - 1/2048)^2048 = 1/e. */
Test(weights, come_back_to_the_speeds_of_links_when_nobody_is_late)
{
	struct weights weights = equal(4);
	double missing, gap;

	weights_link_set(&weights, 2, RATE_BPS / 2);
	tell(&weights, 1, 1000 * PS_PER_US, 200);
	tell(&weights, 2, 1000 * PS_PER_US, 50);
	tell(&weights, 0, 0, 30); /* until lateness is forgotten */
	missing = 1 - weights.base[1] / 16777216.0;
	gap = 0.5 - weights.base[2] / 16777216.0;
	cr_assert_gt(missing, 0.5);
	cr_assert_gt(gap, 0.05);
	tell(&weights, 0, 0, 2048);
	cr_expect_float_eq(1 - weights.base[1] / 16777216.0, missing * 0.3679, 0.004 * missing);
	cr_expect_float_eq(0.5 - weights.base[2] / 16777216.0, gap * 0.3679, 0.004 * gap);
	tell(&weights, 0, 0, 40000);
	cr_expect_float_eq(weights.base[1] / 16777216.0, 1, 0.001);
	cr_expect_float_eq(weights.base[2] / 16777216.0, 0.5, 0.001);
	cr_expect_eq(weights.base[0], 1 << 24);
}

/* A unit of lateness, 1 us, holds them where they are; what is late goes down. */
Test(weights, stay_down_while_somebody_is_late)
{
	struct weights weights = equal(4);
	uint32_t before;

	tell(&weights, 1, 1000 * PS_PER_US, 200);
	tell(&weights, 1, 2 * PS_PER_US, 30);
	before = weights.base[1];
	tell(&weights, 1, 2 * PS_PER_US, 1000);
	cr_expect_lt(weights.base[1], before);
}
