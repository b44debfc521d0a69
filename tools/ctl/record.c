/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/record.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/client.h"
#include "tools/ctl/record_picture.h"
#include "tools/ctl/screen.h"

#define EXIT_USAGE     2
#define ASK_SECONDS    0.05
#define BARS           60
#define NS_PER_MS      1e6
#define NS_PER_US      1e3
#define TIME_DEFAULT   "10ms"
#define RECORD_COMMAND "/roceleaf/record"
#define ABOUT_COMMAND  "/roceleaf/recording"

const char record_help[] =
	"usage: roceleafctl record [OPTIONS]\n\n"
	"Records how deep queues are, and what is paused, and prints a row of bars for\n"
	"each queue.\n\n"
	"Options:\n"
	"  --for TIME          how long (default " TIME_DEFAULT ")\n"
	"  --every TIME        how often queues are looked at (default 1us, the least)\n"
	"  --trigger WHEN      wait until the leaf begins to pause a peer (xoff), or\n"
	"                      until a queue holds so much (100KB); half of the time is\n"
	"                      before it, half after\n"
	"  --last TIME         instead: of what is recorded all the time, every\n"
	"                      telemetry.record\n"
	"  --port PORT         queues of one port only\n"
	"  --priority N        queues of one priority only\n"
	"  --csv FILE          write all samples to a file (-: standard output)\n"
	"  --json              print all samples as one object\n"
	"  --runtime-dir DIR   where the leaf's sockets are\n"
	"  --help              this text\n";

/* One recording and what it is about. */
struct recorded_reply {
	struct reply about, samples;
};

static int complain(const struct ctl_error *error)
{
	fprintf(stderr, "roceleafctl: %s\n", error->text);
	return EXIT_FAILURE;
}

/* --- asking --- */

/* @return 0 with what the leaf said in `answer`, else the exit status */
static int ask_leaf(const struct record_options *options, const char *line, char *answer,
		    size_t size)
{
	struct ctl_error error;
	char *text = NULL;
	size_t text_size = 0;
	FILE *out = open_memstream(&text, &text_size);
	int ret;

	if (out == NULL)
		return EXIT_FAILURE;
	ret = client_control(options->runtime_dir, line, out, stderr, &error);
	fclose(out);
	snprintf(answer, size, "%s", text);
	answer[strcspn(answer, "\n")] = '\0';
	free(text);
	return ret < 0 ? complain(&error) : ret;
}

static void add_word(char *line, size_t size, const char *key, const char *value)
{
	size_t used = strlen(line);

	if (value != NULL)
		snprintf(line + used, size - used, " %s=%s", key, value);
}

/* Until it is done. @return the exit status */
static int wait_for_leaf(const struct record_options *options)
{
	char answer[32] = "";
	struct screen screen;
	bool told = false;
	int ret = 0;

	screen_start(&screen, STDERR_FILENO, true);
	while (ret == 0) {
		ret = ask_leaf(options, "record status", answer, sizeof(answer));
		if (ret != 0 || strcmp(answer, "done") == 0)
			break;
		if (!told && strcmp(answer, "armed") == 0 && isatty(STDERR_FILENO))
			fprintf(stderr, "waiting for %s; Ctrl-C ends it\n", options->trigger);
		told = told || strcmp(answer, "armed") == 0;
		if (!screen_wait(&screen, ASK_SECONDS)) {
			(void)ask_leaf(options, "record stop", answer, sizeof(answer));
			fprintf(stderr, "roceleafctl: nothing was recorded\n");
			ret = EXIT_FAILURE;
		}
	}
	screen_end(&screen);
	return ret;
}

static int ask_for_recording(const struct record_options *options)
{
	char line[400], answer[64];
	int ret;

	if (options->last != NULL)
		snprintf(line, sizeof(line), "record last=%s", options->last);
	else
		snprintf(line, sizeof(line), "record start for=%s",
			 options->time == NULL ? TIME_DEFAULT : options->time);
	add_word(line, sizeof(line), "every", options->every);
	add_word(line, sizeof(line), "port", options->port);
	add_word(line, sizeof(line), "priority", options->priority);
	add_word(line, sizeof(line), "trigger", options->trigger);
	ret = ask_leaf(options, line, answer, sizeof(answer));
	return ret != 0 || options->last != NULL ? ret : wait_for_leaf(options);
}

static int fetch_recording(const struct record_options *options, struct recorded_reply *reply,
			   struct ctl_error *error)
{
	struct client client;
	int ret = client_open(&client, options->runtime_dir, error);

	reply_init(&reply->about);
	reply_init(&reply->samples);
	if (ret != 0)
		return ret;
	ret = client_fetch(&client, ABOUT_COMMAND, &reply->about, error);
	if (ret == 0)
		ret = client_fetch(&client, RECORD_COMMAND, &reply->samples, error);
	client_close(&client);
	return ret;
}

/* --- printing --- */

static int print_csv(const struct reply *samples, const char *path)
{
	FILE *out = strcmp(path, "-") == 0 ? stdout : fopen(path, "we");
	bool failed;

	if (out == NULL) {
		fprintf(stderr, "roceleafctl: %s: %s\n", path, strerror(errno));
		return EXIT_FAILURE;
	}
	fputs("time_ns,port,priority,depth_bytes,paused,peer_paused\n", out);
	for (size_t row = 0; row < samples->rows; row++)
		fprintf(out, "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 "\n",
			reply_number(samples, "at_ns", row), reply_text(samples, "port", row),
			reply_number(samples, "priority", row),
			reply_number(samples, "depth_bytes", row),
			reply_number(samples, "paused", row),
			reply_number(samples, "peer_paused", row));
	failed = ferror(out) != 0;
	failed = (out == stdout ? fflush(out) : fclose(out)) != 0 || failed;
	if (failed)
		fprintf(stderr, "roceleafctl: %s: can't be written\n", path);
	return failed ? EXIT_FAILURE : 0;
}

static int print_object(const struct recorded_reply *reply)
{
	json_t *about = reply_rows_json(&reply->about);
	json_t *root = json_pack("{s:O, s:o}", "recording", json_array_get(about, 0), "samples",
				 reply_rows_json(&reply->samples));
	int ret = EXIT_FAILURE;

	if (root != NULL && json_dumpf(root, stdout, JSON_INDENT(1)) == 0)
		ret = putchar('\n') == EOF || fflush(stdout) != 0;
	json_decref(root);
	json_decref(about);
	return ret;
}

static void print_about(const struct reply *about)
{
	double duration_ns = (double)reply_number(about, "duration_ns", 0);
	uint64_t every_ns = reply_number(about, "every_ns", 0);

	printf("%.6g ms", duration_ns / NS_PER_MS);
	if (every_ns != 0)
		printf(", every %.6g us", (double)every_ns / NS_PER_US);
	printf(", a bar is %.4g us", duration_ns / BARS / NS_PER_US);
	if (reply_number(about, "triggered", 0) != 0)
		printf("; trigger after %.6g us: %s, priority %" PRIu64,
		       (double)reply_number(about, "trigger_ns", 0) / NS_PER_US,
		       reply_text(about, "trigger_port", 0),
		       reply_number(about, "trigger_priority", 0));
	printf("\n");
	if (reply_number(about, "complete", 0) == 0)
		printf("(not all of it: changes came faster than the ring keeps for so long)\n");
}

static int print_picture(const struct recorded_reply *reply)
{
	uint64_t duration_ns = reply_number(&reply->about, "duration_ns", 0);
	struct table *table =
		record_picture(&reply->samples, duration_ns == 0 ? 1 : duration_ns, BARS);
	int ret = EXIT_FAILURE;

	print_about(&reply->about);
	if (table != NULL && table_row_count(table) == 0)
		printf("No queue held anything.\n");
	else if (table != NULL)
		ret = table_write(table, stdout, screen_has_colour(STDOUT_FILENO), 0, 0);
	if (table != NULL && table_row_count(table) == 0)
		ret = 0;
	table_free(table);
	return ret != 0 || fflush(stdout) != 0 ? EXIT_FAILURE : 0;
}

int record_run(const struct record_options *options)
{
	struct recorded_reply reply;
	struct ctl_error error;
	int ret = ask_for_recording(options);

	if (ret != 0)
		return ret;
	if (fetch_recording(options, &reply, &error) != 0)
		return complain(&error);
	if (options->csv != NULL)
		ret = print_csv(&reply.samples, options->csv);
	else
		ret = options->json ? print_object(&reply) : print_picture(&reply);
	reply_free(&reply.about);
	reply_free(&reply.samples);
	return ret;
}

/* --- options --- */

enum { REC_FOR = 256, REC_EVERY, REC_TRIGGER, REC_LAST, REC_PORT, REC_PRIORITY, REC_CSV, REC_DIR };

static const struct option record_long_options[] = {
	{"for", required_argument, NULL, REC_FOR},
	{"every", required_argument, NULL, REC_EVERY},
	{"trigger", required_argument, NULL, REC_TRIGGER},
	{"last", required_argument, NULL, REC_LAST},
	{"port", required_argument, NULL, REC_PORT},
	{"priority", required_argument, NULL, REC_PRIORITY},
	{"csv", required_argument, NULL, REC_CSV},
	{"runtime-dir", required_argument, NULL, REC_DIR},
	{"json", no_argument, NULL, 'j'},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

/* @return true when an option takes a text, which is where that goes */
static bool take_text(struct record_options *options, int option, const char *text)
{
	const char **field[] = {&options->time, &options->every,      &options->trigger,
				&options->last, &options->port,       &options->priority,
				&options->csv,  &options->runtime_dir};

	if (option < REC_FOR || option > REC_DIR)
		return false;
	*field[option - REC_FOR] = text;
	return true;
}

static int record_usage(const char *what)
{
	fprintf(stderr, "roceleafctl: record: %s\nTry 'roceleafctl record --help'.\n", what);
	return EXIT_USAGE;
}

/* What goes to the leaf is one line of words. */
static bool is_word(const char *text)
{
	return text == NULL ||
	       (text[0] != '\0' && strlen(text) < 64 && strpbrk(text, " \n\r\t") == NULL);
}

int record_main(const char *runtime_dir, int argc, char **argv)
{
	struct record_options options = {.runtime_dir = runtime_dir};
	int option;

	optind = 0; /* getopt begins anew */
	while ((option = getopt_long(argc, argv, "h", record_long_options, NULL)) != -1) {
		if (option == 'j') {
			options.json = 1;
		} else if (option == 'h') {
			fputs(record_help, stdout);
			return 0;
		} else if (!take_text(&options, option, optarg)) {
			/* getopt has said what is wrong */
			fprintf(stderr, "Try 'roceleafctl record --help'.\n");
			return EXIT_USAGE;
		}
	}
	if (optind < argc)
		return record_usage("it takes options only");
	if (options.last != NULL &&
	    (options.time != NULL || options.every != NULL || options.trigger != NULL))
		return record_usage("--last goes without --for, --every and --trigger");
	if (options.csv != NULL && options.json)
		return record_usage("--csv and --json don't go together");
	if (!is_word(options.time) || !is_word(options.last) || !is_word(options.every) ||
	    !is_word(options.port) || !is_word(options.priority) || !is_word(options.trigger))
		return record_usage("that is no word");
	return record_run(&options);
}
