/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/parse.h"

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/parse_plain.h"

#define VLAN_TAG_BYTES   4
#define IPV6_BYTES       40
#define IPV6_HOP_BY_HOP  0
#define IPV6_ROUTING     43
#define IPV6_FRAGMENT    44
#define IPV6_DESTINATION 60
#define IPV6_CHAIN_MAX   4 /* extension headers that we walk: more than any sane packet has */

/* Say why a frame is bad, beside what is known of it. */
static __rte_noinline bool bad(struct parsed *out, uint32_t head, uint32_t frame,
			       enum drop_reason reason)
{
	parsed_set_head(out, head);
	parsed_set_ip(out, 0);
	parsed_set_frame(out, frame);
	out->drop = (uint8_t)reason;
	return false;
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static bool parse_ipv4(const uint8_t *ip, uint32_t size, uint32_t length, uint32_t head,
		       uint32_t frame, struct parsed *out)
{
	struct ipv4_words words;
	uint64_t options = 0;
	uint32_t header, total;

	if (size < IPV4_BYTES_MIN)
		return bad(out, head | KIND_IPV4, frame, DROP_TOO_SHORT);
	header = (ip[0] & 0x0fu) * 4;
	if (ip[0] >> 4 != 4 || header < IPV4_BYTES_MIN || header > size)
		return bad(out, head | KIND_IPV4, frame, DROP_IP_HEADER);
	for (uint32_t i = IPV4_BYTES_MIN; i < header; i += 4)
		options += load_u32(ip + i);
	words = (struct ipv4_words){load_u64(ip), load_u64(ip + 8), load_u32(ip + 16)};
	total = ipv4_total_bytes(&words);
	if (total < header || total > length)
		return bad(out, head | PARSED_HEAD(KIND_IPV4, 0, 0, header), frame, DROP_IP_HEADER);
	if (!ipv4_sum_is_right(&words, options))
		return bad(out, head | PARSED_HEAD(KIND_IPV4, 0, 0, header), frame,
			   DROP_IP_CHECKSUM);
	parsed_set_ipv4(out, ip, size, header, &words, head, frame);
	return true;
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
		parsed_no_ports(out);
	parsed_set_head(out, head | PARSED_HEAD(0, flags, 0, l4_offset));
	parsed_set_ip(out, PARSED_IP(ip[7] | protocol << 8, (uint8_t)(first >> 20)));
	parsed_set_frame(out, frame);
	return true;
}

/* Any frame. */
static __rte_noinline bool parse_any(const uint8_t *frame, uint32_t size, uint32_t length,
				     struct parsed *out)
{
	uint32_t head = PARSED_HEAD(0, 0, ETHERNET_BYTES, 0), words = PARSED_FRAME(length, 0);
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
		head = PARSED_HEAD(0, PARSED_TAGGED, l3, 0);
		words = PARSED_FRAME(length, rte_be_to_cpu_16(load_u16(frame + 14)));
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
		parsed_set_head(out, head);
		parsed_set_ip(out, 0);
		parsed_set_frame(out, words);
	}
	source = load_u64(frame + 6) & MAC_MASK;
	if (((source & 1) != 0 || source == 0 || source == load_mac(frame)) &&
	    type != ETHERTYPE_MAC_CONTROL) {
		out->drop = DROP_SOURCE_MAC;
		sound = false;
	}
	return sound;
}

static inline __attribute__((always_inline)) bool parse_one(const uint8_t *frame, uint32_t size,
							    uint32_t length, struct parsed *out)
{
	struct ipv4_words ip;

	if (unlikely(!parse_plain(frame, size, length, &ip)))
		return parse_any(frame, size, length, out);
	parsed_set_plain(out, frame, size, length, &ip);
	return true;
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
