/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/* leaf_flows - the sketches of all workers as one (leaf.h). */
#include <stdlib.h>
#include <string.h>

#include "dataplane/internal.h"
#include "dataplane/leaf.h"

/* A window that ended longer ago isn't what happens now. */
#define FLOWS_AGE_PS_MAX (2 * SKETCH_WINDOW_PS)

/* The writer needs a window's time to overtake a reader; one who was overtaken looks again. */
#define FLOWS_READS_MAX 3

static const struct sketch *sketch_of(const struct leaf *leaf, uint16_t worker)
{
	return atomic_load_explicit(&leaf->worker[worker]->balance.sketch, memory_order_acquire);
}

static bool read_recent(const struct sketch *sketch, uint64_t now_ps, struct sketch_look *look,
			uint64_t *port_bytes)
{
	for (uint32_t reads = 0; sketch != NULL && reads < FLOWS_READS_MAX; reads++)
		if (sketch_read(sketch, look, port_bytes))
			return time_after(look->end_ps, now_ps) ||
			       now_ps - look->end_ps < FLOWS_AGE_PS_MAX;
	return false;
}

/* Bytes of a window as bytes in a second. */
static uint64_t in_a_second(const struct sketch_look *look, uint64_t bytes)
{
	uint64_t window_ps = look->end_ps - look->start_ps;

	return window_ps == 0 ? 0 : (uint64_t)((unsigned __int128)bytes * PS_PER_S / window_ps);
}

/* A flow may have come to several workers. */
static struct sketch_flow *flow_of(struct leaf_flows *flows, const struct sketch_flow *wanted)
{
	struct sketch_flow *flow = flows->flow;

	for (; flow != flows->flow + flows->count; flow++)
		if (memcmp(&flow->key, &wanted->key, sizeof(flow->key)) == 0) {
			if (flow->egress != wanted->egress)
				flow->egress = SKETCH_EGRESS_SEVERAL;
			return flow;
		}
	flows->count++;
	*flow = *wanted;
	flow->bytes = flow->over_bytes = 0;
	return flow;
}

static int compare_flows(const void *a, const void *b)
{
	const struct sketch_flow *one = a, *other = b;

	if (one->bytes != other->bytes)
		return one->bytes > other->bytes ? -1 : 1;
	return memcmp(&one->key, &other->key, sizeof(one->key));
}

void leaf_flows(const struct leaf *leaf, uint64_t now_ps, struct leaf_flows *flows,
		uint64_t *port_bytes)
{
	uint64_t window_bytes[PORT_COUNT_MAX];
	struct sketch_look look;

	flows->bytes = 0;
	flows->count = 0;
	for (uint16_t port = 0; port_bytes != NULL && port < leaf->ports; port++)
		port_bytes[port] = 0;
	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		if (!read_recent(sketch_of(leaf, i), now_ps, &look, window_bytes))
			continue;
		flows->bytes += in_a_second(&look, look.bytes);
		for (uint16_t port = 0; port_bytes != NULL && port < leaf->ports; port++)
			port_bytes[port] += in_a_second(&look, window_bytes[port]);
		for (uint32_t f = 0; f < look.count; f++) {
			struct sketch_flow *flow = flow_of(flows, &look.flow[f]);

			flow->bytes += in_a_second(&look, look.flow[f].bytes);
			flow->over_bytes += in_a_second(&look, look.flow[f].over_bytes);
		}
	}
	qsort(flows->flow, flows->count, sizeof(flows->flow[0]), compare_flows);
}

uint8_t leaf_quality_band(const struct leaf *leaf, uint16_t port)
{
	uint8_t worst = 0;

	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct balance_state *balance = &leaf->worker[i]->balance;

		/* Who sees the table sees what was made before it. */
		if (atomic_load_explicit(&balance->flowlets, memory_order_acquire) == NULL)
			continue;
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			uint8_t band =
				atomic_load_explicit(&balance->quality[p * leaf->ports + port].band,
						     memory_order_relaxed);

			worst = band > worst ? band : worst;
		}
	}
	return worst;
}

uint64_t leaf_spread_bytes(const struct leaf *leaf, uint16_t port)
{
	uint64_t sum = 0;

	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		const struct sketch *sketch = sketch_of(leaf, i);

		sum += sketch == NULL ? 0 : sketch_port_bytes(sketch, port);
	}
	return sum;
}
