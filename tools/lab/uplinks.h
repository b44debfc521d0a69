/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * uplinks - how evenly leaves spread their traffic over the links to other switches.
 *
 * Every 100 us each leaf with two such links or more is looked at: the most that one of them has sent over what it
 * would have sent if all had been used alike, each by its rate. 1 is even, the number of links (of one
 * rate) is all on one. The result is the mean over these windows and leaves, weighed by bytes, so that a
 * window with a few acknowledgements counts for little.
 *
 * Results: `balance` {imbalance, moves, out_of_order, held_max_bytes, uplinks}: the mean above (0: nothing was
 * sent in any whole window), flowlets that left their uplink, arrivals out of order over all flows, and bytes
 * that a leaf held to restore order at most. `uplinks` [{leaf, name, bytes, share}]: of each such leaf, what each of
 * its links to other switches has sent in the whole run, and the share of all that these links have sent.
 *
 * Thread: the lab's.
 */
#ifndef LAB_UPLINKS_H
#define LAB_UPLINKS_H

#include <stdint.h>

#include <jansson.h>

#include "tools/lab/engine.h"

#define UPLINKS_WINDOW_PS (100 * PS_PER_US)

struct fabric;

struct uplinks {
	struct node node;
	const struct fabric *fabric;
	uint64_t *sent_bytes; /* [wires], when the window began */
	/* Over all windows and leaves: what was sent, and what would have been at the worst link's pace. */
	uint64_t bytes;
	uint64_t worst_bytes;
};

/** Look at a fabric all through its run. After all other nodes. */
void uplinks_init(struct uplinks *uplinks, struct fabric *fabric);
void uplinks_fini(struct uplinks *uplinks);

/** Add `balance` to a result. */
void uplinks_result(const struct uplinks *uplinks, json_t *result);

#endif
