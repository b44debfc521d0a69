/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * recorder_internal - the inside of a recorder, for recorder.c and recorder_read.c.
 */
#ifndef DATAPLANE_RECORDER_INTERNAL_H
#define DATAPLANE_RECORDER_INTERNAL_H

#include "dataplane/recorder.h"

/* `what`: depth in the lower half, then port, priority and flags. */
struct recorder_slot {
	_Atomic uint64_t time_ps, what;
};

/* The request in force; odd `sequence` while it is written, else twice its number. */
struct recorder_request {
	_Atomic uint32_t sequence;
	_Atomic uint64_t every_ps, for_ps, depth_bytes;
	_Atomic uint16_t port;
	_Atomic uint8_t priority, trigger;
};

struct recorder {
	/* Written by the worker alone. */
	_Atomic uint64_t head; /* slots ever written; the next is slot head & mask */
	struct record_request request;
	uint64_t every_ps; /* now */
	bool waits;        /* something was queued at the last look */
	bool armed;        /* no change has triggered yet */
	struct {
		_Atomic uint32_t sequence; /* odd while it is written */
		_Atomic uint32_t request;
		_Atomic uint64_t begin_ps, trigger_ps, end_ps;
		_Atomic uint16_t trigger_port;
		_Atomic uint8_t trigger_priority, phase, triggered;
	} state;
	/* Fixed. */
	struct recorder_request *asked; /* of the leaf */
	uint64_t coarse_ps;
	uint64_t mask;
	struct recorder_slot *slot;
	uint64_t last[]; /* [ports][PRIORITY_COUNT]: `what`, as last written */
};

static inline uint64_t recorder_pack(uint32_t depth, uint16_t port, uint8_t priority, uint8_t flags)
{
	return depth | (uint64_t)port << 32 | (uint64_t)priority << 48 | (uint64_t)flags << 56;
}

/* The bits of `what` that tell, without the queue's name. */
#define RECORDER_TELLS (UINT64_C(0xff) << 56 | UINT32_MAX)

#endif
