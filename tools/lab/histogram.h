/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * histogram - counts of integers over the whole range of 64 bits, with a bounded relative error.
 *
 * Values below 256 are kept exactly; above, each power of two is cut into 128 parts, so that a
 * percentile is at most 1/128 too high. The maximum is exact. Integer code only.
 */
#ifndef LAB_HISTOGRAM_H
#define LAB_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_PART_SHIFT 7
#define HISTOGRAM_BUCKETS    ((64 - HISTOGRAM_PART_SHIFT + 1) << HISTOGRAM_PART_SHIFT)

struct histogram {
	uint64_t count;
	uint64_t max;
	uint64_t bucket[HISTOGRAM_BUCKETS];
};

/** Bucket of a value. Values below 2^(SHIFT+1) have one each. */
static inline uint32_t histogram_bucket(uint64_t value)
{
	uint32_t shift;

	if (value < UINT64_C(2) << HISTOGRAM_PART_SHIFT)
		return (uint32_t)value;
	shift = 63 - (uint32_t)__builtin_clzll(value) - HISTOGRAM_PART_SHIFT;
	return (shift << HISTOGRAM_PART_SHIFT) + (uint32_t)(value >> shift);
}

static inline void histogram_add(struct histogram *histogram, uint64_t value)
{
	histogram->count++;
	histogram->bucket[histogram_bucket(value)]++;
	if (value > histogram->max)
		histogram->max = value;
}

/**
 * Smallest value that at least `ppm` millionths of all are not above (nearest rank), rounded up to
 * the end of its bucket, never above the maximum. 0 when nothing was added.
 */
uint64_t histogram_percentile(const struct histogram *histogram, uint32_t ppm);

#endif
