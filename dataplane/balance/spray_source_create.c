/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
#include "dataplane/balance/spray_source.h"

#include <stdlib.h>
#include <string.h>

#define FLOWS_MIN UINT32_C(64)
#define FLOWS_MAX (UINT32_C(1) << 24)

bool spray_source_init(struct spray_source *source, const struct spray_source_params *params)
{
	uint32_t flows = FLOWS_MIN;
	void *memory = NULL;

	while (flows < params->flows && flows < FLOWS_MAX)
		flows *= 2;
	*source = (struct spray_source){.mask = flows - 1, .params = *params};
	if (posix_memalign(&memory, 64, flows * sizeof(*source->flow)) != 0)
		return false;
	source->flow = memset(memory, 0, flows * sizeof(*source->flow));
	return true;
}

void spray_source_fini(struct spray_source *source)
{
	free(source->flow);
	source->flow = NULL;
}
