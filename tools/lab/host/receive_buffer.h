/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * receive_buffer - a host that is slower than its link: frames wait in a buffer until they are taken, and its
 * leaf is paused before that overflows.
 *
 * Each priority may hold `bytes`. Frames of all priorities are drained in the order in which they came, at
 * drain_bps of their own bytes, and what is acknowledged is what was drained. A lossless priority that holds
 * more than xoff_bytes is paused, refreshed at half of the longest pause, and let go at xon_bytes or less
 * (802.1Qbb). What arrives beyond `bytes` is dropped and counted: in a lossless priority that means that
 * bytes - xoff_bytes is less than what was under way.
 *
 * Pauses that come for the host itself are obeyed at once; they don't wait in the buffer.
 *
 * Thread: the lab's.
 */
#ifndef LAB_HOST_RECEIVE_BUFFER_H
#define LAB_HOST_RECEIVE_BUFFER_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

struct host;
struct rte_mbuf;

struct receive_buffer_params {
	uint64_t bytes;                 /* of frames, per priority; 0: no buffer is needed */
	uint64_t xoff_bytes, xon_bytes; /* xon < xoff < bytes */
	uint64_t drain_bps;             /* of frames, without overhead */
	uint8_t lossless;               /* bit p: priority p is paused rather than dropped */
	const uint8_t *dscp_priority;   /* [64]; kept by the caller */
};

struct receive_buffer {
	struct receive_buffer_params params;
	struct rte_mbuf **packets; /* ring */
	uint32_t head, tail, size;
	struct wire_rate drain;
	uint64_t done_ps; /* when the first one has been drained */
	uint64_t held_bytes[PRIORITY_COUNT];
	uint64_t held_bytes_max[PRIORITY_COUNT];
	uint8_t pausing;     /* bit p: its leaf must pause priority p */
	uint8_t untold;      /* bit p: its leaf doesn't know yet */
	uint64_t refresh_ps; /* pausing: when to say so again */
	uint64_t dropped_packets, lossless_dropped_packets;
	uint64_t xoff_frames; /* sent: at least one priority paused */
};

struct receive_buffer *receive_buffer_create(const struct receive_buffer_params *params);
/** Gives frames back that wait. NULL is legal. */
void receive_buffer_free(struct receive_buffer *buffer);

/** A frame has come; the buffer has it now, or has dropped it. */
void receive_buffer_add(struct receive_buffer *buffer, struct rte_mbuf *packet, uint64_t now_ps);

/** @return the next frame that has been drained by now, or NULL; it is the caller's */
struct rte_mbuf *receive_buffer_take(struct receive_buffer *buffer, uint64_t now_ps);

/** When there is something to take, or now_ps + TIME_IDLE_PS. */
uint64_t receive_buffer_due_ps(const struct receive_buffer *buffer, uint64_t now_ps);

struct pfc_frame;

/**
 * Is a pause frame due? Then it counts as sent.
 * @param rate_bps of the link
 */
bool receive_buffer_pause(struct receive_buffer *buffer, uint64_t rate_bps, struct pfc_frame *frame,
			  uint64_t now_ps);

/** When a pause frame is due: now_ps, later, or now_ps + TIME_IDLE_PS. */
uint64_t receive_buffer_pause_ps(const struct receive_buffer *buffer, uint64_t now_ps);

#endif
