/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/realtime/payload.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_net_crc.h>

#include "dataplane/packet.h"
#include "tools/lab/frame.h"

/* Offsets in an untagged frame with an IPv4 header without options. */
#define IP_OFFSET  14
#define UDP_OFFSET (IP_OFFSET + 20)
#define BTH_OFFSET (UDP_OFFSET + 8)

/* Eight bytes of ones stand in front of the IP header: in place of the Ethernet header's end. */
#define CRC_OFFSET (IP_OFFSET - 8)

/* 2^64 over the golden ratio: neighbouring seeds have nothing in common. */
#define PATTERN_STEP UINT64_C(0x9E3779B97F4A7C15)

static inline uint64_t pattern_seed(const struct frame_view *view)
{
	return ((uint64_t)view->queue_pair << 24 | view->psn) * PATTERN_STEP + 1;
}

static inline uint64_t pattern_word(uint64_t seed, uint32_t index)
{
	return htole64((seed + index) * PATTERN_STEP);
}

static void pattern_write(uint8_t *at, uint32_t bytes, uint64_t seed)
{
	uint32_t words = bytes / 8;
	uint64_t word;

	for (uint32_t i = 0; i < words; i++) {
		word = pattern_word(seed, i);
		memcpy(at + (size_t)8 * i, &word, 8);
	}
	word = pattern_word(seed, words);
	memcpy(at + (size_t)8 * words, &word, bytes % 8);
}

static bool pattern_matches(const uint8_t *at, uint32_t bytes, uint64_t seed)
{
	uint32_t words = bytes / 8;
	uint64_t word, wrong = 0;

	for (uint32_t i = 0; i < words; i++) {
		memcpy(&word, at + (size_t)8 * i, 8);
		wrong |= word ^ pattern_word(seed, i);
	}
	word = pattern_word(seed, words);
	return wrong == 0 && memcmp(at + (size_t)8 * words, &word, bytes % 8) == 0;
}

/* Over the frame of that length, which includes the CRC's own place. */
static uint32_t invariant_crc(uint8_t *data, uint32_t length)
{
	uint8_t saved[BTH_OFFSET + 5];
	uint32_t crc;

	/* What doesn't count is covered for the time of the computation. */
	memcpy(saved, data, sizeof(saved));
	memset(data + CRC_OFFSET, 0xFF, 8);
	data[IP_OFFSET + 1] = 0xFF;
	data[IP_OFFSET + 8] = 0xFF;
	memset(data + IP_OFFSET + 10, 0xFF, 2);
	memset(data + UDP_OFFSET + 6, 0xFF, 2);
	data[BTH_OFFSET + 4] = 0xFF;
	crc = rte_net_crc_calc(data + CRC_OFFSET, length - CRC_OFFSET - FRAME_ICRC_BYTES,
			       RTE_NET_CRC32_ETH);
	memcpy(data, saved, sizeof(saved));
	return htole32(crc);
}

/* Bytes ahead of the payload. */
static uint32_t payload_offset(const struct frame_view *view, uint32_t length)
{
	return length - FRAME_ICRC_BYTES - (-view->payload_bytes & 3) - view->payload_bytes;
}

int payload_seal(struct rte_mbuf *packet)
{
	uint32_t length = packet_length(packet), offset, crc;
	uint8_t *data = packet_data(packet);
	struct frame_view view;

	if (length - packet->data_len > rte_pktmbuf_tailroom(packet) ||
	    !frame_read(packet, &view) || view.family != 4)
		return -ENOSPC;
	if (view.opcode == FRAME_CNP) {
		/* Its payload is reserved: zero (A17.9.3). */
		memset(data + packet->data_len, 0, length - packet->data_len);
	} else {
		offset = payload_offset(&view, length);
		pattern_write(data + offset, view.payload_bytes, pattern_seed(&view));
		memset(data + offset + view.payload_bytes, 0,
		       length - FRAME_ICRC_BYTES - offset - view.payload_bytes);
	}
	crc = invariant_crc(data, length);
	memcpy(data + length - FRAME_ICRC_BYTES, &crc, sizeof(crc));
	packet->data_len = (uint16_t)length;
	packet->pkt_len = length;
	packet_virtual_bytes_set(packet, 0);
	return 0;
}

enum payload_verdict payload_open(struct rte_mbuf *packet, struct frame_view *view)
{
	const uint32_t least = BTH_OFFSET + FRAME_BTH_BYTES + FRAME_ICRC_BYTES;
	uint8_t *data = packet_data(packet);
	uint32_t length, offset, crc;
	bool matches = true;

	if (packet->data_len < least || data[12] != 0x08 || data[13] != 0x00)
		return PAYLOAD_FOREIGN;
	length = IP_OFFSET + ((uint32_t)data[IP_OFFSET + 2] << 8 | data[IP_OFFSET + 3]);
	if (length < least || length > packet->data_len)
		return PAYLOAD_FOREIGN;
	packet->data_len = (uint16_t)length;
	packet->pkt_len = length;
	packet_virtual_bytes_set(packet, 0);
	if (!frame_read(packet, view) || view->family != 4)
		return PAYLOAD_FOREIGN;
	crc = invariant_crc(data, length);
	if (memcmp(data + length - FRAME_ICRC_BYTES, &crc, sizeof(crc)) != 0)
		return PAYLOAD_CRC;
	offset = payload_offset(view, length);
	if (view->opcode != FRAME_CNP)
		matches = pattern_matches(data + offset, view->payload_bytes, pattern_seed(view));
	/* The pattern is no time stamp. */
	view->stamped = false;
	packet->data_len = (uint16_t)offset;
	packet->pkt_len = offset;
	packet_virtual_bytes_set(packet, (uint16_t)(length - offset));
	return matches ? PAYLOAD_RIGHT : PAYLOAD_CORRUPT;
}
