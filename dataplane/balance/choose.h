/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * choose - what the modes do for nearly every packet, in line: balance.c does it for a packet of any kind, plain.c
 * for all plain ones of a burst; route.c where the order is restored.
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_BALANCE_CHOOSE_H
#define DATAPLANE_BALANCE_CHOOSE_H

#include "dataplane/balance/flowlet.h"
#include "dataplane/balance/hash.h"
#include "dataplane/balance/spray.h"
#include "dataplane/balance/spray_unordered.h"
#include "dataplane/internal.h"

/** Does a next hop leave through a port that is out (links.h)? Hot. */
static inline bool balance_is_out(const struct worker *worker, const struct adjacency *member)
{
	return unlikely(worker->links.any) && member->egress != PORT_NONE &&
	       port_bits_test(&worker->links.out, member->egress);
}

/** Weights of a group's members: 0 for those that are out, unless all are. Cold. */
void balance_weights(const struct worker *worker, const struct adjacency *member, uint32_t count,
		     uint32_t *weight);

/** Of a flow that may move between flowlets. Hot: 20 instructions for one that goes on in its flowlet. */
static inline uint32_t choose_flowlet(struct worker *worker, const struct snapshot *snapshot,
				      const struct group *group, uint32_t hash, uint8_t priority)
{
	const struct adjacency *member = &snapshot->adjacency[group->members];
	struct flowlet_table *table =
		atomic_load_explicit(&worker->balance.flowlets, memory_order_acquire);
	struct flowlet *entry;
	uint32_t kept;

	if (unlikely(table == NULL || group->balanced > BALANCE_MEMBERS_MAX))
		return balance_by_hash(worker, member, group->balanced, hash);
	entry = &table->entry[hash & table->mask];
	kept = entry->member - 1u;
	if (likely(entry->hash == hash &&
		   worker->now_ps - entry->last_ps < snapshot->balance.gap_ps &&
		   kept < group->balanced && member[kept].weight != 0 &&
		   !balance_is_out(worker, &member[kept]))) {
		entry->last_ps = worker->now_ps;
		return kept;
	}
	return flowlet_begin(worker, group, entry, hash, priority);
}

/** The next one. Hot: 10 instructions where all members are alike. */
static inline uint32_t choose_unordered(struct worker *worker, const struct snapshot *snapshot,
					const struct group *group, uint32_t hash)
{
	const struct adjacency *member = &snapshot->adjacency[group->members];
	struct spray_turns *turns =
		atomic_load_explicit(&worker->balance.turns, memory_order_acquire);
	uint32_t weight[BALANCE_MEMBERS_MAX];

	if (unlikely(turns == NULL || group->balanced > BALANCE_MEMBERS_MAX))
		return balance_by_hash(worker, member, group->balanced, hash);
	counter_add(&worker->balance.counters.sprayed, 1);
	if (unlikely(worker->links.any)) {
		balance_weights(worker, member, group->balanced, weight);
		return spray_unordered_next(turns, hash, weight, sizeof(weight[0]),
					    group->balanced);
	}
	if (likely(group->alike))
		return spray_unordered_turn(turns, hash, group->balanced);
	return spray_unordered_next(turns, hash, &member->weight, sizeof(*member), group->balanced);
}

/** Uplink of a sprayed packet. Hot: 50 instructions, by up to eight uplinks. */
static inline uint32_t choose_uplink(struct worker *worker, const struct snapshot *snapshot,
				     struct spray_leaf *peer, const struct group *group,
				     uint8_t priority)
{
	uint32_t uplink;

	if (unlikely(peer->look-- == 0 ||
		     time_after(worker->now_ps, peer->looked_ps + SPRAY_LOOK_PS)))
		spray_look(worker, peer, &snapshot->adjacency[group->members], priority);
	uplink = weights_choose(&peer->weights);
	peer->taken |= UINT32_C(1) << uplink;
	peer->sprayed_ps = worker->now_ps;
	return uplink;
}

/** Take a packet's number out of it. @param checksum its field, where 0 takes its place */
static inline uint16_t spray_restore(struct spray *spray, const struct resequencer_flow *flow,
				     uint8_t *checksum)
{
	uint16_t number = __builtin_bswap16(load_u16(checksum));

	memset(checksum, 0, sizeof(number));
	counter_add(&spray->counters.restored, 1);
	spray->leaf[flow->peer].arrived = true;
	return number;
}

/**
 * Does a packet of a flow of this worker come when it is due, and nothing is held? Then its number has been taken out,
 * and it just goes on. Hot.
 */
static inline bool spray_in_order(struct worker *worker, struct spray *spray,
				  struct resequencer_flow *flow, uint16_t ingress,
				  uint8_t *checksum)
{
	if (!resequencer_is_due(flow, __builtin_bswap16(load_u16(checksum))))
		return false;
	resequencer_pass(spray->resequencer, flow, spray_restore(spray, flow, checksum),
			 spray->leaf[flow->peer].member[ingress], worker->now_ps);
	return true;
}

#endif
