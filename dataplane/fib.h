/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fib - longest prefix match, both families, to the index of a next-hop group.
 *
 * A FIB is apart from the snapshot because its flat form is 64 MB and its building takes time; the
 * snapshot names the one in force. Writers keep a left-right pair: change the side that no snapshot
 * names, publish a snapshot that names it, wait until the old one is quiet, replay.
 *
 * The look-up table is a trie: a root over the first bits of an address, below it nodes of 256
 * entries for eight more bits each, only where longer prefixes need them. A look-up takes one load
 * for the root and one for each eight bits beyond it. Our own, because DPDK 22.11's rte_fib lets a
 * route that ends at the last address cover longer ones with the same end (a default route beside
 * 128.0.0.0/1), refuses IPv6 routes after enough changes, takes four memzones for each FIB (the lab
 * has hundreds), and its call costs more than the look-up.
 *
 * Thread: fib_find4() and fib_find6() by any number of workers while nobody writes to that side;
 * all else by control.
 */
#ifndef DATAPLANE_FIB_H
#define DATAPLANE_FIB_H

#include <stdint.h>

#include <rte_branch_prediction.h>

#include "dataplane/units.h"

/* Look-up result: no route. */
#define FIB_NO_ROUTE 0

enum fib_kind {
	FIB_COMPACT, /* IPv4 root of 16 bits: 256 KB, pages without routes untouched; the lab */
	FIB_DIR24_8, /* of 24 bits: 64 MB, one or two loads a look-up */
};

#define FIB_ROOT6_BITS   16
#define FIB_DEPTH_MAX    14 /* nodes below each other: a /128 below a root of 16 bits */
#define FIB_NODE_ENTRIES 256

/*
 * An entry is a group or the node to go on in; above it the length of the route that it comes from,
 * counted from the first bit of its table (0: from before that, or no route).
 */
#define FIB_ENTRY_NODE         0x80000000u
#define FIB_ENTRY_LENGTH_SHIFT 26
#define FIB_ENTRY_INDEX        0x03ffffffu
#define FIB_GROUP_MAX          FIB_ENTRY_INDEX

struct fib_trie {
	uint32_t *root;
	uint32_t (*node)[FIB_NODE_ENTRIES];
	uint32_t root_bits;
	uint32_t root_shift; /* 32 - root_bits */
};

struct fib {
	struct fib_trie v4, v6;
	struct fib_books *books; /* the writer's */
};

/**
 * @param routes_max per family, 1..16777216
 * @return the FIB, or NULL with rte_errno set (EINVAL, ENOMEM). layer: control side
 */
struct fib *fib_create(enum fib_kind kind, uint32_t routes_max);

/* layer: control side */
void fib_free(struct fib *fib);

/**
 * Set or replace a route. layer: control side
 * @param family 4 or 6
 * @param address network byte order, host bits are ignored
 * @param group   index into snapshot.group, at most FIB_GROUP_MAX; FIB_NO_ROUTE (0) is reserved
 * @return 0, -ENOSPC (table full), -ENOMEM, -EINVAL; unchanged on failure
 */
int fib_add(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length,
	    uint32_t group);

/** Remove a route. layer: control side. @return 0, -ENOENT, -EINVAL */
int fib_delete(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length);

/** Nodes in use below the root, 1 KB each. layer: control side. @param family 4 or 6 */
uint32_t fib_node_count(const struct fib *fib, uint8_t family);

/**
 * Memory that a FIB takes at most, in bytes: of the process, none of DPDK's. layer: control side
 * @param nodes [family == 6] that its routes need
 */
uint64_t fib_bytes(enum fib_kind kind, uint32_t routes_max, const uint32_t nodes[2]);

/** Hot. Group of an IPv4 destination (host byte order), FIB_NO_ROUTE when there is none. */
static inline uint32_t fib_trie_find4(const struct fib_trie *trie, uint32_t destination)
{
	uint32_t entry = trie->root[destination >> trie->root_shift];
	uint32_t shift = trie->root_shift;

	while (unlikely((entry & FIB_ENTRY_NODE) != 0)) {
		shift -= 8;
		entry = trie->node[entry & FIB_ENTRY_INDEX][destination >> shift & 0xff];
	}
	return entry & FIB_ENTRY_INDEX;
}

static inline uint32_t fib_find4(const struct fib *fib, uint32_t destination)
{
	return fib_trie_find4(&fib->v4, destination);
}

/** Hot. The same for IPv6 (network byte order). */
static inline uint32_t fib_find6(const struct fib *fib, const uint8_t destination[16])
{
	const struct fib_trie *trie = &fib->v6;
	uint32_t entry = trie->root[(uint32_t)destination[0] << 8 | destination[1]];
	const uint8_t *next = destination + FIB_ROOT6_BITS / 8;

	while ((entry & FIB_ENTRY_NODE) != 0)
		entry = trie->node[entry & FIB_ENTRY_INDEX][*next++];
	return entry & FIB_ENTRY_INDEX;
}

#endif
