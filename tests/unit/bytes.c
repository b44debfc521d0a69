/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/bytes.h"

#include <string.h>

void bytes_frame(uint8_t *frame, uint32_t bytes, uint16_t type, uint32_t seed)
{
	static const uint8_t addresses[] = {0x02, 0, 0, 0, 0x10, 1, 0x02, 0, 0, 0, 0x20, 2};
	uint32_t state = seed * 2654435761u + bytes;

	memcpy(frame, addresses, sizeof(addresses));
	bytes_store16(frame + 12, type);
	for (uint32_t i = 14; i < bytes; i++) {
		state = state * 1664525u + 1013904223u;
		frame[i] = (uint8_t)(state >> 24);
	}
}

uint16_t bytes_load16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

uint32_t bytes_load32(const uint8_t *at)
{
	return (uint32_t)bytes_load16(at) << 16 | bytes_load16(at + 2);
}

void bytes_store16(uint8_t *at, uint32_t value)
{
	at[0] = (uint8_t)(value >> 8);
	at[1] = (uint8_t)value;
}

void bytes_store32(uint8_t *at, uint32_t value)
{
	bytes_store16(at, value >> 16);
	bytes_store16(at + 2, value);
}

uint16_t bytes_sum(const uint8_t *data, uint32_t bytes, uint32_t sum)
{
	for (uint32_t i = 0; i + 1 < bytes; i += 2) {
		sum += bytes_load16(data + i);
		sum = (sum & 0xffff) + (sum >> 16);
	}
	if (bytes % 2 != 0)
		sum += (uint32_t)data[bytes - 1] << 8;
	return (uint16_t)((sum & 0xffff) + (sum >> 16));
}

uint16_t bytes_pseudo_sum(const uint8_t *l3)
{
	uint32_t header = (l3[0] & 15) * 4u;

	if (l3[0] >> 4 == 4)
		return bytes_sum(l3 + 12, 8, (uint32_t)l3[9] + bytes_load16(l3 + 2) - header);
	return bytes_sum(l3 + 8, 32, (uint32_t)l3[6] + bytes_load16(l3 + 4));
}

uint16_t bytes_transport_sum(const uint8_t *l3)
{
	uint32_t header = (l3[0] & 15) * 4u;
	uint16_t sum = bytes_pseudo_sum(l3);

	if (l3[0] >> 4 == 4)
		return bytes_sum(l3 + header, bytes_load16(l3 + 2) - header, sum);
	return bytes_sum(l3 + 40, bytes_load16(l3 + 4), sum);
}
