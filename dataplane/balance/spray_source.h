/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spray_source - the flows that a worker sends towards other leaves, and which of their packets carry a sequence.
 *
 * A flow (key.h) begins on the path that its hash gives it. Once it has sent `promote_bytes` its destination's
 * leaf is asked; after a yes every packet of it, CNPs apart, takes the next sequence and may go by any uplink:
 * the leaf at the other end restores the order (resequencer.h).
 *
 *	COUNTING -- promote_bytes --> ASKED -- yes --> SPRAYED -- pin --> PINNED -- drained --> COUNTING
 *	                                | no, or no answer
 *	                                +--> BARRED -- bar_ps --> COUNTING
 *
 * The request names the number (sequence.h) at which the flow would begin. Its first packet, the start, goes by the
 * path that the flow has had: what was sent before without a number can't be overtaken by it, and what is sprayed
 * behind it waits for it. Numbering goes on when a flow is sprayed again. A flow that is new here begins anywhere,
 * so that its number isn't that of an earlier agreement on the same flow which has been forgotten here only.
 *
 * A sprayed flow is pinned when it has been idle, when nothing has been heard of its destination, when its route
 * changes, or when its host has put a checksum of its own into a packet. It goes on taking sequences then, on its
 * hash's path alone, until the destination says that it has everything from before (`pinned_at`): what is on its way
 * then is all on one path, and a packet without a sequence can't overtake it there.
 *
 * The packet of a host that computes UDP checksums has one already. Such a flow isn't sprayed. As long as its
 * destination may have an agreement on it (`known`: from the first request on), that checksum could be taken for a
 * sequence. So it gives way, to the next sequence or to 0 (not computed, RFC 768), and is counted; a sprayed flow is
 * pinned. An agreement ends when this end lets go of it, after release_ps without a packet, and the other end has
 * said that it has heard; or when one of them begins anew.
 *
 * What is said of a flow has a serial number, larger with each word of this source, also when a word is said again.
 * The destination ignores a word that is older than one it has heard, of whatever flow: an old request mustn't
 * renew what a release has ended. So words of one source should take one path, lest a later one overtakes them and
 * they have to be said again. The answer repeats the number, and counts only as long as it is that of the last word.
 *
 * Memory: one line for each entry. A flow that finds no entry that may be taken stays on its hash path and is
 * counted.
 *
 * Thread: one.
 */
#ifndef DATAPLANE_BALANCE_SPRAY_SOURCE_H
#define DATAPLANE_BALANCE_SPRAY_SOURCE_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/key.h"
#include "dataplane/balance/sequence.h"

enum spray_state {
	SPRAY_FREE,
	SPRAY_COUNTING,
	SPRAY_ASKED,
	SPRAY_SPRAYED,
	SPRAY_PINNED,
	SPRAY_BARRED,
};

/* Why a flow was pinned. */
enum spray_pin {
	SPRAY_PIN_IDLE,
	SPRAY_PIN_SILENCE,  /* of its destination's leaf */
	SPRAY_PIN_ROUTE,    /* no longer towards that leaf by spraying */
	SPRAY_PIN_CHECKSUM, /* its host computes checksums */
	SPRAY_PIN_ASKED,    /* the destination wants it */
	SPRAY_PINS
};

struct sprayed_flow {
	alignas(64) struct balance_key key;
	uint64_t last_ps;   /* its last packet */
	uint64_t since_ps;  /* of the state; ASKED and PINNED: of the last message */
	uint32_t serial;    /* of what was said last */
	uint32_t bytes;     /* COUNTING: since it began, at most promote_bytes */
	uint16_t next;      /* number of its next packet */
	uint16_t pinned_at; /* PINNED: what it was then */
	uint16_t peer;      /* destination's leaf */
	uint16_t asked;     /* ASKED: requests sent */
	bool releasing; /* the destination has been told to forget it; nothing is asked until it says so */
	uint8_t state;  /* enum spray_state */
	uint8_t pin;    /* PINNED: enum spray_pin */
	bool begun;     /* SPRAYED: its first packet has gone */
	bool checksums; /* its host computes them */
	bool known;     /* the destination may have an agreement on it */
};

_Static_assert(sizeof(struct sprayed_flow) == 64, "a line");

struct spray_source_params {
	uint32_t flows;         /* entries; rounded up to a power of two, at least 64 */
	uint32_t promote_bytes; /* 16 to 64 KB; later costs */
	uint64_t seed;          /* of the hash, and of numbers */
	uint64_t
		retry_ps; /* between requests, and between questions whether a pinned flow is drained */
	uint64_t idle_ps; /* a sprayed flow is pinned; default 10 ms */
	uint64_t bar_ps;  /* after a no */
	uint64_t
		release_ps; /* without a packet: let the destination forget the flow; default 1 s */
};

struct spray_source_counters {
	uint64_t promoted;
	uint64_t refused; /* by a no, or for want of an answer */
	uint64_t pinned[SPRAY_PINS];
	uint64_t drained;
	uint64_t unplaced;  /* packets of flows that found no entry */
	uint64_t checksums; /* packets whose host's checksum gave way to a sequence */
};

struct spray_source {
	struct sprayed_flow *flow;
	uint32_t mask;   /* entries - 1 */
	uint32_t swept;  /* entry that the next sweep begins with */
	uint32_t serial; /* of the last word */
	uint64_t begun;  /* flows; where the next one's numbers begin goes by it */
	struct spray_source_params params;
	struct spray_source_counters counters;
};

/* What a packet does. */
enum spray_verdict {
	SPRAY_PASS,      /* as it is, by its hash */
	SPRAY_CLEAR,     /* with 0 for its checksum, by its hash */
	SPRAY_FIRST,     /* with a sequence, by its hash */
	SPRAY_SEQUENCED, /* with a sequence, by any uplink */
};

struct spray_decision {
	uint8_t verdict;   /* enum spray_verdict */
	bool request;      /* ask its destination, too: for a flow that begins at flow->next */
	uint16_t sequence; /* for the field; with FIRST and SEQUENCED */
	struct sprayed_flow *flow; /* NULL when it found no entry */
};

/** @return false: out of memory. Control. */
bool spray_source_init(struct spray_source *source, const struct spray_source_params *params);
void spray_source_fini(struct spray_source *source);

/* Entries among which a flow's is: neighbours in memory. */
#define SPRAY_WAYS 4

/** The first of the entries among which a key's is. */
static inline struct sprayed_flow *spray_source_ways(const struct spray_source *source,
						     const struct balance_key *key)
{
	return &source->flow[balance_key_hash(key, source->params.seed) & source->mask &
			     ~(uint32_t)(SPRAY_WAYS - 1)];
}

/** The flow of an entry, or NULL when it isn't that of the key. */
static inline struct sprayed_flow *spray_source_find(const struct spray_source *source,
						     const struct balance_key *key)
{
	struct sprayed_flow *way = spray_source_ways(source, key);

	for (uint32_t i = 0; i < SPRAY_WAYS; i++)
		if (balance_key_equal(&way[i].key, key) && way[i].state != SPRAY_FREE)
			return &way[i];
	return NULL;
}

/** Does a packet of a flow towards a peer just take the next number, if it has no checksum? */
static inline bool spray_source_goes_on(const struct sprayed_flow *flow, uint16_t peer)
{
	return flow->state == SPRAY_SPRAYED && flow->begun && flow->peer == peer;
}

/** Number of such a packet. Hot. */
static inline uint16_t spray_source_next(struct sprayed_flow *flow, uint64_t now_ps)
{
	uint16_t number = flow->next;

	flow->next = sequence_next(number);
	flow->last_ps = now_ps;
	return number;
}

/**
 * Any packet of a flow towards a peer, CNPs apart.
 * @param checksum of its UDP header, as on the wire
 */
struct spray_decision spray_source_packet(struct spray_source *source,
					  const struct balance_key *key, uint16_t peer,
					  uint32_t bytes, uint16_t checksum, uint64_t now_ps);

/**
 * The answer to a request for a flow; ignored when it isn't awaited. No effect on packets sent before.
 */
void spray_source_answer(struct spray_source *source, struct sprayed_flow *flow, uint32_t serial,
			 bool yes, uint64_t now_ps);

/** Spray a flow no more; no effect unless it is SPRAYED. */
void spray_source_pin(struct spray_source *source, struct sprayed_flow *flow, enum spray_pin why,
		      uint64_t now_ps);

/** The destination has everything from before `pinned_at`: the flow is unsequenced from here on. */
void spray_source_drained(struct spray_source *source, struct sprayed_flow *flow, uint32_t serial,
			  uint64_t now_ps);

/** Hashes lead elsewhere now (a link came or went): what pinned flows have on their way counts as sprayed. */
void spray_source_rerouted(struct spray_source *source, uint64_t now_ps);

/**
 * The peer has begun anew, or is gone: what it knew of flows is forgotten there, what arrives is passed on as it is.
 * Its sprayed and pinned flows end at once.
 */
void spray_source_forget(struct spray_source *source, uint16_t peer, uint64_t now_ps);

/** The destination has forgotten a flow, as it was told to. */
void spray_source_released(struct sprayed_flow *flow, uint32_t serial);

/* What to say to a flow's destination. */
enum spray_word {
	SPRAY_WORD_DRAINED, /* is anything missing before flow->pinned_at? */
	SPRAY_WORD_RELEASE, /* forget it, unless something before flow->next is missing */
};

/**
 * Look at a 64th of the entries: pins idle flows, and says what is to be asked of others.
 * @param say called for each flow of whose destination something is wanted; again at each retry_ps
 */
void spray_source_sweep(struct spray_source *source, uint64_t now_ps,
			void (*say)(void *context, struct sprayed_flow *flow, enum spray_word word),
			void *context);

#endif
