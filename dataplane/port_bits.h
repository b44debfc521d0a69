/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * port_bits - a set of ports, made so that an empty set costs one load whatever PORT_COUNT_MAX is.
 * Not atomic: one writer, who is also the reader.
 */
#ifndef DATAPLANE_PORT_BITS_H
#define DATAPLANE_PORT_BITS_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "dataplane/units.h"

#define PORT_BITS_WORDS (PORT_COUNT_MAX / 64)

struct port_bits {
	uint64_t any; /* bit i: word[i] is not zero */
	uint64_t word[PORT_BITS_WORDS];
};

static_assert(PORT_BITS_WORDS <= 64, "one summary word");

static inline void port_bits_set(struct port_bits *set, uint16_t port)
{
	set->word[port / 64] |= UINT64_C(1) << (port % 64);
	set->any |= UINT64_C(1) << (port / 64);
}

static inline void port_bits_clear(struct port_bits *set, uint16_t port)
{
	set->word[port / 64] &= ~(UINT64_C(1) << (port % 64));
	if (set->word[port / 64] == 0)
		set->any &= ~(UINT64_C(1) << (port / 64));
}

static inline bool port_bits_test(const struct port_bits *set, uint16_t port)
{
	return (set->word[port / 64] >> (port % 64) & 1) != 0;
}

static inline bool port_bits_empty(const struct port_bits *set)
{
	return set->any == 0;
}

/*
 * Visit every port of a set in rising order. The body may change the set: a word is read when its
 * first port is reached, so a port set meanwhile in a later word is visited, in the same word not.
 */
#define PORT_BITS_FOREACH(set, port)                                                              \
	for (uint64_t any_ = (set)->any; any_ != 0; any_ &= any_ - 1)                             \
		for (uint64_t index_ = (uint64_t)__builtin_ctzll(any_),                           \
			      word_ = (set)->word[index_];                                        \
		     word_ != 0 &&                                                                \
		     ((port) = (uint16_t)(index_ * 64 + (uint64_t)__builtin_ctzll(word_)), true); \
		     word_ &= word_ - 1)

#endif
