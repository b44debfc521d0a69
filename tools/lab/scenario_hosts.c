/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of hosts, and what they mean together.
 */
#include "tools/lab/scenario.h"

#include <inttypes.h>

#include "tools/lab/frame.h"

static const struct schema_word preset_words[] = {
	{"nvidia", DCQCN_NVIDIA, "defaults of ConnectX NICs"},
	{"hpcc", DCQCN_HPCC, "the HPCC artifact's simulator; increases scale with the link"},
	{"paper", DCQCN_PAPER, "SIGCOMM 2015"},
	{0},
};

static const struct schema_word clamp_words[] = {
	{"after_increase", DCQCN_CLAMP_AFTER_INCREASE, "only if the rate rose since the last cut"},
	{"always", DCQCN_CLAMP_ALWAYS, "every time"},
	{0},
};

#define BY_PRESET .fallback_help = "the preset's"

static const struct schema_row dcqcn_rows[] = {
	{"preset", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_dcqcn, preset), .words = preset_words,
	 .fallback = "nvidia", .help = "All of the values below that aren't given."},
	{"g", SCHEMA_RATIO, SCHEMA_FIELD(struct scenario_dcqcn, g), .min = 1, .max = 1000000,
	 BY_PRESET, .help = "Gain of alpha: what one CNP weighs."},
	{"initial_alpha", SCHEMA_RATIO, SCHEMA_FIELD(struct scenario_dcqcn, initial_alpha),
	 .max = 1000000, BY_PRESET, .help = "Alpha at the first CNP."},
	{"alpha_timer", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_dcqcn, values.alpha_timer_ps),
	 .min = DCQCN_TIME_PS_MIN, .max = PS_PER_S, BY_PRESET,
	 .help = "Alpha sinks after each such time without a CNP."},
	{"cut_window", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_dcqcn, values.cut_window_ps),
	 SCHEMA_GIVEN(struct scenario_dcqcn, cut_window_given), .max = PS_PER_S, BY_PRESET,
	 .help = "Rates are cut at the end of each such time in which a CNP came; 0: at every CNP."},
	{"cnp_interval", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_dcqcn, values.cnp_interval_ps),
	 SCHEMA_GIVEN(struct scenario_dcqcn, cnp_interval_given), .max = PS_PER_S, BY_PRESET,
	 .help = "Receivers send at most one CNP per flow in this time; 0: one for each mark."},
	{"increase_timer", SCHEMA_TIME,
	 SCHEMA_FIELD(struct scenario_dcqcn, values.increase_timer_ps), .min = DCQCN_TIME_PS_MIN,
	 .max = PS_PER_S, BY_PRESET, .help = "Time between two increases."},
	{"byte_counter", SCHEMA_SIZE,
	 SCHEMA_FIELD(struct scenario_dcqcn, values.byte_counter_bytes),
	 SCHEMA_GIVEN(struct scenario_dcqcn, byte_counter_given), .max = UINT64_C(1) << 40,
	 BY_PRESET, .help = "Bytes sent between two increases; 0: the timer alone counts."},
	{"fast_recovery", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_dcqcn, values.fast_recovery),
	 .unit = "rounds", .min = 1, .max = 1000, BY_PRESET,
	 .help = "Increases towards the rate before the cut; further ones go beyond it."},
	{"additive", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_dcqcn, values.additive_bps),
	 .min = 1, .max = RATE_BPS_MAX, BY_PRESET,
	 .help = "Additive increase: a rate, or a share of the link's."},
	{"additive", SCHEMA_SHARE, SCHEMA_FIELD(struct scenario_dcqcn, values.additive_ppm),
	 .min = 1},
	{"hyper", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_dcqcn, values.hyper_bps), .min = 1,
	 .max = RATE_BPS_MAX, BY_PRESET, .help = "Hyper increase, likewise."},
	{"hyper", SCHEMA_SHARE, SCHEMA_FIELD(struct scenario_dcqcn, values.hyper_ppm), .min = 1},
	{"min_rate", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_dcqcn, values.min_rate_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, BY_PRESET, .help = "Cuts stop here."},
	{"clamp", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_dcqcn, values.clamp),
	 SCHEMA_GIVEN(struct scenario_dcqcn, clamp_given), .words = clamp_words, BY_PRESET,
	 .help = "When a cut makes the rate before it the target."},
	{0},
};

static void check_dcqcn(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_dcqcn *dcqcn = out;
	uint64_t window_ps = dcqcn->values.cut_window_ps;

	if (window_ps != 0 && window_ps < DCQCN_TIME_PS_MIN)
		schema_fail(document, schema_child(node, "cut_window"),
			    "cut_window %" PRIu64 " ps is shorter than %" PRIu64
			    " ns: 0 cuts at every CNP",
			    window_ps, DCQCN_TIME_PS_MIN / PS_PER_NS);
}

static const struct schema_table dcqcn_table = {
	"dcqcn",
	dcqcn_rows,
	.help = "Parameters of `cc: dcqcn`.",
	.check = check_dcqcn,
};

#define CC_WORD_(upper, lower, help) {#lower, CC_##upper, help},
static const struct schema_word cc_words[] = {CC_ALGORITHMS(CC_WORD_){0}};

static const struct schema_row hosts_rows[] = {
	{"mtu", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_hosts, mtu_bytes), .min = 64,
	 .max = MTU_BYTES_MAX - FRAME_MTU_EXTRA_BYTES, .fallback = "4096",
	 .help = "RDMA MTU: payload of a packet at most. The ports' MTU is 104 bytes more."},
	{"cc", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_hosts, cc.kind), .words = cc_words,
	 .fallback = "none", .help = "Congestion control."},
	{"dcqcn", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_hosts, dcqcn), .table = &dcqcn_table,
	 .help = "Parameters of `cc: dcqcn`."},
	{"cnp_dscp", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_hosts, cnp_dscp), .max = 63,
	 .fallback = "48", .help = "DSCP of congestion notification packets."},
	{0},
};

const struct schema_table scenario_hosts_table = {"hosts", hosts_rows, .help = "All hosts."};

static uint32_t ratio_q30(const struct schema_ratio *ratio)
{
	uint64_t scaled = (uint64_t)ratio->numerator * DCQCN_ONE_Q30;
	uint64_t value = (scaled + ratio->denominator / 2) / ratio->denominator;

	return value == 0 && ratio->numerator != 0 ? 1 : (uint32_t)value;
}

/* What was given stands; the rest is the preset's. */
static void complete_dcqcn(struct scenario_dcqcn *dcqcn, struct dcqcn_params *params)
{
	const struct dcqcn_params *given = &dcqcn->values;

	*params = *dcqcn_preset(dcqcn->preset);
	if (dcqcn->g.denominator != 0)
		params->gain_q30 = ratio_q30(&dcqcn->g);
	if (dcqcn->initial_alpha.denominator != 0)
		params->initial_alpha_q30 = ratio_q30(&dcqcn->initial_alpha);
	if (given->alpha_timer_ps != 0)
		params->alpha_timer_ps = given->alpha_timer_ps;
	if (dcqcn->cut_window_given)
		params->cut_window_ps = given->cut_window_ps;
	if (dcqcn->cnp_interval_given)
		params->cnp_interval_ps = given->cnp_interval_ps;
	if (given->increase_timer_ps != 0)
		params->increase_timer_ps = given->increase_timer_ps;
	if (dcqcn->byte_counter_given)
		params->byte_counter_bytes = given->byte_counter_bytes;
	if (given->fast_recovery != 0)
		params->fast_recovery = given->fast_recovery;
	if (given->additive_bps != 0 || given->additive_ppm != 0) {
		params->additive_bps = given->additive_bps;
		params->additive_ppm = given->additive_ppm;
	}
	if (given->hyper_bps != 0 || given->hyper_ppm != 0) {
		params->hyper_bps = given->hyper_bps;
		params->hyper_ppm = given->hyper_ppm;
	}
	if (given->min_rate_bps != 0)
		params->min_rate_bps = given->min_rate_bps;
	if (dcqcn->clamp_given)
		params->clamp = given->clamp;
}

void scenario_complete_hosts(struct scenario_hosts *hosts)
{
	complete_dcqcn(&hosts->dcqcn, &hosts->cc.dcqcn);
}
