/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/*
 * leaf_totals - what readers see of buffers, pauses and marks (leaf.h). Everything loaded here is an
 * atomic that one worker writes.
 */
#include <string.h>

#include "dataplane/internal.h"
#include "dataplane/leaf.h"

/*
 * A writer is between the two changes of `sequence` for some ns; one that is held up there for longer
 * doesn't hold us up.
 */
#define READS_MAX 1000

void leaf_queue_rare_totals(const struct leaf *leaf, uint16_t port, uint8_t priority,
			    struct queue_rare_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct queue_rare_counters *counters =
			worker_queue_rare(leaf->worker[i], port, priority);

#define ADD_(field, unit, help) totals->field += counter_get(&counters->field);
		QUEUE_RARE_COUNTERS(ADD_)
#undef ADD_
	}
}

uint64_t leaf_drops(const struct leaf *leaf, enum drop_reason reason)
{
	uint64_t sum = 0;

	for (uint16_t port = 0; port < leaf->ports; port++)
		for (uint16_t i = 0; i < leaf->worker_count; i++)
			sum += counter_get(&leaf->worker[i]->port_counters[port].drop[reason]);
	return sum;
}

uint32_t leaf_queue_average_bytes(const struct leaf *leaf, const struct snapshot *snapshot,
				  uint16_t port, uint8_t priority, uint64_t now_ps)
{
	uint64_t half_life_ps = snapshot_mark(snapshot, port, priority)->half_life_ps;

	if (half_life_ps == 0)
		return 0;
	return mark_average_read(&leaf->egress[port].average[priority], now_ps, half_life_ps);
}

void leaf_balance_totals(const struct leaf *leaf, struct balance_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
#define ADD_(field, unit, help) \
	totals->field += counter_get(&leaf->worker[i]->balance.counters.field);
		BALANCE_COUNTERS(ADD_)
#undef ADD_
	}
}

void leaf_spray_totals(const struct leaf *leaf, struct spray_totals *totals)
{
	memset(totals, 0, sizeof(*totals));
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct spray *spray = worker_spray(leaf->worker[i]);
		const struct resequencer_counters *ordered;

		if (spray == NULL)
			continue;
		ordered = &spray->resequencer->counters;
#define ADD_(field, unit, help) totals->field += counter_get(&spray->counters.field);
		SPRAY_COUNTERS(ADD_)
#undef ADD_
		totals->held_bytes += counter_get(&ordered->held_bytes);
		totals->held_packets += counter_get(&ordered->held_packets);
		totals->held_bytes_max += counter_get(&ordered->held_bytes_max);
		totals->held_packets_max += counter_get(&ordered->held_packets_max);
		totals->agreed += counter_get(&ordered->flows);
		totals->late += counter_get(&ordered->late);
		totals->duplicates += counter_get(&ordered->duplicates);
		totals->holes += counter_get(&ordered->holes);
		for (uint32_t r = 0; r < RESEQUENCER_REASON_COUNT; r++) {
			totals->given_up[r] += counter_get(&ordered->given_up[r]);
			totals->lost[r] += counter_get(&ordered->lost[r]);
		}
	}
}

static uint64_t acquire(const _Atomic uint64_t *field)
{
	return atomic_load_explicit(field, memory_order_acquire);
}

/* Time since a pause began, until now or its end. A worker's clock may be ahead of our now_ps. */
static uint64_t lasted_ps(uint64_t since_ps, uint64_t end_ps)
{
	return time_after(end_ps, since_ps) ? end_ps - since_ps : 0;
}

/*
 * Pauses of this moment, and the time paused with them. A queue that nobody needs is let go late:
 * its pause is over when its time is.
 */
static void read_pauses(const struct pfc_port *pfc, uint8_t priority, uint64_t now_ps,
			struct pfc_totals *totals)
{
	const struct pfc_counters *count = &pfc->count[priority];
	uint8_t rx = atomic_load_explicit(&pfc->paused, memory_order_acquire) >> priority & 1;
	uint8_t tx = atomic_load_explicit(&pfc->paused_peer, memory_order_acquire) >> priority & 1;
	uint64_t until_ps = acquire(&pfc->until_ps[priority]);

	totals->rx_paused_ps = acquire(&count->rx_paused_ps);
	totals->tx_paused_ps = acquire(&count->tx_paused_ps);
	if (rx != 0)
		totals->rx_paused_ps +=
			lasted_ps(acquire(&pfc->rx_since_ps[priority]), time_min(now_ps, until_ps));
	if (tx != 0)
		totals->tx_paused_ps += lasted_ps(acquire(&pfc->tx_since_ps[priority]), now_ps);
	totals->rx_last_ps = acquire(&pfc->rx_since_ps[priority]);
	totals->tx_last_ps = acquire(&pfc->tx_since_ps[priority]);
	totals->rx_paused = rx != 0 && time_after(until_ps, now_ps);
	totals->tx_paused = tx != 0;
}

void leaf_pfc_totals(const struct leaf *leaf, uint16_t port, uint8_t priority, uint64_t now_ps,
		     struct pfc_totals *totals)
{
	const struct pfc_port *pfc = &leaf->pfc[port];
	const struct pfc_counters *count = &pfc->count[priority];
	uint32_t before, after;

	memset(totals, 0, sizeof(*totals));
#define READ_(field, unit, help) totals->field = counter_get(&count->field);
	PFC_COUNTERS(READ_)
#undef READ_
	for (uint32_t reads = 0; reads < READS_MAX; reads++) {
		before = atomic_load_explicit(&pfc->sequence, memory_order_acquire);
		read_pauses(pfc, priority, now_ps, totals);
		after = atomic_load_explicit(&pfc->sequence, memory_order_relaxed);
		if (before == after && before % 2 == 0)
			break;
	}
}

void leaf_pfc_port_totals(const struct leaf *leaf, uint16_t port, struct pfc_port_totals *totals)
{
	const struct pfc_port_counters *count = &leaf->pfc[port].port_count;

#define READ_(field, unit, help) totals->field = counter_get(&count->field);
	PFC_PORT_COUNTERS(READ_)
#undef READ_
}

static uint64_t shared_used(const struct leaf *leaf)
{
	uint64_t bytes = 0;

	for (uint16_t i = 0; i < leaf->worker_count; i++)
		bytes += counter_get(&leaf->worker[i]->shared_bytes);
	return bytes;
}

void leaf_buffer_totals(const struct leaf *leaf, const struct snapshot *snapshot, uint16_t port,
			uint8_t priority, struct buffer_totals *totals)
{
	const struct buffer_state *state = leaf_state(leaf, port, priority);
	const struct buffer_pair *pair = snapshot_pair(snapshot, port, priority);
	uint64_t limit = buffer_limit_bytes(&snapshot->buffer, priority, shared_used(leaf));
	struct peak_totals peaks;

	leaf_peaks(leaf, port, priority, PEAK_PERSISTENT, &peaks);
	*totals = (struct buffer_totals){
		.occupancy_bytes = buffer_occupancy(leaf->worker[0], port, priority),
		.peak_bytes = peaks.occupancy_bytes,
		.xoff_bytes = pair->reserved_bytes + limit,
		.xon_bytes =
			buffer_xon_bytes(&snapshot->buffer, priority, pair->reserved_bytes, limit),
		.headroom_used_bytes = counter_get(&state->headroom_bytes),
		.headroom_peak_bytes = peaks.headroom_bytes,
		.backlog_bytes = backlog_bytes(leaf, port, priority) & (BACKLOG_BYTES_ALL - 1),
		.reasons = buffer_reasons(state),
	};
}

void leaf_buffer_pool_totals(const struct leaf *leaf, const struct snapshot *snapshot,
			     struct buffer_pool_totals *totals)
{
	struct pool_peak_totals peaks;

	leaf_pool_peaks(leaf, PEAK_PERSISTENT, &peaks);
	*totals = (struct buffer_pool_totals){.shared_used_bytes = shared_used(leaf),
					      .shared_peak_bytes = peaks.shared_bytes,
					      .headroom_peak_bytes = peaks.headroom_bytes};
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct worker *worker = leaf->worker[i];

		totals->headroom_used_bytes += counter_get(&worker->headroom_bytes);
		totals->guarded |= atomic_load_explicit(&worker->guarded, memory_order_relaxed);
		if (counter_get(&worker->guards) > totals->guards)
			totals->guards = counter_get(&worker->guards);
	}
	for (uint16_t port = 0; port < leaf->ports; port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			totals->queued_packets += queue_depth_packets(leaf_queue(leaf, port, p));
			if ((snapshot->lossless_mask >> p & 1) == 0)
				totals->lossy_used_bytes +=
					buffer_occupancy(leaf->worker[0], port, p);
		}
	}
}
