/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/safe_move.h"

#include <string.h>

/* --- chance: splitmix64 (Steele, Lea and Flood, OOPSLA 2014, figure 16) --- */

static uint64_t draw(struct safe_move *move)
{
	uint64_t z = move->random += UINT64_C(0x9E3779B97F4A7C15);

	z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
	z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
	return z ^ z >> 31;
}

/* 0..count-1 */
static uint32_t draw_below(struct safe_move *move, uint32_t count)
{
	return (uint32_t)((draw(move) >> 32) * count >> 32);
}

/* --- what is under way --- */

static bool is_paused_by_another(const struct safe_move *move, const struct safe_move_step *step)
{
	for (uint32_t i = 0; i < SAFE_MOVES; i++)
		if (&move->step[i] != step && move->step[i].flow != NULL &&
		    move->step[i].port == step->port && move->step[i].priority == step->priority)
			return true;
	return false;
}

static void probe(struct safe_move *move, struct safe_move_step *step,
		  const struct safe_move_ops *ops)
{
	step->serial = ++move->serial;
	step->packets = step->flow->packets;
	move->counters.probes++;
	ops->probe(ops->context, step->flow, step->serial);
}

/* An elephant more or less by an uplink towards a peer. */
static void add_load(struct safe_move *move, uint16_t peer, uint32_t uplink, int32_t more)
{
	uint8_t link = move->peer[peer].link[uplink];

	move->peer[peer].own[uplink] = (uint16_t)(move->peer[peer].own[uplink] + more);
	if (link != SAFE_MOVE_LINK_NONE)
		move->link_own[link] = (uint16_t)(move->link_own[link] + more);
}

static void begin(struct safe_move *move, struct elephant *flow, uint8_t to, bool sideways,
		  const struct safe_move_ops *ops, uint64_t now_ps)
{
	struct safe_move_step *step = move->step;

	while (step->flow != NULL)
		step++;
	*step = (struct safe_move_step){
		.flow = flow,
		.since_ps = now_ps,
		.port = flow->port,
		.priority = flow->priority,
		.from = flow->uplink,
		.to = to,
		.sideways = sideways,
	};
	flow->moving = true;
	add_load(move, flow->peer, flow->uplink, -1);
	add_load(move, flow->peer, to, 1);
	move->active++;
	move->counters.begun++;
	if (!is_paused_by_another(move, step))
		ops->pause(ops->context, step->port, step->priority, true);
	probe(move, step, ops);
}

static void end(struct safe_move *move, struct safe_move_step *step,
		const struct safe_move_ops *ops, uint64_t now_ps)
{
	struct elephant *flow = step->flow;
	uint64_t spread_ps = move->params.cool_max_ps - move->params.cool_min_ps;
	uint64_t rest_ps = move->params.cool_min_ps + draw_below(move, (uint32_t)spread_ps + 1);

	if (!is_paused_by_another(move, step))
		ops->pause(ops->context, step->port, step->priority, false);
	move->counters.paused_ps += now_ps - step->since_ps;
	step->flow = NULL;
	move->active--;
	flow->moving = false;
	if (step->sideways)
		rest_ps *= SAFE_MOVE_PATIENCE;
	flow->cool_ps = time_max(flow->cool_ps, now_ps + rest_ps);
	elephant_renew(flow, now_ps);
}

/* Its packets went by another path meanwhile, or the new one is none any more. */
static bool is_lost(const struct safe_move *move, const struct safe_move_step *step,
		    uint64_t now_ps)
{
	const struct elephant *flow = step->flow;

	return flow->uplink != step->from || time_after(flow->cool_ps, now_ps) ||
	       (move->peer[flow->peer].up >> step->to & 1) == 0;
}

void safe_move_passed(struct safe_move *move, uint16_t peer, uint32_t serial,
		      const struct safe_move_ops *ops, uint64_t now_ps)
{
	for (struct safe_move_step *step = move->step; step < move->step + SAFE_MOVES; step++) {
		struct elephant *flow = step->flow;

		if (flow == NULL || flow->peer != peer || step->serial != serial)
			continue;
		if (is_lost(move, step, now_ps)) {
			move->counters.aborted++;
			end(move, step, ops, now_ps);
		} else if (flow->packets != step->packets) {
			probe(move, step, ops);
		} else {
			flow->uplink = step->to;
			flow->moved = true;
			move->counters.moved++;
			end(move, step, ops, now_ps);
		}
		return;
	}
}

void safe_move_forget(struct safe_move *move, uint16_t peer, const struct safe_move_ops *ops,
		      uint64_t now_ps)
{
	move->peer[peer].told = false;
	for (struct safe_move_step *step = move->step; step < move->step + SAFE_MOVES; step++)
		if (step->flow != NULL && step->flow->peer == peer) {
			move->counters.aborted++;
			end(move, step, ops, now_ps);
		}
}

static void give_up(struct safe_move *move, const struct safe_move_ops *ops, uint64_t now_ps)
{
	for (struct safe_move_step *step = move->step; step < move->step + SAFE_MOVES; step++)
		if (step->flow != NULL &&
		    !time_after(step->since_ps + move->params.timeout_ps, now_ps)) {
			move->counters.timeouts++;
			end(move, step, ops, now_ps);
		}
}

/* --- loads --- */

void safe_move_path_set(struct safe_move *move, uint16_t peer, uint8_t uplink, uint8_t link,
			bool up, bool slow)
{
	struct safe_move_peer *state = &move->peer[peer];
	bool usable = up && link < SAFE_MOVE_LINKS_MAX;

	state->link[uplink] = link < SAFE_MOVE_LINKS_MAX ? link : SAFE_MOVE_LINK_NONE;
	state->up &= ~(UINT32_C(1) << uplink);
	state->up |= (uint32_t)usable << uplink;
	state->slow &= ~(UINT32_C(1) << uplink);
	state->slow |= (uint32_t)slow << uplink;
}

void safe_move_link_set(struct safe_move *move, uint8_t link, uint16_t others)
{
	move->link_others[link] = others;
}

void safe_move_told(struct safe_move *move, uint16_t peer, const uint16_t *others, uint32_t count,
		    uint64_t now_ps)
{
	struct safe_move_peer *state = &move->peer[peer];

	for (uint32_t u = 0; u < SAFE_MOVE_UPLINKS_MAX; u++)
		state->others[u] = u < count ? others[u] : 0;
	state->told_ps = now_ps;
	state->told = true;
}

/* Where an elephant will be when all that is under way has succeeded. */
static uint8_t uplink_of(const struct safe_move *move, const struct elephant *flow)
{
	if (flow->moving)
		for (uint32_t i = 0; i < SAFE_MOVES; i++)
			if (move->step[i].flow == flow)
				return move->step[i].to;
	return flow->uplink;
}

static void count_loads(struct safe_move *move, const struct elephants *elephants)
{
	memset(move->link_own, 0, sizeof(move->link_own));
	for (uint32_t p = 0; p < move->params.peers; p++)
		memset(move->peer[p].own, 0, sizeof(move->peer[p].own));
	for (uint32_t i = 0; i < elephants->count; i++)
		move->host[elephants->list[i]->port] = 0;
	for (uint32_t i = 0; i < elephants->count; i++) {
		const struct elephant *flow = elephants->list[i];

		move->host[flow->port]++;
		add_load(move, flow->peer, uplink_of(move, flow), 1);
	}
}

static uint32_t link_load(const struct safe_move *move, uint8_t link)
{
	return link == SAFE_MOVE_LINK_NONE ? 0u : move->link_own[link] + move->link_others[link];
}

static uint32_t cell_load(const struct safe_move_peer *peer, uint32_t uplink)
{
	return peer->own[uplink] + peer->others[uplink];
}

static bool is_fresh(const struct safe_move *move, const struct safe_move_peer *peer,
		     uint64_t now_ps)
{
	return peer->told && time_after(peer->told_ps + move->params.fresh_ps, now_ps);
}

void safe_move_place(struct safe_move *move, struct elephant *flow, uint64_t now_ps)
{
	const struct safe_move_peer *peer = &move->peer[flow->peer];
	bool told = is_fresh(move, peer, now_ps);
	uint32_t best = flow->uplink, least = UINT32_MAX;

	for (uint32_t i = 0; i < SAFE_MOVE_UPLINKS_MAX; i++) {
		uint32_t u = (flow->uplink + i) % SAFE_MOVE_UPLINKS_MAX;
		uint32_t load =
			link_load(move, peer->link[u]) + (told ? cell_load(peer, u) : peer->own[u]);

		if (((peer->up & ~peer->slow) >> u & 1) != 0 && load < least) {
			least = load;
			best = u;
		}
	}
	flow->fresh = false;
	flow->moved = best != flow->uplink;
	move->counters.placed += flow->moved;
	flow->uplink = (uint8_t)best;
	add_load(move, flow->peer, best, 1);
}

/* Elephants that an uplink or cell has place for, as one of them sees it. */
static uint32_t places(const struct safe_move *move, const struct elephant *flow)
{
	return move->host[flow->port];
}

static bool is_slow(const struct safe_move_peer *peer, uint32_t uplink)
{
	return (peer->slow >> uplink & 1) != 0;
}

/* Is one of our elephants in a crowd while there is place, on the uplinks towards a peer or in its cells? */
static bool is_avoidable(const struct safe_move *move, const struct elephant *flow)
{
	const struct safe_move_peer *peer = &move->peer[flow->peer];
	const uint32_t room = places(move, flow);
	bool crowd = false, crowded_cell = false, place = false, free_cell = false;

	for (uint32_t rest = peer->up; rest != 0; rest &= rest - 1) {
		uint32_t u = (uint32_t)__builtin_ctz(rest);
		uint32_t link = link_load(move, peer->link[u]);
		bool slow = is_slow(peer, u);

		crowd |= link > room && move->link_own[peer->link[u]] != 0;
		crowded_cell |= peer->own[u] != 0 && (slow || cell_load(peer, u) > room);
		place |= !slow && link < room;
		free_cell |= !slow && cell_load(peer, u) < room;
	}
	return (crowd && place) || (crowded_cell && free_cell);
}

/* --- choice --- */

struct choice {
	int32_t change; /* of the sum */
	uint32_t equals;
	uint8_t to;
	struct elephant *partner; /* of a swap, and where it goes */
	uint8_t partner_to;
};

/* Of equally good ones any. */
static void consider(struct safe_move *move, struct choice *best, struct choice next)
{
	if (next.change > best->change)
		return;
	next.equals = next.change == best->change ? best->equals + 1 : 1;
	if (next.equals != 1 && draw_below(move, next.equals) != 0)
		best->equals = next.equals;
	else
		*best = next;
}

/* What an elephant's leaving one cell for another changes. */
static int32_t cell_change(const struct safe_move *move, const struct elephant *flow, uint32_t to)
{
	const struct safe_move_peer *peer = &move->peer[flow->peer];
	const uint32_t room = places(move, flow);

	return (cell_load(peer, to) >= room) -
	       (is_slow(peer, flow->uplink) || cell_load(peer, flow->uplink) > room);
}

static void consider_moves(struct safe_move *move, const struct elephant *flow, struct choice *best)
{
	const struct safe_move_peer *peer = &move->peer[flow->peer];
	const uint32_t room = places(move, flow), from = flow->uplink;
	uint32_t rest = peer->up & ~peer->slow & ~(UINT32_C(1) << from);

	for (; rest != 0; rest &= rest - 1) {
		uint32_t to = (uint32_t)__builtin_ctz(rest);
		struct choice choice = {.to = (uint8_t)to};

		choice.change = cell_change(move, flow, to);
		if (peer->link[to] != peer->link[from])
			choice.change += (link_load(move, peer->link[to]) >= room) -
					 (link_load(move, peer->link[from]) > room);
		consider(move, best, choice);
	}
}

/* An uplink of a peer on a link where an elephant may go, or SAFE_MOVE_UPLINKS_MAX. */
static uint32_t uplink_on(const struct safe_move_peer *peer, uint8_t link)
{
	for (uint32_t rest = peer->up & ~peer->slow; rest != 0; rest &= rest - 1)
		if (peer->link[__builtin_ctz(rest)] == link)
			return (uint32_t)__builtin_ctz(rest);
	return SAFE_MOVE_UPLINKS_MAX;
}

/* Two elephants towards different leaves change places on their links. */
static void consider_swaps(struct safe_move *move, const struct elephants *elephants,
			   const struct elephant *flow, struct choice *best, uint64_t now_ps)
{
	const struct safe_move_peer *peer = &move->peer[flow->peer];

	for (uint32_t i = 0; i < elephants->count; i++) {
		struct elephant *other = elephants->list[i];
		const struct safe_move_peer *theirs = &move->peer[other->peer];
		uint8_t link = theirs->link[other->uplink];
		uint32_t to, back;

		if (other->peer == flow->peer || link == peer->link[flow->uplink] ||
		    !elephant_movable(other, now_ps) || !is_fresh(move, theirs, now_ps))
			continue;
		to = uplink_on(peer, link);
		back = uplink_on(theirs, peer->link[flow->uplink]);
		if (to == SAFE_MOVE_UPLINKS_MAX || back == SAFE_MOVE_UPLINKS_MAX)
			continue;
		consider(move, best,
			 (struct choice){.change = cell_change(move, flow, to) +
						   cell_change(move, other, back),
					 .to = (uint8_t)to,
					 .partner = other,
					 .partner_to = (uint8_t)back});
	}
}

/* Is it in a crowd, so that a move would pay? */
static bool is_crowded(const struct safe_move *move, const struct elephant *flow, uint64_t now_ps)
{
	const struct safe_move_peer *peer = &move->peer[flow->peer];
	const uint64_t age_ps = time_min(now_ps - flow->listed_ps, PS_PER_S);
	uint32_t link = link_load(move, peer->link[flow->uplink]);
	uint32_t load = cell_load(peer, flow->uplink), room = places(move, flow);

	load = link > load ? link : load;
	return is_slow(peer, flow->uplink) ||
	       (load > room && age_ps * (load - room) >= move->params.cost_ps * (room - 1) * load);
}

/* An elephant in a crowd that may move, any of them; or NULL. */
static struct elephant *one_that_shares(struct safe_move *move, const struct elephants *elephants,
					uint64_t now_ps)
{
	uint32_t first = draw_below(move, elephants->count);

	for (uint32_t i = 0; i < elephants->count; i++) {
		struct elephant *flow = elephants->list[(first + i) % elephants->count];
		const struct safe_move_peer *peer = &move->peer[flow->peer];

		if (elephant_movable(flow, now_ps) && is_fresh(move, peer, now_ps) &&
		    is_crowded(move, flow, now_ps))
			return flow;
	}
	return NULL;
}

void safe_move_tick(struct safe_move *move, struct elephants *elephants,
		    const struct safe_move_ops *ops, uint64_t now_ps)
{
	struct choice best = {.change = 1};
	struct elephant *flow;

	give_up(move, ops, now_ps);
	elephants_sweep(elephants, now_ps);
	count_loads(move, elephants);
	/* A swap takes two. */
	if (elephants->count == 0 || move->active + 2 > SAFE_MOVES)
		return;
	flow = one_that_shares(move, elephants, now_ps);
	if (flow == NULL || !is_avoidable(move, flow))
		return;
	consider_moves(move, flow, &best);
	consider_swaps(move, elephants, flow, &best, now_ps);
	if (best.change > 0 ||
	    (draw(move) >> 48) >= (best.change < 0 ? SAFE_MOVE_IMPROVE : SAFE_MOVE_SIDEWAYS))
		return;
	begin(move, flow, best.to, best.change == 0, ops, now_ps);
	if (best.partner != NULL)
		begin(move, best.partner, best.partner_to, best.change == 0, ops, now_ps);
}
