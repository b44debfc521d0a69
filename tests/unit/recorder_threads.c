/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder_threads - a worker writes a small ring as fast as it can, a reader copies it.
 *
 * A sample's depth is told by its time, so that a reader who gets a mix of two sees it; and times rise.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "dataplane/internal.h"
#include "dataplane/recorder.h"

enum { SLOTS = 64, LOOKS_MIN = 1000000, SAMPLES_MIN = 100000 };

static struct egress_queue queues[PRIORITY_COUNT];
static struct egress_port egress;
static struct pfc_port pfc;
static uint16_t owner;
static struct worker *worker;
static struct leaf *leaf;
static _Atomic bool stop;
static _Atomic uint64_t samples;
static uint64_t wrong;

static void *read_on(void *unused)
{
	struct record_sample out[48];
	uint64_t index = 0, last_ps = 0;

	while (!atomic_load_explicit(&stop, memory_order_acquire)) {
		uint32_t count = leaf_record_read(leaf, 0, &index, out, 48);

		for (uint32_t i = 0; i < count; i++) {
			wrong += out[i].depth_bytes != (uint32_t)(out[i].time_ps / PS_PER_US);
			wrong += out[i].time_ps <= last_ps;
			last_ps = out[i].time_ps;
		}
		atomic_fetch_add(&samples, count);
	}
	return unused;
}

int main(void)
{
	pthread_t reader;
	uint64_t now_ps = 0;

	leaf = calloc(1, sizeof(*leaf));
	worker = aligned_alloc(64, sizeof(*worker));
	if (leaf == NULL || worker == NULL)
		return 1;
	memset(worker, 0, sizeof(*worker));
	worker->leaf = leaf;
	leaf->ports = 1;
	leaf->worker_count = 1;
	leaf->worker[0] = worker;
	leaf->owner = &owner;
	leaf->egress = &egress;
	leaf->pfc = &pfc;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		worker->queue_row[p] = &queues[p];
	if (leaf_record_create(leaf, SLOTS, PS_PER_US) != 0 ||
	    pthread_create(&reader, NULL, read_on, NULL) != 0)
		return 1;
	for (uint64_t look = 0;
	     look < LOOKS_MIN || atomic_load_explicit(&samples, memory_order_relaxed) < SAMPLES_MIN;
	     look++) {
		now_ps += PS_PER_US;
		atomic_store_explicit(&queues[3].depth_bytes, (uint32_t)(now_ps / PS_PER_US),
				      memory_order_relaxed);
		recorder_look(worker, now_ps);
	}
	atomic_store_explicit(&stop, true, memory_order_release);
	pthread_join(reader, NULL);
	printf("%lu samples, %lu wrong\n", (unsigned long)samples, (unsigned long)wrong);
	recorder_free(worker->recorder);
	free(leaf->record);
	free(worker);
	free(leaf);
	return wrong != 0;
}
