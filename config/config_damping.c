/* SPDX-License-Identifier: BSD-3-Clause */
#include "config/config.h"

/* In 32 bits, and far more than any link flaps. */
#define HALVINGS_MAX 16

/* What an even decay leaves of a value when so much of a half-life has passed. */
static uint64_t left_within(uint64_t value, uint64_t rest_ns, uint64_t half_life_ns)
{
	return value - (uint64_t)((unsigned __int128)value * rest_ns / half_life_ns / 2);
}

uint32_t config_damping_left(const struct config_damping *damping, uint32_t penalty,
			     uint64_t elapsed_ns)
{
	const uint64_t half_life_ns = damping->half_life_ps / 1000;
	const uint64_t halvings = elapsed_ns / half_life_ns;

	if (halvings >= 32)
		return 0;
	return (uint32_t)left_within(penalty >> halvings, elapsed_ns % half_life_ns, half_life_ns);
}

uint32_t config_damping_most(const struct config_damping *damping)
{
	const uint64_t max_ns = damping->max_ps / 1000, half_life_ns = damping->half_life_ps / 1000;
	const uint64_t rest_ns = max_ns % half_life_ns;
	uint64_t halvings = max_ns / half_life_ns, most = damping->reuse;

	if (halvings > HALVINGS_MAX)
		halvings = HALVINGS_MAX;
	/* Before the last, partial half-life: reuse / (1 - rest / (2 * half_life)), and what is rounded. */
	most += (uint64_t)((unsigned __int128)most * rest_ns / (2 * half_life_ns - rest_ns)) + 1;
	while (left_within(most, rest_ns, half_life_ns) >= damping->reuse)
		most--;
	/* All that halving takes to it. */
	most = ((most + 1) << halvings) - 1;
	return most < UINT32_MAX / 2 ? (uint32_t)most : UINT32_MAX / 2;
}
