/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/second_half.h"

#include <stdlib.h>
#include <string.h>

#include "dataplane/leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/ratio.h"

static void add_counters(const struct switch_node *switch_node, uint16_t port, uint64_t now_ps,
			 struct second_half_sums *sums)
{
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		struct queue_totals queue;
		struct pfc_totals pfc;

		leaf_queue_totals(switch_node->leaf, port, p, &queue);
		leaf_pfc_totals(switch_node->leaf, port, p, now_ps, &pfc);
		sums->xoff_frames += pfc.tx_xoff;
		sums->marked += queue.ecn_marked;
		if ((switch_node->snapshot->lossless_mask >> p & 1) != 0)
			sums->lossless_drops += queue.drop_packets;
	}
}

static struct second_half_sums sum_up(const struct fabric *fabric)
{
	struct second_half_sums sums = {0};

	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++)
		for (uint16_t port = 0; port < fabric->switches[i]->port_count; port++)
			add_counters(fabric->switches[i], port, fabric->engine->now_ps, &sums);
	return sums;
}

static void second_half_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static uint64_t second_half_run(struct node *node, uint64_t now_ps)
{
	struct second_half *half = (struct second_half *)node;

	half->begun = true;
	half->begin_ps = now_ps;
	half->before = sum_up(half->fabric);
	for (uint32_t i = 0; i < 2 * half->fabric->scenario->topology->link_count; i++)
		half->busy_ps[i] = wire_busy_ps(&half->fabric->wires[i]);
	return now_ps + TIME_IDLE_PS;
}

static const struct node_ops second_half_ops = {
	.kind = "second half",
	.arrive = second_half_arrive,
	.run = second_half_run,
};

void second_half_init(struct second_half *half, struct fabric *fabric)
{
	memset(half, 0, sizeof(*half));
	half->fabric = fabric;
	half->busy_ps = allocate(2 * (size_t)fabric->scenario->topology->link_count *
				 sizeof(*half->busy_ps));
	engine_add(fabric->engine, &half->node, &second_half_ops);
	engine_wake(fabric->engine, &half->node,
		    fabric->engine->start_ps + fabric->scenario->duration_ps / 2);
}

void second_half_fini(struct second_half *half)
{
	free(half->busy_ps);
	half->busy_ps = NULL;
}

void second_half_result(const struct second_half *half, json_t *result)
{
	struct second_half_sums now = half->begun ? sum_up(half->fabric) : half->before;
	uint64_t length_ps = half->begun ? half->fabric->engine->now_ps - half->begin_ps : 0;
	json_t *object = json_object(), *link;
	size_t index;

	json_object_set_new(object, "xoff_sent",
			    json_integer((json_int_t)(now.xoff_frames - half->before.xoff_frames)));
	json_object_set_new(object, "marked",
			    json_integer((json_int_t)(now.marked - half->before.marked)));
	json_object_set_new(
		object, "lossless_drops",
		json_integer((json_int_t)(now.lossless_drops - half->before.lossless_drops)));
	json_object_set_new(result, "second_half", object);
	json_array_foreach(json_object_get(result, "links"), index, link)
	{
		uint64_t busy_ps = wire_busy_ps(&half->fabric->wires[index]) - half->busy_ps[index];

		ratio_set(link, "second_half_utilisation", half->begun ? busy_ps : 0, length_ps);
	}
}
