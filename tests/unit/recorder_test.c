/* SPDX-License-Identifier: BSD-3-Clause */
/* Queue depths in time, in virtual time. */
#include <criterion/criterion.h>

#include "tests/unit/record_fixture.h"

#define COARSE_PS   (100 * PS_PER_US)
#define SAMPLES_MAX 4096

static struct leaf_fixture f;
static struct record_sample sample[SAMPLES_MAX];
static uint64_t at; /* where the reader is */

static void start(void)
{
	fixture_start_eal();
}

static void finish(void)
{
	fixture_close(&f);
}

static void open_with(uint32_t slots)
{
	record_open(&f, 1000000, slots, COARSE_PS);
	at = 0;
}

static void ask(uint64_t for_ps, uint8_t trigger, uint64_t depth_bytes, uint16_t port,
		uint8_t priority)
{
	const struct record_request request = {
		.every_ps = PS_PER_US,
		.for_ps = for_ps,
		.depth_bytes = depth_bytes,
		.port = port,
		.priority = priority,
		.trigger = trigger,
	};

	(void)leaf_record(f.leaf, &request);
	/* Until the coarse interval brings the worker to it. */
	fixture_run_until(&f, f.now_ps + COARSE_PS);
	cr_assert_eq(leaf_record_read(f.leaf, 0, &at, sample, SAMPLES_MAX), 0, "all is quiet");
	/* The next poll looks. */
	f.now_ps += 5 * PS_PER_US;
}

static uint32_t read_all(void)
{
	return leaf_record_read(f.leaf, 0, &at, sample, SAMPLES_MAX);
}

static struct record_state state(void)
{
	struct record_state now;

	leaf_record_state(f.leaf, 0, &now);
	return now;
}

LEAF_TEST(recorder, a_burst_is_seen_to_the_byte_at_a_microsecond)
{
	const uint32_t frames = 20;
	uint64_t begin_ps;

	open_with(1024);
	ask(PS_PER_MS, RECORD_NOW, 0, PORT_NONE, PRIORITY_ALL);
	begin_ps = f.now_ps;
	record_burst(&f, frames, 3);
	fixture_run_until(&f, begin_ps + 2 * frames * FRAME_PS);
	/* The first frame goes at once: 19 wait, then 18... */
	cr_assert_eq(read_all(), frames);
	for (uint32_t i = 0; i < frames; i++) {
		cr_expect_eq(sample[i].time_ps, begin_ps + i * FRAME_PS, "sample %u", i);
		cr_expect_eq(sample[i].depth_bytes, (frames - 1 - i) * FRAME_BYTES, "sample %u", i);
		cr_expect_eq(sample[i].port, SINK);
		cr_expect_eq(sample[i].priority, 3);
		cr_expect_eq(sample[i].flags, 0);
	}
}

LEAF_TEST(recorder, at_the_coarse_interval_it_sees_less_and_never_stops)
{
	open_with(1024);
	for (int round = 0; round < 3; round++) {
		uint32_t count;

		f.now_ps += 2 * COARSE_PS;
		record_burst(&f, 250, 0);
		fixture_run_until(&f, f.now_ps + 300 * PS_PER_US);
		/* At 0, 100 and 200 us something is there, at 300 us nothing more. */
		count = read_all();
		cr_assert_eq(count, 4, "%u samples", count);
		for (uint32_t i = 1; i < count; i++)
			cr_expect_eq(sample[i].time_ps - sample[i - 1].time_ps, COARSE_PS);
		/* One leaves at once, and one each microsecond. */
		cr_expect_eq(sample[1].depth_bytes, 149 * FRAME_BYTES);
		cr_expect_eq(sample[2].depth_bytes, 49 * FRAME_BYTES);
		cr_expect_eq(sample[3].depth_bytes, 0);
	}
	cr_expect_eq(state().request, 0);
}

LEAF_TEST(recorder, a_recording_ends_when_its_time_is_over)
{
	struct record_state now;

	open_with(1024);
	ask(150 * PS_PER_US, RECORD_NOW, 0, PORT_NONE, PRIORITY_ALL);
	now = state();
	cr_expect_eq(now.request, 1);
	cr_expect_eq(now.phase, RECORD_RUNNING);
	cr_expect_eq(now.end_ps - now.begin_ps, 150 * PS_PER_US);
	cr_expect_eq(now.trigger_ps, now.begin_ps);
	cr_expect_not(now.triggered);
	/* Though nothing is queued the worker comes back to end it. */
	fixture_run_until(&f, now.end_ps);
	cr_expect_eq(state().phase, RECORD_COARSE);
	cr_expect_eq(state().end_ps, now.end_ps);
}

/* Two frames come in each microsecond and one goes: 1000 bytes more each time. */
static uint64_t fill_up(uint32_t us)
{
	uint64_t begin_ps = f.now_ps;

	for (uint32_t i = 0; i < us; i++) {
		record_burst(&f, 2, 3);
		fixture_poll(&f);
		f.now_ps += PS_PER_US;
	}
	return begin_ps;
}

LEAF_TEST(recorder, a_trigger_keeps_what_was_before_and_after_it)
{
	struct record_state now;
	uint64_t begin_ps, last_ps = 0;
	uint32_t count;

	open_with(1024);
	ask(40 * PS_PER_US, RECORD_AT_DEPTH, 10 * FRAME_BYTES, PORT_NONE, PRIORITY_ALL);
	cr_expect_eq(state().phase, RECORD_ARMED);
	begin_ps = fill_up(60);
	now = state();
	cr_expect_eq(now.phase, RECORD_COARSE, "it is over");
	cr_expect(now.triggered);
	/* After the first poll 1 is queued, after the tenth 10. */
	cr_expect_eq(now.trigger_ps, begin_ps + 9 * PS_PER_US);
	cr_expect_eq(now.begin_ps, now.trigger_ps - 20 * PS_PER_US);
	cr_expect_eq(now.end_ps, now.trigger_ps + 20 * PS_PER_US);
	cr_expect_eq(now.trigger_port, SINK);
	cr_expect_eq(now.trigger_priority, 3);
	count = read_all();
	cr_assert_geq(count, 30);
	for (uint32_t i = 0; i < 30; i++) {
		cr_expect_eq(sample[i].time_ps, begin_ps + i * PS_PER_US, "sample %u", i);
		cr_expect_eq(sample[i].depth_bytes, (i + 1) * FRAME_BYTES, "sample %u", i);
	}
	for (uint32_t i = 0; i < count; i++)
		if (!time_after(sample[i].time_ps, now.end_ps))
			last_ps = sample[i].time_ps;
	cr_expect_eq(last_ps, now.end_ps, "up to its end");
	cr_expect_leq(count, 32, "then the interval is coarse again: %u", count);
}

LEAF_TEST(recorder, a_depth_below_the_bound_does_not_trigger)
{
	open_with(1024);
	ask(40 * PS_PER_US, RECORD_AT_DEPTH, 10 * FRAME_BYTES, PORT_NONE, PRIORITY_ALL);
	record_burst(&f, 10, 3); /* nine are left when the first has gone */
	fixture_run_until(&f, f.now_ps + 50 * PS_PER_US);
	cr_expect_eq(state().phase, RECORD_ARMED);
	f.now_ps += PS_PER_US;
	record_burst(&f, 11, 3);
	fixture_run_until(&f, f.now_ps + PS_PER_US);
	cr_expect_eq(state().phase, RECORD_RUNNING);
}

LEAF_TEST(recorder, a_pause_that_we_send_triggers_and_pauses_of_both_ways_are_seen)
{
	uint32_t count, seen = 0;
	struct record_state now;

	open_with(1024);
	ask(40 * PS_PER_US, RECORD_AT_XOFF, 0, PORT_NONE, PRIORITY_ALL);
	pause_receive(&f, SINK, 3, 65535);
	fixture_run_until(&f, f.now_ps + PS_PER_US);
	cr_expect_eq(state().phase, RECORD_ARMED, "the peer's pauses are no trigger");
	/* alpha 1: paused above half of the shared buffer, and what is reserved. */
	record_burst(&f, 510, 3);
	fixture_run_until(&f, f.now_ps + 50 * PS_PER_US);
	now = state();
	cr_assert(now.triggered);
	cr_expect_eq(now.trigger_port, SENDER);
	cr_expect_eq(now.trigger_priority, 3);
	count = read_all();
	for (uint32_t i = 0; i < count; i++) {
		if (sample[i].port == SINK && sample[i].flags == RECORD_PAUSED)
			seen |= 1;
		if (sample[i].port == SENDER && sample[i].flags == RECORD_PEER_PAUSED)
			seen |= 2;
	}
	cr_expect_eq(seen, 3);
	pause_receive(&f, SINK, 3, 0);
	fixture_settle(&f);
}

LEAF_TEST(recorder, only_what_was_asked_for_is_looked_at)
{
	uint32_t count;

	open_with(1024);
	ask(PS_PER_MS, RECORD_NOW, 0, SINK, 4);
	record_burst(&f, 5, 3);
	record_burst(&f, 5, 4);
	fixture_run_until(&f, f.now_ps + 20 * PS_PER_US);
	count = read_all();
	cr_assert_gt(count, 0);
	for (uint32_t i = 0; i < count; i++)
		cr_expect_eq(sample[i].priority, 4);
	ask(PS_PER_MS, RECORD_NOW, 0, SENDER, PRIORITY_ALL);
	record_burst(&f, 5, 3);
	fixture_run_until(&f, f.now_ps + 20 * PS_PER_US);
	cr_expect_eq(read_all(), 0, "nothing is queued to the sender");
}

LEAF_TEST(recorder, the_ring_keeps_the_last_and_a_reader_goes_on_where_it_was)
{
	const uint32_t frames = 40, slots = 16;
	uint64_t begin_ps, first;

	open_with(slots);
	ask(PS_PER_MS, RECORD_NOW, 0, PORT_NONE, PRIORITY_ALL);
	first = at;
	begin_ps = f.now_ps;
	record_burst(&f, frames, 3);
	fixture_run_until(&f, begin_ps + (frames - 1) * FRAME_PS);
	/* One slot less than there are: the next may be in writing. */
	cr_assert_eq(leaf_record_read(f.leaf, 0, &at, sample, 10), 10);
	cr_expect_eq(at, first + frames - slots + 1 + 10);
	cr_expect_eq(sample[0].time_ps, begin_ps + (frames - slots + 1) * FRAME_PS);
	cr_assert_eq(leaf_record_read(f.leaf, 0, &at, sample + 10, SAMPLES_MAX - 10), 5);
	for (uint32_t i = 0; i < slots - 1; i++)
		cr_expect_eq(sample[i].depth_bytes, (slots - 2 - i) * FRAME_BYTES, "sample %u", i);
	cr_expect_eq(read_all(), 0);
}

LEAF_TEST(recorder, a_recording_begins_with_what_stands_there)
{
	open_with(1024);
	pause_receive(&f, SINK, 3, 65535);
	record_burst(&f, 7, 3);
	fixture_run_until(&f, f.now_ps + 2 * COARSE_PS);
	cr_assert_gt(read_all(), 0);
	(void)leaf_record(f.leaf, &(struct record_request){.every_ps = PS_PER_US,
							   .for_ps = PS_PER_MS,
							   .port = PORT_NONE,
							   .priority = PRIORITY_ALL});
	fixture_run_until(&f, f.now_ps + COARSE_PS);
	cr_assert_eq(read_all(), 1, "once, though it doesn't change");
	cr_expect_eq(sample[0].depth_bytes, 7 * FRAME_BYTES);
	cr_expect_eq(sample[0].flags, RECORD_PAUSED);
	pause_receive(&f, SINK, 3, 0);
	fixture_settle(&f);
}

LEAF_TEST(recorder, an_idle_worker_is_not_woken)
{
	open_with(1024);
	fixture_run_until(&f, f.now_ps + PS_PER_MS);
	cr_expect(time_after(f.due_ps, f.now_ps + 2 * COARSE_PS), "%lu us",
		  (f.due_ps - f.now_ps) / PS_PER_US);
}

/* 1500 bytes take 1524 on the wire: the worker has nothing to send before 1.488 us. */
LEAF_TEST(recorder, a_worker_with_something_queued_comes_back_to_look)
{
	open_with(1024);
	ask(PS_PER_MS, RECORD_NOW, 0, PORT_NONE, PRIORITY_ALL);
	for (int i = 0; i < 3; i++)
		pause_inject(&f, SENDER, 3, 1500);
	fixture_poll(&f);
	cr_expect_eq(f.due_ps - f.now_ps, PS_PER_US);
}
