/* SPDX-License-Identifier: BSD-3-Clause */
/* Which packets of a flow carry a sequence, and when it may end. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/sequence.h"
#include "dataplane/balance/spray_source.h"
#include "dataplane/units.h"

enum { PEER = 3, PACKET = 4096, PROMOTE = 32768, RETRIES = 8 };

static const struct spray_source_params params = {
	.flows = 64,
	.promote_bytes = PROMOTE,
	.seed = 7,
	.retry_ps = 100 * PS_PER_US,
	.idle_ps = 10 * PS_PER_MS,
	.bar_ps = 10 * PS_PER_MS,
	.release_ps = PS_PER_S,
};

static struct spray_source source;
/* Just before time wraps. */
static uint64_t now = UINT64_MAX - 50 * PS_PER_US;
static uint32_t drained_asked, released_asked;

static void open_source(void)
{
	cr_assert(spray_source_init(&source, &params));
}

static void close_source(void)
{
	spray_source_fini(&source);
}

TestSuite(spray_source, .init = open_source, .fini = close_source);

static struct balance_key key_of(uint32_t qp)
{
	return (struct balance_key){.addresses = 0x0a0000020a000001, .flow = qp << 8 | 3};
}

static struct spray_decision send_sum(uint32_t qp, uint16_t checksum)
{
	const struct balance_key key = key_of(qp);

	return spray_source_packet(&source, &key, PEER, PACKET, checksum, now);
}

static struct spray_decision send_packet(uint32_t qp)
{
	return send_sum(qp, 0);
}

static void count_word(void *context, struct sprayed_flow *flow, enum spray_word word)
{
	(void)context;
	(void)flow;
	if (word == SPRAY_WORD_DRAINED)
		drained_asked++;
	else
		released_asked++;
}

static void sweep_all(void)
{
	drained_asked = released_asked = 0;
	for (uint32_t i = 0; i < 64; i++)
		spray_source_sweep(&source, now, count_word, NULL);
}

/* Send until it asks. */
static struct sprayed_flow *ask_for(uint32_t qp)
{
	struct spray_decision decision;

	for (uint32_t i = 1; i < PROMOTE / PACKET; i++) {
		decision = send_packet(qp);
		cr_assert_eq(decision.verdict, SPRAY_PASS);
		cr_assert_not(decision.request);
	}
	decision = send_packet(qp);
	cr_assert_eq(decision.verdict, SPRAY_PASS);
	cr_assert(decision.request);
	return decision.flow;
}

static struct sprayed_flow *sprayed(uint32_t qp)
{
	struct sprayed_flow *flow = ask_for(qp);

	spray_source_answer(&source, flow, flow->serial, true, now);
	return flow;
}

Test(spray_source, asks_at_its_bytes_and_again_until_it_gives_up)
{
	struct sprayed_flow *flow = ask_for(1);
	struct spray_decision decision;

	for (uint32_t request = 1; request < RETRIES; request++) {
		now += params.retry_ps - 1;
		cr_assert_not(send_packet(1).request, "too early");
		now += 1;
		decision = send_packet(1);
		cr_assert(decision.request);
		cr_assert_eq(decision.flow, flow);
	}
	now += params.retry_ps;
	cr_assert_not(send_packet(1).request);
	cr_assert_eq(flow->state, SPRAY_BARRED);
	cr_assert_eq(source.counters.refused, 1);
	now += params.bar_ps;
	send_packet(1);
	cr_assert_eq(flow->state, SPRAY_COUNTING);
}

Test(spray_source, the_start_goes_by_the_hash_and_numbers_follow)
{
	struct sprayed_flow *flow = sprayed(1);
	uint16_t first = flow->next;
	struct spray_decision decision = send_packet(1);

	cr_assert_eq(decision.verdict, SPRAY_FIRST);
	cr_assert_eq(decision.sequence, SEQUENCE_START);
	for (uint32_t i = 1; i < 70000; i++) {
		decision = send_packet(1);
		cr_assert_eq(decision.verdict, SPRAY_SEQUENCED);
		cr_assert_eq(decision.sequence,
			     sequence_plus(first, (int32_t)(i % SEQUENCE_COUNT)));
	}
}

Test(spray_source, a_no_and_a_late_yes_change_nothing)
{
	struct sprayed_flow *flow = ask_for(1);

	spray_source_answer(&source, flow, flow->serial + 1, true, now);
	cr_assert_eq(flow->state, SPRAY_ASKED, "to another request");
	spray_source_answer(&source, flow, flow->serial, false, now);
	cr_assert_eq(send_packet(1).verdict, SPRAY_PASS);
	spray_source_answer(&source, flow, flow->serial, true, now);
	cr_assert_eq(send_packet(1).verdict, SPRAY_PASS);
}

Test(spray_source, what_is_idle_is_pinned_and_goes_on_numbering_until_drained)
{
	struct sprayed_flow *flow = sprayed(1);
	uint16_t next;

	send_packet(1);
	send_packet(1);
	now += params.idle_ps;
	sweep_all();
	cr_assert_eq(flow->state, SPRAY_SPRAYED, "not yet");
	now += 1;
	sweep_all();
	cr_assert_eq(flow->state, SPRAY_PINNED);
	cr_assert_eq(source.counters.pinned[SPRAY_PIN_IDLE], 1);
	next = flow->next;
	sweep_all();
	cr_assert_eq(drained_asked, 1);
	cr_assert_eq(send_packet(1).verdict, SPRAY_FIRST);
	cr_assert_eq(flow->pinned_at, next);
	cr_assert_eq(flow->next, sequence_next(next));
	/* Another path: the question is another one. */
	spray_source_rerouted(&source, now);
	cr_assert_eq(flow->pinned_at, flow->next);
	spray_source_drained(&source, flow, flow->serial - 1, now);
	cr_assert_eq(flow->state, SPRAY_PINNED);
	spray_source_drained(&source, flow, flow->serial, now);
	cr_assert_eq(send_packet(1).verdict, SPRAY_PASS);
	/* Sprayed again, numbers go on. */
	next = flow->next;
	for (uint32_t i = 2; i < PROMOTE / PACKET; i++)
		send_packet(1);
	cr_assert(send_packet(1).request);
	cr_assert_eq(flow->next, next);
}

Test(spray_source, a_checksum_gives_way_as_long_as_the_destination_may_look_for_a_number)
{
	struct sprayed_flow *flow = sprayed(1);
	struct spray_decision decision;

	send_packet(1);
	decision = send_sum(1, 0x1234);
	cr_assert_eq(decision.verdict, SPRAY_FIRST);
	cr_assert_neq(decision.sequence, 0x1234);
	cr_assert_eq(flow->state, SPRAY_PINNED);
	spray_source_drained(&source, flow, flow->serial, now);
	cr_assert_eq(send_sum(1, 0x1234).verdict, SPRAY_CLEAR);
	cr_assert_eq(source.counters.checksums, 2);
	now += params.release_ps + 1;
	sweep_all();
	cr_assert_eq(released_asked, 1);
	cr_assert_eq(send_sum(1, 0x1234).verdict, SPRAY_CLEAR, "it may not have heard");
	spray_source_released(flow, flow->serial - 1);
	cr_assert_eq(send_sum(1, 0x1234).verdict, SPRAY_CLEAR, "an old word");
	spray_source_released(flow, flow->serial);
	cr_assert_eq(send_sum(1, 0x1234).verdict, SPRAY_PASS);
	for (uint32_t i = 0; i < 2 * PROMOTE / PACKET; i++)
		cr_assert_not(send_packet(1).request, "never again");
}

Test(spray_source, a_flow_with_checksums_is_never_asked_for)
{
	for (uint32_t i = 0; i < 3 * PROMOTE / PACKET; i++)
		cr_assert_not(send_sum(1, 1).request);
	cr_assert_eq(send_sum(1, 1).verdict, SPRAY_PASS);
}

Test(spray_source, LB_TABLE_FULL_flows_without_an_entry_stay_on_their_path)
{
	uint32_t asked = 0, passed = 0;

	for (uint32_t qp = 0; qp < 1000; qp++) {
		for (uint32_t i = 0; i < PROMOTE / PACKET; i++) {
			struct spray_decision decision = send_packet(qp);

			asked += decision.request;
			passed += decision.verdict == SPRAY_PASS;
			if (decision.request)
				spray_source_answer(&source, decision.flow, decision.flow->serial,
						    true, now);
		}
	}
	cr_assert_leq(asked, 64);
	cr_assert_gt(asked, 48);
	cr_assert_eq(passed, 1000 * PROMOTE / PACKET);
	cr_assert_gt(source.counters.unplaced, 0);
}

Test(spray_source, what_the_destination_may_know_keeps_its_entry_and_is_released_first)
{
	struct sprayed_flow *flow = sprayed(1);

	send_packet(1);
	spray_source_pin(&source, flow, SPRAY_PIN_ASKED, now);
	spray_source_drained(&source, flow, flow->serial, now);
	cr_assert_eq(flow->state, SPRAY_COUNTING);
	for (uint32_t qp = 2; qp < 1000; qp++)
		send_packet(qp);
	cr_assert_eq(spray_source_find(&source, &flow->key), flow);
	now += params.release_ps + 1;
	sweep_all();
	cr_assert_eq(released_asked, 1);
	/* Its packets go on; no new agreement before the end of the old one is known. */
	for (uint32_t i = 0; i < 2 * PROMOTE / PACKET; i++)
		cr_assert_not(send_packet(1).request);
	spray_source_released(flow, flow->serial);
	cr_assert(send_packet(1).request);
}

/* --- with a destination behind channels that lose and delay --- */

enum { DATA_MAX = 4096, WORDS_MAX = 64, STEPS = 4000, RUNS = 600 };

enum word { REQUEST, ANSWER, DRAINED_ASK, DRAINED, RELEASE, RELEASED };

struct data {
	uint32_t number;      /* the flow's packets, as the host sent them */
	uint16_t field;       /* as it arrives */
	uint16_t own;         /* the host's checksum */
	bool sequenced;       /* field is one */
	uint16_t number_sent; /* that it stands for */
};

struct message {
	enum word word;
	uint16_t next;
	uint32_t serial;
};

static struct world {
	uint32_t random;
	uint32_t stubborn;             /* one in so many packets has a checksum */
	struct data path[2][DATA_MAX]; /* [0] the hash's, in order; [1] all others, in any */
	uint32_t count[2];
	struct message word[2][WORDS_MAX]; /* [0] to the destination, [1] back; in any order */
	uint32_t words[2];
	uint32_t heard; /* serial of the latest word that the destination has heard */
	bool agreed;    /* the destination has an agreement */
	uint32_t sent, delivered;
	bool got[STEPS + 1];
} world;

static uint32_t draw(uint32_t below)
{
	world.random = world.random * 1664525u + 1013904223u;
	return (uint32_t)((uint64_t)world.random * below >> 32);
}

static void say_to(uint32_t way, struct message message)
{
	/* Lost, or doubled. */
	for (uint32_t copies = draw(4); copies != 0 && world.words[way] != WORDS_MAX; copies /= 2)
		world.word[way][world.words[way]++] = message;
}

static void say_word(void *context, struct sprayed_flow *flow, enum spray_word word)
{
	(void)context;
	say_to(0, word == SPRAY_WORD_DRAINED
			  ? (struct message){DRAINED_ASK, flow->pinned_at, flow->serial}
			  : (struct message){RELEASE, flow->next, flow->serial});
}

static void host_sends(void)
{
	const struct balance_key key = key_of(1);
	struct data data = {.number = world.sent++, .own = draw(world.stubborn) == 0 ? 0x4711 : 0};
	struct spray_decision decision =
		spray_source_packet(&source, &key, PEER, PACKET, data.own, now);
	uint32_t path = decision.verdict == SPRAY_SEQUENCED && draw(3) != 0;

	data.field = data.own;
	if (decision.verdict == SPRAY_CLEAR)
		data.field = 0;
	if (decision.verdict == SPRAY_FIRST || decision.verdict == SPRAY_SEQUENCED) {
		data.field = decision.sequence;
		data.number_sent = sequence_plus(decision.flow->next, -1);
		data.sequenced = true;
		cr_assert_neq(data.field, 0);
	}
	if (decision.request)
		say_to(0, (struct message){REQUEST, decision.flow->next, decision.flow->serial});
	cr_assert_lt(world.count[path], DATA_MAX);
	world.path[path][world.count[path]++] = data;
}

/* Nothing is lost on the data paths here: whatever the destination waits for comes. */
static void destination_gets(uint32_t path)
{
	uint32_t at = path == 0 ? 0 : draw(world.count[1]);
	struct data data = world.path[path][at];

	world.count[path]--;
	memmove(&world.path[path][at], &world.path[path][at + 1],
		(world.count[path] - at) * sizeof(data));
	if (!world.agreed) {
		cr_assert_not(data.sequenced, "a host would see a sequence");
	} else if (data.field != 0) {
		cr_assert(data.sequenced, "a host's checksum would be taken for a sequence");
	} else {
		/* It isn't held: all that was sent before it must be there. */
		for (uint32_t i = 0; i < data.number; i++)
			cr_assert(world.got[i], "%u would overtake %u", data.number, i);
	}
	world.got[data.number] = true;
	world.delivered++;
}

/* As the numbers of all that has come say. */
static bool misses_nothing_before(uint16_t next)
{
	for (uint32_t path = 0; path < 2; path++)
		for (uint32_t i = 0; i < world.count[path]; i++)
			if (world.path[path][i].sequenced &&
			    sequence_distance(world.path[path][i].number_sent, next) < 0)
				return false;
	return true;
}

static void destination_hears(void)
{
	uint32_t at = draw(world.words[0]);
	struct message message = world.word[0][at];

	world.word[0][at] = world.word[0][--world.words[0]];
	if (message.serial < world.heard)
		return;
	world.heard = message.serial;
	switch (message.word) {
	case REQUEST:
		world.agreed = true;
		say_to(1, (struct message){ANSWER, message.next, message.serial});
		break;
	case DRAINED_ASK:
		if (misses_nothing_before(message.next))
			say_to(1, (struct message){DRAINED, message.next, message.serial});
		break;
	default:
		if (!misses_nothing_before(message.next))
			break;
		world.agreed = false;
		say_to(1, (struct message){RELEASED, message.next, message.serial});
		break;
	}
}

static void source_hears(void)
{
	uint32_t at = draw(world.words[1]);
	struct message message = world.word[1][at];
	const struct balance_key key = key_of(1);
	struct sprayed_flow *flow = spray_source_find(&source, &key);

	world.word[1][at] = world.word[1][--world.words[1]];
	if (flow == NULL)
		return;
	if (message.word == ANSWER && message.next == flow->next)
		spray_source_answer(&source, flow, flow->serial, true, now);
	else if (message.word == DRAINED)
		spray_source_drained(&source, flow, message.serial, now);
	else if (message.word == RELEASED)
		spray_source_released(flow, message.serial);
}

static void run(uint32_t seed)
{
	memset(&world, 0, sizeof(world));
	world.random = seed;
	world.stubborn = seed % 2 == 0 ? 500 : 4000;
	for (uint32_t step = 0; step < STEPS; step++) {
		uint32_t what = draw(100);

		now += draw(40) * PS_PER_US;
		if (draw(200) == 0)
			now += draw(3) * params.idle_ps;
		if (draw(1000) == 0)
			now += params.release_ps + 1;
		if (what < 40)
			host_sends();
		else if (what < 58 && world.count[0] != 0)
			destination_gets(0);
		else if (what < 70 && world.count[1] != 0)
			destination_gets(1);
		else if (what < 83 && world.words[0] != 0)
			destination_hears();
		else if (what < 96 && world.words[1] != 0)
			source_hears();
		else
			for (uint32_t i = 0; i < 64; i++)
				spray_source_sweep(&source, now, say_word, NULL);
	}
}

Test(spray_source, no_sequence_leaks_no_checksum_is_mistaken_nothing_overtakes)
{
	uint64_t promoted = 0, drained = 0, checksums = 0;

	for (uint32_t seed = 1; seed <= RUNS; seed++) {
		spray_source_fini(&source);
		cr_assert(spray_source_init(&source, &params));
		run(seed);
		promoted += source.counters.promoted;
		drained += source.counters.drained;
		checksums += source.counters.checksums;
	}
	cr_assert_gt(promoted, RUNS);
	cr_assert_gt(drained, RUNS / 2);
	cr_assert_gt(checksums, RUNS);
}
