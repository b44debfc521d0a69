/* SPDX-License-Identifier: BSD-3-Clause */
/* What a run is said to have looked like over time, where that is known: a queue that a host holds. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <string.h>

#include "tests/lab/harness.h"

TestSuite(series, .init = harness_start);

#define BYTES       100000
#define FRAME_EXTRA 74 /* headers of a packet at most: Ethernet, IPv4, UDP, BTH, RETH, ICRC */
#define PACKETS     25 /* of 4096 bytes */

/* The flow comes in 8 us after 150 us, finds its receiver paused, and waits until 900 us: 0.74 of the time. */
#define SCENARIO                                                                                       \
	"duration: 1ms\n"                                                                              \
	"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 2, host_speed: 100G}}\n"          \
	"leaf: {watchdog: {action: off}}\n"                                                            \
	"hosts: {cc: none, mtu: 4096}\n"                                                               \
	"traffic: [{flow: {name: held, from: leaf1.h1, to: leaf1.h2, bytes: 100000, start: 150us}}]\n" \
	"faults: [{pause_storm: {host: leaf1.h2, priority: 3, at: 100us, for: 800us}}]\n"

static json_t *member(json_t *list, const char *key, const char *value)
{
	json_t *object;
	size_t i;

	json_array_foreach(list, i, object)
	{
		if (strcmp(json_string_value(json_object_get(object, key)), value) == 0)
			return object;
	}
	cr_assert_fail("no %s is %s", key, value);
	return NULL;
}

static int64_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static int64_t at(json_t *object, const char *key, size_t i)
{
	return json_integer_value(json_array_get(json_object_get(object, key), i));
}

static int64_t total(json_t *object, const char *key)
{
	json_t *array = json_object_get(object, key);
	int64_t sum = 0;

	for (size_t i = 0; i < json_array_size(array); i++)
		sum += at(object, key, i);
	return sum;
}

static json_t *run_text(const char *text, bool series)
{
	struct simulation *simulation = harness_create(text, 0, false);
	json_t *result;

	if (series)
		simulation_keep_series(simulation);
	cr_assert_eq(simulation_run(simulation, NULL), 0);
	result = simulation_result(simulation);
	harness_finish(simulation);
	return result;
}

static json_t *run(bool series)
{
	return run_text(SCENARIO, series);
}

Test(series, the_mean_of_a_queue_counts_while_it_is_paused)
{
	json_t *result = run(false);
	json_t *link = member(json_object_get(result, "links"), "direction", "leaf1->leaf1.h2");

	cr_expect_gt(number(link, "queue_mean_bytes"), BYTES * 73 / 100);
	cr_expect_lt(number(link, "queue_mean_bytes"), (BYTES + PACKETS * FRAME_EXTRA) * 75 / 100);
	json_decref(result);
}

Test(series, looking_changes_nothing)
{
	json_t *plain = run(false), *looked = run(true);

	cr_expect_null(json_object_get(plain, "series"));
	cr_expect(json_equal(json_object_get(plain, "digest"), json_object_get(looked, "digest")));
	cr_expect(json_equal(json_object_get(plain, "events"), json_object_get(looked, "events")));
	cr_expect(json_equal(json_object_get(plain, "links"), json_object_get(looked, "links")));
	json_decref(plain);
	json_decref(looked);
}

Test(series, a_queue_that_is_held_is_seen_to_be)
{
	json_t *result = run(true), *series = json_object_get(result, "series");
	json_t *link = member(json_object_get(series, "links"), "direction", "leaf1->leaf1.h2");
	json_t *buffer = member(json_object_get(series, "buffers"), "direction", "leaf1.h1->leaf1");
	json_t *flow = member(json_object_get(series, "flows"), "name", "held");

	cr_assert_eq(number(series, "samples"), SERIES_SAMPLES_MAX);
	cr_expect_float_eq(json_number_value(json_object_get(series, "step_ns")), 1000, 1e-9);
	/* Sample 148 is of 149 us, before the flow. */
	cr_expect_eq(at(link, "depth_bytes", 148), 0);
	for (size_t i = 160; i < 899; i++) {
		cr_assert_gt(at(link, "depth_bytes", i), BYTES);
		cr_assert_leq(at(link, "depth_bytes", i), BYTES + PACKETS * FRAME_EXTRA);
		cr_assert_eq(at(buffer, "used_bytes", i), at(link, "depth_bytes", i));
		cr_assert_gt(at(buffer, "xoff_bytes", i), at(buffer, "used_bytes", i));
		cr_assert_eq(at(link, "paused_ppm", i), 1000000);
		cr_assert_eq(at(flow, "bytes", i), 0);
	}
	cr_expect_eq(at(link, "depth_bytes", 950), 0);
	cr_expect_eq(total(flow, "bytes"), BYTES);
	/* 800 us, and what it takes the first pause to arrive and the last to be taken back. */
	cr_expect_geq(total(link, "paused_ppm"), 798 * 1000000);
	cr_expect_leq(total(link, "paused_ppm"), 802 * 1000000);
	json_decref(result);
}

/* Two senders at once: a queue of 1 MB, far above Kmin (100 KB), so packets are marked. */
#define MARKED                                                                                \
	"duration: 500us\n"                                                                   \
	"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 3, host_speed: 100G}}\n" \
	"traffic: [{incast: {senders: 2, to: leaf1.h1, bytes: 1MB}}]\n"

/* Parts of a whole: what each step says adds up to what the result says of the run. */
Test(series, steps_add_up)
{
	json_t *result = run_text(MARKED, true), *series = json_object_get(result, "series"), *of;
	size_t i;

	json_array_foreach(json_object_get(series, "links"), i, of)
	{
		const char *name = json_string_value(json_object_get(of, "direction"));
		json_t *link = member(json_object_get(result, "links"), "direction", name);
		double busy = json_real_value(json_object_get(link, "utilisation"));

		cr_expect_eq(total(of, "marked"), number(link, "marked"), "%s", name);
		/* Each step is rounded down to a millionth. */
		cr_expect_float_eq((double)total(of, "busy_ppm") / 1e9, busy, 2e-6, "%s", name);
	}
	cr_expect_eq(total(series, "marked"), number(json_object_get(result, "ecn"), "marked"));
	cr_expect_gt(total(series, "marked"), 0);
	json_decref(result);
}
