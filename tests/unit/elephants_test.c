/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "dataplane/balance/elephants.h"

#define WINDOW_PS    (50 * PS_PER_US)
#define FADE_WINDOWS 3
#define IDLE_PS      PS_PER_MS
#define ACTIVE_BYTES 30000
#define ALL_UP       0xffu

static struct elephants elephants;

static void start(void)
{
	const struct elephants_params params = {
		.flows = 1,
		.active_bytes = ACTIVE_BYTES,
		.window_ps = WINDOW_PS,
		.fade_windows = FADE_WINDOWS,
		.idle_ps = IDLE_PS,
		.seed = 1,
	};

	cr_assert(elephants_init(&elephants, &params));
}

static void stop(void)
{
	elephants_fini(&elephants);
}

TestSuite(elephants, .init = start, .fini = stop);

static struct balance_key key_of(uint32_t i)
{
	return (struct balance_key){.addresses = 0x0a0000010a000002 + i, .flow = 7 << 8};
}

static struct elephant *send(uint32_t i, uint32_t bytes, uint8_t uplink, uint32_t up,
			     uint64_t now_ps)
{
	const struct balance_key key = key_of(i);

	return elephants_packet(&elephants, &key,
				&(struct elephants_packet){.bytes = bytes, .uplink = uplink}, up,
				now_ps);
}

static uint32_t count_at(uint64_t now_ps)
{
	elephants_sweep(&elephants, now_ps);
	return elephants.count;
}

/*
 * In one window after the other, all of a window's bytes at its begin, behind a small first packet. @return the end of
 * the last one
 */
static uint64_t send_windows(uint32_t i, const uint32_t *bytes, uint32_t windows, uint64_t now_ps)
{
	send(i, 100, 0, ALL_UP, now_ps);
	for (uint32_t w = 0; w < windows; w++, now_ps += WINDOW_PS)
		send(i, bytes[w] - (w == 0 ? 100 : 0), 0, ALL_UP, now_ps);
	return now_ps;
}

Test(elephants, are_flows_that_fill_a_window_and_go_on)
{
	static const struct {
		const char *name;
		uint32_t bytes[6];
		uint32_t windows;
		bool elephant;
	} rows[] = {
		{"one window only", {10 * ACTIVE_BYTES}, 1, false},
		{"goes on", {ACTIVE_BYTES, 1}, 2, true},
		{"a byte less", {ACTIVE_BYTES - 1, ACTIVE_BYTES}, 2, false},
		{"half is enough then",
		 {ACTIVE_BYTES, ACTIVE_BYTES / 2, ACTIVE_BYTES / 2, 1},
		 4,
		 true},
		{"less than half isn't, in three windows on end",
		 {ACTIVE_BYTES, ACTIVE_BYTES / 2 - 1, ACTIVE_BYTES / 2 - 1, ACTIVE_BYTES / 2 - 1,
		  1},
		 5,
		 false},
		{"but if one of them brings it",
		 {ACTIVE_BYTES, ACTIVE_BYTES / 2 - 1, ACTIVE_BYTES / 2 - 1, ACTIVE_BYTES / 2,
		  ACTIVE_BYTES / 2 - 1, 1},
		 6,
		 true},
	};

	for (uint32_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t begin_ps = i * PS_PER_S, end_ps;

		end_ps = send_windows(i, rows[i].bytes, rows[i].windows, begin_ps);
		elephants_sweep(&elephants, end_ps - 1);
		cr_expect_eq(elephants.count, rows[i].elephant, "%s", rows[i].name);
	}
}

/* Its congestion controller may have stopped it. */
Test(elephants, are_none_any_more_some_windows_after_they_stop)
{
	static const uint32_t fading[] = {ACTIVE_BYTES, 1};
	static const uint32_t bytes[] = {ACTIVE_BYTES, ACTIVE_BYTES};
	uint64_t end_ps = send_windows(0, bytes, 2, 0);

	cr_expect_eq(count_at(end_ps + FADE_WINDOWS * WINDOW_PS - 1), 1);
	cr_expect_eq(count_at(end_ps + FADE_WINDOWS * WINDOW_PS), 0);
	/* The last window brought too little, too. */
	end_ps = send_windows(1, fading, 2, PS_PER_S);
	cr_expect_eq(count_at(end_ps + (FADE_WINDOWS - 1) * WINDOW_PS - 1), 1);
	cr_expect_eq(count_at(end_ps + (FADE_WINDOWS - 1) * WINDOW_PS), 0);
}

Test(elephants, are_none_any_more_a_window_after_the_end_of_their_only_message)
{
	static const uint32_t bytes[] = {ACTIVE_BYTES, ACTIVE_BYTES};
	const struct elephants_packet last = {.bytes = 1, .ends = true};
	const struct balance_key key = key_of(0);
	uint64_t last_ps = send_windows(0, bytes, 2, 0) - 1;

	elephants_packet(&elephants, &key, &last, ALL_UP, last_ps);
	cr_expect_eq(count_at(last_ps + WINDOW_PS - 1), 1);
	/* Another message: there will be more of them, as in a ring. */
	send(0, ACTIVE_BYTES, 0, ALL_UP, last_ps + WINDOW_PS - 1);
	elephants_packet(&elephants, &key, &last, ALL_UP, last_ps + WINDOW_PS);
	cr_expect_eq(count_at(last_ps + 2 * WINDOW_PS), 1);

	stop();
	start();
	last_ps = send_windows(0, bytes, 2, 0) - 1;
	elephants_packet(&elephants, &key, &last, ALL_UP, last_ps);
	cr_expect_eq(count_at(last_ps + WINDOW_PS), 0);
}

Test(elephants, are_new_flows_with_a_large_first_packet_for_a_window)
{
	struct elephant *flow = send(0, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, 0);

	cr_expect(flow->fresh);
	cr_expect_not(send(1, ELEPHANTS_LARGE_BYTES - 1, 0, ALL_UP, 0)->fresh);
	cr_expect_eq(count_at(WINDOW_PS - 1), 1);
	cr_expect_eq(count_at(WINDOW_PS), 0, "it was none");
	send(2, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, WINDOW_PS);
	send(2, ACTIVE_BYTES / 2, 0, ALL_UP, WINDOW_PS);
	cr_expect_eq(count_at(2 * WINDOW_PS), 1);
}

/* A new flow and one whose entry was given away look alike: the latter mustn't leave its path. */
Test(elephants, none_is_fresh_while_one_may_be_on_its_way_unseen)
{
	static const struct {
		const char *name;
		uint32_t mice;
		bool late, other;
		uint64_t until_ps; /* the second flow of these pushes a mouse out, too */
	} rows[] = {
		{"a packet went by", 0, false, true, IDLE_PS},
		{"flows were sent before", 0, true, false, IDLE_PS},
		{"a mouse gave way to another", 400, false, false, 2 * IDLE_PS - 1},
	};
	const uint64_t at_ps = PS_PER_S;

	for (uint32_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		stop();
		start();
		elephants.late = rows[row].late;
		if (!rows[row].late)
			cr_expect(send(0, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, 0)->fresh);
		if (rows[row].other)
			elephants_blind(&elephants, at_ps);
		for (uint32_t i = 0; i < rows[row].mice; i++)
			send(10 + i, 100, 0, ALL_UP, at_ps);
		cr_expect_not(send(1, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, at_ps)->fresh, "%s",
			      rows[row].name);
		cr_expect_not(send(2, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, at_ps + IDLE_PS - 1)->fresh,
			      "%s", rows[row].name);
		cr_expect(send(3, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, at_ps + rows[row].until_ps)
				  ->fresh,
			  "%s", rows[row].name);
	}
}

Test(elephants, new_flows_have_half_of_the_list)
{
	elephants_fini(&elephants);
	cr_assert(elephants_init(&elephants, &(struct elephants_params){
						     .flows = 4096,
						     .active_bytes = ACTIVE_BYTES,
						     .window_ps = WINDOW_PS,
						     .fade_windows = FADE_WINDOWS,
						     .idle_ps = IDLE_PS,
					     }));
	for (uint32_t i = 0; i < ELEPHANTS_MAX; i++)
		send(i, ELEPHANTS_LARGE_BYTES, 0, ALL_UP, 0);
	cr_expect_eq(elephants.count, ELEPHANTS_MAX / 2);
}

Test(elephants, stay_what_they_are_while_they_move)
{
	static const uint32_t bytes[] = {ACTIVE_BYTES, ACTIVE_BYTES};
	uint64_t end_ps = send_windows(0, bytes, 2, 0);
	struct elephant *flow = elephants.list[0];

	flow->moving = true;
	elephants_sweep(&elephants, end_ps + 10 * WINDOW_PS);
	cr_expect_eq(elephants.count, 1);
	flow->moving = false;
	elephant_renew(flow, end_ps + 10 * WINDOW_PS);
	elephants_sweep(&elephants, end_ps + 11 * WINDOW_PS - 1);
	cr_expect_eq(elephants.count, 1);
}

Test(elephants, go_by_their_hash_until_they_are_moved)
{
	struct elephant *flow = send(0, 100, 3, ALL_UP, 0);

	cr_expect_eq(flow->uplink, 3);
	flow->uplink = 5;
	flow->moved = true;
	cr_expect_eq(send(0, 100, 3, ALL_UP, 10)->uplink, 5);
	cr_expect_eq(send(0, 100, 3, ALL_UP, 10 + IDLE_PS - 1)->uplink, 5);
	/* Its host may have been paused by what waits on that uplink. */
	cr_expect_eq(send(0, 100, 3, ALL_UP, 9 + 2 * IDLE_PS)->uplink, 5);
	cr_expect(elephant_movable(flow, 9 + 2 * IDLE_PS));
}

Test(elephants, leave_an_uplink_that_goes_down)
{
	struct elephant *flow = send(0, 100, 3, ALL_UP, 0);

	flow->uplink = 5;
	flow->moved = true;
	cr_expect_eq(send(0, 100, 3, ALL_UP & ~(1u << 5), 10)->uplink, 3);
	cr_expect_not(elephant_movable(flow, 9 + IDLE_PS));
	cr_expect(elephant_movable(flow, 10 + IDLE_PS));
}

Test(elephants, are_not_movable_while_packets_may_be_on_two_paths)
{
	struct elephant *flow = send(0, 100, 3, ALL_UP, 0);

	cr_expect(elephant_movable(flow, 0));
	cr_expect_eq(send(0, 100, 4, ALL_UP, 10)->uplink, 4);
	cr_expect_not(elephant_movable(flow, 9 + IDLE_PS));
	cr_expect(elephant_movable(flow, 10 + IDLE_PS));
}

Test(elephants, forget_their_uplink_when_another_leaf_serves_them)
{
	const struct balance_key key = key_of(0);
	struct elephant *flow = send(0, 100, 3, ALL_UP, 0);

	flow->uplink = 5;
	flow->moved = true;
	elephants_packet(&elephants, &key, &(struct elephants_packet){.peer = 1, .uplink = 3},
			 ALL_UP, 10);
	cr_expect_eq(flow->uplink, 3);
	cr_expect_not(elephant_movable(flow, 10));
}

/* 64 entries: 16 buckets of four. */
Test(elephants, are_not_pushed_out_by_mice)
{
	static const uint32_t bytes[] = {ACTIVE_BYTES, ACTIVE_BYTES};
	uint64_t end_ps = 0, listed, placed = 0;

	for (uint32_t i = 0; i < 200; i++)
		end_ps = send_windows(i, bytes, 2, 0);
	elephants_sweep(&elephants, end_ps - 1);
	listed = elephants.count;
	cr_expect_gt(listed, 32);
	cr_expect_leq(listed, 64);
	cr_expect_gt(elephants.unplaced, 0);
	for (uint32_t i = 1000; i < 3000; i++)
		placed += send(i, 100, 0, ALL_UP, end_ps - 1) != NULL;
	cr_expect_lt(placed, 2000);
	cr_expect_eq(elephants.count, listed);
	for (uint32_t i = 0; i < elephants.count; i++)
		cr_expect_lt(elephants.list[i]->key.addresses, key_of(200).addresses);
}

Test(elephants, mice_give_way_to_new_flows_unless_moved)
{
	struct elephant *flow = send(0, 100, 3, ALL_UP, 0);
	const struct balance_key key = key_of(0);

	flow->uplink = 5;
	flow->moved = true;
	for (uint32_t i = 1; i < 3000; i++)
		cr_expect_not_null(send(i, 100, 0, ALL_UP, i));
	cr_expect(balance_key_equal(&flow->key, &key));
	for (uint32_t i = 3000; i < 6000; i++)
		send(i, 100, 0, ALL_UP, IDLE_PS + i);
	cr_expect_not(balance_key_equal(&flow->key, &key), "it has been idle");
}
