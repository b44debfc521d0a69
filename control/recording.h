/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recording - what the recorders of all workers (dataplane/recorder.h) have of a span of time, in order.
 *
 * Each queue begins with how it was when the span began, and then has its changes.
 *
 * Thread: any; one at a time for one recording.
 */
#ifndef CONTROL_RECORDING_H
#define CONTROL_RECORDING_H

#include "dataplane/leaf.h"
#include "dataplane/recorder.h"

/* What is taken of one recording at most: 24 MB. */
#define RECORDING_SAMPLES_MAX (1u << 20)

struct recording {
	uint64_t begin_ps, end_ps; /* workers' time */
	uint64_t trigger_ps;       /* of the trigger, if there was one */
	bool triggered;
	uint16_t trigger_port;
	uint8_t trigger_priority;
	uint64_t every_ps; /* interval; 0: whatever it was then */
	bool complete;     /* false: a part was overwritten, or didn't fit */
	uint32_t count, room;
	struct record_sample *sample; /* by time */
};

/**
 * Take what there is from begin_ps to end_ps, which are set, both included.
 * @param port     PORT_NONE: of all. @param priority PRIORITY_COUNT: of all
 * @return 0 or -ENOMEM; free it in either case
 */
int recording_take(struct recording *recording, const struct leaf *leaf, uint16_t port,
		   uint8_t priority);

/** Give back what it holds; it may be all zero. */
void recording_free(struct recording *recording);

#endif
