/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/superframe.h"

#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>

#include "dataplane/io/offload.h"
#include "tests/unit/bytes.h"

#define FIN 0x01
#define PSH 0x08
#define ACK 0x10
#define CWR 0x80

static uint32_t ip_build(const struct superframe_kind *kind, uint8_t *l3, uint32_t l4_bytes)
{
	uint8_t protocol = kind->udp ? IPPROTO_UDP : IPPROTO_TCP;

	if (kind->ipv6) {
		l3[0] = 0x60;
		bytes_store16(l3 + 4, l4_bytes);
		l3[6] = protocol;
		l3[7] = 64;
		bytes_store16(l3 + 8, 0xfd00);
		l3[23] = 1;
		bytes_store16(l3 + 24, 0xfd00);
		l3[39] = 2;
		return 40;
	}
	l3[0] = 0x45;
	l3[1] = 0x68;
	bytes_store16(l3 + 2, 20 + l4_bytes);
	bytes_store16(l3 + 4, SUPERFRAME_ID);
	bytes_store16(l3 + 6, 0x4000);
	l3[8] = 64;
	l3[9] = protocol;
	bytes_store32(l3 + 12, 0x0a010001);
	bytes_store32(l3 + 16, 0x0a010002);
	bytes_store16(l3 + 10, (uint16_t)~bytes_sum(l3, 20, 0));
	return 20;
}

static void l4_build(const struct superframe_kind *kind, uint8_t *l4, uint32_t l4_bytes)
{
	bytes_store16(l4, 1234);
	bytes_store16(l4 + 2, 5678);
	if (kind->udp) {
		bytes_store16(l4 + 4, l4_bytes);
		return;
	}
	bytes_store32(l4 + 4, SUPERFRAME_SEQUENCE);
	bytes_store32(l4 + 8, 0x01020304);
	l4[12] = (uint8_t)((20u + kind->tcp_options) / 4 << 4);
	l4[13] = ACK | kind->tcp_flags;
	bytes_store16(l4 + 14, 8192);
	memset(l4 + 20, 1, kind->tcp_options); /* no-operation */
}

void superframe_build(struct superframe *frame, const struct superframe_kind *kind)
{
	uint32_t l4_header = kind->udp ? 8 : 20u + kind->tcp_options;
	uint32_t l4_bytes = l4_header + kind->payload_bytes;
	uint32_t tag = kind->tag_tci != 0 ? 4 : 0;

	memset(frame, 0, sizeof(*frame));
	frame->kind = *kind;
	frame->l3_offset = 14 + tag;
	bytes_frame(frame->data, 14, kind->ipv6 ? 0x86dd : 0x0800, 0);
	if (tag != 0) {
		bytes_store16(frame->data + 16, kind->ipv6 ? 0x86dd : 0x0800);
		bytes_store16(frame->data + 12, 0x8100);
		bytes_store16(frame->data + 14, kind->tag_tci);
	}
	frame->l4_offset =
		frame->l3_offset + ip_build(kind, frame->data + frame->l3_offset, l4_bytes);
	frame->header_bytes = frame->l4_offset + l4_header;
	frame->bytes = frame->l4_offset + l4_bytes;
	cr_assert_leq(frame->bytes, sizeof(frame->data));
	l4_build(kind, frame->data + frame->l4_offset, l4_bytes);
	for (uint32_t i = 0; i < kind->payload_bytes; i++)
		frame->data[frame->header_bytes + i] = (uint8_t)(i * 7 + i / 251);
	frame->header = (struct virtio_net_hdr){
		.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		.gso_type = (uint8_t)((kind->udp    ? OFFLOAD_GSO_UDP_DATAGRAMS
				       : kind->ipv6 ? VIRTIO_NET_HDR_GSO_TCPV6
						    : VIRTIO_NET_HDR_GSO_TCPV4) |
				      (kind->congestion_hint ? VIRTIO_NET_HDR_GSO_ECN : 0)),
		.hdr_len = (uint16_t)frame->header_bytes,
		.gso_size = kind->piece_bytes,
		.csum_start = (uint16_t)frame->l4_offset,
		.csum_offset = kind->udp ? 6 : 16,
	};
	bytes_store16(frame->data + frame->l4_offset + frame->header.csum_offset,
		      bytes_pseudo_sum(frame->data + frame->l3_offset));
}

uint32_t superframe_pieces(const struct superframe *frame)
{
	return (frame->kind.payload_bytes + frame->kind.piece_bytes - 1) / frame->kind.piece_bytes;
}

void superframe_expect_piece(const struct superframe *frame, uint32_t index, const uint8_t *piece,
			     uint32_t bytes)
{
	const struct superframe_kind *kind = &frame->kind;
	static uint8_t expected[65600];
	uint32_t offset = index * kind->piece_bytes;
	uint32_t rest = kind->payload_bytes - offset;
	uint32_t payload = rest < kind->piece_bytes ? rest : kind->piece_bytes;
	uint8_t *l3 = expected + frame->l3_offset, *l4 = expected + frame->l4_offset;
	uint32_t l4_bytes = frame->header_bytes - frame->l4_offset + payload;
	const uint8_t *checksum = piece + frame->l4_offset + frame->header.csum_offset;

	cr_assert_eq(bytes, frame->header_bytes + payload, "%s, piece %u: %u bytes, not %u",
		     kind->name, index, bytes, frame->header_bytes + payload);
	memcpy(expected, frame->data, frame->header_bytes);
	memcpy(expected + frame->header_bytes, frame->data + frame->header_bytes + offset, payload);
	if (kind->ipv6) {
		bytes_store16(l3 + 4, l4_bytes);
	} else {
		bytes_store16(l3 + 2, 20 + l4_bytes);
		bytes_store16(l3 + 4, SUPERFRAME_ID + index);
		bytes_store16(l3 + 10, 0);
		bytes_store16(l3 + 10, (uint16_t)~bytes_sum(l3, 20, 0));
	}
	if (kind->udp) {
		bytes_store16(l4 + 4, l4_bytes);
	} else {
		bytes_store32(l4 + 4, SUPERFRAME_SEQUENCE + offset);
		if (index + 1 < superframe_pieces(frame))
			l4[13] &= (uint8_t) ~(FIN | PSH);
		if (index > 0 && kind->congestion_hint)
			l4[13] &= (uint8_t)~CWR;
	}
	/* The checksum by its definition: the sum over everything is all ones. */
	cr_expect_eq(bytes_transport_sum(piece + frame->l3_offset), 0xffff,
		     "%s, piece %u: transport checksum", kind->name, index);
	memcpy(l4 + frame->header.csum_offset, checksum, 2);
	if (kind->udp)
		cr_expect_neq(bytes_load16(checksum), 0, "%s, piece %u", kind->name, index);
	for (uint32_t i = 0; i < bytes; i++)
		cr_assert_eq(piece[i], expected[i], "%s, piece %u, byte %u: %02x, not %02x",
			     kind->name, index, i, piece[i], expected[i]);
}
