/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * watch - shows the workers' counters to faults.c, ten times a second while a class is lossless.
 */
#include "control/faults.h"
#include "control/state.h"
#include "dataplane/io/ethdev.h"

static void look_at(struct daemon *daemon, struct fault_place *place, uint64_t now_ns)
{
	struct fault_counters now;
	struct queue_rare_totals rare;
	struct pfc_totals pfc;

	/* How a storm ended is known before what it cost is read. */
	leaf_pfc_totals(daemon->leaf, place->port, place->priority, lcores_now_ps(daemon->lcores),
			&pfc);
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
	look_at_guard(daemon, now_ns);
}
