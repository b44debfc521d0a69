/* SPDX-License-Identifier: BSD-3-Clause */
/* In-order spray over uplinks that differ, fail and come back. */
#include <criterion/criterion.h>

#include "dataplane/internal.h"
#include "dataplane/links.h"
#include "tests/unit/spray_talk.h"

/* The far end of one of two paths has a quarter of the other's speed: of 1000 flows 200, +- 4 sigma of 12.6. */
LEAF_TEST(spray_uplinks,
	  LB_UNEQUAL_flows_that_are_not_sprayed_keep_to_what_paths_carry_at_both_ends)
{
	struct spray_message m;
	uint32_t slow = 0;

	meet();
	m = hello_message(OUR_EPOCH);
	m.hello.uplink[1].speed_mbps /= 4;
	for (uint32_t u = 0; u < UPLINKS; u++)
		tell(m, u);
	for (uint32_t qp = 1; qp <= 1000; qp++)
		host_sends(4, qp, 0);
	cr_assert_eq(talk.frames, 1000);
	for (uint32_t i = 0; i < talk.frames; i++)
		slow += talk.frame_port[i] == UP + 1;
	cr_expect_leq(slow, 200 + 51, "%u", slow);
	cr_expect_geq(slow, 200 - 51, "%u", slow);
}

/* An uplink of theirs went down; what they had said before comes late, by that uplink, whose wire was still full. */
LEAF_TEST(spray_uplinks, LF_DOWN_an_old_hello_brings_no_dead_uplink_back)
{
	struct spray_message before, m;

	meet();
	before = hello_message(OUR_EPOCH);
	m = hello_message(OUR_EPOCH);
	m.hello.uplink[1].up = false;
	tell(m, 0);
	tell(before, 1);
	for (uint32_t qp = 1; qp <= 100; qp++)
		host_sends(4, qp, 0);
	cr_assert_eq(talk.frames, 100);
	for (uint32_t i = 0; i < talk.frames; i++)
		cr_expect_eq(talk.frame_port[i], UP, "%u", i);
	tell(hello_message(OUR_EPOCH), 1);
	for (uint32_t qp = 1; qp <= 100; qp++)
		host_sends(4, qp, 0);
	for (uint32_t i = 100; i < talk.frames; i++)
		if (talk.frame_port[i] != UP)
			return;
	cr_assert(false, "it is back");
}

/*
 * Slow uplinks, one of which goes down with packets in its queue: those with a number leave by the other one.
 * @param heard no snapshot tells it
 */
static void lose_uplink(bool heard)
{
	enum { PACKETS = 20 };
	struct spray_message request;
	struct snapshot *slow, *down;
	struct spray_totals totals;
	uint64_t said_before;
	uint32_t before;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	slow = snapshot_copy(talk.fixture.snapshot);
	for (uint16_t u = 0; u < UPLINKS; u++)
		snapshot_port_rate(slow, (uint16_t)(UP + u), UINT64_C(1000000000), 0, 0);
	fixture_publish(&talk.fixture, slow);
	talk_clear();
	for (uint32_t i = 0; i < PACKETS; i++)
		host_sends(4, 6, 0);
	before = talk.frames;
	cr_assert_lt(before, PACKETS / 2, "the others wait");
	leaf_spray_totals(talk.fixture.leaf, &totals);
	said_before = totals.messages_sent;
	if (heard) {
		leaf_link_set(talk.fixture.leaf, UP, false);
		fixture_poll(&talk.fixture);
	} else {
		down = snapshot_copy(talk.fixture.snapshot);
		down->port[UP].link_up = false;
		down->adjacency[UP].weight = 0;
		fixture_publish(&talk.fixture, down);
	}
	/* Moved, and all else that is sprayed goes there, too. */
	leaf_spray_totals(talk.fixture.leaf, &totals);
	if (heard) {
		cr_expect_gt(totals.rerouted, 0);
		cr_expect_gt(totals.messages_sent, said_before, "the other leaf is told at once");
	}
	host_sends(4, 6, 0);
	talk_pass(PS_PER_MS);
	cr_expect_not(said(SPRAY_HELLO).hello.uplink[0].up);
	cr_expect(said(SPRAY_HELLO).hello.uplink[1].up);
	leaf_spray_totals(talk.fixture.leaf, &totals);
	cr_expect_gt(totals.rerouted, 0);
	cr_expect_eq(talk.frames, PACKETS + 1);
	cr_expect_eq(leaf_drops(talk.fixture.leaf, DROP_LINK_DOWN), 0);
	for (uint32_t i = before; i < talk.frames; i++)
		cr_expect_eq(talk.frame_port[i], UP + 1);
}

LEAF_TEST(spray_uplinks, LF_DOWN_what_waits_for_a_dead_uplink_leaves_by_another_one)
{
	lose_uplink(false);
}

LEAF_TEST(spray_uplinks, LF_DOWN_within_one_poll_of_the_word_that_a_link_is_down)
{
	lose_uplink(true);
}

/* Its device takes nothing, its link is up: what is sequenced moves, and a hello stays there to be taken. */
LEAF_TEST(spray_uplinks, LF_DOWN_what_waits_for_an_uplink_that_takes_nothing_leaves_by_another_one)
{
	enum { PACKETS = 20 };
	struct spray_message request;
	struct spray_totals totals;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	talk_clear();
	memory_io_limit(talk.fixture.memory[UP], 0);
	for (uint32_t i = 0; i < PACKETS; i++)
		host_sends(4, 6, 0);
	cr_assert_lt(talk.frames, PACKETS);
	talk_pass(PS_PER_MS);
	leaf_spray_totals(talk.fixture.leaf, &totals);
	cr_expect_gt(totals.rerouted, 0);
	cr_expect_eq(talk.frames, PACKETS);
	cr_expect(leaf_link_stalled(talk.fixture.leaf, UP), "a hello waits to be taken");
	cr_expect_not(said(SPRAY_HELLO).hello.uplink[0].up);
	/* It goes on, and everybody knows. */
	memory_io_limit(talk.fixture.memory[UP], 32);
	talk_pass(PS_PER_MS);
	cr_expect_eq(talk.frames, PACKETS);
	cr_expect(said(SPRAY_HELLO).hello.uplink[0].up);
	cr_expect_eq(leaf_drops(talk.fixture.leaf, DROP_LINK_DOWN), 0);
}

/* Whoever doesn't hear of it sends into the void: a message may be lost, so it is said three times, 100 us apart. */
LEAF_TEST(spray_uplinks, LF_DOWN_is_said_again_lest_it_was_lost)
{
	struct snapshot *down;
	uint32_t said_down = 0;

	meet();
	down = snapshot_copy(talk.fixture.snapshot);
	down->port[UP].link_up = false;
	down->adjacency[UP].weight = 0;
	fixture_publish(&talk.fixture, down);
	talk_poll();
	talk_pass(350 * PS_PER_US);
	for (uint32_t i = 0; i < talk.messages; i++) {
		if (talk.message[i].type != SPRAY_HELLO)
			continue;
		cr_expect_eq(talk.message_port[i], UP + 1);
		cr_expect_not(talk.message[i].hello.uplink[0].up);
		said_down++;
	}
	cr_expect_eq(said_down, 3, "%u", said_down);
}
