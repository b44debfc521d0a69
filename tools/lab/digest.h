/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * digest - 64 bits that tell whether two runs were the same: when each frame arrived over each
 * wire, its length and its headers.
 *
 * Integer code over bytes read in a fixed order, so that compiler, flags and machine (little endian)
 * don't matter. Words of a frame go through two chains of rotate, xor and multiply by an odd constant:
 * each step is a bijection, so a difference never gets lost within its chain. One chain starts with
 * the digest so far and the time, the other with the lengths. Counters are mixed in by a 64 x 64 ->
 * 128 bit multiplication folded to 64 bits. No cryptography: it finds differences, it doesn't resist
 * somebody who looks for a collision.
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

/* Even words of a frame, and odd ones: neither waits for the other's multiplications. */
struct digest_chains {
	uint64_t even, odd;
};

static inline uint64_t digest_word(uint64_t chain, const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return ((chain << 23 | chain >> 41) ^ word) * DIGEST_FACTOR;
}

static inline struct digest_chains digest_pair(struct digest_chains chains, const uint8_t *bytes)
{
	chains.even = digest_word(chains.even, bytes);
	chains.odd = digest_word(chains.odd, bytes + 8);
	return chains;
}

/* Of n bytes: sixteen at a time, the last sixteen once more where they overlap. */
static inline struct digest_chains digest_bytes(struct digest_chains chains, const uint8_t *bytes,
						uint32_t n)
{
	/* Headers of a RoCEv2 packet: without a loop. */
	if (__builtin_expect(n > 48 && n <= 64, 1)) {
		chains = digest_pair(chains, bytes);
		chains = digest_pair(chains, bytes + 16);
		chains = digest_pair(chains, bytes + 32);
		return digest_pair(chains, bytes + n - 16);
	}
	if (n < 16) {
		uint8_t padded[16] = {0};

		memcpy(padded, bytes, n);
		return digest_pair(chains, padded);
	}
	if (n > DIGEST_FRAME_BYTES)
		n = DIGEST_FRAME_BYTES;
	for (uint32_t at = 0; at + 16 < n; at += 16)
		chains = digest_pair(chains, bytes + at);
	return digest_pair(chains, bytes + n - 16);
}

/** A digest that goes on with a frame and the time since the start at which it arrived. Hot. */
static inline uint64_t digest_frame(uint64_t digest, uint64_t time_ps, struct rte_mbuf *packet)
{
	struct digest_chains chains = {digest + time_ps,
				       (uint64_t)packet->data_len << 32 | packet_length(packet)};

	chains = digest_bytes(chains, packet_data(packet), packet->data_len);
	return chains.even ^ (chains.odd << 32 | chains.odd >> 32);
}

#endif
