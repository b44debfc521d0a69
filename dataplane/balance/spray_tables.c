/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/* Memory of in-order spray; spray.h. */
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/spray.h"
#include "dataplane/internal.h"

/* A hole is looked after when it is as old as queues of some packets on one path make it. */
#define FENCE_FRAMES   32
#define FENCE_PS_MIN   (20 * PS_PER_US)
#define TIMEOUT_FRAMES 16384
#define TIMEOUT_PS_MAX (4 * PS_PER_MS)

static uint32_t power_of_two(uint32_t least, uint32_t most)
{
	uint32_t size = 64;

	while (size < least && size < most)
		size *= 2;
	return size;
}

static struct resequencer *create_resequencer(const struct leaf *leaf,
					      const struct snapshot *snapshot)
{
	const struct spray_table *table = &snapshot->spray;
	struct wire_rate rate = wire_rate_of(table->slowest_bps >= RATE_BPS_MIN ? table->slowest_bps
										: RATE_BPS_MIN);
	uint64_t frame_ps = wire_rate_time_ps(&rate, table->frame_bytes + WIRE_OVERHEAD_BYTES);
	struct resequencer_limits limits = {
		.flows = power_of_two(snapshot->balance.flows, RESEQUENCER_FLOWS_MAX),
		.peers = table->peer_count,
		.packets = table->hold_packets / leaf->worker_count,
		.bytes = table->hold_bytes / leaf->worker_count,
		.fence_ps = FENCE_FRAMES * frame_ps,
		.timeout_ps = TIMEOUT_FRAMES * frame_ps,
		.seed = leaf->seed,
	};

	if (limits.fence_ps < FENCE_PS_MIN)
		limits.fence_ps = FENCE_PS_MIN;
	if (limits.timeout_ps > TIMEOUT_PS_MAX)
		limits.timeout_ps = TIMEOUT_PS_MAX;
	if (limits.timeout_ps < limits.fence_ps)
		limits.timeout_ps = limits.fence_ps;
	if (limits.packets < 32)
		limits.packets = 32;
	if (limits.packets > 1u << 24)
		limits.packets = 1u << 24;
	return resequencer_create(&limits);
}

static bool create_leaf(const struct leaf *leaf, const struct snapshot *snapshot, uint16_t peer,
			struct spray_leaf *out)
{
	weights_init(&out->weights, snapshot->spray.peer[peer].count, snapshot->spray.frame_bytes);
	for (uint32_t u = 0; u < SPRAY_UPLINKS_MAX; u++)
		out->arrival[u] = PORT_NONE;
	out->member = calloc(leaf->ports, sizeof(*out->member));
	out->serial = calloc(WORKER_COUNT_MAX, sizeof(*out->serial));
	out->replay = calloc(WORKER_COUNT_MAX, sizeof(*out->replay));
	return out->member != NULL && out->serial != NULL && out->replay != NULL;
}

struct spray *spray_create(const struct leaf *leaf, const struct snapshot *snapshot)
{
	const struct spray_table *table = &snapshot->spray;
	const struct spray_source_params params = {
		.flows = snapshot->balance.flows,
		.promote_bytes = table->promote_bytes,
		.seed = leaf->seed ^ table->epoch,
		.retry_ps = SPRAY_RETRY_PS,
		.idle_ps = SPRAY_IDLE_PS,
		.bar_ps = SPRAY_BAR_PS,
		.release_ps = SPRAY_RELEASE_PS,
	};
	struct spray *spray = calloc(1, sizeof(*spray));
	bool complete;

	if (spray == NULL)
		return NULL;
	spray->secret = balance_secret_of(
		(struct siphash_key){table->key.k0 ^ leaf->seed, table->key.k1 ^ table->epoch});
	spray->leaf = aligned_alloc(64, table->peer_count * sizeof(*spray->leaf));
	if (spray->leaf == NULL) {
		free(spray);
		return NULL;
	}
	memset(spray->leaf, 0, table->peer_count * sizeof(*spray->leaf));
	spray->leaves = table->peer_count;
	complete = spray_source_init(&spray->source, &params);
	for (uint16_t i = 0; i < spray->leaves; i++)
		complete = create_leaf(leaf, snapshot, i, &spray->leaf[i]) && complete;
	spray->resequencer = create_resequencer(leaf, snapshot);
	if (complete && spray->resequencer != NULL) {
		spray->asked = calloc(spray->source.mask + 1u, sizeof(*spray->asked));
		spray->agreed = calloc(spray->resequencer->limits.flows, sizeof(*spray->agreed));
	}
	if (spray->asked == NULL || spray->agreed == NULL) {
		spray_free(spray);
		return NULL;
	}
	return spray;
}

void spray_free(struct spray *spray)
{
	if (spray == NULL)
		return;
	for (uint16_t i = 0; i < spray->leaves; i++) {
		free(spray->leaf[i].member);
		free(spray->leaf[i].serial);
		free(spray->leaf[i].replay);
	}
	free(spray->leaf);
	free(spray->asked);
	free(spray->agreed);
	resequencer_free(spray->resequencer);
	spray_source_fini(&spray->source);
	free(spray);
}
