/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/host/transport.h"

#include <assert.h>
#include <stdlib.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "tools/lab/allocate.h"
#include "tools/lab/flow.h"

/* Bits 6 and 5 of a syndrome. */
#define SYNDROME_KIND     0x60u
#define SYNDROME_KIND_ACK 0x00u

/* How many packets `psn` is behind `from`, in the circle of PSNs. */
static inline uint32_t psn_distance(uint32_t from, uint32_t psn)
{
	return (psn - from) & FRAME_PSN_MASK;
}

/* --- releases --- */

/* Ends of releases that everything before was acknowledged of don't count any more. */
static void ends_forget(struct flow *flow)
{
	struct flow_ends *ends = flow->ends;

	while (ends->count != 0 && ends->end_bytes[ends->first] <= flow->acked.offset_bytes) {
		ends->first++;
		ends->count--;
	}
}

static void ends_add(struct flow *flow, uint64_t end_bytes)
{
	struct flow_ends *ends = flow->ends;

	if (ends == NULL)
		ends = flow->ends = allocate(sizeof(*ends));
	ends_forget(flow);
	if (ends->first + ends->count == ends->size) {
		if (ends->first > ends->size / 2) {
			for (uint32_t i = 0; i < ends->count; i++)
				ends->end_bytes[i] = ends->end_bytes[ends->first + i];
			ends->first = 0;
		} else {
			ends->size = ends->size == 0 ? 4 : 2 * ends->size;
			ends->end_bytes = allocate_resize(ends->end_bytes,
							  ends->size * sizeof(*ends->end_bytes));
		}
	}
	ends->end_bytes[ends->first + ends->count++] = end_bytes;
}

void transport_release(struct flow *flow, uint64_t released_bytes)
{
	assert(released_bytes >= flow->released_bytes);
	if (released_bytes == flow->released_bytes)
		return;
	if (flow->released_bytes > flow->acked.offset_bytes)
		ends_add(flow, flow->released_bytes);
	flow->released_bytes = released_bytes;
}

/* Where the release ends that a byte lies in. */
static uint64_t release_end_bytes(const struct flow *flow, uint64_t offset_bytes)
{
	const struct flow_ends *ends = flow->ends;

	for (uint32_t i = 0; ends != NULL && i < ends->count; i++)
		if (ends->end_bytes[ends->first + i] > offset_bytes)
			return ends->end_bytes[ends->first + i];
	return flow->released_bytes;
}

/* --- places --- */

/* A message begins: how long is it? The same whenever one asks. */
static __rte_noinline uint32_t message_bytes(const struct flow *flow,
					     const struct flow_cursor *cursor)
{
	uint64_t left = release_end_bytes(flow, cursor->offset_bytes) - cursor->offset_bytes;

	return left < FLOW_MESSAGE_BYTES ? (uint32_t)left : FLOW_MESSAGE_BYTES;
}

/* Go on by packets that were sent. */
static void cursor_advance(const struct flow *flow, struct flow_cursor *cursor, uint32_t packets)
{
	uint32_t payload = flow->params.payload_bytes;

	while (packets != 0) {
		uint32_t count = packets;

		if (cursor->message_left == 0)
			cursor->message_left = message_bytes(flow, cursor);
		if ((uint64_t)packets * payload < cursor->message_left) {
			cursor->offset_bytes += (uint64_t)packets * payload;
			cursor->message_left -= packets * payload;
		} else {
			/* This message and perhaps more. */
			count = (cursor->message_left + payload - 1) / payload;
			cursor->offset_bytes += cursor->message_left;
			cursor->message_left = 0;
		}
		cursor->psn = (cursor->psn + count) & FRAME_PSN_MASK;
		packets -= count;
	}
}

/* --- requester --- */

/* A packet that asked to be acknowledged is outstanding. */
static inline bool reply_pending(const struct flow *flow)
{
	return psn_distance(flow->acked.psn, flow->psn_asked) <= FRAME_PSN_MASK / 2;
}

/* A window that has shrunk below what is outstanding stays open for one packet more, if no other asks. */
bool transport_may_send(const struct flow *flow)
{
	return flow->next.offset_bytes != flow->released_bytes &&
	       (likely(flow->next.offset_bytes - flow->acked.offset_bytes < flow->window_bytes) ||
		!reply_pending(flow)) &&
	       psn_distance(flow->acked.psn, flow->next.psn) < TRANSPORT_OUTSTANDING_MAX;
}

static inline enum frame_opcode write_opcode(bool first, bool last)
{
	if (first)
		return last ? FRAME_WRITE_ONLY : FRAME_WRITE_FIRST;
	return last ? FRAME_WRITE_LAST : FRAME_WRITE_MIDDLE;
}

static inline enum frame_opcode send_opcode(bool first, bool last)
{
	if (first)
		return last ? FRAME_SEND_ONLY : FRAME_SEND_FIRST;
	return last ? FRAME_SEND_LAST : FRAME_SEND_MIDDLE;
}

/* Does the packet that leads up to `next` have to be acknowledged? */
static inline bool asks_reply(struct flow *flow, const struct transport_params *transport,
			      uint32_t psn)
{
	if (transport->ack_every == 0) {
		flow->acked = flow->next;
		return false;
	}
	if (++flow->unasked < transport->ack_every && flow->next.message_left != 0 &&
	    flow->next.offset_bytes - flow->acked.offset_bytes < flow->window_bytes)
		return false;
	flow->unasked = 0;
	flow->psn_asked = psn;
	return true;
}

void transport_send(struct flow *flow, struct rte_mbuf *packet, uint64_t stamp_ps)
{
	const struct transport_params *transport = flow->params.transport;
	struct flow_cursor *next = &flow->next;
	bool first = next->message_left == 0, last;
	struct frame_packet what = {.psn = next->psn, .stamp_ps = stamp_ps};
	uint32_t message = first ? message_bytes(flow, next) : next->message_left;

	what.message_bytes = message;
	what.payload_bytes =
		message < flow->params.payload_bytes ? message : flow->params.payload_bytes;
	last = what.payload_bytes == message;
	what.opcode = transport->sends ? send_opcode(first, last) : write_opcode(first, last);
	next->psn = (next->psn + 1) & FRAME_PSN_MASK;
	next->message_left = message - what.payload_bytes;
	next->offset_bytes += what.payload_bytes;
	flow->sent_packets++;
	if (likely(what.psn == flow->psn_top)) {
		flow->psn_top = next->psn;
		flow->sent_bytes += what.payload_bytes;
	} else {
		flow->retransmitted_bytes += what.payload_bytes;
	}
	what.ack_request = asks_reply(flow, transport, what.psn);
	frame_build(&flow->template, packet, &what);
}

void transport_again(struct flow *flow)
{
	flow->next = flow->acked;
	flow->unasked = 0;
	flow->psn_asked = flow->acked.psn - 1;
}

uint64_t transport_reply(struct flow *flow, const struct frame_view *view, bool *again)
{
	bool acknowledges = (view->syndrome & SYNDROME_KIND) == SYNDROME_KIND_ACK;
	uint32_t packets = psn_distance(flow->acked.psn, view->psn) + (acknowledges ? 1 : 0);
	uint64_t before_bytes = flow->acked.offset_bytes;

	*again = false;
	if (!acknowledges && view->syndrome != FRAME_SYNDROME_NAK_SEQUENCE)
		return 0;
	/* One that is late, or about what was never sent. */
	if (packets > psn_distance(flow->acked.psn, flow->psn_top))
		return 0;
	cursor_advance(flow, &flow->acked, packets);
	if (unlikely(flow->next.offset_bytes < flow->acked.offset_bytes))
		flow->next = flow->acked;
	if (acknowledges) {
		flow->acks++;
	} else {
		flow->naks++;
		transport_again(flow);
		*again = true;
	}
	if (packets != 0)
		flow->progressed = true;
	if (unlikely(flow->ends != NULL))
		ends_forget(flow);
	return flow->acked.offset_bytes - before_bytes;
}

/* --- responder --- */

static __rte_noinline enum transport_verdict receive_unexpected(struct flow *flow, uint32_t ahead)
{
	if (ahead > FRAME_PSN_MASK / 2) {
		flow->duplicates++;
		return TRANSPORT_DUPLICATE;
	}
	flow->out_of_order++;
	if (!flow->gap) {
		flow->gap = true;
		flow->nak = true;
	}
	return TRANSPORT_EARLY;
}

/* Nobody sends again: ahead by less than half of the PSN space is new; otherwise it comes late. */
static enum transport_verdict receive_unacknowledged(struct flow *flow, uint32_t psn)
{
	if (psn_distance(flow->psn_expected, psn) <= FRAME_PSN_MASK / 2)
		flow->psn_expected = (psn + 1) & FRAME_PSN_MASK;
	else
		flow->out_of_order++;
	return TRANSPORT_ACCEPT;
}

enum transport_verdict transport_receive(struct flow *flow, const struct frame_view *view)
{
	uint32_t ahead = psn_distance(flow->psn_expected, view->psn);

	if (flow->params.transport->ack_every == 0)
		return receive_unacknowledged(flow, view->psn);
	if (unlikely(ahead != 0))
		return receive_unexpected(flow, ahead);
	flow->psn_expected = (view->psn + 1) & FRAME_PSN_MASK;
	flow->gap = false;
	flow->nak = false;
	if (frame_ends_message(view->opcode))
		flow->msn = (flow->msn + 1) & FRAME_PSN_MASK;
	return TRANSPORT_ACCEPT;
}
