/* SPDX-License-Identifier: BSD-3-Clause */
/* Who sends what in a collective, against what the algorithms are for: everybody ends up with everything. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/collective_schedule.h"

#define RANKS_MAX 16

/* Share c of the vector: what lies from c * bytes / n up to (c + 1) * bytes / n. */
static uint64_t share(const struct collective_shape *shape, uint32_t chunk)
{
	return shape->bytes * (chunk + 1) / shape->ranks - shape->bytes * chunk / shape->ranks;
}

static uint64_t sent_bytes(const struct collective_shape *shape, uint32_t rank)
{
	uint64_t bytes = 0;

	for (uint32_t step = 0; step < collective_steps(shape); step++)
		bytes += collective_message(shape, rank, step).bytes;
	return bytes;
}

/* In 2 (N - 1) steps each rank sends every chunk twice, but for one in each half. */
Test(collective_schedule, a_ring_sends_two_times_all_but_a_share)
{
	for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks++) {
		struct collective_shape shape = {COLLECTIVE_RING, ranks, 1000003};

		cr_expect_eq(collective_steps(&shape), 2 * (ranks - 1));
		cr_expect_eq(collective_slots(&shape), 1);
		for (uint32_t rank = 0; rank < ranks; rank++) {
			/* Summing it never sends chunk r + 1, gathering never chunk r + 2. */
			uint64_t expected = 2 * shape.bytes - share(&shape, (rank + 1) % ranks) -
					    share(&shape, (rank + 2) % ranks);

			cr_expect_eq(sent_bytes(&shape, rank), expected, "%u of %u", rank, ranks);
			cr_expect_eq(collective_slot_bytes(&shape, rank, 0), expected);
			for (uint32_t step = 0; step < collective_steps(&shape); step++)
				cr_expect_eq(collective_message(&shape, rank, step).peer,
					     (rank + 1) % ranks);
		}
	}
}

/* What a rank passes on it must have received in the step before. */
Test(collective_schedule, a_ring_passes_on_what_came_in_the_step_before)
{
	struct collective_shape shape = {COLLECTIVE_RING, 7, 7 * 1000 + 5};

	for (uint32_t rank = 0; rank < 7; rank++)
		for (uint32_t step = 1; step < collective_steps(&shape); step++)
			cr_expect_eq(collective_message(&shape, (rank + 1) % 7, step).bytes,
				     collective_message(&shape, rank, step - 1).bytes);
}

/*
 * Halves, quarters, ... of the vector with partners at half, a quarter ... of the ranks, and back: in all
 * 2 (N - 1) / N of it. Partners exchange in the same step.
 */
Test(collective_schedule, halving_doubling_halves_then_doubles)
{
	for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks *= 2) {
		struct collective_shape shape = {COLLECTIVE_HALVING_DOUBLING, ranks,
						 UINT64_C(4096) * ranks};
		uint32_t steps = collective_steps(&shape);

		cr_expect_eq(1u << steps / 2, ranks);
		for (uint32_t rank = 0; rank < ranks; rank++) {
			for (uint32_t step = 0; step < steps; step++) {
				uint32_t half = step < steps / 2 ? step : steps - 1 - step;
				struct collective_message message =
					collective_message(&shape, rank, step);

				cr_expect_eq(message.bytes, shape.bytes >> (half + 1));
				cr_expect_eq(message.peer, rank ^ ranks >> (half + 1));
				cr_expect_eq(collective_message(&shape, message.peer, step).peer,
					     rank);
			}
			cr_expect_eq(sent_bytes(&shape, rank),
				     2 * shape.bytes / ranks * (ranks - 1));
		}
	}
}

/*
 * The sums themselves: vectors of one number a chunk, added while halving, copied while doubling. Each
 * message is the block of chunks that starts where the receiver's (or the sender's) own block does.
 */
Test(collective_schedule, halving_doubling_gives_everybody_the_sum)
{
	const uint32_t ranks = 8;
	struct collective_shape shape = {COLLECTIVE_HALVING_DOUBLING, ranks, ranks};
	uint64_t value[8][8], before[8][8];

	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t c = 0; c < ranks; c++)
			value[r][c] = UINT64_C(1) << (4 * r);
	for (uint32_t step = 0; step < collective_steps(&shape); step++) {
		memcpy(before, value, sizeof(value));
		for (uint32_t r = 0; r < ranks; r++) {
			struct collective_message message = collective_message(&shape, r, step);
			bool halving = step < 3;
			uint32_t size = (uint32_t)message.bytes;
			uint32_t first = (halving ? message.peer : r) / size * size;

			for (uint32_t c = first; c < first + size; c++)
				value[message.peer][c] =
					(halving ? value[message.peer][c] : 0) + before[r][c];
		}
	}
	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t c = 0; c < ranks; c++)
			cr_expect_eq(value[r][c], 0x11111111);
}

/*
 * With chunks of unlike size: halving sends the block that the peer will sum, doubling the one that the
 * sender has got; blocks of d chunks begin at multiples of d.
 */
Test(collective_schedule, halving_doubling_sends_the_right_half)
{
	struct collective_shape shape = {COLLECTIVE_HALVING_DOUBLING, 8, 1003};

	for (uint32_t rank = 0; rank < 8; rank++) {
		for (uint32_t step = 0; step < 6; step++) {
			uint32_t size = step < 3 ? 4u >> step : 1u << (step - 3);
			struct collective_message message = collective_message(&shape, rank, step);
			uint32_t first = (step < 3 ? message.peer : rank) / size * size;
			uint64_t bytes = 0;

			for (uint32_t chunk = first; chunk < first + size; chunk++)
				bytes += share(&shape, chunk);
			cr_expect_eq(message.bytes, bytes, "rank %u, step %u", rank, step);
		}
	}
}

/* In step k everybody sends to the k + 1st rank after it, so that nobody gets two messages at once. */
Test(collective_schedule, alltoall_visits_every_rank_once)
{
	for (uint32_t ranks = 2; ranks <= RANKS_MAX; ranks++) {
		struct collective_shape shape = {COLLECTIVE_ALLTOALL, ranks, 12345};

		cr_expect_eq(collective_steps(&shape), ranks - 1);
		for (uint32_t rank = 0; rank < ranks; rank++)
			cr_expect_eq(sent_bytes(&shape, rank), 12345 - share(&shape, rank));
		for (uint32_t step = 0; step < ranks - 1; step++) {
			uint32_t received = 0;

			for (uint32_t rank = 0; rank < ranks; rank++) {
				struct collective_message message =
					collective_message(&shape, rank, step);

				cr_expect_eq(message.peer, (rank + step + 1) % ranks);
				cr_expect_eq(message.bytes, share(&shape, message.peer));
				received |= 1u << message.peer;
			}
			cr_expect_eq(received, (1u << ranks) - 1);
		}
	}
}

/* A slot is one peer; going from step to step by it visits each of its steps once a repetition. */
Test(collective_schedule, a_queue_pair_has_one_peer_and_its_steps_in_order)
{
	static const struct collective_shape shapes[] = {
		{COLLECTIVE_RING, 5, 500},
		{COLLECTIVE_HALVING_DOUBLING, 16, 1600},
		{COLLECTIVE_ALLTOALL, 6, 600},
	};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		const struct collective_shape *shape = &shapes[i];
		uint32_t seen = 0;

		for (uint32_t slot = 0; slot < collective_slots(shape); slot++) {
			uint32_t step = collective_first_step(shape, slot), before;
			uint32_t peer = collective_message(shape, 1, step).peer;

			do {
				cr_expect_eq(collective_message(shape, 1, step).slot, slot);
				cr_expect_eq(collective_message(shape, 1, step).peer, peer);
				seen++;
				before = step;
				step = collective_next_step(shape, step);
			} while (step > before);
			cr_expect_eq(step, collective_first_step(shape, slot));
		}
		cr_expect_eq(seen, collective_steps(shape));
	}
}

/* NCCL tests, PERFORMANCE.md. */
Test(collective_schedule, bus_bandwidth_is_what_links_carry)
{
	struct collective_shape shape = {COLLECTIVE_RING, 8, 800};
	uint64_t numerator, denominator;

	collective_bus_factor(&shape, &numerator, &denominator);
	cr_expect_eq(numerator * 8, denominator * 14);
	shape.pattern = COLLECTIVE_ALLTOALL;
	collective_bus_factor(&shape, &numerator, &denominator);
	cr_expect_eq(numerator * 8, denominator * 7);
}
