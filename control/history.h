/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * history - what every queue had counted, second by second, for the last few minutes.
 *
 * A ring of looks at the counters of all ports, priorities and workers. Two looks that follow each other give
 * the rates between them; a reader goes on from the number of the last look that it has. The memory
 * is taken once: history_bytes().
 *
 * Thread: whoever holds daemon_lock().
 */
#ifndef CONTROL_HISTORY_H
#define CONTROL_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"
#include "dataplane/worker.h"

/* X(field): of one port and priority, all monotonic; dataplane/counters.h and pfc.h have what they mean */
#define HISTORY_COUNTERS(X) \
	X(rx_bytes)         \
	X(tx_bytes)         \
	X(tx_packets)       \
	X(ecn_marked)       \
	X(rx_pauses)        \
	X(tx_pauses)        \
	X(rx_paused_ns)     \
	X(tx_paused_ns)

/* The same of what is seldom: refused by the queue, storms that its watchdog saw, and lossless loss. */
#define HISTORY_FAULTS(X) \
	X(drop_packets)   \
	X(storms)         \
	X(lost_packets)

/* Of a port, without MAC control frames, and of a worker. */
#define HISTORY_PORT_COUNTERS(X) \
	X(rx_packets)            \
	X(rx_bytes)              \
	X(tx_packets)            \
	X(tx_bytes)              \
	X(backlog_marks)
#define HISTORY_WORKER_COUNTERS(X) \
	X(busy_ns)                 \
	X(stalls)                  \
	X(stall_ns)

#define HISTORY_FIELD_(field) uint64_t field;
struct history_counters {
	HISTORY_COUNTERS(HISTORY_FIELD_)
};

struct history_faults {
	HISTORY_FAULTS(HISTORY_FIELD_)
};

struct history_port {
	uint64_t drop_packets; /* received here, for all reasons */
	HISTORY_PORT_COUNTERS(HISTORY_FIELD_)
	struct history_counters queue[PRIORITY_COUNT];
	struct history_faults fault[PRIORITY_COUNT];
};

struct history_worker {
	HISTORY_WORKER_COUNTERS(HISTORY_FIELD_)
};
#undef HISTORY_FIELD_

/** Add to `sum` what a queue, or with PRIORITY_COUNT all of a port, counted from one look to another. */
void history_add_growth(struct history_counters *sum, const struct history_port *before,
			const struct history_port *after, uint32_t priority);

/* One look. The ports follow it in memory. */
struct history_look {
	uint64_t sequence;     /* counts from 1 */
	uint64_t time_ns;      /* real time since the epoch */
	uint64_t monotonic_ns; /* what durations are told by */
	struct history_worker worker[WORKER_COUNT_MAX];
	struct history_port port[];
};

struct history;

/** How many looks a span of time needs, at one a second: both of its ends are looks. */
static inline uint32_t history_looks(uint64_t span_ps)
{
	return (uint32_t)(span_ps / PS_PER_S) + 1;
}

/** Memory that a history takes. */
uint64_t history_bytes(uint16_t port_count, uint32_t looks);

/** @return NULL when out of memory */
struct history *history_create(uint16_t port_count, uint32_t looks);
void history_free(struct history *history);

/** The place of the next look, in the oldest one's memory: fill in its times and ports. */
struct history_look *history_next(struct history *history);

/** Number of the newest look (0: none yet), and of the oldest that is kept. */
uint64_t history_newest(const struct history *history);
uint64_t history_oldest(const struct history *history);

/** A look by its number, or NULL: it isn't there any more, or not yet. Valid while the lock is held. */
const struct history_look *history_at(const struct history *history, uint64_t sequence);

#endif
