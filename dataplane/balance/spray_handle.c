/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way in: to the workers they are for, and what they say. */
#include "dataplane/balance/adaptive.h"
#include "dataplane/balance/spray.h"
#include "dataplane/enqueue.h"
#include "dataplane/forward.h"
#include "dataplane/internal.h"

/* Where a message's fields are that say which worker it is for (spray_message.h). */
#define OFFSET_TYPE        1
#define OFFSET_ASKER       32 /* ANSWER: worker that asked */
#define OFFSET_FAMILY      32 /* of the flow, behind the transaction */
#define OFFSET_DESTINATION 56

/* --- to whom --- */

static void put(struct worker *worker, struct spray *spray, struct rte_mbuf *packet)
{
	bool copy = (packet_meta(packet)->flags & PACKET_COPY) != 0;
	struct port_counters *counters =
		&worker->port_counters[copy ? worker->leaf->port_count : packet->port];

	counter_add(&counters->consumed, 1);
	counter_add(&counters->consumed_bytes, packet_length(packet));
	if (spray == NULL) {
		rte_pktmbuf_free(packet);
		return;
	}
	if (spray->inbox_count < SPRAY_INBOX) {
		spray->inbox[spray->inbox_count++] = packet;
		return;
	}
	counter_add(&spray->counters.messages_refused, 1);
	rte_pktmbuf_free(packet);
}

/* Port of a host that is a neighbour of ours and stays there, or PORT_NONE. */
static uint16_t port_of(const struct worker *worker, uint8_t family, const uint8_t *address)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct adjacency *adjacency;
	const struct group *group;
	uint32_t index;

	index = family == 4 ? fib_find4(snapshot->fib[0], rte_be_to_cpu_32(load_u32(address)))
			    : fib_find6(snapshot->fib[0], address);
	group = &snapshot->group[index];
	if (group->kind != GROUP_ATTACHED)
		return PORT_NONE;
	adjacency = neighbour_find(snapshot, address, family, group->interface);
	if (adjacency == NULL)
		return PORT_NONE;
	if (adjacency->egress == PORT_NONE && worker->alone)
		return snapshot->port_count; /* whichever it is, it is ours */
	return adjacency->egress;
}

/* Everybody but us gets a copy. */
static void tell_all(struct worker *worker, struct rte_mbuf *packet)
{
	struct port_counters *counters = &worker->port_counters[worker->leaf->port_count];

	for (uint16_t w = 0; w < worker->leaf->worker_count; w++) {
		struct rte_mbuf *copy;

		if (w == worker->id)
			continue;
		copy = packet_copy(packet, worker->pool);
		if (copy == NULL)
			continue; /* said again */
		packet_meta(copy)->flags |= PACKET_COPY;
		counter_add(&counters->copied, 1);
		handover_message(worker, copy, w);
	}
}

/* What nobody has authenticated yet only says who looks at it. */
static void dispatch(struct worker *worker, struct spray *spray, struct rte_mbuf *packet,
		     const uint8_t *message, uint32_t size)
{
	uint16_t to = worker->id, port;

	if (worker->alone || size < OFFSET_DESTINATION + 16) {
		if (!worker->alone && size > OFFSET_TYPE)
			tell_all(worker, packet);
	} else {
		switch (message[OFFSET_TYPE]) {
		case SPRAY_REQUEST:
		case SPRAY_PROBE:
		case SPRAY_FENCE:
		case SPRAY_DEMOTE:
		case SPRAY_RELEASE:
			port = port_of(worker, message[OFFSET_FAMILY] == 6 ? 6 : 4,
				       message + OFFSET_DESTINATION);
			if (port != PORT_NONE)
				to = worker->leaf->owner[port];
			break;
		case SPRAY_ANSWER:
		case SPRAY_PASSED:
			if (message[OFFSET_ASKER] < worker->leaf->worker_count)
				to = message[OFFSET_ASKER];
			break;
		default:
			tell_all(worker, packet);
			break;
		}
	}
	if (to == worker->id)
		put(worker, spray, packet);
	else
		handover_message(worker, packet, to);
}

void spray_message_arrived(struct worker *worker, struct burst *burst, uint32_t i)
{
	const struct parsed *parsed = &burst->parsed[i];
	struct rte_mbuf *packet = burst->packet[i];
	uint32_t begin = parsed->l3_offset + parsed->l4_offset + 8u;

	packet_meta_set(packet, (struct packet_meta){.l3_offset = parsed->l3_offset,
						     .priority = burst->priority[i]});
	if (packet->data_len < begin) {
		burst_drop(worker, burst, i, DROP_TOO_SHORT);
		return;
	}
	dispatch(worker, worker_spray(worker), packet, packet_data(packet) + begin,
		 packet->data_len - begin);
}

void spray_message_given(struct worker *worker, struct rte_mbuf *packet)
{
	put(worker, worker_spray(worker), packet);
}

/* --- what it says --- */

static uint16_t peer_of_address(const struct worker *worker, const uint8_t *address)
{
	const struct spray_table *table = &worker->snapshot->spray;

	for (uint16_t i = 0; i < table->peer_count; i++)
		if (memcmp(table->peer[i].address, address, 16) == 0)
			return i;
	return PEER_NONE;
}

static struct balance_key key_of_flow(const struct spray *spray, const struct spray_flow *flow)
{
	uint8_t addresses[32];

	if (flow->family == 4) {
		memcpy(addresses, flow->source, 4);
		memcpy(addresses + 4, flow->destination, 4);
		return balance_key_ipv4(addresses, flow->qp, flow->dscp);
	}
	memcpy(addresses, flow->source, 16);
	memcpy(addresses + 16, flow->destination, 16);
	return balance_key_ipv6(addresses, flow->qp, flow->dscp, &spray->secret);
}

/* A life of the peer's ends: what we knew of it is worth nothing. */
static void begin_anew(struct spray *spray, uint16_t peer, uint64_t epoch, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];

	if (state->epoch != 0)
		spray_source_forget(&spray->source, peer, now_ps);
	resequencer_flush_peer(spray->resequencer, peer);
	state->epoch = epoch;
	state->heard_ps = state->busy_ps = state->sprayed_ps = state->spraying_ps = now_ps;
	state->live = state->open = state->count = 0;
	memset(state->serial, 0, WORKER_COUNT_MAX * sizeof(*state->serial));
	memset(state->replay, 0, WORKER_COUNT_MAX * sizeof(*state->replay));
	for (uint32_t u = 0; u < SPRAY_UPLINKS_MAX; u++)
		state->arrival[u] = PORT_NONE;
}

static void take_hello(struct worker *worker, struct spray *spray, uint16_t peer, uint16_t port,
		       const struct spray_message *m, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];
	uint32_t live = 0, count = m->hello.count;
	bool changed = state->arrival[m->uplink] != port || state->count != count;

	/* Where it came is true of an old one, too. */
	state->arrival[m->uplink] = port;
	if (state->count != 0 && (int32_t)(m->hello.serial - state->hello_serial) < 0) {
		if (changed)
			spray_paths(worker, spray, peer, now_ps);
		return;
	}
	state->hello_serial = m->hello.serial;
	state->count = count;
	for (uint32_t u = 0; u < count; u++) {
		live |= (uint32_t)m->hello.uplink[u].up << u;
		changed = changed || state->speed_mbps[u] != m->hello.uplink[u].speed_mbps;
		state->speed_mbps[u] = m->hello.uplink[u].speed_mbps;
	}
	if (changed || live != state->live) {
		state->live = live;
		spray_paths(worker, spray, peer, now_ps);
	}
}

/* A hello may come before the rest is known. @return false: it proves nothing, or is old */
static bool hello_counts(struct worker *worker, struct spray *spray, uint16_t peer,
			 const struct spray_message *m, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];
	const uint64_t ours = worker->snapshot->spray.epoch;
	bool news = m->epoch > state->candidate, answer = false;

	if (news)
		state->candidate = m->epoch;
	if (m->receiver_epoch == ours && m->epoch > state->epoch) {
		begin_anew(spray, peer, m->epoch, now_ps);
		answer = true;
	} else if (m->receiver_epoch != ours && m->epoch >= state->epoch) {
		answer = true; /* it doesn't know us yet */
	}
	if (answer && worker->id == 0 &&
	    (news || !time_after(state->hello_ps + SPRAY_HELLO_MIN_PS, now_ps)))
		spray_hello(worker, spray, peer, now_ps);
	return m->receiver_epoch == ours && m->epoch == state->epoch;
}

static void answer_request(struct worker *worker, struct spray *spray, uint16_t peer,
			   const struct spray_message *m, uint64_t now_ps)
{
	static const uint8_t answer_of[] = {
		[RESEQUENCER_YES] = SPRAY_YES,
		[RESEQUENCER_FULL] = SPRAY_FULL,
		[RESEQUENCER_OWNED] = SPRAY_OWNED,
		[RESEQUENCER_BUSY] = SPRAY_BUSY,
	};
	const struct spray_flow *flow = &m->request.flow;
	struct balance_key key = key_of_flow(spray, flow);
	uint16_t port = port_of(worker, flow->family, flow->destination);
	struct spray_message answer = {
		.type = SPRAY_ANSWER,
		.answer = {m->request.transaction, m->worker, SPRAY_FOREIGN, *flow},
	};

	if (port != PORT_NONE && flow->vrf == 0 && worker->leaf->owner[port] == worker->id) {
		const struct resequencer_owner owner = {m->epoch, peer, m->worker};

		answer.answer.answer = answer_of[resequencer_install(
			spray->resequencer, &key, &owner, m->request.first, port,
			worker->snapshot->by_dscp[flow->dscp], now_ps)];
	}
	if (answer.answer.answer == SPRAY_YES) {
		const struct resequencer_flow *found = resequencer_find(spray->resequencer, &key);

		spray->agreed[found - spray->resequencer->flow] = *flow;
	}
	/* Busy: it asks again. */
	if (answer.answer.answer != SPRAY_BUSY)
		spray_send_any(worker, spray, peer, &answer);
}

static void reply(struct worker *worker, struct spray *spray, uint16_t peer,
		  const struct spray_message *m, enum spray_message_type type)
{
	struct spray_message answer = {.type = (uint8_t)type, .sequence = m->sequence};

	spray_send_any(worker, spray, peer, &answer);
}

/* Behind what it has sent, by each of its uplinks that a packet may still come by. */
static void send_fences(struct worker *worker, struct spray *spray, uint16_t peer,
			const struct sprayed_flow *flow, const struct spray_message *m)
{
	struct spray_leaf *state = &spray->leaf[peer];

	/* Also when it has no numbers any more: some of the last ones may be held there. */
	if (flow == NULL || flow->peer != peer || !flow->known)
		return;
	for (uint32_t rest = state->mask; rest != 0; rest &= rest - 1) {
		struct spray_message fence = {.type = SPRAY_FENCE, .sequence = m->sequence};

		fence.sequence.number = sequence_plus(flow->next, -1);
		spray_send(worker, spray, peer, (uint32_t)__builtin_ctz(rest),
			   m->sequence.flow.dscp, &fence);
	}
}

static void take_feedback(struct spray *spray, uint16_t peer, const struct spray_message *m)
{
	struct spray_leaf *state = &spray->leaf[peer];
	struct weights_news news[WEIGHTS_UPLINKS_MAX] = {0};

	if (m->feedback.count != state->weights.count)
		return; /* it knows other uplinks of ours yet */
	for (uint32_t u = 0; u < state->weights.count; u++) {
		const struct spray_arrived *arrived = &m->feedback.uplink[u];

		/* Where nothing was sent nothing is late, or a small share would never grow again. */
		news[u].fresh = arrived->packets != 0 || arrived->silent;
		if (!arrived->silent || (state->taken_before >> u & 1) != 0)
			news[u].lateness_ps = arrived->lateness_ps;
	}
	state->taken_before = state->taken;
	state->taken = 0;
	weights_update(&state->weights, news);
}

/* A destination ignores a word that is older than one it has heard. */
static bool is_old(struct spray_leaf *state, const struct spray_message *m)
{
	uint32_t serial =
		m->type == SPRAY_REQUEST ? m->request.transaction : m->sequence.transaction;

	if ((int32_t)(serial - state->serial[m->worker]) < 0)
		return true;
	state->serial[m->worker] = serial;
	return false;
}

/* The last packets that a flow's source has sent are missing, and it asks for them: nobody else will. */
static void look_for_end(struct worker *worker, struct spray *spray, uint16_t peer,
			 struct resequencer_flow *flow, const struct spray_message *m,
			 uint64_t now_ps)
{
	if (spray->leaf[peer].distinct)
		spray_want_fences(worker, spray, flow);
	else
		resequencer_expire(spray->resequencer, flow, m->sequence.number, now_ps);
}

static void act(struct worker *worker, struct spray *spray, uint16_t peer,
		const struct spray_message *m, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];
	struct resequencer *ordered = spray->resequencer;
	struct resequencer_flow *held;
	struct sprayed_flow *sent;
	struct balance_key key;

	if (m->type == SPRAY_FEEDBACK) {
		take_feedback(spray, peer, m);
		return;
	}
	if (m->type == SPRAY_BYE) {
		spray_source_forget(&spray->source, peer, now_ps);
		return;
	}
	state->busy_ps = now_ps;
	key = key_of_flow(spray, m->type == SPRAY_REQUEST  ? &m->request.flow
				 : m->type == SPRAY_ANSWER ? &m->answer.flow
							   : &m->sequence.flow);
	sent = spray_source_find(&spray->source, &key);
	held = resequencer_find(ordered, &key);
	switch (m->type) {
	case SPRAY_REQUEST:
		if (!is_old(state, m))
			answer_request(worker, spray, peer, m, now_ps);
		break;
	case SPRAY_ANSWER:
		if (sent != NULL && sent->peer == peer)
			spray_source_answer(&spray->source, sent, m->answer.transaction,
					    m->answer.answer == SPRAY_YES, now_ps);
		break;
	case SPRAY_FENCE_WANTED:
		send_fences(worker, spray, peer, sent, m);
		break;
	case SPRAY_FENCE:
		if (held != NULL && held->peer == peer && state->distinct &&
		    (state->open >> m->uplink & 1) != 0) {
			resequencer_fence(ordered, held, m->uplink, m->sequence.number, state->open,
					  now_ps);
		}
		break;
	case SPRAY_DEMOTE:
		if (is_old(state, m))
			break;
		if (held == NULL || held->peer != peer ||
		    resequencer_passed(held, m->sequence.number))
			reply(worker, spray, peer, m, SPRAY_DRAINED);
		else
			look_for_end(worker, spray, peer, held, m, now_ps);
		break;
	case SPRAY_RELEASE:
		if (!is_old(state, m) && (held == NULL || held->peer != peer ||
					  resequencer_forget(ordered, held, now_ps)))
			reply(worker, spray, peer, m, SPRAY_RELEASED);
		break;
	case SPRAY_DRAINED:
		if (sent != NULL && sent->peer == peer)
			spray_source_drained(&spray->source, sent, m->sequence.transaction, now_ps);
		break;
	case SPRAY_RELEASED:
		if (sent != NULL && sent->peer == peer)
			spray_source_released(sent, m->sequence.transaction);
		break;
	default:
		break;
	}
}

/* @return false: it doesn't count */
static bool read_message(struct worker *worker, struct spray *spray, struct rte_mbuf *packet,
			 uint64_t now_ps)
{
	const struct spray_table *table = &worker->snapshot->spray;
	struct spray_path path = {0};
	struct spray_leaf *state;
	struct spray_message m;
	struct parsed parsed;
	const uint8_t *ip;
	uint32_t begin, size;
	uint16_t peer;

	if (!parse_frame(packet_data(packet), packet->data_len, packet_length(packet), &parsed) ||
	    !spray_is_message(&parsed))
		return false;
	begin = parsed.l3_offset + parsed.l4_offset + 8u;
	ip = packet_data(packet) + parsed.l3_offset;
	if (packet->data_len < begin || table->family != (parsed.kind == KIND_IPV4 ? 4 : 6))
		return false;
	memcpy(path.source, ip + (table->family == 4 ? 12 : 8), table->family == 4 ? 4 : 16);
	memcpy(path.destination, table->address, sizeof(path.destination));
	peer = peer_of_address(worker, path.source);
	if (peer == PEER_NONE)
		return false;
	/* Padding of short frames is not the message's. */
	size = rte_be_to_cpu_16(load_u16(ip + parsed.l4_offset + 4));
	if (size < 8 || size - 8 > packet->data_len - begin)
		return false;
	if (spray_message_decode(ip + parsed.l4_offset + 8, size - 8, &path, table->key, &m) !=
		    SPRAY_ERROR_NONE ||
	    m.worker >= WORKER_COUNT_MAX)
		return false;
	state = &spray->leaf[peer];
	if (m.type == SPRAY_HELLO ? !hello_counts(worker, spray, peer, &m, now_ps)
				  : m.epoch != state->epoch || m.receiver_epoch != table->epoch)
		return m.type == SPRAY_HELLO;
	if (!spray_replay_accept(&state->replay[m.worker][m.uplink], m.counter))
		return false;
	state->heard_ps = now_ps;
	if (m.type == SPRAY_HELLO)
		take_hello(worker, spray, peer, packet->port, &m, now_ps);
	else if (m.type >= SPRAY_PROBE)
		adaptive_handle(worker, spray, peer, packet->port, &m, now_ps);
	else
		act(worker, spray, peer, &m, now_ps);
	return true;
}

void spray_handle(struct worker *worker, struct spray *spray, struct rte_mbuf *packet,
		  uint64_t now_ps)
{
	if (read_message(worker, spray, packet, now_ps))
		counter_add(&spray->counters.messages_received, 1);
	else
		counter_add(&spray->counters.messages_refused, 1);
	rte_pktmbuf_free(packet);
}
