/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What readers of a leaf see of pauses, buffers and drops, at times and in bytes worked out by hand.
 */
#include <criterion/criterion.h>

#include "dataplane/leaf.h"
#include "tests/unit/pause_fixture.h"

static struct leaf_fixture f;

/* Alone with alpha 1, a pair is paused above 1000 + (50000 - its shared bytes). */
static void start(void)
{
	fixture_start_eal();
	pause_open(&f, &(struct pause_params){.senders = 2,
					      .shared_bytes = 50000,
					      .reserved_bytes = 1000,
					      .headroom_bytes = 20000,
					      .xon_offset_bytes = 3000,
					      .alpha_q8 = 256});
}

static void stop(void)
{
	fixture_close(&f);
}

TestSuite(leaf_totals, .init = start, .fini = stop);

static struct pfc_totals pfc_at(uint16_t port, uint8_t priority, uint64_t now_ps)
{
	struct pfc_totals totals;

	leaf_pfc_totals(f.leaf, port, priority, now_ps, &totals);
	return totals;
}

Test(leaf_totals, a_pause_that_lasts_is_in_the_time_paused)
{
	uint64_t began_ps = f.now_ps;
	struct pfc_totals totals;

	/* 1000 quanta of 512 bit times at 100G: 5.12 us. */
	pause_receive(&f, SINK, 3, 1000);
	totals = pfc_at(SINK, 3, began_ps + 2 * PS_PER_US);
	cr_expect(totals.rx_paused);
	cr_expect_eq(totals.rx_paused_ps, 2 * PS_PER_US);
	cr_expect_eq(totals.rx_pauses, 1);
	/* A reader whose clock was read before the pause began. */
	cr_expect_eq(pfc_at(SINK, 3, began_ps - 1).rx_paused_ps, 0);
	cr_expect_eq(pfc_at(SINK, 4, began_ps + 2 * PS_PER_US).rx_paused_ps, 0);
}

Test(leaf_totals, a_pause_is_over_with_its_time_though_nobody_needs_the_queue)
{
	uint64_t began_ps = f.now_ps;
	struct pfc_totals totals;

	pause_receive(&f, SINK, 3, 1000);
	/* The queue is empty: no poll has let it go. */
	totals = pfc_at(SINK, 3, began_ps + PS_PER_S);
	cr_expect_not(totals.rx_paused);
	cr_expect_eq(totals.rx_paused_ps, 5120 * PS_PER_NS);
}

Test(leaf_totals, a_peer_that_we_pause_waits_until_it_is_let_go)
{
	uint64_t began_ps = f.now_ps;
	struct pfc_totals totals;

	pfc_pause(f.worker, SENDER, 4, true, began_ps);
	totals = pfc_at(SENDER, 4, began_ps + 7);
	cr_expect(totals.tx_paused);
	cr_expect_eq(totals.tx_paused_ps, 7);
	pfc_pause(f.worker, SENDER, 4, false, began_ps + 10);
	totals = pfc_at(SENDER, 4, began_ps + 100);
	cr_expect_not(totals.tx_paused);
	cr_expect_eq(totals.tx_paused_ps, 10);
	cr_expect_eq(totals.tx_pauses, 1);
}

Test(leaf_totals, thresholds_are_those_of_this_moment)
{
	struct buffer_totals totals;
	struct buffer_pool_totals pool;

	/* Held, so that all of it waits: 21 frames of 1000 bytes, one of them in the reserve. */
	pause_receive(&f, SINK, 3, 65535);
	for (int i = 0; i < 21; i++)
		pause_send(&f, SENDER, 3, 1000);
	pause_send(&f, SENDER + 1, 0, 500);
	leaf_buffer_totals(f.leaf, f.snapshot, SENDER, 3, &totals);
	cr_expect_eq(totals.occupancy_bytes, 21000);
	cr_expect_eq(totals.peak_bytes, 21000);
	/* 50000 - 20000 are free: 1000 + 30000; and 30000 - 3000. */
	cr_expect_eq(totals.xoff_bytes, 31000);
	cr_expect_eq(totals.xon_bytes, 27000);
	cr_expect_eq(totals.reasons, 0);
	leaf_buffer_pool_totals(f.leaf, f.snapshot, &pool);
	cr_expect_eq(pool.shared_used_bytes, 20000);
	cr_expect_eq(pool.queued_packets, 21, "what isn't paused has left");
	cr_expect_eq(pool.lossy_used_bytes, 0);
	cr_expect_not(pool.guarded);
}

Test(leaf_totals, a_pair_past_xoff_is_paused_and_uses_headroom)
{
	struct buffer_totals totals;

	pause_receive(&f, SINK, 3, 65535);
	/*
	 * n frames of 1000 are too much when n > 1 + (50 - (n - 1)), so from 27 on; three more are
	 * in headroom.
	 */
	for (int i = 0; i < 26; i++)
		pause_send(&f, SENDER, 3, 1000);
	leaf_buffer_totals(f.leaf, f.snapshot, SENDER, 3, &totals);
	cr_expect_eq(totals.reasons, 0);
	for (int i = 0; i < 4; i++)
		pause_send(&f, SENDER, 3, 1000);
	leaf_buffer_totals(f.leaf, f.snapshot, SENDER, 3, &totals);
	cr_expect_eq(totals.reasons, PAUSE_BUFFER);
	cr_expect_eq(totals.headroom_used_bytes, 3000);
	cr_expect_eq(totals.headroom_peak_bytes, 3000);
	cr_expect_eq(totals.occupancy_bytes, 30000);
	cr_expect(pfc_at(SENDER, 3, f.now_ps).tx_paused);
}

static struct queue_rare_totals rare(uint16_t port, uint8_t priority)
{
	struct queue_rare_totals totals;

	leaf_queue_rare_totals(f.leaf, port, priority, &totals);
	return totals;
}

/* Of the whole leaf, whatever the queue. */
static struct queue_rare_totals rare_sum(void)
{
	struct queue_rare_totals sum = {0};

	for (uint16_t port = 0; port <= f.port_count; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct queue_rare_totals totals = rare(port, p);

#define SUM_(field, unit, help) sum.field += totals.field;
			QUEUE_RARE_COUNTERS(SUM_)
#undef SUM_
		}
	return sum;
}

/* As above: frame 27 is the one too many, and headroom has room for 20 more. */
Test(leaf_totals, losses_past_headroom_are_counted_by_the_pair_that_received_them)
{
	pause_receive(&f, SINK, 3, 65535);
	for (int i = 0; i < 47; i++)
		pause_send(&f, SENDER, 3, 1000);
	cr_expect_eq(rare_sum().headroom_packets, 0);
	for (int i = 0; i < 5; i++)
		pause_send(&f, SENDER, 3, 900);
	cr_expect_eq(rare(SENDER, 3).headroom_packets, 5);
	cr_expect_eq(rare(SENDER, 3).headroom_bytes, 4500);
	cr_expect_eq(rare_sum().headroom_packets, 5, "nobody else's");
	cr_expect_eq(rare_sum().watchdog_packets, 0);
}

/* The queue of SINK is paused for 180 ms: what waits goes when that has been seen for 100. */
Test(leaf_totals, drops_of_the_watchdog_are_counted_by_the_queue_that_is_stuck)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);

	snapshot->watchdog = (struct watchdog_table){
		.action = WATCHDOG_DROP,
		.detect_ps = 100 * PS_PER_MS,
		.restore_ps = 100 * PS_PER_MS,
		.poll_ps = 50 * PS_PER_MS,
	};
	fixture_publish(&f, snapshot);
	pause_receive(&f, SINK, 3, 65535);
	for (int i = 0; i < 10; i++)
		pause_send(&f, SENDER, 3, 1000);
	/* 65535 quanta at 100G last 335 us. */
	for (int i = 0; i < 600; i++) {
		f.now_ps += 300 * PS_PER_US;
		pause_receive(&f, SINK, 3, 65535);
	}
	cr_assert_eq(pfc_at(SINK, 3, f.now_ps).storms, 1);
	cr_expect_eq(rare(SINK, 3).watchdog_packets, 10, "what waited");
	for (int i = 0; i < 3; i++)
		pause_send(&f, SENDER + 1, 3, 500);
	cr_expect_eq(rare(SINK, 3).watchdog_packets, 13, "and what comes");
	cr_expect_eq(rare(SINK, 3).watchdog_bytes, 11500);
	cr_expect_eq(rare_sum().watchdog_packets, 13, "nobody else's");
	cr_expect_eq(rare_sum().headroom_packets, 0);
}

Test(leaf_totals, the_guard_is_counted_each_time_it_acts)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct buffer_pool_totals pool;

	snapshot->buffer.packets_max = 60;
	snapshot->buffer.guard_packets = 20;
	fixture_publish(&f, snapshot);
	for (uint64_t times = 1; times <= 3; times++) {
		pause_receive(&f, SINK, 4, 65535);
		for (int i = 0; i < 45; i++)
			pause_send(&f, SENDER, 4, 100);
		leaf_buffer_pool_totals(f.leaf, f.snapshot, &pool);
		cr_expect(pool.guarded);
		cr_expect_eq(pool.guards, times);
		pause_receive(&f, SINK, 4, 0);
		fixture_settle(&f);
		fixture_discard(&f, SINK);
		leaf_buffer_pool_totals(f.leaf, f.snapshot, &pool);
		cr_expect_not(pool.guarded);
		cr_expect_eq(pool.guards, times);
	}
}
