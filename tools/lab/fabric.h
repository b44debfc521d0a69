/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * fabric - a scenario brought to life: one leaf per switch, hosts, wires, and the flows.
 *
 * Each switch gets a struct config in memory, as if read from a leaf.yaml with addresses, routes and
 * neighbours (topology.h says which), and the same apply_snapshot() as the daemon turns it into what
 * the dataplane reads. Hosts are in VLAN 100 of their switch. Nothing has to be learned or flooded at
 * the start: neighbours are static, and the forwarding databases know the hosts.
 *
 * All packets come out of one pool; see fabric_packets().
 *
 * Thread: one, after EAL.
 */
#ifndef LAB_FABRIC_H
#define LAB_FABRIC_H

#include <stdbool.h>
#include <stdint.h>

#include "tools/lab/collective.h"
#include "tools/lab/engine.h"
#include "tools/lab/host/host.h"
#include "tools/lab/link.h"
#include "tools/lab/scenario.h"
#include "tools/lab/switch_node.h"

#define FABRIC_VLAN 100

/* Data room of the pool's buffers: headers are real, payload is not. */
#define FABRIC_BUFFER_BYTES (128 /* RTE_PKTMBUF_HEADROOM */ + FRAME_REAL_BYTES_MAX)

/* Bounds the lab's memory: some 30 GB. */
#define FABRIC_PACKETS_MAX 67108864u

struct fabric {
	const struct scenario *scenario;
	struct engine *engine;
	struct rte_mempool *pool;
	struct queue_pool *queue_pool;
	struct switch_node **switches; /* [topology->switch_count] */
	struct host *hosts;            /* [topology->host_count] */
	struct wire *wires; /* [2 * topology->link_count]: 2 l from end 0, 2 l + 1 from end 1 */
	bool *link_down;    /* [topology->link_count] */
	bool *stale; /* [topology->switch_count]: it doesn't know the state of its links yet */
	struct config classes; /* in force: what the scenario says, or the last reload */
	struct traffic traffic;
	struct collectives collectives;
};

struct fabric_options {
	uint64_t start_ps; /* the clock at the beginning; results don't depend on it */
	bool check;        /* conservation after every step of every switch */
};

/** Packets that can be in the fabric at once, with something to spare. Before EAL. */
uint64_t fabric_packets(const struct scenario *scenario);
/** Memory, bytes, that EAL needs for tables, the pool apart. */
uint64_t fabric_table_bytes(const struct scenario *scenario);

/** A pool of that many packets. @return NULL with rte_errno set */
struct rte_mempool *fabric_pool_create(uint32_t packets);

/**
 * @param pool empty of packets in use; it must stay until fabric_free()
 * @return NULL with rte_errno set
 */
struct fabric *fabric_create(const struct scenario *scenario, struct rte_mempool *pool,
			     const struct fabric_options *options);

/** Gives every packet back to the pool. */
void fabric_free(struct fabric *fabric);

/** Put changed classes in force on every switch: what a reload does in the daemon. */
int fabric_reload(struct fabric *fabric, const struct config *classes);

/**
 * Take a link down or up, both ends at once. What is on the wire still arrives.
 * @return 0, or -errno of the switches' snapshots: -EAGAIN when the one before last is still in use
 */
int fabric_link(struct fabric *fabric, uint32_t link, bool up);

/** The same, but switches aren't told before fabric_refresh(). */
void fabric_link_set(struct fabric *fabric, uint32_t link, bool up);

/** Both directions of a link run at another rate from their next frames on; likewise. */
void fabric_link_speed(struct fabric *fabric, uint32_t link, uint64_t rate_bps);

/** Tell switches of the state of their links. @return 0; -EAGAIN: again, later; or another -errno */
int fabric_refresh(struct fabric *fabric);

/* What receive rings of switches had no room for. */
struct fabric_ring_lost {
	uint64_t frames; /* pauses included */
	uint64_t lossless_packets;
};

/** Until now. Such frames are gone from their wires afterwards, if they were not before. */
void fabric_ring_lost(const struct fabric *fabric, struct fabric_ring_lost *sum);

/* What became of every frame. injected + copied == delivered + dropped + consumed + in_flight. */
struct fabric_conservation {
	uint64_t injected;  /* put on a wire by a host */
	uint64_t copied;    /* made by switches to flood */
	uint64_t delivered; /* taken by a host */
	uint64_t dropped;   /* corrupted frames included */
	uint64_t consumed;
	uint64_t in_flight;  /* in queues and on wires */
	uint64_t violations; /* switch steps after which the sum was wrong */
};
void fabric_conservation(const struct fabric *fabric, struct fabric_conservation *sum);
bool fabric_conserved(const struct fabric_conservation *sum);

/** How long the sender of a wire was paused until now: in its most paused priority. */
uint64_t fabric_paused_ps(const struct fabric *fabric, uint32_t wire);

/** Frames that were put on any wire. */
uint64_t fabric_packet_hops(const struct fabric *fabric);

/** All that happened, in 64 bits: every delivery on every wire, and the counters at the end. */
uint64_t fabric_digest(const struct fabric *fabric);

#endif
