/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives: who takes part, and a flow for each queue pair. collective.h has what they do at run time.
 */
#include "tools/lab/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"

static bool collective_name_taken(const struct scenario *scenario, const char *name)
{
	for (uint32_t i = 0; i < scenario->collective_count; i++)
		if (strcmp(scenario->collectives[i].name, name) == 0)
			return true;
	return false;
}

/* `allreduce` alone is what expectations are likely to ask for. */
static int name_collective(const struct element *element, char *name, size_t size)
{
	const struct scenario_traffic *traffic = element->traffic;
	const char *key = scenario_traffic_key(traffic->kind);

	if (traffic->name[0] == '\0') {
		snprintf(name, size, "%s", key);
		if (collective_name_taken(element->scenario, name))
			snprintf(name, size, "%s%u", key, element->index + 1);
	} else {
		snprintf(name, size, "%s", traffic->name);
	}
	if (!collective_name_taken(element->scenario, name))
		return 0;
	schema_fail(element->document, element_key(element, "name"),
		    "name %s: another collective is called so", name);
	return -1;
}

static enum collective_pattern pattern_of(const struct scenario_traffic *traffic)
{
	if (traffic->kind == SCENARIO_ALLTOALL)
		return COLLECTIVE_ALLTOALL;
	return traffic->algorithm == SCENARIO_HALVING_DOUBLING ? COLLECTIVE_HALVING_DOUBLING
							       : COLLECTIVE_RING;
}

static bool shape_fits(const struct element *element, const struct collective_shape *shape)
{
	const struct scenario_traffic *traffic = element->traffic;
	uint32_t ranks = shape->ranks;

	if (ranks < 2) {
		schema_fail(element->document, element_key(element, "ranks"),
			    "ranks: %u host%s: a collective needs two", ranks,
			    ranks == 1 ? "" : "s");
		return false;
	}
	if (shape->pattern == COLLECTIVE_HALVING_DOUBLING && (ranks & (ranks - 1)) != 0) {
		schema_fail(
			element->document, element_key(element, "algorithm"),
			"algorithm halving-doubling needs a power of two of ranks, not %u: take "
			"ring, or fewer ranks",
			ranks);
		return false;
	}
	if (shape->bytes < ranks) {
		schema_fail(element->document, element_key(element, "bytes"),
			    "bytes %" PRIu64 " are less than one for each of %u ranks",
			    shape->bytes, ranks);
		return false;
	}
	if (shape->bytes > UINT64_MAX / 4 / traffic->repeat) {
		schema_fail(element->document, element_key(element, "repeat"),
			    "repeat %u of %" PRIu64 " bytes is more than a flow can count",
			    traffic->repeat, shape->bytes);
		return false;
	}
	return !element_too_many(element, (uint64_t)ranks * collective_slots(shape));
}

/* Who gets what a rank sends on a slot. */
static uint32_t slot_peer(const struct collective_shape *shape, uint32_t rank, uint32_t slot)
{
	return collective_message(shape, rank, collective_first_step(shape, slot)).peer;
}

static void add_flows(const struct element *element, const struct scenario_collective *collective)
{
	const struct collective_shape *shape = &collective->shape;
	uint32_t slots = collective_slots(shape);

	for (uint32_t rank = 0; rank < shape->ranks; rank++) {
		element_check_rate(element, collective->ranks[rank]);
		for (uint32_t slot = 0; slot < slots; slot++) {
			uint32_t peer = slot_peer(shape, rank, slot);
			struct scenario_flow *flow = element_flow(element, collective->ranks[rank],
								  collective->ranks[peer], 0);

			snprintf(flow->name, sizeof(flow->name), "%s-%u", collective->name,
				 rank * slots + slot + 1);
			flow->bytes = collective_slot_bytes(shape, rank, slot) * collective->repeat;
			flow->collective = element->scenario->collective_count;
		}
	}
}

void element_resolve_collective(struct element *element)
{
	struct scenario *scenario = element->scenario;
	const struct scenario_traffic *traffic = element->traffic;
	struct scenario_collective collective = {
		.shape = {.pattern = pattern_of(traffic), .bytes = traffic->bytes},
		.first_flow = scenario->flow_count,
		.window = traffic->kind == SCENARIO_ALLTOALL ? traffic->concurrent : 1,
		.repeat = traffic->repeat,
		.start_ps = traffic->start_ps,
		.compute_ps = traffic->compute_ps,
	};

	collective.ranks = element_hosts(element, "ranks", TOPOLOGY_NONE, &collective.shape.ranks);
	if (collective.ranks == NULL)
		return;
	if (!shape_fits(element, &collective.shape) ||
	    name_collective(element, collective.name, sizeof(collective.name)) != 0) {
		free(collective.ranks);
		return;
	}
	scenario->collectives =
		allocate_resize(scenario->collectives,
				(scenario->collective_count + 1) * sizeof(*scenario->collectives));
	scenario->collectives[scenario->collective_count++] = collective;
	add_flows(element, &collective);
}
