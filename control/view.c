/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view - what a daemon shows to its readers (daemon.h).
 */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <rte_mempool.h>

#include "control/state.h"
#include "dataplane/handover.h"
#include "dataplane/links.h"

void daemon_lock(struct daemon *daemon)
{
	(void)pthread_mutex_lock(&daemon->lock);
}

void daemon_unlock(struct daemon *daemon)
{
	(void)pthread_mutex_unlock(&daemon->lock);
}

const struct config *daemon_config(const struct daemon *daemon)
{
	return daemon->config;
}

const struct snapshot *daemon_snapshot(const struct daemon *daemon)
{
	return daemon->snapshot;
}

struct leaf *daemon_leaf(const struct daemon *daemon)
{
	return daemon->leaf;
}

uint64_t daemon_now_ps(const struct daemon *daemon)
{
	return lcores_now_ps(daemon->lcores);
}

struct events *daemon_events(struct daemon *daemon)
{
	return daemon->events;
}

uint64_t monotonic_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * S_NS + (uint64_t)now.tv_nsec;
}

uint64_t realtime_ns(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * S_NS + (uint64_t)now.tv_nsec;
}

void daemon_info(const struct daemon *daemon, struct daemon_info *info)
{
	*info = (struct daemon_info){
		.version = ROCELEAF_VERSION,
		.pid = getpid(),
		.started_ns = daemon->started_ns,
		.uptime_ns = monotonic_ns() - daemon->started_monotonic_ns,
		.reloads = daemon->reloads,
		.reloads_refused = daemon->reloads_refused,
		.reload_ns = daemon->reload_ns,
		.hugepages = daemon->hugepages,
		.idle_adaptive = daemon->config->leaf.idle == CONFIG_IDLE_ADAPTIVE,
		.buffer_count = daemon->memory.buffer_count,
		.buffer_free = rte_mempool_avail_count(daemon->pool),
		.buffer_bytes = daemon->memory.buffer_bytes,
		.data_bytes = daemon->memory.data_bytes,
	};
}

int daemon_port(const struct daemon *daemon, uint16_t port, struct daemon_port *out)
{
	const struct port_state *state;

	if (port >= daemon->port_count)
		return -ERANGE;
	state = &daemon->port[port];
	*out = (struct daemon_port){
		.driver = state->io->ops->name,
		.link_up = state->link_up,
		.damped = state->damped,
		.stalled = leaf_link_stalled(daemon->leaf, port),
		.gone = state->gone,
		.rate_bps = daemon->snapshot->port[port].rate_bps,
		.device_bps = state->device.speed_bps,
		.link_changes = state->link_changes,
		.link_changed_ns = state->link_changed_ns,
		.owner = state->owner,
		.rx_queues = state->io->rx_queues,
	};
	memcpy(out->mac, state->io->mac, sizeof(out->mac));
	state->io->ops->stats(state->io, &out->stats);
	return 0;
}

uint16_t daemon_worker_count(const struct daemon *daemon)
{
	return leaf_worker_count(daemon->leaf);
}

int daemon_worker(const struct daemon *daemon, uint16_t worker, struct daemon_worker *out)
{
	struct worker_activity activity;
	struct lcore_stats stats;

	if (worker >= leaf_worker_count(daemon->leaf))
		return -ERANGE;
	worker_activity(leaf_worker(daemon->leaf, worker), &activity);
	lcores_stats(daemon->lcores, worker, &stats);
	*out = (struct daemon_worker){
		.cpu = daemon->eal->worker_cpu[worker],
		.polls = activity.polls,
		.rx_packets = activity.rx_packets,
		.tx_packets = activity.tx_packets,
		.busy_ns = stats.busy_ps / PS_PER_NS,
		.idle_ns = stats.idle_ps / PS_PER_NS,
		.sleep_ns = stats.sleep_ps / PS_PER_NS,
		.sleeps = stats.sleeps,
		.ring_packets_max = handover_ring_packets_max(daemon->leaf, worker),
		.poll_ns_max = stats.poll_ps_max / PS_PER_NS,
		.stalls = stats.stalls,
		.stall_ns = stats.stall_ps / PS_PER_NS,
	};
	memcpy(out->reactions, stats.reactions, sizeof(out->reactions));
	memcpy(out->poll_times, stats.polls, sizeof(out->poll_times));
	return 0;
}

uint16_t daemon_interface_count(const struct daemon *daemon)
{
	return daemon->interfaces.count;
}

int daemon_interface(const struct daemon *daemon, uint16_t interface, struct daemon_interface *out)
{
	const struct tap *tap;

	if (interface >= daemon->interfaces.count)
		return -ERANGE;
	tap = daemon->interfaces.tap[interface];
	*out = (struct daemon_interface){
		.port = tap->port,
		.vlan = tap->vlan,
		.ifindex = tap->ifindex,
		.mtu_bytes = tap->mtu_bytes,
		.carrier = tap->carrier,
		.punt_packets = counter_get(&tap->punt_packets),
		.punt_bytes = counter_get(&tap->punt_bytes),
		.punt_errors = counter_get(&tap->punt_errors),
		.kernel_packets = counter_get(&tap->kernel_packets),
		.kernel_bytes = counter_get(&tap->kernel_bytes),
		.kernel_drops = counter_get(&tap->kernel_drops),
	};
	memcpy(out->name, tap->name, sizeof(out->name));
	return 0;
}

/* The kernel has our static neighbours as well, as permanent ones. */
static bool is_static(const struct config *config, const struct config_ip *address)
{
	for (uint32_t i = 0; i < config->neighbour_count; i++)
		if (config->neighbours[i].address.family == address->family &&
		    memcmp(config->neighbours[i].address.bytes, address->bytes,
			   sizeof(address->bytes)) == 0)
			return true;
	return false;
}

uint32_t daemon_neighbours(const struct daemon *daemon, struct daemon_neighbour *out, uint32_t max)
{
	const struct config *config = daemon->config;
	uint32_t known = neighbours_count(daemon->neighbours), count = 0;

	for (uint32_t i = 0; i < config->neighbour_count; i++, count++) {
		if (count >= max)
			continue;
		out[count] = (struct daemon_neighbour){
			.address = config->neighbours[i].address,
			.interface = INTERFACE_NONE,
			.port = config->neighbours[i].port,
			.state = DAEMON_NEIGHBOUR_STATIC,
		};
		memcpy(out[count].mac, config->neighbours[i].mac, sizeof(out[count].mac));
	}
	for (uint32_t i = 0; i < known; i++) {
		const struct neighbour_entry *entry = neighbours_entry(daemon->neighbours, i);
		uint16_t interface = interfaces_by_ifindex(&daemon->interfaces, entry->ifindex);
		struct hold_key key = {.ifindex = entry->ifindex, .family = entry->address.family};

		if (interface == INTERFACE_NONE || is_static(config, &entry->address))
			continue;
		if (count++ >= max)
			continue;
		memcpy(key.address, entry->address.bytes, sizeof(key.address));
		out[count - 1] = (struct daemon_neighbour){
			.address = entry->address,
			.interface = interface,
			.port = PORT_NONE,
			.state = entry->resolved ? DAEMON_NEIGHBOUR_RESOLVED
						 : DAEMON_NEIGHBOUR_UNRESOLVED,
			.held = hold_count(daemon->hold, &key),
		};
		memcpy(out[count - 1].mac, entry->mac, sizeof(out[count - 1].mac));
	}
	return count;
}

void daemon_hold(const struct daemon *daemon, struct daemon_hold *out)
{
	struct hold_stats stats;

	hold_stats(daemon->hold, &stats);
	*out = (struct daemon_hold){
		.packets = stats.packets,
		.held = stats.held,
		.released = stats.released,
		.expired = stats.expired,
		.refused = stats.refused,
		.unroutable = daemon->hold_unroutable,
	};
}
