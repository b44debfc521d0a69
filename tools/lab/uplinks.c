/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/uplinks.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/ratio.h"

/* The wire by which a link carries what a node sends. */
static const struct wire *wire_from(const struct uplinks *uplinks, uint32_t node, uint32_t link)
{
	const struct topology *topology = uplinks->fabric->scenario->topology;

	return &uplinks->fabric->wires[2 * link + (topology->links[link].node[0] == node ? 0 : 1)];
}

/* Links of a leaf to other switches: those that have a transit network. */
static bool is_uplink(const struct topology *topology, uint32_t link)
{
	return topology->links[link].transit != TOPOLOGY_NONE;
}

static uint32_t uplink_count(const struct topology *topology, const struct topology_node *node)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < node->link_count; i++)
		count += is_uplink(topology, node->links[i]);
	return count;
}

/* One leaf in one window. */
static void look_at_leaf(struct uplinks *uplinks, uint32_t node_index)
{
	const struct topology *topology = uplinks->fabric->scenario->topology;
	const struct topology_node *node = &topology->nodes[node_index];
	uint64_t bytes = 0, rates_bps = 0, worst_bytes = 0;

	if (uplink_count(topology, node) < 2)
		return;
	for (uint32_t i = 0; i < node->link_count; i++)
		if (is_uplink(topology, node->links[i]))
			rates_bps += topology->links[node->links[i]].rate_bps;
	for (uint32_t i = 0; i < node->link_count; i++) {
		const struct wire *wire = wire_from(uplinks, node_index, node->links[i]);
		uint64_t *before = &uplinks->sent_bytes[wire - uplinks->fabric->wires];
		uint64_t sent_bytes, at_its_pace;

		if (!is_uplink(topology, node->links[i]))
			continue;
		sent_bytes = wire->sent_bytes - *before;
		*before += sent_bytes;
		at_its_pace = (uint64_t)((unsigned __int128)sent_bytes * rates_bps /
					 topology->links[node->links[i]].rate_bps);
		bytes += sent_bytes;
		worst_bytes = at_its_pace > worst_bytes ? at_its_pace : worst_bytes;
	}
	uplinks->bytes += bytes;
	uplinks->worst_bytes += worst_bytes;
}

static void uplinks_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static uint64_t uplinks_run(struct node *node, uint64_t now_ps)
{
	struct uplinks *uplinks = (struct uplinks *)node;
	const struct topology *topology = uplinks->fabric->scenario->topology;

	for (uint32_t i = 0; i < topology->switch_count; i++)
		if (topology->nodes[topology->switches[i]].subnet != 0)
			look_at_leaf(uplinks, topology->switches[i]);
	return now_ps + UPLINKS_WINDOW_PS;
}

static const struct node_ops uplinks_ops = {
	.kind = "uplinks",
	.arrive = uplinks_arrive,
	.run = uplinks_run,
};

void uplinks_init(struct uplinks *uplinks, struct fabric *fabric)
{
	memset(uplinks, 0, sizeof(*uplinks));
	uplinks->fabric = fabric;
	uplinks->sent_bytes = allocate(2 * (size_t)fabric->scenario->topology->link_count *
				       sizeof(*uplinks->sent_bytes));
	engine_add(fabric->engine, &uplinks->node, &uplinks_ops);
	engine_wake(fabric->engine, &uplinks->node, fabric->engine->start_ps + UPLINKS_WINDOW_PS);
}

void uplinks_fini(struct uplinks *uplinks)
{
	free(uplinks->sent_bytes);
	uplinks->sent_bytes = NULL;
}

/* What each uplink of a leaf has carried of all that they have. */
static void add_shares(const struct uplinks *uplinks, uint32_t node_index, json_t *array)
{
	const struct topology *topology = uplinks->fabric->scenario->topology;
	const struct topology_node *node = &topology->nodes[node_index];
	uint64_t all_bytes = 0;

	if (uplink_count(topology, node) < 2)
		return;
	for (uint32_t i = 0; i < node->link_count; i++)
		if (is_uplink(topology, node->links[i]))
			all_bytes += wire_from(uplinks, node_index, node->links[i])->sent_bytes;
	for (uint32_t i = 0; i < node->link_count; i++) {
		uint64_t bytes = wire_from(uplinks, node_index, node->links[i])->sent_bytes;
		json_t *object;

		if (!is_uplink(topology, node->links[i]))
			continue;
		object = json_object();
		json_object_set_new(object, "leaf", json_string(node->name));
		json_object_set_new(object, "name",
				    json_string(topology->links[node->links[i]].name));
		json_object_set_new(object, "bytes", json_integer((json_int_t)bytes));
		ratio_set(object, "share", bytes, all_bytes);
		json_array_append_new(array, object);
	}
}

void uplinks_result(const struct uplinks *uplinks, json_t *result)
{
	const struct fabric *fabric = uplinks->fabric;
	const struct topology *topology = fabric->scenario->topology;
	json_t *shares = json_array();
	uint64_t moves = 0, out_of_order = 0, held_max = 0;
	json_t *object = json_object();

	for (uint32_t i = 0; i < topology->switch_count; i++) {
		struct balance_totals totals;
		struct spray_totals spray;

		leaf_balance_totals(fabric->switches[i]->leaf, &totals);
		moves += totals.moves;
		leaf_spray_totals(fabric->switches[i]->leaf, &spray);
		held_max = spray.held_bytes_max > held_max ? spray.held_bytes_max : held_max;
		if (topology->nodes[topology->switches[i]].subnet != 0)
			add_shares(uplinks, topology->switches[i], shares);
	}
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++)
		out_of_order += fabric->traffic.flows[i].out_of_order;
	ratio_set(object, "imbalance", uplinks->worst_bytes, uplinks->bytes);
	json_object_set_new(object, "moves", json_integer((json_int_t)moves));
	json_object_set_new(object, "out_of_order", json_integer((json_int_t)out_of_order));
	json_object_set_new(object, "held_max_bytes", json_integer((json_int_t)held_max));
	json_object_set_new(object, "uplinks", shares);
	json_object_set_new(result, "balance", object);
}
