/* SPDX-License-Identifier: BSD-3-Clause */
/* Whole bursts, and the largest leaf there is. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/leaf_fixture.h"

#define HOST      UINT64_C(0x02000000aa01)
#define BROADCAST UINT64_C(0xffffffffffff)

static struct leaf_fixture f;

/* --- bursts of all kinds of frames --- */

enum { IN, OUT4, OUT6, PORT_COUNT };

enum kind {
	KIND_GOOD4,
	KIND_GOOD6,
	KIND_CHECKSUM,
	KIND_SHORT,
	KIND_LONG,
	KIND_TTL,
	KIND_ARP_UP,
	KINDS
};

static struct frame frame_of_kind(enum kind kind, uint32_t number)
{
	struct frame frame = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				   .family = kind == KIND_GOOD6 ? 6 : 4, .source = 0x0a000001,
				   .destination = 0x0a010001, .source6 = "fd00:0::1",
				   .destination6 = "fd00:2::1", .number = number,
				   .payload_bytes = (uint16_t)(20 + number % 100),
				   .ttl = kind == KIND_TTL ? 1 : 64);

	if (kind == KIND_CHECKSUM)
		frame.byte[24] ^= 0x55;
	if (kind == KIND_SHORT)
		frame.size = number % 14;
	if (kind == KIND_LONG)
		frame.virtual_bytes = 1500;
	if (kind == KIND_ARP_UP)
		store_u16(frame.byte + 12, 0x0806);
	return frame;
}

Test(pipeline, a_burst_may_have_bad_frames_anywhere)
{
	static const enum drop_reason reasons[KINDS] = {
		[KIND_CHECKSUM] = DROP_IP_CHECKSUM,
		[KIND_SHORT] = DROP_TOO_SHORT,
		[KIND_LONG] = DROP_TOO_LONG,
		[KIND_TTL] = DROP_TTL,
	};
	uint64_t count[KINDS] = {0}, bytes = 0, state = 3;
	struct port_totals totals;

	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	fixture_publish(&f, snapshot_router(&f, PORT_COUNT));
	for (uint32_t round = 0; round < 300; round++) {
		uint32_t frames = 1 + draw(&state, 32), numbers[KINDS][32], sent[KINDS] = {0};
		struct frame frame;

		for (uint32_t i = 0; i < frames; i++) {
			/* Some bursts are all bad, some all good. */
			enum kind kind =
				(enum kind)(round % 5 == 0   ? KIND_CHECKSUM + draw(&state, 3)
					    : round % 5 == 1 ? draw(&state, 2)
							     : draw(&state, KINDS));

			frame = frame_of_kind(kind, round << 8 | i);
			numbers[kind][sent[kind]++] = round << 8 | i;
			bytes += frame.size + frame.virtual_bytes;
			fixture_inject(&f, IN, &frame);
		}
		fixture_settle(&f);
		for (uint32_t kind = 0; kind < KINDS; kind++)
			count[kind] += sent[kind];
		for (uint32_t i = 0; i < sent[KIND_GOOD4]; i++)
			cr_assert(fixture_take(&f, OUT4, &frame) &&
				  frame_number(&frame) == numbers[KIND_GOOD4][i]);
		for (uint32_t i = 0; i < sent[KIND_GOOD6]; i++)
			cr_assert(fixture_take(&f, OUT6, &frame) &&
				  frame_number(&frame) == numbers[KIND_GOOD6][i]);
		for (uint32_t i = 0; i < sent[KIND_ARP_UP]; i++)
			cr_assert(fixture_take(&f, f.cpu, &frame) &&
				  frame_number(&frame) == numbers[KIND_ARP_UP][i]);
		expect_silence(&f, "nothing else");
	}
	leaf_port_totals(f.leaf, IN, &totals);
	cr_assert_eq(totals.rx_bytes, bytes, "what was dropped counts as received, too");
	for (uint32_t kind = KIND_CHECKSUM; kind <= KIND_TTL; kind++)
		cr_assert_eq(totals.drop[reasons[kind]], count[kind]);
	fixture_close(&f);
}

/* --- 511 ports and the CPU's --- */

enum { LARGE = PORT_COUNT_MAX - 1 };

/* At the ends of words of port_bits, and where eight bits end. */
static const uint16_t corners[] = {0, 63, 64, 127, 128, 255, 256, 320, 509, 510};
enum { CORNERS = sizeof(corners) / sizeof(corners[0]) };

Test(pipeline, FWD_MESH_the_largest_leaf_routes_between_its_corners)
{
	struct snapshot *snapshot;

	fixture_start_eal();
	fixture_open(&f, LARGE);
	snapshot = snapshot_of(&f);
	for (uint32_t i = 0; i < CORNERS; i++) {
		uint16_t interface = snapshot_interface(snapshot, corners[i], 0, 1500);
		uint32_t adjacency = snapshot_adjacency(snapshot, router_peer(corners[i]),
							corners[i], interface);
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "10.%u.0.0/16", i);
		fixture_route(&f, prefix,
			      snapshot_group(snapshot, GROUP_VIA, interface, adjacency, 1));
	}
	fixture_publish(&f, snapshot);
	for (uint32_t from = 0; from < CORNERS; from++) {
		for (uint32_t to = 0; to < CORNERS; to++) {
			struct frame_spec spec = {
				.destination_mac = FIXTURE_ROUTER,
				.source_mac = HOST,
				.family = 4,
				.source = 0x0a000001 + (from << 16),
				.destination = 0x0a000001 + (to << 16),
				.payload_bytes = 40,
			};
			struct frame in = frame_of(&spec), out;

			spec.destination_mac = router_peer(corners[to]);
			spec.source_mac = FIXTURE_ROUTER;
			spec.ttl = 63;
			out = frame_of(&spec);
			expect_sent(&f, "corner to corner", corners[from], &in, corners[to], &out);
		}
	}
	/* And to the kernel, whose port is the very last. */
	struct frame in =
		FRAME(.destination_mac = BROADCAST, .source_mac = HOST, .ether_type = 0x0806);

	expect_sent(&f, "ARP", 510, &in, f.cpu, &in);
	cr_assert_eq(f.cpu, 511);
	fixture_close(&f);
}

Test(pipeline, the_largest_leaf_floods_to_all_its_ports)
{
	struct frame in = FRAME(.destination_mac = BROADCAST, .source_mac = HOST,
				.ether_type = 0x88b5),
		     out;
	struct snapshot *snapshot;
	struct leaf_conservation sum;

	fixture_start_eal();
	fixture_open(&f, LARGE);
	snapshot = snapshot_of(&f);
	for (uint16_t port = 0; port < LARGE; port++)
		snapshot_bridged(snapshot, port, 100);
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < CORNERS; i++) {
		fixture_inject(&f, corners[i], &in);
		fixture_settle(&f);
		for (uint16_t port = 0; port < LARGE; port++) {
			if (port == corners[i])
				continue;
			cr_assert(fixture_take(&f, port, &out) && frame_equal(&out, &in), "%u",
				  port);
		}
		expect_silence(&f, "each once");
		mac_store(in.byte + 6, HOST + i);
	}
	leaf_conservation(f.leaf, &sum);
	cr_assert_eq(sum.copied, CORNERS * (LARGE - 2), "the original goes, too");
	cr_assert_eq(sum.tx_packets, CORNERS * (LARGE - 1));
	fixture_close(&f);
}
