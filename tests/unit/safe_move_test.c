/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/balance/safe_move.h"

#define WINDOW_PS  (50 * PS_PER_US)
#define TICK_PS    (5 * PS_PER_US)
#define COOL_MIN   (25 * PS_PER_US)
#define COOL_MAX   (45 * PS_PER_US)
#define TIMEOUT_PS (100 * PS_PER_US)
#define ALL_UP     0xffffffffu

/* One worker of one leaf; a probe is answered at the next tick, unless `silent`. */
struct stand {
	struct elephants elephants;
	struct safe_move move;
	struct safe_move_ops ops;
	uint64_t now_ps;
	uint32_t flows;
	bool silent, busy; /* busy: flows send while they are to be paused */
	bool one_host;     /* all flows are of one */
	uint32_t asked;    /* probes that wait for their answer */
	uint16_t asked_peer[64];
	uint32_t asked_serial[64];
	int32_t paused[64]; /* by port */
	uint32_t pauses;
};

static void note_probe(void *context, const struct elephant *flow, uint32_t serial)
{
	struct stand *stand = context;

	cr_assert_lt(stand->asked, 64);
	stand->asked_peer[stand->asked] = flow->peer;
	stand->asked_serial[stand->asked++] = serial;
}

static void note_pause(void *context, uint16_t port, uint8_t priority, bool pause)
{
	struct stand *stand = context;

	cr_expect_eq(priority, 3);
	stand->paused[port] += pause ? 1 : -1;
	stand->pauses += pause;
	cr_expect(stand->paused[port] == 0 || stand->paused[port] == 1);
}

static void stand_open(struct stand *stand, uint16_t peers, uint8_t uplinks, uint64_t seed)
{
	memset(stand, 0, sizeof(*stand));
	stand->ops = (struct safe_move_ops){stand, note_probe, note_pause};
	cr_assert(elephants_init(&stand->elephants, &(struct elephants_params){
							    .flows = 1024,
							    .active_bytes = 1000,
							    .window_ps = WINDOW_PS,
							    .fade_windows = 2,
							    .idle_ps = PS_PER_MS,
						    }));
	cr_assert(safe_move_init(&stand->move, &(struct safe_move_params){
						       .peers = peers,
						       .ports = 64,
						       .seed = seed,
						       .cool_min_ps = COOL_MIN,
						       .cool_max_ps = COOL_MAX,
						       .timeout_ps = TIMEOUT_PS,
						       .fresh_ps = PS_PER_S,
					       }));
	for (uint16_t p = 0; p < peers; p++)
		for (uint8_t u = 0; u < uplinks; u++)
			safe_move_path_set(&stand->move, p, u, u, true, false);
}

static void stand_close(struct stand *stand)
{
	elephants_fini(&stand->elephants);
	safe_move_fini(&stand->move);
}

static void tell(struct stand *stand, uint16_t peer, const uint16_t *others, uint32_t count)
{
	safe_move_told(&stand->move, peer, others, count, stand->now_ps);
}

static void tell_nothing(struct stand *stand)
{
	for (uint16_t p = 0; p < stand->move.params.peers; p++)
		tell(stand, p, NULL, 0);
}

static struct elephant *send(struct stand *stand, uint32_t flow, uint16_t peer, uint8_t uplink,
			     uint32_t bytes)
{
	const struct balance_key key = {.addresses = flow + 1};
	const struct elephants_packet packet = {
		.bytes = bytes,
		.peer = peer,
		.port = stand->one_host ? 0 : (uint16_t)flow,
		.priority = 3,
		.uplink = uplink,
	};

	return elephants_packet(&stand->elephants, &key, &packet, ALL_UP, stand->now_ps);
}

/* Elephants, one for each peer and uplink given. */
static void add_elephants(struct stand *stand, const uint16_t *peer, const uint8_t *uplink,
			  uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		send(stand, i, peer[i], uplink[i], 1000);
	stand->now_ps += WINDOW_PS;
	for (uint32_t i = 0; i < count; i++)
		send(stand, i, peer[i], uplink[i], 1000);
	stand->flows = count;
	cr_assert_eq(stand->elephants.count, count);
}

static struct elephant *flow_of(struct stand *stand, uint32_t flow)
{
	for (uint32_t i = 0; i < stand->elephants.count; i++)
		if (stand->elephants.list[i]->key.addresses == flow + 1)
			return stand->elephants.list[i];
	cr_assert_fail("no elephant %u", flow);
	return NULL;
}

static void answer(struct stand *stand)
{
	uint32_t count = stand->asked;

	stand->asked = 0;
	for (uint32_t i = 0; i < count && !stand->silent; i++)
		safe_move_passed(&stand->move, stand->asked_peer[i], stand->asked_serial[i],
				 &stand->ops, stand->now_ps);
}

/* Flows go on sending: those that aren't paused, or all. */
static void tick(struct stand *stand)
{
	stand->now_ps += TICK_PS;
	for (uint32_t i = 0; i < stand->flows; i++) {
		struct elephant *flow = flow_of(stand, i);

		if (!flow->moving || stand->busy)
			send(stand, i, flow->peer, flow->uplink, 1000);
	}
	answer(stand);
	safe_move_tick(&stand->move, &stand->elephants, &stand->ops, stand->now_ps);
}

static void elephants_by_uplink(struct stand *stand, uint32_t *count)
{
	memset(count, 0, SAFE_MOVE_UPLINKS_MAX * sizeof(*count));
	for (uint32_t i = 0; i < stand->flows; i++)
		count[flow_of(stand, i)->uplink]++;
}

Test(safe_move, spreads_what_shares_one_uplink)
{
	static const uint16_t peer[] = {0, 1, 2, 3, 4, 5, 6, 7};
	static const uint8_t uplink[8];

	for (uint64_t seed = 0; seed < 20; seed++) {
		uint32_t count[SAFE_MOVE_UPLINKS_MAX], begun;
		struct stand stand;

		stand_open(&stand, 8, 8, seed);
		add_elephants(&stand, peer, uplink, 8);
		tell_nothing(&stand);
		for (uint32_t i = 0; i < 400; i++)
			tick(&stand);
		elephants_by_uplink(&stand, count);
		for (uint32_t u = 0; u < 8; u++)
			cr_expect_eq(count[u], 1, "seed %lu, uplink %u", seed, u);
		/* Then it rests. */
		begun = (uint32_t)stand.move.counters.begun;
		for (uint32_t i = 0; i < 2000; i++)
			tick(&stand);
		cr_expect_eq(stand.move.counters.begun, begun);
		cr_expect_eq(stand.move.active, 0);
		stand_close(&stand);
	}
}

/* No packet of theirs is on its way; and none has been counted yet. */
Test(safe_move, begins_new_flows_where_fewest_are)
{
	static const uint16_t others[] = {0, 0, 1, 1, 0};
	uint32_t used = 0;
	struct stand stand;

	stand_open(&stand, 8, 8, 1);
	for (uint16_t i = 0; i < 8; i++) {
		struct elephant *flow = send(&stand, i, i, 3, 1000);

		safe_move_place(&stand.move, flow, stand.now_ps);
		cr_expect(!flow->fresh && flow->moved == (flow->uplink != 3));
		used |= 1u << flow->uplink;
	}
	cr_expect_eq(used, 0xff);
	stand_close(&stand);

	/* By its hash, if others are no better; not where others come, nor by what is slow or down. */
	for (uint32_t row = 0; row < 3; row++) {
		static const uint8_t want[] = {0, 4, 2};
		struct elephant *flow;

		stand_open(&stand, 1, 5, 1);
		if (row != 2)
			tell(&stand, 0, others, 5);
		if (row != 0) {
			safe_move_path_set(&stand.move, 0, 0, 0, false, false);
			safe_move_path_set(&stand.move, 0, 1, 1, true, true);
		}
		flow = send(&stand, 0, 0, 0, 1000);
		safe_move_place(&stand.move, flow, stand.now_ps);
		cr_expect_eq(flow->uplink, want[row], "row %u: %u", row, flow->uplink);
		stand_close(&stand);
	}
}

/* Two elephants of a host have half of its link each, on one uplink or on two. */
Test(safe_move, leaves_together_what_one_host_sends)
{
	static const uint16_t peer[] = {0, 1};
	static const uint8_t uplink[] = {0, 0};

	for (uint32_t one_host = 0; one_host < 2; one_host++) {
		struct stand stand;

		stand_open(&stand, 2, 2, 1);
		stand.one_host = one_host;
		add_elephants(&stand, peer, uplink, 2);
		tell_nothing(&stand);
		for (uint32_t i = 0; i < 100; i++)
			tick(&stand);
		cr_expect_eq(stand.move.counters.begun, one_host ? 0 : 1);
		stand_close(&stand);
	}
}

/*
 * Three on a link, two of them of one host, which the pause silences: the one that moves gains 1/2 - 1/3 of a link,
 * the other one loses 1/2 for as long as it lasts. That pays after three times the cost.
 */
Test(safe_move, moves_what_lasts_long_enough_to_pay_for_it)
{
	static const uint16_t peer[] = {0, 1};
	static const uint8_t uplink[] = {0, 0};
	const uint64_t cost_ps = 100 * PS_PER_US;
	uint64_t since_ps;
	struct stand stand;

	stand_open(&stand, 2, 2, 1);
	stand.move.params.cost_ps = cost_ps;
	stand.one_host = true;
	add_elephants(&stand, peer, uplink, 2);
	since_ps = flow_of(&stand, 0)->listed_ps;
	safe_move_link_set(&stand.move, 0, 1);
	tell_nothing(&stand);
	while (stand.now_ps - since_ps < 3 * cost_ps - TICK_PS) {
		tick(&stand);
		cr_expect_eq(stand.move.counters.begun, 0);
	}
	for (uint32_t i = 0; i < 20; i++)
		tick(&stand);
	cr_expect_eq(stand.move.counters.begun, 1);
	stand_close(&stand);
}

/* What a conflict was handed on by stays, until others had their turn. */
Test(safe_move, rests_longer_after_a_move_that_changes_nothing)
{
	static const uint16_t peer[] = {0, 1}, one[] = {1, 0}, shut[] = {0, 1};
	static const uint8_t uplink[] = {0, 1};
	struct elephant *flow;
	uint64_t rest_ps;
	struct stand stand;

	stand_open(&stand, 2, 2, 1);
	add_elephants(&stand, peer, uplink, 2);
	tell(&stand, 0, one, 2);
	tell(&stand, 1, shut, 2);
	flow_of(&stand, 1)->cool_ps = PS_PER_S;
	flow = flow_of(&stand, 0);
	while (stand.move.counters.moved == 0)
		tick(&stand);
	rest_ps = flow->cool_ps - stand.now_ps;
	cr_expect_geq(rest_ps, SAFE_MOVE_PATIENCE * COOL_MIN);
	cr_expect_leq(rest_ps, SAFE_MOVE_PATIENCE * COOL_MAX);
	stand_close(&stand);
}

/* All of our uplinks are even; only the destination knows that two leaves use one path there. */
Test(safe_move, leaves_a_path_that_others_use_at_its_other_end)
{
	static const uint16_t peer[] = {0}, others[] = {1, 0, 2, 3};
	static const uint8_t uplink[] = {0};
	struct stand stand;

	stand_open(&stand, 1, 4, 1);
	add_elephants(&stand, peer, uplink, 1);
	tell(&stand, 0, others, 4);
	for (uint32_t i = 0; i < 100; i++)
		tick(&stand);
	cr_expect_eq(flow_of(&stand, 0)->uplink, 1);
	cr_expect_eq(stand.move.counters.moved, 1);
	stand_close(&stand);
}

/* Alone on a slow path it moves; and when nothing but a slow path is free, those that share stay. */
Test(safe_move, leaves_a_slow_path_and_never_takes_one)
{
	static const uint16_t peer[4];
	static const uint8_t alone[] = {0}, crowded[] = {1, 1, 2, 3};
	struct stand stand;

	stand_open(&stand, 1, 4, 1);
	safe_move_path_set(&stand.move, 0, 0, 0, true, true);
	add_elephants(&stand, peer, alone, 1);
	tell_nothing(&stand);
	for (uint32_t i = 0; i < 100; i++)
		tick(&stand);
	cr_expect_neq(flow_of(&stand, 0)->uplink, 0);
	cr_expect_eq(stand.move.counters.moved, 1);
	stand_close(&stand);

	stand_open(&stand, 1, 4, 1);
	safe_move_path_set(&stand.move, 0, 0, 0, true, true);
	add_elephants(&stand, peer, crowded, 4);
	tell_nothing(&stand);
	for (uint32_t i = 0; i < 2000; i++)
		tick(&stand);
	cr_expect_eq(stand.move.counters.begun, 0);
	stand_close(&stand);
}

/* A move alone changes nothing (a cell gains what an uplink loses); together they lower the sum by two. */
Test(safe_move, swaps_two_flows)
{
	static const uint16_t peer[] = {0, 1}, first[] = {1, 0}, second[] = {0, 1};
	static const uint8_t uplink[] = {0, 1};
	struct stand stand;

	stand_open(&stand, 2, 2, 1);
	add_elephants(&stand, peer, uplink, 2);
	tell(&stand, 0, first, 2);
	tell(&stand, 1, second, 2);
	for (uint32_t i = 0; i < 100 && stand.move.counters.begun == 0; i++)
		tick(&stand);
	cr_expect_eq(stand.move.active, 2);
	tick(&stand);
	cr_expect_eq(flow_of(&stand, 0)->uplink, 1);
	cr_expect_eq(flow_of(&stand, 1)->uplink, 0);
	stand_close(&stand);
}

Test(safe_move, never_moves_when_overload_is_uniform)
{
	static const uint16_t peer[] = {0, 0, 0, 0, 1, 1, 1, 1}, none[4], two[] = {2, 2, 2, 2};
	static const uint8_t uplink[] = {0, 1, 2, 3, 0, 1, 2, 3};
	static const struct {
		const char *name;
		const uint16_t *others;
		uint32_t flows;
	} rows[] = {
		{"two elephants on each uplink", none, 8},
		{"and others at the far end of each path", two, 8},
		{"others at the far end only", two, 4},
		{"nothing shares anything", none, 4},
	};

	for (uint32_t row = 0; row < sizeof(rows) / sizeof(*rows); row++) {
		struct stand stand;

		stand_open(&stand, 2, 4, row);
		add_elephants(&stand, peer, uplink, rows[row].flows);
		for (uint16_t p = 0; p < 2; p++)
			tell(&stand, p, rows[row].others, 4);
		for (uint32_t i = 0; i < 10000; i++)
			tick(&stand);
		cr_expect_eq(stand.move.counters.begun, 0, "%s", rows[row].name);
		stand_close(&stand);
	}
}

Test(safe_move, moves_nothing_towards_a_destination_that_tells_nothing)
{
	static const uint16_t peer[] = {0, 0};
	static const uint8_t uplink[] = {0, 0};
	struct stand stand;

	stand_open(&stand, 1, 2, 1);
	add_elephants(&stand, peer, uplink, 2);
	for (uint32_t i = 0; i < 100; i++)
		tick(&stand);
	cr_expect_eq(stand.move.counters.begun, 0);
	stand.move.params.fresh_ps = 20 * PS_PER_US;
	tell_nothing(&stand);
	stand.now_ps += 20 * PS_PER_US;
	for (uint32_t i = 0; i < 100; i++)
		tick(&stand);
	cr_expect_eq(stand.move.counters.begun, 0, "that was too long ago");
	stand_close(&stand);
}

/* One draw each: 4 sigma of a binomial. */
Test(safe_move, improves_every_other_time_and_goes_sideways_once_in_ten)
{
	/* Two on uplink 0, uplink 1 empty: improves. Others on one cell, and the uplinks crosswise: sideways. */
	static const uint16_t one_peer[] = {0, 0}, one[] = {1, 0, 0}, shut[] = {0, 1, 1};
	static const uint8_t both[] = {0, 0}, apart[] = {0, 1};
	const double improving = 2000 * .5, improving_sigma4 = 4 * 22.4; /* sqrt(2000/4) */
	const double sideways = 20000 * .1, sideways_sigma4 = 4 * 42.4;  /* sqrt(20000*.1*.9) */
	uint32_t improved = 0, went = 0;

	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct stand stand;

		stand_open(&stand, 1, 2, seed);
		add_elephants(&stand, one_peer, both, 2);
		tell_nothing(&stand);
		tick(&stand);
		improved += stand.move.counters.begun != 0;
		stand_close(&stand);
	}
	cr_expect_float_eq(improved, improving, improving_sigma4);
	for (uint64_t seed = 0; seed < 20000; seed++) {
		static const uint16_t peers[] = {0, 1};
		struct stand stand;

		/* Flow 0 shares its cell; elsewhere it would share an uplink. Flow 1 can't swap with it. */
		stand_open(&stand, 2, 2, seed);
		add_elephants(&stand, peers, apart, 2);
		tell(&stand, 0, one, 2);
		tell(&stand, 1, shut + 1, 1);
		flow_of(&stand, 1)->cool_ps = PS_PER_S;
		tick(&stand);
		went += stand.move.counters.begun != 0;
		stand_close(&stand);
	}
	cr_expect_float_eq(went, sideways, sideways_sigma4);
}

Test(safe_move, gives_up_at_the_timeout_and_lets_the_host_go)
{
	static const uint16_t peer[] = {0, 1};
	static const uint8_t uplink[] = {0, 0};
	uint64_t since_ps, cooled_ps = 0;
	struct stand stand;

	stand_open(&stand, 2, 2, 3);
	stand.silent = true;
	add_elephants(&stand, peer, uplink, 2);
	tell_nothing(&stand);
	for (uint32_t moves = 0; moves < 50; moves++) {
		struct elephant *flow = NULL;

		while (stand.move.active == 0)
			tick(&stand);
		since_ps = stand.now_ps;
		flow = flow_of(&stand, 0)->moving ? flow_of(&stand, 0) : flow_of(&stand, 1);
		cr_expect_eq(stand.paused[flow->port], 1);
		while (flow->moving)
			tick(&stand);
		cr_expect_geq(stand.now_ps - since_ps, TIMEOUT_PS);
		cr_expect_lt(stand.now_ps - since_ps, TIMEOUT_PS + TICK_PS);
		cr_expect_eq(stand.paused[flow->port], 0);
		cr_expect_eq(flow->uplink, 0);
		cooled_ps = flow->cool_ps - stand.now_ps;
		cr_expect_geq(cooled_ps, COOL_MIN);
		cr_expect_leq(cooled_ps, COOL_MAX);
	}
	cr_expect_geq(stand.move.counters.timeouts, 50);
	cr_expect_eq(stand.move.counters.moved, 0);
	stand_close(&stand);
}

Test(safe_move, probes_again_behind_what_was_sent_since)
{
	static const uint16_t peer[] = {0, 1};
	static const uint8_t uplink[] = {0, 0};
	struct stand stand;

	stand_open(&stand, 2, 2, 3);
	stand.busy = true; /* a host that doesn't obey */
	add_elephants(&stand, peer, uplink, 2);
	tell_nothing(&stand);
	while (stand.move.active == 0)
		tick(&stand);
	for (uint32_t i = 0; i < 5; i++)
		tick(&stand);
	cr_expect_eq(stand.move.counters.moved, 0);
	cr_expect_geq(stand.move.counters.probes, 6);
	stand.busy = false;
	while (stand.move.active != 0)
		tick(&stand);
	cr_expect_eq(stand.move.counters.moved, 1);
	stand_close(&stand);
}

Test(safe_move, aborts_when_the_flow_or_its_new_uplink_has_gone)
{
	static const uint16_t peer[] = {0, 1};
	static const uint8_t uplink[] = {0, 0};

	for (uint32_t row = 0; row < 3; row++) {
		struct elephant *flow;
		struct stand stand;

		stand_open(&stand, 2, 2, 3);
		add_elephants(&stand, peer, uplink, 2);
		tell_nothing(&stand);
		while (stand.move.active == 0)
			tick(&stand);
		flow = flow_of(&stand, 0)->moving ? flow_of(&stand, 0) : flow_of(&stand, 1);
		if (row == 0) {
			safe_move_path_set(&stand.move, flow->peer, 1, 1, false, false);
		} else if (row == 1) { /* there and back: on two paths */
			send(&stand, (uint32_t)flow->key.addresses - 1, flow->peer, 1, 100);
			send(&stand, (uint32_t)flow->key.addresses - 1, flow->peer, 0, 100);
			stand.asked = 0;
			stand.asked_serial[0] = stand.move.serial;
			stand.asked_peer[0] = flow->peer;
			stand.asked = 1;
		} else {
			safe_move_forget(&stand.move, flow->peer, &stand.ops, stand.now_ps);
		}
		answer(&stand);
		cr_expect_eq(stand.move.counters.aborted, 1, "row %u", row);
		cr_expect_eq(stand.move.counters.moved, 0, "row %u", row);
		cr_expect_eq(flow->uplink, 0, "row %u", row);
		cr_expect_eq(stand.paused[flow->port], 0, "row %u", row);
		stand_close(&stand);
	}
}

Test(safe_move, begins_at_most_one_move_or_swap_a_tick_and_few_at_a_time)
{
	static uint16_t peer[64];
	static uint8_t uplink[64];
	uint64_t begun = 0;
	struct stand stand;

	for (uint16_t i = 0; i < 64; i++)
		peer[i] = i % 8;
	stand_open(&stand, 8, 32, 5);
	stand.silent = true;
	add_elephants(&stand, peer, uplink, 64);
	tell_nothing(&stand);
	for (uint32_t i = 0; i < 1000; i++) {
		tick(&stand);
		cr_expect_leq(stand.move.counters.begun - begun, 2);
		cr_expect_leq(stand.move.active, SAFE_MOVES);
		begun = stand.move.counters.begun;
	}
	cr_expect_gt(begun, 100);
	stand_close(&stand);
}

/* Two workers, each with four flows; what one has, the other is told of. */
Test(safe_move, workers_decide_for_their_own_flows)
{
	static const uint16_t peer[] = {0, 1, 2, 3};
	static const uint8_t uplink[4];

	for (uint64_t seed = 0; seed < 20; seed++) {
		uint32_t all[SAFE_MOVE_UPLINKS_MAX] = {0};
		struct stand worker[2];

		for (uint32_t w = 0; w < 2; w++) {
			stand_open(&worker[w], 4, 8, 2 * seed + w);
			add_elephants(&worker[w], peer, uplink, 4);
			tell_nothing(&worker[w]);
		}
		for (uint32_t i = 0; i < 1000; i++)
			for (uint32_t w = 0; w < 2; w++) {
				struct stand *other = &worker[1 - w];

				for (uint8_t u = 0; u < 8; u++)
					safe_move_link_set(&worker[w].move, u,
							   other->move.link_own[u]);
				for (uint16_t p = 0; p < 4; p++)
					tell(&worker[w], p, other->move.peer[p].own, 8);
				tick(&worker[w]);
			}
		for (uint32_t w = 0; w < 2; w++) {
			uint32_t count[SAFE_MOVE_UPLINKS_MAX];

			elephants_by_uplink(&worker[w], count);
			for (uint32_t u = 0; u < 8; u++)
				all[u] += count[u];
			stand_close(&worker[w]);
		}
		for (uint32_t u = 0; u < 8; u++)
			cr_expect_eq(all[u], 1, "seed %lu, uplink %u", seed, u);
	}
}
