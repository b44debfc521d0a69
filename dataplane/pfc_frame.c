/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/pfc_frame.h"

#include <assert.h>
#include <string.h>

#define OFFSET_SOURCE 6
#define OFFSET_TYPE   12
#define OFFSET_OPCODE 14
#define OFFSET_VECTOR 16 /* or the time of a global pause */
#define OFFSET_QUANTA 18

#define OPCODE_PAUSE    0x0001
#define OPCODE_PRIORITY 0x0101

#define QUANTUM_PS_BPS \
	(PAUSE_QUANTUM_BITS * PS_PER_S) /* ps of one quantum, times bits per second */

/* Everything in front of the class-enable vector, but for the source. */
static const uint8_t destination[6] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01};
static const uint8_t type_opcode[4] = {0x88, 0x08, OPCODE_PRIORITY >> 8, OPCODE_PRIORITY & 0xff};

static uint16_t load_be16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static void store_be16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

enum pfc_verdict pfc_frame_read(const uint8_t *frame, uint32_t size, struct pfc_frame *out)
{
	*out = (struct pfc_frame){0};
	if (size < PFC_FRAME_GLOBAL_BYTES_MIN)
		return PFC_FRAME_SHORT;
	if (memcmp(frame, destination, sizeof(destination)) != 0)
		return PFC_FRAME_ADDRESS;
	switch (load_be16(frame + OFFSET_OPCODE)) {
	case OPCODE_PRIORITY:
		if (size < PFC_FRAME_PRIORITY_BYTES_MIN)
			return PFC_FRAME_SHORT;
		out->enabled = frame[OFFSET_VECTOR + 1];
		for (size_t p = 0; p < PRIORITY_COUNT; p++)
			if ((out->enabled & 1u << p) != 0)
				out->quanta[p] = load_be16(frame + OFFSET_QUANTA + 2 * p);
		return PFC_FRAME_PRIORITY;
	case OPCODE_PAUSE:
		out->enabled = UINT8_MAX;
		for (size_t p = 0; p < PRIORITY_COUNT; p++)
			out->quanta[p] = load_be16(frame + OFFSET_VECTOR);
		return PFC_FRAME_GLOBAL;
	default:
		return PFC_FRAME_OPCODE;
	}
}

uint32_t pfc_frame_write(uint8_t frame[PFC_FRAME_BYTES], const uint8_t source_mac[6],
			 const struct pfc_frame *pfc)
{
	memcpy(frame, destination, sizeof(destination));
	memcpy(frame + OFFSET_SOURCE, source_mac, 6);
	memcpy(frame + OFFSET_TYPE, type_opcode, sizeof(type_opcode));
	memset(frame + OFFSET_VECTOR, 0, PFC_FRAME_BYTES - OFFSET_VECTOR);
	frame[OFFSET_VECTOR + 1] = pfc->enabled;
	for (size_t p = 0; p < PRIORITY_COUNT; p++)
		if ((pfc->enabled & 1u << p) != 0)
			store_be16(frame + OFFSET_QUANTA + 2 * p, pfc->quanta[p]);
	return PFC_FRAME_BYTES;
}

/*
 * 65535 * 512e12 is more than 64 bits hold. So whole picoseconds of a quantum are multiplied apart
 * from the remainder, which is below the rate: 65535 * 5.12e8 ps at 1M, 65535 * 1.6e12 at 1600G.
 */
uint64_t pfc_quanta_ps(uint16_t quanta, uint64_t rate_bps)
{
	uint64_t remainder;

	assert(rate_bps >= RATE_BPS_MIN && rate_bps <= RATE_BPS_MAX);
	remainder = QUANTUM_PS_BPS % rate_bps;
	return quanta * (QUANTUM_PS_BPS / rate_bps) +
	       (quanta * remainder + rate_bps - 1) / rate_bps;
}

/*
 * The fewest quanta q with ceil(q * Q / rate) >= time, Q being QUANTUM_PS_BPS: those are the fewest
 * with q * Q > (time - 1) * rate, which is floor((time - 1) * rate / Q) + 1. That product has 65
 * bits, so it is divided in two steps, first by 1e12 (Q / 512), with (time - 1) = 512 * high + low.
 */
uint16_t pfc_quanta_for_ps(uint64_t time_ps, uint64_t rate_bps)
{
	uint64_t high, low, rest;

	if (time_ps == 0)
		return 0;
	if (time_ps > pfc_quanta_ps(PFC_QUANTA_MAX, rate_bps))
		return PFC_QUANTA_MAX;
	high = (time_ps - 1) / PAUSE_QUANTUM_BITS;
	low = (time_ps - 1) % PAUSE_QUANTUM_BITS;
	rest = high * rate_bps % PS_PER_S * PAUSE_QUANTUM_BITS + low * rate_bps;
	return (uint16_t)(high * rate_bps / PS_PER_S + rest / QUANTUM_PS_BPS + 1);
}
