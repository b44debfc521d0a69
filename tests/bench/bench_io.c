/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/bench.h"

#include <string.h>

static uint16_t rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct bench_io *bench = (struct bench_io *)io;

	(void)queue;
	if (count > bench->supply_left)
		count = (uint16_t)bench->supply_left;
	memcpy(packets, bench->supply, count * sizeof(*packets));
	bench->supply += count;
	bench->supply_left -= count;
	return count;
}

static uint16_t tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct bench_io *bench = (struct bench_io *)io;
	uint32_t index = bench->sent_index;

	(void)queue;
	for (uint16_t i = 0; i < count; i++)
		bench->ring[index++ % BENCH_RING] = packets[i];
	bench->sent_index = index;
	bench->sent += count;
	return count;
}

/* The next frames come with the next poll. */
static int32_t rx_backlog(struct port_io *io, uint16_t queue)
{
	(void)io;
	(void)queue;
	return 0;
}

static int link_state(struct port_io *io, struct port_io_link *link)
{
	(void)io;
	*link = (struct port_io_link){.up = true};
	return 0;
}

static void stats(struct port_io *io, struct port_io_stats *stats)
{
	(void)io;
	memset(stats, 0, sizeof(*stats));
}

static void close_io(struct port_io *io)
{
	(void)io;
}

void bench_io_init(struct bench_io *bench, uint16_t port)
{
	static const struct port_io_ops ops = {
		.name = "bench",
		.rx_burst = rx_burst,
		.tx_burst = tx_burst,
		.rx_backlog = rx_backlog,
		.link = link_state,
		.stats = stats,
		.close = close_io,
	};

	memset(bench, 0, sizeof(*bench));
	bench->io = (struct port_io){.ops = &ops, .port = port, .rx_queues = 1};
}
