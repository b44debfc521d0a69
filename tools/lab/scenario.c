/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/scenario.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema_leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/expect.h"

static int build_leaf_spine(struct scenario *scenario)
{
	const struct scenario_leaf_spine *fabric = &scenario->fabric.leaf_spine;
	struct topology *topology = scenario->topology;
	uint64_t host_ps = cable_delay_ps(fabric->host_cable_mm);
	uint64_t uplink_ps = cable_delay_ps(fabric->uplink_cable_mm);
	char name[CONFIG_NAME_BYTES];

	topology->overhead_bytes = fabric->framing_overhead_bytes;
	for (uint32_t i = 1; i <= fabric->leaves; i++) {
		snprintf(name, sizeof(name), "leaf%u", i);
		topology_add_node(topology, name);
	}
	for (uint32_t i = 1; i <= fabric->spines; i++) {
		snprintf(name, sizeof(name), "spine%u", i);
		topology_add_node(topology, name);
	}
	for (uint32_t leaf = 0; leaf < fabric->leaves; leaf++) {
		for (uint32_t i = 1; i <= fabric->hosts_per_leaf; i++) {
			uint32_t host;

			snprintf(name, sizeof(name), "leaf%u.h%u", leaf + 1, i);
			host = topology_add_node(topology, name);
			topology_add_link(topology, host, leaf, fabric->host_speed_bps, host_ps);
		}
		for (uint32_t i = 0; i < fabric->spines * fabric->uplinks_per_spine; i++)
			topology_add_link(topology, leaf,
					  fabric->leaves + i / fabric->uplinks_per_spine,
					  fabric->uplink_speed_bps, uplink_ps);
	}
	return 0;
}

static int build_explicit(struct scenario *scenario, struct schema_document *document)
{
	const struct scenario_explicit *fabric = &scenario->fabric.explicit;
	struct topology *topology = scenario->topology;
	int result = 0;

	topology->overhead_bytes = fabric->framing_overhead_bytes;
	for (uint32_t i = 0; i < fabric->node_count; i++) {
		if (topology_find_node(topology, fabric->nodes[i]) != TOPOLOGY_NONE) {
			schema_fail(document, schema_at(document, "fabric.explicit.nodes[%u]", i),
				    "node %s is named twice", fabric->nodes[i]);
			result = -EINVAL;
		}
		topology_add_node(topology, fabric->nodes[i]);
	}
	for (uint32_t i = 0; i < fabric->link_count; i++) {
		const struct scenario_link *link = &fabric->links[i];
		struct schema_node *node = schema_at(document, "fabric.explicit.links[%u].ends", i);
		uint32_t ends[2];

		for (uint32_t end = 0; end < 2; end++) {
			ends[end] = topology_find_node(topology, link->ends[end]);
			if (ends[end] != TOPOLOGY_NONE)
				continue;
			schema_fail(document, schema_element(node, end),
				    "%s is not one of the nodes", link->ends[end]);
			result = -EINVAL;
		}
		if (ends[0] == TOPOLOGY_NONE || ends[1] == TOPOLOGY_NONE)
			continue;
		if (ends[0] == ends[1]) {
			schema_fail(document, node, "both ends of this link are %s", link->ends[0]);
			result = -EINVAL;
			continue;
		}
		topology_add_link(topology, ends[0], ends[1], link->speed_bps,
				  link->delay_given ? link->delay_ps
						    : cable_delay_ps(link->cable_mm));
	}
	return result;
}

/* Equal paths of a switch towards a subnet become next hops of one route. */
static int check_paths(const struct scenario *scenario, struct schema_document *document)
{
	const struct topology *topology = scenario->topology;

	for (uint32_t i = 0; i < topology->switch_count; i++) {
		const struct topology_node *node = &topology->nodes[topology->switches[i]];
		uint32_t transits = 0;

		for (uint32_t port = 0; port < node->link_count; port++)
			transits += topology->links[node->links[port]].transit != TOPOLOGY_NONE;
		if (transits <= CONFIG_VIAS_MAX)
			continue;
		/* Many links are fine as long as no destination uses more at once. */
		for (uint32_t j = 0; j < topology->switch_count; j++) {
			uint32_t *hops = allocate(topology->node_count * sizeof(*hops));
			uint32_t paths = 0;

			topology_hops(topology, topology->switches[j], hops);
			for (uint32_t port = 0; port < node->link_count; port++)
				paths += hops[topology_other(&topology->links[node->links[port]],
							     topology->switches[i])] +
						 1 ==
					 hops[topology->switches[i]];
			free(hops);
			if (paths <= CONFIG_VIAS_MAX)
				continue;
			schema_fail(document, schema_at(document, "fabric"),
				    "switch %s has %u equal paths to switch %s: at most %u",
				    node->name, paths, topology->nodes[topology->switches[j]].name,
				    CONFIG_VIAS_MAX);
			return -EINVAL;
		}
	}
	return 0;
}

int scenario_build_topology(struct scenario *scenario, struct schema_document *document)
{
	char why[256];
	int result;

	scenario->topology = topology_create();
	if (scenario->fabric.kind == SCENARIO_LEAF_SPINE)
		result = build_leaf_spine(scenario);
	else
		result = build_explicit(scenario, document);
	if (result != 0)
		return result;
	if (topology_complete(scenario->topology, why, sizeof(why)) != 0) {
		schema_fail(document,
			    schema_at(document, scenario->fabric.kind == SCENARIO_EXPLICIT
							? "fabric.explicit.nodes"
							: "fabric"),
			    "%s", why);
		return -EINVAL;
	}
	return check_paths(scenario, document);
}

/* incast.yaml -> incast */
static void name_by_path(struct scenario *scenario, const char *path)
{
	const char *base = strrchr(path, '/');
	char *dot;

	snprintf(scenario->name, sizeof(scenario->name), "%s", base == NULL ? path : base + 1);
	dot = strrchr(scenario->name, '.');
	if (dot != NULL && dot != scenario->name)
		*dot = '\0';
}

/* Whether expectations can be read at all; what they name shows when there is a result. */
static int check_expects(struct scenario *scenario, struct schema_document *document,
			 const char *path)
{
	struct schema_node *list = schema_at(document, "expect");
	int result = 0;

	scenario->expect_places =
		allocate(scenario->expect_count * sizeof(*scenario->expect_places));
	for (uint32_t i = 0; i < scenario->expect_count; i++) {
		struct schema_node *node = schema_element(list, i);
		struct scenario_place *place = &scenario->expect_places[i];
		struct expect expect;
		char why[256];

		place->name = allocate_text("%s", node->origin != NULL ? node->origin : path);
		if (node->origin == NULL)
			place->mark = node->mark;
		if (expect_parse(scenario->expects[i], &expect, why, sizeof(why)) == 0)
			continue;
		schema_fail(document, node, "expect \"%s\" %s", scenario->expects[i], why);
		result = -EINVAL;
	}
	return result;
}

/* Classes carry what the hosts send, unless they say else. */
static void complete_rdma_mtu(struct scenario *scenario)
{
	for (uint8_t i = 0; i < scenario->leaf.config.class_count; i++)
		if (scenario->leaf.config.classes[i].rdma_mtu_bytes == 0)
			scenario->leaf.config.classes[i].rdma_mtu_bytes = scenario->hosts.mtu_bytes;
}

static int check(struct scenario *scenario, struct schema_document *document, const char *path,
		 struct config_errors *errors)
{
	int result = schema_check(document, &scenario_table, scenario, &scenario->memory, errors);

	if (result != 0)
		return result;
	if (scenario->name[0] == '\0')
		name_by_path(scenario, path);
	result = check_expects(scenario, document, path);
	if (config_classes_complete(document, schema_at(document, "leaf.classes"),
				    &scenario->leaf.config) != 0)
		result = -EINVAL;
	complete_rdma_mtu(scenario);
	scenario_complete_hosts(&scenario->hosts);
	if (config_buffer_complete(document, schema_at(document, "leaf"), &scenario->leaf.config) !=
	    0)
		result = -EINVAL;
	if (scenario_build_topology(scenario, document) != 0 || result != 0)
		return -EINVAL;
	return scenario_build_flows(scenario, document);
}

static struct scenario *load(struct schema_document *document, const char *path,
			     const struct scenario_options *options, struct config_errors *errors)
{
	struct scenario *scenario = allocate(sizeof(*scenario));
	int result = 0;

	for (uint32_t i = 0; i < options->assignment_count; i++)
		if (schema_set(document, options->assignments[i], errors) != 0)
			result = -EINVAL;
	if (options->seed != NULL) {
		char text[32];

		snprintf(text, sizeof(text), "seed=%" PRIu64, *options->seed);
		if (schema_set(document, text, errors) != 0)
			result = -EINVAL;
	}
	if (result == 0)
		result = check(scenario, document, path, errors);
	scenario->path = allocate_text("%s", path);
	schema_free(document);
	if (result != 0) {
		scenario_free(scenario);
		return NULL;
	}
	return scenario;
}

struct scenario *scenario_load(const char *path, const struct scenario_options *options,
			       struct config_errors *errors)
{
	struct schema_document *document = schema_read(path, errors);

	return document == NULL ? NULL : load(document, path, options, errors);
}

struct scenario *scenario_load_string(const char *path, const char *text, size_t size,
				      const struct scenario_options *options,
				      struct config_errors *errors)
{
	struct schema_document *document = schema_read_string(path, text, size, errors);

	return document == NULL ? NULL : load(document, path, options, errors);
}

void scenario_free(struct scenario *scenario)
{
	if (scenario == NULL)
		return;
	schema_memory_free(&scenario->memory);
	topology_free(scenario->topology);
	for (uint32_t i = 0; scenario->expect_places != NULL && i < scenario->expect_count; i++)
		free(scenario->expect_places[i].name);
	free(scenario->expect_places);
	free(scenario->flows);
	free(scenario->path);
	free(scenario);
}
