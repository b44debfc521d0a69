/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * damping - keeps a link that flaps out for a while: it counts as down, though it is up.
 *
 * Each time that the link goes down its penalty grows by DAMPING_PENALTY; in each half-life it loses half, evenly
 * within it (the decay of RFC 2439, section 4.2, in integers). Above `suppress` the link is kept out until its
 * penalty is below `reuse`. The penalty is bounded so that this takes `max` at most, however often it has flapped; a
 * config whose `suppress` it could never exceed is refused.
 * The default figures are those of Junos ("damping (Interfaces)") and of IP event dampening: 5 s, 2000, 1000, 20 s;
 * off unless asked for, as there.
 *
 * A port that is the last one up of some route's next hops is never kept out.
 *
 * Thread: control; no state but the caller's, time is an argument.
 */
#ifndef CONTROL_DAMPING_H
#define CONTROL_DAMPING_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* For each time that a link goes down. */
#define DAMPING_PENALTY 1000u

/* Of a port. Zeros: it never was down. */
struct damping {
	uint32_t penalty; /* at at_ns */
	uint64_t at_ns;
	bool held; /* kept out, when last looked at */
};

/** Penalty now. */
uint32_t damping_penalty(const struct config_damping *config, const struct damping *damping,
			 uint64_t now_ns);

/** The link went down. */
void damping_down(const struct config_damping *config, struct damping *damping, uint64_t now_ns);

/** Is the link kept out? @param last damping_is_last() */
bool damping_holds(const struct config_damping *config, struct damping *damping, bool last,
		   uint64_t now_ns);

/**
 * Is a port the only one up among the next hops of a route that has several?
 * @param up of each port of the config, whatever holds for this one
 */
bool damping_is_last(const struct config *config, const bool *up, uint16_t port);

#endif
