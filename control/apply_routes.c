/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Adjacencies, neighbours, groups and the FIB.
 *
 * Groups are numbered by the config alone, so that a neighbour that comes or goes changes the
 * snapshot and not the FIB: 0 no route, then LOCAL and ATTACHED of each interface, DROP, one for each
 * route, and of each peer of in-order spray one for its address and one for each of its prefixes.
 */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/apply.h"
#include "control/apply_internal.h"

/* Where groups without members of equal weight say that the first is; zeros. */
#define ADJACENCY_NOWHERE 0

static uint32_t group_local(uint16_t interface)
{
	return 1 + 2u * interface;
}

static uint32_t group_attached(uint16_t interface)
{
	return 2 + 2u * interface;
}

static uint32_t group_drop(uint16_t interface_count)
{
	return 1 + 2u * interface_count;
}

static uint32_t group_route(uint16_t interface_count, uint32_t route)
{
	return 2 + 2u * interface_count + route;
}

/* ---- neighbours ---- */

static void neighbour_address(uint8_t out[16], const struct config_ip *ip)
{
	memset(out, 0, 16);
	memcpy(out, ip->bytes, ip_size(ip));
}

static struct neighbour *neighbour_slot(struct snapshot *snapshot, const uint8_t address[16],
					uint8_t family, uint16_t interface)
{
	uint32_t slot = neighbour_hash(address, interface);

	for (;; slot++) {
		struct neighbour *n = &snapshot->neighbour[slot & snapshot->neighbour_mask];

		if (n->interface == INTERFACE_NONE ||
		    (n->interface == interface && n->family == family &&
		     memcmp(n->address, address, 16) == 0))
			return n;
	}
}

/* @param port of a static neighbour of a VLAN interface, else PORT_NONE; the first one stays */
static void neighbour_add(struct snapshot *snapshot, const struct config_ip *ip,
			  const uint8_t mac[6], uint16_t interface, uint16_t port)
{
	const struct interface *table = &snapshot->interface[interface];
	struct neighbour *neighbour;
	struct adjacency *adjacency;
	uint8_t address[16];

	neighbour_address(address, ip);
	neighbour = neighbour_slot(snapshot, address, ip->family, interface);
	if (neighbour->interface != INTERFACE_NONE)
		return;
	neighbour->interface = interface;
	neighbour->family = ip->family;
	neighbour->adjacency = snapshot->adjacency_count;
	memcpy(neighbour->address, address, sizeof(address));
	adjacency = &snapshot->adjacency[snapshot->adjacency_count++];
	memcpy(adjacency->destination_mac, mac, 6);
	memcpy(adjacency->source_mac, snapshot->router_mac, 6);
	adjacency->egress = table->port != PORT_NONE ? table->port : port;
	adjacency->vlan = table->vlan;
	adjacency->mtu_bytes = table->mtu_bytes;
	adjacency->plain_bytes_max = adjacency_plain_bytes_max(adjacency);
	adjacency->interface = interface;
}

/* Group addresses aren't neighbours, whatever the kernel's table says of them. */
static bool neighbour_usable(const struct snapshot *snapshot, const struct apply_neighbour *n)
{
	static const uint8_t zero[6];

	return n->interface < snapshot->interface_count &&
	       (n->address.family == 4 || n->address.family == 6) && (n->mac[0] & 1) == 0 &&
	       memcmp(n->mac, zero, 6) != 0;
}

static int fill_neighbours(struct snapshot *snapshot, const struct config *config,
			   const struct apply_state *state, const struct networks *networks)
{
	size_t neighbours = (size_t)config->neighbour_count + state->neighbour_count;
	size_t members = 0;
	uint32_t slots = 4;

	while (slots < 2 * neighbours)
		slots *= 2;
	for (uint32_t i = 0; i < config->route_count; i++)
		members += config->routes[i].via_count;
	members += (size_t)apply_spray_groups(config) * CONFIG_PEER_VIAS_MAX;
	snapshot->neighbour = apply_allocate(slots, sizeof(*snapshot->neighbour));
	snapshot->adjacency =
		apply_allocate(neighbours + members + 2, sizeof(*snapshot->adjacency));
	snapshot->adjacency_count = ADJACENCY_NOWHERE + 1;
	if (snapshot->neighbour == NULL || snapshot->adjacency == NULL)
		return -ENOMEM;
	snapshot->neighbour_mask = slots - 1;
	for (uint32_t i = 0; i < slots; i++)
		snapshot->neighbour[i].interface = INTERFACE_NONE;
	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		const struct config_neighbour *n = &config->neighbours[i];
		uint16_t interface = networks_find(networks, &n->address);

		assert(interface != INTERFACE_NONE);
		neighbour_add(snapshot, &n->address, n->mac, interface, n->port);
	}
	/* From the end: of two with the same address the later one counts. */
	for (uint32_t i = state->neighbour_count; i-- > 0;) {
		const struct apply_neighbour *n = &state->neighbour[i];

		if (neighbour_usable(snapshot, n))
			neighbour_add(snapshot, &n->address, n->mac, n->interface, PORT_NONE);
	}
	return 0;
}

/* ---- groups ---- */

static bool adjacency_up(const struct snapshot *snapshot, const struct adjacency *adjacency)
{
	return adjacency->egress == PORT_NONE || snapshot->port[adjacency->egress].link_up;
}

static uint64_t adjacency_rate_bps(const struct snapshot *snapshot,
				   const struct adjacency *adjacency)
{
	return adjacency->egress == PORT_NONE ? 0 : snapshot->port[adjacency->egress].rate_bps;
}

/*
 * Members that are down have no weight, unless all are: then their packets are counted as lost to the link.
 * The others weigh what their ports are worth. @return how many have a weight
 */
static uint32_t weigh_members(const struct snapshot *snapshot, struct adjacency *member,
			      const bool *resolved, uint32_t count)
{
	bool usable[CONFIG_VIAS_MAX];
	uint64_t max_bps = 1;
	uint32_t weighed = 0;

	for (uint32_t i = 0; i < count; i++) {
		usable[i] = resolved[i] && adjacency_up(snapshot, &member[i]);
		weighed += usable[i];
	}
	for (uint32_t i = 0; i < count && weighed == 0; i++)
		usable[i] = resolved[i];
	for (uint32_t i = 0; i < count; i++) {
		uint64_t rate_bps = adjacency_rate_bps(snapshot, &member[i]);

		if (usable[i] && rate_bps > max_bps)
			max_bps = rate_bps;
	}
	weighed = 0;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t rate_bps = adjacency_rate_bps(snapshot, &member[i]);

		if (!usable[i])
			continue;
		/* 1600G * 2^16 fits; the slowest port still has a weight. */
		member[i].weight = rate_bps == 0
					   ? BALANCE_WEIGHT_MAX
					   : (uint32_t)(rate_bps * BALANCE_WEIGHT_MAX / max_bps);
		if (member[i].weight == 0)
			member[i].weight = 1;
		weighed++;
	}
	return weighed;
}

/* Some class sprays on this route, or moves flows. */
static bool route_sprays(const struct snapshot *snapshot, const struct config_route *route)
{
	if (route->balance != CONFIG_BALANCE_DEFAULT)
		return route->balance == CONFIG_BALANCE_SPRAY ||
		       route->balance == CONFIG_BALANCE_ADAPTIVE;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if (snapshot->class[p].balance == BALANCE_SPRAY ||
		    snapshot->class[p].balance == BALANCE_ADAPTIVE)
			return true;
	return false;
}

/* Every next hop keeps its place in the group, so that a flow's hash means the same member (balance/hash.h). */
static void fill_route_group(struct snapshot *snapshot, const struct config *config,
			     const struct config_route *route, uint16_t peer,
			     const struct networks *networks, struct group *group)
{
	struct adjacency *member = &snapshot->adjacency[snapshot->adjacency_count];
	bool resolved[CONFIG_VIAS_MAX];
	uint32_t weighed;

	assert(snapshot->adjacency != NULL);
	*group = (struct group){
		.kind = GROUP_VIA,
		.mode = route->balance != CONFIG_BALANCE_DEFAULT
				? apply_balance_mode(config, route->balance)
				: (uint8_t)BALANCE_BY_CLASS,
		.interface = networks_find(networks, &route->via[0]),
		.peer = peer,
		.first = snapshot->adjacency_count,
		.members = snapshot->adjacency_count,
	};
	for (uint32_t i = 0; i < route->via_count; i++) {
		const struct adjacency *found;
		uint8_t address[16];

		neighbour_address(address, &route->via[i]);
		found = neighbour_find(snapshot, address, route->via[i].family,
				       networks_find(networks, &route->via[i]));
		resolved[i] = found != NULL;
		member[i] = resolved[i] ? *found : (struct adjacency){.egress = PORT_NONE};
	}
	snapshot->adjacency_count += route->via_count;
	weighed = weigh_members(snapshot, member, resolved, route->via_count);
	if (weighed == 0) {
		group->first = ADJACENCY_NOWHERE;
		return;
	}
	/* Of sprayed flows every packet is looked at, whatever is left of their uplinks. */
	if (peer != PEER_NONE && route_sprays(snapshot, route)) {
		group->balanced = route->via_count;
	} else if (weighed == 1) {
		/* Nothing to choose. */
		while (snapshot->adjacency[group->first].weight == 0)
			group->first++;
		group->count = 1;
		return;
	}
	group->count = route->via_count;
	if (!apply_balance_is_plain(snapshot, config, route))
		group->balanced = group->count;
	group->alike = true;
	for (uint32_t i = 0; i < route->via_count; i++)
		group->alike &= member[i].weight == BALANCE_WEIGHT_MAX;
	if (!group->alike)
		group->balanced = group->count;
	if (group->balanced != 0) {
		group->count = 0;
		group->first = ADJACENCY_NOWHERE;
	}
}

void apply_uplinks(const struct config *config, const struct snapshot *snapshot, bool *serves)
{
	uint16_t interfaces = apply_interface_count(config);

	memset(serves, 0, snapshot->port_count * sizeof(*serves));
	for (uint32_t r = 0; r < config->route_count; r++) {
		const struct group *group = &snapshot->group[group_route(interfaces, r)];
		const struct adjacency *member = &snapshot->adjacency[group->members];

		for (uint32_t i = 0;
		     config->routes[r].via_count > 1 && i < config->routes[r].via_count; i++)
			if (member[i].weight != 0 && member[i].egress < snapshot->port_count &&
			    snapshot->port[member[i].egress].link_up)
				serves[member[i].egress] = true;
	}
}

/* Peer that alone serves a whole network, or PEER_NONE. */
static uint16_t peer_of(const struct config *config, const struct config_prefix *network)
{
	const struct config_spray *spray = &config->balance.spray;

	for (uint16_t i = 0; i < spray->peer_count; i++)
		for (uint32_t k = 0; k < spray->peers[i].prefix_count; k++)
			if (spray->peers[i].prefixes[k].length <= network->length &&
			    config_prefix_contains(&spray->peers[i].prefixes[k], &network->ip))
				return i;
	return PEER_NONE;
}

/* A group for each peer's address, and one for each of its prefixes. */
static void fill_peer_groups(struct snapshot *snapshot, const struct config *config,
			     const struct networks *networks, struct group *group)
{
	const struct config_spray *spray = &config->balance.spray;

	for (uint16_t i = 0; i < spray->peer_count; i++) {
		const struct config_peer *peer = &spray->peers[i];
		struct config_prefix host = {.ip = peer->address,
					     .length = (uint8_t)(8 * ip_size(&peer->address))};

		const struct config_route *way = config_route_of(config, &host);

		fill_route_group(snapshot, config, way, PEER_NONE, networks, group);
		apply_spray_peer(snapshot, config, i, way, group++, networks);
		for (uint32_t k = 0; k < peer->prefix_count; k++)
			fill_route_group(snapshot, config,
					 config_route_of(config, &peer->prefixes[k]), i, networks,
					 group++);
	}
}

static int fill_groups(struct snapshot *snapshot, const struct config *config,
		       const struct networks *networks)
{
	uint16_t interfaces = snapshot->interface_count;

	snapshot->group_count =
		group_route(interfaces, config->route_count) + apply_spray_groups(config);
	snapshot->group = apply_allocate(snapshot->group_count, sizeof(*snapshot->group));
	if (snapshot->group == NULL || snapshot->adjacency == NULL)
		return -ENOMEM;
	snapshot->group[FIB_NO_ROUTE].kind = GROUP_NO_ROUTE;
	for (uint16_t i = 0; i < interfaces; i++) {
		snapshot->group[group_local(i)] =
			(struct group){.kind = GROUP_LOCAL, .interface = i};
		snapshot->group[group_attached(i)] =
			(struct group){.kind = GROUP_ATTACHED, .interface = i};
	}
	snapshot->group[group_drop(interfaces)].kind = GROUP_DROP;
	for (uint32_t i = 0; i < config->route_count; i++)
		fill_route_group(snapshot, config, &config->routes[i],
				 peer_of(config, &config->routes[i].to), networks,
				 &snapshot->group[group_route(interfaces, i)]);
	fill_peer_groups(snapshot, config, networks,
			 &snapshot->group[group_route(interfaces, config->route_count)]);
	return 0;
}

int apply_routing(struct snapshot *snapshot, const struct config *config,
		  const struct apply_state *state)
{
	struct networks networks;
	int rc = networks_create(&networks, config);

	if (rc == 0)
		rc = apply_spray(snapshot, config, state);
	if (rc == 0)
		rc = fill_neighbours(snapshot, config, state, &networks);
	if (rc == 0)
		rc = fill_groups(snapshot, config, &networks);
	networks_free(&networks);
	return rc;
}

/* ---- the FIB ---- */

static void prefix_edges(const struct config_prefix *prefix, uint8_t first[16], uint8_t last[16])
{
	neighbour_address(first, &prefix->ip);
	memcpy(last, first, 16);
	for (uint32_t bit = prefix->length; bit < 8 * ip_size(&prefix->ip); bit++) {
		first[bit / 8] &= (uint8_t) ~(0x80 >> bit % 8);
		last[bit / 8] |= (uint8_t)(0x80 >> bit % 8);
	}
}

/*
 * A network's first and last addresses belong to nobody in IPv4 (RFC 1812 4.2.2.11, but for /31:
 * RFC 3021); in IPv6 the first one is the routers' own (RFC 4291 2.6.1, but for /127: RFC 6164).
 */
static int add_edges(struct fib *fib, const struct network *network, uint32_t drop)
{
	const struct config_prefix *prefix = &network->address;
	uint8_t first[16], last[16];
	int rc;

	prefix_edges(prefix, first, last);
	if (prefix->ip.family == 6)
		return prefix->length >= 127
			       ? 0
			       : fib_add(fib, 6, first, 128, group_local(network->interface));
	if (prefix->length >= 31)
		return 0;
	rc = fib_add(fib, 4, first, 32, drop);
	return rc != 0 ? rc : fib_add(fib, 4, last, 32, drop);
}

/* What is said last stays where two are equal: routes, networks, their edges, ourselves. */
static int fill_fib(struct fib *fib, const struct config *config, const struct networks *networks)
{
	static const uint8_t link_local[16] = {0xfe, 0x80};
	uint16_t interfaces = apply_interface_count(config);
	int rc = 0;

	for (uint32_t i = 0; i < config->route_count && rc == 0; i++) {
		const struct config_prefix *to = &config->routes[i].to;

		rc = fib_add(fib, to->ip.family, to->ip.bytes, to->length,
			     group_route(interfaces, i));
	}
	if (rc == 0)
		rc = apply_spray_fib(fib, config, group_route(interfaces, config->route_count));
	for (uint32_t i = 0; i < networks->count && rc == 0; i++) {
		const struct network *n = &networks->entry[i];

		rc = fib_add(fib, n->address.ip.family, n->address.ip.bytes, n->address.length,
			     group_attached(n->interface));
	}
	for (uint32_t i = 0; i < networks->count && rc == 0; i++)
		rc = add_edges(fib, &networks->entry[i], group_drop(interfaces));
	/* Link-local destinations are handed to the kernel before the FIB is asked. */
	if (rc == 0)
		rc = fib_add(fib, 6, link_local, 10, group_drop(interfaces));
	for (uint32_t i = 0; i < networks->count && rc == 0; i++) {
		const struct network *n = &networks->entry[i];

		rc = fib_add(fib, n->address.ip.family, n->address.ip.bytes,
			     (uint8_t)(8 * ip_size(&n->address.ip)), group_local(n->interface));
	}
	return rc;
}

int apply_fib(struct fib *fib, const struct config *config)
{
	struct networks networks;
	int rc = networks_create(&networks, config);

	if (rc != 0)
		return rc;
	rc = fill_fib(fib, config, &networks);
	networks_free(&networks);
	return rc;
}

static void count_routes(uint32_t count[2], const struct config_prefix *address, uint16_t addresses)
{
	/* The network, ourselves, and at most two edges. */
	for (uint16_t i = 0; i < addresses; i++)
		count[address[i].ip.family == 6] += 4;
}

uint32_t apply_routes_max(const struct config *config)
{
	uint32_t count[2] = {0, 1};

	for (uint32_t i = 0; i < config->route_count; i++)
		count[config->routes[i].to.ip.family == 6]++;
	for (uint32_t i = 0; i < config->balance.spray.peer_count; i++)
		for (uint32_t k = 0; k < config->balance.spray.peers[i].prefix_count; k++)
			count[config->balance.spray.peers[i].prefixes[k].ip.family == 6]++;
	for (uint16_t i = 0; i < config->port_count; i++)
		count_routes(count, config->ports[i].address, config->ports[i].address_count);
	for (uint16_t i = 0; i < config->vlan_count; i++)
		count_routes(count, config->vlans[i].address, config->vlans[i].address_count);
	return count[0] > count[1] ? count[0] : count[1];
}

/* ---- which neighbours are wanted ---- */

static int next_hop_compare(const void *a, const void *b)
{
	const struct apply_next_hop *left = a, *right = b;

	return ip_compare(&left->address, &right->address);
}

uint32_t apply_next_hops(const struct config *config, struct apply_next_hop *out, uint32_t max)
{
	struct networks networks;
	struct apply_next_hop *all = NULL;
	size_t vias = 0;
	uint32_t count = 0, n = 0;

	for (uint32_t i = 0; i < config->route_count; i++)
		vias += config->routes[i].via_count;
	if (networks_create(&networks, config) == 0)
		all = calloc(vias + 1, sizeof(*all));
	for (uint32_t i = 0; i < config->route_count && all != NULL; i++) {
		for (uint32_t k = 0; k < config->routes[i].via_count; k++) {
			all[n].address = config->routes[i].via[k];
			all[n].interface = networks_find(&networks, &all[n].address);
			n++;
		}
	}
	/* Networks are disjoint: the same address is the same interface. */
	if (n != 0)
		qsort(all, n, sizeof(*all), next_hop_compare);
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0 && next_hop_compare(&all[i - 1], &all[i]) == 0)
			continue;
		if (count < max)
			out[count] = all[i];
		count++;
	}
	free(all);
	networks_free(&networks);
	return count;
}

static bool is_special(const struct config_prefix *prefix, const struct config_ip *ip)
{
	uint8_t first[16], last[16];
	size_t size = ip_size(ip);

	prefix_edges(prefix, first, last);
	if (memcmp(prefix->ip.bytes, ip->bytes, size) == 0)
		return true;
	if (prefix->length >= 8 * size - 1)
		return false;
	return memcmp(first, ip->bytes, size) == 0 ||
	       (ip->family == 4 && memcmp(last, ip->bytes, size) == 0);
}

/* Looks for an address among the networks of an interface. */
static int resolve_interface(const struct config_prefix *address, uint16_t count,
			     uint16_t interface, const struct config_ip *ip,
			     struct apply_next_hop *out, int *length)
{
	for (uint16_t i = 0; i < count; i++) {
		if (!config_prefix_contains(&address[i], ip))
			continue;
		if (is_special(&address[i], ip))
			return -ENOENT;
		*length = address[i].length;
		*out = (struct apply_next_hop){.address = *ip, .interface = interface};
	}
	return 0;
}

/* @param length of the network that holds it, -1: none does */
static int resolve_attached(const struct config *config, const struct config_ip *ip,
			    struct apply_next_hop *out, int *length)
{
	uint16_t interface = 0;
	int rc = 0;

	*length = -1;
	for (uint16_t i = 0; i < config->port_count && rc == 0; i++) {
		const struct config_port *port = &config->ports[i];

		rc = resolve_interface(port->address, port->address_count, interface, ip, out,
				       length);
		if (port->address_count != 0)
			interface++;
	}
	for (uint16_t i = 0; i < config->vlan_count && rc == 0; i++) {
		const struct config_vlan *vlan = &config->vlans[i];

		rc = resolve_interface(vlan->address, vlan->address_count, interface, ip, out,
				       length);
		if (vlan->address_count != 0)
			interface++;
	}
	return rc;
}

int apply_resolve(const struct config *config, const struct config_ip *destination,
		  struct apply_next_hop *out)
{
	const struct config_route *best = NULL;
	int length, ignored;

	if (resolve_attached(config, destination, out, &length) != 0)
		return -ENOENT;
	for (uint32_t i = 0; i < config->route_count; i++) {
		const struct config_route *route = &config->routes[i];

		if (route->to.length > length && config_prefix_contains(&route->to, destination)) {
			best = route;
			length = route->to.length;
		}
	}
	if (best != NULL)
		return resolve_attached(config, &best->via[0], out, &ignored);
	return length < 0 ? -ENOENT : 0;
}
