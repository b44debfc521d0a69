/* SPDX-License-Identifier: BSD-3-Clause */
/* The tables of routed traffic that several uplinks share. */
#include <criterion/criterion.h>

#include "tests/unit/telemetry_client.h"
#include "tests/unit/telemetry_fake.h"

TestSuite(telemetry_balance, .init = telemetry_client_start, .fini = telemetry_client_stop);

/* Ports 1 and 2 are uplinks, the first with three times the weight of the second. */
static void make_uplinks(void)
{
	fake.group = (struct group){.kind = GROUP_VIA, .balanced = 2, .members = 0};
	fake.members[0] = (struct adjacency){.egress = 1, .weight = BALANCE_WEIGHT_MAX};
	fake.members[1] = (struct adjacency){.egress = 2, .weight = BALANCE_WEIGHT_MAX / 3 + 1};
	fake.snapshot.group = &fake.group;
	fake.snapshot.group_count = 1;
	fake.snapshot.adjacency = fake.members;
	fake.tables[1].link_up = true;
	fake.tables[1].rate_bps = UINT64_C(100000000000);
}

Test(telemetry_balance, uplinks_have_their_share_and_what_would_be_fair)
{
	struct reply reply;

	make_uplinks();
	fake.flows = 1;
	reply = ask("/roceleaf/balance");
	cr_assert_eq(reply.rows, 2);
	cr_expect_str_eq(reply_text(&reply, "port", 0), "port1");
	cr_expect_str_eq(reply_text(&reply, "state", 0), "up");
	cr_expect_str_eq(reply_text(&reply, "state", 1), "down");
	cr_expect_eq(reply_number(&reply, "speed_bps", 0), UINT64_C(100000000000));
	cr_expect_eq(reply_number(&reply, "weight_ppm", 0), 1000000);
	/* 750 of 1000 bytes in a second */
	cr_expect_eq(reply_number(&reply, "rate_bps", 0), 6000);
	cr_expect_eq(reply_number(&reply, "share_ppm", 0), 750000);
	cr_expect_eq(reply_number(&reply, "share_ppm", 1), 250000);
	/* 65536 / (65536 + 21846), rounded down */
	cr_expect_eq(reply_number(&reply, "fair_ppm", 0), 749994);
	cr_expect_eq(reply_number(&reply, "band", 1), 3);
	cr_expect(has_counter(&reply, "spread_bytes", "bytes"));
	cr_expect_eq(reply_number(&reply, "spread_bytes", 1), 2000);
	reply_free(&reply);

	reply = ask("/roceleaf/spread");
	cr_assert_eq(reply.rows, 1);
	/* 750000 / 749994 */
	cr_expect_eq(reply_number(&reply, "imbalance_ppm", 0), 1000008);
	cr_expect_eq(reply_number(&reply, "rate_bps", 0), 8000);
	cr_expect(has_counter(&reply, "flowlets", "flowlets"));
	cr_expect_eq(reply_number(&reply, "flowlets", 0), 9);
	cr_expect_eq(reply_number(&reply, "held_bytes_max", 0), 6);
	cr_expect_eq(reply_number(&reply, "restored", 0), 40);
	cr_expect_eq(reply_number(&reply, "late", 0), 2);
	/* for whatever reason */
	cr_expect_eq(reply_number(&reply, "given_up", 0), 4);
	cr_expect(has_counter(&reply, "late", "packets"));
	reply_free(&reply);
}

Test(telemetry_balance, without_traffic_or_uplinks_nothing_is_divided_by_nothing)
{
	struct reply reply = ask("/roceleaf/balance");

	cr_expect_eq(reply.rows, 0);
	reply_free(&reply);
	make_uplinks();
	reply = ask("/roceleaf/spread");
	cr_expect_eq(reply_number(&reply, "imbalance_ppm", 0), 0);
	reply_free(&reply);
	reply = ask("/roceleaf/flows");
	cr_expect_eq(reply.rows, 0);
	reply_free(&reply);
}

Test(telemetry_balance, flows_are_named_in_words_and_arrive_whole)
{
	struct reply reply;

	fake.flows = 500;
	fake.flow = (struct sketch_flow){
		.key = {.source = {10, 0, 0, 1},
			.destination = {10, 1, 0, 2},
			.ports = 0xb71200c0 /* c0 00 12 b7 on the wire */,
			.kind = KIND_IPV4,
			.protocol = 17,
			.priority = 3,
			.roce = 1},
		.over_bytes = 10,
		.egress = 2,
	};
	reply = ask("/roceleaf/flows");
	cr_assert_eq(reply.rows, 500);
	cr_expect_gt(reply.pages, 1);
	cr_expect_str_eq(reply_text(&reply, "source", 0), "10.0.0.1");
	cr_expect_eq(reply_number(&reply, "source_port", 0), 49152);
	cr_expect_eq(reply_number(&reply, "destination_port", 0), 4791);
	cr_expect_str_eq(reply_text(&reply, "destination", 0), "10.1.0.2");
	cr_expect_str_eq(reply_text(&reply, "protocol", 0), "roce");
	cr_expect_str_eq(reply_text(&reply, "class", 0), "-");
	cr_expect_str_eq(reply_text(&reply, "port", 0), "port2");
	cr_expect_eq(reply_number(&reply, "over_bps", 0), 80);
	for (size_t row = 0; row < reply.rows; row++) {
		cr_assert_eq(reply_number(&reply, "qp", row), row);
		cr_assert_eq(reply_number(&reply, "rate_bps", row), 8000 * (500 - row));
	}
	/* 500 of 1 + 2 + ... + 500 */
	cr_expect_eq(reply_number(&reply, "share_ppm", 0), 3992);
	reply_free(&reply);

	fake.flows = 1;
	fake.flow.key.kind = KIND_IPV6;
	fake.flow.key.protocol = 89;
	fake.flow.key.roce = 0;
	fake.flow.egress = SKETCH_EGRESS_SEVERAL;
	reply = ask("/roceleaf/flows");
	cr_expect_str_eq(reply_text(&reply, "source", 0), "a00:1::");
	cr_expect_str_eq(reply_text(&reply, "protocol", 0), "89");
	cr_expect_str_eq(reply_text(&reply, "port", 0), "several");
	reply_free(&reply);
}
