/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/history.h"

#include <stdlib.h>

struct history {
	uint16_t port_count;
	uint32_t looks;
	uint64_t sequence; /* of the newest */
	uint8_t *memory;   /* look of sequence s in place s % looks */
};

static uint64_t look_bytes(uint16_t port_count)
{
	return sizeof(struct history_look) + port_count * sizeof(struct history_port);
}

uint64_t history_bytes(uint16_t port_count, uint32_t looks)
{
	return looks * look_bytes(port_count);
}

struct history *history_create(uint16_t port_count, uint32_t looks)
{
	struct history *history = calloc(1, sizeof(*history));

	if (history == NULL)
		return NULL;
	history->port_count = port_count;
	history->looks = looks;
	history->memory = calloc(looks, look_bytes(port_count));
	if (history->memory == NULL) {
		free(history);
		return NULL;
	}
	return history;
}

void history_free(struct history *history)
{
	if (history != NULL)
		free(history->memory);
	free(history);
}

/* All parts of a look are of 64 bits. */
static struct history_look *place_of(const struct history *history, uint64_t sequence)
{
	return (struct history_look *)(void *)(history->memory +
					       sequence % history->looks *
						       look_bytes(history->port_count));
}

struct history_look *history_next(struct history *history)
{
	struct history_look *look = place_of(history, ++history->sequence);

	look->sequence = history->sequence;
	return look;
}

uint64_t history_newest(const struct history *history)
{
	return history->sequence;
}

uint64_t history_oldest(const struct history *history)
{
	if (history->sequence == 0)
		return 0;
	return history->sequence > history->looks ? history->sequence - history->looks + 1 : 1;
}

const struct history_look *history_at(const struct history *history, uint64_t sequence)
{
	if (sequence == 0 || sequence < history_oldest(history) || sequence > history->sequence)
		return NULL;
	return place_of(history, sequence);
}

void history_add_growth(struct history_counters *sum, const struct history_port *before,
			const struct history_port *after, uint32_t priority)
{
	uint32_t first = priority < PRIORITY_COUNT ? priority : 0;
	uint32_t end = priority < PRIORITY_COUNT ? priority + 1 : PRIORITY_COUNT;

	for (uint32_t p = first; p < end; p++) {
#define ADD_(field) sum->field += after->queue[p].field - before->queue[p].field;
		HISTORY_COUNTERS(ADD_)
#undef ADD_
	}
}
