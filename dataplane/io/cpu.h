/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cpu - the CPU's pseudo-port: frames between a worker and the control thread.
 *
 * Two bounded rings of one producer and one consumer each. Nobody waits: a full ring takes only a
 * part of a burst. Packets carry PACKET_CPU, their interface and a reason in packet_meta:
 *
 *	worker -> control  the frame is untagged, as the kernel shall see it on that interface's TAP;
 *	                   PUNT_NEIGHBOUR: control holds it until its next hop is resolved
 *	control -> worker  PUNT_NONE: a complete frame that leaves through the interface (routed port:
 *	                   that port; VLAN interface: bridged in its VLAN)
 *	                   PUNT_NEIGHBOUR: an IP packet from above, to be routed once more
 *
 * Waking up: control sleeps on cpu_io_descriptor() after cpu_io_may_sleep(); a worker writes to it
 * at most once per sleep. In the other direction control calls lcores_wake() after cpu_io_send().
 * The port is polled (PORT_IO_POLLED): a look at its empty ring costs two loads.
 *
 * Threads: the port_io by the worker that owns the port, the rest by control.
 */
#ifndef DATAPLANE_IO_CPU_H
#define DATAPLANE_IO_CPU_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_io.h"

struct cpu_io;

/**
 * @param port    id in the leaf: leaf_port_count()
 * @param packets room in each ring, a power of two
 * @return the port, or NULL with rte_errno set. Closed by port_io_close(cpu_io_port()), which frees
 *         what is still in the rings.
 */
struct cpu_io *cpu_io_open(uint16_t port, uint32_t packets);

/** The worker's side. */
struct port_io *cpu_io_port(struct cpu_io *cpu);

/** Take up to count punted frames. */
uint16_t cpu_io_receive(struct cpu_io *cpu, struct rte_mbuf **packets, uint16_t count);

/** Give frames to the worker, in order. @return how many it took; the rest stays with the caller */
uint16_t cpu_io_send(struct cpu_io *cpu, struct rte_mbuf **packets, uint16_t count);

/** Readable when frames were punted after a cpu_io_may_sleep() that said yes. */
int cpu_io_descriptor(const struct cpu_io *cpu);

/**
 * Before control sleeps: from now on the next punt makes the descriptor readable.
 * @return false when frames wait already: receive them first
 */
bool cpu_io_may_sleep(struct cpu_io *cpu);

/** After it was readable. */
void cpu_io_woken(struct cpu_io *cpu);

#endif
