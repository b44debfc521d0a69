/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/headroom.h"

#define QUANTUM_BYTES (PAUSE_QUANTUM_BITS / 8)

/* gcc and clang both have it on every 64-bit machine; __extension__ silences -Wpedantic. */
__extension__ typedef unsigned __int128 uint128;

static uint64_t saturate(uint128 value)
{
	return value > UINT64_MAX ? UINT64_MAX : (uint64_t)value;
}

uint64_t headroom_add(uint64_t a, uint64_t b)
{
	return saturate((uint128)a + b);
}

uint64_t headroom_scale(uint64_t a, uint64_t b, uint64_t c)
{
	return saturate((uint128)a * b / c);
}

uint64_t headroom_response_quanta(uint64_t rate_bps)
{
	static const struct {
		uint64_t rate_bps;
		uint32_t quanta;
	} limits[] = {
		{UINT64_C(10000000000), 67},   {UINT64_C(25000000000), 80},
		{UINT64_C(40000000000), 118},  {UINT64_C(50000000000), 147},
		{UINT64_C(100000000000), 394}, {UINT64_C(200000000000), 453},
		{UINT64_C(800000000000), 905},
	};
	const uint32_t count = sizeof(limits) / sizeof(limits[0]);
	const uint64_t fastest_bps = limits[count - 1].rate_bps;

	for (uint32_t i = 0; i < count; i++) {
		if (rate_bps <= limits[i].rate_bps)
			return limits[i].quanta;
	}
	return (uint64_t)limits[count - 1].quanta * ((rate_bps + fastest_bps - 1) / fastest_bps);
}

uint64_t headroom_bytes(uint64_t rate_bps, uint64_t time_ps)
{
	const uint64_t unit = 8 * PS_PER_S;

	return saturate(((uint128)rate_bps * time_ps + (unit - 1)) / unit);
}

uint64_t headroom_time_ps(uint64_t rate_bps, uint64_t bytes)
{
	return headroom_scale(bytes, 8 * PS_PER_S, rate_bps);
}

static uint64_t sum(const uint64_t *terms, uint32_t count)
{
	uint64_t total = 0;

	for (uint32_t i = 0; i < count; i++)
		total = headroom_add(total, terms[i]);
	return total;
}

/* From a pause's arrival at our port until we have nothing more under way than one frame. */
static uint64_t leaf_response_ps(const struct headroom_input *input)
{
	const uint64_t terms[] = {input->nic_delay_ps, input->nic_delay_ps, input->poll_ps,
				  input->run_ahead_ps};

	return sum(terms, sizeof(terms) / sizeof(terms[0]));
}

static uint64_t response_bytes(const struct headroom_input *input)
{
	switch (input->response) {
	case CONFIG_RESPONSE_STANDARD:
		return headroom_response_quanta(input->rate_bps) * QUANTUM_BYTES;
	case CONFIG_RESPONSE_ROCELEAF:
		return headroom_bytes(input->rate_bps, leaf_response_ps(input));
	case CONFIG_RESPONSE_TIME:
		break;
	}
	return headroom_bytes(input->rate_bps, input->response_ps);
}

void headroom_compute(const struct headroom_input *input, struct headroom *headroom)
{
	uint64_t rate_bps = input->rate_bps;
	uint64_t cable_ps = 2 * cable_delay_ps(input->cable_mm);
	uint64_t polls_ps = headroom_scale(input->poll_ps, input->polls, 1);

	*headroom = (struct headroom){
		.poll_bytes = headroom_bytes(rate_bps, polls_ps),
		.run_ahead_bytes = headroom_bytes(rate_bps, input->run_ahead_ps),
		.own_frame_bytes = (uint64_t)input->frame_bytes_max + WIRE_OVERHEAD_BYTES,
		.pause_bytes = HEADROOM_PAUSE_BYTES,
		.cable_bytes = headroom_bytes(rate_bps, cable_ps),
		.response_bytes = response_bytes(input),
		.peer_frame_bytes = input->frame_bytes_max,
		.arriving_bytes = input->frame_bytes_max,
		.nic_bytes = headroom_bytes(rate_bps, headroom_scale(input->nic_delay_ps, 2, 1)),
		.our_response_ps = leaf_response_ps(input),
		.standard_response_ps = headroom_time_ps(
			rate_bps, headroom_response_quanta(rate_bps) * QUANTUM_BYTES),
	};
	headroom->our_response_bytes = headroom_bytes(rate_bps, headroom->our_response_ps);
	headroom->total_bytes =
		sum((const uint64_t[]){headroom->poll_bytes, headroom->run_ahead_bytes,
				       headroom->own_frame_bytes, headroom->pause_bytes,
				       headroom->cable_bytes, headroom->response_bytes,
				       headroom->peer_frame_bytes, headroom->arriving_bytes,
				       headroom->nic_bytes},
		    9);
	headroom->granted_bytes =
		sum((const uint64_t[]){headroom->own_frame_bytes, headroom->pause_bytes,
				       headroom->cable_bytes, headroom->our_response_bytes,
				       headroom->peer_frame_bytes},
		    5);
}
