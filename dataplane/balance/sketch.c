/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "dataplane/balance/hash.h"
#include "dataplane/balance/sketch_internal.h"

static uint64_t sketch_own(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void sketch_add(_Atomic uint64_t *word)
{
	sketch_store(word, sketch_own(word) + SKETCH_SAMPLE_BYTES);
}

/* xorshift64 (Marsaglia, JSS 2003): the upper half is good enough to draw from. */
static uint32_t next_distance(struct sketch *sketch)
{
	uint64_t x = sketch->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	sketch->random = x;
	return SKETCH_SAMPLE_BYTES / 2 + (uint32_t)(x >> 32) % SKETCH_SAMPLE_BYTES;
}

static void begin_window(struct sketch *sketch, struct sketch_window *window, uint64_t now_ps)
{
	sketch_store(&window->start_ps, now_ps);
	sketch_store(&window->bytes, 0);
	sketch_store(&window->count, 0);
	for (uint16_t port = 0; port < sketch->ports; port++)
		sketch_store(&window->port_bytes[port], 0);
}

/* @return the window in the making */
static struct sketch_window *current_window(struct sketch *sketch, uint64_t now_ps)
{
	uint64_t complete = sketch_own(&sketch->complete);
	struct sketch_window *window = &sketch->window[complete & 1];

	if (now_ps - sketch_own(&window->start_ps) < SKETCH_WINDOW_PS)
		return window;
	sketch_store(&window->end_ps, now_ps);
	sketch_store(&sketch->complete, complete + 1);
	window = &sketch->window[(complete + 1) & 1];
	begin_window(sketch, window, now_ps);
	return window;
}

static struct sketch_key key_of(const struct parsed *parsed, const uint8_t *ip, uint8_t priority)
{
	struct sketch_key key = {
		.ports = parsed->ports,
		.kind = parsed->kind,
		.protocol = parsed->protocol,
		.priority = priority,
		.roce = (parsed->flags & PARSED_ROCE) != 0,
	};

	if (key.roce != 0)
		key.qp = parsed_destination_qp(parsed);
	if (parsed->kind == KIND_IPV4) {
		memcpy(key.source, &parsed->source, sizeof(parsed->source));
		memcpy(key.destination, &parsed->destination, sizeof(parsed->destination));
	} else {
		memcpy(key.source, ip + 8, sizeof(key.source));
		memcpy(key.destination, ip + 24, sizeof(key.destination));
	}
	return key;
}

static bool has_key(const struct sketch_window *window, uint32_t i, const uint64_t *word)
{
	uint64_t difference = 0;

	for (uint32_t k = 0; k < SKETCH_KEY_WORDS; k++)
		difference |= sketch_own(&window->key[i][k]) ^ word[k];
	return difference == 0;
}

static uint32_t smallest_counter(const struct sketch_window *window)
{
	uint32_t smallest = 0;

	for (uint32_t i = 1; i < SKETCH_FLOWS; i++)
		if (sketch_own(&window->flow_bytes[i]) < sketch_own(&window->flow_bytes[smallest]))
			smallest = i;
	return smallest;
}

static void count_flow(struct sketch *sketch, struct sketch_window *window,
		       const struct sketch_key *key, uint16_t egress)
{
	uint32_t count = (uint32_t)sketch_own(&window->count), i, hash;
	uint64_t word[SKETCH_KEY_WORDS], mixed = 0, over_bytes = 0;

	memcpy(word, key, sizeof(word));
	for (uint32_t k = 0; k < SKETCH_KEY_WORDS; k++)
		mixed = balance_mix(mixed, word[k]);
	hash = (uint32_t)(mixed >> 32);
	for (i = 0; i < count; i++) {
		if (sketch->hash[i] != hash || !has_key(window, i, word))
			continue;
		sketch_add(&window->flow_bytes[i]);
		if (sketch_own(&window->egress[i]) != egress)
			sketch_store(&window->egress[i], SKETCH_EGRESS_SEVERAL);
		return;
	}
	if (count < SKETCH_FLOWS) {
		sketch_store(&window->count, count + 1);
	} else {
		i = smallest_counter(window);
		over_bytes = sketch_own(&window->flow_bytes[i]);
	}
	sketch->hash[i] = hash;
	for (uint32_t k = 0; k < SKETCH_KEY_WORDS; k++)
		sketch_store(&window->key[i][k], word[k]);
	sketch_store(&window->over_bytes[i], over_bytes);
	sketch_store(&window->flow_bytes[i], over_bytes + SKETCH_SAMPLE_BYTES);
	sketch_store(&window->egress[i], egress);
}

uint32_t sketch_take(struct sketch *sketch, uint64_t now_ps, const struct parsed *parsed,
		     const uint8_t *ip, uint8_t priority, uint16_t egress)
{
	struct sketch_window *window;
	struct sketch_key key;

	if (sketch == NULL)
		return SKETCH_SAMPLE_BYTES;
	if (!sketch->started) {
		/* Where the first distance begins: it doesn't stand for what came before. */
		sketch->started = true;
		begin_window(sketch, &sketch->window[0], now_ps);
		return next_distance(sketch);
	}
	window = current_window(sketch, now_ps);
	key = key_of(parsed, ip, priority);
	sketch_add(&window->bytes);
	if (egress < sketch->ports) {
		sketch_add(&window->port_bytes[egress]);
		sketch_add(&sketch->sent_bytes[egress]);
	}
	count_flow(sketch, window, &key, egress);
	return next_distance(sketch);
}
