/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks and early drops by the average depth, which a model in real numbers follows: depths stand
 * between two events, average(t + dt) = depth + (average(t) - depth) * 2^-(dt / half_life).
 * Thresholds are steps, so that one packet tells on which side of one the average is; it is looked at 1 %
 * to either side, as mark.h says it may be off by 2.1e-4 of the range and a thousandth of a half-life.
 */
#include <criterion/criterion.h>
#include <math.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES  1000u
#define HALF_LIFE_PS (20 * PS_PER_US)

/* The pause of a queue that stands still: at 100G 335 us, 16 half-lives. */
#define QUANTA 65535

enum { NOT_ECT, ECT1, ECT0, CE }; /* RFC 3168 figure 1 */

#define LOSSLESS 3
#define LOSSY    1

static struct leaf_fixture f;

static struct {
	double bytes;
	uint64_t at_ps;
	double depth;
} model;

static void start(void)
{
	fixture_start_eal();
}

static void finish(void)
{
	fixture_discard(&f, SINK);
	fixture_close(&f);
}

/* The depth is another one from now on. */
static void model_depth(double depth)
{
	double lives = (double)(f.now_ps - model.at_ps) / (double)HALF_LIFE_PS;

	model.bytes = model.depth + (model.bytes - model.depth) * exp2(-lives);
	model.at_ps = f.now_ps;
	model.depth = depth;
}

static uint32_t queued_bytes(uint8_t priority)
{
	struct queue_totals queue;

	leaf_queue_totals(f.leaf, SINK, priority, &queue);
	return (uint32_t)queue.depth_bytes;
}

static void put_in_force(uint8_t priority, const struct mark_table *mark)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);

	*snapshot_mark(snapshot, SINK, priority) = *mark;
	fixture_publish(&f, snapshot);
}

static struct mark_table steps(uint32_t ecn_bytes, uint32_t wred_bytes)
{
	return (struct mark_table){.ecn_min_bytes = ecn_bytes,
				   .ecn_max_bytes = ecn_bytes,
				   .wred_min_bytes = wred_bytes,
				   .wred_max_bytes = wred_bytes,
				   .half_life_ps = HALF_LIFE_PS};
}

static void open_steps(uint8_t priority, uint32_t ecn_bytes, uint32_t wred_bytes)
{
	struct mark_table mark = steps(ecn_bytes, wred_bytes);

	pause_open(&f, &(struct pause_params){
			       .senders = 1, .shared_bytes = 64 * 1024 * 1024, .alpha_q8 = 256});
	put_in_force(priority, &mark);
	model.bytes = 0;
	model.depth = 0;
	model.at_ps = f.now_ps;
}

/* To 1M, where a frame holds the wire for 8.192 ms: those behind it stand. */
static void slow_down(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);

	snapshot_port_rate(snapshot, SINK, GBPS / 1000, 0, 0);
	fixture_publish(&f, snapshot);
}

static void send_one(uint8_t priority, uint8_t ecn)
{
	pause_inject_ecn(&f, SENDER, priority, ecn, FRAME_BYTES);
	fixture_poll(&f);
	model_depth(queued_bytes(priority));
}

static void send(uint8_t priority, uint8_t ecn, uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++)
		send_one(priority, ecn);
}

/* Go to when the average comes to a level while the depth stands. */
static void pass(double level)
{
	double lives = log2((model.bytes - model.depth) / (level - model.depth));

	f.now_ps = model.at_ps + (uint64_t)(lives * (double)HALF_LIFE_PS);
}

/* What the leaf says, which must be what the model says. */
static void expect_average(uint8_t priority, double range)
{
	double lives = (double)(f.now_ps - model.at_ps) / (double)HALF_LIFE_PS;
	double wanted = model.depth + (model.bytes - model.depth) * exp2(-lives);
	double is = leaf_queue_average_bytes(f.leaf, f.snapshot, SINK, priority, f.now_ps);

	/* A thousandth of a half-life is at most 0.07 % of the way. */
	cr_assert_leq(fabs(is - wanted), 1e-3 * range + 1, "%g, wanted %g", is, wanted);
}

/* The frame that leaves now, the queue not empty before. @return its codepoint */
static uint8_t release_one(uint8_t priority)
{
	struct frame frame;

	if (priority == LOSSLESS)
		pause_receive(&f, SINK, priority, 0);
	else
		fixture_poll(&f);
	cr_assert(fixture_take(&f, SINK, &frame));
	model_depth(queued_bytes(priority));
	return frame.byte[15] & 3;
}

/* All others, each when it leaves. @return how many of them are marked */
static uint32_t drain(uint8_t priority)
{
	uint32_t marked = 0;
	struct frame frame;

	while (pause_next(&f, f.now_ps + PS_PER_US, &frame) != UINT64_MAX) {
		marked += (frame.byte[15] & 3) == CE;
		model_depth(queued_bytes(priority));
		if (queued_bytes(priority) == 0)
			break;
	}
	return marked;
}

LEAF_TEST(average, a_burst_is_marked_when_the_average_has_reached_the_threshold_and_not_before)
{
	/* 100 KB stand: 50 KB after one half-life. */
	for (uint32_t late = 0; late < 2; late++) {
		open_steps(LOSSLESS, 50000, UINT32_MAX);
		pause_receive(&f, SINK, LOSSLESS, QUANTA);
		send(LOSSLESS, ECT0, 100);
		pass(late != 0 ? 50500 : 49500);
		expect_average(LOSSLESS, 1e5);
		cr_assert_eq(release_one(LOSSLESS), late != 0 ? CE : ECT0);
		fixture_settle(&f);
		fixture_discard(&f, SINK);
		fixture_close(&f);
	}
	open_steps(LOSSLESS, 50000, UINT32_MAX);
}

/* Arrivals while it is paused count from when they came: 40 KB for two half-lives, then 80 KB for one. */
LEAF_TEST(average, arrivals_count_from_when_they_came)
{
	open_steps(LOSSLESS, 54900, UINT32_MAX);
	pause_receive(&f, SINK, LOSSLESS, QUANTA);
	send(LOSSLESS, ECT0, 40);
	f.now_ps += 2 * HALF_LIFE_PS;
	send(LOSSLESS, ECT0, 40);
	/* 40 (1 - 1/4) = 30; 80 - 50 / 2 = 55. */
	f.now_ps += HALF_LIFE_PS;
	cr_assert_lt(fabs(leaf_queue_average_bytes(f.leaf, f.snapshot, SINK, LOSSLESS, f.now_ps) -
			  55000.0),
		     82, "2.1e-4 of 80 KB, and a thousandth of a half-life");
	expect_average(LOSSLESS, 8e4);
	fixture_settle(&f);
}

/* The average outlives the queue: also a packet with nothing behind it is marked, until it has decayed. */
LEAF_TEST(average, an_idle_queue_decays)
{
	open_steps(LOSSLESS, 30000, UINT32_MAX);
	pause_receive(&f, SINK, LOSSLESS, QUANTA);
	send(LOSSLESS, ECT0, 100);
	f.now_ps += 3 * HALF_LIFE_PS;
	cr_assert_eq(release_one(LOSSLESS), CE);
	cr_assert_eq(drain(LOSSLESS), 99, "the last one, too");
	cr_assert_eq(queued_bytes(LOSSLESS), 0);
	pass(30300);
	expect_average(LOSSLESS, 1e5);
	send_one(LOSSLESS, ECT0);
	cr_assert_eq(release_one(LOSSLESS), CE, "nothing was behind it");
	f.now_ps += PS_PER_US;
	pass(29700);
	send_one(LOSSLESS, ECT0);
	cr_assert_eq(release_one(LOSSLESS), ECT0);
}

LEAF_TEST(average, WRED_LOSSY_drops_by_the_average_and_not_by_the_burst)
{
	uint64_t drops;

	open_steps(LOSSY, UINT32_MAX, 50000);
	slow_down();
	send(LOSSY, ECT0, 101);
	cr_assert_eq(drops_total(&f), 0, "100 KB came at once");
	pass(49500);
	send(LOSSY, ECT0, 1);
	cr_assert_eq(drops_total(&f), 0);
	pass(50500);
	send(LOSSY, ECT0, 10);
	drops = drops_of(&f, DROP_WRED);
	cr_assert_eq(drops, 10, "what is dropped never was in the queue");
	cr_assert_eq(queued_bytes(LOSSY), 101 * FRAME_BYTES);
	expect_average(LOSSY, 1e5);
	fixture_settle(&f);
	/* Then it is empty for 50 half-lives. */
	f.now_ps += PS_PER_MS;
	model_depth(0);
	send(LOSSY, NOT_ECT, 1);
	cr_assert_eq(drops_of(&f, DROP_WRED), drops);
	fixture_settle(&f);
}

/* With both, ECT packets are marked when they leave, others dropped when they come: by one average. */
LEAF_TEST(average, WRED_LOSSY_marks_and_drops_have_thresholds_of_their_own)
{
	open_steps(LOSSY, 30000, 60000);
	slow_down();
	send(LOSSY, NOT_ECT, 1);
	send(LOSSY, ECT1, 100);
	pass(45000);
	send(LOSSY, NOT_ECT, 5);
	cr_assert_eq(drops_total(&f), 0, "between both nothing is dropped");
	pass(61000);
	send(LOSSY, NOT_ECT, 5);
	send(LOSSY, ECT1, 5);
	cr_assert_eq(drops_of(&f, DROP_WRED), 5);
	cr_assert_eq(drops_total(&f), 5);
	/* The first left before, and takes 8.192 ms: the average has come to the depth. */
	fixture_discard(&f, SINK);
	f.now_ps += 9 * PS_PER_MS;
	cr_assert_eq(release_one(LOSSY), CE);
	/* So it has whenever one leaves: as long as more than 30 frames were there, it is marked. */
	for (uint32_t left = queued_bytes(LOSSY) / FRAME_BYTES; left != 0; left--) {
		f.now_ps += 9 * PS_PER_MS;
		cr_assert_eq(release_one(LOSSY) == CE, left > 30, "%u", left);
	}
}

LEAF_TEST(average, another_half_life_starts_anew_and_none_goes_by_the_depth)
{
	struct mark_table mark;

	open_steps(LOSSLESS, 50000, UINT32_MAX);
	pause_receive(&f, SINK, LOSSLESS, QUANTA);
	send(LOSSLESS, ECT0, 100);
	f.now_ps += 10 * HALF_LIFE_PS;
	expect_average(LOSSLESS, 1e5);
	/* The same again, as reloads are: it goes on. */
	mark = steps(50000, UINT32_MAX);
	put_in_force(LOSSLESS, &mark);
	expect_average(LOSSLESS, 1e5);
	mark.half_life_ps = 2 * HALF_LIFE_PS;
	put_in_force(LOSSLESS, &mark);
	cr_assert_eq(leaf_queue_average_bytes(f.leaf, f.snapshot, SINK, LOSSLESS, f.now_ps), 0);
	f.now_ps += 2 * HALF_LIFE_PS;
	cr_assert_lt(fabs(leaf_queue_average_bytes(f.leaf, f.snapshot, SINK, LOSSLESS, f.now_ps) -
			  50000.0),
		     100);
	mark = steps(50000, UINT32_MAX);
	put_in_force(LOSSLESS, &mark);
	mark.half_life_ps = 0;
	put_in_force(LOSSLESS, &mark);
	cr_assert_eq(leaf_queue_average_bytes(f.leaf, f.snapshot, SINK, LOSSLESS, f.now_ps), 0);
	cr_assert_eq(release_one(LOSSLESS), CE, "99 KB are behind it");
	/* 98 to 51 of the others have more than 50 KB behind them. */
	model.at_ps = f.now_ps;
	cr_assert_eq(drain(LOSSLESS), 98 - 50);
}

LEAF_TEST(average, a_queue_that_is_emptied_decays_too)
{
	struct snapshot *snapshot;

	open_steps(LOSSLESS, 50000, UINT32_MAX);
	pause_receive(&f, SINK, LOSSLESS, QUANTA);
	send(LOSSLESS, ECT0, 100);
	f.now_ps += 5 * HALF_LIFE_PS;
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SINK].link_up = false;
	fixture_publish(&f, snapshot);
	model_depth(0);
	f.now_ps += HALF_LIFE_PS;
	expect_average(LOSSLESS, 1e5);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SINK].link_up = true;
	fixture_publish(&f, snapshot);
	expect_average(LOSSLESS, 1e5);
	f.now_ps += HALF_LIFE_PS;
	send_one(LOSSLESS, ECT0);
	cr_assert_eq(release_one(LOSSLESS), ECT0);
}

/* Nothing came for 250 days: more than the clock's wrap, after which the past looks like the future. */
LEAF_TEST(average, a_queue_that_rests_for_months_forgets)
{
	open_steps(LOSSLESS, 50000, UINT32_MAX);
	pause_receive(&f, SINK, LOSSLESS, QUANTA);
	send(LOSSLESS, ECT0, 100);
	f.now_ps += 5 * HALF_LIFE_PS;
	pause_receive(&f, SINK, LOSSLESS, 0);
	fixture_settle(&f);
	fixture_discard(&f, SINK);
	for (uint32_t day = 0; day < 250; day++) {
		f.now_ps += 86400 * PS_PER_S;
		fixture_poll(&f);
		cr_assert_eq(leaf_queue_average_bytes(f.leaf, f.snapshot, SINK, LOSSLESS, f.now_ps),
			     0, "day %u", day);
	}
	send_one(LOSSLESS, ECT0);
	cr_assert_eq(release_one(LOSSLESS), ECT0);
}
