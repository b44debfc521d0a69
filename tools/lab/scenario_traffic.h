/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scenario_traffic - the elements of a scenario's traffic, as written, and what resolving them needs.
 *
 * An element becomes flows (scenario_flows.c: flow, incast, permutation; traffic_poisson.c;
 * traffic_bursts.c: checkpoint, on_off; traffic_ns3.c), or a collective and its flows
 * (traffic_collective.c). A new kind is a row in scenario_traffic_schema.c and a function here.
 *
 * Thread: any.
 */
#ifndef LAB_SCENARIO_TRAFFIC_H
#define LAB_SCENARIO_TRAFFIC_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/schema.h"
#include "tools/lab/size_distribution.h"

enum scenario_traffic_kind {
	SCENARIO_FLOW = 1,
	SCENARIO_INCAST,
	SCENARIO_PERMUTATION,
	SCENARIO_POISSON,
	SCENARIO_CHECKPOINT,
	SCENARIO_ON_OFF,
	SCENARIO_NS3_FLOWS,
	SCENARIO_ALLREDUCE,
	SCENARIO_ALLTOALL,
	SCENARIO_TRAFFIC_KINDS
};

enum scenario_algorithm { SCENARIO_RING = 1, SCENARIO_HALVING_DOUBLING };

/* Keys that a kind doesn't have stay zero. */
struct scenario_traffic {
	enum scenario_traffic_kind kind;
	char name[CONFIG_NAME_BYTES];
	char from[CONFIG_NAME_BYTES];
	char to[CONFIG_NAME_BYTES];
	bool all;                         /* hosts */
	char (*hosts)[CONFIG_NAME_BYTES]; /* names or patterns of fnmatch(3) */
	uint32_t host_count;
	uint32_t senders;
	uint64_t bytes;    /* 0: without end */
	uint64_t rate_bps; /* 0: line rate */
	uint64_t start_ps, stop_ps, jitter_ps;
	bool stop_given, jitter_given, dscp_given, class_given;
	char class[CONFIG_NAME_BYTES];
	uint8_t dscp;
	uint32_t payload_bytes; /* 0: hosts.mtu */
	uint32_t queue_pairs;   /* permutation */
	/* poisson */
	uint32_t load_ppm;
	enum size_workload workload;
	char *sizes_file, *workload_name;
	/* checkpoint, on_off, collectives */
	uint32_t repeat;
	uint64_t every_ps, on_ps, off_ps, compute_ps;
	bool random;
	char *file; /* ns3 */
	/* collectives */
	enum scenario_algorithm algorithm;
	uint32_t concurrent;
};

/* A row of the table of kinds for each of them. */
extern const struct schema_table scenario_traffic_table;

/* The key of a kind. */
const char *scenario_traffic_key(enum scenario_traffic_kind kind);

/* --- resolving --- */

struct scenario;
struct scenario_flow;

/* One element being resolved. */
struct element {
	struct scenario *scenario;
	struct schema_document *document;
	struct schema_node *node; /* its mapping, for messages */
	const struct scenario_traffic *traffic;
	uint32_t index;
	uint8_t dscp, priority;
	uint32_t payload_bytes;
};

struct schema_node *element_key(const struct element *element, const char *key);

/** @return host, or TOPOLOGY_NONE with an error at the key */
uint32_t element_find_host(const struct element *element, const char *key, const char *name);

/**
 * The hosts that `all` or a list of names and patterns stand for, in the list's order and without `but`.
 * @param but   a host, or TOPOLOGY_NONE
 * @param count gets how many
 * @return for free(); NULL with an error at the key
 */
uint32_t *element_hosts(const struct element *element, const char *key, uint32_t but,
			uint32_t *count);

/** Refuse a rate that the link of a sender doesn't carry. */
void element_check_rate(const struct element *element, uint32_t source);

uint64_t element_line_bps(const struct element *element, uint32_t host);

/** How it is called: its name, or its kind and place. */
void element_name(const struct element *element, char *name, size_t size);

/**
 * Add a flow with what the element says of all its flows; the caller may change what differs.
 * @param number of the flow in its element, 1..; 0: its only one
 * @return it, until the next one is added
 */
struct scenario_flow *element_flow(const struct element *element, uint32_t source,
				   uint32_t destination, uint32_t number);

/** True when so many flows more would be too many; then there is an error. */
bool element_too_many(const struct element *element, uint64_t flows);

void element_resolve_poisson(struct element *element);
void element_resolve_checkpoint(struct element *element);
void element_resolve_on_off(struct element *element);
void element_resolve_ns3(struct element *element);
void element_resolve_collective(struct element *element);

#endif
