/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bench - what the benchmark's rows are made of.
 *
 * A row is one way to move frames from one memory-backed port to others. All rows of a group get
 * the same frames in the same order; a pass moves every frame once, 32 at a time. Between passes,
 * unmeasured, the headers that routing rewrote are restored.
 */
#ifndef TESTS_BENCH_BENCH_H
#define TESTS_BENCH_BENCH_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/port_io.h"
#include "dataplane/snapshot.h"

#define BENCH_FLOWS    64
#define BENCH_PREFIXES 16
#define BENCH_UPLINKS  4
#define BENCH_PORTS    (1 + BENCH_UPLINKS) /* port 0 receives */

/* Frames are compared in sizes on the wire, FCS included. */
#define FCS_BYTES 4

/* ---- frames.c ---- */

/* Three of four flows RDMA; bridged, too; all RDMA; all of the class that is paused. */
enum frame_kind { FRAMES_ROUTED, FRAMES_BRIDGED, FRAMES_ECT, FRAMES_PAUSED };

#define TEMPLATE_BYTES   64
#define FRAMES_DSCP_ROCE 26

struct frames {
	struct rte_mbuf **packet;
	uint32_t count;
	uint8_t *flow; /* [count], pseudo-random */
	uint8_t header[BENCH_FLOWS][TEMPLATE_BYTES];
	uint32_t packet_bytes;
};

/** Destination of a flow: 10.(16 + flow % BENCH_PREFIXES).1.flow, host byte order. */
uint32_t flow_destination(uint32_t flow);

/** Source of a flow, host byte order. */
uint32_t flow_source(uint32_t flow);

/** MAC of the station that a bridged flow goes to. */
void flow_station(uint32_t flow, uint8_t mac[6]);

/** MAC of the next hop behind an uplink. */
void uplink_neighbour(uint32_t uplink, uint8_t mac[6]);

/** Take `count` buffers and a random order of flows. @return 0, or -ENOMEM */
int frames_create(struct frames *frames, struct rte_mempool *pool, uint32_t count);
void frames_free(struct frames *frames);

/** Give all frames a size and the headers of a kind. */
void frames_prepare(struct frames *frames, enum frame_kind kind, uint32_t packet_bytes);

/** Restore the headers. */
void frames_restore(struct frames *frames);

/* ---- bench_io.c ---- */

/* Hands out pointers from an array and remembers the last ones that it was given. */
#define BENCH_RING 512

struct bench_io {
	struct port_io io;
	struct rte_mbuf **supply;
	uint32_t supply_left;
	uint32_t sent_index;
	uint64_t sent;
	struct rte_mbuf *ring[BENCH_RING];
};

void bench_io_init(struct bench_io *bench, uint16_t port);

/* ---- rows.c ---- */

struct row {
	const char *name;
	enum frame_kind kind;
	const char *state; /* "idle", "marking", "paused" */
	/** Before the first pass of a row's turn, and after the last, unmeasured. NULL: nothing to do. */
	void (*begin)(struct row *row, const struct frames *frames);
	void (*end)(struct row *row, const struct frames *frames);
	/** Before each pass, unmeasured: what differs from pass to pass. NULL: nothing does. */
	void (*prepare)(struct row *row, const struct frames *frames);
	/** Move frames through: all of them, or those that stand nowhere; `moved` says how many. */
	void (*pass)(struct row *row, const struct frames *frames);
	uint64_t moved;
	struct bench_io port[BENCH_PORTS];
	/* pipelines */
	struct leaf *leaf;
	struct worker *worker;
	const struct snapshot *snapshot;
	struct fib *fib;
	uint64_t now_ps, step_ps;
	uint16_t number[BENCH_FLOWS]; /* order: of each flow's next packet */
	struct rte_mempool *pool;
	/* marking: frames that aren't in a queue, and those that have just left one */
	struct rte_mbuf **outside, **sent;
	uint32_t outside_count, sent_count;
	struct port_io_ops collect_ops;
	/* paused */
	struct rte_mbuf *pause[BENCH_PORTS];
	uint32_t polls;
	/* the references */
	struct rte_lpm *lpm;
	struct adjacency next_hop[BENCH_PREFIXES + 1];
};

enum {
	ROW_REFERENCE,
	ROW_REFERENCE_PLAIN,
	ROW_PIPELINE_L3,
	ROW_PIPELINE_L2,
	ROW_L3_MARKING,
	ROW_L3_PAUSED,
	ROW_L3_FLOWLET,
	ROW_L3_SPRAY,
	ROW_L3_SPRAY_ORDERED,
	ROW_L3_DOWN,
	ROW_L3_ORDER,
	ROW_COUNT
};

/**
 * @param frames_max most frames of a pass
 * @return 0, or a negative errno with a message on stderr
 */
int rows_create(struct row rows[ROW_COUNT], struct rte_mempool *pool, uint32_t frames_max);
void rows_free(struct row rows[ROW_COUNT]);

/** Frames as a row's next pass needs them. */
void row_prepare(struct row *row, struct frames *frames);

/**
 * One unmeasured pass, looked at: every frame must have left, changed as its row has to.
 * @return 0, or -EINVAL with a message on stderr
 */
int row_check(struct row *row, struct frames *frames);

/* ---- standing.c: the routed pipeline while queues stand or are paused ---- */

int marking_create(struct row *row, uint32_t frames_max);
void marking_begin(struct row *row, const struct frames *frames);
void marking_pass(struct row *row, const struct frames *frames);
void marking_end(struct row *row, const struct frames *frames);
int paused_create(struct row *row);
/** Every uplink has packets that are paused, and none of them has left. */
bool paused_is_held(const struct row *row);
void paused_begin(struct row *row, const struct frames *frames);
void paused_pass(struct row *row, const struct frames *frames);

/* ---- decision.c ---- */

/* Cycles that a worker spends on pauses in a poll, with 32 ports, two lossless classes and 8 workers. */
struct decision {
	double quiet;   /* nothing has changed */
	double dirty;   /* all pairs have, their accounts are in this core's cache */
	double written; /* and have just been written by another core; 0: there is none */
};

/** @return 0, or a negative errno with a message on stderr */
int decision_measure(struct rte_mempool *pool, struct decision *out);

#endif
