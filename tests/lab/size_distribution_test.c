/* SPDX-License-Identifier: BSD-3-Clause */
/* Sizes and times that are drawn, against the distributions that they are drawn from. */
#include <criterion/criterion.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/lab/exponential.h"
#include "tools/lab/size_distribution.h"

#define DRAWS 50000

/*
 * Kolmogorov and Smirnov: the largest distance between the empirical and the true distribution is below
 * sqrt(-ln(alpha / 2) / (2 n)) but for a share alpha of all samples (Massart's constant); alpha is 1e-6.
 */
static double ks_bound(uint32_t draws)
{
	return sqrt(-log(1e-6 / 2) / (2.0 * draws));
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Share of flows with at most so many bytes. */
static double share_up_to(const struct size_distribution *distribution, uint64_t bytes)
{
	const struct size_point *points = distribution->points;

	if (bytes < points[0].bytes)
		return 0;
	for (uint32_t i = 1; i < distribution->count; i++)
		if (bytes < points[i].bytes)
			return (points[i - 1].ppm +
				(double)(points[i].ppm - points[i - 1].ppm) *
					(double)(bytes - points[i - 1].bytes) /
					(double)(points[i].bytes - points[i - 1].bytes)) /
			       SIZE_PPM;
	return 1;
}

static double ks_distance(const struct size_distribution *distribution, uint64_t *sizes,
			  uint32_t count)
{
	double most = 0;

	qsort(sizes, count, sizeof(*sizes), compare_u64);
	for (uint32_t i = 0; i < count; i++) {
		double below = (double)i / count, upto;

		if (i > 0 && sizes[i] == sizes[i - 1])
			continue;
		for (upto = i; upto < count && sizes[(uint32_t)upto] == sizes[i];)
			upto += 1;
		most = fmax(most, fabs(share_up_to(distribution, sizes[i]) - upto / count));
		if (sizes[i] > 1)
			most = fmax(most, fabs(share_up_to(distribution, sizes[i] - 1) - below));
	}
	return most;
}

Test(size_distribution, draws_follow_every_built_in_distribution)
{
	static uint64_t sizes[DRAWS];

	for (int workload = SIZE_WEBSEARCH; workload < SIZE_WORKLOADS; workload++) {
		struct size_distribution distribution =
			size_distribution_of((enum size_workload)workload);
		struct random random = random_of(1, RANDOM_ARRIVALS, (uint64_t)workload);
		double distance;

		for (uint32_t i = 0; i < DRAWS; i++)
			sizes[i] = size_distribution_draw(&distribution, &random);
		distance = ks_distance(&distribution, sizes, DRAWS);
		cr_expect_lt(distance, ks_bound(DRAWS), "workload %d: %f", workload, distance);
		cr_expect_geq(sizes[0], 1);
		cr_expect_leq(sizes[DRAWS - 1], distribution.points[distribution.count - 1].bytes);
	}
}

/* Every table rises to 100 %, or drawing would not be defined. */
Test(size_distribution, built_in_tables_rise_to_all_flows)
{
	for (int workload = SIZE_WEBSEARCH; workload < SIZE_WORKLOADS; workload++) {
		struct size_distribution distribution =
			size_distribution_of((enum size_workload)workload);

		cr_assert_geq(distribution.count, 2);
		for (uint32_t i = 1; i < distribution.count; i++) {
			cr_expect_gt(distribution.points[i].bytes,
				     distribution.points[i - 1].bytes);
			cr_expect_gt(distribution.points[i].ppm, distribution.points[i - 1].ppm);
		}
		cr_expect_eq(distribution.points[distribution.count - 1].ppm, SIZE_PPM);
	}
}

/*
 * The mean of WebSearch by hand, in KB and percent: sum of share * (from + to) / 2.
 * 15*5 + 5*15 + 10*25 + 10*40 + 13*65 + 7*140 + 10*600 + 10*1500 + 10*3500 + 7*7500 + 3*20000 = 171125,
 * over 100: 1711.25 KB.
 */
Test(size_distribution, the_mean_is_that_of_the_trapezoids)
{
	struct size_distribution distribution = size_distribution_of(SIZE_WEBSEARCH);

	cr_expect_eq(size_distribution_mean_bytes(&distribution), 1711250);
}

/* 40 bits of the logarithm; the product with ln 2 loses less than two more. */
Test(exponential, the_logarithm_is_that_of_libm)
{
	struct random random = random_of(3, RANDOM_ARRIVALS, 0);

	for (uint32_t i = 0; i < 2000; i++) {
		uint64_t x = random_next(&random) >> (i % 64);
		double expected;

		if (x == 0)
			continue;
		expected = -log((double)x / 0x1p64);
		cr_expect_float_eq((double)exponential_minus_ln_q40(x) / 0x1p40, expected, 1e-11,
				   "-ln(%#lx / 2^64)", (unsigned long)x);
	}
	cr_expect_float_eq((double)exponential_minus_ln_q40(UINT64_C(1) << 63) / 0x1p40, M_LN2,
			   1e-11);
}

Test(exponential, times_are_exponentially_distributed)
{
	static uint64_t times[DRAWS];
	struct random random = random_of(4, RANDOM_ARRIVALS, 0);
	const uint64_t mean_ps = 5000000;
	double most = 0;

	for (uint32_t i = 0; i < DRAWS; i++)
		times[i] = exponential_ps(&random, mean_ps);
	qsort(times, DRAWS, sizeof(times[0]), compare_u64);
	for (uint32_t i = 0; i < DRAWS; i++) {
		double share = 1 - exp(-(double)times[i] / (double)mean_ps);

		most = fmax(most, fabs(share - (double)i / DRAWS));
		most = fmax(most, fabs(share - (i + 1.0) / DRAWS));
	}
	cr_expect_lt(most, ks_bound(DRAWS), "%f", most);
}

/* --- files --- */

static int read_text(const char *text, const char *workload, struct size_distribution *distribution,
		     struct config_errors *errors)
{
	char path[] = "/tmp/sizes.XXXXXX";
	int file = mkstemp(path), result;

	cr_assert_geq(file, 0);
	cr_assert_eq(write(file, text, strlen(text)), (ssize_t)strlen(text));
	close(file);
	memset(errors, 0, sizeof(*errors));
	memset(distribution, 0, sizeof(*distribution));
	result = size_distribution_read(path, workload, distribution, errors);
	unlink(path);
	return result;
}

Test(size_distribution, a_file_may_have_two_or_three_columns)
{
	struct size_distribution distribution;
	struct config_errors errors;

	cr_assert_eq(
		read_text("# sizes\n0 0\n1e+04 50.5\n3.5e4\t100\n", "", &distribution, &errors), 0,
		"%s", errors.error[0].text);
	cr_assert_eq(distribution.count, 3);
	cr_expect_eq(distribution.points[1].bytes, 10000);
	cr_expect_eq(distribution.points[1].ppm, 505000);
	cr_expect_eq(distribution.points[2].bytes, 35000);
	size_distribution_fini(&distribution);
	cr_assert_eq(read_text("workload,size_bytes,cumulative_percent\na,0,0\na,10,100\n"
			       "b,0,0\nb,5,10\nb,20,100\n",
			       "b", &distribution, &errors),
		     0, "%s", errors.error[0].text);
	cr_assert_eq(distribution.count, 3);
	cr_expect_eq(distribution.points[2].bytes, 20);
	size_distribution_fini(&distribution);
}

static const struct {
	const char *text, *workload, *place, *words;
} refused_files[] = {
	{"", "", ":1:1: ", "two points"},
	{"0 0\n100 99\n", "", ":3:1: ", "100 %"},
	{"0 0\n100 50\n50 100\n", "", ":3:4: ", "rise"},
	{"0 0\n100 50\n150 40\n", "", ":3:5: ", "rise"},
	{"0 0\n100 101\n", "", ":2:5: ", "percentage"},
	{"0 0\n100 -5\n", "", ":2:5: ", "percentage"},
	{"0 0\n100\n", "", ":3:1: ", "percentage"},
	{"0 0\n100 100 7\n", "", ":2:9: ", "behind"},
	{"a 0 0\na 1 100\nb 0 0\n", "", ":3:1: ", "workload"},
	{"a 0 0\na 1 100\n", "b", ":3:1: ", "no workload b"},
	{"0 0\n0 100\n", "", ":3:1: ", "byte"},
	{"0 0\n9e99 100\n", "", ":2:1: ", "9e99"},
};

Test(size_distribution, what_is_wrong_in_a_file_is_named_with_its_place)
{
	for (size_t i = 0; i < sizeof(refused_files) / sizeof(refused_files[0]); i++) {
		struct size_distribution distribution;
		struct config_errors errors;

		cr_expect_eq(read_text(refused_files[i].text, refused_files[i].workload,
				       &distribution, &errors),
			     -EINVAL, "%s", refused_files[i].text);
		cr_assert_geq(errors.count, 1);
		cr_expect_not_null(strstr(errors.error[0].text, refused_files[i].place),
				   "%s gives %s", refused_files[i].text, errors.error[0].text);
		cr_expect_not_null(strstr(errors.error[0].text, refused_files[i].words),
				   "%s gives %s", refused_files[i].text, errors.error[0].text);
	}
}
