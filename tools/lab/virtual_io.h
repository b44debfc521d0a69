/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtual_io - a leaf's port on virtual wires: the lab's implementation of port_io.
 *
 * An exact one has no run-ahead: a frame is taken when the wire is free, one at a time, and goes at that
 * picosecond. Any other takes what it gets, to be sent one after the other, as a NIC's ring; the leaf's wire
 * clock bounds it. A wire that is held takes nothing from either. What arrives is there at its arrival; the node calls worker_ready() then.
 *
 * What has arrived waits until a worker takes it: in a ring without end, or in one of so many frames, which
 * then loses what comes while it is full, pauses included. Losses are found when the ring is next looked at, and
 * are those that there would have been: between two looks it only fills. What arrives at the picosecond of a
 * look still finds it as it was.
 *
 * Thread: the lab's.
 */
#ifndef LAB_VIRTUAL_IO_H
#define LAB_VIRTUAL_IO_H

#include "dataplane/port_io.h"
#include "tools/lab/link.h"

/* No NIC has a longer one. */
#define VIRTUAL_RING_FRAMES_MAX 65536

struct snapshot;

struct virtual_io {
	struct port_io io;
	struct wire *tx; /* from us; NULL: nothing is plugged in */
	struct wire *rx; /* to us */
	/* With a ring that has an end. */
	const struct snapshot *const *snapshot; /* in force */
	uint64_t lost[PRIORITY_COUNT];          /* frames that found it full, by their class */
	uint64_t lost_control;                  /* MAC control frames, which have none */
};

/** @param port id in the leaf. @param mac six bytes: the port's own address */
void virtual_io_init(struct virtual_io *virtual_io, uint16_t port, const uint8_t *mac, bool exact,
		     struct wire *tx, struct wire *rx);

/**
 * From now on its receive ring has an end. The dataplane knows its length.
 * @param frames   1..VIRTUAL_RING_FRAMES_MAX; 0: it has none
 * @param snapshot where the one in force stands, for the classes of what is lost
 */
void virtual_io_set_ring(struct virtual_io *virtual_io, uint32_t frames,
			 const struct snapshot *const *snapshot);

/** Lose and count what has found the ring full until now. */
void virtual_io_settle(struct virtual_io *virtual_io);

#endif
