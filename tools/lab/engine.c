/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/engine.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include <rte_branch_prediction.h>
#include <rte_common.h>

#include "tools/lab/allocate.h"

/* Lists up to this long are sorted by insertion: what a slot holds was mostly put there in order. */
#define SORT_INSERT_MAX 8

/* Lists of a slot being sorted: 2^32 events. */
#define SORT_BINS 32

struct engine *engine_create(uint64_t start_ps)
{
	struct engine *engine = allocate(sizeof(*engine));

	engine->now_ps = start_ps;
	engine->start_ps = start_ps;
	engine->slot_ps = start_ps & ~(ENGINE_SLOT_PS - 1);
	return engine;
}

void engine_free(struct engine *engine)
{
	if (engine == NULL)
		return;
	free(engine->heap.event);
	free(engine);
}

void engine_event_init(struct engine_event *event, struct node *node, uint16_t port)
{
	*event = (struct engine_event){.node = node, .node_id = node->id, .port = port};
}

void engine_add(struct engine *engine, struct node *node, const struct node_ops *ops)
{
	node->ops = ops;
	node->engine = engine;
	node->waiting = false;
	node->id = engine->node_count++;
	engine_event_init(&node->timer, node, ENGINE_TIMER);
	engine_event_init(&node->distant, node, ENGINE_TIMER);
}

void engine_remove(struct engine *engine, struct node *node)
{
	engine_cancel(engine, &node->timer);
	engine_cancel(engine, &node->distant);
}

/* True when a comes before b by (time, node id). */
static inline bool event_before(const struct engine_event *a, const struct engine_event *b)
{
	if (a->time_ps != b->time_ps)
		return time_after(b->time_ps, a->time_ps);
	return a->node_id < b->node_id;
}

/* --- the heap: binary, by order of events --- */

static inline bool heap_before(const struct engine_event *a, const struct engine_event *b)
{
	if (a->time_ps == b->time_ps && a->node_id == b->node_id)
		return a->sequence < b->sequence;
	return event_before(a, b);
}

static void heap_put(struct engine_heap *heap, uint64_t index, struct engine_event *event)
{
	heap->event[index] = event;
	event->heap_index = index;
}

static void heap_up(struct engine_heap *heap, uint64_t index, struct engine_event *event)
{
	while (index > 0) {
		uint64_t parent = (index - 1) / 2;

		if (!heap_before(event, heap->event[parent]))
			break;
		heap_put(heap, index, heap->event[parent]);
		index = parent;
	}
	heap_put(heap, index, event);
}

static void heap_down(struct engine_heap *heap, uint64_t index, struct engine_event *event)
{
	for (;;) {
		uint64_t child = 2 * index + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap_before(heap->event[child + 1], heap->event[child]))
			child++;
		if (!heap_before(heap->event[child], event))
			break;
		heap_put(heap, index, heap->event[child]);
		index = child;
	}
	heap_put(heap, index, event);
}

static void heap_add(struct engine_heap *heap, struct engine_event *event)
{
	if (heap->count == heap->size) {
		heap->size = heap->size == 0 ? 64 : 2 * heap->size;
		heap->event =
			allocate_resize(heap->event, heap->size * sizeof(struct engine_event *));
	}
	event->place = ENGINE_HEAP;
	event->sequence = heap->sequence++;
	heap_up(heap, heap->count++, event);
}

static void heap_remove(struct engine_heap *heap, struct engine_event *event)
{
	uint64_t index = event->heap_index;
	struct engine_event *last = heap->event[--heap->count];

	if (last == event)
		return;
	if (index > 0 && heap_before(last, heap->event[(index - 1) / 2]))
		heap_up(heap, index, last);
	else
		heap_down(heap, index, last);
}

/* --- the wheel --- */

/* What engine_advance() must not pass without care: the end of the run, and what is in the heap. */
static void engine_limit(struct engine *engine)
{
	engine->limit_ps = engine->until_ps;
	if (engine->heap.count != 0)
		engine->limit_ps = time_min(engine->limit_ps,
					    engine->heap.event[0]->time_ps - ENGINE_WINDOW_PS);
}

/* All of the heap lies behind all of the wheel: what has come within the window moves over. */
static void engine_pull(struct engine *engine)
{
	while (engine->heap.count != 0 &&
	       engine->heap.event[0]->time_ps - engine->slot_ps < ENGINE_WINDOW_PS) {
		struct engine_event *event = engine->heap.event[0];

		heap_remove(&engine->heap, event);
		engine_wheel_add(engine, event);
	}
	engine_limit(engine);
}

/* Of equal ones those of a first. */
static struct engine_event *merge(struct engine_event *a, struct engine_event *b)
{
	struct engine_event *list = NULL, **end = &list;

	while (a != NULL && b != NULL) {
		struct engine_event **first = event_before(b, a) ? &b : &a;

		*end = *first;
		end = &(*first)->next;
		*first = (*first)->next;
	}
	*end = a != NULL ? a : b;
	return list;
}

/* What comes later in the list was there earlier. */
static struct engine_event *sort_merge(struct engine_event *list)
{
	struct engine_event *bin[SORT_BINS] = {NULL};
	struct engine_event *sorted = NULL;

	while (list != NULL) {
		struct engine_event *event = list;
		uint32_t i = 0;

		list = list->next;
		event->next = NULL;
		for (; bin[i] != NULL; i++) {
			event = merge(event, bin[i]);
			bin[i] = NULL;
		}
		bin[i] = event;
	}
	for (uint32_t i = 0; i < SORT_BINS; i++)
		sorted = merge(sorted, bin[i]);
	return sorted;
}

/*
 * Bring the events of a slot into order. The list runs from the one that came last to the first:
 * mostly each goes to the front, and so it does before its equals.
 */
static __rte_noinline struct engine_event *sort(struct engine_event *list)
{
	struct engine_event *sorted = NULL, *event;
	uint32_t count = 0;

	for (event = list; event != NULL; event = event->next)
		count++;
	if (count > SORT_INSERT_MAX)
		return sort_merge(list);
	while (list != NULL) {
		struct engine_event **at = &sorted;

		event = list;
		list = list->next;
		while (*at != NULL && event_before(*at, event))
			at = &(*at)->next;
		event->next = *at;
		*at = event;
	}
	return sorted;
}

static void current_add(struct engine *engine, struct engine_event *event)
{
	struct engine_event **at = &engine->current;

	while (*at != NULL && !event_before(event, *at))
		at = &(*at)->next;
	event->place = ENGINE_WHEEL;
	event->next = *at;
	*at = event;
}

void engine_schedule_apart(struct engine *engine, struct engine_event *event)
{
	uint64_t ahead_ps = event->time_ps - engine->slot_ps;

	assert(!time_after(engine->now_ps, event->time_ps));
	if (ahead_ps < ENGINE_SLOT_PS) {
		current_add(engine, event);
		return;
	}
	heap_add(&engine->heap, event);
	engine_limit(engine);
}

/* Lists are short, and few events are cancelled: better than links in both directions. */
static void list_remove(struct engine_event **at, const struct engine_event *event)
{
	while (*at != event)
		at = &(*at)->next;
	*at = event->next;
}

void engine_cancel(struct engine *engine, struct engine_event *event)
{
	uint32_t index = engine_slot(event->time_ps);

	if (event->place == ENGINE_NOWHERE)
		return;
	if (event->place == ENGINE_HEAP) {
		heap_remove(&engine->heap, event);
		engine_limit(engine);
	} else if (event->time_ps - engine->slot_ps < ENGINE_SLOT_PS) {
		list_remove(&engine->current, event);
	} else {
		list_remove(&engine->slot[index], event);
		if (engine->slot[index] == NULL)
			engine->used[index / 64] &= ~(UINT64_C(1) << (index % 64));
	}
	event->place = ENGINE_NOWHERE;
}

static inline void event_prefetch(const struct engine_event *event)
{
	__builtin_prefetch(event->prefetch[0]);
	__builtin_prefetch(event->prefetch[1]);
	__builtin_prefetch(event->node);
	__builtin_prefetch((const char *)event->node + 64);
}

/*
 * The word of the bitmap that has the next used slot, when that isn't the current one's.
 * @return ENGINE_SLOT_COUNT / 64 when nothing is due until until_ps
 */
static __rte_noinline uint32_t engine_next_word(struct engine *engine)
{
	uint32_t word = engine_slot(engine->slot_ps) / 64;
	const struct engine_event *first;

	for (uint32_t i = 1; i < ENGINE_SLOT_COUNT / 64; i++)
		if (engine->used[(word + i) % (ENGINE_SLOT_COUNT / 64)] != 0)
			return (word + i) % (ENGINE_SLOT_COUNT / 64);
	if (engine->heap.count == 0)
		return ENGINE_SLOT_COUNT / 64;
	first = engine->heap.event[0];
	if (time_after(first->time_ps, engine->until_ps))
		return ENGINE_SLOT_COUNT / 64;
	/* The slot before it, which is empty, becomes the current one. */
	engine->slot_ps = (first->time_ps & ~(ENGINE_SLOT_PS - 1)) - ENGINE_SLOT_PS;
	word = engine_slot(first->time_ps) / 64;
	engine_pull(engine);
	return word;
}

/*
 * Go to the next slot in which something is due, unless that lies behind until_ps.
 * @return its events in order, or NULL when nothing is due until then
 */
static inline struct engine_event *engine_advance(struct engine *engine)
{
	uint32_t word = engine_slot(engine->slot_ps) / 64;
	struct engine_event **slot = &engine->slot[(size_t)word * 64], *list;
	uint64_t bits = engine->used[word], slot_ps;
	bool beyond;

	if (bits == 0) {
		word = engine_next_word(engine);
		if (word == ENGINE_SLOT_COUNT / 64)
			return NULL;
		slot = &engine->slot[(size_t)word * 64];
		bits = engine->used[word];
	}
	list = slot[__builtin_ctzll(bits)];
	slot_ps = list->time_ps & ~(ENGINE_SLOT_PS - 1);
	beyond = time_after(list->time_ps, engine->limit_ps);
	if (unlikely(beyond) && time_after(slot_ps, engine->until_ps))
		return NULL;
	engine->slot_ps = slot_ps;
	slot[__builtin_ctzll(bits)] = NULL;
	bits &= bits - 1;
	engine->used[word] = bits;
	if (list->next != NULL)
		list = sort(list);
	if (unlikely(beyond)) {
		engine_pull(engine);
		if (time_after(list->time_ps, engine->until_ps)) {
			engine->current = list;
			return NULL;
		}
	}
	/* The run of this slot hides the latency of the next one's first event. */
	if (bits != 0)
		event_prefetch(slot[__builtin_ctzll(bits)]);
	return list;
}

/* One run of the node that is due first, with everything that is due for it now. */
static inline void engine_dispatch(struct engine *engine, struct engine_event *event)
{
	struct node *node = event->node;
	uint64_t now_ps = event->time_ps;
	uint64_t next_ps;
	bool due = false;

	engine->repeats = now_ps == engine->now_ps ? engine->repeats + 1 : 0;
	engine->now_ps = now_ps;
	engine->last = node;
	do {
		engine->current = event->next;
		event->place = ENGINE_NOWHERE;
		engine->events++;
		if (event->port != ENGINE_TIMER) {
			node->ops->arrive(node, event->port);
			due = true;
		}
		event = engine->current;
		if (event == NULL)
			break;
		event_prefetch(event);
	} while (event->node == node && event->time_ps == now_ps);

	if (!due && (!node->waiting || time_after(node->due_ps, now_ps))) {
		if (node->waiting)
			engine_node_arm(engine, node);
		return; /* the timer was stale */
	}
	engine->runs++;
	node->waiting = false;
	next_ps = node->ops->run(node, now_ps);
	if (next_ps - now_ps < TIME_IDLE_PS / 2)
		engine_wake(engine, node, next_ps);
}

int engine_run(struct engine *engine, uint64_t until_ps)
{
	struct engine_event *event;

	assert(!time_after(engine->now_ps, until_ps));
	engine->until_ps = until_ps;
	engine_limit(engine);
	for (;;) {
		event = engine->current;
		if (event == NULL) {
			event = engine_advance(engine);
			if (event == NULL)
				break;
		} else if (time_after(event->time_ps, until_ps)) {
			break;
		}
		engine_dispatch(engine, event);
		if (unlikely(engine->repeats > ENGINE_REPEAT_MAX))
			return -ELOOP;
	}
	engine->now_ps = until_ps;
	return 0;
}
