/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * parse_reference - what parse must find in a frame, found byte by byte and without haste.
 *
 * Written from the standards alone, to be compared with the dataplane's parser on any input.
 */
#ifndef TESTS_UNIT_PARSE_REFERENCE_H
#define TESTS_UNIT_PARSE_REFERENCE_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/parse.h"

struct facts {
	bool sound;
	enum drop_reason drop; /* when it isn't; nothing below `tagged` counts then */
	enum packet_kind kind;
	bool tagged;
	uint16_t vlan;
	uint8_t pcp;
	uint8_t traffic_class;
	uint8_t ttl;
	uint8_t protocol;
	bool fragment;
	uint32_t source; /* IPv4, host byte order */
	uint32_t destination;
	bool ports;
	uint16_t source_port;
	uint16_t destination_port;
	uint32_t l4_offset; /* from the IP header */
	bool roce;
	uint32_t qp;
	uint32_t psn;
};

/** @param size readable bytes, @param length bytes on the wire, >= size */
struct facts reference_parse(const uint8_t *frame, uint32_t size, uint32_t length);

/** What the dataplane's parser says, in the same terms. */
struct facts facts_of(const struct parsed *parsed, bool sound);

/** Name of the first fact that differs, or NULL. */
const char *facts_differ(const struct facts *a, const struct facts *b);

/**
 * What parse_frame() says of a copy that ends where its heap block ends, so that a sanitizer sees the
 * next byte read.
 */
struct facts facts_parse(const uint8_t *bytes, uint32_t size, uint32_t length);

#endif
