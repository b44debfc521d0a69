/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classes, ports, VLANs, interfaces and limits; routing is in apply_routes.c, the buffer in
 * apply_buffer.c.
 */
#include "control/apply.h"

#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "control/apply_internal.h"
#include "dataplane/egress.h"

/* IEEE 802.1Q-2018 table 8-6. */
#define FDB_AGE_PS (300 * PS_PER_S)

/* The kernel takes frames as they come; the rate only has to be one. */
#define CPU_RATE_BPS     RATE_BPS_MAX
#define CPU_RUN_AHEAD_PS PS_PER_MS

void *apply_allocate(size_t count, size_t size)
{
	size_t bytes = (count * size + 63) / 64 * 64;
	void *memory = aligned_alloc(64, bytes);

	if (memory != NULL)
		memset(memory, 0, bytes);
	return memory;
}

static void fill_classes(struct snapshot *snapshot, const struct config *config)
{
	uint8_t priority_default = config->classes[config->default_class].priority;

	memset(snapshot->by_dscp, priority_default, sizeof(snapshot->by_dscp));
	memset(snapshot->by_pcp, priority_default, sizeof(snapshot->by_pcp));
	snapshot->priority_default = priority_default;
	snapshot->priority_control = priority_default;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		snapshot->class[p].quantum_bytes = SCHEDULE_QUANTUM_BYTES;
		snapshot->class[p].balance = apply_balance_mode(config, CONFIG_BALANCE_DEFAULT);
	}
	for (uint32_t i = 0; i < config->class_count; i++) {
		const struct config_class *class = &config->classes[i];
		uint8_t priority = class->priority;

		snapshot->class[priority] = (struct class_table){
			.lossless = class->lossless,
			.strict = class->strict,
			.balance = apply_balance_mode(config, class->balance),
			.quantum_bytes = class->strict
						 ? 0
						 : class->weight * (uint32_t)SCHEDULE_QUANTUM_BYTES,
			.max_rate_bps = class->max_rate_bps,
			.max_rate_ppm = class->max_rate_ppm,
		};
		for (uint32_t dscp = 0; dscp < 64; dscp++) {
			if ((class->dscp >> dscp & 1) != 0)
				snapshot->by_dscp[dscp] = priority;
		}
		for (uint32_t pcp = 0; pcp < 8; pcp++) {
			if ((class->pcp >> pcp & 1) != 0)
				snapshot->by_pcp[pcp] = priority;
		}
		if (class->lossless)
			snapshot->lossless_mask |= (uint8_t)(1u << priority);
		else if (priority > snapshot->priority_control)
			snapshot->priority_control = priority;
		if (class->strict)
			snapshot->strict_mask |= (uint8_t)(1u << priority);
	}
}

static void fill_ports(struct snapshot *snapshot, const struct config *config,
		       const struct apply_state *state)
{
	static const uint8_t trust_of[] = {
		[CONFIG_TRUST_DSCP] = PORT_TRUST_DSCP,
		[CONFIG_TRUST_PCP] = PORT_TRUST_PCP,
		[CONFIG_TRUST_NONE] = PORT_TRUST_NONE,
	};
	static const uint8_t pfc_of[] = {
		[CONFIG_PFC_AUTO] = PORT_PFC_SEND | PORT_PFC_HONOUR,
		[CONFIG_PFC_SOFTWARE] = PORT_PFC_SEND | PORT_PFC_HONOUR,
		/* Should frames come nevertheless, it does no harm to obey them, too. */
		[CONFIG_PFC_HARDWARE] = PORT_PFC_SEND | PORT_PFC_HONOUR,
		[CONFIG_PFC_HONOUR_ONLY] = PORT_PFC_HONOUR,
		[CONFIG_PFC_OFF] = 0,
	};
	uint16_t interface = 0;

	for (uint16_t i = 0; i < config->port_count; i++) {
		const struct config_port *port = &config->ports[i];
		const struct apply_port *device = &state->port[i];
		struct port_table *table = &snapshot->port[i];

		table->trust = trust_of[port->trust];
		table->interface = INTERFACE_NONE;
		if (port->address_count != 0) {
			table->mode = PORT_MODE_ROUTED;
			table->interface = interface++;
		} else if (port->access_vlan != 0 || port->trunk) {
			table->mode = PORT_MODE_BRIDGED;
			table->native_vlan = port->trunk ? port->native_vlan : port->access_vlan;
		} else {
			table->mode = PORT_MODE_OFF;
		}
		table->pfc = pfc_of[port->pfc];
		table->link_up = device->link_up;
		table->frame_bytes_max = port->mtu_bytes + FRAME_HEADER_BYTES;
		table->rate_bps = port->speed_bps != 0 ? port->speed_bps : device->rate_bps;
		table->run_ahead_ps = device->run_ahead_ps;
		table->catch_up_ps = device->catch_up_ps;
	}
	snapshot->port[config->port_count] = (struct port_table){
		.mode = PORT_MODE_CPU,
		.trust = PORT_TRUST_DSCP,
		.interface = INTERFACE_NONE,
		.link_up = true,
		.frame_bytes_max = FRAME_BYTES_MAX,
		.rate_bps = CPU_RATE_BPS,
		.run_ahead_ps = CPU_RUN_AHEAD_PS,
	};
}

static bool port_is_tagged(const struct config_port *port, uint16_t vlan)
{
	return (port->trunk_vlans[vlan / 64] >> vlan % 64 & 1) != 0;
}

static bool port_is_member(const struct config_port *port, uint16_t vlan)
{
	if (port->address_count != 0)
		return false;
	if (!port->trunk)
		return port->access_vlan == vlan;
	return port->native_vlan == vlan || port_is_tagged(port, vlan);
}

/* Every VLAN that is listed or that a port is in gets a table; 0 is the one without members. */
static int fill_vlans(struct snapshot *snapshot, const struct config *config)
{
	uint16_t count = 1;

	for (uint16_t i = 0; i < config->vlan_count; i++)
		snapshot->vlan_index[config->vlans[i].id] = 1;
	for (uint16_t vlan = 1; vlan <= CONFIG_VLAN_MAX; vlan++) {
		bool used = snapshot->vlan_index[vlan] != 0;

		for (uint16_t i = 0; i < config->port_count && !used; i++)
			used = port_is_member(&config->ports[i], vlan);
		if (used)
			snapshot->vlan_index[vlan] = count++;
	}
	snapshot->vlan = apply_allocate(count, sizeof(*snapshot->vlan));
	if (snapshot->vlan == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < count; i++)
		snapshot->vlan[i].interface = INTERFACE_NONE;
	for (uint16_t vlan = 1; vlan <= CONFIG_VLAN_MAX; vlan++) {
		struct vlan_table *table = &snapshot->vlan[snapshot->vlan_index[vlan]];

		if (snapshot->vlan_index[vlan] == 0)
			continue;
		for (uint16_t i = 0; i < config->port_count; i++) {
			const struct config_port *port = &config->ports[i];

			if (!port_is_member(port, vlan))
				continue;
			port_bits_set(&table->members, i);
			if (port_is_tagged(port, vlan))
				port_bits_set(&table->tagged, i);
		}
	}
	return 0;
}

static int fill_interfaces(struct snapshot *snapshot, const struct config *config)
{
	uint16_t count = apply_interface_count(config);

	snapshot->interface = apply_allocate(count + 1u, sizeof(*snapshot->interface));
	if (snapshot->interface == NULL)
		return -ENOMEM;
	snapshot->interface_count = count;
	for (uint16_t i = 0; i < count; i++) {
		struct apply_interface source;

		apply_interface(config, i, &source);
		snapshot->interface[i] = (struct interface){
			.port = source.port,
			.vlan = source.vlan,
			.mtu_bytes = source.mtu_bytes,
		};
		if (source.port == PORT_NONE)
			snapshot->vlan[snapshot->vlan_index[source.vlan]].interface = i;
	}
	return 0;
}

static struct watchdog_table watchdog_of(const struct config_watchdog *watchdog)
{
	static const uint8_t action_of[] = {
		[CONFIG_WATCHDOG_ALERT] = WATCHDOG_ALERT,
		[CONFIG_WATCHDOG_DROP] = WATCHDOG_DROP,
		[CONFIG_WATCHDOG_FORWARD] = WATCHDOG_FORWARD,
		[CONFIG_WATCHDOG_OFF] = WATCHDOG_OFF,
	};

	return (struct watchdog_table){
		.action = action_of[watchdog->action],
		.detect_ps = watchdog->detect_ps,
		.restore_ps = watchdog->restore_ps,
		.poll_ps = watchdog->poll_ps,
	};
}

struct snapshot *apply_snapshot(const struct config *config, const struct apply_state *state,
				struct fib *fib, bool fib_filled)
{
	struct snapshot *snapshot = apply_allocate(1, sizeof(*snapshot));
	int rc = -ENOMEM;

	if (snapshot == NULL)
		goto err;
	snapshot->port_count = config->port_count;
	snapshot->fdb_age_ps = FDB_AGE_PS;
	snapshot->hash_seed = config->balance.seed_auto ? state->hash_seed : config->balance.seed;
	snapshot->watchdog = watchdog_of(&config->watchdog);
	snapshot->fib[0] = fib;
	memcpy(snapshot->router_mac, config->leaf.router_mac, sizeof(snapshot->router_mac));
	snapshot->port = apply_allocate(config->port_count + 1u, sizeof(*snapshot->port));
	if (snapshot->port == NULL)
		goto err;
	fill_classes(snapshot, config);
	fill_ports(snapshot, config, state);
	rc = apply_buffer(snapshot, config, state);
	if (rc == 0)
		rc = fill_vlans(snapshot, config);
	if (rc == 0)
		rc = fill_interfaces(snapshot, config);
	if (rc == 0)
		rc = apply_routing(snapshot, config, state);
	if (rc == 0)
		apply_balance(snapshot, config);
	if (rc == 0 && !fib_filled)
		rc = apply_fib(fib, config);
	if (rc == 0)
		return snapshot;

err:
	snapshot_free(snapshot);
	rte_errno = -rc;
	return NULL;
}

void snapshot_free(const struct snapshot *snapshot)
{
	if (snapshot == NULL)
		return;
	free(snapshot->buffer.pair);
	free(snapshot->buffer.mark);
	free(snapshot->port);
	free(snapshot->vlan);
	free(snapshot->interface);
	free(snapshot->group);
	free(snapshot->adjacency);
	free(snapshot->neighbour);
	free(snapshot->spray.peer);
	free((void *)(uintptr_t)snapshot);
}
