/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * flow - one stream of RDMA writes or sends from a host to another, and what became of it.
 *
 * A flow sends messages of FLOW_MESSAGE_BYTES (the last may be shorter) in packets of at most its
 * payload size, paced: one packet is due each time the packet before would have left a wire of the
 * flow's rate, framing overhead included. A rate equal to the link's is line rate. A packet that the
 * host could not send in time, because another flow had the wire, is made up for by at most one
 * packet's time.
 *
 * With congestion control (cc/cc.h) that rate is the most, and the controller's rate paces. A rate that falls
 * counts from the next packet on; one that rises while a packet isn't due yet brings that forward.
 *
 * What a flow may send is released to it, all at once or bit by bit (host_release()); a message ends where a
 * release does. It is one queue pair: its pace and its controller go on over all of them. Who wants to
 * know how far it has come watches a number of delivered bytes (watch_bytes, traffic.reached).
 *
 * Its packets are acknowledged, and sent again when they are lost: host/transport.h.
 *
 * Thread: the lab's.
 */
#ifndef LAB_FLOW_H
#define LAB_FLOW_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"
#include "tools/lab/cc/cc.h"
#include "tools/lab/frame.h"
#include "tools/lab/host/transport.h"

#define FLOW_MESSAGE_BYTES (1u << 20)

/* Receivers know a flow by its queue pair: FLOW_QUEUE_PAIR + id. 0 and 1 are special. */
#define FLOW_QUEUE_PAIR 16
#define FLOW_COUNT_MAX  ((1u << 24) - FLOW_QUEUE_PAIR)

struct host;
struct notification;

struct flow_params {
	const char *name; /* kept by the caller */
	struct host *source, *destination;
	uint64_t bytes; /* of payload; 0: without end */
	uint64_t
		released_bytes; /* that it may send from its start; at most bytes, if that isn't 0 */
	uint64_t rate_bps;      /* on the wire */
	uint64_t start_ps;      /* when the first packet is due */
	uint64_t stop_ps;       /* with stops: no packet is sent from then on */
	bool stops;
	uint32_t payload_bytes;  /* per packet at most: RDMA MTU, or what the flow asked for */
	uint32_t overhead_bytes; /* of the host's link */
	const struct transport_params *transport; /* kept by the caller */
	uint8_t tos;
	uint8_t priority; /* that its class has in the leaves; what a pause stops */
	uint16_t source_port;
	uint32_t psn; /* of the first packet */
};

/* Ends of releases that may still have to be sent, or sent again; the last one isn't among them. */
struct flow_ends {
	uint64_t *end_bytes; /* [size], ascending */
	uint32_t first, count, size;
};

struct flow {
	/* Sender. */
	alignas(64) uint64_t due_ps; /* of the next packet, or of what may bring it forward */
	uint64_t send_ps;            /* reacts: when the next packet is due */
	struct flow_cursor next;     /* the packet that comes next */
	uint64_t released_bytes;     /* up to where it may send */
	uint64_t window_bytes;       /* that may be outstanding; UINT64_MAX: any number */
	struct cc *cc;
	uint32_t unasked;   /* packets since the last that asked to be acknowledged */
	uint32_t psn_asked; /* of that; before the acknowledged ones: none outstanding has */
	bool queued;        /* its host looks at due_ps */
	bool reacts;        /* its controller paces */
	bool timed;         /* its host looks for a timeout */
	bool progressed;    /* since its host last looked */
	/* Line 1: its controller's pace, and what comes back. */
	alignas(64) struct wire_rate pace;
	struct flow_cursor acked; /* the first packet that wasn't acknowledged */
	uint32_t psn_top;         /* the first that was never sent */
	struct flow_ends *ends;   /* NULL: it has had one release */
	/* Line 2. */
	uint64_t sent_bytes, sent_packets; /* packets: repeated ones too */
	uint64_t timeout_ps;               /* timed: when its host looks again */
	struct flow *timeout_next;
	struct frame_template template;
	/* Receiver. */
	alignas(64) uint64_t received_bytes; /* delivered */
	uint64_t received_packets;           /* that came, delivered or not */
	uint64_t
		watch_bytes; /* received_bytes of which somebody wants to be told; UINT64_MAX: none */
	uint64_t latency_min_ps, latency_max_ps;
	uint32_t psn_expected;
	uint32_t msn; /* messages completed */
	bool finished;
	bool gap;      /* a packet came too early, and the missing one hasn't come */
	bool nak;      /* that wasn't told yet */
	bool replying; /* in its host's list of replies */
	bool marked;   /* since the last acknowledgement; with cnp_on_ack */
	uint8_t ack_tos, ack_priority;
	uint8_t reply_mac[6];
	struct flow *reply_next;
	uint32_t replies_more; /* that wait behind the one in the list */
	uint64_t finished_ps;  /* when the last byte came; valid when finished */
	/* Less often. */
	uint64_t out_of_order;   /* packets that came too early, or after one with a later PSN */
	uint64_t duplicates;     /* packets that had come before */
	uint64_t marked_packets; /* that came with CE */
	struct notification *notification; /* NULL: none of its packets was marked */
	uint64_t cnps;                     /* that the sender got */
	uint64_t retransmitted_bytes;
	uint32_t acks, naks, timeouts; /* that the sender got, or had */
	uint32_t id;
	struct flow_params params;
};

/** @param id its index among all flows, below FLOW_COUNT_MAX */
void flow_init(struct flow *flow, uint32_t id, const struct flow_params *params);

/** Give it a controller, before its start. */
void flow_control(struct flow *flow, const struct cc_params *cc);

/** Its receiver's notification point, made when the first mark comes. @param cnp_tos of its CNPs */
struct notification *flow_notification(struct flow *flow, uint8_t cnp_tos);

/**
 * Its sender begins anew, with PSN params.psn, perhaps from other addresses: what its params and its source's say
 * now counts. What was counted stays. At its receiver.
 */
void flow_connect(struct flow *flow);

/** How much its controller lets be outstanding may have changed. */
void flow_window(struct flow *flow);

void flow_fini(struct flow *flow);

/**
 * A frame was put on the wire: when is the next one due? Sets due_ps.
 * @param bytes of the frame, without overhead
 */
void flow_pace(struct flow *flow, uint32_t bytes, uint64_t now_ps);

/** A flow that reacts is due, but not its packet: its rate may have risen. Sets due_ps. */
void flow_wait(struct flow *flow, uint64_t now_ps);

struct topology_train;

/** What a flow with an end puts on the wire. */
void flow_train(const struct flow *flow, struct topology_train *train);
/** Packets that it needs. */
uint64_t flow_packets(uint64_t bytes, uint32_t payload_bytes);

#endif
