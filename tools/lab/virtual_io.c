/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/virtual_io.h"

#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/classify.h"
#include "dataplane/packet.h"
#include "dataplane/snapshot.h"

static void lose(void *context, struct rte_mbuf *packet)
{
	struct virtual_io *virtual_io = context;
	const struct snapshot *snapshot = *virtual_io->snapshot;
	const struct port_table *port = &snapshot->port[virtual_io->io.port];
	struct parsed parsed;

	(void)parse_burst(&packet, 1, &parsed);
	if (parsed.kind == KIND_MAC_CONTROL)
		virtual_io->lost_control++;
	else
		virtual_io->lost[classify_priority(snapshot, port, &parsed)]++;
}

void virtual_io_settle(struct virtual_io *virtual_io)
{
	if (virtual_io->io.rx_ring_frames != 0)
		wire_lose(virtual_io->rx, virtual_io->io.rx_ring_frames, lose, virtual_io);
}

static uint16_t virtual_rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
				 uint16_t count)
{
	struct virtual_io *virtual_io = (struct virtual_io *)io;
	uint16_t n;

	(void)queue;
	virtual_io_settle(virtual_io);
	n = wire_receive(virtual_io->rx, packets, count);
	for (uint16_t i = 0; i < n; i++)
		packets[i]->port = io->port;
	return n;
}

static uint16_t virtual_tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
				 uint16_t count)
{
	struct virtual_io *virtual_io = (struct virtual_io *)io;

	(void)queue;
	if (wire_held(virtual_io->tx))
		return 0;
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
	struct virtual_io *virtual_io = (struct virtual_io *)io;

	(void)queue;
	virtual_io_settle(virtual_io);
	return (int32_t)wire_arrived_count(virtual_io->rx);
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
	const struct virtual_io *virtual_io = (const struct virtual_io *)io;

	memset(stats, 0, sizeof(*stats));
	stats->rx_missed_packets = virtual_io->lost_control;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		stats->rx_missed_packets += virtual_io->lost[p];
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

void virtual_io_set_ring(struct virtual_io *virtual_io, uint32_t frames,
			 const struct snapshot *const *snapshot)
{
	virtual_io->io.rx_ring_frames = frames;
	virtual_io->snapshot = snapshot;
}
