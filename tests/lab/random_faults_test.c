/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random faults of all kinds on random racks: no packet is unaccounted for after any step of any switch,
 * every buffer comes back, and nothing is lost in the lossless class but behind workers that stood
 * still and links that ate pauses. A failing run says its seed; ROCELEAF_TEST_SEED=n repeats it alone.
 */
#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/harness.h"
#include "tools/lab/random.h"

/* Of the lab's pool. */
#define PACKETS 600000

static void start(void)
{
	harness_start_packets(PACKETS);
}

TestSuite(random_faults, .init = start);

#define RUNS   40
#define FAULTS 8
/* 196 once overran a slow host behind a leaf that polls. */
#define FIRST  160

struct plan {
	struct random random;
	uint32_t leaves, hosts, spines, workers;
	bool may_lose; /* lossless packets, rightly */
	char text[4096];
	size_t at;
};

static uint32_t draw(struct plan *plan, uint32_t bound)
{
	return (uint32_t)random_below(&plan->random, bound);
}

static void add(struct plan *plan, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct plan *plan, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	plan->at += (size_t)vsnprintf(plan->text + plan->at, sizeof(plan->text) - plan->at, format,
				      arguments);
	va_end(arguments);
	cr_assert_lt(plan->at, sizeof(plan->text));
}

/* Faults follow one another in slots of 100 us, so that none overlap on one thing. */
static void add_fault(struct plan *plan, uint32_t slot)
{
	static const char *const speeds[] = {"1G", "10G", "33G"};
	static const char *const rates[] = {"1e-8", "1e-6", "1e-4"};
	uint32_t leaf = draw(plan, plan->leaves) + 1, host = draw(plan, plan->hosts) + 1;
	uint32_t at_us = slot * 100 + draw(plan, 20), for_us = 1 + draw(plan, 79);
	bool uplink = plan->spines != 0 && draw(plan, 2) == 0;
	char link[64], name[64];

	snprintf(name, sizeof(name), "leaf%u.h%u", leaf, host);
	if (uplink)
		snprintf(link, sizeof(link), "leaf%u-spine%u", leaf, 1 + draw(plan, plan->spines));
	else
		snprintf(link, sizeof(link), "%s", name);
	switch (draw(plan, 7)) {
	case 0:
		add(plan, "  - link_down: {link: %s", link);
		break;
	case 1:
		add(plan, "  - link_speed: {link: %s, speed: %s", link, speeds[draw(plan, 3)]);
		break;
	case 2:
		add(plan, "  - link_errors: {link: %s, bit_error_rate: %s", link,
		    rates[draw(plan, 3)]);
		plan->may_lose = true;
		break;
	case 3:
		add(plan, "  - pause_storm: {host: %s", name);
		break;
	case 4:
		add(plan, "  - silent_host: {host: %s", name);
		break;
	case 5:
		add(plan, "  - slow_receiver: {host: %s, drain_rate: %s", name,
		    speeds[draw(plan, 3)]);
		break;
	default:
		add(plan, "  - worker_stall: {switch: leaf%u, worker: %u", leaf,
		    draw(plan, plan->workers));
		plan->may_lose = true;
		break;
	}
	add(plan, ", at: %uus, for: %uus}\n", at_us, for_us);
}

static void plan_of(struct plan *plan, uint64_t seed)
{
	uint32_t count;

	*plan = (struct plan){.random = {.state = seed}};
	plan->leaves = 1 + draw(plan, 3);
	plan->hosts = 2 + draw(plan, 3);
	plan->spines = plan->leaves == 1 ? 0 : 1 + draw(plan, 2);
	plan->workers = 1 + draw(plan, 2);
	add(plan,
	    "duration: 1ms\nseed: %u\n"
	    "fabric: {leaf_spine: {leaves: %u, spines: %u, hosts_per_leaf: %u, host_speed: 100G, "
	    "uplink_speed: 100G}}\n"
	    "leaf: {workers: %u, poll: %s, memory: 32MiB}\n"
	    "hosts: {cc: dcqcn, mtu: %u, receive_buffer: 500KB}\n"
	    "traffic:\n"
	    "  - permutation: {}\n"
	    "  - incast: {senders: %u, to: leaf1.h1, bytes: 500KB}\n"
	    "faults:\n",
	    draw(plan, 1000), plan->leaves, plan->spines, plan->hosts, plan->workers,
	    draw(plan, 2) == 0 ? "0" : "1us", draw(plan, 2) == 0 ? 1024 : 4096,
	    plan->leaves * plan->hosts - 1);
	count = 1 + draw(plan, FAULTS);
	for (uint32_t slot = 0; slot < count; slot++)
		add_fault(plan, slot);
}

static uint64_t lossless_drops(const struct simulation *simulation)
{
	json_t *result = simulation_result(simulation);
	uint64_t drops = (uint64_t)json_integer_value(json_object_get(result, "lossless_drops"));

	json_decref(result);
	return drops;
}

Test(random_faults, all_adds_up_after_every_step)
{
	uint64_t one = harness_number("ROCELEAF_TEST_SEED", 0);
	uint64_t first = one != 0 ? one : FIRST;
	uint64_t runs = one != 0 ? 1 : harness_number("ROCELEAF_TEST_RUNS", RUNS);
	uint32_t strict = 0;

	for (uint64_t seed = first; seed < first + runs; seed++) {
		struct fabric_conservation sum;
		struct simulation *simulation;
		struct plan plan;

		plan_of(&plan, seed);
		simulation = harness_begin(plan.text);
		harness_run_to(simulation, 1000 * PS_PER_US);
		fabric_conservation(simulation->fabric, &sum);
		cr_expect(fabric_conserved(&sum), "ROCELEAF_TEST_SEED=%llu",
			  (unsigned long long)seed);
		cr_expect_gt(sum.delivered, 1000, "ROCELEAF_TEST_SEED=%llu: nothing goes on",
			     (unsigned long long)seed);
		if (!plan.may_lose) {
			strict++;
			cr_expect_eq(lossless_drops(simulation), 0, "ROCELEAF_TEST_SEED=%llu",
				     (unsigned long long)seed);
		}
		harness_finish(simulation);
	}
	cr_expect(runs < RUNS || strict != 0, "every run may lose something: this shows little");
}
