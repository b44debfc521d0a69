/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/simulation.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <rte_errno.h>
#include <rte_mempool.h>

#include "tools/lab/allocate.h"
#include "tools/lab/faults.h"
#include "tools/lab/random.h"

/* Parts of a run after which progress is told. */
#define PROGRESS_PARTS 200

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static uint64_t sampler_due_ps(const struct sampler *sampler, uint64_t sample)
{
	struct random random = random_of(sampler->seed, RANDOM_SAMPLER, sample);

	return sampler->fabric->engine->start_ps + sample * sampler->part_ps +
	       random_below(&random, sampler->part_ps);
}

static void sampler_sample(struct sampler *sampler)
{
	const struct fabric *fabric = sampler->fabric;
	const struct topology *topology = fabric->scenario->topology;

	for (uint32_t i = 0; i < 2 * topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i / 2];
		const struct topology_node *from = &topology->nodes[link->node[i % 2]];
		uint64_t depth_bytes = 0;
		const struct leaf *leaf;

		if (from->host)
			continue;
		leaf = fabric->switches[from->index]->leaf;
		for (uint32_t rest = sampler->priorities; rest != 0; rest &= rest - 1) {
			struct queue_totals queue;

			leaf_queue_totals(leaf, (uint16_t)link->port[i % 2],
					  (uint8_t)__builtin_ctz(rest), &queue);
			depth_bytes += queue.depth_bytes;
		}
		sampler->depth_bytes[i * sampler->samples + sampler->taken] =
			depth_bytes < UINT32_MAX ? (uint32_t)depth_bytes : UINT32_MAX;
	}
	sampler->taken++;
}

static void sampler_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static uint64_t sampler_run(struct node *node, uint64_t now_ps)
{
	struct sampler *sampler = (struct sampler *)node;

	sampler_sample(sampler);
	if (sampler->taken == sampler->samples)
		return now_ps + TIME_IDLE_PS;
	return sampler_due_ps(sampler, sampler->taken);
}

static const struct node_ops sampler_ops = {
	.kind = "sampler",
	.arrive = sampler_arrive,
	.run = sampler_run,
};

struct simulation *simulation_create(const struct scenario *scenario, struct rte_mempool *pool,
				     const struct fabric_options *options)
{
	struct simulation *simulation = allocate(sizeof(*simulation));
	struct sampler *sampler = &simulation->sampler;

	simulation->scenario = scenario;
	simulation->fabric = fabric_create(scenario, pool, options);
	if (simulation->fabric == NULL) {
		free(simulation);
		return NULL;
	}
	sampler->fabric = simulation->fabric;
	sampler->seed = scenario->seed;
	sampler->samples = scenario->duration_ps / SIMULATION_SAMPLE_PS;
	if (sampler->samples > SIMULATION_SAMPLES_MAX)
		sampler->samples = SIMULATION_SAMPLES_MAX;
	sampler->depth_bytes = allocate(2 * (size_t)scenario->topology->link_count *
					sampler->samples * sizeof(uint32_t));
	if (sampler->samples != 0)
		sampler->part_ps = scenario->duration_ps / sampler->samples;
	for (uint32_t i = 0; i < scenario->flow_count; i++)
		sampler->priorities |= 1u << scenario->flows[i].priority;
	engine_add(simulation->fabric->engine, &sampler->node, &sampler_ops);
	if (sampler->samples != 0)
		engine_wake(simulation->fabric->engine, &sampler->node, sampler_due_ps(sampler, 0));
	second_half_init(&simulation->second_half, simulation->fabric);
	simulation->faults = faults_create(simulation->fabric);
	uplinks_init(&simulation->uplinks, simulation->fabric);
	return simulation;
}

void simulation_free(struct simulation *simulation)
{
	if (simulation == NULL)
		return;
	free(simulation->sampler.depth_bytes);
	second_half_fini(&simulation->second_half);
	uplinks_fini(&simulation->uplinks);
	faults_free(simulation->faults);
	series_free(simulation->series);
	fabric_free(simulation->fabric);
	free(simulation);
}

/* What can't happen unless the lab or the dataplane is wrong. */
static int check_run(const struct simulation *simulation, int result)
{
	const struct fabric *fabric = simulation->fabric;
	struct fabric_conservation sum;

	if (result != 0) {
		fprintf(stderr,
			"roceleaf-lab: %s %u doesn't let time pass at %" PRIu64 " ps: %d runs\n",
			fabric->engine->last->ops->kind, fabric->engine->last->id,
			fabric->engine->now_ps - fabric->engine->start_ps, ENGINE_REPEAT_MAX);
		return result;
	}
	if (fabric->traffic.pool_empty != 0) {
		fprintf(stderr,
			"roceleaf-lab: the pool of %u packets was empty %" PRIu64 " times\n",
			fabric->pool->size, fabric->traffic.pool_empty);
		return -ENOBUFS;
	}
	fabric_conservation(fabric, &sum);
	if (!fabric_conserved(&sum)) {
		fprintf(stderr,
			"roceleaf-lab: packets don't add up: %" PRIu64 " injected + %" PRIu64
			" copied, %" PRIu64 " delivered + %" PRIu64 " dropped + %" PRIu64
			" consumed + %" PRIu64 " in flight; %" PRIu64 " steps were wrong\n",
			sum.injected, sum.copied, sum.delivered, sum.dropped, sum.consumed,
			sum.in_flight, sum.violations);
		return -EPROTO;
	}
	return 0;
}

void simulation_keep_series(struct simulation *simulation)
{
	simulation->series = series_create(simulation->fabric);
}

int simulation_run(struct simulation *simulation, void (*progress)(uint32_t ppm))
{
	struct engine *engine = simulation->fabric->engine;
	uint64_t end_ps = engine->start_ps + simulation->scenario->duration_ps;
	uint64_t part_ps = simulation->series != NULL
				   ? simulation->series->step_ps
				   : simulation->scenario->duration_ps / PROGRESS_PARTS + 1;
	uint64_t wall_ns = clock_ns(CLOCK_MONOTONIC);
	uint64_t cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int result = 0;

	while (result == 0 && engine->now_ps != end_ps) {
		result = engine_run(engine, time_min(engine->now_ps + part_ps, end_ps));
		if (simulation->series != NULL)
			series_take(simulation->series);
		if (progress != NULL)
			progress((uint32_t)((unsigned __int128)(engine->now_ps - engine->start_ps) *
					    1000000 / simulation->scenario->duration_ps));
	}
	simulation->wall_ns += clock_ns(CLOCK_MONOTONIC) - wall_ns;
	simulation->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	return check_run(simulation, result);
}
