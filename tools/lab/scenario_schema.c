/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/scenario.h"

#include "config/schema_leaf.h"
#include "dataplane/worker.h"
#include "tools/lab/scenario_limits.h"
#include "tools/lab/virtual_io.h"

static const struct schema_row mode_rows[] = {
	{"switch", SCHEMA_STRING, SCHEMA_FIELD(struct scenario_mode, name),
	 .flags = SCHEMA_REQUIRED, .min = 1, .max = SCENARIO_PATTERN_BYTES - 1,
	 .help = "Its name; `*` and `?` stand for anything, as in `leaf[12]`. Later entries count over "
		 "earlier ones."},
	{"mode", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_mode, mode),
	 .words = config_balance_words, .flags = SCHEMA_REQUIRED, .help = "As in `balance`."},
	{0},
};

static const struct schema_table mode_table = {
	"a mode",
	mode_rows,
	.struct_size = sizeof(struct scenario_mode),
};

static const struct schema_row leaf_rows[] = {
	CONFIG_CLASSES_ROWS,
	CONFIG_BUFFER_ROWS,
	CONFIG_BALANCE_ROWS,
	{"modes", SCHEMA_MAP, SCHEMA_LIST(struct scenario_leaf, modes, mode_count),
	 .table = &mode_table, .length_max = SCENARIO_NODES_MAX, .fallback_help = "none",
	 .help = "Switches with another `mode` than `balance` says: half of the leaves, say. They still "
		 "restore the order of what others spray."},
	{"workers", SCHEMA_UINT, SCHEMA_FIELD(struct config, leaf.workers), .min = 1,
	 .max = WORKER_COUNT_MAX, .fallback = "1",
	 .help = "Workers of each switch, which share its ports; they run in an order that the seed "
		 "decides."},
	{"poll", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_leaf, poll_ps), .max = PS_PER_MS,
	 .fallback = "0",
	 .help = "A worker looks at its ports again after half of this time at least and all of it at "
		 "most, as on a CPU; headroom grows with it. 0: an ideal switch, never late."},
	{"rx_ring", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_leaf, rx_ring_frames),
	 .max = VIRTUAL_RING_FRAMES_MAX, .fallback = "0",
	 .help = "Frames that wait in the receive ring of a port at most, as in a NIC's; what comes while "
		 "it is full is lost. 0: without end."},
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
	 .table = &scenario_traffic_table, .length_max = SCENARIO_TRAFFIC_MAX,
	 .fallback_help = "none", .help = "Who sends what to whom."},
	{"faults", SCHEMA_MAP, SCHEMA_LIST(struct scenario, faults, fault_count),
	 .table = &scenario_fault_table, .length_max = SCENARIO_FAULTS_MAX, .fallback_help = "none",
	 .help = "What goes wrong, and when."},
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
