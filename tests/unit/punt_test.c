/* SPDX-License-Identifier: BSD-3-Clause */
/* The CPU's port: frames from the kernel, frames for it, and how many of them. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/punt.h"
#include "tests/unit/leaf_fixture.h"

#define A         UINT64_C(0x02000000aa01)
#define BROADCAST UINT64_C(0xffffffffffff)

enum { UPLINK, ACCESS, TRUNK, PORT_COUNT };
enum { INTERFACE_UPLINK, INTERFACE_100 };

static struct leaf_fixture f;

static void start(void)
{
	struct snapshot *snapshot;

	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, 1);
	snapshot_bridged(snapshot, ACCESS, 100);
	snapshot_trunk(snapshot, TRUNK, 100);
	snapshot_interface(snapshot, PORT_NONE, 100, 1500);
	fixture_route(&f, "10.9.0.1/32", snapshot_group(snapshot, GROUP_LOCAL, 0, 0, 0));
	fixture_publish(&f, snapshot);
}

static void finish(void)
{
	fixture_close(&f);
}

static struct frame from_kernel(uint16_t interface, uint8_t reason, struct frame frame)
{
	frame.meta = (struct packet_meta){.interface = interface, .reason = reason};
	return frame;
}

static struct frame arp(uint64_t destination)
{
	return FRAME(.destination_mac = destination, .source_mac = FIXTURE_ROUTER,
		     .ether_type = 0x0806);
}

LEAF_TEST(punt, a_frame_for_a_routed_port_leaves_as_it_is)
{
	struct frame in = from_kernel(INTERFACE_UPLINK, PUNT_NONE, arp(BROADCAST));

	expect_sent(&f, "ARP", f.cpu, &in, UPLINK, &in);
	in = FRAME(.destination_mac = A, .source_mac = FIXTURE_ROUTER, .family = 4, .ttl = 1,
		   .source = 0x0a000001, .destination = 0xe0000005, .payload_bytes = 40);
	in = from_kernel(INTERFACE_UPLINK, PUNT_NONE, in);
	expect_sent(&f, "its TTL is the kernel's business", f.cpu, &in, UPLINK, &in);
	in = FRAME(.destination_mac = UINT64_C(0x0180c200000e), .source_mac = FIXTURE_ROUTER,
		   .ether_type = 0x88cc);
	in = from_kernel(INTERFACE_UPLINK, PUNT_NONE, in);
	expect_sent(&f, "LLDP of our own", f.cpu, &in, UPLINK, &in);
}

LEAF_TEST(punt, a_frame_for_a_vlan_interface_is_bridged)
{
	struct frame in = FRAME(.destination_mac = BROADCAST, .source_mac = A, .ether_type = 0x88b5,
				.tagged = true, .vlan = 100);
	struct frame out;

	fixture_inject(&f, TRUNK, &in);
	fixture_settle(&f);
	fixture_discard(&f, ACCESS);
	fixture_discard(&f, f.cpu);
	in = from_kernel(INTERFACE_100, PUNT_NONE, arp(A));
	out = FRAME(.destination_mac = A, .source_mac = FIXTURE_ROUTER, .ether_type = 0x0806,
		    .tagged = true, .vlan = 100, .pcp = 7);
	expect_sent(&f, "where A was seen, in the class of control", f.cpu, &in, TRUNK, &out);

	in = from_kernel(INTERFACE_100, PUNT_NONE, arp(BROADCAST));
	fixture_inject(&f, f.cpu, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, ACCESS, &out) && frame_equal(&out, &in));
	cr_assert_eq(fixture_discard(&f, TRUNK), 1);
	expect_silence(&f, "and not back to the kernel");
}

LEAF_TEST(punt, a_held_packet_is_routed_when_it_comes_back)
{
	struct frame in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = A, .family = 4,
				.source = 0x0a010001, .destination = 0x0a000001,
				.traffic_class = 26 << 2, .payload_bytes = 100);
	struct frame out =
		FRAME(.destination_mac = router_peer(UPLINK), .source_mac = FIXTURE_ROUTER,
		      .family = 4, .source = 0x0a010001, .destination = 0x0a000001,
		      .traffic_class = 26 << 2, .ttl = 63, .payload_bytes = 100);
	struct queue_totals totals;

	in = from_kernel(INTERFACE_UPLINK, PUNT_NEIGHBOUR, in);
	expect_sent(&f, "IPv4", f.cpu, &in, UPLINK, &out);
	leaf_queue_totals(f.leaf, UPLINK, 3, &totals);
	cr_assert_eq(totals.tx_packets, 0, "what the kernel sends is lossy");
	in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = A, .family = 6,
		   .source6 = "fd00:1::1", .destination6 = "fd00:0::1", .payload_bytes = 100);
	out = FRAME(.destination_mac = router_peer(UPLINK), .source_mac = FIXTURE_ROUTER,
		    .family = 6, .source6 = "fd00:1::1", .destination6 = "fd00:0::1", .ttl = 63,
		    .payload_bytes = 100);
	in = from_kernel(INTERFACE_UPLINK, PUNT_NEIGHBOUR, in);
	expect_sent(&f, "IPv6", f.cpu, &in, UPLINK, &out);
}

LEAF_TEST(punt, a_frame_for_an_interface_that_is_gone_ends_here)
{
	struct frame in = from_kernel(2, PUNT_NONE, arp(BROADCAST));

	expect_drop(&f, "there are two", f.cpu, &in, DROP_NO_MEMBER);
	in = from_kernel(INTERFACE_NONE, PUNT_NEIGHBOUR, arp(BROADCAST));
	expect_drop(&f, "none", f.cpu, &in, DROP_NO_MEMBER);
}

LEAF_TEST(punt, MAL_PFC_OTHER_the_kernel_pauses_nobody)
{
	struct frame in = FRAME(.destination_mac = UINT64_C(0x0180c2000001),
				.source_mac = FIXTURE_ROUTER, .ether_type = 0x8808);

	/* Whoever may open a TAP could stop a neighbour's port; pauses are ours to send. */
	in = from_kernel(INTERFACE_UPLINK, PUNT_NONE, in);
	expect_drop(&f, "routed port", f.cpu, &in, DROP_RESERVED_MAC);
	mac_store(in.byte, A);
	expect_drop(&f, "to a station", f.cpu, &in, DROP_RESERVED_MAC);
	in = from_kernel(INTERFACE_100, PUNT_NONE, in);
	expect_drop(&f, "VLAN interface", f.cpu, &in, DROP_RESERVED_MAC);
	in = from_kernel(INTERFACE_100, PUNT_NEIGHBOUR, in);
	expect_drop(&f, "as a held packet", f.cpu, &in, DROP_RESERVED_MAC);
}

LEAF_TEST(punt, without_a_cpu_port_what_is_for_the_kernel_is_dropped)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame in =
		FRAME(.destination_mac = BROADCAST, .source_mac = A, .ether_type = 0x0806);

	snapshot->port[f.cpu].link_up = false;
	fixture_publish(&f, snapshot);
	expect_drop(&f, "ARP", UPLINK, &in, DROP_LINK_DOWN);
}

/* --- policing --- */

Test(punt, a_policer_passes_a_burst_and_then_its_rate)
{
	static const uint64_t starts[] = {0, PS_PER_S, UINT64_MAX - 10 * PS_PER_MS};

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		struct policer policer = policer_of(starts[i], 2000, 500);
		uint64_t now_ps = starts[i];

		for (uint32_t k = 0; k < 500; k++)
			cr_assert(policer_pass(&policer, now_ps), "packet %u of the burst", k);
		cr_assert_not(policer_pass(&policer, now_ps));
		/* 2000 a second: one each 500 us, and not a picosecond before. */
		for (uint32_t k = 0; k < 1000; k++) {
			now_ps += 500 * PS_PER_US - 1;
			cr_assert_not(policer_pass(&policer, now_ps));
			cr_assert(policer_pass(&policer, ++now_ps));
		}
		/* Silence fills the burst, and no more than that. */
		now_ps += 3600 * PS_PER_S;
		for (uint32_t k = 0; k < 500; k++)
			cr_assert(policer_pass(&policer, now_ps));
		cr_assert_not(policer_pass(&policer, now_ps));
	}
}

/* A frame for each reason. */
static void frames_of(struct frame out[PUNT_COUNT])
{
	memset(out, 0, PUNT_COUNT * sizeof(out[0]));
	out[PUNT_LOCAL] =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = A, .family = 4,
		      .source = 0x0a010001, .destination = 0x0a090001, .payload_bytes = 20);
	out[PUNT_ARP] = FRAME(.destination_mac = BROADCAST, .source_mac = A, .ether_type = 0x0806);
	out[PUNT_ND] = FRAME(.destination_mac = UINT64_C(0x3333ff000001), .source_mac = A,
			     .family = 6, .source6 = "fe80::1", .destination6 = "ff02::1:ff00:1",
			     .protocol = 58, .payload_bytes = 24);
	out[PUNT_BROADCAST] =
		FRAME(.destination_mac = BROADCAST, .source_mac = A, .family = 4,
		      .source = 0x0a010001, .destination = 0xffffffff, .payload_bytes = 20);
	out[PUNT_NEIGHBOUR] =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = A, .family = 4,
		      .source = 0x0a010001, .destination = 0x0a080001, .payload_bytes = 20);
}

/* What a stream of this many frames a second gets through, in packets. */
static uint32_t passed(const struct frame *frame, uint32_t frames, uint64_t interval_ps)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < frames; i++) {
		fixture_inject(&f, UPLINK, frame);
		fixture_poll(&f);
		while (fixture_queued(&f) != 0) {
			f.now_ps = f.due_ps;
			fixture_poll(&f);
		}
		count += fixture_discard(&f, f.cpu);
		f.now_ps += interval_ps;
	}
	return count;
}

LEAF_TEST(punt, each_reason_has_a_rate_of_its_own)
{
	static const struct {
		uint32_t rate, burst;
	} limits[PUNT_COUNT] = {
#define LIMIT(id, name, rate, burst, help) {rate, burst},
		PUNT_REASONS(LIMIT)
#undef LIMIT
	};
	static struct frame frame[PUNT_COUNT];
	struct snapshot *snapshot = snapshot_copy(f.snapshot);

	fixture_route(&f, "10.8.0.0/16", snapshot_group(snapshot, GROUP_VIA, 0, 0, 0));
	fixture_publish(&f, snapshot);
	frames_of(frame);
	for (uint32_t reason = PUNT_NONE + 1; reason < PUNT_COUNT; reason++) {
		uint64_t interval_ps = PS_PER_S / limits[reason].rate;
		uint64_t before = drops_of(&f, DROP_PUNT_POLICED), begin_ps = f.now_ps;
		uint32_t frames = limits[reason].burst + 300;
		/* Ten times too fast: a burst, and then one in ten. */
		uint32_t count = passed(&frame[reason], frames, interval_ps / 10);
		uint64_t wanted = limits[reason].burst + (f.now_ps - begin_ps) / interval_ps;

		cr_expect(count >= (wanted > frames ? frames : wanted) - 1 && count <= wanted + 1,
			  "reason %u: %u of %u, should be %" PRIu64, reason, count, frames, wanted);
		cr_expect_eq(drops_of(&f, DROP_PUNT_POLICED) - before, frames - count);
		/* At its rate all of it goes, for ever. */
		f.now_ps += PS_PER_S;
		cr_expect_eq(passed(&frame[reason], 500, interval_ps), 500, "reason %u", reason);
	}
}

LEAF_TEST(punt, copies_beyond_the_rate_are_counted)
{
	static struct frame frame[PUNT_COUNT];

	/* In a VLAN the frame itself goes on; that the kernel didn't get it must be seen. */
	frames_of(frame);
	for (uint32_t i = 0; i < 600; i++) {
		fixture_inject(&f, ACCESS, &frame[PUNT_ARP]);
		fixture_poll(&f);
	}
	cr_assert_eq(drops_of(&f, DROP_PUNT_POLICED), 100, "all at one time: 500 pass");
	fixture_settle(&f);
	cr_assert_eq(fixture_discard(&f, f.cpu), 500);
	cr_assert_eq(fixture_discard(&f, TRUNK), 600);
	cr_assert_eq(drops_total(&f), 100);
}

LEAF_TEST(punt, a_flood_of_one_reason_leaves_the_others_alone)
{
	static struct frame frame[PUNT_COUNT];

	frames_of(frame);
	passed(&frame[PUNT_BROADCAST], 400, 0);
	cr_assert_gt(drops_of(&f, DROP_PUNT_POLICED), 0);
	cr_assert_eq(passed(&frame[PUNT_ARP], 400, 0), 400);
	cr_assert_eq(passed(&frame[PUNT_LOCAL], 400, 0), 400);
	cr_assert_eq(passed(&frame[PUNT_ND], 400, 0), 400);
}

LEAF_TEST(punt, policers_pass_frames_after_months_of_silence)
{
	static struct frame frame[PUNT_COUNT];

	frames_of(frame);
	for (uint32_t reason = PUNT_LOCAL; reason < PUNT_NEIGHBOUR; reason++)
		passed(&frame[reason], 1500, 0);
	for (uint32_t hour = 0; hour < 3500; hour++) {
		f.now_ps += 3600 * PS_PER_S;
		fixture_poll(&f);
	}
	for (uint32_t reason = PUNT_LOCAL; reason < PUNT_NEIGHBOUR; reason++)
		cr_assert_eq(passed(&frame[reason], 100, 0), 100, "reason %u", reason);
}
