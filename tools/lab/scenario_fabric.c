/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From fabrics as written to graphs.
 */
#include "tools/lab/scenario_fabric.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/ns3_import.h"
#include "tools/lab/scenario.h"

/* With room for any number; the bounds of the keys keep names below CONFIG_NAME_BYTES. */
#define NAME_BYTES 64

char *scenario_beside(const char *scenario_path, const char *file)
{
	const char *slash = strrchr(scenario_path, '/');

	if (file[0] == '/' || slash == NULL)
		return allocate_text("%s", file);
	return allocate_text("%.*s/%s", (int)(slash - scenario_path), scenario_path, file);
}

/* --- regular fabrics --- */

struct clos_builder {
	const struct scenario_fabric *fabric;
	const struct scenario_clos *clos;
	struct topology *topology;
	uint64_t host_ps, uplink_ps, core_ps; /* delays */
};

/* Of the leaf so many of all, 0.. */
static void name_leaf(const struct clos_builder *builder, uint32_t leaf, char *name, size_t size)
{
	const struct scenario_clos *clos = builder->clos;

	if (builder->fabric->kind == SCENARIO_RAIL_OPTIMISED)
		snprintf(name, size, "u%u.rail%u", leaf / clos->rails + 1, leaf % clos->rails + 1);
	else if (builder->fabric->kind == SCENARIO_THREE_TIER)
		snprintf(name, size, "pod%u.leaf%u", leaf / clos->leaves + 1,
			 leaf % clos->leaves + 1);
	else
		snprintf(name, size, "leaf%u", leaf + 1);
}

static void name_host(const struct clos_builder *builder, uint32_t leaf, uint32_t host, char *name,
		      size_t size)
{
	const struct scenario_clos *clos = builder->clos;
	char base[NAME_BYTES / 2];

	if (builder->fabric->kind == SCENARIO_RAIL_OPTIMISED) {
		snprintf(name, size, "u%u.s%u.r%u", leaf / clos->rails + 1, host + 1,
			 leaf % clos->rails + 1);
		return;
	}
	name_leaf(builder, leaf, base, sizeof(base));
	snprintf(name, size, "%s.h%u", base, host + 1);
}

static void add_switches(const struct clos_builder *builder)
{
	const struct scenario_clos *clos = builder->clos;
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < clos->pods * clos->leaves; i++) {
		name_leaf(builder, i, name, sizeof(name));
		topology_add_node(builder->topology, name);
	}
	for (uint32_t i = 0; i < clos->pods * clos->spines; i++) {
		if (builder->fabric->kind == SCENARIO_THREE_TIER)
			snprintf(name, sizeof(name), "pod%u.spine%u", i / clos->spines + 1,
				 i % clos->spines + 1);
		else
			snprintf(name, sizeof(name), "spine%u", i + 1);
		topology_add_node(builder->topology, name);
	}
	for (uint32_t i = 0; i < clos->cores; i++) {
		snprintf(name, sizeof(name), "core%u", i + 1);
		topology_add_node(builder->topology, name);
	}
}

/* Its hosts, then its uplinks: the order of its ports. */
static void add_leaf_links(const struct clos_builder *builder, uint32_t leaf)
{
	const struct scenario_clos *clos = builder->clos;
	uint32_t first_spine = clos->pods * clos->leaves + leaf / clos->leaves * clos->spines;
	char name[NAME_BYTES];

	for (uint32_t i = 0; i < clos->hosts_per_leaf; i++) {
		uint32_t host;

		name_host(builder, leaf, i, name, sizeof(name));
		host = topology_add_node(builder->topology, name);
		topology_add_link(builder->topology, host, leaf, clos->host_speed_bps,
				  builder->host_ps);
	}
	for (uint32_t i = 0; i < clos->spines * clos->uplinks_per_spine; i++)
		topology_add_link(builder->topology, leaf,
				  first_spine + i / clos->uplinks_per_spine, clos->uplink_speed_bps,
				  builder->uplink_ps);
}

/* Spine j of a pod belongs to plane j. */
static void add_core_links(const struct clos_builder *builder, uint32_t spine)
{
	const struct scenario_clos *clos = builder->clos;
	uint32_t share = clos->cores / clos->spines;
	uint32_t first_spine = clos->pods * clos->leaves;
	uint32_t first_core = first_spine + clos->pods * clos->spines;

	for (uint32_t i = 0; i < share; i++)
		topology_add_link(builder->topology, first_spine + spine,
				  first_core + spine % clos->spines * share + i,
				  clos->core_speed_bps, builder->core_ps);
}

static void build_clos(struct scenario *scenario)
{
	const struct scenario_clos *clos = &scenario->fabric.clos;
	struct clos_builder builder = {
		.fabric = &scenario->fabric,
		.clos = clos,
		.topology = scenario->topology,
		.host_ps = cable_delay_ps(clos->host_cable_mm),
		.uplink_ps = cable_delay_ps(clos->uplink_cable_mm),
		.core_ps = cable_delay_ps(clos->core_cable_mm),
	};

	scenario->topology->overhead_bytes = clos->framing_overhead_bytes;
	add_switches(&builder);
	for (uint32_t i = 0; i < clos->pods * clos->leaves; i++)
		add_leaf_links(&builder, i);
	for (uint32_t i = 0; i < clos->pods * clos->spines && clos->cores != 0; i++)
		add_core_links(&builder, i);
}

/* The key of a regular fabric. */
static const char *clos_key(enum scenario_fabric_kind kind)
{
	switch (kind) {
	case SCENARIO_SINGLE_LEAF:
		return "single_leaf";
	case SCENARIO_RAIL_OPTIMISED:
		return "rail_optimised";
	case SCENARIO_THREE_TIER:
		return "three_tier";
	default:
		return "leaf_spine";
	}
}

/* Links have names by now. */
static int override_links(struct scenario *scenario, struct schema_document *document)
{
	const struct scenario_clos *clos = &scenario->fabric.clos;
	struct topology *topology = scenario->topology;
	int result = 0;

	for (uint32_t i = 0; i < clos->override_count; i++) {
		const struct scenario_override *override = &clos->overrides[i];
		uint32_t matches = 0;

		for (uint32_t j = 0; j < topology->link_count; j++) {
			struct topology_link *link = &topology->links[j];

			if (fnmatch(override->link, link->name, 0) != 0)
				continue;
			matches++;
			if (override->speed_bps != 0)
				link->rate_bps = override->speed_bps;
			if (override->cable_given)
				link->delay_ps = cable_delay_ps(override->cable_mm);
			if (override->delay_given)
				link->delay_ps = override->delay_ps;
		}
		if (matches != 0)
			continue;
		schema_fail(document,
			    schema_at(document, "fabric.%s.links[%u].link",
				      clos_key(scenario->fabric.kind), i),
			    "link %s: there is none of that name; the first is %s", override->link,
			    topology->links[0].name);
		result = -EINVAL;
	}
	return result;
}

/* After the overrides, which may slow a link of the core down. */
static void idealise_core(struct topology *topology)
{
	for (uint32_t i = 0; i < topology->link_count; i++)
		if (topology->links[i].transit != TOPOLOGY_NONE)
			topology->links[i].rate_bps = RATE_BPS_MAX;
}

/* --- one by one --- */

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

static int build_ns3(struct scenario *scenario, struct schema_document *document)
{
	const struct scenario_ns3 *fabric = &scenario->fabric.ns3;
	char *path = scenario_beside(scenario->path, fabric->file);
	int result;

	scenario->topology->overhead_bytes = fabric->framing_overhead_bytes;
	result = ns3_read_topology(path, scenario->topology, schema_errors(document));
	free(path);
	return result;
}

/* --- any --- */

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
	enum scenario_fabric_kind kind = scenario->fabric.kind;
	char why[256];
	int result = 0;

	scenario->topology = topology_create();
	if (kind == SCENARIO_EXPLICIT)
		result = build_explicit(scenario, document);
	else if (kind == SCENARIO_NS3_TOPOLOGY)
		result = build_ns3(scenario, document);
	else
		build_clos(scenario);
	if (result != 0)
		return result;
	if (topology_complete(scenario->topology, why, sizeof(why)) != 0) {
		schema_fail(document,
			    schema_at(document, kind == SCENARIO_EXPLICIT ? "fabric.explicit.nodes"
						: kind == SCENARIO_NS3_TOPOLOGY ? "fabric.ns3.file"
										: "fabric"),
			    "%s", why);
		return -EINVAL;
	}
	if (override_links(scenario, document) != 0)
		return -EINVAL;
	if (scenario->fabric.clos.ideal_core)
		idealise_core(scenario->topology);
	return check_paths(scenario, document);
}
