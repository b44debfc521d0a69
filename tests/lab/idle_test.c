/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A poll with nothing to do costs no more on 256 ports than on 4. Compared are the best rounds in one
 * process, interleaved, so that a busy machine spoils neither.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include <rte_cycles.h>

#include "tests/lab/harness.h"

TestSuite(idle, .init = harness_start);

#define POLLS  2000
#define ROUNDS 200

static uint64_t round_cycles(struct worker *worker, uint64_t now_ps)
{
	uint64_t before = rte_rdtsc();

	for (uint32_t i = 0; i < POLLS; i++)
		(void)worker_poll(worker, now_ps);
	return rte_rdtsc() - before;
}

static struct simulation *rack(uint32_t ports)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "duration: 1us\n"
		 "leaf: {memory: 64MiB, buffer: {small_frames: 0%%, allow_pfc_before_ecn: true}}\n"
		 "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: %u}}\n",
		 ports);
	return harness_simulate(text, 0, false);
}

Test(idle, a_poll_with_nothing_to_do_costs_no_more_on_256_ports_than_on_4)
{
	struct simulation *small = rack(4), *large = rack(256);
	struct worker *few = small->fabric->switches[0]->first;
	struct worker *many = large->fabric->switches[0]->first;
	uint64_t best_few = UINT64_MAX, best_many = UINT64_MAX;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t cycles = round_cycles(few, PS_PER_US + i);

		best_few = cycles < best_few ? cycles : best_few;
		cycles = round_cycles(many, PS_PER_US + i);
		best_many = cycles < best_many ? cycles : best_many;
	}
	cr_expect_leq(best_many * 2, best_few * 3,
		      "%" PRIu64 " cycles a poll on 256 ports, %" PRIu64 " on 4", best_many / POLLS,
		      best_few / POLLS);
	harness_finish(small);
	harness_finish(large);
}
