/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/uplinks.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/ratio.h"

/* One leaf in one window. */
static void look_at_leaf(struct uplinks *uplinks, uint32_t node_index)
{
	const struct topology *topology = uplinks->fabric->scenario->topology;
	const struct topology_node *node = &topology->nodes[node_index];
	uint64_t bytes = 0, rates_bps = 0, worst_bytes = 0;
	uint32_t links = 0;

	for (uint32_t i = 0; i < node->link_count; i++) {
		if (topology->links[node->links[i]].transit == TOPOLOGY_NONE)
			continue;
		rates_bps += topology->links[node->links[i]].rate_bps;
		links++;
	}
	if (links < 2)
		return;
	for (uint32_t i = 0; i < node->link_count; i++) {
		const struct topology_link *link = &topology->links[node->links[i]];
		uint32_t wire = 2 * node->links[i] + (link->node[0] == node_index ? 0 : 1);
		uint64_t sent_bytes, at_its_pace;

		if (link->transit == TOPOLOGY_NONE)
			continue;
		sent_bytes = uplinks->fabric->wires[wire].sent_bytes - uplinks->sent_bytes[wire];
		uplinks->sent_bytes[wire] += sent_bytes;
		at_its_pace =
			(uint64_t)((unsigned __int128)sent_bytes * rates_bps / link->rate_bps);
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

void uplinks_result(const struct uplinks *uplinks, json_t *result)
{
	const struct fabric *fabric = uplinks->fabric;
	uint64_t moves = 0, out_of_order = 0, held_max = 0;
	json_t *object = json_object();

	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++) {
		struct balance_totals totals;
		struct spray_totals spray;

		leaf_balance_totals(fabric->switches[i]->leaf, &totals);
		moves += totals.moves;
		leaf_spray_totals(fabric->switches[i]->leaf, &spray);
		held_max = spray.held_bytes_max > held_max ? spray.held_bytes_max : held_max;
	}
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++)
		out_of_order += fabric->traffic.flows[i].out_of_order;
	ratio_set(object, "imbalance", uplinks->worst_bytes, uplinks->bytes);
	json_object_set_new(object, "moves", json_integer((json_int_t)moves));
	json_object_set_new(object, "out_of_order", json_integer((json_int_t)out_of_order));
	json_object_set_new(object, "held_max_bytes", json_integer((json_int_t)held_max));
	json_object_set_new(result, "balance", object);
}
