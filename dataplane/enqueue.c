/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/enqueue.h"

#include "dataplane/ecn.h"

static void refuse(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
		   enum drop_reason reason)
{
	const struct packet_meta *meta = packet_meta(packet);
	struct queue_counters *counters = worker_queue_counters(worker, egress, meta->priority);

	counter_add(&counters->drop_packets, 1);
	counter_add(&counters->drop_bytes, meta->cost_bytes);
	if (reason == DROP_WRED) {
		struct queue_rare_counters *rare =
			&worker->queue_rare[meta->priority * worker->leaf->ports + egress];

		counter_add(&rare->wred_packets, 1);
		counter_add(&rare->wred_bytes, meta->cost_bytes);
	}
	packet_drop(worker, packet, reason);
}

/* Random early drop, for what can't be marked instead. */
static bool dropped_early(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
			  uint32_t depth)
{
	const struct packet_meta *meta = packet_meta(packet);
	const struct mark_table *mark = snapshot_mark(worker->snapshot, egress, meta->priority);

	if (mark->half_life_ps != 0)
		depth = egress_average(worker, egress, meta->priority);
	if (mark->ecn_min_bytes != UINT32_MAX &&
	    ecn_codepoint(packet_data(packet) + meta->l3_offset, meta->flags) != ECN_NOT_ECT)
		return false;
	return mark_wred(mark, depth, &worker->random);
}

static void append(struct worker *worker, struct egress_queue *queue, struct rte_mbuf *packet,
		   uint16_t egress, uint32_t depth)
{
	uint8_t priority = packet_meta(packet)->priority;

	enqueue_append(worker, queue, packet, egress, priority, depth);
	if ((worker->leaf->egress[egress].averaged >> priority & 1) != 0)
		egress_average(worker, egress, priority);
}

void enqueue_closer(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	const struct packet_meta *meta = packet_meta(packet);
	uint8_t priority = meta->priority;
	struct egress_queue *queue = &worker->queue_row[priority][egress];
	uint32_t depth = queue_depth_bytes(queue) + meta->cost_bytes;
	enum drop_reason reason;

	if (!worker->leaf->egress[egress].up)
		reason = DROP_LINK_DOWN;
	else if ((worker->leaf->egress[egress].dropping >> priority & 1) != 0)
		reason = DROP_WATCHDOG;
	else if (depth > worker->queue_limit[priority])
		reason = DROP_QUEUE_FULL;
	else if (dropped_early(worker, packet, egress, depth))
		reason = DROP_WRED;
	else
		reason = buffer_admit(worker, priority, meta->cost_bytes);
	if (reason == DROP_COUNT)
		append(worker, queue, packet, egress, depth);
	else
		refuse(worker, packet, egress, reason);
}
