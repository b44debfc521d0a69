/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/adaptive.h"

#include "dataplane/internal.h"

/* --- packets --- */

/* Which link each uplink towards a peer is, and what may be taken. */
static void set_paths(const struct worker *worker, const struct spray *spray,
		      struct adaptive *adaptive, uint16_t peer)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct spray_peer *to = &snapshot->spray.peer[peer];
	const struct adjacency *member = &snapshot->adjacency[to->members];
	const struct spray_leaf *state = &spray->leaf[peer];

	for (uint8_t u = 0; u < to->count; u++) {
		uint8_t link = member[u].egress < SAFE_MOVE_LINKS_MAX ? (uint8_t)member[u].egress
								      : SAFE_MOVE_LINK_NONE;

		safe_move_path_set(&adaptive->move, peer, u, link, (state->mask >> u & 1) != 0,
				   2 * state->share[u] < BALANCE_WEIGHT_MAX);
	}
}

/* BTH opcodes that end a message: SEND, RDMA WRITE and READ response, last or only (table 38), of any service. */
static bool ends_message(const struct parsed *parsed, const uint8_t *ip)
{
	const uint32_t last = 1u << 2 | 1u << 3 | 1u << 4 | 1u << 5 | 1u << 8 | 1u << 9 | 1u << 10 |
			      1u << 11 | 1u << 15 | 1u << 16 | 1u << 22 | 1u << 23;

	return (last >> (ip[parsed->l4_offset + 8] & 0x1f) & 1) != 0;
}

/* A flow of which nothing is on its way. */
static __rte_noinline void place_flow(const struct worker *worker, const struct spray *spray,
				      struct adaptive *adaptive, struct elephant *flow)
{
	set_paths(worker, spray, adaptive, flow->peer);
	safe_move_place(&adaptive->move, flow, worker->now_ps);
}

uint32_t adaptive_choose(struct worker *worker, struct adaptive *adaptive,
			 const struct group *group, const struct parsed *parsed, const uint8_t *ip,
			 uint8_t priority, uint32_t hash)
{
	const struct adjacency *member = &worker->snapshot->adjacency[group->members];
	const struct spray *spray = worker_spray(worker);
	const struct spray_leaf *peer = &spray->leaf[group->peer];
	const uint32_t up = peer->mask;
	const uint32_t path = spray_hash_path(peer, hash, member, group->balanced);
	struct elephants_packet packet = {
		.bytes = parsed->length,
		.peer = group->peer,
		.port = worker->room_port,
		.priority = priority,
		.uplink = (uint8_t)path,
	};
	struct elephant *flow;
	struct balance_key key;

	if ((parsed->flags & PARSED_ROCE) == 0)
		return path;
	if (unlikely(up == 0)) {
		elephants_blind(&adaptive->elephants, worker->now_ps);
		return path;
	}
	packet.ends = ends_message(parsed, ip);
	key = balance_key_of(parsed, ip, &spray->secret);
	flow = elephants_packet(&adaptive->elephants, &key, &packet, up, worker->now_ps);
	if (flow == NULL)
		return path;
	if (unlikely(flow->fresh))
		place_flow(worker, spray, adaptive, flow);
	if (unlikely(flow->packets == 1))
		spray_name(&adaptive->name[flow - adaptive->elephants.flow], &key, parsed, ip);
	return flow->uplink;
}

/* --- what a move needs --- */

struct act {
	struct worker *worker;
	struct spray *spray;
	struct adaptive *adaptive;
};

static void send_probe(void *context, const struct elephant *flow, uint32_t serial)
{
	const struct act *act = context;
	const struct adaptive *adaptive = act->adaptive;
	struct spray_message message = {.type = SPRAY_PROBE};

	message.probe.transaction = serial;
	message.probe.flow = adaptive->name[flow - adaptive->elephants.flow];
	spray_send(act->worker, act->spray, flow->peer, flow->uplink, balance_key_dscp(&flow->key),
		   &message);
}

static void pause_host(void *context, uint16_t port, uint8_t priority, bool pause)
{
	const struct act *act = context;

	buffer_pause_move(act->worker, port, priority, pause);
}

/* --- messages --- */

/* What others have placed at the far ends of a worker's uplinks. */
static void answer_placed(struct worker *worker, struct spray *spray, uint16_t peer,
			  const struct spray_message *m, uint64_t now_ps)
{
	struct adaptive *adaptive = balance_adaptive(worker);
	const struct spray_leaf *state = &spray->leaf[peer];
	struct adaptive_placed *own = &adaptive->placed[peer][m->worker];
	struct spray_message loads = {.type = SPRAY_LOADS};

	own->told = true;
	own->told_ps = now_ps;
	own->count = m->elephants.count;
	memcpy(own->uplink, m->elephants.uplink, sizeof(own->uplink));
	memset(adaptive->arriving, 0, worker->leaf->ports * sizeof(*adaptive->arriving));
	for (uint16_t p = 0; p < spray->leaves; p++)
		for (uint32_t w = 0; w < WORKER_COUNT_MAX; w++) {
			struct adaptive_placed *placed = &adaptive->placed[p][w];

			if (!placed->told || placed == own)
				continue;
			placed->told = time_after(placed->told_ps + adaptive->move.params.fresh_ps,
						  now_ps);
			for (uint32_t u = 0; placed->told && u < placed->count; u++)
				if (spray->leaf[p].arrival[u] != PORT_NONE)
					adaptive->arriving[spray->leaf[p].arrival[u]] +=
						placed->uplink[u];
		}
	loads.elephants.worker = m->worker;
	loads.elephants.count = m->elephants.count;
	for (uint32_t u = 0; u < m->elephants.count; u++) {
		uint32_t sum =
			state->arrival[u] == PORT_NONE ? 0 : adaptive->arriving[state->arrival[u]];

		loads.elephants.uplink[u] = (uint16_t)(sum < UINT16_MAX ? sum : UINT16_MAX);
	}
	spray_send_any(worker, spray, peer, &loads);
}

void adaptive_handle(struct worker *worker, struct spray *spray, uint16_t peer, uint16_t port,
		     const struct spray_message *message, uint64_t now_ps)
{
	struct adaptive *adaptive = balance_adaptive(worker);
	struct act act = {worker, spray, adaptive};
	const struct safe_move_ops ops = {&act, send_probe, pause_host};
	struct spray_leaf *state = &spray->leaf[peer];
	struct spray_message passed = {.type = SPRAY_PASSED};

	if (adaptive == NULL)
		return;
	state->busy_ps = now_ps;
	switch (message->type) {
	case SPRAY_PROBE:
		if (!state->distinct || state->arrival[message->uplink] != port)
			break;
		passed.answer.transaction = message->probe.transaction;
		passed.answer.worker = message->worker;
		passed.answer.answer = SPRAY_YES;
		passed.answer.flow = message->probe.flow;
		spray_send_any(worker, spray, peer, &passed);
		break;
	case SPRAY_PASSED:
		if (message->answer.worker != worker->id)
			break;
		safe_move_passed(&adaptive->move, peer, message->answer.transaction, &ops, now_ps);
		break;
	case SPRAY_PLACED:
		if (worker->id == 0)
			answer_placed(worker, spray, peer, message, now_ps);
		break;
	case SPRAY_LOADS:
		if (message->elephants.worker == worker->id)
			safe_move_told(&adaptive->move, peer, message->elephants.uplink,
				       message->elephants.count, now_ps);
		break;
	default:
		break;
	}
}

/* --- time --- */

/* Tell a peer what we send it, if that is anything or has changed. */
static void place(struct worker *worker, struct spray *spray, struct adaptive *adaptive,
		  uint16_t peer, bool due)
{
	struct spray_message message = {.type = SPRAY_PLACED};
	uint16_t *said = adaptive->said[peer];
	uint32_t sum = 0, change = 0;

	message.elephants.count = (uint8_t)worker->snapshot->spray.peer[peer].count;
	for (uint8_t u = 0; u < message.elephants.count; u++) {
		message.elephants.uplink[u] = adaptive->move.peer[peer].own[u];
		sum += message.elephants.uplink[u];
		change |= (uint32_t)(message.elephants.uplink[u] ^ said[u]);
		said[u] = message.elephants.uplink[u];
	}
	if (change != 0 || (due && sum != 0))
		spray_send_any(worker, spray, peer, &message);
}

/* What this worker has on each port, and what the others have. */
static void exchange_links(struct worker *worker, struct adaptive *adaptive)
{
	for (uint8_t link = 0; link < SAFE_MOVE_LINKS_MAX; link++) {
		uint32_t others = 0;

		for (uint16_t w = 0; w < worker->leaf->worker_count; w++) {
			const struct adaptive *other = balance_adaptive(worker->leaf->worker[w]);

			if (w != worker->id && other != NULL)
				others += atomic_load_explicit(&other->link[link],
							       memory_order_relaxed);
		}
		safe_move_link_set(&adaptive->move, link,
				   (uint16_t)(others < UINT16_MAX ? others : UINT16_MAX));
		atomic_store_explicit(&adaptive->link[link], adaptive->move.link_own[link],
				      memory_order_relaxed);
	}
}

static void count_moves(struct worker *worker, struct adaptive *adaptive)
{
	const struct safe_move_counters *now = &adaptive->move.counters;
	const struct safe_move_counters *then = &adaptive->counted;

	counter_add(&worker->balance.counters.moves, now->moved - then->moved);
	counter_add(&worker->balance.counters.moves_begun, now->begun - then->begun);
	counter_add(&worker->balance.counters.moves_late, now->timeouts - then->timeouts);
	counter_add(&worker->balance.counters.moves_aborted, now->aborted - then->aborted);
	counter_add(&worker->balance.counters.placed, now->placed - then->placed);
	adaptive->counted = *now;
}

uint64_t adaptive_run(struct worker *worker, struct spray *spray, uint64_t now_ps)
{
	struct adaptive *adaptive = balance_adaptive(worker);
	struct act act = {worker, spray, adaptive};
	const struct safe_move_ops ops = {&act, send_probe, pause_host};
	const uint64_t placed_ps = ADAPTIVE_PLACED_PS * worker->leaf->worker_count;
	bool due;

	if (time_after(adaptive->tick_ps + ADAPTIVE_TICK_PS, now_ps))
		return adaptive->tick_ps + ADAPTIVE_TICK_PS;
	count_moves(worker, adaptive);
	if (adaptive->elephants.count == 0 && adaptive->move.active == 0) {
		adaptive->tick_ps = adaptive->placed_ps = now_ps;
		return now_ps + TIME_IDLE_PS;
	}
	adaptive->tick_ps = now_ps;
	safe_move_tick(&adaptive->move, &adaptive->elephants, &ops, now_ps);
	if (!worker->alone)
		exchange_links(worker, adaptive);
	due = !time_after(adaptive->placed_ps + placed_ps, now_ps);
	for (uint16_t peer = 0; peer < spray->leaves; peer++) {
		if (spray->leaf[peer].epoch == 0) {
			safe_move_forget(&adaptive->move, peer, &ops, now_ps);
			continue;
		}
		if (due)
			set_paths(worker, spray, adaptive, peer);
		place(worker, spray, adaptive, peer, due);
	}
	if (due)
		adaptive->placed_ps = now_ps;
	return now_ps + ADAPTIVE_TICK_PS;
}
