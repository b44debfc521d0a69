/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * queue - first in, first out, of packets, in chunks from a pool.
 *
 * An array ring per queue would need the whole pool's size eight times per port; an intrusive list
 * needs the mbuf's second cache line. Chunks of QUEUE_CHUNK_PACKETS pointers cost about as little
 * as a ring and hold any number of packets anywhere. The pool is sized at start for every packet
 * that can exist plus two half-used chunks per queue, so that it can't run dry.
 *
 * Thread: one; in the daemon a pool per worker, in the lab one for all its leaves.
 */
#ifndef DATAPLANE_QUEUE_H
#define DATAPLANE_QUEUE_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <rte_branch_prediction.h>

#include "dataplane/units.h"

struct rte_mbuf;

#define QUEUE_CHUNK_PACKETS 15
#define QUEUE_CHUNK_BYTES   128

/*
 * Aligned to its size, so that a pointer to a packet's slot says all: a pointer behind the last slot
 * is aligned (as is NULL), and the chunk of any other is found by rounding down.
 */
struct queue_chunk {
	alignas(QUEUE_CHUNK_BYTES) struct queue_chunk *next;
	struct rte_mbuf *packet[QUEUE_CHUNK_PACKETS];
};

_Static_assert(sizeof(struct queue_chunk) == QUEUE_CHUNK_BYTES, "slots reach the chunk's end");

struct queue_pool {
	struct queue_chunk *unused;
	struct queue_chunk *memory;
	uint32_t chunks;
};

/**
 * @param packets most packets that can be queued at once, over all queues of this pool
 * @param queues  number of queues that draw from it
 * @return NULL when out of memory. Control.
 */
struct queue_pool *queue_pool_create(uint32_t packets, uint32_t queues);
void queue_pool_free(struct queue_pool *pool);

/* One egress queue of one port; one cache line. Written by the port's owner. */
struct egress_queue {
	alignas(64) struct rte_mbuf **head; /* slot of the first packet */
	struct rte_mbuf **tail;             /* slot for the next one; NULL at first: no chunk */
	_Atomic uint32_t depth_packets;
	_Atomic uint32_t depth_bytes;
	uint32_t bytes_max;     /* deeper than this, enqueue() looks closer; see enqueue.c */
	uint32_t mark_bytes;    /* deeper than this, departing packets may be marked */
	int32_t deficit_bytes;  /* DWRR credit; may go negative by a frame */
	uint32_t quantum_bytes; /* 0 with strict priority */
	_Atomic uint32_t depth_bytes_max;
};

_Static_assert(sizeof(struct egress_queue) == 64, "one line");

/** Chunk of a slot, also when the pointer is right behind its last one. */
static inline struct queue_chunk *queue_slot_chunk(struct rte_mbuf **slot)
{
	return (struct queue_chunk *)(((uintptr_t)slot - 1) & ~(uintptr_t)(QUEUE_CHUNK_BYTES - 1));
}

/** True for a pointer behind a chunk's last slot, and for NULL. */
static inline bool queue_slot_ends(struct rte_mbuf **slot)
{
	return ((uintptr_t)slot & (QUEUE_CHUNK_BYTES - 1)) == 0;
}

static inline uint32_t queue_depth_packets(const struct egress_queue *queue)
{
	return atomic_load_explicit(&queue->depth_packets, memory_order_relaxed);
}

static inline uint32_t queue_depth_bytes(const struct egress_queue *queue)
{
	return atomic_load_explicit(&queue->depth_bytes, memory_order_relaxed);
}

/* Append to a queue that has so many packets and bytes then. */
static inline void queue_append(struct egress_queue *queue, struct queue_pool *pool,
				struct rte_mbuf *packet, uint32_t packets, uint32_t bytes)
{
	struct rte_mbuf **slot = queue->tail;

	if (unlikely(queue_slot_ends(slot))) {
		struct queue_chunk *chunk = pool->unused;

		pool->unused = chunk->next;
		if (slot == NULL)
			queue->head = chunk->packet; /* the queue's first packet ever */
		else
			queue_slot_chunk(slot)->next = chunk;
		slot = chunk->packet;
	}
	*slot = packet;
	queue->tail = slot + 1;
	atomic_store_explicit(&queue->depth_packets, packets, memory_order_relaxed);
	atomic_store_explicit(&queue->depth_bytes, bytes, memory_order_relaxed);
}

/*
 * Taking packets off: open, next any number of times, close. What a run takes is written back once.
 */
struct queue_reader {
	struct rte_mbuf **slot;
	uint32_t left; /* packets */
};

/** Start to take packets off. Hot. The queue must not be empty. Its depth has a peak here. */
static inline struct queue_reader queue_read(struct egress_queue *queue)
{
	uint32_t depth = queue_depth_bytes(queue);

	if (depth > atomic_load_explicit(&queue->depth_bytes_max, memory_order_relaxed))
		atomic_store_explicit(&queue->depth_bytes_max, depth, memory_order_relaxed);
	return (struct queue_reader){queue->head, queue_depth_packets(queue)};
}

/** Next packet; left must not be 0. Hot. */
static inline struct rte_mbuf *queue_read_next(struct queue_reader *reader, struct queue_pool *pool)
{
	struct rte_mbuf *packet = *reader->slot++;

	reader->left--;
	if (unlikely(queue_slot_ends(reader->slot)) && reader->left != 0) {
		struct queue_chunk *read = queue_slot_chunk(reader->slot);

		reader->slot = read->next->packet;
		read->next = pool->unused;
		pool->unused = read;
	}
	return packet;
}

/** End: the packets that are left have so many bytes. Hot. */
static inline void queue_read_end(struct egress_queue *queue, const struct queue_reader *reader,
				  uint32_t left_bytes)
{
	queue->head = reader->slot;
	/* Keep the chunk: an idle queue that gets packets again finds it in its cache. */
	if (reader->left == 0)
		queue->head = queue->tail = queue_slot_chunk(reader->slot)->packet;
	atomic_store_explicit(&queue->depth_packets, reader->left, memory_order_relaxed);
	atomic_store_explicit(&queue->depth_bytes, left_bytes, memory_order_relaxed);
}

/**
 * Take all packets off. Hot. The queue must not be empty. Its depth has a peak here.
 * @param out room for queue_depth_packets(queue)
 */
static inline void queue_read_all(struct egress_queue *queue, struct queue_pool *pool,
				  struct rte_mbuf **out)
{
	struct queue_reader reader = queue_read(queue);

	do {
		*out++ = queue_read_next(&reader, pool);
	} while (reader.left != 0);
	queue_read_end(queue, &reader, 0);
}

#endif
