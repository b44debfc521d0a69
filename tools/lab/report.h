/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * report - results for people and for programs.
 *
 * Thread: any.
 */
#ifndef LAB_REPORT_H
#define LAB_REPORT_H

#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

/** Print a summary: speed of the run, flows, latency, fullest queues, drops. */
void report_print(json_t *result, FILE *out);

/**
 * Write JSON to a file, or to stdout when path is "-". A file is written under a temporary name
 * beside it and renamed, so that there is a whole one or none; a device or pipe is written to.
 * @return 0, or -errno with a message on stderr
 */
int report_write_json(json_t *result, const char *path);

/** Show how much of a run has passed, in place on stderr. For a terminal only. */
void report_progress(uint32_t ppm);
/** Take the bar away. */
void report_progress_end(void);

#endif
