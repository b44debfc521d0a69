/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/flow.h"

#include <string.h>

#include "tools/lab/host.h"
#include "tools/lab/topology.h"

void flow_init(struct flow *flow, uint32_t id, const struct flow_params *params)
{
	struct frame_path path = {
		.family = 4,
		.tos = params->tos,
		.source_port = params->source_port,
		.queue_pair = FLOW_QUEUE_PAIR + id,
	};

	memset(flow, 0, sizeof(*flow));
	flow->id = id;
	flow->params = *params;
	host_path(params->source, params->destination, &path);
	frame_template_init(&flow->template, &path);
	flow->due_ps = params->start_ps;
	flow->bytes_left = params->bytes != 0 ? params->bytes : UINT64_MAX;
	flow->pace = wire_rate_of(params->rate_bps);
	flow->psn = params->psn;
	flow->psn_expected = params->psn;
	flow->latency_min_ps = UINT64_MAX;
}

uint64_t flow_packets(uint64_t bytes, uint32_t payload_bytes)
{
	uint64_t packets = FLOW_MESSAGE_BYTES / payload_bytes +
			   (FLOW_MESSAGE_BYTES % payload_bytes != 0 ? 1 : 0);
	uint64_t rest = bytes % FLOW_MESSAGE_BYTES;

	return bytes / FLOW_MESSAGE_BYTES * packets + (rest + payload_bytes - 1) / payload_bytes;
}

void flow_train(const struct flow *flow, struct topology_train *train)
{
	uint32_t payload = flow->params.payload_bytes, overhead = flow->params.overhead_bytes;
	uint64_t messages = (flow->params.bytes + FLOW_MESSAGE_BYTES - 1) / FLOW_MESSAGE_BYTES;
	uint32_t message = (uint32_t)(flow->params.bytes - (messages - 1) * FLOW_MESSAGE_BYTES);
	uint32_t last = message % payload != 0 ? message % payload : payload;
	bool only = message <= payload;

	train->count = flow_packets(flow->params.bytes, payload);
	train->frame_bytes = frame_length(&flow->template, FRAME_WRITE_MIDDLE, payload) + overhead;
	train->last_bytes =
		frame_length(&flow->template, only ? FRAME_WRITE_ONLY : FRAME_WRITE_LAST, last) +
		overhead;
	/* The first packet of each message is longer. */
	train->extra_bytes = (only ? messages - 1 : messages) * FRAME_RETH_BYTES;
}
