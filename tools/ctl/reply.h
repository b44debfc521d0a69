/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reply - a table as the daemon's telemetry sends it: pages of JSON, checked, joined.
 *
 * One page is (control/telemetry.h has the other side of it):
 *   {"/roceleaf/ports": {"instance": 77, "time_ns": 123, "next": 0, "keys": ["port"],
 *    "counters": ["rx_packets"], "units": ["packets"], "flags": [],
 *    "port": ["h1", "h2"], "rx_packets": [12, 0], ...}}
 * Every other member that is an array is a column; all columns are equally long. `next` is what to
 * ask for to get the page after this one, 0 at the end. `keys` name a row; `counters` only grow
 * while `instance` stays the same, `units` are theirs; `flags` are numbers that mean yes or no.
 *
 * What comes from the socket is not trusted: a page that is not of this form is refused and leaves
 * the table as it was.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_REPLY_H
#define TOOLS_CTL_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include "tools/ctl/text.h"

#define REPLY_COLUMNS_MAX 64
#define REPLY_ROWS_MAX    8000000 /* more than the largest FDB */
#define REPLY_UNIT_BYTES  16
#define REPLY_ROW_NONE    SIZE_MAX

enum reply_type {
	REPLY_EMPTY, /* no row yet */
	REPLY_TEXT,
	REPLY_NUMBER,
};

struct reply_column {
	char *name;
	enum reply_type type;
	bool key;
	bool counter;
	bool flag;
	char unit[REPLY_UNIT_BYTES]; /* of a counter */
	union reply_value {
		char *text;
		uint64_t number;
	} * value; /* `rows` of them */
};

struct reply {
	struct reply_column column[REPLY_COLUMNS_MAX];
	size_t columns;
	size_t rows, room;
	uint64_t instance; /* another one: the daemon was restarted, its counters began anew */
	uint64_t time_ns;  /* of the first page, the daemon's monotonic clock */
	uint32_t pages;
};

void reply_init(struct reply *reply);
void reply_free(struct reply *reply);

/**
 * Check a page and append its rows.
 * @param command the command it must answer
 * @param text    size bytes, not terminated
 * @param next    set to what to ask for next, 0 at the end
 * @return 0; -EPROTO, -E2BIG (too many rows), -ENOMEM: error says why, reply is unchanged
 */
int reply_add_page(struct reply *reply, const char *command, const char *text, size_t size,
		   uint64_t *next, struct ctl_error *error);

/** Index of a column, or -1. */
int reply_column_find(const struct reply *reply, const char *name);

/** A cell; "" and 0 when there is no such column, or it has the other type. */
const char *reply_text(const struct reply *reply, const char *column, size_t row);
uint64_t reply_number(const struct reply *reply, const char *column, size_t row);

/** The row of `other` that has the same keys as this row of `reply`, or REPLY_ROW_NONE. */
size_t reply_row_find(const struct reply *other, const struct reply *reply, size_t row);

/**
 * Take a baseline off all counters. Nothing happens when it is of another instance; a row that it
 * doesn't have, or a counter that is below it, stays as it is.
 */
void reply_subtract(struct reply *reply, const struct reply *baseline);

/**
 * Growth of a counter per second since an earlier reply.
 * @return per second; negative when it can't be told (another instance, no time between, less than
 *         before). A row that was not there before counts from 0.
 */
double reply_rate(const struct reply *reply, const struct reply *before, const char *column,
		  size_t row);

/** Order of two rows of a reply, for reply_sort(). */
typedef int reply_compare_fn(const struct reply *reply, size_t a, size_t b);

/** Sort rows; stable. @return 0 or -ENOMEM (then unsorted) */
int reply_sort(struct reply *reply, reply_compare_fn *compare);

/**
 * Join the texts of columns NAME, NAME_2, NAME_3 ... into the first, and drop the others: how texts
 * longer than DPDK's 127 bytes arrive. @return 0 or -ENOMEM
 */
int reply_join(struct reply *reply, const char *name);

/** Rows as objects, flags as true and false. @return a new reference, or NULL without memory */
json_t *reply_rows_json(const struct reply *reply);

/** The whole of it as one page of the form above, for a baseline file. @return as above */
json_t *reply_page_json(const struct reply *reply);

/** The same as reply_add_page() for a page that has been parsed already. */
int reply_add_page_json(struct reply *reply, const json_t *page, uint64_t *next,
			struct ctl_error *error);

#endif
