/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * openmetrics - all counters of a leaf as one text, for Prometheus and its kind.
 *
 * Names, units and helps come from the lists of counters.h, pfc.h, balance.h, drop.h and
 * telemetry_tables.h, so that a counter there is a metric here: `rx_packets` of PORT_COUNTERS is
 * roceleaf_port_rx_packets_total. A name ends with its unit; times are in seconds, exactly.
 *
 * Labels: port, priority, class, reason, worker, kind (of peaks), type (of events). A port's rx_packets are without the
 * MAC control frames that it consumed, as in `show ports`. So over all ports, the CPU's among them,
 *	port_rx_packets + port_copied_packets = port_tx_packets + drop_packets + queued_packets
 * in a quiet leaf; under traffic each count is read at a time of its own, all of them within
 * microseconds.
 *
 * Format: OpenMetrics 1.0, or the text format 0.0.4 of Prometheus, where a counter's family is called
 * ..._total as well and there is neither UNIT nor EOF.
 *
 * Thread: any one that keeps the daemon alive. Takes daemon_lock() for one port at a time, some
 * microseconds; the text is made without it.
 */
#ifndef CONTROL_OPENMETRICS_H
#define CONTROL_OPENMETRICS_H

#include <stdbool.h>
#include <stddef.h>

struct daemon;

#define OPENMETRICS_TYPE      "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define OPENMETRICS_TYPE_TEXT "text/plain; version=0.0.4; charset=utf-8"

/**
 * @param classic the format 0.0.4
 * @param size    bytes of the text, without its NUL
 * @return the text, for free(); NULL when out of memory
 */
char *openmetrics_text(struct daemon *daemon, bool classic, size_t *size);

#endif
