/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * text - numbers and names as people read them in tables, and the messages of roceleafctl.
 *
 * Exact counts stay exact; rates are rounded to three digits with an SI prefix; speeds are written
 * as in leaf.yaml. What others have written (names, addresses) is cleaned of control characters
 * before it may reach a terminal.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_TEXT_H
#define TOOLS_CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Enough for every text_*() below that writes a number. */
#define TEXT_NUMBER_BYTES 24

/* Why something failed, for people: names the thing, the value and the bound. */
struct ctl_error {
	char text[384];
};

/** Write a message. @return -error, so that `return ctl_fail(e, EPROTO, ...)` says both. */
__attribute__((format(printf, 3, 4))) int ctl_fail(struct ctl_error *error, int number,
						   const char *format, ...);

/** Three significant digits and an SI prefix: 0, 7.25, 812, 94.1M, 1.25T. Negative: "-". */
void text_rate(char out[TEXT_NUMBER_BYTES], double per_second);

/** Bits per second as in leaf.yaml: 100G, 2.5G, 100M; "-" when 0. */
void text_speed(char out[TEXT_NUMBER_BYTES], uint64_t bps);

/** Seconds as the two largest units: 7s, 3m12s, 2h03m, 5d04h. */
void text_duration(char out[TEXT_NUMBER_BYTES], uint64_t seconds);

/** Columns on a terminal: code points of UTF-8. */
size_t text_width(const char *text);

/** Replace control characters (C0, DEL, C1) by '?', in place. */
void text_clean(char *text);

/** Shell-like comparison with numbers by value: h2 before h10. For sorting. */
int text_compare(const char *a, const char *b);

#endif
