/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * egress_fixture - one port that sends, fed through others, and a record of what left it when.
 *
 * Port OUT is exact by default: no run-ahead, no catching up, so that the time at which the device
 * gets a frame is the time at which the wire becomes free.
 */
#ifndef TESTS_UNIT_EGRESS_FIXTURE_H
#define TESTS_UNIT_EGRESS_FIXTURE_H

#include "tests/unit/leaf_fixture.h"

enum { OUT, IN, EGRESS_PORTS };

/* Smallest frame that these tests send. */
#define EGRESS_FRAME_BYTES_MIN 60

/* A frame that was handed to the device. */
struct record {
	uint64_t at_ps;
	uint32_t number;
	uint32_t bytes; /* on the wire, without FCS, preamble and gap */
	uint8_t priority;
};

struct recorder {
	struct record *record;
	uint32_t count;
	uint32_t room;
};

/** Opens the fixture with a leaf of EGRESS_PORTS ports. */
void egress_open_at(struct leaf_fixture *fixture, uint64_t rate_bps, uint64_t now_ps);
void egress_open(struct leaf_fixture *fixture, uint64_t rate_bps);

/** A new snapshot like the one in force, to be changed and published. */
struct snapshot *egress_snapshot(const struct leaf_fixture *fixture);

/** DWRR weight of a priority, or strict. */
void egress_weight(struct snapshot *snapshot, uint8_t priority, uint32_t weight);
void egress_strict(struct snapshot *snapshot, uint8_t priority, uint64_t max_rate_bps);

/** Put a frame of this class and length on its way to OUT; it is queued at the next poll. */
void egress_inject(struct leaf_fixture *fixture, uint8_t priority, uint32_t bytes, uint32_t number);

/** Note what OUT has sent by now. */
void record_now(struct leaf_fixture *fixture, struct recorder *recorder);

/** Poll whenever it is due until a time, or until nothing is queued, and note what leaves. */
void record_until(struct leaf_fixture *fixture, struct recorder *recorder, uint64_t until_ps);
void record_all(struct leaf_fixture *fixture, struct recorder *recorder);
void record_free(struct recorder *recorder);

/** How long a frame occupies a wire: bytes and 24 more, in picoseconds times the rate. */
static inline unsigned __int128 wire_bits_ps(uint32_t bytes)
{
	return (unsigned __int128)(bytes + WIRE_OVERHEAD_BYTES) * 8 * PS_PER_S;
}

#endif
