/* SPDX-License-Identifier: BSD-3-Clause */
/* The ramp of ECN and WRED by its formula, in binomial bounds; the average in real numbers. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "dataplane/mark.h"

#define DRAWS 100000

/* A chance that is written as a probability times 2^32, less one. */
#define CHANCE(percent) ((uint32_t)((percent) * (UINT64_C(1) << 32) / 100 - 1))

enum { MIN = 100000, MAX = 400000 };

static const struct mark_table table = {
	.ecn_min_bytes = MIN,
	.ecn_max_bytes = MAX,
	.ecn_chance = CHANCE(20),
	.wred_min_bytes = 3 * MIN,
	.wred_max_bytes = 3 * MAX,
	.wred_chance = CHANCE(5),
};

static const struct mark_table never = {
	.ecn_min_bytes = UINT32_MAX,
	.wred_min_bytes = UINT32_MAX,
};

static const uint64_t seeds[] = {0, 1, 2, 42, UINT64_MAX, UINT64_C(0x9e3779b97f4a7c15)};
enum { SEEDS = sizeof(seeds) / sizeof(seeds[0]) };

typedef bool decide(const struct mark_table *table, uint32_t depth_bytes,
		    struct mark_random *random);

static uint32_t hits(decide *decide_one, const struct mark_table *of, uint32_t depth_bytes,
		     uint64_t seed)
{
	struct mark_random random;
	uint32_t count = 0;

	mark_random_seed(&random, seed);
	for (uint32_t i = 0; i < DRAWS; i++)
		count += decide_one(of, depth_bytes, &random);
	return count;
}

/* Within four sigma of a binomial distribution: sigma^2 = n p (1 - p). */
static void expect_rate(decide *decide_one, const struct mark_table *of, uint32_t depth_bytes,
			double probability)
{
	for (uint32_t i = 0; i < SEEDS; i++) {
		uint32_t count = hits(decide_one, of, depth_bytes, seeds[i]);
		double off = count - DRAWS * probability;

		cr_expect(off * off <= 16 * DRAWS * probability * (1 - probability),
			  "depth %u, seed %" PRIu64 ": %u of %u, probability %f", depth_bytes,
			  seeds[i], count, DRAWS, probability);
	}
}

Test(mark, ECN_RED_ACC_rises_linearly_between_min_and_max)
{
	/* 0.2 * (depth - 100000) / 300000 */
	for (uint32_t step = 1; step <= 16; step++) {
		uint32_t depth_bytes = MIN + step * (MAX - MIN) / 16;

		expect_rate(mark_ecn, &table, depth_bytes, 0.2 * step / 16);
	}
}

Test(mark, WRED_LOSSY_has_thresholds_of_its_own)
{
	/* 0.05 * (depth - 300000) / 900000 */
	for (uint32_t step = 1; step <= 8; step++)
		expect_rate(mark_wred, &table, 3 * MIN + step * 3 * (MAX - MIN) / 8,
			    0.05 * step / 8);
	cr_assert_eq(hits(mark_wred, &table, 3 * MIN, 1), 0);
	cr_assert_eq(hits(mark_wred, &table, 3 * MAX + 1, 1), DRAWS);
}

Test(mark, ECN_RED_ACC_none_at_min_or_below_and_all_above_max)
{
	for (uint32_t i = 0; i < SEEDS; i++) {
		cr_expect_eq(hits(mark_ecn, &table, 0, seeds[i]), 0);
		cr_expect_eq(hits(mark_ecn, &table, MIN - 1, seeds[i]), 0);
		cr_expect_eq(hits(mark_ecn, &table, MIN, seeds[i]), 0);
		cr_expect_eq(hits(mark_ecn, &table, MAX + 1, seeds[i]), DRAWS);
		cr_expect_eq(hits(mark_ecn, &table, UINT32_MAX, seeds[i]), DRAWS);
	}
	/* At max itself the ramp ends, at 20 %. */
	expect_rate(mark_ecn, &table, MAX, 0.2);
}

Test(mark, one_byte_above_min_the_chance_is_its_share_of_the_ramp)
{
	static const struct mark_table steep = {
		.ecn_min_bytes = 1000,
		.ecn_max_bytes = 1010,
		.ecn_chance = UINT32_MAX,
	};

	for (uint32_t i = 0; i <= 10; i++)
		expect_rate(mark_ecn, &steep, 1000 + i, i / 10.0);
	cr_assert_eq(hits(mark_ecn, &steep, 1010, 5), DRAWS, "certain, not nearly so");
}

Test(mark, the_whole_range_of_depths_does_not_wrap)
{
	static const struct mark_table wide = {
		.ecn_min_bytes = 0,
		.ecn_max_bytes = UINT32_MAX,
		.ecn_chance = UINT32_MAX,
	};

	for (uint32_t i = 0; i < 8; i++)
		expect_rate(mark_ecn, &wide, i << 29, i / 8.0);
	cr_assert_eq(hits(mark_ecn, &wide, UINT32_MAX, 1), DRAWS);
}

Test(mark, the_smallest_chance_is_practically_none)
{
	static const struct mark_table rare = {.ecn_min_bytes = 10, .ecn_max_bytes = 20};

	/* 2^-32 at most: 600000 draws see one with a probability of 1.4e-4; these see none. */
	for (uint32_t i = 0; i < SEEDS; i++)
		cr_expect_eq(hits(mark_ecn, &rare, 20, seeds[i]), 0);
	cr_expect_eq(hits(mark_ecn, &rare, 21, 1), DRAWS, "all above max, whatever the chance");
}

Test(mark, min_equal_to_max_is_a_step)
{
	static const struct mark_table step = {
		.ecn_min_bytes = 50000,
		.ecn_max_bytes = 50000,
		.ecn_chance = CHANCE(1),
	};

	cr_assert_eq(hits(mark_ecn, &step, 50000, 1), 0);
	cr_assert_eq(hits(mark_ecn, &step, 50001, 1), DRAWS);
}

Test(mark, a_min_of_uint32_max_is_off)
{
	cr_assert_eq(hits(mark_ecn, &never, UINT32_MAX, 1), 0);
	cr_assert_eq(hits(mark_wred, &never, UINT32_MAX, 1), 0);
	cr_assert_eq(hits(mark_ecn, &never, 0, 1), 0);
}

Test(mark, draws_are_splitmix64s_upper_halves)
{
	/* First outputs of splitmix64 with state 1234567 (published with Vigna's generator). */
	static const uint64_t outputs[] = {
		UINT64_C(6457827717110365317),  UINT64_C(3203168211198807973),
		UINT64_C(9817491932198370423),  UINT64_C(4593380528125082431),
		UINT64_C(16408922859458223821),
	};
	struct mark_random random = {1234567};

	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++)
		cr_assert_eq(mark_random_draw(&random), outputs[i] >> 32);
}

Test(mark, a_seed_repeats_and_two_differ)
{
	struct mark_random a, again, b, shifted;
	uint32_t equal = 0, follows = 0, before = 0;

	mark_random_seed(&a, 7);
	mark_random_seed(&again, 7);
	mark_random_seed(&b, 8);
	/* Without mixing the seed this would be the first, one draw ahead. */
	mark_random_seed(&shifted, 7 + UINT64_C(0x9e3779b97f4a7c15));
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t drawn = mark_random_draw(&a);

		cr_assert_eq(drawn, mark_random_draw(&again));
		equal += drawn == mark_random_draw(&b);
		follows += drawn == before;
		before = mark_random_draw(&shifted);
	}
	/* Equal by chance: 1000 / 2^32. */
	cr_assert_eq(equal, 0);
	cr_assert_eq(follows, 0);
}

Test(mark, off_the_ramp_nothing_is_drawn)
{
	struct mark_random random = {99};

	mark_ecn(&table, MIN, &random);
	mark_ecn(&table, MAX + 1, &random);
	mark_wred(&table, 3 * MIN, &random);
	cr_assert_eq(random.state, 99);
	mark_ecn(&table, MIN + 1, &random);
	cr_assert_neq(random.state, 99);
}

/* --- the average --- */

#define HALF_LIFE_PS (100 * PS_PER_US)

/* 2^-x: halvings, and the series of e^(-x ln 2) for what is left below one (error < 1e-13). */
static double power(double x)
{
	double term = 1, sum = 1, scale = 1;

	for (uint32_t whole = (uint32_t)x; whole > 0; whole--)
		scale /= 2;
	x -= (uint32_t)x;
	for (int n = 1; n < 20; n++) {
		term *= -x * 0.693147180559945309 / n;
		sum += term;
	}
	return scale * sum;
}

static void expect_near(double is, double wanted, double error, const char *what)
{
	double off = is > wanted ? is - wanted : wanted - is;

	cr_expect(off <= error, "%s: %f, not %f (more than %f off)", what, is, wanted, error);
}

Test(mark, the_average_halves_its_distance_once_a_half_life)
{
	static const double left[] = {1, 0.5, 0.25, 0.125, 0.0625};
	struct mark_average average;

	for (uint32_t k = 0; k <= 4; k++) {
		/* In one update, and through the wrap of time. */
		uint64_t start_ps = UINT64_MAX - HALF_LIFE_PS / 3;

		mark_average_init(&average, start_ps, HALF_LIFE_PS);
		mark_average_update(&average, start_ps, 1 << 20);
		mark_average_update(&average, start_ps + k * HALF_LIFE_PS, 0);
		expect_near(mark_average_bytes(&average), (1 - left[k]) * (1 << 20), 1, "rise");
		/* Then idle: from half the depth on it decays. */
		mark_average_init(&average, start_ps, HALF_LIFE_PS);
		mark_average_update(&average, start_ps, 1 << 20);
		mark_average_update(&average, start_ps + HALF_LIFE_PS, 0);
		mark_average_update(&average, start_ps + (k + 1) * HALF_LIFE_PS, 12345);
		expect_near(mark_average_bytes(&average), left[k] * (1 << 19), 1, "decay");
	}
	/* Half of one: 1 - 1/sqrt 2. */
	mark_average_init(&average, 0, HALF_LIFE_PS);
	mark_average_update(&average, 0, 1 << 30);
	mark_average_update(&average, HALF_LIFE_PS / 2, 0);
	expect_near(mark_average_bytes(&average), (1 - 0.70710678118655) * (1 << 30), 16, "half");
}

Test(mark, the_average_forgets_after_a_day)
{
	struct mark_average average;

	mark_average_init(&average, 5, HALF_LIFE_PS);
	mark_average_update(&average, 5, UINT32_MAX);
	mark_average_update(&average, 5 + 86400 * PS_PER_S, 0);
	cr_assert_eq(mark_average_bytes(&average), UINT32_MAX);
	mark_average_update(&average, 5 + 172800 * PS_PER_S, 0);
	cr_assert_eq(mark_average_bytes(&average), 0);
}

Test(mark, the_average_reaches_a_steady_depth_and_stays)
{
	struct mark_average average;
	uint64_t now_ps = 0;
	uint32_t before = 0;

	mark_average_init(&average, 0, HALF_LIFE_PS);
	mark_average_update(&average, 0, 123457);
	/* 40 half-lives of 1024 windows, in steps of a hundredth of a window. */
	for (uint32_t i = 0; i < 4096000; i++) {
		now_ps += HALF_LIFE_PS / 102400;
		mark_average_update(&average, now_ps, 123457);
		cr_assert(mark_average_bytes(&average) >= before &&
			  mark_average_bytes(&average) <= 123457);
		before = mark_average_bytes(&average);
	}
	cr_assert_eq(before, 123457);
}

Test(mark, the_average_of_short_changes_keeps_fractions_of_bytes)
{
	uint64_t now_ps = 0, step_ps = HALF_LIFE_PS / 1024 / 20;
	struct mark_average average;

	mark_average_init(&average, 0, HALF_LIFE_PS);
	/* 0 and 1 by turns, ten times each in a window, for 20 half-lives: a half of 2^16. */
	for (uint32_t i = 0; i < 20 * 1024 * 20; i++) {
		mark_average_update(&average, now_ps, i & 1);
		now_ps += step_ps;
	}
	expect_near((double)average.average_q16, 32768, 328, "1 % of it");
}

Test(mark, without_time_an_update_counts_for_nothing)
{
	struct mark_average average;

	mark_average_init(&average, 1000, HALF_LIFE_PS);
	mark_average_update(&average, 1000, 50000);
	mark_average_update(&average, 1000, 90000);
	mark_average_update(&average, 1000, 1 << 20);
	mark_average_update(&average, 999, 1 << 20); /* a clock that steps back */
	mark_average_update(&average, 1000 + HALF_LIFE_PS, 0);
	expect_near(mark_average_bytes(&average), 1 << 19, 1, "the last of them stood");
}

/* Any number will do as long as each run draws the same ones (Knuth, MMIX). */
static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

/* Depths that change at random against the formula in real numbers, at both ends of half-lives. */
Test(mark, the_average_follows_its_formula_within_2e_4_of_the_range)
{
	static const uint64_t half_lives_ps[] = {MARK_HALF_LIFE_PS_MIN, 1234567890,
						 MARK_HALF_LIFE_PS_MAX};
	static const uint32_t longest[] = {2000, 100000, 2000000}; /* millionths of a half-life */

	for (uint32_t i = 0; i < 9; i++) {
		uint64_t half_life_ps = half_lives_ps[i / 3], now_ps = UINT64_MAX - 17, state = i;
		struct mark_average average;
		double real = 0, worst = 0;
		uint32_t depth = 0;

		mark_average_init(&average, now_ps, half_life_ps);
		for (uint32_t n = 0; n < 30000; n++) {
			uint64_t stood_ps =
				1 + half_life_ps / 1000000 * draw(&state, longest[i % 3]);

			now_ps += stood_ps;
			real = depth +
			       (real - depth) * power((double)stood_ps / (double)half_life_ps);
			/* Mostly to one end of the range or the other. */
			depth = draw(&state, 3) == 0 ? draw(&state, 1u << 31) * 2
						     : draw(&state, 2) * UINT32_MAX;
			mark_average_update(&average, now_ps, depth);
			/* At the end of a window nothing lags. */
			if (average.filled_ps == 0) {
				double off = mark_average_bytes(&average) - real;

				worst = off > worst ? off : -off > worst ? -off : worst;
			}
		}
		cr_expect(worst < 2e-4 * UINT32_MAX, "%" PRIu64 " ps, %u: %g of the range",
			  half_life_ps, longest[i % 3], worst / UINT32_MAX);
		cr_expect(worst > 0, "never looked");
	}
}
