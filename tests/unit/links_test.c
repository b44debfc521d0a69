/* SPDX-License-Identifier: BSD-3-Clause */
/* Links that go down and come back before any snapshot says so. */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/links.h"
#include "tests/unit/leaf_fixture.h"

#define HOST UINT64_C(0x02000000aa01)

enum {
	IN,
	UPLINK,
	UPLINKS = 4,
	PORT_COUNT = UPLINK + UPLINKS,
	LOST = UPLINK + 2,
	LOSSLESS = 3,
	DSCP_LOSSLESS = 26,
	FLOWS = 200,
};

static struct leaf_fixture f;

/* 11/8 is behind all uplinks. @param inline_hash the group is one that the hash decides for in line */
static struct snapshot *start(enum balance_mode mode, bool inline_hash)
{
	static bool started;
	struct snapshot *snapshot;
	struct group *group;
	uint32_t index;

	if (!started)
		fixture_start_eal();
	started = true;
	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, PORT_COUNT);
	index = snapshot_group(snapshot, GROUP_VIA, UPLINK, UPLINK, inline_hash ? UPLINKS : 0);
	group = &snapshot->group[index];
	group->members = UPLINK;
	group->balanced = inline_hash ? 0 : UPLINKS;
	group->alike = true;
	group->peer = PEER_NONE;
	for (uint32_t i = 0; i < UPLINKS; i++)
		snapshot->adjacency[UPLINK + i].weight = BALANCE_WEIGHT_MAX;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		snapshot->class[p].balance = (uint8_t)mode;
	snapshot->balance = (struct balance_table){.gap_ps = PS_PER_S, .flows = 4096};
	fixture_route(&f, "11.0.0.0/8", index);
	fixture_publish(&f, snapshot);
	return snapshot;
}

static struct frame flow_frame(uint32_t flow)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		     .source = 0x0a000001, .destination = 0x0b000001 + flow, .source_port = 49152,
		     .roce = true, .qp = 0x20 + flow, .traffic_class = DSCP_LOSSLESS << 2,
		     .payload_bytes = 64);
}

/* Where packets of all flows go, after one poll; PORT_NONE: dropped. */
static void place(uint16_t uplink[FLOWS])
{
	struct frame out;

	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		struct frame frame = flow_frame(flow);

		uplink[flow] = PORT_NONE;
		fixture_inject(&f, IN, &frame);
		fixture_poll(&f);
		fixture_poll(&f); /* another worker's port */
		for (uint32_t port = UPLINK; port < PORT_COUNT; port++)
			while (fixture_take(&f, (uint16_t)port, &out)) {
				cr_assert_eq(uplink[flow], PORT_NONE);
				uplink[flow] = (uint16_t)port;
			}
	}
}

/* Down: the lost uplink's flows move, by themselves. The snapshot that follows changes nothing. Up: all is as before. */
static void lose_one(enum balance_mode mode, bool inline_hash)
{
	struct snapshot *snapshot = start(mode, inline_hash);
	struct snapshot *without = snapshot_copy(snapshot), *whole = snapshot_copy(snapshot);
	uint16_t before[FLOWS], during[FLOWS], then[FLOWS], after[FLOWS];
	const bool pinned = mode != BALANCE_SPRAY_UNORDERED;
	uint32_t moved = 0, onto[PORT_COUNT] = {0};

	without->port[LOST].link_up = false;
	without->adjacency[LOST].weight = 0;
	without->group[without->group_count - 1].alike = false;
	if (inline_hash) {
		without->group[without->group_count - 1].count = 0;
		without->group[without->group_count - 1].balanced = UPLINKS;
		without->group[without->group_count - 1].first = 0;
	}
	place(before);
	leaf_link_set(f.leaf, LOST, false);
	place(during);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		cr_assert_neq(during[flow], PORT_NONE, "mode %u flow %u", mode, flow);
		cr_assert_neq(during[flow], LOST, "mode %u flow %u", mode, flow);
		if (before[flow] == LOST) {
			moved++;
			onto[during[flow]]++;
		} else if (pinned) {
			cr_assert_eq(during[flow], before[flow], "mode %u flow %u", mode, flow);
		}
	}
	/* A quarter of 200: 50, and 50 +- 4 sigma of 6.1. They spread over all others: 50/3 +- 4 * 3.3. */
	cr_expect(!pinned || (moved >= 26 && moved <= 74), "mode %u: %u", mode, moved);
	for (uint32_t port = UPLINK; port < PORT_COUNT; port++)
		cr_expect(!pinned || port == LOST || (onto[port] >= 4 && onto[port] <= 30),
			  "mode %u: %u onto %u", mode, onto[port], port);
	fixture_publish(&f, without);
	place(then);
	leaf_link_set(f.leaf, LOST, true);
	fixture_publish(&f, whole);
	place(after);
	for (uint32_t flow = 0; flow < FLOWS && pinned; flow++) {
		cr_assert_eq(then[flow], during[flow], "mode %u flow %u", mode, flow);
		if (mode != BALANCE_FLOWLET && mode != BALANCE_ADAPTIVE) /* with its next flowlet */
			cr_assert_eq(after[flow], before[flow], "mode %u flow %u", mode, flow);
	}
	fixture_close(&f);
}

Test(links, LF_DOWN_LF_UP_only_the_flows_of_a_link_that_is_down_move_within_one_poll)
{
	lose_one(BALANCE_ECMP, true);
	lose_one(BALANCE_ECMP, false);
	lose_one(BALANCE_STATIC, false);
	lose_one(BALANCE_FLOWLET, false);
	lose_one(BALANCE_ADAPTIVE, false); /* without peers by flowlets */
	lose_one(BALANCE_SPRAY_UNORDERED, false);
}

/* Nothing is kept for a port whose link is down, and nothing waits for it. */
static void lose_all(enum balance_mode mode, bool inline_hash)
{
	uint16_t uplink[FLOWS];

	(void)start(mode, inline_hash);
	for (uint16_t port = UPLINK; port < PORT_COUNT; port++)
		leaf_link_set(f.leaf, port, false);
	place(uplink);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		cr_assert_eq(uplink[flow], PORT_NONE, "mode %u flow %u", mode, flow);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), FLOWS);
	cr_expect_eq(fixture_queued(&f), 0);
	leaf_link_set(f.leaf, LOST, true);
	place(uplink);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		cr_assert_eq(uplink[flow], LOST, "mode %u flow %u", mode, flow);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), FLOWS);
	fixture_close(&f);
}

Test(links, LF_ALL_DOWN_packets_without_an_uplink_are_counted_until_one_is_back)
{
	lose_all(BALANCE_ECMP, true);
	lose_all(BALANCE_ECMP, false);
	lose_all(BALANCE_STATIC, false);
	lose_all(BALANCE_FLOWLET, false);
	lose_all(BALANCE_SPRAY_UNORDERED, false);
}

/* A slow uplink with packets in its queue: the next poll counts them as lost to the link. */
Test(links, LF_FLUSH_a_queue_is_emptied_within_one_poll)
{
	enum { PACKETS = 20 };
	struct snapshot *slow = snapshot_copy(start(BALANCE_STATIC, false));
	struct frame frame = flow_frame(0);
	uint16_t uplink[FLOWS];
	uint32_t sent = 0;
	uint64_t left;

	place(uplink);
	snapshot_port_rate(slow, uplink[0], UINT64_C(1000000), 0, 0);
	fixture_publish(&f, slow);
	for (uint32_t i = 0; i < PACKETS; i++)
		fixture_inject(&f, IN, &frame);
	fixture_poll(&f);
	fixture_poll(&f);
	sent = fixture_discard(&f, uplink[0]);
	left = fixture_queued(&f);
	cr_assert_gt(left, PACKETS / 2);
	leaf_link_set(f.leaf, uplink[0], false);
	fixture_poll(&f);
	cr_expect_eq(fixture_queued(&f), 0);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), left);
	cr_expect_eq(sent + left, PACKETS);
	fixture_close(&f);
}

/* Where a packet of a flow goes, now; PORT_NONE: nowhere yet. */
static uint16_t uplink_of(uint32_t flow)
{
	struct frame frame = flow_frame(flow), out;
	uint16_t uplink = PORT_NONE;

	fixture_inject(&f, IN, &frame);
	for (uint32_t i = 0; i < 3; i++)
		fixture_poll(&f);
	for (uint32_t port = UPLINK; port < PORT_COUNT; port++)
		while (fixture_take(&f, (uint16_t)port, &out))
			uplink = (uint16_t)port;
	return uplink;
}

static uint64_t stalls(uint16_t port)
{
	struct port_totals totals;

	leaf_port_totals(f.leaf, port, &totals);
	return totals.tx_stalls;
}

/* The bound of egress.h, at 100G and 100 us ahead. */
#define STALL_PS                                                                             \
	(4 * 100 * PS_PER_US + 16 * (FRAME_BYTES_MAX + WIRE_OVERHEAD_BYTES) * UINT64_C(80) + \
	 50 * PS_PER_US)

Test(links, LF_DOWN_LF_UP_a_device_that_takes_nothing_is_out_until_it_takes_a_frame)
{
	uint64_t begin_ps;
	uint16_t home;

	(void)start(BALANCE_STATIC, false);
	home = uplink_of(0);
	memory_io_limit(f.memory[home], 0);
	begin_ps = f.now_ps;
	cr_expect_eq(uplink_of(0), PORT_NONE);
	fixture_run_until(&f, begin_ps + STALL_PS - PS_PER_US);
	cr_expect_eq(uplink_of(0), PORT_NONE, "it may still be about to go on");
	cr_expect_eq(stalls(home), 0);
	/* The next offer that is refused, and one poll. */
	fixture_run_until(&f, begin_ps + STALL_PS + 5 * PS_PER_US);
	cr_expect_eq(stalls(home), 1);
	cr_expect_neq(uplink_of(0), PORT_NONE);
	cr_expect_neq(uplink_of(0), home);
	cr_expect_eq(fixture_queued(&f), 2, "what was for it waits");
	memory_io_limit(f.memory[home], 32);
	fixture_run_until(&f, f.now_ps + 5 * PS_PER_US);
	cr_expect_eq(fixture_discard(&f, home), 2);
	cr_expect_eq(uplink_of(0), home);
	cr_expect_eq(stalls(home), 1);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), 0);
	fixture_close(&f);
}

/* What waits for a device that takes nothing is late, not lost; once its link is down it is lost, and counted. */
Test(links,
     LF_FLUSH_what_waits_for_a_stalled_device_is_dropped_when_its_link_goes_down_and_not_before)
{
	uint16_t home;

	(void)start(BALANCE_STATIC, false);
	home = uplink_of(0);
	memory_io_limit(f.memory[home], 0);
	cr_expect_eq(uplink_of(0), PORT_NONE);
	cr_expect_eq(uplink_of(0), PORT_NONE);
	fixture_run_until(&f, f.now_ps + PS_PER_S);
	cr_expect_eq(stalls(home), 1);
	cr_expect_eq(fixture_queued(&f), 2, "a second is nothing");
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), 0);
	leaf_link_set(f.leaf, home, false);
	fixture_poll(&f);
	cr_expect_eq(fixture_queued(&f), 0);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), 2);
	memory_io_limit(f.memory[home], 32);
	leaf_link_set(f.leaf, home, true);
	cr_expect_eq(uplink_of(0), home, "it begins anew");
	cr_expect_not(leaf_link_stalled(f.leaf, home));
	fixture_close(&f);
}

/* A leaf that wasn't there can't tell what its devices would have taken. */
Test(links, time_in_which_nothing_was_offered_is_no_stall)
{
	uint16_t home;

	(void)start(BALANCE_STATIC, false);
	home = uplink_of(0);
	memory_io_limit(f.memory[home], 0);
	cr_expect_eq(uplink_of(0), PORT_NONE);
	f.now_ps += 2 * STALL_PS;
	fixture_run_until(&f, f.now_ps + 10 * PS_PER_US);
	cr_expect_eq(stalls(home), 0);
	memory_io_limit(f.memory[home], 32);
	fixture_run_until(&f, f.now_ps + 10 * PS_PER_US);
	cr_expect_eq(fixture_discard(&f, home), 1);
	fixture_close(&f);
}
