/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/egress.h"

#include "dataplane/internal.h"

/* Rounds of round robin in which nobody came out of debt before we compute how many it takes. */
#define DWRR_VISITS_MAX 16

/* What a run sent, per priority; counted once the device has taken it. */
struct sent {
	uint8_t mask;
	uint32_t packets[PRIORITY_COUNT];
	uint32_t bytes[PRIORITY_COUNT];
};

void egress_init(struct egress_port *egress)
{
	memset(egress, 0, sizeof(*egress));
	egress->rate = wire_rate_of(RATE_BPS_MAX);
}

uint32_t egress_staged_packets(const struct egress_port *egress)
{
	uint32_t packets = 0;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		packets += egress->staging.count[p];
	return packets;
}

static void shaper_configure(struct shaper *shaper, uint64_t rate_bps, uint64_t now_ps)
{
	if (shaper->rate.rate_bps == rate_bps)
		return;
	shaper->rate = wire_rate_of(rate_bps);
	shaper->free_ps = now_ps;
}

void egress_configure(struct worker *worker, uint16_t port, const struct snapshot *snapshot,
		      uint64_t now_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	const struct port_table *table = &snapshot->port[port];

	egress->up = egress->io != NULL && table->link_up && table->mode != PORT_MODE_OFF &&
		     table->rate_bps >= RATE_BPS_MIN;
	egress->run_ahead_ps = table->run_ahead_ps;
	egress->catch_up_ps = table->catch_up_ps;
	egress->strict = snapshot->strict_mask;
	egress->shaped = 0;
	egress->held = 0;
	if (!egress->up) {
		egress_flush(worker, port, DROP_LINK_DOWN);
		return;
	}
	if (egress->rate.rate_bps != table->rate_bps) {
		egress->rate = wire_rate_of(table->rate_bps);
		egress->free_ps = now_ps;
	}
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct egress_queue *queue = leaf_queue(worker->leaf, port, p);
		const struct class_table *class = &snapshot->class[p];
		uint64_t shaped_bps = class->max_rate_bps;

		/* A priority without a class may still hold packets of one that it had. */
		queue->quantum_bytes = class->strict		   ? 0
				       : class->quantum_bytes != 0 ? class->quantum_bytes
								   : SCHEDULE_QUANTUM_BYTES;
		queue->bytes_max = snapshot->queue_bytes_max[p];
		queue->packets_max = snapshot->queue_packets_max;
		if (class->strict)
			queue->deficit_bytes = 0;
		if (class->max_rate_ppm != 0)
			shaped_bps = table->rate_bps / 1000000 * class->max_rate_ppm +
				     table->rate_bps % 1000000 * class->max_rate_ppm / 1000000;
		if (class->strict && shaped_bps != 0) {
			egress->shaped |= (uint8_t)(1u << p);
			shaper_configure(&egress->shaper[p], shaped_bps, now_ps);
		}
	}
	egress->blocked = false;
	if (egress->active != 0 || egress->staged != 0)
		port_bits_set(&worker->tx_ready, port);
}

static void flush_queue(struct worker *worker, uint16_t port, uint32_t priority,
			enum drop_reason reason)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct egress_queue *queue = leaf_queue(worker->leaf, port, priority);
	struct staging *staging = &egress->staging;

	for (uint32_t i = 0; i < staging->count[priority]; i++)
		packet_drop(worker, staging->packet[priority][i], reason);
	staging->count[priority] = 0;
	while (queue_depth_packets(queue) != 0) {
		struct rte_mbuf *packet = queue_first(queue);

		queue_pop(queue, worker->queue_pool, packet_length(packet));
		packet_drop(worker, packet, reason);
	}
	queue->deficit_bytes = 0;
}

void egress_flush(struct worker *worker, uint16_t port, enum drop_reason reason)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		flush_queue(worker, port, p, reason);
	egress->active = 0;
	egress->staged = 0;
	egress->blocked = false;
	port_timers_disarm(&worker->timers, port);
	port_bits_clear(&worker->tx_ready, port);
}

static void count_sent(struct worker *worker, uint16_t port, const struct sent *sent)
{
	struct port_counters *counters = &worker->port_counters[port];
	uint32_t packets = 0, bytes = 0;

	for (uint32_t rest = sent->mask; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);
		struct queue_counters *queue = worker_queue_counters(worker, port, p);

		counter_add(&queue->tx_packets, sent->packets[p]);
		counter_add(&queue->tx_bytes, sent->bytes[p]);
		packets += sent->packets[p];
		bytes += sent->bytes[p];
	}
	counter_add(&counters->tx_packets, packets);
	counter_add(&counters->tx_bytes, bytes);
	counter_add(&worker->tx_packets, packets);
}

/* Keep what the device didn't take; it isn't sent yet. */
static __rte_noinline void stage(struct worker *worker, uint16_t port, struct rte_mbuf **packets,
				 uint32_t count, struct sent *sent)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct staging *staging = &egress->staging;

	counter_add(&worker->port_counters[port].tx_retries, 1);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t p = packet_meta(packets[i])->priority;

		staging->packet[p][staging->count[p]++] = packets[i];
		egress->staged |= (uint8_t)(1u << p);
		sent->packets[p]--;
		sent->bytes[p] -= packet_length(packets[i]);
	}
}

/* Offer what was left again. True when the device has taken it all. */
static __rte_noinline bool staging_send(struct worker *worker, uint16_t port)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct staging *staging = &egress->staging;

	for (uint32_t rest = egress->staged; rest != 0;) {
		uint32_t p = 31u - (uint32_t)__builtin_clz(rest);
		uint32_t count = staging->count[p], taken;
		uint32_t length[BURST_COUNT_MAX];
		struct sent sent = {.mask = (uint8_t)(1u << p)};

		for (uint32_t i = 0; i < count; i++)
			length[i] = packet_length(staging->packet[p][i]);
		taken = egress->io->ops->tx_burst(egress->io, 0, staging->packet[p],
						  (uint16_t)count);
		sent.packets[p] = taken;
		for (uint32_t i = 0; i < taken; i++)
			sent.bytes[p] += length[i];
		count_sent(worker, port, &sent);
		memmove(staging->packet[p], staging->packet[p] + taken,
			(count - taken) * sizeof(staging->packet[p][0]));
		staging->count[p] = (uint8_t)(count - taken);
		if (taken < count)
			return false;
		egress->staged &= (uint8_t) ~(1u << p);
		rest &= ~(1u << p);
	}
	return true;
}

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
static inline uint32_t dwrr_pick(const struct leaf *leaf, struct egress_port *egress, uint16_t port,
				 uint32_t ready)
{
	uint32_t current = egress->current;
	struct egress_queue *queue = leaf_queue(leaf, port, current);

	if (queue->deficit_bytes > 0) {
		if ((ready >> current & 1) != 0)
			return current;
		queue->deficit_bytes = 0; /* couldn't send: banks nothing */
	}
	for (uint32_t visits = 0;; visits++) {
		/* Next ready one in the circle of eight, itself last. */
		uint32_t turned = (ready | ready << PRIORITY_COUNT) >> (current + 1);

		current = (current + 1 + (uint32_t)__builtin_ctz(turned)) % PRIORITY_COUNT;
		queue = leaf_queue(leaf, port, current);
		queue->deficit_bytes += (int32_t)queue->quantum_bytes;
		if (queue->deficit_bytes > 0)
			break;
		if (unlikely(visits == DWRR_VISITS_MAX)) {
			dwrr_skip_rounds(leaf, port, ready);
			visits = 0;
		}
	}
	egress->current = (uint8_t)current;
	return current;
}

static __rte_noinline void shapers_release(struct egress_port *egress, uint64_t limit_ps)
{
	for (uint32_t rest = egress->held; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		if (!time_after(egress->shaper[p].free_ps, limit_ps))
			egress->held &= (uint8_t) ~(1u << p);
	}
}

static uint64_t shapers_due(const struct egress_port *egress, uint64_t now_ps)
{
	uint64_t due_ps = now_ps + TIME_IDLE_PS;

	for (uint32_t rest = egress->held & egress->active; rest != 0; rest &= rest - 1)
		due_ps = time_min(due_ps, egress->shaper[__builtin_ctz(rest)].free_ps);
	return due_ps - egress->run_ahead_ps;
}

/* Account a frame to its shaper; true when the next one has to wait. */
static bool shaper_take(struct egress_port *egress, uint32_t priority, uint32_t wire_bytes,
			uint64_t now_ps, uint64_t limit_ps)
{
	struct shaper *shaper = &egress->shaper[priority];

	shaper->free_ps = time_max(shaper->free_ps, now_ps - egress->catch_up_ps) +
			  wire_rate_time_ps(&shaper->rate, wire_bytes);
	if (!time_after(shaper->free_ps, limit_ps))
		return false;
	egress->held |= (uint8_t)(1u << priority);
	return true;
}

bool egress_run(struct worker *worker, uint16_t port, uint64_t now_ps, uint64_t *due_ps)
{
	const struct leaf *leaf = worker->leaf;
	struct egress_port *egress = &leaf->egress[port];
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	struct sent sent;
	uint64_t limit_ps = now_ps + egress->run_ahead_ps;
	uint64_t free_ps = time_max(egress->free_ps, now_ps - egress->catch_up_ps);
	uint32_t count = 0;
	uint16_t taken;

	if (unlikely(egress->staged != 0) && !staging_send(worker, port)) {
		*due_ps = now_ps + EGRESS_RETRY_PS;
		egress->blocked = true;
		return true;
	}
	if (unlikely(egress->held != 0))
		shapers_release(egress, limit_ps);
	sent.mask = 0;
	while (count < BURST_COUNT_MAX && !time_after(free_ps, limit_ps)) {
		uint32_t ready = egress->active & (uint32_t)~egress->held;
		uint32_t strict = ready & egress->strict;
		struct egress_queue *queue;
		uint32_t p, bytes = 0, first = count;
		int32_t deficit;
		bool held;

		if (ready == 0)
			break;
		p = strict != 0 ? 31u - (uint32_t)__builtin_clz(strict)
				: dwrr_pick(leaf, egress, port, ready);
		queue = leaf_queue(leaf, port, p);
		deficit = strict != 0 ? INT32_MAX : queue->deficit_bytes;
		for (;;) {
			struct rte_mbuf *packet = queue_first(queue);
			uint32_t length = packet_length(packet);

			packets[count++] = packet;
			queue_pop(queue, worker->queue_pool, length);
			free_ps += wire_rate_time_ps(&egress->rate, length + WIRE_OVERHEAD_BYTES);
			bytes += length;
			deficit -= (int32_t)length;
			held = unlikely((egress->shaped >> p & 1) != 0) &&
			       shaper_take(egress, p, length + WIRE_OVERHEAD_BYTES, now_ps,
					   limit_ps);
			if (queue_depth_packets(queue) == 0) {
				egress->active &= (uint8_t) ~(1u << p);
				if (deficit > 0)
					deficit = 0;
				break;
			}
			if (held || deficit <= 0 || count == BURST_COUNT_MAX ||
			    time_after(free_ps, limit_ps))
				break;
		}
		if (strict == 0)
			queue->deficit_bytes = deficit;
		if ((sent.mask >> p & 1) == 0) {
			sent.mask |= (uint8_t)(1u << p);
			sent.packets[p] = 0;
			sent.bytes[p] = 0;
		}
		sent.packets[p] += count - first;
		sent.bytes[p] += bytes;
	}
	if (count != 0) {
		egress->free_ps = free_ps;
		taken = egress->io->ops->tx_burst(egress->io, 0, packets, (uint16_t)count);
		if (unlikely(taken < count)) {
			stage(worker, port, packets + taken, count - taken, &sent);
			count_sent(worker, port, &sent);
			*due_ps = now_ps + EGRESS_RETRY_PS;
			egress->blocked = true;
			return true;
		}
		count_sent(worker, port, &sent);
	}
	if (egress->active == 0)
		return false;
	if ((egress->active & ~egress->held) == 0) {
		*due_ps = shapers_due(egress, now_ps);
		return true;
	}
	if (!time_after(free_ps, limit_ps)) {
		*due_ps = now_ps; /* a full burst, and the wire has room */
		return true;
	}
	/* Come back when half of the run-ahead has drained; on an exact wire, when it is free. */
	*due_ps = free_ps - egress->run_ahead_ps / 2;
	egress->blocked = true;
	return true;
}
