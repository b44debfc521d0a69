/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * punt - what the dataplane hands to the kernel, and how much of it.
 *
 * Punted frames leave through the CPU's pseudo-port, untagged, as the kernel shall see them on the
 * TAP of `packet_meta.interface`. Each reason has a rate of its own, so that a flood of one can't
 * starve the others. Frames from the kernel come in through the same port with PUNT_NONE.
 */
#ifndef DATAPLANE_PUNT_H
#define DATAPLANE_PUNT_H

#include <stdint.h>

#include "dataplane/units.h"

/* X(enum, name, packets per second, burst, help) */
#define PUNT_REASONS(X)                                                                  \
	X(NONE, "none", 0, 0, "from the kernel: a frame to leave through its interface") \
	X(LOCAL, "local", 20000, 1000, "addressed to the leaf: ping, BGP")               \
	X(ARP, "arp", 2000, 500, "ARP")                                                  \
	X(ND, "nd", 2000, 500, "ICMPv6 to a link-local multicast group")                 \
	X(NEIGHBOUR, "neighbour", 5000, 1000, "next hop not resolved: held by control")  \
	X(BROADCAST, "broadcast", 1000, 200, "broadcast and link-local multicast")

#define PUNT_ENUM_(id, name, rate, burst, help) PUNT_##id,
enum punt_reason { PUNT_REASONS(PUNT_ENUM_) PUNT_COUNT };
#undef PUNT_ENUM_

/*
 * A policer in the form of the generic cell rate algorithm (ITU-T I.371): one time instead of a
 * token count.
 */
struct policer {
	uint64_t due_ps;       /* when the next packet would come if all kept exactly to the rate */
	uint64_t interval_ps;  /* between packets at the rate */
	uint64_t tolerance_ps; /* burst - 1 intervals */
};

static inline struct policer policer_of(uint64_t now_ps, uint32_t packets_per_s, uint32_t burst)
{
	uint64_t interval_ps = PS_PER_S / packets_per_s;

	return (struct policer){now_ps, interval_ps, (burst - 1) * interval_ps};
}

/** True when a packet may pass now; then it is taken into account. */
static inline bool policer_pass(struct policer *policer, uint64_t now_ps)
{
	uint64_t due_ps = time_max(policer->due_ps, now_ps);

	if (time_after(due_ps, now_ps + policer->tolerance_ps))
		return false;
	policer->due_ps = due_ps + policer->interval_ps;
	return true;
}

/** To be called once a month or more often: a time in the past must not grow old. */
static inline void policer_refresh(struct policer *policer, uint64_t now_ps)
{
	policer->due_ps = time_max(policer->due_ps, now_ps);
}

#endif
