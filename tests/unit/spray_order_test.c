/* SPDX-License-Identifier: BSD-3-Clause */
/* In-order spray at its destination: the order that a leaf restores, and when it gives up. */
#include <criterion/criterion.h>

#include "tests/unit/spray_talk.h"

/* These numbers, and only they, have left for the host since talk_clear(); their checksums are 0 again. */
static void expect_host(uint32_t numbers, const uint16_t *number)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < talk.frames; i++) {
		if (talk.frame_port[i] != HOST)
			continue;
		cr_expect_eq(checksum(&talk.frame[i]), 0, "a number leaked");
		cr_assert_lt(seen, numbers, "%u too many", frame_number(&talk.frame[i]));
		cr_expect_eq(frame_number(&talk.frame[i]), number[seen], "%u instead of %u",
			     frame_number(&talk.frame[i]), number[seen]);
		seen++;
	}
	cr_expect_eq(seen, numbers);
	talk_clear();
}

#define EXPECT_HOST(...) \
	expect_host(sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), (uint16_t[]){__VA_ARGS__})

LEAF_TEST(spray_order, restores_the_order_of_what_was_agreed_on)
{
	const struct spray_message *m;
	struct spray_totals totals;

	meet();
	m = agree(HERE, 7, 100);
	cr_assert_not_null(m);
	cr_expect_eq(m->answer.answer, SPRAY_YES);
	talk_clear();
	they_send(0, 7, SEQUENCE_START);
	EXPECT_HOST(1);
	they_send(1, 7, 102);
	they_send(0, 7, 103);
	they_send(1, 7, 103);
	cr_expect_eq(talk.frames, 0);
	they_send(0, 7, 101);
	EXPECT_HOST(101, 102, 103);
	they_send(1, 7, 102);
	EXPECT_HOST(102); /* late, and sent */
	leaf_spray_totals(talk.fixture.leaf, &totals);
	cr_expect_eq(totals.duplicates, 1);
	cr_expect_eq(totals.late, 1);
	cr_expect_eq(totals.restored, 6);
	cr_expect_eq(leaf_drops(talk.fixture.leaf, DROP_DUPLICATE), 1);
	cr_expect_eq(totals.held_packets, 0);
}

LEAF_TEST(spray_order, LB_PKT_fences_on_all_uplinks_end_a_hole)
{
	struct spray_message fence;

	meet();
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	talk_clear();
	they_send(0, 7, 102);
	talk_pass(30 * PS_PER_US);
	fence = said(SPRAY_FENCE_WANTED);
	fence.type = SPRAY_FENCE;
	fence.sequence.number = 102;
	talk_clear();
	tell(fence, 0);
	cr_expect_eq(talk.frames, 0, "101 may come by the other one");
	tell(fence, 1);
	EXPECT_HOST(102);
}

/* Nothing behind it shows that it is missing: who sent it asks, and proves that it is lost. */
LEAF_TEST(spray_order, a_lost_last_packet_is_fenced_when_its_source_asks)
{
	struct spray_message demote = {.type = SPRAY_DEMOTE}, fence;

	meet();
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	talk_clear();
	demote.sequence.transaction = 1000;
	demote.sequence.flow = their_flow(HERE, 7);
	demote.sequence.number = 101; /* lost */
	tell(demote, 0);
	cr_expect_null(last_said(SPRAY_DRAINED));
	fence = said(SPRAY_FENCE_WANTED);
	cr_expect_eq(fence.sequence.number, 101);
	fence.type = SPRAY_FENCE;
	talk_clear();
	for (uint32_t u = 0; u < UPLINKS; u++)
		tell(fence, u);
	demote.sequence.transaction++;
	tell(demote, 0);
	cr_expect_eq(said(SPRAY_DRAINED).sequence.transaction, 1001);
	they_send(0, 7, 101);
	EXPECT_HOST(101); /* late, if it comes after all */
}

LEAF_TEST(spray_order, a_flow_is_forgotten_when_its_source_lets_go_of_it_after_a_second)
{
	struct spray_message release = {.type = SPRAY_RELEASE};

	meet();
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	release.sequence.transaction = 1000;
	release.sequence.flow = their_flow(HERE, 7);
	release.sequence.number = 100;
	for (uint32_t i = 0; i < 99; i++) {
		talk_pass(10 * PS_PER_MS);
		hello(OUR_EPOCH);
		talk_clear();
	}
	tell(release, 0);
	cr_expect_null(last_said(SPRAY_RELEASED), "too early");
	talk_pass(11 * PS_PER_MS);
	release.sequence.transaction++;
	tell(release, 0);
	cr_expect_eq(said(SPRAY_RELEASED).sequence.transaction, 1001, "at once");
	talk_clear();
	they_send(0, 7, 101);
	cr_assert_eq(talk.frames, 1);
	cr_expect_eq(checksum(&talk.frame[0]), 101, "a host's own checksum, then");
}

/* No hello has come by the other uplink yet, which is up: a packet may. */
LEAF_TEST(spray_order, LB_PKT_fences_prove_nothing_while_an_uplink_is_unknown)
{
	struct spray_message fence = {.type = SPRAY_FENCE};

	talk_poll();
	for (uint32_t i = 0; i < 2; i++)
		tell(hello_message(OUR_EPOCH), 0);
	fixture_run_until(&talk.fixture, talk.fixture.now_ps + SPRAY_START_PS + PS_PER_MS);
	tell(hello_message(OUR_EPOCH), 0);
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	talk_clear();
	they_send(0, 7, 102);
	talk_pass(30 * PS_PER_US);
	fence.sequence.flow = their_flow(HERE, 7);
	fence.sequence.number = 102;
	tell(fence, 0);
	cr_expect_eq(talk.frames, 0, "101 may come by the other one");
	they_send(1, 7, 101);
	EXPECT_HOST(101, 102);
}

LEAF_TEST(spray_order, agrees_on_its_own_hosts_alone)
{
	const struct spray_message *m;

	meet();
	m = agree(THERE, 7, 100);
	cr_assert_not_null(m);
	cr_expect_eq(m->answer.answer, SPRAY_FOREIGN);
	m = agree(HERE + 1, 7, 100);
	cr_expect_eq(m->answer.answer, SPRAY_FOREIGN, "a neighbour that isn't resolved");
}

LEAF_TEST(spray_order, what_was_not_agreed_on_passes_but_not_right_after_the_start)
{
	talk_poll();
	hello(0);
	hello(OUR_EPOCH);
	talk_clear();
	they_send(0, 7, 500);
	cr_expect_eq(talk.frames, 0);
	cr_expect_eq(leaf_drops(talk.fixture.leaf, DROP_SEQUENCE), 1);
	they_send(0, 7, 0);
	cr_expect_eq(talk.frames, 1, "what has no number passes");
	fixture_run_until(&talk.fixture, talk.fixture.now_ps + SPRAY_START_PS);
	talk_clear();
	they_send(0, 7, 500);
	cr_assert_eq(talk.frames, 1);
	cr_expect_eq(checksum(&talk.frame[0]), 500, "a host's own checksum");
}
