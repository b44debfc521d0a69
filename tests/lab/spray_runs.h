/* SPDX-License-Identifier: BSD-3-Clause */
/* spray_runs - runs of fabrics whose leaves spray, and what all leaves and hosts together have seen. */
#ifndef TESTS_LAB_SPRAY_RUNS_H
#define TESTS_LAB_SPRAY_RUNS_H

#include <stdint.h>

#include "dataplane/leaf.h"
#include "tests/lab/harness.h"
#include "tools/lab/fabric.h"

#define SPRAY_RUNS_PACKETS 400000

/* Marks begin so late that a standing queue of the start isn't slowed down. */
#define CLASSES                                                                     \
	"  memory: 256MiB\n"                                                        \
	"  classes:\n"                                                              \
	"    - {name: roce, priority: 3, dscp: [26], lossless: true, weight: 60, "  \
	"rdma_mtu: 4096, ecn: {kmin: 400KB, kmax: 1600KB, pmax: 20%}}\n"            \
	"    - {name: cnp, priority: 6, dscp: [48], strict: true, max_rate: 20%}\n" \
	"    - {name: control, priority: 7, dscp: [56], strict: true}\n"            \
	"    - {name: best-effort, priority: 0, weight: 20}\n"

#define FABRIC                                                                        \
	"fabric: {leaf_spine: {leaves: 4, spines: 4, hosts_per_leaf: 4, host_speed: " \
	"100G, uplink_speed: 100G, host_cable: 30m, uplink_cable: 30m"

#define HOSTS "hosts: {cc: dcqcn, dcqcn: {preset: hpcc}, mtu: 4096, ack_every: 4}\n"

struct spray_sums {
	struct spray_totals spray; /* of all leaves; peaks: the largest */
	uint64_t out_of_order, checksums, unfinished, slowest_ps;
	double imbalance;
};

/* A fixture: EAL and a pool for these runs. */
void spray_runs_start(void);

/* What has been seen until now. */
void spray_runs_sum(const struct simulation *simulation, struct spray_sums *sums);

/* Run a scenario to its end; everything must be conserved. For harness_finish(). */
struct simulation *spray_runs_run(const char *text, struct spray_sums *sums);

#endif
