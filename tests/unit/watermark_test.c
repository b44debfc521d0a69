/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The most that queues and buffers ever held, step by step. Identifiers such as WM-PG-HR name the case of
 * a switch tester's catalogue that a test covers. Peaks are since the start: nothing clears them.
 */
#include <criterion/criterion.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES UINT64_C(1000)
#define SHARED      UINT64_C(600000)
#define RESERVED    3000u
#define HEADROOM    100000u

static struct leaf_fixture f;

static void start(void)
{
	fixture_start_eal();
}

static void finish(void)
{
	fixture_close(&f);
}

/* The sink's peer has paused it for long: all that comes stays. */
static void open_blocked(void)
{
	pause_open(&f, &(struct pause_params){.senders = 2,
					      .shared_bytes = SHARED,
					      .reserved_bytes = RESERVED,
					      .headroom_bytes = HEADROOM,
					      .xon_offset_bytes = 5000,
					      .alpha_q8 = 256});
	pause_receive(&f, SINK, 3, 65535);
}

static struct buffer_totals pair(uint16_t port, uint8_t priority)
{
	struct buffer_totals totals;

	leaf_buffer_totals(f.leaf, f.snapshot, port, priority, &totals);
	return totals;
}

static struct queue_totals queue(uint8_t priority)
{
	struct queue_totals totals;

	leaf_queue_totals(f.leaf, SINK, priority, &totals);
	return totals;
}

static void drain(void)
{
	struct frame frame;

	pause_receive(&f, SINK, 3, 0);
	while (pause_next(&f, f.now_ps + PS_PER_MS, &frame) != UINT64_MAX)
		;
	cr_assert_eq(queue(3).depth_bytes, 0);
}

LEAF_TEST(watermark, WM_PG_SHARED_is_what_a_pair_had_after_each_step)
{
	open_blocked();
	cr_expect_eq(pair(SENDER, 3).peak_bytes, 0);
	for (uint32_t i = 1; i <= 100; i++) {
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		cr_assert_eq(pair(SENDER, 3).peak_bytes, i * FRAME_BYTES);
	}
	pause_send(&f, SENDER + 1, 3, FRAME_BYTES);
	cr_expect_eq(pair(SENDER, 3).peak_bytes, 100 * FRAME_BYTES);
	cr_expect_eq(pair(SENDER + 1, 3).peak_bytes, FRAME_BYTES);
	cr_expect_eq(pair(SENDER, 4).peak_bytes, 0);
	drain();
	cr_expect_eq(pair(SENDER, 3).occupancy_bytes, 0);
	cr_expect_eq(pair(SENDER, 3).peak_bytes, 100 * FRAME_BYTES, "a peak stays");
}

/* A queue is at its deepest when it begins to send (queue.h). */
LEAF_TEST(watermark, WM_Q_is_what_a_queue_had_of_all_senders_before_it_drained)
{
	static const uint32_t frames[] = {1, 10, 7, 100, 99};
	uint32_t most = 0;

	open_blocked();
	for (uint32_t step = 0; step < sizeof(frames) / sizeof(frames[0]); step++) {
		pause_receive(&f, SINK, 3, 65535);
		for (uint32_t i = 0; i < frames[step]; i++)
			pause_send(&f, (uint16_t)(SENDER + i % 2), 3, FRAME_BYTES);
		cr_assert_eq(queue(3).depth_bytes, frames[step] * FRAME_BYTES);
		most = frames[step] > most ? frames[step] : most;
		cr_expect_eq(queue(3).depth_bytes_max, most * FRAME_BYTES, "step %u, paused", step);
		drain();
		cr_expect_eq(queue(3).depth_bytes_max, most * FRAME_BYTES, "step %u", step);
		cr_expect_eq(queue(4).depth_bytes_max, 0);
	}
}

/* Alpha is 1, so a pair alone is paused above its reserve and half of what is shared. */
LEAF_TEST(watermark, WM_PG_HR_is_zero_up_to_xoff_then_what_came_since_and_at_most_all_of_it)
{
	const uint32_t frames_max = (RESERVED + SHARED / 2) / FRAME_BYTES;

	open_blocked();
	for (uint32_t i = 0; i < frames_max; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	cr_expect_eq(pair(SENDER, 3).reasons, 0);
	cr_expect_eq(pair(SENDER, 3).headroom_peak_bytes, 0);
	/* The frame that makes the leaf send xoff is what it had then. */
	pause_send(&f, SENDER, 3, FRAME_BYTES);
	expect_pause(&f, SENDER, 1u << 3, 0);
	cr_expect_eq(pair(SENDER, 3).headroom_peak_bytes, 0);
	for (uint32_t i = 1; i <= HEADROOM / FRAME_BYTES; i++) {
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		cr_assert_eq(pair(SENDER, 3).headroom_peak_bytes, i * FRAME_BYTES);
	}
	for (uint32_t i = 0; i < 5; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	cr_expect_eq(pair(SENDER, 3).headroom_peak_bytes, HEADROOM, "what was dropped isn't there");
	cr_expect_eq(pair(SENDER + 1, 3).headroom_peak_bytes, 0);
	drain();
	cr_expect_eq(pair(SENDER, 3).headroom_peak_bytes, HEADROOM, "a peak stays");
	cr_expect_eq(pair(SENDER, 3).headroom_used_bytes, 0);
}

static struct buffer_pool_totals pool(void)
{
	struct buffer_pool_totals totals;

	leaf_buffer_pool_totals(f.leaf, f.snapshot, &totals);
	return totals;
}

LEAF_TEST(watermark,
	  WM_POOL_is_what_all_pairs_had_together_and_of_headroom_what_they_had_above_xoff)
{
	const uint32_t frames = (RESERVED + 50000) / FRAME_BYTES;
	const uint32_t frames_max = (RESERVED + SHARED / 2) / FRAME_BYTES;

	open_blocked();
	cr_expect_eq(pool().shared_peak_bytes, 0);
	/* Their reserves aren't shared. */
	for (uint32_t i = 1; i <= frames; i++) {
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		pause_send(&f, SENDER + 1, 3, FRAME_BYTES);
		cr_assert_eq(pool().shared_peak_bytes,
			     i * FRAME_BYTES > RESERVED ? 2 * (i * FRAME_BYTES - RESERVED) : 0);
	}
	cr_expect_eq(pool().headroom_peak_bytes, 0);
	drain();
	cr_expect_eq(pool().shared_used_bytes, 0);
	cr_expect_eq(pool().shared_peak_bytes, 2 * 50000, "a peak stays");
	/* One alone may have half; then headroom. */
	pause_receive(&f, SINK, 3, 65535);
	for (uint32_t i = 0; i <= frames_max; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	expect_pause(&f, SENDER, 1u << 3, 0);
	cr_expect_eq(pool().shared_peak_bytes, (frames_max + 1) * FRAME_BYTES - RESERVED);
	for (uint32_t i = 1; i <= 10; i++) {
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		cr_assert_eq(pool().headroom_peak_bytes, i * FRAME_BYTES);
	}
	drain();
	cr_expect_eq(pool().headroom_peak_bytes, 10 * FRAME_BYTES);
	cr_expect_eq(pool().headroom_used_bytes, 0);
}
