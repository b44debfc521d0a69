/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * daemon - starts a leaf, runs its control loop, stops it.
 *
 * Start: config, runtime directory, EAL, packet buffers, ports, leaf, TAPs, snapshot, workers,
 * telemetry. Stop is the same backwards, from whatever step was reached.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/un.h>
#include <unistd.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mbuf_pool_ops.h>

#include "control/notify.h"
#include "control/runtime.h"
#include "control/state.h"
#include "control/telemetry.h"

/* Frames between a worker and control, each way. */
#define CPU_RING_PACKETS 2048

/* A start that failed for a reason without a place in the config. */
static int start_failed(const struct daemon *daemon, const char *step, const char *why)
{
	(void)fprintf(stderr, "roceleaf: %s: %s: %s\n", daemon->config->leaf.name, step, why);
	return -EIO;
}

static int start_config_failed(struct config_errors *errors)
{
	config_print_errors(errors, stderr);
	return -EINVAL;
}

/* Of ECMP: differs between leaves, stays the same for each. */
static uint64_t seed_of(const struct config *config)
{
	uint64_t hash =
		config_hash(CONFIG_HASH_START, config->leaf.name, strlen(config->leaf.name));

	return config_hash(hash, config->leaf.router_mac, sizeof(config->leaf.router_mac));
}

static int start_eal(struct daemon *daemon, struct config_errors *errors)
{
	uint16_t cpus[EAL_CPUS_MAX];
	uint32_t cpu_count = eal_cpus(cpus, EAL_CPUS_MAX);
	uint64_t huge_bytes = memory_hugepages_free(), available = memory_available(), needed;
	const char *why = "?";

	memory_plan(daemon->config, &daemon->memory);
	needed = daemon->memory.eal_bytes + daemon->memory.table_bytes;
	daemon->hugepages = huge_bytes >= daemon->memory.eal_bytes;
	if (huge_bytes > 0 && !daemon->hugepages)
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "%llu MiB of hugepages are free, %llu MiB are needed: running without",
			   (unsigned long long)(huge_bytes >> 20),
			   (unsigned long long)(daemon->memory.eal_bytes >> 20));
	if (!daemon->hugepages && available > 0 && available < needed) {
		config_fail(daemon->config, errors, config_mark_of(daemon->config, "leaf.memory"),
			    "memory: %llu MiB are needed, with tables and DPDK's own; this machine "
			    "has %llu MiB to give",
			    (unsigned long long)(needed >> 20),
			    (unsigned long long)(available >> 20));
		return start_config_failed(errors);
	}
	daemon->eal = calloc(1, sizeof(*daemon->eal));
	if (daemon->eal == NULL)
		return start_failed(daemon, "EAL", strerror(ENOMEM));
	if (eal_arguments(daemon->config, &daemon->memory, daemon->hugepages, cpus, cpu_count,
			  daemon->eal, errors) != 0)
		return start_config_failed(errors);
	if (eal_start(daemon->config, daemon->eal, &why) != 0)
		return start_failed(daemon, "DPDK's environment can't start", why);
	daemon->eal_runs = true;
	return 0;
}

/*
 * As rte_pktmbuf_pool_create(), but in plain memory and without DMA buffers may lie across pages:
 * otherwise those of 1856 bytes would waste a tenth of it, those of 9536 a fifth.
 */
static struct rte_mempool *create_pool(const struct daemon *daemon)
{
	const struct memory_plan *plan = &daemon->memory;
	struct rte_pktmbuf_pool_private priv = {.mbuf_data_room_size = (uint16_t)plan->room_bytes};
	unsigned flags = daemon->hugepages || plan->devices ? 0 : RTE_MEMPOOL_F_NO_IOVA_CONTIG;
	struct rte_mempool *pool = rte_mempool_create_empty(
		"packets", plan->buffer_count, sizeof(struct rte_mbuf) + plan->room_bytes,
		MEMORY_CACHE_BUFFERS, sizeof(priv), SOCKET_ID_ANY, flags);
	int error;

	if (pool == NULL)
		return NULL;
	error = rte_mempool_set_ops_byname(pool, rte_mbuf_best_mempool_ops(), NULL);
	if (error == 0) {
		rte_pktmbuf_pool_init(pool, &priv);
		error = rte_mempool_populate_default(pool);
	}
	if (error < 0) {
		rte_mempool_free(pool);
		rte_errno = -error;
		return NULL;
	}
	(void)rte_mempool_obj_iter(pool, rte_pktmbuf_init, NULL);
	return pool;
}

static int start_pool(struct daemon *daemon)
{
	char step[128];

	daemon->pool = create_pool(daemon);
	if (daemon->pool != NULL)
		return 0;
	(void)snprintf(step, sizeof(step), "%u packet buffers of %u bytes",
		       daemon->memory.buffer_count, daemon->memory.buffer_bytes);
	return start_failed(daemon, step, rte_strerror(rte_errno));
}

static int start_leaf(struct daemon *daemon)
{
	const struct config *config = daemon->config;
	const struct leaf_params params = {
		.port_count = daemon->port_count,
		.worker_count = config->leaf.workers,
		.pool = daemon->pool,
		.packets_max = daemon->memory.buffer_count,
		.seed = daemon->hash_seed,
		.socket = SOCKET_ID_ANY,
	};

	daemon->leaf = leaf_create(&params);
	if (daemon->leaf == NULL)
		return start_failed(daemon, "tables of the leaf", rte_strerror(rte_errno));
	if (leaf_record_create(daemon->leaf, RECORDER_SLOTS, config->telemetry.record_ps) != 0)
		return start_failed(daemon, "recorders", strerror(ENOMEM));
	daemon->cpu = cpu_io_open(daemon->port_count, CPU_RING_PACKETS);
	if (daemon->cpu == NULL)
		return start_failed(daemon, "port of the CPU", rte_strerror(rte_errno));
	daemon->lcores = lcores_create(daemon->leaf, config->leaf.idle == CONFIG_IDLE_ADAPTIVE);
	if (daemon->lcores == NULL)
		return start_failed(daemon, "workers", rte_strerror(rte_errno));
	for (uint16_t i = 0; i < daemon->port_count; i++) {
		struct port_state *port = &daemon->port[i];

		port->owner = i % config->leaf.workers;
		if (leaf_attach(daemon->leaf, i, port->io, port->owner) != 0 ||
		    lcores_watch(daemon->lcores, port->io) != 0)
			return start_failed(daemon, config->ports[i].name, strerror(EINVAL));
	}
	if (leaf_attach(daemon->leaf, daemon->port_count, cpu_io_port(daemon->cpu), 0) != 0)
		return start_failed(daemon, "port of the CPU", strerror(EINVAL));
	return 0;
}

static int start_interfaces(struct daemon *daemon)
{
	struct interfaces next;
	struct io_error error = {""};

	if (interfaces_prepare(daemon, daemon->config, &next, &error) != 0)
		return start_failed(daemon, "interfaces to the kernel", error.text);
	interfaces_commit(daemon, &next);
	return 0;
}

static int start_snapshot(struct daemon *daemon)
{
	struct snapshot *snapshot = NULL;

	daemon->fib = publish_fib(daemon, daemon->config);
	if (daemon->fib != NULL)
		snapshot = publish_build(daemon, daemon->config, &daemon->interfaces, daemon->fib,
					 false);
	if (snapshot == NULL)
		return start_failed(daemon, "tables of the leaf", rte_strerror(rte_errno));
	publish_commit(daemon, snapshot, NULL);
	return 0;
}

static int start_workers(struct daemon *daemon)
{
	unsigned lcore_id[CONFIG_CORES_MAX];
	int error;

	for (uint16_t i = 0; i < daemon->config->leaf.workers; i++)
		lcore_id[i] = EAL_WORKER_LCORE(i);
	error = lcores_start(daemon->lcores, lcore_id);
	if (error != 0)
		return start_failed(daemon, "workers", strerror(-error));
	daemon->workers_run = true;
	return 0;
}

/* --- the control loop --- */

static void on_link(void *context, const struct netlink_link *link)
{
	ports_link_event(context, link);
}

static void on_neighbour(void *context, const struct netlink_neighbour *neighbour)
{
	struct daemon *daemon = context;
	uint64_t now_ns = monotonic_ns();

	if (interfaces_by_ifindex(&daemon->interfaces, neighbour->ifindex) == INTERFACE_NONE)
		return;
	if (neighbours_update(daemon->neighbours, neighbour->ifindex, &neighbour->address,
			      neighbour->resolved ? neighbour->mac : NULL, now_ns))
		publish_soon(daemon, now_ns);
}

static void netlink_resync(struct daemon *daemon)
{
	neighbours_resync_begin(daemon->neighbours);
	(void)netlink_dump(daemon->netlink);
	if (neighbours_resync_end(daemon->neighbours))
		publish_soon(daemon, monotonic_ns());
}

static void on_netlink(void *context)
{
	struct daemon *daemon = context;

	if (netlink_read(daemon->netlink) == 0)
		return;
	events_add(daemon->events, EVENT_NETLINK_RESYNC, EVENT_PORT_NONE,
		   "the kernel's messages came too fast; links and neighbours are read anew");
	netlink_resync(daemon);
}

static void on_punt(void *context)
{
	struct daemon *daemon = context;

	cpu_io_woken(daemon->cpu);
}

/* SIGHUP: as a reload over the socket, but the answer is in the log. */
static void reload_quietly(struct daemon *daemon)
{
	FILE *nowhere = fopen("/dev/null", "we");

	if (nowhere == NULL)
		return;
	(void)reload_run(daemon, nowhere);
	(void)fclose(nowhere);
}

static void on_signal(void *context)
{
	struct daemon *daemon = context;
	struct signalfd_siginfo info;

	while (read(daemon->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGHUP)
			reload_quietly(daemon);
		else
			daemon->stop = true;
	}
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* How long the loop may sleep, ms, rounded up; 0 when something waits. */
static int timeout_ms(struct daemon *daemon, uint64_t now_ns)
{
	uint64_t due_ns = earlier(daemon->tick_due_ns, daemon->publish_due_ns);

	if (!cpu_io_may_sleep(daemon->cpu))
		return 0;
	due_ns = earlier(due_ns, daemon->look_due_ns);
	due_ns = earlier(due_ns, hold_due_ns(daemon->hold));
	if (daemon->links_polled)
		due_ns = earlier(due_ns, daemon->link_poll_due_ns);
	if (daemon->retired_count > 0)
		due_ns = earlier(due_ns, now_ns + RETIRE_POLL_NS);
	return due_ns <= now_ns ? 0 : (int)((due_ns - now_ns + MS_NS - 1) / MS_NS);
}

static void tick(struct daemon *daemon, uint64_t now_ns)
{
	struct hold_stats stats;

	daemon->tick_due_ns = now_ns + TICK_NS;
	neighbours_tick(daemon->neighbours, now_ns);
	ports_tick(daemon, now_ns);
	watch_devices(daemon);
	watch_peaks(daemon, now_ns);
	marks_tick(daemon);
	record_tick(daemon, now_ns);
	capture_tick(daemon);
	hold_stats(daemon->hold, &stats);
	if (stats.refused > daemon->hold_refused_told)
		events_add(daemon->events, EVENT_HOLD_FULL, EVENT_PORT_NONE,
			   "%llu packets were dropped because too many wait for neighbours",
			   (unsigned long long)(stats.refused - daemon->hold_refused_told));
	daemon->hold_refused_told = stats.refused;
}

static void run(struct daemon *daemon)
{
	while (!daemon->stop) {
		uint64_t now_ns = monotonic_ns();
		int wait_ms = timeout_ms(daemon, now_ns);

		daemon_unlock(daemon);
		loop_wait(&daemon->loop, wait_ms);
		daemon_lock(daemon);
		loop_dispatch(&daemon->loop);
		now_ns = monotonic_ns();
		punt_run(daemon, now_ns);
		punt_expire(daemon, now_ns);
		publish_run(daemon, now_ns);
		(void)publish_retire(daemon);
		if (daemon->links_polled && now_ns >= daemon->link_poll_due_ns) {
			daemon->link_poll_due_ns = now_ns + LINK_POLL_NS;
			ports_poll_links(daemon);
		}
		if (now_ns >= daemon->look_due_ns)
			watch_look(daemon, now_ns);
		if (now_ns >= daemon->tick_due_ns)
			tick(daemon, now_ns);
	}
}

static int start_loop(struct daemon *daemon)
{
	char path[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	sigset_t signals;
	int error;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	daemon->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (daemon->signal_fd < 0)
		return start_failed(daemon, "signals", strerror(errno));
	error = loop_add(&daemon->loop, &daemon->signal_source, daemon->signal_fd, on_signal,
			 daemon);
	if (error == 0)
		error = loop_add(&daemon->loop, &daemon->netlink_source,
				 netlink_descriptor(daemon->netlink), on_netlink, daemon);
	if (error == 0)
		error = loop_add(&daemon->loop, &daemon->cpu_source, cpu_io_descriptor(daemon->cpu),
				 on_punt, daemon);
	if (error != 0)
		return start_failed(daemon, "control loop", strerror(-error));
	(void)runtime_path(daemon->config, DAEMON_CONTROL_SOCKET, path, sizeof(path));
	daemon->socket = socket_open(path, &daemon->loop, request_run, daemon);
	if (daemon->socket == NULL)
		return start_failed(daemon, path, strerror(errno));
	return 0;
}

/* --- start and stop --- */

static int start_control(struct daemon *daemon)
{
	const struct netlink_handlers handlers = {on_link, on_neighbour, daemon};
	int error = loop_open(&daemon->loop);

	if (error == 0)
		error = netlink_open(&daemon->netlink, &handlers);
	if (error != 0)
		return start_failed(daemon, "netlink", strerror(-error));
	return 0;
}

static void ask_kernel(void *context, uint32_t ifindex, const struct config_ip *address)
{
	struct daemon *daemon = context;

	(void)netlink_neighbour_use(daemon->netlink, ifindex, address);
}

static int start_tables(struct daemon *daemon)
{
	daemon->port_count = daemon->config->port_count;
	daemon->port = calloc(daemon->port_count, sizeof(*daemon->port));
	daemon->neighbours = neighbours_create(ask_kernel, daemon);
	daemon->hold = hold_create();
	daemon->faults = faults_create(daemon->port_count, daemon->events);
	daemon->hash_seed = seed_of(daemon->config);
	if (daemon->port == NULL || daemon->neighbours == NULL || daemon->hold == NULL ||
	    daemon->faults == NULL || marks_create(daemon) != 0)
		return start_failed(daemon, "tables", strerror(ENOMEM));
	return 0;
}

static int start(struct daemon *daemon, struct config_errors *errors)
{
	int error;

	daemon->config = config_load(daemon->config_path, errors);
	if (daemon->config == NULL || runtime_open(daemon->config, &daemon->lock_fd, errors) != 0)
		return start_config_failed(errors);
	error = start_tables(daemon);
	if (error == 0)
		error = start_eal(daemon, errors);
	if (error == 0)
		error = start_pool(daemon);
	if (error == 0)
		error = start_control(daemon);
	if (error == 0 &&
	    (ports_open(daemon, errors) != 0 || publish_check(daemon, daemon->config, errors) != 0))
		error = start_config_failed(errors);
	if (error == 0)
		error = start_leaf(daemon);
	if (error == 0)
		error = start_interfaces(daemon);
	if (error == 0)
		error = start_snapshot(daemon);
	if (error == 0)
		error = start_workers(daemon);
	if (error == 0)
		error = start_loop(daemon);
	if (error != 0)
		return error;
	interfaces_settle(daemon);
	netlink_resync(daemon);
	/* Its threads take their lock first, then ours. */
	daemon_unlock(daemon);
	error = telemetry_start(daemon);
	daemon_lock(daemon);
	if (error != 0)
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "telemetry can't start: %s", strerror(-error));
	daemon->http = http_start(daemon);
	return 0;
}

/* Stop everything that sends, then give back what is queued. @return buffers that are missing */
static uint32_t stop_dataplane(struct daemon *daemon)
{
	uint32_t missing = 0;

	if (daemon->lcores != NULL)
		lcores_stop(daemon->lcores);
	daemon->workers_run = false;
	if (daemon->hold != NULL)
		punt_end(daemon);
	for (uint16_t i = 0; daemon->leaf != NULL && i < leaf_worker_count(daemon->leaf); i++)
		worker_flush(leaf_worker(daemon->leaf, i));
	if (daemon->leaf != NULL && !leaf_conserved(daemon->leaf))
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "packets received, sent and dropped do not add up");
	interfaces_close(daemon);
	ports_close(daemon);
	if (daemon->cpu != NULL)
		port_io_close(cpu_io_port(daemon->cpu));
	publish_end(daemon);
	lcores_free(daemon->lcores);
	leaf_free(daemon->leaf);
	if (daemon->pool != NULL)
		missing = daemon->pool->size - rte_mempool_avail_count(daemon->pool);
	rte_mempool_free(daemon->pool);
	return missing;
}

/* AF_XDP's driver does not give back what it has lent to the kernel. */
static bool has_af_xdp(const struct daemon *daemon)
{
	for (uint16_t i = 0; i < daemon->port_count; i++)
		if (daemon->config->ports[i].driver == CONFIG_DRIVER_AF_XDP)
			return true;
	return false;
}

static int stop(struct daemon *daemon)
{
	uint32_t missing;
	bool excused;

	daemon_unlock(daemon);
	http_stop(daemon->http);
	telemetry_stop();
	daemon_lock(daemon);
	socket_close(daemon->socket);
	missing = stop_dataplane(daemon);
	capture_end(daemon);
	excused = missing > 0 && has_af_xdp(daemon);
	if (missing > 0)
		events_add(daemon->events, EVENT_WARNING, EVENT_PORT_NONE,
			   "%u of %u packet buffers did not come back%s", missing,
			   daemon->memory.buffer_count,
			   excused ? "; the driver of af_xdp keeps those it holds" : "");
	netlink_close(daemon->netlink);
	loop_close(&daemon->loop);
	if (daemon->signal_fd >= 0)
		close(daemon->signal_fd);
	if (daemon->eal_runs)
		(void)rte_eal_cleanup();
	faults_free(daemon->faults);
	marks_free(daemon);
	recording_free(&daemon->record.kept);
	hold_free(daemon->hold);
	neighbours_free(daemon->neighbours);
	free(daemon->port);
	free(daemon->eal);
	config_free(daemon->config);
	if (daemon->lock_fd >= 0)
		close(daemon->lock_fd);
	daemon_unlock(daemon);
	return missing > 0 && !excused ? 1 : 0;
}

/* So that every thread of EAL's and ours leaves these signals to the control loop. */
static void block_signals(void)
{
	sigset_t signals;

	(void)sigemptyset(&signals);
	(void)sigaddset(&signals, SIGTERM);
	(void)sigaddset(&signals, SIGINT);
	(void)sigaddset(&signals, SIGHUP);
	(void)pthread_sigmask(SIG_BLOCK, &signals, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
}

static void tell_started(struct daemon *daemon)
{
	char status[128];

	events_add(daemon->events, EVENT_START, EVENT_PORT_NONE,
		   "leaf %s runs: %u ports, %u packet buffers of %u bytes%s, %s",
		   daemon->config->leaf.name, daemon->port_count, daemon->memory.buffer_count,
		   daemon->memory.buffer_bytes, daemon->hugepages ? " in hugepages" : "",
		   daemon->config->leaf.idle == CONFIG_IDLE_ADAPTIVE ? "sleeps when idle"
								     : "polls all the time");
	(void)snprintf(status, sizeof(status), "READY=1\nSTATUS=leaf %s, %u ports",
		       daemon->config->leaf.name, daemon->port_count);
	(void)notify_send(status);
}

int daemon_run(const struct daemon_options *options)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct daemon *daemon = calloc(1, sizeof(*daemon));
	struct events *events = events_create(stderr);
	int status = 1;

	if (errors == NULL || daemon == NULL || events == NULL) {
		(void)fprintf(stderr, "roceleaf: %s\n", strerror(ENOMEM));
		goto out;
	}
	daemon->config_path = options->config_path;
	daemon->events = events;
	daemon->started_ns = realtime_ns();
	daemon->started_monotonic_ns = monotonic_ns();
	daemon->lock_fd = daemon->loop.fd = daemon->signal_fd = -1;
	daemon->publish_due_ns = UINT64_MAX;
	(void)pthread_mutex_init(&daemon->lock, NULL);
	daemon_lock(daemon);
	block_signals();
	if (start(daemon, errors) == 0) {
		tell_started(daemon);
		run(daemon);
		(void)notify_send("STOPPING=1");
		events_add(events, EVENT_STOP, EVENT_PORT_NONE, "leaf %s stops",
			   daemon->config->leaf.name);
		status = stop(daemon);
	} else {
		(void)stop(daemon);
	}
	(void)pthread_mutex_destroy(&daemon->lock);
out:
	events_free(events);
	free(daemon);
	free(errors);
	return status;
}
