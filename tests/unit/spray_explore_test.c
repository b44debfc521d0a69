/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two real leaves with a flow between them, explored: the run without a fault is repeated with every fault at every
 * frame between the leaves, and with two of them at every two frames of a window. Whatever happens, the host at
 * the end sees no number, nothing twice, and nothing late (unless a packet and a word were lost); what wasn't lost
 * arrives; and a while after the last fault nothing is held, and the flow is sprayed by both uplinks.
 *
 * A frame may be lost, sent twice, or stand in the way of its uplink for some time; and with it a leaf may be
 * restarted, which is away for RESTART_PS and forgets everything.
 *
 * Only some of them are explored, all with ROCELEAF_TEST_LONG in the environment: 4400 runs, two minutes.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/spray_fixture.h"

enum { A, B, SIDES, WIRE_FRAMES = 256, EVENTS_MAX = 4096, WINDOW = 24 };

#define PROMOTE        4000
#define PAYLOAD        1000
#define QP             0x111
#define UDP_OFFSET     (14 + 20)
#define CABLE_PS       (2 * PS_PER_US)
#define DELAY_PS       (300 * PS_PER_US)
#define RESTART_PS     PS_PER_MS
#define LAST_PLAIN_MAX 12 /* of 40: promoted, asked and answered by then */
#define MEET_PS        (SPRAY_START_PS + 5 * PS_PER_MS)

#define FAULTS(X)                   \
	X(NOTHING, "nothing")       \
	X(LOSE, "lost")             \
	X(REPEAT, "sent twice")     \
	X(DELAY, "delayed")         \
	X(RESTART_A, "A restarted") \
	X(RESTART_B, "B restarted")
#define FAULT_ENUM_(id, word) id,
enum fault_kind { FAULTS(FAULT_ENUM_) FAULT_KINDS };
#define FAULT_WORD_(id, word) word,
static const char *const fault_words[] = {FAULTS(FAULT_WORD_)};

/* Hellos and feedback come all the time, and are counted apart. */
enum event_class { WORDS, PERIODIC, CLASSES };

struct fault {
	uint32_t event; /* which one of its class */
	enum event_class class;
	enum fault_kind kind;
};

struct plan {
	struct fault fault[2];
};

struct flight {
	struct frame frame;
	uint64_t arrival_ps;
};

struct wire {
	struct flight flight[WIRE_FRAMES];
	uint32_t head, tail;
	uint64_t free_ps;
};

struct burst_of {
	uint64_t at_ps; /* after they have met */
	uint32_t packets;
	uint64_t gap_ps;
};

/* What the host at A sends: the last burst comes after all faults. */
struct script {
	uint32_t bursts;
	struct burst_of burst[4];
	uint64_t faults_from_ps;
};

static struct leaf_fixture leaf[SIDES];
static struct spray_peer peer[SIDES];
static struct wire wire[SIDES][SPRAY_UPLINKS]; /* by who sends */
static uint64_t away_until_ps[SIDES], epoch[SIDES];
static uint64_t now_ps, begun_ps, faults_end_ps;
static uint32_t events[CLASSES], restarts;
static uint8_t event_type[CLASSES][EVENTS_MAX]; /* of the run without faults; 0: a packet */
static uint32_t sent, first_of_last, lost, repeated;
static uint32_t arrived, last_number;
static uint32_t numbered_by[SPRAY_UPLINKS], plain_of_last;
static const struct script *script;
static const struct plan *plan;
static uint32_t runs_begun; /* numbers of flows begin elsewhere in each */

static const char *plan_text(void)
{
	static char text[160];
	size_t used = (size_t)snprintf(text, sizeof(text), "run %u: ", runs_begun);

	for (int i = 0; i < 2; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s %u %s; ",
					 plan->fault[i].class == WORDS ? "frame" : "hello",
					 plan->fault[i].event, fault_words[plan->fault[i].kind]);
	return text;
}

static void side_start(int side)
{
	static const struct spray_side sides[SIDES] = {
		{.ours = 0x0aff0001,
		 .theirs = 0x0aff0002,
		 .host_mac = UINT64_C(0x02000000aa01),
		 .host = "12.0.0.5",
		 .prefix = "12.0.0.0/24",
		 .their_prefix = "11.0.0.0/8",
		 .promote_bytes = PROMOTE},
		{.ours = 0x0aff0002,
		 .theirs = 0x0aff0001,
		 .host_mac = UINT64_C(0x02000000aa02),
		 .host = "11.0.0.1",
		 .prefix = "11.0.0.0/24",
		 .their_prefix = "12.0.0.0/8",
		 .promote_bytes = PROMOTE},
	};
	struct spray_side one = sides[side];

	one.epoch = ++epoch[side];
	one.peer = &peer[side];
	fixture_open_at(&leaf[side], SPRAY_PORTS, now_ps);
	spray_fixture_start(&leaf[side], &one);
}

static void restart(int side)
{
	restarts++;
	fixture_close(&leaf[side]);
	away_until_ps[side] = now_ps + RESTART_PS;
	/* What is under way to it finds nobody. */
	for (uint32_t u = 0; u < SPRAY_UPLINKS; u++)
		wire[1 - side][u].head = wire[1 - side][u].tail;
}

static bool is_away(int side)
{
	return away_until_ps[side] != 0;
}

static uint16_t checksum_of(const struct frame *frame)
{
	return (uint16_t)(frame->byte[UDP_OFFSET + 6] << 8 | frame->byte[UDP_OFFSET + 7]);
}

/* 0: a packet of a host */
static uint8_t message_type(const struct frame *frame)
{
	uint16_t port = (uint16_t)(frame->byte[UDP_OFFSET + 2] << 8 | frame->byte[UDP_OFFSET + 3]);

	return port == SPRAY_PORT ? frame->byte[UDP_OFFSET + 8 + 1] : 0;
}

static enum fault_kind fault_now(enum event_class class, uint32_t event)
{
	for (int i = 0; i < 2; i++)
		if (plan->fault[i].kind != NOTHING && plan->fault[i].class == class &&
		    plan->fault[i].event == event)
			return plan->fault[i].kind;
	return NOTHING;
}

static void put(struct wire *on, const struct frame *frame)
{
	struct flight *flight = &on->flight[on->tail % WIRE_FRAMES];

	cr_assert_lt(on->tail - on->head, WIRE_FRAMES, "%s", plan_text());
	on->tail++;
	on->free_ps = time_max(on->free_ps, now_ps);
	flight->frame = *frame;
	flight->arrival_ps = on->free_ps + CABLE_PS;
}

/* A leaf has sent a frame by an uplink: what happens to it? A spine changes its MAC addresses. */
static void cross(int side, uint32_t uplink, struct frame *frame)
{
	struct wire *on = &wire[side][uplink];
	uint8_t type = message_type(frame);
	enum event_class class = type == SPRAY_HELLO || type == SPRAY_FEEDBACK ? PERIODIC : WORDS;
	enum fault_kind kind = NOTHING;

	mac_store(frame->byte, FIXTURE_ROUTER);
	mac_store(frame->byte + 6, router_peer((uint16_t)(SPRAY_UP + uplink)));
	if (type == 0 && frame_number(frame) >= first_of_last) {
		if (checksum_of(frame) > 1)
			numbered_by[uplink]++;
		else
			plain_of_last++;
	}
	if (!time_after(begun_ps + script->faults_from_ps, now_ps) && now_ps < faults_end_ps) {
		if (events[class] < EVENTS_MAX && plan->fault[0].kind == NOTHING)
			event_type[class][events[class]] = type;
		kind = fault_now(class, events[class]++);
	}
	if (kind == LOSE || is_away(1 - side)) {
		lost += type == 0;
		return;
	}
	if (kind == DELAY)
		on->free_ps = time_max(on->free_ps, now_ps) + DELAY_PS;
	put(on, frame);
	if (kind == REPEAT) {
		put(on, frame);
		repeated = type == 0 ? frame_number(frame) : 0;
	}
	if (kind == RESTART_A || kind == RESTART_B)
		restart(kind == RESTART_A ? A : B);
}

/* A host gets a frame. */
static void arrive(int side, const struct frame *frame)
{
	uint32_t number = frame_number(frame);

	cr_assert_eq(side, B, "%s", plan_text());
	cr_assert_eq(message_type(frame), 0);
	cr_assert_eq(checksum_of(frame), 0, "%s a number leaks with packet %u", plan_text(),
		     number);
	/* A packet that the network doubles comes twice, unless one of them is still held. */
	if (number == repeated && number <= last_number) {
		repeated = 0;
		return;
	}
	/* What is held behind a packet that was lost may be overtaken when numbers end just then. */
	cr_assert(number > last_number || (plan->fault[1].kind != NOTHING && lost != 0),
		  "%s packet %u comes after %u", plan_text(), number, last_number);
	if (number > last_number)
		last_number = number;
	arrived++;
}

static void host_sends(void)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = UINT64_C(0x02000000aa01),
		      .family = 4, .source = 0x0c000005, .destination = 0x0b000001,
		      .traffic_class = SPRAY_TEST_DSCP << 2 | 2, .source_port = 50000, .roce = true,
		      .opcode = 4, .qp = QP, .psn = sent + 1, .payload_bytes = PAYLOAD,
		      .number = sent + 1);

	sent++;
	if (is_away(A))
		lost++;
	else
		fixture_inject(&leaf[A], SPRAY_HOST, &frame);
}

/* One leaf at this time. @return when it wants to run again */
static uint64_t step(int side)
{
	struct frame frame;

	if (is_away(side)) {
		if (time_after(away_until_ps[side], now_ps))
			return away_until_ps[side];
		away_until_ps[side] = 0;
		side_start(side);
	}
	leaf[side].now_ps = now_ps;
	fixture_poll(&leaf[side]);
	for (uint32_t u = 0; u < SPRAY_UPLINKS; u++)
		while (!is_away(side) &&
		       fixture_take(&leaf[side], (uint16_t)(SPRAY_UP + u), &frame))
			cross(side, u, &frame);
	while (!is_away(side) && fixture_take(&leaf[side], SPRAY_HOST, &frame))
		arrive(side, &frame);
	return is_away(side) ? away_until_ps[side] : time_max(leaf[side].due_ps, now_ps);
}

/* Frames that have arrived by now. */
static void deliver(void)
{
	for (int side = 0; side < SIDES; side++) {
		for (uint32_t u = 0; u < SPRAY_UPLINKS; u++) {
			struct wire *from = &wire[side][u];

			for (; from->head != from->tail; from->head++) {
				struct flight *flight = &from->flight[from->head % WIRE_FRAMES];

				if (time_after(flight->arrival_ps, now_ps))
					break;
				fixture_inject(&leaf[1 - side], (uint16_t)(SPRAY_UP + u),
					       &flight->frame);
			}
		}
	}
}

static uint64_t next_arrival(void)
{
	uint64_t next_ps = now_ps + PS_PER_S;

	for (int side = 0; side < SIDES; side++)
		for (uint32_t u = 0; u < SPRAY_UPLINKS; u++) {
			const struct wire *from = &wire[side][u];

			if (from->head != from->tail)
				next_ps = time_min(
					next_ps, from->flight[from->head % WIRE_FRAMES].arrival_ps);
		}
	return next_ps;
}

static void run_until(uint64_t until_ps)
{
	while (time_after(until_ps, now_ps)) {
		uint64_t next_ps = until_ps;

		deliver();
		for (int side = 0; side < SIDES; side++)
			next_ps = time_min(next_ps, step(side));
		now_ps = time_max(now_ps, time_min(next_ps, next_arrival()));
	}
}

static const struct burst_of *last_burst(const struct script *of)
{
	return &of->burst[of->bursts - 1];
}

static void begin(const struct script *as, const struct plan *with)
{
	script = as;
	plan = with;
	memset(events, 0, sizeof(events));
	memset(numbered_by, 0, sizeof(numbered_by));
	memset(away_until_ps, 0, sizeof(away_until_ps));
	sent = lost = repeated = arrived = last_number = restarts = plain_of_last = 0;
	first_of_last = UINT32_MAX;
	now_ps = PS_PER_S;
	epoch[A] = epoch[B] = UINT64_C(10) * ++runs_begun;
	for (int side = 0; side < SIDES; side++) {
		side_start(side);
		for (uint32_t u = 0; u < SPRAY_UPLINKS; u++)
			wire[side][u] = (struct wire){.free_ps = now_ps};
	}
	begun_ps = now_ps + MEET_PS;
	faults_end_ps = begun_ps + last_burst(script)->at_ps - 2 * SPRAY_START_PS;
	run_until(begun_ps);
}

static void end(void)
{
	run_until(now_ps + 20 * PS_PER_MS);
	for (int side = 0; side < SIDES; side++) {
		struct spray_totals totals;

		leaf_spray_totals(leaf[side].leaf, &totals);
		cr_assert_eq(totals.held_packets, 0, "%s packets are held for ever", plan_text());
		cr_assert_eq(fixture_queued(&leaf[side]), 0);
	}
	/* What a leaf had when it was restarted nobody counts any more. */
	if (restarts == 0) {
		cr_assert_eq(arrived, sent - lost, "%s %u of %u arrived, %u lost", plan_text(),
			     arrived, sent, lost);
	} else {
		cr_assert_leq(arrived + lost, sent, "%s", plan_text());
	}
	cr_assert_eq(last_number, sent, "%s the last one hasn't arrived", plan_text());
	cr_assert(numbered_by[0] > 0 && numbered_by[1] > 0 && plain_of_last <= LAST_PLAIN_MAX,
		  "%s not sprayed in the end: %u and %u by uplink, %u without a number",
		  plan_text(), numbered_by[0], numbered_by[1], plain_of_last);
	for (int side = 0; side < SIDES; side++)
		fixture_close(&leaf[side]);
}

static void run(const struct script *as, const struct plan *with)
{
	begin(as, with);
	for (uint32_t b = 0; b < script->bursts; b++) {
		run_until(begun_ps + script->burst[b].at_ps);
		if (b == script->bursts - 1)
			first_of_last = sent + 1;
		for (uint32_t i = 0; i < script->burst[b].packets; i++) {
			host_sends();
			run_until(now_ps + script->burst[b].gap_ps);
		}
	}
	end();
}

/* Agreement, demotion after 10 ms of silence, agreement again. */
static const struct script agreement = {
	.bursts = 3,
	.burst = {{0, 16, 2 * PS_PER_US},
		  {25 * PS_PER_MS, 12, 2 * PS_PER_US},
		  {260 * PS_PER_MS, 40, 3 * PS_PER_US}},
};

/* A flow that has been idle for a second is released, and comes again. */
static const struct script release = {
	.bursts = 3,
	.burst = {{0, 16, 2 * PS_PER_US},
		  {1100 * PS_PER_MS, 12, 2 * PS_PER_US},
		  {1350 * PS_PER_MS, 40, 3 * PS_PER_US}},
	.faults_from_ps = 900 * PS_PER_MS,
};

static bool is_long(void)
{
	return getenv("ROCELEAF_TEST_LONG") != NULL;
}

/* Each fault at each event of a class, or each n-th. @return how many runs */
static uint32_t explore_single(const struct script *as, enum event_class class, uint32_t every)
{
	static const struct plan none;
	uint32_t count, runs = 1;

	run(as, &none);
	count = events[class];
	cr_assert_lt(count, EVENTS_MAX);
	for (uint32_t event = 0; event < count; event += every) {
		for (enum fault_kind kind = LOSE; kind < FAULT_KINDS; kind++, runs++) {
			struct plan one = {.fault = {{event, class, kind}}};

			run(as, &one);
		}
	}
	return runs;
}

/* A lost frame, and after it another one, or a restart; every n-th. */
static uint32_t explore_pairs(const struct script *as, uint32_t every)
{
	static const enum fault_kind second[] = {LOSE, DELAY, RESTART_A, RESTART_B};
	static const struct plan none;
	uint32_t count, runs = 0, turn = 0;

	run(as, &none);
	count = events[WORDS];
	for (uint32_t event = 0; event < count; event++)
		for (uint32_t later = event + 1; later <= event + WINDOW; later++)
			for (uint32_t k = 0; k < sizeof(second) / sizeof(second[0]); k++) {
				struct plan two = {
					.fault = {{event, WORDS, LOSE}, {later, WORDS, second[k]}}};

				if (turn++ % every == 0) {
					run(as, &two);
					runs++;
				}
			}
	return runs;
}

/* The run without faults has all that is explored in it. */
static uint32_t seen(uint8_t type)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < events[WORDS]; i++)
		count += event_type[WORDS][i] == type;
	return count;
}

Test(spray_explore, each_word_and_packet, .timeout = 600)
{
	static const struct plan none;

	fixture_start_eal();
	run(&agreement, &none);
	cr_expect_geq(seen(SPRAY_REQUEST), 2);
	cr_expect_geq(seen(SPRAY_ANSWER), 2);
	cr_expect_geq(seen(SPRAY_DEMOTE), 1);
	cr_expect_geq(seen(SPRAY_DRAINED), 1);
	cr_expect_eq(seen(0), 28);
	printf("%u runs\n", explore_single(&agreement, WORDS, is_long() ? 1 : 2));
}

Test(spray_explore, each_hello_and_feedback, .timeout = 600)
{
	fixture_start_eal();
	printf("%u runs\n", explore_single(&agreement, PERIODIC, is_long() ? 1 : 12));
}

Test(spray_explore, two_faults, .timeout = 600)
{
	fixture_start_eal();
	printf("%u runs\n", explore_pairs(&agreement, is_long() ? 1 : 80));
}

Test(spray_explore, release_of_a_flow, .timeout = 600)
{
	static const struct plan none;

	fixture_start_eal();
	run(&release, &none);
	cr_expect_geq(seen(SPRAY_RELEASE), 1);
	cr_expect_geq(seen(SPRAY_RELEASED), 1);
	printf("%u runs\n", explore_single(&release, WORDS, is_long() ? 1 : 6));
}
