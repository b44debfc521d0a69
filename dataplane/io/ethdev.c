/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/ethdev.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_branch_prediction.h>
#include <rte_dev.h>
#include <rte_ethdev.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_spinlock.h>

#include "dataplane/counters.h"
#include "dataplane/io/ethdev_counters.h"
#include "dataplane/io/flow_control.h"
#include "dataplane/packet.h"

#define RX_DESCRIPTORS 1024
#define TX_DESCRIPTORS 512
#define DEVARGS_BYTES  256

struct ethdev {
	struct port_io io;
	uint16_t id; /* DPDK's */
	uint16_t frame_bytes_max;
	atomic_bool gone; /* written once, by DPDK's interrupt thread */
	bool started;
	uint64_t owner; /* DPDK's, 0: not ours (yet) */
	struct rte_device *device;
	uint16_t tx_queues;
	uint16_t apart_queues; /* of them, beside queue 0, for lossless priorities */
	struct flow_control flow_control;
	struct ethdev_counters pauses, crc;
	rte_spinlock_t stats_lock; /* drivers add up their registers, so one reader at a time */

	/* The port's owner. */
	alignas(64) _Atomic uint64_t tx_errors;

	/* Each queue's poller. */
	struct {
		alignas(64) _Atomic uint64_t errors;
	} rx[ETHDEV_RX_QUEUES_MAX];
};

static struct ethdev *ethdev_of(struct port_io *io)
{
	return (struct ethdev *)(void *)io;
}

/* Take out what isn't one segment of a legal length, keeping order. */
static __rte_noinline uint16_t rx_sift(struct ethdev *ethdev, uint16_t queue,
				       struct rte_mbuf **packets, uint16_t count)
{
	uint16_t kept = 0;

	for (uint16_t i = 0; i < count; i++) {
		if (packets[i]->nb_segs == 1 && packets[i]->pkt_len <= ethdev->frame_bytes_max)
			packets[kept++] = packets[i];
		else
			rte_pktmbuf_free(packets[i]);
	}
	counter_add(&ethdev->rx[queue].errors, (uint64_t)(count - kept));
	return kept;
}

static uint16_t rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct ethdev *ethdev = ethdev_of(io);
	uint32_t frame_bytes_max = ethdev->frame_bytes_max;
	uint16_t port = io->port, taken;
	bool wrong = false;

	if (unlikely(atomic_load_explicit(&ethdev->gone, memory_order_relaxed)))
		return 0;
	taken = rte_eth_rx_burst(ethdev->id, queue, packets, count);
	for (uint16_t i = 0; i < taken; i++) {
		packets[i]->port = port;
		packets[i]->ol_flags = 0;
		packet_virtual_bytes_set(packets[i], 0);
		/* More segments than one mean that the whole is longer than this one. */
		wrong |= packets[i]->pkt_len > RTE_MIN(packets[i]->data_len, frame_bytes_max);
	}
	return unlikely(wrong) ? rx_sift(ethdev, queue, packets, taken) : taken;
}

static uint16_t queue_of(const struct flow_control *control, struct rte_mbuf *packet)
{
	uint8_t priority = packet_meta(packet)->priority;

	return priority < PRIORITY_COUNT ? control->queue_of[priority] : 0;
}

/* Lossless priorities have queues of their own; in order, up to the first that isn't taken. */
static __rte_noinline uint16_t tx_by_priority(struct ethdev *ethdev, struct rte_mbuf **packets,
					      uint16_t count)
{
	const struct flow_control *control = &ethdev->flow_control;
	uint16_t sent = 0, taken, run;

	do {
		uint16_t queue = queue_of(control, packets[sent]);

		run = 1;
		while (sent + run < count && queue_of(control, packets[sent + run]) == queue)
			run++;
		taken = rte_eth_tx_burst(ethdev->id, queue, packets + sent, run);
		sent += taken;
	} while (taken == run && sent < count);
	return sent;
}

static uint16_t tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct ethdev *ethdev = ethdev_of(io);

	if (unlikely(atomic_load_explicit(&ethdev->gone, memory_order_relaxed))) {
		counter_add(&ethdev->tx_errors, count);
		rte_pktmbuf_free_bulk(packets, count);
		return count;
	}
	if (unlikely(io->alone != 0) && count != 0)
		return tx_by_priority(ethdev, packets, count);
	return rte_eth_tx_burst(ethdev->id, queue, packets, count);
}

static int32_t rx_backlog(struct port_io *io, uint16_t queue)
{
	struct ethdev *ethdev = ethdev_of(io);
	int count = rte_eth_rx_queue_count(ethdev->id, queue);

	return count < 0 ? -ENOTSUP : count;
}

static int link_state(struct port_io *io, struct port_io_link *out)
{
	struct ethdev *ethdev = ethdev_of(io);
	struct rte_eth_link link;

	*out = (struct port_io_link){0};
	if (atomic_load_explicit(&ethdev->gone, memory_order_relaxed) ||
	    rte_eth_link_get_nowait(ethdev->id, &link) != 0)
		return -ENODEV;
	out->up = link.link_status == RTE_ETH_LINK_UP;
	if (link.link_speed != RTE_ETH_SPEED_NUM_UNKNOWN)
		out->speed_bps = link.link_speed * UINT64_C(1000000);
	return 0;
}

static void stats(struct port_io *io, struct port_io_stats *out)
{
	struct ethdev *ethdev = ethdev_of(io);
	struct rte_eth_stats device;
	uint64_t pauses, crc;

	rte_spinlock_lock(&ethdev->stats_lock);
	if (rte_eth_stats_get(ethdev->id, &device) != 0)
		memset(&device, 0, sizeof(device));
	pauses = ethdev_counters_sum(&ethdev->pauses, ethdev->id);
	crc = ethdev_counters_sum(&ethdev->crc, ethdev->id);
	rte_spinlock_unlock(&ethdev->stats_lock);
	*out = (struct port_io_stats){
		.rx_missed_packets = device.imissed,
		.rx_error_packets = device.ierrors,
		.rx_no_buffer = device.rx_nombuf,
		.tx_error_packets = device.oerrors + counter_get(&ethdev->tx_errors),
		.rx_device_pauses = pauses,
		.rx_crc_errors = crc,
	};
	for (uint16_t i = 0; i < io->rx_queues; i++)
		out->rx_error_packets += counter_get(&ethdev->rx[i].errors);
}

static int removed(uint16_t id, enum rte_eth_event_type event, void *argument, void *unused)
{
	struct ethdev *ethdev = argument;

	(void)id;
	(void)event;
	(void)unused;
	atomic_store_explicit(&ethdev->gone, true, memory_order_relaxed);
	return 0;
}

static void port_close(struct port_io *io)
{
	struct ethdev *ethdev = ethdev_of(io);

	if (ethdev->started)
		(void)rte_eth_dev_stop(ethdev->id);
	if (ethdev->owner != 0) {
		(void)rte_eth_dev_callback_unregister(ethdev->id, RTE_ETH_EVENT_INTR_RMV, removed,
						      ethdev);
		(void)rte_eth_dev_owner_unset(ethdev->id, ethdev->owner);
		(void)rte_eth_dev_close(ethdev->id);
		(void)rte_dev_remove(ethdev->device);
	}
	rte_free(ethdev);
}

static const struct port_io_ops ethdev_ops = {
	.name = "ethdev",
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.rx_backlog = rx_backlog,
	.link = link_state,
	.stats = stats,
	.close = port_close,
};

/* --- open --- */

/* What rte_dev_probe() takes. */
static int devargs_of(const struct ethdev_params *params, char *text, size_t size,
		      struct io_error *error)
{
	const char *device = params->device;
	int bytes = 0;

	switch (params->driver) {
	case ETHDEV_VFIO:
	case ETHDEV_VDEV:
		bytes = snprintf(text, size, "%s", device);
		break;
	case ETHDEV_AF_XDP:
		bytes = snprintf(text, size, "net_af_xdp%u,iface=%s,queue_count=1", params->port,
				 device);
		break;
	case ETHDEV_VHOST:
		bytes = snprintf(text, size, "net_vhost%u,iface=%s,queues=%u", params->port, device,
				 params->tx_queues);
		break;
	}
	if (bytes <= 0 || (size_t)bytes >= size)
		return io_fail(error, 0, "device '%.64s': a name has 1..%zu characters", device,
			       size / 2);
	return 0;
}

static int params_check(const struct ethdev_params *params, struct io_error *error)
{
	uint32_t room = rte_pktmbuf_data_room_size(params->pool);
	uint32_t needed = params->mtu_bytes + FRAME_HEADER_BYTES + RTE_PKTMBUF_HEADROOM;

	if (params->mtu_bytes < MTU_BYTES_MIN || params->mtu_bytes > MTU_BYTES_MAX)
		return io_fail(error, 0, "device %s: MTU %u bytes is not in %u..%u", params->device,
			       params->mtu_bytes, MTU_BYTES_MIN, MTU_BYTES_MAX);
	if (room < needed)
		return io_fail(error, 0,
			       "device %s: MTU %u bytes needs packet buffers of %u bytes, the pool "
			       "has %u",
			       params->device, params->mtu_bytes, needed, room);
	if (params->rx_queues_max < 1 || params->rx_queues_max > ETHDEV_RX_QUEUES_MAX)
		return io_fail(error, 0, "device %s: %u receive queues are not in 1..%u",
			       params->device, params->rx_queues_max, ETHDEV_RX_QUEUES_MAX);
	if (params->tx_queues < 1 || params->tx_queues > ETHDEV_TX_QUEUES_MAX)
		return io_fail(error, 0, "device %s: %u transmit queues are not in 1..%u",
			       params->device, params->tx_queues, ETHDEV_TX_QUEUES_MAX);
	return 0;
}

/* DPDK's id of the device that devargs name. */
static int device_find(const char *devargs, uint16_t *id)
{
	struct rte_dev_iterator iterator;
	char name[DEVARGS_BYTES];

	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(devargs, ","), devargs);
	if (rte_eth_dev_get_port_by_name(name, id) == 0)
		return 0;
	/* Some PCI drivers call their device otherwise. */
	if (rte_eth_iterator_init(&iterator, name) != 0)
		return -ENODEV;
	*id = rte_eth_iterator_next(&iterator);
	if (*id == RTE_MAX_ETHPORTS)
		return -ENODEV;
	rte_eth_iterator_cleanup(&iterator);
	return 0;
}

/* Find the device, plugged in already or now. */
static int device_plug(struct ethdev *ethdev, const struct ethdev_params *params,
		       struct io_error *error)
{
	char devargs[DEVARGS_BYTES];
	int result = devargs_of(params, devargs, sizeof(devargs), error);

	if (result != 0)
		return result;
	if (device_find(devargs, &ethdev->id) == 0) /* by EAL, or as another port */
		return 0;
	if (rte_eth_dev_count_total() == RTE_MAX_ETHPORTS)
		return io_fail(error, ENOSPC, "device %s: DPDK has room for %u devices",
			       params->device, RTE_MAX_ETHPORTS);
	result = rte_dev_probe(devargs);
	if (result == 0)
		result = device_find(devargs, &ethdev->id);
	if (result == 0)
		return 0;
	return io_fail(error, -result,
		       params->driver == ETHDEV_VFIO
			       ? "device %s: no driver took it (is it bound to vfio-pci? see "
				 "`dpdk-devbind.py --status-dev net`)"
			       : "device %s: no driver took it",
		       params->device);
}

/* Put our mark on the device, so that no second port takes it. */
static int device_own(struct ethdev *ethdev, const struct ethdev_params *params,
		      struct io_error *error)
{
	struct rte_eth_dev_owner owner = {.id = 0};
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_owner_new(&owner.id);

	(void)snprintf(owner.name, sizeof(owner.name), "port %u", params->port);
	if (result != 0 || rte_eth_dev_owner_set(ethdev->id, &owner) != 0)
		return io_fail(error, EBUSY, "device %s: is a port already", params->device);
	ethdev->owner = owner.id;
	if (rte_eth_dev_info_get(ethdev->id, &info) != 0)
		return io_fail(error, ENODEV, "device %s: its properties", params->device);
	ethdev->device = info.device;
	return 0;
}

static int limits_check(const struct ethdev_params *params, const struct rte_eth_dev_info *info,
			struct io_error *error)
{
	const char *device = params->device;
	uint32_t mtu_max = info->max_mtu;

	/* A driver that doesn't say may still know its longest frame, which includes the FCS. */
	if (mtu_max == UINT16_MAX && info->max_rx_pktlen > RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN)
		mtu_max = RTE_MIN(mtu_max,
				  info->max_rx_pktlen - (RTE_ETHER_HDR_LEN + RTE_ETHER_CRC_LEN));
	if (params->mtu_bytes < info->min_mtu || params->mtu_bytes > mtu_max)
		return io_fail(error, 0, "device %s: MTU %u bytes, its driver (%s) takes %u..%u",
			       device, params->mtu_bytes, info->driver_name, info->min_mtu,
			       mtu_max);
	if (params->tx_queues > info->max_tx_queues)
		return io_fail(error, 0, "device %s: %u transmit queues, it has %u", device,
			       params->tx_queues, info->max_tx_queues);
	return 0;
}

/* What RSS goes by. Frames that have none of it come on queue 0. */
static uint64_t rss_of(const struct rte_eth_dev_info *info)
{
	return (RTE_ETH_RSS_IP | RTE_ETH_RSS_TCP | RTE_ETH_RSS_UDP) & info->flow_type_rss_offloads;
}

/* A device with many queues would fill one of them if it didn't spread. */
static uint16_t rx_queues_of(const struct ethdev_params *params,
			     const struct rte_eth_dev_info *info)
{
	if (rss_of(info) == 0 || info->max_rx_queues == 0)
		return 1;
	return (uint16_t)RTE_MIN(params->rx_queues_max, info->max_rx_queues);
}

/* @param rx_queues more than one: spread over them */
static int queues_configure(struct ethdev *ethdev, uint16_t rx_queues,
			    const struct rte_eth_dev_info *info, struct rte_eth_conf conf)
{
	if (rx_queues > 1) {
		conf.rx_adv_conf.rss_conf.rss_hf = rss_of(info);
		conf.rxmode.mq_mode = RTE_ETH_MQ_RX_RSS;
	}
	ethdev->io.rx_queues = rx_queues;
	return rte_eth_dev_configure(ethdev->id, rx_queues, ethdev->tx_queues, &conf);
}

static int device_configure(struct ethdev *ethdev, const struct ethdev_params *params,
			    struct io_error *error)
{
	struct rte_eth_conf conf = {.rxmode.mtu = params->mtu_bytes};
	struct rte_eth_dev_info info;
	int result = rte_eth_dev_info_get(ethdev->id, &info);

	if (result != 0)
		return io_fail(error, -result, "device %s: its properties", params->device);
	result = limits_check(params, &info, error);
	if (result != 0)
		return result;
	ethdev->apart_queues = flow_control_queues(&flow_control_dpdk, ethdev->id,
						   params->flow_control, params->lossless_mask);
	if (ethdev->apart_queues + 1 > info.max_tx_queues)
		ethdev->apart_queues = 0;
	ethdev->tx_queues = (uint16_t)RTE_MAX(params->tx_queues, ethdev->apart_queues + 1);
	conf.intr_conf.rmv = (*info.dev_flags & RTE_ETH_DEV_INTR_RMV) != 0;
	result = queues_configure(ethdev, rx_queues_of(params, &info), &info, conf);
	/* Some want as many queues one way as the other (net_tap). */
	if (result != 0 && ethdev->io.rx_queues > 1)
		result = queues_configure(ethdev, 1, &info, conf);
	if (result != 0)
		return io_fail(
			error, -result, "device %s: configuring %u and %u queues, MTU %u bytes",
			params->device, ethdev->io.rx_queues, ethdev->tx_queues, params->mtu_bytes);
	/* Those that don't take it from the configuration take it here. */
	result = rte_eth_dev_set_mtu(ethdev->id, (uint16_t)params->mtu_bytes);
	if (result != 0 && result != -ENOTSUP)
		return io_fail(error, -result, "device %s: MTU %u bytes", params->device,
			       params->mtu_bytes);
	return 0;
}

static int queues_setup(struct ethdev *ethdev, const struct ethdev_params *params,
			struct io_error *error)
{
	uint16_t rx_count = params->rx_descriptors != 0 ? params->rx_descriptors : RX_DESCRIPTORS;
	uint16_t tx_count = params->tx_descriptors != 0 ? params->tx_descriptors : TX_DESCRIPTORS;
	unsigned int socket = (unsigned int)rte_eth_dev_socket_id(ethdev->id);
	int result = rte_eth_dev_adjust_nb_rx_tx_desc(ethdev->id, &rx_count, &tx_count);

	if (result != 0)
		return io_fail(error, -result, "device %s: numbers of descriptors", params->device);
	for (uint16_t i = 0; i < ethdev->io.rx_queues; i++) {
		result =
			rte_eth_rx_queue_setup(ethdev->id, i, rx_count, socket, NULL, params->pool);
		if (result != 0)
			return io_fail(error, -result,
				       "device %s: receive queue %u of %u descriptors%s",
				       params->device, i, rx_count,
				       params->driver == ETHDEV_AF_XDP
					       ? " (af_xdp wants packet buffers that fit into a "
						 "page of memory with their header)"
					       : "");
	}
	ethdev->io.rx_ring_frames = rx_count;
	for (uint16_t i = 0; i < ethdev->tx_queues; i++) {
		result = rte_eth_tx_queue_setup(ethdev->id, i, tx_count, socket, NULL);
		if (result != 0)
			return io_fail(error, -result,
				       "device %s: transmit queue %u of %u descriptors",
				       params->device, i, tx_count);
	}
	return 0;
}

/* Who obeys pauses; a device that should and can't is none for us. */
static int flow_control_setup(struct ethdev *ethdev, const struct ethdev_params *params,
			      struct io_error *error)
{
	struct flow_control *control = &ethdev->flow_control;
	int result = flow_control_start(&flow_control_dpdk, ethdev->id, params->flow_control,
					params->lossless_mask, ethdev->apart_queues, control);

	if (result != 0)
		return io_fail(error, 0, "device %s: pfc: hardware: %s; use pfc: auto",
			       params->device, control->why);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if (control->queue_of[p] != 0)
			ethdev->io.alone |= (uint8_t)(1u << p);
	return 0;
}

static int device_start(struct ethdev *ethdev, const struct ethdev_params *params,
			struct io_error *error)
{
	struct rte_eth_rxq_info queue;
	struct rte_ether_addr mac;
	int result =
		rte_eth_dev_callback_register(ethdev->id, RTE_ETH_EVENT_INTR_RMV, removed, ethdev);

	if (result != 0)
		return io_fail(error, -result, "device %s: notice of its removal", params->device);
	result = rte_eth_dev_start(ethdev->id);
	if (result != 0)
		return io_fail(error, -result, "device %s: starting it", params->device);
	ethdev->started = true;
	if (rte_eth_rx_queue_info_get(ethdev->id, 0, &queue) == 0 && queue.scattered_rx != 0)
		return io_fail(
			error, 0,
			"device %s: would scatter frames of MTU %u bytes over several packet "
			"buffers of %u bytes: it needs larger ones",
			params->device, params->mtu_bytes,
			rte_pktmbuf_data_room_size(params->pool));
	result = rte_eth_promiscuous_enable(ethdev->id);
	if (result != 0 && result != -ENOTSUP)
		return io_fail(error, -result, "device %s: promiscuous mode", params->device);
	/* Implied by promiscuous mode for most; no harm where it isn't offered. */
	(void)rte_eth_allmulticast_enable(ethdev->id);
	result = flow_control_setup(ethdev, params, error);
	if (result != 0)
		return result;
	ethdev_counters_find(&ethdev->pauses, ethdev->id, ethdev_counts_pauses);
	ethdev_counters_find(&ethdev->crc, ethdev->id, ethdev_counts_crc_errors);
	result = rte_eth_macaddr_get(ethdev->id, &mac);
	if (result != 0)
		return io_fail(error, -result, "device %s: its address", params->device);
	memcpy(ethdev->io.mac, mac.addr_bytes, sizeof(ethdev->io.mac));
	return 0;
}

static struct ethdev *ethdev_if(struct port_io *io)
{
	return io->ops == &ethdev_ops ? ethdev_of(io) : NULL;
}

const struct flow_control *ethdev_flow_control(struct port_io *io)
{
	const struct ethdev *ethdev = ethdev_if(io);

	return ethdev != NULL ? &ethdev->flow_control : NULL;
}

int ethdev_set_lossless(struct port_io *io, uint8_t lossless_mask)
{
	struct ethdev *ethdev = ethdev_if(io);

	if (ethdev == NULL || !ethdev->flow_control.hardware)
		return 0;
	return flow_control_change(&flow_control_dpdk, ethdev->id, lossless_mask,
				   &ethdev->flow_control);
}

int ethdev_open(const struct ethdev_params *params, struct port_io **io, struct io_error *error)
{
	struct ethdev *ethdev;
	int result;

	error->text[0] = '\0';
	result = params_check(params, error);
	if (result != 0)
		return result;
	ethdev = rte_zmalloc("ethdev", sizeof(*ethdev), alignof(struct ethdev));
	if (ethdev == NULL)
		return io_fail(error, ENOMEM, "device %s: port state", params->device);
	rte_spinlock_init(&ethdev->stats_lock);
	ethdev->frame_bytes_max = (uint16_t)(params->mtu_bytes + FRAME_HEADER_BYTES);
	ethdev->io = (struct port_io){
		.ops = &ethdev_ops,
		.port = params->port,
		.rx_queues = 1,
		.flags = PORT_IO_POLLED,
	};
	result = device_plug(ethdev, params, error);
	if (result == 0)
		result = device_own(ethdev, params, error);
	if (result == 0)
		result = device_configure(ethdev, params, error);
	if (result == 0)
		result = queues_setup(ethdev, params, error);
	if (result == 0)
		result = device_start(ethdev, params, error);
	if (result != 0) {
		port_close(&ethdev->io);
		return result;
	}
	*io = &ethdev->io;
	return 0;
}
