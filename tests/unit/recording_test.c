/* SPDX-License-Identifier: BSD-3-Clause */
/* Spans of time out of the workers' recorders: how they begin, what is in them, in which order. */
#include <criterion/criterion.h>

#include "control/recording.h"
#include "tests/unit/record_fixture.h"

static struct leaf_fixture f;
static struct recording span;

static void start(void)
{
	fixture_start_eal();
}

static void finish(void)
{
	recording_free(&span);
	fixture_close(&f);
}

/* All looks are 1 us apart. */
static void open_with(uint32_t slots)
{
	record_open(&f, 20000, slots, PS_PER_US);
	f.now_ps += 5 * PS_PER_US;
}

static void take(uint64_t begin_ps, uint64_t end_ps, uint16_t port, uint8_t priority)
{
	span.begin_ps = begin_ps;
	span.end_ps = end_ps;
	cr_assert_eq(recording_take(&span, f.leaf, port, priority), 0);
}

LEAF_TEST(recording, a_span_begins_with_how_its_queues_were)
{
	uint64_t begin_ps;

	open_with(1024);
	begin_ps = f.now_ps;
	record_burst(&f, 10, 3); /* 9, 8, 7 ... 0 wait */
	fixture_run_until(&f, begin_ps + 20 * PS_PER_US);
	/* Between two looks: 7 wait; then 6, 5, 4. */
	take(begin_ps + 2 * PS_PER_US + 1, begin_ps + 5 * PS_PER_US, PORT_NONE, PRIORITY_ALL);
	cr_expect(span.complete);
	cr_assert_eq(span.count, 4);
	cr_expect_eq(span.sample[0].time_ps, begin_ps + 2 * PS_PER_US + 1);
	for (uint32_t i = 0; i < 4; i++)
		cr_expect_eq(span.sample[i].depth_bytes, (7 - i) * FRAME_BYTES, "sample %u", i);
	cr_expect_eq(span.sample[3].time_ps, begin_ps + 5 * PS_PER_US, "its end is in it");
	/* Of a span in which nothing changes, only how it was. */
	take(begin_ps + 3 * PS_PER_US + 1, begin_ps + 3 * PS_PER_US + 2, PORT_NONE, PRIORITY_ALL);
	cr_assert_eq(span.count, 1);
	cr_expect_eq(span.sample[0].depth_bytes, 6 * FRAME_BYTES);
	/* A look at its begin counts as such. */
	take(begin_ps + 3 * PS_PER_US, begin_ps + 3 * PS_PER_US, PORT_NONE, PRIORITY_ALL);
	cr_assert_eq(span.count, 2);
	cr_expect_eq(span.sample[1].depth_bytes, 6 * FRAME_BYTES);
	take(begin_ps + 15 * PS_PER_US, begin_ps + 20 * PS_PER_US, PORT_NONE, PRIORITY_ALL);
	cr_expect_eq(span.count, 0, "nothing waited");
}

LEAF_TEST(recording, only_queues_that_were_asked_for_are_in_it)
{
	uint64_t begin_ps;

	open_with(1024);
	begin_ps = f.now_ps;
	record_burst(&f, 4, 3);
	record_burst(&f, 4, 4);
	fixture_run_until(&f, begin_ps + 20 * PS_PER_US);
	take(begin_ps, f.now_ps, PORT_NONE, 4);
	cr_assert_gt(span.count, 3);
	for (uint32_t i = 0; i < span.count; i++)
		cr_expect_eq(span.sample[i].priority, 4);
	take(begin_ps, f.now_ps, SENDER + 1, PRIORITY_ALL);
	cr_expect_eq(span.count, 0);
}

LEAF_TEST(recording, what_was_overwritten_is_said)
{
	uint64_t begin_ps;

	open_with(16);
	begin_ps = f.now_ps;
	record_burst(&f, 40, 0);
	fixture_run_until(&f, begin_ps + 39 * PS_PER_US);
	/* The last fifteen looks are at 25 to 39 us. */
	take(begin_ps + 25 * PS_PER_US, f.now_ps, PORT_NONE, PRIORITY_ALL);
	cr_expect_eq(span.count, 15);
	cr_expect(span.complete, "all of it is there");
	take(begin_ps + 24 * PS_PER_US, f.now_ps, PORT_NONE, PRIORITY_ALL);
	cr_expect_not(span.complete);
}

/* The pause is of a port that another worker may own (ROCELEAF_TEST_WORKERS). */
LEAF_TEST(recording, parts_of_all_workers_are_one_by_time)
{
	bool depths = false, pauses = false;
	uint64_t begin_ps;

	open_with(1024);
	begin_ps = f.now_ps;
	for (int i = 0; i < 4; i++) {
		record_burst(&f, 30, 3);
		fixture_run_until(&f, f.now_ps + 40 * PS_PER_US);
	}
	take(begin_ps, f.now_ps, PORT_NONE, PRIORITY_ALL);
	cr_assert_gt(span.count, 100);
	for (uint32_t i = 0; i < span.count; i++) {
		depths = depths || (span.sample[i].port == SINK && span.sample[i].depth_bytes != 0);
		pauses = pauses || (span.sample[i].port == SENDER &&
				    span.sample[i].flags == RECORD_PEER_PAUSED);
		cr_expect(i == 0 || !time_after(span.sample[i - 1].time_ps, span.sample[i].time_ps),
			  "sample %u", i);
	}
	cr_expect(depths && pauses);
}
