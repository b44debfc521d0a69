/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * waiting - who waits for whom when a run has ended: pause cycles, and hosts that hold up others.
 *
 * A queue of a switch, or of a host, waits when it has something to send and its peer has paused it. A peer
 * that is a switch may itself have queues that wait; one that is a host is where it ends. What is counted is
 * held: it has waited without a break for longer than one pause frame can last on its link, so that
 * it was told again, and nothing has moved meanwhile. Queues that wait for each other in a circle are a
 * deadlock: no pause of the circle can end before another one of it does.
 *
 * A switch's ingress is taken to wait for every held queue of its priority but the one back to where it
 * came from; which of them its packets are in is not looked at.
 *
 * Thread: the lab's. Costs some us a switch, at the end.
 */
#ifndef LAB_WAITING_H
#define LAB_WAITING_H

#include <stdio.h>

#include <jansson.h>

struct fabric;

/**
 * @return {cycles: [{since_ns, priority, queues: ["a->b", ...]}],
 *          holders: [{host, queue, priority, since_ns, behind: ["a->b", ...]}]}
 */
json_t *waiting_result(const struct fabric *fabric);

/** The same for people; nothing when nobody waits. */
void waiting_print(json_t *waiting, FILE *out);

#endif
