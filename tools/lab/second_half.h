/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * second_half - what a run was like once it had found its rates: counters from half of its duration on.
 *
 * Results: `second_half` {xoff_sent, marked, lossless_drops} and `second_half_utilisation` of every link.
 * While the first half runs all of them are 0.
 *
 * Thread: the lab's.
 */
#ifndef LAB_SECOND_HALF_H
#define LAB_SECOND_HALF_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/lab/engine.h"

struct fabric;

struct second_half_sums {
	uint64_t xoff_frames, marked, lossless_drops;
};

struct second_half {
	struct node node;
	const struct fabric *fabric;
	bool begun;
	uint64_t begin_ps;
	struct second_half_sums before; /* of the first half */
	uint64_t *busy_ps;              /* [wires], likewise */
};

/** Look at the fabric's counters when half of the scenario's duration has passed. */
void second_half_init(struct second_half *half, struct fabric *fabric);
void second_half_fini(struct second_half *half);

/** Add to a result, which has its `links` by then. */
void second_half_result(const struct second_half *half, json_t *result);

#endif
