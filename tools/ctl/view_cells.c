/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/ctl/view_cells.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CELL_ARGUMENTS                                                                  \
	const struct view_source *source, const struct view_column *column, size_t row, \
		struct view_cell *cell

void cell_text(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%s", reply_text(source->reply, column->key, row));
}

void cell_count(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%" PRIu64,
		 reply_number(source->reply, column->key, row));
}

/* A count that should be 0. */
void cell_loss(CELL_ARGUMENTS)
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

void cell_rate(CELL_ARGUMENTS)
{
	text_rate(cell->text, rate_of(source, column->key, row));
}

void cell_loss_rate(CELL_ARGUMENTS)
{
	double rate = rate_of(source, column->key, row);

	text_rate(cell->text, rate);
	if (rate > 0)
		cell->tone = TABLE_BAD;
}

void cell_speed(CELL_ARGUMENTS)
{
	text_speed(cell->text, reply_number(source->reply, column->key, row));
}

void cell_age(CELL_ARGUMENTS)
{
	text_duration(cell->text, reply_number(source->reply, column->key, row) / 1000000000);
}

void cell_flag(CELL_ARGUMENTS)
{
	bool yes = reply_number(source->reply, column->key, row) != 0;

	snprintf(cell->text, sizeof(cell->text), "%s", yes ? "yes" : "no");
}

void cell_time(CELL_ARGUMENTS)
{
	uint64_t time_ns = reply_number(source->reply, column->key, row);
	time_t seconds = (time_t)(time_ns / 1000000000);
	struct tm local;

	snprintf(cell->text, sizeof(cell->text), "-");
	if (time_ns != 0 && localtime_r(&seconds, &local) != NULL)
		strftime(cell->text, sizeof(cell->text), "%Y-%m-%d %H:%M:%S", &local);
}

/* A state in words; green and red where the word says so. */
void cell_state(CELL_ARGUMENTS)
{
	static const char *const good[] = {"up", "resolved", "static"};
	static const char *const bad[] = {"down", "gone", "storm"};

	cell_text(source, column, row, cell);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (strcmp(cell->text, good[i]) == 0)
			cell->tone = TABLE_GOOD;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (strcmp(cell->text, bad[i]) == 0)
			cell->tone = TABLE_BAD;
}

void cell_carrier(CELL_ARGUMENTS)
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
void cell_share(CELL_ARGUMENTS)
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
void cell_time_share(CELL_ARGUMENTS)
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

void cell_ns_as_us(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%.1f",
		 (double)reply_number(source->reply, column->key, row) / 1000);
}

/*
 * A histogram's columns, as the reply has them: xoff_1us, xoff_2us ... for what took less than that, in order, and
 * xoff_later. The view's column names the first one.
 */
#define HISTOGRAM_MAX 32

struct histogram {
	uint64_t count[HISTOGRAM_MAX], sum;
	unsigned int bound_us[HISTOGRAM_MAX]; /* 0: none */
	size_t buckets;
};

static void histogram_read(const struct reply *reply, const char *first, size_t row,
			   struct histogram *histogram)
{
	const size_t prefix = (size_t)(strchr(first, '_') + 1 - first);

	*histogram = (struct histogram){0};
	for (size_t i = 0; i < reply->columns && histogram->buckets < HISTOGRAM_MAX; i++) {
		const char *name = reply->column[i].name;
		size_t bucket = histogram->buckets;

		/* "poll_ns_max" is none of them. */
		if (strncmp(name, first, prefix) != 0 ||
		    (strchr("0123456789", name[prefix]) == NULL &&
		     strcmp(name + prefix, "later") != 0))
			continue;
		histogram->bound_us[bucket] = (uint32_t)strtoul(name + prefix, NULL, 10);
		histogram->count[bucket] = reply_number(reply, name, row);
		histogram->sum += histogram->count[bucket];
		histogram->buckets++;
	}
}

struct bound_text {
	char text[16];
};

/* The bucket up to which this part of them lies: its bound, or the last one's. */
static struct bound_text histogram_bound(const struct histogram *histogram, uint64_t rank)
{
	uint64_t seen = 0;
	size_t bucket = 0;
	struct bound_text bound;
	unsigned int below_us;

	while (bucket + 1 < histogram->buckets && (seen += histogram->count[bucket]) < rank)
		bucket++;
	below_us = histogram->bound_us[bucket];
	snprintf(bound.text, sizeof(bound.text), "%c%u", below_us != 0 ? '<' : '>',
		 below_us != 0 || bucket == 0 ? below_us : histogram->bound_us[bucket - 1]);
	return bound;
}

/* Bounds of a half, of 99 % and of all. */
void cell_histogram(CELL_ARGUMENTS)
{
	struct histogram histogram;
	uint64_t sum;

	histogram_read(source->reply, column->key, row, &histogram);
	sum = histogram.sum;
	if (sum == 0)
		snprintf(cell->text, sizeof(cell->text), "-");
	else
		snprintf(cell->text, sizeof(cell->text), "%s (50%%) %s (99%%) %s (all)",
			 histogram_bound(&histogram, (sum + 1) / 2).text,
			 histogram_bound(&histogram, sum - sum / 100).text,
			 histogram_bound(&histogram, sum).text);
}

void cell_ns_as_ms(CELL_ARGUMENTS)
{
	snprintf(cell->text, sizeof(cell->text), "%.3f",
		 (double)reply_number(source->reply, column->key, row) / 1000000);
}

/* The part of the time between two looks in which a counter of ns ran. */
void cell_ns_share(CELL_ARGUMENTS)
{
	double rate = rate_of(source, column->key, row);

	/* The leaf's clock and ours are read one after the other. */
	percent(cell, rate > 1e9 ? 1e9 : rate, 1e9);
}

/* Is a pair paused, and why. */
void cell_pair_state(CELL_ARGUMENTS)
{
	const char *state = reply_text(source->reply, column->key, row);

	if (strcmp(state, "running") == 0) {
		snprintf(cell->text, sizeof(cell->text), "%s", state);
		return;
	}
	snprintf(cell->text, sizeof(cell->text), "%s (%s)", state,
		 reply_text(source->reply, "reason", row));
	cell->tone = TABLE_BAD;
}

void cell_guard(CELL_ARGUMENTS)
{
	bool on = reply_number(source->reply, column->key, row) != 0;

	snprintf(cell->text, sizeof(cell->text), "%s", on ? "all paused" : "ok");
	cell->tone = on ? TABLE_BAD : TABLE_GOOD;
}

/* Who has to wait now. */
void cell_paused(CELL_ARGUMENTS)
{
	static const char *const texts[] = {"-", "we wait", "peer waits", "both wait"};
	unsigned index = (reply_number(source->reply, "rx_paused", row) != 0 ? 1u : 0u) |
			 (reply_number(source->reply, "tx_paused", row) != 0 ? 2u : 0u);

	(void)column;
	snprintf(cell->text, sizeof(cell->text), "%s", texts[index]);
	cell->tone = index != 0 ? TABLE_BAD : TABLE_PLAIN;
}

/* A threshold of a queue that may have none: `ecn` or `wred` says so. */
void cell_threshold(CELL_ARGUMENTS)
{
	const char *flag = strncmp(column->key, "wred", 4) == 0 ? "wred" : "ecn";

	if (reply_number(source->reply, flag, row) != 0)
		cell_count(source, column, row, cell);
	else
		snprintf(cell->text, sizeof(cell->text), "-");
}

/* Of a queue whose thresholds go by its depth itself: none. */
void cell_half_life(CELL_ARGUMENTS)
{
	if (reply_number(source->reply, column->key, row) != 0)
		cell_ns_as_us(source, column, row, cell);
	else
		snprintf(cell->text, sizeof(cell->text), "-");
}

void cell_average(CELL_ARGUMENTS)
{
	if (reply_number(source->reply, "half_life_ns", row) != 0)
		cell_count(source, column, row, cell);
	else
		snprintf(cell->text, sizeof(cell->text), "-");
}

void cell_pmax(CELL_ARGUMENTS)
{
	if (reply_number(source->reply, "ecn", row) != 0)
		snprintf(cell->text, sizeof(cell->text), "%g",
			 (double)reply_number(source->reply, column->key, row) / 10000);
	else
		snprintf(cell->text, sizeof(cell->text), "-");
}

/* Marked packets among those that were sent. */
void cell_marked_share(CELL_ARGUMENTS)
{
	if (source->before == NULL)
		percent(cell, (double)reply_number(source->reply, column->key, row),
			(double)reply_number(source->reply, "tx_packets", row));
	else
		percent(cell, rate_of(source, column->key, row),
			rate_of(source, "tx_packets", row));
}

void cell_scheduling(CELL_ARGUMENTS)
{
	(void)column;
	if (reply_number(source->reply, "strict", row) != 0)
		snprintf(cell->text, sizeof(cell->text), "strict");
	else
		snprintf(cell->text, sizeof(cell->text), "weight %" PRIu64,
			 reply_number(source->reply, "weight", row));
}

void cell_max_rate(CELL_ARGUMENTS)
{
	uint64_t ppm = reply_number(source->reply, "max_rate_ppm", row);

	(void)column;
	if (ppm != 0)
		snprintf(cell->text, sizeof(cell->text), "%g%%", (double)ppm / 10000);
	else
		text_speed(cell->text, reply_number(source->reply, "max_rate_bps", row));
}

void cell_lossless(CELL_ARGUMENTS)
{
	bool lossless = reply_number(source->reply, column->key, row) != 0;

	snprintf(cell->text, sizeof(cell->text), "%s", lossless ? "lossless" : "lossy");
}

/* A prefix is written once for all its next hops. */
void cell_prefix(CELL_ARGUMENTS)
{
	const char *text = reply_text(source->reply, column->key, row);

	if (row > 0 && strcmp(text, reply_text(source->reply, column->key, row - 1)) == 0)
		return;
	snprintf(cell->text, sizeof(cell->text), "%s", text);
}

/* A rate that the daemon has measured. */
void cell_bits(CELL_ARGUMENTS)
{
	text_rate(cell->text, (double)reply_number(source->reply, column->key, row));
}

/* A part of all, as per cent. */
void cell_ppm(CELL_ARGUMENTS)
{
	percent(cell, (double)reply_number(source->reply, column->key, row), 1e6);
}

void cell_ratio(CELL_ARGUMENTS)
{
	uint64_t ppm = reply_number(source->reply, column->key, row);

	if (ppm == 0)
		snprintf(cell->text, sizeof(cell->text), "-");
	else
		snprintf(cell->text, sizeof(cell->text), "%.2f", (double)ppm / 1e6);
}

/* "10.0.0.1:4791", "[fd00::1]:4791"; without ports the address alone. */
void cell_endpoint(CELL_ARGUMENTS)
{
	const char *address = reply_text(source->reply, column->key, row);
	const char *key = strcmp(column->key, "source") == 0 ? "source_port" : "destination_port";
	uint64_t port = reply_number(source->reply, key, row);
	bool ipv6 = strchr(address, ':') != NULL;

	if (port == 0)
		snprintf(cell->text, sizeof(cell->text), "%s", address);
	else
		snprintf(cell->text, sizeof(cell->text), ipv6 ? "[%s]:%" PRIu64 : "%s:%" PRIu64,
			 address, port);
}

/* RoCE's queue pair, as tools of RDMA write it. */
void cell_qp(CELL_ARGUMENTS)
{
	if (strcmp(reply_text(source->reply, "protocol", row), "roce") == 0)
		snprintf(cell->text, sizeof(cell->text), "0x%06" PRIx64,
			 reply_number(source->reply, column->key, row));
	else
		snprintf(cell->text, sizeof(cell->text), "-");
}
