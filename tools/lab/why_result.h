/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * why_result - what slowed a run down, from its result (`run --json`) alone; tools/why/why.h weighs the causes.
 *
 * Links between switches that share traffic are those that leave a switch with hosts, and those that reach
 * it. Senders of a host are those of the flows to it in its lossless classes; what a collective sent is not
 * among the flows of a result.
 *
 * Thread: one.
 */
#ifndef LAB_WHY_RESULT_H
#define LAB_WHY_RESULT_H

#include <stdbool.h>
#include <stdio.h>

#include <jansson.h>

/**
 * Print what slowed the run down.
 * @return 0, or -EINVAL: the result lacks what is needed, it is from an older version
 */
int why_result_print(json_t *result, bool as_json, FILE *out);

#endif
