/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/*
 * The trie of fib.h, and the list of routes behind it, from which a route that goes away is replaced
 * by the next shorter one.
 */
#include "dataplane/fib.h"

#include <assert.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <rte_errno.h>

#define ROOT4_COMPACT_BITS 16
#define ROOT4_FLAT_BITS    24
#define NODE_BITS          8
#define ROUTES_MAX         (1u << 24)
#define LENGTH_MAX         128
#define DEPTH_MAX          FIB_DEPTH_MAX

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)

struct route {
	uint8_t prefix[16];
	uint8_t length;
	bool used;
	uint32_t group;
};

/* What the writer knows of one family. */
struct book {
	struct fib_trie *trie;
	uint32_t bits; /* of an address */
	/* Hash table of routes: linear probing, at most half full. */
	struct route *route;
	uint32_t route_mask;
	uint32_t route_count;
	uint32_t length_count[LENGTH_MAX + 1];
	/* Of each node: routes that end in it and nodes below it. Unused nodes are a list. */
	uint32_t *held;
	uint32_t node_count; /* used at some time */
	uint32_t node_capacity;
	uint32_t node_unused; /* first of the list, by its entry 0; UINT32_MAX: none */
	uint32_t node_unused_count;
};

struct fib_books {
	struct book book[2]; /* [family == 6] */
	uint32_t routes_max;
};

/* ---- creation ---- */

/* Zero, and on huge pages when it is large and the kernel has them. */
static void *table_allocate(size_t bytes)
{
	void *memory;

	if (bytes < HUGE_PAGE_BYTES)
		return calloc(1, bytes);
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	(void)madvise(memory, bytes, MADV_HUGEPAGE);
	return memory;
}

static void table_free(void *memory, size_t bytes)
{
	if (bytes < HUGE_PAGE_BYTES)
		free(memory);
	else if (memory != NULL)
		munmap(memory, bytes);
}

static size_t root_bytes(const struct fib_trie *trie)
{
	return sizeof(uint32_t) << trie->root_bits;
}

static uint32_t route_slots(uint32_t routes_max)
{
	uint32_t slots = 2;

	while (slots < 2 * routes_max)
		slots *= 2;
	return slots;
}

static int book_create(struct book *book, struct fib_trie *trie, uint32_t bits, uint32_t root_bits,
		       uint32_t routes_max)
{
	uint32_t slots = route_slots(routes_max);

	trie->root_bits = root_bits;
	trie->root_shift = 32 - root_bits;
	trie->root = table_allocate(root_bytes(trie));
	book->trie = trie;
	book->bits = bits;
	book->route = calloc(slots, sizeof(*book->route));
	book->route_mask = slots - 1;
	book->node_unused = UINT32_MAX;
	return trie->root != NULL && book->route != NULL ? 0 : -ENOMEM;
}

static void book_free(struct book *book)
{
	if (book->trie == NULL)
		return;
	table_free(book->trie->root, root_bytes(book->trie));
	free(book->trie->node);
	free(book->route);
	free(book->held);
}

struct fib *fib_create(enum fib_kind kind, uint32_t routes_max)
{
	uint32_t root4_bits = kind == FIB_DIR24_8 ? ROOT4_FLAT_BITS : ROOT4_COMPACT_BITS;
	struct fib *fib;

	if (routes_max == 0 || routes_max > ROUTES_MAX) {
		rte_errno = EINVAL;
		return NULL;
	}
	fib = calloc(1, sizeof(*fib));
	if (fib == NULL)
		goto err;
	fib->books = calloc(1, sizeof(*fib->books));
	if (fib->books == NULL)
		goto err;
	fib->books->routes_max = routes_max;
	if (book_create(&fib->books->book[0], &fib->v4, 32, root4_bits, routes_max) != 0 ||
	    book_create(&fib->books->book[1], &fib->v6, 128, FIB_ROOT6_BITS, routes_max) != 0)
		goto err;
	return fib;

err:
	fib_free(fib);
	rte_errno = ENOMEM;
	return NULL;
}

void fib_free(struct fib *fib)
{
	if (fib == NULL)
		return;
	if (fib->books != NULL) {
		book_free(&fib->books->book[0]);
		book_free(&fib->books->book[1]);
	}
	free(fib->books);
	free(fib);
}

/* ---- the list of routes ---- */

/* The prefix with its host bits, and what is beyond the family's bytes, set to zero. */
static void prefix_of(uint8_t out[16], const uint8_t *address, uint32_t length)
{
	memset(out, 0, 16);
	memcpy(out, address, length / 8);
	if (length % 8 != 0)
		out[length / 8] = address[length / 8] & (uint8_t)(0xff00 >> (length % 8));
}

static uint32_t route_hash(const uint8_t prefix[16], uint32_t length)
{
	uint64_t high, low;

	memcpy(&high, prefix, 8);
	memcpy(&low, prefix + 8, 8);
	high = (high ^ length) * UINT64_C(0x9E3779B97F4A7C15);
	low = (low ^ high ^ high >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	return (uint32_t)(low >> 32);
}

/* The route's slot, or the empty one where it would go. */
static uint32_t route_slot(const struct book *book, const uint8_t prefix[16], uint32_t length)
{
	uint32_t slot = route_hash(prefix, length) & book->route_mask;

	while (book->route[slot].used && (book->route[slot].length != length ||
					  memcmp(book->route[slot].prefix, prefix, 16) != 0))
		slot = (slot + 1) & book->route_mask;
	return slot;
}

static void route_remove(struct book *book, uint32_t slot)
{
	uint32_t next = slot;

	book->length_count[book->route[slot].length]--;
	book->route_count--;
	/* Close the gap: move up whoever would no longer be found behind it. */
	for (;;) {
		uint32_t home;

		next = (next + 1) & book->route_mask;
		if (!book->route[next].used)
			break;
		home = route_hash(book->route[next].prefix, book->route[next].length);
		if (((next - home) & book->route_mask) >= ((next - slot) & book->route_mask)) {
			book->route[slot] = book->route[next];
			slot = next;
		}
	}
	book->route[slot].used = false;
}

/* The longest route that covers a prefix and is shorter. @return its length; its group in *group */
static uint32_t route_above(const struct book *book, const uint8_t prefix[16], uint32_t length,
			    uint32_t *group)
{
	while (length-- > 0) {
		uint8_t shorter[16];
		uint32_t slot;

		if (book->length_count[length] == 0)
			continue;
		prefix_of(shorter, prefix, length);
		slot = route_slot(book, shorter, length);
		if (book->route[slot].used) {
			*group = book->route[slot].group;
			return length;
		}
	}
	*group = FIB_NO_ROUTE;
	return 0;
}

/* ---- the trie ---- */

static bool entry_is_node(uint32_t entry)
{
	return (entry & FIB_ENTRY_NODE) != 0;
}

static uint32_t entry_length(uint32_t entry)
{
	return (entry & ~FIB_ENTRY_NODE) >> FIB_ENTRY_LENGTH_SHIFT;
}

static uint32_t entry_of(uint32_t length, uint32_t group)
{
	return length << FIB_ENTRY_LENGTH_SHIFT | group;
}

static uint32_t capacity_above(uint32_t capacity)
{
	return capacity < 64 ? 64 : capacity * 2;
}

/* Have enough nodes for the longest path, so that nothing fails halfway. */
static int nodes_reserve(struct book *book)
{
	uint32_t capacity = book->node_capacity;
	void *memory;

	while (capacity - book->node_count + book->node_unused_count < DEPTH_MAX)
		capacity = capacity_above(capacity);
	if (capacity == book->node_capacity)
		return 0;
	if (capacity > FIB_ENTRY_INDEX)
		return -ENOMEM;
	memory = realloc(book->trie->node, capacity * sizeof(*book->trie->node));
	if (memory == NULL)
		return -ENOMEM;
	book->trie->node = memory;
	memory = realloc(book->held, capacity * sizeof(*book->held));
	if (memory == NULL)
		return -ENOMEM;
	book->held = memory;
	book->node_capacity = capacity;
	return 0;
}

static uint32_t node_take(struct book *book, uint32_t group)
{
	uint32_t index = book->node_unused;

	if (index != UINT32_MAX) {
		book->node_unused = book->trie->node[index][0];
		book->node_unused_count--;
	} else {
		assert(book->node_count < book->node_capacity);
		index = book->node_count++;
	}
	for (uint32_t i = 0; i < FIB_NODE_ENTRIES; i++)
		book->trie->node[index][i] = entry_of(0, group);
	book->held[index] = 0;
	return index;
}

static void node_give(struct book *book, uint32_t index)
{
	book->trie->node[index][0] = book->node_unused;
	book->node_unused = index;
	book->node_unused_count++;
}

/* A node's entries that come from before it have another group now. Depth: at most DEPTH_MAX. */
static void node_inherit(struct book *book, uint32_t index, uint32_t group)
{
	uint32_t *table = book->trie->node[index];

	for (uint32_t i = 0; i < FIB_NODE_ENTRIES; i++) {
		if (entry_length(table[i]) != 0)
			continue;
		if (entry_is_node(table[i]))
			node_inherit(book, table[i] & FIB_ENTRY_INDEX, group);
		else
			table[i] = entry_of(0, group);
	}
}

static void entry_set(struct book *book, uint32_t *entry, uint32_t length, uint32_t group)
{
	if (entry_is_node(*entry)) {
		node_inherit(book, *entry & FIB_ENTRY_INDEX, group);
		*entry = FIB_ENTRY_NODE | entry_of(length, *entry & FIB_ENTRY_INDEX);
	} else {
		*entry = entry_of(length, group);
	}
}

/* Where a prefix ends: the table, and the entries on the way to it. */
struct path {
	uint32_t *table;
	uint32_t first, count; /* its entries in the table */
	uint32_t base;         /* bits before the table */
	uint32_t node[DEPTH_MAX];
	uint32_t *entry[DEPTH_MAX]; /* that leads to the node */
	uint32_t depth;
};

static uint32_t bits_at(const uint8_t prefix[16], uint32_t base, uint32_t bits)
{
	uint32_t value = 0;

	for (uint32_t i = 0; i < bits; i += 8)
		value = value << 8 | prefix[(base + i) / 8];
	return value;
}

/* @param grow make the nodes that are missing; else they must be there */
static void path_find(struct book *book, const uint8_t prefix[16], uint32_t length, bool grow,
		      struct path *path)
{
	uint32_t bits = book->trie->root_bits;

	path->table = book->trie->root;
	path->base = 0;
	path->depth = 0;
	while (length > path->base + bits) {
		uint32_t *entry = &path->table[bits_at(prefix, path->base, bits)];

		if (!entry_is_node(*entry)) {
			assert(grow);
			*entry = FIB_ENTRY_NODE |
				 entry_of(entry_length(*entry),
					  node_take(book, *entry & FIB_ENTRY_INDEX));
			if (path->depth > 0)
				book->held[path->node[path->depth - 1]]++;
		}
		path->entry[path->depth] = entry;
		path->node[path->depth++] = *entry & FIB_ENTRY_INDEX;
		path->table = book->trie->node[*entry & FIB_ENTRY_INDEX];
		path->base += bits;
		bits = NODE_BITS;
	}
	path->first = bits_at(prefix, path->base, bits);
	path->count = 1u << (path->base + bits - length);
}

static void trie_add(struct book *book, const uint8_t prefix[16], uint32_t length, uint32_t group,
		     bool known)
{
	struct path path;
	uint32_t own;

	path_find(book, prefix, length, true, &path);
	own = length - path.base;
	for (uint32_t i = 0; i < path.count; i++) {
		if (entry_length(path.table[path.first + i]) <= own)
			entry_set(book, &path.table[path.first + i], own, group);
	}
	if (path.depth > 0 && !known)
		book->held[path.node[path.depth - 1]]++;
}

static void trie_delete(struct book *book, const uint8_t prefix[16], uint32_t length)
{
	uint32_t group, above = route_above(book, prefix, length, &group);
	struct path path;
	uint32_t own;

	path_find(book, prefix, length, false, &path);
	own = length - path.base;
	above = above > path.base ? above - path.base : 0;
	for (uint32_t i = 0; i < path.count; i++) {
		if (entry_length(path.table[path.first + i]) == own)
			entry_set(book, &path.table[path.first + i], above, group);
	}
	/* Nodes that hold nothing of their own give way to what they inherited. */
	while (path.depth > 0 && --book->held[path.node[path.depth - 1]] == 0) {
		uint32_t *entry = path.entry[--path.depth];
		uint32_t node = path.node[path.depth];

		*entry = entry_of(entry_length(*entry), book->trie->node[node][0]);
		node_give(book, node);
	}
}

/* ---- both ---- */

static bool length_ok(uint8_t family, uint8_t length)
{
	return (family == 4 && length <= 32) || (family == 6 && length <= 128);
}

int fib_add(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length, uint32_t group)
{
	struct book *book = &fib->books->book[family == 6];
	struct route *route;
	uint8_t prefix[16];
	int rc;

	if (!length_ok(family, length) || group == FIB_NO_ROUTE || group > FIB_GROUP_MAX)
		return -EINVAL;
	prefix_of(prefix, address, length);
	route = &book->route[route_slot(book, prefix, length)];
	if (!route->used && book->route_count >= fib->books->routes_max)
		return -ENOSPC;
	rc = nodes_reserve(book);
	if (rc != 0)
		return rc;
	trie_add(book, prefix, length, group, route->used);
	if (!route->used) {
		book->route_count++;
		book->length_count[length]++;
	}
	*route = (struct route){.length = length, .used = true, .group = group};
	memcpy(route->prefix, prefix, sizeof(route->prefix));
	return 0;
}

int fib_delete(struct fib *fib, uint8_t family, const uint8_t *address, uint8_t length)
{
	struct book *book = &fib->books->book[family == 6];
	uint8_t prefix[16];
	uint32_t slot;

	if (!length_ok(family, length))
		return -EINVAL;
	prefix_of(prefix, address, length);
	slot = route_slot(book, prefix, length);
	if (!book->route[slot].used)
		return -ENOENT;
	trie_delete(book, prefix, length);
	route_remove(book, slot);
	return 0;
}

uint32_t fib_node_count(const struct fib *fib, uint8_t family)
{
	const struct book *book = &fib->books->book[family == 6];

	return book->node_count - book->node_unused_count;
}

uint64_t fib_bytes(enum fib_kind kind, uint32_t routes_max, const uint32_t nodes[2])
{
	uint64_t bytes = sizeof(struct fib) + sizeof(struct fib_books);

	bytes += sizeof(uint32_t) << (kind == FIB_DIR24_8 ? ROOT4_FLAT_BITS : ROOT4_COMPACT_BITS);
	bytes += sizeof(uint32_t) << FIB_ROOT6_BITS;
	for (uint32_t i = 0; i < 2; i++) {
		uint32_t capacity = 0;

		while (capacity < nodes[i] + DEPTH_MAX)
			capacity = capacity_above(capacity);
		bytes += (uint64_t)route_slots(routes_max) * sizeof(struct route) +
			 capacity * (FIB_NODE_ENTRIES * sizeof(uint32_t) + sizeof(uint32_t));
	}
	return bytes;
}
