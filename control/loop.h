/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * loop - descriptors that the control thread waits for, and who is called when one is ready.
 *
 * A source may be removed, and then freed, from within any handler. Sources belong to the caller.
 *
 * Thread: control.
 */
#ifndef CONTROL_LOOP_H
#define CONTROL_LOOP_H

#include <stdint.h>

struct loop_source {
	int fd; /* -1: not watched */
	void (*ready)(void *context);
	void *context;
};

#define LOOP_EVENTS_MAX 32

struct loop {
	int fd; /* epoll */
	/* Sources that are ready and whose turn has not come yet; NULL: removed meanwhile. */
	struct loop_source *ready[LOOP_EVENTS_MAX];
	int ready_count;
};

/** @return 0, or -errno */
int loop_open(struct loop *loop);
void loop_close(struct loop *loop);

/** Watch a descriptor for reading. @return 0, or -errno; then source->fd is -1 */
int loop_add(struct loop *loop, struct loop_source *source, int fd, void (*ready)(void *context),
	     void *context);

/** Stop watching. The descriptor stays open. Harmless when it isn't watched. */
void loop_remove(struct loop *loop, struct loop_source *source);

/** Wait until something is ready, for at most timeout_ms (0: don't; -1: for ever). */
void loop_wait(struct loop *loop, int timeout_ms);

/** Call the handlers of what was ready. */
void loop_dispatch(struct loop *loop);

#endif
