/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * publish - snapshots: built from config, links and neighbours; put in force; freed when quiet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>

#include "control/ports.h"
#include "control/state.h"
#include "dataplane/fib.h"

struct fib *publish_fib(struct daemon *daemon, const struct config *config)
{
	uint32_t routes = apply_routes_max(config);
	struct fib *fib = NULL;

	/* A flat table is 64 MB, twice during a reload: where hugepages say that memory is no issue. */
	if (daemon->hugepages)
		fib = fib_create(FIB_DIR24_8, routes);
	return fib != NULL ? fib : fib_create(FIB_COMPACT, routes);
}

int publish_check(const struct daemon *daemon, const struct config *config,
		  struct config_errors *errors)
{
	struct apply_port *ports = calloc(daemon->port_count, sizeof(*ports));
	struct apply_state state = {.port = ports, .packets_max = daemon->memory.buffer_count};
	struct buffer_plan plan = {0};
	int rc = -ENOMEM;

	if (ports != NULL) {
		ports_apply(daemon, config, ports);
		ports_describe_all(config, &state);
		rc = apply_plan(config, &state, &plan, errors);
		buffer_plan_free(&plan);
	}
	if (rc == -ENOMEM)
		config_fail(config, errors, (struct config_mark){0}, "%s", strerror(ENOMEM));
	free(ports);
	return rc == 0 ? 0 : -EINVAL;
}

/*
 * A device came up faster than the buffer suffices for: pace its port as before rather than leave
 * links and neighbours as they were. Told once.
 */
static void keep_rates_if_needed(struct daemon *daemon, const struct config *config,
				 struct apply_port *ports)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	bool fits = errors == NULL || publish_check(daemon, config, errors) == 0;

	for (uint16_t i = 0; i < daemon->port_count && !fits; i++) {
		ports[i].rate_bps = daemon->snapshot->port[i].rate_bps;
		ports[i].run_ahead_ps = daemon->snapshot->port[i].run_ahead_ps;
	}
	if (!fits && !daemon->rates_kept)
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "ports keep their old speeds: %s", errors->error[0].text);
	daemon->rates_kept = !fits;
	free(errors);
}

struct snapshot *publish_build(struct daemon *daemon, const struct config *config,
			       const struct interfaces *interfaces, struct fib *fib, bool filled)
{
	struct apply_port *ports = calloc(daemon->port_count, sizeof(*ports));
	uint32_t known = neighbours_count(daemon->neighbours);
	struct apply_neighbour *list = calloc(known + 1, sizeof(*list));
	struct apply_state state = {
		.port = ports,
		.neighbour = list,
		.packets_max = daemon->memory.buffer_count,
		.hash_seed = daemon->hash_seed,
		.spray_epoch = daemon->started_ns / 1000,
	};
	struct snapshot *snapshot = NULL;

	if (ports == NULL || list == NULL) {
		rte_errno = ENOMEM;
		goto out;
	}
	ports_apply(daemon, config, ports);
	ports_describe_all(config, &state);
	/* Another config has been checked, at the speeds of now. */
	if (daemon->snapshot != NULL && config == daemon->config)
		keep_rates_if_needed(daemon, config, ports);
	for (uint32_t i = 0; i < known; i++) {
		const struct neighbour_entry *entry = neighbours_entry(daemon->neighbours, i);
		uint16_t interface = interfaces_by_ifindex(interfaces, entry->ifindex);
		struct apply_neighbour *neighbour = &list[state.neighbour_count];

		if (!entry->resolved || interface == INTERFACE_NONE)
			continue;
		neighbour->address = entry->address;
		neighbour->interface = interface;
		memcpy(neighbour->mac, entry->mac, sizeof(neighbour->mac));
		state.neighbour_count++;
	}
	snapshot = apply_snapshot(config, &state, fib, filled);
	if (snapshot != NULL)
		snapshot->generation = ++daemon->generation;
out:
	free(ports);
	free(list);
	return snapshot;
}

bool publish_retire(struct daemon *daemon)
{
	uint32_t done = 0;

	/* In order of their tokens: the first that isn't quiet ends it. */
	while (done < daemon->retired_count &&
	       leaf_quiet(daemon->leaf, daemon->retired[done].token)) {
		snapshot_free(daemon->retired[done].snapshot);
		fib_free(daemon->retired[done].fib);
		done++;
	}
	daemon->retired_count -= done;
	memmove(daemon->retired, daemon->retired + done,
		daemon->retired_count * sizeof(daemon->retired[0]));
	return daemon->retired_count > 0;
}

/* Say which ports have left the next hops of routes, or come back. */
static void tell_uplinks(struct daemon *daemon)
{
	bool *serves = calloc(daemon->port_count, sizeof(*serves));

	if (serves == NULL)
		return;
	apply_uplinks(daemon->config, daemon->snapshot, serves);
	for (uint16_t i = 0; i < daemon->port_count; i++) {
		if (serves[i] && !daemon->port[i].serves)
			events_add(daemon->events, EVENT_UPLINK_IN, i,
				   "port %s carries its share of routes with several next hops",
				   daemon->config->ports[i].name);
		if (!serves[i] && daemon->port[i].serves)
			events_add(daemon->events, EVENT_UPLINK_OUT, i,
				   "port %s left the routes with several next hops: %s; the others "
				   "carry its share",
				   daemon->config->ports[i].name,
				   daemon->port[i].link_up ? "its neighbour is gone, or the routes"
							   : "its link is down");
		daemon->port[i].serves = serves[i];
	}
	free(serves);
}

void publish_commit(struct daemon *daemon, struct snapshot *snapshot, struct fib *fib_before)
{
	uint64_t token;
	const struct snapshot *before = leaf_publish(daemon->leaf, snapshot, &token);

	daemon->snapshot = snapshot;
	if (before != NULL)
		daemon->retired[daemon->retired_count++] =
			(struct retired){before, fib_before, token};
	if (daemon->workers_run)
		lcores_wake_all(daemon->lcores);
	tell_uplinks(daemon);
}

void publish_soon(struct daemon *daemon, uint64_t now_ns)
{
	if (daemon->publish_due_ns == UINT64_MAX)
		daemon->publish_due_ns = now_ns + PUBLISH_DELAY_NS;
}

void publish_run(struct daemon *daemon, uint64_t now_ns)
{
	struct snapshot *snapshot;

	if (now_ns < daemon->publish_due_ns)
		return;
	if (daemon->retired_count == RETIRED_MAX) {
		daemon->publish_due_ns = now_ns + PUBLISH_DELAY_NS;
		return;
	}
	daemon->publish_due_ns = UINT64_MAX;
	snapshot = publish_build(daemon, daemon->config, &daemon->interfaces, daemon->fib, true);
	if (snapshot == NULL) {
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "changes of links and neighbours wait: %s", rte_strerror(rte_errno));
		daemon->publish_due_ns = now_ns + S_NS;
		return;
	}
	publish_commit(daemon, snapshot, NULL);
	punt_release(daemon);
}

void publish_end(struct daemon *daemon)
{
	for (uint32_t i = 0; i < daemon->retired_count; i++) {
		snapshot_free(daemon->retired[i].snapshot);
		fib_free(daemon->retired[i].fib);
	}
	daemon->retired_count = 0;
	if (daemon->snapshot != NULL)
		snapshot_free(daemon->snapshot);
	daemon->snapshot = NULL;
	fib_free(daemon->fib);
	daemon->fib = NULL;
}
