/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/spray_fixture.h"

#include <stdio.h>
#include <string.h>

const struct siphash_key spray_fixture_key = {0x0706050403020100, 0x0f0e0d0c0b0a0908};

void spray_fixture_address(uint8_t out[16], uint32_t ip)
{
	memset(out, 0, 16);
	store_u32(out, ip);
}

static struct spray_table table_of(const struct spray_side *side)
{
	struct spray_table table = {
		.peer = side->peer,
		.peer_count = 1,
		.family = 4,
		.key = spray_fixture_key,
		.epoch = side->epoch,
		.hold_bytes = 1000000,
		.hold_packets = 500,
		.promote_bytes = side->promote_bytes,
		.frame_bytes = 1518,
		.slowest_bps = UINT64_C(100000000000),
		.dscp = 56,
	};

	spray_fixture_address(table.address, side->ours);
	return table;
}

void spray_fixture_start(struct leaf_fixture *fixture, const struct spray_side *side)
{
	struct snapshot *snapshot = snapshot_router(fixture, SPRAY_PORTS);
	char address[32];
	uint32_t group;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		snapshot->class[p].balance = BALANCE_ECMP;
	snapshot->class[SPRAY_TEST_PRIORITY].balance = BALANCE_SPRAY;
	snapshot->balance = (struct balance_table){.gap_ps = PS_PER_MS, .flows = 256};
	for (uint32_t u = 0; u < SPRAY_UPLINKS; u++) {
		snapshot->adjacency[SPRAY_UP + u].weight = BALANCE_WEIGHT_MAX;
		snapshot->port[SPRAY_UP + u].fabric = true;
	}
	snapshot->port[SPRAY_PORTS].fabric = true;
	*side->peer = (struct spray_peer){.members = SPRAY_UP, .count = SPRAY_UPLINKS};
	spray_fixture_address(side->peer->address, side->theirs);
	snapshot->spray = table_of(side);
	group = snapshot_group(snapshot, GROUP_VIA, SPRAY_UP, 0, 0);
	snapshot->group[group].members = SPRAY_UP;
	snapshot->group[group].balanced = SPRAY_UPLINKS;
	snapshot->group[group].peer = 0;
	fixture_route(fixture, side->their_prefix, group);
	group = snapshot_group(snapshot, GROUP_LOCAL, SPRAY_HOST, 0, 0);
	snprintf(address, sizeof(address), "%u.%u.%u.%u/32", side->ours >> 24,
		 side->ours >> 16 & 0xff, side->ours >> 8 & 0xff, side->ours & 0xff);
	fixture_route(fixture, address, group);
	group = snapshot_group(snapshot, GROUP_ATTACHED, SPRAY_HOST, 0, 0);
	fixture_route(fixture, side->prefix, group);
	snapshot_neighbour(snapshot, side->host, SPRAY_HOST,
			   snapshot_adjacency(snapshot, side->host_mac, SPRAY_HOST, SPRAY_HOST));
	fixture_publish(fixture, snapshot);
}
