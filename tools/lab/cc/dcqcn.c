/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/cc/dcqcn.h"

#include <assert.h>
#include <stdbool.h>

#include "dataplane/units.h"
#include "tools/lab/allocate.h"
#include "tools/lab/cc/cc.h"

#define MBPS UINT64_C(1000000)
#define PPM  1000000

#define Q30(numerator_, denominator_) \
	((uint32_t)(((uint64_t)(numerator_)*DCQCN_ONE_Q30 + (denominator_) / 2) / (denominator_)))

static const struct dcqcn_params presets[DCQCN_PRESETS] = {
	[DCQCN_NVIDIA] =
		{
			.gain_q30 = Q30(5, 1024), /* dce_tcp_g 1019: of 1024, that are kept */
			.initial_alpha_q30 = Q30(1023, 1024),
			.alpha_timer_ps = PS_PER_US,          /* dce_tcp_rtt */
			.cut_window_ps = 4 * PS_PER_US,       /* rate_reduce_monitor_period */
			.cnp_interval_ps = 4 * PS_PER_US,     /* min_time_between_cnps */
			.increase_timer_ps = 300 * PS_PER_US, /* rpg_time_reset */
			.byte_counter_bytes = 32767,          /* rpg_byte_reset */
			.fast_recovery = 1,                   /* rpg_threshold */
			.additive_bps = 5 * MBPS,             /* rpg_ai_rate */
			.hyper_bps = 50 * MBPS,               /* rpg_hai_rate */
			.min_rate_bps = 1 * MBPS,             /* rpg_min_rate */
			.clamp = DCQCN_CLAMP_AFTER_INCREASE,  /* clamp_tgt_rate_after_time_inc */
		},
	[DCQCN_HPCC] =
		{
			.gain_q30 = Q30(1, 256),
			.initial_alpha_q30 = Q30(1, 1),
			.alpha_timer_ps = PS_PER_US,
			.cut_window_ps = 4 * PS_PER_US,
			.increase_timer_ps = 300 * PS_PER_US,
			.fast_recovery = 1,
			.additive_ppm = 200, /* 5 Mb/s at 25G */
			.hyper_ppm = 2000,
			.min_rate_bps = 100 * MBPS,
			.clamp = DCQCN_CLAMP_AFTER_INCREASE,
		},
	[DCQCN_PAPER] =
		{
			.gain_q30 = Q30(1, 256),
			.initial_alpha_q30 = Q30(1, 1),
			.alpha_timer_ps = 55 * PS_PER_US,
			.cnp_interval_ps = 50 * PS_PER_US,
			.increase_timer_ps = 55 * PS_PER_US,
			.byte_counter_bytes = 10000000,
			.fast_recovery = 5,
			.additive_bps = 40 * MBPS,
			.hyper_bps = 200 * MBPS,
			.min_rate_bps = 40 * MBPS,
			.clamp = DCQCN_CLAMP_ALWAYS,
		},
};

const struct dcqcn_params *dcqcn_preset(enum dcqcn_preset preset)
{
	assert(preset < DCQCN_PRESETS);
	return &presets[preset];
}

struct dcqcn {
	struct cc cc;
	const struct dcqcn_params *params;
	uint64_t most_bps, min_bps, additive_bps, hyper_bps;
	uint64_t target_bps;
	uint32_t alpha_q30;
	bool active; /* since the first CNP; before, nothing below means anything */
	bool cnp_in_alpha, cnp_in_cut; /* in the running alpha_timer, in the running cut_window */
	bool risen;                    /* since the last cut */
	uint32_t timer_stage, byte_stage;
	uint64_t bytes; /* sent since the byte counter last went round */
	/* When the running periods end. */
	uint64_t alpha_due_ps, cut_due_ps, increase_due_ps;
};

static struct dcqcn *dcqcn_of(struct cc *cc)
{
	return (struct dcqcn *)cc;
}

static uint64_t step_bps(uint64_t rate_bps, uint32_t share_ppm, uint64_t link_bps)
{
	return rate_bps != 0 ? rate_bps : link_bps / PPM * share_ppm;
}

static struct cc *dcqcn_create(const struct cc_params *params, const struct cc_limits *limits)
{
	struct dcqcn *dcqcn = allocate(sizeof(*dcqcn));

	dcqcn->params = &params->dcqcn;
	dcqcn->most_bps = limits->most_bps;
	dcqcn->min_bps = params->dcqcn.min_rate_bps < limits->most_bps ? params->dcqcn.min_rate_bps
								       : limits->most_bps;
	dcqcn->additive_bps =
		step_bps(params->dcqcn.additive_bps, params->dcqcn.additive_ppm, limits->link_bps);
	dcqcn->hyper_bps =
		step_bps(params->dcqcn.hyper_bps, params->dcqcn.hyper_ppm, limits->link_bps);
	dcqcn->cc.rate_bps = limits->most_bps;
	dcqcn->target_bps = limits->most_bps;
	dcqcn->alpha_q30 = params->dcqcn.initial_alpha_q30;
	return &dcqcn->cc;
}

/* --- alpha --- */

static void alpha_update(struct dcqcn *dcqcn, bool cnp)
{
	uint64_t gain = dcqcn->params->gain_q30;
	uint64_t lost = (dcqcn->alpha_q30 * gain + DCQCN_ONE_Q30 / 2) / DCQCN_ONE_Q30;

	dcqcn->alpha_q30 -= (uint32_t)lost;
	if (cnp)
		dcqcn->alpha_q30 += (uint32_t)gain;
	/* Rounding must not make it more than it can be. */
	if (dcqcn->alpha_q30 > DCQCN_ONE_Q30)
		dcqcn->alpha_q30 = DCQCN_ONE_Q30;
}

/* Periods that have ended by a time, with the one that ends at due_ps. @param due_ps not after it */
static uint64_t periods(uint64_t due_ps, uint64_t until_ps, uint64_t period_ps)
{
	return (until_ps - due_ps) / period_ps + 1;
}

/* Ends of the alpha timer up to a time. */
static void alpha_advance(struct dcqcn *dcqcn, uint64_t until_ps)
{
	uint64_t period_ps = dcqcn->params->alpha_timer_ps;

	while (!time_after(dcqcn->alpha_due_ps, until_ps)) {
		uint32_t before = dcqcn->alpha_q30;
		bool cnp = dcqcn->cnp_in_alpha;

		alpha_update(dcqcn, cnp);
		dcqcn->cnp_in_alpha = false;
		dcqcn->alpha_due_ps += period_ps;
		if (cnp || dcqcn->alpha_q30 != before || time_after(dcqcn->alpha_due_ps, until_ps))
			continue;
		/* It has sunk as deep as it goes. */
		dcqcn->alpha_due_ps +=
			periods(dcqcn->alpha_due_ps, until_ps, period_ps) * period_ps;
	}
}

/* --- increase --- */

static void raise_rate(struct dcqcn *dcqcn)
{
	uint32_t timer = dcqcn->timer_stage, byte = dcqcn->byte_stage;
	uint32_t rounds = dcqcn->params->fast_recovery;

	if (dcqcn->params->byte_counter_bytes == 0)
		byte = timer - 1;
	if (timer > rounds && byte > rounds)
		dcqcn->target_bps += dcqcn->hyper_bps;
	else if (timer > rounds || byte > rounds)
		dcqcn->target_bps += dcqcn->additive_bps;
	if (dcqcn->target_bps > dcqcn->most_bps)
		dcqcn->target_bps = dcqcn->most_bps;
	dcqcn->cc.rate_bps = (dcqcn->cc.rate_bps + dcqcn->target_bps + 1) / 2;
	dcqcn->risen = true;
}

static void stage_add(uint32_t *stage, uint64_t count)
{
	*stage = count < UINT32_MAX - *stage ? *stage + (uint32_t)count : UINT32_MAX;
}

/* Ends of the increase timer up to a time. */
static void increase_advance(struct dcqcn *dcqcn, uint64_t until_ps)
{
	uint64_t period_ps = dcqcn->params->increase_timer_ps;

	while (!time_after(dcqcn->increase_due_ps, until_ps)) {
		uint64_t count = 1;

		/* At the top stages are all that changes. */
		if (dcqcn->cc.rate_bps == dcqcn->most_bps)
			count = periods(dcqcn->increase_due_ps, until_ps, period_ps);
		stage_add(&dcqcn->timer_stage, count);
		raise_rate(dcqcn);
		dcqcn->increase_due_ps += count * period_ps;
	}
}

/* --- decrease --- */

static void cut_rate(struct dcqcn *dcqcn, uint64_t now_ps)
{
	uint64_t rate_bps = dcqcn->cc.rate_bps;

	if (dcqcn->risen || dcqcn->params->clamp == DCQCN_CLAMP_ALWAYS)
		dcqcn->target_bps = rate_bps;
	/* rate * (1 - alpha / 2), rounded down */
	rate_bps = (uint64_t)((unsigned __int128)rate_bps *
				      (2 * (uint64_t)DCQCN_ONE_Q30 - dcqcn->alpha_q30) >>
			      31);
	dcqcn->cc.rate_bps = rate_bps > dcqcn->min_bps ? rate_bps : dcqcn->min_bps;
	dcqcn->risen = false;
	dcqcn->timer_stage = 0;
	dcqcn->byte_stage = 0;
	dcqcn->bytes = 0;
	dcqcn->increase_due_ps = now_ps + dcqcn->params->increase_timer_ps;
}

/* Of several ends at one time alpha comes first, then the increase, then the cut. */
static uint64_t dcqcn_advance(struct cc *cc, uint64_t now_ps)
{
	struct dcqcn *dcqcn = dcqcn_of(cc);
	uint64_t window_ps = dcqcn->params->cut_window_ps;

	if (!dcqcn->active)
		return now_ps + TIME_IDLE_PS;
	if (dcqcn->cnp_in_cut && !time_after(dcqcn->cut_due_ps, now_ps)) {
		alpha_advance(dcqcn, dcqcn->cut_due_ps);
		increase_advance(dcqcn, dcqcn->cut_due_ps);
		cut_rate(dcqcn, dcqcn->cut_due_ps);
		dcqcn->cnp_in_cut = false;
	}
	alpha_advance(dcqcn, now_ps);
	increase_advance(dcqcn, now_ps);
	/* Windows without a CNP end without a cut. */
	if (window_ps != 0 && !time_after(dcqcn->cut_due_ps, now_ps))
		dcqcn->cut_due_ps += periods(dcqcn->cut_due_ps, now_ps, window_ps) * window_ps;
	return cc->rate_bps == dcqcn->most_bps ? now_ps + TIME_IDLE_PS : dcqcn->increase_due_ps;
}

static void dcqcn_activate(struct dcqcn *dcqcn, uint64_t now_ps)
{
	dcqcn->active = true;
	dcqcn->alpha_due_ps = now_ps + dcqcn->params->alpha_timer_ps;
	dcqcn->cut_due_ps = now_ps + dcqcn->params->cut_window_ps;
	dcqcn->increase_due_ps = now_ps + dcqcn->params->increase_timer_ps;
}

static void dcqcn_cnp(struct cc *cc, uint64_t now_ps)
{
	struct dcqcn *dcqcn = dcqcn_of(cc);

	if (dcqcn->active)
		dcqcn_advance(cc, now_ps);
	else
		dcqcn_activate(dcqcn, now_ps);
	if (dcqcn->params->cut_window_ps != 0) {
		dcqcn->cnp_in_alpha = true;
		dcqcn->cnp_in_cut = true;
		return;
	}
	cut_rate(dcqcn, now_ps);
	alpha_update(dcqcn, true);
	dcqcn->alpha_due_ps = now_ps + dcqcn->params->alpha_timer_ps;
}

static uint64_t dcqcn_sent(struct cc *cc, uint32_t bytes, uint64_t now_ps)
{
	struct dcqcn *dcqcn = dcqcn_of(cc);
	uint64_t round_bytes = dcqcn->params->byte_counter_bytes;

	if (!dcqcn->active)
		return now_ps + TIME_IDLE_PS;
	dcqcn_advance(cc, now_ps);
	if (round_bytes != 0) {
		for (dcqcn->bytes += bytes; dcqcn->bytes >= round_bytes;
		     dcqcn->bytes -= round_bytes) {
			stage_add(&dcqcn->byte_stage, 1);
			raise_rate(dcqcn);
		}
	}
	return cc->rate_bps == dcqcn->most_bps ? now_ps + TIME_IDLE_PS : dcqcn->increase_due_ps;
}

void dcqcn_look(const struct cc *cc, struct dcqcn_view *view)
{
	const struct dcqcn *dcqcn = (const struct dcqcn *)cc;

	*view = (struct dcqcn_view){
		.rate_bps = cc->rate_bps,
		.target_bps = dcqcn->target_bps,
		.alpha_q30 = dcqcn->alpha_q30,
		.timer_stage = dcqcn->timer_stage,
		.byte_stage = dcqcn->byte_stage,
	};
}

const struct cc_ops cc_dcqcn = {
	.create = dcqcn_create,
	.cnp = dcqcn_cnp,
	.sent = dcqcn_sent,
	.advance = dcqcn_advance,
};
