/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * trace - what happens to one flow, or in one queue, as a CSV file. Times are ps since the start.
 *
 * Of a flow: a row for each of its frames on each link it is put on, answers and notifications included:
 *	time_ps     its first bit leaves
 *	what        data, ack, nak, cnp
 *	link        direction, `leaf1->spine1`
 *	bytes       of the frame, without FCS
 *	psn         packet sequence number
 *	ce          1: marked congestion experienced
 *	arrival_ps  it is whole at the other end
 *	rate_bps    what its controller lets it send at now
 *
 * Of a queue: a row for each thing that a step of its switch has changed, with the depth after it:
 *	what        enqueue, send, drop, mark, flush (bytes or, of marks, packets); pause, resume: 0
 *
 * Thread: the lab's.
 */
#ifndef LAB_TRACE_H
#define LAB_TRACE_H

#include <stdbool.h>
#include <stdint.h>

struct fabric;
struct trace;

/** Trace from now on. @return NULL: the file can't be written, stderr says why */
struct trace *trace_open_flow(struct fabric *fabric, uint32_t flow, const char *path);
/** @param sender index of a switch, and its port. */
struct trace *trace_open_queue(struct fabric *fabric, uint32_t sender, uint16_t port,
			       uint8_t priority, const char *path);

/** After the run, before its fabric goes; NULL is legal. @return as output_close() */
int trace_close(struct trace *trace, bool keep);

#endif
