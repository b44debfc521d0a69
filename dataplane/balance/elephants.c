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

static void list(struct elephants *elephants, struct elephant *flow, uint64_t now_ps)
{
	if (elephants->count == ELEPHANTS_MAX) {
		elephants->unlisted++;
		return;
	}
	flow->listed = true;
	flow->listed_ps = now_ps;
	elephants->list[elephants->count++] = flow;
}

/* Windows on end that brought too little, with those that have passed since this one began. */
static uint8_t faded(const struct elephants *elephants, const struct elephant *flow,
		     uint64_t now_ps)
{
	const uint64_t window_ps = elephants->params.window_ps, since_ps = now_ps - flow->window_ps;
	uint64_t passed = since_ps < window_ps ? 0 : since_ps / window_ps; /* mostly none */
	uint64_t windows = flow->bytes < elephants->params.active_bytes / 2 ? flow->faded + passed
			   : passed != 0                                    ? passed - 1
									    : 0;

	return (uint8_t)(windows < UINT8_MAX ? windows : UINT8_MAX);
}

/* The first packet after a window. */
static void turn_window(struct elephants *elephants, struct elephant *flow, uint64_t now_ps)
{
	bool next = time_after(flow->window_ps + 2 * elephants->params.window_ps, now_ps);

	flow->faded = faded(elephants, flow, now_ps);
	if (!flow->listed && next && flow->bytes >= elephants->params.active_bytes)
		list(elephants, flow, now_ps);
	flow->window_ps = next ? flow->window_ps + elephants->params.window_ps : now_ps;
	flow->bytes = 0;
}

/* An entry is a new flow's from now on. */
static void begin_flow(struct elephants *elephants, struct elephant *flow,
		       const struct balance_key *key, const struct elephants_packet *packet,
		       uint64_t now_ps)
{
	if (elephants->late || (flow->used && !is_idle(elephants, flow, now_ps)))
		elephants_blind(elephants, now_ps);
	else if (!time_after(elephants->blind_ps + elephants->params.idle_ps, now_ps))
		elephants->blind = false;
	elephants->late = false;
	*flow = (struct elephant){
		.key = *key,
		.window_ps = now_ps,
		.cool_ps = now_ps,
		.uplink = packet->uplink,
		.used = true,
	};
	if (elephants->blind || packet->bytes < ELEPHANTS_LARGE_BYTES ||
	    elephants->count >= ELEPHANTS_MAX / 2)
		return;
	list(elephants, flow, now_ps);
	flow->faded = (uint8_t)(elephants->params.fade_windows - 1);
	flow->fresh = true;
}

struct elephant *elephants_packet(struct elephants *elephants, const struct balance_key *key,
				  const struct elephants_packet *packet, uint32_t up,
				  uint64_t now_ps)
{
	bool known;
	struct elephant *flow = find(elephants, key, now_ps, &known);

	if (flow == NULL) {
		elephants->unplaced++;
		elephants_blind(elephants, now_ps);
		return NULL;
	}
	if (!known)
		begin_flow(elephants, flow, key, packet, now_ps);
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
	flow->again |= flow->ended;
	flow->ended = packet->ends;
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
	if (flow->ended && !flow->again && !time_after(flow->last_ps + params->window_ps, now_ps))
		return true;
	return faded(elephants, flow, now_ps) >= params->fade_windows;
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
