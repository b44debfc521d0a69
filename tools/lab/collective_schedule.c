/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/collective_schedule.h"

#include <assert.h>

static uint32_t log2_of(uint32_t number)
{
	return 31 - (uint32_t)__builtin_clz(number);
}

uint32_t collective_steps(const struct collective_shape *shape)
{
	switch (shape->pattern) {
	case COLLECTIVE_RING:
		return 2 * (shape->ranks - 1);
	case COLLECTIVE_HALVING_DOUBLING:
		return 2 * log2_of(shape->ranks);
	default:
		return shape->ranks - 1;
	}
}

uint32_t collective_slots(const struct collective_shape *shape)
{
	switch (shape->pattern) {
	case COLLECTIVE_RING:
		return 1;
	case COLLECTIVE_HALVING_DOUBLING:
		return log2_of(shape->ranks);
	default:
		return shape->ranks - 1;
	}
}

/* Where a chunk begins in the vector. */
static uint64_t chunk_offset(const struct collective_shape *shape, uint32_t chunk)
{
	return (uint64_t)((unsigned __int128)shape->bytes * chunk / shape->ranks);
}

static uint64_t chunk_bytes(const struct collective_shape *shape, uint32_t first, uint32_t count)
{
	return chunk_offset(shape, first + count) - chunk_offset(shape, first);
}

static struct collective_message halving_doubling(const struct collective_shape *shape,
						  uint32_t rank, uint32_t step)
{
	uint32_t half = log2_of(shape->ranks);
	uint32_t slot = step < half ? half - 1 - step : step - half;
	uint32_t distance = UINT32_C(1) << slot;
	uint32_t peer = rank ^ distance;
	/* Halving: the block that the peer will sum; doubling: the one that this rank has got. */
	uint32_t block = (step < half ? peer : rank) & ~(distance - 1);

	return (struct collective_message){
		.peer = peer,
		.slot = slot,
		.bytes = chunk_bytes(shape, block, distance),
	};
}

struct collective_message collective_message(const struct collective_shape *shape, uint32_t rank,
					     uint32_t step)
{
	uint32_t ranks = shape->ranks, chunk, peer;

	assert(rank < ranks && step < collective_steps(shape));
	switch (shape->pattern) {
	case COLLECTIVE_RING:
		chunk = (rank + 2 * ranks - step) % ranks;
		return (struct collective_message){
			.peer = (rank + 1) % ranks,
			.slot = 0,
			.bytes = chunk_bytes(shape, chunk, 1),
		};
	case COLLECTIVE_HALVING_DOUBLING:
		return halving_doubling(shape, rank, step);
	default:
		peer = (rank + step + 1) % ranks;
		return (struct collective_message){
			.peer = peer,
			.slot = step,
			.bytes = chunk_bytes(shape, peer, 1),
		};
	}
}

uint32_t collective_first_step(const struct collective_shape *shape, uint32_t slot)
{
	switch (shape->pattern) {
	case COLLECTIVE_RING:
		return 0;
	case COLLECTIVE_HALVING_DOUBLING:
		return log2_of(shape->ranks) - 1 - slot;
	default:
		return slot;
	}
}

uint32_t collective_next_step(const struct collective_shape *shape, uint32_t step)
{
	switch (shape->pattern) {
	case COLLECTIVE_RING:
		return (step + 1) % collective_steps(shape);
	case COLLECTIVE_HALVING_DOUBLING:
		return collective_steps(shape) - 1 - step;
	default:
		return step;
	}
}

uint64_t collective_slot_bytes(const struct collective_shape *shape, uint32_t rank, uint32_t slot)
{
	uint32_t step = collective_first_step(shape, slot), before;
	uint64_t bytes = 0;

	do {
		bytes += collective_message(shape, rank, step).bytes;
		before = step;
		step = collective_next_step(shape, step);
	} while (step > before);
	return bytes;
}

void collective_bus_factor(const struct collective_shape *shape, uint64_t *numerator,
			   uint64_t *denominator)
{
	*numerator = (shape->pattern == COLLECTIVE_ALLTOALL ? 1 : 2) * (uint64_t)(shape->ranks - 1);
	*denominator = shape->ranks;
}
