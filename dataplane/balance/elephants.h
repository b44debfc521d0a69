/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elephants - the flows towards other leaves that are worth moving (safe_move.h), and by which uplink each goes.
 *
 * An elephant is a flow that has had `active_bytes` in one window and goes on in the next; it is one until a
 * window brings less than half of that. The rest are mice: too short for anything to be gained by moving them.
 *
 * A flow goes by its hash's uplink until it is moved; then by the uplink that it was moved to, until that goes down, or
 * the flow's entry is given to another one after a silence of idle_ps. A flow whose hash leads elsewhere (its host
 * changes the UDP source port, a link came or went) has packets on several paths: no probe tells when all have passed,
 * so it can't be moved for idle_ps.
 *
 * Memory: one line for each entry, in buckets of four. A new flow takes an entry that is free, then one that has been
 * idle, then that of the mouse that has been silent for longest: a mouse goes by its hash, known or not. When four
 * elephants have the bucket it goes by its hash and is counted.
 *
 * Thread: one worker's own.
 */
#ifndef DATAPLANE_BALANCE_ELEPHANTS_H
#define DATAPLANE_BALANCE_ELEPHANTS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/key.h"
#include "dataplane/units.h"

#define ELEPHANTS_BUCKET 4
/* Elephants at a time; more stay where they are. */
#define ELEPHANTS_MAX    256

struct elephant {
	alignas(64) struct balance_key key;
	uint64_t last_ps;   /* its last packet */
	uint64_t window_ps; /* when the window began */
	uint64_t cool_ps;   /* it isn't moved before */
	uint32_t bytes;     /* in the window */
	uint32_t packets;   /* that it has sent; wraps */
	uint16_t peer;      /* leaf of its destination */
	uint16_t port;      /* by which its last packet came in */
	uint8_t priority;
	uint8_t uplink;
	bool used;
	bool moved;  /* `uplink` isn't its hash's */
	bool listed; /* an elephant */
	bool faded;  /* a window of an elephant's brought too little */
	bool moving; /* safe_move.h waits for its old path; it stays an elephant meanwhile */
};

_Static_assert(sizeof(struct elephant) == 64, "a line");

struct elephants_params {
	uint32_t flows;        /* entries; rounded up to a power of two, at least 64 */
	uint32_t active_bytes; /* in a window: a 20th of what an uplink carries */
	uint64_t window_ps;
	uint64_t idle_ps; /* after such a silence nothing of a flow is on its way */
	uint64_t seed;    /* of the hash */
};

struct elephants {
	struct elephant *flow;
	uint32_t mask;  /* entries - 1 */
	uint32_t count; /* of list */
	struct elephants_params params;
	uint64_t unplaced; /* packets of flows that found no entry */
	uint64_t unlisted; /* times that an elephant found the list full */
	struct elephant *list[ELEPHANTS_MAX];
};

/* A packet as this module sees it. */
struct elephants_packet {
	uint32_t bytes;
	uint16_t peer, port;
	uint8_t priority;
	uint8_t uplink; /* its hash's */
};

/** @return false: out of memory. Control. */
bool elephants_init(struct elephants *elephants, const struct elephants_params *params);
void elephants_fini(struct elephants *elephants);

/**
 * A packet of a flow towards a peer. Hot: about 30 instructions.
 * @param up bit mask of uplinks that may be taken; the packet's hash has led to one of them
 * @return its flow, whose `uplink` it goes by; NULL: by its hash
 */
struct elephant *elephants_packet(struct elephants *elephants, const struct balance_key *key,
				  const struct elephants_packet *packet, uint32_t up,
				  uint64_t now_ps);

/** Take from the list what is no elephant any more. Cost: 10 instructions for each of them. */
void elephants_sweep(struct elephants *elephants, uint64_t now_ps);

/** A flow's pause is over: what that kept back isn't held against it. */
static inline void elephant_renew(struct elephant *flow, uint64_t now_ps)
{
	flow->window_ps = now_ps;
	flow->bytes = 0;
	flow->faded = false;
}

/** A flow may be moved now. */
static inline bool elephant_movable(const struct elephant *flow, uint64_t now_ps)
{
	return !flow->moving && !time_after(flow->cool_ps, now_ps);
}

#endif
