/* SPDX-License-Identifier: BSD-3-Clause */
/* The other side of a recorder: who makes it, asks it, and reads. layer: control side */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/internal.h"
#include "dataplane/leaf.h"
#include "dataplane/recorder.h"
#include "dataplane/recorder_internal.h"

/* A reader looks so often for a state that isn't being written. */
#define STATE_READS_MAX 1000

static struct recorder *recorder_create(struct leaf *leaf, uint32_t slots, uint64_t coarse_ps)
{
	struct recorder *recorder =
		calloc(1, sizeof(*recorder) +
				  (size_t)leaf->ports * PRIORITY_COUNT * sizeof(recorder->last[0]));

	if (recorder == NULL)
		return NULL;
	recorder->slot = calloc(slots, sizeof(*recorder->slot));
	if (recorder->slot == NULL) {
		free(recorder);
		return NULL;
	}
	recorder->asked = leaf->record;
	recorder->mask = slots - 1;
	recorder->coarse_ps = coarse_ps;
	recorder->every_ps = coarse_ps;
	return recorder;
}

void recorder_free(struct recorder *recorder)
{
	if (recorder != NULL)
		free(recorder->slot);
	free(recorder);
}

int leaf_record_create(struct leaf *leaf, uint32_t slots, uint64_t coarse_ps)
{
	leaf->record = calloc(1, sizeof(*leaf->record));
	if (leaf->record == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		leaf->worker[i]->recorder = recorder_create(leaf, slots, coarse_ps);
		if (leaf->worker[i]->recorder == NULL)
			return -ENOMEM; /* leaf_free() frees the others */
	}
	return 0;
}

uint32_t leaf_record(struct leaf *leaf, const struct record_request *request)
{
	struct recorder_request *asked = leaf->record;
	uint32_t sequence = atomic_load_explicit(&asked->sequence, memory_order_relaxed);

	atomic_store_explicit(&asked->sequence, sequence + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(&asked->every_ps, request->every_ps, memory_order_relaxed);
	atomic_store_explicit(&asked->for_ps, request->for_ps, memory_order_relaxed);
	atomic_store_explicit(&asked->depth_bytes, request->depth_bytes, memory_order_relaxed);
	atomic_store_explicit(&asked->port, request->port, memory_order_relaxed);
	atomic_store_explicit(&asked->priority, request->priority, memory_order_relaxed);
	atomic_store_explicit(&asked->trigger, request->trigger, memory_order_relaxed);
	atomic_store_explicit(&asked->sequence, sequence + 2, memory_order_release);
	return sequence / 2 + 1;
}

void leaf_record_state(const struct leaf *leaf, uint16_t worker, struct record_state *state)
{
	const struct recorder *recorder = leaf->worker[worker]->recorder;

	for (uint32_t reads = 0; reads < STATE_READS_MAX; reads++) {
		uint32_t before =
			atomic_load_explicit(&recorder->state.sequence, memory_order_acquire);

#define STATE_LOAD_(field) atomic_load_explicit(&recorder->state.field, memory_order_relaxed)
		*state = (struct record_state){
			.request = STATE_LOAD_(request),
			.phase = STATE_LOAD_(phase),
			.triggered = STATE_LOAD_(triggered) != 0,
			.begin_ps = STATE_LOAD_(begin_ps),
			.trigger_ps = STATE_LOAD_(trigger_ps),
			.end_ps = STATE_LOAD_(end_ps),
			.trigger_port = STATE_LOAD_(trigger_port),
			.trigger_priority = STATE_LOAD_(trigger_priority),
		};
		atomic_thread_fence(memory_order_acquire);
		if (before % 2 == 0 && before == STATE_LOAD_(sequence))
			return;
#undef STATE_LOAD_
	}
}

static uint32_t copy_slots(const struct recorder *recorder, uint64_t first, uint64_t head,
			   struct record_sample *out, uint32_t max)
{
	uint32_t count = 0;

	for (; first + count < head && count < max; count++) {
		const struct recorder_slot *slot =
			&recorder->slot[(first + count) & recorder->mask];
		uint64_t what = atomic_load_explicit(&slot->what, memory_order_relaxed);

		out[count] = (struct record_sample){
			.time_ps = atomic_load_explicit(&slot->time_ps, memory_order_relaxed),
			.depth_bytes = (uint32_t)what,
			.port = (uint16_t)(what >> 32),
			.priority = (uint8_t)(what >> 48),
			.flags = (uint8_t)(what >> 56),
		};
	}
	return count;
}

/* The oldest that can be read: the slot at `head` may be in writing, and with it the one `slots` before. */
static uint64_t oldest(const struct recorder *recorder, uint64_t head)
{
	return head > recorder->mask ? head - recorder->mask : 0;
}

uint32_t leaf_record_read(const struct leaf *leaf, uint16_t worker, uint64_t *index,
			  struct record_sample *out, uint32_t max)
{
	const struct recorder *recorder = leaf->worker[worker]->recorder;
	uint64_t head = atomic_load_explicit(&recorder->head, memory_order_acquire), kept;
	uint64_t first = *index > oldest(recorder, head) ? *index : oldest(recorder, head);
	uint32_t count = copy_slots(recorder, first, head, out, max), lost;

	*index = first + count;
	atomic_thread_fence(memory_order_acquire);
	kept = oldest(recorder, atomic_load_explicit(&recorder->head, memory_order_relaxed));
	if (kept <= first)
		return count;
	lost = kept - first < count ? (uint32_t)(kept - first) : count;
	memmove(out, out + lost, (count - lost) * sizeof(*out));
	return count - lost;
}
