/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * superframe - builds what a host with segmentation offload sends, and checks the pieces it must
 * become.
 */
#ifndef TESTS_UNIT_SUPERFRAME_H
#define TESTS_UNIT_SUPERFRAME_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/virtio_net.h>

#define SUPERFRAME_ID       0xfffe /* IPv4 identification: counts over 0xffff */
#define SUPERFRAME_SEQUENCE 0xffffff00u

struct superframe_kind {
	const char *name;
	bool ipv6, udp;
	uint16_t tag_tci;       /* 0: no tag in the frame */
	uint16_t tcp_options;   /* bytes, a multiple of 4 */
	uint8_t tcp_flags;      /* besides ACK */
	uint16_t piece_bytes;   /* payload of a piece */
	uint32_t payload_bytes; /* of all */
	bool congestion_hint;   /* VIRTIO_NET_HDR_GSO_ECN */
};

struct superframe {
	struct superframe_kind kind;
	struct virtio_net_hdr header;
	uint32_t l3_offset, l4_offset, header_bytes, bytes;
	uint8_t data[65600];
};

/* The frame as a host would hand it over: its checksum holds only the pseudo-header's sum. */
void superframe_build(struct superframe *frame, const struct superframe_kind *kind);

/* How many pieces it must become. */
uint32_t superframe_pieces(const struct superframe *frame);

/* Assert that these bytes are piece number index, all fields by RFC 791, 8200, 9293, 768. */
void superframe_expect_piece(const struct superframe *frame, uint32_t index, const uint8_t *piece,
			     uint32_t bytes);

#endif
