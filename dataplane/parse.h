/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse - from the bytes of a frame to what the later stages ask of it.
 *
 * Ethernet, one 802.1Q tag, ARP, IPv4 with options, IPv6 with extension headers, TCP and UDP ports,
 * the RoCEv2 base transport header (InfiniBand specification 1.2.1, annex A17). Every byte is
 * bounds-checked; the frame isn't written to. What is malformed gets a drop reason.
 *
 * Thread: any; no state.
 */
#ifndef DATAPLANE_PARSE_H
#define DATAPLANE_PARSE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "dataplane/drop.h"

struct rte_mbuf;

#define ETHERTYPE_IPV4        0x0800
#define ETHERTYPE_ARP         0x0806
#define ETHERTYPE_VLAN        0x8100
#define ETHERTYPE_IPV6        0x86dd
#define ETHERTYPE_MAC_CONTROL 0x8808
#define IP_PROTOCOL_TCP       6
#define IP_PROTOCOL_UDP       17
#define IP_PROTOCOL_ICMPV6    58
#define ROCE_UDP_PORT         4791
#define ROCE_BTH_BYTES        12
#define ROCE_OPCODE_CNP       0x81 /* congestion notification (annex A17.9.3) */
#define ETHERNET_BYTES        14

/* The values of the IP kinds are the flags PACKET_IPV4 and PACKET_IPV6 of packet.h. */
enum packet_kind {
	KIND_OTHER = 0, /* nothing that we know */
	KIND_IPV4 = 1,
	KIND_IPV6 = 2,
	KIND_ARP = 4,
	KIND_MAC_CONTROL = 8,
};

#define KIND_IP_MASK 3

/* parsed.flags */
#define PARSED_TAGGED    0x01u /* has an 802.1Q tag (maybe of VLAN 0) */
#define PARSED_FRAGMENT  0x02u /* of an IP datagram, the first one included */
#define PARSED_PORTS     0x04u /* ports is valid */
#define PARSED_ROCE      0x08u /* opcode, destination_qp, psn are valid */
#define PARSED_SEQUENCED 0x10u /* may carry a number of in-order spray; never set by parse */
#define PARSED_SPRAYED   0x20u /* has got a number of in-order spray here; PACKET_SPRAYED */

/*
 * Of one packet; half a cache line, on the stack of the burst. Written as four words of eight bytes:
 * field by field would cost twice the instructions.
 */
struct parsed {
	/* word 0 */
	uint8_t kind;          /* enum packet_kind */
	uint8_t flags;         /* PARSED_* */
	uint8_t l3_offset;     /* bytes to the header after Ethernet and tag: 14 or 18 */
	uint8_t l4_offset;     /* from l3_offset to the transport header; IP only */
	uint8_t ttl;           /* or hop limit */
	uint8_t protocol;      /* IP protocol, after extension headers */
	uint8_t traffic_class; /* IPv4 TOS, IPv6 traffic class: DSCP << 2 | ECN */
	uint8_t drop;          /* enum drop_reason, when parse says that it is bad */
	/* word 1 */
	uint16_t length; /* of the frame on the wire, as it came */
	uint16_t tci;    /* of the tag: PCP << 13 | DEI << 12 | VLAN; 0 without one */
	uint32_t ports;  /* source and destination port, as on the wire; IP without them: 0 */
	/* word 2 */
	uint32_t source;      /* IPv4, network byte order */
	uint32_t destination; /* IPv4, network byte order */
	/* word 3: RoCEv2 base transport header, bytes 4..11; other IP: bth_qp is 0 */
	uint32_t bth_qp;  /* FECN, BECN, reserved and destination queue pair, as on the wire */
	uint32_t bth_psn; /* acknowledge request, reserved and sequence number, as on the wire */
};

_Static_assert(sizeof(struct parsed) == 32, "two of them a cache line");

/** VLAN of the tag; 0: untagged, or a priority tag. */
static inline uint16_t parsed_vlan(const struct parsed *parsed)
{
	return parsed->tci & 0xfff;
}

/** Priority code point of the tag. */
static inline uint8_t parsed_pcp(const struct parsed *parsed)
{
	return (uint8_t)(parsed->tci >> 13);
}

/** Destination queue pair, 24 bits. */
static inline uint32_t parsed_destination_qp(const struct parsed *parsed)
{
	return __builtin_bswap32(parsed->bth_qp) & 0xffffff;
}

/** Packet sequence number, 24 bits. */
static inline uint32_t parsed_psn(const struct parsed *parsed)
{
	return __builtin_bswap32(parsed->bth_psn) & 0xffffff;
}

static inline uint16_t load_u16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint32_t load_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t load_u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* A MAC address as the low 48 bits of a number, first byte lowest. */
#define MAC_MASK UINT64_C(0xffffffffffff)

/** MAC of a frame at p; eight bytes must be readable. */
static inline uint64_t load_mac(const uint8_t *p)
{
	return load_u64(p) & MAC_MASK;
}

/**
 * Parse one frame.
 * @param frame  its first `size` bytes, not trusted
 * @param size   bytes readable at frame, any
 * @param length bytes of the frame on the wire, >= size
 * @return true when the frame is sound; false: out->drop says why it isn't (out is complete enough
 *         to count and to tell control frames)
 */
bool parse_frame(const uint8_t *frame, uint32_t size, uint32_t length, struct parsed *out);

/**
 * Parse a burst. Hot.
 * @return bit i: packet i is bad, parsed[i].drop says why
 */
uint32_t parse_burst(struct rte_mbuf *const *packets, uint32_t count, struct parsed *parsed);

#endif
