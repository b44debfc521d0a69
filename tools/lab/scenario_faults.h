/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scenario_faults - what goes wrong in a scenario, and when: keys of `faults`, checked and resolved.
 *
 * A fault begins at `at` and lasts for `for`. One link, host or worker has at most one fault at a time, so
 * that two never contradict each other. faults.h makes them happen.
 *
 * Thread: any.
 */
#ifndef LAB_SCENARIO_FAULTS_H
#define LAB_SCENARIO_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "config/schema.h"
#include "tools/lab/topology.h"

enum scenario_fault_kind {
	SCENARIO_LINK_DOWN = 1,
	SCENARIO_LINK_SPEED,
	SCENARIO_LINK_ERRORS,
	SCENARIO_PAUSE_STORM,
	SCENARIO_SILENT_HOST,
	SCENARIO_WORKER_STALL,
	SCENARIO_SLOW_RECEIVER,
	SCENARIO_STALL,
};

/* Bit error rates are counted in so many bits: 1e-15 is the smallest. */
#define SCENARIO_ERROR_BITS UINT64_C(1000000000000000)

struct scenario_fault {
	enum scenario_fault_kind kind;
	char link[TOPOLOGY_LINK_NAME];
	char host[CONFIG_NAME_BYTES];
	char switch_name[CONFIG_NAME_BYTES];
	uint32_t worker;
	uint8_t priorities; /* bit p: priority p */
	uint64_t speed_bps; /* of a link, or at which a host drains its receive buffer */
	uint64_t errors;    /* wrong bits in SCENARIO_ERROR_BITS */
	uint64_t at_ps, for_ps;
	bool for_given;
	/* Resolved. */
	uint32_t index;  /* of the link; among the hosts; among the switches */
	uint64_t end_ps; /* UINT64_MAX: not within the run */
};

#define SCENARIO_FAULTS_MAX 10000

/** An element of `faults`. */
extern const struct schema_table scenario_fault_table;

/** The key of a kind: "link_down". */
const char *scenario_fault_word(enum scenario_fault_kind kind);

/** What a fault befalls: name of a link, host or switch. */
const char *scenario_fault_target(const struct scenario_fault *fault);

struct scenario;

/** Find what they befall; refuse those that overlap. @return 0, or -EINVAL with the document's errors */
int scenario_resolve_faults(struct scenario *scenario, struct schema_document *document);

#endif
