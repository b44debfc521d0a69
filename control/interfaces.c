/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * interfaces - the set of TAPs that a config needs, and what the kernel shall know about them:
 * static neighbours, and the config's routes, so that it answers hosts that are not attached.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/state.h"

/* Routes of the kernel that have no metric, or one of a routing daemon, win over ours. */
#define KERNEL_ROUTE_METRIC 20000

/* Next hops that are kept resolved. */
#define NEXT_HOPS_MAX 4096

uint16_t interfaces_by_ifindex(const struct interfaces *interfaces, uint32_t ifindex)
{
	for (uint16_t i = 0; i < interfaces->count; i++)
		if (interfaces->tap[i]->ifindex == ifindex)
			return i;
	return INTERFACE_NONE;
}

static struct tap *find_by_name(const struct interfaces *interfaces, const char *name)
{
	for (uint16_t i = 0; i < interfaces->count; i++)
		if (strcmp(interfaces->tap[i]->name, name) == 0)
			return interfaces->tap[i];
	return NULL;
}

static bool contains(const struct interfaces *interfaces, const struct tap *tap)
{
	for (uint16_t i = 0; i < interfaces->count; i++)
		if (interfaces->tap[i] == tap)
			return true;
	return false;
}

/* A watch needs the daemon and the TAP: the TAP's number in the set may change. */
struct tap_watch {
	struct daemon *daemon;
	struct tap *tap;
};

static void tap_ready(void *context)
{
	struct tap_watch *watch = context;

	punt_tap_ready(watch->daemon, watch->tap);
}

static void tap_remove(struct daemon *daemon, struct tap *tap)
{
	loop_remove(&daemon->loop, &tap->source);
	free(tap->source.context);
	if (neighbours_forget(daemon->neighbours, tap->ifindex))
		publish_soon(daemon, monotonic_ns());
	tap_close(tap);
}

int interfaces_prepare(struct daemon *daemon, const struct config *config, struct interfaces *next,
		       struct io_error *error)
{
	uint16_t count = apply_interface_count(config);
	int code = 0;

	next->count = 0;
	next->tap = calloc(count + 1u, sizeof(struct tap *));
	if (next->tap == NULL)
		return io_fail(error, ENOMEM, "interfaces");
	for (uint16_t i = 0; i < count && code == 0; i++) {
		struct apply_interface wanted;
		struct tap *tap;

		apply_interface(config, i, &wanted);
		tap = find_by_name(&daemon->interfaces, wanted.name);
		if (tap != NULL)
			code = tap_change(tap, daemon->netlink, &wanted, error);
		else
			tap = tap_open(daemon->netlink, &wanted, config->leaf.router_mac, error);
		if (tap == NULL)
			code = -EIO;
		if (code == 0)
			next->tap[next->count++] = tap;
	}
	if (code != 0)
		interfaces_abort(daemon, next);
	return code;
}

void interfaces_abort(struct daemon *daemon, struct interfaces *next)
{
	struct io_error error;

	for (uint16_t i = 0; i < next->count; i++)
		if (!contains(&daemon->interfaces, next->tap[i]))
			tap_close(next->tap[i]);
	for (uint16_t i = 0; i < daemon->interfaces.count; i++) {
		struct apply_interface before;

		if (!contains(next, daemon->interfaces.tap[i]))
			continue;
		apply_interface(daemon->config, i, &before);
		if (tap_change(daemon->interfaces.tap[i], daemon->netlink, &before, &error) != 0)
			events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
				   "after a refused reload: %s", error.text);
	}
	free(next->tap);
	*next = (struct interfaces){0};
}

void interfaces_commit(struct daemon *daemon, struct interfaces *next)
{
	struct interfaces before = daemon->interfaces;

	daemon->interfaces = *next;
	*next = (struct interfaces){0};
	for (uint16_t i = 0; i < daemon->interfaces.count; i++) {
		struct apply_interface wanted;

		/* The kind behind a name may change: port p1 routed, then VLAN... */
		apply_interface(daemon->config, i, &wanted);
		daemon->interfaces.tap[i]->interface = i;
		daemon->interfaces.tap[i]->port = wanted.port;
		daemon->interfaces.tap[i]->vlan = wanted.vlan;
	}
	for (uint16_t i = 0; i < before.count; i++)
		if (!contains(&daemon->interfaces, before.tap[i]))
			tap_remove(daemon, before.tap[i]);
	free(before.tap);
}

static void watch_taps(struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->interfaces.count; i++) {
		struct tap *tap = daemon->interfaces.tap[i];
		struct tap_watch *watch;

		if (tap->source.fd >= 0)
			continue;
		watch = malloc(sizeof(*watch));
		if (watch == NULL)
			continue;
		*watch = (struct tap_watch){daemon, tap};
		if (loop_add(&daemon->loop, &tap->source, tap->fd, tap_ready, watch) != 0) {
			free(watch);
			tap->source.context = NULL;
			events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
				   "interface %s: the kernel's frames can't be read", tap->name);
		}
	}
}

static struct tap *tap_of(const struct daemon *daemon, const struct config_ip *address)
{
	struct apply_next_hop hop;

	if (apply_resolve(daemon->config, address, &hop) != 0 ||
	    hop.interface >= daemon->interfaces.count)
		return NULL;
	return daemon->interfaces.tap[hop.interface];
}

/* Enter one route. An entry of before with the same prefix is replaced. */
static int kernel_route(const struct daemon *daemon, const struct config_route *route)
{
	struct netlink_hop hop[CONFIG_VIAS_MAX];
	uint16_t count = 0;

	for (uint16_t i = 0; i < route->via_count; i++) {
		const struct tap *tap = tap_of(daemon, &route->via[i]);

		if (tap != NULL)
			hop[count++] = (struct netlink_hop){tap->ifindex, route->via[i]};
	}
	if (count == 0)
		return -ENOENT;
	return netlink_route(daemon->netlink, &route->to, hop, count, KERNEL_ROUTE_METRIC, true);
}

static void tell_kernel(struct daemon *daemon)
{
	const struct config *config = daemon->config;
	uint32_t failed = 0;
	int error = 0;

	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		const struct config_neighbour *neighbour = &config->neighbours[i];
		const struct tap *tap = tap_of(daemon, &neighbour->address);

		if (tap != NULL)
			(void)netlink_neighbour_set(daemon->netlink, tap->ifindex,
						    &neighbour->address, neighbour->mac);
	}
	for (uint32_t i = 0; i < config->route_count; i++) {
		int code = kernel_route(daemon, &config->routes[i]);

		if (code == 0)
			continue;
		failed++;
		error = code;
	}
	if (failed > 0)
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "the kernel did not take %u of %u routes for its own traffic (%s); the "
			   "leaf forwards by all of them",
			   failed, config->route_count, strerror(-error));
}

static void want_next_hops(struct daemon *daemon)
{
	struct apply_next_hop *hop = calloc(NEXT_HOPS_MAX, sizeof(*hop));
	uint64_t now_ns = monotonic_ns();
	uint32_t count;

	if (hop == NULL)
		return;
	count = apply_next_hops(daemon->config, hop, NEXT_HOPS_MAX);
	if (count > NEXT_HOPS_MAX) {
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "only %u of %u next hops are kept resolved; the others are asked for "
			   "when packets need them",
			   NEXT_HOPS_MAX, count);
		count = NEXT_HOPS_MAX;
	}
	neighbours_want_begin(daemon->neighbours);
	for (uint32_t i = 0; i < count; i++)
		if (hop[i].interface < daemon->interfaces.count)
			(void)neighbours_want(daemon->neighbours,
					      daemon->interfaces.tap[hop[i].interface]->ifindex,
					      &hop[i].address, now_ns);
	free(hop);
}

void interfaces_settle(struct daemon *daemon)
{
	interfaces_update_carriers(daemon);
	watch_taps(daemon);
	tell_kernel(daemon);
	want_next_hops(daemon);
}

/* Is there a route to the same prefix? Most often at the same place in the list. */
static bool config_has_route(const struct config *config, const struct config_route *route,
			     uint32_t place)
{
	for (uint32_t i = 0; i < config->route_count; i++) {
		const struct config_prefix *to =
			&config->routes[(i + place) % config->route_count].to;

		if (to->length == route->to.length && to->ip.family == route->to.ip.family &&
		    memcmp(to->ip.bytes, route->to.ip.bytes, sizeof(to->ip.bytes)) == 0)
			return true;
	}
	return false;
}

static bool config_has_neighbour(const struct config *config,
				 const struct config_neighbour *neighbour)
{
	for (uint32_t i = 0; i < config->neighbour_count; i++)
		if (config->neighbours[i].address.family == neighbour->address.family &&
		    memcmp(config->neighbours[i].address.bytes, neighbour->address.bytes, 16) == 0)
			return true;
	return false;
}

void interfaces_untell(struct daemon *daemon, const struct config *next)
{
	const struct config *config = daemon->config;

	for (uint32_t i = 0; i < config->neighbour_count; i++) {
		const struct config_neighbour *neighbour = &config->neighbours[i];
		const struct tap *tap = tap_of(daemon, &neighbour->address);

		if (tap != NULL && !config_has_neighbour(next, neighbour))
			(void)netlink_neighbour_set(daemon->netlink, tap->ifindex,
						    &neighbour->address, NULL);
	}
	for (uint32_t i = 0; i < config->route_count; i++)
		if (!config_has_route(next, &config->routes[i], i))
			(void)netlink_route(daemon->netlink, &config->routes[i].to, NULL, 0,
					    KERNEL_ROUTE_METRIC, false);
}

void interfaces_close(struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->interfaces.count; i++)
		tap_remove(daemon, daemon->interfaces.tap[i]);
	free(daemon->interfaces.tap);
	daemon->interfaces = (struct interfaces){0};
}

/* A VLAN interface has carrier while any member port has. */
static bool vlan_is_up(const struct daemon *daemon, uint16_t vlan)
{
	const struct vlan_table *table =
		&daemon->snapshot->vlan[daemon->snapshot->vlan_index[vlan]];
	uint16_t port;

	PORT_BITS_FOREACH(&table->members, port)
	{
		if (daemon->port[port].link_up)
			return true;
	}
	return false;
}

void interfaces_update_carriers(struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->interfaces.count; i++) {
		struct tap *tap = daemon->interfaces.tap[i];

		tap_set_carrier(tap, tap->port != PORT_NONE ? daemon->port[tap->port].link_up
							    : vlan_is_up(daemon, tap->vlan));
	}
}
