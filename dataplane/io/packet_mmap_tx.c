/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/packet_port.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "dataplane/counters.h"
#include "dataplane/packet.h"

/* The kernel's rule: header and MTU, and 4 bytes more for a VLAN tag, but not for 802.1ad's. */
static bool tx_fits(const uint8_t *frame, uint32_t bytes, uint32_t mtu_bytes)
{
	uint32_t limit = mtu_bytes + ETH_HLEN;

	if (bytes < ETH_HLEN)
		return false;
	if (frame[MAC_ADDRESS_BYTES] == ETH_P_8021Q >> 8 &&
	    frame[MAC_ADDRESS_BYTES + 1] == (ETH_P_8021Q & 0xff))
		limit += VLAN_TAG_BYTES;
	return bytes <= limit;
}

/* Step over slots that the kernel is done with. */
static void tx_complete(struct packet_mmap *port)
{
	while (port->tx_pending > 0 &&
	       (packet_ring_status(port->tx.slot[port->tx_done]) & TP_STATUS_SENDING) == 0) {
		port->tx_done = packet_ring_next(&port->tx, port->tx_done);
		port->tx_pending--;
	}
}

void packet_tx_mtu_refresh(struct packet_mmap *port)
{
	int mtu_bytes = netdev_mtu(&port->netdev);

	if (mtu_bytes > 0)
		atomic_store_explicit(
			&port->tx_mtu_bytes,
			RTE_MIN((uint32_t)mtu_bytes, port->frame_bytes_max - FRAME_HEADER_BYTES),
			memory_order_relaxed);
}

/*
 * The kernel refused the frame in the slot where it stands.
 * @param accepted  whether it took any before
 * @return how many of those from that one on are to be given up: none, this one, or all
 */
static __rte_noinline uint16_t tx_refused(struct packet_mmap *port, int error, bool accepted)
{
	switch (error) {
	case ENOBUFS: /* the device's queue is full, or it has no carrier */
	case EAGAIN:  /* as much of the socket's memory as may be is in flight */
	case EINTR:
		return accepted || netdev_running(&port->netdev) ? 0 : UINT16_MAX;
	case EMSGSIZE: /* somebody lowered the interface's MTU */
	case EINVAL:
	case EFAULT:
		packet_tx_mtu_refresh(port);
		return 1;
	default: /* ENETDOWN, ENXIO: down or gone */
		return UINT16_MAX;
	}
}

/*
 * Let the kernel take the filled slots, and take those back that it didn't.
 * @param filled    slots filled, the last ones before tx_tail
 * @param accepted  set to how many it took
 * @return how many frames from the first refused one on are to be given up
 */
static uint16_t tx_kick(struct packet_mmap *port, uint16_t filled, uint16_t *accepted)
{
	uint32_t first = (port->tx_tail + port->tx.count - filled) % port->tx.count;
	ssize_t result = send(port->tx.fd, NULL, 0, MSG_DONTWAIT);
	int error = errno;
	uint32_t index = first;

	for (*accepted = 0; *accepted < filled; (*accepted)++) {
		uint32_t status = packet_ring_status(port->tx.slot[index]);

		if ((status & (TP_STATUS_SEND_REQUEST | TP_STATUS_WRONG_FORMAT)) != 0)
			break;
		index = packet_ring_next(&port->tx, index);
	}
	if (likely(result >= 0 && *accepted == filled))
		return 0;
	port->tx_tail = index;
	port->tx_pending -= (uint32_t)(filled - *accepted);
	for (uint16_t i = *accepted; i < filled; i++) {
		packet_ring_give(port->tx.slot[index], TP_STATUS_AVAILABLE);
		index = packet_ring_next(&port->tx, index);
	}
	return tx_refused(port, result < 0 ? error : EAGAIN, *accepted > 0);
}

uint16_t packet_tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct packet_mmap *port = packet_mmap_of(io);
	uint32_t mtu_bytes = atomic_load_explicit(&port->tx_mtu_bytes, memory_order_relaxed);
	uint16_t position[BURST_COUNT_MAX]; /* of the packet in each filled slot */
	uint16_t filled = 0, accepted = 0, given_up = 0, taken;

	(void)queue;
	assert(count <= BURST_COUNT_MAX);
	tx_complete(port);
	for (taken = 0; taken < count; taken++) {
		const uint8_t *data = packet_data(packets[taken]);
		uint32_t bytes = packets[taken]->data_len;
		struct tpacket2_hdr *slot;

		assert(packets[taken]->nb_segs == 1);
		if (unlikely(!tx_fits(data, bytes, mtu_bytes)))
			continue;
		if (port->tx_pending == port->tx.count)
			break;
		slot = port->tx.slot[port->tx_tail];
		memcpy((uint8_t *)slot + PACKET_TX_HEADER_BYTES, data, bytes);
		slot->tp_len = bytes;
		packet_ring_give(slot, TP_STATUS_SEND_REQUEST);
		port->tx_tail = packet_ring_next(&port->tx, port->tx_tail);
		port->tx_pending++;
		position[filled++] = taken;
	}
	/* Also when no slot was free: the device may be gone and never complete one. */
	if (likely(filled > 0) || taken < count)
		given_up = tx_kick(port, filled, &accepted);
	if (unlikely(accepted < filled))
		taken = position[accepted];
	taken = (uint16_t)RTE_MIN((uint32_t)taken + given_up, count);
	/* What was taken and not accepted is lost here. */
	if (unlikely(taken > accepted))
		counter_add(&port->tx_errors, taken - accepted);
	rte_pktmbuf_free_bulk(packets, taken);
	return taken;
}

int32_t packet_tx_backlog(struct port_io *io, uint16_t queue)
{
	struct packet_mmap *port = packet_mmap_of(io);

	(void)queue;
	tx_complete(port);
	return (int32_t)port->tx_pending;
}
