/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/enqueue.h"

void enqueue_refuse(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	const struct packet_meta *meta = packet_meta(packet);
	struct queue_counters *counters = worker_queue_counters(worker, egress, meta->priority);

	counter_add(&counters->drop_packets, 1);
	counter_add(&counters->drop_bytes, meta->cost_bytes);
	packet_drop(worker, packet,
		    worker->leaf->egress[egress].up ? DROP_QUEUE_FULL : DROP_LINK_DOWN);
}
