/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives in a fabric: their times against lower bounds, their order, and who is named as the straggler. */
#include <criterion/criterion.h>
#include <string.h>

#include <jansson.h>

#include "tests/lab/harness.h"

TestSuite(collective, .init = harness_start, .timeout = 60);

#define RACK(hosts) "duration: 50ms\nfabric: {single_leaf: {hosts: " #hosts "}}\n"

static json_t *result_of(const char *text, struct simulation **simulation)
{
	json_t *result;

	*simulation = harness_simulate(text, 0, false);
	result = simulation_result(*simulation);
	cr_assert_eq(json_integer_value(json_object_get(result, "flows_unfinished")), 0);
	return result;
}

static json_t *overall(json_t *result, const char *name)
{
	json_t *object = json_object_get(json_object_get(result, "collective"), name);

	cr_assert_not_null(object, "no collective %s", name);
	return object;
}

static int64_t number(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static double ratio(json_t *object, const char *key)
{
	cr_assert(json_is_real(json_object_get(object, key)), "no %s", key);
	return json_real_value(json_object_get(object, key));
}

static json_t *repetition(json_t *result, size_t index)
{
	json_t *object = json_array_get(json_object_get(result, "collectives"), index);

	cr_assert_not_null(object);
	return object;
}

/*
 * Each rank sends 14/8 of 16 MB through its 100G link. A message of 2 MB, cut into writes of 1 MiB and packets
 * of 4096 bytes, is 489 packets with 82 bytes of headers and framing each (14 + 20 + 8 + 12 + 4 + 24),
 * and two RETHs of 16: 2040130 bytes, 163210 ns at 100G; 14 of them: 2284946 ns.
 */
Test(collective, a_ring_on_an_idle_fabric_takes_its_lower_bound)
{
	struct simulation *simulation;
	json_t *result = result_of(RACK(8) "traffic: [{allreduce: {bytes: 16MB}}]\n", &simulation);
	json_t *allreduce = overall(result, "allreduce");

	cr_expect_leq(llabs(number(allreduce, "ideal_ns") - 2284946), 1, "%ld ns",
		      (long)number(allreduce, "ideal_ns"));
	cr_expect_geq(ratio(allreduce, "slowdown"), 1);
	cr_expect_leq(ratio(allreduce, "slowdown"), 1.02);
	/* 2 * 7/8 of 100G but for 2 % of headers. */
	cr_expect_float_eq(ratio(allreduce, "busbw_gbps"), ratio(allreduce, "algbw_gbps") * 14 / 8,
			   1e-5);
	cr_expect_float_eq(ratio(allreduce, "algbw_gbps"),
			   16e6 * 8 / (double)number(allreduce, "time_ns"), 1e-3);
	json_decref(result);
	harness_finish(simulation);
}

/* Neighbours in the ring are in one rack but for two: it needs one uplink each way. */
Test(collective, a_ring_over_two_leaves_takes_its_lower_bound)
{
	struct simulation *simulation;
	json_t *result =
		result_of("duration: 50ms\n"
			  "fabric: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4}}\n"
			  "traffic: [{allreduce: {name: sum, bytes: 16MB, repeat: 3}}]\n",
			  &simulation);

	cr_expect_eq(number(overall(result, "sum"), "finished"), 3);
	cr_expect_leq(ratio(overall(result, "sum"), "slowdown"), 1.02);
	json_decref(result);
	harness_finish(simulation);
}

/* Partners exchange: no link carries two messages of a step on one leaf. */
Test(collective, halving_doubling_on_one_leaf_takes_its_lower_bound)
{
	struct simulation *simulation;
	json_t *result = result_of(
		RACK(8) "traffic: [{allreduce: {algorithm: halving-doubling, bytes: 16MB}}]\n",
		&simulation);

	cr_expect_eq(json_array_size(json_object_get(repetition(result, 0), "steps")), 6);
	cr_expect_geq(ratio(overall(result, "allreduce"), "slowdown"), 1);
	cr_expect_leq(ratio(overall(result, "allreduce"), "slowdown"), 1.02);
	json_decref(result);
	harness_finish(simulation);
}

/* One step at a time is a permutation at a time: links are full, and nobody gets from two. */
Test(collective, alltoall_one_step_at_a_time_takes_its_lower_bound)
{
	struct simulation *simulation;
	json_t *result = result_of(RACK(8) "traffic: [{alltoall: {bytes: 16MB, concurrent: 1}}]\n",
				   &simulation);

	cr_expect_geq(ratio(overall(result, "alltoall"), "slowdown"), 1);
	cr_expect_leq(ratio(overall(result, "alltoall"), "slowdown"), 1.02);
	json_decref(result);
	harness_finish(simulation);
}

/* Every rank gets all of every message: shares of bytes / N, rounded at the chunks' bounds. */
Test(collective, bytes_that_come_are_those_of_the_schedule)
{
	static const char *const kinds[] = {
		"allreduce: {bytes: 100003, repeat: 3}",
		"allreduce: {bytes: 100003, repeat: 3, algorithm: halving-doubling, ranks: [\"*.h[1-4]\"]}",
		"alltoall: {bytes: 100003, repeat: 3, concurrent: 3}",
	};
	/* Of all ranks together: 2 (N - 1) or N - 1 times the vector. */
	static const uint64_t bytes[] = {2 * 4 * 100003, 2 * 3 * 100003, 4 * 100003};

	for (uint32_t i = 0; i < 3; i++) {
		struct simulation *simulation;
		char text[512];
		uint64_t received = 0;
		json_t *result;

		snprintf(text, sizeof(text), RACK(5) "traffic: [{%s}]\n", kinds[i]);
		result = result_of(text, &simulation);
		for (uint32_t j = 0; j < simulation->fabric->traffic.flow_count; j++)
			received += simulation->fabric->traffic.flows[j].received_bytes;
		cr_expect_eq(received, 3 * bytes[i], "%s: %lu", kinds[i], (unsigned long)received);
		cr_expect_eq(json_array_size(json_object_get(result, "collectives")), 3);
		json_decref(result);
		harness_finish(simulation);
	}
}

/* Steps are over one after another, and the next repetition begins `compute` after the last of them. */
Test(collective, steps_and_repetitions_follow_each_other)
{
	struct simulation *simulation;
	json_t *result = result_of(RACK(6) "traffic:\n"
					   "  - alltoall: {bytes: 1MB, repeat: 4, start: 30us,\n"
					   "               compute: 70us, concurrent: 2}\n",
				   &simulation);
	int64_t begin_ns = 30000;

	for (size_t i = 0; i < 4; i++) {
		json_t *this = repetition(result, i), *steps = json_object_get(this, "steps");
		int64_t before_ns = begin_ns;

		cr_expect_eq(number(this, "start_ns"), begin_ns);
		cr_expect_eq(number(this, "repeat"), (int64_t)i + 1);
		cr_assert_eq(json_array_size(steps), 5);
		for (size_t j = 0; j < 5; j++) {
			int64_t end_ns = number(json_array_get(steps, j), "end_ns");

			cr_expect_geq(end_ns, before_ns);
			before_ns = end_ns;
		}
		/* Nanoseconds are cut, not rounded: one may be lost on the way. */
		cr_expect_leq(llabs(before_ns - begin_ns - number(this, "time_ns")), 1);
		begin_ns = before_ns + 70000;
		if (i < 3)
			begin_ns = number(repetition(result, i + 1), "start_ns");
		cr_expect_leq(llabs(begin_ns - before_ns - 70000), 1);
	}
	json_decref(result);
	harness_finish(simulation);
}

/*
 * A rank on half the speed: everything waits for it. All that is late goes over its link, in one direction
 * or the other, and the lower bound knows of the link.
 */
Test(collective, a_slow_link_is_what_holds_every_step_up)
{
	struct simulation *simulation;
	json_t *result = result_of(
		"duration: 50ms\n"
		"fabric: {single_leaf: {hosts: 4, links: [{link: leaf1.h3, speed: 50G}]}}\n"
		"traffic: [{allreduce: {bytes: 4MB}}]\n",
		&simulation);
	json_t *steps = json_object_get(repetition(result, 0), "steps");
	size_t index;
	json_t *step;

	json_array_foreach(steps, index, step)
	{
		const char *link = json_string_value(json_object_get(step, "link"));
		const char *late = json_string_value(json_object_get(step, "straggler"));

		cr_expect(strcmp(link, "leaf1.h3->leaf1") == 0 ||
				  strcmp(link, "leaf1->leaf1.h3") == 0,
			  "step %zu was held up by %s", index, link);
		cr_expect(strcmp(late, "leaf1.h3") == 0 || strcmp(late, "leaf1.h4") == 0,
			  "step %zu waited for %s", index, late);
	}
	cr_expect_geq(ratio(overall(result, "allreduce"), "slowdown"), 1);
	cr_expect_leq(ratio(overall(result, "allreduce"), "slowdown"), 1.02);
	json_decref(result);
	harness_finish(simulation);
}

/* Bytes that ranks may send at a time, of all steps released so far. */
static uint64_t released_at(struct simulation *simulation, uint64_t time_ps, uint32_t *flows)
{
	const struct traffic *traffic = &simulation->fabric->traffic;
	uint64_t released = 0;

	*flows = 0;
	harness_run_to(simulation, time_ps);
	for (uint32_t i = 0; i < traffic->flow_count; i++) {
		released += traffic->flows[i].released_bytes;
		*flows += traffic->flows[i].released_bytes != 0;
	}
	return released;
}

/*
 * Chunks of 4 MB last 326 us at 100G: while they are on their way nothing more is released, and after each
 * of them one more. (The harness' clock wraps after 1 us.)
 */
Test(collective, a_rank_may_send_a_step_when_it_has_received_the_one_before)
{
	struct simulation *simulation =
		harness_begin("duration: 50ms\nfabric: {single_leaf: {hosts: 4}}\n"
			      "traffic: [{allreduce: {bytes: 16MB}}]\n");
	uint32_t flows;

	for (uint64_t step = 0; step < 6; step++) {
		cr_expect_eq(released_at(simulation, (100 + 330 * step) * PS_PER_US, &flows),
			     4 * 4000000 * (step + 1), "step %lu", (unsigned long)step);
		cr_expect_eq(flows, 4);
	}
	harness_finish(simulation);
}

/* Of 7 peers, three at first: 2 MB to each, the next when the first has come. */
Test(collective, alltoall_has_so_many_steps_under_way)
{
	struct simulation *simulation =
		harness_begin("duration: 50ms\nfabric: {single_leaf: {hosts: 8}}\n"
			      "traffic: [{alltoall: {bytes: 16MB, concurrent: 3}}]\n");
	uint32_t flows;

	cr_expect_eq(released_at(simulation, 100 * PS_PER_US, &flows), 8 * 3 * 2000000);
	cr_expect_eq(flows, 8 * 3);
	/* All of what was released has been sent after 3 * 163 us and more has come. */
	cr_expect_gt(released_at(simulation, 600 * PS_PER_US, &flows), 8 * 3 * 2000000);
	harness_finish(simulation);
}

/* An unfinished one has no slowdown that an expectation could hold for. */
Test(collective, what_is_not_finished_has_no_time)
{
	struct simulation *simulation =
		harness_simulate("duration: 100us\nfabric: {single_leaf: {hosts: 4}}\n"
				 "traffic: [{allreduce: {bytes: 16MB, repeat: 2}}]\n",
				 0, false);
	json_t *result = simulation_result(simulation);

	cr_expect_eq(number(overall(result, "allreduce"), "finished"), 0);
	cr_expect_null(json_object_get(overall(result, "allreduce"), "slowdown"));
	cr_expect_eq(json_array_size(json_object_get(result, "collectives")), 0);
	json_decref(result);
	harness_finish(simulation);
}

/* The clock may stand anywhere: nothing depends on it. */
Test(collective, results_do_not_depend_on_where_the_clock_stands)
{
	static const char text[] =
		RACK(4) "traffic: [{alltoall: {bytes: 1MB, repeat: 2, compute: 5us}}]\n";
	uint64_t digest[2];

	for (uint32_t i = 0; i < 2; i++) {
		struct simulation *simulation =
			harness_simulate(text, i == 0 ? 0 : UINT64_MAX - 20 * PS_PER_US, true);

		digest[i] = fabric_digest(simulation->fabric);
		harness_finish(simulation);
	}
	cr_expect_eq(digest[0], digest[1]);
}

/*
 * 32 ranks with a window of four steps have at most 32 * 4 messages under way: 16 packets each, which may be
 * acknowledged, sent again and told of by CNPs (8 in all), and some to spare. All flows would be eight times that.
 */
Test(collective, a_window_bounds_the_packets_under_way)
{
	const char text[] = RACK(32) "hosts: {ack_every: 1}\nleaf: {memory: 256MiB}\n"
				     "traffic: [{alltoall: {bytes: 2MiB, concurrent: 4}}]\n";
	struct simulation *simulation;
	json_t *result;

	result = result_of(text, &simulation);
	cr_expect_leq(fabric_packets(simulation->scenario), 32 * 4 * 16 * 8 + 5000);
	cr_expect_eq(number(overall(result, "alltoall"), "finished"), 1);
	json_decref(result);
	harness_finish(simulation);
}
