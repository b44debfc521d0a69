/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hash - which of several next hops a flow takes, by a hash over what stays the same in it.
 *
 * Equal-cost multipath by a hash over the 5-tuple and, for RoCEv2, the destination queue pair: the
 * UDP source port alone often doesn't tell queue pairs apart (Gangidi et al., SIGCOMM 2024, calls
 * this E-ECMP). All fragments of a datagram have no ports, so that they keep together. The seed
 * differs between leaves, so that two tiers don't choose alike.
 *
 * Members may have weights, 0 for one that is down or not resolved. The hash draws members until one is
 * taken, each with a probability that is its weight's share of the largest weight. So it is resilient without
 * any state: what happens to one member's weight moves the flows that it loses or gains and no others, and
 * after it is back everything is as before.
 */
#ifndef DATAPLANE_BALANCE_HASH_H
#define DATAPLANE_BALANCE_HASH_H

#include <stddef.h>
#include <stdint.h>

#include "dataplane/parse.h"
#include "dataplane/snapshot.h"

/* The queue pair in bth_qp: not FECN and BECN before it, which differ inside a flow. */
#define BALANCE_QP __builtin_bswap32(0xffffff)

/* Two odd multipliers with well mixed bits; every input bit reaches the upper half. */
static inline uint64_t balance_mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * UINT64_C(0x9E3779B97F4A7C15);
	return hash ^ hash >> 32;
}

/**
 * Hash of a flow. Hot.
 * @param ip      its IP header
 * @param qp_mask BALANCE_QP; 0: by the 5-tuple alone
 * @return 32 well mixed bits
 */
static inline uint32_t balance_hash_masked(const struct parsed *parsed, const uint8_t *ip,
					   uint64_t seed, uint32_t qp_mask)
{
	/* BALANCE_QP leaves the low byte free. Without ports or queue pair the parser says 0. */
	uint32_t flow = (parsed->bth_qp & qp_mask) | parsed->protocol;
	uint64_t hash = seed;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the low byte is the first");
	if (parsed->kind == KIND_IPV4) {
		hash = balance_mix(hash, load_u64((const uint8_t *)&parsed->source));
	} else {
		for (uint32_t offset = 8; offset < 40; offset += 8)
			hash = balance_mix(hash, load_u64(ip + offset));
	}
	hash = balance_mix(hash, (uint64_t)parsed->ports << 32 | flow);
	hash *= UINT64_C(0xD6E8FEB86659FD93);
	return (uint32_t)(hash >> 32);
}

/** The same by 5-tuple and queue pair. Hot. */
static inline uint32_t balance_hash(const struct parsed *parsed, const uint8_t *ip, uint64_t seed)
{
	return balance_hash_masked(parsed, ip, seed, BALANCE_QP);
}

/** Hash of the destination's address alone. */
static inline uint32_t balance_hash_destination(const struct parsed *parsed, const uint8_t *ip,
						uint64_t seed)
{
	uint64_t hash =
		parsed->kind == KIND_IPV4
			? balance_mix(seed, parsed->destination)
			: balance_mix(balance_mix(seed, load_u64(ip + 24)), load_u64(ip + 32));

	hash *= UINT64_C(0xD6E8FEB86659FD93);
	return (uint32_t)(hash >> 32);
}

/** Member 0..count-1 of a group for a hash, all with equal weights. Hot. */
static inline uint32_t balance_member(uint32_t hash, uint32_t count)
{
	return (uint32_t)((uint64_t)hash * count >> 32);
}

/* Draws before the rest is left to the first member from there on that has a weight: with three in four
 * members down one flow in 10^8 gets so far. */
#define BALANCE_DRAWS 64

/**
 * Draw one of several by a hash and weights of 0..BALANCE_WEIGHT_MAX, the largest's; one at least isn't 0.
 * @param weight of the first
 * @param stride from one weight to the next, bytes
 * Cost: 10 instructions for each draw; as many of these on average as the largest weight is times the mean
 */
static inline uint32_t balance_draw(uint32_t hash, const uint32_t *weight, size_t stride,
				    uint32_t count)
{
	const uint8_t *weights = (const uint8_t *)weight;
	uint64_t drawn = hash;
	uint32_t i = 0;

	for (uint32_t draw = 0; draw < BALANCE_DRAWS; draw++) {
		i = balance_member((uint32_t)drawn, count);
		/* The first draw alone is the one of balance_member(). */
		drawn = balance_mix(drawn + draw, UINT64_C(0xD6E8FEB86659FD93));
		drawn ^= drawn >> 29;
		if ((drawn >> 32 & (BALANCE_WEIGHT_MAX - 1)) < load_u32(weights + i * stride))
			return i;
	}
	for (uint32_t k = 0; k < count; k++, i = i + 1 == count ? 0 : i + 1)
		if (load_u32(weights + i * stride) != 0)
			return i;
	return i;
}

/** Member of a group for a hash, by weights. @param member its adjacencies; at least one of them has a weight */
static inline uint32_t balance_weighted(uint32_t hash, const struct adjacency *member,
					uint32_t count)
{
	return balance_draw(hash, &member->weight, sizeof(*member), count);
}

/** Hash of a packet's flow in a balanced group. @param ip its IP header */
static inline uint32_t balance_hash_of_group(const struct snapshot *snapshot,
					     const struct parsed *parsed, const uint8_t *ip)
{
	return balance_hash_masked(parsed, ip, snapshot->hash_seed,
				   snapshot->balance.by_5tuple ? 0 : BALANCE_QP);
}

/** How packets of a class are spread over a balanced group. @return enum balance_mode */
static inline uint8_t balance_mode_of(const struct snapshot *snapshot, const struct group *group,
				      uint8_t priority)
{
	return group->mode != BALANCE_BY_CLASS ? group->mode : snapshot->class[priority].balance;
}

/**
 * The member that a packet has in a balanced group as long as nothing moves it: by its flow's hash, or its
 * destination's. @param ip its IP header
 */
static inline uint32_t balance_hash_member(const struct snapshot *snapshot,
					   const struct group *group, const struct parsed *parsed,
					   const uint8_t *ip, uint8_t priority)
{
	uint32_t hash = balance_mode_of(snapshot, group, priority) == BALANCE_STATIC
				? balance_hash_destination(parsed, ip, snapshot->hash_seed)
				: balance_hash_of_group(snapshot, parsed, ip);

	return balance_weighted(hash, &snapshot->adjacency[group->members], group->balanced);
}

#endif
