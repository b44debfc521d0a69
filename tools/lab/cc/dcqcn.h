/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * dcqcn - the reaction point of DCQCN (Zhu et al., "Congestion Control for Large-Scale RDMA Deployments",
 * SIGCOMM 2015, section 5.1 and figure 7), with the parameters of NICs that have it.
 *
 * A flow begins at its full rate and stays there until its first CNP. From then on it has a rate R, a
 * target T, and an estimate alpha of how congested its path is.
 *
 *	cut        T = R (see clamp)
 *	           R = R * (1 - alpha / 2), at least min_rate
 *	           stages and counters of the increase begin again
 *	alpha      alpha = (1 - g) * alpha + g    when there was a CNP
 *	           alpha = (1 - g) * alpha        for each alpha_timer without one
 *	increase   each increase_timer, and each byte_counter bytes sent, the stage of that counter goes
 *	           up by one, and then
 *	             both stages above F           T = T + hyper        hyper increase
 *	             one of them above F           T = T + additive     additive increase
 *	             none (fast recovery)          T stays
 *	           R = (R + T) / 2; T is at most the flow's full rate
 *
 * Without a byte counter the timer's own stage counts for both, one stage later for hyper increase: F rounds
 * of fast recovery, one additive increase, and hyper increases from then on.
 *
 * When rates are cut: cut_window 0 is the paper. Every CNP cuts, alpha is updated at every CNP, and a CNP
 * starts the alpha timer again. With a window, alpha and rate have clocks of their own, which the first CNP
 * starts and nothing stops: each alpha_timer alpha is updated by whether a CNP has come in that time, and
 * each cut_window ends with a cut if one has (so the first cut comes one window after the first CNP).
 * That is how NICs limit cuts to one in a monitoring period.
 *
 * Presets: `nvidia`, the defaults of ConnectX NICs (DOCA DCQCN parameters, mlxconfig); `hpcc`, those of the
 * HPCC artifact's simulator, whose increases scale with the link; `paper`, section 5.2 and 6 of
 * the paper, which names no least rate: one additive step here.
 *
 * Arithmetic: alpha and g are fixed point with 30 bits after the point, rounded to nearest at each update; R and
 * T are whole bits per second, cuts are rounded down and increases up.
 *
 * Thread: the lab's. An update costs some ten nanoseconds, whatever time has passed.
 */
#ifndef LAB_CC_DCQCN_H
#define LAB_CC_DCQCN_H

#include <stdint.h>

#define DCQCN_ONE_Q30 (UINT32_C(1) << 30)

/* Below this, clocks would cost more than they tell. */
#define DCQCN_TIME_PS_MIN UINT64_C(100000)

enum dcqcn_preset { DCQCN_NVIDIA, DCQCN_HPCC, DCQCN_PAPER, DCQCN_PRESETS };

enum dcqcn_clamp {
	DCQCN_CLAMP_AFTER_INCREASE, /* a cut sets the target only if the rate rose since the last */
	DCQCN_CLAMP_ALWAYS,
};

struct dcqcn_params {
	uint32_t gain_q30;           /* g; above 0, at most one */
	uint32_t initial_alpha_q30;  /* at most one */
	uint64_t alpha_timer_ps;     /* >= DCQCN_TIME_PS_MIN */
	uint64_t cut_window_ps;      /* 0, or >= DCQCN_TIME_PS_MIN */
	uint64_t cnp_interval_ps;    /* of the receiver: between two CNPs of a flow; 0: none */
	uint64_t increase_timer_ps;  /* >= DCQCN_TIME_PS_MIN */
	uint64_t byte_counter_bytes; /* of frames; 0: no byte counter */
	uint32_t fast_recovery;      /* F, rounds */
	/* Steps: a rate, or if that is 0 a share of the link's. */
	uint64_t additive_bps, hyper_bps;
	uint32_t additive_ppm, hyper_ppm;
	uint64_t min_rate_bps; /* >= RATE_BPS_MIN */
	enum dcqcn_clamp clamp;
};

/** The values of a preset. */
const struct dcqcn_params *dcqcn_preset(enum dcqcn_preset preset);

/* What tests and reports look at. */
struct dcqcn_view {
	uint64_t rate_bps, target_bps;
	uint32_t alpha_q30;
	uint32_t timer_stage, byte_stage;
};

struct cc;

/** State as of the last call of the controller. @param cc one of cc_dcqcn */
void dcqcn_look(const struct cc *cc, struct dcqcn_view *view);

#endif
