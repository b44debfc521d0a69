/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks and early drops on exact wires. Identifiers such as ECN-SPLIT name the case of a switch tester's
 * catalogue that a test covers; those of single queues are in unit/ecn_queue_test.c.
 *
 * Two ports send to a third, all at 100G, and react to nothing but pauses. Marking is at dequeue: a packet
 * that departs is judged by the bytes behind it.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "dataplane/ecn.h"
#include "tests/lab/stand.h"

TestSuite(ecn, .init = harness_start);

enum { A, B, SINK, PORTS };

#define US       PS_PER_US
#define GBPS     UINT64_C(1000000000)
#define LINE_BPS (100 * GBPS)

#define FRAME_BYTES STAND_FRAME
#define FRAME_PS    ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * UINT64_C(80))
#define QUANTUM_PS  UINT64_C(5120)
#define FRAMES_MAX  4096

static struct stand *open_ports(const char *ecn, const char *more)
{
	char rest[1024];

	snprintf(rest, sizeof(rest),
		 "classes:\n"
		 "  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 15, ecn: %s}\n"
		 "  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 15, ecn: %s}\n"
		 "  - {priority: 0, name: best-effort, weight: 15}\n"
		 "buffer: {small_frames: 0%%, lossy_max: 10%%%s}\n",
		 ecn, ecn, more);
	return stand_create(
		&(struct stand_params){.ports = PORTS, .speed = {"100G"}, .rest = rest});
}

static uint64_t marked(const struct stand *stand, uint8_t priority)
{
	return stand_queue(stand, SINK, priority).ecn_marked;
}

/* What waits leaves; nothing was lost, and what the leaf says that it marked has come marked. */
static void finish(struct stand *stand)
{
	uint64_t ce = 0;

	stand_stop_all(stand);
	stand_run_for(stand, 4000 * US);
	stand_check_lossless(stand, 0xff);
	cr_expect_eq(stand_all_drops(stand), 0);
	for (uint32_t i = 0; i < stand->stream_count; i++)
		ce += stand->stream[i].received_ce_frames;
	cr_expect_eq(marked(stand, 3) + marked(stand, 4), ce, "CNT-WRED-ECN");
	stand_free(stand);
}

/* --- two classes --- */

/* ECN-NOCONG: 98 % of the link in two classes. */
Test(ecn, ECN_NOCONG_two_classes_below_the_link_s_speed_are_never_marked)
{
	struct stand *stand = open_ports("auto", "");

	stand_flow(stand, A, SINK, 3, 49000);
	stand_flow(stand, B, SINK, 4, 49000);
	stand_run(stand, 10 * PS_PER_MS);
	cr_expect_eq(marked(stand, 3), 0);
	cr_expect_eq(marked(stand, 4), 0);
	cr_expect_geq(stand_queue(stand, SINK, 3).tx_bytes * 1106,
		      UINT64_C(49) * 99 / 100 * 10 * 12500000 * 1082 / 100, "they did send");
	cr_expect_eq(stand_pauses(stand, 0xff), 0);
	finish(stand);
}

/* ECN-SPLIT: percent of the link that two classes of equal weight want. */
Test(ecn, ECN_SPLIT_who_wants_more_than_its_half_is_marked_and_the_other_is_not)
{
	static const uint32_t load[][2] = {{90, 15}, {15, 90}, {53, 49}, {60, 60}, {60, 90}};

	for (uint32_t i = 0; i < sizeof(load) / sizeof(load[0]); i++) {
		struct stand *stand = open_ports("{kmin: 50KB, kmax: 200KB, pmax: 20%}", "");
		struct stream *stream[2];
		double share[2];

		for (uint32_t c = 0; c < 2; c++)
			stream[c] = stand_flow(stand, c == 0 ? A : B, SINK, (uint8_t)(3 + c),
					       1000 * load[i][c]);
		stand_run(stand, 5 * PS_PER_MS);
		for (uint32_t c = 0; c < 2; c++) {
			uint64_t marks = marked(stand, (uint8_t)(3 + c));

			share[c] = (double)marks / (double)stream[c]->received_frames;
			if (load[i][c] > 50)
				cr_expect_gt(marks, 0, "%u %% of [%u, %u]", load[i][c], load[i][0],
					     load[i][1]);
			else
				cr_expect_eq(marks, 0, "%u %% of [%u, %u]", load[i][c], load[i][0],
					     load[i][1]);
		}
		if (load[i][0] == load[i][1])
			cr_expect_lt(fabs(share[0] - share[1]), 0.05);
		else if (load[i][0] > 50 && load[i][1] > 50)
			cr_expect_gt(marked(stand, 4), marked(stand, 3), "90 %% beside 60 %%");
		finish(stand);
	}
}

/* ECN-FLAP: marks come again after the port went down and up, and what was counted stays. */
Test(ecn, ECN_FLAP_a_port_that_was_down_marks_again_and_its_counters_go_on)
{
	struct stand *stand = open_ports("auto", "");
	struct stream *stream[2];
	uint64_t before, drops;

	for (uint16_t i = 0; i < 2; i++)
		stream[i] = stand_flow(stand, i, SINK, 3, 100000);
	stand_run(stand, 500 * US);
	before = marked(stand, 3);
	cr_expect_gt(before, 0);
	for (uint32_t flap = 0; flap < 2; flap++) {
		stand_stop_all(stand);
		stand_link(stand, SINK, false);
		stand_run_for(stand, 3000 * US);
		cr_expect_geq(marked(stand, 3), before, "kept while it is down");
		before = marked(stand, 3);
		stand_link(stand, SINK, true);
		stand_run_for(stand, 10 * US);
		cr_expect_eq(marked(stand, 3), before, "nothing came yet");
		for (uint16_t i = 0; i < 2; i++) {
			/* 99.98 % of the line, twice. */
			stream[i]->pace = wire_rate_of(LINE_BPS / 10000 * 9998);
			stand_restart(stand, stream[i]);
		}
		stand_run_for(stand, 500 * US);
		cr_expect_gt(marked(stand, 3), before + 100, "and again");
		before = marked(stand, 3);
	}
	stand_stop_all(stand);
	stand_run_for(stand, 3000 * US);
	stand_check_quiet(stand);
	/* What waited when the link went down, and nothing else. */
	drops = stand_drops(stand, DROP_LINK_DOWN);
	cr_expect_eq(stand_all_drops(stand), drops);
	cr_expect_eq(stand_missing(stand, 0xff), drops);
	stand_free(stand);
}

/* --- a queue that stands, and drains --- */

static struct {
	bool marked[FRAMES_MAX]; /* of the i-th that came */
	uint32_t count;
	uint64_t first_arrival_ps, released_ps; /* at the leaf */
} burst;

static void note(struct stand *stand, const struct stream *stream, const struct frame_view *view)
{
	(void)stand;
	(void)stream;
	cr_assert_lt(burst.count, FRAMES_MAX);
	burst.marked[burst.count++] = (view->tos & 3) == ECN_CE;
}

static void pause_sink(struct stand *stand, uint16_t quanta)
{
	stand_pause(stand, SINK, &(struct pfc_frame){.enabled = 1u << 3, .quanta = {[3] = quanta}});
}

/* So many frames wait at the paused port, and then go: the i-th leaves count - 1 - i behind. */
static void run_burst(struct stand *stand, struct stream *stream, uint32_t count)
{
	uint64_t delay_ps = stand->blaster[A].tx->delay_ps;

	burst.count = 0;
	stand->seen = note;
	pause_sink(stand, PFC_QUANTA_MAX);
	stand_run_for(stand, US);
	burst.first_arrival_ps = stand_now_ps(stand) + FRAME_PS + delay_ps;
	stream->params.bytes_max = stream->sent_bytes + (uint64_t)count * FRAME_BYTES;
	stand_restart(stand, stream);
	stand_run_for(stand, count * FRAME_PS + US);
	cr_assert_eq(stand_queue(stand, SINK, 3).depth_packets, count);
	burst.released_ps = stand_now_ps(stand) +
			    (PFC_FRAME_BYTES + WIRE_OVERHEAD_BYTES) * UINT64_C(80) + delay_ps;
	pause_sink(stand, 0);
	stand_run_for(stand, (count + 1) * FRAME_PS + US);
	cr_assert_eq(burst.count, count);
}

/* Of run_burst(): silent until then. */
static struct stream *burst_stream(struct stand *stand)
{
	return stand_stream(stand, &(struct stream_params){.from = A,
							   .to = SINK,
							   .priority = 3,
							   .start_ps = 1,
							   .stop_ps = 1,
							   .large_bytes = FRAME_BYTES});
}

/*
 * ECN-RED-ACC: 5 % between 500 and 2000 KB, 200 bursts. In each bin of 100 KB within one point, and
 * chi-square over all of the ramp's: 30.58 is passed in one case of a hundred with 15 degrees of freedom.
 */
Test(ecn, ECN_RED_ACC_200_bursts_follow_the_ramp)
{
	const uint32_t rounds = 200, count = 2000000 / FRAME_BYTES + 12;
	struct stand *stand = open_ports("{kmin: 500KB, kmax: 2000KB, pmax: 5%}", "");
	struct stream *stream = burst_stream(stand);
	double draws[21] = {0}, wanted[21] = {0}, variance[21] = {0}, got[21] = {0}, chi_square = 0;

	for (uint32_t round = 0; round < rounds; round++) {
		run_burst(stand, stream, count);
		for (uint32_t i = 0; i < count; i++) {
			uint32_t behind = (count - 1 - i) * FRAME_BYTES, bin = behind / 100000;
			double p = (behind - 500e3) / 1500e3 * 0.05;

			if (behind <= 500000)
				p = 0;
			if (behind > 2000000)
				p = 1;
			draws[bin]++;
			wanted[bin] += p;
			variance[bin] += p * (1 - p);
			got[bin] += burst.marked[i];
		}
	}
	for (uint32_t bin = 0; bin <= 20; bin++) {
		double off = got[bin] - wanted[bin];

		cr_expect_leq(fabs(off), draws[bin] / 100, "bin %u: %g of %g, wanted %g", bin,
			      got[bin], draws[bin], wanted[bin]);
		cr_expect_leq(off * off, 16 * variance[bin], "bin %u: four sigma", bin);
		if (variance[bin] > 0)
			chi_square += off * off / variance[bin];
	}
	cr_expect_gt(draws[20], 0);
	cr_expect_lt(chi_square, 30.58);
	finish(stand);
}

/* ECN-STEP-SMALL: L is 1000 frames; from there to twice that the chance rises to 10 %, 5 % on average. */
Test(ecn, ECN_STEP_SMALL_below_the_threshold_none_and_above_it_as_many_as_the_ramp_says)
{
	struct stand *stand = open_ports("{kmin: 1082000, kmax: 2164000, pmax: 10%}", "");
	struct stream *stream = burst_stream(stand);
	uint32_t marks;

	run_burst(stand, stream, 100);
	run_burst(stand, stream, 999);
	run_burst(stand, stream, 1001);
	cr_expect_eq(marked(stand, 3), 0, "at most L behind the first");
	run_burst(stand, stream, 2000);
	marks = (uint32_t)marked(stand, 3);
	cr_expect(marks >= 30 && marks <= 70, "%u of 1000", marks);
	for (uint32_t i = 999; i < 2000; i++)
		cr_expect_not(burst.marked[i], "unmarked data is all of the last L");
	cr_expect_eq(stream->received_frames, stream->sent_frames);
	finish(stand);
}

/*
 * The average that a queue of this burst has had when its frames depart, by
 *	average(t + dt) = depth + (average(t) - depth) * 2^-(dt / half_life)
 * @return frames whose average was within `margin` of the threshold and may be either
 */
static uint32_t check_average(uint32_t count, double half_life_ps, double threshold)
{
	/* mark.h: 2.1e-4 of the range, and the way of a 1024th of a half-life, up to ln 2 / 1024. */
	double margin = 9e-4 * count * FRAME_BYTES + FRAME_BYTES;
	double average = 0, keep = exp2(-(double)FRAME_PS / half_life_ps), wait_ps;
	uint32_t either = 0;

	for (uint32_t i = 1; i < count; i++)
		average = i * FRAME_BYTES + (average - i * FRAME_BYTES) * keep;
	wait_ps = (double)(burst.released_ps - burst.first_arrival_ps) - (count - 1.0) * FRAME_PS;
	average = count * FRAME_BYTES +
		  (average - count * FRAME_BYTES) * exp2(-wait_ps / half_life_ps);
	for (uint32_t i = 0; i < count; i++) {
		double depth = (count - 1.0 - i) * FRAME_BYTES;

		if (fabs(average - threshold) <= margin)
			either++;
		else
			cr_expect_eq(burst.marked[i], average > threshold, "frame %u: average %.0f",
				     i, average);
		average = depth + (average - depth) * keep;
	}
	return either;
}

/*
 * A ramp of 1900 frames up to 2.06 MB and down again, by an average with a half-life of 50 us, which at its
 * top has come to 1.3 MB. The depth alone would mark the first frames and none of the last.
 */
Test(ecn, the_averaged_mode_marks_when_the_average_has_come_to_the_threshold)
{
	static const struct {
		const char *step;
		double bytes;
		bool first;
	} steps[] = {{"1000KB", 1e6, true}, {"1300KB", 1.3e6, false}, {"700KB", 0.7e6, true}};
	const uint32_t count = 1900;

	for (uint32_t i = 0; i < 3; i++) {
		char ecn[128];
		struct stand *stand;
		uint32_t last = 0;

		snprintf(ecn, sizeof(ecn), "{kmin: %s, kmax: %s}, average: 50us", steps[i].step,
			 steps[i].step);
		stand = open_ports(ecn, ", allow_pfc_before_ecn: true");
		run_burst(stand, burst_stream(stand), count);
		cr_expect_lt(check_average(count, 50e6, steps[i].bytes), count / 10);
		cr_expect_eq(burst.marked[0], steps[i].first, "%s", steps[i].step);
		for (uint32_t k = 0; k < count; k++)
			last = burst.marked[k] ? k : last;
		cr_expect_gt((count - last) * (double)FRAME_BYTES, 0);
		cr_expect_lt((count - last) * (double)FRAME_BYTES, steps[i].bytes,
			     "it lags: less than the threshold is left when marks end");
		finish(stand);
	}
}

/* --- pauses from the receiver --- */

/* Marks of one pause of a flow at `load` of the line: the queue it leaves drains at 1 - load of it. */
static double expected_marks(double pause_ps, double load, double kmin, double kmax, double pmax)
{
	double frame = FRAME_BYTES, per_wire = frame / (frame + WIRE_OVERHEAD_BYTES);
	double deepest = pause_ps * load * per_wire / 80, sum = 0;
	uint32_t frames = (uint32_t)(deepest / ((1 - load) * frame));

	/* With each frame that leaves `load` of one comes. */
	for (uint32_t i = 0; i < frames; i++) {
		double depth = deepest - i * (1 - load) * frame;

		if (depth > kmax)
			sum += 1;
		else if (depth > kmin)
			sum += pmax * (depth - kmin) / (kmax - kmin);
	}
	return sum;
}

/* ECN-PAUSE-QUANTA: the longer a pause, the more marks, as many as the queue it leaves is due. */
Test(ecn, ECN_PAUSE_QUANTA_longer_pauses_of_the_receiver_mark_more)
{
	static const struct {
		uint32_t kmin_mb, kmax_mb, percent;
	} profiles[] = {{1, 4, 5}, {1, 4, 10}, {2, 4, 5}, {2, 4, 10}};
	static const uint16_t quanta[] = {16384, 32768, 45000, 55000, 65535};
	const uint32_t pauses = 5;

	for (uint32_t i = 0; i < 4; i++) {
		double kmin = profiles[i].kmin_mb * 1e6, kmax = profiles[i].kmax_mb * 1e6;
		uint64_t last = 0, first = 0;
		struct stand *stand;
		char ecn[128];

		snprintf(ecn, sizeof(ecn), "{kmin: %uMB, kmax: %uMB, pmax: %u%%}",
			 profiles[i].kmin_mb, profiles[i].kmax_mb, profiles[i].percent);
		stand = open_ports(ecn, "");
		stand_flow(stand, A, SINK, 3, 60000);
		for (uint32_t q = 0; q < 5; q++) {
			uint64_t marks = marked(stand, 3);
			double wanted =
				pauses * expected_marks((double)(quanta[q] * QUANTUM_PS), 0.6, kmin,
							kmax, profiles[i].percent / 100.0);

			for (uint32_t n = 0; n < pauses; n++) {
				pause_sink(stand, quanta[q]);
				stand_run_for(stand, 900 * US);
				cr_expect_lt(stand_queue(stand, SINK, 3).depth_packets, 4);
			}
			marks = marked(stand, 3) - marks;
			cr_expect_geq(marks, last, "%u quanta", quanta[q]);
			/* Four sigma of few marks among many frames, and one in 50 for the model. */
			cr_expect_leq(
				fabs((double)marks - wanted), 4 * sqrt(wanted) + wanted / 50 + 1,
				"%u quanta: %" PRIu64 ", wanted %.1f", quanta[q], marks, wanted);
			first = q == 0 ? marks : first;
			last = marks;
		}
		cr_expect_eq(first, 0, "0.6 MB is below Kmin");
		cr_expect_gt(last, first);
		finish(stand);
	}
}
