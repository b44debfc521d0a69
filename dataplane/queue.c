/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "dataplane/queue.h"

/* layer: control side */
struct queue_pool *queue_pool_create(uint32_t packets, uint32_t queues)
{
	struct queue_pool *pool = malloc(sizeof(*pool));
	/*
	 * A queue of n >= 2 packets takes most chunks when its first and its last chunk hold one
	 * packet each: (n - 2) / 15 + 2. An empty one keeps a chunk. So two for each queue and one
	 * for every 15 packets are enough whatever the distribution.
	 */
	size_t chunks = packets / QUEUE_CHUNK_PACKETS + 2 * (size_t)queues;

	if (pool == NULL)
		return NULL;
	if (chunks == 0)
		chunks = 1;
	pool->memory = chunks > UINT32_MAX ? NULL
					   : aligned_alloc(alignof(struct queue_chunk),
							   chunks * sizeof(struct queue_chunk));
	if (pool->memory == NULL) {
		free(pool);
		return NULL;
	}
	for (size_t i = 0; i < chunks; i++)
		pool->memory[i].next = i + 1 < chunks ? &pool->memory[i + 1] : NULL;
	pool->unused = pool->memory;
	pool->chunks = (uint32_t)chunks;
	return pool;
}

/* layer: control side */
void queue_pool_free(struct queue_pool *pool)
{
	if (pool == NULL)
		return;
	free(pool->memory);
	free(pool);
}
