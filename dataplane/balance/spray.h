/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spray - in-order spray: packets of one flow by all uplinks, and at the other end in their order again.
 *
 * The parts: spray_source.h says which flows are sprayed and numbers their packets, weights.h by which uplink
 * each one goes, resequencer.h restores the order, spray_message.h is what leaves say to each other. Here they
 * meet the packet path. Each worker has all of it: it sprays what it receives from hosts, and orders what leaves
 * through its ports. Leaves share nothing but the key, and workers nothing at all: each says hello, asks and
 * answers under its own number.
 *
 * Which leaf serves a destination, `balance.spray.peers` says. A leaf agrees only on hosts that are neighbours of
 * its own; with several workers only on those whose port can't change under it, that is on routed ports or static.
 *
 * Uplinks are numbered by the next hops towards a peer. A path is an uplink here and a port there. Which port that is
 * hellos show: one of them goes by each uplink. A path is up when both ends are, and as fast as the slower one: our end
 * by the link, the other by its owner's hello, which came through the port that our uplink leaves by. Where arrival
 * ports aren't distinct (parallel links behind one spine, three tiers) or not all known yet, fences prove nothing, and
 * only the time-out ends a hole.
 *
 * Times. Hellos: at once by all uplinks when something changed, and SPRAY_HELLO_AGAIN times more as one may be lost;
 * else by one in turn every SPRAY_HELLO_BUSY_PS where flows have been agreed on lately, every SPRAY_HELLO_PS elsewhere.
 * Feedback: every SPRAY_FEEDBACK_PS times workers to each peer whose packets came. A source that hears nothing of a
 * destination for SPRAY_SILENCE_PS while it sprays pins its flows; after SPRAY_DEAD_PS of silence it sends no numbers
 * any more: packets without one overtake those that a leaf which only stood still finds in its receive rings, so that
 * is longer than workers are ever kept from running. A leaf that starts drops for SPRAY_START_PS, longer than that,
 * what may carry a number of an agreement that it doesn't know; sources that hear its new epoch send none any more.
 *
 * Buffer. A held packet is in no ingress account; what is held has a cap of its own (a term of config/buffer_plan.h)
 * and counts as buffers in use. When it is let go it is charged to the port it came through, unless that would take
 * its pair above its limit: then to the CPU's port, which nobody pauses, and whose share lowers everybody's limit.
 * So no headroom is ever taken by what had been held.
 *
 * Thread: the worker's, but for what says control.
 */
#ifndef DATAPLANE_BALANCE_SPRAY_H
#define DATAPLANE_BALANCE_SPRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/hash.h"
#include "dataplane/balance/key.h"
#include "dataplane/balance/resequencer.h"
#include "dataplane/balance/spray_message.h"
#include "dataplane/balance/spray_source.h"
#include "dataplane/balance/weights.h"
#include "dataplane/packet.h"
#include "dataplane/port_bits.h"
#include "dataplane/units.h"

struct burst;
struct group;
struct leaf;
struct rte_mbuf;
struct snapshot;
struct worker;

#define SPRAY_HELLO_PS      (10 * PS_PER_MS)
#define SPRAY_HELLO_BUSY_PS PS_PER_MS
#define SPRAY_HELLO_AGAIN   2
#define SPRAY_HELLO_MIN_PS  (50 * PS_PER_US) /* between answers to hellos of one peer */
#define SPRAY_BUSY_PS       (2 * PS_PER_S)   /* after the last word but a hello */
#define SPRAY_FEEDBACK_PS   (10 * PS_PER_US)
#define SPRAY_SILENCE_PS    (2 * PS_PER_MS) /* two hellos */
#define SPRAY_DEAD_PS       (50 * PS_PER_MS)
#define SPRAY_START_PS      (100 * PS_PER_MS)
#define SPRAY_RETRY_PS      (50 * PS_PER_US)
#define SPRAY_IDLE_PS       (10 * PS_PER_MS)
#define SPRAY_BAR_PS        (10 * PS_PER_MS)
#define SPRAY_RELEASE_PS    PS_PER_S

/* Messages that one poll handles; more are dropped, and said again. */
#define SPRAY_INBOX 256

/* Packets between two looks at the queues of a peer's uplinks. */
#define SPRAY_LOOK_PACKETS 32
#define SPRAY_LOOK_PS      PS_PER_US /* or so much time */

/* X(field, unit, help): of a worker, beside those of resequencer.h and spray_source.h */
#define SPRAY_COUNTERS(X)                                                                        \
	X(sequenced, "packets", "packets that left with a number")                               \
	X(rerouted, "packets",                                                                   \
	  "packets with a number that left a dead uplink's queue for another one")               \
	X(restored, "packets", "packets that came with a number, which gave way to 0")           \
	X(messages_sent, "messages", "messages to other leaves")                                 \
	X(messages_received, "messages", "messages of other leaves that were taken")             \
	X(messages_refused, "messages", "messages that were malformed, forged, old or too many") \
	X(messages_unsent, "messages", "messages for which there was no buffer or no uplink")    \
	X(overflowed, "packets", "released packets that their port's account had no room for")

/* What we know of another leaf. */
struct spray_leaf {
	struct weights weights;
	uint64_t epoch;                   /* of its present life; 0: nothing is proved yet */
	uint64_t candidate;               /* the latest that it claims */
	uint64_t heard_ps;                /* its last message, if epoch != 0 */
	uint64_t busy_ps;                 /* the last one that wasn't a hello, either way */
	uint64_t hello_ps;                /* when it was told hello last */
	uint64_t sprayed_ps, spraying_ps; /* last sequenced packet, and the first after a silence */
	uint64_t told_ps,
		active_ps;  /* last feedback to it, and since when it has sent without a break */
	uint64_t looked_ps; /* poll of the last look at queues */
	uint32_t look;      /* packets until the next one */
	uint32_t mask;      /* our uplinks towards it that may be taken */
	uint32_t taken, taken_before; /* those that were, since its last feedback and before */
	uint32_t live;                /* its uplinks that are up, as it says */
	uint32_t open;                /* of these, the ones that end at a port of ours that is up */
	uint32_t count;               /* its uplinks; 0: it has said nothing of them */
	uint32_t hello_serial, said_serial; /* of its last hello, and of ours */
	bool distinct;       /* no two of those that are up end at one port of ours */
	bool arrived;        /* something came since the last feedback */
	uint8_t turn;        /* uplink of the last message that might take any */
	uint8_t hello_turn;  /* of the last hello that went alone */
	uint8_t hello_again; /* times that a change is still to be said */
	uint16_t arrival[SPRAY_UPLINKS_MAX]; /* port of ours at which each of its uplinks ends */
	uint32_t speed_mbps[SPRAY_UPLINKS_MAX];
	uint32_t
		share[SPRAY_UPLINKS_MAX]; /* of flows by hash: BALANCE_WEIGHT_MAX for the fastest */
	uint64_t counter[SPRAY_UPLINKS_MAX]; /* of our messages by each uplink */
	uint8_t *member;                     /* [ports]: its uplink that ends there */
	uint32_t *serial;                    /* [WORKER_COUNT_MAX]: latest word of each worker */
	struct spray_replay (*replay)[SPRAY_UPLINKS_MAX]; /* [WORKER_COUNT_MAX] */
};

/* A flow to be asked for: its packet is gone when the message is made. */
struct spray_ask {
	struct sprayed_flow *flow;
	uint32_t serial;
};

#define SPRAY_ASKS 64

/* A worker's. */
struct spray {
	struct spray_source source;
	struct resequencer *resequencer;
	struct balance_secret secret;
	struct spray_flow *asked;  /* [flows]: addresses of sprayed flows */
	struct spray_flow *agreed; /* [flows]: likewise of ordered ones */
	struct spray_leaf *leaf;   /* [peer_count] */
	uint16_t leaves;
	uint64_t start_ps;
	uint64_t feedback_ps;                   /* of the last round */
	uint64_t tick_ps, sweep_ps, ordered_ps; /* of the last ones */
	bool started;
	uint32_t asks, inbox_count;
	struct spray_ask ask[SPRAY_ASKS];
	struct rte_mbuf *inbox[SPRAY_INBOX];
	struct {
#define SPRAY_FIELD_(field, unit, help) _Atomic uint64_t field;
		SPRAY_COUNTERS(SPRAY_FIELD_)
#undef SPRAY_FIELD_
	} counters;
};

/** Control. @return NULL: out of memory */
struct spray *spray_create(const struct leaf *leaf, const struct snapshot *snapshot);
void spray_free(struct spray *spray);

/**
 * Choose a next hop, and number the packet if its flow is sprayed (PARSED_SPRAYED).
 * @param ip its IP header; the UDP checksum may change
 */
uint32_t spray_choose(struct worker *worker, struct spray *spray, const struct group *group,
		      struct parsed *parsed, uint8_t *ip, uint8_t priority);

/**
 * A packet, PACKET_SPRAYED, waits for a port whose link went down: queue it for another uplink. It isn't charged.
 * @return false: there is none
 */
bool spray_again(struct worker *worker, struct rte_mbuf *packet);

/**
 * Next hop of a flow by its hash: each path has flows as it is fast, the slower of its two ends, so that what is
 * sprayed finds room there. None is down at its other end, if there is another.
 */
static inline uint32_t spray_hash_path(const struct spray_leaf *peer, uint32_t hash,
				       const struct adjacency *member, uint32_t count)
{
	return peer->mask != 0 ? balance_draw(hash, peer->share, sizeof(peer->share[0]), count)
			       : balance_weighted(hash, member, count); /* nothing is up */
}

static inline void spray_checksum_set(const struct parsed *parsed, uint8_t *ip, uint16_t value)
{
	value = __builtin_bswap16(value);
	memcpy(ip + parsed->l4_offset + 6, &value, sizeof(value));
}

static inline uint16_t spray_checksum_get(const struct parsed *parsed, const uint8_t *ip)
{
	return __builtin_bswap16(load_u16(ip + parsed->l4_offset + 6));
}

/** May a packet from the fabric carry a number? @param ip its IP header */
static inline bool spray_suspects(const struct parsed *parsed, const uint8_t *ip)
{
	return (parsed->flags & PARSED_ROCE) != 0 && load_u16(ip + parsed->l4_offset + 6) != 0;
}

/** Packet i of a burst, PARSED_SEQUENCED, is for a port: queue it, hold it or drop it. */
void spray_deliver(struct worker *worker, struct burst *burst, uint32_t i, uint16_t egress);

/**
 * The same of a packet that spray_in_order() wasn't true of.
 * @param flow     NULL: none, or not this worker's
 * @param checksum of its UDP header, which isn't 0
 * @param meta     of the packet, without PACKET_SEQUENCED
 */
void spray_deliver_flow(struct worker *worker, struct rte_mbuf *packet,
			struct resequencer_flow *flow, uint8_t *checksum, struct packet_meta meta,
			uint16_t egress);

/** A packet that another worker has let in, PACKET_SEQUENCED. @return true: it is taken care of */
bool spray_given(struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** A packet, PARSED_SEQUENCED, leaves by no port of its own: no number may. @return false: drop it */
bool spray_strip(struct worker *worker, const struct parsed *parsed, uint8_t *ip);

/** A packet to us: a message of another leaf? */
static inline bool spray_is_message(const struct parsed *parsed)
{
	return parsed->protocol == IP_PROTOCOL_UDP && (parsed->flags & PARSED_PORTS) != 0 &&
	       parsed->ports >> 16 == __builtin_bswap16(SPRAY_PORT);
}

/** It is: take it. It is handled at the end of the poll, here or by the workers it is for. */
void spray_message_arrived(struct worker *worker, struct burst *burst, uint32_t i);

/** Another worker has received it. */
void spray_message_given(struct worker *worker, struct rte_mbuf *packet);

/** A new snapshot is in force. */
void spray_configure(struct worker *worker, uint64_t now_ps);

/**
 * Once a poll, after packets were received: messages, holes and what is due.
 * @return when it wants to be called next
 */
uint64_t spray_run(struct worker *worker, uint64_t now_ps);

/** Free all that is held, counted as DROP_STOPPED. All workers have stopped. */
void spray_flush(struct worker *worker);

/* --- between the files behind this header, choose.h and adaptive.h --- */

/** Look which uplinks aren't too deep for packets of this priority. */
void spray_look(struct worker *worker, struct spray_leaf *peer, const struct adjacency *member,
		uint8_t priority);

/** What a flow is called in messages. @param key, parsed, ip of a packet of it */
void spray_name(struct spray_flow *name, const struct balance_key *key, const struct parsed *parsed,
		const uint8_t *ip);

/** Queue what a flow may send now. */
void spray_drain(struct worker *worker, struct spray *spray, struct resequencer_flow *flow);

/** Send a message by one uplink, in the class of a DSCP. Counters and epochs are filled in. */
void spray_send(struct worker *worker, struct spray *spray, uint16_t peer, uint32_t uplink,
		uint8_t dscp, struct spray_message *message);

/** The same for requests, demotions and releases, which must arrive in order; and in the most urgent class. */
void spray_send_word(struct worker *worker, struct spray *spray, uint16_t peer,
		     struct spray_message *message);

/** The same by the next uplink that is up. */
void spray_send_any(struct worker *worker, struct spray *spray, uint16_t peer,
		    struct spray_message *message);

/** Ask a flow's source for fences: what is expected hasn't come. */
void spray_want_fences(struct worker *worker, struct spray *spray,
		       const struct resequencer_flow *flow);

/** Say hello by all uplinks. */
void spray_hello(struct worker *worker, struct spray *spray, uint16_t peer, uint64_t now_ps);

/** Say hello by an uplink that leaves through a port, if there is one: something for its device to take. */
void spray_probe(struct worker *worker, uint16_t port);

/** Say hello by the next uplink alone. */
void spray_hello_turn(struct worker *worker, struct spray *spray, uint16_t peer, uint64_t now_ps);

/** What a peer says has changed, or our links: which paths there are, and how fast. */
void spray_paths(struct worker *worker, struct spray *spray, uint16_t peer, uint64_t now_ps);

/** Read and handle a message, which is freed. */
void spray_handle(struct worker *worker, struct spray *spray, struct rte_mbuf *packet,
		  uint64_t now_ps);

#endif
