/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What queues, ports and workers had counted some time ago, out of the history: what `roceleafctl why` compares
 * with now. A cursor below 2^32 is a number of seconds ago; what it finds is asked for again, by its number, from
 * a row on.
 */
#include "control/history.h"
#include "control/telemetry_tables.h"

/* A look by a cursor, or NULL: there is none yet. One that is too old is the oldest. @param row where to begin */
static const struct history_look *look_of(struct daemon *daemon, uint64_t cursor, uint64_t *row)
{
	const struct history *history = daemon_history(daemon);
	uint64_t newest = history_newest(history), oldest = history_oldest(history);
	uint64_t number = cursor >> 32, seconds_ago = number == 0 ? cursor : 0;

	*row = number == 0 ? 0 : cursor & UINT32_MAX;
	if (number == 0)
		number = newest > seconds_ago ? newest - seconds_ago : 0;
	return history_at(history, number > oldest ? number : oldest);
}

static uint64_t cursor_of(const struct history_look *look, uint64_t row, uint64_t rows)
{
	return row < rows ? look->sequence << 32 | row : 0;
}

static void look_columns(struct telemetry_page *page)
{
	telemetry_page_column(page, "look", 0);
	telemetry_page_column(page, "looked_ns", 0);
}

static void look_cells(struct telemetry_page *page, const struct history_look *look)
{
	telemetry_page_number(page, look->sequence);
	telemetry_page_number(page, look->monotonic_ns);
}

#define COLUMN_(field) telemetry_page_column(page, #field, 0);

uint64_t telemetry_past_queues(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct history_look *look;
	uint64_t row, rows, next = 0;

	telemetry_pair_columns(page);
	look_columns(page);
	HISTORY_COUNTERS(COLUMN_)
	HISTORY_FAULTS(COLUMN_)

	daemon_lock(daemon);
	look = look_of(daemon, cursor, &row);
	if (look != NULL) {
		rows = (uint64_t)daemon_config(daemon)->port_count * PRIORITY_COUNT;
		for (; row < rows && telemetry_page_row(page); row++) {
			const struct history_port *port = &look->port[row / PRIORITY_COUNT];
			uint32_t p = (uint32_t)(row % PRIORITY_COUNT);

			telemetry_pair_cells(page, daemon_config(daemon), row);
			look_cells(page, look);
#define CELL_(field) telemetry_page_number(page, port->queue[p].field);
			HISTORY_COUNTERS(CELL_)
#undef CELL_
#define CELL_(field) telemetry_page_number(page, port->fault[p].field);
			HISTORY_FAULTS(CELL_)
#undef CELL_
		}
		next = cursor_of(look, row, rows);
	}
	daemon_unlock(daemon);
	return next;
}

uint64_t telemetry_past_ports(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct history_look *look;
	uint64_t row, rows, next = 0;

	telemetry_page_column(page, "port", TELEMETRY_TEXT | TELEMETRY_KEY);
	look_columns(page);
	HISTORY_PORT_COUNTERS(COLUMN_)
	telemetry_page_column(page, "drop_packets", 0);

	daemon_lock(daemon);
	look = look_of(daemon, cursor, &row);
	if (look != NULL) {
		rows = daemon_config(daemon)->port_count;
		for (; row < rows && telemetry_page_row(page); row++) {
			const struct history_port *port = &look->port[row];

			telemetry_page_text(
				page, telemetry_port_name(daemon_config(daemon), (uint16_t)row));
			look_cells(page, look);
#define CELL_(field) telemetry_page_number(page, port->field);
			HISTORY_PORT_COUNTERS(CELL_)
#undef CELL_
			telemetry_page_number(page, port->drop_packets);
		}
		next = cursor_of(look, row, rows);
	}
	daemon_unlock(daemon);
	return next;
}

uint64_t telemetry_past_workers(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct history_look *look;
	uint64_t row, rows, next = 0;

	telemetry_page_column(page, "worker", TELEMETRY_KEY);
	look_columns(page);
	HISTORY_WORKER_COUNTERS(COLUMN_)

	daemon_lock(daemon);
	look = look_of(daemon, cursor, &row);
	if (look != NULL) {
		rows = daemon_worker_count(daemon);
		for (; row < rows && telemetry_page_row(page); row++) {
			const struct history_worker *worker = &look->worker[row];

			telemetry_page_number(page, row);
			look_cells(page, look);
#define CELL_(field) telemetry_page_number(page, worker->field);
			HISTORY_WORKER_COUNTERS(CELL_)
#undef CELL_
		}
		next = cursor_of(look, row, rows);
	}
	daemon_unlock(daemon);
	return next;
}
