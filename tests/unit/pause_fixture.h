/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pause_fixture - a leaf whose port SINK takes what ports 1.. send, and pause frames byte by byte.
 *
 * Frames are put together and taken apart here by the layout of IEEE 802.1Q clause 36 and 802.3
 * annex 31B, not by the dataplane's own codec. All ports send and honour pauses and run at 100G; SINK
 * is exact: a frame goes when the wire is free. Priorities 3 and 4 are lossless.
 *
 * Time stands still unless a test lets it pass; each frame is polled by itself, so that thresholds are
 * met to the packet.
 */
#ifndef TESTS_UNIT_PAUSE_FIXTURE_H
#define TESTS_UNIT_PAUSE_FIXTURE_H

#include "dataplane/internal.h"
#include "tests/unit/leaf_fixture.h"

enum { SINK = 0, SENDER = 1 };

#define GBPS UINT64_C(1000000000)

/* 65535 quanta of 512 bit times at 100G, 10 ps each. */
#define PAUSE_PS_100G (UINT64_C(65535) * 512 * 10)

/* A pause frame as it was sent. */
struct pause {
	uint8_t enabled;
	uint16_t quanta[PRIORITY_COUNT];
};

struct pause_params {
	uint16_t senders; /* ports beside SINK */
	uint64_t sink_bps;
	uint64_t shared_bytes, lossy_bytes;
	uint32_t reserved_bytes, headroom_bytes; /* of every lossless pair */
	uint32_t xon_offset_bytes;
	uint32_t alpha_q8; /* of every class */
};

/** Opens the fixture. What is 0 of rate and lossy bytes takes 100G and 64 MiB. */
void pause_open(struct leaf_fixture *fixture, const struct pause_params *params);

/** A frame that pauses. */
struct frame pause_frame(const struct pause *pause);

/** The peer of a port pauses one priority there; polled. */
void pause_receive(struct leaf_fixture *fixture, uint16_t port, uint8_t priority, uint16_t quanta);

/** A frame from a port to SINK, polled. @param bytes 60.. */
void pause_send(struct leaf_fixture *fixture, uint16_t from, uint8_t priority, uint32_t bytes);

/** The same, not polled. */
void pause_inject(struct leaf_fixture *fixture, uint16_t from, uint8_t priority, uint32_t bytes);
/** The same with an ECN field. */
void pause_inject_ecn(struct leaf_fixture *fixture, uint16_t from, uint8_t priority, uint8_t ecn,
		      uint32_t bytes);

/**
 * Take the next frame that a port has sent, which must be a pause laid out as the standard says, from
 * the port's own address. @return false: none
 */
bool pause_take(struct leaf_fixture *fixture, uint16_t port, struct pause *pause);

/** Just one was sent, with these priorities at these quanta. */
void expect_pause(struct leaf_fixture *fixture, uint16_t port, uint8_t xoff, uint8_t xon);

/** @return when SINK sends its next frame, UINT64_MAX: not until then. Time passes. */
uint64_t pause_next(struct leaf_fixture *fixture, uint64_t until_ps, struct frame *frame);

#endif
