/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bytes - reads, writes and checks bytes of frames in the plainest way, for tests to compare with.
 */
#ifndef TESTS_UNIT_BYTES_H
#define TESTS_UNIT_BYTES_H

#include <stdint.h>

/* A frame to the leaf from a host, type at offset 12, the rest a pattern of that seed. */
void bytes_frame(uint8_t *frame, uint32_t bytes, uint16_t type, uint32_t seed);

uint16_t bytes_load16(const uint8_t *at);
uint32_t bytes_load32(const uint8_t *at);
void bytes_store16(uint8_t *at, uint32_t value);
void bytes_store32(uint8_t *at, uint32_t value);

/* One's complement sum of 16-bit big-endian words (RFC 1071), carries folded in. */
uint16_t bytes_sum(const uint8_t *data, uint32_t bytes, uint32_t sum);
/*
 * Sum over pseudo-header and transport part of the IP packet at l3 (no IPv6 extension headers):
 * 0xffff when its checksum is right (RFC 768, RFC 9293 3.1, RFC 8200 8.1).
 */
uint16_t bytes_transport_sum(const uint8_t *l3);
/* Sum of the pseudo-header alone. */
uint16_t bytes_pseudo_sum(const uint8_t *l3);

#endif
