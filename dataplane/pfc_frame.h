/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * pfc_frame - MAC control frames that pause: reading any, writing those of priority flow control.
 *
 * Bytes to meaning and back, and pause times to picoseconds. What a pause does to a queue is not
 * decided here.
 *
 *   offset  bytes
 *        0      6  destination 01-80-C2-00-00-01
 *        6      6  source
 *       12      2  EtherType 0x8808 14      2  opcode 0x0101 16      2  class-enable vector: bit n
 *       of the second byte enables time n, first byte reserved 18     16  times 0..7, in quanta of
 *       512 bit times, 0 ends a pause 34     26  zeros, up to 60 bytes; the FCS follows
 *
 * Global pause has opcode 0x0001, and one time at offset 16. Numbers are big-endian.
 *
 * Source: IEEE 802.3-2018 clause 31 (MAC control), annex 31B (PAUSE), annex 31D (PFC);
 * IEEE 802.1Q-2018 clause 36 (formerly 802.1Qbb).
 * Thread: any; nothing is kept. Doesn't need DPDK.
 */
#ifndef DATAPLANE_PFC_FRAME_H
#define DATAPLANE_PFC_FRAME_H

#include <stdint.h>

#include "dataplane/units.h"

/* What pfc_frame_write() fills: the smallest frame, without FCS. */
#define PFC_FRAME_BYTES FRAME_BYTES_MIN

/* What must be there: up to the first time, up to the last. */
#define PFC_FRAME_GLOBAL_BYTES_MIN   (14 + 2 + 2)
#define PFC_FRAME_PRIORITY_BYTES_MIN (14 + 2 + 2 + 2 * PRIORITY_COUNT)

#define PFC_QUANTA_MAX UINT16_MAX

enum pfc_verdict {
	PFC_FRAME_PRIORITY, /* priority flow control: obey what is enabled */
	PFC_FRAME_GLOBAL,   /* 802.3x pause, of all priorities alike */
	PFC_FRAME_OPCODE,   /* to the right address, but some other opcode */
	PFC_FRAME_ADDRESS,  /* not to 01-80-C2-00-00-01, whatever the opcode */
	PFC_FRAME_SHORT,    /* ends before what its opcode requires */
};

struct pfc_frame {
	uint8_t enabled;                 /* bit n: quanta[n] counts */
	uint16_t quanta[PRIORITY_COUNT]; /* 0: go on at once */
};

/**
 * Read a MAC control frame. Nothing of it is trusted, and nothing beyond `size` is read.
 * @param frame  from its destination on; the caller has seen EtherType 0x8808 at offset 12 (MAC
 *               control frames carry no VLAN tag: a tagged one must not come here)
 * @param size   bytes readable at frame, FCS and missing bytes excluded; 0 allowed
 * @param out    PRIORITY: the enabled priorities; times of the others read 0, however they were
 *               sent. GLOBAL: all eight enabled, each with the frame's time. Else all zero.
 *
 * Rules where the standards leave room:
 * - The source isn't looked at: pauses from a zero address count like any other.
 * - 31B.3.3 lets a station obey global pause to its own address, too. We don't: 01-80-C2-00-00-01
 *   never passes a bridge, a station's address can.
 * - A frame below 64 bytes is obeyed when nothing but padding is missing: 20 bytes after the
 *   EtherType are enough for PRIORITY, 4 for GLOBAL. An unknown opcode must have 4, too, else it is
 *   SHORT.
 * - Reserved bits of the class-enable vector are ignored on receipt, and zero when sent.
 */
enum pfc_verdict pfc_frame_read(const uint8_t *frame, uint32_t size, struct pfc_frame *out);

/**
 * Write a priority flow control frame.
 * @param frame       PFC_FRAME_BYTES to fill; all of them are written
 * @param source_mac  the sending port's own address
 * @param pfc         times of priorities that aren't enabled are sent as 0; enabled with time 0
 *                    is xon
 * @return bytes of the frame without FCS, PFC_FRAME_BYTES
 */
uint32_t pfc_frame_write(uint8_t frame[PFC_FRAME_BYTES], const uint8_t source_mac[6],
			 const struct pfc_frame *pfc);

/**
 * How long a pause lasts, ps: quanta * 512 bits at rate_bps. Exact at every rate that divides
 * 512e12, the 1, 10, 25, 40, 50, 100, 200, 400, 800 and 1600G of Ethernet among them; else rounded
 * up, by less than one picosecond in all: nobody starts early.
 * @param rate_bps  RATE_BPS_MIN..RATE_BPS_MAX, speed of the port
 * @return at most 65535 quanta at 1M: 34 s
 */
uint64_t pfc_quanta_ps(uint16_t quanta, uint64_t rate_bps);

/**
 * How many quanta to ask for: the fewest that last at least this time, as pfc_quanta_ps() counts,
 * or PFC_QUANTA_MAX when none do.
 * @param time_ps   any
 * @param rate_bps  RATE_BPS_MIN..RATE_BPS_MAX
 */
uint16_t pfc_quanta_for_ps(uint64_t time_ps, uint64_t rate_bps);

#endif
