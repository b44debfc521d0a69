/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/classify.h"

static uint8_t lossy(const struct snapshot *snapshot, uint8_t priority)
{
	return (snapshot->lossless_mask >> priority & 1) != 0 ? snapshot->priority_default
							      : priority;
}

uint8_t classify_other(const struct snapshot *snapshot, const struct port_table *port,
		       const struct parsed *parsed)
{
	bool ip = (parsed->kind & KIND_IP_MASK) != 0;
	uint8_t priority;

	if (port->mode == PORT_MODE_CPU)
		return ip ? lossy(snapshot, snapshot->by_dscp[parsed->traffic_class >> 2])
			  : snapshot->priority_control;
	if (port->trust != PORT_TRUST_PCP || (parsed->flags & PARSED_TAGGED) == 0)
		return snapshot->priority_default;
	priority = snapshot->by_pcp[parsed_pcp(parsed)];
	return ip ? priority : lossy(snapshot, priority);
}
