/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/packet_port.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include <rte_branch_prediction.h>
#include <rte_mbuf.h>

#include "dataplane/counters.h"
#include "dataplane/packet.h"

/* A received frame as it lies in its slot or, when it was longer, in the port's buffer. */
struct rx_frame {
	const uint8_t *data;
	uint32_t bytes;
	uint32_t tag_bytes; /* VLAN_TAG_BYTES when the kernel took a tag out, else 0 */
	struct virtio_net_hdr offload;
};

/* Fetch the frame of a slot that was too short for it. */
static bool rx_fetch(struct packet_mmap *port, struct rx_frame *frame)
{
	ssize_t bytes =
		recv(port->rx.fd, port->fetched, PACKET_FETCHED_BYTES, MSG_DONTWAIT | MSG_TRUNC);

	/* That the interface went down is reported once, ahead of the frames. */
	if (bytes < 0 && errno == ENETDOWN)
		bytes = recv(port->rx.fd, port->fetched, PACKET_FETCHED_BYTES,
			     MSG_DONTWAIT | MSG_TRUNC);
	if (bytes < (ssize_t)sizeof(frame->offload))
		return false;
	memcpy(&frame->offload, port->fetched, sizeof(frame->offload));
	frame->data = port->fetched + sizeof(frame->offload);
	frame->bytes =
		(uint32_t)((size_t)bytes - sizeof(frame->offload)); /* maybe more than read */
	return true;
}

/* @return false when the frame is lost */
static bool rx_open(struct packet_mmap *port, const struct tpacket2_hdr *slot, uint32_t status,
		    struct rx_frame *frame)
{
	frame->tag_bytes = (status & TP_STATUS_VLAN_VALID) != 0 ? VLAN_TAG_BYTES : 0;
	if (unlikely((status & TP_STATUS_COPY) != 0))
		return rx_fetch(port, frame);
	if (unlikely(slot->tp_snaplen != slot->tp_len))
		return false;
	frame->data = (const uint8_t *)slot + slot->tp_mac;
	frame->bytes = slot->tp_len;
	memcpy(&frame->offload, frame->data - sizeof(frame->offload), sizeof(frame->offload));
	return true;
}

/*
 * Make a frame that was written tag_bytes into the packet's room whole: the addresses move to the
 * front and the tag goes between.
 */
static void rx_finish(const struct packet_mmap *port, struct rte_mbuf *packet,
		      const struct tpacket2_hdr *slot, uint32_t bytes, uint32_t tag_bytes)
{
	uint8_t *data = packet_data(packet);

	if (tag_bytes != 0) {
		uint16_t type = (slot->tp_status & TP_STATUS_VLAN_TPID_VALID) != 0
					? slot->tp_vlan_tpid
					: ETH_P_8021Q;
		uint8_t tag[VLAN_TAG_BYTES] = {
			(uint8_t)(type >> 8),
			(uint8_t)type,
			(uint8_t)(slot->tp_vlan_tci >> 8),
			(uint8_t)slot->tp_vlan_tci,
		};

		memmove(data, data + VLAN_TAG_BYTES, MAC_ADDRESS_BYTES);
		memcpy(data + MAC_ADDRESS_BYTES, tag, sizeof(tag));
	}
	packet->data_len = (uint16_t)(bytes + tag_bytes);
	packet->pkt_len = bytes + tag_bytes;
	packet->port = port->io.port;
	packet_virtual_bytes_set(packet, 0);
}

static void rx_superframe(struct packet_mmap *port, const struct rx_frame *frame)
{
	counter_add(&port->rx_superframes, 1);
	if (offload_pieces_begin(&port->pieces, frame->data, frame->bytes, &frame->offload,
				 port->frame_bytes_max - frame->tag_bytes) != 0)
		counter_add(&port->rx_superframe_drops, 1);
}

/*
 * Look at the slot at rx_head: into the packet with it, or begin with the pieces of a super-frame,
 * or count why not.
 * @return whether the packet was filled
 */
static bool rx_slot(struct packet_mmap *port, const struct tpacket2_hdr *slot, uint32_t status,
		    struct rte_mbuf *packet)
{
	struct rx_frame frame;
	uint8_t *data;

	if (unlikely(!rx_open(port, slot, status, &frame))) {
		counter_add(&port->rx_lost, 1);
		return false;
	}
	if (frame.offload.gso_type != VIRTIO_NET_HDR_GSO_NONE) {
		rx_superframe(port, &frame);
		return false;
	}
	data = packet_data(packet) + frame.tag_bytes;
	if (unlikely(frame.bytes < ETH_HLEN ||
		     frame.bytes + frame.tag_bytes > port->frame_bytes_max)) {
		counter_add(&port->rx_errors, 1);
		return false;
	}
	memcpy(data, frame.data, frame.bytes);
	if (unlikely(offload_checksum_finish(data, frame.bytes, &frame.offload) != 0)) {
		counter_add(&port->rx_errors, 1);
		return false;
	}
	rx_finish(port, packet, slot, frame.bytes, frame.tag_bytes);
	return true;
}

/* Packets to get buffers for: pieces that are left and filled slots, up to count. */
static uint16_t rx_wanted(const struct packet_mmap *port, uint16_t count)
{
	uint32_t wanted = port->pieces.left;
	uint32_t index = port->rx_head;

	/* The super-frame's slot is its own until the last piece was made. */
	if (wanted != 0)
		index = packet_ring_next(&port->rx, index);
	while (wanted < count) {
		uint32_t status = packet_ring_status(port->rx.slot[index]);

		if ((status & TP_STATUS_USER) == 0)
			break;
		if ((status & TP_STATUS_COPY) != 0)
			return count; /* surely many pieces */
		wanted++;
		index = packet_ring_next(&port->rx, index);
	}
	return (uint16_t)RTE_MIN(wanted, count);
}

uint16_t packet_rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct packet_mmap *port = packet_mmap_of(io);
	uint16_t wanted = rx_wanted(port, count);
	uint16_t taken = 0;

	(void)queue;
	if (wanted == 0)
		return 0;
	while (rte_pktmbuf_alloc_bulk(port->pool, packets, wanted) != 0) {
		wanted /= 2;
		if (wanted == 0) {
			counter_add(&port->rx_no_buffer, 1);
			return 0;
		}
	}
	/* Slots that yield nothing are bounded too, or a flood of them would hold the worker. */
	for (unsigned int slots = 0; taken < wanted;) {
		struct tpacket2_hdr *slot = port->rx.slot[port->rx_head];

		if (port->pieces.left != 0) {
			uint32_t tag =
				(slot->tp_status & TP_STATUS_VLAN_VALID) != 0 ? VLAN_TAG_BYTES : 0;
			uint32_t bytes = offload_pieces_next(&port->pieces,
							     packet_data(packets[taken]) + tag);

			rx_finish(port, packets[taken++], slot, bytes, tag);
		} else {
			uint32_t status = packet_ring_status(slot);

			if ((status & TP_STATUS_USER) == 0 || slots++ == BURST_COUNT_MAX)
				break;
			taken = (uint16_t)(taken + rx_slot(port, slot, status, packets[taken]));
		}
		if (port->pieces.left == 0) {
			packet_ring_give(slot, TP_STATUS_KERNEL);
			port->rx_head = packet_ring_next(&port->rx, port->rx_head);
		}
	}
	if (taken < wanted)
		rte_pktmbuf_free_bulk(packets + taken, wanted - taken);
	return taken;
}

static bool rx_filled(const struct packet_mmap *port, uint32_t distance)
{
	uint32_t index = port->rx_head + distance;

	if (index >= port->rx.count)
		index -= port->rx.count;
	return (packet_ring_status(port->rx.slot[index]) & TP_STATUS_USER) != 0;
}

/* The kernel fills in order, so the filled slots are one run: its end is found by bisection. */
int32_t packet_rx_backlog(struct port_io *io, uint16_t queue)
{
	const struct packet_mmap *port = packet_mmap_of(io);
	uint32_t filled = 0, empty = 1;

	(void)queue;
	while (empty < port->rx.count && rx_filled(port, empty - 1)) {
		filled = empty;
		empty *= 2;
	}
	/* All below filled are, none from empty on is. */
	empty = RTE_MIN(empty, port->rx.count + 1);
	while (empty - filled > 1) {
		uint32_t middle = filled + (empty - filled) / 2;

		if (rx_filled(port, middle - 1))
			filled = middle;
		else
			empty = middle;
	}
	return (int32_t)filled;
}
