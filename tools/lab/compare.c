/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/compare.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define COMPARE_QUEUES    5
#define COMPARE_PATH_MAX  256
#define COMPARE_NAME_MIN  24
#define COMPARE_VALUE_MIN 14

/* In the order in which people ask. */
static const char *const compared[] = {
	"lossless_drops",
	"flows_finished",
	"flows_unfinished",
	"fct.p50",
	"fct.p99",
	"fct.p999",
	"fct.max",
	"fct_ns.p50",
	"fct_ns.p99",
	"fct_ns.p999",
	"fct_ns.max",
	"latency_ns.p50",
	"latency_ns.p99",
	"latency_ns.p999",
	"latency_ns.max",
	"pfc.pauses",
	"pfc.xoff_sent",
	"pfc.host_xoff_sent",
	"pfc.pause_ns",
	"pfc.pause_share",
	"pfc.fabric_pause_share",
	"watchdog.detected",
	"ecn.marked",
	"ecn.not_capable",
	"ecn.cnps",
	"retransmitted_bytes",
	"balance.imbalance",
	"balance.moves",
	"balance.out_of_order",
	"transport.naks",
	"transport.timeouts",
	"packet_hops",
};

json_t *compare_read(const char *path)
{
	json_error_t error;
	json_t *result = json_load_file(path, 0, &error);

	if (result == NULL) {
		if (error.line > 0)
			fprintf(stderr, "roceleaf-lab: %s:%d:%d: %s\n", path, error.line,
				error.column, error.text);
		else
			fprintf(stderr, "roceleaf-lab: %s: %s\n", path, error.text);
		return NULL;
	}
	if (json_is_string(json_object_get(result, "digest")) &&
	    json_is_array(json_object_get(result, "links")) &&
	    json_is_object(json_object_get(result, "fct")))
		return result;
	fprintf(stderr,
		"roceleaf-lab: %s is no result of `roceleaf-lab run --json`: it has no digest, "
		"links and fct\n",
		path);
	json_decref(result);
	return NULL;
}

static json_t *number_at(json_t *object, const char *path)
{
	char key[COMPARE_PATH_MAX];
	const char *at = path;

	/* Without a flow that ended there are no completion times: 0 would look fast. */
	if (strncmp(path, "fct", 3) == 0 &&
	    json_integer_value(json_object_get(object, "flows_finished")) == 0)
		return NULL;

	for (;;) {
		size_t length = strcspn(at, ".");

		if (length >= sizeof(key))
			return NULL;
		memcpy(key, at, length);
		key[length] = '\0';
		object = json_object_get(object, key);
		if (at[length] == '\0')
			return json_is_number(object) ? object : NULL;
		at += length + 1;
	}
}

static void add_row(json_t *rows, const char *name, json_t *a, json_t *b)
{
	double left = json_number_value(a), right = json_number_value(b);
	json_t *row, *change = json_null();

	if ((a == NULL && b == NULL) || (a != NULL && b != NULL && json_equal(a, b)))
		return;
	if (a != NULL && b != NULL && left != 0)
		change = json_real((right - left) / left);
	row = json_object();
	json_object_set_new(row, "name", json_string(name));
	json_object_set(row, "a", a != NULL ? a : json_null());
	json_object_set(row, "b", b != NULL ? b : json_null());
	json_object_set_new(row, "change", change);
	json_array_append_new(rows, row);
}

/* All keys of an object of numbers that A or B has. */
static void add_object(json_t *rows, const char *prefix, json_t *a, json_t *b)
{
	char name[COMPARE_PATH_MAX];
	const char *key;
	json_t *value;

	json_object_foreach(a, key, value)
	{
		snprintf(name, sizeof(name), "%s.%s", prefix, key);
		if (json_is_number(value))
			add_row(rows, name, value, json_object_get(b, key));
	}
	json_object_foreach(b, key, value)
	{
		snprintf(name, sizeof(name), "%s.%s", prefix, key);
		if (json_is_number(value) && json_object_get(a, key) == NULL)
			add_row(rows, name, NULL, value);
	}
}

/* Collectives by name, as `expect` has them. */
static void add_collectives(json_t *rows, json_t *a, json_t *b)
{
	char name[COMPARE_PATH_MAX];
	const char *key;
	json_t *value;

	json_object_foreach(a, key, value)
	{
		snprintf(name, sizeof(name), "collective.%s", key);
		add_object(rows, name, value, json_object_get(b, key));
	}
	json_object_foreach(b, key, value)
	{
		snprintf(name, sizeof(name), "collective.%s", key);
		if (json_object_get(a, key) == NULL)
			add_object(rows, name, NULL, value);
	}
}

static json_t *depth_of(json_t *links, const char *direction)
{
	json_t *link;
	size_t i;

	json_array_foreach(links, i, link)
	{
		const char *name = json_string_value(json_object_get(link, "direction"));

		if (name != NULL && strcmp(name, direction) == 0)
			return json_object_get(link, "queue_max_bytes");
	}
	return NULL;
}

/* The deepest queues of one result that aren't picked yet: at least a tenth of its deepest. */
static void pick_queues(json_t *picked, json_t *links)
{
	json_int_t least = 0;

	for (uint32_t n = 0; n < COMPARE_QUEUES; n++) {
		const char *deepest = NULL;
		json_int_t depth = least;
		json_t *link;
		size_t i;

		json_array_foreach(links, i, link)
		{
			const char *name = json_string_value(json_object_get(link, "direction"));
			json_int_t bytes =
				json_integer_value(json_object_get(link, "queue_max_bytes"));

			if (name != NULL && bytes > depth &&
			    json_object_get(picked, name) == NULL) {
				deepest = name;
				depth = bytes;
			}
		}
		if (deepest == NULL)
			return;
		json_object_set_new(picked, deepest, json_true());
		if (n == 0)
			least = depth / 10;
	}
}

static void add_queues(json_t *rows, json_t *a, json_t *b)
{
	json_t *left = json_object_get(a, "links"), *right = json_object_get(b, "links");
	json_t *picked = json_object(), *value;
	const char *direction;

	pick_queues(picked, left);
	pick_queues(picked, right);
	json_object_foreach(picked, direction, value)
	{
		char name[COMPARE_PATH_MAX];

		snprintf(name, sizeof(name), "queue_max_bytes %s", direction);
		add_row(rows, name, depth_of(left, direction), depth_of(right, direction));
	}
	json_decref(picked);
}

static json_t *side_of(const char *path, json_t *result)
{
	json_t *side = json_object();

	json_object_set_new(side, "file", json_string(path));
	json_object_set(side, "scenario", json_object_get(result, "scenario"));
	json_object_set(side, "seed", json_object_get(result, "seed"));
	json_object_set(side, "digest", json_object_get(result, "digest"));
	return side;
}

json_t *compare_results(const char *path_a, json_t *a, const char *path_b, json_t *b)
{
	json_t *comparison = json_object(), *rows = json_array();

	for (size_t i = 0; i < sizeof(compared) / sizeof(compared[0]); i++)
		add_row(rows, compared[i], number_at(a, compared[i]), number_at(b, compared[i]));
	add_object(rows, "drops", json_object_get(a, "drops"), json_object_get(b, "drops"));
	add_collectives(rows, json_object_get(a, "collective"), json_object_get(b, "collective"));
	add_queues(rows, a, b);
	json_object_set_new(comparison, "a", side_of(path_a, a));
	json_object_set_new(comparison, "b", side_of(path_b, b));
	json_object_set_new(comparison, "same_digest",
			    json_boolean(json_equal(json_object_get(a, "digest"),
						    json_object_get(b, "digest"))));
	json_object_set_new(comparison, "rows", rows);
	return comparison;
}

static const char *value_text(json_t *value, char *buffer, size_t size)
{
	if (json_is_integer(value))
		snprintf(buffer, size, "%" PRId64, (int64_t)json_integer_value(value));
	else if (json_is_real(value))
		snprintf(buffer, size, "%.6f", json_real_value(value));
	else
		snprintf(buffer, size, "-");
	return buffer;
}

static const char *change_text(json_t *change, char *buffer, size_t size)
{
	double value = json_real_value(change);

	if (!json_is_real(change))
		snprintf(buffer, size, "-");
	else if (value >= 9)
		snprintf(buffer, size, "x %.1f", value + 1);
	else
		snprintf(buffer, size, "%+.2f%%", 100 * value);
	return buffer;
}

static void print_side(json_t *comparison, const char *key, FILE *out)
{
	json_t *side = json_object_get(comparison, key);

	fprintf(out, "%c  %s: %s, seed %" PRId64 ", digest %s\n", key[0] - 'a' + 'A',
		json_string_value(json_object_get(side, "file")),
		json_is_string(json_object_get(side, "scenario"))
			? json_string_value(json_object_get(side, "scenario"))
			: "?",
		(int64_t)json_integer_value(json_object_get(side, "seed")),
		json_string_value(json_object_get(side, "digest")));
}

void compare_print(json_t *comparison, FILE *out)
{
	json_t *rows = json_object_get(comparison, "rows"), *row;
	int widths[3] = {COMPARE_NAME_MIN, COMPARE_VALUE_MIN, COMPARE_VALUE_MIN};
	char a[64], b[64], change[64];
	size_t i;

	print_side(comparison, "a", out);
	print_side(comparison, "b", out);
	if (json_is_true(json_object_get(comparison, "same_digest")))
		fputs("the same run: their digests are equal\n", out);
	if (json_array_size(rows) == 0) {
		fputs("no differences\n", out);
		return;
	}
	json_array_foreach(rows, i, row)
	{
		int length = (int)strlen(json_string_value(json_object_get(row, "name")));

		if (length > widths[0])
			widths[0] = length;
	}
	fprintf(out, "\n%-*s %*s %*s %10s\n", widths[0], "", widths[1], "A", widths[2], "B",
		"change");
	json_array_foreach(rows, i, row)
	{
		fprintf(out, "%-*s %*s %*s %10s\n", widths[0],
			json_string_value(json_object_get(row, "name")), widths[1],
			value_text(json_object_get(row, "a"), a, sizeof(a)), widths[2],
			value_text(json_object_get(row, "b"), b, sizeof(b)),
			change_text(json_object_get(row, "change"), change, sizeof(change)));
	}
}
