/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * account_threads - a pair's occupancy, read while one worker charges it and another discharges it.
 * Whatever the moment, it is not below zero: read in the other order, it would be, within milliseconds.
 */
#include <pthread.h>
#include <stdio.h>

#include "dataplane/internal.h"
#include "dataplane/leaf.h"

enum { FRAME_BYTES = 1500, PRIORITY = 3, READS = 8000000 };

struct writer {
	struct leaf *leaf;
	_Atomic bool stop;
	_Atomic uint64_t rounds;
};

/* One thread in both roles: a hand-over takes no time, so that more of them fall between two loads. */
static void *write_on(void *argument)
{
	struct writer *writer = argument;
	struct account *in = &writer->leaf->worker[0]->account_row[PRIORITY][0];
	struct account *out = &writer->leaf->worker[1]->account_row[PRIORITY][0];

	while (!atomic_load_explicit(&writer->stop, memory_order_relaxed)) {
		account_charge(in, FRAME_BYTES);
		account_discharge(out, FRAME_BYTES);
		counter_add(&writer->rounds, 1);
	}
	return NULL;
}

int main(void)
{
	const struct leaf_params params = {
		.port_count = 1, .worker_count = 2, .packets_max = 64, .fdb_entries = 64};
	struct writer writer = {.leaf = leaf_create(&params)};
	uint32_t below = 0;
	pthread_t thread;

	if (writer.leaf == NULL || pthread_create(&thread, NULL, write_on, &writer) != 0)
		return 1;
	while (counter_get(&writer.rounds) == 0)
		;
	for (uint32_t i = 0; i < READS; i++)
		below += buffer_occupancy(writer.leaf->worker[0], 0, PRIORITY) > INT64_MAX;
	atomic_store(&writer.stop, true);
	pthread_join(thread, NULL);
	if (buffer_occupancy(writer.leaf->worker[0], 0, PRIORITY) != 0)
		below++;
	leaf_free(writer.leaf);
	if (below != 0)
		fprintf(stderr, "an account was below zero %u times\n", below);
	return below != 0;
}
