/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * neighbours - which MAC addresses the kernel knows on our TAPs, and when to ask it for more.
 *
 * The kernel resolves; this table follows it and decides what to keep alive:
 *	wanted      next hops of routes: asked for from the start, again every NEIGHBOUR_RETRY_NS
 *	            while nobody answers
 *	asked       packets wait for them: asked for once per NEIGHBOUR_RETRY_NS, forgotten after
 *	            NEIGHBOUR_FORGET_NS without an answer
 *	resolved    confirmed every NEIGHBOUR_CONFIRM_NS: the kernel sees none of the traffic that
 *	            the leaf forwards, so it would let them grow stale. It probes a neighbour only when
 *	            its own reachable time (30 s) is over, and reports those that don't answer.
 *
 * Neighbours are known by TAP (ifindex), not by the number of the interface, which a reload may
 * change. NEIGHBOURS_MAX of them; what comes beyond is counted and not learned.
 *
 * The clock and the way to ask are arguments. Thread: control.
 */
#ifndef CONTROL_NEIGHBOURS_H
#define CONTROL_NEIGHBOURS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

#define NEIGHBOURS_MAX       16384
#define NEIGHBOUR_RETRY_NS   UINT64_C(2000000000)
#define NEIGHBOUR_CONFIRM_NS UINT64_C(20000000000)
#define NEIGHBOUR_FORGET_NS  UINT64_C(5000000000)

/* Most questions to the kernel per neighbours_tick(). */
#define NEIGHBOUR_ASKS_PER_TICK 512

struct neighbours;

struct neighbour_entry {
	uint32_t ifindex;
	struct config_ip address;
	uint8_t mac[6];
	bool resolved;
	bool wanted;          /* next hop of a route */
	bool seen;            /* since neighbours_resync_begin() */
	uint64_t resolved_ns; /* since when */
	uint64_t asked_ns;    /* last time that somebody needed it */
	uint64_t due_ns;      /* next question to the kernel */
	uint32_t next;        /* of this bin */
};

/** Ask the kernel to resolve or confirm. */
typedef void neighbours_ask_fn(void *context, uint32_t ifindex, const struct config_ip *address);

/** @return NULL when out of memory */
struct neighbours *neighbours_create(neighbours_ask_fn *ask, void *context);
void neighbours_free(struct neighbours *neighbours);

/**
 * What the kernel says. Entries that nobody needs and that aren't resolved are forgotten.
 * @param mac NULL: not resolved (any more)
 * @return true when the set of resolved neighbours has changed
 */
bool neighbours_update(struct neighbours *neighbours, uint32_t ifindex,
		       const struct config_ip *address, const uint8_t *mac, uint64_t now_ns);

/** Packets wait for it: ask, at most once per NEIGHBOUR_RETRY_NS. @return -ENOSPC: table is full */
int neighbours_need(struct neighbours *neighbours, uint32_t ifindex,
		    const struct config_ip *address, uint64_t now_ns);

/* The next hops of routes, anew: all between begin and end; those not named are wanted no more. */
void neighbours_want_begin(struct neighbours *neighbours);
int neighbours_want(struct neighbours *neighbours, uint32_t ifindex,
		    const struct config_ip *address, uint64_t now_ns);

/* After messages were lost: update() all that there are between begin and end; the rest is gone. */
void neighbours_resync_begin(struct neighbours *neighbours);
bool neighbours_resync_end(struct neighbours *neighbours);

/** Forget everything on a TAP that is gone. @return true when a resolved one was among them */
bool neighbours_forget(struct neighbours *neighbours, uint32_t ifindex);

/** Ask what is due and forget what nobody answers for; about once a second. */
void neighbours_tick(struct neighbours *neighbours, uint64_t now_ns);

uint32_t neighbours_count(const struct neighbours *neighbours);

/** Entry i of neighbours_count(), in no order. Valid until the next change. */
const struct neighbour_entry *neighbours_entry(const struct neighbours *neighbours, uint32_t i);

/** NULL when it isn't known. */
const struct neighbour_entry *neighbours_find(const struct neighbours *neighbours, uint32_t ifindex,
					      const struct config_ip *address);

/** How many were not learned because the table was full. */
uint64_t neighbours_refused(const struct neighbours *neighbours);

#endif
