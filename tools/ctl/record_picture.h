/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record_picture - a recording of queue depths as a table: a row for each queue, with a line of bars.
 *
 * A bar is the most that the queue held in its part of the time, against the most that it ever held.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_RECORD_PICTURE_H
#define TOOLS_CTL_RECORD_PICTURE_H

#include <stdint.h>

#include "tools/ctl/reply.h"
#include "tools/ctl/table.h"

/**
 * @param samples     rows of /roceleaf/record, by time
 * @param duration_ns of the recording, > 0
 * @param bars        how many, 1 to RECORD_BARS_MAX
 * @return a table, or NULL without memory
 */
#define RECORD_BARS_MAX 200
struct table *record_picture(const struct reply *samples, uint64_t duration_ns, size_t bars);

#endif
