/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "dataplane/units.h"

Test(units, minimum_frame_at_400g_lasts_1680_ps)
{
	struct wire_rate rate = wire_rate_of(UINT64_C(400000000000));

	/* 64 bytes with FCS + 20 of preamble and gap = 84 bytes; 84 * 8 / 400e9 s. */
	cr_assert_eq(wire_rate_time_ps(&rate, FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES), 1680);
}

Test(units, whole_rates_leave_no_remainder)
{
	static const uint64_t gbps[] = {1, 10, 25, 40, 50, 100, 200, 400, 800};

	for (size_t i = 0; i < sizeof(gbps) / sizeof(gbps[0]); i++) {
		struct wire_rate rate = wire_rate_of(gbps[i] * UINT64_C(1000000000));

		cr_expect_eq(rate.remainder, 0, "%" PRIu64 "G", gbps[i]);
		cr_expect_eq(wire_rate_time_ps(&rate, 1), 8000 / gbps[i], "%" PRIu64 "G", gbps[i]);
	}
}

Test(units, odd_rates_never_drift_by_a_picosecond)
{
	/* 3 Gb/s: a byte lasts 2666.67 ps; three million bytes last 8 ms exactly. */
	struct wire_rate rate = wire_rate_of(UINT64_C(3000000000));
	uint64_t total_ps = 0;

	for (uint64_t i = 1; i <= 3000000; i++) {
		total_ps += wire_rate_time_ps(&rate, 1);
		cr_assert_eq(total_ps, i * 8000 / 3);
	}
	cr_assert_eq(total_ps, 8 * PS_PER_MS);
}

Test(units, times_compare_across_the_wrap)
{
	uint64_t before = UINT64_MAX - 5;
	uint64_t after = before + 10;

	cr_assert(time_after(after, before));
	cr_assert_not(time_after(before, after));
	cr_assert_not(time_after(after, after));
	cr_assert_eq(time_max(before, after), after);
	cr_assert_eq(time_min(before, after), before);
	cr_assert(time_after(before + TIME_IDLE_PS, after), "idle lies ahead of everything due");
}

Test(units, three_metres_of_cable_delay_15_ns)
{
	cr_assert_eq(cable_delay_ps(3000), 15 * PS_PER_NS);
}
