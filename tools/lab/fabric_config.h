/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric_config - the configuration of one switch of a fabric, as its leaf.yaml would say it.
 *
 * Routes: every subnet over all shortest paths. The set of next hops that most subnets share (on a
 * leaf: all spines) becomes one route for 10.0.0.0/8, so that a leaf's tables don't grow with the
 * fabric; the rest are /16.
 *
 * Thread: any.
 */
#ifndef LAB_FABRIC_CONFIG_H
#define LAB_FABRIC_CONFIG_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

struct fib;
struct scenario;
struct snapshot;

/** Buffers of one switch: leaf.memory in buffers of the fabric's MTU, as the daemon would have. */
uint32_t fabric_switch_packets(const struct scenario *scenario);

/**
 * @param index   of the switch among the switches
 * @param classes whose classes count
 */
struct config *fabric_config_create(const struct scenario *scenario, uint32_t index,
				    const struct config *classes);
void fabric_config_free(struct config *config);

/**
 * What the dataplane reads.
 * @param link_down by link of the topology
 * @return NULL with rte_errno set
 */
struct snapshot *fabric_config_apply(const struct scenario *scenario, uint32_t index,
				     const struct config *config, const bool *link_down,
				     struct fib *fib, bool fib_filled);

#endif
