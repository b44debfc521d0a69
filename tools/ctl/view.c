/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/view.h"

#include <string.h>

#include "tools/ctl/view_cells.h"
#include "tools/ctl/view_rows.h"

static const struct view_column info_columns[] = {
	{"Name", "name", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Version", "version", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"PID", "pid", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Up", "uptime_ns", cell_age, TABLE_RIGHT, VIEW_BOTH},
	{"Ports", "ports", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Workers", "workers", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Reloads", "reloads", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Refused", "reloads_refused", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Buffers", "buffer_count", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Free", "buffer_free", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Hugepages", "hugepages", cell_flag, TABLE_LEFT, VIEW_BOTH},
	{"Config", "config", cell_text, TABLE_LEFT, VIEW_BOTH},
};

static const struct view_column port_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Device", "device", cell_text, TABLE_LEFT, VIEW_TOTALS},
	{"State", "state", cell_state, TABLE_LEFT, VIEW_BOTH},
	{"Speed bit/s", "speed_bps", cell_speed, TABLE_RIGHT, VIEW_BOTH},
	{"Mode", "mode", cell_text, TABLE_LEFT, VIEW_TOTALS},
	{"RX packets", "rx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"RX bytes", "rx_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX packets", "tx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX bytes", "tx_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Drops", "drop_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Missed", "rx_missed_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Control", "consumed", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"RX packet/s", "rx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"RX bit/s", "rx_bytes", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX packet/s", "tx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX bit/s", "tx_bytes", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Drop/s", "drop_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"Missed/s", "rx_missed_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
};

/* What matters most first: 80 columns hold all but the last two. */
static const struct view_column queue_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Queue", "priority", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Class", "class", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"TX packets", "tx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX bytes", "tx_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX packet/s", "tx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX bit/s", "tx_bytes", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Share %", "tx_bytes", cell_share, TABLE_RIGHT, VIEW_BOTH},
	{"Drops", "drop_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Drop/s", "drop_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"Depth bytes", "depth_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Deepest bytes", "depth_bytes_max", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Depth packets", "depth_packets", cell_count, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column pool_columns[] = {
	{"Shared used", "shared_used_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Peak", "shared_peak_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Shared", "shared_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Lossy used", "lossy_used_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Lossy max", "lossy_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Headroom used", "headroom_used_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Peak", "headroom_peak_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Packets", "queued_packets", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Packets max", "packets_max", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Guard", "guard_packets", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"State", "guarded", cell_guard, TABLE_LEFT, VIEW_BOTH},
};

/* 80 columns hold all but what there is of headroom. */
static const struct view_column buffer_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Class", "class", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"State", "state", cell_pair_state, TABLE_LEFT, VIEW_BOTH},
	{"Used bytes", "used_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Peak", "peak_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Xoff", "xoff_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Xon", "xon_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Headroom used", "headroom_used_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Peak", "headroom_peak_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Headroom", "headroom_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Lost", "lost_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Lost/s", "lost_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
};

static const struct view_column peak_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Queue", "priority", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"User", "queue_user_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Periodic", "queue_periodic_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Persistent", "queue_persistent_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Buffer user", "occupancy_user_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Persistent", "occupancy_persistent_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Headroom user", "headroom_user_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Persistent", "headroom_persistent_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column pfc_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Priority", "priority", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Class", "class", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Now", NULL, cell_paused, TABLE_LEFT, VIEW_BOTH},
	{"RX frames", "rx_frames", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"RX pauses", "rx_pauses", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"RX paused ms", "rx_paused_ns", cell_ns_as_ms, TABLE_RIGHT, VIEW_TOTALS},
	{"TX xoff", "tx_xoff", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX xon", "tx_xon", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX pauses", "tx_pauses", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX paused ms", "tx_paused_ns", cell_ns_as_ms, TABLE_RIGHT, VIEW_TOTALS},
	{"RX frame/s", "rx_frames", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"RX pause/s", "rx_pauses", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"RX paused %", "rx_paused_ns", cell_ns_share, TABLE_RIGHT, VIEW_RATES},
	{"TX xoff/s", "tx_xoff", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX xon/s", "tx_xon", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX pause/s", "tx_pauses", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX paused %", "tx_paused_ns", cell_ns_share, TABLE_RIGHT, VIEW_RATES},
	{"Watchdog", "watchdog", cell_state, TABLE_LEFT, VIEW_BOTH},
	{"Storms", "storms", cell_loss, TABLE_RIGHT, VIEW_BOTH},
	{"Dropped", "watchdog_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Dropped/s", "watchdog_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"Last RX pause", "rx_last_ns", cell_time, TABLE_LEFT, VIEW_TOTALS},
	{"Last TX pause", "tx_last_ns", cell_time, TABLE_LEFT, VIEW_TOTALS},
};

static const struct view_column pfc_port_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Sends", "sends", cell_flag, TABLE_LEFT, VIEW_BOTH},
	{"Honours", "honours", cell_flag, TABLE_LEFT, VIEW_BOTH},
	{"TX frames", "tx_frames", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"RX not lossless", "rx_not_lossless", cell_loss, TABLE_RIGHT, VIEW_BOTH},
	{"RX 802.3x", "rx_global", cell_loss, TABLE_RIGHT, VIEW_BOTH},
	{"RX unknown", "rx_unknown", cell_loss, TABLE_RIGHT, VIEW_BOTH},
	{"RX bad", "rx_bad", cell_loss, TABLE_RIGHT, VIEW_BOTH},
	{"TX no buffer", "tx_no_buffer", cell_loss, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column ecn_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Class", "class", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Kmin bytes", "kmin_bytes", cell_threshold, TABLE_RIGHT, VIEW_BOTH},
	{"Kmax bytes", "kmax_bytes", cell_threshold, TABLE_RIGHT, VIEW_BOTH},
	{"Pmax %", "pmax_ppm", cell_pmax, TABLE_RIGHT, VIEW_BOTH},
	{"Marked", "ecn_marked", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Marked/s", "ecn_marked", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Marked %", "ecn_marked", cell_marked_share, TABLE_RIGHT, VIEW_BOTH},
	{"Marked bytes", "ecn_marked_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Not ECT", "ecn_unmarked", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Not ECT/s", "ecn_unmarked", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"WRED drops", "wred_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"WRED drop/s", "wred_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"Depth bytes", "depth_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Deepest bytes", "depth_bytes_max", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"TX packets", "tx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX packet/s", "tx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"WRED min", "wred_min_bytes", cell_threshold, TABLE_RIGHT, VIEW_BOTH},
	{"WRED max", "wred_max_bytes", cell_threshold, TABLE_RIGHT, VIEW_BOTH},
	{"Average of us", "half_life_ns", cell_half_life, TABLE_RIGHT, VIEW_BOTH},
	{"Average bytes", "average_bytes", cell_average, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column class_columns[] = {
	{"Class", "class", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Priority", "priority", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Kind", "lossless", cell_lossless, TABLE_LEFT, VIEW_BOTH},
	{"Scheduling", NULL, cell_scheduling, TABLE_LEFT, VIEW_BOTH},
	{"Max rate", NULL, cell_max_rate, TABLE_RIGHT, VIEW_BOTH},
	{"DSCP", "dscp", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"PCP", "pcp", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"TX packets", "tx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX bytes", "tx_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX packet/s", "tx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX bit/s", "tx_bytes", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Drops", "drop_packets", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Drop/s", "drop_packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
};

static const struct view_column spread_columns[] = {
	{"Rate bit/s", "rate_bps", cell_bits, TABLE_RIGHT, VIEW_BOTH},
	{"Imbalance", "imbalance_ppm", cell_ratio, TABLE_RIGHT, VIEW_BOTH},
	{"Flowlets", "flowlets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Moves", "moves", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Late moves", "moves_late", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Placed", "placed", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Collisions", "collisions", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Sprayed", "sprayed", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Flowlet/s", "flowlets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Move/s", "moves", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Collision/s", "collisions", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Sprayed/s", "sprayed", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Held bytes", "held_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Peak", "held_bytes_max", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Late", "late", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"Late/s", "late", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
};

static const struct view_column balance_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"State", "state", cell_state, TABLE_LEFT, VIEW_BOTH},
	{"Speed bit/s", "speed_bps", cell_speed, TABLE_RIGHT, VIEW_BOTH},
	{"Weight %", "weight_ppm", cell_ppm, TABLE_RIGHT, VIEW_BOTH},
	{"Rate bit/s", "rate_bps", cell_bits, TABLE_RIGHT, VIEW_BOTH},
	{"Share %", "share_ppm", cell_ppm, TABLE_RIGHT, VIEW_BOTH},
	{"Fair %", "fair_ppm", cell_ppm, TABLE_RIGHT, VIEW_BOTH},
	{"Band", "band", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Spread bytes", "spread_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Spread bit/s", "spread_bytes", cell_rate, TABLE_RIGHT, VIEW_RATES},
};

static const struct view_column flow_columns[] = {
	{"From", "source", cell_endpoint, TABLE_LEFT, VIEW_BOTH},
	{"To", "destination", cell_endpoint, TABLE_LEFT, VIEW_BOTH},
	{"Protocol", "protocol", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"QP", "qp", cell_qp, TABLE_RIGHT, VIEW_BOTH},
	{"Class", "class", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Uplink", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Rate bit/s", "rate_bps", cell_bits, TABLE_RIGHT, VIEW_BOTH},
	{"Share %", "share_ppm", cell_ppm, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column fdb_columns[] = {
	{"VLAN", "vlan", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"MAC", "mac", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Age", "age_ns", cell_age, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column route_columns[] = {
	{"To", "to", cell_prefix, TABLE_LEFT, VIEW_BOTH},
	{"Kind", "kind", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Via", "via", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Interface", "interface", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"MAC", "mac", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"State", "state", cell_state, TABLE_LEFT, VIEW_BOTH},
};

static const struct view_column neighbour_columns[] = {
	{"Address", "address", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Interface", "interface", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"MAC", "mac", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"State", "state", cell_state, TABLE_LEFT, VIEW_BOTH},
	{"Held packets", "held_packets", cell_count, TABLE_RIGHT, VIEW_BOTH},
};

static const struct view_column interface_columns[] = {
	{"Interface", "interface", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Carrier", "carrier", cell_carrier, TABLE_LEFT, VIEW_BOTH},
	{"MTU bytes", "mtu_bytes", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"To kernel packets", "punt_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Refused", "punt_errors", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"From kernel packets", "kernel_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Lost", "kernel_drops", cell_loss, TABLE_RIGHT, VIEW_TOTALS},
	{"To kernel packet/s", "punt_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Refused/s", "punt_errors", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"From kernel packet/s", "kernel_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Lost/s", "kernel_drops", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"Addresses", "addresses", cell_text, TABLE_LEFT, VIEW_BOTH},
};

static const struct view_column drop_columns[] = {
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Reason", "reason", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Packets", "packets", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Packet/s", "packets", cell_loss_rate, TABLE_RIGHT, VIEW_RATES},
	{"Meaning", "help", cell_text, TABLE_LEFT, VIEW_BOTH},
};

static const struct view_column worker_columns[] = {
	{"Worker", "worker", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"CPU", "cpu", cell_text, TABLE_RIGHT, VIEW_BOTH},
	{"Ports", "ports", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Polls", "polls", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"RX packets", "rx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"TX packets", "tx_packets", cell_count, TABLE_RIGHT, VIEW_TOTALS},
	{"Poll/s", "polls", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"RX packet/s", "rx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"TX packet/s", "tx_packets", cell_rate, TABLE_RIGHT, VIEW_RATES},
	{"Busy %", "busy_ns", cell_time_share, TABLE_RIGHT, VIEW_BOTH},
	{"Idle %", "idle_ns", cell_time_share, TABLE_RIGHT, VIEW_BOTH},
	{"Asleep %", "sleep_ns", cell_time_share, TABLE_RIGHT, VIEW_BOTH},
	{"Longest poll us", "poll_ns_max", cell_ns_as_us, TABLE_RIGHT, VIEW_BOTH},
	{"Ring peak", "ring_packets_max", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Polls within us (share)", "poll_1us", cell_histogram, TABLE_LEFT, VIEW_BOTH},
	{"Stalls", "stalls", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Pauses sent within us (share)", "xoff_1us", cell_histogram, TABLE_LEFT, VIEW_BOTH},
};

static const struct view_column event_columns[] = {
	{"Time", "at_ns", cell_time, TABLE_LEFT, VIEW_BOTH},
	{"Type", "type", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"What", "text", cell_text, TABLE_LEFT, VIEW_BOTH},
};

static const struct view_column mark_columns[] = {
	{"Began", "begin_ns", cell_time, TABLE_LEFT, VIEW_BOTH},
	{"Lasted ms", "duration_ns", cell_ns_as_ms, TABLE_RIGHT, VIEW_BOTH},
	{"TX bytes", "tx_bytes", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"ECN marks", "ecn_marked", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"Paused", "rx_pauses", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"ms", "rx_paused_ns", cell_ns_as_ms, TABLE_RIGHT, VIEW_BOTH},
	{"Pausing", "tx_pauses", cell_count, TABLE_RIGHT, VIEW_BOTH},
	{"ms", "tx_paused_ns", cell_ns_as_ms, TABLE_RIGHT, VIEW_BOTH},
	{"Drops", "drop_packets", cell_loss, TABLE_RIGHT, VIEW_BOTH},
	{"Hottest", "hottest", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"%", "hottest_ppm", cell_ppm, TABLE_RIGHT, VIEW_BOTH},
	{"Straggler", "straggler", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"ms", "straggler_paused_ns", cell_ns_as_ms, TABLE_RIGHT, VIEW_BOTH},
	{"Mark", "text", cell_text, TABLE_LEFT, VIEW_BOTH},
};

#define COLUMNS(array) .column = (array), .columns = sizeof(array) / sizeof((array)[0])

static const struct view pool_view = {
	.name = "pool",
	.command = "/roceleaf/pool",
	COLUMNS(pool_columns),
};

static const struct view pfc_port_view = {
	.name = "pfc_ports",
	.command = "/roceleaf/pfc_ports",
	COLUMNS(pfc_port_columns),
	.by_port = true,
	.counts = true,
	.hides = view_pfc_port_is_fine,
};

static const struct view spread_view = {
	.name = "spread",
	.command = "/roceleaf/spread",
	COLUMNS(spread_columns),
	.counts = true,
};

const struct view views[] = {
	{.name = "ports",
	 .command = "/roceleaf/ports",
	 COLUMNS(port_columns),
	 .by_port = true,
	 .counts = true,
	 .help = "ports, their state and what went through",
	 .about =
		 "Bytes are those of frames without FCS. Drops are the dataplane's (show drops has\n"
		 "the reasons), Missed the device's: its receive ring was full. Control are MAC\n"
		 "control frames received (PFC): they are no data, and neither they nor the PFC\n"
		 "frames that the leaf sends count in any other column (see show pfc). The port\n"
		 "'cpu' is the way to and from the kernel: its TX went up to it, its RX came down."},
	{.name = "queues",
	 .command = "/roceleaf/queues",
	 COLUMNS(queue_columns),
	 .by_port = true,
	 .counts = true,
	 .hides = view_queue_is_idle,
	 .hidden = "idle queues",
	 .help = "the eight egress queues of each port",
	 .about = "Share is the queue's part of all bytes that its port sent. Deepest is the\n"
		  "persistent peak. Queues that never sent anything are left out."},
	{.name = "buffers",
	 .command = "/roceleaf/buffers",
	 COLUMNS(buffer_columns),
	 .beside = &pool_view,
	 .beside_above = true,
	 .by_port = true,
	 .counts = true,
	 .hides = view_buffer_is_idle,
	 .hidden = "buffers that were never used",
	 .help = "buffers of lossless classes, and pauses of their peers",
	 .about =
		 "A line for each port through which lossless packets come: the bytes that wait in\n"
		 "the leaf (Used), the most there were, and the thresholds of this moment: above\n"
		 "Xoff the peer is paused, at Xon it may go on. They fall while others fill the\n"
		 "shared buffer. Headroom takes what still arrives after Xoff; Lost are lossless\n"
		 "packets that came when it was full, a fault of the peer or of the plan.\n"
		 "State: running; paused, by its buffer, by the guard (few packet buffers are\n"
		 "left, so all peers are paused) or by the backlog (so much waits in its receive\n"
		 "ring, as a worker is late); untold: would be paused, but its port sends no\n"
		 "PFC. The first table is what all ports share: the shared buffer, what lossy\n"
		 "classes use of their share, and packets waiting; the guard acts when as few\n"
		 "packet buffers as Guard says are left of Packets max. All in bytes but these.\n"
		 "Peaks are the persistent ones of 'show peaks'."},
	{.name = "peaks",
	 .command = "/roceleaf/peaks",
	 COLUMNS(peak_columns),
	 .by_port = true,
	 .hides = view_peak_is_none,
	 .hidden = "queues that never held anything",
	 .help = "the most that queues and buffers held, in three copies",
	 .about =
		 "Bytes in the egress queue, in the buffer of those that came in through the port, and\n"
		 "of these in headroom. Each is kept in three copies since the start or the last\n"
		 "'clear-peaks' of its kind: user, periodic (the leaf clears it every 2 minutes)\n"
		 "and persistent. --json has all of them.\n"},
	{.name = "pfc",
	 .command = "/roceleaf/pfc",
	 COLUMNS(pfc_columns),
	 .beside = &pfc_port_view,
	 .by_port = true,
	 .counts = true,
	 .hides = view_pfc_is_quiet,
	 .hidden = "priorities without a pause",
	 .help = "pauses (802.1Qbb), received and sent",
	 .about =
		 "RX is what the peer told us: frames that named the priority, how often they\n"
		 "stopped our queue, and for how long. TX is what we told the peer: frames that\n"
		 "stopped it (refreshed ones included) and that let it go, how often it was\n"
		 "stopped, and for how long. Times include a pause that lasts. Now: who waits at\n"
		 "this moment. Storms are pauses without end that the watchdog found; Watchdog says\n"
		 "whether there is one now, Dropped are the packets that it cost.\n"
		 "A second table lists ports that received other MAC control frames: pauses of\n"
		 "priorities that aren't lossless here, 802.3x pauses, unknown or bad ones; all are\n"
		 "ignored. These frames are in no data counter."},
	{.name = "ecn",
	 .command = "/roceleaf/ecn",
	 COLUMNS(ecn_columns),
	 .by_port = true,
	 .counts = true,
	 .hides = view_ecn_is_idle,
	 .hidden = "idle queues",
	 .help = "queues that mark (ECN) or drop early (WRED)",
	 .about =
		 "A packet that leaves a queue deeper than Kmin may be marked: with a probability\n"
		 "that grows to Pmax at Kmax, and always above. Marked counts those marked here,\n"
		 "Marked % is their part of the packets sent. Not ECT were to be marked, but can't\n"
		 "be: their sender doesn't know ECN. WRED drops are early drops of lossy packets.\n"
		 "Deepest is the persistent peak."},
	{.name = "classes",
	 .command = "/roceleaf/classes",
	 COLUMNS(class_columns),
	 .counts = true,
	 .help = "traffic classes and their totals over all ports",
	 .about =
		 "Strict classes go first, the highest priority before all others; the rest share\n"
		 "what is left by weight."},
	{.name = "balance",
	 .command = "/roceleaf/balance",
	 COLUMNS(balance_columns),
	 .beside = &spread_view,
	 .beside_above = true,
	 .by_port = true,
	 .counts = true,
	 .help = "uplinks: what each gets of the traffic that they share",
	 .about =
		 "A line for each port that is one of several next hops of a route. Rate and Share\n"
		 "are of the last full second, from a sample: one packet in 64 KiB. Fair is the\n"
		 "share that its weight among all uplinks calls for; Imbalance is the largest share\n"
		 "over its fair one: 1.00 is even. Band tells the load that the last flowlets\n"
		 "found there, in 5 us of the link; 255: paused. Spread bytes are since the start.\n"
		 "Flowlets, those that moved, and those that went by hash as the table was full;\n"
		 "Sprayed are packets spread by themselves. Held bytes wait to restore the order;\n"
		 "Late are packets that came when they weren't waited for any more."},
	{.name = "flows",
	 .command = "/roceleaf/flows",
	 COLUMNS(flow_columns),
	 .by_port = true,
	 .help = "the largest flows over several uplinks",
	 .about =
		 "Of the last full second, largest first, from a sample: one packet in 64 KiB, so a\n"
		 "flow of n such pieces is about 100/sqrt(n) % uncertain. Any flow with more than\n"
		 "1/64 of a worker's traffic is there. 'several': its packets took several uplinks.\n"
		 "Only what is routed by a route with several next hops is looked at."},
	{.name = "fdb",
	 .command = "/roceleaf/fdb",
	 COLUMNS(fdb_columns),
	 .by_port = true,
	 .compare = view_compare_fdb,
	 .help = "MAC addresses that the bridge has learned",
	 .about = "Age is the time since a frame from the address was last noted; an entry\n"
		  "is noted anew about every 70 ms at most."},
	{.name = "routes",
	 .command = "/roceleaf/routes",
	 COLUMNS(route_columns),
	 .help = "connected and static routes, a line per next hop",
	 .about = "A next hop carries traffic while it is resolved: its MAC address is known and\n"
		  "its link is up."},
	{.name = "neighbours",
	 .command = "/roceleaf/neighbours",
	 COLUMNS(neighbour_columns),
	 .compare = view_compare_neighbours,
	 .by_port = true,
	 .help = "MAC addresses of IP neighbours",
	 .about = "Static ones come from the config, resolved ones from the kernel (ARP, ND).\n"
		  "Packets are held while an address is asked for."},
	{.name = "interfaces",
	 .command = "/roceleaf/interfaces",
	 COLUMNS(interface_columns),
	 .by_port = true,
	 .counts = true,
	 .help = "routed ports and VLAN interfaces: traffic with the kernel",
	 .about = "Each has a TAP device of the same name, where the kernel answers ARP, ND and\n"
		  "ICMP and where routing daemons find their neighbours."},
	{.name = "drops",
	 .command = "/roceleaf/drops",
	 COLUMNS(drop_columns),
	 .by_port = true,
	 .counts = true,
	 .hides = view_drop_is_zero,
	 .hidden = "reasons since clear",
	 .help = "what was dropped, where and why",
	 .about = "Only what is not zero; --all also lists the reasons that did not occur."},
	{.name = "workers",
	 .command = "/roceleaf/workers",
	 COLUMNS(worker_columns),
	 .counts = true,
	 .help = "worker threads: their time and packets",
	 .about = "Busy polls moved packets, idle ones found nothing; a worker may sleep with\n"
		  "idle: adaptive. Longest poll is since the start and is not cleared, and so is\n"
		  "ring peak: the most packets that waited in a ring from another worker, which\n"
		  "holds 2047. Stalls: polls further apart than receive rings or peers' pauses\n"
		  "last. Pauses: from the poll that received the packet which called for one to\n"
		  "the end of the poll that sent it, as bounds within which a half, 99 % and all\n"
		  "of them were."},
	{.name = "marks",
	 .command = "/roceleaf/marks",
	 COLUMNS(mark_columns),
	 .help = "what the fabric did between two marks of a job",
	 .about =
		 "A row for each step: from its mark to the next one, or until now. Paused: times that\n"
		 "peers paused our queues, and for how long, all queues together; Pausing: that we\n"
		 "paused peers. Hottest is the uplink (without uplinks, the port) that sent most for\n"
		 "its speed, Straggler the port whose peer paused us for longest. See 'mark'."},
	{.name = "events",
	 .command = "/roceleaf/events",
	 COLUMNS(event_columns),
	 .by_port = true,
	 .help = "what happened: links, reloads, warnings",
	 .about =
		 "The last 1024, oldest first. Of each type 32 come at once and then one a second\n"
		 "(marks: 256, then 100 a second); the next one says how many were left out.\n"
		 "--follow goes on with those that come."},
	{.name = "info",
	 .command = "/roceleaf/info",
	 COLUMNS(info_columns),
	 .help = "the leaf itself: version, uptime, reloads, packet buffers",
	 .about = NULL},
};

const size_t view_count = sizeof(views) / sizeof(views[0]);

const struct view *view_find(const char *name)
{
	for (size_t i = 0; i < view_count; i++)
		if (strcmp(views[i].name, name) == 0)
			return &views[i];
	return NULL;
}
