/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/parse.h"

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "dataplane/packet.h"

#define ETHERNET_BYTES   14
#define VLAN_TAG_BYTES   4
#define IPV4_BYTES_MIN   20
#define IPV4_PLAIN       0x45   /* version 4, header of five words: no options */
#define IPV4_FRAGMENT    0x3fff /* more fragments, or an offset (RFC 791 3.1) */
#define IPV6_BYTES       40
#define UDP_BYTES        8
#define TCP_BYTES_MIN    20
#define IPV6_HOP_BY_HOP  0
#define IPV6_ROUTING     43
#define IPV6_FRAGMENT    44
#define IPV6_DESTINATION 60
#define IPV6_CHAIN_MAX   4 /* extension headers that we walk: more than any sane packet has */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are put together for this order");

/*
 * struct parsed is written in words of four bytes that are put together in registers: field by field
 * would cost twice the instructions.
 */
#define HEAD(kind, flags, l3_offset, l4_offset)                                    \
	((uint32_t)(kind) | (uint32_t)(flags) << 8 | (uint32_t)(l3_offset) << 16 | \
	 (uint32_t)(l4_offset) << 24)
#define IP(ttl_and_protocol, traffic_class) \
	((uint32_t)(ttl_and_protocol) | (uint32_t)(traffic_class) << 16)
#define FRAME(length, tci) ((uint32_t)(uint16_t)(length) | (uint32_t)(tci) << 16)

static inline void store_head(struct parsed *out, uint32_t head)
{
	memcpy(&out->kind, &head, sizeof(head));
}

static inline void store_ip(struct parsed *out, uint32_t ip)
{
	memcpy(&out->ttl, &ip, sizeof(ip));
}

static inline void store_frame(struct parsed *out, uint32_t frame)
{
	memcpy(&out->length, &frame, sizeof(frame));
}

/* Say why a frame is bad, beside what is known of it. */
static __rte_noinline bool bad(struct parsed *out, uint32_t head, uint32_t frame,
			       enum drop_reason reason)
{
	store_head(out, head);
	store_ip(out, 0);
	store_frame(out, frame);
	out->drop = (uint8_t)reason;
	return false;
}

/*
 * True when 16-bit words, added to this sum, fold to 0xffff (RFC 1071): 2^16 is 1 modulo 0xffff, so
 * they do when it is a multiple of that; it isn't 0, as the version stands in it. One multiplication.
 */
static inline bool sum_is_right(uint64_t sum)
{
	return sum % 0xffff == 0;
}

/* One's complement addition of 64-bit words: the carry comes back in. */
static inline uint64_t sum_add(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static inline uint32_t no_ports(struct parsed *out)
{
	out->ports = 0;
	out->bth_qp = 0;
	return 0;
}

/*
 * Ports and, for RoCEv2, the base transport header. `readable` is the smaller of what IP says
 * follows and what is there. A transport header that is cut short isn't an error of the IP packet:
 * it has no ports, and goes by its addresses.
 * @return flags
 */
static inline uint32_t parse_transport(const uint8_t *l4, uint32_t readable, uint8_t protocol,
				       struct parsed *out)
{
	uint32_t ports;

	if (likely(protocol == IP_PROTOCOL_UDP)) {
		if (unlikely(readable < UDP_BYTES))
			return no_ports(out);
	} else if (protocol != IP_PROTOCOL_TCP || readable < TCP_BYTES_MIN) {
		return no_ports(out);
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

/*
 * An IPv4 header of `header` bytes, all readable, whose options add up to `options`.
 * @param size   readable at ip
 * @param length on the wire from ip on
 * @param head   flags and l3_offset so far
 */
static inline __attribute__((always_inline)) bool
parse_ipv4_header(const uint8_t *ip, uint32_t size, uint32_t length, uint32_t header,
		  uint64_t options, uint32_t head, uint32_t frame, struct parsed *out)
{
	uint64_t w0 = load_u64(ip), w1 = load_u64(ip + 8);
	uint64_t sum = sum_add(sum_add(w0, w1), load_u32(ip + 16) + options);
	uint32_t total = rte_be_to_cpu_16((uint16_t)(w0 >> 16));

	head |= HEAD(KIND_IPV4, 0, 0, header);
	if (unlikely(total < header || total > length))
		return bad(out, head, frame, DROP_IP_HEADER);
	if (unlikely(!sum_is_right(sum)))
		return bad(out, head, frame, DROP_IP_CHECKSUM);
	store_frame(out, frame);
	store_ip(out, IP((uint16_t)w1, (uint8_t)(w0 >> 8)));
	memcpy(&out->source, ip + 12, 8);
	if (unlikely((w0 >> 48 & rte_cpu_to_be_16(IPV4_FRAGMENT)) != 0)) {
		head |= HEAD(0, PARSED_FRAGMENT, 0, 0);
		no_ports(out);
	} else {
		head |= parse_transport(ip + header, smaller(size, total) - header,
					(uint8_t)(w1 >> 8), out)
			<< 8;
	}
	store_head(out, head);
	return true;
}

static bool parse_ipv4(const uint8_t *ip, uint32_t size, uint32_t length, uint32_t head,
		       uint32_t frame, struct parsed *out)
{
	uint64_t options = 0;
	uint32_t header;

	if (size < IPV4_BYTES_MIN)
		return bad(out, head | KIND_IPV4, frame, DROP_TOO_SHORT);
	header = (ip[0] & 0x0fu) * 4;
	if (ip[0] >> 4 != 4 || header < IPV4_BYTES_MIN || header > size)
		return bad(out, head | KIND_IPV4, frame, DROP_IP_HEADER);
	for (uint32_t i = IPV4_BYTES_MIN; i < header; i += 4)
		options += load_u32(ip + i);
	return parse_ipv4_header(ip, size, length, header, options, head, frame, out);
}

/*
 * Walk the extension headers to the transport. What we can't walk has no ports; the packet itself
 * is fine, routers don't look at its extensions (RFC 8200 section 4).
 * @return offset of the transport header, 0 when there is none to be had
 */
static uint32_t ipv6_chain(const uint8_t *ip, uint32_t end, uint8_t *protocol, uint32_t *flags)
{
	uint32_t offset = IPV6_BYTES;

	for (int i = 0;; i++) {
		uint8_t header = *protocol;

		if (header != IPV6_HOP_BY_HOP && header != IPV6_ROUTING &&
		    header != IPV6_DESTINATION && header != IPV6_FRAGMENT)
			return offset;
		if (i == IPV6_CHAIN_MAX || end < offset + 8)
			return 0;
		*protocol = ip[offset];
		if (header == IPV6_FRAGMENT) {
			/* An atomic fragment (offset 0, no more) is a whole datagram (RFC 6946). */
			if ((rte_be_to_cpu_16(load_u16(ip + offset + 2)) & 0xfff9) != 0) {
				*flags = PARSED_FRAGMENT;
				return 0;
			}
			offset += 8;
		} else {
			offset += 8 + ip[offset + 1] * 8u;
		}
		if (offset > end || offset > UINT8_MAX)
			return 0;
	}
}

static bool parse_ipv6(const uint8_t *ip, uint32_t size, uint32_t length, uint32_t head,
		       uint32_t frame, struct parsed *out)
{
	uint32_t first, payload, end, l4_offset, flags = 0;
	uint8_t protocol;

	head |= KIND_IPV6;
	if (size < IPV6_BYTES)
		return bad(out, head, frame, DROP_TOO_SHORT);
	first = rte_be_to_cpu_32(load_u32(ip));
	payload = rte_be_to_cpu_16(load_u16(ip + 4));
	if (first >> 28 != 6 || payload > length - IPV6_BYTES)
		return bad(out, head, frame, DROP_IP_HEADER);
	protocol = ip[6];
	end = smaller(size, IPV6_BYTES + payload);
	l4_offset = ipv6_chain(ip, end, &protocol, &flags);
	if (l4_offset != 0)
		flags = parse_transport(ip + l4_offset, end - l4_offset, protocol, out);
	else
		no_ports(out);
	store_head(out, head | HEAD(0, flags, 0, l4_offset));
	store_ip(out, IP(ip[7] | protocol << 8, (uint8_t)(first >> 20)));
	store_frame(out, frame);
	return true;
}

/* Any frame. */
static __rte_noinline bool parse_any(const uint8_t *frame, uint32_t size, uint32_t length,
				     struct parsed *out)
{
	uint32_t head = HEAD(0, 0, ETHERNET_BYTES, 0), words = FRAME(length, 0);
	uint32_t l3 = ETHERNET_BYTES;
	uint64_t source;
	uint16_t type;
	bool sound = true;

	if (size < ETHERNET_BYTES)
		return bad(out, head, words, DROP_TOO_SHORT);
	type = rte_be_to_cpu_16(load_u16(frame + 12));
	if (type == ETHERTYPE_VLAN) {
		if (size < ETHERNET_BYTES + VLAN_TAG_BYTES)
			return bad(out, head, words, DROP_TOO_SHORT);
		l3 += VLAN_TAG_BYTES;
		head = HEAD(0, PARSED_TAGGED, l3, 0);
		words = FRAME(length, rte_be_to_cpu_16(load_u16(frame + 14)));
		type = rte_be_to_cpu_16(load_u16(frame + 16));
	}
	if (type == ETHERTYPE_MAC_CONTROL) {
		/* Whatever its source: a pause from a zero address counts like any other. */
		head |= KIND_MAC_CONTROL;
	} else if (type == ETHERTYPE_IPV4) {
		sound = parse_ipv4(frame + l3, size - l3, length - l3, head, words, out);
	} else if (type == ETHERTYPE_IPV6) {
		sound = parse_ipv6(frame + l3, size - l3, length - l3, head, words, out);
	} else if (type == ETHERTYPE_ARP) {
		head |= KIND_ARP;
	}
	if (type != ETHERTYPE_IPV4 && type != ETHERTYPE_IPV6) {
		store_head(out, head);
		store_ip(out, 0);
		store_frame(out, words);
	}
	source = load_u64(frame + 6) & MAC_MASK;
	if (((source & 1) != 0 || source == 0 || source == load_mac(frame)) &&
	    type != ETHERTYPE_MAC_CONTROL) {
		out->drop = DROP_SOURCE_MAC;
		sound = false;
	}
	return sound;
}

/* The usual frame at once, untagged IPv4 without options; all others with parse_any(). */
static inline __attribute__((always_inline)) bool parse_one(const uint8_t *frame, uint32_t size,
							    uint32_t length, struct parsed *out)
{
	uint64_t destination, source;

	if (unlikely(size < ETHERNET_BYTES + IPV4_BYTES_MIN))
		return parse_any(frame, size, length, out);
	/* The six bytes of each address as the upper ones of a word. */
	destination = load_u64(frame) << 16;
	source = load_u64(frame + 6) << 16;
	if (unlikely(load_u16(frame + 12) != rte_cpu_to_be_16(ETHERTYPE_IPV4) ||
		     frame[ETHERNET_BYTES] != IPV4_PLAIN || (source & 0x10000) != 0 ||
		     source == 0 || source == destination))
		return parse_any(frame, size, length, out);
	return parse_ipv4_header(frame + ETHERNET_BYTES, size - ETHERNET_BYTES,
				 length - ETHERNET_BYTES, IPV4_BYTES_MIN, 0,
				 HEAD(0, 0, ETHERNET_BYTES, 0), FRAME(length, 0), out);
}

bool parse_frame(const uint8_t *frame, uint32_t size, uint32_t length, struct parsed *out)
{
	return parse_one(frame, size, length, out);
}

uint32_t parse_burst(struct rte_mbuf *const *packets, uint32_t count, struct parsed *parsed)
{
	uint32_t bad_mask = 0;

	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *packet = packets[i];

		if (unlikely(!parse_one(packet_data(packet), packet->data_len,
					packet_length(packet), &parsed[i])))
			bad_mask |= UINT32_C(1) << i;
	}
	return bad_mask;
}
