/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * storm - what happens to a queue whose peer pauses it without end.
 *
 * A peer that never stops pausing holds a lossless queue, the queue holds its ingress pairs, these
 * pause their peers, and so on through the fabric. The watchdog (pfc_watchdog.h) tells such a storm
 * from congestion; what then happens to the queue is the config's choice:
 *	drop      what it holds and what comes for it is dropped (WATCHDOG), so that nobody is paused
 *	          on its behalf
 *	forward   the pauses are ignored
 *	alert     nothing; it is counted
 * until the peer hasn't paused it for the time to restore.
 *
 * Only ports that are being paused are looked at, once per `poll`: a leaf without pauses has nothing
 * to do here.
 *
 * Thread: the worker that owns the port.
 */
#ifndef DATAPLANE_STORM_H
#define DATAPLANE_STORM_H

#include <stdint.h>

struct worker;

/** A peer begins to pause a queue of a port: keep an eye on it. */
void storm_watch(struct worker *worker, uint16_t port, uint64_t now_ps);

/** Look at the ports that are watched. Due at worker->storm_ps. */
void storm_sweep(struct worker *worker, uint64_t now_ps);

/** The link went down, or the classes changed: whatever was, is over. */
void storm_forget(struct worker *worker, uint16_t port, uint64_t now_ps);

#endif
