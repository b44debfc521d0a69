/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * state - the inside of a daemon, for the files of control/ that make it up; others use daemon.h.
 *
 * daemon.c starts and stops it and runs the loop, publish.c builds snapshots and frees old ones,
 * reload.c takes over a new config, ports.c opens devices and follows their links, punt.c carries
 * frames between the dataplane and the TAPs, interfaces.c keeps the TAPs, watch.c makes events of
 * counters and clears peaks, request.c carries out what comes over the control
 * socket, record.c records queue depths, marks.c keeps the history and a job's steps, view.c shows it all to readers.
 *
 * Thread: control, which holds `lock` all the time but while it sleeps, and in those parts of a reload
 * that change nothing yet. So nothing here has to take it.
 */
#ifndef CONTROL_STATE_H
#define CONTROL_STATE_H

#include <pthread.h>

#include "control/damping.h"
#include "control/apply.h"
#include "control/daemon.h"
#include "control/eal.h"
#include "control/events.h"
#include "control/faults.h"
#include "control/history.h"
#include "control/hold.h"
#include "control/http.h"
#include "control/loop.h"
#include "control/memory.h"
#include "control/neighbours.h"
#include "control/netlink.h"
#include "control/recording.h"
#include "control/socket.h"
#include "control/steps.h"
#include "control/tap.h"
#include "dataplane/io/cpu.h"
#include "dataplane/lcore.h"

#define MS_NS UINT64_C(1000000)
#define S_NS  UINT64_C(1000000000)

/* Changes of links and neighbours are gathered for this long and published as one. */
#define PUBLISH_DELAY_NS (5 * MS_NS)

/* How often links of devices that tell nothing are looked at, and counters for what is odd. */
#define LINK_POLL_NS (200 * MS_NS)
#define TICK_NS      S_NS

/* Periodic peaks start again; the default of SONiC (doc/buffer-watermark/watermarks_HLD.md). */
#define PEAKS_PERIOD_NS (120 * S_NS)

/* While an old snapshot waits for workers to let go of it. */
#define RETIRE_POLL_NS MS_NS

/* Snapshots that may wait to be freed; more, and publishing waits. */
#define RETIRED_MAX 64

struct capture_job;
struct fib;
struct rte_mempool;

struct port_state {
	struct port_io *io;
	uint32_t ifindex;           /* 0: not a kernel interface */
	struct port_io_link device; /* as last reported */
	bool link_up;               /* its carrier, unless it is damped */
	bool carrier, damped;
	struct damping damping;
	bool gone;
	uint64_t link_changes;
	uint64_t link_changed_ns;
	bool serves;          /* is a next hop of a route that has several */
	uint64_t superframes; /* told about so far */
	uint64_t superframes_told_ns;
	uint16_t owner;
};

/* Something that workers may still read. */
struct retired {
	const struct snapshot *snapshot;
	struct fib *fib; /* freed with it, or NULL */
	uint64_t token;
};

/* The TAPs of a config, by number of interface. */
struct interfaces {
	uint16_t count;
	struct tap **tap;
};

struct daemon {
	pthread_mutex_t lock;
	const char *config_path;
	struct config *config;
	struct events *events;
	struct faults *faults;
	uint64_t started_ns, started_monotonic_ns;
	int lock_fd; /* on the runtime directory */
	bool eal_runs;

	struct memory_plan memory;
	bool hugepages;
	struct eal_arguments *eal;
	struct rte_mempool *pool;

	struct port_state *port;
	uint16_t port_count;
	struct cpu_io *cpu;
	struct leaf *leaf;
	struct lcores *lcores;
	bool workers_run;

	struct fib *fib;
	const struct snapshot *snapshot;
	uint64_t generation;
	uint64_t hash_seed;
	struct retired retired[RETIRED_MAX];
	uint32_t retired_count;
	uint64_t publish_due_ns; /* UINT64_MAX: nothing has changed */
	bool rates_kept;         /* devices are faster than the buffer suffices for */

	struct netlink *netlink;
	struct neighbours *neighbours;
	struct hold *hold;
	struct interfaces interfaces;
	uint64_t hold_unroutable;
	uint64_t hold_refused_told;
	uint64_t inject_refused; /* frames for the worker when its ring was full */

	struct loop loop;
	struct loop_source signal_source, netlink_source, cpu_source;
	int signal_fd;
	struct control_socket *socket;
	struct http *http;
	struct history *history;
	struct steps *steps;
	struct history_look *mark_look; /* for the moment of a mark, and of who asks */
	struct step_port *mark_port;
	struct {
		struct record_request request; /* asked of the workers last */
		uint32_t number;
		bool asked, keeps;     /* it isn't over; there is one that is */
		uint64_t asked_ns;     /* when somebody last wanted to know */
		struct recording kept; /* the last one that is over */
	} record;
	struct capture_job *capture; /* NULL: nobody captures */
	bool stop;
	uint64_t peaks_due_ns;
	uint64_t tick_due_ns, link_poll_due_ns, look_due_ns;
	bool links_polled; /* a port doesn't tell about its link by netlink */

	uint64_t reloads, reloads_refused, reload_ns;
};

uint64_t monotonic_ns(void);
uint64_t realtime_ns(void);

/* --- ports.c --- */

/** Open every port of the config. @return 0, or -EIO with messages in errors; all are closed then */
int ports_open(struct daemon *daemon, struct config_errors *errors);
void ports_close(struct daemon *daemon);

/** A reload may have changed which classes are lossless: devices that obey pauses must know. */
void ports_follow_classes(struct daemon *daemon);

/** What the kernel says about a link. */
void ports_link_event(struct daemon *daemon, const struct netlink_link *link);

/** Ask all devices for their links. */
void ports_poll_links(struct daemon *daemon);

/** Let in links that have been kept out for long enough (damping.h). */
void ports_release_damped(struct daemon *daemon);

/** Look for what a user should hear of: super-frames. */
void ports_tick(struct daemon *daemon, uint64_t now_ns);

/** Fill in what a snapshot must know of each port under a config. */
void ports_apply(const struct daemon *daemon, const struct config *config, struct apply_port *out);

/* --- publish.c --- */

/** An empty FIB for a config's routes, or NULL with rte_errno set. */
struct fib *publish_fib(struct daemon *daemon, const struct config *config);

/**
 * Build a snapshot, publish nothing yet.
 * @param filled the FIB was filled for this config before
 * @return the snapshot, or NULL with rte_errno set
 */
struct snapshot *publish_build(struct daemon *daemon, const struct config *config,
			       const struct interfaces *interfaces, struct fib *fib, bool filled);

/**
 * Does the buffer suffice for the config, at the speeds that devices have now?
 * @return 0, or -EINVAL with errors->count >= 1
 */
int publish_check(const struct daemon *daemon, const struct config *config,
		  struct config_errors *errors);

/**
 * Put a snapshot in force; the one before is freed when no worker can hold it.
 * @param fib_before freed together with the snapshot before, or NULL.
 */
void publish_commit(struct daemon *daemon, struct snapshot *snapshot, struct fib *fib_before);

/** Note that links or neighbours have changed. */
void publish_soon(struct daemon *daemon, uint64_t now_ns);

/** Publish when it is due. */
void publish_run(struct daemon *daemon, uint64_t now_ns);

/** Free what is quiet. @return true when something still waits */
bool publish_retire(struct daemon *daemon);

/** Free everything; workers have stopped. */
void publish_end(struct daemon *daemon);

/* --- interfaces.c --- */

/**
 * The TAPs that a config needs: those that there are, and new ones.
 * @return 0, or -errno with a message; nothing has changed then
 */
int interfaces_prepare(struct daemon *daemon, const struct config *config, struct interfaces *next,
		       struct io_error *error);

/** Forget a preparation: close the new ones, change the others back. */
void interfaces_abort(struct daemon *daemon, struct interfaces *next);

/** Take it over; those that aren't needed any more go. The config is the new one. */
void interfaces_commit(struct daemon *daemon, struct interfaces *next);

/** Before a commit: remove from the kernel the static neighbours and routes that `next` lacks. */
void interfaces_untell(struct daemon *daemon, const struct config *next);

/** After a commit: watch, tell the kernel about neighbours and routes. */
void interfaces_settle(struct daemon *daemon);

void interfaces_close(struct daemon *daemon);

/** The carrier of each TAP follows its ports. */
void interfaces_update_carriers(struct daemon *daemon);

/** Number of the interface of a TAP, or INTERFACE_NONE. */
uint16_t interfaces_by_ifindex(const struct interfaces *interfaces, uint32_t ifindex);

/* --- punt.c --- */

/** Carry punted frames to the kernel, a bounded number. */
void punt_run(struct daemon *daemon, uint64_t now_ns);

/** Send on what waited for neighbours that are resolved in the snapshot in force. */
void punt_release(struct daemon *daemon);

/** Drop what has waited too long. */
void punt_expire(struct daemon *daemon, uint64_t now_ns);

/** A TAP is readable. */
void punt_tap_ready(struct daemon *daemon, struct tap *tap);

/** Free what is held. */
void punt_end(struct daemon *daemon);

/* --- watch.c --- */

/** Make events of pause storms, lossless losses and the guard. Due at look_due_ns. */
void watch_look(struct daemon *daemon, uint64_t now_ns);

/** Make events of devices that keep pauses to themselves. Once a second. */
void watch_devices(struct daemon *daemon);

/** Clear peaks of a kind by its name, or say in *reply which there are. */
void watch_clear_peaks(struct daemon *daemon, const char *name, FILE *reply);

/** Clear the periodic ones when it is time. Once a second. */
void watch_peaks(struct daemon *daemon, uint64_t now_ns);

/* --- marks.c --- */

/** Make room for the history and the steps; port_count is known. @return 0 or -ENOMEM */
int marks_create(struct daemon *daemon);
void marks_free(struct daemon *daemon);

/** Make a mark of a text, or say in *reply why not. */
void marks_note(struct daemon *daemon, const char *text, FILE *reply);

/** Look for the history. Once a second. */
void marks_tick(struct daemon *daemon);

/* --- capture.c --- */

/** Begin to capture as asked. @param fd set to the descriptor to hand over, if it does */
void capture_command(struct daemon *daemon, const char *text, FILE *reply, int *fd);

/** End what nobody reads. Once a second. */
void capture_tick(struct daemon *daemon);

/** Workers have stopped. */
void capture_end(struct daemon *daemon);

/* --- request.c --- */

/** A request over the control socket: a socket_handler. @param context the daemon */
void request_run(void *context, const struct socket_request *request, FILE *reply);

/* --- record.c --- */

/** Carry out a request for a recording. */
void record_command(struct daemon *daemon, const char *text, FILE *reply);

/** Stop what nobody waits for. Once a second. */
void record_tick(struct daemon *daemon, uint64_t now_ns);

/* --- reload.c --- */

/** Read the file again and take it over, or say in *reply why not. @return 0, or -errno */
int reload_run(struct daemon *daemon, FILE *reply);

#endif
