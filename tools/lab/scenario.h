/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scenario - an experiment: YAML in, a checked fabric and a list of flows out.
 *
 * The keys live in one table (scenario_schema.c). What comes out of scenario_load() is complete:
 * the graph is there with names and addresses, patterns of traffic are resolved to flows with their
 * random parts drawn from the seed, so that nothing downstream asks the file again. What is wrong
 * comes out as `FILE:LINE:COLUMN: what, the value, the bound`, many at once.
 *
 * Thread: any.
 */
#ifndef LAB_SCENARIO_H
#define LAB_SCENARIO_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/schema.h"
#include "tools/lab/cc/cc.h"
#include "tools/lab/host/transport.h"
#include "tools/lab/collective_schedule.h"
#include "tools/lab/scenario_fabric.h"
#include "tools/lab/scenario_faults.h"
#include "tools/lab/scenario_traffic.h"
#include "tools/lab/topology.h"

/* As written; scenario_hosts.cc has what counts. */
struct scenario_dcqcn {
	enum dcqcn_preset preset;
	struct schema_ratio g, initial_alpha;
	struct dcqcn_params values; /* 0: not given, but for these */
	bool cut_window_given, cnp_interval_given, byte_counter_given, clamp_given;
};

struct scenario_hosts {
	uint32_t mtu_bytes; /* RDMA MTU: payload of a packet at most */
	struct cc_params cc;
	struct scenario_dcqcn dcqcn;
	struct scenario_dctcp {
		struct schema_ratio g;
	} dctcp;
	uint8_t cnp_dscp;
	uint8_t cnp_priority; /* of its class */
	struct transport_params transport;
	uint64_t receive_buffer_bytes; /* 0: hosts need none */
	uint64_t receive_headroom_bytes;
	uint64_t drain_rate_bps;
	bool receive_headroom_given;
	uint8_t dscp_priority[64]; /* of the classes */
};

/* Where something was written: a file, or an option of the command line with mark 0. */
struct scenario_place {
	char *name;
	struct config_mark mark;
};

/* One flow, with everything decided. */
struct scenario_flow {
	char name[CONFIG_NAME_BYTES + 16];
	uint32_t source, destination; /* among the hosts of the topology */
	uint64_t bytes;
	uint64_t rate_bps;
	uint64_t start_ps, stop_ps; /* from the beginning of the run */
	bool stops;
	uint32_t payload_bytes;
	uint8_t dscp;
	uint8_t priority; /* of its class */
	uint16_t source_port;
	uint32_t psn;
	uint32_t collective; /* 1..: it belongs to that one, which releases its bytes; 0: to none */
};

/* A collective, resolved. Its flows are first_flow + rank * slots + slot. */
struct scenario_collective {
	char name[CONFIG_NAME_BYTES];
	struct collective_shape shape;
	uint32_t *ranks; /* [shape.ranks]: hosts */
	uint32_t first_flow;
	uint32_t window; /* steps that a rank may be ahead of what it has received */
	uint32_t repeat;
	uint64_t start_ps, compute_ps;
};

/* A switch that spreads traffic unlike the others. */
struct scenario_mode {
	char name[SCENARIO_PATTERN_BYTES]; /* of the switch, or a pattern of fnmatch(3) */
	enum config_balance_mode mode;
};

struct scenario {
	char name[CONFIG_NAME_BYTES];
	uint64_t seed;
	uint64_t duration_ps;
	struct scenario_fabric fabric;
	struct scenario_leaf {
		/* Its classes, buffer, watchdog, balance, leaf.memory_bytes and leaf.workers mean something. */
		struct config config;
		uint64_t
			poll_ps; /* from one poll of a worker to the next, at most; 0: never late */
		uint32_t rx_ring_frames; /* 0: without end */
		struct scenario_mode *modes;
		uint32_t mode_count;
	} leaf;
	struct scenario_hosts hosts;
	struct scenario_traffic *traffic;
	uint32_t traffic_count;
	struct scenario_fault *faults;
	uint32_t fault_count;
	char **expects;
	uint32_t expect_count;

	struct topology *topology;
	struct scenario_flow *flows;
	uint32_t flow_count, flow_size;
	struct scenario_collective *collectives;
	uint32_t collective_count;

	char *path;
	struct scenario_place *expect_places; /* where they were written */
	struct schema_memory memory;
};

/* The table of the file's keys, for the reference page. */
extern const struct schema_table scenario_table;

struct scenario_options {
	const uint64_t *seed;           /* instead of the file's; NULL: the file's */
	const char *const *assignments; /* of --set, in order */
	uint32_t assignment_count;
};

/**
 * Read and check a scenario.
 * @return it, for scenario_free(), or NULL with errors->count >= 1
 */
struct scenario *scenario_load(const char *path, const struct scenario_options *options,
			       struct config_errors *errors);
/** The same from memory, under the name `path`. */
struct scenario *scenario_load_string(const char *path, const char *text, size_t size,
				      const struct scenario_options *options,
				      struct config_errors *errors);
void scenario_free(struct scenario *scenario);

/* --- between the files of this module --- */

extern const struct schema_table scenario_hosts_table;

/** Fill in what follows from what was given. */
void scenario_complete_hosts(struct scenario_hosts *hosts);
/** Which priority each DSCP has. */
void scenario_classify_hosts(struct scenario_hosts *hosts, const struct config *config);
/**
 * The class of that name, NULL: what RDMA uses, and its DSCP can be carried.
 * @return NULL: a message was left at the node
 */
const struct config_class *scenario_class(const struct config *config, const char *name,
					  struct schema_document *document,
					  struct schema_node *node);
/** How a switch spreads what no class of it says otherwise: as the last of `leaf.modes` that is for it. */
enum config_balance_mode scenario_mode_of(const struct scenario *scenario, const char *switch_name);
struct receive_buffer_params;
/** The receive buffer of a host; bytes 0: it has none. */
void scenario_receive_buffer(const struct scenario *scenario, uint32_t host,
			     struct receive_buffer_params *params);
/** What can only be checked with a graph, and classes. */
void scenario_check_hosts(const struct scenario *scenario, struct schema_document *document);
/** Resolve traffic to flows. */
int scenario_build_flows(struct scenario *scenario, struct schema_document *document);

#endif
