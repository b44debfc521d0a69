/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * telemetry - what `roceleafctl show` and other readers see, over DPDK's telemetry socket.
 *
 * Commands (DPDK's form: "/roceleaf/ports,CURSOR" as one SOCK_SEQPACKET message; without a cursor,
 * from the start):
 *	/roceleaf/info         one row: version, uptime, reloads, packet buffers
 *	/roceleaf/ports        state and counters of each port, the CPU's last
 *	/roceleaf/queues       the eight queues of each port
 *	/roceleaf/buffers      occupancy and thresholds of each lossless (port, priority)
 *	/roceleaf/pool         one row: what all of these share
 *	/roceleaf/peaks        the most that queues and buffers held, in three copies
 *	/roceleaf/pfc          pauses of each (port, priority), both ways
 *	/roceleaf/pfc_ports    PFC frames of each port, and other MAC control
 *	/roceleaf/ecn          thresholds and marks of queues that mark or drop early
 *	/roceleaf/classes      the traffic classes of the config in force
 *	/roceleaf/balance      each uplink: its share of what has several next hops (a sample)
 *	/roceleaf/spread       one row: all uplinks together
 *	/roceleaf/flows        the largest flows over several next hops, largest first (a sample)
 *	/roceleaf/fdb          what the bridge has learned
 *	/roceleaf/routes       connected and static routes, a row per next hop
 *	/roceleaf/neighbours   static ones and those of the kernel
 *	/roceleaf/interfaces   routed ports and VLAN interfaces: traffic with the kernel
 *	/roceleaf/drops        (port, reason) pairs that are not zero
 *	/roceleaf/reasons      every reason there is, with its help
 *	/roceleaf/workers      time and packets of each worker
 *	/roceleaf/marks        what was counted between marks of a job, oldest first
 *	/roceleaf/record       queue depths in time, of the last recording
 *	/roceleaf/recording    one row: what that is
 *	/roceleaf/past_queues, past_ports, past_workers
 *	                       what those had counted some seconds ago: the first cursor
 *	/roceleaf/events       what happened, oldest first
 *
 * Each answers with one page of a table, by column:
 *	instance	real time of the start, us (so that a double holds it); another one:
 *			the daemon was restarted
 *	time_ns		CLOCK_MONOTONIC when the page was made: rates are differences over it
 *	next		cursor of the next page; 0: this was the last one
 *	keys		the columns that name a row
 *	counters	the columns that only grow, with `units` beside them
 *	flags		the columns that mean yes (1) or no (0)
 *	...		every other array is a column, with one element a row
 * Names of counters and reasons are those of dataplane/counters.h, pfc.h and drop.h. Of a port's
 * rx_packets and rx_bytes, MAC control frames are taken off: they are `consumed`, and not data. Times
 * that pfc.h has in ps are in ns.
 *
 * Limits of DPDK 22.11 that shape this: an answer has at most 16 KiB (hence pages: rows stop before
 * it is full), an array at most 512 elements, a string at most 127 bytes of ASCII (longer texts are cut,
 * the texts of events go on in `text_2`...), numbers have no sign; at most 10 clients, a thread each.
 *
 * Thread: the callbacks run in DPDK's telemetry threads. They only read, under daemon_lock() and a
 * lock of this module, which keeps the daemon alive while it is read.
 */
#ifndef CONTROL_TELEMETRY_H
#define CONTROL_TELEMETRY_H

#include <stdio.h>

struct daemon;

/* A table that is larger than this isn't shown as a whole: it would take too long, and too much memory. */
#define TELEMETRY_SHOW_BYTES (16u << 20)

/**
 * Register the commands and answer for this daemon. EAL must run with telemetry. DPDK can't
 * unregister: a second start in the same process only changes the daemon.
 * @return 0; -ENOENT, -EINVAL from DPDK. Control.
 */
int telemetry_start(struct daemon *daemon);

/**
 * Write a whole table to a file, as `roceleafctl show NAME --json` does, but for the order of the rows
 * and a line for each: {"NAME": [rows], "time_ns": ..., "instance": ...}, and what show prints beside it.
 * @return 0; -ENOENT no table has that name, -E2BIG it is too large. Any thread that keeps the daemon alive.
 */
int telemetry_show(struct daemon *daemon, const char *name, FILE *out);

/** Answer nothing from now on; returns when no callback looks at the daemon. No lock held. Control. */
void telemetry_stop(void);

#endif
