/* SPDX-License-Identifier: BSD-3-Clause */
/* Frames cut at every byte, in bursts, and mutated at random. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/frames.h"
#include "tests/unit/leaf_fixture.h"
#include "tests/unit/parse_reference.h"

Test(parse_random, MAL_ROCE_SHORT_transport_headers_may_be_cut_anywhere)
{
	static const struct {
		const char *name;
		bool tagged;
		uint8_t family, protocol;
		uint32_t bytes; /* of its transport header */
	} rows[] = {
		{"UDP", false, 4, 17, 8},         {"TCP", false, 4, 6, 20},
		{"UDP in IPv6", false, 6, 17, 8}, {"TCP in IPv6", false, 6, 6, 20},
		{"UDP, tagged", true, 4, 17, 8},  {"UDP in IPv6, tagged", true, 6, 17, 8},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame whole =
			FRAME(.destination_mac = 1, .source_mac = 2, .tagged = rows[i].tagged,
			      .vlan = 5, .family = rows[i].family, .protocol = rows[i].protocol,
			      .source6 = "fd00::1", .destination6 = "fd00::2",
			      .destination_port = 4791, .payload_bytes = 40);
		uint32_t l3 = rows[i].tagged ? 18 : 14, l4 = l3 + (rows[i].family == 4 ? 20 : 40);

		store_u16(whole.byte + l4 + 4, 48); /* the length, of UDP */
		for (uint32_t size = 0; size <= whole.size; size++) {
			/* The rest exists on the wire, or it doesn't. */
			struct facts partly = facts_parse(whole.byte, size, whole.size);
			struct facts cut = facts_parse(whole.byte, size, size);

			cr_expect_eq(partly.sound, size >= l4, "%s, %u bytes", rows[i].name, size);
			cr_expect_eq(cut.sound, size == whole.size, "%s, %u bytes", rows[i].name,
				     size);
			if (!cut.sound)
				cr_expect_eq(cut.drop, size < l4 ? DROP_TOO_SHORT : DROP_IP_HEADER,
					     "%s, %u bytes", rows[i].name, size);
			cr_expect_eq(partly.ports, size >= l4 + rows[i].bytes, "%s, %u bytes",
				     rows[i].name, size);
			cr_expect_eq(partly.roce, rows[i].protocol == 17 && size >= l4 + 20,
				     "%s, %u bytes", rows[i].name, size);
		}
	}
}

Test(parse_random, a_burst_is_parsed_like_its_frames)
{
	struct frame good = FRAME(.destination_mac = 1, .source_mac = 2, .family = 4,
				  .payload_bytes = 40, .virtual_bytes = 500);
	struct frame bad = good;
	struct rte_mbuf packet[32], *packets[32];
	struct parsed parsed[32];
	uint32_t wanted = 0xa5a50ff0;

	memset(packet, 0, sizeof(packet));
	bad.byte[24] ^= 1;
	for (uint32_t i = 0; i < 32; i++) {
		struct frame *frame = (wanted >> i & 1) != 0 ? &bad : &good;

		packets[i] = &packet[i];
		packet[i].buf_addr = frame->byte;
		packet[i].data_len = (uint16_t)frame->size;
		packet_virtual_bytes_set(&packet[i], frame->virtual_bytes);
	}
	cr_assert_eq(parse_burst(packets, 32, parsed), wanted);
	cr_assert_eq(parse_burst(packets, 5, parsed), wanted & 0x1f);
	for (uint32_t i = 0; i < 32; i++)
		cr_assert_eq(parsed[i].length, good.size + 500);
}

/* Sound frames with bytes changed, cut and lengthened at random: the reference says what holds. */
Test(parse_random, agrees_with_the_reference_on_mutated_frames)
{
	uint64_t state = 42;
	uint32_t sound = 0, ports = 0, roce = 0, fragments = 0;

	for (uint32_t i = 0; i < 200000; i++) {
		static const uint8_t extensions[] = {0, 43, 44, 60, 17, 6, 59};
		struct frame_spec spec = {
			.destination_mac = 0x020000000001 + draw(&state, 2),
			.source_mac = 0x020000000002,
			.tagged = draw(&state, 2) != 0,
			.vlan = (uint16_t)draw(&state, 4096),
			.family = draw(&state, 2) != 0 ? 4 : 6,
			.source6 = "fd00::1",
			.destination6 = "fd00::2",
			.protocol = extensions[draw(&state, 7)],
			.destination_port = 4791,
			.roce = draw(&state, 3) == 0,
			.payload_bytes = (uint16_t)draw(&state, 80),
		};
		struct frame frame = frame_of(&spec);
		uint32_t l3 = spec.tagged ? 18 : 14, beyond = 0;
		struct facts is, wanted;
		const char *differs;

		/* Small values, so that lengths and next headers often make sense. */
		for (uint32_t changes = draw(&state, 4); changes != 0; changes--)
			frame.byte[l3 + draw(&state, frame.size - l3)] =
				draw(&state, 2) != 0 ? (uint8_t)draw(&state, 256)
						     : extensions[draw(&state, 7)];
		if (spec.family == 4 && draw(&state, 8) != 0 && frame.size >= l3 + 60)
			frame_checksum_set(&frame, l3);
		if (draw(&state, 4) == 0)
			frame.size -= draw(&state, frame.size - l3);
		if (draw(&state, 4) == 0)
			beyond = draw(&state, 100);
		is = facts_parse(frame.byte, frame.size, frame.size + beyond);
		wanted = reference_parse(frame.byte, frame.size, frame.size + beyond);
		differs = facts_differ(&is, &wanted);
		cr_assert_null(differs, "frame %u: %s of %s", i, differs, frame_text(&frame));
		sound += is.sound;
		ports += is.ports;
		roce += is.roce;
		fragments += is.fragment;
	}
	/* The mix has something of everything, or this test says little. */
	cr_assert(sound > 50000 && ports > 10000 && roce > 3000 && fragments > 2000,
		  "%u sound, %u with ports, %u RoCE, %u fragments", sound, ports, roce, fragments);
}
