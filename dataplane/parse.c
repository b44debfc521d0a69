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

/* The words of struct parsed. */
#define WORD0(kind, flags, l3_offset, l4_offset)                                   \
	((uint64_t)(kind) | (uint64_t)(flags) << 8 | (uint64_t)(l3_offset) << 16 | \
	 (uint64_t)(l4_offset) << 24)
#define WORD0_TTL_SHIFT           32 /* and the protocol behind it */
#define WORD0_TRAFFIC_CLASS_SHIFT 48
#define WORD0_DROP_SHIFT          56
#define WORD1_TCI_SHIFT           16
#define WORD1_PORTS_SHIFT         32

/* What we have of a frame while its words are put together, in registers. */
struct view {
	const uint8_t *l3;
	uint32_t size;   /* readable at l3 */
	uint32_t length; /* on the wire from l3 on */
	uint64_t word0;  /* flags and l3_offset so far */
	uint64_t word1;  /* length and tag */
};

static inline bool finish(struct parsed *out, uint64_t word0, uint64_t word1)
{
	memcpy(&out->kind, &word0, sizeof(word0));
	memcpy(&out->length, &word1, sizeof(word1));
	return true;
}

static __rte_noinline bool bad(struct parsed *out, uint64_t word0, uint64_t word1,
			       enum drop_reason reason)
{
	finish(out, word0 | (uint64_t)reason << WORD0_DROP_SHIFT, word1);
	return false;
}

/* Sum of 16-bit words, folded (RFC 1071); 0xffff for a header whose checksum is right. */
static inline uint32_t fold(uint64_t sum)
{
	uint32_t half;

	/* Adding a word to itself turned by half leaves sum and carry in its upper half. */
	sum += sum << 32 | sum >> 32;
	half = (uint32_t)(sum >> 32);
	half += half << 16 | half >> 16;
	return half >> 16;
}

/* One's complement addition of 64-bit words: the carry comes back in. */
static inline uint64_t sum_add(uint64_t sum, uint64_t word)
{
	sum += word;
	return sum + (sum < word);
}

/*
 * Ports and, for RoCEv2, the base transport header. `readable` is the smaller of what IP says
 * follows and what is there. A transport header that is cut short isn't an error of the IP packet:
 * it has no ports, and goes by its addresses.
 * @return flags
 */
static inline uint64_t parse_transport(const uint8_t *l4, uint32_t readable, uint8_t protocol,
				       uint64_t *word1, struct parsed *out)
{
	uint32_t ports;

	if (likely(protocol == IP_PROTOCOL_UDP)) {
		if (unlikely(readable < UDP_BYTES))
			return 0;
	} else if (protocol != IP_PROTOCOL_TCP || readable < TCP_BYTES_MIN) {
		return 0;
	}
	ports = load_u32(l4);
	*word1 |= (uint64_t)ports << WORD1_PORTS_SHIFT;
	if (ports >> 16 != rte_cpu_to_be_16(ROCE_UDP_PORT) || protocol != IP_PROTOCOL_UDP ||
	    readable < UDP_BYTES + ROCE_BTH_BYTES)
		return PARSED_PORTS;
	memcpy(&out->bth_qp, l4 + UDP_BYTES + 4, 8);
	return PARSED_PORTS | PARSED_ROCE;
}

static inline uint32_t smaller(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* An IPv4 header of `header` bytes, all readable, whose options add up to `options`. */
static inline __attribute__((always_inline)) bool
parse_ipv4_header(const struct view *view, uint32_t header, uint64_t options, struct parsed *out)
{
	const uint8_t *ip = view->l3;
	uint64_t w0 = load_u64(ip), w1 = load_u64(ip + 8);
	uint64_t sum = sum_add(sum_add(w0, w1), load_u32(ip + 16) + options);
	uint64_t word0 = view->word0 | WORD0(KIND_IPV4, 0, 0, header), word1 = view->word1;
	uint32_t total = rte_be_to_cpu_16((uint16_t)(w0 >> 16));

	if (unlikely(total < header || total > view->length))
		return bad(out, word0, word1, DROP_IP_HEADER);
	if (unlikely(fold(sum) != 0xffff))
		return bad(out, word0, word1, DROP_IP_CHECKSUM);
	memcpy(&out->source, ip + 12, 8);
	word0 |= (w1 & 0xffff) << WORD0_TTL_SHIFT;
	word0 |= (w0 & 0xff00) << (WORD0_TRAFFIC_CLASS_SHIFT - 8);
	if (unlikely((w0 >> 48 & rte_cpu_to_be_16(IPV4_FRAGMENT)) != 0))
		word0 |= WORD0(0, PARSED_FRAGMENT, 0, 0);
	else
		word0 |= parse_transport(ip + header, smaller(view->size, total) - header,
					 (uint8_t)(w1 >> 8), &word1, out)
			 << 8;
	return finish(out, word0, word1);
}

static __rte_noinline bool parse_ipv4_options(const struct view *view, struct parsed *out)
{
	const uint8_t *ip = view->l3;
	uint32_t header = (ip[0] & 0x0fu) * 4;
	uint64_t options = 0;

	if (ip[0] >> 4 != 4 || header < IPV4_BYTES_MIN || header > view->size)
		return bad(out, view->word0 | KIND_IPV4, view->word1, DROP_IP_HEADER);
	for (uint32_t i = IPV4_BYTES_MIN; i < header; i += 4)
		options += load_u32(ip + i);
	return parse_ipv4_header(view, header, options, out);
}

static inline __attribute__((always_inline)) bool parse_ipv4(const struct view *view,
							     struct parsed *out)
{
	if (unlikely(view->size < IPV4_BYTES_MIN))
		return bad(out, view->word0 | KIND_IPV4, view->word1, DROP_TOO_SHORT);
	if (unlikely(view->l3[0] != IPV4_PLAIN))
		return parse_ipv4_options(view, out);
	return parse_ipv4_header(view, IPV4_BYTES_MIN, 0, out);
}

/*
 * Walk the extension headers to the transport. What we can't walk has no ports; the packet itself
 * is fine, routers don't look at its extensions (RFC 8200 section 4).
 * @return offset of the transport header, 0 when there is none to be had
 */
static uint32_t ipv6_chain(const uint8_t *ip, uint32_t end, uint8_t *protocol, uint64_t *flags)
{
	uint32_t offset = IPV6_BYTES;

	for (int i = 0; i < IPV6_CHAIN_MAX; i++) {
		uint8_t header = *protocol;

		if (header != IPV6_HOP_BY_HOP && header != IPV6_ROUTING &&
		    header != IPV6_DESTINATION && header != IPV6_FRAGMENT)
			return offset;
		if (end < offset + 8)
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
	return 0;
}

static __rte_noinline bool parse_ipv6(const struct view *view, struct parsed *out)
{
	const uint8_t *ip = view->l3;
	uint64_t word0 = view->word0 | KIND_IPV6, word1 = view->word1, flags = 0;

	if (view->size < IPV6_BYTES)
		return bad(out, word0, word1, DROP_TOO_SHORT);

	uint32_t first = rte_be_to_cpu_32(load_u32(ip));
	uint32_t payload = rte_be_to_cpu_16(load_u16(ip + 4));
	uint32_t end = smaller(view->size, IPV6_BYTES + payload), l4_offset;
	uint8_t protocol = ip[6];

	if (first >> 28 != 6 || payload > view->length - IPV6_BYTES)
		return bad(out, word0, word1, DROP_IP_HEADER);
	l4_offset = ipv6_chain(ip, end, &protocol, &flags);
	if (l4_offset != 0)
		flags = parse_transport(ip + l4_offset, end - l4_offset, protocol, &word1, out);
	word0 |= flags << 8 | (uint64_t)l4_offset << 24;
	word0 |= (uint64_t)(first >> 20 & 0xff) << WORD0_TRAFFIC_CLASS_SHIFT;
	word0 |= (uint64_t)(ip[7] | protocol << 8) << WORD0_TTL_SHIFT;
	return finish(out, word0, word1);
}

static __rte_noinline bool parse_other(uint16_t type, const struct view *view, struct parsed *out)
{
	enum packet_kind kind = KIND_OTHER;

	if (type == ETHERTYPE_IPV6)
		return parse_ipv6(view, out);
	if (type == ETHERTYPE_ARP)
		kind = KIND_ARP;
	else if (type == ETHERTYPE_MAC_CONTROL)
		kind = KIND_MAC_CONTROL;
	return finish(out, view->word0 | kind, view->word1);
}

static inline __attribute__((always_inline)) bool parse_one(const uint8_t *frame, uint32_t size,
							    uint32_t length, struct parsed *out)
{
	struct view view = {
		.l3 = frame + ETHERNET_BYTES,
		.size = size - ETHERNET_BYTES,
		.length = length - ETHERNET_BYTES,
		.word0 = WORD0(0, 0, ETHERNET_BYTES, 0),
		.word1 = (uint16_t)length,
	};

	if (unlikely(size < ETHERNET_BYTES))
		return bad(out, view.word0, view.word1, DROP_TOO_SHORT);

	uint64_t destination = load_mac(frame);
	uint64_t source_and_type = load_u64(frame + 6);
	uint64_t source = source_and_type & MAC_MASK;
	uint16_t type = rte_be_to_cpu_16((uint16_t)(source_and_type >> 48));
	bool sound;

	if (unlikely(type == ETHERTYPE_VLAN)) {
		if (size < ETHERNET_BYTES + VLAN_TAG_BYTES)
			return bad(out, view.word0, view.word1, DROP_TOO_SHORT);
		view.word0 = WORD0(0, PARSED_TAGGED, ETHERNET_BYTES + VLAN_TAG_BYTES, 0);
		view.word1 |= (uint64_t)rte_be_to_cpu_16(load_u16(frame + 14)) << WORD1_TCI_SHIFT;
		view.l3 += VLAN_TAG_BYTES;
		view.size -= VLAN_TAG_BYTES;
		view.length -= VLAN_TAG_BYTES;
		type = rte_be_to_cpu_16(load_u16(frame + 16));
	}
	if (likely(type == ETHERTYPE_IPV4))
		sound = parse_ipv4(&view, out);
	else
		sound = parse_other(type, &view, out);
	/*
	 * The source of a MAC control frame isn't looked at: pauses from a zero source must count
	 * like any other.
	 */
	if (unlikely((source & 1) != 0 || source == 0 || source == destination) &&
	    type != ETHERTYPE_MAC_CONTROL) {
		out->drop = DROP_SOURCE_MAC;
		sound = false;
	}
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
