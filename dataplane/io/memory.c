/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: beyond the port_io seam */
#include "dataplane/io/memory.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_ring.h>

#include "dataplane/packet.h"

struct memory_io {
	struct port_io io;
	struct rte_ring *rx, *tx;
	_Atomic uint16_t tx_limit;
	_Atomic bool up;
};

static uint16_t rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct memory_io *memory = (struct memory_io *)io;

	(void)queue;
	return (uint16_t)rte_ring_sc_dequeue_burst(memory->rx, (void **)packets, count, NULL);
}

static uint16_t tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			 uint16_t count)
{
	struct memory_io *memory = (struct memory_io *)io;
	uint16_t limit = atomic_load_explicit(&memory->tx_limit, memory_order_relaxed);

	(void)queue;
	return (uint16_t)rte_ring_sp_enqueue_burst(memory->tx, (void *const *)packets,
						   count < limit ? count : limit, NULL);
}

static int32_t rx_backlog(struct port_io *io, uint16_t queue)
{
	const struct rte_ring *ring = ((struct memory_io *)io)->rx;

	(void)queue;
	/* rte_ring_count() reads what another thread writes as if it were ours. */
	return (int32_t)(__atomic_load_n(&ring->prod.tail, __ATOMIC_RELAXED) -
			 __atomic_load_n(&ring->cons.tail, __ATOMIC_RELAXED));
}

static int link_state(struct port_io *io, struct port_io_link *link)
{
	link->up = atomic_load_explicit(&((struct memory_io *)io)->up, memory_order_relaxed);
	link->speed_bps = 0;
	return 0;
}

static void stats(struct port_io *io, struct port_io_stats *stats)
{
	(void)io;
	memset(stats, 0, sizeof(*stats));
}

static void drain(struct rte_ring *ring)
{
	void *packet;

	while (ring != NULL && rte_ring_sc_dequeue(ring, &packet) == 0)
		rte_pktmbuf_free(packet);
	free(ring);
}

static void close_io(struct port_io *io)
{
	struct memory_io *memory = (struct memory_io *)io;

	drain(memory->rx);
	drain(memory->tx);
	free(memory);
}

static const struct port_io_ops memory_ops = {
	.name = "memory",
	.rx_burst = rx_burst,
	.tx_burst = tx_burst,
	.rx_backlog = rx_backlog,
	.link = link_state,
	.stats = stats,
	.close = close_io,
};

static struct rte_ring *ring_create(uint32_t frames)
{
	void *ring = NULL;
	ssize_t size = rte_ring_get_memsize(frames);

	if (size < 0 || posix_memalign(&ring, 128, (size_t)size) != 0)
		return NULL;
	memset(ring, 0, (size_t)size);
	if (rte_ring_init(ring, "memory", frames, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		free(ring);
		return NULL;
	}
	return ring;
}

struct memory_io *memory_io_create(uint16_t port, uint32_t frames)
{
	struct memory_io *memory = calloc(1, sizeof(*memory));

	if (memory == NULL)
		return NULL;
	memory->io = (struct port_io){
		.ops = &memory_ops,
		.port = port,
		.rx_queues = 1,
		.flags = PORT_IO_POLLED,
		.mac = {0x02, 0, 0, 0, (uint8_t)(port >> 8), (uint8_t)port},
	};
	memory->tx_limit = UINT16_MAX;
	memory->up = true;
	memory->rx = ring_create(frames);
	memory->tx = ring_create(frames);
	if (memory->rx == NULL || memory->tx == NULL) {
		close_io(&memory->io);
		return NULL;
	}
	return memory;
}

struct port_io *memory_io_port(struct memory_io *memory)
{
	return &memory->io;
}

uint32_t memory_io_inject(struct memory_io *memory, struct rte_mbuf **packets, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		packets[i]->port = memory->io.port;
	return rte_ring_sp_enqueue_burst(memory->rx, (void *const *)packets, count, NULL);
}

uint32_t memory_io_take(struct memory_io *memory, struct rte_mbuf **packets, uint32_t count)
{
	return rte_ring_sc_dequeue_burst(memory->tx, (void **)packets, count, NULL);
}

void memory_io_limit(struct memory_io *memory, uint16_t frames)
{
	atomic_store_explicit(&memory->tx_limit, frames, memory_order_relaxed);
}

void memory_io_link(struct memory_io *memory, bool up)
{
	atomic_store_explicit(&memory->up, up, memory_order_relaxed);
}
