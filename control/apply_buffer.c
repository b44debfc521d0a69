/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the buffer's plan to the tables that admission, pausing and marking read.
 */
#include "control/apply_internal.h"

#include <errno.h>
#include <stdlib.h>

#define PPM 1000000u

int apply_plan(const struct config *config, const struct apply_state *state,
	       struct buffer_plan *plan, struct config_errors *errors)
{
	struct buffer_machine_port *ports = calloc(config->port_count, sizeof(*ports));
	const struct buffer_machine machine = {
		.port = ports,
		.poll_ps = state->poll_ps,
		.workers = config->leaf.workers,
		.buffers = state->packets_max,
		.held_buffers = state->packets_held,
	};
	int rc = -ENOMEM;

	*plan = (struct buffer_plan){0};
	if (ports != NULL) {
		for (uint16_t i = 0; i < config->port_count; i++)
			ports[i] = (struct buffer_machine_port){
				.rate_bps = state->port[i].rate_bps,
				.run_ahead_ps = state->port[i].run_ahead_ps,
				.nic_delay_ps = state->port[i].nic_delay_ps,
			};
		rc = buffer_plan_create(config, &machine, plan, errors);
	}
	free(ports);
	return rc;
}

/* A probability as mark.h draws it: times 2^32, less one. */
static uint32_t chance_of(uint32_t ppm)
{
	return (uint32_t)(((uint64_t)ppm << 32) / PPM - 1);
}

static struct mark_table mark_of(const struct buffer_plan_queue *queue)
{
	struct mark_table mark = {.ecn_min_bytes = UINT32_MAX,
				  .wred_min_bytes = UINT32_MAX,
				  .half_life_ps = queue->half_life_ps};

	if (queue->ecn) {
		mark.ecn_min_bytes = queue->ecn_curve.min_bytes;
		mark.ecn_max_bytes = queue->ecn_curve.max_bytes;
		mark.ecn_chance = chance_of(queue->ecn_curve.pmax_ppm);
	}
	if (queue->wred) {
		mark.wred_min_bytes = queue->wred_curve.min_bytes;
		mark.wred_max_bytes = queue->wred_curve.max_bytes;
		mark.wred_chance = chance_of(queue->wred_curve.pmax_ppm);
	}
	return mark;
}

/* Rows of the plan have the real ports, those of the snapshot the CPU's as well. */
static void fill_tables(struct snapshot *snapshot, const struct config *config,
			const struct buffer_plan *plan)
{
	struct buffer_table *table = &snapshot->buffer;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		/* A priority without a class is that of nobody; lossy, should it ever be met. */
		table->class[p].alpha_q8 = plan->class[p].class != NULL ? plan->class[p].alpha_q8
									: BUFFER_ALPHA_ONE_Q8;
		table->class[p].xon_offset_bytes = plan->class[p].xon_offset_bytes;
		for (uint32_t i = 0; i < plan->port_count; i++) {
			const struct buffer_plan_pair *pair = buffer_plan_pair(plan, p, i);

			*snapshot_pair(snapshot, i, p) = (struct buffer_pair){
				.reserved_bytes = pair->reserved_bytes,
				.headroom_bytes = pair->headroom_bytes,
			};
			*snapshot_mark(snapshot, i, p) = mark_of(buffer_plan_queue(plan, p, i));
		}
		*snapshot_mark(snapshot, plan->port_count, p) =
			mark_of(&(const struct buffer_plan_queue){0});
	}
	table->shared_bytes = plan->shared_bytes;
	table->lossy_bytes = plan->lossy_bytes;
	/* With nothing lossless there is nobody to be kept from buffers. */
	table->lossy_packets =
		plan->pair_count != 0 ? plan->lossy_buffers : plan->buffers - plan->guard_buffers;
	table->headroom_pool_bytes = config->buffer.oversubscribe != 0 ? plan->headroom_bytes : 0;
	table->packets_max = plan->buffers;
	table->guard_packets = plan->guard_buffers;
	snapshot->spray.hold_bytes = plan->hold_max_bytes;
	snapshot->spray.hold_packets = plan->hold_buffers;
}

int apply_buffer(struct snapshot *snapshot, const struct config *config,
		 const struct apply_state *state)
{
	const size_t entries = (size_t)PRIORITY_COUNT * (config->port_count + 1u);
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct buffer_table *table = &snapshot->buffer;
	struct buffer_plan plan;
	int rc;

	if (errors == NULL)
		return -ENOMEM;
	/* Who wants to know what doesn't fit has called apply_plan() before. */
	rc = apply_plan(config, state, &plan, errors);
	free(errors);
	if (rc != 0)
		return rc;
	table->pair = apply_allocate(entries, sizeof(*table->pair));
	table->mark = apply_allocate(entries, sizeof(*table->mark));
	if (table->pair != NULL && table->mark != NULL)
		fill_tables(snapshot, config, &plan);
	else
		rc = -ENOMEM;
	buffer_plan_free(&plan);
	return rc;
}
