/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/capture.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <pcap/pcap.h>

#include "tools/ctl/capture_read.h"
#include "tools/ctl/client.h"
#include "tools/ctl/screen.h"
#include "tools/pcapng/pcapng.h"

#define EXIT_USAGE   2
#define LOOK_SECONDS 0.02
#define NS_PER_S     1e9

static const char capture_help[] =
	"usage: roceleafctl capture [OPTIONS] PORT FILE\n\n"
	"Writes what a port receives and sends, pauses included, to FILE in pcapng, which\n"
	"Wireshark reads (-: standard output); until Ctrl-C. The leaf never waits: copies\n"
	"for which there is no room are left out and counted.\n\n"
	"Options:\n"
	"  --filter EXPR       only frames that match, as tcpdump has it: 'udp port 4791'\n"
	"  --packets N         end after so many\n"
	"  --for TIME          end after this time: 500ms, 10s, 5min\n"
	"  --snap BYTES        of each frame at most (64 to 16384, default 256)\n"
	"  --runtime-dir DIR   where the leaf's sockets are\n"
	"  --help              this text\n";

struct capture_options {
	const char *runtime_dir, *port, *path, *filter;
	uint64_t packets; /* 0: no limit */
	double seconds;   /* 0: no limit */
	const char *snap;
};

/* A capture on its way into a file. */
struct writing {
	struct capture_reader reader;
	FILE *file;
	bool filtered;
	struct bpf_program program;
	uint64_t packets, packets_max, seen;
};

static int capture_fail(const char *what, const char *why)
{
	fprintf(stderr, "roceleafctl: capture: %s: %s\n", what, why);
	return EXIT_FAILURE;
}

static int capture_usage(const char *what)
{
	fprintf(stderr, "roceleafctl: capture: %s\nTry 'roceleafctl capture --help'.\n", what);
	return EXIT_USAGE;
}

/* --- frames --- */

static bool is_wanted(const struct writing *writing, const struct capture_frame *frame)
{
	const struct pcap_pkthdr header = {.caplen = frame->captured_bytes, .len = frame->bytes};

	return !writing->filtered ||
	       pcap_offline_filter(&writing->program, &header, frame->data) != 0;
}

/* @return false: no more */
static bool write_frame(void *context, const struct capture_frame *frame)
{
	struct writing *writing = context;

	writing->seen++;
	if (!is_wanted(writing, frame))
		return true;
	pcapng_packet(writing->file,
		      &(struct pcapng_packet){
			      .direction = frame->outbound ? PCAPNG_OUTBOUND : PCAPNG_INBOUND,
			      .time_ns = frame->time_ns,
			      .data = frame->data,
			      .data_bytes = frame->captured_bytes,
			      .captured_bytes = frame->captured_bytes,
			      .original_bytes = frame->bytes,
		      });
	writing->packets++;
	return writing->packets != writing->packets_max;
}

static double clock_seconds(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / NS_PER_S;
}

/* Until a signal, the time, the number, the leaf's end or an error. */
static void write_frames(struct writing *writing, double seconds)
{
	double end = clock_seconds(CLOCK_MONOTONIC) + seconds;
	struct screen screen;
	bool go_on = true;

	screen_start(&screen, STDERR_FILENO, true);
	while (go_on) {
		bool ended = capture_reader_ended(&writing->reader);

		go_on = capture_reader_look(&writing->reader, write_frame, writing) && !ended &&
			fflush(writing->file) == 0 &&
			(seconds == 0 || clock_seconds(CLOCK_MONOTONIC) < end) &&
			screen_wait(&screen, LOOK_SECONDS);
	}
	/* What came before the signal, or the end of the time. */
	if (writing->packets == 0 || writing->packets != writing->packets_max)
		(void)capture_reader_look(&writing->reader, write_frame, writing);
	screen_end(&screen);
}

/* --- from the options to the file --- */

static int compile_filter(struct writing *writing, const char *expression)
{
	pcap_t *nothing = pcap_open_dead(DLT_EN10MB, CAPTURE_SNAP_MAX);
	int ret = 0;

	if (nothing == NULL)
		return capture_fail("filter", strerror(ENOMEM));
	if (pcap_compile(nothing, &writing->program, expression, 1, PCAP_NETMASK_UNKNOWN) != 0) {
		fprintf(stderr, "roceleafctl: capture: filter '%s': %s\n", expression,
			pcap_geterr(nothing));
		ret = EXIT_USAGE;
	}
	writing->filtered = ret == 0;
	pcap_close(nothing);
	return ret;
}

static int begin_capture(const struct capture_options *options, struct writing *writing)
{
	struct ctl_error error;
	char line[200];
	FILE *nowhere = fopen("/dev/null", "we");
	int fd, ret;

	if (nowhere == NULL)
		return capture_fail("/dev/null", strerror(errno));
	if (options->snap == NULL)
		snprintf(line, sizeof(line), "capture port=%s", options->port);
	else
		snprintf(line, sizeof(line), "capture port=%s snap=%s", options->port,
			 options->snap);
	ret = client_control_fd(options->runtime_dir, line, nowhere, stderr, &fd, &error);
	fclose(nowhere);
	if (ret < 0) {
		fprintf(stderr, "roceleafctl: %s\n", error.text);
		return EXIT_FAILURE;
	}
	if (ret == 0 && capture_reader_open(&writing->reader, fd) != 0)
		ret = capture_fail("the leaf's memory", strerror(errno));
	if (fd >= 0)
		close(fd);
	return ret;
}

static void end_capture(const struct capture_options *options, struct writing *writing)
{
	uint64_t dropped = capture_reader_dropped(&writing->reader);

	pcapng_statistics(writing->file, 0, (uint64_t)(clock_seconds(CLOCK_REALTIME) * NS_PER_S),
			  writing->seen + dropped, dropped);
	capture_reader_close(&writing->reader);
	fprintf(stderr, "%" PRIu64 " packets of %s", writing->packets, options->port);
	if (writing->filtered)
		fprintf(stderr, " of %" PRIu64, writing->seen);
	if (dropped != 0)
		fprintf(stderr, "; %" PRIu64 " copies dropped: they came too fast", dropped);
	fputc('\n', stderr);
}

static int capture_to_file(const struct capture_options *options, struct writing *writing)
{
	bool to_stdout = strcmp(options->path, "-") == 0, failed;
	int ret;

	if (to_stdout && isatty(STDOUT_FILENO))
		return capture_usage("that is no text for a terminal: name a file, or pipe it");
	/* First the leaf: a capture that can't begin leaves no empty file. */
	ret = begin_capture(options, writing);
	if (ret != 0)
		return ret;
	writing->file = to_stdout ? stdout : fopen(options->path, "we");
	if (writing->file == NULL) {
		ret = capture_fail(options->path, strerror(errno));
		capture_reader_close(&writing->reader);
		return ret;
	}
	pcapng_section(writing->file);
	pcapng_interface(writing->file, options->port, capture_reader_snap_bytes(&writing->reader));
	write_frames(writing, options->seconds);
	end_capture(options, writing);
	failed = ferror(writing->file) != 0;
	failed = (to_stdout ? fflush(stdout) : fclose(writing->file)) != 0 || failed;
	return failed ? capture_fail(options->path, "can't be written") : 0;
}

/* --- options --- */

enum { CAP_FILTER = 256, CAP_PACKETS, CAP_FOR, CAP_SNAP, CAP_DIR };

static const struct option capture_long_options[] = {
	{"filter", required_argument, NULL, CAP_FILTER},
	{"packets", required_argument, NULL, CAP_PACKETS},
	{"for", required_argument, NULL, CAP_FOR},
	{"snap", required_argument, NULL, CAP_SNAP},
	{"runtime-dir", required_argument, NULL, CAP_DIR},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static bool parse_packets(const char *text, uint64_t *packets)
{
	char *end;

	errno = 0;
	*packets = strtoull(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *packets > 0;
}

/* 500ms, 10s, 5min */
static bool parse_time(const char *text, double *seconds)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {"min", 60}};
	char *end;

	if (text[0] < '0' || text[0] > '9')
		return false;
	*seconds = strtod(text, &end);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strcmp(end, units[i].name) != 0)
			continue;
		*seconds *= units[i].seconds;
		return *seconds > 0;
	}
	return false;
}

/* @return 0, -1 when done, or the exit status */
static int parse_capture_option(struct capture_options *options, int option)
{
	switch (option) {
	case CAP_FILTER:
		options->filter = optarg;
		return 0;
	case CAP_PACKETS:
		return parse_packets(optarg, &options->packets)
			       ? 0
			       : capture_usage("--packets must be a number from 1");
	case CAP_FOR:
		return parse_time(optarg, &options->seconds)
			       ? 0
			       : capture_usage("--for must be a time: 500ms, 10s, 5min");
	case CAP_SNAP:
		options->snap = optarg;
		return strpbrk(optarg, " \n") == NULL ? 0 : capture_usage("--snap is no number");
	case CAP_DIR:
		options->runtime_dir = optarg;
		return 0;
	case 'h':
		fputs(capture_help, stdout);
		return -1;
	default:
		/* getopt has said what is wrong */
		fprintf(stderr, "Try 'roceleafctl capture --help'.\n");
		return EXIT_USAGE;
	}
}

int capture_main(const char *runtime_dir, int argc, char **argv)
{
	struct capture_options options = {.runtime_dir = runtime_dir};
	struct writing writing = {.packets = 0};
	int option, ret = 0;

	optind = 0; /* getopt begins anew */
	while (ret == 0 &&
	       (option = getopt_long(argc, argv, "h", capture_long_options, NULL)) != -1)
		ret = parse_capture_option(&options, option);
	if (ret != 0)
		return ret < 0 ? 0 : ret;
	if (argc - optind != 2)
		return capture_usage("it needs a PORT and a FILE");
	options.port = argv[optind];
	options.path = argv[optind + 1];
	if (strlen(options.port) > 64 || strpbrk(options.port, " \n") != NULL)
		return capture_usage("that is no name of a port");
	writing.packets_max = options.packets;
	if (options.filter != NULL)
		ret = compile_filter(&writing, options.filter);
	if (ret == 0)
		ret = capture_to_file(&options, &writing);
	if (writing.filtered)
		pcap_freecode(&writing.program);
	return ret;
}
