/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse_plain - the usual frame, looked at in registers: untagged, IPv4 without options.
 *
 * Routing asks a plain packet for little: its header's words say it, and nothing is written to memory
 * on the way. parse_frame() stands on the same functions.
 *
 * Thread: any; no state.
 */
#ifndef DATAPLANE_PARSE_PLAIN_H
#define DATAPLANE_PARSE_PLAIN_H

#include <rte_branch_prediction.h>
#include <rte_byteorder.h>

#include "dataplane/parse.h"

#define IPV4_BYTES_MIN 20
#define IPV4_FRAGMENT  0x3fff /* more fragments, or an offset (RFC 791 3.1) */
#define UDP_BYTES      8
#define TCP_BYTES_MIN  20

#define IPV4_SUM_INVERSE UINT64_C(0xfffefffefffeffff)

/* The type and the IP header's first byte: version 4, five words, no options. As loaded. */
#define ETHERTYPE_IPV4_PLAIN UINT32_C(0x450008)

/*
 * struct parsed is written in words of four bytes that are put together in registers: field by field
 * would cost twice the instructions.
 */
#define PARSED_HEAD(kind, flags, l3_offset, l4_offset)                             \
	((uint32_t)(kind) | (uint32_t)(flags) << 8 | (uint32_t)(l3_offset) << 16 | \
	 (uint32_t)(l4_offset) << 24)
#define PARSED_IP(ttl_and_protocol, traffic_class) \
	((uint32_t)(ttl_and_protocol) | (uint32_t)(traffic_class) << 16)
#define PARSED_FRAME(length, tci) ((uint32_t)(uint16_t)(length) | (uint32_t)(tci) << 16)

static inline void parsed_set_head(struct parsed *out, uint32_t head)
{
	memcpy(&out->kind, &head, sizeof(head));
}

static inline void parsed_set_ip(struct parsed *out, uint32_t ip)
{
	memcpy(&out->ttl, &ip, sizeof(ip));
}

static inline void parsed_set_frame(struct parsed *out, uint32_t frame)
{
	memcpy(&out->length, &frame, sizeof(frame));
}

/* No transport header to be had. @return flags: none */
static inline uint32_t parsed_no_ports(struct parsed *out)
{
	out->ports = 0;
	out->bth_qp = 0;
	return 0;
}

/* An IPv4 header in registers, as on the wire. */
struct ipv4_words {
	uint64_t w0; /* version, TOS, length, identification, fragment */
	uint64_t w1; /* TTL, protocol, checksum, source */
	uint32_t w2; /* destination */
};

static inline struct ipv4_words ipv4_words_at(const uint8_t *ip)
{
	return (struct ipv4_words){load_u64(ip), load_u64(ip + 8), load_u32(ip + 16)};
}

static inline uint32_t ipv4_total_bytes(const struct ipv4_words *ip)
{
	return rte_be_to_cpu_16((uint16_t)(ip->w0 >> 16));
}

static inline uint8_t ipv4_traffic_class(const struct ipv4_words *ip)
{
	return (uint8_t)(ip->w0 >> 8);
}

static inline bool ipv4_is_fragment(const struct ipv4_words *ip)
{
	return (ip->w0 >> 48 & rte_cpu_to_be_16(IPV4_FRAGMENT)) != 0;
}

/* One's complement addition of 64-bit words: the carry comes back in. */
static inline uint64_t ipv4_sum_add(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

/**
 * Is the header's sum right, with options that add up to so much? True when its 16-bit words fold to
 * 0xffff (RFC 1071): 2^16 is 1 modulo 0xffff, so they do when the sum of any longer words is a
 * multiple of that; it isn't 0, as the version stands in it. A multiple times the inverse of 0xffff
 * modulo 2^64 is its quotient, anything else something larger: one multiplication, no division.
 */
static inline bool ipv4_sum_is_right(const struct ipv4_words *ip, uint64_t options)
{
	uint64_t sum = ipv4_sum_add(ipv4_sum_add(ip->w0, ip->w1), ip->w2 + options);

	_Static_assert(UINT64_C(0xffff) * IPV4_SUM_INVERSE == 1, "modulo 2^64");
	return sum * IPV4_SUM_INVERSE <= UINT64_MAX / 0xffff;
}

/*
 * A source address must be one station's: not a group's (bit 0 of its first byte), not zero. With that
 * bit turned to the top, one less is a number of 47 bits just then. @param mac << 16
 */
static inline bool source_is_station(uint64_t mac)
{
	return ((mac >> 17 | mac << 47) - 1) >> 47 == 0;
}

/**
 * The usual frame: sound, untagged, IPv4 without options. Hot: all in registers.
 * @param frame, size, length as for parse_frame()
 * @param ip     set when true
 */
static inline __attribute__((always_inline)) bool
parse_plain(const uint8_t *frame, uint32_t size, uint32_t length, struct ipv4_words *ip)
{
	uint64_t destination, source;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are taken apart so");
	if (unlikely(size < ETHERNET_BYTES + IPV4_BYTES_MIN))
		return false;
	/* The six bytes of each address as the upper ones of a word. */
	destination = load_u64(frame) << 16;
	source = load_u64(frame + 6) << 16;
	*ip = ipv4_words_at(frame + ETHERNET_BYTES);
	if (unlikely((load_u32(frame + 12) & 0xffffff) != ETHERTYPE_IPV4_PLAIN))
		return false;
	if (unlikely(!source_is_station(source) || source == destination))
		return false;
	/* Less than a header wraps around. */
	if (unlikely(ipv4_total_bytes(ip) - IPV4_BYTES_MIN >
		     length - ETHERNET_BYTES - IPV4_BYTES_MIN))
		return false;
	return likely(ipv4_sum_is_right(ip, 0));
}

/**
 * Ports and, for RoCEv2, the base transport header. A transport header that is cut short isn't an
 * error of the IP packet: it has no ports, and goes by its addresses.
 * @param readable the smaller of what IP says follows and what is there
 * @return flags
 */
static inline __attribute__((always_inline)) uint32_t
parse_transport(const uint8_t *l4, uint32_t readable, uint8_t protocol, struct parsed *out)
{
	uint32_t ports;

	if (likely(protocol == IP_PROTOCOL_UDP)) {
		if (unlikely(readable < UDP_BYTES))
			return parsed_no_ports(out);
	} else if (protocol != IP_PROTOCOL_TCP || readable < TCP_BYTES_MIN) {
		return parsed_no_ports(out);
	}
	ports = load_u32(l4);
	out->ports = ports;
	if (ports >> 16 != rte_cpu_to_be_16(ROCE_UDP_PORT) || protocol != IP_PROTOCOL_UDP ||
	    readable < UDP_BYTES + ROCE_BTH_BYTES ||
	    rte_be_to_cpu_16(load_u16(l4 + 4)) < UDP_BYTES + ROCE_BTH_BYTES) {
		out->bth_qp = 0;
		return PARSED_PORTS;
	}
	memcpy(&out->bth_qp, l4 + UDP_BYTES + 4, 8);
	return PARSED_PORTS | PARSED_ROCE;
}

/**
 * What is known of a sound IPv4 packet.
 * @param readable at its header, `header` bytes or more
 * @param head     flags and l3_offset so far; frame: PARSED_FRAME()
 */
static inline __attribute__((always_inline)) void
parsed_set_ipv4(struct parsed *out, const uint8_t *header_at, uint32_t readable, uint32_t header,
		const struct ipv4_words *ip, uint32_t head, uint32_t frame)
{
	uint32_t total = ipv4_total_bytes(ip);

	head |= PARSED_HEAD(KIND_IPV4, 0, 0, header);
	parsed_set_frame(out, frame);
	parsed_set_ip(out, PARSED_IP((uint16_t)ip->w1, ipv4_traffic_class(ip)));
	memcpy(&out->source, header_at + 12, 8);
	if (unlikely(ipv4_is_fragment(ip)))
		head |= PARSED_HEAD(0, PARSED_FRAGMENT | parsed_no_ports(out), 0, 0);
	else
		head |= PARSED_HEAD(0,
				    parse_transport(header_at + header,
						    (readable < total ? readable : total) - header,
						    (uint8_t)(ip->w1 >> 8), out),
				    0, 0);
	parsed_set_head(out, head);
}

/** The same of what parse_plain() found. */
static inline __attribute__((always_inline)) void parsed_set_plain(struct parsed *out,
								   const uint8_t *frame,
								   uint32_t size, uint32_t length,
								   const struct ipv4_words *ip)
{
	parsed_set_ipv4(out, frame + ETHERNET_BYTES, size - ETHERNET_BYTES, IPV4_BYTES_MIN, ip,
			PARSED_HEAD(0, 0, ETHERNET_BYTES, 0), PARSED_FRAME(length, 0));
}

/* A RoCEv2 header behind it, as loaded. */
struct plain_roce {
	uint64_t udp, bth;
};

/** Has what parse_plain() found one? As PARSED_ROCE says. @param roce set when true */
static inline bool plain_roce_at(const uint8_t *frame, uint32_t size, const struct ipv4_words *ip,
				 struct plain_roce *roce)
{
	const uint8_t *l4 = frame + ETHERNET_BYTES + IPV4_BYTES_MIN;

	if (ipv4_is_fragment(ip) || (uint8_t)(ip->w1 >> 8) != IP_PROTOCOL_UDP ||
	    size < ETHERNET_BYTES + IPV4_BYTES_MIN + UDP_BYTES + ROCE_BTH_BYTES ||
	    ipv4_total_bytes(ip) < IPV4_BYTES_MIN + UDP_BYTES + ROCE_BTH_BYTES)
		return false;
	roce->udp = load_u64(l4);
	roce->bth = load_u64(l4 + UDP_BYTES);
	return (uint16_t)(roce->udp >> 16) == rte_cpu_to_be_16(ROCE_UDP_PORT) &&
	       rte_be_to_cpu_16((uint16_t)(roce->udp >> 32)) >= UDP_BYTES + ROCE_BTH_BYTES;
}

/** Destination queue pair. */
static inline uint32_t plain_roce_qp(const struct plain_roce *roce)
{
	return (uint32_t)rte_be_to_cpu_64(roce->bth) & 0xffffff;
}

/** UDP checksum, as on the wire. */
static inline uint16_t plain_roce_checksum(const struct plain_roce *roce)
{
	return (uint16_t)(roce->udp >> 48);
}

#endif
