/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/spray_message.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>

#define HEADER_BYTES 28
#define TAG_BYTES    8

/*
 * Each message is walked through once, by the same function for both directions: it puts fields into the
 * buffer or takes them from it. So the two can't disagree.
 */
struct walk {
	uint8_t *put;       /* where to write to */
	const uint8_t *get; /* where to read from, or NULL: write */
	uint32_t left;      /* bytes */
	uint32_t done;      /* bytes */
	enum spray_error error;
};

static void walk_bytes(struct walk *w, uint8_t *bytes, uint32_t size)
{
	if (w->error != SPRAY_ERROR_NONE)
		return;
	if (size > w->left) {
		w->error = SPRAY_ERROR_LENGTH;
		return;
	}
	if (w->get != NULL)
		memcpy(bytes, w->get + w->done, size);
	else
		memcpy(w->put + w->done, bytes, size);
	w->done += size;
	w->left -= size;
}

static uint64_t walk_number(struct walk *w, uint64_t value, uint32_t size)
{
	uint64_t wire = __builtin_bswap64(value << (64 - 8 * size));

	walk_bytes(w, (uint8_t *)&wire, size);
	return w->error != SPRAY_ERROR_NONE ? 0 : __builtin_bswap64(wire) >> (64 - 8 * size);
}

static void walk_u8(struct walk *w, uint8_t *value)
{
	*value = (uint8_t)walk_number(w, *value, 1);
}

static void walk_u16(struct walk *w, uint16_t *value)
{
	*value = (uint16_t)walk_number(w, *value, 2);
}

static void walk_u32(struct walk *w, uint32_t *value)
{
	*value = (uint32_t)walk_number(w, *value, 4);
}

static void walk_u64(struct walk *w, uint64_t *value)
{
	*value = walk_number(w, *value, 8);
}

/* A field that is out of its range. */
static void walk_check(struct walk *w, bool sound)
{
	if (w->error == SPRAY_ERROR_NONE && !sound)
		w->error = SPRAY_ERROR_FIELD;
}

/* Two flags in a byte whose other bits are 0. */
static void walk_flags(struct walk *w, bool *first, bool *second)
{
	uint8_t flags = (uint8_t)(*first | *second << 1);

	walk_u8(w, &flags);
	walk_check(w, flags <= 3);
	*first = (flags & 1) != 0;
	*second = (flags & 2) != 0;
}

static bool address_sound(const uint8_t *address, uint8_t family)
{
	static const uint8_t zero[12];

	return family == 6 || memcmp(address + 4, zero, sizeof(zero)) == 0;
}

static void walk_flow(struct walk *w, struct spray_flow *flow)
{
	walk_u8(w, &flow->family);
	walk_u8(w, &flow->dscp);
	walk_u16(w, &flow->vrf);
	walk_u32(w, &flow->qp);
	walk_bytes(w, flow->source, 16);
	walk_bytes(w, flow->destination, 16);
	walk_check(w, (flow->family == 4 || flow->family == 6) && flow->dscp < 64 &&
			      flow->qp <= 0xffffff);
	walk_check(w, address_sound(flow->source, flow->family) &&
			      address_sound(flow->destination, flow->family));
}

static void walk_sequence(struct walk *w, uint16_t *number)
{
	walk_u16(w, number);
	walk_check(w, *number >= 2);
}

static void walk_count(struct walk *w, uint8_t *count)
{
	walk_u8(w, count);
	walk_check(w, *count >= 1 && *count <= SPRAY_UPLINKS_MAX);
}

static void walk_hello(struct walk *w, struct spray_message *m)
{
	walk_u32(w, &m->hello.capabilities);
	walk_u32(w, &m->hello.serial);
	walk_count(w, &m->hello.count);
	for (uint32_t i = 0; i < m->hello.count && w->error == SPRAY_ERROR_NONE; i++) {
		bool none = false;

		walk_u32(w, &m->hello.uplink[i].speed_mbps);
		walk_flags(w, &m->hello.uplink[i].up, &none);
		walk_check(w, !none);
	}
	walk_check(w, m->uplink < m->hello.count);
}

static void walk_feedback(struct walk *w, struct spray_message *m)
{
	walk_count(w, &m->feedback.count);
	for (uint32_t i = 0; i < m->feedback.count && w->error == SPRAY_ERROR_NONE; i++) {
		struct spray_arrived *arrived = &m->feedback.uplink[i];

		walk_u32(w, &arrived->lateness_ps);
		walk_u32(w, &arrived->packets);
		walk_flags(w, &arrived->silent, &arrived->up);
	}
}

static void walk_elephants(struct walk *w, struct spray_message *m)
{
	walk_u8(w, &m->elephants.worker);
	walk_check(w, m->type == SPRAY_LOADS || m->elephants.worker == 0);
	walk_count(w, &m->elephants.count);
	for (uint32_t i = 0; i < m->elephants.count && w->error == SPRAY_ERROR_NONE; i++)
		walk_u16(w, &m->elephants.uplink[i]);
}

static void walk_message(struct walk *w, struct spray_message *m)
{
	uint8_t version = SPRAY_VERSION;

	walk_u8(w, &version);
	walk_u8(w, &m->type);
	walk_u8(w, &m->worker);
	walk_u8(w, &m->uplink);
	walk_u64(w, &m->epoch);
	walk_u64(w, &m->receiver_epoch);
	walk_u64(w, &m->counter);
	if (w->error == SPRAY_ERROR_NONE &&
	    (m->type == SPRAY_NOTHING || m->type >= SPRAY_MESSAGE_TYPE_COUNT))
		w->error = SPRAY_ERROR_TYPE;
	walk_check(w, m->uplink < SPRAY_UPLINKS_MAX && m->epoch != 0 && m->counter != 0 &&
			      (m->receiver_epoch != 0 || m->type == SPRAY_HELLO));
	switch (m->type) {
	case SPRAY_HELLO:
		walk_hello(w, m);
		break;
	case SPRAY_REQUEST:
		walk_u32(w, &m->request.transaction);
		walk_flow(w, &m->request.flow);
		walk_sequence(w, &m->request.first);
		break;
	case SPRAY_ANSWER:
	case SPRAY_PASSED:
		walk_u32(w, &m->answer.transaction);
		walk_u8(w, &m->answer.worker);
		walk_u8(w, &m->answer.answer);
		walk_check(w, m->answer.answer < SPRAY_ANSWER_COUNT &&
				      (m->type == SPRAY_ANSWER || m->answer.answer == SPRAY_YES));
		walk_flow(w, &m->answer.flow);
		break;
	case SPRAY_FENCE_WANTED:
	case SPRAY_FENCE:
	case SPRAY_DEMOTE:
	case SPRAY_DRAINED:
	case SPRAY_RELEASE:
	case SPRAY_RELEASED:
		walk_u32(w, &m->sequence.transaction);
		walk_flow(w, &m->sequence.flow);
		walk_sequence(w, &m->sequence.number);
		break;
	case SPRAY_FEEDBACK:
		walk_feedback(w, m);
		break;
	case SPRAY_PROBE:
		walk_u32(w, &m->probe.transaction);
		walk_flow(w, &m->probe.flow);
		break;
	case SPRAY_PLACED:
	case SPRAY_LOADS:
		walk_elephants(w, m);
		break;
	default:
		break;
	}
}

static uint64_t tag_of(const uint8_t *data, uint32_t size, const struct spray_path *path,
		       struct siphash_key key)
{
	struct siphash hash = siphash_begin(key);

	siphash_add(&hash, path->source, sizeof(path->source));
	siphash_add(&hash, path->destination, sizeof(path->destination));
	return siphash_end(hash, data, size);
}

uint32_t spray_message_encode(const struct spray_message *message, const struct spray_path *path,
			      struct siphash_key key, uint8_t *out)
{
	struct spray_message copy = *message;
	struct walk w = {.put = out, .left = SPRAY_MESSAGE_BYTES_MAX - TAG_BYTES};
	uint64_t tag;

	walk_message(&w, &copy);
	assert(w.error == SPRAY_ERROR_NONE);
	tag = tag_of(out, w.done, path, key);
	memcpy(out + w.done, &tag, TAG_BYTES); /* little-endian, as in the paper */
	return w.done + TAG_BYTES;
}

enum spray_error spray_message_decode(const uint8_t *data, uint32_t size,
				      const struct spray_path *path, struct siphash_key key,
				      struct spray_message *out)
{
	struct walk w = {.get = data};
	uint64_t tag;

	memset(out, 0, sizeof(*out));
	if (size < HEADER_BYTES + TAG_BYTES)
		return SPRAY_ERROR_SHORT;
	if (data[0] != SPRAY_VERSION)
		return SPRAY_ERROR_VERSION;
	if (size > SPRAY_MESSAGE_BYTES_MAX)
		return SPRAY_ERROR_LENGTH;
	w.left = size - TAG_BYTES;
	memcpy(&tag, data + w.left, TAG_BYTES);
	/* One comparison of words: it takes as long whichever bytes differ. */
	if (tag != tag_of(data, w.left, path, key))
		return SPRAY_ERROR_FORGED;
	walk_message(&w, out);
	if (w.error == SPRAY_ERROR_NONE && w.left != 0)
		w.error = SPRAY_ERROR_LENGTH;
	return w.error;
}

bool spray_replay_accept(struct spray_replay *replay, uint64_t counter)
{
	uint64_t behind = replay->highest - counter;

	if (counter > replay->highest) {
		uint64_t ahead = counter - replay->highest;

		replay->seen = ahead < 64 ? replay->seen << ahead | 1 : 1;
		replay->highest = counter;
		return true;
	}
	if (behind >= 64 || (replay->seen >> behind & 1) != 0)
		return false;
	replay->seen |= UINT64_C(1) << behind;
	return true;
}
