/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ns3_import - reads topology and flow files of the ns-3 simulators for RDMA (HPCC, ConWeave).
 *
 *	topology	`nodes switches links`; the ids of the switches; then for each link
 *			`from to rate delay error_rate`, as in `0 8 100Gbps 0.001ms 0`
 *	flows		their number; then for each
 *			`from to priority_group port bytes start_seconds`, as in `0 5 3 100 20000 2.0001`
 *
 * Words are separated by white space, ids are 0..nodes-1. A host has one link, a switch several, as
 * everywhere in the lab; links that corrupt (an error rate other than 0) are refused, a fault of the
 * scenario says that. Everything is checked: what is wrong comes out as `FILE:LINE:COLUMN: what`.
 *
 * Source: README and third.cc of the simulator that was published with HPCC (SIGCOMM 2019).
 * Thread: any.
 */
#ifndef LAB_NS3_IMPORT_H
#define LAB_NS3_IMPORT_H

#include <stdint.h>

#include "config/config.h"

struct topology;

/**
 * Add the file's nodes and links to an empty topology: node i of the file is node i, called h<i> or
 * s<i>. topology_complete() is left to the caller.
 * @return 0, or -EINVAL with the reason in errors
 */
int ns3_read_topology(const char *path, struct topology *topology, struct config_errors *errors);

struct ns3_flow {
	uint32_t from, to; /* nodes of the file; not checked */
	uint32_t line;     /* where it stands */
	uint8_t priority;
	uint64_t bytes;    /* >= 1 */
	uint64_t start_ps; /* from the beginning of the file's time */
};

/**
 * @param flows gets an array for free(), in the file's order; unchanged on error
 * @return 0, or -EINVAL with the reason in errors
 */
int ns3_read_flows(const char *path, struct ns3_flow **flows, uint32_t *count,
		   struct config_errors *errors);

#endif
