/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * links - ports that are out of every selection, whatever the snapshot says.
 *
 * Control sees a link go down some time before a snapshot without it is built, published and taken over. It says so
 * here first, with two stores, and each worker's next poll goes by it: no group's member that leaves through the
 * port is chosen any more, in whatever mode, and other flows keep theirs, as they will with the snapshot; in-order
 * spray tells the other leaves; the port's owner sends what is queued there by other uplinks where it may
 * (spray_again()), drops the rest and takes nothing more. Back up, everything is as before.
 *
 * A port whose device takes nothing is out as well, though its link is up (egress_stall.c): its owner says so. Its
 * queue stays, however long, for the device may go on, but for sequenced packets, which leave by other uplinks; once
 * the link is down what is left is dropped and counted. Who has no other way to go still goes there. A flow that moves
 * for a stall overtakes what it has in that queue: hash and flowlet modes keep no flow on a port that takes nothing.
 *
 * How soon: the kernel tells control of its interfaces' links at once (rtnetlink). Control asks other devices every
 * 200 ms; no interrupt of a driver's is used. One that takes no more frames once its link is down, as rings that
 * nobody empties do, is found stalled long before, see egress_refused(); what a driver takes meanwhile and throws away
 * is lost, and not in our counters.
 *
 * While a port is out that the snapshot still counts on, packets are looked at one by one: some hundred instructions
 * more for each, until the snapshot comes. Where all members are out their packets are lost to the link, and
 * counted so. Groups of more than BALANCE_MEMBERS_MAX members wait for the snapshot.
 *
 * Thread: as each function says.
 */
#ifndef DATAPLANE_LINKS_H
#define DATAPLANE_LINKS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_bits.h"
#include "dataplane/worker.h"

struct leaf;

/* Of a leaf: written when a link changes, read by each worker once a poll. */
struct links {
	/* Of flags: by control, and by each worker; one writer each, so that nobody needs a locked instruction. */
	_Atomic uint64_t changes[1 + WORKER_COUNT_MAX];
	_Atomic bool down[PORT_COUNT_MAX];    /* by leaf_link_set() */
	_Atomic bool stalled[PORT_COUNT_MAX]; /* by links_stall_set() */
};

/* A worker's view, as of its last poll. */
struct links_seen {
	uint64_t changes;      /* sum of links.changes */
	bool any;              /* `out` isn't empty */
	struct port_bits down; /* ports that are down and that the snapshot counts on */
	struct port_bits out;  /* those, and ports that are stalled */
};

/**
 * A port's link went down or came up. Wake workers that sleep. Thread: control.
 * @param port a real one
 */
void leaf_link_set(struct leaf *leaf, uint16_t port, bool up);

/** Sum of all changes so far: another one than before, if there was any. Hot: once a poll. */
static inline uint64_t links_changes(const struct links *links, uint32_t workers)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i <= workers; i++)
		sum += atomic_load_explicit(&links->changes[i], memory_order_acquire);
	return sum;
}

/** A port's device takes nothing, or does again. Other workers are to be woken. Thread: the port's owner. */
void links_stall_set(struct worker *worker, uint16_t port, bool stalled);

/** Does a port's device take nothing? Thread: any. */
bool leaf_link_stalled(const struct leaf *leaf, uint16_t port);

/** Flags have changed, or the snapshot: bring the view up to date. Thread: the worker. */
void links_look(struct worker *worker);

/** Flags have changed: act on it. Thread: the worker. Cold. */
void links_changed(struct worker *worker, uint64_t now_ps);

#endif
