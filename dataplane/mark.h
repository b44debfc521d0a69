/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * mark - which packets are marked (ECN) or dropped (WRED) at a given queue depth.
 *
 *   depth <= min          none
 *   min < depth <= max    each with probability chance * (depth - min) / (max - min)
 *   depth > max           all
 *
 * So there is a step from `chance` to certainty right above max. min == max is a step from none to
 * all; the chance counts for nothing then. Depth is in wire bytes, the instantaneous depth (DCQCN,
 * SIGCOMM 2015 section 3.1) or the average below. RED (Floyd and Jacobson 1993) has the ramp and
 * "all above"; spacing marks by a count of unmarked packets is not done, each packet stands alone.
 *
 * Probabilities are exact to 2^-32: a 32-bit draw is compared with the ramp by cross
 * multiplication, nothing is divided.
 *
 * Thread: the worker that owns the queue's port; the generator is that worker's own.
 */
#ifndef DATAPLANE_MARK_H
#define DATAPLANE_MARK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/snapshot.h"
#include "dataplane/units.h"

/*
 * SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014, with
 * the constants of Vigna's splitmix64.c): period 2^64, any state is good.
 */
struct mark_random {
	uint64_t state;
};

static inline uint64_t mark_random_mix(uint64_t z)
{
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/**
 * Before the first use. @param seed any; those of a leaf's workers differ. Seeds that lie close
 * together are fine: they are mixed, as states a multiple of the increment apart would give one
 * sequence, shifted.
 */
static inline void mark_random_seed(struct mark_random *random, uint64_t seed)
{
	random->state = mark_random_mix(seed);
}

/** Hot: 16 instructions. @return 32 even bits */
static inline uint32_t mark_random_draw(struct mark_random *random)
{
	random->state += UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(mark_random_mix(random->state) >> 32);
}

/* The rule above for one pair of thresholds. Draws only on the ramp. */
static inline bool mark_decide(uint32_t min_bytes, uint32_t max_bytes, uint32_t chance,
			       uint32_t depth_bytes, struct mark_random *random)
{
	if (depth_bytes <= min_bytes)
		return false;
	if (depth_bytes > max_bytes)
		return true;
	/*
	 * draw / 2^32 < (chance + 1) / 2^32 * (depth - min) / (max - min). Neither product wraps:
	 * both are at most 2^32 * (2^32 - 1).
	 */
	return mark_random_draw(random) * (uint64_t)(max_bytes - min_bytes) <
	       (chance + UINT64_C(1)) * (depth_bytes - min_bytes);
}

/**
 * Should the packet that departs be marked? Hot: one compare up to min, two above max, about 35
 * instructions on the ramp, none of them a division.
 * @param depth_bytes  what the queue holds without that packet
 */
static inline bool mark_ecn(const struct mark_table *table, uint32_t depth_bytes,
			    struct mark_random *random)
{
	return mark_decide(table->ecn_min_bytes, table->ecn_max_bytes, table->ecn_chance,
			   depth_bytes, random);
}

/** Should a packet that arrives, and is of a lossy class, be dropped? Otherwise as mark_ecn(). */
static inline bool mark_wred(const struct mark_table *table, uint32_t depth_bytes,
			     struct mark_random *random)
{
	return mark_decide(table->wred_min_bytes, table->wred_max_bytes, table->wred_chance,
			   depth_bytes, random);
}

/*
 * The averaged mode, for studies of RED: an exponentially weighted moving average over time,
 *
 *   average(t + dt) = depth + (average(t) - depth) * 2^-(dt / half_life)
 *
 * for a depth that stands for dt. Floyd and Jacobson give each packet a weight w, and an idle queue
 * the packets that could have passed: (1 - w)^m. Time does both at once, as an idle queue is one
 * that stands at 0. With one packet every s, w is 1 - 2^-(s / half_life): half_life = 346 s for
 * their w = 0.002. In terms of a time constant tau (to 1/e), half_life = 0.693 tau.
 *
 * Every update says how deep the queue is from now on; between updates it is taken to stand. So
 * update after each departure with what is left, and after each arrival where queues fill while
 * they are paused.
 *
 * Depths are averaged evenly over windows of half_life / 1024 (less than two of them, as an update
 * ends one), and the formula is applied to a full window, or to a depth that stood longer. That
 * makes updates cheap, and sets the errors, of the range of depths:
 *   - inside a window weights should differ, by up to 2 ln 2 / 1024: at most 1.7e-4;
 *   - the exponent is cut to 2^-24, the half-life off by less than 6.2e-5 of itself: at
 *     most 2.3e-5;
 *   - the weight is off by less than 1e-8, or 1.5e-5 of what a window changes;
 *   - two units of 2^-16 bytes are lost in rounding, towards the depth.
 * In all less than 2.1e-4 (tested: 2e-4), as of the last full window: less than half_life / 1024
 * ago.
 */
#define MARK_HALF_LIFE_PS_MIN PS_PER_US
#define MARK_HALF_LIFE_PS_MAX (UINT64_C(1) << 39) /* 0.55 s: what 64-bit products allow */

/* Written by one worker; atomic is what mark_average_read() reads. */
struct mark_average {
	_Atomic uint64_t time_ps;     /* of the last update; wraps like any time */
	_Atomic uint32_t depth_bytes; /* since time_ps */
	_Atomic uint64_t average_q16; /* bytes * 2^16 */
	uint64_t window_ps;           /* half_life_ps / 1024 */
	uint64_t sum_byte_ps;         /* depth times time of the window so far */
	uint64_t filled_ps;           /* < window_ps */
	uint64_t half_life_ps;
};

/** A queue that is empty at now_ps, and was. @param half_life_ps MARK_HALF_LIFE_PS_MIN.._MAX */
void mark_average_init(struct mark_average *average, uint64_t now_ps, uint64_t half_life_ps);

/* Cold: with the depth that stood this long a window is full. */
void mark_average_fold(struct mark_average *average, uint64_t stood_ps);

/**
 * The queue holds depth_bytes from now on. Hot: 20 instructions; at most 1024 times per half-life
 * some 270 more, with four divisions.
 * @param now_ps  not before the last update (else no time has passed), and at most 2^63 ps after it
 */
static inline void mark_average_update(struct mark_average *average, uint64_t now_ps,
				       uint32_t depth_bytes)
{
	uint64_t time_ps = atomic_load_explicit(&average->time_ps, memory_order_relaxed);
	uint64_t stood_ps = now_ps - time_ps;

	if (time_after(now_ps, time_ps)) {
		atomic_store_explicit(&average->time_ps, now_ps, memory_order_relaxed);
		if (stood_ps < average->window_ps - average->filled_ps) {
			average->sum_byte_ps +=
				atomic_load_explicit(&average->depth_bytes, memory_order_relaxed) *
				stood_ps;
			average->filled_ps += stood_ps;
		} else {
			mark_average_fold(average, stood_ps);
		}
	}
	atomic_store_explicit(&average->depth_bytes, depth_bytes, memory_order_relaxed);
}

/** What to give to mark_ecn() and mark_wred(), rounded down. */
static inline uint32_t mark_average_bytes(const struct mark_average *average)
{
	return (uint32_t)(atomic_load_explicit(&average->average_q16, memory_order_relaxed) >> 16);
}

/**
 * The average as of now, for people: the depth stands since the last update. Any thread; while the
 * worker writes it may mix two updates.
 * @param now_ps       the worker's time, of this moment
 * @param half_life_ps as given to mark_average_init()
 */
uint32_t mark_average_read(const struct mark_average *average, uint64_t now_ps,
			   uint64_t half_life_ps);

#endif
