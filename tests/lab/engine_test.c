/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/engine.h"
#include "tools/lab/random.h"

#define NODES       40
#define PORTS       8 /* events of each node beside its timer */
#define STEPS_MAX   60000
#define HISTORY_MAX (4 * STEPS_MAX)

/* What happened, in order: a run of a node, or an arrival before it. */
struct happening {
	uint64_t time_ps;
	uint32_t node;
	uint32_t port; /* or ENGINE_TIMER: a run */
};

struct history {
	struct happening *at;
	uint32_t count;
};

/* A node that does what its random numbers say: the same under the engine and the reference. */
struct actor {
	struct node node;
	struct engine_event event[PORTS];
	bool scheduled[PORTS]; /* reference: is event[i] queued */
	uint64_t time_ps[PORTS];
	uint64_t sequence[PORTS];
	uint64_t due_ps;
	bool due;
	struct random random;
};

static struct actor actors[NODES];
static struct history history;
static uint64_t steps_left;

static void note(uint64_t time_ps, uint32_t node, uint32_t port)
{
	cr_assert_lt(history.count, HISTORY_MAX);
	history.at[history.count++] = (struct happening){time_ps, node, port};
}

/* From the next picosecond to far beyond the wheel; often the same times for many. */
static uint64_t random_delay_ps(struct random *random)
{
	switch (random_below(random, 6)) {
	case 0:
		return 1 + random_below(random, 300);
	case 1:
		return 1000;
	case 2:
		return 1 + random_below(random, 100000);
	case 3:
		return 1 + random_below(random, 2 * ENGINE_WINDOW_PS);
	case 4:
		return ENGINE_WINDOW_PS - 2 + random_below(random, 4);
	default:
		return 1 + random_below(random, 100 * ENGINE_WINDOW_PS);
	}
}

/* One action of an actor. which: event to (re)schedule, or PORTS: none. */
static uint64_t actor_decide(struct actor *actor, uint32_t *whose, uint32_t *which,
			     uint64_t *delay_ps, bool *cancel)
{
	struct random *random = &actor->random;
	uint64_t next = random_below(random, 4);

	*whose = (uint32_t)random_below(random, NODES);
	*which = (uint32_t)random_below(random, PORTS + 1);
	*delay_ps = random_delay_ps(random);
	*cancel = random_below(random, 8) == 0;
	return next == 0 ? TIME_IDLE_PS : random_delay_ps(random);
}

static void actors_init(uint64_t seed)
{
	memset(actors, 0, sizeof(actors));
	for (uint32_t i = 0; i < NODES; i++)
		actors[i].random = random_of(seed, RANDOM_PATTERN, i);
	history.count = 0;
	steps_left = STEPS_MAX;
}

/* --- under the engine --- */

static void engine_arrive(struct node *node, uint16_t port)
{
	note(node->engine->now_ps, node->id, port);
}

static uint64_t engine_act(struct node *node, uint64_t now_ps)
{
	struct actor *actor = (struct actor *)node;
	uint32_t whose, which;
	uint64_t delay_ps, next_ps;
	bool cancel;

	note(now_ps, node->id, ENGINE_TIMER);
	if (steps_left == 0)
		return now_ps + TIME_IDLE_PS;
	steps_left--;
	next_ps = actor_decide(actor, &whose, &which, &delay_ps, &cancel);
	if (which < PORTS) {
		struct engine_event *event = &actors[whose].event[which];

		if (cancel)
			engine_cancel(node->engine, event);
		if (event->place == ENGINE_NOWHERE)
			engine_schedule(node->engine, event, now_ps + delay_ps);
	}
	return now_ps + next_ps;
}

static void run_engine(uint64_t start_ps, uint64_t until_ps, uint64_t step_ps)
{
	static const struct node_ops ops = {"actor", engine_arrive, engine_act};
	struct engine *engine = engine_create(start_ps);

	for (uint32_t i = 0; i < NODES; i++) {
		engine_add(engine, &actors[i].node, &ops);
		for (uint16_t port = 0; port < PORTS; port++)
			engine_event_init(&actors[i].event[port], &actors[i].node, port);
	}
	for (uint32_t i = 0; i < NODES; i++)
		engine_wake(engine, &actors[i].node, start_ps + i % 3);
	for (uint64_t passed = 0; passed < until_ps; passed += step_ps)
		cr_assert_eq(engine_run(engine, start_ps + passed + step_ps), 0);
	engine_free(engine);
}

/* --- the reference: looks at everything, every time --- */

static bool reference_first(uint64_t now_ps, uint64_t *time_ps, uint32_t *node)
{
	bool found = false;

	for (uint32_t i = 0; i < NODES; i++) {
		for (uint32_t e = 0; e <= PORTS; e++) {
			bool is = e < PORTS ? actors[i].scheduled[e] : actors[i].due;
			uint64_t at = e < PORTS ? actors[i].time_ps[e] : actors[i].due_ps;

			if (!is || (found && at - now_ps >= *time_ps - now_ps))
				continue;
			found = true;
			*time_ps = at;
			*node = i;
		}
	}
	return found;
}

static void run_reference(uint64_t start_ps, uint64_t until_ps)
{
	uint64_t sequence = 0, now_ps = start_ps;
	uint32_t node = 0;

	for (uint32_t i = 0; i < NODES; i++) {
		actors[i].due = true;
		actors[i].due_ps = start_ps + i % 3;
	}
	while (reference_first(now_ps, &now_ps, &node) && now_ps - start_ps <= until_ps) {
		struct actor *actor = &actors[node];
		uint32_t whose, which;
		uint64_t delay_ps, next_ps;
		bool cancel;

		for (;;) { /* arrivals in the order of their sequence */
			uint32_t first = PORTS;

			for (uint32_t e = 0; e < PORTS; e++)
				if (actor->scheduled[e] && actor->time_ps[e] == now_ps &&
				    (first == PORTS || actor->sequence[e] < actor->sequence[first]))
					first = e;
			if (first == PORTS)
				break;
			actor->scheduled[first] = false;
			note(now_ps, node, first);
		}
		actor->due = false;
		note(now_ps, node, ENGINE_TIMER);
		if (steps_left == 0)
			continue;
		steps_left--;
		next_ps = actor_decide(actor, &whose, &which, &delay_ps, &cancel);
		if (which < PORTS) {
			struct actor *other = &actors[whose];

			if (cancel)
				other->scheduled[which] = false;
			if (!other->scheduled[which]) {
				other->scheduled[which] = true;
				other->time_ps[which] = now_ps + delay_ps;
				other->sequence[which] = sequence++;
			}
		}
		if (next_ps != TIME_IDLE_PS) {
			actor->due = true;
			actor->due_ps = now_ps + next_ps;
		}
	}
}

static void compare(uint64_t seed, uint64_t start_ps, uint64_t step_ps)
{
	uint64_t until_ps = 2000 * ENGINE_WINDOW_PS;
	struct history expected;

	history.at = calloc(HISTORY_MAX, sizeof(struct happening));
	actors_init(seed);
	run_reference(start_ps, until_ps);
	expected = history;
	history.at = calloc(HISTORY_MAX, sizeof(struct happening));
	actors_init(seed);
	run_engine(start_ps, until_ps, step_ps);
	cr_expect_eq(history.count, expected.count, "seed %" PRIu64, seed);
	cr_assert_gt(expected.count, STEPS_MAX);
	for (uint32_t i = 0; i < history.count && i < expected.count; i++)
		cr_assert(history.at[i].time_ps == expected.at[i].time_ps &&
				  history.at[i].node == expected.at[i].node &&
				  history.at[i].port == expected.at[i].port,
			  "seed %" PRIu64 ", happening %u", seed, i);
	free(expected.at);
	free(history.at);
}

Test(engine, runs_in_the_order_of_a_list_that_is_searched_every_time)
{
	for (uint64_t seed = 1; seed <= 4; seed++)
		compare(seed, 0, 2000 * ENGINE_WINDOW_PS);
}

Test(engine, order_holds_across_the_wrap_of_time)
{
	for (uint64_t seed = 5; seed <= 8; seed++)
		compare(seed, -(seed * 100 * ENGINE_WINDOW_PS + seed), 2000 * ENGINE_WINDOW_PS);
}

Test(engine, running_in_parts_changes_nothing)
{
	compare(9, 12345, 777777);
	compare(10, UINT64_MAX - 12345, 100 * ENGINE_WINDOW_PS);
}

/* --- smaller ones --- */

static uint32_t count_runs, count_arrivals;
static uint64_t next_after_ps;

static void count_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
	count_arrivals++;
}

static uint64_t count_run(struct node *node, uint64_t now_ps)
{
	(void)node;
	count_runs++;
	return now_ps + next_after_ps;
}

static const struct node_ops count_ops = {"counter", count_arrive, count_run};

Test(engine, what_is_due_for_a_node_at_one_time_is_one_run)
{
	struct engine *engine = engine_create(0);
	struct node node;
	struct engine_event event[3];

	next_after_ps = TIME_IDLE_PS;
	engine_add(engine, &node, &count_ops);
	for (uint16_t i = 0; i < 3; i++) {
		engine_event_init(&event[i], &node, i);
		engine_schedule(engine, &event[i], 5000);
	}
	engine_wake(engine, &node, 5000);
	cr_assert_eq(engine_run(engine, 4999), 0);
	cr_assert_eq(count_runs, 0);
	cr_assert_eq(engine_run(engine, 5000), 0);
	cr_assert_eq(count_runs, 1);
	cr_assert_eq(count_arrivals, 3);
	engine_free(engine);
}

Test(engine, a_wake_up_that_was_put_off_does_not_run_the_node)
{
	struct engine *engine = engine_create(0);
	struct node node;
	struct engine_event event;

	engine_add(engine, &node, &count_ops);
	engine_event_init(&event, &node, 0);
	engine_wake(engine, &node, 1000);
	engine_schedule(engine, &event, 400);
	next_after_ps = 10000; /* run by the arrival at 400: the timer of 1000 is stale */
	cr_assert_eq(engine_run(engine, 10399), 0);
	cr_assert_eq(count_runs, 1);
	cr_assert_eq(engine_run(engine, 10400), 0);
	cr_assert_eq(count_runs, 2);
	engine_free(engine);
}

Test(engine, a_node_that_does_not_let_time_pass_is_named)
{
	struct engine *engine = engine_create(0);
	struct node node;

	engine_add(engine, &node, &count_ops);
	engine_wake(engine, &node, 7);
	next_after_ps = 0;
	cr_assert_eq(engine_run(engine, 100), -ELOOP);
	cr_assert_eq(engine->last, &node);
	cr_assert_eq(engine->now_ps, 7);
	engine_free(engine);
}
