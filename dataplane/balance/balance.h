/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * balance - which of a route's next hops a packet takes, where a hash over equal members doesn't say it all.
 *
 * A mode for each class of each route (enum balance_mode). One file for each mode; what they have in common
 * is here. All of them keep to members that have a weight: those that are resolved and whose link is up.
 *
 * Thread: the worker of the burst.
 */
#ifndef DATAPLANE_BALANCE_BALANCE_H
#define DATAPLANE_BALANCE_BALANCE_H

#include <stdint.h>

struct group;
struct parsed;
struct worker;

/**
 * Choose a next hop.
 * @param group  balanced
 * @param parsed of the packet, plain or not
 * @param ip     its IP header
 * @return member 0..group->balanced-1; one without a weight only when none has one
 */
uint32_t balance_choose(struct worker *worker, const struct group *group,
			const struct parsed *parsed, const uint8_t *ip, uint8_t priority);

#endif
