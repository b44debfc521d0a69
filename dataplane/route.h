/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route - IPv4 and IPv6 forwarding: longest prefix, next hop, TTL, MAC addresses.
 *
 * Neither touches a field that the RoCEv2 invariant CRC covers (TTL, DSCP, ECN and checksums are
 * masked in it, InfiniBand specification annex A17.3.3).
 *
 * Packets addressed to the router are looked up and collected while a burst is walked through, then
 * forwarded together.
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_ROUTE_H
#define DATAPLANE_ROUTE_H

#include <rte_byteorder.h>

#include "dataplane/internal.h"

/* What the first octet of an IPv4 address says (RFC 1812 5.3.7, RFC 6890). */
#define ROUTE_OCTET_SOURCE_BAD      0x1u
#define ROUTE_OCTET_DESTINATION_BAD 0x2u
#define ROUTE_OCTET_MULTICAST       0x4u
#define ROUTE_OCTET_LINK_LOCAL      0x8u /* look at the second octet too */

extern const uint8_t route_octet_flags[256];

struct route_batch {
	const struct fib *fib;
	uint32_t count; /* IPv4 packets */
	uint32_t six;   /* bit i: packet i of the burst is IPv6 */
	uint32_t group[BURST_COUNT_MAX];
	uint16_t plain_bytes[BURST_COUNT_MAX]; /* frame length, UINT16_MAX: not plain IPv4 */
	uint8_t index[BURST_COUNT_MAX];        /* in the burst */
};

static inline void route_batch_init(struct route_batch *batch, const struct burst *burst)
{
	batch->fib = burst->snapshot->fib[0];
	batch->count = 0;
	batch->six = 0;
}

/** Collect packet i, which is IP and addressed to the router. Martians are dropped. Cold. */
void route_add_other(struct worker *worker, struct burst *burst, uint32_t i,
		     struct route_batch *batch);

/** The same for a packet that is plain (parsed_is_plain_ipv4()). Hot. */
static inline void route_add_plain(struct worker *worker, struct burst *burst, uint32_t i,
				   struct route_batch *batch)
{
	const struct parsed *parsed = &burst->parsed[i];
	uint32_t count = batch->count;

	if (unlikely((route_octet_flags[(uint8_t)parsed->source] |
		      route_octet_flags[(uint8_t)parsed->destination]) != 0)) {
		route_add_other(worker, burst, i, batch);
		return;
	}
	batch->group[count] = fib_find4(batch->fib, rte_be_to_cpu_32(parsed->destination));
	batch->plain_bytes[count] = parsed->length;
	batch->index[count] = (uint8_t)i;
	batch->count = count + 1;
}

/** Forward what was collected. Hot. */
void route_batch(struct worker *worker, struct burst *burst, const struct route_batch *batch);

#endif
