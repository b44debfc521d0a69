/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire clock: pacing, run-ahead, late polls, devices that take a part, links that go down. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "tests/unit/egress_fixture.h"

#define G UINT64_C(1000000000)
#define M UINT64_C(1000000)

static struct leaf_fixture f;
static struct recorder sent;

static void start(void)
{
	fixture_start_eal();
	egress_open(&f, G);
}

static void finish(void)
{
	record_free(&sent);
	fixture_close(&f);
}

static void pace(uint64_t rate_bps, uint64_t run_ahead_ps, uint64_t catch_up_ps)
{
	struct snapshot *snapshot = egress_snapshot(&f);

	snapshot_port_rate(snapshot, OUT, rate_bps, run_ahead_ps, catch_up_ps);
	fixture_publish(&f, snapshot);
}

static uint64_t lasts_ps(uint32_t bytes, uint64_t rate_bps)
{
	return (uint64_t)(wire_bits_ps(bytes) / rate_bps);
}

static void inject_many(uint32_t count, uint32_t bytes_max, uint64_t *state)
{
	for (uint32_t i = 0; i < count; i++)
		egress_inject(&f, (uint8_t)draw(state, 8), 60 + draw(state, bytes_max - 59), i);
}

LEAF_TEST(wire, frames_are_spaced_to_the_picosecond_at_any_rate)
{
	static const uint64_t rates[] = {M,         100 * M,  G,       3 * G,       7 * G,
					 10 * G,    25 * G,   100 * G, 400 * G,     800 * G,
					 999999937, 1600 * G, 1234567, 149999999999};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		unsigned __int128 bits_ps = 0;
		uint64_t begin_ps, state = r;

		pace(rates[r], 0, 0);
		f.now_ps += 10 * PS_PER_S;
		sent.count = 0;
		inject_many(500, 9000, &state);
		begin_ps = f.now_ps;
		record_all(&f, &sent);
		cr_assert_eq(sent.count, 500);
		for (uint32_t i = 0; i < sent.count; i++) {
			cr_assert_eq(sent.record[i].at_ps - begin_ps,
				     (uint64_t)(bits_ps / rates[r]), "%" PRIu64 " bit/s, frame %u",
				     rates[r], i);
			bits_ps += wire_bits_ps(sent.record[i].bytes);
		}
	}
}

LEAF_TEST(wire, a_64_byte_frame_at_400g_lasts_1680_ps)
{
	pace(400 * G, 0, 0);
	f.now_ps += PS_PER_S;
	for (uint32_t i = 0; i < 32; i++)
		egress_inject(&f, 0, 60, i);
	record_all(&f, &sent);
	for (uint32_t i = 1; i < 32; i++)
		cr_assert_eq(sent.record[i].at_ps - sent.record[i - 1].at_ps, 1680);
}

/*
 * What the device holds at most: by any time t, frames whose start lies at most `ahead` behind the time
 * that has gone by since the wire was last free.
 */
static void check_ahead(uint64_t begin_ps, uint64_t rate_bps, uint64_t ahead_ps)
{
	unsigned __int128 bits_ps = 0;

	for (uint32_t i = 0; i < sent.count; i++) {
		uint64_t starts_ps = begin_ps + (uint64_t)(bits_ps / rate_bps);

		cr_assert(!time_after(starts_ps, sent.record[i].at_ps + ahead_ps),
			  "frame %u goes %" PRIu64 " ps ahead", i,
			  starts_ps - sent.record[i].at_ps);
		bits_ps += wire_bits_ps(sent.record[i].bytes);
	}
}

LEAF_TEST(wire, run_ahead_is_never_exceeded_and_the_wire_never_rests)
{
	static const uint64_t aheads[] = {0, 1, 999, PS_PER_US, 20 * PS_PER_US, PS_PER_MS};

	for (size_t a = 0; a < sizeof(aheads) / sizeof(aheads[0]); a++) {
		unsigned __int128 bits_ps = 0;
		uint64_t begin_ps, state = a;

		pace(10 * G, aheads[a], 0);
		f.now_ps += PS_PER_S;
		sent.count = 0;
		inject_many(700, 1500, &state);
		begin_ps = f.now_ps;
		record_all(&f, &sent);
		check_ahead(begin_ps, 10 * G, aheads[a]);
		/* Polled when it is due, the device has half of its run-ahead left each time. */
		for (uint32_t i = 0; i < sent.count; i++) {
			uint64_t starts_ps = begin_ps + (uint64_t)(bits_ps / (10 * G));

			cr_assert(!time_after(sent.record[i].at_ps + aheads[a] / 2, starts_ps) ||
					  sent.record[i].at_ps == begin_ps,
				  "frame %u is late", i);
			bits_ps += wire_bits_ps(sent.record[i].bytes);
		}
	}
}

LEAF_TEST(wire, polls_at_other_times_do_not_exceed_run_ahead)
{
	uint64_t begin_ps, state = 7;

	pace(10 * G, 5 * PS_PER_US, 0);
	f.now_ps += PS_PER_S;
	begin_ps = f.now_ps;
	inject_many(700, 1500, &state);
	for (uint32_t polls = 0; polls < 5000; polls++) {
		fixture_poll(&f);
		record_now(&f, &sent);
		f.now_ps += draw(&state, 300) * PS_PER_NS;
	}
	check_ahead(begin_ps, 10 * G, 5 * PS_PER_US);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, 700);
}

/* Bytes that were handed over at one time, as their time on the wire; without the last frame. */
static uint64_t at_once_ps(uint32_t first, uint64_t rate_bps)
{
	unsigned __int128 bits_ps = 0;

	for (uint32_t i = first; i + 1 < sent.count; i++)
		bits_ps += wire_bits_ps(sent.record[i].bytes);
	return (uint64_t)(bits_ps / rate_bps);
}

LEAF_TEST(wire, an_idle_wire_saves_no_time)
{
	uint64_t state = 1;

	/* It may be late by 1 ms when frames wait, which is no reason for a burst when none did. */
	pace(G, 10 * PS_PER_US, PS_PER_MS);
	for (uint32_t round = 0; round < 4; round++) {
		f.now_ps += round * PS_PER_S + 20 * PS_PER_MS;
		fixture_poll(&f);
		sent.count = 0;
		inject_many(200, 1500, &state);
		while (fixture_poll(&f) == f.now_ps)
			continue;
		record_now(&f, &sent);
		cr_assert_leq(at_once_ps(0, G), 10 * PS_PER_US, "round %u", round);
		record_all(&f, &sent);
		cr_assert_eq(sent.count, 200);
	}
}

LEAF_TEST(wire, frames_that_a_shaper_holds_save_no_time_on_the_wire)
{
	struct snapshot *snapshot = egress_snapshot(&f);
	uint64_t state = 1;

	egress_strict(snapshot, 7, M);
	snapshot_port_rate(snapshot, OUT, G, 10 * PS_PER_US, PS_PER_MS);
	fixture_publish(&f, snapshot);
	f.now_ps += PS_PER_S;
	for (uint32_t i = 0; i < 4; i++)
		egress_inject(&f, 7, 1000, i); /* 8 ms each */
	record_until(&f, &sent, f.now_ps + 5 * PS_PER_MS);
	cr_assert_gt(fixture_queued(&f), 0);
	sent.count = 0;
	inject_many(200, 1500, &state);
	while (fixture_poll(&f) == f.now_ps)
		continue;
	record_now(&f, &sent);
	cr_assert_leq(at_once_ps(0, G), 10 * PS_PER_US);
	record_all(&f, &sent);
}

LEAF_TEST(wire, a_late_poll_makes_good_up_to_its_bound)
{
	uint64_t begin_ps, state = 2;
	uint32_t first;

	pace(G, 0, PS_PER_MS);
	f.now_ps += PS_PER_S;
	begin_ps = f.now_ps;
	inject_many(1000, 1500, &state);
	record_until(&f, &sent, begin_ps + PS_PER_MS);
	/* 600 us late: all of it is made good, as if nothing had been. */
	f.now_ps += 600 * PS_PER_US;
	while (fixture_poll(&f) == f.now_ps)
		continue;
	record_now(&f, &sent);
	cr_assert_geq(at_once_ps(0, G) + lasts_ps(1500, G) * 2, f.now_ps - begin_ps);
	check_ahead(begin_ps, G, 0);
	/* 5 ms late: 1 ms of it. */
	first = sent.count;
	f.now_ps += 5 * PS_PER_MS;
	while (fixture_poll(&f) == f.now_ps)
		continue;
	record_now(&f, &sent);
	cr_assert_leq(at_once_ps(first, G), PS_PER_MS);
	cr_assert_geq(at_once_ps(first, G) + lasts_ps(1500, G) * 2, PS_PER_MS);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, 1000);
}

LEAF_TEST(wire, without_catching_up_a_late_poll_is_lost)
{
	uint64_t state = 2;
	uint32_t first;

	pace(G, 0, 0);
	f.now_ps += PS_PER_S;
	inject_many(500, 1500, &state);
	record_until(&f, &sent, f.now_ps + PS_PER_MS);
	first = sent.count;
	f.now_ps += 600 * PS_PER_US;
	fixture_poll(&f);
	record_now(&f, &sent);
	cr_assert_eq(sent.count, first + 1, "one frame, no more");
	record_all(&f, &sent);
}

/* Frames of each class must come out in order, all of them, each once. */
static void check_order(uint32_t count)
{
	uint32_t next[PRIORITY_COUNT] = {0};

	cr_assert_eq(sent.count, count);
	for (uint32_t i = 0; i < sent.count; i++) {
		cr_assert_geq(sent.record[i].number, next[sent.record[i].priority],
			      "frame %u of class %u", sent.record[i].number,
			      sent.record[i].priority);
		next[sent.record[i].priority] = sent.record[i].number + 1;
	}
}

LEAF_TEST(wire, a_device_that_takes_a_part_gets_each_frame_once_in_order)
{
	uint64_t state = 3, begin_ps;
	struct port_totals totals;
	unsigned __int128 bits_ps = 0;

	pace(100 * G, 10 * PS_PER_US, 0);
	f.now_ps += PS_PER_S;
	begin_ps = f.now_ps;
	inject_many(900, 1500, &state);
	for (uint32_t polls = 0; fixture_queued(&f) != 0 || polls == 0; polls++) {
		cr_assert_lt(polls, 100000);
		memory_io_limit(f.memory[OUT], (uint16_t)draw(&state, 5));
		fixture_poll(&f);
		record_now(&f, &sent);
		f.now_ps = time_max(f.now_ps, f.due_ps);
	}
	check_order(900);
	/* Nothing was charged twice: the wire's clock says what 900 frames last. */
	for (uint32_t i = 0; i < sent.count; i++)
		bits_ps += wire_bits_ps(sent.record[i].bytes);
	memory_io_limit(f.memory[OUT], UINT16_MAX);
	cr_assert_geq(f.now_ps - begin_ps,
		      (uint64_t)(bits_ps / (100 * G)) - 10 * PS_PER_US - lasts_ps(1500, 100 * G));
	leaf_port_totals(f.leaf, OUT, &totals);
	cr_assert_eq(totals.tx_packets, 900);
	cr_assert_gt(totals.tx_retries, 0);
	cr_assert_eq(drops_total(&f), 0);
}

LEAF_TEST(wire, a_device_that_takes_nothing_for_a_while_costs_no_rate_later)
{
	uint64_t state = 4, begin_ps;

	pace(10 * G, 10 * PS_PER_US, 0);
	f.now_ps += PS_PER_S;
	inject_many(800, 1500, &state);
	memory_io_limit(f.memory[OUT], 0);
	record_until(&f, &sent, f.now_ps + 5 * PS_PER_MS);
	cr_assert_eq(sent.count, 0);
	memory_io_limit(f.memory[OUT], UINT16_MAX);
	begin_ps = f.now_ps;
	record_all(&f, &sent);
	check_order(800);
	/* From then on at the rate: what was staged was charged when it was scheduled. */
	check_ahead(begin_ps, 10 * G, 10 * PS_PER_US + 33 * lasts_ps(1500, 10 * G));
}

LEAF_TEST(wire, what_a_device_left_goes_by_priority)
{
	uint64_t state = 8;
	uint8_t last = 7;

	pace(100 * G, 10 * PS_PER_US, 0);
	f.now_ps += PS_PER_S;
	memory_io_limit(f.memory[OUT], 0);
	/* A burst that is staged as a whole. */
	for (uint32_t i = 0; i < 32; i++)
		egress_inject(&f, (uint8_t)draw(&state, 8), 100, i);
	fixture_poll(&f);
	memory_io_limit(f.memory[OUT], UINT16_MAX);
	record_all(&f, &sent);
	check_order(32);
	for (uint32_t i = 0; i < 32; i++) {
		cr_assert_leq(sent.record[i].priority, last);
		last = sent.record[i].priority;
	}
}

LEAF_TEST(wire, LF_FLUSH_frames_of_a_link_that_goes_down_are_counted)
{
	struct snapshot *down;
	uint64_t state = 5;

	pace(G, 0, 0);
	f.now_ps += PS_PER_S;
	memory_io_limit(f.memory[OUT], 0);
	inject_many(300, 1500, &state);
	while (fixture_poll(&f) == f.now_ps)
		continue;
	cr_assert_eq(fixture_queued(&f), 300, "some of them staged");
	down = egress_snapshot(&f);
	down->port[OUT].link_up = false;
	fixture_publish(&f, down);
	cr_assert_eq(fixture_queued(&f), 0);
	cr_assert_eq(drops_of(&f, DROP_LINK_DOWN), 300);
	inject_many(50, 1500, &state);
	fixture_settle(&f);
	cr_assert_eq(drops_of(&f, DROP_LINK_DOWN), 350, "what comes now, too");
	cr_assert_eq(drops_total(&f), 350);

	down = egress_snapshot(&f);
	down->port[OUT].link_up = true;
	fixture_publish(&f, down);
	memory_io_limit(f.memory[OUT], UINT16_MAX);
	inject_many(100, 1500, &state);
	record_all(&f, &sent);
	check_order(100);
}

LEAF_TEST(wire, changes_of_rate_lose_nothing_and_keep_the_bound)
{
	static const uint64_t rates[] = {100 * M, G, 10 * G, 3 * G, 100 * G, 2500 * M};
	uint64_t state = 6, free_ps;

	f.now_ps += PS_PER_S;
	free_ps = f.now_ps;
	inject_many(900, 1500, &state);
	for (uint32_t polls = 0, rate = 1; fixture_queued(&f) != 0 || polls == 0; polls++) {
		uint32_t first = sent.count;

		cr_assert_lt(polls, 100000);
		fixture_poll(&f);
		record_now(&f, &sent);
		/* A frame starts when the wire has sent the one before, at the rate of its time. */
		for (uint32_t i = first; i < sent.count; i++) {
			cr_assert(!time_after(free_ps, f.now_ps),
				  "frame %u starts %" PRIu64 " ps before the wire is free", i,
				  free_ps - f.now_ps);
			free_ps = f.now_ps + lasts_ps(sent.record[i].bytes, rates[rate]);
		}
		if (draw(&state, 10) == 0 && f.due_ps - f.now_ps > PS_PER_NS) {
			/* While a frame is on the wire. */
			rate = draw(&state, sizeof(rates) / sizeof(rates[0]));
			f.now_ps += draw(&state, (uint32_t)((f.due_ps - f.now_ps) / PS_PER_NS)) *
				    PS_PER_NS;
			pace(rates[rate], 0, 0);
			record_now(&f, &sent);
			cr_assert_eq(sent.count, first + 1);
		}
		f.now_ps = time_max(f.now_ps, f.due_ps);
	}
	check_order(900);
	cr_assert_eq(drops_total(&f), 0);
}

/* --- the far ends of time --- */

/* A busy second of everything, recorded; times relative to its start. */
static void busy_run(uint64_t start_ps)
{
	struct snapshot *snapshot;
	uint64_t state = 9;

	egress_open_at(&f, 3 * G, start_ps);
	snapshot = egress_snapshot(&f);
	egress_strict(snapshot, 7, 100 * M);
	snapshot_port_rate(snapshot, OUT, 3 * G, 3 * PS_PER_US, 50 * PS_PER_US);
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 400; i++) {
		egress_inject(&f, (uint8_t)draw(&state, 8), 60 + draw(&state, 1500), i);
		memory_io_limit(f.memory[OUT], draw(&state, 10) == 0 ? 1 : UINT16_MAX);
		record_until(&f, &sent, f.now_ps + draw(&state, 4) * PS_PER_US);
	}
	memory_io_limit(f.memory[OUT], UINT16_MAX);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, 400);
	for (uint32_t i = 0; i < sent.count; i++)
		sent.record[i].at_ps -= start_ps;
}

Test(wire, a_start_just_before_the_clock_wraps_changes_nothing)
{
	static const uint64_t starts[] = {
		UINT64_MAX - 100 * PS_PER_US,
		UINT64_MAX - PS_PER_MS,
		UINT64_MAX,
		(UINT64_C(1) << 63) - 200 * PS_PER_US,
		1,
	};
	struct recorder wanted;

	fixture_start_eal();
	busy_run(0);
	fixture_close(&f);
	wanted = sent;
	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		memset(&sent, 0, sizeof(sent));
		busy_run(starts[i]);
		for (uint32_t k = 0; k < wanted.count; k++)
			cr_assert(sent.record[k].at_ps == wanted.record[k].at_ps &&
					  sent.record[k].number == wanted.record[k].number,
				  "start at %" PRIu64 ", frame %u", starts[i], k);
		finish();
	}
	record_free(&wanted);
}

/* DESIGN.md: no stored time grows older than a day. A quiet leaf must work after half a year. */
LEAF_TEST(wire, a_port_that_was_quiet_for_months_sends_at_once)
{
	struct snapshot *snapshot = egress_snapshot(&f);

	egress_strict(snapshot, 7, 100 * M);
	fixture_publish(&f, snapshot);
	for (uint32_t month = 1; month <= 7; month++) {
		egress_inject(&f, 0, 1000, 2 * month);
		egress_inject(&f, 7, 1000, 2 * month + 1);
		sent.count = 0;
		record_until(&f, &sent, f.now_ps + PS_PER_MS);
		cr_assert_eq(sent.count, 2, "month %u", month);
		/*
		 * Times compare right over 2562 hours, and the clock wraps after twice as many. A
		 * worker never sleeps longer than the hour between these polls.
		 */
		for (uint32_t hour = 0; hour < month * 700; hour++) {
			f.now_ps += 3600 * PS_PER_S;
			fixture_poll(&f);
		}
	}
}
