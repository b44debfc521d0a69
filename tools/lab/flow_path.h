/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow_path - which wires the packets of a flow take now: what the switches' own tables and hash say.
 *
 * Nothing is sent; the answer holds until routes or links change.
 *
 * Thread: the lab's. Some 100 ns a hop.
 */
#ifndef LAB_FLOW_PATH_H
#define LAB_FLOW_PATH_H

#include <stdint.h>

/* A path with more hops would be a loop. */
#define FLOW_PATH_WIRES_MAX 64

struct fabric;
struct flow;

/**
 * @param wires gets the wires from the source on, indices into fabric->wires
 * @return how many; fewer than to the destination when a switch has no way there
 */
uint32_t flow_path(const struct fabric *fabric, const struct flow *flow,
		   uint32_t wires[FLOW_PATH_WIRES_MAX]);

#endif
