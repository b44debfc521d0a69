/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * links - ports that are out of every selection before a snapshot says so.
 *
 * Control sees a link go down some time before a snapshot without it is built, published and taken over. It says so
 * here first, with two stores, and each worker's next poll goes by it: no group's member that leaves through the
 * port is chosen any more, in whatever mode, and other flows keep theirs, as they will with the snapshot; in-order
 * spray tells the other leaves; the port's owner sends what is queued there by other uplinks where it may
 * (spray_again()), drops the rest and takes nothing more. Back up, everything is as before.
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

struct leaf;
struct worker;

/* Of a leaf: written when a link changes, read by each worker once a poll. */
struct links {
	_Atomic uint64_t changes; /* of any flag */
	_Atomic bool *down;       /* [ports], by leaf_link_set() */
};

/* A worker's view, as of its last poll. */
struct links_seen {
	uint64_t changes;
	bool any;             /* `out` isn't empty */
	struct port_bits out; /* ports that are down and that the snapshot counts on */
};

/**
 * A port's link went down or came up. Wake workers that sleep. Thread: control.
 * @param port a real one
 */
void leaf_link_set(struct leaf *leaf, uint16_t port, bool up);

/** Flags have changed, or the snapshot: bring the view up to date. Thread: the worker. */
void links_look(struct worker *worker);

/** Flags have changed: act on it. Thread: the worker. Cold. */
void links_changed(struct worker *worker, uint64_t now_ps);

#endif
