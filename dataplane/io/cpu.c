/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/io/cpu.h"

#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_ring.h>

#include "dataplane/packet.h"

struct cpu_io {
	struct port_io io;
	struct rte_ring *punt;   /* worker -> control */
	struct rte_ring *inject; /* control -> worker */
	int event_fd;
	alignas(64) atomic_bool sleeping; /* control may sleep: the next punt must wake it */
};

static uint16_t cpu_rx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			     uint16_t count)
{
	struct cpu_io *cpu = (struct cpu_io *)io;
	unsigned taken;

	(void)queue;
	if (rte_ring_empty(cpu->inject))
		return 0;
	taken = rte_ring_sc_dequeue_burst(cpu->inject, (void **)packets, count, NULL);
	for (unsigned i = 0; i < taken; i++)
		packets[i]->port = io->port;
	return (uint16_t)taken;
}

static uint16_t cpu_tx_burst(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			     uint16_t count)
{
	struct cpu_io *cpu = (struct cpu_io *)io;
	unsigned taken = rte_ring_sp_enqueue_burst(cpu->punt, (void **)packets, count, NULL);
	uint64_t one = 1;

	(void)queue;
	if (taken == 0)
		return 0;
	/* After the packets were stored, before the flag is looked at; see cpu_io_may_sleep(). */
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&cpu->sleeping, memory_order_relaxed) &&
	    atomic_exchange(&cpu->sleeping, false))
		(void)!write(cpu->event_fd, &one, sizeof(one));
	return (uint16_t)taken;
}

static int32_t cpu_rx_backlog(struct port_io *io, uint16_t queue)
{
	(void)queue;
	return (int32_t)rte_ring_count(((struct cpu_io *)io)->inject);
}

static int32_t cpu_tx_backlog(struct port_io *io, uint16_t queue)
{
	(void)queue;
	return (int32_t)rte_ring_count(((struct cpu_io *)io)->punt);
}

static int cpu_link(struct port_io *io, struct port_io_link *link)
{
	(void)io;
	*link = (struct port_io_link){.up = true};
	return 0;
}

static void cpu_stats(struct port_io *io, struct port_io_stats *stats)
{
	(void)io;
	*stats = (struct port_io_stats){0};
}

static void ring_free(struct rte_ring *ring)
{
	void *packet;

	while (ring != NULL && rte_ring_sc_dequeue(ring, &packet) == 0)
		rte_pktmbuf_free(packet);
	free(ring);
}

static void cpu_close(struct port_io *io)
{
	struct cpu_io *cpu = (struct cpu_io *)io;

	ring_free(cpu->punt);
	ring_free(cpu->inject);
	if (cpu->event_fd >= 0)
		close(cpu->event_fd);
	free(cpu);
}

static const struct port_io_ops cpu_ops = {
	.name = "cpu",
	.rx_burst = cpu_rx_burst,
	.tx_burst = cpu_tx_burst,
	.rx_backlog = cpu_rx_backlog,
	.tx_backlog = cpu_tx_backlog,
	.link = cpu_link,
	.stats = cpu_stats,
	.close = cpu_close,
};

/* In our own memory: rings that DPDK creates take one of its memzones each. */
static struct rte_ring *ring_create(const char *name, uint32_t packets)
{
	ssize_t size = rte_ring_get_memsize(packets);
	struct rte_ring *ring;
	int error;

	if (size < 0) {
		rte_errno = (int)-size;
		return NULL;
	}
	ring = aligned_alloc(64, ((size_t)size + 63) / 64 * 64);
	if (ring == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	error = rte_ring_init(ring, name, packets, RING_F_SP_ENQ | RING_F_SC_DEQ);
	if (error != 0) {
		free(ring);
		rte_errno = -error;
		return NULL;
	}
	return ring;
}

struct cpu_io *cpu_io_open(uint16_t port, uint32_t packets)
{
	struct cpu_io *cpu = aligned_alloc(64, sizeof(*cpu));
	int error;

	if (cpu == NULL) {
		rte_errno = ENOMEM;
		return NULL;
	}
	*cpu = (struct cpu_io){
		.io = {.ops = &cpu_ops, .port = port, .rx_queues = 1, .flags = PORT_IO_POLLED},
		.event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK),
	};
	if (cpu->event_fd < 0) {
		error = errno;
		goto err_close;
	}
	cpu->punt = ring_create("punt", packets);
	error = rte_errno;
	if (cpu->punt == NULL)
		goto err_close;
	cpu->inject = ring_create("inject", packets);
	error = rte_errno;
	if (cpu->inject == NULL)
		goto err_close;
	return cpu;

err_close:
	cpu_close(&cpu->io);
	rte_errno = error;
	return NULL;
}

struct port_io *cpu_io_port(struct cpu_io *cpu)
{
	return &cpu->io;
}

uint16_t cpu_io_receive(struct cpu_io *cpu, struct rte_mbuf **packets, uint16_t count)
{
	return (uint16_t)rte_ring_sc_dequeue_burst(cpu->punt, (void **)packets, count, NULL);
}

uint16_t cpu_io_send(struct cpu_io *cpu, struct rte_mbuf **packets, uint16_t count)
{
	return (uint16_t)rte_ring_sp_enqueue_burst(cpu->inject, (void **)packets, count, NULL);
}

int cpu_io_descriptor(const struct cpu_io *cpu)
{
	return cpu->event_fd;
}

bool cpu_io_may_sleep(struct cpu_io *cpu)
{
	atomic_store(&cpu->sleeping, true);
	atomic_thread_fence(memory_order_seq_cst);
	if (rte_ring_empty(cpu->punt))
		return true;
	atomic_store_explicit(&cpu->sleeping, false, memory_order_relaxed);
	return false;
}

void cpu_io_woken(struct cpu_io *cpu)
{
	uint64_t value;

	atomic_store_explicit(&cpu->sleeping, false, memory_order_relaxed);
	(void)!read(cpu->event_fd, &value, sizeof(value));
}
