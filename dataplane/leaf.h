/* SPDX-License-Identifier: BSD-3-Clause */
/* layer: control side */
/*
 * leaf - one switch: its ports, workers, tables and counters. As many as you like in a process.
 *
 * Control creates it, attaches a port_io to every port, publishes a snapshot, and then lets each
 * worker be polled (worker.h) by one thread. Nothing here is called by a worker.
 *
 * Thread: control only, except where a function says otherwise.
 */
#ifndef DATAPLANE_LEAF_H
#define DATAPLANE_LEAF_H

#include <stdint.h>

#include "dataplane/balance/balance.h"
#include "dataplane/balance/spray.h"
#include "dataplane/counters.h"
#include "dataplane/fdb.h"
#include "dataplane/pfc.h"
#include "dataplane/port_io.h"
#include "dataplane/queue.h"
#include "dataplane/snapshot.h"
#include "dataplane/worker.h"

struct rte_mempool;
struct leaf;

struct leaf_params {
	uint16_t port_count;   /* real ports, 1..PORT_COUNT_MAX - 1; the CPU's port comes on top */
	uint16_t worker_count; /* 1..WORKER_COUNT_MAX */
	struct rte_mempool *pool;      /* where copies come from */
	struct queue_pool *queue_pool; /* shared by the leaves of one thread, or NULL: the leaf
					* makes one per worker, for `packets_max` packets */
	uint32_t packets_max; /* packets that can be in the leaf at most: the pool's size */
	uint32_t fdb_entries; /* rounded up to a power of two; 0: 16384 */
	uint64_t seed;        /* of everything random in here */
	int socket;
};

/**
 * @return a leaf without ports, or NULL with rte_errno set (EINVAL, ENOMEM)
 */
struct leaf *leaf_create(const struct leaf_params *params);

/** Workers must have stopped. Frees queued packets (counted: DROP_STOPPED), not the port_ios. */
void leaf_free(struct leaf *leaf);

/**
 * Give a port its device. Before the first poll. Port `port_count` is the CPU's; without a device
 * there, what is punted is counted as LINK_DOWN.
 * @param owner worker that transmits on it, and receives from its queue 0; the next queues are the next
 *              workers'
 * @return 0 or -EINVAL: no such port or worker, or more receive queues than workers
 */
int leaf_attach(struct leaf *leaf, uint16_t port, struct port_io *io, uint16_t owner);

/** Worker that receives from a queue of a port. */
uint16_t leaf_poller(const struct leaf *leaf, uint16_t port, uint16_t queue);

/**
 * Put a snapshot in force with one store-release. NULL: the workers rest, with what they hold. Before it,
 * tables are made that its balancing modes need; where memory is short flows go by their hash.
 * @return the one before (NULL at first): free it once leaf_quiet(leaf, *token) is true
 */
const struct snapshot *leaf_publish(struct leaf *leaf, const struct snapshot *snapshot,
				    uint64_t *token);

/** True when every worker has since passed a point where it holds no snapshot. Never waits. */
bool leaf_quiet(struct leaf *leaf, uint64_t token);

struct worker *leaf_worker(struct leaf *leaf, uint16_t worker);
uint16_t leaf_worker_count(const struct leaf *leaf);
uint16_t leaf_port_count(const struct leaf *leaf);
struct fdb *leaf_fdb(struct leaf *leaf);

/* --- what readers see; any thread --- */

struct port_totals {
#define PORT_TOTAL_(field, unit, help) uint64_t field;
	PORT_COUNTERS(PORT_TOTAL_)
#undef PORT_TOTAL_
	uint64_t drop[DROP_COUNT];
};

struct queue_totals {
#define QUEUE_TOTAL_(field, unit, help) uint64_t field;
	QUEUE_COUNTERS(QUEUE_TOTAL_)
#undef QUEUE_TOTAL_
	uint64_t depth_packets; /* now, staging apart */
	uint64_t depth_bytes;
	uint64_t depth_bytes_max; /* the persistent peak */
};

/* Of one queue: what its peer and we have told each other. */
struct pfc_totals {
#define PFC_TOTAL_(field, unit, help) uint64_t field;
	PFC_COUNTERS(PFC_TOTAL_) /* times include the pause of this moment */
	bool rx_paused;          /* the peer has paused this queue */
	bool tx_paused;          /* we have paused the peer */
	/* When the last pause began, workers' time; longer ago than 60 days: then. If there was one. */
	uint64_t rx_last_ps, tx_last_ps;
};

struct pfc_port_totals {
	PFC_PORT_COUNTERS(PFC_TOTAL_)
#undef PFC_TOTAL_
};

/* Of one queue: what is seldom. Its drops are also among those of the port where the packets came from. */
struct queue_rare_totals {
#define QUEUE_RARE_TOTAL_(field, unit, help) uint64_t field;
	QUEUE_RARE_COUNTERS(QUEUE_RARE_TOTAL_)
#undef QUEUE_RARE_TOTAL_
};

/* Of one lossless pair (ingress port, priority). Peaks are the persistent ones. */
struct buffer_totals {
	uint64_t occupancy_bytes;
	uint64_t peak_bytes;
	uint64_t xoff_bytes; /* above this its peer would be paused now */
	uint64_t xon_bytes;  /* at most this, and its peer would be let go now */
	uint64_t headroom_used_bytes;
	uint64_t headroom_peak_bytes;
	uint64_t backlog_bytes; /* estimated: what waits in receive rings */
	uint8_t reasons;        /* PAUSE_* of buffer.h: why its peer is paused; 0: it isn't */
};

/* Of what all pairs share. */
struct buffer_pool_totals {
	uint64_t shared_used_bytes;
	uint64_t shared_peak_bytes; /* the persistent peak, after a poll */
	uint64_t lossy_used_bytes;
	uint64_t headroom_used_bytes;
	uint64_t headroom_peak_bytes;
	uint64_t queued_packets; /* staging apart */
	bool guarded;            /* few buffers are left */
	uint64_t guards;         /* times that they became few */
};

/*
 * Peaks are kept in three copies, each since the start or its last clear (peaks.h).
 * X(id, name, help)
 */
#define PEAK_KINDS_LIST(X)                                      \
	X(USER, "user", "cleared by who looks")                 \
	X(PERIODIC, "periodic", "cleared at regular intervals") \
	X(PERSISTENT, "persistent", "cleared only when asked for by name")

enum peak_kind {
#define PEAK_KIND_(id, name, help) PEAK_##id,
	PEAK_KINDS_LIST(PEAK_KIND_)
#undef PEAK_KIND_
		PEAK_KINDS,
};

struct peak_totals {
	uint64_t queue_bytes;     /* of the egress queue */
	uint64_t occupancy_bytes; /* of the ingress pair, if it is lossless */
	uint64_t headroom_bytes;  /* of it what was above xoff */
};

struct pool_peak_totals {
	uint64_t shared_bytes, headroom_bytes; /* of all pairs together, after a poll */
};

void leaf_peaks(const struct leaf *leaf, uint16_t port, uint8_t priority, enum peak_kind kind,
		struct peak_totals *totals);
void leaf_pool_peaks(const struct leaf *leaf, enum peak_kind kind, struct pool_peak_totals *totals);

/**
 * Forget the peaks of a kind; they start again from what stands there. Done by each worker at its next
 * poll: wake those that sleep. Thread: control.
 */
void leaf_clear_peaks(struct leaf *leaf, enum peak_kind kind);

/** Sum over workers. port: 0..port_count (the last is the CPU's). */
void leaf_port_totals(const struct leaf *leaf, uint16_t port, struct port_totals *totals);
void leaf_queue_totals(const struct leaf *leaf, uint16_t port, uint8_t priority,
		       struct queue_totals *totals);
void leaf_queue_rare_totals(const struct leaf *leaf, uint16_t port, uint8_t priority,
			    struct queue_rare_totals *totals);

/**
 * Average depth that a queue's marks and early drops go by; 0 where they go by the depth itself.
 * @param snapshot the one in force, or one that the caller keeps. @param now_ps the workers' time
 */
uint32_t leaf_queue_average_bytes(const struct leaf *leaf, const struct snapshot *snapshot,
				  uint16_t port, uint8_t priority, uint64_t now_ps);

/** How often a reason was counted, over all ports. */
uint64_t leaf_drops(const struct leaf *leaf, enum drop_reason reason);

/* Of the whole leaf. */
struct balance_totals {
#define BALANCE_TOTAL_(field, unit, help) uint64_t field;
	BALANCE_COUNTERS(BALANCE_TOTAL_)
#undef BALANCE_TOTAL_
};
void leaf_balance_totals(const struct leaf *leaf, struct balance_totals *totals);

/* In-order spray, of the whole leaf. Peaks are sums of the workers'. */
struct spray_totals {
#define SPRAY_TOTAL_(field, unit, help) uint64_t field;
	SPRAY_COUNTERS(SPRAY_TOTAL_)
#undef SPRAY_TOTAL_
	uint64_t held_bytes, held_packets, held_bytes_max, held_packets_max; /* to restore order */
	uint64_t agreed;           /* flows whose order is restored */
	uint64_t late, duplicates; /* packets */
	uint64_t holes;            /* times that a flow began to wait */
	uint64_t given_up[RESEQUENCER_REASON_COUNT], lost[RESEQUENCER_REASON_COUNT];
};

/** All zero without in-order spray. */
void leaf_spray_totals(const struct leaf *leaf, struct spray_totals *totals);

/* The largest of the flows that are spread over uplinks (balance/sketch.h). */
struct leaf_flows {
	uint64_t bytes; /* of all flows, in a second */
	uint32_t count;
	struct sketch_flow
		flow[WORKER_COUNT_MAX * SKETCH_FLOWS]; /* the largest first; bytes in a second */
};

/**
 * Flows of the last complete windows, which end within the last two.
 * @param now_ps     the workers' time
 * @param port_bytes NULL, or [port_count + 1]: what each port carried of them in a second
 */
void leaf_flows(const struct leaf *leaf, uint64_t now_ps, struct leaf_flows *flows,
		uint64_t *port_bytes);

/**
 * The worst band (balance/quality.h) in which a worker last found a port, over all classes. They look when a
 * flowlet begins: 0 where none ever did.
 */
uint8_t leaf_quality_band(const struct leaf *leaf, uint16_t port);

/** Bytes of packets with several next hops that went by a port, since the start; an estimate. */
uint64_t leaf_spread_bytes(const struct leaf *leaf, uint16_t port);

/** @param now_ps the workers' time */
void leaf_pfc_totals(const struct leaf *leaf, uint16_t port, uint8_t priority, uint64_t now_ps,
		     struct pfc_totals *totals);
void leaf_pfc_port_totals(const struct leaf *leaf, uint16_t port, struct pfc_port_totals *totals);

/** @param snapshot the one in force, or one that the caller keeps: its limits count */
void leaf_buffer_totals(const struct leaf *leaf, const struct snapshot *snapshot, uint16_t port,
			uint8_t priority, struct buffer_totals *totals);

/** Looks at every queue and account: some 10 us with 64 ports. */
void leaf_buffer_pool_totals(const struct leaf *leaf, const struct snapshot *snapshot,
			     struct buffer_pool_totals *totals);

/* All of it in one: what goes in must come out. Exact while no worker is inside a poll. */
struct leaf_conservation {
	uint64_t rx_packets, copied, tx_packets, consumed, dropped, queued;
	uint64_t generated; /* frames of our own (PFC), in none of the others */
};
void leaf_conservation(const struct leaf *leaf, struct leaf_conservation *sum);

/** True when rx + copied == tx + consumed + dropped + queued. */
bool leaf_conserved(const struct leaf *leaf);

#endif
