/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/scenario.h"

#include "config/schema_leaf.h"
#include "dataplane/worker.h"
#include "tools/lab/scenario_limits.h"

static const struct schema_row leaf_rows[] = {
	CONFIG_CLASSES_ROWS,
	CONFIG_BUFFER_ROWS,
	{"workers", SCHEMA_UINT, SCHEMA_FIELD(struct config, leaf.workers), .min = 1,
	 .max = WORKER_COUNT_MAX, .fallback = "1",
	 .help = "Workers of each switch, which share its ports; they run in an order that the seed "
		 "decides."},
	{"poll", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_leaf, poll_ps), .max = PS_PER_MS,
	 .fallback = "0",
	 .help = "A worker looks at its ports again after half of this time at least and all of it at "
		 "most, as on a CPU; headroom grows with it. 0: an ideal switch, never late."},
	{"memory", SCHEMA_SIZE, SCHEMA_FIELD(struct config, leaf.memory_bytes), .min = 1 << 20,
	 .max = UINT64_C(1) << 40, .fallback = "64MiB",
	 .help = "Packet buffer memory of each switch. An accounting limit: the lab itself needs a "
		 "fraction of it."},
	{0},
};

static const struct schema_table leaf_table = {
	"leaf",
	leaf_rows,
	.help = "All switches of the fabric, keys as in leaf.yaml.",
};

/* Keys that flow, incast and permutation share. */
#define TRAFFIC_ROWS                                                                                     \
	{"name", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, name),                               \
	 .fallback_help = "the kind and its place in the list: flow1, incast2",                          \
	 .help = "Name of the flows in the results; several get a dash and a number."},                  \
		{"bytes",                                                                                \
		 SCHEMA_SIZE,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, bytes),                                           \
		 .min = 1,                                                                               \
		 .max = SCENARIO_BYTES_MAX,                                                              \
		 .fallback_help = "without end",                                                         \
		 .help = "Payload that each flow sends."},                                               \
		{"rate",                                                                                 \
		 SCHEMA_RATE,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, rate_bps),                                        \
		 .min = RATE_BPS_MIN,                                                                    \
		 .max = RATE_BPS_MAX,                                                                    \
		 .fallback_help = "line rate",                                                           \
		 .help = "Pace of each flow, in bits on the wire: headers and framing overhead count."}, \
		{"start",                                                                                \
		 SCHEMA_TIME,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, start_ps),                                        \
		 .max = SCENARIO_DURATION_PS_MAX,                                                        \
		 .fallback = "0",                                                                        \
		 .help = "When it begins."},                                                             \
		{"stop",                                                                                 \
		 SCHEMA_TIME,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, stop_ps),                                         \
		 SCHEMA_GIVEN(struct scenario_traffic, stop_given),                                      \
		 .max = SCENARIO_DURATION_PS_MAX,                                                        \
		 .fallback_help = "never",                                                               \
		 .help = "When it ends, whatever it has sent."},                                         \
		{"class",                                                                                \
		 SCHEMA_NAME,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, class),                                           \
		 SCHEMA_GIVEN(struct scenario_traffic, class_given),                                     \
		 .fallback_help = "the first lossless class, or else the default class",                 \
		 .help = "Class by name; packets carry its lowest DSCP."},                               \
		{"dscp",                                                                                 \
		 SCHEMA_UINT,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, dscp),                                            \
		 SCHEMA_GIVEN(struct scenario_traffic, dscp_given),                                      \
		 .max = 63,                                                                              \
		 .fallback_help = "that of `class`",                                                     \
		 .help = "DSCP, instead of `class`."},                                                   \
	{                                                                                                \
		"payload", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_traffic, payload_bytes),            \
			.min = 1, .max = MTU_BYTES_MAX, .fallback_help = "hosts.mtu",                    \
			.help = "Payload of a packet."                                                   \
	}

#define JITTER_ROW(default_)                                                             \
	{                                                                                \
		"jitter", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, jitter_ps), \
			SCHEMA_GIVEN(struct scenario_traffic, jitter_given),             \
			.max = PS_PER_S, .fallback_help = (default_),                    \
			.help = "Each flow begins later by a random time below this."    \
	}

static void check_traffic(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_traffic *traffic = out;

	if (traffic->class_given && traffic->dscp_given)
		schema_fail_key(document, schema_child(node, "dscp"),
				"dscp and class exclude each other: a class stands for its DSCP");
	if (traffic->stop_given && traffic->stop_ps <= traffic->start_ps)
		schema_fail(document, schema_child(node, "stop"),
			    "stop is not after start: nothing would be sent");
}

static const struct schema_row flow_rows[] = {
	TRAFFIC_ROWS,
	JITTER_ROW("0"),
	{"from", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, from), .flags = SCHEMA_REQUIRED,
	 .help = "The host that sends."},
	{"to", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, to), .flags = SCHEMA_REQUIRED,
	 .help = "The host that receives."},
	{0},
};

static const struct schema_table flow_table = {
	"a flow",
	flow_rows,
	.help = "From one host to another.",
	.check = check_traffic,
};

static const struct schema_row incast_rows[] = {
	TRAFFIC_ROWS,
	JITTER_ROW("one packet's time at `rate`"),
	{"senders", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_traffic, senders), .min = 1,
	 .max = SCENARIO_NODES_MAX, .flags = SCHEMA_REQUIRED,
	 .help = "How many hosts send, chosen at random among the others."},
	{"to", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, to), .flags = SCHEMA_REQUIRED,
	 .help = "The host that receives."},
	{0},
};

static const struct schema_table incast_table = {
	"an incast",
	incast_rows,
	.help = "From many hosts to one.",
	.check = check_traffic,
};

static const struct schema_row permutation_rows[] = {
	TRAFFIC_ROWS,
	JITTER_ROW("one packet's time at `rate`"),
	{0},
};

static const struct schema_table permutation_table = {
	"a permutation",
	permutation_rows,
	.help = "Every host sends to one other and receives from one other, chosen at random.",
	.check = check_traffic,
};

static const struct schema_row traffic_rows[] = {
	{"flow", SCHEMA_MAP, SCHEMA_HERE, .table = &flow_table, .value = SCENARIO_FLOW,
	 .help = "From one host to another."},
	{"incast", SCHEMA_MAP, SCHEMA_HERE, .table = &incast_table, .value = SCENARIO_INCAST,
	 .help = "From many hosts to one."},
	{"permutation", SCHEMA_MAP, SCHEMA_HERE, .table = &permutation_table,
	 .value = SCENARIO_PERMUTATION, .help = "Everybody to somebody else."},
	{0},
};

static const struct schema_table traffic_table = {
	"an element of traffic",
	traffic_rows,
	SCHEMA_KIND(struct scenario_traffic, kind),
};

static const struct schema_row scenario_rows[] = {
	{"name", SCHEMA_NAME, SCHEMA_FIELD(struct scenario, name),
	 .fallback_help = "the file's, without its ending", .help = "Stands in the results."},
	{"seed", SCHEMA_UINT, SCHEMA_FIELD(struct scenario, seed), .max = INT64_MAX,
	 .fallback = "1",
	 .help = "What everything random depends on: who sends, source ports, jitter, hashes."},
	{"duration", SCHEMA_TIME, SCHEMA_FIELD(struct scenario, duration_ps), .min = 1,
	 .max = SCENARIO_DURATION_PS_MAX, .fallback = "1ms", .help = "Virtual time that passes."},
	{"fabric", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, fabric),
	 .table = &scenario_fabric_table, .flags = SCHEMA_REQUIRED,
	 .help = "What there is and how it is connected."},
	{"leaf", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, leaf), .table = &leaf_table,
	 .help = "All switches."},
	{"hosts", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, hosts), .table = &scenario_hosts_table,
	 .help = "All hosts."},
	{"traffic", SCHEMA_MAP, SCHEMA_LIST(struct scenario, traffic, traffic_count),
	 .table = &traffic_table, .length_max = SCENARIO_TRAFFIC_MAX, .fallback_help = "none",
	 .help = "Who sends what to whom."},
	{"expect", SCHEMA_TEXT, SCHEMA_LIST(struct scenario, expects, expect_count),
	 .length_max = SCENARIO_EXPECTS_MAX, .fallback_help = "none",
	 .help = "What must hold of the results, as in `lossless_drops == 0` or `latency_ns.p99 < "
		 "5us`; roceleaf-lab exits 3 when one does not."},
	{0},
};

const struct schema_table scenario_table = {
	"a scenario",
	scenario_rows,
	.struct_size = sizeof(struct scenario),
	.help = "Units: rates `100G`; sizes `9216`, `64KB` = 64000, `1MiB` = 1048576; times `50us`; "
		"lengths `3m`; shares `20%`. `roceleaf-lab run --set fabric.leaf_spine.leaves=4` "
		"overrides a key.",
};
