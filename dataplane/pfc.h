/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pfc - priority-based flow control, both ways (IEEE 802.1Qbb; 802.1Q clause 36, 802.3 annex 31D).
 *
 * Sent: whoever decides that a peer must pause says so with pfc_pause(). The port's next run sends one
 * frame with everything that has changed, ahead of all data: 65535 quanta for xoff, 0 for xon. While
 * a pause lasts it is refreshed at half of its time, so that the peer's timer never runs out between.
 *
 * Honoured: a received frame pauses our queues for its quanta, at the port's own speed, from the
 * time it was received; the last frame counts, longer, shorter or zero. Only priorities that are
 * lossless here; others are counted and ignored. What was handed to the device before still leaves.
 * Where the device obeys instead (io/flow_control.h) the leaf sees no frames, only that frames of a
 * priority are not taken; that counts as a pause, one each PFC_HOLD_PS.
 *
 * Neither direction's frames are data: they have counters of their own.
 *
 * Thread: the worker that owns the port.
 */
#ifndef DATAPLANE_PFC_H
#define DATAPLANE_PFC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/pfc_watchdog.h"
#include "dataplane/units.h"

struct burst;
struct egress_port;
struct rte_mbuf;
struct worker;

/* X(field, unit, help): per priority and port */
#define PFC_COUNTERS(X)                                                                         \
	X(rx_frames, "frames", "received frames whose class vector named the priority")         \
	X(tx_xoff, "frames", "frames sent that paused the peer, refreshed ones included")       \
	X(tx_xon, "frames", "frames sent that let the peer go")                                 \
	X(rx_pauses, "pauses", "times that the peer paused this queue, from running to paused") \
	X(tx_pauses, "pauses", "times that we paused the peer, from running to paused")         \
	X(storms, "storms", "times that the watchdog found this queue held without end")        \
	X(restored, "storms", "of those, the ones that are over")                               \
	X(rx_paused_ps, "ps", "time that this queue was paused, up to its last end")            \
	X(tx_paused_ps, "ps", "time that the peer was paused, up to its last end")

/* X(field, unit, help): per port */
#define PFC_PORT_COUNTERS(X)                                                           \
	X(tx_frames, "frames", "PFC frames sent")                                      \
	X(rx_bad, "frames", "MAC control frames that are cut short or misaddressed")   \
	X(rx_global, "frames", "802.3x pause frames, which stop nothing here")         \
	X(rx_unknown, "frames", "MAC control frames of an opcode that we don't know")  \
	X(rx_not_lossless, "frames", "pauses of priorities that aren't lossless here") \
	X(tx_no_buffer, "times", "a frame had to wait for a buffer")

/* A small part of the time that frames in a device's ring last. */
#define PFC_HOLD_PS (20 * PS_PER_US)

/* What MAC control frames say as their priority (packet_meta): they belong to none. */
#define PFC_FRAME_PRIORITY_NONE PRIORITY_COUNT

#define PFC_FIELD_(field, unit, help) _Atomic uint64_t field;
struct pfc_counters {
	PFC_COUNTERS(PFC_FIELD_)
};
struct pfc_port_counters {
	PFC_PORT_COUNTERS(PFC_FIELD_)
};
#undef PFC_FIELD_

/* Atomic is what leaf_pfc_totals() reads; it reads again when `sequence` was odd or has moved. */
struct pfc_port {
	_Atomic uint8_t paused_peer; /* bit p: the peer shall not send */
	uint8_t send;                /* bit p: to be said in the next frame */
	_Atomic uint8_t paused;      /* bit p: the peer has paused queue p */
	_Atomic uint32_t sequence;   /* odd while a pause begins or ends */
	uint64_t refresh_ps;         /* when to say again that the peer is paused */
	uint64_t due_ps;             /* since when a pause in `send` is due */
	uint64_t pause_ps;           /* how long 65535 quanta last here */
	_Atomic uint64_t until_ps[PRIORITY_COUNT];
	_Atomic uint64_t rx_since_ps[PRIORITY_COUNT];
	_Atomic uint64_t tx_since_ps[PRIORITY_COUNT];
	struct pfc_watchdog watchdog[PRIORITY_COUNT];
	struct pfc_counters count[PRIORITY_COUNT];
	struct pfc_port_counters port_count;
};

/** Priorities that the peer shall not send. Hot. */
static inline uint8_t pfc_paused_peer(const struct pfc_port *pfc)
{
	return atomic_load_explicit(&pfc->paused_peer, memory_order_relaxed);
}

/** Queues that the peer has paused. */
static inline uint8_t pfc_paused(const struct pfc_port *pfc)
{
	return atomic_load_explicit(&pfc->paused, memory_order_relaxed);
}

/** When a queue that is paused may go. */
static inline uint64_t pfc_until_ps(const struct pfc_port *pfc, uint32_t priority)
{
	return atomic_load_explicit(&pfc->until_ps[priority], memory_order_relaxed);
}

/** Have the peer pause a priority, or let it go. Told in the next run of the port. */
void pfc_pause(struct worker *worker, uint16_t port, uint8_t priority, bool pause, uint64_t now_ps);

/**
 * Packet i of a burst is a MAC control frame: obey and count it; then it is gone. A device may deliver it to
 * any of its queues: a worker that doesn't own the port hands it on. Cold.
 */
void pfc_receive(struct worker *worker, struct burst *burst, uint32_t i);

/** The same for a frame that another worker has received. */
void pfc_take(struct worker *worker, struct rte_mbuf *packet, uint64_t now_ps);

/**
 * Send what is to be said on a port, if its wire is free.
 * @return false: not yet; then *due_ps is when to come again
 */
bool pfc_send(struct worker *worker, uint16_t port, uint64_t now_ps, uint64_t *due_ps);

/**
 * A device that obeys pauses by itself (port_io.alone) takes no more frames of a priority: let it rest for
 * PFC_HOLD_PS, as if the peer had paused it, so that other priorities go on and the watchdog sees it.
 */
void pfc_hold(struct worker *worker, uint16_t port, uint8_t priority, uint64_t now_ps);

/** Let queues go whose pause is over. */
void pfc_release(struct worker *worker, uint16_t port, uint64_t now_ps);

/**
 * To be called once a month or more often: let queues go whose pause is over though nobody has looked,
 * and keep times in the past from growing so old that they look like ones to come.
 */
void pfc_refresh(struct worker *worker, uint16_t port, uint64_t now_ps);

/** Which queues rest: those that the peer has paused, but for those whose pauses are ignored. */
void pfc_obeyed(struct worker *worker, uint16_t port);

/** When the first of these paused queues may go. */
uint64_t pfc_released_ps(const struct pfc_port *pfc, uint8_t paused, uint64_t now_ps);

/** A new snapshot: speed, lossless classes, link. @param was_up before it */
void pfc_configure(struct worker *worker, uint16_t port, bool was_up, uint64_t now_ps);

#endif
