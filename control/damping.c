/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/damping.h"

uint32_t damping_penalty(const struct config_damping *config, const struct damping *damping,
			 uint64_t now_ns)
{
	if (config->suppress == 0 || damping->penalty == 0)
		return 0;
	return config_damping_left(config, damping->penalty, now_ns - damping->at_ns);
}

void damping_down(const struct config_damping *config, struct damping *damping, uint64_t now_ns)
{
	uint32_t penalty = damping_penalty(config, damping, now_ns) + DAMPING_PENALTY, most;

	if (config->suppress == 0)
		return;
	most = config_damping_most(config);
	damping->penalty = penalty < most ? penalty : most;
	damping->held = damping->held || damping->penalty > config->suppress;
	damping->at_ns = now_ns;
}

bool damping_holds(const struct config_damping *config, struct damping *damping, bool last,
		   uint64_t now_ns)
{
	damping->held = damping->held && damping_penalty(config, damping, now_ns) >= config->reuse;
	return damping->held && !last;
}

/* Is an address on the network of a port? */
static bool reaches(const struct config_port *port, const struct config_ip *address)
{
	for (uint32_t i = 0; i < port->address_count; i++)
		if (config_prefix_contains(&port->address[i], address))
			return true;
	return false;
}

bool damping_is_last(const struct config *config, const bool *up, uint16_t port)
{
	for (uint32_t r = 0; r < config->route_count; r++) {
		const struct config_route *route = &config->routes[r];
		bool ours = false, others = false;

		for (uint32_t v = 0; v < route->via_count && route->via_count > 1; v++) {
			bool found = false;

			for (uint16_t i = 0; i < config->port_count && !found; i++) {
				if (!reaches(&config->ports[i], &route->via[v]))
					continue;
				found = true;
				ours = ours || i == port;
				others = others || (i != port && up[i]);
			}
			others = others || !found; /* through a VLAN */
		}
		if (ours && !others)
			return true;
	}
	return false;
}
