/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * classify - which of the eight priorities a packet belongs to.
 *
 * By DSCP (upper six bits of the traffic class; the ECN bits never classify), by PCP, or not at
 * all, as the ingress port is trusted. What isn't IP never enters a lossless class, nor does what
 * comes from a port that isn't trusted or from the kernel.
 */
#include "dataplane/internal.h"

static inline uint8_t lossy(const struct snapshot *snapshot, uint8_t priority)
{
	return (snapshot->lossless_mask >> priority & 1) != 0 ? snapshot->priority_default
							      : priority;
}

static inline uint8_t classify(const struct snapshot *snapshot, const struct port_table *port,
			       const struct parsed *parsed)
{
	bool ip = (parsed->kind & KIND_IP_MASK) != 0;

	if (likely(port->mode != PORT_MODE_CPU && port->trust == PORT_TRUST_DSCP))
		return ip ? snapshot->by_dscp[parsed->traffic_class >> 2]
			  : snapshot->priority_default;
	if (port->mode == PORT_MODE_CPU)
		return ip ? lossy(snapshot, snapshot->by_dscp[parsed->traffic_class >> 2])
			  : snapshot->priority_control;
	if (port->trust == PORT_TRUST_PCP && (parsed->flags & PARSED_TAGGED) != 0) {
		uint8_t priority = snapshot->by_pcp[parsed->pcp];

		return ip ? priority : lossy(snapshot, priority);
	}
	return snapshot->priority_default;
}

uint32_t classify_burst(struct worker *worker, struct burst *burst, uint32_t packets)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct port_table *port = &snapshot->port[burst->port];
	uint32_t long_mask = 0;
	uint32_t run_packets = 0, run_bytes = 0;
	uint8_t run_priority = 0;

	/* Counters are touched once per run of packets of one priority. */
	for (uint32_t rest = packets; rest != 0; rest &= rest - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(rest);
		uint32_t length = packet_length(burst->packet[i]);
		uint8_t priority = classify(snapshot, port, &burst->parsed[i]);

		if (unlikely(length > port->frame_bytes_max)) {
			long_mask |= UINT32_C(1) << i;
			continue;
		}
		burst->priority[i] = priority;
		if (priority != run_priority && run_packets != 0) {
			struct queue_counters *counters =
				worker_queue_counters(worker, burst->port, run_priority);

			counter_add(&counters->rx_packets, run_packets);
			counter_add(&counters->rx_bytes, run_bytes);
			run_packets = run_bytes = 0;
		}
		run_priority = priority;
		run_packets++;
		run_bytes += length;
	}
	if (run_packets != 0) {
		struct queue_counters *counters =
			worker_queue_counters(worker, burst->port, run_priority);

		counter_add(&counters->rx_packets, run_packets);
		counter_add(&counters->rx_bytes, run_bytes);
	}
	for (uint32_t rest = long_mask; rest != 0; rest &= rest - 1)
		burst_drop(worker, burst, (uint32_t)__builtin_ctz(rest), DROP_TOO_LONG);
	return packets & ~long_mask;
}
