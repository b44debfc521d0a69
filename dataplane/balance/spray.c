/* SPDX-License-Identifier: BSD-3-Clause */
/* The packet path: numbers at the source, order at the destination; spray.h. */
#include "dataplane/balance/spray.h"

#include "dataplane/balance/choose.h"
#include "dataplane/enqueue.h"
#include "dataplane/internal.h"

/* --- source --- */

__rte_noinline void spray_look(struct worker *worker, struct spray_leaf *peer,
			       const struct adjacency *member, uint8_t priority)
{
	uint32_t depth[WEIGHTS_UPLINKS_MAX] = {0};

	for (uint32_t rest = peer->mask; rest != 0; rest &= rest - 1) {
		uint32_t u = (uint32_t)__builtin_ctz(rest);

		if (member[u].egress != PORT_NONE)
			depth[u] = queue_depth_bytes(
				leaf_queue(worker->leaf, member[u].egress, priority));
	}
	weights_look(&peer->weights, depth, peer->mask);
	peer->look = SPRAY_LOOK_PACKETS;
	peer->looked_ps = worker->now_ps;
}

void spray_name(struct spray_flow *name, const struct balance_key *key, const struct parsed *parsed,
		const uint8_t *ip)
{
	memset(name, 0, sizeof(*name));
	name->dscp = balance_key_dscp(key);
	name->qp = parsed_destination_qp(parsed);
	if (parsed->kind == KIND_IPV4) {
		name->family = 4;
		memcpy(name->source, &parsed->source, 4);
		memcpy(name->destination, &parsed->destination, 4);
	} else {
		name->family = 6;
		memcpy(name->source, ip + 8, 16);
		memcpy(name->destination, ip + 24, 16);
	}
}

/* Ask for a flow at the end of the poll; its addresses are at hand now. */
static __rte_noinline void note_ask(struct spray *spray, struct sprayed_flow *flow,
				    const struct parsed *parsed, const uint8_t *ip)
{
	spray_name(&spray->asked[flow - spray->source.flow], &flow->key, parsed, ip);
	/* When there is no room it is asked for again, as if the request were lost. */
	if (spray->asks < SPRAY_ASKS)
		spray->ask[spray->asks++] = (struct spray_ask){flow, flow->serial};
}

/* A CNP has no number; but what a host wrote into its checksum mustn't be taken for one. */
static __rte_noinline void clear_cnp(struct spray *spray, const struct parsed *parsed, uint8_t *ip)
{
	struct balance_key key = balance_key_of(parsed, ip, &spray->secret);
	const struct sprayed_flow *flow = spray_source_find(&spray->source, &key);

	if (flow != NULL && flow->known)
		spray_checksum_set(parsed, ip, 0);
}

/* Where a flow goes that isn't sprayed. */
static uint32_t hash_path(const struct worker *worker, const struct spray_leaf *peer,
			  const struct group *group, const struct parsed *parsed, const uint8_t *ip)
{
	return spray_hash_path(peer, balance_hash_of_group(worker->snapshot, parsed, ip),
			       &worker->snapshot->adjacency[group->members], group->balanced);
}

uint32_t spray_choose(struct worker *worker, struct spray *spray, const struct group *group,
		      struct parsed *parsed, uint8_t *ip, uint8_t priority)
{
	struct spray_leaf *peer = &spray->leaf[group->peer];
	struct spray_decision decision;
	struct balance_key key;

	if ((parsed->flags & PARSED_ROCE) == 0)
		return hash_path(worker, peer, group, parsed, ip);
	if (unlikely(ip[parsed->l4_offset + 8] == ROCE_OPCODE_CNP)) {
		if (spray_checksum_get(parsed, ip) != 0)
			clear_cnp(spray, parsed, ip);
		return hash_path(worker, peer, group, parsed, ip);
	}
	key = balance_key_of(parsed, ip, &spray->secret);
	/* Bytes count once the peer is known: a request before could only be repeated, much later. */
	decision = spray_source_packet(&spray->source, &key, group->peer,
				       peer->epoch != 0 ? parsed->length : 0,
				       spray_checksum_get(parsed, ip), worker->now_ps);
	if (unlikely(decision.request))
		note_ask(spray, decision.flow, parsed, ip);
	if (decision.verdict != SPRAY_PASS)
		spray_checksum_set(parsed, ip, decision.sequence); /* 0 to clear it */
	if (decision.verdict == SPRAY_FIRST || decision.verdict == SPRAY_SEQUENCED) {
		counter_add(&spray->counters.sequenced, 1);
		parsed->flags |= PARSED_SPRAYED;
		peer->sprayed_ps = worker->now_ps;
	}
	if (decision.verdict != SPRAY_SEQUENCED || peer->mask == 0)
		return hash_path(worker, peer, group, parsed, ip);
	return choose_uplink(worker, worker->snapshot, peer, group, priority);
}

bool spray_again(struct worker *worker, struct rte_mbuf *packet)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct packet_meta *meta = packet_meta(packet);
	struct spray *spray = worker_spray(worker);
	uint8_t *frame = packet_data(packet), *ip = frame + meta->l3_offset;
	const struct adjacency *member;
	const struct group *group;
	struct spray_leaf *peer;

	group = &snapshot->group[(meta->flags & PACKET_IPV4) != 0
					 ? fib_find4(snapshot->fib[0],
						     rte_be_to_cpu_32(load_u32(ip + 16)))
					 : fib_find6(snapshot->fib[0], ip + 24)];
	if (spray == NULL || group->balanced == 0 || group->peer == PEER_NONE)
		return false;
	peer = &spray->leaf[group->peer];
	if (peer->mask == 0)
		return false;
	member = &snapshot->adjacency[group->members];
	spray_look(worker, peer, member, meta->priority);
	member += weights_choose(&peer->weights);
	if (member->egress == PORT_NONE || member->vlan != 0 ||
	    packet_length(packet) - meta->l3_offset > member->mtu_bytes)
		return false;
	memcpy(frame, member, ADJACENCY_MAC_BYTES);
	counter_add(&spray->counters.rerouted, 1);
	if (worker->leaf->owner[member->egress] != worker->id) {
		port_charge(worker, packet->port, meta->priority, meta->cost_bytes);
		handover_packet(worker, packet, member->egress);
		packets_charge(worker, meta->priority);
		handover_flush(worker); /* no burst may come that ends */
		return true;
	}
	packet_charge(worker, packet);
	enqueue_given(worker, packet, member->egress);
	return true;
}

/* --- destination --- */

/* A packet that was held is let go: whose is it now? See the header. */
static void charge_released(struct worker *worker, struct spray *spray, struct rte_mbuf *packet)
{
	const struct packet_meta *meta = packet_meta(packet);
	const uint8_t p = meta->priority;
	uint16_t cpu = worker->leaf->port_count;

	account_discharge(&worker->packets, 1);
	if (packet->port != cpu && (worker->lossless_mask >> p & 1) != 0 &&
	    ((buffer_reasons(leaf_state(worker->leaf, packet->port, p)) & PAUSE_BUFFER) != 0 ||
	     buffer_occupancy(worker, packet->port, p) + meta->cost_bytes >
		     buffer_xoff_bytes(worker, packet->port, p))) {
		packet->port = cpu;
		counter_add(&spray->counters.overflowed, 1);
	}
	packet_charge(worker, packet);
}

void spray_drain(struct worker *worker, struct spray *spray, struct resequencer_flow *flow)
{
	struct rte_mbuf *packet;

	while ((packet = resequencer_next(spray->resequencer, flow, worker->now_ps)) != NULL) {
		charge_released(worker, spray, packet);
		enqueue_given(worker, packet, packet->vlan_tci);
	}
}

/* What a start of ours may have forgotten is kept from hosts. */
static inline bool is_quarantined(const struct worker *worker, const struct spray *spray)
{
	return time_after(spray->start_ps + SPRAY_START_PS, worker->now_ps);
}

/* @param checksum its field; cost_bytes of the packet */
static enum resequencer_result arrive(struct worker *worker, struct spray *spray,
				      struct resequencer_flow *flow, struct rte_mbuf *packet,
				      uint8_t *checksum, uint32_t cost_bytes, uint16_t egress)
{
	uint16_t number = spray_restore(spray, flow, checksum);

	packet->vlan_tci = egress;
	return resequencer_arrive(spray->resequencer, flow, packet, number, cost_bytes,
				  spray->leaf[flow->peer].member[packet->port], worker->now_ps);
}

void spray_deliver_flow(struct worker *worker, struct rte_mbuf *packet,
			struct resequencer_flow *flow, uint8_t *checksum, struct packet_meta meta,
			uint16_t egress)
{
	struct spray *spray = worker_spray(worker);

	if (worker->leaf->owner[egress] != worker->id) {
		meta.flags |= PACKET_SEQUENCED; /* it is let in here, and ordered there */
		enqueue(worker, packet, egress, meta);
		return;
	}
	if (flow == NULL) {
		if (unlikely(is_quarantined(worker, spray)))
			packet_drop(worker, packet, DROP_SEQUENCE);
		else
			enqueue(worker, packet, egress, meta);
		return;
	}
	packet_meta_set(packet, meta);
	switch (arrive(worker, spray, flow, packet, checksum, meta.cost_bytes, egress)) {
	case RESEQUENCER_HELD:
		account_charge(&worker->packets, 1);
		return;
	case RESEQUENCER_DUPLICATE:
		packet_drop(worker, packet, DROP_DUPLICATE);
		return;
	default:
		enqueue(worker, packet, egress, meta);
		if (flow->held != 0)
			spray_drain(worker, spray, flow);
		return;
	}
}

void spray_deliver(struct worker *worker, struct burst *burst, uint32_t i, uint16_t egress)
{
	struct spray *spray = worker_spray(worker);
	const struct parsed *parsed = &burst->parsed[i];
	uint8_t *ip = packet_data(burst->packet[i]) + parsed->l3_offset;
	struct resequencer_flow *flow = NULL;

	if (worker->leaf->owner[egress] == worker->id) {
		struct balance_key key = balance_key_of(parsed, ip, &spray->secret);

		flow = resequencer_find(spray->resequencer, &key);
	}
	spray_deliver_flow(worker, burst->packet[i], flow, ip + parsed->l4_offset + 6,
			   (struct packet_meta){
				   .flags = parsed->kind,
				   .l3_offset = parsed->l3_offset,
				   .priority = burst->priority[i],
				   .cost_bytes = parsed->length,
			   },
			   egress);
}

bool spray_given(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	struct spray *spray = worker_spray(worker);
	struct packet_meta *meta = packet_meta(packet);
	struct resequencer_flow *flow;
	struct balance_key key;
	struct parsed parsed;
	uint8_t *ip;

	meta->flags &= (uint8_t)~PACKET_SEQUENCED;
	if (spray == NULL ||
	    !parse_frame(packet_data(packet), packet->data_len, packet_length(packet), &parsed))
		return false;
	ip = packet_data(packet) + parsed.l3_offset;
	key = balance_key_of(&parsed, ip, &spray->secret);
	flow = resequencer_find(spray->resequencer, &key);
	if (flow == NULL) {
		if (!is_quarantined(worker, spray))
			return false;
		egress_discharge(worker, packet);
		packet_drop(worker, packet, DROP_SEQUENCE);
		return true;
	}
	switch (arrive(worker, spray, flow, packet, ip + parsed.l4_offset + 6, parsed.length,
		       egress)) {
	case RESEQUENCER_HELD:
		egress_discharge(worker, packet);
		account_charge(&worker->packets, 1);
		return true;
	case RESEQUENCER_DUPLICATE:
		egress_discharge(worker, packet);
		packet_drop(worker, packet, DROP_DUPLICATE);
		return true;
	default:
		enqueue_given(worker, packet, egress);
		if (flow->held != 0)
			spray_drain(worker, spray, flow);
		return true;
	}
}

bool spray_strip(struct worker *worker, const struct parsed *parsed, uint8_t *ip)
{
	struct spray *spray = worker_spray(worker);
	struct balance_key key = balance_key_of(parsed, ip, &spray->secret);

	if (resequencer_find(spray->resequencer, &key) != NULL) {
		spray_checksum_set(parsed, ip, SEQUENCE_NONE);
		return true;
	}
	/* Whose port isn't known, its worker isn't. */
	return worker->alone && !is_quarantined(worker, spray);
}

void spray_flush(struct worker *worker)
{
	struct spray *spray = worker_spray(worker);
	struct resequencer_flow *flow;
	struct rte_mbuf *packet;

	if (spray == NULL)
		return;
	for (uint32_t i = 0; i < spray->inbox_count; i++)
		rte_pktmbuf_free(spray->inbox[i]);
	spray->inbox_count = 0;
	for (uint16_t peer = 0; peer < spray->leaves; peer++)
		resequencer_flush_peer(spray->resequencer, peer);
	while ((flow = resequencer_ready(spray->resequencer)) != NULL) {
		while ((packet = resequencer_next(spray->resequencer, flow, worker->now_ps)) !=
		       NULL) {
			account_discharge(&worker->packets, 1);
			packet_drop(worker, packet, DROP_STOPPED);
		}
	}
}
