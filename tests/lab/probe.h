/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * probe - stands between the leaves of a fabric and their wires, and checks what must never happen,
 * whatever the dataplane thinks of itself:
 *	- a queue transmits while its peer has paused it
 *	- a MAC control or LLDP frame is forwarded (one leaves with another address)
 *	- a lossy priority is paused
 *
 * It reads pauses by the layout of the standard, and believes the leaf only which queue a packet
 * was in.
 */
#ifndef TESTS_LAB_PROBE_H
#define TESTS_LAB_PROBE_H

#include "tools/lab/fabric.h"

#define PROBE_SWITCHES_MAX 64

struct probe_port {
	uint64_t from_ps[PRIORITY_COUNT], until_ps[PRIORITY_COUNT]; /* paused, by its peer */
	uint8_t paused;                                             /* bit p: those times count */
	uint64_t pauses;                                            /* sent: xoff frames */
};

struct probe {
	struct fabric *fabric;
	struct probe_port *port[PROBE_SWITCHES_MAX];
	uint64_t sent_while_paused;
	uint64_t forwarded_control;
	uint64_t lossy_pauses;
	uint64_t received_pauses;
};

/** Plug into every port of every switch. One probe at a time. */
void probe_start(struct probe *probe, struct fabric *fabric);
/** Before the fabric is freed. */
void probe_stop(struct probe *probe);

/** The link of a port went down: what its peer said is forgotten. */
void probe_forget(struct probe *probe, uint32_t switch_index, uint32_t port);

#endif
