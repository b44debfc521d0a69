/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * No congestion control: a flow sends at its own rate and stops for nothing but pauses.
 */
#include "tools/lab/allocate.h"
#include "tools/lab/cc/cc.h"

static struct cc *none_create(const struct cc_params *params, const struct cc_limits *limits)
{
	struct cc *cc = allocate(sizeof(*cc));

	(void)params;
	cc->rate_bps = limits->most_bps;
	return cc;
}

const struct cc_ops cc_none = {.create = none_create};
