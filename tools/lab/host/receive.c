/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What arrives at a host, and the replies that it leads to.
 */
#include <assert.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/parse.h"
#include "dataplane/pfc_frame.h"
#include "tools/lab/host/internal.h"

#define RECEIVE_BURST 32

/* ECN field: congestion experienced (RFC 3168 section 5). */
#define TOS_CE 3

/* --- replies --- */

static inline void reply_ask(struct host *host, struct flow *flow)
{
	struct host_replies *replies = &host->replies[flow->ack_priority];

	if (flow->replying) {
		flow->replies_more += flow->params.transport->acks_apart;
		return;
	}
	flow->replying = true;
	flow->reply_next = NULL;
	if (replies->first == NULL)
		replies->first = flow;
	else
		replies->last->reply_next = flow;
	replies->last = flow;
	host->replying |= (uint8_t)(1u << flow->ack_priority);
}

static inline void reply_build(struct host *host, struct flow *flow, struct rte_mbuf *packet)
{
	struct frame_reply reply = {
		.source_port = flow->params.source_port,
		.tos = flow->ack_tos,
		.becn = flow->marked,
		.queue_pair = FLOW_QUEUE_PAIR + flow->id,
		.msn = flow->msn,
	};

	memcpy(reply.source_mac, host->params.mac, 6);
	memcpy(reply.destination_mac, flow->reply_mac, 6);
	memcpy(reply.source_ip, host->params.ip, 4);
	memcpy(reply.destination_ip, flow->params.source->params.ip, 4);
	if (unlikely(flow->nak)) {
		reply.syndrome = FRAME_SYNDROME_NAK_SEQUENCE;
		reply.psn = flow->psn_expected;
		flow->nak = false;
		host->naks_sent++;
	} else {
		reply.syndrome = FRAME_SYNDROME_ACK;
		reply.psn = flow->psn_expected - 1;
		host->acks_sent++;
	}
	flow->marked = false;
	frame_build_reply(&reply, packet);
}

uint64_t host_reply(struct host *host, uint64_t now_ps)
{
	uint32_t mask = host->replying & (uint32_t)~host->paused;
	struct host_replies *replies;
	struct rte_mbuf *packet;
	struct flow *flow;

	/* A pause's end is a run of its own. */
	if (mask == 0)
		return now_ps + TIME_IDLE_PS;
	if (!wire_free(host->tx))
		return host->tx->free_ps;
	packet = traffic_alloc(host->traffic, host->params.pool);
	if (unlikely(packet == NULL)) {
		host->traffic->pool_empty++;
		return now_ps + POOL_RETRY_PS;
	}
	replies = &host->replies[__builtin_ctz(mask)];
	flow = replies->first;
	replies->first = flow->reply_next;
	flow->replying = false;
	if (replies->first == NULL)
		host->replying &= (uint8_t) ~(1u << __builtin_ctz(mask));
	reply_build(host, flow, packet);
	if (unlikely(flow->replies_more != 0)) {
		flow->replies_more--;
		reply_ask(host, flow);
	}
	wire_send(host->tx, packet);
	host->sent_packets++;
	return (host->replying & ~host->paused) != 0 ? host->tx->free_ps : now_ps + TIME_IDLE_PS;
}

/* --- data --- */

static __rte_noinline void flow_marked(struct host *host, struct flow *flow, uint64_t now_ps)
{
	flow->marked_packets++;
	if (host->traffic->transport.cnp_on_ack) {
		flow->marked = true;
		return;
	}
	if (flow->cc == NULL || flow->cc->ops->cnp == NULL)
		return;
	host->notifies = true;
	notification_marked(&host->notifier, flow_notification(flow, host->params.cnp_tos), now_ps);
}

/* Who watches may release other flows, and says what to watch for next. */
static __rte_noinline void flow_reached(struct traffic *traffic, struct flow *flow, uint64_t now_ps)
{
	while (flow->received_bytes >= flow->watch_bytes) {
		uint64_t reached_bytes = flow->watch_bytes;

		traffic->reached(traffic->reached_context, flow, now_ps);
		assert(flow->watch_bytes > reached_bytes);
	}
}

static inline void flow_deliver(struct host *host, struct flow *flow, const struct frame_view *view,
				uint64_t now_ps)
{
	struct traffic *traffic = host->traffic;

	flow->received_bytes += view->payload_bytes;
	if (view->stamped) {
		uint64_t latency_ps = now_ps - host->node.engine->start_ps - view->stamp_ps;

		if (latency_ps < flow->latency_min_ps)
			flow->latency_min_ps = latency_ps;
		if (latency_ps > flow->latency_max_ps)
			flow->latency_max_ps = latency_ps;
		histogram_add(&traffic->latency, latency_ps / PS_PER_NS);
	}
	if (flow->received_bytes == flow->params.bytes) {
		flow->finished = true;
		flow->finished_ps = now_ps;
		traffic->flows_open--;
	}
	if (unlikely(flow->received_bytes >= flow->watch_bytes))
		flow_reached(traffic, flow, now_ps);
}

static void flow_receive(struct host *host, struct flow *flow, const struct frame_view *view,
			 uint64_t now_ps)
{
	enum transport_verdict verdict;

	flow->received_packets++;
	if ((view->tos & TOS_CE) == TOS_CE)
		flow_marked(host, flow, now_ps);
	verdict = transport_receive(flow, view);
	if (likely(verdict == TRANSPORT_ACCEPT))
		flow_deliver(host, flow, view, now_ps);
	if (flow->nak || (view->ack_request && verdict != TRANSPORT_EARLY))
		reply_ask(host, flow);
}

/* --- what comes back --- */

static void flow_replied(struct host *host, struct flow *flow, const struct frame_view *view,
			 uint64_t now_ps)
{
	bool again;
	uint64_t bytes = transport_reply(flow, view, &again);
	struct cc *cc = flow->cc;

	if (cc != NULL && cc->ops->acked != NULL) {
		cc->ops->acked(cc, bytes, view->becn, now_ps);
		flow_window(flow);
	}
	if (unlikely(view->becn) && cc != NULL && cc->ops->cnp != NULL) {
		flow->cnps++;
		cc->ops->cnp(cc, now_ps);
	}
	if (!flow->queued)
		host_renew(host, flow, now_ps);
}

/* Kept apart, it costs the usual packet no registers. */
static __rte_noinline void host_other(struct host *host, struct rte_mbuf *packet, uint64_t now_ps)
{
	const uint8_t *data = packet_data(packet);
	struct pfc_frame frame;

	if (packet->data_len >= 14 &&
	    load_u16(data + 12) == rte_cpu_to_be_16(ETHERTYPE_MAC_CONTROL) &&
	    pfc_frame_read(data, packet->data_len, &frame) == PFC_FRAME_PRIORITY) {
		host_obey(host, &frame, now_ps);
	} else {
		host->stray_packets++;
	}
	rte_pktmbuf_free(packet);
}

/* A packet to the sender of a flow. @return false: it is nothing that a sender knows */
static bool host_take_reply(struct host *host, struct flow *flow, const struct frame_view *view,
			    uint64_t now_ps)
{
	if (view->opcode == FRAME_ACK) {
		flow_replied(host, flow, view, now_ps);
		return true;
	}
	if (view->opcode != FRAME_CNP || flow->cc == NULL || flow->cc->ops->cnp == NULL)
		return false;
	flow->cnps++;
	flow->cc->ops->cnp(flow->cc, now_ps);
	return true;
}

static inline void host_take(struct host *host, struct rte_mbuf *packet, uint64_t now_ps)
{
	struct traffic *traffic = host->traffic;
	struct frame_view view;
	struct flow *flow;
	uint32_t id;

	if (likely(frame_read(packet, &view))) {
		host->checksums += view.checksum != 0;
		id = view.queue_pair - FLOW_QUEUE_PAIR;
		flow = &traffic->flows[id];
		if (likely(id < traffic->flow_count)) {
			if (flow->params.destination == host && frame_is_data(view.opcode)) {
				flow_receive(host, flow, &view, now_ps);
				traffic_release(traffic, packet);
				return;
			}
			if (flow->params.source == host &&
			    host_take_reply(host, flow, &view, now_ps)) {
				traffic_release(traffic, packet);
				return;
			}
		}
	}
	host_other(host, packet, now_ps);
}

/* With a buffer: what isn't a pause waits there. */
static __rte_noinline void host_store(struct host *host, struct rte_mbuf *packet, uint64_t now_ps)
{
	if (packet->data_len >= 14 &&
	    load_u16(packet_data(packet) + 12) == rte_cpu_to_be_16(ETHERTYPE_MAC_CONTROL))
		host_other(host, packet, now_ps);
	else
		receive_buffer_add(host->buffer, packet, now_ps);
}

static __rte_noinline uint64_t host_drain(struct host *host, uint64_t now_ps)
{
	struct rte_mbuf *packet;

	while ((packet = receive_buffer_take(host->buffer, now_ps)) != NULL)
		host_take(host, packet, now_ps);
	return receive_buffer_due_ps(host->buffer, now_ps);
}

uint64_t host_receive(struct host *host, uint64_t now_ps)
{
	struct rte_mbuf *packets[RECEIVE_BURST];
	uint16_t count = RECEIVE_BURST;

	while (host->arrived) {
		count = wire_receive(host->rx, packets, RECEIVE_BURST);
		host->received_packets += count;
		host->arrived = count == RECEIVE_BURST;
		for (uint16_t i = 0; i < count; i++) {
			if (likely(host->buffer == NULL))
				host_take(host, packets[i], now_ps);
			else
				host_store(host, packets[i], now_ps);
		}
	}
	return host->buffer == NULL ? now_ps + TIME_IDLE_PS : host_drain(host, now_ps);
}
