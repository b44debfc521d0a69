/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/show.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tools/ctl/baseline.h"
#include "tools/ctl/client.h"
#include "tools/ctl/screen.h"

#define PORTS_COMMAND   "/roceleaf/ports"
#define REASONS_COMMAND "/roceleaf/reasons"

/* Time from the first look to the first rates. */
#define FIRST_LOOK_SECONDS 0.5

/* One look at the leaf. */
struct look {
	struct reply reply;
	struct reply reasons; /* of drops with --all */
	struct reply beside;  /* of the view's second table */
	uint64_t cleared_s;   /* 0: no baseline was taken off */
};

static int report(const struct ctl_error *error)
{
	fprintf(stderr, "roceleafctl: %s\n", error->text);
	return 1;
}

static void look_free(struct look *look)
{
	reply_free(&look->reply);
	reply_free(&look->reasons);
	reply_free(&look->beside);
}

static bool wants_reasons(const struct show_options *options)
{
	return options->all && strcmp(options->view->name, "drops") == 0;
}

static bool names_a_port(const struct reply *reply, const char *name)
{
	for (size_t row = 0; row < reply->rows; row++)
		if (strcmp(reply_text(reply, "port", row), name) == 0)
			return true;
	return false;
}

/* A name that no port has is a mistake that an empty table would hide. */
static int check_ports(const struct show_options *options, struct client *client,
		       struct ctl_error *error)
{
	const char *wrong = NULL;
	struct reply ports;
	int ret;

	if (options->port_count == 0)
		return 0;
	reply_init(&ports);
	ret = client_fetch(client, PORTS_COMMAND, &ports, error);
	if (ret != 0)
		return ret;
	for (size_t i = 0; i < options->port_count && wrong == NULL; i++)
		if (!names_a_port(&ports, options->ports[i]))
			wrong = options->ports[i];
	reply_free(&ports);
	if (wrong == NULL)
		return 0;
	return ctl_fail(error, ENOENT, "there is no port '%.64s'; 'show ports' lists them", wrong);
}

static int look_take(const struct show_options *options, struct client *client, struct look *look,
		     struct ctl_error *error)
{
	int ret;

	memset(look, 0, sizeof(*look));
	ret = client_fetch(client, options->view->command, &look->reply, error);
	if (ret == 0 && wants_reasons(options))
		ret = client_fetch(client, REASONS_COMMAND, &look->reasons, error);
	if (ret == 0 && options->view->beside != NULL)
		ret = client_fetch(client, options->view->beside->command, &look->beside, error);
	if (ret == 0 && reply_join(&look->reply, "text") != 0)
		ret = ctl_fail(error, ENOMEM, "out of memory");
	if (ret == 0 && options->view->compare != NULL &&
	    reply_sort(&look->reply, options->view->compare) != 0)
		ret = ctl_fail(error, ENOMEM, "out of memory");
	if (ret != 0)
		look_free(look);
	return ret;
}

static void look_subtract(const struct show_options *options, struct look *look)
{
	const struct view *beside = options->view->beside;
	struct baseline baseline;

	if (options->absolute || !options->view->counts)
		return;
	baseline_load(&baseline, options->runtime_dir);
	if (beside != NULL && beside->counts)
		(void)baseline_apply(&baseline, beside->command, &look->beside);
	if (baseline_apply(&baseline, options->view->command, &look->reply))
		look->cleared_s = baseline.cleared_s;
	baseline_free(&baseline);
}

/* --- JSON --- */

static bool row_is_wanted(const struct show_options *options, const struct reply *reply, size_t row)
{
	for (size_t i = 0; i < options->port_count; i++)
		if (strcmp(reply_text(reply, "port", row), options->ports[i]) == 0)
			return true;
	return options->port_count == 0;
}

/* Rows of a table, without those of ports that weren't asked for. */
static json_t *wanted_rows(const struct show_options *options, const struct view *view,
			   const struct reply *reply)
{
	json_t *rows = reply_rows_json(reply);

	for (size_t row = reply->rows; row-- > 0;)
		if (view->by_port && !row_is_wanted(options, reply, row))
			json_array_remove(rows, row);
	return rows;
}

static int write_json(const struct show_options *options, const struct look *look)
{
	const struct view *beside = options->view->beside;
	json_t *rows = wanted_rows(options, options->view, &look->reply), *root;
	int ret = 1;

	root = json_pack("{s:o, s:I, s:I}", options->view->name, rows, "time_ns",
			 (json_int_t)look->reply.time_ns, "instance",
			 (json_int_t)look->reply.instance);
	if (look->cleared_s != 0)
		json_object_set_new(root, "cleared_s", json_integer((json_int_t)look->cleared_s));
	if (beside != NULL)
		json_object_set_new(root, beside->name,
				    wanted_rows(options, beside, &look->beside));
	if (wants_reasons(options))
		json_object_set_new(root, "reasons", reply_rows_json(&look->reasons));
	if (root != NULL &&
	    json_dumpf(root, stdout, options->watch ? JSON_COMPACT : JSON_INDENT(2)) == 0)
		ret = putchar('\n') == EOF || fflush(stdout) != 0;
	json_decref(root);
	return ret;
}

/* --- tables --- */

/* Reasons that did not occur, below those that did. */
static void add_reasons(struct table *table, const struct look *look, bool rates)
{
	for (size_t row = 0; row < look->reasons.rows; row++) {
		const char *reason = reply_text(&look->reasons, "reason", row);
		size_t r = 0;

		while (r < look->reply.rows &&
		       strcmp(reply_text(&look->reply, "reason", r), reason) != 0)
			r++;
		if (r < look->reply.rows)
			continue;
		table_cell(table, "-", TABLE_PLAIN);
		table_cell(table, reason, TABLE_PLAIN);
		table_cell(table, "0", TABLE_PLAIN);
		if (rates)
			table_cell(table, "0", TABLE_PLAIN);
		table_cell(table, reply_text(&look->reasons, "help", row), TABLE_PLAIN);
	}
}

/* What the table doesn't say, for people: only on a terminal, so that pipes get the table alone. */
static void write_notes(const struct show_options *options, const struct look *look, FILE *out,
			size_t rows, size_t omitted, bool colour)
{
	const char *begin = colour ? "\033[2m" : "", *end = colour ? "\033[0m" : "";
	char text[64] = "";
	time_t cleared = (time_t)look->cleared_s;
	struct tm local;

	if (rows == 0 && omitted == 0)
		fprintf(out, "%s(none)%s\n", begin, end);
	if (omitted > 0)
		fprintf(out, "%s(%zu %s not shown; --all shows them)%s\n", begin, omitted,
			options->view->hidden, end);
	if (look->cleared_s != 0 && localtime_r(&cleared, &local) != NULL) {
		strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
		fprintf(out, "%s(since clear at %s; --absolute counts from the start)%s\n", begin,
			text, end);
	}
}

/*
 * The view's second table, if there is anything in it, with the empty line between the two.
 * @return a text to be freed, and its lines; or NULL without memory
 */
static char *beside_text(const struct show_options *options, const struct look *look,
			 const struct look *before, size_t width, size_t *lines)
{
	const struct view *view = options->view, *beside = view->beside;
	const struct view_source source = {
		.reply = &look->beside,
		.before = before == NULL ? NULL : &before->beside,
		.all = options->all,
	};
	size_t omitted, size;
	struct table *table = view_table(beside, &source, options->ports,
					 beside->by_port ? options->port_count : 0, &omitted);
	char *text = NULL;
	FILE *out = open_memstream(&text, &size);

	*lines = 0;
	if (table != NULL && out != NULL && table_row_count(table) != 0) {
		*lines = table_row_count(table) + 2;
		fputs(view->beside_above ? "" : "\n", out);
		(void)table_write(table, out, screen_has_colour(STDOUT_FILENO), width, 0);
		fputs(view->beside_above ? "\n" : "", out);
	}
	if (out != NULL)
		fclose(out);
	table_free(table);
	return text;
}

static int write_table(const struct show_options *options, const struct look *look,
		       const struct look *before, FILE *out, const struct screen *screen)
{
	const struct view *view = options->view;
	const struct view_source source = {
		.reply = &look->reply,
		.before = before == NULL ? NULL : &before->reply,
		.all = options->all,
	};
	bool on_screen = screen != NULL && screen->terminal;
	size_t omitted, lines = 0, rows = 0, width = on_screen ? screen->width : 0;
	struct table *table =
		view_table(view, &source, options->ports, options->port_count, &omitted);
	char *beside = NULL;
	int ret = -ENOMEM;

	if (view->beside != NULL)
		beside = beside_text(options, look, before, width, &lines);
	if (table == NULL || (view->beside != NULL && beside == NULL))
		goto out;
	if (wants_reasons(options))
		add_reasons(table, look, before != NULL);
	if (on_screen) {
		/* Above and below: title, header, up to two notes, and the line of the cursor. */
		rows = screen->height > 8 + lines ? screen->height - 6 - lines : 2;
	}
	if (beside != NULL && view->beside_above)
		fputs(beside, out);
	ret = table_write(table, out, screen_has_colour(STDOUT_FILENO), width, rows);
	if (beside != NULL && !view->beside_above)
		fputs(beside, out);
	if (isatty(STDOUT_FILENO))
		write_notes(options, look, out, table_row_count(table), omitted,
			    screen_has_colour(STDOUT_FILENO));
out:
	free(beside);
	table_free(table);
	return ret;
}

/* --- watch --- */

static void write_title(const struct show_options *options, FILE *out)
{
	time_t now = time(NULL);
	struct tm local;
	char text[16] = "";

	if (localtime_r(&now, &local) != NULL)
		strftime(text, sizeof(text), "%H:%M:%S", &local);
	fprintf(out, "%s  %s  every %g s\n", text, options->view->name, options->watch_seconds);
}

static int draw(const struct show_options *options, const struct look *look,
		const struct look *before, struct screen *screen)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	int ret;

	if (out == NULL)
		return -ENOMEM;
	write_title(options, out);
	ret = write_table(options, look, options->view->counts ? before : NULL, out, screen);
	fclose(out);
	if (ret == 0)
		ret = screen_draw(screen, text, size);
	free(text);
	return ret;
}

/* Look, wait, look again: rates need two. Ends with a signal, the count, or the leaf. */
static int watch(const struct show_options *options, struct client *client, struct screen *screen)
{
	bool needs_two = options->view->counts && !options->json;
	struct look before, now;
	struct ctl_error error;
	unsigned long frames = 0;
	int ret = look_take(options, client, &before, &error);
	bool go_on = ret == 0 && (!needs_two || screen_wait(screen, FIRST_LOOK_SECONDS));

	if (ret != 0)
		return report(&error);
	while (go_on) {
		ret = look_take(options, client, &now, &error);
		if (ret != 0) {
			screen_end(screen);
			ret = report(&error);
			break;
		}
		if (options->json)
			ret = write_json(options, &now);
		else
			ret = draw(options, &now, &before, screen) == 0 ? 0 : 1;
		look_free(&before);
		before = now;
		frames++;
		go_on = ret == 0 && frames != options->count &&
			screen_wait(screen, options->watch_seconds);
	}
	look_free(&before);
	return ret;
}

/* --- commands --- */

static int show_once(const struct show_options *options, struct client *client)
{
	struct ctl_error error;
	struct look look;
	int ret = look_take(options, client, &look, &error);

	if (ret != 0)
		return report(&error);
	look_subtract(options, &look);
	if (options->json)
		ret = write_json(options, &look);
	else
		ret = write_table(options, &look, NULL, stdout, NULL) != 0 || fflush(stdout) != 0;
	look_free(&look);
	return ret;
}

int show_run(const struct show_options *options)
{
	struct ctl_error error;
	struct client client;
	struct screen screen;
	int ret;

	if (client_open(&client, options->runtime_dir, &error) != 0)
		return report(&error);
	if (check_ports(options, &client, &error) != 0) {
		client_close(&client);
		return report(&error);
	}
	if (options->watch) {
		screen_start(&screen, STDOUT_FILENO, options->json);
		ret = watch(options, &client, &screen);
		screen_end(&screen);
	} else {
		ret = show_once(options, &client);
	}
	client_close(&client);
	return ret;
}

static int remember(const struct view *view, struct client *client, struct baseline *baseline,
		    struct ctl_error *error)
{
	struct reply reply;
	int ret;

	if (!view->counts)
		return 0;
	reply_init(&reply);
	ret = client_fetch(client, view->command, &reply, error);
	if (ret == 0 && baseline_add(baseline, view->command, &reply) != 0)
		ret = ctl_fail(error, ENOMEM, "out of memory");
	reply_free(&reply);
	return ret;
}

int show_clear(const char *runtime_dir)
{
	struct ctl_error error;
	struct baseline baseline;
	struct client client;
	int ret;

	if (client_open(&client, runtime_dir, &error) != 0)
		return report(&error);
	ret = baseline_create(&baseline, (uint64_t)time(NULL));
	for (size_t i = 0; i < view_count && ret == 0; i++) {
		ret = remember(&views[i], &client, &baseline, &error);
		if (ret == 0 && views[i].beside != NULL)
			ret = remember(views[i].beside, &client, &baseline, &error);
	}
	if (ret == 0)
		ret = baseline_save(&baseline, runtime_dir, &error);
	baseline_free(&baseline);
	client_close(&client);
	return ret == 0 ? 0 : report(&error);
}
