/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleafctl - what people type to look at a running leaf and to steer it.
 *
 * Exit status: 0 done, 1 it could not be done (no leaf, refused, bad file), 2 bad usage.
 */
#include <errno.h>
#include <getopt.h>
#include <libgen.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/capture.h"
#include "tools/ctl/client.h"
#include "tools/ctl/follow.h"
#include "tools/ctl/record.h"
#include "tools/ctl/show.h"
#include "tools/ctl/view.h"
#include "tools/ctl/why_leaf.h"

#define EXIT_USAGE 2

#define RUNTIME_DIR_DEFAULT "/run/roceleaf"
#define RUNTIME_DIR_ENV     "ROCELEAF_RUNTIME_DIR"

/* Of a mark's text. */
#define MARK_BYTES 256

/* A frame needs a look at the leaf; more often than this only loads it. */
#define WATCH_SECONDS_MIN 0.1
#define WATCH_SECONDS_MAX 86400.0

struct options {
	struct show_options show;
	bool help;
	bool next; /* of why */
};

struct command {
	const char *name;
	const char *arguments;
	const char *help;
	const char *about;
	int (*run)(const struct options *options, int argc, char **argv);
	/* Or, with options of its own: argv[0] is its name. */
	int (*main)(const char *runtime_dir, int argc, char **argv);
};

static int run_show(const struct options *options, int argc, char **argv);
static int run_reload(const struct options *options, int argc, char **argv);
static int run_check(const struct options *options, int argc, char **argv);
static int run_clear(const struct options *options, int argc, char **argv);
static int run_mark(const struct options *options, int argc, char **argv);
static int run_clear_peaks(const struct options *options, int argc, char **argv);
static int run_why(const struct options *options, int argc, char **argv);

static const struct command commands[] = {
	{"show", "WHAT [PORT...]", "print a table; 'show --help' lists them", NULL, run_show, NULL},
	{"reload", "", "let the leaf read its config file again",
	 "All or nothing: a file that is wrong, or that changes what can't be changed at\n"
	 "run time, is refused with the reasons, and the leaf goes on as before.\n",
	 run_reload, NULL},
	{"check", "FILE", "check a config file without touching anything",
	 "The same as 'roceleaf --check FILE'. No leaf needs to run.\n", run_check, NULL},
	{"clear", "", "count from now on, for this user",
	 "Remembers the counters of this moment; 'show' then prints what came since, until\n"
	 "the leaf is restarted. Nothing in the leaf is reset: other users, and 'show\n"
	 "--absolute', still see everything.\n",
	 run_clear, NULL},
	{"clear-peaks", "[KIND]", "start peaks again, in the leaf",
	 "Each peak is kept in three copies, and only that of KIND is cleared: user (the\n"
	 "default), periodic (the leaf itself clears it every 2 minutes) or persistent\n"
	 "(what 'show' prints). A queue that holds something starts again from that.\n",
	 run_clear_peaks, NULL},
	{"mark", "TEXT", "note a phase of a job, among the events",
	 "'show marks' then tells what the fabric did from each mark to the next: a step.\n"
	 "At most 256 bytes of UTF-8. Who can't reach the socket may POST /v1/marks, see\n"
	 "telemetry.marks.\n",
	 run_mark, NULL},
	{.name = "record",
	 .arguments = "[OPTIONS]",
	 .help = "how deep queues are, microsecond by microsecond",
	 .main = record_main},
	{.name = "capture",
	 .arguments = "PORT FILE",
	 .help = "write a port's frames, both ways, to a file for Wireshark",
	 .main = capture_main},
	{"why", "[SECONDS]", "what slowed traffic down, worst first",
	 "Names what may have cost time in the last SECONDS (10), in sentences with\n"
	 "numbers: peers that pause, hot uplinks, incasts, lossy bursts, late workers. The\n"
	 "leaf remembers as much as telemetry.history says (5 minutes).\n"
	 "--next: in the next SECONDS (2), instead. --json: the same for programs.\n",
	 run_why, NULL},
};

#define COMMAND_COUNT (sizeof(commands) / sizeof(commands[0]))

static const char options_help[] =
	"  --runtime-dir DIR   where the leaf's sockets are (its config's runtime_dir;\n"
	"                      default $" RUNTIME_DIR_ENV ", else " RUNTIME_DIR_DEFAULT ")\n"
	"  --help              this text, or that of a command\n"
	"  --version           print the version\n";

static const char show_options_help[] =
	"  --json              for programs: every column, stable names, exact numbers\n"
	"  --watch [SECONDS]   draw again and again (default every 1 s), with rates per\n"
	"                      second\n"
	"  --count N           end --watch after N times\n"
	"  --follow            of events: the last ten (--all: all that are kept), then\n"
	"                      each as it comes; with --json one object a line\n"
	"  --all               also what is left out otherwise\n"
	"  --absolute          count from the start of the leaf, not from 'clear' on\n";

__attribute__((format(printf, 1, 2))) static int usage(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	fprintf(stderr, "roceleafctl: ");
	vfprintf(stderr, format, arguments);
	fprintf(stderr, "\nTry 'roceleafctl --help'.\n");
	va_end(arguments);
	return EXIT_USAGE;
}

static int help_all(void)
{
	printf("usage: roceleafctl [OPTIONS] COMMAND [ARGUMENTS]\n\n"
	       "Looks at a running roceleaf and steers it.\n\nCommands:\n");
	for (size_t i = 0; i < COMMAND_COUNT; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%s %s", commands[i].name, commands[i].arguments);
		printf("  %-19s %s\n", name, commands[i].help);
	}
	printf("\nOptions:\n%s\nOptions of show:\n%s\n"
	       "Exit status: 0 done, 1 it could not be done, 2 bad usage.\n",
	       options_help, show_options_help);
	return 0;
}

static int help_show(void)
{
	printf("usage: roceleafctl show WHAT [PORT...] [OPTIONS]\n\nWHAT is one of\n");
	for (size_t i = 0; i < view_count; i++)
		printf("  %-19s %s\n", views[i].name, views[i].help);
	printf("\nOptions:\n%s%s", show_options_help, options_help);
	return 0;
}

static int help_view(const struct view *view)
{
	printf("usage: roceleafctl show %s %s[OPTIONS]\n\nPrints %s.\n%s%s%s\nOptions:\n%s%s",
	       view->name, view->by_port ? "[PORT...] " : "", view->help,
	       view->about == NULL ? "" : "\n", view->about == NULL ? "" : view->about,
	       view->about == NULL ? "" : "\n", show_options_help, options_help);
	return 0;
}

static int help_command(const struct command *command)
{
	printf("usage: roceleafctl %s%s%s [OPTIONS]\n\n%c%s.\n", command->name,
	       command->arguments[0] == '\0' ? "" : " ", command->arguments,
	       command->help[0] - 'a' + 'A', command->help + 1);
	if (command->about != NULL)
		printf("%s", command->about);
	printf("\nOptions:\n%s", options_help);
	return 0;
}

static int report(const struct ctl_error *error)
{
	fprintf(stderr, "roceleafctl: %s\n", error->text);
	return EXIT_FAILURE;
}

/* A whole number of seconds or a decimal one; anything else is not the argument of --watch. */
static bool parse_seconds(const char *text, double *seconds)
{
	char *end;

	if (text == NULL || text[strspn(text, "0123456789.")] != '\0')
		return false;
	*seconds = strtod(text, &end);
	return end != text && *end == '\0';
}

/* --- commands --- */

static int run_show(const struct options *options, int argc, char **argv)
{
	struct show_options show = options->show;

	if (argc == 0)
		return usage("show what? Try 'roceleafctl show --help'");
	show.view = view_find(argv[0]);
	if (show.view == NULL)
		return usage("there is nothing to show by the name of '%.64s'", argv[0]);
	if (argc > 1 && !show.view->by_port)
		return usage("show %s takes no ports", argv[0]);
	if (show.count > 0 && !show.watch)
		return usage("--count goes with --watch");
	if (show.follow && strcmp(show.view->name, "events") != 0)
		return usage("--follow goes with 'show events'; there is --watch");
	if (show.follow && show.watch)
		return usage("--follow and --watch don't go together");
	show.ports = argv + 1;
	show.port_count = (size_t)argc - 1;
	return show.follow ? follow_run(&show) : show_run(&show);
}

static int control(const struct options *options, const char *line)
{
	struct ctl_error error;
	int ret = client_control(options->show.runtime_dir, line, stdout, stderr, &error);

	return ret < 0 ? report(&error) : ret;
}

static int run_reload(const struct options *options, int argc, char **argv)
{
	if (argc > 0)
		return usage("reload takes no argument, not '%.64s': the leaf knows its file",
			     argv[0]);
	return control(options, "reload");
}

static int run_clear(const struct options *options, int argc, char **argv)
{
	if (argc > 0)
		return usage("clear takes no argument, not '%.64s'", argv[0]);
	return show_clear(options->show.runtime_dir);
}

static int run_clear_peaks(const struct options *options, int argc, char **argv)
{
	char line[64];

	if (argc > 1)
		return usage("clear-peaks takes one kind, not also '%.64s'", argv[1]);
	snprintf(line, sizeof(line), "clear-peaks %.32s", argc == 0 ? "user" : argv[0]);
	return control(options, line);
}

static int run_mark(const struct options *options, int argc, char **argv)
{
	char line[sizeof("mark ") + MARK_BYTES] = "mark";
	size_t used = strlen(line);

	if (argc == 0)
		return usage("mark needs a text");
	for (int i = 0; i < argc; i++) {
		if (used + 1 + strlen(argv[i]) >= sizeof(line))
			return usage("mark: the text is too long, at most %d bytes", MARK_BYTES);
		used += (size_t)snprintf(line + used, sizeof(line) - used, " %s", argv[i]);
	}
	if (strchr(line, '\n') != NULL)
		return usage("mark: the text must be one line");
	return control(options, line);
}

static int run_why(const struct options *options, int argc, char **argv)
{
	double seconds = options->next ? WHY_LEAF_NEXT_SECONDS : WHY_LEAF_LAST_SECONDS;

	if (argc > 1)
		return usage("why takes a number of seconds, not also '%.64s'", argv[1]);
	if (argc == 1 &&
	    (!parse_seconds(argv[0], &seconds) || seconds <= 0 || seconds > WHY_LEAF_SECONDS_MAX))
		return usage("why %.32s: must be more than 0 and at most 3600 seconds", argv[0]);
	return why_leaf_run(options->show.runtime_dir, seconds, options->next, options->show.json);
}

/* Become `roceleaf --check`: the one beside us (installed or built), else the one in PATH. */
static int run_check(const struct options *options, int argc, char **argv)
{
	static const char *const places[] = {".", "../sbin"};
	char self[PATH_MAX], path[PATH_MAX + 32];
	ssize_t size = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)options;
	if (argc != 1)
		return usage("check needs one FILE");
	if (size > 0) {
		self[size] = '\0';
		(void)dirname(self);
		for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
			snprintf(path, sizeof(path), "%s/%s/roceleaf", self, places[i]);
			execl(path, "roceleaf", "--check", argv[0], (char *)NULL);
		}
	}
	execlp("roceleaf", "roceleaf", "--check", argv[0], (char *)NULL);
	fprintf(stderr, "roceleafctl: cannot run roceleaf: %s\n", strerror(errno));
	return EXIT_FAILURE;
}

/* --- options --- */

static bool parse_count(const char *text, unsigned long *count)
{
	char *end;

	errno = 0;
	*count = strtoul(text, &end, 10);
	return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0 && *count > 0;
}

enum {
	OPT_RUNTIME_DIR = 256,
	OPT_JSON,
	OPT_WATCH,
	OPT_COUNT,
	OPT_FOLLOW,
	OPT_ALL,
	OPT_ABSOLUTE,
	OPT_NEXT,
	OPT_VERSION
};

static const struct option long_options[] = {
	{"runtime-dir", required_argument, NULL, OPT_RUNTIME_DIR},
	{"json", no_argument, NULL, OPT_JSON},
	{"watch", optional_argument, NULL, OPT_WATCH},
	{"count", required_argument, NULL, OPT_COUNT},
	{"follow", no_argument, NULL, OPT_FOLLOW},
	{"all", no_argument, NULL, OPT_ALL},
	{"absolute", no_argument, NULL, OPT_ABSOLUTE},
	{"next", no_argument, NULL, OPT_NEXT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, OPT_VERSION},
	{NULL, 0, NULL, 0},
};

static int parse_watch(struct show_options *show, int argc, char **argv)
{
	double seconds;

	show->watch = true;
	/* "--watch 2", which getopt doesn't take for an optional argument */
	if (optarg == NULL && optind < argc && parse_seconds(argv[optind], &seconds))
		optarg = argv[optind++];
	if (optarg == NULL)
		return 0;
	if (!parse_seconds(optarg, &show->watch_seconds) ||
	    show->watch_seconds < WATCH_SECONDS_MIN || show->watch_seconds > WATCH_SECONDS_MAX)
		return usage("--watch %.32s: must be 0.1 to 86400 seconds", optarg);
	return 0;
}

/* @return 0 to go on, -1 when done, else the exit status */
static int parse_options(struct options *options, int argc, char **argv)
{
	struct show_options *show = &options->show;
	int option, ret = 0;

	while (ret == 0 && (option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
		switch (option) {
		case OPT_RUNTIME_DIR:
			show->runtime_dir = optarg;
			break;
		case OPT_JSON:
			show->json = true;
			break;
		case OPT_WATCH:
			ret = parse_watch(show, argc, argv);
			break;
		case OPT_COUNT:
			if (!parse_count(optarg, &show->count))
				ret = usage("--count %.32s: must be a number from 1", optarg);
			break;
		case OPT_FOLLOW:
			show->follow = true;
			break;
		case OPT_ALL:
			show->all = true;
			break;
		case OPT_ABSOLUTE:
			show->absolute = true;
			break;
		case OPT_NEXT:
			options->next = true;
			break;
		case 'h':
			options->help = true;
			break;
		case OPT_VERSION:
			printf("roceleafctl %s\n", ROCELEAF_VERSION);
			return -1;
		default:
			/* getopt has said what is wrong */
			fprintf(stderr, "Try 'roceleafctl --help'.\n");
			return EXIT_USAGE;
		}
	}
	return ret;
}

static int run_help(const struct command *command, int argc, char **argv)
{
	if (command == NULL)
		return help_all();
	if (command->run != run_show)
		return help_command(command);
	if (argc > 0 && view_find(argv[0]) != NULL)
		return help_view(view_find(argv[0]));
	return help_show();
}

static const struct command *command_find(const char *name)
{
	for (size_t i = 0; i < COMMAND_COUNT; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* Where the command is; argc: nowhere. */
static int command_at(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--runtime-dir") == 0)
			i++;
		else if (argv[i][0] != '-')
			return i;
	return argc;
}

/* A command with options of its own: ours are those before it. */
static int run_main(const struct command *command, struct options *options, int at, int argc,
		    char **argv)
{
	char help_option[] = "--help", *help[] = {argv[at], help_option, NULL};
	int ret = parse_options(options, at, argv);

	if (ret != 0)
		return ret < 0 ? EXIT_SUCCESS : ret;
	if (options->help)
		return command->main(options->show.runtime_dir, 2, help);
	return command->main(options->show.runtime_dir, argc - at, argv + at);
}

int main(int argc, char **argv)
{
	const char *dir = getenv(RUNTIME_DIR_ENV);
	struct options options = {
		.show.runtime_dir = dir == NULL || dir[0] == '\0' ? RUNTIME_DIR_DEFAULT : dir,
		.show.watch_seconds = 1,
	};
	int at = command_at(argc, argv), ret;
	const struct command *command = at < argc ? command_find(argv[at]) : NULL;

	if (command != NULL && command->main != NULL)
		return run_main(command, &options, at, argc, argv);
	ret = parse_options(&options, argc, argv);
	if (ret != 0)
		return ret < 0 ? EXIT_SUCCESS : ret;
	command = optind < argc ? command_find(argv[optind]) : NULL;
	if (options.help)
		return run_help(command, argc - optind - 1, argv + optind + 1);
	if (optind == argc)
		return usage("no command");
	if (command == NULL)
		return usage("unknown command '%.64s'", argv[optind]);
	return command->run(&options, argc - optind - 1, argv + optind + 1);
}
