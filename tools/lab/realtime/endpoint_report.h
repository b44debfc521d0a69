/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint_report - what an endpoint has done: a line a second for people, all of it as JSON for programs.
 *
 * Rates are of payload: what was acknowledged of what we send, and what was delivered in order of what we
 * serve. They are by the caller's clock.
 *
 * Thread: the endpoint's.
 */
#ifndef LAB_REALTIME_ENDPOINT_REPORT_H
#define LAB_REALTIME_ENDPOINT_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "tools/lab/realtime/endpoint.h"

/* Sums over all queue pairs since the start. */
struct endpoint_totals {
	uint64_t acked_bytes, received_bytes, retransmitted_bytes;
	uint64_t marked_packets, cnps_sent, cnps_received;
	uint64_t paused_ps; /* over all priorities */
	uint64_t rate_bps;  /* that the controllers allow now */
};

struct endpoint_report {
	const struct endpoint *endpoint;
	const struct endpoint_params *params;
	uint64_t start_ps, last_ps;
	struct endpoint_totals last;
	json_t *intervals;
};

/** Endpoint and params are kept by the caller. */
void endpoint_report_init(struct endpoint_report *report, const struct endpoint *endpoint,
			  const struct endpoint_params *params, uint64_t now_ps);
void endpoint_report_fini(struct endpoint_report *report);

/** An interval is over. @param out gets a line; NULL: none */
void endpoint_report_interval(struct endpoint_report *report, uint64_t now_ps, FILE *out);

/** @return all there is, for json_decref() */
json_t *endpoint_report_json(struct endpoint_report *report, uint64_t now_ps);

/** The same for people. */
void endpoint_report_print(json_t *result, FILE *out);

#endif
