/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * DCTCP's window (RFC 8257) for queue pairs: what may be outstanding shrinks by the share of bytes that came
 * marked.
 *
 *	alpha    after each window of bytes that were acknowledged:
 *	         alpha = (1 - g) * alpha + g * F, F the share of them that was marked (3.3)
 *	cut      at the first mark of a window: W = W * (1 - alpha / 2), at least two packets
 *	grow     without a mark: W = W + acknowledged until the first cut, then one packet per window
 *
 * The first window is what the link sends in INITIAL_PS, ten packets at least. Alpha begins at one. Marks
 * ride on acknowledgements; one of several packets counts as marked when one of them was, so that
 * `ack_every: 1` is exact.
 */
#include "dataplane/units.h"
#include "tools/lab/allocate.h"
#include "tools/lab/cc/cc.h"

#define ONE_Q30          (UINT32_C(1) << 30)
#define INITIAL_PS       (10 * PS_PER_US)
#define INITIAL_PACKETS  10
#define LEAST_PACKETS    2
#define WINDOW_BYTES_MAX (UINT64_C(1) << 32)

struct dctcp {
	struct cc cc;
	uint32_t gain_q30, alpha_q30;
	uint32_t payload_bytes;
	bool was_cut; /* since the start */
	bool cut;     /* in this window */
	uint64_t round_bytes, round_acked_bytes, round_marked_bytes;
	uint64_t growth_bytes; /* acknowledged since the window last grew */
};

static struct cc *dctcp_create(const struct cc_params *params, const struct cc_limits *limits)
{
	struct dctcp *dctcp = allocate(sizeof(*dctcp));
	uint64_t first_bytes = limits->most_bps / 8 / (PS_PER_S / INITIAL_PS);

	dctcp->cc.rate_bps = limits->most_bps;
	dctcp->gain_q30 = params->dctcp.gain_q30;
	dctcp->alpha_q30 = ONE_Q30;
	dctcp->payload_bytes = limits->payload_bytes;
	if (first_bytes < INITIAL_PACKETS * (uint64_t)limits->payload_bytes)
		first_bytes = INITIAL_PACKETS * (uint64_t)limits->payload_bytes;
	dctcp->cc.window_bytes = first_bytes;
	dctcp->round_bytes = first_bytes;
	return &dctcp->cc;
}

/* A window of bytes was acknowledged. */
static void dctcp_round(struct dctcp *dctcp)
{
	uint64_t marked_q30 = (uint64_t)((unsigned __int128)dctcp->round_marked_bytes * ONE_Q30 /
					 dctcp->round_acked_bytes);
	uint64_t kept = (uint64_t)dctcp->alpha_q30 * (ONE_Q30 - dctcp->gain_q30);

	dctcp->alpha_q30 = (uint32_t)((kept + marked_q30 * dctcp->gain_q30) >> 30);
	dctcp->round_bytes = dctcp->cc.window_bytes;
	dctcp->round_acked_bytes = 0;
	dctcp->round_marked_bytes = 0;
	dctcp->cut = false;
}

static void dctcp_cut(struct dctcp *dctcp)
{
	uint64_t least_bytes = LEAST_PACKETS * (uint64_t)dctcp->payload_bytes;
	uint64_t window_bytes = (uint64_t)((unsigned __int128)dctcp->cc.window_bytes *
						   (2 * (uint64_t)ONE_Q30 - dctcp->alpha_q30) >>
					   31);

	dctcp->cc.window_bytes = window_bytes > least_bytes ? window_bytes : least_bytes;
	dctcp->cut = true;
	dctcp->was_cut = true;
	dctcp->growth_bytes = 0;
}

static void dctcp_grow(struct dctcp *dctcp, uint64_t bytes)
{
	struct cc *cc = &dctcp->cc;

	dctcp->growth_bytes += bytes;
	if (!dctcp->was_cut) {
		cc->window_bytes += bytes;
	} else if (dctcp->growth_bytes >= cc->window_bytes) {
		dctcp->growth_bytes -= cc->window_bytes;
		cc->window_bytes += dctcp->payload_bytes;
	}
	if (cc->window_bytes > WINDOW_BYTES_MAX)
		cc->window_bytes = WINDOW_BYTES_MAX;
}

static void dctcp_acked(struct cc *cc, uint64_t bytes, bool marked, uint64_t now_ps)
{
	struct dctcp *dctcp = (struct dctcp *)cc;

	(void)now_ps;
	dctcp->round_acked_bytes += bytes;
	if (marked)
		dctcp->round_marked_bytes += bytes;
	if (marked && !dctcp->cut)
		dctcp_cut(dctcp);
	else if (!marked)
		dctcp_grow(dctcp, bytes);
	if (dctcp->round_acked_bytes >= dctcp->round_bytes)
		dctcp_round(dctcp);
}

const struct cc_ops cc_dctcp = {.create = dctcp_create, .acked = dctcp_acked};
