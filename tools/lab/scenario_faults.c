/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/scenario_faults.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/scenario.h"
#include "tools/lab/scenario_limits.h"

/* --- keys --- */

/* `1e-6`, `2.5e-9`, `0.001`: exact, as so many wrong bits in SCENARIO_ERROR_BITS. */
static int parse_error_rate(const char *text, void *field, char *why, size_t why_size)
{
	uint64_t value = 0;
	int exponent = 15; /* of the unit */
	const char *at = text;
	bool digits = false, point = false;

	for (; (*at >= '0' && *at <= '9') || (*at == '.' && !point); at++) {
		if (*at == '.') {
			point = true;
			continue;
		}
		digits = true;
		if (value > UINT64_MAX / 100)
			break; /* more digits than any rate needs */
		value = value * 10 + (uint64_t)(*at - '0');
		exponent -= point;
	}
	if (digits && (*at == 'e' || *at == 'E') && at[1] == '-' && at[2] >= '0' && at[2] <= '9') {
		char *end;

		exponent -= (int)strtoul(at + 2, &end, 10) % 1000;
		at = end;
	}
	if (!digits || *at != '\0') {
		snprintf(why, why_size, "is not a bit error rate: write 1e-6 or 0.001");
		return -EINVAL;
	}
	for (; exponent > 0 && value <= SCENARIO_ERROR_BITS; exponent--)
		value *= 10;
	for (; exponent < 0 && value % 10 == 0 && value != 0; exponent++)
		value /= 10;
	if (value == 0 || exponent != 0 || value > SCENARIO_ERROR_BITS / 10) {
		snprintf(why, why_size, "is out of range: 1e-15 to 0.1, in steps of 1e-15");
		return -ERANGE;
	}
	memcpy(field, &value, sizeof(value));
	return 0;
}

#define FAULT_ROWS                                                                                \
	{"at",                                                                                    \
	 SCHEMA_TIME,                                                                             \
	 SCHEMA_FIELD(struct scenario_fault, at_ps),                                              \
	 .max = SCENARIO_DURATION_PS_MAX,                                                         \
	 .fallback = "0",                                                                         \
	 .help = "When it begins."},                                                              \
	{                                                                                         \
		"for", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_fault, for_ps),                  \
			SCHEMA_GIVEN(struct scenario_fault, for_given),                           \
			.min = 1, .max = SCENARIO_DURATION_PS_MAX, .fallback_help = "to the end", \
			.help = "How long it lasts."                                              \
	}

#define LINK_ROW                                                                \
	{                                                                       \
		"link", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_fault, link), \
			.flags = SCHEMA_REQUIRED,                               \
			.help = "The link: `leaf1-spine1`, or the host on it."  \
	}

#define HOST_ROW                                                                \
	{                                                                       \
		"host", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_fault, host), \
			.flags = SCHEMA_REQUIRED, .help = "The host."           \
	}

static const struct schema_row link_down_rows[] = {LINK_ROW, FAULT_ROWS, {0}};

static const struct schema_row stall_rows[] = {LINK_ROW, FAULT_ROWS, {0}};

static const struct schema_row link_speed_rows[] = {
	LINK_ROW,
	FAULT_ROWS,
	{"speed", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_fault, speed_bps), .min = RATE_BPS_MIN,
	 .max = RATE_BPS_MAX, .flags = SCHEMA_REQUIRED, .help = "Its rate meanwhile."},
	{0},
};

static const struct schema_row link_errors_rows[] = {
	LINK_ROW,
	FAULT_ROWS,
	{"bit_error_rate", SCHEMA_CUSTOM, SCHEMA_FIELD(struct scenario_fault, errors),
	 .parse = parse_error_rate, .flags = SCHEMA_REQUIRED,
	 .help = "Share of wrong bits, as in `1e-7`: a frame with one is dropped by its receiver."},
	{0},
};

static const struct schema_row pause_storm_rows[] = {
	HOST_ROW,
	FAULT_ROWS,
	{"priority", SCHEMA_SET, SCHEMA_FIELD(struct scenario_fault, priorities), .max = 7,
	 .fallback = "3", .help = "Priorities that it pauses: `3`, or `[3, 4]`."},
	{0},
};

static const struct schema_row silent_host_rows[] = {HOST_ROW, FAULT_ROWS, {0}};

static const struct schema_row worker_stall_rows[] = {
	{"switch", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_fault, switch_name),
	 .flags = SCHEMA_REQUIRED, .help = "The switch."},
	{"worker", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_fault, worker), .max = 63,
	 .fallback = "0", .help = "Which of its workers, counted from 0."},
	FAULT_ROWS,
	{0},
};

static const struct schema_row slow_receiver_rows[] = {
	HOST_ROW,
	FAULT_ROWS,
	{"drain_rate", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_fault, speed_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .flags = SCHEMA_REQUIRED,
	 .help = "Rate at which it takes frames from its receive buffer meanwhile."},
	{0},
};

static const struct schema_table link_down_table = {
	"a link_down",
	link_down_rows,
	.help = "Both ends see it at once. What is on the wire still arrives; what waits for it is "
		"dropped.",
};
static const struct schema_table stall_table = {
	"a stall",
	stall_rows,
	.help = "The link takes no frame, in either direction, and stays up: nobody is told. What is on "
		"the wire still arrives.",
};
static const struct schema_table link_speed_table = {
	"a link_speed",
	link_speed_rows,
	.help = "Both directions run at another rate; thresholds stay as planned.",
};
static const struct schema_table link_errors_table = {
	"a link_errors",
	link_errors_rows,
	.help = "Frames with a wrong bit don't pass their receiver's check (drops.fcs), pauses "
		"included.",
};
static const struct schema_table pause_storm_table = {
	"a pause_storm",
	pause_storm_rows,
	.help = "The host pauses its leaf without a break, and lets it go at the end.",
};
static const struct schema_table silent_host_table = {
	"a silent_host",
	silent_host_rows,
	.help = "The host sends nothing: no data, no answers, no notifications. It still receives.",
};
static const struct schema_table worker_stall_table = {
	"a worker_stall",
	worker_stall_rows,
	.help = "A worker of a switch stands still, with all its ports.",
};

static const struct schema_table slow_receiver_table = {
	"a slow_receiver",
	slow_receiver_rows,
	.help = "The host takes frames more slowly than usual; needs hosts.receive_buffer.",
};

static const struct schema_row fault_rows[] = {
	{"link_down", SCHEMA_MAP, SCHEMA_HERE, .table = &link_down_table,
	 .value = SCENARIO_LINK_DOWN, .help = "A cable is pulled."},
	{"link_speed", SCHEMA_MAP, SCHEMA_HERE, .table = &link_speed_table,
	 .value = SCENARIO_LINK_SPEED, .help = "A link runs at another rate."},
	{"link_errors", SCHEMA_MAP, SCHEMA_HERE, .table = &link_errors_table,
	 .value = SCENARIO_LINK_ERRORS, .help = "A link corrupts frames."},
	{"pause_storm", SCHEMA_MAP, SCHEMA_HERE, .table = &pause_storm_table,
	 .value = SCENARIO_PAUSE_STORM, .help = "A host pauses its leaf."},
	{"silent_host", SCHEMA_MAP, SCHEMA_HERE, .table = &silent_host_table,
	 .value = SCENARIO_SILENT_HOST, .help = "A host sends nothing."},
	{"worker_stall", SCHEMA_MAP, SCHEMA_HERE, .table = &worker_stall_table,
	 .value = SCENARIO_WORKER_STALL, .help = "A switch's worker stands still."},
	{"slow_receiver", SCHEMA_MAP, SCHEMA_HERE, .table = &slow_receiver_table,
	 .value = SCENARIO_SLOW_RECEIVER, .help = "A host takes frames slowly."},
	{"stall", SCHEMA_MAP, SCHEMA_HERE, .table = &stall_table, .value = SCENARIO_STALL,
	 .help = "A link stands still."},
	{0},
};

const struct schema_table scenario_fault_table = {
	"a fault",
	fault_rows,
	SCHEMA_KIND(struct scenario_fault, kind),
};

/* --- what they befall --- */

const char *scenario_fault_word(enum scenario_fault_kind kind)
{
	return fault_rows[kind - 1].key;
}

static bool befalls_link(const struct scenario_fault *fault)
{
	return fault->link[0] != '\0';
}

const char *scenario_fault_target(const struct scenario_fault *fault)
{
	if (befalls_link(fault))
		return fault->link;
	return fault->host[0] != '\0' ? fault->host : fault->switch_name;
}

struct fault_check {
	struct scenario *scenario;
	struct schema_document *document;
	struct schema_node *node;
	struct scenario_fault *fault;
};

static bool fault_find_link(struct fault_check *check)
{
	const struct topology *topology = check->scenario->topology;

	for (uint32_t i = 0; i < topology->link_count; i++) {
		if (strcmp(topology->links[i].name, check->fault->link) == 0) {
			check->fault->index = i;
			return true;
		}
	}
	schema_fail(check->document, schema_child(check->node, "link"),
		    "link %s: there is no such link; the first is %s", check->fault->link,
		    topology->link_count == 0 ? "missing too" : topology->links[0].name);
	return false;
}

static bool fault_find_node(struct fault_check *check, const char *key, const char *name, bool host)
{
	const struct topology *topology = check->scenario->topology;
	uint32_t node = topology_find_node(topology, name);
	const uint32_t *those = host ? topology->hosts : topology->switches;
	uint32_t count = host ? topology->host_count : topology->switch_count;

	if (node != TOPOLOGY_NONE && topology->nodes[node].host == host) {
		check->fault->index = topology->nodes[node].index;
		return true;
	}
	if (node != TOPOLOGY_NONE)
		schema_fail(check->document, schema_child(check->node, key), "%s %s is a %s", key,
			    name, host ? "switch" : "host");
	else
		schema_fail(check->document, schema_child(check->node, key),
			    "%s %s: there is no such %s; the first is %s", key, name, key,
			    count == 0 ? "missing too" : topology->nodes[those[0]].name);
	return false;
}

static bool fault_find(struct fault_check *check)
{
	struct scenario_fault *fault = check->fault;
	uint32_t workers = check->scenario->leaf.config.leaf.workers;

	if (befalls_link(fault))
		return fault_find_link(check);
	if (fault->kind == SCENARIO_SLOW_RECEIVER &&
	    check->scenario->hosts.receive_buffer_bytes == 0) {
		schema_fail_key(check->document, check->node,
				"slow_receiver: hosts take everything at once without a "
				"hosts.receive_buffer");
		return false;
	}
	if (fault->kind != SCENARIO_WORKER_STALL)
		return fault_find_node(check, "host", fault->host, true);
	if (!fault_find_node(check, "switch", fault->switch_name, false))
		return false;
	if (fault->worker < workers)
		return true;
	schema_fail(check->document, schema_child(check->node, "worker"),
		    "worker %u: switches have %u, counted from 0 (leaf.workers)", fault->worker,
		    workers);
	return false;
}

static bool fault_time(struct fault_check *check)
{
	struct scenario_fault *fault = check->fault;
	char at[32], duration[32];

	if (fault->at_ps >= check->scenario->duration_ps) {
		schema_fail(check->document, schema_child(check->node, "at"),
			    "at %s lies behind the end of the run (duration %s)",
			    schema_format_number(SCHEMA_TIME, fault->at_ps, at, sizeof(at)),
			    schema_format_number(SCHEMA_TIME, check->scenario->duration_ps,
						 duration, sizeof(duration)));
		return false;
	}
	fault->end_ps = fault->for_given ? fault->at_ps + fault->for_ps : UINT64_MAX;
	return true;
}

/* The fault whose begin is `order` is compared by: what it befalls, then when. */
static int fault_order(const void *a, const void *b)
{
	const struct fault_check *x = a, *y = b;
	const struct scenario_fault *left = x->fault, *right = y->fault;
	uint32_t keys[2][3] = {
		{befalls_link(left)      ? 0
		 : left->host[0] != '\0' ? 1
					 : 2,
		 left->index, left->worker},
		{befalls_link(right)      ? 0
		 : right->host[0] != '\0' ? 1
					  : 2,
		 right->index, right->worker},
	};

	for (uint32_t i = 0; i < 3; i++)
		if (keys[0][i] != keys[1][i])
			return keys[0][i] < keys[1][i] ? -1 : 1;
	if (left->at_ps != right->at_ps)
		return left->at_ps < right->at_ps ? -1 : 1;
	return left < right ? -1 : left > right;
}

static bool same_target(const struct scenario_fault *a, const struct scenario_fault *b)
{
	return befalls_link(a) == befalls_link(b) && (a->host[0] != '\0') == (b->host[0] != '\0') &&
	       a->index == b->index && a->worker == b->worker;
}

static void refuse_overlaps(struct fault_check *checks, uint32_t count)
{
	const struct fault_check *before = NULL;

	qsort(checks, count, sizeof(*checks), fault_order);
	for (uint32_t i = 0; i < count; i++) {
		const struct fault_check *check = &checks[i];

		if (before != NULL && same_target(before->fault, check->fault)) {
			if (check->fault->at_ps < before->fault->end_ps)
				schema_fail_key(
					check->document, check->node,
					"%s of %s begins while its %s lasts: one fault at a time",
					scenario_fault_word(check->fault->kind),
					scenario_fault_target(check->fault),
					scenario_fault_word(before->fault->kind));
			if (before->fault->end_ps > check->fault->end_ps)
				continue;
		}
		before = check;
	}
}

int scenario_resolve_faults(struct scenario *scenario, struct schema_document *document)
{
	struct config_errors *errors = schema_errors(document);
	uint32_t errors_before = errors->count + errors->dropped, found = 0;
	struct fault_check *checks = allocate(scenario->fault_count * sizeof(*checks));

	for (uint32_t i = 0; i < scenario->fault_count; i++) {
		struct scenario_fault *fault = &scenario->faults[i];
		struct fault_check check = {
			.scenario = scenario,
			.document = document,
			.node = schema_at(document, "faults[%u].%s", i,
					  scenario_fault_word(fault->kind)),
			.fault = fault,
		};

		if (fault_find(&check) && fault_time(&check))
			checks[found++] = check;
	}
	refuse_overlaps(checks, found);
	free(checks);
	return errors->count + errors->dropped == errors_before ? 0 : -EINVAL;
}
