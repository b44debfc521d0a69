/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pfc_watchdog - tells a pause storm from congestion, for one lossless queue of one port.
 *
 * A state machine and nothing else: what happens to a stormed queue (drop, forward, alert) is its
 * owner's business.
 *
 *   ok -> stormed   the queue had packets, was held by pauses and sent nothing, without a break
 *                   for `detect`
 *   stormed -> ok   the peer didn't pause it, without a break for `restore`
 *
 * Evaluated every poll, 0 < poll <= detect and restore (sooner or later is fine, too). The queue is
 * held throughout an interval between two evaluations when it has packets at both, sent none in
 * between, is paused now, and was so for at least 63/64 of the time: gaps where one pause ran out
 * before its refresh came don't count as a break unless a packet got through. The interval in which
 * the hold began counts with its paused time. So a storm that begins at t is detected
 *
 *   at t + detect at the earliest, before t + detect + poll
 *
 * and its end is seen likewise. Two exceptions, as an interval is only known by its sums:
 *   - pauses that had come and gone in the interval where a hold (or a calm) begins are taken for a
 *     part of it (or break it no more): up to one poll early. At least one whole interval is always
 *     looked at;
 *   - a packet that comes to an empty, already paused queue counts from the next evaluation on:
 *     before t + detect + 2 poll.
 *
 * An empty queue is never stormed, however long its pauses: nobody waits for it, and nothing is
 * stuck in front of it. Of the two rules that switches have ("paused throughout" and "packets
 * queued and none sent") this is the second. A peer that lets single packets through is slow, not
 * storming.
 *
 * Thread: the worker that owns the port. Cost: some 50 instructions per evaluation.
 */
#ifndef DATAPLANE_PFC_WATCHDOG_H
#define DATAPLANE_PFC_WATCHDOG_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

enum pfc_watchdog_event { PFC_WATCHDOG_NONE, PFC_WATCHDOG_DETECTED, PFC_WATCHDOG_RESTORED };

/* For all queues alike. */
struct pfc_watchdog_rule {
	uint64_t detect_ps;
	uint64_t restore_ps;
};

/* What the queue looks like now. */
struct pfc_watchdog_input {
	uint64_t sent_packets; /* counter; only whether it moved counts, so it may wrap */
	uint64_t paused_ps;    /* counter, the pause of this moment included; may wrap */
	bool paused;           /* by what the peer sent, whether it is obeyed or not */
	bool queued;           /* it has packets, staged ones included */
};

struct pfc_watchdog {
	uint64_t evaluated_ps;
	uint64_t sent_packets;
	uint64_t paused_ps;
	uint64_t summed_ps; /* ok: held so far; stormed: calm so far */
	bool queued;
	bool stormed;
};

/** Start at ok: before the first evaluation, and when the link has come up again. */
void pfc_watchdog_init(struct pfc_watchdog *watchdog, uint64_t now_ps,
		       const struct pfc_watchdog_input *input);

/**
 * Evaluate.
 * @param now_ps  less than a day after the evaluation before; not after it: nothing happens
 * @return what has just begun or ended
 */
enum pfc_watchdog_event pfc_watchdog_evaluate(struct pfc_watchdog *watchdog,
					      const struct pfc_watchdog_rule *rule, uint64_t now_ps,
					      const struct pfc_watchdog_input *input);

#endif
