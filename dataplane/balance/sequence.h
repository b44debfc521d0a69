/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * sequence - the numbers that in-order spray writes into the UDP checksum field.
 *
 * RoCEv2 senders leave the field zero, and its invariant CRC doesn't cover it. 0: not sequenced. 2..65535:
 * a packet's number; 2 follows 65535. 1: the start, which carries no number of its own: it stands for the
 * first number of its agreement, which the request for it named. So the source names the number it would
 * use next, writes 1 instead of it, and goes on with the number after it: from one agreement to the next
 * none is used twice, and a start that is lost is a missing number like any other.
 *
 * Thread: any; no state.
 */
#ifndef DATAPLANE_BALANCE_SEQUENCE_H
#define DATAPLANE_BALANCE_SEQUENCE_H

#include <stdint.h>

#define SEQUENCE_NONE  0
#define SEQUENCE_START 1
#define SEQUENCE_FIRST 2 /* smallest number; the largest is 65535 */
#define SEQUENCE_COUNT 65534

/* How far ahead of what is missing a packet may be, to be held: a quarter of all numbers. */
#define SEQUENCE_WINDOW 16383

/** The number after this one. @param number 2..65535 */
static inline uint16_t sequence_next(uint16_t number)
{
	return (uint16_t)(number + 1 + 2 * (number == UINT16_MAX));
}

/** The number so many (-65533..65533) after this one, or before it. */
static inline uint16_t sequence_plus(uint16_t number, int32_t count)
{
	int32_t sum = (number - SEQUENCE_FIRST + count) % SEQUENCE_COUNT;

	return (uint16_t)(sum + SEQUENCE_FIRST + (sum < 0 ? SEQUENCE_COUNT : 0));
}

/**
 * How far `number` is ahead of `from`; negative when it is behind.
 * @return -32767..32766: half the circle is behind
 */
static inline int32_t sequence_distance(uint16_t number, uint16_t from)
{
	int32_t distance = number - from;

	if (distance >= SEQUENCE_COUNT / 2)
		return distance - SEQUENCE_COUNT;
	if (distance < -(SEQUENCE_COUNT / 2))
		return distance + SEQUENCE_COUNT;
	return distance;
}

#endif
