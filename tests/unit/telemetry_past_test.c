/* SPDX-License-Identifier: BSD-3-Clause */
/* What a leaf remembers of its counters, over DPDK's real socket: of which second, and all of one moment. */
#include <criterion/criterion.h>

#include "control/history.h"
#include "tests/unit/telemetry_client.h"
#include "tests/unit/telemetry_fake.h"
#include "tools/ctl/client.h"

#define LOOKS 4

static uint16_t ports;

/* Every counter of look n tells n, its port and its priority. */
static void look(void)
{
	struct history_look *next = history_next(fake.history);
	uint64_t n = next->sequence;

	next->monotonic_ns = n * 1000;
	next->worker[0].stalls = n;
	for (uint16_t i = 0; i < ports; i++) {
		next->port[i].tx_bytes = 1000000 * n + i;
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			next->port[i].queue[p].rx_pauses = 1000000 * n + 10 * i + p;
			next->port[i].fault[p].storms = 2000000 * n + 10 * i + p;
		}
	}
}

static void begin(uint16_t count)
{
	history_free(fake.history);
	fake_reset(count);
	ports = count;
	fake.history = history_create(count, LOOKS);
	cr_assert_not_null(fake.history);
}

static void start(void)
{
	telemetry_client_start();
	begin(3);
}

static void stop(void)
{
	history_free(fake.history);
	telemetry_client_stop();
}

TestSuite(telemetry_past, .init = start, .fini = stop);

static struct reply ask_past(const char *command, uint64_t cursor)
{
	struct ctl_error error = {.text = ""};
	struct client client;
	struct reply reply;

	reply_init(&reply);
	cr_assert_eq(client_open(&client, telemetry_client_dir, &error), 0, "%s", error.text);
	cr_assert_eq(client_fetch_from(&client, command, cursor, &reply, &error), 0, "%s",
		     error.text);
	client_close(&client);
	return reply;
}

/* Which look the answer is of; 0: no row. */
static uint64_t look_seen(const char *command, uint64_t cursor)
{
	struct reply reply = ask_past(command, cursor);
	uint64_t seen = reply_number(&reply, "look", 0);

	for (size_t row = 0; row < reply.rows; row++) {
		cr_assert_eq(reply_number(&reply, "look", row), seen);
		cr_assert_eq(reply_number(&reply, "looked_ns", row), 1000 * seen);
	}
	reply_free(&reply);
	return seen;
}

Test(telemetry_past, is_empty_before_the_first_look)
{
	cr_expect_eq(look_seen("/roceleaf/past_queues", 10), 0);
	cr_expect_eq(look_seen("/roceleaf/past_ports", 0), 0);
	cr_expect_eq(look_seen("/roceleaf/past_workers", UINT64_MAX), 0);
}

Test(telemetry_past, is_of_so_many_seconds_ago_or_the_oldest)
{
	static const char *const commands[] = {"/roceleaf/past_queues", "/roceleaf/past_ports",
					       "/roceleaf/past_workers"};

	for (int i = 0; i < 6; i++)
		look();
	for (int i = 0; i < 3; i++) {
		cr_expect_eq(look_seen(commands[i], 0), 6);
		cr_expect_eq(look_seen(commands[i], 2), 4);
		cr_expect_eq(look_seen(commands[i], 3), 3);
		cr_expect_eq(look_seen(commands[i], 4), 3, "the oldest");
		cr_expect_eq(look_seen(commands[i], UINT32_MAX), 3);
		cr_expect_eq(look_seen(commands[i], UINT64_C(5) << 32), 5, "by its number");
		cr_expect_eq(look_seen(commands[i], UINT64_C(7) << 32), 0, "which isn't there yet");
	}
}

Test(telemetry_past, rows_have_the_counters_of_their_queue)
{
	struct reply reply;

	look();
	look();
	reply = ask_past("/roceleaf/past_queues", 1);
	cr_assert_eq(reply.rows, 3 * PRIORITY_COUNT);
	cr_expect_str_eq(reply_text(&reply, "port", 13), "port1");
	cr_expect_eq(reply_number(&reply, "priority", 13), 5);
	cr_expect_eq(reply_number(&reply, "rx_pauses", 13), 1000015);
	cr_expect_eq(reply_number(&reply, "storms", 13), 2000015);
	reply_free(&reply);
	reply = ask_past("/roceleaf/past_ports", 0);
	cr_assert_eq(reply.rows, 3);
	cr_expect_str_eq(reply_text(&reply, "port", 2), "port2");
	cr_expect_eq(reply_number(&reply, "tx_bytes", 2), 2000002);
	reply_free(&reply);
	reply = ask_past("/roceleaf/past_workers", 0);
	cr_assert_eq(reply.rows, 1);
	cr_expect_eq(reply_number(&reply, "stalls", 0), 2);
	reply_free(&reply);
}

/* A look that comes between two pages changes nothing: the second page is asked for by its look's number. */
Test(telemetry_past, all_pages_are_of_one_moment)
{
	struct reply reply;

	begin(PORT_COUNT_MAX - 1);
	look();
	look();
	look();
	reply = ask_past("/roceleaf/past_queues", 1);
	cr_assert_eq(reply.rows, (size_t)ports * PRIORITY_COUNT);
	cr_assert_gt(reply.pages, 1);
	for (size_t row = 0; row < reply.rows; row++)
		cr_assert_eq(reply_number(&reply, "rx_pauses", row),
			     2000000 + 10 * (row / PRIORITY_COUNT) + row % PRIORITY_COUNT);
	reply_free(&reply);
	look();
	reply = ask_past("/roceleaf/past_queues", UINT64_C(2) << 32 | 4000);
	cr_assert_eq(reply.rows, (size_t)ports * PRIORITY_COUNT - 4000);
	cr_expect_eq(reply_number(&reply, "look", 0), 2);
	cr_expect_eq(reply_number(&reply, "rx_pauses", 0), 2000000 + 10 * 500);
	reply_free(&reply);
}
