/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/record_fixture.h"

#include <criterion/criterion.h>

void record_open(struct leaf_fixture *fixture, uint64_t shared_bytes, uint32_t slots,
		 uint64_t coarse_ps)
{
	pause_open(fixture, &(struct pause_params){.senders = 2,
						   .sink_bps = UINT64_C(8192000000),
						   .shared_bytes = shared_bytes,
						   .reserved_bytes = 3000,
						   .headroom_bytes = 100000,
						   .xon_offset_bytes = 5000,
						   .alpha_q8 = 256});
	cr_assert_eq(leaf_record_create(fixture->leaf, slots, coarse_ps), 0);
	/* As if it had been there at the first poll. */
	for (uint16_t w = 0; w < fixture->worker_count; w++)
		fixture->leaf->worker[w]->record_ps = fixture->now_ps;
	fixture_poll(fixture);
}

void record_burst(struct leaf_fixture *fixture, uint32_t frames, uint8_t priority)
{
	for (uint32_t i = 0; i < frames; i++)
		pause_inject(fixture, SENDER, priority, FRAME_BYTES);
}
