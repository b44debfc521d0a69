/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/worker.h"

#include "dataplane/balance/spray.h"
#include "dataplane/internal.h"
#include "dataplane/storm.h"

/* Flooded frames per second and worker; each may become as many copies as its VLAN has ports. */
#define FLOOD_RATE_PPS 100000
#define FLOOD_BURST    1000

/* The FDB is swept once per quarter of its ageing time, in this many steps. */
#define SWEEP_STEPS  64
#define SWEEP_ROUNDS 4
#define SWEEP_PS_MIN PS_PER_MS

static uint32_t share(uint32_t all, uint32_t workers)
{
	return all / workers != 0 ? all / workers : 1;
}

static __rte_noinline void start(struct worker *worker, uint64_t now_ps)
{
	static const struct {
		uint32_t rate, burst;
	} limits[PUNT_COUNT] = {
#define PUNT_LIMIT_(id, name, rate, burst, help) [PUNT_##id] = {rate, burst},
		PUNT_REASONS(PUNT_LIMIT_)
#undef PUNT_LIMIT_
	};

	const uint32_t workers = worker->leaf->worker_count;

	/* Of the leaf; each has its share. */
	worker->flood_policer =
		policer_of(now_ps, share(FLOOD_RATE_PPS, workers), share(FLOOD_BURST, workers));
	for (uint32_t reason = PUNT_NONE + 1; reason < PUNT_COUNT; reason++)
		worker->punt_policer[reason] =
			policer_of(now_ps, share(limits[reason].rate, workers),
				   share(limits[reason].burst, workers));
	for (uint16_t port = 0; port < worker->leaf->ports; port++) {
		if (worker->leaf->owner[port] != worker->id)
			continue;
		worker->leaf->egress[port].free_ps = now_ps;
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			worker->leaf->egress[port].shaper[p].free_ps = now_ps;
	}
	worker->sweep_ps = now_ps;
	worker->storm_ps = now_ps + STORM_IDLE_PS;
	worker->record_ps = now_ps;
	worker->started = true;
}

/* Take over a new snapshot: rates, weights and limits of the ports that are ours. */
static __rte_noinline void adopt(struct worker *worker, const struct snapshot *snapshot,
				 uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;

	if (!worker->started)
		start(worker, now_ps);
	worker->snapshot = snapshot;
	worker->generation = snapshot == NULL ? 0 : snapshot->generation;
	if (snapshot == NULL)
		return;
	buffer_configure(worker, now_ps);
	links_look(worker);
	if (worker_spray(worker) != NULL)
		spray_configure(worker, now_ps);
	for (uint16_t port = 0; port < leaf->ports; port++) {
		const struct port_io *io = leaf->io[port];

		if (io == NULL)
			continue;
		if (leaf->owner[port] == worker->id)
			egress_configure(worker, port, snapshot, now_ps);
		if ((io->flags & PORT_IO_POLLED) != 0 && worker->rx_queue[port] != QUEUE_NONE)
			port_bits_set(&worker->rx_ready, port);
	}
}

/* The burst's packets are looked at one by one (enqueue.h), or not any more. */
static __rte_noinline void set_late(struct worker *worker, bool late)
{
	worker->late = late;
	if (late)
		memset(worker->queue_limit, 0, sizeof(worker->queue_limit));
	else
		buffer_limit_queues(worker);
}

/* One burst of a port, through all stages. True when more may wait. */
static inline bool receive(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	struct port_io *io = worker->leaf->io[port];
	struct burst burst;
	bool late = false;
	uint32_t count;

	count = io->ops->rx_burst(io, worker->rx_queue[port], burst.packet, BURST_COUNT_MAX);
	if (count < BURST_COUNT_MAX && (io->flags & PORT_IO_POLLED) == 0)
		port_bits_clear(&worker->rx_ready, port);
	if (count == BURST_COUNT_MAX || unlikely(worker->backlog[port].run != 0))
		late = backlog_look(worker, port, count);
	if (count == 0)
		return false;
	if (unlikely(leaf_capturing(worker->leaf) != NULL))
		capture_received(worker, port, burst.packet, count);
	if (unlikely(late))
		set_late(worker, true);
	burst.snapshot = worker->snapshot;
	burst.now_ps = now_ps;
	burst.count = count;
	burst.port = port;
	counter_add(&worker->port_counters[port].rx_packets, count);
	counter_add(&worker->rx_packets, count);
	worker->room_port = port;
	forward_burst(worker, &burst);
	buffer_charge(worker);
	if (unlikely(late)) {
		backlog_measure(worker, port);
		set_late(worker, false);
	}
	if (unlikely(worker->handing != 0))
		handover_flush(worker);
	return count == BURST_COUNT_MAX;
}

static inline bool transmit(struct worker *worker, uint64_t now_ps)
{
	uint64_t due_ps = now_ps;
	bool more = false;
	uint16_t port;

	PORT_BITS_FOREACH(&worker->tx_ready, port)
	{
		if (!egress_run(worker, port, now_ps, &due_ps)) {
			worker->leaf->egress[port].pending = false;
			port_bits_clear(&worker->tx_ready, port);
		} else if (time_after(due_ps, now_ps)) {
			port_timers_arm(&worker->timers, port, due_ps);
			port_bits_clear(&worker->tx_ready, port);
		} else {
			more = true;
		}
	}
	return more;
}

/* No stored time may grow so old that it looks like one to come (units.h): a few at each step. */
static void refresh_times(struct worker *worker, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;
	struct policer *policer = worker->punt_policer;

	policer_refresh(&worker->flood_policer, now_ps);
	for (uint32_t reason = PUNT_NONE + 1; reason < PUNT_COUNT; reason++)
		policer_refresh(&policer[reason], now_ps);
	for (uint32_t i = 0; i <= leaf->ports / SWEEP_STEPS; i++) {
		if (worker->refresh_port >= leaf->ports)
			worker->refresh_port = 0;
		if (leaf->owner[worker->refresh_port] == worker->id) {
			egress_refresh(&leaf->egress[worker->refresh_port], now_ps);
			pfc_refresh(worker, worker->refresh_port, now_ps);
		}
		worker->refresh_port++;
	}
}

static void sweep_fdb(struct worker *worker, uint64_t now_ps)
{
	const struct snapshot *snapshot = worker->snapshot;
	struct port_bits down = {0};

	for (uint16_t port = 0; port < snapshot->port_count; port++)
		if (!worker_link_up(worker, port))
			port_bits_set(&down, port);
	fdb_sweep(worker->leaf->fdb, fdb_slot_count(worker->leaf->fdb) / 4 / SWEEP_STEPS + 1,
		  now_ps, snapshot->fdb_age_ps, &down);
}

static __rte_noinline void sweep(struct worker *worker, uint64_t now_ps)
{
	uint64_t step_ps = worker->snapshot->fdb_age_ps / SWEEP_ROUNDS / SWEEP_STEPS;

	refresh_times(worker, now_ps);
	if (worker->id == 0)
		sweep_fdb(worker, now_ps); /* it has one writer */
	worker->sweep_ps = now_ps + (step_ps > SWEEP_PS_MIN ? step_ps : SWEEP_PS_MIN);
}

uint64_t worker_poll(struct worker *worker, uint64_t now_ps)
{
	struct leaf *leaf = worker->leaf;
	const struct snapshot *snapshot =
		atomic_load_explicit(&leaf->snapshot, memory_order_acquire);
	bool more = false;
	uint64_t due_ps, spray_ps = now_ps + TIME_IDLE_PS;
	uint16_t port;

	worker->now_ps = now_ps;
	worker->dirty_ps = now_ps;
	worker->reacted = false;
	counter_add(&worker->polls, 1);
	if (unlikely(snapshot != worker->snapshot))
		adopt(worker, snapshot, now_ps);
	if (unlikely(snapshot == NULL)) {
		rte_rcu_qsbr_quiescent(leaf->qsbr, worker->id);
		return now_ps + TIME_IDLE_PS;
	}

	if (unlikely(links_changes(&leaf->links, leaf->worker_count) != worker->links.changes))
		links_changed(worker, now_ps);
	if (unlikely(atomic_load_explicit(&leaf->peak_clears, memory_order_relaxed) !=
		     worker->peak_clears))
		peaks_clear(worker);
	buffer_begin(worker, now_ps);
	if (!worker->alone)
		more |= handover_take(worker, now_ps);
	PORT_BITS_FOREACH(&worker->rx_ready, port)
	more |= receive(worker, port, now_ps);
	if (unlikely(worker_spray(worker) != NULL))
		spray_ps = spray_run(worker, now_ps);
	/* Before anything is sent: a pause goes first. */
	if (buffer_changed(worker))
		buffer_evaluate(worker, now_ps);
	while (port_timers_due(&worker->timers, now_ps))
		port_wake(worker, port_timers_pop(&worker->timers));
	more |= transmit(worker, now_ps);
	if (buffer_changed(worker)) {
		buffer_evaluate(worker, now_ps);
		more |= !port_bits_empty(&worker->tx_ready);
	}

	if (unlikely(!time_after(worker->sweep_ps, now_ps)))
		sweep(worker, now_ps);
	if (unlikely(!time_after(worker->storm_ps, now_ps))) {
		storm_sweep(worker, now_ps);
		buffer_evaluate(worker, now_ps); /* what was dropped waits no more */
		more |= !port_bits_empty(&worker->tx_ready);
	}
	/* Last, so that it sees what is left. */
	if (unlikely(!time_after(worker->record_ps, now_ps)))
		recorder_look(worker, now_ps);
	due_ps = time_min(time_min(worker->sweep_ps, worker->storm_ps), spray_ps);
	rte_rcu_qsbr_quiescent(leaf->qsbr, worker->id);
	if (more)
		return now_ps;
	if (!worker->alone && handover_waits(worker))
		due_ps = time_min(due_ps, now_ps + HANDOVER_RETRY_PS);
	if (unlikely(worker->recorder != NULL))
		due_ps = time_min(due_ps, recorder_due_ps(worker, now_ps));
	if (worker->timers.count != 0)
		due_ps = time_min(due_ps, port_timers_next(&worker->timers));
	return due_ps;
}

void worker_ready(struct worker *worker, uint16_t port)
{
	port_bits_set(&worker->rx_ready, port);
}

uint64_t worker_wakes(struct worker *worker)
{
	uint64_t wakes = worker->wakes;

	worker->wakes = 0;
	return wakes;
}

bool worker_reacted(const struct worker *worker, uint64_t *since_ps)
{
	*since_ps = worker->reaction_ps;
	return worker->reacted;
}

void worker_activity(const struct worker *worker, struct worker_activity *activity)
{
	activity->polls = counter_get(&worker->polls);
	activity->rx_packets = counter_get(&worker->rx_packets);
	activity->tx_packets = counter_get(&worker->tx_packets);
}

void worker_offline(struct worker *worker)
{
	rte_rcu_qsbr_thread_offline(worker->leaf->qsbr, worker->id);
}

void worker_online(struct worker *worker)
{
	const struct snapshot *snapshot;

	rte_rcu_qsbr_thread_online(worker->leaf->qsbr, worker->id);
	/*
	 * The one we knew may be gone, and a new one lie at its address: worker_poll(), which looks
	 * at the address alone, must not take it for the old one.
	 */
	snapshot = atomic_load_explicit(&worker->leaf->snapshot, memory_order_acquire);
	if (snapshot != NULL && snapshot->generation != worker->generation)
		worker->snapshot = NULL;
}

bool worker_release_peers(struct worker *worker, uint64_t now_ps)
{
	bool told = true;

	for (uint16_t port = 0; port < worker->leaf->ports; port++) {
		uint64_t due_ps;

		if (worker->leaf->owner[port] != worker->id || !worker->leaf->egress[port].up)
			continue;
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			pfc_pause(worker, port, p, false, now_ps);
		told &= pfc_send(worker, port, now_ps, &due_ps);
	}
	return told;
}

void worker_flush(struct worker *worker)
{
	handover_drop(worker);
	spray_flush(worker);
	for (uint16_t port = 0; port < worker->leaf->ports; port++)
		if (worker->leaf->owner[port] == worker->id)
			egress_flush(worker, port, DROP_STOPPED);
}
