/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * MAC control frames byte by byte, from IEEE 802.3 annexes 31B and 31D and 802.1Q clause 36.
 * Identifiers such as PFC-FRAME name the case of a switch tester's catalogue.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/pfc_frame.h"

#define G UINT64_C(1000000000)

static const uint8_t port_mac[6] = {0x02, 0x00, 0x5e, 0x10, 0x20, 0x30};

/* Priorities 0, 3, 4 and 7 enabled, 4 is let go; times of the others are there on purpose. */
static const uint8_t sample[60] = {
	0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, /* destination */
	0x02, 0x00, 0x5e, 0x10, 0x20, 0x30, /* source */
	0x88, 0x08,                         /* EtherType */
	0x01, 0x01,                         /* opcode */
	0x00, 0x99,                         /* class-enable vector 1001 1001 */
	0x00, 0x01,                         /* 0: 1 quantum */
	0xaa, 0xaa,                         /* 1: not enabled */
	0xbb, 0xbb,                         /* 2: not enabled */
	0xff, 0xff,                         /* 3: 65535 */
	0x00, 0x00,                         /* 4: go on */
	0xcc, 0xcc,                         /* 5: not enabled */
	0xdd, 0xdd,                         /* 6: not enabled */
	0x12, 0x34,                         /* 7: 4660 */
};
static const struct pfc_frame sample_read = {0x99, {1, 0, 0, 65535, 0, 0, 0, 4660}};
static const struct pfc_frame nothing;

/* Reads a copy of exactly this size, so that a sanitizer sees the first byte beyond. */
static enum pfc_verdict read_copy(const uint8_t *frame, uint32_t size, struct pfc_frame *out)
{
	uint8_t *copy = calloc(size == 0 ? 1 : size, 1);
	enum pfc_verdict verdict;

	cr_assert_not_null(copy);
	memcpy(copy, frame, size);
	memset(out, 0xa5, sizeof(*out));
	verdict = pfc_frame_read(copy, size, out);
	free(copy);
	return verdict;
}

static void expect_read(const char *name, const uint8_t *frame, uint32_t size,
			enum pfc_verdict wanted, const struct pfc_frame *meaning)
{
	struct pfc_frame is;
	enum pfc_verdict verdict = read_copy(frame, size, &is);

	cr_expect_eq(verdict, wanted, "%s: verdict %d, wanted %d", name, (int)verdict, (int)wanted);
	cr_expect_eq(is.enabled, meaning->enabled, "%s: enabled %02x", name, is.enabled);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		cr_expect_eq(is.quanta[p], meaning->quanta[p], "%s: priority %u, %u quanta", name,
			     p, is.quanta[p]);
}

Test(pfc_frame, reads_the_enabled_priorities_only)
{
	expect_read("sample", sample, sizeof(sample), PFC_FRAME_PRIORITY, &sample_read);
}

Test(pfc_frame, HON_MULTI_every_priority_has_a_bit_and_a_time_of_its_own)
{
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		struct pfc_frame meaning = {.enabled = (uint8_t)(1u << p)};
		uint8_t frame[60];

		memcpy(frame, sample, sizeof(frame));
		frame[17] = (uint8_t)(1u << p);
		for (uint32_t i = 0; i < 16; i++)
			frame[18 + i] = (uint8_t)(0x10 + i);
		meaning.quanta[p] = (uint16_t)((0x10 + 2 * p) * 256 + 0x11 + 2 * p);
		expect_read("one bit", frame, sizeof(frame), PFC_FRAME_PRIORITY, &meaning);
	}
}

Test(pfc_frame, HON_CEV0_times_without_a_bit_pause_nothing)
{
	uint8_t frame[60];

	memcpy(frame, sample, sizeof(frame));
	frame[17] = 0;
	expect_read("empty vector", frame, sizeof(frame), PFC_FRAME_PRIORITY, &nothing);
}

Test(pfc_frame, HON_ZERO_SMAC_the_source_is_not_looked_at)
{
	static const uint8_t sources[][6] = {
		{0, 0, 0, 0, 0, 0},
		{0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
		{0x01, 0x80, 0xc2, 0x00, 0x00, 0x01},
	};

	for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
		uint8_t frame[60];

		memcpy(frame, sample, sizeof(frame));
		memcpy(frame + 6, sources[i], 6);
		expect_read("source", frame, sizeof(frame), PFC_FRAME_PRIORITY, &sample_read);
	}
}

Test(pfc_frame, HON_GLOBAL_the_time_of_a_global_pause_is_that_of_all)
{
	static const struct pfc_frame meaning = {
		0xff, {0xbeef, 0xbeef, 0xbeef, 0xbeef, 0xbeef, 0xbeef, 0xbeef, 0xbeef}};
	static const struct pfc_frame resume = {.enabled = 0xff};
	uint8_t frame[60] = {0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x5e,
			     0x10, 0x20, 0x30, 0x88, 0x08, 0x00, 0x01, 0xbe, 0xef};

	expect_read("pause", frame, sizeof(frame), PFC_FRAME_GLOBAL, &meaning);
	/* Four bytes after the EtherType are enough, three are not. */
	expect_read("no padding", frame, 18, PFC_FRAME_GLOBAL, &meaning);
	expect_read("half a time", frame, 17, PFC_FRAME_SHORT, &nothing);
	frame[16] = 0;
	frame[17] = 0;
	expect_read("resume", frame, sizeof(frame), PFC_FRAME_GLOBAL, &resume);
}

Test(pfc_frame, MAL_PFC_SHORT_cut_after_k_of_eight_times_is_bad)
{
	/* 14 of Ethernet, 2 of opcode, 2 of vector, 16 of times: 34 are whole, padding or not. */
	for (uint32_t k = 0; k < 8; k++) {
		char name[32];

		snprintf(name, sizeof(name), "%u times", k);
		expect_read(name, sample, 18 + 2 * k, PFC_FRAME_SHORT, &nothing);
		snprintf(name, sizeof(name), "%u times and a half", k);
		expect_read(name, sample, 18 + 2 * k + 1, PFC_FRAME_SHORT, &nothing);
	}
	for (uint32_t size = 0; size < 18; size++)
		expect_read("no times", sample, size, PFC_FRAME_SHORT, &nothing);
	for (uint32_t size = 34; size <= sizeof(sample); size++)
		expect_read("all times", sample, size, PFC_FRAME_PRIORITY, &sample_read);
}

Test(pfc_frame, MAL_PFC_OTHER_to_any_other_address_is_not_obeyed)
{
	static const uint8_t unicast[6] = {0x02, 0x00, 0x00, 0x00, 0x00, 0x01};
	uint8_t frame[60];

	memcpy(frame, sample, sizeof(frame));
	memcpy(frame, unicast, 6);
	expect_read("unicast", frame, sizeof(frame), PFC_FRAME_ADDRESS, &nothing);
	frame[14] = 0;
	expect_read("unicast, global", frame, sizeof(frame), PFC_FRAME_ADDRESS, &nothing);
	expect_read("unicast and cut", frame, 18, PFC_FRAME_ADDRESS, &nothing);
	expect_read("unicast, cut before the end of opcode and time", frame, 17, PFC_FRAME_SHORT,
		    &nothing);
	for (uint32_t bit = 0; bit < 48; bit++) {
		memcpy(frame, sample, sizeof(frame));
		frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		expect_read("one bit off", frame, sizeof(frame), PFC_FRAME_ADDRESS, &nothing);
	}
}

Test(pfc_frame, MAL_PFC_OTHER_unknown_opcodes_are_not_obeyed)
{
	for (uint32_t opcode = 0; opcode <= UINT16_MAX; opcode++) {
		struct pfc_frame out;
		uint8_t frame[60];

		if (opcode == 0x0001 || opcode == 0x0101)
			continue;
		memcpy(frame, sample, sizeof(frame));
		frame[14] = (uint8_t)(opcode >> 8);
		frame[15] = (uint8_t)opcode;
		cr_assert_eq(pfc_frame_read(frame, sizeof(frame), &out), PFC_FRAME_OPCODE, "%04x",
			     opcode);
		cr_assert_eq(pfc_frame_read(frame, 18, &out), PFC_FRAME_OPCODE, "%04x", opcode);
		cr_assert_eq(pfc_frame_read(frame, 17, &out), PFC_FRAME_SHORT, "%04x", opcode);
		cr_assert_eq(out.enabled, 0);
	}
}

Test(pfc_frame, MAL_PFC_OTHER_reserved_bits_of_the_vector_change_nothing)
{
	for (uint32_t reserved = 1; reserved <= UINT8_MAX; reserved++) {
		uint8_t frame[60];

		memcpy(frame, sample, sizeof(frame));
		frame[16] = (uint8_t)reserved;
		expect_read("reserved", frame, sizeof(frame), PFC_FRAME_PRIORITY, &sample_read);
	}
}

static void expect_frame(const char *name, const struct pfc_frame *pfc, const uint8_t wanted[60])
{
	uint8_t frame[PFC_FRAME_BYTES];

	memset(frame, 0xa5, sizeof(frame));
	cr_assert_eq(pfc_frame_write(frame, port_mac, pfc), 60);
	for (uint32_t i = 0; i < 60; i++)
		cr_expect_eq(frame[i], wanted[i], "%s: byte %u is %02x, not %02x", name, i,
			     frame[i], wanted[i]);
}

Test(pfc_frame, PFC_FRAME_written_as_the_standard_draws_it)
{
	/* As sample, but with times of 0 where no bit is set, though they are given. */
	static const struct pfc_frame pfc = {0x99, {1, 0xaaaa, 0xbbbb, 65535, 0, 5, 6, 4660}};
	static const struct pfc_frame all = {0xff, {1, 2, 3, 4, 5, 6, 7, 256}}, none = {0, {9, 9}};
	uint8_t wanted[60];

	memcpy(wanted, sample, sizeof(wanted));
	memset(wanted + 20, 0, 4);
	memset(wanted + 28, 0, 4);
	expect_frame("several", &pfc, wanted);
	wanted[17] = 0xff;
	for (uint32_t p = 0; p < 7; p++) {
		wanted[18 + 2 * p] = 0;
		wanted[19 + 2 * p] = (uint8_t)(p + 1);
	}
	wanted[32] = 1;
	wanted[33] = 0;
	expect_frame("all", &all, wanted);
	wanted[17] = 0;
	memset(wanted + 18, 0, 16);
	expect_frame("none", &none, wanted);
}

Test(pfc_frame, PFC_FRAME_xon_is_an_enabled_priority_with_time_zero)
{
	static const struct pfc_frame xon = {.enabled = 0x08};
	static const uint8_t wanted[60] = {
		0x01, 0x80, 0xc2, 0x00, 0x00, 0x01, 0x02, 0x00, 0x5e,
		0x10, 0x20, 0x30, 0x88, 0x08, 0x01, 0x01, 0x00, 0x08, /* all the rest is 0 */
	};

	expect_frame("xon of priority 3", &xon, wanted);
	expect_read("xon of priority 3", wanted, sizeof(wanted), PFC_FRAME_PRIORITY, &xon);
}

Test(pfc_frame, PFC_SRC_MAC_is_the_one_given)
{
	static const uint8_t other[6] = {0x0c, 0x42, 0xa1, 0xfe, 0xdc, 0xba};
	uint8_t frame[PFC_FRAME_BYTES];

	pfc_frame_write(frame, other, &sample_read);
	cr_assert_arr_eq(frame + 6, other, 6);
	pfc_frame_write(frame, port_mac, &sample_read);
	cr_assert_arr_eq(frame + 6, port_mac, 6);
}

Test(pfc_frame, what_is_written_reads_the_same)
{
	for (uint32_t enabled = 0; enabled <= UINT8_MAX; enabled++) {
		struct pfc_frame pfc = {.enabled = (uint8_t)enabled};
		uint8_t frame[PFC_FRAME_BYTES];

		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			if ((enabled >> p & 1) != 0)
				pfc.quanta[p] = (uint16_t)(enabled * 257 + p * 4099);
		pfc_frame_write(frame, port_mac, &pfc);
		expect_read("written", frame, sizeof(frame), PFC_FRAME_PRIORITY, &pfc);
	}
}

Test(pfc_frame, HON_EXPIRE_a_quantum_is_512_bit_times_of_the_ports_speed)
{
	static const struct {
		uint64_t rate_bps;
		uint64_t quantum_ps; /* 512 / rate */
		uint64_t longest_ps; /* 65535 of them */
	} rows[] = {
		{1000000, 512 * PS_PER_US, UINT64_C(33553920) * PS_PER_US}, /* 33.55 s */
		{1 * G, 512000, UINT64_C(33553920000)},
		{10 * G, 51200, UINT64_C(3355392000)},
		{25 * G, 20480, UINT64_C(1342156800)},
		{40 * G, 12800, UINT64_C(838848000)}, /* 838.8 us */
		{50 * G, 10240, UINT64_C(671078400)},
		{100 * G, 5120, UINT64_C(335539200)}, /* 335.5 us */
		{200 * G, 2560, UINT64_C(167769600)},
		{400 * G, 1280, UINT64_C(83884800)}, /* 83.9 us */
		{800 * G, 640, UINT64_C(41942400)},
		{1600 * G, 320, UINT64_C(20971200)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t rate_bps = rows[i].rate_bps;

		cr_expect_eq(pfc_quanta_ps(0, rate_bps), 0);
		cr_expect_eq(pfc_quanta_ps(1, rate_bps), rows[i].quantum_ps, "%" PRIu64, rate_bps);
		cr_expect_eq(pfc_quanta_ps(65535, rate_bps), rows[i].longest_ps, "%" PRIu64,
			     rate_bps);
		for (uint32_t q = 0; q <= UINT16_MAX; q++)
			cr_assert_eq(pfc_quanta_ps((uint16_t)q, rate_bps), q * rows[i].quantum_ps);
	}
}

/* ceil(quanta * 512e12 / rate) in 128 bits. */
static uint64_t exact_ps(uint32_t quanta, uint64_t rate_bps)
{
	unsigned __int128 product = (unsigned __int128)quanta * 512 * 1000000000000u;

	return (uint64_t)((product + rate_bps - 1) / rate_bps);
}

/* Rates that don't divide 512e12, to both ends of the range. */
static const uint64_t odd_rates[] = {
	1000000,  1000001,      1234567,     3 * G,
	7 * G,    100 * G,      100 * G + 1, 333333333333,
	1600 * G, 1600 * G - 1, 150000000,   50 * G - UINT64_C(10000000), /* 200 ppm below 50G */
};

Test(pfc_frame, at_odd_rates_a_pause_is_rounded_up_to_one_picosecond)
{
	/* 3 Gb/s: 170666.67 ps a quantum; three are 512000 exactly. */
	cr_assert_eq(pfc_quanta_ps(1, 3 * G), 170667);
	cr_assert_eq(pfc_quanta_ps(2, 3 * G), 341334);
	cr_assert_eq(pfc_quanta_ps(3, 3 * G), 512000);
	for (size_t i = 0; i < sizeof(odd_rates) / sizeof(odd_rates[0]); i++)
		for (uint32_t q = 0; q <= UINT16_MAX; q++)
			cr_assert_eq(pfc_quanta_ps((uint16_t)q, odd_rates[i]),
				     exact_ps(q, odd_rates[i]), "%u quanta at %" PRIu64, q,
				     odd_rates[i]);
}

Test(pfc_frame, asks_for_the_fewest_quanta_that_last_long_enough)
{
	/* 100G, 5120 ps a quantum. */
	cr_assert_eq(pfc_quanta_for_ps(0, 100 * G), 0);
	cr_assert_eq(pfc_quanta_for_ps(1, 100 * G), 1);
	cr_assert_eq(pfc_quanta_for_ps(5120, 100 * G), 1);
	cr_assert_eq(pfc_quanta_for_ps(5121, 100 * G), 2);
	cr_assert_eq(pfc_quanta_for_ps(100 * PS_PER_US, 100 * G), 19532); /* 19531.25 */
	for (size_t i = 0; i < sizeof(odd_rates) / sizeof(odd_rates[0]); i++) {
		uint64_t rate_bps = odd_rates[i];

		for (uint32_t q = 1; q <= UINT16_MAX; q++) {
			uint64_t time_ps = exact_ps(q, rate_bps);

			cr_assert_eq(pfc_quanta_for_ps(time_ps, rate_bps), q, "%u at %" PRIu64, q,
				     rate_bps);
			cr_assert_eq(pfc_quanta_for_ps(time_ps + 1, rate_bps),
				     q < UINT16_MAX ? q + 1 : UINT16_MAX, "%u at %" PRIu64, q,
				     rate_bps);
		}
		cr_assert_eq(pfc_quanta_for_ps(UINT64_MAX, rate_bps), UINT16_MAX);
		cr_assert_eq(pfc_quanta_for_ps(100 * PS_PER_S, rate_bps), UINT16_MAX);
	}
}
