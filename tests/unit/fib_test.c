/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <rte_errno.h>

#include "dataplane/fib.h"

enum { ROUTES_MAX = 600 };

/* The reference: a list, searched from end to end. */
struct route {
	uint8_t address[16];
	uint8_t length;
	uint32_t group;
};

struct table {
	uint8_t family;
	uint32_t count;
	struct route route[ROUTES_MAX];
};

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

static bool prefix_covers(const uint8_t *prefix, uint8_t length, const uint8_t *address)
{
	for (uint8_t bit = 0; bit < length; bit++) {
		uint8_t mask = (uint8_t)(0x80 >> bit % 8);

		if (((prefix[bit / 8] ^ address[bit / 8]) & mask) != 0)
			return false;
	}
	return true;
}

static struct route *table_find(struct table *table, const struct route *wanted)
{
	for (uint32_t i = 0; i < table->count; i++) {
		if (table->route[i].length == wanted->length &&
		    prefix_covers(wanted->address, wanted->length, table->route[i].address))
			return &table->route[i];
	}
	return NULL;
}

static uint32_t table_lookup(const struct table *table, const uint8_t *address)
{
	const struct route *best = NULL;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct route *route = &table->route[i];

		if (prefix_covers(route->address, route->length, address) &&
		    (best == NULL || route->length > best->length))
			best = route;
	}
	return best == NULL ? FIB_NO_ROUTE : best->group;
}

/* Few different bytes, so that prefixes nest and collide; some along the end of the space. */
static void draw_address(uint64_t *state, uint8_t size, uint8_t *address)
{
	static const uint8_t values[] = {0x00, 0x0a, 0x7f, 0x80, 0xff};
	uint32_t ones = draw(state, 4) == 0 ? draw(state, size + 1u) : 0;

	for (uint8_t i = 0; i < size; i++)
		address[i] = i < ones               ? 0xff
			     : draw(state, 16) == 0 ? (uint8_t)draw(state, 256)
						    : values[draw(state, i == 0 ? 5 : 2)];
}

static uint32_t fib_get(const struct fib *fib, uint8_t family, const uint8_t *address)
{
	if (family == 6)
		return fib_find6(fib, address);
	return fib_find4(fib, (uint32_t)address[0] << 24 | (uint32_t)address[1] << 16 |
				      (uint32_t)address[2] << 8 | address[3]);
}

/* Addresses at the edges of a route: inside, and one bit beside it. */
static void check_edges(const struct fib *fib, const struct table *table, const struct route *route)
{
	uint8_t size = table->family == 4 ? 4 : 16;
	uint8_t low[16] = {0}, high[16], beside[16];

	for (uint8_t i = 0; i < size; i++) {
		int left = route->length - 8 * i;
		int bits = left < 0 ? 0 : left > 8 ? 8 : left;
		uint8_t mask = (uint8_t)(0xff00 >> bits);

		low[i] = route->address[i] & mask;
		high[i] = (uint8_t)(route->address[i] | (uint8_t)~mask);
	}
	memcpy(beside, low, sizeof(beside));
	if (route->length > 0)
		beside[(route->length - 1) / 8] ^= (uint8_t)(0x80 >> (route->length - 1) % 8);
	cr_assert_eq(fib_get(fib, table->family, low), table_lookup(table, low));
	cr_assert_eq(fib_get(fib, table->family, high), table_lookup(table, high));
	cr_assert_eq(fib_get(fib, table->family, beside), table_lookup(table, beside));
}

static void check_random(const struct fib *fib, const struct table *table, uint64_t *state)
{
	for (uint32_t i = 0; i < 100; i++) {
		uint8_t address[16] = {0};

		draw_address(state, table->family == 4 ? 4 : 16, address);
		cr_assert_eq(fib_get(fib, table->family, address), table_lookup(table, address));
	}
}

/* Random additions, replacements and removals; the FIB must agree with the list throughout. */
static void compare_with_reference(uint8_t family, enum fib_kind kind, uint32_t routes_max,
				   uint32_t steps)
{
	static struct table table;
	struct fib *fib = fib_create(kind, routes_max);
	uint8_t bits = family == 4 ? 32 : 128;
	uint64_t state = family;

	cr_assert_not_null(fib, "%s", rte_strerror(rte_errno));
	table = (struct table){.family = family};
	for (uint32_t step = 0; step < steps; step++) {
		struct route route = {.length = (uint8_t)draw(&state, bits + 1u),
				      .group = 1 + draw(&state, 1u << 20)};
		struct route *known;

		draw_address(&state, bits / 8, route.address);
		if (table.count > 0 && draw(&state, 3) == 0)
			route = table.route[draw(&state, table.count)];
		known = table_find(&table, &route);
		if (known != NULL && draw(&state, 2) == 0) {
			cr_assert_eq(fib_delete(fib, family, route.address, route.length), 0);
			*known = table.route[--table.count];
		} else if (known != NULL || table.count < routes_max) {
			route.group = 1 + draw(&state, 1u << 20);
			cr_assert_eq(fib_add(fib, family, route.address, route.length, route.group),
				     0);
			*(known != NULL ? known : &table.route[table.count++]) = route;
		}
		check_edges(fib, &table, &route);
		if (step % 100 == 99)
			check_random(fib, &table, &state);
	}
	while (table.count > 0) {
		struct route route = table.route[--table.count];

		cr_assert_eq(fib_delete(fib, family, route.address, route.length), 0);
		check_edges(fib, &table, &route);
	}
	check_random(fib, &table, &state);
	cr_assert_eq(fib_node_count(fib, family), 0, "nothing stays behind");
	fib_free(fib);
}

Test(fib, ipv4_compact_agrees_with_a_linear_search)
{
	compare_with_reference(4, FIB_COMPACT, ROUTES_MAX, 3000);
}

Test(fib, ipv4_dir24_8_agrees_with_a_linear_search)
{
	compare_with_reference(4, FIB_DIR24_8, ROUTES_MAX, 3000);
}

Test(fib, ipv6_compact_agrees_with_a_linear_search)
{
	compare_with_reference(6, FIB_COMPACT, ROUTES_MAX, 3000);
}

Test(fib, ipv6_trie_agrees_with_a_linear_search)
{
	compare_with_reference(6, FIB_DIR24_8, ROUTES_MAX, 3000);
}

Test(fib, nodes_are_made_where_longer_prefixes_need_them)
{
	static const uint8_t address4[4] = {10, 1, 2, 3}, address6[16] = {0xfd, 1, 2, 3};
	struct fib *fib = fib_create(FIB_COMPACT, 10);

	/* Roots of 16 bits, nodes of eight. */
	cr_assert_eq(fib_add(fib, 4, address4, 16, 1), 0);
	cr_assert_eq(fib_node_count(fib, 4), 0);
	cr_assert_eq(fib_add(fib, 4, address4, 32, 2), 0);
	cr_assert_eq(fib_node_count(fib, 4), 2);
	cr_assert_eq(fib_add(fib, 4, address4, 17, 3), 0);
	cr_assert_eq(fib_delete(fib, 4, address4, 32), 0);
	cr_assert_eq(fib_node_count(fib, 4), 1);
	cr_assert_eq(fib_delete(fib, 4, address4, 17), 0);
	cr_assert_eq(fib_node_count(fib, 4), 0);
	cr_assert_eq(fib_add(fib, 6, address6, 64, 1), 0);
	cr_assert_eq(fib_node_count(fib, 6), (64 - 16) / 8);
	fib_free(fib);
}

static const enum fib_kind kinds[] = {FIB_COMPACT, FIB_DIR24_8};

Test(fib, host_bits_of_a_route_do_not_count)
{
	static const uint8_t host4[4] = {10, 1, 2, 3}, other4[4] = {10, 1, 9, 9};
	static const uint8_t host6[16] = {0xfd, 1, 2, 3}, other6[16] = {0xfd, 1, 9, 9};

	for (size_t k = 0; k < 2; k++) {
		struct fib *fib = fib_create(kinds[k], 16);

		cr_assert_eq(fib_add(fib, 4, host4, 16, 7), 0);
		cr_assert_eq(fib_add(fib, 6, host6, 16, 8), 0);
		cr_assert_eq(fib_get(fib, 4, other4), 7);
		cr_assert_eq(fib_get(fib, 6, other6), 8);
		cr_assert_eq(fib_delete(fib, 4, other4, 16), 0);
		cr_assert_eq(fib_delete(fib, 6, other6, 16), 0);
		cr_assert_eq(fib_get(fib, 4, host4), FIB_NO_ROUTE);
		cr_assert_eq(fib_get(fib, 6, host6), FIB_NO_ROUTE);
		fib_free(fib);
	}
}

/* All end at the last address: where arithmetic on the ends of ranges wraps. */
Test(fib, default_route_leaves_longer_ones_alone)
{
	static const uint8_t zero[16] = {0}, half[16] = {0x80}, ten[16] = {10};
	static const uint8_t last[16] = {255, 255, 255, 255, 255, 255, 255, 255,
					 255, 255, 255, 255, 255, 255, 255, 255};

	for (size_t k = 0; k < 2; k++) {
		struct fib *fib = fib_create(kinds[k], 16);

		for (uint8_t family = 4; family <= 6; family += 2) {
			cr_assert_eq(fib_add(fib, family, ten, 8, 1), 0);
			cr_assert_eq(fib_add(fib, family, half, 1, 2), 0);
			cr_assert_eq(fib_add(fib, family, last, family == 4 ? 32 : 128, 3), 0);
			cr_assert_eq(fib_add(fib, family, zero, 0, 4), 0);
			cr_assert_eq(fib_get(fib, family, ten), 1);
			cr_assert_eq(fib_get(fib, family, half), 2);
			cr_assert_eq(fib_get(fib, family, last), 3);
			cr_assert_eq(fib_get(fib, family, zero), 4);
			cr_assert_eq(fib_delete(fib, family, half, 1), 0);
			cr_assert_eq(fib_get(fib, family, half), 4);
			cr_assert_eq(fib_delete(fib, family, zero, 0), 0);
			cr_assert_eq(fib_get(fib, family, half), FIB_NO_ROUTE);
			cr_assert_eq(fib_get(fib, family, last), 3);
			cr_assert_eq(fib_delete(fib, family, zero, 0), -ENOENT);
		}
		fib_free(fib);
	}
}

Test(fib, full_table_says_so_and_keeps_what_it_has)
{
	for (size_t k = 0; k < 2; k++) {
		struct fib *fib = fib_create(kinds[k], 10);
		uint8_t prefix4[4] = {10}, prefix6[16] = {0xfd};

		for (uint8_t i = 0; i < 10; i++) {
			prefix4[1] = prefix6[1] = i;
			cr_assert_eq(fib_add(fib, 4, prefix4, 16, 1u + i), 0);
			cr_assert_eq(fib_add(fib, 6, prefix6, 16, 1u + i), 0);
		}
		prefix4[1] = prefix6[1] = 10;
		cr_assert_eq(fib_add(fib, 4, prefix4, 16, 99), -ENOSPC);
		cr_assert_eq(fib_add(fib, 6, prefix6, 16, 99), -ENOSPC);
		cr_assert_eq(fib_get(fib, 4, prefix4), FIB_NO_ROUTE);
		prefix4[1] = prefix6[1] = 3;
		cr_assert_eq(fib_add(fib, 4, prefix4, 16, 50), 0, "replacing needs no room");
		cr_assert_eq(fib_add(fib, 6, prefix6, 16, 50), 0, "replacing needs no room");
		cr_assert_eq(fib_get(fib, 4, prefix4), 50);
		cr_assert_eq(fib_get(fib, 6, prefix6), 50);
		fib_free(fib);
	}
}

Test(fib, refuses_what_makes_no_sense)
{
	static const uint8_t address[16] = {10};
	struct fib *fib = fib_create(FIB_COMPACT, 10);

	cr_assert_eq(fib_add(fib, 4, address, 33, 1), -EINVAL);
	cr_assert_eq(fib_add(fib, 6, address, 129, 1), -EINVAL);
	cr_assert_eq(fib_add(fib, 5, address, 8, 1), -EINVAL);
	cr_assert_eq(fib_add(fib, 4, address, 8, FIB_NO_ROUTE), -EINVAL);
	cr_assert_eq(fib_add(fib, 4, address, 8, FIB_GROUP_MAX + 1), -EINVAL);
	cr_assert_eq(fib_delete(fib, 4, address, 8), -ENOENT);
	cr_assert_eq(fib_delete(fib, 6, address, 8), -ENOENT);
	cr_assert_eq(fib_delete(fib, 4, address, 33), -EINVAL);
	cr_assert_eq(fib_add(fib, 4, address, 8, FIB_GROUP_MAX), 0);
	cr_assert_eq(fib_get(fib, 4, address), FIB_GROUP_MAX);
	cr_assert_null(fib_create(FIB_COMPACT, 0));
	cr_assert_null(fib_create(FIB_COMPACT, UINT32_MAX));
	fib_free(fib);
	fib_free(NULL);
}
