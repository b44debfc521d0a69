/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The table of peaks (telemetry_tables.h): three copies of each, which clear apart (dataplane/peaks.h).
 */
#include "control/telemetry_tables.h"

/* X(name of the column, field of struct peak_totals) */
#define PEAK_FIELDS(X)                  \
	X("queue", queue_bytes)         \
	X("occupancy", occupancy_bytes) \
	X("headroom", headroom_bytes)

uint64_t telemetry_peaks(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t pair, count;

	telemetry_pair_columns(page);
#define PEAK_COLUMNS_(name, field)                              \
	telemetry_page_column(page, name "_user_bytes", 0);     \
	telemetry_page_column(page, name "_periodic_bytes", 0); \
	telemetry_page_column(page, name "_persistent_bytes", 0);
	PEAK_FIELDS(PEAK_COLUMNS_)
#undef PEAK_COLUMNS_

	daemon_lock(daemon);
	count = (daemon_config(daemon)->port_count + UINT64_C(1)) * PRIORITY_COUNT;
	for (pair = cursor; pair < count && telemetry_page_row(page); pair++) {
		struct peak_totals of[PEAK_KINDS];

		telemetry_pair_cells(page, daemon_config(daemon), pair);
		for (unsigned kind = 0; kind < PEAK_KINDS; kind++)
			leaf_peaks(daemon_leaf(daemon), (uint16_t)(pair / PRIORITY_COUNT),
				   (uint8_t)(pair % PRIORITY_COUNT), (enum peak_kind)kind,
				   &of[kind]);
#define PEAK_CELLS_(name, field)                              \
	telemetry_page_number(page, of[PEAK_USER].field);     \
	telemetry_page_number(page, of[PEAK_PERIODIC].field); \
	telemetry_page_number(page, of[PEAK_PERSISTENT].field);
		PEAK_FIELDS(PEAK_CELLS_)
#undef PEAK_CELLS_
	}
	daemon_unlock(daemon);
	return pair < count ? pair : 0;
}
