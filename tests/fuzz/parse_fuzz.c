/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a frame: nothing is read beyond its end, and what parse says of a sound frame holds.
 * The first two bytes say how many bytes of it exist only on the wire.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/parse.h"
#include "dataplane/units.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_sound(const struct parsed *parsed, uint32_t size)
{
	uint32_t tag_bytes = (parsed->flags & PARSED_TAGGED) != 0 ? 4 : 0;

	assert(parsed->l3_offset == 14 + tag_bytes && parsed->l3_offset <= size);
	assert(tag_bytes != 0 || parsed->tci == 0);
	if (parsed->kind == KIND_IPV4)
		assert(size >= parsed->l3_offset + 20u);
	if (parsed->kind == KIND_IPV6)
		assert(size >= parsed->l3_offset + 40u);
	if ((parsed->flags & PARSED_PORTS) != 0)
		assert(parsed->l3_offset + parsed->l4_offset + 8u <= size);
	if ((parsed->flags & PARSED_ROCE) != 0) {
		assert(parsed->l3_offset + parsed->l4_offset + 8u + ROCE_BTH_BYTES <= size);
		assert((parsed->flags & PARSED_PORTS) != 0 && parsed->protocol == IP_PROTOCOL_UDP);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parsed parsed, again;
	uint32_t beyond;
	uint8_t *frame;

	if (size < 2 || size > FRAME_BYTES_MAX)
		return 0;
	beyond = data[0] + 256u * (data[1] & 0x1f);
	size -= 2;
	/* A copy of exactly this size: the sanitizer sees the first byte beyond. */
	frame = malloc(size == 0 ? 1 : size);
	if (frame == NULL)
		return 0;
	memcpy(frame, data + 2, size);
	memset(&parsed, 0xa5, sizeof(parsed));
	memset(&again, 0x5a, sizeof(again));
	if (parse_frame(frame, (uint32_t)size, (uint32_t)size + beyond, &parsed)) {
		check_sound(&parsed, (uint32_t)size);
		/* Nothing in the answer depends on what was there before. */
		assert(parse_frame(frame, (uint32_t)size, (uint32_t)size + beyond, &again));
		assert(again.kind == parsed.kind && again.flags == parsed.flags);
		assert(again.traffic_class == parsed.traffic_class && again.tci == parsed.tci);
	} else {
		assert(parsed.drop < DROP_COUNT);
	}
	free(frame);
	return 0;
}
