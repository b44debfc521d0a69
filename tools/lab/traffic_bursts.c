/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic that comes and goes: checkpoints of many hosts, and one sender with breaks. Each burst of a
 * host is a flow, so that each has a completion time.
 */
#include "tools/lab/scenario.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tools/lab/exponential.h"

void element_resolve_checkpoint(struct element *element)
{
	const struct scenario_traffic *traffic = element->traffic;
	uint32_t to = element_find_host(element, "to", traffic->to);
	uint32_t count, number = 0;
	uint32_t *hosts;

	if (to == TOPOLOGY_NONE)
		return;
	hosts = element_hosts(element, "from", to, &count);
	if (hosts == NULL)
		return;
	if (count == 0)
		schema_fail(element->document, element_key(element, "from"),
			    "from: nobody is there but the receiver, %s", traffic->to);
	for (uint32_t i = 0; i < count; i++)
		element_check_rate(element, hosts[i]);
	if (element_too_many(element, (uint64_t)count * traffic->repeat))
		count = 0;
	for (uint32_t i = 0; i < traffic->repeat; i++)
		for (uint32_t j = 0; j < count; j++)
			element_flow(element, hosts[j], to, ++number)->start_ps +=
				i * traffic->every_ps;
	free(hosts);
}

/* A time of this mean, or exactly it; never 0. */
static uint64_t phase_ps(const struct element *element, struct random *random, uint64_t mean_ps)
{
	uint64_t time_ps = mean_ps;

	if (element->traffic->random)
		time_ps = exponential_ps(random, mean_ps);
	return time_ps != 0 ? time_ps : 1;
}

void element_resolve_on_off(struct element *element)
{
	const struct scenario *scenario = element->scenario;
	const struct scenario_traffic *traffic = element->traffic;
	uint32_t from = element_find_host(element, "from", traffic->from);
	uint32_t to = element_find_host(element, "to", traffic->to);
	struct random random = random_of(scenario->seed, RANDOM_PATTERN, element->index);
	uint64_t end_ps = scenario->duration_ps, time_ps = traffic->start_ps;
	uint32_t number = 0;

	if (from == TOPOLOGY_NONE || to == TOPOLOGY_NONE)
		return;
	if (from == to) {
		schema_fail(element->document, element_key(element, "to"),
			    "from and to are both %s: a flow crosses the fabric", traffic->to);
		return;
	}
	element_check_rate(element, from);
	if (traffic->stop_given && traffic->stop_ps < end_ps)
		end_ps = traffic->stop_ps;
	if (end_ps <= time_ps ||
	    element_too_many(element, (end_ps - time_ps) / (traffic->on_ps + traffic->off_ps)))
		return;
	while (time_ps < end_ps) {
		uint64_t on_ps = phase_ps(element, &random, traffic->on_ps);
		struct scenario_flow *flow;

		if (element_too_many(element, 1))
			return;
		flow = element_flow(element, from, to, ++number);
		flow->start_ps = time_ps;
		flow->stops = true;
		flow->stop_ps = time_ps + on_ps < end_ps ? time_ps + on_ps : end_ps;
		time_ps += on_ps + phase_ps(element, &random, traffic->off_ps);
	}
}
