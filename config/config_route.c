/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Routes and static neighbours: everything must be behind an interface of ours.
 */
#include "config/config_internal.h"

#include <stdlib.h>
#include <string.h>

/*
 * Is this address one that a device in a network of ours can have? @return its network, or NULL: a
 * message was left.
 */
static const struct connected *check_reachable(struct schema_document *document,
					       const struct config *config,
					       const struct connected_list *list,
					       struct schema_node *node, const char *what,
					       const struct config_ip *ip)
{
	const struct connected *connected = connected_find(list, ip);
	const char *misfit = config_ip_misfit(ip);
	char name[CONFIG_NAME_BYTES + 8];
	char text[ADDRESS_TEXT_BYTES];
	const char *edge;

	config_format_ip(ip, text, sizeof(text));
	if (misfit != NULL) {
		schema_fail(document, node, "%s %s can't be a neighbour: it is %s", what, text,
			    misfit);
		return NULL;
	}
	if (connected == NULL) {
		schema_fail(document, node,
			    "%s %s is in no network of ours, so this leads nowhere: give a port or "
			    "a VLAN an address in its network",
			    what, text);
		return NULL;
	}
	connected_name(config, connected, name, sizeof(name));
	if (config_ip_compare(&connected->address.ip, ip) == 0) {
		schema_fail(document, node, "%s %s is our own address, on %s", what, text, name);
		return NULL;
	}
	edge = config_ip_edge(&connected->address, ip);
	if (edge != NULL) {
		schema_fail(document, node, "%s %s can't be a neighbour on %s: it is %s", what,
			    text, name, edge);
		return NULL;
	}
	return connected;
}

/* Where one of many stands, for finding equal ones. */
struct entry {
	const struct config_prefix *prefix; /* routes */
	const struct config_ip *ip;         /* neighbours */
	struct schema_node *node;
	uint32_t index;
};

static int entry_compare(const void *left, const void *right)
{
	const struct entry *a = left;
	const struct entry *b = right;
	int order = config_ip_compare(a->ip, b->ip);

	if (order == 0 && a->prefix != NULL && a->prefix->length != b->prefix->length)
		order = a->prefix->length < b->prefix->length ? -1 : 1;
	return order != 0 ? order : a->index < b->index ? -1 : a->index > b->index;
}

static bool entry_same(const struct entry *a, const struct entry *b)
{
	return config_ip_compare(a->ip, b->ip) == 0 &&
	       (a->prefix == NULL || a->prefix->length == b->prefix->length);
}

/* Complain about each that is like the one before it. */
static void check_duplicates(struct schema_document *document, struct entry *entries,
			     uint32_t count, const char *key, const char *what)
{
	uint32_t i;

	qsort(entries, count, sizeof(*entries), entry_compare);
	for (i = 1; i < count; i++) {
		struct schema_node *value = schema_child(entries[i].node, key);

		if (entry_same(&entries[i - 1], &entries[i]))
			schema_fail(document, value, "%s %s stands twice: also in line %u", what,
				    value->text, entries[i - 1].node->mark.line);
	}
}

static void check_destination(struct schema_document *document, const struct config *config,
			      const struct connected_list *list, struct schema_node *node,
			      const struct config_prefix *to)
{
	const char *misfit = config_prefix_misfit(to);
	const struct connected *connected = connected_find(list, &to->ip);
	char text[ADDRESS_TEXT_BYTES];
	char name[CONFIG_NAME_BYTES + 8];

	config_format_prefix(to, text, sizeof(text));
	if (misfit != NULL)
		schema_fail(document, node, "to %s can't be routed: it is %s", text, misfit);
	else if (connected != NULL && connected->address.length == to->length)
		schema_fail(document, node, "to %s is the network of %s itself: it needs no route",
			    text, connected_name(config, connected, name, sizeof(name)));
}

static void check_vias(struct schema_document *document, const struct config *config,
		       const struct connected_list *list, struct schema_node *node,
		       const struct config_route *route)
{
	struct schema_node *vias = schema_child(node, "via");
	struct schema_node *via_node = schema_element(vias, 0);
	uint32_t i;
	uint32_t j;

	for (i = 0; i < route->via_count; i++) {
		const struct config_ip *via = &route->via[i];
		char text[ADDRESS_TEXT_BYTES];

		config_format_ip(via, text, sizeof(text));
		if (via->family != route->to.ip.family)
			schema_fail(document, via_node,
				    "via %s is IPv%u, but to is IPv%u: both must be the same", text,
				    via->family, route->to.ip.family);
		else
			check_reachable(document, config, list, via_node, "via", via);
		for (j = 0; j < i; j++) {
			if (config_ip_compare(via, &route->via[j]) == 0) {
				schema_fail(document, via_node, "via %s stands twice in this route",
					    text);
				break;
			}
		}
		via_node = vias->kind == SCHEMA_NODE_LIST ? via_node->next : via_node;
	}
}

void config_check_routes(struct schema_document *document, struct config *config,
			 const struct connected_list *list)
{
	struct schema_node *node = schema_child(schema_root(document), "routes")->first;
	struct entry *entries;
	uint32_t count = 0;
	uint32_t i;

	if (config->route_count == 0)
		return;
	entries = calloc(config->route_count, sizeof(*entries));
	if (entries == NULL) {
		schema_fail(document, schema_root(document), "out of memory");
		return;
	}
	for (i = 0; i < config->route_count; i++, node = node->next) {
		const struct config_route *route = &config->routes[i];

		if (node->refused)
			continue;
		check_destination(document, config, list, schema_child(node, "to"), &route->to);
		check_vias(document, config, list, node, route);
		entries[count++] = (struct entry){&route->to, &route->to.ip, node, i};
	}
	check_duplicates(document, entries, count, "to", "route to");
	free(entries);
}

/* The port that a neighbour is behind. */
static void check_neighbour_port(struct schema_document *document, const struct config *config,
				 const struct connected *connected, struct schema_node *node,
				 struct config_neighbour *neighbour)
{
	uint16_t vlan = connected->port == UINT16_MAX ? config->vlans[connected->vlan].id : 0;
	struct schema_node *port_node = schema_child(node, "port");
	char name[CONFIG_NAME_BYTES + 8];
	uint16_t port = 0;

	connected_name(config, connected, name, sizeof(name));
	if (neighbour->port_name[0] == '\0' && vlan == 0) {
		neighbour->port = connected->port;
		memcpy(neighbour->port_name, config->ports[connected->port].name,
		       sizeof(neighbour->port_name));
		return;
	}
	if (neighbour->port_name[0] == '\0') {
		schema_fail(document, node,
			    "a neighbour on %s needs the key \"port\": which of its ports is it "
			    "behind?",
			    name);
		return;
	}
	while (port < config->port_count &&
	       strcmp(config->ports[port].name, neighbour->port_name) != 0)
		port++;
	if (port == config->port_count)
		schema_fail(document, port_node, "there is no port \"%s\"", neighbour->port_name);
	else if (vlan == 0 && port != connected->port)
		schema_fail(document, port_node, "port %s is the wrong one: that network is on %s",
			    neighbour->port_name, name);
	else if (vlan != 0 && !config_port_in_vlan(&config->ports[port], vlan))
		schema_fail(document, port_node, "port %s is the wrong one: it isn't in %s",
			    neighbour->port_name, name);
	neighbour->port = port;
}

void config_check_neighbours(struct schema_document *document, struct config *config,
			     const struct connected_list *list)
{
	struct schema_node *node = schema_child(schema_root(document), "neighbours")->first;
	struct entry *entries;
	uint32_t count = 0;
	uint32_t i;

	if (config->neighbour_count == 0)
		return;
	entries = calloc(config->neighbour_count, sizeof(*entries));
	if (entries == NULL) {
		schema_fail(document, schema_root(document), "out of memory");
		return;
	}
	for (i = 0; i < config->neighbour_count; i++, node = node->next) {
		struct config_neighbour *neighbour = &config->neighbours[i];
		const struct connected *connected;

		if (node->refused)
			continue;
		entries[count++] = (struct entry){NULL, &neighbour->address, node, i};
		connected = check_reachable(document, config, list, schema_child(node, "address"),
					    "address", &neighbour->address);
		if (connected != NULL)
			check_neighbour_port(document, config, connected, node, neighbour);
	}
	check_duplicates(document, entries, count, "address", "neighbour");
	free(entries);
}

const struct config_route *config_route_of(const struct config *config,
					   const struct config_prefix *network)
{
	const struct config_route *best = NULL;

	for (uint32_t i = 0; i < config->route_count; i++) {
		const struct config_route *route = &config->routes[i];

		if (route->to.length <= network->length &&
		    config_prefix_contains(&route->to, &network->ip) &&
		    (best == NULL || route->to.length > best->to.length))
			best = route;
	}
	return best;
}
