/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * packet - what we know of a packet while it waits in a queue.
 *
 * A packet is one DPDK mbuf of one segment. What must survive the queue lives in the mbuf's first
 * cache line, in fields whose receive meaning is spent by then: `hash` (eight bytes) and
 * `vlan_tci_outer`. The second cache line is never touched on the hot path.
 *
 * In the lab, payload bytes need not exist: `virtual_bytes` says how many follow the real ones on
 * the wire. The mbuf itself stays legal (pkt_len == data_len). Only packet_length() and
 * packet_copy() know about it. Devices set it to 0.
 *
 * Thread: whoever holds the packet; nobody shares one.
 */
#ifndef DATAPLANE_PACKET_H
#define DATAPLANE_PACKET_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#include <rte_mbuf.h>

/* packet_meta.flags; the first two are the IP kinds of parse.h */
#define PACKET_IPV4      0x01u /* l3_offset points at an IPv4 header whose checksum was right */
#define PACKET_IPV6      0x02u
#define PACKET_COPY      0x10u /* of a message of another leaf, for one more worker */
#define PACKET_SPRAYED   0x20u /* has got a number here: any uplink to the same leaf will do */
#define PACKET_SEQUENCED 0x40u /* may carry a number of in-order spray (balance/spray.h) */
#define PACKET_CPU       0x80u /* to or from the kernel; reason and interface are valid */

struct packet_meta {
	uint8_t flags;     /* PACKET_* */
	uint8_t reason;    /* with PACKET_CPU: why it was punted (enum punt_reason) */
	uint8_t l3_offset; /* bytes from the start of the frame to its IP header */
	uint8_t priority;  /* 0..7: queue and account */
	uint16_t
		cost_bytes; /* frame length when it was charged: what its discharge must give back */
	uint16_t interface; /* with PACKET_CPU: index into snapshot.interface */
} __attribute__((may_alias, packed, aligned(4)));

static_assert(sizeof(struct packet_meta) == 8, "one store");
static_assert(offsetof(struct rte_mbuf, vlan_tci_outer) < 64, "metadata in line 0");

static inline struct packet_meta *packet_meta(struct rte_mbuf *packet)
{
	return (struct packet_meta *)(void *)&packet->hash;
}

/** Hot: composed in a register, one store. */
static inline void packet_meta_set(struct rte_mbuf *packet, struct packet_meta meta)
{
	uint64_t word = (uint64_t)meta.flags | (uint64_t)meta.reason << 8 |
			(uint64_t)meta.l3_offset << 16 | (uint64_t)meta.priority << 24 |
			(uint64_t)meta.cost_bytes << 32 | (uint64_t)meta.interface << 48;

	memcpy(&packet->hash, &word, sizeof(word));
}

/** Bytes of this frame that exist only on the wire. */
static inline uint16_t packet_virtual_bytes(const struct rte_mbuf *packet)
{
	return packet->vlan_tci_outer;
}

/**
 * Every producer of packets (port_io, lab host, CPU port) calls this once, 0 for real frames.
 * Together with the real ones at most 65535.
 */
static inline void packet_virtual_bytes_set(struct rte_mbuf *packet, uint16_t bytes)
{
	packet->vlan_tci_outer = bytes;
}

/** Length of the frame on the wire, without FCS. */
static inline uint32_t packet_length(const struct rte_mbuf *packet)
{
	uint32_t length = packet->data_len + (uint32_t)packet->vlan_tci_outer;

	if (length > UINT16_MAX)
		__builtin_unreachable(); /* see packet_virtual_bytes_set() */
	return length;
}

static inline uint8_t *packet_data(struct rte_mbuf *packet)
{
	return rte_pktmbuf_mtod(packet, uint8_t *);
}

/**
 * A real copy of a packet, metadata and virtual bytes included, out of the given pool.
 * @return the copy, or NULL when the pool is empty or its buffers are too small
 */
static inline struct rte_mbuf *packet_copy(const struct rte_mbuf *packet, struct rte_mempool *pool)
{
	struct rte_mbuf *copy = rte_pktmbuf_alloc(pool);

	if (copy == NULL)
		return NULL;
	if (rte_pktmbuf_tailroom(copy) < packet->data_len) {
		rte_pktmbuf_free(copy);
		return NULL;
	}
	memcpy(rte_pktmbuf_mtod(copy, void *), rte_pktmbuf_mtod(packet, const void *),
	       packet->data_len);
	copy->data_len = packet->data_len;
	copy->pkt_len = packet->data_len;
	copy->port = packet->port;
	copy->ol_flags = 0;
	copy->hash = packet->hash;
	copy->vlan_tci_outer = packet->vlan_tci_outer;
	return copy;
}

#endif
