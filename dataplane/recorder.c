/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/recorder.h"

#include "dataplane/internal.h"
#include "dataplane/recorder_internal.h"

static void write_slot(struct recorder *recorder, uint64_t now_ps, uint64_t what)
{
	uint64_t head = atomic_load_explicit(&recorder->head, memory_order_relaxed);
	struct recorder_slot *slot = &recorder->slot[head & recorder->mask];

	/* Who sees a part of this slot sees the head that says that it was overwritten. */
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&slot->time_ps, now_ps, memory_order_relaxed);
	atomic_store_explicit(&slot->what, what, memory_order_relaxed);
	atomic_store_explicit(&recorder->head, head + 1, memory_order_release);
}

/* --- what was asked for --- */

static void set_phase(struct recorder *recorder, uint8_t phase, uint64_t trigger_ps)
{
	const struct record_request *request = &recorder->request;
	bool waits = request->trigger != RECORD_NOW;
	uint64_t before_ps = waits ? request->for_ps / 2 : 0;
	uint32_t sequence =
		atomic_load_explicit(&recorder->state.sequence, memory_order_relaxed) + 1;

	atomic_store_explicit(&recorder->state.sequence, sequence, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&recorder->state.phase, phase, memory_order_relaxed);
	if (phase == RECORD_RUNNING) {
		atomic_store_explicit(&recorder->state.begin_ps, trigger_ps - before_ps,
				      memory_order_relaxed);
		atomic_store_explicit(&recorder->state.trigger_ps, trigger_ps,
				      memory_order_relaxed);
		atomic_store_explicit(&recorder->state.end_ps,
				      trigger_ps - before_ps + request->for_ps,
				      memory_order_relaxed);
		atomic_store_explicit(&recorder->state.triggered, waits, memory_order_relaxed);
	}
	atomic_store_explicit(&recorder->state.sequence, sequence + 1, memory_order_release);
}

static void set_trigger(struct recorder *recorder, uint16_t port, uint8_t priority)
{
	atomic_store_explicit(&recorder->state.trigger_port, port, memory_order_relaxed);
	atomic_store_explicit(&recorder->state.trigger_priority, priority, memory_order_relaxed);
}

/* Take up a request, if there is a new one and it is whole. */
static void take_request(struct worker *worker, struct recorder *recorder, uint64_t now_ps)
{
	const struct recorder_request *asked = recorder->asked;
	uint32_t sequence = atomic_load_explicit(&asked->sequence, memory_order_acquire);
	struct record_request request = {
		.every_ps = atomic_load_explicit(&asked->every_ps, memory_order_relaxed),
		.for_ps = atomic_load_explicit(&asked->for_ps, memory_order_relaxed),
		.depth_bytes = atomic_load_explicit(&asked->depth_bytes, memory_order_relaxed),
		.port = atomic_load_explicit(&asked->port, memory_order_relaxed),
		.priority = atomic_load_explicit(&asked->priority, memory_order_relaxed),
		.trigger = atomic_load_explicit(&asked->trigger, memory_order_relaxed),
	};

	atomic_thread_fence(memory_order_acquire);
	if (sequence % 2 != 0 ||
	    sequence != atomic_load_explicit(&asked->sequence, memory_order_relaxed))
		return;
	recorder->request = request;
	recorder->every_ps = request.every_ps;
	/* What stands there now is written once more, so that the recording begins with it. */
	memset(recorder->last, 0,
	       (size_t)worker->leaf->ports * PRIORITY_COUNT * sizeof(recorder->last[0]));
	atomic_store_explicit(&recorder->state.request, sequence / 2, memory_order_relaxed);
	set_trigger(recorder, PORT_NONE, PRIORITY_COUNT);
	recorder->armed = request.trigger != RECORD_NOW;
	set_phase(recorder, recorder->armed ? RECORD_ARMED : RECORD_RUNNING, now_ps);
}

static bool triggers(const struct recorder *recorder, uint64_t before, uint64_t what)
{
	switch (recorder->request.trigger) {
	case RECORD_AT_DEPTH:
		return (uint32_t)what >= recorder->request.depth_bytes;
	case RECORD_AT_XOFF:
		return ((what & ~before) >> 56 & RECORD_PEER_PAUSED) != 0;
	default:
		return false;
	}
}

/* --- looks --- */

/* Priorities of a port that are looked at: all of them at the coarse interval. */
static uint8_t wanted(const struct recorder *recorder, uint8_t phase, uint16_t port)
{
	const struct record_request *request = &recorder->request;

	if (phase == RECORD_COARSE)
		return UINT8_MAX;
	if (request->port != PORT_NONE && request->port != port)
		return 0;
	return request->priority < PRIORITY_COUNT ? (uint8_t)(1u << request->priority) : UINT8_MAX;
}

static void look_at_port(struct worker *worker, struct recorder *recorder, uint16_t port,
			 uint8_t priorities, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;
	uint8_t paused = pfc_paused(&leaf->pfc[port]);
	uint8_t peer = pfc_paused_peer(&leaf->pfc[port]);
	uint64_t *last = &recorder->last[(size_t)port * PRIORITY_COUNT];

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		uint8_t flags = (uint8_t)((paused >> p & 1 ? RECORD_PAUSED : 0) |
					  (peer >> p & 1 ? RECORD_PEER_PAUSED : 0));
		uint64_t what = recorder_pack(queue_depth_bytes(&worker->queue_row[p][port]), port,
					      p, flags);

		if ((priorities >> p & 1) == 0 || ((what ^ last[p]) & RECORDER_TELLS) == 0)
			continue;
		write_slot(recorder, now_ps, what);
		if (recorder->armed && triggers(recorder, last[p], what)) {
			recorder->armed = false;
			set_trigger(recorder, port, p);
		}
		last[p] = what;
	}
}

static void look_at_ports(struct worker *worker, struct recorder *recorder, uint8_t phase,
			  uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;

	recorder->waits = false;
	for (uint16_t port = 0; port < leaf->ports; port++) {
		uint8_t priorities;

		if (leaf->owner[port] != worker->id)
			continue;
		priorities = wanted(recorder, phase, port);
		if (priorities == 0)
			continue;
		recorder->waits |= leaf->egress[port].active != 0;
		look_at_port(worker, recorder, port, priorities, now_ps);
	}
}

__rte_noinline void recorder_look(struct worker *worker, uint64_t now_ps)
{
	struct recorder *recorder = worker->recorder;
	uint8_t phase;

	if (recorder == NULL) {
		worker->record_ps = now_ps + STORM_IDLE_PS;
		return;
	}
	if (atomic_load_explicit(&recorder->asked->sequence, memory_order_relaxed) !=
	    2 * atomic_load_explicit(&recorder->state.request, memory_order_relaxed))
		take_request(worker, recorder, now_ps);
	phase = atomic_load_explicit(&recorder->state.phase, memory_order_relaxed);
	look_at_ports(worker, recorder, phase, now_ps);
	if (phase == RECORD_ARMED && !recorder->armed)
		set_phase(recorder, RECORD_RUNNING, now_ps);
	if (phase == RECORD_RUNNING &&
	    !time_after(atomic_load_explicit(&recorder->state.end_ps, memory_order_relaxed),
			now_ps)) {
		recorder->every_ps = recorder->coarse_ps;
		set_phase(recorder, RECORD_COARSE, now_ps);
	}
	/* On a grid, unless polls are further apart. */
	worker->record_ps += recorder->every_ps;
	if (!time_after(worker->record_ps, now_ps) ||
	    time_after(worker->record_ps, now_ps + recorder->every_ps))
		worker->record_ps = now_ps + recorder->every_ps;
}

uint64_t recorder_due_ps(const struct worker *worker, uint64_t now_ps)
{
	const struct recorder *recorder = worker->recorder;

	if (recorder == NULL)
		return now_ps + TIME_IDLE_PS;
	if (recorder->waits)
		return worker->record_ps;
	return atomic_load_explicit(&recorder->state.phase, memory_order_relaxed) == RECORD_RUNNING
		       ? atomic_load_explicit(&recorder->state.end_ps, memory_order_relaxed)
		       : now_ps + TIME_IDLE_PS;
}
