/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/balance.h"

#include "dataplane/balance/adaptive.h"
#include "dataplane/balance/flowlet.h"
#include "dataplane/balance/hash.h"
#include "dataplane/balance/spray.h"
#include "dataplane/balance/spray_unordered.h"
#include "dataplane/internal.h"

static uint32_t spray_member(struct worker *worker, const struct group *group,
			     const struct adjacency *member, uint32_t hash)
{
	struct spray_turns *turns =
		atomic_load_explicit(&worker->balance.turns, memory_order_acquire);

	if (unlikely(turns == NULL || group->balanced > BALANCE_MEMBERS_MAX))
		return balance_weighted(hash, member, group->balanced);
	counter_add(&worker->balance.counters.sprayed, 1);
	return spray_unordered_next(turns, hash, member, group->balanced);
}

static uint32_t spray_ordered(struct worker *worker, const struct group *group,
			      struct parsed *parsed, uint8_t *ip)
{
	struct spray *spray = worker_spray(worker);

	if (unlikely(spray == NULL || group->peer == PEER_NONE))
		return balance_weighted(balance_hash_of_group(worker->snapshot, parsed, ip),
					&worker->snapshot->adjacency[group->members],
					group->balanced);
	return spray_choose(worker, spray, group, parsed, ip);
}

static uint32_t adaptive_member(struct worker *worker, const struct group *group,
				const struct parsed *parsed, const uint8_t *ip, uint8_t priority,
				uint32_t hash)
{
	struct adaptive *adaptive = balance_adaptive(worker);

	if (adaptive != NULL && worker_spray(worker) != NULL && group->peer != PEER_NONE)
		return adaptive_choose(worker, adaptive, group, parsed, ip, priority, hash);
	return balance_weighted(hash, &worker->snapshot->adjacency[group->members],
				group->balanced);
}

uint32_t balance_choose(struct worker *worker, const struct group *group, struct parsed *parsed,
			uint8_t *ip, uint8_t priority)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct adjacency *member = &snapshot->adjacency[group->members];
	uint8_t mode = balance_mode_of(snapshot, group, priority);
	uint32_t hash;

	if (mode == BALANCE_SPRAY)
		return spray_ordered(worker, group, parsed, ip);
	if (mode == BALANCE_STATIC)
		return balance_hash_member(snapshot, group, parsed, ip, priority);
	hash = balance_hash_of_group(snapshot, parsed, ip);
	switch (mode) {
	case BALANCE_ADAPTIVE:
		return adaptive_member(worker, group, parsed, ip, priority, hash);
	case BALANCE_FLOWLET:
		return flowlet_choose(worker, group, hash, priority);
	case BALANCE_SPRAY_UNORDERED:
		return spray_member(worker, group, member, hash);
	default:
		return balance_weighted(hash, member, group->balanced);
	}
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
