/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * egress, part two: the thresholds of a queue, and the marks of what leaves it.
 */
#include "dataplane/ecn.h"
#include "dataplane/egress.h"
#include "dataplane/internal.h"

uint32_t egress_average(struct worker *worker, uint16_t port, uint32_t priority)
{
	struct mark_average *average = &worker->leaf->egress[port].average[priority];

	mark_average_update(average, worker->now_ps,
			    queue_depth_bytes(leaf_queue(worker->leaf, port, priority)));
	return mark_average_bytes(average);
}

void egress_mark_configure(struct worker *worker, uint16_t port, uint32_t priority)
{
	const struct mark_table *table = snapshot_mark(worker->snapshot, port, priority);
	struct egress_port *egress = &worker->leaf->egress[port];
	struct mark_average *average = &egress->average[priority];
	uint8_t bit = (uint8_t)(1u << priority);
	bool was = (egress->averaged & bit) != 0;

	if (table->half_life_ps != 0) {
		if (!was || average->half_life_ps != table->half_life_ps)
			mark_average_init(average, worker->now_ps, table->half_life_ps);
		egress->averaged |= bit;
		egress_average(worker, port, priority);
	} else {
		egress->averaged &= (uint8_t)~bit;
	}
	leaf_queue(worker->leaf, port, priority)->mark_bytes =
		table->half_life_ps != 0 ? 0 : table->ecn_min_bytes;
	egress_admit_queue(worker, port, priority);
}

void egress_admit_queue(struct worker *worker, uint16_t port, uint32_t priority)
{
	const struct mark_table *table = snapshot_mark(worker->snapshot, port, priority);

	leaf_queue(worker->leaf, port, priority)->bytes_max =
		table->half_life_ps != 0 ? 0 : table->wred_min_bytes;
}

void egress_mark_packet(struct worker *worker, uint16_t port, struct rte_mbuf *packet)
{
	const struct packet_meta *meta = packet_meta(packet);
	struct queue_counters *counters = worker_queue_counters(worker, port, meta->priority);

	switch (ecn_mark(packet_data(packet) + meta->l3_offset, meta->flags)) {
	case ECN_MARK_SET:
		counter_add(&counters->ecn_marked, 1);
		counter_add(&worker_queue_rare(worker, port, meta->priority)->ecn_marked_bytes,
			    packet_length(packet));
		break;
	case ECN_MARK_NOT_ECT:
		counter_add(&counters->ecn_unmarked, 1);
		break;
	case ECN_MARK_WAS_CE:
		break;
	}
}

void egress_mark(struct worker *worker, uint16_t port, uint32_t priority, struct rte_mbuf *packet,
		 uint32_t behind_bytes)
{
	const struct mark_table *table = snapshot_mark(worker->snapshot, port, priority);

	/* The average is up to the departure, before which the packet was there. */
	if (table->half_life_ps != 0)
		behind_bytes = egress_average(worker, port, priority);
	if (mark_ecn(table, behind_bytes, &worker->random))
		egress_mark_packet(worker, port, packet);
}

void egress_mark_last(struct worker *worker, uint16_t port, uint32_t priority,
		      struct rte_mbuf *last)
{
	if (queue_depth_bytes(leaf_queue(worker->leaf, port, priority)) == 0)
		egress_mark(worker, port, priority, last, 0);
	egress_average(worker, port, priority);
}
