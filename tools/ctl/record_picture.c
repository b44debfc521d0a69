/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/record_picture.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/ctl/text.h"

/* U+2581 to U+2588, and a blank for nothing. */
#define BAR_BYTES 3
static const char bar_text[][BAR_BYTES + 1] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
#define BAR_HEIGHTS 8

struct recorded {
	const char *port;
	uint64_t priority;
	uint64_t at_ns, depth_bytes; /* now, as the samples are gone through */
	bool paused, peer_paused;
	uint64_t max_bytes, busy_ns, paused_ns, peer_paused_ns;
	double byte_ns;
	uint64_t bar_bytes[RECORD_BARS_MAX];
};

struct picture {
	struct recorded *queue;
	size_t count, room;
	uint64_t duration_ns;
	size_t bars;
};

static struct recorded *queue_of(struct picture *picture, const char *port, uint64_t priority)
{
	struct recorded *queue = picture->queue;

	for (size_t i = 0; i < picture->count; i++)
		if (queue[i].priority == priority && strcmp(queue[i].port, port) == 0)
			return &queue[i];
	if (picture->count == picture->room) {
		picture->room = 2 * picture->room + 16;
		queue = realloc(picture->queue, picture->room * sizeof(*queue));
		if (queue == NULL)
			return NULL;
		picture->queue = queue;
	}
	queue = &picture->queue[picture->count++];
	memset(queue, 0, sizeof(*queue));
	queue->port = port;
	queue->priority = priority;
	return queue;
}

static size_t bar_at(const struct picture *picture, uint64_t at_ns)
{
	size_t bar = (size_t)((double)at_ns / (double)picture->duration_ns * (double)picture->bars);

	return bar < picture->bars ? bar : picture->bars - 1;
}

/* The queue was as it is until then. */
static void go_on(const struct picture *picture, struct recorded *queue, uint64_t until_ns)
{
	uint64_t ns = until_ns > queue->at_ns ? until_ns - queue->at_ns : 0;

	for (size_t bar = bar_at(picture, queue->at_ns); bar <= bar_at(picture, until_ns); bar++)
		if (queue->depth_bytes > queue->bar_bytes[bar])
			queue->bar_bytes[bar] = queue->depth_bytes;
	if (queue->depth_bytes > queue->max_bytes)
		queue->max_bytes = queue->depth_bytes;
	queue->byte_ns += (double)queue->depth_bytes * (double)ns;
	queue->busy_ns += queue->depth_bytes != 0 ? ns : 0;
	queue->paused_ns += queue->paused ? ns : 0;
	queue->peer_paused_ns += queue->peer_paused ? ns : 0;
	queue->at_ns = until_ns;
}

static int take_samples(struct picture *picture, const struct reply *samples)
{
	for (size_t row = 0; row < samples->rows; row++) {
		uint64_t at_ns = reply_number(samples, "at_ns", row);
		struct recorded *queue = queue_of(picture, reply_text(samples, "port", row),
						  reply_number(samples, "priority", row));

		if (queue == NULL)
			return -1;
		go_on(picture, queue, at_ns);
		queue->depth_bytes = reply_number(samples, "depth_bytes", row);
		queue->paused = reply_number(samples, "paused", row) != 0;
		queue->peer_paused = reply_number(samples, "peer_paused", row) != 0;
	}
	for (size_t i = 0; i < picture->count; i++)
		go_on(picture, &picture->queue[i], picture->duration_ns);
	return 0;
}

static void number_cell(struct table *table, uint64_t number)
{
	char text[TEXT_NUMBER_BYTES];

	snprintf(text, sizeof(text), "%" PRIu64, number);
	table_cell(table, text, TABLE_PLAIN);
}

static void share_cell(struct table *table, const struct picture *picture, uint64_t ns)
{
	char text[TEXT_NUMBER_BYTES];

	snprintf(text, sizeof(text), "%.1f", 100.0 * (double)ns / (double)picture->duration_ns);
	table_cell(table, text, ns == 0 ? TABLE_QUIET : TABLE_PLAIN);
}

static void queue_row(struct table *table, const struct picture *picture,
		      const struct recorded *queue)
{
	char line[RECORD_BARS_MAX * BAR_BYTES + 1] = "";
	size_t used = 0;

	for (size_t bar = 0; bar < picture->bars; bar++) {
		uint64_t bytes = queue->bar_bytes[bar];
		size_t height = bytes == 0 ? 0
					   : 1 + (size_t)((double)(BAR_HEIGHTS - 1) *
							  (double)bytes / (double)queue->max_bytes);

		used += (size_t)snprintf(line + used, sizeof(line) - used, "%s", bar_text[height]);
	}
	table_cell(table, queue->port, TABLE_PLAIN);
	number_cell(table, queue->priority);
	number_cell(table, queue->max_bytes);
	number_cell(table, (uint64_t)(queue->byte_ns / (double)picture->duration_ns));
	share_cell(table, picture, queue->busy_ns);
	share_cell(table, picture, queue->paused_ns);
	share_cell(table, picture, queue->peer_paused_ns);
	table_cell(table, line, TABLE_PLAIN);
}

static int compare_queues(const void *a, const void *b)
{
	const struct recorded *x = a, *y = b;
	int order = text_compare(x->port, y->port);

	if (order != 0)
		return order;
	return x->priority < y->priority ? -1 : x->priority > y->priority;
}

struct table *record_picture(const struct reply *samples, uint64_t duration_ns, size_t bars)
{
	struct picture picture = {.duration_ns = duration_ns, .bars = bars};
	struct table *table = table_create();

	if (table == NULL || take_samples(&picture, samples) != 0) {
		table_free(table);
		free(picture.queue);
		return NULL;
	}
	table_column(table, "Port", TABLE_LEFT);
	table_column(table, "Queue", TABLE_RIGHT);
	table_column(table, "Max bytes", TABLE_RIGHT);
	table_column(table, "Mean", TABLE_RIGHT);
	table_column(table, "Busy %", TABLE_RIGHT);
	table_column(table, "Paused %", TABLE_RIGHT);
	table_column(table, "Pausing %", TABLE_RIGHT);
	table_column(table, "Bytes over time", TABLE_LEFT);
	if (picture.count != 0)
		qsort(picture.queue, picture.count, sizeof(*picture.queue), compare_queues);
	for (size_t i = 0; i < picture.count; i++)
		queue_row(table, &picture, &picture.queue[i]);
	free(picture.queue);
	return table;
}
