/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/eal.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_log.h>

#define MIB UINT64_C(1048576)

/* Append to an argument that is being written. Too long is our own mistake: see the sizes. */
static void text_add(struct eal_arguments *a, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static void text_add(struct eal_arguments *a, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(a->text + a->used, sizeof(a->text) - a->used, format, arguments);
	va_end(arguments);
	if (length > 0)
		a->used += (uint32_t)length;
	if (a->used >= sizeof(a->text))
		a->used = sizeof(a->text) - 1;
}

static void argument_begin(struct eal_arguments *a)
{
	if (a->argc < EAL_ARGUMENTS_MAX)
		a->argv[a->argc++] = a->text + a->used;
}

static void argument_end(struct eal_arguments *a)
{
	if (a->used < sizeof(a->text) - 1)
		a->text[a->used++] = '\0';
}

static void argument(struct eal_arguments *a, const char *text)
{
	argument_begin(a);
	text_add(a, "%s", text);
	argument_end(a);
}

static bool cpu_listed(const uint16_t *list, uint32_t count, uint32_t cpu)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i] == cpu)
			return true;
	return false;
}

/* "(0-3,7)", of those CPUs that are not in `except`; of all when that leaves none. */
static void text_add_cpus(struct eal_arguments *a, const uint16_t *cpus, uint32_t count,
			  const uint16_t *except, uint32_t except_count)
{
	uint32_t left = 0;
	char separator = '(';

	for (uint32_t i = 0; i < count; i++)
		left += cpu_listed(except, except_count, cpus[i]) ? 0 : 1;
	if (left == 0)
		except_count = 0;
	for (uint32_t i = 0, first; i < count; i++) {
		if (cpu_listed(except, except_count, cpus[i]))
			continue;
		first = i;
		while (i + 1 < count && cpus[i + 1] == cpus[i] + 1 &&
		       !cpu_listed(except, except_count, cpus[i + 1]))
			i++;
		if (first == i)
			text_add(a, "%c%u", separator, cpus[i]);
		else
			text_add(a, "%c%u-%u", separator, cpus[first], cpus[i]);
		separator = ',';
	}
	text_add(a, ")");
}

static int check_cores(const struct config *config, const uint16_t *cpus, uint32_t cpu_count,
		       struct config_errors *errors)
{
	const struct config_leaf *leaf = &config->leaf;

	for (uint16_t i = 0; i < leaf->core_count; i++) {
		if (cpu_listed(cpus, cpu_count, leaf->cores[i]))
			continue;
		config_fail(config, errors, config_mark_of(config, "leaf.cores[%u]", i),
			    "cores: CPU %u is not one that this process may use (it may use %u, "
			    "%u..%u; see taskset -p)",
			    leaf->cores[i], cpu_count, cpus[0], cpus[cpu_count - 1]);
	}
	return errors->count > 0 ? -EINVAL : 0;
}

/* Where a leaf's workers start among n CPUs, so that several leaves don't share one. */
static uint32_t name_place(const char *name, uint32_t n)
{
	uint64_t hash = config_hash(CONFIG_HASH_START, name, strlen(name));

	return (uint32_t)((hash ^ hash >> 32) % n);
}

/* "--lcores 0@(0-1),1@2,2@3" */
static void add_lcores(const struct config *config, const uint16_t *cpus, uint32_t cpu_count,
		       struct eal_arguments *a)
{
	const struct config_leaf *leaf = &config->leaf;
	uint32_t skip = leaf->idle == CONFIG_IDLE_SPIN ? 0 : name_place(leaf->name, cpu_count);

	for (uint16_t i = 0; i < leaf->workers; i++)
		a->worker_cpu[i] = leaf->core_count > 0
					   ? leaf->cores[i]
					   : cpus[cpu_count - 1 - (skip + i) % cpu_count];
	argument(a, "--lcores");
	argument_begin(a);
	text_add(a, "%u@", EAL_CONTROL_LCORE);
	/* A CPU that we chose for a worker that sleeps is control's as well. */
	text_add_cpus(a, cpus, cpu_count, a->worker_cpu,
		      leaf->core_count > 0 || leaf->idle == CONFIG_IDLE_SPIN ? leaf->workers : 0);
	for (uint16_t i = 0; i < leaf->workers; i++)
		text_add(a, ",%u@%u", EAL_WORKER_LCORE(i), a->worker_cpu[i]);
	argument_end(a);
}

int eal_arguments(const struct config *config, const struct memory_plan *plan, bool hugepages,
		  const uint16_t *cpus, uint32_t cpu_count, struct eal_arguments *a,
		  struct config_errors *errors)
{
	bool pci = false;

	memset(a, 0, sizeof(*a));
	if (check_cores(config, cpus, cpu_count, errors) != 0)
		return -EINVAL;
	argument(a, "roceleaf");
	add_lcores(config, cpus, cpu_count, a);
	if (hugepages) {
		argument(a, "--in-memory");
	} else {
		argument(a, "--no-huge");
		argument(a, "-m");
		argument_begin(a);
		text_add(a, "%llu", (unsigned long long)((plan->eal_bytes + MIB - 1) / MIB));
		argument_end(a);
		argument(a, "--no-shconf");
	}
	argument(a, "--file-prefix=leaf");
	argument(a, "--log-level=*:error");
	for (uint16_t i = 0; i < config->port_count; i++) {
		if (config->ports[i].driver != CONFIG_DRIVER_VFIO)
			continue;
		pci = true;
		argument(a, "-a");
		argument(a, config->ports[i].device);
	}
	if (!pci)
		argument(a, "--no-pci");
	return 0;
}

uint32_t eal_cpus(uint16_t *cpus, uint32_t max)
{
	cpu_set_t *set = CPU_ALLOC(EAL_CPUS_MAX);
	size_t size = CPU_ALLOC_SIZE(EAL_CPUS_MAX);
	uint32_t count = 0;

	if (set != NULL && sched_getaffinity(0, size, set) == 0)
		for (uint16_t cpu = 0; cpu < EAL_CPUS_MAX && count < max; cpu++)
			if (CPU_ISSET_S(cpu, size, set))
				cpus[count++] = cpu;
	if (set != NULL)
		CPU_FREE(set);
	if (count == 0 && max > 0)
		cpus[count++] = 0;
	return count;
}

int eal_start(const struct config *config, struct eal_arguments *arguments, const char **text)
{
	char *argv[EAL_ARGUMENTS_MAX + 1];

	/* EAL puts its sockets below this directory. */
	if (setenv("RUNTIME_DIRECTORY", config->leaf.runtime_dir, 1) != 0) {
		*text = strerror(errno);
		return -errno;
	}
	/* To stderr alone; the default is syslog as well. */
	(void)rte_openlog_stream(stderr);
	memcpy(argv, arguments->argv, sizeof(argv)); /* EAL sorts them */
	if (rte_eal_init(arguments->argc, argv) < 0) {
		*text = rte_strerror(rte_errno);
		return -rte_errno;
	}
	return 0;
}
