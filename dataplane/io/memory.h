/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - a port_io between two rings in memory, for tests, benchmarks and threads' sanitizers.
 *
 * The other end of the wire is the caller: what it injects the leaf receives, what the leaf sends
 * it takes. Both rings have one producer and one consumer, so the two ends may be different
 * threads. A limit on what a burst takes makes a device that is full.
 */
#ifndef DATAPLANE_IO_MEMORY_H
#define DATAPLANE_IO_MEMORY_H

#include <stdint.h>

#include "dataplane/port_io.h"

struct memory_io;

/**
 * @param frames a power of two; each direction holds one less
 * @return NULL when out of memory. Closed by port_io_close(), which frees what is in the rings.
 */
struct memory_io *memory_io_create(uint16_t port, uint32_t frames);

/** What leaf_attach() wants. */
struct port_io *memory_io_port(struct memory_io *memory);

/** Put frames on the wire towards the leaf. @return how many fitted; the rest stay yours */
uint32_t memory_io_inject(struct memory_io *memory, struct rte_mbuf **packets, uint32_t count);

/** Take what the leaf has sent. @return how many; they are yours */
uint32_t memory_io_take(struct memory_io *memory, struct rte_mbuf **packets, uint32_t count);

/** From now on each transmit burst takes at most this many frames. */
void memory_io_limit(struct memory_io *memory, uint16_t frames);

/** Link state that link() reports. */
void memory_io_link(struct memory_io *memory, bool up);

#endif
