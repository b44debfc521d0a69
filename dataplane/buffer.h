/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * buffer - who may put how many bytes into the leaf, and when a peer must pause.
 *
 * Thresholds are in wire bytes. A lossless pair (ingress port, priority) has its reserve, then takes
 * from the shared buffer up to a dynamic threshold (Choudhury and Hahne, IEEE/ACM ToN 1998)
 *	limit = alpha * free,  free = max(0, shared - used)
 * and when its occupancy exceeds reserve + limit, its peer is paused (xoff); what still arrives goes
 * into its headroom, the part above the occupancy that it had at xoff. The pause ends (xon) when the
 * occupancy is at most max(reserve, limit - xon_offset), and always when it is 0. A lossless packet
 * is dropped only past its headroom: a fault of the peer or of the plan, counted as HEADROOM.
 *
 * Lossy packets have a cap of their own, `lossy`, so that they never lower a lossless limit. What is
 * left of it, times alpha, limits each egress queue.
 *
 * What is scarce underneath is buffers. When as few as `guard_packets` are left, every lossless
 * pair is paused and lossy packets are refused, whatever the bytes say: so no mix of frame sizes can
 * over-commit the pool.
 *
 * Room for a burst is worked out once per priority; a packet subtracts its bytes. So a burst may pass
 * a threshold, not the headroom's end, by at most its own bytes.
 *
 * With several workers every one admits what it receives, by the occupancy of all of them; a port's owner
 * alone decides on its pauses. A threshold of the whole leaf may be passed by a burst of each worker: a
 * term of the plan.
 *
 * Thread: the worker; a pair's state is written by the worker that owns its port.
 */
#ifndef DATAPLANE_BUFFER_H
#define DATAPLANE_BUFFER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/drop.h"
#include "dataplane/snapshot.h"

struct leaf;
struct worker;

/* Why a pair's peer is paused; it is released when all are gone. */
#define PAUSE_BUFFER  0x1u /* its occupancy */
#define PAUSE_GUARD   0x2u /* buffers run out */
#define PAUSE_BACKLOG 0x4u /* and what waits in receive rings (backlog.h) */
#define PAUSE_MOVE    0x8u /* a flow changes its path (balance/adaptive.h) */

/* What the owner knows of one lossless pair. Atomic is what others read: who receives too, and
 * leaf_buffer_totals(). */
struct buffer_state {
	_Atomic uint64_t xoff_bytes;     /* occupancy at xoff, while PAUSE_BUFFER */
	uint64_t measured_bytes;         /* occupancy when last looked at */
	uint64_t shared_bytes;           /* of the shared buffer then */
	_Atomic uint64_t headroom_bytes; /* of headroom, when last looked at */
	_Atomic uint64_t peak_bytes;
	_Atomic uint64_t headroom_peak_bytes;
	_Atomic uint8_t reasons; /* PAUSE_* */
};

/** What one pair may have of the shared buffer when all of them have used_bytes of it. */
static inline uint64_t buffer_limit_bytes(const struct buffer_table *table, uint32_t priority,
					  uint64_t used_bytes)
{
	uint64_t free = table->shared_bytes > used_bytes ? table->shared_bytes - used_bytes : 0;

	return free * table->class[priority].alpha_q8 >> 8;
}

/** Occupancy at which a pair with this limit is let go. */
static inline uint64_t buffer_xon_bytes(const struct buffer_table *table, uint32_t priority,
					uint64_t reserved_bytes, uint64_t limit_bytes)
{
	uint64_t offset = table->class[priority].xon_offset_bytes;
	uint64_t xon = limit_bytes > offset ? limit_bytes - offset : 0;

	return xon > reserved_bytes ? xon : reserved_bytes;
}

/** Why a pair's peer is paused now: PAUSE_*, or 0. Any thread. What xoff_bytes says belongs to it. */
static inline uint8_t buffer_reasons(const struct buffer_state *state)
{
	return atomic_load_explicit(&state->reasons, memory_order_acquire);
}

/** Have the peer pause a pair for a move, or end that. No effect unless the pair is ours and lossless. */
void buffer_pause_move(struct worker *worker, uint16_t port, uint8_t priority, bool pause);

/** Something has changed since buffer_evaluate(): pairs of ours, or what others have used. Hot. */
bool buffer_changed(const struct worker *worker);

/**
 * Look at the pairs that changed and at those that a changed limit may concern; decide xoff and xon.
 * Costs nothing when nothing came or went. Hot.
 */
void buffer_evaluate(struct worker *worker, uint64_t now_ps);

/** Once per poll, before packets are admitted: the guard, and the limits of lossy queues. Hot. */
void buffer_begin(struct worker *worker, uint64_t now_ps);

/**
 * May a packet of the burst be queued? First packet of its priority in the burst, or no room. Cold.
 * @return DROP_COUNT: it may and is accounted for, else why not
 */
enum drop_reason buffer_admit(struct worker *worker, uint8_t priority, uint32_t bytes);

/** A burst has been dealt with: charge what was queued of it. Hot. */
void buffer_charge(struct worker *worker);

/** Take a new snapshot's limits over; forget pauses of classes that aren't lossless any more. */
void buffer_configure(struct worker *worker, uint64_t now_ps);

/* What waits in the leaf. The lossy ones may be off while a reload moves classes between the two kinds. */
struct buffer_use {
	int64_t packets, lossy_packets, lossy_bytes;
};

/** Any thread. */
struct buffer_use buffer_use(const struct leaf *leaf);

/** Above this a pair's peer is paused now. */
uint64_t buffer_xoff_bytes(const struct worker *worker, uint16_t port, uint32_t priority);

/** What lossy queues may hold now goes into worker.queue_limit again. After a late burst (backlog.h). */
void buffer_limit_queues(struct worker *worker);

/** Depth that an egress queue may have now. Cold. */
uint32_t buffer_queue_limit(const struct worker *worker, uint32_t priority);

/** Bytes of one pair that wait in the leaf. Any thread. */
uint64_t buffer_occupancy(const struct worker *worker, uint16_t port, uint8_t priority);

#endif
