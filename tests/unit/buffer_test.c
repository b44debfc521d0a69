/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who may queue how many bytes. Identifiers such as BUF-DT-1 name the case of a switch tester's
 * catalogue that a test covers; expected values come from the dynamic threshold's formula.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES 1000u
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

static bool paused(uint16_t port, uint8_t priority)
{
	return (leaf_state(f.leaf, port, priority)->reasons & PAUSE_BUFFER) != 0;
}

/* The sink stands still: priorities 3 and 4 are paused there. */
static void open_blocked(const struct pause_params *params)
{
	pause_open(&f, params);
	pause_receive(&f, SINK, 3, 65535);
	pause_receive(&f, SINK, 4, 65535);
}

/* All that waits leaves; what ports said meanwhile is forgotten. */
static void drain(void)
{
	pause_receive(&f, SINK, 3, 0);
	pause_receive(&f, SINK, 4, 0);
	fixture_settle(&f);
	for (uint16_t port = 0; port < f.port_count; port++)
		fixture_discard(&f, port);
	for (uint16_t port = 0; port <= f.port_count; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			cr_assert_eq(buffer_occupancy(f.worker, port, p), 0);
	cr_assert_eq(f.worker->shared_bytes, 0);
	cr_assert_eq(fixture_headroom(&f), 0);
	cr_assert_eq(buffer_use(f.leaf).lossy_bytes, 0);
	cr_assert_eq(buffer_use(f.leaf).packets, 0);
}

/* Alone, a pair gets alpha / (1 + alpha) of the shared buffer. */
Test(buffer, BUF_DT_1_one_pair_is_paused_at_alpha_of_one_plus_alpha)
{
	const double shared = 600000;

	fixture_start_eal();
	for (int exponent = -3; exponent <= 7; exponent++) {
		double alpha = exponent < 0 ? 1.0 / (1 << -exponent) : 1 << exponent;
		double x = alpha / (1 + alpha) * shared;
		uint32_t frames = 0;

		open_blocked(&(struct pause_params){.senders = 1,
						    .shared_bytes = 600000,
						    .headroom_bytes = HEADROOM,
						    .alpha_q8 = (uint32_t)(alpha * 256)});
		while (!paused(SENDER, 3)) {
			cr_assert_lt(frames++, 1000);
			pause_send(&f, SENDER, 3, FRAME_BYTES);
		}
		cr_assert(frames * FRAME_BYTES > x && (frames - 1) * FRAME_BYTES <= x + 1,
			  "alpha %g: at %u bytes, wanted %.0f", alpha, frames * FRAME_BYTES, x);
		fixture_close(&f);
	}
}

/* n that fill up together: alpha / (1 + n alpha). */
Test(buffer, BUF_DT_N_equal_pairs_are_paused_at_alpha_of_one_plus_n_alpha)
{
	static const uint32_t alphas[] = {64, 128, 256, 1024};
	const double shared = 600000;

	fixture_start_eal();
	for (uint16_t pairs = 2; pairs <= 8; pairs = (uint16_t)(2 * pairs)) {
		for (uint32_t a = 0; a < 4; a++) {
			double alpha = alphas[a] / 256.0, x = alpha / (1 + pairs * alpha) * shared;
			uint32_t frames = 0;

			open_blocked(&(struct pause_params){.senders = (uint16_t)(pairs / 2),
							    .shared_bytes = 600000,
							    .headroom_bytes = HEADROOM,
							    .alpha_q8 = alphas[a]});
			while (!paused(SENDER, 3)) {
				cr_assert_lt(frames++, 1000);
				for (uint16_t port = 1; port <= pairs / 2; port++) {
					pause_inject(&f, port, 3, FRAME_BYTES);
					pause_inject(&f, port, 4, FRAME_BYTES);
				}
				fixture_poll(&f);
			}
			cr_assert(frames * FRAME_BYTES > x && (frames - 1) * FRAME_BYTES <= x + 1,
				  "%u pairs, alpha %g: at %u bytes, wanted %.0f", pairs, alpha,
				  frames * FRAME_BYTES, x);
			for (uint16_t port = 1; port <= pairs / 2; port++)
				cr_assert(paused(port, 3) && paused(port, 4));
			cr_assert_eq(drops_total(&f), 0);
			fixture_close(&f);
		}
	}
}

/*
 * A lossy queue takes a frame as long as it then is no deeper than alpha times what is left of the
 * lossy share: alpha / (1 + alpha) of it when alone.
 */
Test(buffer, BUF_LOSSY_Q_one_queue_ends_at_alpha_of_one_plus_alpha_of_the_lossy_share)
{
	const double lossy = 400000;

	fixture_start_eal();
	for (uint32_t alpha_q8 = 64; alpha_q8 <= 2048; alpha_q8 *= 2) {
		double alpha = alpha_q8 / 256.0, x = alpha / (1 + alpha) * lossy;
		struct queue_totals queue;
		struct pause pause;

		/* One frame holds the wire for 8 ms. */
		pause_open(&f, &(struct pause_params){.senders = 1,
						      .sink_bps = GBPS / 1000,
						      .shared_bytes = 1000000,
						      .lossy_bytes = (uint64_t)lossy,
						      .alpha_q8 = alpha_q8});
		for (uint32_t i = 0; i < 450; i++) {
			double depth;

			leaf_queue_totals(f.leaf, SINK, 1, &queue);
			depth = (double)queue.depth_bytes;
			pause_send(&f, SENDER, 1, FRAME_BYTES);
			/* Within a frame of x both may be. */
			if (depth + FRAME_BYTES <= x)
				cr_assert_eq(drops_total(&f), 0, "alpha %g, %.0f bytes", alpha,
					     depth);
			cr_assert_leq(depth, x + FRAME_BYTES);
		}
		leaf_queue_totals(f.leaf, SINK, 1, &queue);
		cr_assert((double)queue.depth_bytes > x - FRAME_BYTES,
			  "%" PRIu64 " bytes, wanted %g", queue.depth_bytes, x);
		/* One more left at the start. */
		cr_assert_eq(queue.depth_packets + 1 + drops_of(&f, DROP_QUEUE_FULL), 450);
		cr_assert_eq(drops_total(&f), drops_of(&f, DROP_QUEUE_FULL));
		cr_assert_eq(queue.drop_packets, drops_of(&f, DROP_QUEUE_FULL));
		cr_assert_not(pause_take(&f, SENDER, &pause), "nobody is paused");
		fixture_discard(&f, SINK);
		fixture_close(&f);
	}
}

/* All lossy queues together: a burst may pass the limit by its own bytes, here two frames. */
LEAF_TEST(buffer, BUF_LOSSY_Q_all_queues_together_stay_in_the_lossy_share)
{
	pause_open(&f, &(struct pause_params){.senders = 3,
					      .sink_bps = GBPS / 1000,
					      .shared_bytes = 1000000,
					      .lossy_bytes = 100000,
					      .alpha_q8 = 128 * 256});
	for (uint32_t i = 0; i < 300; i++) {
		for (uint16_t port = 1; port <= 3; port++) {
			pause_inject(&f, port, (uint8_t)(i % 3), FRAME_BYTES);
			pause_inject(&f, port, 5, FRAME_BYTES);
		}
		fixture_poll(&f);
		cr_assert_leq(buffer_use(f.leaf).lossy_bytes, 100000 + 2 * FRAME_BYTES);
	}
	/* What is on its way between workers counts as well: all six of a round. */
	cr_assert_gt(buffer_use(f.leaf).lossy_bytes,
		     100000 - (f.worker_count > 1 ? 6 : 1) * (int)FRAME_BYTES);
	cr_assert_gt(drops_of(&f, DROP_LOSSY_FULL) + drops_of(&f, DROP_QUEUE_FULL), 500);
	fixture_discard(&f, SINK);
}

/* Threshold of a lossless pair, with and without a flood of lossy frames. */
LEAF_TEST(buffer, BUF_LOSSY_ISO_a_lossy_flood_moves_no_lossless_threshold)
{
	for (uint32_t flood = 0; flood < 2; flood++) {
		uint32_t frames = 0;
		struct pause pause;

		open_blocked(&(struct pause_params){.senders = 2,
						    .shared_bytes = 600000,
						    .sink_bps = GBPS / 1000,
						    .lossy_bytes = 200000,
						    .headroom_bytes = HEADROOM,
						    .alpha_q8 = 256});
		for (uint32_t i = 0; i < 400 * flood; i++)
			pause_send(&f, SENDER + 1, (uint8_t)(i % 3), FRAME_BYTES);
		cr_assert_eq(drops_total(&f) > 100, flood);
		while (!paused(SENDER, 3)) {
			cr_assert_lt(frames++, 1000);
			pause_send(&f, SENDER, 3, FRAME_BYTES);
			if (flood != 0)
				pause_send(&f, SENDER + 1, (uint8_t)(frames % 3), FRAME_BYTES);
		}
		/* alpha 1: more than half of B. */
		cr_assert_eq(frames, 301, "flood %u: at %u", flood, frames);
		cr_assert_eq(drops_of(&f, DROP_HEADROOM), 0);
		cr_assert_not(pause_take(&f, SENDER + 1, &pause), "lossy frames pause nobody");
		fixture_discard(&f, SENDER);
		fixture_discard(&f, SINK);
		if (flood == 0)
			fixture_close(&f);
	}
}

/* With nothing of the shared buffer left, a pair still has its reserve, and isn't paused within it. */
LEAF_TEST(buffer, BUF_PGMIN_a_pair_has_its_reserve_when_the_shared_buffer_is_full)
{
	const uint32_t reserved = 20 * FRAME_BYTES;

	open_blocked(&(struct pause_params){.senders = 2,
					    .shared_bytes = 300000,
					    .reserved_bytes = reserved,
					    .headroom_bytes = 30000,
					    .alpha_q8 = 128 * 256});
	/* Unpaused by anybody it takes all that there is. */
	for (uint32_t i = 0; i < 500; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	cr_assert_gt(drops_of(&f, DROP_HEADROOM), 0);
	for (uint32_t i = 0; i < reserved / FRAME_BYTES; i++) {
		uint64_t before = drops_total(&f);

		cr_assert_not(paused(SENDER + 1, 3));
		pause_send(&f, SENDER + 1, 3, FRAME_BYTES);
		cr_assert_eq(drops_total(&f), before, "frame %u", i);
	}
	/* alpha 128: some 2.3 KB are left under its threshold. */
	for (uint32_t i = 0; i < 4; i++)
		pause_send(&f, SENDER + 1, 3, FRAME_BYTES);
	cr_assert(paused(SENDER + 1, 3));
	fixture_discard(&f, SENDER);
	fixture_discard(&f, SENDER + 1);
}

LEAF_TEST(buffer, BUF_LEAK_a_hundred_fills_of_any_sizes_end_at_the_same_threshold_and_at_zero)
{
	uint64_t state = 7;

	open_blocked(&(struct pause_params){.senders = 2,
					    .shared_bytes = 120000,
					    .reserved_bytes = 3000,
					    .headroom_bytes = HEADROOM,
					    .alpha_q8 = 256});
	for (uint32_t round = 0; round < 100; round++) {
		uint8_t priority = (uint8_t)(3 + draw(&state, 2));
		uint16_t port = (uint16_t)(1 + draw(&state, 2));
		uint32_t bytes = 0, last = 0;

		pause_receive(&f, SINK, 3, 65535);
		pause_receive(&f, SINK, 4, 65535);
		while (!paused(port, priority)) {
			last = 60 + draw(&state, 9000);
			bytes += last;
			cr_assert_leq(bytes, 200000);
			pause_send(&f, port, priority, last);
		}
		/* alpha 1, alone: its reserve and half of B. */
		cr_assert(bytes > 63000 && bytes - last <= 63000, "round %u: at %u, last %u", round,
			  bytes, last);
		drain();
		cr_assert_not(paused(port, priority));
	}
	cr_assert_eq(drops_total(&f), 0);
}

/* Thresholds are in bytes, whatever the frames: 64, 65, 129 and 1518 bytes with their FCS, and jumbo. */
Test(buffer, HR_PKT_SIZES_thresholds_and_headroom_are_the_same_bytes_for_all_sizes)
{
	static const uint32_t sizes[] = {60, 61, 125, 1514, 9014};

	fixture_start_eal();
	for (uint32_t s = 0; s < 5; s++) {
		uint32_t size = sizes[s], bytes = 0, more = 0;

		open_blocked(&(struct pause_params){.senders = 1,
						    .shared_bytes = 120000,
						    .headroom_bytes = 30000,
						    .alpha_q8 = 256});
		while (!paused(SENDER, 3)) {
			bytes += size;
			cr_assert_leq(bytes, 100000);
			pause_send(&f, SENDER, 3, size);
		}
		cr_assert(bytes > 60000 && bytes - size <= 60000, "%u bytes: at %u", size, bytes);
		while (drops_total(&f) == 0) {
			more += size;
			cr_assert_leq(more, 50000);
			pause_send(&f, SENDER, 3, size);
		}
		cr_assert(more > 30000 && more - size <= 30000, "%u bytes: %u of headroom", size,
			  more);
		cr_assert_eq(drops_of(&f, DROP_HEADROOM), 1);
		fixture_discard(&f, SENDER);
		fixture_close(&f);
	}
}

/* 9 ports of two priorities, all paused: their headroom is one pool, and it is used to the last frame. */
LEAF_TEST(buffer, HR_POOL_and_HR_SHARED_no_drop_until_the_headroom_pool_is_full)
{
	const uint64_t pool = 90500;
	struct snapshot *snapshot;
	uint64_t used = 0;

	open_blocked(&(struct pause_params){
		.senders = 9, .shared_bytes = 120000, .headroom_bytes = 30000, .alpha_q8 = 256});
	snapshot = snapshot_copy(f.snapshot);
	snapshot->buffer.headroom_pool_bytes = pool;
	fixture_publish(&f, snapshot);
	for (uint16_t port = 1; port <= 9; port++)
		for (uint8_t p = 3; p <= 4; p++)
			while (!paused(port, p))
				pause_send(&f, port, p, FRAME_BYTES);
	cr_assert_eq(fixture_headroom(&f), 0);
	/* 18 pairs; any of them may take what is there. */
	for (uint32_t i = 0; used + FRAME_BYTES <= pool; i++) {
		pause_send(&f, (uint16_t)(1 + i % 9), (uint8_t)(3 + i / 9 % 2), FRAME_BYTES);
		used += FRAME_BYTES;
		cr_assert_eq(drops_total(&f), 0, "after %" PRIu64 " bytes", used);
		cr_assert_eq(fixture_headroom(&f), used);
	}
	for (uint16_t port = 1; port <= 9; port++) {
		pause_send(&f, port, 3, FRAME_BYTES);
		cr_assert_eq(drops_of(&f, DROP_HEADROOM), port);
	}
	pause_send(&f, 1, 4, 500);
	cr_assert_eq(drops_total(&f), 9, "500 bytes are left");
	cr_assert_eq(fixture_headroom(&f), pool);
	drain();
}

/* A drop past the headroom: the port that it came from, its priority, the reason. */
LEAF_TEST(buffer, a_drop_past_the_headroom_names_port_priority_and_reason)
{
	open_blocked(&(struct pause_params){
		.senders = 2, .shared_bytes = 20000, .headroom_bytes = 5000, .alpha_q8 = 256});
	for (uint32_t i = 0; i < 30; i++)
		pause_send(&f, SENDER, 4, FRAME_BYTES);
	/* 11 cross, 5 are headroom. */
	for (uint16_t port = 0; port < f.port_count; port++) {
		struct port_totals totals;

		leaf_port_totals(f.leaf, port, &totals);
		for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
			cr_assert_eq(totals.drop[reason],
				     port == SENDER && reason == DROP_HEADROOM ? 14 : 0);
	}
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		struct queue_totals queue;

		leaf_queue_totals(f.leaf, SINK, p, &queue);
		cr_assert_eq(queue.drop_packets, p == 4 ? 14 : 0);
	}
	fixture_discard(&f, SENDER);
}

/* Few buffers, so many of which are the guard's; SINK is blocked. */
static void open_guard(uint16_t senders, uint32_t buffers, uint32_t guard)
{
	struct snapshot *snapshot;

	pause_open(&f, &(struct pause_params){.senders = senders,
					      .shared_bytes = 1000000,
					      .headroom_bytes = 12000,
					      .alpha_q8 = 256});
	snapshot = snapshot_copy(f.snapshot);
	snapshot->buffer.packets_max = buffers;
	snapshot->buffer.guard_packets = guard;
	fixture_publish(&f, snapshot);
	pause_receive(&f, SINK, 3, 65535);
}

/* The smallest frames eat buffers before bytes: then everybody is paused, and lossy frames are refused. */
LEAF_TEST(buffer, few_buffers_left_pause_every_lossless_pair_and_refuse_lossy_frames)
{
	const uint32_t buffers = 1000, guard = 200;
	uint32_t frames = 0;
	struct frame frame;
	uint64_t left;

	open_guard(3, buffers, guard);
	while (!fixture_guarded(&f)) {
		expect_silence(&f, "enough buffers");
		cr_assert_lt(frames++, buffers);
		pause_send(&f, SENDER, 3, 60);
	}
	/* Seen at the poll after the one that took the last buffer above the guard, or in it by others. */
	cr_assert(frames == buffers - guard + 1 ||
		  (f.worker_count > 1 && frames == buffers - guard));
	fixture_poll(&f);
	for (uint16_t port = 0; port < f.port_count; port++)
		expect_pause(&f, port, 1u << 3 | 1u << 4, 0);
	pause_send(&f, SENDER + 1, 0, 60);
	cr_assert_eq(drops_of(&f, DROP_GUARD), 1);
	/* What is in flight is taken. */
	for (uint32_t i = 0; i < guard - 10; i++)
		pause_send(&f, (uint16_t)(1 + i % 3), 3, 60);
	cr_assert_eq(drops_total(&f), 1);
	/* Until enough have left. */
	pause_receive(&f, SINK, 3, 0);
	while (fixture_guarded(&f)) {
		f.now_ps = time_max(f.now_ps, f.due_ps);
		fixture_poll(&f);
	}
	left = buffers - (uint64_t)buffer_use(f.leaf).packets;
	cr_assert(left > guard && left < buffers / 2, "%" PRIu64 " are free", left);
	fixture_poll(&f);
	for (uint16_t port = 1; port < f.port_count; port++)
		expect_pause(&f, port, 0, 1u << 3 | 1u << 4);
	pause_send(&f, SENDER + 1, 0, 60);
	cr_assert_eq(drops_total(&f), 1, "lossy frames are welcome again");
	fixture_settle(&f);
	while (fixture_take(&f, SINK, &frame))
		;
}

/* Buffers for little more than the guard: the end of the shortage must still be within reach. */
LEAF_TEST(buffer, the_guard_ends_when_it_is_nearly_all_of_the_buffers)
{
	const uint32_t buffers = 1000, guard = 980;

	open_guard(2, buffers, guard);
	for (uint32_t i = 0; i <= buffers - guard + 1; i++)
		pause_send(&f, SENDER, 3, 60);
	cr_assert(fixture_guarded(&f));
	pause_receive(&f, SINK, 3, 0);
	fixture_settle(&f);
	fixture_poll(&f);
	cr_assert_not(fixture_guarded(&f));
	for (uint16_t port = 0; port < f.port_count; port++)
		fixture_discard(&f, port);
}
