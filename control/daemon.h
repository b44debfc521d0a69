/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon - one running leaf: its config, devices, workers, TAPs and neighbours, and who may look.
 *
 * The control thread owns all of it and changes it. Telemetry only reads, from its own threads:
 *
 *	daemon_lock(daemon);
 *	... daemon_config(), daemon_snapshot(), daemon_port(), ...; copy what is needed ...
 *	daemon_unlock(daemon);
 *
 * While the lock is held nothing that these functions returned is freed or replaced: the control
 * thread takes it before it changes a table or frees a snapshot. Hold it for microseconds, never
 * across I/O. The leaf's own counters (leaf.h: "any thread") need no lock once the leaf is known.
 *
 * Indices: ports 0..port_count-1 as in the config, port_count is the CPU's; interfaces as numbered
 * by apply_interface_count(); workers 0..worker_count-1.
 *
 * Sockets below runtime_dir, both of mode 0600 by the directory's mode 0700:
 *	control.sock                        line protocol, see control/socket.h
 *	dpdk/leaf/dpdk_telemetry.v2         DPDK's telemetry (SOCK_SEQPACKET)
 *
 * telemetry_start(daemon) is called once, when ports and workers run, before READY=1;
 * telemetry_stop() before anything is taken down.
 *
 * Thread: any, under the lock, unless a function says otherwise.
 */
#ifndef CONTROL_DAEMON_H
#define CONTROL_DAEMON_H

#include <stdbool.h>
#include <stdint.h>

#include "config/config.h"
#include "dataplane/lcore.h"
#include "dataplane/leaf.h"
#include "dataplane/port_io.h"
#include "dataplane/snapshot.h"

#define DAEMON_TELEMETRY_SOCKET "dpdk/leaf/dpdk_telemetry.v2"
#define DAEMON_CONTROL_SOCKET   "control.sock"

struct daemon;

/** Keep what the functions below return as it is. Not recursive. */
void daemon_lock(struct daemon *daemon);
void daemon_unlock(struct daemon *daemon);

/** The config in force. Valid while locked: a reload replaces it. */
const struct config *daemon_config(const struct daemon *daemon);

/** The snapshot in force, never NULL once telemetry has been started. Valid while locked. */
const struct snapshot *daemon_snapshot(const struct daemon *daemon);

/** The leaf; the same from telemetry_start() to telemetry_stop(). */
struct leaf *daemon_leaf(const struct daemon *daemon);

/** Time of the workers' clock now, ps: what ages of the FDB are counted from. Any thread, no lock. */
uint64_t daemon_now_ps(const struct daemon *daemon);

struct daemon_info {
	const char *version;
	int64_t pid;
	uint64_t started_ns; /* real time since the epoch */
	uint64_t uptime_ns;
	uint64_t reloads;         /* taken over */
	uint64_t reloads_refused; /* changed nothing */
	uint64_t reload_ns;       /* real time of the last one that was taken over; 0: none */
	bool hugepages;
	bool idle_adaptive;
	uint32_t buffer_count; /* packet buffers in the pool */
	uint32_t buffer_free;
	uint32_t buffer_bytes; /* of memory each takes */
	uint32_t data_bytes;   /* longest frame that fits */
};
void daemon_info(const struct daemon *daemon, struct daemon_info *info);

struct daemon_port {
	const char *driver; /* "packet_mmap", "ethdev": port_io_ops.name */
	uint8_t mac[6];     /* the device's own */
	bool link_up;
	bool damped;              /* its link is up, and counts as down for its flaps */
	bool stalled;             /* its device takes nothing (dataplane/links.h) */
	bool gone;                /* the device has disappeared; its counters stand still */
	uint64_t rate_bps;        /* of the wire clock: the config's speed, or the device's */
	uint64_t device_bps;      /* what the device reports; 0: nothing */
	uint64_t link_changes;    /* ups and downs since the start */
	uint64_t link_changed_ns; /* real time of the last one */
	uint16_t owner;           /* worker that transmits, and receives from queue 0 */
	uint16_t rx_queues;       /* the next are the next workers' */
	struct port_io_stats stats;
};
/** State of a real port. @return 0, or -ERANGE */
int daemon_port(const struct daemon *daemon, uint16_t port, struct daemon_port *out);

struct daemon_worker {
	int32_t cpu; /* the one it is bound to; -1: several */
	uint64_t polls, rx_packets, tx_packets;
	uint64_t busy_ns; /* in polls that moved packets */
	uint64_t idle_ns; /* in polls that found nothing */
	uint64_t sleep_ns;
	uint64_t sleeps;
	uint64_t ring_packets_max; /* of a ring into it from another worker: the most in it */
	uint64_t poll_ns_max;      /* longest time from one poll to the next while awake */
	uint64_t stalls, stall_ns; /* polls further apart than rings last */
	uint64_t reactions[LCORE_BUCKETS]; /* lcore.h: pauses sent within 1, 2, 4 us ... */
	uint64_t poll_times[LCORE_BUCKETS];
};
uint16_t daemon_worker_count(const struct daemon *daemon);
/** @return 0, or -ERANGE */
int daemon_worker(const struct daemon *daemon, uint16_t worker, struct daemon_worker *out);

/* A routed port or VLAN interface and its TAP. */
struct daemon_interface {
	char name[16];
	uint16_t port; /* PORT_NONE: VLAN interface */
	uint16_t vlan; /* 0: routed port */
	uint32_t ifindex;
	uint32_t mtu_bytes;
	bool carrier;
	uint64_t punt_packets, punt_bytes;     /* to the kernel */
	uint64_t punt_errors;                  /* refused by the kernel */
	uint64_t kernel_packets, kernel_bytes; /* from the kernel to the leaf */
	uint64_t kernel_drops; /* from the kernel: no buffer, ring full or too long */
};
uint16_t daemon_interface_count(const struct daemon *daemon);
/** @return 0, or -ERANGE */
int daemon_interface(const struct daemon *daemon, uint16_t interface, struct daemon_interface *out);

enum daemon_neighbour_state {
	DAEMON_NEIGHBOUR_STATIC,     /* from the config */
	DAEMON_NEIGHBOUR_RESOLVED,   /* from the kernel */
	DAEMON_NEIGHBOUR_UNRESOLVED, /* asked for: a next hop of a route, or packets wait for it */
};

struct daemon_neighbour {
	struct config_ip address;
	uint8_t mac[6];     /* zero while unresolved */
	uint16_t interface; /* INTERFACE_NONE: static, of the port below */
	uint16_t port;      /* static: the config's port, else PORT_NONE */
	uint8_t state;      /* enum daemon_neighbour_state */
	uint32_t held;      /* packets that wait for it */
};
/** @return how many there are; at most `max` are stored */
uint32_t daemon_neighbours(const struct daemon *daemon, struct daemon_neighbour *out, uint32_t max);

/* Packets that wait for a neighbour (control/hold.h). */
struct daemon_hold {
	uint32_t packets;    /* now */
	uint64_t held;       /* ever */
	uint64_t released;   /* sent on, once resolved */
	uint64_t expired;    /* waited too long */
	uint64_t refused;    /* no room: per neighbour or in all */
	uint64_t unroutable; /* no next hop in the config */
};
void daemon_hold(const struct daemon *daemon, struct daemon_hold *out);

/*
 * Events: see control/events.h for the types. Needs no daemon_lock().
 */
struct events;
struct events *daemon_events(struct daemon *daemon);

/**
 * Put a mark of a job among the events, and begin a step.
 * @param text one that mark_text_wrong() of steps.h finds nothing wrong with
 * @return false: too many at once, and nothing was done
 */
bool daemon_mark(struct daemon *daemon, const char *text);

/** Steps between marks (steps.h), up to now, of a higher number than `after`. @return how many */
struct step;
uint32_t daemon_steps(struct daemon *daemon, uint64_t after, struct step *out, uint32_t max);

/** Counters of the last minutes (history.h). */
struct history;
const struct history *daemon_history(const struct daemon *daemon);

/** The last recording that was asked for (recording.h); NULL: none yet. */
struct recording;
const struct recording *daemon_recording(const struct daemon *daemon);

/** What was recorded lately anyway. @return as recording_take() */
int daemon_record_last(const struct daemon *daemon, uint64_t last_ps, uint16_t port,
		       uint8_t priority, struct recording *recording);

/* --- the control thread's own entry points --- */

struct daemon_options {
	const char *config_path;
};

/**
 * Run a leaf until SIGTERM or SIGINT. Messages go to stderr.
 * @return the exit status: 0 after a clean stop, 1 when it could not start or not stop cleanly
 */
int daemon_run(const struct daemon_options *options);

#endif
