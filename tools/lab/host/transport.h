/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * transport - the reliable connection of a flow: which packet comes next, what was acknowledged, and where
 * to begin again.
 *
 * Requester: packets carry consecutive PSNs of 24 bits. Every ack_every-th packet, the last one of a message,
 * and the one that fills the window ask to be acknowledged (AckReq). An acknowledgement of a PSN is one of
 * all before it (9.7.5.1.2). A NAK says which PSN is missing: all before it have come, and sending begins again there
 * (go-back-N). So it does when nothing was acknowledged for a while, though packets are outstanding.
 *
 * Responder: takes the packet that it expects and no other. One that comes too early leads to one NAK per gap,
 * however many follow, as the standard has it: until the missing one comes there is no other NAK. So when that
 * is lost again, nobody asks for it before the requester's timeout. A duplicate isn't delivered again, and
 * acknowledged if it asks for that. Replies of one flow that wait for the wire merge, as acknowledgements add up.
 *
 * The timeout of a host is looked at once per timeout and flow: a flow that has made no progress from one look to
 * the next begins again. So it takes between one timeout and two; the standard allows up to four (9.7.6.1.3).
 *
 * With ack_every 0 receivers say nothing: what comes is delivered as it comes, and what is lost is missing.
 *
 * Source: InfiniBand Architecture Specification, volume 1, 9.7.
 *
 * Thread: the lab's. Nothing is kept per packet: where a PSN lies follows from the sizes of packets and
 * messages, a step per message at most.
 */
#ifndef LAB_HOST_TRANSPORT_H
#define LAB_HOST_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

/* Packets that may be outstanding: well below half of the PSN space, so that old and new are told apart. */
#define TRANSPORT_OUTSTANDING_MAX (UINT32_C(1) << 22)

/* What all connections have in common. */
struct transport_params {
	uint32_t ack_every;    /* packets that ask for one acknowledgement; 0: none do */
	uint64_t timeout_ps;   /* 0: none */
	uint64_t window_bytes; /* of payload that may be outstanding; 0: any number */
	bool sends;            /* messages are SENDs rather than RDMA WRITEs */
	bool cnp_on_ack;       /* marks are told by acknowledgements; CNPs aren't sent */
	bool acks_apart;       /* acknowledgements that wait for the wire don't become one */
	bool pauses_latch;     /* a pause lasts until it is lifted */
	bool ack_dscp_given;
	uint8_t ack_dscp; /* of acknowledgements, when given; else the data's */
	uint8_t ack_priority;
};

/* A place in a flow's bytes. */
struct flow_cursor {
	uint64_t offset_bytes;
	uint32_t psn;
	uint32_t message_left; /* bytes; 0: a message begins */
};

struct flow;
struct frame_view;
struct rte_mbuf;

/** More bytes of a flow are released: a message ends where those before did. */
void transport_release(struct flow *flow, uint64_t released_bytes);

/** True when a packet may be made: something is released, and the window is open. Hot. */
bool transport_may_send(const struct flow *flow);

/** Make the next packet; transport_may_send() said yes. Hot. @param stamp_ps for the receiver's latency */
void transport_send(struct flow *flow, struct rte_mbuf *packet, uint64_t stamp_ps);

/**
 * An acknowledgement or a NAK has come. Hot.
 * @return bytes that it acknowledges and none did before; with *again sending begins again
 */
uint64_t transport_reply(struct flow *flow, const struct frame_view *view, bool *again);

/** Begin again with the first packet that wasn't acknowledged. */
void transport_again(struct flow *flow);

/* What a receiver does with a packet of data. */
enum transport_verdict { TRANSPORT_ACCEPT, TRANSPORT_EARLY, TRANSPORT_DUPLICATE };

/** A packet of data has come; state changes, the payload isn't counted yet. Hot. */
enum transport_verdict transport_receive(struct flow *flow, const struct frame_view *view);

#endif
