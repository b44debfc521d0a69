/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/balance.h"

#include "dataplane/balance/adaptive.h"
#include "dataplane/balance/choose.h"

uint32_t balance_choose(struct worker *worker, const struct group *group, struct parsed *parsed,
			uint8_t *ip, uint8_t priority)
{
	const struct snapshot *snapshot = worker->snapshot;
	const uint8_t mode = balance_mode_of(snapshot, group, priority);
	struct spray *spray = group->peer != PEER_NONE ? worker_spray(worker) : NULL;
	struct adaptive *adaptive = balance_adaptive(worker);
	uint32_t hash;

	if (mode == BALANCE_SPRAY && spray != NULL)
		return spray_choose(worker, spray, group, parsed, ip, priority);
	if (mode == BALANCE_STATIC)
		return balance_hash_member(snapshot, group, parsed, ip, priority);
	hash = balance_hash_of_group(snapshot, parsed, ip);
	if (mode == BALANCE_ADAPTIVE && adaptive != NULL && spray != NULL)
		return adaptive_choose(worker, adaptive, group, parsed, ip, priority, hash);
	if (mode == BALANCE_FLOWLET)
		return choose_flowlet(worker, snapshot, group, hash, priority);
	if (mode == BALANCE_SPRAY_UNORDERED)
		return choose_unordered(worker, snapshot, group, hash);
	return balance_weighted(hash, &snapshot->adjacency[group->members], group->balanced);
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
