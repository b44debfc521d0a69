/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record_fixture - a leaf with a recorder of queue depths, whose SINK sends a frame each microsecond: one of 1000
 * bytes takes 1024 bytes of wire (802.3: preamble, FCS, gap), at 8.192 Gb/s just 1 us. So a burst goes down by 1000
 * bytes a microsecond.
 */
#ifndef TESTS_UNIT_RECORD_FIXTURE_H
#define TESTS_UNIT_RECORD_FIXTURE_H

#include "dataplane/recorder.h"
#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES  1000u
#define FRAME_PS     PS_PER_US
#define PRIORITY_ALL PRIORITY_COUNT

/** Opens the fixture with two senders; polled. @param slots, coarse_ps as in leaf_record_create() */
void record_open(struct leaf_fixture *fixture, uint64_t shared_bytes, uint32_t slots,
		 uint64_t coarse_ps);

/** Frames of FRAME_BYTES from SENDER to SINK, not polled. */
void record_burst(struct leaf_fixture *fixture, uint32_t frames, uint8_t priority);

#endif
