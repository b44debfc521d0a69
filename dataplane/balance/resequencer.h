/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resequencer - restores the order of sprayed flows at their destination leaf.
 *
 * One for each worker, with the flows whose egress ports it owns. A packet with the number that is expected
 * goes on at once. One from further ahead is held until what is missing (a hole) has come or is given up.
 * What comes late is sent and counted: a host copes with a late packet better than with none. A number that
 * is held already is a duplicate; its packet is the caller's to drop.
 *
 * When is a hole given up?
 * - When fences have passed it: the destination asks for them once a hole is a few frame times old, the source
 *   sends one behind its data on every uplink, and what hasn't come before them on any path never will.
 * - When it is as old as the time-out. The clock of a priority stands while the caller pauses one of its
 *   fabric ports: what we keep out ourselves isn't lost.
 * - When a packet comes from more than SEQUENCE_WINDOW ahead.
 * - When more is held than the cap allows: the oldest hole of all flows.
 * Packets that are missing at the end of what was sent show no hole. The source asks for them (DEMOTE), and then the
 * same rules hold: fences, or the time-out since the flow's last packet.
 * Given up at once are the holes of a flow that is flushed: its agreement or its sender has come to an end.
 *
 * A flow is kept for a second after its last packet and never evicted before, so that no host ever sees a
 * number; a full table refuses. Held packets lie in one hash over all flows: a hole costs no ring.
 *
 * Thread: the worker; counters are read by any. No clock, no allocation after resequencer_create().
 * Packets are never looked into.
 */
#ifndef DATAPLANE_BALANCE_RESEQUENCER_H
#define DATAPLANE_BALANCE_RESEQUENCER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/key.h"
#include "dataplane/balance/sequence.h"
#include "dataplane/units.h"

struct rte_mbuf;

#define RESEQUENCER_KEEP_PS     PS_PER_S         /* a flow is kept so long after its last packet */
#define RESEQUENCER_OWNED_PS    (10 * PS_PER_MS) /* idle so long, another owner may have it */
#define RESEQUENCER_SILENT_PS   (5 * PS_PER_US)
#define RESEQUENCER_SILENT_AMID 8 /* packets that came by others meanwhile */
#define RESEQUENCER_MEMBERS     32
#define RESEQUENCER_FLOWS_MAX   (UINT32_C(1) << 19)

struct resequencer_limits {
	uint32_t flows;   /* power of two, 64..RESEQUENCER_FLOWS_MAX */
	uint32_t peers;   /* source leaves, 1..65535 */
	uint32_t packets; /* most that are held, 32..2^24 */
	uint64_t bytes;   /* likewise; in cost bytes */
	uint64_t
		fence_ps; /* a hole of this age makes us ask for fences; and of 8 and 64 times it */
	uint64_t timeout_ps; /* min(4 ms, 16384 frame times of the slowest member) */
	uint64_t seed;       /* of the hash */
};

enum resequencer_result {
	RESEQUENCER_SEND, /* in order: send it; then resequencer_next() while flow->held != 0 */
	RESEQUENCER_HELD, /* kept */
	RESEQUENCER_LATE, /* send it; counted */
	RESEQUENCER_DUPLICATE, /* drop it; counted */
};

enum resequencer_answer {
	RESEQUENCER_YES,
	RESEQUENCER_FULL,  /* no room, and nothing that is old enough to go */
	RESEQUENCER_OWNED, /* another owner's packets came less than 10 ms ago */
	RESEQUENCER_BUSY,  /* packets of the same flow are held: ask again */
};

/* Why holes are given up. */
#define RESEQUENCER_REASONS(X)                                    \
	X(FENCE, fence, "fences passed on every path")            \
	X(TIMEOUT, timeout, "as old as the time-out")             \
	X(WINDOW, window, "a packet came from beyond the window") \
	X(CAP, cap, "more was held than allowed")                 \
	X(FLUSH, flush, "the agreement or its sender came to an end")

#define RESEQUENCER_REASON_(upper, lower, help) RESEQUENCER_##upper,
enum resequencer_reason { RESEQUENCER_REASONS(RESEQUENCER_REASON_) RESEQUENCER_REASON_COUNT };
#undef RESEQUENCER_REASON_

struct resequencer_owner {
	uint64_t epoch;
	uint16_t peer;  /* source leaf, 0..peers-1 */
	uint8_t worker; /* of the source leaf */
};

/* One line a flow. Written by the functions below only; callers may read. */
struct resequencer_flow {
	alignas(64) struct balance_key key;
	uint64_t seen_ps; /* when its last packet came */
	uint64_t hole_ps; /* since when it has its present hole, on its priority's clock */
	uint32_t older;   /* ring of flows with a hole; itself: has none */
	uint32_t newer;
	uint32_t oldest;   /* held packet that came first; the others in a ring behind it */
	uint32_t fences;   /* members whose fences have passed since the first one */
	uint32_t ready;    /* next in the list of flows that have something to send */
	uint16_t expected; /* number that is due */
	uint16_t limit;    /* numbers up to here are to be given up, see skip */
	uint16_t held;     /* packets */
	uint16_t peer;     /* of the owner */
	uint16_t port;     /* egress */
	uint8_t flags;     /* and its priority, RESEQUENCER_PRIORITY_SHIFT */
	uint8_t skip;      /* what is to be given up, and why */
};

_Static_assert(sizeof(struct resequencer_flow) == 64, "one line");

#define RESEQUENCER_PRIORITY_SHIFT 5
#define RESEQUENCER_FLAGS          ((1u << RESEQUENCER_PRIORITY_SHIFT) - 1)

/** Queue that a flow's packets wait for, as of its agreement. */
static inline uint32_t resequencer_flow_priority(const struct resequencer_flow *flow)
{
	return flow->flags >> RESEQUENCER_PRIORITY_SHIFT;
}

/* What came from one source leaf by one member since the last feedback. */
struct resequencer_member {
	uint64_t seen_ps;
	uint64_t lateness_ps; /* sum */
	uint32_t packets;
	uint32_t all; /* peer's packets by all members when this one's last came */
};

struct resequencer_peer {
	struct resequencer_member member[RESEQUENCER_MEMBERS];
	uint32_t all; /* packets; wraps */
};

struct resequencer_counters {
	_Atomic uint64_t held_bytes, held_packets;         /* now */
	_Atomic uint64_t held_bytes_max, held_packets_max; /* peaks */
	_Atomic uint64_t flows;                            /* now */
	_Atomic uint64_t late, duplicates;
	_Atomic uint64_t holes;                              /* times that a flow began to wait */
	_Atomic uint64_t given_up[RESEQUENCER_REASON_COUNT]; /* holes */
	_Atomic uint64_t lost[RESEQUENCER_REASON_COUNT];     /* numbers in them */
	_Atomic uint64_t unheld; /* late because there was no room to hold them */
};

struct resequencer {
	struct resequencer_flow *flow;
	struct resequencer_peer *peer;
	struct resequencer_counters counters;
	uint64_t
		next_ps; /* when resequencer_hole_due() has something to do, or TIME_IDLE_PS ahead */
	struct resequencer_limits limits;
	struct resequencer_tables *tables;
};

/** @return NULL with rte_errno set: ENOMEM, or EINVAL for limits out of range. Control. */
struct resequencer *resequencer_create(const struct resequencer_limits *limits);

/** Packets that are still held must have been flushed. NULL is fine. Control. */
void resequencer_free(struct resequencer *resequencer);

/** The flow of a key, or NULL. Hot: about 45 instructions, known or not, and one line beside the flow's own. */
struct resequencer_flow *resequencer_find(struct resequencer *resequencer,
					  const struct balance_key *key);

/**
 * Begin or renew an agreement. Idempotent: the request that is in force changes nothing. The egress port
 * is noted each time. A renewed one begins with the number it names; what was missing before is late then.
 * @param first    number that the start stands for, 2..65535
 * @param port     egress
 * @param priority whose clock counts for its holes
 */
enum resequencer_answer resequencer_install(struct resequencer *resequencer,
					    const struct balance_key *key,
					    const struct resequencer_owner *owner, uint16_t first,
					    uint16_t port, uint8_t priority, uint64_t now_ps);

/**
 * Forget one flow, if it has been idle for RESEQUENCER_KEEP_PS and holds nothing.
 * @return true: it is forgotten
 */
bool resequencer_forget(struct resequencer *resequencer, struct resequencer_flow *flow,
			uint64_t now_ps);

/**
 * Forget flows that have been idle for RESEQUENCER_KEEP_PS and hold nothing. Call it every second at the
 * least: no time may grow older than a day. resequencer_install() looks at a few as well.
 * @param count flows to look at, from where the last call ended
 */
void resequencer_sweep(struct resequencer *resequencer, uint32_t count, uint64_t now_ps);

/* The rest of resequencer_arrive(): anything but the expected packet of a flow that holds nothing. */
enum resequencer_result resequencer_arrive_slow(struct resequencer *resequencer,
						struct resequencer_flow *flow,
						struct rte_mbuf *packet, uint16_t number,
						uint32_t cost_bytes, uint32_t member,
						uint64_t now_ps);

static inline struct resequencer_member *resequencer_member_seen(struct resequencer *resequencer,
								 struct resequencer_flow *flow,
								 uint32_t index, uint64_t now_ps)
{
	struct resequencer_peer *peer = &resequencer->peer[flow->peer];
	struct resequencer_member *member = &peer->member[index];

	flow->seen_ps = now_ps;
	member->seen_ps = now_ps;
	member->packets++;
	member->all = ++peer->all;
	return member;
}

/** Is it the expected packet of a flow that holds nothing? */
static inline bool resequencer_is_due(const struct resequencer_flow *flow, uint16_t number)
{
	return number == flow->expected && flow->held == 0 &&
	       (flow->flags & RESEQUENCER_FLAGS) == 0;
}

/** It came. */
static inline void resequencer_pass(struct resequencer *resequencer, struct resequencer_flow *flow,
				    uint16_t number, uint32_t member, uint64_t now_ps)
{
	resequencer_member_seen(resequencer, flow, member, now_ps);
	flow->expected = sequence_next(number);
}

/**
 * A packet of a flow came. Hot: at most 25 instructions when it is in order and nothing is held.
 * After each burst the caller empties resequencer_ready(): holes may have been given up.
 * @param number     SEQUENCE_START or 2..65535; packets with 0 don't come here
 * @param cost_bytes 1..65535; its share of the hold cap
 * @param member     by which of the source's uplinks it came, 0..RESEQUENCER_MEMBERS-1
 */
static inline enum resequencer_result resequencer_arrive(struct resequencer *resequencer,
							 struct resequencer_flow *flow,
							 struct rte_mbuf *packet, uint16_t number,
							 uint32_t cost_bytes, uint32_t member,
							 uint64_t now_ps)
{
	if (!resequencer_is_due(flow, number))
		return resequencer_arrive_slow(resequencer, flow, packet, number, cost_bytes,
					       member, now_ps);
	resequencer_pass(resequencer, flow, number, member, now_ps);
	return RESEQUENCER_SEND;
}

/**
 * The next packet of a flow that may be sent, in order. To be called until NULL.
 * Cost: 40 instructions a packet, and as many for each number that is given up (each only once).
 */
struct rte_mbuf *resequencer_next(struct resequencer *resequencer, struct resequencer_flow *flow,
				  uint64_t now_ps);

/** A flow of which resequencer_next() may have something because a hole was given up; or NULL. */
struct resequencer_flow *resequencer_ready(struct resequencer *resequencer);

/**
 * Once a poll, when now_ps has reached next_ps, until NULL: a flow for which the caller asks for fences.
 * Gives up holes that are too old.
 */
struct resequencer_flow *resequencer_hole_due(struct resequencer *resequencer, uint64_t now_ps);

/**
 * A fence came in behind the data of one member.
 * @param last last number that had been sent then, 2..65535; behind what is expected: of no use
 * @param live members by which the flow's packets may come: bit mask
 * Effect: once fences of all of them have come, no number is waited for up to the least `last` of them.
 */
void resequencer_fence(struct resequencer *resequencer, struct resequencer_flow *flow,
		       uint32_t member, uint16_t last, uint32_t live, uint64_t now_ps);

/**
 * The source asks whether numbers up to `last` have come, and some haven't, though nothing behind them is held that
 * would show a hole. Give them up if the flow has been silent for the time-out.
 */
void resequencer_expire(struct resequencer *resequencer, struct resequencer_flow *flow,
			uint16_t last, uint64_t now_ps);

/** True when no number up to `last` is waited for: they have come or been given up. */
static inline bool resequencer_passed(const struct resequencer_flow *flow, uint16_t last)
{
	return sequence_distance(flow->expected, last) > 0;
}

/** Give up all holes of a flow; what it holds can be sent. */
void resequencer_flush(struct resequencer *resequencer, struct resequencer_flow *flow);

/** The same for all flows of a source leaf. Cost: flows with holes. */
void resequencer_flush_peer(struct resequencer *resequencer, uint16_t peer);

/** Hold the clock of a priority's holes, or let it go on. Idempotent. */
void resequencer_clock_hold(struct resequencer *resequencer, uint8_t priority, bool hold,
			    uint64_t now_ps);

struct resequencer_feedback {
	uint64_t lateness_ps; /* sum over packets */
	uint32_t packets;
	uint64_t silent_ps; /* how long; 0: not silent, or there was too little by others to tell */
};

/** What there is to tell a source leaf of one of its uplinks; begins anew. */
struct resequencer_feedback resequencer_feedback_take(struct resequencer *resequencer,
						      uint16_t peer, uint32_t member,
						      uint64_t now_ps);

#endif
