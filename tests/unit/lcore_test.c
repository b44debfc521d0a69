/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "dataplane/lcore.h"

/* The exact quotient, in 128 bits: ticks * 10^12 / hz. */
static uint64_t exact_ps(uint64_t ticks, uint64_t hz)
{
	return (uint64_t)((unsigned __int128)ticks * PS_PER_S / hz);
}

static const uint64_t rates[] = {1000000,    24000000,   1000000000, 2095078000,
				 2100000000, 2899999999, 3333333333, 5000000000};

/* Within 2 ps, from one tick to 2^64 ps (213 days). */
Test(lcore_clock, stays_exact_until_time_wraps)
{
	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
		struct lcore_clock clock = lcore_clock_of(1000, rates[i], 0);
		uint64_t last =
			(uint64_t)((((unsigned __int128)1 << 64) - 1) * rates[i] / PS_PER_S);

		for (uint64_t ticks = 1; ticks < last / 3; ticks = ticks * 3 + 1) {
			uint64_t now = lcore_clock_ps(&clock, 1000 + ticks);

			cr_assert_leq(exact_ps(ticks, rates[i]) - now, 2, "%llu Hz, %llu ticks",
				      (unsigned long long)rates[i], (unsigned long long)ticks);
		}
		cr_assert_leq(exact_ps(last, rates[i]) - lcore_clock_ps(&clock, 1000 + last), 2);
	}
}

Test(lcore_clock, never_goes_back)
{
	struct lcore_clock clock = lcore_clock_of(0, 2095078000, 5);
	uint64_t before = lcore_clock_ps(&clock, 0);

	cr_assert_eq(before, 5);
	for (uint64_t tsc = 1; tsc < 100000; tsc++) {
		uint64_t now = lcore_clock_ps(&clock, tsc);

		/* 477.3 ps a tick */
		cr_assert(now - before == 477 || now - before == 478, "%llu",
			  (unsigned long long)(now - before));
		before = now;
	}
}

/* Past 2^64 ps the clock goes on as if nothing had happened. */
Test(lcore_clock, wraps_without_a_step)
{
	const uint64_t hz = 1000000000; /* 1000 ps a tick */
	struct lcore_clock clock = lcore_clock_of(0, hz, 0);
	uint64_t ticks = UINT64_MAX / 1000 - 5;
	uint64_t before = lcore_clock_ps(&clock, ticks);
	bool wrapped = false;

	for (unsigned i = 1; i < 20; i++) {
		uint64_t now = lcore_clock_ps(&clock, ticks + i);

		cr_assert(time_after(now, before));
		cr_assert_leq(now - before, 1001);
		cr_assert_geq(now - before, 999);
		wrapped = wrapped || now < before;
		before = now;
	}
	cr_assert(wrapped);
}

Test(lcore_clock, goes_on_when_the_tsc_wraps)
{
	struct lcore_clock clock = lcore_clock_of(UINT64_MAX - 9, 1000000000, 0);

	cr_assert_eq(lcore_clock_ps(&clock, 10), 20 * 1000);
}
