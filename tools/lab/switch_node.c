/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/switch_node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>
#include <rte_memory.h>

#include "dataplane/fib.h"
#include "dataplane/worker.h"
#include "tools/lab/allocate.h"

/* Polls of a switch at one picosecond, before others get their turn. */
#define STEPS_MAX 1000

/* Ports are dealt out to workers in turn. */
static inline uint16_t port_owner(const struct switch_node *switch_node, uint16_t port)
{
	return port % switch_node->worker_count;
}

/* Workers have something to do from now on, those that had something already since earlier. */
static inline void switch_want(struct switch_node *switch_node, uint64_t workers, uint64_t now_ps)
{
	for (uint64_t rest = workers & ~switch_node->ready; rest != 0; rest &= rest - 1)
		switch_node->worker[__builtin_ctzll(rest)].wanted_ps = now_ps;
	switch_node->ready |= workers;
}

/* A worker is polled: how long did somebody wait for that? */
static inline void count_lateness(const struct switch_node *switch_node, uint16_t index,
				  struct switch_worker *worker, uint64_t now_ps)
{
	uint64_t since_ps = worker->due_ps, late_ps;

	if ((switch_node->ready >> index & 1) != 0)
		since_ps = time_min(since_ps, worker->wanted_ps);
	late_ps = now_ps - since_ps;
	if (late_ps > SWITCH_LATE_PS)
		worker->late_ps += late_ps;
	if (late_ps > worker->late_max_ps)
		worker->late_max_ps = late_ps;
}

static void switch_arrive(struct node *node, uint16_t port)
{
	struct switch_node *switch_node = (struct switch_node *)node;
	uint16_t owner;

	if (switch_node->ideal) {
		worker_ready(switch_node->first, port);
		return;
	}
	owner = port_owner(switch_node, port);
	worker_ready(leaf_worker(switch_node->leaf, owner), port);
	switch_want(switch_node, UINT64_C(1) << owner, switch_node->node.engine->now_ps);
}

static void switch_check(struct switch_node *switch_node, uint64_t now_ps)
{
	if (leaf_conserved(switch_node->leaf))
		return;
	if (switch_node->violations++ == 0)
		switch_node->violation_ps = now_ps;
}

/* Workers that have something to do now, and are not held up. */
static uint64_t workers_due(const struct switch_node *switch_node, uint64_t now_ps)
{
	uint64_t due = 0;

	for (uint16_t w = 0; w < switch_node->worker_count; w++) {
		const struct switch_worker *worker = &switch_node->worker[w];

		if (((switch_node->ready >> w & 1) != 0 || !time_after(worker->due_ps, now_ps)) &&
		    !time_after(worker->free_ps, now_ps))
			due |= UINT64_C(1) << w;
	}
	return due;
}

static void step_worker(struct switch_node *switch_node, uint16_t index, uint64_t now_ps)
{
	struct switch_worker *worker = &switch_node->worker[index];
	struct worker *polled = leaf_worker(switch_node->leaf, index);
	uint64_t poll_ps = switch_node->poll_ps;

	count_lateness(switch_node, index, worker, now_ps);
	switch_node->ready &= ~(UINT64_C(1) << index);
	worker->due_ps = worker_poll(polled, now_ps);
	switch_want(switch_node, worker_wakes(polled), now_ps);
	if (poll_ps != 0)
		worker->free_ps = now_ps + poll_ps / 2 +
				  random_below(&switch_node->random, poll_ps - poll_ps / 2) + 1;
	if (switch_node->check)
		switch_check(switch_node, now_ps);
}

/* Step all that are due, any of them first, until none is. @return when the next is */
static __rte_noinline uint64_t switch_step_workers(struct switch_node *switch_node, uint64_t now_ps)
{
	uint64_t next_ps = now_ps + TIME_IDLE_PS, due;
	uint32_t steps = 0;

	while ((due = workers_due(switch_node, now_ps)) != 0 && steps++ < STEPS_MAX) {
		uint32_t skip = (uint32_t)random_below(&switch_node->random,
						       (uint64_t)__builtin_popcountll(due));

		while (skip-- != 0)
			due &= due - 1;
		step_worker(switch_node, (uint16_t)__builtin_ctzll(due), now_ps);
	}
	for (uint16_t w = 0; w < switch_node->worker_count; w++) {
		const struct switch_worker *worker = &switch_node->worker[w];
		bool ready = (switch_node->ready >> w & 1) != 0;
		uint64_t due_ps = ready ? now_ps : time_max(worker->due_ps, now_ps);

		next_ps = time_min(next_ps, time_max(due_ps, worker->free_ps));
	}
	return next_ps;
}

void switch_stall(struct switch_node *switch_node, uint16_t worker, uint64_t until_ps)
{
	/* From here on its worker has a time to be free at; what had arrived is still ready. */
	if (switch_node->ideal) {
		switch_node->ideal = false;
		switch_node->worker[0].due_ps = switch_node->node.engine->now_ps;
		switch_want(switch_node, 1, switch_node->node.engine->now_ps);
		engine_wake(switch_node->node.engine, &switch_node->node,
			    switch_node->node.engine->now_ps);
	}
	switch_node->worker[worker].free_ps =
		time_max(switch_node->worker[worker].free_ps, until_ps);
}

static void switch_release(struct switch_node *switch_node)
{
	if (switch_node->retired == NULL ||
	    !leaf_quiet(switch_node->leaf, switch_node->retired_token))
		return;
	switch_node->snapshot_free(switch_node->retired);
	switch_node->retired = NULL;
}

/* What most steps don't need. */
static __rte_noinline void switch_attend(struct switch_node *switch_node, uint64_t now_ps)
{
	if (switch_node->check && switch_node->ideal)
		switch_check(switch_node, now_ps);
	switch_release(switch_node);
	for (struct switch_observer *it = switch_node->observer; it != NULL; it = it->next)
		it->step(it, now_ps);
	switch_node->attention =
		switch_node->check || switch_node->retired != NULL || switch_node->observer != NULL;
}

void switch_observe(struct switch_node *switch_node, struct switch_observer *observer)
{
	observer->next = switch_node->observer;
	switch_node->observer = observer;
	switch_node->attention = true;
}

static uint64_t switch_run(struct node *node, uint64_t now_ps)
{
	struct switch_node *switch_node = (struct switch_node *)node;
	uint64_t next_ps;

	if (likely(switch_node->ideal))
		next_ps = worker_poll(switch_node->first, now_ps);
	else
		next_ps = switch_step_workers(switch_node, now_ps);
	if (unlikely(switch_node->attention))
		switch_attend(switch_node, now_ps);
	return next_ps;
}

static const struct node_ops switch_ops = {
	.kind = "switch",
	.arrive = switch_arrive,
	.run = switch_run,
};

struct switch_node *switch_create(struct engine *engine, const struct switch_params *params)
{
	struct leaf_params leaf = {
		.port_count = params->port_count,
		.worker_count = params->worker_count,
		.pool = params->pool,
		.queue_pool = params->queue_pool,
		.packets_max = params->packets_max,
		.fdb_entries = params->fdb_entries,
		.seed = params->seed,
		.socket = SOCKET_ID_ANY,
	};
	struct switch_node *switch_node = allocate(sizeof(*switch_node));

	switch_node->leaf = leaf_create(&leaf);
	if (switch_node->leaf == NULL) {
		free(switch_node);
		return NULL;
	}
	switch_node->first = leaf_worker(switch_node->leaf, 0);
	switch_node->worker_count = params->worker_count;
	switch_node->poll_ps = params->poll_ps;
	switch_node->rx_ring_frames = params->rx_ring_frames;
	switch_node->ideal = params->worker_count == 1 && params->poll_ps == 0;
	switch_node->random = random_of(params->seed, RANDOM_WORKERS, 0);
	for (uint16_t w = 0; w < params->worker_count; w++)
		switch_node->worker[w].due_ps = switch_node->worker[w].free_ps = engine->now_ps;
	switch_node->port_count = params->port_count;
	switch_node->check = params->check;
	switch_node->attention = params->check;
	switch_node->name = params->name;
	switch_node->io = allocate(params->port_count * sizeof(*switch_node->io));
	memcpy(switch_node->mac, params->mac, sizeof(switch_node->mac));
	engine_add(engine, &switch_node->node, &switch_ops);
	return switch_node;
}

void switch_free(struct switch_node *switch_node)
{
	if (switch_node == NULL)
		return;
	leaf_free(switch_node->leaf);
	if (switch_node->retired != NULL)
		switch_node->snapshot_free(switch_node->retired);
	if (switch_node->snapshot != NULL)
		switch_node->snapshot_free(switch_node->snapshot);
	fib_free(switch_node->fib);
	engine_remove(switch_node->node.engine, &switch_node->node);
	free(switch_node->io);
	free(switch_node);
}

int switch_attach(struct switch_node *switch_node, uint16_t port, struct wire *tx, struct wire *rx)
{
	struct virtual_io *io = &switch_node->io[port];

	virtual_io_init(io, port, switch_node->mac, switch_node->poll_ps == 0, tx, rx);
	virtual_io_set_ring(io, switch_node->rx_ring_frames, &switch_node->snapshot);
	return leaf_attach(switch_node->leaf, port, &io->io, port_owner(switch_node, port));
}

int switch_publish(struct switch_node *switch_node, const struct snapshot *snapshot,
		   void (*snapshot_free)(const struct snapshot *snapshot))
{
	uint64_t now_ps = switch_node->node.engine->now_ps;

	switch_release(switch_node);
	if (switch_node->retired != NULL)
		return -EAGAIN;
	switch_node->retired =
		leaf_publish(switch_node->leaf, snapshot, &switch_node->retired_token);
	switch_node->snapshot = snapshot;
	switch_node->attention = true;
	switch_node->snapshot_free = snapshot_free;
	/* All workers take it over at once, and start their own timers. */
	switch_node->ready = switch_node->worker_count == 64
				     ? ~UINT64_C(0)
				     : (UINT64_C(1) << switch_node->worker_count) - 1;
	engine_wake(switch_node->node.engine, &switch_node->node, now_ps);
	return 0;
}

void switch_lost(struct switch_node *switch_node, struct switch_lost *lost)
{
	memset(lost, 0, sizeof(*lost));
	for (uint16_t port = 0; port < switch_node->port_count; port++) {
		struct virtual_io *io = &switch_node->io[port];

		if (io->rx == NULL)
			continue;
		virtual_io_settle(io);
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			lost->packets[p] += io->lost[p];
		lost->control += io->lost_control;
	}
}
