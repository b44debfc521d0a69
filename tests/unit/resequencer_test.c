/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/balance/resequencer.h"

#define FENCE_PS   PS_PER_US
#define TIMEOUT_PS (4 * PS_PER_MS)
#define START_PS   (0 - 5 * PS_PER_MS) /* time wraps in the middle */
#define COST       1000u

static const struct resequencer_owner OWNER = {.epoch = 7, .peer = 1, .worker = 2};

/* Packets are never looked into: any pointer will do. */
static struct rte_mbuf *packet(uintptr_t number)
{
	return (struct rte_mbuf *)((number + 1) << 6);
}

static uintptr_t number_of(const struct rte_mbuf *packet)
{
	return ((uintptr_t)packet >> 6) - 1;
}

static struct resequencer *create(uint32_t flows, uint32_t packets, uint64_t bytes)
{
	struct resequencer_limits limits = {
		.flows = flows,
		.peers = 4,
		.packets = packets,
		.bytes = bytes,
		.fence_ps = FENCE_PS,
		.timeout_ps = TIMEOUT_PS,
		.seed = 99,
	};
	struct resequencer *r = resequencer_create(&limits);

	cr_assert_not_null(r);
	return r;
}

static struct balance_key key_of(uint32_t qp)
{
	return (struct balance_key){UINT64_C(0x0a0000010a000002), qp << 8 | 3, 0};
}

static struct resequencer_flow *flow_of(struct resequencer *r, uint32_t qp, uint16_t first)
{
	struct balance_key key = key_of(qp);

	cr_assert_eq(resequencer_install(r, &key, &OWNER, first, 5, 3, START_PS), RESEQUENCER_YES);
	return resequencer_find(r, &key);
}

static enum resequencer_result arrive(struct resequencer *r, struct resequencer_flow *flow,
				      uint16_t number, uint64_t now_ps)
{
	return resequencer_arrive(r, flow, packet(number), number, COST, 0, now_ps);
}

/* What resequencer_next() gives has these numbers. */
static void expect_next(struct resequencer *r, struct resequencer_flow *flow, uint64_t now_ps,
			uint32_t count, const uint16_t *numbers)
{
	for (uint32_t i = 0; i < count; i++) {
		struct rte_mbuf *next = resequencer_next(r, flow, now_ps);

		cr_assert_not_null(next, "%u of %u", i, count);
		cr_expect_eq(number_of(next), numbers[i]);
	}
	cr_assert_null(resequencer_next(r, flow, now_ps));
}

#define EXPECT_NEXT(r, flow, now_ps, ...)                                                  \
	expect_next(r, flow, now_ps, sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), \
		    (uint16_t[]){__VA_ARGS__})

Test(resequencer, holds_what_is_ahead_until_the_missing_number_comes)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 65534);

	cr_expect_eq(arrive(r, flow, 2, START_PS), RESEQUENCER_HELD, "across the wrap");
	cr_expect_eq(arrive(r, flow, 65535, START_PS + 1), RESEQUENCER_HELD);
	cr_expect_eq(arrive(r, flow, 65535, START_PS + 2), RESEQUENCER_DUPLICATE);
	cr_expect_eq(r->counters.held_packets, 2);
	cr_expect_eq(r->counters.held_bytes, 2 * COST);
	cr_expect_eq(arrive(r, flow, SEQUENCE_START, START_PS + 10), RESEQUENCER_SEND);
	EXPECT_NEXT(r, flow, START_PS + 10, 65535, 2);
	cr_expect_eq(r->counters.held_bytes, 0);
	cr_expect_eq(r->counters.held_bytes_max, 2 * COST);
	cr_expect_eq(arrive(r, flow, SEQUENCE_START, START_PS + 11), RESEQUENCER_LATE);
	cr_expect_eq(arrive(r, flow, 65535, START_PS + 11), RESEQUENCER_LATE);
	cr_expect_eq(arrive(r, flow, 3, START_PS + 11), RESEQUENCER_SEND);
	cr_expect_eq(r->counters.late, 2);
	cr_expect_eq(r->counters.duplicates, 1);
	/* From the first that was held to what filled the hole; nothing for the others. */
	cr_expect_eq(resequencer_feedback_take(r, OWNER.peer, 0, START_PS + 12).lateness_ps, 10);
	cr_expect_eq(resequencer_feedback_take(r, OWNER.peer, 0, START_PS + 12).packets, 0);
	resequencer_free(r);
}

Test(resequencer, gives_a_hole_up_when_fences_of_all_members_have_passed)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 10);
	uint64_t now_ps = START_PS;

	cr_expect_eq(arrive(r, flow, 11, now_ps), RESEQUENCER_HELD);
	cr_expect_eq(arrive(r, flow, 13, now_ps), RESEQUENCER_HELD);
	cr_expect_null(resequencer_hole_due(r, now_ps + FENCE_PS - 1));
	cr_expect_eq(r->next_ps, now_ps + FENCE_PS);
	cr_expect_eq(resequencer_hole_due(r, now_ps + FENCE_PS), flow);
	cr_expect_null(resequencer_hole_due(r, now_ps + FENCE_PS), "asked once");
	cr_expect_eq(r->next_ps, now_ps + 8 * FENCE_PS);
	cr_expect_eq(resequencer_hole_due(r, now_ps + 8 * FENCE_PS), flow, "and again");
	now_ps += 9 * FENCE_PS;
	resequencer_fence(r, flow, 0, 9, 7, now_ps); /* behind the hole */
	resequencer_fence(r, flow, 1, 10, 7, now_ps);
	resequencer_fence(r, flow, 2, 13, 7, now_ps);
	cr_expect_null(resequencer_ready(r), "one is missing");
	cr_expect(!resequencer_passed(flow, 10));
	resequencer_fence(r, flow, 0, 13, 7, now_ps);
	cr_expect_eq(resequencer_ready(r), flow);
	/* 10 lay before every fence; 12 only before two of them. */
	EXPECT_NEXT(r, flow, now_ps, 11);
	cr_expect(resequencer_passed(flow, 11) && !resequencer_passed(flow, 12));
	cr_expect_eq(r->counters.lost[RESEQUENCER_FENCE], 1);
	cr_expect_eq(arrive(r, flow, SEQUENCE_START, now_ps), RESEQUENCER_LATE);
	cr_expect_eq(arrive(r, flow, 12, now_ps), RESEQUENCER_SEND);
	EXPECT_NEXT(r, flow, now_ps, 13);
	/* What is missing at the end has nothing behind it. */
	resequencer_fence(r, flow, 0, 15, 1, now_ps);
	cr_expect_eq(resequencer_ready(r), flow);
	cr_expect_null(resequencer_next(r, flow, now_ps));
	cr_expect(resequencer_passed(flow, 15) && !resequencer_passed(flow, 16));
	resequencer_free(r);
}

/* Its source asks for them, and fences prove nothing here. */
Test(resequencer, gives_the_last_numbers_up_when_the_flow_is_silent_for_the_time_out)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 10);
	uint64_t end_ps = START_PS + r->limits.timeout_ps;

	cr_expect_eq(arrive(r, flow, SEQUENCE_START, START_PS), RESEQUENCER_SEND);
	resequencer_expire(r, flow, 12, end_ps);
	cr_expect_null(resequencer_ready(r), "not yet");
	resequencer_expire(r, flow, 10, end_ps + 1);
	cr_expect_null(resequencer_ready(r), "that one has come");
	resequencer_expire(r, flow, 12, end_ps + 1);
	cr_assert_eq(resequencer_ready(r), flow);
	cr_expect_null(resequencer_next(r, flow, end_ps + 1));
	cr_expect(resequencer_passed(flow, 12) && !resequencer_passed(flow, 13));
	cr_expect_eq(r->counters.lost[RESEQUENCER_TIMEOUT], 2);
	/* With something held the hole shows, and has a clock of its own. */
	cr_expect_eq(arrive(r, flow, 14, end_ps + 1), RESEQUENCER_HELD);
	resequencer_expire(r, flow, 14, end_ps + 2 * r->limits.timeout_ps);
	cr_expect_null(resequencer_ready(r));
	resequencer_flush(r, flow);
	cr_expect_eq(resequencer_ready(r), flow);
	EXPECT_NEXT(r, flow, end_ps + 1, 14);
	resequencer_free(r);
}

Test(resequencer, gives_a_hole_up_after_the_time_out_which_stands_while_we_pause)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 10);
	uint64_t now_ps = START_PS, paused_ps = 100 * PS_PER_MS;

	cr_expect_eq(arrive(r, flow, 12, now_ps), RESEQUENCER_HELD);
	resequencer_clock_hold(r, 3, true, now_ps + PS_PER_MS);
	cr_expect_null(resequencer_hole_due(r, now_ps + 2 * TIMEOUT_PS));
	cr_expect_null(resequencer_ready(r));
	cr_expect(time_after(r->next_ps, now_ps + paused_ps));
	resequencer_clock_hold(r, 3, false, now_ps + PS_PER_MS + paused_ps);
	now_ps += paused_ps;
	while (resequencer_hole_due(r, now_ps + TIMEOUT_PS - 1) != NULL)
		;
	cr_expect_null(resequencer_ready(r));
	cr_expect_eq(r->next_ps, now_ps + TIMEOUT_PS);
	cr_expect_null(resequencer_hole_due(r, now_ps + TIMEOUT_PS));
	cr_expect_eq(resequencer_ready(r), flow);
	EXPECT_NEXT(r, flow, now_ps + TIMEOUT_PS, 12);
	cr_expect_eq(r->counters.given_up[RESEQUENCER_TIMEOUT], 1);
	cr_expect_eq(r->counters.lost[RESEQUENCER_TIMEOUT], 2);
	resequencer_free(r);
}

Test(resequencer, gives_a_hole_up_when_a_packet_comes_from_beyond_the_window)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 10);

	cr_expect_eq(arrive(r, flow, 11, START_PS), RESEQUENCER_HELD);
	cr_expect_eq(arrive(r, flow, 10 + 16383, START_PS), RESEQUENCER_HELD);
	cr_expect_null(resequencer_ready(r));
	cr_expect_eq(arrive(r, flow, 10 + 16384, START_PS), RESEQUENCER_HELD);
	cr_expect_eq(resequencer_ready(r), flow);
	EXPECT_NEXT(r, flow, START_PS, 11);
	cr_expect_eq(r->counters.lost[RESEQUENCER_WINDOW], 1);
	cr_expect_eq(flow->expected, 12);
	resequencer_free(r);
}

Test(resequencer, gives_the_oldest_hole_up_at_the_cap)
{
	struct resequencer *r = create(64, 64, 2 * COST);
	struct balance_key key = {1, 1u << 8, 0};
	struct resequencer_flow *first, *second = flow_of(r, 2, 10);

	cr_assert_eq(resequencer_install(r, &key, &OWNER, 10, 5, 5, START_PS), RESEQUENCER_YES);
	/* A higher priority's rings are looked at later. */
	first = resequencer_find(r, &key);

	cr_expect_eq(arrive(r, first, 11, START_PS), RESEQUENCER_HELD);
	cr_expect_eq(arrive(r, second, 11, START_PS + 1), RESEQUENCER_HELD);
	cr_expect_null(resequencer_ready(r));
	cr_expect_eq(arrive(r, second, 12, START_PS + 2), RESEQUENCER_HELD);
	cr_expect_eq(resequencer_ready(r), first);
	EXPECT_NEXT(r, first, START_PS + 2, 11);
	cr_expect_null(resequencer_ready(r));
	cr_expect_eq(r->counters.given_up[RESEQUENCER_CAP], 1);
	resequencer_flush_peer(r, OWNER.peer);
	cr_expect_eq(resequencer_ready(r), second);
	EXPECT_NEXT(r, second, START_PS + 2, 11, 12);
	cr_expect_eq(r->counters.held_packets, 0);
	resequencer_free(r);
}

Test(resequencer, LB_TABLE_FULL_refuses_and_keeps_each_flow_for_a_second)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_owner other = OWNER;
	struct balance_key key;

	for (uint32_t qp = 0; qp < 64; qp++)
		flow_of(r, qp, 2);
	key = key_of(64);
	cr_expect_eq(resequencer_install(r, &key, &OWNER, 2, 5, 0, START_PS), RESEQUENCER_FULL);
	cr_expect_null(resequencer_find(r, &key));
	resequencer_sweep(r, 64, START_PS + PS_PER_S);
	cr_expect_eq(r->counters.flows, 64);
	key = key_of(3);
	other.worker++;
	cr_expect_eq(resequencer_install(r, &key, &other, 2, 5, 0, START_PS + 10 * PS_PER_MS),
		     RESEQUENCER_OWNED);
	cr_expect_eq(resequencer_install(r, &key, &other, 9, 6, 0, START_PS + 10 * PS_PER_MS + 1),
		     RESEQUENCER_YES);
	cr_expect_eq(resequencer_find(r, &key)->port, 6);
	resequencer_sweep(r, 64, START_PS + PS_PER_S + 1);
	cr_expect_eq(r->counters.flows, 1);
	for (uint32_t qp = 0; qp < 64; qp++) {
		key = key_of(qp);
		cr_expect_eq(resequencer_find(r, &key) != NULL, qp == 3, "%u", qp);
	}
	resequencer_free(r);
}

Test(resequencer, finds_the_other_flows_when_some_are_forgotten)
{
	for (uint32_t round = 0; round < 50; round++) {
		struct resequencer *r = create(64, 64, 1000000);

		for (uint32_t i = 0; i < 64; i++) {
			struct balance_key key = key_of(64 * round + i);

			cr_assert_eq(resequencer_install(r, &key, &OWNER, 2, 5, 0,
							 START_PS + i % 2 * PS_PER_MS),
				     RESEQUENCER_YES);
		}
		resequencer_sweep(r, 64, START_PS + PS_PER_S + 1);
		for (uint32_t i = 0; i < 64; i++) {
			struct balance_key key = key_of(64 * round + i);
			const struct resequencer_flow *flow = resequencer_find(r, &key);

			cr_assert_eq(flow != NULL, i % 2, "%u", i);
			cr_assert(flow == NULL || balance_key_equal(&flow->key, &key));
		}
		resequencer_free(r);
	}
}

Test(resequencer, a_request_twice_changes_nothing_and_a_new_one_goes_on)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 10);
	struct balance_key key = key_of(1);

	cr_expect_eq(flow_of(r, 1, 10), flow);
	cr_expect_eq(arrive(r, flow, SEQUENCE_START, START_PS), RESEQUENCER_SEND);
	cr_expect_eq(arrive(r, flow, 11, START_PS), RESEQUENCER_SEND);
	cr_expect_eq(flow_of(r, 1, 10), flow);
	cr_expect_eq(flow->expected, 12);
	cr_expect_eq(arrive(r, flow, 13, START_PS), RESEQUENCER_HELD);
	cr_expect_eq(resequencer_install(r, &key, &OWNER, 20, 5, 0, START_PS), RESEQUENCER_BUSY);
	cr_expect_eq(arrive(r, flow, 12, START_PS), RESEQUENCER_SEND);
	EXPECT_NEXT(r, flow, START_PS, 13);
	flow_of(r, 1, 14);
	cr_expect_eq(arrive(r, flow, 15, START_PS), RESEQUENCER_HELD, "before its start");
	cr_expect_eq(arrive(r, flow, SEQUENCE_START, START_PS), RESEQUENCER_SEND);
	EXPECT_NEXT(r, flow, START_PS, 15);
	resequencer_free(r);
}

Test(resequencer, reports_silence_when_others_had_eight_packets)
{
	struct resequencer *r = create(64, 64, 1000000);
	struct resequencer_flow *flow = flow_of(r, 1, 2);
	uint64_t now_ps = START_PS;

	for (uint16_t number = 2; number < 10; number++)
		resequencer_arrive(r, flow, packet(number), number, COST, number == 2, now_ps);
	now_ps += 5 * PS_PER_US + 1;
	cr_expect_eq(resequencer_feedback_take(r, OWNER.peer, 1, now_ps).silent_ps, 0, "seven");
	resequencer_arrive(r, flow, packet(10), 10, COST, 0, now_ps);
	cr_expect_eq(resequencer_feedback_take(r, OWNER.peer, 1, now_ps - 1).silent_ps, 0);
	cr_expect_eq(resequencer_feedback_take(r, OWNER.peer, 1, now_ps).silent_ps,
		     5 * PS_PER_US + 1);
	cr_expect_eq(resequencer_feedback_take(r, OWNER.peer, 0, now_ps).packets, 8);
	resequencer_free(r);
}

/* ---------------------------------------------------------------- against a simple model */

#define RUN_PACKETS 300
#define RUN_FLOWS   3

/* A flow as an array: which of its packets have come, which of them is due, since when it waits. */
struct model {
	bool came[RUN_PACKETS];
	uint32_t due;
	uint32_t waiting; /* packets that came and weren't sent */
	uint64_t since_ps;
	uint32_t sent[2 * RUN_PACKETS]; /* what has to go out, in order */
	uint32_t sent_count;
};

struct run {
	struct resequencer *r;
	struct resequencer_flow *flow[RUN_FLOWS];
	struct model model[RUN_FLOWS];
	uint32_t got[RUN_FLOWS][2 * RUN_PACKETS];
	uint32_t got_count[RUN_FLOWS];
	uint64_t late, duplicates;
};

static void model_drain(struct model *m, uint64_t now_ps)
{
	uint32_t before = m->due;

	while (m->due < RUN_PACKETS && m->came[m->due]) {
		m->sent[m->sent_count++] = m->due++;
		m->waiting--;
	}
	if (m->due != before)
		m->since_ps = now_ps;
}

static void model_arrive(struct run *run, struct model *m, uint32_t i, uint64_t now_ps)
{
	if (i < m->due) {
		m->sent[m->sent_count++] = i;
		run->late++;
	} else if (m->came[i]) {
		run->duplicates++;
	} else {
		if (m->waiting == 0)
			m->since_ps = now_ps;
		m->came[i] = true;
		m->waiting++;
		model_drain(m, now_ps);
	}
}

static void model_time(struct model *m, uint64_t now_ps)
{
	if (m->waiting == 0 || time_after(m->since_ps + TIMEOUT_PS, now_ps))
		return;
	while (!m->came[m->due])
		m->due++;
	model_drain(m, now_ps);
}

/* Any number will do as long as each run draws the same ones (Knuth, MMIX). */
static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

static void got(struct run *run, uint32_t f, const struct rte_mbuf *packet)
{
	run->got[f][run->got_count[f]++] = (uint32_t)number_of(packet);
}

static void drain(struct run *run, struct resequencer_flow *flow, uint64_t now_ps)
{
	uint32_t f = (flow->key.flow >> 8) - 1;
	struct rte_mbuf *next;

	while ((next = resequencer_next(run->r, flow, now_ps)) != NULL)
		got(run, f, next);
}

static void run_time(struct run *run, uint64_t now_ps)
{
	struct resequencer_flow *flow;

	while (resequencer_hole_due(run->r, now_ps) != NULL)
		;
	while ((flow = resequencer_ready(run->r)) != NULL)
		drain(run, flow, now_ps);
	for (uint32_t f = 0; f < RUN_FLOWS; f++)
		model_time(&run->model[f], now_ps);
}

static void run_arrive(struct run *run, uint32_t f, uint32_t i, uint16_t number, uint64_t now_ps)
{
	switch (resequencer_arrive(run->r, run->flow[f], packet(i), number, COST, 0, now_ps)) {
	case RESEQUENCER_SEND:
		got(run, f, packet(i));
		drain(run, run->flow[f], now_ps);
		break;
	case RESEQUENCER_LATE:
		got(run, f, packet(i));
		break;
	case RESEQUENCER_HELD:
	case RESEQUENCER_DUPLICATE:
		break;
	}
	model_arrive(run, &run->model[f], i, now_ps);
}

/* One of 10,000 runs: three flows whose packets are lost, doubled and delayed at random. */
static void random_run(uint32_t seed)
{
	struct event {
		uint64_t at_ps;
		uint32_t flow, packet;
	} events[2 * RUN_FLOWS * RUN_PACKETS];
	static struct run run;
	uint64_t state = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
	uint64_t now_ps = START_PS, delay_ps = UINT64_C(1) << (10 + draw(&state, 24));
	uint32_t loss = draw(&state, 3) * 10, doubles = draw(&state, 2) * 20, count = 0;
	uint16_t first[RUN_FLOWS];

	memset(&run, 0, sizeof(run));
	run.r = create(64, 1024, 10000000);
	for (uint32_t f = 0; f < RUN_FLOWS; f++) {
		/* Some near the wrap. */
		first[f] = (uint16_t)(f == 0 ? 65535 - draw(&state, 250) : 2 + draw(&state, 65000));
		run.flow[f] = flow_of(run.r, f + 1, first[f]);
	}
	for (uint32_t i = 0; i < RUN_PACKETS; i++) {
		for (uint32_t f = 0; f < RUN_FLOWS; f++) {
			uint32_t copies = draw(&state, 1000) < loss ? 0 : 1;

			copies += copies != 0 && draw(&state, 1000) < doubles ? 1 : 0;
			for (; copies != 0; copies--)
				events[count++] = (struct event){
					START_PS + i * UINT64_C(5000000) +
						draw(&state, (uint32_t)(delay_ps >> 3)) *
							UINT64_C(8),
					f, i};
		}
	}
	/* Insertion: nearly sorted already, and stable. */
	for (uint32_t i = 1; i < count; i++)
		for (uint32_t k = i; k > 0 && time_after(events[k - 1].at_ps, events[k].at_ps);
		     k--) {
			struct event swap = events[k];

			events[k] = events[k - 1];
			events[k - 1] = swap;
		}
	for (uint32_t i = 0; i < count; i++) {
		const struct event *e = &events[i];
		uint16_t number = e->packet == 0
					  ? SEQUENCE_START
					  : sequence_plus(first[e->flow], (int32_t)e->packet);

		now_ps = e->at_ps;
		run_time(&run, now_ps);
		run_arrive(&run, e->flow, e->packet, number, now_ps);
	}
	for (uint32_t i = 0; i < RUN_PACKETS && run.r->counters.held_packets != 0; i++)
		run_time(&run, now_ps += TIMEOUT_PS);
	cr_assert_eq(run.r->counters.held_packets, 0, "seed %u: held forever", seed);
	cr_assert_eq(run.r->counters.held_bytes, 0);
	cr_assert_eq(run.r->counters.late, run.late, "seed %u", seed);
	cr_assert_eq(run.r->counters.duplicates, run.duplicates, "seed %u", seed);
	for (uint32_t f = 0; f < RUN_FLOWS; f++) {
		const struct model *m = &run.model[f];

		cr_assert_eq(run.got_count[f], m->sent_count, "seed %u", seed);
		cr_assert_eq(memcmp(run.got[f], m->sent, m->sent_count * sizeof(*m->sent)), 0,
			     "seed %u: another order", seed);
	}
	resequencer_free(run.r);
}

Test(resequencer, sends_what_a_simple_model_sends_in_ten_thousand_random_runs, .timeout = 100)
{
	for (uint32_t seed = 0; seed < 10000; seed++)
		random_run(seed);
}
