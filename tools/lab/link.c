/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/link.h"

#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tools/lab/digest.h"
#include "tools/lab/allocate.h"
#include "tools/lab/scenario_faults.h"

/* The frame check sequence behind every frame. */
#define FCS_BYTES 4

void wire_init(struct wire *wire, struct engine *engine, const struct link_params *params,
	       struct node *to, uint16_t port)
{
	memset(wire, 0, sizeof(*wire));
	engine_event_init(&wire->arrival, to, port);
	wire->engine = engine;
	wire->frames = wire->small;
	wire->mask = WIRE_FRAMES_INLINE - 1;
	wire->overhead_bytes = params->overhead_bytes;
	wire->delay_ps = params->delay_ps;
	wire->free_ps = engine->now_ps;
	wire->held_ps = engine->now_ps;
	wire->rate = wire_rate_of(params->rate_bps);
	wire->digest = DIGEST_START;
}

void wire_fini(struct wire *wire)
{
	for (; wire->head != wire->tail; wire->head++)
		rte_pktmbuf_free(wire->frames[wire->head & wire->mask].packet);
	engine_cancel(wire->engine, &wire->arrival);
	if (wire->frames != wire->small)
		free(wire->frames);
	wire->frames = wire->small;
	wire->mask = WIRE_FRAMES_INLINE - 1;
	free(wire->odd);
	wire->odd = NULL;
}

/* --- what few wires have --- */

static struct wire_odd *wire_odd(struct wire *wire)
{
	if (wire->odd == NULL)
		wire->odd = allocate(sizeof(*wire->odd));
	return wire->odd;
}

void wire_listen(struct wire *wire, struct wire_tap *tap)
{
	struct wire_odd *odd = wire_odd(wire);

	tap->next = odd->tap;
	odd->tap = tap;
}

void wire_corrupt(struct wire *wire, const struct wire_errors *errors)
{
	wire_odd(wire)->errors = *errors;
}

void wire_set_rate(struct wire *wire, uint64_t rate_bps)
{
	if (wire->rate.rate_bps != rate_bps)
		wire->rate = wire_rate_of(rate_bps);
}

static uint64_t multiply_q63(uint64_t a, uint64_t b)
{
	return (uint64_t)((unsigned __int128)a * b >> 63);
}

uint64_t wire_survival_q63(uint64_t rate, uint32_t bits)
{
	const uint64_t one = UINT64_C(1) << 63;
	uint64_t power = one - (uint64_t)((unsigned __int128)rate * one / SCENARIO_ERROR_BITS);
	uint64_t result = one;

	for (; bits != 0; bits >>= 1) {
		if ((bits & 1) != 0)
			result = multiply_q63(result, power);
		power = multiply_q63(power, power);
	}
	return result;
}

static __rte_noinline void wire_tell(const struct wire *wire, struct rte_mbuf *packet,
				     uint64_t time_ps, uint64_t arrival_ps)
{
	for (struct wire_tap *tap = wire->odd->tap; tap != NULL; tap = tap->next)
		tap->frame(tap, wire, packet, wire->free_ps - time_ps, arrival_ps);
}

/* Its check sequence is part of a frame. @return true: a bit is wrong */
static __rte_noinline bool wire_corrupts(struct wire *wire, const struct wire_frame *frame)
{
	struct wire_errors *errors = &wire->odd->errors;
	uint32_t bits = (packet_length(frame->packet) + FCS_BYTES) * 8;

	if (errors->rate == 0 || time_after(errors->from_ps, frame->arrival_ps) ||
	    (!errors->endless && !time_after(errors->until_ps, frame->arrival_ps)))
		return false;
	if (random_next(&errors->random) >> 1 < wire_survival_q63(errors->rate, bits))
		return false;
	wire->odd->corrupted++;
	return true;
}

/* Twice the room. The ring may be anywhere in its round: unroll it. */
static __rte_noinline void wire_grow(struct wire *wire)
{
	uint32_t size = wire->mask + 1;
	struct wire_frame *frames = allocate((size_t)2 * size * sizeof(*frames));

	for (uint32_t i = 0; i < size; i++)
		frames[i] = wire->frames[(wire->head + i) & wire->mask];
	if (wire->frames != wire->small)
		free(wire->frames);
	wire->frames = frames;
	wire->mask = 2 * size - 1;
	wire->head = 0;
	wire->tail = size;
}

static inline void wire_schedule_first(struct wire *wire)
{
	const struct wire_frame *first = &wire->frames[wire->head & wire->mask];

	wire->arrival.prefetch[0] = first->packet;
	/* Where its data is by default: its header need not be in the cache to say so. */
	wire->arrival.prefetch[1] =
		(const char *)first->packet + sizeof(struct rte_mbuf) + RTE_PKTMBUF_HEADROOM;
	engine_schedule(wire->engine, &wire->arrival, first->arrival_ps);
}

void wire_send(struct wire *wire, struct rte_mbuf *packet)
{
	uint32_t bytes = packet_length(packet);
	uint64_t time_ps = wire_rate_time_ps(&wire->rate, bytes + wire->overhead_bytes);
	struct wire_frame *frame;

	if (wire->tail - wire->head > wire->mask)
		wire_grow(wire);
	frame = &wire->frames[wire->tail & wire->mask];
	wire->free_ps = time_max(wire->free_ps, wire->engine->now_ps) + time_ps;
	frame->packet = packet;
	frame->arrival_ps = wire->free_ps + wire->delay_ps;
	wire->sent_frames++;
	wire->sent_bytes += bytes;
	wire->busy_ps += time_ps;
	if (unlikely(wire->odd != NULL))
		wire_tell(wire, packet, time_ps, frame->arrival_ps);
	if (wire->tail++ == wire->head)
		wire_schedule_first(wire);
}

uint16_t wire_receive(struct wire *wire, struct rte_mbuf **packets, uint16_t count)
{
	uint64_t now_ps = wire->engine->now_ps, start_ps = wire->engine->start_ps;
	const struct wire_frame *frames = wire->frames, *frame;
	uint32_t head = wire->head, left = wire->tail - head, mask = wire->mask;
	uint16_t n = 0;

	for (; left != 0; left--, head++) {
		frame = &frames[head & mask];
		if (time_after(frame->arrival_ps, now_ps) || n == count)
			break;
		if (unlikely(wire->odd != NULL) && wire_corrupts(wire, frame)) {
			wire->digest = digest_add(wire->digest, now_ps - start_ps);
			rte_pktmbuf_free(frame->packet);
			continue;
		}
		wire->digest = digest_frame(wire->digest, now_ps - start_ps, frame->packet);
		packets[n++] = frame->packet;
	}
	wire->head = head;
	if (left != 0 && time_after(frames[head & mask].arrival_ps, now_ps) &&
	    wire->arrival.place == ENGINE_NOWHERE)
		wire_schedule_first(wire);
	return n;
}

uint32_t wire_arrived_count(const struct wire *wire)
{
	uint32_t count = 0;

	while (wire->head + count != wire->tail &&
	       !time_after(wire->frames[(wire->head + count) & wire->mask].arrival_ps,
			   wire->engine->now_ps))
		count++;
	return count;
}

/* Only the first frame is an event, and that one stays: nothing has to be scheduled anew. */
static __rte_noinline uint32_t wire_lose_behind(struct wire *wire, uint32_t keep,
						void (*lost)(void *context,
							     struct rte_mbuf *packet),
						void *context)
{
	uint64_t now_ps = wire->engine->now_ps;
	uint32_t from = wire->head + keep, to = from;

	for (; to != wire->tail; to++) {
		const struct wire_frame *frame = &wire->frames[to & wire->mask];

		if (time_after(frame->arrival_ps, now_ps))
			break;
		lost(context, frame->packet);
		wire->digest = digest_add(wire->digest, frame->arrival_ps - wire->engine->start_ps);
		rte_pktmbuf_free(frame->packet);
	}
	for (uint32_t i = 0; to + i != wire->tail; i++)
		wire->frames[(from + i) & wire->mask] = wire->frames[(to + i) & wire->mask];
	wire->tail -= to - from;
	return to - from;
}

uint32_t wire_lose(struct wire *wire, uint32_t keep,
		   void (*lost)(void *context, struct rte_mbuf *packet), void *context)
{
	if (likely(wire->tail - wire->head <= keep) ||
	    time_after(wire->frames[(wire->head + keep) & wire->mask].arrival_ps,
		       wire->engine->now_ps))
		return 0;
	return wire_lose_behind(wire, keep, lost, context);
}

uint64_t wire_busy_ps(const struct wire *wire)
{
	uint64_t from_ps = time_max(wire->engine->now_ps, wire->held_ps);

	return wire->busy_ps - (time_after(wire->free_ps, from_ps) ? wire->free_ps - from_ps : 0);
}
