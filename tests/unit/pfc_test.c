/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pauses that the leaf sends. Identifiers such as PFC-XOFF name the case of a switch tester's catalogue
 * that a test covers.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES 1000u
#define SHARED      UINT64_C(600000)
#define RESERVED    3000u
#define HEADROOM    100000u

/* No test polls as often while it waits for one thing. */
#define POLLS_MAX 100000u

static struct leaf_fixture f;

static void start(void)
{
	fixture_start_eal();
}

static void finish(void)
{
	fixture_close(&f);
}

/* The sink's peer has paused it for long; senders' thresholds are as above, alpha is 1. */
static void open_blocked(uint16_t senders)
{
	pause_open(&f, &(struct pause_params){.senders = senders,
					      .sink_bps = GBPS,
					      .shared_bytes = SHARED,
					      .reserved_bytes = RESERVED,
					      .headroom_bytes = HEADROOM,
					      .xon_offset_bytes = 5000,
					      .alpha_q8 = 256});
	pause_receive(&f, SINK, 3, 65535);
	pause_receive(&f, SINK, 4, 65535);
}

static const struct pfc_counters *counters(uint16_t port, uint8_t priority)
{
	return &f.leaf->pfc[port].count[priority];
}

/* Send until the peer must pause. @return frames that it took */
static uint32_t fill(uint16_t port, uint8_t priority)
{
	uint64_t before = counter_get(&counters(port, priority)->tx_pauses);
	uint32_t frames = 0;

	while (counter_get(&counters(port, priority)->tx_pauses) == before) {
		cr_assert_lt(frames++, 3000, "never paused");
		pause_send(&f, port, priority, FRAME_BYTES);
	}
	return frames;
}

/*
 * n pairs that fill up alike: x = alpha (B - n x), so x = alpha B / (1 + n alpha) beyond the reserve.
 * Each gets its xoff with the packet that passes x, or without a further one, when others passed it.
 */
static void check_xoff(uint16_t pairs, uint32_t alpha_q8)
{
	double alpha = alpha_q8 / 256.0, x = alpha * (double)SHARED / (1 + pairs * alpha);
	uint32_t sent[PORT_COUNT_MAX] = {0}, paused = 0;
	bool first = true;

	pause_open(&f, &(struct pause_params){.senders = pairs,
					      .sink_bps = GBPS,
					      .shared_bytes = SHARED,
					      .reserved_bytes = RESERVED,
					      .headroom_bytes = HEADROOM,
					      .alpha_q8 = alpha_q8});
	pause_receive(&f, SINK, 3, 65535);
	for (uint16_t port = 1; paused < pairs; port = (uint16_t)(port % pairs + 1)) {
		struct pause pause;

		if (sent[port] == UINT32_MAX)
			continue; /* its peer obeys */
		pause_send(&f, port, 3, FRAME_BYTES);
		cr_assert_lt(++sent[port], 3000, "port %u is never paused", port);
		for (uint16_t i = 1; i <= pairs; i++) {
			double beyond;

			if (!pause_take(&f, i, &pause))
				continue;
			cr_assert(pause.enabled == 1u << 3 && pause.quanta[3] == 65535);
			beyond = (double)sent[i] * FRAME_BYTES - RESERVED;
			cr_assert(beyond > x - (first ? 1 : FRAME_BYTES) &&
					  beyond <= x + FRAME_BYTES + 1,
				  "%u pairs, alpha %g: port %u at %.0f, wanted %.0f", pairs, alpha,
				  i, beyond, x);
			sent[i] = UINT32_MAX;
			paused++;
			first = false;
		}
	}
	cr_assert_eq(drops_total(&f), 0);
	fixture_close(&f);
}

Test(pfc, PFC_XOFF_goes_at_reserve_plus_alpha_times_free_within_a_packet)
{
	static const uint16_t pairs[] = {1, 2, 8};
	static const uint32_t alphas[] = {64, 256, 512};

	fixture_start_eal();
	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t k = 0; k < 3; k++)
			check_xoff(pairs[i], alphas[k]);
}

/* Nothing is sent before, everything is admitted until the headroom ends, then the fault is named. */
LEAF_TEST(pfc, PFC_XOFF_then_headroom_is_there_to_the_byte_and_no_further)
{
	uint64_t xoff_bytes;
	uint32_t frames;

	open_blocked(2);
	frames = fill(SENDER, 3);
	expect_pause(&f, SENDER, 1u << 3, 0);
	xoff_bytes = frames * (uint64_t)FRAME_BYTES;
	for (uint32_t i = 0; i < HEADROOM / FRAME_BYTES; i++) {
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		cr_assert_eq(drops_total(&f), 0, "after %u bytes of headroom", i * FRAME_BYTES);
	}
	cr_assert_eq(buffer_occupancy(f.worker, SENDER, 3), xoff_bytes + HEADROOM);
	cr_assert_eq(counter_get(&leaf_state(f.leaf, SENDER, 3)->headroom_peak_bytes), HEADROOM);
	for (uint32_t i = 1; i <= 5; i++) {
		struct port_totals totals;

		pause_send(&f, SENDER, 3, 60);
		leaf_port_totals(f.leaf, SENDER, &totals);
		cr_assert_eq(totals.drop[DROP_HEADROOM], i);
		cr_assert_eq(drops_total(&f), i, "no other reason, no other port");
	}
	/* The other priority of the port, and the other port, are as they were. */
	pause_send(&f, SENDER, 4, FRAME_BYTES);
	pause_send(&f, SENDER + 1, 3, FRAME_BYTES);
	cr_assert_eq(drops_total(&f), 5);
}

LEAF_TEST(pfc, PFC_FRAME_and_PFC_SRC_MAC_xoff_and_xon_are_these_bytes)
{
	static const uint8_t xoff[60] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, /* destination */
		0x02, 0x00, 0x00, 0x00, 0x00, 0x01, /* the port's own address */
		0x88, 0x08, 0x01, 0x01,             /* MAC control, priority flow control */
		0x00, 0x08,                         /* priority 3 */
		0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0xff, /* times 0 to 3 */
	};
	struct frame frame;
	uint8_t xon[60];

	open_blocked(1);
	fill(SENDER, 3);
	cr_assert(fixture_take(&f, SENDER, &frame));
	cr_assert(frame.size == 60 && frame.virtual_bytes == 0);
	cr_assert_eq(memcmp(frame.byte, xoff, 60), 0, "%s", frame_text(&frame));
	pause_receive(&f, SINK, 3, 0);
	fixture_settle(&f);
	while (fixture_take(&f, SENDER, &frame) && frame.byte[24] == 0xff)
		; /* refreshed ones */
	memcpy(xon, xoff, 60);
	xon[24] = xon[25] = 0;
	cr_assert_eq(memcmp(frame.byte, xon, 60), 0, "%s", frame_text(&frame));
	fixture_discard(&f, SINK);
	expect_silence(&f, "one xon");
}

/* One sender is paused, alone with 60000 shared bytes and alpha 1. @return its frames that wait */
static uint64_t pause_alone(uint32_t xon_offset_bytes)
{
	uint64_t waiting;

	pause_open(&f, &(struct pause_params){.senders = 1,
					      .sink_bps = 100 * GBPS,
					      .shared_bytes = 60000,
					      .reserved_bytes = RESERVED,
					      .headroom_bytes = HEADROOM,
					      .xon_offset_bytes = xon_offset_bytes,
					      .alpha_q8 = 256});
	pause_receive(&f, SINK, 3, 65535);
	waiting = fill(SENDER, 3);
	expect_pause(&f, SENDER, 1u << 3, 0);
	return waiting;
}

/*
 * Alone, with alpha 1: free = B - (occupancy - reserved), so occupancy <= free - offset from
 * (B + reserved - offset) / 2 on; never below the reserve.
 */
static void check_xon(uint32_t offset_bytes, uint64_t xon_bytes)
{
	uint64_t waiting;
	uint32_t polls = 0;
	struct frame frame;
	struct pause pause;

	waiting = pause_alone(offset_bytes);
	pause_send(&f, SENDER, 3, FRAME_BYTES);
	waiting++;
	pause_receive(&f, SINK, 3, 0);
	do {
		bool released;

		while (f.due_ps == f.now_ps) {
			cr_assert_lt(polls++, POLLS_MAX, "offset %u: no end", offset_bytes);
			fixture_poll(&f); /* what left in one poll is answered in the next */
		}
		while (fixture_take(&f, SINK, &frame))
			waiting--;
		released = pause_take(&f, SENDER, &pause);
		cr_assert_eq(released, waiting * FRAME_BYTES <= xon_bytes,
			     "offset %u: %" PRIu64 " bytes wait, xon at %" PRIu64, offset_bytes,
			     waiting * FRAME_BYTES, xon_bytes);
		if (released) {
			cr_assert(pause.enabled == 1u << 3 && pause.quanta[3] == 0);
			break;
		}
		cr_assert_neq(waiting, 0);
		f.now_ps = f.due_ps;
		fixture_poll(&f);
	} while (true);
	fixture_settle(&f);
	cr_assert_not(pause_take(&f, SENDER, &pause), "once");
	fixture_discard(&f, SINK);
	fixture_close(&f);
}

Test(pfc, PFC_XON_goes_when_the_occupancy_is_below_the_limit_by_its_offset)
{
	fixture_start_eal();
	check_xon(0, (60000 + RESERVED) / 2);
	check_xon(5000, (60000 + RESERVED - 5000) / 2);
	check_xon(50000, (60000 + RESERVED - 50000) / 2);
	check_xon(60000, RESERVED);
	check_xon(UINT32_MAX, RESERVED);
}

/* Between the two thresholds a pause is neither ended nor begun, whatever comes and goes. */
LEAF_TEST(pfc, PFC_XON_HYST_nothing_changes_between_the_thresholds)
{
	uint64_t waiting;
	struct pause pause;
	struct frame frame;

	/* xoff above 33000, xon at 21500. */
	waiting = pause_alone(20000);
	pause_receive(&f, SINK, 3, 0);
	for (uint32_t polls = 0; waiting > 23; polls++) {
		cr_assert_lt(polls, POLLS_MAX, "%" PRIu64 " frames wait", waiting);
		while (fixture_take(&f, SINK, &frame))
			waiting--;
		f.now_ps = f.due_ps;
		fixture_poll(&f);
	}
	pause_receive(&f, SINK, 3, 65535);
	for (uint32_t i = 0; i < 8; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	cr_assert_not(pause_take(&f, SENDER, &pause), "told already");
	/* It stays paused: that is said again and again. */
	fixture_run_until(&f, f.now_ps + 150 * PS_PER_US);
	pause_receive(&f, SINK, 3, 65535);
	fixture_run_until(&f, f.now_ps + 150 * PS_PER_US);
	expect_pause(&f, SENDER, 1u << 3, 0);
	/* And when it is over, a pair below xoff isn't paused by one frame more. */
	pause_receive(&f, SINK, 3, 0);
	fixture_settle(&f);
	expect_pause(&f, SENDER, 0, 1u << 3);
	pause_receive(&f, SINK, 3, 65535);
	for (uint32_t i = 0; i < 30; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	cr_assert_not(pause_take(&f, SENDER, &pause), "30000 bytes are below 33000");
	fixture_discard(&f, SINK);
}

/* At half of the peer's time, from the frame before: no gap, and no more frames than that. */
LEAF_TEST(pfc, PFC_XOFF_is_refreshed_at_half_of_its_time_and_not_more_often)
{
	uint64_t begin_ps, end_ps, last_ps;
	uint32_t frames = 0;

	open_blocked(1);
	fill(SENDER, 3);
	expect_pause(&f, SENDER, 1u << 3, 0);
	begin_ps = last_ps = f.now_ps;
	end_ps = begin_ps + 20 * PS_PER_MS;
	fixture_poll(&f);
	for (uint32_t polls = 0; !time_after(f.due_ps, end_ps); polls++) {
		struct pause pause;

		cr_assert_lt(polls, POLLS_MAX, "no end");
		f.now_ps = f.due_ps;
		fixture_poll(&f);
		while (pause_take(&f, SENDER, &pause)) {
			cr_assert(pause.enabled == 1u << 3 && pause.quanta[3] == 65535);
			cr_assert_eq(f.now_ps - last_ps, PAUSE_PS_100G / 2);
			last_ps = f.now_ps;
			frames++;
		}
	}
	cr_assert_eq(frames, 20 * PS_PER_MS / (PAUSE_PS_100G / 2));
	cr_assert_eq(counter_get(&counters(SENDER, 3)->tx_xoff), frames + 1);
	cr_assert_eq(counter_get(&counters(SENDER, 3)->tx_pauses), 1);
	cr_assert_eq(counter_get(&f.leaf->pfc[SENDER].port_count.tx_frames), frames + 1);
}

LEAF_TEST(pfc, PFC_FRAME_says_all_that_changed_and_all_that_lasts)
{
	open_blocked(2);
	/* One after the other: the second frame repeats what the first said. */
	fill(SENDER, 3);
	expect_pause(&f, SENDER, 1u << 3, 0);
	fill(SENDER, 4);
	expect_pause(&f, SENDER, 1u << 3 | 1u << 4, 0);
	/* One is over, the other one lasts: one frame. */
	pause_receive(&f, SINK, 4, 0);
	for (uint32_t polls = 0; counter_get(&counters(SENDER, 4)->tx_xon) == 0; polls++) {
		cr_assert_lt(polls, POLLS_MAX, "no xon");
		f.now_ps = f.due_ps;
		fixture_poll(&f);
		if (counter_get(&counters(SENDER, 4)->tx_xon) == 0)
			fixture_discard(&f, SENDER);
	}
	expect_pause(&f, SENDER, 1u << 3, 1u << 4);
	fixture_discard(&f, SINK);
	expect_silence(&f, "the other sender isn't concerned");
}

LEAF_TEST(pfc, PFC_FRAME_has_both_priorities_that_cross_in_one_poll)
{
	open_blocked(1);
	/* The two share B: each may have a third of it. */
	for (uint32_t i = 0; i < SHARED / 3 / FRAME_BYTES + RESERVED / FRAME_BYTES; i++) {
		pause_inject(&f, SENDER, 3, FRAME_BYTES);
		pause_inject(&f, SENDER, 4, FRAME_BYTES);
		fixture_poll(&f);
		expect_silence(&f, "below");
	}
	pause_inject(&f, SENDER, 3, FRAME_BYTES);
	pause_inject(&f, SENDER, 4, FRAME_BYTES);
	fixture_poll(&f);
	expect_pause(&f, SENDER, 1u << 3 | 1u << 4, 0);
}

LEAF_TEST(pfc, a_reload_that_makes_a_class_lossy_lets_the_peer_go)
{
	struct snapshot *snapshot;

	open_blocked(1);
	fill(SENDER, 3);
	fill(SENDER, 4);
	fixture_discard(&f, SENDER);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->lossless_mask = 1u << 4;
	snapshot->class[3].lossless = false;
	fixture_publish(&f, snapshot);
	/* What priority 3 had of the shared buffer is free: that lets priority 4 go as well. */
	expect_pause(&f, SENDER, 0, 1u << 3 | 1u << 4);
	cr_assert_eq(buffer_use(f.leaf).lossy_bytes,
		     (int64_t)buffer_occupancy(f.worker, SENDER, 3));
	cr_assert_eq(drops_total(&f), 0);
}

LEAF_TEST(pfc, a_reload_that_sets_pfc_off_lets_the_peer_go)
{
	struct snapshot *snapshot;
	struct pause pause;

	open_blocked(2);
	fill(SENDER, 3);
	fixture_discard(&f, SENDER);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].pfc = PORT_PFC_HONOUR;
	fixture_publish(&f, snapshot);
	expect_pause(&f, SENDER, 0, 1u << 3);
	fixture_run_until(&f, f.now_ps + 5 * PS_PER_MS);
	cr_assert_not(pause_take(&f, SENDER, &pause), "nothing is refreshed");
	/* Back on, it is told how things stand. */
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].pfc = PORT_PFC_HONOUR | PORT_PFC_SEND;
	fixture_publish(&f, snapshot);
	expect_pause(&f, SENDER, 1u << 3, 0);
	/* Off, and lossy, in one reload. */
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].pfc = 0;
	snapshot->lossless_mask = 1u << 4;
	snapshot->class[3].lossless = false;
	fixture_publish(&f, snapshot);
	expect_pause(&f, SENDER, 0, 1u << 3);
}

LEAF_TEST(pfc, a_port_that_is_honour_only_or_off_never_sends)
{
	struct snapshot *snapshot;

	open_blocked(2);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].pfc = PORT_PFC_HONOUR;
	snapshot->port[SENDER + 1].pfc = 0;
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 500; i++) {
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		pause_send(&f, SENDER + 1, 3, FRAME_BYTES);
	}
	cr_assert_gt(drops_of(&f, DROP_HEADROOM), 0, "they were congested");
	fixture_run_until(&f, f.now_ps + 5 * PS_PER_MS);
	expect_silence(&f, "no pause");
}

LEAF_TEST(pfc, CNT_PFC_NOTDATA_what_is_sent_and_received_counts_as_no_data)
{
	struct port_totals before, after;
	uint64_t paused_ps, begin_ps;

	open_blocked(1);
	leaf_port_totals(f.leaf, SENDER, &before);
	fill(SENDER, 3);
	begin_ps = f.now_ps;
	fixture_run_until(&f, f.now_ps + 10 * PS_PER_MS);
	leaf_port_totals(f.leaf, SENDER, &after);
	cr_assert_gt(counter_get(&counters(SENDER, 3)->tx_xoff), 50);
	cr_assert_eq(after.tx_packets, before.tx_packets);
	cr_assert_eq(after.tx_bytes, before.tx_bytes);
	pause_receive(&f, SINK, 3, 0);
	for (uint32_t polls = 0; counter_get(&counters(SENDER, 3)->tx_xon) == 0; polls++) {
		cr_assert_lt(polls, POLLS_MAX, "no xon");
		f.now_ps = f.due_ps;
		fixture_poll(&f);
	}
	paused_ps = counter_get(&counters(SENDER, 3)->tx_paused_ps);
	cr_assert_eq(paused_ps, f.now_ps - begin_ps, "CNT-PAUSE-TIME, to the picosecond");
	cr_assert_eq(counter_get(&counters(SENDER, 3)->tx_pauses), 1);
	fixture_settle(&f);
	fixture_discard(&f, SENDER);
	fixture_discard(&f, SINK);
}

LEAF_TEST(pfc, LF_FLUSH_a_dead_port_s_queue_is_freed_and_upstream_goes_on)
{
	struct snapshot *snapshot;
	uint32_t frames;

	open_blocked(2);
	frames = fill(SENDER, 3);
	frames += fill(SENDER + 1, 3);
	fixture_discard(&f, SENDER);
	fixture_discard(&f, SENDER + 1);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SINK].link_up = false;
	fixture_publish(&f, snapshot);
	cr_assert_eq(drops_of(&f, DROP_LINK_DOWN), frames);
	cr_assert_eq(drops_total(&f), frames);
	for (uint16_t port = 0; port <= f.port_count; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			cr_assert_eq(buffer_occupancy(f.worker, port, p), 0);
	cr_assert_eq(f.worker->shared_bytes, 0);
	cr_assert_eq(f.worker->headroom_bytes, 0);
	expect_pause(&f, SENDER, 0, 1u << 3);
	expect_pause(&f, SENDER + 1, 0, 1u << 3);
}

/* A peer whose link was down knows nothing of our pause. */
LEAF_TEST(pfc, a_peer_that_comes_up_is_told_what_is_paused)
{
	struct snapshot *snapshot;
	struct pause pause;

	open_blocked(1);
	fill(SENDER, 3);
	fixture_discard(&f, SENDER);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].link_up = false;
	fixture_publish(&f, snapshot);
	cr_assert_not(pause_take(&f, SENDER, &pause), "a dead port says nothing");
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].link_up = true;
	fixture_publish(&f, snapshot);
	expect_pause(&f, SENDER, 1u << 3, 0);
}

/* A dead port whose peer is paused still: its time to refresh passes, and it waits. */
LEAF_TEST(pfc, a_dead_port_has_no_pauses_to_refresh)
{
	struct snapshot *snapshot;

	open_blocked(1);
	fill(SENDER, 3);
	fill(SENDER, 4);
	fixture_discard(&f, SENDER);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER].link_up = false;
	fixture_publish(&f, snapshot);
	f.now_ps += PS_PER_MS;
	pause_receive(&f, SINK, 4, 0);
	for (uint32_t polls = 0; buffer_occupancy(f.worker, SENDER, 4) != 0; polls++) {
		cr_assert_lt(polls, 5000);
		f.now_ps = time_max(f.now_ps, f.due_ps);
		fixture_poll(&f);
	}
	fixture_poll(&f);
	fixture_poll(&f);
	cr_assert(time_after(f.due_ps, f.now_ps), "nothing is due at once, for ever");
	fixture_discard(&f, SINK);
	expect_silence(&f, "a dead port");
}

static bool release_peers(void)
{
	bool told = true;

	for (uint16_t w = 0; w < f.worker_count; w++)
		told &= worker_release_peers(leaf_worker(f.leaf, w), f.now_ps);
	return told;
}

/* One frame a port with all that was paused there; those that wait for nothing hear nothing. */
LEAF_TEST(pfc, PFC_XON_goes_to_every_peer_that_waits_when_a_worker_stops)
{
	struct pause pause;

	open_blocked(3);
	fill(SENDER, 3);
	fill(SENDER + 1, 3);
	fill(SENDER + 1, 4);
	fixture_discard(&f, SENDER);
	fixture_discard(&f, SENDER + 1);
	cr_assert_not(pause_take(&f, SENDER + 2, &pause));
	cr_assert(release_peers());
	expect_pause(&f, SENDER, 0, 1u << 3);
	expect_pause(&f, SENDER + 1, 0, 1u << 3 | 1u << 4);
	cr_assert_not(pause_take(&f, SENDER + 2, &pause));
	cr_assert_not(pause_take(&f, SINK, &pause));
	cr_assert_eq(counter_get(&counters(SENDER, 3)->tx_xon), 1);
	cr_assert(release_peers());
	cr_assert_not(pause_take(&f, SENDER, &pause), "once is enough");
}

/* A device that takes nothing at first; and a dead port, to which nobody listens. */
LEAF_TEST(pfc, PFC_XON_at_a_stop_is_tried_again_and_not_at_dead_ports)
{
	struct snapshot *snapshot;
	struct pause pause;

	open_blocked(2);
	fill(SENDER, 3);
	fill(SENDER + 1, 3);
	fixture_discard(&f, SENDER);
	fixture_discard(&f, SENDER + 1);
	snapshot = snapshot_copy(f.snapshot);
	snapshot->port[SENDER + 1].link_up = false;
	fixture_publish(&f, snapshot);
	fixture_discard(&f, SENDER); /* its pause, said again */
	memory_io_limit(f.memory[SENDER], 0);
	cr_assert_not(release_peers());
	memory_io_limit(f.memory[SENDER], BURST_COUNT_MAX);
	cr_assert(release_peers());
	expect_pause(&f, SENDER, 0, 1u << 3);
	cr_assert_not(pause_take(&f, SENDER + 1, &pause));
}

/* What `show workers` makes a histogram of. */
LEAF_TEST(pfc, a_worker_says_since_when_the_pauses_that_it_sent_were_due)
{
	uint64_t since_ps, reacted_ps = 0;
	uint32_t reacted = 0;
	struct pause pause;

	open_blocked(1);
	for (uint32_t i = 0; i < 1000; i++) {
		f.now_ps += 1000;
		pause_send(&f, SENDER, 3, FRAME_BYTES);
		for (uint16_t w = 0; w < f.worker_count; w++)
			if (worker_reacted(leaf_worker(f.leaf, w), &since_ps)) {
				reacted++;
				reacted_ps = since_ps;
			}
		if (pause_take(&f, SENDER, &pause))
			break;
	}
	cr_expect_eq(pause.quanta[3], 65535);
	cr_expect_eq(reacted, 1);
	cr_expect_eq(reacted_ps, f.now_ps, "sent in the poll that received the packet");
	fixture_poll(&f);
	cr_expect_not(worker_reacted(f.worker, &since_ps), "once");
}
