/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/* Memory and readers of sketch.h. */
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/sketch_internal.h"

struct sketch *sketch_create(uint16_t ports, uint64_t seed)
{
	struct sketch *sketch =
		calloc(1, sizeof(*sketch) + (size_t)3 * ports * sizeof(sketch->room[0]));

	if (sketch == NULL)
		return NULL;
	sketch->ports = ports;
	sketch->random = seed | 1; /* xorshift never leaves 0 */
	sketch->sent_bytes = sketch->room;
	sketch->window[0].port_bytes = sketch->room + ports;
	sketch->window[1].port_bytes = sketch->room + (size_t)2 * ports;
	return sketch;
}

void sketch_free(struct sketch *sketch)
{
	free(sketch);
}

static void read_flow(const struct sketch_window *window, uint32_t i, struct sketch_flow *flow)
{
	uint64_t word[SKETCH_KEY_WORDS];

	for (uint32_t k = 0; k < SKETCH_KEY_WORDS; k++)
		word[k] = sketch_load(&window->key[i][k]);
	memcpy(&flow->key, word, sizeof(flow->key));
	flow->bytes = sketch_load(&window->flow_bytes[i]);
	flow->over_bytes = sketch_load(&window->over_bytes[i]);
	flow->egress = (uint16_t)sketch_load(&window->egress[i]);
}

bool sketch_read(const struct sketch *sketch, struct sketch_look *look, uint64_t *port_bytes)
{
	uint64_t complete = sketch_load(&sketch->complete);
	const struct sketch_window *window = &sketch->window[(complete + 1) & 1];

	if (complete == 0)
		return false;
	look->start_ps = sketch_load(&window->start_ps);
	look->end_ps = sketch_load(&window->end_ps);
	look->bytes = sketch_load(&window->bytes);
	look->count = (uint32_t)sketch_load(&window->count);
	for (uint32_t i = 0; i < look->count; i++)
		read_flow(window, i, &look->flow[i]);
	for (uint16_t port = 0; port_bytes != NULL && port < sketch->ports; port++)
		port_bytes[port] = sketch_load(&window->port_bytes[port]);
	return sketch_load(&sketch->complete) == complete;
}

uint64_t sketch_port_bytes(const struct sketch *sketch, uint16_t port)
{
	return port < sketch->ports
		       ? atomic_load_explicit(&sketch->sent_bytes[port], memory_order_relaxed)
		       : 0;
}
