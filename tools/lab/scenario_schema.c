/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/scenario.h"

#include "config/schema_leaf.h"
#include "dataplane/worker.h"

/* Times must be comparable across the wrap of the clock: less than a day. */
#define DURATION_PS_MAX (3600 * PS_PER_S)
#define CABLE_MM_MAX    UINT64_C(10000000000) /* 10,000 km */
#define NODES_MAX       20000
#define LINKS_MAX       200000
#define TRAFFIC_MAX     100000
#define EXPECTS_MAX     1000
#define BYTES_MAX       (UINT64_C(1) << 50)
#define OVERHEAD_MAX    256

#define OVERHEAD_HELP                                                                     \
	"Bytes that a frame takes on the wire beyond its own, FCS included: preamble 8, " \
	"FCS 4, gap 12."

static const struct schema_row leaf_spine_rows[] = {
	{"leaves", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_leaf_spine, leaves), .min = 1,
	 .max = TOPOLOGY_SUBNETS_MAX, .fallback = "2", .help = "Leaves: leaf1, leaf2, ..."},
	{"spines", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_leaf_spine, spines), .min = 0,
	 .max = CONFIG_VIAS_MAX, .fallback = "2",
	 .help = "Spines: spine1, spine2, ...; 0 only with a single leaf."},
	{"hosts_per_leaf", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_leaf_spine, hosts_per_leaf),
	 .min = 1, .max = PORT_COUNT_MAX - 1, .fallback = "8",
	 .help = "Hosts of each leaf: leaf1.h1, leaf1.h2, ..."},
	{"host_speed", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_leaf_spine, host_speed_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .fallback = "100G",
	 .help = "Speed of the links to hosts."},
	{"uplink_speed", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_leaf_spine, uplink_speed_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .fallback = "100G",
	 .help = "Speed of the links between leaves and spines."},
	{"uplinks_per_spine", SCHEMA_UINT,
	 SCHEMA_FIELD(struct scenario_leaf_spine, uplinks_per_spine), .min = 1,
	 .max = CONFIG_VIAS_MAX, .fallback = "1",
	 .help = "Links from each leaf to each spine: leaf1-spine1, leaf1-spine1.2, ..."},
	{"framing_overhead", SCHEMA_SIZE,
	 SCHEMA_FIELD(struct scenario_leaf_spine, framing_overhead_bytes), .max = OVERHEAD_MAX,
	 .fallback = "24", .help = OVERHEAD_HELP},
	{"host_cable", SCHEMA_LENGTH, SCHEMA_FIELD(struct scenario_leaf_spine, host_cable_mm),
	 .max = CABLE_MM_MAX, .fallback = "3m",
	 .help = "Length of the links to hosts, 5 ns a metre."},
	{"uplink_cable", SCHEMA_LENGTH, SCHEMA_FIELD(struct scenario_leaf_spine, uplink_cable_mm),
	 .max = CABLE_MM_MAX, .fallback = "30m", .help = "Length of the links to spines."},
	{0},
};

static void check_leaf_spine(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_leaf_spine *fabric = out;
	uint32_t uplinks = fabric->spines * fabric->uplinks_per_spine;

	if (fabric->spines == 0 && fabric->leaves > 1)
		schema_fail(document, schema_child(node, "spines"),
			    "spines 0 leaves %u leaves unconnected: only a single leaf needs none",
			    fabric->leaves);
	if (uplinks > CONFIG_VIAS_MAX)
		schema_fail(document, schema_child(node, "uplinks_per_spine"),
			    "%u spines with %u links each are %u uplinks of a leaf: at most %u",
			    fabric->spines, fabric->uplinks_per_spine, uplinks, CONFIG_VIAS_MAX);
	else if (uplinks + fabric->hosts_per_leaf >= PORT_COUNT_MAX)
		schema_fail(document, schema_child(node, "hosts_per_leaf"),
			    "%u hosts and %u uplinks are %u ports of a leaf: at most %u",
			    fabric->hosts_per_leaf, uplinks, fabric->hosts_per_leaf + uplinks,
			    PORT_COUNT_MAX - 1);
	if (fabric->leaves * fabric->uplinks_per_spine >= PORT_COUNT_MAX)
		schema_fail(document, schema_child(node, "leaves"),
			    "%u leaves with %u links each are %u ports of a spine: at most %u",
			    fabric->leaves, fabric->uplinks_per_spine,
			    fabric->leaves * fabric->uplinks_per_spine, PORT_COUNT_MAX - 1);
	if (fabric->leaves == 1 && fabric->hosts_per_leaf + uplinks < 2)
		schema_fail(document, schema_child(node, "hosts_per_leaf"),
			    "a fabric of one host has nobody to send to");
}

static const struct schema_table leaf_spine_table = {
	"leaf_spine",
	leaf_spine_rows,
	.help = "Every leaf is connected to every spine.",
	.check = check_leaf_spine,
};

static const struct schema_row link_rows[] = {
	{"ends", SCHEMA_NAME, SCHEMA_ARRAY(struct scenario_link, ends, end_count),
	 .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY, .help = "Two nodes: `[h1, s1]`."},
	{"speed", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_link, speed_bps), .min = RATE_BPS_MIN,
	 .max = RATE_BPS_MAX, .fallback = "100G", .help = "Both directions."},
	{"cable", SCHEMA_LENGTH, SCHEMA_FIELD(struct scenario_link, cable_mm), .max = CABLE_MM_MAX,
	 .fallback = "3m", .help = "Length, 5 ns a metre."},
	{"delay", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_link, delay_ps),
	 SCHEMA_GIVEN(struct scenario_link, delay_given), .max = PS_PER_S,
	 .fallback_help = "that of `cable`", .help = "One way, instead of `cable`."},
	{0},
};

static void check_link(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_link *link = out;

	if (link->end_count != 2)
		schema_fail(document, schema_child(node, "ends"),
			    "ends names %u node%s: a link has two, as in [h1, s1]", link->end_count,
			    link->end_count == 1 ? "" : "s");
	if (link->delay_given && schema_find(node, "cable") != NULL)
		schema_fail_key(
			document, schema_child(node, "delay"),
			"delay and cable exclude each other: both say how long light takes");
}

static const struct schema_table link_table = {"a link", link_rows, .check = check_link};

static const struct schema_row explicit_rows[] = {
	{"nodes", SCHEMA_NAME, SCHEMA_LIST(struct scenario_explicit, nodes, node_count),
	 .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY, .length_max = NODES_MAX,
	 .help = "Names. A node with one link is a host, any other a switch."},
	{"links", SCHEMA_MAP, SCHEMA_LIST(struct scenario_explicit, links, link_count),
	 .table = &link_table, .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY, .length_max = LINKS_MAX,
	 .help = "What is connected to what; two nodes may have several links."},
	{"framing_overhead", SCHEMA_SIZE,
	 SCHEMA_FIELD(struct scenario_explicit, framing_overhead_bytes), .max = OVERHEAD_MAX,
	 .fallback = "24", .help = OVERHEAD_HELP},
	{0},
};

static const struct schema_table explicit_table = {
	"explicit",
	explicit_rows,
	.help = "Any graph. The hosts of one switch are bridged, between switches is routed over "
		"all shortest paths.",
};

static const struct schema_row fabric_rows[] = {
	{"leaf_spine", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, leaf_spine),
	 .table = &leaf_spine_table, .value = SCENARIO_LEAF_SPINE, .help = "Leaves and spines."},
	{"explicit", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, explicit),
	 .table = &explicit_table, .value = SCENARIO_EXPLICIT,
	 .help = "Nodes and links, one by one."},
	{0},
};

static const struct schema_table fabric_table = {
	"fabric",
	fabric_rows,
	SCHEMA_KIND(struct scenario_fabric, kind),
};

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
		 .max = BYTES_MAX,                                                                       \
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
		 .max = DURATION_PS_MAX,                                                                 \
		 .fallback = "0",                                                                        \
		 .help = "When it begins."},                                                             \
		{"stop",                                                                                 \
		 SCHEMA_TIME,                                                                            \
		 SCHEMA_FIELD(struct scenario_traffic, stop_ps),                                         \
		 SCHEMA_GIVEN(struct scenario_traffic, stop_given),                                      \
		 .max = DURATION_PS_MAX,                                                                 \
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
	 .max = NODES_MAX, .flags = SCHEMA_REQUIRED,
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
	 .max = DURATION_PS_MAX, .fallback = "1ms", .help = "Virtual time that passes."},
	{"fabric", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, fabric), .table = &fabric_table,
	 .flags = SCHEMA_REQUIRED, .help = "What there is and how it is connected."},
	{"leaf", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, leaf), .table = &leaf_table,
	 .help = "All switches."},
	{"hosts", SCHEMA_MAP, SCHEMA_FIELD(struct scenario, hosts), .table = &scenario_hosts_table,
	 .help = "All hosts."},
	{"traffic", SCHEMA_MAP, SCHEMA_LIST(struct scenario, traffic, traffic_count),
	 .table = &traffic_table, .length_max = TRAFFIC_MAX, .fallback_help = "none",
	 .help = "Who sends what to whom."},
	{"expect", SCHEMA_TEXT, SCHEMA_LIST(struct scenario, expects, expect_count),
	 .length_max = EXPECTS_MAX, .fallback_help = "none",
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
