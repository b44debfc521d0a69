/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleaf - a leaf switch for lossless Ethernet. See roceleaf(8).
 */
#include <getopt.h>
#include <stdio.h>

#include "config/config.h"
#include "control/check.h"
#include "control/daemon.h"

#define EXIT_USAGE 2

static const char usage[] =
	"usage: roceleaf -c FILE\n"
	"       roceleaf --check FILE\n"
	"       roceleaf --reference | --version | --help\n"
	"\n"
	"A leaf switch for lossless Ethernet. Runs in the foreground until SIGTERM or\n"
	"SIGINT; SIGHUP or `roceleafctl reload` reads the file again.\n"
	"\n"
	"  -c, --config FILE  run with this configuration\n"
	"      --check FILE   check a configuration, print what it amounts to, open no\n"
	"                     device\n"
	"      --reference    print every key of the configuration (Markdown)\n"
	"      --version      print the version\n"
	"  -h, --help         print this\n"
	"\n"
	"Exit status: 0 stopped as asked, 1 a bad configuration or a failure, 2 bad\n"
	"usage.\n";

static int usage_failed(const char *why)
{
	if (why != NULL)
		(void)fprintf(stderr, "roceleaf: %s\n", why);
	(void)fprintf(stderr, "Try `roceleaf --help`.\n");
	return EXIT_USAGE;
}

/* Standard output may be full or closed. */
static int printed(void)
{
	if (fflush(stdout) == 0 && ferror(stdout) == 0)
		return 0;
	perror("roceleaf: standard output");
	return 1;
}

enum option_long { OPTION_CHECK = 256, OPTION_REFERENCE, OPTION_VERSION };

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{"config", required_argument, NULL, 'c'},
		{"check", required_argument, NULL, OPTION_CHECK},
		{"reference", no_argument, NULL, OPTION_REFERENCE},
		{"version", no_argument, NULL, OPTION_VERSION},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	const char *file = NULL;
	int option, action = 0;

	while ((option = getopt_long(argc, argv, "c:h", options, NULL)) != -1) {
		if (option == '?')
			return usage_failed(NULL);
		if (action != 0)
			return usage_failed("one thing at a time");
		action = option;
		file = optarg;
	}
	if (optind < argc)
		return usage_failed("unexpected argument");
	switch (action) {
	case 'c':
		return daemon_run(&(struct daemon_options){.config_path = file});
	case OPTION_CHECK:
		return check_run(file, stdout, stderr) != 0 ? 1 : printed();
	case OPTION_REFERENCE:
		config_print_reference(stdout);
		return printed();
	case OPTION_VERSION:
		(void)printf("roceleaf %s\n", ROCELEAF_VERSION);
		return printed();
	case 'h':
		(void)fputs(usage, stdout);
		return printed();
	default:
		return usage_failed("a configuration is needed: roceleaf -c FILE");
	}
}
