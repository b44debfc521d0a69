/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/cc/cc.h"

#include <stdlib.h>

#define CC_OPS_(upper, lower, help) [CC_##upper] = &cc_##lower,
static const struct cc_ops *const algorithms[CC_COUNT] = {CC_ALGORITHMS(CC_OPS_)};

struct cc *cc_create(const struct cc_params *params, const struct cc_limits *limits)
{
	struct cc *cc = algorithms[params->kind]->create(params, limits);

	cc->ops = algorithms[params->kind];
	if (cc->window_bytes == 0)
		cc->window_bytes = UINT64_MAX;
	return cc;
}

void cc_free(struct cc *cc)
{
	free(cc);
}
