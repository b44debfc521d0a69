/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows of a file of the ns-3 family. In an ns3 fabric its ids are nodes, elsewhere hosts.
 */
#include "tools/lab/scenario.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/ns3_import.h"

/* The file and a flow in it, for messages. */
struct ns3_place {
	const char *path;
	struct config_mark mark;
};

static uint32_t host_of_id(const struct element *element, const struct ns3_place *place,
			   uint32_t id)
{
	const struct topology *topology = element->scenario->topology;
	struct config_errors *errors = schema_errors(element->document);
	const char *what = "node";

	if (element->scenario->fabric.kind == SCENARIO_NS3_TOPOLOGY) {
		if (id < topology->node_count && topology->nodes[id].host)
			return topology->nodes[id].index;
	} else {
		what = "host";
		if (id < topology->host_count)
			return id;
	}
	schema_fail_mark(errors, place->path, place->mark, "%s %u: there is no such host", what,
			 id);
	return TOPOLOGY_NONE;
}

static const struct config_class *class_of_priority(const struct element *element,
						    const struct ns3_place *place, uint8_t priority)
{
	const struct config *config = &element->scenario->leaf.config;

	for (uint32_t i = 0; i < config->class_count; i++)
		if (config->classes[i].priority == priority && config->classes[i].dscp != 0)
			return &config->classes[i];
	schema_fail_mark(schema_errors(element->document), place->path, place->mark,
			 "priority group %u: no class of leaf.classes has this priority", priority);
	return NULL;
}

static int take_flow(struct element *element, const char *path, const struct ns3_flow *from,
		     uint64_t first_ps, uint32_t number)
{
	struct ns3_place place = {.path = path, .mark = {.line = from->line, .column = 1}};
	const struct config_class *class = class_of_priority(element, &place, from->priority);
	uint32_t source = host_of_id(element, &place, from->from);
	uint32_t destination = host_of_id(element, &place, from->to);
	struct scenario_flow *flow;

	if (class == NULL || source == TOPOLOGY_NONE || destination == TOPOLOGY_NONE)
		return -EINVAL;
	if (source == destination) {
		schema_fail_mark(schema_errors(element->document), path, place.mark,
				 "a flow from %u to itself crosses no fabric", from->from);
		return -EINVAL;
	}
	element->dscp = (uint8_t)__builtin_ctzll(class->dscp);
	element->priority = class->priority;
	flow = element_flow(element, source, destination, number);
	flow->bytes = from->bytes;
	flow->start_ps = element->traffic->start_ps + (from->start_ps - first_ps);
	return 0;
}

void element_resolve_ns3(struct element *element)
{
	char *path = scenario_beside(element->scenario->path, element->traffic->file);
	struct ns3_flow *flows = NULL;
	uint64_t first_ps = UINT64_MAX;
	uint32_t count = 0;

	if (ns3_read_flows(path, &flows, &count, schema_errors(element->document)) == 0 &&
	    !element_too_many(element, count)) {
		for (uint32_t i = 0; i < count; i++)
			if (flows[i].start_ps < first_ps)
				first_ps = flows[i].start_ps;
		/* One wrong flow is enough to know: files are written by programs. */
		for (uint32_t i = 0; i < count; i++)
			if (take_flow(element, path, &flows[i], first_ps, i + 1) != 0)
				break;
	}
	free(flows);
	free(path);
}
