/* SPDX-License-Identifier: BSD-3-Clause */
/* Snapshots by hand; see leaf_fixture.h. */
#include "tests/unit/leaf_fixture.h"

#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/egress.h"

#define NEIGHBOUR_SLOTS 256

/* A snapshot with room for what a test may want. */
struct made {
	struct snapshot snapshot; /* first */
	struct port_table port[PORT_COUNT_MAX];
	struct vlan_table vlan[FIXTURE_VLANS + 1];
	struct interface interface[FIXTURE_INTERFACES];
	struct group group[FIXTURE_GROUPS];
	struct adjacency adjacency[FIXTURE_GROUPS + 1]; /* the last one: nowhere */
	struct neighbour neighbour[NEIGHBOUR_SLOTS];
	uint16_t vlan_count;
	struct buffer_pair pair[PRIORITY_COUNT * PORT_COUNT_MAX];
	struct mark_table mark[PRIORITY_COUNT * PORT_COUNT_MAX];
};

static struct made *made_new(void)
{
	struct made *made = NULL;

	cr_assert_eq(posix_memalign((void **)&made, 64, sizeof(*made)), 0);
	return made;
}

static void made_bind(struct made *made)
{
	made->snapshot.port = made->port;
	made->snapshot.vlan = made->vlan;
	made->snapshot.interface = made->interface;
	made->snapshot.group = made->group;
	made->snapshot.adjacency = made->adjacency;
	made->snapshot.neighbour = made->neighbour;
	made->snapshot.buffer.pair = made->pair;
	made->snapshot.buffer.mark = made->mark;
}

static void fill_classes(struct snapshot *snapshot)
{
	snapshot->priority_control = 7;
	snapshot->lossless_mask = 1u << 3;
	snapshot->strict_mask = 1u << 6 | 1u << 7;
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		bool strict = (snapshot->strict_mask >> p & 1) != 0;

		snapshot->class[p] = (struct class_table){
			.lossless = p == 3,
			.strict = strict,
			.quantum_bytes = strict ? 0 : SCHEDULE_QUANTUM_BYTES,
		};
		snapshot->by_pcp[p] = p;
		if (p != 3 && !strict)
			snapshot->by_dscp[8 * p] = p;
	}
	snapshot->by_dscp[26] = 3;
	snapshot->by_dscp[48] = 6;
	snapshot->by_dscp[56] = 7;
}

/* More than a test queues, nothing marked. */
static void fill_buffer(struct snapshot *snapshot)
{
	struct buffer_table *buffer = &snapshot->buffer;

	buffer->shared_bytes = 64 * 1024 * 1024;
	buffer->lossy_bytes = 64 * 1024 * 1024;
	buffer->packets_max = FIXTURE_PACKETS;
	buffer->lossy_packets = FIXTURE_PACKETS;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		buffer->class[p].alpha_q8 = 256;
	for (uint32_t i = 0; i < PRIORITY_COUNT * PORT_COUNT_MAX; i++)
		buffer->mark[i] = (struct mark_table){.ecn_min_bytes = UINT32_MAX,
						      .wred_min_bytes = UINT32_MAX};
}

struct snapshot *snapshot_of(const struct leaf_fixture *fixture)
{
	struct made *made = made_new();
	struct snapshot *snapshot = &made->snapshot;

	memset(made, 0, sizeof(*made));
	made_bind(made);
	fill_classes(snapshot);
	fill_buffer(snapshot);
	snapshot->port_count = fixture->port_count;
	for (uint16_t port = 0; port <= fixture->port_count; port++) {
		snapshot->port[port] = (struct port_table){
			.mode = PORT_MODE_OFF,
			.trust = PORT_TRUST_DSCP,
			.interface = INTERFACE_NONE,
			.link_up = true,
			.frame_bytes_max = 1500 + FRAME_HEADER_BYTES,
		};
		snapshot_port_rate(snapshot, port, UINT64_C(100000000000), 100 * PS_PER_US, 0);
	}
	snapshot->port[fixture->cpu].mode = PORT_MODE_CPU;
	snapshot->port[fixture->cpu].frame_bytes_max = FRAME_BYTES_MAX;
	snapshot->vlan[0].interface = INTERFACE_NONE;
	made->vlan_count = 1;
	snapshot->fdb_age_ps = 300 * PS_PER_S;
	mac_store(snapshot->router_mac, FIXTURE_ROUTER);
	snapshot->fib[0] = fixture->fib;
	snapshot->group_count = 1; /* FIB_NO_ROUTE */
	snapshot->group[0].first = FIXTURE_GROUPS;
	for (uint32_t slot = 0; slot < NEIGHBOUR_SLOTS; slot++)
		snapshot->neighbour[slot].interface = INTERFACE_NONE;
	snapshot->neighbour_mask = NEIGHBOUR_SLOTS - 1;
	snapshot->hash_seed = 1;
	return snapshot;
}

struct snapshot *snapshot_copy(const struct snapshot *from)
{
	struct made *made = made_new();

	memcpy(made, from, sizeof(*made));
	made_bind(made);
	made->snapshot.generation++;
	return &made->snapshot;
}

void snapshot_drop(const struct snapshot *snapshot)
{
	free((void *)(uintptr_t)snapshot);
}

void snapshot_port_rate(struct snapshot *snapshot, uint16_t port, uint64_t rate_bps,
			uint64_t run_ahead_ps, uint64_t catch_up_ps)
{
	snapshot->port[port].rate_bps = rate_bps;
	snapshot->port[port].run_ahead_ps = run_ahead_ps;
	snapshot->port[port].catch_up_ps = catch_up_ps;
}

static struct vlan_table *vlan_get(struct snapshot *snapshot, uint16_t vlan)
{
	struct made *made = (struct made *)snapshot;

	if (snapshot->vlan_index[vlan] == 0) {
		cr_assert_leq(made->vlan_count, FIXTURE_VLANS);
		made->vlan[made->vlan_count].interface = INTERFACE_NONE;
		snapshot->vlan_index[vlan] = made->vlan_count++;
	}
	return &snapshot->vlan[snapshot->vlan_index[vlan]];
}

void snapshot_bridged(struct snapshot *snapshot, uint16_t port, uint16_t native_vlan)
{
	snapshot->port[port].mode = PORT_MODE_BRIDGED;
	snapshot->port[port].native_vlan = native_vlan;
	if (native_vlan != 0)
		port_bits_set(&vlan_get(snapshot, native_vlan)->members, port);
}

void snapshot_trunk(struct snapshot *snapshot, uint16_t port, uint16_t vlan)
{
	snapshot->port[port].mode = PORT_MODE_BRIDGED;
	port_bits_set(&vlan_get(snapshot, vlan)->members, port);
	port_bits_set(&vlan_get(snapshot, vlan)->tagged, port);
}

uint16_t snapshot_interface(struct snapshot *snapshot, uint16_t port, uint16_t vlan,
			    uint32_t mtu_bytes)
{
	uint16_t index = snapshot->interface_count++;

	cr_assert_lt(index, FIXTURE_INTERFACES);
	snapshot->interface[index] = (struct interface){
		.port = vlan == 0 ? port : PORT_NONE, .vlan = vlan, .mtu_bytes = mtu_bytes};
	if (vlan == 0) {
		snapshot->port[port].mode = PORT_MODE_ROUTED;
		snapshot->port[port].interface = index;
	} else {
		vlan_get(snapshot, vlan)->interface = index;
	}
	return index;
}

uint32_t snapshot_adjacency(struct snapshot *snapshot, uint64_t mac, uint16_t egress,
			    uint16_t interface)
{
	uint32_t index = snapshot->adjacency_count++;
	struct adjacency *adjacency = &snapshot->adjacency[index];

	cr_assert_lt(index, FIXTURE_GROUPS);
	mac_store(adjacency->destination_mac, mac);
	memcpy(adjacency->source_mac, snapshot->router_mac, 6);
	adjacency->egress = egress;
	adjacency->vlan = snapshot->interface[interface].vlan;
	adjacency->mtu_bytes = snapshot->interface[interface].mtu_bytes;
	adjacency->interface = interface;
	return index;
}

uint32_t snapshot_group(struct snapshot *snapshot, uint8_t kind, uint16_t interface, uint32_t first,
			uint16_t count)
{
	uint32_t index = snapshot->group_count++;

	cr_assert_lt(index, FIXTURE_GROUPS);
	snapshot->group[index] = (struct group){
		.kind = kind,
		.interface = interface,
		.first = count != 0 ? first : FIXTURE_GROUPS,
		.count = count,
	};
	return index;
}

void snapshot_neighbour(struct snapshot *snapshot, const char *address, uint16_t interface,
			uint32_t adjacency)
{
	struct neighbour neighbour = {.interface = interface, .adjacency = adjacency};
	uint32_t slot;

	neighbour.family = strchr(address, ':') != NULL ? 6 : 4;
	cr_assert_eq(
		inet_pton(neighbour.family == 6 ? AF_INET6 : AF_INET, address, neighbour.address),
		1);
	slot = neighbour_hash(neighbour.address, interface);
	while (snapshot->neighbour[slot & snapshot->neighbour_mask].interface != INTERFACE_NONE)
		slot++;
	snapshot->neighbour[slot & snapshot->neighbour_mask] = neighbour;
}

void fixture_route(struct leaf_fixture *fixture, const char *prefix, uint32_t group)
{
	const char *slash = strchr(prefix, '/');
	uint8_t family = strchr(prefix, ':') != NULL ? 6 : 4, address[16] = {0};
	char text[64];

	cr_assert(slash != NULL && slash - prefix < (int)sizeof(text));
	snprintf(text, sizeof(text), "%.*s", (int)(slash - prefix), prefix);
	cr_assert_eq(inet_pton(family == 6 ? AF_INET6 : AF_INET, text, address), 1, "%s", text);
	cr_assert_eq(fib_add(fixture->fib, family, address, (uint8_t)atoi(slash + 1), group), 0,
		     "%s", prefix);
}

uint64_t router_peer(uint16_t port)
{
	return UINT64_C(0x020000010000) + port;
}

struct snapshot *snapshot_router(struct leaf_fixture *fixture, uint16_t count)
{
	struct snapshot *snapshot = snapshot_of(fixture);

	for (uint16_t port = 0; port < count; port++) {
		uint16_t interface = snapshot_interface(snapshot, port, 0, 1500);
		uint32_t adjacency =
			snapshot_adjacency(snapshot, router_peer(port), port, interface);
		uint32_t group = snapshot_group(snapshot, GROUP_VIA, interface, adjacency, 1);
		char prefix[64];

		snprintf(prefix, sizeof(prefix), "10.%u.0.0/16", port);
		fixture_route(fixture, prefix, group);
		snprintf(prefix, sizeof(prefix), "fd00:%x::/32", port);
		fixture_route(fixture, prefix, group);
	}
	return snapshot;
}
