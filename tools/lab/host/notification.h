/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * notification - the notification point of DCQCN: a receiver turns marks (CE) into congestion
 * notification packets (CNP), at most one per flow in an interval.
 *
 * The first marked packet of a flow asks for a CNP at once and opens a window of one interval. A window
 * during which another packet was marked ends with a CNP, and opens the next one; any other just ends
 * (SIGCOMM 2015, section 5.1, figure 6). With an interval of 0 every marked packet asks for a CNP. A CNP
 * that waits for the wire stands for all marks until it leaves.
 *
 * A CNP is a RoCEv2 packet of its own (annex A17.9.3): BTH with opcode 0x81 and the BECN bit, to the queue
 * pair of the sender, then 16 bytes that are reserved. It travels in the class of its DSCP and isn't
 * ECN capable.
 *
 * Thread: the lab's.
 */
#ifndef LAB_HOST_NOTIFICATION_H
#define LAB_HOST_NOTIFICATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/lab/frame.h"

#define NOTIFICATION_RESERVED_BYTES 16

/* One flow's, at its receiver. */
struct notification {
	bool open;   /* a window runs */
	bool marked; /* a packet was marked in it */
	bool asked;  /* a CNP waits to be sent */
	uint64_t window_end_ps;
	uint64_t sent; /* CNPs */
	struct notification *next_open, *next_asked;
	struct frame_template template;
};

struct notification_list {
	struct notification *first, *last;
};

/* One host's. */
struct notifier {
	uint64_t interval_ps;
	uint8_t priority;               /* of CNPs: what a pause of it stops */
	struct notification_list open;  /* by the ends of their windows */
	struct notification_list asked; /* in order of asking */
};

/** @param path of CNPs to the flow's sender: its queue_pair is the sender's */
void notification_init(struct notification *notification, const struct frame_path *path);

/** A marked packet of the flow has come. */
void notification_marked(struct notifier *notifier, struct notification *notification,
			 uint64_t now_ps);

/** Close the windows that are over. @return when the next one ends, or now_ps + TIME_IDLE_PS */
uint64_t notifier_advance(struct notifier *notifier, uint64_t now_ps);

/** True when a CNP waits to be sent. */
static inline bool notifier_asked(const struct notifier *notifier)
{
	return notifier->asked.first != NULL;
}

struct rte_mbuf;

/** Make the CNP that was asked for first; there is one. */
void notifier_build(struct notifier *notifier, struct rte_mbuf *packet);

#endif
