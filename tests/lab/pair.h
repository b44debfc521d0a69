/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pair - two hosts with nothing between them but somebody who sees every frame, and may drop or mark it.
 */
#ifndef TESTS_LAB_PAIR_H
#define TESTS_LAB_PAIR_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/pfc_frame.h"
#include "tools/lab/engine.h"
#include "tools/lab/flow.h"
#include "tools/lab/host/host.h"
#include "tools/lab/link.h"

#define PAIR_FLOWS_MAX 8
#define PAIR_RATE_BPS  UINT64_C(100000000000)
/* One way from a host to the one between, and again to the other host. */
#define PAIR_DELAY_PS  (500 * PS_PER_NS)

#define PAIR_PAUSE 0xFF /* an opcode that no frame has */

struct pair_frame {
	uint64_t time_ps; /* since the start: it has arrived at the one between */
	uint32_t number;  /* of its kind (data or not) from this host, 0.. */
	uint8_t from;     /* host */
	uint8_t opcode;   /* PAIR_PAUSE: a pause frame */
	uint8_t syndrome;
	uint8_t tos;
	bool ack_request, becn, dropped;
	uint32_t queue_pair;
	uint32_t psn, msn;
	uint32_t payload_bytes;
	uint32_t length;
	struct pfc_frame pause;
};

struct pair {
	struct engine *engine;
	struct node between;
	struct traffic traffic;
	struct host host[2];
	struct wire wire[4]; /* 2 i from host i, 2 i + 1 to it */
	struct flow flow[PAIR_FLOWS_MAX];
	struct cc_params cc;
	uint32_t counts[2][2]; /* [host][data] */
	/* NULL: none. */
	bool (*drops)(struct pair *pair, const struct pair_frame *frame);
	bool (*marks)(struct pair *pair, const struct pair_frame *frame);
	uint64_t context; /* of these */
	struct pair_frame *frames;
	uint32_t frame_count, frame_size;
};

struct pair_params {
	uint32_t flows; /* 0: one; all from host 0 to host 1 */
	uint64_t bytes; /* of each */
	bool unreleased;
	uint64_t rate_bps;      /* 0: the link's */
	uint32_t payload_bytes; /* 0: 1024 */
	uint32_t psn;
	enum cc_kind cc;
	struct transport_params transport;
	struct receive_buffer_params receive_buffer; /* of host 1 */
};

/** The clock wraps after 1 us. */
struct pair *pair_create(const struct pair_params *params);
/** Every packet must be back. */
void pair_free(struct pair *pair);
/** Until a time since the start. */
void pair_run(struct pair *pair, uint64_t time_ps);
uint64_t pair_now_ps(const struct pair *pair);

/** The n-th frame (0..) from a host with an opcode; the test fails without it. */
const struct pair_frame *pair_frame(const struct pair *pair, uint8_t from, uint8_t opcode,
				    uint32_t n);
/** How many of them there were. */
uint32_t pair_count(const struct pair *pair, uint8_t from, uint8_t opcode);

/** Every byte has come exactly once and in order, and the sender knows. */
void pair_check_complete(const struct pair *pair, const struct flow *flow);

#endif
