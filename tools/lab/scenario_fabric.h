/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scenario_fabric - the fabrics that a scenario can ask for, as written.
 *
 * Every regular fabric is one shape, struct scenario_clos: pods of leaves and spines, hosts below
 * the leaves, cores above the spines. A single leaf has one leaf and no spine; leaf_spine is one pod
 * without cores; rail_optimised is one pod whose leaves are rails, unit by unit. What a kind doesn't
 * have stays zero. Names by kind:
 *
 *	single_leaf     leaf1, leaf1.h1
 *	leaf_spine      leaf1, spine1, leaf1.h1
 *	rail_optimised  u1.rail1, spine1, u1.s1.r1 (unit 1, server 1, its NIC on rail 1)
 *	three_tier      pod1.leaf1, pod1.spine1, core1, pod1.leaf1.h1
 *	ns3             s4 and h5 by the file's numbers
 *
 * In three_tier spine j of every pod is connected to the j-th share of the cores: a plane.
 *
 * With ideal_core all links between switches run at RATE_BPS_MAX, whatever else says how fast they are. A
 * queue could grow there only if more than that met on one link: 16 hosts of 100G, all at once. Cables
 * keep their length, so the least time from host to host stays but for the frames' time on such links.
 *
 * Thread: any.
 */
#ifndef LAB_SCENARIO_FABRIC_H
#define LAB_SCENARIO_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/schema.h"

enum scenario_fabric_kind {
	SCENARIO_LEAF_SPINE = 1,
	SCENARIO_EXPLICIT,
	SCENARIO_SINGLE_LEAF,
	SCENARIO_RAIL_OPTIMISED,
	SCENARIO_THREE_TIER,
	SCENARIO_NS3_TOPOLOGY,
};

#define SCENARIO_PATTERN_BYTES 128

/* Links of a regular fabric that are unlike the others. */
struct scenario_override {
	char link[SCENARIO_PATTERN_BYTES]; /* name, or a pattern of fnmatch(3) */
	uint64_t speed_bps;                /* 0: not given */
	uint64_t cable_mm;
	uint64_t delay_ps;
	bool cable_given, delay_given;
};

struct scenario_clos {
	uint32_t pods, leaves, spines, cores; /* leaves and spines of each pod */
	uint32_t hosts_per_leaf, uplinks_per_spine;
	uint32_t units, rails; /* rail_optimised: leaves = units * rails */
	uint64_t host_speed_bps, uplink_speed_bps, core_speed_bps;
	struct schema_ratio oversubscription; /* denominator 0: not given */
	uint64_t host_cable_mm, uplink_cable_mm, core_cable_mm;
	uint32_t framing_overhead_bytes;
	bool ideal_core;
	struct scenario_override *overrides;
	uint32_t override_count;
};

struct scenario_link {
	char ends[2][CONFIG_NAME_BYTES];
	uint16_t end_count;
	uint64_t speed_bps;
	uint64_t cable_mm;
	uint64_t delay_ps;
	bool delay_given;
};

struct scenario_explicit {
	char (*nodes)[CONFIG_NAME_BYTES];
	uint32_t node_count;
	struct scenario_link *links;
	uint32_t link_count;
	uint32_t framing_overhead_bytes;
};

/* A topology file of the ns-3 family; see ns3_import.h. */
struct scenario_ns3 {
	char *file;
	uint32_t framing_overhead_bytes;
};

struct scenario_fabric {
	enum scenario_fabric_kind kind;
	struct scenario_clos clos;
	struct scenario_explicit explicit;
	struct scenario_ns3 ns3;
};

extern const struct schema_table scenario_fabric_table;

struct scenario;

/** Build the graph. @return 0, or -EINVAL with the reasons in the document's errors */
int scenario_build_topology(struct scenario *scenario, struct schema_document *document);

/** The path of a file that a scenario names: relative ones begin where the scenario is. For free(). */
char *scenario_beside(const char *scenario_path, const char *file);

#endif
