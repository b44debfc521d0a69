/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/stand.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ether.h>
#include <rte_mbuf.h>

#include "config/headroom.h"
#include "control/apply.h"
#include "dataplane/ecn.h"
#include "dataplane/packet.h"
#include "dataplane/parse.h"
#include "dataplane/snapshot.h"
#include "tools/lab/allocate.h"
#include "tools/lab/flow.h"

#define HEADER_BYTES 58u /* Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4 */

static const uint8_t router_mac[6] = {2, 0, 0, 0, 0, 1};

/* --- pauses from the leaf --- */

/*
 * Byte by byte as IEEE 802.1Q clause 36 and 802.3 annex 31D draw it: 01-80-C2-00-00-01, the port's own
 * address, 0x8808, 0x0101, a vector whose first byte is reserved, eight times, and zeros up to 60
 * bytes (64 with the FCS). A time is given only for a priority in the vector.
 */
static bool is_as_drawn(const struct blaster *blaster, struct rte_mbuf *packet)
{
	static const uint8_t destination[6] = {0x01, 0x80, 0xc2, 0, 0, 0x01};
	static const uint8_t type[5] = {0x88, 0x08, 0x01, 0x01, 0};
	const uint8_t *mac = blaster->stand->rig->leaf->io[blaster->port].io.mac;
	const uint8_t *data = packet_data(packet), *times = data + 18;

	if (packet_length(packet) != 60 || packet->data_len != 60 || data[17] == 0 ||
	    memcmp(data, destination, 6) != 0 || memcmp(data + 6, mac, 6) != 0 ||
	    memcmp(data + 12, type, 5) != 0 || (data[6] & 1) != 0 ||
	    rte_is_zero_ether_addr((const struct rte_ether_addr *)(data + 6)))
		return false;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if ((data[17] >> p & 1) == 0 && (times[2 * p] | times[2 * p + 1]) != 0)
			return false;
	for (uint32_t i = 18 + 2 * PRIORITY_COUNT; i < 60; i++)
		if (data[i] != 0)
			return false;
	return true;
}

static void hear(struct blaster *blaster, const struct pfc_frame *frame, uint64_t now_ps)
{
	struct stand_heard *heard = &blaster->heard[blaster->heard_tail++ % STAND_HEARD];

	cr_assert_leq(blaster->heard_tail - blaster->heard_head, STAND_HEARD);
	*heard = (struct stand_heard){now_ps + blaster->response_ps, *frame};
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		if ((frame->enabled >> p & 1) == 0)
			continue;
		if (frame->quanta[p] != 0)
			blaster->xoffs[p]++;
		else
			blaster->xons[p]++;
	}
}

/* @return when the next thing happens */
static uint64_t obey(struct blaster *blaster, uint64_t now_ps)
{
	uint64_t due_ps = now_ps + TIME_IDLE_PS;

	while (blaster->heard_head != blaster->heard_tail) {
		const struct stand_heard *heard =
			&blaster->heard[blaster->heard_head % STAND_HEARD];

		if (time_after(heard->due_ps, now_ps)) {
			due_ps = heard->due_ps;
			break;
		}
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			if ((heard->frame.enabled >> p & 1) != 0)
				blaster->paused_until_ps[p] =
					now_ps + pfc_quanta_ps(heard->frame.quanta[p],
							       blaster->tx->rate.rate_bps);
		blaster->paused |= heard->frame.enabled;
		blaster->heard_head++;
	}
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		if ((blaster->paused >> p & 1) == 0)
			continue;
		if (time_after(blaster->paused_until_ps[p], now_ps))
			due_ps = time_min(due_ps, blaster->paused_until_ps[p]);
		else
			blaster->paused &= (uint8_t) ~(1u << p);
	}
	return due_ps;
}

/* --- pauses to the leaf --- */

/* A pause reaches the leaf at from_ps. */
static void window_note(struct blaster *blaster, uint32_t priority, uint64_t from_ps,
			uint64_t length_ps)
{
	uint32_t last = blaster->windows[priority];
	struct stand_window *window =
		&blaster->window[priority][(last + STAND_WINDOWS - 1) % STAND_WINDOWS];

	if (last != 0 && !time_after(from_ps, window->until_ps)) {
		window->until_ps = from_ps + length_ps;
		return;
	}
	if (length_ps == 0)
		return;
	blaster->window[priority][last % STAND_WINDOWS] =
		(struct stand_window){from_ps, from_ps + length_ps};
	blaster->windows[priority]++;
}

static bool window_covers(const struct blaster *blaster, uint32_t priority, uint64_t time_ps)
{
	uint32_t count = blaster->windows[priority];

	for (uint32_t i = 0; i < STAND_WINDOWS && i < count; i++) {
		const struct stand_window *window = &blaster->window[priority][i];

		if (time_after(time_ps, window->from_ps) && time_after(window->until_ps, time_ps))
			return true;
	}
	return false;
}

static void send_pause(struct blaster *blaster, const struct pfc_frame *frame)
{
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 0xfe};
	struct rte_mbuf *packet = rte_pktmbuf_alloc(harness_pool());
	uint64_t reached_ps;

	cr_assert_not_null(packet);
	pfc_frame_write((uint8_t *)rte_pktmbuf_append(packet, PFC_FRAME_BYTES), mac, frame);
	packet_virtual_bytes_set(packet, 0);
	wire_send(blaster->tx, packet);
	blaster->sent_frames++;
	reached_ps = blaster->tx->free_ps + blaster->tx->delay_ps;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if ((frame->enabled >> p & 1) != 0)
			window_note(blaster, p, reached_ps,
				    pfc_quanta_ps(frame->quanta[p], blaster->tx->rate.rate_bps));
}

/* The wire is free. @return true: something was sent */
static bool storm_send(struct blaster *blaster, uint64_t now_ps)
{
	struct stand_storm *storm = &blaster->storm;

	if (!storm->on || time_after(storm->next_ps, now_ps))
		return false;
	if (time_after(storm->until_ps, now_ps)) {
		send_pause(blaster, &storm->frame);
		storm->next_ps = time_min(now_ps + storm->interval_ps, storm->until_ps);
		return true;
	}
	storm->on = false;
	if (!storm->ends_with_xon)
		return false;
	memset(storm->frame.quanta, 0, sizeof(storm->frame.quanta));
	send_pause(blaster, &storm->frame);
	return true;
}

/* --- sending --- */

static bool stream_over(const struct stream *stream, uint64_t time_ps)
{
	const struct stream_params *params = &stream->params;

	return (params->stop_ps != 0 && time_ps >= params->stop_ps) ||
	       (params->bytes_max != 0 && stream->sent_bytes >= params->bytes_max);
}

/* The stream that has been due longest; of several, one after the other. */
static struct stream *pick(struct blaster *blaster)
{
	uint64_t start_ps = blaster->node.engine->start_ps;
	struct stream *first = NULL;

	for (uint32_t i = 0; i < blaster->stream_count; i++) {
		struct stream *stream = blaster->streams[i];

		if ((blaster->paused >> stream->params.priority & 1) != 0 ||
		    stream_over(stream, blaster->node.engine->now_ps - start_ps))
			continue;
		if (first == NULL || time_after(first->due_ps, stream->due_ps))
			first = stream;
	}
	return first;
}

static void stream_send(struct blaster *blaster, struct stream *stream, uint64_t now_ps)
{
	const struct stream_params *params = &stream->params;
	bool small = random_below(&blaster->random, 256) < params->small_share;
	struct rte_mbuf *packet = rte_mbuf_raw_alloc(harness_pool());
	struct frame_packet what = {
		.opcode = FRAME_WRITE_MIDDLE,
		.psn = (uint32_t)stream->sent_frames & FRAME_PSN_MASK,
		.payload_bytes = small ? params->small_bytes : params->large_bytes,
		.stamp_ps = now_ps - blaster->node.engine->start_ps,
	};
	uint32_t length;

	cr_assert_not_null(packet, "the pool is too small");
	what.payload_bytes = (what.payload_bytes - HEADER_BYTES) / 4 * 4;
	frame_build(&stream->template, packet, &what);
	length = packet_length(packet);
	stream->sent_frames++;
	stream->sent_bytes += length;
	blaster->sent_frames++;
	stream->due_ps += wire_rate_time_ps(&stream->pace, length + WIRE_OVERHEAD_BYTES);
	stream->due_ps = time_max(stream->due_ps, now_ps);
	wire_send(blaster->tx, packet);
}

/* --- receiving --- */

static void stream_receive(struct blaster *blaster, struct stream *stream,
			   const struct frame_view *view, uint32_t length, uint64_t now_ps)
{
	uint64_t began_ps = now_ps - blaster->rx->delay_ps;
	struct wire_rate rate = blaster->rx->rate;
	uint32_t ahead = (view->psn - stream->psn_expected) & FRAME_PSN_MASK;

	rate.remainder = 0;
	began_ps -= wire_rate_time_ps(&rate, length + WIRE_OVERHEAD_BYTES);
	if (window_covers(blaster, stream->params.priority, began_ps))
		blaster->early_frames++;
	if (ahead <= FRAME_PSN_MASK / 2)
		stream->psn_expected = (view->psn + 1) & FRAME_PSN_MASK;
	else
		stream->misordered++;
	stream->received_frames++;
	stream->received_bytes += length;
	stream->received_ce_frames += (view->tos & 3) == ECN_CE;
	if (blaster->stand->seen != NULL)
		blaster->stand->seen(blaster->stand, stream, view);
	if (view->stamped) {
		uint64_t latency_ps = now_ps - blaster->node.engine->start_ps - view->stamp_ps;

		if (latency_ps > stream->latency_max_ps)
			stream->latency_max_ps = latency_ps;
	}
}

static void take(struct blaster *blaster, struct rte_mbuf *packet, uint64_t now_ps)
{
	struct stand *stand = blaster->stand;
	const uint8_t *data = packet_data(packet);
	struct frame_view view;
	struct pfc_frame frame;

	blaster->received_frames++;
	if (frame_read(packet, &view)) {
		uint32_t id = view.queue_pair - FLOW_QUEUE_PAIR;

		cr_assert_lt(id, stand->stream_count);
		cr_assert_eq(stand->stream[id].params.to, blaster->port);
		stream_receive(blaster, &stand->stream[id], &view, packet_length(packet), now_ps);
	} else if (packet->data_len >= 14 && data[12] == 0x88 && data[13] == 0x08 &&
		   pfc_frame_read(data, packet->data_len, &frame) == PFC_FRAME_PRIORITY) {
		blaster->pause_frames++;
		if (!is_as_drawn(blaster, packet))
			blaster->misdrawn_frames++;
		hear(blaster, &frame, now_ps);
	} else {
		blaster->stray_frames++;
	}
	rte_pktmbuf_free(packet);
}

static void blaster_arrive(struct node *node, uint16_t port)
{
	(void)port;
	((struct blaster *)node)->arrived = true;
}

static uint64_t blaster_run(struct node *node, uint64_t now_ps)
{
	struct blaster *blaster = (struct blaster *)node;
	struct rte_mbuf *packet;
	struct stream *stream;
	uint64_t due_ps;

	if (blaster->arrived) {
		blaster->arrived = false;
		while (wire_receive(blaster->rx, &packet, 1) == 1)
			take(blaster, packet, now_ps);
	}
	if (blaster->down)
		return now_ps + TIME_IDLE_PS;
	due_ps = obey(blaster, now_ps);
	if (wire_free(blaster->tx) && !storm_send(blaster, now_ps)) {
		stream = pick(blaster);
		if (stream != NULL && !time_after(stream->due_ps, now_ps))
			stream_send(blaster, stream, now_ps);
	}
	if (blaster->storm.on)
		due_ps = time_min(due_ps, time_max(blaster->storm.next_ps, blaster->tx->free_ps));
	stream = pick(blaster);
	if (stream != NULL)
		due_ps = time_min(due_ps, time_max(stream->due_ps, blaster->tx->free_ps));
	return time_max(due_ps, now_ps + 1);
}

static const struct node_ops blaster_ops = {"blaster", blaster_arrive, blaster_run};

static void wake(struct stand *stand, uint16_t port)
{
	engine_wake(stand->rig->engine, &stand->blaster[port].node, stand->rig->engine->now_ps);
}

/* --- the stand --- */

/* As slow as its headroom allows. */
static uint64_t response_of(const struct config_port *port)
{
	switch (port->peer_response) {
	case CONFIG_RESPONSE_STANDARD:
		return headroom_time_ps(port->speed_bps, headroom_response_quanta(port->speed_bps) *
								 PAUSE_QUANTUM_BITS / 8);
	case CONFIG_RESPONSE_TIME:
		return port->peer_response_ps;
	case CONFIG_RESPONSE_ROCELEAF:
		break;
	}
	return 0;
}

struct stand *stand_create(const struct stand_params *params)
{
	struct stand *stand = allocate(sizeof(*stand));
	char text[STAND_TEXT_MAX];
	struct rig *rig;

	stand_yaml(params, text);
	rig = rig_open(text, params->packets != 0 ? params->packets : HARNESS_PACKETS / 2);
	stand->rig = rig;
	for (uint16_t i = 0; i < params->ports; i++) {
		struct blaster *blaster = &stand->blaster[i];

		blaster->stand = stand;
		blaster->port = i;
		blaster->random = random_of(1, RANDOM_PATTERN, i);
		blaster->response_ps = response_of(&rig->config->ports[i]);
		engine_add(rig->engine, &blaster->node, &blaster_ops);
		rig_plug(rig, i, &blaster->node, cable_delay_ps(rig->config->ports[i].cable_mm));
		blaster->tx = &rig->wire[2 * i];
		blaster->rx = &rig->wire[2 * i + 1];
	}
	cr_assert_eq(rig_publish(rig), 0, "%s", rte_strerror(rte_errno));
	return stand;
}

void stand_free(struct stand *stand)
{
	rig_free(stand->rig);
	free(stand);
}

int stand_reload(struct stand *stand, const struct stand_params *params)
{
	char text[STAND_TEXT_MAX];

	stand_yaml(params, text);
	return rig_reload(stand->rig, text);
}

void stand_link(struct stand *stand, uint16_t port, bool up)
{
	struct blaster *blaster = &stand->blaster[port];

	stand->rig->link_down[port] = !up;
	cr_assert_eq(rig_publish(stand->rig), 0);
	/* It can't send, and whatever was said is forgotten. */
	blaster->down = !up;
	blaster->paused = 0;
	blaster->heard_head = blaster->heard_tail;
	memset(blaster->windows, 0, sizeof(blaster->windows));
	if (up) {
		/* In half of the time between two. */
		blaster->storm.next_ps =
			stand->rig->engine->now_ps + blaster->storm.interval_ps / 2;
		wake(stand, port);
	}
}

static const uint8_t codepoints[] = {
	[STAND_ECT0] = ECN_ECT0,
	[STAND_ECT1] = ECN_ECT1,
	[STAND_NOT_ECT] = ECN_NOT_ECT,
	[STAND_CE] = ECN_CE,
};

/* The lowest of the class with this priority. */
static uint8_t dscp_of(const struct stand *stand, uint8_t priority)
{
	const struct config *config = stand->rig->config;

	for (uint32_t i = 0; i < config->class_count; i++)
		if (config->classes[i].priority == priority && config->classes[i].dscp != 0)
			return (uint8_t)__builtin_ctzll(config->classes[i].dscp);
	cr_assert_fail("no class has priority %u", priority);
	return 0;
}

struct stream *stand_stream(struct stand *stand, const struct stream_params *params)
{
	struct blaster *blaster = &stand->blaster[params->from];
	struct frame_path path = {
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_mac = {2, 0, 0, 0, 1, (uint8_t)params->from},
		.family = 4,
		.tos = (uint8_t)(dscp_of(stand, params->priority) << 2 | codepoints[params->ecn]),
		.source_ip = {10, 0, (uint8_t)params->from, 2},
		.destination_ip = {10, 0, (uint8_t)params->to, 2},
		.queue_pair = FLOW_QUEUE_PAIR + stand->stream_count,
	};
	struct stream *stream = &stand->stream[stand->stream_count];

	cr_assert_lt(stand->stream_count, STAND_STREAMS_MAX);
	memcpy(path.destination_mac, router_mac, sizeof(router_mac));
	path.source_port = (uint16_t)(50000 + stand->stream_count);
	stream->params = *params;
	if (params->small_bytes == 0)
		stream->params.small_bytes = STAND_FRAME_MIN;
	stream->id = stand->stream_count++;
	frame_template_init(&stream->template, &path);
	stream->pace =
		wire_rate_of(params->rate_bps != 0 ? params->rate_bps : blaster->tx->rate.rate_bps);
	stream->due_ps = stand->rig->engine->start_ps + params->start_ps;
	blaster->streams[blaster->stream_count++] = stream;
	engine_wake(stand->rig->engine, &blaster->node,
		    time_max(stream->due_ps, stand->rig->engine->now_ps));
	return stream;
}

struct stream *stand_flow(struct stand *stand, uint16_t from, uint16_t to, uint8_t priority,
			  uint32_t mbps)
{
	return stand_stream(stand, &(struct stream_params){.from = from,
							   .to = to,
							   .priority = priority,
							   .rate_bps = mbps * UINT64_C(1000000),
							   .start_ps = stand_now_ps(stand),
							   .large_bytes = STAND_FRAME});
}

void stand_stop(struct stand *stand, struct stream *stream)
{
	uint64_t now_ps = stand_now_ps(stand);

	stream->params.stop_ps = now_ps != 0 ? now_ps : 1;
}

void stand_restart(struct stand *stand, struct stream *stream)
{
	stream->params.stop_ps = 0;
	stream->due_ps = stand->rig->engine->now_ps;
	wake(stand, stream->params.from);
}

void stand_stop_all(struct stand *stand)
{
	for (uint32_t i = 0; i < stand->stream_count; i++)
		if (!stream_over(&stand->stream[i], stand_now_ps(stand)))
			stand_stop(stand, &stand->stream[i]);
}

void stand_run(struct stand *stand, uint64_t until_ps)
{
	rig_run(stand->rig, until_ps);
}

uint64_t stand_now_ps(const struct stand *stand)
{
	return stand->rig->engine->now_ps - stand->rig->engine->start_ps;
}

void stand_run_for(struct stand *stand, uint64_t time_ps)
{
	stand_run(stand, stand_now_ps(stand) + time_ps);
}

void stand_storm(struct stand *stand, uint16_t port, uint8_t priorities, uint64_t until_ps,
		 bool ends_with_xon)
{
	struct blaster *blaster = &stand->blaster[port];
	struct stand_storm *storm = &blaster->storm;

	*storm = (struct stand_storm){
		.on = true,
		.frame = {.enabled = priorities},
		.next_ps = stand->rig->engine->now_ps,
		.until_ps = stand->rig->engine->start_ps + until_ps,
		.interval_ps = pfc_quanta_ps(PFC_QUANTA_MAX, blaster->tx->rate.rate_bps) / 2,
		.ends_with_xon = ends_with_xon,
	};
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if ((priorities >> p & 1) != 0)
			storm->frame.quanta[p] = PFC_QUANTA_MAX;
	wake(stand, port);
}

void stand_pause(struct stand *stand, uint16_t port, const struct pfc_frame *frame)
{
	struct blaster *blaster = &stand->blaster[port];

	blaster->storm = (struct stand_storm){
		.on = true,
		.frame = *frame,
		.next_ps = stand->rig->engine->now_ps,
		.until_ps = stand->rig->engine->now_ps + PS_PER_S,
		.interval_ps = 2 * PS_PER_S,
	};
	wake(stand, port);
}
