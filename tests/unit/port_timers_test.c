/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "dataplane/port_bits.h"
#include "dataplane/port_timers.h"

static uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

/* The reference: look at every port. */
struct reference {
	bool armed[PORT_COUNT_MAX];
	uint64_t due_ps[PORT_COUNT_MAX];
};

/* The earliest, of equal ones that of the lowest port; -1: none. */
static int reference_first(const struct reference *reference)
{
	int first = -1;

	for (int port = 0; port < PORT_COUNT_MAX; port++) {
		if (!reference->armed[port])
			continue;
		if (first < 0 || time_after(reference->due_ps[first], reference->due_ps[port]))
			first = port;
	}
	return first;
}

static void compare(const struct port_timers *timers, const struct reference *reference,
		    uint64_t now_ps, const char *after)
{
	int first = reference_first(reference);
	uint32_t armed = 0;

	for (uint16_t port = 0; port < PORT_COUNT_MAX; port++) {
		cr_assert_eq(port_timers_armed(timers, port), reference->armed[port], "%s", after);
		armed += reference->armed[port];
	}
	cr_assert_eq(timers->count, armed, "%s", after);
	cr_assert_eq(port_timers_due(timers, now_ps),
		     first >= 0 && !time_after(reference->due_ps[first], now_ps), "%s", after);
	if (first >= 0)
		cr_assert_eq(port_timers_next(timers), reference->due_ps[first], "%s", after);
}

/* @param ports few, so that the same ones are moved often; @param spread few: many equal times */
static void random_operations(uint64_t seed, uint64_t now_ps, uint32_t ports, uint32_t spread)
{
	static struct reference reference;
	static struct port_timers timers;
	uint64_t state = seed;

	memset(&reference, 0, sizeof(reference));
	port_timers_init(&timers);
	for (uint32_t step = 0; step < 4000; step++) {
		uint16_t port = (uint16_t)draw(&state, ports);
		uint32_t action = draw(&state, 10);

		if (action < 5) {
			uint64_t due_ps = now_ps + draw(&state, spread);

			port_timers_arm(&timers, port, due_ps);
			reference.armed[port] = true;
			reference.due_ps[port] = due_ps;
			compare(&timers, &reference, now_ps, "arm");
		} else if (action < 7) {
			port_timers_disarm(&timers, port);
			reference.armed[port] = false;
			compare(&timers, &reference, now_ps, "disarm");
		} else if (timers.count != 0) {
			int first = reference_first(&reference);

			cr_assert_eq(port_timers_pop(&timers), first);
			reference.armed[first] = false;
			compare(&timers, &reference, now_ps, "pop");
		}
		now_ps += draw(&state, spread / 16 + 2);
	}
	while (timers.count != 0) {
		int first = reference_first(&reference);

		cr_assert_eq(port_timers_pop(&timers), first);
		reference.armed[first] = false;
	}
	compare(&timers, &reference, now_ps, "the end");
}

Test(port_timers, do_what_a_look_at_every_port_would)
{
	random_operations(1, 0, PORT_COUNT_MAX, 1000000);
	random_operations(2, 0, 5, 1000000);
	random_operations(3, 0, PORT_COUNT_MAX, 3);
	random_operations(4, 0, 40, 40);
}

Test(port_timers, do_it_across_the_wrap_of_the_clock)
{
	random_operations(5, UINT64_MAX - 100000, PORT_COUNT_MAX, 10000);
	random_operations(6, (UINT64_C(1) << 63) - 50000, 64, 1000);
}

Test(port_timers, of_equal_times_the_lowest_port_comes_first)
{
	static struct port_timers timers;

	port_timers_init(&timers);
	for (uint16_t port = PORT_COUNT_MAX; port-- != 0;)
		port_timers_arm(&timers, port, 77);
	for (uint16_t port = 0; port < PORT_COUNT_MAX; port++)
		cr_assert_eq(port_timers_pop(&timers), port);
	cr_assert_not(port_timers_due(&timers, UINT64_MAX));
}

Test(port_bits, are_a_set)
{
	static bool reference[PORT_COUNT_MAX];
	struct port_bits set = {0};
	uint64_t state = 1;

	for (uint32_t step = 0; step < 20000; step++) {
		uint16_t port = (uint16_t)draw(&state, PORT_COUNT_MAX), visited, last = 0;
		/* Phases of growth and of shrinking, so that it is also empty now and then. */
		bool in = draw(&state, 100) < (step / 1500 % 2 == 0 ? 60u : 5u);
		uint32_t count = 0, wanted = 0;

		reference[port] = in;
		if (in)
			port_bits_set(&set, port);
		else
			port_bits_clear(&set, port);
		cr_assert_eq(port_bits_test(&set, port), in);
		if (step % 16 != 0)
			continue;
		for (uint32_t i = 0; i < PORT_COUNT_MAX; i++)
			wanted += reference[i];
		PORT_BITS_FOREACH(&set, visited)
		{
			cr_assert(reference[visited]);
			cr_assert(count == 0 || visited > last);
			last = visited;
			count++;
		}
		cr_assert_eq(count, wanted);
		cr_assert_eq(port_bits_empty(&set), wanted == 0);
	}
}

Test(port_bits, may_change_while_they_are_visited)
{
	struct port_bits set = {0};
	uint32_t count = 0;
	uint16_t port;

	for (uint16_t i = 0; i < PORT_COUNT_MAX; i += 3)
		port_bits_set(&set, i);
	PORT_BITS_FOREACH(&set, port)
	{
		port_bits_clear(&set, port);
		count++;
	}
	cr_assert_eq(count, (PORT_COUNT_MAX + 2) / 3);
	cr_assert(port_bits_empty(&set));
}
