/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/balance.h"

#include "dataplane/balance/hash.h"
#include "dataplane/internal.h"

uint32_t balance_choose(struct worker *worker, const struct group *group,
			const struct parsed *parsed, const uint8_t *ip, uint8_t priority)
{
	(void)priority;
	return balance_hash_member(worker->snapshot, group, parsed, ip);
}
