/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/topology.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"

struct topology *topology_create(void)
{
	struct topology *topology = allocate(sizeof(*topology));

	topology->overhead_bytes = WIRE_OVERHEAD_BYTES;
	return topology;
}

void topology_free(struct topology *topology)
{
	if (topology == NULL)
		return;
	for (uint32_t i = 0; i < topology->node_count; i++)
		free(topology->nodes[i].links);
	free(topology->nodes);
	free(topology->links);
	free(topology->hosts);
	free(topology->switches);
	free(topology);
}

uint32_t topology_add_node(struct topology *topology, const char *name)
{
	struct topology_node *node;

	if (topology->node_count == topology->node_size) {
		topology->node_size = topology->node_size == 0 ? 64 : 2 * topology->node_size;
		topology->nodes = allocate_resize(topology->nodes,
						  topology->node_size * sizeof(*topology->nodes));
	}
	node = &topology->nodes[topology->node_count];
	memset(node, 0, sizeof(*node));
	snprintf(node->name, sizeof(node->name), "%s", name);
	return topology->node_count++;
}

static uint32_t node_add_port(struct topology_node *node, uint32_t link)
{
	/* Powers of two are when it grows. */
	if ((node->link_count & (node->link_count - 1)) == 0)
		node->links = allocate_resize(
			node->links, (node->link_count == 0 ? 1 : 2 * (size_t)node->link_count) *
					     sizeof(*node->links));
	node->links[node->link_count] = link;
	return node->link_count++;
}

uint32_t topology_add_link(struct topology *topology, uint32_t a, uint32_t b, uint64_t rate_bps,
			   uint64_t delay_ps)
{
	struct topology_link *link;

	if (topology->link_count == topology->link_size) {
		topology->link_size = topology->link_size == 0 ? 64 : 2 * topology->link_size;
		topology->links = allocate_resize(topology->links,
						  topology->link_size * sizeof(*topology->links));
	}
	link = &topology->links[topology->link_count];
	memset(link, 0, sizeof(*link));
	link->node[0] = a;
	link->node[1] = b;
	link->port[0] = node_add_port(&topology->nodes[a], topology->link_count);
	link->port[1] = node_add_port(&topology->nodes[b], topology->link_count);
	link->rate_bps = rate_bps;
	link->delay_ps = delay_ps;
	link->transit = TOPOLOGY_NONE;
	return topology->link_count++;
}

uint32_t topology_find_node(const struct topology *topology, const char *name)
{
	for (uint32_t i = 0; i < topology->node_count; i++)
		if (strcmp(topology->nodes[i].name, name) == 0)
			return i;
	return TOPOLOGY_NONE;
}

/* Which of the links between the same two nodes this is, 1.. */
static uint32_t link_number(const struct topology *topology, uint32_t link)
{
	const struct topology_link *this = &topology->links[link];
	const struct topology_node *node = &topology->nodes[this->node[0]];
	uint32_t number = 1;

	for (uint32_t i = 0; i < node->link_count && node->links[i] < link; i++)
		if (topology_other(&topology->links[node->links[i]], this->node[0]) ==
		    this->node[1])
			number++;
	return number;
}

static void name_link(struct topology *topology, uint32_t index)
{
	struct topology_link *link = &topology->links[index];
	const struct topology_node *a = &topology->nodes[link->node[0]];
	const struct topology_node *b = &topology->nodes[link->node[1]];
	uint32_t number = link_number(topology, index);

	if (a->host || b->host)
		snprintf(link->name, sizeof(link->name), "%s", a->host ? a->name : b->name);
	else if (number == 1)
		snprintf(link->name, sizeof(link->name), "%s-%s", a->name, b->name);
	else
		snprintf(link->name, sizeof(link->name), "%s-%s.%u", a->name, b->name, number);
}

static int number_nodes(struct topology *topology, char *why, size_t why_size)
{
	topology->hosts = allocate(topology->node_count * sizeof(*topology->hosts));
	topology->switches = allocate(topology->node_count * sizeof(*topology->switches));
	for (uint32_t i = 0; i < topology->node_count; i++) {
		struct topology_node *node = &topology->nodes[i];

		if (node->link_count == 0) {
			snprintf(why, why_size, "node %s has no link", node->name);
			return -EINVAL;
		}
		if (node->link_count >= PORT_COUNT_MAX) {
			snprintf(why, why_size, "switch %s has %u links: at most %d", node->name,
				 node->link_count, PORT_COUNT_MAX - 1);
			return -EINVAL;
		}
		node->host = node->link_count == 1;
		if (node->host) {
			node->index = topology->host_count;
			topology->hosts[topology->host_count++] = i;
		} else {
			node->index = topology->switch_count;
			topology->switches[topology->switch_count++] = i;
		}
	}
	return 0;
}

/* Hosts of one switch, or two hosts on one cable. */
static int number_subnets(struct topology *topology, char *why, size_t why_size)
{
	uint32_t *stations = allocate((topology->node_count + 1) * sizeof(*stations));
	uint32_t subnets = 0;
	int result = 0;

	for (uint32_t i = 0; i < topology->host_count && result == 0; i++) {
		struct topology_node *host = &topology->nodes[topology->hosts[i]];
		const struct topology_link *link = &topology->links[host->links[0]];
		struct topology_node *other =
			&topology->nodes[topology_other(link, topology->hosts[i])];

		if (other->subnet == 0)
			other->subnet = ++subnets;
		host->subnet = other->subnet;
		host->station = ++stations[host->subnet];
		if (subnets > TOPOLOGY_SUBNETS_MAX) {
			snprintf(why, why_size, "%u switches with hosts: at most %d", subnets,
				 TOPOLOGY_SUBNETS_MAX);
			result = -EINVAL;
		}
	}
	free(stations);
	return result;
}

static int check_connected(const struct topology *topology, char *why, size_t why_size)
{
	uint32_t *hops = allocate(topology->node_count * sizeof(*hops));
	int result = 0;

	topology_hops(topology, 0, hops);
	for (uint32_t i = 0; i < topology->node_count && result == 0; i++) {
		if (hops[i] != TOPOLOGY_NONE)
			continue;
		snprintf(why, why_size, "there is no way from node %s to node %s",
			 topology->nodes[0].name, topology->nodes[i].name);
		result = -EINVAL;
	}
	free(hops);
	return result;
}

int topology_complete(struct topology *topology, char *why, size_t why_size)
{
	uint32_t transits = 0;
	int result = number_nodes(topology, why, why_size);

	if (result == 0)
		result = number_subnets(topology, why, why_size);
	if (result == 0)
		result = check_connected(topology, why, why_size);
	if (result != 0)
		return result;
	for (uint32_t i = 0; i < topology->link_count; i++) {
		struct topology_link *link = &topology->links[i];

		name_link(topology, i);
		if (!topology->nodes[link->node[0]].host && !topology->nodes[link->node[1]].host)
			link->transit = transits++;
	}
	if (transits > TOPOLOGY_TRANSITS_MAX) {
		snprintf(why, why_size, "%u links between switches: at most %u", transits,
			 TOPOLOGY_TRANSITS_MAX);
		return -EINVAL;
	}
	return 0;
}

void topology_hops(const struct topology *topology, uint32_t to, uint32_t *hops)
{
	uint32_t *queue = allocate(topology->node_count * sizeof(*queue));
	uint32_t head = 0, tail = 0;

	for (uint32_t i = 0; i < topology->node_count; i++)
		hops[i] = TOPOLOGY_NONE;
	hops[to] = 0;
	queue[tail++] = to;
	while (head != tail) {
		uint32_t at = queue[head++];
		const struct topology_node *node = &topology->nodes[at];

		for (uint32_t i = 0; i < node->link_count; i++) {
			uint32_t other = topology_other(&topology->links[node->links[i]], at);

			if (hops[other] != TOPOLOGY_NONE)
				continue;
			hops[other] = hops[at] + 1;
			queue[tail++] = other;
		}
	}
	free(queue);
}

void topology_mac(const struct topology *topology, uint32_t node, uint8_t mac[6])
{
	const struct topology_node *this = &topology->nodes[node];
	uint32_t low = this->host ? this->subnet << 16 | this->station : this->index + 1;

	mac[0] = 0x02; /* locally administered */
	mac[1] = this->host ? 0x10 : 0x00;
	mac[2] = (uint8_t)(low >> 24);
	mac[3] = (uint8_t)(low >> 16);
	mac[4] = (uint8_t)(low >> 8);
	mac[5] = (uint8_t)low;
}

static struct config_ip ipv4(uint32_t address)
{
	struct config_ip ip = {.family = 4};

	ip.bytes[0] = (uint8_t)(address >> 24);
	ip.bytes[1] = (uint8_t)(address >> 16);
	ip.bytes[2] = (uint8_t)(address >> 8);
	ip.bytes[3] = (uint8_t)address;
	return ip;
}

struct config_ip topology_ip(const struct topology *topology, uint32_t node)
{
	const struct topology_node *this = &topology->nodes[node];

	return ipv4(UINT32_C(10) << 24 | this->subnet << 16 |
		    (this->host ? this->station : UINT32_C(0xFFFE)));
}

uint32_t topology_gateway(const struct topology *topology, uint32_t host)
{
	uint32_t other = topology_other(&topology->links[topology->nodes[host].links[0]], host);

	return topology->nodes[other].host ? host : other;
}

struct config_prefix topology_network(uint32_t subnet)
{
	return (struct config_prefix){
		.ip = ipv4(UINT32_C(10) << 24 | subnet << 16),
		.length = TOPOLOGY_PREFIX_LENGTH,
	};
}

struct config_ip topology_transit_ip(const struct topology_link *link, uint32_t end)
{
	return ipv4((UINT32_C(172) << 24 | UINT32_C(16) << 16) + 2 * link->transit + end);
}

static uint64_t bytes_ps(uint64_t bytes, uint64_t rate_bps)
{
	return (uint64_t)((unsigned __int128)bytes * 8 * PS_PER_S / rate_bps);
}

/* The first link of a shortest path. */
static const struct topology_link *next_link(const struct topology *topology, uint32_t at,
					     const uint32_t *hops)
{
	const struct topology_node *node = &topology->nodes[at];

	for (uint32_t i = 0; i < node->link_count; i++) {
		const struct topology_link *link = &topology->links[node->links[i]];

		if (hops[topology_other(link, at)] + 1 == hops[at])
			return link;
	}
	return NULL;
}

uint64_t topology_ideal_ps(const struct topology *topology, uint32_t from, uint32_t to,
			   const struct topology_train *train)
{
	uint32_t *hops = allocate(topology->node_count * sizeof(*hops));
	/* When the last bit of the first frame is at the end of a hop, and of the last frame. */
	uint64_t first_ps = 0, last_ps = 0;
	uint64_t slowest_bps = UINT64_MAX;

	topology_hops(topology, to, hops);
	for (uint32_t at = from; at != to;) {
		const struct topology_link *link = next_link(topology, at, hops);
		uint64_t start_ps = last_ps;

		if (link == NULL)
			break; /* a complete topology is connected */
		if (link->rate_bps < slowest_bps)
			slowest_bps = link->rate_bps;
		first_ps += bytes_ps(train->frame_bytes, link->rate_bps);
		/* The last one leaves when it is there and the one before has left. */
		if (train->count > 1) {
			uint64_t left_ps =
				first_ps + bytes_ps((train->count - 2) * train->frame_bytes +
							    train->extra_bytes,
						    slowest_bps);

			start_ps = left_ps > start_ps ? left_ps : start_ps;
		}
		last_ps = start_ps + bytes_ps(train->last_bytes, link->rate_bps) + link->delay_ps;
		first_ps += link->delay_ps;
		at = topology_other(link, at);
	}
	free(hops);
	return last_ps;
}
