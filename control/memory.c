/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/memory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/ports.h"
#include "dataplane/fib.h"
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

/* Of another receive queue of a device: descriptors, and as much of the driver's own. */
#define MEMORY_QUEUE_BYTES UINT64_C(65536)

/* There are two FIBs while one replaces the other. */
#define MEMORY_FIBS 2

/* Nodes of a FIB for an interface's address: of itself and the edges of its network. */
#define MEMORY_ADDRESS_NODES  32
#define MEMORY_ADDRESS_ROUTES 4

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

static int compare_prefixes(const void *a, const void *b)
{
	const struct config_prefix *const *x = a, *const *y = b;
	int order = memcmp((*x)->ip.bytes, (*y)->ip.bytes, sizeof((*x)->ip.bytes));

	return order != 0 ? order : (int)(*x)->length - (int)(*y)->length;
}

/*
 * A route has a node at each eight bits beyond the root's that it goes past; it shares those with
 * routes of the same beginning. Sorted by address, these stand together, if not side by side: the
 * last one that went as far is remembered for each depth.
 */
static uint32_t nodes_of(const struct config_prefix *const *sorted, uint32_t count)
{
	const struct config_prefix *last[FIB_DEPTH_MAX] = {NULL};
	uint32_t nodes = 0;

	for (uint32_t i = 0; i < count; i++) {
		for (uint32_t depth = 0; depth < FIB_DEPTH_MAX; depth++) {
			uint32_t bytes = FIB_ROOT6_BITS / 8 + depth;

			if (sorted[i]->length <= 8 * bytes)
				break;
			if (last[depth] == NULL ||
			    memcmp(last[depth]->ip.bytes, sorted[i]->ip.bytes, bytes) != 0)
				nodes++;
			last[depth] = sorted[i];
		}
	}
	return nodes;
}

uint32_t memory_fib_nodes(const struct config *config, uint8_t family)
{
	const struct config_prefix **sorted =
		calloc((size_t)config->route_count + 1, sizeof(const struct config_prefix *));
	uint32_t count = 0, nodes = 0;

	for (uint32_t i = 0; i < config->route_count; i++) {
		const struct config_prefix *to = &config->routes[i].to;

		if (to->ip.family != family)
			continue;
		if (sorted != NULL)
			sorted[count] = to;
		count++;
	}
	if (sorted == NULL)
		return count * (family == 6 ? FIB_DEPTH_MAX : 2); /* as if they shared none */
	qsort(sorted, count, sizeof(const struct config_prefix *), compare_prefixes);
	nodes = nodes_of(sorted, count);
	free(sorted);
	return nodes;
}

static uint64_t fib_bytes_of(const struct config *config)
{
	uint32_t addresses = 1, nodes[2];

	for (uint16_t i = 0; i < config->port_count; i++)
		addresses += config->ports[i].address_count;
	for (uint16_t i = 0; i < config->vlan_count; i++)
		addresses += config->vlans[i].address_count;
	nodes[0] = memory_fib_nodes(config, 4) + addresses * MEMORY_ADDRESS_NODES;
	nodes[1] = memory_fib_nodes(config, 6) + addresses * MEMORY_ADDRESS_NODES;
	return fib_bytes(FIB_COMPACT, config->route_count + addresses * MEMORY_ADDRESS_ROUTES,
			 nodes);
}

void memory_plan(const struct config *config, struct memory_plan *plan)
{
	uint32_t mtu_bytes = 0, queues = 0;
	uint64_t count;

	plan->devices = false;
	for (uint16_t i = 0; i < config->port_count; i++) {
		if (config->ports[i].mtu_bytes > mtu_bytes)
			mtu_bytes = config->ports[i].mtu_bytes;
		if (config->ports[i].driver != CONFIG_DRIVER_KERNEL)
			plan->devices = true;
		queues += ports_rx_queues_max(config, &config->ports[i]) - 1u;
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
			  config->port_count * MEMORY_PORT_BYTES + queues * MEMORY_QUEUE_BYTES;
	plan->table_bytes = MEMORY_FIBS * fib_bytes_of(config);
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
