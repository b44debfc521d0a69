/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check_internal - what the files behind check.h share; nobody else includes it.
 */
#ifndef CONTROL_CHECK_INTERNAL_H
#define CONTROL_CHECK_INTERNAL_H

#include <stdint.h>
#include <stdio.h>

#include "config/buffer_plan.h"
#include "control/apply.h"

#define CHECK_TEXT_BYTES 32

/** "100G", "2.5G", "200M". @return text */
const char *check_rate_text(uint64_t rate_bps, char *text, size_t size);

/** "12.3 us", with a unit that fits. @return text */
const char *check_time_text(uint64_t time_ps, char *text, size_t size);

/** How long bytes take at a rate. @return text */
const char *check_bytes_time_text(uint64_t bytes, uint64_t rate_bps, char *text, size_t size);

/**
 * Names of the ports i with group[i] == which, neighbours by number together: "h1..h4, up1".
 * @param size what doesn't fit is counted: "h1..h4 and 3 more"
 * @return text
 */
const char *check_names_text(const struct config *config, const uint16_t *group, uint16_t which,
			     char *text, size_t size);

/** The pool, headroom, pause levels, thresholds and stall times. */
void check_print_buffer(const struct config *config, const struct apply_state *state,
			const struct buffer_plan *plan, FILE *out);

#endif
