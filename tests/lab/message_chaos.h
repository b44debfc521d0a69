/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * message_chaos - what leaves say to each other is corrupted and repeated on its way from spines to leaves.
 *
 * Of 16 messages one has a wrong byte, so that its receiver refuses it, and two come once more up to 200 us later,
 * behind others that were sent since. Nothing else is touched.
 */
#ifndef TESTS_LAB_MESSAGE_CHAOS_H
#define TESTS_LAB_MESSAGE_CHAOS_H

#include <stdint.h>

#include "tools/lab/engine.h"
#include "tools/lab/link.h"
#include "tools/lab/random.h"

#define MESSAGE_CHAOS_COPIES 64 /* at a time */

struct fabric;

struct message_chaos_tap {
	struct wire_tap tap;
	struct message_chaos *chaos;
	struct wire *wire;
};

struct message_chaos {
	struct node node;
	struct fabric *fabric;
	struct random random;
	struct message_chaos_tap *taps; /* [wires] */
	struct {
		struct rte_mbuf *packet;
		struct wire *wire;
		uint64_t due_ps;
	} copy[MESSAGE_CHAOS_COPIES];
	uint32_t copies;              /* that wait */
	uint64_t repeated, corrupted; /* so far */
};

/** Begin, before the first run. */
void message_chaos_init(struct message_chaos *chaos, struct fabric *fabric, uint64_t seed);
/** Copies that still wait are freed; after the last run. */
void message_chaos_fini(struct message_chaos *chaos);

#endif
