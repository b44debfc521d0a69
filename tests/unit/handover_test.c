/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How full the ring between two workers was. SINK is the first worker's, SENDER the second one's; each is
 * polled by itself.
 */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES 100u

/* What rte_ring holds: one less than its slots. */
#define RING_PACKETS (HANDOVER_RING_PACKETS - 1)

static struct leaf_fixture f;

static void open_workers(const char *count)
{
	cr_assert_eq(setenv("ROCELEAF_TEST_WORKERS", count, 1), 0);
	fixture_start_eal();
	pause_open(&f, &(struct pause_params){.senders = 1,
					      .shared_bytes = 50000,
					      .reserved_bytes = 1000,
					      .headroom_bytes = 20000,
					      .alpha_q8 = 256});
}

static void start(void)
{
	open_workers("2");
}

static void poll(uint16_t worker)
{
	(void)worker_poll(leaf_worker(f.leaf, worker), f.now_ps);
}

/* A port holds fewer frames than came: they are taken from it meanwhile. */
static void finish(void)
{
	while (fixture_queued(&f) != 0) {
		f.now_ps += PS_PER_US;
		poll(0);
		poll(f.worker_count - 1);
		(void)fixture_discard(&f, SINK);
	}
	fixture_settle(&f);
	fixture_close(&f);
}

TestSuite(handover, .init = start, .fini = finish);

/* They come, and wait for the first worker. */
static void hand_over(uint32_t packets)
{
	for (uint32_t i = 0; i < packets; i++) {
		pause_inject(&f, SENDER, 0, FRAME_BYTES);
		if (i % BURST_COUNT_MAX == BURST_COUNT_MAX - 1)
			poll(1);
	}
	poll(1);
}

static uint32_t most(uint16_t worker)
{
	return handover_ring_packets_max(f.leaf, worker);
}

Test(handover, a_ring_s_peak_is_the_most_that_was_in_it)
{
	cr_expect_eq(most(0), 0);
	hand_over(3);
	cr_expect_eq(most(0), 3);
	hand_over(4);
	cr_expect_eq(most(0), 7, "is %u with 3 + 4 in the ring", most(0));
	poll(0);
	cr_expect_eq(most(0), 7, "it stays when the ring is empty");
	hand_over(5);
	cr_expect_eq(most(0), 7, "and when it fills less far");
	hand_over(4);
	cr_expect_eq(most(0), 9, "and grows when further");
	cr_expect_eq(most(1), 0, "nothing went the other way");
}

/* What the ring had no room for waits outside of it, and goes in later. */
Test(handover, a_ring_s_peak_is_all_that_it_holds_at_most)
{
	hand_over(RING_PACKETS - 1);
	cr_expect_eq(most(0), RING_PACKETS - 1);
	hand_over(40);
	cr_expect_eq(most(0), RING_PACKETS);
	poll(0);
	poll(1);
	cr_expect_eq(most(0), RING_PACKETS);
}

Test(handover_alone, one_worker_has_no_ring)
{
	open_workers("1");
	pause_send(&f, SENDER, 0, FRAME_BYTES);
	(void)fixture_discard(&f, SINK);
	cr_expect_eq(most(0), 0);
	finish();
}
