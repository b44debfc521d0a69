/* SPDX-License-Identifier: BSD-3-Clause */
/* Bridging inside VLANs: IEEE 802.1Q-2018 clauses 6.9 (tags), 8.6 (forwarding), 8.7 (learning). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include <rte_mbuf.h>

#include "tests/unit/leaf_fixture.h"

#define A         UINT64_C(0x02000000aa01)
#define B         UINT64_C(0x02000000bb01)
#define C         UINT64_C(0x02000000cc01)
#define BROADCAST UINT64_C(0xffffffffffff)

/*
 * Ports: two hosts in VLAN 100, one in 200, a trunk of both, one with 200 as native VLAN, one
 * that is off.
 */
enum { HOST_A, HOST_B, HOST_200, TRUNK, TRUNK_NATIVE, UNUSED, PORT_COUNT };

static struct leaf_fixture f;

static struct snapshot *snapshot_bridge(void)
{
	struct snapshot *snapshot = snapshot_of(&f);

	snapshot_bridged(snapshot, HOST_A, 100);
	snapshot_bridged(snapshot, HOST_B, 100);
	snapshot_bridged(snapshot, HOST_200, 200);
	snapshot_trunk(snapshot, TRUNK, 100);
	snapshot_trunk(snapshot, TRUNK, 200);
	snapshot_trunk(snapshot, TRUNK_NATIVE, 100);
	snapshot_bridged(snapshot, TRUNK_NATIVE, 200);
	return snapshot;
}

static void start(void)
{
	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	fixture_publish(&f, snapshot_bridge());
}

static void finish(void)
{
	fixture_close(&f);
}

static struct frame untagged(uint64_t destination, uint64_t source)
{
	return FRAME(.destination_mac = destination, .source_mac = source, .ether_type = 0x88b5,
		     .number = 7);
}

static struct frame tagged(uint64_t destination, uint64_t source, uint16_t vlan, uint8_t pcp)
{
	return FRAME(.destination_mac = destination, .source_mac = source, .ether_type = 0x88b5,
		     .tagged = true, .vlan = vlan, .pcp = pcp, .number = 7);
}

/* A frame from this MAC has been seen at a port. */
static void teach(uint16_t port, uint64_t mac, uint16_t vlan)
{
	struct frame frame = vlan == 0 ? untagged(BROADCAST, mac) : tagged(BROADCAST, mac, vlan, 0);

	fixture_inject(&f, port, &frame);
	fixture_settle(&f);
	for (uint16_t i = 0; i <= f.port_count; i++)
		fixture_discard(&f, i);
}

/* Which ports sent something, as a bit mask; what they sent is dropped. */
static uint32_t ports_that_sent(void)
{
	uint32_t mask = 0;

	for (uint16_t port = 0; port <= f.port_count; port++)
		if (fixture_discard(&f, port) != 0)
			mask |= 1u << port;
	return mask;
}

static uint32_t sent_to(uint16_t from, const struct frame *frame)
{
	fixture_inject(&f, from, frame);
	fixture_settle(&f);
	return ports_that_sent();
}

LEAF_TEST(bridge, FWD_L2_LEARN_floods_until_the_address_is_learned)
{
	struct frame to_b = untagged(B, A), to_a = untagged(A, B);

	cr_assert_eq(sent_to(HOST_A, &to_b), 1u << HOST_B | 1u << TRUNK | 1u << TRUNK_NATIVE,
		     "unknown: to all of VLAN 100 but where it came from, and to nobody else");
	cr_assert_eq(sent_to(HOST_B, &to_a), 1u << HOST_A, "A was learned from its first frame");
	cr_assert_eq(sent_to(HOST_A, &to_b), 1u << HOST_B, "and B from its answer");
}

LEAF_TEST(bridge, FWD_L2_LEARN_a_move_counts_from_the_next_packet_on)
{
	struct frame to_a = untagged(A, B), moved = tagged(BROADCAST, A, 100, 0);

	teach(HOST_A, A, 0);
	teach(HOST_B, B, 0);
	cr_assert_eq(sent_to(HOST_B, &to_a), 1u << HOST_A);
	for (int i = 0; i < 100; i++) {
		fixture_inject(&f, TRUNK, &moved);
		fixture_settle(&f);
		ports_that_sent();
		cr_assert_eq(sent_to(HOST_B, &to_a), 1u << TRUNK);
		teach(HOST_A, A, 0);
		cr_assert_eq(sent_to(HOST_B, &to_a), 1u << HOST_A);
	}
}

LEAF_TEST(bridge, FWD_L2_LEARN_an_address_lives_for_the_ageing_time)
{
	struct frame to_a = untagged(A, B);
	uint64_t learned_ps;

	teach(HOST_B, B, 0);
	teach(HOST_A, A, 0);
	learned_ps = f.now_ps;
	/* Times are kept in steps of FDB_TIME_PS, rounded down; never longer than the setting. */
	fixture_run_until(&f, learned_ps + 300 * PS_PER_S - FDB_TIME_PS - 1);
	cr_assert_eq(sent_to(HOST_B, &to_a), 1u << HOST_A, "299.93 s");
	fixture_run_until(&f, learned_ps + 300 * PS_PER_S);
	cr_assert_eq(sent_to(HOST_B, &to_a), 1u << HOST_A | 1u << TRUNK | 1u << TRUNK_NATIVE,
		     "300 s");
}

LEAF_TEST(bridge, FWD_L2_LEARN_traffic_keeps_an_address_alive)
{
	struct frame to_a = untagged(A, B), to_b = untagged(B, A);

	teach(HOST_B, B, 0);
	teach(HOST_A, A, 0);
	for (int i = 0; i < 5; i++) {
		fixture_run_until(&f, f.now_ps + 200 * PS_PER_S);
		cr_assert_eq(sent_to(HOST_A, &to_b), 1u << HOST_B, "after %d s", 200 * (i + 1));
		cr_assert_eq(sent_to(HOST_B, &to_a), 1u << HOST_A, "after %d s", 200 * (i + 1));
	}
}

LEAF_TEST(bridge, addresses_are_kept_apart_by_vlan)
{
	struct frame to_a = untagged(A, C);

	teach(HOST_A, A, 0);
	cr_assert_eq(sent_to(HOST_200, &to_a), 1u << TRUNK | 1u << TRUNK_NATIVE,
		     "A is known in VLAN 100, not in 200");
}

LEAF_TEST(bridge, tags_are_inserted_and_removed_byte_for_byte)
{
	struct frame in, out;

	teach(HOST_A, A, 0);
	teach(TRUNK, B, 100);
	teach(TRUNK_NATIVE, C, 0);

	in = untagged(B, A);
	out = tagged(B, A, 100, 0);
	expect_sent(&f, "access to trunk", HOST_A, &in, TRUNK, &out);
	expect_sent(&f, "trunk to access", TRUNK, &(struct frame[]){tagged(A, B, 100, 5)}[0],
		    HOST_A, &(struct frame[]){untagged(A, B)}[0]);
	in = tagged(C, B, 200, 6);
	out = untagged(C, B);
	expect_sent(&f, "trunk to native", TRUNK, &in, TRUNK_NATIVE, &out);
	teach(TRUNK, B, 200);
	in = untagged(B, C);
	out = tagged(B, C, 200, 0);
	expect_sent(&f, "native to trunk", TRUNK_NATIVE, &in, TRUNK, &out);
	teach(TRUNK_NATIVE, C, 100);
	in = out = tagged(C, B, 100, 4);
	expect_sent(&f, "trunk to trunk keeps the PCP", TRUNK, &in, TRUNK_NATIVE, &out);
	in = tagged(B, C, 200, 1);
	out = in;
	expect_sent(&f, "a tag of the native VLAN is accepted", TRUNK_NATIVE, &in, TRUNK, &out);
}

LEAF_TEST(bridge, a_new_tag_carries_the_priority)
{
	struct frame in, out;

	teach(TRUNK, B, 100);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		static const uint8_t dscp[PRIORITY_COUNT] = {0, 8, 16, 26, 32, 40, 48, 56};
		struct frame_spec spec = {
			.destination_mac = B,
			.source_mac = A,
			.family = 4,
			.source = 0x0a000001,
			.destination = 0x0a000002,
			.traffic_class = (uint8_t)(dscp[p] << 2),
			.payload_bytes = 40,
		};

		in = frame_of(&spec);
		spec.tagged = true;
		spec.vlan = 100;
		spec.pcp = p;
		out = frame_of(&spec);
		expect_sent(&f, "PCP is the class", HOST_A, &in, TRUNK, &out);
	}
}

LEAF_TEST(bridge, a_priority_tag_gets_a_vlan_or_goes)
{
	struct frame in = tagged(B, A, 0, 5), out = tagged(B, A, 100, 5);

	teach(TRUNK, B, 100);
	teach(HOST_B, C, 0);
	in.byte[14] |= 0x10; /* drop eligible */
	out.byte[14] |= 0x10;
	expect_sent(&f, "its PCP and DEI stay", HOST_A, &in, TRUNK, &out);
	in = tagged(C, A, 0, 5);
	out = untagged(C, A);
	expect_sent(&f, "removed for an access port", HOST_A, &in, HOST_B, &out);
	in = tagged(C, B, 0, 5);
	expect_drop(&f, "no native VLAN", TRUNK, &in, DROP_VLAN);
}

LEAF_TEST(bridge, a_flooded_frame_is_tagged_as_each_port_wants_it)
{
	static const struct frame_spec spec = {
		.destination_mac = B,
		.source_mac = A,
		.family = 4,
		.source = 0x0a000001,
		.destination = 0x0a000002,
		.traffic_class = 16 << 2,
		.payload_bytes = 20,
		.virtual_bytes = 900,
	};
	struct frame in = frame_of(&spec), with_tag, out;
	struct frame_spec tag = spec;

	tag.tagged = true;
	tag.vlan = 100;
	tag.pcp = 2;
	with_tag = frame_of(&tag);
	fixture_inject(&f, TRUNK, &with_tag);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, HOST_A, &out) && frame_equal(&out, &in));
	cr_assert(fixture_take(&f, HOST_B, &out) && frame_equal(&out, &in));
	cr_assert(fixture_take(&f, TRUNK_NATIVE, &out) && frame_equal(&out, &with_tag));
	expect_silence(&f, "nobody else");

	fixture_inject(&f, HOST_B, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, TRUNK, &out) && frame_equal(&out, &with_tag));
	cr_assert(fixture_take(&f, TRUNK_NATIVE, &out) && frame_equal(&out, &with_tag));
	cr_assert_eq(fixture_discard(&f, HOST_A), 1, "it is of the same VLAN");
}

LEAF_TEST(bridge, flooding_never_enters_a_lossless_class)
{
	static const uint64_t unknown[] = {B, BROADCAST, UINT64_C(0x01005e010101)};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		struct frame in =
			FRAME(.destination_mac = unknown[i], .source_mac = A, .family = 4,
			      .source = 0x0a000001, .destination = 0x0a000002,
			      .traffic_class = 26 << 2, .roce = true, .payload_bytes = 40);
		struct queue_totals totals;

		cr_assert_eq(sent_to(HOST_A, &in), 1u << HOST_B | 1u << TRUNK | 1u << TRUNK_NATIVE);
		leaf_queue_totals(f.leaf, HOST_A, 3, &totals);
		cr_assert_eq(totals.rx_packets, i + 1, "it came in as lossless");
		leaf_queue_totals(f.leaf, HOST_B, 3, &totals);
		cr_assert_eq(totals.tx_packets, 0);
		leaf_queue_totals(f.leaf, HOST_B, 0, &totals);
		cr_assert_eq(totals.tx_packets, i + 1);
	}
}

LEAF_TEST(bridge, MAL_L2_nothing_goes_back_to_its_own_port)
{
	struct frame in = untagged(B, A);

	teach(HOST_A, A, 0);
	teach(HOST_A, B, 0);
	expect_drop(&f, "both behind one port", HOST_A, &in, DROP_SAME_PORT);
}

LEAF_TEST(bridge, reserved_group_addresses_are_never_forwarded)
{
	/* IEEE 802.1Q-2018 table 8-1: 01-80-C2-00-00-00 to 0F. */
	for (uint64_t last = 0; last < 16; last++) {
		struct frame in = untagged(UINT64_C(0x0180c2000000) | last, A);

		expect_drop(&f, "untagged", HOST_A, &in, DROP_RESERVED_MAC);
		in = tagged(UINT64_C(0x0180c2000000) | last, A, 100, 7);
		expect_drop(&f, "tagged", TRUNK, &in, DROP_RESERVED_MAC);
	}
	for (int i = 0; i < 5; i++) {
		static const uint64_t ordinary[] = {
			UINT64_C(0x0180c2000010), /* the range ends at 0F */
			UINT64_C(0x0180c20000f0), UINT64_C(0x0180c2010000),
			UINT64_C(0x0181c2000001), UINT64_C(0x0380c2000000),
		};
		struct frame in = untagged(ordinary[i], A);

		cr_assert_neq(sent_to(HOST_A, &in), 0, "%012" PRIx64, ordinary[i]);
	}
}

/* A MAC control frame: opcode, class vector, and what is left of eight timers. */
static struct frame mac_control(uint64_t destination, uint64_t source, uint16_t opcode,
				uint32_t timers)
{
	struct frame frame =
		FRAME(.destination_mac = destination, .source_mac = source, .ether_type = 0x8808);

	memset(frame.byte + 14, 0, 46);
	store_u16(frame.byte + 14, opcode);
	store_u16(frame.byte + 16, 0x0008);
	for (uint32_t i = 0; i < timers; i++)
		store_u16(frame.byte + 18 + 2 * i, 0xffff);
	return frame;
}

static void expect_consumed(const char *what, uint16_t port, const struct frame *frame)
{
	struct port_totals before, after;
	uint64_t drops = drops_total(&f);

	leaf_port_totals(f.leaf, port, &before);
	fixture_inject(&f, port, frame);
	fixture_settle(&f);
	leaf_port_totals(f.leaf, port, &after);
	expect_silence(&f, what);
	cr_assert_eq(after.consumed, before.consumed + 1, "%s", what);
	cr_assert_eq(drops_total(&f), drops, "%s", what);
}

LEAF_TEST(bridge, MAL_PFC_OTHER_mac_control_is_never_forwarded)
{
	static const uint16_t opcodes[] = {0x0001, 0x0101, 0x0102, 0xffff};
	struct frame frame;

	teach(HOST_B, B, 0);
	for (size_t i = 0; i < sizeof(opcodes) / sizeof(opcodes[0]); i++) {
		frame = mac_control(UINT64_C(0x0180c2000001), A, opcodes[i], 8);
		expect_consumed("to the reserved group", HOST_A, &frame);
		frame = mac_control(B, A, opcodes[i], 8);
		expect_consumed("to a station that we know", HOST_A, &frame);
		frame = mac_control(C, A, opcodes[i], 8);
		expect_consumed("to one that we don't know", HOST_A, &frame);
		frame = mac_control(BROADCAST, A, opcodes[i], 8);
		expect_consumed("to all", HOST_A, &frame);
		frame = mac_control(UINT64_C(0x0180c2000001), 0, opcodes[i], 8);
		expect_consumed("HON-ZERO-SMAC", HOST_A, &frame);
	}
	frame = FRAME(.destination_mac = B, .source_mac = A, .ether_type = 0x8808, .tagged = true,
		      .vlan = 100);
	expect_consumed("in a tag", TRUNK, &frame);
	frame = FRAME(.destination_mac = B, .source_mac = A, .ether_type = 0x8808, .tagged = true,
		      .vlan = 999);
	expect_consumed("in a tag of an unknown VLAN", TRUNK, &frame);
	/* A's address came only with MAC control: nobody has learned it. */
	frame = untagged(A, B);
	cr_assert_eq(sent_to(HOST_B, &frame), 1u << HOST_A | 1u << TRUNK | 1u << TRUNK_NATIVE);
}

LEAF_TEST(bridge, MAL_PFC_SHORT_a_pause_frame_may_end_anywhere)
{
	struct frame whole = mac_control(UINT64_C(0x0180c2000001), A, 0x0101, 8);

	for (uint32_t size = 14; size <= 14 + 4 + 16; size++) {
		struct frame frame = whole;

		frame.size = size;
		expect_consumed("cut", HOST_A, &frame);
	}
}

LEAF_TEST(bridge, MAL_L2_a_frame_of_another_vlan_is_dropped_and_not_learned)
{
	struct frame in, probe = untagged(C, B);

	teach(HOST_B, B, 0);
	in = tagged(B, C, 200, 0);
	expect_drop(&f, "tag of a VLAN that the access port isn't in", HOST_A, &in, DROP_VLAN);
	in = tagged(B, C, 300, 0);
	expect_drop(&f, "tag of no VLAN", TRUNK, &in, DROP_VLAN);
	in = tagged(B, C, 4095, 0);
	expect_drop(&f, "VLAN 4095 is reserved", TRUNK, &in, DROP_VLAN);
	in = untagged(B, C);
	expect_drop(&f, "untagged on a trunk without native VLAN", TRUNK, &in, DROP_VLAN);
	expect_drop(&f, "a port that is off", UNUSED, &in, DROP_LINK_DOWN);
	cr_assert_eq(sent_to(HOST_B, &probe), 1u << HOST_A | 1u << TRUNK | 1u << TRUNK_NATIVE,
		     "C is still unknown");
}

LEAF_TEST(bridge, MAL_L2_impossible_sources_are_dropped_and_not_learned)
{
	struct frame in = untagged(B, UINT64_C(0x01005e000001));

	teach(HOST_B, B, 0);
	expect_drop(&f, "multicast", HOST_A, &in, DROP_SOURCE_MAC);
	in = untagged(B, BROADCAST);
	expect_drop(&f, "broadcast", HOST_A, &in, DROP_SOURCE_MAC);
	in = untagged(B, 0);
	expect_drop(&f, "zero", HOST_A, &in, DROP_SOURCE_MAC);
	in = untagged(B, B);
	expect_drop(&f, "the destination's", HOST_A, &in, DROP_SOURCE_MAC);
	in = tagged(B, B, 100, 0);
	expect_drop(&f, "the destination's, tagged", TRUNK, &in, DROP_SOURCE_MAC);
	in = untagged(B, A);
	cr_assert_eq(sent_to(HOST_A, &in), 1u << HOST_B, "B didn't move");
}

LEAF_TEST(bridge, inner_tags_are_payload)
{
	struct frame in = untagged(B, A), out;

	teach(HOST_B, B, 0);
	teach(TRUNK, C, 100);
	store_u16(in.byte + 12, 0x88a8); /* 802.1ad: a tag of a provider, not ours */
	expect_sent(&f, "S-tag", HOST_A, &in, HOST_B, &in);
	in = tagged(B, C, 100, 0);
	store_u16(in.byte + 16, 0x8100); /* a second tag, of VLAN 200 */
	store_u16(in.byte + 18, 200);
	out = untagged(B, C);
	memcpy(out.byte + 12, in.byte + 16, in.size - 16);
	out.size = in.size - 4;
	expect_sent(&f, "two tags", TRUNK, &in, HOST_B, &out);
}

LEAF_TEST(bridge, a_port_without_link_gets_nothing)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame to_b = untagged(B, A);

	teach(HOST_B, B, 0);
	cr_assert_eq(sent_to(HOST_A, &to_b), 1u << HOST_B);
	snapshot->port[HOST_B].link_up = false;
	fixture_publish(&f, snapshot);
	cr_assert_eq(sent_to(HOST_A, &to_b), 1u << TRUNK | 1u << TRUNK_NATIVE,
		     "B may be elsewhere by now");
	cr_assert_eq(drops_total(&f), 0);
}

LEAF_TEST(bridge, without_another_member_a_frame_ends_here)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame in = untagged(B, A);

	snapshot->port[HOST_B].link_up = false;
	snapshot->port[TRUNK].link_up = false;
	snapshot->port[TRUNK_NATIVE].link_up = false;
	fixture_publish(&f, snapshot);
	expect_drop(&f, "alone", HOST_A, &in, DROP_NO_MEMBER);
}

LEAF_TEST(bridge, frames_beyond_an_mtu_are_dropped)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame in = untagged(B, A);

	snapshot->port[HOST_A].frame_bytes_max = 9000 + FRAME_HEADER_BYTES;
	fixture_publish(&f, snapshot);
	teach(HOST_B, B, 0);
	in.virtual_bytes = (uint16_t)(1518 - in.size);
	expect_sent(&f, "1518 bytes", HOST_A, &in, HOST_B, &in);
	in.virtual_bytes++;
	expect_drop(&f, "1519 bytes to a port of MTU 1500", HOST_A, &in, DROP_MTU);
	in.virtual_bytes = (uint16_t)(9019 - in.size);
	expect_drop(&f, "9019 bytes from a port of MTU 9000", HOST_A, &in, DROP_TOO_LONG);
	/* Flooded: each port decides for itself. */
	in = untagged(C, A);
	in.virtual_bytes = (uint16_t)(1600 - in.size);
	cr_assert_eq(sent_to(HOST_A, &in), 0);
	cr_assert_eq(drops_of(&f, DROP_MTU), 1 + 3);
}

LEAF_TEST(bridge, flooding_is_policed)
{
	struct frame in = untagged(B, A);
	/* Each worker has its share. */
	const uint64_t burst = 1000 / f.worker_count, gap_ps = f.worker_count * 10 * PS_PER_US;
	uint64_t passed = 0;

	/* 100000 frames a second, 1000 at once. */
	for (int i = 0; i < 1500; i++) {
		fixture_inject(&f, HOST_A, &in);
		fixture_poll(&f);
		passed += fixture_discard(&f, HOST_B);
		ports_that_sent();
	}
	fixture_settle(&f);
	passed += fixture_discard(&f, HOST_B);
	ports_that_sent();
	cr_assert_geq(passed, burst);
	cr_assert_eq(passed + drops_of(&f, DROP_FLOOD_POLICED), 1500);
	cr_assert_leq(passed, burst + (f.now_ps - PS_PER_S) / gap_ps + 1);
	fixture_run_until(&f, f.now_ps + gap_ps + PS_PER_US);
	cr_assert_neq(sent_to(HOST_A, &in), 0, "one more each 10 us");
	expect_drop(&f, "and no more", HOST_A, &in, DROP_FLOOD_POLICED);
}

LEAF_TEST(bridge, an_empty_pool_costs_copies_and_nothing_else)
{
	struct frame in = untagged(B, A);
	struct rte_mbuf *taken[FIXTURE_PACKETS + 1];
	uint32_t count = 0;

	while ((taken[count] = rte_pktmbuf_alloc(f.pool)) != NULL)
		count++;
	rte_pktmbuf_free(taken[--count]);
	fixture_inject(&f, HOST_A, &in);
	fixture_settle(&f);
	cr_assert_eq(ports_that_sent(), 1u << TRUNK_NATIVE, "the original goes to the last port");
	cr_assert_eq(drops_of(&f, DROP_NO_BUFFER), 2, "copies that weren't made are counted");
	while (count != 0)
		rte_pktmbuf_free(taken[--count]);
}

LEAF_TEST(bridge, a_full_table_still_forwards)
{
	struct frame in = untagged(BROADCAST, A), to_last = untagged(A + 999, B);
	struct fdb_stats stats;

	teach(HOST_B, B, 0);
	for (uint64_t i = 0; i < 1000; i++) {
		mac_store(in.byte + 6, A + i);
		fixture_inject(&f, HOST_A, &in);
		fixture_poll(&f);
		ports_that_sent();
	}
	fdb_stats(leaf_fdb(f.leaf), &stats);
	cr_assert_gt(stats.full, 0);
	fixture_run_until(&f, f.now_ps + PS_PER_S);
	ports_that_sent();
	cr_assert_eq(sent_to(HOST_B, &to_last), 1u << HOST_A | 1u << TRUNK | 1u << TRUNK_NATIVE,
		     "an address that found no room is flooded");
}
