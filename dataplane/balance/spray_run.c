/* SPDX-License-Identifier: BSD-3-Clause */
/* What is due: hellos, requests, holes, feedback, silence; and which paths there are. */
#include "dataplane/balance/adaptive.h"
#include "dataplane/balance/spray.h"
#include "dataplane/internal.h"

/* When there is something to look at, and when there is not. */
#define TICK_PS      (100 * PS_PER_US)
#define TICK_PS_IDLE (5 * PS_PER_MS)

/* No feedback for so many of its periods: the peer sent nothing. */
#define BREAK_FEEDBACKS 4

/* A sweep looks at a 64th of the source's flows: a percent of the time at 10 ns each. */
#define SWEEP_PS_PER_FLOW (PS_PER_US / 64)

/* Of the destination's flows, each PS_PER_MS; all of them in half of the time that they are kept. */
#define SWEEP_PARTS 512

/* What each path has of the flows that go by hash. */
static void share_by_speed(struct spray_leaf *state, uint32_t count)
{
	uint64_t fastest = 1;

	for (uint32_t u = 0; u < count; u++)
		fastest = time_max(fastest, state->weights.rate_bps[u]);
	/* 1600G * 2^16 fits; the slowest path still has flows. */
	for (uint32_t u = 0; u < count; u++)
		state->share[u] =
			(uint32_t)((state->weights.rate_bps[u] * BALANCE_WEIGHT_MAX + fastest - 1) /
				   fastest);
}

void spray_paths(struct worker *worker, struct spray *spray, uint16_t peer, uint64_t now_ps)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct spray_peer *to = &snapshot->spray.peer[peer];
	const struct adjacency *member = &snapshot->adjacency[to->members];
	struct spray_leaf *state = &spray->leaf[peer];
	uint32_t mask = 0, seen = 0;
	bool changed = false;

	memset(state->member, 0, worker->leaf->ports);
	state->distinct = true;
	state->open = 0;
	for (uint32_t u = state->count; u-- > 0;) {
		uint16_t port = state->arrival[u];

		if (port == PORT_NONE) {
			/* Up, and no hello has come by it: a packet may, by whatever port. */
			state->distinct = state->distinct && (state->live >> u & 1) == 0;
			continue;
		}
		if (worker_link_up(worker, port))
			state->open |= state->live & 1u << u;
		if ((state->live >> u & 1) != 0 && (seen >> state->member[port] & 1) != 0 &&
		    state->arrival[state->member[port]] == port)
			state->distinct = false;
		state->member[port] = (uint8_t)u;
		seen |= (state->live >> u & 1) << u;
	}
	for (uint32_t u = 0; u < to->count; u++) {
		uint16_t port = member[u].egress;
		uint64_t rate_bps = 0;

		if (member[u].weight != 0 && port != PORT_NONE &&
		    worker_link_serves(worker, port)) {
			uint32_t theirs = state->member[port];

			rate_bps = snapshot->port[port].rate_bps;
			if (state->count != 0 && state->arrival[theirs] == port) {
				uint64_t their_bps = state->speed_mbps[theirs] * UINT64_C(1000000);

				if ((state->live >> theirs & 1) == 0)
					rate_bps = 0;
				else if (their_bps != 0 && their_bps < rate_bps)
					rate_bps = their_bps;
			}
		}
		if (rate_bps < RATE_BPS_MIN)
			rate_bps = 0;
		mask |= (uint32_t)(rate_bps != 0) << u;
		if (state->weights.rate_bps[u] == rate_bps)
			continue;
		weights_link_set(&state->weights, u, rate_bps);
		changed = true;
	}
	state->look = 0;
	if (!changed)
		return;
	state->mask = mask;
	share_by_speed(state, to->count);
	spray_source_rerouted(&spray->source, now_ps);
}

void spray_configure(struct worker *worker, uint64_t now_ps)
{
	struct spray *spray = worker_spray(worker);

	if (!spray->started) {
		spray->started = true;
		spray->start_ps = now_ps;
		spray->feedback_ps = now_ps;
	}
	for (uint16_t peer = 0; peer < spray->leaves; peer++) {
		uint32_t mask = spray->leaf[peer].mask;

		spray_paths(worker, spray, peer, now_ps);
		if (worker->id == 0 && (mask != spray->leaf[peer].mask || mask == 0)) {
			spray->leaf[peer].hello_ps = now_ps - SPRAY_HELLO_PS;
			spray->leaf[peer].hello_again = SPRAY_HELLO_AGAIN + 1;
		}
	}
	spray->tick_ps = now_ps - TICK_PS; /* whatever is to be said is said now */
}

static void ask_all(struct worker *worker, struct spray *spray)
{
	for (uint32_t i = 0; i < spray->asks; i++) {
		const struct sprayed_flow *flow = spray->ask[i].flow;
		struct spray_message request = {.type = SPRAY_REQUEST};

		if (flow->state != SPRAY_ASKED || flow->serial != spray->ask[i].serial ||
		    spray->leaf[flow->peer].epoch == 0)
			continue;
		request.request.transaction = flow->serial;
		request.request.flow = spray->asked[flow - spray->source.flow];
		request.request.first = flow->next;
		spray_send_word(worker, spray, flow->peer, &request);
	}
	spray->asks = 0;
}

struct say {
	struct worker *worker;
	struct spray *spray;
};

static void say_word(void *context, struct sprayed_flow *flow, enum spray_word word)
{
	const struct say *say = context;
	struct spray_message message = {.type = word == SPRAY_WORD_DRAINED ? SPRAY_DEMOTE
									   : SPRAY_RELEASE};

	message.sequence.transaction = flow->serial;
	message.sequence.flow = say->spray->asked[flow - say->spray->source.flow];
	message.sequence.number =
		sequence_plus(word == SPRAY_WORD_DRAINED ? flow->pinned_at : flow->next, -1);
	if (say->spray->leaf[flow->peer].epoch != 0)
		spray_send_word(say->worker, say->spray, flow->peer, &message);
}

/* Holes that are due; their clocks stand while we keep packets out ourselves. */
static void look_after_holes(struct worker *worker, struct spray *spray, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;
	struct resequencer *resequencer = spray->resequencer;
	struct resequencer_flow *flow;
	uint32_t paused = 0;

	for (uint16_t port = 0; port < leaf->port_count; port++)
		if (worker->snapshot->port[port].fabric)
			paused |= pfc_paused_peer(&leaf->pfc[port]);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		resequencer_clock_hold(resequencer, p, (paused >> p & 1) != 0, now_ps);
	if (time_after(resequencer->next_ps, now_ps))
		return;
	while ((flow = resequencer_hole_due(resequencer, now_ps)) != NULL) {
		if (spray->leaf[flow->peer].distinct && spray->leaf[flow->peer].epoch != 0)
			spray_want_fences(worker, spray, flow);
	}
}

/* How long an uplink has been silent while the peer sent; not since it sent nothing at all. */
static uint64_t silence_ps(const struct spray_leaf *state, const struct resequencer_feedback *told,
			   uint64_t now_ps)
{
	uint64_t silent_ps = told->silent_ps, active_ps = now_ps - state->active_ps;

	silent_ps = silent_ps < active_ps ? silent_ps : active_ps;
	return silent_ps > RESEQUENCER_SILENT_PS ? silent_ps : 0;
}

static void send_feedback(struct worker *worker, struct spray *spray, uint16_t peer,
			  uint64_t period_ps, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];
	struct spray_message message = {.type = SPRAY_FEEDBACK};

	state->arrived = false;
	if (time_after(now_ps, state->told_ps + BREAK_FEEDBACKS * period_ps))
		state->active_ps = now_ps;
	state->told_ps = now_ps;
	if (state->count == 0 || state->epoch == 0)
		return;
	message.feedback.count = (uint8_t)state->count;
	for (uint32_t u = 0; u < state->count; u++) {
		struct spray_arrived *arrived = &message.feedback.uplink[u];
		struct resequencer_feedback told =
			resequencer_feedback_take(spray->resequencer, peer, u, now_ps);
		uint64_t silent_ps = silence_ps(state, &told, now_ps);
		uint64_t late_ps = silent_ps != 0      ? silent_ps
				   : told.packets != 0 ? told.lateness_ps / told.packets
						       : 0;

		arrived->lateness_ps = late_ps < UINT32_MAX ? (uint32_t)late_ps : UINT32_MAX;
		arrived->packets = told.packets;
		arrived->silent = silent_ps != 0;
		arrived->up =
			state->arrival[u] != PORT_NONE && worker_link_up(worker, state->arrival[u]);
	}
	spray_send_any(worker, spray, peer, &message);
}

/* A destination of which nothing is heard may have forgotten, or be about to. */
static void look_for_silence(struct spray *spray, uint16_t peer, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];

	if (state->epoch == 0)
		return;
	if (time_after(now_ps, state->heard_ps + SPRAY_DEAD_PS)) {
		spray_source_forget(&spray->source, peer, now_ps);
		state->epoch = 0;
		return;
	}
	if (time_after(now_ps, state->sprayed_ps + SPRAY_SILENCE_PS))
		state->spraying_ps = now_ps; /* it sprays nothing */
	if (!time_after(now_ps, state->heard_ps + SPRAY_SILENCE_PS) ||
	    !time_after(now_ps, state->spraying_ps + SPRAY_SILENCE_PS))
		return;
	for (uint32_t i = 0; i <= spray->source.mask; i++)
		if (spray->source.flow[i].peer == peer)
			spray_source_pin(&spray->source, &spray->source.flow[i], SPRAY_PIN_SILENCE,
					 now_ps); /* if it is sprayed */
	state->spraying_ps = now_ps;
}

static inline bool peer_is_busy(const struct spray_leaf *state, uint64_t now_ps)
{
	return state->epoch != 0 && time_after(state->busy_ps + SPRAY_BUSY_PS, now_ps);
}

static bool is_busy(const struct spray *spray, uint64_t now_ps)
{
	for (uint16_t peer = 0; peer < spray->leaves; peer++)
		if (spray->leaf[peer].hello_again != 0 || peer_is_busy(&spray->leaf[peer], now_ps))
			return true;
	return false;
}

/* Worker 0 speaks for the leaf. */
static void say_hellos(struct worker *worker, struct spray *spray, uint64_t now_ps)
{
	for (uint16_t peer = 0; peer < spray->leaves; peer++) {
		struct spray_leaf *state = &spray->leaf[peer];
		bool again = state->hello_again != 0, busy = peer_is_busy(state, now_ps);
		uint64_t every_ps = again ? TICK_PS : busy ? SPRAY_HELLO_BUSY_PS : SPRAY_HELLO_PS;

		if (time_after(state->hello_ps + every_ps, now_ps))
			continue;
		state->hello_again -= again;
		if (busy && !again)
			spray_hello_turn(worker, spray, peer, now_ps);
		else
			spray_hello(worker, spray, peer, now_ps);
	}
}

static void tick(struct worker *worker, struct spray *spray, uint64_t now_ps)
{
	struct say say = {worker, spray};
	uint64_t sweep_ps = (spray->source.mask + 1u) * SWEEP_PS_PER_FLOW;

	if (time_after(spray->tick_ps + TICK_PS, now_ps))
		return;
	spray->tick_ps = now_ps;
	if (worker->id == 0)
		say_hellos(worker, spray, now_ps);
	for (uint16_t peer = 0; peer < spray->leaves; peer++)
		look_for_silence(spray, peer, now_ps);
	if (!time_after(spray->sweep_ps + sweep_ps, now_ps)) {
		spray->sweep_ps = now_ps;
		spray_source_sweep(&spray->source, now_ps, say_word, &say);
	}
	if (time_after(spray->ordered_ps + PS_PER_MS, now_ps))
		return;
	spray->ordered_ps = now_ps;
	resequencer_sweep(spray->resequencer, spray->resequencer->limits.flows / SWEEP_PARTS + 1,
			  now_ps);
}

uint64_t spray_run(struct worker *worker, uint64_t now_ps)
{
	struct spray *spray = worker_spray(worker);
	const uint64_t feedback_ps = SPRAY_FEEDBACK_PS * worker->leaf->worker_count;
	struct resequencer_flow *flow;
	bool arrived = false;
	uint64_t due_ps;

	for (uint32_t i = 0; i < spray->inbox_count; i++)
		spray_handle(worker, spray, spray->inbox[i], now_ps);
	spray->inbox_count = 0;
	if (spray->asks != 0)
		ask_all(worker, spray);
	if (counter_get(&spray->resequencer->counters.held_packets) != 0)
		look_after_holes(worker, spray, now_ps);
	while ((flow = resequencer_ready(spray->resequencer)) != NULL)
		spray_drain(worker, spray, flow);
	if (!time_after(spray->feedback_ps + feedback_ps, now_ps)) {
		for (uint16_t peer = 0; peer < spray->leaves; peer++)
			if (spray->leaf[peer].arrived)
				send_feedback(worker, spray, peer, feedback_ps, now_ps);
		spray->feedback_ps = now_ps;
	} else {
		for (uint16_t peer = 0; peer < spray->leaves && !arrived; peer++)
			arrived = spray->leaf[peer].arrived;
	}
	tick(worker, spray, now_ps);
	due_ps = spray->tick_ps + (is_busy(spray, now_ps) ? TICK_PS : TICK_PS_IDLE);
	if (arrived)
		due_ps = time_min(due_ps, spray->feedback_ps + feedback_ps);
	if (counter_get(&spray->resequencer->counters.held_packets) != 0)
		due_ps = time_min(due_ps, spray->resequencer->next_ps);
	if (balance_adaptive(worker) != NULL)
		due_ps = time_min(due_ps, adaptive_run(worker, spray, now_ps));
	return due_ps;
}
