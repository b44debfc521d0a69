/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * headroom - what still comes in from a port after we have decided to pause its peer.
 *
 * The clock starts when the packet that crosses the threshold has been received, and stops when the
 * last bit that the peer sent regardless has been. Its terms, in bytes at the port's speed:
 *
 *	poll       until a worker sees the packet; once more where another worker charges the port
 *	           than the one that sends its pauses (DESIGN: the owner decides)
 *	run-ahead  what lies in our TX ring in front of the pause (the wire clock's run-ahead)
 *	own frame  the frame already on our wire in front of the pause: our MTU, with 24 bytes of
 *	           preamble, gap and FCS (IEEE 802.3-2018 3.1.1, 4.4.2)
 *	pause      the pause frame itself: 64 bytes and 20 (IEEE 802.1Q-2018 36.2)
 *	cable      there and back, 5 ns a metre (units.h)
 *	response   the peer's, by one of
 *	           - the standard's limit (IEEE 802.3 annex 31B.3.7, in quanta of 512 bit times):
 *	             headroom_response_quanta()
 *	           - another roceleaf, set up as we are: its NIC, one poll, and its run-ahead
 *	           - a time that the user knows
 *	peer frame the frame that the peer has just begun when it obeys: its MTU, which must be ours
 *	arriving   the frame that is just coming in when a limit that others have lowered makes us pause:
 *	           it counts when it is complete, yet most of it may have come before the clock starts
 *	NIC        our NIC's and bus's delay, both ways
 *
 * The same terms as in SONiC's buffer_headroom_mellanox.lua, with bytes in place of cells, and its
 * pipeline terms replaced by what a software leaf has: polls, rings, run-ahead. Nothing is rounded up
 * beyond whole bytes and nothing is added for safety: with poll and run-ahead 0, and a peer that uses
 * up its limit, the headroom is used to all but the fractions of a frame when a limit is lowered just
 * before a frame is complete.
 *
 * Pure 64-bit arithmetic that saturates: a sum beyond 2^64 - 1 is 2^64 - 1, never a small number.
 * Thread: any.
 */
#ifndef CONFIG_HEADROOM_H
#define CONFIG_HEADROOM_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"

/* A pause on the wire: 60 bytes, and what a frame needs beyond those. */
#define HEADROOM_PAUSE_BYTES (FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES)

struct headroom_input {
	uint64_t rate_bps;        /* RATE_BPS_MIN..RATE_BPS_MAX */
	uint32_t frame_bytes_max; /* of the port */
	uint32_t cable_mm;
	enum config_response response;
	uint64_t response_ps;  /* CONFIG_RESPONSE_TIME only */
	uint64_t poll_ps;      /* our own worst poll interval */
	uint32_t polls;        /* 1, or 2: another worker may charge the port */
	uint64_t run_ahead_ps; /* of the port's wire clock */
	uint64_t nic_delay_ps; /* one way */
};

struct headroom {
	uint64_t poll_bytes;
	uint64_t run_ahead_bytes;
	uint64_t own_frame_bytes;
	uint64_t pause_bytes;
	uint64_t cable_bytes;
	uint64_t response_bytes;
	uint64_t peer_frame_bytes;
	uint64_t arriving_bytes;
	uint64_t nic_bytes;
	uint64_t total_bytes; /* of all above */

	/*
	 * The other direction. A software leaf obeys a pause later than the standard's limit: by its
	 * NIC, a poll and what lies in its TX ring. So long, and the headroom that the peer must
	 * therefore grant us: its own frame and pause, the cable, our response, our last frame.
	 */
	uint64_t our_response_ps;
	uint64_t standard_response_ps;
	uint64_t our_response_bytes;
	uint64_t granted_bytes;
};

/**
 * Longest time from a pause's arrival to the end of transmission, in pause quanta. A speed between
 * those of the standard has the quanta of the next higher one (never interpolated); beyond 800 Gb/s
 * quanta grow with the speed, so that the time stays.
 */
uint64_t headroom_response_quanta(uint64_t rate_bps);

/** Bytes that pass in a time, rounded up. */
uint64_t headroom_bytes(uint64_t rate_bps, uint64_t time_ps);

/** How long bytes last, ps, rounded down. */
uint64_t headroom_time_ps(uint64_t rate_bps, uint64_t bytes);

/** a + b; a * b / c rounded down (c > 0). Both saturate. */
uint64_t headroom_add(uint64_t a, uint64_t b);
uint64_t headroom_scale(uint64_t a, uint64_t b, uint64_t c);

void headroom_compute(const struct headroom_input *input, struct headroom *headroom);

#endif
