/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Load balancing: modes of classes and routes, what is hashed, and the gap of flowlets.
 */
#include "control/apply_internal.h"

/* Of a queue that ECN doesn't bound: what hardware takes by default (SONiC, Local_ARS_HLD: idle time). */
#define GAP_PS_UNBOUND (256 * PS_PER_US)

uint8_t apply_balance_mode(const struct config *config, enum config_balance_mode mode)
{
	static const uint8_t mode_of[] = {
		[CONFIG_BALANCE_DEFAULT] = BALANCE_ECMP,
		[CONFIG_BALANCE_ECMP] = BALANCE_ECMP,
		[CONFIG_BALANCE_FLOWLET] = BALANCE_FLOWLET,
		[CONFIG_BALANCE_ADAPTIVE] = BALANCE_ADAPTIVE,
		[CONFIG_BALANCE_SPRAY] = BALANCE_SPRAY,
		[CONFIG_BALANCE_SPRAY_UNORDERED] = BALANCE_SPRAY_UNORDERED,
		[CONFIG_BALANCE_STATIC] = BALANCE_STATIC,
	};

	return mode_of[mode != CONFIG_BALANCE_DEFAULT ? mode : config->balance.mode];
}

static bool by_5tuple(const struct config *config)
{
	return config->balance.hash_count == 1;
}

bool apply_balance_is_plain(const struct snapshot *snapshot, const struct config *config,
			    const struct config_route *route)
{
	if (by_5tuple(config))
		return false;
	if (route->balance != CONFIG_BALANCE_DEFAULT)
		return route->balance == CONFIG_BALANCE_ECMP;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if (snapshot->class[p].balance != BALANCE_ECMP)
			return false;
	return true;
}

/* Classes whose flows may form flowlets on some route; a bit each. */
static uint8_t flowlet_classes(const struct snapshot *snapshot, const struct config *config)
{
	uint8_t classes = 0;

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if (snapshot->class[p].balance == BALANCE_FLOWLET ||
		    snapshot->class[p].balance == BALANCE_ADAPTIVE)
			classes |= (uint8_t)(1u << p);
	for (uint32_t i = 0; i < config->route_count; i++)
		if (config->routes[i].balance == CONFIG_BALANCE_FLOWLET ||
		    config->routes[i].balance == CONFIG_BALANCE_ADAPTIVE)
			classes = UINT8_MAX;
	return classes;
}

/* How long the bytes that a queue lets wait before every packet is marked take to leave. */
static uint64_t queue_delay_ps(const struct snapshot *snapshot, uint16_t port, uint8_t priority)
{
	uint64_t max_bytes = snapshot_mark(snapshot, port, priority)->ecn_max_bytes;
	uint64_t rate_bps = snapshot->port[port].rate_bps;

	if (snapshot_mark(snapshot, port, priority)->ecn_min_bytes == UINT32_MAX || rate_bps == 0)
		return GAP_PS_UNBOUND / APPLY_GAP_HOPS;
	return (uint64_t)(max_bytes * ((unsigned __int128)8 * PS_PER_S) / rate_bps);
}

static uint64_t gap_auto_ps(const struct snapshot *snapshot, const struct config *config)
{
	uint8_t classes = flowlet_classes(snapshot, config);
	uint64_t most_ps = 0;

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		for (uint16_t port = 0; port < snapshot->port_count; port++) {
			uint64_t delay_ps;

			if ((classes >> p & 1) == 0 ||
			    snapshot->port[port].mode != PORT_MODE_ROUTED ||
			    (snapshot->strict_mask >> p & 1) != 0)
				continue;
			delay_ps = queue_delay_ps(snapshot, port, p);
			most_ps = delay_ps > most_ps ? delay_ps : most_ps;
		}
	}
	return most_ps == 0 ? GAP_PS_UNBOUND : APPLY_GAP_HOPS * most_ps;
}

void apply_balance(struct snapshot *snapshot, const struct config *config)
{
	snapshot->balance = (struct balance_table){
		.gap_ps = config->balance.gap_auto ? gap_auto_ps(snapshot, config)
						   : config->balance.gap_ps,
		.flows = config->balance.flows,
		.by_5tuple = by_5tuple(config),
	};
}
