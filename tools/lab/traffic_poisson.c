/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random flows at a load: every host begins flows at the times of a Poisson process of its own, so
 * that its payload is `load` of its link's rate in the mean.
 */
#include "tools/lab/scenario.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tools/lab/exponential.h"
#include "tools/lab/flow.h"

/* Beyond any duration, and small enough for exponential_ps(). */
#define GAP_PS_MAX (UINT64_C(1) << 56)

static int read_sizes(const struct element *element, struct size_distribution *sizes)
{
	const struct scenario_traffic *traffic = element->traffic;
	char *path;
	int result;

	if (traffic->workload != 0) {
		*sizes = size_distribution_of(traffic->workload);
		return 0;
	}
	path = scenario_beside(element->scenario->path, traffic->sizes_file);
	result = size_distribution_read(
		path, traffic->workload_name != NULL ? traffic->workload_name : "", sizes,
		schema_errors(element->document));
	free(path);
	return result;
}

/* Mean time from the beginning of one flow of a host to that of the next. */
static uint64_t mean_gap_ps(const struct element *element, uint32_t host, uint64_t mean_bytes)
{
	unsigned __int128 bits_ppm = (unsigned __int128)mean_bytes * 8 * SIZE_PPM;
	unsigned __int128 gap_ps =
		bits_ppm * PS_PER_S / element->traffic->load_ppm / element_line_bps(element, host);

	if (gap_ps > GAP_PS_MAX)
		return GAP_PS_MAX;
	return gap_ps != 0 ? (uint64_t)gap_ps : 1;
}

static void begin_flows(const struct element *element, const uint32_t *hosts, uint32_t count,
			uint32_t index, const struct size_distribution *sizes, uint64_t gap_ps,
			uint64_t end_ps)
{
	const struct scenario *scenario = element->scenario;
	struct random random = random_of(scenario->seed, RANDOM_ARRIVALS,
					 (uint64_t)element->index << 32 | hosts[index]);
	uint64_t time_ps = element->traffic->start_ps + exponential_ps(&random, gap_ps);

	while (time_ps < end_ps && scenario->flow_count < FLOW_COUNT_MAX) {
		/* One of the others. */
		uint32_t pick = (uint32_t)random_below(&random, count - 1);
		uint32_t to = hosts[pick < index ? pick : pick + 1];
		struct scenario_flow *flow = element_flow(element, hosts[index], to, 0);

		flow->bytes = size_distribution_draw(sizes, &random);
		flow->start_ps = time_ps;
		flow->stops = false;
		time_ps += exponential_ps(&random, gap_ps);
	}
}

static int compare_starts(const void *a, const void *b)
{
	const struct scenario_flow *left = a, *right = b;

	if (left->start_ps != right->start_ps)
		return left->start_ps < right->start_ps ? -1 : 1;
	return left->source < right->source ? -1 : left->source > right->source;
}

/* In the order of their starts, as people read results. */
static void order_flows(const struct element *element, uint32_t first)
{
	struct scenario *scenario = element->scenario;
	char base[CONFIG_NAME_BYTES];

	element_name(element, base, sizeof(base));
	if (scenario->flow_count != first)
		qsort(&scenario->flows[first], scenario->flow_count - first,
		      sizeof(*scenario->flows), compare_starts);
	for (uint32_t i = first; i < scenario->flow_count; i++)
		snprintf(scenario->flows[i].name, sizeof(scenario->flows[i].name), "%s-%u", base,
			 i - first + 1);
}

static void begin_all(const struct element *element, const uint32_t *hosts, uint32_t count,
		      const struct size_distribution *sizes)
{
	const struct scenario *scenario = element->scenario;
	const struct scenario_traffic *traffic = element->traffic;
	uint64_t mean_bytes = size_distribution_mean_bytes(sizes);
	uint64_t end_ps = scenario->duration_ps;
	uint32_t first = scenario->flow_count;
	uint64_t expected = 0;

	if (traffic->stop_given && traffic->stop_ps < end_ps)
		end_ps = traffic->stop_ps;
	if (end_ps <= traffic->start_ps)
		return;
	for (uint32_t i = 0; i < count; i++)
		expected +=
			(end_ps - traffic->start_ps) / mean_gap_ps(element, hosts[i], mean_bytes);
	/* With room for a number above its mean. */
	if (element_too_many(element, expected + expected / 8 + 100))
		return;
	for (uint32_t i = 0; i < count; i++) {
		element_check_rate(element, hosts[i]);
		begin_flows(element, hosts, count, i, sizes,
			    mean_gap_ps(element, hosts[i], mean_bytes), end_ps);
	}
	order_flows(element, first);
}

void element_resolve_poisson(struct element *element)
{
	struct size_distribution sizes = {0};
	uint32_t count;
	uint32_t *hosts = element_hosts(element, "hosts", TOPOLOGY_NONE, &count);

	if (hosts != NULL && count < 2)
		schema_fail(element->document, element_key(element, "hosts"),
			    "hosts: a sender needs another host to send to");
	else if (hosts != NULL && read_sizes(element, &sizes) == 0)
		begin_all(element, hosts, count, &sizes);
	size_distribution_fini(&sizes);
	free(hosts);
}
