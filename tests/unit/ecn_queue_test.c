/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks and early drops of queues. Identifiers such as ECN-DEQ name the case of a switch tester's
 * catalogue that a test covers. Marking is at dequeue: by the bytes behind the departing packet.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES 1000u
#define FRAME_PS    ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * UINT64_C(80)) /* at 100G */

enum { NOT_ECT, ECT1, ECT0, CE }; /* RFC 3168 figure 1 */

#define LOSSLESS 3
#define LOSSY    1

/* A probability as a table has it. */
#define CHANCE(p) ((uint32_t)((p)*4294967296.0 - 1))

static struct leaf_fixture f;

static void start(void)
{
	fixture_start_eal();
}

static void finish(void)
{
	fixture_discard(&f, SINK);
	fixture_close(&f);
}

static void open_marking(uint64_t sink_bps, uint8_t priority, const struct mark_table *mark)
{
	struct snapshot *snapshot;

	pause_open(&f, &(struct pause_params){.senders = 1,
					      .sink_bps = sink_bps,
					      .shared_bytes = 64 * 1024 * 1024,
					      .alpha_q8 = 256});
	snapshot = snapshot_copy(f.snapshot);
	snapshot->buffer.mark[priority * (f.port_count + 1u) + SINK] = *mark;
	fixture_publish(&f, snapshot);
}

static void open_ecn(uint8_t priority, uint32_t min_bytes, uint32_t max_bytes, double chance)
{
	open_marking(100 * GBPS, priority,
		     &(struct mark_table){.ecn_min_bytes = min_bytes,
					  .ecn_max_bytes = max_bytes,
					  .ecn_chance = CHANCE(chance),
					  .wred_min_bytes = UINT32_MAX});
}

static struct queue_totals totals(uint8_t priority)
{
	struct queue_totals queue;

	leaf_queue_totals(f.leaf, SINK, priority, &queue);
	return queue;
}

static uint64_t marked_bytes(uint8_t priority)
{
	struct queue_rare_totals rare;

	leaf_queue_rare_totals(f.leaf, SINK, priority, &rare);
	return rare.ecn_marked_bytes;
}

static void inject(uint8_t priority, uint8_t ecn)
{
	pause_inject_ecn(&f, SENDER, priority, ecn, FRAME_BYTES);
}

static void send_one(uint8_t priority, uint8_t ecn)
{
	inject(priority, ecn);
	fixture_poll(&f);
}

/* Of so many draws of this probability: sigma^2 = n p (1 - p). */
static bool within_four_sigma(double seen, double draws, double probability)
{
	double off = seen - draws * probability;

	return off * off <= 16 * draws * probability * (1 - probability);
}

/* Codepoint of a routed IPv4 frame, whose checksum must be right and DSCP as it was. */
static uint8_t codepoint(const struct frame *frame)
{
	const uint8_t *ip = frame->byte + 14;

	cr_assert_eq(ip[10] << 8 | ip[11], ipv4_checksum(ip), "checksum");
	cr_assert(ip[1] >> 2 == 26 || ip[1] >> 2 == 8);
	return ip[1] & 3;
}

/* 101 frames wait, then go: the i-th leaves 100 - i behind. */
LEAF_TEST(ecn_queue, ECN_DEQ_the_first_out_is_marked_and_the_last_is_not)
{
	struct frame frame;

	open_ecn(LOSSLESS, 50000, 50000, 1.0);
	pause_receive(&f, SINK, LOSSLESS, 65535);
	for (uint32_t i = 0; i < 101; i++)
		send_one(LOSSLESS, ECT0);
	pause_receive(&f, SINK, LOSSLESS, 0);
	fixture_settle(&f);
	for (uint32_t i = 0; i < 101; i++) {
		cr_assert(fixture_take(&f, SINK, &frame));
		cr_assert_eq(codepoint(&frame), (100 - i) * FRAME_BYTES > 50000 ? CE : ECT0,
			     "frame %u", i);
	}
	cr_assert_eq(totals(LOSSLESS).ecn_marked, 50);
	cr_assert_eq(marked_bytes(LOSSLESS), 50 * FRAME_BYTES);
	cr_assert_eq(totals(LOSSLESS).ecn_unmarked, 0);
	cr_assert_eq(drops_total(&f), 0);
}

/* Through a bridge, tagged, and in IPv6: the same marks, and not another bit. */
LEAF_TEST(ecn_queue, ECN_IPV6_VLAN_the_same_frames_are_marked_and_nothing_else_changes)
{
	struct snapshot *snapshot;
	struct frame frame, out;
	uint64_t bytes = 0;

	open_ecn(LOSSLESS, 20000, 20000, 1.0);
	snapshot = snapshot_copy(f.snapshot);
	snapshot_trunk(snapshot, SINK, 100);
	snapshot_trunk(snapshot, SENDER, 100);
	fixture_publish(&f, snapshot);
	/* Its host is known. */
	frame = FRAME(.destination_mac = 0x0200000000aa, .source_mac = 0x0200000000bb,
		      .tagged = true, .vlan = 100, .ether_type = 0x0806, .payload_bytes = 42);
	fixture_inject(&f, SINK, &frame);
	fixture_settle(&f);
	fixture_discard(&f, SENDER);
	pause_receive(&f, SINK, LOSSLESS, 65535);
	frame = FRAME(.destination_mac = 0x0200000000bb, .source_mac = 0x0200000000aa,
		      .tagged = true, .vlan = 100, .pcp = 5, .family = 6, .source6 = "fd00::1",
		      .destination6 = "fd00::2", .traffic_class = 26 << 2 | ECT1,
		      .payload_bytes = 60, .virtual_bytes = 860);
	for (uint32_t i = 0; i < 40; i++) {
		fixture_inject(&f, SENDER, &frame);
		fixture_poll(&f);
	}
	pause_receive(&f, SINK, LOSSLESS, 0);
	fixture_settle(&f);
	for (uint32_t i = 0; i < 40; i++) {
		bool marked = (39 - i) * (frame.size + frame.virtual_bytes) > 20000;

		cr_assert(fixture_take(&f, SINK, &out));
		/* Version 6, then the traffic class: its low two bits in bits 5 and 4. */
		cr_assert_eq(out.byte[19] >> 4 & 3, marked ? CE : ECT1, "frame %u", i);
		out.byte[19] = (uint8_t)((out.byte[19] & ~0x30) | ECT1 << 4);
		cr_assert(frame_equal(&out, &frame), "%s", frame_text(&out));
		bytes += marked ? frame.size + frame.virtual_bytes : 0;
	}
	cr_assert_eq(marked_bytes(LOSSLESS), bytes);
}

/* Frames that leave with so many of them behind, each time one arrives. @return marks, of count */
static uint32_t marks_at(uint32_t behind, uint32_t count, uint8_t ecn)
{
	uint32_t marks = 0;
	struct frame frame;

	pause_receive(&f, SINK, LOSSLESS, 65535);
	for (uint32_t i = 0; i < behind; i++)
		send_one(LOSSLESS, ecn);
	for (uint32_t i = 0; i < count; i++) {
		inject(LOSSLESS, ecn);
		if (i == 0)
			pause_receive(&f, SINK, LOSSLESS, 0);
		else
			fixture_poll(&f);
		cr_assert(fixture_take(&f, SINK, &frame));
		marks += codepoint(&frame) == CE;
		cr_assert_eq(totals(LOSSLESS).depth_packets, behind);
		f.now_ps += FRAME_PS;
	}
	pause_receive(&f, SINK, LOSSLESS, 0);
	fixture_settle(&f);
	fixture_discard(&f, SINK);
	f.now_ps += PS_PER_MS;
	return marks;
}

LEAF_TEST(ecn_queue, ECN_RED_ACC_the_ramp_holds_to_four_sigma)
{
	const uint32_t count = 4000;

	/* 20 % between 20 and 60 KB. */
	open_ecn(LOSSLESS, 20000, 60000, 0.2);
	cr_assert_eq(marks_at(1, 100, ECT0), 0);
	cr_assert_eq(marks_at(20, count, ECT0), 0, "none at Kmin");
	for (uint32_t behind = 21; behind <= 60; behind += 13) {
		double p = 0.2 * (behind - 20) / 40, mean = count * p;
		uint32_t marks = marks_at(behind, count, behind % 2 != 0 ? ECT0 : ECT1);

		cr_assert(within_four_sigma(marks, count, p), "%u of %u, wanted %.0f", marks, count,
			  mean);
	}
	cr_assert_eq(marks_at(60, count, NOT_ECT), 0);
	cr_assert_eq(marks_at(61, count, ECT0), count, "all above Kmax");
}

LEAF_TEST(ecn_queue, not_ect_in_a_lossless_class_is_counted_and_neither_marked_nor_dropped)
{
	struct frame frame;

	open_marking(100 * GBPS, LOSSLESS,
		     &(struct mark_table){.ecn_min_bytes = 10000,
					  .ecn_max_bytes = 10000,
					  .wred_min_bytes = UINT32_MAX});
	pause_receive(&f, SINK, LOSSLESS, 65535);
	for (uint32_t i = 0; i < 30; i++)
		send_one(LOSSLESS, i % 2 != 0 ? NOT_ECT : CE);
	pause_receive(&f, SINK, LOSSLESS, 0);
	fixture_settle(&f);
	for (uint32_t i = 0; i < 30; i++) {
		cr_assert(fixture_take(&f, SINK, &frame));
		cr_assert_eq(codepoint(&frame), i % 2 != 0 ? NOT_ECT : CE);
	}
	/* 19 have more than 10000 bytes behind them; every other one is Not-ECT. */
	cr_assert_eq(totals(LOSSLESS).ecn_unmarked, 9);
	cr_assert_eq(totals(LOSSLESS).ecn_marked, 0, "CE was there before");
	cr_assert_eq(drops_total(&f), 0);
}

/* Above their thresholds everything is dropped early, or marked: what of it happens to whom. */
static void check_lossy(bool wred, bool ecn, uint8_t sent)
{
	const uint32_t threshold = 20000, count = 40;
	bool dropped = wred && (!ecn || sent == NOT_ECT);
	uint32_t kept = 0, ce = 0, marked;
	struct frame frame;

	/* The first frame holds the wire for 8 ms. */
	open_marking(GBPS / 1000, LOSSY,
		     &(struct mark_table){
			     .ecn_min_bytes = ecn ? threshold : UINT32_MAX,
			     .ecn_max_bytes = threshold,
			     .wred_min_bytes = wred ? threshold : UINT32_MAX,
			     .wred_max_bytes = threshold,
		     });
	for (uint32_t i = 0; i <= count; i++)
		send_one(LOSSY, sent);
	cr_assert_eq(drops_of(&f, DROP_WRED), dropped ? count - threshold / FRAME_BYTES : 0);
	cr_assert_eq(drops_total(&f), drops_of(&f, DROP_WRED));
	cr_assert_eq(totals(LOSSY).drop_packets, drops_of(&f, DROP_WRED));
	fixture_settle(&f);
	while (fixture_take(&f, SINK, &frame)) {
		ce += codepoint(&frame) == CE;
		kept++;
	}
	cr_assert_eq(kept + drops_of(&f, DROP_WRED), count + 1);
	/* Behind the second are 39, 38 ... */
	marked = ecn && (sent == ECT0 || sent == ECT1) ? count - 1 - threshold / FRAME_BYTES : 0;
	cr_assert_eq(totals(LOSSY).ecn_marked, marked);
	cr_assert_eq(ce, sent == CE ? kept : marked);
	fixture_close(&f);
}

Test(ecn_queue, WRED_LOSSY_drops_what_can_t_be_marked_and_marks_the_rest)
{
	fixture_start_eal();
	for (uint32_t i = 0; i < 16; i++)
		check_lossy((i & 1) != 0, (i & 2) != 0, (uint8_t)(i >> 2));
}

LEAF_TEST(ecn_queue, WRED_LOSSY_the_ramp_of_early_drops_holds_to_four_sigma)
{
	const uint32_t count = 4000;
	struct frame frame;

	open_marking(100 * GBPS, LOSSY,
		     &(struct mark_table){.ecn_min_bytes = UINT32_MAX,
					  .wred_min_bytes = 10000,
					  .wred_max_bytes = 50000,
					  .wred_chance = CHANCE(0.4)});
	/* A frame that arrives at such a depth, itself included. */
	for (uint32_t depth = 10; depth <= 51; depth += depth == 50 ? 1 : 10) {
		double p = depth > 50 ? 1 : 0.4 * (depth - 10) / 40, mean = count * p;
		uint64_t before;
		uint32_t tries = 0;

		/* Early drops are no obstacle to getting there. */
		while (totals(LOSSY).depth_packets + 1 < depth)
			send_one(LOSSY, ECT0);
		before = drops_of(&f, DROP_WRED);
		while (tries < count) {
			uint64_t drops = drops_of(&f, DROP_WRED);

			cr_assert_eq(totals(LOSSY).depth_packets + 1, depth);
			send_one(LOSSY, (uint8_t)(tries++ % 4));
			if (drops_of(&f, DROP_WRED) != drops)
				continue;
			/* One leaves instead. */
			f.now_ps += FRAME_PS;
			fixture_poll(&f);
			cr_assert(fixture_take(&f, SINK, &frame));
		}
		before = drops_of(&f, DROP_WRED) - before;
		cr_assert(within_four_sigma((double)before, count, p),
			  "%" PRIu64 " of %u, wanted %.0f", before, count, mean);
	}
	cr_assert_eq(drops_total(&f), drops_of(&f, DROP_WRED));
	cr_assert_eq(totals(LOSSY).drop_packets, drops_total(&f));
	fixture_settle(&f);
}

/* Whatever is sent: marked is what came out as CE and didn't go in as CE. */
LEAF_TEST(ecn_queue, CNT_WRED_ECN_counters_are_what_was_seen)
{
	uint32_t sent_ce = 0, seen_ce = 0, not_ect = 0, seen = 0;
	uint64_t state = 5;
	struct frame frame;

	open_marking(GBPS / 1000, LOSSY,
		     &(struct mark_table){.ecn_min_bytes = 5000,
					  .ecn_max_bytes = 30000,
					  .ecn_chance = CHANCE(0.5),
					  .wred_min_bytes = 10000,
					  .wred_max_bytes = 40000,
					  .wred_chance = CHANCE(0.5)});
	for (uint32_t i = 0; i < 2000; i++) {
		uint8_t ecn = (uint8_t)draw(&state, 4);

		sent_ce += ecn == CE;
		not_ect += ecn == NOT_ECT;
		send_one(LOSSY, ecn);
		if (totals(LOSSY).depth_packets < 60)
			continue;
		for (uint32_t k = draw(&state, 60); k != 0; k--) {
			f.now_ps += 9 * PS_PER_MS;
			fixture_poll(&f);
		}
		while (fixture_take(&f, SINK, &frame)) {
			seen_ce += codepoint(&frame) == CE;
			seen++;
		}
	}
	fixture_settle(&f);
	while (fixture_take(&f, SINK, &frame)) {
		seen_ce += codepoint(&frame) == CE;
		seen++;
	}
	cr_assert_gt(totals(LOSSY).ecn_marked, 100);
	cr_assert_eq(totals(LOSSY).ecn_marked, seen_ce - sent_ce, "no CE is dropped early");
	cr_assert_eq(marked_bytes(LOSSY), (uint64_t)(seen_ce - sent_ce) * FRAME_BYTES);
	cr_assert_gt(drops_of(&f, DROP_WRED), 50);
	cr_assert_lt(drops_of(&f, DROP_WRED), not_ect);
	cr_assert_eq(seen + drops_of(&f, DROP_WRED), 2000);
	cr_assert_eq(totals(LOSSY).drop_packets, drops_of(&f, DROP_WRED));
	cr_assert_eq(totals(LOSSY).drop_bytes, drops_of(&f, DROP_WRED) * FRAME_BYTES);
}

/* So many frames wait, and then go. @return marks of those with `from` or more behind them, up to `to` */
static uint32_t marks_of_burst(uint32_t count, uint32_t from, uint32_t to)
{
	uint32_t marks = 0;
	struct frame frame;

	pause_receive(&f, SINK, LOSSLESS, 65535);
	for (uint32_t i = 0; i < count; i++)
		send_one(LOSSLESS, ECT0);
	pause_receive(&f, SINK, LOSSLESS, 0);
	for (uint32_t behind = count; behind-- > 0;) {
		cr_assert_neq(pause_next(&f, f.now_ps + PS_PER_US, &frame), UINT64_MAX);
		if (behind >= from && behind <= to)
			marks += codepoint(&frame) == CE;
	}
	cr_assert_eq(totals(LOSSLESS).depth_packets, 0, "all came out");
	f.now_ps += PS_PER_US;
	return marks;
}

/* L is 1900 frames; from there to twice that the chance rises to 10 %, 5 % on average. */
LEAF_TEST(ecn_queue, ECN_STEP_SMALL_below_the_threshold_none_and_above_it_as_many_as_the_ramp_says)
{
	const uint32_t threshold = 1900;
	uint32_t marks;

	open_ecn(LOSSLESS, threshold * FRAME_BYTES, 2 * threshold * FRAME_BYTES, 0.1);
	cr_assert_eq(marks_of_burst(threshold - 1, 0, UINT32_MAX), 0);
	cr_assert_eq(marks_of_burst(threshold + 1, 0, UINT32_MAX), 0, "just L behind the first");
	cr_assert_eq(totals(LOSSLESS).ecn_marked, 0);
	marks = marks_of_burst(2 * threshold, threshold + 1, UINT32_MAX);
	cr_assert(marks * 100 >= 3 * threshold && marks * 100 <= 7 * threshold, "%u", marks);
	cr_assert_eq(totals(LOSSLESS).ecn_marked, marks, "none of the last %u", threshold);
	cr_assert_eq(drops_total(&f), 0);
}

/* Bins of 100 KB from 0 to 2 MB, by a burst that drains; the chance rises to 5 % at 2 MB. */
LEAF_TEST(ecn_queue, ECN_RED_ACC_each_bin_of_a_draining_queue_has_its_share)
{
	const uint32_t rounds = 50, kmin = 500, kmax = 2000, step = 100;
	const uint32_t bins = kmax / step;
	uint32_t marks[21] = {0};

	open_ecn(LOSSLESS, kmin * FRAME_BYTES, kmax * FRAME_BYTES, 0.05);
	for (uint32_t round = 0; round < rounds; round++) {
		struct frame frame;

		pause_receive(&f, SINK, LOSSLESS, 65535);
		for (uint32_t i = 0; i < kmax + 11; i++)
			send_one(LOSSLESS, ECT0);
		pause_receive(&f, SINK, LOSSLESS, 0);
		for (uint32_t behind = kmax + 11; behind-- > 0;) {
			cr_assert_neq(pause_next(&f, f.now_ps + PS_PER_US, &frame), UINT64_MAX);
			/* Bin b is behind 100 b + 1 to 100 b + 100 frames; the last one above Kmax. */
			if (behind != 0)
				marks[(behind - 1) / step] += codepoint(&frame) == CE;
		}
		f.now_ps += PS_PER_US;
	}
	for (uint32_t b = 0; b < bins; b++) {
		double middle = b * step + (step + 1) / 2.0, draws = rounds * (double)step;
		double p = middle <= kmin ? 0 : 0.05 * (middle - kmin) / (kmax - kmin);

		cr_assert(within_four_sigma(marks[b], draws, p), "bin %u: %u of %g, wanted %g", b,
			  marks[b], draws, draws * p);
		cr_assert(marks[b] - draws * p <= draws / 100 &&
				  draws * p - marks[b] <= draws / 100,
			  "one point in a hundred");
	}
	cr_assert_eq(marks[bins], rounds * 10, "all above Kmax");
}

/* Drops begin at their own threshold, above that of marks; each looks at its own end of the queue. */
LEAF_TEST(ecn_queue, WRED_LOSSY_marks_and_drops_have_thresholds_of_their_own)
{
	struct frame frame;

	open_marking(GBPS / 1000, LOSSY,
		     &(struct mark_table){.ecn_min_bytes = 20000,
					  .ecn_max_bytes = 20000,
					  .wred_min_bytes = 40000,
					  .wred_max_bytes = 40000});
	/* The first is on the wire. 39 wait, and are not dropped though they are above 20000. */
	for (uint32_t i = 0; i < 40; i++)
		send_one(LOSSY, NOT_ECT);
	cr_assert_eq(drops_total(&f), 0);
	send_one(LOSSY, NOT_ECT);
	cr_assert_eq(drops_total(&f), 0, "40 is not above it");
	for (uint32_t i = 0; i < 10; i++)
		send_one(LOSSY, i % 2 != 0 ? NOT_ECT : ECT0);
	cr_assert_eq(drops_of(&f, DROP_WRED), 5);
	fixture_settle(&f);
	/* 45 waited: 44 behind the first that left then, down to 21 behind the 24th, all but 5 Not-ECT. */
	cr_assert_eq(totals(LOSSY).ecn_unmarked, 24);
	cr_assert_eq(totals(LOSSY).ecn_marked, 0);
	for (uint32_t i = 0; i < 46; i++)
		cr_assert(fixture_take(&f, SINK, &frame));
}

/* RFC 6040: what a switch in between marks is the outer header; the end of the tunnel does the rest. */
LEAF_TEST(ecn_queue, only_the_outer_header_of_a_tunnel_is_marked)
{
	struct frame inner = FRAME(.family = 4, .source = 0x0a050001, .destination = 0x0a050002,
				   .traffic_class = 26 << 2 | ECT0, .payload_bytes = 18);
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = router_peer(SENDER),
		      .family = 4, .source = 0x0a010001, .destination = 0x0a000001,
		      .traffic_class = 26 << 2 | ECT1, .payload_bytes = 60);
	struct frame out;

	/* IP in IP: protocol 4 and the inner packet behind the outer header. */
	frame.byte[14 + 9] = 4;
	memcpy(frame.byte + 34, inner.byte + 14, 20 + 18);
	frame_checksum_set(&frame, 14);
	open_ecn(LOSSLESS, 1, 1, 1.0);
	pause_receive(&f, SINK, LOSSLESS, 65535);
	for (uint32_t i = 0; i < 3; i++) {
		fixture_inject(&f, SENDER, &frame);
		fixture_poll(&f);
	}
	pause_receive(&f, SINK, LOSSLESS, 0);
	fixture_settle(&f);
	for (uint32_t i = 0; i < 3; i++) {
		cr_assert(fixture_take(&f, SINK, &out));
		cr_assert_eq(codepoint(&out), i < 2 ? CE : ECT1);
		cr_assert_eq(memcmp(out.byte + 34, frame.byte + 34, frame.size - 34), 0);
	}
}
