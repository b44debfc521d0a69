/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flowlet - a flow may take another path after a pause that is long enough for order to be kept.
 *
 * Packets of a flow that follow each other within the gap are a flowlet and keep together; the first one after
 * a gap or more begins the next flowlet, which goes where quality.h finds least load (Kandula et al., CCR
 * 2007; CONGA, SIGCOMM 2014, section 3.4, whose two-bit age is an exact time here). Of equally good paths a
 * flow keeps the one that it has.
 *
 * The table has one entry for each value of some bits of the flow's hash, and an entry belongs to one flow. Another
 * flow that meets it while its flowlet lasts goes by its hash, as in ECMP, and is counted. When the entry is free
 * again it starts there on the path of its hash, too, if any such flow has met the entry in the last
 * flowlet. So no flow ever changes its path between two packets that are less than a gap apart, however full
 * the table: only when its uplink goes down.
 *
 * Thread: one worker's own. A flow whose packets come to two workers has a flowlet in each.
 */
#ifndef DATAPLANE_BALANCE_FLOWLET_H
#define DATAPLANE_BALANCE_FLOWLET_H

#include <stdint.h>

struct group;
struct worker;

struct flowlet {
	uint32_t hash;   /* of the flow; its low bits are the entry's number */
	uint16_t member; /* one more than the path's number in the group; 0: the entry is free */
	uint16_t met;    /* other flows came by in this flowlet */
	uint64_t
		last_ps; /* its last packet; only differences count, and one of 213 days is like none */
};

struct flowlet_table {
	uint32_t mask; /* entries - 1, a power of two less one */
	struct flowlet entry[];
};

/** @param entries rounded up to a power of two. Control. @return NULL: no memory */
struct flowlet_table *flowlet_table_create(uint32_t entries);

/**
 * Path of a packet that doesn't go on in its flowlet (choose.h).
 * @param entry the flow's place in the table, maybe another one's
 * @param hash  of its flow
 * @return member 0..group->balanced-1
 */
uint32_t flowlet_begin(struct worker *worker, const struct group *group, struct flowlet *entry,
		       uint32_t hash, uint8_t priority);

#endif
