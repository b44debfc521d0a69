/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks in IP headers, byte by byte (RFC 791, 8200, 3168) and by full recomputation of checksums
 * (RFC 1071). Identifiers such as ECN-CODEPOINT name the case of a switch tester's catalogue.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/ecn.h"
#include "tests/unit/bytes.h"

/* 20 bytes from 10.0.0.1 to 10.1.0.2, UDP, DSCP 26; its checksum is left to the test. */
static const uint8_t header4[20] = {0x45, 26 << 2, 0x01, 0x00, 0x12, 0x34, 0x40, 0x00, 64, 17,
				    0,    0,       10,   0,    0,    1,    10,   1,    0,  2};
/* DSCP 26 is 01 1010, so the traffic class 0110 10ee; flow label 5 abcd. */
static const uint8_t header6[40] = {0x66, 0x85, 0xab, 0xcd, 0x00, 0x10, 17, 64, 0xfd};

static void set_checksum(uint8_t *ip)
{
	bytes_store16(ip + 10, 0);
	bytes_store16(ip + 10, (uint16_t)~bytes_sum(ip, 20, 0));
}

static const struct {
	const char *name;
	uint8_t before, after;
	enum ecn_mark mark;
} codepoints[] = {
	{"Not-ECT", 0, 0, ECN_MARK_NOT_ECT},
	{"ECT(1)", 1, 3, ECN_MARK_SET},
	{"ECT(0)", 2, 3, ECN_MARK_SET},
	{"CE", 3, 3, ECN_MARK_WAS_CE},
};

Test(ecn, ECN_CODEPOINT_ipv4_at_any_alignment)
{
	for (uint32_t shift = 0; shift < 16; shift++)
		for (uint32_t i = 0; i < 4; i++) {
			uint8_t room[64], wanted[64];

			memset(room, 0xa5, sizeof(room));
			memcpy(room + shift, header4, sizeof(header4));
			room[shift + 1] |= codepoints[i].before;
			set_checksum(room + shift);
			memcpy(wanted, room, sizeof(room));
			wanted[shift + 1] = (uint8_t)(26 << 2 | codepoints[i].after);
			set_checksum(wanted + shift);
			cr_expect_eq(ecn_codepoint(room + shift, PACKET_IPV4),
				     codepoints[i].before);
			cr_expect_eq(ecn_mark(room + shift, PACKET_IPV4), codepoints[i].mark, "%s",
				     codepoints[i].name);
			cr_expect_arr_eq(room, wanted, sizeof(room), "%s at %u", codepoints[i].name,
					 shift);
		}
}

Test(ecn, ECN_IPV6_VLAN_marks_the_traffic_class_and_leaves_dscp_tag_and_label)
{
	for (uint32_t shift = 0; shift < 16; shift++)
		for (uint32_t i = 0; i < 4; i++) {
			/* Room in front for MAC addresses, tag of priority 3 in VLAN 100, type. */
			static const uint8_t tag[6] = {0x81, 0x00, 0x60, 0x64, 0x86, 0xdd};
			uint8_t room[80], wanted[80], *ip = room + shift + 18;

			memset(room, 0xa5, sizeof(room));
			memcpy(room + shift + 12, tag, sizeof(tag));
			memcpy(ip, header6, sizeof(header6));
			/* ECN lies in bits 5..4: 1000 0101 has it 00. */
			ip[1] = (uint8_t)(0x85 | codepoints[i].before << 4);
			memcpy(wanted, room, sizeof(room));
			wanted[shift + 18 + 1] = (uint8_t)(0x85 | codepoints[i].after << 4);
			cr_expect_eq(ecn_codepoint(ip, PACKET_IPV6), codepoints[i].before);
			cr_expect_eq(ecn_mark(ip, PACKET_IPV6), codepoints[i].mark, "%s",
				     codepoints[i].name);
			cr_expect_arr_eq(room, wanted, sizeof(room), "%s at %u", codepoints[i].name,
					 shift);
		}
}

Test(ecn, every_dscp_survives_a_mark)
{
	for (uint32_t dscp = 0; dscp < 64; dscp++) {
		uint8_t ip[40];

		memcpy(ip, header4, sizeof(header4));
		ip[1] = (uint8_t)(dscp << 2 | 2);
		set_checksum(ip);
		cr_assert_eq(ecn_mark(ip, PACKET_IPV4), ECN_MARK_SET);
		cr_assert_eq(ip[1], dscp << 2 | 3);
		memcpy(ip, header6, sizeof(header6));
		ip[0] = (uint8_t)(0x60 | dscp >> 2);
		ip[1] = (uint8_t)((dscp & 3) << 6 | 1 << 4 | 0x05);
		cr_assert_eq(ecn_mark(ip, PACKET_IPV6), ECN_MARK_SET);
		cr_assert_eq(ip[0], 0x60 | dscp >> 2);
		cr_assert_eq(ip[1], (dscp & 3) << 6 | 0x35);
	}
}

Test(ecn, a_frame_that_is_not_ip_is_left_alone)
{
	uint8_t bytes[40], before[40];

	memset(bytes, 0x52, sizeof(bytes)); /* would be ECT(0) as IPv4, ECT(1) as IPv6 */
	memcpy(before, bytes, sizeof(bytes));
	cr_assert_eq(ecn_codepoint(bytes, 0), ECN_NOT_ECT);
	cr_assert_eq(ecn_mark(bytes, 0), ECN_MARK_NOT_ECT);
	cr_assert_eq(ecn_mark(bytes, PACKET_CPU), ECN_MARK_NOT_ECT);
	cr_assert_arr_eq(bytes, before, sizeof(bytes));
	bytes[1] = 0x02;
	cr_assert_eq(ecn_mark(bytes, PACKET_IPV4 | PACKET_CPU), ECN_MARK_SET, "other flags");
}

/*
 * Every value that a header's identification can give to its checksum, ECT(0) and ECT(1): all 65535
 * checksums that come out of RFC 1071 (0xffff never does, as not all words are 0).
 */
Test(ecn, FWD_CSUM_EDGE_every_checksum_becomes_what_a_full_sum_says)
{
	for (uint8_t ect = 1; ect <= 2; ect++) {
		static uint8_t seen[65536];
		uint32_t distinct = 0, to_zero = 0;

		memset(seen, 0, sizeof(seen));
		for (uint32_t id = 0; id <= UINT16_MAX; id++) {
			uint8_t ip[20], wanted[20];

			memcpy(ip, header4, sizeof(header4));
			ip[1] |= ect;
			bytes_store16(ip + 4, id);
			set_checksum(ip);
			distinct += seen[bytes_load16(ip + 10)]++ == 0;
			memcpy(wanted, ip, sizeof(ip));
			wanted[1] |= 3;
			set_checksum(wanted);
			to_zero += bytes_load16(wanted + 10) == 0;
			cr_assert_eq(ecn_mark(ip, PACKET_IPV4), ECN_MARK_SET);
			cr_assert_arr_eq(ip, wanted, sizeof(ip), "identification %04x", id);
		}
		cr_assert_eq(distinct, 65535);
		cr_assert_geq(to_zero, 1);
	}
}

/* A header whose other words add up to 0xffff may carry either zero, 0x0000 or 0xffff. */
Test(ecn, FWD_CSUM_EDGE_both_zeros_become_what_a_full_sum_says)
{
	for (uint8_t ect = 1; ect <= 2; ect++)
		for (uint32_t zero = 0; zero <= 1; zero++) {
			uint8_t ip[20], wanted[20];

			memcpy(ip, header4, sizeof(header4));
			ip[1] |= ect;
			/* The identification takes what is missing to 0xffff. */
			bytes_store16(ip + 4, 0);
			bytes_store16(ip + 4, (uint16_t)~bytes_sum(ip, 20, 0));
			cr_assert_eq(bytes_sum(ip, 20, 0), 0xffff);
			memcpy(wanted, ip, sizeof(ip));
			wanted[1] |= 3;
			set_checksum(wanted);
			/* One or two more than 0xffff: 1 or 2, and their complement. */
			cr_assert_eq(bytes_load16(wanted + 10), 0xffff - (3 - ect));
			bytes_store16(ip + 10, zero * 0xffff);
			cr_assert_eq(ecn_mark(ip, PACKET_IPV4), ECN_MARK_SET);
			cr_assert_arr_eq(ip, wanted, sizeof(ip), "checksum %x", zero * 0xffff);
		}
}

static uint16_t swapped(uint32_t word)
{
	return (uint16_t)(word >> 8 | word << 8);
}

/* RFC 1624 equation 3, ~(~sum + ~old + new), over all 65536 sums, in the plainest way. */
Test(ecn, all_65536_checksums_follow_rfc_1624)
{
	for (uint32_t more = 1; more <= 2; more++)
		for (uint32_t sum = 0; sum <= UINT16_MAX; sum++) {
			uint32_t old = 0x4568, folded;

			folded = (~sum & 0xffff) + (~old & 0xffff) + (old + more);
			folded = (folded & 0xffff) + (folded >> 16);
			folded = (folded & 0xffff) + (folded >> 16);
			cr_assert_eq(ecn_checksum((uint16_t)sum, (uint16_t)more), ~folded & 0xffff,
				     "%04x", sum);
			/* The same with the bytes of all words exchanged. */
			cr_assert_eq(swapped(ecn_checksum(swapped(sum), swapped(more))),
				     ~folded & 0xffff, "%04x, exchanged", sum);
		}
}
