/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * switch_node - one leaf in virtual time: the real dataplane behind virtual wires.
 *
 * It runs when a frame arrives or when a worker asked to be polled; nothing else costs anything,
 * whatever the number of ports. Workers of one leaf are stepped one after the other, none of them
 * at the same time; a worker that another one woke runs at the same picosecond.
 *
 * With `check` on, conservation (every frame that came in is queued, was sent, consumed or dropped)
 * is tested after every step.
 *
 * Thread: the lab's.
 */
#ifndef LAB_SWITCH_NODE_H
#define LAB_SWITCH_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/leaf.h"
#include "tools/lab/engine.h"
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
	const uint8_t *mac; /* of all its ports */
	bool check;
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
	bool attention;        /* the next step has more to do than its workers */
	uint64_t ready;        /* bit w: worker w has something to do now */
	uint64_t violations;   /* steps after which something was missing */
	uint64_t violation_ps; /* when first */
	uint64_t worker_due_ps[WORKER_COUNT_MAX];
	/* Snapshots that were replaced, until no worker can hold them. */
	const struct snapshot *snapshot, *retired;
	uint64_t retired_token;
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

/**
 * Put a snapshot in force; the switch owns it from now on.
 * @return 0, or -EAGAIN while the one before last is still held by a worker: run and try again
 */
int switch_publish(struct switch_node *switch_node, const struct snapshot *snapshot,
		   void (*snapshot_free)(const struct snapshot *snapshot));

#endif
