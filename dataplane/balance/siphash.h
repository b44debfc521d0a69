/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * siphash - SipHash-2-4, a keyed hash of short messages that can't be forged without the key.
 * Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2.
 *
 * Thread: any; no state. Cost: two rounds of 14 operations for each eight bytes, and six more.
 */
#ifndef DATAPLANE_BALANCE_SIPHASH_H
#define DATAPLANE_BALANCE_SIPHASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct siphash_key {
	uint64_t k0, k1; /* first and last eight bytes, little-endian */
};

/* The hash of a message in parts; all parts but the last are whole words of eight bytes. */
struct siphash {
	uint64_t v0, v1, v2, v3;
	uint64_t size;
};

static inline uint64_t siphash_rotate(uint64_t value, unsigned int bits)
{
	return value << bits | value >> (64 - bits);
}

static inline void siphash_round(struct siphash *s)
{
	s->v0 += s->v1;
	s->v1 = siphash_rotate(s->v1, 13) ^ s->v0;
	s->v0 = siphash_rotate(s->v0, 32);
	s->v2 += s->v3;
	s->v3 = siphash_rotate(s->v3, 16) ^ s->v2;
	s->v0 += s->v3;
	s->v3 = siphash_rotate(s->v3, 21) ^ s->v0;
	s->v2 += s->v1;
	s->v1 = siphash_rotate(s->v1, 17) ^ s->v2;
	s->v2 = siphash_rotate(s->v2, 32);
}

static inline void siphash_word(struct siphash *s, uint64_t word)
{
	s->v3 ^= word;
	siphash_round(s);
	siphash_round(s);
	s->v0 ^= word;
}

static inline struct siphash siphash_begin(struct siphash_key key)
{
	return (struct siphash){
		.v0 = key.k0 ^ UINT64_C(0x736f6d6570736575), /* "somepseu" */
		.v1 = key.k1 ^ UINT64_C(0x646f72616e646f6d), /* "dorandom" */
		.v2 = key.k0 ^ UINT64_C(0x6c7967656e657261), /* "lygenera" */
		.v3 = key.k1 ^ UINT64_C(0x7465646279746573), /* "tedbytes" */
	};
}

/** @param size a multiple of eight */
static inline void siphash_add(struct siphash *s, const uint8_t *data, size_t size)
{
	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words as they lie");
	s->size += size;
	for (; size != 0; size -= 8, data += 8) {
		uint64_t word;

		memcpy(&word, data, 8);
		siphash_word(s, word);
	}
}

/** The last part, of any size. */
static inline uint64_t siphash_end(struct siphash s, const uint8_t *data, size_t size)
{
	size_t rest = size % 8;
	uint64_t word = 0;

	siphash_add(&s, data, size - rest);
	memcpy(&word, data + (size - rest), rest);
	siphash_word(&s, word | (s.size + rest) << 56);
	s.v2 ^= 0xff;
	for (int i = 0; i < 4; i++)
		siphash_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

static inline uint64_t siphash_of(struct siphash_key key, const uint8_t *data, size_t size)
{
	return siphash_end(siphash_begin(key), data, size);
}

#endif
