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

enum frame_kind { FRAMES_ROUTED, FRAMES_BRIDGED };

#define TEMPLATE_BYTES 64

struct frames {
	struct rte_mbuf **packet;
	uint32_t count;
	uint8_t *flow; /* [count], pseudo-random */
	uint8_t header[BENCH_FLOWS][TEMPLATE_BYTES];
	uint32_t packet_bytes;
};

/** Destination of a flow: 10.(16 + flow % BENCH_PREFIXES).1.flow, host byte order. */
uint32_t flow_destination(uint32_t flow);

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
	/** Move frames->count frames through. */
	void (*pass)(struct row *row, const struct frames *frames);
	struct bench_io port[BENCH_PORTS];
	/* pipelines */
	struct leaf *leaf;
	struct worker *worker;
	const struct snapshot *snapshot;
	struct fib *fib;
	uint64_t now_ps;
	/* the references */
	struct rte_lpm *lpm;
	struct adjacency next_hop[BENCH_PREFIXES + 1];
};

enum { ROW_REFERENCE, ROW_REFERENCE_PLAIN, ROW_PIPELINE_L3, ROW_PIPELINE_L2, ROW_COUNT };

/** @return 0, or a negative errno with a message on stderr */
int rows_create(struct row rows[ROW_COUNT], struct rte_mempool *pool);
void rows_free(struct row rows[ROW_COUNT]);

/**
 * One unmeasured pass, looked at: every frame must have left, changed as its row has to.
 * @return 0, or -EINVAL with a message on stderr
 */
int row_check(struct row *row, struct frames *frames);

#endif
