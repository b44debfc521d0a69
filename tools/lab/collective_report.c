/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives for people: a line each repetition, and the steps that took longest.
 */
#include "tools/lab/collective_report.h"

#include <inttypes.h>
#include <stdbool.h>

#define REPETITIONS_SHOWN 10

static int64_t integer_of(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static double real_of(json_t *object, const char *key)
{
	return json_real_value(json_object_get(object, key));
}

static const char *text_of(json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value == NULL ? "" : value;
}

/* The step that took longest after the one before it: the first of equals. */
static void print_slowest_step(json_t *repetition, FILE *out)
{
	int64_t before_ns = integer_of(repetition, "start_ns"), longest_ns = -1;
	json_t *step, *slowest = NULL;
	size_t index;

	json_array_foreach(json_object_get(repetition, "steps"), index, step)
	{
		int64_t length_ns = integer_of(step, "end_ns") - before_ns;

		before_ns = integer_of(step, "end_ns");
		if (length_ns <= longest_ns)
			continue;
		longest_ns = length_ns;
		slowest = step;
	}
	if (slowest == NULL)
		return;
	fprintf(out, "  slowest step %" PRId64 ": %.2f us, %s waited for %s",
		integer_of(slowest, "step"), (double)longest_ns / 1e3,
		text_of(slowest, "straggler"), text_of(slowest, "from"));
	fprintf(out, " over %s (busy %.1f%%, paused %.1f%%)\n", text_of(slowest, "link"),
		100 * real_of(slowest, "link_busy"), 100 * real_of(slowest, "link_paused"));
}

static void print_unfinished(json_t *result, FILE *out)
{
	json_t *overall;
	const char *name;

	json_object_foreach(json_object_get(result, "collective"), name, overall)
	{
		int64_t repeats = integer_of(overall, "repeats");
		int64_t finished = integer_of(overall, "finished");

		if (finished != repeats)
			fprintf(out, "%s: %" PRId64 " of %" PRId64 " finished\n", name, finished,
				repeats);
	}
}

void collective_report_print(json_t *result, FILE *out)
{
	json_t *list = json_object_get(result, "collectives"), *repetition;
	size_t index;

	if (json_object_size(json_object_get(result, "collective")) == 0)
		return;
	fprintf(out, "\n%-16s %6s %12s %9s %10s %10s  %s\n", "collective", "repeat", "time us",
		"slowdown", "algbw Gb/s", "busbw Gb/s", "straggler");
	json_array_foreach(list, index, repetition)
	{
		if (index == REPETITIONS_SHOWN) {
			fprintf(out, "... and %zu more\n", json_array_size(list) - index);
			break;
		}
		fprintf(out, "%-16s %6" PRId64 " %12.2f %9.3f %10.3f %10.3f  %s\n",
			text_of(repetition, "name"), integer_of(repetition, "repeat"),
			(double)integer_of(repetition, "time_ns") / 1e3,
			real_of(repetition, "slowdown"), real_of(repetition, "algbw_gbps"),
			real_of(repetition, "busbw_gbps"), text_of(repetition, "straggler"));
		print_slowest_step(repetition, out);
	}
	print_unfinished(result, out);
}
