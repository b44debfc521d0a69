/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/collective.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/flow_path.h"

/* Pauses of at least so many parts of a step hold it up; otherwise load does. */
#define PAUSED_PARTS 100

static uint64_t since_start_ps(const struct collectives *all, uint64_t now_ps)
{
	return now_ps - all->fabric->engine->start_ps;
}

static struct flow *queue_flow(const struct collectives *all, const struct collective *this,
			       uint32_t queue)
{
	return &all->fabric->traffic.flows[this->plan->first_flow + queue];
}

/* --- who holds it up --- */

/* How long the sender of a wire was paused in the collective's priority. */
static uint64_t wire_held_ps(const struct collectives *all, const struct collective *this,
			     uint32_t wire)
{
	const struct fabric *fabric = all->fabric;
	const struct topology *topology = fabric->scenario->topology;
	const struct topology_link *link = &topology->links[wire / 2];
	const struct topology_node *from = &topology->nodes[link->node[wire % 2]];
	struct pfc_totals pfc;

	if (from->host)
		return host_paused_ps(&fabric->hosts[from->index], this->priority);
	leaf_pfc_totals(fabric->switches[from->index]->leaf, (uint16_t)link->port[wire % 2],
			this->priority, fabric->engine->now_ps, &pfc);
	return pfc.rx_paused_ps;
}

static struct collective_wire look_at_wire(const struct collectives *all,
					   const struct collective *this, uint32_t wire)
{
	return (struct collective_wire){
		.paused_ps = wire_held_ps(all, this, wire),
		.busy_ps = wire_busy_ps(&all->fabric->wires[wire]),
	};
}

static void look_at_wires(const struct collectives *all, struct collective *this, uint64_t now_ps)
{
	for (uint32_t i = 0; i < 2 * all->fabric->scenario->topology->link_count; i++)
		this->wires[i] = look_at_wire(all, this, i);
	this->step_ps = now_ps;
}

/* A link is worse than another: paused longer when pauses count, or else busier. */
static bool worse(const struct collective_step *step, const struct collective_wire *wire)
{
	bool pauses = wire->paused_ps >= step->length_ps / PAUSED_PARTS ||
		      step->paused_ps >= step->length_ps / PAUSED_PARTS;

	if (pauses && wire->paused_ps != step->paused_ps)
		return wire->paused_ps > step->paused_ps;
	return wire->busy_ps > step->busy_ps;
}

/* Among the links that its sender's packets take. */
static void find_worst(const struct collectives *all, const struct collective *this,
		       struct collective_step *step, const struct flow *flow)
{
	uint32_t wires[FLOW_PATH_WIRES_MAX];
	uint32_t count = flow_path(all->fabric, flow, wires);

	for (uint32_t i = 0; i < count; i++) {
		struct collective_wire now = look_at_wire(all, this, wires[i]);

		now.paused_ps -= this->wires[wires[i]].paused_ps;
		now.busy_ps -= this->wires[wires[i]].busy_ps;
		if (i != 0 && !worse(step, &now))
			continue;
		step->wire = wires[i];
		step->paused_ps = now.paused_ps;
		step->busy_ps = now.busy_ps;
	}
}

/* Who sends to a rank in a step: the inverse of collective_message(). */
static uint32_t sender_of(const struct collective_shape *shape, uint32_t rank, uint32_t step)
{
	switch (shape->pattern) {
	case COLLECTIVE_RING:
		return (rank + shape->ranks - 1) % shape->ranks;
	case COLLECTIVE_HALVING_DOUBLING:
		return collective_message(shape, rank, step).peer;
	default:
		return (rank + shape->ranks - step - 1) % shape->ranks;
	}
}

/* --- repetitions --- */

static struct collective_repetition *running(const struct collective *this)
{
	return &this->repetitions[this->finished];
}

static void release_steps(struct collectives *all, struct collective *this, uint32_t rank)
{
	const struct collective_shape *shape = &this->plan->shape;
	struct collective_rank *state = &this->ranks[rank];

	while (state->sent < this->steps && state->sent < state->received + this->plan->window) {
		struct collective_message message = collective_message(shape, rank, state->sent++);
		uint32_t index = rank * this->slots + message.slot;
		struct collective_queue *queue = &this->queues[index];

		queue->released_bytes += message.bytes;
		host_release(queue_flow(all, this, index), queue->released_bytes);
	}
}

static void begin(struct collectives *all, struct collective *this, uint64_t now_ps)
{
	uint32_t ranks = this->plan->shape.ranks;
	size_t words = (this->steps + 63) / 64;

	if (this->finished == this->size) {
		this->size = this->size == 0 ? 4 : 2 * this->size;
		this->repetitions =
			allocate_resize(this->repetitions, this->size * sizeof(*this->repetitions));
	}
	*running(this) = (struct collective_repetition){
		.start_ps = since_start_ps(all, now_ps),
		.steps = allocate(this->steps * sizeof(struct collective_step)),
	};
	this->waiting = false;
	this->ranks_left = ranks;
	for (uint32_t i = 0; i < this->steps; i++)
		this->step_left[i] = ranks;
	look_at_wires(all, this, now_ps);
	for (uint32_t i = 0; i < ranks; i++) {
		this->ranks[i].sent = 0;
		this->ranks[i].received = 0;
		memset(this->ranks[i].arrived, 0, words * sizeof(uint64_t));
	}
	for (uint32_t i = 0; i < ranks; i++)
		release_steps(all, this, i);
}

static void finish_step(struct collectives *all, struct collective *this, uint32_t rank,
			uint32_t index, uint64_t now_ps)
{
	struct collective_step *step = &running(this)->steps[index];
	uint32_t queue;

	step->end_ps = since_start_ps(all, now_ps);
	step->length_ps = now_ps - this->step_ps;
	step->rank = rank;
	step->sender = sender_of(&this->plan->shape, rank, index);
	queue = step->sender * this->slots +
		collective_message(&this->plan->shape, step->sender, index).slot;
	find_worst(all, this, step, queue_flow(all, this, queue));
	/* Steps that are over at once share a cause. */
	if (step->length_ps != 0)
		look_at_wires(all, this, now_ps);
}

static void finish_repetition(struct collectives *all, struct collective *this, uint32_t rank,
			      uint64_t now_ps)
{
	struct collective_repetition *repetition = running(this);

	repetition->end_ps = since_start_ps(all, now_ps);
	repetition->straggler = rank;
	this->finished++;
	if (this->finished == this->plan->repeat)
		return;
	this->waiting = true;
	this->next_ps = now_ps + this->plan->compute_ps;
	engine_wake(all->fabric->engine, &all->node, this->next_ps);
}

/* A rank has got something: what it has without a gap, and what it may send. */
static void advance_rank(struct collectives *all, struct collective *this, uint32_t rank,
			 uint64_t now_ps)
{
	struct collective_rank *state = &this->ranks[rank];

	while (state->received < this->steps &&
	       (state->arrived[state->received / 64] >> state->received % 64 & 1) != 0) {
		uint32_t step = state->received++;

		if (--this->step_left[step] == 0)
			finish_step(all, this, rank, step, now_ps);
	}
	release_steps(all, this, rank);
	if (state->received == this->steps && --this->ranks_left == 0)
		finish_repetition(all, this, rank, now_ps);
}

/* The next message that will arrive on a queue pair. */
static void watch_next(const struct collectives *all, const struct collective *this, uint32_t index,
		       struct collective_queue *queue)
{
	uint32_t step = collective_next_step(&this->plan->shape, queue->next_step);
	struct flow *flow = queue_flow(all, this, index);

	if (step <= queue->next_step)
		queue->repetition++;
	queue->next_step = step;
	if (queue->repetition == this->plan->repeat)
		flow->watch_bytes = UINT64_MAX;
	else
		flow->watch_bytes +=
			collective_message(&this->plan->shape, index / this->slots, step).bytes;
}

void collectives_reached(void *context, struct flow *flow, uint64_t now_ps)
{
	struct collectives *all = context;
	uint32_t number = all->fabric->scenario->flows[flow->id].collective;
	struct collective *this = &all->collective[number - 1];
	uint32_t index = flow->id - this->plan->first_flow;
	struct collective_queue *queue = &this->queues[index];
	uint32_t step = queue->next_step, rank;

	assert(number != 0 && queue->repetition == this->finished);
	rank = collective_message(&this->plan->shape, index / this->slots, step).peer;
	watch_next(all, this, index, queue);
	this->ranks[rank].arrived[step / 64] |= UINT64_C(1) << step % 64;
	if (step == this->ranks[rank].received)
		advance_rank(all, this, rank, now_ps);
}

/* --- the node --- */

static void collectives_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static uint64_t collectives_run(struct node *node, uint64_t now_ps)
{
	struct collectives *all = (struct collectives *)node;
	uint64_t due_ps = now_ps + TIME_IDLE_PS;

	for (uint32_t i = 0; i < all->count; i++) {
		struct collective *this = &all->collective[i];

		if (this->waiting && !time_after(this->next_ps, now_ps))
			begin(all, this, now_ps);
		else if (this->waiting)
			due_ps = time_min(due_ps, this->next_ps);
	}
	return due_ps;
}

static const struct node_ops collectives_ops = {
	.kind = "collectives",
	.arrive = collectives_arrive,
	.run = collectives_run,
};

/* --- life --- */

static void create_collective(struct collectives *all, struct collective *this,
			      const struct scenario_collective *plan)
{
	const struct scenario *scenario = all->fabric->scenario;
	const struct collective_shape *shape = &plan->shape;

	this->plan = plan;
	this->steps = collective_steps(shape);
	this->slots = collective_slots(shape);
	this->priority = scenario->flows[plan->first_flow].priority;
	this->ideal_ps = collective_ideal_ps(scenario, plan);
	this->waiting = true;
	this->next_ps = all->fabric->engine->start_ps + plan->start_ps;
	this->step_left = allocate(this->steps * sizeof(*this->step_left));
	this->ranks = allocate(shape->ranks * sizeof(*this->ranks));
	for (uint32_t i = 0; i < shape->ranks; i++)
		this->ranks[i].arrived = allocate((this->steps + 63) / 64 * sizeof(uint64_t));
	this->wires = allocate(2 * (size_t)scenario->topology->link_count * sizeof(*this->wires));
	this->queues = allocate((size_t)shape->ranks * this->slots * sizeof(*this->queues));
	for (uint32_t i = 0; i < shape->ranks * this->slots; i++) {
		uint32_t step = collective_first_step(shape, i % this->slots);

		this->queues[i].next_step = step;
		queue_flow(all, this, i)->watch_bytes =
			collective_message(shape, i / this->slots, step).bytes;
	}
	engine_wake(all->fabric->engine, &all->node, this->next_ps);
}

void collectives_init(struct collectives *collectives, struct fabric *fabric)
{
	const struct scenario *scenario = fabric->scenario;

	memset(collectives, 0, sizeof(*collectives));
	collectives->fabric = fabric;
	if (scenario->collective_count == 0)
		return;
	engine_add(fabric->engine, &collectives->node, &collectives_ops);
	fabric->traffic.reached = collectives_reached;
	fabric->traffic.reached_context = collectives;
	collectives->count = scenario->collective_count;
	collectives->collective = allocate(collectives->count * sizeof(*collectives->collective));
	for (uint32_t i = 0; i < collectives->count; i++)
		create_collective(collectives, &collectives->collective[i],
				  &scenario->collectives[i]);
}

void collectives_fini(struct collectives *collectives)
{
	for (uint32_t i = 0; i < collectives->count; i++) {
		struct collective *this = &collectives->collective[i];
		uint32_t begun = this->finished;

		/* One more is running unless all are over or it waits. */
		if (!this->waiting && this->finished != this->plan->repeat)
			begun++;
		for (uint32_t j = 0; j < begun; j++)
			free(this->repetitions[j].steps);
		for (uint32_t j = 0; j < this->plan->shape.ranks; j++)
			free(this->ranks[j].arrived);
		free(this->repetitions);
		free(this->step_left);
		free(this->ranks);
		free(this->wires);
		free(this->queues);
	}
	free(collectives->collective);
	memset(collectives, 0, sizeof(*collectives));
}
