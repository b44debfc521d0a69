/* SPDX-License-Identifier: BSD-3-Clause */
/* ratio - shares and ratios in results: worked out in integers to a millionth, so that they are the same anywhere. */
#ifndef LAB_RATIO_H
#define LAB_RATIO_H

#include <stdint.h>

#include <jansson.h>

#define RATIO_PPM 1000000

/** @param whole 0: the ratio is 0 */
static inline void ratio_set(json_t *object, const char *key, unsigned __int128 part,
			     uint64_t whole)
{
	uint64_t ppm = whole == 0 ? 0 : (uint64_t)(part * RATIO_PPM / whole);

	json_object_set_new(object, key, json_real((double)ppm / RATIO_PPM));
}

#endif
