/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * internal - the inside of a leaf and of a worker, for the stages of the packet path only.
 *
 * State arrays are [priority][port]: what a burst touches (few priorities, many ports) lies
 * together.
 */
#ifndef DATAPLANE_INTERNAL_H
#define DATAPLANE_INTERNAL_H

#include <rte_rcu_qsbr.h>

#include "dataplane/account.h"
#include "dataplane/backlog.h"
#include "dataplane/balance/balance.h"
#include "dataplane/buffer.h"
#include "dataplane/capture.h"
#include "dataplane/counters.h"
#include "dataplane/egress.h"
#include "dataplane/fdb.h"
#include "dataplane/handover.h"
#include "dataplane/links.h"
#include "dataplane/mark.h"
#include "dataplane/packet.h"
#include "dataplane/parse.h"
#include "dataplane/peaks.h"
#include "dataplane/pfc.h"
#include "dataplane/port_bits.h"
#include "dataplane/port_io.h"
#include "dataplane/port_timers.h"
#include "dataplane/punt.h"
#include "dataplane/queue.h"
#include "dataplane/recorder.h"
#include "dataplane/snapshot.h"
#include "dataplane/worker.h"

/* When no port is watched; like any stored time less than a day. */
#define STORM_IDLE_PS (3600 * PS_PER_S)

/* worker.rx_queue */
#define QUEUE_NONE UINT8_MAX

struct leaf {
	_Atomic(const struct snapshot *) snapshot;
	_Atomic(struct capture *) capture; /* NULL: none */
	_Atomic uint64_t peak_clears;      /* asked for (peaks.h) */
	struct links links;
	uint16_t port_count; /* real ports */
	uint16_t ports;      /* with the CPU's: port_count + 1, the stride of [priority][port] */
	uint16_t worker_count;
	uint64_t seed;
	struct egress_port *egress; /* [ports] */
	struct pfc_port *pfc;       /* [ports] */
	struct buffer_state *state; /* [priority][ports] */
	struct pair_peaks *peaks;   /* [priority][ports] */
	struct port_io **io;        /* [ports] */
	uint16_t *owner;            /* [ports] */
	struct fdb *fdb;            /* written by worker 0 */
	struct handover *handover;  /* [from][to]; NULL with one worker */
	struct rte_mempool *pool;
	struct rte_rcu_qsbr *qsbr;
	struct recorder_request *record; /* what recorders shall do; NULL: there are none */
	struct worker *worker[WORKER_COUNT_MAX];
	struct account *account[PRIORITY_COUNT][WORKER_COUNT_MAX]; /* their account_rows */
	bool queue_pools_owned;
};

struct worker {
	alignas(64) struct leaf *leaf;
	const struct snapshot *snapshot; /* as of the last poll */
	uint64_t now_ps;                 /* of the poll */
	uint16_t id;
	bool alone; /* the leaf has no other worker */
	struct port_bits rx_ready;
	struct port_bits tx_ready;
	uint64_t sweep_ps;     /* next step of the FDB's sweep and of what goes with it */
	uint16_t refresh_port; /* whose times come next */
	/* [priority][ports]; those of ports that aren't ours take nothing (enqueue.c). */
	struct egress_queue *queue_row[PRIORITY_COUNT];
	struct queue_pool *queue_pool;
	struct rte_mempool *pool;
	struct port_counters *port_counters;    /* [ports] */
	struct queue_counters *queue_counters;  /* [priority][ports] */
	struct queue_rare_counters *queue_rare; /* [priority][ports] */
	/* The burst's room (buffer.h). */
	int64_t room[PRIORITY_COUNT]; /* bytes that its packets may still take; 0: not opened */
	int64_t room_opened[PRIORITY_COUNT];  /* what it was at first */
	uint32_t queue_limit[PRIORITY_COUNT]; /* depth of an egress queue; lossless: UINT32_MAX */
	struct account *account_row[PRIORITY_COUNT]; /* [ports] each */
	uint16_t room_port;                          /* of the burst */
	uint8_t opened;                              /* bit p: room[p] counts */
	uint8_t lossless_mask;                       /* the snapshot's */
	_Atomic bool guarded;                        /* few buffers are left */
	_Atomic uint64_t guards;                     /* times that they became few */
	/* Packets let in here, and those that left here; what of the former is in `packets` already. */
	uint64_t admitted[PRIORITY_COUNT], gone[PRIORITY_COUNT], charged[PRIORITY_COUNT];
	int64_t limit_bytes; /* lossy bytes in use when queue_limit was made */
	/* Of all ports and priorities, and of lossy ones: what is in the leaf. */
	alignas(64) struct account packets, lossy_packets, lossy;
	/* By the pairs of ports that are ours; and of other workers' ports, as of this poll. */
	_Atomic uint64_t shared_bytes, headroom_bytes;
	uint64_t shared_elsewhere, headroom_elsewhere;
	_Atomic uint64_t shared_peak_bytes, headroom_peak_bytes; /* of all, at its evaluations */
	uint64_t shared_since, headroom_since; /* charged since they were measured, at most */
	_Atomic uint64_t backlogs;             /* receive rings of ours in which frames wait */
	uint64_t backlogs_seen;                /* of all workers, at the last evaluation */
	uint64_t shared_seen;                  /* both, when the active pairs were last looked at */
	/* Of all pairs that have decided: a limit below pauses one, and from here on lets one go. */
	uint64_t xoff_below[PRIORITY_COUNT], xon_from[PRIORITY_COUNT];
	bool backlogs_swept;         /* the last sweep saw backlogs */
	struct port_bits dirty;      /* ports with pairs that have changed */
	uint64_t dirty_ps;           /* when the first of them did */
	uint64_t reaction_ps;        /* of the poll: since when the pauses that it sent were due */
	bool reacted;                /* it has sent some */
	struct port_bits active;     /* ports with pairs above their reserve, or paused */
	_Atomic bool limited;        /* there are such */
	struct backlog *backlog;     /* [ports] */
	struct port_bits backlogged; /* ports whose ring, of the queue that is ours, holds frames */
	uint16_t shedding;           /* how many of them shed lossy packets */
	bool late;                   /* the burst's ring holds frames */
	struct mark_random random;
	struct port_bits watched;  /* ports whose peers pause (storm.h) */
	uint64_t storm_ps;         /* when to look at them */
	uint64_t record_ps;        /* when the recorder looks */
	struct recorder *recorder; /* NULL: none */
	struct policer flood_policer;
	struct policer punt_policer[PUNT_COUNT];
	_Atomic uint64_t polls, rx_packets, tx_packets;
	_Atomic uint64_t given, taken; /* packets, to and from other workers */
	uint64_t handing;              /* bit w: worker w gets packets at the end of the burst */
	uint64_t telling;              /* bit w: worker w isn't told of all its ports yet */
	uint64_t wakes;
	uint64_t generation;  /* of the snapshot; see worker_online() */
	uint64_t peak_clears; /* carried out */
	struct peak_kept shared_kept, headroom_kept;
	bool started;                     /* the policers have a time */
	uint8_t rx_queue[PORT_COUNT_MAX]; /* that we receive from; QUEUE_NONE: none */
	struct links_seen links;
	struct balance_state balance;
	struct port_timers timers;
};

/*
 * The burst that is on its way through the stages; on the stack of worker_poll(). forward_burst()
 * parses it; routing leaves plain packets in registers and fills in parsed and priority for others.
 */
struct burst {
	const struct snapshot *snapshot;
	uint64_t now_ps;
	uint32_t count;
	uint16_t port; /* ingress */
	uint8_t priority[BURST_COUNT_MAX];
	struct rte_mbuf *packet[BURST_COUNT_MAX];
	struct parsed parsed[BURST_COUNT_MAX];
};

static inline struct buffer_state *leaf_state(const struct leaf *leaf, uint16_t port,
					      uint32_t priority)
{
	return &leaf->state[priority * leaf->ports + port];
}

/* By the snapshot, and by what was heard since. */
static inline bool worker_link_up(const struct worker *worker, uint16_t port)
{
	return worker->snapshot->port[port].link_up && !port_bits_test(&worker->links.down, port);
}

/* The same, and its device takes frames. */
static inline bool worker_link_serves(const struct worker *worker, uint16_t port)
{
	return worker->snapshot->port[port].link_up && !port_bits_test(&worker->links.out, port);
}

/* In-order spray, once a snapshot has asked for it. */
static inline struct spray *worker_spray(const struct worker *worker)
{
	return atomic_load_explicit(&worker->balance.spray, memory_order_acquire);
}

static inline struct adaptive *balance_adaptive(const struct worker *worker)
{
	return atomic_load_explicit(&worker->balance.adaptive, memory_order_acquire);
}

/* What captures now, or NULL. */
static inline struct capture *leaf_capturing(const struct leaf *leaf)
{
	return atomic_load_explicit(&leaf->capture, memory_order_acquire);
}

/* Hand frames to a port's device. @return how many it has taken */
static inline uint32_t port_transmit(struct worker *worker, uint16_t port, struct rte_mbuf **packet,
				     uint32_t count)
{
	struct port_io *io = worker->leaf->egress[port].io;

	if (unlikely(leaf_capturing(worker->leaf) != NULL))
		return capture_transmit(worker, port, packet, count);
	return io->ops->tx_burst(io, 0, packet, (uint16_t)count);
}

/* Have a port run in this poll. */
static inline void port_wake(struct worker *worker, uint16_t port)
{
	worker->leaf->egress[port].pending = true;
	port_bits_set(&worker->tx_ready, port);
}

/* Bytes of one priority came in through a port, to wait here. */
static inline void port_charge(struct worker *worker, uint16_t port, uint32_t priority,
			       uint64_t bytes)
{
	account_charge(&worker->account_row[priority][port], bytes);
	if ((worker->lossless_mask >> priority & 1) != 0)
		port_bits_set(&worker->dirty, port);
	else
		account_charge(&worker->lossy, bytes);
}

/* What was admitted since, for other workers to see; before any of it is handed on. */
static inline void packets_charge(struct worker *worker, uint32_t priority)
{
	uint64_t packets = worker->admitted[priority] - worker->charged[priority];

	worker->charged[priority] += packets;
	account_charge(&worker->packets, packets);
	if ((worker->lossless_mask >> priority & 1) == 0)
		account_charge(&worker->lossy_packets, packets);
}

/* One packet is let in by itself, not with a burst. */
static inline void packet_charge(struct worker *worker, struct rte_mbuf *packet)
{
	const struct packet_meta *meta = packet_meta(packet);

	port_charge(worker, packet->port, meta->priority, meta->cost_bytes);
	worker->admitted[meta->priority]++;
	packets_charge(worker, meta->priority);
}

static inline struct egress_queue *leaf_queue(const struct leaf *leaf, uint16_t port,
					      uint32_t priority)
{
	return &leaf->worker[leaf->owner[port]]->queue_row[priority][port];
}

static inline struct queue_counters *worker_queue_counters(const struct worker *worker,
							   uint16_t port, uint32_t priority)
{
	return &worker->queue_counters[priority * worker->leaf->ports + port];
}

static inline struct queue_rare_counters *worker_queue_rare(const struct worker *worker,
							    uint16_t port, uint32_t priority)
{
	return &worker->queue_rare[priority * worker->leaf->ports + port];
}

/* The watchdog of a queue costs a packet. Cold. */
static inline void count_watchdog(struct worker *worker, uint16_t port,
				  const struct packet_meta *meta)
{
	struct queue_rare_counters *rare = worker_queue_rare(worker, port, meta->priority);

	counter_add(&rare->watchdog_packets, 1);
	counter_add(&rare->watchdog_bytes, meta->cost_bytes);
}

/* drop.c: count a packet under its ingress port and free it. Cold. */
void packet_drop(struct worker *worker, struct rte_mbuf *packet, enum drop_reason reason);

/* forward.c: parse and bridge or route every packet; then the burst is gone. Hot. */
void forward_burst(struct worker *worker, struct burst *burst);

/* forward.c: drop packet i of a burst. Cold. */
void burst_drop(struct worker *worker, struct burst *burst, uint32_t i, enum drop_reason reason);

/* forward.c: count and drop packet i, of which parse said why. Cold. */
void burst_drop_bad(struct worker *worker, struct burst *burst, uint32_t i);

/* forward.c: hand packet i to the kernel as a frame of an interface. Cold. */
void burst_punt(struct worker *worker, struct burst *burst, uint32_t i, enum punt_reason reason,
		uint16_t interface);

/* bridge.c: packets received on a bridged port. Hot. */
void bridge_burst(struct worker *worker, struct burst *burst);

/*
 * bridge.c: send packet i, untagged or of this VLAN, towards its destination MAC in a VLAN.
 * `from` is the port that it mustn't go back to; PORT_NONE for a routed one, which may.
 */
void bridge_deliver(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		    uint16_t from);

/* bridge.c: queue packet i for a port of a VLAN, its tag as that port wants it. */
void bridge_send(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		 uint16_t egress);

/* bridge.c: send packet i to all members of a VLAN but `from`. Cold. */
void bridge_flood(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		  uint16_t from);

/* frame.c: insert, replace or remove the 802.1Q tag. @return 0, -ENOSPC (no headroom) */
int frame_tag(struct rte_mbuf *packet, struct parsed *parsed, bool tagged, uint16_t vlan,
	      uint8_t priority);

#endif
