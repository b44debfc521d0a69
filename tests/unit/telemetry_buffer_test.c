/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of what waits: buffers, pauses, marks and peaks. */
#include <criterion/criterion.h>
#include <time.h>

#include "dataplane/buffer.h"
#include "tests/unit/telemetry_client.h"
#include "tests/unit/telemetry_fake.h"

TestSuite(telemetry_buffer, .init = telemetry_client_start, .fini = telemetry_client_stop);

Test(telemetry_buffer, buffers_are_those_of_lossless_classes)
{
	struct reply reply;

	fake.config.class_count = 1;
	fake.config.classes[0].priority = 3;
	strcpy(fake.config.classes[0].name, "roce");
	fake.snapshot.lossless_mask = 1 << 3;
	fake.snapshot.port[1].pfc = PORT_PFC_SEND;
	/* [priority][ports], the CPU's port is the fifth. */
	fake.snapshot.buffer.pair[3 * 5 + 2] =
		(struct buffer_pair){.reserved_bytes = 8000, .headroom_bytes = 50000};
	fake.reasons = PAUSE_BUFFER | PAUSE_GUARD;
	reply = ask("/roceleaf/buffers");
	cr_assert_eq(reply.rows, 4);
	for (size_t row = 0; row < 4; row++) {
		cr_expect_eq(reply_number(&reply, "priority", row), 3);
		cr_expect_eq(reply_number(&reply, "used_bytes", row), row);
		cr_expect_str_eq(reply_text(&reply, "class", row), "roce");
		cr_expect_str_eq(reply_text(&reply, "reason", row), "buffer+guard");
		/* Who sends no PFC doesn't pause its peer. */
		cr_expect_str_eq(reply_text(&reply, "state", row), row == 1 ? "paused" : "untold");
		cr_expect_eq(reply_number(&reply, "headroom_bytes", row), row == 2 ? 50000 : 0);
		cr_expect_eq(reply_number(&reply, "reserved_bytes", row), row == 2 ? 8000 : 0);
		cr_expect_eq(reply_number(&reply, "lost_packets", row), row * 1000);
		cr_expect_eq(reply_number(&reply, "lost_bytes", row), 3);
	}
	cr_expect(has_counter(&reply, "lost_packets", "packets"));
	reply_free(&reply);

	fake.snapshot.buffer.packets_max = 1000;
	reply = ask("/roceleaf/pool");
	cr_assert_eq(reply.rows, 1);
	cr_expect_eq(reply_number(&reply, "shared_used_bytes", 0), 11);
	cr_expect_eq(reply_number(&reply, "shared_peak_bytes", 0), 12);
	cr_expect_eq(reply_number(&reply, "headroom_used_bytes", 0), 13);
	cr_expect_eq(reply_number(&reply, "headroom_peak_bytes", 0), 14);
	cr_expect_eq(reply_number(&reply, "packets_max", 0), 1000);
	cr_expect_eq(reply_number(&reply, "guarded", 0), 1);
	cr_expect_eq(reply_number(&reply, "guards", 0), 4);
	reply_free(&reply);
}

Test(telemetry_buffer, pauses_have_every_counter_with_times_in_ns)
{
	struct reply reply;

	fake.now_ps = 5000;
	fake.snapshot.lossless_mask = 1 << 3;
	reply = ask("/roceleaf/pfc");
	cr_assert_eq(reply.rows, 4 * PRIORITY_COUNT);
	for (size_t row = 0; row < reply.rows; row++) {
		cr_expect_eq(reply_number(&reply, "rx_frames", row), row);
		cr_expect_eq(reply_number(&reply, "rx_paused_ns", row), 5);
		cr_expect_eq(reply_number(&reply, "rx_paused", row), row % PRIORITY_COUNT == 3);
		cr_expect_eq(reply_number(&reply, "lossless", row), row % PRIORITY_COUNT == 3);
	}
	cr_expect(has_counter(&reply, "rx_paused_ns", "ns"));
	cr_expect(has_counter(&reply, "tx_paused_ns", "ns"));
#define EXPECT_(field, unit, help) \
	cr_expect(strcmp(unit, "ps") == 0 || has_counter(&reply, #field, unit), #field);
	PFC_COUNTERS(EXPECT_)
	reply_free(&reply);
	reply = ask("/roceleaf/pfc_ports");
	cr_assert_eq(reply.rows, 4);
	cr_expect_eq(reply_number(&reply, "rx_bad", 3), 3);
	PFC_PORT_COUNTERS(EXPECT_)
#undef EXPECT_
	reply_free(&reply);
}

Test(telemetry_buffer, pauses_say_what_the_watchdog_thinks_and_did)
{
	struct reply reply;

	fake.snapshot.lossless_mask = 1 << 3;
	fake.snapshot.watchdog.action = WATCHDOG_DROP;
	reply = ask("/roceleaf/pfc");
	for (size_t row = 0; row < reply.rows; row++) {
		size_t port = row / PRIORITY_COUNT, priority = row % PRIORITY_COUNT;
		const char *wanted = priority != 3 ? "-" : port > 1 ? "storm" : "ok";

		cr_expect_str_eq(reply_text(&reply, "watchdog", row), wanted, "row %zu", row);
		cr_expect_eq(reply_number(&reply, "watchdog_packets", row), port * 100);
		cr_expect_eq(reply_number(&reply, "watchdog_bytes", row), priority);
	}
	cr_expect(has_counter(&reply, "watchdog_packets", "packets"));
	reply_free(&reply);
	fake.snapshot.watchdog.action = WATCHDOG_OFF;
	reply = ask("/roceleaf/pfc");
	cr_expect_str_eq(reply_text(&reply, "watchdog", 3 * PRIORITY_COUNT + 3), "off");
	reply_free(&reply);
}

Test(telemetry_buffer, queues_that_mark_have_their_thresholds)
{
	struct reply reply;

	/* Queue 0 of port 1 has both; queue 3 of port 0 marks: 20 % is 2^32 / 5, rounded down, less one. */
	fake.marks[3 * 5 + 0] = (struct mark_table){.ecn_min_bytes = 100000,
						    .ecn_max_bytes = 400000,
						    .ecn_chance = 858993458,
						    .wred_min_bytes = UINT32_MAX};
	fake.marks[0 * 5 + 1] = (struct mark_table){.ecn_min_bytes = 1,
						    .ecn_max_bytes = 2,
						    .ecn_chance = UINT32_MAX,
						    .wred_min_bytes = 3,
						    .wred_max_bytes = 4,
						    .wred_chance = 429496728,
						    .half_life_ps = 7 * PS_PER_US};
	reply = ask("/roceleaf/ecn");
	cr_assert_eq(reply.rows, 2);
	cr_expect_eq(reply_number(&reply, "priority", 0), 3);
	cr_expect_eq(reply_number(&reply, "kmin_bytes", 0), 100000);
	cr_expect_eq(reply_number(&reply, "kmax_bytes", 0), 400000);
	cr_expect_eq(reply_number(&reply, "pmax_ppm", 0), 200000);
	cr_expect_eq(reply_number(&reply, "wred", 0), 0);
	cr_expect_eq(reply_number(&reply, "wred_min_bytes", 0), 0);
	cr_expect_str_eq(reply_text(&reply, "port", 1), "port1");
	cr_expect_eq(reply_number(&reply, "pmax_ppm", 1), 1000000);
	cr_expect_eq(reply_number(&reply, "wred_pmax_ppm", 1), 100000);
	cr_expect_eq(reply_number(&reply, "tx_packets", 1), 8);
	cr_expect_eq(reply_number(&reply, "wred_packets", 1), 1);
	cr_expect_eq(reply_number(&reply, "ecn_marked_bytes", 1), 900);
	cr_expect(has_counter(&reply, "ecn_marked_bytes", "bytes"));
	cr_expect_eq(reply_number(&reply, "half_life_ns", 0), 0);
	cr_expect_eq(reply_number(&reply, "average_bytes", 0), 0);
	cr_expect_eq(reply_number(&reply, "half_life_ns", 1), 7000);
	cr_expect_eq(reply_number(&reply, "average_bytes", 1), fake.now_ps / PS_PER_S);
	reply_free(&reply);
}

/* CNT-PAUSE-TIME: since the epoch; 0 where there was none. */
Test(telemetry_buffer, CNT_PAUSE_TIME_the_last_pauses_begin_is_a_time_of_day)
{
	uint64_t before_ns = (uint64_t)time(NULL) * 1000000000;
	struct reply reply = ask("/roceleaf/pfc");
	uint64_t after_ns = ((uint64_t)time(NULL) + 1) * 1000000000;

	for (size_t row = 0; row < reply.rows; row++) {
		uint64_t rx_ns = reply_number(&reply, "rx_last_ns", row);
		uint64_t tx_ns = reply_number(&reply, "tx_last_ns", row);

		if (row % PRIORITY_COUNT == 3)
			cr_expect(rx_ns >= before_ns - 3000000000000 &&
				  rx_ns <= after_ns - 3000000000000);
		else
			cr_expect_eq(rx_ns, 0);
		/* A worker's clock that is ahead makes no time to come. */
		if (row % PRIORITY_COUNT == 4)
			cr_expect(tx_ns >= before_ns && tx_ns <= after_ns);
		else
			cr_expect_eq(tx_ns, 0);
	}
	reply_free(&reply);
}

Test(telemetry_buffer, frames_of_mac_control_are_no_data)
{
	struct reply reply;

	fake.consumed = 2;
	reply = ask("/roceleaf/ports");
	/* Three were received by port 3. */
	cr_expect_eq(reply_number(&reply, "rx_packets", 3), 1);
	cr_expect_eq(reply_number(&reply, "consumed", 3), 2);
	reply_free(&reply);
}

Test(telemetry_buffer, peaks_come_in_three_copies)
{
	struct reply reply = ask("/roceleaf/peaks");

	cr_assert_str_eq(reply_text(&reply, "port", 11), "port1");
	cr_expect_eq(reply_number(&reply, "priority", 11), 3);
	cr_expect_eq(reply_number(&reply, "queue_user_bytes", 11), 100 + PEAK_USER);
	cr_expect_eq(reply_number(&reply, "queue_periodic_bytes", 11), 100 + PEAK_PERIODIC);
	cr_expect_eq(reply_number(&reply, "queue_persistent_bytes", 11), 100 + PEAK_PERSISTENT);
	cr_expect_eq(reply_number(&reply, "occupancy_user_bytes", 11), 3);
	cr_expect_eq(reply_number(&reply, "headroom_persistent_bytes", 11), 5);
	reply_free(&reply);
}
