/* SPDX-License-Identifier: BSD-3-Clause */
/* A ring of looks at counters: which ones are there, and what was counted between two. */
#include <criterion/criterion.h>

#include "control/history.h"

#define PORTS 2
#define LOOKS 4

static struct history *history;

static void look(uint64_t tx_bytes)
{
	struct history_look *next = history_next(history);

	next->time_ns = tx_bytes;
	next->monotonic_ns = tx_bytes;
	for (uint16_t i = 0; i < PORTS; i++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			next->port[i].queue[p].tx_bytes = (i + 1u) * tx_bytes + p;
}

static void start(void)
{
	history = history_create(PORTS, LOOKS);
	cr_assert_not_null(history);
}

static void stop(void)
{
	history_free(history);
}

TestSuite(history, .init = start, .fini = stop);

Test(history, is_empty_at_first)
{
	cr_expect_eq(history_newest(history), 0);
	cr_expect_eq(history_oldest(history), 0);
	cr_expect_null(history_at(history, 0));
	cr_expect_null(history_at(history, 1));
}

Test(history, keeps_the_last_looks_and_no_other)
{
	for (uint64_t s = 1; s <= LOOKS + 3; s++) {
		look(100 * s);
		cr_expect_eq(history_newest(history), s);
		cr_expect_eq(history_oldest(history), s <= LOOKS ? 1 : s - LOOKS + 1);
	}
	cr_expect_null(history_at(history, 3));
	cr_expect_null(history_at(history, LOOKS + 4));
	for (uint64_t s = 4; s <= LOOKS + 3; s++) {
		const struct history_look *at = history_at(history, s);

		cr_assert_not_null(at, "look %lu", s);
		cr_expect_eq(at->sequence, s);
		cr_expect_eq(at->port[1].queue[7].tx_bytes, 200 * s + 7, "the last port is whole");
	}
}

Test(history, growth_is_of_one_priority_or_of_all)
{
	struct history_counters sum = {0};
	const struct history_look *before, *after;

	look(100);
	look(150);
	before = history_at(history, 1);
	after = history_at(history, 2);
	history_add_growth(&sum, &before->port[1], &after->port[1], 3);
	cr_expect_eq(sum.tx_bytes, 100);
	history_add_growth(&sum, &before->port[0], &after->port[0], PRIORITY_COUNT);
	cr_expect_eq(sum.tx_bytes, 100 + 8 * 50);
	cr_expect_eq(sum.rx_bytes, 0);
}

/*
 * 300 seconds have 301 ends. A look has three numbers, and three for each of 64 workers; a port six, and eleven for
 * each of eight priorities.
 */
Test(history, memory_is_what_the_looks_take)
{
	cr_expect_eq(history_looks(300 * PS_PER_S), 301);
	cr_expect_eq(history_bytes(32, 301), 301u * (3 + 64 * 3 + 32 * (6 + 8 * 11)) * 8);
}
