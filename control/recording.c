/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define READ_AT_ONCE 256

/* A worker's part: what it has of the span, and how its queues were before. */
struct part {
	struct recording *recording;
	const struct leaf *leaf;
	uint16_t port;
	uint8_t priority;
	uint16_t ports;               /* of the leaf, with the CPU's */
	struct record_sample *before; /* [ports][PRIORITY_COUNT], or depth and flags 0 */
	bool begun;                   /* those have been put in front */
};

static int add_sample(struct recording *recording, const struct record_sample *sample)
{
	if (recording->count == RECORDING_SAMPLES_MAX) {
		recording->complete = false;
		return 0;
	}
	if (recording->count == recording->room) {
		uint32_t room = recording->room == 0 ? 1024 : 2 * recording->room;
		struct record_sample *larger =
			realloc(recording->sample, room * sizeof(*recording->sample));

		if (larger == NULL)
			return -ENOMEM;
		recording->sample = larger;
		recording->room = room;
	}
	recording->sample[recording->count++] = *sample;
	return 0;
}

/* How the queues were when the span began. */
static int begin_part(struct part *part)
{
	int ret = 0;

	part->begun = true;
	for (uint32_t q = 0; q < (uint32_t)part->ports * PRIORITY_COUNT && ret == 0; q++) {
		struct record_sample *before = &part->before[q];

		if (before->depth_bytes == 0 && before->flags == 0)
			continue;
		before->time_ps = part->recording->begin_ps;
		ret = add_sample(part->recording, before);
	}
	return ret;
}

static int take_sample(struct part *part, const struct record_sample *sample)
{
	struct recording *recording = part->recording;

	if ((part->port != PORT_NONE && sample->port != part->port) ||
	    (part->priority < PRIORITY_COUNT && sample->priority != part->priority) ||
	    time_after(sample->time_ps, recording->end_ps))
		return 0;
	if (time_after(recording->begin_ps, sample->time_ps)) {
		part->before[sample->port * PRIORITY_COUNT + sample->priority] = *sample;
		return 0;
	}
	if (!part->begun && begin_part(part) != 0)
		return -ENOMEM;
	return add_sample(recording, sample);
}

static int take_part(struct part *part, uint16_t worker)
{
	struct record_sample sample[READ_AT_ONCE];
	uint64_t index = 0, expected = 0;
	uint32_t count;
	int ret = 0;

	part->begun = false;
	memset(part->before, 0, (size_t)part->ports * PRIORITY_COUNT * sizeof(*part->before));
	while (ret == 0 &&
	       (count = leaf_record_read(part->leaf, worker, &index, sample, READ_AT_ONCE)) > 0) {
		/* What is gone matters if the span had begun before it. */
		if (index != expected + count &&
		    time_after(sample[0].time_ps, part->recording->begin_ps))
			part->recording->complete = false;
		expected = index;
		for (uint32_t i = 0; i < count && ret == 0; i++)
			ret = take_sample(part, &sample[i]);
	}
	if (ret == 0 && !part->begun)
		ret = begin_part(part);
	return ret;
}

/* The workers' parts lie one behind the other, each by time; part w ends at end[w]. */
static int merge_parts(struct recording *recording, const uint32_t *end, uint16_t parts)
{
	uint32_t next[WORKER_COUNT_MAX], from = 0;
	struct record_sample *merged;

	if (parts == 1 || recording->count == 0)
		return 0;
	merged = malloc(recording->count * sizeof(*merged));
	if (merged == NULL)
		return -ENOMEM;
	for (uint16_t w = 0; w < parts; w++) {
		next[w] = from;
		from = end[w];
	}
	for (uint32_t i = 0; i < recording->count; i++) {
		uint16_t first = parts;

		for (uint16_t w = 0; w < parts; w++)
			if (next[w] < end[w] &&
			    (first == parts || time_after(recording->sample[next[first]].time_ps,
							  recording->sample[next[w]].time_ps)))
				first = w;
		merged[i] = recording->sample[next[first]++];
	}
	free(recording->sample);
	recording->sample = merged;
	recording->room = recording->count;
	return 0;
}

int recording_take(struct recording *recording, const struct leaf *leaf, uint16_t port,
		   uint8_t priority)
{
	struct part part = {
		.recording = recording,
		.leaf = leaf,
		.port = port,
		.priority = priority,
		.ports = (uint16_t)(leaf_port_count(leaf) + 1),
	};
	uint16_t workers = leaf_worker_count(leaf);
	uint32_t end[WORKER_COUNT_MAX];
	int ret = 0;

	recording->complete = true;
	recording->count = 0;
	part.before = calloc((size_t)part.ports * PRIORITY_COUNT, sizeof(*part.before));
	if (part.before == NULL)
		return -ENOMEM;
	for (uint16_t w = 0; w < workers && ret == 0; w++) {
		ret = take_part(&part, w);
		end[w] = recording->count;
	}
	free(part.before);
	return ret == 0 ? merge_parts(recording, end, workers) : ret;
}

void recording_free(struct recording *recording)
{
	free(recording->sample);
	recording->sample = NULL;
	recording->count = recording->room = 0;
}
