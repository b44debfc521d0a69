/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/flow.h"

#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/host/host.h"
#include "tools/lab/host/notification.h"
#include "tools/lab/topology.h"

/* A connection has the same queue pair number at both ends here. */
static void reply_init(struct flow *flow)
{
	const struct transport_params *transport = flow->params.transport;
	struct frame_path path;

	host_path(flow->params.destination, flow->params.source, &path);
	memcpy(flow->reply_mac, path.destination_mac, sizeof(flow->reply_mac));
	flow->ack_tos = flow->params.tos;
	flow->ack_priority = flow->params.priority;
	if (transport->ack_dscp_given) {
		flow->ack_tos = (uint8_t)(transport->ack_dscp << 2 | (flow->params.tos & 3));
		flow->ack_priority = transport->ack_priority;
	}
}

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
	flow->send_ps = params->start_ps;
	flow->released_bytes = params->released_bytes;
	flow->watch_bytes = UINT64_MAX;
	flow->pace = wire_rate_of(params->rate_bps);
	flow->next.psn = params->psn;
	flow->acked = flow->next;
	flow->psn_top = params->psn;
	flow->psn_asked = params->psn - 1;
	flow->psn_expected = params->psn;
	flow->latency_min_ps = UINT64_MAX;
	reply_init(flow);
	flow_window(flow);
}

static void notification_path(const struct flow *flow, uint8_t cnp_tos, struct frame_path *path)
{
	*path = (struct frame_path){
		.family = 4,
		.tos = cnp_tos,
		.source_port = flow->params.source_port,
		.queue_pair = FLOW_QUEUE_PAIR + flow->id,
		.becn = true,
	};
	host_path(flow->params.destination, flow->params.source, path);
}

struct notification *flow_notification(struct flow *flow, uint8_t cnp_tos)
{
	struct frame_path path;

	if (flow->notification == NULL) {
		flow->notification = allocate(sizeof(*flow->notification));
		notification_path(flow, cnp_tos, &path);
		notification_init(flow->notification, &path);
	}
	return flow->notification;
}

void flow_connect(struct flow *flow)
{
	struct frame_path path;

	flow->psn_expected = flow->params.psn;
	flow->msn = 0;
	flow->gap = false;
	flow->nak = false;
	flow->marked = false;
	reply_init(flow);
	if (flow->notification != NULL) {
		notification_path(flow, flow->params.destination->params.cnp_tos, &path);
		frame_template_init(&flow->notification->template, &path);
	}
}

void flow_window(struct flow *flow)
{
	uint64_t window_bytes = flow->params.transport->window_bytes;

	if (window_bytes == 0)
		window_bytes = UINT64_MAX;
	if (flow->cc != NULL && flow->cc->window_bytes < window_bytes)
		window_bytes = flow->cc->window_bytes;
	flow->window_bytes = window_bytes;
}

void flow_control(struct flow *flow, const struct cc_params *cc)
{
	struct cc_limits limits = {
		.link_bps = flow->params.source->tx->rate.rate_bps,
		.most_bps = flow->params.rate_bps,
		.payload_bytes = flow->params.payload_bytes,
	};

	flow->cc = cc_create(cc, &limits);
	flow->reacts = flow->cc->ops->sent != NULL;
	flow->pace = wire_rate_of(flow->cc->rate_bps);
	flow_window(flow);
}

void flow_fini(struct flow *flow)
{
	cc_free(flow->cc);
	free(flow->notification);
	if (flow->ends != NULL)
		free(flow->ends->end_bytes);
	free(flow->ends);
	flow->ends = NULL;
	flow->cc = NULL;
	flow->notification = NULL;
}

static void flow_pace_set(struct flow *flow)
{
	if (flow->pace.rate_bps != flow->cc->rate_bps)
		flow->pace = wire_rate_of(flow->cc->rate_bps);
}

void flow_pace(struct flow *flow, uint32_t bytes, uint64_t now_ps)
{
	uint64_t rise_ps = flow->cc->ops->sent(flow->cc, bytes, now_ps);

	flow_pace_set(flow);
	flow->send_ps += wire_rate_time_ps(&flow->pace, bytes + flow->params.overhead_bytes);
	if (time_after(now_ps, flow->send_ps))
		flow->send_ps = now_ps;
	flow->due_ps = time_min(flow->send_ps, rise_ps);
}

void flow_wait(struct flow *flow, uint64_t now_ps)
{
	uint64_t rise_ps = flow->cc->ops->advance(flow->cc, now_ps);
	uint64_t left_ps = flow->send_ps - now_ps;

	if (flow->cc->rate_bps > flow->pace.rate_bps)
		flow->send_ps = now_ps + (uint64_t)((unsigned __int128)left_ps *
						    flow->pace.rate_bps / flow->cc->rate_bps);
	flow_pace_set(flow);
	flow->due_ps = time_min(flow->send_ps, rise_ps);
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
	/* Only writes say where to. */
	uint32_t first = flow->params.transport->sends ? 0 : FRAME_RETH_BYTES;
	uint32_t last = message % payload != 0 ? message % payload : payload;
	bool only = message <= payload;

	train->count = flow_packets(flow->params.bytes, payload);
	train->frame_bytes = frame_length(&flow->template, FRAME_WRITE_MIDDLE, payload) + overhead;
	train->last_bytes = frame_length(&flow->template, FRAME_WRITE_LAST, last) +
			    (only ? first : 0) + overhead;
	/* The first packet of each message is longer. */
	train->extra_bytes = (only ? messages - 1 : messages) * first;
}
