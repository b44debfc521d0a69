/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pauses that the leaf receives. Identifiers such as HON-LL name the case of a switch tester's
 * catalogue that a test covers.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES 1000u

/* A frame of that length on a wire of 100G. */
#define FRAME_PS ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * UINT64_C(80))

/* A quantum: 512 bit times. */
#define QUANTUM_PS(rate) (UINT64_C(512) * PS_PER_S / (rate))

static struct leaf_fixture f;

static void open_rate(uint64_t sink_bps)
{
	pause_open(&f, &(struct pause_params){.senders = 1,
					      .sink_bps = sink_bps,
					      .shared_bytes = 64 * 1024 * 1024,
					      .alpha_q8 = 256});
}

static void start(void)
{
	fixture_start_eal();
	open_rate(100 * GBPS);
}

static void finish(void)
{
	fixture_discard(&f, SINK);
	fixture_close(&f);
}

static const struct pfc_counters *counters(uint8_t priority)
{
	return &f.leaf->pfc[SINK].count[priority];
}

static const struct pfc_port_counters *port_counters(void)
{
	return &f.leaf->pfc[SINK].port_count;
}

static void backlog(uint8_t priority, uint32_t frames)
{
	for (uint32_t i = 0; i < frames; i++)
		pause_send(&f, SENDER, priority, FRAME_BYTES);
}

/* Frames that leave until a time; in which priorities. */
static uint32_t sent_until(uint64_t until_ps, uint8_t *priorities)
{
	struct frame frame;
	uint32_t count = 0;

	*priorities = 0;
	while (pause_next(&f, until_ps, &frame) != UINT64_MAX) {
		*priorities |= (uint8_t)(1u << frame.meta.priority);
		count++;
	}
	f.now_ps = until_ps;
	fixture_poll(&f);
	while (fixture_take(&f, SINK, &frame)) {
		*priorities |= (uint8_t)(1u << frame.meta.priority);
		count++;
	}
	return count;
}

/* The next frame leaves at this time, and is of that priority. */
static void expect_next(uint64_t at_ps, uint8_t priority)
{
	struct frame frame;
	uint64_t sent_ps = pause_next(&f, at_ps + PS_PER_S, &frame);

	cr_assert_neq(sent_ps, UINT64_MAX, "nothing is sent");
	cr_assert_eq(sent_ps, at_ps, "%" PRId64 " ps late", (int64_t)(sent_ps - at_ps));
	cr_assert_eq(frame.meta.priority, priority);
}

LEAF_TEST(pfc_honour, HON_LL_a_paused_queue_sends_nothing_and_others_go_on)
{
	uint64_t end_ps = f.now_ps + 3 * PS_PER_MS;

	pause_receive(&f, SINK, 3, 65535);
	backlog(3, 20);
	while (time_after(end_ps, f.now_ps)) {
		uint8_t priorities;

		backlog(4, 5);
		backlog(0, 5);
		backlog(7, 5);
		cr_assert_eq(sent_until(f.now_ps + PAUSE_PS_100G / 2, &priorities), 15);
		cr_assert_eq(priorities, 1u << 4 | 1u << 0 | 1u << 7);
		pause_receive(&f, SINK, 3, 65535);
	}
	cr_assert_eq(fixture_queued(&f), 20);
	cr_assert_eq(counter_get(&counters(3)->rx_pauses), 1, "it was one pause");
	pause_receive(&f, SINK, 3, 0);
	expect_next(f.now_ps, 3);
}

LEAF_TEST(pfc_honour, HON_LOSSY_pauses_of_lossy_priorities_are_counted_and_ignored)
{
	struct pause pause = {.enabled = 0xe7};
	uint8_t priorities;
	struct frame frame;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		pause.quanta[p] = 65535;
	frame = pause_frame(&pause);
	fixture_inject(&f, SINK, &frame);
	fixture_poll(&f);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		backlog(p, 4);
	cr_assert_eq(sent_until(f.now_ps + 40 * FRAME_PS, &priorities), 32);
	cr_assert_eq(priorities, 0xff);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		cr_assert_eq(counter_get(&counters(p)->rx_frames), 0xe7 >> p & 1, "priority %u", p);
		cr_assert_eq(counter_get(&counters(p)->rx_pauses), 0);
	}
	cr_assert_eq(counter_get(&port_counters()->rx_not_lossless), 6);
	cr_assert_not(pause_take(&f, SENDER, &pause), "and nobody is paused for it");
}

/* What a frame does that is none of priority flow control: nothing but count. */
static void expect_ignored(const char *what, const struct frame *frame,
			   const _Atomic uint64_t *counter)
{
	uint64_t before = counter != NULL ? counter_get(counter) : 0;
	uint64_t dropped = drops_total(&f);
	struct leaf_conservation sum;
	uint64_t consumed;
	uint8_t priorities;

	leaf_conservation(f.leaf, &sum);
	consumed = sum.consumed;
	fixture_inject(&f, SINK, frame);
	fixture_poll(&f);
	leaf_conservation(f.leaf, &sum);
	cr_assert_eq(sum.consumed - consumed + drops_total(&f) - dropped, 1, "%s: once", what);
	if (counter != NULL)
		cr_assert_eq(counter_get(counter), before + 1, "%s", what);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		backlog(p, 1);
	cr_assert_eq(sent_until(f.now_ps + 10 * FRAME_PS, &priorities), 8, "%s", what);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		cr_assert_eq(counter_get(&counters(p)->rx_frames), 0, "%s", what);
	expect_silence(&f, what);
}

LEAF_TEST(pfc_honour, HON_GLOBAL_pause_of_802_3x_stops_nothing)
{
	struct frame frame = {.size = 60};

	mac_store(frame.byte, UINT64_C(0x0180c2000001));
	mac_store(frame.byte + 6, UINT64_C(0x0200000000fe));
	store_u32(frame.byte + 12, 0x88080001);
	store_u16(frame.byte + 16, 65535);
	expect_ignored("global pause", &frame, &port_counters()->rx_global);
}

LEAF_TEST(pfc_honour, HON_CEV0_times_without_their_enable_bits_stop_nothing)
{
	struct pause pause = {.enabled = 0};
	struct frame frame;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		pause.quanta[p] = 65535;
	frame = pause_frame(&pause);
	expect_ignored("empty vector", &frame, NULL);
	/* Nor do bits of the vector's first byte, which are reserved. */
	store_u16(frame.byte + 16, 0xff00);
	expect_ignored("reserved bits", &frame, NULL);
}

LEAF_TEST(pfc_honour, HON_ZERO_SMAC_a_pause_from_a_zero_address_is_honoured)
{
	struct pause pause = {.enabled = 1u << 3, .quanta = {[3] = 100}};
	struct frame frame = pause_frame(&pause);
	uint64_t begin_ps = f.now_ps;

	mac_store(frame.byte + 6, 0);
	fixture_inject(&f, SINK, &frame);
	fixture_poll(&f);
	backlog(3, 1);
	expect_next(begin_ps + 100 * QUANTUM_PS(100 * GBPS), 3);
	cr_assert_eq(counter_get(&counters(3)->rx_frames), 1);
	cr_assert_eq(drops_total(&f), 0);
}

Test(pfc_honour, HON_EXPIRE_silence_lasts_quanta_times_512_bit_times_of_the_port)
{
	static const uint64_t rates[] = {GBPS, 10 * GBPS, 25 * GBPS, 100 * GBPS, 400 * GBPS};
	static const uint16_t quanta[] = {1, 256, 65535};

	fixture_start_eal();
	for (uint32_t r = 0; r < 5; r++) {
		open_rate(rates[r]);
		for (uint32_t q = 0; q < 3; q++) {
			uint64_t begin_ps = f.now_ps;

			pause_receive(&f, SINK, 3, quanta[q]);
			backlog(3, 2);
			expect_next(begin_ps + quanta[q] * QUANTUM_PS(rates[r]), 3);
			fixture_settle(&f);
			fixture_discard(&f, SINK);
			f.now_ps += PS_PER_MS;
		}
		fixture_close(&f);
	}
}

LEAF_TEST(pfc_honour, HON_MULTI_one_frame_pauses_each_priority_for_its_own_time)
{
	struct pause pause = {.enabled = 1u << 3 | 1u << 4, .quanta = {[3] = 65535, [4] = 0x100}};
	struct frame frame = pause_frame(&pause);
	uint64_t begin_ps = f.now_ps;

	fixture_inject(&f, SINK, &frame);
	fixture_poll(&f);
	backlog(3, 1);
	backlog(4, 1);
	expect_next(begin_ps + 0x100 * QUANTUM_PS(100 * GBPS), 4);
	expect_next(begin_ps + PAUSE_PS_100G, 3);
}

LEAF_TEST(pfc_honour, the_last_frame_lengthens_shortens_or_ends_a_pause)
{
	uint64_t begin_ps = f.now_ps, second_ps = begin_ps + 10 * PS_PER_US;
	uint8_t priorities;

	/* Longer. */
	pause_receive(&f, SINK, 3, 10000);
	backlog(3, 3);
	cr_assert_eq(sent_until(second_ps, &priorities), 0);
	pause_receive(&f, SINK, 3, 20000);
	expect_next(second_ps + 20000 * QUANTUM_PS(100 * GBPS), 3);
	/* Shorter, with a queue that waits for the longer one. */
	f.now_ps += PS_PER_US;
	pause_receive(&f, SINK, 3, 65535);
	second_ps = f.now_ps + 10 * PS_PER_US;
	cr_assert_eq(sent_until(second_ps, &priorities), 0);
	pause_receive(&f, SINK, 3, 100);
	expect_next(second_ps + 100 * QUANTUM_PS(100 * GBPS), 3);
	backlog(3, 1);
	/* Ended. */
	fixture_settle(&f);
	fixture_discard(&f, SINK);
	f.now_ps += PS_PER_US;
	pause_receive(&f, SINK, 3, 65535);
	backlog(3, 1);
	second_ps = f.now_ps + 10 * PS_PER_US;
	cr_assert_eq(sent_until(second_ps, &priorities), 0);
	pause_receive(&f, SINK, 3, 0);
	expect_next(second_ps, 3);
}

/* At most the frame that the device has: on an exact wire one, and that is on the wire. */
LEAF_TEST(pfc_honour, HON_RESP_TIME_only_the_frame_that_was_handed_over_leaves)
{
	uint8_t priorities;

	backlog(3, 50);
	cr_assert_eq(sent_until(f.now_ps + 10 * FRAME_PS + FRAME_PS / 2, &priorities), 11);
	pause_receive(&f, SINK, 3, 1000);
	cr_assert_eq(sent_until(f.now_ps + 999 * QUANTUM_PS(100 * GBPS), &priorities), 0);
	cr_assert_eq(sent_until(f.now_ps + QUANTUM_PS(100 * GBPS), &priorities), 1);
	cr_assert_eq(sent_until(f.now_ps + 100 * FRAME_PS, &priorities), 38);
}

/*
 * What the device has when the pause comes still leaves: at most the run-ahead, and the frame that
 * reaches over it. Without run-ahead that is within 802.3's limit (31B.3.7, and the frame in flight).
 */
Test(pfc_honour, HON_RESP_TIME_what_leaves_after_a_pause_is_bounded_by_the_run_ahead)
{
	static const struct {
		uint64_t gbps;
		uint32_t limit_quanta;
	} speeds[] = {{10, 67}, {25, 80}, {40, 118}, {50, 147}, {100, 394}, {200, 453}, {400, 905}};
	static const uint64_t run_aheads_ps[] = {0, PS_PER_US, 5 * PS_PER_US};

	fixture_start_eal();
	for (uint32_t i = 0; i < 7 * 3 * 2; i++) {
		/* The device has just been filled up, or is about to be. */
		const uint64_t after_ps = i % 2 * 6 * PS_PER_US;
		const uint64_t rate_bps = speeds[i / 6].gbps * GBPS;
		const uint64_t frame_ps =
			(FRAME_BYTES + WIRE_OVERHEAD_BYTES) * 8 * PS_PER_S / rate_bps;
		const uint64_t run_ahead_ps = run_aheads_ps[i / 2 % 3];
		struct snapshot *snapshot;
		uint64_t begin_ps, left_ps;
		uint32_t count;
		uint8_t priorities;

		open_rate(rate_bps);
		snapshot = snapshot_copy(f.snapshot);
		snapshot_port_rate(snapshot, SINK, rate_bps, run_ahead_ps, 0);
		fixture_publish(&f, snapshot);
		begin_ps = f.now_ps;
		for (uint32_t k = 0; k < 700; k++)
			pause_send(&f, SENDER, 3, FRAME_BYTES);
		count = sent_until(begin_ps + after_ps, &priorities);
		pause_receive(&f, SINK, 3, 65535);
		cr_assert_eq(sent_until(f.now_ps + 10 * PS_PER_US, &priorities), 0);
		/* The wire was busy since the beginning, and is until it has sent them all. */
		left_ps = count * frame_ps - after_ps;
		cr_assert_leq(left_ps, run_ahead_ps + frame_ps, "%" PRIu64 "G", speeds[i / 6].gbps);
		cr_assert_geq(left_ps, run_ahead_ps / 2, "the bound is tight");
		if (run_ahead_ps == 0)
			cr_assert_leq(left_ps,
				      speeds[i / 6].limit_quanta * QUANTUM_PS(rate_bps) + frame_ps);
		pause_receive(&f, SINK, 3, 0);
		fixture_settle(&f);
		finish();
	}
}

LEAF_TEST(pfc_honour, MAL_PFC_SHORT_frames_cut_anywhere_are_counted_and_stop_nothing)
{
	struct pause pause = {.enabled = 0xff};
	struct frame frame;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		pause.quanta[p] = 65535;
	for (uint32_t size = 14; size < 14 + 4 + 16; size++) {
		frame = pause_frame(&pause);
		frame.size = size;
		expect_ignored("cut", &frame, &port_counters()->rx_bad);
	}
}

/* 20 bytes after the EtherType are all that there is to say: only padding is missing. */
LEAF_TEST(pfc_honour, MAL_PFC_SHORT_a_frame_that_lacks_only_padding_is_obeyed)
{
	struct pause pause = {.enabled = 1u << 3, .quanta = {[3] = 100}};
	struct frame frame = pause_frame(&pause);
	uint64_t begin_ps = f.now_ps;

	frame.size = 14 + 20;
	fixture_inject(&f, SINK, &frame);
	fixture_poll(&f);
	backlog(3, 1);
	expect_next(begin_ps + 100 * QUANTUM_PS(100 * GBPS), 3);
}

LEAF_TEST(pfc_honour, MAL_PFC_OTHER_addresses_and_opcodes_are_never_forwarded)
{
	static const uint64_t addresses[] = {
		UINT64_C(0x020000000000),                           /* the port's own */
		FIXTURE_ROUTER,           UINT64_C(0x020000010001), /* another port's peer */
		UINT64_C(0xffffffffffff), UINT64_C(0x0180c2000000),
	};
	struct pause pause = {.enabled = 0xff};
	struct frame frame;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		pause.quanta[p] = 65535;
	for (uint32_t i = 0; i < 5; i++) {
		frame = pause_frame(&pause);
		mac_store(frame.byte, addresses[i]);
		expect_ignored("address", &frame, NULL);
	}
	for (uint32_t opcode = 0; opcode < 0x300; opcode++) {
		if (opcode == 0x0101 || opcode == 1)
			continue;
		frame = pause_frame(&pause);
		store_u16(frame.byte + 14, opcode);
		expect_ignored("opcode", &frame, &port_counters()->rx_unknown);
	}
}

LEAF_TEST(pfc_honour, CNT_PFC_RX_each_priority_counts_the_frames_that_named_it)
{
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		for (uint32_t i = 0; i < 5; i++) {
			pause_receive(&f, SINK, p, 65535);
			pause_receive(&f, SINK, p, 0);
		}
		for (uint8_t other = 0; other < PRIORITY_COUNT; other++)
			cr_assert_eq(counter_get(&counters(other)->rx_frames), other <= p ? 10 : 0);
	}
}

LEAF_TEST(pfc_honour, CNT_PFC_NOTDATA_pauses_are_received_as_no_data)
{
	struct port_totals before, after;
	struct queue_totals queue;

	leaf_port_totals(f.leaf, SINK, &before);
	for (uint32_t i = 0; i < 5000; i++)
		pause_receive(&f, SINK, 3, (uint16_t)(i & 1));
	leaf_port_totals(f.leaf, SINK, &after);
	/* Every frame is received; these were meant for the leaf. */
	cr_assert_eq(after.rx_packets - before.rx_packets, after.consumed - before.consumed);
	cr_assert_eq(after.consumed - before.consumed, 5000);
	cr_assert_eq(drops_total(&f), 0);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		leaf_queue_totals(f.leaf, SINK, p, &queue);
		cr_assert_eq(queue.rx_packets, 0);
		cr_assert_eq(queue.rx_bytes, 0);
	}
}

/* Pauses that nobody waited for count as long as they were, not up to the next one. */
LEAF_TEST(pfc_honour, CNT_PAUSE_TIME_is_exact_without_any_traffic)
{
	const uint64_t pause_ps = 100 * QUANTUM_PS(100 * GBPS);
	struct pfc_totals totals;
	uint64_t last_ps;

	for (uint32_t i = 0; i < 10; i++) {
		pause_receive(&f, SINK, 3, 100);
		fixture_run_until(&f, f.now_ps + PS_PER_MS);
	}
	/* The next frame finds that the last one is over. */
	pause_receive(&f, SINK, 3, 0);
	cr_assert_eq(counter_get(&counters(3)->rx_pauses), 10);
	cr_assert_eq(counter_get(&counters(3)->rx_paused_ps), 10 * pause_ps);
	/* Refreshed before it ends it is one, as long as both. */
	last_ps = f.now_ps;
	pause_receive(&f, SINK, 3, 100);
	fixture_run_until(&f, f.now_ps + pause_ps / 2);
	pause_receive(&f, SINK, 3, 100);
	fixture_run_until(&f, f.now_ps + PS_PER_MS);
	pause_receive(&f, SINK, 3, 0);
	leaf_pfc_totals(f.leaf, SINK, 3, f.now_ps, &totals);
	cr_assert_eq(totals.rx_last_ps, last_ps);
	cr_assert_eq(counter_get(&counters(3)->rx_pauses), 11);
	cr_assert_eq(counter_get(&counters(3)->rx_paused_ps), 11 * pause_ps + pause_ps / 2);
}

/* Half of the clock's range after its end, a pause that nobody has looked at would be one to come. */
LEAF_TEST(pfc_honour, HON_EXPIRE_a_pause_is_over_after_any_time_without_traffic)
{
	const uint64_t day_ps = 86400 * PS_PER_S;
	uint64_t begin_ps = f.now_ps;
	struct pfc_totals totals;

	pause_receive(&f, SINK, 3, 100);
	for (uint32_t day = 1; day <= 250; day++) {
		f.now_ps += day_ps;
		fixture_poll(&f);
		leaf_pfc_totals(f.leaf, SINK, 3, f.now_ps, &totals);
		cr_assert_not(totals.rx_paused, "day %u", day);
		cr_assert_eq(totals.rx_paused_ps, 100 * QUANTUM_PS(100 * GBPS), "day %u", day);
		/* When the pause began is known for 60 days, and is then 60 to 63 days ago: three ports. */
		if (day <= 60)
			cr_assert_eq(totals.rx_last_ps, begin_ps);
		else
			cr_assert_leq(f.now_ps - totals.rx_last_ps, 63 * day_ps);
	}
	backlog(3, 1);
	expect_next(f.now_ps, 3);
}

LEAF_TEST(pfc_honour, LF_PAUSED_PORT_down_and_up_clears_the_pause)
{
	struct snapshot *snapshot;

	pause_receive(&f, SINK, 3, 65535);
	backlog(3, 3);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SINK].link_up = false;
	fixture_publish(&f, snapshot);
	cr_assert_eq(drops_of(&f, DROP_LINK_DOWN), 3);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SINK].link_up = true;
	fixture_publish(&f, snapshot);
	backlog(3, 1);
	expect_next(f.now_ps, 3);
}

LEAF_TEST(pfc_honour, a_reload_that_stops_honouring_lets_the_queue_go)
{
	struct snapshot *snapshot;

	pause_receive(&f, SINK, 3, 65535);
	backlog(3, 1);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SINK].pfc = PORT_PFC_SEND;
	fixture_publish(&f, snapshot);
	expect_next(f.now_ps, 3);
	pause_receive(&f, SINK, 3, 65535);
	backlog(3, 1);
	f.now_ps += FRAME_PS;
	expect_next(f.now_ps, 3);
	cr_assert_eq(counter_get(&counters(3)->rx_frames), 2, "counted all the same");
}

/* Frames that a device refused obey a pause that came in between; those of others go. */
LEAF_TEST(pfc_honour, frames_in_staging_obey_a_pause)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	const struct staging *staging = &f.leaf->egress[SINK].staging;
	uint32_t other, lossless;
	uint64_t begin_ps;
	uint8_t priorities;

	snapshot_port_rate(snapshot, SINK, 100 * GBPS, 100 * PS_PER_US, 0);
	fixture_publish(&f, snapshot);
	memory_io_limit(f.memory[SINK], 2);
	for (uint32_t i = 0; i < 6; i++) {
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
		pause_inject(&f, SENDER, 0, FRAME_BYTES);
	}
	fixture_poll(&f);
	cr_assert_eq(fixture_discard(&f, SINK), 2);
	other = staging->count[0];
	lossless = staging->count[3];
	cr_assert(other + lossless == 10 && other != 0 && lossless != 0);
	begin_ps = f.now_ps;
	pause_receive(&f, SINK, 3, 1000);
	memory_io_limit(f.memory[SINK], 32);
	cr_assert_eq(sent_until(begin_ps + 999 * QUANTUM_PS(100 * GBPS), &priorities), other);
	cr_assert_eq(priorities, 1u << 0);
	expect_next(begin_ps + 1000 * QUANTUM_PS(100 * GBPS), 3);
	cr_assert_eq(sent_until(f.now_ps + PS_PER_US, &priorities), lossless - 1);
	cr_assert_eq(priorities, 1u << 3);
}

/* Much longer than a device may take nothing (egress.h): 3 ms at 10G, where that is 300 us. */
LEAF_TEST(pfc_honour, a_paused_queue_is_no_stall_of_the_device)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct port_totals totals;
	uint8_t priorities;

	snapshot_port_rate(snapshot, SINK, 10 * GBPS, 10 * PS_PER_US, 0);
	fixture_publish(&f, snapshot);
	memory_io_limit(f.memory[SINK], 0);
	for (uint32_t i = 0; i < 4; i++)
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
	fixture_poll(&f);
	cr_assert_gt(egress_staged_packets(&f.leaf->egress[SINK]), 0);
	pause_receive(&f, SINK, 3, 60000);
	(void)sent_until(f.now_ps + 50000 * QUANTUM_PS(10 * GBPS), &priorities);
	memory_io_limit(f.memory[SINK], 32);
	cr_assert_eq(sent_until(f.now_ps + 20000 * QUANTUM_PS(10 * GBPS), &priorities), 4);
	leaf_port_totals(f.leaf, SINK, &totals);
	cr_expect_eq(totals.tx_stalls, 0);
}

/* Staging of one priority, and a queue of another that is paused for longer. */
LEAF_TEST(pfc_honour, frames_in_staging_go_when_their_own_pause_is_over)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct pause pause = {.enabled = 1u << 3 | 1u << 4, .quanta = {[3] = 1000, [4] = 60000}};
	struct frame frame = pause_frame(&pause);
	uint64_t begin_ps;

	snapshot_port_rate(snapshot, SINK, 100 * GBPS, 100 * PS_PER_US, 0);
	fixture_publish(&f, snapshot);
	memory_io_limit(f.memory[SINK], 0);
	for (uint32_t i = 0; i < 4; i++)
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
	fixture_poll(&f);
	cr_assert_eq(egress_staged_packets(&f.leaf->egress[SINK]), 4);
	begin_ps = f.now_ps;
	fixture_inject(&f, SINK, &frame);
	fixture_poll(&f);
	memory_io_limit(f.memory[SINK], 32);
	backlog(4, 2);
	expect_next(begin_ps + 1000 * QUANTUM_PS(100 * GBPS), 3);
	fixture_discard(&f, SINK);
	expect_next(begin_ps + 60000 * QUANTUM_PS(100 * GBPS), 4);
}
