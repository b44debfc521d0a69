/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/frames.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define UDP 17
#define TCP 6

void store_u16(uint8_t *bytes, uint32_t value)
{
	bytes[0] = (uint8_t)(value >> 8);
	bytes[1] = (uint8_t)value;
}

void store_u32(uint8_t *bytes, uint32_t value)
{
	store_u16(bytes, value >> 16);
	store_u16(bytes + 2, value & 0xffff);
}

void mac_store(uint8_t *bytes, uint64_t mac)
{
	for (int i = 0; i < 6; i++)
		bytes[i] = (uint8_t)(mac >> (40 - 8 * i));
}

uint16_t ipv4_checksum(const uint8_t *header)
{
	uint32_t sum = 0, bytes = (header[0] & 0x0fu) * 4;

	for (uint32_t i = 0; i < bytes; i += 2)
		if (i != 10)
			sum += (uint32_t)header[i] << 8 | header[i + 1];
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)~sum;
}

void frame_checksum_set(struct frame *frame, uint32_t l3_offset)
{
	store_u16(frame->byte + l3_offset + 10, ipv4_checksum(frame->byte + l3_offset));
}

static uint8_t *grow(struct frame *frame, uint32_t bytes)
{
	uint8_t *start = frame->byte + frame->size;

	if (frame->size + bytes > sizeof(frame->byte)) {
		fprintf(stderr, "frame of more than %zu bytes\n", sizeof(frame->byte));
		abort();
	}
	frame->size += bytes;
	return start;
}

static void add_ethernet(struct frame *frame, const struct frame_spec *spec)
{
	uint16_t type = spec->family == 4 ? 0x0800 : spec->family == 6 ? 0x86dd : spec->ether_type;
	uint8_t *bytes = grow(frame, spec->tagged ? 18 : 14);

	mac_store(bytes, spec->destination_mac);
	mac_store(bytes + 6, spec->source_mac);
	bytes += 12;
	if (spec->tagged) {
		store_u16(bytes, 0x8100);
		store_u16(bytes + 2, (uint32_t)spec->pcp << 13 | spec->vlan);
		bytes += 4;
	}
	store_u16(bytes, type);
}

/* @param after bytes that follow the IP header */
static void add_ip(struct frame *frame, const struct frame_spec *spec, uint8_t protocol,
		   uint32_t after)
{
	uint8_t ttl = spec->ttl != 0 ? spec->ttl : 64;
	uint32_t offset = frame->size;
	uint8_t *ip = grow(frame, spec->family == 4 ? 20 : 40);

	if (spec->family == 4) {
		ip[0] = 0x45;
		ip[1] = spec->traffic_class;
		store_u16(ip + 2, 20 + after);
		store_u16(ip + 6, 0x4000); /* don't fragment, as RoCEv2 wants it */
		ip[8] = ttl;
		ip[9] = protocol;
		store_u32(ip + 12, spec->source);
		store_u32(ip + 16, spec->destination);
		frame_checksum_set(frame, offset);
		return;
	}
	store_u32(ip, UINT32_C(6) << 28 | (uint32_t)spec->traffic_class << 20);
	store_u16(ip + 4, after);
	ip[6] = protocol;
	ip[7] = ttl;
	if (inet_pton(AF_INET6, spec->source6, ip + 8) != 1 ||
	    inet_pton(AF_INET6, spec->destination6, ip + 24) != 1) {
		fprintf(stderr, "bad address %s or %s\n", spec->source6, spec->destination6);
		abort();
	}
}

static uint32_t transport_bytes(const struct frame_spec *spec, uint8_t protocol)
{
	return spec->roce ? 8 + 12 + 4 : protocol == UDP ? 8 : protocol == TCP ? 20 : 0;
}

static void add_transport(struct frame *frame, const struct frame_spec *spec, uint8_t protocol,
			  uint32_t after)
{
	uint8_t *l4;

	if (protocol == TCP) {
		l4 = grow(frame, 20);
		store_u16(l4, spec->source_port);
		store_u16(l4 + 2, spec->destination_port);
		l4[12] = 0x50;
		return;
	}
	if (protocol != UDP)
		return;
	l4 = grow(frame, 8);
	store_u16(l4, spec->source_port);
	store_u16(l4 + 2, spec->roce ? 4791 : spec->destination_port);
	store_u16(l4 + 4, after);
	if (!spec->roce)
		return;
	l4 = grow(frame, 12);
	l4[0] = spec->opcode;
	store_u16(l4 + 2, 0xffff); /* default partition key */
	store_u32(l4 + 4, spec->qp);
	store_u32(l4 + 8, spec->psn);
}

struct frame frame_of(const struct frame_spec *spec)
{
	struct frame frame = {.virtual_bytes = spec->virtual_bytes};
	uint8_t protocol = spec->protocol != 0 ? spec->protocol : UDP;
	uint32_t payload = spec->payload_bytes;
	uint8_t *bytes;

	add_ethernet(&frame, spec);
	if (spec->family != 0) {
		uint32_t after = transport_bytes(spec, protocol) + payload + spec->virtual_bytes;

		add_ip(&frame, spec, protocol, after);
		add_transport(&frame, spec, protocol, after);
		if (spec->roce)
			payload += 4;
	} else if (payload == 0) {
		payload = 46;
	}
	bytes = grow(&frame, payload);
	for (uint32_t i = 0; i < payload; i++)
		bytes[i] = (uint8_t)(i * 7 + 3 + spec->number);
	if (payload >= 4)
		store_u32(bytes + payload - 4, spec->number);
	return frame;
}

uint32_t frame_number(const struct frame *frame)
{
	const uint8_t *end = frame->byte + frame->size;

	return (uint32_t)end[-4] << 24 | (uint32_t)end[-3] << 16 | (uint32_t)end[-2] << 8 | end[-1];
}

bool frame_equal(const struct frame *a, const struct frame *b)
{
	return a->size == b->size && a->virtual_bytes == b->virtual_bytes &&
	       memcmp(a->byte, b->byte, a->size) == 0;
}

const char *frame_text(const struct frame *frame)
{
	static char text[4][300];
	static unsigned next;
	char *out = text[next++ % 4];
	int used = snprintf(out, sizeof(text[0]), "%u+%u:", frame->size, frame->virtual_bytes);

	for (uint32_t i = 0; i < frame->size && i < 90; i++)
		used += snprintf(out + used, sizeof(text[0]) - (size_t)used, "%s%02x",
				 i % 4 == 0 ? " " : "", frame->byte[i]);
	return out;
}
