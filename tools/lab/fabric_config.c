/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/fabric_config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "control/apply.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/random.h"
#include "tools/lab/scenario.h"

/* What a buffer takes beside the frame: struct rte_mbuf, headroom, the mempool's header. */
#define BUFFER_EXTRA_BYTES (128 + 128 + 64)

static uint32_t port_mtu(const struct scenario *scenario)
{
	return scenario->hosts.mtu_bytes + FRAME_MTU_EXTRA_BYTES;
}

uint32_t fabric_switch_packets(const struct scenario *scenario)
{
	uint64_t bytes = port_mtu(scenario) + FRAME_HEADER_BYTES + BUFFER_EXTRA_BYTES;
	uint64_t packets = scenario->leaf.config.leaf.memory_bytes / bytes;

	return packets > UINT32_MAX ? UINT32_MAX : (uint32_t)packets;
}

static void config_neighbour(struct config *config, uint32_t port, struct config_ip ip,
			     const struct topology *topology, uint32_t node)
{
	struct config_neighbour *neighbour = &config->neighbours[config->neighbour_count++];

	neighbour->address = ip;
	neighbour->port = (uint16_t)port;
	topology_mac(topology, node, neighbour->mac);
}

static void config_port(struct config *config, const struct scenario *scenario, uint32_t node,
			uint32_t index)
{
	const struct topology *topology = scenario->topology;
	const struct topology_link *link = &topology->links[topology->nodes[node].links[index]];
	uint32_t other = topology_other(link, node);
	uint32_t end = link->node[0] == node ? 0 : 1;
	struct config_port *port = &config->ports[index];

	snprintf(port->name, sizeof(port->name), "p%u", index + 1);
	snprintf(port->device, sizeof(port->device), "%s", link->name);
	port->driver = CONFIG_DRIVER_VDEV;
	port->speed_bps = link->rate_bps;
	port->mtu_bytes = port_mtu(scenario);
	port->trust = CONFIG_TRUST_DSCP;
	port->cable_mm = (uint32_t)((link->delay_ps + CABLE_PS_PER_MM - 1) / CABLE_PS_PER_MM);
	port->pfc = CONFIG_PFC_SOFTWARE;
	port->nic_delay_auto = true;
	if (link->transit == TOPOLOGY_NONE) {
		port->access_vlan = FABRIC_VLAN;
		config_neighbour(config, index, topology_ip(topology, other), topology, other);
	} else {
		if (scenario->leaf.poll_ps != 0)
			port->peer_response = CONFIG_RESPONSE_ROCELEAF;
		port->address[port->address_count++] = (struct config_prefix){
			.ip = topology_transit_ip(link, end),
			.length = 31,
		};
		config_neighbour(config, index, topology_transit_ip(link, 1 - end), topology,
				 other);
	}
}

static void config_vlan(struct config *config, const struct scenario *scenario, uint32_t node)
{
	struct config_vlan *vlan = &config->vlans[0];

	if (scenario->topology->nodes[node].subnet == 0)
		return;
	config->vlan_count = 1;
	vlan->id = FABRIC_VLAN;
	vlan->mtu_bytes = port_mtu(scenario);
	vlan->address_count = 1;
	vlan->address[0].ip = topology_ip(scenario->topology, node);
	vlan->address[0].length = TOPOLOGY_PREFIX_LENGTH;
}

/* Next hops from a switch to another: neighbours that are one hop nearer. */
static void config_route(struct config *config, const struct topology *topology, uint32_t from,
			 uint32_t to, uint32_t *hops)
{
	const struct topology_node *node = &topology->nodes[from];
	struct config_route *route = &config->routes[config->route_count++];

	topology_hops(topology, to, hops);
	route->to = topology_network(topology->nodes[to].subnet);
	for (uint32_t i = 0; i < node->link_count; i++) {
		const struct topology_link *link = &topology->links[node->links[i]];
		uint32_t other = topology_other(link, from);

		if (hops[other] + 1 != hops[from] || route->via_count == CONFIG_VIAS_MAX)
			continue;
		route->via[route->via_count++] =
			topology_transit_ip(link, link->node[0] == from ? 1 : 0);
	}
}

static bool same_vias(const struct config_route *a, const struct config_route *b)
{
	return a->via_count == b->via_count &&
	       memcmp(a->via, b->via, a->via_count * sizeof(a->via[0])) == 0;
}

/* Make the commonest set of next hops the route to all subnets, and drop its special cases. */
static void merge_routes(struct config *config)
{
	uint32_t best = 0, best_count = 0, kept = 0;
	struct config_route common;

	for (uint32_t i = 0; i < config->route_count; i++) {
		uint32_t count = 0;

		for (uint32_t j = i; j < config->route_count; j++)
			count += same_vias(&config->routes[i], &config->routes[j]);
		if (count > best_count) {
			best = i;
			best_count = count;
		}
	}
	if (best_count < 2)
		return;
	common = config->routes[best];
	common.to = topology_network(0);
	common.to.length = 8;
	for (uint32_t i = 0; i < config->route_count; i++)
		if (!same_vias(&config->routes[i], &common))
			config->routes[kept++] = config->routes[i];
	config->routes[kept++] = common;
	config->route_count = kept;
}

static void config_routes(struct config *config, const struct topology *topology, uint32_t node)
{
	uint32_t *hops = allocate(topology->node_count * sizeof(*hops));

	config->routes = allocate((topology->switch_count + 1) * sizeof(*config->routes));
	for (uint32_t i = 0; i < topology->switch_count; i++) {
		uint32_t other = topology->switches[i];

		if (other != node && topology->nodes[other].subnet != 0)
			config_route(config, topology, node, other, hops);
	}
	free(hops);
	merge_routes(config);
}

/* Modes in which leaves talk to each other. */
static bool is_told(enum config_balance_mode mode)
{
	return mode == CONFIG_BALANCE_SPRAY || mode == CONFIG_BALANCE_ADAPTIVE;
}

/* Does any switch need to know the others? */
static bool scenario_sprays(const struct scenario *scenario, const struct config *classes)
{
	for (uint32_t i = 0; i < scenario->leaf.mode_count; i++)
		if (is_told(scenario->leaf.modes[i].mode))
			return true;
	for (uint32_t i = 0; i < classes->class_count; i++)
		if (is_told(classes->classes[i].balance))
			return true;
	return is_told(classes->balance.mode);
}

/* All switches with hosts know each other, and share a key that isn't secret. */
static void config_spray(struct config *config, const struct topology *topology, uint32_t node)
{
	struct config_spray *spray = &config->balance.spray;

	spray->peers = allocate(topology->switch_count * sizeof(*spray->peers));
	spray->address = topology_ip(topology, node);
	memset(spray->key, 0x5a, sizeof(spray->key));
	for (uint32_t i = 0; i < topology->switch_count; i++) {
		uint32_t other = topology->switches[i];
		struct config_peer *peer = &spray->peers[spray->peer_count];
		struct config_prefix *network;
		const struct config_route *route;

		if (other == node || topology->nodes[other].subnet == 0)
			continue;
		network = allocate(sizeof(*network));
		*network = topology_network(topology->nodes[other].subnet);
		route = config_route_of(config, network);
		if (route == NULL || route->via_count > CONFIG_PEER_VIAS_MAX) {
			free(network);
			continue;
		}
		*peer = (struct config_peer){.address = topology_ip(topology, other),
					     .prefixes = network,
					     .prefix_count = 1};
		spray->peer_count++;
	}
}

struct config *fabric_config_create(const struct scenario *scenario, uint32_t index,
				    const struct config *classes)
{
	const struct topology *topology = scenario->topology;
	uint32_t node = topology->switches[index];
	uint32_t ports = topology->nodes[node].link_count;
	struct config *config = allocate(sizeof(*config));

	snprintf(config->leaf.name, sizeof(config->leaf.name), "%s", topology->nodes[node].name);
	config->path = scenario->path;
	config->leaf.workers = scenario->leaf.config.leaf.workers;
	config->leaf.memory_bytes = scenario->leaf.config.leaf.memory_bytes;
	topology_mac(topology, node, config->leaf.router_mac);
	memcpy(config->classes, classes->classes, sizeof(config->classes));
	config->class_count = classes->class_count;
	config->default_class = classes->default_class;
	config->buffer = classes->buffer;
	config->watchdog = classes->watchdog;
	config->balance = classes->balance;
	config->balance.mode = scenario_mode_of(scenario, topology->nodes[node].name);
	config->ports = allocate(ports * sizeof(*config->ports));
	config->port_count = (uint16_t)ports;
	config->vlans = allocate(sizeof(*config->vlans));
	config->neighbours = allocate(ports * sizeof(*config->neighbours));
	for (uint32_t i = 0; i < ports; i++)
		config_port(config, scenario, node, i);
	config_vlan(config, scenario, node);
	config_routes(config, topology, node);
	if (scenario_sprays(scenario, classes) && topology->nodes[node].subnet != 0)
		config_spray(config, topology, node);
	return config;
}

void fabric_config_free(struct config *config)
{
	for (uint32_t i = 0; i < config->balance.spray.peer_count; i++)
		free(config->balance.spray.peers[i].prefixes);
	free(config->balance.spray.peers);
	free(config->ports);
	free(config->vlans);
	free(config->neighbours);
	free(config->routes);
	free(config);
}

/* The buffer doesn't divide as the classes want it. */
static void say_why(const struct config *config, const struct apply_state *state)
{
	struct config_errors *errors = allocate(sizeof(*errors));
	struct buffer_plan plan;

	if (apply_plan(config, state, &plan, errors) == 0)
		buffer_plan_free(&plan);
	fprintf(stderr, "switch %s:\n", config->leaf.name);
	config_print_errors(errors, stderr);
	free(errors);
	rte_errno = EINVAL;
}

struct snapshot *fabric_config_apply(const struct scenario *scenario, uint32_t index,
				     const struct config *config, const bool *link_down,
				     struct fib *fib, bool fib_filled)
{
	const struct topology *topology = scenario->topology;
	const struct topology_node *node = &topology->nodes[topology->switches[index]];
	struct random random = random_of(scenario->seed, RANDOM_SWITCH, index);
	struct apply_port *ports = allocate(config->port_count * sizeof(*ports));
	struct apply_state state = {
		.port = ports,
		.packets_max = fabric_switch_packets(scenario),
		.poll_ps = scenario->leaf.poll_ps,
	};
	struct snapshot *snapshot;

	(void)random_next(&random); /* the leaf's own seed */
	state.hash_seed = random_next(&random);
	for (uint16_t i = 0; i < config->port_count; i++)
		ports[i] = (struct apply_port){
			.rate_bps = config->ports[i].speed_bps,
			.link_up = !link_down[node->links[i]],
			/* Enough for the wire to be busy until the poll after next. */
			.run_ahead_ps = 2 * scenario->leaf.poll_ps,
		};
	snapshot = apply_snapshot(config, &state, fib, fib_filled);
	if (snapshot == NULL && rte_errno == EINVAL)
		say_why(config, &state);
	free(ports);
	/* The leaf's wire clock must agree with the wires. */
	for (uint16_t i = 0; snapshot != NULL && i < config->port_count; i++)
		snapshot->port[i].overhead_change =
			(int32_t)topology->overhead_bytes - WIRE_OVERHEAD_BYTES;
	return snapshot;
}
