/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/spray_runs.h"

#include <criterion/criterion.h>

void spray_runs_start(void)
{
	harness_start_packets(SPRAY_RUNS_PACKETS);
}

void spray_runs_sum(const struct simulation *simulation, struct spray_sums *sums)
{
	const struct fabric *fabric = simulation->fabric;
	json_t *result = simulation_result(simulation);

	*sums = (struct spray_sums){0};
	sums->imbalance =
		json_number_value(json_object_get(json_object_get(result, "balance"), "imbalance"));
	json_decref(result);
	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++) {
		struct spray_totals totals;

		leaf_spray_totals(fabric->switches[i]->leaf, &totals);
		sums->spray.sequenced += totals.sequenced;
		sums->spray.restored += totals.restored;
		sums->spray.rerouted += totals.rerouted;
		sums->spray.late += totals.late;
		sums->spray.duplicates += totals.duplicates;
		sums->spray.held_packets += totals.held_packets;
		sums->spray.messages_refused += totals.messages_refused;
		for (uint32_t r = 0; r < RESEQUENCER_REASON_COUNT; r++)
			sums->spray.given_up[r] += totals.given_up[r];
		if (totals.held_bytes_max > sums->spray.held_bytes_max)
			sums->spray.held_bytes_max = totals.held_bytes_max;
	}
	for (uint32_t i = 0; i < fabric->scenario->topology->host_count; i++)
		sums->checksums += fabric->hosts[i].checksums;
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++) {
		const struct flow *flow = &fabric->traffic.flows[i];

		sums->out_of_order += flow->out_of_order;
		sums->unfinished += !flow->finished;
	}
}

struct simulation *spray_runs_run(const char *text, struct spray_sums *sums)
{
	struct simulation *simulation = harness_create(text, UINT64_MAX - 20 * PS_PER_US, false);
	struct fabric_conservation sum;

	harness_run_to(simulation, simulation->scenario->duration_ps);
	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	spray_runs_sum(simulation, sums);
	return simulation;
}
