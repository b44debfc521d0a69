/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What may change while the leaf runs, as the schema's rows say by SCHEMA_RELOADABLE.
 */
#include "config/config_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define STAYS "can't change while the leaf runs: restart it, or leave the old value"

struct reload {
	const struct config *old;
	const struct config *new;
	struct config_errors *errors;
};

static void check_leaf(const struct reload *reload)
{
	const struct config_leaf *old = &reload->old->leaf;
	const struct config_leaf *new = &reload->new->leaf;
	const struct {
		const char *key;
		const char *path;
		bool same;
	} keys[] = {
		{"name", "leaf.name", strcmp(old->name, new->name) == 0},
		{"cores", "leaf.cores",
		 old->core_count ==
			 new->core_count &&memcmp(old->cores, new->cores, sizeof(old->cores)) == 0},
		{"workers", "leaf.workers", old->workers == new->workers},
		{"memory", "leaf.memory", old->memory_bytes == new->memory_bytes},
		{"idle", "leaf.idle", old->idle == new->idle},
		{"router_mac", "leaf.router_mac",
		 memcmp(old->router_mac, new->router_mac, sizeof(old->router_mac)) == 0},
		{"runtime_dir", "leaf.runtime_dir",
		 strcmp(old->runtime_dir, new->runtime_dir) == 0},
	};
	size_t i;

	for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (!keys[i].same)
			config_fail(reload->new, reload->errors,
				    config_mark_of(reload->new, "%s", keys[i].path),
				    "leaf.%s " STAYS, keys[i].key);
	}
}

static void check_port(const struct reload *reload, uint32_t index)
{
	const struct config_port *old = &reload->old->ports[index];
	const struct config_port *new = &reload->new->ports[index];

	if (strcmp(old->name, new->name) != 0) {
		config_fail(
			reload->new, reload->errors,
			config_mark_of(reload->new, "ports[%u].name", index),
			"port %u is called %s, was %s: the list of ports and their order " STAYS,
			index, new->name, old->name);
		return;
	}
	if (strcmp(old->device, new->device) != 0)
		config_fail(reload->new, reload->errors, new->device_mark,
			    "device of port %s, %s, was %s: it " STAYS, new->name, new->device,
			    old->device);
	else if (old->driver != new->driver)
		config_fail(reload->new, reload->errors,
			    config_mark_of(reload->new, "ports[%u].driver", index),
			    "driver of port %s " STAYS, new->name);
	if ((old->pfc == CONFIG_PFC_HARDWARE) != (new->pfc == CONFIG_PFC_HARDWARE))
		config_fail(reload->new, reload->errors,
			    config_mark_of(reload->new, "ports[%u].pfc", index),
			    "pfc of port %s, to hardware or from it, " STAYS, new->name);
	if (old->mtu_bytes != new->mtu_bytes)
		config_fail(reload->new, reload->errors,
			    config_mark_of(reload->new, "ports[%u].mtu", index),
			    "mtu of port %s, %u, was %u: it " STAYS, new->name, new->mtu_bytes,
			    old->mtu_bytes);
}

static bool same_listen(const struct config_listen *a, const struct config_listen *b)
{
	return a->port == b->port && a->address.family == b->address.family &&
	       memcmp(a->address.bytes, b->address.bytes, sizeof(a->address.bytes)) == 0;
}

int config_check_reload(const struct config *old, const struct config *new,
			struct config_errors *errors)
{
	struct reload reload = {.old = old, .new = new, .errors = errors};
	uint32_t before = errors->count + errors->dropped;
	uint32_t i;

	check_leaf(&reload);
	if (!same_listen(&old->telemetry.http, &new->telemetry.http))
		config_fail(new, errors, config_mark_of(new, "telemetry.http"),
			    "telemetry.http " STAYS);
	if (old->telemetry.history_ps != new->telemetry.history_ps)
		config_fail(new, errors, config_mark_of(new, "telemetry.history"),
			    "telemetry.history, %" PRIu64 " s, was %" PRIu64 " s: it " STAYS,
			    new->telemetry.history_ps / PS_PER_S,
			    old->telemetry.history_ps / PS_PER_S);
	if (old->telemetry.record_ps != new->telemetry.record_ps)
		config_fail(new, errors, config_mark_of(new, "telemetry.record"),
			    "telemetry.record " STAYS);
	if (old->balance.flows != new->balance.flows)
		config_fail(new, errors, config_mark_of(new, "balance.flows"),
			    "balance.flows, %u, was %u: it " STAYS, new->balance.flows,
			    old->balance.flows);
	if (!config_spray_equal(&old->balance.spray, &new->balance.spray))
		config_fail(new, errors, config_mark_of(new, "balance.spray"),
			    "balance.spray is another one: it " STAYS);
	if (old->port_count != new->port_count)
		config_fail(new, errors, config_mark_of(new, "ports"),
			    "%u ports, were %u: the list of ports " STAYS, new->port_count,
			    old->port_count);
	for (i = 0; i < new->port_count && old->port_count == new->port_count; i++)
		check_port(&reload, i);
	return errors->count + errors->dropped == before ? 0 : -EBUSY;
}
