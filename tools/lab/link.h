/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * link - a full duplex cable as two wires, each exact to the picosecond.
 *
 * A frame of S bytes (without FCS) that is put on a wire at t occupies it for (S + overhead) * 8 / R
 * and arrives whole, store and forward, one propagation delay after its last bit:
 *	arrival = t + (S + overhead) * 8 / R + delay
 * Where 8e12 / R isn't whole the remainder is carried from frame to frame (units.h), so that the
 * n-th of a back-to-back train arrives at the exact time rounded down, for every n. The default
 * overhead of 24 bytes is preamble, start of frame, FCS and gap; 0 suits comparison with simulators
 * that know none.
 *
 * Frames on a wire wait in order in a ring; only the first one is an event of the engine. A frame
 * that has arrived stays in the ring until its node takes it. A wire can be made to corrupt frames,
 * which its receiver's check then drops, and a receiver may have a ring with an end, wire_lose(); no other
 * frame is lost.
 *
 * Taps see every frame as it is put on the wire. What few wires have, taps and errors, is apart: all
 * others pay one test.
 *
 * Every wire keeps a digest of what arrived over it (when, how long, its headers).
 *
 * Thread: the lab's.
 */
#ifndef LAB_LINK_H
#define LAB_LINK_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"
#include "tools/lab/engine.h"
#include "tools/lab/random.h"

struct rte_mbuf;

#define WIRE_FRAMES_INLINE 4

struct wire_frame {
	struct rte_mbuf *packet;
	uint64_t arrival_ps;
};

struct wire;

/* Listens to a wire; embedded in what does. */
struct wire_tap {
	/** A frame was put on the wire; its first bit leaves at start_ps. */
	void (*frame)(struct wire_tap *tap, const struct wire *wire, struct rte_mbuf *packet,
		      uint64_t start_ps, uint64_t arrival_ps);
	struct wire_tap *next; /* the wire's */
};

/* Bits turn over at random, each for itself. */
struct wire_errors {
	uint64_t rate;              /* wrong ones among SCENARIO_ERROR_BITS */
	uint64_t from_ps, until_ps; /* of arrivals */
	bool endless;               /* until_ps doesn't count */
	struct random random;
};

struct wire_odd {
	struct wire_tap *tap;
	struct wire_errors errors;
	uint64_t corrupted; /* frames, dropped */
};

/* One direction of a link. */
struct wire {
	/* Line 0: the arrival of the first frame. */
	struct engine_event arrival;
	/* Line 1: both ends. */
	alignas(64) struct engine *engine;
	struct wire_frame *frames; /* ring */
	uint32_t head, tail, mask;
	uint32_t overhead_bytes;
	uint64_t free_ps; /* when the last bit of the last frame has left */
	uint64_t delay_ps;
	uint64_t sent_frames;
	struct wire_odd *odd; /* NULL: nothing special */
	/* Line 2: a short cable holds few frames. */
	alignas(64) struct wire_frame small[WIRE_FRAMES_INLINE];
	/* Line 3: rate and counters. */
	alignas(64) struct wire_rate rate;
	uint64_t sent_bytes; /* frames, without overhead */
	uint64_t busy_ps;
	uint64_t digest;
	/* Cold. */
	alignas(64) char name[96]; /* "leaf1->spine1" */
	uint64_t held_ps;          /* wire_hold() */
};

struct link_params {
	uint64_t rate_bps;
	uint64_t delay_ps; /* one way: cable_delay_ps(), or as wished */
	uint32_t overhead_bytes;
};

/** A wire towards a port of a node that was added to the engine. */
void wire_init(struct wire *wire, struct engine *engine, const struct link_params *params,
	       struct node *to, uint16_t port);

/** Free the frames that are still on it. */
void wire_fini(struct wire *wire);

/** True when a frame may be put on the wire now. */
static inline bool wire_free(const struct wire *wire)
{
	return !time_after(wire->free_ps, wire->engine->now_ps);
}

/** Nothing more may be put on the wire until a time; it isn't busy meanwhile. What was put on it arrives. */
static inline void wire_hold(struct wire *wire, uint64_t until_ps)
{
	wire->held_ps = time_max(wire->held_ps, until_ps);
	wire->free_ps = time_max(wire->free_ps, until_ps);
}

/** True while it is held. */
static inline bool wire_held(const struct wire *wire)
{
	return time_after(wire->held_ps, wire->engine->now_ps);
}

/** Put a frame on the wire: now, or when all before it have left. Hot. */
void wire_send(struct wire *wire, struct rte_mbuf *packet);

/**
 * Take up to count frames that have arrived by now, in order. Hot.
 * The arrival of the next one is scheduled; while one is left that has arrived, none is.
 */
uint16_t wire_receive(struct wire *wire, struct rte_mbuf **packets, uint16_t count);

/** Frames on the wire: in transmission, in flight, or arrived and not yet taken. */
static inline uint32_t wire_frame_count(const struct wire *wire)
{
	return wire->tail - wire->head;
}

/** Of those, the ones that have arrived. */
uint32_t wire_arrived_count(const struct wire *wire);

/** Listen to a wire from now on, until wire_fini(). The tap belongs to the caller. */
void wire_listen(struct wire *wire, struct wire_tap *tap);

/** Corrupt frames that arrive in a time, as said; what was said before ends. */
void wire_corrupt(struct wire *wire, const struct wire_errors *errors);

/**
 * Lose what has arrived beyond the first `keep` frames that wait: what a receiver's ring of that many had no
 * room for, as long as this is called before every wire_receive(). A corrupted frame takes its place, too.
 * @param keep >= 1
 * @param lost gets each frame, which is freed afterwards
 * @return how many
 */
uint32_t wire_lose(struct wire *wire, uint32_t keep,
		   void (*lost)(void *context, struct rte_mbuf *packet), void *context);

/** Frames that were corrupted, and so dropped at the receiver, until now. */
static inline uint64_t wire_corrupted(const struct wire *wire)
{
	return wire->odd == NULL ? 0 : wire->odd->corrupted;
}

/** The chance that all of so many bits stay right, 2^63: certain. Integers only, to within 2^-40. */
uint64_t wire_survival_q63(uint64_t rate, uint32_t bits);

/** Run at another rate from the next frame on. */
void wire_set_rate(struct wire *wire, uint64_t rate_bps);

/** How long the wire was busy from the start until now, ps. */
uint64_t wire_busy_ps(const struct wire *wire);

#endif
