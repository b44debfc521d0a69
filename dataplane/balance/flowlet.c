/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/flowlet.h"

#include "dataplane/balance/balance.h"
#include "dataplane/balance/hash.h"
#include "dataplane/internal.h"

/*
 * The best of a group's members. Of equally good ones that which the flow had, else one by hash and weight.
 * @param kept member that the flow had, or the group's count
 */
static uint32_t best_member(struct worker *worker, const struct group *group, uint32_t hash,
			    uint8_t priority, uint32_t kept)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct adjacency *member = &snapshot->adjacency[group->members];
	uint32_t best = UINT32_MAX, chosen = 0;
	uint64_t weights = 0, drawn;
	uint8_t band[BALANCE_MEMBERS_MAX] = {0};

	for (uint32_t i = 0; i < group->balanced; i++) {
		if (member[i].weight == 0)
			continue;
		band[i] = member[i].egress == PORT_NONE
				  ? 0
				  : (uint8_t)quality_of_port(worker, member[i].egress, priority);
		if (band[i] < best) {
			best = band[i];
			weights = 0;
		}
		if (band[i] == best)
			weights += member[i].weight;
	}
	if (weights == 0)
		return 0;
	if (kept < group->balanced && member[kept].weight != 0 && band[kept] == best)
		return kept;
	drawn = hash * weights >> 32;
	for (uint32_t i = 0; i < group->balanced; i++) {
		if (member[i].weight == 0 || band[i] != best)
			continue;
		chosen = i;
		if (drawn < member[i].weight)
			break;
		drawn -= member[i].weight;
	}
	return chosen;
}

__rte_noinline uint32_t flowlet_begin(struct worker *worker, const struct group *group,
				      struct flowlet *entry, uint32_t hash, uint8_t priority)
{
	const struct adjacency *member = &worker->snapshot->adjacency[group->members];
	uint64_t gap_ps = worker->snapshot->balance.gap_ps;
	bool ours = entry->member != 0 && entry->hash == hash;
	uint32_t kept = ours ? entry->member - 1u : group->balanced;
	uint32_t chosen;

	if (!ours && entry->member != 0 && worker->now_ps - entry->last_ps < gap_ps) {
		entry->met = 1;
		counter_add(&worker->balance.counters.collisions, 1);
		return balance_weighted(hash, member, group->balanced);
	}
	if (!ours && entry->met != 0)
		chosen = balance_weighted(hash, member, group->balanced);
	else
		chosen = best_member(worker, group, hash, priority, kept);
	counter_add(&worker->balance.counters.flowlets, 1);
	if (ours && chosen != kept)
		counter_add(&worker->balance.counters.moves, 1);
	*entry = (struct flowlet){
		.hash = hash,
		.member = (uint16_t)(chosen + 1),
		.last_ps = worker->now_ps,
	};
	return chosen;
}
