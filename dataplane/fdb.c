/* SPDX-License-Identifier: BSD-3-Clause */
#include <assert.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/counters.h"
#include "dataplane/fdb.h"
#include "dataplane/snapshot.h"

#define BUCKET_SLOTS 4

/*
 * Twice the slots that may be used: at that load two buckets of four, the emptier one taken, don't
 * overflow, so that the table is full at `entries` and not somewhere before.
 */
#define SLOTS_PER_ENTRY 2

/* Value of a slot: the egress above 28 bits of time, so that the time wraps where now_ps wraps. */
#define VALUE_TIME_BITS (64 - FDB_TIME_SHIFT)
#define VALUE_TIME_MASK ((UINT64_C(1) << VALUE_TIME_BITS) - 1)

struct fdb_slot {
	_Atomic uint64_t key; /* 0: empty */
	_Atomic uint64_t value;
};

struct fdb_bucket {
	alignas(64) struct fdb_slot slot[BUCKET_SLOTS];
};

static_assert(sizeof(struct fdb_bucket) == 64, "one line");

struct fdb {
	struct fdb_bucket *bucket;
	uint32_t bucket_mask;
	uint32_t capacity;

	/* What follows is the writer's; others only read it. */
	alignas(64) uint32_t sweep_next;
	_Atomic uint32_t entries;
	_Atomic uint64_t learned, moved, aged, full;
};

struct candidates {
	uint32_t first;
	uint32_t second;
};

/* layer: control side */
struct fdb *fdb_create(uint32_t entries)
{
	struct fdb *fdb;
	uint32_t buckets = entries / BUCKET_SLOTS * SLOTS_PER_ENTRY;

	assert(entries >= 64 && entries <= 4194304 && (entries & (entries - 1)) == 0);
	fdb = aligned_alloc(alignof(struct fdb), sizeof(*fdb));
	if (fdb == NULL)
		return NULL;
	memset(fdb, 0, sizeof(*fdb));
	fdb->bucket = aligned_alloc(alignof(struct fdb_bucket), buckets * sizeof(*fdb->bucket));
	if (fdb->bucket == NULL) {
		free(fdb);
		return NULL;
	}
	memset(fdb->bucket, 0, buckets * sizeof(*fdb->bucket));
	fdb->bucket_mask = buckets - 1;
	fdb->capacity = entries;
	return fdb;
}

/* layer: control side */
void fdb_free(struct fdb *fdb)
{
	if (fdb == NULL)
		return;
	free(fdb->bucket);
	free(fdb);
}

/* The two buckets of a key; never the same one. */
static inline struct candidates candidates_of(const struct fdb *fdb, uint64_t key)
{
	uint64_t hash = key * UINT64_C(0x9E3779B97F4A7C15);
	uint32_t first;

	hash = (hash ^ hash >> 32) * UINT64_C(0xD6E8FEB86659FD93);
	first = (uint32_t)(hash >> 32) & fdb->bucket_mask;
	return (struct candidates){
		.first = first,
		.second = first ^ (((uint32_t)hash >> 8 | 1) & fdb->bucket_mask),
	};
}

static inline struct fdb_slot *bucket_find(struct fdb_bucket *bucket, uint64_t key)
{
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		if (atomic_load_explicit(&bucket->slot[i].key, memory_order_acquire) == key)
			return &bucket->slot[i];
	}
	return NULL;
}

static inline struct fdb_slot *slot_find(const struct fdb *fdb, uint64_t key)
{
	struct candidates buckets = candidates_of(fdb, key);
	struct fdb_slot *slot = bucket_find(&fdb->bucket[buckets.first], key);

	return slot != NULL ? slot : bucket_find(&fdb->bucket[buckets.second], key);
}

/*
 * Value of a slot that held `key` a moment ago. The writer may have given the slot to another key
 * meanwhile; the value it stores then comes after the key 0, which the second look would see.
 */
static inline bool slot_read(const struct fdb_slot *slot, uint64_t key, uint64_t *value)
{
	*value = atomic_load_explicit(&slot->value, memory_order_acquire);
	return atomic_load_explicit(&slot->key, memory_order_relaxed) == key;
}

static inline uint64_t value_of(uint16_t egress, uint64_t now_ps)
{
	return (uint64_t)egress << VALUE_TIME_BITS | now_ps >> FDB_TIME_SHIFT;
}

static inline uint16_t value_egress(uint64_t value)
{
	return (uint16_t)(value >> VALUE_TIME_BITS);
}

static inline uint64_t value_seen_ps(uint64_t value)
{
	return (value & VALUE_TIME_MASK) << FDB_TIME_SHIFT;
}

/* Whoever wrote the time may be a little ahead of us. */
static inline bool is_old(uint64_t value, uint64_t now_ps, uint64_t age_ps)
{
	return !time_after(value_seen_ps(value) + age_ps, now_ps);
}

static void slot_clear(struct fdb *fdb, struct fdb_slot *slot)
{
	atomic_store_explicit(&slot->key, 0, memory_order_relaxed);
	atomic_store_explicit(&fdb->entries,
			      atomic_load_explicit(&fdb->entries, memory_order_relaxed) - 1,
			      memory_order_relaxed);
}

static uint32_t bucket_free_slots(struct fdb_bucket *bucket, struct fdb_slot **unused)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		if (atomic_load_explicit(&bucket->slot[i].key, memory_order_relaxed) == 0) {
			*unused = &bucket->slot[i];
			count++;
		}
	}
	return count;
}

static __attribute__((noinline)) enum fdb_learn_result slot_add(struct fdb *fdb, uint64_t key,
								uint64_t value)
{
	struct candidates buckets = candidates_of(fdb, key);
	uint32_t entries = atomic_load_explicit(&fdb->entries, memory_order_relaxed);
	struct fdb_slot *slot = NULL, *other = NULL;
	uint32_t unused = bucket_free_slots(&fdb->bucket[buckets.first], &slot);

	/* The first bucket is found with one line, so it is left only when it gets tight. */
	if (unused < BUCKET_SLOTS / 2 &&
	    bucket_free_slots(&fdb->bucket[buckets.second], &other) > unused)
		slot = other;
	if (slot == NULL || entries >= fdb->capacity) {
		counter_add(&fdb->full, 1);
		return FDB_FULL;
	}
	/* Release, too: whoever sees this value must see that the slot's last key has gone. */
	atomic_store_explicit(&slot->value, value, memory_order_release);
	atomic_store_explicit(&slot->key, key, memory_order_release);
	atomic_store_explicit(&fdb->entries, entries + 1, memory_order_relaxed);
	counter_add(&fdb->learned, 1);
	return FDB_LEARNED;
}

enum fdb_learn_result fdb_learn(struct fdb *fdb, uint64_t key, uint16_t egress, uint64_t now_ps)
{
	struct fdb_slot *slot = slot_find(fdb, key);
	uint64_t value = value_of(egress, now_ps);
	uint64_t old;

	if (slot == NULL)
		return slot_add(fdb, key, value);
	old = atomic_load_explicit(&slot->value, memory_order_relaxed);
	/* The same port within FDB_TIME_PS, less than 1 % of the shortest ageing time: no write. */
	if (old == value)
		return FDB_KNOWN;
	atomic_store_explicit(&slot->value, value, memory_order_release);
	if (value_egress(old) == egress)
		return FDB_KNOWN;
	counter_add(&fdb->moved, 1);
	return FDB_MOVED;
}

uint16_t fdb_lookup(const struct fdb *fdb, uint64_t key, uint64_t now_ps, uint64_t age_ps)
{
	const struct fdb_slot *slot = slot_find(fdb, key);
	uint64_t value;

	if (slot == NULL || !slot_read(slot, key, &value) || is_old(value, now_ps, age_ps))
		return PORT_NONE;
	return value_egress(value);
}

bool fdb_knows(const struct fdb *fdb, uint64_t key, uint16_t egress, uint64_t now_ps)
{
	const struct fdb_slot *slot = slot_find(fdb, key);
	uint64_t value;

	return slot != NULL && slot_read(slot, key, &value) && value == value_of(egress, now_ps);
}

static void bucket_sweep(struct fdb *fdb, struct fdb_bucket *bucket, uint64_t now_ps,
			 uint64_t age_ps, const struct port_bits *down)
{
	for (uint32_t i = 0; i < BUCKET_SLOTS; i++) {
		struct fdb_slot *slot = &bucket->slot[i];
		uint64_t value = atomic_load_explicit(&slot->value, memory_order_relaxed);
		uint16_t egress = value_egress(value);

		if (atomic_load_explicit(&slot->key, memory_order_relaxed) == 0)
			continue;
		if (is_old(value, now_ps, age_ps)) {
			slot_clear(fdb, slot);
			counter_add(&fdb->aged, 1);
		} else if (egress < PORT_COUNT_MAX && port_bits_test(down, egress)) {
			slot_clear(fdb, slot);
		}
	}
}

bool fdb_sweep(struct fdb *fdb, uint32_t buckets, uint64_t now_ps, uint64_t age_ps,
	       const struct port_bits *down)
{
	uint32_t left = fdb->bucket_mask + 1 - fdb->sweep_next;

	if (buckets > left)
		buckets = left;
	for (uint32_t i = 0; i < buckets; i++)
		bucket_sweep(fdb, &fdb->bucket[fdb->sweep_next + i], now_ps, age_ps, down);
	fdb->sweep_next = (fdb->sweep_next + buckets) & fdb->bucket_mask;
	return buckets == left;
}

uint32_t fdb_slot_count(const struct fdb *fdb)
{
	return (fdb->bucket_mask + 1) * BUCKET_SLOTS;
}

bool fdb_entry_get(const struct fdb *fdb, uint32_t slot_index, struct fdb_entry *entry)
{
	const struct fdb_slot *slot;
	uint64_t key, value;

	if (slot_index >= fdb_slot_count(fdb))
		return false;
	slot = &fdb->bucket[slot_index / BUCKET_SLOTS].slot[slot_index % BUCKET_SLOTS];
	key = atomic_load_explicit(&slot->key, memory_order_acquire);
	if (key == 0 || !slot_read(slot, key, &value))
		return false;
	memcpy(entry->mac, &key, sizeof(entry->mac));
	entry->vlan = (uint16_t)(key >> 48);
	entry->egress = value_egress(value);
	entry->seen_ps = value_seen_ps(value);
	return true;
}

void fdb_stats(const struct fdb *fdb, struct fdb_stats *stats)
{
	stats->learned = counter_get(&fdb->learned);
	stats->moved = counter_get(&fdb->moved);
	stats->aged = counter_get(&fdb->aged);
	stats->full = counter_get(&fdb->full);
	stats->entries = atomic_load_explicit(&fdb->entries, memory_order_relaxed);
	stats->capacity = fdb->capacity;
}
