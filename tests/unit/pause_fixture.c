/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/pause_fixture.h"

#include <criterion/criterion.h>
#include <string.h>

#define PAUSE_BYTES  60 /* without FCS */
#define PAUSE_HEADER 18 /* destination, source, EtherType, opcode, vector */

static const uint8_t dscp_of[PRIORITY_COUNT] = {0, 8, 16, 26, 32, 40, 48, 56};

void pause_open(struct leaf_fixture *fixture, const struct pause_params *params)
{
	uint16_t ports = (uint16_t)(params->senders + 1);
	struct snapshot *snapshot;
	struct buffer_table *buffer;

	fixture_open(fixture, ports);
	snapshot = snapshot_router(fixture, ports);
	buffer = &snapshot->buffer;
	snapshot->lossless_mask = 1u << 3 | 1u << 4;
	snapshot->class[4].lossless = true;
	buffer->shared_bytes = params->shared_bytes;
	if (params->lossy_bytes != 0)
		buffer->lossy_bytes = params->lossy_bytes;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		buffer->class[p].alpha_q8 = params->alpha_q8;
		buffer->class[p].xon_offset_bytes = params->xon_offset_bytes;
	}
	for (uint16_t port = 0; port < ports; port++) {
		snapshot->port[port].pfc = PORT_PFC_SEND | PORT_PFC_HONOUR;
		snapshot->port[port].frame_bytes_max = FRAME_BYTES_MAX;
		snapshot->adjacency[port].mtu_bytes = MTU_BYTES_MAX;
		for (uint32_t p = 3; p <= 4; p++)
			buffer->pair[p * (ports + 1u) + port] = (struct buffer_pair){
				params->reserved_bytes, params->headroom_bytes};
	}
	snapshot_port_rate(snapshot, SINK, params->sink_bps != 0 ? params->sink_bps : 100 * GBPS, 0,
			   0);
	fixture_publish(fixture, snapshot);
}

struct frame pause_frame(const struct pause *pause)
{
	struct frame frame = {.size = PAUSE_BYTES};

	mac_store(frame.byte, UINT64_C(0x0180c2000001));
	mac_store(frame.byte + 6, UINT64_C(0x0200000000fe));
	store_u16(frame.byte + 12, 0x8808);
	store_u16(frame.byte + 14, 0x0101);
	store_u16(frame.byte + 16, pause->enabled);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		store_u16(frame.byte + PAUSE_HEADER + 2 * p, pause->quanta[p]);
	return frame;
}

void pause_receive(struct leaf_fixture *fixture, uint16_t port, uint8_t priority, uint16_t quanta)
{
	struct pause pause = {.enabled = (uint8_t)(1u << priority)};
	struct frame frame;

	pause.quanta[priority] = quanta;
	frame = pause_frame(&pause);
	fixture_inject(fixture, port, &frame);
	fixture_poll(fixture);
}

void pause_inject_ecn(struct leaf_fixture *fixture, uint16_t from, uint8_t priority, uint8_t ecn,
		      uint32_t bytes)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = router_peer(from),
		      .family = 4, .source = 0x0a000001 + ((uint32_t)from << 16),
		      .destination = 0x0a000001,
		      .traffic_class = (uint8_t)(dscp_of[priority] << 2 | ecn), .payload_bytes = 18,
		      .virtual_bytes = (uint16_t)(bytes - FRAME_BYTES_MIN));

	fixture_inject(fixture, from, &frame);
}

void pause_inject(struct leaf_fixture *fixture, uint16_t from, uint8_t priority, uint32_t bytes)
{
	pause_inject_ecn(fixture, from, priority, 0, bytes);
}

void pause_send(struct leaf_fixture *fixture, uint16_t from, uint8_t priority, uint32_t bytes)
{
	pause_inject(fixture, from, priority, bytes);
	fixture_poll(fixture);
}

bool pause_take(struct leaf_fixture *fixture, uint16_t port, struct pause *pause)
{
	uint8_t header[PAUSE_HEADER - 1] = {0x01, 0x80, 0xc2, 0,    0,    0x01, 0x02, 0, 0,
					    0,    0,    0,    0x88, 0x08, 0x01, 0x01, 0};
	struct frame frame;

	if (!fixture_take(fixture, port, &frame))
		return false;
	/* The memory port's address ends in its number; the vector's first byte is reserved. */
	header[10] = (uint8_t)(port >> 8);
	header[11] = (uint8_t)port;
	cr_assert_eq(frame.size + frame.virtual_bytes, PAUSE_BYTES, "%s", frame_text(&frame));
	cr_assert_eq(memcmp(frame.byte, header, sizeof(header)), 0, "%s", frame_text(&frame));
	pause->enabled = frame.byte[PAUSE_HEADER - 1];
	cr_assert_neq(pause->enabled, 0, "%s", frame_text(&frame));
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		const uint8_t *time = frame.byte + PAUSE_HEADER + 2 * p;

		pause->quanta[p] = (uint16_t)(time[0] << 8 | time[1]);
		cr_assert((pause->enabled >> p & 1) != 0 || pause->quanta[p] == 0);
	}
	for (uint32_t i = PAUSE_HEADER + 2 * PRIORITY_COUNT; i < PAUSE_BYTES; i++)
		cr_assert_eq(frame.byte[i], 0, "padding");
	return true;
}

void expect_pause(struct leaf_fixture *fixture, uint16_t port, uint8_t xoff, uint8_t xon)
{
	struct pause pause;

	cr_assert(pause_take(fixture, port, &pause), "port %u sent no pause", port);
	cr_assert_eq(pause.enabled, xoff | xon, "vector %#x", pause.enabled);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		cr_assert_eq(pause.quanta[p], (xoff >> p & 1) != 0 ? 65535 : 0);
	cr_assert_not(pause_take(fixture, port, &pause), "one is enough");
}

uint64_t pause_next(struct leaf_fixture *fixture, uint64_t until_ps, struct frame *frame)
{
	fixture_poll(fixture);
	while (!fixture_take(fixture, SINK, frame)) {
		if (time_after(fixture->due_ps, until_ps))
			return UINT64_MAX;
		fixture->now_ps = time_max(fixture->now_ps, fixture->due_ps);
		fixture_poll(fixture);
	}
	return fixture->now_ps;
}
