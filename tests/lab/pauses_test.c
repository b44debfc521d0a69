/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pauses that a leaf sends and gets, on exact wires: their thresholds to the packet, what links that
 * go down and reloads do to them, and floods of them. Identifiers such as PFC-XON name the case of a
 * switch tester's catalogue that a test covers.
 *
 * Alpha is 1 and one pair alone fills up, with S bytes shared and a reserve R. It is paused when it
 * has more than R + S/2 (then what it has beyond R is more than what is left), and let go at the
 * latest when it has at most (S + R - offset) / 2: that is S - (what it has - R) less the offset.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "dataplane/snapshot.h"
#include "tests/lab/stand.h"

TestSuite(pauses, .init = harness_start);

#define US       PS_PER_US
#define MS       PS_PER_MS
#define FRAME    STAND_FRAME
#define RESERVED 8000u
#define OFFSET   200000u
#define LOSSLESS 0x18u
#define LATER_PS (1000 * PS_PER_S)
#define MARGIN   2u /* frames, as the catalogue has it */

enum { SOURCE, SINK_1, SINK_2, SINK_3, PORTS };

#define CLASSES(small_, offset_)                                                                   \
	"classes:\n"                                                                               \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 40, rdma_mtu: 1024,\n"  \
	"     ecn: off}\n"                                                                         \
	"  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 40, rdma_mtu: 1024,\n" \
	"     ecn: off}\n"                                                                         \
	"  - {priority: 0, name: best-effort, weight: 20, ecn: off}\n"                             \
	"buffer: {small_frames: " small_ ", reserved: {roce: 8KB, other: 8KB},\n"                  \
	"  xon_offset: " offset_ "}\n"

static const char leaf[] = CLASSES("0%", "200KB");
static const char leaf_watched[] = CLASSES(
	"100%", "4KB") "watchdog: {detect: 100ms, restore: 100ms, poll: 100ms, action: drop}\n";

static struct stand_params params_of(const char *speed, const char *rest)
{
	return (struct stand_params){
		.ports = PORTS, .speed = {speed}, .mtu = 1500, .rest = rest, .packets = 1500};
}

static struct stand *open_stand(const char *speed, const char *rest)
{
	struct stand_params params = params_of(speed, rest);

	return stand_create(&params);
}

/* @param frames 0: without end. @param mbps on the wire, 0: line rate */
static struct stream *flow(struct stand *stand, uint16_t from, uint16_t to, uint8_t priority,
			   uint64_t frames, uint32_t mbps)
{
	struct stream *stream = stand_flow(stand, from, to, priority, mbps);

	stream->params.bytes_max = frames * STAND_FRAME;
	return stream;
}

static void block(struct stand *stand, uint16_t port)
{
	stand_storm(stand, port, LOSSLESS, LATER_PS, true);
}

static void unblock(struct stand *stand, uint16_t port)
{
	stand_storm(stand, port, LOSSLESS, stand_now_ps(stand), true);
}

static uint64_t xoffs(const struct stand *stand)
{
	return stand->blaster[SOURCE].xoffs[3];
}

static uint64_t shared_of(const struct stand *stand)
{
	return stand_snapshot(stand)->buffer.shared_bytes;
}

/* The source is paused, and sends so many frames nevertheless. */
static void disobey(struct stand *stand, uint16_t to, uint64_t frames)
{
	flow(stand, SOURCE, to, 3, frames, 0);
	stand->blaster[SOURCE].paused = 0;
	stand_run_for(stand, frames * 9 * US + 20 * US);
}

/* --- thresholds --- */

Test(pauses, PFC_XOFF_at_its_threshold_and_a_drop_at_the_end_of_its_headroom)
{
	/* Headroom for 25 KB more than frames that were begun. */
	struct stand_params params = params_of("1G", leaf);
	struct stand *stand;
	uint64_t t, h, before;

	params.response = "200us";
	stand = stand_create(&params);
	/* Frames that can be there before one more pauses, and that its headroom takes from then on. */
	t = (RESERVED + shared_of(stand) / 2) / FRAME;
	h = snapshot_pair(stand_snapshot(stand), SOURCE, 3)->headroom_bytes / FRAME;
	block(stand, SINK_1);
	stand_run_for(stand, MS);
	stand->blaster[SOURCE].response_ps = 1000 * PS_PER_S;
	flow(stand, SOURCE, SINK_1, 3, t - MARGIN, 0);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(xoffs(stand), 0, "before");
	flow(stand, SOURCE, SINK_1, 3, 1 + 2 * MARGIN, 0);
	stand_run_for(stand, MS);
	cr_expect_eq(xoffs(stand), 1);
	cr_expect_eq(stand_all_drops(stand), 0);
	before = xoffs(stand);
	/* MARGIN past the first are already there. */
	flow(stand, SOURCE, SINK_1, 3, h - 2 * MARGIN, 0);
	stand_run_for(stand, 40 * MS);
	cr_expect_gt(xoffs(stand), before, "said again");
	cr_expect_eq(stand_all_drops(stand), 0, "its headroom holds them");
	flow(stand, SOURCE, SINK_1, 3, 1 + 2 * MARGIN, 0);
	stand_run_for(stand, MS);
	cr_expect_eq(stand_drops(stand, DROP_HEADROOM), 1 + MARGIN, "%" PRIu64,
		     stand_drops(stand, DROP_HEADROOM));
	cr_expect_eq(stand_all_drops(stand), stand_drops(stand, DROP_HEADROOM));
	for (uint16_t port = 0; port < PORTS; port++) {
		struct port_totals totals;

		leaf_port_totals(stand->rig->leaf->leaf, port, &totals);
		cr_expect_eq(totals.drop[DROP_HEADROOM], port == SOURCE ? 1 + MARGIN : 0);
		cr_expect_eq(stand_queue(stand, port, 4).drop_packets, 0);
	}
	cr_expect_eq(stand_queue(stand, SINK_1, 3).tx_packets, 0);
	unblock(stand, SINK_1);
	stand_run_for(stand, 50 * MS);
	stand_check_quiet(stand);
	stand_free(stand);
}

/*
 * One source, three ports that take nothing. What is drained from the second isn't enough, nor is a
 * packet of another port that makes the leaf look again; with the third it is let go, and nothing is
 * said for as long as 30 s.
 */
Test(pauses, PFC_XON_and_PFC_XON_HYST_wait_until_enough_has_left)
{
	struct stand *stand = open_stand("1G", leaf);
	uint64_t t = (RESERVED + shared_of(stand) / 2) / FRAME;
	/* From just past R + S/2 to at most (S + R - offset) / 2. */
	uint64_t fall = (RESERVED + OFFSET) / 2, part = fall / FRAME / 2;
	uint64_t before;

	for (uint16_t port = SINK_1; port <= SINK_3; port++)
		block(stand, port);
	stand_run_for(stand, MS);
	flow(stand, SOURCE, SINK_2, 3, part, 0);
	stand_run_for(stand, 10 * MS);
	flow(stand, SOURCE, SINK_3, 3, part + MARGIN, 0);
	stand_run_for(stand, 10 * MS);
	flow(stand, SOURCE, SINK_1, 3, t - 2 * part - MARGIN, 0);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(xoffs(stand), 0);
	flow(stand, SOURCE, SINK_1, 3, 1, 0);
	stand_run_for(stand, 20 * US);
	cr_expect_eq(xoffs(stand), 1);
	/* The second drains. */
	unblock(stand, SINK_2);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(stand_queue(stand, SINK_2, 3).tx_packets, part);
	cr_expect_eq(stand->blaster[SOURCE].xons[3], 0);
	/* Between the thresholds, and looked at anew. */
	disobey(stand, SINK_2, 1);
	before = xoffs(stand);
	stand_run_for(stand, 4 * PS_PER_S);
	/* Said again at half of 65535 * 512 ns each. */
	cr_expect_geq(xoffs(stand) - before, 4 * PS_PER_S / (UINT64_C(65535) * 512 * 500));
	cr_expect_leq(xoffs(stand) - before, 4 * PS_PER_S / (UINT64_C(65535) * 512 * 500) + 1);
	cr_expect_eq(stand->blaster[SOURCE].xons[3], 0);
	cr_expect_eq(stand_pfc(stand, SOURCE, 3).tx_pauses, 1, "it is one pause");
	/* The third. */
	unblock(stand, SINK_3);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(stand->blaster[SOURCE].xons[3], 1, "let go");
	before = xoffs(stand);
	stand_run_for(stand, 30 * PS_PER_S);
	cr_expect_eq(xoffs(stand), before, "and not paused again");
	cr_expect_eq(stand->blaster[SOURCE].xons[3], 1);
	cr_expect_eq(stand_all_drops(stand), 0);
	unblock(stand, SINK_1);
	stand_run_for(stand, 50 * MS);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
}

/* --- frames --- */

/*
 * Two peers, two classes each, into one port for 5 ms at 10G. All that a peer is sent is pauses; the stand
 * compares each with the layout of the standard.
 */
Test(pauses, PFC_FRAME_and_PFC_SRC_MAC_hold_for_every_frame_and_none_is_too_many)
{
	/* A refresh each half of 65535 * 51.2 ns. */
	const uint64_t half_ps = UINT64_C(65535) * 51200 / 2;
	struct stand *stand = open_stand("10G", leaf);
	uint64_t run_ps = 5 * MS;

	for (uint16_t port = SINK_2; port <= SINK_3; port++)
		for (uint8_t p = 3; p <= 4; p++)
			flow(stand, port, SINK_1, p, 0, 0);
	stand_run_for(stand, run_ps);
	for (uint16_t port = SINK_2; port <= SINK_3; port++) {
		const struct blaster *blaster = &stand->blaster[port];
		uint64_t changes = 0;

		for (uint8_t p = 3; p <= 4; p++) {
			cr_expect_gt(blaster->xoffs[p], 2);
			cr_expect_gt(blaster->xons[p], 2);
			changes += 2 * stand_pfc(stand, port, p).tx_pauses;
		}
		cr_expect_eq(blaster->pause_frames, blaster->received_frames);
		cr_expect_eq(blaster->misdrawn_frames, 0);
		cr_expect_leq(blaster->pause_frames, changes + run_ps / half_ps);
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			if ((LOSSLESS >> p & 1) == 0)
				cr_expect_eq(blaster->xoffs[p] + blaster->xons[p], 0);
	}
	cr_expect_eq(stand->blaster[SINK_1].pause_frames, 0);
	cr_expect_eq(stand->blaster[SOURCE].received_frames, 0);
	stand_stop_all(stand);
	stand_run_for(stand, 20 * MS);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
}

/* --- links --- */

/* Two senders, of one of which another port gets something as well. */
Test(pauses, LF_FLUSH_a_port_that_goes_down_with_a_full_queue_gives_all_of_it_back)
{
	struct stand *stand = open_stand("1G", leaf);
	struct stream *good, *lost[2];
	struct buffer_pool_totals pool;
	uint64_t waiting, before;

	lost[0] = flow(stand, SOURCE, SINK_1, 3, 0, 0);
	lost[1] = flow(stand, SINK_2, SINK_1, 3, 0, 0);
	block(stand, SINK_1);
	stand_run_for(stand, 30 * MS);
	good = flow(stand, SOURCE, SINK_3, 3, 0, 400);
	stand_run_for(stand, 10 * MS);
	cr_expect_eq(good->received_frames, 0, "its sender is paused");
	waiting = stand_queue(stand, SINK_1, 3).depth_packets;
	cr_expect_gt(waiting * FRAME, shared_of(stand) / 2);
	stand_stop(stand, lost[0]);
	stand_stop(stand, lost[1]);
	stand_link(stand, SINK_1, false);
	/* A frame may have been on the wire of each sender. */
	stand_run_for(stand, 20 * US);
	before = stand_drops(stand, DROP_LINK_DOWN);
	cr_expect(before >= waiting && before <= waiting + 2, "%" PRIu64 " of %" PRIu64, before,
		  waiting);
	cr_expect_eq(stand_all_drops(stand), before, "for no other reason");
	leaf_buffer_pool_totals(stand->rig->leaf->leaf, stand_snapshot(stand), &pool);
	cr_expect_leq(pool.shared_used_bytes, FRAME);
	cr_expect_eq(pool.headroom_used_bytes, 0);
	for (uint16_t port = SOURCE; port <= SINK_2; port += SINK_2 - SOURCE)
		cr_expect_eq(stand->blaster[port].xons[3], 1, "port %u is let go", port);
	/* 400M are 0.45 of them in 10 ms. */
	before = good->received_frames;
	stand_run_for(stand, 10 * MS);
	cr_expect_geq(good->received_frames - before,
		      10 * MS / (8 * (FRAME + 24) * PS_PER_NS * 5 / 2));
	cr_expect_eq(stand->blaster[SOURCE].paused, 0);
	/* What is for the dead port goes on to be counted, and pauses nobody. */
	before = stand_pauses(stand, 0xff);
	stand_restart(stand, lost[1]);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(stand_pauses(stand, 0xff), before);
	stand_stop_all(stand);
	stand_run_for(stand, MS);
	cr_expect_eq(lost[0]->sent_frames + lost[1]->sent_frames - lost[0]->received_frames -
			     lost[1]->received_frames,
		     stand_drops(stand, DROP_LINK_DOWN) + stand_drops(stand, DROP_NO_MEMBER),
		     "lost is what was counted");
	cr_expect_eq(good->received_frames, good->sent_frames);
	stand_check_quiet(stand);
	stand_free(stand);
}

Test(pauses, LF_PAUSED_PORT_sends_at_once_when_it_comes_up_again)
{
	struct stand *stand = open_stand("1G", leaf);
	struct stream *stream = flow(stand, SOURCE, SINK_1, 3, 0, 100);
	uint64_t before, up_ps;

	stand_run_for(stand, MS);
	/* For ever: nobody will lift it. */
	block(stand, SINK_1);
	stand_run_for(stand, MS);
	before = stream->received_frames;
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(stream->received_frames, before);
	cr_expect(stand_pfc(stand, SINK_1, 3).rx_paused);
	stand_link(stand, SINK_1, false);
	stand->blaster[SINK_1].storm.on = false;
	stand_run_for(stand, MS);
	cr_expect_not(stand_pfc(stand, SINK_1, 3).rx_paused);
	stand_link(stand, SINK_1, true);
	up_ps = stand_now_ps(stand);
	/* A frame comes in every 89 us, takes 9 us on each of two wires, and is there. */
	stand_run_for(stand, 89 * US + 2 * 9 * US);
	cr_expect_gt(stream->received_frames, before, "from %" PRIu64 " us", up_ps / US);
	stand_run_for(stand, 10 * MS);
	before = stream->received_frames;
	stand_run_for(stand, 20 * MS);
	/* 100M: 226 frames. */
	cr_expect_geq(stream->received_frames - before, 225);
	stand_stop_all(stand);
	stand_run_for(stand, MS);
	cr_expect_eq(stand_missing(stand, LOSSLESS), stand_all_drops(stand));
	stand_check_quiet(stand);
	stand_free(stand);
}

/* --- reloads --- */

/* What a run of 20 ms has come to. */
struct outcome {
	uint64_t received, lossy_received, xoffs, xons;
};

/* All counters of a stand that must not fall. */
struct counts {
	uint64_t sent, drops, pauses;
};

static struct counts counts_of(const struct stand *stand)
{
	return (struct counts){stand_queue(stand, SINK_1, 3).tx_packets, stand_all_drops(stand),
			       stand_pauses(stand, LOSSLESS)};
}

/* Congestion in one class, none in the other, and lossy traffic that loses. */
static struct stand *open_loaded(const struct stand_params *params)
{
	struct stand *stand = stand_create(params);

	flow(stand, SOURCE, SINK_1, 3, 0, 6000);
	flow(stand, SINK_2, SINK_1, 3, 0, 6000);
	flow(stand, SINK_3, SINK_2, 4, 0, 5000);
	flow(stand, SOURCE, SINK_1, 0, 0, 3000);
	flow(stand, SINK_3, SINK_1, 0, 0, 3000);
	return stand;
}

static struct outcome outcome_of(const struct stand *stand)
{
	struct outcome outcome = {0};

	for (uint32_t i = 0; i < stand->stream_count; i++)
		*(stand->stream[i].params.priority != 0 ? &outcome.received
							: &outcome.lossy_received) +=
			stand->stream[i].received_frames;
	for (uint16_t port = 0; port < PORTS; port++) {
		outcome.xoffs += stand->blaster[port].xoffs[3] + stand->blaster[port].xoffs[4];
		outcome.xons += stand->blaster[port].xons[3] + stand->blaster[port].xons[4];
	}
	return outcome;
}

static struct outcome run_with_reloads(uint32_t reloads)
{
	struct stand_params params = params_of("10G", leaf);
	struct stand *stand = open_loaded(&params);
	struct counts counts = {0};
	struct outcome outcome;

	for (uint32_t i = 0; i < 100; i++) {
		struct counts now;

		stand_run_for(stand, 200 * US);
		if (i < reloads)
			cr_assert_eq(stand_reload(stand, &params), 0);
		now = counts_of(stand);
		cr_assert(now.sent >= counts.sent && now.drops >= counts.drops &&
				  now.pauses >= counts.pauses,
			  "counters only rise");
		counts = now;
	}
	cr_expect_gt(counts.pauses, 4, "there was something to disturb");
	cr_expect_gt(counts.drops, 0);
	cr_expect_eq(counts.drops, stand_queue(stand, SINK_1, 0).drop_packets);
	outcome = outcome_of(stand);
	stand_stop_all(stand);
	stand_run_for(stand, 20 * MS);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
	return outcome;
}

Test(pauses, LF_CFG_RELOAD_of_the_same_file_under_load_changes_nothing_at_all)
{
	struct outcome without = run_with_reloads(0), with = run_with_reloads(100);

	cr_expect_eq(with.received, without.received, "%" PRIu64 " and %" PRIu64, with.received,
		     without.received);
	cr_expect_eq(with.lossy_received, without.lossy_received);
	cr_expect_eq(with.xoffs, without.xoffs, "%" PRIu64 " and %" PRIu64, with.xoffs,
		     without.xoffs);
	cr_expect_eq(with.xons, without.xons);
}

/* --- floods --- */

static void add_flooded(struct stand *stand, struct stream *stream[PORTS][3])
{
	for (uint16_t port = 0; port < PORTS; port++) {
		static const uint32_t mbps[3] = {20, 15, 5};
		static const uint8_t priorities[3] = {4, 0, 3};

		for (uint32_t i = 0; i < 3; i++) {
			stream[port][i] = flow(stand, port, (uint16_t)((port + 1u + i) % PORTS),
					       priorities[i], 0, mbps[i]);
			/* As short as the pauses, which always go first. */
			stream[port][i]->params.large_bytes = STAND_FRAME_MIN;
		}
	}
}

/* What came in 50 ms: all of the first two, within 5 %, nothing of the third. */
static void check_flooded(const struct stand *stand, struct stream *stream[PORTS][3],
			  uint64_t before[PORTS][3])
{
	for (uint16_t port = 0; port < PORTS; port++) {
		for (uint32_t i = 0; i < 2; i++) {
			uint64_t frames = stream[port][i]->received_frames - before[port][i];
			uint64_t wanted = stream[port][i]->params.rate_bps / 20 /
					  (8 * (STAND_FRAME_MIN + WIRE_OVERHEAD_BYTES));

			cr_expect(frames * 100 >= wanted * 95 && frames * 100 <= wanted * 105,
				  "port %u, priority %u: %" PRIu64 " of %" PRIu64, port,
				  stream[port][i]->params.priority, frames, wanted);
		}
		cr_expect_eq(stream[port][2]->received_frames, before[port][2], "paused");
		cr_expect_eq(stand_pfc(stand, port, 3).storms, 0);
	}
}

/*
 * All peers pause priority 3 with every second frame that fits their wires, the smallest: 74,400 a
 * second at 100M. Other priorities carry their data as without, and the watchdog frees the rest.
 */
Test(pauses, MAL_PFC_FLOOD_on_all_ports_leaves_other_priorities_alone)
{
	const uint64_t frame_ps = (PFC_FRAME_BYTES + WIRE_OVERHEAD_BYTES) * 8 * UINT64_C(10000);
	struct stand_params params = params_of("100M", leaf_watched);
	struct stand *stand;
	struct stream *stream[PORTS][3];
	uint64_t before[PORTS][3];

	params.packets = 20000;
	stand = stand_create(&params);
	add_flooded(stand, stream);
	stand_run_for(stand, 2 * MS);
	for (uint16_t port = 0; port < PORTS; port++) {
		stand_storm(stand, port, 1u << 3, 220 * MS, true);
		stand->blaster[port].storm.interval_ps = 2 * frame_ps;
	}
	stand_run_for(stand, 2 * MS);
	for (uint16_t port = 0; port < PORTS; port++)
		for (uint32_t i = 0; i < 3; i++)
			before[port][i] = stream[port][i]->received_frames;
	stand_run_for(stand, 50 * MS);
	check_flooded(stand, stream, before);
	stand_run(stand, 2 * MS + 200 * MS + MS);
	for (uint16_t port = 0; port < PORTS; port++) {
		cr_expect_eq(stand_pfc(stand, port, 3).storms, 1, "port %u", port);
		cr_expect_gt(stand_pfc(stand, port, 3).rx_frames, 13000);
		cr_expect_eq(stand_pfc(stand, port, 4).storms, 0);
	}
	stand_run(stand, 220 * MS + 201 * MS);
	for (uint16_t port = 0; port < PORTS; port++)
		cr_expect_eq(stand_pfc(stand, port, 3).restored, 1, "port %u", port);
	stand_stop_all(stand);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(stand_all_drops(stand), stand_drops(stand, DROP_WATCHDOG));
	cr_expect_eq(stand_missing(stand, 1u << 4 | 1u << 0), 0);
	cr_expect_eq(stand_missing(stand, 1u << 3), stand_drops(stand, DROP_WATCHDOG));
	stand_check_quiet(stand);
	stand_free(stand);
}
