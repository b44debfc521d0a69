/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * roceleaf-lab - runs scenarios over the real dataplane in virtual time.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_mempool.h>

#include "tools/lab/allocate.h"
#include "tools/lab/compare.h"
#include "tools/lab/environment.h"
#include "tools/lab/expect.h"
#include "tools/lab/html.h"
#include "tools/lab/recording.h"
#include "tools/lab/report.h"
#include "tools/lab/simulation.h"
#include "tools/lab/why_result.h"

/* Exit statuses are a promise: CI of our users looks at them. */
enum { STATUS_OK = 0, STATUS_ERROR = 1, STATUS_USAGE = 2, STATUS_EXPECT = 3 };

struct arguments {
	const char *file;
	const char *json, *html;
	bool quiet, check, series;
	uint64_t seed;
	struct scenario_options scenario;
	struct recording *recordings;
	uint32_t recording_count;
};

static void print_usage(FILE *out)
{
	fputs("usage: roceleaf-lab run FILE [OPTION...]\n"
	      "       roceleaf-lab compare [--json | --html FILE] A.json B.json\n"
	      "       roceleaf-lab why [--json] RESULT.json\n"
	      "       roceleaf-lab list\n"
	      "       roceleaf-lab --help | --version | --reference\n"
	      "\n"
	      "run: runs a scenario over the leaf's own dataplane in virtual time. FILE is a\n"
	      "scenario (YAML) or the name of one that comes with the program.\n"
	      "\n"
	      "  --seed N            another seed than the file's\n"
	      "  --set PATH=VALUE    another value of a key, as in fabric.leaf_spine.leaves=4\n"
	      "                      or traffic[0].incast.senders=8; may be repeated\n"
	      "  --json FILE         write the result as JSON; - is standard output\n"
	      "  --html FILE         write a report with charts, one file for a browser\n"
	      "  --series            have the JSON tell how things went over time, too, so that\n"
	      "                      compare --html has charts of it\n"
	      "  --pcap LINK=FILE    write the frames of a link for Wireshark (pcapng), both\n"
	      "                      directions; may be repeated\n"
	      "  --trace flow:NAME=FILE, --trace queue:SWITCH:LINK:PRIORITY=FILE\n"
	      "                      write what happens to a flow's packets, or in the queue of\n"
	      "                      a switch towards a link, as CSV; may be repeated\n"
	      "  --quiet             no summary and no progress bar\n"
	      "  --check-every-step  test after every step of every switch that no packet is\n"
	      "                      missing; slow\n"
	      "\n"
	      "compare: prints what two results (run --json) differ in, and by how much.\n"
	      "\n"
	      "  --json              as JSON\n"
	      "  --html FILE         also as a page with both runs side by side\n"
	      "\n"
	      "why: prints what slowed a run down, from its result, worst first.\n"
	      "\n"
	      "  --json              as JSON\n"
	      "\n"
	      "list: prints the scenarios that come with the program.\n"
	      "\n"
	      "  --help              this text\n"
	      "  --version           print the version\n"
	      "  --reference         print every key of a scenario\n"
	      "\n"
	      "Exit status: 0 every `expect` of the scenario holds, 3 one does not, 1 the file\n"
	      "or the run is faulty, 2 bad usage.\n",
	      out);
}

static int usage_error(const char *text, const char *detail)
{
	fprintf(stderr, "roceleaf-lab: %s%s\nTry roceleaf-lab --help.\n", text, detail);
	return STATUS_USAGE;
}

static int flush(FILE *out)
{
	if (fflush(out) == 0 && !ferror(out))
		return STATUS_OK;
	fprintf(stderr, "roceleaf-lab: can't write to standard output: %s\n", strerror(errno));
	return STATUS_ERROR;
}

/* --- the scenarios that come with it --- */

static bool is_scenario(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot != NULL && dot != name && strcmp(dot, ".yaml") == 0;
}

static int not_hidden(const struct dirent *entry)
{
	return is_scenario(entry->d_name);
}

/* Beside the program when it wasn't installed, else where meson installs them. */
static const char *scenario_directory(void)
{
	return access(LAB_SCENARIOS_SOURCE, R_OK) == 0 ? LAB_SCENARIOS_SOURCE
						       : LAB_SCENARIOS_INSTALLED;
}

/* The first line of a scenario that is a comment and no licence says what it is about. */
static void print_about(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[256];

	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		if (strncmp(line, "# ", 2) != 0)
			break;
		if (strncmp(line, "# SPDX", 6) == 0)
			continue;
		line[strcspn(line, "\n")] = '\0';
		printf("%s", line + 2);
		break;
	}
	if (file != NULL)
		fclose(file);
	printf("\n");
}

/* Length of a file's name without its ending. */
static int scenario_stem(const char *name)
{
	return (int)(strlen(name) - strlen(".yaml"));
}

static int list(void)
{
	const char *directory = scenario_directory();
	struct dirent **entries;
	int count = scandir(directory, &entries, not_hidden, alphasort);
	int width = 0;

	if (count < 0) {
		fprintf(stderr, "roceleaf-lab: can't read %s: %s\n", directory, strerror(errno));
		return STATUS_ERROR;
	}
	for (int i = 0; i < count; i++)
		if (scenario_stem(entries[i]->d_name) > width)
			width = scenario_stem(entries[i]->d_name);
	for (int i = 0; i < count; i++) {
		char *path = allocate_text("%s/%s", directory, entries[i]->d_name);

		printf("%-*.*s  ", width, scenario_stem(entries[i]->d_name), entries[i]->d_name);
		print_about(path);
		free(path);
		free(entries[i]);
	}
	free(entries);
	return flush(stdout);
}

/* FILE, or the path of the scenario of that name. */
static char *scenario_path(const char *file)
{
	char *path;

	if (access(file, F_OK) == 0 || strchr(file, '/') != NULL)
		return allocate_text("%s", file);
	path = allocate_text("%s/%s.yaml", scenario_directory(), file);
	if (access(path, F_OK) == 0)
		return path;
	free(path);
	return allocate_text("%s", file);
}

/* --- running --- */

/* Before the run: what the expectations name must be there. */
static int expects_check_names(const struct scenario *scenario, json_t *result)
{
	struct config_errors errors = {0};

	for (uint32_t i = 0; i < scenario->expect_count; i++) {
		const struct scenario_place *place = &scenario->expect_places[i];
		struct expect expect;
		char text[256];

		if (expect_parse(scenario->expects[i], &expect, text, sizeof(text)) == 0 &&
		    (expect_is_late(&expect) ||
		     expect_evaluate(&expect, result, text, sizeof(text)) != -ENOENT))
			continue;
		schema_fail_mark(&errors, place->name, place->mark,
				 "expect \"%s\": the result has no number %s", scenario->expects[i],
				 expect.key);
	}
	if (errors.count == 0)
		return STATUS_OK;
	config_print_errors(&errors, stderr);
	return STATUS_ERROR;
}

static int expects_check(const struct scenario *scenario, json_t *result, FILE *out)
{
	int status = STATUS_OK;

	for (uint32_t i = 0; i < scenario->expect_count; i++) {
		struct expect expect;
		char text[256] = "missing";

		if (expect_parse(scenario->expects[i], &expect, text, sizeof(text)) == 0 &&
		    expect_evaluate(&expect, result, text, sizeof(text)) == 1)
			continue;
		status = STATUS_EXPECT;
		fprintf(out, "expect %s: does not hold, %s is %s\n", scenario->expects[i],
			expect.key, text);
	}
	return status;
}

static int finish(const struct arguments *arguments, const struct scenario *scenario,
		  json_t *result)
{
	bool json_out = arguments->json != NULL && strcmp(arguments->json, "-") == 0;
	FILE *out = json_out ? stderr : stdout;
	int status;

	if (!arguments->quiet)
		report_print(result, out);
	status = expects_check(scenario, result, out);
	if (status == STATUS_OK && scenario->expect_count != 0 && !arguments->quiet)
		fprintf(out, "%u of %u expectations hold\n", scenario->expect_count,
			scenario->expect_count);
	if (arguments->json != NULL && report_write_json(result, arguments->json) != 0)
		return STATUS_ERROR;
	if (arguments->html != NULL && html_write(&result, 1, NULL, arguments->html) != 0)
		return STATUS_ERROR;
	return flush(out) == STATUS_OK ? status : STATUS_ERROR;
}

static int simulate(const struct arguments *arguments, const struct scenario *scenario,
		    struct rte_mempool *pool)
{
	struct fabric_options options = {.check = arguments->check};
	bool bar = !arguments->quiet && isatty(STDERR_FILENO);
	struct simulation *simulation = simulation_create(scenario, pool, &options);
	int status = STATUS_ERROR;
	json_t *result;

	if (simulation == NULL) {
		fprintf(stderr, "roceleaf-lab: can't build the fabric: %s\n",
			rte_strerror(rte_errno));
		return STATUS_ERROR;
	}
	if (arguments->series || arguments->html != NULL)
		simulation_keep_series(simulation);
	result = simulation_result(simulation);
	status = expects_check_names(scenario, result);
	json_decref(result);
	if (status == STATUS_OK &&
	    recordings_open(arguments->recordings, arguments->recording_count,
			    simulation->fabric) != 0)
		status = STATUS_ERROR;
	if (status == STATUS_OK) {
		status = simulation_run(simulation, bar ? report_progress : NULL) == 0
				 ? STATUS_OK
				 : STATUS_ERROR;
		if (bar)
			report_progress_end();
		if (recordings_close(arguments->recordings, arguments->recording_count,
				     status == STATUS_OK) != 0)
			status = STATUS_ERROR;
	}
	if (status == STATUS_OK) {
		result = simulation_result(simulation);
		status = finish(arguments, scenario, result);
		json_decref(result);
	}
	simulation_free(simulation);
	if (rte_mempool_in_use_count(pool) != 0) {
		fprintf(stderr, "roceleaf-lab: %u packets were not given back\n",
			rte_mempool_in_use_count(pool));
		status = STATUS_ERROR;
	}
	return status;
}

static int run(const struct arguments *arguments)
{
	struct config_errors errors = {0};
	char *path = scenario_path(arguments->file);
	struct scenario *scenario = scenario_load(path, &arguments->scenario, &errors);
	struct rte_mempool *pool = NULL;
	uint64_t packets;
	int status = STATUS_ERROR;

	free(path);
	if (scenario == NULL) {
		config_print_errors(&errors, stderr);
		return STATUS_ERROR;
	}
	packets = fabric_packets(scenario);
	if (packets > FABRIC_PACKETS_MAX) {
		fprintf(stderr,
			"%s: %" PRIu64 " packets could be on their way at once: at most %u; make "
			"leaf.memory smaller\n",
			scenario->path, packets, FABRIC_PACKETS_MAX);
	} else if (environment_start(environment_pool_bytes(packets) +
				     fabric_table_bytes(scenario)) == 0) {
		pool = fabric_pool_create((uint32_t)packets);
		if (pool == NULL)
			fprintf(stderr, "roceleaf-lab: no memory for %" PRIu64 " packets: %s\n",
				packets, rte_strerror(rte_errno));
		else
			status = simulate(arguments, scenario, pool);
	}
	rte_mempool_free(pool);
	scenario_free(scenario);
	return status;
}

/* --- arguments --- */

enum {
	OPTION_SEED = 256,
	OPTION_SET,
	OPTION_JSON,
	OPTION_HTML,
	OPTION_SERIES,
	OPTION_QUIET,
	OPTION_CHECK,
	OPTION_PCAP,
	OPTION_TRACE
};

static int parse_seed(const char *text, uint64_t *seed)
{
	const struct schema_row row = {"--seed", SCHEMA_UINT, .size = sizeof(*seed),
				       .max = INT64_MAX};
	char why[128];

	if (schema_parse_value(&row, text, seed, why, sizeof(why)) == 0)
		return 0;
	fprintf(stderr, "roceleaf-lab: --seed %s %s\n", text, why);
	return STATUS_USAGE;
}

static int parse_recording(struct arguments *arguments, bool trace, const char *what)
{
	struct recording *recording = &arguments->recordings[arguments->recording_count++];

	*recording = (struct recording){.trace = trace, .what = what};
	if (recording_valid(recording))
		return 0;
	return trace ? usage_error("--trace needs flow:NAME=FILE or "
				   "queue:SWITCH:LINK:PRIORITY=FILE, not ",
				   what)
		     : usage_error("--pcap needs LINK=FILE, not ", what);
}

static int parse_run(int count, char **texts, struct arguments *arguments, const char **assignments)
{
	static const struct option options[] = {
		{"seed", required_argument, NULL, OPTION_SEED},
		{"set", required_argument, NULL, OPTION_SET},
		{"json", required_argument, NULL, OPTION_JSON},
		{"html", required_argument, NULL, OPTION_HTML},
		{"series", no_argument, NULL, OPTION_SERIES},
		{"pcap", required_argument, NULL, OPTION_PCAP},
		{"trace", required_argument, NULL, OPTION_TRACE},
		{"quiet", no_argument, NULL, OPTION_QUIET},
		{"check-every-step", no_argument, NULL, OPTION_CHECK},
		{NULL, 0, NULL, 0},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(count, texts, ":", options, NULL)) != -1) {
		switch (option) {
		case OPTION_SEED:
			if (parse_seed(optarg, &arguments->seed) != 0)
				return STATUS_USAGE;
			arguments->scenario.seed = &arguments->seed;
			break;
		case OPTION_SET:
			if (strchr(optarg, '=') == NULL)
				return usage_error("--set needs PATH=VALUE, not ", optarg);
			assignments[arguments->scenario.assignment_count++] = optarg;
			break;
		case OPTION_JSON:
			arguments->json = optarg;
			break;
		case OPTION_HTML:
			arguments->html = optarg;
			break;
		case OPTION_SERIES:
			arguments->series = true;
			break;
		case OPTION_PCAP:
		case OPTION_TRACE:
			if (parse_recording(arguments, option == OPTION_TRACE, optarg) != 0)
				return STATUS_USAGE;
			break;
		case OPTION_QUIET:
			arguments->quiet = true;
			break;
		case OPTION_CHECK:
			arguments->check = true;
			break;
		case ':':
			return usage_error("a value is missing after ", texts[optind - 1]);
		default:
			return usage_error("unknown option ", texts[optind - 1]);
		}
	}
	if (optind + 1 != count)
		return optind == count
			       ? usage_error("run needs a FILE", "")
			       : usage_error("one FILE at a time; what is ", texts[optind + 1]);
	arguments->file = texts[optind];
	return 0;
}

static int main_run(int count, char **texts)
{
	const char **assignments = allocate((size_t)count * sizeof(*assignments));
	struct arguments arguments = {
		.scenario.assignments = assignments,
		.recordings = allocate((size_t)count * sizeof(struct recording)),
	};
	int status = parse_run(count, texts, &arguments, assignments);

	if (status == 0)
		status = run(&arguments);
	free(assignments);
	free(arguments.recordings);
	return status;
}

/* What compare is asked for: two files, and how to tell what they differ in. */
static int parse_compare(int count, char **texts, bool *as_json, const char **html,
			 const char *paths[2])
{
	static const struct option options[] = {
		{"json", no_argument, NULL, OPTION_JSON},
		{"html", required_argument, NULL, OPTION_HTML},
		{NULL, 0, NULL, 0},
	};
	int option;

	opterr = 0;
	while ((option = getopt_long(count, texts, ":", options, NULL)) != -1) {
		if (option == OPTION_JSON)
			*as_json = true;
		else if (option == OPTION_HTML)
			*html = optarg;
		else if (option == ':')
			return usage_error("a value is missing after ", texts[optind - 1]);
		else
			return usage_error("unknown option ", texts[optind - 1]);
	}
	if (optind + 2 != count)
		return usage_error("compare needs two files: ",
				   "compare [--json | --html FILE] A.json B.json");
	paths[0] = texts[optind];
	paths[1] = texts[optind + 1];
	return 0;
}

static int main_compare(int count, char **texts)
{
	bool as_json = false;
	const char *html = NULL, *paths[2];
	json_t *results[2] = {NULL, NULL}, *comparison;
	int status = parse_compare(count, texts, &as_json, &html, paths);

	if (status != 0)
		return status;
	for (int i = 0; i < 2; i++)
		results[i] = compare_read(paths[i]);
	status = STATUS_ERROR;
	if (results[0] != NULL && results[1] != NULL) {
		comparison = compare_results(paths[0], results[0], paths[1], results[1]);
		if (as_json)
			status = report_write_json(comparison, "-") == 0 ? STATUS_OK : STATUS_ERROR;
		else
			compare_print(comparison, stdout);
		status = as_json ? status : flush(stdout);
		if (html != NULL && html_write(results, 2, comparison, html) != 0)
			status = STATUS_ERROR;
		json_decref(comparison);
	}
	json_decref(results[0]);
	json_decref(results[1]);
	return status;
}

static int main_why(int count, char **texts)
{
	bool as_json = count == 3 && strcmp(texts[1], "--json") == 0;
	json_t *result;
	int ret;

	if (count != 2 + as_json || texts[1 + as_json][0] == '-')
		return usage_error("why needs a result: why [--json] RESULT.json", "");
	result = compare_read(texts[1 + as_json]);
	if (result == NULL)
		return STATUS_ERROR;
	ret = why_result_print(result, as_json, stdout);
	json_decref(result);
	if (ret == 0)
		return flush(stdout);
	fprintf(stderr, "roceleaf-lab: %s is from an older version: run its scenario again\n",
		texts[1 + as_json]);
	return STATUS_ERROR;
}

static bool is_help(const char *text)
{
	return strcmp(text, "--help") == 0 || strcmp(text, "-h") == 0;
}

int main(int count, char **texts)
{
	const char *command = count > 1 ? texts[1] : "";

	/* Of a command, too: it is all one text. */
	if (count > 2 && is_help(texts[count - 1]))
		command = "--help";
	if (strcmp(command, "run") == 0)
		return main_run(count - 1, texts + 1);
	if (strcmp(command, "compare") == 0)
		return main_compare(count - 1, texts + 1);
	if (strcmp(command, "why") == 0)
		return main_why(count - 1, texts + 1);
	if (strcmp(command, "list") == 0 && count == 2)
		return list();
	if (is_help(command)) {
		print_usage(stdout);
	} else if (strcmp(command, "--version") == 0) {
		printf("roceleaf-lab %s\n", LAB_VERSION);
	} else if (strcmp(command, "--reference") == 0) {
		schema_print_reference(&scenario_table, "Scenarios of roceleaf-lab", false, stdout);
	} else if (command[0] == '\0') {
		print_usage(stderr);
		return STATUS_USAGE;
	} else {
		return usage_error("unknown command ", command);
	}
	return flush(stdout);
}
