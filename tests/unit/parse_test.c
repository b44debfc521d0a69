/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Frames as bytes, from the layouts in the standards: IEEE 802.3 clause 3 and annex 31B, 802.1Q 9.6,
 * RFC 791, 768, 9293, 8200, 6946, InfiniBand specification annex A17.
 */
#include <criterion/criterion.h>
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/frames.h"
#include "tests/unit/leaf_fixture.h"
#include "tests/unit/parse_reference.h"

#define BYTES_MAX 256

/* Hexadecimal digits with blanks between them; "xN" repeats the byte before. */
static uint32_t bytes_of(const char *text, uint8_t *bytes)
{
	uint32_t size = 0;

	while (*text != '\0') {
		char digits[3] = {text[0], text[1], '\0'};
		long repeat = 1;

		if (isspace((unsigned char)*text)) {
			text++;
			continue;
		}
		cr_assert(isxdigit((unsigned char)text[0]) && isxdigit((unsigned char)text[1]),
			  "at %s", text);
		text += 2;
		if (*text == 'x') {
			char *end;

			repeat = strtol(text + 1, &end, 10);
			text = end;
		}
		cr_assert_leq(size + (uint32_t)repeat, BYTES_MAX);
		memset(bytes + size, (int)strtol(digits, NULL, 16), (size_t)repeat);
		size += (uint32_t)repeat;
	}
	return size;
}

struct row {
	const char *name;
	const char *bytes;
	uint32_t beyond; /* bytes that are on the wire only */
	struct facts facts;
};

static void check(const struct row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t bytes[BYTES_MAX];
		uint32_t size = bytes_of(rows[i].bytes, bytes);
		struct facts is = facts_parse(bytes, size, size + rows[i].beyond);
		struct facts reference = reference_parse(bytes, size, size + rows[i].beyond);
		const char *differs = facts_differ(&is, &rows[i].facts);

		cr_expect_null(differs, "%s: %s (%s)", rows[i].name, differs,
			       is.sound ? "sound" : drop_name(is.drop));
		differs = facts_differ(&reference, &rows[i].facts);
		cr_expect_null(differs, "%s: the reference errs in %s", rows[i].name, differs);
	}
}

#define CHECK(rows) check(rows, sizeof(rows) / sizeof((rows)[0]))

/* Destination and source of most frames. */
#define MACS "02 00 00 00 00 01  02 00 00 00 aa 01 "

/* The example of RFC 1071 for the sum, and the best known IPv4 header (checksum b861). */
#define IPV4_B861 "45 00 00 73 00 00 40 00 40 11 b8 61 c0 a8 00 01 c0 a8 00 c7 "

#define IPV4_FACTS .sound = true, .kind = KIND_IPV4
#define IPV6_FACTS .sound = true, .kind = KIND_IPV6

Test(parse, ethernet_and_tags)
{
	static const struct row rows[] = {
		{"unknown type", MACS "88 b5 00x46", 0, {.sound = true}},
		{"a length instead of a type (LLC)",
		 MACS "00 26 42 42 03 00x43",
		 0,
		 {.sound = true}},
		{"nothing after the type", MACS "88 b5", 0, {.sound = true}},
		{"ARP", MACS "08 06 00x28", 0, {.sound = true, .kind = KIND_ARP}},
		{"tag: PCP 5, DEI, VLAN 100",
		 MACS "81 00 b0 64 88 b5 00x46",
		 0,
		 {.sound = true, .tagged = true, .pcp = 5, .vlan = 100}},
		{"tag: PCP 7, VLAN 4095",
		 MACS "81 00 ef ff 88 b5 00x46",
		 0,
		 {.sound = true, .tagged = true, .pcp = 7, .vlan = 4095}},
		{"priority tag: PCP 3, VLAN 0",
		 MACS "81 00 60 00 08 06 00x46",
		 0,
		 {.sound = true, .kind = KIND_ARP, .tagged = true, .pcp = 3}},
		{"two tags: the inner one is payload",
		 MACS "81 00 00 64 81 00 00 c8 08 00 00x42",
		 0,
		 {.sound = true, .tagged = true, .vlan = 100}},
		{"a provider's tag isn't ours", MACS "88 a8 00 64 08 00 00x46", 0, {.sound = true}},
		{"nothing at all", "", 0, {.drop = DROP_TOO_SHORT}},
		{"13 bytes", MACS "88", 0, {.drop = DROP_TOO_SHORT}},
		{"half a tag", MACS "81 00 00 64 08", 0, {.drop = DROP_TOO_SHORT}},
		{"half a tag, the rest on the wire only",
		 MACS "81 00 00 64 08",
		 60,
		 {.drop = DROP_TOO_SHORT}},
	};

	CHECK(rows);
}

Test(parse, MAL_L2_sources_that_cannot_be)
{
	static const struct row rows[] = {
		{"multicast source",
		 "02 00 00 00 00 01 01 00 5e 00 00 01 88 b5 00x46",
		 0,
		 {.drop = DROP_SOURCE_MAC}},
		{"broadcast source",
		 "02 00 00 00 00 01 ffx6 88 b5 00x46",
		 0,
		 {.drop = DROP_SOURCE_MAC}},
		{"zero source", "02 00 00 00 00 01 00x6 88 b5 00x46", 0, {.drop = DROP_SOURCE_MAC}},
		{"its own destination",
		 "02 00 00 00 00 01 02 00 00 00 00 01 88 b5 00x46",
		 0,
		 {.drop = DROP_SOURCE_MAC}},
		{"tagged",
		 "02 00 00 00 00 01 00x6 81 00 00 64 88 b5 00x46",
		 0,
		 {.drop = DROP_SOURCE_MAC, .tagged = true, .vlan = 100}},
		{"in front of IPv4",
		 "02 00 00 00 00 01 00x6 08 00 " IPV4_B861 "00x95",
		 0,
		 {.drop = DROP_SOURCE_MAC, .kind = KIND_IPV4}},
		{"in front of a broken IPv4 header",
		 "02 00 00 00 00 01 00x6 08 00 00x46",
		 0,
		 {.drop = DROP_SOURCE_MAC, .kind = KIND_IPV4}},
		{"differs from the destination in its last byte only",
		 "02 00 00 00 00 01 02 00 00 00 00 02 88 b5 00x46",
		 0,
		 {.sound = true}},
		{"differs from the destination in its first byte only",
		 "02 00 00 00 00 01 06 00 00 00 00 01 88 b5 00x46",
		 0,
		 {.sound = true}},
		{"only its last byte isn't zero",
		 "02 00 00 00 00 01 00x5 01 88 b5 00x46",
		 0,
		 {.sound = true}},
	};

	CHECK(rows);
}

Test(parse, MAL_PFC_SHORT_mac_control_is_told_by_its_type_alone)
{
	static const struct row rows[] = {
		{"priority flow control",
		 "01 80 c2 00 00 01 02 00 00 00 aa 01 88 08 01 01 00 08 ffx16 00x26",
		 0,
		 {.sound = true, .kind = KIND_MAC_CONTROL}},
		{"HON-ZERO-SMAC",
		 "01 80 c2 00 00 01 00x6 88 08 01 01 00 08 ffx16 00x26",
		 0,
		 {.sound = true, .kind = KIND_MAC_CONTROL}},
		{"multicast source",
		 "01 80 c2 00 00 01 01 80 c2 00 00 01 88 08 01 01 00x42",
		 0,
		 {.sound = true, .kind = KIND_MAC_CONTROL}},
		{"to a station",
		 MACS "88 08 00 01 00x44",
		 0,
		 {.sound = true, .kind = KIND_MAC_CONTROL}},
		{"in a tag",
		 MACS "81 00 e0 64 88 08 01 01 00x44",
		 0,
		 {.sound = true, .kind = KIND_MAC_CONTROL, .tagged = true, .pcp = 7, .vlan = 100}},
	};
	uint8_t bytes[BYTES_MAX];

	CHECK(rows);
	/* Cut after k of 8 timers, and anywhere else: nothing is read that isn't there. */
	bytes_of(rows[0].bytes, bytes);
	for (uint32_t size = 14; size <= 14 + 2 + 2 + 16; size++) {
		struct facts is = facts_parse(bytes, size, size);

		cr_expect(is.sound && is.kind == KIND_MAC_CONTROL, "%u bytes", size);
	}
}

Test(parse, ipv4_headers)
{
	static const struct row rows[] = {
		{"the best known one",
		 MACS "08 00 " IPV4_B861 "00 35 e0 00 00 5f 00 00 00x87",
		 0,
		 {IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0xc0a80001,
		  .destination = 0xc0a800c7, .ports = true, .source_port = 53,
		  .destination_port = 57344, .l4_offset = 20}},
		{"its checksum as 1's complement of another sum",
		 MACS "08 00 45 00 00 73 00 00 40 00 40 11 b8 60 c0 a8 00 01 c0 a8 00 c7 00x95",
		 0,
		 {.drop = DROP_IP_CHECKSUM, .kind = KIND_IPV4}},
		/*
		 * The eight bytes of RFC 1071 section 3 as an option: they add ddf2. The header
		 * without them: 4700 + 0020 + 4001 + 0a00 + 0001 + 0a01 + 0002 = 9b25;
		 * with them 17917, folded 7918; checksum 86e7.
		 */
		{"RFC 1071's example among the options",
		 MACS "08 00 47 00 00 20 00 00 00 00 40 01 86 e7 0a 00 00 01 0a 01 00 02 "
		      "00 01 f2 03 f4 f5 f6 f7 00x4 00x14",
		 0,
		 {IPV4_FACTS, .ttl = 64, .protocol = 1, .source = 0x0a000001,
		  .destination = 0x0a010002}},
		{"the same with two of its bytes exchanged",
		 MACS "08 00 47 00 00 20 00 00 00 00 40 01 86 e7 0a 00 00 01 0a 01 00 02 "
		      "01 00 f2 03 f4 f5 f6 f7 00x4 00x14",
		 0,
		 {.drop = DROP_IP_CHECKSUM, .kind = KIND_IPV4}},
		/* 4500 + 0014 + 0a00 + 0001 + 0a01 + 0002 = 5918, and ffff - 5918 = a6e7 for the TTL. */
		{"checksum 0000: all else adds up to ffff",
		 MACS "08 00 45 00 00 14 00 00 00 00 a6 e7 00 00 0a 00 00 01 0a 01 00 02 00x26",
		 0,
		 {IPV4_FACTS, .ttl = 0xa6, .protocol = 0xe7, .source = 0x0a000001,
		  .destination = 0x0a010002}},
		{"checksum ffff says the same",
		 MACS "08 00 45 00 00 14 00 00 00 00 a6 e7 ff ff 0a 00 00 01 0a 01 00 02 00x26",
		 0,
		 {IPV4_FACTS, .ttl = 0xa6, .protocol = 0xe7, .source = 0x0a000001,
		  .destination = 0x0a010002}},
		{"MAL-IP: version 6 in an IPv4 frame",
		 MACS "08 00 65 00 00 73 00x110",
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"MAL-IP: a header of 16 bytes",
		 MACS "08 00 44 00 00 73 00x110",
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"MAL-IP: all zero",
		 MACS "08 00 00x46",
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"options beyond the frame",
		 MACS "08 00 4f 00 00 3c 00x40",
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"options on the wire only",
		 MACS "08 00 4f 00 00 3c 00x40",
		 100,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"19 bytes",
		 MACS "08 00 45 00 00 14 00 00 00 00 a6 e7 00 00 0a 00 00 01 0a 01 00",
		 0,
		 {.drop = DROP_TOO_SHORT, .kind = KIND_IPV4}},
		{"19 bytes, the 20th on the wire only",
		 MACS "08 00 45 00 00 14 00 00 00 00 a6 e7 00 00 0a 00 00 01 0a 01 00",
		 1,
		 {.drop = DROP_TOO_SHORT, .kind = KIND_IPV4}},
	};

	CHECK(rows);
}

/* A UDP datagram: IPv4 of 44 bytes with a base transport header of a RoCEv2 send (opcode 4). */
#define ROCE_UDP "c0 00 12 b7 00 18 00 00 04 40 ff ff 00 00 01 23 80 00 45 67 "

Test(parse, total_length_bounds_the_packet)
{
	static const struct row rows[] = {
		{"padded to the minimum",
		 MACS "08 00 45 00 00 1c 00 00 00 00 40 11 66 ce 0a 00 00 01 0a 01 00 02 "
		      "c0 00 12 b7 00 08 00 00 00x18",
		 0,
		 {IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0x0a000001,
		  .destination = 0x0a010002, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 20}},
		{"padding isn't a base transport header",
		 MACS "08 00 45 00 00 1c 00 00 00 00 40 11 66 ce 0a 00 00 01 0a 01 00 02 " ROCE_UDP,
		 0,
		 {IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0x0a000001,
		  .destination = 0x0a010002, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 20}},
		{"padding isn't ports",
		 MACS "08 00 45 00 00 18 00 00 00 00 40 11 66 d2 0a 00 00 01 0a 01 00 02 " ROCE_UDP,
		 0,
		 {IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0x0a000001,
		  .destination = 0x0a010002}},
		{"MAL-IP: total length one beyond the frame",
		 MACS "08 00 45 00 00 2d 00 00 00 00 40 11 66 bd 0a 00 00 01 0a 01 00 02 " ROCE_UDP
		      "00x4",
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"total length up to the last byte on the wire",
		 MACS "08 00 45 00 05 dc 00 00 00 00 40 11 61 0e 0a 00 00 01 0a 01 00 02 " ROCE_UDP,
		 1460,
		 {IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0x0a000001,
		  .destination = 0x0a010002, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 20, .roce = true, .qp = 0x123,
		  .psn = 0x4567}},
		{"total length one beyond the wire",
		 MACS "08 00 45 00 05 dc 00 00 00 00 40 11 61 0e 0a 00 00 01 0a 01 00 02 " ROCE_UDP,
		 1459,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
		{"MAL-IP: total length below the header",
		 MACS "08 00 45 00 00 13 00 00 00 00 40 11 66 d7 0a 00 00 01 0a 01 00 02 00x26",
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV4}},
	};

	CHECK(rows);
}

Test(parse, fragments_have_no_ports)
{
#define FRAGMENT_FACTS                                                       \
	{                                                                    \
		IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0x0a000001, \
			    .destination = 0x0a010002, .fragment = true      \
	}
	static const struct row rows[] = {
		{"first: more fragments, offset 0",
		 MACS "08 00 45 00 00 2c 00 07 20 00 40 11 46 b7 0a 00 00 01 0a 01 00 02 " ROCE_UDP
		      "00x4",
		 0, FRAGMENT_FACTS},
		{"middle: more fragments, offset 1",
		 MACS "08 00 45 00 00 2c 00 07 20 01 40 11 46 b6 0a 00 00 01 0a 01 00 02 " ROCE_UDP
		      "00x4",
		 0, FRAGMENT_FACTS},
		{"last: offset 8191",
		 MACS "08 00 45 00 00 2c 00 07 1f ff 40 11 46 b8 0a 00 00 01 0a 01 00 02 " ROCE_UDP
		      "00x4",
		 0, FRAGMENT_FACTS},
		{"don't fragment isn't a fragment, nor is the reserved bit",
		 MACS "08 00 45 00 00 2c 00 07 c0 00 40 11 a6 b6 0a 00 00 01 0a 01 00 02 " ROCE_UDP
		      "00x4",
		 0,
		 {IPV4_FACTS, .ttl = 64, .protocol = 17, .source = 0x0a000001,
		  .destination = 0x0a010002, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 20, .roce = true, .qp = 0x123,
		  .psn = 0x4567}},
	};

	CHECK(rows);
}

/* From fd00::1 to fd00:1::2, up to the payload: length and next header are missing in front. */
#define IPV6_ADDRESSES "fd 00 00x13 01 fd 00 00 01 00x11 02 "

Test(parse, ipv6_headers)
{
	static const struct row rows[] = {
		{"traffic class across two bytes, flow label ignored",
		 MACS "86 dd 6a 5f ff ff 00 00 3b 40 " IPV6_ADDRESSES,
		 0,
		 {IPV6_FACTS, .traffic_class = 0xa5, .ttl = 64, .protocol = 59}},
		{"TCP",
		 MACS "86 dd 60 00 00 00 00 14 06 01 " IPV6_ADDRESSES "00 16 c0 01 00x8 50 00x7",
		 0,
		 {IPV6_FACTS, .ttl = 1, .protocol = 6, .ports = true, .source_port = 22,
		  .destination_port = 0xc001, .l4_offset = 40}},
		{"RoCEv2",
		 MACS "86 dd 60 00 00 00 00 18 11 40 " IPV6_ADDRESSES ROCE_UDP "00x4",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 40, .roce = true, .qp = 0x123,
		  .psn = 0x4567}},
		{"version 4",
		 MACS "86 dd 40 00 00 00 00 00 3b 40 " IPV6_ADDRESSES,
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV6}},
		{"payload length beyond the frame",
		 MACS "86 dd 60 00 00 00 00 01 3b 40 " IPV6_ADDRESSES,
		 0,
		 {.drop = DROP_IP_HEADER, .kind = KIND_IPV6}},
		{"payload on the wire only",
		 MACS "86 dd 60 00 00 00 00 01 3b 40 " IPV6_ADDRESSES,
		 1,
		 {IPV6_FACTS, .ttl = 64, .protocol = 59}},
		{"39 bytes",
		 MACS "86 dd 60 00 00 00 00 00 3b 40 fd 00 00x13 01 fd 00 00 01 00x11",
		 0,
		 {.drop = DROP_TOO_SHORT, .kind = KIND_IPV6}},
		{"39 bytes, the 40th on the wire only",
		 MACS "86 dd 60 00 00 00 00 00 3b 40 fd 00 00x13 01 fd 00 00 01 00x11",
		 9,
		 {.drop = DROP_TOO_SHORT, .kind = KIND_IPV6}},
		{"a jumbogram says length 0: its extension is beyond what it says",
		 MACS "86 dd 60 00 00 00 00 00 00 40 " IPV6_ADDRESSES "11 00 c2 04 00 01 00 00",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 0}},
	};

	CHECK(rows);
}

Test(parse, ipv6_extension_chains)
{
#define V6(length, next) MACS "86 dd 60 00 00 00 00 " length " " next " 40 " IPV6_ADDRESSES
#define V6_UDP(offset)                                                                       \
	{                                                                                    \
		IPV6_FACTS, .ttl = 64, .protocol = 17, .ports = true, .source_port = 0xc000, \
			    .destination_port = 53, .l4_offset = (offset)                    \
	}
#define UDP53 "c0 00 00 35 00 08 00 00"
	static const struct row rows[] = {
		{"hop-by-hop", V6("10", "00") "11 00 01 04 00x4 " UDP53, 0, V6_UDP(48)},
		{"hop-by-hop of 16 bytes", V6("18", "00") "11 01 01 0c 00x12 " UDP53, 0,
		 V6_UDP(56)},
		{"routing", V6("10", "2b") "11 00 00 00 00x4 " UDP53, 0, V6_UDP(48)},
		{"destination options", V6("10", "3c") "11 00 01 04 00x4 " UDP53, 0, V6_UDP(48)},
		{"four of them",
		 V6("28",
		    "00") "3c 00 01 04 00x4 2b 00 01 04 00x4 3c 00 00x6 11 00 01 04 00x4 " UDP53,
		 0, V6_UDP(72)},
		{"five: we don't go that far",
		 V6("30", "00") "3c 00 01 04 00x4 2b 00 01 04 00x4 3c 00 00x6 3c 00 01 04 00x4 "
				"11 00 01 04 00x4 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 60}},
		{"atomic fragment", V6("10", "2c") "11 00 00 00 00 00 00 07 " UDP53, 0, V6_UDP(48)},
		{"atomic fragment, reserved bits set",
		 V6("10", "2c") "11 ff 00 06 00 00 00 07 " UDP53, 0, V6_UDP(48)},
		{"first fragment",
		 V6("10", "2c") "11 00 00 01 00 00 00 07 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .fragment = true}},
		{"middle fragment",
		 V6("10", "2c") "11 00 00 09 00 00 00 07 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .fragment = true}},
		{"last fragment",
		 V6("10", "2c") "11 00 ff f8 00 00 00 07 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .fragment = true}},
		{"fragment behind a routing header",
		 V6("18", "2b") "2c 00 00x6 11 00 00 01 00 00 00 07 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .fragment = true}},
		{"extension cut short",
		 V6("07", "00") "11 00 01 04 00x3",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 0}},
		{"extension longer than the packet",
		 V6("10", "00") "11 02 01 04 00x4 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17}},
		{"extension of 2048 bytes",
		 V6("10", "00") "11 ff 01 04 00x4 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17}},
		{"nothing behind the extension",
		 V6("08", "00") "11 00 01 04 00x4",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17}},
		{"authentication header: not walked",
		 V6("10", "33") "11 01 00x6 " UDP53,
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 51}},
	};

	CHECK(rows);
}

Test(parse, MAL_ROCE_SHORT_udp_may_say_that_it_ends_before)
{
	/* "UDP length wrong": what UDP doesn't count as its own is no base transport header. */
	for (uint32_t length = 0; length < 64; length++) {
		struct frame frame = FRAME(.destination_mac = 1, .source_mac = 2, .family = 4,
					   .roce = true, .qp = 77, .psn = 88, .payload_bytes = 40);
		struct facts is;

		store_u16(frame.byte + 14 + 20 + 4, length);
		is = facts_parse(frame.byte, frame.size, frame.size);
		cr_expect(is.sound && is.ports, "%u", length);
		cr_expect_eq(is.roce, length >= 20, "%u", length);
	}
}

Test(parse, roce_fields_are_24_bits)
{
	static const struct row rows[] = {
		{"all other bits set",
		 MACS "86 dd 60 00 00 00 00 18 11 40 " IPV6_ADDRESSES
		      "c0 00 12 b7 00 18 00 00 ff ff ff ff ff ab cd ef ff 12 34 56 00x4",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 40, .roce = true, .qp = 0xabcdef,
		  .psn = 0x123456}},
		{"from port 4791 isn't to port 4791",
		 MACS "86 dd 60 00 00 00 00 18 11 40 " IPV6_ADDRESSES
		      "12 b7 c0 00 00 18 00 00 ffx12 00x4",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 17, .ports = true, .source_port = 4791,
		  .destination_port = 0xc000, .l4_offset = 40}},
		{"TCP to port 4791 isn't RoCE",
		 MACS "86 dd 60 00 00 00 00 18 06 40 " IPV6_ADDRESSES "c0 00 12 b7 00x8 50 00x11",
		 0,
		 {IPV6_FACTS, .ttl = 64, .protocol = 6, .ports = true, .source_port = 0xc000,
		  .destination_port = 4791, .l4_offset = 40}},
	};

	CHECK(rows);
}
