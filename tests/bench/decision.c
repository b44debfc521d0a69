/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What deciding on pauses costs a worker per poll: it owns 32 ports with two lossless classes, and
 * sums up the accounts of 8 workers.
 */

#include "tests/bench/bench.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_cycles.h>

#include "config/config.h"
#include "control/apply.h"
#include "dataplane/buffer.h"
#include "dataplane/internal.h"
#include "dataplane/leaf.h"

#define PORTS       32u
#define WORKERS     8u
#define ROUNDS      2000u
#define PACKETS_MAX 65536u

/* The other core gets no longer than this for its turn. */
#define TURN_US 200000u

struct stage {
	struct leaf *leaf;
	const struct snapshot *snapshot;
	struct fib *fib;
	struct bench_io port[PORTS];
	/* The writer's turn: it writes all accounts once for each number. */
	_Atomic uint32_t asked, done;
	atomic_bool stop;
	int cpu;
	atomic_bool pinned;
};

static struct config *config_of(void)
{
	char text[PORTS * 100 + 1000];
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct config *config = NULL;
	int used = snprintf(text, sizeof(text),
			    "leaf: {memory: 1GiB, workers: %u}\n"
			    "classes:\n"
			    "  - {priority: 3, name: a, dscp: [26], lossless: true, weight: 40}\n"
			    "  - {priority: 4, name: b, dscp: [28], lossless: true, weight: 40}\n"
			    "  - {priority: 0, name: c, weight: 20}\n"
			    "ports:\n",
			    WORKERS);

	for (uint32_t i = 0; i < PORTS; i++)
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				 "  - {name: p%u, device: net_null%u, speed: 25G, mtu: 4200, "
				 "vlan: {access: 100}}\n",
				 i, i);
	if (errors != NULL)
		config = config_load_string("decision.yaml", text, strlen(text), errors);
	if (config == NULL && errors != NULL)
		config_print_errors(errors, stderr);
	free(errors);
	return config;
}

static int stage_create(struct stage *stage, struct rte_mempool *pool)
{
	struct leaf_params params = {
		.port_count = PORTS,
		.worker_count = WORKERS,
		.pool = pool,
		.packets_max = PACKETS_MAX,
	};
	struct apply_port port[PORTS];
	struct apply_state state = {.port = port, .packets_max = PACKETS_MAX, .hash_seed = 1};
	struct config *config = config_of();
	uint64_t token;

	if (config == NULL)
		return -EINVAL;
	for (uint32_t i = 0; i < PORTS; i++)
		port[i] = (struct apply_port){.link_up = true};
	stage->fib = fib_create(FIB_COMPACT, apply_routes_max(config));
	if (stage->fib != NULL)
		stage->snapshot = apply_snapshot(config, &state, stage->fib, false);
	config_free(config);
	stage->leaf = leaf_create(&params);
	if (stage->snapshot == NULL || stage->leaf == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < PORTS; i++) {
		bench_io_init(&stage->port[i], i);
		if (leaf_attach(stage->leaf, i, &stage->port[i].io, 0) != 0)
			return -EINVAL;
	}
	leaf_publish(stage->leaf, stage->snapshot, &token);
	worker_poll(leaf_worker(stage->leaf, 0), PS_PER_MS);
	return 0;
}

/* As if each worker had received a packet of each pair and another one let it go. */
static void write_accounts(struct stage *stage)
{
	for (uint16_t w = 0; w < WORKERS; w++) {
		struct worker *worker = leaf_worker(stage->leaf, w);

		for (uint32_t p = 3; p <= 4; p++) {
			for (uint32_t port = 0; port < PORTS; port++) {
				account_charge(&worker->account_row[p][port], 1000);
				account_discharge(&worker->account_row[p][port], 1000);
			}
		}
	}
}

static void *writer(void *context)
{
	struct stage *stage = context;
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)stage->cpu, &cpus);
	atomic_store(&stage->pinned,
		     pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus) == 0);
	atomic_store(&stage->done, 1);
	while (!atomic_load(&stage->stop)) {
		uint32_t asked = atomic_load(&stage->asked);

		if (asked == atomic_load(&stage->done)) {
			(void)sched_yield();
			continue;
		}
		write_accounts(stage);
		atomic_store(&stage->done, asked);
	}
	return NULL;
}

static void mark_dirty(struct worker *worker)
{
	for (uint16_t port = 0; port < PORTS; port++)
		port_bits_set(&worker->dirty, port);
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The median, and less what reading the clock twice costs. */
static double median(uint64_t cycles[ROUNDS])
{
	uint64_t empty = UINT64_MAX, middle;

	for (uint32_t i = 0; i < 100; i++) {
		uint64_t start = rte_rdtsc_precise(), time = rte_rdtsc_precise() - start;

		empty = time < empty ? time : empty;
	}
	qsort(cycles, ROUNDS, sizeof(cycles[0]), compare);
	middle = cycles[ROUNDS / 2];
	return middle > empty ? (double)(middle - empty) : 0;
}

/* What a poll does about pauses. @param dirty all pairs have changed */
static double decide(struct worker *worker, bool dirty, uint64_t cycles[ROUNDS])
{
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t start;

		if (dirty)
			mark_dirty(worker);
		start = rte_rdtsc_precise();
		if (buffer_changed(worker))
			buffer_evaluate(worker, 2 * PS_PER_MS);
		cycles[i] = rte_rdtsc_precise() - start;
	}
	return median(cycles);
}

static bool wait_for(const struct stage *stage, uint32_t done)
{
	uint64_t end = rte_rdtsc() + rte_get_tsc_hz() / 1000000 * TURN_US;

	while (atomic_load(&stage->done) != done)
		if (rte_rdtsc() > end)
			return false;
	return true;
}

static double decide_written(struct stage *stage, uint64_t cycles[ROUNDS])
{
	struct worker *worker = leaf_worker(stage->leaf, 0);

	if (!wait_for(stage, 1) || !atomic_load(&stage->pinned))
		return 0;
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t start;

		atomic_store(&stage->asked, i + 2);
		if (!wait_for(stage, i + 2))
			return 0;
		mark_dirty(worker);
		start = rte_rdtsc_precise();
		buffer_evaluate(worker, 2 * PS_PER_MS);
		cycles[i] = rte_rdtsc_precise() - start;
	}
	return median(cycles);
}

/* A CPU beside the one that this thread runs on, or -1. */
static int other_cpu(void)
{
	long count = sysconf(_SC_NPROCESSORS_ONLN);
	int here = sched_getcpu();

	return count > 1 && here >= 0 ? (int)((here + 1) % count) : -1;
}

int decision_measure(struct rte_mempool *pool, struct decision *out)
{
	struct stage *stage = calloc(1, sizeof(*stage));
	uint64_t *cycles = calloc(ROUNDS, sizeof(*cycles));
	pthread_t thread;
	int rc = stage != NULL && cycles != NULL ? stage_create(stage, pool) : -ENOMEM;

	*out = (struct decision){0};
	if (rc == 0) {
		struct worker *worker = leaf_worker(stage->leaf, 0);

		out->quiet = decide(worker, false, cycles);
		out->dirty = decide(worker, true, cycles);
		stage->cpu = other_cpu();
		stage->asked = 1;
		if (stage->cpu >= 0 && pthread_create(&thread, NULL, writer, stage) == 0) {
			out->written = decide_written(stage, cycles);
			atomic_store(&stage->stop, true);
			pthread_join(thread, NULL);
		}
	} else {
		fprintf(stderr, "roceleaf-bench: can't set up xoff-decision: %s\n", strerror(-rc));
	}
	if (stage != NULL) {
		leaf_free(stage->leaf);
		snapshot_free(stage->snapshot);
		fib_free(stage->fib);
	}
	free(cycles);
	free(stage);
	return rc;
}
