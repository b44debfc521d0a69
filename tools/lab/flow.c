/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/flow.h"

#include <string.h>

#include "tools/lab/host.h"

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

/* Of one message. */
static uint64_t message_wire_bytes(const struct flow *flow, uint32_t bytes)
{
	uint32_t payload = flow->params.payload_bytes, overhead = flow->params.overhead_bytes;
	uint32_t middle, last;

	if (bytes == 0)
		return 0;
	if (bytes <= payload)
		return frame_length(&flow->template, FRAME_WRITE_ONLY, bytes) + overhead;
	last = bytes % payload != 0 ? bytes % payload : payload;
	middle = (bytes - last) / payload - 1;
	return frame_length(&flow->template, FRAME_WRITE_FIRST, payload) + overhead +
	       (uint64_t)middle *
		       (frame_length(&flow->template, FRAME_WRITE_MIDDLE, payload) + overhead) +
	       frame_length(&flow->template, FRAME_WRITE_LAST, last) + overhead;
}

uint64_t flow_wire_bytes(const struct flow *flow)
{
	uint64_t bytes = flow->params.bytes;

	return bytes / FLOW_MESSAGE_BYTES * message_wire_bytes(flow, FLOW_MESSAGE_BYTES) +
	       message_wire_bytes(flow, (uint32_t)(bytes % FLOW_MESSAGE_BYTES));
}

uint32_t flow_frame_wire_bytes(const struct flow *flow)
{
	uint32_t payload = flow->params.payload_bytes;

	if (flow->params.bytes != 0 && flow->params.bytes < payload)
		payload = (uint32_t)flow->params.bytes;
	return frame_length(&flow->template, FRAME_WRITE_FIRST, payload) +
	       flow->params.overhead_bytes;
}
