/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ethdev_counters - what a DPDK device counts under names of its driver's own (its extended statistics).
 *
 * Thread: control; drivers add up their registers, so one reader at a time.
 */
#ifndef DATAPLANE_IO_ETHDEV_COUNTERS_H
#define DATAPLANE_IO_ETHDEV_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

/* Pauses: eight priorities, xon and xoff, and some for the link. */
#define ETHDEV_COUNTERS_MAX 32

/* Some counters of a device that mean the same. */
struct ethdev_counters {
	uint32_t count;
	uint64_t id[ETHDEV_COUNTERS_MAX];
};

/** Is a device's counter, by its name, one of pauses received? */
bool ethdev_counts_pauses(const char *name);

/** Of frames received with a wrong checksum? Those of the whole port, not of a queue. */
bool ethdev_counts_crc_errors(const char *name);

/** Find the counters of a device that has been started; none when it has no such. */
void ethdev_counters_find(struct ethdev_counters *out, uint16_t device,
			  bool (*is_one)(const char *name));

/** Sum of them; 0 when the device doesn't tell. */
uint64_t ethdev_counters_sum(const struct ethdev_counters *counters, uint16_t device);

#endif
