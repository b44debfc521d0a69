/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * events - what happened to the leaf, in words: a bounded ring, also printed on stderr.
 *
 * For things that a person wants to see once, not per packet: links, reloads, devices, warnings.
 * Each has a
 * text for people, and for programs its type and what it is about: port, priority, packets, bytes, how long.
 *
 * Bounded twice, and what is left out is counted. When the ring is full the oldest is overwritten;
 * sequence numbers show the gap. And of one type at most EVENTS_BURST come at once, then one in
 * EVENTS_PERIOD_NS (of marks, which a job makes at each step, EVENTS_MARK_BURST and EVENTS_MARK_PERIOD_NS):
 * further ones are neither kept nor printed, and the next of the type says how many those were. So a link
 * that flaps pushes nothing else out of the ring.
 *
 * Thread: any; a lock of its own, held for a copy.
 */
#ifndef CONTROL_EVENTS_H
#define CONTROL_EVENTS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define EVENTS_KEPT       1024
#define EVENTS_TEXT_BYTES 400

#define EVENTS_BURST          32
#define EVENTS_PERIOD_NS      UINT64_C(1000000000)
#define EVENTS_MARK_BURST     256
#define EVENTS_MARK_PERIOD_NS UINT64_C(10000000)

/* X(enum, name, help) */
#define EVENT_TYPES(X)                                                                      \
	X(START, "start", "the leaf runs")                                                  \
	X(STOP, "stop", "the leaf stops")                                                   \
	X(LINK_UP, "link_up", "a port's link came up")                                      \
	X(LINK_DOWN, "link_down", "a port's link went down")                                \
	X(LINK_DAMPED, "link_damped", "a link that is up is kept out for its flaps")        \
	X(DEVICE_GONE, "device_gone", "a port's device disappeared")                        \
	X(RELOAD, "reload", "a config was taken over")                                      \
	X(RELOAD_REFUSED, "reload_refused", "a config was refused and changed nothing")     \
	X(SUPERFRAMES, "superframes", "a peer's segmentation offload reaches us")           \
	X(HOLD_FULL, "hold_full", "no room for packets that wait for a neighbour")          \
	X(NETLINK_RESYNC, "netlink_resync", "kernel messages were lost and tables re-read") \
	X(FLOW_CONTROL, "flow_control", "who obeys pauses of a port, and why")              \
	X(RX_QUEUES, "rx_queues", "which workers receive from a port, and why")             \
	X(PAUSES_KEPT, "pauses_kept", "a device keeps its peer's pauses to itself")         \
	X(PAUSE_STORM, "pause_storm", "a peer's pauses hold a queue without end")           \
	X(PAUSE_STORM_END, "pause_storm_end", "a pause storm is over, and what it cost")    \
	X(PAUSE_LONG, "pause_long", "a pause lasted longer than telemetry.long_pause")      \
	X(UPLINK_OUT, "uplink_out", "a port left its routes' next hops")                    \
	X(UPLINK_IN, "uplink_in", "a port is among its routes' next hops")                  \
	X(WIRE_STALL, "wire_stall", "a port's device takes nothing, though its link is up") \
	X(WIRE_STALL_END, "wire_stall_end", "a port's device takes frames again")           \
	X(LOSSLESS_LOSS, "lossless_loss", "lossless packets were lost: a fault")            \
	X(GUARD_ON, "guard_on", "packet buffers run out")                                   \
	X(GUARD_OFF, "guard_off", "packet buffers suffice again")                           \
	X(STALL, "stall", "a worker stood still for longer than its receive rings last")    \
	X(WARNING, "warning", "something is not as it should be, and the leaf goes on")     \
	X(MARK, "mark", "a note by the user")

#define EVENT_ENUM_(id, name, help) EVENT_##id,
enum event_type { EVENT_TYPES(EVENT_ENUM_) EVENT_COUNT };
#undef EVENT_ENUM_

#define EVENT_PORT_NONE     UINT16_MAX
#define EVENT_PRIORITY_NONE UINT8_MAX

/* What an event is about. The numbers are 0 where the type has none. */
struct event_about {
	uint8_t type;     /* enum event_type */
	uint8_t priority; /* or EVENT_PRIORITY_NONE */
	uint16_t port;    /* of the leaf, or EVENT_PORT_NONE */
	uint64_t packets; /* dropped */
	uint64_t bytes;
	uint64_t duration_ns; /* of the pause, the storm, the stall */
};

struct event {
	uint64_t sequence; /* counts from 1 */
	uint64_t time_ns;  /* real time since the epoch */
	struct event_about about;
	uint64_t suppressed; /* of this type, left out since the one before */
	char text[EVENTS_TEXT_BYTES];
};

/* A token bucket that holds `burst` and gets one back in each period. Starts full as {0}. */
struct event_limit {
	uint64_t full_ns; /* when it will be full again */
};

/** Take a token. @param now_ns a clock that doesn't jump. @return false: there is none */
bool event_limit_take(struct event_limit *limit, uint64_t now_ns, uint32_t burst,
		      uint64_t period_ns);

struct events;

/** @param log where each event is printed as a line, or NULL. @return NULL when out of memory */
struct events *events_create(FILE *log);
void events_free(struct events *events);

/**
 * Note an event. Text longer than EVENTS_TEXT_BYTES - 1 is cut.
 * @param now_ns CLOCK_MONOTONIC, for the limit
 * @return false: there were too many of its type, and it was only counted
 */
bool events_tell(struct events *events, const struct event_about *about, uint64_t now_ns,
		 const char *format, ...) __attribute__((format(printf, 4, 5)));

/** The same, now, for one about a port or EVENT_PORT_NONE, and nothing else. */
bool events_add(struct events *events, enum event_type type, uint16_t port, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/**
 * Copy events after a sequence number, oldest first.
 * @param after 0: from the oldest that is kept
 * @return how many were copied, at most `max`
 */
uint32_t events_read(struct events *events, uint64_t after, struct event *out, uint32_t max);

/** Sequence number of the newest; 0: none yet. */
uint64_t events_newest(struct events *events);

/** How many of a type there ever were, without those that were left out; and how many those are. */
uint64_t events_count(struct events *events, enum event_type type);
uint64_t events_suppressed(struct events *events, enum event_type type);

/** Name of a type ("link_up"), "?" when out of range; and its line of help. */
const char *event_name(enum event_type type);
const char *event_help(enum event_type type);

/** Write a time as "2026-01-31T12:34:56.789Z" (24 characters and the NUL). */
void event_time_text(uint64_t time_ns, char text[25]);

#endif
