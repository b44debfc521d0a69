/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forward - where a packet goes: what bridging and routing share.
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_FORWARD_H
#define DATAPLANE_FORWARD_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/internal.h"

/** True for group addresses, broadcast included. @param mac as load_mac() gives it */
static inline bool mac_is_multicast(uint64_t mac)
{
	return (mac & 1) != 0;
}

/** True for 01-80-C2-00-00-00..0F, which no bridge forwards (IEEE 802.1Q-2018 table 8-1). */
static inline bool mac_is_reserved(uint64_t mac)
{
	return (mac & UINT64_C(0xf0ffffffffff)) == UINT64_C(0x0000c28001);
}

/** Packet i, classified: any that came through a routed port, plain or not. */
void forward_other(struct worker *worker, struct burst *burst, uint32_t i);

/**
 * A copy of packet i, counted. One that can't be made is a packet that was to exist: counted on both
 * sides, as copied and as NO_BUFFER. @return NULL then
 */
struct rte_mbuf *burst_copy(struct worker *worker, struct burst *burst, uint32_t i);

/** A copy of packet i for the kernel; beyond the rate of its reason counted as PUNT_POLICED. */
void burst_punt_copy(struct worker *worker, struct burst *burst, uint32_t i,
		     enum punt_reason reason, uint16_t interface);

/** What the kernel wants of frames to a group: PUNT_NONE when nothing. */
enum punt_reason punt_multicast_reason(const struct parsed *parsed, const uint8_t *frame);

#endif
