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
			worker_queue_rare(worker, egress, meta->priority);

		counter_add(&rare->wred_packets, 1);
		counter_add(&rare->wred_bytes, meta->cost_bytes);
	} else if (reason == DROP_HEADROOM) {
		/* Of the pair whose peer sent it, whatever queue it was for. */
		struct queue_rare_counters *rare =
			worker_queue_rare(worker, packet->port, meta->priority);

		counter_add(&rare->headroom_packets, 1);
		counter_add(&rare->headroom_bytes, meta->cost_bytes);
	} else if (reason == DROP_WATCHDOG) {
		count_watchdog(worker, egress, meta);
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

/* Why a queue of ours doesn't take a packet that would make it so deep, or DROP_COUNT. */
static enum drop_reason queue_refuses(struct worker *worker, struct rte_mbuf *packet,
				      uint16_t egress, uint32_t depth)
{
	const struct egress_port *port = &worker->leaf->egress[egress];
	uint8_t priority = packet_meta(packet)->priority;

	if (!port->up)
		return DROP_LINK_DOWN;
	if ((port->dropping >> priority & 1) != 0)
		return DROP_WATCHDOG;
	if (depth > worker->queue_limit[priority] &&
	    (!worker->late || depth > buffer_queue_limit(worker, priority)))
		return DROP_QUEUE_FULL;
	return dropped_early(worker, packet, egress, depth) ? DROP_WRED : DROP_COUNT;
}

/* The same as buffer_admit(), of a burst behind which others wait. */
static __rte_noinline enum drop_reason admit_late(struct worker *worker, struct rte_mbuf *packet,
						  uint16_t egress)
{
	const struct packet_meta *meta = packet_meta(packet);
	enum drop_reason reason;

	if (backlog_sheds(worker, packet, egress))
		return DROP_BACKLOG;
	reason = buffer_admit(worker, meta->priority, meta->cost_bytes);
	if (reason == DROP_COUNT)
		backlog_mark(worker, packet, egress);
	return reason;
}

void enqueue_closer(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	const struct packet_meta *meta = packet_meta(packet);
	uint8_t priority = meta->priority;
	struct egress_queue *queue = &worker->queue_row[priority][egress];
	uint32_t depth = queue_depth_bytes(queue) + meta->cost_bytes;
	bool ours = worker->leaf->owner[egress] == worker->id;
	enum drop_reason reason = ours ? queue_refuses(worker, packet, egress, depth) : DROP_COUNT;

	if (reason == DROP_COUNT)
		reason = unlikely(worker->late) ? admit_late(worker, packet, egress)
						: buffer_admit(worker, priority, meta->cost_bytes);
	if (reason != DROP_COUNT) {
		refuse(worker, packet, egress, reason);
	} else if (ours) {
		worker->admitted[priority]++;
		append(worker, queue, packet, egress, depth);
	} else {
		handover_packet(worker, packet, egress);
	}
}

void enqueue_given(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	const struct packet_meta *meta = packet_meta(packet);
	struct egress_queue *queue = &worker->queue_row[meta->priority][egress];
	uint32_t depth;

	if (unlikely((meta->flags & PACKET_SEQUENCED) != 0) && spray_given(worker, packet, egress))
		return;
	depth = queue_depth_bytes(queue) + meta->cost_bytes;
	if (unlikely(depth > queue->bytes_max || depth > worker->queue_limit[meta->priority])) {
		enum drop_reason reason = queue_refuses(worker, packet, egress, depth);

		if (reason != DROP_COUNT) {
			egress_discharge(worker, packet);
			refuse(worker, packet, egress, reason);
			return;
		}
	}
	append(worker, queue, packet, egress, depth);
}
