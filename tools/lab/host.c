/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/parse.h"
#include "dataplane/pfc_frame.h"
#include "tools/lab/allocate.h"

/* A host that finds the packet pool empty tries again after this time. */
#define POOL_RETRY_PS PS_PER_US

#define RECEIVE_BURST 32

/* ECN field: congestion experienced (RFC 3168 section 5). */
#define TOS_CE 3

/* --- flows that have more to send --- */

static inline bool flow_before(const struct flow *a, const struct flow *b)
{
	if (a->due_ps != b->due_ps)
		return time_after(b->due_ps, a->due_ps);
	return a->id < b->id;
}

/* Find the place of a flow at or below `index`. */
static void due_down(struct host_due *due, uint32_t index, struct flow *flow)
{
	for (;;) {
		uint32_t child = 2 * index + 1;

		if (child >= due->count)
			break;
		if (child + 1 < due->count && flow_before(due->flow[child + 1], due->flow[child]))
			child++;
		if (!flow_before(due->flow[child], flow))
			break;
		due->flow[index] = due->flow[child];
		index = child;
	}
	due->flow[index] = flow;
}

static void due_add(struct host *host, struct flow *flow)
{
	struct host_due *due = &host->due[flow->params.priority];
	uint32_t index = due->count++;

	if (due->count > due->size) {
		due->size = due->size == 0 ? 4 : 2 * due->size;
		due->flow = allocate_resize(due->flow, due->size * sizeof(struct flow *));
	}
	while (index > 0 && flow_before(flow, due->flow[(index - 1) / 2])) {
		due->flow[index] = due->flow[(index - 1) / 2];
		index = (index - 1) / 2;
	}
	due->flow[index] = flow;
	flow->queued = true;
	host->ready |= (uint8_t)(1u << flow->params.priority);
}

static void due_remove_first(struct host *host, uint8_t priority)
{
	struct host_due *due = &host->due[priority];
	struct flow *last = due->flow[--due->count];

	due->flow[0]->queued = false;
	if (due->count != 0)
		due_down(due, 0, last);
	else
		host->ready &= (uint8_t) ~(1u << priority);
}

/* The flow that is due first among the priorities of a mask, which isn't empty. */
static inline struct flow *due_first(const struct host *host, uint32_t mask)
{
	struct flow *first = host->due[__builtin_ctz(mask)].flow[0];

	while (unlikely((mask &= mask - 1) != 0)) {
		struct flow *other = host->due[__builtin_ctz(mask)].flow[0];

		if (flow_before(other, first))
			first = other;
	}
	return first;
}

/* --- pauses --- */

/* An xon is a pause that is over at once: host_resume() follows in the same run. */
static void host_obey(struct host *host, const struct pfc_frame *frame, uint64_t now_ps)
{
	for (uint32_t rest = frame->enabled; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		if ((host->paused >> p & 1) == 0)
			host->pause_since_ps[p] = now_ps;
		host->pause_until_ps[p] =
			now_ps + pfc_quanta_ps(frame->quanta[p], host->tx->rate.rate_bps);
	}
	host->paused |= frame->enabled;
}

/* Let go what is over. @return when the next pause ends */
static uint64_t host_resume(struct host *host, uint64_t now_ps)
{
	uint64_t due_ps = now_ps + TIME_IDLE_PS;

	for (uint32_t rest = host->paused; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		if (time_after(host->pause_until_ps[p], now_ps)) {
			due_ps = time_min(due_ps, host->pause_until_ps[p]);
		} else {
			host->paused &= (uint8_t) ~(1u << p);
			host->paused_ps[p] += now_ps - host->pause_since_ps[p];
		}
	}
	return due_ps;
}

uint64_t host_paused_ps(const struct host *host, uint32_t priority)
{
	uint64_t paused_ps = host->paused_ps[priority];

	if ((host->paused >> priority & 1) != 0)
		paused_ps += host->node.engine->now_ps - host->pause_since_ps[priority];
	return paused_ps;
}

/* Pause the leaf, or let it go: the wire is free. @return true: a frame was sent */
static __rte_noinline bool host_storm_send(struct host *host, uint64_t now_ps)
{
	struct host_storm *storm = &host->storm;
	struct pfc_frame frame = {.enabled = storm->priorities};
	bool over = !time_after(storm->until_ps, now_ps);
	struct rte_mbuf *packet;

	if (time_after(storm->next_ps, now_ps))
		return false;
	packet = rte_pktmbuf_alloc(host->params.pool);
	if (packet == NULL) {
		host->traffic->pool_empty++;
		storm->next_ps = now_ps + POOL_RETRY_PS;
		return false;
	}
	for (uint32_t p = 0; p < PRIORITY_COUNT && !over; p++)
		if ((storm->priorities >> p & 1) != 0)
			frame.quanta[p] = PFC_QUANTA_MAX;
	pfc_frame_write((uint8_t *)rte_pktmbuf_append(packet, PFC_FRAME_BYTES), host->params.mac,
			&frame);
	packet_virtual_bytes_set(packet, 0);
	/* Refreshed at half of its time, so that it has no gaps. */
	storm->next_ps =
		time_min(storm->until_ps,
			 now_ps + pfc_quanta_ps(PFC_QUANTA_MAX, host->tx->rate.rate_bps) / 2);
	if (over)
		storm->priorities = 0;
	wire_send(host->tx, packet);
	host->sent_packets++;
	return true;
}

/* --- buffers --- */

static inline struct rte_mbuf *traffic_alloc(struct traffic *traffic, struct rte_mempool *pool)
{
	if (likely(traffic->spare_count != 0))
		return traffic->spare[--traffic->spare_count];
	return rte_mbuf_raw_alloc(pool);
}

static inline void traffic_release(struct traffic *traffic, struct rte_mbuf *packet)
{
	if (likely(traffic->spare_count != TRAFFIC_SPARES))
		traffic->spare[traffic->spare_count++] = packet;
	else
		rte_mbuf_raw_free(packet);
}

void traffic_fini(struct traffic *traffic)
{
	while (traffic->spare_count != 0)
		rte_mbuf_raw_free(traffic->spare[--traffic->spare_count]);
}

/* --- sending --- */

static inline enum frame_opcode packet_opcode(bool first, bool last)
{
	if (first)
		return last ? FRAME_WRITE_ONLY : FRAME_WRITE_FIRST;
	return last ? FRAME_WRITE_LAST : FRAME_WRITE_MIDDLE;
}

/* Make the next packet of a flow. */
static void flow_packet(struct flow *flow, struct rte_mbuf *packet, uint64_t stamp_ps)
{
	bool first = flow->message_left == 0;
	uint32_t message = flow->message_left;
	struct frame_packet what = {.psn = flow->psn, .stamp_ps = stamp_ps};

	if (unlikely(first)) {
		uint64_t left = flow->released_bytes - flow->offset_bytes;

		message = left < FLOW_MESSAGE_BYTES ? (uint32_t)left : FLOW_MESSAGE_BYTES;
	}
	what.message_bytes = message;
	what.payload_bytes =
		message < flow->params.payload_bytes ? message : flow->params.payload_bytes;
	what.opcode = packet_opcode(first, what.payload_bytes == message);
	frame_build(&flow->template, packet, &what);
	flow->psn = (flow->psn + 1) & FRAME_PSN_MASK;
	flow->message_left = message - what.payload_bytes;
	flow->offset_bytes += what.payload_bytes;
	flow->sent_bytes += what.payload_bytes;
	flow->sent_packets++;
}

static inline bool flow_over(const struct flow *flow)
{
	uint64_t due_ps = flow->reacts ? flow->send_ps : flow->due_ps;

	return flow->offset_bytes == flow->released_bytes ||
	       (flow->params.stops && !time_after(flow->params.stop_ps, due_ps));
}

/* A frame was sent: the flow's next one. */
static inline void flow_space(struct flow *flow, uint32_t bytes, uint64_t now_ps)
{
	if (flow->reacts) {
		flow_pace(flow, bytes, now_ps);
		return;
	}
	flow->due_ps += wire_rate_time_ps(&flow->pace, bytes + flow->params.overhead_bytes);
	if (time_after(now_ps, flow->due_ps))
		flow->due_ps = now_ps;
}

/* Put the packet of the flow that has been due longest on the wire. */
static __rte_noinline void host_send(struct host *host, struct flow *flow, uint64_t now_ps)
{
	struct host_due *due = &host->due[flow->params.priority];
	struct rte_mbuf *packet;

	if (flow->reacts && time_after(flow->send_ps, now_ps)) {
		flow_wait(flow, now_ps);
		due_down(due, 0, flow);
		return;
	}
	packet = traffic_alloc(host->traffic, host->params.pool);
	if (unlikely(packet == NULL)) {
		host->traffic->pool_empty++;
		flow->due_ps = flow->send_ps = now_ps + POOL_RETRY_PS;
	} else {
		/* Stamps count from the start: frames don't depend on where the clock stands. */
		flow_packet(flow, packet, now_ps - host->node.engine->start_ps);
		flow_space(flow, packet_length(packet), now_ps);
		wire_send(host->tx, packet);
		host->sent_packets++;
	}
	if (unlikely(flow_over(flow)))
		due_remove_first(host, flow->params.priority);
	else if (due->count != 1)
		due_down(due, 0, flow);
}

/* Put a CNP on the wire if one waits and may go. @return when the notifier wants to be looked at */
static __rte_noinline uint64_t host_notify(struct host *host, uint64_t now_ps)
{
	struct notifier *notifier = &host->notifier;
	uint64_t due_ps = notifier_advance(notifier, now_ps);
	struct rte_mbuf *packet;

	/* A pause's end is a run of its own. */
	if (!notifier_asked(notifier) || (host->paused >> notifier->priority & 1) != 0)
		return due_ps;
	if (wire_free(host->tx)) {
		packet = traffic_alloc(host->traffic, host->params.pool);
		if (unlikely(packet == NULL)) {
			host->traffic->pool_empty++;
			return time_min(due_ps, now_ps + POOL_RETRY_PS);
		}
		notifier_build(notifier, packet);
		wire_send(host->tx, packet);
		host->sent_packets++;
		host->cnps_sent++;
	}
	return notifier_asked(notifier) ? time_min(due_ps, host->tx->free_ps) : due_ps;
}

/* --- receiving --- */

static __rte_noinline void flow_marked(struct host *host, struct flow *flow, uint64_t now_ps)
{
	flow->marked_packets++;
	if (flow->notification == NULL)
		return;
	host->notifies = true;
	notification_marked(&host->notifier, flow->notification, now_ps);
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

static void flow_receive(struct host *host, struct flow *flow, const struct frame_view *view,
			 uint64_t now_ps)
{
	struct traffic *traffic = host->traffic;
	/* Ahead by less than half of the PSN space: new; otherwise it comes late. */
	uint32_t ahead = (view->psn - flow->psn_expected) & FRAME_PSN_MASK;

	if (ahead <= FRAME_PSN_MASK / 2)
		flow->psn_expected = (view->psn + 1) & FRAME_PSN_MASK;
	else
		flow->out_of_order++;
	flow->received_packets++;
	flow->received_bytes += view->payload_bytes;
	if ((view->tos & TOS_CE) == TOS_CE)
		flow_marked(host, flow, now_ps);
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

/* @return false: it is no CNP for a flow of ours */
static bool host_take_cnp(struct host *host, struct rte_mbuf *packet, uint64_t now_ps)
{
	struct traffic *traffic = host->traffic;
	struct frame_view view;
	struct flow *flow;
	uint32_t id;

	if (!frame_read(packet, &view) || view.opcode != FRAME_CNP)
		return false;
	id = view.queue_pair - FLOW_QUEUE_PAIR;
	if (id >= traffic->flow_count)
		return false;
	flow = &traffic->flows[id];
	if (flow->params.source != host || !flow->reacts)
		return false;
	flow->cnps++;
	flow->cc->ops->cnp(flow->cc, now_ps);
	return true;
}

/* Kept apart, it costs the usual packet no registers. */
static __rte_noinline void host_other(struct host *host, struct rte_mbuf *packet, uint64_t now_ps)
{
	const uint8_t *data = packet_data(packet);
	struct pfc_frame frame;

	if (host_take_cnp(host, packet, now_ps)) {
		traffic_release(host->traffic, packet);
		return;
	}
	if (packet->data_len >= 14 &&
	    load_u16(data + 12) == rte_cpu_to_be_16(ETHERTYPE_MAC_CONTROL) &&
	    pfc_frame_read(data, packet->data_len, &frame) == PFC_FRAME_PRIORITY) {
		host_obey(host, &frame, now_ps);
	} else {
		host->stray_packets++;
	}
	rte_pktmbuf_free(packet);
}

static inline void host_take(struct host *host, struct rte_mbuf *packet, uint64_t now_ps)
{
	struct traffic *traffic = host->traffic;
	struct frame_view view;
	uint32_t id;

	host->received_packets++;
	if (likely(frame_read(packet, &view))) {
		id = view.queue_pair - FLOW_QUEUE_PAIR;
		if (likely(id < traffic->flow_count &&
			   traffic->flows[id].params.destination == host)) {
			flow_receive(host, &traffic->flows[id], &view, now_ps);
			traffic_release(traffic, packet);
			return;
		}
	}
	host_other(host, packet, now_ps);
}

static void host_arrive(struct node *node, uint16_t port)
{
	(void)port; /* it has one wire */
	((struct host *)node)->arrived = true;
}

static __rte_noinline void host_receive(struct host *host, uint64_t now_ps)
{
	struct rte_mbuf *packets[RECEIVE_BURST];
	uint16_t count;

	do {
		count = wire_receive(host->rx, packets, RECEIVE_BURST);
		for (uint16_t i = 0; i < count; i++)
			host_take(host, packets[i], now_ps);
	} while (count == RECEIVE_BURST);
	host->arrived = false;
}

/* What hosts usually have no reason for. @return when it has something to do again */
static __rte_noinline uint64_t host_misbehave(struct host *host, uint64_t now_ps)
{
	if (host->storm.priorities == 0 || host->down)
		return now_ps + TIME_IDLE_PS;
	if (wire_free(host->tx))
		host_storm_send(host, now_ps);
	return host->storm.priorities == 0 ? now_ps + TIME_IDLE_PS
					   : time_max(host->storm.next_ps, host->tx->free_ps);
}

static uint64_t host_run(struct node *node, uint64_t now_ps)
{
	struct host *host = (struct host *)node;
	uint64_t resume_ps = now_ps + TIME_IDLE_PS;
	struct flow *flow;
	uint32_t mask;

	if (host->arrived)
		host_receive(host, now_ps);
	if (unlikely(host->paused != 0))
		resume_ps = host_resume(host, now_ps);
	if (host->notifies && !host->silent)
		resume_ps = time_min(resume_ps, host_notify(host, now_ps));
	if (unlikely(host->odd)) {
		resume_ps = time_min(resume_ps, host_misbehave(host, now_ps));
		if (host->down)
			return now_ps + TIME_IDLE_PS;
		if (host->silent)
			return resume_ps;
	}
	mask = host->ready & (uint32_t)~host->paused;
	if (mask == 0)
		return resume_ps;
	flow = due_first(host, mask);
	if (!time_after(flow->due_ps, now_ps) && wire_free(host->tx)) {
		host_send(host, flow, now_ps);
		mask = host->ready & (uint32_t)~host->paused;
		if (mask == 0)
			return resume_ps;
		flow = due_first(host, mask);
	}
	return time_min(resume_ps, time_max(flow->due_ps, host->tx->free_ps));
}

static const struct node_ops host_ops = {
	.kind = "host",
	.arrive = host_arrive,
	.run = host_run,
};

void host_init(struct host *host, struct engine *engine, const struct host_params *params,
	       struct traffic *traffic)
{
	memset(host, 0, sizeof(*host));
	host->params = *params;
	host->traffic = traffic;
	host->notifier.interval_ps = params->cnp_interval_ps;
	host->notifier.priority = params->cnp_priority;
	engine_add(engine, &host->node, &host_ops);
}

void host_fini(struct host *host)
{
	engine_remove(host->node.engine, &host->node);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		free(host->due[p].flow);
		host->due[p] = (struct host_due){0};
	}
	host->ready = 0;
}

void host_attach(struct host *host, struct wire *tx, struct wire *rx)
{
	host->tx = tx;
	host->rx = rx;
}

void host_start(struct host *host, struct flow *flow)
{
	assert(flow->params.source == host);
	if (flow->params.bytes != 0)
		host->traffic->flows_open++;
	if (flow_over(flow))
		return;
	due_add(host, flow);
	engine_wake(host->node.engine, &host->node, flow->due_ps);
}

void host_release(struct flow *flow, uint64_t released_bytes)
{
	struct host *host = flow->params.source;
	uint64_t now_ps = host->node.engine->now_ps;

	assert(released_bytes >= flow->released_bytes);
	assert(flow->params.bytes == 0 || released_bytes <= flow->params.bytes);
	flow->released_bytes = released_bytes;
	if (flow->queued || flow_over(flow))
		return;
	/* Time in which it had nothing to send is no credit. */
	if (time_after(now_ps, flow->due_ps))
		flow->due_ps = now_ps;
	if (time_after(now_ps, flow->send_ps))
		flow->send_ps = now_ps;
	due_add(host, flow);
	engine_wake(host->node.engine, &host->node, flow->due_ps);
}

void host_storm(struct host *host, uint8_t priorities, uint64_t until_ps)
{
	uint64_t now_ps = host->node.engine->now_ps;

	host->storm = (struct host_storm){priorities, now_ps, until_ps};
	host->odd = true;
	engine_wake(host->node.engine, &host->node, now_ps);
}

void host_silence(struct host *host, bool silent)
{
	host->silent = silent;
	host->odd = true;
	engine_wake(host->node.engine, &host->node, host->node.engine->now_ps);
}

void host_link(struct host *host, bool up)
{
	host->down = !up;
	host->odd = true;
	host->paused = 0;
	engine_wake(host->node.engine, &host->node, host->node.engine->now_ps);
}

static bool same_network(const struct host *a, const struct host *b)
{
	uint32_t left, right, mask;

	memcpy(&left, a->params.ip, 4);
	memcpy(&right, b->params.ip, 4);
	mask = a->params.prefix_length == 0 ? 0 : ~UINT32_C(0) << (32 - a->params.prefix_length);
	return ((__builtin_bswap32(left) ^ __builtin_bswap32(right)) & mask) == 0;
}

void host_path(const struct host *from, const struct host *to, struct frame_path *path)
{
	memcpy(path->source_mac, from->params.mac, 6);
	memcpy(path->destination_mac,
	       same_network(from, to) ? to->params.mac : from->params.gateway_mac, 6);
	memcpy(path->source_ip, from->params.ip, 4);
	memcpy(path->destination_ip, to->params.ip, 4);
}
