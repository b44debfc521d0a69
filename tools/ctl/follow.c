/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/follow.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "tools/ctl/client.h"
#include "tools/ctl/screen.h"
#include "tools/ctl/view_cells.h"

#define FOLLOW_SECONDS 0.25

static void print_row(const struct reply *reply, size_t row)
{
	const struct view_source source = {.reply = reply};
	const struct view_column at = {.key = "at_ns"};
	struct view_cell time = {.text = ""}, text = {.text = ""};
	uint64_t more = reply_number(reply, "suppressed", row);

	cell_time(&source, &at, row, &time);
	(void)snprintf(text.text, sizeof(text.text), "%s", reply_text(reply, "text", row));
	text_clean(text.text);
	printf("%s  %-15s %-6s %s", time.text, reply_text(reply, "type", row),
	       reply_text(reply, "port", row), text.text);
	if (more != 0)
		printf(" (and %" PRIu64 " before it)", more);
	putchar('\n');
}

static void print_json(const json_t *rows, size_t row)
{
	(void)json_dumpf(json_array_get(rows, row), stdout, JSON_COMPACT);
	putchar('\n');
}

/* Those that were overwritten before we came have gone. */
static void print_gap(const struct show_options *options, uint64_t lost)
{
	if (lost != 0 && options->json)
		printf("{\"lost\":%" PRIu64 "}\n", lost);
	else if (lost != 0)
		printf("(%" PRIu64 " events were overwritten before they were read)\n", lost);
}

static bool event_is_wanted(const struct show_options *options, const struct reply *reply,
			    size_t row)
{
	for (size_t i = 0; i < options->port_count; i++)
		if (strcmp(reply_text(reply, "port", row), options->ports[i]) == 0)
			return true;
	return options->port_count == 0;
}

/* @param first row to print */
static void print_events(const struct show_options *options, const struct reply *reply,
			 size_t first, uint64_t *last)
{
	json_t *rows = options->json ? reply_rows_json(reply) : NULL;

	for (size_t row = first; row < reply->rows; row++) {
		uint64_t sequence = reply_number(reply, "sequence", row);

		if (*last != 0)
			print_gap(options, sequence - *last - 1);
		*last = sequence;
		if (!event_is_wanted(options, reply, row))
			continue;
		if (options->json)
			print_json(rows, row);
		else
			print_row(reply, row);
	}
	json_decref(rows);
}

static int follow_once(const struct show_options *options, struct client *client, bool begins,
		       uint64_t *last, struct ctl_error *error)
{
	struct reply reply;
	size_t first = 0;
	int ret;

	reply_init(&reply);
	ret = client_fetch_from(client, options->view->command, *last, &reply, error);
	if (ret != 0)
		return ret;
	if (reply_join(&reply, "text") != 0) {
		reply_free(&reply);
		return ctl_fail(error, ENOMEM, "out of memory");
	}
	if (begins && !options->all && reply.rows > FOLLOW_EVENTS)
		first = reply.rows - FOLLOW_EVENTS;
	print_events(options, &reply, first, last);
	reply_free(&reply);
	if (fflush(stdout) != 0)
		return ctl_fail(error, errno, "the reader has gone");
	return 0;
}

int follow_run(const struct show_options *options)
{
	struct ctl_error error;
	struct client client;
	struct screen screen;
	uint64_t last = 0;
	bool begins = true;
	int ret = client_open(&client, options->runtime_dir, &error);

	if (ret == 0) {
		screen_start(&screen, STDOUT_FILENO, true);
		do {
			ret = follow_once(options, &client, begins, &last, &error);
			begins = false;
		} while (ret == 0 && screen_wait(&screen, FOLLOW_SECONDS));
		screen_end(&screen);
		client_close(&client);
	}
	if (ret != 0)
		fprintf(stderr, "roceleafctl: %s\n", error.text);
	return ret == 0 ? 0 : 1;
}
