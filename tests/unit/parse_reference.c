/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/parse_reference.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static uint32_t u16(const uint8_t *p)
{
	return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t u32(const uint8_t *p)
{
	return u16(p) << 16 | u16(p + 2);
}

static struct facts bad(struct facts facts, enum drop_reason drop)
{
	facts.sound = false;
	facts.drop = drop;
	return facts;
}

/* @param readable bytes that are there and belong to the IP packet */
static void transport(const uint8_t *l4, uint32_t readable, uint32_t offset, struct facts *facts)
{
	if ((facts->protocol != 17 || readable < 8) && (facts->protocol != 6 || readable < 20))
		return;
	facts->ports = true;
	facts->source_port = (uint16_t)u16(l4);
	facts->destination_port = (uint16_t)u16(l4 + 2);
	facts->l4_offset = offset;
	if (facts->protocol != 17 || facts->destination_port != 4791)
		return;
	/* The base transport header: 12 bytes, and UDP must say that they are its own. */
	if (readable < 20 || u16(l4 + 4) < 20)
		return;
	facts->roce = true;
	facts->qp = u32(l4 + 12) & 0xffffff;
	facts->psn = u32(l4 + 16) & 0xffffff;
}

static struct facts ipv4(const uint8_t *ip, uint32_t size, uint32_t length, struct facts facts)
{
	uint32_t header, total, sum = 0;

	facts.kind = KIND_IPV4;
	if (size < 20)
		return bad(facts, DROP_TOO_SHORT);
	header = (ip[0] & 15u) * 4;
	total = u16(ip + 2);
	if (ip[0] >> 4 != 4 || header < 20 || header > size || total < header || total > length)
		return bad(facts, DROP_IP_HEADER);
	for (uint32_t i = 0; i < header; i += 2)
		sum += u16(ip + i);
	while (sum > 0xffff)
		sum = (sum & 0xffff) + (sum >> 16);
	if (sum != 0xffff)
		return bad(facts, DROP_IP_CHECKSUM);
	facts.traffic_class = ip[1];
	facts.ttl = ip[8];
	facts.protocol = ip[9];
	facts.source = u32(ip + 12);
	facts.destination = u32(ip + 16);
	/* RFC 791: bit 13 says more fragments, bits 12..0 are the offset. */
	facts.fragment = (u16(ip + 6) & 0x3fff) != 0;
	if (!facts.fragment)
		transport(ip + header, (total < size ? total : size) - header, header, &facts);
	return facts;
}

/* RFC 8200 4: up to four of the headers that routers meet, in any order. */
static struct facts ipv6_chain(const uint8_t *ip, uint32_t end, struct facts facts)
{
	uint32_t offset = 40;

	for (int headers = 0;; headers++) {
		uint8_t next = facts.protocol;
		bool extension = next == 0 || next == 43 || next == 44 || next == 60;

		if (!extension) {
			transport(ip + offset, end - offset, offset, &facts);
			return facts;
		}
		if (headers == 4 || end - offset < 8)
			return facts;
		facts.protocol = ip[offset];
		if (next == 44) {
			/* Offset in the upper 13 bits, more fragments in the lowest. */
			facts.fragment =
				u16(ip + offset + 2) >> 3 != 0 || (ip[offset + 3] & 1) != 0;
			if (facts.fragment)
				return facts;
			offset += 8;
		} else {
			offset += 8 * (1u + ip[offset + 1]);
		}
		if (offset > end || offset > 255)
			return facts;
	}
}

static struct facts ipv6(const uint8_t *ip, uint32_t size, uint32_t length, struct facts facts)
{
	uint32_t payload;

	facts.kind = KIND_IPV6;
	if (size < 40)
		return bad(facts, DROP_TOO_SHORT);
	payload = u16(ip + 4);
	if (ip[0] >> 4 != 6 || 40 + payload > length)
		return bad(facts, DROP_IP_HEADER);
	facts.traffic_class = (uint8_t)(ip[0] << 4 | ip[1] >> 4);
	facts.protocol = ip[6];
	facts.ttl = ip[7];
	return ipv6_chain(ip, 40 + payload < size ? 40 + payload : size, facts);
}

struct facts reference_parse(const uint8_t *frame, uint32_t size, uint32_t length)
{
	static const uint8_t zero[6];
	struct facts facts = {.sound = true};
	uint32_t type, l3 = 14;

	if (size < 14)
		return bad(facts, DROP_TOO_SHORT);
	type = u16(frame + 12);
	if (type == 0x8100) {
		if (size < 18)
			return bad(facts, DROP_TOO_SHORT);
		facts.tagged = true;
		facts.pcp = frame[14] >> 5;
		facts.vlan = (uint16_t)(u16(frame + 14) & 0xfff);
		type = u16(frame + 16);
		l3 = 18;
	}
	if (type == 0x0800)
		facts = ipv4(frame + l3, size - l3, length - l3, facts);
	else if (type == 0x86dd)
		facts = ipv6(frame + l3, size - l3, length - l3, facts);
	else if (type == 0x0806)
		facts.kind = KIND_ARP;
	else if (type == 0x8808)
		facts.kind = KIND_MAC_CONTROL;
	if (facts.kind != KIND_MAC_CONTROL &&
	    ((frame[6] & 1) != 0 || memcmp(frame + 6, zero, 6) == 0 ||
	     memcmp(frame + 6, frame, 6) == 0))
		return bad(facts, DROP_SOURCE_MAC);
	return facts;
}

struct facts facts_of(const struct parsed *parsed, bool sound)
{
	struct facts facts = {
		.sound = sound,
		.drop = sound ? (enum drop_reason)0 : (enum drop_reason)parsed->drop,
		.kind = (enum packet_kind)parsed->kind,
		.tagged = (parsed->flags & PARSED_TAGGED) != 0,
		.vlan = parsed_vlan(parsed),
		.pcp = parsed_pcp(parsed),
	};

	if (!sound || (parsed->kind & KIND_IP_MASK) == 0)
		return facts;
	facts.traffic_class = parsed->traffic_class;
	facts.ttl = parsed->ttl;
	facts.protocol = parsed->protocol;
	facts.fragment = (parsed->flags & PARSED_FRAGMENT) != 0;
	if (parsed->kind == KIND_IPV4) {
		facts.source = u32((const uint8_t *)&parsed->source);
		facts.destination = u32((const uint8_t *)&parsed->destination);
	}
	facts.ports = (parsed->flags & PARSED_PORTS) != 0;
	if (facts.ports) {
		facts.source_port = (uint16_t)u16((const uint8_t *)&parsed->ports);
		facts.destination_port = (uint16_t)u16((const uint8_t *)&parsed->ports + 2);
		facts.l4_offset = parsed->l4_offset;
	}
	facts.roce = (parsed->flags & PARSED_ROCE) != 0;
	if (facts.roce) {
		facts.qp = parsed_destination_qp(parsed);
		facts.psn = parsed_psn(parsed);
	}
	return facts;
}

const char *facts_differ(const struct facts *a, const struct facts *b)
{
#define COMPARE(field)            \
	if (a->field != b->field) \
	return #field
	COMPARE(sound);
	COMPARE(drop);
	COMPARE(kind);
	COMPARE(tagged);
	COMPARE(vlan);
	COMPARE(pcp);
	if (!a->sound)
		return NULL;
	COMPARE(traffic_class);
	COMPARE(ttl);
	COMPARE(protocol);
	COMPARE(fragment);
	COMPARE(source);
	COMPARE(destination);
	COMPARE(ports);
	COMPARE(source_port);
	COMPARE(destination_port);
	COMPARE(l4_offset);
	COMPARE(roce);
	COMPARE(qp);
	COMPARE(psn);
#undef COMPARE
	return NULL;
}

struct facts facts_parse(const uint8_t *bytes, uint32_t size, uint32_t length)
{
	uint8_t *copy = malloc(size == 0 ? 1 : size);
	struct parsed parsed;
	bool sound;

	if (copy == NULL)
		abort();
	memcpy(copy, bytes, size);
	memset(&parsed, 0xa5, sizeof(parsed));
	sound = parse_frame(copy, size, length, &parsed);
	free(copy);
	return facts_of(&parsed, sound);
}
