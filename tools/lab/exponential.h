/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * exponential - exponentially distributed times, in integers, so that digests don't depend on libm.
 *
 * -ln(u) = ln 2 * -log2(u) of a uniform u; the logarithm's bits come from squaring: a number of
 * [1, 2) has its next bit set when its square reaches 2 (Knuth, TAOCP 1.2.2, exercise 25).
 *
 * Thread: any. About 100 ns.
 */
#ifndef LAB_EXPONENTIAL_H
#define LAB_EXPONENTIAL_H

#include <stdint.h>

#include "tools/lab/random.h"

#define EXPONENTIAL_BITS 40

/* ln 2 * 2^64 */
#define EXPONENTIAL_LN2_Q64 UINT64_C(0xB17217F7D1CF79AB)

/** -ln(x / 2^64) with EXPONENTIAL_BITS bits below the point. @param x not 0 */
static inline uint64_t exponential_minus_ln_q40(uint64_t x)
{
	uint32_t zeros = (uint32_t)__builtin_clzll(x);
	uint64_t mantissa = x << zeros, fraction = 0;

	for (uint32_t i = 0; i < EXPONENTIAL_BITS; i++) {
		unsigned __int128 square = (unsigned __int128)mantissa * mantissa >> 63;
		uint32_t bit = (uint32_t)(square >> 64);

		mantissa = (uint64_t)(square >> bit);
		fraction = fraction << 1 | bit;
	}
	return (uint64_t)((unsigned __int128)(((1 + (uint64_t)zeros) << EXPONENTIAL_BITS) -
					      fraction) *
				  EXPONENTIAL_LN2_Q64 >>
			  64);
}

/** A time of this mean, at most 45 times it. @param mean_ps below 2^58 */
static inline uint64_t exponential_ps(struct random *random, uint64_t mean_ps)
{
	/* 0 counts as the smallest number above it. */
	uint64_t x = random_next(random) | 1;

	return (uint64_t)((unsigned __int128)exponential_minus_ln_q40(x) * mean_ps >>
			  EXPONENTIAL_BITS);
}

#endif
