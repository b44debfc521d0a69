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
	engine->next_ps = engine->slot_ps + ENGINE_WINDOW_PS;
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
}

/* True when a comes before b: (time, node id, sequence). */
static inline bool event_before(const struct engine_event *a, const struct engine_event *b)
{
	if (a->time_ps != b->time_ps)
		return time_after(b->time_ps, a->time_ps);
	if (a->node_id != b->node_id)
		return a->node_id < b->node_id;
	return a->sequence < b->sequence;
}

/* --- the heap: binary, by order of events --- */

static void heap_put(struct engine_heap *heap, uint64_t index, struct engine_event *event)
{
	heap->event[index] = event;
	event->heap_index = index;
}

static void heap_up(struct engine_heap *heap, uint64_t index, struct engine_event *event)
{
	while (index > 0) {
		uint64_t parent = (index - 1) / 2;

		if (!event_before(event, heap->event[parent]))
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
		    event_before(heap->event[child + 1], heap->event[child]))
			child++;
		if (!event_before(heap->event[child], event))
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
	heap_up(heap, heap->count++, event);
}

static void heap_remove(struct engine_heap *heap, struct engine_event *event)
{
	uint64_t index = event->heap_index;
	struct engine_event *last = heap->event[--heap->count];

	if (last == event)
		return;
	if (index > 0 && event_before(last, heap->event[(index - 1) / 2]))
		heap_up(heap, index, last);
	else
		heap_down(heap, index, last);
}

/* --- the wheel --- */

static inline void wheel_mark_empty(struct engine *engine, uint32_t index)
{
	engine->slot[index] = NULL;
	engine->used[index / 64] &= ~(UINT64_C(1) << (index % 64));
	if (engine->used[index / 64] == 0)
		engine->summary &= ~(UINT64_C(1) << (index / 64));
}

/* Make next_ps right: the first used slot from from_ps on. @return false: the wheel is empty */
static inline bool wheel_find_next(struct engine *engine, uint64_t from_ps)
{
	uint32_t from = engine_slot(from_ps), word = from / 64, words;
	uint64_t bits = engine->used[word] >> (from % 64);
	uint64_t distance;

	if (bits != 0) {
		distance = (uint64_t)__builtin_ctzll(bits);
	} else if (engine->summary != 0) {
		/* Words from the next one round to this one, which may be used below `from`. */
		bits = engine->summary >> (word + 1) % 64 | engine->summary << (63 - word);
		words = (uint32_t)__builtin_ctzll(bits) + 1;
		distance = words * 64 - from % 64 +
			   (uint64_t)__builtin_ctzll(engine->used[(word + words) % 64]);
	} else {
		engine->next_ps = engine->slot_ps + ENGINE_WINDOW_PS;
		return false;
	}
	engine->next_ps = from_ps + (distance << ENGINE_SLOT_SHIFT);
	return true;
}

static __rte_noinline void heap_pull(struct engine *engine)
{
	struct engine_event *event = engine->heap.event[0];

	heap_remove(&engine->heap, event);
	engine_wheel_add(engine, event);
}

static struct engine_event *merge(struct engine_event *a, struct engine_event *b)
{
	struct engine_event *list = NULL, **end = &list;

	while (a != NULL && b != NULL) {
		struct engine_event **first = event_before(a, b) ? &a : &b;

		*end = *first;
		end = &(*first)->next;
		*first = (*first)->next;
	}
	*end = a != NULL ? a : b;
	return list;
}

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
			event = merge(bin[i], event);
			bin[i] = NULL;
		}
		bin[i] = event;
	}
	for (uint32_t i = 0; i < SORT_BINS; i++)
		sorted = merge(bin[i], sorted);
	return sorted;
}

/* The list runs from the one that came last to the first: mostly each goes to the front. */
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

/* Make the events of a used slot the current ones, in order. */
static inline void wheel_take(struct engine *engine, uint32_t index)
{
	struct engine_event *list = engine->slot[index];
	struct engine_event *previous = NULL;

	wheel_mark_empty(engine, index);
	if (unlikely(list->next != NULL))
		list = sort(list);
	engine->current = list;
	do {
		list->place = ENGINE_CURRENT;
		list->previous = previous;
		previous = list;
		list = list->next;
	} while (list != NULL);
}

static void current_add(struct engine *engine, struct engine_event *event)
{
	struct engine_event *previous = NULL, *next = engine->current;

	while (next != NULL && event_before(next, event)) {
		previous = next;
		next = next->next;
	}
	event->place = ENGINE_CURRENT;
	event->previous = previous;
	event->next = next;
	if (next != NULL)
		next->previous = event;
	if (previous != NULL)
		previous->next = event;
	else
		engine->current = event;
}

void engine_schedule_apart(struct engine *engine, struct engine_event *event)
{
	uint64_t ahead_ps = event->time_ps - engine->slot_ps;

	assert(!time_after(engine->now_ps, event->time_ps));
	if (ahead_ps < ENGINE_SLOT_PS)
		current_add(engine, event);
	else
		heap_add(&engine->heap, event);
}

void engine_cancel(struct engine *engine, struct engine_event *event)
{
	switch (event->place) {
	case ENGINE_NOWHERE:
		return;
	case ENGINE_HEAP:
		heap_remove(&engine->heap, event);
		break;
	default:
		if (event->next != NULL)
			event->next->previous = event->previous;
		if (event->previous != NULL)
			event->previous->next = event->next;
		else if (event->place == ENGINE_CURRENT)
			engine->current = event->next;
		else if (event->next != NULL)
			engine->slot[engine_slot(event->time_ps)] = event->next;
		else
			wheel_mark_empty(engine, engine_slot(event->time_ps));
		break;
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
 * Go to the next slot in which something is due, unless that lies behind until_ps.
 * @return false when nothing is due until then
 */
static inline bool engine_advance(struct engine *engine, uint64_t until_ps)
{
	uint64_t next_ps = engine->next_ps;

	/*
	 * All of the heap lies behind all of the wheel: whenever a slot is entered, what has come
	 * within the window moves over. When next_ps was a lower bound only, its slot is empty.
	 */
	if (unlikely(engine->slot[engine_slot(next_ps)] == NULL)) {
		if (wheel_find_next(engine, engine->slot_ps + ENGINE_SLOT_PS))
			next_ps = engine->next_ps;
		else if (engine->heap.count != 0)
			next_ps = engine->heap.event[0]->time_ps & ~(ENGINE_SLOT_PS - 1);
		else
			return false;
	}
	if (time_after(next_ps, until_ps))
		return false;
	engine->slot_ps = next_ps;
	while (engine->heap.count != 0 &&
	       engine->heap.event[0]->time_ps - next_ps < ENGINE_WINDOW_PS)
		heap_pull(engine);
	wheel_take(engine, engine_slot(next_ps));
	/* The run of this slot hides the latency of the next one's first event. */
	if (wheel_find_next(engine, next_ps + ENGINE_SLOT_PS))
		event_prefetch(engine->slot[engine_slot(engine->next_ps)]);
	return true;
}

/* One run of the first node that is due, with everything that is due for it now. */
static void engine_dispatch(struct engine *engine)
{
	struct engine_event *event = engine->current;
	struct node *node = event->node;
	uint64_t now_ps = event->time_ps;
	uint64_t next_ps;
	bool due = false;

	engine->repeats = now_ps == engine->now_ps ? engine->repeats + 1 : 0;
	engine->now_ps = now_ps;
	engine->last = node;
	do {
		engine->current = event->next;
		if (event->next != NULL)
			event->next->previous = NULL;
		event->place = ENGINE_NOWHERE;
		engine->events++;
		if (event->port != ENGINE_TIMER) {
			node->ops->arrive(node, event->port);
			due = true;
		}
		event = engine->current;
	} while (event != NULL && event->node == node && event->time_ps == now_ps);
	if (event != NULL)
		event_prefetch(event);

	if (!due && (!node->waiting || time_after(node->due_ps, now_ps))) {
		if (node->waiting)
			engine_timer_arm(engine, node);
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
	assert(!time_after(engine->now_ps, until_ps));
	for (;;) {
		while (engine->current != NULL) {
			if (time_after(engine->current->time_ps, until_ps))
				goto done;
			engine_dispatch(engine);
			if (engine->repeats > ENGINE_REPEAT_MAX)
				return -ELOOP;
		}
		if (!engine_advance(engine, until_ps))
			break;
	}
done:
	engine->now_ps = until_ps;
	return 0;
}
