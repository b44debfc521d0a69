/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "dataplane/units.h"

#define MIB        UINT64_C(1048576)
#define PAGE_BYTES 4096u

/*
 * Beyond the buffers: EAL itself and the drivers' rings. Pages that nobody touches cost nothing, so
 * this is generous.
 */
#define MEMORY_EAL_BYTES (64 * MIB)

/* A kernel port's tables; a DPDK device's descriptor rings. */
#define MEMORY_PORT_BYTES (2 * MIB)

/* A route in one FIB: trie nodes of both families; there are two FIBs while one replaces the other. */
#define MEMORY_ROUTE_BYTES (2 * UINT64_C(1024))

static uint32_t round_up(uint32_t value, uint32_t step)
{
	return (value + step - 1) / step * step;
}

/* Of the buffers, with what DMA wastes at the ends of pages. */
static uint64_t pool_bytes(const struct memory_plan *plan)
{
	uint64_t count = plan->buffer_count;

	if (!plan->devices)
		return count * plan->buffer_bytes;
	if (plan->buffer_bytes > PAGE_BYTES)
		return count * round_up(plan->buffer_bytes, PAGE_BYTES);
	return (count / (PAGE_BYTES / plan->buffer_bytes) + 1) * PAGE_BYTES;
}

void memory_plan(const struct config *config, struct memory_plan *plan)
{
	uint32_t mtu_bytes = 0;
	uint64_t count;

	plan->devices = false;
	for (uint16_t i = 0; i < config->port_count; i++) {
		if (config->ports[i].mtu_bytes > mtu_bytes)
			mtu_bytes = config->ports[i].mtu_bytes;
		if (config->ports[i].driver != CONFIG_DRIVER_KERNEL)
			plan->devices = true;
	}
	plan->data_bytes = mtu_bytes + FRAME_HEADER_BYTES;
	plan->room_bytes = round_up(plan->data_bytes, 64);
	if (plan->devices)
		plan->room_bytes =
			round_up(plan->data_bytes > 2048 ? plan->data_bytes : 2048, 1024);
	plan->room_bytes += RTE_PKTMBUF_HEADROOM;
	plan->buffer_bytes = rte_mempool_calc_obj_size(
		(uint32_t)sizeof(struct rte_mbuf) + plan->room_bytes, 0, NULL);
	count = config->leaf.memory_bytes / plan->buffer_bytes;
	plan->buffer_count = count > INT32_MAX ? INT32_MAX : (uint32_t)count;
	/* The mempool keeps free buffers in a ring of pointers, a power of two of them. */
	plan->eal_bytes = MEMORY_EAL_BYTES + pool_bytes(plan) +
			  (uint64_t)plan->buffer_count * 2 * sizeof(void *) +
			  config->port_count * MEMORY_PORT_BYTES +
			  config->route_count * MEMORY_ROUTE_BYTES;
}

uint64_t memory_available(void)
{
	static const char key[] = "MemAvailable:";
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kilobytes = 0;
	char line[128];

	if (file == NULL)
		return 0;
	while (kilobytes == 0 && fgets(line, sizeof(line), file) != NULL)
		if (strncmp(line, key, strlen(key)) == 0)
			kilobytes = strtoull(line + strlen(key), NULL, 10);
	(void)fclose(file);
	return kilobytes * 1024;
}

/* One size of pages, by the name of its directory ("hugepages-2048kB"). */
static uint64_t pages_free(const char *name)
{
	static const char prefix[] = "hugepages-";
	char path[320], line[32] = "";
	FILE *file;

	if (strncmp(name, prefix, strlen(prefix)) != 0)
		return 0;
	(void)snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/%s/free_hugepages", name);
	file = fopen(path, "re");
	if (file == NULL)
		return 0;
	if (fgets(line, sizeof(line), file) == NULL)
		line[0] = '\0';
	(void)fclose(file);
	/* What isn't a number is none. */
	return strtoull(line, NULL, 10) * strtoull(name + strlen(prefix), NULL, 10) * 1024;
}

uint64_t memory_hugepages_free(void)
{
	DIR *directory = opendir("/sys/kernel/mm/hugepages");
	const struct dirent *entry;
	uint64_t bytes = 0;

	if (directory == NULL)
		return 0;
	while ((entry = readdir(directory)) != NULL)
		bytes += pages_free(entry->d_name);
	(void)closedir(directory);
	return bytes;
}
