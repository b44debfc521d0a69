/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A device that obeys pauses by itself: priority 3 has a queue of its own there, which takes nothing
 * while the device holds it.
 */
#include <criterion/criterion.h>

#include "dataplane/pfc.h"
#include "tests/unit/pause_fixture.h"

static struct leaf_fixture f;
static const struct port_io_ops *memory_ops;
static struct port_io_ops ops;
static bool holds;
static uint32_t control_frames;

/* As of a device with two queues: of a burst that it holds, only what stands before. */
static uint16_t tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	uint16_t taken = 0;

	while (taken < count && (!holds || packet_meta(packets[taken])->priority != 3)) {
		control_frames += packet_meta(packets[taken])->priority == PRIORITY_COUNT;
		taken++;
	}
	return memory_ops->tx_burst(io, queue, packets, taken);
}

static void start(void)
{
	struct port_io *io;

	fixture_start_eal();
	pause_open(&f, &(struct pause_params){.senders = 2,
					      .sink_bps = GBPS,
					      .shared_bytes = 600000,
					      .reserved_bytes = 3000,
					      .headroom_bytes = 100000,
					      .alpha_q8 = 256});
	io = memory_io_port(f.memory[SINK]);
	memory_ops = io->ops;
	ops = *io->ops;
	ops.tx_burst = tx_burst;
	io->ops = &ops;
	io->alone = 1u << 3;
	holds = true;
	control_frames = 0;
}

static void finish(void)
{
	fixture_close(&f);
}

/* Let time pass. @return frames of each priority that SINK has sent, by their DSCP's class selector */
static void run(uint64_t time_ps, uint32_t sent[PRIORITY_COUNT])
{
	struct frame frame;

	memset(sent, 0, PRIORITY_COUNT * sizeof(*sent));
	fixture_run_until(&f, f.now_ps + time_ps);
	while (fixture_take(&f, SINK, &frame))
		sent[frame.byte[15] >> 5]++;
}

/* Frames of 1000 bytes last 8 us; 26 is the DSCP of priority 3. */
LEAF_TEST(pfc_hardware, a_queue_that_the_device_holds_stops_no_other)
{
	uint32_t sent[PRIORITY_COUNT];

	for (uint32_t i = 0; i < 20; i++) {
		pause_send(&f, SENDER, 3, 1000);
		pause_send(&f, SENDER + 1, 4, 1000);
		pause_send(&f, SENDER + 1, 0, 1000);
	}
	run(PS_PER_MS, sent);
	cr_expect_eq(sent[3], 0);
	cr_expect_eq(sent[4], 20);
	cr_expect_eq(sent[0], 20);
	cr_expect_neq(f.leaf->egress[SINK].paused & 1u << 3, 0);
	/* What comes later passes it, too. */
	for (uint32_t i = 0; i < 20; i++)
		pause_send(&f, SENDER + 1, 4, 1000);
	run(PS_PER_MS, sent);
	cr_expect_eq(sent[4], 20);
	/* Let go: it is tried again within PFC_HOLD_PS, and then goes at line rate. */
	holds = false;
	run(PFC_HOLD_PS + 20 * 9 * PS_PER_US, sent);
	cr_expect_eq(sent[3], 20);
	cr_expect_eq(drops_total(&f), 0);
}

LEAF_TEST(pfc_hardware, a_device_that_holds_for_ever_is_a_storm)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct pfc_totals totals;
	uint32_t sent[PRIORITY_COUNT];

	snapshot->watchdog = (struct watchdog_table){
		.action = WATCHDOG_DROP,
		.detect_ps = 100 * PS_PER_MS,
		.restore_ps = 100 * PS_PER_MS,
		.poll_ps = 50 * PS_PER_MS,
	};
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 20; i++)
		pause_send(&f, SENDER, 3, 1000);
	run(160 * PS_PER_MS, sent);
	leaf_pfc_totals(f.leaf, SINK, 3, f.now_ps, &totals);
	cr_expect_eq(totals.storms, 1);
	cr_expect_eq(drops_of(&f, DROP_WATCHDOG), 20);
	cr_expect_eq(buffer_occupancy(f.worker, SENDER, 3), 0);
}

/* A pause of ours belongs to no priority, so nothing that the device holds can hold it. */
LEAF_TEST(pfc_hardware, pauses_pass_what_the_device_holds)
{
	uint32_t sent[PRIORITY_COUNT];

	pause_send(&f, SENDER, 3, 1000);
	pfc_pause(f.worker, SINK, 3, true, f.now_ps);
	run(100 * PS_PER_US, sent);
	cr_expect_eq(control_frames, 1);
	pfc_pause(f.worker, SINK, 3, false, f.now_ps);
	run(100 * PS_PER_US, sent);
	cr_expect_eq(control_frames, 2);
}

/* What isn't alone waits together: the device is just full. */
LEAF_TEST(pfc_hardware, a_device_with_one_queue_is_not_held_by_priority)
{
	uint32_t sent[PRIORITY_COUNT];

	memory_io_port(f.memory[SINK])->alone = 0;
	pause_send(&f, SENDER, 3, 1000);
	pause_send(&f, SENDER + 1, 4, 1000);
	run(PS_PER_MS, sent);
	cr_expect_eq(f.leaf->egress[SINK].paused, 0);
	holds = false;
	run(PS_PER_MS, sent);
	cr_expect_eq(sent[3], 1);
	cr_expect_eq(fixture_queued(&f), 0);
}
