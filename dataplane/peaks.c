/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/peaks.h"

#include "dataplane/internal.h"
#include "dataplane/leaf.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* A recent peak goes into all kinds but those that are cleared. The caller then restarts it (release). */
static void fold(struct peak_kept *kept, unsigned kinds, uint64_t recent)
{
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++) {
		uint64_t before = counter_get(&kept->bytes[kind]);

		atomic_store_explicit(&kept->bytes[kind],
				      (kinds >> kind & 1) != 0 ? 0 : larger(before, recent),
				      memory_order_relaxed);
	}
}

static void fold_bytes(struct peak_kept *kept, unsigned kinds, _Atomic uint64_t *recent,
		       uint64_t now)
{
	fold(kept, kinds, counter_get(recent));
	atomic_store_explicit(recent, now, memory_order_release);
}

static void clear_port(struct worker *worker, uint16_t port, unsigned kinds)
{
	struct leaf *leaf = worker->leaf;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct pair_peaks *peaks = &leaf->peaks[p * leaf->ports + port];
		struct buffer_state *state = leaf_state(leaf, port, p);
		struct egress_queue *queue = leaf_queue(leaf, port, p);
		uint32_t depth = queue_depth_bytes(queue);
		bool lossless = (worker->lossless_mask >> p & 1) != 0;

		fold(&peaks->queue, kinds,
		     atomic_load_explicit(&queue->depth_bytes_max, memory_order_relaxed));
		atomic_store_explicit(&queue->depth_bytes_max, depth, memory_order_release);
		fold_bytes(&peaks->occupancy, kinds, &state->peak_bytes,
			   lossless ? buffer_occupancy(worker, port, (uint8_t)p) : 0);
		fold_bytes(&peaks->headroom, kinds, &state->headroom_peak_bytes,
			   counter_get(&state->headroom_bytes));
	}
}

void peaks_clear(struct worker *worker)
{
	struct leaf *leaf = worker->leaf;
	uint64_t clears = atomic_load_explicit(&leaf->peak_clears, memory_order_relaxed);
	uint64_t changed = clears ^ worker->peak_clears, shared = 0, headroom = 0;
	unsigned kinds = 0;

	for (unsigned kind = 0; kind < PEAK_KINDS; kind++)
		if ((changed >> kind * PEAK_CLEARS_BITS & ((1u << PEAK_CLEARS_BITS) - 1)) != 0)
			kinds |= 1u << kind;
	for (uint16_t port = 0; port < leaf->ports; port++)
		if (leaf->owner[port] == worker->id)
			clear_port(worker, port, kinds);
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		shared += counter_get(&leaf->worker[i]->shared_bytes);
		headroom += counter_get(&leaf->worker[i]->headroom_bytes);
	}
	fold_bytes(&worker->shared_kept, kinds, &worker->shared_peak_bytes, shared);
	fold_bytes(&worker->headroom_kept, kinds, &worker->headroom_peak_bytes, headroom);
	worker->peak_clears = clears;
}

void leaf_clear_peaks(struct leaf *leaf, enum peak_kind kind)
{
	const uint64_t mask = (UINT64_C(1) << PEAK_CLEARS_BITS) - 1;
	uint64_t clears = atomic_load_explicit(&leaf->peak_clears, memory_order_relaxed);
	unsigned shift = kind * PEAK_CLEARS_BITS;
	uint64_t count = (clears >> shift) + 1;

	clears = (clears & ~(mask << shift)) | (count & mask) << shift;
	atomic_store_explicit(&leaf->peak_clears, clears, memory_order_relaxed);
}

static uint64_t acquired(const _Atomic uint64_t *recent)
{
	return atomic_load_explicit(recent, memory_order_acquire);
}

void leaf_peaks(const struct leaf *leaf, uint16_t port, uint8_t priority, enum peak_kind kind,
		struct peak_totals *totals)
{
	const struct pair_peaks *peaks = &leaf->peaks[priority * leaf->ports + port];
	const struct buffer_state *state = leaf_state(leaf, port, priority);
	const struct egress_queue *queue = leaf_queue(leaf, port, priority);
	uint64_t depth = queue_depth_bytes(queue);
	uint64_t deepest = atomic_load_explicit(&queue->depth_bytes_max, memory_order_acquire);

	totals->queue_bytes = peak_read(larger(depth, deepest), &peaks->queue, kind);
	totals->occupancy_bytes = peak_read(acquired(&state->peak_bytes), &peaks->occupancy, kind);
	totals->headroom_bytes =
		peak_read(acquired(&state->headroom_peak_bytes), &peaks->headroom, kind);
}

void leaf_pool_peaks(const struct leaf *leaf, enum peak_kind kind, struct pool_peak_totals *totals)
{
	*totals = (struct pool_peak_totals){0};
	/* All see the same buffers. */
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct worker *worker = leaf->worker[i];

		totals->shared_bytes =
			larger(totals->shared_bytes, peak_read(acquired(&worker->shared_peak_bytes),
							       &worker->shared_kept, kind));
		totals->headroom_bytes = larger(totals->headroom_bytes,
						peak_read(acquired(&worker->headroom_peak_bytes),
							  &worker->headroom_kept, kind));
	}
}
