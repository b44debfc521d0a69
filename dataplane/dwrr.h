/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dwrr - deficit round robin between the queues of a port that have no strict priority.
 *
 * Shreedhar and Varghese (SIGCOMM 1995), with a debt: a queue whose deficit is above 0 may send a frame
 * of any length, and owes what it was longer. Each visit adds a quantum; a queue that runs empty keeps
 * its debt and nothing else. Walking rounds costs per frame where quanta are small, so rounds in which
 * nothing would happen are added up instead: dwrr_skip_rounds() when all are in debt, dwrr_catch_up()
 * when one queue is alone. Frames leave as if each round had been walked.
 *
 * Thread: the port's owner. Inside of egress.c.
 */
#ifndef DATAPLANE_DWRR_H
#define DATAPLANE_DWRR_H

#include "dataplane/internal.h"

/* Rounds of round robin in which nobody came out of debt before we compute how many it takes. */
#define DWRR_VISITS_MAX 16

/* All queues of `ready` are in debt: give them at once the rounds until the first is out of it. */
static __rte_noinline void dwrr_skip_rounds(const struct leaf *leaf, uint16_t port, uint32_t ready)
{
	uint32_t rounds = UINT32_MAX;

	for (uint32_t rest = ready; rest != 0; rest &= rest - 1) {
		const struct egress_queue *queue =
			leaf_queue(leaf, port, (uint32_t)__builtin_ctz(rest));
		uint32_t debt = (uint32_t)-queue->deficit_bytes;

		if (debt / queue->quantum_bytes < rounds)
			rounds = debt / queue->quantum_bytes;
	}
	for (uint32_t rest = ready; rest != 0; rest &= rest - 1) {
		struct egress_queue *queue = leaf_queue(leaf, port, (uint32_t)__builtin_ctz(rest));

		queue->deficit_bytes += (int32_t)(rounds * queue->quantum_bytes);
	}
}

/* The queue whose turn it is, among the ready ones without strict priority (not empty). */
static inline uint32_t dwrr_pick(const struct worker *worker, struct egress_port *egress,
				 uint16_t port, uint32_t ready)
{
	uint32_t current = egress->current;
	struct egress_queue *queue = &worker->queue_row[current][port];

	if (queue->deficit_bytes > 0) {
		if ((ready >> current & 1) != 0)
			return current;
		queue->deficit_bytes = 0; /* couldn't send: banks nothing */
	}
	for (uint32_t visits = 0;; visits++) {
		/* Next ready one in the circle of eight, itself last. */
		uint32_t turned = (ready | ready << PRIORITY_COUNT) >> (current + 1);

		current = (current + 1 + (uint32_t)__builtin_ctz(turned)) % PRIORITY_COUNT;
		queue = &worker->queue_row[current][port];
		queue->deficit_bytes += (int32_t)queue->quantum_bytes;
		if (queue->deficit_bytes > 0)
			break;
		if (unlikely(visits == DWRR_VISITS_MAX)) {
			dwrr_skip_rounds(worker->leaf, port, ready);
			visits = 0;
		}
	}
	egress->current = (uint8_t)current;
	return current;
}

/*
 * A queue had the wire for itself, and sent more than its deficit: give it the rounds that had to go by for
 * that, the last of them just before its last packet.
 */
static inline int32_t dwrr_catch_up(const struct egress_queue *queue, int32_t deficit,
				    uint32_t last_bytes)
{
	int32_t before_last = deficit + (int32_t)last_bytes;
	int32_t quantum = (int32_t)queue->quantum_bytes;

	if (before_last <= 0)
		deficit += (-before_last / quantum + 1) * quantum;
	return deficit;
}

#endif
