/* SPDX-License-Identifier: BSD-3-Clause */
/* Routing into, out of and between VLANs. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/punt.h"
#include "tests/unit/leaf_fixture.h"

#define A         UINT64_C(0x02000000aa01)
#define B         UINT64_C(0x02000000bb01)
#define C         UINT64_C(0x02000000cc01)
#define BROADCAST UINT64_C(0xffffffffffff)

/* VLAN 100 is 192.168.100.0/24, VLAN 200 is 192.168.200.0/24; 10.0.0.0/16 is behind UPLINK. */
enum { ACCESS_100, ACCESS_200, TRUNK, TRUNK_2, UPLINK, PORT_COUNT };
enum { INTERFACE_UPLINK, INTERFACE_100, INTERFACE_200 };

static struct leaf_fixture f;

static struct snapshot *snapshot_vlans(void)
{
	struct snapshot *snapshot = snapshot_of(&f);
	uint32_t group;

	snapshot_bridged(snapshot, ACCESS_100, 100);
	snapshot_bridged(snapshot, ACCESS_200, 200);
	for (uint16_t port = TRUNK; port <= TRUNK_2; port++) {
		snapshot_trunk(snapshot, port, 100);
		snapshot_trunk(snapshot, port, 200);
	}
	snapshot_interface(snapshot, UPLINK, 0, 1500);
	snapshot_interface(snapshot, PORT_NONE, 100, 1500);
	snapshot_interface(snapshot, PORT_NONE, 200, 1500);
	snapshot_adjacency(snapshot, router_peer(UPLINK), UPLINK, INTERFACE_UPLINK);
	group = snapshot_group(snapshot, GROUP_VIA, INTERFACE_UPLINK, 0, 1);
	fixture_route(&f, "10.0.0.0/16", group);
	for (uint16_t i = 1; i <= 2; i++) {
		group = snapshot_group(snapshot, GROUP_ATTACHED, i, 0, 0);
		fixture_route(&f, i == 1 ? "192.168.100.0/24" : "192.168.200.0/24", group);
	}
	snapshot_neighbour(snapshot, "192.168.100.1", INTERFACE_100,
			   snapshot_adjacency(snapshot, A, PORT_NONE, INTERFACE_100));
	snapshot_neighbour(snapshot, "192.168.200.2", INTERFACE_200,
			   snapshot_adjacency(snapshot, B, PORT_NONE, INTERFACE_200));
	/* A static neighbour: the config says where it is. */
	snapshot_neighbour(snapshot, "192.168.200.3", INTERFACE_200,
			   snapshot_adjacency(snapshot, C, TRUNK, INTERFACE_200));
	return snapshot;
}

static void start(void)
{
	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	fixture_publish(&f, snapshot_vlans());
}

static void finish(void)
{
	fixture_close(&f);
}

static void teach(uint16_t port, uint64_t mac, uint16_t vlan)
{
	struct frame frame = FRAME(.destination_mac = BROADCAST, .source_mac = mac,
				   .ether_type = 0x88b5, .tagged = vlan != 0, .vlan = vlan);

	fixture_inject(&f, port, &frame);
	fixture_settle(&f);
	for (uint16_t i = 0; i <= f.port_count; i++)
		fixture_discard(&f, i);
}

/* A frame to be routed, and what must become of it. */
static struct frame_spec spec_of(uint64_t source_mac, uint16_t vlan, uint32_t destination)
{
	return (struct frame_spec){
		.destination_mac = FIXTURE_ROUTER,
		.source_mac = source_mac,
		.tagged = vlan != 0,
		.vlan = vlan,
		.family = 4,
		.source = 0xc0a86463,
		.destination = destination,
		.traffic_class = 16 << 2, /* class 2 */
		.payload_bytes = 100,
	};
}

static struct frame routed(struct frame_spec spec, uint64_t next_hop, uint16_t vlan)
{
	spec.destination_mac = next_hop;
	spec.source_mac = FIXTURE_ROUTER;
	spec.tagged = vlan != 0;
	spec.vlan = vlan;
	spec.pcp = vlan != 0 ? 2 : 0;
	spec.ttl = 63;
	return frame_of(&spec);
}

LEAF_TEST(route_vlan, out_of_a_vlan_the_tag_goes)
{
	struct frame_spec spec = spec_of(A, 100, 0x0a000001);
	struct frame in = frame_of(&spec), out = routed(spec, router_peer(UPLINK), 0);

	expect_sent(&f, "from a trunk", TRUNK, &in, UPLINK, &out);
	spec = spec_of(A, 0, 0x0a000001);
	in = frame_of(&spec);
	expect_sent(&f, "from an access port", ACCESS_100, &in, UPLINK, &out);
	spec.tagged = true;
	spec.pcp = 6;
	in = frame_of(&spec);
	expect_sent(&f, "with a priority tag", ACCESS_100, &in, UPLINK, &out);
}

LEAF_TEST(route_vlan, into_a_vlan_the_bridge_knows_the_port)
{
	struct frame_spec spec = spec_of(C, 0, 0xc0a8c802);
	struct frame in = frame_of(&spec), out = routed(spec, B, 200);

	teach(TRUNK, B, 200);
	expect_sent(&f, "tagged, PCP of the class", UPLINK, &in, TRUNK, &out);
	teach(ACCESS_200, B, 0);
	out = routed(spec, B, 0);
	expect_sent(&f, "moved to an access port", UPLINK, &in, ACCESS_200, &out);
}

LEAF_TEST(route_vlan, into_a_vlan_an_unknown_address_is_flooded)
{
	struct frame_spec spec = spec_of(C, 0, 0xc0a8c802);
	struct frame in = frame_of(&spec), out;
	struct frame plain, with_tag;

	spec.traffic_class = 26 << 2;
	in = frame_of(&spec);
	plain = routed(spec, B, 0);
	with_tag = routed(spec, B, 200);
	/* It came in as lossless, and isn't any more. */
	with_tag.byte[14] &= 0x1f;
	fixture_inject(&f, UPLINK, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, ACCESS_200, &out) && frame_equal(&out, &plain));
	cr_assert(fixture_take(&f, TRUNK, &out) && frame_equal(&out, &with_tag));
	cr_assert(fixture_take(&f, TRUNK_2, &out) && frame_equal(&out, &with_tag));
	expect_silence(&f, "nobody else");
}

LEAF_TEST(route_vlan, between_vlans_of_one_trunk)
{
	struct frame_spec spec = spec_of(A, 100, 0xc0a8c802);
	struct frame in = frame_of(&spec), out = routed(spec, B, 200);

	/* A router on a stick: in by VLAN 100, out of the same port by VLAN 200. */
	teach(TRUNK, B, 200);
	expect_sent(&f, "learned there", TRUNK, &in, TRUNK, &out);
	spec.destination = 0xc0a8c803;
	in = frame_of(&spec);
	out = routed(spec, C, 200);
	expect_sent(&f, "a static neighbour there", TRUNK, &in, TRUNK, &out);
}

LEAF_TEST(route_vlan, between_vlans_an_unknown_address_may_be_where_it_came_from)
{
	struct frame_spec spec = spec_of(A, 100, 0xc0a8c802);
	struct frame in = frame_of(&spec), out = routed(spec, B, 200), is;

	fixture_inject(&f, TRUNK, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, TRUNK, &is), "flooded to the trunk it came from, too");
	cr_assert(frame_equal(&is, &out));
	cr_assert_eq(fixture_discard(&f, TRUNK_2), 1);
	cr_assert_eq(fixture_discard(&f, ACCESS_200), 1);
	expect_silence(&f, "nobody else");
}

LEAF_TEST(route_vlan, within_a_vlan_a_router_may_send_it_back)
{
	/* A host that asks the router for a neighbour on its own link (it has no direct route). */
	struct frame_spec spec = spec_of(B, 0, 0xc0a86401);
	struct frame in = frame_of(&spec), out = routed(spec, A, 0);

	teach(ACCESS_100, A, 0);
	expect_sent(&f, "out of the port it came from", ACCESS_100, &in, ACCESS_100, &out);
}

LEAF_TEST(route_vlan, a_static_neighbour_without_link_is_looked_for)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame_spec spec = spec_of(A, 0, 0xc0a8c803);
	struct frame in = frame_of(&spec), out = routed(spec, C, 200);

	snapshot->port[TRUNK].link_up = false;
	fixture_publish(&f, snapshot);
	teach(TRUNK_2, C, 200);
	expect_sent(&f, "where it was seen", UPLINK, &in, TRUNK_2, &out);
}

LEAF_TEST(route_vlan, without_an_interface_the_routers_address_is_an_ordinary_one)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame_spec spec = spec_of(A, 100, 0x0a000001);
	struct frame in = frame_of(&spec);

	snapshot->vlan[snapshot->vlan_index[100]].interface = INTERFACE_NONE;
	fixture_publish(&f, snapshot);
	fixture_inject(&f, TRUNK, &in);
	fixture_settle(&f);
	cr_assert_eq(fixture_discard(&f, UPLINK), 0);
	cr_assert_eq(fixture_discard(&f, TRUNK_2), 1, "flooded in VLAN 100");
	cr_assert_eq(fixture_discard(&f, ACCESS_100), 1);
	expect_silence(&f, "nobody else");
}

LEAF_TEST(route_vlan, a_broadcast_goes_to_the_kernel_and_to_all)
{
	struct frame in = FRAME(.destination_mac = BROADCAST, .source_mac = A, .ether_type = 0x0806,
				.tagged = true, .vlan = 100, .pcp = 7);
	struct frame plain =
		FRAME(.destination_mac = BROADCAST, .source_mac = A, .ether_type = 0x0806);
	struct frame out;

	fixture_inject(&f, TRUNK, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, f.cpu, &out) && frame_equal(&out, &plain), "untagged");
	cr_assert_eq(out.meta.reason, PUNT_ARP);
	cr_assert_eq(out.meta.interface, INTERFACE_100);
	cr_assert_eq(out.meta.l3_offset, 14);
	cr_assert_eq(out.meta.priority, 7, "in the class of control");
	cr_assert(fixture_take(&f, ACCESS_100, &out) && frame_equal(&out, &plain));
	cr_assert(fixture_take(&f, TRUNK_2, &out) && frame_equal(&out, &in));
	expect_silence(&f, "nobody else");
}

LEAF_TEST(route_vlan, arp_to_the_router_goes_up_alone)
{
	struct frame in =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = A, .ether_type = 0x0806);
	struct frame out;

	fixture_inject(&f, ACCESS_200, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, f.cpu, &out) && frame_equal(&out, &in));
	cr_assert_eq(out.meta.interface, INTERFACE_200);
	expect_silence(&f, "nobody else");
	store_u16(in.byte + 12, 0x88b5);
	expect_drop(&f, "anything else", ACCESS_200, &in, DROP_UNROUTABLE);
}

LEAF_TEST(route_vlan, packets_to_a_link_local_address_know_their_vlan)
{
	struct frame in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = A, .family = 6,
				.source6 = "fe80::1", .destination6 = "fe80::2", .protocol = 58,
				.payload_bytes = 32, .tagged = true, .vlan = 200);
	struct frame out;

	fixture_inject(&f, TRUNK, &in);
	fixture_settle(&f);
	cr_assert(fixture_take(&f, f.cpu, &out));
	cr_assert_eq(out.meta.interface, INTERFACE_200);
	cr_assert_eq(out.size, in.size - 4, "untagged");
	expect_silence(&f, "nobody else");
}

LEAF_TEST(route_vlan, routing_teaches_the_bridge_where_the_sender_is)
{
	struct frame_spec spec = spec_of(A, 0, 0x0a000001);
	struct frame in = frame_of(&spec), out;

	fixture_inject(&f, ACCESS_100, &in);
	fixture_settle(&f);
	cr_assert_eq(fixture_discard(&f, UPLINK), 1);
	in = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = B, .family = 4,
		   .source = 0x0a000001, .destination = 0xc0a86401, .payload_bytes = 10);
	out = FRAME(.destination_mac = A, .source_mac = FIXTURE_ROUTER, .family = 4,
		    .source = 0x0a000001, .destination = 0xc0a86401, .payload_bytes = 10,
		    .ttl = 63);
	expect_sent(&f, "the answer isn't flooded", UPLINK, &in, ACCESS_100, &out);
}
