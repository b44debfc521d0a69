/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "control/neighbours.h"

#define S UINT64_C(1000000000)

static const uint8_t mac1[6] = {2, 0, 0, 0, 0, 1}, mac2[6] = {2, 0, 0, 0, 0, 2};
static uint32_t asked;
static uint32_t asked_ifindex;

static void ask(void *context, uint32_t ifindex, const struct config_ip *address)
{
	(void)context;
	(void)address;
	asked++;
	asked_ifindex = ifindex;
}

static struct config_ip ip(uint32_t number)
{
	return (struct config_ip){
		.family = 4,
		.bytes = {10, (uint8_t)(number >> 16), (uint8_t)(number >> 8), (uint8_t)number},
	};
}

static struct neighbours *fresh(void)
{
	asked = 0;
	return neighbours_create(ask, NULL);
}

Test(neighbours, follow_what_the_kernel_says)
{
	struct neighbours *n = fresh();
	struct config_ip a = ip(1);

	cr_assert(neighbours_update(n, 5, &a, mac1, 0), "new");
	cr_assert_not(neighbours_update(n, 5, &a, mac1, 0), "known");
	cr_assert(neighbours_update(n, 5, &a, mac2, 0), "moved");
	cr_assert_arr_eq(neighbours_find(n, 5, &a)->mac, mac2, 6);
	cr_assert_null(neighbours_find(n, 6, &a), "another TAP");
	cr_assert(neighbours_update(n, 5, &a, NULL, 0), "gone");
	cr_assert_null(neighbours_find(n, 5, &a), "and forgotten: nobody needs it");
	cr_assert_not(neighbours_update(n, 5, &a, NULL, 0));
	cr_assert_eq(neighbours_count(n), 0);
	neighbours_free(n);
}

Test(neighbours, ask_once_per_retry_for_what_packets_wait_for)
{
	struct neighbours *n = fresh();
	struct config_ip a = ip(1);

	cr_assert_eq(neighbours_need(n, 7, &a, 1 * S), 0);
	cr_assert_eq(asked, 1);
	cr_assert_eq(asked_ifindex, 7);
	(void)neighbours_need(n, 7, &a, 1 * S + NEIGHBOUR_RETRY_NS - 1);
	cr_assert_eq(asked, 1, "not for each packet");
	(void)neighbours_need(n, 7, &a, 1 * S + NEIGHBOUR_RETRY_NS);
	cr_assert_eq(asked, 2);
	neighbours_free(n);
}

Test(neighbours, forget_what_nobody_answers_for)
{
	struct neighbours *n = fresh();
	struct config_ip a = ip(1);

	(void)neighbours_need(n, 7, &a, 1 * S);
	neighbours_tick(n, 1 * S + NEIGHBOUR_FORGET_NS - 1);
	cr_assert_eq(neighbours_count(n), 1);
	neighbours_tick(n, 1 * S + NEIGHBOUR_FORGET_NS);
	cr_assert_eq(neighbours_count(n), 0);
	neighbours_free(n);
}

Test(neighbours, never_give_up_next_hops_of_routes)
{
	struct neighbours *n = fresh();
	struct config_ip a = ip(1);
	uint64_t now = 1 * S;

	neighbours_want_begin(n);
	cr_assert_eq(neighbours_want(n, 7, &a, now), 0);
	cr_assert_eq(asked, 1, "from the start");
	for (uint32_t tries = 2; tries < 100; tries++) {
		now += NEIGHBOUR_RETRY_NS;
		neighbours_tick(n, now);
		cr_assert_eq(asked, tries);
	}
	(void)neighbours_update(n, 7, &a, mac1, now);
	(void)neighbours_update(n, 7, &a, NULL, now);
	cr_assert_eq(neighbours_count(n), 1, "kept when it fails");
	neighbours_tick(n, now);
	cr_assert_eq(asked, 99, "the kernel has just tried");
	neighbours_tick(n, now + NEIGHBOUR_RETRY_NS);
	cr_assert_eq(asked, 100);
	neighbours_want_begin(n);
	neighbours_tick(n, now + NEIGHBOUR_RETRY_NS);
	cr_assert_eq(neighbours_count(n), 0, "until no route names it");
	neighbours_free(n);
}

Test(neighbours, confirm_resolved_ones_now_and_then)
{
	struct neighbours *n = fresh();
	struct config_ip a = ip(1);

	(void)neighbours_update(n, 7, &a, mac1, 1 * S);
	neighbours_tick(n, 1 * S + NEIGHBOUR_CONFIRM_NS - 1);
	cr_assert_eq(asked, 0);
	neighbours_tick(n, 1 * S + NEIGHBOUR_CONFIRM_NS);
	cr_assert_eq(asked, 1);
	neighbours_tick(n, 1 * S + NEIGHBOUR_CONFIRM_NS + 1);
	cr_assert_eq(asked, 1);
	cr_assert_eq(neighbours_count(n), 1);
	neighbours_free(n);
}

Test(neighbours, lose_in_a_resync_what_the_kernel_no_longer_has)
{
	struct neighbours *n = fresh();
	struct config_ip a = ip(1), b = ip(2), next_hop = ip(3);

	(void)neighbours_update(n, 7, &a, mac1, 0);
	(void)neighbours_update(n, 7, &b, mac1, 0);
	(void)neighbours_want(n, 7, &next_hop, 1);
	(void)neighbours_update(n, 7, &next_hop, mac1, 1);
	neighbours_resync_begin(n);
	cr_assert_not(neighbours_update(n, 7, &a, mac1, 1));
	cr_assert(neighbours_resync_end(n));
	cr_assert_not_null(neighbours_find(n, 7, &a));
	cr_assert_null(neighbours_find(n, 7, &b));
	cr_assert_not(neighbours_find(n, 7, &next_hop)->resolved);
	neighbours_resync_begin(n);
	(void)neighbours_update(n, 7, &a, mac1, 1);
	cr_assert_not(neighbours_resync_end(n), "nothing has changed");
	neighbours_free(n);
}

Test(neighbours, forget_all_of_a_tap_that_is_gone)
{
	struct neighbours *n = fresh();

	for (uint32_t i = 0; i < 100; i++) {
		struct config_ip a = ip(i);

		(void)neighbours_update(n, i % 2, &a, mac1, 0);
	}
	cr_assert(neighbours_forget(n, 0));
	cr_assert_eq(neighbours_count(n), 50);
	for (uint32_t i = 0; i < neighbours_count(n); i++)
		cr_assert_eq(neighbours_entry(n, i)->ifindex, 1);
	cr_assert_not(neighbours_forget(n, 0));
	neighbours_free(n);
}

Test(neighbours, are_limited_in_number_and_found_among_many)
{
	struct neighbours *n = fresh();
	struct config_ip a;

	for (uint32_t i = 0; i < NEIGHBOURS_MAX; i++) {
		a = ip(i);
		cr_assert(neighbours_update(n, 1, &a, mac1, 0));
	}
	a = ip(NEIGHBOURS_MAX);
	cr_assert_not(neighbours_update(n, 1, &a, mac1, 0));
	cr_assert_eq(neighbours_need(n, 1, &a, 0), -ENOSPC);
	cr_assert_eq(neighbours_refused(n), 2);
	/* Every third goes; the others are where they were. */
	for (uint32_t i = 0; i < NEIGHBOURS_MAX; i += 3) {
		a = ip(i);
		cr_assert(neighbours_update(n, 1, &a, NULL, 0));
	}
	for (uint32_t i = 0; i < NEIGHBOURS_MAX; i++) {
		a = ip(i);
		cr_assert_eq(neighbours_find(n, 1, &a) != NULL, i % 3 != 0, "%u", i);
	}
	neighbours_free(n);
}

Test(neighbours, ask_a_bounded_number_at_a_time)
{
	struct neighbours *n = fresh();

	for (uint32_t i = 0; i < 2 * NEIGHBOUR_ASKS_PER_TICK; i++) {
		struct config_ip a = ip(i);

		(void)neighbours_update(n, 1, &a, mac1, 0);
	}
	neighbours_tick(n, NEIGHBOUR_CONFIRM_NS);
	cr_assert_eq(asked, NEIGHBOUR_ASKS_PER_TICK);
	neighbours_tick(n, NEIGHBOUR_CONFIRM_NS + 1 * S);
	cr_assert_eq(asked, 2 * NEIGHBOUR_ASKS_PER_TICK, "the others' turn");
	neighbours_free(n);
}
