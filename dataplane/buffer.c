/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/buffer.h"

#include "dataplane/internal.h"

/*
 * The guard ends when this share more buffers are free than where it began, and a burst more; or half of all
 * that are not its own, where those are few.
 */
#define GUARD_SLACK_SHIFT 3

static inline int64_t guard_end(const struct buffer_table *table)
{
	int64_t guard = table->guard_packets;
	int64_t slack = (guard >> GUARD_SLACK_SHIFT) + BURST_COUNT_MAX;
	int64_t half = ((int64_t)table->packets_max - guard) / 2;

	return guard + (slack < half ? slack : half);
}

uint64_t buffer_occupancy(const struct worker *worker, uint16_t port, uint8_t priority)
{
	struct account *const *row = worker->leaf->account[priority];
	const uint32_t workers = worker->leaf->worker_count;
	uint64_t charged = 0, discharged = 0;

	for (uint32_t w = 0; w < workers; w++)
		discharged += account_discharged(&row[w][port]);
	for (uint32_t w = 0; w < workers; w++)
		charged += account_charged(&row[w][port]);
	return charged - discharged;
}

struct buffer_use buffer_use(const struct leaf *leaf)
{
	uint64_t packets = 0, lossy_packets = 0, lossy_bytes = 0;

	for (uint16_t w = 0; w < leaf->worker_count; w++) {
		const struct worker *worker = leaf->worker[w];

		packets -= account_discharged(&worker->packets);
		lossy_packets -= account_discharged(&worker->lossy_packets);
		lossy_bytes -= account_discharged(&worker->lossy);
	}
	for (uint16_t w = 0; w < leaf->worker_count; w++) {
		const struct worker *worker = leaf->worker[w];

		packets += account_charged(&worker->packets);
		lossy_packets += account_charged(&worker->lossy_packets);
		lossy_bytes += account_charged(&worker->lossy);
	}
	return (struct buffer_use){(int64_t)packets, (int64_t)lossy_packets, (int64_t)lossy_bytes};
}

/* Of the shared buffer, by all pairs. */
static inline uint64_t shared_used(const struct worker *worker)
{
	return worker->shared_elsewhere + counter_get(&worker->shared_bytes);
}

/* What a pair may have of the shared buffer now. */
static inline uint64_t limit_of(const struct worker *worker, uint32_t priority)
{
	return buffer_limit_bytes(&worker->snapshot->buffer, priority, shared_used(worker));
}

/* What the ports of other workers use. */
static void look_elsewhere(struct worker *worker)
{
	const struct leaf *leaf = worker->leaf;
	uint64_t shared = 0, headroom = 0;

	for (uint16_t w = 0; w < leaf->worker_count; w++) {
		if (w == worker->id)
			continue;
		shared += counter_get(&leaf->worker[w]->shared_bytes);
		headroom += counter_get(&leaf->worker[w]->headroom_bytes);
	}
	worker->shared_elsewhere = shared;
	worker->headroom_elsewhere = headroom;
}

static inline bool is_guarded(const struct worker *worker)
{
	return atomic_load_explicit(&worker->guarded, memory_order_relaxed);
}

static inline uint64_t above(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static int64_t room_lossless(const struct worker *worker, uint32_t priority)
{
	const struct buffer_table *table = &worker->snapshot->buffer;
	const struct buffer_pair *pair =
		snapshot_pair(worker->snapshot, worker->room_port, priority);
	const struct buffer_state *state = leaf_state(worker->leaf, worker->room_port, priority);
	uint64_t occupancy = buffer_occupancy(worker, worker->room_port, (uint8_t)priority);
	uint64_t start, headroom = pair->headroom_bytes;

	/* Ports that came before in this poll count as if they had used nothing but shared bytes. */
	if ((buffer_reasons(state) & PAUSE_BUFFER) != 0) {
		start = counter_get(&state->xoff_bytes);
	} else {
		start = pair->reserved_bytes +
			buffer_limit_bytes(table, priority,
					   shared_used(worker) + worker->shared_since);
		if (start < occupancy)
			start = occupancy; /* a limit that others have lowered */
	}
	if (table->headroom_pool_bytes != 0)
		headroom = above(occupancy, start) +
			   above(table->headroom_pool_bytes,
				 worker->headroom_elsewhere + worker->headroom_since +
					 counter_get(&worker->headroom_bytes));
	return (int64_t)above(start + headroom, occupancy);
}

static int64_t room_lossy(const struct worker *worker, uint32_t priority)
{
	const struct buffer_pair *pair =
		snapshot_pair(worker->snapshot, worker->room_port, priority);
	const struct buffer_table *table = &worker->snapshot->buffer;
	const struct buffer_use use = buffer_use(worker->leaf);
	int64_t left = (int64_t)table->lossy_bytes - use.lossy_bytes;
	int64_t own = 0;

	if (is_guarded(worker) || use.lossy_packets >= table->lossy_packets)
		return 0;
	if (pair->reserved_bytes != 0)
		own = (int64_t)pair->reserved_bytes -
		      (int64_t)buffer_occupancy(worker, worker->room_port, (uint8_t)priority);
	return left > own ? left : own;
}

enum drop_reason buffer_admit(struct worker *worker, uint8_t priority, uint32_t bytes)
{
	bool lossless = (worker->lossless_mask >> priority & 1) != 0;

	if ((worker->opened >> priority & 1) == 0) {
		worker->room[priority] =
			lossless ? room_lossless(worker, priority) : room_lossy(worker, priority);
		worker->room_opened[priority] = worker->room[priority];
		worker->opened |= (uint8_t)(1u << priority);
	}
	if (worker->room[priority] >= bytes) {
		worker->room[priority] -= bytes;
		return DROP_COUNT;
	}
	if (lossless)
		return DROP_HEADROOM;
	return is_guarded(worker) ? DROP_GUARD : DROP_LOSSY_FULL;
}

void buffer_charge(struct worker *worker)
{
	for (uint32_t rest = worker->opened; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);
		int64_t bytes = worker->room_opened[p] - worker->room[p];

		worker->room[p] = 0;
		port_charge(worker, worker->room_port, p, (uint64_t)bytes);
		packets_charge(worker, p);
		if ((worker->lossless_mask >> p & 1) == 0)
			continue;
		if ((buffer_reasons(leaf_state(worker->leaf, worker->room_port, p)) &
		     PAUSE_BUFFER) != 0)
			worker->headroom_since += (uint64_t)bytes;
		else
			worker->shared_since += (uint64_t)bytes;
	}
	worker->opened = 0;
}

static inline void keep_peak(_Atomic uint64_t *peak, uint64_t bytes)
{
	if (bytes > atomic_load_explicit(peak, memory_order_relaxed))
		atomic_store_explicit(peak, bytes, memory_order_relaxed);
}

/* What a pair takes of the shared buffer and of headroom. @return its occupancy */
static uint64_t measure(struct worker *worker, uint16_t port, uint32_t priority)
{
	struct buffer_state *state = leaf_state(worker->leaf, port, priority);
	uint64_t occupancy = buffer_occupancy(worker, port, (uint8_t)priority);
	uint64_t reserved = snapshot_pair(worker->snapshot, port, priority)->reserved_bytes;
	uint64_t headroom = 0, shared;

	if ((buffer_reasons(state) & PAUSE_BUFFER) != 0)
		headroom = above(occupancy, counter_get(&state->xoff_bytes));
	shared = above(occupancy - headroom, reserved);
	counter_add(&worker->shared_bytes, shared - state->shared_bytes);
	counter_add(&worker->headroom_bytes, headroom - counter_get(&state->headroom_bytes));
	state->shared_bytes = shared;
	atomic_store_explicit(&state->headroom_bytes, headroom, memory_order_relaxed);
	keep_peak(&state->peak_bytes, occupancy);
	keep_peak(&state->headroom_peak_bytes, headroom);
	return occupancy;
}

static void set_reason(struct worker *worker, uint16_t port, uint32_t priority, uint8_t reason,
		       bool on, uint64_t now_ps)
{
	struct buffer_state *state = leaf_state(worker->leaf, port, priority);
	uint8_t before = buffer_reasons(state);
	uint8_t after = on ? before | reason : before & (uint8_t)~reason;

	atomic_store_explicit(&state->reasons, after, memory_order_release);
	if ((before == 0) != (after == 0) &&
	    (worker->snapshot->port[port].pfc & PORT_PFC_SEND) != 0)
		pfc_pause(worker, port, (uint8_t)priority, after != 0, now_ps);
}

void buffer_pause_move(struct worker *worker, uint16_t port, uint8_t priority, bool pause)
{
	if (port < worker->leaf->port_count && worker->leaf->owner[port] == worker->id &&
	    (worker->lossless_mask >> priority & 1) != 0)
		set_reason(worker, port, priority, PAUSE_MOVE, pause, worker->now_ps);
}

uint64_t buffer_xoff_bytes(const struct worker *worker, uint16_t port, uint32_t priority)
{
	return snapshot_pair(worker->snapshot, port, priority)->reserved_bytes +
	       limit_of(worker, priority);
}

/*
 * The same xoff, for what waits in receive rings as well. Let go at half of it: a poll's burst comes and goes
 * between two evaluations, and may be more than xon_offset.
 */
static __rte_noinline void decide_backlog(struct worker *worker, uint16_t port, uint32_t priority,
					  uint64_t occupancy, uint64_t xoff, uint64_t now_ps)
{
	uint8_t reasons = buffer_reasons(leaf_state(worker->leaf, port, priority));
	uint64_t waiting = backlog_bytes(worker->leaf, port, priority);

	if ((reasons & PAUSE_BACKLOG) == 0) {
		if (waiting != 0 && occupancy + waiting > xoff)
			set_reason(worker, port, priority, PAUSE_BACKLOG, true, now_ps);
	} else if (waiting == 0 || occupancy + waiting <= xoff / 2) {
		set_reason(worker, port, priority, PAUSE_BACKLOG, false, now_ps);
	}
}

/* Note from which limits on a pair that has been decided on is to be decided on again. */
static inline void note_crossings(struct worker *worker, uint32_t priority, bool paused,
				  uint64_t occupancy, uint64_t reserved)
{
	uint64_t xon_from = occupancy + worker->snapshot->buffer.class[priority].xon_offset_bytes;

	if (occupancy <= reserved)
		return; /* whatever the limit */
	if (paused) {
		if (xon_from < worker->xon_from[priority])
			worker->xon_from[priority] = xon_from;
	} else if (occupancy - reserved > worker->xoff_below[priority]) {
		worker->xoff_below[priority] = occupancy - reserved;
	}
}

/* Until a sweep has found the exact ones: every limit is one. */
static inline void forget_crossings(struct worker *worker)
{
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		worker->xoff_below[p] = UINT64_MAX;
		worker->xon_from[p] = 0;
	}
}

/*
 * Could the limits of now take a pair across its threshold whose own occupancy hasn't changed? The bounds may
 * be of a pair that has sunk since; then a sweep finds nothing, and better ones.
 */
static inline bool crossing(const struct worker *worker)
{
	for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);
		uint64_t limit = limit_of(worker, p);

		if (limit < worker->xoff_below[p] || limit >= worker->xon_from[p])
			return true;
	}
	return false;
}

/* @return false: at most its reserve, and not paused: no limit concerns it */
static bool decide(struct worker *worker, uint16_t port, uint32_t priority, uint64_t occupancy,
		   uint64_t now_ps)
{
	struct buffer_state *state = leaf_state(worker->leaf, port, priority);
	const struct buffer_table *table = &worker->snapshot->buffer;
	uint64_t reserved = snapshot_pair(worker->snapshot, port, priority)->reserved_bytes;
	uint64_t limit = limit_of(worker, priority);

	if ((buffer_reasons(state) & PAUSE_BUFFER) == 0) {
		if (occupancy > reserved + limit) {
			atomic_store_explicit(&state->xoff_bytes, occupancy, memory_order_relaxed);
			set_reason(worker, port, priority, PAUSE_BUFFER, true, now_ps);
		}
	} else {
		if (occupancy <= buffer_xon_bytes(table, priority, reserved, limit)) {
			set_reason(worker, port, priority, PAUSE_BUFFER, false, now_ps);
			(void)measure(worker, port, priority);
		}
	}
	note_crossings(worker, priority, (buffer_reasons(state) & PAUSE_BUFFER) != 0, occupancy,
		       reserved);
	if (unlikely(worker->backlogs_seen != 0 || (buffer_reasons(state) & PAUSE_BACKLOG) != 0))
		decide_backlog(worker, port, priority, occupancy, reserved + limit, now_ps);
	return occupancy > reserved || buffer_reasons(state) != 0;
}

/* @param measured the pairs' occupancies are those of the last measure() */
static void decide_port(struct worker *worker, uint16_t port, bool measured, uint64_t now_ps)
{
	bool active = false;

	for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);
		uint64_t occupancy = measured ? leaf_state(worker->leaf, port, p)->measured_bytes
					      : buffer_occupancy(worker, port, (uint8_t)p);

		active |= decide(worker, port, p, occupancy, now_ps);
	}
	if (active)
		port_bits_set(&worker->active, port);
	else if (port_bits_test(&worker->active, port))
		port_bits_clear(&worker->active, port);
}

bool buffer_changed(const struct worker *worker)
{
	return !port_bits_empty(&worker->dirty) || worker->telling != 0 ||
	       shared_used(worker) != worker->shared_seen;
}

/* We use more: workers whose pairs that may have moved across their threshold have to look. */
static __rte_noinline void wake_limited(struct worker *worker)
{
	const struct leaf *leaf = worker->leaf;

	for (uint16_t w = 0; w < leaf->worker_count; w++)
		if (w != worker->id &&
		    atomic_load_explicit(&leaf->worker[w]->limited, memory_order_relaxed))
			worker->wakes |= UINT64_C(1) << w;
}

/* Decide on every pair that a limit concerns. */
static __rte_noinline void sweep(struct worker *worker, uint64_t now_ps)
{
	uint16_t port;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		worker->xoff_below[p] = 0;
		worker->xon_from[p] = UINT64_MAX;
	}
	PORT_BITS_FOREACH(&worker->active, port)
	decide_port(worker, port, false, now_ps);
	worker->backlogs_swept = worker->backlogs_seen != 0;
}

void buffer_evaluate(struct worker *worker, uint64_t now_ps)
{
	uint64_t before = counter_get(&worker->shared_bytes);
	uint64_t used;
	uint16_t port;

	if (!worker->alone)
		handover_tell(worker, &worker->dirty);
	worker->shared_since = worker->headroom_since = 0;
	worker->backlogs_seen =
		worker->alone ? counter_get(&worker->backlogs) : backlog_rings(worker->leaf);

	PORT_BITS_FOREACH(&worker->dirty, port)
	{
		for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1) {
			uint32_t p = (uint32_t)__builtin_ctz(rest);

			leaf_state(worker->leaf, port, p)->measured_bytes =
				measure(worker, port, p);
		}
	}
	PORT_BITS_FOREACH(&worker->dirty, port)
	{
		decide_port(worker, port, true, now_ps);
		port_bits_clear(&worker->dirty, port);
	}
	if (!worker->alone && counter_get(&worker->shared_bytes) > before)
		wake_limited(worker);
	used = shared_used(worker);
	keep_peak(&worker->shared_peak_bytes, used);
	keep_peak(&worker->headroom_peak_bytes,
		  worker->headroom_elsewhere + counter_get(&worker->headroom_bytes));
	if (used != worker->shared_seen) {
		worker->shared_seen = used;
		if (worker->backlogs_seen != 0 || worker->backlogs_swept || crossing(worker))
			sweep(worker, now_ps);
	}
	atomic_store_explicit(&worker->limited, !port_bits_empty(&worker->active),
			      memory_order_relaxed);
}

static __rte_noinline void guard_turn(struct worker *worker, bool on, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;

	if (on && !is_guarded(worker))
		counter_add(&worker->guards, 1);
	atomic_store_explicit(&worker->guarded, on, memory_order_relaxed);
	for (uint16_t port = 0; port < leaf->port_count; port++) {
		if (leaf->owner[port] != worker->id)
			continue;
		for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1)
			set_reason(worker, port, (uint32_t)__builtin_ctz(rest), PAUSE_GUARD, on,
				   now_ps);
	}
}

/* What lossy packets may still take of their cap. */
static inline uint64_t lossy_left(const struct worker *worker)
{
	int64_t used = worker->limit_bytes;

	return above(worker->snapshot->buffer.lossy_bytes, used > 0 ? (uint64_t)used : 0);
}

static inline uint32_t queue_limit(const struct worker *worker, uint32_t priority, uint64_t left)
{
	uint64_t limit = left * worker->snapshot->buffer.class[priority].alpha_q8 >> 8;

	return (worker->lossless_mask >> priority & 1) != 0 || limit > UINT32_MAX ? UINT32_MAX
										  : (uint32_t)limit;
}

uint32_t buffer_queue_limit(const struct worker *worker, uint32_t priority)
{
	return queue_limit(worker, priority, lossy_left(worker));
}

void buffer_limit_queues(struct worker *worker)
{
	uint64_t left = lossy_left(worker);

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		worker->queue_limit[p] = queue_limit(worker, p, left);
}

static __rte_noinline void limit_lossy(struct worker *worker, int64_t used)
{
	worker->limit_bytes = used;
	buffer_limit_queues(worker);
}

void buffer_begin(struct worker *worker, uint64_t now_ps)
{
	const struct buffer_table *table = &worker->snapshot->buffer;
	const struct buffer_use use = buffer_use(worker->leaf);
	int64_t left = (int64_t)table->packets_max - use.packets;
	int64_t guard = table->guard_packets;
	bool guarded = is_guarded(worker);

	if (!worker->alone)
		look_elsewhere(worker);

	if (unlikely(!guarded && left <= guard && guard != 0))
		guard_turn(worker, true, now_ps);
	else if (unlikely(guarded && left > guard_end(table)))
		guard_turn(worker, false, now_ps);
	if (use.lossy_bytes != worker->limit_bytes)
		limit_lossy(worker, use.lossy_bytes);
}

void buffer_configure(struct worker *worker, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;
	const struct snapshot *snapshot = worker->snapshot;
	uint64_t charged = 0, discharged = 0, admitted = 0, gone = 0;

	worker->lossless_mask = snapshot->lossless_mask;
	forget_crossings(worker);
	for (uint16_t port = 0; port < leaf->ports; port++) {
		bool ours = leaf->owner[port] == worker->id;

		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			const struct account *account = &worker->account_row[p][port];

			if ((snapshot->lossless_mask >> p & 1) == 0) {
				discharged += account_discharged(account);
				charged += account_charged(account);
				if (ours)
					set_reason(worker, port, p,
						   PAUSE_BUFFER | PAUSE_GUARD | PAUSE_BACKLOG |
							   PAUSE_MOVE,
						   false, now_ps);
			}
			/* Taken out of the sums; evaluated anew. */
			if (ours) {
				struct buffer_state *state = leaf_state(leaf, port, p);

				counter_add(&worker->shared_bytes, -state->shared_bytes);
				counter_add(&worker->headroom_bytes,
					    -counter_get(&state->headroom_bytes));
				state->shared_bytes = 0;
				atomic_store_explicit(&state->headroom_bytes, 0,
						      memory_order_relaxed);
			}
		}
		if (ours)
			port_bits_set(&worker->dirty, port);
	}
	for (uint32_t rest = (uint8_t)~worker->lossless_mask; rest != 0; rest &= rest - 1) {
		admitted += worker->charged[__builtin_ctz(rest)];
		gone += worker->gone[__builtin_ctz(rest)];
	}
	account_set(&worker->lossy, charged, discharged);
	account_set(&worker->lossy_packets, admitted, gone);
	if (is_guarded(worker))
		guard_turn(worker, true, now_ps); /* for classes that are lossless now */
	limit_lossy(worker, buffer_use(leaf).lossy_bytes);
}
