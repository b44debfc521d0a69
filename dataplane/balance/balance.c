/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/balance.h"

#include "dataplane/balance/adaptive.h"
#include "dataplane/balance/choose.h"

void balance_weights(const struct worker *worker, const struct adjacency *member, uint32_t count,
		     uint32_t *weight)
{
	uint32_t up = 0;

	for (uint32_t i = 0; i < count; i++) {
		weight[i] = balance_is_out(worker, &member[i]) ? 0 : member[i].weight;
		up |= weight[i];
	}
	for (uint32_t i = 0; i < count && up == 0; i++)
		weight[i] = member[i].weight;
}

uint32_t balance_by_hash(const struct worker *worker, const struct adjacency *member,
			 uint32_t count, uint32_t hash)
{
	uint32_t weight[BALANCE_MEMBERS_MAX];

	if (likely(!worker->links.any || count > BALANCE_MEMBERS_MAX))
		return balance_weighted(hash, member, count);
	balance_weights(worker, member, count, weight);
	return balance_draw(hash, weight, sizeof(weight[0]), count);
}

uint32_t balance_choose(struct worker *worker, const struct group *group, struct parsed *parsed,
			uint8_t *ip, uint8_t priority)
{
	const struct snapshot *snapshot = worker->snapshot;
	const uint8_t mode = balance_mode_of(snapshot, group, priority);
	struct spray *spray = group->peer != PEER_NONE ? worker_spray(worker) : NULL;
	struct adaptive *adaptive = balance_adaptive(worker);
	const struct adjacency *member = &snapshot->adjacency[group->members];
	uint32_t hash;

	if (mode == BALANCE_SPRAY && spray != NULL)
		return spray_choose(worker, spray, group, parsed, ip, priority);
	if (mode == BALANCE_STATIC)
		return balance_by_hash(worker, member, group->balanced,
				       balance_hash_destination(parsed, ip, snapshot->hash_seed));
	hash = balance_hash_of_group(snapshot, parsed, ip);
	if (mode == BALANCE_ADAPTIVE && adaptive != NULL && spray != NULL)
		return adaptive_choose(worker, adaptive, group, parsed, ip, priority, hash);
	/* Adaptive too, towards leaves that are none of ours. */
	if (mode == BALANCE_FLOWLET || mode == BALANCE_ADAPTIVE)
		return choose_flowlet(worker, snapshot, group, hash, priority);
	if (mode == BALANCE_SPRAY_UNORDERED)
		return choose_unordered(worker, snapshot, group, hash);
	return balance_by_hash(worker, member, group->balanced, hash);
}

__rte_noinline void balance_sample(struct worker *worker, const struct parsed *parsed,
				   const uint8_t *ip, uint8_t priority, uint16_t egress)
{
	struct balance_state *balance = &worker->balance;
	struct sketch *sketch = atomic_load_explicit(&balance->sketch, memory_order_acquire);

	/* No frame is longer than the shortest distance, so that the sum isn't below 0. */
	balance->sample_bytes -= parsed->length;
	balance->sample_bytes += sketch_take(sketch, worker->now_ps, parsed, ip, priority, egress);
}
