/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "control/telemetry_tables.h"
#include "dataplane/buffer.h"

#define COUNTER_COLUMN_(field, unit, ...) telemetry_page_counter(page, #field, unit);

/* Rows are (port, priority) of the real ports; the cursor is the next pair. */
static uint64_t pair_count(const struct config *config)
{
	return (uint64_t)config->port_count * PRIORITY_COUNT;
}

static bool is_lossless(const struct snapshot *snapshot, uint8_t priority)
{
	return (snapshot->lossless_mask >> priority & 1) != 0;
}

/* --- buffers --- */

static const char *reason_text(uint8_t reasons)
{
	static const char *const text[] = {
		"-",
		"buffer",
		"guard",
		"buffer+guard",
		"backlog",
		"buffer+backlog",
		"guard+backlog",
		"buffer+guard+backlog",
		"move",
		"buffer+move",
		"guard+move",
		"buffer+guard+move",
		"backlog+move",
		"buffer+backlog+move",
		"guard+backlog+move",
		"buffer+guard+backlog+move",
	};
	const uint8_t all = PAUSE_BUFFER | PAUSE_GUARD | PAUSE_BACKLOG | PAUSE_MOVE;

	_Static_assert((PAUSE_BUFFER | PAUSE_GUARD | PAUSE_BACKLOG | PAUSE_MOVE) + 1 ==
			       sizeof(text) / sizeof(text[0]),
		       "all of them");
	return text[reasons & all];
}

/* A port that sends no PFC tells its peer nothing. */
static const char *state_text(const struct buffer_totals *totals, const struct port_table *port)
{
	if (totals->reasons == 0)
		return "running";
	return (port->pfc & PORT_PFC_SEND) != 0 ? "paused" : "untold";
}

static void buffer_row(struct telemetry_page *page, struct daemon *daemon, uint64_t pair)
{
	const struct snapshot *snapshot = daemon_snapshot(daemon);
	uint16_t port = (uint16_t)(pair / PRIORITY_COUNT);
	uint8_t priority = (uint8_t)(pair % PRIORITY_COUNT);
	const struct buffer_pair *limits = snapshot_pair(snapshot, port, priority);
	struct buffer_totals totals;
	struct queue_rare_totals rare;

	leaf_buffer_totals(daemon_leaf(daemon), snapshot, port, priority, &totals);
	leaf_queue_rare_totals(daemon_leaf(daemon), port, priority, &rare);
	telemetry_pair_cells(page, daemon_config(daemon), pair);
	telemetry_page_text(page, state_text(&totals, &snapshot->port[port]));
	telemetry_page_text(page, reason_text(totals.reasons));
	telemetry_page_number(page, totals.occupancy_bytes);
	telemetry_page_number(page, totals.peak_bytes);
	telemetry_page_number(page, totals.xoff_bytes);
	telemetry_page_number(page, totals.xon_bytes);
	telemetry_page_number(page, limits->reserved_bytes);
	telemetry_page_number(page, totals.headroom_used_bytes);
	telemetry_page_number(page, totals.headroom_peak_bytes);
	telemetry_page_number(page, limits->headroom_bytes);
	telemetry_page_number(page, totals.backlog_bytes);
	telemetry_page_number(page, rare.headroom_packets);
	telemetry_page_number(page, rare.headroom_bytes);
}

uint64_t telemetry_buffers(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t pair, count;

	telemetry_pair_columns(page);
	telemetry_page_column(page, "state", TELEMETRY_TEXT);
	telemetry_page_column(page, "reason", TELEMETRY_TEXT);
	telemetry_page_column(page, "used_bytes", 0);
	telemetry_page_column(page, "peak_bytes", 0);
	telemetry_page_column(page, "xoff_bytes", 0);
	telemetry_page_column(page, "xon_bytes", 0);
	telemetry_page_column(page, "reserved_bytes", 0);
	telemetry_page_column(page, "headroom_used_bytes", 0);
	telemetry_page_column(page, "headroom_peak_bytes", 0);
	telemetry_page_column(page, "headroom_bytes", 0);
	telemetry_page_column(page, "backlog_bytes", 0);
	telemetry_page_counter(page, "lost_packets", "packets");
	telemetry_page_counter(page, "lost_bytes", "bytes");

	daemon_lock(daemon);
	count = pair_count(daemon_config(daemon));
	for (pair = cursor; pair < count; pair++) {
		if (!is_lossless(daemon_snapshot(daemon), (uint8_t)(pair % PRIORITY_COUNT)))
			continue;
		if (!telemetry_page_row(page))
			break;
		buffer_row(page, daemon, pair);
	}
	daemon_unlock(daemon);
	return pair < count ? pair : 0;
}

uint64_t telemetry_pool(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct snapshot *snapshot;
	struct buffer_pool_totals totals;

	telemetry_page_column(page, "shared_used_bytes", 0);
	telemetry_page_column(page, "shared_peak_bytes", 0);
	telemetry_page_column(page, "shared_bytes", 0);
	telemetry_page_column(page, "lossy_used_bytes", 0);
	telemetry_page_column(page, "lossy_bytes", 0);
	telemetry_page_column(page, "headroom_used_bytes", 0);
	telemetry_page_column(page, "headroom_peak_bytes", 0);
	telemetry_page_column(page, "headroom_pool_bytes", 0);
	telemetry_page_column(page, "queued_packets", 0);
	telemetry_page_column(page, "packets_max", 0);
	telemetry_page_column(page, "guard_packets", 0);
	telemetry_page_column(page, "guarded", TELEMETRY_FLAG);
	telemetry_page_counter(page, "guards", "times");
	if (cursor != 0 || !telemetry_page_row(page))
		return 0;

	daemon_lock(daemon);
	snapshot = daemon_snapshot(daemon);
	leaf_buffer_pool_totals(daemon_leaf(daemon), snapshot, &totals);
	telemetry_page_number(page, totals.shared_used_bytes);
	telemetry_page_number(page, totals.shared_peak_bytes);
	telemetry_page_number(page, snapshot->buffer.shared_bytes);
	telemetry_page_number(page, totals.lossy_used_bytes);
	telemetry_page_number(page, snapshot->buffer.lossy_bytes);
	telemetry_page_number(page, totals.headroom_used_bytes);
	telemetry_page_number(page, totals.headroom_peak_bytes);
	telemetry_page_number(page, snapshot->buffer.headroom_pool_bytes);
	telemetry_page_number(page, totals.queued_packets);
	telemetry_page_number(page, snapshot->buffer.packets_max);
	telemetry_page_number(page, snapshot->buffer.guard_packets);
	telemetry_page_number(page, totals.guarded);
	telemetry_page_number(page, totals.guards);
	daemon_unlock(daemon);
	return 0;
}

/* --- PFC --- */

/* Times leave in ns, like all others here; ps would be too large for JSON after 106 days. */
static const char *pfc_name(const char *field)
{
	if (strcmp(field, "rx_paused_ps") == 0)
		return "rx_paused_ns";
	return strcmp(field, "tx_paused_ps") == 0 ? "tx_paused_ns" : field;
}

static bool is_time(const char *unit)
{
	return strcmp(unit, "ps") == 0;
}

/* Real time of a pause's begin; 0: there was none. */
static uint64_t real_ns(uint64_t pauses, uint64_t since_ps, uint64_t now_ps)
{
	struct timespec now;

	if (pauses == 0)
		return 0;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	/* A worker's clock may be ahead of our now_ps. */
	return (uint64_t)now.tv_sec * (PS_PER_S / PS_PER_NS) + (uint64_t)now.tv_nsec -
	       (time_after(now_ps, since_ps) ? (now_ps - since_ps) / PS_PER_NS : 0);
}

/* What the watchdog thinks of a queue. */
static const char *watchdog_text(const struct snapshot *snapshot, const struct pfc_totals *totals)
{
	if (snapshot->watchdog.action == WATCHDOG_OFF)
		return "off";
	return totals->storms > totals->restored ? "storm" : "ok";
}

static void pfc_row(struct telemetry_page *page, struct daemon *daemon, uint64_t pair,
		    uint64_t now_ps)
{
	const struct snapshot *snapshot = daemon_snapshot(daemon);
	uint16_t port = (uint16_t)(pair / PRIORITY_COUNT);
	uint8_t priority = (uint8_t)(pair % PRIORITY_COUNT);
	struct queue_rare_totals rare;
	struct pfc_totals totals;

	leaf_pfc_totals(daemon_leaf(daemon), port, priority, now_ps, &totals);
	leaf_queue_rare_totals(daemon_leaf(daemon), port, priority, &rare);
	telemetry_pair_cells(page, daemon_config(daemon), pair);
	telemetry_page_number(page, is_lossless(snapshot, priority));
	telemetry_page_number(page, totals.rx_paused);
	telemetry_page_number(page, totals.tx_paused);
	telemetry_page_text(page, is_lossless(snapshot, priority) ? watchdog_text(snapshot, &totals)
								  : "-");
#define PFC_CELL_(field, unit, help) \
	telemetry_page_number(page, is_time(unit) ? totals.field / PS_PER_NS : totals.field);
	PFC_COUNTERS(PFC_CELL_)
#undef PFC_CELL_
	telemetry_page_number(page, real_ns(totals.rx_pauses, totals.rx_last_ps, now_ps));
	telemetry_page_number(page, real_ns(totals.tx_pauses, totals.tx_last_ps, now_ps));
	telemetry_page_number(page, rare.watchdog_packets);
	telemetry_page_number(page, rare.watchdog_bytes);
}

uint64_t telemetry_pfc(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t pair, count, now_ps;

	telemetry_pair_columns(page);
	telemetry_page_column(page, "lossless", TELEMETRY_FLAG);
	telemetry_page_column(page, "rx_paused", TELEMETRY_FLAG);
	telemetry_page_column(page, "tx_paused", TELEMETRY_FLAG);
	telemetry_page_column(page, "watchdog", TELEMETRY_TEXT);
#define PFC_COLUMN_(field, unit, help) \
	telemetry_page_counter(page, pfc_name(#field), is_time(unit) ? "ns" : (unit));
	PFC_COUNTERS(PFC_COLUMN_)
#undef PFC_COLUMN_
	telemetry_page_column(page, "rx_last_ns", 0);
	telemetry_page_column(page, "tx_last_ns", 0);
	telemetry_page_counter(page, "watchdog_packets", "packets");
	telemetry_page_counter(page, "watchdog_bytes", "bytes");

	daemon_lock(daemon);
	count = pair_count(daemon_config(daemon));
	now_ps = daemon_now_ps(daemon);
	for (pair = cursor; pair < count && telemetry_page_row(page); pair++)
		pfc_row(page, daemon, pair, now_ps);
	daemon_unlock(daemon);
	return pair < count ? pair : 0;
}

uint64_t telemetry_pfc_ports(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t port, count;

	telemetry_page_column(page, "port", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "sends", TELEMETRY_FLAG);
	telemetry_page_column(page, "honours", TELEMETRY_FLAG);
	PFC_PORT_COUNTERS(COUNTER_COLUMN_)

	daemon_lock(daemon);
	count = daemon_config(daemon)->port_count;
	for (port = cursor; port < count && telemetry_page_row(page); port++) {
		uint8_t pfc = daemon_snapshot(daemon)->port[port].pfc;
		struct pfc_port_totals totals;

		leaf_pfc_port_totals(daemon_leaf(daemon), (uint16_t)port, &totals);
		telemetry_page_text(page,
				    telemetry_port_name(daemon_config(daemon), (uint16_t)port));
		telemetry_page_number(page, (pfc & PORT_PFC_SEND) != 0);
		telemetry_page_number(page, (pfc & PORT_PFC_HONOUR) != 0);
#define PFC_CELL_(field, unit, help) telemetry_page_number(page, totals.field);
		PFC_PORT_COUNTERS(PFC_CELL_)
#undef PFC_CELL_
	}
	daemon_unlock(daemon);
	return port < count ? port : 0;
}

/* --- ECN and WRED --- */

/* A chance of mark.h in millionths, as the config has it. */
static uint64_t chance_ppm(uint32_t chance)
{
	return ((chance + UINT64_C(1)) * 1000000 + (UINT64_C(1) << 31)) >> 32;
}

static void ramp_cells(struct telemetry_page *page, uint32_t min_bytes, uint32_t max_bytes,
		       uint32_t chance)
{
	bool on = min_bytes != UINT32_MAX;

	telemetry_page_number(page, on ? min_bytes : 0);
	telemetry_page_number(page, on ? max_bytes : 0);
	telemetry_page_number(page, on ? chance_ppm(chance) : 0);
}

static void ecn_row(struct telemetry_page *page, struct daemon *daemon, uint64_t pair,
		    const struct mark_table *mark, uint64_t now_ps)
{
	uint16_t port = (uint16_t)(pair / PRIORITY_COUNT);
	uint8_t priority = (uint8_t)(pair % PRIORITY_COUNT);
	struct queue_rare_totals rare;
	struct queue_totals totals;

	leaf_queue_totals(daemon_leaf(daemon), port, priority, &totals);
	leaf_queue_rare_totals(daemon_leaf(daemon), port, priority, &rare);
	telemetry_pair_cells(page, daemon_config(daemon), pair);
	telemetry_page_number(page, is_lossless(daemon_snapshot(daemon), priority));
	telemetry_page_number(page, mark->ecn_min_bytes != UINT32_MAX);
	telemetry_page_number(page, mark->wred_min_bytes != UINT32_MAX);
	ramp_cells(page, mark->ecn_min_bytes, mark->ecn_max_bytes, mark->ecn_chance);
	ramp_cells(page, mark->wred_min_bytes, mark->wred_max_bytes, mark->wred_chance);
	telemetry_page_number(page, totals.tx_packets);
	telemetry_page_number(page, totals.tx_bytes);
	telemetry_page_number(page, totals.ecn_marked);
	telemetry_page_number(page, totals.ecn_unmarked);
	telemetry_page_number(page, rare.ecn_marked_bytes);
	telemetry_page_number(page, rare.wred_packets);
	telemetry_page_number(page, rare.wred_bytes);
	telemetry_page_number(page, totals.depth_bytes);
	telemetry_page_number(page, totals.depth_bytes_max);
	telemetry_page_number(page, mark->half_life_ps / PS_PER_NS);
	telemetry_page_number(page,
			      leaf_queue_average_bytes(daemon_leaf(daemon), daemon_snapshot(daemon),
						       port, priority, now_ps));
}

uint64_t telemetry_ecn(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t pair, count, now_ps;

	telemetry_pair_columns(page);
	telemetry_page_column(page, "lossless", TELEMETRY_FLAG);
	telemetry_page_column(page, "ecn", TELEMETRY_FLAG);
	telemetry_page_column(page, "wred", TELEMETRY_FLAG);
	telemetry_page_column(page, "kmin_bytes", 0);
	telemetry_page_column(page, "kmax_bytes", 0);
	telemetry_page_column(page, "pmax_ppm", 0);
	telemetry_page_column(page, "wred_min_bytes", 0);
	telemetry_page_column(page, "wred_max_bytes", 0);
	telemetry_page_column(page, "wred_pmax_ppm", 0);
	telemetry_page_counter(page, "tx_packets", "packets");
	telemetry_page_counter(page, "tx_bytes", "bytes");
	telemetry_page_counter(page, "ecn_marked", "packets");
	telemetry_page_counter(page, "ecn_unmarked", "packets");
	telemetry_page_counter(page, "ecn_marked_bytes", "bytes");
	telemetry_page_counter(page, "wred_packets", "packets");
	telemetry_page_counter(page, "wred_bytes", "bytes");
	telemetry_page_column(page, "depth_bytes", 0);
	telemetry_page_column(page, "depth_bytes_max", 0);
	telemetry_page_column(page, "half_life_ns", 0);
	telemetry_page_column(page, "average_bytes", 0);

	daemon_lock(daemon);
	count = pair_count(daemon_config(daemon));
	now_ps = daemon_now_ps(daemon);
	for (pair = cursor; pair < count; pair++) {
		const struct mark_table *mark =
			snapshot_mark(daemon_snapshot(daemon), (uint32_t)(pair / PRIORITY_COUNT),
				      (uint32_t)(pair % PRIORITY_COUNT));

		if (mark->ecn_min_bytes == UINT32_MAX && mark->wred_min_bytes == UINT32_MAX)
			continue;
		if (!telemetry_page_row(page))
			break;
		ecn_row(page, daemon, pair, mark, now_ps);
	}
	daemon_unlock(daemon);
	return pair < count ? pair : 0;
}
