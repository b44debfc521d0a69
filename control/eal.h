/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * eal - DPDK's environment from a leaf's config: nothing that its user has to know.
 *
 * lcores   0 is the control thread, 1..n the workers. With `cores`, worker i is bound to cores[i];
 *          without, workers are bound to the last CPUs, one each as far as they go, or with
 *          `adaptive` begin at one that the leaf's name chooses, so that several leaves share a
 *          laptop. A worker must not float: the kernel queues what it sends to a veth per CPU, and
 *          one that is moved overtakes itself. Control is bound to the CPUs without a named
 *          or spinning worker, or to all of them when none is left.
 * memory   hugepages when enough are free, held by this process alone (--in-memory); otherwise
 *          plain memory (--no-huge). Nothing is left behind in either case.
 * sockets  EAL's runtime directory lies below `runtime_dir`, so that any number of leaves, root's or
 *          an ordinary user's, run beside each other.
 *
 * The argument builder is pure. Thread: control.
 */
#ifndef CONTROL_EAL_H
#define CONTROL_EAL_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "control/memory.h"

#define EAL_CONTROL_LCORE   0
#define EAL_WORKER_LCORE(i) ((unsigned)(i) + 1)
#define EAL_ARGUMENTS_MAX   (16 + 2 * 32)
#define EAL_CPUS_MAX        1024
#define EAL_TEXT_BYTES      32768

struct eal_arguments {
	int argc;
	char *argv[EAL_ARGUMENTS_MAX + 1];
	uint16_t worker_cpu[CONFIG_CORES_MAX]; /* where each is bound */
	char text[EAL_TEXT_BYTES];             /* where argv points */
	uint32_t used;
};

/**
 * Build EAL's arguments.
 * @param cpus ids of the CPUs that this process may use, rising; cpu_count >= 1
 * @param errors what is wrong with `cores`, with its line
 * @return 0, or -EINVAL with errors->count >= 1
 */
int eal_arguments(const struct config *config, const struct memory_plan *plan, bool hugepages,
		  const uint16_t *cpus, uint32_t cpu_count, struct eal_arguments *arguments,
		  struct config_errors *errors);

/** CPUs that this process may use, rising. @return how many, at most max */
uint32_t eal_cpus(uint16_t *cpus, uint32_t max);

/**
 * Start EAL; this thread becomes lcore 0. Once per process.
 * @return 0, or -errno with a message in *text (static)
 */
int eal_start(const struct config *config, struct eal_arguments *arguments, const char **text);

#endif
