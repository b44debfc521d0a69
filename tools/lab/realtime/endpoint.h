/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * endpoint - a host of the lab in real time: the same host (host/host.h), over a port_io.
 *
 *	host --wire at rate_bps--> bridge --tx_burst--> port
 *	host <------wire---------- bridge <--rx_burst-- port
 *
 * The engine's time is the caller's clock: endpoint_poll() takes what the port has, and then runs the engine
 * up to now. What has come counts from the poll before, so a pause that lies in the port holds everything
 * that was due since. Frames leave the host's wire at rate_bps and go to the port whole (payload.h). A port that
 * takes nothing holds the wire; what it took and didn't send yet it sends, pause or not.
 *
 * A process isn't always run when it wants to be. After ENDPOINT_LAG_PS the engine's time stands still until the
 * next poll: what was missed isn't made up for by a burst, pauses and timers last longer by that, and it counts
 * as a stall.
 *
 * Connections. Both ends use one queue pair number, and PSNs begin at 0. A sender's UDP source port is drawn
 * for each run. A served queue pair takes its peer from a packet with PSN 0 that comes from another address or
 * source port than the connection before: a new one begins, what was counted stays.
 *
 * Messages. A sender releases `depth` messages, and another one for each that was acknowledged whole. A message's
 * time is from its release to that, on the sender's clock alone; the clocks of two machines differ, so there is no
 * one-way latency. With depth > 1 it has the wait behind those before in it. Messages above 1 MiB travel as several
 * (flow.h).
 *
 * The endpoint answers ARP for its address and asks for its next hops; a sender begins when its own is known.
 * IPv4, untagged.
 *
 * Thread: one. Memory is allocated at the start; below endpoint_poll() only for what grows with outstanding
 * messages.
 */
#ifndef LAB_REALTIME_ENDPOINT_H
#define LAB_REALTIME_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lab/cc/cc.h"
#include "tools/lab/flow.h"
#include "tools/lab/histogram.h"
#include "tools/lab/host/transport.h"

struct port_io;
struct rte_mempool;

/* How late a poll may be without anything being skipped. */
#define ENDPOINT_LAG_PS (200 * PS_PER_US)

#define ENDPOINT_QUEUE_PAIRS 1024 /* FLOW_QUEUE_PAIR and so many from there */
#define ENDPOINT_DEPTH_MAX   64

/* Between two questions for a next hop. */
#define ENDPOINT_ASK_PS (500 * PS_PER_MS)

/* Messages to a queue pair. */
struct endpoint_send {
	uint8_t to[4];
	uint8_t next_hop[4]; /* whose MAC address counts: the peer or a router */
	uint32_t queue_pair;
	uint32_t depth; /* messages under way, 1..ENDPOINT_DEPTH_MAX */
	uint64_t message_bytes;
	uint64_t count;       /* messages; 0: no end */
	uint64_t duration_ps; /* from the first; no message is released after it. 0: no end */
	uint8_t dscp;
	uint8_t priority;
	uint16_t source_port;
};

struct endpoint_params {
	struct port_io *io;       /* its mac is ours; kept by the caller */
	struct rte_mempool *pool; /* the port's, too: data room for whole frames */
	uint64_t rate_bps;
	uint8_t ip[4];
	uint32_t payload_bytes; /* RDMA MTU */
	struct transport_params transport;
	struct cc_params cc;
	uint8_t cnp_dscp;
	uint8_t dscp_priority[64];
	uint64_t served[ENDPOINT_QUEUE_PAIRS / 64]; /* bit n: queue pair FLOW_QUEUE_PAIR + n */
	const struct endpoint_send *sends;          /* queue pairs differ, and aren't served */
	uint32_t send_count;
};

/* One that sends. */
struct endpoint_sender {
	struct endpoint_send send;
	struct flow *flow;
	bool resolved; /* its next hop is known: it has begun */
	uint64_t begun_ps, ended_ps;
	uint64_t asked_ps;                        /* for its next hop */
	uint64_t released, completed;             /* messages */
	uint64_t released_ps[ENDPOINT_DEPTH_MAX]; /* by message % depth */
	struct histogram completion_ns;
};

struct endpoint_counters {
	uint64_t foreign_packets; /* that were for no one here */
	uint64_t crc_packets;     /* wrong invariant CRC, dropped */
	uint64_t corrupt_packets; /* right CRC, wrong payload; taken */
	uint64_t connections;     /* that began at served queue pairs */
	uint64_t held;            /* times the port took nothing */
	uint64_t stalls, stall_ps;
};

struct endpoint;

/** @param now_ps the caller's clock. Flows of served queue pairs exist from now on. */
struct endpoint *endpoint_create(const struct endpoint_params *params, uint64_t now_ps);
/** Packets go back to the pool. NULL is legal. */
void endpoint_free(struct endpoint *endpoint);

/**
 * Receive, send, count.
 * @return when it next wants to be called, unless something comes: later than now_ps, or now_ps: at once
 */
uint64_t endpoint_poll(struct endpoint *endpoint, uint64_t now_ps);

/** All messages that have a number or a time were acknowledged, and there are some. */
bool endpoint_done(const struct endpoint *endpoint);

const struct endpoint_counters *endpoint_counters(const struct endpoint *endpoint);
const struct host *endpoint_host(const struct endpoint *endpoint);
/** @param index below send_count */
const struct endpoint_sender *endpoint_sender(const struct endpoint *endpoint, uint32_t index);
/** The flow of a served queue pair. */
const struct flow *endpoint_served(const struct endpoint *endpoint, uint32_t queue_pair);

#endif
