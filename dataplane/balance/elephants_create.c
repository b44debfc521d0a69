/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
#include "dataplane/balance/elephants.h"

#include <stdlib.h>
#include <string.h>

#define FLOWS_MIN UINT32_C(64)
#define FLOWS_MAX (UINT32_C(1) << 24)

bool elephants_init(struct elephants *elephants, const struct elephants_params *params)
{
	uint32_t flows = FLOWS_MIN;
	void *memory = NULL;

	while (flows < params->flows && flows < FLOWS_MAX)
		flows *= 2;
	*elephants = (struct elephants){
		.mask = flows - 1,
		.late = params->late,
		.params = *params,
	};
	if (posix_memalign(&memory, 64, flows * sizeof(*elephants->flow)) != 0)
		return false;
	elephants->flow = memset(memory, 0, flows * sizeof(*elephants->flow));
	return true;
}

void elephants_fini(struct elephants *elephants)
{
	free(elephants->flow);
	elephants->flow = NULL;
}
