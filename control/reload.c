/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * reload - takes over a changed file, all or nothing.
 *
 * Everything that can fail comes first: reading, checking, a FIB and a snapshot for the new config,
 * its TAPs. Only then it is put in force, with one store; packets in queues stay where they are.
 * Whatever fails before leaves the leaf as it was.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_errno.h>

#include "control/notify.h"
#include "control/state.h"
#include "dataplane/fib.h"

/* How long to wait for workers to let go of old snapshots when too many wait to be freed. */
#define RETIRE_TRIES  1000
#define RETIRE_NAP_NS 1000000

/* What a reload has built so far. */
struct reload {
	struct config *config;
	struct fib *fib;
	struct interfaces interfaces;
	struct snapshot *snapshot;
};

static int refuse(struct daemon *daemon, const struct config_errors *errors, FILE *reply)
{
	for (uint32_t i = 0; i < errors->count; i++)
		(void)fprintf(reply, "error %s\n", errors->error[i].text);
	if (errors->dropped > 0)
		(void)fprintf(reply, "error and %u more\n", errors->dropped);
	for (uint32_t i = 0; i < errors->count; i++)
		events_add(daemon->events, EVENT_RELOAD_REFUSED, EVENT_PORT_NONE, "%s",
			   errors->error[i].text);
	return -EINVAL;
}

static int refuse_because(struct daemon *daemon, const char *why, FILE *reply)
{
	(void)fprintf(reply, "error %s: %s; nothing has changed\n", daemon->config_path, why);
	events_add(daemon->events, EVENT_RELOAD_REFUSED, EVENT_PORT_NONE,
		   "%s: %s; nothing has changed", daemon->config_path, why);
	return -EIO;
}

/* Room for one more old snapshot. */
static bool retire_room(struct daemon *daemon)
{
	for (unsigned i = 0; i < RETIRE_TRIES; i++) {
		const struct timespec nap = {.tv_nsec = RETIRE_NAP_NS};

		(void)publish_retire(daemon);
		if (daemon->retired_count < RETIRED_MAX)
			return true;
		(void)nanosleep(&nap, NULL);
	}
	return false;
}

static int read_config(struct daemon *daemon, struct reload *reload, FILE *reply)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	int code = 0;

	if (errors == NULL)
		return refuse_because(daemon, strerror(ENOMEM), reply);
	reload->config = config_load(daemon->config_path, errors);
	if (reload->config == NULL ||
	    config_check_reload(daemon->config, reload->config, errors) != 0 ||
	    publish_check(daemon, reload->config, errors) != 0)
		code = refuse(daemon, errors, reply);
	free(errors);
	return code;
}

/* Everything that may fail. */
static int prepare(struct daemon *daemon, struct reload *reload, FILE *reply)
{
	struct io_error error = {""};
	int code;

	/* Readers may go on meanwhile: nothing of theirs changes. */
	daemon_unlock(daemon);
	code = read_config(daemon, reload, reply);
	if (code == 0) {
		reload->fib = publish_fib(daemon, reload->config);
		if (reload->fib == NULL)
			code = refuse_because(daemon, rte_strerror(rte_errno), reply);
	}
	daemon_lock(daemon);
	if (code != 0)
		return code;
	if (!retire_room(daemon))
		return refuse_because(daemon, "workers do not respond", reply);
	if (interfaces_prepare(daemon, reload->config, &reload->interfaces, &error) != 0)
		return refuse_because(daemon, error.text, reply);
	reload->snapshot =
		publish_build(daemon, reload->config, &reload->interfaces, reload->fib, false);
	if (reload->snapshot == NULL) {
		code = refuse_because(daemon, rte_strerror(rte_errno), reply);
		interfaces_abort(daemon, &reload->interfaces);
		return code;
	}
	return 0;
}

static void commit(struct daemon *daemon, struct reload *reload)
{
	struct config *config_before = daemon->config;
	struct fib *fib_before = daemon->fib;

	interfaces_untell(daemon, reload->config);
	daemon->config = reload->config;
	daemon->fib = reload->fib;
	publish_commit(daemon, reload->snapshot, fib_before);
	interfaces_commit(daemon, &reload->interfaces);
	config_free(config_before);
	interfaces_settle(daemon);
	ports_follow_classes(daemon);
	punt_release(daemon);
	(void)publish_retire(daemon);
	daemon->reloads++;
	daemon->reload_ns = realtime_ns();
}

int reload_run(struct daemon *daemon, FILE *reply)
{
	struct reload reload = {0};
	uint64_t start_ns = monotonic_ns();
	uint64_t took_us;
	int code;

	(void)notify_reloading();
	code = prepare(daemon, &reload, reply);
	if (code != 0) {
		daemon->reloads_refused++;
		fib_free(reload.fib);
		config_free(reload.config);
	} else {
		commit(daemon, &reload);
		took_us = (monotonic_ns() - start_ns) / 1000;
		events_add(daemon->events, EVENT_RELOAD, EVENT_PORT_NONE,
			   "%s taken over in %llu.%03llu ms", daemon->config_path,
			   (unsigned long long)(took_us / 1000),
			   (unsigned long long)(took_us % 1000));
		(void)fprintf(reply, "ok %s taken over in %llu.%03llu ms\n", daemon->config_path,
			      (unsigned long long)(took_us / 1000),
			      (unsigned long long)(took_us % 1000));
	}
	(void)notify_send("READY=1");
	return code;
}
