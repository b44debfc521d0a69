/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/damping.h"

static uint32_t decayed(uint32_t penalty, uint64_t elapsed_ns, uint64_t half_life_ns)
{
	uint64_t halvings = elapsed_ns / half_life_ns, rest_ns = elapsed_ns % half_life_ns;

	if (halvings >= 32)
		return 0;
	penalty >>= halvings;
	return penalty - (uint32_t)((unsigned __int128)penalty * rest_ns / half_life_ns / 2);
}

/* The largest that decays below `reuse` in the longest time. */
static uint32_t penalty_max(const struct config_damping *config)
{
	const uint64_t max_ns = config->max_ps / 1000, half_life_ns = config->half_life_ps / 1000;
	const uint64_t rest_ns = max_ns % half_life_ns;
	uint64_t halvings = max_ns / half_life_ns, most;

	if (halvings > 16)
		halvings = 16; /* nothing flaps so often, and 32 bits suffice */
	most = (uint64_t)config->reuse << halvings;
	most += (uint64_t)((unsigned __int128)most * rest_ns / (2 * half_life_ns - rest_ns));
	/* What was rounded. */
	while (halvings < 16 && decayed((uint32_t)most, max_ns, half_life_ns) >= config->reuse)
		most -= UINT64_C(1) << halvings;
	return most < UINT32_MAX / 2 ? (uint32_t)most : UINT32_MAX / 2;
}

uint32_t damping_penalty(const struct config_damping *config, const struct damping *damping,
			 uint64_t now_ns)
{
	if (config->suppress == 0 || damping->penalty == 0)
		return 0;
	return decayed(damping->penalty, now_ns - damping->at_ns, config->half_life_ps / 1000);
}

void damping_down(const struct config_damping *config, struct damping *damping, uint64_t now_ns)
{
	uint32_t penalty = damping_penalty(config, damping, now_ns) + DAMPING_PENALTY;

	if (config->suppress == 0)
		return;
	damping->held = damping->held || penalty > config->suppress;
	damping->penalty = penalty < penalty_max(config) ? penalty : penalty_max(config);
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
