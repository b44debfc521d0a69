/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * switch_node - one leaf in virtual time: the real dataplane behind virtual wires.
 *
 * It runs when a frame arrives or when a worker asked to be polled; nothing else costs anything,
 * whatever the number of ports. An ideal one has one worker, which is never late unless it is stalled.
 *
 * Several workers are stepped one after the other, in an order that the seed decides, none of them at the
 * same time. With `poll_ps`, a worker that was polled is busy for some time between half of it and
 * all of it: only then does it see what came meanwhile, as on a CPU. So their polls fall together in
 * ever new ways, and a run can be repeated.
 *
 * With `check` on, conservation (every frame that came in is queued, was sent, consumed or dropped)
 * is tested after every step of a worker.
 *
 * Thread: the lab's.
 */
#ifndef LAB_SWITCH_NODE_H
#define LAB_SWITCH_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/leaf.h"
#include "tools/lab/engine.h"
#include "tools/lab/random.h"
#include "tools/lab/virtual_io.h"

struct fib;

struct switch_params {
	const char *name; /* kept by the caller */
	uint16_t port_count;
	uint16_t worker_count;
	struct rte_mempool *pool;
	struct queue_pool *queue_pool; /* one for all switches */
	uint32_t packets_max;          /* in this leaf at most */
	uint32_t fdb_entries;
	uint64_t seed;
	uint64_t poll_ps;        /* from one poll of a worker to the next, at most; 0: never late */
	uint32_t rx_ring_frames; /* of each port's receive ring; 0: without end */
	const uint8_t *mac;      /* of all its ports */
	bool check;
};

/* Frames that were lost at full receive rings: by class, and MAC control frames. */
struct switch_lost {
	uint64_t packets[PRIORITY_COUNT];
	uint64_t control;
};

/* Looks at a switch after each of its steps; embedded in, or pointing to, what does. */
struct switch_observer {
	void (*step)(struct switch_observer *observer, uint64_t now_ps);
	void *context;
	struct switch_observer *next; /* the switch's */
};

/* What arrived waits for a worker that polls; beyond this it is late. 10 us at 100G are 125 KB. */
#define SWITCH_LATE_PS (10 * PS_PER_US)

struct switch_worker {
	uint64_t due_ps;               /* when it wants to be polled */
	uint64_t free_ps;              /* not before */
	uint64_t wanted_ps;            /* since when frames wait for it, while it is ready */
	uint64_t late_ps, late_max_ps; /* waits beyond SWITCH_LATE_PS in all; the longest of all */
};

struct switch_node {
	struct node node;
	/* Hot with one worker. */
	alignas(64) struct worker *first;
	struct leaf *leaf;
	struct virtual_io *io; /* [port_count] */
	uint16_t worker_count;
	uint16_t port_count;
	bool check;
	bool ideal;
	bool attention;        /* the next step has more to do than its workers */
	uint64_t ready;        /* bit w: worker w has something to do now */
	uint64_t violations;   /* steps after which something was missing */
	uint64_t violation_ps; /* when first */
	uint64_t poll_ps;
	uint32_t rx_ring_frames;
	struct random random;
	struct switch_worker worker[WORKER_COUNT_MAX];
	/* Snapshots that were replaced, until no worker can hold them. */
	const struct snapshot *snapshot, *retired;
	uint64_t retired_token;
	struct switch_observer *observer; /* NULL: nobody looks */
	void (*snapshot_free)(const struct snapshot *snapshot);
	struct fib *fib; /* the caller's; freed with the switch by fib_free */
	const char *name;
	uint8_t mac[6];
};

/** @return a switch that is a node of the engine, or NULL with rte_errno set */
struct switch_node *switch_create(struct engine *engine, const struct switch_params *params);

/** Counts what is still queued as dropped and frees it, its snapshots and its FIB. */
void switch_free(struct switch_node *switch_node);

/** Plug wires in. Every port, before the first run. @return 0 or -errno */
int switch_attach(struct switch_node *switch_node, uint16_t port, struct wire *tx, struct wire *rx);

/** What its receive rings had no room for until now. The frames are gone from the wires afterwards. */
void switch_lost(struct switch_node *switch_node, struct switch_lost *lost);

/** A worker is not polled until then, whatever comes. */
void switch_stall(struct switch_node *switch_node, uint16_t worker, uint64_t until_ps);

/** Have an observer called after every step from now on. It belongs to the caller. */
void switch_observe(struct switch_node *switch_node, struct switch_observer *observer);

/**
 * Put a snapshot in force; the switch owns it from now on.
 * @return 0, or -EAGAIN while the one before last is still held by a worker: run and try again
 */
int switch_publish(struct switch_node *switch_node, const struct snapshot *snapshot,
		   void (*snapshot_free)(const struct snapshot *snapshot));

#endif
