/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/backlog.h"

#include "dataplane/egress.h"
#include "dataplane/internal.h"

/* What a ring of unknown length is taken for. */
#define RING_GUESS 4096u

/* The mix falls by an eighth of the difference with each burst. */
#define MIX_SHIFT 3

static uint32_t waiting(struct port_io *io, uint8_t queue, const struct backlog *backlog)
{
	int32_t frames = io->ops->rx_backlog != NULL ? io->ops->rx_backlog(io, queue) : -ENOTSUP;
	uint64_t run;

	if (frames >= 0)
		return (uint32_t)frames;
	run = backlog->run > BACKLOG_RUN ? (uint64_t)(backlog->run - BACKLOG_RUN) * BURST_COUNT_MAX
					 : 0;
	return (uint32_t)RTE_MIN(run, io->rx_ring_frames != 0 ? io->rx_ring_frames : RING_GUESS);
}

/* What has come since the last look. The first look at a ring that fills has nothing to compare with. */
static void learn_mix(struct worker *worker, uint16_t port, struct backlog *backlog, bool first)
{
	uint64_t frames = counter_get(&worker->port_counters[port].rx_packets);
	uint64_t count = frames - backlog->seen_frames;

	backlog->seen_frames = frames;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		uint64_t bytes = counter_get(&worker_queue_counters(worker, port, p)->rx_bytes);
		uint64_t mean_q8 = count != 0 ? ((bytes - backlog->seen_bytes[p]) << 8) / count : 0;

		backlog->seen_bytes[p] = bytes;
		if (first)
			backlog->mean_q8[p] = 0;
		else if (backlog->mean_q8[p] <= mean_q8)
			backlog->mean_q8[p] = (uint32_t)mean_q8;
		else
			backlog->mean_q8[p] -=
				(backlog->mean_q8[p] - (uint32_t)mean_q8) >> MIX_SHIFT;
	}
}

static void divide(struct worker *worker, uint16_t port, struct backlog *backlog)
{
	uint32_t frames = atomic_load_explicit(&backlog->frames, memory_order_relaxed);
	uint32_t half = worker->leaf->io[port]->rx_ring_frames / 2;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		uint64_t bytes = (uint64_t)frames * backlog->mean_q8[p] >> 8;
		uint64_t before = atomic_load_explicit(&backlog->bytes[p], memory_order_relaxed);
		/* Up at a half of the ring, down below a quarter. */
		bool full = half != 0 && backlog->mean_q8[p] != 0 &&
			    frames >= (before >= BACKLOG_BYTES_ALL ? half / 2 : half);

		if (full)
			bytes += BACKLOG_BYTES_ALL;
		atomic_store_explicit(&backlog->bytes[p], bytes, memory_order_relaxed);
	}
	/* For the port's owner to decide. */
	port_bits_set(&worker->dirty, port);
}

/* One ring more or less of this worker's holds frames. */
static void count_rings(struct worker *worker, uint64_t change)
{
	counter_add(&worker->backlogs, change);
}

/* The ring is empty again. */
static void drained(struct worker *worker, uint16_t port, struct backlog *backlog)
{
	atomic_store_explicit(&backlog->frames, 0, memory_order_relaxed);
	if (backlog->shed)
		worker->shedding--;
	backlog->shed = false;
	port_bits_clear(&worker->backlogged, port);
	count_rings(worker, -UINT64_C(1));
	divide(worker, port, backlog);
}

bool backlog_look(struct worker *worker, uint16_t port, uint32_t count)
{
	struct backlog *backlog = &worker->backlog[port];
	uint32_t frames = 0;

	if (count < BURST_COUNT_MAX) {
		backlog->run = 0;
	} else {
		backlog->run += backlog->run != UINT32_MAX;
		frames = waiting(worker->leaf->io[port], worker->rx_queue[port], backlog);
	}
	if (likely(frames == 0)) {
		if (unlikely(port_bits_test(&worker->backlogged, port)))
			drained(worker, port, backlog);
		return false;
	}
	atomic_store_explicit(&backlog->frames, frames, memory_order_relaxed);
	if (port_bits_test(&worker->backlogged, port)) {
		divide(worker, port, backlog);
	} else {
		port_bits_set(&worker->backlogged, port);
		count_rings(worker, 1);
		learn_mix(worker, port, backlog, true);
	}
	return true;
}

/* A lossless priority of the ring has come half way to its pause, or the ring three quarters of the way. */
static bool is_pressing(const struct worker *worker, uint16_t port, const struct backlog *backlog)
{
	uint32_t frames = atomic_load_explicit(&backlog->frames, memory_order_relaxed);
	uint32_t ring = worker->leaf->io[port]->rx_ring_frames;
	bool scarce = ring != 0 && frames >= ring / 8 * 3;

	for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);
		uint64_t bytes = atomic_load_explicit(&backlog->bytes[p], memory_order_relaxed);

		if (bytes != 0 &&
		    (scarce || 2 * (bytes + buffer_occupancy(worker, port, (uint8_t)p)) >
				       buffer_xoff_bytes(worker, port, p)))
			return true;
	}
	return false;
}

void backlog_measure(struct worker *worker, uint16_t port)
{
	struct backlog *backlog = &worker->backlog[port];
	bool shed;

	learn_mix(worker, port, backlog, false);
	divide(worker, port, backlog);
	shed = is_pressing(worker, port, backlog);
	if (shed != backlog->shed)
		worker->shedding = (uint16_t)(worker->shedding + (shed ? 1 : -1));
	backlog->shed = shed;
}

bool backlog_sheds(const struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	uint8_t kept = worker->lossless_mask | worker->snapshot->strict_mask;

	return worker->shedding != 0 && egress != worker->leaf->port_count &&
	       (kept >> packet_meta(packet)->priority & 1) == 0;
}

void backlog_mark(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	const struct backlog *backlog = &worker->backlog[worker->room_port];
	uint8_t priority = packet_meta(packet)->priority;
	uint64_t bytes = atomic_load_explicit(&backlog->bytes[priority], memory_order_relaxed);
	uint32_t frames = atomic_load_explicit(&backlog->frames, memory_order_relaxed);
	uint32_t ring = worker->leaf->io[worker->room_port]->rx_ring_frames;
	const struct mark_table *table =
		snapshot_mark(worker->snapshot, worker->room_port, priority);

	/* The last depth there is: all. Where nothing is marked, min is no less. */
	if (bytes > UINT32_MAX || (ring != 0 && frames >= ring / 4))
		bytes = UINT32_MAX;
	if (mark_ecn(table, (uint32_t)bytes, &worker->random)) {
		egress_mark_packet(worker, egress, packet);
		counter_add(&worker->port_counters[worker->room_port].backlog_marks, 1);
	}
}

uint64_t backlog_rings(const struct leaf *leaf)
{
	uint64_t rings = 0;

	for (uint16_t w = 0; w < leaf->worker_count; w++)
		rings += counter_get(&leaf->worker[w]->backlogs);
	return rings;
}

uint64_t backlog_bytes(const struct leaf *leaf, uint16_t port, uint32_t priority)
{
	uint64_t bytes = 0;

	for (uint16_t w = 0; w < leaf->worker_count; w++)
		bytes += atomic_load_explicit(&leaf->worker[w]->backlog[port].bytes[priority],
					      memory_order_relaxed);
	return bytes;
}

uint64_t backlog_frames(const struct leaf *leaf, uint16_t port)
{
	uint64_t frames = 0;

	for (uint16_t w = 0; w < leaf->worker_count; w++)
		frames += atomic_load_explicit(&leaf->worker[w]->backlog[port].frames,
					       memory_order_relaxed);
	return frames;
}
