/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective - runs collectives over flows, step by step, and notes who held them up.
 *
 * A rank may send step k as soon as it has received all steps before k - window + 1 (window 1: step k - 1);
 * what it then may send is released to its flow (host_release()), and what has come in order is told by
 * traffic.reached. When every rank has received every step, the repetition is over, and the next one
 * begins `compute` later.
 *
 * Of each step is noted when the last rank had received it, which rank that was (the straggler), and over
 * which link it was held up: of the links that its sender's packets take (flow_path.h) the one whose sender was
 * paused longest since the step before was over, or, when pauses took less than 1 % of that time, the
 * busiest one.
 *
 * Thread: the lab's. Costs nothing per packet; per step the links are looked at once.
 */
#ifndef LAB_COLLECTIVE_H
#define LAB_COLLECTIVE_H

#include <stdint.h>

#include <jansson.h>

#include "tools/lab/engine.h"
#include "tools/lab/scenario.h"

struct fabric;
struct flow;

struct collective_step {
	uint64_t end_ps;    /* since the start of the run */
	uint64_t length_ps; /* since the end of the step before, or the repetition's start */
	uint64_t paused_ps, busy_ps; /* of the link, in that time */
	uint32_t rank, sender;       /* that was last, and who sent to it */
	uint32_t wire;               /* of the fabric */
};

struct collective_repetition {
	uint64_t start_ps, end_ps;     /* since the start of the run */
	uint32_t straggler;            /* rank */
	struct collective_step *steps; /* [collective_steps()] */
};

struct collective_rank {
	uint32_t sent;     /* steps released */
	uint32_t received; /* steps, without a gap */
	uint64_t *arrived; /* bit k: step k has come */
};

struct collective_queue {
	uint64_t released_bytes;
	uint32_t next_step; /* of which the next message to arrive is */
	uint32_t repetition;
};

struct collective_wire {
	uint64_t paused_ps, busy_ps;
};

struct collective {
	const struct scenario_collective *plan;
	uint32_t steps, slots;
	uint64_t next_ps; /* when the next repetition begins; valid when waiting */
	bool waiting;
	uint8_t priority;
	uint64_t ideal_ps;
	uint32_t ranks_left; /* that haven't finished this repetition */
	uint32_t *step_left; /* [steps]: ranks that haven't received it */
	struct collective_rank *ranks;
	struct collective_queue *queues; /* [ranks * slots] */
	struct collective_wire *wires;   /* when the step before was over */
	uint64_t step_ps;                /* when that was */
	struct collective_repetition *repetitions;
	uint32_t finished, size; /* of repetitions; the one after is running */
};

/* All of a scenario, as one node of the engine. */
struct collectives {
	struct node node;
	struct fabric *fabric;
	struct collective *collective;
	uint32_t count;
};

/** After the fabric's flows. Nothing is allocated when the scenario has no collectives. */
void collectives_init(struct collectives *collectives, struct fabric *fabric);
void collectives_fini(struct collectives *collectives);

/** traffic.reached; context is struct collectives. */
void collectives_reached(void *context, struct flow *flow, uint64_t now_ps);

/** Add `collectives` and `collective` to a result. */
void collectives_result(const struct collectives *collectives, json_t *result);

/** Lower bound of one repetition, ps: what the busiest link of a rank must carry, headers included. */
uint64_t collective_ideal_ps(const struct scenario *scenario,
			     const struct scenario_collective *plan);

#endif
