/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/ns3_import.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/flow.h"
#include "tools/lab/scenario_limits.h"
#include "tools/lab/text_words.h"
#include "tools/lab/topology.h"

/* A number with one of these behind it, without a space. */
struct ns3_unit {
	const char *text;
	uint32_t decimals; /* 10^decimals of our unit are one of it */
};

static const struct ns3_unit rate_units[] = {
	{"Tbps", 12}, {"Gbps", 9}, {"Mbps", 6}, {"Kbps", 3}, {"kbps", 3}, {"bps", 0}, {NULL, 0},
};

static const struct ns3_unit time_units[] = {
	{"s", 12}, {"ms", 9}, {"us", 6}, {"ns", 3}, {"ps", 0}, {NULL, 0},
};

static int read_quantity(struct text_words *words, const char *what, const struct ns3_unit *units,
			 uint64_t max, uint64_t *value)
{
	const char *end;

	if (!text_words_next(words))
		return text_words_fail(words, "the file ends where %s should be", what);
	for (; units->text != NULL; units++) {
		size_t length = strlen(words->word), tail = strlen(units->text);

		if (length <= tail || strcmp(words->word + length - tail, units->text) != 0)
			continue;
		/* "1ms" also ends with "s", but its number doesn't end there. */
		if (text_decimal(words->word, units->decimals, max, value, &end) == 0 &&
		    strcmp(end, units->text) == 0)
			return 0;
	}
	return text_words_fail(words, "%s \"%.40s\" is not a number with its unit, or out of range",
			       what, words->word);
}

static int nothing_left(struct text_words *words)
{
	if (!text_words_next(words))
		return 0;
	return text_words_fail(words, "\"%.40s\" stands behind the last line", words->word);
}

/* --- topology --- */

struct ns3_size {
	uint64_t nodes, switches, links;
};

static int read_switches(struct text_words *words, const struct ns3_size *size, bool *is_switch)
{
	for (uint64_t i = 0; i < size->switches; i++) {
		uint64_t id;

		if (text_words_uint(words, "switch", size->nodes - 1, &id) != 0)
			return -EINVAL;
		if (is_switch[id])
			return text_words_fail(words, "switch %" PRIu64 " is listed twice", id);
		is_switch[id] = true;
	}
	return 0;
}

static int read_link(struct text_words *words, const struct ns3_size *size,
		     struct topology *topology)
{
	uint64_t from, to, rate_bps = 0, delay_ps = 0, errors_ppb = 0;

	if (text_words_uint(words, "node", size->nodes - 1, &from) != 0 ||
	    text_words_uint(words, "node", size->nodes - 1, &to) != 0)
		return -EINVAL;
	if (from == to)
		return text_words_fail(words, "both ends of this link are %" PRIu64, to);
	if (read_quantity(words, "rate", rate_units, RATE_BPS_MAX, &rate_bps) != 0)
		return -EINVAL;
	if (rate_bps < RATE_BPS_MIN)
		return text_words_fail(words, "rate %.40s is below %llu bits/s", words->word,
				       (unsigned long long)RATE_BPS_MIN);
	if (read_quantity(words, "delay", time_units, PS_PER_S, &delay_ps) != 0 ||
	    text_words_decimal(words, "error rate", 9, UINT64_C(1000000000), &errors_ppb) != 0)
		return -EINVAL;
	if (errors_ppb != 0)
		return text_words_fail(
			words,
			"error rate %.40s: links of a topology don't corrupt, a fault "
			"of the scenario does",
			words->word);
	topology_add_link(topology, (uint32_t)from, (uint32_t)to, rate_bps, delay_ps);
	return 0;
}

/* The lab tells hosts from switches by their links. */
static int check_kinds(struct text_words *words, const struct topology *topology,
		       const bool *is_switch)
{
	for (uint32_t i = 0; i < topology->node_count; i++) {
		uint32_t links = topology->nodes[i].link_count;

		if (links == 0 || is_switch[i] == (links > 1))
			continue;
		return text_words_fail(words,
				       "node %u is a %s with %u link%s: hosts have one, "
				       "switches several",
				       i, is_switch[i] ? "switch" : "host", links,
				       links == 1 ? "" : "s");
	}
	return 0;
}

static int parse_topology(struct text_words *words, const struct ns3_size *size,
			  struct topology *topology, bool *is_switch)
{
	if (read_switches(words, size, is_switch) != 0)
		return -EINVAL;
	for (uint32_t i = 0; i < size->nodes; i++) {
		char name[CONFIG_NAME_BYTES];

		snprintf(name, sizeof(name), "%c%u", is_switch[i] ? 's' : 'h', i);
		topology_add_node(topology, name);
	}
	for (uint64_t i = 0; i < size->links; i++)
		if (read_link(words, size, topology) != 0)
			return -EINVAL;
	if (nothing_left(words) != 0)
		return -EINVAL;
	return check_kinds(words, topology, is_switch);
}

int ns3_read_topology(const char *path, struct topology *topology, struct config_errors *errors)
{
	struct text_words words;
	struct ns3_size size;
	bool *is_switch;
	int result = text_words_open(&words, path, errors);

	if (result == 0 &&
	    (text_words_uint(&words, "number of nodes", SCENARIO_NODES_MAX, &size.nodes) != 0 ||
	     text_words_uint(&words, "number of switches", size.nodes, &size.switches) != 0 ||
	     text_words_uint(&words, "number of links", SCENARIO_LINKS_MAX, &size.links) != 0))
		result = -EINVAL;
	if (result == 0 && (size.nodes < 2 || size.links < 1))
		result = text_words_fail(&words, "a fabric has two nodes and a link at least");
	if (result == 0) {
		is_switch = allocate(size.nodes * sizeof(*is_switch));
		result = parse_topology(&words, &size, topology, is_switch);
		free(is_switch);
	}
	text_words_close(&words);
	return result;
}

/* --- flows --- */

static int read_flow(struct text_words *words, struct ns3_flow *flow)
{
	uint64_t from, to, priority, port, bytes, start_ps;

	if (text_words_uint(words, "node", SCENARIO_NODES_MAX, &from) != 0)
		return -EINVAL;
	flow->line = words->mark.line;
	if (text_words_uint(words, "node", SCENARIO_NODES_MAX, &to) != 0 ||
	    text_words_uint(words, "priority group", PRIORITY_COUNT - 1, &priority) != 0 ||
	    text_words_uint(words, "port", UINT16_MAX, &port) != 0 ||
	    text_words_decimal(words, "size", 0, SCENARIO_BYTES_MAX, &bytes) != 0)
		return -EINVAL;
	if (bytes == 0)
		return text_words_fail(words, "size 0: a flow has a byte at least");
	if (text_words_decimal(words, "start", 12, SCENARIO_DURATION_PS_MAX, &start_ps) != 0)
		return -EINVAL;
	flow->from = (uint32_t)from;
	flow->to = (uint32_t)to;
	flow->priority = (uint8_t)priority;
	flow->bytes = bytes;
	flow->start_ps = start_ps;
	return 0;
}

int ns3_read_flows(const char *path, struct ns3_flow **flows, uint32_t *count,
		   struct config_errors *errors)
{
	struct text_words words;
	struct ns3_flow *list = NULL;
	uint64_t number = 0, size = 0;
	int result = text_words_open(&words, path, errors);

	if (result == 0)
		result = text_words_uint(&words, "number of flows", FLOW_COUNT_MAX, &number);
	for (uint64_t i = 0; i < number && result == 0; i++) {
		/* Grows with what is there, not with what the first line promises. */
		if (i == size) {
			size = size == 0 ? 64 : 2 * size;
			list = allocate_resize(list, size * sizeof(*list));
		}
		result = read_flow(&words, &list[i]);
	}
	if (result == 0)
		result = nothing_left(&words);
	text_words_close(&words);
	if (result != 0) {
		free(list);
		return result;
	}
	*flows = list;
	*count = (uint32_t)number;
	return 0;
}
