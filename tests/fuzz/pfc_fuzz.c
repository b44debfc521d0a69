/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as a MAC control frame: nothing is read beyond its end, the verdict is the one that the
 * layout says, and what is accepted means the same when it is written back.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/pfc_frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum pfc_verdict verdict_of(const uint8_t *frame, size_t size)
{
	if (size < 18)
		return PFC_FRAME_SHORT;
	if (memcmp(frame, "\x01\x80\xc2\x00\x00\x01", 6) != 0)
		return PFC_FRAME_ADDRESS;
	if (frame[14] == 0 && frame[15] == 1)
		return PFC_FRAME_GLOBAL;
	if (frame[14] != 1 || frame[15] != 1)
		return PFC_FRAME_OPCODE;
	return size < 34 ? PFC_FRAME_SHORT : PFC_FRAME_PRIORITY;
}

static void check_meaning(const uint8_t *frame, enum pfc_verdict verdict,
			  const struct pfc_frame *pfc)
{
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		uint32_t at = verdict == PFC_FRAME_GLOBAL ? 16 : 18 + 2 * p, quanta = 0;

		if (verdict == PFC_FRAME_GLOBAL ||
		    (verdict == PFC_FRAME_PRIORITY && (frame[17] >> p & 1) != 0))
			quanta = frame[at] * 256u + frame[at + 1];
		assert(pfc->quanta[p] == quanta);
	}
	assert(pfc->enabled == (verdict == PFC_FRAME_PRIORITY ? frame[17]
				: verdict == PFC_FRAME_GLOBAL ? 0xff
							      : 0));
}

static void check_written(const uint8_t *frame, const struct pfc_frame *pfc)
{
	uint8_t written[PFC_FRAME_BYTES];
	struct pfc_frame again;

	assert(pfc_frame_write(written, frame + 6, pfc) == sizeof(written));
	assert(memcmp(written + 6, frame + 6, 6) == 0);
	assert(pfc_frame_read(written, sizeof(written), &again) == PFC_FRAME_PRIORITY);
	assert(again.enabled == pfc->enabled);
	assert(memcmp(again.quanta, pfc->quanta, sizeof(again.quanta)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum pfc_verdict verdict;
	struct pfc_frame pfc;
	uint8_t *frame;

	if (size > FRAME_BYTES_MAX)
		return 0;
	/* A copy of exactly this size: the sanitizer sees the first byte beyond. */
	frame = calloc(size == 0 ? 1 : size, 1);
	if (frame == NULL)
		return 0;
	if (size != 0)
		memcpy(frame, data, size);
	memset(&pfc, 0xa5, sizeof(pfc));
	verdict = pfc_frame_read(frame, (uint32_t)size, &pfc);
	assert(verdict == verdict_of(frame, size));
	check_meaning(frame, verdict, &pfc);
	if (verdict == PFC_FRAME_PRIORITY)
		check_written(frame, &pfc);
	free(frame);
	return 0;
}
