/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory of a resequencer. layer: control side */
#include "dataplane/balance/resequencer_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

static uint32_t power_of_two(uint32_t least)
{
	uint32_t size = 1;

	while (size < least)
		size *= 2;
	return size;
}

static void begin_tables(struct resequencer *r, uint32_t held)
{
	struct resequencer_tables *t = r->tables;
	uint32_t flows = r->limits.flows;

	for (uint32_t i = 0; i < flows; i++)
		r->flow[i].ready = i + 1 == flows ? NONE : i + 1;
	/* Behind the flows: the rings' own nodes. */
	for (uint32_t i = 0; i < flows + PRIORITY_COUNT * STAGES; i++)
		r->flow[i].older = r->flow[i].newer = i;
	for (uint32_t i = 0; i < held; i++)
		t->held[i].chain = i + 1 == held ? NONE : i + 1;
	memset(t->bucket, 0xff, (t->bucket_mask + 1) * sizeof(*t->bucket));
	t->ready_first = t->ready_last = NONE;
}

struct resequencer *resequencer_create(const struct resequencer_limits *limits)
{
	uint32_t flows = limits->flows, held = limits->packets + SLACK;
	struct resequencer *r;
	struct resequencer_tables *t;

	if (flows < 64 || flows > RESEQUENCER_FLOWS_MAX || (flows & (flows - 1)) != 0 ||
	    limits->peers < 1 || limits->peers > UINT16_MAX || limits->packets < 32 ||
	    limits->packets > 1u << 24 || limits->bytes == 0 || limits->fence_ps == 0 ||
	    limits->timeout_ps < limits->fence_ps || limits->timeout_ps > PS_PER_S) {
		rte_errno = EINVAL;
		return NULL;
	}
	r = calloc(1, sizeof(*r));
	t = calloc(1, sizeof(*t));
	if (r == NULL || t == NULL) {
		free(r);
		free(t);
		rte_errno = ENOMEM;
		return NULL;
	}
	r->limits = *limits;
	r->next_ps = 0;
	r->tables = t;
	t->index_mask = 2 * flows - 1;
	t->bucket_mask = power_of_two(held) - 1;
	r->flow = aligned_alloc(64, (flows + PRIORITY_COUNT * STAGES) * sizeof(*r->flow));
	r->peer = calloc(limits->peers, sizeof(*r->peer));
	t->index = calloc(t->index_mask + 1, sizeof(*t->index));
	t->bucket = calloc(t->bucket_mask + 1, sizeof(*t->bucket));
	t->held = calloc(held, sizeof(*t->held));
	t->epoch = calloc(flows, sizeof(*t->epoch));
	t->first = calloc(flows, sizeof(*t->first));
	t->worker = calloc(flows, sizeof(*t->worker));
	t->used = calloc(flows, sizeof(*t->used));
	if (r->flow == NULL || r->peer == NULL || t->index == NULL || t->bucket == NULL ||
	    t->held == NULL || t->epoch == NULL || t->first == NULL || t->worker == NULL ||
	    t->used == NULL) {
		resequencer_free(r);
		rte_errno = ENOMEM;
		return NULL;
	}
	memset(r->flow, 0, (flows + PRIORITY_COUNT * STAGES) * sizeof(*r->flow));
	begin_tables(r, held);
	return r;
}

void resequencer_free(struct resequencer *resequencer)
{
	struct resequencer_tables *t;

	if (resequencer == NULL)
		return;
	t = resequencer->tables;
	free(t->index);
	free(t->bucket);
	free(t->held);
	free(t->epoch);
	free(t->first);
	free(t->worker);
	free(t->used);
	free(t);
	free(resequencer->flow);
	free(resequencer->peer);
	free(resequencer);
}
