/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture - copies of what a port receives and sends, for whoever captures (capture_ring.h).
 *
 * Received frames are copied as they came, before anything looks at them; sent ones as the device took
 * them, PFC frames of our own among them. Times are those of the polls.
 *
 * Cost: without a capture one load and one test for each burst. With one, a copy of at most
 * `snap_bytes` a frame of that port.
 *
 * Thread: the worker; leaf_capture() control.
 */
#ifndef DATAPLANE_CAPTURE_H
#define DATAPLANE_CAPTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/capture_ring.h"
#include "dataplane/worker.h"

struct leaf;
struct rte_mbuf;
struct worker;

/* A capture in force. Control makes it; each worker writes its own part. */
struct capture {
	void *memory;
	uint16_t port;
	uint32_t slots, slot_bytes, snap_bytes;
	struct capture_worker {
		struct capture_ring *ring;
		uint8_t *slot;
		uint64_t head; /* ours: what stands in shared memory is for others */
	} worker[WORKER_COUNT_MAX];
};

/**
 * Divide memory of capture_bytes() bytes, all zero, whose header is filled in.
 * @param workers of the leaf. @param port whose frames are copied
 */
void capture_init(struct capture *capture, void *memory, uint16_t workers, uint16_t port);

/**
 * Put a capture in force, or with NULL the one that is out of it: free it once leaf_quiet(leaf, the token)
 * is true. Workers see it at their next poll.
 * @return a token for leaf_quiet()
 */
uint64_t leaf_capture(struct leaf *leaf, struct capture *capture);

/** Copy frames that were received. Cold: there is a capture. */
void capture_received(struct worker *worker, uint16_t port, struct rte_mbuf *const *packet,
		      uint32_t count);

/** Hand frames to a port's device, with copies of those that it takes. @return how many. Cold, as above */
uint32_t capture_transmit(struct worker *worker, uint16_t port, struct rte_mbuf **packet,
			  uint32_t count);

#endif
