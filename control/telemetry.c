/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/telemetry_tables.h"

/* DPDK takes 63 bytes of help. */
static const struct {
	const char *command;
	telemetry_table_fn *fill;
	const char *help;
} tables[] = {
	{"/roceleaf/info", telemetry_info, "The leaf itself, one row"},
	{"/roceleaf/ports", telemetry_ports, "Ports and their counters. Parameter: cursor"},
	{"/roceleaf/queues", telemetry_queues, "Eight queues a port. Parameter: cursor"},
	{"/roceleaf/buffers", telemetry_buffers, "Lossless ports' buffers. Parameter: cursor"},
	{"/roceleaf/pool", telemetry_pool, "What all buffers share, one row"},
	{"/roceleaf/peaks", telemetry_peaks, "Peaks, in three copies. Parameter: cursor"},
	{"/roceleaf/pfc", telemetry_pfc, "Pauses of each queue. Parameter: cursor"},
	{"/roceleaf/pfc_ports", telemetry_pfc_ports, "PFC frames of each port. Parameter: cursor"},
	{"/roceleaf/ecn", telemetry_ecn, "Queues that mark or drop early. Parameter: cursor"},
	{"/roceleaf/classes", telemetry_classes, "Traffic classes"},
	{"/roceleaf/balance", telemetry_balance, "Uplinks' shares of traffic. Parameter: cursor"},
	{"/roceleaf/spread", telemetry_spread, "All uplinks together, one row"},
	{"/roceleaf/flows", telemetry_flows, "Largest flows over uplinks. Parameter: cursor"},
	{"/roceleaf/fdb", telemetry_fdb, "Learned MAC addresses. Parameter: cursor"},
	{"/roceleaf/routes", telemetry_routes, "A row per next hop. Parameter: cursor"},
	{"/roceleaf/neighbours", telemetry_neighbours, "ARP and ND entries. Parameter: cursor"},
	{"/roceleaf/interfaces", telemetry_interfaces,
	 "Traffic with the kernel. Parameter: cursor"},
	{"/roceleaf/drops", telemetry_drops, "Drops that are not zero. Parameter: cursor"},
	{"/roceleaf/reasons", telemetry_reasons, "All reasons for drops. Parameter: cursor"},
	{"/roceleaf/workers", telemetry_workers, "Time and packets of workers. Parameter: cursor"},
	{"/roceleaf/events", telemetry_events, "Events after a number. Parameter: that number"},
};

#define TABLE_COUNT (sizeof(tables) / sizeof(tables[0]))

/*
 * DPDK's callbacks take no argument of ours, so the daemon that answers has to be found here. The
 * lock is held for a whole answer: telemetry_stop() returns when nobody looks any more.
 */
static pthread_rwlock_t daemon_guard = PTHREAD_RWLOCK_INITIALIZER;
static struct daemon *answering;

static int parse_cursor(const char *params, uint64_t *cursor)
{
	char *end;

	*cursor = 0;
	if (params == NULL || *params == '\0')
		return 0;
	if (*params < '0' || *params > '9')
		return -EINVAL;
	errno = 0;
	*cursor = strtoull(params, &end, 10);
	return errno != 0 || *end != '\0' ? -EINVAL : 0;
}

static int answer_table(struct daemon *daemon, telemetry_table_fn *fill, uint64_t cursor,
			struct rte_tel_data *out)
{
	struct telemetry_page page;
	struct daemon_info info;
	struct timespec now;
	uint64_t next;

	daemon_lock(daemon);
	daemon_info(daemon, &info);
	daemon_unlock(daemon);
	clock_gettime(CLOCK_MONOTONIC, &now);
	telemetry_page_start(&page);
	next = fill(&page, daemon, cursor);
	return telemetry_page_end(&page, out, info.started_ns / 1000,
				  (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec, next);
}

static int telemetry_answer(const char *command, const char *params, struct rte_tel_data *out)
{
	uint64_t cursor;
	int ret = parse_cursor(params, &cursor);

	if (ret != 0)
		return ret;
	ret = -ENOENT;
	pthread_rwlock_rdlock(&daemon_guard);
	for (size_t i = 0; i < TABLE_COUNT && answering != NULL; i++)
		if (strcmp(command, tables[i].command) == 0)
			ret = answer_table(answering, tables[i].fill, cursor, out);
	pthread_rwlock_unlock(&daemon_guard);
	return ret;
}

int telemetry_start(struct daemon *daemon)
{
	static bool registered;
	int ret = 0;

	pthread_rwlock_wrlock(&daemon_guard);
	answering = daemon;
	pthread_rwlock_unlock(&daemon_guard);
	for (size_t i = 0; i < TABLE_COUNT && !registered && ret == 0; i++)
		ret = rte_telemetry_register_cmd(tables[i].command, telemetry_answer,
						 tables[i].help);
	registered = registered || ret == 0;
	return ret;
}

void telemetry_stop(void)
{
	pthread_rwlock_wrlock(&daemon_guard);
	answering = NULL;
	pthread_rwlock_unlock(&daemon_guard);
}
