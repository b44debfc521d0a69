/* SPDX-License-Identifier: BSD-3-Clause */
/* Scheduling: deficit round robin below strict priorities with shapers. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/egress.h"
#include "tests/unit/egress_fixture.h"

#define G UINT64_C(1000000000)

/* Queues that go in turns; PLUG_PRIORITY is strict in all tests. */
enum { DWRR_COUNT = 7, PLUG_PRIORITY = 7, FRAMES_MAX = 100 };

static struct leaf_fixture f;
static struct recorder sent;

static void start(void)
{
	fixture_start_eal();
	egress_open(&f, G);
}

static void finish(void)
{
	record_free(&sent);
	fixture_close(&f);
}

/* Keeps the wire busy while queues are filled: what follows is scheduled when it has gone. */
static void plug(void)
{
	f.now_ps += PS_PER_MS; /* whatever was on the wire has gone */
	egress_inject(&f, PLUG_PRIORITY, 9000, UINT32_MAX);
	fixture_poll(&f);
	record_now(&f, &sent);
	cr_assert_eq(sent.count, 1);
	sent.count = 0;
}

static void set_weights(const uint32_t weight[DWRR_COUNT])
{
	struct snapshot *snapshot = egress_snapshot(&f);

	for (uint8_t p = 0; p < DWRR_COUNT; p++)
		egress_weight(snapshot, p, weight[p]);
	fixture_publish(&f, snapshot);
}

/* A class that becomes strict forgets what it owes. */
static void forgive(void)
{
	struct snapshot *snapshot = egress_snapshot(&f);

	for (uint8_t p = 0; p < DWRR_COUNT; p++)
		egress_strict(snapshot, p, 0);
	fixture_publish(&f, snapshot);
}

/* --- round robin, from the paper --- */

struct reference_queue {
	uint32_t count, next, quantum;
	uint32_t bytes[FRAMES_MAX];
	int64_t deficit;
};

static struct reference_queue reference[DWRR_COUNT];
static uint8_t reference_last;

/*
 * Shreedhar and Varghese (SIGCOMM 1995), where a queue may send as long as it has credit, and owes
 * what its last frame was too long. One visit.
 */
static uint32_t reference_visit(uint8_t priority, struct record *order)
{
	struct reference_queue *queue = &reference[priority];
	uint32_t count = 0;

	if (queue->next == queue->count)
		return 0;
	queue->deficit += queue->quantum;
	while (queue->deficit > 0 && queue->next < queue->count) {
		order[count++] =
			(struct record){.priority = priority, .bytes = queue->bytes[queue->next]};
		queue->deficit -= queue->bytes[queue->next++];
		reference_last = priority;
	}
	if (queue->next == queue->count && queue->deficit > 0)
		queue->deficit = 0;
	return count;
}

/* How far the device runs ahead changes times, not the order. Less than the plug lasts. */
static void run_ahead(uint64_t run_ahead_ps)
{
	struct snapshot *snapshot = egress_snapshot(&f);

	snapshot_port_rate(snapshot, OUT, G, run_ahead_ps, 0);
	fixture_publish(&f, snapshot);
}

static void compare_with_reference(uint64_t seed, uint32_t weight_max, uint32_t bytes_max)
{
	static struct record order[DWRR_COUNT * FRAMES_MAX];
	uint32_t weight[DWRR_COUNT], total = 0, count = 0;
	uint64_t state = seed;

	for (uint8_t p = 0; p < DWRR_COUNT; p++) {
		weight[p] = 1 + draw(&state, weight_max);
		reference[p].quantum = weight[p] * SCHEDULE_QUANTUM_BYTES;
		reference[p].next = 0;
		reference[p].count = draw(&state, 4) == 0 ? 0 : 1 + draw(&state, FRAMES_MAX);
	}
	run_ahead(draw(&state, 3) * 30 * PS_PER_US);
	set_weights(weight);
	plug();
	for (uint8_t p = 0; p < DWRR_COUNT; p++) {
		for (uint32_t i = 0; i < reference[p].count; i++) {
			uint32_t bytes = EGRESS_FRAME_BYTES_MIN + draw(&state, bytes_max);

			reference[p].bytes[i] = bytes;
			egress_inject(&f, p, bytes, i);
		}
		total += reference[p].count;
	}
	for (uint32_t p = reference_last + 1u; count < total; p++)
		count += reference_visit((uint8_t)(p % DWRR_COUNT), order + count);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, total);
	for (uint32_t i = 0, number[DWRR_COUNT] = {0}; i < total; i++) {
		uint8_t p = sent.record[i].priority;

		cr_assert_eq(sent.record[i].number, number[p]++, "order in queue %u", p);
		cr_assert(p == order[i].priority && sent.record[i].bytes == order[i].bytes,
			  "seed %" PRIu64 ", frame %u: %u bytes of queue %u, should be %u of %u",
			  seed, i, sent.record[i].bytes, p, order[i].bytes, order[i].priority);
	}
	sent.count = 0;
}

LEAF_TEST(egress, SCH_DWRR_DRAIN_frames_leave_in_the_papers_order)
{
	for (uint64_t seed = 1; seed <= 40; seed++)
		compare_with_reference(seed, 100, seed % 2 == 0 ? 1500 : 9000);
}

LEAF_TEST(egress, SCH_DWRR_DRAIN_jumbo_frames_on_little_weight)
{
	/* A frame of 9230 bytes is a debt of 72 rounds at weight 1: they are skipped, not walked. */
	for (uint64_t seed = 100; seed <= 120; seed++)
		compare_with_reference(seed, seed % 3 == 0 ? 1 : 3, 9170);
}

/* Sum of the bytes of each queue that have left so far. */
static void count_bytes(uint32_t from, uint32_t to, uint64_t bytes[PRIORITY_COUNT])
{
	memset(bytes, 0, PRIORITY_COUNT * sizeof(bytes[0]));
	for (uint32_t i = from; i < to; i++)
		bytes[sent.record[i].priority] += sent.record[i].bytes;
}

/*
 * At every moment at which all are backlogged, k rounds have gone by for one k, and a queue of quantum
 * q has sent from (k - 1) q to k q and one frame more.
 */
static void check_shares(uint32_t first, uint32_t last, const uint32_t weight[DWRR_COUNT],
			 uint32_t queues, uint32_t frame_bytes_max)
{
	uint64_t bytes[PRIORITY_COUNT] = {0};

	for (uint32_t i = first; i < last; i++) {
		bytes[sent.record[i].priority] += sent.record[i].bytes;
		for (uint32_t a = 0; a < queues; a++) {
			for (uint32_t b = 0; b < queues; b++) {
				uint64_t qa = weight[a] * SCHEDULE_QUANTUM_BYTES;
				uint64_t qb = weight[b] * SCHEDULE_QUANTUM_BYTES;

				/* a has done at most two rounds more than b, and a frame. */
				cr_assert_leq(bytes[a] * qb,
					      bytes[b] * qa + 2 * qa * qb +
						      (uint64_t)frame_bytes_max * qb,
					      "frame %u: %" PRIu64 " bytes of queue %u, %" PRIu64
					      " of queue %u",
					      i, bytes[a], a, bytes[b], b);
			}
		}
	}
}

/* Fill queues so that each takes about as long as the others. */
static uint32_t fill(const uint32_t weight[DWRR_COUNT], uint32_t queues, uint64_t *state,
		     uint32_t frame_bytes_max)
{
	uint64_t sum = 0, budget = 600 * (uint64_t)frame_bytes_max / 2;
	uint32_t shortest = 0;

	for (uint32_t q = 0; q < queues; q++)
		sum += weight[q];
	for (uint32_t q = 0; q < queues; q++) {
		uint64_t bytes = 0;

		while (bytes < budget * weight[q] / sum) {
			uint32_t size = EGRESS_FRAME_BYTES_MIN +
					draw(state, frame_bytes_max - EGRESS_FRAME_BYTES_MIN);

			egress_inject(&f, (uint8_t)q, size, shortest++);
			bytes += size;
		}
	}
	return shortest;
}

LEAF_TEST(egress, SCH_DWRR_RATE_shares_are_exact_to_a_quantum_and_a_frame)
{
	static const uint32_t weights[][DWRR_COUNT] = {
		{1, 1, 1, 1, 1, 1, 1},   {15, 14, 14, 14, 14, 14, 14}, {60, 20, 0, 0, 0, 0, 0},
		{100, 1, 0, 0, 0, 0, 0}, {7, 3, 11, 2, 1, 0, 0},
	};
	uint64_t state = 5;

	for (size_t i = 0; i < sizeof(weights) / sizeof(weights[0]); i++) {
		uint32_t queues = 0, weight[DWRR_COUNT], until;
		uint64_t bytes[PRIORITY_COUNT];

		for (uint32_t q = 0; q < DWRR_COUNT; q++) {
			queues += weights[i][q] != 0;
			weight[q] = weights[i][q] != 0 ? weights[i][q] : 1;
		}
		for (uint32_t max = 64; max < 10000; max = max * 2 + 300) {
			uint32_t left[PRIORITY_COUNT] = {0};

			forgive();
			set_weights(weight);
			plug();
			fill(weight, queues, &state, max > 9000 ? 9000 : max);
			record_all(&f, &sent);
			/* Up to where the first queue was empty. */
			for (uint32_t k = 0; k < sent.count; k++)
				left[sent.record[k].priority]++;
			for (until = 0; until < sent.count; until++)
				if (--left[sent.record[until].priority] == 0)
					break;
			cr_assert_gt(until, sent.count / 2, "%u of %u", until, sent.count);
			check_shares(0, until, weight, queues, max > 9000 ? 9000 : max);
			count_bytes(0, until, bytes);
			sent.count = 0;
		}
	}
}

LEAF_TEST(egress, SCH_DWRR_CHG_new_weights_count_at_once_and_lose_nothing)
{
	uint32_t weight[DWRR_COUNT] = {60, 20, 1, 1, 1, 1, 1}, first, total;
	uint64_t bytes[PRIORITY_COUNT];
	uint64_t state = 3;

	set_weights(weight);
	plug();
	total = fill((const uint32_t[DWRR_COUNT]){1, 1}, 2, &state, 1500);
	record_until(&f, &sent, f.now_ps + 1200 * PS_PER_US);
	check_shares(0, sent.count, weight, 2, 1500);
	first = sent.count;
	weight[0] = 10;
	weight[1] = 40;
	set_weights(weight);
	record_now(&f, &sent);
	record_until(&f, &sent, f.now_ps + 1200 * PS_PER_US);
	/* The debt of a frame of 1500 bytes and a quantum of the old weights are all that is left. */
	count_bytes(first, sent.count, bytes);
	cr_assert_leq(bytes[0] * 4, bytes[1] + 4 * (1500 + 60 * 128));
	cr_assert_leq(bytes[1], bytes[0] * 4 + 4 * (1500 + 60 * 128) + 40 * 128);
	record_all(&f, &sent);
	cr_assert_eq(sent.count, total);
	cr_assert_eq(drops_total(&f), 0);
}

LEAF_TEST(egress, a_queue_that_was_empty_has_no_credit)
{
	uint32_t weight[DWRR_COUNT] = {10, 10, 1, 1, 1, 1, 1}, first;

	set_weights(weight);
	for (uint32_t i = 0; i < 400; i++)
		egress_inject(&f, 0, 1000, i);
	/* Queue 0 has the wire for itself for 300 frames, then queue 1 comes. */
	record_until(&f, &sent, f.now_ps + 300 * 8192 * PS_PER_NS);
	first = sent.count;
	for (uint32_t i = 0; i < 90; i++)
		egress_inject(&f, 1, 1000, i);
	record_until(&f, &sent, f.now_ps + 150 * 8192 * PS_PER_NS);
	check_shares(first, sent.count, weight, 2, 1000);
	record_all(&f, &sent);
}

LEAF_TEST(egress, a_queue_that_ran_empty_gives_up_the_rest_of_its_turn)
{
	uint32_t weight[DWRR_COUNT] = {1, 100, 100, 1, 1, 1, 1};

	/* Each run takes two frames of 1000 bytes: the first starts at once, the next in 8.2 us. */
	run_ahead(20 * PS_PER_US);
	set_weights(weight);
	plug();
	for (uint32_t i = 0; i < 2; i++)
		egress_inject(&f, 1, 1000, i);
	for (uint32_t i = 0; i < 30; i++)
		egress_inject(&f, 2, 1000, i);
	while (sent.count < 2) {
		fixture_poll(&f);
		record_now(&f, &sent);
		f.now_ps = time_max(f.now_ps, f.due_ps);
	}
	cr_assert_eq(sent.count, 2);
	cr_assert_eq(sent.record[1].priority, 1);
	egress_inject(&f, 1, 1000, 2);
	record_all(&f, &sent);
	/* 100 times 128 bytes: 13 frames of queue 2 before queue 1 has its next turn. */
	for (uint32_t i = 2; i < 15; i++)
		cr_assert_eq(sent.record[i].priority, 2, "frame %u", i);
	cr_assert_eq(sent.record[15].priority, 1);
}

LEAF_TEST(egress, a_sparse_queue_pays_for_its_long_frames)
{
	/*
	 * One long frame at a time, the next one when the last has gone: without a memory of debt it
	 * would get a frame per round, 9000 bytes for 128 of weight 1.
	 */
	uint32_t weight[DWRR_COUNT] = {1, 60, 1, 1, 1, 1, 1}, seen = 0;
	uint64_t bytes[PRIORITY_COUNT];

	set_weights(weight);
	plug();
	egress_inject(&f, 0, 9000, 0);
	for (uint32_t i = 0; i < 900; i++)
		egress_inject(&f, 1, 1500, i);
	for (uint32_t steps = 0; steps < 900; steps++) {
		fixture_poll(&f);
		record_now(&f, &sent);
		for (; seen < sent.count; seen++)
			if (sent.record[seen].priority == 0)
				egress_inject(&f, 0, 9000, 0);
		f.now_ps = time_max(f.now_ps, f.due_ps);
	}
	count_bytes(0, sent.count, bytes);
	cr_assert_gt(bytes[1], 1000000);
	cr_assert_leq(bytes[0] * 60, bytes[1] + 60 * (9000 + 2 * 128) + 60 * 128);
	record_all(&f, &sent);
}

LEAF_TEST(egress, SCH_WORK_CONS_one_busy_queue_has_the_whole_wire)
{
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		uint64_t begin_ps;

		sent.count = 0;
		for (uint32_t i = 0; i < 500; i++)
			egress_inject(&f, p, 1000, i);
		fixture_poll(&f);
		begin_ps = f.now_ps;
		record_now(&f, &sent);
		record_all(&f, &sent);
		cr_assert_eq(sent.count, 500);
		for (uint32_t i = 0; i < 500; i++)
			cr_assert_eq(sent.record[i].at_ps, begin_ps + i * 8192 * PS_PER_NS,
				     "queue %u", p);
		f.now_ps += PS_PER_MS;
	}
}
