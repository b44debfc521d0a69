/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest - 64 bits that tell whether two runs were the same: when each frame arrived over each
 * wire, its length and its headers.
 *
 * Integer code over bytes read in a fixed order, so that compiler, flags and machine (little endian)
 * don't matter. The mix is a 64 x 64 -> 128 bit multiplication folded to 64 bits, with odd constants;
 * no cryptography: it finds differences, it doesn't resist somebody who looks for a collision.
 */
#ifndef LAB_DIGEST_H
#define LAB_DIGEST_H

#include <stdint.h>
#include <string.h>

#include "dataplane/packet.h"

#define DIGEST_START  UINT64_C(0x9E3779B97F4A7C15) /* 2^64 / golden ratio */
#define DIGEST_FACTOR UINT64_C(0xD1342543DE82EF95) /* a multiplier with good spectral figures */

/* Bytes of a frame's real part that count: up to the base transport header in IPv6 with a tag. */
#define DIGEST_FRAME_BYTES 80

static inline uint64_t digest_mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)(a ^ DIGEST_START) * (b ^ DIGEST_FACTOR);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t digest_add(uint64_t digest, uint64_t value)
{
	return digest_mix(digest, value) + value;
}

static inline uint64_t digest_pair(const uint8_t *bytes, uint32_t place)
{
	uint64_t pair[2];

	memcpy(pair, bytes, sizeof(pair));
	return digest_mix(pair[0] + place, pair[1]);
}

/**
 * Of n bytes. Sixteen at a time, the last sixteen once more where they overlap: all multiplications
 * are independent of each other.
 */
static inline uint64_t digest_bytes(const uint8_t *bytes, uint32_t n)
{
	uint64_t digest = n;
	uint32_t at = 0;

	/* Headers of a RoCEv2 packet: without a loop. */
	if (__builtin_expect(n > 48 && n <= 80, 1)) {
		digest += digest_pair(bytes, 0) + digest_pair(bytes + 16, 16) +
			  digest_pair(bytes + 32, 32) + digest_pair(bytes + n - 16, n);
		return n > 64 ? digest + digest_pair(bytes + 48, 48) : digest;
	}
	if (n < 16) {
		uint8_t padded[16] = {0};

		memcpy(padded, bytes, n);
		return digest + digest_pair(padded, 0);
	}
	for (; at + 16 < n; at += 16)
		digest += digest_pair(bytes + at, at);
	return digest + digest_pair(bytes + n - 16, n);
}

/** A digest that goes on with a frame and the time since the start at which it arrived. Hot. */
static inline uint64_t digest_frame(uint64_t digest, uint64_t time_ps, struct rte_mbuf *packet)
{
	uint32_t real =
		packet->data_len < DIGEST_FRAME_BYTES ? packet->data_len : DIGEST_FRAME_BYTES;
	uint64_t headers = digest_bytes(packet_data(packet), real) + packet_length(packet);

	return digest_mix(digest + time_ps, headers) + time_ps;
}

#endif
