/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/frame.h"

#include <assert.h>
#include <endian.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_mbuf.h>
#include <rte_udp.h>

#include "dataplane/packet.h"

#define STAMP_BYTES 8

/* In the word of the queue pair. */
#define FRAME_BECN (UINT32_C(1) << 30)

/* In the word of the PSN. */
#define FRAME_ACK_REQUEST (UINT32_C(1) << 31)

/* IPv4 and BTH without a tag, and what was rounded up to copy them fast. */
#define FRAME_USUAL_BYTES 64

static inline void store16(uint8_t *at, uint32_t value)
{
	uint16_t big = rte_cpu_to_be_16((uint16_t)value);

	memcpy(at, &big, sizeof(big));
}

static inline void store32(uint8_t *at, uint32_t value)
{
	uint32_t big = rte_cpu_to_be_32(value);

	memcpy(at, &big, sizeof(big));
}

static inline uint32_t load16(const uint8_t *at)
{
	uint16_t big;

	memcpy(&big, at, sizeof(big));
	return rte_be_to_cpu_16(big);
}

static inline uint32_t load32(const uint8_t *at)
{
	uint32_t big;

	memcpy(&big, at, sizeof(big));
	return rte_be_to_cpu_32(big);
}

static inline bool opcode_has_reth(uint32_t opcode)
{
	return opcode == FRAME_WRITE_FIRST || opcode == FRAME_WRITE_ONLY;
}

static uint8_t *template_ethernet(struct frame_template *template, const struct frame_path *path)
{
	uint8_t *at = template->bytes;

	memcpy(at, path->destination_mac, 6);
	memcpy(at + 6, path->source_mac, 6);
	at += 12;
	if (path->vlan != 0) {
		store16(at, RTE_ETHER_TYPE_VLAN);
		store16(at + 2, (uint32_t)path->pcp << 13 | path->vlan);
		at += 4;
	}
	store16(at, path->family == 6 ? RTE_ETHER_TYPE_IPV6 : RTE_ETHER_TYPE_IPV4);
	return at + 2;
}

void frame_template_init(struct frame_template *template, const struct frame_path *path)
{
	uint8_t *at;

	memset(template, 0, sizeof(*template));
	template->family = path->family;
	at = template_ethernet(template, path);
	template->ip_offset = (uint8_t)(at - template->bytes);
	if (path->family == 6) {
		store32(at, UINT32_C(6) << 28 | (uint32_t)path->tos << 20);
		at[6] = IPPROTO_UDP;
		at[7] = 64; /* hop limit */
		memcpy(at + 8, path->source_ip, 16);
		memcpy(at + 24, path->destination_ip, 16);
		at += sizeof(struct rte_ipv6_hdr);
	} else {
		at[0] = RTE_IPV4_VHL_DEF;
		at[1] = path->tos;
		store16(at + 6, RTE_IPV4_HDR_DF_FLAG);
		at[8] = 64; /* time to live */
		at[9] = IPPROTO_UDP;
		memcpy(at + 12, path->source_ip, 4);
		memcpy(at + 16, path->destination_ip, 4);
		for (uint32_t i = 0; i < sizeof(struct rte_ipv4_hdr); i += 2)
			template->ip_sum += load16(at + i);
		at += sizeof(struct rte_ipv4_hdr);
	}
	/* The UDP checksum stays 0: A17.4.4.2 */
	template->udp_offset = (uint8_t)(at - template->bytes);
	store16(at, path->source_port);
	store16(at + 2, FRAME_UDP_PORT);
	at += sizeof(struct rte_udp_hdr);
	template->bth_offset = (uint8_t)(at - template->bytes);
	store16(at + 2, 0xFFFF); /* default partition */
	store32(at + 4, (path->becn ? FRAME_BECN : 0) | path->queue_pair);
	store32(at + FRAME_BTH_BYTES + 8, 1); /* RETH: remote key */
	assert(template->bth_offset + FRAME_BTH_BYTES + FRAME_RETH_BYTES <= FRAME_HEADER_BYTES_MAX);
}

static inline uint32_t header_bytes(const struct frame_template *template, uint32_t opcode)
{
	return template->bth_offset + FRAME_BTH_BYTES +
	       (opcode_has_reth(opcode) ? FRAME_RETH_BYTES : 0);
}

uint32_t frame_length(const struct frame_template *template, enum frame_opcode opcode,
		      uint32_t payload_bytes)
{
	/* The payload is padded to four bytes: 9.2.3. */
	return header_bytes(template, opcode) + (payload_bytes + 3) / 4 * 4 + FRAME_ICRC_BYTES;
}

/* Length and checksum of the IP header at `ip`; ip_bytes counts from there. */
static inline void build_ip(const struct frame_template *template, uint8_t *ip, uint32_t ip_bytes)
{
	uint32_t sum;

	if (template->family == 6) {
		store16(ip + 4, ip_bytes - (uint32_t)sizeof(struct rte_ipv6_hdr));
		return;
	}
	sum = template->ip_sum + ip_bytes;
	sum = (sum & 0xFFFF) + (sum >> 16);
	sum = (sum & 0xFFFF) + (sum >> 16);
	store16(ip + 2, ip_bytes);
	store16(ip + 10, ~sum);
}

void frame_build(const struct frame_template *template, struct rte_mbuf *packet,
		 const struct frame_packet *what)
{
	uint32_t header = header_bytes(template, what->opcode);
	uint32_t padding = -what->payload_bytes & 3;
	uint32_t length = header + what->payload_bytes + padding + FRAME_ICRC_BYTES;
	uint32_t real = header;
	uint8_t *at;

	packet->data_off = RTE_PKTMBUF_HEADROOM;
	packet->ol_flags = 0;
	at = packet_data(packet);
	memcpy(at, template->bytes, FRAME_USUAL_BYTES);
	if (unlikely(header > FRAME_USUAL_BYTES))
		memcpy(at + FRAME_USUAL_BYTES, template->bytes + FRAME_USUAL_BYTES,
		       FRAME_HEADER_BYTES_MAX - FRAME_USUAL_BYTES);
	if (what->payload_bytes >= STAMP_BYTES) {
		uint64_t stamp = htole64(what->stamp_ps);

		memcpy(at + header, &stamp, STAMP_BYTES);
		real += STAMP_BYTES;
	}
	packet->data_len = (uint16_t)real;
	packet->pkt_len = real;
	packet_virtual_bytes_set(packet, (uint16_t)(length - real));

	build_ip(template, at + template->ip_offset, length - template->ip_offset);
	store16(at + template->udp_offset + 4, length - template->udp_offset);
	at += template->bth_offset;
	at[0] = (uint8_t)what->opcode;
	at[1] = (uint8_t)(padding << 4); /* pad count */
	store32(at + 8, (what->psn & FRAME_PSN_MASK) | (what->ack_request ? FRAME_ACK_REQUEST : 0));
	if (unlikely(opcode_has_reth(what->opcode)))
		store32(at + FRAME_BTH_BYTES + 12, what->message_bytes);
}

void frame_build_reply(const struct frame_reply *reply, struct rte_mbuf *packet)
{
	const uint32_t real = FRAME_REPLY_BYTES - FRAME_ICRC_BYTES;
	uint32_t sum = 0;
	uint8_t *at;

	packet->data_off = RTE_PKTMBUF_HEADROOM;
	packet->ol_flags = 0;
	packet->data_len = (uint16_t)real;
	packet->pkt_len = real;
	packet_virtual_bytes_set(packet, FRAME_ICRC_BYTES);
	at = packet_data(packet);
	memcpy(at, reply->destination_mac, 6);
	memcpy(at + 6, reply->source_mac, 6);
	store16(at + 12, RTE_ETHER_TYPE_IPV4);
	at += 14;
	store32(at, (uint32_t)RTE_IPV4_VHL_DEF << 24 | (uint32_t)reply->tos << 16 |
			    (FRAME_REPLY_BYTES - 14));
	store32(at + 4, RTE_IPV4_HDR_DF_FLAG);
	store32(at + 8, UINT32_C(64) << 24 | IPPROTO_UDP << 16); /* time to live */
	memcpy(at + 12, reply->source_ip, 4);
	memcpy(at + 16, reply->destination_ip, 4);
	for (uint32_t i = 0; i < sizeof(struct rte_ipv4_hdr); i += 2)
		sum += load16(at + i);
	sum = (sum & 0xFFFF) + (sum >> 16);
	store16(at + 10, ~(sum + (sum >> 16)));
	at += sizeof(struct rte_ipv4_hdr);
	store32(at, (uint32_t)reply->source_port << 16 | FRAME_UDP_PORT);
	store32(at + 4, (FRAME_REPLY_BYTES - 34) << 16); /* the checksum stays 0 */
	at += sizeof(struct rte_udp_hdr);
	store32(at, (uint32_t)FRAME_ACK << 24 | 0xFFFF); /* default partition */
	store32(at + 4, (reply->becn ? FRAME_BECN : 0) | reply->queue_pair);
	store32(at + 8, reply->psn & FRAME_PSN_MASK);
	store32(at + FRAME_BTH_BYTES,
		(uint32_t)reply->syndrome << 24 | (reply->msn & FRAME_PSN_MASK));
}

/* Offset of the UDP header and end of the IP packet; false: not ours to read. */
static inline bool read_ip(const uint8_t *data, uint32_t real, uint32_t length,
			   struct frame_view *view, uint32_t *udp)
{
	uint32_t at = 12;
	uint32_t type = load16(data + at);
	uint32_t end;

	if (type == RTE_ETHER_TYPE_VLAN) {
		at += 4;
		type = load16(data + at);
	}
	at += 2;
	if (type == RTE_ETHER_TYPE_IPV4 && real >= at + 20 + 8 + FRAME_BTH_BYTES) {
		if (data[at] != RTE_IPV4_VHL_DEF || data[at + 9] != IPPROTO_UDP)
			return false;
		view->family = 4;
		view->tos = data[at + 1];
		view->destination_ip = data + at + 16;
		end = at + load16(data + at + 2);
		at += 20;
	} else if (type == RTE_ETHER_TYPE_IPV6 && real >= at + 40 + 8 + FRAME_BTH_BYTES) {
		if (data[at] >> 4 != 6 || data[at + 6] != IPPROTO_UDP)
			return false;
		view->family = 6;
		view->tos = (uint8_t)(load16(data + at) >> 4);
		view->destination_ip = data + at + 24;
		end = at + 40 + load16(data + at + 4);
		at += 40;
	} else {
		return false;
	}
	*udp = at;
	return end == length && load16(data + at + 4) == length - at;
}

/* The transport header at `at`. */
static inline bool read_transport(const uint8_t *data, uint32_t real, uint32_t length, uint32_t at,
				  struct frame_view *view)
{
	uint32_t padding = data[at + 1] >> 4 & 3;

	view->opcode = data[at];
	view->queue_pair = load32(data + at + 4) & 0xFFFFFF;
	view->becn = (load32(data + at + 4) & FRAME_BECN) != 0;
	view->psn = load32(data + at + 8) & FRAME_PSN_MASK;
	view->ack_request = (load32(data + at + 8) & FRAME_ACK_REQUEST) != 0;
	view->syndrome = 0;
	at += FRAME_BTH_BYTES;
	if (view->opcode == FRAME_ACK) {
		if (real < at + FRAME_AETH_BYTES)
			return false;
		view->syndrome = data[at];
		view->msn = load32(data + at) & FRAME_PSN_MASK;
		at += FRAME_AETH_BYTES;
	} else if (unlikely(opcode_has_reth(view->opcode))) {
		at += FRAME_RETH_BYTES;
	}
	if (length < at + FRAME_ICRC_BYTES + padding)
		return false;
	view->payload_bytes = length - at - FRAME_ICRC_BYTES - padding;
	view->stamped = view->payload_bytes >= STAMP_BYTES && real >= at + STAMP_BYTES;
	if (view->stamped) {
		memcpy(&view->stamp_ps, data + at, STAMP_BYTES);
		view->stamp_ps = le64toh(view->stamp_ps);
	}
	return true;
}

/* An untagged IPv4 header without options, and UDP, in a frame that contradicts neither. */
static inline bool usual(const uint8_t *data, uint32_t length)
{
	return load16(data + 34 + 6) == 0 &&
	       load32(data + 12) >> 8 == (RTE_ETHER_TYPE_IPV4 << 8 | RTE_IPV4_VHL_DEF) &&
	       data[14 + 9] == IPPROTO_UDP && load16(data + 14 + 2) == length - 14 &&
	       load32(data + 34 + 2) == ((uint32_t)FRAME_UDP_PORT << 16) + length - 34;
}

bool frame_read(struct rte_mbuf *packet, struct frame_view *view)
{
	const uint8_t *data = packet_data(packet);
	uint32_t length = packet_length(packet);
	uint32_t real = packet->data_len;
	uint32_t at;

	if (unlikely(real < 14 + 20 + 8 + FRAME_BTH_BYTES))
		return false;
	if (likely(usual(data, length))) {
		view->family = 4;
		view->tos = data[14 + 1];
		view->checksum = 0;
		view->destination_ip = data + 14 + 16;
		return read_transport(data, real, length, 14 + 20 + 8, view);
	}
	if (!read_ip(data, real, length, view, &at) || load16(data + at + 2) != FRAME_UDP_PORT)
		return false;
	view->checksum = (uint16_t)load16(data + at + 6);
	return read_transport(data, real, length, at + 8, view);
}
