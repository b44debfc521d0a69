/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/elephants.h"

static bool is_idle(const struct elephants *elephants, const struct elephant *flow, uint64_t now_ps)
{
	return !flow->moving && !time_after(flow->last_ps + elephants->params.idle_ps, now_ps);
}

/* How readily an entry is given away: the more, the sooner; 0: not at all. */
static uint64_t spare(const struct elephants *elephants, const struct elephant *flow,
		      uint64_t now_ps)
{
	if (!flow->used)
		return UINT64_MAX;
	if (flow->listed || flow->moving)
		return 0;
	if (is_idle(elephants, flow, now_ps))
		return UINT64_MAX - 1;
	return flow->moved ? 0 : 1 + now_ps - flow->last_ps;
}

static struct elephant *find(struct elephants *elephants, const struct balance_key *key,
			     uint64_t now_ps, bool *known)
{
	uint32_t hash = balance_key_hash(key, elephants->params.seed);
	struct elephant *bucket =
		&elephants->flow[hash & elephants->mask & ~(ELEPHANTS_BUCKET - 1u)];
	struct elephant *best = NULL;
	uint64_t most = 0;

	for (uint32_t i = 0; i < ELEPHANTS_BUCKET; i++)
		if (bucket[i].used && balance_key_equal(&bucket[i].key, key)) {
			*known = true;
			return &bucket[i];
		}
	*known = false;
	for (uint32_t i = 0; i < ELEPHANTS_BUCKET; i++) {
		uint64_t readily = spare(elephants, &bucket[i], now_ps);

		if (readily > most) {
			most = readily;
			best = &bucket[i];
		}
	}
	return best;
}

static void list(struct elephants *elephants, struct elephant *flow)
{
	if (elephants->count == ELEPHANTS_MAX) {
		elephants->unlisted++;
		return;
	}
	flow->listed = true;
	flow->faded = false;
	elephants->list[elephants->count++] = flow;
}

/* The first packet after a window. */
static void turn_window(struct elephants *elephants, struct elephant *flow, uint64_t now_ps)
{
	bool next = time_after(flow->window_ps + 2 * elephants->params.window_ps, now_ps);

	if (!next || flow->bytes < elephants->params.active_bytes / 2)
		flow->faded = true;
	if (!flow->listed && next && flow->bytes >= elephants->params.active_bytes)
		list(elephants, flow);
	flow->window_ps = next ? flow->window_ps + elephants->params.window_ps : now_ps;
	flow->bytes = 0;
}

struct elephant *elephants_packet(struct elephants *elephants, const struct balance_key *key,
				  const struct elephants_packet *packet, uint32_t up,
				  uint64_t now_ps)
{
	bool known;
	struct elephant *flow = find(elephants, key, now_ps, &known);

	if (flow == NULL) {
		elephants->unplaced++;
		return NULL;
	}
	if (!known)
		*flow = (struct elephant){
			.key = *key,
			.window_ps = now_ps,
			.cool_ps = now_ps,
			.uplink = packet->uplink,
			.used = true,
		};
	else if (flow->peer != packet->peer || (flow->moved && (up >> flow->uplink & 1) == 0))
		flow->moved = false;
	if (known && !flow->moved &&
	    (flow->uplink != packet->uplink || flow->peer != packet->peer)) {
		if (!is_idle(elephants, flow, now_ps))
			flow->cool_ps = now_ps + elephants->params.idle_ps;
		flow->uplink = packet->uplink;
	}
	flow->last_ps = now_ps;
	flow->peer = packet->peer;
	flow->port = packet->port;
	flow->priority = packet->priority;
	flow->packets++;
	if (!time_after(flow->window_ps + elephants->params.window_ps, now_ps))
		turn_window(elephants, flow, now_ps);
	flow->bytes += packet->bytes;
	return flow;
}

/* It is one no more; also when no packet has come to turn its window. */
static bool is_over(const struct elephants *elephants, const struct elephant *flow, uint64_t now_ps)
{
	const struct elephants_params *params = &elephants->params;

	if (flow->moving)
		return false;
	if (flow->faded || !time_after(flow->window_ps + 2 * params->window_ps, now_ps))
		return true;
	return !time_after(flow->window_ps + params->window_ps, now_ps) &&
	       flow->bytes < params->active_bytes / 2;
}

void elephants_sweep(struct elephants *elephants, uint64_t now_ps)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < elephants->count; i++) {
		struct elephant *flow = elephants->list[i];

		if (is_over(elephants, flow, now_ps))
			flow->listed = false;
		else
			elephants->list[kept++] = flow;
	}
	elephants->count = kept;
}
