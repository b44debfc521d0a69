/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * peaks - the most that queues, pairs and the pool held, in three copies that clear apart.
 *
 * Whoever fills keeps one recent peak, as cheap as before. A clear is a request: control adds one to a
 * count of that kind, and each worker folds its recent peaks into the kinds' kept ones at its next poll,
 * forgets those of the kind, and starts the recent peak again from what stands there. As one thread
 * fills and clears, no peak falls between the two.
 *
 * A reader loads the recent peak first, then the kept one: what has left the one is in the other.
 *
 * Source of the three kinds: SONiC, doc/buffer-watermark/watermarks_HLD.md.
 *
 * Thread: peaks_clear() by each worker in its poll; peak_read() by any.
 */
#ifndef DATAPLANE_PEAKS_H
#define DATAPLANE_PEAKS_H

#include <stdatomic.h>
#include <stdint.h>

#include "dataplane/leaf.h"

struct worker;

/* Peaks up to the last clear of any kind, by kind. Written by the owner. */
struct peak_kept {
	_Atomic uint64_t bytes[PEAK_KINDS];
};

/* Of one (port, priority). */
struct pair_peaks {
	struct peak_kept queue, occupancy, headroom;
};

/* leaf.peak_clears has 16 bits for each kind: how often it was cleared. */
#define PEAK_CLEARS_BITS 16

/** Carry out what was asked for since the last time: for all that is this worker's. Cold. */
void peaks_clear(struct worker *worker);

/** @param recent loaded with acquire, before the call */
static inline uint64_t peak_read(uint64_t recent, const struct peak_kept *kept, enum peak_kind kind)
{
	uint64_t bytes = atomic_load_explicit(&kept->bytes[kind], memory_order_relaxed);

	return recent > bytes ? recent : bytes;
}

#endif
