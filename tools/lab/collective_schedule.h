/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective_schedule - which rank sends what to whom in which step of a collective. Pure arithmetic.
 *
 * A vector of `bytes` is cut into as many chunks as there are ranks; chunk c is what lies from
 * c * bytes / N up to (c + 1) * bytes / N. In each step every rank sends one message and receives one.
 *
 *	ring			2 (N - 1) steps. Rank r sends chunk r - k to rank r + 1 in step k: in the first N - 1
 *				sums wander round and grow (reduce-scatter), in the others they are passed
 *				on (all-gather).
 *	halving-doubling	2 log2 N steps, N a power of two. In step k ranks at a distance d = N / 2^(k+1)
 *				exchange halves of what they still have to sum: d chunks. Then d = 1, 2, 4 ...,
 *				and they exchange what they have got.
 *	alltoall		N - 1 steps. In step k rank r sends chunk r + k + 1 to the rank of that number.
 *
 * (All ranks modulo N.) Messages from one rank to another, in the order of their steps, share a queue pair:
 * the sender's `slot`.
 *
 * Sources: Patarasuk and Yuan, JPDC 2009 (ring); Thakur, Rabenseifner, Gropp, IJHPCA 2005, 4.5
 * (halving and doubling).
 * Thread: any.
 */
#ifndef LAB_COLLECTIVE_SCHEDULE_H
#define LAB_COLLECTIVE_SCHEDULE_H

#include <stdint.h>

enum collective_pattern { COLLECTIVE_RING = 1, COLLECTIVE_HALVING_DOUBLING, COLLECTIVE_ALLTOALL };

struct collective_shape {
	enum collective_pattern pattern;
	uint32_t ranks; /* >= 2; a power of two with halving-doubling */
	uint64_t bytes; /* of the vector, >= ranks */
};

struct collective_message {
	uint32_t peer; /* who gets it */
	uint32_t slot; /* 0.. among the sender's queue pairs */
	uint64_t bytes;
};

/** Steps of one collective. */
uint32_t collective_steps(const struct collective_shape *shape);
/** Queue pairs on which a rank sends. */
uint32_t collective_slots(const struct collective_shape *shape);

/** What a rank sends in a step. */
struct collective_message collective_message(const struct collective_shape *shape, uint32_t rank,
					     uint32_t step);

/** First step that uses a slot. */
uint32_t collective_first_step(const struct collective_shape *shape, uint32_t slot);
/** The next step that uses the slot of this one; not after it: that of the next repetition. */
uint32_t collective_next_step(const struct collective_shape *shape, uint32_t step);

/** What a rank sends on a slot in one repetition, bytes. */
uint64_t collective_slot_bytes(const struct collective_shape *shape, uint32_t rank, uint32_t slot);

/**
 * Bus bandwidth over algorithm bandwidth, as a fraction: what of the vector must cross each rank's link
 * (NCCL tests, PERFORMANCE.md): 2 (N - 1) / N for an allreduce, (N - 1) / N for an alltoall.
 */
void collective_bus_factor(const struct collective_shape *shape, uint64_t *numerator,
			   uint64_t *denominator);

#endif
