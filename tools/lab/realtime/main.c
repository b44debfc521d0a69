/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleaf-host - RoCEv2 endpoints in real time, for people without RDMA NICs.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <rte_cycles.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>
#include <rte_net_crc.h>

#include "dataplane/io/ethdev.h"
#include "dataplane/io/packet_mmap.h"
#include "tools/lab/environment.h"
#include "tools/lab/realtime/endpoint.h"
#include "tools/lab/realtime/endpoint_config.h"
#include "tools/lab/realtime/endpoint_report.h"
#include "tools/lab/report.h"

enum { HOST_OK = 0, HOST_ERROR = 1, HOST_USAGE = 2 };

/* Buffers: what a socket's ring, a device's rings and we hold at most, with room to spare. */
#define HOST_PACKETS 8191

/* Sleeping for less isn't worth it; for longer, signals and the line a second would be late. */
#define NAP_PS_MIN (5 * PS_PER_US)
#define NAP_PS_MAX (20 * PS_PER_MS)

/* Timers of a sleep may be late by this, instead of the kernel's usual 50 us. */
#define NAP_SLACK_NS 1000

static volatile sig_atomic_t interrupted;

struct host_program {
	const char *file, *json;
	bool check, quiet;
	struct endpoint_config *config;
	struct rte_mempool *pool;
	struct port_io *io;
	struct endpoint_params params;
	struct endpoint *endpoint;
	struct endpoint_report report;
	int quiet_fd; /* keeps the kernel from answering for UDP port 4791 */
};

static void print_usage(FILE *out)
{
	fputs("usage: roceleaf-host -c FILE [--check] [--json FILE] [--quiet]\n"
	      "       roceleaf-host --help | --version | --reference\n"
	      "\n"
	      "A RoCEv2 endpoint in real time on a kernel interface or a DPDK virtual device:\n"
	      "sends messages, serves queue pairs, obeys pauses, and slows down when it is told\n"
	      "to.\n"
	      "\n"
	      "  -c, --config FILE   what to do (YAML)\n"
	      "  --check             check the file only\n"
	      "  --json FILE         write the result as JSON; - is standard output\n"
	      "  --quiet             no line a second and no summary\n"
	      "  --reference         print every key of the file\n"
	      "\n"
	      "Ends when everything was sent and nothing is served, or by SIGINT or SIGTERM.\n"
	      "Exit status: 0 it has run, 1 the file or the run is faulty, 2 bad usage.\n",
	      out);
}

static int usage_error(const char *text, const char *detail)
{
	fprintf(stderr, "roceleaf-host: %s%s\nTry roceleaf-host --help.\n", text, detail);
	return HOST_USAGE;
}

static int fault(const char *what, const char *why)
{
	fprintf(stderr, "roceleaf-host: %s: %s\n", what, why);
	return HOST_ERROR;
}

static void interrupt(int number)
{
	(void)number;
	interrupted = 1;
}

static uint64_t clock_ps(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * PS_PER_S + (uint64_t)now.tv_nsec * PS_PER_NS;
}

/* --- the port --- */

static int open_io(struct host_program *program)
{
	const struct endpoint_config *config = program->config;
	uint32_t mtu_bytes = ENDPOINT_MTU_BYTES(config->hosts.mtu_bytes);
	struct io_error error = {0};
	int result;

	if (config->driver == ENDPOINT_KERNEL) {
		const struct packet_mmap_params params = {
			.interface = config->device,
			.mtu_bytes = mtu_bytes,
			.pool = program->pool,
			.socket_id = SOCKET_ID_ANY,
		};

		result = packet_mmap_open(&params, &program->io, &error);
	} else {
		const struct ethdev_params params = {
			.device = config->device,
			.driver = ETHDEV_VDEV,
			.rx_queues_max = 1,
			.tx_queues = 1,
			.mtu_bytes = mtu_bytes,
			.flow_control = FLOW_CONTROL_SOFTWARE,
			.pool = program->pool,
		};

		result = ethdev_open(&params, &program->io, &error);
	}
	if (result != 0)
		return fault(config->device, error.text);
	if (error.text[0] != '\0')
		fprintf(stderr, "roceleaf-host: %s\n", error.text);
	return HOST_OK;
}

/*
 * The kernel sees what comes to its address, too, and would answer that nobody listens at the port. A socket
 * that nobody reads is enough. Where the kernel doesn't have the address, there is nothing to be kept from.
 */
static int hush_kernel(struct host_program *program)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(FRAME_UDP_PORT)};
	int small = 1;

	if (program->config->driver != ENDPOINT_KERNEL)
		return HOST_OK;
	memcpy(&address.sin_addr, program->params.ip, 4);
	program->quiet_fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (program->quiet_fd < 0)
		return fault("socket", strerror(errno));
	(void)setsockopt(program->quiet_fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
	if (bind(program->quiet_fd, (struct sockaddr *)&address, sizeof(address)) == 0 ||
	    errno == EADDRNOTAVAIL)
		return HOST_OK;
	return fault("UDP port 4791", strerror(errno));
}

static int host_rate(struct host_program *program)
{
	struct port_io_link link = {0};

	program->params.rate_bps = program->config->speed_bps;
	if (program->params.rate_bps != 0)
		return HOST_OK;
	(void)program->io->ops->link(program->io, &link);
	if (link.speed_bps < RATE_BPS_MIN || link.speed_bps > RATE_BPS_MAX)
		return fault(program->config->device, "doesn't say how fast it is: give `speed`");
	program->params.rate_bps = link.speed_bps;
	return HOST_OK;
}

static int set_up(struct host_program *program)
{
	uint32_t mtu_bytes = ENDPOINT_MTU_BYTES(program->config->hosts.mtu_bytes);
	uint32_t room = RTE_PKTMBUF_HEADROOM + (mtu_bytes + 64 + 1023) / 1024 * 1024;
	int status;

	if (environment_start((uint64_t)HOST_PACKETS * (room + 512)) != 0)
		return HOST_ERROR;
	rte_net_crc_set_alg(RTE_NET_CRC_AVX512); /* or the best there is */
	program->pool = rte_pktmbuf_pool_create("host", HOST_PACKETS, 256, 0, (uint16_t)room,
						SOCKET_ID_ANY);
	if (program->pool == NULL)
		return fault("packet buffers", rte_strerror(rte_errno));
	endpoint_config_params(program->config, clock_ps(), &program->params);
	status = hush_kernel(program);
	if (status == HOST_OK)
		status = open_io(program);
	if (status == HOST_OK)
		status = host_rate(program);
	if (status != HOST_OK)
		return status;
	program->params.io = program->io;
	program->params.pool = program->pool;
	return HOST_OK;
}

static void tear_down(struct host_program *program)
{
	endpoint_free(program->endpoint);
	port_io_close(program->io);
	rte_mempool_free(program->pool);
	if (program->quiet_fd >= 0)
		close(program->quiet_fd);
}

/* --- running --- */

static void nap(struct port_io *io, uint64_t time_ps)
{
	int fd = io->ops->descriptor == NULL ? -1 : io->ops->descriptor(io, 0);
	struct pollfd wait = {.fd = fd, .events = POLLIN};
	struct timespec time = {0};

	/* What can't wake us is asked often. */
	if (fd < 0)
		time_ps = time_min(time_ps, 10 * NAP_PS_MIN);
	time.tv_nsec = (long)(time_min(time_ps, NAP_PS_MAX) / PS_PER_NS);
	(void)ppoll(&wait, 1, &time, NULL);
	if ((wait.revents & POLLERR) != 0) {
		int error;
		socklen_t size = sizeof(error);

		/* The interface has gone down; the error goes by being read. */
		(void)getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	}
}

static void run(struct host_program *program)
{
	bool serves = false, spins = program->config->idle == CONFIG_IDLE_SPIN;
	FILE *line = !program->quiet && isatty(STDERR_FILENO) ? stderr : NULL;
	uint64_t now_ps = clock_ps(), second_ps = now_ps + PS_PER_S, due_ps;

	for (uint32_t i = 0; i < ENDPOINT_QUEUE_PAIRS / 64; i++)
		serves |= program->params.served[i] != 0;
	while (interrupted == 0 && (serves || !endpoint_done(program->endpoint))) {
		due_ps = endpoint_poll(program->endpoint, now_ps);
		if (!time_after(second_ps, now_ps)) {
			endpoint_report_interval(&program->report, now_ps, line);
			second_ps += PS_PER_S;
		}
		now_ps = clock_ps();
		if (!spins && time_after(due_ps, now_ps + NAP_PS_MIN)) {
			nap(program->io, due_ps - now_ps);
			now_ps = clock_ps();
		}
	}
}

static int finish(struct host_program *program)
{
	uint64_t now_ps = clock_ps();
	json_t *result;
	int status = HOST_OK;

	endpoint_report_interval(&program->report, now_ps, NULL);
	result = endpoint_report_json(&program->report, now_ps);
	if (program->json != NULL && report_write_json(result, program->json) != 0)
		status = HOST_ERROR;
	if (!program->quiet && (program->json == NULL || strcmp(program->json, "-") != 0))
		endpoint_report_print(result, stdout);
	json_decref(result);
	endpoint_report_fini(&program->report);
	return status;
}

static int run_host(struct host_program *program)
{
	struct sigaction action = {.sa_handler = interrupt};
	int status = set_up(program);
	uint64_t now_ps = clock_ps();

	if (status == HOST_OK) {
		sigaction(SIGINT, &action, NULL);
		sigaction(SIGTERM, &action, NULL);
		(void)prctl(PR_SET_TIMERSLACK, NAP_SLACK_NS);
		program->endpoint = endpoint_create(&program->params, now_ps);
		endpoint_report_init(&program->report, program->endpoint, &program->params, now_ps);
		run(program);
		status = finish(program);
	}
	tear_down(program);
	return status;
}

/* --- arguments --- */

enum { HOST_JSON = 256, HOST_CHECK, HOST_QUIET, HOST_HELP, HOST_VERSION, HOST_REFERENCE };

static int flush_output(void)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return HOST_OK;
	return fault("standard output", strerror(errno));
}

/* @return -1: go on */
static int parse(int count, char **texts, struct host_program *program)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check", no_argument, NULL, HOST_CHECK},
		{"json", required_argument, NULL, HOST_JSON},
		{"quiet", no_argument, NULL, HOST_QUIET},
		{"help", no_argument, NULL, HOST_HELP},
		{"version", no_argument, NULL, HOST_VERSION},
		{"reference", no_argument, NULL, HOST_REFERENCE},
		{NULL, 0, NULL, 0},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(count, texts, ":c:h", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			program->file = optarg;
			break;
		case HOST_CHECK:
			program->check = true;
			break;
		case HOST_JSON:
			program->json = optarg;
			break;
		case HOST_QUIET:
			program->quiet = true;
			break;
		case 'h':
		case HOST_HELP:
			print_usage(stdout);
			return flush_output();
		case HOST_VERSION:
			printf("roceleaf-host %s\n", HOST_VERSION_TEXT);
			return flush_output();
		case HOST_REFERENCE:
			schema_print_reference(&endpoint_table, "host.yaml of roceleaf-host", false,
					       stdout);
			return flush_output();
		case ':':
			return usage_error("a value is missing after ", texts[optind - 1]);
		default:
			return usage_error("unknown option ", texts[optind - 1]);
		}
	}
	if (optind != count)
		return usage_error("what is ", texts[optind]);
	return program->file == NULL ? usage_error("-c FILE is missing", "") : -1;
}

int main(int count, char **texts)
{
	static struct config_errors errors;
	struct host_program program = {.quiet_fd = -1};
	int status = parse(count, texts, &program);

	if (status >= 0)
		return status;
	program.config = endpoint_config_load(program.file, &errors);
	if (program.config == NULL) {
		config_print_errors(&errors, stderr);
		return HOST_ERROR;
	}
	if (!program.check)
		status = run_host(&program);
	else if (!program.quiet)
		printf("%s: good\n", program.file);
	endpoint_config_free(program.config);
	return program.check ? flush_output() : status;
}
