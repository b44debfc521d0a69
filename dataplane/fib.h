/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side, but for fib_lookup4() and fib_lookup6() */
/*
 * fib - longest prefix match, both families, to the index of a next-hop group.
 *
 * A FIB is apart from the snapshot because its DIR24_8 form is 64 MB and its building takes time;
 * the snapshot names the one in force. Writers keep a left-right pair: change the side that no
 * snapshot names, publish a snapshot that names it, wait until the old one is quiet, replay.
 *
 * Thread: the look-ups by any number of workers while nobody writes to that side; all else by
 * control.
 */
#ifndef DATAPLANE_FIB_H
#define DATAPLANE_FIB_H

#include <stdint.h>

#include "dataplane/units.h"

/* Look-up result: no route. */
#define FIB_NO_ROUTE 0

enum fib_kind {
	FIB_COMPACT, /* a trie: little memory, tens of ns a look-up; the lab and small tables */
	FIB_DIR24_8, /* 64 MB for IPv4, one or two loads a look-up */
};

struct fib;

/**
 * @param name unique among the process's FIBs, at most 20 characters
 * @param routes_max per family
 * @return the FIB, or NULL with rte_errno set
 */
struct fib *fib_create(const char *name, enum fib_kind kind, uint32_t routes_max, int socket);
void fib_free(struct fib *fib);

/**
 * Set or replace a route.
 * @param family 4 or 6
 * @param address network byte order, host bits are ignored
 * @param group   index into snapshot.group; FIB_NO_ROUTE (0) is reserved
 * @return 0, -ENOSPC (table full), -EINVAL
 */
int fib_add(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length,
	    uint32_t group);

/** Remove a route. @return 0, -ENOENT, -EINVAL */
int fib_delete(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length);

/** Hot. Group of each IPv4 destination (host byte order), FIB_NO_ROUTE where there is none. */
void fib_lookup4(const struct fib *fib, const uint32_t *destinations, uint64_t *groups,
		 uint32_t count);

/** Hot. The same for IPv6 (network byte order). */
void fib_lookup6(const struct fib *fib, const uint8_t (*destinations)[16], uint64_t *groups,
		 uint32_t count);

#endif
