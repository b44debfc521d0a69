/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/balance/spray_message.h"
#include "tests/unit/spray_samples.h"

/* The bytes 00 01 02 .. 0f, as in the paper. */
static const struct siphash_key KEY = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
static const struct spray_path PATH = {{10, 255, 9, 1}, {10, 255, 9, 2}};
static const struct spray_path BACK = {{10, 255, 9, 2}, {10, 255, 9, 1}};

Test(siphash, gives_the_published_values)
{
	/* Messages 00 01 02 .. of 0, 1, 7, 8, 9, 15 and 63 bytes; the one of 15 is the paper's, appendix A. */
	static const struct {
		size_t size;
		uint64_t wanted;
	} rows[] = {
		{0, UINT64_C(0x726fdb47dd0e0e31)},  {1, UINT64_C(0x74f839c593dc67fd)},
		{7, UINT64_C(0xab0200f58b01d137)},  {8, UINT64_C(0x93f5f5799a932462)},
		{9, UINT64_C(0x9e0082df0ba9e4b0)},  {15, UINT64_C(0xa129ca6149be45e5)},
		{63, UINT64_C(0x958a324ceb064572)},
	};
	uint8_t message[64];

	for (uint8_t i = 0; i < sizeof(message); i++)
		message[i] = i;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct siphash parts = siphash_begin(KEY);
		size_t first = rows[i].size / 2 & ~(size_t)7;

		cr_expect_eq(siphash_of(KEY, message, rows[i].size), rows[i].wanted, "%zu",
			     rows[i].size);
		siphash_add(&parts, message, first);
		cr_expect_eq(siphash_end(parts, message + first, rows[i].size - first),
			     rows[i].wanted, "%zu in parts", rows[i].size);
	}
}

/* A message's frame without its hash. */
static void expect_bytes(const struct spray_message *message, const uint8_t *wanted, uint32_t size)
{
	uint8_t frame[SPRAY_MESSAGE_BYTES_MAX], hashed[32 + SPRAY_MESSAGE_BYTES_MAX];
	uint64_t tag;

	cr_assert_eq(spray_message_encode(message, &PATH, KEY, frame), size + 8);
	for (uint32_t i = 0; i < size; i++)
		cr_expect_eq(frame[i], wanted[i], "byte %u: %02x", i, frame[i]);
	memcpy(hashed, PATH.source, 16);
	memcpy(hashed + 16, PATH.destination, 16);
	memcpy(hashed + 32, wanted, size);
	tag = siphash_of(KEY, hashed, 32 + size);
	cr_expect_eq(memcmp(frame + size, &tag, 8), 0);
}

/* Version, type, worker, uplink, epochs and counter of the frames below. */
#define HEADER(type) \
	1, type, 3, 1, 0, 0, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 0, 0, 3, 4, 0, 0, 0, 0, 0, 0, 0, 9

#define MESSAGE(type_)                                                                      \
	.type = (type_), .worker = 3, .uplink = 1, .epoch = 0x102, .receiver_epoch = 0x304, \
	.counter = 9

Test(spray_message, has_these_bytes)
{
	static const uint8_t hello[] = {HEADER(1), 0, 0,    0,    0, 0, 0, 0x05, 0x06, 2,
					0,         1, 0x86, 0xa0, 1, 0, 0, 0x61, 0xa8, 0};
	static const uint8_t request[] = {
		HEADER(2), 0xaa, 0xbb, 0xcc, 0xdd, 4, 3, 0, 0, 0, 0x12, 0x34, 0x56,
		/**/ 10,   1,    0,    1,    0,    0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0,
		/**/ 10,   2,    0,    7,    0,    0, 0, 0, 0, 0, 0,    0,    0,    0, 0, 0,
		/**/ 0xff, 0xfe,
	};
	static const uint8_t answer[] = {
		HEADER(3), 0xaa, 0xbb, 0xcc, 0xdd, 5, 2, 4, 3, 0, 0, 0, 0x12, 0x34, 0x56,
		/**/ 10,   1,    0,    1,    0,    0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,
		/**/ 10,   2,    0,    7,    0,    0, 0, 0, 0, 0, 0, 0, 0,    0,    0,    0,
	};
	static const uint8_t feedback[] = {
		HEADER(6), 2,    0x00, 0x0f, 0x42, 0x40, 0, 0, 0, 7,
		2,         0xff, 0xff, 0xff, 0xff, 0,    0, 0, 0, 1,
	};
	static const uint8_t placed[] = {HEADER(14), 0, 3, 0, 1, 0x12, 0x34, 0, 0};
	static const uint8_t loads[] = {HEADER(15), 7, 1, 0xff, 0xfe};
	static const uint8_t bye[] = {HEADER(11)};
	struct spray_flow flow = {4, 3, 0, 0x123456, {10, 1, 0, 1}, {10, 2, 0, 7}};
	struct spray_message message = {
		MESSAGE(SPRAY_HELLO),
		.hello = {.serial = 0x506, .count = 2, .uplink = {{100000, true}, {25000, false}}},
	};
	uint8_t sequence[sizeof(request)];

	expect_bytes(&message, hello, sizeof(hello));
	message = (struct spray_message){MESSAGE(SPRAY_REQUEST),
					 .request = {0xaabbccdd, flow, 65534}};
	expect_bytes(&message, request, sizeof(request));
	message = (struct spray_message){MESSAGE(SPRAY_ANSWER),
					 .answer = {0xaabbccdd, 5, SPRAY_OWNED, flow}};
	expect_bytes(&message, answer, sizeof(answer));
	memcpy(sequence, answer, sizeof(answer));
	sequence[1] = 13;
	sequence[33] = SPRAY_YES;
	message = (struct spray_message){MESSAGE(SPRAY_PASSED),
					 .answer = {0xaabbccdd, 5, SPRAY_YES, flow}};
	expect_bytes(&message, sequence, sizeof(answer));
	memcpy(sequence, request, sizeof(request));
	sequence[1] = 12;
	message = (struct spray_message){MESSAGE(SPRAY_PROBE), .probe = {0xaabbccdd, flow}};
	expect_bytes(&message, sequence, sizeof(request) - 2);
	message = (struct spray_message){
		MESSAGE(SPRAY_FEEDBACK),
		.feedback = {2, {{1000000, 7, false, true}, {UINT32_MAX, 0, true, false}}},
	};
	expect_bytes(&message, feedback, sizeof(feedback));
	message = (struct spray_message){MESSAGE(SPRAY_BYE)};
	expect_bytes(&message, bye, sizeof(bye));
	message = (struct spray_message){MESSAGE(SPRAY_PLACED), .elephants = {0, 3, {1, 0x1234}}};
	expect_bytes(&message, placed, sizeof(placed));
	message = (struct spray_message){MESSAGE(SPRAY_LOADS), .elephants = {7, 1, {0xfffe}}};
	expect_bytes(&message, loads, sizeof(loads));
	/* The others look like a request. */
	memcpy(sequence, request, sizeof(request));
	for (uint8_t type = SPRAY_FENCE_WANTED; type <= SPRAY_RELEASED; type++) {
		if (type == SPRAY_FEEDBACK)
			continue;
		sequence[1] = type;
		message = (struct spray_message){MESSAGE(type),
						 .sequence = {0xaabbccdd, flow, 65534}};
		expect_bytes(&message, sequence, sizeof(sequence));
	}
}

/* Some bytes for samples; each type comes with several sizes. */
static struct spray_message sample(uint32_t index)
{
	uint8_t bytes[512];

	for (uint32_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)((index + 1) * (i + 7) * 2654435761u >> 16);
	bytes[0] = (uint8_t)index;
	return spray_sample(bytes, sizeof(bytes));
}

Test(spray_message, goes_there_and_back_and_no_part_of_it_does)
{
	for (uint32_t index = 0; index < 90; index++) {
		struct spray_message message = sample(index), got;
		uint8_t frame[SPRAY_MESSAGE_BYTES_MAX];
		uint32_t size = spray_message_encode(&message, &PATH, KEY, frame);

		cr_assert_eq(spray_message_decode(frame, size, &PATH, KEY, &got), SPRAY_ERROR_NONE);
		cr_assert_eq(memcmp(&got, &message, sizeof(got)), 0, "%u", index);
		for (uint32_t cut = 0; cut < size; cut++) {
			/* Of this very size: the sanitizer sees the first byte beyond. */
			uint8_t *copy = malloc(cut + 1);

			cr_assert_not_null(copy);
			memcpy(copy + 1, frame, cut);
			cr_expect_eq(spray_message_decode(copy + 1, cut, &PATH, KEY, &got),
				     cut < 36 ? SPRAY_ERROR_SHORT : SPRAY_ERROR_FORGED);
			free(copy);
		}
	}
}

Test(spray_message, with_any_bit_turned_is_refused)
{
	for (uint32_t index = 0; index < 9; index++) {
		struct spray_message message = sample(index), got;
		uint8_t frame[SPRAY_MESSAGE_BYTES_MAX];
		uint32_t size = spray_message_encode(&message, &PATH, KEY, frame);
		struct siphash_key other = {KEY.k0, KEY.k1 ^ 1};

		for (uint32_t bit = 0; bit < 8 * size; bit++) {
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
			cr_expect_eq(spray_message_decode(frame, size, &PATH, KEY, &got),
				     bit < 8 ? SPRAY_ERROR_VERSION : SPRAY_ERROR_FORGED);
			frame[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
		cr_expect_eq(spray_message_decode(frame, size, &BACK, KEY, &got),
			     SPRAY_ERROR_FORGED);
		cr_expect_eq(spray_message_decode(frame, size, &PATH, other, &got),
			     SPRAY_ERROR_FORGED);
	}
}

/* Sign bytes that encode() wouldn't make. */
static uint32_t sign(uint8_t *frame, uint32_t size)
{
	uint8_t hashed[32 + 2 * SPRAY_MESSAGE_BYTES_MAX];
	uint64_t tag;

	memcpy(hashed, PATH.source, 16);
	memcpy(hashed + 16, PATH.destination, 16);
	memcpy(hashed + 32, frame, size);
	tag = siphash_of(KEY, hashed, 32 + size);
	memcpy(frame + size, &tag, 8);
	return size + 8;
}

Test(spray_message, with_a_bad_field_is_refused_even_when_authentic)
{
	static const struct {
		const char *what;
		uint8_t type, offset, value;
		enum spray_error wanted;
	} rows[] = {
		{"nothing changed", SPRAY_REQUEST, 2, 3, SPRAY_ERROR_NONE},
		{"no type", SPRAY_BYE, 1, 0, SPRAY_ERROR_TYPE},
		{"type", SPRAY_BYE, 1, 16, SPRAY_ERROR_TYPE},
		{"uplink", SPRAY_BYE, 3, 32, SPRAY_ERROR_FIELD},
		{"epoch 0", SPRAY_BYE, 11, 0, SPRAY_ERROR_FIELD},
		{"receiver's epoch 0", SPRAY_BYE, 19, 0, SPRAY_ERROR_FIELD},
		{"receiver's epoch 0 in a hello", SPRAY_HELLO, 19, 0, SPRAY_ERROR_NONE},
		{"counter 0", SPRAY_BYE, 27, 0, SPRAY_ERROR_FIELD},
		{"no uplinks", SPRAY_HELLO, 36, 0, SPRAY_ERROR_FIELD},
		{"uplinks", SPRAY_HELLO, 36, 33, SPRAY_ERROR_FIELD},
		{"uplinks less than there are", SPRAY_HELLO, 36, 1, SPRAY_ERROR_LENGTH},
		{"uplinks more than there are", SPRAY_HELLO, 36, 3, SPRAY_ERROR_LENGTH},
		{"own uplink beyond them", SPRAY_HELLO, 3, 2, SPRAY_ERROR_FIELD},
		{"flags", SPRAY_HELLO, 41, 2, SPRAY_ERROR_FIELD},
		{"family", SPRAY_REQUEST, 32, 5, SPRAY_ERROR_FIELD},
		{"dscp", SPRAY_REQUEST, 33, 64, SPRAY_ERROR_FIELD},
		{"queue pair", SPRAY_REQUEST, 36, 1, SPRAY_ERROR_FIELD},
		{"IPv4 source", SPRAY_REQUEST, 44, 1, SPRAY_ERROR_FIELD},
		{"IPv4 destination", SPRAY_REQUEST, 71, 1, SPRAY_ERROR_FIELD},
		{"start as number", SPRAY_REQUEST, 73, 1, SPRAY_ERROR_FIELD},
		{"answer", SPRAY_ANSWER, 33, 5, SPRAY_ERROR_FIELD},
		{"answer of a probe", SPRAY_PASSED, 33, SPRAY_FULL, SPRAY_ERROR_FIELD},
		{"worker of elephants", SPRAY_PLACED, 28, 1, SPRAY_ERROR_FIELD},
		{"worker of loads", SPRAY_LOADS, 28, 1, SPRAY_ERROR_NONE},
		{"no uplinks of elephants", SPRAY_PLACED, 29, 0, SPRAY_ERROR_FIELD},
		{"uplinks of elephants", SPRAY_LOADS, 29, 33, SPRAY_ERROR_FIELD},
		{"flags of feedback", SPRAY_FEEDBACK, 37, 4, SPRAY_ERROR_FIELD},
	};
	struct spray_flow flow = {4, 3, 0, 0x3456, {10, 1, 0, 1}, {10, 2, 0, 7}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct spray_message message = {.type = rows[i].type,
						.uplink = 0,
						.epoch = 2,
						.receiver_epoch = 4,
						.counter = 9},
				     got;
		uint8_t frame[2 * SPRAY_MESSAGE_BYTES_MAX];
		uint32_t size;

		if (message.type == SPRAY_HELLO)
			message.hello.count = 2;
		if (message.type == SPRAY_FEEDBACK)
			message.feedback.count = 1;
		if (message.type == SPRAY_PLACED || message.type == SPRAY_LOADS)
			message.elephants.count = 1;
		if (message.type == SPRAY_ANSWER || message.type == SPRAY_PASSED)
			message.answer.flow = flow;
		if (message.type == SPRAY_REQUEST) {
			message.request.flow = flow;
			message.request.first = 5;
		}
		size = spray_message_encode(&message, &PATH, KEY, frame) - 8;
		frame[rows[i].offset] = rows[i].value;
		cr_expect_eq(spray_message_decode(frame, sign(frame, size), &PATH, KEY, &got),
			     rows[i].wanted, "%s", rows[i].what);
		frame[size] = 0;
		cr_expect_neq(spray_message_decode(frame, sign(frame, size + 1), &PATH, KEY, &got),
			      SPRAY_ERROR_NONE, "%s: a byte behind it", rows[i].what);
	}
}

Test(spray_replay, takes_each_counter_once_within_its_window)
{
	struct spray_replay replay = {0};

	cr_expect(spray_replay_accept(&replay, 1));
	cr_expect(!spray_replay_accept(&replay, 1));
	cr_expect(spray_replay_accept(&replay, 65));
	cr_expect(!spray_replay_accept(&replay, 1), "64 behind");
	for (uint64_t counter = 2; counter < 65; counter++) {
		cr_expect(spray_replay_accept(&replay, counter), "%lu", counter);
		cr_expect(!spray_replay_accept(&replay, counter), "%lu again", counter);
	}
	cr_expect(spray_replay_accept(&replay, 129));
	cr_expect(!spray_replay_accept(&replay, 65), "64 behind");
	cr_expect(spray_replay_accept(&replay, 66) && !spray_replay_accept(&replay, 66));
	cr_expect(spray_replay_accept(&replay, UINT64_MAX));
	cr_expect(!spray_replay_accept(&replay, 130));
}
