/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/faults.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/random.h"
#include "tools/lab/scenario_faults.h"

/* A fault begins or ends. */
struct turn {
	uint64_t time_ps; /* from the start of the run */
	const struct scenario_fault *fault;
	bool begins;
};

struct faults {
	struct node node;
	struct fabric *fabric;
	struct turn *turns; /* in order */
	uint32_t turn_count, next;
};

/* Ends come before begins: the next fault of a link may start where one ends. */
static int turn_order(const void *a, const void *b)
{
	const struct turn *left = a, *right = b;

	if (left->time_ps != right->time_ps)
		return left->time_ps < right->time_ps ? -1 : 1;
	if (left->begins != right->begins)
		return left->begins ? 1 : -1;
	return left->fault < right->fault ? -1 : left->fault > right->fault;
}

static void fault_link_errors(struct faults *faults, const struct turn *turn)
{
	struct fabric *fabric = faults->fabric;
	uint64_t start_ps = fabric->engine->start_ps;
	const struct scenario_fault *fault = turn->fault;

	for (uint32_t end = 0; end < 2 && turn->begins; end++) {
		uint32_t wire = 2 * fault->index + end;
		struct wire_errors errors = {
			.rate = fault->errors,
			.random = random_of(fabric->scenario->seed, RANDOM_ERRORS,
					    wire | (uint64_t)(fault - fabric->scenario->faults)
							    << 32),
			.from_ps = start_ps + fault->at_ps,
			.until_ps = start_ps + fault->end_ps,
			.endless = fault->end_ps == UINT64_MAX,
		};

		wire_corrupt(&fabric->wires[wire], &errors);
	}
}

/* The frame that is being taken is taken at the rate before. */
static void fault_slow_receiver(struct host *host, const struct turn *turn)
{
	uint64_t drain_bps =
		turn->begins ? turn->fault->speed_bps : host->params.receive_buffer.drain_bps;

	host->buffer->params.drain_bps = drain_bps;
	host->buffer->drain = wire_rate_of(drain_bps);
}

static void turn_act(struct faults *faults, const struct turn *turn)
{
	const struct scenario_fault *fault = turn->fault;
	struct fabric *fabric = faults->fabric;
	uint64_t last_ps = fabric->scenario->duration_ps + PS_PER_S; /* behind the end */
	uint64_t end_ps =
		fabric->engine->start_ps + (fault->end_ps < last_ps ? fault->end_ps : last_ps);

	switch (fault->kind) {
	case SCENARIO_LINK_DOWN:
		fabric_link_set(fabric, fault->index, !turn->begins);
		break;
	case SCENARIO_LINK_SPEED:
		fabric_link_speed(
			fabric, fault->index,
			turn->begins ? fault->speed_bps
				     : fabric->scenario->topology->links[fault->index].rate_bps);
		break;
	case SCENARIO_LINK_ERRORS:
		fault_link_errors(faults, turn);
		break;
	case SCENARIO_STALL:
		for (uint32_t end = 0; end < 2 && turn->begins; end++)
			wire_hold(&fabric->wires[2 * (size_t)fault->index + end], end_ps);
		break;
	case SCENARIO_PAUSE_STORM:
		if (turn->begins)
			host_storm(&fabric->hosts[fault->index], fault->priorities, end_ps);
		break;
	case SCENARIO_SILENT_HOST:
		host_silence(&fabric->hosts[fault->index], turn->begins);
		break;
	case SCENARIO_WORKER_STALL:
		if (turn->begins)
			switch_stall(fabric->switches[fault->index], (uint16_t)fault->worker,
				     end_ps);
		break;
	case SCENARIO_SLOW_RECEIVER:
		fault_slow_receiver(&fabric->hosts[fault->index], turn);
		break;
	default:
		assert(false);
	}
}

/* Do what is due, and tell the switches. @return when there is more to do */
static uint64_t faults_act(struct faults *faults, uint64_t now_ps)
{
	uint64_t since_ps = now_ps - faults->fabric->engine->start_ps;
	uint64_t next_ps = now_ps + TIME_IDLE_PS;
	int result;

	for (; faults->next != faults->turn_count; faults->next++) {
		const struct turn *turn = &faults->turns[faults->next];

		if (turn->time_ps > since_ps) {
			next_ps = faults->fabric->engine->start_ps + turn->time_ps;
			break;
		}
		turn_act(faults, turn);
	}
	result = fabric_refresh(faults->fabric);
	if (result == -EAGAIN)
		return time_min(next_ps, now_ps + FAULTS_RETRY_PS);
	if (result != 0)
		fprintf(stderr, "roceleaf-lab: a switch refuses the state of its links: error %d\n",
			-result);
	return next_ps;
}

static void faults_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static uint64_t faults_run(struct node *node, uint64_t now_ps)
{
	return faults_act((struct faults *)node, now_ps);
}

static const struct node_ops faults_ops = {
	.kind = "faults",
	.arrive = faults_arrive,
	.run = faults_run,
};

struct faults *faults_create(struct fabric *fabric)
{
	const struct scenario *scenario = fabric->scenario;
	struct engine *engine = fabric->engine;
	struct faults *faults;
	uint64_t next_ps;

	if (scenario->fault_count == 0)
		return NULL;
	faults = allocate(sizeof(*faults));
	faults->fabric = fabric;
	faults->turns = allocate(2 * (size_t)scenario->fault_count * sizeof(*faults->turns));
	for (uint32_t i = 0; i < scenario->fault_count; i++) {
		const struct scenario_fault *fault = &scenario->faults[i];

		faults->turns[faults->turn_count++] = (struct turn){fault->at_ps, fault, true};
		if (fault->end_ps < scenario->duration_ps)
			faults->turns[faults->turn_count++] =
				(struct turn){fault->end_ps, fault, false};
	}
	qsort(faults->turns, faults->turn_count, sizeof(*faults->turns), turn_order);
	engine_add(engine, &faults->node, &faults_ops);
	next_ps = faults_act(faults, engine->now_ps);
	if (next_ps != engine->now_ps + TIME_IDLE_PS)
		engine_wake(engine, &faults->node, next_ps);
	return faults;
}

void faults_free(struct faults *faults)
{
	if (faults == NULL)
		return;
	engine_remove(faults->node.engine, &faults->node);
	free(faults->turns);
	free(faults);
}

uint64_t faults_corrupted(const struct fabric *fabric)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < 2 * fabric->scenario->topology->link_count; i++)
		sum += wire_corrupted(&fabric->wires[i]);
	return sum;
}
