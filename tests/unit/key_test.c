/* SPDX-License-Identifier: BSD-3-Clause */
/* What names a sprayed flow: what counts, and what doesn't. */
#include <criterion/criterion.h>

#include "dataplane/balance/key.h"
#include "tests/unit/frames.h"

static struct balance_secret secret;

static void draw_secret(void)
{
	const struct siphash_key seed = {1, 2};

	secret = balance_secret_of(seed);
}

TestSuite(key, .init = draw_secret);

static struct balance_key key_of(const struct frame_spec *spec)
{
	struct frame frame = frame_of(spec);
	struct parsed parsed;

	cr_assert(parse_frame(frame.byte, frame.size, frame.size, &parsed));
	cr_assert((parsed.flags & PARSED_ROCE) != 0);
	return balance_key_of(&parsed, frame.byte + parsed.l3_offset, &secret);
}

static bool same(struct balance_key a, struct balance_key b)
{
	return balance_key_equal(&a, &b);
}

static struct frame_spec flow(uint8_t family)
{
	return (struct frame_spec){
		.destination_mac = 0x020000000001,
		.source_mac = 0x02000000aa01,
		.family = family,
		.source = 0x0a010203,
		.source6 = "fd00::1",
		.destination6 = "fd00::2",
		.destination = 0x0a020304,
		.source_port = 49152,
		.traffic_class = 26 << 2,
		.roce = true,
		.qp = 0x123456,
		.psn = 1,
		.opcode = 6,
		.payload_bytes = 256,
	};
}

Test(key, of_ipv4_holds_addresses_queue_pair_and_dscp_as_they_are)
{
	struct frame_spec spec = flow(4);
	struct balance_key key = key_of(&spec);
	const uint8_t addresses[8] = {10, 1, 2, 3, 10, 2, 3, 4};

	cr_assert_eq(key.addresses, load_u64(addresses));
	cr_assert_eq(key.flow, 0x1234561a);
	cr_assert_eq(key.more, 0);
	cr_assert_eq(balance_key_dscp(&key), 26);
}

Test(key, differs_in_what_names_a_flow_and_in_nothing_else)
{
	for (uint8_t family = 4; family <= 6; family += 2) {
		struct frame_spec spec = flow(family), other = spec;
		struct balance_key key = key_of(&spec);

		other.source_port = 50000;
		other.psn = 77;
		other.opcode = 8;
		other.payload_bytes = 1024;
		other.traffic_class = 26 << 2 | 3;
		cr_expect(same(key, key_of(&other)), "family %u", family);
		other.traffic_class = 27 << 2;
		cr_expect_not(same(key, key_of(&other)));
		other = spec;
		other.qp++;
		cr_expect_not(same(key, key_of(&other)));
		other = spec;
		other.source++;
		other.source6 = "fd00::3";
		cr_expect_not(same(key, key_of(&other)));
		other = spec;
		other.destination++;
		other.destination6 = "fd00::3";
		cr_expect_not(same(key, key_of(&other)));
		/* A flow isn't its own way back. */
		other = spec;
		other.source = spec.destination;
		other.destination = spec.source;
		other.source6 = spec.destination6;
		other.destination6 = spec.source6;
		cr_expect_not(same(key, key_of(&other)));
	}
}

Test(key, of_ipv6_is_another_with_another_secret)
{
	struct frame_spec spec = flow(6);
	struct balance_key before = key_of(&spec), after;
	const struct siphash_key seed = {1, 3};

	cr_assert_neq(before.flow & BALANCE_KEY_IPV6, 0);
	secret = balance_secret_of(seed);
	after = key_of(&spec);
	cr_assert_neq(before.addresses, after.addresses);
	cr_assert_neq(before.more, after.more);
	cr_assert_eq(before.flow, after.flow);
}

Test(key, every_bit_of_ipv6_addresses_counts)
{
	uint8_t addresses[32] = {0};
	struct balance_key zero = balance_key_ipv6(addresses, 1, 3, &secret);

	for (uint32_t bit = 0; bit < 256; bit++) {
		struct balance_key key;

		addresses[bit / 8] ^= (uint8_t)(1 << bit % 8);
		key = balance_key_ipv6(addresses, 1, 3, &secret);
		cr_expect_neq(key.addresses, zero.addresses, "bit %u", bit);
		cr_expect_neq(key.more, zero.more, "bit %u", bit);
		addresses[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
}
