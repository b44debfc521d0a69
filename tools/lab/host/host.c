/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/host/host.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tools/lab/allocate.h"
#include "tools/lab/host/internal.h"

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

void traffic_fini(struct traffic *traffic)
{
	while (traffic->spare_count != 0)
		rte_mbuf_raw_free(traffic->spare[--traffic->spare_count]);
}

/* --- pacing --- */

/* It has nothing to send now. */
static inline bool flow_over(const struct flow *flow)
{
	uint64_t due_ps = flow->reacts ? flow->send_ps : flow->due_ps;

	return !transport_may_send(flow) ||
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

void host_renew(struct host *host, struct flow *flow, uint64_t now_ps)
{
	if (flow->queued || flow_over(flow))
		return;
	/* Time in which it had nothing to send is no credit. */
	if (time_after(now_ps, flow->due_ps))
		flow->due_ps = now_ps;
	if (time_after(now_ps, flow->send_ps))
		flow->send_ps = now_ps;
	due_add(host, flow);
}

/* --- timeouts --- */

static void timeout_add(struct host *host, struct flow *flow, uint64_t now_ps)
{
	flow->timed = true;
	flow->progressed = false;
	flow->timeout_ps = now_ps + host->traffic->transport.timeout_ps;
	flow->timeout_next = NULL;
	if (host->timeout_first == NULL)
		host->timeout_first = flow;
	else
		host->timeout_last->timeout_next = flow;
	host->timeout_last = flow;
}

/* A packet is outstanding: look in a while whether that was acknowledged. */
static __rte_noinline void timeout_start(struct host *host, struct flow *flow, uint64_t now_ps)
{
	const struct transport_params *transport = &host->traffic->transport;

	if (transport->ack_every != 0 && transport->timeout_ps != 0)
		timeout_add(host, flow, now_ps);
}

/* All wait equally long: the first is due first. @return when the next one is */
static __rte_noinline uint64_t timeout_look(struct host *host, uint64_t now_ps)
{
	struct flow *flow;

	while ((flow = host->timeout_first) != NULL && !time_after(flow->timeout_ps, now_ps)) {
		bool progressed = flow->progressed;

		host->timeout_first = flow->timeout_next;
		flow->timed = false;
		if (flow->acked.psn == flow->psn_top)
			continue;
		if (!progressed) {
			if (flow->params.stops && !time_after(flow->params.stop_ps, now_ps))
				continue;
			flow->timeouts++;
			transport_again(flow);
			host_renew(host, flow, now_ps);
		}
		timeout_add(host, flow, now_ps);
	}
	return flow == NULL ? now_ps + TIME_IDLE_PS : flow->timeout_ps;
}

static inline uint64_t timeout_due_ps(struct host *host, uint64_t now_ps)
{
	uint64_t due_ps = host->timeout_first->timeout_ps;

	return likely(time_after(due_ps, now_ps)) ? due_ps : timeout_look(host, now_ps);
}

/* --- sending --- */

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
	/* What it had may have been acknowledged meanwhile, or its window closed. */
	if (unlikely(flow_over(flow))) {
		due_remove_first(host, flow->params.priority);
		return;
	}
	packet = traffic_alloc(host->traffic, host->params.pool);
	if (unlikely(packet == NULL)) {
		host->traffic->pool_empty++;
		flow->due_ps = flow->send_ps = now_ps + POOL_RETRY_PS;
	} else {
		/* Stamps count from the start: frames don't depend on where the clock stands. */
		transport_send(flow, packet, now_ps - host->node.engine->start_ps);
		flow_space(flow, packet_length(packet), now_ps);
		wire_send(host->tx, packet);
		host->sent_packets++;
		if (unlikely(!flow->timed))
			timeout_start(host, flow, now_ps);
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

/* --- the node --- */

static void host_arrive(struct node *node, uint16_t port)
{
	(void)port; /* it has one wire */
	((struct host *)node)->arrived = true;
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

	if (host->arrived || host->buffer != NULL)
		resume_ps = host_receive(host, now_ps);
	if (unlikely(host->paused != 0))
		resume_ps = time_min(resume_ps, host_resume(host, now_ps));
	if (host->timeout_first != NULL)
		resume_ps = time_min(resume_ps, timeout_due_ps(host, now_ps));
	if (unlikely(host->buffer != NULL) && !host->silent)
		resume_ps = time_min(resume_ps, host_pause_send(host, now_ps));
	if (host->notifies && !host->silent)
		resume_ps = time_min(resume_ps, host_notify(host, now_ps));
	if (unlikely(host->odd)) {
		resume_ps = time_min(resume_ps, host_misbehave(host, now_ps));
		if (host->down)
			return now_ps + TIME_IDLE_PS;
		if (host->silent)
			return resume_ps;
	}
	if (host->replying != 0)
		resume_ps = time_min(resume_ps, host_reply(host, now_ps));
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
	if (params->receive_buffer.bytes != 0)
		host->buffer = receive_buffer_create(&params->receive_buffer);
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
	receive_buffer_free(host->buffer);
	host->buffer = NULL;
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

	assert(flow->params.bytes == 0 || released_bytes <= flow->params.bytes);
	transport_release(flow, released_bytes);
	if (flow->queued)
		return;
	host_renew(host, flow, now_ps);
	if (flow->queued)
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
