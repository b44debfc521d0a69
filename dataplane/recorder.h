/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder - how deep each queue was, and what was paused, in time: for bursts that no counter shows.
 *
 * Each worker looks at its ports' queues at an interval, after it has sent, and writes what has changed
 * since its last look into a ring. It does so for ever at a coarse interval; on request a while at a
 * finer one, at once or around a trigger: then it looks at the finer interval until the trigger comes,
 * half of that while is before it and half behind. The ring keeps the last `slots` changes, whatever they are.
 * A look is as late as the poll that makes it; a worker that has nothing queued is not woken for one.
 *
 * A reader copies slots without a lock: what was overwritten meanwhile it finds out and leaves out.
 *
 * Cost: without a look one comparison in a poll. A look is a few loads a port, and a store for each change.
 *
 * Thread: recorder_look() the worker; leaf_record*() one control thread at a time; readers any.
 */
#ifndef DATAPLANE_RECORDER_H
#define DATAPLANE_RECORDER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define RECORDER_SLOTS    (1u << 18) /* 4 MiB for each worker */
#define RECORDER_EVERY_PS PS_PER_US  /* the shortest interval */

struct leaf;
struct worker;

enum record_trigger {
	RECORD_NOW,
	RECORD_AT_DEPTH, /* a queue holds so many bytes, or more */
	RECORD_AT_XOFF,  /* we begin to pause a peer */
};

struct record_request {
	uint64_t every_ps; /* from RECORDER_EVERY_PS on */
	uint64_t for_ps;   /* less than a day */
	uint64_t depth_bytes;
	uint16_t port;    /* PORT_NONE: all */
	uint8_t priority; /* PRIORITY_COUNT: all */
	uint8_t trigger;  /* enum record_trigger */
};

enum record_phase {
	RECORD_COARSE,  /* nothing was asked for, or it is over */
	RECORD_ARMED,   /* until the trigger */
	RECORD_RUNNING, /* until end_ps */
};

struct record_state {
	uint32_t request; /* number of the last one that was taken up; 0: none */
	uint8_t phase;    /* enum record_phase */
	bool triggered;   /* of RUNNING, and after it */
	/* Of the recording, workers' time; without a trigger trigger_ps is begin_ps. */
	uint64_t begin_ps, trigger_ps, end_ps;
	uint16_t trigger_port;
	uint8_t trigger_priority;
};

#define RECORD_PAUSED      0x01 /* its peer has paused the queue */
#define RECORD_PEER_PAUSED 0x02 /* we have paused the peer */

/* From this time on a queue was so. */
struct record_sample {
	uint64_t time_ps; /* workers' */
	uint32_t depth_bytes;
	uint16_t port;
	uint8_t priority;
	uint8_t flags; /* RECORD_* */
};

/**
 * Have a leaf's workers record. Before their first poll.
 * @param slots a power of two. @return 0 or -ENOMEM
 */
int leaf_record_create(struct leaf *leaf, uint32_t slots, uint64_t coarse_ps);

/** Ask all workers for a recording, instead of one that isn't over. Wake those that sleep. @return its number */
uint32_t leaf_record(struct leaf *leaf, const struct record_request *request);

void leaf_record_state(const struct leaf *leaf, uint16_t worker, struct record_state *state);

/**
 * Copy samples of a worker, oldest first.
 * @param index 0 at first; set to where to go on. What was overwritten is passed over.
 * @return how many, at most `max`
 */
uint32_t leaf_record_read(const struct leaf *leaf, uint16_t worker, uint64_t *index,
			  struct record_sample *out, uint32_t max);

/* --- the worker's side --- */

struct recorder;

/** Look, when worker->record_ps has come. Cold. */
void recorder_look(struct worker *worker, uint64_t now_ps);

/** When the worker should poll for the next look; idle when nothing would be seen. */
uint64_t recorder_due_ps(const struct worker *worker, uint64_t now_ps);

void recorder_free(struct recorder *recorder);

#endif
