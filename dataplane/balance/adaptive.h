/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * adaptive - safe moves in the packet path: a flow begins on the uplink that has fewest elephants, or by its hash if it
 * isn't surely new, and moves when another one would suit it better and nothing of it is on its way.
 *
 * The parts: elephants.h says which flows count, safe_move.h which one moves and when. Here they meet packets, PFC
 * and the other leaves, by the same messages and peers as in-order spray (spray.h). No packet is changed.
 *
 * Loads of cells. Each worker tells the leaves it sends elephants to how many come by each of its uplinks (PLACED,
 * every ADAPTIVE_PLACED_PS times workers, and at the next tick when it has changed). Worker 0 of the destination knows at which of its ports each uplink ends,
 * adds up what others have placed there, and answers with that (LOADS). What hasn't been said again for
 * ADAPTIVE_FRESH_PS counts no more. So flows of leaves that aren't adaptive aren't seen.
 *
 * Probes. One travels by the flow's uplink in its class. The destination replies only if it came through the port at
 * which that uplink ends, and no two uplinks end at one: otherwise it may have had another path than the data. It is
 * handled by the worker that queues the flow's packets for the host, in the order in which they were received.
 *
 * Pauses. PAUSE_MOVE (buffer.h) is a reason beside those of the buffer, for the pair (port, priority) of the host, if
 * this worker owns the port and the priority is lossless. It lasts for a move, ADAPTIVE_TIMEOUT_PS at most.
 *
 * Elsewhere. Towards a destination whose leaf is none of our kind a flow goes by flowlets (flowlet.h). Where a peer is silent,
 * or a move's time-out has passed, it stays where it is: with a gap between flowlets it would come to its host
 * before what is still on the old path.
 *
 * Thread: the worker's, but for what says control.
 */
#ifndef DATAPLANE_BALANCE_ADAPTIVE_H
#define DATAPLANE_BALANCE_ADAPTIVE_H

#include <stdatomic.h>
#include <stdint.h>

#include "dataplane/balance/safe_move.h"
#include "dataplane/balance/spray.h"
#include "dataplane/worker.h"

#define ADAPTIVE_TICK_PS      (5 * PS_PER_US)
#define ADAPTIVE_PLACED_PS    (10 * PS_PER_US)
#define ADAPTIVE_FRESH_PS     (100 * PS_PER_US) /* ten of these; times workers */
#define ADAPTIVE_COOL_MIN_PS  (25 * PS_PER_US)
#define ADAPTIVE_COOL_MAX_PS  (45 * PS_PER_US)
#define ADAPTIVE_TIMEOUT_PS   (100 * PS_PER_US)
#define ADAPTIVE_WINDOW_PS    (25 * PS_PER_US)
/* 400 us: a sender that DCQCN has cut to the least waits for 300 us until it sends more (NVIDIA's rpg_time_reset). */
#define ADAPTIVE_FADE_WINDOWS 16
/* What a move costs: its host is silent for so long. */
#define ADAPTIVE_COST_PS      (30 * PS_PER_US)
#define ADAPTIVE_IDLE_PS      (10 * PS_PER_MS)
/* An elephant has this part of the slowest uplink. */
#define ADAPTIVE_SHARE        20

/* What one worker of a peer has placed. */
struct adaptive_placed {
	uint64_t told_ps;
	bool told;
	uint8_t count;
	uint16_t uplink[SPRAY_UPLINKS_MAX];
};

/* A worker's. */
struct adaptive {
	struct elephants elephants;
	struct safe_move move;
	struct safe_move_counters counted;   /* of these, what balance.h has */
	struct spray_flow *name;             /* [flows]: addresses of the elephants' entries */
	uint16_t (*said)[SPRAY_UPLINKS_MAX]; /* [peers]: what we have placed, as they know */
	struct adaptive_placed (*placed)[WORKER_COUNT_MAX]; /* [peers] */
	uint32_t *arriving; /* [ports]: elephants that come, while they are added up */
	uint64_t tick_ps, placed_ps;
	_Atomic uint16_t link[SAFE_MOVE_LINKS_MAX]; /* elephants on each port, for other workers */
};

/** Control. @return NULL: out of memory */
struct adaptive *adaptive_create(const struct leaf *leaf, const struct snapshot *snapshot);
void adaptive_free(struct adaptive *adaptive);

/** Choose a next hop towards a peer. @param ip the packet's IP header */
uint32_t adaptive_choose(struct worker *worker, struct adaptive *adaptive,
			 const struct group *group, const struct parsed *parsed, const uint8_t *ip,
			 uint8_t priority, uint32_t hash);

/** A message of type PROBE, PASSED, PLACED or LOADS. @param port by which it came */
void adaptive_handle(struct worker *worker, struct spray *spray, uint16_t peer, uint16_t port,
		     const struct spray_message *message, uint64_t now_ps);

/** Once a poll, after packets and messages. @return when it wants to be called next */
uint64_t adaptive_run(struct worker *worker, struct spray *spray, uint64_t now_ps);

#endif
