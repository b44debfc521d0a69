/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a message between leaves: nothing beyond their end is read, and none is accepted that wasn't
 * made with the key. Signed, so that the fields are reached, whatever is accepted encodes to the same bytes.
 * And any sound message that they describe goes there and back.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/spray_message.h"
#include "tests/unit/spray_samples.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct spray_path PATH = {{10, 255, 9, 1}, {10, 255, 9, 2}};
static const struct siphash_key KEY = {1, 2};

static void check_signed(const uint8_t *data, uint32_t size)
{
	uint8_t again[SPRAY_MESSAGE_BYTES_MAX], *frame = malloc(size + 8);
	struct siphash hash = siphash_begin(KEY);
	struct spray_message message;
	uint64_t tag;

	if (frame == NULL)
		return;
	memcpy(frame, data, size);
	siphash_add(&hash, (const uint8_t *)&PATH, sizeof(PATH));
	tag = siphash_end(hash, data, size);
	memcpy(frame + size, &tag, 8);
	if (spray_message_decode(frame, size + 8, &PATH, KEY, &message) == SPRAY_ERROR_NONE) {
		assert(spray_message_encode(&message, &PATH, KEY, again) == size + 8);
		assert(memcmp(again, frame, size + 8) == 0);
	}
	free(frame);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t frame[SPRAY_MESSAGE_BYTES_MAX];
	struct spray_message message, got;
	uint32_t bytes;

	if (size == 0 || size > 2 * SPRAY_MESSAGE_BYTES_MAX)
		return 0;
	assert(spray_message_decode(data, (uint32_t)size, &PATH, KEY, &got) != SPRAY_ERROR_NONE);
	check_signed(data, (uint32_t)size);
	message = spray_sample(data, size);
	bytes = spray_message_encode(&message, &PATH, KEY, frame);
	assert(spray_message_decode(frame, bytes, &PATH, KEY, &got) == SPRAY_ERROR_NONE);
	assert(memcmp(&got, &message, sizeof(got)) == 0);
	return 0;
}
