/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing on routed ports: RFC 791, 1812, 1624, 8200, 6890. What VLANs add is in route_vlan_test.c. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/punt.h"
#include "tests/unit/leaf_fixture.h"

#define HOST UINT64_C(0x02000000aa01)

enum { PORT_COUNT = 4 };

static struct leaf_fixture f;

static void start(void)
{
	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	fixture_publish(&f, snapshot_router(&f, PORT_COUNT));
}

static void finish(void)
{
	fixture_close(&f);
}

static struct frame ipv4(uint32_t source, uint32_t destination)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		     .source = source, .destination = destination, .source_port = 1000,
		     .destination_port = 2000, .payload_bytes = 40);
}

static struct frame ipv6(const char *source, const char *destination)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 6,
		     .source6 = source, .destination6 = destination, .source_port = 1000,
		     .destination_port = 2000, .payload_bytes = 40);
}

/* What a router makes of an untagged frame: MAC addresses, TTL, checksum; nothing else. */
static struct frame routed(const struct frame *in, uint64_t next_hop)
{
	struct frame out = *in;

	mac_store(out.byte, next_hop);
	mac_store(out.byte + 6, FIXTURE_ROUTER);
	if (out.byte[12] == 0x08) {
		out.byte[14 + 8]--;
		frame_checksum_set(&out, 14);
	} else {
		out.byte[14 + 7]--;
	}
	return out;
}

static void expect_routed(const char *what, uint16_t from, const struct frame *in, uint16_t to)
{
	struct frame out = routed(in, router_peer(to));

	expect_sent(&f, what, from, in, to, &out);
}

/* To the CPU, as it came, with this reason; and nothing else happens. */
static void expect_punt(const char *what, uint16_t from, const struct frame *in,
			enum punt_reason reason, uint16_t interface)
{
	uint64_t drops = drops_total(&f);
	struct frame out;

	fixture_inject(&f, from, in);
	fixture_settle(&f);
	cr_assert_eq(drops_total(&f), drops, "%s: dropped", what);
	cr_assert(fixture_take(&f, f.cpu, &out), "%s: nothing came up", what);
	cr_assert(frame_equal(&out, in), "%s:\n  is     %s\n  wanted %s", what, frame_text(&out),
		  frame_text(in));
	cr_assert_eq(out.meta.reason, reason, "%s: reason %u", what, out.meta.reason);
	cr_assert_eq(out.meta.interface, interface, "%s: interface %u", what, out.meta.interface);
	cr_assert_eq(out.meta.flags & PACKET_CPU, PACKET_CPU, "%s", what);
	cr_assert_eq(out.meta.l3_offset, 14, "%s", what);
	cr_assert_neq(out.meta.priority, 3, "%s: lossless", what);
	expect_silence(&f, what);
}

LEAF_TEST(route, FWD_L3_every_ipv4_prefix_length)
{
	/* 172.21.166.90, and for each length an address that leaves it at just this bit. */
	const uint32_t base = 0xac15a65a;

	for (uint32_t length = 0; length <= 32; length++) {
		char prefix[32];

		snprintf(prefix, sizeof(prefix), "%u.%u.%u.%u/%u", base >> 24, base >> 16 & 255,
			 base >> 8 & 255, base & 255, length);
		fixture_route(&f, prefix, 1 + length % PORT_COUNT);
	}
	for (uint32_t length = 1; length <= 32; length++) {
		uint32_t destination = length == 32 ? base : base ^ UINT32_C(1) << (31 - length);
		struct frame in = ipv4(0x0a000001, destination);
		char what[32];

		snprintf(what, sizeof(what), "/%u", length);
		if (destination >> 24 == 0xec)
			continue; /* 236.0.0.0 is a multicast address */
		expect_routed(what, 0, &in, (uint16_t)(length % PORT_COUNT));
	}
}

LEAF_TEST(route, FWD_L3_every_ipv6_prefix_length)
{
	/* 2001:db8:5aa5:5aa5:... */
	static const char address[] = "2001:db8:5aa5:5aa5:5aa5:5aa5:5aa5:5aa5";
	struct frame base = ipv6("fd00::1", address);

	for (uint32_t length = 0; length <= 128; length++) {
		char prefix[64];

		snprintf(prefix, sizeof(prefix), "%s/%u", address, length);
		fixture_route(&f, prefix, 1 + length % PORT_COUNT);
	}
	for (uint32_t length = 1; length <= 128; length++) {
		struct frame in = base;
		char what[32];

		if (length != 128)
			in.byte[14 + 24 + length / 8] ^= (uint8_t)(0x80 >> length % 8);
		snprintf(what, sizeof(what), "/%u", length);
		expect_routed(what, 0, &in, (uint16_t)(length % PORT_COUNT));
	}
}

LEAF_TEST(route, FWD_MESH_all_pairs_of_ports)
{
	for (uint16_t from = 0; from < PORT_COUNT; from++) {
		for (uint16_t to = 0; to < PORT_COUNT; to++) {
			struct frame in = ipv4(0x0a000001 + (from << 16), 0x0a000002 + (to << 16));
			char destination[32];

			expect_routed("IPv4, also out of the port it came from", from, &in, to);
			snprintf(destination, sizeof(destination), "fd00:%x::2", to);
			in = ipv6("fd00::1", destination);
			expect_routed("IPv6", from, &in, to);
		}
	}
}

LEAF_TEST(route, FWD_L3_what_the_icrc_covers_is_untouched)
{
	/* Random contents, all header fields; the comparison is over every byte of the frame. */
	uint64_t state = 1;

	for (uint32_t i = 0; i < 1000; i++) {
		struct frame_spec spec = {
			.destination_mac = FIXTURE_ROUTER,
			.source_mac = HOST,
			.family = i % 2 == 0 ? 4 : 6,
			.source = 0x0a010000 + draw(&state, 65536),
			.destination = 0x0a020000 + draw(&state, 65536),
			.source6 = "fd00:1::77",
			.destination6 = "fd00:2::99",
			.traffic_class = (uint8_t)draw(&state, 256),
			.ttl = (uint8_t)(2 + draw(&state, 254)),
			.roce = true,
			.source_port = (uint16_t)(49152 + draw(&state, 16384)),
			.opcode = (uint8_t)draw(&state, 256),
			.qp = draw(&state, 1u << 24),
			.psn = draw(&state, 1u << 24),
			.payload_bytes = (uint16_t)draw(&state, 1024),
			.virtual_bytes = (uint16_t)(draw(&state, 2) * draw(&state, 300)),
		};
		struct frame in = frame_of(&spec);

		expect_routed("RoCEv2", 1, &in, 2);
	}
}

/* Send frames that differ in the IP identification only, and look at each that comes out. */
static void sweep_identification(uint8_t ttl, bool other_zero)
{
	struct frame in = ipv4(0x0a000001, 0x0a010002);
	uint32_t canonical = 0;

	in.byte[14 + 8] = ttl;
	for (uint32_t first = 0; first < 65536; first += 256) {
		for (uint32_t id = first; id < first + 256; id++) {
			store_u16(in.byte + 14 + 4, id);
			frame_checksum_set(&in, 14);
			if (in.byte[24] == 0 && in.byte[25] == 0) {
				canonical++;
				/* -0 is as good as 0 in ones' complement. */
				if (other_zero)
					store_u16(in.byte + 24, 0xffff);
			}
			fixture_inject(&f, 0, &in);
		}
		fixture_settle(&f);
		for (uint32_t id = first; id < first + 256; id++) {
			struct frame out;

			cr_assert(fixture_take(&f, 1, &out), "identification %04x was dropped", id);
			cr_assert_eq((uint32_t)out.byte[18] << 8 | out.byte[19], id, "order");
			cr_assert_eq(out.byte[22], ttl - 1);
			cr_assert_eq(out.byte[24] << 8 | out.byte[25], ipv4_checksum(out.byte + 14),
				     "identification %04x: checksum %02x%02x, should be %04x", id,
				     out.byte[24], out.byte[25], ipv4_checksum(out.byte + 14));
		}
	}
	cr_assert_eq(canonical, 1, "one identification gives checksum 0");
}

/* All identifications give all checksums: RFC 1624 section 3 is about 0x0000 and 0xffff. */
LEAF_TEST(route, FWD_CSUM_EDGE_every_checksum_is_patched_right)
{
	sweep_identification(64, false);
	sweep_identification(2, true);
	sweep_identification(255, false);
}

LEAF_TEST(route, ipv4_options_go_along)
{
	/* Record route, then padding: 24 to 60 bytes of header. */
	for (uint32_t words = 6; words <= 15; words++) {
		struct frame in = ipv4(0x0a000001, 0x0a020003);

		in.byte[14] = (uint8_t)(0x40 | words);
		for (uint32_t i = 34; i < 14 + words * 4; i++)
			in.byte[i] = (uint8_t)(i == 34 ? 7 : i == 35 ? words * 4 - 20 : 0);
		store_u16(in.byte + 16, in.size - 14);
		frame_checksum_set(&in, 14);
		expect_routed("options", 0, &in, 2);
	}
}

LEAF_TEST(route, MAL_IP_ttl_of_0_and_1_ends_here)
{
	struct frame in;

	for (uint8_t ttl = 0; ttl < 2; ttl++) {
		in = ipv4(0x0a000001, 0x0a010002);
		in.byte[14 + 8] = ttl;
		frame_checksum_set(&in, 14);
		expect_drop(&f, "IPv4", 0, &in, DROP_TTL);
		in = ipv6("fd00::1", "fd00:1::2");
		in.byte[14 + 7] = ttl;
		expect_drop(&f, "IPv6", 0, &in, DROP_TTL);
	}
	in = ipv4(0x0a000001, 0x0a010002);
	in.byte[14 + 8] = 2;
	frame_checksum_set(&in, 14);
	expect_routed("TTL 2", 0, &in, 1);
	in = ipv6("fd00::1", "fd00:1::2");
	in.byte[14 + 7] = 2;
	expect_routed("hop limit 2", 0, &in, 1);
}

LEAF_TEST(route, packets_beyond_the_mtu_of_their_egress_end_here)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame in;

	for (uint16_t port = 0; port < PORT_COUNT; port++)
		snapshot->port[port].frame_bytes_max = MTU_BYTES_MAX + FRAME_HEADER_BYTES;
	snapshot->adjacency[1].mtu_bytes = 68;
	snapshot->adjacency[2].mtu_bytes = 9216;
	fixture_publish(&f, snapshot);
	for (uint32_t family = 4; family <= 6; family += 2) {
		static const struct {
			uint32_t bytes;
			uint16_t port;
			bool fits;
		} rows[] = {
			{1500, 0, true}, {1501, 0, false}, {68, 1, true},
			{69, 1, false},  {9216, 2, true},
		};

		for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
			uint32_t headers = family == 4 ? 28 : 48;
			uint32_t payload = rows[i].bytes - headers;
			uint32_t real = payload > 500 ? 500 : payload;
			char destination[32];

			snprintf(destination, sizeof(destination), "fd00:%x::1", rows[i].port);
			in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				   .family = (uint8_t)family, .source = 0x0a030001,
				   .destination = 0x0a000001u + ((uint32_t)rows[i].port << 16),
				   .source6 = "fd00:3::1", .destination6 = destination,
				   .payload_bytes = (uint16_t)real,
				   .virtual_bytes = (uint16_t)(payload - real));
			cr_assert_eq(in.size + in.virtual_bytes - 14, rows[i].bytes);
			if (rows[i].fits)
				expect_routed("fits", 3, &in, rows[i].port);
			else
				expect_drop(&f, "too long", 3, &in, DROP_MTU);
		}
	}
}

LEAF_TEST(route, MAL_IP_martians_of_ipv4)
{
	/* RFC 1812 5.3.7, RFC 6890 table 1 to 16: what can't be a source or can't be forwarded. */
	static const uint32_t sources[] = {0x00000000, 0x00010203, 0x00ffffff, 0x7f000001,
					   0x7fffffff, 0xa9fe0000, 0xa9feffff, 0xe0000001,
					   0xefffffff, 0xf0000000, 0xfffffffe, 0xffffffff};
	static const uint32_t destinations[] = {0x00000000, 0x00010203, 0x00ffffff, 0x7f000001,
						0x7fffffff, 0xa9fe0000, 0xa9feffff, 0xf0000000,
						0xfffffffe, 0xffffffff};
	static const uint32_t multicast[] = {0xe0000001, 0xe0000100, 0xefffffff};
	static const uint32_t ordinary[] = {0x01000000, 0x7effffff, 0x80000000, 0xa9fdffff,
					    0xa9ff0000, 0xdfffffff, 0xc0a80001, 0x64400001};
	struct frame in;

	fixture_route(&f, "0.0.0.0/0", 4);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		in = ipv4(sources[i], 0x0a010002);
		expect_drop(&f, "source", 0, &in, DROP_MARTIAN_SOURCE);
	}
	for (size_t i = 0; i < sizeof(destinations) / sizeof(destinations[0]); i++) {
		in = ipv4(0x0a000001, destinations[i]);
		expect_drop(&f, "destination", 0, &in, DROP_MARTIAN_DESTINATION);
	}
	for (size_t i = 0; i < sizeof(multicast) / sizeof(multicast[0]); i++) {
		in = ipv4(0x0a000001, multicast[i]);
		expect_drop(&f, "group", 0, &in, DROP_MULTICAST);
	}
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++) {
		in = ipv4(ordinary[i], 0x0a010002);
		expect_routed("ordinary source", 0, &in, 1);
		in = ipv4(0x0a000001, ordinary[i]);
		expect_routed("ordinary destination", 0, &in, 3);
	}
}

LEAF_TEST(route, MAL_IP_martians_of_ipv6)
{
	/* RFC 6890 tables 17 to 20, RFC 4291 2.5.6: link-local ones aren't forwarded either way. */
	static const char *const sources[] = {
		"::", "::1", "::ffff:10.0.0.1", "ff02::1", "ff0e::1", "fe80::1234", "febf:ffff::1",
	};
	static const char *const destinations[] = {"::", "::1", "::ffff:10.0.0.1"};
	static const char *const multicast[] = {"ff02::1", "ff0e::1", "ffff::"};
	static const char *const ordinary[] = {"2001:db8::1", "fec0::1",     "fe7f::1",
					       "64:ff9b::1",  "::1:0:0:0:1", "::fffe:a00:1",
					       "0:0:0:1::1"};
	struct frame in;

	fixture_route(&f, "::/0", 4);
	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		in = ipv6(sources[i], "fd00:1::2");
		expect_drop(&f, sources[i], 0, &in, DROP_MARTIAN_SOURCE);
	}
	for (size_t i = 0; i < sizeof(destinations) / sizeof(destinations[0]); i++) {
		in = ipv6("fd00::1", destinations[i]);
		expect_drop(&f, destinations[i], 0, &in, DROP_MARTIAN_DESTINATION);
	}
	for (size_t i = 0; i < sizeof(multicast) / sizeof(multicast[0]); i++) {
		in = ipv6("fd00::1", multicast[i]);
		expect_drop(&f, multicast[i], 0, &in, DROP_MULTICAST);
	}
	for (size_t i = 0; i < sizeof(ordinary) / sizeof(ordinary[0]); i++) {
		in = ipv6(ordinary[i], "fd00:1::2");
		expect_routed(ordinary[i], 0, &in, 1);
		in = ipv6("fd00::1", ordinary[i]);
		expect_routed(ordinary[i], 0, &in, 3);
	}
}

LEAF_TEST(route, link_local_packets_are_for_the_kernel_or_nobody)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame in = ipv6("fe80::1", "fe80::2");
	uint32_t local = snapshot_group(snapshot, GROUP_LOCAL, 2, 0, 0);

	fixture_publish(&f, snapshot);
	fixture_route(&f, "fd00:1::1/128", local);
	expect_punt("to a link-local address", 1, &in, PUNT_LOCAL, 1);
	in = ipv6("fd00:1::2", "fe80::2");
	expect_punt("from a global one", 1, &in, PUNT_LOCAL, 1);
	in = ipv6("fe80::1", "fd00:1::1");
	expect_punt("from a link-local one to us", 1, &in, PUNT_LOCAL, 2);
}

LEAF_TEST(route, packets_without_a_route_are_counted_as_such)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	uint32_t drop = snapshot_group(snapshot, GROUP_DROP, INTERFACE_NONE, 0, 0);
	struct frame in = ipv4(0x0a000001, 0xc0a80001);

	fixture_publish(&f, snapshot);
	expect_drop(&f, "IPv4", 0, &in, DROP_NO_ROUTE);
	in = ipv6("fd00::1", "2001:db8::1");
	expect_drop(&f, "IPv6", 0, &in, DROP_NO_ROUTE);
	fixture_route(&f, "10.1.255.255/32", drop);
	in = ipv4(0x0a000001, 0x0a01ffff);
	expect_drop(&f, "a subnet's broadcast address", 0, &in, DROP_MARTIAN_DESTINATION);
}

LEAF_TEST(route, attached_networks_go_by_neighbour)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	uint32_t attached = snapshot_group(snapshot, GROUP_ATTACHED, 2, 0, 0);
	uint32_t adjacency = snapshot_adjacency(snapshot, UINT64_C(0x02000000dd01), 2, 2);
	struct frame in, out;

	snapshot_neighbour(snapshot, "192.168.5.7", 2, adjacency);
	snapshot_neighbour(snapshot, "fd55::7", 2, adjacency);
	/* The same address behind another interface is another neighbour. */
	snapshot_neighbour(snapshot, "192.168.5.8", 1, adjacency);
	fixture_publish(&f, snapshot);
	fixture_route(&f, "192.168.5.0/24", attached);
	fixture_route(&f, "fd55::/64", attached);
	in = ipv4(0x0a000001, 0xc0a80507);
	out = routed(&in, UINT64_C(0x02000000dd01));
	expect_sent(&f, "resolved", 0, &in, 2, &out);
	in = ipv6("fd00::1", "fd55::7");
	out = routed(&in, UINT64_C(0x02000000dd01));
	expect_sent(&f, "resolved, IPv6", 0, &in, 2, &out);
	in = ipv4(0x0a000001, 0xc0a80508);
	expect_punt("unresolved: as it came, TTL too", 0, &in, PUNT_NEIGHBOUR, 2);
	in = ipv6("fd00::1", "fd55::8");
	expect_punt("unresolved, IPv6", 0, &in, PUNT_NEIGHBOUR, 2);
	in.byte[14 + 7] = 1;
	expect_drop(&f, "its hop limit is looked at first", 0, &in, DROP_TTL);
}

/* Usual frames for neighbours go a way of their own: it looks at all that the other one does. */
LEAF_TEST(route, usual_frames_for_neighbours_are_looked_at_as_all_others)
{
	const uint64_t mac = UINT64_C(0x02000000dd01);
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	uint32_t attached = snapshot_group(snapshot, GROUP_ATTACHED, 2, 0, 0);
	struct port_totals before, after;
	struct queue_totals ingress, egress;
	struct frame in, out;

	snapshot_neighbour(snapshot, "192.168.5.7", 2, snapshot_adjacency(snapshot, mac, 2, 2));
	/* Its bytes are those of 192.168.5.9. */
	snapshot_neighbour(snapshot, "c0a8:0509::", 2, snapshot_adjacency(snapshot, mac, 2, 2));
	snapshot->by_dscp[26] = 3;
	fixture_publish(&f, snapshot);
	fixture_route(&f, "192.168.5.0/24", attached);

	in = ipv4(0x0a000001, 0xc0a80507);
	in.byte[14 + 1] = 26 << 2;
	frame_checksum_set(&in, 14);
	out = routed(&in, mac);
	leaf_port_totals(f.leaf, 0, &before);
	expect_sent(&f, "by its DSCP", 0, &in, 2, &out);
	leaf_port_totals(f.leaf, 0, &after);
	cr_expect_eq(after.rx_packets - before.rx_packets, 1);
	cr_expect_eq(after.rx_bytes - before.rx_bytes, in.size);
	leaf_queue_totals(f.leaf, 0, 3, &ingress);
	leaf_queue_totals(f.leaf, 2, 3, &egress);
	cr_expect_eq(ingress.rx_packets, 1);
	cr_expect_eq(egress.tx_packets, 1);

	in.byte[14 + 8] = 1;
	frame_checksum_set(&in, 14);
	expect_drop(&f, "at the end of its way", 0, &in, DROP_TTL);
	in = ipv4(0x0a000001, 0xc0a80509);
	expect_punt("of another family", 0, &in, PUNT_NEIGHBOUR, 2);

	snapshot = snapshot_copy(f.snapshot);
	for (uint32_t i = 0; i < snapshot->adjacency_count; i++)
		snapshot->adjacency[i].mtu_bytes = 68;
	fixture_publish(&f, snapshot);
	in = ipv4(0x0a000001, 0xc0a80507); /* 28 bytes of headers, and 40 */
	out = routed(&in, mac);
	expect_sent(&f, "as long as may be", 0, &in, 2, &out);
	in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		   .source = 0x0a000001, .destination = 0xc0a80507, .payload_bytes = 41);
	expect_drop(&f, "a byte too long", 0, &in, DROP_MTU);
}

LEAF_TEST(route, a_route_without_a_resolved_next_hop_asks_for_one)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	uint32_t via = snapshot_group(snapshot, GROUP_VIA, 3, 0, 0);
	struct frame in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
				.source = 0x0a000001, .destination = 0xc0a80001,
				.traffic_class = 26 << 2, .roce = true, .payload_bytes = 64);

	fixture_publish(&f, snapshot);
	fixture_route(&f, "192.168.0.0/16", via);
	expect_punt("lossless traffic, but not on its way up", 0, &in, PUNT_NEIGHBOUR, 3);
}

LEAF_TEST(route, a_routed_port_takes_what_is_addressed_to_it)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	uint32_t local = snapshot_group(snapshot, GROUP_LOCAL, 2, 0, 0);
	struct frame in;

	fixture_publish(&f, snapshot);
	fixture_route(&f, "10.1.0.1/32", local);
	in = ipv4(0x0a000002, 0x0a010001);
	in.byte[14 + 8] = 1;
	frame_checksum_set(&in, 14);
	expect_punt("one of our addresses, with TTL 1", 0, &in, PUNT_LOCAL, 2);

	in = ipv4(0x0a000002, 0x0a010002);
	mac_store(in.byte, FIXTURE_ROUTER + 1);
	expect_drop(&f, "MAL-L2: wrong destination MAC", 0, &in, DROP_WRONG_MAC);
	in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .ether_type = 0x88b5);
	expect_drop(&f, "not IP", 0, &in, DROP_UNROUTABLE);
	in = FRAME(.destination_mac = UINT64_C(0xffffffffffff), .source_mac = HOST,
		   .ether_type = 0x88b5);
	expect_drop(&f, "not IP, to all", 0, &in, DROP_UNROUTABLE);
	in = FRAME(.destination_mac = UINT64_C(0x0180c200000e), .source_mac = HOST,
		   .ether_type = 0x88cc);
	expect_drop(&f, "LLDP", 0, &in, DROP_RESERVED_MAC);
	in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		   .source = 0x0a000001, .destination = 0x0a010002, .tagged = true, .vlan = 100);
	expect_drop(&f, "a VLAN", 0, &in, DROP_VLAN);
}

LEAF_TEST(route, a_priority_tag_is_taken_off)
{
	struct frame_spec spec = {
		.destination_mac = FIXTURE_ROUTER,
		.source_mac = HOST,
		.family = 4,
		.source = 0x0a000001,
		.destination = 0x0a010002,
		.payload_bytes = 64,
	};
	struct frame plain = frame_of(&spec), in, out = routed(&plain, router_peer(1));

	spec.tagged = true;
	spec.pcp = 5;
	in = frame_of(&spec);
	expect_sent(&f, "IPv4", 0, &in, 1, &out);
	spec.family = 6;
	spec.source6 = "fd00::1";
	spec.destination6 = "fd00:2::1";
	in = frame_of(&spec);
	spec.tagged = false;
	plain = frame_of(&spec);
	out = routed(&plain, router_peer(2));
	expect_sent(&f, "IPv6", 0, &in, 2, &out);
}

LEAF_TEST(route, group_addresses_of_the_link_go_up)
{
	struct frame in = FRAME(.destination_mac = UINT64_C(0xffffffffffff), .source_mac = HOST,
				.ether_type = 0x0806);

	expect_punt("ARP request", 2, &in, PUNT_ARP, 2);
	mac_store(in.byte, FIXTURE_ROUTER);
	expect_punt("ARP reply", 2, &in, PUNT_ARP, 2);
	in = ipv4(0x0a000001, 0xffffffff);
	mac_store(in.byte, UINT64_C(0xffffffffffff));
	expect_punt("limited broadcast", 1, &in, PUNT_BROADCAST, 1);
	in = ipv4(0x0a000001, 0xe0000005);
	mac_store(in.byte, UINT64_C(0x01005e000005));
	expect_punt("OSPF", 1, &in, PUNT_BROADCAST, 1);
	in = ipv4(0x0a000001, 0xe0000101);
	mac_store(in.byte, UINT64_C(0x01005e000101));
	expect_drop(&f, "a group beyond the link", 1, &in, DROP_MULTICAST);
	in = ipv4(0x0a000001, 0x0a010002);
	mac_store(in.byte, UINT64_C(0xffffffffffff));
	expect_drop(&f, "RFC 1812 5.3.4: to one host, but sent to all", 1, &in, DROP_MULTICAST);
	in = FRAME(.destination_mac = UINT64_C(0x3333ff000001), .source_mac = HOST, .family = 6,
		   .source6 = "::", .destination6 = "ff02::1:ff00:1", .protocol = 58, .ttl = 255,
		   .payload_bytes = 24);
	expect_punt("neighbour solicitation", 3, &in, PUNT_ND, 3);
	in = FRAME(.destination_mac = UINT64_C(0x333300000005), .source_mac = HOST, .family = 6,
		   .source6 = "fe80::1", .destination6 = "ff02::5", .protocol = 89,
		   .payload_bytes = 24);
	expect_punt("OSPFv3", 3, &in, PUNT_BROADCAST, 3);
	in = FRAME(.destination_mac = UINT64_C(0x333300000101), .source_mac = HOST, .family = 6,
		   .source6 = "fd00::1", .destination6 = "ff05::101", .payload_bytes = 24);
	expect_drop(&f, "site-local group", 3, &in, DROP_MULTICAST);
}

LEAF_TEST(route, MAL_IP_broken_headers_are_dropped)
{
	struct frame good = ipv4(0x0a000001, 0x0a010002), in;

	in = good;
	in.byte[14] = 0x55;
	frame_checksum_set(&in, 14);
	expect_drop(&f, "version 5", 0, &in, DROP_IP_HEADER);
	in = good;
	in.byte[14] = 0x44;
	expect_drop(&f, "header of four words", 0, &in, DROP_IP_HEADER);
	in = good;
	in.byte[25] ^= 1;
	expect_drop(&f, "checksum", 0, &in, DROP_IP_CHECKSUM);
	in = good;
	store_u16(in.byte + 16, in.size - 14 + 1);
	frame_checksum_set(&in, 14);
	expect_drop(&f, "total length beyond the frame", 0, &in, DROP_IP_HEADER);
	in = good;
	store_u16(in.byte + 16, 19);
	frame_checksum_set(&in, 14);
	expect_drop(&f, "total length below the header", 0, &in, DROP_IP_HEADER);
	in = ipv6("fd00::1", "fd00:1::2");
	in.byte[14] = 0x50;
	expect_drop(&f, "IPv6 of version 5", 0, &in, DROP_IP_HEADER);
	in = ipv6("fd00::1", "fd00:1::2");
	store_u16(in.byte + 18, in.size - 54 + 1);
	expect_drop(&f, "payload length beyond the frame", 0, &in, DROP_IP_HEADER);
}
