/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports - what of a port depends on its kind of device, before any device is open.
 *
 * How far the wire clock may run ahead of time into the device, and lag behind it (snapshot.h):
 *	kernel interfaces   100 us and two MTU ahead: a worker that sleeps wakes up late by tens of
 *	                    microseconds, and the ring must not run dry meanwhile. 10 ms behind: on a
 *	                    machine with few cores a worker may not run for that long, and a port
 *	                    that is paced to 200M shall still carry 200M. Measured with a load of 17
 *	                    on two CPUs: TCP got 152 and 169 Mb/s with 2 ms, 184 and 187 with 10,
 *	                    189 with 20 (188 is what headers leave). The price: an idle port takes
 *	                    10 ms of its rate in one go
 *	DPDK devices        10 us and two MTU ahead: some polls' worth. Nothing behind: a burst above
 *	                    line rate only fills the device's ring
 *
 * What the buffer's plan needs beside (config/headroom.h). All of these are assumptions about a
 * machine that isn't overloaded; `nic_delay` overrides the first, and what comes while a worker is
 * stalled for longer waits in the device's ring, for as long as `--check` says.
 *	NIC and bus, one way   1 us of a NIC: two crossings of PCI Express of some hundred ns each
 *	                       (Neugebauer et al., SIGCOMM'18) and its pipeline; 10 us of a virtual
 *	                       device or AF_XDP; 20 us of a kernel interface: its softirq
 *	poll interval          10 us: a burst of 32 from six ports at 50 ns a packet; with kernel
 *	                       interfaces 100 us, for system calls and waking up
 *	buffers held           by the descriptors of a DPDK device's rings, as many as it may get; by each
 *	                       thread's cache of the pool, which DPDK lets grow by half, and its burst. A
 *	                       kernel port copies, and holds none
 *
 * Pure. Thread: any.
 */
#ifndef CONTROL_PORTS_H
#define CONTROL_PORTS_H

#include "config/config.h"
#include "control/apply.h"
#include "dataplane/io/ethdev.h"
#include "dataplane/port_io.h"

/* Descriptors of one ring of a DPDK device. */
#define PORTS_RING_DESCRIPTORS 512

/**
 * Receive queues that a port may get: as many as there are workers, of a DPDK device that spreads by RSS;
 * 1 of others. How many it has is known when the device is open (port_io.h).
 */
static inline uint16_t ports_rx_queues_max(const struct config *config,
					   const struct config_port *port)
{
	bool may_spread = port->driver == CONFIG_DRIVER_VFIO || port->driver == CONFIG_DRIVER_VDEV;

	if (!may_spread)
		return 1;
	return config->leaf.workers < ETHDEV_RX_QUEUES_MAX ? (uint16_t)config->leaf.workers
							   : ETHDEV_RX_QUEUES_MAX;
}

/**
 * Rate, run-ahead and lag of a port's wire clock, and its device's delay.
 * @param device what the device says of its link, or NULL: nothing
 */
void ports_describe(const struct config_port *port, const struct port_io_link *device,
		    struct apply_port *out);

/** Fill in poll_ps and packets_held. */
void ports_describe_all(const struct config *config, struct apply_state *state);

/** Frames that a device's RX ring holds, about; the next is lost. */
uint32_t ports_ring_frames(const struct config_port *port);

#endif
