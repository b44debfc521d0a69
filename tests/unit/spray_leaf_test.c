/* SPDX-License-Identifier: BSD-3-Clause */
/* In-order spray at its source: what two leaves say to each other, and numbers that packets get. */
#include <criterion/criterion.h>

#include "tests/unit/spray_talk.h"

LEAF_TEST(spray_leaf, says_hello_and_who_it_has_heard)
{
	const struct spray_message *m;

	talk_poll();
	cr_assert_eq(talk.messages, UPLINKS, "one by each uplink");
	cr_expect_neq(talk.message_port[0], talk.message_port[1]);
	m = last_said(SPRAY_HELLO);
	cr_assert_not_null(m);
	cr_expect_eq(m->epoch, OUR_EPOCH);
	cr_expect_eq(m->receiver_epoch, 0);
	cr_expect_eq(m->hello.count, UPLINKS);
	cr_expect_eq(m->hello.uplink[1].speed_mbps, 100000);
	cr_expect(m->hello.uplink[1].up);
	talk_clear();
	hello(0);
	m = last_said(SPRAY_HELLO);
	cr_assert_not_null(m, "answered at once");
	cr_expect_eq(m->receiver_epoch, talk.their_epoch);
	talk_clear();
	hello(OUR_EPOCH);
	hello(0);
	cr_expect_null(last_said(SPRAY_HELLO), "not as often as it is told");
}

LEAF_TEST(spray_leaf, a_flow_is_asked_for_and_sprayed_by_numbers_from_then_on)
{
	struct spray_message request;
	uint32_t before, by[UPLINKS] = {0};
	uint16_t path, number;

	meet();
	request = promote(0x123456);
	before = talk.frames;
	cr_expect_eq(before, PROMOTE / PAYLOAD - 0u, "1062 bytes each: the fourth asks");
	path = talk.frame_port[0];
	cr_expect_eq(request.request.flow.qp, 0x123456);
	cr_expect_eq(request.request.flow.dscp, DSCP);
	cr_expect_arr_eq(request.request.flow.source, ((uint8_t[]){12, 0, 0, 5}), 4);
	cr_expect_arr_eq(request.request.flow.destination, ((uint8_t[]){11, 0, 0, 1}), 4);
	answer(&request, SPRAY_YES);
	for (uint32_t i = 0; i < 101; i++)
		host_sends(4, 0x123456, 0);
	for (uint32_t i = 0; i < before; i++) {
		cr_expect_eq(checksum(&talk.frame[i]), 0);
		cr_expect_eq(talk.frame_port[i], path);
	}
	cr_assert_eq(talk.frames, before + 101);
	cr_expect_eq(checksum(&talk.frame[before]), SEQUENCE_START);
	cr_expect_eq(talk.frame_port[before], path, "the start goes the old way");
	number = request.request.first;
	for (uint32_t i = before + 1; i < talk.frames; i++) {
		number = sequence_next(number);
		cr_expect_eq(checksum(&talk.frame[i]), number);
		by[talk.frame_port[i] - UP]++;
	}
	cr_expect_eq(by[0], 50);
	cr_expect_eq(by[1], 50);
}

/* It isn't asked for while nobody could answer. */
LEAF_TEST(spray_leaf, a_flow_counts_from_when_its_peer_is_known)
{
	talk_poll();
	for (uint32_t i = 0; i < 10; i++)
		host_sends(4, 7, 0);
	cr_expect_null(last_said(SPRAY_REQUEST));
	hello(0);
	hello(OUR_EPOCH);
	talk_clear();
	promote(7); /* at once, not at the next time to ask again */
}

LEAF_TEST(spray_leaf, a_no_is_no_and_a_cnp_has_no_number)
{
	struct spray_message request;

	meet();
	request = promote(5);
	answer(&request, SPRAY_FULL);
	host_sends(4, 5, 0);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0);
	talk_clear();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), SEQUENCE_START);
	host_sends(0x81, 6, 0);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0);
	host_sends(0x81, 6, 0x4321);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0, "it could be taken for a number");
	host_sends(0x81, 7, 0x4321);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0x4321,
		     "of this flow nothing was said");
}

LEAF_TEST(spray_leaf, a_host_that_computes_checksums_is_demoted_and_left_alone)
{
	struct spray_message request, word;
	uint16_t sum;

	meet();
	for (uint32_t i = 0; i < 10; i++)
		host_sends(4, 8, 0x5555);
	for (uint32_t i = 0; i < talk.frames; i++)
		cr_expect_eq(checksum(&talk.frame[i]), 0x5555, "never touched");
	cr_expect_null(last_said(SPRAY_REQUEST));
	request = promote(9);
	answer(&request, SPRAY_YES);
	host_sends(4, 9, 0);
	host_sends(4, 9, 0x5555);
	sum = checksum(&talk.frame[talk.frames - 1]);
	cr_expect_eq(sum, sequence_next(request.request.first));
	talk_clear();
	for (uint32_t i = 0; i < 10; i++) {
		talk_pass(PS_PER_MS);
		hello(OUR_EPOCH);
	}
	word = said(SPRAY_DEMOTE);
	cr_expect_eq(word.sequence.number, sequence_plus(sum, -1), "all before its pin");
	word.type = SPRAY_DRAINED;
	tell(word, 1);
	host_sends(4, 9, 0x5555);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0, "they may still look for numbers");
}

LEAF_TEST(spray_leaf, a_peer_that_begins_anew_gets_no_numbers)
{
	struct spray_message request;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	host_sends(4, 6, 0);
	cr_expect_gt(checksum(&talk.frame[talk.frames - 1]), 1);
	talk.their_epoch = 901;
	hello(0); /* proves nothing: it could be an old one */
	host_sends(4, 6, 0);
	cr_expect_gt(checksum(&talk.frame[talk.frames - 1]), 1);
	hello(OUR_EPOCH);
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0);
}

LEAF_TEST(spray_leaf, a_peer_that_is_silent_gets_no_numbers_after_a_while)
{
	struct spray_message request;
	uint64_t begun_ps, quiet_ps = 0;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	begun_ps = talk.fixture.now_ps;
	while (talk.fixture.now_ps < begun_ps + 2 * SPRAY_DEAD_PS && quiet_ps == 0) {
		host_sends(4, 6, 0);
		if (checksum(&talk.frame[talk.frames - 1]) == 0)
			quiet_ps = talk.fixture.now_ps;
		talk_clear();
		fixture_run_until(&talk.fixture, talk.fixture.now_ps + 100 * PS_PER_US);
	}
	cr_assert_neq(quiet_ps, 0);
	cr_expect_leq(quiet_ps - begun_ps, SPRAY_DEAD_PS + 300 * PS_PER_US);
	cr_expect_lt(SPRAY_DEAD_PS + 300 * PS_PER_US, SPRAY_START_PS,
		     "before a peer that has begun anew lets numbers pass");
}

/* Each byte changed, cut short, replayed, from elsewhere, of another life: nothing comes of it. */
LEAF_TEST(spray_leaf, forged_and_old_messages_do_nothing)
{
	struct spray_message request, m = {.type = SPRAY_ANSWER};
	struct spray_totals before, after;
	struct frame frame, bad;
	uint32_t sent = 0;

	meet();
	request = promote(6);
	m.answer.transaction = request.request.transaction;
	m.answer.worker = request.worker;
	m.answer.answer = SPRAY_YES;
	m.answer.flow = request.request.flow;
	frame = message_frame(m, 0, THEIRS);
	leaf_spray_totals(talk.fixture.leaf, &before);
	for (uint32_t i = UDP_OFFSET + 8; i < frame.size; i++, sent++) {
		bad = frame;
		bad.byte[i] ^= 0x10;
		fixture_inject(&talk.fixture, UP, &bad);
		talk_poll();
	}
	for (uint32_t cut = 1; cut < frame.size - UDP_OFFSET - 8; cut += 7, sent++) {
		bad = frame;
		store_u16(bad.byte + UDP_OFFSET + 4, frame.size - UDP_OFFSET - cut);
		fixture_inject(&talk.fixture, UP, &bad);
		talk_poll();
	}
	talk.their_epoch++;
	bad = message_frame(m, 0, THEIRS);
	fixture_inject(&talk.fixture, UP, &bad);
	talk.their_epoch--;
	talk_poll();
	bad = message_frame(m, 0, THEIRS + 1);
	fixture_inject(&talk.fixture, UP, &bad);
	talk_poll();
	leaf_spray_totals(talk.fixture.leaf, &after);
	cr_expect_geq(after.messages_refused - before.messages_refused, sent + 2);
	cr_expect_eq(after.messages_received, before.messages_received);
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), 0, "still waiting for an answer");
	/* And yet the true one counts, once. */
	fixture_inject(&talk.fixture, UP, &frame);
	talk_poll();
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&talk.frame[talk.frames - 1]), SEQUENCE_START);
	leaf_spray_totals(talk.fixture.leaf, &before);
	fixture_inject(&talk.fixture, UP, &frame);
	talk_poll();
	leaf_spray_totals(talk.fixture.leaf, &after);
	cr_expect_gt(after.messages_refused, before.messages_refused, "a replay");
}
