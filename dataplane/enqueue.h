/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * enqueue - admit a packet to an egress queue, or drop it with a count.
 *
 * The usual packet passes three compares: the queue's own mark (0 when its port is down, the WRED
 * threshold, or none), its share of the lossy buffer, and the burst's room in the buffer. Whoever
 * fails one is looked at closer.
 *
 * What leaves through another worker's port fails the first one: its queue here takes nothing. It is
 * admitted to the buffer here and to its queue there.
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_ENQUEUE_H
#define DATAPLANE_ENQUEUE_H

#include "dataplane/balance/spray.h"
#include "dataplane/internal.h"

/**
 * Look closer: queue the packet, its metadata set, hand it to the worker that owns its egress, or count and
 * drop it. Cold with one worker.
 */
void enqueue_closer(struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** Queue a packet that another worker has admitted, or count and drop it. */
void enqueue_given(struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** The first packet of a queue: the port has to run. */
static inline void enqueue_wake(struct worker *worker, uint16_t egress, uint8_t priority)
{
	struct egress_port *port = &worker->leaf->egress[egress];

	port->active |= (uint8_t)(1u << priority);
	if (!port->pending)
		port_wake(worker, egress);
}

/** Append a packet that was admitted. @param depth_bytes of the queue, then */
static inline void enqueue_append(struct worker *worker, struct egress_queue *queue,
				  struct rte_mbuf *packet, uint16_t egress, uint8_t priority,
				  uint32_t depth_bytes)
{
	uint32_t packets = queue_depth_packets(queue) + 1;

	queue_append(queue, worker->queue_pool, packet, packets, depth_bytes);
	/* A port whose queue holds packets knows already when it runs next. */
	if (packets == 1)
		enqueue_wake(worker, egress, priority);
}

/**
 * Queue a packet; it isn't the caller's any more. Hot; inlined by force: a call costs a tenth of it.
 * @param meta cost_bytes is its length
 */
static inline __attribute__((always_inline)) void
enqueue(struct worker *worker, struct rte_mbuf *packet, uint16_t egress, struct packet_meta meta)
{
	struct egress_queue *queue = &worker->queue_row[meta.priority][egress];
	uint32_t depth = queue_depth_bytes(queue) + meta.cost_bytes;
	int64_t room = worker->room[meta.priority] - meta.cost_bytes;

	packet_meta_set(packet, meta);
	if (unlikely(depth > queue->bytes_max || depth > worker->queue_limit[meta.priority] ||
		     room < 0)) {
		enqueue_closer(worker, packet, egress);
		return;
	}
	worker->room[meta.priority] = room;
	worker->admitted[meta.priority]++;
	enqueue_append(worker, queue, packet, egress, meta.priority, depth);
}

/** The same for packet i of a burst. Hot. */
static inline void enqueue_parsed(struct worker *worker, struct burst *burst, uint32_t i,
				  uint16_t egress)
{
	const struct parsed *parsed = &burst->parsed[i];

	if (unlikely((parsed->flags & PARSED_SEQUENCED) != 0)) {
		spray_deliver(worker, burst, i, egress);
		return;
	}
	enqueue(worker, burst->packet[i], egress,
		(struct packet_meta){
			.flags = (uint8_t)(parsed->kind | (parsed->flags & PARSED_SPRAYED)),
			.l3_offset = parsed->l3_offset,
			.priority = burst->priority[i],
			.cost_bytes = parsed->length,
		});
}

#endif
