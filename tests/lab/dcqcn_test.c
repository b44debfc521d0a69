/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCQCN's two points apart from any fabric: rates and alpha against values computed by hand from the
 * paper's formulas, and when notifications are asked for.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/units.h"
#include "tools/lab/cc/cc.h"
#include "tools/lab/host/notification.h"
#include "tools/lab/random.h"

#define GBPS UINT64_C(1000000000)
#define MBPS UINT64_C(1000000)
#define US   PS_PER_US

/* All runs pass the clock's wrap. */
#define START (UINT64_MAX - 100 * US)

static const struct cc_limits limits_100g = {100 * GBPS, 100 * GBPS, 4096};

static struct cc_params params_of(enum dcqcn_preset preset)
{
	return (struct cc_params){.kind = CC_DCQCN, .dcqcn = *dcqcn_preset(preset)};
}

static struct dcqcn_view look(const struct cc *cc)
{
	struct dcqcn_view view;

	dcqcn_look(cc, &view);
	return view;
}

static struct dcqcn_view at(struct cc *cc, uint64_t time_ps)
{
	cc->ops->advance(cc, START + time_ps);
	return look(cc);
}

/* x in millionths of y. */
static void expect_close(uint64_t x, uint64_t y, uint64_t ppb, const char *what)
{
	uint64_t difference = x > y ? x - y : y - x;

	cr_expect_leq((unsigned __int128)difference * 1000000000, (unsigned __int128)y * ppb,
		      "%s: %" PRIu64 ", must be %" PRIu64, what, x, y);
}

/* --- before the first notification --- */

Test(dcqcn, sends_at_full_rate_until_the_first_cnp)
{
	for (uint32_t preset = 0; preset < DCQCN_PRESETS; preset++) {
		struct cc_params params = params_of((enum dcqcn_preset)preset);
		struct cc *cc = cc_create(&params, &limits_100g);

		for (uint64_t t = 0; t < 1000; t++)
			cr_expect_eq(cc->ops->sent(cc, 4154, START + t * US),
				     START + t * US + TIME_IDLE_PS);
		cr_expect_eq(cc->rate_bps, 100 * GBPS);
		cr_expect_eq(at(cc, 1001 * US).timer_stage, 0);
		cr_expect_eq(look(cc).byte_stage, 0);
		cc_free(cc);
	}
}

Test(dcqcn, without_control_the_rate_is_the_flows_and_nobody_listens)
{
	struct cc_params params = {.kind = CC_NONE};
	struct cc_limits limits = {100 * GBPS, 7 * GBPS, 4096};
	struct cc *cc = cc_create(&params, &limits);

	cr_expect_eq(cc->rate_bps, 7 * GBPS);
	cr_expect_null(cc->ops->cnp);
	cc_free(cc);
}

/* --- the paper's: every CNP cuts --- */

Test(dcqcn, paper_halves_at_the_first_cnps_as_alpha_is_one)
{
	struct cc_params params = params_of(DCQCN_PAPER);
	struct cc *cc = cc_create(&params, &limits_100g);

	cc->ops->cnp(cc, START);
	/* alpha = 1: R = R (1 - 1/2); then alpha = (1 - g) 1 + g = 1. */
	cr_expect_eq(cc->rate_bps, 50 * GBPS);
	cr_expect_eq(look(cc).target_bps, 100 * GBPS);
	cr_expect_eq(look(cc).alpha_q30, DCQCN_ONE_Q30);
	cc->ops->cnp(cc, START + 50 * US);
	cr_expect_eq(cc->rate_bps, 25 * GBPS);
	cr_expect_eq(look(cc).target_bps, 50 * GBPS, "the rate before the cut");
	cr_expect_eq(look(cc).alpha_q30, DCQCN_ONE_Q30);
	cc_free(cc);
}

Test(dcqcn, paper_alpha_sinks_by_g_each_timer_that_no_cnp_restarts)
{
	struct cc_params params = params_of(DCQCN_PAPER);
	struct cc *cc = cc_create(&params, &limits_100g);

	cc->ops->cnp(cc, START);
	cc->ops->cnp(cc, START + 50 * US);
	/* (255/256)^n with 30 bits: exact up to n = 3. */
	cr_expect_eq(at(cc, 105 * US - 1).alpha_q30, DCQCN_ONE_Q30);
	cr_expect_eq(at(cc, 105 * US).alpha_q30, 255u << 22);
	cr_expect_eq(at(cc, 160 * US).alpha_q30, 255u * 255 << 14);
	cr_expect_eq(at(cc, 215 * US).alpha_q30, 255u * 255 * 255 << 6);
	/* A CNP: alpha = (1 - g) alpha + g; g alpha is 4145343.75 units. */
	cc->ops->cnp(cc, START + 216 * US);
	cr_expect_eq(look(cc).alpha_q30, (255u * 255 * 255 << 6) - 4145344 + (1u << 22));
	/* The timer began again. */
	cr_expect_eq(at(cc, 270 * US).alpha_q30, look(cc).alpha_q30);
	cr_expect_lt(at(cc, 271 * US).alpha_q30, (255u * 255 * 255 << 6));
	cc_free(cc);
}

Test(dcqcn, paper_recovers_in_five_rounds_and_then_adds)
{
	/* R = (R + T) / 2 with T = 50G, from 25G, in Mb/s. */
	static const uint64_t recovery_kbps[5] = {37500000, 43750000, 46875000, 48437500, 49218750};
	struct cc_params params = params_of(DCQCN_PAPER);
	struct cc *cc = cc_create(&params, &limits_100g);
	uint64_t rate_bps = 49218750000, target_bps = 50 * GBPS;

	cc->ops->cnp(cc, START);
	cc->ops->cnp(cc, START + 50 * US);
	cr_expect_eq(at(cc, 105 * US - 1).rate_bps, 25 * GBPS);
	for (uint64_t i = 0; i < 5; i++) {
		cr_expect_eq(at(cc, (105 + 55 * i) * US).rate_bps, recovery_kbps[i] * 1000);
		cr_expect_eq(look(cc).target_bps, 50 * GBPS);
		cr_expect_eq(look(cc).timer_stage, i + 1);
	}
	/* The timer's stage alone is above five: T = T + 40 Mb/s each time. */
	for (uint64_t i = 5; i < 20; i++) {
		target_bps += 40 * MBPS;
		rate_bps = (rate_bps + target_bps + 1) / 2;
		cr_expect_eq(at(cc, (105 + 55 * i) * US).rate_bps, rate_bps, "%" PRIu64, i);
		cr_expect_eq(look(cc).target_bps, target_bps);
	}
	cc_free(cc);
}

Test(dcqcn, paper_counts_bytes_and_adds_more_when_both_counters_are_beyond)
{
	struct cc_params params = params_of(DCQCN_PAPER);
	struct cc *cc = cc_create(&params, &limits_100g);
	struct dcqcn_view before;

	cc->ops->cnp(cc, START);
	/* Six times 10 MB, in 2500 frames of 4000 bytes: one round for each. */
	for (uint32_t i = 1; i <= 6 * 2500; i++) {
		cc->ops->sent(cc, 4000, START + i);
		cr_assert_eq(look(cc).byte_stage, i / 2500);
	}
	/* Five rounds of recovery: 100G - 50G / 2^5, and one that adds, which the top cuts off. */
	cr_expect_eq(look(cc).target_bps, 100 * GBPS);
	cr_expect_eq(cc->rate_bps, 100 * GBPS - 50 * GBPS / 64);
	/* Two cuts make room to rise in. */
	cc->ops->cnp(cc, START + 50 * US);
	cc->ops->cnp(cc, START + 50 * US + 1);
	cr_expect_eq(look(cc).byte_stage, 0, "a cut begins again");
	for (uint32_t i = 1; i <= 6 * 2500; i++)
		cc->ops->sent(cc, 4000, START + 51 * US);
	before = at(cc, 51 * US);
	for (uint64_t i = 1; i <= 5; i++) {
		/* The bytes are beyond, the timer isn't. */
		struct dcqcn_view view = at(cc, (50 + 55 * i) * US + 1);

		cr_expect_eq(view.timer_stage, i);
		cr_expect_eq(view.target_bps, before.target_bps + 40 * MBPS * i);
	}
	before = look(cc);
	cr_expect_eq(at(cc, (50 + 55 * 6) * US + 1).target_bps, before.target_bps + 200 * MBPS);
	cc_free(cc);
}

/* --- windows --- */

/* alpha after n ends of its timer, the first k of them with a CNP, from one; over 256^n, n <= 7. */
static uint64_t alpha_numerator(const bool *cnp, uint32_t n)
{
	uint64_t numerator = 1, one = 1;

	for (uint32_t i = 0; i < n; i++) {
		numerator = 255 * numerator + (cnp[i] ? one : 0);
		one *= 256;
	}
	return numerator;
}

Test(dcqcn, windows_cut_at_their_end_and_alpha_has_a_clock_of_its_own)
{
	/* CNPs at 0 and 4.5 us: in the first and in the fifth microsecond. */
	static const bool cnp[8] = {true, false, false, false, true, false, false, false};
	struct cc_params params = params_of(DCQCN_HPCC);
	struct cc *cc = cc_create(&params, &limits_100g);
	unsigned __int128 rate_bps = 100 * GBPS;

	cc->ops->cnp(cc, START);
	cr_expect_eq(at(cc, 4 * US - 1).rate_bps, 100 * GBPS, "not yet");
	/* R (1 - alpha / 2), alpha over 256^4 */
	rate_bps = rate_bps * ((UINT64_C(2) << 32) - alpha_numerator(cnp, 4)) >> 33;
	expect_close(at(cc, 4 * US).rate_bps, (uint64_t)rate_bps, 10, "first cut");
	expect_close(look(cc).alpha_q30, alpha_numerator(cnp, 4) >> 2, 10, "alpha");
	cc->ops->cnp(cc, START + 4500000);
	expect_close(at(cc, 8 * US - 1).rate_bps, (uint64_t)rate_bps, 10, "between");
	expect_close(at(cc, 7 * US).alpha_q30, alpha_numerator(cnp, 7) >> 26, 10, "alpha");
	/* At 8 us it sinks once more before the cut. */
	rate_bps = rate_bps * (((unsigned __int128)2 << 64) -
			       (unsigned __int128)255 * alpha_numerator(cnp, 7)) >>
		   65;
	expect_close(at(cc, 8 * US).rate_bps, (uint64_t)rate_bps, 10, "second cut");
	cr_expect_eq(look(cc).target_bps, 100 * GBPS, "it hasn't risen between the cuts");
	expect_close(at(cc, 100 * US).rate_bps, (uint64_t)rate_bps, 10, "without CNPs no cut");
	cc_free(cc);
}

/*
 * Without a byte counter: one round of recovery, one additive step of 20 Mb/s (200 millionths of
 * 100G), hyper ones of 200 Mb/s then.
 */
Test(dcqcn, hpcc_recovers_once_adds_once_and_then_more)
{
	struct cc_params params = params_of(DCQCN_HPCC);
	struct cc *cc = cc_create(&params, &limits_100g);
	uint64_t rate_bps, target_bps;

	/* To have a target below the top: a cut, a rise, a cut. */
	cc->ops->cnp(cc, START);
	cc->ops->cnp(cc, START + 305 * US); /* in the window 304 to 308 us, after a rise at 304 */
	rate_bps = at(cc, 308 * US).rate_bps;
	target_bps = look(cc).target_bps;
	cr_expect_lt(target_bps, 80 * GBPS, "the rate after that rise");
	cr_expect_gt(target_bps, rate_bps);
	for (uint64_t i = 0; i < 10; i++) {
		target_bps += i == 0 ? 0 : i == 1 ? 20 * MBPS : 200 * MBPS;
		rate_bps = (rate_bps + target_bps + 1) / 2;
		cr_expect_eq(at(cc, (608 + 300 * i) * US - 1).timer_stage, i);
		cr_expect_eq(at(cc, (608 + 300 * i) * US).rate_bps, rate_bps, "%" PRIu64, i);
		cr_expect_eq(look(cc).target_bps, target_bps);
	}
	cc_free(cc);
}

Test(dcqcn, clamp_says_whether_a_cut_after_a_cut_lowers_the_target)
{
	struct cc_params params = params_of(DCQCN_HPCC);
	struct cc *cc;

	for (uint32_t always = 0; always <= 1; always++) {
		uint64_t first_bps;

		params.dcqcn.clamp = always ? DCQCN_CLAMP_ALWAYS : DCQCN_CLAMP_AFTER_INCREASE;
		cc = cc_create(&params, &limits_100g);
		cc->ops->cnp(cc, START);
		first_bps = at(cc, 4 * US).rate_bps;
		cc->ops->cnp(cc, START + 5 * US);
		cr_expect_lt(at(cc, 8 * US).rate_bps, first_bps);
		cr_expect_eq(look(cc).target_bps, always ? first_bps : 100 * GBPS);
		cc_free(cc);
	}
}

Test(dcqcn, nvidia_rises_by_bytes_and_remembers_five_of_1024)
{
	struct cc_params params = params_of(DCQCN_NVIDIA);
	struct cc *cc = cc_create(&params, &limits_100g);
	uint64_t rate_bps;

	/* initial alpha 1023/1024; with a CNP (1019 * 1023 / 1024 + 5) / 1024. */
	cr_expect_eq(look(cc).alpha_q30, 1023u << 20);
	cc->ops->cnp(cc, START);
	expect_close(at(cc, US).alpha_q30, (1019u * 1023 + 5 * 1024) << 10, 10, "alpha");
	rate_bps = at(cc, 4 * US).rate_bps;
	/* 32767 bytes: one round, in the frame that completes them. */
	for (uint32_t i = 0; i < 7; i++)
		cc->ops->sent(cc, 4154, START + 4 * US);
	cr_expect_eq(cc->rate_bps, rate_bps);
	cc->ops->sent(cc, 4154, START + 4 * US);
	cr_expect_eq(cc->rate_bps, (rate_bps + 100 * GBPS + 1) / 2);
	cr_expect_eq(look(cc).byte_stage, 1);
	cc_free(cc);
}

Test(dcqcn, never_below_the_least_rate_nor_above_the_flows_own)
{
	for (uint32_t preset = 0; preset < DCQCN_PRESETS; preset++) {
		struct cc_params params = params_of((enum dcqcn_preset)preset);
		struct cc_limits limits = {100 * GBPS, 40 * GBPS, 4096};
		struct cc *cc = cc_create(&params, &limits);
		uint64_t t;

		for (t = 0; t < 2000; t++)
			cc->ops->cnp(cc, START + t * US);
		cr_expect_eq(at(cc, t * US).rate_bps, params.dcqcn.min_rate_bps);
		/* One rise when there is nothing to multiply with: back to the top in the end. */
		for (; t < 4000000; t += 100) {
			struct dcqcn_view view = at(cc, t * US);

			cr_assert_leq(view.rate_bps, view.target_bps);
			cr_assert_leq(view.target_bps, 40 * GBPS);
		}
		cr_expect_eq(cc->rate_bps, 40 * GBPS);
		cc_free(cc);
	}
}

/* What happens between two calls doesn't depend on how often one looks. */
Test(dcqcn, time_may_pass_in_one_leap_or_in_steps)
{
	for (uint32_t preset = 0; preset < DCQCN_PRESETS; preset++) {
		struct cc_params params = params_of((enum dcqcn_preset)preset);
		struct cc *leaps = cc_create(&params, &limits_100g);
		struct cc *steps = cc_create(&params, &limits_100g);
		struct random random = {preset};
		uint64_t now_ps = START;

		for (uint32_t i = 0; i < 300; i++) {
			uint64_t next_ps = now_ps + random_below(&random, 1000) * US / 3;
			struct dcqcn_view a, b;

			for (; time_after(next_ps, now_ps); now_ps += US / 7)
				steps->ops->advance(steps, now_ps);
			now_ps = next_ps;
			if (i % 3 == 0) {
				leaps->ops->sent(leaps, 9000, now_ps);
				steps->ops->sent(steps, 9000, now_ps);
			} else {
				leaps->ops->cnp(leaps, now_ps);
				steps->ops->cnp(steps, now_ps);
			}
			a = look(leaps);
			b = look(steps);
			cr_assert(a.rate_bps == b.rate_bps && a.target_bps == b.target_bps &&
					  a.alpha_q30 == b.alpha_q30 &&
					  a.timer_stage == b.timer_stage &&
					  a.byte_stage == b.byte_stage,
				  "preset %u, step %u", preset, i);
		}
		cc_free(leaps);
		cc_free(steps);
	}
}

Test(dcqcn, tells_when_the_rate_rises_next)
{
	struct cc_params params = params_of(DCQCN_PAPER);
	struct cc *cc = cc_create(&params, &limits_100g);

	cc->ops->cnp(cc, START);
	cr_expect_eq(cc->ops->advance(cc, START), START + 55 * US);
	cr_expect_eq(cc->ops->sent(cc, 1000, START + 54 * US), START + 55 * US);
	cr_expect_eq(cc->ops->advance(cc, START + 55 * US), START + 110 * US);
	cc_free(cc);
}

/* --- notifications --- */

#define FLOWS 3

struct point {
	struct notifier notifier;
	struct notification flow[FLOWS];
};

static void point_init(struct point *point, uint64_t interval_ps)
{
	struct frame_path path = {.family = 4};

	memset(point, 0, sizeof(*point));
	point->notifier.interval_ps = interval_ps;
	for (uint32_t i = 0; i < FLOWS; i++)
		notification_init(&point->flow[i], &path);
}

/* Flows for which a CNP waits, as bits; they are sent. */
static uint32_t point_take(struct point *point, uint64_t time_ps)
{
	uint32_t taken = 0;

	notifier_advance(&point->notifier, START + time_ps);
	while (notifier_asked(&point->notifier)) {
		struct notification *first = point->notifier.asked.first;

		taken |= 1u << (first - point->flow);
		point->notifier.asked.first = first->next_asked;
		first->asked = false;
	}
	return taken;
}

Test(dcqcn, a_mark_asks_for_a_cnp_at_once_and_further_ones_only_once_an_interval)
{
	struct point point;
	uint32_t count = 0;

	point_init(&point, 50 * US);
	/* Marked every microsecond for 200 us: CNPs at 0, 50, 100, 150, 200. */
	for (uint64_t t = 0; t <= 400; t++) {
		uint32_t taken;

		if (t < 200)
			notification_marked(&point.notifier, &point.flow[1], START + t * US);
		taken = point_take(&point, t * US);
		/* The last window sees no mark and ends in silence. */
		cr_expect_eq(taken, t % 50 == 0 && t <= 200 ? 2u : 0u, "%" PRIu64 " us", t);
		count += taken != 0;
	}
	cr_expect_eq(count, 5);
	cr_expect_eq(notifier_advance(&point.notifier, START + 400 * US),
		     START + 400 * US + TIME_IDLE_PS);
}

Test(dcqcn, a_mark_within_the_interval_is_told_at_its_end)
{
	struct point point;

	point_init(&point, 50 * US);
	notification_marked(&point.notifier, &point.flow[0], START);
	cr_expect_eq(point_take(&point, 0), 1);
	notification_marked(&point.notifier, &point.flow[0], START + 10 * US);
	cr_expect_eq(notifier_advance(&point.notifier, START + 10 * US), START + 50 * US);
	cr_expect_eq(point_take(&point, 50 * US - 1), 0);
	cr_expect_eq(point_take(&point, 50 * US), 1);
	/* And nothing after that; then a mark counts at once. */
	cr_expect_eq(point_take(&point, 100 * US), 0);
	notification_marked(&point.notifier, &point.flow[0], START + 101 * US);
	cr_expect_eq(point_take(&point, 101 * US), 1);
}

Test(dcqcn, flows_have_intervals_of_their_own)
{
	struct point point;

	point_init(&point, 50 * US);
	notification_marked(&point.notifier, &point.flow[0], START);
	notification_marked(&point.notifier, &point.flow[1], START + 20 * US);
	notification_marked(&point.notifier, &point.flow[0], START + 30 * US);
	notification_marked(&point.notifier, &point.flow[1], START + 40 * US);
	notification_marked(&point.notifier, &point.flow[2], START + 49 * US);
	cr_expect_eq(point_take(&point, 49 * US), 7);
	cr_expect_eq(point_take(&point, 50 * US), 1);
	cr_expect_eq(point_take(&point, 69 * US), 0);
	cr_expect_eq(point_take(&point, 70 * US), 2);
	cr_expect_eq(point_take(&point, 500 * US), 0);
}

Test(dcqcn, an_interval_of_zero_is_one_cnp_for_each_mark_that_finds_none_waiting)
{
	struct point point;

	point_init(&point, 0);
	for (uint64_t t = 0; t < 10; t++) {
		notification_marked(&point.notifier, &point.flow[0], START + t);
		notification_marked(&point.notifier, &point.flow[0], START + t);
		cr_expect_eq(point_take(&point, t), 1);
	}
}
