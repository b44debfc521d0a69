/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_port - what the parts of packet_mmap share; for them alone.
 */
#ifndef DATAPLANE_IO_PACKET_PORT_H
#define DATAPLANE_IO_PACKET_PORT_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>
#include <linux/virtio_net.h>

#include "dataplane/io/netdev.h"
#include "dataplane/io/offload.h"
#include "dataplane/io/packet_ring.h"
#include "dataplane/port_io.h"

/* Room in a receive slot before the frame: tpacket2_hdr, sockaddr_ll, virtio header, alignment. */
#define PACKET_RX_HEADER_BYTES 96u
/* Where the kernel looks for the frame in a transmit slot. */
#define PACKET_TX_HEADER_BYTES ((uint32_t)(TPACKET2_HDRLEN - sizeof(struct sockaddr_ll)))

#define VLAN_TAG_BYTES    4u
#define MAC_ADDRESS_BYTES 12u /* both */

struct packet_mmap {
	struct port_io io;
	struct rte_mempool *pool;
	uint32_t frame_bytes_max;
	uint8_t *fetched; /* PACKET_FETCHED_BYTES: virtio header and a frame longer than a slot */
	struct netdev netdev;

	/* Receive: the poller. */
	alignas(64) struct packet_ring rx;
	uint32_t rx_head;             /* next slot to read */
	struct offload_pieces pieces; /* of the super-frame in slot rx_head */
	_Atomic uint64_t rx_lost;     /* longer than a slot and not in the socket's queue */
	_Atomic uint64_t rx_errors;
	_Atomic uint64_t rx_no_buffer;
	_Atomic uint64_t rx_superframes;
	_Atomic uint64_t rx_superframe_drops;

	/* Transmit: the owner. */
	alignas(64) struct packet_ring tx;
	uint32_t tx_done;    /* oldest slot that the kernel may still hold */
	uint32_t tx_tail;    /* next slot to fill, where the kernel will look first */
	uint32_t tx_pending; /* slots from tx_done to tx_tail */
	_Atomic uint64_t tx_errors;

	/* Any thread. */
	alignas(64) _Atomic uint64_t kernel_drops; /* PACKET_STATISTICS starts anew at each read */
	_Atomic uint32_t tx_mtu_bytes;             /* the interface's, which others may lower */
};

#define PACKET_FETCHED_BYTES (sizeof(struct virtio_net_hdr) + OFFLOAD_FRAME_BYTES_MAX)

static inline struct packet_mmap *packet_mmap_of(struct port_io *io)
{
	return (struct packet_mmap *)(void *)io;
}

/* port_io_ops; queue is 0. */
uint16_t packet_rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count);
int32_t packet_rx_backlog(struct port_io *io, uint16_t queue);
uint16_t packet_tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count);
int32_t packet_tx_backlog(struct port_io *io, uint16_t queue);

/** Take over a changed MTU of the interface, up to the one the port was opened with. */
void packet_tx_mtu_refresh(struct packet_mmap *port);

#endif
