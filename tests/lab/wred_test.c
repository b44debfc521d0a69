/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WRED-LOSSY (of a switch tester's catalogue) on exact wires: early drops of a lossy queue follow their
 * curve, with and without ECN beside it, for every codepoint, and each is counted once.
 *
 * One port of 100G sends bursts to one of 10G. What was dropped is seen from outside: sequence numbers that
 * never come. From them the depth that each frame met is reckoned, as the sink takes a frame every 884.8 ns;
 * given the past each drop has the curve's probability, so that sums over frames keep to four sigma.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/stand.h"

TestSuite(wred, .init = harness_start);

enum { SENDER, SINK, PORTS };

#define US PS_PER_US

#define FRAME_BYTES   1082u /* 1024 of payload */
#define FRAME_PS      ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * UINT64_C(80))
#define SINK_FRAME_PS (10 * FRAME_PS)
#define FRAMES        700 /* of a burst */

#define MIN_BYTES 100000.0
#define MAX_BYTES 400000.0
#define PMAX      0.3

#define BINS 3 /* of the ramp, and one above */

static struct {
	bool came[FRAMES];
	bool ce[FRAMES];
	uint32_t first; /* sequence number of the burst's first */
} burst;

struct sums {
	double draws[BINS + 1], wanted[BINS + 1], variance[BINS + 1], dropped[BINS + 1];
	uint64_t below; /* dropped where nothing may be */
};

static void note(struct stand *stand, const struct stream *stream, const struct frame_view *view)
{
	(void)stand;
	(void)stream;
	cr_assert_lt(view->psn - burst.first, FRAMES);
	burst.came[view->psn - burst.first] = true;
	burst.ce[view->psn - burst.first] = (view->tos & 3) == 3;
}

static struct stand *open_ports(bool wred, bool ecn)
{
	char rest[512];

	/* The lossy share and the queue's own limit lie far above the curve. */
	snprintf(rest, sizeof(rest),
		 "classes:\n"
		 "  - {priority: 1, name: lossy, dscp: [8], weight: 10%s%s}\n"
		 "  - {priority: 0, name: best-effort, weight: 10}\n"
		 "buffer: {small_frames: 0%%}\n",
		 wred ? ", wred: {min: 100KB, max: 400KB, pmax: 30%}" : "",
		 ecn ? ", ecn: {kmin: 100KB, kmax: 400KB, pmax: 30%}" : "");
	return stand_create(&(struct stand_params){
		.ports = PORTS, .speed = {"100G", "10G"}, .cable = {"3m"}, .rest = rest});
}

static void run_burst(struct stand *stand, struct stream *stream)
{
	memset(&burst, 0, sizeof(burst));
	burst.first = (uint32_t)stream->sent_frames;
	stream->params.bytes_max = stream->sent_bytes + UINT64_C(1) * FRAMES * FRAME_BYTES;
	stand_restart(stand, stream);
	stand_run_for(stand, FRAMES * (FRAME_PS + SINK_FRAME_PS));
	cr_assert_eq(stand_queue(stand, SINK, 1).depth_packets, 0);
}

/* To what was drawn: the depth that each frame met, itself included, and whether it came through. */
static void add_burst(struct sums *sums)
{
	uint32_t accepted = 0;

	for (uint32_t i = 0; i < FRAMES; i++) {
		/* The first left when it came, and with every tenth one leaves, once that has come. */
		uint32_t left = i == 0 ? 0 : (i - 1) / 10 + 1;
		double depth = (accepted + 1.0 - left) * FRAME_BYTES;
		double p = PMAX * (depth - MIN_BYTES) / (MAX_BYTES - MIN_BYTES);
		uint32_t bin = BINS;

		accepted += burst.came[i];
		if (depth <= MIN_BYTES) {
			sums->below += !burst.came[i];
			continue;
		}
		if (depth <= MAX_BYTES)
			bin = (uint32_t)(p / PMAX * BINS);
		else
			p = 1;
		sums->draws[bin]++;
		sums->wanted[bin] += p;
		sums->variance[bin] += p * (1 - p);
		sums->dropped[bin] += !burst.came[i];
	}
}

static void check_curve(const struct sums *sums, const char *what)
{
	cr_expect_eq(sums->below, 0, "%s: dropped below min", what);
	for (uint32_t bin = 0; bin <= BINS; bin++) {
		double off = sums->dropped[bin] - sums->wanted[bin];

		cr_expect_gt(sums->draws[bin], 0, "%s: bin %u", what, bin);
		cr_expect_leq(off * off, 16 * sums->variance[bin],
			      "%s: bin %u: %g of %g, wanted %g", what, bin, sums->dropped[bin],
			      sums->draws[bin], sums->wanted[bin]);
	}
}

/* Every frame that is lost was dropped early, and counted as that alone. */
static void check_counters(const struct stand *stand, const char *what)
{
	uint64_t lost = stand_missing(stand, 0xff);

	cr_expect_eq(stand_drops(stand, DROP_WRED), lost, "%s", what);
	cr_expect_eq(stand_all_drops(stand), lost, "%s", what);
	cr_expect_eq(stand_queue(stand, SINK, 1).drop_packets, lost, "%s", what);
}

static void check_case(bool wred, bool ecn, enum stand_ecn codepoint)
{
	static const char *const names[] = {"ECT(0)", "ECT(1)", "Not-ECT", "CE"};
	bool drops = wred && (!ecn || codepoint == STAND_NOT_ECT);
	bool marks = ecn && (codepoint == STAND_ECT0 || codepoint == STAND_ECT1);
	struct stand *stand = open_ports(wred, ecn);
	struct stream *stream =
		stand_stream(stand, &(struct stream_params){.from = SENDER,
							    .to = SINK,
							    .ecn = codepoint,
							    .priority = 1,
							    .start_ps = 1,
							    .stop_ps = 1,
							    .large_bytes = FRAME_BYTES});
	struct sums sums = {0};
	uint64_t ce = 0;
	char what[64];

	snprintf(what, sizeof(what), "wred %s, ecn %s, %s", wred ? "on" : "off", ecn ? "on" : "off",
		 names[codepoint]);
	stand->seen = note;
	for (uint32_t round = 0; round < 15; round++) {
		run_burst(stand, stream);
		add_burst(&sums);
		for (uint32_t i = 0; i < FRAMES; i++)
			ce += burst.ce[i];
	}
	if (drops)
		check_curve(&sums, what);
	else
		cr_expect_eq(stand_missing(stand, 0xff), 0, "%s", what);
	check_counters(stand, what);
	/* CE that was sent is no mark of the leaf's, and Not-ECT never becomes it. */
	if (marks)
		cr_expect_gt(ce, 0, "%s", what);
	cr_expect_eq(stand_queue(stand, SINK, 1).ecn_marked, marks ? ce : 0, "%s", what);
	if (!marks)
		cr_expect_eq(ce, codepoint == STAND_CE ? stream->received_frames : 0, "%s", what);
	stand_check_quiet(stand);
	stand_free(stand);
}

/* WRED-LOSSY: with both on and traffic that isn't ECN-capable, drops, by the curve, and no marks. */
Test(wred, WRED_LOSSY_drops_follow_the_curve_in_every_mode_for_every_codepoint)
{
	for (uint32_t i = 0; i < 16; i++)
		check_case((i & 1) != 0, (i & 2) != 0, (enum stand_ecn)(i >> 2));
}
