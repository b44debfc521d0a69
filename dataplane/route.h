/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * route - IPv4 and IPv6 forwarding: longest prefix, next hop, TTL, MAC addresses.
 *
 * Neither touches a field that the RoCEv2 invariant CRC covers (TTL, DSCP, ECN and checksums are
 * masked in it, InfiniBand specification annex A17.3.3).
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_ROUTE_H
#define DATAPLANE_ROUTE_H

#include <stdint.h>

struct burst;
struct worker;

/** A burst that came in through a routed port. Hot: plain IPv4 in one go, see forward_other(). */
void route_burst(struct worker *worker, struct burst *burst);

/** Packet i, which is IP, addressed to the router and classified. */
void route_packet(struct worker *worker, struct burst *burst, uint32_t i);

#endif
