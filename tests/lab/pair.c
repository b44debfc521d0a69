/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/pair.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tests/lab/harness.h"
#include "tools/lab/allocate.h"

static struct pair *pair_of(struct node *node)
{
	return (struct pair *)(void *)((char *)node - offsetof(struct pair, between));
}

static void pair_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port;
}

static void pair_read(struct pair *pair, struct rte_mbuf *packet, uint8_t from,
		      struct pair_frame *frame)
{
	struct frame_view view;
	bool data = false;

	*frame = (struct pair_frame){
		.time_ps = pair_now_ps(pair),
		.from = from,
		.opcode = PAIR_PAUSE,
		.length = packet_length(packet),
	};
	if (frame_read(packet, &view)) {
		data = frame_is_data(view.opcode);
		frame->opcode = view.opcode;
		frame->syndrome = view.syndrome;
		frame->tos = view.tos;
		frame->ack_request = view.ack_request;
		frame->becn = view.becn;
		frame->queue_pair = view.queue_pair;
		frame->psn = view.psn;
		frame->msn = view.opcode == FRAME_ACK ? view.msn : 0;
		frame->payload_bytes = view.payload_bytes;
	} else {
		cr_assert_eq(pfc_frame_read(packet_data(packet), packet->data_len, &frame->pause),
			     PFC_FRAME_PRIORITY);
	}
	frame->number = pair->counts[from][data]++;
}

static void pair_pass(struct pair *pair, struct rte_mbuf *packet, uint8_t from)
{
	struct pair_frame frame;

	pair_read(pair, packet, from, &frame);
	frame.dropped = pair->drops != NULL && pair->drops(pair, &frame);
	if (pair->frame_count == pair->frame_size) {
		pair->frame_size = pair->frame_size == 0 ? 1024 : 2 * pair->frame_size;
		pair->frames =
			allocate_resize(pair->frames, pair->frame_size * sizeof(*pair->frames));
	}
	pair->frames[pair->frame_count++] = frame;
	if (frame.dropped) {
		rte_pktmbuf_free(packet);
		return;
	}
	if (pair->marks != NULL && pair->marks(pair, &frame))
		packet_data(packet)[15] |= 3; /* congestion experienced; hosts trust the checksum */
	wire_send(&pair->wire[2 * (1 - from) + 1], packet);
}

static uint64_t pair_between(struct node *node, uint64_t now_ps)
{
	struct pair *pair = pair_of(node);
	struct rte_mbuf *packets[32];

	for (uint8_t from = 0; from < 2; from++) {
		uint16_t count = wire_receive(&pair->wire[2 * from], packets, 32);

		cr_assert_lt(count, 32);
		for (uint16_t i = 0; i < count; i++)
			pair_pass(pair, packets[i], from);
	}
	return now_ps + TIME_IDLE_PS;
}

static const struct node_ops pair_ops = {
	.kind = "between",
	.arrive = pair_arrive,
	.run = pair_between,
};

static void pair_connect(struct pair *pair, const struct pair_params *params)
{
	const struct link_params link = {PAIR_RATE_BPS, PAIR_DELAY_PS, WIRE_OVERHEAD_BYTES};

	engine_add(pair->engine, &pair->between, &pair_ops);
	for (uint8_t i = 0; i < 2; i++) {
		struct host_params host = {
			.name = i == 0 ? "sender" : "receiver",
			.pool = harness_pool(),
			.mac = {2, 0, 0, 0, 0, (uint8_t)(i + 1)},
			.ip = {10, 0, 0, (uint8_t)(i + 1)},
			.prefix_length = 24,
			.cnp_priority = 6,
			.cnp_tos = 48 << 2,
		};

		if (i == 1)
			host.receive_buffer = params->receive_buffer;
		host_init(&pair->host[i], pair->engine, &host, &pair->traffic);
		wire_init(&pair->wire[2 * i], pair->engine, &link, &pair->between, i);
		wire_init(&pair->wire[2 * i + 1], pair->engine, &link, &pair->host[i].node, 0);
		host_attach(&pair->host[i], &pair->wire[2 * i], &pair->wire[2 * i + 1]);
	}
}

struct pair *pair_create(const struct pair_params *params)
{
	struct pair *pair = allocate(sizeof(*pair));
	struct flow_params flow = {
		.name = "flow",
		.source = &pair->host[0],
		.destination = &pair->host[1],
		.bytes = params->bytes,
		.released_bytes = params->unreleased ? 0 : params->bytes,
		.rate_bps = params->rate_bps != 0 ? params->rate_bps : PAIR_RATE_BPS,
		.start_ps = UINT64_MAX - PS_PER_US,
		.payload_bytes = params->payload_bytes != 0 ? params->payload_bytes : 1024,
		.overhead_bytes = WIRE_OVERHEAD_BYTES,
		.transport = &pair->traffic.transport,
		.tos = 26 << 2 | 2,
		.priority = 3,
		.source_port = 50000,
		.psn = params->psn,
	};

	pair->engine = engine_create(UINT64_MAX - PS_PER_US);
	pair->traffic.transport = params->transport;
	pair->traffic.flows = pair->flow;
	pair->traffic.flow_count = params->flows == 0 ? 1 : params->flows;
	pair->cc = (struct cc_params){
		.kind = params->cc,
		.dcqcn = *dcqcn_preset(DCQCN_HPCC),
		.dctcp = {.gain_q30 = DCQCN_ONE_Q30 / 16},
	};
	pair_connect(pair, params);
	for (uint32_t i = 0; i < pair->traffic.flow_count; i++) {
		flow_init(&pair->flow[i], i, &flow);
		flow_control(&pair->flow[i], &pair->cc);
		host_start(&pair->host[0], &pair->flow[i]);
	}
	return pair;
}

void pair_free(struct pair *pair)
{
	for (uint32_t i = 0; i < 4; i++)
		wire_fini(&pair->wire[i]);
	for (uint32_t i = 0; i < 2; i++)
		host_fini(&pair->host[i]);
	for (uint32_t i = 0; i < pair->traffic.flow_count; i++)
		flow_fini(&pair->flow[i]);
	traffic_fini(&pair->traffic);
	engine_free(pair->engine);
	free(pair->frames);
	free(pair);
	harness_check_pool();
}

uint64_t pair_now_ps(const struct pair *pair)
{
	return pair->engine->now_ps - pair->engine->start_ps;
}

void pair_run(struct pair *pair, uint64_t time_ps)
{
	cr_assert_eq(engine_run(pair->engine, pair->engine->start_ps + time_ps), 0);
	cr_assert_eq(pair->traffic.pool_empty, 0);
}

uint32_t pair_count(const struct pair *pair, uint8_t from, uint8_t opcode)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pair->frame_count; i++)
		count += pair->frames[i].from == from && pair->frames[i].opcode == opcode;
	return count;
}

const struct pair_frame *pair_frame(const struct pair *pair, uint8_t from, uint8_t opcode,
				    uint32_t n)
{
	for (uint32_t i = 0; i < pair->frame_count; i++)
		if (pair->frames[i].from == from && pair->frames[i].opcode == opcode && n-- == 0)
			return &pair->frames[i];
	cr_assert_fail("host %u sent too few frames of opcode 0x%02x", from, opcode);
	return NULL;
}

void pair_check_complete(const struct pair *pair, const struct flow *flow)
{
	cr_expect(flow->finished);
	cr_expect_eq(flow->received_bytes, flow->params.bytes, "%" PRIu64 " of %" PRIu64,
		     flow->received_bytes, flow->params.bytes);
	cr_expect_eq(flow->sent_bytes, flow->params.bytes);
	cr_expect_eq(flow->acked.offset_bytes, flow->params.bytes);
	cr_expect_eq(flow->acked.psn, flow->psn_expected);
	cr_expect_eq(flow->psn_top, flow->psn_expected);
	cr_expect_eq(pair->traffic.flows_open, 0);
}
