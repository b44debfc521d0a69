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

/* What came of packets that were to be marked. */
struct marks {
	uint32_t set, not_ect;
	uint64_t set_bytes;
};

static inline void mark_one(struct rte_mbuf *packet, struct marks *marks)
{
	const struct packet_meta *meta = packet_meta(packet);

	switch (ecn_mark(packet_data(packet) + meta->l3_offset, meta->flags)) {
	case ECN_MARK_SET:
		marks->set++;
		marks->set_bytes += packet_length(packet);
		break;
	case ECN_MARK_NOT_ECT:
		marks->not_ect++;
		break;
	case ECN_MARK_WAS_CE:
		break;
	}
}

static void count_marks(struct worker *worker, uint16_t port, uint32_t priority,
			const struct marks *marks)
{
	struct queue_counters *counters = worker_queue_counters(worker, port, priority);

	if (marks->set != 0) {
		counter_add(&counters->ecn_marked, marks->set);
		counter_add(&worker_queue_rare(worker, port, priority)->ecn_marked_bytes,
			    marks->set_bytes);
	}
	if (marks->not_ect != 0)
		counter_add(&counters->ecn_unmarked, marks->not_ect);
}

void egress_mark_packet(struct worker *worker, uint16_t port, struct rte_mbuf *packet)
{
	struct marks marks = {0};

	mark_one(packet, &marks);
	count_marks(worker, port, packet_meta(packet)->priority, &marks);
}

void egress_mark(struct worker *worker, uint16_t port, uint32_t priority,
		 struct rte_mbuf *const *packet, uint32_t count, uint32_t depth_bytes)
{
	const struct mark_table *table = snapshot_mark(worker->snapshot, port, priority);
	const bool averaged = table->half_life_ps != 0;
	/* The average is up to the departures, before which the packets were there. */
	const uint32_t average = averaged ? egress_average(worker, port, priority) : 0;
	struct mark_random random = worker->random;
	struct marks marks = {0};

	for (uint32_t i = 0; i < count; i++) {
		depth_bytes -= packet_length(packet[i]);
		if (mark_ecn(table, averaged ? average : depth_bytes, &random))
			mark_one(packet[i], &marks);
	}
	worker->random = random;
	count_marks(worker, port, priority, &marks);
}

void egress_mark_last(struct worker *worker, uint16_t port, uint32_t priority,
		      struct rte_mbuf *last)
{
	if (queue_depth_bytes(leaf_queue(worker->leaf, port, priority)) == 0)
		egress_mark(worker, port, priority, &last, 1, packet_length(last));
	egress_average(worker, port, priority);
}
