/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * random_fabric - a lossless experiment drawn from a seed: topology, speeds, cables, MTU, classes
 * and buffer, traffic, and what happens meanwhile: reloads, storms of a host, links that go down.
 *
 * Most of them have an incast that offers more than the buffers of all switches hold. Memory is
 * what the plan of the buffer needs, and up to as much again. An experiment that would take too
 * many frames is drawn anew, so that each is some ten thousand frames.
 *
 * Frames keep what the config promises of their sizes: all are full, or small_frames is 100 %.
 */
#ifndef TESTS_LAB_RANDOM_FABRIC_H
#define TESTS_LAB_RANDOM_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lab/random.h"
#include "tools/lab/scenario.h"

#define RANDOM_TEXT_MAX   16384
#define RANDOM_EVENTS_MAX 4

enum random_event_kind { EVENT_RELOAD, EVENT_STORM, EVENT_FLAP };

struct random_event {
	enum random_event_kind kind;
	uint64_t at_ps, until_ps;
	uint32_t which; /* storm: host; flap: link */
	uint8_t priorities;
	uint64_t draw; /* what else is random about it */
};

struct random_fabric {
	uint64_t seed;
	char text[RANDOM_TEXT_MAX]; /* the scenario, but for memory and stops */
	struct scenario *scenario;
	uint8_t lossless;  /* bit p */
	uint64_t stop_ps;  /* of the traffic */
	uint64_t drain_ps; /* after that all is certainly over */
	bool must_pause;   /* offers more than all buffers hold, of a lossless class */
	bool multipath;
	bool flaps;
	struct random_event event[RANDOM_EVENTS_MAX]; /* in order of time */
	uint32_t event_count;
};

/** Draw one. For random_fabric_fini(). */
void random_fabric_draw(struct random_fabric *fabric, uint64_t seed, uint32_t packets_max);
void random_fabric_fini(struct random_fabric *fabric);

/** Does a config's buffer suffice on every switch? */
bool random_fabric_fits(const struct scenario *scenario, const struct config *classes);

/** Another config of the same lossless classes, for a reload: other thresholds and weights. */
struct config random_fabric_reload(const struct scenario *scenario, uint64_t draw);

#endif
