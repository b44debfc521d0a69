/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/waiting.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/pfc_frame.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"

#define WAITING_NAMES_SHOWN 8

enum mark { MARK_NEW, MARK_OPEN, MARK_DONE };

/* One priority of the fabric; everything by wire. */
struct waiting {
	const struct fabric *fabric;
	const struct topology *topology;
	uint8_t priority;
	uint32_t wires;
	bool *held;
	uint64_t *since_ps; /* from the start of the run; of held ones */
	uint8_t *mark;      /* enum mark */
	uint32_t *path;     /* of the search: the wires that are open, in order */
	uint32_t path_length;
};

static const struct topology_node *waiting_end(const struct waiting *waiting, uint32_t wire,
					       uint32_t end)
{
	const struct topology_link *link = &waiting->topology->links[wire / 2];

	return &waiting->topology->nodes[link->node[(wire % 2) ^ end]];
}

/* Since when is it paused with something to send? @return false: it isn't */
static bool waiting_since(const struct waiting *waiting, uint32_t wire, uint64_t *since_ps)
{
	const struct fabric *fabric = waiting->fabric;
	const struct topology_link *link = &waiting->topology->links[wire / 2];
	const struct topology_node *from = waiting_end(waiting, wire, 0);
	uint64_t start_ps = fabric->engine->start_ps;
	uint8_t p = waiting->priority;
	struct queue_totals queue;
	struct pfc_totals pfc;
	const struct leaf *leaf;

	if (from->host) {
		const struct host *host = &fabric->hosts[from->index];

		if ((host->paused & host->ready & 1u << p) == 0)
			return false;
		*since_ps = host->pause_since_ps[p] - start_ps;
		return true;
	}
	leaf = fabric->switches[from->index]->leaf;
	leaf_queue_totals(leaf, (uint16_t)link->port[wire % 2], p, &queue);
	leaf_pfc_totals(leaf, (uint16_t)link->port[wire % 2], p, fabric->engine->now_ps, &pfc);
	if (!pfc.rx_paused || queue.depth_packets == 0)
		return false;
	*since_ps = pfc.rx_last_ps - start_ps;
	return true;
}

/* Find what is held. @return true: something is */
static bool waiting_find(struct waiting *waiting)
{
	const struct engine *engine = waiting->fabric->engine;
	uint64_t elapsed_ps = engine->now_ps - engine->start_ps;
	bool any = false;

	for (uint32_t wire = 0; wire < waiting->wires; wire++) {
		uint64_t longest_ps =
			pfc_quanta_ps(PFC_QUANTA_MAX, waiting->fabric->wires[wire].rate.rate_bps);

		waiting->mark[wire] = MARK_NEW;
		waiting->held[wire] = waiting_since(waiting, wire, &waiting->since_ps[wire]) &&
				      elapsed_ps - waiting->since_ps[wire] > longest_ps;
		any |= waiting->held[wire];
	}
	return any;
}

/*
 * The next held wire that a wire waits for: one that leaves its far end, not back.
 * @param after the one before it, or UINT32_MAX for the first. @return UINT32_MAX: no more
 */
static uint32_t waiting_next(const struct waiting *waiting, uint32_t wire, uint32_t after)
{
	const struct topology_node *far = waiting_end(waiting, wire, 1);
	bool seen = after == UINT32_MAX;

	for (uint32_t i = 0; i < far->link_count && !far->host; i++) {
		const struct topology_link *link = &waiting->topology->links[far->links[i]];
		uint32_t out = 2 * far->links[i] +
			       (&waiting->topology->nodes[link->node[0]] == far ? 0 : 1);

		if (far->links[i] == wire / 2 || !waiting->held[out])
			continue;
		if (seen)
			return out;
		seen = out == after;
	}
	return UINT32_MAX;
}

static json_t *wire_name(const struct waiting *waiting, uint32_t wire)
{
	return json_string(waiting->fabric->wires[wire].name);
}

/* The search came back to a wire of its path: everything from there on is a circle. */
static void add_cycle(const struct waiting *waiting, uint32_t first, json_t *cycles)
{
	json_t *cycle = json_object(), *queues = json_array();
	uint64_t since_ps = 0;
	bool member = false;

	for (uint32_t i = 0; i < waiting->path_length; i++) {
		uint32_t wire = waiting->path[i];

		member |= wire == first;
		if (!member)
			continue;
		json_array_append_new(queues, wire_name(waiting, wire));
		if (waiting->since_ps[wire] > since_ps)
			since_ps = waiting->since_ps[wire];
	}
	json_object_set_new(cycle, "since_ns", json_integer((json_int_t)(since_ps / PS_PER_NS)));
	json_object_set_new(cycle, "priority", json_integer(waiting->priority));
	json_object_set_new(cycle, "queues", queues);
	json_array_append_new(cycles, cycle);
}

/* Depth first with a path of its own: fabrics are deeper than stacks. */
static void search_cycles(struct waiting *waiting, uint32_t root, uint32_t *next, json_t *cycles)
{
	waiting->path[0] = root;
	waiting->path_length = 1;
	waiting->mark[root] = MARK_OPEN;
	next[0] = UINT32_MAX;
	while (waiting->path_length != 0) {
		uint32_t depth = waiting->path_length - 1;
		uint32_t out = waiting_next(waiting, waiting->path[depth], next[depth]);

		next[depth] = out;
		if (out == UINT32_MAX) {
			waiting->mark[waiting->path[depth]] = MARK_DONE;
			waiting->path_length--;
		} else if (waiting->mark[out] == MARK_OPEN) {
			add_cycle(waiting, out, cycles);
		} else if (waiting->mark[out] == MARK_NEW) {
			waiting->mark[out] = MARK_OPEN;
			waiting->path[waiting->path_length] = out;
			next[waiting->path_length++] = UINT32_MAX;
		}
	}
}

/* Everything held that waits for a wire, directly or not, marked MARK_OPEN. */
static void add_behind(struct waiting *waiting, uint32_t holder, json_t *behind)
{
	bool more = true;

	memset(waiting->mark, MARK_NEW, waiting->wires);
	waiting->mark[holder] = MARK_OPEN;
	while (more) {
		more = false;
		for (uint32_t wire = 0; wire < waiting->wires; wire++) {
			uint32_t out = UINT32_MAX;

			if (!waiting->held[wire] || waiting->mark[wire] != MARK_NEW)
				continue;
			while ((out = waiting_next(waiting, wire, out)) != UINT32_MAX &&
			       waiting->mark[out] != MARK_OPEN)
				;
			if (out == UINT32_MAX)
				continue;
			waiting->mark[wire] = MARK_OPEN;
			json_array_append_new(behind, wire_name(waiting, wire));
			more = true;
		}
	}
}

/* Hosts that have paused a switch for long. */
static void add_holders(struct waiting *waiting, json_t *holders)
{
	for (uint32_t wire = 0; wire < waiting->wires; wire++) {
		const struct topology_node *far = waiting_end(waiting, wire, 1);
		json_t *holder, *behind;

		if (!waiting->held[wire] || !far->host)
			continue;
		holder = json_object();
		behind = json_array();
		add_behind(waiting, wire, behind);
		json_object_set_new(holder, "host", json_string(far->name));
		json_object_set_new(holder, "queue", wire_name(waiting, wire));
		json_object_set_new(holder, "priority", json_integer(waiting->priority));
		json_object_set_new(
			holder, "since_ns",
			json_integer((json_int_t)(waiting->since_ps[wire] / PS_PER_NS)));
		json_object_set_new(holder, "behind", behind);
		json_array_append_new(holders, holder);
	}
}

json_t *waiting_result(const struct fabric *fabric)
{
	const struct topology *topology = fabric->scenario->topology;
	uint32_t wires = 2 * topology->link_count;
	struct waiting waiting = {
		.fabric = fabric,
		.topology = topology,
		.wires = wires,
		.held = allocate(wires * sizeof(bool)),
		.since_ps = allocate(wires * sizeof(uint64_t)),
		.mark = allocate(wires),
		.path = allocate((wires + 1) * sizeof(uint32_t)),
	};
	uint32_t *next = allocate((wires + 1) * sizeof(*next));
	json_t *result = json_object(), *cycles = json_array(), *holders = json_array();

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		waiting.priority = p;
		if (!waiting_find(&waiting))
			continue;
		for (uint32_t wire = 0; wire < wires; wire++)
			if (waiting.held[wire] && waiting.mark[wire] == MARK_NEW)
				search_cycles(&waiting, wire, next, cycles);
		add_holders(&waiting, holders);
	}
	json_object_set_new(result, "cycles", cycles);
	json_object_set_new(result, "holders", holders);
	free(waiting.held);
	free(waiting.since_ps);
	free(waiting.mark);
	free(waiting.path);
	free(next);
	return result;
}

/* --- for people --- */

static void print_names(json_t *names, const char *between, FILE *out)
{
	json_t *name;
	size_t i;

	json_array_foreach(names, i, name)
	{
		if (i == WAITING_NAMES_SHOWN) {
			fprintf(out, " and %zu more", json_array_size(names) - i);
			break;
		}
		fprintf(out, "%s%s", i == 0 ? "" : between, json_string_value(name));
	}
}

static double since_us(json_t *object)
{
	return (double)json_integer_value(json_object_get(object, "since_ns")) / 1e3;
}

static int priority_of(json_t *object)
{
	return (int)json_integer_value(json_object_get(object, "priority"));
}

void waiting_print(json_t *waiting, FILE *out)
{
	json_t *item;
	size_t i;

	json_array_foreach(json_object_get(waiting, "cycles"), i, item)
	{
		json_t *queues = json_object_get(item, "queues");

		fprintf(out, "%-15s since %.1f us, a pause cycle in priority %d: ", "stuck",
			since_us(item), priority_of(item));
		print_names(queues, " waits for ", out);
		fprintf(out, " waits for %s\n", json_string_value(json_array_get(queues, 0)));
	}
	json_array_foreach(json_object_get(waiting, "holders"), i, item)
	{
		json_t *behind = json_object_get(item, "behind");

		fprintf(out, "%-15s since %.1f us by %s, priority %d: %s", "held", since_us(item),
			json_string_value(json_object_get(item, "host")), priority_of(item),
			json_string_value(json_object_get(item, "queue")));
		if (json_array_size(behind) != 0) {
			fputs("; behind it ", out);
			print_names(behind, ", ", out);
		}
		fputs("\n", out);
	}
}
