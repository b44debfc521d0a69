/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/view.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CELL_ARGUMENTS                                                                  \
	const struct view_source *source, const struct view_column *column, size_t row, \
		struct view_cell *cell

/* --- cells --- */

static void cell_text(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%s", reply_text(source->reply, column->key, row));
}

static void cell_count(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%" PRIu64,
		 reply_number(source->reply, column->key, row));
}

/* A count that should be 0. */
static void cell_loss(CELL_ARGUMENTS)
{
	cell_count(source, column, row, cell);
	if (reply_number(source->reply, column->key, row) != 0)
		cell->tone = TABLE_BAD;
}

/* Growth per second; of bytes, in bits. */
static double rate_of(const struct view_source *source, const char *key, size_t row)
{
	int c = reply_column_find(source->reply, key);
	double rate = reply_rate(source->reply, source->before, key, row);

	if (c >= 0 && strcmp(source->reply->column[c].unit, "bytes") == 0)
		rate *= 8;
	return rate;
}

static void cell_rate(CELL_ARGUMENTS)
{
	text_rate(cell->text, rate_of(source, column->key, row));
}

static void cell_loss_rate(CELL_ARGUMENTS)
{
	double rate = rate_of(source, column->key, row);

	text_rate(cell->text, rate);
	if (rate > 0)
		cell->tone = TABLE_BAD;
}

static void cell_speed(CELL_ARGUMENTS)
{
	text_speed(cell->text, reply_number(source->reply, column->key, row));
}

static void cell_age(CELL_ARGUMENTS)
{
	text_duration(cell->text, reply_number(source->reply, column->key, row) / 1000000000);
}

static void cell_flag(CELL_ARGUMENTS)
{
	bool yes = reply_number(source->reply, column->key, row) != 0;

	snprintf(cell->text, sizeof(cell->text), "%s", yes ? "yes" : "no");
}

static void cell_time(CELL_ARGUMENTS)
{
	uint64_t time_ns = reply_number(source->reply, column->key, row);
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm local;

	snprintf(cell->text, sizeof(cell->text), "-");
	if (time_ns != 0 && localtime_r(&seconds, &local) != NULL)
		strftime(cell->text, sizeof(cell->text), "%Y-%m-%d %H:%M:%S", &local);
}

/* A state in words; green and red where the word says so. */
static void cell_state(CELL_ARGUMENTS)
{
	static const char *const good[] = {"up", "resolved", "static"};
	static const char *const bad[] = {"down", "gone"};

	cell_text(source, column, row, cell);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (strcmp(cell->text, good[i]) == 0)
			cell->tone = TABLE_GOOD;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strcmp(cell->text, bad[i]) == 0)
			cell->tone = TABLE_BAD;
}

static void cell_carrier(CELL_ARGUMENTS)
{
	bool up = reply_number(source->reply, column->key, row) != 0;

	snprintf(cell->text, sizeof(cell->text), "%s", up ? "up" : "down");
	cell->tone = up ? TABLE_GOOD : TABLE_BAD;
}

static void percent(struct view_cell *cell, double part, double whole)
{
	if (part < 0 || !(whole > 0))
		snprintf(cell->text, sizeof(cell->text), "-");
	else
		snprintf(cell->text, sizeof(cell->text), "%.1f", 100 * part / whole);
}

static bool is_same_port(const struct reply *reply, size_t a, size_t b)
{
	return strcmp(reply_text(reply, "port", a), reply_text(reply, "port", b)) == 0;
}

/* A queue's part of what its port sent; the queues of a port stand together. */
static void cell_share(CELL_ARGUMENTS)
{
	const struct reply *reply = source->reply;
	size_t first = row;
	double sum = 0, own = 0;

	while (first > 0 && is_same_port(reply, first - 1, row))
		first--;
	for (size_t r = first; r < reply->rows && is_same_port(reply, r, row); r++) {
		double sent = source->before == NULL ? (double)reply_number(reply, column->key, r)
						     : rate_of(source, column->key, r);

		sum += sent > 0 ? sent : 0;
		own = r == row ? sent : own;
	}
	percent(cell, own, sum);
}

/* A worker's part of time: key_ns over busy + idle + sleep. */
static void cell_time_share(CELL_ARGUMENTS)
{
	static const char *const parts[] = {"busy_ns", "idle_ns", "sleep_ns"};
	double sum = 0, own = 0;

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
		double part = source->before == NULL
				      ? (double)reply_number(source->reply, parts[i], row)
				      : rate_of(source, parts[i], row);

		sum += part > 0 ? part : 0;
		if (strcmp(parts[i], column->key) == 0)
			own = part;
	}
	percent(cell, own, sum);
}

static void cell_ns_as_us(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%.1f",
		 (double)reply_number(source->reply, column->key, row) / 1000);
}

static void cell_scheduling(CELL_ARGUMENTS)
{
	(void)column;
	if (reply_number(source->reply, "strict", row) != 0)
		snprintf(cell->text, sizeof(cell->text), "strict");
	else
		snprintf(cell->text, sizeof(cell->text), "weight %" PRIu64,
			 reply_number(source->reply, "weight", row));
}

static void cell_max_rate(CELL_ARGUMENTS)
{
	uint64_t ppm = reply_number(source->reply, "max_rate_ppm", row);

	(void)column;
	if (ppm != 0)
		snprintf(cell->text, sizeof(cell->text), "%g%%", (double)ppm / 10000);
	else
		text_speed(cell->text, reply_number(source->reply, "max_rate_bps", row));
}

static void cell_lossless(CELL_ARGUMENTS)
{
	bool lossless = reply_number(source->reply, column->key, row) != 0;

	snprintf(cell->text, sizeof(cell->text), "%s", lossless ? "lossless" : "lossy");
}

/* A prefix is written once for all its next hops. */
static void cell_prefix(CELL_ARGUMENTS)
{
	const char *text = reply_text(source->reply, column->key, row);

	if (row > 0 && strcmp(text, reply_text(source->reply, column->key, row - 1)) == 0)
		return;
	snprintf(cell->text, sizeof(cell->text), "%s", text);
}

/* --- order and what is left out --- */

static int compare_fdb(const struct reply *reply, size_t a, size_t b)
{
	uint64_t vlan_a = reply_number(reply, "vlan", a), vlan_b = reply_number(reply, "vlan", b);

	if (vlan_a != vlan_b)
		return vlan_a < vlan_b ? -1 : 1;
	return strcmp(reply_text(reply, "mac", a), reply_text(reply, "mac", b));
}

static int compare_neighbours(const struct reply *reply, size_t a, size_t b)
{
	int order =
		text_compare(reply_text(reply, "interface", a), reply_text(reply, "interface", b));

	if (order != 0)
		return order;
	return text_compare(reply_text(reply, "address", a), reply_text(reply, "address", b));
}

static bool queue_is_idle(const struct reply *reply, size_t row)
{
	return reply_number(reply, "tx_packets", row) == 0 &&
	       reply_number(reply, "drop_packets", row) == 0 &&
	       reply_number(reply, "depth_packets", row) == 0;
}

static bool drop_is_zero(const struct reply *reply, size_t row)
{
	return reply_number(reply, "packets", row) == 0;
}

/* --- views --- */

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
};

static const struct view_column event_columns[] = {
	{"Time", "at_ns", cell_time, TABLE_LEFT, VIEW_BOTH},
	{"Type", "type", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"Port", "port", cell_text, TABLE_LEFT, VIEW_BOTH},
	{"What", "text", cell_text, TABLE_LEFT, VIEW_BOTH},
};

#define COLUMNS(array) .column = (array), .columns = sizeof(array) / sizeof((array)[0])

const struct view views[] = {
	{.name = "ports",
	 .command = "/roceleaf/ports",
	 COLUMNS(port_columns),
	 .by_port = true,
	 .counts = true,
	 .help = "ports, their state and what went through",
	 .about =
		 "Bytes are those of frames without FCS. Drops are the dataplane's (show drops has\n"
		 "the reasons), Missed the device's: its receive ring was full. The port 'cpu' is\n"
		 "the way to and from the kernel: its TX went up to it, its RX came down."},
	{.name = "queues",
	 .command = "/roceleaf/queues",
	 COLUMNS(queue_columns),
	 .by_port = true,
	 .counts = true,
	 .hides = queue_is_idle,
	 .hidden = "idle queues",
	 .help = "the eight egress queues of each port",
	 .about =
		 "Share is the queue's part of all bytes that its port sent. Deepest is since the\n"
		 "start and is not cleared. Queues that never sent anything are left out."},
	{.name = "classes",
	 .command = "/roceleaf/classes",
	 COLUMNS(class_columns),
	 .counts = true,
	 .help = "traffic classes and their totals over all ports",
	 .about =
		 "Strict classes go first, the highest priority before all others; the rest share\n"
		 "what is left by weight."},
	{.name = "fdb",
	 .command = "/roceleaf/fdb",
	 COLUMNS(fdb_columns),
	 .by_port = true,
	 .compare = compare_fdb,
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
	 .compare = compare_neighbours,
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
	 .hides = drop_is_zero,
	 .hidden = "reasons since clear",
	 .help = "what was dropped, where and why",
	 .about = "Only what is not zero; --all also lists the reasons that did not occur."},
	{.name = "workers",
	 .command = "/roceleaf/workers",
	 COLUMNS(worker_columns),
	 .counts = true,
	 .help = "worker threads: their time and packets",
	 .about = "Busy polls moved packets, idle ones found nothing; a worker may sleep with\n"
		  "idle: adaptive. Longest poll is since the start and is not cleared."},
	{.name = "events",
	 .command = "/roceleaf/events",
	 COLUMNS(event_columns),
	 .by_port = true,
	 .help = "what happened: links, reloads, warnings",
	 .about = "The last 1024, oldest first."},
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

static bool is_wanted(const struct reply *reply, size_t row, char *const *ports, size_t port_count)
{
	for (size_t i = 0; i < port_count; i++)
		if (strcmp(reply_text(reply, "port", row), ports[i]) == 0)
			return true;
	return port_count == 0;
}

static bool is_shown(const struct view_column *column, const struct view_source *source)
{
	return column->face == VIEW_BOTH ||
	       column->face == (source->before == NULL ? VIEW_TOTALS : VIEW_RATES);
}

struct table *view_table(const struct view *view, const struct view_source *source,
			 char *const *ports, size_t port_count, size_t *omitted)
{
	struct table *table = table_create();

	*omitted = 0;
	if (table == NULL)
		return NULL;
	for (size_t c = 0; c < view->columns; c++)
		if (is_shown(&view->column[c], source))
			table_column(table, view->column[c].header, view->column[c].align);
	for (size_t row = 0; row < source->reply->rows; row++) {
		if (!is_wanted(source->reply, row, ports, port_count))
			continue;
		if (!source->all && view->hides != NULL && view->hides(source->reply, row)) {
			(*omitted)++;
			continue;
		}
		for (size_t c = 0; c < view->columns; c++) {
			struct view_cell cell = {.text = ""};

			if (!is_shown(&view->column[c], source))
				continue;
			view->column[c].write(source, &view->column[c], row, &cell);
			table_cell(table, cell.text, cell.tone);
		}
	}
	return table;
}
