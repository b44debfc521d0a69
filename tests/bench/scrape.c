/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleaf-scrape-bench - what readers cost a worker: it routes over 32 ports on one core while another core
 * makes what three scrapers and three dashboards ask for, out of the same leaf, by the daemon's own code.
 *
 * A worker does nothing for a reader; what readers take are its cache lines. Three ways, interleaved: nobody
 * reads; all read as often as they do, for the record; and they read in a loop, hundreds of times a second,
 * which shows even on a busy machine what one reading costs the worker, and so what ten a second do. Times are of
 * CPU, so that others on these cores count for little; medians of rounds.
 *
 * Exit status: 0; 1 when the share is above SHARE_MAX or a scrape takes more than SCRAPE_MS_MAX; 77: one core.
 */
#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "control/history.h"
#include "control/openmetrics.h"
#include "control/state.h"
#include "control/telemetry.h"
#include "tests/bench/bench.h"

#define PORTS        32u
#define PACKET_BYTES 1086u
#define FRAMES       512u
/* Longer than a burst lasts at 100G, so that nothing queues up. */
#define POLL_PS      (4 * PS_PER_US)

#define CLIENTS       3u
#define SCRAPES_HZ    10u /* of each client */
#define ROUNDS        100u
#define ROUND_S       0.1
#define SHARE_MAX     0.01
#define SCRAPE_MS_MAX 10.0
#define SKIPPED       77

enum mode { NOBODY, TEN_HZ, LOOP, MODES };

struct bench {
	struct daemon daemon;
	struct bench_io io[PORTS];
	struct port_state state[PORTS];
	struct frames frames;
	uint64_t now_ps;
	uint32_t passes;
	_Atomic int mode; /* MODES: the reader ends */
	_Atomic int seen; /* the one that the reader has taken up */
	_Atomic uint64_t scrapes;
	double scrape_s; /* CPU time of the reader's metrics, all together */
};

struct round {
	double packet_s;  /* CPU time of the worker for each packet */
	double scrapes;   /* for each second of the worker's CPU time */
	double scrapes_s; /* for each second of the clock */
};

static double clock_s(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- who reads ---- */

static void show(struct daemon *daemon, const char *name)
{
	char *memory = NULL;
	size_t size;
	FILE *file = open_memstream(&memory, &size);

	if (file == NULL)
		return;
	(void)telemetry_show(daemon, name, file);
	(void)fclose(file);
	free(memory);
}

/* What dashboards and the leaf itself look at in a second. */
static void dashboards(struct bench *bench)
{
	static const char *const tables[] = {"info", "ports",   "queues", "ecn",   "buffers",
					     "pfc",  "balance", "marks",  "drops", "workers"};

	for (unsigned client = 0; client < CLIENTS; client++)
		for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
			show(&bench->daemon, tables[i]);
	daemon_lock(&bench->daemon);
	marks_tick(&bench->daemon);
	daemon_unlock(&bench->daemon);
}

static void scrape(struct bench *bench)
{
	double start = clock_s(CLOCK_THREAD_CPUTIME_ID);
	size_t size;

	free(openmetrics_text(&bench->daemon, false, &size));
	bench->scrape_s += clock_s(CLOCK_THREAD_CPUTIME_ID) - start;
	if (atomic_fetch_add(&bench->scrapes, 1) % ((uint64_t)CLIENTS * SCRAPES_HZ) == 0)
		dashboards(bench);
}

static void *reader(void *context)
{
	const struct timespec pause = {.tv_nsec = 1000000000 / (CLIENTS * SCRAPES_HZ)};
	const struct timespec rest = {.tv_nsec = 1000000};
	struct bench *bench = context;
	int mode;

	while ((mode = atomic_load(&bench->mode)) != MODES) {
		atomic_store(&bench->seen, mode);
		if (mode != NOBODY)
			scrape(bench);
		if (mode != LOOP)
			(void)nanosleep(mode == TEN_HZ ? &pause : &rest, NULL);
	}
	return NULL;
}

/* ---- the worker ---- */

/* Each burst comes in by another port, in the next pass by another one. */
static void prepare(struct bench *bench)
{
	frames_restore(&bench->frames);
	bench->passes++;
	for (uint32_t i = 0; i < FRAMES; i++)
		bench->frames.packet[i]->port =
			(uint16_t)((bench->passes * FRAMES + i) / BURST_COUNT_MAX % PORTS);
}

static void pass(struct bench *bench)
{
	struct worker *worker = leaf_worker(bench->daemon.leaf, 0);

	for (uint32_t done = 0; done < FRAMES; done += BURST_COUNT_MAX) {
		struct rte_mbuf **burst = &bench->frames.packet[done];
		uint16_t port = burst[0]->port;

		bench->io[port].supply = burst;
		bench->io[port].supply_left = BURST_COUNT_MAX;
		worker_ready(worker, port);
		bench->now_ps += POLL_PS;
		worker_poll(worker, bench->now_ps);
	}
}

static uint64_t sent(const struct bench *bench)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < PORTS; i++)
		sum += bench->io[i].sent;
	return sum;
}

static struct round measure_round(struct bench *bench, enum mode mode)
{
	uint64_t packets = sent(bench), scrapes;
	double start, cpu = 0, time = 0;

	atomic_store(&bench->mode, mode);
	while (atomic_load(&bench->seen) != (int)mode)
		(void)sched_yield();
	scrapes = atomic_load(&bench->scrapes);
	start = clock_s(CLOCK_MONOTONIC);
	while (time < ROUND_S) {
		double begin;

		prepare(bench);
		begin = clock_s(CLOCK_THREAD_CPUTIME_ID);
		pass(bench);
		cpu += clock_s(CLOCK_THREAD_CPUTIME_ID) - begin;
		time = clock_s(CLOCK_MONOTONIC) - start;
	}
	scrapes = atomic_load(&bench->scrapes) - scrapes;
	packets = sent(bench) - packets;
	return (struct round){.packet_s = cpu / (double)packets,
			      .scrapes = (double)scrapes / cpu,
			      .scrapes_s = (double)scrapes / time};
}

/* ---- the leaf ---- */

static const char *const classes =
	"classes:\n"
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60}\n"
	"  - {priority: 0, name: best-effort, weight: 20}\n";

static struct config *config_of(void)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct config *config = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (out == NULL || errors == NULL)
		return NULL;
	(void)fprintf(out, "leaf: {router_mac: '02:00:00:00:10:01', memory: 1GiB}\n%sports:\n",
		      classes);
	for (uint32_t i = 0; i < PORTS; i++)
		(void)fprintf(out,
			      "  - {name: p%u, device: net_null%u, speed: 100G, mtu: 4200, "
			      "address: 10.255.%u.0/31}\n",
			      i, i, i);
	(void)fprintf(out, "neighbours:\n");
	for (uint32_t i = 0; i < PORTS; i++)
		(void)fprintf(out, "  - {address: 10.255.%u.1, mac: '02:00:00:00:20:%02x'}\n", i,
			      i);
	(void)fprintf(out, "routes:\n");
	for (uint32_t flow = 0; flow < BENCH_FLOWS; flow++) {
		uint32_t to = flow_destination(flow), port = flow % PORTS;

		(void)fprintf(out, "  - {to: %u.%u.%u.%u/32, via: [10.255.%u.1, 10.255.%u.1]}\n",
			      to >> 24, to >> 16 & 255, to >> 8 & 255, to & 255, port,
			      (port + 1) % PORTS);
	}
	(void)fclose(out);
	config = config_load_string("scrape.yaml", text, size, errors);
	if (config == NULL)
		config_print_errors(errors, stderr);
	free(errors);
	free(text);
	return config;
}

/* There are no TAPs, so that interfaces.c isn't needed. */
uint16_t interfaces_by_ifindex(const struct interfaces *interfaces, uint32_t ifindex)
{
	(void)interfaces;
	(void)ifindex;
	return INTERFACE_NONE;
}

static int make_leaf(struct bench *bench, struct rte_mempool *pool)
{
	struct daemon *daemon = &bench->daemon;
	struct leaf_params params = {
		.port_count = PORTS,
		.worker_count = 1,
		.pool = pool,
		.packets_max = pool->size,
	};
	struct apply_port port[PORTS];
	struct apply_state state = {.port = port, .packets_max = 131072, .hash_seed = 1};
	uint64_t token;

	daemon->config = config_of();
	daemon->leaf = leaf_create(&params);
	if (daemon->config == NULL || daemon->leaf == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < PORTS; i++) {
		port[i] = (struct apply_port){.link_up = true, .run_ahead_ps = POLL_PS};
		bench_io_init(&bench->io[i], i);
		bench->state[i] = (struct port_state){.io = &bench->io[i].io, .link_up = true};
		if (leaf_attach(daemon->leaf, i, &bench->io[i].io, 0) != 0)
			return -EINVAL;
	}
	daemon->fib = fib_create(FIB_DIR24_8, apply_routes_max(daemon->config));
	if (daemon->fib == NULL)
		return -ENOMEM;
	daemon->snapshot = apply_snapshot(daemon->config, &state, daemon->fib, false);
	if (daemon->snapshot == NULL)
		return -ENOMEM;
	leaf_publish(daemon->leaf, daemon->snapshot, &token);
	return 0;
}

/* A daemon of which only that is there which readers look at. */
static int make_daemon(struct bench *bench, struct rte_mempool *pool)
{
	struct daemon *daemon = &bench->daemon;
	int rc = make_leaf(bench, pool);

	if (rc != 0)
		return rc;
	(void)pthread_mutex_init(&daemon->lock, NULL);
	daemon->pool = pool;
	daemon->port = bench->state;
	daemon->port_count = PORTS;
	daemon->lcores = lcores_create(daemon->leaf, false);
	daemon->eal = calloc(1, sizeof(*daemon->eal));
	daemon->events = events_create(NULL);
	daemon->hold = hold_create();
	if (daemon->lcores == NULL || daemon->eal == NULL || daemon->events == NULL ||
	    daemon->hold == NULL)
		return -ENOMEM;
	return marks_create(daemon);
}

static void free_daemon(struct daemon *daemon)
{
	marks_free(daemon);
	hold_free(daemon->hold);
	events_free(daemon->events);
	free(daemon->eal);
	lcores_free(daemon->lcores);
	leaf_free(daemon->leaf);
	snapshot_free(daemon->snapshot);
	fib_free(daemon->fib);
	config_free(daemon->config);
}

/* ---- what comes out ---- */

static int less(const void *a, const void *b)
{
	double left = *(const double *)a, right = *(const double *)b;

	return left < right ? -1 : left > right;
}

static double median(double *value)
{
	qsort(value, ROUNDS, sizeof(*value), less);
	return (value[(ROUNDS - 1) / 2] + value[ROUNDS / 2]) / 2;
}

/* @return the exit status */
static int report(struct bench *bench, struct round round[ROUNDS][MODES])
{
	static const char *const names[MODES] = {"nobody", "3 at 10 Hz", "in a loop"};
	double scrape_ms = 1e3 * bench->scrape_s / (double)atomic_load(&bench->scrapes);
	double added = 0;

	printf("%-12s %15s %8s %12s\n", "readers", "ns per packet", "ratio", "scrapes/s");
	for (int mode = 0; mode < MODES; mode++) {
		double packet[ROUNDS], ratio[ROUNDS], scrapes[ROUNDS], each[ROUNDS];

		for (uint32_t i = 0; i < ROUNDS; i++) {
			packet[i] = 1e9 * round[i][mode].packet_s;
			ratio[i] = round[i][mode].packet_s / round[i][NOBODY].packet_s;
			scrapes[i] = round[i][mode].scrapes_s;
			/* what was added, for each scrape, of a second of the time without it */
			each[i] = (ratio[i] - 1) / ratio[i] / round[i][mode].scrapes;
		}
		printf("%-12s %15.2f %8.4f %12.1f\n", names[mode], median(packet), median(ratio),
		       median(scrapes));
		if (mode == LOOP)
			added = median(each) * CLIENTS * SCRAPES_HZ;
	}
	printf("A scrape of %u ports takes %.2f ms of its own thread (at most %.0f). At %u a second scrapes, and what\n"
	       "dashboards ask for, add %.3f %% to what a packet costs the worker (at most %.0f %%).\n",
	       PORTS, scrape_ms, SCRAPE_MS_MAX, CLIENTS * SCRAPES_HZ, 100 * added, 100 * SHARE_MAX);
	return added > SHARE_MAX || scrape_ms > SCRAPE_MS_MAX;
}

static int measure(struct bench *bench, const pthread_attr_t *others)
{
	static struct round round[ROUNDS][MODES];
	uint64_t before = sent(bench);
	pthread_t thread;

	for (uint32_t i = 0; i < PORTS; i++) {
		prepare(bench);
		pass(bench);
	}
	if (sent(bench) - before != PORTS * FRAMES) {
		fprintf(stderr, "roceleaf-scrape-bench: %" PRIu64 " of %u frames left\n",
			sent(bench) - before, PORTS * FRAMES);
		return 1;
	}
	if (pthread_create(&thread, others, reader, bench) != 0)
		return 1;
	for (uint32_t i = 0; i < ROUNDS; i++)
		for (int mode = 0; mode < MODES; mode++)
			round[i][mode] = measure_round(bench, (enum mode)mode);
	atomic_store(&bench->mode, MODES);
	(void)pthread_join(thread, NULL);
	return report(bench, round);
}

/* The worker on the first core, the reader on the others. @return 0, or -ENOENT: there is one only */
static int part_cores(pthread_attr_t *others)
{
	cpu_set_t all, first;

	if (sched_getaffinity(0, sizeof(all), &all) != 0 || CPU_COUNT(&all) < 2)
		return -ENOENT;
	CPU_ZERO(&first);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_SET(cpu, &first);
		CPU_CLR(cpu, &all);
		break;
	}
	(void)pthread_attr_init(others);
	(void)pthread_attr_setaffinity_np(others, sizeof(all), &all);
	return pthread_setaffinity_np(pthread_self(), sizeof(first), &first) == 0 ? 0 : -ENOENT;
}

static int run(struct bench *bench, const pthread_attr_t *others)
{
	struct rte_mempool *pool = rte_pktmbuf_pool_create("scrape", 2 * FRAMES - 1, 0, 0,
							   RTE_PKTMBUF_HEADROOM + PACKET_BYTES, 0);
	int rc = pool == NULL ? -ENOMEM : make_daemon(bench, pool);

	if (rc == 0)
		rc = frames_create(&bench->frames, pool, FRAMES);
	if (rc != 0) {
		fprintf(stderr, "roceleaf-scrape-bench: can't set up: %s\n", strerror(-rc));
		return 1;
	}
	frames_prepare(&bench->frames, FRAMES_ROUTED, PACKET_BYTES);
	rc = measure(bench, others);
	frames_free(&bench->frames);
	free_daemon(&bench->daemon);
	rte_mempool_free(pool);
	return rc;
}

static int start_eal(void)
{
	const char *arguments[] = {
		"roceleaf-scrape-bench", "--no-huge",        "-m", "512", "--no-shconf", "--no-pci",
		"--no-telemetry",        "--log-level=error"};
	enum { COUNT = sizeof(arguments) / sizeof(arguments[0]) };
	char *argv[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		argv[i] = (char *)(uintptr_t)arguments[i];
	return rte_eal_init(COUNT, argv) < 0 ? -EIO : 0;
}

int main(void)
{
	struct bench *bench = calloc(1, sizeof(*bench));
	pthread_attr_t others;
	int rc;

	if (part_cores(&others) != 0) {
		fprintf(stderr, "roceleaf-scrape-bench: needs two cores\n");
		return SKIPPED;
	}
	if (bench == NULL || start_eal() != 0)
		return 1;
	rc = run(bench, &others);
	free(bench);
	rte_eal_cleanup();
	return rc;
}
