/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/spray_unordered.h"

#include "dataplane/snapshot.h"

uint32_t spray_unordered_next(struct spray_turns *turns, uint32_t turn,
			      const struct adjacency *member, uint32_t count)
{
	int32_t *credit = turns->credit[turn % SPRAY_TURNS];
	int32_t most = INT32_MIN, sum = 0;
	uint32_t chosen = 0;

	for (uint32_t i = 0; i < count; i++) {
		int32_t weight = (int32_t)member[i].weight;

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
