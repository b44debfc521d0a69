/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/balance/resequencer_tables.h"

/* resequencer_flow.skip: how far numbers are given up; the reason is in the upper four bits */
#define SKIP_NOTHING 0u
#define SKIP_HEAD    1u /* until the first packet that is held */
#define SKIP_LIMIT   2u /* up to limit */
#define SKIP_ALL     3u /* until nothing is held */
#define SKIP_MASK    3u

static uint64_t counted(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

static void count_max(_Atomic uint64_t *counter, uint64_t value)
{
	if (value > counted(counter))
		atomic_store_explicit(counter, value, memory_order_relaxed);
}

static uint64_t clock_of(const struct resequencer *r, uint32_t priority, uint64_t now_ps)
{
	const struct resequencer_tables *t = r->tables;

	if ((t->stopped >> priority & 1) != 0)
		now_ps = t->stopped_ps[priority];
	return now_ps - t->lost_ps[priority];
}

void resequencer_clock_hold(struct resequencer *resequencer, uint8_t priority, bool hold,
			    uint64_t now_ps)
{
	struct resequencer_tables *t = resequencer->tables;
	uint8_t bit = (uint8_t)(1u << priority);

	if (hold == ((t->stopped & bit) != 0))
		return;
	if (hold)
		t->stopped_ps[priority] = now_ps;
	else
		t->lost_ps[priority] += now_ps - t->stopped_ps[priority];
	t->stopped ^= bit;
	resequencer->next_ps = now_ps; /* look again */
}

static void hole_unlink(struct resequencer *r, struct resequencer_flow *flow)
{
	r->flow[flow->older].newer = flow->newer;
	r->flow[flow->newer].older = flow->older;
	flow->older = flow->newer = flow_index(r, flow);
	flow->flags &= (uint8_t)~FLOW_HOLE;
}

/* As the newest of its stage. */
static void hole_link(struct resequencer *r, struct resequencer_flow *flow, uint32_t stage)
{
	uint32_t ring = r->limits.flows + resequencer_flow_priority(flow) * STAGES + stage;
	uint32_t index = flow_index(r, flow);

	flow->older = r->flow[ring].older;
	flow->newer = ring;
	r->flow[flow->older].newer = index;
	r->flow[ring].older = index;
	flow->flags |= FLOW_HOLE;
}

/* The age at which a stage is over. */
static uint64_t stage_ps(const struct resequencer *r, uint32_t stage)
{
	uint64_t age_ps = r->limits.fence_ps << 3 * stage;

	return stage == STAGES - 1 || age_ps > r->limits.timeout_ps ? r->limits.timeout_ps : age_ps;
}

/* A flow waits for its expected number from now on. */
static void hole_begin(struct resequencer *r, struct resequencer_flow *flow, uint64_t now_ps)
{
	uint32_t priority = resequencer_flow_priority(flow);

	flow->hole_ps = clock_of(r, priority, now_ps);
	hole_link(r, flow, 0);
	count_more(&r->counters.holes, 1);
	if ((r->tables->stopped >> priority & 1) == 0)
		r->next_ps = time_min(r->next_ps, now_ps + stage_ps(r, 0));
}

static void ready_add(struct resequencer *r, struct resequencer_flow *flow)
{
	struct resequencer_tables *t = r->tables;
	uint32_t index = flow_index(r, flow);

	if ((flow->flags & FLOW_READY) != 0)
		return;
	flow->flags |= FLOW_READY;
	flow->ready = NONE;
	if (t->ready_first == NONE)
		t->ready_first = index;
	else
		r->flow[t->ready_last].ready = index;
	t->ready_last = index;
}

struct resequencer_flow *resequencer_ready(struct resequencer *resequencer)
{
	struct resequencer_tables *t = resequencer->tables;
	struct resequencer_flow *flow;

	if (t->ready_first == NONE)
		return NULL;
	flow = &resequencer->flow[t->ready_first];
	t->ready_first = flow->ready;
	flow->flags &= (uint8_t)~FLOW_READY;
	return flow;
}

/* Give up what is missing; resequencer_next() does it. */
static void give_up(struct resequencer *r, struct resequencer_flow *flow, uint32_t skip,
		    enum resequencer_reason reason)
{
	if ((flow->flags & FLOW_HOLE) != 0)
		hole_unlink(r, flow);
	if ((flow->skip & SKIP_MASK) != SKIP_ALL)
		flow->skip = (uint8_t)(skip | reason << 4);
	flow->fences = 0;
	count_more(&r->counters.given_up[reason], 1);
	ready_add(r, flow);
}

static uint32_t *held_bucket(const struct resequencer *r, uint32_t flow, uint16_t number)
{
	/* The numbers of one flow lie side by side. */
	uint32_t hash = flow * UINT32_C(0x9E3779B1) + number;

	return &r->tables->bucket[hash & r->tables->bucket_mask];
}

/* What points to a held packet; *found is NONE when it isn't held. */
static uint32_t *held_find(const struct resequencer *r, uint32_t flow, uint16_t number)
{
	struct held *held = r->tables->held;
	uint32_t *link = held_bucket(r, flow, number);

	while (*link != NONE && (held[*link].flow != flow || held[*link].number != number))
		link = &held[*link].chain;
	return link;
}

static bool hold(struct resequencer *r, struct resequencer_flow *flow, struct rte_mbuf *packet,
		 uint16_t number, uint32_t cost_bytes, uint64_t now_ps)
{
	struct resequencer_counters *counters = &r->counters;
	struct resequencer_tables *t = r->tables;
	uint32_t index = flow_index(r, flow), entry = t->unused_held;
	uint32_t *bucket = held_bucket(r, index, number);
	struct held *held = &t->held[entry];

	if (entry == NONE)
		return false;
	t->unused_held = held->chain;
	*held = (struct held){packet,  now_ps, index, number, (uint16_t)cost_bytes,
			      *bucket, entry,  entry};
	*bucket = entry;
	if (flow->held == 0) {
		flow->oldest = entry;
	} else {
		struct held *oldest = &t->held[flow->oldest];

		held->older = oldest->older;
		held->newer = flow->oldest;
		t->held[oldest->older].newer = entry;
		oldest->older = entry;
	}
	flow->held++;
	count_more(&counters->held_bytes, cost_bytes);
	count_more(&counters->held_packets, 1);
	count_max(&counters->held_bytes_max, counted(&counters->held_bytes));
	count_max(&counters->held_packets_max, counted(&counters->held_packets));
	return true;
}

/* Take a held packet out; link is what points to it. */
static struct rte_mbuf *unhold(struct resequencer *r, struct resequencer_flow *flow, uint32_t *link)
{
	struct resequencer_tables *t = r->tables;
	uint32_t entry = *link;
	struct held *held = &t->held[entry];

	*link = held->chain;
	t->held[held->older].newer = held->newer;
	t->held[held->newer].older = held->older;
	if (flow->oldest == entry)
		flow->oldest = held->newer;
	held->chain = t->unused_held;
	t->unused_held = entry;
	flow->held--;
	count_more(&r->counters.held_bytes, -(uint64_t)held->cost_bytes);
	count_more(&r->counters.held_packets, -UINT64_C(1));
	return held->packet;
}

/* Is the expected number to be given up? */
static bool skips(const struct resequencer_flow *flow)
{
	switch (flow->skip & SKIP_MASK) {
	case SKIP_HEAD:
	case SKIP_ALL:
		return flow->held != 0;
	case SKIP_LIMIT:
		return sequence_distance(flow->limit, flow->expected) >= 0;
	default:
		return false;
	}
}

struct rte_mbuf *resequencer_next(struct resequencer *resequencer, struct resequencer_flow *flow,
				  uint64_t now_ps)
{
	uint32_t index = flow_index(resequencer, flow);

	for (;;) {
		uint32_t *link =
			flow->held == 0 ? NULL : held_find(resequencer, index, flow->expected);

		if (link != NULL && *link != NONE) {
			if ((flow->skip & SKIP_MASK) == SKIP_HEAD)
				flow->skip = SKIP_NOTHING;
			flow->expected = sequence_next(flow->expected);
			return unhold(resequencer, flow, link);
		}
		if (!skips(flow))
			break;
		count_more(&resequencer->counters.lost[flow->skip >> 4], 1);
		flow->flags &= (uint8_t)~FLOW_STARTING;
		flow->expected = sequence_next(flow->expected);
	}
	flow->skip = SKIP_NOTHING;
	if (flow->held != 0 && (flow->flags & FLOW_HOLE) == 0)
		hole_begin(resequencer, flow, now_ps);
	else if (flow->held == 0 && (flow->flags & FLOW_HOLE) != 0)
		hole_unlink(resequencer, flow);
	return NULL;
}

/* The oldest hole of all flows, or NULL. */
static struct resequencer_flow *hole_oldest(const struct resequencer *r)
{
	struct resequencer_flow *oldest = NULL;
	uint64_t oldest_ps = 0;

	for (uint32_t ring = 0; ring < PRIORITY_COUNT * STAGES; ring++) {
		uint32_t index = r->flow[r->limits.flows + ring].newer;
		uint64_t since_ps = r->flow[index].hole_ps + r->tables->lost_ps[ring / STAGES];

		if (index < r->limits.flows &&
		    (oldest == NULL || time_after(oldest_ps, since_ps))) {
			oldest = &r->flow[index];
			oldest_ps = since_ps;
		}
	}
	return oldest;
}

/* A packet from further ahead than what is expected. */
static enum resequencer_result arrive_ahead(struct resequencer *r, struct resequencer_flow *flow,
					    struct rte_mbuf *packet, uint16_t number,
					    uint32_t cost_bytes, int32_t ahead, uint64_t now_ps)
{
	struct resequencer_counters *counters = &r->counters;
	bool began = flow->held == 0;

	if (!began && *held_find(r, flow_index(r, flow), number) != NONE) {
		count_more(&counters->duplicates, 1);
		return RESEQUENCER_DUPLICATE;
	}
	if (!hold(r, flow, packet, number, cost_bytes, now_ps)) {
		count_more(&counters->late, 1);
		count_more(&counters->unheld, 1);
		return RESEQUENCER_LATE;
	}
	if (began && flow->skip == SKIP_NOTHING)
		hole_begin(r, flow, now_ps);
	if (ahead > SEQUENCE_WINDOW) {
		flow->limit = sequence_plus(number, -SEQUENCE_WINDOW - 1);
		give_up(r, flow, SKIP_LIMIT, RESEQUENCER_WINDOW);
	}
	if (counted(&counters->held_bytes) > r->limits.bytes ||
	    counted(&counters->held_packets) > r->limits.packets) {
		struct resequencer_flow *oldest = hole_oldest(r);

		if (oldest != NULL)
			give_up(r, oldest, SKIP_HEAD, RESEQUENCER_CAP);
	}
	return RESEQUENCER_HELD;
}

enum resequencer_result resequencer_arrive_slow(struct resequencer *resequencer,
						struct resequencer_flow *flow,
						struct rte_mbuf *packet, uint16_t number,
						uint32_t cost_bytes, uint32_t member,
						uint64_t now_ps)
{
	struct resequencer_member *from =
		resequencer_member_seen(resequencer, flow, member, now_ps);
	int32_t ahead;

	if (number == SEQUENCE_START) {
		if ((flow->flags & FLOW_STARTING) == 0) {
			count_more(&resequencer->counters.late, 1);
			return RESEQUENCER_LATE;
		}
		number = flow->expected;
	}
	ahead = sequence_distance(number, flow->expected);
	if (ahead < 0) {
		count_more(&resequencer->counters.late, 1);
		return RESEQUENCER_LATE;
	}
	if (ahead > 0)
		return arrive_ahead(resequencer, flow, packet, number, cost_bytes, ahead, now_ps);
	if (flow->held != 0) {
		/* A hole that was given up may end in packets that are held and not yet sent. */
		if (*held_find(resequencer, flow_index(resequencer, flow), number) != NONE) {
			count_more(&resequencer->counters.duplicates, 1);
			return RESEQUENCER_DUPLICATE;
		}
		from->lateness_ps += now_ps - resequencer->tables->held[flow->oldest].arrived_ps;
	}
	if ((flow->flags & FLOW_HOLE) != 0)
		hole_unlink(resequencer, flow);
	flow->flags &= (uint8_t)~FLOW_STARTING;
	flow->expected = sequence_next(number);
	return RESEQUENCER_SEND;
}

/* All that became due at one stage of one priority. @return a flow to ask fences for, or NULL */
static struct resequencer_flow *stage_due(struct resequencer *r, uint32_t priority, uint32_t stage,
					  uint64_t now_ps, uint64_t *next_ps)
{
	uint32_t ring = r->limits.flows + priority * STAGES + stage;
	uint64_t clock_ps = clock_of(r, priority, now_ps);

	while (r->flow[ring].newer != ring) {
		struct resequencer_flow *flow = &r->flow[r->flow[ring].newer];
		uint64_t due_ps = flow->hole_ps + stage_ps(r, stage);

		if (time_after(due_ps, clock_ps)) {
			*next_ps = time_min(*next_ps, now_ps + (due_ps - clock_ps));
			return NULL;
		}
		if (!time_after(flow->hole_ps + r->limits.timeout_ps, clock_ps)) {
			give_up(r, flow, SKIP_HEAD, RESEQUENCER_TIMEOUT);
			continue;
		}
		hole_unlink(r, flow);
		hole_link(r, flow, stage + 1);
		return flow;
	}
	return NULL;
}

struct resequencer_flow *resequencer_hole_due(struct resequencer *resequencer, uint64_t now_ps)
{
	uint64_t next_ps = now_ps + TIME_IDLE_PS;

	if (time_after(resequencer->next_ps, now_ps))
		return NULL;
	for (uint32_t priority = 0; priority < PRIORITY_COUNT; priority++) {
		if ((resequencer->tables->stopped >> priority & 1) != 0)
			continue;
		for (uint32_t stage = 0; stage < STAGES; stage++) {
			struct resequencer_flow *flow =
				stage_due(resequencer, priority, stage, now_ps, &next_ps);

			if (flow != NULL)
				return flow;
		}
	}
	resequencer->next_ps = next_ps;
	return NULL;
}

void resequencer_fence(struct resequencer *resequencer, struct resequencer_flow *flow,
		       uint32_t member, uint16_t last, uint32_t live, uint64_t now_ps)
{
	if (sequence_distance(last, flow->expected) < 0 || flow->skip != SKIP_NOTHING)
		return;
	/* What came meanwhile may have made the first ones of no use. */
	if (flow->fences == 0 || sequence_distance(flow->limit, flow->expected) < 0) {
		flow->fences = 0;
		flow->limit = last;
	} else if (sequence_distance(last, flow->limit) < 0) {
		flow->limit = last;
	}
	flow->fences |= UINT32_C(1) << member;
	flow->seen_ps = now_ps;
	if ((live & ~flow->fences) == 0)
		give_up(resequencer, flow, SKIP_LIMIT, RESEQUENCER_FENCE);
}

void resequencer_expire(struct resequencer *resequencer, struct resequencer_flow *flow,
			uint16_t last, uint64_t now_ps)
{
	if (flow->held != 0 || flow->skip != SKIP_NOTHING || resequencer_passed(flow, last) ||
	    !time_after(now_ps, flow->seen_ps + resequencer->limits.timeout_ps))
		return;
	flow->limit = last;
	give_up(resequencer, flow, SKIP_LIMIT, RESEQUENCER_TIMEOUT);
}

void resequencer_flush(struct resequencer *resequencer, struct resequencer_flow *flow)
{
	if (flow->held != 0)
		give_up(resequencer, flow, SKIP_ALL, RESEQUENCER_FLUSH);
}

void resequencer_flush_peer(struct resequencer *resequencer, uint16_t peer)
{
	for (uint32_t i = 0; i < PRIORITY_COUNT * STAGES; i++) {
		uint32_t ring = resequencer->limits.flows + i;
		uint32_t newer;

		for (uint32_t at = resequencer->flow[ring].newer; at != ring; at = newer) {
			newer = resequencer->flow[at].newer;
			if (resequencer->flow[at].peer == peer)
				resequencer_flush(resequencer, &resequencer->flow[at]);
		}
	}
}

struct resequencer_feedback resequencer_feedback_take(struct resequencer *resequencer,
						      uint16_t peer, uint32_t member,
						      uint64_t now_ps)
{
	const struct resequencer_peer *from = &resequencer->peer[peer];
	struct resequencer_member *m = &resequencer->peer[peer].member[member];
	struct resequencer_feedback feedback = {m->lateness_ps, m->packets, 0};

	if (from->all - m->all >= RESEQUENCER_SILENT_AMID &&
	    time_after(now_ps, m->seen_ps + RESEQUENCER_SILENT_PS))
		feedback.silent_ps = now_ps - m->seen_ps;
	m->lateness_ps = 0;
	m->packets = 0;
	return feedback;
}
