/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch - shows the workers' counters to faults.c, ten times a second while a class is lossless.
 */
#include <string.h>

#include <rte_common.h>

#include "config/buffer_plan.h"
#include "control/faults.h"
#include "control/state.h"
#include "control/telemetry_tables.h"
#include "dataplane/io/ethdev.h"
#include "dataplane/links.h"
#include "dataplane/pfc_frame.h"

/* A worker's clock may be ahead of ours. */
static uint64_t lasts_since_ps(bool paused, uint64_t since_ps, uint64_t now_ps)
{
	return paused && time_after(now_ps, since_ps) ? now_ps - since_ps : 0;
}

static void look_at_pauses(struct daemon *daemon, const struct fault_place *place,
			   const struct pfc_totals *pfc, uint64_t now_ps, uint64_t now_ns)
{
	const struct fault_pauses now[FAULT_WAYS] = {
		[FAULT_BY_PEER] = {pfc->rx_pauses, pfc->rx_paused_ps,
				   lasts_since_ps(pfc->rx_paused, pfc->rx_last_ps, now_ps)},
		[FAULT_TO_PEER] = {pfc->tx_pauses, pfc->tx_paused_ps,
				   lasts_since_ps(pfc->tx_paused, pfc->tx_last_ps, now_ps)},
	};

	faults_look_pauses(daemon->faults, place, now, daemon->config->telemetry.long_pause_ps,
			   now_ns);
}

static void look_at(struct daemon *daemon, struct fault_place *place, uint64_t now_ns)
{
	struct fault_counters now;
	uint64_t now_ps = lcores_now_ps(daemon->lcores);
	struct queue_rare_totals rare;
	struct pfc_totals pfc;

	/* How a storm ended is known before what it cost is read. */
	leaf_pfc_totals(daemon->leaf, place->port, place->priority, now_ps, &pfc);
	leaf_queue_rare_totals(daemon->leaf, place->port, place->priority, &rare);
	now = (struct fault_counters){
		.storms = pfc.storms,
		.restored = pfc.restored,
		.watchdog_packets = rare.watchdog_packets,
		.watchdog_bytes = rare.watchdog_bytes,
		.headroom_packets = rare.headroom_packets,
		.headroom_bytes = rare.headroom_bytes,
	};
	faults_look(daemon->faults, place, &now, &daemon->config->watchdog, now_ns);
	look_at_pauses(daemon, place, &pfc, now_ps, now_ns);
}

static void look_at_guard(struct daemon *daemon, uint64_t now_ns)
{
	const struct buffer_table *table = &daemon->snapshot->buffer;
	struct buffer_pool_totals pool;
	struct fault_guard now;

	leaf_buffer_pool_totals(daemon->leaf, daemon->snapshot, &pool);
	now = (struct fault_guard){
		.guarded = pool.guarded,
		.guards = pool.guards,
		.packets_max = table->packets_max,
		.guard_packets = table->guard_packets,
		.packets = leaf_drops(daemon->leaf, DROP_GUARD),
	};
	faults_look_guard(daemon->faults, &now, now_ns);
}

/* Until a port's receive ring is full at line rate, or its peer's pause over that was not refreshed. */
static uint64_t lasts_ps(const struct daemon *daemon, uint16_t port)
{
	const struct port_io *io = daemon->port[port].io;
	struct wire_rate rate = wire_rate_of(daemon->snapshot->port[port].rate_bps);
	uint64_t pause_ps = pfc_quanta_ps(UINT16_MAX, rate.rate_bps) / 2;
	uint64_t frame_ps = wire_rate_time_ps(
		&rate, buffer_plan_port_mean_bytes(daemon->config, &daemon->config->ports[port]) +
			       WIRE_OVERHEAD_BYTES);

	return io->rx_ring_frames == 0 ? pause_ps
				       : time_min(pause_ps, io->rx_ring_frames * frame_ps);
}

static void look_at_stalls(struct daemon *daemon, uint64_t now_ns)
{
	const struct snapshot *snapshot = daemon->snapshot;
	uint64_t limit_ps[WORKER_COUNT_MAX], port_ps;

	memset(limit_ps, 0xff, sizeof(limit_ps));
	for (uint16_t port = 0; port < daemon->port_count; port++) {
		if (snapshot->lossless_mask == 0 || !snapshot->port[port].link_up)
			continue;
		port_ps = lasts_ps(daemon, port);
		for (uint16_t queue = 0; queue < daemon->port[port].io->rx_queues; queue++) {
			uint16_t w = leaf_poller(daemon->leaf, port, queue);

			limit_ps[w] = RTE_MIN(limit_ps[w], port_ps);
		}
	}
	for (uint16_t w = 0; w < leaf_worker_count(daemon->leaf); w++) {
		struct lcore_stats stats;
		struct fault_stalls now;

		lcores_set_stall(daemon->lcores, w, limit_ps[w]);
		lcores_stats(daemon->lcores, w, &stats);
		now = (struct fault_stalls){stats.stalls, stats.stall_ps, limit_ps[w]};
		faults_look_stalls(daemon->faults, w, &now, now_ns);
	}
}

void watch_devices(struct daemon *daemon)
{
	for (uint16_t port = 0; port < daemon->port_count; port++) {
		struct port_io *io = daemon->port[port].io;
		const struct flow_control *control = ethdev_flow_control(io);
		struct port_io_stats device;
		struct port_totals totals;

		/* A device that obeys shall keep them. */
		if (control == NULL || control->hardware)
			continue;
		io->ops->stats(io, &device);
		leaf_port_totals(daemon->leaf, port, &totals);
		faults_look_device(daemon->faults, port, daemon->config->ports[port].name,
				   device.rx_device_pauses, totals.consumed);
	}
}

static void look_at_wire(struct daemon *daemon, uint16_t port)
{
	struct fault_wire now = {.stalled = leaf_link_stalled(daemon->leaf, port)};
	struct port_totals totals;

	leaf_port_totals(daemon->leaf, port, &totals);
	now.stalls = totals.tx_stalls;
	faults_look_wire(daemon->faults, port, daemon->config->ports[port].name, &now);
}

void watch_look(struct daemon *daemon, uint64_t now_ns)
{
	const char *class_name[PRIORITY_COUNT] = {NULL};

	daemon->look_due_ns =
		daemon->snapshot->lossless_mask != 0 ? now_ns + FAULTS_LOOK_NS : now_ns + TICK_NS;
	for (uint32_t i = 0; i < daemon->config->class_count; i++)
		class_name[daemon->config->classes[i].priority] = daemon->config->classes[i].name;
	for (uint16_t port = 0; port < daemon->port_count; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct fault_place place = {port, p, daemon->config->ports[port].name,
						    class_name[p]};

			look_at(daemon, &place, now_ns);
		}
	for (uint16_t port = 0; port < daemon->port_count; port++)
		look_at_wire(daemon, port);
	ports_release_damped(daemon);
	look_at_guard(daemon, now_ns);
	look_at_stalls(daemon, now_ns);
}

static void clear_peaks(struct daemon *daemon, enum peak_kind kind)
{
	leaf_clear_peaks(daemon->leaf, kind);
	lcores_wake_all(daemon->lcores);
}

void watch_clear_peaks(struct daemon *daemon, const char *name, FILE *reply)
{
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++) {
		if (strcmp(name, telemetry_peak_names[kind]) != 0)
			continue;
		clear_peaks(daemon, (enum peak_kind)kind);
		(void)fprintf(reply, "ok %s peaks start again\n", name);
		return;
	}
	(void)fprintf(reply, "error there are user, periodic and persistent peaks\n");
}

void watch_peaks(struct daemon *daemon, uint64_t now_ns)
{
	if (now_ns < daemon->peaks_due_ns)
		return;
	daemon->peaks_due_ns = now_ns + PEAKS_PERIOD_NS;
	clear_peaks(daemon, PEAK_PERIODIC);
}
