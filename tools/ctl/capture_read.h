/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * capture_read - the reader's side of dataplane/capture_ring.h.
 *
 * Thread: one.
 */
#ifndef TOOLS_CTL_CAPTURE_READ_H
#define TOOLS_CTL_CAPTURE_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/capture_ring.h"

struct capture_reader {
	void *memory; /* NULL: not open */
	uint64_t bytes;
	uint32_t workers, slots, slot_bytes, snap_bytes; /* as checked */
	uint64_t clock_ps, clock_ns;
};

struct capture_frame {
	uint64_t time_ns; /* since the epoch */
	uint32_t bytes, captured_bytes;
	bool outbound;
	const uint8_t *data;
};

/** Map the memory behind a descriptor, which stays the caller's. @return 0, or -1 with errno set */
int capture_reader_open(struct capture_reader *reader, int fd);

/** Say that nobody reads any more, and unmap it. */
void capture_reader_close(struct capture_reader *reader);

/** What to do with a frame, valid during the call. @return false: no more of them */
typedef bool capture_frame_fn(void *context, const struct capture_frame *frame);

/** All frames that are there, by time. @return false when `take` did */
bool capture_reader_look(struct capture_reader *reader, capture_frame_fn *take, void *context);

/** Copies that were dropped, of all workers. */
uint64_t capture_reader_dropped(const struct capture_reader *reader);
uint32_t capture_reader_snap_bytes(const struct capture_reader *reader);

/** The leaf has ended the capture: what is there is all. */
bool capture_reader_ended(const struct capture_reader *reader);

#endif
