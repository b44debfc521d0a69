/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * apply_internal - what the files behind apply.h share; nobody else includes it.
 */
#ifndef CONTROL_APPLY_INTERNAL_H
#define CONTROL_APPLY_INTERNAL_H

#include "control/apply.h"

/** Bytes of an address. */
static inline size_t ip_size(const struct config_ip *ip)
{
	return ip->family == 4 ? 4 : 16;
}

/** By family, then by address: as memcmp(). */
int ip_compare(const struct config_ip *a, const struct config_ip *b);

/* A network that one of our interfaces is in. The config's are disjoint between interfaces. */
struct network {
	struct config_prefix address; /* our own in it */
	uint16_t interface;
};

struct networks {
	struct network *entry; /* sorted by family and address */
	uint32_t count;
};

/** @return 0, or -ENOMEM */
int networks_create(struct networks *networks, const struct config *config);
void networks_free(struct networks *networks);

/** Interface of the network that holds an address, or INTERFACE_NONE. */
uint16_t networks_find(const struct networks *networks, const struct config_ip *ip);

/** Zeroed memory for `count` > 0 elements, on whole cache lines; NULL when there is none. */
void *apply_allocate(size_t count, size_t size);

/**
 * The routing part of a snapshot whose interfaces and ports are filled in: adjacencies, neighbours
 * and groups. What it allocates belongs to the snapshot.
 * @return 0, or -ENOMEM
 */
int apply_routing(struct snapshot *snapshot, const struct config *config,
		  const struct apply_state *state);

/**
 * The buffer's tables of a snapshot.
 * @return 0, -ENOMEM, or -EINVAL: the config doesn't fit, apply_plan() says why
 */
int apply_buffer(struct snapshot *snapshot, const struct config *config,
		 const struct apply_state *state);

/**
 * `gap: auto` is the time in which this many queues drain that hold kmax bytes, the slowest port and the deepest
 * class that forms flowlets: as much as one path can be behind another whose queues are empty, while ECN
 * holds. Paths differ in an uplink here and a port of the switch behind it, taken to be like ours; the last
 * hop is common. Where nothing is marked: 256 us, what hardware takes by default.
 */
#define APPLY_GAP_HOPS 2

/** All classes go by the hash of 5-tuple and queue pair on this route; the snapshot's classes are filled in. */
bool apply_balance_is_plain(const struct snapshot *snapshot, const struct config *config,
			    const struct config_route *route);

/** What all modes need to know; after the buffer. */
void apply_balance(struct snapshot *snapshot, const struct config *config);

/** Groups of the peers of in-order spray: of each its address's, then its prefixes'. */
uint32_t apply_spray_groups(const struct config *config);

/** The peers' prefixes. @param group the first of theirs. @return 0, or -ENOSPC */
int apply_spray_fib(struct fib *fib, const struct config *config, uint32_t group);

/** What all peers have in common; after ports and classes, before groups. @return 0, or -ENOMEM */
int apply_spray(struct snapshot *snapshot, const struct config *config,
		const struct apply_state *state);

/** A peer, by the group of its address, which goes by `route`. */
void apply_spray_peer(struct snapshot *snapshot, const struct config *config, uint16_t index,
		      const struct config_route *route, const struct group *group,
		      const struct networks *networks);

/** Fill an empty FIB. @return 0, or -ENOSPC */
int apply_fib(struct fib *fib, const struct config *config);

#endif
