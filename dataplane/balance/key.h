/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * key - what names a flow whose order in-order spray restores: addresses, destination queue pair and
 * DSCP; not the UDP source port, which a sender may change. The DSCP and not the priority: both ends read it in
 * the packet, whatever classes they make of it.
 *
 * IPv4 addresses are in it as they are. IPv6 addresses are hashed to 96 bits: three times a sum of products
 * with secret factors, which is strongly universal (Lemire and Kaser, "Strongly universal string hashing is
 * fast", The Computer Journal 2014, section 3): for any two pairs of addresses, chosen without knowing the
 * secret, the keys are equal with probability 2^-96. The key never leaves the leaf.
 *
 * Thread: any; no state.
 */
#ifndef DATAPLANE_BALANCE_KEY_H
#define DATAPLANE_BALANCE_KEY_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/balance/siphash.h"
#include "dataplane/parse.h"

struct balance_key {
	uint64_t addresses; /* IPv4: both, as on the wire */
	uint32_t flow;      /* destination queue pair << 8 | IPv6 << 6 | DSCP */
	uint32_t more;      /* IPv6: the other 32 bits */
};

#define BALANCE_KEY_IPV6 0x40u

/* An addend and eight factors, one for each 32 bits of two addresses; three times. */
struct balance_secret {
	uint64_t word[3][9];
};

/** Draw the factors from a seed. Control. */
static inline struct balance_secret balance_secret_of(struct siphash_key seed)
{
	struct balance_secret secret;

	for (uint8_t i = 0; i < 27; i++)
		secret.word[i / 9][i % 9] = siphash_of(seed, &i, 1);
	return secret;
}

static inline uint32_t balance_key_part(const uint64_t *word, const uint8_t *addresses)
{
	uint64_t sum = word[0];

	for (size_t i = 0; i < 8; i++)
		sum += word[i + 1] * load_u32(addresses + 4 * i);
	return (uint32_t)(sum >> 32);
}

/** Key of two IPv6 addresses, source and destination, 32 bytes. */
static inline struct balance_key balance_key_ipv6(const uint8_t *addresses, uint32_t qp,
						  uint8_t dscp, const struct balance_secret *secret)
{
	return (struct balance_key){
		(uint64_t)balance_key_part(secret->word[0], addresses) << 32 |
			balance_key_part(secret->word[1], addresses),
		qp << 8 | BALANCE_KEY_IPV6 | dscp,
		balance_key_part(secret->word[2], addresses),
	};
}

/** Key of two IPv4 addresses, source and destination, eight bytes. */
static inline struct balance_key balance_key_ipv4(const uint8_t *addresses, uint32_t qp,
						  uint8_t dscp)
{
	return (struct balance_key){load_u64(addresses), qp << 8 | dscp, 0};
}

/**
 * Key of a packet. Hot: 12 instructions for IPv4, 100 for IPv6.
 * @param parsed RoCEv2 (PARSED_ROCE)
 * @param ip     its IP header
 */
static inline struct balance_key balance_key_of(const struct parsed *parsed, const uint8_t *ip,
						const struct balance_secret *secret)
{
	uint32_t qp = parsed_destination_qp(parsed);
	uint8_t dscp = parsed->traffic_class >> 2;

	if (parsed->kind == KIND_IPV4)
		return balance_key_ipv4((const uint8_t *)&parsed->source, qp, dscp);
	return balance_key_ipv6(ip + 8, qp, dscp, secret);
}

static inline bool balance_key_equal(const struct balance_key *a, const struct balance_key *b)
{
	return ((a->addresses ^ b->addresses) | (a->flow ^ b->flow) | (a->more ^ b->more)) == 0;
}

/** 32 well mixed bits of a key; the seed keeps senders from choosing keys that collide. */
static inline uint32_t balance_key_hash(const struct balance_key *key, uint64_t seed)
{
	uint64_t hash = (key->addresses ^ seed) * UINT64_C(0x9E3779B97F4A7C15);

	hash ^= hash >> 32;
	hash = (hash ^ ((uint64_t)key->more << 32 | key->flow)) * UINT64_C(0xD6E8FEB86659FD93);
	return (uint32_t)(hash >> 32);
}

/** DSCP of a key's flow, 0..63. */
static inline uint8_t balance_key_dscp(const struct balance_key *key)
{
	return key->flow & 0x3f;
}

#endif
