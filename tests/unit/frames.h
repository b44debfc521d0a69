/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * frames - frames for tests, put together field by field from the layouts in the standards: IEEE
 * 802.3 and 802.1Q, RFC 791, 768, 9293, 8200, InfiniBand specification annex A17.
 *
 * Nothing here uses the dataplane's own parser or checksum.
 */
#ifndef TESTS_UNIT_FRAMES_H
#define TESTS_UNIT_FRAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "dataplane/packet.h"

#define FRAME_ROOM_BYTES 2048

/* A frame outside any mbuf. */
struct frame {
	uint32_t size; /* bytes in `byte` */
	uint16_t virtual_bytes;
	struct packet_meta meta; /* to and from the CPU's port */
	uint8_t byte[FRAME_ROOM_BYTES];
};

/* What is 0 takes the default in brackets. */
struct frame_spec {
	uint64_t destination_mac; /* first byte highest: 0x0180c2000001 */
	uint64_t source_mac;
	bool tagged;
	uint8_t pcp;
	uint16_t vlan;
	uint8_t family;      /* 4, 6; 0: no IP, see ether_type */
	uint16_t ether_type; /* of a frame without IP */
	uint32_t source;     /* IPv4, host byte order: 0x0a010203 is 10.1.2.3 */
	uint32_t destination;
	const char *source6; /* "fd00::1" */
	const char *destination6;
	uint8_t traffic_class; /* DSCP << 2 | ECN */
	uint8_t ttl;           /* [64] */
	uint8_t protocol;      /* [17] UDP or 6 TCP have their headers, others have none */
	uint16_t source_port;
	uint16_t destination_port;
	bool roce;              /* UDP to 4791 with a base transport header and an ICRC */
	uint8_t opcode;         /* of it */
	uint32_t qp;            /* destination queue pair */
	uint32_t psn;           /* packet sequence number */
	uint16_t payload_bytes; /* after the last header; [46] without IP */
	uint16_t virtual_bytes; /* more payload that exists only on the wire */
	uint32_t number;        /* in the last four real bytes; payload_bytes must have room */
};

/** Build a frame; too large a one fails the program. */
struct frame frame_of(const struct frame_spec *spec);
#define FRAME(...) frame_of(&(struct frame_spec){__VA_ARGS__})

/** Number in the last four real bytes. */
uint32_t frame_number(const struct frame *frame);

/** RFC 1071: the checksum of an IPv4 header (its own field counts as zero). */
uint16_t ipv4_checksum(const uint8_t *header);

/** Put the right checksum into the IPv4 header that starts at an offset of a frame. */
void frame_checksum_set(struct frame *frame, uint32_t l3_offset);

/** The number as six bytes. */
void mac_store(uint8_t *bytes, uint64_t mac);

void store_u16(uint8_t *bytes, uint32_t value);
void store_u32(uint8_t *bytes, uint32_t value);

/** True when both are the same, byte for byte, virtual bytes too. */
bool frame_equal(const struct frame *a, const struct frame *b);

/** Bytes as text, for messages; in a static buffer. */
const char *frame_text(const struct frame *frame);

#endif
