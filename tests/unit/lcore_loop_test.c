/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The loop in real time, with a thread of its own. What is waited for is a condition; only that a
 * sleeping worker wakes up before its sleep is over (a second) has to do with time, and there the
 * bound is generous.
 */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "control/eal.h"
#include "dataplane/io/cpu.h"
#include "dataplane/lcore.h"
#include "dataplane/packet.h"
#include "dataplane/punt.h"
#include "tests/unit/leaf_fixture.h"

#define PATIENCE_S 20

static struct leaf_fixture fixture;
static struct cpu_io *cpu;
static struct lcores *lcores;
static struct snapshot *router;

/* Two lcores on whatever CPUs there are. */
static void start_eal(void)
{
	char lcore_map[64];
	char *argv[] = {(char[]){"test"},
			(char[]){"--no-huge"},
			(char[]){"-m"},
			(char[]){"64"},
			(char[]){"--no-shconf"},
			(char[]){"--no-pci"},
			(char[]){"--no-telemetry"},
			(char[]){"--log-level=error"},
			(char[]){"--lcores"},
			lcore_map};
	uint16_t cpus[EAL_CPUS_MAX];
	uint32_t count = eal_cpus(cpus, EAL_CPUS_MAX);

	(void)snprintf(lcore_map, sizeof(lcore_map), "0@%u,1@%u", cpus[0], cpus[count - 1]);
	cr_assert_geq(rte_eal_init(sizeof(argv) / sizeof(argv[0]), argv), 0);
}

static void start(void)
{
	start_eal();
	fixture_open(&fixture, 2);
	cpu = cpu_io_open(2, 64);
	cr_assert_not_null(cpu);
	cr_assert_eq(leaf_attach(fixture.leaf, 2, cpu_io_port(cpu), 0), 0);
	router = snapshot_router(&fixture, 2);
	router->generation = 1;
}

static void run(bool adaptive)
{
	const unsigned lcore_id[] = {1};
	uint64_t token;

	(void)leaf_publish(fixture.leaf, router, &token);
	fixture.snapshot = router;
	lcores = lcores_create(fixture.leaf, adaptive);
	cr_assert_not_null(lcores);
	cr_assert_eq(lcores_start(lcores, lcore_id), 0);
}

static void finish(void)
{
	lcores_stop(lcores);
	lcores_free(lcores);
	port_io_close(cpu_io_port(cpu));
	fixture_close(&fixture);
}

static double seconds(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static uint64_t sleeps(void)
{
	struct lcore_stats stats;

	lcores_stats(lcores, 0, &stats);
	return stats.sleeps;
}

/* A frame that leaves through interface 0, which is port 0. */
static void send_frame(void)
{
	static const uint8_t frame[60] = {
		2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 6, /* ARP */
	};
	struct rte_mbuf *packet = rte_pktmbuf_alloc(fixture.pool);

	cr_assert_not_null(packet);
	memcpy(packet_data(packet), frame, sizeof(frame));
	packet->data_len = sizeof(frame);
	packet->pkt_len = sizeof(frame);
	packet_virtual_bytes_set(packet, 0);
	*packet_meta(packet) = (struct packet_meta){.flags = PACKET_CPU, .interface = 0};
	cr_assert_eq(cpu_io_send(cpu, &packet, 1), 1);
	lcores_wake(lcores, 0);
}

/* Wait until a frame has come out of port 0. @return false when none has after `patience` */
static bool arrives(double patience)
{
	double until = seconds() + patience;
	const struct timespec nap = {.tv_nsec = 50000};
	struct frame frame;

	while (!fixture_take(&fixture, 0, &frame)) {
		if (seconds() > until)
			return false;
		(void)nanosleep(&nap, NULL);
	}
	return true;
}

static void wait_for_sleep(uint64_t before)
{
	double until = seconds() + PATIENCE_S;
	const struct timespec nap = {.tv_nsec = 1000000};

	/* A sleep is counted when it is over; LCORE_SLEEP_MAX_PS bounds it. */
	while (sleeps() == before) {
		cr_assert_lt(seconds(), until, "the worker never sleeps");
		(void)nanosleep(&nap, NULL);
	}
}

LEAF_TEST(lcore_loop, spins_and_forwards)
{
	struct lcore_stats stats;

	run(false);
	send_frame();
	cr_assert(arrives(PATIENCE_S));
	lcores_stats(lcores, 0, &stats);
	cr_assert_eq(stats.sleeps, 0);
	cr_assert_gt(stats.busy_ps + stats.idle_ps, 0);
	cr_assert_gt(stats.poll_ps_max, 0);
	cr_assert_eq(stats.stalls, 0, "no bound is set");
	for (uint32_t i = 0; i < LCORE_BUCKETS; i++)
		cr_assert_eq(stats.reactions[i], 0, "nobody was paused");
}

/* Any two polls are further apart than a picosecond. */
LEAF_TEST(lcore_loop, counts_stalls_and_their_length)
{
	struct lcore_stats stats;
	double until;

	run(false);
	lcores_set_stall(lcores, 0, 1);
	until = seconds() + PATIENCE_S;
	do {
		lcores_stats(lcores, 0, &stats);
		cr_assert_lt(seconds(), until);
	} while (stats.stalls < 10);
	/* The length of one is added before it is counted. */
	cr_assert_geq(stats.stall_ps, 2 * 10);
}

/*
 * Without a wake-up a frame would wait for the end of the sleep, a second or (the FDB's sweep) more:
 * 50 of them would take 50 s. Each comes when the worker sleeps, or is about to.
 */
LEAF_TEST(lcore_loop, wakes_a_sleeping_worker)
{
	double begin;

	run(true);
	wait_for_sleep(0);
	begin = seconds();
	for (unsigned i = 0; i < 50; i++) {
		const struct timespec nap = {.tv_nsec = 200000 * (long)(i % 10)};

		send_frame();
		cr_assert(arrives(PATIENCE_S), "frame %u", i);
		(void)nanosleep(&nap, NULL);
	}
	cr_assert_lt(seconds() - begin, PATIENCE_S);
	cr_assert_gt(sleeps(), 1);
}

/*
 * The snapshot that a sleeping worker knows may be freed and another one get its address: here it is
 * overwritten in place while nobody holds it.
 */
LEAF_TEST(lcore_loop, takes_over_a_new_snapshot_at_the_address_of_the_old_one)
{
	double until = seconds() + PATIENCE_S;
	struct snapshot *other = snapshot_copy(router);
	uint64_t token;

	router->port[0].link_up = other->port[0].link_up = false;
	other->generation = 2;
	run(true);
	wait_for_sleep(0);
	/* The worker sleeps nearly all the time, so these two fall into one sleep. */
	(void)leaf_publish(fixture.leaf, other, &token);
	while (!leaf_quiet(fixture.leaf, token))
		cr_assert_lt(seconds(), until);
	router->port[0].link_up = true;
	router->generation = 3;
	(void)leaf_publish(fixture.leaf, router, &token);
	send_frame();
	cr_assert(arrives(PATIENCE_S));
	while (!leaf_quiet(fixture.leaf, token))
		cr_assert_lt(seconds(), until);
	snapshot_drop(other);
}

LEAF_TEST(lcore_loop, stops_a_sleeping_worker_at_once)
{
	double begin;

	run(true);
	for (unsigned i = 0; i < 5; i++) {
		wait_for_sleep(sleeps());
		begin = seconds();
		lcores_stop(lcores);
		cr_assert_lt(seconds() - begin, PATIENCE_S);
		lcores_free(lcores);
		run(true);
	}
}
