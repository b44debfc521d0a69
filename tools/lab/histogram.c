/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/histogram.h"

/* Largest value of a bucket. */
static uint64_t bucket_top(uint32_t bucket)
{
	uint32_t shift = bucket >> HISTOGRAM_PART_SHIFT;

	if (shift < 2)
		return bucket;
	shift--;
	return (((uint64_t)bucket - ((uint64_t)shift << HISTOGRAM_PART_SHIFT) + 1) << shift) - 1;
}

uint64_t histogram_percentile(const struct histogram *histogram, uint32_t ppm)
{
	unsigned __int128 scaled = (unsigned __int128)histogram->count * ppm;
	uint64_t rank = (uint64_t)((scaled + 999999) / 1000000);
	uint64_t seen = 0;

	if (histogram->count == 0)
		return 0;
	if (rank == 0)
		rank = 1;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		seen += histogram->bucket[i];
		if (seen >= rank)
			return bucket_top(i) < histogram->max ? bucket_top(i) : histogram->max;
	}
	return histogram->max;
}
