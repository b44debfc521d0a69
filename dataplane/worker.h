/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker - one thread's share of a leaf: receives, forwards, schedules and sends.
 *
 * worker_poll() is the whole dataplane. Time and packet I/O are its arguments: the daemon calls it
 * from an lcore with the TSC as time, the lab from its event loop with virtual time. It reads no
 * clock, allocates nothing, takes no lock, logs nothing and calls the kernel only behind port_io.
 *
 * Thread: each worker by one thread; worker_ready() and worker_kick() by the same.
 */
#ifndef DATAPLANE_WORKER_H
#define DATAPLANE_WORKER_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define WORKER_COUNT_MAX 64

struct worker;

struct worker_activity {
	uint64_t polls;
	uint64_t rx_packets; /* received by this worker */
	uint64_t tx_packets; /* handed to devices by this worker */
};

/**
 * Do everything that is due: receive a burst from every ready port, forward it, send what may go.
 * @param now_ps the time of this poll; never before that of the last one
 * @return when it next wants to be called: now_ps when more waits already, else the earliest timer
 *         (wire free, shaper, ageing), else now_ps + TIME_IDLE_PS. Arrivals call for a poll at once.
 * Cost: grows with packets and with due timers, not with the number of ports.
 */
uint64_t worker_poll(struct worker *worker, uint64_t now_ps);

/**
 * A frame waits at a port that isn't PORT_IO_POLLED (the lab's wires, the CPU's port). Call before
 * the poll; a port stays ready until a burst came back short.
 */
void worker_ready(struct worker *worker, uint16_t port);

/** Bit i: worker i may sleep and got something in the last poll: wake it. Cleared by the call. */
uint64_t worker_wakes(struct worker *worker);

/**
 * Has the last poll sent pauses that were not refreshes? Thread: its own.
 * @param since_ps  when it was, by the worker that received it, that the first packet came which called for
 *                  one of them: the time of that poll
 */
bool worker_reacted(const struct worker *worker, uint64_t *since_ps);

/** What this worker did so far. Any thread. */
void worker_activity(const struct worker *worker, struct worker_activity *activity);

/*
 * Around a sleep: while offline, leaf_quiet() doesn't wait for this worker, and it must not be
 * polled. Thread: its own.
 */
void worker_offline(struct worker *worker);
void worker_online(struct worker *worker);

/**
 * Let every peer go that this worker pauses, with an xon: after its last poll, before the ports close. Nobody
 * would refresh its pause, so it would end by itself; but that can take a second. Thread: its own.
 * @return false: a device took no frame, or there was no buffer; call again, a little later
 */
bool worker_release_peers(struct worker *worker, uint64_t now_ps);

/**
 * Drop everything queued or staged here, or on its way here, counted as DROP_STOPPED. Thread: control, once all
 * workers have stopped.
 */
void worker_flush(struct worker *worker);

#endif
