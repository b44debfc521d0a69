/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <poll.h>

#include <rte_mbuf.h>

#include "dataplane/io/cpu.h"
#include "tests/unit/leaf_fixture.h"

#define ROOM 64

static struct rte_mempool *pool;
static struct cpu_io *cpu;
static struct port_io *io;

static void start(void)
{
	fixture_start_eal();
	pool = rte_pktmbuf_pool_create("cpu", 511, 0, 0, 2048, 0);
	cr_assert_not_null(pool);
	cpu = cpu_io_open(9, ROOM);
	cr_assert_not_null(cpu);
	io = cpu_io_port(cpu);
}

/* Whatever is left in the rings goes back to the pool. */
static void finish(void)
{
	port_io_close(io);
	cr_assert_eq(rte_mempool_avail_count(pool), 511);
	rte_mempool_free(pool);
}

static void make(struct rte_mbuf **packets, uint16_t count)
{
	cr_assert_eq(rte_pktmbuf_alloc_bulk(pool, packets, count), 0);
}

static void release(struct rte_mbuf **packets, uint16_t count)
{
	rte_pktmbuf_free_bulk(packets, count);
}

static bool readable(void)
{
	struct pollfd descriptor = {.fd = cpu_io_descriptor(cpu), .events = POLLIN};

	return poll(&descriptor, 1, 0) == 1;
}

LEAF_TEST(cpu, carries_frames_both_ways_in_order)
{
	struct rte_mbuf *in[8], *out[8];

	make(in, 8);
	cr_assert_eq(io->ops->tx_burst(io, 0, in, 8), 8);
	cr_assert_eq(cpu_io_receive(cpu, out, 5), 5);
	cr_assert_eq(cpu_io_receive(cpu, out + 5, 5), 3);
	cr_assert_arr_eq(in, out, sizeof(in));
	cr_assert_eq(cpu_io_send(cpu, in, 8), 8);
	cr_assert_eq(io->ops->rx_burst(io, 0, out, 8), 8);
	cr_assert_arr_eq(in, out, sizeof(in));
	cr_assert_eq(out[0]->port, 9, "received on the CPU's port");
	cr_assert_eq(io->ops->rx_burst(io, 0, out, 8), 0);
	release(in, 8);
}

/* A ring of n holds n - 1. */
LEAF_TEST(cpu, takes_a_part_when_it_is_full)
{
	struct rte_mbuf *in[ROOM];

	make(in, ROOM);
	cr_assert_eq(io->ops->tx_burst(io, 0, in, ROOM), ROOM - 1);
	cr_assert_eq(io->ops->tx_burst(io, 0, in + ROOM - 1, 1), 0);
	cr_assert_eq(io->ops->tx_backlog(io, 0), ROOM - 1);
	release(in + ROOM - 1, 1);
	make(in, ROOM);
	cr_assert_eq(cpu_io_send(cpu, in, ROOM), ROOM - 1);
	cr_assert_eq(io->ops->rx_backlog(io, 0), ROOM - 1);
	release(in + ROOM - 1, 1);
	/* finish() finds the rest. */
}

LEAF_TEST(cpu, wakes_control_once_and_only_when_it_may_sleep)
{
	struct rte_mbuf *in[2], *out[2];

	make(in, 2);
	cr_assert_eq(io->ops->tx_burst(io, 0, in, 1), 1);
	cr_assert_not(readable(), "nobody sleeps");
	cr_assert_not(cpu_io_may_sleep(cpu), "a frame waits");
	cr_assert_eq(cpu_io_receive(cpu, out, 2), 1);
	cr_assert(cpu_io_may_sleep(cpu));
	cr_assert_not(readable());
	cr_assert_eq(io->ops->tx_burst(io, 0, in, 2), 2);
	cr_assert(readable());
	cpu_io_woken(cpu);
	cr_assert_not(readable());
	cr_assert_eq(cpu_io_receive(cpu, out, 1), 1);
	cr_assert_eq(io->ops->tx_burst(io, 0, in, 1), 1);
	cr_assert_not(readable(), "it is awake");
	cr_assert_eq(cpu_io_receive(cpu, out, 2), 2);
	release(in, 2);
}
