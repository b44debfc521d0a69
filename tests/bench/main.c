/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleaf-bench - what a packet costs: the routed and the bridged pipeline against a plain LPM
 * forwarder, same frames, same process, interleaved rounds, the best of each.
 *
 * hot: 512 buffers, as when queues are short; cold: 65536, as when everything comes from memory.
 * Under congestion (standing.c): "marking", where queues stand and every packet that leaves is marked;
 * "paused", where a class of every uplink is paused with packets in it. What pauses cost a poll:
 * decision.c.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_cycles.h>
#include <rte_eal.h>
#include <rte_mbuf.h>

#include "dataplane/units.h"
#include "tests/bench/bench.h"
#include "tests/bench/instructions.h"

#define HOT_FRAMES         512u
#define COLD_FRAMES        65536u
#define HOT_PASSES         16u
#define INSTRUCTION_PASSES 8u
#define ROUNDS             60u

static const uint32_t sizes[] = {64, 1086, 4158};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

struct options {
	const char *filter;
	uint32_t rounds;
	bool json;
	bool instructions;
};

struct result {
	const char *name;
	const char *pool;
	const char *state;
	uint32_t packet_bytes;
	uint32_t workers;
	double cycles;
	double ratio;
};

static const char usage[] =
	"usage: roceleaf-bench [--filter NAME] [--rounds N] [--json] [--instructions]\n"
	"\n"
	"Cycles (of the time stamp counter) that a packet costs, burst of 32, one core, ports in\n"
	"memory: the routed pipeline, also with standing and with paused queues, the bridged one, and\n"
	"a plain forwarder to compare with. xoff-decision and xoff-quiet: cycles of a poll.\n"
	"\n"
	"  --filter NAME    only rows whose name contains NAME (the reference always runs)\n"
	"  --rounds N       interleaved rounds, of which the best counts (default 60)\n"
	"  --json           one JSON array\n"
	"  --instructions   instructions per packet instead of cycles, counted by callgrind\n"
	"  --help           this\n";

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{"filter", required_argument, NULL, 'f'}, {"rounds", required_argument, NULL, 'r'},
		{"json", no_argument, NULL, 'j'},         {"instructions", no_argument, NULL, 'i'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	int option;

	*options = (struct options){.rounds = ROUNDS};
	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case 'f':
			options->filter = optarg;
			break;
		case 'r':
			options->rounds = (uint32_t)strtoul(optarg, NULL, 10);
			break;
		case 'j':
			options->json = true;
			break;
		case 'i':
			options->instructions = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			return -EINVAL;
		}
	}
	return optind == argc && options->rounds != 0 ? 0 : -EINVAL;
}

static bool wanted(const struct options *options, const char *name)
{
	return options->filter == NULL || strstr(name, options->filter) != NULL;
}

/* ---- cycles ---- */

/* @return cycles per packet */
static double timed_passes(struct row *row, struct frames *frames, uint32_t passes)
{
	uint64_t cycles = 0, moved = 0;

	if (row->begin != NULL)
		row->begin(row, frames);
	for (uint32_t i = 0; i < passes; i++) {
		uint64_t start;

		row_prepare(row, frames);
		start = rte_rdtsc_precise();
		row->pass(row, frames);
		cycles += rte_rdtsc_precise() - start;
		moved += row->moved;
	}
	if (row->end != NULL)
		row->end(row, frames);
	return (double)cycles / (double)moved;
}

/* Where a queue stands, it is of 256 packets at most: no cold ones wait there. */
static bool measured(const struct row *row, const struct frames *frames)
{
	return row->kind != FRAMES_ECT || frames->count == HOT_FRAMES;
}

static int measure_size(const struct options *options, struct row *rows, struct frames *frames,
			uint32_t packet_bytes, const char *pool, struct result *results)
{
	uint32_t passes = frames->count == HOT_FRAMES ? HOT_PASSES : 1;
	double best[ROW_COUNT];

	for (uint32_t i = 0; i < ROW_COUNT; i++) {
		best[i] = INFINITY;
		if (!measured(&rows[i], frames))
			continue;
		frames_prepare(frames, rows[i].kind, packet_bytes);
		if (row_check(&rows[i], frames) != 0)
			return -EINVAL;
	}
	for (uint32_t round = 0; round < options->rounds; round++) {
		for (uint32_t i = 0; i < ROW_COUNT; i++) {
			double cycles;

			if ((i != ROW_REFERENCE && !wanted(options, rows[i].name)) ||
			    !measured(&rows[i], frames))
				continue;
			frames_prepare(frames, rows[i].kind, packet_bytes);
			cycles = timed_passes(&rows[i], frames, passes);
			if (cycles < best[i])
				best[i] = cycles;
		}
	}
	for (uint32_t i = 0; i < ROW_COUNT; i++)
		results[i] = (struct result){
			.name = rows[i].name,
			.pool = pool,
			.state = rows[i].state,
			.packet_bytes = packet_bytes,
			.workers = 1,
			.cycles = best[i],
			.ratio = best[i] / best[ROW_REFERENCE],
		};
	return 0;
}

static void print_cycles(const struct options *options, const struct result *results,
			 uint32_t count)
{
	const char *separator = "";

	if (options->json)
		printf("[");
	else
		printf("%-15s %7s  %-4s  %-7s %7s %18s %6s\n", "name", "bytes", "pool", "state",
		       "workers", "cycles per packet", "ratio");
	for (uint32_t i = 0; i < count; i++) {
		const struct result *r = &results[i];

		if (!wanted(options, r->name) || !isfinite(r->cycles))
			continue;
		if (options->json)
			printf("%s\n{\"name\": \"%s\", \"packet_bytes\": %" PRIu32
			       ", \"pool\": \"%s\", \"state\": \"%s\", \"workers\": %" PRIu32 ", "
			       "\"cycles_per_packet\": %.2f, \"ratio\": %.3f}",
			       separator, r->name, r->packet_bytes, r->pool, r->state, r->workers,
			       r->cycles, r->ratio);
		else
			printf("%-15s %7" PRIu32 "  %-4s  %-7s %7" PRIu32 " %18.1f %6.2f\n",
			       r->name, r->packet_bytes, r->pool, r->state, r->workers, r->cycles,
			       r->ratio);
		separator = ",";
	}
	if (options->json)
		printf("\n]\n");
}

/*
 * Cycles of a poll, not of a packet, so there is no ratio. hot: accounts are in this core's cache; cold:
 * another core has just written them.
 */
#define DECISIONS 3

static int measure_decision(struct rte_mempool *pool, struct result *results, uint32_t *count)
{
	struct decision decision;
	int rc = decision_measure(pool, &decision);
	const struct result rows[DECISIONS] = {
		{.name = "xoff-quiet", .pool = "hot", .cycles = decision.quiet},
		{.name = "xoff-decision", .pool = "hot", .cycles = decision.dirty},
		{.name = "xoff-decision", .pool = "cold", .cycles = decision.written},
	};

	if (rc != 0)
		return rc;
	for (uint32_t i = 0; i < DECISIONS; i++) {
		if (rows[i].cycles == 0)
			continue;
		results[*count] = rows[i];
		results[*count].state = "idle";
		results[(*count)++].workers = 8;
	}
	return 0;
}

static int measure(const struct options *options, struct row *rows, struct rte_mempool *pool)
{
	static const struct {
		const char *name;
		uint32_t frames;
	} pools[] = {{"hot", HOT_FRAMES}, {"cold", COLD_FRAMES}};
	struct result results[2 * SIZES * ROW_COUNT + DECISIONS];
	uint32_t count = 0;
	int rc = 0;

	for (size_t p = 0; p < 2 && rc == 0; p++) {
		struct frames frames;

		rc = frames_create(&frames, pool, pools[p].frames);
		if (rc != 0)
			break;
		for (size_t s = 0; s < SIZES && rc == 0; s++) {
			rc = measure_size(options, rows, &frames, sizes[s], pools[p].name,
					  &results[count]);
			count += ROW_COUNT;
		}
		frames_free(&frames);
	}
	if (rc == 0 && (wanted(options, "xoff-decision") || wanted(options, "xoff-quiet")))
		rc = measure_decision(pool, results, &count);
	if (rc == 0)
		print_cycles(options, results, count);
	return rc;
}

/* ---- instructions ---- */

/* "pipeline-l3", and "pipeline-l3-marking" under congestion. */
static const char *counted_name(const struct row *row, char name[64])
{
	bool idle = strcmp(row->state, "idle") == 0;

	(void)snprintf(name, 64, "%s%s%s", row->name, idle ? "" : "-", idle ? "" : row->state);
	return name;
}

static int count_instructions(const struct options *options, struct row *rows,
			      struct rte_mempool *pool)
{
	struct frames frames;
	char name[64];
	int rc = frames_create(&frames, pool, HOT_FRAMES);

	if (rc != 0)
		return rc;
	for (size_t s = 0; s < SIZES && rc == 0; s++) {
		for (uint32_t i = 0; i < ROW_COUNT && rc == 0; i++) {
			uint64_t moved = 0;

			if (!wanted(options, rows[i].name))
				continue;
			frames_prepare(&frames, rows[i].kind, sizes[s]);
			rc = row_check(&rows[i], &frames);
			if (rows[i].begin != NULL && rc == 0)
				rows[i].begin(&rows[i], &frames);
			for (uint32_t pass = 0; pass < INSTRUCTION_PASSES && rc == 0; pass++) {
				row_prepare(&rows[i], &frames);
				instructions_start();
				rows[i].pass(&rows[i], &frames);
				instructions_stop();
				moved += rows[i].moved;
			}
			if (rows[i].end != NULL)
				rows[i].end(&rows[i], &frames);
			instructions_dump(counted_name(&rows[i], name), sizes[s], (uint32_t)moved);
		}
	}
	frames_free(&frames);
	return rc;
}

static int start_eal(void)
{
	const char *arguments[] = {"roceleaf-bench", "--no-huge",        "-m", "1024",
				   "--no-shconf",    "--no-pci",         "-l", "0",
				   "--no-telemetry", "--log-level=error"};
	enum { COUNT = sizeof(arguments) / sizeof(arguments[0]) };
	char *argv[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		argv[i] = (char *)(uintptr_t)arguments[i];
	return rte_eal_init(COUNT, argv) < 0 ? -EIO : 0;
}

int main(int argc, char **argv)
{
	struct row *rows = calloc(ROW_COUNT, sizeof(*rows));
	struct rte_mempool *pool;
	struct options options;
	int rc;

	if (parse_options(argc, argv, &options) != 0) {
		fputs(usage, stderr);
		free(rows);
		return 2;
	}
	if (options.instructions && !instructions_countable()) {
		free(rows);
		return instructions_run(argv, options.json) != 0;
	}
	if (rows == NULL || start_eal() != 0)
		return 1;
	pool = rte_pktmbuf_pool_create(
		"bench", options.instructions ? 2 * HOT_FRAMES - 1 : COLD_FRAMES + HOT_FRAMES - 1,
		0, 0, RTE_PKTMBUF_HEADROOM + FRAME_HEADER_BYTES + 4200, 0);
	if (pool == NULL) {
		fprintf(stderr, "roceleaf-bench: no memory for packet buffers\n");
		return 1;
	}
	rc = rows_create(rows, pool, options.instructions ? HOT_FRAMES : COLD_FRAMES);
	if (rc == 0) {
		rc = options.instructions ? count_instructions(&options, rows, pool)
					  : measure(&options, rows, pool);
		rows_free(rows);
	}
	free(rows);
	rte_mempool_free(pool);
	rte_eal_cleanup();
	return rc != 0;
}
