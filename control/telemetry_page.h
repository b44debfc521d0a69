/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * telemetry_page - builds one page of a table within the limits of DPDK's telemetry.
 *
 *	telemetry_page_column(page, "port", TELEMETRY_KEY);
 *	telemetry_page_counter(page, "rx_packets", "packets");
 *	for (i = cursor; i < count; i++) {
 *		if (!telemetry_page_row(page))
 *			break;	// full: the next page starts at i
 *		telemetry_page_text(page, name);	// cells in the order of the columns
 *		telemetry_page_number(page, n);
 *	}
 *	telemetry_page_end(page, out, instance, time_ns, i < count ? i : 0);
 *
 * A page holds its columns in memory until it is ended, and never overflows: a row is admitted only
 * when the longest one possible would still fit.
 *
 * Or, after telemetry_page_start_rows(), the rows are written to a file as they come, as JSON objects
 * (RFC 8259) with a comma between them: flags as true and false, a text that needed several columns in
 * one. The file may grow over many pages.
 *
 * Thread: one of DPDK's telemetry threads, or that of http.h; nothing is shared.
 */
#ifndef CONTROL_TELEMETRY_PAGE_H
#define CONTROL_TELEMETRY_PAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <rte_telemetry.h>

#define TELEMETRY_COLUMNS_MAX 48

/* Bytes of a text cell, without the NUL. */
#define TELEMETRY_TEXT_BYTES (RTE_TEL_MAX_STRING_LEN - 1)

enum telemetry_column_kind {
	TELEMETRY_TEXT = 0x01, /* cells are text; else numbers */
	TELEMETRY_KEY = 0x02,  /* names the row, with the other keys */
	TELEMETRY_FLAG = 0x04, /* 1 yes, 0 no */
	TELEMETRY_MORE = 0x08, /* the text of the column before goes on */
};

struct telemetry_page {
	struct {
		const char *name;
		const char *unit; /* of a counter, else NULL */
		unsigned kind;    /* enum telemetry_column_kind */
		struct rte_tel_data *cells;
	} column[TELEMETRY_COLUMNS_MAX];
	uint32_t columns;
	uint32_t rows;
	uint32_t at;        /* column of the next cell */
	uint32_t bytes;     /* of JSON so far, at most */
	uint32_t row_bytes; /* longest row possible */
	bool failed;        /* out of memory */
	FILE *out;          /* of rows, or NULL */
	bool comma;         /* before the next row */
};

void telemetry_page_start(struct telemetry_page *page);

/** Write rows to a file; `comma`: there are some in front of them. Don't end such a page. */
void telemetry_page_start_rows(struct telemetry_page *page, FILE *out, bool comma);

/** Names must outlive the page. Before the first row. */
void telemetry_page_column(struct telemetry_page *page, const char *name, unsigned kind);
void telemetry_page_counter(struct telemetry_page *page, const char *name, const char *unit);

/** Begin a row. @return false when the page is full (or failed): end it here */
bool telemetry_page_row(struct telemetry_page *page);

/** Next cell. Text is cut to TELEMETRY_TEXT_BYTES; what isn't printable ASCII becomes '?'. */
void telemetry_page_text(struct telemetry_page *page, const char *text);
void telemetry_page_number(struct telemetry_page *page, uint64_t number);

/**
 * Write the page to a callback's answer, which then owns what it holds.
 * @param next what the client passes to get the page after this one; 0: there is none
 * @return 0, or -ENOMEM: return that from the callback, and DPDK answers null
 */
int telemetry_page_end(struct telemetry_page *page, struct rte_tel_data *out, uint64_t instance,
		       uint64_t time_ns, uint64_t next);

#endif
