/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * series - how a run went over time, for pictures: queues, pauses and marks of links, buffers, rates of flows.
 *
 * Whoever runs the engine stops it every step_ps and takes a sample. Looking changes nothing: neither
 * events nor digest. There are at most SERIES_SAMPLES_MAX samples, fewer when the fabric has many links, so
 * that the memory is bounded; all links are looked at, and the result has those that stand out:
 *
 *	"series": {"step_ns", "samples",	sample i is of the time (i + 1) * step_ns
 *	  "links": [{"direction", "kmin_bytes", "kmax_bytes" (of the lossless class; 0: none),
 *		"depth_bytes": [],		of the deepest of its queues, at that time
 *		"busy_ppm": [], "paused_ppm": [], "marked": []}],	during the step
 *	  "buffers": [{"switch", "direction" (what came in from there), "class",
 *		"used_bytes": [], "xoff_bytes": []}],	at that time, of its fullest lossless class
 *	  "flows": [{"name", "src", "dst", "bytes": []}],	received during the step
 *	  "marked": [], "paused_ppm": []}	over all links: the sum, and that of the link paused longest
 *
 * Thread: the lab's, between runs of the engine.
 */
#ifndef LAB_SERIES_H
#define LAB_SERIES_H

#include <stdint.h>

#include <jansson.h>

#define SERIES_SAMPLES_MAX 1000
#define SERIES_SAMPLES_MIN 100
#define SERIES_CELLS       1000000u /* samples of all links together, while that leaves the least */
#define SERIES_LINKS       6 /* of each kind: deepest queue, paused longest, most marks, busiest */
#define SERIES_BUFFERS     6
#define SERIES_FLOWS       16

struct fabric;
struct series_link;
struct series_flow;

struct series {
	const struct fabric *fabric;
	uint64_t step_ps; /* at least 1 */
	uint32_t samples, taken;
	uint8_t priorities; /* bit p: a class has it */
	uint8_t lossless;
	uint32_t link_count;
	struct series_link *links; /* [link_count]: one direction each, as the fabric's wires */
	uint32_t flow_count;
	struct series_flow *flows; /* the longest ones */
};

struct series *series_create(const struct fabric *fabric);
/** NULL is fine. */
void series_free(struct series *series);

/** Look at the fabric now. Beyond the last sample nothing happens. */
void series_take(struct series *series);

json_t *series_result(const struct series *series);

#endif
