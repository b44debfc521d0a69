/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/environment.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "tools/lab/fabric.h"

#define MIB UINT64_C(1048576)

/* EAL's own tables and what its allocator loses at the edges. Untouched pages cost nothing. */
#define EAL_BYTES (32 * MIB)

uint64_t environment_pool_bytes(uint64_t packets)
{
	uint32_t element = rte_mempool_calc_obj_size(
		(uint32_t)sizeof(struct rte_mbuf) + FABRIC_BUFFER_BYTES, 0, NULL);

	/* The mempool keeps free buffers in a ring of pointers, a power of two of them. */
	return packets * (element + 2 * sizeof(void *)) + packets * element / 16;
}

/* First CPU that this thread may use: EAL insists on one. */
static int first_cpu(const cpu_set_t *cpus)
{
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, cpus))
			return i;
	return 0;
}

int environment_start(uint64_t bytes)
{
	char program[] = "roceleaf-lab", no_huge[] = "--no-huge", no_shconf[] = "--no-shconf";
	char no_pci[] = "--no-pci", no_telemetry[] = "--no-telemetry";
	char log_level[] = "--log-level=*:critical", m[] = "-m", memory[32], lcores[32];
	char *arguments[] = {program,   no_huge, no_shconf, no_pci, no_telemetry,
			     log_level, lcores,  m,         memory, NULL};
	int count = (int)(sizeof(arguments) / sizeof(arguments[0])) - 1;
	cpu_set_t cpus;

	if (pthread_getaffinity_np(pthread_self(), sizeof(cpus), &cpus) != 0)
		CPU_ZERO(&cpus);
	snprintf(lcores, sizeof(lcores), "--lcores=0@%d", first_cpu(&cpus));
	snprintf(memory, sizeof(memory), "%" PRIu64, (bytes + EAL_BYTES + MIB - 1) / MIB);
	if (rte_eal_init(count, arguments) < 0) {
		fprintf(stderr, "%s: DPDK can't start with %s MB of memory: %s\n",
			program_invocation_short_name, memory, rte_strerror(rte_errno));
		return -EIO;
	}
	/* Several labs on one machine must not all run on that first CPU. */
	if (CPU_COUNT(&cpus) != 0)
		(void)pthread_setaffinity_np(pthread_self(), sizeof(cpus), &cpus);
	return 0;
}
