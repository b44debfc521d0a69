/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * collective_report - collectives of a result for people.
 *
 * Thread: any.
 */
#ifndef LAB_COLLECTIVE_REPORT_H
#define LAB_COLLECTIVE_REPORT_H

#include <stdio.h>

#include <jansson.h>

/** Print a line each repetition, with the step that took longest; nothing when there are no collectives. */
void collective_report_print(json_t *result, FILE *out);

#endif
