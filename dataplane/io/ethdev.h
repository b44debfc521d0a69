/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethdev - a DPDK device as a port: a NIC under vfio-pci, AF_XDP, a vhost socket, any virtual one.
 *
 * The device is plugged in when the port is opened and unplugged when it is closed; EAL needs no
 * device arguments. It is set up as the leaf wants it:
 *   receive     as many queues as the device has, up to a bound, where it spreads by RSS over addresses
 *               and ports of IP, TCP and UDP (frames that aren't IP, as MAC control, come on queue 0).
 *               One queue where it doesn't, or refuses more: AF_XDP, vhost, net_ring, net_tap. How many
 *               it became is the port_io's rx_queues. Promiscuous, all multicast, no VLAN stripping
 *   offloads    none: checksums are patched incrementally, frames are of one segment
 *   flow control of the link (802.3x) off, MAC control frames handed over where the device can;
 *               pauses are obeyed by us or by the device, see flow_control.h. In the latter case each
 *               lossless priority has a transmit queue of its own
 *   MTU         the port's, untagged; devices allow for a VLAN tag on top
 * A device that would scatter a frame over several buffers is refused, because a packet is one
 * segment. A frame that comes in several nevertheless, or that is longer than the MTU allows (some
 * virtual devices don't look), is dropped and counted in rx_error_packets.
 *
 * A device that is pulled out (RTE_ETH_EVENT_INTR_RMV) is gone for good: receives nothing, takes and
 * counts everything, link() answers -ENODEV.
 *
 * Threads: as port_io.h says; rx_burst() of different queues by different threads, tx_burst() of all
 * queues by the owner. The port is PORT_IO_POLLED and has no descriptor. Cost over the driver's
 * own: three stores and a compare per received packet.
 * Limits: Debian's DPDK has room for 32 devices; rx_backlog() is -ENOTSUP where the driver doesn't
 * say (net_ring, af_xdp); there is no tx_backlog(). AF_XDP wants buffers of at most a page of memory
 * with mbuf and headroom, so an MTU of about 3500 bytes is its largest, and no larger one can share
 * its pool.
 */
#ifndef DATAPLANE_IO_ETHDEV_H
#define DATAPLANE_IO_ETHDEV_H

#include <stdint.h>

#include "dataplane/io/flow_control.h"
#include "dataplane/io/io_error.h"
#include "dataplane/port_io.h"

#define ETHDEV_RX_QUEUES_MAX 64
#define ETHDEV_TX_QUEUES_MAX 9 /* data, and one per lossless class or PFC's own */

enum ethdev_driver {
	ETHDEV_VFIO,   /* device: PCI address, "0000:17:00.0" */
	ETHDEV_AF_XDP, /* device: kernel interface, "enp23s0" */
	ETHDEV_VHOST,  /* device: path of the socket, "/run/vm1.sock" */
	ETHDEV_VDEV,   /* device: DPDK's name, "net_tap0" */
};

struct ethdev_params {
	const char *device; /* ",key=value" of the driver may follow */
	enum ethdev_driver driver;
	uint16_t port;           /* id in the leaf */
	uint16_t rx_queues_max;  /* 1..ETHDEV_RX_QUEUES_MAX */
	uint16_t tx_queues;      /* 1..ETHDEV_TX_QUEUES_MAX; more, if the device obeys pauses */
	uint16_t rx_descriptors; /* of each queue; 0: 1024. The device may round or limit them */
	uint16_t tx_descriptors; /* of each queue; 0: 512 */
	uint32_t mtu_bytes;      /* MTU_BYTES_MIN..MTU_BYTES_MAX */
	enum flow_control_wish flow_control;
	uint8_t lossless_mask; /* bit p: priority p is lossless */
	struct rte_mempool
		*pool; /* data room for mtu_bytes + FRAME_HEADER_BYTES, or what the device
				     needs on top (a message says so) */
};

/**
 * Plug in, set up and start a device. EAL is initialised.
 * @param error  names device, step and reason
 * @return 0, or -errno with the device unplugged: -EINVAL (a parameter out of range, more transmit
 *         queues than the device has, buffers too small), -EBUSY (is a port already), -ENODEV (no driver takes
 *         it), -ENOSPC (no room for another), or what the driver says
 */
int ethdev_open(const struct ethdev_params *params, struct port_io **io, struct io_error *error);

/** Who obeys pauses, and why; NULL: not an ethdev. Thread: control. */
const struct flow_control *ethdev_flow_control(struct port_io *io);

/**
 * Other priorities are lossless now. Thread: control, safe while a worker polls.
 * @return 0, or -errno: the device can't follow, flow control's why[] says what
 */
int ethdev_set_lossless(struct port_io *io, uint8_t lossless_mask);

#endif
