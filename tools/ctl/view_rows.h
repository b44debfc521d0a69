/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view_rows - in which order a view has its rows, and which ones it leaves out.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_VIEW_ROWS_H
#define TOOLS_CTL_VIEW_ROWS_H

#include "tools/ctl/reply.h"

reply_compare_fn view_compare_fdb;
reply_compare_fn view_compare_neighbours;

/* Rows that tell nothing. */
bool view_queue_is_idle(const struct reply *reply, size_t row);
bool view_buffer_is_idle(const struct reply *reply, size_t row);
bool view_peak_is_none(const struct reply *reply, size_t row);
bool view_pfc_is_quiet(const struct reply *reply, size_t row);
bool view_pfc_port_is_fine(const struct reply *reply, size_t row);
bool view_ecn_is_idle(const struct reply *reply, size_t row);
bool view_drop_is_zero(const struct reply *reply, size_t row);

#endif
