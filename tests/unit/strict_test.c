/* SPDX-License-Identifier: BSD-3-Clause */
/* Strict priorities, and shapers on them. */
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

/* Time that bytes (with their 24 more) last at a rate, rounded down. */
static uint64_t lasts_ps(uint32_t bytes, uint64_t rate_bps)
{
	return (uint64_t)(wire_bits_ps(bytes) / rate_bps);
}

LEAF_TEST(strict, SCH_SP_the_highest_goes_first)
{
	struct snapshot *snapshot = egress_snapshot(&f);
	uint64_t state = 1;
	uint8_t last = 7;

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		egress_strict(snapshot, p, 0);
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 800; i++)
		egress_inject(&f, (uint8_t)draw(&state, 8), 60 + draw(&state, 1400), i);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, 800);
	for (uint32_t i = 1; i < sent.count; i++) {
		/* The first burst came in while the wire was free; after that all are there. */
		if (i > 32)
			cr_assert_leq(sent.record[i].priority, last);
		last = sent.record[i].priority;
	}
}

LEAF_TEST(strict, SCH_SP_a_frame_waits_for_one_other_at_most)
{
	uint64_t state = 2;
	uint32_t waiting = 0;

	for (uint32_t i = 0; i < 900; i++)
		egress_inject(&f, (uint8_t)draw(&state, 6), 1500, 0);
	fixture_poll(&f);
	for (uint32_t number = 1; number <= 100; number++) {
		uint64_t arrival_ps = f.now_ps + draw(&state, 50000) * PS_PER_NS;
		uint32_t before;

		record_until(&f, &sent, arrival_ps);
		before = sent.count;
		egress_inject(&f, 6, 200, number);
		fixture_poll(&f);
		record_until(&f, &sent, arrival_ps + lasts_ps(1500, G));
		cr_assert_gt(sent.count, before, "the wire was free by then");
		cr_assert_eq(sent.record[before].number, number, "nobody goes before it");
		cr_assert_leq(sent.record[before].at_ps - arrival_ps, lasts_ps(1500, G));
		waiting += sent.record[before].at_ps != arrival_ps;
	}
	cr_assert_gt(waiting, 50, "the wire was busy");
	record_all(&f, &sent);
}

LEAF_TEST(strict, SCH_SP_a_busy_one_starves_those_below)
{
	uint32_t others = 0;

	for (uint32_t i = 0; i < 500; i++)
		egress_inject(&f, 7, 1000, i);
	for (uint32_t i = 0; i < 100; i++) {
		egress_inject(&f, 6, 1000, i);
		egress_inject(&f, 0, 1000, i);
	}
	record_until(&f, &sent, f.now_ps + 499 * 8192 * PS_PER_NS);
	for (uint32_t i = 0; i < sent.count; i++)
		others += sent.record[i].priority != 7;
	cr_assert_eq(others, 0);
	record_all(&f, &sent);
	for (uint32_t i = 500; i < 600; i++)
		cr_assert_eq(sent.record[i].priority, 6);
}

static void shape(uint8_t priority, uint64_t rate_bps, uint32_t rate_ppm)
{
	struct snapshot *snapshot = egress_snapshot(&f);

	egress_strict(snapshot, priority, rate_bps);
	snapshot->class[priority].max_rate_ppm = rate_ppm;
	fixture_publish(&f, snapshot);
}

/* Alone on the wire, each frame goes when the one before has had its time at the shaper's rate. */
static void check_alone(uint64_t rate_bps, uint32_t rate_ppm, uint64_t wanted_bps)
{
	unsigned __int128 bits_ps = 0;
	uint64_t begin_ps, state = wanted_bps;

	shape(7, rate_bps, rate_ppm);
	f.now_ps += PS_PER_S;
	sent.count = 0;
	for (uint32_t i = 0; i < 300; i++)
		egress_inject(&f, 7, 60 + draw(&state, 3000), i);
	begin_ps = f.now_ps;
	record_all(&f, &sent);
	cr_assert_eq(sent.count, 300);
	for (uint32_t i = 0; i < sent.count; i++) {
		uint64_t shaped_ps = (uint64_t)(bits_ps / wanted_bps);

		cr_assert_eq(sent.record[i].at_ps - begin_ps, shaped_ps,
			     "%" PRIu64 " bit/s, frame %u: %" PRIu64 " ps, should be %" PRIu64,
			     wanted_bps, i, sent.record[i].at_ps - begin_ps, shaped_ps);
		bits_ps += wire_bits_ps(sent.record[i].bytes);
	}
}

LEAF_TEST(strict, a_shaper_alone_is_exact_to_the_picosecond)
{
	check_alone(100 * M, 0, 100 * M);
	check_alone(333 * M, 0, 333 * M); /* 24.024024... ns a byte */
	check_alone(999999937, 0, 999999937);
	check_alone(0, 200000, 200 * M); /* a share of the port's rate */
	check_alone(0, 1, 1000);
	check_alone(64000, 0, 64000);
}

LEAF_TEST(strict, a_shaper_runs_ahead_as_far_as_the_wire)
{
	const uint64_t ahead_ps = 200 * PS_PER_US;
	struct snapshot *snapshot = egress_snapshot(&f);
	unsigned __int128 bits_ps = 0;
	uint64_t begin_ps;

	egress_strict(snapshot, 7, 100 * M);
	snapshot_port_rate(snapshot, OUT, G, ahead_ps, 0);
	fixture_publish(&f, snapshot);
	f.now_ps += PS_PER_S;
	begin_ps = f.now_ps;
	for (uint32_t i = 0; i < 100; i++)
		egress_inject(&f, 7, 1000, i);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, 100);
	for (uint32_t i = 0; i < sent.count; i++) {
		uint64_t shaped_ps = (uint64_t)(bits_ps / (100 * M));

		cr_assert_eq(sent.record[i].at_ps - begin_ps,
			     shaped_ps < ahead_ps ? 0 : shaped_ps - ahead_ps, "frame %u", i);
		bits_ps += wire_bits_ps(1000);
	}
}

/*
 * A shaped class among long frames: it may be late by the one that is on the wire, but never loses
 * rate by it, and never goes faster than its rate but to make good for that.
 */
LEAF_TEST(strict, SCH_SP_a_shaped_class_keeps_its_rate_among_long_frames)
{
	static const uint64_t rates[] = {50 * M, 200 * M, 333 * M, 900 * M};

	for (size_t r = 0; r < sizeof(rates) / sizeof(rates[0]); r++) {
		unsigned __int128 bits_ps = 0;
		uint64_t begin_ps = 0, late_ps = lasts_ps(9000, G), due_ps = 0;
		uint32_t shaped = 0;

		shape(7, rates[r], 0);
		f.now_ps += PS_PER_S;
		sent.count = 0;
		for (uint32_t i = 0; i < 200; i++)
			egress_inject(&f, 7, 1000, i);
		for (uint32_t i = 0; i < 800; i++)
			egress_inject(&f, 0, 9000, 1000 + i);
		begin_ps = f.now_ps;
		record_all(&f, &sent);
		for (uint32_t i = 0; i < sent.count && shaped < 200; i++) {
			if (sent.record[i].priority != 7)
				continue;
			due_ps = begin_ps + (uint64_t)(bits_ps / rates[r]);
			cr_assert(!time_after(due_ps, sent.record[i].at_ps),
				  "%" PRIu64 " bit/s: frame %u is early", rates[r], shaped);
			cr_assert_leq(sent.record[i].at_ps - due_ps, late_ps,
				      "%" PRIu64 " bit/s: frame %u is %" PRIu64 " ps late, the wire"
				      " was busy for %" PRIu64 " at most",
				      rates[r], shaped, sent.record[i].at_ps - due_ps, late_ps);
			bits_ps += wire_bits_ps(1000);
			shaped++;
		}
		cr_assert_eq(shaped, 200);
	}
}

LEAF_TEST(strict, SCH_SP_below_its_rate_a_shaper_is_not_felt)
{
	shape(7, 200 * M, 0);
	f.now_ps += PS_PER_S;
	/* A frame of 1000 bytes each 50 us: 164 Mb/s with their overhead. */
	for (uint32_t i = 0; i < 300; i++) {
		uint64_t arrival_ps = f.now_ps;

		egress_inject(&f, 7, 1000, i);
		record_until(&f, &sent, arrival_ps);
		cr_assert_eq(sent.count, i + 1, "at once");
		record_until(&f, &sent, arrival_ps + 50 * PS_PER_US);
	}
}

LEAF_TEST(strict, an_idle_shaper_saves_no_rate)
{
	uint64_t begin_ps;

	shape(7, 100 * M, 0);
	for (uint32_t pause = 0; pause < 4; pause++) {
		f.now_ps += pause * PS_PER_S;
		sent.count = 0;
		for (uint32_t i = 0; i < 20; i++)
			egress_inject(&f, 7, 1000, i);
		begin_ps = f.now_ps;
		record_all(&f, &sent);
		/* 1000 and 24 bytes at 100 Mb/s; one frame at most comes out early. */
		cr_assert_geq(sent.record[19].at_ps - begin_ps, 18 * lasts_ps(1000, 100 * M));
		f.now_ps = time_max(f.now_ps, sent.record[19].at_ps + lasts_ps(1000, 100 * M));
	}
}

LEAF_TEST(strict, what_a_shaper_holds_back_others_may_use)
{
	uint32_t shaped = 0, until;

	shape(7, 100 * M, 0);
	f.now_ps += PS_PER_S;
	for (uint32_t i = 0; i < 100; i++)
		egress_inject(&f, 7, 1000, i);
	for (uint32_t i = 0; i < 800; i++)
		egress_inject(&f, 0, 1000, i);
	record_all(&f, &sent);
	for (until = 0; until < sent.count && shaped < 89; until++)
		shaped += sent.record[until].priority == 7;
	/* The wire never rests while class 0 has something. */
	for (uint32_t i = 1; i < until; i++)
		cr_assert_eq(sent.record[i].at_ps - sent.record[i - 1].at_ps, 8192 * PS_PER_NS);
	cr_assert_geq(until, 880, "one in ten");
}

LEAF_TEST(strict, a_new_snapshot_does_not_let_a_held_frame_go)
{
	unsigned __int128 bits_ps = 0;
	uint64_t begin_ps;
	uint32_t polls = 0;

	shape(7, 100 * M, 0);
	f.now_ps += PS_PER_S;
	begin_ps = f.now_ps;
	for (uint32_t i = 0; i < 50; i++)
		egress_inject(&f, 7, 1000, i);
	fixture_poll(&f);
	record_now(&f, &sent);
	/* A reload each 10 us, as often as anybody can; a frame may go each 82 us. */
	while (fixture_queued(&f) != 0) {
		cr_assert_lt(polls++, 2000);
		record_until(&f, &sent, f.now_ps + 10 * PS_PER_US);
		fixture_publish(&f, egress_snapshot(&f));
		record_now(&f, &sent);
	}
	for (uint32_t i = 0; i < sent.count; i++) {
		cr_assert_geq(sent.record[i].at_ps - begin_ps, (uint64_t)(bits_ps / (100 * M)),
			      "frame %u", i);
		bits_ps += wire_bits_ps(1000);
	}
}
