/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of traffic.
 */
#include "tools/lab/scenario_traffic.h"

#include "tools/lab/scenario_limits.h"
#include "tools/lab/topology.h"

/* Bursts and repetitions. */
#define REPEAT_MAX      1000000
/* More of them would need more flows than there are queue pairs. */
#define CONCURRENT_MAX  4096
#define QUEUE_PAIRS_MAX 256

/* --- rows that kinds share --- */

#define NAME_ROW(default_, help_)                                                 \
	{                                                                         \
		"name", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, name), \
			.fallback_help = (default_), .help = (help_)              \
	}

#define FLOW_NAME_ROW                                                  \
	NAME_ROW("the kind and its place in the list: flow1, incast2", \
		 "Name of the flows in the results; several get a dash and a number.")

#define BYTES_ROW(...)                                                              \
	{                                                                           \
		"bytes", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_traffic, bytes), \
			.min = 1, .max = SCENARIO_BYTES_MAX, __VA_ARGS__            \
	}

#define RATE_ROW                                                                                        \
	{                                                                                               \
		"rate", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_traffic, rate_bps),                   \
			.min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .fallback_help = "line rate",         \
			.help = "Pace of each flow, in bits on the wire: headers and framing overhead " \
				"count."                                                                \
	}

#define START_ROW                                                                      \
	{                                                                              \
		"start", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, start_ps), \
			.max = SCENARIO_DURATION_PS_MAX, .fallback = "0",              \
			.help = "When it begins."                                      \
	}

#define STOP_ROW(help_)                                                                            \
	{                                                                                          \
		"stop", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, stop_ps),               \
			SCHEMA_GIVEN(struct scenario_traffic, stop_given),                         \
			.max = SCENARIO_DURATION_PS_MAX, .fallback_help = "never", .help = (help_) \
	}

#define CLASS_ROWS(default_)                                                                  \
	{"class",                                                                             \
	 SCHEMA_NAME,                                                                         \
	 SCHEMA_FIELD(struct scenario_traffic, class),                                        \
	 SCHEMA_GIVEN(struct scenario_traffic, class_given),                                  \
	 .fallback_help = (default_),                                                         \
	 .help = "Class by name; packets carry its lowest DSCP."},                            \
		{"dscp",                                                                      \
		 SCHEMA_UINT,                                                                 \
		 SCHEMA_FIELD(struct scenario_traffic, dscp),                                 \
		 SCHEMA_GIVEN(struct scenario_traffic, dscp_given),                           \
		 .max = 63,                                                                   \
		 .fallback_help = "that of `class`",                                          \
		 .help = "DSCP, instead of `class`."},                                        \
	{                                                                                     \
		"payload", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_traffic, payload_bytes), \
			.min = 1, .max = MTU_BYTES_MAX, .fallback_help = "hosts.mtu",         \
			.help = "Payload of a packet."                                        \
	}

#define LOSSLESS_DEFAULT "the first lossless class, or else the default class"

#define JITTER_ROW(default_)                                                             \
	{                                                                                \
		"jitter", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, jitter_ps), \
			SCHEMA_GIVEN(struct scenario_traffic, jitter_given),             \
			.max = PS_PER_S, .fallback_help = (default_),                    \
			.help = "Each flow begins later by a random time below this."    \
	}

#define FROM_ROW                                                                  \
	{                                                                         \
		"from", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, from), \
			.flags = SCHEMA_REQUIRED, .help = "The host that sends."  \
	}

#define TO_ROW                                                                      \
	{                                                                           \
		"to", SCHEMA_NAME, SCHEMA_FIELD(struct scenario_traffic, to),       \
			.flags = SCHEMA_REQUIRED, .help = "The host that receives." \
	}

static const struct schema_word all_words[] = {{"all", true, "every host of the fabric"}, {0}};

#define HOSTS_ROWS(key_, help_)                                                               \
	{key_,                                                                                \
	 SCHEMA_ENUM,                                                                         \
	 SCHEMA_FIELD(struct scenario_traffic, all),                                          \
	 .words = all_words,                                                                  \
	 .fallback = "all",                                                                   \
	 .help = (help_)},                                                                    \
	{                                                                                     \
		key_, SCHEMA_STRING, SCHEMA_LIST(struct scenario_traffic, hosts, host_count), \
			.min = 1, .max = CONFIG_NAME_BYTES - 1, .flags = SCHEMA_NONEMPTY,     \
			.length_max = SCENARIO_NODES_MAX                                      \
	}

/* What flow, incast and permutation have in common. */
#define PATTERN_ROWS                                                                  \
	FLOW_NAME_ROW,                                                                \
		BYTES_ROW(.fallback_help = "without end",                             \
			  .help = "Payload that each flow sends."),                   \
		RATE_ROW, START_ROW, STOP_ROW("When it ends, whatever it has sent."), \
		CLASS_ROWS(LOSSLESS_DEFAULT)

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

/* --- one by one --- */

static const struct schema_row flow_rows[] = {
	PATTERN_ROWS, JITTER_ROW("0"), FROM_ROW, TO_ROW, {0},
};

static const struct schema_table flow_table = {
	"a flow",
	flow_rows,
	.help = "From one host to another.",
	.check = check_traffic,
};

static const struct schema_row incast_rows[] = {
	PATTERN_ROWS,
	JITTER_ROW("one packet's time at `rate`"),
	{"senders", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_traffic, senders), .min = 1,
	 .max = SCENARIO_NODES_MAX, .flags = SCHEMA_REQUIRED,
	 .help = "How many hosts send, chosen at random among the others."},
	TO_ROW,
	{0},
};

static const struct schema_table incast_table = {
	"an incast",
	incast_rows,
	.help = "From many hosts to one.",
	.check = check_traffic,
};

static const struct schema_row permutation_rows[] = {
	PATTERN_ROWS,
	JITTER_ROW("one packet's time at `rate`"),
	{"queue_pairs", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_traffic, queue_pairs), .min = 1,
	 .max = QUEUE_PAIRS_MAX, .fallback = "1",
	 .help = "Flows of each pair of hosts, each with a queue pair and a source port of its own."},
	{0},
};

static const struct schema_table permutation_table = {
	"a permutation",
	permutation_rows,
	.help = "Every host sends to one other and receives from one other, chosen at random.",
	.check = check_traffic,
};

/* --- poisson --- */

static const struct schema_word size_words[] = {
	{"websearch", SIZE_WEBSEARCH, "queries and their background, DCTCP 2010"},
	{"hadoop", SIZE_HADOOP, "Facebook's Hadoop, 2015"},
	{"storage", SIZE_STORAGE, "Alibaba's storage, 2019"},
	{"rpc", SIZE_RPC, "Google's RPCs, 2008"},
	{"solar", SIZE_SOLAR, "Alibaba's Solar, 2022"},
	{0},
};

static const struct schema_row poisson_rows[] = {
	FLOW_NAME_ROW,
	{"load", SCHEMA_SHARE, SCHEMA_FIELD(struct scenario_traffic, load_ppm),
	 .flags = SCHEMA_REQUIRED, .min = 1, .max = UINT64_C(2) * SIZE_PPM,
	 .help = "Payload that each host sends in the mean, as a share of its link's rate."},
	{"sizes", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_traffic, workload), .words = size_words,
	 .flags = SCHEMA_REQUIRED,
	 .help = "Distribution of the flows' sizes: a built-in one, or a file with lines of `bytes "
		 "percent`. A relative path begins where the scenario is."},
	{"sizes", SCHEMA_TEXT, SCHEMA_FIELD(struct scenario_traffic, sizes_file), .min = 1,
	 .max = SCENARIO_PATH_MAX},
	{"workload", SCHEMA_TEXT, SCHEMA_FIELD(struct scenario_traffic, workload_name), .min = 1,
	 .max = 63, .fallback_help = "the only one",
	 .help = "Which distribution of the file, when its lines are `workload bytes percent`."},
	HOSTS_ROWS("hosts",
		   "Who sends, and to whom: the others of these, all alike. Names or patterns "
		   "such as `leaf1.*`."),
	RATE_ROW,
	START_ROW,
	STOP_ROW("No flow begins from then on."),
	CLASS_ROWS(LOSSLESS_DEFAULT),
	{0},
};

static void check_poisson(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_traffic *traffic = out;

	if (traffic->workload_name != NULL && traffic->workload != 0)
		schema_fail_key(document, schema_child(node, "workload"),
				"workload says which part of a file counts, but sizes is no file");
	check_traffic(document, node, out);
}

static const struct schema_table poisson_table = {
	"poisson",
	poisson_rows,
	.help = "Every host begins flows at random times, independent of each other (a Poisson process), "
		"to others at random.",
	.check = check_poisson,
};

/* --- bursts --- */

static const struct schema_row checkpoint_rows[] = {
	FLOW_NAME_ROW,
	BYTES_ROW(.flags = SCHEMA_REQUIRED, .help = "Payload of each host's part of a checkpoint."),
	HOSTS_ROWS("from",
		   "Who writes: `all` but the receiver, or a list of names or patterns such as "
		   "`leaf1.*`."),
	TO_ROW,
	{"every", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, every_ps), .min = 1,
	 .max = SCENARIO_DURATION_PS_MAX, .fallback = "1ms",
	 .help = "From the beginning of a checkpoint to that of the next."},
	{"repeat", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_traffic, repeat),
	 .unit = "checkpoints", .min = 1, .max = REPEAT_MAX, .fallback = "1", .help = "How many."},
	RATE_ROW,
	START_ROW,
	JITTER_ROW("one packet's time at `rate`"),
	CLASS_ROWS("the default class"),
	{0},
};

static const struct schema_table checkpoint_table = {
	"a checkpoint",
	checkpoint_rows,
	.help = "Many hosts write to a storage host at once, again and again.",
	.check = check_traffic,
};

static const struct schema_row on_off_rows[] = {
	FLOW_NAME_ROW,
	FROM_ROW,
	TO_ROW,
	{"on", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, on_ps), .min = 1,
	 .max = SCENARIO_DURATION_PS_MAX, .flags = SCHEMA_REQUIRED, .help = "How long it sends."},
	{"off", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, off_ps), .min = 1,
	 .max = SCENARIO_DURATION_PS_MAX, .flags = SCHEMA_REQUIRED,
	 .help = "How long it is quiet after that."},
	{"random", SCHEMA_BOOL, SCHEMA_FIELD(struct scenario_traffic, random), .fallback = "false",
	 .help = "Both times are means of exponentially distributed ones."},
	RATE_ROW,
	START_ROW,
	STOP_ROW("When it ends."),
	CLASS_ROWS(LOSSLESS_DEFAULT),
	{0},
};

static const struct schema_table on_off_table = {
	"on_off",
	on_off_rows,
	.help = "From one host to another, with breaks; each time it sends is a flow of its own.",
	.check = check_traffic,
};

/* --- imports --- */

static const struct schema_row ns3_flows_rows[] = {
	FLOW_NAME_ROW,
	{"file", SCHEMA_TEXT, SCHEMA_FIELD(struct scenario_traffic, file), .flags = SCHEMA_REQUIRED,
	 .min = 1, .max = SCENARIO_PATH_MAX,
	 .help = "Flow file: their number, then a line for each: from, to, priority group, port, bytes, "
		 "start in seconds. A relative path begins where the scenario is. Ids are nodes of an "
		 "`ns3` fabric; elsewhere hosts, counted from 0. The priority group is the priority of "
		 "the class."},
	RATE_ROW,
	{"start", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_traffic, start_ps),
	 .max = SCENARIO_DURATION_PS_MAX, .fallback = "0",
	 .help = "When the file's first flow begins; the others keep their distance to it."},
	{"payload", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_traffic, payload_bytes), .min = 1,
	 .max = MTU_BYTES_MAX, .fallback_help = "hosts.mtu", .help = "Payload of a packet."},
	{0},
};

static const struct schema_table ns3_flows_table = {
	"ns3",
	ns3_flows_rows,
	.help = "The flows of a file of the ns-3 simulators for RDMA.",
};

/* --- collectives --- */

#define COLLECTIVE_ROWS                                                                            \
	NAME_ROW("the kind; with its place in the list when that is taken",                        \
		 "Name in the results, as in `collective.allreduce.slowdown`."),                   \
		HOSTS_ROWS("ranks", "Who takes part, in this order: `all`, or a list of names or " \
				    "patterns such as `leaf1.*`."),                                \
		{"repeat",                                                                         \
		 SCHEMA_UINT,                                                                      \
		 SCHEMA_FIELD(struct scenario_traffic, repeat),                                    \
		 .unit = "times",                                                                  \
		 .min = 1,                                                                         \
		 .max = REPEAT_MAX,                                                                \
		 .fallback = "1",                                                                  \
		 .help = "How often; each begins when every rank has finished the one before."},   \
		{"compute",                                                                        \
		 SCHEMA_TIME,                                                                      \
		 SCHEMA_FIELD(struct scenario_traffic, compute_ps),                                \
		 .max = SCENARIO_DURATION_PS_MAX,                                                  \
		 .fallback = "0",                                                                  \
		 .help = "From the end of one to the beginning of the next."},                     \
		RATE_ROW, START_ROW, CLASS_ROWS(LOSSLESS_DEFAULT)

static const struct schema_word algorithm_words[] = {
	{"ring", SCENARIO_RING,
	 "2 (N - 1) steps of bytes / N to the next rank: reduce-scatter, then all-gather"},
	{"halving-doubling", SCENARIO_HALVING_DOUBLING,
	 "2 log2 N steps with partners at half, a quarter ... of the ranks; a power of two of them"},
	{0},
};

static const struct schema_row allreduce_rows[] = {
	{"algorithm", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_traffic, algorithm),
	 .words = algorithm_words, .fallback = "ring", .help = "Who sends what to whom."},
	BYTES_ROW(.flags = SCHEMA_REQUIRED, .help = "Size of the vector that each rank has."),
	COLLECTIVE_ROWS,
	{0},
};

static const struct schema_table allreduce_table = {
	"an allreduce",
	allreduce_rows,
	.help = "Every rank has a vector and gets the sum of all. A rank begins a step when it has "
		"received all of the one before.",
	.check = check_traffic,
};

static const struct schema_row alltoall_rows[] = {
	BYTES_ROW(.flags = SCHEMA_REQUIRED,
		  .help = "Size of the vector that each rank has: a share of it goes to each rank."),
	{"concurrent", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_traffic, concurrent),
	 .unit = "steps", .min = 1, .max = CONCURRENT_MAX, .fallback = "4",
	 .help = "A rank begins step k + this when it has received all steps up to k."},
	COLLECTIVE_ROWS,
	{0},
};

static const struct schema_table alltoall_table = {
	"an alltoall",
	alltoall_rows,
	.help = "Every rank has something for each other. In step k of N - 1 rank r sends to rank r + k.",
	.check = check_traffic,
};

/* --- all --- */

#define KIND_ROW(key_, table_, kind_, help_)                                         \
	{                                                                            \
		key_, SCHEMA_MAP, SCHEMA_HERE, .table = &(table_), .value = (kind_), \
					       .help = (help_)                       \
	}

static const struct schema_row traffic_rows[] = {
	KIND_ROW("flow", flow_table, SCENARIO_FLOW, "From one host to another."),
	KIND_ROW("incast", incast_table, SCENARIO_INCAST, "From many hosts to one."),
	KIND_ROW("permutation", permutation_table, SCENARIO_PERMUTATION,
		 "Everybody to somebody else."),
	KIND_ROW("allreduce", allreduce_table, SCENARIO_ALLREDUCE, "A collective: sums."),
	KIND_ROW("alltoall", alltoall_table, SCENARIO_ALLTOALL,
		 "A collective: everybody to everybody."),
	KIND_ROW("poisson", poisson_table, SCENARIO_POISSON,
		 "Random flows at a load, sizes as measured."),
	KIND_ROW("checkpoint", checkpoint_table, SCENARIO_CHECKPOINT,
		 "Bursts of many hosts to a storage host."),
	KIND_ROW("on_off", on_off_table, SCENARIO_ON_OFF, "With breaks."),
	KIND_ROW("ns3", ns3_flows_table, SCENARIO_NS3_FLOWS, "A flow file of the ns-3 family."),
	{0},
};

const struct schema_table scenario_traffic_table = {
	"an element of traffic",
	traffic_rows,
	SCHEMA_KIND(struct scenario_traffic, kind),
};

const char *scenario_traffic_key(enum scenario_traffic_kind kind)
{
	for (const struct schema_row *row = traffic_rows; row->key != NULL; row++)
		if (row->value == (uint32_t)kind)
			return row->key;
	return "";
}
