/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * resequencer_tables - what resequencer.c, resequencer_flows.c and resequencer_create.c have in common.
 */
#ifndef DATAPLANE_BALANCE_RESEQUENCER_TABLES_H
#define DATAPLANE_BALANCE_RESEQUENCER_TABLES_H

#include "dataplane/balance/resequencer.h"

#define NONE UINT32_MAX

/* resequencer_flow.flags */
#define FLOW_STARTING 0x01u /* a start stands for the expected number */
#define FLOW_HOLE     0x02u /* in a ring of flows with holes */
#define FLOW_READY    0x04u /* in the list of ready flows */

/* How often fences are asked for, each time after eight times as long; then comes the time-out. */
#define STAGES 4

/* Held packets beyond the cap until the burst's end, when holes that were given up are emptied. */
#define SLACK 64

/* A packet that is held. Those of one flow are in a ring in the order they came. */
struct held {
	struct rte_mbuf *packet;
	uint64_t arrived_ps;
	uint32_t flow;
	uint16_t number;
	uint16_t cost_bytes;
	uint32_t chain; /* next in its bucket, or of those unused */
	uint32_t older, newer;
};

struct resequencer_tables {
	uint32_t *index; /* tag << 20 | flow + 1, 0: none; twice as many as flows; linear probing */
	uint32_t *bucket;
	struct held *held;
	uint64_t *epoch; /* of each flow's owner */
	uint16_t *first; /* number that each flow's agreement began with */
	uint8_t *worker; /* of each flow's owner */
	uint8_t *used;   /* which flows are */
	uint32_t index_mask, bucket_mask;
	uint32_t unused_flow, unused_held; /* first of those unused */
	uint32_t ready_first, ready_last;
	uint32_t sweep;
	uint64_t stopped_ps[PRIORITY_COUNT]; /* since when the clock is held */
	uint64_t lost_ps[PRIORITY_COUNT];    /* how far the clock is behind */
	uint8_t stopped;                     /* clocks that are held: bit mask */
};

#define TAG_SHIFT 20
#define TAG_MASK  (UINT32_MAX << TAG_SHIFT)

static inline void count_more(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_relaxed);
}

static inline uint32_t flow_index(const struct resequencer *r, const struct resequencer_flow *flow)
{
	return (uint32_t)(flow - r->flow);
}

#endif
