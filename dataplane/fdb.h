/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fdb - forwarding database of the bridge: (VLAN, MAC) -> egress, learned from source addresses.
 *
 * A hash table of cache-line buckets (four entries each, two candidate buckets per key). One worker
 * writes it; look-ups and fdb_entry_get() may run in other threads at the same time: entries are
 * published value first, key last. An entry is rewritten only when its port changed or its time is
 * old enough to matter, so that a busy table stays unwritten and shared.
 *
 * Ageing is by the time argument (IEEE 802.1Q-2018 8.8.3): an entry not seen for `age` is dead at
 * once to look-ups by time, and its slot is reclaimed by the sweep.
 */
#ifndef DATAPLANE_FDB_H
#define DATAPLANE_FDB_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_bits.h"
#include "dataplane/units.h"

struct fdb;

enum fdb_learn_result {
	FDB_KNOWN,   /* nothing written, or only its time */
	FDB_LEARNED, /* new */
	FDB_MOVED,   /* was on another port */
	FDB_FULL,    /* no room: not learned, counted */
};

/** @param entries power of two, 64..4194304. @return NULL when out of memory. Control. */
struct fdb *fdb_create(uint32_t entries);
void fdb_free(struct fdb *fdb);

/** Key of a MAC address (six bytes in memory order) in a VLAN (1..4094). Never 0. */
static inline uint64_t fdb_key(const uint8_t *mac, uint16_t vlan)
{
	uint32_t low;
	uint16_t high;

	__builtin_memcpy(&low, mac, 4);
	__builtin_memcpy(&high, mac + 4, 2);
	return (uint64_t)vlan << 48 | (uint64_t)high << 32 | low;
}

/** Note that a MAC was seen on a port. The writing worker only. Hot: one line when it is known. */
enum fdb_learn_result fdb_learn(struct fdb *fdb, uint64_t key, uint16_t egress, uint64_t now_ps);

/** Egress of a MAC, or PORT_NONE when unknown or older than age_ps. Hot. */
uint16_t fdb_lookup(const struct fdb *fdb, uint64_t key, uint64_t now_ps, uint64_t age_ps);

/** Would fdb_learn() change nothing? Any thread. Hot. */
bool fdb_knows(const struct fdb *fdb, uint64_t key, uint16_t egress, uint64_t now_ps);

/**
 * Reclaim old entries, and all entries of ports in `down`, in the next part of the table. The
 * writing worker.
 * @param buckets how many buckets to look at in this step
 * @return true when this step ended a full round
 */
bool fdb_sweep(struct fdb *fdb, uint32_t buckets, uint64_t now_ps, uint64_t age_ps,
	       const struct port_bits *down);

struct fdb_entry {
	uint8_t mac[6];
	uint16_t vlan;
	uint16_t egress;
	uint64_t seen_ps; /* rounded down to FDB_TIME_PS */
};

/* Resolution of an entry's time: 2^36 ps, about 69 ms. */
#define FDB_TIME_SHIFT 36
#define FDB_TIME_PS    (UINT64_C(1) << FDB_TIME_SHIFT)

struct fdb_stats {
	uint64_t learned, moved, aged, full;
	uint32_t entries, capacity;
};

/** Slots to ask fdb_entry_get() for. Any thread. */
uint32_t fdb_slot_count(const struct fdb *fdb);

/** Entry in a slot; false when it is empty. Any thread. */
bool fdb_entry_get(const struct fdb *fdb, uint32_t slot, struct fdb_entry *entry);

void fdb_stats(const struct fdb *fdb, struct fdb_stats *stats);

#endif
