/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/buffer.h"

#include "dataplane/internal.h"

/* The guard ends when this share more buffers are free than where it began, and a burst more. */
#define GUARD_SLACK_SHIFT 3

uint64_t buffer_occupancy(const struct worker *worker, uint16_t port, uint8_t priority)
{
	const struct leaf *leaf = worker->leaf;
	uint64_t charged = 0, discharged = 0;

	for (uint16_t w = 0; w < leaf->worker_count; w++)
		discharged += account_discharged(&leaf->worker[w]->account_row[priority][port]);
	for (uint16_t w = 0; w < leaf->worker_count; w++)
		charged += account_charged(&leaf->worker[w]->account_row[priority][port]);
	return charged - discharged;
}

/* What a pair may have of the shared buffer now. */
static inline uint64_t limit_of(const struct worker *worker, uint32_t priority)
{
	return buffer_limit_bytes(&worker->snapshot->buffer, priority,
				  counter_get(&worker->shared_bytes));
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

	if ((buffer_reasons(state) & PAUSE_BUFFER) != 0) {
		start = state->xoff_bytes;
	} else {
		start = pair->reserved_bytes + limit_of(worker, priority);
		if (start < occupancy)
			start = occupancy; /* a limit that others have lowered */
	}
	if (table->headroom_pool_bytes != 0)
		headroom = above(occupancy, start) +
			   above(table->headroom_pool_bytes, counter_get(&worker->headroom_bytes));
	return (int64_t)above(start + headroom, occupancy);
}

static int64_t room_lossy(const struct worker *worker, uint32_t priority)
{
	const struct buffer_pair *pair =
		snapshot_pair(worker->snapshot, worker->room_port, priority);
	int64_t left = (int64_t)worker->snapshot->buffer.lossy_bytes - worker->lossy_bytes;
	int64_t own = 0;

	if (is_guarded(worker))
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
	}
	worker->opened = 0;
}

/* What a pair takes of the shared buffer and of headroom. */
static void measure(struct worker *worker, uint16_t port, uint32_t priority)
{
	struct buffer_state *state = leaf_state(worker->leaf, port, priority);
	uint64_t occupancy = buffer_occupancy(worker, port, (uint8_t)priority);
	uint64_t reserved = snapshot_pair(worker->snapshot, port, priority)->reserved_bytes;
	uint64_t headroom = 0, shared;

	if ((buffer_reasons(state) & PAUSE_BUFFER) != 0)
		headroom = above(occupancy, state->xoff_bytes);
	shared = above(occupancy - headroom, reserved);
	counter_add(&worker->shared_bytes, shared - state->shared_bytes);
	counter_add(&worker->headroom_bytes, headroom - counter_get(&state->headroom_bytes));
	state->shared_bytes = shared;
	atomic_store_explicit(&state->headroom_bytes, headroom, memory_order_relaxed);
	if (occupancy > atomic_load_explicit(&state->peak_bytes, memory_order_relaxed))
		atomic_store_explicit(&state->peak_bytes, occupancy, memory_order_relaxed);
	if (headroom > atomic_load_explicit(&state->headroom_peak_bytes, memory_order_relaxed))
		atomic_store_explicit(&state->headroom_peak_bytes, headroom, memory_order_relaxed);
}

static void set_reason(struct worker *worker, uint16_t port, uint32_t priority, uint8_t reason,
		       bool on, uint64_t now_ps)
{
	struct buffer_state *state = leaf_state(worker->leaf, port, priority);
	uint8_t before = buffer_reasons(state);
	uint8_t after = on ? before | reason : before & (uint8_t)~reason;

	atomic_store_explicit(&state->reasons, after, memory_order_relaxed);
	if ((before == 0) != (after == 0) &&
	    (worker->snapshot->port[port].pfc & PORT_PFC_SEND) != 0)
		pfc_pause(worker, port, (uint8_t)priority, after != 0, now_ps);
}

/* @return false: at most its reserve, and not paused: no limit concerns it */
static bool decide(struct worker *worker, uint16_t port, uint32_t priority, uint64_t now_ps)
{
	struct buffer_state *state = leaf_state(worker->leaf, port, priority);
	const struct buffer_table *table = &worker->snapshot->buffer;
	uint64_t reserved = snapshot_pair(worker->snapshot, port, priority)->reserved_bytes;
	uint64_t occupancy = buffer_occupancy(worker, port, (uint8_t)priority);
	uint64_t limit = limit_of(worker, priority);

	if ((buffer_reasons(state) & PAUSE_BUFFER) == 0) {
		if (occupancy > reserved + limit) {
			state->xoff_bytes = occupancy;
			set_reason(worker, port, priority, PAUSE_BUFFER, true, now_ps);
		}
	} else {
		if (occupancy <= buffer_xon_bytes(table, priority, reserved, limit)) {
			set_reason(worker, port, priority, PAUSE_BUFFER, false, now_ps);
			measure(worker, port, priority);
		}
	}
	return occupancy > reserved || buffer_reasons(state) != 0;
}

static void decide_port(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	bool active = false;

	for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1)
		active |= decide(worker, port, (uint32_t)__builtin_ctz(rest), now_ps);
	if (active)
		port_bits_set(&worker->active, port);
	else if (port_bits_test(&worker->active, port))
		port_bits_clear(&worker->active, port);
}

void buffer_evaluate(struct worker *worker, uint64_t now_ps)
{
	uint64_t before = counter_get(&worker->shared_bytes);
	uint16_t port;

	PORT_BITS_FOREACH(&worker->dirty, port)
	{
		for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1)
			measure(worker, port, (uint32_t)__builtin_ctz(rest));
	}
	PORT_BITS_FOREACH(&worker->dirty, port)
	{
		decide_port(worker, port, now_ps);
		port_bits_clear(&worker->dirty, port);
	}
	if (counter_get(&worker->shared_bytes) == before)
		return;
	/* Their limit has changed. */
	PORT_BITS_FOREACH(&worker->active, port)
	decide_port(worker, port, now_ps);
}

static __rte_noinline void guard_turn(struct worker *worker, bool on, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;

	atomic_store_explicit(&worker->guarded, on, memory_order_relaxed);
	for (uint16_t port = 0; port < leaf->port_count; port++) {
		if (leaf->owner[port] != worker->id)
			continue;
		for (uint32_t rest = worker->lossless_mask; rest != 0; rest &= rest - 1)
			set_reason(worker, port, (uint32_t)__builtin_ctz(rest), PAUSE_GUARD, on,
				   now_ps);
	}
}

static __rte_noinline void limit_lossy(struct worker *worker)
{
	const struct buffer_table *table = &worker->snapshot->buffer;
	uint64_t left = worker->lossy_bytes > 0
				? above(table->lossy_bytes, (uint64_t)worker->lossy_bytes)
				: table->lossy_bytes;

	worker->limit_bytes = worker->lossy_bytes;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		uint64_t limit = left * table->class[p].alpha_q8 >> 8;

		worker->queue_limit[p] = (worker->lossless_mask >> p & 1) != 0 || limit > UINT32_MAX
						 ? UINT32_MAX
						 : (uint32_t)limit;
	}
}

void buffer_begin(struct worker *worker, uint64_t now_ps)
{
	const struct buffer_table *table = &worker->snapshot->buffer;
	int64_t left = (int64_t)table->packets_max - worker->queued_packets;
	int64_t guard = table->guard_packets;
	bool guarded = is_guarded(worker);

	if (unlikely(!guarded && left <= guard && guard != 0))
		guard_turn(worker, true, now_ps);
	else if (unlikely(guarded && left > guard + (guard >> GUARD_SLACK_SHIFT) + BURST_COUNT_MAX))
		guard_turn(worker, false, now_ps);
	if (worker->lossy_bytes != worker->limit_bytes)
		limit_lossy(worker);
}

void buffer_configure(struct worker *worker, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;
	const struct snapshot *snapshot = worker->snapshot;

	worker->lossless_mask = snapshot->lossless_mask;
	worker->lossy_bytes = 0;
	for (uint16_t port = 0; port < leaf->ports; port++) {
		bool ours = leaf->owner[port] == worker->id;

		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			const struct account *account = &worker->account_row[p][port];

			if ((snapshot->lossless_mask >> p & 1) == 0) {
				uint64_t discharged = account_discharged(account);

				worker->lossy_bytes +=
					(int64_t)(account_charged(account) - discharged);
				if (ours)
					set_reason(worker, port, p, PAUSE_BUFFER | PAUSE_GUARD,
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
	limit_lossy(worker);
}
