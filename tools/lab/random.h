/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random - numbers that depend on the seed and on what they are for, not on the order of asking.
 *
 * SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): a counter through a mixing function, so that any
 * (seed, purpose, index) can start a sequence of its own.
 */
#ifndef LAB_RANDOM_H
#define LAB_RANDOM_H

#include <stdint.h>

struct random {
	uint64_t state;
};

/* What sequences are for; numbers are part of every digest, so they are only ever added. */
enum random_purpose {
	RANDOM_FLOW = 1,    /* index: flow; source port, first PSN, start */
	RANDOM_PATTERN = 2, /* index: element of traffic; who sends to whom */
	RANDOM_SWITCH = 3,  /* index: switch; its own seed */
	RANDOM_SAMPLER = 4,
	RANDOM_WORKERS = 5,  /* of a switch, by its own seed */
	RANDOM_ARRIVALS = 8, /* index: element of traffic << 32 | host; when flows begin */
	RANDOM_ERRORS = 16,  /* index: wire | fault << 32; which frames are corrupted */
};

static inline uint64_t random_next(struct random *random)
{
	uint64_t z = random->state += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
	return z ^ (z >> 31);
}

static inline struct random random_of(uint64_t seed, enum random_purpose purpose, uint64_t index)
{
	struct random random = {.state = seed};

	random.state = random_next(&random) ^ (uint64_t)purpose;
	random.state = random_next(&random) ^ index;
	random.state = random_next(&random);
	return random;
}

/** 0..bound-1, all equally likely to within 2^-64. @param bound >= 1 */
static inline uint64_t random_below(struct random *random, uint64_t bound)
{
	return (uint64_t)((unsigned __int128)random_next(random) * bound >> 64);
}

#endif
