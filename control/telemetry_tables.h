/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * telemetry_tables - fills the pages of the tables that telemetry.h lists.
 *
 * Each function describes its columns and then adds rows from a cursor on, under daemon_lock().
 *
 * Thread: DPDK's telemetry threads, while telemetry.c keeps the daemon alive.
 */
#ifndef CONTROL_TELEMETRY_TABLES_H
#define CONTROL_TELEMETRY_TABLES_H

#include <stdint.h>

#include "control/daemon.h"
#include "control/telemetry_page.h"

/**
 * @param cursor 0 at first, then what the page before returned; may be any number
 * @return where the next page goes on; greater than cursor, or 0 at the end
 */
typedef uint64_t telemetry_table_fn(struct telemetry_page *page, struct daemon *daemon,
				    uint64_t cursor);

telemetry_table_fn telemetry_info;
telemetry_table_fn telemetry_ports;
telemetry_table_fn telemetry_queues;
telemetry_table_fn telemetry_classes;
telemetry_table_fn telemetry_workers;
telemetry_table_fn telemetry_events;

/* telemetry_pauses.c */
telemetry_table_fn telemetry_buffers;
telemetry_table_fn telemetry_pool;
telemetry_table_fn telemetry_pfc;
telemetry_table_fn telemetry_pfc_ports;
telemetry_table_fn telemetry_ecn;

/* telemetry_peaks.c */
telemetry_table_fn telemetry_peaks;

/* telemetry_past.c */
telemetry_table_fn telemetry_past_queues;
telemetry_table_fn telemetry_past_ports;
telemetry_table_fn telemetry_past_workers;

/* telemetry_losses.c */
telemetry_table_fn telemetry_drops;
telemetry_table_fn telemetry_reasons;

/* telemetry_balance.c */
telemetry_table_fn telemetry_balance;
telemetry_table_fn telemetry_spread;
telemetry_table_fn telemetry_flows;

/* telemetry_addresses.c: what has addresses in it */
telemetry_table_fn telemetry_marks;
telemetry_table_fn telemetry_record;
telemetry_table_fn telemetry_recording;
telemetry_table_fn telemetry_fdb;
telemetry_table_fn telemetry_routes;
telemetry_table_fn telemetry_neighbours;
telemetry_table_fn telemetry_interfaces;

/** Without what is meant for the leaf itself: on the CPU's port copies for other workers. */
static inline void telemetry_data_only(struct port_totals *totals, bool is_cpu)
{
	if (is_cpu) {
		totals->copied -= totals->consumed;
		return;
	}
	totals->rx_packets -= totals->consumed;
	totals->rx_bytes -= totals->consumed_bytes;
}

/*
 * X(field, unit, help): of struct port_io_stats. Losses are also reasons in the drops table, because
 * who looks for lost frames looks there.
 */
#define DEVICE_LOSSES(X)                                                                       \
	X(rx_missed_packets, "packets", "device: its receive ring was full")                   \
	X(rx_error_packets, "packets", "device: refused or unusable (length, CRC)")            \
	X(rx_superframe_drops, "packets", "device: beyond the MTU and could not be segmented") \
	X(tx_error_packets, "packets", "device: taken, then refused")
#define DEVICE_NOTES(X)                                                              \
	X(rx_crc_errors, "packets", "device: of the errors, those with a wrong FCS") \
	X(rx_no_buffer, "bursts", "device: bursts that found no packet buffer")      \
	X(rx_superframes, "packets", "device: frames beyond the MTU, segmented here")

/* X(field, unit, help): of struct daemon_worker */
#define WORKER_COUNTERS(X)                                                 \
	X(polls, "polls", "turns of the worker's loop")                    \
	X(rx_packets, "packets", "frames received by the worker")          \
	X(tx_packets, "packets", "frames handed to devices by the worker") \
	X(busy_ns, "ns", "time in polls that moved frames")                \
	X(idle_ns, "ns", "time in polls that found nothing")               \
	X(sleep_ns, "ns", "time asleep")                                   \
	X(sleeps, "sleeps", "times asleep")                                \
	X(stalls, "stalls", "polls further apart than rings last")         \
	X(stall_ns, "ns", "time between such polls")

#define TELEMETRY_MAC_BYTES 18

/* By kind: "user" ... */
extern const char *const telemetry_peak_names[PEAK_KINDS];

/** Write a MAC address as 02:00:00:00:10:01. */
void telemetry_mac_text(const uint8_t mac[6], char text[TELEMETRY_MAC_BYTES]);

/** The class that has a priority, or NULL. Valid while locked. */
const struct config_class *telemetry_class_of(const struct config *config, uint8_t priority);

/* Rows of (port, priority), by port: the first three columns, and their cells in row `pair`. */
void telemetry_pair_columns(struct telemetry_page *page);
void telemetry_pair_cells(struct telemetry_page *page, const struct config *config, uint64_t pair);

/* Uplinks: ports that are among several next hops of a route. */
struct telemetry_uplinks {
	bool is_uplink[PORT_COUNT_MAX];
	uint32_t weight[PORT_COUNT_MAX]; /* the largest that it has in a group */
	uint64_t weights;
	uint64_t bytes[PORT_COUNT_MAX]; /* in a second */
	uint64_t all_bytes;
};

/** Locked. @return 0, or -1: out of memory, and all is 0 */
int telemetry_uplinks_read(struct daemon *daemon, struct telemetry_uplinks *uplinks);

/** A part of a whole in millionths; 0 when the whole is 0. */
uint64_t telemetry_ppm(uint64_t part, uint64_t whole);

/** Name of a port by its index, "cpu" for the CPU's, "-" for PORT_NONE. Valid while locked. */
const char *telemetry_port_name(const struct config *config, uint16_t port);

#endif
