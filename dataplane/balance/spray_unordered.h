/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spray_unordered - every packet by itself, in turn by weights. The hosts see any order.
 *
 * Smooth weighted round robin: each member earns its weight with every packet, the richest one takes the packet
 * and pays for all. So the shares are exact over every sum(weights), spread as evenly as can be, and nothing is
 * drawn. Flows have turns of their own, by some bits of their hash: with one turn for all, two flows whose
 * packets alternate would each have one uplink of two for ever.
 *
 * Thread: one worker's own.
 */
#ifndef DATAPLANE_BALANCE_SPRAY_UNORDERED_H
#define DATAPLANE_BALANCE_SPRAY_UNORDERED_H

#include <stdint.h>

#include "dataplane/balance/balance.h"
#include "dataplane/parse.h"

#define SPRAY_TURNS 256

/* What members have earned and not spent: less than the sum of all weights, either way. */
struct spray_turns {
	int32_t credit[SPRAY_TURNS][BALANCE_MEMBERS_MAX];
	uint8_t next[SPRAY_TURNS]; /* where all weigh the same */
};

/** The next member of a group whose members all weigh the same. Hot. */
static inline uint32_t spray_unordered_turn(struct spray_turns *turns, uint32_t turn,
					    uint32_t count)
{
	uint32_t next = turns->next[turn % SPRAY_TURNS];

	if (next >= count)
		next = 0;
	turns->next[turn % SPRAY_TURNS] = (uint8_t)(next + 1);
	return next;
}

/**
 * The next member. Hot: 10 instructions for each member.
 * @param turn   of the flow, any number
 * @param weights of the first member; `count` of them, at most BALANCE_MEMBERS_MAX
 * @param stride  from one weight to the next, bytes
 */
static inline uint32_t spray_unordered_next(struct spray_turns *turns, uint32_t turn,
					    const uint32_t *weights, size_t stride, uint32_t count)
{
	int32_t *credit = turns->credit[turn % SPRAY_TURNS];
	int32_t most = INT32_MIN, sum = 0;
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < count; i++) {
		int32_t weight = (int32_t)load_u32((const uint8_t *)weights + i * stride);

		if (weight == 0)
			continue;
		sum += weight;
		credit[i] += weight;
		if (credit[i] > most) {
			most = credit[i];
			chosen = i;
		}
	}
	credit[chosen] -= sum;
	return chosen;
}

#endif
