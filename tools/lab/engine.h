/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * engine - virtual time: runs nodes in the order of (time, node id, sequence).
 *
 * A node is anything that acts at a time: a switch, a host, a sampler. It is run when a frame
 * arrives at it or when the time has come that its last run returned; everything that is due for
 * one node at one time leads to ONE run. Order never depends on addresses or hashes, so that a run
 * is a function of what was scheduled.
 *
 * Structure: a wheel of 4096 slots of 2048 ps each (8.4 us) with a bitmap of used slots, and a
 * heap for what lies further ahead. On the prototype the wheel beat 4-ary, binary and pairing heaps
 * by half from 16 hosts on, because frames of one fabric are due within few microseconds. An event
 * is one cache line and carries the addresses that its run will touch first.
 *
 * The wheel never holds more than a round less one word of the bitmap. So all bits of the word that
 * time stands in lie ahead, in order: the next slot is the lowest bit, without shifts. A node has two
 * timers, one for each structure: the distant one stays in the heap, however often the node runs
 * meanwhile.
 *
 * Times wrap; all events lie within TIME_IDLE_PS of each other. A return of `now + 2^61` or later
 * means idle and schedules nothing.
 *
 * Thread: one.
 */
#ifndef LAB_ENGINE_H
#define LAB_ENGINE_H

#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dataplane/units.h"

#define ENGINE_SLOT_SHIFT 11   /* a slot is 2048 ps */
#define ENGINE_SLOT_COUNT 4096 /* 64 words of the bitmap */
#define ENGINE_SLOT_PS    (UINT64_C(1) << ENGINE_SLOT_SHIFT)
#define ENGINE_WINDOW_PS  ((ENGINE_SLOT_COUNT - 64) * ENGINE_SLOT_PS)

/* Runs without time passing after which the last node counts as stuck. */
#define ENGINE_REPEAT_MAX 1000000

struct node;
struct engine;

enum engine_place { ENGINE_NOWHERE, ENGINE_WHEEL, ENGINE_HEAP };

/* Embedded in whatever is due: a node (its timer) or a wire (arrival of its first frame). */
struct engine_event {
	alignas(64) uint64_t time_ps;
	uint64_t sequence; /* in the heap; elsewhere lists keep the order */
	struct engine_event *next;
	uint64_t heap_index;
	struct node *node;
	const void *prefetch[2]; /* what the run will touch first; may be NULL */
	uint32_t node_id;
	uint16_t port; /* arrival: where; a timer: ENGINE_TIMER */
	uint8_t place; /* enum engine_place */
};

#define ENGINE_TIMER UINT16_MAX

static_assert(sizeof(struct engine_event) == 64, "one line");

struct node_ops {
	const char *kind;
	/** A frame waits at a port. A run at the same time follows. */
	void (*arrive)(struct node *node, uint16_t port);
	/**
	 * Do what is due.
	 * @return when it next wants to run, later than now_ps; now_ps + TIME_IDLE_PS: when a frame
	 *         arrives. A return of now_ps runs it again at once.
	 */
	uint64_t (*run)(struct node *node, uint64_t now_ps);
};

/* Embedded first in every kind of node. */
struct node {
	struct engine_event timer; /* within the window */
	const struct node_ops *ops;
	struct engine *engine;
	uint64_t due_ps; /* valid when waiting */
	bool waiting;
	uint32_t id;
	struct engine_event distant; /* timer for what was beyond the window */
};

struct engine_heap {
	struct engine_event **event;
	uint32_t count, size;
	uint64_t sequence; /* of the next one that comes in */
};

struct engine {
	/* Line 0: every event. */
	alignas(64) uint64_t now_ps;
	uint64_t start_ps;
	uint64_t slot_ps;             /* start of the current slot, a multiple of its length */
	uint64_t limit_ps;            /* an event after it needs more than a look at the wheel */
	struct engine_event *current; /* rest of the current slot, in order */
	uint64_t events;              /* taken */
	uint64_t runs;                /* of nodes */
	/* Line 1. */
	struct node *last; /* the node that ran last */
	uint32_t repeats;  /* runs since time last passed */
	uint32_t node_count;
	uint64_t until_ps; /* of engine_run() */
	struct engine_heap heap;
	alignas(64) uint64_t used[ENGINE_SLOT_COUNT / 64];
	struct engine_event *slot[ENGINE_SLOT_COUNT]; /* by their next, in no order */
};

/** @param start_ps any time */
struct engine *engine_create(uint64_t start_ps);
/** Nodes and events belong to their owners and must not be used with the engine any more. */
void engine_free(struct engine *engine);

/** Give a node its id: 0, 1, 2, ... in the order of these calls. */
void engine_add(struct engine *engine, struct node *node, const struct node_ops *ops);

/** Prepare an event for arrivals at a port of a node that was added. */
void engine_event_init(struct engine_event *event, struct node *node, uint16_t port);

/* Slot of a time, whatever round of the wheel. */
static inline uint32_t engine_slot(uint64_t time_ps)
{
	return (uint32_t)(time_ps >> ENGINE_SLOT_SHIFT) % ENGINE_SLOT_COUNT;
}

/* Into the wheel: from the slot after the current one to the end of the window. */
static inline void engine_wheel_add(struct engine *engine, struct engine_event *event)
{
	uint32_t index = engine_slot(event->time_ps);

	event->place = ENGINE_WHEEL;
	event->next = engine->slot[index];
	engine->slot[index] = event;
	engine->used[index / 64] |= UINT64_C(1) << (index % 64);
}

/* The rest of engine_schedule(): the current slot, or beyond the wheel. */
void engine_schedule_apart(struct engine *engine, struct engine_event *event);

/** The event must not be scheduled. Hot. @param time_ps not before engine->now_ps */
static inline void engine_schedule(struct engine *engine, struct engine_event *event,
				   uint64_t time_ps)
{
	assert(event->place == ENGINE_NOWHERE);
	event->time_ps = time_ps;
	if (__builtin_expect(time_ps - engine->slot_ps - ENGINE_SLOT_PS <
				     ENGINE_WINDOW_PS - ENGINE_SLOT_PS,
			     1))
		engine_wheel_add(engine, event);
	else
		engine_schedule_apart(engine, event);
}

/** Take a scheduled event out. One that isn't scheduled: nothing happens. */
void engine_cancel(struct engine *engine, struct engine_event *event);

/** Take a node's timers out. */
void engine_remove(struct engine *engine, struct node *node);

/* Have a timer fire at due_ps at the latest; an earlier one is found stale and renewed. */
static inline void engine_timer_arm(struct engine *engine, struct engine_event *timer,
				    uint64_t due_ps)
{
	if (timer->place != ENGINE_NOWHERE) {
		if (!time_after(timer->time_ps, due_ps))
			return;
		engine_cancel(engine, timer);
	}
	engine_schedule(engine, timer, due_ps);
}

/* Have one of the node's timers fire at its due_ps at the latest. */
static inline void engine_node_arm(struct engine *engine, struct node *node)
{
	bool near = node->due_ps - engine->slot_ps < ENGINE_WINDOW_PS;

	engine_timer_arm(engine, near ? &node->timer : &node->distant, node->due_ps);
}

/** Have a node run at a time, or earlier when it is due earlier. Hot. */
static inline void engine_wake(struct engine *engine, struct node *node, uint64_t time_ps)
{
	if (node->waiting && !time_after(node->due_ps, time_ps))
		return;
	node->waiting = true;
	node->due_ps = time_ps;
	engine_node_arm(engine, node);
}

/**
 * Run everything that is due until a time, that time included; now_ps is then that time.
 * @return 0, or -ELOOP: ENGINE_REPEAT_MAX runs without time passing, the last of
 *         engine->last
 */
int engine_run(struct engine *engine, uint64_t until_ps);

#endif
