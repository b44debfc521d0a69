/* SPDX-License-Identifier: BSD-3-Clause */
/* What waits in a receive ring is congestion: marks, then lossy packets shed, then pauses. */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/backlog.h"
#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES 1000u
#define ECT0        2
#define CE          3
#define KB          1000u

static struct leaf_fixture f;

/* Enough of everything; SINK is fast, time stands still. */
static void start(void)
{
	pause_open(&f, &(struct pause_params){.senders = 1,
					      .shared_bytes = 64000 * KB,
					      .headroom_bytes = 1000 * KB,
					      .alpha_q8 = 256});
}

static void finish(void)
{
	fixture_close(&f);
}

static struct port_io *sender_io(void)
{
	return memory_io_port(f.memory[SENDER]);
}

/* The shared buffer, and from which depth on frames from SENDER are marked, all at once. */
static void configure(uint64_t shared_bytes, uint32_t kmin_bytes)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct mark_table *mark = snapshot_mark(snapshot, SENDER, 3);

	snapshot->buffer.shared_bytes = shared_bytes;
	mark->ecn_min_bytes = mark->ecn_max_bytes = kmin_bytes;
	fixture_publish(&f, snapshot);
	fixture_poll(&f);
}

static void inject(uint32_t frames, uint8_t priority, uint32_t bytes)
{
	for (uint32_t i = 0; i < frames; i++)
		pause_inject_ecn(&f, SENDER, priority, ECT0, bytes);
}

static uint8_t reasons(void)
{
	return buffer_reasons(leaf_state(f.leaf, SENDER, 3));
}

/* Frames that come out of SINK with this ECN field; all of them. */
static uint32_t marked(void)
{
	struct frame frame;
	uint32_t count = 0;

	fixture_settle(&f);
	while (fixture_take(&f, SINK, &frame))
		count += (frame.byte[15] & 3) == CE;
	return count;
}

static uint64_t backlog_marks(void)
{
	struct port_totals totals;

	leaf_port_totals(f.leaf, SENDER, &totals);
	return totals.backlog_marks;
}

static bool tells_nothing(uint8_t *xoff)
{
	struct pause pause;

	*xoff = 0;
	while (pause_take(&f, SENDER, &pause))
		*xoff = pause.quanta[3] != 0;
	return *xoff == 0;
}

/* Behind the second burst of six wait 128 frames, behind the third 96. The first has no mix to go by. */
LEAF_TEST(backlog, frames_are_marked_above_kmin_of_what_waits_behind_them)
{
	configure(64000 * KB, 128 * FRAME_BYTES - 1);
	inject(6 * BURST_COUNT_MAX, 3, FRAME_BYTES);
	cr_expect_eq(marked(), BURST_COUNT_MAX);
	cr_expect_eq(backlog_marks(), BURST_COUNT_MAX);

	configure(64000 * KB, 128 * FRAME_BYTES);
	inject(6 * BURST_COUNT_MAX, 3, FRAME_BYTES);
	cr_expect_eq(marked(), 0, "at Kmin, not above it");
}

LEAF_TEST(backlog, a_queue_that_is_kept_up_with_marks_nothing)
{
	configure(64000 * KB, 0);
	for (uint32_t i = 0; i < 20; i++) {
		inject(BURST_COUNT_MAX, 3, FRAME_BYTES);
		fixture_poll(&f);
	}
	cr_expect_eq(marked(), 0);
	cr_expect_eq(backlog_frames(f.leaf, SENDER), 0);
}

/*
 * After the first burst 32 frames are in the leaf and n - 32 wait; alpha is 1, so the pair may have
 * S - 32 frames. It is paused when n > S - 32.
 */
static void pause_after(uint32_t frames, uint32_t shared_frames, bool paused)
{
	uint8_t xoff;

	configure((uint64_t)shared_frames * FRAME_BYTES, UINT32_MAX);
	inject(frames, 3, FRAME_BYTES);
	fixture_poll(&f);
	cr_expect_eq(reasons(), paused ? PAUSE_BACKLOG : 0, "%u frames of %u", frames,
		     shared_frames);
	(void)tells_nothing(&xoff);
	cr_expect_eq(xoff, paused);
	fixture_settle(&f);
	cr_expect_eq(reasons(), 0);
	cr_expect(tells_nothing(&xoff), "let go again");
	(void)fixture_discard(&f, SINK);
}

LEAF_TEST(backlog, senders_are_paused_when_occupancy_and_backlog_exceed_xoff)
{
	/* With several workers a poll of the fixture may be two of the one that receives. */
	pause_after(f.worker_count == 1 ? 100 : 60, 132, false);
	pause_after(101, 132, true);
	cr_expect_eq(drops_total(&f), 0);
}

/* Of the ring's slots a half, whatever the bytes; released below a quarter. */
LEAF_TEST(backlog, a_ring_of_short_frames_is_full_before_its_bytes_are_many)
{
	uint8_t xoff;

	configure(64000 * KB, UINT32_MAX);
	sender_io()->rx_ring_frames = 512;
	inject(255 + BURST_COUNT_MAX, 3, FRAME_BYTES_MIN);
	fixture_poll(&f);
	cr_expect_eq(reasons(), 0);
	fixture_settle(&f);

	inject(256 + BURST_COUNT_MAX, 3, FRAME_BYTES_MIN);
	fixture_poll(&f);
	cr_expect_eq(reasons(), PAUSE_BACKLOG);
	for (uint32_t waiting = 256; waiting >= 128 + BURST_COUNT_MAX; waiting -= BURST_COUNT_MAX) {
		cr_expect_eq(backlog_frames(f.leaf, SENDER), waiting);
		cr_expect_eq(reasons(), PAUSE_BACKLOG, "%u wait", waiting);
		fixture_poll(&f);
	}
	cr_expect_eq(backlog_frames(f.leaf, SENDER), 128);
	fixture_poll(&f);
	cr_expect_eq(reasons(), 0, "96 wait");
	(void)tells_nothing(&xoff);
	fixture_settle(&f);
	(void)fixture_discard(&f, SINK);
}

/* Best effort, control and a lossless class that is half way to its pause, in one ring. */
LEAF_TEST(backlog, lossy_frames_are_shed_first_but_for_strict_classes)
{
	struct leaf_conservation sum;

	configure(400 * FRAME_BYTES, UINT32_MAX);
	for (uint32_t i = 0; i < 8 * BURST_COUNT_MAX; i++)
		inject(1, (uint8_t[]){0, 6, 3, 3}[i % 4], FRAME_BYTES);
	fixture_settle(&f);
	/*
	 * Lossless: half of the 224 that wait behind the first burst, and 16 that are in: 128 of 384, no
	 * pressure. Nothing of it drains: after the second 96 + 32, the same. So S is too much.
	 */
	cr_expect_eq(drops_total(&f), 0);
	(void)fixture_discard(&f, SINK);

	configure(200 * FRAME_BYTES, UINT32_MAX);
	for (uint32_t i = 0; i < 8 * BURST_COUNT_MAX; i++)
		inject(1, (uint8_t[]){0, 6, 3, 3}[i % 4], FRAME_BYTES);
	fixture_poll(&f);
	/* 2 * (112 + 16) > 200 - 16, but less than that: shed, not paused. */
	cr_expect_eq(reasons(), 0);
	fixture_settle(&f);
	leaf_conservation(f.leaf, &sum);
	cr_expect_eq(drops_of(&f, DROP_BACKLOG), drops_total(&f), "nothing else is dropped");
	/* Of each of the bursts 2 to 7 eight; behind the last nothing waits. */
	cr_expect_eq(drops_of(&f, DROP_BACKLOG), 6 * BURST_COUNT_MAX / 4);
	(void)fixture_discard(&f, SINK);
}

/* A ring of nothing but lossy frames endangers nobody. */
LEAF_TEST(backlog, lossy_frames_alone_are_not_shed)
{
	configure(FRAME_BYTES, UINT32_MAX);
	sender_io()->rx_ring_frames = 512;
	inject(500, 0, FRAME_BYTES);
	fixture_settle(&f);
	cr_expect_eq(drops_total(&f), 0);
	cr_expect_eq(fixture_discard(&f, SINK), 500);
}

/* Eight full bursts are chance; behind the ninth one burst is taken to wait, behind the tenth two, and so on. */
LEAF_TEST(backlog, a_device_that_can_not_tell_is_judged_by_its_bursts)
{
	static struct port_io_ops ops; /* used until the leaf is closed */

	ops = *sender_io()->ops;
	ops.rx_backlog = NULL;
	sender_io()->ops = &ops;
	configure(64000 * KB, 40 * FRAME_BYTES);
	inject(BACKLOG_RUN * BURST_COUNT_MAX, 3, FRAME_BYTES);
	cr_expect_eq(marked(), 0);
	cr_expect_eq(backlog_frames(f.leaf, SENDER), 0);

	inject(12 * BURST_COUNT_MAX, 3, FRAME_BYTES);
	/* 64, 96 and 128 frames behind bursts 10 to 12 */
	cr_expect_eq(marked(), 3 * BURST_COUNT_MAX);
	cr_expect_eq(backlog_frames(f.leaf, SENDER), 0, "until one isn't full");
}

/* A class that isn't lossless any more is let go by a reload. */
LEAF_TEST(backlog, pauses_end_when_a_class_becomes_lossy)
{
	struct snapshot *snapshot;
	uint8_t xoff;

	configure(132 * FRAME_BYTES, UINT32_MAX);
	inject(300, 3, FRAME_BYTES);
	fixture_poll(&f);
	cr_expect_eq(reasons(), PAUSE_BACKLOG);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->lossless_mask &= (uint8_t) ~(1u << 3);
	snapshot->class[3].lossless = false;
	fixture_publish(&f, snapshot);
	fixture_poll(&f);
	cr_expect_eq(reasons(), 0);
	cr_expect(tells_nothing(&xoff));
	fixture_settle(&f);
	(void)fixture_discard(&f, SINK);
}

TestSuite(backlog, .init = fixture_start_eal);
