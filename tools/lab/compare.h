/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * compare - what two results (`run --json`) differ in, of what people look at: completion times, pauses,
 * marks, notifications, drops, retransmissions, collectives by name, the deepest queues.
 *
 * Rows of equal values are left out. `change` is (B - A) / A, in JSON a ratio; where A is 0, or one of them
 * doesn't have the number, there is none.
 *
 * Thread: one.
 */
#ifndef LAB_COMPARE_H
#define LAB_COMPARE_H

#include <stdio.h>

#include <jansson.h>

/** Read a result. @return NULL after a message on stderr: not readable, not JSON, or no result */
json_t *compare_read(const char *path);

/** @return {a: {file, scenario, seed, digest}, b: ..., same_digest, rows: [{name, a, b, change}]} */
json_t *compare_results(const char *path_a, json_t *a, const char *path_b, json_t *b);

/** The same for people. */
void compare_print(json_t *comparison, FILE *out);

#endif
