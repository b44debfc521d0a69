/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/* Memory of safe moves; adaptive.h. */
#include <stdlib.h>

#include "dataplane/balance/adaptive.h"
#include "dataplane/internal.h"

struct adaptive *adaptive_create(const struct leaf *leaf, const struct snapshot *snapshot)
{
	const struct spray_table *table = &snapshot->spray;
	struct adaptive *adaptive = calloc(1, sizeof(*adaptive));
	const struct elephants_params flows = {
		.flows = snapshot->balance.flows,
		.active_bytes = (uint32_t)(table->slowest_bps / 8 /
					   (PS_PER_S / ADAPTIVE_WINDOW_PS) / ADAPTIVE_SHARE),
		.window_ps = ADAPTIVE_WINDOW_PS,
		.fade_windows = ADAPTIVE_FADE_WINDOWS,
		.idle_ps = ADAPTIVE_IDLE_PS,
		.late = atomic_load_explicit(&leaf->snapshot, memory_order_relaxed) != NULL,
		.seed = leaf->seed ^ table->epoch,
	};
	const struct safe_move_params moves = {
		.peers = table->peer_count,
		.ports = leaf->ports,
		.seed = leaf->seed ^ table->epoch,
		.cool_min_ps = ADAPTIVE_COOL_MIN_PS,
		.cool_max_ps = ADAPTIVE_COOL_MAX_PS,
		.cost_ps = ADAPTIVE_COST_PS,
		.timeout_ps = ADAPTIVE_TIMEOUT_PS,
		.fresh_ps = ADAPTIVE_FRESH_PS * leaf->worker_count,
	};

	if (adaptive == NULL)
		return NULL;
	adaptive->said = calloc(table->peer_count, sizeof(*adaptive->said));
	adaptive->placed = calloc(table->peer_count, sizeof(*adaptive->placed));
	adaptive->arriving = calloc(leaf->ports, sizeof(*adaptive->arriving));
	if (elephants_init(&adaptive->elephants, &flows) && safe_move_init(&adaptive->move, &moves))
		adaptive->name = calloc(adaptive->elephants.mask + 1u, sizeof(*adaptive->name));
	if (adaptive->name == NULL || adaptive->said == NULL || adaptive->placed == NULL ||
	    adaptive->arriving == NULL) {
		adaptive_free(adaptive);
		return NULL;
	}
	return adaptive;
}

void adaptive_free(struct adaptive *adaptive)
{
	if (adaptive == NULL)
		return;
	free(adaptive->name);
	free(adaptive->said);
	free(adaptive->placed);
	free(adaptive->arriving);
	elephants_fini(&adaptive->elephants);
	safe_move_fini(&adaptive->move);
	free(adaptive);
}
