/* SPDX-License-Identifier: BSD-3-Clause */
/* sketch_internal - what the writer (sketch.c) and the readers (sketch_read.c) of a sketch have in common. */
#ifndef DATAPLANE_BALANCE_SKETCH_INTERNAL_H
#define DATAPLANE_BALANCE_SKETCH_INTERNAL_H

#include "dataplane/balance/sketch.h"

struct sketch_window {
	_Atomic uint64_t start_ps, end_ps, bytes, count;
	_Atomic uint64_t flow_bytes[SKETCH_FLOWS];
	_Atomic uint64_t over_bytes[SKETCH_FLOWS];
	_Atomic uint64_t egress[SKETCH_FLOWS];
	_Atomic uint64_t key[SKETCH_FLOWS][SKETCH_KEY_WORDS];
	_Atomic uint64_t *port_bytes; /* [ports]; the pointer is set before start */
};

struct sketch {
	/* Windows that are complete; the one in the making is window[complete & 1]. */
	_Atomic uint64_t complete;
	struct sketch_window window[2];
	_Atomic uint64_t *sent_bytes; /* [ports] */
	uint16_t ports;
	/* The writer's own. */
	bool started;
	uint64_t random;
	uint32_t hash[SKETCH_FLOWS]; /* of the flows in the window in the making */
	_Atomic uint64_t room[];     /* for the arrays by port */
};

/*
 * A word of a window. Who sees one that belongs to a later window also sees `complete` counted on: it was stored
 * before, and both with release and acquire (plain moves on x86), which unlike fences ThreadSanitizer follows.
 */
static inline void sketch_store(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static inline uint64_t sketch_load(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_acquire);
}

#endif
