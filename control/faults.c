/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/faults.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "dataplane/worker.h"

/* What has been told of a port and priority. */
struct fault_told {
	struct fault_counters seen;
	uint64_t storm_packets, storm_bytes; /* its counters when the storm of now began */
	uint64_t lost_packets, lost_bytes;   /* its counters when last told */
	uint64_t lost_ns;                    /* when that was; 0: never */
	struct fault_paused {
		uint64_t ended, ended_ps; /* pauses, seen */
		uint64_t told_ns;         /* 0: never */
	} paused[FAULT_WAYS];
};

/* Of a device's own pause counters, per port. */
struct fault_device {
	uint64_t pauses, frames; /* seen */
	uint64_t kept;           /* pauses since a frame came */
	uint32_t rises;          /* looks that saw more of them */
	bool told;
};

/* A frame may be counted by the device before one look, and by the worker after it. */
#define DEVICE_RISES_MIN 2

/* Of a worker's stalls, when last told. */
struct fault_stalled {
	uint64_t stalls, stall_ps;
	uint64_t told_ns;  /* 0: never */
	uint64_t bound_ps; /* the last that there was; 0: none yet */
};

struct faults {
	struct fault_stalled stalled[WORKER_COUNT_MAX];
	struct fault_wire *wire; /* [ports] as last seen */
	struct events *events;
	uint16_t port_count;
	bool guard_told;   /* that it is on */
	uint64_t guards;   /* seen */
	uint64_t guard_ns; /* when it was last seen to act */
	uint64_t guard_packets;
	struct fault_device *device; /* [port] */
	struct fault_told told[];    /* [port][priority] */
};

struct faults *faults_create(uint16_t port_count, struct events *events)
{
	struct faults *faults = calloc(1, sizeof(*faults) + (size_t)port_count * PRIORITY_COUNT *
								    sizeof(struct fault_told));

	if (faults == NULL)
		return NULL;
	faults->device = calloc(port_count, sizeof(*faults->device));
	faults->wire = calloc(port_count, sizeof(*faults->wire));
	if (faults->device == NULL || faults->wire == NULL) {
		faults_free(faults);
		return NULL;
	}
	faults->events = events;
	faults->port_count = port_count;
	return faults;
}

void faults_free(struct faults *faults)
{
	if (faults == NULL)
		return;
	free(faults->wire);
	free(faults->device);
	free(faults);
}

static const char *class_name(const struct fault_place *place)
{
	return place->class_name != NULL ? place->class_name : "no class";
}

static const char *consequence(enum config_watchdog_action action)
{
	switch (action) {
	case CONFIG_WATCHDOG_DROP:
		return "what it holds and what comes for it is dropped";
	case CONFIG_WATCHDOG_FORWARD:
		return "its pauses are ignored";
	case CONFIG_WATCHDOG_ALERT:
	case CONFIG_WATCHDOG_OFF:
		break;
	}
	return "nothing is done about it (watchdog: action)";
}

static struct event_about about(enum event_type type, const struct fault_place *place)
{
	return (struct event_about){
		.type = (uint8_t)type, .priority = place->priority, .port = place->port};
}

static void tell_begin(struct faults *faults, const struct fault_place *place,
		       const struct config_watchdog *watchdog, uint64_t now_ns)
{
	struct event_about storm = about(EVENT_PAUSE_STORM, place);

	storm.duration_ns = watchdog->detect_ps / PS_PER_NS;
	(void)events_tell(
		faults->events, &storm, now_ns,
		"port %s, priority %u (%s): a pause storm: its peer has held the queue for %.6g "
		"ms without a break; %s",
		place->port_name, place->priority, class_name(place),
		(double)watchdog->detect_ps / (double)PS_PER_MS, consequence(watchdog->action));
}

static void tell_end(struct faults *faults, const struct fault_place *place, uint64_t storms,
		     uint64_t packets, uint64_t bytes, uint64_t now_ns)
{
	struct event_about end = about(EVENT_PAUSE_STORM_END, place);
	char count[48] = "the pause storm is";

	end.packets = packets;
	end.bytes = bytes;

	if (storms > 1)
		(void)snprintf(count, sizeof(count), "%" PRIu64 " pause storms are", storms);
	(void)events_tell(faults->events, &end, now_ns,
			  "port %s, priority %u (%s): %s over; dropped: %" PRIu64
			  " packets, %" PRIu64 " bytes",
			  place->port_name, place->priority, class_name(place), count, packets,
			  bytes);
}

/* Storms come one after the other: restored <= storms <= restored + 1. */
static void look_at_storms(struct faults *faults, const struct fault_place *place,
			   struct fault_told *told, const struct fault_counters *now,
			   const struct config_watchdog *watchdog, uint64_t now_ns)
{
	bool was_on = told->seen.storms > told->seen.restored, is_on = now->storms > now->restored;
	uint64_t begun = now->storms - told->seen.storms,
		 ended = now->restored - told->seen.restored;

	if (ended > 0) {
		/* All that began and ended since the last look are one event each way. */
		if (!was_on)
			tell_begin(faults, place, watchdog, now_ns);
		tell_end(faults, place, ended, now->watchdog_packets - told->storm_packets,
			 now->watchdog_bytes - told->storm_bytes, now_ns);
		told->storm_packets = now->watchdog_packets;
		told->storm_bytes = now->watchdog_bytes;
	}
	if (begun > 0 && is_on)
		tell_begin(faults, place, watchdog, now_ns);
}

static void look_at_losses(struct faults *faults, const struct fault_place *place,
			   struct fault_told *told, const struct fault_counters *now,
			   uint64_t now_ns)
{
	struct event_about loss = about(EVENT_LOSSLESS_LOSS, place);

	if (now->headroom_packets == told->lost_packets ||
	    (told->lost_ns != 0 && now_ns - told->lost_ns < FAULTS_TELL_NS))
		return;
	loss.packets = now->headroom_packets - told->lost_packets;
	loss.bytes = now->headroom_bytes - told->lost_bytes;
	(void)events_tell(
		faults->events, &loss, now_ns,
		"port %s, priority %u (%s): lossless packets were lost, reason headroom: %" PRIu64
		" packets, %" PRIu64 " bytes came when its headroom was full; its peer obeys "
		"pauses too late or not at all, or the cable, peer_response and nic_delay of the "
		"port are greater than configured",
		place->port_name, place->priority, class_name(place), loss.packets, loss.bytes);
	told->lost_packets = now->headroom_packets;
	told->lost_bytes = now->headroom_bytes;
	told->lost_ns = now_ns;
}

void faults_look(struct faults *faults, const struct fault_place *place,
		 const struct fault_counters *now, const struct config_watchdog *watchdog,
		 uint64_t now_ns)
{
	struct fault_told *told;

	assert(place->port < faults->port_count && place->priority < PRIORITY_COUNT);
	told = &faults->told[place->port * PRIORITY_COUNT + place->priority];
	look_at_storms(faults, place, told, now, watchdog, now_ns);
	look_at_losses(faults, place, told, now, now_ns);
	told->seen = *now;
}

/*
 * Of those that have ended since the last look, one at least was as long as their mean: what is told is
 * never too much.
 */
static void look_at_pauses(struct faults *faults, const struct fault_place *place,
			   struct fault_paused *paused, const struct fault_pauses *now,
			   const char *who, uint64_t bound_ps, uint64_t now_ns)
{
	struct event_about pause = about(EVENT_PAUSE_LONG, place);
	uint64_t ended = now->pauses - (now->lasts_ps != 0 && now->pauses != 0 ? 1 : 0);
	uint64_t ended_ps = now->paused_ps - now->lasts_ps;
	uint64_t longest_ps = now->lasts_ps;

	if (ended > paused->ended &&
	    (ended_ps - paused->ended_ps) / (ended - paused->ended) > longest_ps)
		longest_ps = (ended_ps - paused->ended_ps) / (ended - paused->ended);
	paused->ended = ended;
	paused->ended_ps = ended_ps;
	if (longest_ps <= bound_ps ||
	    (paused->told_ns != 0 && now_ns - paused->told_ns < FAULTS_TELL_NS))
		return;
	paused->told_ns = now_ns;
	pause.duration_ns = longest_ps / PS_PER_NS;
	(void)events_tell(faults->events, &pause, now_ns,
			  "port %s, priority %u (%s): %s for %.4g ms%s, longer than "
			  "telemetry.long_pause, %.4g ms",
			  place->port_name, place->priority, class_name(place), who,
			  (double)longest_ps / (double)PS_PER_MS,
			  longest_ps == now->lasts_ps ? " so far" : "",
			  (double)bound_ps / (double)PS_PER_MS);
}

void faults_look_pauses(struct faults *faults, const struct fault_place *place,
			const struct fault_pauses now[FAULT_WAYS], uint64_t bound_ps,
			uint64_t now_ns)
{
	static const char *const who[FAULT_WAYS] = {
		[FAULT_BY_PEER] = "its peer has paused the queue",
		[FAULT_TO_PEER] = "the leaf has paused its peer",
	};
	struct fault_told *told;

	assert(place->port < faults->port_count && place->priority < PRIORITY_COUNT);
	told = &faults->told[place->port * PRIORITY_COUNT + place->priority];
	for (unsigned way = 0; way < FAULT_WAYS; way++)
		look_at_pauses(faults, place, &told->paused[way], &now[way], who[way], bound_ps,
			       now_ns);
}

void faults_look_wire(struct faults *faults, uint16_t port, const char *name,
		      const struct fault_wire *now)
{
	struct fault_wire *seen = &faults->wire[port];

	if (now->stalls != seen->stalls)
		events_add(faults->events, EVENT_WIRE_STALL, port,
			   "port %s: its device takes nothing, though its link is up: routes with "
			   "other next hops go by those",
			   name);
	if ((now->stalls != seen->stalls || seen->stalled) && !now->stalled)
		events_add(faults->events, EVENT_WIRE_STALL_END, port,
			   "port %s: its device takes frames again", name);
	*seen = *now;
}

void faults_look_guard(struct faults *faults, const struct fault_guard *now, uint64_t now_ns)
{
	bool acted = now->guarded || now->guards != faults->guards;

	if (acted)
		faults->guard_ns = now_ns;
	faults->guards = now->guards;
	if (acted && !faults->guard_told) {
		faults->guard_told = true;
		events_add(
			faults->events, EVENT_GUARD_ON, EVENT_PORT_NONE,
			"as few as %u of %u packet buffers are left: all lossless senders are "
			"paused, lossy packets dropped; frames are shorter than small_frames and "
			"rdma_mtu promise, or leaf.memory is small",
			now->guard_packets, now->packets_max);
	} else if (faults->guard_told && now_ns - faults->guard_ns >= FAULTS_CALM_NS) {
		faults->guard_told = false;
		events_add(faults->events, EVENT_GUARD_OFF, EVENT_PORT_NONE,
			   "packet buffers suffice again; the guard has dropped %" PRIu64
			   " lossy packets",
			   now->packets - faults->guard_packets);
		faults->guard_packets = now->packets;
	}
}

void faults_look_stalls(struct faults *faults, uint16_t worker, const struct fault_stalls *now,
			uint64_t now_ns)
{
	struct event_about stall = {
		.type = EVENT_STALL, .priority = EVENT_PRIORITY_NONE, .port = EVENT_PORT_NONE};
	struct fault_stalled *told;
	uint64_t stalls, bound_ps;
	char times[40] = "";

	assert(worker < WORKER_COUNT_MAX);
	told = &faults->stalled[worker];
	stalls = now->stalls - told->stalls;
	/* What stalled until now was measured by what the look before has set. */
	bound_ps = told->bound_ps != 0 ? told->bound_ps : now->limit_ps;
	if (now->limit_ps != UINT64_MAX)
		told->bound_ps = now->limit_ps;
	if (stalls == 0 || (told->told_ns != 0 && now_ns - told->told_ns < FAULTS_TELL_NS))
		return;
	if (stalls > 1)
		(void)snprintf(times, sizeof(times), " %" PRIu64 " times, together", stalls);
	stall.duration_ns = (now->stall_ps - told->stall_ps) / PS_PER_NS;
	(void)events_tell(
		faults->events, &stall, now_ns,
		"worker %u stood still%s for %.4g ms; its receive rings and the pauses of its "
		"peers last %.4g ms, so lossless packets may have been lost: give it a core of "
		"its own",
		worker, times, (double)(now->stall_ps - told->stall_ps) / (double)PS_PER_MS,
		(double)bound_ps / (double)PS_PER_MS);
	told->stalls = now->stalls;
	told->stall_ps = now->stall_ps;
	told->told_ns = now_ns;
}

void faults_look_device(struct faults *faults, uint16_t port, const char *port_name,
			uint64_t device_pauses, uint64_t frames)
{
	struct fault_device *device;

	assert(port < faults->port_count);
	device = &faults->device[port];
	if (frames != device->frames) {
		device->kept = 0;
		device->rises = 0;
		device->told = false;
	} else if (device_pauses > device->pauses) {
		device->kept += device_pauses - device->pauses;
		device->rises++;
	}
	device->pauses = device_pauses;
	device->frames = frames;
	if (device->told || device->rises < DEVICE_RISES_MIN)
		return;
	device->told = true;
	events_add(
		faults->events, EVENT_PAUSES_KEPT, port,
		"port %s: its device has counted %" PRIu64
		" pauses of its peer, and none has reached the leaf: the device keeps them to "
		"itself, or obeys pauses of the whole link (802.3x), which stop every class. Have "
		"it hand MAC control frames over, by an option of its driver, or use pfc: "
		"hardware; and set the peer to pauses by priority",
		port_name, device->kept);
}
