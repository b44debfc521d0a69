/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * safe_move - which elephants (elephants.h) go by another uplink, and when they may.
 *
 * Where a flow begins. One of which nothing is on its way goes by the uplink that has fewest elephants, here and at the
 * other end together; of equals by its hash's, or the next one after it. That costs nothing, and leaves to moves what the
 * other leaves' flows make of it.
 *
 * Which moves. An uplink that has two elephants where another has none costs one of them half of its rate; so does
 * the other end of a path, which this leaf doesn't see: there the destination's leaf tells. Elephants of one host
 * share its link, so n of them, wherever they go, are as well off in a company of n as alone: for each of those an
 * uplink or cell (destination, path) has n places. What there is to lower is the number of elephants too many on our
 * uplinks and in the cells. A tick looks at one elephant that has too little place, and makes the move, or swap with
 * another elephant, that lowers it most: with probability 1/2, lest leaves that see the same gap all jump into
 * it. What leaves it as it is it makes with probability 1/10: that hands the conflict on to another leaf, until it finds a
 * gap. Such a flow rests for SAFE_MOVE_PATIENCE times as long, or the conflict would come back before it went on.
 * Where no place is free, neither on our uplinks nor in the cells of this destination, nothing moves: an overload that all
 * paths share is nobody's to mend. A path with less than half of what the fastest has is no place for an elephant:
 * each one there is one too many, and none moves there.
 *
 * What pays. A move silences a host for about cost_ps. With n places and a load of l, it gives the flow 1/n of a link instead
 * of 1/l; what is to come of a flow is taken for as long as it has been an elephant.
 *
 * When. A flow changes its path when nothing of it is on the old one. A probe follows its last packet, in the same
 * queues; the destination's leaf replies; if the flow has sent nothing since the probe, everything has arrived, and
 * its next packet may take any path. If it has, another probe follows. To make this soon, the flow's host may not
 * send the flow's class meanwhile (PFC). The pause is only a help: order doesn't depend on the host's obeying it,
 * nor on its being possible. A move ends after timeout_ps at the latest, with the flow where it was: a probe
 * or reply that is lost costs one pause. Then the flow rests for cool_min_ps to cool_max_ps.
 *
 * Loads that are known for sure are those of this worker. Others' are told: of uplinks by
 * safe_move_link_set(), of cells by the destination (safe_move_told()), no older than fresh_ps; without them nothing
 * moves towards it.
 *
 * Numbers: the probabilities, and the times that spray.h has, come from simulations of 8 leaves and 8 spines.
 *
 * Thread: one worker's own. Nothing is done for a packet. No clock; chance is drawn from the seed.
 */
#ifndef DATAPLANE_BALANCE_SAFE_MOVE_H
#define DATAPLANE_BALANCE_SAFE_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/elephants.h"

#define SAFE_MOVE_UPLINKS_MAX 32
#define SAFE_MOVE_LINKS_MAX   64 /* of a leaf, numbered by the caller */
#define SAFE_MOVE_LINK_NONE   UINT8_MAX
#define SAFE_MOVES            8 /* at a time */

/* Of 2^16. */
#define SAFE_MOVE_IMPROVE  32768u /* .5 */
#define SAFE_MOVE_SIDEWAYS 6554u  /* .1 */

#define SAFE_MOVE_PATIENCE 4

struct safe_move_params {
	uint16_t peers, ports;
	uint64_t seed;
	uint64_t cool_min_ps, cool_max_ps; /* a flow's rest after a move */
	uint64_t cost_ps;                  /* of a move */
	uint64_t timeout_ps;               /* of a move */
	uint64_t fresh_ps;                 /* how long what a destination tells holds */
};

/* What the world does for a move. */
struct safe_move_ops {
	void *context;
	/* Send a probe behind the flow's last packet: by its uplink, in its class. May fail silently. */
	void (*probe)(void *context, const struct elephant *flow, uint32_t serial);
	/* A port's peer may not send a priority, or may again; every true is followed by one false. */
	void (*pause)(void *context, uint16_t port, uint8_t priority, bool pause);
};

/* X(field, unit, help) */
#define SAFE_MOVE_COUNTERS(X)                                                       \
	X(placed, "flows", "flows that began by another uplink than their hash's")  \
	X(begun, "flows", "moves to another uplink that began, the host paused")    \
	X(moved, "flows", "flows that went by another uplink, their old one empty") \
	X(timeouts, "flows", "moves given up: no reply in time")                    \
	X(aborted, "flows", "moves given up: an uplink went, or a destination")     \
	X(probes, "messages", "probes sent")                                        \
	X(paused_ps, "ps", "time that moves took, each by itself")

struct safe_move_counters {
#define SAFE_MOVE_FIELD_(field, unit, help) uint64_t field;
	SAFE_MOVE_COUNTERS(SAFE_MOVE_FIELD_)
#undef SAFE_MOVE_FIELD_
};

/* A move under way. */
struct safe_move_step {
	struct elephant *flow; /* NULL: none */
	uint64_t since_ps;
	uint32_t serial;  /* of the last probe */
	uint32_t packets; /* that the flow had sent then */
	uint16_t port;    /* whose peer is paused */
	uint8_t priority;
	uint8_t from, to; /* uplinks */
	bool sideways;
};

/* A destination's leaf. Elephants by each of our uplinks. */
struct safe_move_peer {
	uint64_t told_ps;
	bool told;
	uint32_t up;   /* bit mask of uplinks that may be taken */
	uint32_t slow; /* bit mask of those that are no place for an elephant */
	uint8_t link[SAFE_MOVE_UPLINKS_MAX];
	uint16_t own[SAFE_MOVE_UPLINKS_MAX];    /* of this worker, as after all moves under way */
	uint16_t others[SAFE_MOVE_UPLINKS_MAX]; /* as told */
};

struct safe_move {
	struct safe_move_params params;
	struct safe_move_peer *peer; /* [peers] */
	uint16_t *host;              /* [ports]: elephants that come in there */
	uint64_t random;
	uint32_t serial; /* of the last probe */
	uint32_t active; /* steps */
	uint16_t link_own[SAFE_MOVE_LINKS_MAX];
	uint16_t link_others[SAFE_MOVE_LINKS_MAX];
	struct safe_move_step step[SAFE_MOVES];
	struct safe_move_counters counters;
};

/** @return false: out of memory. Control. */
bool safe_move_init(struct safe_move *move, const struct safe_move_params *params);
void safe_move_fini(struct safe_move *move);

/**
 * An uplink towards a peer: which link it is, and whether it may be taken. All are down at first.
 * @param link 0..SAFE_MOVE_LINKS_MAX-1, the same for all peers whose packets share it
 * @param slow it has less than half of what the fastest path there has
 */
void safe_move_path_set(struct safe_move *move, uint16_t peer, uint8_t uplink, uint8_t link,
			bool up, bool slow);

/** Elephants of other workers on a link. */
void safe_move_link_set(struct safe_move *move, uint8_t link, uint16_t others);

/**
 * A peer tells how many elephants of others come by the other end of each of our uplinks.
 * @param others [count], count at most SAFE_MOVE_UPLINKS_MAX; further ones have none
 */
void safe_move_told(struct safe_move *move, uint16_t peer, const uint16_t *others, uint32_t count,
		    uint64_t now_ps);

/**
 * Choose the uplink of a flow that is fresh (elephants.h).
 * Cost: 10 instructions an uplink.
 */
void safe_move_place(struct safe_move *move, struct elephant *flow, uint64_t now_ps);

/**
 * Every 5 us or so: count loads, give up what is late, and begin one move or swap if there is one.
 * Cost: 30 instructions an elephant.
 */
void safe_move_tick(struct safe_move *move, struct elephants *elephants,
		    const struct safe_move_ops *ops, uint64_t now_ps);

/**
 * A probe has arrived at the destination. Ignored unless it is the last one of a move.
 */
void safe_move_passed(struct safe_move *move, uint16_t peer, uint32_t serial,
		      const struct safe_move_ops *ops, uint64_t now_ps);

/** A peer is gone: what is under way towards it ends. */
void safe_move_forget(struct safe_move *move, uint16_t peer, const struct safe_move_ops *ops,
		      uint64_t now_ps);

#endif
