/* SPDX-License-Identifier: BSD-3-Clause */
/* Which flows there are, and whose. */
#include "dataplane/balance/resequencer_tables.h"

#include <assert.h>

/* Where a key is in the index, or where it would go. */
static uint32_t index_find(const struct resequencer *r, const struct balance_key *key,
			   uint32_t hash)
{
	const struct resequencer_tables *t = r->tables;
	uint32_t slot = hash & t->index_mask;

	for (;; slot = (slot + 1) & t->index_mask) {
		uint32_t entry = t->index[slot];

		if (entry == 0 || (((entry ^ hash) & TAG_MASK) == 0 &&
				   balance_key_equal(&r->flow[(entry & ~TAG_MASK) - 1].key, key)))
			return slot;
	}
}

/* Close the gap: whatever can't be reached across it moves into it. */
static void index_remove(struct resequencer *r, uint32_t gap)
{
	struct resequencer_tables *t = r->tables;

	for (uint32_t slot = (gap + 1) & t->index_mask; t->index[slot] != 0;
	     slot = (slot + 1) & t->index_mask) {
		const struct balance_key *key = &r->flow[(t->index[slot] & ~TAG_MASK) - 1].key;
		uint32_t home = balance_key_hash(key, r->limits.seed) & t->index_mask;

		if (((slot - home) & t->index_mask) >= ((slot - gap) & t->index_mask)) {
			t->index[gap] = t->index[slot];
			gap = slot;
		}
	}
	t->index[gap] = 0;
}

struct resequencer_flow *resequencer_find(struct resequencer *resequencer,
					  const struct balance_key *key)
{
	uint32_t hash = balance_key_hash(key, resequencer->limits.seed);
	uint32_t entry = resequencer->tables->index[index_find(resequencer, key, hash)];

	return entry == 0 ? NULL : &resequencer->flow[(entry & ~TAG_MASK) - 1];
}

bool resequencer_forget(struct resequencer *resequencer, struct resequencer_flow *flow,
			uint64_t now_ps)
{
	struct resequencer_tables *t = resequencer->tables;
	uint32_t at = flow_index(resequencer, flow), hash;

	if (flow->held != 0 || (flow->flags & FLOW_READY) != 0 ||
	    !time_after(now_ps, flow->seen_ps + RESEQUENCER_KEEP_PS))
		return false;
	hash = balance_key_hash(&flow->key, resequencer->limits.seed);
	index_remove(resequencer, index_find(resequencer, &flow->key, hash));
	t->used[at] = 0;
	flow->ready = t->unused_flow;
	t->unused_flow = at;
	count_more(&resequencer->counters.flows, -UINT64_C(1));
	return true;
}

void resequencer_sweep(struct resequencer *resequencer, uint32_t count_flows, uint64_t now_ps)
{
	struct resequencer_tables *t = resequencer->tables;

	for (uint32_t i = 0; i < count_flows && i < resequencer->limits.flows; i++) {
		uint32_t at = t->sweep++ & (resequencer->limits.flows - 1);

		if (t->used[at] != 0)
			(void)resequencer_forget(resequencer, &resequencer->flow[at], now_ps);
	}
}

/* The agreement is a flow's own from now on. */
static void agree(struct resequencer *r, struct resequencer_flow *flow,
		  const struct resequencer_owner *owner, uint16_t first, uint64_t now_ps)
{
	uint32_t index = flow_index(r, flow);

	r->tables->epoch[index] = owner->epoch;
	r->tables->worker[index] = owner->worker;
	r->tables->first[index] = first;
	flow->peer = owner->peer;
	flow->expected = first;
	flow->fences = 0;
	flow->flags |= FLOW_STARTING;
	flow->seen_ps = now_ps;
}

static enum resequencer_answer install_again(struct resequencer *r, struct resequencer_flow *flow,
					     const struct resequencer_owner *owner, uint16_t first,
					     uint64_t now_ps)
{
	const struct resequencer_tables *t = r->tables;
	uint32_t index = flow_index(r, flow);
	bool same = flow->peer == owner->peer && t->epoch[index] == owner->epoch &&
		    t->worker[index] == owner->worker;

	if (same && first == t->first[index] && first != flow->expected)
		return RESEQUENCER_YES; /* the one in force, and its packets are coming */
	if (!same && !time_after(now_ps, flow->seen_ps + RESEQUENCER_OWNED_PS))
		return RESEQUENCER_OWNED;
	if (flow->held != 0)
		return same && first == flow->expected ? RESEQUENCER_YES : RESEQUENCER_BUSY;
	agree(r, flow, owner, first, now_ps);
	return RESEQUENCER_YES;
}

enum resequencer_answer resequencer_install(struct resequencer *resequencer,
					    const struct balance_key *key,
					    const struct resequencer_owner *owner, uint16_t first,
					    uint16_t port, uint8_t priority, uint64_t now_ps)
{
	struct resequencer_tables *t = resequencer->tables;
	uint32_t hash = balance_key_hash(key, resequencer->limits.seed);
	uint32_t entry = t->index[index_find(resequencer, key, hash)], index;
	struct resequencer_flow *flow;

	assert(first >= SEQUENCE_FIRST && owner->peer < resequencer->limits.peers);
	if (entry != 0) {
		enum resequencer_answer answer;

		flow = &resequencer->flow[(entry & ~TAG_MASK) - 1];
		answer = install_again(resequencer, flow, owner, first, now_ps);
		if (answer == RESEQUENCER_YES)
			flow->port = port;
		return answer;
	}
	resequencer_sweep(resequencer, 8, now_ps);
	index = t->unused_flow;
	if (index == NONE)
		return RESEQUENCER_FULL;
	flow = &resequencer->flow[index];
	t->unused_flow = flow->ready;
	*flow = (struct resequencer_flow){
		.key = *key,
		.older = index,
		.newer = index,
		.port = port,
		.flags = (uint8_t)(priority << RESEQUENCER_PRIORITY_SHIFT)};
	t->used[index] = 1;
	t->index[index_find(resequencer, key, hash)] = (hash & TAG_MASK) | (index + 1);
	agree(resequencer, flow, owner, first, now_ps);
	count_more(&resequencer->counters.flows, 1);
	return RESEQUENCER_YES;
}
