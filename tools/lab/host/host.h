/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * host - an end of the fabric: sends its flows, takes what arrives, and answers.
 *
 * An ideal NIC on one link. Whenever the wire is free it sends, in this order: pauses, congestion notification
 * packets, acknowledgements, and then the packet that has been due longest; ties go by the flow's id. Flows
 * that want more than the link carries are all due, and take turns packet by packet, as they do in NICs: who
 * sends goes to the end of the line. It honours priority-based flow control (802.1Qbb): from the time a pause
 * has arrived, nothing of its priorities begins until its quanta are over or another frame changes that.
 *
 * Flows are reliable connections (transport.h). Those with congestion control (cc/cc.h) are paced by their
 * controllers. What comes with a mark (CE) leads to congestion notification packets (notification.h), or to
 * acknowledgements that say so (cnp_on_ack); either is told to the flow's controller.
 *
 * Usually it takes everything at line rate. With a receive buffer it takes frames out of that at drain_bps,
 * in order, and pauses each lossless priority whose share of the buffer fills (receive_buffer.h).
 *
 * It can be told to misbehave: to pause its leaf for a while (host_storm()), to say nothing
 * (host_silence()), and to have no link.
 *
 * Thread: the lab's.
 */
#ifndef LAB_HOST_HOST_H
#define LAB_HOST_HOST_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "tools/lab/engine.h"
#include "tools/lab/flow.h"
#include "tools/lab/histogram.h"
#include "tools/lab/link.h"
#include "tools/lab/host/notification.h"
#include "tools/lab/host/receive_buffer.h"
#include "tools/lab/host/transport.h"

struct rte_mbuf;
struct rte_mempool;

/* Buffers of packets that were delivered, for the next ones: at hand sooner than the pool's. */
#define TRAFFIC_SPARES 256

/*
 * What hosts have in common: all flows, to find one by its queue pair, all latencies, and buffers
 * that lie between two packets.
 */
struct traffic {
	struct transport_params transport;
	struct flow *flows; /* [flow_count] */
	uint32_t flow_count;
	uint32_t flows_open; /* with an end that hasn't been reached */
	uint64_t pool_empty; /* packets that couldn't be sent in time for want of a buffer */
	uint32_t spare_count;
	struct rte_mbuf *spare[TRAFFIC_SPARES];
	/**
	 * The bytes that a flow has delivered in order have come to its watch_bytes. In the receiver's run.
	 * Sets watch_bytes to a larger number.
	 */
	void (*reached)(void *context, struct flow *flow, uint64_t now_ps);
	void *reached_context;
	struct histogram latency; /* ns, of every packet with a stamp */
};

/** Give spare buffers back to their pool. */
void traffic_fini(struct traffic *traffic);

struct host_params {
	const char *name; /* kept by the caller */
	struct rte_mempool *pool;
	uint8_t mac[6];
	uint8_t gateway_mac[6];
	uint8_t ip[4];
	uint8_t prefix_length; /* addresses that are reached without the gateway */
	uint64_t cnp_interval_ps;
	uint8_t cnp_tos;
	uint8_t cnp_priority;
	struct receive_buffer_params receive_buffer; /* bytes 0: it needs none */
};

/* Binary heap of the flows of one priority that have more to send, by (due_ps, id). */
struct host_due {
	struct flow **flow;
	uint32_t count, size;
};

/* Pauses that a host sends for no reason. */
struct host_storm {
	uint8_t priorities; /* 0: none */
	uint64_t next_ps;   /* frame */
	uint64_t until_ps;
};

/* Flows whose packets have to be acknowledged, in order. */
struct host_replies {
	struct flow *first, *last;
};

struct host {
	struct node node;
	/* Hot. */
	alignas(64) struct wire *tx;
	struct wire *rx;
	bool arrived;     /* something waits at rx */
	bool odd;         /* it was told to misbehave */
	uint8_t ready;    /* bit p: due[p] isn't empty */
	uint8_t paused;   /* bit p: the leaf has paused priority p */
	bool notifies;    /* a mark has come: its notifier counts */
	uint8_t replying; /* bit p: replies[p] isn't empty */
	struct traffic *traffic;
	struct flow *timeout_first, *timeout_last; /* by when to look at them */
	struct receive_buffer *buffer;             /* NULL: it needs none */
	struct host_due due[PRIORITY_COUNT];
	struct host_replies replies[PRIORITY_COUNT];
	uint64_t sent_packets;
	uint64_t received_packets;
	uint64_t stray_packets; /* of those, not for a flow of ours */
	uint64_t checksums;     /* of those, with a UDP checksum, which nobody here sends */
	uint64_t pause_until_ps[PRIORITY_COUNT];
	uint64_t pause_since_ps[PRIORITY_COUNT]; /* valid while paused */
	uint64_t paused_ps[PRIORITY_COUNT];      /* sum of the pauses that are over */
	uint64_t cnps_sent;
	uint64_t acks_sent, naks_sent;
	struct notifier notifier;
	bool down;   /* no link: sends nothing */
	bool silent; /* sends nothing, but takes what comes and obeys pauses */
	struct host_storm storm;
	struct host_params params;
};

/** Make a host a node of the engine. */
void host_init(struct host *host, struct engine *engine, const struct host_params *params,
	       struct traffic *traffic);
void host_fini(struct host *host);

/** Before the first run. */
void host_attach(struct host *host, struct wire *tx, struct wire *rx);

/** Let a flow of this host begin. The engine must not be beyond its start. */
void host_start(struct host *host, struct flow *flow);

/**
 * Let a flow send more, up to so many of its bytes in all; it begins when its start has come.
 * @param released_bytes at least what was released before, at most the flow's bytes
 */
void host_release(struct flow *flow, uint64_t released_bytes);

/**
 * Pause priorities of the leaf's port from now until a time, without a break; then let them go. One storm at
 * a time: a new one takes the place of the one before.
 */
void host_storm(struct host *host, uint8_t priorities, uint64_t until_ps);

/** Send nothing from now on, or again. */
void host_silence(struct host *host, bool silent);

/** The link is gone, or there again; pauses before that are forgotten. */
void host_link(struct host *host, bool up);

/** How long a priority has been paused until now, ps. */
uint64_t host_paused_ps(const struct host *host, uint32_t priority);

/** MAC and IP addresses of frames from a host to another. */
void host_path(const struct host *from, const struct host *to, struct frame_path *path);

#endif
