/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * view_cells - what stands in a cell: from a value of the reply, or several, to text and tone.
 *
 * One that shows a rate, or a share of time, needs the reply before.
 *
 * Thread: any; nothing is shared.
 */
#ifndef TOOLS_CTL_VIEW_CELLS_H
#define TOOLS_CTL_VIEW_CELLS_H

#include "tools/ctl/view.h"

view_cell_fn cell_text;
view_cell_fn cell_count;
view_cell_fn cell_loss;
view_cell_fn cell_rate;
view_cell_fn cell_loss_rate;
view_cell_fn cell_speed;
view_cell_fn cell_age;
view_cell_fn cell_flag;
view_cell_fn cell_time;
view_cell_fn cell_state;
view_cell_fn cell_carrier;
view_cell_fn cell_share;
view_cell_fn cell_time_share;
view_cell_fn cell_ns_as_us;
view_cell_fn cell_histogram;
view_cell_fn cell_ns_as_ms;
view_cell_fn cell_ns_share;
view_cell_fn cell_pair_state;
view_cell_fn cell_guard;
view_cell_fn cell_paused;
view_cell_fn cell_threshold;
view_cell_fn cell_half_life;
view_cell_fn cell_average;
view_cell_fn cell_pmax;
view_cell_fn cell_marked_share;
view_cell_fn cell_scheduling;
view_cell_fn cell_max_rate;
view_cell_fn cell_lossless;
view_cell_fn cell_prefix;
view_cell_fn cell_bits;
view_cell_fn cell_ppm;
view_cell_fn cell_ratio;
view_cell_fn cell_endpoint;
view_cell_fn cell_qp;

#endif
