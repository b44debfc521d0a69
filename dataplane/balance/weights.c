/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/weights.h"

#include <assert.h>
#include <string.h>

#define BASE_ONE (INT64_C(1) << 24)
#define BASE_MIN (BASE_ONE / 50) /* .02 */

/* The corrections of BASE_ONE for an error of one unit, and their bounds; see the header. */
#define BASE_STEP     (BASE_ONE / 2000)           /* .0005 */
#define BASE_STEP_MAX (BASE_ONE / 200)            /* .005 */
#define BASE_BACK     2048                        /* part of what is missing */
#define QUICK_STEP    (BASE_ONE / 50)             /* .02 */
#define QUICK_MIN     (BASE_ONE / 20)             /* .05 */
#define QUICK_MAX     (BASE_ONE * 5 / 4)          /* 1.25 */
#define LATE_MAX_PS   ((int64_t)(10 * PS_PER_MS)) /* keeps products below 2^63 */

static int64_t clamp(int64_t value, int64_t least, int64_t most)
{
	if (value < least)
		return least;
	return value > most ? most : value;
}

void weights_set(struct weights *weights, uint32_t uplink, uint32_t weight)
{
	int32_t sum = 0;

	assert(uplink < weights->count && weight <= 5 * WEIGHTS_ONE / 4);
	weights->weight[uplink / WEIGHTS_LANES][uplink % WEIGHTS_LANES] = (int32_t)weight * 32;
	for (uint32_t i = 0; i < weights->count; i++)
		sum += weights->weight[i / WEIGHTS_LANES][i % WEIGHTS_LANES];
	weights->sum = sum;
}

void weights_init(struct weights *weights, uint32_t count, uint32_t frame_bytes)
{
	assert(count >= 1 && count <= WEIGHTS_UPLINKS_MAX);
	memset(weights, 0, sizeof(*weights));
	weights->count = count;
	weights->frame_bytes = frame_bytes;
	weights->unit_ps = PS_PER_US;
	for (uint32_t i = 0; i < WEIGHTS_UPLINKS_MAX; i++)
		weights->barred[i / WEIGHTS_LANES][i % WEIGHTS_LANES] = WEIGHTS_BARRED;
}

/* Scale all bases so that the largest of those that are up is 1. */
static void normalise(struct weights *weights)
{
	int64_t most = 1;

	for (uint32_t i = 0; i < weights->count; i++)
		if ((weights->live >> i & 1) != 0 && weights->base[i] > most)
			most = weights->base[i];
	for (uint32_t i = 0; i < weights->count; i++)
		weights->base[i] =
			(uint32_t)clamp(weights->base[i] * BASE_ONE / most, BASE_MIN, BASE_ONE);
}

/* Mean lateness over uplinks, by weight. */
static int64_t late_mean(const struct weights *weights)
{
	int64_t sum = 0, late = 0;

	for (uint32_t i = 0; i < weights->count; i++) {
		int64_t weight = weights_get(weights, i);

		sum += weight;
		late += weight * weights->late_ps[i]; /* at most 2^13 * 10^10 * 32 < 2^52 */
	}
	return sum == 0 ? 0 : late / sum;
}

/* Weights from base and lateness. */
static void weigh(struct weights *weights, int64_t mean_ps)
{
	int64_t unit_ps = (int64_t)weights->unit_ps;

	weights->sum = 0;
	for (uint32_t i = 0; i < weights->count; i++) {
		int64_t error_ps = weights->late_ps[i] - mean_ps;
		int64_t quick =
			clamp(BASE_ONE - error_ps * QUICK_STEP / unit_ps, QUICK_MIN, QUICK_MAX);
		int32_t weight =
			(int32_t)(weights->base[i] * quick / BASE_ONE / (BASE_ONE / WEIGHTS_ONE));

		if ((weights->live >> i & 1) == 0)
			weight = 0;
		weights->weight[i / WEIGHTS_LANES][i % WEIGHTS_LANES] = weight * 32;
		weights->sum += weight * 32;
	}
}

void weights_link_set(struct weights *weights, uint32_t uplink, uint64_t rate_bps)
{
	uint64_t fastest = 1, slowest = RATE_BPS_MAX;

	weights->rate_bps[uplink] = rate_bps;
	weights->live &= ~(UINT32_C(1) << uplink);
	weights->live |= (uint32_t)(rate_bps != 0) << uplink;
	for (uint32_t i = 0; i < weights->count; i++) {
		uint64_t rate = weights->rate_bps[i];

		fastest = rate > fastest ? rate : fastest;
		slowest = rate != 0 && rate < slowest ? rate : slowest;
	}
	/* What was learned for one set of links isn't true of another. */
	for (uint32_t i = 0; i < weights->count; i++) {
		uint64_t kbps = weights->rate_bps[i] / 1000;

		weights->speed[i] = weights->base[i] =
			(uint32_t)clamp((int64_t)(kbps * (uint64_t)BASE_ONE / (fastest / 1000 + 1)),
					BASE_MIN, BASE_ONE);
		weights->late_ps[i] = 0;
	}
	normalise(weights);
	weights->unit_ps =
		time_max(PS_PER_US, 3 * (uint64_t)weights->frame_bytes * 8 * PS_PER_S / slowest);
	memset(weights->credit, 0, sizeof(weights->credit));
	weigh(weights, 0);
}

/* Nobody is late: what has kept an uplink down may be over. */
static void come_back(struct weights *weights)
{
	for (uint32_t i = 0; i < weights->count; i++) {
		int64_t missing = (int64_t)weights->speed[i] - weights->base[i];

		weights->base[i] = (uint32_t)(weights->base[i] + missing / BASE_BACK);
	}
}

void weights_update(struct weights *weights, const struct weights_news *news)
{
	int64_t mean_ps, latest_ps = 0;

	for (uint32_t i = 0; i < weights->count; i++) {
		int64_t told = news[i].lateness_ps > (uint64_t)LATE_MAX_PS
				       ? LATE_MAX_PS
				       : (int64_t)news[i].lateness_ps;

		if (news[i].fresh)
			weights->late_ps[i] = (weights->late_ps[i] + told) / 2;
		if (weights->late_ps[i] > latest_ps)
			latest_ps = weights->late_ps[i];
	}
	mean_ps = late_mean(weights);
	for (uint32_t i = 0; i < weights->count; i++) {
		int64_t step =
			(weights->late_ps[i] - mean_ps) * BASE_STEP / (int64_t)weights->unit_ps;
		int64_t base = weights->base[i];

		if (!news[i].fresh)
			continue; /* what was told before has had its effect */
		base -= base * clamp(step, -BASE_STEP_MAX, BASE_STEP_MAX) / BASE_ONE;
		weights->base[i] = (uint32_t)base;
	}
	if (latest_ps < (int64_t)weights->unit_ps)
		come_back(weights);
	normalise(weights);
	weigh(weights, mean_ps);
}

void weights_look(struct weights *weights, const uint32_t *queue_bytes, uint32_t live)
{
	const weights_lanes bit = {1, 2, 4, 8};
	const int32_t cap = 3 * weights->sum; /* below 2^24 */
	uint32_t mask = weights->live & live, heaviest = 0;
	int32_t shortest = INT32_MAX;

	if (mask == 0)
		mask = live;
	for (uint32_t left = mask; left != 0; left &= left - 1) {
		uint32_t weight = weights_get(weights, (uint32_t)__builtin_ctz(left));

		heaviest = weight > heaviest ? weight : heaviest;
	}
	for (uint32_t left = mask; left != 0; left &= left - 1) {
		uint32_t u = (uint32_t)__builtin_ctz(left);

		if (2 * weights_get(weights, u) >= heaviest && (int32_t)queue_bytes[u] < shortest)
			shortest = (int32_t)queue_bytes[u];
	}
	for (uint32_t group = 0; WEIGHTS_LANES * group < weights->count; group++) {
		weights_lanes most = {cap, cap, cap, cap}, queue, barred;
		weights_lanes credit = weights->credit[group];
		const int32_t taken = (int32_t)(mask >> WEIGHTS_LANES * group);
		const size_t first = (size_t)WEIGHTS_LANES * group;

		memcpy(&queue, queue_bytes + first, sizeof(queue));
		barred = (queue - shortest > WEIGHTS_SLACK_BYTES) | ((bit & taken) == 0);
		weights->barred[group] = barred & WEIGHTS_BARRED;
		credit = weights_larger(credit, -most);
		weights->credit[group] = -weights_larger(-credit, -most);
	}
}
