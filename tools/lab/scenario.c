/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/scenario.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema_leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/expect.h"

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

enum config_balance_mode scenario_mode_of(const struct scenario *scenario, const char *switch_name)
{
	const struct scenario_leaf *leaf = &scenario->leaf;

	for (uint32_t i = leaf->mode_count; i-- != 0;)
		if (fnmatch(leaf->modes[i].name, switch_name, 0) == 0)
			return leaf->modes[i].mode;
	return leaf->config.balance.mode;
}

/* A mode of a switch that isn't there is a mistake. */
static int check_modes(const struct scenario *scenario, struct schema_document *document)
{
	const struct topology *topology = scenario->topology;
	int result = 0;

	for (uint32_t i = 0; i < scenario->leaf.mode_count; i++) {
		const char *name = scenario->leaf.modes[i].name;
		bool found = false;

		for (uint32_t s = 0; s < topology->switch_count && !found; s++)
			found = fnmatch(name, topology->nodes[topology->switches[s]].name, 0) == 0;
		if (found)
			continue;
		schema_fail(document, schema_at(document, "leaf.modes[%u].switch", i),
			    "switch %s: there is none of that name; the first is %s", name,
			    topology->switch_count == 0
				    ? "missing too"
				    : topology->nodes[topology->switches[0]].name);
		result = -EINVAL;
	}
	return result;
}

static int check(struct scenario *scenario, struct schema_document *document, const char *path,
		 struct config_errors *errors)
{
	int result = schema_check(document, &scenario_table, scenario, &scenario->memory, errors);

	if (result != 0)
		return result;
	scenario->path = allocate_text("%s", path);
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
	if (check_modes(scenario, document) != 0)
		return -EINVAL;
	result = scenario_resolve_faults(scenario, document);
	return scenario_build_flows(scenario, document) != 0 ? -EINVAL : result;
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
	for (uint32_t i = 0; i < scenario->collective_count; i++)
		free(scenario->collectives[i].ranks);
	free(scenario->collectives);
	free(scenario->path);
	free(scenario);
}
