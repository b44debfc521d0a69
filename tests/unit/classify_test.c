/* SPDX-License-Identifier: BSD-3-Clause */
/* Which class a packet gets, by the trust of its port. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "tests/unit/leaf_fixture.h"

#define HOST UINT64_C(0x02000000aa01)

/* Routed ports trust DSCP, PCP and nothing; the last one sends. */
enum { BY_DSCP, BY_PCP, UNTRUSTED, OUT, BRIDGED, BRIDGED_2, PORT_COUNT };

static struct leaf_fixture f;

static void start(void)
{
	struct snapshot *snapshot;

	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, OUT + 1);
	snapshot->port[BY_PCP].trust = PORT_TRUST_PCP;
	snapshot->port[UNTRUSTED].trust = PORT_TRUST_NONE;
	snapshot_bridged(snapshot, BRIDGED, 100);
	snapshot_bridged(snapshot, BRIDGED_2, 100);
	snapshot->port[BRIDGED].trust = PORT_TRUST_PCP;
	snapshot_interface(snapshot, PORT_NONE, 100, 1500);
	fixture_publish(&f, snapshot);
}

static void finish(void)
{
	fixture_close(&f);
}

static struct frame packet(uint8_t family, uint8_t traffic_class)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = family,
		     .source = 0x0a000001, .destination = 0x0a030001, .source6 = "fd00:0::1",
		     .destination6 = "fd00:3::1", .traffic_class = traffic_class,
		     .payload_bytes = 40);
}

static uint64_t queue_received(uint16_t port, uint8_t priority)
{
	struct queue_totals totals;

	leaf_queue_totals(f.leaf, port, priority, &totals);
	return totals.rx_packets;
}

static uint64_t queue_sent(uint16_t port, uint8_t priority)
{
	struct queue_totals totals;

	leaf_queue_totals(f.leaf, port, priority, &totals);
	return totals.tx_packets;
}

/* One frame: in and out in this class, and counted in no other. */
static void expect_class(const char *what, uint16_t from, const struct frame *in, uint16_t to,
			 uint8_t priority)
{
	uint64_t received[PRIORITY_COUNT], sent[PRIORITY_COUNT];

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		received[p] = queue_received(from, p);
		sent[p] = queue_sent(to, p);
	}
	fixture_inject(&f, from, in);
	fixture_settle(&f);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		cr_assert_eq(queue_received(from, p) - received[p], p == priority,
			     "%s: into class %u", what, p);
		cr_assert_eq(queue_sent(to, p) - sent[p], p == priority, "%s: out of class %u",
			     what, p);
	}
}

static const uint8_t class_of_dscp[64] = {
	[8] = 1, [16] = 2, [26] = 3, [32] = 4, [40] = 5, [48] = 6, [56] = 7};

LEAF_TEST(classify, CLS_DSCP_Q_each_code_point_has_its_queue)
{
	for (uint8_t family = 4; family <= 6; family += 2) {
		for (uint8_t dscp = 0; dscp < 64; dscp++) {
			struct frame in = packet(family, (uint8_t)(dscp << 2));

			expect_class(family == 4 ? "IPv4" : "CLS-IPV6", BY_DSCP, &in, OUT,
				     class_of_dscp[dscp]);
			cr_assert_eq(fixture_discard(&f, OUT), 1);
		}
	}
}

LEAF_TEST(classify, CLS_ECN_BLIND_the_ecn_bits_never_classify)
{
	for (uint8_t family = 4; family <= 6; family += 2) {
		for (uint8_t ecn = 0; ecn < 4; ecn++) {
			struct frame in = packet(family, (uint8_t)(26 << 2 | ecn));

			expect_class("ECN", BY_DSCP, &in, OUT, 3);
			fixture_discard(&f, OUT);
		}
	}
}

LEAF_TEST(classify, CLS_REMARK_NONE_dscp_and_ecn_leave_as_they_came)
{
	for (uint16_t from = BY_DSCP; from <= UNTRUSTED; from++) {
		for (uint32_t value = 0; value < 256; value++) {
			struct frame in = packet(4, (uint8_t)value), out;

			fixture_inject(&f, from, &in);
			fixture_settle(&f);
			cr_assert(fixture_take(&f, OUT, &out));
			cr_assert_eq(out.byte[15], value);
			in = packet(6, (uint8_t)value);
			fixture_inject(&f, from, &in);
			fixture_settle(&f);
			cr_assert(fixture_take(&f, OUT, &out));
			cr_assert_eq((out.byte[14] & 0xfu) << 4 | out.byte[15] >> 4, value);
			cr_assert_eq(memcmp(out.byte + 14, in.byte + 14, 7), 0, "flow label too");
		}
	}
}

LEAF_TEST(classify, CLS_DOT1P_Q_a_port_that_trusts_pcp_goes_by_it)
{
	for (uint8_t pcp = 0; pcp < 8; pcp++) {
		struct frame in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
					.family = 4, .source = 0x0a000001,
					.destination = 0x0a030001, .traffic_class = 48 << 2,
					.tagged = true, .pcp = pcp, .payload_bytes = 40);

		expect_class("priority tag", BY_PCP, &in, OUT, pcp);
		expect_class("but only where it is trusted", UNTRUSTED, &in, OUT, 0);
		expect_class("DSCP wins where that is trusted", BY_DSCP, &in, OUT, 6);
		cr_assert_eq(fixture_discard(&f, OUT), 3);
	}
}

LEAF_TEST(classify, a_port_that_trusts_pcp_puts_untagged_frames_into_the_default)
{
	struct frame in = packet(4, 26 << 2);

	expect_class("no tag", BY_PCP, &in, OUT, 0);
	fixture_discard(&f, OUT);
}

LEAF_TEST(classify, a_port_that_is_not_trusted_reaches_no_lossless_class)
{
	for (uint8_t dscp = 0; dscp < 64; dscp++) {
		struct frame in = packet(dscp % 2 == 0 ? 4 : 6, (uint8_t)(dscp << 2));

		expect_class("untrusted", UNTRUSTED, &in, OUT, 0);
		fixture_discard(&f, OUT);
	}
}

LEAF_TEST(classify, CLS_NONIP_what_is_not_ip_is_never_lossless)
{
	static const uint16_t types[] = {0x0806, 0x88cc, 0x88b5, 0x8915, 0x0027};
	struct frame in;

	/* So that it isn't flooded, which would make it lossy anyway. */
	in = FRAME(.destination_mac = HOST, .source_mac = HOST + 1, .ether_type = 0x88b5);
	fixture_inject(&f, BRIDGED_2, &in);
	fixture_settle(&f);
	fixture_discard(&f, BRIDGED);
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		for (uint8_t pcp = 0; pcp < 8; pcp++) {
			in = FRAME(.destination_mac = HOST + 1, .source_mac = HOST,
				   .ether_type = types[i], .tagged = true, .vlan = 100, .pcp = pcp);
			expect_class("by PCP", BRIDGED, &in, BRIDGED_2, pcp == 3 ? 0 : pcp);
			cr_assert_eq(fixture_discard(&f, BRIDGED_2), 1);
		}
	}
}

LEAF_TEST(classify, what_the_kernel_sends_is_never_lossless)
{
	for (uint8_t dscp = 0; dscp < 64; dscp++) {
		struct frame in = packet(4, (uint8_t)(dscp << 2));
		uint8_t priority = class_of_dscp[dscp];

		in.meta = (struct packet_meta){.interface = OUT};
		expect_class("IP", f.cpu, &in, OUT, priority == 3 ? 0 : priority);
		fixture_discard(&f, OUT);
	}
	struct frame in =
		FRAME(.destination_mac = HOST, .source_mac = FIXTURE_ROUTER, .ether_type = 0x0806);

	in.meta = (struct packet_meta){.interface = OUT};
	expect_class("ARP must not starve", f.cpu, &in, OUT, 7);
	fixture_discard(&f, OUT);
}

LEAF_TEST(classify, bytes_count_as_they_are_on_the_wire)
{
	struct frame in = packet(4, 26 << 2);
	struct queue_totals totals;
	struct port_totals port;

	in.virtual_bytes = 1000;
	store_u16(in.byte + 16, in.size - 14 + 1000);
	frame_checksum_set(&in, 14);
	fixture_inject(&f, BY_DSCP, &in);
	fixture_settle(&f);
	fixture_discard(&f, OUT);
	leaf_queue_totals(f.leaf, BY_DSCP, 3, &totals);
	cr_assert_eq(totals.rx_bytes, in.size + 1000u);
	leaf_queue_totals(f.leaf, OUT, 3, &totals);
	cr_assert_eq(totals.tx_bytes, in.size + 1000u);
	cr_assert_eq(totals.depth_bytes_max, in.size + 1000u);
	cr_assert_eq(totals.depth_bytes, 0);
	leaf_port_totals(f.leaf, BY_DSCP, &port);
	cr_assert_eq(port.rx_bytes, in.size + 1000u);
	leaf_port_totals(f.leaf, OUT, &port);
	cr_assert_eq(port.tx_bytes, in.size + 1000u);
}
