/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * steps - what the fabric did between two marks of a job.
 *
 * A mark ends the step before it and begins its own, which has its text for a name. A step keeps sums,
 * not counters, so that hundreds cost little, and says which port was hottest and which one's host
 * held the others up. The step of now is told up to the moment when it is asked for.
 *
 * Thread: whoever holds daemon_lock().
 */
#ifndef CONTROL_STEPS_H
#define CONTROL_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "control/history.h"

#define STEPS_KEPT      512
#define MARK_TEXT_BYTES 256 /* of a mark, at most, without the NUL */

#define STEP_PORT_NONE UINT16_MAX

struct step {
	uint64_t sequence; /* counts from 1 */
	uint64_t begin_ns; /* real time since the epoch */
	uint64_t duration_ns;
	bool running;                /* no mark has ended it yet */
	struct history_counters sum; /* of all ports and priorities */
	uint64_t drop_packets;
	/* Of the uplinks, or where there are none of all ports, the one that sent most for its speed. */
	uint16_t hottest; /* STEP_PORT_NONE: nothing was sent */
	uint32_t hottest_ppm;
	/* The port whose peer paused us for longest in all its priorities together: its host was late. */
	uint16_t straggler; /* STEP_PORT_NONE: none did */
	uint64_t straggler_paused_ns;
	char text[MARK_TEXT_BYTES + 1];
};

/* What is known of a port besides its counters. */
struct step_port {
	uint64_t rate_bps;
	bool uplink;
};

/**
 * Is this the text of a mark? 1 to MARK_TEXT_BYTES bytes of UTF-8 without control characters (U+0000 to
 * U+001F, U+007F to U+009F). @return NULL, or what is wrong
 */
const char *mark_text_wrong(const char *text, size_t size);

struct steps;

/** @return NULL when out of memory */
struct steps *steps_create(uint16_t port_count);
void steps_free(struct steps *steps);

/**
 * A mark. @param look the counters of now (its number isn't needed)
 * @param port  port_count of them, as they are now
 * @param text  one that mark_text_wrong() finds nothing wrong with
 */
void steps_mark(struct steps *steps, const struct history_look *look, const struct step_port *port,
		const char *text);

/**
 * Copy steps of a higher number than `after`, oldest first; the last is the one that runs.
 * @param look, port as above
 * @return how many, at most `max`
 */
uint32_t steps_read(const struct steps *steps, const struct history_look *look,
		    const struct step_port *port, uint64_t after, struct step *out, uint32_t max);

#endif
