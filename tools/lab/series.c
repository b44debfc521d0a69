/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/series.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/ratio.h"

/* One direction of a link; of what grows, what it had come to. */
struct series_sample {
	uint64_t busy_ps, paused_ps, marked;
	uint32_t depth_bytes;
	/* Of the buffer of its receiver, when that is a switch: its fullest lossless class. */
	uint32_t used_bytes, xoff_bytes;
	uint8_t priority;
};

struct series_link {
	struct series_sample *samples;
	uint32_t depth_max_bytes, used_max_bytes;
};

struct series_flow {
	const struct flow *flow;
	uint64_t *received_bytes; /* [samples] */
};

static uint32_t clamp32(uint64_t value)
{
	return value < UINT32_MAX ? (uint32_t)value : UINT32_MAX;
}

/* --- taking --- */

/* Longest first; those without an end are longer than all others. */
static int longer(const void *a, const void *b)
{
	const struct flow *left = ((const struct series_flow *)a)->flow;
	const struct flow *right = ((const struct series_flow *)b)->flow;
	uint64_t l = left->params.bytes - 1, r = right->params.bytes - 1;

	if (l != r)
		return l > r ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id;
}

static void choose_flows(struct series *series)
{
	const struct traffic *traffic = &series->fabric->traffic;

	series->flows = allocate(traffic->flow_count * sizeof(*series->flows));
	for (uint32_t i = 0; i < traffic->flow_count; i++)
		series->flows[i].flow = &traffic->flows[i];
	qsort(series->flows, traffic->flow_count, sizeof(*series->flows), longer);
	series->flow_count =
		traffic->flow_count < SERIES_FLOWS ? traffic->flow_count : SERIES_FLOWS;
	for (uint32_t i = 0; i < series->flow_count; i++)
		series->flows[i].received_bytes = allocate(series->samples * sizeof(uint64_t));
}

static uint32_t sample_count(uint32_t links)
{
	uint32_t count = SERIES_CELLS / links;

	if (count > SERIES_SAMPLES_MAX)
		return SERIES_SAMPLES_MAX;
	return count < SERIES_SAMPLES_MIN ? SERIES_SAMPLES_MIN : count;
}

struct series *series_create(const struct fabric *fabric)
{
	const struct scenario *scenario = fabric->scenario;
	struct series *series = allocate(sizeof(*series));

	series->fabric = fabric;
	series->link_count = 2 * scenario->topology->link_count;
	series->samples = sample_count(series->link_count);
	series->step_ps = (scenario->duration_ps + series->samples - 1) / series->samples;
	for (uint32_t i = 0; i < scenario->leaf.config.class_count; i++) {
		const struct config_class *class = &scenario->leaf.config.classes[i];

		series->priorities |= (uint8_t)(1u << class->priority);
		if (class->lossless)
			series->lossless |= (uint8_t)(1u << class->priority);
	}
	series->links = allocate(series->link_count * sizeof(*series->links));
	for (uint32_t i = 0; i < series->link_count; i++)
		series->links[i].samples = allocate(series->samples * sizeof(struct series_sample));
	choose_flows(series);
	return series;
}

void series_free(struct series *series)
{
	if (series == NULL)
		return;
	for (uint32_t i = 0; i < series->link_count; i++)
		free(series->links[i].samples);
	for (uint32_t i = 0; i < series->flow_count; i++)
		free(series->flows[i].received_bytes);
	free(series->links);
	free(series->flows);
	free(series);
}

/* The node at an end of a wire: 0 sends, 1 receives; and its port. */
static const struct topology_node *wire_end(const struct fabric *fabric, uint32_t wire,
					    uint32_t end, uint16_t *port)
{
	const struct topology *topology = fabric->scenario->topology;
	const struct topology_link *link = &topology->links[wire / 2];

	*port = (uint16_t)link->port[wire % 2 ^ end];
	return &topology->nodes[link->node[wire % 2 ^ end]];
}

static void take_queues(const struct series *series, uint32_t wire, struct series_sample *sample)
{
	uint16_t port;
	const struct topology_node *from = wire_end(series->fabric, wire, 0, &port);

	for (uint32_t rest = series->priorities; rest != 0 && !from->host; rest &= rest - 1) {
		struct queue_totals queue;

		leaf_queue_totals(series->fabric->switches[from->index]->leaf, port,
				  (uint8_t)__builtin_ctz(rest), &queue);
		sample->marked += queue.ecn_marked;
		if (queue.depth_bytes > sample->depth_bytes)
			sample->depth_bytes = clamp32(queue.depth_bytes);
	}
}

static void take_buffer(const struct series *series, uint32_t wire, struct series_sample *sample)
{
	uint16_t port;
	const struct topology_node *to = wire_end(series->fabric, wire, 1, &port);
	bool first = true;

	for (uint32_t rest = series->lossless; rest != 0 && !to->host; rest &= rest - 1) {
		const struct switch_node *node = series->fabric->switches[to->index];
		uint8_t priority = (uint8_t)__builtin_ctz(rest);
		struct buffer_totals buffer;

		leaf_buffer_totals(node->leaf, node->snapshot, port, priority, &buffer);
		if (first || buffer.occupancy_bytes > sample->used_bytes) {
			sample->used_bytes = clamp32(buffer.occupancy_bytes);
			sample->xoff_bytes = clamp32(buffer.xoff_bytes);
			sample->priority = priority;
		}
		first = false;
	}
}

void series_take(struct series *series)
{
	const struct fabric *fabric = series->fabric;

	if (series->taken == series->samples)
		return;
	for (uint32_t i = 0; i < series->link_count; i++) {
		struct series_link *link = &series->links[i];
		struct series_sample *sample = &link->samples[series->taken];

		sample->busy_ps = wire_busy_ps(&fabric->wires[i]);
		sample->paused_ps = fabric_paused_ps(fabric, i);
		take_queues(series, i, sample);
		take_buffer(series, i, sample);
		if (sample->depth_bytes > link->depth_max_bytes)
			link->depth_max_bytes = sample->depth_bytes;
		if (sample->used_bytes > link->used_max_bytes)
			link->used_max_bytes = sample->used_bytes;
	}
	for (uint32_t i = 0; i < series->flow_count; i++)
		series->flows[i].received_bytes[series->taken] =
			series->flows[i].flow->received_bytes;
	series->taken++;
}

/* --- the result --- */

static void append(json_t *array, uint64_t value)
{
	json_array_append_new(array, json_integer((json_int_t)value));
}

/* Growth of a field from the sample before. */
#define GROWTH(samples, i, field) ((samples)[i].field - ((i) == 0 ? 0 : (samples)[(i)-1].field))

static uint64_t share_ppm(uint64_t part_ps, uint64_t step_ps)
{
	uint64_t ppm = part_ps * RATIO_PPM / step_ps;

	return ppm < RATIO_PPM ? ppm : RATIO_PPM;
}

static json_t *link_series(const struct series *series, uint32_t wire)
{
	const struct fabric *fabric = series->fabric;
	const struct series_sample *samples = series->links[wire].samples;
	json_t *link = json_object(), *depth = json_array(), *busy = json_array();
	json_t *paused = json_array(), *marked = json_array();
	uint32_t kmin = 0, kmax = 0;
	uint16_t port;
	const struct topology_node *from = wire_end(fabric, wire, 0, &port);

	if (!from->host && series->lossless != 0) {
		const struct mark_table *mark =
			snapshot_mark(fabric->switches[from->index]->snapshot, port,
				      (uint32_t)__builtin_ctz(series->lossless));

		kmin = mark->ecn_min_bytes == UINT32_MAX ? 0 : mark->ecn_min_bytes;
		kmax = kmin == 0 ? 0 : mark->ecn_max_bytes;
	}
	for (uint32_t i = 0; i < series->taken; i++) {
		append(depth, samples[i].depth_bytes);
		append(busy, share_ppm(GROWTH(samples, i, busy_ps), series->step_ps));
		append(paused, share_ppm(GROWTH(samples, i, paused_ps), series->step_ps));
		append(marked, GROWTH(samples, i, marked));
	}
	json_object_set_new(link, "direction", json_string(fabric->wires[wire].name));
	json_object_set_new(link, "kmin_bytes", json_integer(kmin));
	json_object_set_new(link, "kmax_bytes", json_integer(kmax));
	json_object_set_new(link, "depth_bytes", depth);
	json_object_set_new(link, "busy_ppm", busy);
	json_object_set_new(link, "paused_ppm", paused);
	json_object_set_new(link, "marked", marked);
	return link;
}

static json_t *buffer_series(const struct series *series, uint32_t wire)
{
	const struct fabric *fabric = series->fabric;
	const struct config *config = &fabric->scenario->leaf.config;
	const struct series_sample *samples = series->links[wire].samples;
	json_t *buffer = json_object(), *used = json_array(), *xoff = json_array();
	const char *name = "";
	uint32_t fullest = 0;
	uint16_t port;

	for (uint32_t i = 0; i < series->taken; i++) {
		append(used, samples[i].used_bytes);
		append(xoff, samples[i].xoff_bytes);
		if (samples[i].used_bytes > samples[fullest].used_bytes)
			fullest = i;
	}
	for (uint32_t i = 0; i < config->class_count; i++)
		if (config->classes[i].priority == samples[fullest].priority)
			name = config->classes[i].name;
	json_object_set_new(buffer, "switch", json_string(wire_end(fabric, wire, 1, &port)->name));
	json_object_set_new(buffer, "direction", json_string(fabric->wires[wire].name));
	json_object_set_new(buffer, "class", json_string(name));
	json_object_set_new(buffer, "used_bytes", used);
	json_object_set_new(buffer, "xoff_bytes", xoff);
	return buffer;
}

static json_t *flow_series(const struct series *series, const struct series_flow *from)
{
	const struct flow *flow = from->flow;
	json_t *object = json_object(), *bytes = json_array();
	uint64_t before = 0;

	for (uint32_t i = 0; i < series->taken; i++) {
		append(bytes, from->received_bytes[i] - before);
		before = from->received_bytes[i];
	}
	json_object_set_new(object, "name", json_string(flow->params.name));
	json_object_set_new(object, "src", json_string(flow->params.source->params.name));
	json_object_set_new(object, "dst", json_string(flow->params.destination->params.name));
	json_object_set_new(object, "bytes", bytes);
	return object;
}

/* What links are chosen by, largest first. */
enum kind { DEEPEST, PAUSED, MARKED, BUSIEST, FULLEST };

static uint64_t worth(const struct series *series, enum kind kind, uint32_t wire)
{
	const struct series_link *link = &series->links[wire];
	const struct series_sample *last = &link->samples[series->taken - 1];

	switch (kind) {
	case DEEPEST:
		return link->depth_max_bytes;
	case PAUSED:
		return last->paused_ps;
	case MARKED:
		return last->marked;
	case BUSIEST:
		return last->busy_ps;
	case FULLEST:
	default:
		return link->used_max_bytes;
	}
}

/* Choose the first `count` links by a kind, of those that have something of it. */
static void choose(const struct series *series, enum kind kind, uint32_t count, bool *chosen)
{
	bool *seen = allocate(series->link_count * sizeof(*seen));

	for (uint32_t n = 0; n < count; n++) {
		uint64_t most = 0;
		uint32_t best = 0;

		for (uint32_t i = 0; i < series->link_count; i++) {
			if (seen[i] || worth(series, kind, i) <= most)
				continue;
			most = worth(series, kind, i);
			best = i;
		}
		if (most == 0)
			break;
		seen[best] = chosen[best] = true;
	}
	free(seen);
}

static json_t *chosen_links(const struct series *series)
{
	bool *chosen = allocate(series->link_count * sizeof(*chosen));
	json_t *links = json_array();

	for (enum kind kind = DEEPEST; kind <= BUSIEST; kind++)
		choose(series, kind, SERIES_LINKS, chosen);
	for (uint32_t i = 0; i < series->link_count; i++)
		if (chosen[i])
			json_array_append_new(links, link_series(series, i));
	free(chosen);
	return links;
}

static json_t *chosen_buffers(const struct series *series)
{
	bool *chosen = allocate(series->link_count * sizeof(*chosen));
	json_t *buffers = json_array();

	choose(series, FULLEST, SERIES_BUFFERS, chosen);
	for (uint32_t i = 0; i < series->link_count; i++)
		if (chosen[i])
			json_array_append_new(buffers, buffer_series(series, i));
	free(chosen);
	return buffers;
}

static void add_overall(const struct series *series, json_t *result)
{
	json_t *marked = json_array(), *paused = json_array();

	for (uint32_t i = 0; i < series->taken; i++) {
		uint64_t marks = 0, longest_ps = 0;

		for (uint32_t l = 0; l < series->link_count; l++) {
			const struct series_sample *samples = series->links[l].samples;
			uint64_t paused_ps = GROWTH(samples, i, paused_ps);

			marks += GROWTH(samples, i, marked);
			longest_ps = paused_ps > longest_ps ? paused_ps : longest_ps;
		}
		append(marked, marks);
		append(paused, share_ppm(longest_ps, series->step_ps));
	}
	json_object_set_new(result, "marked", marked);
	json_object_set_new(result, "paused_ppm", paused);
}

json_t *series_result(const struct series *series)
{
	json_t *result = json_object(), *flows;

	json_object_set_new(result, "step_ns", json_real((double)series->step_ps / PS_PER_NS));
	json_object_set_new(result, "samples", json_integer(series->taken));
	if (series->taken == 0)
		return result;
	flows = json_array();
	json_object_set_new(result, "links", chosen_links(series));
	json_object_set_new(result, "buffers", chosen_buffers(series));
	for (uint32_t i = 0; i < series->flow_count; i++)
		json_array_append_new(flows, flow_series(series, &series->flows[i]));
	json_object_set_new(result, "flows", flows);
	add_overall(series, result);
	return result;
}
