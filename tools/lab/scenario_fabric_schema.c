/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of fabrics, and what they mean together.
 */
#include "tools/lab/scenario_fabric.h"

#include <string.h>

#include "tools/lab/scenario_limits.h"
#include "tools/lab/topology.h"

#define OVERHEAD_MAX 256

#define OVERHEAD_HELP                                                                     \
	"Bytes that a frame takes on the wire beyond its own, FCS included: preamble 8, " \
	"FCS 4, gap 12."

/* --- rows that regular fabrics share --- */

#define COUNT_ROW(key_, field_, min_, max_, fallback_, help_)                                  \
	{                                                                                      \
		key_, SCHEMA_UINT, SCHEMA_FIELD(struct scenario_clos, field_),                 \
			.min = (min_), .max = (max_), .fallback = (fallback_), .help = (help_) \
	}

#define SPEED_ROW(key_, field_, help_)                                                \
	{                                                                             \
		key_, SCHEMA_RATE, SCHEMA_FIELD(struct scenario_clos, field_),        \
			.min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .fallback = "100G", \
			.help = (help_)                                               \
	}

#define CABLE_ROW(key_, field_, fallback_, help_)                                              \
	{                                                                                      \
		key_, SCHEMA_LENGTH, SCHEMA_FIELD(struct scenario_clos, field_),               \
			.max = SCENARIO_CABLE_MM_MAX, .fallback = (fallback_), .help = (help_) \
	}

#define HOST_ROWS                                                                                  \
	SPEED_ROW("host_speed", host_speed_bps, "Speed of the links to hosts."),                   \
		CABLE_ROW("host_cable", host_cable_mm, "3m",                                       \
			  "Length of the links to hosts, 5 ns a metre."),                          \
		{"framing_overhead",                                                               \
		 SCHEMA_SIZE,                                                                      \
		 SCHEMA_FIELD(struct scenario_clos, framing_overhead_bytes),                       \
		 .max = OVERHEAD_MAX,                                                              \
		 .fallback = "24",                                                                 \
		 .help = OVERHEAD_HELP},                                                           \
	{                                                                                          \
		"links", SCHEMA_MAP, SCHEMA_LIST(struct scenario_clos, overrides, override_count), \
			.table = &override_table, .length_max = SCENARIO_LINKS_MAX,                \
			.fallback_help = "none", .help = "Links that are unlike the rest."         \
	}

#define UPLINK_ROWS                                                                             \
	SPEED_ROW("uplink_speed", uplink_speed_bps,                                             \
		  "Speed of the links between leaves and "                                      \
		  "spines."),                                                                   \
		COUNT_ROW("uplinks_per_spine", uplinks_per_spine, 1, CONFIG_VIAS_MAX, "1",      \
			  "Links from each leaf to each of its spines, the second called "      \
			  "leaf1-spine1.2."),                                                   \
		{"oversubscription",                                                            \
		 SCHEMA_RATIO,                                                                  \
		 SCHEMA_FIELD(struct scenario_clos, oversubscription),                          \
		 .min = 10000,                                                                  \
		 .max = UINT64_C(1000000000),                                                   \
		 .fallback_help = "what the speeds give",                                       \
		 .help = "What the hosts of a leaf can send over what its uplinks carry; sets " \
			 "`uplink_speed`."},                                                    \
		CABLE_ROW("uplink_cable", uplink_cable_mm, "30m",                               \
			  "Length of the links between leaves and spines."),                    \
	{                                                                                       \
		"ideal_core", SCHEMA_BOOL, SCHEMA_FIELD(struct scenario_clos, ideal_core),      \
			.fallback = "false",                                                    \
			.help = "Links between switches carry whatever comes, whatever speeds " \
				"say: what remains is light's time and the hosts' links, the "  \
				"ideal that others are measured by."                            \
	}

/* --- overrides --- */

static const struct schema_row override_rows[] = {
	{"link", SCHEMA_STRING, SCHEMA_FIELD(struct scenario_override, link),
	 .flags = SCHEMA_REQUIRED, .min = 1, .max = SCENARIO_PATTERN_BYTES - 1,
	 .help = "Name as in the results, `leaf1-spine2`; `*` and `?` stand for anything, as in "
		 "`leaf2.*`. Later entries count over earlier ones."},
	{"speed", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_override, speed_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .fallback_help = "that of its kind",
	 .help = "Both directions."},
	{"cable", SCHEMA_LENGTH, SCHEMA_FIELD(struct scenario_override, cable_mm),
	 SCHEMA_GIVEN(struct scenario_override, cable_given), .max = SCENARIO_CABLE_MM_MAX,
	 .fallback_help = "that of its kind", .help = "Length, 5 ns a metre."},
	{"delay", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_override, delay_ps),
	 SCHEMA_GIVEN(struct scenario_override, delay_given), .max = PS_PER_S,
	 .fallback_help = "that of `cable`", .help = "One way, instead of `cable`."},
	{0},
};

static void check_override(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_override *override = out;

	if (override->delay_given && override->cable_given)
		schema_fail_key(
			document, schema_child(node, "delay"),
			"delay and cable exclude each other: both say how long light takes");
	if (override->speed_bps == 0 && !override->delay_given && !override->cable_given)
		schema_fail(document, node,
			    "link %s is given neither speed nor cable: nothing would change",
			    override->link);
}

static const struct schema_table override_table = {
	"an unlike link",
	override_rows,
	.check = check_override,
};

/* --- rules --- */

/* Of one leaf. The schema bounds each factor, so 32 bits hold the products. */
static uint32_t uplink_count(const struct scenario_clos *clos)
{
	return clos->spines * clos->uplinks_per_spine;
}

static void check_uplinks(struct schema_document *document, struct schema_node *node,
			  const struct scenario_clos *clos, const char *hosts_key)
{
	if (clos->oversubscription.denominator != 0 && schema_find(node, "uplink_speed") != NULL)
		schema_fail_key(
			document, schema_child(node, "oversubscription"),
			"oversubscription and uplink_speed exclude each other: both say how "
			"fast uplinks are");
	if (uplink_count(clos) > CONFIG_VIAS_MAX)
		schema_fail(document, schema_child(node, "uplinks_per_spine"),
			    "%u spines with %u links each are %u uplinks of a leaf: at most %u",
			    clos->spines, clos->uplinks_per_spine, uplink_count(clos),
			    CONFIG_VIAS_MAX);
	else if (uplink_count(clos) + clos->hosts_per_leaf >= PORT_COUNT_MAX)
		schema_fail(document, schema_child(node, hosts_key),
			    "%u hosts and %u uplinks are %u ports of a leaf: at most %u",
			    clos->hosts_per_leaf, uplink_count(clos),
			    clos->hosts_per_leaf + uplink_count(clos), PORT_COUNT_MAX - 1);
}

/* The speed that oversubscription asks of each uplink. */
static void derive_uplink_speed(struct schema_document *document, struct schema_node *node,
				struct scenario_clos *clos)
{
	const struct schema_ratio *ratio = &clos->oversubscription;
	unsigned __int128 bps;
	char text[32];

	if (ratio->denominator == 0)
		return;
	if (uplink_count(clos) == 0) {
		schema_fail(document, schema_child(node, "oversubscription"),
			    "oversubscription of a leaf without uplinks");
		return;
	}
	bps = (unsigned __int128)clos->host_speed_bps * clos->hosts_per_leaf * ratio->denominator /
	      ratio->numerator / uplink_count(clos);
	if (bps >= RATE_BPS_MIN && bps <= RATE_BPS_MAX) {
		clos->uplink_speed_bps = (uint64_t)bps;
		return;
	}
	schema_format_number(SCHEMA_RATE, bps > UINT64_MAX ? UINT64_MAX : (uint64_t)bps, text,
			     sizeof(text));
	schema_fail(document, schema_child(node, "oversubscription"),
		    "oversubscription makes each of %u uplinks %s: out of range",
		    uplink_count(clos), text);
}

/* --- a single leaf --- */

static const struct schema_row single_leaf_rows[] = {
	COUNT_ROW("hosts", hosts_per_leaf, 2, PORT_COUNT_MAX - 1, "8",
		  "Hosts: leaf1.h1, leaf1.h2, ..."),
	HOST_ROWS,
	{0},
};

static void check_single_leaf(struct schema_document *document, struct schema_node *node, void *out)
{
	struct scenario_clos *clos = out;

	(void)document;
	(void)node;
	clos->pods = 1;
	clos->leaves = 1;
}

static const struct schema_table single_leaf_table = {
	"single_leaf",
	single_leaf_rows,
	.help = "Hosts on one leaf.",
	.check = check_single_leaf,
};

/* --- leaves and spines --- */

static const struct schema_row leaf_spine_rows[] = {
	COUNT_ROW("leaves", leaves, 1, TOPOLOGY_SUBNETS_MAX, "2", "Leaves: leaf1, leaf2, ..."),
	COUNT_ROW("spines", spines, 0, CONFIG_VIAS_MAX, "2",
		  "Spines: spine1, spine2, ...; 0 only with a single leaf."),
	COUNT_ROW("hosts_per_leaf", hosts_per_leaf, 1, PORT_COUNT_MAX - 1, "8",
		  "Hosts of each leaf: leaf1.h1, leaf1.h2, ..."),
	HOST_ROWS,
	UPLINK_ROWS,
	{0},
};

static void check_leaf_spine(struct schema_document *document, struct schema_node *node, void *out)
{
	struct scenario_clos *clos = out;

	clos->pods = 1;
	if (clos->spines == 0 && clos->leaves > 1)
		schema_fail(document, schema_child(node, "spines"),
			    "spines 0 leaves %u leaves unconnected: only a single leaf needs none",
			    clos->leaves);
	check_uplinks(document, node, clos, "hosts_per_leaf");
	if (clos->leaves * clos->uplinks_per_spine >= PORT_COUNT_MAX)
		schema_fail(document, schema_child(node, "leaves"),
			    "%u leaves with %u links each are %u ports of a spine: at most %u",
			    clos->leaves, clos->uplinks_per_spine,
			    clos->leaves * clos->uplinks_per_spine, PORT_COUNT_MAX - 1);
	if (clos->leaves == 1 && clos->hosts_per_leaf + uplink_count(clos) < 2)
		schema_fail(document, schema_child(node, "hosts_per_leaf"),
			    "a fabric of one host has nobody to send to");
	derive_uplink_speed(document, node, clos);
}

static const struct schema_table leaf_spine_table = {
	"leaf_spine",
	leaf_spine_rows,
	.help = "Every leaf is connected to every spine.",
	.check = check_leaf_spine,
};

/* --- rails --- */

static const struct schema_row rail_rows[] = {
	COUNT_ROW("units", units, 1, TOPOLOGY_SUBNETS_MAX, "1",
		  "Units of servers that share their leaves."),
	COUNT_ROW("servers", hosts_per_leaf, 1, PORT_COUNT_MAX - 1, "8",
		  "Servers of each unit; each has a NIC on every rail: u1.s1.r1, u1.s1.r2, ..."),
	COUNT_ROW("rails", rails, 1, TOPOLOGY_SUBNETS_MAX, "8",
		  "Leaves of each unit, one a rail: u1.rail1, u1.rail2, ..."),
	COUNT_ROW("spines", spines, 0, CONFIG_VIAS_MAX, "4",
		  "Spines over all rails: spine1, spine2, ...; 0 only with a single rail."),
	HOST_ROWS,
	UPLINK_ROWS,
	{0},
};

static void check_rails(struct schema_document *document, struct schema_node *node, void *out)
{
	struct scenario_clos *clos = out;

	clos->pods = 1;
	clos->leaves = clos->units * clos->rails;
	if (clos->leaves > TOPOLOGY_SUBNETS_MAX)
		schema_fail(document, schema_child(node, "rails"),
			    "%u units of %u rails are %u leaves: at most %u", clos->units,
			    clos->rails, clos->leaves, TOPOLOGY_SUBNETS_MAX);
	if (clos->spines == 0 && clos->leaves > 1)
		schema_fail(document, schema_child(node, "spines"),
			    "spines 0 leaves %u rails unconnected: only a single rail needs none",
			    clos->leaves);
	check_uplinks(document, node, clos, "servers");
	if (clos->leaves * clos->uplinks_per_spine >= PORT_COUNT_MAX)
		schema_fail(document, schema_child(node, "uplinks_per_spine"),
			    "%u rails with %u links each are %u ports of a spine: at most %u",
			    clos->leaves, clos->uplinks_per_spine,
			    clos->leaves * clos->uplinks_per_spine, PORT_COUNT_MAX - 1);
	if (clos->leaves == 1 && clos->hosts_per_leaf + uplink_count(clos) < 2)
		schema_fail(document, schema_child(node, "servers"),
			    "a fabric of one NIC has nobody to send to");
	derive_uplink_speed(document, node, clos);
}

static const struct schema_table rail_table = {
	"rail_optimised",
	rail_rows,
	.help = "NIC r of every server of a unit is on the same leaf, rail r; spines connect all rails. "
		"Each NIC is a host of its own; what goes on inside a server isn't part of it.",
	.check = check_rails,
};

/* --- three tiers --- */

static const struct schema_row three_tier_rows[] = {
	COUNT_ROW("pods", pods, 2, TOPOLOGY_SUBNETS_MAX, "4", "Pods."),
	COUNT_ROW("leaves_per_pod", leaves, 1, TOPOLOGY_SUBNETS_MAX, "2",
		  "Leaves of each pod: pod1.leaf1, ..."),
	COUNT_ROW("spines_per_pod", spines, 1, CONFIG_VIAS_MAX, "2",
		  "Spines of each pod: pod1.spine1, ..."),
	COUNT_ROW("cores", cores, 1, UINT64_C(1) * CONFIG_VIAS_MAX * CONFIG_VIAS_MAX, "4",
		  "Cores: core1, ...; a multiple of `spines_per_pod`, as spine j of every pod is "
		  "connected to the j-th share of them."),
	COUNT_ROW("hosts_per_leaf", hosts_per_leaf, 1, PORT_COUNT_MAX - 1, "4",
		  "Hosts of each leaf: pod1.leaf1.h1, ..."),
	SPEED_ROW("core_speed", core_speed_bps, "Speed of the links between spines and cores."),
	CABLE_ROW("core_cable", core_cable_mm, "100m",
		  "Length of the links between spines and cores."),
	HOST_ROWS,
	UPLINK_ROWS,
	{0},
};

static void check_three_tier(struct schema_document *document, struct schema_node *node, void *out)
{
	struct scenario_clos *clos = out;
	uint32_t leaves = clos->pods * clos->leaves, core_links;

	if (leaves > TOPOLOGY_SUBNETS_MAX)
		schema_fail(document, schema_child(node, "leaves_per_pod"),
			    "%u pods of %u leaves are %u leaves: at most %u", clos->pods,
			    clos->leaves, leaves, TOPOLOGY_SUBNETS_MAX);
	check_uplinks(document, node, clos, "hosts_per_leaf");
	if (clos->cores % clos->spines != 0) {
		schema_fail(document, schema_child(node, "cores"),
			    "%u cores don't divide among the %u spines of a pod", clos->cores,
			    clos->spines);
		return;
	}
	core_links = clos->cores / clos->spines;
	if (core_links > CONFIG_VIAS_MAX)
		schema_fail(document, schema_child(node, "cores"),
			    "%u cores are %u links of each spine: at most %u", clos->cores,
			    core_links, CONFIG_VIAS_MAX);
	else if (core_links + clos->leaves * clos->uplinks_per_spine >= PORT_COUNT_MAX)
		schema_fail(
			document, schema_child(node, "leaves_per_pod"),
			"%u leaves with %u links each and %u cores are too many ports of a spine: "
			"at most %u",
			clos->leaves, clos->uplinks_per_spine, core_links, PORT_COUNT_MAX - 1);
	derive_uplink_speed(document, node, clos);
}

static const struct schema_table three_tier_table = {
	"three_tier",
	three_tier_rows,
	.help = "Pods of leaves and spines below planes of cores.",
	.check = check_three_tier,
};

/* --- explicit --- */

static const struct schema_row link_rows[] = {
	{"ends", SCHEMA_NAME, SCHEMA_ARRAY(struct scenario_link, ends, end_count),
	 .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY, .help = "Two nodes: `[h1, s1]`."},
	{"speed", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_link, speed_bps), .min = RATE_BPS_MIN,
	 .max = RATE_BPS_MAX, .fallback = "100G", .help = "Both directions."},
	{"cable", SCHEMA_LENGTH, SCHEMA_FIELD(struct scenario_link, cable_mm),
	 .max = SCENARIO_CABLE_MM_MAX, .fallback = "3m", .help = "Length, 5 ns a metre."},
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
	 .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY, .length_max = SCENARIO_NODES_MAX,
	 .help = "Names. A node with one link is a host, any other a switch."},
	{"links", SCHEMA_MAP, SCHEMA_LIST(struct scenario_explicit, links, link_count),
	 .table = &link_table, .flags = SCHEMA_REQUIRED | SCHEMA_NONEMPTY,
	 .length_max = SCENARIO_LINKS_MAX,
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

/* --- of the ns-3 family --- */

static const struct schema_row ns3_rows[] = {
	{"file", SCHEMA_TEXT, SCHEMA_FIELD(struct scenario_ns3, file), .flags = SCHEMA_REQUIRED,
	 .min = 1, .max = SCENARIO_PATH_MAX,
	 .help = "Topology file: nodes, switches and links; the switches; a line a link: from, to, "
		 "rate, delay, error rate. A relative path begins where the scenario is."},
	{"framing_overhead", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_ns3, framing_overhead_bytes),
	 .max = OVERHEAD_MAX, .fallback = "24", .help = OVERHEAD_HELP},
	{0},
};

static const struct schema_table ns3_table = {
	"ns3",
	ns3_rows,
	.help = "A topology of the ns-3 simulators for RDMA. Hosts are called h0, h1, ..., switches s0, "
		"s1, ... by the file's numbers.",
};

static const struct schema_row fabric_rows[] = {
	{"leaf_spine", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, clos),
	 .table = &leaf_spine_table, .value = SCENARIO_LEAF_SPINE, .help = "Leaves and spines."},
	{"single_leaf", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, clos),
	 .table = &single_leaf_table, .value = SCENARIO_SINGLE_LEAF, .help = "One leaf."},
	{"rail_optimised", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, clos),
	 .table = &rail_table, .value = SCENARIO_RAIL_OPTIMISED, .help = "A leaf for each rail."},
	{"three_tier", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, clos),
	 .table = &three_tier_table, .value = SCENARIO_THREE_TIER, .help = "Pods and cores."},
	{"explicit", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, explicit),
	 .table = &explicit_table, .value = SCENARIO_EXPLICIT,
	 .help = "Nodes and links, one by one."},
	{"ns3", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_fabric, ns3), .table = &ns3_table,
	 .value = SCENARIO_NS3_TOPOLOGY, .help = "A topology file of the ns-3 family."},
	{0},
};

const struct schema_table scenario_fabric_table = {
	"fabric",
	fabric_rows,
	SCHEMA_KIND(struct scenario_fabric, kind),
};
