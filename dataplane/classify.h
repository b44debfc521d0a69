/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * classify - which of the eight priorities a packet belongs to, and what arrived in which.
 *
 * By DSCP (upper six bits of the traffic class; the ECN bits never classify), by PCP, or not at
 * all, as the ingress port is trusted. What isn't IP never enters a lossless class, nor does what
 * comes from a port that isn't trusted or from the kernel.
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_CLASSIFY_H
#define DATAPLANE_CLASSIFY_H

#include "dataplane/internal.h"

/* Packets of one priority in a row: counters are touched once per run. */
struct class_run {
	uint32_t packets;
	uint32_t bytes;
	uint8_t priority;
};

/** Priority of a packet on a port that doesn't go by DSCP. Cold. */
uint8_t classify_other(const struct snapshot *snapshot, const struct port_table *port,
		       const struct parsed *parsed);

static inline bool classify_by_dscp(const struct port_table *port)
{
	return port->mode != PORT_MODE_CPU && port->trust == PORT_TRUST_DSCP;
}

/** Count what is left of the last run. */
static inline void class_run_end(struct worker *worker, uint16_t port, const struct class_run *run)
{
	struct queue_counters *counters = worker_queue_counters(worker, port, run->priority);

	counter_add(&counters->rx_packets, run->packets);
	counter_add(&counters->rx_bytes, run->bytes);
}

/**
 * Priority of packet i, which is counted and stored. Hot.
 * @param by_dscp classify_by_dscp() of the ingress port
 * @return false: longer than the port's MTU allows; it is dropped
 */
static inline __attribute__((always_inline)) bool classify(struct worker *worker,
							   struct burst *burst, uint32_t i,
							   const struct port_table *port,
							   bool by_dscp, struct class_run *run)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct parsed *parsed = &burst->parsed[i];
	uint8_t priority;

	if (unlikely(parsed->length > port->frame_bytes_max)) {
		burst_drop(worker, burst, i, DROP_TOO_LONG);
		return false;
	}
	if (likely(by_dscp))
		priority = (parsed->kind & KIND_IP_MASK) != 0
				   ? snapshot->by_dscp[parsed->traffic_class >> 2]
				   : snapshot->priority_default;
	else
		priority = classify_other(snapshot, port, parsed);
	burst->priority[i] = priority;
	if (priority != run->priority) {
		class_run_end(worker, burst->port, run);
		*run = (struct class_run){.priority = priority};
	}
	run->packets++;
	run->bytes += parsed->length;
	return true;
}

#endif
