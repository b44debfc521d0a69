/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleaf-lab-bench - how fast the lab is, and what it needs of memory.
 *
 * Each run is a process of its own: packet pools are sized for it, and what it leaves behind in the
 * allocators counts for nobody else. Speed is in packet hops (a frame on a link) per second of CPU time, so
 * that what else a machine does matters little; the best of some rounds counts. Memory is what is resident
 * at the end of a run, beyond what EAL alone takes.
 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tools/lab/environment.h"
#include "tools/lab/fabric.h"
#include "tools/lab/scenario.h"
#include "tools/lab/simulation.h"

#define ROUNDS      3u
#define ROUNDS_MAX  100u
#define ASSIGNMENTS 4

/* 16 senders at line rate under DCQCN, 64 MB each. */
static const char incast[] = "name: incast-16\n"
			     "duration: 120ms\n"
			     "fabric: {single_leaf: {hosts: 17, host_speed: 100G}}\n"
			     "hosts: {cc: dcqcn}\n"
			     "traffic: [{incast: {senders: 16, to: leaf1.h1, bytes: 64MB}}]\n";

/* 64 KB from each of 1024 hosts to each other one. */
static const char alltoall[] = "name: alltoall-1024\n"
			       "duration: 40ms\n"
			       "fabric:\n"
			       "  three_tier: {pods: 8, leaves_per_pod: 8, spines_per_pod: 4,\n"
			       "               cores: 16, hosts_per_leaf: 16, host_speed: 100G,\n"
			       "               uplink_speed: 400G, core_speed: 400G}\n"
			       "hosts: {cc: dcqcn, mtu: 4096}\n"
			       "traffic: [{alltoall: {bytes: 65536KB}}]\n";

/* Cables of 1 ms, and everything that is sent in that time still under way. */
static const char in_flight[] = "name: in-flight\n"
				"duration: 1ms\n"
				"fabric: {single_leaf: {hosts: 32, host_speed: 100G,\n"
				"                       host_cable: 200km}}\n"
				"leaf: {classes: [{priority: 0, name: data}]}\n"
				"hosts: {cc: none, mtu: 1024, ack_every: 0}\n"
				"traffic: [{permutation: {bytes: 12MB, jitter: 0us, dscp: 26}}]\n";

/* Hosts that do nothing. */
static const char idle[] = "name: idle\n"
			   "duration: 1us\n"
			   "leaf: {classes: [{priority: 0, name: data}]}\n"
			   "fabric: {single_leaf: {hosts: 2, host_speed: 100G}}\n"
			   "traffic: [{flow: {from: leaf1.h1, to: leaf1.h2, bytes: 1}}]\n";

struct run {
	const char *scenario;
	const char *assignments[ASSIGNMENTS]; /* as of roceleaf-lab --set */
};

static const struct speed_row {
	const char *name;
	struct run run;
	bool whole; /* it takes minutes: a single round, with --long */
} speed_rows[] = {
	{"incast-16-mtu-1024", {incast, {"hosts.mtu=1024"}}, false},
	{"incast-16-mtu-1024-ack-1", {incast, {"hosts.mtu=1024", "hosts.ack_every=1"}}, false},
	{"incast-16-mtu-4096", {incast, {"hosts.mtu=4096"}}, false},
	{"incast-16-mtu-4096-ack-1", {incast, {"hosts.mtu=4096", "hosts.ack_every=1"}}, false},
	{"alltoall-256",
	 {alltoall,
	  {"fabric.three_tier.pods=4", "fabric.three_tier.leaves_per_pod=4",
	   "traffic[0].alltoall.bytes=16384KB"}},
	 false},
	{"alltoall-1024", {alltoall, {NULL}}, true},
};
#define SPEED_ROWS (sizeof(speed_rows) / sizeof(speed_rows[0]))

/* What one process tells another. */
struct measured {
	uint64_t hops;
	uint64_t cpu_ns;
	uint64_t resident_bytes; /* more than before the run */
	uint64_t in_flight;
};

struct options {
	const char *filter;
	uint32_t rounds;
	bool json, whole;
};

static const char usage[] =
	"usage: roceleaf-lab-bench [--filter NAME] [--rounds N] [--long] [--json]\n"
	"\n"
	"How many packet hops (frames on links) roceleaf-lab simulates per second of CPU time, and\n"
	"the memory that it takes: 16 senders to one receiver, with acknowledgements as they are by\n"
	"default and of every packet; an all-to-all of 64 KB for each pair of 256 hosts; a packet in\n"
	"flight; an idle host with its link and its leaf's port.\n"
	"\n"
	"  --filter NAME  only rows whose name contains NAME\n"
	"  --rounds N     rounds, of which the fastest counts (default 3)\n"
	"  --long         the all-to-all with 1024 hosts, too: minutes and GBs\n"
	"  --json         one JSON array\n"
	"  --help         this\n";

/* ---- one run ---- */

static uint64_t resident_bytes(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	uint64_t pages = 0;

	if (file == NULL || fscanf(file, "%*s %" SCNu64, &pages) != 1)
		fprintf(stderr, "roceleaf-lab-bench: /proc/self/statm can't be read\n");
	if (file != NULL)
		fclose(file);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static int simulate_in_child(const struct scenario *scenario, struct measured *measured)
{
	const struct fabric_options options = {0};
	uint64_t packets = fabric_packets(scenario), before_bytes;
	struct fabric_conservation sum;
	struct simulation *simulation;
	struct rte_mempool *pool;

	if (environment_start(environment_pool_bytes(packets) + fabric_table_bytes(scenario)) != 0)
		return -1;
	before_bytes = resident_bytes();
	pool = fabric_pool_create((uint32_t)packets);
	simulation = pool == NULL ? NULL : simulation_create(scenario, pool, &options);
	if (simulation == NULL || simulation_run(simulation, NULL) != 0)
		return -1;
	fabric_conservation(simulation->fabric, &sum);
	*measured = (struct measured){
		.hops = fabric_packet_hops(simulation->fabric),
		.cpu_ns = simulation->cpu_ns,
		.resident_bytes = resident_bytes() - before_bytes,
		.in_flight = sum.in_flight,
	};
	return 0;
}

/* In a child; its end frees everything. */
static _Noreturn void child(const struct run *run, int output)
{
	struct scenario_options options = {.assignments = run->assignments};
	struct config_errors errors = {0};
	struct measured measured;
	struct scenario *scenario;

	while (options.assignment_count < ASSIGNMENTS &&
	       run->assignments[options.assignment_count] != NULL)
		options.assignment_count++;
	scenario = scenario_load_string("bench", run->scenario, strlen(run->scenario), &options,
					&errors);
	if (scenario == NULL) {
		config_print_errors(&errors, stderr);
		_exit(1);
	}
	if (simulate_in_child(scenario, &measured) != 0 ||
	    write(output, &measured, sizeof(measured)) != (ssize_t)sizeof(measured))
		_exit(1);
	_exit(0);
}

/** @return 0, or -EIO with a message on stderr */
static int run_measure(const struct run *run, struct measured *measured)
{
	int ends[2], status = -1;
	bool told;
	pid_t pid;

	if (pipe(ends) != 0)
		return -EIO;
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		child(run, ends[1]);
	}
	close(ends[1]);
	told = pid > 0 && read(ends[0], measured, sizeof(*measured)) == (ssize_t)sizeof(*measured);
	close(ends[0]);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (told && status == 0)
		return 0;
	fprintf(stderr, "roceleaf-lab-bench: a run failed\n");
	return -EIO;
}

/* ---- rows ---- */

static bool wanted(const struct options *options, const char *name)
{
	return options->filter == NULL || strstr(name, options->filter) != NULL;
}

static void print_separator(const struct options *options, bool *first)
{
	if (options->json)
		printf("%s\n", *first ? "[" : ",");
	*first = false;
}

static int measure_speed(const struct options *options, const struct speed_row *row, bool *first)
{
	uint32_t rounds = row->whole ? 1 : options->rounds;
	struct measured best = {0};
	double seconds, rate;

	for (uint32_t round = 0; round < rounds; round++) {
		struct measured measured;

		if (run_measure(&row->run, &measured) != 0)
			return -EIO;
		if (round == 0 || measured.cpu_ns < best.cpu_ns)
			best = measured;
	}
	seconds = (double)best.cpu_ns / 1e9;
	rate = (double)best.hops / seconds;
	print_separator(options, first);
	if (options->json)
		printf("{\"name\": \"%s\", \"packet_hops\": %" PRIu64 ", \"cpu_seconds\": %.3f, "
		       "\"packet_hops_per_second\": %.0f, \"resident_bytes\": %" PRIu64 "}",
		       row->name, best.hops, seconds, rate, best.resident_bytes);
	else
		printf("%-26s %12" PRIu64 " %9.2f %11.2f %9.0f\n", row->name, best.hops, seconds,
		       rate / 1e6, (double)best.resident_bytes / 1e6);
	fflush(stdout);
	return 0;
}

static void print_bytes(const struct options *options, const char *name, double bytes, bool *first)
{
	print_separator(options, first);
	if (options->json)
		printf("{\"name\": \"%s\", \"bytes\": %.0f}", name, bytes);
	else
		printf("%-26s %12.0f bytes\n", name, bytes);
}

static int measure_packet(const struct options *options, bool *first)
{
	const struct run run = {in_flight, {NULL}};
	struct measured measured;

	if (run_measure(&run, &measured) != 0 || measured.in_flight == 0)
		return -EIO;
	print_bytes(options, "packet-in-flight",
		    (double)measured.resident_bytes / (double)measured.in_flight, first);
	return 0;
}

/* Two leaves differ in their hosts, and in nothing else. */
static int measure_idle_host(const struct options *options, bool *first)
{
	const struct run few = {idle, {"fabric.single_leaf.hosts=128"}};
	const struct run many = {idle, {"fabric.single_leaf.hosts=384"}};
	struct measured less, more;

	if (run_measure(&few, &less) != 0 || run_measure(&many, &more) != 0)
		return -EIO;
	print_bytes(options, "idle-host",
		    ((double)more.resident_bytes - (double)less.resident_bytes) / (384 - 128),
		    first);
	return 0;
}

static int measure_all(const struct options *options)
{
	bool first = true;
	int result = 0;

	if (!options->json)
		printf("%-26s %12s %9s %11s %9s\n", "name", "packet hops", "CPU s", "M hops/s",
		       "RSS MB");
	for (size_t i = 0; i < SPEED_ROWS && result == 0; i++)
		if (wanted(options, speed_rows[i].name) && (options->whole || !speed_rows[i].whole))
			result = measure_speed(options, &speed_rows[i], &first);
	if (result == 0 && wanted(options, "packet-in-flight"))
		result = measure_packet(options, &first);
	if (result == 0 && wanted(options, "idle-host"))
		result = measure_idle_host(options, &first);
	if (options->json)
		printf("%s\n]\n", first ? "[" : "");
	return result;
}

static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{"filter", required_argument, NULL, 'f'}, {"rounds", required_argument, NULL, 'r'},
		{"long", no_argument, NULL, 'l'},         {"json", no_argument, NULL, 'j'},
		{"help", no_argument, NULL, 'h'},         {NULL, 0, NULL, 0},
	};
	unsigned long rounds = ROUNDS;
	int option;

	*options = (struct options){0};
	while ((option = getopt_long(argc, argv, "", table, NULL)) != -1) {
		switch (option) {
		case 'f':
			options->filter = optarg;
			break;
		case 'r':
			rounds = strtoul(optarg, NULL, 10);
			break;
		case 'l':
			options->whole = true;
			break;
		case 'j':
			options->json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			return -EINVAL;
		}
	}
	options->rounds = (uint32_t)rounds;
	return optind == argc && rounds >= 1 && rounds <= ROUNDS_MAX ? 0 : -EINVAL;
}

int main(int argc, char **argv)
{
	struct options options;

	if (parse_options(argc, argv, &options) != 0) {
		fputs(usage, stderr);
		return 2;
	}
	return measure_all(&options) != 0;
}
