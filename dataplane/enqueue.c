/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/internal.h"

static __rte_noinline void refuse(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
				  uint8_t priority)
{
	struct queue_counters *counters = worker_queue_counters(worker, egress, priority);

	counter_add(&counters->drop_packets, 1);
	counter_add(&counters->drop_bytes, packet_length(packet));
	packet_drop(worker, packet,
		    worker->leaf->egress[egress].up ? DROP_QUEUE_FULL : DROP_LINK_DOWN);
}

static inline void enqueue(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
			   struct packet_meta meta)
{
	const struct leaf *leaf = worker->leaf;
	struct egress_port *port = &leaf->egress[egress];
	struct egress_queue *queue = leaf_queue(leaf, egress, meta.priority);
	uint32_t length = meta.cost_bytes;

	if (unlikely(!port->up || queue_depth_bytes(queue) + length > queue->bytes_max ||
		     queue_depth_packets(queue) >= queue->packets_max)) {
		refuse(worker, packet, egress, meta.priority);
		return;
	}
	*packet_meta(packet) = meta;
	queue_push(queue, worker->queue_pool, packet, length);
	port->active |= (uint8_t)(1u << meta.priority);
	port_bits_set(&worker->tx_ready, egress);
}

void enqueue_one(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
		 struct packet_meta meta)
{
	enqueue(worker, packet, egress, meta);
}

void enqueue_burst(struct worker *worker, struct burst *burst)
{
	for (uint32_t i = 0; i < burst->count; i++) {
		struct rte_mbuf *packet = burst->packet[i];

		if (unlikely(burst->egress[i] == PORT_NONE))
			continue;
		enqueue(worker, packet, burst->egress[i],
			(struct packet_meta){
				.cost_bytes = (uint16_t)packet_length(packet),
				.priority = burst->priority[i],
				.flags = burst->parsed[i].kind & KIND_IP_MASK,
				.l3_offset = burst->parsed[i].l3_offset,
			});
	}
}
