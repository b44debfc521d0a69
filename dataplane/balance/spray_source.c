/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/spray_source.h"

#include "dataplane/units.h"

#define SWEEP_PARTS 64

/* Requests that stay without an answer before the flow is left alone for a while. */
#define REQUESTS_MAX 8

/* May another flow have this entry? What the other end knows stays, and so does what it may soon know. */
static bool is_spare(const struct spray_source *source, const struct sprayed_flow *flow,
		     uint64_t now_ps)
{
	switch (flow->state) {
	case SPRAY_FREE:
		return true;
	case SPRAY_COUNTING:
		return !flow->known;
	case SPRAY_BARRED:
		return !flow->known && time_after(now_ps, flow->last_ps + source->params.idle_ps);
	default:
		return false;
	}
}

/* An entry for a new flow: a free one, or that of the flow that has been silent longest. */
static struct sprayed_flow *place(struct spray_source *source, const struct balance_key *key,
				  uint16_t peer, uint64_t now_ps)
{
	struct sprayed_flow *way = spray_source_ways(source, key), *best = NULL;

	for (uint32_t i = 0; i < SPRAY_WAYS; i++) {
		if (!is_spare(source, &way[i], now_ps))
			continue;
		if (way[i].state == SPRAY_FREE) {
			best = &way[i];
			break;
		}
		if (best == NULL || time_after(best->last_ps, way[i].last_ps))
			best = &way[i];
	}
	if (best == NULL)
		return NULL;
	*best = (struct sprayed_flow){
		.key = *key,
		.peer = peer,
		.state = SPRAY_COUNTING,
		.since_ps = now_ps,
		/* Fractions of the golden ratio: far from those of flows before (Knuth, TAOCP 6.4). */
		.next = sequence_plus(SEQUENCE_FIRST,
				      (int32_t)((source->params.seed + source->begun++) *
							UINT64_C(0x9E3779B97F4A7C15) >>
						48) %
					      SEQUENCE_COUNT),
	};
	return best;
}

static void enter(struct sprayed_flow *flow, enum spray_state state, uint64_t now_ps)
{
	flow->state = (uint8_t)state;
	flow->since_ps = now_ps;
	flow->bytes = 0;
	flow->asked = 0;
}

/* What has been sent so far must have come before the flow's numbers may end. */
static void hold_here(struct spray_source *source, struct sprayed_flow *flow, uint64_t now_ps)
{
	flow->pinned_at = flow->next;
	flow->serial = ++source->serial;
	/* The first question is due at once. */
	flow->since_ps = now_ps - source->params.retry_ps;
}

static void pin(struct spray_source *source, struct sprayed_flow *flow, enum spray_pin why,
		uint64_t now_ps)
{
	source->counters.pinned[why]++;
	enter(flow, SPRAY_PINNED, now_ps);
	hold_here(source, flow, now_ps);
	flow->pin = (uint8_t)why;
}

static inline struct spray_decision sequenced(struct sprayed_flow *flow, enum spray_verdict verdict)
{
	struct spray_decision decision = {
		.verdict = (uint8_t)verdict, .sequence = flow->next, .flow = flow};

	flow->next = sequence_next(flow->next);
	return decision;
}

/* A request has to be sent, for the first time or again; or it is time to give up. */
static struct spray_decision ask(struct spray_source *source, struct sprayed_flow *flow,
				 uint64_t now_ps)
{
	if (flow->asked == REQUESTS_MAX) {
		source->counters.refused++;
		enter(flow, SPRAY_BARRED, now_ps);
		return (struct spray_decision){.verdict = SPRAY_PASS, .flow = flow};
	}
	flow->serial = ++source->serial; /* a new word: the last one may have been overtaken */
	flow->state = SPRAY_ASKED;
	flow->since_ps = now_ps;
	flow->asked++;
	flow->known = true; /* the answer may be lost */
	return (struct spray_decision){
		.verdict = SPRAY_PASS,
		.request = true,
		.flow = flow,
	};
}

/* Its packet has a checksum. */
static __attribute__((noinline)) struct spray_decision
computed(struct spray_source *source, struct sprayed_flow *flow, uint64_t now_ps)
{
	flow->checksums = true;
	if (flow->state == SPRAY_SPRAYED)
		pin(source, flow, SPRAY_PIN_CHECKSUM, now_ps);
	source->counters.checksums += flow->known;
	if (flow->state == SPRAY_PINNED)
		return sequenced(flow, SPRAY_FIRST);
	flow->state = SPRAY_BARRED;
	return (struct spray_decision){.verdict = flow->known ? SPRAY_CLEAR : SPRAY_PASS,
				       .flow = flow};
}

struct spray_decision spray_source_packet(struct spray_source *source,
					  const struct balance_key *key, uint16_t peer,
					  uint32_t bytes, uint16_t checksum, uint64_t now_ps)
{
	struct sprayed_flow *flow = spray_source_find(source, key);

	if (flow == NULL)
		flow = place(source, key, peer, now_ps);
	if (flow == NULL) {
		source->counters.unplaced++;
		return (struct spray_decision){.verdict = SPRAY_PASS};
	}
	flow->last_ps = now_ps;
	if (checksum != 0)
		return computed(source, flow, now_ps);
	/* It goes to another leaf now: what the first one knows of it must end first. */
	if (flow->peer != peer) {
		if (flow->state == SPRAY_SPRAYED)
			pin(source, flow, SPRAY_PIN_ROUTE, now_ps);
		else if (!flow->known)
			flow->peer = peer;
	}
	switch (flow->state) {
	case SPRAY_SPRAYED:
		if (!flow->begun) {
			struct spray_decision first = sequenced(flow, SPRAY_FIRST);

			flow->begun = true;
			first.sequence = SEQUENCE_START;
			return first;
		}
		return sequenced(flow, SPRAY_SEQUENCED);
	case SPRAY_PINNED:
		return sequenced(flow, SPRAY_FIRST);
	case SPRAY_COUNTING:
		flow->bytes += bytes;
		if (flow->bytes >= source->params.promote_bytes && !flow->checksums &&
		    flow->peer == peer && !flow->releasing)
			return ask(source, flow, now_ps);
		break;
	case SPRAY_ASKED:
		if (!time_after(flow->since_ps + source->params.retry_ps, now_ps))
			return ask(source, flow, now_ps);
		break;
	case SPRAY_BARRED:
		if (!flow->checksums && !time_after(flow->since_ps + source->params.bar_ps, now_ps))
			enter(flow, SPRAY_COUNTING, now_ps);
		break;
	default:
		break;
	}
	return (struct spray_decision){.verdict = SPRAY_PASS, .flow = flow};
}

void spray_source_answer(struct spray_source *source, struct sprayed_flow *flow, uint32_t serial,
			 bool yes, uint64_t now_ps)
{
	if (flow->state != SPRAY_ASKED || flow->serial != serial)
		return;
	if (!yes) {
		source->counters.refused++;
		enter(flow, SPRAY_BARRED, now_ps);
		return;
	}
	source->counters.promoted++;
	enter(flow, SPRAY_SPRAYED, now_ps);
	flow->begun = false;
}

void spray_source_pin(struct spray_source *source, struct sprayed_flow *flow, enum spray_pin why,
		      uint64_t now_ps)
{
	if (flow->state == SPRAY_SPRAYED)
		pin(source, flow, why, now_ps);
}

void spray_source_drained(struct spray_source *source, struct sprayed_flow *flow, uint32_t serial,
			  uint64_t now_ps)
{
	if (flow->state != SPRAY_PINNED || flow->serial != serial)
		return;
	source->counters.drained++;
	enter(flow, flow->checksums ? SPRAY_BARRED : SPRAY_COUNTING, now_ps);
}

void spray_source_rerouted(struct spray_source *source, uint64_t now_ps)
{
	for (uint32_t i = 0; i <= source->mask; i++)
		if (source->flow[i].state == SPRAY_PINNED)
			hold_here(source, &source->flow[i], now_ps);
}

void spray_source_released(struct sprayed_flow *flow, uint32_t serial)
{
	if (flow->releasing && flow->serial == serial)
		flow->releasing = flow->known = false;
}

/* What an entry wants in a sweep. */
static void look(struct spray_source *source, struct sprayed_flow *flow, uint64_t now_ps,
		 void (*say)(void *, struct sprayed_flow *, enum spray_word), void *context)
{
	const struct spray_source_params *params = &source->params;
	bool due = !time_after(flow->since_ps + params->retry_ps, now_ps);

	switch (flow->state) {
	case SPRAY_SPRAYED:
		if (time_after(now_ps, flow->last_ps + params->idle_ps))
			pin(source, flow, SPRAY_PIN_IDLE, now_ps);
		break;
	case SPRAY_PINNED:
		if (due) {
			flow->serial = ++source->serial;
			flow->since_ps = now_ps;
			say(context, flow, SPRAY_WORD_DRAINED);
		}
		break;
	case SPRAY_ASKED:
		/* Whoever asks again is its packets. */
		if (time_after(now_ps, flow->last_ps + params->idle_ps))
			enter(flow, SPRAY_COUNTING, now_ps);
		break;
	case SPRAY_COUNTING:
	case SPRAY_BARRED:
		if (!flow->known ||
		    (!flow->releasing && !time_after(now_ps, flow->last_ps + params->release_ps)))
			break;
		if (!flow->releasing || due) {
			flow->serial = ++source->serial;
			flow->releasing = true;
			flow->since_ps = now_ps;
			say(context, flow, SPRAY_WORD_RELEASE);
		}
		break;
	default:
		break;
	}
}

void spray_source_sweep(struct spray_source *source, uint64_t now_ps,
			void (*say)(void *context, struct sprayed_flow *flow, enum spray_word word),
			void *context)
{
	for (uint32_t i = 0; i <= source->mask / SWEEP_PARTS; i++) {
		look(source, &source->flow[source->swept], now_ps, say, context);
		source->swept = (source->swept + 1) & source->mask;
	}
}

void spray_source_forget(struct spray_source *source, uint16_t peer, uint64_t now_ps)
{
	for (uint32_t i = 0; i <= source->mask; i++) {
		struct sprayed_flow *flow = &source->flow[i];

		if (flow->state == SPRAY_FREE || flow->peer != peer)
			continue;
		flow->known = flow->releasing = false;
		if (flow->state != SPRAY_BARRED)
			enter(flow, flow->checksums ? SPRAY_BARRED : SPRAY_COUNTING, now_ps);
	}
}
