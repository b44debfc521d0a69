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

/** Count and drop what a queue doesn't admit. Cold. */
void enqueue_refuse(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
		    struct packet_meta meta);

/**
 * Queue a packet; it isn't the caller's any more. Hot; inlined by force: a call costs a tenth of it.
 * @param meta cost_bytes is its length
 */
static inline __attribute__((always_inline)) void
enqueue(struct worker *worker, struct rte_mbuf *packet, uint16_t egress, struct packet_meta meta)
{
	const struct leaf *leaf = worker->leaf;
	struct egress_queue *queue = leaf_queue(leaf, egress, meta.priority);

	if (unlikely(!queue_admits(queue, meta.cost_bytes))) {
		enqueue_refuse(worker, packet, egress, meta);
		return;
	}
	packet_meta_set(packet, meta);
	/* A port whose queue holds packets knows already when it runs next. */
	if (queue_push(queue, worker->queue_pool, packet, meta.cost_bytes)) {
		struct egress_port *port = &leaf->egress[egress];

		port->active |= (uint8_t)(1u << meta.priority);
		if (!port->pending) {
			port->pending = true;
			port_bits_set(&worker->tx_ready, egress);
		}
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
