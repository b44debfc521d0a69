/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/parse.h"

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "dataplane/packet.h"

#define ETHERNET_BYTES	 14
#define VLAN_TAG_BYTES	 4
#define IPV4_BYTES_MIN	 20
#define IPV6_BYTES	 40
#define UDP_BYTES	 8
#define TCP_BYTES_MIN	 20
#define IPV4_FRAGMENT	 0x3fff /* more fragments, or an offset (RFC 791 3.1) */
#define IPV6_HOP_BY_HOP	 0
#define IPV6_ROUTING	 43
#define IPV6_FRAGMENT	 44
#define IPV6_DESTINATION 60
#define IPV6_CHAIN_MAX	 4 /* extension headers that we walk: more than any sane packet has */

static bool bad(struct parsed *out, enum drop_reason reason)
{
	out->drop = (uint8_t)reason;
	return false;
}

/* Sum of 16-bit words folded to 16 bits (RFC 1071); 0xffff for a header whose checksum is right. */
static inline uint32_t fold(uint64_t sum)
{
	sum = (sum & UINT32_MAX) + (sum >> 32);
	sum = (sum & 0xffff) + (sum >> 16);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint32_t)((sum & 0xffff) + (sum >> 16));
}

static __rte_noinline uint64_t sum_options(const uint8_t *options, uint32_t size)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < size; i += 4)
		sum += load_u32(options + i);
	return sum;
}

/*
 * Ports and, for RoCEv2, the base transport header. `payload` is what IP says follows; `size` what
 * can be read. A transport header that is cut short isn't an error of the IP packet: it has no
 * ports, and goes by its addresses.
 */
static inline void parse_transport(const uint8_t *l4, uint32_t size, uint32_t payload,
				   struct parsed *out)
{
	uint32_t readable = size < payload ? size : payload;

	if (out->protocol == IP_PROTOCOL_UDP   ? readable < UDP_BYTES
	    : out->protocol == IP_PROTOCOL_TCP ? readable < TCP_BYTES_MIN
					       : true)
		return;
	out->ports = load_u32(l4);
	out->flags |= PARSED_PORTS;
	if (out->protocol == IP_PROTOCOL_UDP && readable >= UDP_BYTES + ROCE_BTH_BYTES &&
	    load_u16(l4 + 2) == rte_cpu_to_be_16(ROCE_UDP_PORT)) {
		const uint8_t *bth = l4 + UDP_BYTES;

		out->opcode = bth[0];
		out->destination_qp = rte_be_to_cpu_32(load_u32(bth + 4)) & 0xffffff;
		out->psn = rte_be_to_cpu_32(load_u32(bth + 8)) & 0xffffff;
		out->flags |= PARSED_ROCE;
	}
}

static inline bool parse_ipv4(const uint8_t *ip, uint32_t size, uint32_t length, struct parsed *out)
{
	if (unlikely(size < IPV4_BYTES_MIN))
		return bad(out, DROP_TOO_SHORT);

	uint64_t w0 = load_u64(ip), w1 = load_u64(ip + 8);
	uint32_t w2 = load_u32(ip + 16);
	uint32_t header = (uint32_t)(w0 & 0x0f) * 4;
	uint32_t total = rte_be_to_cpu_16((uint16_t)(w0 >> 16));
	uint64_t sum = (w0 & UINT32_MAX) + (w0 >> 32) + (w1 & UINT32_MAX) + (w1 >> 32) + w2;

	if (unlikely((w0 & 0xf0) != 0x40 || header < IPV4_BYTES_MIN || header > size ||
		     total < header || total > length))
		return bad(out, DROP_IP_HEADER);
	if (unlikely(header != IPV4_BYTES_MIN))
		sum += sum_options(ip + IPV4_BYTES_MIN, header - IPV4_BYTES_MIN);
	if (unlikely(fold(sum) != 0xffff))
		return bad(out, DROP_IP_CHECKSUM);

	out->traffic_class = (uint8_t)(w0 >> 8);
	out->ttl = (uint8_t)w1;
	out->protocol = (uint8_t)(w1 >> 8);
	out->source = rte_be_to_cpu_32((uint32_t)(w1 >> 32));
	out->destination = rte_be_to_cpu_32(w2);
	out->l4_offset = (uint8_t)header;
	if (unlikely((rte_be_to_cpu_16((uint16_t)(w0 >> 48)) & IPV4_FRAGMENT) != 0))
		out->flags |= PARSED_FRAGMENT;
	else
		parse_transport(ip + header, size - header, total - header, out);
	return true;
}

/*
 * Walk the extension headers to the transport. What we can't walk has no ports; the packet itself
 * is fine, routers don't look at its extensions (RFC 8200 section 4).
 */
static __rte_noinline void parse_ipv6_chain(const uint8_t *ip, uint32_t size, uint32_t end,
					    struct parsed *out)
{
	uint32_t offset = IPV6_BYTES;

	if (end > size)
		end = size;
	for (int i = 0; i < IPV6_CHAIN_MAX; i++) {
		uint8_t protocol = out->protocol;

		if (protocol != IPV6_HOP_BY_HOP && protocol != IPV6_ROUTING &&
		    protocol != IPV6_DESTINATION && protocol != IPV6_FRAGMENT)
			break;
		if (end < offset + 8)
			return;
		out->protocol = ip[offset];
		if (protocol == IPV6_FRAGMENT) {
			/* An atomic fragment (offset 0, no more) is a whole datagram (RFC 6946). */
			if ((rte_be_to_cpu_16(load_u16(ip + offset + 2)) & 0xfff9) != 0) {
				out->flags |= PARSED_FRAGMENT;
				return;
			}
			offset += 8;
		} else {
			offset += 8 + ip[offset + 1] * 8u;
		}
		if (offset > end || offset > UINT8_MAX)
			return;
	}
	out->l4_offset = (uint8_t)offset;
	parse_transport(ip + offset, size - offset, end - offset, out);
}

static bool parse_ipv6(const uint8_t *ip, uint32_t size, uint32_t length, struct parsed *out)
{
	if (unlikely(size < IPV6_BYTES))
		return bad(out, DROP_TOO_SHORT);

	uint32_t first = rte_be_to_cpu_32(load_u32(ip));
	uint32_t payload = rte_be_to_cpu_16(load_u16(ip + 4));

	if (unlikely(first >> 28 != 6 || payload > length - IPV6_BYTES))
		return bad(out, DROP_IP_HEADER);
	out->traffic_class = (uint8_t)(first >> 20);
	out->protocol = ip[6];
	out->ttl = ip[7];
	out->l4_offset = IPV6_BYTES;
	if (likely(out->protocol == IP_PROTOCOL_UDP || out->protocol == IP_PROTOCOL_TCP))
		parse_transport(ip + IPV6_BYTES, size - IPV6_BYTES, payload, out);
	else
		parse_ipv6_chain(ip, size, IPV6_BYTES + payload, out);
	return true;
}

static inline __attribute__((always_inline)) bool parse_one(const uint8_t *frame, uint32_t size,
							    uint32_t length, struct parsed *out)
{
	/* A local one: stores through `out` would make the compiler reload it all (13 instructions). */
	struct parsed p = {.l3_offset = ETHERNET_BYTES};
	bool sound = true;

	if (unlikely(size < ETHERNET_BYTES)) {
		*out = p;
		return bad(out, DROP_TOO_SHORT);
	}

	uint64_t destination = load_mac(frame);
	uint64_t source_and_type = load_u64(frame + 6);
	uint64_t source = source_and_type & MAC_MASK;
	uint16_t type = rte_be_to_cpu_16((uint16_t)(source_and_type >> 48));

	if (unlikely(type == ETHERTYPE_VLAN)) {
		if (size < ETHERNET_BYTES + VLAN_TAG_BYTES) {
			*out = p;
			return bad(out, DROP_TOO_SHORT);
		}
		uint16_t tag = rte_be_to_cpu_16(load_u16(frame + 14));

		p.flags = PARSED_TAGGED;
		p.vlan = tag & 0xfff;
		p.pcp = (uint8_t)(tag >> 13);
		p.l3_offset = ETHERNET_BYTES + VLAN_TAG_BYTES;
		type = rte_be_to_cpu_16(load_u16(frame + 16));
	}
	const uint8_t *l3 = frame + p.l3_offset;
	uint32_t l3_size = size - p.l3_offset, l3_length = length - p.l3_offset;

	if (likely(type == ETHERTYPE_IPV4)) {
		p.kind = KIND_IPV4;
		sound = parse_ipv4(l3, l3_size, l3_length, &p);
	} else if (type == ETHERTYPE_IPV6) {
		p.kind = KIND_IPV6;
		sound = parse_ipv6(l3, l3_size, l3_length, &p);
	} else if (type == ETHERTYPE_ARP) {
		p.kind = KIND_ARP;
	} else if (type == ETHERTYPE_MAC_CONTROL) {
		p.kind = KIND_MAC_CONTROL;
	}
	/*
	 * The source of a MAC control frame isn't looked at: pauses from a zero source must count
	 * like any other.
	 */
	if (unlikely(p.kind != KIND_MAC_CONTROL &&
		     ((source & 1) != 0 || source == 0 || source == destination)))
		sound = bad(&p, DROP_SOURCE_MAC);
	*out = p;
	return sound;
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
