/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sketch_threads - one thread writes a sketch, another reads it.
 *
 * In a window all packets are of flows with the window's number, so that a reader who gets a mix of two
 * windows sees it.
 */
#include <pthread.h>
#include <stdio.h>

#include "dataplane/balance/sketch.h"
#include "dataplane/parse.h"

enum { WINDOWS = 20000, PACKETS = 8, LOOKS_MIN = 100 };

static struct sketch *sketch;
static _Atomic bool stop;
static _Atomic uint32_t looks;
static uint32_t wrong;

static void *read_on(void *unused)
{
	struct sketch_look look;
	uint64_t port_bytes[2];

	while (!atomic_load_explicit(&stop, memory_order_acquire)) {
		if (!sketch_read(sketch, &look, port_bytes))
			continue;
		atomic_fetch_add(&looks, 1);
		for (uint32_t i = 0; i < look.count; i++)
			if (look.flow[i].key.ports != look.start_ps / SKETCH_WINDOW_PS)
				wrong++;
		if (look.count > PACKETS || look.bytes != port_bytes[1])
			wrong++;
	}
	return unused;
}

int main(void)
{
	const uint8_t ip[40] = {0};
	pthread_t reader;

	sketch = sketch_create(2, 1);
	if (sketch == NULL || pthread_create(&reader, NULL, read_on, NULL) != 0)
		return 1;
	for (uint32_t window = 1;
	     window < WINDOWS || atomic_load_explicit(&looks, memory_order_relaxed) < LOOKS_MIN;
	     window++)
		for (uint32_t i = 0; i < PACKETS; i++) {
			struct parsed parsed = {.kind = KIND_IPV4, .ports = window, .source = i};

			(void)sketch_take(sketch, window * SKETCH_WINDOW_PS, &parsed, ip, 0, 1);
		}
	atomic_store_explicit(&stop, true, memory_order_release);
	pthread_join(reader, NULL);
	printf("%u looks, %u wrong\n", looks, wrong);
	sketch_free(sketch);
	return wrong != 0;
}
