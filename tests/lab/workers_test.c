/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Switches of several workers, whose polls fall together as the seed decides: with and without time
 * between polls, and with one that stands still for a while. After every step of a worker packets must add
 * up; flows must stay in order; when traffic has ended, no account may hold anything.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "dataplane/snapshot.h"
#include "tests/lab/harness.h"

TestSuite(workers, .init = harness_start);

#define TEXT_MAX 2048

/* An incast, and flows across it in both classes. */
static const char *text_of(uint32_t seed, uint32_t workers, const char *poll)
{
	static char text[TEXT_MAX];

	snprintf(
		text, sizeof(text),
		"name: workers\n"
		"seed: %u\n"
		"duration: 8ms\n"
		"fabric: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4}}\n"
		"leaf: {workers: %u, poll: %s, memory: 64MiB}\n"
		"traffic:\n"
		"  - incast: {name: incast, senders: 7, to: leaf1.h1, bytes: 6MB}\n"
		"  - permutation: {name: across, bytes: 100KB}\n"
		"  - flow: {name: other, from: leaf1.h2, to: leaf2.h2, bytes: 100KB, class: best-effort}\n",
		seed, workers, poll);
	return text;
}

/* @param lossless nothing may be dropped, everything has come */
static void check_end(const struct simulation *simulation, bool lossless)
{
	uint64_t pauses = 0;

	harness_check_quiet(simulation, lossless);
	for (uint32_t s = 0; s < simulation->scenario->topology->switch_count; s++)
		pauses += harness_pauses(simulation, s, 1u << 3);
	cr_expect_gt(pauses, 0, "nobody had to pause: this shows nothing");
	if (lossless)
		cr_expect_eq(harness_drops(simulation), 0);
}

static uint64_t run(uint32_t seed, uint32_t workers, const char *poll)
{
	struct simulation *simulation = harness_begin(text_of(seed, workers, poll));
	uint64_t digest;

	harness_run_to(simulation, 8 * PS_PER_MS);
	check_end(simulation, true);
	digest = fabric_digest(simulation->fabric);
	harness_finish(simulation);
	return digest;
}

Test(workers, nothing_is_lost_whatever_the_order_of_their_steps)
{
	for (uint32_t seed = 1; seed <= 3; seed++)
		for (uint32_t workers = 2; workers <= 5; workers += 3)
			run(seed, workers, "0");
}

Test(workers, nothing_is_lost_whatever_time_lies_between_polls)
{
	static const char *const polls[] = {"300ns", "2us", "7us"};

	for (uint32_t i = 0; i < 3; i++)
		for (uint32_t workers = 1; workers <= 4; workers += 1 + i)
			run(i + 1, workers, polls[i]);
}

Test(workers, a_run_repeats_and_another_seed_is_another_order)
{
	uint64_t first = run(1, 3, "1us");

	cr_expect_eq(run(1, 3, "1us"), first);
	cr_expect_neq(run(2, 3, "1us"), first);
}

/* Longer than headroom lasts, so that packets may be lost; nothing else may go wrong. */
Test(workers, one_stands_still_and_all_adds_up_in_order)
{
	for (uint16_t stalled = 0; stalled < 3; stalled++) {
		struct simulation *simulation = harness_begin(text_of(1, 3, "1us"));
		struct engine *engine = simulation->fabric->engine;

		harness_run_to(simulation, 50 * PS_PER_US);
		for (uint32_t s = 0; s < simulation->scenario->topology->switch_count; s++)
			switch_stall(simulation->fabric->switches[s], stalled,
				     engine->now_ps + 200 * PS_PER_US);
		harness_run_to(simulation, 12 * PS_PER_MS);
		check_end(simulation, false);
		harness_finish(simulation);
	}
}
