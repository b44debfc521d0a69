/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The most that queues and buffers ever held, step by step. Identifiers such as WM-PG-HR name the case of
 * a switch tester's catalogue that a test covers.
 */
#include <criterion/criterion.h>
#include <pthread.h>

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

/* --- the three copies --- */

static struct peak_totals peaks_of(enum peak_kind kind)
{
	struct peak_totals sink, totals;

	leaf_peaks(f.leaf, SENDER, 3, kind, &totals);
	leaf_peaks(f.leaf, SINK, 3, kind, &sink);
	totals.queue_bytes = sink.queue_bytes;
	return totals;
}

static void expect_peaks(enum peak_kind kind, uint64_t bytes, uint64_t headroom, const char *when)
{
	struct pool_peak_totals all;
	struct peak_totals one = peaks_of(kind);

	leaf_pool_peaks(f.leaf, kind, &all);
	cr_expect_eq(one.queue_bytes, bytes, "%s: queue %" PRIu64, when, one.queue_bytes);
	cr_expect_eq(one.occupancy_bytes, bytes, "%s: pair %" PRIu64, when, one.occupancy_bytes);
	cr_expect_eq(one.headroom_bytes, headroom, "%s: headroom %" PRIu64, when,
		     one.headroom_bytes);
	cr_expect_eq(all.shared_bytes, bytes > RESERVED ? bytes - headroom - RESERVED : 0,
		     "%s: shared %" PRIu64, when, all.shared_bytes);
	cr_expect_eq(all.headroom_bytes, headroom, "%s: all headroom %" PRIu64, when,
		     all.headroom_bytes);
}

/* Up to 20 frames into headroom. @return bytes that stand there */
static uint64_t fill_past_xoff(void)
{
	const uint32_t frames = (RESERVED + SHARED / 2) / FRAME_BYTES + 1 + 20;

	for (uint32_t i = 0; i < frames; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	expect_pause(&f, SENDER, 1u << 3, 0);
	return frames * FRAME_BYTES;
}

static void fill(uint32_t frames)
{
	pause_receive(&f, SINK, 3, 65535);
	for (uint32_t i = 0; i < frames; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
}

LEAF_TEST(watermark, WM_MODES_clearing_one_kind_leaves_the_others)
{
	uint64_t most, headroom = 20 * FRAME_BYTES;

	open_blocked();
	most = fill_past_xoff();
	drain();
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++)
		expect_peaks((enum peak_kind)kind, most, headroom, "before");
	leaf_clear_peaks(f.leaf, PEAK_USER);
	fixture_poll(&f);
	expect_peaks(PEAK_USER, 0, 0, "user cleared");
	expect_peaks(PEAK_PERIODIC, most, headroom, "user cleared");
	expect_peaks(PEAK_PERSISTENT, most, headroom, "user cleared");
	fill(7);
	drain();
	expect_peaks(PEAK_USER, 7 * FRAME_BYTES, 0, "filled again");
	leaf_clear_peaks(f.leaf, PEAK_PERIODIC);
	fixture_poll(&f);
	expect_peaks(PEAK_USER, 7 * FRAME_BYTES, 0, "periodic cleared");
	expect_peaks(PEAK_PERIODIC, 0, 0, "periodic cleared");
	expect_peaks(PEAK_PERSISTENT, most, headroom, "periodic cleared");
	fill(9);
	drain();
	leaf_clear_peaks(f.leaf, PEAK_PERSISTENT);
	fixture_poll(&f);
	expect_peaks(PEAK_USER, 9 * FRAME_BYTES, 0, "persistent cleared");
	expect_peaks(PEAK_PERIODIC, 9 * FRAME_BYTES, 0, "persistent cleared");
	expect_peaks(PEAK_PERSISTENT, 0, 0, "persistent cleared");
	cr_expect_eq(queue(3).depth_bytes_max, 0,
		     "what others call the peak is the persistent one");
	cr_expect_eq(pair(SENDER, 3).peak_bytes, 0);
}

LEAF_TEST(watermark, WM_MODES_a_clear_starts_again_from_what_stands_there)
{
	uint64_t most;

	open_blocked();
	most = fill_past_xoff();
	leaf_clear_peaks(f.leaf, PEAK_USER);
	fixture_poll(&f);
	expect_peaks(PEAK_USER, most, 20 * FRAME_BYTES, "standing");
	drain();
	expect_peaks(PEAK_USER, most, 20 * FRAME_BYTES, "drained");
	leaf_clear_peaks(f.leaf, PEAK_USER);
	fixture_poll(&f);
	expect_peaks(PEAK_USER, 0, 0, "cleared when empty");
}

/* Frames that come in the very poll that carries a clear out are in the new peak; older ones in the others. */
LEAF_TEST(watermark, WM_MODES_a_clear_in_the_poll_of_a_fill_loses_neither_peak)
{
	open_blocked();
	fill(50);
	drain();
	pause_receive(&f, SINK, 3, 65535);
	for (uint32_t i = 0; i < 5; i++)
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
	leaf_clear_peaks(f.leaf, PEAK_USER);
	leaf_clear_peaks(f.leaf, PEAK_PERIODIC);
	fixture_poll(&f);
	drain();
	expect_peaks(PEAK_USER, 5 * FRAME_BYTES, 0, "filled in that poll");
	expect_peaks(PEAK_PERIODIC, 5 * FRAME_BYTES, 0, "two clears at once");
	expect_peaks(PEAK_PERSISTENT, 50 * FRAME_BYTES, 0, "the one before");
}

struct watcher {
	_Atomic bool stop, started;
	uint64_t reads, sank;
};

/* Nobody clears persistent peaks: whoever looks never sees them sink. */
static void *watch_peaks(void *context)
{
	struct watcher *watcher = context;
	uint64_t queue_seen = 0, pair_seen = 0;

	while (!atomic_load(&watcher->stop)) {
		struct peak_totals now = peaks_of(PEAK_PERSISTENT);

		watcher->sank += now.queue_bytes < queue_seen || now.occupancy_bytes < pair_seen;
		queue_seen = now.queue_bytes;
		pair_seen = now.occupancy_bytes;
		watcher->reads++;
		atomic_store(&watcher->started, true);
	}
	return NULL;
}

LEAF_TEST(watermark, WM_MODES_who_reads_while_others_are_cleared_never_sees_a_peak_sink)
{
	struct watcher watcher = {false, false, 0, 0};
	pthread_t thread;

	open_blocked();
	cr_assert_eq(pthread_create(&thread, NULL, watch_peaks, &watcher), 0);
	while (!atomic_load(&watcher.started))
		;
	for (uint32_t round = 1; round <= 200; round++) {
		fill(round);
		drain();
		/* 80000 of each kind, so that a count of 16 bits runs over. */
		for (uint32_t i = 0; i < 800; i++) {
			leaf_clear_peaks(f.leaf, i % 2 == 0 ? PEAK_USER : PEAK_PERIODIC);
			fixture_poll(&f);
		}
		expect_peaks(PEAK_USER, 0, 0, "cleared");
		cr_assert_eq(peaks_of(PEAK_PERSISTENT).queue_bytes, round * FRAME_BYTES);
	}
	atomic_store(&watcher.stop, true);
	cr_assert_eq(pthread_join(thread, NULL), 0);
	cr_expect_eq(watcher.sank, 0, "%" PRIu64 " of %" PRIu64 " reads", watcher.sank,
		     watcher.reads);
}
