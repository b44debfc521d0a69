/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/egress.h"

#include "dataplane/balance/spray.h"
#include "dataplane/dwrr.h"
#include "dataplane/internal.h"

/* One run over a port's queues. */
struct run {
	uint64_t now_ps;
	uint64_t limit_ps; /* frames may start until then */
	uint64_t free_ps;  /* when the wire is free after what was taken */
	struct wire_rate rate;
	uint32_t count;
	uint32_t bytes;
	struct rte_mbuf *packet[BURST_COUNT_MAX];
};

void egress_init(struct egress_port *egress)
{
	memset(egress, 0, sizeof(*egress));
	egress->rate = wire_rate_of(RATE_BPS_MAX);
	egress->overhead_bytes = WIRE_OVERHEAD_BYTES;
}

uint32_t egress_staged_packets(const struct egress_port *egress)
{
	uint32_t packets = 0;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		packets += egress->staging.count[p];
	return packets;
}

static uint64_t longest_frame_ps(uint64_t rate_bps)
{
	struct wire_rate rate = wire_rate_of(rate_bps);

	return wire_rate_time_ps(&rate, FRAME_BYTES_MAX + WIRE_OVERHEAD_BYTES);
}

static void shaper_configure(struct egress_port *egress, uint32_t priority, uint64_t rate_bps,
			     uint64_t now_ps)
{
	struct shaper *shaper = &egress->shaper[priority];

	egress->shaped |= (uint8_t)(1u << priority);
	if (shaper->rate.rate_bps != rate_bps) {
		shaper->rate = wire_rate_of(rate_bps);
		shaper->free_ps = now_ps;
	}
	if (time_after(shaper->free_ps, now_ps + egress->run_ahead_ps))
		egress->held |= (uint8_t)(1u << priority);
}

void egress_configure(struct worker *worker, uint16_t port, const struct snapshot *snapshot,
		      uint64_t now_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	const struct port_table *table = &snapshot->port[port];
	bool was_up = egress->up;

	egress->up = egress->io != NULL && worker_link_up(worker, port) &&
		     table->mode != PORT_MODE_OFF && table->rate_bps >= RATE_BPS_MIN;
	egress->overhead_bytes = (uint32_t)(WIRE_OVERHEAD_BYTES + table->overhead_change);
	egress->run_ahead_ps = table->run_ahead_ps;
	egress->catch_up_ps = table->catch_up_ps;
	egress->strict = snapshot->strict_mask;
	egress->shaped = 0;
	egress->held = 0;
	pfc_configure(worker, port, was_up, now_ps);
	if (!egress->up) {
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			leaf_queue(worker->leaf, port, p)->bytes_max = 0; /* admits nothing */
		egress_flush(worker, port, DROP_LINK_DOWN);
		return;
	}
	if (egress->rate.rate_bps != table->rate_bps) {
		/* What is in the device leaves at the old rate. */
		egress->rate = wire_rate_of(table->rate_bps);
		egress->free_ps = time_max(egress->free_ps, now_ps);
	}
	egress->shaper_catch_up_ps = table->catch_up_ps + longest_frame_ps(table->rate_bps);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct egress_queue *queue = leaf_queue(worker->leaf, port, p);
		const struct class_table *class = &snapshot->class[p];
		uint64_t shaped_bps = class->max_rate_bps;

		/* A priority without a class may still hold packets of one that it had. */
		queue->quantum_bytes = class->strict               ? 0
				       : class->quantum_bytes != 0 ? class->quantum_bytes
								   : SCHEDULE_QUANTUM_BYTES;
		egress_mark_configure(worker, port, p);
		if (class->strict)
			queue->deficit_bytes = 0;
		if (class->max_rate_ppm != 0)
			shaped_bps = table->rate_bps / 1000000 * class->max_rate_ppm +
				     table->rate_bps % 1000000 * class->max_rate_ppm / 1000000;
		if (class->strict && shaped_bps != 0)
			shaper_configure(egress, p, shaped_bps, now_ps);
	}
	if (egress->active != 0 || egress->staged != 0 || worker->leaf->pfc[port].send != 0)
		port_wake(worker, port);
}

void egress_refresh(struct egress_port *egress, uint64_t now_ps)
{
	/* Further back than any catch_up_ps reaches. */
	uint64_t oldest_ps = now_ps - 60 * PS_PER_S;

	egress->free_ps = time_max(egress->free_ps, oldest_ps);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		egress->shaper[p].free_ps = time_max(egress->shaper[p].free_ps, oldest_ps);
	for (uint32_t rest = egress->averaged; rest != 0; rest &= rest - 1) {
		struct mark_average *average = &egress->average[__builtin_ctz(rest)];

		mark_average_update(
			average, now_ps,
			atomic_load_explicit(&average->depth_bytes, memory_order_relaxed));
	}
}

/*
 * Packets of one priority leave: give back what they were charged. What comes in a row from one port is
 * one store.
 */
static inline void discharge(struct worker *worker, uint32_t priority,
			     struct rte_mbuf *const *packet, uint32_t count)
{
	struct account *row = worker->account_row[priority];
	bool lossless = (worker->lossless_mask >> priority & 1) != 0;
	uint32_t total = 0;

	for (uint32_t i = 0; i < count;) {
		uint16_t port = packet[i]->port;
		uint32_t bytes = 0;

		do {
			bytes += packet_meta(packet[i++])->cost_bytes;
		} while (i < count && packet[i]->port == port);
		account_discharge(&row[port], bytes);
		if (lossless)
			port_bits_set(&worker->dirty, port);
		total += bytes;
	}
	worker->gone[priority] += count;
	account_discharge(&worker->packets, count);
	if (!lossless) {
		account_discharge(&worker->lossy_packets, count);
		account_discharge(&worker->lossy, total);
	}
}

void egress_discharge(struct worker *worker, struct rte_mbuf *packet)
{
	discharge(worker, packet_meta(packet)->priority, &packet, 1);
}

/* A packet that was let in, and leaves its queue this way. It is discharged. */
static void drop_queued(struct worker *worker, struct rte_mbuf *packet, uint16_t port,
			enum drop_reason reason)
{
	if (reason == DROP_WATCHDOG)
		count_watchdog(worker, port, packet_meta(packet));
	if (reason == DROP_LINK_DOWN && (packet_meta(packet)->flags & PACKET_SPRAYED) != 0 &&
	    spray_again(worker, packet))
		return;
	packet_drop(worker, packet, reason);
}

void egress_flush_queue(struct worker *worker, uint16_t port, uint32_t priority,
			enum drop_reason reason)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct egress_queue *queue = leaf_queue(worker->leaf, port, priority);
	struct staging *staging = &egress->staging;

	discharge(worker, priority, staging->packet[priority], staging->count[priority]);
	for (uint32_t i = 0; i < staging->count[priority]; i++)
		drop_queued(worker, staging->packet[priority][i], port, reason);
	staging->count[priority] = 0;
	if (queue_depth_packets(queue) != 0) {
		struct queue_reader reader = queue_read(queue);

		while (reader.left != 0) {
			struct rte_mbuf *packet = queue_read_next(&reader, worker->queue_pool);

			discharge(worker, priority, &packet, 1);
			drop_queued(worker, packet, port, reason);
		}
		queue_read_end(queue, &reader, 0);
	}
	if ((egress->averaged >> priority & 1) != 0)
		egress_average(worker, port, priority);
	queue->deficit_bytes = 0;
	egress->active &= (uint8_t) ~(1u << priority);
	egress->staged &= (uint8_t) ~(1u << priority);
	if (egress->staged == 0)
		egress_taken(worker, port); /* nothing is left to offer */
}

void egress_flush(struct worker *worker, uint16_t port, enum drop_reason reason)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		egress_flush_queue(worker, port, p, reason);
	egress->waited = 0;
	egress->pending = false;
	port_timers_disarm(&worker->timers, port);
	port_bits_clear(&worker->tx_ready, port);
}

static inline void count_queue(struct worker *worker, uint16_t port, uint32_t priority,
			       uint32_t packets, uint32_t bytes)
{
	struct queue_counters *counters = worker_queue_counters(worker, port, priority);

	counter_add(&counters->tx_packets, packets);
	counter_add(&counters->tx_bytes, bytes);
}

static inline void count_port(struct worker *worker, uint16_t port, uint32_t packets,
			      uint32_t bytes)
{
	struct port_counters *counters = &worker->port_counters[port];

	counter_add(&counters->tx_packets, packets);
	counter_add(&counters->tx_bytes, bytes);
	counter_add(&worker->tx_packets, packets);
}

/* Keep what the device didn't take of a run. */
static __rte_noinline void stage(struct worker *worker, uint16_t port, struct run *run,
				 uint32_t taken)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct staging *staging = &egress->staging;
	uint32_t bytes = run->bytes;

	counter_add(&worker->port_counters[port].tx_retries, 1);
	for (uint32_t i = taken; i < run->count; i++) {
		uint32_t p = packet_meta(run->packet[i])->priority;

		packet_charge(worker, run->packet[i]);
		staging->packet[p][staging->count[p]++] = run->packet[i];
		egress->staged |= (uint8_t)(1u << p);
		bytes -= packet_length(run->packet[i]);
	}
	count_port(worker, port, taken, bytes);
	if (taken != 0)
		egress_taken(worker, port);
	else
		egress_refused(worker, port, run->now_ps);
}

/* Offer what was left again, unless paused since. True when the device has taken it all. */
static __rte_noinline bool staging_send(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct staging *staging = &egress->staging;

	while ((egress->staged & ~egress->paused) != 0) {
		uint32_t p =
			31u - (uint32_t)__builtin_clz(egress->staged & (uint32_t)~egress->paused);
		uint32_t count = staging->count[p], bytes = 0, taken;
		uint32_t length[BURST_COUNT_MAX] = {0};

		for (uint32_t i = 0; i < count; i++)
			length[i] = packet_length(staging->packet[p][i]);
		/* Taken ones may be gone afterwards. */
		discharge(worker, p, staging->packet[p], count);
		taken = port_transmit(worker, port, staging->packet[p], count);
		for (uint32_t i = 0; i < taken; i++)
			bytes += length[i];
		/* A device with a ring has had their time all along; an exact wire begins with them now. */
		if (taken != 0 && (egress->io->flags & PORT_IO_EXACT) != 0)
			egress->free_ps =
				now_ps +
				wire_rate_time_ps(&egress->rate, bytes + egress->overhead_bytes);
		for (uint32_t i = taken; i < count; i++)
			packet_charge(worker, staging->packet[p][i]);
		count_port(worker, port, taken, bytes);
		memmove(staging->packet[p], staging->packet[p] + taken,
			(count - taken) * sizeof(struct rte_mbuf *));
		staging->count[p] = (uint8_t)(count - taken);
		if (taken != 0)
			egress_taken(worker, port);
		else if ((egress->io->alone >> p & 1) ==
			 0) /* whose peer may hold this queue in the device */
			egress_refused(worker, port, now_ps);
		if (taken < count) {
			if ((egress->io->alone >> p & 1) != 0)
				pfc_hold(worker, port, (uint8_t)p, now_ps);
			if ((egress->paused >> p & 1) == 0)
				return false; /* the others wait, too */
			continue;
		}
		egress->staged &= (uint8_t) ~(1u << p);
	}
	return true;
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

	for (uint32_t rest = egress->held & egress->active & (uint32_t)~egress->paused; rest != 0;
	     rest &= rest - 1)
		due_ps = time_min(due_ps, egress->shaper[__builtin_ctz(rest)].free_ps);
	return due_ps - egress->run_ahead_ps;
}

/* Account a frame to its shaper; true when the next one has to wait. */
static bool shaper_take(struct egress_port *egress, uint32_t priority, uint32_t wire_bytes,
			uint64_t now_ps, uint64_t limit_ps)
{
	struct shaper *shaper = &egress->shaper[priority];
	bool waited = (egress->waited >> priority & 1) != 0;

	shaper->free_ps =
		time_max(shaper->free_ps, waited ? now_ps - egress->shaper_catch_up_ps : now_ps) +
		wire_rate_time_ps(&shaper->rate, wire_bytes);
	if (!time_after(shaper->free_ps, limit_ps))
		return false;
	egress->held |= (uint8_t)(1u << priority);
	return true;
}

/*
 * How a queue is served: by priority, by turns with others, or by turns of its own, when no round ends and
 * none has to be counted before the packets are known.
 */
enum service { SERVE_STRICT, SERVE_SHARED, SERVE_ALONE };

/* Take frames of one queue, up to its budget, the burst and the wire's room; at least one. */
static void serve_some(struct worker *worker, uint16_t port, uint32_t priority,
		       enum service service, struct run *run)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	struct egress_queue *queue = leaf_queue(worker->leaf, port, priority);
	struct queue_reader reader = queue_read(queue);
	const int32_t budget = service == SERVE_SHARED ? queue->deficit_bytes : INT32_MAX;
	uint32_t bytes = 0, depth = queue_depth_bytes(queue), count = 0, marks = 0;
	struct rte_mbuf **packet = run->packet + run->count;
	const uint32_t count_max = BURST_COUNT_MAX - run->count;
	const uint32_t overhead_bytes = egress->overhead_bytes, mark_bytes = queue->mark_bytes;
	const bool shaped = (egress->shaped >> priority & 1) != 0;
	const uint64_t limit_ps = run->limit_ps;
	struct wire_rate rate = run->rate;
	uint64_t free_ps = run->free_ps;

	do {
		struct rte_mbuf *next = queue_read_next(&reader, worker->queue_pool);
		uint32_t length = packet_length(next);

		packet[count++] = next;
		free_ps += wire_rate_time_ps(&rate, length + overhead_bytes);
		bytes += length;
		marks += depth - bytes > mark_bytes; /* the first ones: it shrinks */
		if (unlikely(shaped) &&
		    shaper_take(egress, priority, length + overhead_bytes, run->now_ps, limit_ps))
			break;
	} while (reader.left != 0 && (int32_t)bytes < budget && count != count_max &&
		 !time_after(free_ps, limit_ps));
	run->free_ps = free_ps;
	run->rate.carry = rate.carry;
	if (marks != 0)
		egress_mark(worker, port, priority, packet, marks, depth);
	queue_read_end(queue, &reader, depth - bytes);
	if (unlikely((egress->averaged >> priority & 1) != 0))
		egress_mark_last(worker, port, priority, packet[count - 1]);
	discharge(worker, priority, packet, count);
	if (reader.left == 0)
		egress->active &= (uint8_t) ~(1u << priority);
	if (service != SERVE_STRICT) {
		int32_t deficit = queue->deficit_bytes - (int32_t)bytes;

		if (service == SERVE_ALONE)
			deficit = dwrr_catch_up(queue, deficit, packet_length(packet[count - 1]));
		queue->deficit_bytes = reader.left == 0 && deficit > 0 ? 0 : deficit;
	}
	count_queue(worker, port, priority, count, bytes);
	run->count += count;
	run->bytes += bytes;
}

/* The same; a short queue goes at once, without a look at its packets. Hot. */
static inline __attribute__((always_inline)) void serve(struct worker *worker,
							struct egress_port *egress, uint16_t port,
							uint32_t priority, enum service service,
							struct run *run)
{
	struct egress_queue *queue = &worker->queue_row[priority][port];
	uint32_t packets = queue_depth_packets(queue);
	uint32_t bytes = queue_depth_bytes(queue);
	struct wire_rate rate = run->rate;
	uint64_t free_ps;

	if (unlikely((egress->shaped >> priority & 1) != 0 || bytes > queue->mark_bytes ||
		     packets > BURST_COUNT_MAX - run->count)) {
		serve_some(worker, port, priority, service, run);
		return;
	}
	free_ps = run->free_ps + wire_rate_time_ps(&rate, bytes + packets * egress->overhead_bytes);
	/* A last packet always goes, whatever it leaves of budget and wire. */
	if (packets != 1 && (time_after(free_ps, run->limit_ps) ||
			     (service == SERVE_SHARED && (int32_t)bytes > queue->deficit_bytes))) {
		serve_some(worker, port, priority, service, run);
		return;
	}
	queue_read_all(queue, worker->queue_pool, run->packet + run->count);
	discharge(worker, priority, run->packet + run->count, packets);
	egress->active &= (uint8_t) ~(1u << priority);
	if (service != SERVE_STRICT) {
		int32_t deficit = queue->deficit_bytes - (int32_t)bytes;

		if (service == SERVE_ALONE && deficit < 0)
			deficit =
				dwrr_catch_up(queue, deficit,
					      packet_length(run->packet[run->count + packets - 1]));
		queue->deficit_bytes = deficit < 0 ? deficit : 0;
	}
	count_queue(worker, port, priority, packets, bytes);
	run->free_ps = free_ps;
	run->rate.carry = rate.carry;
	run->count += packets;
	run->bytes += bytes;
}

/* When to come again with packets left, and whether an arrival could change that. */
static uint64_t next_run(struct egress_port *egress, const struct pfc_port *pfc,
			 const struct run *run)
{
	if ((egress->active & ~(egress->held | egress->paused)) == 0) {
		egress->pending = false; /* another queue may go at once */
		return time_min(shapers_due(egress, run->now_ps),
				pfc_released_ps(pfc,
						egress->paused & (egress->active | egress->staged),
						run->now_ps));
	}
	if (!time_after(run->free_ps, run->limit_ps))
		return run->now_ps; /* a full burst, and the wire has room */
	/* When half of the run-ahead has drained; on an exact wire, when it is free. */
	return run->free_ps - egress->run_ahead_ps / 2;
}

/* What a port sends beside its queues, and what keeps it from sending them. True: go on. */
static __rte_noinline bool run_control(struct worker *worker, uint16_t port, uint64_t now_ps,
				       uint64_t *due_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	if (egress->paused != 0)
		pfc_release(worker, port, now_ps);
	if (egress->io == NULL || !egress->up)
		return true;
	if (!pfc_send(worker, port, now_ps, due_ps))
		return false;
	if (!staging_send(worker, port, now_ps)) {
		*due_ps = now_ps + EGRESS_RETRY_PS;
		return false;
	}
	return true;
}

/* Nothing to send now; is there still a pause to be refreshed, or staging that is paused? */
static bool run_later(struct worker *worker, struct egress_port *egress, uint16_t port,
		      uint64_t now_ps, uint64_t *due_ps)
{
	const struct pfc_port *pfc = &worker->leaf->pfc[port];

	/* Down, it has nothing staged, and nobody to tell. */
	if (!egress->up || (pfc_paused_peer(pfc) == 0 && egress->staged == 0))
		return false;
	egress->pending = false;
	*due_ps = pfc_released_ps(pfc, egress->paused & egress->staged, now_ps);
	if (pfc_paused_peer(pfc) != 0)
		*due_ps = time_min(*due_ps, pfc->refresh_ps);
	return true;
}

bool egress_run(struct worker *worker, uint16_t port, uint64_t now_ps, uint64_t *due_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];
	const struct pfc_port *pfc = &worker->leaf->pfc[port];
	struct run run;
	bool waited;

	if (unlikely((egress->staged | egress->paused | pfc->send | pfc_paused_peer(pfc)) != 0) &&
	    !run_control(worker, port, now_ps, due_ps))
		return true;
	run.now_ps = now_ps;
	run.limit_ps = now_ps + egress->run_ahead_ps;
	/* Only the shapers lag for what they held back. */
	waited = (egress->waited & ~egress->held) != 0;
	run.free_ps = time_max(egress->free_ps, waited ? now_ps - egress->catch_up_ps : now_ps);
	run.rate = egress->rate;
	run.count = 0;
	run.bytes = 0;
	if (unlikely(egress->held != 0))
		shapers_release(egress, run.limit_ps);
	while (run.count < BURST_COUNT_MAX && !time_after(run.free_ps, run.limit_ps)) {
		uint32_t ready = egress->active & (uint32_t) ~(egress->held | egress->paused);
		uint32_t strict = ready & egress->strict;

		if (ready == 0)
			break;
		if (strict != 0)
			serve(worker, egress, port, 31u - (uint32_t)__builtin_clz(strict),
			      SERVE_STRICT, &run);
		else
			serve(worker, egress, port, dwrr_pick(worker, egress, port, ready),
			      (ready & (ready - 1)) == 0 ? SERVE_ALONE : SERVE_SHARED, &run);
	}
	if (run.count != 0) {
		uint32_t taken;

		egress->free_ps = run.free_ps;
		egress->rate.carry = run.rate.carry;
		taken = port_transmit(worker, port, run.packet, run.count);
		if (unlikely(taken < run.count)) {
			stage(worker, port, &run, taken);
			egress->waited = egress->active;
			*due_ps = now_ps + EGRESS_RETRY_PS;
			return true;
		}
		count_port(worker, port, run.count, run.bytes);
	}
	egress->waited = egress->active & (uint8_t)~egress->paused;
	if (egress->active == 0)
		return unlikely((egress->staged | pfc_paused_peer(pfc)) != 0) &&
		       run_later(worker, egress, port, now_ps, due_ps);
	*due_ps = next_run(egress, pfc, &run);
	if (unlikely(pfc_paused_peer(pfc) != 0))
		*due_ps = time_min(*due_ps, pfc->refresh_ps);
	return true;
}
