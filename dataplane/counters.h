/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * counters - one writer, many readers, no lock.
 *
 * Every worker has its own blocks, one per port and one per (priority, port). It alone writes them,
 * with plain moves (relaxed atomics, never a read-modify-write); readers sum over workers. Nobody
 * resets them: "clear" is a baseline that the reader keeps. All are 64 bit and monotonic.
 *
 * The conservation that tests hold forever, over all ports of a leaf, the CPU's port included:
 *   rx_packets + copied = tx_packets + consumed + sum(drop) + packets in queues and staging
 */
#ifndef DATAPLANE_COUNTERS_H
#define DATAPLANE_COUNTERS_H

#include <stdalign.h>
#include <stdatomic.h>
#include <stdint.h>

#include "dataplane/drop.h"
#include "dataplane/units.h"

/* X(field, unit, help): per port, in the block of the worker that did it */
#define PORT_COUNTERS(X)                                                                       \
	X(rx_packets, "packets", "frames received")                                            \
	X(rx_bytes, "bytes", "bytes received, without FCS")                                    \
	X(tx_packets, "packets", "frames handed to the device")                                \
	X(tx_bytes, "bytes", "bytes handed to the device, without FCS")                        \
	X(consumed, "packets",                                                                 \
	  "frames meant for the leaf itself (MAC control, messages of leaves)")                \
	X(copied, "packets",                                                                   \
	  "copies made to flood frames received here; of the CPU's port: messages of leaves")  \
	X(flooded, "packets", "frames received here that were flooded")                        \
	X(tx_retries, "bursts", "bursts of which the device took only a part")                 \
	X(consumed_bytes, "bytes", "bytes of frames meant for the leaf itself")                \
	X(backlog_marks, "packets", "frames marked because others waited in the receive ring") \
	X(tx_stalls, "stalls", "times that the device took nothing for too long, its link up")

/* X(field, unit, help): per priority and port */
#define QUEUE_COUNTERS(X)                                                        \
	X(rx_packets, "packets", "frames received in this priority")             \
	X(rx_bytes, "bytes", "bytes received in this priority")                  \
	X(tx_packets, "packets", "frames scheduled from this queue to the wire") \
	X(tx_bytes, "bytes", "bytes scheduled from this queue to the wire")      \
	X(drop_packets, "packets", "frames refused by this queue")               \
	X(drop_bytes, "bytes", "bytes refused by this queue")                    \
	X(ecn_marked, "packets", "packets marked congestion experienced here")   \
	X(ecn_unmarked, "packets", "packets to be marked that aren't ECN capable")

/* The same for what is seldom, so that the others share one line. */
#define QUEUE_RARE_COUNTERS(X)                                                        \
	X(ecn_marked_bytes, "bytes", "bytes of frames marked here")                   \
	X(wred_packets, "packets", "frames dropped early by this queue")              \
	X(wred_bytes, "bytes", "bytes dropped early by this queue")                   \
	X(headroom_packets, "packets",                                                \
	  "frames received in this lossless priority past its headroom, and dropped") \
	X(headroom_bytes, "bytes",                                                    \
	  "bytes received in this lossless priority past its headroom, and dropped")  \
	X(watchdog_packets, "packets",                                                \
	  "frames of this queue dropped by its watchdog during pause storms")         \
	X(watchdog_bytes, "bytes",                                                    \
	  "bytes of this queue dropped by its watchdog during pause storms")

#define COUNTER_FIELD_(field, unit, help) _Atomic uint64_t field;
struct port_counters {
	alignas(64) struct {
		PORT_COUNTERS(COUNTER_FIELD_)
	};
	_Atomic uint64_t drop[DROP_COUNT];
};

struct queue_counters {
	alignas(64) struct {
		QUEUE_COUNTERS(COUNTER_FIELD_)
	};
};

struct queue_rare_counters {
	QUEUE_RARE_COUNTERS(COUNTER_FIELD_)
};
#undef COUNTER_FIELD_

/** Add to a counter that only the calling thread writes. */
static inline void counter_add(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t value = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, value + n, memory_order_relaxed);
}

/** Read a counter from any thread. */
static inline uint64_t counter_get(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

#endif
