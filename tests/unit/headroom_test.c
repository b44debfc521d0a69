/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include <inttypes.h>
#include <string.h>

#include "config/headroom.h"

#define G UINT64_C(1000000000)

/* Quanta of IEEE 802.3 annex 31B.3.7; between them the next higher speed's. */
Test(headroom, takes_the_standards_response_limits)
{
	static const struct {
		uint64_t rate_bps;
		uint64_t quanta;
	} rows[] = {{RATE_BPS_MIN, 67}, {1 * G, 67},     {10 * G, 67},       {10 * G + 1, 80},
		    {25 * G, 80},       {40 * G, 118},   {50 * G, 147},      {56 * G, 394},
		    {100 * G, 394},     {200 * G, 453},  {200 * G + 1, 905}, {400 * G, 905},
		    {800 * G, 905},     {1600 * G, 1810}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		cr_expect_eq(headroom_response_quanta(rows[i].rate_bps), rows[i].quanta, "row %zu",
			     i);
}

/*
 * Ideal leaf, 3 m, standard's response: 100G, MTU 4200.
 *	own frame  4200 + 18 + 24 = 4242
 *	pause      60 + 24 = 84
 *	cable      2 * 3 m * 5 ns = 30 ns = 375 bytes
 *	response   394 * 64 = 25216
 *	peer frame 4200 + 18 = 4218, and as much that is just arriving
 */
Test(headroom, is_the_sum_of_its_terms_on_an_ideal_leaf)
{
	const struct headroom_input input = {.rate_bps = 100 * G,
					     .frame_bytes_max = 4218,
					     .cable_mm = 3000,
					     .response = CONFIG_RESPONSE_STANDARD,
					     .polls = 1};
	struct headroom h;

	headroom_compute(&input, &h);
	cr_expect_eq(h.poll_bytes, 0);
	cr_expect_eq(h.run_ahead_bytes, 0);
	cr_expect_eq(h.nic_bytes, 0);
	cr_expect_eq(h.own_frame_bytes, 4242);
	cr_expect_eq(h.pause_bytes, 84);
	cr_expect_eq(h.cable_bytes, 375);
	cr_expect_eq(h.response_bytes, 25216);
	cr_expect_eq(h.peer_frame_bytes, 4218);
	cr_expect_eq(h.arriving_bytes, 4218);
	cr_expect_eq(h.total_bytes, 4242 + 84 + 375 + 25216 + 4218 + 4218);
	cr_expect_eq(h.our_response_ps, 0);
	cr_expect_eq(h.standard_response_ps, 394 * 5120, "2.017 us: a quantum at 100G is 5.12 ns");
	cr_expect_eq(h.granted_bytes, 4242 + 84 + 375 + 4218);
}

/*
 * A software leaf at 400G (50 bytes a nanosecond): poll 10 us twice, run-ahead 10 us, NIC 1 us both
 * ways, 300 m of cable (2 * 300 * 5 ns = 3 us), another one as peer: 1 + 1 + 10 + 10 = 22 us.
 */
Test(headroom, counts_polls_ring_and_nic_of_a_software_leaf)
{
	const struct headroom_input input = {.rate_bps = 400 * G,
					     .frame_bytes_max = 9234,
					     .cable_mm = 300000,
					     .response = CONFIG_RESPONSE_ROCELEAF,
					     .poll_ps = 10 * PS_PER_US,
					     .polls = 2,
					     .run_ahead_ps = 10 * PS_PER_US,
					     .nic_delay_ps = PS_PER_US};
	struct headroom h;

	headroom_compute(&input, &h);
	cr_expect_eq(h.poll_bytes, 20000 * 50);
	cr_expect_eq(h.run_ahead_bytes, 10000 * 50);
	cr_expect_eq(h.nic_bytes, 2000 * 50);
	cr_expect_eq(h.cable_bytes, 3000 * 50);
	cr_expect_eq(h.response_bytes, 22000 * 50);
	cr_expect_eq(h.our_response_ps, 22 * PS_PER_US);
	cr_expect_eq(h.total_bytes,
		     (20000 + 10000 + 2000 + 3000 + 22000) * 50 + 9258 + 84 + 2 * 9234);
	cr_expect_eq(h.granted_bytes, (3000 + 22000) * 50 + 9258 + 84 + 9234);
}

Test(headroom, takes_a_response_time_of_the_users)
{
	struct headroom_input input = {.rate_bps = 10 * G,
				       .frame_bytes_max = 1518,
				       .response = CONFIG_RESPONSE_TIME,
				       .response_ps = 3 * PS_PER_US,
				       .polls = 1};
	struct headroom h;

	headroom_compute(&input, &h);
	cr_expect_eq(h.response_bytes, 3750, "1.25 bytes a nanosecond");
	input.response_ps = 0;
	headroom_compute(&input, &h);
	cr_expect_eq(h.response_bytes, 0);
}

/*
 * Cross-check with SONiC's calculator (buffer_headroom_mellanox.lua, byte-exact: cell 1, so its
 * occupancy factor is 1). For port MTU 9100 and lossless MTU 1024 it has
 *	xoff = ceil1024(1024 + 9100 + 2 L rate / 1.98e8 / 8 + 0.8 KB + quanta * 64)
 * whose published rows are below. Ours must have the same cable term within 1 % (5 ns a metre are
 * 2.0e8 m/s) and the same response, so: theirs without frames and MAC is ours within that and 1 KB.
 */
Test(headroom, agrees_with_sonics_calculator_on_cable_and_response)
{
	static const struct {
		uint64_t gbps, metres, xoff;
	} rows[] = {{25, 5, 16384},  {25, 40, 17408},  {25, 300, 25600},
		    {100, 5, 36864}, {100, 40, 41984}, {100, 300, 74752},
		    {400, 5, 71680}, {400, 40, 89088}, {400, 300, 221184}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct headroom_input input = {.rate_bps = rows[i].gbps * G,
						     .frame_bytes_max = 9118,
						     .cable_mm = (uint32_t)rows[i].metres * 1000,
						     .response = CONFIG_RESPONSE_STANDARD,
						     .polls = 1};
		double theirs = (double)rows[i].xoff - 1024 - 9100 - 819.2, ours;
		struct headroom h;

		headroom_compute(&input, &h);
		ours = (double)(h.cable_bytes + h.response_bytes);
		cr_expect_leq(ours, theirs + 1, "%lu G %lu m", rows[i].gbps, rows[i].metres);
		cr_expect_geq(ours, (theirs - 1024) * 0.99, "%lu G %lu m: %.0f of %.0f",
			      rows[i].gbps, rows[i].metres, ours, theirs);
	}
}

Test(headroom, rounds_bytes_up_and_times_down)
{
	cr_expect_eq(headroom_bytes(8, PS_PER_S), 1);
	cr_expect_eq(headroom_bytes(8, PS_PER_S + 1), 2);
	cr_expect_eq(headroom_bytes(8, 0), 0);
	cr_expect_eq(headroom_time_ps(3, 1), UINT64_C(2666666666666));
	cr_expect_eq(headroom_scale(7, 3, 2), 10);
}

/* Whatever comes in: each term at most the sum, and no sum smaller than one with smaller terms. */
Test(headroom, saturates_and_never_wraps)
{
	uint64_t state = 1;
	struct headroom before = {0};

	cr_expect_eq(headroom_add(UINT64_MAX, 1), UINT64_MAX);
	cr_expect_eq(headroom_scale(UINT64_MAX, UINT64_MAX, 1), UINT64_MAX);
	cr_expect_eq(headroom_bytes(UINT64_MAX, UINT64_MAX), UINT64_MAX);
	for (uint32_t i = 0; i < 20000; i++) {
		struct headroom_input input;
		uint64_t r[6];
		struct headroom h;

		for (uint32_t j = 0; j < 6; j++) {
			state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
			r[j] = state >> (state >> 58);
		}
		input = (struct headroom_input){.rate_bps = RATE_BPS_MIN + r[0] % RATE_BPS_MAX,
						.frame_bytes_max = (uint32_t)r[1],
						.cable_mm = (uint32_t)(r[1] >> 32),
						.response = (enum config_response)(r[2] % 3),
						.response_ps = r[2],
						.poll_ps = r[3],
						.polls = 1 + (uint32_t)(r[3] & 1),
						.run_ahead_ps = r[4],
						.nic_delay_ps = r[5]};
		headroom_compute(&input, &h);
		cr_assert_geq(h.total_bytes, h.poll_bytes);
		cr_assert_geq(h.total_bytes, h.run_ahead_bytes);
		cr_assert_geq(h.total_bytes, h.cable_bytes);
		cr_assert_geq(h.total_bytes, h.response_bytes);
		cr_assert_geq(h.total_bytes, h.nic_bytes);
		cr_assert_geq(h.granted_bytes, h.our_response_bytes);
		before = h;
		input.run_ahead_ps = headroom_add(input.run_ahead_ps, PS_PER_US);
		headroom_compute(&input, &h);
		cr_assert_geq(h.total_bytes, before.total_bytes);
	}
}

/*
 * A peer that sends frames of one length without a gap and uses its response limit up, against a leaf
 * whose wire has just taken a frame of the MTU. Its frame n begins (n - 1) frame times after the one
 * that crossed the threshold has left it; it begins no more once the pause has come (a cable after it
 * has left us) and the limit is over. When the limit was lowered by others, just before a frame was complete,
 * that one comes on top. @return bytes of what arrives after the crossing
 */
static uint64_t blaster_bytes(uint64_t rate_bps, uint32_t cable_mm, uint32_t mtu,
			      uint32_t frame_bytes)
{
	uint64_t bits =
		(mtu + 18 + 24 + 60 + 24) * UINT64_C(8) + headroom_response_quanta(rate_bps) * 512;
	/* Bits on the wire in 2 cables of 5 ns a metre: rate * mm * 10 ps. */
	uint64_t open_bits = bits + rate_bps / 1000000 * cable_mm / 100000;
	uint64_t frame_bits = (frame_bytes + 24) * UINT64_C(8);

	return ((open_bits + frame_bits - 1) / frame_bits + 1) * frame_bytes;
}

Test(headroom, holds_a_peer_at_its_limit_and_is_not_padded)
{
	static const uint64_t rates[] = {1, 10, 25, 100, 400};
	static const uint32_t cables_mm[] = {1000, 3000, 40000, 300000, 2000000};
	static const uint32_t mtus[] = {1500, 4200, 9216};

	for (uint32_t i = 0; i < 5 * 5 * 3; i++) {
		const struct headroom_input input = {.rate_bps = rates[i % 5] * G,
						     .frame_bytes_max = mtus[i / 25] + 18,
						     .cable_mm = cables_mm[i / 5 % 5],
						     .response = CONFIG_RESPONSE_STANDARD,
						     .polls = 1};
		uint32_t mtu = mtus[i / 25];
		uint64_t used = 0;
		struct headroom h;

		headroom_compute(&input, &h);
		for (uint32_t bytes = 60; bytes <= mtu + 18; bytes++) {
			used = blaster_bytes(input.rate_bps, input.cable_mm, mtu, bytes);
			cr_assert_leq(used, h.total_bytes, "%u bytes, case %u", bytes, i);
		}
		/* The last were frames of the MTU. */
		cr_expect_geq(used * 10, h.total_bytes * 6, "case %u", i);
	}
}
