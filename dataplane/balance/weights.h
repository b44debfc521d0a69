/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weights - which uplink the next sprayed packet to one destination leaf takes.
 *
 * Weighted round robin with credits: each live uplink earns its weight, the richest one that isn't too deep
 * is chosen and pays what all have earned. So over as many packets as the weights add up to, each uplink gets
 * exactly its weight, spread as evenly as can be; drawing at random or taking the shortest queue would walk
 * into marking at full load. Too deep: more than WEIGHTS_SLACK_BYTES above the shortest queue of those that have half of
 * the largest weight at least: that of a slow path is short because little may go there. What an uplink earns meanwhile
 * is capped, so that it isn't flooded afterwards.
 *
 * Weights follow what the destination leaf tells of each uplink: how long packets that came by it had kept
 * others waiting. A slow correction (base) finds the share of a link that has less to offer; a quick one on top
 * evens out queues. Both are gentle: weights that chase every transient are worse than none.
 *
 *   late  = mean of the last late and what was told        (no news: stays as it was)
 *   error = late - mean of late over uplinks, by weight    (in units; 1 us at 100 Gb/s)
 *   base *= 1 - clamp(.0005 * error, +-.005), then scaled so that the largest is 1; never below .02
 *                                                          (no news: not again for the same lateness)
 *   base += (speed - base) / 2048                          (while nobody is late by a unit; speed: its share of the fastest's)
 *   weight = base * clamp(1 - .02 * error, .05, 1.25)
 *
 * In integers: base in 2^-24, weight in 2^-12. A unit is max(1 us, 3 frame times of the slowest uplink).
 * base begins with the links' speeds, and comes back to them in 20 ms or so when what kept it down is over: a link that
 * has stood still for a while carries what it did before.
 *
 * Thread: the worker; one of these for each destination leaf and worker. No clock, no memory of its own.
 */
#ifndef DATAPLANE_BALANCE_WEIGHTS_H
#define DATAPLANE_BALANCE_WEIGHTS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define WEIGHTS_UPLINKS_MAX 32
#define WEIGHTS_SLACK_BYTES 30000
#define WEIGHTS_ONE         (1 << 12)

/*
 * Four uplinks at a time: left to themselves compilers unroll so short a loop and then find nothing to
 * vectorise. Credits and weights are times 32; the five bits below say which uplink it is.
 */
#define WEIGHTS_LANES 4
typedef int32_t weights_lanes __attribute__((vector_size(4 * WEIGHTS_LANES)));

#define WEIGHTS_GROUPS (WEIGHTS_UPLINKS_MAX / WEIGHTS_LANES)

/*
 * What keeps an uplink from being the richest: below any credit. These stay within 2^29 either way: the cap and
 * 64 payments of at most 32 uplinks * 1.25 * 2^12 * 32 each.
 */
#define WEIGHTS_BARRED (INT32_MIN / 2)

struct weights {
	alignas(64) weights_lanes credit[WEIGHTS_GROUPS];
	weights_lanes weight[WEIGHTS_GROUPS]; /* 0: down */
	weights_lanes barred[WEIGHTS_GROUPS]; /* 0: may be taken */
	int32_t sum;                          /* of weights */
	uint32_t live;                        /* bit mask */
	uint32_t count;
	uint32_t base[WEIGHTS_UPLINKS_MAX];  /* 2^-24 */
	uint32_t speed[WEIGHTS_UPLINKS_MAX]; /* likewise: what base begins with */
	int64_t late_ps[WEIGHTS_UPLINKS_MAX];
	uint64_t rate_bps[WEIGHTS_UPLINKS_MAX];
	uint32_t frame_bytes;
	uint64_t unit_ps;
};

/* What a destination leaf tells of one uplink. */
struct weights_news {
	uint64_t lateness_ps; /* mean over packets; of one that is silent: for how long */
	bool fresh;           /* false: no packets, and not known to be silent */
};

/**
 * @param count       uplinks, 1..WEIGHTS_UPLINKS_MAX; all of them down at first
 * @param frame_bytes largest frame
 */
void weights_init(struct weights *weights, uint32_t count, uint32_t frame_bytes);

/**
 * An uplink went up or down, or has another speed: of its path the slowest link.
 * @param rate_bps 0: down; otherwise RATE_BPS_MIN..RATE_BPS_MAX
 */
void weights_link_set(struct weights *weights, uint32_t uplink, uint64_t rate_bps);

/** News came; every 10 us or so. @param news of each uplink. Cost: 60 instructions an uplink. */
void weights_update(struct weights *weights, const struct weights_news *news);

/** Weight of an uplink, in 2^-12; 0: down. */
static inline uint32_t weights_get(const struct weights *weights, uint32_t uplink)
{
	return (uint32_t)weights->weight[uplink / WEIGHTS_LANES][uplink % WEIGHTS_LANES] / 32;
}

/** For tests and fixed shares. @param weight 0..5 * WEIGHTS_ONE / 4 */
void weights_set(struct weights *weights, uint32_t uplink, uint32_t weight);

/**
 * Look at the queues, once a burst of at most 64 packets: which uplinks aren't too deep. Credits are capped.
 * @param queue_bytes of each uplink, below 2^31; readable for a multiple of WEIGHTS_LANES
 * @param live        bit mask of uplinks that may be taken now; when all of them are down, all of live
 * Cost: 12 instructions an uplink.
 */
void weights_look(struct weights *weights, const uint32_t *queue_bytes, uint32_t live);

static inline weights_lanes weights_larger(weights_lanes a, weights_lanes b)
{
	weights_lanes first = a > b;

	return (a & first) | (b & ~first);
}

/* Four uplinks earn their weights. @return their credits, of equal ones the first the largest */
static inline weights_lanes weights_earn(struct weights *weights, uint32_t group,
					 weights_lanes order)
{
	return ((weights->credit[group] += weights->weight[group]) | order) +
	       weights->barred[group];
}

/**
 * The uplink of the next packet. Hot: 25 instructions, and 12 for each four uplinks.
 * @return one of those that weights_look() found; 0 when there was none
 */
static inline uint32_t weights_choose(struct weights *weights)
{
	weights_lanes order = {31, 30, 29, 28};
	weights_lanes best = weights_earn(weights, 0, order);
	int32_t *credit = (int32_t *)weights->credit;
	uint32_t uplink;
	int32_t richest;

	for (uint32_t group = 1; WEIGHTS_LANES * group < weights->count; group++) {
		order -= WEIGHTS_LANES;
		best = weights_larger(best, weights_earn(weights, group, order));
	}
	best = weights_larger(best, __builtin_shufflevector(best, best, 2, 3, 0, 1));
	best = weights_larger(best, __builtin_shufflevector(best, best, 1, 0, 3, 2));
	richest = best[0];
	uplink = richest < WEIGHTS_BARRED / 2 ? 0 : 31 - ((uint32_t)richest & 31);
	credit[uplink] -= weights->sum;
	return uplink;
}

#endif
