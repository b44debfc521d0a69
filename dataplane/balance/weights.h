/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * weights - which uplink the next sprayed packet to one destination leaf takes.
 *
 * Weighted round robin with credits: each live uplink earns its weight, the richest one that isn't too deep
 * is chosen and pays what all have earned. So over as many packets as the weights add up to, each uplink gets
 * exactly its weight, spread as evenly as can be; drawing at random or taking the shortest queue would walk
 * into marking at full load. Too deep: more than WEIGHTS_SLACK_BYTES above the shortest queue. What an uplink
 * earns meanwhile is capped, so that it isn't flooded afterwards.
 *
 * Weights follow what the destination leaf tells of each uplink: how long packets that came by it had kept
 * others waiting. A slow correction (base) finds the share of a link that has less to offer; a quick one on top
 * evens out queues. Both are gentle: weights that chase every transient are worse than none.
 *
 *   late  = mean of the last late and what was told        (no news: stays as it was)
 *   error = late - mean of late over uplinks, by weight    (in units; 1 us at 100 Gb/s)
 *   base *= 1 - clamp(.0005 * error, +-.005), then scaled so that the largest is 1; never below .02
 *   weight = base * clamp(1 - .02 * error, .05, 1.25)
 *
 * In integers: base in 2^-24, weight in 2^-16. A unit is max(1 us, 3 frame times of the slowest uplink).
 * base begins with the links' speeds.
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
#define WEIGHTS_ONE         (1 << 16)

/* Eight uplinks at a time. Credits and weights are times 32; the five bits below break ties. */
#define WEIGHTS_LANES 8
typedef int32_t weights_lanes __attribute__((vector_size(4 * WEIGHTS_LANES)));

#define WEIGHTS_GROUPS (WEIGHTS_UPLINKS_MAX / WEIGHTS_LANES)

struct weights {
	alignas(64) weights_lanes credit[WEIGHTS_GROUPS];
	weights_lanes weight[WEIGHTS_GROUPS];   /* 0: down */
	weights_lanes eligible[WEIGHTS_GROUPS]; /* -1 or 0 */
	int32_t sum;                            /* of weights */
	uint32_t groups;
	uint32_t live; /* bit mask */
	uint32_t count;
	uint32_t base[WEIGHTS_UPLINKS_MAX]; /* 2^-24 */
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

/** Weight of an uplink, in 2^-16; 0: down. */
static inline uint32_t weights_get(const struct weights *weights, uint32_t uplink)
{
	return (uint32_t)weights->weight[uplink / WEIGHTS_LANES][uplink % WEIGHTS_LANES] / 32;
}

/** For tests and fixed shares. @param weight 0..5 * WEIGHTS_ONE / 4 */
void weights_set(struct weights *weights, uint32_t uplink, uint32_t weight);

/**
 * Look at the queues, once a burst: which uplinks aren't too deep.
 * @param queue_bytes of each uplink
 * @param live        bit mask of uplinks that may be taken now; when all of them are down, all of live
 * Cost: 12 instructions an uplink.
 */
void weights_look(struct weights *weights, const uint32_t *queue_bytes, uint32_t live);

/**
 * The uplink of the next packet. Hot: at most 40 instructions with up to eight uplinks.
 * @return one of those that weights_look() found; 0 when there was none
 */
static inline uint32_t weights_choose(struct weights *weights)
{
	static const weights_lanes last = {31, 30, 29, 28, 27, 26, 25, 24};
	int32_t best = INT32_MIN;
	uint32_t uplink, groups = weights->groups;
	int32_t cap = 3 * weights->sum, credit;
	uint32_t group = 0;

	do {
		weights_lanes earned = weights->credit[group] + weights->weight[group];
		weights_lanes full = earned > cap, key;
		int32_t richest;

		earned = (full & cap) | (~full & earned);
		weights->credit[group] = earned;
		key = earned | (last - (int32_t)(WEIGHTS_LANES * group));
		key = (key & weights->eligible[group]) | (~weights->eligible[group] & INT32_MIN);
		richest = key[0];
		for (uint32_t i = 1; i < WEIGHTS_LANES; i++)
			richest = key[i] > richest ? key[i] : richest;
		best = richest > best ? richest : best;
	} while (++group < groups);
	uplink = best == INT32_MIN ? 0 : 31 - (uint32_t)(best & 31);
	credit = weights->credit[uplink / WEIGHTS_LANES][uplink % WEIGHTS_LANES] - weights->sum;
	weights->credit[uplink / WEIGHTS_LANES][uplink % WEIGHTS_LANES] =
		credit < -cap ? -cap : credit;
	return uplink;
}

#endif
