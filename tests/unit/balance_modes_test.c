/* SPDX-License-Identifier: BSD-3-Clause */
/* Modes of balancing, through a leaf with some uplinks. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/quality.h"
#include "tests/unit/leaf_fixture.h"

#define HOST   UINT64_C(0x02000000aa01)
#define GAP_PS (50 * PS_PER_US)

enum { IN, UPLINK, UPLINKS = 4, PORT_COUNT = UPLINK + UPLINKS, LOSSLESS = 3, DSCP_LOSSLESS = 26 };

static struct leaf_fixture f;

/* Weights in quarters of the largest; the routers of uplinks are the next hops of 11/8 and fd01::/16. */
static struct snapshot *modes_open(enum balance_mode mode, const uint32_t weight[UPLINKS],
				   uint32_t flows)
{
	struct snapshot *snapshot;
	struct group *group;
	uint32_t index;

	static bool started;

	if (!started)
		fixture_start_eal();
	started = true;
	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, PORT_COUNT);
	index = snapshot_group(snapshot, GROUP_VIA, UPLINK, 0, 0);
	group = &snapshot->group[index];
	group->members = UPLINK; /* snapshot_router() makes them in order */
	group->balanced = UPLINKS;
	for (uint32_t i = 0; i < UPLINKS; i++)
		snapshot->adjacency[UPLINK + i].weight = weight[i] * (BALANCE_WEIGHT_MAX / 4);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		snapshot->class[p].balance = BALANCE_ECMP;
	snapshot->class[LOSSLESS].balance = (uint8_t)mode;
	snapshot->balance = (struct balance_table){.gap_ps = GAP_PS, .flows = flows};
	fixture_route(&f, "11.0.0.0/8", index);
	fixture_route(&f, "fd01::/16", index);
	return snapshot;
}

static void start_mode(enum balance_mode mode, const uint32_t weight[UPLINKS], uint32_t flows)
{
	fixture_publish(&f, modes_open(mode, weight, flows));
}

static const uint32_t alike[UPLINKS] = {4, 4, 4, 4};

static struct frame flow_frame(uint32_t flow, uint8_t dscp)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		     .source = 0x0a000001, .destination = 0x0b000001, .source_port = 49152,
		     .roce = true, .qp = 0x20 + flow, .traffic_class = (uint8_t)(dscp << 2),
		     .payload_bytes = 64);
}

/* Where one packet goes, now. */
static uint16_t uplink_of(const struct frame *in)
{
	uint16_t found = PORT_NONE;
	struct frame out;

	fixture_inject(&f, IN, in);
	fixture_poll(&f);
	/* Another worker's port. */
	fixture_poll(&f);
	for (uint16_t port = UPLINK; port < PORT_COUNT; port++) {
		while (fixture_take(&f, port, &out)) {
			cr_assert_eq(found, PORT_NONE);
			found = port;
		}
	}
	cr_assert_neq(found, PORT_NONE);
	return found;
}

/* Have an uplink send so many full frames, at once. */
static void load_uplink(uint16_t port, uint32_t frames)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		      .source = 0x0a000002, .destination = 0x0a000001 | (uint32_t)port << 16,
		      .source_port = 1, .traffic_class = DSCP_LOSSLESS << 2, .payload_bytes = 1400);

	for (uint32_t i = 0; i < frames; i++)
		fixture_inject(&f, IN, &frame);
	fixture_settle(&f);
	cr_assert_eq(fixture_discard(&f, port), frames);
}

static void move_at_the_gap(enum balance_mode mode)
{
	struct frame packet = flow_frame(1, DSCP_LOSSLESS);
	struct balance_totals totals;
	uint64_t last_ps;
	uint16_t first, next;

	start_mode(mode, alike, 64);
	last_ps = f.now_ps;
	first = uplink_of(&packet);
	/* Its uplink gets the most to do, and yet it stays, at half a gap and a picosecond below it. */
	for (uint32_t round = 0; round < 8; round++) {
		load_uplink(first, 100);
		f.now_ps = last_ps += round % 2 == 0 ? GAP_PS / 2 : GAP_PS - 1;
		cr_assert_eq(uplink_of(&packet), first, "round %u", round);
	}
	load_uplink(first, 100);
	f.now_ps = last_ps += GAP_PS;
	next = uplink_of(&packet);
	cr_assert_neq(next, first);
	/* Nothing is better than where it is now: it stays, gap or not. */
	f.now_ps = last_ps += GAP_PS;
	cr_assert_eq(uplink_of(&packet), next);
	leaf_balance_totals(f.leaf, &totals);
	cr_assert_eq(totals.moves, 1);
	cr_assert_eq(totals.flowlets, 3);
	cr_assert_eq(totals.collisions, 0);
	fixture_close(&f);
}

Test(balance_modes, LB_FLOWLET_SAME_LB_FLOWLET_MOVE_a_flow_moves_at_the_gap_and_not_before)
{
	move_at_the_gap(BALANCE_FLOWLET);
	move_at_the_gap(BALANCE_ADAPTIVE); /* towards none of our kind */
}

/*
 * The load of an uplink counts one sampling interval after it began, though everybody had just looked at all
 * uplinks when it did. One with nothing to do is as good then as it was.
 */
Test(balance_modes, LB_FLOWLET_MOVE_the_next_flowlet_knows_a_load_of_one_sampling_interval)
{
	struct frame packet = flow_frame(1, DSCP_LOSSLESS), other = flow_frame(2, DSCP_LOSSLESS);
	uint16_t first;

	start_mode(BALANCE_FLOWLET, alike, 64);
	first = uplink_of(&packet);
	f.now_ps += GAP_PS * 11 / 10 - QUALITY_SAMPLE_PS;
	(void)uplink_of(&other); /* its flowlet begins: it looks */
	load_uplink(first, 100); /* 12 us of 100G */
	f.now_ps += QUALITY_SAMPLE_PS;
	cr_expect_neq(uplink_of(&packet), first);
	fixture_close(&f);
}

/* More flows than entries: each still keeps its uplink from one packet to the next within a gap. */
Test(balance_modes, LB_TABLE_FULL_no_flow_moves_within_a_gap_and_none_is_lost)
{
	enum { FLOWS = 200, PACKETS = 40000 };
	uint64_t last_ps[FLOWS] = {0}, state = 7;
	uint16_t uplink[FLOWS];
	uint32_t moved = 0;
	struct snapshot *snapshot = modes_open(BALANCE_FLOWLET, alike, 64);
	struct balance_totals totals;

	/* Slow enough for a packet to make a difference. */
	for (uint16_t port = UPLINK; port < PORT_COUNT; port++)
		snapshot_port_rate(snapshot, port, UINT64_C(2000000000), PS_PER_MS, 0);
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < PACKETS; i++) {
		/* Some flows are seldom. */
		uint32_t flow = draw(&state, 1 + draw(&state, FLOWS));
		struct frame packet = flow_frame(flow, DSCP_LOSSLESS);
		uint16_t now;

		f.now_ps += draw(&state, GAP_PS / 20);
		now = uplink_of(&packet);
		if (last_ps[flow] != 0 && now != uplink[flow]) {
			cr_assert_geq(f.now_ps - last_ps[flow], GAP_PS, "flow %u", flow);
			moved++;
		}
		uplink[flow] = now;
		last_ps[flow] = f.now_ps;
	}
	cr_assert_gt(moved, 100);
	leaf_balance_totals(f.leaf, &totals);
	cr_assert_gt(totals.collisions, 1000);
	cr_assert_eq(drops_total(&f), 0);
	fixture_close(&f);
}

/*
 * Four uplinks of 1G, half full for 100 ms: 64 flows of bursts and pauses. Jain's index is (sum x)^2 /
 * (n sum x^2).
 */
static void spread_flows(enum balance_mode mode, double *jain, double *most)
{
	enum { FLOWS = 64, BURST = 8 };
	const uint64_t rate_bps = UINT64_C(1000000000), end_ps = 100 * PS_PER_MS;
	const uint64_t frame_ps = (42 + 20 + 1400 + 16) * 8 * PS_PER_NS;
	/* All flows together at half of four uplinks. */
	const uint64_t period_ps = BURST * frame_ps * FLOWS / 2;
	struct snapshot *snapshot = modes_open(mode, alike, 4096);
	uint64_t next_ps[FLOWS], state = 3, start_ps, sum = 0, max = 0;
	uint32_t left[FLOWS];
	double squares = 0;

	snapshot->balance.gap_ps = 256 * PS_PER_US;
	for (uint16_t port = UPLINK; port < PORT_COUNT; port++)
		snapshot_port_rate(snapshot, port, rate_bps, 0, 0);
	fixture_publish(&f, snapshot);
	start_ps = f.now_ps;
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		next_ps[flow] = start_ps + draw(&state, (uint32_t)(period_ps / 1000)) * 1000;
		left[flow] = BURST;
	}
	for (;;) {
		uint32_t flow = 0;
		struct frame packet;

		for (uint32_t i = 1; i < FLOWS; i++)
			if (next_ps[i] < next_ps[flow])
				flow = i;
		if (next_ps[flow] >= start_ps + end_ps)
			break;
		fixture_run_until(&f, next_ps[flow]);
		packet = flow_frame(flow, DSCP_LOSSLESS);
		packet = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
			       .source = 0x0a000001, .destination = 0x0b000001,
			       .source_port = 49152, .roce = true, .qp = 0x20 + flow,
			       .traffic_class = DSCP_LOSSLESS << 2, .payload_bytes = 1400);
		fixture_inject(&f, IN, &packet);
		fixture_poll(&f);
		for (uint16_t port = UPLINK; port < PORT_COUNT; port++)
			fixture_discard(&f, port);
		next_ps[flow] += frame_ps / 2;
		if (--left[flow] == 0) {
			left[flow] = BURST;
			next_ps[flow] += period_ps / 2 - BURST * frame_ps / 2 +
					 draw(&state, (uint32_t)(period_ps / 1000)) * 1000;
		}
	}
	fixture_settle(&f);
	for (uint16_t port = UPLINK; port < PORT_COUNT; port++) {
		struct port_totals totals;

		leaf_port_totals(f.leaf, port, &totals);
		fixture_discard(&f, port);
		sum += totals.tx_bytes;
		max = totals.tx_bytes > max ? totals.tx_bytes : max;
		squares += (double)totals.tx_bytes * (double)totals.tx_bytes;
	}
	/* Half of four uplinks: within a tenth. */
	cr_assert_gt(sum, 2 * 12500000 * 9 / 10);
	cr_assert_lt(sum, 2 * 12500000 * 11 / 10);
	*jain = (double)sum * (double)sum / (UPLINKS * squares);
	*most = (double)max * UPLINKS / (double)sum;
	fixture_close(&f);
}

Test(balance_modes, LB_FLOWLET_SPREAD_flows_with_pauses_fill_uplinks_alike)
{
	double jain, most, jain_ecmp, most_ecmp;

	spread_flows(BALANCE_FLOWLET, &jain, &most);
	spread_flows(BALANCE_ECMP, &jain_ecmp, &most_ecmp);
	cr_assert_geq(jain, 0.99, "%f", jain);
	cr_assert_leq(most, 1.05, "%f", most);
	cr_assert_gt(most_ecmp, most, "%f", most_ecmp);
}

/* 100/100/400 without load, and one that is down: new flows begin by weight, within four standard deviations. */
Test(balance_modes, LB_UNEQUAL_flowlets_that_find_no_load_begin_by_weight)
{
	enum { FLOWS = 1200 };
	static const uint32_t weight[UPLINKS] = {1, 1, 4, 0};
	uint32_t got[UPLINKS] = {0};

	start_mode(BALANCE_FLOWLET, weight, 4096);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		struct frame frame = flow_frame(flow, DSCP_LOSSLESS);

		f.now_ps += PS_PER_MS;
		got[uplink_of(&frame) - UPLINK]++;
	}
	cr_assert(got[0] > 148 && got[0] < 252, "%u", got[0]);
	cr_assert(got[1] > 148 && got[1] < 252, "%u", got[1]);
	cr_assert(got[2] > 735 && got[2] < 865, "%u", got[2]);
	cr_assert_eq(got[3], 0);
	fixture_close(&f);
}

static void count_uplinks(const struct frame *frame, uint32_t packets, uint32_t got[UPLINKS])
{
	memset(got, 0, UPLINKS * sizeof(*got));
	for (uint32_t i = 0; i < packets; i++)
		got[uplink_of(frame) - UPLINK]++;
}

/* Equal shares +-1 %, of one flow. With turns by weights they are exact. */
Test(balance_modes, LB_PKT_packets_of_one_flow_go_to_all_uplinks_alike)
{
	uint32_t got[UPLINKS];

	start_mode(BALANCE_SPRAY_UNORDERED, alike, 64);
	for (uint32_t flow = 0; flow < 2; flow++) {
		struct frame frame = flow_frame(flow, DSCP_LOSSLESS);

		count_uplinks(&frame, 1000, got);
		for (uint32_t i = 0; i < UPLINKS; i++)
			cr_assert_eq(got[i], 250);
	}
	cr_assert_eq(drops_total(&f), 0);
	fixture_close(&f);
}

/* With one turn for both, one of two flows that alternate would have two of four uplinks. */
Test(balance_modes, LB_PKT_flows_that_alternate_each_have_all_uplinks)
{
	uint32_t got[2][UPLINKS] = {{0}};

	start_mode(BALANCE_SPRAY_UNORDERED, alike, 64);
	for (uint32_t i = 0; i < 800; i++) {
		struct frame frame = flow_frame(i % 2, DSCP_LOSSLESS);

		got[i % 2][uplink_of(&frame) - UPLINK]++;
	}
	for (uint32_t i = 0; i < UPLINKS; i++) {
		cr_assert_eq(got[0][i], 100);
		cr_assert_eq(got[1][i], 100);
	}
	fixture_close(&f);
}

/* 100/100/400, and one that is down. */
Test(balance_modes, LB_UNEQUAL_turns_come_by_weight)
{
	static const uint32_t weight[UPLINKS] = {1, 1, 4, 0};
	struct frame frame = flow_frame(5, DSCP_LOSSLESS);
	uint32_t got[UPLINKS], run = 0, longest = 0;

	start_mode(BALANCE_SPRAY_UNORDERED, weight, 64);
	count_uplinks(&frame, 600, got);
	cr_assert_eq(got[0], 100);
	cr_assert_eq(got[1], 100);
	cr_assert_eq(got[2], 400);
	cr_assert_eq(got[3], 0);
	/* Spread evenly: four turns of six are never more than three in a row. */
	for (uint32_t i = 0; i < 600; i++) {
		run = uplink_of(&frame) == UPLINK + 2 ? run + 1 : 0;
		longest = run > longest ? run : longest;
	}
	cr_assert_leq(longest, 3);
	fixture_close(&f);
}

Test(balance_modes, LB_CLASS_OFF_a_class_keeps_to_its_hash_beside_one_that_is_sprayed)
{
	uint32_t got[UPLINKS];

	start_mode(BALANCE_SPRAY_UNORDERED, alike, 64);
	for (uint32_t flow = 0; flow < 16; flow++) {
		struct frame plain = flow_frame(flow, 0), sprayed = flow_frame(flow, DSCP_LOSSLESS);
		uint16_t uplink = uplink_of(&plain);

		count_uplinks(&sprayed, 8, got);
		for (uint32_t i = 0; i < UPLINKS; i++)
			cr_assert_eq(got[i], 2);
		for (uint32_t i = 0; i < 8; i++)
			cr_assert_eq(uplink_of(&plain), uplink);
	}
	fixture_close(&f);
}

Test(balance_modes, LB_CLASS_OFF_a_route_says_it_for_all_classes)
{
	struct snapshot *snapshot = modes_open(BALANCE_SPRAY_UNORDERED, alike, 64);
	struct frame frame = flow_frame(1, DSCP_LOSSLESS);
	uint16_t uplink;

	snapshot->group[snapshot->group_count - 1].mode = BALANCE_ECMP;
	fixture_publish(&f, snapshot);
	uplink = uplink_of(&frame);
	for (uint32_t i = 0; i < 16; i++)
		cr_assert_eq(uplink_of(&frame), uplink);
	fixture_close(&f);
}

Test(balance_modes, static_goes_by_the_destination_alone)
{
	uint32_t used = 0, used6 = 0;

	start_mode(BALANCE_STATIC, alike, 64);
	for (uint32_t to = 0; to < 32; to++) {
		uint16_t uplink = PORT_NONE, uplink6 = PORT_NONE;
		char to6[32];

		snprintf(to6, sizeof(to6), "fd01::%x", to + 1);
		for (uint32_t from = 0; from < 4; from++) {
			struct frame frame =
				FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				      .family = 4, .source = 0x0a000001 + from,
				      .destination = 0x0b000001 + to,
				      .source_port = (uint16_t)(49152 + from), .roce = true,
				      .qp = 0x20 + from, .traffic_class = DSCP_LOSSLESS << 2,
				      .payload_bytes = 64);
			struct frame frame6 =
				FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				      .family = 6, .source6 = from % 2 != 0 ? "fd02::1" : "fd02::2",
				      .destination6 = to6, .source_port = (uint16_t)(49152 + from),
				      .roce = true, .qp = 0x20 + from,
				      .traffic_class = DSCP_LOSSLESS << 2, .payload_bytes = 64);

			uplink = from == 0 ? uplink_of(&frame) : uplink;
			cr_assert_eq(uplink_of(&frame), uplink);
			uplink6 = from == 0 ? uplink_of(&frame6) : uplink6;
			cr_assert_eq(uplink_of(&frame6), uplink6);
		}
		used |= 1u << uplink;
		used6 |= 1u << uplink6;
	}
	/* 32 destinations miss one of four uplinks once in 2500. */
	cr_assert_eq(__builtin_popcount(used), UPLINKS);
	cr_assert_eq(__builtin_popcount(used6), UPLINKS);
	fixture_close(&f);
}

Test(balance_modes, by_the_5_tuple_queue_pairs_of_a_port_keep_together)
{
	struct snapshot *snapshot = modes_open(BALANCE_ECMP, alike, 64), *without;
	uint32_t used = 0;
	uint16_t uplink;

	fixture_publish(&f, snapshot);
	for (uint32_t flow = 0; flow < 64; flow++) {
		struct frame frame = flow_frame(flow, DSCP_LOSSLESS);

		used |= 1u << uplink_of(&frame);
	}
	cr_assert_eq(__builtin_popcount(used), UPLINKS);
	without = snapshot_copy(snapshot);
	without->balance.by_5tuple = true;
	fixture_publish(&f, without);
	uplink = PORT_NONE;
	for (uint32_t flow = 0; flow < 64; flow++) {
		struct frame frame = flow_frame(flow, DSCP_LOSSLESS);

		uplink = flow == 0 ? uplink_of(&frame) : uplink;
		cr_assert_eq(uplink_of(&frame), uplink);
	}
	fixture_close(&f);
}

/* At once, gap or not, and only flows of the uplink that is down. */
static void lose_uplink(enum balance_mode mode)
{
	enum { FLOWS = 64 };
	struct snapshot *snapshot = modes_open(mode, alike, 1024), *lost;
	uint16_t uplink[FLOWS];

	fixture_publish(&f, snapshot);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		struct frame frame = flow_frame(flow, DSCP_LOSSLESS);

		uplink[flow] = uplink_of(&frame);
	}
	lost = snapshot_copy(snapshot);
	lost->adjacency[UPLINK + 2].weight = 0;
	fixture_publish(&f, lost);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		struct frame frame = flow_frame(flow, DSCP_LOSSLESS);
		uint16_t now = uplink_of(&frame);

		cr_assert_neq(now, UPLINK + 2);
		if (mode != BALANCE_SPRAY_UNORDERED && uplink[flow] != UPLINK + 2)
			cr_assert_eq(now, uplink[flow]);
	}
	fixture_close(&f);
}

Test(balance_modes, LF_DOWN_flows_leave_an_uplink_that_is_down_at_once)
{
	lose_uplink(BALANCE_FLOWLET);
	lose_uplink(BALANCE_SPRAY_UNORDERED);
	lose_uplink(BALANCE_STATIC);
}

/*
 * Whatever the mode and the way through the stages, what has several next hops is counted, once. Expected with
 * the error that balance/sketch.h states, four times.
 */
static void expect_counted(enum balance_mode mode, const struct frame *packet, bool plain)
{
	enum { ROUNDS = 1000, BURST = 32, FRAME_BYTES = 14 + 20 + 8 + 12 + 4 + 1400 };
	const double all = (double)ROUNDS * BURST * FRAME_BYTES;
	const double error = 4 * sqrt(all * SKETCH_SAMPLE_BYTES);
	struct snapshot *snapshot = modes_open(mode, alike, 64);
	struct group *group = &snapshot->group[snapshot->group_count - 1];
	static struct leaf_flows flows;
	uint64_t port_bytes[PORT_COUNT + 1], sum = 0, spread = 0;

	cr_assert_eq(group->balanced, UPLINKS);
	if (plain) {
		group->count = UPLINKS;
		group->first = UPLINK;
		group->balanced = 0;
	}
	fixture_publish(&f, snapshot);
	/* The first packet begins the window; what is looked at after a second ends it. */
	for (uint32_t round = 0; round <= ROUNDS + 2 * SKETCH_SAMPLE_BYTES / BURST / FRAME_BYTES;
	     round++) {
		for (uint32_t i = 0; i < BURST; i++)
			fixture_inject(&f, IN, packet);
		fixture_settle(&f);
		for (uint16_t port = UPLINK; port < PORT_COUNT; port++)
			(void)fixture_discard(&f, port);
		if (round < ROUNDS)
			f.now_ps += (round == ROUNDS - 1 ? 2 : 1) * PS_PER_S / ROUNDS;
	}
	leaf_flows(f.leaf, f.now_ps, &flows, port_bytes);
	cr_assert_eq(flows.count, 1);
	cr_expect_float_eq((double)flows.bytes, all, error, "%ju of %.0f", (uintmax_t)flows.bytes,
			   all);
	cr_expect_eq(flows.flow[0].bytes, flows.bytes);
	cr_expect_eq(flows.flow[0].key.qp, 0x21);
	cr_expect_eq(flows.flow[0].key.priority, LOSSLESS);
	for (uint16_t port = 0; port <= PORT_COUNT; port++) {
		sum += port_bytes[port];
		spread += leaf_spread_bytes(f.leaf, port);
	}
	/* Each was rounded down. */
	cr_expect(sum <= flows.bytes && sum + UPLINKS > flows.bytes);
	cr_expect_float_eq((double)spread, all, error);
	if (mode == BALANCE_SPRAY_UNORDERED)
		cr_expect_eq(flows.flow[0].egress, SKETCH_EGRESS_SEVERAL);
	else
		cr_expect_eq(port_bytes[flows.flow[0].egress], flows.bytes);
	/* Nothing happens any more. */
	leaf_flows(f.leaf, f.now_ps + 2 * SKETCH_WINDOW_PS, &flows, port_bytes);
	cr_expect_eq(flows.count, 0);
	fixture_close(&f);
}

Test(balance_modes, flows_over_several_uplinks_are_counted_once_in_every_mode)
{
	struct frame ipv4 = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				  .family = 4, .source = 0x0a000001, .destination = 0x0b000001,
				  .source_port = 49152, .roce = true, .qp = 0x21,
				  .traffic_class = DSCP_LOSSLESS << 2, .payload_bytes = 1400);
	struct frame ipv6 = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				  .family = 6, .source6 = "fd02::1", .destination6 = "fd01::1",
				  .source_port = 49152, .roce = true, .qp = 0x21,
				  .traffic_class = DSCP_LOSSLESS << 2, .payload_bytes = 1380);

	expect_counted(BALANCE_ECMP, &ipv4, true);
	expect_counted(BALANCE_ECMP, &ipv6, true);
	expect_counted(BALANCE_ECMP, &ipv4, false);
	expect_counted(BALANCE_FLOWLET, &ipv4, false);
	expect_counted(BALANCE_FLOWLET, &ipv6, false);
	expect_counted(BALANCE_SPRAY_UNORDERED, &ipv4, false);
}
