/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * environment - DPDK's EAL for a process that only simulates: plain memory, no devices, no files, no
 * root, no output.
 *
 * Thread: the main one, once per process.
 */
#ifndef LAB_ENVIRONMENT_H
#define LAB_ENVIRONMENT_H

#include <stdint.h>

/** Memory, bytes, that a pool of that many packets takes. Before EAL. */
uint64_t environment_pool_bytes(uint64_t packets);

/**
 * Start EAL with at least that much memory beside its own. The thread keeps its CPU affinity.
 * @return 0, or -errno with a message on stderr
 */
int environment_start(uint64_t bytes);

#endif
