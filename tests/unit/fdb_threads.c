/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fdb_threads - one thread writes the FDB, another reads it. A program of its own, without
 * Criterion, whose shared memory doesn't go together with ThreadSanitizer.
 *
 * Address i is only ever on port i % 64, so whatever the moment, a look-up must find that port or
 * nothing; and addresses that stay are found always.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "dataplane/fdb.h"
#include "dataplane/snapshot.h"

#define AGE_PS   (300 * PS_PER_S)
#define START_PS (FDB_TIME_PS * 1000)

/* More addresses come than the table's 64 entries, so that slots change hands all the time. */
enum { STAYING = 32, COMING = 200, WRITER_ROUNDS = 300, READER_ROUNDS = 3 };

struct reader {
	struct fdb *fdb;
	_Atomic bool stop;
	_Atomic uint32_t rounds;
	uint32_t wrong;
};

static uint64_t key_of(uint32_t number)
{
	const uint8_t mac[6] = {0x02, 0, 0, 0, 0, (uint8_t)number};

	return fdb_key(mac, 100);
}

static void *read_on(void *argument)
{
	struct reader *reader = argument;
	struct fdb_entry entry;

	while (!atomic_load_explicit(&reader->stop, memory_order_acquire)) {
		for (uint32_t i = 0; i < STAYING + COMING; i++) {
			uint16_t egress = fdb_lookup(reader->fdb, key_of(i), START_PS, AGE_PS);

			if (egress != i % 64 && (egress != PORT_NONE || i < STAYING))
				reader->wrong++;
		}
		for (uint32_t slot = 0; slot < fdb_slot_count(reader->fdb); slot++) {
			if (fdb_entry_get(reader->fdb, slot, &entry) &&
			    entry.egress != entry.mac[5] % 64)
				reader->wrong++;
		}
		atomic_fetch_add(&reader->rounds, 1);
	}
	return NULL;
}

int main(void)
{
	struct reader reader = {.fdb = fdb_create(64)};
	struct port_bits down = {0};
	pthread_t thread;

	if (reader.fdb == NULL)
		return 1;
	for (uint16_t port = STAYING; port < 64; port++)
		port_bits_set(&down, port);
	for (uint32_t i = 0; i < STAYING; i++)
		fdb_learn(reader.fdb, key_of(i), (uint16_t)i, START_PS);
	if (pthread_create(&thread, NULL, read_on, &reader) != 0)
		return 1;
	for (uint32_t round = 0;
	     round < WRITER_ROUNDS || atomic_load(&reader.rounds) < READER_ROUNDS; round++) {
		for (uint32_t i = STAYING; i < STAYING + COMING; i++) {
			if (i % 64 >= STAYING)
				fdb_learn(reader.fdb, key_of(i), (uint16_t)(i % 64), START_PS);
			if (i % 16 == 0)
				fdb_sweep(reader.fdb, 8, START_PS, AGE_PS, &down);
		}
	}
	atomic_store_explicit(&reader.stop, true, memory_order_release);
	pthread_join(thread, NULL);
	fdb_free(reader.fdb);
	if (reader.wrong != 0)
		fprintf(stderr, "%u look-ups found what was never there\n", reader.wrong);
	return reader.wrong != 0;
}
