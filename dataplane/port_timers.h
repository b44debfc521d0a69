/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_timers - one timer per port, the earliest first.
 *
 * Says when a port that has packets may send again (wire free, shaper), so that nobody scans ports
 * for the next due time. A 4-ary heap of port ids beside an array of times: arming, moving and
 * expiring cost a few compares, an idle check is one load. Ties go by port id, so that runs repeat.
 *
 * Thread: one worker's own.
 */
#ifndef DATAPLANE_PORT_TIMERS_H
#define DATAPLANE_PORT_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define PORT_TIMER_UNARMED UINT16_MAX

struct port_timers {
	uint32_t count;
	uint16_t heap[PORT_COUNT_MAX];     /* port ids */
	uint16_t position[PORT_COUNT_MAX]; /* in heap, or PORT_TIMER_UNARMED */
	uint64_t due_ps[PORT_COUNT_MAX];
};

void port_timers_init(struct port_timers *timers);

/** Arm or move the timer of a port. Hot. */
void port_timers_arm(struct port_timers *timers, uint16_t port, uint64_t due_ps);

/** Disarm; nothing happens when it isn't armed. */
void port_timers_disarm(struct port_timers *timers, uint16_t port);

static inline bool port_timers_armed(const struct port_timers *timers, uint16_t port)
{
	return timers->position[port] != PORT_TIMER_UNARMED;
}

/** True when a timer is due at now_ps. Hot: one compare. */
static inline bool port_timers_due(const struct port_timers *timers, uint64_t now_ps)
{
	return timers->count != 0 && !time_after(timers->due_ps[timers->heap[0]], now_ps);
}

/** When the earliest timer is due; only when count != 0. */
static inline uint64_t port_timers_next(const struct port_timers *timers)
{
	return timers->due_ps[timers->heap[0]];
}

/** Take the earliest timer off; only when count != 0. @return its port */
uint16_t port_timers_pop(struct port_timers *timers);

#endif
