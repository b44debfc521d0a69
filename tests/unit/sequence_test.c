/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>

#include "dataplane/balance/sequence.h"

Test(sequence, two_follows_the_largest)
{
	cr_expect_eq(sequence_next(2), 3);
	cr_expect_eq(sequence_next(65534), 65535);
	cr_expect_eq(sequence_next(65535), 2);
}

Test(sequence, distance_is_that_of_counting)
{
	static const uint16_t from[] = {2, 3, 16000, 32768, 32769, 32770, 65534, 65535};

	for (size_t i = 0; i < sizeof(from) / sizeof(*from); i++) {
		uint16_t number = from[i];

		/* Once round: 65534 numbers, of which half are behind. */
		for (int32_t count = 0; count < SEQUENCE_COUNT; count++) {
			int32_t wanted = count < 32767 ? count : count - 65534;

			cr_assert_eq(sequence_distance(number, from[i]), wanted, "%u %d", from[i],
				     count);
			cr_assert_eq(sequence_plus(from[i], wanted), number);
			number = sequence_next(number);
			cr_assert_geq(number, SEQUENCE_FIRST);
		}
		cr_assert_eq(number, from[i]);
	}
}
