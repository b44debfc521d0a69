/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a frame: nothing is read beyond its end, what parse says of a sound frame lies inside
 * it, and a slow parser that was written apart says the same.
 * The first two bytes say how many bytes of the frame exist only on the wire.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/parse.h"
#include "dataplane/units.h"
#include "tests/unit/parse_reference.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sound(const struct parsed *parsed, uint32_t size, uint32_t length)
{
	uint32_t tag_bytes = (parsed->flags & PARSED_TAGGED) != 0 ? 4 : 0;

	assert(parsed->l3_offset == 14 + tag_bytes && parsed->l3_offset <= size);
	assert(parsed->length == length);
	if (parsed->kind == KIND_IPV4)
		assert(size >= parsed->l3_offset + 20u);
	if (parsed->kind == KIND_IPV6)
		assert(size >= parsed->l3_offset + 40u);
	if ((parsed->flags & PARSED_PORTS) != 0)
		assert(parsed->l3_offset + parsed->l4_offset + 8u <= size);
	if ((parsed->flags & PARSED_ROCE) != 0) {
		assert((parsed->flags & PARSED_PORTS) != 0 && parsed->protocol == IP_PROTOCOL_UDP);
		assert(parsed->l3_offset + parsed->l4_offset + 8u + ROCE_BTH_BYTES <= size);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct facts is, wanted;
	struct parsed parsed;
	uint32_t bytes, length;
	uint8_t *frame;
	bool sound;

	if (size < 2 || size > FRAME_BYTES_MAX)
		return 0;
	bytes = (uint32_t)size - 2;
	length = bytes + data[0] + 256u * (data[1] & 0x1f);
	/* A copy of exactly this size: the sanitizer sees the first byte beyond. */
	frame = malloc(bytes == 0 ? 1 : bytes);
	if (frame == NULL)
		return 0;
	memcpy(frame, data + 2, bytes);
	memset(&parsed, 0xa5, sizeof(parsed));
	sound = parse_frame(frame, bytes, length, &parsed);
	is = facts_of(&parsed, sound);
	if (is.sound)
		check_sound(&parsed, bytes, length);
	wanted = reference_parse(frame, bytes, length);
	assert(facts_differ(&is, &wanted) == NULL);
	free(frame);
	return 0;
}
