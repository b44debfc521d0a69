/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The dynamic threshold on exact wires: from the config's alpha to the frame with which a peer is
 * paused. Identifiers such as BUF-DT-1 name the case of a switch tester's catalogue that a test
 * covers.
 *
 * Expected values come from the formula. With S bytes shared, n pairs that fill up alike and a
 * reserve R, each of them is paused as soon as it has more than R + x,
 *	x = alpha (S - n x)  =  alpha / (1 + n alpha) S
 * With frames of F bytes that come in turn, the first to cross has at most F more than that. The
 * others have at most one frame less or more: what it took lowers their threshold, what it sends from
 * now on is headroom and doesn't.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "dataplane/buffer.h"
#include "dataplane/snapshot.h"
#include "tests/lab/stand.h"

TestSuite(thresholds, .init = harness_start);

#define US       PS_PER_US
#define FRAME    STAND_FRAME
#define RESERVED 8000u
#define LOSSLESS 0x18u
#define LATER_PS (100 * PS_PER_S)

/* Wire time of a frame at 100G. */
#define FRAME_PS (UINT64_C(80) * (FRAME + WIRE_OVERHEAD_BYTES))

enum { SINK, PEER };

/* Buffers are worth a frame of FRAME bytes each. */
static struct stand *open_response(uint16_t ports, const char *alpha, uint32_t packets,
				   const char *response)
{
	char rest[1024];

	snprintf(rest, sizeof(rest),
		 "classes:\n"
		 "  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 40,\n"
		 "     rdma_mtu: 1024, ecn: off}\n"
		 "  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 40,\n"
		 "     rdma_mtu: 1024, ecn: off}\n"
		 "  - {priority: 0, name: best-effort, weight: 20, ecn: off}\n"
		 "buffer: {alpha: {roce: %s, other: %s, best-effort: 1}, small_frames: 0%%,\n"
		 "  reserved: {roce: 8KB, other: 8KB}, xon_offset: 4KB, lossy_max: 40%%}\n",
		 alpha, alpha);
	return stand_create(&(struct stand_params){.ports = ports,
						   .response = response,
						   .speed = {"100G"},
						   .mtu = 1500,
						   .rest = rest,
						   .packets = packets});
}

/* Peers that obey at once. */
static struct stand *open_alpha(uint16_t ports, const char *alpha, uint32_t packets)
{
	return open_response(ports, alpha, packets, "0");
}

/* @param bytes 0: without end, at line rate */
static struct stream *flow(struct stand *stand, uint16_t from, uint16_t to, uint8_t priority,
			   uint64_t start_ps, uint64_t bytes)
{
	return stand_stream(stand, &(struct stream_params){.from = from,
							   .to = to,
							   .priority = priority,
							   .start_ps = start_ps,
							   .large_bytes = FRAME,
							   .bytes_max = bytes});
}

static double shared_of(const struct stand *stand)
{
	return (double)stand_snapshot(stand)->buffer.shared_bytes;
}

/* The sink takes nothing lossless. */
static void block(struct stand *stand)
{
	stand_storm(stand, SINK, LOSSLESS, LATER_PS, true);
	stand_run_for(stand, US);
}

static void unblock(struct stand *stand)
{
	stand_stop_all(stand);
	stand_storm(stand, SINK, LOSSLESS, stand_now_ps(stand), true);
}

/* Lossless traffic is over: all of it comes out, and nothing stays. */
static void release_and_check(struct stand *stand)
{
	unblock(stand);
	stand_run_for(stand, 500 * US);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
}

/* A pair is paused: what it had when that was decided. */
static double xoff_of(const struct stand *stand, uint16_t port, uint8_t priority)
{
	struct buffer_totals totals = stand_buffer(stand, port, priority);

	cr_assert((totals.reasons & PAUSE_BUFFER) != 0, "port %u, priority %u isn't paused", port,
		  priority);
	return (double)(totals.occupancy_bytes - totals.headroom_used_bytes);
}

/* --- lossless pairs --- */

/* So many pairs, each the only one of its port or two a port, fill up side by side. */
static void check_xoff(uint32_t pairs, uint32_t per_port, const char *alpha_text, double alpha)
{
	uint16_t peers = (uint16_t)(pairs / per_port);
	struct stand *stand = open_alpha((uint16_t)(peers + 1), alpha_text, 1500);
	double x = RESERVED + alpha / (1 + pairs * alpha) * shared_of(stand), most = 0;

	block(stand);
	for (uint16_t peer = 0; peer < peers; peer++)
		for (uint8_t i = 0; i < per_port; i++)
			flow(stand, (uint16_t)(PEER + peer), SINK, (uint8_t)(3 + i),
			     2 * US + peer * FRAME_PS / peers, 0);
	/* More than the whole buffer. */
	stand_run_for(stand, 300 * US);
	for (uint16_t peer = 0; peer < peers; peer++) {
		for (uint8_t i = 0; i < per_port; i++) {
			uint16_t port = (uint16_t)(PEER + peer);
			double at = xoff_of(stand, port, (uint8_t)(3 + i));

			cr_expect(at > x - FRAME && at <= x + FRAME,
				  "%u pairs, alpha %s, port %u: paused at %.0f, wanted %.1f", pairs,
				  alpha_text, port, at, x);
			cr_expect_eq(stand_pfc(stand, port, (uint8_t)(3 + i)).tx_pauses, 1);
			most = at > most ? at : most;
		}
	}
	cr_expect_gt(most, x, "%u pairs, alpha %s: somebody is first", pairs, alpha_text);
	cr_expect_eq(stand_all_drops(stand), 0);
	release_and_check(stand);
}

Test(thresholds, BUF_DT_1_one_pair_is_paused_within_a_packet_for_every_alpha)
{
	for (int exponent = -3; exponent <= 7; exponent++) {
		char alpha[16];

		snprintf(alpha, sizeof(alpha), exponent < 0 ? "1/%u" : "%u",
			 1u << (exponent < 0 ? -exponent : exponent));
		check_xoff(1, 1, alpha, exponent < 0 ? 1.0 / (1 << -exponent) : 1 << exponent);
	}
}

Test(thresholds, BUF_DT_N_equal_pairs_are_paused_within_a_packet)
{
	static const char *const alphas[] = {"1/4", "1", "4"};
	static const double values[] = {0.25, 1, 4};

	for (uint32_t pairs = 2; pairs <= 8; pairs *= 2)
		for (uint32_t a = 0; a < 3; a++) {
			check_xoff(pairs, 1, alphas[a], values[a]);
			check_xoff(pairs, 2, alphas[a], values[a]);
		}
}

/*
 * Pairs that fill up one after another: each is alone with what those before have left of S, where
 * what they have in their headroom doesn't count: the last of n gets alpha S / (1 + alpha)^n.
 */
Test(thresholds, BUF_DT_N_pairs_that_come_later_share_what_is_left_whatever_is_in_headroom)
{
	enum { PAIRS = 6 };
	struct stand *stand = open_response(PAIRS + 1, "1/2", 2500, "2us");
	double left = shared_of(stand), closed = left;

	block(stand);
	for (uint16_t peer = PEER; peer < PEER + PAIRS; peer++) {
		struct stream *stream = flow(stand, peer, SINK, 3, stand_now_ps(stand), 0);
		double at;

		stand_run_for(stand, 150 * US);
		at = xoff_of(stand, peer, 3) - RESERVED;
		cr_expect(at > left / 3 && at <= left / 3 + FRAME,
			  "peer %u: paused at %.0f, wanted %.1f", peer, at, left / 3);
		/* 2 us at 100G, and what was on its way. */
		cr_expect_gt(stand_buffer(stand, peer, 3).headroom_used_bytes, 20000);
		left -= at;
		closed *= 2.0 / 3;
		cr_expect(left <= closed && left > closed - 3 * FRAME, "%.0f left, wanted %.0f",
			  left, closed);
		stand_stop(stand, stream);
	}
	cr_expect_eq(stand_all_drops(stand), 0);
	release_and_check(stand);
}

/*
 * Twelve pairs, eleven of which stay below; when the last is filled up to its threshold to the
 * packet, nobody is paused, and one packet more pauses it alone. Lossy traffic loses meanwhile.
 */
Test(thresholds, BUF_SHARED_LIMIT_one_packet_over_the_sum_pauses_the_last_pair_alone)
{
	enum { PEERS = 6, LOSSY_1 = PEER + PEERS, LOSSY_2, LOSSY_SINK, PORTS };
	struct stand *stand = open_alpha(PORTS, "1", 1500);
	double shared = shared_of(stand), used = 0;
	uint64_t last;

	block(stand);
	flow(stand, LOSSY_1, LOSSY_SINK, 0, US, 0);
	flow(stand, LOSSY_2, LOSSY_SINK, 0, US, 0);
	for (uint16_t i = 0; i < 2 * PEERS - 1; i++) {
		/* S/44, S/22 and 3 S/44 in turn. */
		uint64_t frames = (uint64_t)(shared / 44 * (1 + i % 3) + RESERVED) / FRAME;

		flow(stand, (uint16_t)(PEER + i / 2), SINK, (uint8_t)(3 + i % 2), 2 * US,
		     frames * FRAME);
		used += (double)(frames * FRAME) - RESERVED;
	}
	/* y <= S - used - y, of what it has beyond its reserve. */
	last = (uint64_t)((shared - used) / 2 + RESERVED) / FRAME;
	flow(stand, PEER + PEERS - 1, SINK, 4, 2 * US, last * FRAME);
	stand_run_for(stand, 300 * US);
	cr_expect_eq(stand_pauses(stand, 0xff), 0);
	cr_expect_eq(stand_buffer(stand, PEER + PEERS - 1, 4).occupancy_bytes, last * FRAME);
	flow(stand, PEER + PEERS - 1, SINK, 4, stand_now_ps(stand), FRAME);
	stand_run_for(stand, 2 * US);
	cr_expect_eq(stand_pfc(stand, PEER + PEERS - 1, 4).tx_pauses, 1);
	cr_expect_eq(stand_pauses(stand, 0xff), 1, "and nobody else");
	cr_expect_eq(stand_queue(stand, SINK, 3).drop_packets, 0);
	cr_expect_eq(stand_queue(stand, SINK, 4).drop_packets, 0);
	cr_expect_gt(stand_queue(stand, LOSSY_SINK, 0).drop_packets, 0);
	cr_expect_eq(stand_all_drops(stand), stand_queue(stand, LOSSY_SINK, 0).drop_packets);
	release_and_check(stand);
}

/* The reserve of a pair is there when others have all that is shared. */
Test(thresholds, BUF_PGMIN_a_full_pool_leaves_a_pair_its_reserve)
{
	enum { PEERS = 2 };
	struct stand *stand = open_alpha(PEERS + 1, "128", 1500);
	uint64_t frames = RESERVED / FRAME, before;

	block(stand);
	/* A peer that obeys no pause. */
	stand->blaster[PEER].response_ps = PS_PER_S;
	flow(stand, PEER, SINK, 3, 2 * US, 0);
	stand_run_for(stand, 200 * US);
	before = stand_drops(stand, DROP_HEADROOM);
	cr_expect_gt(before, 0, "it has taken all that there is");
	stand_stop_all(stand);
	stand_run_for(stand, 2 * US);
	before = stand_drops(stand, DROP_HEADROOM);
	flow(stand, PEER + 1, SINK, 3, stand_now_ps(stand), frames * FRAME);
	stand_run_for(stand, 5 * US);
	cr_expect_eq(stand_buffer(stand, PEER + 1, 3).occupancy_bytes, frames * FRAME);
	cr_expect_eq(stand_pfc(stand, PEER + 1, 3).tx_pauses, 0, "not within its reserve");
	cr_expect_eq(stand_all_drops(stand), before);
	stand->blaster[PEER].response_ps = 0;
	unblock(stand);
	stand_run_for(stand, 500 * US);
	stand_check_quiet(stand);
	stand_free(stand);
}

/* --- again and again --- */

static void check_empty(const struct stand *stand, uint32_t round)
{
	for (uint16_t port = 0; port < stand->rig->port_count; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			cr_assert_eq(stand_buffer(stand, port, p).occupancy_bytes, 0,
				     "round %u, port %u, priority %u", round, port, p);
}

/* Any frames of half of FRAME to all of it; they must not be worth less than a buffer by far. */
static uint32_t any_size(struct random *random)
{
	return (uint32_t)(FRAME / 2 + random_below(random, FRAME / 2 + 1)) / 4 * 4 + 2;
}

static void refill(struct stand *stand, struct stream *stream, uint32_t bytes)
{
	stream->params.large_bytes = bytes;
	stand_restart(stand, stream);
}

static void check_lossless_fill(struct stand *stand, struct stream *stream, double x,
				uint32_t round)
{
	uint64_t before = stand_pauses(stand, LOSSLESS);
	double at;

	block(stand);
	refill(stand, stream, stream->params.large_bytes);
	for (uint32_t i = 0; stand_pauses(stand, LOSSLESS) == before; i++) {
		cr_assert_lt(i, 5000, "round %u: never paused", round);
		stand_run_for(stand, FRAME_PS / 4);
	}
	at = xoff_of(stand, stream->params.from, stream->params.priority);
	cr_assert(at > x && at <= x + stream->params.large_bytes,
		  "round %u: paused at %.0f, wanted %.1f", round, at, x);
	unblock(stand);
}

/* Two peers' lossy frames meet: the first drop comes when the queue has no room for one more. */
static void check_lossy_fill(struct stand *stand, struct stream *stream[2], double x,
			     uint32_t round)
{
	uint64_t before = stand_all_drops(stand);
	double depth = 0, frame = stream[0]->params.large_bytes;

	for (uint32_t i = 0; i < 2; i++)
		refill(stand, stream[i], (uint32_t)frame);
	for (uint32_t i = 0; stand_all_drops(stand) == before; i++) {
		cr_assert_lt(i, 20000, "round %u: nothing is dropped", round);
		depth = (double)stand_queue(stand, SINK, 0).depth_bytes;
		stand_run_for(stand, FRAME_PS / 8);
	}
	/* Two come at once, and one leaves meanwhile. */
	cr_assert(depth <= x && depth > x - 3 * frame, "round %u: %.0f bytes, wanted %.1f", round,
		  depth, x);
	stand_stop_all(stand);
}

Test(thresholds, BUF_LEAK_a_hundred_fills_meet_the_same_threshold_and_leave_nothing)
{
	enum { PEERS = 3 };
	struct stand *stand = open_alpha(PEERS + 1, "1", 800);
	double lossless = RESERVED + shared_of(stand) / 2;
	/* alpha 1: a half of its share when alone. */
	double lossy = (double)stand_snapshot(stand)->buffer.lossy_bytes / 2;
	struct stream *fill[2 * PEERS], *lossy_fill[2];
	struct random random = {.state = 11};

	for (uint16_t i = 0; i < 2 * PEERS; i++) {
		fill[i] = flow(stand, (uint16_t)(PEER + i / 2), SINK, (uint8_t)(3 + i % 2), 0, 0);
		stand_stop(stand, fill[i]);
	}
	for (uint16_t i = 0; i < 2; i++)
		lossy_fill[i] = flow(stand, (uint16_t)(PEER + i), SINK, 0, 0, 0);
	stand_stop_all(stand);
	for (uint32_t round = 0; round < 100; round++) {
		struct stream *one = fill[random_below(&random, 2 * PEERS)];

		one->params.large_bytes = any_size(&random);
		check_lossless_fill(stand, one, lossless, round);
		stand_run_for(stand, 100 * US);
		check_empty(stand, round);
		cr_assert_eq(stand_pauses(stand, LOSSLESS), round + 1);
		lossy_fill[0]->params.large_bytes = any_size(&random);
		check_lossy_fill(stand, lossy_fill, lossy, round);
		stand_run_for(stand, 100 * US);
		check_empty(stand, round);
	}
	cr_expect_eq(stand_queue(stand, SINK, 3).drop_packets, 0);
	cr_expect_eq(stand_queue(stand, SINK, 4).drop_packets, 0);
	cr_expect_eq(stand_all_drops(stand), stand_queue(stand, SINK, 0).drop_packets);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
}

/* --- bursts --- */

/* All send so many frames at once, from about now. @return drops, or for lossless frames pauses */
static uint64_t burst(struct stand *stand, uint8_t priority, struct random *random, uint64_t frames)
{
	uint64_t before = stand_all_drops(stand) + stand_pauses(stand, LOSSLESS);

	for (uint32_t i = 0; i < stand->stream_count; i++) {
		struct stream *stream = &stand->stream[i];

		if (stream->params.priority != priority)
			continue;
		stream->params.bytes_max = stream->sent_bytes + frames * FRAME;
		stand_restart(stand, stream);
		stream->due_ps += random_below(random, (uint32_t)FRAME_PS);
	}
	/* Until the sink has had all of it. */
	stand_run_for(stand, (stand->stream_count / 2 * frames + 10) * FRAME_PS);
	check_empty(stand, 0);
	return stand_all_drops(stand) + stand_pauses(stand, LOSSLESS) - before;
}

/* Longer and longer bursts go, and 50 of nine tenths of these bytes a sender; more don't. */
static void check_bursts(struct stand *stand, uint8_t priority, double bytes, const char *what)
{
	struct random random = {.state = 5};
	uint64_t most = (uint64_t)(bytes * 0.9 / FRAME);
	uint32_t senders = stand->stream_count / 2;

	cr_assert_geq(most, 8, "%s, %u: too coarse", what, senders);
	for (uint32_t i = 1; i <= 8; i++)
		cr_assert_eq(burst(stand, priority, &random, most * i / 8), 0,
			     "%s: %u senders, %" PRIu64 " frames each", what, senders,
			     most * i / 8);
	for (uint32_t i = 0; i < 50; i++)
		cr_assert_eq(burst(stand, priority, &random, most), 0,
			     "%s: %u senders, burst %u of %" PRIu64 " frames each", what, senders,
			     i, most);
	/* A tenth more than it holds, and what a sender's frames may be off by. */
	cr_assert_gt(burst(stand, priority, &random, (uint64_t)(bytes * 1.1 / FRAME) + 2), 0,
		     "%s: %u senders", what, senders);
}

/*
 * N peers send a burst of L bytes each to one port, which meanwhile sends as much as one of them: it
 * keeps (N - 1) L. Of lossy frames that must not be more than alpha / (1 + alpha) of their share
 * (alpha is 1); of lossless frames, which are never lost, each pair has (N - 1) / N L, and is paused
 * when that is more than R + x.
 */
Test(thresholds, BUF_BURST_nine_tenths_of_what_the_formula_says_are_absorbed)
{
	for (uint16_t senders = 2; senders <= 32; senders *= 2) {
		struct stand *stand = open_alpha((uint16_t)(senders + 1), "1", 3000);
		double lossy = (double)stand_snapshot(stand)->buffer.lossy_bytes / 2;
		double x = RESERVED + shared_of(stand) / (1 + senders);

		for (uint16_t i = 0; i < senders; i++) {
			flow(stand, (uint16_t)(PEER + i), SINK, 0, 0, 1);
			flow(stand, (uint16_t)(PEER + i), SINK, 3, 0, 1);
		}
		stand_run_for(stand, 100 * US);
		check_bursts(stand, 0, lossy / (senders - 1), "lossy");
		check_bursts(stand, 3, x * senders / (senders - 1), "lossless");
		stand_check_lossless(stand, LOSSLESS);
		stand_free(stand);
	}
}
