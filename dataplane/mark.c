/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/mark.h"

#include <assert.h>

#define WINDOWS_PER_HALF_LIFE 1024

#define EXPONENT_BITS 24

/* 2^-(1/2), 2^-(1/4) ... 2^-(2^-24), times 2^32, rounded. */
static const uint32_t root_q32[EXPONENT_BITS] = {
	0xb504f334, 0xd744fccb, 0xeac0c6e8, 0xf5257d15, 0xfa83b2db, 0xfd3e0c0d,
	0xfe9e115c, 0xff4ecb59, 0xffa75652, 0xffd3a752, 0xffe9d2b3, 0xfff4e91c,
	0xfffa747f, 0xfffd3a3b, 0xfffe9d1d, 0xffff4e8e, 0xffffa747, 0xffffd3a3,
	0xffffe9d2, 0xfffff4e9, 0xfffffa74, 0xfffffd3a, 0xfffffe9d, 0xffffff4f,
};

/* 2^-(time / half_life) * 2^32: halvings by shifting, the rest a product of roots, one a bit. */
static uint64_t weight_q32(uint64_t time_ps, uint64_t half_life_ps)
{
	uint64_t halvings = time_ps / half_life_ps;
	uint32_t fraction = (uint32_t)((time_ps % half_life_ps << EXPONENT_BITS) / half_life_ps);
	uint64_t weight = UINT64_C(1) << 32;

	if (halvings > 32)
		return 0;
	for (uint32_t i = 0; i < EXPONENT_BITS; i++)
		if ((fraction & 1u << (EXPONENT_BITS - 1 - i)) != 0)
			weight = weight * root_q32[i] >> 32;
	return weight >> halvings;
}

static uint64_t scale(uint64_t difference_q16, uint64_t weight)
{
	return ((difference_q16 >> 16) * weight >> 16) + ((difference_q16 & 0xffff) * weight >> 32);
}

/* What an average becomes while a depth stands. */
static uint64_t approach(uint64_t average_q16, uint64_t depth_q16, uint64_t weight)
{
	if (average_q16 >= depth_q16)
		return depth_q16 + scale(average_q16 - depth_q16, weight);
	return depth_q16 - scale(depth_q16 - average_q16, weight);
}

/* A depth stood for this long. */
static void apply(struct mark_average *average, uint64_t depth_q16, uint64_t time_ps)
{
	uint64_t average_q16 = atomic_load_explicit(&average->average_q16, memory_order_relaxed);

	average_q16 = approach(average_q16, depth_q16, weight_q32(time_ps, average->half_life_ps));
	atomic_store_explicit(&average->average_q16, average_q16, memory_order_relaxed);
}

static void apply_window(struct mark_average *average)
{
	uint64_t sum = average->sum_byte_ps, time_ps = average->filled_ps;

	if (time_ps != 0)
		apply(average, (sum / time_ps << 16) + (sum % time_ps << 16) / time_ps, time_ps);
	average->sum_byte_ps = 0;
	average->filled_ps = 0;
}

void mark_average_fold(struct mark_average *average, uint64_t stood_ps)
{
	uint64_t depth_bytes = atomic_load_explicit(&average->depth_bytes, memory_order_relaxed);

	if (stood_ps < average->window_ps) {
		/* Together less than two windows, 2^30 ps: the sum stays below 2^62. */
		average->sum_byte_ps += depth_bytes * stood_ps;
		average->filled_ps += stood_ps;
		apply_window(average);
	} else {
		apply_window(average);
		apply(average, depth_bytes << 16, stood_ps);
	}
}

void mark_average_init(struct mark_average *average, uint64_t now_ps, uint64_t half_life_ps)
{
	assert(half_life_ps >= MARK_HALF_LIFE_PS_MIN && half_life_ps <= MARK_HALF_LIFE_PS_MAX);
	atomic_store_explicit(&average->time_ps, now_ps, memory_order_relaxed);
	atomic_store_explicit(&average->depth_bytes, 0, memory_order_relaxed);
	atomic_store_explicit(&average->average_q16, 0, memory_order_relaxed);
	average->window_ps = half_life_ps / WINDOWS_PER_HALF_LIFE;
	average->sum_byte_ps = 0;
	average->filled_ps = 0;
	average->half_life_ps = half_life_ps;
}

uint32_t mark_average_read(const struct mark_average *average, uint64_t now_ps,
			   uint64_t half_life_ps)
{
	uint64_t average_q16 = atomic_load_explicit(&average->average_q16, memory_order_relaxed);
	uint64_t depth_bytes = atomic_load_explicit(&average->depth_bytes, memory_order_relaxed);
	uint64_t time_ps = atomic_load_explicit(&average->time_ps, memory_order_relaxed);

	if (time_after(now_ps, time_ps))
		average_q16 = approach(average_q16, depth_bytes << 16,
				       weight_q32(now_ps - time_ps, half_life_ps));
	return (uint32_t)(average_q16 >> 16);
}
