/* SPDX-License-Identifier: BSD-3-Clause */
/* How a path is judged: against the closed forms of CONGA's estimator. */
#include <criterion/criterion.h>
#include <math.h>

#include "dataplane/balance/quality.h"

#define G UINT64_C(1000000000)

static const double keep = 1 - 1.0 / QUALITY_DISCOUNT;

/* Bytes that fill a wire for a time. */
static uint64_t fill_bytes(uint64_t rate_bps, uint64_t time_ps)
{
	return (uint64_t)((double)rate_bps / 8 * (double)time_ps / 1e12);
}

/* Integers lose less than a picosecond a step, and what was lost decays: 1/alpha at most. */
static void assert_near(uint64_t got, double wanted)
{
	cr_assert_float_eq((double)got, wanted, 2 * QUALITY_DISCOUNT, "%f, wanted %f", (double)got,
			   wanted);
}

/* X(n) = X(0) (1 - alpha)^n; at line rate from nothing: T (1 - alpha) / alpha (1 - (1 - alpha)^n). */
Test(quality, grows_and_decays_as_the_closed_forms_say)
{
	static const uint64_t rates_bps[] = {1 * G, 25 * G, 100 * G, 400 * G};

	for (size_t r = 0; r < sizeof(rates_bps) / sizeof(rates_bps[0]); r++) {
		/* Just before time wraps. */
		uint64_t now_ps = -(uint64_t)(20 * QUALITY_SAMPLE_PS), sent = 5, top;
		struct quality quality = {0};

		quality_sample(&quality, now_ps, sent, 0, rates_bps[r]);
		for (uint32_t n = 1; n <= 60; n++) {
			now_ps += QUALITY_SAMPLE_PS;
			sent += fill_bytes(rates_bps[r], QUALITY_SAMPLE_PS);
			quality_sample(&quality, now_ps, sent, 0, rates_bps[r]);
			assert_near(quality.busy_ps, (double)QUALITY_BUSY_PS * (1 - pow(keep, n)));
		}
		top = quality.busy_ps;
		for (uint32_t n = 1; n <= 40; n++) {
			now_ps += QUALITY_SAMPLE_PS;
			quality_sample(&quality, now_ps, sent, 0, rates_bps[r]);
			assert_near(quality.busy_ps, (double)top * pow(keep, n));
		}
	}
}

Test(quality, one_late_sample_is_as_good_as_many)
{
	struct quality often = {0}, seldom = {0};
	uint64_t now_ps = PS_PER_S, sent = 0;

	quality_sample(&often, now_ps, sent, 0, 100 * G);
	quality_sample(&seldom, now_ps, sent, 0, 100 * G);
	for (uint32_t n = 0; n < 30; n++) {
		now_ps += QUALITY_SAMPLE_PS;
		sent += 70000;
		quality_sample(&often, now_ps, sent, 0, 100 * G);
	}
	quality_sample(&seldom, now_ps, sent, 0, 100 * G);
	assert_near(seldom.busy_ps, (double)often.busy_ps);
	/* After a day of silence nothing is left. */
	quality_sample(&seldom, now_ps + 86400 * PS_PER_S, sent, 0, 100 * G);
	cr_assert_lt(seldom.busy_ps, 1000);
}

Test(quality, is_sampled_no_sooner_than_the_period)
{
	struct quality quality = {0};

	quality_sample(&quality, 0, 0, 0, 100 * G);
	quality_sample(&quality, QUALITY_SAMPLE_PS - 1, 100000, 0, 100 * G);
	cr_assert_eq(quality.busy_ps, 0);
	quality_sample(&quality, QUALITY_SAMPLE_PS, 100000, 0, 100 * G);
	/* 100000 bytes last 8 us; a tenth is discounted. */
	cr_assert_eq(quality.busy_ps, 7200 * PS_PER_NS);
}

Test(quality, time_paused_counts_as_time_busy)
{
	struct quality paused = {0}, idle = {0};

	quality_sample(&paused, 0, 0, 0, 100 * G);
	quality_sample(&idle, 0, 0, 0, 100 * G);
	quality_sample(&paused, 4 * QUALITY_SAMPLE_PS, 0, 3 * QUALITY_SAMPLE_PS, 100 * G);
	quality_sample(&idle, 4 * QUALITY_SAMPLE_PS, 0, 0, 100 * G);
	assert_near(paused.busy_ps, 0.75 * (double)QUALITY_BUSY_PS * (1 - pow(keep, 4)));
	cr_assert_gt(quality_band(&paused, 0, 100 * G), quality_band(&idle, 0, 100 * G));
}

Test(quality, bands_are_time_on_the_link_whatever_its_speed)
{
	const struct quality idle = {0}, busy = {.busy_ps = 10 * PS_PER_US};
	static const struct {
		uint64_t bytes, rate_bps;
		uint32_t band;
	} rows[] = {
		/* 62500 bytes last 5 us at 100G. */
		{0, 100 * G, 0},      {62499, 100 * G, 0},
		{62500, 100 * G, 1},  {62500, 400 * G, 0},
		{250000, 400 * G, 1}, {625, 1 * G, 1},
		{624, 1 * G, 0},      {UINT32_MAX, 1 * G, QUALITY_BAND_MAX},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(quality_band(&idle, rows[i].bytes, rows[i].rate_bps), rows[i].band,
			     "row %zu", i);
	cr_assert_eq(quality_band(&busy, 0, 100 * G), 2);
	cr_assert_eq(quality_band(&busy, 62500, 100 * G), 3);
	cr_assert_lt(QUALITY_BAND_MAX, QUALITY_BAND_PAUSED);
}
