/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * balance - which of a route's next hops a packet takes, where a hash over equal members doesn't say it all.
 *
 * A mode for each class of each route (enum balance_mode). One file for each mode; what they have in common
 * is here. All of them keep to members that have a weight: those that are resolved and whose link is up. So a
 * link that goes down moves its flows with the next snapshot, and nobody else's.
 *
 * Thread: the worker of the burst, but for what says control.
 */
#ifndef DATAPLANE_BALANCE_BALANCE_H
#define DATAPLANE_BALANCE_BALANCE_H

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>

#include "dataplane/balance/quality.h"
#include "dataplane/balance/sketch.h"

struct adaptive;
struct adjacency;
struct flowlet_table;
struct group;
struct leaf;
struct parsed;
struct rte_mbuf;
struct snapshot;
struct spray;
struct spray_turns;
struct worker;

/* Groups with more members are balanced by hash, whatever their mode. */
#define BALANCE_MEMBERS_MAX 64

/* X(field, unit, help): per worker */
#define BALANCE_COUNTERS(X)                                                                 \
	X(flowlets, "flowlets", "flowlets that began")                                      \
	X(moves, "flowlets",                                                                \
	  "flowlets that began on another uplink than the flow's last one, and safe moves") \
	X(moves_begun, "flows", "safe moves that began, the host paused")                   \
	X(moves_late, "flows", "safe moves given up: no reply in time")                     \
	X(moves_aborted, "flows", "safe moves given up: an uplink went, or a destination")  \
	X(placed, "flows", "flows that began on another uplink than their hash's")          \
	X(collisions, "packets",                                                            \
	  "packets that went by hash because another flow had their place in the table")    \
	X(sprayed, "packets", "packets spread by themselves")

/* A worker's. The tables come when a snapshot first asks for them; until then the hash decides. */
struct balance_state {
	_Atomic(struct flowlet_table *) flowlets;
	_Atomic(struct spray_turns *) turns;
	_Atomic(struct spray *) spray;
	_Atomic(struct adaptive *) adaptive;
	struct quality *quality; /* [priority][ports]; there before flowlets */
	_Atomic(struct sketch *) sketch;
	uint32_t sample_bytes; /* that may pass until the sketch looks at a packet */
	struct {
#define BALANCE_FIELD_(field, unit, help) _Atomic uint64_t field;
		BALANCE_COUNTERS(BALANCE_FIELD_)
#undef BALANCE_FIELD_
	} counters;
};

/**
 * Choose a next hop.
 * @param group  balanced
 * @param parsed of the packet, plain or not
 * @param ip     its IP header; in-order spray may write the UDP checksum
 * @return member 0..group->balanced-1; one without a weight only when none has one
 */
uint32_t balance_choose(struct worker *worker, const struct group *group, struct parsed *parsed,
			uint8_t *ip, uint8_t priority);

/**
 * Next hop by a flow's hash and the weights of those whose links are up, as far as the worker has heard
 * (links.h); when none is, of all.
 * @param member the first of `count` adjacencies, at least one of which has a weight
 * @return 0..count-1
 */
uint32_t balance_by_hash(const struct worker *worker, const struct adjacency *member,
			 uint32_t count, uint32_t hash);

/* A plain packet of a burst (parse_plain.h) to a balanced group. */
struct balance_packet {
	struct rte_mbuf *packet;
	const struct group *group;
	/* balance_choose_plain() says: */
	const struct adjacency *adjacency;
	uint8_t priority;
	uint8_t sprayed; /* PARSED_SPRAYED, or 0 */
};

/** Choose next hops for some of a burst's packets. Hot. */
void balance_choose_plain(struct worker *worker, struct balance_packet *packet, uint32_t count);

/**
 * A packet goes to one of several next hops. Hot: 4 instructions.
 * @return false: call balance_sample() with it
 */
static inline bool balance_passes(struct balance_state *balance, uint32_t length)
{
	if (__builtin_expect(balance->sample_bytes < length, false))
		return false;
	balance->sample_bytes -= length;
	return true;
}

/** It is a packet's turn: let the sketch look at it. @param ip its IP header */
void balance_sample(struct worker *worker, const struct parsed *parsed, const uint8_t *ip,
		    uint8_t priority, uint16_t egress);

/**
 * Control: make what a snapshot's modes need and isn't there, before it is published.
 * @return 0, or -ENOMEM: what is missing goes by hash
 */
int balance_prepare(struct leaf *leaf, const struct snapshot *snapshot);

/** Packets that in-order spray holds. Any thread. */
uint64_t balance_held_packets(const struct worker *worker);

/** Control: the worker has stopped. */
void balance_free(struct worker *worker);

#endif
