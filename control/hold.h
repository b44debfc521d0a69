/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hold - packets that wait until the MAC address of their next hop is known.
 *
 * Bounded in every direction: HOLD_PER_KEY packets per neighbour, HOLD_PACKETS in all, HOLD_KEYS
 * neighbours, and HOLD_NS of time. RFC 1122 2.3.2.2 asks for at least the latest packet to be kept;
 * as a burst of a new connection must not lose its first packets, it is the oldest that are kept
 * here and the latest that is refused.
 *
 * Packets are opaque: what is refused or expired is handed back to the caller, who frees it.
 * The clock is an argument.
 *
 * Thread: control.
 */
#ifndef CONTROL_HOLD_H
#define CONTROL_HOLD_H

#include <stdint.h>

#define HOLD_PER_KEY 64
#define HOLD_PACKETS 1024
#define HOLD_KEYS    256
#define HOLD_NS      UINT64_C(1000000000)

/* A neighbour: an address (IPv4 in the first four bytes, the rest zero) behind an interface. */
struct hold_key {
	uint32_t ifindex;
	uint8_t family; /* 4 or 6 */
	uint8_t address[16];
};

struct hold_stats {
	uint32_t packets;  /* now */
	uint64_t held;     /* ever */
	uint64_t released; /* by hold_take() */
	uint64_t expired;  /* by hold_expire() */
	uint64_t refused;  /* by hold_put() */
};

struct hold;

/** @return NULL when out of memory */
struct hold *hold_create(void);

/** Must be empty: take or expire everything first. NULL is fine. */
void hold_free(struct hold *hold);

/**
 * Keep a packet.
 * @return 1: it is the first for this key, ask for the neighbour; 0: kept; -ENOBUFS: no room, the
 *         packet stays with the caller
 */
int hold_put(struct hold *hold, const struct hold_key *key, void *packet, uint64_t now_ns);

/** Take up to `max` packets of a key, oldest first. @return how many; fewer than max: none is left */
uint32_t hold_take(struct hold *hold, const struct hold_key *key, void **packets, uint32_t max);

/** Take up to `max` packets that have waited for HOLD_NS or longer, oldest first. */
uint32_t hold_expire(struct hold *hold, uint64_t now_ns, void **packets, uint32_t max);

/** When the oldest packet's time is over, or UINT64_MAX when there is none. */
uint64_t hold_due_ns(const struct hold *hold);

/** How many packets of this key are held. */
uint32_t hold_count(const struct hold *hold, const struct hold_key *key);

void hold_stats(const struct hold *hold, struct hold_stats *stats);

#endif
