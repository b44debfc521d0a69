/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * balance - which of several next hops a flow takes.
 *
 * Equal-cost multipath by a hash over the 5-tuple and, for RoCEv2, the destination queue pair: the
 * UDP source port alone often doesn't tell queue pairs apart (Gangidi et al., SIGCOMM 2024, calls
 * this E-ECMP). All fragments of a datagram have no ports, so that they keep together. The seed
 * differs between leaves, so that two tiers don't choose alike.
 */
#ifndef DATAPLANE_BALANCE_H
#define DATAPLANE_BALANCE_H

#include <stdint.h>

#include "dataplane/parse.h"

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
 * @param ip  its IP header
 * @return 32 well mixed bits
 */
static inline uint32_t balance_hash(const struct parsed *parsed, const uint8_t *ip, uint64_t seed)
{
	/* BALANCE_QP leaves the low byte free. Without ports or queue pair the parser says 0. */
	uint32_t flow = (parsed->bth_qp & BALANCE_QP) | parsed->protocol;
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

/** Member 0..count-1 of a group for a hash. Hot. */
static inline uint32_t balance_member(uint32_t hash, uint32_t count)
{
	return (uint32_t)((uint64_t)hash * count >> 32);
}

#endif
