/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * handover - what workers pass to each other: packets, and word of ports whose accounts changed.
 *
 * Receive is spread, egress is owned: a packet that leaves through a port of another worker was
 * admitted and charged here, and crosses a ring with one producer and one consumer, one for each
 * pair of workers. Handed on is at the end of a burst, after its charges (account.h), or when as
 * many packets wait as a burst has. What a full ring doesn't take waits in a list, in order: nothing is
 * dropped here, the buffer's limits hold for it as for anything else.
 *
 * A worker that charges or discharges a lossless pair of somebody else's port leaves word: a set of
 * ports in a box of one, which the other empties. While it is full, the set grows on our side.
 *
 * How full a ring ever was its sender notes, when it puts something in: then it is fullest.
 *
 * Cost, of a packet that crosses: a call to enqueue_closer(), and its share of two ring operations.
 *
 * Thread: each function by its worker, but for the one that says otherwise; workers meet in the ring and in
 * the box only.
 */
#ifndef DATAPLANE_HANDOVER_H
#define DATAPLANE_HANDOVER_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_bits.h"
#include "dataplane/port_io.h"

/* A ring holds one packet less; more wait on their sender's side. */
#define HANDOVER_RING_PACKETS 2048

/* Stations that a ring holds; more are learned from their next frames. */
#define HANDOVER_LEARN_COUNT 256

/* When to offer again what the other worker had no room for. */
#define HANDOVER_RETRY_PS PS_PER_US

struct leaf;
struct rte_mbuf;
struct rte_ring;
struct worker;

/* From one worker to another. */
struct handover {
	/* The sender's. */
	alignas(64) struct rte_ring *ring;
	struct rte_ring *stations; /* to worker 0: addresses seen */
	uint32_t count;
	_Atomic uint32_t ring_packets_max;        /* the most that `ring` has held */
	struct rte_mbuf *packet[BURST_COUNT_MAX]; /* until the end of the burst */
	struct rte_mbuf *spill, **spill_end;      /* the ring was full: linked by mbuf->next */
	struct port_bits touched;                 /* ports of the receiver, to be told */
	uint64_t touched_ps;                      /* when the first of them was, if there is one */
	/* The box. */
	alignas(64) atomic_bool told; /* `ports` is the receiver's */
	struct port_bits ports;
	uint64_t since_ps; /* when the first of them was touched */
};

/* Control: make and free what all pairs of a leaf's workers need. @return 0 or -ENOMEM */
int handover_create(struct leaf *leaf);
void handover_free(struct leaf *leaf);

/** Give an admitted packet, its metadata set, to the worker that owns its egress. */
void handover_packet(struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** A MAC control frame that came through a queue which isn't the port's owner's. */
void handover_control(struct worker *worker, struct rte_mbuf *packet);

/** A message of another leaf, for a worker that acts on it (balance/spray.h). */
void handover_message(struct worker *worker, struct rte_mbuf *packet, uint16_t to);

/** A burst is over and charged: hand on what it left. */
void handover_flush(struct worker *worker);

/** These ports of other workers have pairs that changed: they are told; taken out of the set. */
void handover_tell(struct worker *worker, struct port_bits *dirty);

/** A source address that worker 0, which writes the FDB, may not know. */
void handover_learn(struct worker *worker, uint64_t key, uint16_t port, uint64_t now_ps);

/**
 * Take what others gave, into queues and the set of dirty ports; offer again what they had no room for.
 * @return true when more waits
 */
bool handover_take(struct worker *worker, uint64_t now_ps);

/** Something of ours still waits for room at another worker. */
bool handover_waits(const struct worker *worker);

/** The most packets that a ring into worker `to` has held since the start; 0 with one worker. Any thread. */
uint32_t handover_ring_packets_max(const struct leaf *leaf, uint16_t to);

/** Drop all that others gave or were about to give, counted as DROP_STOPPED. All have stopped. */
void handover_drop(struct worker *worker);

#endif
