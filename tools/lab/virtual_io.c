/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/virtual_io.h"

#include <string.h>

#include <rte_mbuf.h>

static uint16_t virtual_rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
				 uint16_t count)
{
	struct virtual_io *virtual_io = (struct virtual_io *)io;
	uint16_t n = wire_receive(virtual_io->rx, packets, count);

	(void)queue;
	for (uint16_t i = 0; i < n; i++)
		packets[i]->port = io->port;
	return n;
}

static uint16_t virtual_tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
				 uint16_t count)
{
	struct virtual_io *virtual_io = (struct virtual_io *)io;

	(void)queue;
	if ((io->flags & PORT_IO_EXACT) == 0) {
		for (uint16_t i = 0; i < count; i++)
			wire_send(virtual_io->tx, packets[i]);
		return count;
	}
	if (count == 0 || !wire_free(virtual_io->tx))
		return 0;
	wire_send(virtual_io->tx, packets[0]);
	return 1;
}

static int32_t virtual_rx_backlog(struct port_io *io, uint16_t queue)
{
	(void)queue;
	return (int32_t)wire_arrived_count(((struct virtual_io *)io)->rx);
}

static int32_t virtual_tx_backlog(struct port_io *io, uint16_t queue)
{
	(void)queue;
	return wire_free(((struct virtual_io *)io)->tx) ? 0 : 1;
}

static int virtual_link(struct port_io *io, struct port_io_link *link)
{
	const struct virtual_io *virtual_io = (const struct virtual_io *)io;

	*link = (struct port_io_link){.up = true, .speed_bps = virtual_io->tx->rate.rate_bps};
	return 0;
}

static void virtual_stats(struct port_io *io, struct port_io_stats *stats)
{
	(void)io;
	memset(stats, 0, sizeof(*stats));
}

static void virtual_close(struct port_io *io)
{
	(void)io; /* the fabric owns it and its wires */
}

static const struct port_io_ops virtual_ops = {
	.name = "virtual",
	.rx_burst = virtual_rx_burst,
	.tx_burst = virtual_tx_burst,
	.rx_backlog = virtual_rx_backlog,
	.tx_backlog = virtual_tx_backlog,
	.link = virtual_link,
	.stats = virtual_stats,
	.close = virtual_close,
};

void virtual_io_init(struct virtual_io *virtual_io, uint16_t port, const uint8_t *mac, bool exact,
		     struct wire *tx, struct wire *rx)
{
	*virtual_io = (struct virtual_io){
		.io = {.ops = &virtual_ops,
		       .port = port,
		       .rx_queues = 1,
		       .flags = exact ? PORT_IO_EXACT : 0},
		.tx = tx,
		.rx = rx,
	};
	memcpy(virtual_io->io.mac, mac, sizeof(virtual_io->io.mac));
}
