/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_mmap - a kernel network interface as a port: veth, TAP, or a NIC without DPDK driver.
 *
 * Two packet sockets, because what they need differs: the receiving one has virtio headers in its
 * slots (which offloads the peer left to us), the sending one doesn't and is bound to protocol 0,
 * so that it never receives; and an error of one (interface down) can't hide in a call on the other.
 *
 * Receive. Slots are sized by the MTU, not by the 64 KB that a peer with segmentation offload may
 * send: a longer frame is left in the socket's queue beside its slot (PACKET_COPY_THRESH) and
 * fetched whole, in order, by recv(). Then, in this order: the kernel's unfinished checksum is
 * completed or the super-frame cut into frames that fit (offload.h), the VLAN tag that the kernel
 * took out is put back, and the result lies in one mbuf of one segment. When the pool is empty,
 * frames stay in the ring. Counted in rx_missed_packets: what the kernel dropped because ring or
 * socket queue were full (PACKET_STATISTICS); sent = received + missed, exactly.
 *
 * Transmit. Frames are copied into slots and kicked off with one send() a burst, never waiting.
 *   ring or device full (ENOBUFS)   the frame and all behind it are returned as not taken: none
 *                         lingers in a slot, so nobody has to kick it again, and a pause that comes
 *                         meanwhile still holds it
 *   no carrier, interface down or gone   the burst is taken and counted in tx_error_packets
 *   longer than the MTU   taken and counted in tx_error_packets. A VLAN tag (0x8100) may exceed the
 *                         MTU by 4 bytes, an 802.1ad tag (0x88a8) may not: the kernel's rule
 * PACKET_QDISC_BYPASS is on. Measured on Linux 6.18, 100 frames each: to a veth without carrier the
 * normal path reported 100 sent, bypass 100 times ENOBUFS; to a TAP that holds 10 the normal path
 * reported 100 sent, bypass 10 sent and 90 times ENOBUFS. So without bypass frames vanish (only the
 * interface's own tx_dropped knows), with it they stay ours. Bypass also keeps fq_codel and the
 * like, which reorder and drop, from being a second scheduler behind ours. The price: tcpdump on
 * the port itself and `tc` egress rules don't see what we send (on the peer they do).
 *
 * What is changed on the interface while the port is open, and put back at close: netdev.h, and
 * promiscuous mode.
 *
 * The port is PORT_IO_POLLED: an empty rx_burst() is one load. Its descriptor becomes readable when
 * frames wait; when the interface goes down it reports POLLERR until somebody reads SO_ERROR.
 * Reception goes on by itself when the interface comes up again; one that was deleted stays gone.
 * Receive (poller of queue 0) and transmit (owner) share no state.
 *
 * Known limit: a peer on a veth that sends SCTP super-frames stops reception for good, because
 * Linux (6.18) never frees the slot of a frame that it can't describe to us. Turn them off there:
 * `ethtool -K PEER tx-sctp-segmentation off`.
 */
#ifndef DATAPLANE_IO_PACKET_MMAP_H
#define DATAPLANE_IO_PACKET_MMAP_H

#include <stdint.h>

#include "dataplane/io/io_error.h"
#include "dataplane/port_io.h"

struct packet_mmap_params {
	const char *interface;    /* as in `ip link`, in this thread's network namespace */
	uint16_t port;            /* id in the leaf */
	uint32_t mtu_bytes;       /* MTU_BYTES_MIN..MTU_BYTES_MAX */
	struct rte_mempool *pool; /* data room for mtu_bytes + FRAME_HEADER_BYTES */
	int socket_id;            /* NUMA node, or SOCKET_ID_ANY */
	uint32_t rx_slots;        /* 0: 4 MiB worth (2600 at MTU 1500, 448 at 9216), up to 65536 */
	uint32_t tx_slots;        /* 0: 1 MiB worth, up to 65536 */
};

/**
 * Open a port. Takes about 100 KB of EAL memory and the rings from the kernel.
 * @param error  why not; on success a warning to be logged, or ""
 * @return 0, or -errno with nothing changed: -ENODEV, -ENOTSUP, -EPERM, -EINVAL (a parameter out of
 *         range, buffers of the pool too small), -ENOMEM, or what the kernel says
 */
int packet_mmap_open(const struct packet_mmap_params *params, struct port_io **io,
		     struct io_error *error);

#endif
