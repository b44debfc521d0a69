/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side, but for fib_lookup4() and fib_lookup6() */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_rib.h>
#include <rte_rib6.h>

#include "dataplane/fib.h"

/* Four-byte entries keep one bit for themselves. */
#define GROUP_MAX (UINT32_MAX >> 1)

/*
 * Tables of the second stage, 1 KB each. IPv4: one for each /24 that holds longer prefixes. IPv6:
 * one for each byte of a prefix beyond the third that no other prefix shares: 13 for a /128, five
 * for a /64. Up to 64 MB any mix fits, beyond that as many as a table of /64 takes at worst.
 */
#define TABLES4_MAX  16384u
#define TABLES6_ANY  13u
#define TABLES6_64   5u
#define TABLES6_FULL (1u << 16)
#define TABLES6_MAX  (1u << 18)

#define NAME_LENGTH_MAX 20

#define BITS_MAX 128

/*
 * The routes along the upper edge of the address space are ours to resolve: DPDK 22.11 fills the
 * whole table with a route that ends at the last address while a longer one does so, too (the
 * default route beside 128.0.0.0/1 is enough; dir24_8.c and trie.c, modify_fib(): the end wraps to
 * 0). So it is never given two nested routes with the same end. Prefixes of ones only (`ones`, the
 * default route is the one of length 0) aren't installed; what is installed are the prefixes that
 * branch off that path, ones and then a zero (`branch`), and the very last address: each with its
 * own route, or else with that of the longest prefix of ones above it.
 */
struct edge {
	uint32_t ones[BITS_MAX + 1];      /* group of the user's route of n ones, or FIB_NO_ROUTE */
	uint32_t branch[BITS_MAX + 1];    /* group of n - 1 ones and a zero; from 1 on */
	uint32_t installed[BITS_MAX + 2]; /* what DPDK has: as branch, and at [bits + 1] the last */
};

struct fib {
	struct rte_fib *v4;
	struct rte_fib6 *v6;
	enum fib_kind kind;
	int socket;
	uint32_t rebuilds; /* of v6 */
	char name[NAME_LENGTH_MAX + 1];
	uint32_t routes_max;
	uint32_t route_count[2]; /* [family == 6] */
	struct edge edge[2];
};

static uint32_t min64(uint64_t a, uint64_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Second stage tables for IPv6. The upper edge takes up to 13 more than the routes. */
static uint32_t tables6(uint64_t routes_max)
{
	uint32_t tables = min64((routes_max + 1) * TABLES6_ANY, TABLES6_FULL);

	return routes_max * TABLES6_64 <= tables ? tables
						 : min64(routes_max * TABLES6_64, TABLES6_MAX);
}

static struct rte_fib *create4(const struct fib *fib)
{
	struct rte_fib_conf conf = {
		.type = fib->kind == FIB_DIR24_8 ? RTE_FIB_DIR24_8 : RTE_FIB_DUMMY,
		.default_nh = FIB_NO_ROUTE,
		.max_routes = (int)(fib->routes_max + BITS_MAX + 1),
		.dir24_8 =
			{
				.nh_sz = RTE_FIB_DIR24_8_4B,
				.num_tbl8 = min64(fib->routes_max + UINT64_C(1), TABLES4_MAX),
			},
	};
	char name[NAME_LENGTH_MAX + 3];

	snprintf(name, sizeof(name), "%s4", fib->name);
	return rte_fib_create(name, fib->socket, &conf);
}

static struct rte_fib6 *create6(const struct fib *fib)
{
	struct rte_fib6_conf conf = {
		.type = fib->kind == FIB_DIR24_8 ? RTE_FIB6_TRIE : RTE_FIB6_DUMMY,
		.default_nh = FIB_NO_ROUTE,
		.max_routes = (int)(fib->routes_max + BITS_MAX + 1),
		.trie =
			{
				.nh_sz = RTE_FIB6_TRIE_4B,
				.num_tbl8 = tables6(fib->routes_max),
			},
	};
	char name[NAME_LENGTH_MAX + 3];

	/* A rebuilt one stands beside the one before for a while. */
	snprintf(name, sizeof(name), "%s6%c", fib->name, fib->rebuilds % 2 == 0 ? 'a' : 'b');
	return rte_fib6_create(name, fib->socket, &conf);
}

struct fib *fib_create(const char *name, enum fib_kind kind, uint32_t routes_max, int socket)
{
	struct fib *fib;

	if (strlen(name) > NAME_LENGTH_MAX || routes_max == 0 || routes_max > INT32_MAX / 4) {
		rte_errno = EINVAL;
		return NULL;
	}
	fib = calloc(1, sizeof(*fib));
	if (fib == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	snprintf(fib->name, sizeof(fib->name), "%s", name);
	fib->kind = kind;
	fib->socket = socket;
	fib->routes_max = routes_max;
	fib->v4 = create4(fib);
	if (fib->v4 == NULL)
		goto err_fib;
	fib->v6 = create6(fib);
	if (fib->v6 == NULL)
		goto err_v4;
	return fib;

err_v4:
	rte_fib_free(fib->v4);
err_fib:
	free(fib);
	return NULL;
}

void fib_free(struct fib *fib)
{
	if (fib == NULL)
		return;
	rte_fib6_free(fib->v6);
	rte_fib_free(fib->v4);
	free(fib);
}

static uint32_t bits_of(uint8_t family)
{
	return family == 4 ? 32 : 128;
}

static uint32_t address4(const uint8_t *address)
{
	return (uint32_t)address[0] << 24 | (uint32_t)address[1] << 16 | (uint32_t)address[2] << 8 |
	       address[3];
}

/* The prefix with its host bits, and what is beyond the family's bytes, set to zero. */
static void prefix_of(uint8_t out[16], const uint8_t *address, uint32_t length)
{
	memset(out, 0, 16);
	memcpy(out, address, length / 8);
	if (length % 8 != 0)
		out[length / 8] = address[length / 8] & (uint8_t)(0xff00 >> (length % 8));
}

static uint32_t leading_ones(const uint8_t prefix[16], uint32_t length)
{
	uint32_t count = 0;

	while (count < length && (prefix[count / 8] & 0x80 >> count % 8) != 0)
		count++;
	return count;
}

/*
 * DPDK 22.11 reserves second stage tables by the parent that a route has at the moment, when it
 * comes and when it goes, so that the sum drifts with every change of order; in the end it refuses
 * routes that would fit. A fresh table with the same routes counts right again.
 */
static int rebuild6(struct fib *fib)
{
	static const uint8_t all[16] = {0};
	struct rte_rib6 *rib = rte_fib6_get_rib(fib->v6);
	struct rte_rib6_node *node = NULL;
	struct rte_fib6 *fresh;
	int rc = 0;

	fib->rebuilds++;
	fresh = create6(fib);
	if (fresh == NULL) {
		fib->rebuilds--;
		return -rte_errno;
	}
	while (rc == 0 && (node = rte_rib6_get_nxt(rib, all, 0, node, RTE_RIB6_GET_NXT_ALL))) {
		uint8_t prefix[16], depth;
		uint64_t group;

		rte_rib6_get_ip(node, prefix);
		rte_rib6_get_depth(node, &depth);
		rte_rib6_get_nh(node, &group);
		rc = rte_fib6_add(fresh, prefix, depth, group);
	}
	if (rc != 0) {
		rte_fib6_free(fresh);
		fib->rebuilds--;
		return rc;
	}
	rte_fib6_free(fib->v6);
	fib->v6 = fresh;
	return 0;
}

static int table_set6(struct fib *fib, const uint8_t prefix[16], uint8_t depth, uint32_t group)
{
	return group == FIB_NO_ROUTE ? rte_fib6_delete(fib->v6, prefix, depth)
				     : rte_fib6_add(fib->v6, prefix, depth, group);
}

static int table_set(struct fib *fib, uint8_t family, const uint8_t prefix[16], uint32_t length,
		     uint32_t group)
{
	uint8_t depth = (uint8_t)length;
	int rc;

	if (family == 6) {
		rc = table_set6(fib, prefix, depth, group);
		if (rc == -ENOSPC && fib->kind == FIB_DIR24_8 && rebuild6(fib) == 0)
			rc = table_set6(fib, prefix, depth, group);
	} else if (group == FIB_NO_ROUTE) {
		rc = rte_fib_delete(fib->v4, address4(prefix), depth);
	} else {
		rc = rte_fib_add(fib->v4, address4(prefix), depth, group);
	}
	/* The trees say ENOMEM when their nodes are used up, and that is what "full" means here. */
	return rc == -ENOMEM ? -ENOSPC : rc;
}

static bool table_has(const struct fib *fib, uint8_t family, const uint8_t prefix[16],
		      uint32_t length)
{
	uint8_t depth = (uint8_t)length;

	if (family == 4)
		return rte_rib_lookup_exact(rte_fib_get_rib(fib->v4), address4(prefix), depth) !=
		       NULL;
	return rte_rib6_lookup_exact(rte_fib6_get_rib(fib->v6), prefix, depth) != NULL;
}

/* Where the user's route is kept when it lies along the edge, else NULL. */
static uint32_t *edge_route(struct fib *fib, uint8_t family, const uint8_t prefix[16],
			    uint32_t length)
{
	struct edge *edge = &fib->edge[family == 6];
	uint32_t ones = leading_ones(prefix, length);

	if (ones == length)
		return &edge->ones[length];
	return ones + 1 == length ? &edge->branch[length] : NULL;
}

static int edge_install(struct fib *fib, uint8_t family)
{
	struct edge *edge = &fib->edge[family == 6];
	uint32_t bits = bits_of(family);
	uint32_t inherited = FIB_NO_ROUTE;
	uint8_t prefix[16] = {0};

	for (uint32_t n = 1; n <= bits + 1; n++) {
		uint32_t length = n <= bits ? n : bits;
		uint32_t group = FIB_NO_ROUTE;
		int rc = 0;

		if (edge->ones[n - 1] != FIB_NO_ROUTE)
			inherited = edge->ones[n - 1];
		if (n <= bits)
			group = edge->branch[n];
		if (group == FIB_NO_ROUTE)
			group = inherited;
		/* `prefix` is n - 1 ones; what follows is zero. */
		if (group != edge->installed[n])
			rc = table_set(fib, family, prefix, length, group);
		if (rc != 0)
			return rc;
		edge->installed[n] = group;
		if (n <= bits)
			prefix[(n - 1) / 8] |= (uint8_t)(0x80 >> (n - 1) % 8);
	}
	return 0;
}

static int edge_set(struct fib *fib, uint8_t family, uint32_t *route, uint32_t group)
{
	uint32_t old = *route;
	int rc;

	*route = group;
	rc = edge_install(fib, family);
	if (rc != 0) {
		*route = old;
		edge_install(fib, family);
	}
	return rc;
}

static bool length_ok(uint8_t family, uint8_t length)
{
	return (family == 4 || family == 6) && length <= bits_of(family);
}

int fib_add(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length, uint32_t group)
{
	uint8_t prefix[16];
	uint32_t *route;
	bool known;
	int rc;

	if (!length_ok(family, length) || group == FIB_NO_ROUTE || group > GROUP_MAX)
		return -EINVAL;
	prefix_of(prefix, address, length);
	route = edge_route(fib, family, prefix, length);
	known = route != NULL ? *route != FIB_NO_ROUTE : table_has(fib, family, prefix, length);
	if (!known && fib->route_count[family == 6] >= fib->routes_max)
		return -ENOSPC;
	rc = route != NULL ? edge_set(fib, family, route, group)
			   : table_set(fib, family, prefix, length, group);
	fib->route_count[family == 6] += rc == 0 && !known;
	return rc;
}

int fib_delete(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length)
{
	uint8_t prefix[16];
	uint32_t *route;
	int rc;

	if (!length_ok(family, length))
		return -EINVAL;
	prefix_of(prefix, address, length);
	route = edge_route(fib, family, prefix, length);
	if (route != NULL)
		rc = *route == FIB_NO_ROUTE ? -ENOENT : edge_set(fib, family, route, FIB_NO_ROUTE);
	else
		rc = table_set(fib, family, prefix, length, FIB_NO_ROUTE);
	fib->route_count[family == 6] -= rc == 0;
	return rc;
}

void fib_lookup4(const struct fib *fib, const uint32_t *destinations, uint64_t *groups,
		 uint32_t count)
{
	/* DPDK forgot the const; it only reads. */
	rte_fib_lookup_bulk(fib->v4, (uint32_t *)(uintptr_t)destinations, groups, (int)count);
}

void fib_lookup6(const struct fib *fib, const uint8_t (*destinations)[16], uint64_t *groups,
		 uint32_t count)
{
	rte_fib6_lookup_bulk(fib->v6, (uint8_t(*)[16])(uintptr_t)destinations, groups, (int)count);
}
