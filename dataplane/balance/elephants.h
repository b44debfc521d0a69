/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * elephants - the flows towards other leaves that are worth moving (safe_move.h), and by which uplink each goes.
 *
 * An elephant is a flow that has had `active_bytes` in one window and goes on in the next. It is one until it is silent
 * for a window after the end of its first message (InfiniBand specification 1.2.1, table 38), or until fade_windows on end have
 * brought less than half of active_bytes each: one whose congestion controller holds it back will soon want its
 * path again, and who forgets it puts another one there. The rest are mice: too short for anything to be gained
 * by moving them.
 *
 * A new flow whose first packet is large is taken for an elephant until its first window shows what it is. Nothing of it is
 * on its way, so it may be given any uplink at once (`fresh`). That holds only if every flow with packets on their way
 * has an entry: for idle_ps after one had none, none is fresh (elephants_blind()).
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

#define ELEPHANTS_BUCKET      4
/* Elephants at a time; more stay where they are. New flows have half of that. */
#define ELEPHANTS_MAX         256
/* A first packet of so many bytes brings data: the smallest MTU in use is 1024. */
#define ELEPHANTS_LARGE_BYTES 1000

struct elephant {
	alignas(64) struct balance_key key;
	uint64_t last_ps;   /* its last packet */
	uint64_t window_ps; /* when the window began */
	uint64_t cool_ps;   /* it isn't moved before */
	uint64_t listed_ps; /* an elephant since */
	uint32_t bytes;     /* in the window */
	uint32_t packets;   /* that it has sent; wraps */
	uint16_t peer;      /* leaf of its destination */
	uint16_t port;      /* by which its last packet came in */
	uint8_t priority;
	uint8_t uplink;
	uint8_t faded; /* windows on end that brought too little */
	bool used : 1;
	bool fresh : 1;  /* nothing of it is on its way; whoever places it clears that */
	bool ended : 1;  /* its last packet ended a message */
	bool again : 1;  /* it has sent another message after one */
	bool moved : 1;  /* `uplink` isn't its hash's */
	bool listed : 1; /* an elephant */
	bool moving : 1; /* safe_move.h waits for its old path; it stays an elephant meanwhile */
};

_Static_assert(sizeof(struct elephant) == 64, "a line");

struct elephants_params {
	uint32_t flows;        /* entries; rounded up to a power of two, at least 64 */
	uint32_t active_bytes; /* in a window: a 20th of what an uplink carries */
	uint64_t window_ps;
	uint8_t fade_windows; /* at least 1 */
	uint64_t idle_ps;     /* after such a silence nothing of a flow is on its way */
	uint64_t seed;        /* of the hash */
	bool late;            /* flows were sent before, unseen */
};

struct elephants {
	struct elephant *flow;
	uint32_t mask;  /* entries - 1 */
	uint32_t count; /* of list */
	struct elephants_params params;
	uint64_t blind_ps;
	bool blind;        /* since blind_ps: a flow may be on its way without an entry */
	bool late;         /* so it is when the first packet comes */
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
	bool ends;      /* a message */
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

/** A packet goes by without elephants_packet(). */
static inline void elephants_blind(struct elephants *elephants, uint64_t now_ps)
{
	elephants->blind = true;
	elephants->blind_ps = now_ps;
}

/** Take from the list what is no elephant any more. Cost: 10 instructions for each of them. */
void elephants_sweep(struct elephants *elephants, uint64_t now_ps);

/** A flow's pause is over: what that kept back isn't held against it. */
static inline void elephant_renew(struct elephant *flow, uint64_t now_ps)
{
	flow->window_ps = now_ps;
	flow->bytes = 0;
	flow->faded = 0;
}

/** A flow may be moved now. */
static inline bool elephant_movable(const struct elephant *flow, uint64_t now_ps)
{
	return !flow->moving && !time_after(flow->cool_ps, now_ps);
}

#endif
