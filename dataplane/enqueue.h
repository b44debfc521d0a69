/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * enqueue - admit a packet to an egress queue, or drop it with a count.
 *
 * For now a queue has a limit in bytes and one in packets; a port that is down has none to give.
 *
 * Thread: the worker of the burst, which owns the egress port.
 */
#ifndef DATAPLANE_ENQUEUE_H
#define DATAPLANE_ENQUEUE_H

#include "dataplane/internal.h"

/** Count and drop what a queue doesn't admit, its metadata set. Cold. */
void enqueue_refuse(struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** The first packet of a queue: the port has to run. */
static inline void enqueue_wake(struct worker *worker, uint16_t egress, uint8_t priority)
{
	struct egress_port *port = &worker->leaf->egress[egress];

	port->active |= (uint8_t)(1u << priority);
	if (!port->pending) {
		port->pending = true;
		port_bits_set(&worker->tx_ready, egress);
	}
}

/**
 * Queue a packet; it isn't the caller's any more. Hot; inlined by force: a call costs a tenth of it.
 * @param meta cost_bytes is its length
 */
static inline __attribute__((always_inline)) void
enqueue(struct worker *worker, struct rte_mbuf *packet, uint16_t egress, struct packet_meta meta)
{
	struct egress_queue *queue = &worker->queue_row[meta.priority][egress];

	/* A refused packet goes to its end, so what is written in it doesn't matter. */
	packet_meta_set(packet, meta);
	switch (queue_offer(queue, worker->queue_pool, packet, meta.cost_bytes)) {
	case QUEUE_REFUSED:
		enqueue_refuse(worker, packet, egress);
		break;
	case QUEUE_FIRST:
		/* A port whose queue holds packets knows already when it runs next. */
		enqueue_wake(worker, egress, meta.priority);
		break;
	case QUEUE_MORE:
		break;
	}
}

/** The same for packet i of a burst. Hot. */
static inline void enqueue_parsed(struct worker *worker, struct burst *burst, uint32_t i,
				  uint16_t egress)
{
	const struct parsed *parsed = &burst->parsed[i];

	enqueue(worker, burst->packet[i], egress,
		(struct packet_meta){
			.flags = parsed->kind,
			.l3_offset = parsed->l3_offset,
			.priority = burst->priority[i],
			.cost_bytes = parsed->length,
		});
}

#endif
