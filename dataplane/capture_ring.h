/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture_ring - how copies of frames get from workers to whoever captures, in memory that both share.
 *
 * The memory is a file of a fixed size (memfd, sealed): this header, a ring for each worker, and the rings'
 * slots. A worker writes slots and moves `head`; the reader moves `tail`. When a ring is full, copies are
 * dropped and counted: a worker never waits. What the reader writes is not trusted: it can only make
 * copies be dropped.
 *
 * Thread: capture.h has the worker's side; the reader is one, in another process.
 */
#ifndef DATAPLANE_CAPTURE_RING_H
#define DATAPLANE_CAPTURE_RING_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define CAPTURE_MAGIC       UINT64_C(0x31676e696c666372) /* and version */
#define CAPTURE_SNAP_MIN    64u
#define CAPTURE_SNAP_MAX    16384u
#define CAPTURE_RINGS_BYTES 4096u /* where rings begin */

struct capture_header {
	uint64_t magic;
	uint32_t workers;
	uint32_t slots;      /* of each; a power of two */
	uint32_t slot_bytes; /* of each slot */
	uint32_t snap_bytes; /* of a frame, at most */
	/* The same moment by the workers' clock, and since the epoch. */
	uint64_t clock_ps, clock_ns;
	_Atomic uint64_t alive;  /* the reader counts on, every second at least */
	_Atomic uint32_t closed; /* 1: the reader has gone */
	_Atomic uint32_t ended;  /* 1: nothing more will come */
};

struct capture_ring {
	alignas(64) _Atomic uint64_t head; /* slots ever written */
	_Atomic uint64_t dropped;          /* copies for which there was no room */
	alignas(64) _Atomic uint64_t tail; /* slots ever read */
};

enum capture_direction { CAPTURE_IN = 1, CAPTURE_OUT = 2 };

struct capture_slot {
	uint64_t time_ps; /* of the poll, workers' time */
	uint32_t bytes;   /* of the frame, without FCS */
	uint16_t captured_bytes;
	uint8_t direction; /* enum capture_direction */
	uint8_t unused;
	uint8_t data[];
};

static inline uint32_t capture_slot_bytes(uint32_t snap_bytes)
{
	return (uint32_t)(sizeof(struct capture_slot) + snap_bytes + 7) & ~7u;
}

/** Of the whole memory. */
static inline uint64_t capture_bytes(uint32_t workers, uint32_t slots, uint32_t slot_bytes)
{
	return CAPTURE_RINGS_BYTES +
	       workers * (sizeof(struct capture_ring) + (uint64_t)slots * slot_bytes);
}

static inline struct capture_ring *capture_ring_of(void *memory, uint32_t worker)
{
	return (struct capture_ring *)(void *)((uint8_t *)memory + CAPTURE_RINGS_BYTES) + worker;
}

/** The first slot of a worker. @param workers, slots, slot_bytes as in the header, checked */
static inline uint8_t *capture_slots_of(void *memory, uint32_t workers, uint32_t slots,
					uint32_t slot_bytes, uint32_t worker)
{
	return (uint8_t *)memory + CAPTURE_RINGS_BYTES + workers * sizeof(struct capture_ring) +
	       (uint64_t)worker * slots * slot_bytes;
}

#endif
