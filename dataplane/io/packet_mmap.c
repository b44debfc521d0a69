/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/packet_mmap.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <string.h>
#include <linux/if_ether.h>
#include <sys/socket.h>

#include <rte_malloc.h>
#include <rte_mbuf.h>

#include "dataplane/counters.h"
#include "dataplane/io/packet_port.h"

#define RX_RING_BYTES (4u << 20)
#define TX_RING_BYTES (1u << 20)
#define SLOTS_MAX     65536u

/* Super-frames that may wait in the socket's queue; the kernel caps it at net.core.rmem_max. */
#define SOCKET_QUEUE_BYTES (8 << 20)

static int descriptor(struct port_io *io, uint16_t queue)
{
	(void)queue;
	return packet_mmap_of(io)->rx.fd;
}

static int link_state(struct port_io *io, struct port_io_link *link)
{
	struct packet_mmap *port = packet_mmap_of(io);

	/* Others may change the MTU at any time; slots are of the size they were opened with. */
	packet_tx_mtu_refresh(port);
	return netdev_link(&port->netdev, link);
}

static void stats(struct port_io *io, struct port_io_stats *out)
{
	struct packet_mmap *port = packet_mmap_of(io);
	struct tpacket_stats kernel = {0};
	socklen_t size = sizeof(kernel);
	uint64_t drops;

	/* Reading clears the kernel's counter; several threads may be here at once. */
	(void)getsockopt(port->rx.fd, SOL_PACKET, PACKET_STATISTICS, &kernel, &size);
	drops = atomic_fetch_add_explicit(&port->kernel_drops, kernel.tp_drops,
					  memory_order_relaxed);
	*out = (struct port_io_stats){
		.rx_missed_packets = drops + kernel.tp_drops + counter_get(&port->rx_lost),
		.rx_error_packets = counter_get(&port->rx_errors),
		.rx_no_buffer = counter_get(&port->rx_no_buffer),
		.rx_superframes = counter_get(&port->rx_superframes),
		.rx_superframe_drops = counter_get(&port->rx_superframe_drops),
		.tx_error_packets = counter_get(&port->tx_errors),
	};
}

static void port_close(struct port_io *io)
{
	struct packet_mmap *port = packet_mmap_of(io);

	if (port->rx.fd >= 0)
		netdev_restore(&port->netdev); /* needs the socket */
	packet_ring_close(&port->tx);
	packet_ring_close(&port->rx);
	rte_free(port->fetched);
	rte_free(port);
}

static const struct port_io_ops packet_mmap_ops = {
	.name = "packet_mmap",
	.rx_burst = packet_rx_burst,
	.tx_burst = packet_tx_burst,
	.rx_backlog = packet_rx_backlog,
	.tx_backlog = packet_tx_backlog,
	.descriptor = descriptor,
	.link = link_state,
	.stats = stats,
	.close = port_close,
};

static int params_check(const struct packet_mmap_params *params, struct io_error *error)
{
	uint32_t room = rte_pktmbuf_data_room_size(params->pool);
	uint32_t needed = params->mtu_bytes + FRAME_HEADER_BYTES + RTE_PKTMBUF_HEADROOM;

	if (params->mtu_bytes < MTU_BYTES_MIN || params->mtu_bytes > MTU_BYTES_MAX)
		return io_fail(error, 0, "interface %s: MTU %u bytes is not in %u..%u",
			       params->interface, params->mtu_bytes, MTU_BYTES_MIN, MTU_BYTES_MAX);
	if (room < needed)
		return io_fail(error, 0,
			       "interface %s: MTU %u bytes needs packet buffers of %u bytes, the "
			       "pool has %u",
			       params->interface, params->mtu_bytes, needed, room);
	if (params->rx_slots > SLOTS_MAX || params->tx_slots > SLOTS_MAX)
		return io_fail(error, 0, "interface %s: rings of %u and %u slots, at most %u",
			       params->interface, params->rx_slots, params->tx_slots, SLOTS_MAX);
	return 0;
}

static int option_set(const struct packet_ring *ring, int level, int option, int value,
		      const char *what, const char *name, struct io_error *error)
{
	if (setsockopt(ring->fd, level, option, &value, sizeof(value)) != 0)
		return io_fail(error, errno, "interface %s: %s", name, what);
	return 0;
}

/* As large as we may; what is less only means that fewer super-frames can wait. */
static void socket_queue_size(int fd, int forced, int capped)
{
	int bytes = SOCKET_QUEUE_BYTES;

	if (setsockopt(fd, SOL_SOCKET, forced, &bytes, sizeof(bytes)) != 0)
		(void)setsockopt(fd, SOL_SOCKET, capped, &bytes, sizeof(bytes));
}

static int rx_open_ring(struct packet_mmap *port, const struct packet_mmap_params *params,
			struct io_error *error)
{
	const char *name = params->interface;
	uint32_t slot_bytes = PACKET_RX_HEADER_BYTES + port->frame_bytes_max;
	uint32_t slots = params->rx_slots != 0 ? params->rx_slots : RX_RING_BYTES / slot_bytes;
	int result;

	socket_queue_size(port->rx.fd, SO_RCVBUFFORCE, SO_RCVBUF);
	result = option_set(&port->rx, SOL_PACKET, PACKET_VNET_HDR, 1, "PACKET_VNET_HDR", name,
			    error);
	if (result == 0)
		result = option_set(&port->rx, SOL_PACKET, PACKET_COPY_THRESH, 1,
				    "PACKET_COPY_THRESH", name, error);
	if (result == 0)
		result = option_set(&port->rx, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1,
				    "PACKET_IGNORE_OUTGOING", name, error);
	if (result == 0)
		result = packet_ring_map(&port->rx, PACKET_RX_RING, slot_bytes, slots,
					 params->socket_id, name, error);
	return result;
}

static int tx_open_ring(struct packet_mmap *port, const struct packet_mmap_params *params,
			struct io_error *error)
{
	uint32_t slot_bytes = PACKET_TX_HEADER_BYTES + port->frame_bytes_max;
	uint32_t slots = params->tx_slots != 0 ? params->tx_slots : TX_RING_BYTES / slot_bytes;
	int result = packet_ring_socket(&port->tx, params->interface, error);

	if (result != 0)
		return result;
	socket_queue_size(port->tx.fd, SO_SNDBUFFORCE, SO_SNDBUF);
	result = option_set(&port->tx, SOL_PACKET, PACKET_QDISC_BYPASS, 1, "PACKET_QDISC_BYPASS",
			    params->interface, error);
	if (result == 0)
		result = packet_ring_map(&port->tx, PACKET_TX_RING, slot_bytes, slots,
					 params->socket_id, params->interface, error);
	return result;
}

/* Bind both sockets; from here on frames arrive. */
static int attach(struct packet_mmap *port, const char *name, struct io_error *error)
{
	struct packet_mreq membership = {
		.mr_ifindex = port->netdev.index,
		.mr_type = PACKET_MR_PROMISC,
	};
	int result = packet_ring_bind(&port->tx, port->netdev.index, 0, name, error);

	if (result != 0)
		return result;
	if (setsockopt(port->rx.fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &membership,
		       sizeof(membership)) != 0)
		return io_fail(error, errno, "interface %s: promiscuous mode", name);
	return packet_ring_bind(&port->rx, port->netdev.index, ETH_P_ALL, name, error);
}

int packet_mmap_open(const struct packet_mmap_params *params, struct port_io **io,
		     struct io_error *error)
{
	struct packet_mmap *port;
	int result = params_check(params, error);

	if (result != 0)
		return result;
	port = rte_zmalloc_socket("packet_mmap", sizeof(*port), alignof(struct packet_mmap),
				  params->socket_id);
	if (port == NULL)
		return io_fail(error, ENOMEM, "interface %s: port state", params->interface);
	port->rx.fd = -1;
	port->tx.fd = -1;
	port->pool = params->pool;
	port->frame_bytes_max = params->mtu_bytes + FRAME_HEADER_BYTES;
	atomic_init(&port->tx_mtu_bytes, params->mtu_bytes);
	port->fetched =
		rte_malloc_socket("packet_mmap", PACKET_FETCHED_BYTES, 0, params->socket_id);
	if (port->fetched == NULL)
		result = io_fail(error, ENOMEM, "interface %s: buffer for super-frames",
				 params->interface);
	if (result == 0)
		result = packet_ring_socket(&port->rx, params->interface, error);
	if (result == 0)
		result = rx_open_ring(port, params, error);
	if (result == 0)
		result = tx_open_ring(port, params, error);
	/* Last: from here on the error text may hold a warning. */
	if (result == 0)
		result = netdev_prepare(&port->netdev, port->rx.fd, params->interface,
					params->mtu_bytes, error);
	if (result == 0)
		result = attach(port, params->interface, error);
	if (result != 0) {
		port_close(&port->io);
		return result;
	}
	port->io = (struct port_io){
		.ops = &packet_mmap_ops,
		.port = params->port,
		.rx_queues = 1,
		.rx_ring_frames = port->rx.count,
		.flags = PORT_IO_POLLED,
	};
	memcpy(port->io.mac, port->netdev.mac, sizeof(port->io.mac));
	*io = &port->io;
	return 0;
}
