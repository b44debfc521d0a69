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
 * one for every byte of a prefix beyond the third that no other prefix shares: five for a /64.
 */
#define TABLES4_MIN	  256u
#define TABLES4_MAX	  16384u
#define TABLES6_PER_ROUTE 6u
#define TABLES6_MIN	  1024u
#define TABLES6_MAX	  (1u << 18)

#define NAME_LENGTH_MAX 20

struct fib {
	struct rte_fib *v4;
	struct rte_fib6 *v6;
	uint32_t routes_max;
	uint32_t route_count4;
	uint32_t route_count6;
};

static uint32_t clamp(uint64_t value, uint32_t low, uint32_t high)
{
	return value < low ? low : value > high ? high : (uint32_t)value;
}

static struct rte_fib *create4(const char *name, enum fib_kind kind, uint32_t routes_max,
			       int socket)
{
	struct rte_fib_conf conf = {
		.type = kind == FIB_DIR24_8 ? RTE_FIB_DIR24_8 : RTE_FIB_DUMMY,
		.default_nh = FIB_NO_ROUTE,
		.max_routes = (int)routes_max,
		.dir24_8 =
			{
				.nh_sz = RTE_FIB_DIR24_8_4B,
				.num_tbl8 = clamp(routes_max, TABLES4_MIN, TABLES4_MAX),
			},
	};

	return rte_fib_create(name, socket, &conf);
}

static struct rte_fib6 *create6(const char *name, enum fib_kind kind, uint32_t routes_max,
				int socket)
{
	struct rte_fib6_conf conf = {
		.type = kind == FIB_DIR24_8 ? RTE_FIB6_TRIE : RTE_FIB6_DUMMY,
		.default_nh = FIB_NO_ROUTE,
		.max_routes = (int)routes_max,
		.trie =
			{
				.nh_sz = RTE_FIB6_TRIE_4B,
				.num_tbl8 = clamp((uint64_t)routes_max * TABLES6_PER_ROUTE,
						  TABLES6_MIN, TABLES6_MAX),
			},
	};

	return rte_fib6_create(name, socket, &conf);
}

struct fib *fib_create(const char *name, enum fib_kind kind, uint32_t routes_max, int socket)
{
	char full_name[NAME_LENGTH_MAX + 2];
	struct fib *fib;

	if (strlen(name) > NAME_LENGTH_MAX || routes_max == 0 || routes_max > INT32_MAX / 2) {
		rte_errno = EINVAL;
		return NULL;
	}
	fib = calloc(1, sizeof(*fib));
	if (fib == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	fib->routes_max = routes_max;
	snprintf(full_name, sizeof(full_name), "%s4", name);
	fib->v4 = create4(full_name, kind, routes_max, socket);
	if (fib->v4 == NULL)
		goto err_fib;
	snprintf(full_name, sizeof(full_name), "%s6", name);
	fib->v6 = create6(full_name, kind, routes_max, socket);
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

static uint32_t address4(const uint8_t *address, uint8_t length)
{
	uint32_t value = (uint32_t)address[0] << 24 | (uint32_t)address[1] << 16 |
			 (uint32_t)address[2] << 8 | address[3];

	return length == 0 ? 0 : value & UINT32_MAX << (32 - length);
}

static void address6(uint8_t out[16], const uint8_t *address, uint8_t length)
{
	memset(out, 0, 16);
	memcpy(out, address, length / 8);
	if (length % 8 != 0)
		out[length / 8] = address[length / 8] & (uint8_t)(0xff00 >> (length % 8));
}

static bool length_ok(uint8_t family, uint8_t length)
{
	return (family == 4 && length <= 32) || (family == 6 && length <= 128);
}

/* DPDK's trees say ENOMEM when their nodes are used up, and that is what "full" means here. */
static int full_or(int rc)
{
	return rc == -ENOMEM ? -ENOSPC : rc;
}

int fib_add(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length, uint32_t group)
{
	uint32_t *count = family == 4 ? &fib->route_count4 : &fib->route_count6;
	uint8_t prefix6[16];
	uint32_t prefix4 = 0;
	bool known;
	int rc;

	if (!length_ok(family, length) || group == FIB_NO_ROUTE || group > GROUP_MAX)
		return -EINVAL;
	if (family == 4) {
		prefix4 = address4(address, length);
		known = rte_rib_lookup_exact(rte_fib_get_rib(fib->v4), prefix4, length) != NULL;
	} else {
		address6(prefix6, address, length);
		known = rte_rib6_lookup_exact(rte_fib6_get_rib(fib->v6), prefix6, length) != NULL;
	}
	if (!known && *count >= fib->routes_max)
		return -ENOSPC;
	rc = family == 4 ? rte_fib_add(fib->v4, prefix4, length, group)
			 : rte_fib6_add(fib->v6, prefix6, length, group);
	if (rc != 0)
		return full_or(rc);
	*count += !known;
	return 0;
}

int fib_delete(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length)
{
	uint8_t prefix6[16];
	int rc;

	if (!length_ok(family, length))
		return -EINVAL;
	if (family == 4) {
		rc = rte_fib_delete(fib->v4, address4(address, length), length);
		fib->route_count4 -= rc == 0;
	} else {
		address6(prefix6, address, length);
		rc = rte_fib6_delete(fib->v6, prefix6, length);
		fib->route_count6 -= rc == 0;
	}
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
