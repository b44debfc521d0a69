/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtual_io - a leaf's port on virtual wires: the lab's implementation of port_io.
 *
 * An exact one has no run-ahead: a frame is taken when the wire is free, one at a time, and goes at that
 * picosecond. Any other takes what it gets, to be sent one after the other, as a NIC's ring; the leaf's wire
 * clock bounds it. What arrives is there at its arrival; the node calls worker_ready() then.
 *
 * Thread: the lab's.
 */
#ifndef LAB_VIRTUAL_IO_H
#define LAB_VIRTUAL_IO_H

#include "dataplane/port_io.h"
#include "tools/lab/link.h"

struct virtual_io {
	struct port_io io;
	struct wire *tx; /* from us; NULL: nothing is plugged in */
	struct wire *rx; /* to us */
};

/** @param port id in the leaf. @param mac six bytes: the port's own address */
void virtual_io_init(struct virtual_io *virtual_io, uint16_t port, const uint8_t *mac, bool exact,
		     struct wire *tx, struct wire *rx);

#endif
