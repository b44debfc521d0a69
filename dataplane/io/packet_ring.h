/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet_ring - one packet socket with one ring of slots shared with the kernel (TPACKET_V2).
 *
 * A slot starts with struct tpacket2_hdr; its tp_status says whose it is. The side that owns a slot
 * gives it away by storing the status last (release) and may read the rest once it has loaded it
 * (acquire). Slots are used in the order of their index by both sides.
 *
 * Thread: set up and torn down by control; the ring is walked by the port's worker.
 * Source: Linux Documentation/networking/packet_mmap.rst.
 */
#ifndef DATAPLANE_IO_PACKET_RING_H
#define DATAPLANE_IO_PACKET_RING_H

#include <stddef.h>
#include <stdint.h>

#include <linux/if_packet.h>

#include "dataplane/io/io_error.h"

/*
 * Rings are made of blocks that are contiguous in the kernel's memory. 64 KB hold seven slots for
 * MTU 9216 or forty for 1500 and waste at most 5 %; the kernel falls back to pages when it has none.
 */
#define PACKET_RING_BLOCK_BYTES 65536u

struct packet_ring {
	int fd; /* -1: none */
	uint8_t *memory;
	size_t memory_bytes;
	struct tpacket2_hdr **slot;
	uint32_t count;      /* slots */
	uint32_t slot_bytes; /* with the header */
};

/**
 * Open a packet socket that isn't bound yet: it receives nothing.
 * @param name  of the interface, for the message only
 * @return 0, or -EPERM (CAP_NET_RAW is missing) or what else socket(2) says
 */
int packet_ring_socket(struct packet_ring *ring, const char *name, struct io_error *error);

/**
 * Make and map the ring.
 * @param option      PACKET_RX_RING or PACKET_TX_RING
 * @param slot_bytes  with the header, up to PACKET_RING_BLOCK_BYTES; rounded up to 16
 * @param count       slots wanted, > 0; rounded up to whole blocks
 * @param socket_id   NUMA node of the table of slots
 * @return 0, or -ENOMEM or what else the kernel says
 */
int packet_ring_map(struct packet_ring *ring, int option, uint32_t slot_bytes, uint32_t count,
		    int socket_id, const char *name, struct io_error *error);

/**
 * Bind the socket.
 * @param protocol  host order: ETH_P_ALL to receive everything, 0 to receive nothing
 */
int packet_ring_bind(const struct packet_ring *ring, int interface_index, uint16_t protocol,
		     const char *name, struct io_error *error);

/** Undo all of it; a ring of zeros with fd -1 is legal. Frames in a TX ring that the kernel has
 * accepted are still sent. */
void packet_ring_close(struct packet_ring *ring);

static inline uint32_t packet_ring_status(const struct tpacket2_hdr *slot)
{
	return __atomic_load_n(&slot->tp_status, __ATOMIC_ACQUIRE);
}

static inline void packet_ring_give(struct tpacket2_hdr *slot, uint32_t status)
{
	__atomic_store_n(&slot->tp_status, status, __ATOMIC_RELEASE);
}

static inline uint32_t packet_ring_next(const struct packet_ring *ring, uint32_t index)
{
	return index + 1 == ring->count ? 0 : index + 1;
}

#endif
