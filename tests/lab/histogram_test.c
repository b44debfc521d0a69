/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/histogram.h"
#include "tools/lab/random.h"

static struct histogram histogram;

Test(histogram, small_values_are_exact)
{
	for (uint64_t value = 1; value <= 200; value++)
		histogram_add(&histogram, value);
	/* Nearest rank: the ceil(p * 200)-th smallest. */
	cr_expect_eq(histogram_percentile(&histogram, 500000), 100);
	cr_expect_eq(histogram_percentile(&histogram, 990000), 198);
	cr_expect_eq(histogram_percentile(&histogram, 999000), 200);
	cr_expect_eq(histogram_percentile(&histogram, 1000000), 200);
	cr_expect_eq(histogram_percentile(&histogram, 1), 1);
}

Test(histogram, an_empty_one_says_zero)
{
	cr_expect_eq(histogram_percentile(&histogram, 500000), 0);
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

Test(histogram, large_values_are_at_most_one_part_in_128_too_high)
{
	static uint64_t values[10000];
	struct random random = random_of(1, RANDOM_PATTERN, 0);
	const uint32_t ppm[] = {1000, 100000, 500000, 900000, 990000, 999900, 1000000};

	for (uint32_t i = 0; i < 10000; i++) {
		values[i] = random_next(&random) >> random_below(&random, 64);
		histogram_add(&histogram, values[i]);
	}
	qsort(values, 10000, sizeof(values[0]), compare);
	for (size_t i = 0; i < sizeof(ppm) / sizeof(ppm[0]); i++) {
		uint64_t exact = values[(uint64_t)ppm[i] * 10000 / 1000000 - 1];
		uint64_t got = histogram_percentile(&histogram, ppm[i]);

		cr_expect(got >= exact && got - exact <= exact / 128,
			  "%u ppm: %" PRIu64 " for %" PRIu64, ppm[i], got, exact);
	}
	cr_expect_eq(histogram_percentile(&histogram, 1000000), values[9999]);
}

Test(histogram, every_value_has_a_bucket_in_order)
{
	uint32_t before = histogram_bucket(0);

	for (uint32_t bit = 0; bit < 64; bit++) {
		for (uint64_t value = (UINT64_C(1) << bit) - (bit > 3);
		     value != (UINT64_C(1) << bit) + 1; value++) {
			uint32_t bucket = histogram_bucket(value);

			cr_assert(bucket >= before && bucket < HISTOGRAM_BUCKETS, "%" PRIu64,
				  value);
			before = bucket;
		}
	}
	cr_expect_eq(histogram_bucket(UINT64_MAX), HISTOGRAM_BUCKETS - 1);
}
