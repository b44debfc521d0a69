/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * simulation - one run of a scenario, from the first frame to the result.
 *
 * Thread: one, after EAL.
 */
#ifndef LAB_SIMULATION_H
#define LAB_SIMULATION_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/lab/fabric.h"
#include "tools/lab/scenario.h"
#include "tools/lab/second_half.h"
#include "tools/lab/series.h"
#include "tools/lab/uplinks.h"

/*
 * Mean queue depths come from samples, one at a random time in each of as many equal parts of the
 * run, so that traffic with a period doesn't fool them: one a microsecond, but at most 1000.
 */
#define SIMULATION_SAMPLE_PS   PS_PER_US
#define SIMULATION_SAMPLES_MAX 1000

struct sampler {
	struct node node;
	struct fabric *fabric;
	uint64_t seed;
	uint32_t priorities; /* bit p: a flow sends in priority p */
	uint64_t part_ps;
	uint64_t samples; /* in all */
	uint64_t taken;
	uint32_t *depth_bytes; /* [wire][samples] */
};

struct simulation {
	const struct scenario *scenario;
	struct fabric *fabric;
	struct sampler sampler;
	struct second_half second_half;
	struct uplinks uplinks;
	struct faults *faults; /* NULL: the scenario has none */
	struct series *series; /* NULL: nobody wants them */
	uint64_t wall_ns;      /* of simulation_run() */
	uint64_t cpu_ns;
};

/** As fabric_create(). */
struct simulation *simulation_create(const struct scenario *scenario, struct rte_mempool *pool,
				     const struct fabric_options *options);
void simulation_free(struct simulation *simulation);

/** Have the result tell how things went over time. Before simulation_run(). */
void simulation_keep_series(struct simulation *simulation);

/**
 * Let the scenario's duration pass.
 * @param progress called now and then with how much of it has, in millionths; may be NULL
 * @return 0, or -errno with a message on stderr: our own mistake, not the scenario's
 */
int simulation_run(struct simulation *simulation, void (*progress)(uint32_t ppm));

/**
 * The result so far, keys as in CONTRACT.md. Its numbers are integers, or shares and ratios that were
 * computed in integers to a millionth.
 */
json_t *simulation_result(const struct simulation *simulation);

#endif
