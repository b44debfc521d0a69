/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From elements of traffic to flows. Everything random is drawn here, from the seed and the place in
 * the file, so that two runs of one seed are the same and an element more changes no other.
 */
#include "tools/lab/scenario.h"

#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/flow.h"
#include "tools/lab/random.h"

/* Source ports of RoCEv2 as entropy: the dynamic range (RFC 6335 section 6). */
#define SOURCE_PORT_FIRST 49152
#define SOURCE_PORT_COUNT 16384

uint64_t element_line_bps(const struct element *element, uint32_t host)
{
	const struct topology *topology = element->scenario->topology;

	return topology->links[topology->nodes[topology->hosts[host]].links[0]].rate_bps;
}

static struct scenario_flow *flow_add(struct scenario *scenario)
{
	if (scenario->flow_count == scenario->flow_size) {
		scenario->flow_size = scenario->flow_size == 0 ? 64 : 2 * scenario->flow_size;
		scenario->flows = allocate_resize(scenario->flows,
						  scenario->flow_size * sizeof(*scenario->flows));
	}
	memset(&scenario->flows[scenario->flow_count], 0, sizeof(*scenario->flows));
	return &scenario->flows[scenario->flow_count++];
}

/* What random start an element's flows have when the file doesn't say. */
static uint64_t default_jitter_ps(const struct element *element, uint64_t rate_bps)
{
	uint64_t bytes = element->payload_bytes + UINT64_C(100);

	switch (element->traffic->kind) {
	case SCENARIO_INCAST:
	case SCENARIO_PERMUTATION:
	case SCENARIO_CHECKPOINT:
		return bytes * 8 * PS_PER_S / rate_bps;
	default:
		return 0;
	}
}

void element_name(const struct element *element, char *name, size_t size)
{
	if (element->traffic->name[0] != '\0')
		snprintf(name, size, "%s", element->traffic->name);
	else
		snprintf(name, size, "%s%u", scenario_traffic_key(element->traffic->kind),
			 element->index + 1);
}

struct scenario_flow *element_flow(const struct element *element, uint32_t source,
				   uint32_t destination, uint32_t number)
{
	struct scenario *scenario = element->scenario;
	const struct scenario_traffic *traffic = element->traffic;
	uint64_t line_bps = element_line_bps(element, source);
	struct random random = random_of(scenario->seed, RANDOM_FLOW, scenario->flow_count);
	struct scenario_flow *flow = flow_add(scenario);
	char base[CONFIG_NAME_BYTES];
	uint64_t jitter_ps;

	element_name(element, base, sizeof(base));
	if (number == 0)
		snprintf(flow->name, sizeof(flow->name), "%s", base);
	else
		snprintf(flow->name, sizeof(flow->name), "%s-%u", base, number);
	flow->source = source;
	flow->destination = destination;
	flow->bytes = traffic->bytes;
	flow->rate_bps = traffic->rate_bps != 0 && traffic->rate_bps < line_bps ? traffic->rate_bps
										: line_bps;
	flow->payload_bytes = element->payload_bytes;
	flow->dscp = element->dscp;
	flow->priority = element->priority;
	flow->source_port =
		(uint16_t)(SOURCE_PORT_FIRST + random_below(&random, SOURCE_PORT_COUNT));
	flow->psn = (uint32_t)random_below(&random, FRAME_PSN_MASK + 1);
	jitter_ps = traffic->jitter_given ? traffic->jitter_ps
					  : default_jitter_ps(element, flow->rate_bps);
	flow->start_ps = traffic->start_ps;
	if (jitter_ps != 0)
		flow->start_ps += random_below(&random, jitter_ps);
	flow->stops = traffic->stop_given;
	flow->stop_ps = traffic->stop_ps;
	return flow;
}

bool element_too_many(const struct element *element, uint64_t flows)
{
	if (flows <= FLOW_COUNT_MAX - element->scenario->flow_count)
		return false;
	schema_fail(element->document, element->node,
		    "%" PRIu64 " flows beside %u others: at most %u", flows,
		    element->scenario->flow_count, FLOW_COUNT_MAX);
	return true;
}

/* --- checks --- */

struct schema_node *element_key(const struct element *element, const char *key)
{
	return schema_child(element->node, key);
}

uint32_t element_find_host(const struct element *element, const char *key, const char *name)
{
	const struct topology *topology = element->scenario->topology;
	uint32_t node = topology_find_node(topology, name);

	if (node == TOPOLOGY_NONE)
		schema_fail(element->document, element_key(element, key),
			    "%s %s: there is no such host; the first is %s", key, name,
			    topology->host_count == 0 ? "missing too"
						      : topology->nodes[topology->hosts[0]].name);
	else if (!topology->nodes[node].host)
		schema_fail(element->document, element_key(element, key),
			    "%s %s is a switch: only hosts send and receive", key, name);
	else
		return topology->nodes[node].index;
	return TOPOLOGY_NONE;
}

/* Add the hosts of one name or pattern. @return how many there are then; unchanged: none of it */
static uint32_t take_hosts(const struct element *element, const char *pattern, bool *taken,
			   uint32_t *hosts, uint32_t count)
{
	const struct topology *topology = element->scenario->topology;

	for (uint32_t i = 0; i < topology->host_count; i++) {
		if (taken[i] || fnmatch(pattern, topology->nodes[topology->hosts[i]].name, 0) != 0)
			continue;
		taken[i] = true;
		hosts[count++] = i;
	}
	return count;
}

uint32_t *element_hosts(const struct element *element, const char *key, uint32_t but,
			uint32_t *count)
{
	const struct topology *topology = element->scenario->topology;
	const struct scenario_traffic *traffic = element->traffic;
	uint32_t *hosts = allocate((topology->host_count + 1) * sizeof(*hosts));
	bool *taken = allocate(topology->host_count * sizeof(*taken));
	uint32_t found = 0, wrong = 0;

	if (but != TOPOLOGY_NONE)
		taken[but] = true;
	if (traffic->host_count == 0)
		found = take_hosts(element, "*", taken, hosts, 0);
	for (uint32_t i = 0; i < traffic->host_count; i++) {
		uint32_t before = found;

		found = take_hosts(element, traffic->hosts[i], taken, hosts, found);
		if (found != before)
			continue;
		schema_fail(element->document, schema_element(element_key(element, key), i),
			    "%s %s: there is no such host, or it is taken already", key,
			    traffic->hosts[i]);
		wrong++;
	}
	free(taken);
	*count = found;
	if (wrong == 0)
		return hosts;
	free(hosts);
	return NULL;
}

static const struct config_class *class_of_dscp(const struct config *config, uint8_t dscp)
{
	for (uint32_t i = 0; i < config->class_count; i++)
		if ((config->classes[i].dscp >> dscp & 1) != 0)
			return &config->classes[i];
	return &config->classes[config->default_class];
}

static const struct config_class *class_by_default(const struct config *config)
{
	for (uint32_t i = 0; i < config->class_count; i++)
		if (config->classes[i].lossless)
			return &config->classes[i];
	return &config->classes[config->default_class];
}

const struct config_class *scenario_class(const struct config *config, const char *name,
					  struct schema_document *document,
					  struct schema_node *node)
{
	const struct config_class *class = NULL;

	if (name == NULL)
		class = class_by_default(config);
	else
		for (uint32_t i = 0; i < config->class_count && class == NULL; i++)
			if (strcmp(config->classes[i].name, name) == 0)
				class = &config->classes[i];
	if (class == NULL) {
		schema_fail(document, node, "class %s: there is no such class; the first is %s",
			    name, config->classes[0].name);
		return NULL;
	}
	if (class->dscp == 0) {
		schema_fail(document, node, "class %s has no DSCP that packets could carry",
			    class->name);
		return NULL;
	}
	return class;
}

static int element_class(struct element *element)
{
	const struct config *config = &element->scenario->leaf.config;
	const struct scenario_traffic *traffic = element->traffic;
	const char *name = traffic->class_given ? traffic->class : NULL;
	const struct config_class *class;

	if (traffic->dscp_given) {
		element->dscp = traffic->dscp;
		element->priority = class_of_dscp(config, traffic->dscp)->priority;
		return 0;
	}
	if (!traffic->class_given && traffic->kind == SCENARIO_CHECKPOINT)
		name = config->classes[config->default_class].name;
	class = scenario_class(config, name, element->document, element_key(element, "class"));
	if (class == NULL)
		return -EINVAL;
	element->dscp = (uint8_t)__builtin_ctzll(class->dscp);
	element->priority = class->priority;
	return 0;
}

static int element_payload(struct element *element)
{
	uint32_t mtu = element->scenario->hosts.mtu_bytes;

	element->payload_bytes = element->traffic->payload_bytes;
	if (element->payload_bytes == 0)
		element->payload_bytes = mtu;
	if (element->payload_bytes <= mtu)
		return 0;
	schema_fail(element->document, element_key(element, "payload"),
		    "payload %" PRIu32 " bytes is more than hosts.mtu, %" PRIu32 " bytes",
		    element->payload_bytes, mtu);
	return -EINVAL;
}

/* Faster than the host's own link; an incast's or permutation's hosts may differ. */
void element_check_rate(const struct element *element, uint32_t source)
{
	uint64_t line_bps = element_line_bps(element, source);
	char rate[32], line[32];

	if (element->traffic->rate_bps <= line_bps)
		return;
	schema_format_number(SCHEMA_RATE, element->traffic->rate_bps, rate, sizeof(rate));
	schema_format_number(SCHEMA_RATE, line_bps, line, sizeof(line));
	schema_fail(
		element->document, element_key(element, "rate"),
		"rate %s is more than the link of host %s carries, %s", rate,
		element->scenario->topology->nodes[element->scenario->topology->hosts[source]].name,
		line);
}

/* --- the kinds --- */

static void resolve_flow(struct element *element)
{
	uint32_t from = element_find_host(element, "from", element->traffic->from);
	uint32_t to = element_find_host(element, "to", element->traffic->to);

	if (from == TOPOLOGY_NONE || to == TOPOLOGY_NONE)
		return;
	if (from == to) {
		schema_fail(element->document, element_key(element, "to"),
			    "from and to are both %s: a flow crosses the fabric",
			    element->traffic->to);
		return;
	}
	element_check_rate(element, from);
	element_flow(element, from, to, 0);
}

static void resolve_incast(struct element *element)
{
	struct scenario *scenario = element->scenario;
	uint32_t hosts = scenario->topology->host_count;
	uint32_t senders = element->traffic->senders;
	uint32_t to = element_find_host(element, "to", element->traffic->to);
	struct random random = random_of(scenario->seed, RANDOM_PATTERN, element->index);
	uint32_t *candidates;
	uint32_t count = 0;

	if (to == TOPOLOGY_NONE)
		return;
	if (senders > hosts - 1) {
		schema_fail(element->document, element_key(element, "senders"),
			    "senders %u: only %u other hosts are there", senders, hosts - 1);
		return;
	}
	candidates = allocate(hosts * sizeof(*candidates));
	for (uint32_t i = 0; i < hosts; i++)
		if (i != to)
			candidates[count++] = i;
	/* The first so many of a shuffle (Fisher and Yates). */
	for (uint32_t i = 0; i < senders; i++) {
		uint32_t pick = i + (uint32_t)random_below(&random, count - i);
		uint32_t source = candidates[pick];

		candidates[pick] = candidates[i];
		element_check_rate(element, source);
		element_flow(element, source, to, i + 1);
	}
	free(candidates);
}

/* A random cycle through all hosts (Sattolo): nobody sends to itself. */
static void resolve_permutation(struct element *element)
{
	struct scenario *scenario = element->scenario;
	uint32_t hosts = scenario->topology->host_count, pairs = element->traffic->queue_pairs;
	struct random random = random_of(scenario->seed, RANDOM_PATTERN, element->index);
	uint32_t *to = allocate(hosts * sizeof(*to));

	for (uint32_t i = 0; i < hosts; i++)
		to[i] = i;
	for (uint32_t i = hosts; i-- > 1;) {
		uint32_t pick = (uint32_t)random_below(&random, i);
		uint32_t other = to[pick];

		to[pick] = to[i];
		to[i] = other;
	}
	if (hosts < 2)
		schema_fail(element->document, element->node, "a permutation needs two hosts");
	if (element_too_many(element, (uint64_t)hosts * pairs))
		hosts = 0;
	for (uint32_t i = 0; i < hosts && hosts >= 2; i++) {
		element_check_rate(element, i);
		for (uint32_t pair = 0; pair < pairs; pair++)
			element_flow(element, i, to[i], i * pairs + pair + 1);
	}
	free(to);
}

static void resolve(struct element *element)
{
	static void (*const resolvers[SCENARIO_TRAFFIC_KINDS])(struct element *) = {
		[SCENARIO_FLOW] = resolve_flow,
		[SCENARIO_INCAST] = resolve_incast,
		[SCENARIO_PERMUTATION] = resolve_permutation,
		[SCENARIO_POISSON] = element_resolve_poisson,
		[SCENARIO_CHECKPOINT] = element_resolve_checkpoint,
		[SCENARIO_ON_OFF] = element_resolve_on_off,
		[SCENARIO_NS3_FLOWS] = element_resolve_ns3,
		[SCENARIO_ALLREDUCE] = element_resolve_collective,
		[SCENARIO_ALLTOALL] = element_resolve_collective,
	};

	resolvers[element->traffic->kind](element);
}

void scenario_classify_hosts(struct scenario_hosts *hosts, const struct config *config)
{
	for (uint8_t dscp = 0; dscp < 64; dscp++)
		hosts->dscp_priority[dscp] = class_of_dscp(config, dscp)->priority;
	hosts->cnp_priority = hosts->dscp_priority[hosts->cnp_dscp];
	hosts->transport.ack_priority = hosts->dscp_priority[hosts->transport.ack_dscp];
}

int scenario_build_flows(struct scenario *scenario, struct schema_document *document)
{
	struct config_errors *errors = schema_errors(document);
	uint32_t before = errors->count + errors->dropped;

	scenario_classify_hosts(&scenario->hosts, &scenario->leaf.config);
	scenario_check_hosts(scenario, document);
	for (uint32_t i = 0; i < scenario->traffic_count; i++) {
		const struct scenario_traffic *traffic = &scenario->traffic[i];
		struct element element = {
			.scenario = scenario,
			.document = document,
			.node = schema_at(document, "traffic[%u].%s", i,
					  scenario_traffic_key(traffic->kind)),
			.traffic = traffic,
			.index = i,
		};
		int result = element_class(&element);

		if (element_payload(&element) != 0 || result != 0)
			continue;
		resolve(&element);
		if (scenario->flow_count > FLOW_COUNT_MAX) {
			schema_fail(document, element.node, "more than %u flows", FLOW_COUNT_MAX);
			break;
		}
	}
	return errors->count + errors->dropped == before ? 0 : -EINVAL;
}
