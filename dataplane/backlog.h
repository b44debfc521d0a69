/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * backlog - frames that wait in a receive ring: congestion that the leaf has not seen yet.
 *
 * A CPU that can't keep up loses frames where nobody counts them by class: in the device, before
 * classification. So a ring that fills is congestion like any other. Who receives from a queue asks how
 * many frames are left behind a full burst; they count as occupancy of their ingress port in comparisons,
 * never in accounts, divided among the priorities as the frames that came lately were. As they grow,
 *
 *   1. departures are told: what is ECN capable is marked on its way in, along the class's own ramp, with
 *      the bytes of its priority that wait as depth (the thresholds of the ingress port);
 *   2. lossy packets are shed (DROP_BACKLOG): those of the ring itself once a lossless priority of it has
 *      come half way to its pause, and then those of the worker's other late queues, too. Strict
 *      classes (control, CNPs) and what is for the kernel are kept: little, and dear;
 *   3. senders are paused (PAUSE_BACKLOG): above the pair's xoff, occupancy and backlog together, until
 *      they are down at half of that.
 *
 * Bytes are one limit, the ring's slots the other, which short frames reach first: all is marked from a
 * quarter of them on, shed from three eighths, paused from half, until less than a quarter waits. The
 * other half is for what is under way when the pause is sent.
 *
 * What is in a ring is not looked at, so the bytes of a priority are an estimate: where classes share a ring
 * and their mix changes, more may wait than thresholds say, up to what the ring holds.
 *
 * A device that can't tell is judged by its bursts: BACKLOG_RUN full ones in a row happen by chance, each
 * further one is taken for another burst that waits. No ring lasts for ever, and no worker can act while it
 * stands still: `roceleaf --check` says for how long it may; longer is an event.
 *
 * Thread: the worker that receives from the port; a pair's sum is read by the port's owner.
 * Cost: a compare per burst; behind a full one the device's answer; more only while frames wait.
 */
#ifndef DATAPLANE_BACKLOG_H
#define DATAPLANE_BACKLOG_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

struct leaf;
struct rte_mbuf;
struct worker;

/* Full bursts in a row that mean nothing yet. */
#define BACKLOG_RUN 8

/* Bytes that say: the ring's slots decide. More than any other sum of them. */
#define BACKLOG_BYTES_ALL (UINT64_C(1) << 40)

/* Of one port, what waits in the queue that a worker receives from. */
struct backlog {
	_Atomic uint32_t frames;
	bool shed;                              /* lossy packets of it are */
	uint32_t run;                           /* full bursts in a row; 0: none */
	_Atomic uint64_t bytes[PRIORITY_COUNT]; /* that frames are taken for */
	/*
	 * Received when last looked at, and the mix since: bytes of a priority, per frame times 2^8. What comes out
	 * of a ring is older than what waits in it, so it rises at once and falls slowly.
	 */
	uint64_t seen_frames, seen_bytes[PRIORITY_COUNT];
	uint32_t mean_q8[PRIORITY_COUNT];
};

/**
 * A burst of so many frames was taken: what waits behind it? Hot only behind full bursts.
 * @return frames wait: this burst's packets are to be looked at one by one (worker.late), and
 *         backlog_measure() follows it
 */
bool backlog_look(struct worker *worker, uint16_t port, uint32_t count);

/** The burst has been dealt with: divide what waits among the priorities, and have pauses decided. Cold. */
void backlog_measure(struct worker *worker, uint16_t port);

/** Is a packet of a late burst to be shed? Cold. */
bool backlog_sheds(const struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** Mark a packet of a late burst, before it is queued or handed on. Cold. */
void backlog_mark(struct worker *worker, struct rte_mbuf *packet, uint16_t egress);

/** Receive rings in which frames wait. Any thread. */
uint64_t backlog_rings(const struct leaf *leaf);

/** Bytes of a pair that wait in receive rings, of all workers' queues. Any thread; while there are such rings. */
uint64_t backlog_bytes(const struct leaf *leaf, uint16_t port, uint32_t priority);

/** Frames of a port that wait, as of their workers' last polls. Any thread. */
uint64_t backlog_frames(const struct leaf *leaf, uint16_t port);

#endif
