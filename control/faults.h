/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * faults - makes events of what workers only count: pause storms, lossless losses, the guard, stalls.
 *
 * The control thread reads the counters and shows them to these functions, again and again; they
 * note what has changed since. What began and ended between two looks is told, too. Counts are exact:
 * a storm's drops are those between its begin and its end, provided that no other storm of the same
 * queue began between two looks (the watchdog needs 100 ms for that at least, so look as often).
 *
 * Bounded: at most one event about a pair's losses in FAULTS_TELL_NS, with all since the last;
 * one about the guard in about a second.
 *
 * Thread: control. Pure, but for the events.
 */
#ifndef CONTROL_FAULTS_H
#define CONTROL_FAULTS_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "control/events.h"

/* How often to look: as often as a storm can begin and end. */
#define FAULTS_LOOK_NS UINT64_C(100000000)

/* Losses that go on are told again after this time. */
#define FAULTS_TELL_NS UINT64_C(10000000000)

/* For how long the guard must rest before it is said to. */
#define FAULTS_CALM_NS UINT64_C(1000000000)

struct faults;

/** Counters start at 0. @return NULL when out of memory */
struct faults *faults_create(uint16_t port_count, struct events *events);
void faults_free(struct faults *faults);

/* Of which queue and pair. */
struct fault_place {
	uint16_t port;
	uint8_t priority;
	const char *port_name;
	const char *class_name; /* NULL: the priority has no class any more */
};

/* Counters of a port and priority, all monotonic (dataplane/pfc.h, counters.h). */
struct fault_counters {
	uint64_t storms, restored;                 /* of the egress queue */
	uint64_t watchdog_packets, watchdog_bytes; /* dropped for it during storms */
	uint64_t headroom_packets, headroom_bytes; /* received here, dropped past headroom */
};

/** Look at one port and priority. */
void faults_look(struct faults *faults, const struct fault_place *place,
		 const struct fault_counters *now, const struct config_watchdog *watchdog,
		 uint64_t now_ns);

/* Pauses of a port and priority: of our queue by its peer, and of the peer by us. */
enum fault_way { FAULT_BY_PEER, FAULT_TO_PEER, FAULT_WAYS };

struct fault_pauses {
	uint64_t pauses;    /* that began, monotonic */
	uint64_t paused_ps; /* together, up to now */
	uint64_t lasts_ps;  /* of it the one of this moment; 0: none */
};

/**
 * Look for pauses longer than a bound: that of this moment, or on the mean those that ended since the last
 * look. At most one event for each way in FAULTS_TELL_NS.
 */
void faults_look_pauses(struct faults *faults, const struct fault_place *place,
			const struct fault_pauses now[FAULT_WAYS], uint64_t bound_ps,
			uint64_t now_ns);

/**
 * Look at a device that counts pauses of its peer by itself, about once a second. When they rise while no
 * MAC control frame reaches a worker, it keeps them: told once, and again when frames have come in between.
 * @param device_pauses what it has counted
 * @param frames        MAC control frames of the port that workers have taken
 */
void faults_look_device(struct faults *faults, uint16_t port, const char *port_name,
			uint64_t device_pauses, uint64_t frames);

struct fault_stalls {
	uint64_t stalls;   /* of one worker (dataplane/lcore.h), monotonic */
	uint64_t stall_ps; /* together */
	uint64_t limit_ps; /* from now on, what lasts longer is one; UINT64_MAX: nothing is */
};

/**
 * Look at a worker's stalls. At most one event in FAULTS_TELL_NS, with all since the last, and the limit before
 * this look's: the one that they were longer than.
 */
void faults_look_stalls(struct faults *faults, uint16_t worker, const struct fault_stalls *now,
			uint64_t now_ns);

struct fault_wire {
	uint64_t
		stalls; /* times that the port's device began to take nothing (dataplane/links.h) */
	bool stalled;   /* and takes nothing now */
};

/** Look at a port's device. A stall that is over is told, too. @param name of the port */
void faults_look_wire(struct faults *faults, uint16_t port, const char *name,
		      const struct fault_wire *now);

struct fault_guard {
	bool guarded;
	uint64_t guards;      /* times that it acted */
	uint64_t packets;     /* lossy ones that it has dropped */
	uint32_t packets_max; /* buffers that the leaf may use */
	uint32_t guard_packets;
};

/** Look at the guard. */
void faults_look_guard(struct faults *faults, const struct fault_guard *now, uint64_t now_ns);

#endif
