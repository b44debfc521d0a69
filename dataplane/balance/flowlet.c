/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/flowlet.h"

#include "dataplane/balance/balance.h"
#include "dataplane/balance/choose.h"
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
	uint32_t weight[BALANCE_MEMBERS_MAX], best = UINT32_MAX;
	uint8_t band[BALANCE_MEMBERS_MAX] = {0};

	balance_weights(worker, member, group->balanced, weight);
	for (uint32_t i = 0; i < group->balanced; i++) {
		if (weight[i] != 0 && member[i].egress != PORT_NONE)
			band[i] = (uint8_t)quality_of_port(worker, member[i].egress, priority);
		if (weight[i] != 0 && band[i] < best)
			best = band[i];
	}
	if (kept < group->balanced && weight[kept] != 0 && band[kept] == best)
		return kept;
	for (uint32_t i = 0; i < group->balanced; i++)
		weight[i] = band[i] == best ? weight[i] : 0;
	return balance_draw(hash, weight, sizeof(weight[0]), group->balanced);
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
		return balance_by_hash(worker, member, group->balanced, hash);
	}
	if (!ours && entry->met != 0)
		chosen = balance_by_hash(worker, member, group->balanced, hash);
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
