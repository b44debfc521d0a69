/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * memory - how many packet buffers `leaf.memory` buys, and what EAL needs on top.
 *
 * A buffer holds one whole frame of the largest port MTU (DESIGN: a packet is one segment):
 *	room  = 128 headroom + MTU + 18 (Ethernet header, one tag), rounded up to 64;
 *	        where DPDK drivers write into it: at least 128 + 2048, and whole 1024s, because NICs take
 *	        buffer sizes in such steps and would otherwise split frames
 *	bytes = struct rte_mbuf + room + what the mempool adds to an element
 *	count = leaf.memory / bytes
 * In plain memory (no hugepages) a device that does DMA gets buffers that lie within a page of 4 KiB, or
 * begin at one: that is added to what EAL needs. Kernel ports alone don't need it.
 *
 * Tables of routes are in the process's own memory (fib.h): exactly as many nodes as the routes need,
 * in two FIBs of the compact kind. With hugepages FIBs are flat and larger by 64 MB each, mostly
 * untouched; where that is, memory is no issue.
 *
 * Pure: works before EAL does.
 */
#ifndef CONTROL_MEMORY_H
#define CONTROL_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* Of one lcore's cache of free buffers. */
#define MEMORY_CACHE_BUFFERS 256

struct memory_plan {
	uint32_t data_bytes;   /* longest frame that fits: largest MTU + FRAME_HEADER_BYTES */
	uint32_t room_bytes;   /* of an mbuf, headroom included */
	uint32_t buffer_bytes; /* memory that one buffer takes */
	uint32_t buffer_count;
	bool devices;         /* DPDK devices among the ports, which may do DMA */
	uint64_t eal_bytes;   /* what EAL needs in all, the buffers included */
	uint64_t table_bytes; /* of the process beside: routes, those of a reload included */
};

void memory_plan(const struct config *config, struct memory_plan *plan);

/** Nodes that a FIB needs for the config's routes. @param family 4 or 6 */
uint32_t memory_fib_nodes(const struct config *config, uint8_t family);

/** Memory that this machine could give us now (MemAvailable), bytes; 0: it doesn't say. */
uint64_t memory_available(void);

/** Free hugepage memory of this machine, bytes, over all page sizes. */
uint64_t memory_hugepages_free(void);

#endif
