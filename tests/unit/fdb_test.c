/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/fdb.h"
#include "dataplane/snapshot.h"

/* IEEE 802.1Q-2018 table 8-6: recommended ageing time. */
#define AGE_PS (300 * PS_PER_S)

/* A time whose low bits are zero, so that ages come out exact. */
#define START_PS (FDB_TIME_PS * 1000)

static const struct port_bits none_down;

static uint64_t key_of(uint32_t number)
{
	const uint8_t mac[6] = {0x02,
				0,
				(uint8_t)(number >> 24),
				(uint8_t)(number >> 16),
				(uint8_t)(number >> 8),
				(uint8_t)number};

	return fdb_key(mac, 100);
}

static uint32_t sweep_all(struct fdb *fdb, uint64_t now_ps, const struct port_bits *down)
{
	uint32_t steps = 1;

	while (!fdb_sweep(fdb, 7, now_ps, AGE_PS, down))
		steps++;
	return steps;
}

static uint32_t entries_of(const struct fdb *fdb)
{
	struct fdb_stats stats;

	fdb_stats(fdb, &stats);
	return stats.entries;
}

Test(fdb, key_keeps_mac_and_vlan_apart)
{
	static const uint8_t mac[6] = {0, 0, 0, 0, 0, 1};

	cr_assert_neq(fdb_key(mac, 1), fdb_key(mac, 2));
	cr_assert_neq(fdb_key((const uint8_t[6]){0}, 1), 0);
}

Test(fdb, address_is_found_where_it_was_seen)
{
	struct fdb *fdb = fdb_create(64);

	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS, AGE_PS), PORT_NONE);
	cr_assert_eq(fdb_learn(fdb, key_of(1), 5, START_PS), FDB_LEARNED);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS, AGE_PS), 5);
	cr_assert_eq(fdb_learn(fdb, key_of(1), 5, START_PS), FDB_KNOWN);
	cr_assert_eq(fdb_lookup(fdb, key_of(2), START_PS, AGE_PS), PORT_NONE);
	fdb_free(fdb);
}

Test(fdb, address_moves_at_once)
{
	struct fdb *fdb = fdb_create(64);
	struct fdb_stats stats;

	fdb_learn(fdb, key_of(1), 5, START_PS);
	cr_assert_eq(fdb_learn(fdb, key_of(1), 6, START_PS + 1), FDB_MOVED);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS + 1, AGE_PS), 6);
	fdb_stats(fdb, &stats);
	cr_assert_eq(stats.entries, 1);
	cr_assert_eq(stats.learned, 1);
	cr_assert_eq(stats.moved, 1);
	fdb_free(fdb);
}

Test(fdb, same_address_in_two_vlans_is_two_entries)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 1};
	struct fdb *fdb = fdb_create(64);

	fdb_learn(fdb, fdb_key(mac, 10), 1, START_PS);
	fdb_learn(fdb, fdb_key(mac, 20), 2, START_PS);
	cr_assert_eq(fdb_lookup(fdb, fdb_key(mac, 10), START_PS, AGE_PS), 1);
	cr_assert_eq(fdb_lookup(fdb, fdb_key(mac, 20), START_PS, AGE_PS), 2);
	fdb_free(fdb);
}

Test(fdb, entry_dies_exactly_at_its_age)
{
	struct fdb *fdb = fdb_create(64);

	fdb_learn(fdb, key_of(1), 5, START_PS);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS + AGE_PS - 1, AGE_PS), 5);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS + AGE_PS, AGE_PS), PORT_NONE);

	/* Seen in between: the age counts from there. */
	fdb_learn(fdb, key_of(1), 5, START_PS + 2 * FDB_TIME_PS);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS + AGE_PS, AGE_PS), 5);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), START_PS + 2 * FDB_TIME_PS + AGE_PS, AGE_PS),
		     PORT_NONE);
	fdb_free(fdb);
}

Test(fdb, sweep_reclaims_what_is_dead_and_nothing_else)
{
	struct fdb *fdb = fdb_create(64);
	struct fdb_stats stats;

	fdb_learn(fdb, key_of(1), 5, START_PS);
	fdb_learn(fdb, key_of(2), 5, START_PS + FDB_TIME_PS);
	sweep_all(fdb, START_PS + AGE_PS - 1, &none_down);
	cr_assert_eq(entries_of(fdb), 2);
	sweep_all(fdb, START_PS + AGE_PS, &none_down);
	fdb_stats(fdb, &stats);
	cr_assert_eq(stats.entries, 1);
	cr_assert_eq(stats.aged, 1);
	cr_assert_eq(fdb_lookup(fdb, key_of(2), START_PS + AGE_PS, AGE_PS), 5);
	fdb_free(fdb);
}

Test(fdb, sweep_takes_the_addresses_of_ports_that_are_down)
{
	struct fdb *fdb = fdb_create(64);
	struct port_bits down = {0};

	port_bits_set(&down, 300);
	for (uint32_t i = 0; i < 20; i++)
		fdb_learn(fdb, key_of(i), i % 2 == 0 ? 300 : 44, START_PS);
	sweep_all(fdb, START_PS, &down);
	for (uint32_t i = 0; i < 20; i++)
		cr_assert_eq(fdb_lookup(fdb, key_of(i), START_PS, AGE_PS),
			     i % 2 == 0 ? PORT_NONE : 44);
	cr_assert_eq(entries_of(fdb), 10);
	fdb_free(fdb);
}

Test(fdb, sweep_goes_round_in_steps)
{
	struct fdb *fdb = fdb_create(256);
	uint32_t buckets = fdb_slot_count(fdb) / 4;

	cr_assert_eq(sweep_all(fdb, START_PS, &none_down), (buckets + 6) / 7);
	cr_assert_eq(sweep_all(fdb, START_PS, &none_down), (buckets + 6) / 7, "from the start");
	cr_assert(fdb_sweep(fdb, UINT32_MAX, START_PS, AGE_PS, &none_down), "all at once");
	fdb_free(fdb);
}

Test(fdb, full_table_keeps_its_live_entries)
{
	enum { ENTRIES = 4096 };
	struct fdb *fdb = fdb_create(ENTRIES);
	struct fdb_stats stats;

	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(fdb_learn(fdb, key_of(i), (uint16_t)(i % 64), START_PS), FDB_LEARNED,
			     "entry %" PRIu32, i);
	for (uint32_t i = ENTRIES; i < ENTRIES + 100; i++)
		cr_assert_eq(fdb_learn(fdb, key_of(i), 1, START_PS), FDB_FULL);
	for (uint32_t i = 0; i < ENTRIES; i++)
		cr_assert_eq(fdb_lookup(fdb, key_of(i), START_PS, AGE_PS), i % 64);
	fdb_stats(fdb, &stats);
	cr_assert_eq(stats.entries, ENTRIES);
	cr_assert_eq(stats.capacity, ENTRIES);
	cr_assert_eq(stats.full, 100);

	/* Room again once the old ones have died. */
	sweep_all(fdb, START_PS + AGE_PS, &none_down);
	cr_assert_eq(entries_of(fdb), 0);
	cr_assert_eq(fdb_learn(fdb, key_of(ENTRIES), 1, START_PS + AGE_PS), FDB_LEARNED);
	fdb_free(fdb);
}

Test(fdb, entries_can_be_listed)
{
	static const uint8_t mac[6] = {0x02, 0xaa, 0xbb, 0xcc, 0xdd, 0xee};
	struct fdb *fdb = fdb_create(64);
	struct fdb_entry entry;
	uint32_t found = 0;

	fdb_learn(fdb, fdb_key(mac, 4094), 511, START_PS + FDB_TIME_PS - 1);
	for (uint32_t slot = 0; slot < fdb_slot_count(fdb); slot++) {
		if (!fdb_entry_get(fdb, slot, &entry))
			continue;
		found++;
		cr_assert_eq(memcmp(entry.mac, mac, 6), 0);
		cr_assert_eq(entry.vlan, 4094);
		cr_assert_eq(entry.egress, 511);
		cr_assert_eq(entry.seen_ps, START_PS, "rounded down");
	}
	cr_assert_eq(found, 1);
	cr_assert_not(fdb_entry_get(fdb, fdb_slot_count(fdb), &entry), "past the end");
	fdb_free(fdb);
}

Test(fdb, ages_count_across_the_wrap_of_time)
{
	/* The last unit before the clock wraps to 0. */
	const uint64_t before_ps = UINT64_MAX - FDB_TIME_PS + 1;
	struct fdb *fdb = fdb_create(64);

	fdb_learn(fdb, key_of(1), 5, before_ps);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), before_ps + AGE_PS - 1, AGE_PS), 5);
	sweep_all(fdb, before_ps + AGE_PS - 1, &none_down);
	cr_assert_eq(entries_of(fdb), 1);
	cr_assert_eq(fdb_lookup(fdb, key_of(1), before_ps + AGE_PS, AGE_PS), PORT_NONE);
	sweep_all(fdb, before_ps + AGE_PS, &none_down);
	cr_assert_eq(entries_of(fdb), 0);
	fdb_free(fdb);
}
