/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other leaves: their groups, and what in-order spray needs to know of them.
 */
#include <errno.h>
#include <string.h>

#include "control/apply_internal.h"

uint32_t apply_spray_groups(const struct config *config)
{
	const struct config_spray *spray = &config->balance.spray;
	uint32_t groups = 0;

	for (uint32_t i = 0; i < spray->peer_count; i++)
		groups += 1u + spray->peers[i].prefix_count;
	return groups;
}

int apply_spray_fib(struct fib *fib, const struct config *config, uint32_t group)
{
	const struct config_spray *spray = &config->balance.spray;
	int rc = 0;

	for (uint32_t i = 0; i < spray->peer_count; i++) {
		const struct config_peer *peer = &spray->peers[i];

		group++; /* its address goes as the routes say */
		for (uint32_t k = 0; k < peer->prefix_count && rc == 0; k++, group++) {
			const struct config_prefix *prefix = &peer->prefixes[k];

			rc = fib_add(fib, prefix->ip.family, prefix->ip.bytes, prefix->length,
				     group);
		}
	}
	return rc;
}

static uint64_t load_little(const uint8_t *bytes)
{
	uint64_t value = 0;

	for (uint32_t i = 8; i-- > 0;)
		value = value << 8 | bytes[i];
	return value;
}

/* The first DSCP of the most urgent class that has one: strict before others, then the higher priority. */
static uint8_t urgent_dscp(const struct snapshot *snapshot)
{
	uint32_t best = 0, best_rank = 0;

	for (uint32_t dscp = 0; dscp < 64; dscp++) {
		uint32_t priority = snapshot->by_dscp[dscp];
		uint32_t rank = 1 + priority + 8 * (snapshot->strict_mask >> priority & 1u);

		if (rank > best_rank) {
			best = dscp;
			best_rank = rank;
		}
	}
	return (uint8_t)best;
}

int apply_spray(struct snapshot *snapshot, const struct config *config,
		const struct apply_state *state)
{
	const struct config_spray *spray = &config->balance.spray;
	struct spray_table *table = &snapshot->spray;

	if (spray->peer_count == 0)
		return 0;
	table->peer = apply_allocate(spray->peer_count, sizeof(*table->peer));
	if (table->peer == NULL)
		return -ENOMEM;
	table->peer_count = spray->peer_count;
	table->family = spray->peers[0].address.family;
	memcpy(table->address, spray->address.bytes, ip_size(&spray->address));
	table->key = (struct siphash_key){load_little(spray->key), load_little(spray->key + 8)};
	table->epoch = state->spray_epoch != 0 ? state->spray_epoch : 1;
	table->promote_bytes = spray->promote_bytes;
	table->dscp = urgent_dscp(snapshot);
	for (uint16_t i = 0; i < snapshot->port_count; i++)
		if (snapshot->port[i].frame_bytes_max > table->frame_bytes)
			table->frame_bytes = snapshot->port[i].frame_bytes_max;
	/* Packets that waited for their neighbour come from there. */
	snapshot->port[snapshot->port_count].fabric = true;
	return 0;
}

static void note_fabric(struct snapshot *snapshot, uint16_t port)
{
	struct port_table *table = &snapshot->port[port];
	struct spray_table *spray = &snapshot->spray;

	table->fabric = true;
	if (table->rate_bps != 0 &&
	    (spray->slowest_bps == 0 || table->rate_bps < spray->slowest_bps))
		spray->slowest_bps = table->rate_bps;
}

void apply_spray_peer(struct snapshot *snapshot, const struct config *config, uint16_t index,
		      const struct config_route *route, const struct group *group,
		      const struct networks *networks)
{
	const struct config_peer *peer = &config->balance.spray.peers[index];
	struct spray_peer *out = &snapshot->spray.peer[index];

	memcpy(out->address, peer->address.bytes, ip_size(&peer->address));
	out->members = group->members;
	out->count = route->via_count;
	for (uint32_t i = 0; i < route->via_count; i++) {
		const struct interface *interface =
			&snapshot->interface[networks_find(networks, &route->via[i])];

		if (interface->port != PORT_NONE) {
			note_fabric(snapshot, interface->port);
			continue;
		}
		for (uint16_t port = 0; port < snapshot->port_count; port++)
			if (port_bits_test(
				    &snapshot->vlan[snapshot->vlan_index[interface->vlan]].members,
				    port))
				note_fabric(snapshot, port);
	}
}
