/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/apply.h"
#include "control/telemetry_tables.h"

/* Slots of the FDB looked at for one page: bounds the time under the lock to about 1 ms. */
#define FDB_SLOTS_PER_PAGE 65536

/* Address and, when not negative, length: "fd00:1::1/64". */
#define ADDRESS_BYTES (INET6_ADDRSTRLEN + 4)

static void address_text(const struct config_ip *ip, int length, char text[ADDRESS_BYTES])
{
	char address[INET6_ADDRSTRLEN] = "-";

	inet_ntop(ip->family == 4 ? AF_INET : AF_INET6, ip->bytes, address, sizeof(address));
	if (length < 0)
		snprintf(text, ADDRESS_BYTES, "%s", address);
	else
		snprintf(text, ADDRESS_BYTES, "%s/%u", address, (unsigned)length & 0xFFu);
}

static bool prefix_contains(const struct config_prefix *prefix, const struct config_ip *ip)
{
	uint32_t whole = prefix->length / 8, rest = prefix->length % 8;

	if (prefix->ip.family != ip->family || memcmp(prefix->ip.bytes, ip->bytes, whole) != 0)
		return false;
	return rest == 0 ||
	       ((prefix->ip.bytes[whole] ^ ip->bytes[whole]) & 0xFF << (8 - rest) & 0xFF) == 0;
}

/* The network that an interface's address stands in. */
static struct config_prefix network_of(const struct config_prefix *prefix)
{
	struct config_prefix network = *prefix;

	for (uint32_t bit = prefix->length; bit < 8 * sizeof(network.ip.bytes); bit++)
		network.ip.bytes[bit / 8] &= (uint8_t) ~(0x80u >> bit % 8);
	return network;
}

/* --- FDB --- */

uint64_t telemetry_fdb(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct fdb *fdb = leaf_fdb(daemon_leaf(daemon));
	uint64_t slots = fdb_slot_count(fdb), slot, now_ps, age_max_ps;

	telemetry_page_column(page, "vlan", TELEMETRY_KEY);
	telemetry_page_column(page, "mac", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "port", TELEMETRY_TEXT);
	telemetry_page_column(page, "age_ns", 0);

	daemon_lock(daemon);
	now_ps = daemon_now_ps(daemon);
	age_max_ps = daemon_snapshot(daemon)->fdb_age_ps;
	for (slot = cursor; slot < slots && slot < cursor + FDB_SLOTS_PER_PAGE; slot++) {
		struct fdb_entry entry;
		char mac[TELEMETRY_MAC_BYTES];
		uint64_t age_ps;

		if (!fdb_entry_get(fdb, (uint32_t)slot, &entry))
			continue;
		age_ps = time_after(entry.seen_ps, now_ps) ? 0 : now_ps - entry.seen_ps;
		if (age_ps > age_max_ps)
			continue; /* dead to look-ups, not yet reclaimed */
		if (!telemetry_page_row(page))
			break;
		telemetry_mac_text(entry.mac, mac);
		telemetry_page_number(page, entry.vlan);
		telemetry_page_text(page, mac);
		telemetry_page_text(page, telemetry_port_name(daemon_config(daemon), entry.egress));
		telemetry_page_number(page, age_ps / PS_PER_NS);
	}
	daemon_unlock(daemon);
	return slot < slots ? slot : 0;
}

/* --- routes --- */

/* The cursor: connected ones by (interface, address), then static ones by (route, via). */
#define CURSOR_STATIC            (UINT64_C(1) << 48)
#define CURSOR_CONNECTED(i, a)   ((uint64_t)(i) << 8 | (a))
#define CURSOR_ROUTE(route, via) (CURSOR_STATIC | (uint64_t)(route) << 8 | (via))
_Static_assert(CONFIG_ADDRESSES_MAX < 256 && CONFIG_VIAS_MAX < 256, "the cursor's low byte");

static void route_row(struct telemetry_page *page, const struct config_prefix *to, const char *kind,
		      const char *via, const struct apply_interface *interface, const char *mac,
		      const char *state)
{
	char text[ADDRESS_BYTES];

	address_text(&to->ip, to->length, text);
	telemetry_page_text(page, text);
	telemetry_page_text(page, kind);
	telemetry_page_text(page, via);
	telemetry_page_text(page, interface == NULL ? "-" : interface->name);
	telemetry_page_text(page, mac);
	telemetry_page_text(page, state);
}

static bool carrier(const struct daemon *daemon, uint16_t interface)
{
	struct daemon_interface state;

	return daemon_interface(daemon, interface, &state) == 0 && state.carrier;
}

/* @return where the page was full, or CURSOR_STATIC */
static uint64_t connected_rows(struct telemetry_page *page, const struct daemon *daemon,
			       uint64_t cursor)
{
	const struct config *config = daemon_config(daemon);
	uint16_t count = apply_interface_count(config);

	for (uint64_t i = cursor >> 8; i < count; i++) {
		struct apply_interface interface;

		apply_interface(config, (uint16_t)i, &interface);
		for (uint64_t a = i == cursor >> 8 ? cursor & 0xFF : 0; a < interface.address_count;
		     a++) {
			struct config_prefix network = network_of(&interface.address[a]);

			if (!telemetry_page_row(page))
				return CURSOR_CONNECTED(i, a);
			route_row(page, &network, "connected", "-", &interface, "-",
				  carrier(daemon, (uint16_t)i) ? "up" : "down");
		}
	}
	return CURSOR_STATIC;
}

/* The interface whose network a next hop stands in. @return its index, or INTERFACE_NONE */
static uint16_t interface_of(const struct config *config, const struct config_ip *via,
			     struct apply_interface *interface)
{
	uint16_t count = apply_interface_count(config);

	for (uint16_t i = 0; i < count; i++) {
		apply_interface(config, i, interface);
		for (uint16_t a = 0; a < interface->address_count; a++)
			if (prefix_contains(&interface->address[a], via))
				return i;
	}
	return INTERFACE_NONE;
}

static void static_row(struct telemetry_page *page, const struct daemon *daemon,
		       const struct config_route *route, const struct config_ip *via)
{
	const struct adjacency *adjacency = NULL;
	struct apply_interface interface;
	uint16_t index = interface_of(daemon_config(daemon), via, &interface);
	char address[ADDRESS_BYTES], mac[TELEMETRY_MAC_BYTES] = "-";
	const char *state = "unresolved";

	if (index != INTERFACE_NONE)
		adjacency = neighbour_find(daemon_snapshot(daemon), via->bytes, via->family, index);
	if (adjacency != NULL) {
		telemetry_mac_text(adjacency->destination_mac, mac);
		state = "resolved";
	}
	if (index != INTERFACE_NONE && !carrier(daemon, index))
		state = "down";
	address_text(via, -1, address);
	route_row(page, &route->to, "static", address, index == INTERFACE_NONE ? NULL : &interface,
		  mac, state);
}

uint64_t telemetry_routes(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct config *config;
	uint64_t next = cursor;

	telemetry_page_column(page, "to", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "kind", TELEMETRY_TEXT);
	telemetry_page_column(page, "via", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "interface", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "mac", TELEMETRY_TEXT);
	telemetry_page_column(page, "state", TELEMETRY_TEXT);

	daemon_lock(daemon);
	config = daemon_config(daemon);
	if (next < CURSOR_STATIC)
		next = connected_rows(page, daemon, next);
	if (next >= CURSOR_STATIC) {
		uint64_t first = (next & ~CURSOR_STATIC) >> 8, via = next & 0xFF;

		next = 0;
		for (uint64_t r = first; r < config->route_count && next == 0; r++, via = 0) {
			const struct config_route *route = &config->routes[r];

			for (; via < route->via_count && next == 0; via++) {
				if (telemetry_page_row(page))
					static_row(page, daemon, route, &route->via[via]);
				else
					next = CURSOR_ROUTE(r, via);
			}
		}
	}
	daemon_unlock(daemon);
	return next;
}

/* --- neighbours --- */

static void neighbour_row(struct telemetry_page *page, const struct daemon *daemon,
			  const struct daemon_neighbour *neighbour)
{
	const struct config *config = daemon_config(daemon);
	static const char *const states[] = {
		[DAEMON_NEIGHBOUR_STATIC] = "static",
		[DAEMON_NEIGHBOUR_RESOLVED] = "resolved",
		[DAEMON_NEIGHBOUR_UNRESOLVED] = "unresolved",
	};
	struct apply_interface interface = {.name = "-"};
	char address[ADDRESS_BYTES], mac[TELEMETRY_MAC_BYTES] = "-";

	address_text(&neighbour->address, -1, address);
	if (neighbour->state != DAEMON_NEIGHBOUR_UNRESOLVED)
		telemetry_mac_text(neighbour->mac, mac);
	if (neighbour->interface < apply_interface_count(config))
		apply_interface(config, neighbour->interface, &interface);
	telemetry_page_text(page, address);
	telemetry_page_text(page, interface.name);
	telemetry_page_text(page, telemetry_port_name(config, neighbour->port));
	telemetry_page_text(page, mac);
	telemetry_page_text(page, neighbour->state < sizeof(states) / sizeof(states[0])
					  ? states[neighbour->state]
					  : "-");
	telemetry_page_number(page, neighbour->held);
}

uint64_t telemetry_neighbours(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	struct daemon_neighbour *neighbour;
	uint32_t count, i = 0;

	telemetry_page_column(page, "address", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "interface", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "port", TELEMETRY_TEXT);
	telemetry_page_column(page, "mac", TELEMETRY_TEXT);
	telemetry_page_column(page, "state", TELEMETRY_TEXT);
	telemetry_page_column(page, "held_packets", 0);

	daemon_lock(daemon);
	count = daemon_neighbours(daemon, NULL, 0);
	neighbour = calloc((size_t)count + 1, sizeof(*neighbour));
	if (neighbour == NULL) {
		page->failed = true;
		count = 0;
	} else {
		count = daemon_neighbours(daemon, neighbour, count);
	}
	for (i = cursor < count ? (uint32_t)cursor : count; i < count && telemetry_page_row(page);
	     i++)
		neighbour_row(page, daemon, &neighbour[i]);
	daemon_unlock(daemon);
	free(neighbour);
	return i < count ? i : 0;
}

/* --- interfaces --- */

/* X(field, unit): of struct daemon_interface */
#define INTERFACE_COUNTERS(X)        \
	X(punt_packets, "packets")   \
	X(punt_bytes, "bytes")       \
	X(punt_errors, "packets")    \
	X(kernel_packets, "packets") \
	X(kernel_bytes, "bytes")     \
	X(kernel_drops, "packets")

/* "10.1.0.1/24 fd00:1::1/64"; what doesn't fit becomes "...". */
static void addresses_text(const struct apply_interface *interface, char *text, size_t size)
{
	size_t used = 0;

	snprintf(text, size, "%s", interface->address_count == 0 ? "-" : "");
	for (uint16_t i = 0; i < interface->address_count; i++) {
		char address[ADDRESS_BYTES];

		address_text(&interface->address[i].ip, interface->address[i].length, address);
		if (used + strlen(address) + sizeof("  ...") > size) {
			snprintf(text + used, size - used, " ...");
			return;
		}
		used += (size_t)snprintf(text + used, size - used, "%s%s", used == 0 ? "" : " ",
					 address);
	}
}

uint64_t telemetry_interfaces(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct config *config;
	uint64_t i;
	uint16_t count;

	telemetry_page_column(page, "interface", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "port", TELEMETRY_TEXT);
	telemetry_page_column(page, "vlan", 0);
	telemetry_page_column(page, "ifindex", 0);
	telemetry_page_column(page, "mtu_bytes", 0);
	telemetry_page_column(page, "carrier", TELEMETRY_FLAG);
	telemetry_page_column(page, "addresses", TELEMETRY_TEXT);
#define COLUMN_(field, unit) telemetry_page_counter(page, #field, unit);
	INTERFACE_COUNTERS(COLUMN_)
#undef COLUMN_

	daemon_lock(daemon);
	config = daemon_config(daemon);
	count = daemon_interface_count(daemon);
	for (i = cursor; i < count && telemetry_page_row(page); i++) {
		struct daemon_interface state = {.port = PORT_NONE};
		struct apply_interface interface = {.address_count = 0};
		char addresses[TELEMETRY_TEXT_BYTES + 1];

		(void)daemon_interface(daemon, (uint16_t)i, &state);
		if (i < apply_interface_count(config))
			apply_interface(config, (uint16_t)i, &interface);
		addresses_text(&interface, addresses, sizeof(addresses));
		telemetry_page_text(page, state.name);
		telemetry_page_text(page, telemetry_port_name(config, state.port));
		telemetry_page_number(page, state.vlan);
		telemetry_page_number(page, state.ifindex);
		telemetry_page_number(page, state.mtu_bytes);
		telemetry_page_number(page, state.carrier);
		telemetry_page_text(page, addresses);
#define CELL_(field, unit) telemetry_page_number(page, state.field);
		INTERFACE_COUNTERS(CELL_)
#undef CELL_
	}
	daemon_unlock(daemon);
	return i < count ? i : 0;
}
