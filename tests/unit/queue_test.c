/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dataplane/queue.h"

static struct rte_mbuf *packet(uintptr_t number)
{
	/* Queues never look into a packet. */
	return (struct rte_mbuf *)(number << 6);
}

/* Any number will do as long as each run draws the same ones (Knuth, MMIX). */
static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

static uint32_t chunks_unused(const struct queue_pool *pool)
{
	uint32_t count = 0;

	for (const struct queue_chunk *chunk = pool->unused; chunk != NULL; chunk = chunk->next)
		count++;
	return count;
}

static uint32_t chunks_held(const struct egress_queue *queue)
{
	const struct queue_chunk *last = queue_slot_chunk(queue->tail);
	uint32_t count = 1;

	if (queue->tail == NULL)
		return 0;
	for (const struct queue_chunk *chunk = queue_slot_chunk(queue->head); chunk != last;
	     chunk = chunk->next)
		count++;
	return count;
}

/* Append. @return true when the queue was empty */
static bool put(struct egress_queue *queue, struct queue_pool *pool, struct rte_mbuf *packet,
		uint32_t bytes)
{
	uint32_t packets = queue_depth_packets(queue) + 1;

	queue_append(queue, pool, packet, packets, queue_depth_bytes(queue) + bytes);
	return packets == 1;
}

static struct rte_mbuf *take(struct egress_queue *queue, struct queue_pool *pool, uint32_t bytes)
{
	struct queue_reader reader = queue_read(queue);
	struct rte_mbuf *first = queue_read_next(&reader, pool);

	queue_read_end(queue, &reader, queue_depth_bytes(queue) - bytes);
	return first;
}

Test(queue, random_pushes_and_pops_keep_the_order)
{
	enum { QUEUES = 5, PACKETS = 400, STEPS = 200000 };
	static uintptr_t reference[QUEUES][STEPS];
	uint32_t head[QUEUES] = {0}, tail[QUEUES] = {0}, held = 0;
	uint64_t bytes[QUEUES] = {0}, state = 1;
	struct egress_queue queue[QUEUES] = {0};
	struct queue_pool *pool = queue_pool_create(PACKETS, QUEUES);

	cr_assert_not_null(pool);
	for (uintptr_t step = 1; step < STEPS; step++) {
		uint32_t q = draw(&state, QUEUES);
		/* Phases of growth and of shrinking, so that both ends of the pool are seen. */
		bool push = draw(&state, 100) < (step / 2000 % 2 == 0 ? 60u : 40u);

		if (push && held < PACKETS) {
			uint32_t size = (uint32_t)(step % 1000 + 60);

			put(&queue[q], pool, packet(step), size);
			reference[q][tail[q]++] = step;
			bytes[q] += size;
			held++;
		} else if (!push && head[q] < tail[q]) {
			uintptr_t want = reference[q][head[q]++];

			cr_assert_eq(take(&queue[q], pool, (uint32_t)(want % 1000 + 60)),
				     packet(want), "step %zu", step);
			bytes[q] -= want % 1000 + 60;
			held--;
		}
		cr_assert_eq(queue_depth_packets(&queue[q]), tail[q] - head[q]);
		cr_assert_eq(queue_depth_bytes(&queue[q]), bytes[q]);
	}
	queue_pool_free(pool);
}

Test(queue, deepest_level_is_remembered)
{
	struct egress_queue queue = {0};
	struct queue_pool *pool = queue_pool_create(4, 1);

	put(&queue, pool, packet(1), 100);
	put(&queue, pool, packet(2), 200);
	take(&queue, pool, 100);
	put(&queue, pool, packet(3), 50);
	cr_assert_eq(queue_depth_bytes(&queue), 250);
	cr_assert_eq(atomic_load(&queue.depth_bytes_max), 300);
	queue_pool_free(pool);
}

/*
 * The worst a queue can do: its first chunk down to the last packet, and its last chunk just begun.
 * With n = 2 + 15 k packets it then holds k + 2 chunks.
 */
Test(queue, pool_is_never_dry_at_its_bound)
{
	enum { QUEUES = 16, DEPTH = 2 + 3 * QUEUE_CHUNK_PACKETS, PACKETS = QUEUES * DEPTH };
	struct egress_queue queue[QUEUES] = {0};
	struct queue_pool *pool = queue_pool_create(PACKETS, QUEUES);
	uint32_t held = 0;

	for (uint32_t q = 0; q < QUEUES; q++) {
		for (uint32_t i = 0; i < QUEUE_CHUNK_PACKETS - 1; i++)
			put(&queue[q], pool, packet(1), 60);
		for (uint32_t i = 0; i < DEPTH; i++) {
			put(&queue[q], pool, packet(1), 60);
			/* One out for one in: never more than DEPTH at once. */
			if (i < QUEUE_CHUNK_PACKETS - 1)
				take(&queue[q], pool, 60);
		}
		cr_assert_eq(queue_depth_packets(&queue[q]), DEPTH);
		cr_assert_eq(chunks_held(&queue[q]), DEPTH / QUEUE_CHUNK_PACKETS + 2);
		held += DEPTH;
	}
	cr_assert_eq(held, PACKETS);
	queue_pool_free(pool);
}

Test(queue, pool_has_two_chunks_a_queue_and_one_for_fifteen_packets)
{
	struct queue_pool *pool = queue_pool_create(1500, 8);

	cr_assert_eq(pool->chunks, 1500 / 15 + 2 * 8);
	cr_assert_eq(chunks_unused(pool), pool->chunks);
	cr_assert_eq((uintptr_t)pool->memory % 128, 0, "a chunk is two whole lines");
	queue_pool_free(pool);
}

Test(queue, chunks_come_back_but_for_one_a_queue)
{
	enum { QUEUES = 8, PACKETS = 1000 };
	struct egress_queue queue[QUEUES] = {0};
	struct queue_pool *pool = queue_pool_create(PACKETS, QUEUES);

	for (uint32_t round = 0; round < 20; round++) {
		for (uint32_t i = 0; i < PACKETS; i++)
			put(&queue[i * (round + 1) % QUEUES], pool, packet(i), 60);
		for (uint32_t q = 0; q < QUEUES; q++) {
			while (queue_depth_packets(&queue[q]) > 0)
				take(&queue[q], pool, 60);
		}
		for (uint32_t q = 0; q < QUEUES; q++)
			cr_assert_leq(chunks_held(&queue[q]), 1, "an idle queue keeps one");
	}
	cr_assert_eq(chunks_unused(pool) + QUEUES, pool->chunks);
	queue_pool_free(pool);
}

Test(queue, empty_pool_and_null_are_legal)
{
	struct queue_pool *pool = queue_pool_create(0, 0);

	cr_assert_not_null(pool);
	queue_pool_free(pool);
	queue_pool_free(NULL);
}
