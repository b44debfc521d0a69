/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A move against a model of two paths: each is a queue whose delay changes at random, so that one is now ahead and
 * now behind by up to 200 us. The host obeys a pause late, or not at all; probes and replies are lost. Whatever
 * happens, packets arrive in their order.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/balance/safe_move.h"

#define STEP_PS (500 * PS_PER_NS)
#define STEPS   40000 /* 20 ms */
#define PIPE    4096
#define FLOWS   2

struct arrival {
	uint64_t due_ps;
	uint32_t number; /* of a packet; 0: a probe */
	uint32_t serial;
	uint16_t flow;
};

struct pipe {
	struct arrival ring[PIPE];
	uint32_t head, tail;
	uint64_t last_ps, delay_ps;
};

struct world {
	struct elephants elephants;
	struct safe_move move;
	struct safe_move_ops ops;
	struct pipe path[2], replies;
	uint64_t now_ps, random;
	uint64_t stop_ps[FLOWS]; /* when the host feels its pause or its end */
	bool pausing[FLOWS], paused[FLOWS];
	uint32_t sent[FLOWS], got[FLOWS], reordered;
	uint32_t loss_percent;
	uint64_t obey_ps; /* UINT64_MAX: never */
};

static uint32_t chance(struct world *world, uint32_t count)
{
	world->random = world->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)((world->random >> 33) % count);
}

static void pipe_put(struct pipe *pipe, struct arrival arrival, uint64_t now_ps)
{
	uint64_t due_ps = now_ps + pipe->delay_ps;

	cr_assert_lt(pipe->tail - pipe->head, PIPE);
	pipe->last_ps = due_ps > pipe->last_ps ? due_ps : pipe->last_ps; /* first in, first out */
	arrival.due_ps = pipe->last_ps;
	pipe->ring[pipe->tail++ % PIPE] = arrival;
}

static bool pipe_take(struct pipe *pipe, uint64_t now_ps, struct arrival *out)
{
	if (pipe->head == pipe->tail || pipe->ring[pipe->head % PIPE].due_ps > now_ps)
		return false;
	*out = pipe->ring[pipe->head++ % PIPE];
	return true;
}

static void send_probe(void *context, const struct elephant *flow, uint32_t serial)
{
	struct world *world = context;

	if (chance(world, 100) >= world->loss_percent)
		pipe_put(&world->path[flow->uplink],
			 (struct arrival){.serial = serial, .flow = flow->port}, world->now_ps);
}

static void pause_host(void *context, uint16_t port, uint8_t priority, bool pause)
{
	struct world *world = context;

	(void)priority;
	world->pausing[port] = pause;
	world->stop_ps[port] =
		world->obey_ps == UINT64_MAX ? UINT64_MAX : world->now_ps + world->obey_ps;
}

static void send_packet(struct world *world, uint16_t flow)
{
	const struct balance_key key = {.addresses = flow + 1u};
	const struct elephants_packet packet = {.bytes = 4096, .peer = flow, .port = flow};
	const struct elephant *found =
		elephants_packet(&world->elephants, &key, &packet, 3, world->now_ps);

	pipe_put(&world->path[found->uplink],
		 (struct arrival){.number = ++world->sent[flow], .flow = flow}, world->now_ps);
}

static void arrive(struct world *world, const struct arrival *arrival)
{
	if (arrival->number == 0) {
		if (chance(world, 100) >= world->loss_percent)
			pipe_put(&world->replies, *arrival, world->now_ps);
		return;
	}
	world->reordered += arrival->number < world->got[arrival->flow];
	world->got[arrival->flow] = arrival->number;
}

static void step(struct world *world, uint32_t i)
{
	struct arrival arrival;

	world->now_ps += STEP_PS;
	for (uint32_t p = 0; p < 2; p++)
		if (chance(world, 100) == 0)
			world->path[p].delay_ps = chance(world, 200) * PS_PER_US;
	for (uint16_t f = 0; f < FLOWS; f++) {
		if (world->stop_ps[f] <= world->now_ps)
			world->paused[f] = world->pausing[f];
		if (!world->paused[f] && chance(world, 8) != 0)
			send_packet(world, f);
	}
	for (uint32_t p = 0; p < 2; p++)
		while (pipe_take(&world->path[p], world->now_ps, &arrival))
			arrive(world, &arrival);
	while (pipe_take(&world->replies, world->now_ps, &arrival))
		safe_move_passed(&world->move, arrival.flow, arrival.serial, &world->ops,
				 world->now_ps);
	if (i % 10 != 0)
		return;
	/* What others have changes, so that there is always something to move for. */
	if (i % 1000 == 0)
		for (uint16_t f = 0; f < FLOWS; f++) {
			uint16_t others[2] = {(uint16_t)chance(world, 2),
					      (uint16_t)chance(world, 2)};

			safe_move_told(&world->move, f, others, 2, world->now_ps);
		}
	safe_move_tick(&world->move, &world->elephants, &world->ops, world->now_ps);
}

static void run(struct world *world, uint64_t seed, uint32_t loss_percent, uint64_t obey_ps)
{
	memset(world, 0, sizeof(*world));
	world->random = seed;
	world->loss_percent = loss_percent;
	world->obey_ps = obey_ps;
	world->ops = (struct safe_move_ops){world, send_probe, pause_host};
	world->replies.delay_ps = 3 * PS_PER_US;
	cr_assert(elephants_init(&world->elephants, &(struct elephants_params){
							    .flows = 64,
							    .active_bytes = 20000,
							    .window_ps = 50 * PS_PER_US,
							    .fade_windows = 2,
							    .idle_ps = PS_PER_MS,
						    }));
	cr_assert(safe_move_init(&world->move, &(struct safe_move_params){
						       .peers = FLOWS,
						       .ports = FLOWS,
						       .seed = seed,
						       .cool_min_ps = 25 * PS_PER_US,
						       .cool_max_ps = 45 * PS_PER_US,
						       .timeout_ps = 300 * PS_PER_US,
						       .fresh_ps = PS_PER_MS,
					       }));
	for (uint16_t f = 0; f < FLOWS; f++)
		for (uint8_t u = 0; u < 2; u++)
			safe_move_path_set(&world->move, f, u, u, true, false);
	for (uint32_t i = 0; i < STEPS; i++)
		step(world, i);
	elephants_fini(&world->elephants);
	safe_move_fini(&world->move);
}

Test(safe_move_order, keeps_the_order_whatever_is_lost)
{
	static const struct {
		const char *name;
		uint32_t loss_percent;
		uint64_t obey_ps;
		bool moves, timeouts;
	} rows[] = {
		{"nothing is lost", 0, 2 * PS_PER_US, true, false},
		{"every third probe and reply is lost", 33, 2 * PS_PER_US, true, true},
		{"all are lost", 100, 2 * PS_PER_US, false, true},
		{"the host obeys late", 0, 40 * PS_PER_US, true, false},
		{"the host doesn't obey", 0, UINT64_MAX, false, true},
	};

	for (uint32_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		uint64_t moved = 0, timeouts = 0;

		for (uint64_t seed = 1; seed <= 10; seed++) {
			static struct world world;

			run(&world, seed, rows[row].loss_percent, rows[row].obey_ps);
			cr_expect_eq(world.reordered, 0, "%s, seed %lu", rows[row].name, seed);
			cr_expect_gt(world.got[0], 1000);
			moved += world.move.counters.moved;
			timeouts += world.move.counters.timeouts;
		}
		cr_expect(!rows[row].moves || moved > 50, "%s: %lu", rows[row].name, moved);
		cr_expect(!rows[row].timeouts || timeouts > 50, "%s: %lu", rows[row].name,
			  timeouts);
	}
}
