/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/port_timers.h"

#define CHILDREN 4

void port_timers_init(struct port_timers *timers)
{
	timers->count = 0;
	for (uint32_t i = 0; i < PORT_COUNT_MAX; i++)
		timers->position[i] = PORT_TIMER_UNARMED;
}

static inline bool earlier(const struct port_timers *timers, uint16_t a, uint16_t b)
{
	int64_t difference = (int64_t)(timers->due_ps[a] - timers->due_ps[b]);

	return difference != 0 ? difference < 0 : a < b;
}

static inline void place(struct port_timers *timers, uint32_t index, uint16_t port)
{
	timers->heap[index] = port;
	timers->position[port] = (uint16_t)index;
}

static uint32_t sift_up(struct port_timers *timers, uint32_t index, uint16_t port)
{
	while (index != 0) {
		uint32_t parent = (index - 1) / CHILDREN;

		if (!earlier(timers, port, timers->heap[parent]))
			break;
		place(timers, index, timers->heap[parent]);
		index = parent;
	}
	place(timers, index, port);
	return index;
}

static void sift_down(struct port_timers *timers, uint32_t index, uint16_t port)
{
	for (;;) {
		uint32_t child = index * CHILDREN + 1;
		uint32_t end = child + CHILDREN < timers->count ? child + CHILDREN : timers->count;
		uint32_t best = child;

		if (child >= timers->count)
			break;
		for (uint32_t i = child + 1; i < end; i++)
			if (earlier(timers, timers->heap[i], timers->heap[best]))
				best = i;
		if (!earlier(timers, timers->heap[best], port))
			break;
		place(timers, index, timers->heap[best]);
		index = best;
	}
	place(timers, index, port);
}

void port_timers_arm(struct port_timers *timers, uint16_t port, uint64_t due_ps)
{
	uint32_t index = timers->position[port];

	timers->due_ps[port] = due_ps;
	if (index == PORT_TIMER_UNARMED)
		sift_up(timers, timers->count++, port);
	else
		sift_down(timers, sift_up(timers, index, port), port);
}

static void remove_at(struct port_timers *timers, uint32_t index)
{
	uint16_t last = timers->heap[--timers->count];

	timers->position[timers->heap[index]] = PORT_TIMER_UNARMED;
	if (index == timers->count)
		return;
	index = sift_up(timers, index, last);
	sift_down(timers, index, last);
}

void port_timers_disarm(struct port_timers *timers, uint16_t port)
{
	if (port_timers_armed(timers, port))
		remove_at(timers, timers->position[port]);
}

uint16_t port_timers_pop(struct port_timers *timers)
{
	uint16_t port = timers->heap[0];

	remove_at(timers, 0);
	return port;
}
