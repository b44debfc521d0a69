/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/* Memory of the modes; balance.h. */
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/adaptive.h"
#include "dataplane/balance/balance.h"
#include "dataplane/balance/flowlet.h"
#include "dataplane/balance/spray.h"
#include "dataplane/balance/spray_unordered.h"
#include "dataplane/internal.h"

static bool uses_mode(const struct snapshot *snapshot, enum balance_mode mode)
{
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if (snapshot->class[p].balance == mode)
			return true;
	for (uint32_t i = 0; i < snapshot->group_count; i++)
		if (snapshot->group[i].balanced != 0 && snapshot->group[i].mode == mode)
			return true;
	return false;
}

struct flowlet_table *flowlet_table_create(uint32_t entries)
{
	struct flowlet_table *table;
	uint32_t size = 1;

	while (size < entries && size < UINT32_C(1) << 31)
		size *= 2;
	table = calloc(1, sizeof(*table) + (size_t)size * sizeof(table->entry[0]));
	if (table != NULL)
		table->mask = size - 1;
	return table;
}

/* A worker sees a table when it is complete. */
static int prepare_flowlets(struct balance_state *balance, const struct leaf *leaf,
			    uint32_t entries)
{
	struct flowlet_table *table;

	if (atomic_load_explicit(&balance->flowlets, memory_order_relaxed) != NULL)
		return 0;
	if (balance->quality == NULL)
		balance->quality =
			calloc((size_t)leaf->ports * PRIORITY_COUNT, sizeof(*balance->quality));
	table = balance->quality == NULL ? NULL : flowlet_table_create(entries);
	atomic_store_explicit(&balance->flowlets, table, memory_order_release);
	return table == NULL ? -ENOMEM : 0;
}

static int prepare_turns(struct balance_state *balance)
{
	struct spray_turns *turns;

	if (atomic_load_explicit(&balance->turns, memory_order_relaxed) != NULL)
		return 0;
	turns = calloc(1, sizeof(*turns));
	atomic_store_explicit(&balance->turns, turns, memory_order_release);
	return turns == NULL ? -ENOMEM : 0;
}

static int prepare_spray(struct balance_state *balance, const struct leaf *leaf,
			 const struct snapshot *snapshot)
{
	struct spray *spray;

	if (atomic_load_explicit(&balance->spray, memory_order_relaxed) != NULL)
		return 0;
	spray = spray_create(leaf, snapshot);
	atomic_store_explicit(&balance->spray, spray, memory_order_release);
	return spray == NULL ? -ENOMEM : 0;
}

static bool spreads(const struct snapshot *snapshot)
{
	for (uint32_t i = 0; i < snapshot->group_count; i++)
		if (snapshot->group[i].balanced != 0 || snapshot->group[i].count > 1)
			return true;
	return false;
}

static int prepare_sketch(struct worker *worker)
{
	struct balance_state *balance = &worker->balance;
	struct sketch *sketch;

	if (atomic_load_explicit(&balance->sketch, memory_order_relaxed) != NULL)
		return 0;
	sketch = sketch_create(worker->leaf->ports,
			       (worker->id + 1u) * UINT64_C(0x9E3779B97F4A7C15));
	atomic_store_explicit(&balance->sketch, sketch, memory_order_release);
	return sketch == NULL ? -ENOMEM : 0;
}

static int prepare_adaptive(struct balance_state *balance, const struct leaf *leaf,
			    const struct snapshot *snapshot)
{
	struct adaptive *adaptive;

	if (atomic_load_explicit(&balance->adaptive, memory_order_relaxed) != NULL)
		return 0;
	adaptive = adaptive_create(leaf, snapshot);
	atomic_store_explicit(&balance->adaptive, adaptive, memory_order_release);
	return adaptive == NULL ? -ENOMEM : 0;
}

int balance_prepare(struct leaf *leaf, const struct snapshot *snapshot)
{
	bool flowlets =
		uses_mode(snapshot, BALANCE_FLOWLET) || uses_mode(snapshot, BALANCE_ADAPTIVE);
	bool turns = uses_mode(snapshot, BALANCE_SPRAY_UNORDERED);
	bool sketches = spreads(snapshot);
	bool adaptive = uses_mode(snapshot, BALANCE_ADAPTIVE) && snapshot->spray.peer_count != 0;
	int rc = 0;

	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		struct balance_state *balance = &leaf->worker[i]->balance;

		if (flowlets && prepare_flowlets(balance, leaf, snapshot->balance.flows) != 0)
			rc = -ENOMEM;
		if (sketches && prepare_sketch(leaf->worker[i]) != 0)
			rc = -ENOMEM;
		if (turns && prepare_turns(balance) != 0)
			rc = -ENOMEM;
		if (adaptive && prepare_adaptive(balance, leaf, snapshot) != 0)
			rc = -ENOMEM;
		if (snapshot->spray.peer_count != 0 && prepare_spray(balance, leaf, snapshot) != 0)
			rc = -ENOMEM;
	}
	return rc;
}

void balance_free(struct worker *worker)
{
	free(atomic_load_explicit(&worker->balance.flowlets, memory_order_relaxed));
	free(atomic_load_explicit(&worker->balance.turns, memory_order_relaxed));
	free(worker->balance.quality);
	sketch_free(atomic_load_explicit(&worker->balance.sketch, memory_order_relaxed));
	spray_free(worker_spray(worker));
	adaptive_free(balance_adaptive(worker));
}

uint64_t balance_held_packets(const struct worker *worker)
{
	const struct spray *spray = worker_spray(worker);

	return spray == NULL ? 0 : counter_get(&spray->resequencer->counters.held_packets);
}
