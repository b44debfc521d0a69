/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts as NICs: who sends when, what marks lead to, pauses that they obey and pauses that a slow one sends.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tests/lab/harness.h"
#include "tests/lab/pair.h"
#include "tools/lab/cc/cc.h"

TestSuite(host, .init = harness_start);

#define US        PS_PER_US
#define PAYLOAD   UINT64_C(1024)
/* Headers of a middle packet, and what the wire adds, at 80 ps a byte. */
#define PACKET_PS ((PAYLOAD + 58 + WIRE_OVERHEAD_BYTES) * 80)

static struct pair_params packets(uint32_t count)
{
	return (struct pair_params){
		.bytes = count * PAYLOAD,
		.transport = {.ack_every = 1, .timeout_ps = PS_PER_MS},
	};
}

#define RETH_PS (16 * 80)

/* --- sending --- */

/*
 * Goodput is the payload's share of the wire, exactly: the last byte of n packets has come n packet times, two
 * delays and one more packet time after the start. The first packet says where to write, and all others are
 * later by that on either wire.
 */
Test(host, one_flow_at_line_rate_takes_its_packets_time_to_the_picosecond)
{
	static const uint32_t every[] = {0, 1, 4};

	for (uint32_t i = 0; i < 3; i++) {
		struct pair_params params = packets(1000);
		struct pair *pair;

		params.transport.ack_every = every[i];
		pair = pair_create(&params);
		pair_run(pair, 200 * US);
		cr_assert(pair->flow[0].finished);
		cr_expect_eq(pair->flow[0].finished_ps - pair->flow[0].params.start_ps,
			     1000 * PACKET_PS + 2 * RETH_PS + 2 * PAIR_DELAY_PS + PACKET_PS,
			     "ack_every %u: %" PRIu64, every[i],
			     pair->flow[0].finished_ps - pair->flow[0].params.start_ps);
		pair_free(pair);
	}
}

Test(host, flows_that_want_the_whole_link_take_turns_packet_by_packet)
{
	struct pair_params params = packets(100);
	struct pair *pair;
	uint32_t last[3] = {0};

	params.flows = 3;
	pair = pair_create(&params);
	pair_run(pair, 30 * US);
	for (uint32_t i = 0, n = 0; i < pair->frame_count; i++) {
		if (pair->frames[i].from == 1)
			continue;
		cr_expect_eq(pair->frames[i].queue_pair, FLOW_QUEUE_PAIR + n % 3);
		cr_expect_eq(pair->frames[i].psn, last[n % 3]++);
		n++;
	}
	cr_expect_gt(last[2], 50);
	pair_free(pair);
}

/* W bytes a round trip: the packet that fills the window asks to be acknowledged, whatever ack_every says. */
Test(host, a_window_bounds_what_is_outstanding)
{
	struct pair_params params = packets(200);
	uint64_t round_ps = 4 * PAIR_DELAY_PS + 2 * PACKET_PS + 2 * 86 * 80, finish_ps;
	struct pair *pair;

	params.transport.ack_every = 1000;
	params.transport.window_bytes = 10 * PAYLOAD;
	pair = pair_create(&params);
	for (uint64_t t = 0; t < 200; t++) {
		const struct flow *flow = &pair->flow[0];

		pair_run(pair, t * US / 4);
		cr_expect_leq(flow->next.offset_bytes - flow->acked.offset_bytes, 10 * PAYLOAD);
	}
	pair_run(pair, 200 * US);
	pair_check_complete(pair, &pair->flow[0]);
	/* Twenty windows of ten packets, the first with a RETH; each a round trip after the one before. */
	cr_expect_eq(pair_count(pair, 1, FRAME_ACK), 20);
	finish_ps = pair->flow[0].finished_ps - pair->flow[0].params.start_ps;
	cr_expect_eq(finish_ps,
		     19 * (round_ps + 9 * PACKET_PS) + 2 * RETH_PS + 10 * PACKET_PS +
			     2 * PAIR_DELAY_PS + PACKET_PS,
		     "%" PRIu64, finish_ps);
	pair_free(pair);
}

/* --- marks --- */

static bool marks_every_third(struct pair *pair, const struct pair_frame *frame)
{
	(void)pair;
	return frame_is_data(frame->opcode) && frame->psn % 3 == 0;
}

Test(host, marks_may_ride_on_acknowledgements)
{
	struct pair_params params = packets(90);
	struct pair *pair;
	uint32_t told = 0;

	params.cc = CC_DCQCN;
	params.transport.cnp_on_ack = true;
	pair = pair_create(&params);
	pair->marks = marks_every_third;
	pair_run(pair, 300 * US);
	for (uint32_t i = 0; i < pair->frame_count; i++) {
		const struct pair_frame *frame = &pair->frames[i];

		cr_expect_neq(frame->opcode, FRAME_CNP);
		if (frame->opcode != FRAME_ACK)
			continue;
		cr_expect_eq(frame->becn, frame->psn % 3 == 0, "PSN %u", frame->psn);
		told += frame->becn;
	}
	cr_expect_eq(told, 30);
	cr_expect_eq(pair->flow[0].cnps, 30);
	cr_expect_eq(pair->flow[0].marked_packets, 30);
	cr_expect_lt(pair->flow[0].cc->rate_bps, PAIR_RATE_BPS);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

Test(host, marks_otherwise_are_told_by_packets_and_acknowledgements_say_nothing)
{
	struct pair_params params = packets(90);
	struct pair *pair;

	params.cc = CC_DCQCN;
	pair = pair_create(&params);
	pair->marks = marks_every_third;
	pair_run(pair, 300 * US);
	for (uint32_t i = 0; i < pair->frame_count; i++)
		cr_expect_eq(pair->frames[i].becn, pair->frames[i].opcode == FRAME_CNP);
	cr_expect_eq(pair_count(pair, 1, FRAME_CNP), 30);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

/* --- dctcp --- */

#define PACKET UINT64_C(1000)

static uint64_t window_after(struct cc *cc, uint32_t acks, bool marked)
{
	for (uint32_t i = 0; i < acks; i++)
		cc->ops->acked(cc, PACKET, marked, i);
	return cc->window_bytes;
}

/* RFC 8257, 3.3 to 3.5: alpha begins at one; W (1 - alpha / 2) once per window; one packet per window. */
Test(dctcp, shrinks_by_half_of_alpha_once_a_window_and_grows_by_a_packet)
{
	const struct cc_params params = {.kind = CC_DCTCP, .dctcp = {.gain_q30 = 1u << 26}};
	const struct cc_limits limits = {PAIR_RATE_BPS, PAIR_RATE_BPS, PACKET};
	struct cc *cc = cc_create(&params, &limits);

	/* 10 us of the link: 125 packets; doubled by the acknowledgement of so many. */
	cr_expect_eq(cc->window_bytes, 125 * PACKET);
	/* One round without marks: alpha = 15/16. */
	cr_expect_eq(window_after(cc, 125, false), 250 * PACKET);
	/* The first mark: 250 (1 - 15/32). */
	cr_expect_eq(window_after(cc, 1, true), 132812);
	/* The others of its round change nothing. */
	cr_expect_eq(window_after(cc, 249, true), 132812);
	/* That round of 250 was marked whole: alpha = 15/16 15/16 + 1/16 = 241/256; W (1 - 241/512). */
	cr_expect_eq(window_after(cc, 1, true), 132812 - (132812 * 241 + 511) / 512);
	cc_free(cc);
}

Test(dctcp, never_has_less_than_two_packets_and_its_pace_is_the_links)
{
	const struct cc_params params = {.kind = CC_DCTCP, .dctcp = {.gain_q30 = 1u << 30}};
	const struct cc_limits limits = {PAIR_RATE_BPS, PAIR_RATE_BPS, PACKET};
	struct cc *cc = cc_create(&params, &limits);

	cr_expect_eq(window_after(cc, 5000, true), 2 * PACKET);
	cr_expect_eq(cc->rate_bps, PAIR_RATE_BPS);
	/* After a cut: one packet for each window acknowledged, 2 + 3 + ... + 10 = 54. */
	cr_expect_eq(window_after(cc, 54, false), 11 * PACKET);
	cc_free(cc);
}

static bool marks_all(struct pair *pair, const struct pair_frame *frame)
{
	(void)pair;
	return frame_is_data(frame->opcode);
}

Test(host, a_window_that_shrinks_slows_its_flow)
{
	struct pair_params params = packets(2000);
	struct pair *pair;

	params.cc = CC_DCTCP;
	params.transport.cnp_on_ack = true;
	pair = pair_create(&params);
	pair->marks = marks_all;
	pair_run(pair, 5 * PS_PER_MS);
	cr_expect_eq(pair->flow[0].window_bytes, 2 * PAYLOAD);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

/*
 * With few acknowledgements the window may close over packets of which none asks for one: the next does,
 * so that nothing has to wait for a timeout.
 */
Test(host, a_window_that_closes_over_packets_that_nobody_acknowledges_stays_open_for_one_that_asks)
{
	struct pair_params params = packets(400);
	struct flow *flow;
	struct pair *pair;

	params.transport.ack_every = 100;
	params.transport.window_bytes = 150 * PAYLOAD;
	pair = pair_create(&params);
	flow = &pair->flow[0];
	while (flow->next.offset_bytes < 140 * PAYLOAD)
		pair_run(pair, pair_now_ps(pair) + US / 10);
	/* Packets 100 to 139 haven't asked; once the first hundred are acknowledged they are all. */
	flow->window_bytes = 20 * PAYLOAD;
	pair_run(pair, 900 * US);
	cr_expect_eq(flow->timeouts, 0);
	pair_check_complete(pair, flow);
	pair_free(pair);
}

/* --- pauses --- */

static void send_pause(struct pair *pair, uint16_t quanta)
{
	struct pfc_frame frame = {.enabled = 1 << 3, .quanta[3] = quanta};
	struct rte_mbuf *packet = rte_pktmbuf_alloc(harness_pool());
	static const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};

	cr_assert_not_null(packet);
	pfc_frame_write((uint8_t *)rte_pktmbuf_append(packet, PFC_FRAME_BYTES), mac, &frame);
	packet_virtual_bytes_set(packet, 0);
	wire_send(&pair->wire[1], packet);
}

/* 1000 quanta of 512 bit times: 5.12 us at 100G. */
Test(host, pauses_end_by_themselves_or_latch)
{
	for (uint32_t latch = 0; latch < 2; latch++) {
		struct pair_params params = packets(10000);
		uint64_t before;
		struct pair *pair;

		params.transport.pauses_latch = latch != 0;
		pair = pair_create(&params);
		pair_run(pair, 10 * US);
		send_pause(pair, 1000);
		pair_run(pair, 12 * US);
		before = pair->flow[0].sent_packets;
		pair_run(pair, 14 * US);
		cr_expect_eq(pair->flow[0].sent_packets, before);
		pair_run(pair, 100 * US);
		if (latch == 0) {
			cr_expect_gt(pair->flow[0].sent_packets, before + 900);
		} else {
			cr_expect_eq(pair->flow[0].sent_packets, before);
			send_pause(pair, 0);
			pair_run(pair, 110 * US);
			cr_expect_gt(pair->flow[0].sent_packets, before + 100);
		}
		pair_free(pair);
	}
}

/* --- receive buffers --- */

static uint8_t dscp_priority[64];

/* Into a host that takes a fifth of what comes. */
static struct pair_params slow(uint64_t headroom_bytes)
{
	struct pair_params params = packets(2000);

	memset(dscp_priority, 0, sizeof(dscp_priority));
	dscp_priority[26] = 3;
	params.receive_buffer = (struct receive_buffer_params){
		.bytes = 100000,
		.xoff_bytes = 100000 - headroom_bytes,
		.xon_bytes = (100000 - headroom_bytes) / 2,
		.drain_bps = PAIR_RATE_BPS / 5,
		.lossless = 1 << 3,
		.dscp_priority = dscp_priority,
	};
	return params;
}

/*
 * Between the hosts there are two cables and somebody who stores frames: under way, when a pause is decided,
 * is what the sender sends in four delays and the time of the pause frame, twice, and two packets.
 */
#define UNDER_WAY (4 * PAIR_DELAY_PS / 80 + 2 * 88 + 4 * (PAYLOAD + 58 + 24))

Test(host, a_slow_receiver_pauses_its_peer_and_loses_nothing)
{
	struct pair_params params = slow(UNDER_WAY);
	struct pair *pair = pair_create(&params);
	const struct receive_buffer *buffer;
	uint64_t drained_ps;

	pair_run(pair, 2 * PS_PER_MS);
	buffer = pair->host[1].buffer;
	cr_expect_eq(buffer->dropped_packets, 0);
	cr_expect_gt(buffer->xoff_frames, 2);
	cr_expect_gt(buffer->held_bytes_max[3], params.receive_buffer.xoff_bytes);
	cr_expect_eq(buffer->held_bytes[3], 0);
	cr_expect_eq(pair->flow[0].retransmitted_bytes, 0);
	pair_check_complete(pair, &pair->flow[0]);
	/* It never runs dry: all frames, at 400 ps a byte, from when the first has come. */
	drained_ps = (2000 * (PAYLOAD + 58) + 2 * 16) * 400;
	cr_expect_eq(pair->flow[0].finished_ps - pair->flow[0].params.start_ps,
		     drained_ps + 2 * (PACKET_PS + 16 * 80) + 2 * PAIR_DELAY_PS);
	/* Pauses and their ends alternate, but for refreshes; the last one lets go. */
	for (uint32_t i = 0; i < pair_count(pair, 1, PAIR_PAUSE); i++) {
		const struct pair_frame *frame = pair_frame(pair, 1, PAIR_PAUSE, i);

		cr_expect_eq(frame->pause.enabled, 1 << 3);
		cr_expect_eq(frame->pause.quanta[3], i % 2 == 0 ? 0xFFFF : 0, "%u", i);
	}
	cr_expect_eq(pair_count(pair, 1, PAIR_PAUSE) % 2, 0);
	pair_free(pair);
}

Test(host, a_receiver_with_too_little_headroom_counts_its_losses_and_the_bytes_come_again)
{
	struct pair_params params = slow(UNDER_WAY / 2);
	struct pair *pair;

	params.transport.timeout_ps = 100 * US;
	pair = pair_create(&params);
	pair_run(pair, 20 * PS_PER_MS);
	cr_expect_gt(pair->host[1].buffer->dropped_packets, 0);
	cr_expect_eq(pair->host[1].buffer->lossless_dropped_packets,
		     pair->host[1].buffer->dropped_packets);
	cr_expect_gt(pair->flow[0].retransmitted_bytes, 0);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

/* 65535 quanta last 335.5 us at 100G: said again before half of that is over. */
Test(host, a_receiver_that_stays_full_says_so_again_in_time)
{
	struct pair_params params = slow(UNDER_WAY);
	struct pair *pair;
	uint64_t last_ps = 0;

	params.receive_buffer.drain_bps = RATE_BPS_MIN;
	params.transport.timeout_ps = 0;
	pair = pair_create(&params);
	pair_run(pair, 2 * PS_PER_MS);
	cr_expect_geq(pair_count(pair, 1, PAIR_PAUSE), 11);
	for (uint32_t i = 0; i < pair_count(pair, 1, PAIR_PAUSE); i++) {
		const struct pair_frame *frame = pair_frame(pair, 1, PAIR_PAUSE, i);

		cr_expect_eq(frame->pause.quanta[3], 0xFFFF);
		if (i != 0)
			cr_expect_leq(frame->time_ps - last_ps, UINT64_C(65535) * 512 * 10 / 2);
		last_ps = frame->time_ps;
	}
	cr_expect_eq(pair->host[1].buffer->dropped_packets, 0);
	pair_free(pair);
}

Test(host, lossy_frames_are_dropped_when_the_buffer_is_full_and_pause_nobody)
{
	struct pair_params params = slow(UNDER_WAY);
	struct pair *pair;

	params.receive_buffer.lossless = 0;
	params.transport.timeout_ps = 100 * US;
	pair = pair_create(&params);
	pair_run(pair, 50 * PS_PER_MS);
	cr_expect_eq(pair_count(pair, 1, PAIR_PAUSE), 0);
	cr_expect_gt(pair->host[1].buffer->dropped_packets, 0);
	cr_expect_eq(pair->host[1].buffer->lossless_dropped_packets, 0);
	cr_expect_leq(pair->host[1].buffer->held_bytes_max[3], 100000);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}
