/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/eal.h"
#include "dataplane/fib.h"

static struct config_errors errors;
static struct eal_arguments arguments;

/* A config with these leaf keys, one kernel port and `more` ports. */
static struct config *load(const char *leaf, const char *more)
{
	char text[2048];
	int size = snprintf(text, sizeof(text),
			    "leaf: {%s}\n"
			    "ports:\n"
			    "  - {name: a, device: eth7, vlan: {access: 1}}\n"
			    "%s",
			    leaf, more);
	struct config *config = config_load_string("t.yaml", text, (size_t)size, &errors);

	cr_assert_not_null(config, "%s", errors.error[0].text);
	return config;
}

/* The arguments in one line. */
static const char *line(const struct config *config, bool hugepages, const uint16_t *cpus,
			uint32_t count)
{
	static char text[4096];
	struct memory_plan plan;
	size_t used = 0;

	memory_plan(config, &plan);
	plan.eal_bytes = 100 * 1048576 + 1; /* rounded up to 101 MiB */
	cr_assert_eq(eal_arguments(config, &plan, hugepages, cpus, count, &arguments, &errors), 0,
		     "%s", errors.error[0].text);
	for (int i = 0; i < arguments.argc; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "",
					 arguments.argv[i]);
	cr_assert_null(arguments.argv[arguments.argc]);
	return text;
}

static const uint16_t two[] = {0, 1}, eight[] = {0, 1, 2, 3, 4, 5, 6, 7}, odd[] = {2, 5, 6, 9};

#define PLAIN "--no-huge -m 101 --no-shconf --file-prefix=leaf --log-level=*:error --no-pci"

/* A floating one would reorder what it sends: veth has a queue for each CPU. */
Test(eal, binds_adaptive_workers_to_a_cpu_that_the_name_chooses)
{
	static const char *const names[] = {"a", "b", "c", "d", "e", "f", "g", "h"};
	uint32_t used = 0;

	for (size_t i = 0; i < 8; i++) {
		char leaf[64], wanted[128];
		struct config *config;
		uint16_t first, second;

		snprintf(leaf, sizeof(leaf), "idle: adaptive, workers: 2, name: %s", names[i]);
		config = load(leaf, "");
		(void)line(config, false, eight, 8);
		first = arguments.worker_cpu[0];
		second = arguments.worker_cpu[1];
		cr_assert_eq(second, (first + 7) % 8);
		snprintf(wanted, sizeof(wanted), "--lcores 0@(0-7),1@%u,2@%u ", first, second);
		cr_assert_not_null(strstr(line(config, false, eight, 8), wanted), "%s",
				   line(config, false, eight, 8));
		used |= 1u << first;
		config_free(config);
	}
	cr_assert_geq(__builtin_popcount(used), 4, "eight leaves on few CPUs: %#x", used);
}

Test(eal, binds_spinning_workers_from_the_last_cpu_down)
{
	struct config *config = load("idle: spin, workers: 2", "");

	cr_assert_str_eq(line(config, false, eight, 8), "roceleaf --lcores 0@(0-5),1@7,2@6 " PLAIN);
	cr_assert_eq(arguments.worker_cpu[0], 7);
	cr_assert_eq(arguments.worker_cpu[1], 6);
	cr_assert_str_eq(line(config, false, odd, 4), "roceleaf --lcores 0@(2,5),1@9,2@6 " PLAIN);
	config_free(config);
}

Test(eal, shares_all_cpus_when_workers_take_them_all)
{
	struct config *config = load("idle: spin, workers: 2", "");

	cr_assert_str_eq(line(config, false, two, 2), "roceleaf --lcores 0@(0-1),1@1,2@0 " PLAIN);
	config_free(config);
}

Test(eal, binds_workers_to_the_cores_of_the_config)
{
	struct config *config = load("cores: [2, 5]", "");

	cr_assert_str_eq(line(config, false, eight, 8),
			 "roceleaf --lcores 0@(0-1,3-4,6-7),1@2,2@5 " PLAIN);
	config_free(config);
}

Test(eal, refuses_a_core_that_it_may_not_use_with_its_place)
{
	struct config *config = load("cores: [0, 6]", "");
	struct memory_plan plan;

	memory_plan(config, &plan);
	cr_assert_eq(eal_arguments(config, &plan, false, two, 2, &arguments, &errors), -EINVAL);
	cr_assert_eq(errors.count, 1);
	cr_assert_eq(strncmp(errors.error[0].text, "t.yaml:1:", 9), 0, "%s", errors.error[0].text);
	cr_assert_not_null(strstr(errors.error[0].text, "CPU 6"), "%s", errors.error[0].text);
	config_free(config);
}

Test(eal, takes_hugepages_for_itself_alone)
{
	struct config *config = load("idle: adaptive, cores: [1]", "");

	cr_assert_str_eq(line(config, true, two, 2),
			 "roceleaf --lcores 0@(0),1@1 --in-memory --file-prefix=leaf "
			 "--log-level=*:error --no-pci");
	config_free(config);
}

Test(eal, names_the_pci_devices_it_may_take)
{
	struct config *config =
		load("idle: adaptive, cores: [1]",
		     "  - {name: b, device: '0000:17:00.0', speed: 100G, vlan: {access: 1}}\n"
		     "  - {name: c, device: '0000:18:00.1', speed: 100G, vlan: {access: 1}}\n");

	cr_assert_str_eq(line(config, false, two, 2),
			 "roceleaf --lcores 0@(0),1@1 --no-huge -m 101 --no-shconf "
			 "--file-prefix=leaf --log-level=*:error -a 0000:17:00.0 -a 0000:18:00.1");
	config_free(config);
}

/* 128 bytes of headroom, 1500 + 18 rounded up to 64s (1536), 128 of mbuf, 64 of the mempool. */
Test(memory, fits_a_buffer_to_the_largest_mtu)
{
	struct config *config = load("memory: 64MiB", "");
	struct memory_plan plan;

	memory_plan(config, &plan);
	cr_assert_eq(sizeof(struct rte_mbuf), 128);
	cr_assert_eq(plan.data_bytes, 1518);
	cr_assert_eq(plan.room_bytes, 128 + 1536);
	cr_assert_eq(plan.buffer_bytes, 64 + 128 + 128 + 1536);
	cr_assert_eq(plan.buffer_count, 64 * 1048576 / (64 + 128 + 128 + 1536));
	cr_assert_geq(plan.eal_bytes, (uint64_t)plan.buffer_count * plan.buffer_bytes);
	config_free(config);
}

/* DPDK's drivers: at least 2048 of data, and whole 1024s. */
Test(memory, gives_drivers_the_steps_they_want)
{
	struct config *config = load(
		"memory: 64MiB",
		"  - {name: b, device: '0000:17:00.0', speed: 1G, mtu: 1500, vlan: {access: 1}}\n");
	struct memory_plan plan;

	memory_plan(config, &plan);
	cr_assert_eq(plan.room_bytes, 128 + 2048);
	config_free(config);
	config = load(
		"memory: 64MiB",
		"  - {name: b, device: '0000:17:00.0', speed: 1G, mtu: 9216, vlan: {access: 1}}\n");
	memory_plan(config, &plan);
	cr_assert_eq(plan.data_bytes, 9234);
	cr_assert_eq(plan.room_bytes, 128 + 10240);
	config_free(config);
}

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33) % below;
}

#define ROUTES 5000u

/* Routes of all lengths, many of which begin alike. */
static struct config *config_of_routes(void)
{
	struct config *config = calloc(1, sizeof(*config));
	uint64_t state = 3;

	config->routes = calloc(ROUTES, sizeof(*config->routes));
	config->route_count = ROUTES;
	for (uint32_t i = 0; i < ROUTES; i++) {
		struct config_prefix *to = &config->routes[i].to;
		uint32_t bits = draw(&state, 2) == 0 ? 32 : 128;

		to->ip.family = bits == 32 ? 4 : 6;
		to->length = (uint8_t)draw(&state, bits + 1);
		for (uint32_t byte = 0; byte < bits / 8; byte++) {
			uint32_t left = to->length > 8 * byte ? to->length - 8 * byte : 0;
			uint32_t mask = left >= 8 ? 0xff : 0xff00u >> left & 0xff;

			to->ip.bytes[byte] =
				(uint8_t)(draw(&state, draw(&state, 2) == 0 ? 3 : 256) & mask);
		}
	}
	return config;
}

/* The FIB itself says what it needs; what malloc() has given out is no more than was said. */
Test(memory, knows_how_much_the_routes_take)
{
	struct config *config = config_of_routes();
	const uint32_t nodes[2] = {memory_fib_nodes(config, 4), memory_fib_nodes(config, 6)};
	uint64_t most_bytes = fib_bytes(FIB_COMPACT, ROUTES, nodes);
	struct mallinfo2 before = mallinfo2(), after;
	struct fib *fib = fib_create(FIB_COMPACT, ROUTES);
	uint64_t used_bytes;

	cr_assert_not_null(fib);
	for (uint32_t i = 0; i < ROUTES; i++) {
		const struct config_prefix *to = &config->routes[i].to;

		cr_assert_eq(fib_add(fib, to->ip.family, to->ip.bytes, to->length, i + 1), 0);
	}
	cr_expect_eq(fib_node_count(fib, 4), nodes[0]);
	cr_expect_eq(fib_node_count(fib, 6), nodes[1]);
	after = mallinfo2();
	used_bytes = after.uordblks + after.hblkhd - before.uordblks - before.hblkhd;
	/* Headers of malloc()'s own, and whole pages of large blocks. Sanitizers say 0. */
	cr_expect_leq(used_bytes, most_bytes + 12 * 4096, "%lu, %lu", used_bytes, most_bytes);
	cr_expect(used_bytes == 0 || used_bytes > most_bytes / 2);
	fib_free(fib);
	free(config->routes);
	free(config);
}

Test(memory, of_dpdk_is_not_what_routes_take)
{
	struct config *config = load("memory: 64MiB", "");
	struct config_route *routes = calloc(1000, sizeof(*routes));
	struct memory_plan with, without;

	for (uint32_t i = 0; i < 1000; i++)
		routes[i].to = (struct config_prefix){{4, {10, (uint8_t)(i >> 8), (uint8_t)i}}, 24};
	memory_plan(config, &without);
	config->routes = routes;
	config->route_count = 1000;
	memory_plan(config, &with);
	cr_expect_eq(with.eal_bytes, without.eal_bytes);
	cr_expect_gt(with.table_bytes, without.table_bytes);
	/* All share the nodes of four /16; so two tables of 2048 routes at 24 bytes, both families. */
	cr_expect_eq(memory_fib_nodes(config, 4), 4);
	cr_expect_lt(with.table_bytes - without.table_bytes, 2 * 2 * 2048 * 24 + 1);
	config->routes = NULL;
	config->route_count = 0;
	free(routes);
	config_free(config);
}
