/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/classify.h"

static uint8_t lossy(const struct snapshot *snapshot, uint8_t priority)
{
	return (snapshot->lossless_mask >> priority & 1) != 0 ? snapshot->priority_default
							      : priority;
}

uint8_t classify_priority(const struct snapshot *snapshot, const struct port_table *port,
			  const struct parsed *parsed)
{
	bool ip = (parsed->kind & KIND_IP_MASK) != 0;
	uint8_t priority;

	if (port->mode == PORT_MODE_CPU)
		return ip ? lossy(snapshot, snapshot->by_dscp[parsed->traffic_class >> 2])
			  : snapshot->priority_control;
	if (port->trust == PORT_TRUST_DSCP)
		return ip ? snapshot->by_dscp[parsed->traffic_class >> 2]
			  : snapshot->priority_default;
	if (port->trust != PORT_TRUST_PCP || (parsed->flags & PARSED_TAGGED) == 0)
		return snapshot->priority_default;
	priority = snapshot->by_pcp[parsed_pcp(parsed)];
	return ip ? priority : lossy(snapshot, priority);
}

bool classify_other(struct worker *worker, struct burst *burst, uint32_t i,
		    const struct port_table *port)
{
	const struct parsed *parsed = &burst->parsed[i];

	if (parsed->length > port->frame_bytes_max) {
		counter_add(&worker->port_counters[burst->port].rx_bytes, parsed->length);
		burst_drop(worker, burst, i, DROP_TOO_LONG);
		return false;
	}
	if (parsed->kind == KIND_MAC_CONTROL && port->mode != PORT_MODE_CPU) {
		/* It is no data, and in none of its counters. */
		counter_add(&worker->port_counters[burst->port].rx_bytes, parsed->length);
		pfc_receive(worker, burst, i);
		return false;
	}
	burst->priority[i] = classify_priority(burst->snapshot, port, parsed);
	return true;
}

void classifier_end(struct worker *worker, uint16_t port, const struct classifier *classifier)
{
	uint32_t total = 0;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct queue_counters *counters = worker_queue_counters(worker, port, p);

		if (classifier->arrived[p].packets == 0)
			continue;
		counter_add(&counters->rx_packets, classifier->arrived[p].packets);
		counter_add(&counters->rx_bytes, classifier->arrived[p].bytes);
		total += classifier->arrived[p].bytes;
	}
	counter_add(&worker->port_counters[port].rx_bytes, total);
}
