/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/telemetry.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "control/telemetry_tables.h"

/* What is before the name of a table in its command. */
#define COMMAND_PREFIX "/roceleaf/"

/* DPDK takes 63 bytes of help. */
static const struct table {
	const char *command;
	telemetry_table_fn *fill;
	const char *beside; /* the table that `show` prints with it, or NULL */
	const char *help;
} tables[] = {
	{COMMAND_PREFIX "info", telemetry_info, NULL, "The leaf itself, one row"},
	{COMMAND_PREFIX "ports", telemetry_ports, NULL,
	 "Ports and their counters. Parameter: cursor"},
	{COMMAND_PREFIX "queues", telemetry_queues, NULL, "Eight queues a port. Parameter: cursor"},
	{COMMAND_PREFIX "buffers", telemetry_buffers, "pool",
	 "Lossless ports' buffers. Parameter: cursor"},
	{COMMAND_PREFIX "pool", telemetry_pool, NULL, "What all buffers share, one row"},
	{COMMAND_PREFIX "peaks", telemetry_peaks, NULL,
	 "Peaks, in three copies. Parameter: cursor"},
	{COMMAND_PREFIX "pfc", telemetry_pfc, "pfc_ports",
	 "Pauses of each queue. Parameter: cursor"},
	{COMMAND_PREFIX "pfc_ports", telemetry_pfc_ports, NULL,
	 "PFC frames of each port. Parameter: cursor"},
	{COMMAND_PREFIX "ecn", telemetry_ecn, NULL,
	 "Queues that mark or drop early. Parameter: cursor"},
	{COMMAND_PREFIX "classes", telemetry_classes, NULL, "Traffic classes"},
	{COMMAND_PREFIX "balance", telemetry_balance, "spread",
	 "Uplinks' shares of traffic. Parameter: cursor"},
	{COMMAND_PREFIX "spread", telemetry_spread, NULL, "All uplinks together, one row"},
	{COMMAND_PREFIX "flows", telemetry_flows, NULL,
	 "Largest flows over uplinks. Parameter: cursor"},
	{COMMAND_PREFIX "fdb", telemetry_fdb, NULL, "Learned MAC addresses. Parameter: cursor"},
	{COMMAND_PREFIX "routes", telemetry_routes, NULL, "A row per next hop. Parameter: cursor"},
	{COMMAND_PREFIX "neighbours", telemetry_neighbours, NULL,
	 "ARP and ND entries. Parameter: cursor"},
	{COMMAND_PREFIX "interfaces", telemetry_interfaces, NULL,
	 "Traffic with the kernel. Parameter: cursor"},
	{COMMAND_PREFIX "drops", telemetry_drops, NULL,
	 "Drops that are not zero. Parameter: cursor"},
	{COMMAND_PREFIX "reasons", telemetry_reasons, NULL,
	 "All reasons for drops. Parameter: cursor"},
	{COMMAND_PREFIX "workers", telemetry_workers, NULL,
	 "Time and packets of workers. Parameter: cursor"},
	{COMMAND_PREFIX "marks", telemetry_marks, NULL,
	 "Between marks of a job. Parameter: number of one"},
	{COMMAND_PREFIX "record", telemetry_record, "recording",
	 "Samples of the last recording. Parameter: cursor"},
	{COMMAND_PREFIX "recording", telemetry_recording, NULL, "The last recording, one row"},
	{COMMAND_PREFIX "past_queues", telemetry_past_queues, NULL,
	 "Queues' counters. Parameter: how many seconds ago"},
	{COMMAND_PREFIX "past_ports", telemetry_past_ports, NULL,
	 "Ports' counters. Parameter: how many seconds ago"},
	{COMMAND_PREFIX "past_workers", telemetry_past_workers, NULL,
	 "Workers' counters. Parameter: how many seconds ago"},
	{COMMAND_PREFIX "events", telemetry_events, NULL,
	 "Events after a number. Parameter: that number"},
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

static void look(struct daemon *daemon, uint64_t *instance, uint64_t *time_ns)
{
	struct daemon_info info;
	struct timespec now;

	daemon_lock(daemon);
	daemon_info(daemon, &info);
	daemon_unlock(daemon);
	clock_gettime(CLOCK_MONOTONIC, &now);
	*instance = info.started_ns / 1000;
	*time_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int answer_table(struct daemon *daemon, telemetry_table_fn *fill, uint64_t cursor,
			struct rte_tel_data *out)
{
	struct telemetry_page page;
	uint64_t next, instance, time_ns;

	look(daemon, &instance, &time_ns);
	telemetry_page_start(&page);
	next = fill(&page, daemon, cursor);
	return telemetry_page_end(&page, out, instance, time_ns, next);
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

static const struct table *table_find(const char *name)
{
	for (size_t i = 0; i < TABLE_COUNT; i++)
		if (strcmp(tables[i].command + strlen(COMMAND_PREFIX), name) == 0)
			return &tables[i];
	return NULL;
}

/* "NAME": [all rows], */
static int show_table(struct daemon *daemon, const struct table *table, FILE *out)
{
	struct telemetry_page page;
	uint64_t cursor = 0;
	bool any = false;

	fprintf(out, "\"%s\": [", table->command + strlen(COMMAND_PREFIX));
	do {
		telemetry_page_start_rows(&page, out, any);
		cursor = table->fill(&page, daemon, cursor);
		any = page.comma;
		if (ftell(out) > (long)TELEMETRY_SHOW_BYTES)
			return -E2BIG;
	} while (cursor != 0);
	fputs("],\n", out);
	return 0;
}

int telemetry_show(struct daemon *daemon, const char *name, FILE *out)
{
	const struct table *table = table_find(name);
	uint64_t instance, time_ns;
	int ret;

	if (table == NULL)
		return -ENOENT;
	look(daemon, &instance, &time_ns);
	fputc('{', out);
	ret = show_table(daemon, table, out);
	if (ret == 0 && table->beside != NULL)
		ret = show_table(daemon, table_find(table->beside), out);
	fprintf(out, "\"time_ns\": %" PRIu64 ", \"instance\": %" PRIu64 "}\n", time_ns, instance);
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
