/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdint.h>

#include "control/hold.h"

/* Packets are opaque: numbers will do. */
static void *packet(uintptr_t number)
{
	return (void *)(number + 1);
}

static struct hold_key key(uint32_t ifindex, uint8_t last)
{
	return (struct hold_key){.ifindex = ifindex, .family = 4, .address = {10, 0, 0, last}};
}

static void empty(struct hold *hold)
{
	void *out[HOLD_PACKETS];

	(void)hold_expire(hold, UINT64_MAX, out, HOLD_PACKETS);
	hold_free(hold);
}

Test(hold, gives_packets_of_a_neighbour_back_in_order)
{
	struct hold *hold = hold_create();
	struct hold_key a = key(1, 1), b = key(1, 2);
	void *out[8];

	cr_assert_eq(hold_put(hold, &a, packet(0), 0), 1, "the first asks for the neighbour");
	cr_assert_eq(hold_put(hold, &b, packet(1), 0), 1);
	cr_assert_eq(hold_put(hold, &a, packet(2), 0), 0);
	cr_assert_eq(hold_put(hold, &a, packet(3), 0), 0);
	cr_assert_eq(hold_count(hold, &a), 3);
	cr_assert_eq(hold_take(hold, &a, out, 2), 2);
	cr_assert_eq(out[0], packet(0));
	cr_assert_eq(out[1], packet(2));
	cr_assert_eq(hold_take(hold, &a, out, 8), 1);
	cr_assert_eq(out[0], packet(3));
	cr_assert_eq(hold_take(hold, &a, out, 8), 0);
	cr_assert_eq(hold_put(hold, &a, packet(4), 0), 1, "it is the first again");
	cr_assert_eq(hold_count(hold, &b), 1);
	empty(hold);
}

Test(hold, tells_neighbours_apart_by_interface_family_and_address)
{
	struct hold *hold = hold_create();
	struct hold_key a = key(1, 1), other = a;

	cr_assert_eq(hold_put(hold, &a, packet(0), 0), 1);
	other.ifindex = 2;
	cr_assert_eq(hold_put(hold, &other, packet(1), 0), 1);
	other = a;
	other.family = 6;
	cr_assert_eq(hold_put(hold, &other, packet(2), 0), 1);
	other = a;
	other.address[15] = 1;
	cr_assert_eq(hold_put(hold, &other, packet(3), 0), 1);
	cr_assert_eq(hold_count(hold, &a), 1);
	empty(hold);
}

Test(hold, refuses_what_is_beyond_a_neighbours_share)
{
	struct hold *hold = hold_create();
	struct hold_key a = key(1, 1), b = key(1, 2);
	struct hold_stats stats;

	for (uintptr_t i = 0; i < HOLD_PER_KEY; i++)
		cr_assert_geq(hold_put(hold, &a, packet(i), 0), 0);
	cr_assert_eq(hold_put(hold, &a, packet(99), 0), -ENOBUFS);
	cr_assert_eq(hold_put(hold, &b, packet(100), 0), 1, "others are not concerned");
	hold_stats(hold, &stats);
	cr_assert_eq(stats.packets, HOLD_PER_KEY + 1);
	cr_assert_eq(stats.held, HOLD_PER_KEY + 1);
	cr_assert_eq(stats.refused, 1);
	empty(hold);
}

Test(hold, refuses_what_is_beyond_the_sum)
{
	struct hold *hold = hold_create();
	const uint32_t keys = HOLD_PACKETS / HOLD_PER_KEY;
	struct hold_key one_more = key(2, 0);
	void *out[1];

	for (uint32_t k = 0; k < keys; k++)
		for (uintptr_t i = 0; i < HOLD_PER_KEY; i++) {
			struct hold_key each = key(1, (uint8_t)k);

			cr_assert_geq(hold_put(hold, &each, packet(i), 0), 0);
		}
	cr_assert_eq(hold_put(hold, &one_more, packet(0), 0), -ENOBUFS);
	cr_assert_eq(hold_expire(hold, HOLD_NS, out, 1), 1);
	cr_assert_eq(hold_put(hold, &one_more, packet(0), 0), 1, "there is room for one again");
	empty(hold);
}

Test(hold, refuses_what_is_beyond_the_number_of_neighbours)
{
	struct hold *hold = hold_create();
	struct hold_key first = key(0, 0), each;
	void *out[1];

	for (uint32_t k = 0; k < HOLD_KEYS; k++) {
		each = key(k, 0);
		cr_assert_eq(hold_put(hold, &each, packet(k), 0), 1);
	}
	each = key(HOLD_KEYS, 0);
	cr_assert_eq(hold_put(hold, &each, packet(0), 0), -ENOBUFS);
	cr_assert_eq(hold_take(hold, &first, out, 1), 1);
	cr_assert_eq(hold_put(hold, &each, packet(0), 0), 1, "a place is free again");
	empty(hold);
}

Test(hold, expires_packets_when_their_time_is_over)
{
	struct hold *hold = hold_create();
	struct hold_key a = key(1, 1), b = key(1, 2);
	void *out[8];

	cr_assert_eq(hold_due_ns(hold), UINT64_MAX);
	(void)hold_put(hold, &a, packet(0), 100);
	(void)hold_put(hold, &b, packet(1), 200);
	(void)hold_put(hold, &a, packet(2), 300);
	cr_assert_eq(hold_due_ns(hold), 100 + HOLD_NS);
	cr_assert_eq(hold_expire(hold, 100 + HOLD_NS - 1, out, 8), 0);
	cr_assert_eq(hold_expire(hold, 200 + HOLD_NS, out, 8), 2);
	cr_assert_eq(out[0], packet(0));
	cr_assert_eq(out[1], packet(1));
	cr_assert_eq(hold_count(hold, &a), 1);
	cr_assert_eq(hold_due_ns(hold), 300 + HOLD_NS);
	cr_assert_eq(hold_take(hold, &a, out, 8), 1, "the rest is in order");
	cr_assert_eq(out[0], packet(2));
	hold_free(hold);
}

Test(hold, takes_from_the_middle_of_what_expires)
{
	struct hold *hold = hold_create();
	struct hold_key a = key(1, 1), b = key(1, 2), c = key(1, 3);
	void *out[8];

	(void)hold_put(hold, &a, packet(0), 1);
	(void)hold_put(hold, &b, packet(1), 2);
	(void)hold_put(hold, &c, packet(2), 3);
	cr_assert_eq(hold_take(hold, &b, out, 8), 1);
	cr_assert_eq(hold_expire(hold, HOLD_NS + 3, out, 8), 2);
	cr_assert_eq(out[0], packet(0));
	cr_assert_eq(out[1], packet(2));
	hold_free(hold);
}

Test(hold, has_nothing_to_expire_at_the_end_of_time)
{
	struct hold *hold = hold_create();
	void *out[1];

	cr_assert_eq(hold_expire(hold, UINT64_MAX, out, 1), 0);
	hold_free(hold);
}

/* Every packet that went in comes out once, whatever the order of things. */
Test(hold, loses_and_doubles_nothing)
{
	static uint8_t inside[20000];
	struct hold *hold = hold_create();
	uint32_t random = 1, left = 0;
	void *out[64];

	for (uintptr_t i = 0; i < sizeof(inside); i++) {
		struct hold_key each;
		uint32_t count = 0;

		random = random * 1664525 + 1013904223; /* Numerical Recipes, 7.1 */
		each = key(1, (uint8_t)(random >> 26));
		if (hold_put(hold, &each, packet(i), i) >= 0) {
			inside[i] = 1;
			left++;
		}
		if ((random >> 20 & 7) == 0)
			count = hold_take(hold, &each, out, 64);
		else if ((random >> 16 & 7) == 1)
			count = hold_expire(hold, HOLD_NS + i - 500, out, 64);
		for (uint32_t k = 0; k < count; k++, left--) {
			cr_assert_eq(inside[(uintptr_t)out[k] - 1], 1);
			inside[(uintptr_t)out[k] - 1] = 0;
		}
	}
	for (uint32_t count; (count = hold_expire(hold, UINT64_MAX, out, 64)) > 0;)
		for (uint32_t k = 0; k < count; k++, left--)
			cr_assert_eq(inside[(uintptr_t)out[k] - 1], 1);
	cr_assert_eq(left, 0);
	hold_free(hold);
}
