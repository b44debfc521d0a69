/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reliable connections packet by packet, as the InfiniBand specification has them: sections 9.2 to 9.3 for
 * what frames look like, 9.7.5 for acknowledgements and NAKs, 9.7.6 for timeouts.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tests/lab/harness.h"
#include "tests/lab/pair.h"
#include "tools/lab/random.h"

TestSuite(transport, .init = harness_start);

#define US      PS_PER_US
#define PAYLOAD UINT64_C(1024)
#define TIMEOUT (100 * US)

/* Ethernet 14, IPv4 20, UDP 8, BTH 12, invariant CRC 4; a write's first packet has 16 more. */
#define HEADERS 58u

static struct pair_params packets(uint32_t count)
{
	return (struct pair_params){
		.bytes = count * PAYLOAD,
		.psn = 1000,
		.transport = {.ack_every = 1, .timeout_ps = TIMEOUT},
	};
}

/* --- frames --- */

Test(transport, an_acknowledgement_is_a_frame_as_the_standard_has_it)
{
	const struct frame_reply reply = {
		.source_mac = {2, 0, 0, 0, 0, 2},
		.destination_mac = {2, 0, 0, 0, 0, 1},
		.source_ip = {10, 0, 0, 2},
		.destination_ip = {10, 0, 0, 1},
		.source_port = 50000,
		.tos = 26 << 2 | 2,
		.syndrome = FRAME_SYNDROME_ACK,
		.becn = true,
		.queue_pair = 0x123456,
		.psn = 0xABCDEF,
		.msn = 0x010203,
	};
	struct rte_mbuf *packet = rte_pktmbuf_alloc(harness_pool());
	const uint8_t *data;
	uint32_t sum = 0;
	struct frame_view view;

	cr_assert_not_null(packet);
	memset(packet_data(packet), 0xff, FRAME_REAL_BYTES_MAX);
	frame_build_reply(&reply, packet);
	data = packet_data(packet);
	/* Ethernet 14, IPv4 20, UDP 8, BTH 12, AETH 4, invariant CRC 4. */
	cr_expect_eq(packet_length(packet), 62);
	cr_expect_arr_eq(data, "\2\0\0\0\0\1\2\0\0\0\0\2\x08\0", 14);
	cr_expect_arr_eq(data + 14, "\x45\x6a\0\x30\0\0\x40\0\x40\x11", 10);
	cr_expect_arr_eq(data + 26, "\x0a\0\0\2\x0a\0\0\1", 8);
	for (uint32_t i = 14; i < 34; i += 2)
		sum += (uint32_t)data[i] << 8 | data[i + 1];
	cr_expect_eq((sum & 0xffff) + (sum >> 16), 0xffff, "the checksum is right");
	cr_expect_arr_eq(data + 34, "\xc3\x50\x12\xb7\0\x1c\0\0", 8, "port 4791, no checksum");
	/* BTH: opcode, pad and version, partition, BECN, queue pair, no AckReq, PSN. */
	cr_expect_arr_eq(data + 42, "\x11\0\xff\xff\x40\x12\x34\x56\0\xab\xcd\xef", 12);
	/* AETH: ACK without credits, MSN. */
	cr_expect_arr_eq(data + 54, "\x1f\1\2\3", 4);
	cr_assert(frame_read(packet, &view));
	cr_expect_eq(view.payload_bytes, 0);
	cr_expect_eq(view.msn, 0x010203);
	cr_expect(view.becn);
	/* Cut off before its AETH it is none. */
	packet_virtual_bytes_set(packet, (uint16_t)(packet_virtual_bytes(packet) + 4));
	packet->data_len -= 4;
	cr_expect_not(frame_read(packet, &view));
	rte_pktmbuf_free(packet);
}

Test(transport,
     messages_are_first_middle_and_last_packets_and_their_end_asks_for_an_acknowledgement)
{
	static const uint8_t opcodes[2][3] = {{0x06, 0x07, 0x08}, {0x00, 0x01, 0x02}};

	for (uint32_t sends = 0; sends < 2; sends++) {
		struct pair_params params = packets(3);
		struct pair *pair;

		params.bytes -= 24; /* the last packet has 1000 */
		params.transport.ack_every = 100;
		params.transport.sends = sends != 0;
		pair = pair_create(&params);
		pair_run(pair, 50 * US);
		for (uint32_t i = 0; i < 3; i++) {
			const struct pair_frame *frame = pair_frame(pair, 0, opcodes[sends][i], 0);

			cr_expect_eq(frame->psn, 1000 + i);
			cr_expect_eq(frame->payload_bytes, i == 2 ? 1000 : 1024);
			cr_expect_eq(frame->length, HEADERS + frame->payload_bytes +
							    (sends == 0 && i == 0 ? 16 : 0));
			cr_expect_eq(frame->ack_request, i == 2);
		}
		cr_expect_eq(pair_count(pair, 1, FRAME_ACK), 1);
		cr_expect_eq(pair_frame(pair, 1, FRAME_ACK, 0)->psn, 1002);
		cr_expect_eq(pair_frame(pair, 1, FRAME_ACK, 0)->msn, 1, "one message");
		pair_check_complete(pair, &pair->flow[0]);
		pair_free(pair);
	}
}

Test(transport, a_message_of_one_packet_is_an_only_packet)
{
	for (uint32_t sends = 0; sends < 2; sends++) {
		struct pair_params params = packets(1);
		struct pair *pair;

		params.transport.sends = sends != 0;
		pair = pair_create(&params);
		pair_run(pair, 50 * US);
		cr_expect_eq(pair_frame(pair, 0, sends != 0 ? 0x04 : 0x0A, 0)->psn, 1000);
		pair_check_complete(pair, &pair->flow[0]);
		pair_free(pair);
	}
}

/* --- acknowledgements --- */

Test(transport, every_nth_packet_asks_to_be_acknowledged)
{
	struct pair_params params = packets(10);
	static const uint32_t psns[3] = {1003, 1007, 1009}, msns[3] = {0, 0, 1};
	struct pair *pair;

	params.transport.ack_every = 4;
	pair = pair_create(&params);
	pair_run(pair, 50 * US);
	cr_assert_eq(pair_count(pair, 1, FRAME_ACK), 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct pair_frame *frame = pair_frame(pair, 1, FRAME_ACK, i);

		cr_expect_eq(frame->psn, psns[i]);
		cr_expect_eq(frame->msn, msns[i]);
		cr_expect_eq(frame->syndrome, 0x1F);
		cr_expect_eq(frame->queue_pair, FLOW_QUEUE_PAIR);
		cr_expect_eq(frame->tos, 26 << 2 | 2, "the data's class");
	}
	for (uint32_t i = 0; i < pair->frame_count; i++)
		if (pair->frames[i].from == 0)
			cr_expect_eq(pair->frames[i].ack_request,
				     pair->frames[i].psn == psns[0] ||
					     pair->frames[i].psn == psns[1] ||
					     pair->frames[i].psn == psns[2]);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

Test(transport, acknowledgements_may_have_a_class_of_their_own)
{
	struct pair_params params = packets(1);
	struct pair *pair;

	params.transport.ack_dscp_given = true;
	params.transport.ack_dscp = 50;
	params.transport.ack_priority = 5;
	pair = pair_create(&params);
	pair_run(pair, 50 * US);
	cr_expect_eq(pair_frame(pair, 1, FRAME_ACK, 0)->tos >> 2, 50);
	pair_free(pair);
}

Test(transport, with_no_acknowledgements_nobody_answers_and_what_is_lost_is_missing)
{
	struct pair_params params = packets(10);
	struct pair *pair;

	params.transport.ack_every = 0;
	pair = pair_create(&params);
	pair_run(pair, 500 * US);
	cr_expect_eq(pair->frame_count, 10);
	cr_expect(pair->flow[0].finished);
	pair_free(pair);
}

/* --- losses --- */

/* The one with this PSN (in bits 0 to 23 of the context) is lost, as often as bits 32 and up say. */
static bool drops_psn(struct pair *pair, const struct pair_frame *frame)
{
	if (!frame_is_data(frame->opcode) || frame->psn != (pair->context & FRAME_PSN_MASK) ||
	    pair->context >> 32 == 0)
		return false;
	pair->context -= UINT64_C(1) << 32;
	return true;
}

/* Replies with the numbers in the context's bits. */
static bool drops_replies(struct pair *pair, const struct pair_frame *frame)
{
	return frame->opcode == FRAME_ACK && frame->number < 64 &&
	       (pair->context >> frame->number & 1) != 0;
}

static uint32_t naks(const struct pair *pair)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < pair->frame_count; i++)
		count += pair->frames[i].opcode == FRAME_ACK && pair->frames[i].syndrome == 0x60;
	return count;
}

/* From any first PSN, those that wrap on the way too. */
Test(transport, a_gap_has_one_nak_that_names_what_is_missing_and_sending_begins_again_there)
{
	static const uint32_t first[] = {0, 1000, 0xFFFFFF, 0xFFFFF0, 0x7FFFFA, 0x800000};

	for (uint32_t i = 0; i < sizeof(first) / sizeof(first[0]); i++) {
		struct pair_params params = packets(60);
		uint32_t lost = (first[i] + 7) & FRAME_PSN_MASK, nak_at = 0, after;
		struct pair *pair;

		params.psn = first[i];
		pair = pair_create(&params);
		pair->drops = drops_psn;
		pair->context = UINT64_C(1) << 32 | lost;
		pair_run(pair, 90 * US);
		cr_expect_eq(naks(pair), 1, "from %u: %u", first[i], naks(pair));
		while (pair->frames[nak_at].syndrome != 0x60)
			nak_at++;
		cr_expect_eq(pair->frames[nak_at].psn, lost);
		/* What was under way comes too early and is thrown away, without a word. */
		cr_expect_eq(pair->flow[0].naks, 1);
		cr_expect_eq(pair->flow[0].out_of_order * PAYLOAD + PAYLOAD,
			     pair->flow[0].retransmitted_bytes,
			     "all since the one that was lost, again");
		/* The missing one follows the last that was new, and then its successors. */
		for (after = nak_at;
		     pair->frames[after].from == 1 || pair->frames[after].psn != lost;)
			after++;
		for (uint32_t psn = lost; after < pair->frame_count; after++) {
			if (pair->frames[after].from == 1)
				continue;
			cr_expect_eq(pair->frames[after].psn, psn);
			psn = (psn + 1) & FRAME_PSN_MASK;
		}
		cr_expect_eq(pair->flow[0].timeouts, 0);
		cr_expect_eq(pair->flow[0].duplicates, 0);
		pair_check_complete(pair, &pair->flow[0]);
		pair_free(pair);
	}
}

Test(transport, the_last_packet_lost_is_sent_again_after_one_timeout_and_before_two)
{
	struct pair_params params = packets(5);
	const struct pair_frame *last, *again;
	struct pair *pair = pair_create(&params);

	pair->drops = drops_psn;
	pair->context = UINT64_C(1) << 32 | 1004;
	pair_run(pair, 3 * TIMEOUT);
	last = pair_frame(pair, 0, FRAME_WRITE_LAST, 0);
	again = pair_frame(pair, 0, FRAME_WRITE_LAST, 1);
	cr_expect(last->dropped);
	cr_expect_eq(again->psn, 1004);
	cr_expect_geq(again->time_ps - last->time_ps, TIMEOUT);
	cr_expect_leq(again->time_ps - last->time_ps, 2 * TIMEOUT);
	cr_expect_eq(pair->flow[0].timeouts, 1);
	cr_expect_eq(naks(pair), 0);
	cr_expect_eq(pair->flow[0].retransmitted_bytes, PAYLOAD);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

Test(transport, without_a_timeout_the_last_packet_stays_lost)
{
	struct pair_params params = packets(5);
	struct pair *pair;

	params.transport.timeout_ps = 0;
	pair = pair_create(&params);
	pair->drops = drops_psn;
	pair->context = UINT64_C(1) << 32 | 1004;
	pair_run(pair, 100 * TIMEOUT);
	cr_expect_not(pair->flow[0].finished);
	cr_expect_eq(pair_count(pair, 0, FRAME_WRITE_LAST), 1);
	pair_free(pair);
}

Test(transport, a_lost_acknowledgement_is_made_up_for_by_the_next)
{
	struct pair_params params = packets(10);
	struct pair *pair = pair_create(&params);

	pair->drops = drops_replies;
	pair->context = 0x1FF; /* all but the last */
	pair_run(pair, 10 * TIMEOUT);
	cr_expect_eq(pair->flow[0].retransmitted_bytes, 0);
	cr_expect_eq(pair->flow[0].timeouts, 0);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

Test(transport, a_duplicate_is_acknowledged_and_not_delivered_again)
{
	struct pair_params params = packets(10);
	struct pair *pair = pair_create(&params);

	pair->drops = drops_replies;
	pair->context = 0x380; /* the last three: the sender knows of seven packets */
	pair_run(pair, 10 * TIMEOUT);
	cr_expect_eq(pair->flow[0].timeouts, 1);
	cr_expect_eq(pair->flow[0].retransmitted_bytes, 3 * PAYLOAD);
	cr_expect_eq(pair->flow[0].duplicates, 3);
	cr_expect_eq(pair->flow[0].msn, 1, "a message completes once");
	cr_expect_eq(pair_count(pair, 1, FRAME_ACK), 13);
	/* Of what was expected next, not of the duplicate: 9.7.5.1.4. */
	cr_expect_eq(pair_frame(pair, 1, FRAME_ACK, 10)->psn, 1009);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

Test(transport, a_lost_nak_is_not_sent_again_and_the_timeout_helps)
{
	struct pair_params params = packets(60);
	struct pair *pair = pair_create(&params);

	pair->drops = drops_psn;
	pair->context = UINT64_C(2) << 32 | 1007;
	pair_run(pair, 10 * TIMEOUT);
	/* The first NAK's answer was lost too: to the receiver it is still the same gap. */
	cr_expect_eq(naks(pair), 1);
	cr_expect_eq(pair->flow[0].timeouts, 1);
	pair_check_complete(pair, &pair->flow[0]);
	pair_free(pair);
}

static bool drops_at_random(struct pair *pair, const struct pair_frame *frame)
{
	struct random random = {.state = pair->context};
	bool drop = random_below(&random, 8) == 0;

	(void)frame;
	pair->context = random.state;
	return drop;
}

/* One frame of eight is lost, in both directions. */
Test(transport, over_a_link_that_loses_everything_comes_exactly_once_and_in_order)
{
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct random random = {.state = seed};
		struct pair_params params = packets(1 + (uint32_t)random_below(&random, 300));
		struct pair *pair;

		params.bytes -= random_below(&random, PAYLOAD);
		params.psn = (uint32_t)random_below(&random, FRAME_PSN_MASK + 1);
		if (seed % 2 == 0) /* across the wrap */
			params.psn = FRAME_PSN_MASK - (uint32_t)random_below(&random, 100);
		params.flows = 1 + (uint32_t)(seed % 3);
		params.transport.ack_every = 1 + (uint32_t)random_below(&random, 8);
		params.transport.sends = seed % 5 == 0;
		params.transport.timeout_ps = 20 * US;
		if (seed % 4 == 0)
			params.transport.window_bytes = 1 + random_below(&random, 20000);
		pair = pair_create(&params);
		pair->drops = drops_at_random;
		pair->context = seed;
		pair_run(pair, 100 * PS_PER_MS);
		for (uint32_t i = 0; i < params.flows; i++)
			pair_check_complete(pair, &pair->flow[i]);
		if (pair->traffic.flows_open != 0)
			cr_assert_fail("seed %" PRIu64, seed);
		pair_free(pair);
	}
}

/* --- releases --- */

/* A sender that was told of more meanwhile cuts its messages as it did the first time. */
Test(transport, a_packet_that_is_sent_again_is_the_same_whatever_was_released_since)
{
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct random random = {.state = seed};
		struct pair_params params = packets(200);
		uint64_t released_bytes = 0;
		struct pair *pair;
		const struct pair_frame *by_psn[1000] = {NULL};

		params.unreleased = true;
		params.transport.ack_every = 3;
		params.transport.timeout_ps = 20 * US;
		params.payload_bytes = 1000;
		pair = pair_create(&params);
		pair->drops = drops_at_random;
		pair->context = seed;
		for (uint32_t i = 0; released_bytes != params.bytes; i++) {
			released_bytes += 1 + random_below(&random, 9000);
			if (released_bytes > params.bytes)
				released_bytes = params.bytes;
			host_release(&pair->flow[0], released_bytes);
			pair_run(pair, i * US / 2);
		}
		pair_run(pair, 50 * PS_PER_MS);
		pair_check_complete(pair, &pair->flow[0]);
		cr_expect_gt(pair->flow[0].retransmitted_bytes, 0);
		for (uint32_t i = 0; i < pair->frame_count; i++) {
			const struct pair_frame *frame = &pair->frames[i], **first;

			if (frame->from == 1)
				continue;
			cr_assert_lt(frame->psn, 2000);
			first = &by_psn[frame->psn - 1000];
			if (*first == NULL)
				*first = frame;
			cr_expect_eq(frame->opcode, (*first)->opcode, "PSN %u", frame->psn);
			cr_expect_eq(frame->payload_bytes, (*first)->payload_bytes);
			cr_expect_eq(frame->length, (*first)->length);
		}
		pair_free(pair);
	}
}

struct watcher {
	uint64_t told[8];
	uint32_t count;
};

static void watch(void *context, struct flow *flow, uint64_t now_ps)
{
	struct watcher *watcher = context;

	(void)now_ps;
	watcher->told[watcher->count++] = flow->received_bytes;
	flow->watch_bytes = watcher->count == 3 ? UINT64_MAX : flow->watch_bytes + 1500;
}

Test(transport, who_watches_is_told_when_bytes_were_delivered_in_order)
{
	struct pair_params params = packets(10);
	struct watcher watcher = {.count = 0};
	struct pair *pair = pair_create(&params);

	pair->traffic.reached = watch;
	pair->traffic.reached_context = &watcher;
	pair->flow[0].watch_bytes = 1000;
	pair->drops = drops_psn;
	pair->context = UINT64_C(1) << 32 | 1001;
	pair_run(pair, 90 * US);
	/* At 1000, 2500 and 4000 bytes: with the first, third and fourth packet. */
	cr_expect_eq(watcher.count, 3);
	cr_expect_eq(watcher.told[0], PAYLOAD);
	cr_expect_eq(watcher.told[1], 3 * PAYLOAD);
	cr_expect_eq(watcher.told[2], 4 * PAYLOAD);
	pair_free(pair);
}
