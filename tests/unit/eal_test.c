/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <rte_mbuf.h>

#include "control/eal.h"

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
