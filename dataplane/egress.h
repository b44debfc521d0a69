/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * egress - from eight queues to one wire: schedule, pace, send.
 *
 * Strict priorities first, higher number before lower, each with an optional shaper; below them
 * deficit round robin by bytes (Shreedhar and Varghese, SIGCOMM 1995), in the variant that lets a
 * deficit go negative by the last frame, so that one budget decides and no frame is looked at
 * twice. A queue that couldn't send, for whatever reason, banks no credit.
 *
 * The wire clock lets at most `run_ahead_ps` of frames go into the device ahead of real time, so
 * that queueing happens here, where scheduling acts, and not in the device's ring. On a virtual
 * wire it is exact: a frame goes when the one before has left the wire. After a late poll that
 * finds frames which had waited, a clock may lag `catch_up_ps` behind, so that a paced port keeps
 * its rate on a busy machine. Time in which nothing waited is gone.
 *
 * Every packet that leaves is discharged from the account of its ingress port, and may be marked on its
 * way out (mark.h): by the bytes that stay behind it, or by the queue's average depth. The average is
 * kept for queues that go by it only; all their packets take the slower ways here and in enqueue.c.
 *
 * What was scheduled is never put back: frames that a device didn't take wait in a staging array
 * per priority and go first next time, with nothing charged or marked again.
 *
 * Thread: the worker that owns the port.
 */
#ifndef DATAPLANE_EGRESS_H
#define DATAPLANE_EGRESS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/drop.h"
#include "dataplane/mark.h"
#include "dataplane/port_io.h"
#include "dataplane/queue.h"
#include "dataplane/snapshot.h"
#include "dataplane/units.h"

struct worker;

/* DWRR quantum of weight 1. Weights are 1..100. */
#define SCHEDULE_QUANTUM_BYTES 128

/* How long to wait before offering frames again to a device that took only a part. */
#define EGRESS_RETRY_PS (5 * PS_PER_US)

struct shaper {
	uint64_t free_ps; /* when the next frame of this priority may go */
	struct wire_rate rate;
};

/* Frames that a device didn't take, by priority. */
struct staging {
	uint8_t count[PRIORITY_COUNT];
	struct rte_mbuf *packet[PRIORITY_COUNT][BURST_COUNT_MAX];
};

struct egress_port {
	/* Line 0: every transmission. */
	alignas(64) struct port_io *io; /* NULL: nothing attached */
	uint64_t free_ps;               /* when the wire has sent all that was handed over */
	uint64_t run_ahead_ps;
	uint64_t catch_up_ps;
	uint8_t active;   /* bit p: queue p is not empty */
	uint8_t strict;   /* bit p: strict priority */
	uint8_t shaped;   /* bit p: has a shaper */
	uint8_t held;     /* bit p: its shaper is not free yet */
	uint8_t current;  /* DWRR queue being served */
	uint8_t staged;   /* bit p: staging.count[p] != 0 */
	bool pending;     /* will be run anyway: in tx_ready, or its timer waits for the wire */
	bool up;          /* down: its queues' bytes_max is 0 */
	uint8_t waited;   /* bit p: queue p was not empty at the end of the last run */
	uint8_t paused;   /* bit p: its peer has paused queue p (pfc.h) */
	uint8_t dropping; /* bit p: its watchdog drops what comes for queue p (storm.h) */
	uint8_t ignoring; /* bit p: pauses of queue p are ignored (storm.h) */
	uint8_t averaged; /* bit p: queue p is marked and dropped from by its average depth */
	/* Line 1: every transmission, written only at odd rates. */
	alignas(64) struct wire_rate rate;
	uint32_t overhead_bytes; /* of a frame on the wire */
	/* Cold. */
	struct shaper shaper[PRIORITY_COUNT];
	uint64_t shaper_catch_up_ps; /* and the frame on the wire when a shaper lets the next go */
	struct staging staging;
	struct mark_average average[PRIORITY_COUNT]; /* of queues of `averaged` */
	uint64_t refused_ps, offered_ps; /* first and last offer of which the device took nothing */
	bool refused;                    /* there are such */
	bool stalled;                    /* they went on for too long */
};

/** Before the first use. */
void egress_init(struct egress_port *egress);

/**
 * Take over rates, weights and limits of a new snapshot. What is queued stays, unless the link is
 * down: then it is dropped, counted as LINK_DOWN.
 */
void egress_configure(struct worker *worker, uint16_t port, const struct snapshot *snapshot,
		      uint64_t now_ps);

/**
 * Send what may go now. Hot.
 * @return true when more is queued; then *due_ps is when to come again (now_ps: at once)
 */
bool egress_run(struct worker *worker, uint16_t port, uint64_t now_ps, uint64_t *due_ps);

/** To be called once a month or more often: a time in the past must not grow old. */
void egress_refresh(struct egress_port *egress, uint64_t now_ps);

/** Drop everything queued and staged on a port, counted under reason. Cold. */
void egress_flush(struct worker *worker, uint16_t port, enum drop_reason reason);

/** The same for one queue. Cold. */
void egress_flush_queue(struct worker *worker, uint16_t port, uint32_t priority,
			enum drop_reason reason);

/** Let a queue take packets again, as the snapshot says. Cold. */
void egress_admit_queue(struct worker *worker, uint16_t port, uint32_t priority);

/** A packet leaves in some other way than through a queue: give back what it was charged. Cold. */
void egress_discharge(struct worker *worker, struct rte_mbuf *packet);

/**
 * Average depth of a queue of `averaged`, up to now; from now on it is as deep as it is.
 * Called after every change.
 */
uint32_t egress_average(struct worker *worker, uint16_t port, uint32_t priority);

/* egress_mark.c: a queue's thresholds. Where the average counts, every packet that comes or goes is looked at. */
void egress_mark_configure(struct worker *worker, uint16_t port, uint32_t priority);

/* Packets leave a queue that is so deep with them. Only above the marking threshold, or averaged. */
void egress_mark(struct worker *worker, uint16_t port, uint32_t priority,
		 struct rte_mbuf *const *packet, uint32_t count, uint32_t depth_bytes);

/*
 * A queue that goes by its average was served. Its mark_bytes is 0: of what left, only a packet with
 * nothing behind it hasn't been looked at.
 */
void egress_mark_last(struct worker *worker, uint16_t port, uint32_t priority,
		      struct rte_mbuf *last);

/** Mark a packet of a port's queue if its sender can react, and count that. Cold. */
void egress_mark_packet(struct worker *worker, uint16_t port, struct rte_mbuf *packet);

/*
 * egress_stall.c: what a device took of an offer, nothing or something. One that takes nothing for
 *	4 run_ahead_ps + 16 of the longest frames + 50 us
 * of our own time and of no pause is stalled: out of every selection (links.h) until it takes a frame. It is offered
 * one every EGRESS_RETRY_PS.
 */
void egress_refused(struct worker *worker, uint16_t port, uint64_t now_ps);
void egress_taken(struct worker *worker, uint16_t port);

/* egress_stall.c: of what waits for a stalled port, send what is sequenced by other uplinks. The others stay, in order. */
void egress_move_sprayed(struct worker *worker, uint16_t port);

/** Packets in staging of a port. */
uint32_t egress_staged_packets(const struct egress_port *egress);

#endif
