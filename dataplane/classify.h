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

/* Of one burst. */
struct classifier {
	const struct port_table *port;
	uint32_t length_max; /* longest IP packet that goes by its DSCP alone */
	struct {
		uint32_t packets, bytes;
	} arrived[PRIORITY_COUNT];
};

/** Priority of a packet, MAC control apart. Pure; cold: most go by DSCP alone, see classify(). */
uint8_t classify_priority(const struct snapshot *snapshot, const struct port_table *port,
			  const struct parsed *parsed);

/** Start of a burst. */
static inline struct classifier classifier_of(const struct burst *burst)
{
	const struct port_table *port = &burst->snapshot->port[burst->port];
	bool by_dscp = port->mode != PORT_MODE_CPU && port->trust == PORT_TRUST_DSCP;

	return (struct classifier){.port = port, .length_max = by_dscp ? port->frame_bytes_max : 0};
}

/**
 * Priority of a packet that doesn't go by DSCP, stored. Cold.
 * @return false: longer than the port's MTU allows, it is counted and dropped; or MAC control, it is
 *         obeyed
 */
bool classify_other(struct worker *worker, struct burst *burst, uint32_t i,
		    const struct port_table *port);

/** Count a packet that arrived. Hot. */
static inline void classifier_count(struct classifier *classifier, uint8_t priority,
				    uint32_t length)
{
	classifier->arrived[priority].packets++;
	classifier->arrived[priority].bytes += length;
}

/**
 * Priority of packet i, which is counted and stored. Hot.
 * @return false: it is gone; see classify_other()
 */
static inline __attribute__((always_inline)) bool
classify(struct worker *worker, struct burst *burst, uint32_t i, struct classifier *classifier)
{
	const struct parsed *parsed = &burst->parsed[i];
	uint32_t length = parsed->length;

	if (likely(length <= classifier->length_max && (parsed->kind & KIND_IP_MASK) != 0))
		burst->priority[i] = burst->snapshot->by_dscp[parsed->traffic_class >> 2];
	else if (!classify_other(worker, burst, i, classifier->port))
		return false;
	classifier_count(classifier, burst->priority[i], length);
	return true;
}

/** End of a burst: count what arrived. */
void classifier_end(struct worker *worker, uint16_t port, const struct classifier *classifier);

#endif
