/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ports - devices: opened by driver, links followed, what is odd about them told.
 */
#include <errno.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

#include <rte_memory.h>

#include "control/memory.h"
#include "control/ports.h"
#include "control/state.h"
#include "dataplane/io/ethdev.h"
#include "dataplane/io/packet_mmap.h"
#include "dataplane/links.h"

#define KERNEL_RUN_AHEAD_PS (100 * PS_PER_US)
#define KERNEL_CATCH_UP_PS  (10 * PS_PER_MS)
#define DEVICE_RUN_AHEAD_PS (10 * PS_PER_US)

#define KERNEL_POLL_PS (100 * PS_PER_US)
#define DEVICE_POLL_PS (10 * PS_PER_US)

#define KERNEL_DELAY_PS  (20 * PS_PER_US)
#define VIRTUAL_DELAY_PS (10 * PS_PER_US)
#define NIC_DELAY_PS     PS_PER_US

/* packet_mmap.h: an RX ring has 4 MiB; a slot has headers of the kernel's beside the frame. */
#define KERNEL_RING_BYTES       (4u << 20)
#define KERNEL_SLOT_EXTRA_BYTES 112u

/* Where neither config nor device know a speed. */
#define RATE_BPS_DEFAULT UINT64_C(10000000000)

/* The same advice at most this often per port. */
#define ADVICE_NS (60 * S_NS)

static uint64_t device_delay_ps(enum config_driver driver)
{
	switch (driver) {
	case CONFIG_DRIVER_KERNEL:
		return KERNEL_DELAY_PS;
	case CONFIG_DRIVER_AF_XDP:
	case CONFIG_DRIVER_VHOST:
	case CONFIG_DRIVER_VDEV:
		return VIRTUAL_DELAY_PS;
	case CONFIG_DRIVER_VFIO:
	case CONFIG_DRIVER_AUTO:
		break;
	}
	return NIC_DELAY_PS;
}

void ports_describe(const struct config_port *port, const struct port_io_link *device,
		    struct apply_port *out)
{
	bool kernel = port->driver == CONFIG_DRIVER_KERNEL;
	bool known = device != NULL && device->speed_bps >= RATE_BPS_MIN &&
		     device->speed_bps <= RATE_BPS_MAX;
	struct wire_rate rate = wire_rate_of(port->speed_bps != 0 ? port->speed_bps
					     : known              ? device->speed_bps
								  : RATE_BPS_DEFAULT);
	uint64_t frames_ps = wire_rate_time_ps(
		&rate, 2 * (port->mtu_bytes + FRAME_HEADER_BYTES + WIRE_OVERHEAD_BYTES));

	*out = (struct apply_port){
		.rate_bps = rate.rate_bps,
		.run_ahead_ps = (kernel ? KERNEL_RUN_AHEAD_PS : DEVICE_RUN_AHEAD_PS) + frames_ps,
		.catch_up_ps = kernel ? KERNEL_CATCH_UP_PS : 0,
		.nic_delay_ps = device_delay_ps(port->driver),
	};
}

static uint8_t lossless_mask(const struct config *config)
{
	uint8_t mask = 0;

	for (uint32_t i = 0; i < config->class_count; i++)
		if (config->classes[i].lossless)
			mask |= (uint8_t)(1u << config->classes[i].priority);
	return mask;
}

static enum flow_control_wish wish_of(const struct config_port *port)
{
	switch (port->pfc) {
	case CONFIG_PFC_AUTO:
		return FLOW_CONTROL_AUTO;
	case CONFIG_PFC_HARDWARE:
		return FLOW_CONTROL_HARDWARE;
	case CONFIG_PFC_SOFTWARE:
	case CONFIG_PFC_HONOUR_ONLY:
	case CONFIG_PFC_OFF:
		break;
	}
	return FLOW_CONTROL_SOFTWARE;
}

/* To receive, one to send, and one for each priority that the device may obey pauses of. */
static uint32_t device_rings(const struct config *config, const struct config_port *port)
{
	uint32_t rings = ports_rx_queues_max(config, port) + 1u;

	if (wish_of(port) != FLOW_CONTROL_SOFTWARE && port->driver == CONFIG_DRIVER_VFIO)
		rings += (uint32_t)__builtin_popcount(lossless_mask(config));
	return rings;
}

void ports_describe_all(const struct config *config, struct apply_state *state)
{
	/* Control's thread has a cache, too. */
	const uint32_t threads = config->leaf.workers + 1u;

	state->poll_ps = DEVICE_POLL_PS;
	state->packets_held = threads * (MEMORY_CACHE_BUFFERS * 3 / 2 + BUFFER_BURST_PACKETS);
	for (uint16_t i = 0; i < config->port_count; i++) {
		if (config->ports[i].driver == CONFIG_DRIVER_KERNEL)
			state->poll_ps = KERNEL_POLL_PS;
		else
			state->packets_held +=
				device_rings(config, &config->ports[i]) * PORTS_RING_DESCRIPTORS;
	}
}

uint32_t ports_ring_frames(const struct config_port *port)
{
	return port->driver == CONFIG_DRIVER_KERNEL
		       ? KERNEL_RING_BYTES / (port->mtu_bytes + KERNEL_SLOT_EXTRA_BYTES)
		       : PORTS_RING_DESCRIPTORS;
}

void ports_apply(const struct daemon *daemon, const struct config *config, struct apply_port *out)
{
	for (uint16_t i = 0; i < daemon->port_count; i++) {
		ports_describe(&config->ports[i], &daemon->port[i].device, &out[i]);
		out[i].link_up = daemon->port[i].link_up;
	}
}

/* Which way is in force, and why. */
static void tell_flow_control(struct daemon *daemon, uint16_t index)
{
	const struct config_port *port = &daemon->config->ports[index];
	const struct flow_control *control = ethdev_flow_control(daemon->port[index].io);
	const char *why = control != NULL ? control->why : "the kernel hands every frame over";
	enum event_type type = EVENT_FLOW_CONTROL;
	const char *more = "";

	if (port->pfc == CONFIG_PFC_OFF) {
		events_add(daemon->events, type, index, "port %s: pfc: off, as configured",
			   port->name);
		return;
	}
	if (control != NULL && control->doubtful) {
		type = EVENT_WARNING;
		more = "; if its peer's pauses don't arrive, have the device hand MAC control frames "
		       "over, by an option of its driver";
	}
	events_add(daemon->events, type, index, "port %s: pfc: %s: %s%s", port->name,
		   port->pfc == CONFIG_PFC_HONOUR_ONLY    ? "honour-only"
		   : control != NULL && control->hardware ? "hardware"
							  : "software",
		   why, more);
}

/* With several workers: who receives from a device. */
static void tell_queues(struct daemon *daemon, uint16_t index)
{
	uint16_t workers = daemon->config->leaf.workers, queues = daemon->port[index].io->rx_queues;
	const char *name = daemon->config->ports[index].name;

	if (workers == 1)
		return;
	if (queues > 1)
		events_add(daemon->events, EVENT_RX_QUEUES, index,
			   "port %s: %u receive queues, one for each of %u of %u workers", name,
			   queues, queues, workers);
	else
		events_add(
			daemon->events, EVENT_RX_QUEUES, index,
			"port %s: one receive queue, of one worker: its device doesn't spread by "
			"RSS",
			name);
}

void ports_follow_classes(struct daemon *daemon)
{
	uint8_t mask = lossless_mask(daemon->config);

	for (uint16_t i = 0; i < daemon->port_count; i++) {
		const struct config_port *port = &daemon->config->ports[i];
		struct port_io *io = daemon->port[i].io;

		if (ethdev_set_lossless(io, wish_of(port) == FLOW_CONTROL_SOFTWARE ? 0 : mask) != 0)
			events_add(daemon->events, EVENT_WARNING, i, "port %s: pfc: hardware: %s",
				   port->name, ethdev_flow_control(io)->why);
	}
}

static int open_kernel(const struct daemon *daemon, uint16_t index, struct port_io **io,
		       struct io_error *error)
{
	const struct config_port *port = &daemon->config->ports[index];
	const struct packet_mmap_params params = {
		.interface = port->device,
		.port = index,
		.mtu_bytes = port->mtu_bytes,
		.pool = daemon->pool,
		.socket_id = SOCKET_ID_ANY,
	};

	return packet_mmap_open(&params, io, error);
}

static int open_ethdev(const struct daemon *daemon, uint16_t index, enum ethdev_driver driver,
		       struct port_io **io, struct io_error *error)
{
	const struct config_port *port = &daemon->config->ports[index];
	const struct ethdev_params params = {
		.device = port->device,
		.driver = driver,
		.port = index,
		.rx_queues_max = ports_rx_queues_max(daemon->config, port),
		.tx_queues = 1,
		.rx_descriptors = PORTS_RING_DESCRIPTORS,
		.tx_descriptors = PORTS_RING_DESCRIPTORS,
		.mtu_bytes = port->mtu_bytes,
		.flow_control = wish_of(port),
		.lossless_mask = lossless_mask(daemon->config),
		.pool = daemon->pool,
	};

	return ethdev_open(&params, io, error);
}

static int open_device(struct daemon *daemon, uint16_t index, struct io_error *error)
{
	const struct config_port *port = &daemon->config->ports[index];
	struct port_state *state = &daemon->port[index];

	switch (port->driver) {
	case CONFIG_DRIVER_KERNEL:
		state->ifindex = if_nametoindex(port->device);
		return open_kernel(daemon, index, &state->io, error);
	case CONFIG_DRIVER_AF_XDP:
		return open_ethdev(daemon, index, ETHDEV_AF_XDP, &state->io, error);
	case CONFIG_DRIVER_VHOST:
		return open_ethdev(daemon, index, ETHDEV_VHOST, &state->io, error);
	case CONFIG_DRIVER_VDEV:
		return open_ethdev(daemon, index, ETHDEV_VDEV, &state->io, error);
	case CONFIG_DRIVER_VFIO:
	case CONFIG_DRIVER_AUTO:
		break;
	}
	return open_ethdev(daemon, index, ETHDEV_VFIO, &state->io, error);
}

/* The config's place, then the port, its device and why. */
static void open_failed(struct daemon *daemon, uint16_t index, const struct io_error *error,
			struct config_errors *errors)
{
	const struct config_port *port = &daemon->config->ports[index];
	struct config_mark mark = port->device_mark.line != 0 ? port->device_mark : port->mark;

	config_fail(daemon->config, errors, mark, "port %s: can't open its device %s: %s",
		    port->name, port->device, error->text);
}

int ports_open(struct daemon *daemon, struct config_errors *errors)
{
	bool failed = false;

	for (uint16_t i = 0; i < daemon->port_count; i++) {
		struct port_state *state = &daemon->port[i];
		struct io_error error = {""};

		if (open_device(daemon, i, &error) != 0) {
			open_failed(daemon, i, &error, errors);
			state->io = NULL;
			failed = true;
			continue;
		}
		if (error.text[0] != '\0')
			events_add(daemon->events, EVENT_WARNING, i, "port %s: %s",
				   daemon->config->ports[i].name, error.text);
		if (state->io->ops->link(state->io, &state->device) == 0)
			state->link_up = state->carrier = state->device.up;
		daemon->links_polled = daemon->links_polled || state->ifindex == 0;
	}
	for (uint16_t i = 0; i < daemon->port_count && !failed; i++) {
		tell_queues(daemon, i);
		if (lossless_mask(daemon->config) != 0)
			tell_flow_control(daemon, i);
	}
	if (failed)
		ports_close(daemon);
	return failed ? -EIO : 0;
}

void ports_close(struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->port_count; i++) {
		port_io_close(daemon->port[i].io);
		daemon->port[i].io = NULL;
	}
}

/* Is a port that has its carrier, or has lost it, kept out for its flaps? */
static bool damps(struct daemon *daemon, uint16_t index, bool carrier)
{
	const struct config_damping *config = &daemon->config->balance.damping;
	struct port_state *state = &daemon->port[index];
	const uint64_t now_ns = monotonic_ns();
	bool up[PORT_COUNT_MAX] = {false}, damped;

	if (state->carrier && !carrier)
		damping_down(config, &state->damping, now_ns);
	state->carrier = carrier;
	for (uint16_t i = 0; i < daemon->port_count; i++)
		up[i] = daemon->port[i].link_up;
	damped = carrier && damping_holds(config, &state->damping,
					  damping_is_last(daemon->config, up, index), now_ns);
	if (damped && !state->damped)
		events_add(daemon->events, EVENT_LINK_DAMPED, index,
			   "port %s: its link is up, and kept out as it goes down so often",
			   daemon->config->ports[index].name);
	state->damped = damped;
	return damped;
}

/* Look at a link; note and tell when it has changed. */
static void port_update(struct daemon *daemon, uint16_t index, bool deleted)
{
	struct port_state *state = &daemon->port[index];
	const struct config_port *port = &daemon->config->ports[index];
	struct port_io_link link = {0};
	bool gone = deleted || state->io->ops->link(state->io, &link) == -ENODEV;
	bool carrier = !gone && link.up, damped = damps(daemon, index, carrier);
	bool up = carrier && !damped;
	bool rate_changed = !gone && link.speed_bps != state->device.speed_bps;
	bool up_changed = up != state->link_up, gone_now = gone && !state->gone;
	struct apply_port described;

	if (!up_changed && !rate_changed && !gone_now)
		return;
	state->device = link;
	ports_describe(port, &link, &described);
	state->gone = state->gone || gone;
	state->link_up = up;
	if (up_changed) {
		leaf_link_set(daemon->leaf, index, up);
		lcores_wake_all(daemon->lcores);
		state->link_changes++;
		state->link_changed_ns = realtime_ns();
	}
	if (gone_now)
		events_add(daemon->events, EVENT_DEVICE_GONE, index,
			   "port %s: its device %s is gone; restart the leaf when it is back",
			   port->name, port->device);
	else if (up_changed && up)
		events_add(daemon->events, EVENT_LINK_UP, index, "port %s: link up, %.6g Gb/s",
			   port->name, (double)described.rate_bps / 1e9);
	else if (up_changed)
		events_add(daemon->events, EVENT_LINK_DOWN, index, "port %s: link down",
			   port->name);
	publish_soon(daemon, monotonic_ns());
	interfaces_update_carriers(daemon);
}

void ports_link_event(struct daemon *daemon, const struct netlink_link *link)
{
	for (uint16_t i = 0; i < daemon->port_count; i++)
		if (daemon->port[i].ifindex == link->ifindex && !daemon->port[i].gone)
			port_update(daemon, i, link->deleted);
}

void ports_poll_links(struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->port_count; i++)
		if (daemon->port[i].ifindex == 0 && !daemon->port[i].gone)
			port_update(daemon, i, false);
}

void ports_release_damped(struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->port_count; i++)
		if (daemon->port[i].damped && !daemon->port[i].gone)
			port_update(daemon, i, false);
}

void ports_tick(struct daemon *daemon, uint64_t now_ns)
{
	for (uint16_t i = 0; i < daemon->port_count; i++) {
		struct port_state *state = &daemon->port[i];
		const struct config_port *port = &daemon->config->ports[i];
		struct port_io_stats stats;
		uint64_t superframes, drops;

		state->io->ops->stats(state->io, &stats);
		superframes = stats.rx_superframes;
		drops = stats.rx_superframe_drops;
		if (superframes == state->superframes ||
		    (state->superframes_told_ns != 0 &&
		     now_ns - state->superframes_told_ns < ADVICE_NS))
			continue;
		state->superframes = superframes;
		state->superframes_told_ns = now_ns;
		events_add(daemon->events, EVENT_SUPERFRAMES, i,
			   "port %s: %llu frames longer than its MTU from the peer's segmentation "
			   "offload were cut up, %llu dropped; switch it off on the peer of %s: "
			   "ethtool -K PEER tso off gso off",
			   port->name, (unsigned long long)(superframes - drops),
			   (unsigned long long)drops, port->device);
	}
}
