/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/pcap.h"
#include "tools/lab/trace.h"

#define FLOW_PREFIX  "flow:"
#define QUEUE_PREFIX "queue:"

static bool starts(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool recording_valid(const struct recording *recording)
{
	const char *equals = strchr(recording->what, '=');

	if (equals == NULL || equals == recording->what || equals[1] == '\0' ||
	    strcmp(equals + 1, "-") == 0)
		return false; /* standard output is for the summary and the result */
	return !recording->trace || starts(recording->what, FLOW_PREFIX) ||
	       starts(recording->what, QUEUE_PREFIX);
}

static int unknown(const char *kind, const char *name, const char *first)
{
	fprintf(stderr, "roceleaf-lab: there is no %s %s; the first is %s\n", kind, name, first);
	return -ENOENT;
}

static int find_link(const struct topology *topology, const char *name, uint32_t *link)
{
	for (uint32_t i = 0; i < topology->link_count; i++) {
		if (strcmp(topology->links[i].name, name) == 0) {
			*link = i;
			return 0;
		}
	}
	return unknown("link", name, topology->links[0].name);
}

static int open_pcap(struct recording *recording, const char *name, const char *path,
		     struct fabric *fabric)
{
	uint32_t link;
	int result = find_link(fabric->scenario->topology, name, &link);

	if (result != 0)
		return result;
	recording->open = pcap_open(fabric, link, path);
	return recording->open == NULL ? -EIO : 0;
}

static int open_flow(struct recording *recording, const char *name, const char *path,
		     struct fabric *fabric)
{
	const struct traffic *traffic = &fabric->traffic;

	for (uint32_t i = 0; i < traffic->flow_count; i++) {
		if (strcmp(traffic->flows[i].params.name, name) == 0) {
			recording->open = trace_open_flow(fabric, i, path);
			return recording->open == NULL ? -EIO : 0;
		}
	}
	return unknown("flow", name,
		       traffic->flow_count == 0 ? "missing too" : traffic->flows[0].params.name);
}

/* SWITCH:LINK:PRIORITY */
static int open_queue(struct recording *recording, char *name, const char *path,
		      struct fabric *fabric)
{
	const struct topology *topology = fabric->scenario->topology;
	char *link_name = strchr(name, ':'), *priority;
	uint32_t node, link;

	priority = link_name == NULL ? NULL : strchr(link_name + 1, ':');
	if (priority == NULL || priority[1] < '0' || priority[1] > '7' || priority[2] != '\0') {
		fprintf(stderr,
			"roceleaf-lab: --trace queue:%s: write queue:SWITCH:LINK:PRIORITY=FILE "
			"with a priority of 0 to 7\n",
			name);
		return -EINVAL;
	}
	*link_name++ = '\0';
	*priority++ = '\0';
	node = topology_find_node(topology, name);
	if (node == TOPOLOGY_NONE || topology->nodes[node].host)
		return unknown("switch", name, topology->nodes[topology->switches[0]].name);
	if (find_link(topology, link_name, &link) != 0)
		return -ENOENT;
	for (uint32_t end = 0; end < 2; end++) {
		if (topology->links[link].node[end] != node)
			continue;
		recording->open = trace_open_queue(fabric, topology->nodes[node].index,
						   (uint16_t)topology->links[link].port[end],
						   (uint8_t)(*priority - '0'), path);
		return recording->open == NULL ? -EIO : 0;
	}
	fprintf(stderr, "roceleaf-lab: link %s isn't one of switch %s\n", link_name, name);
	return -ENOENT;
}

static int recording_open(struct recording *recording, struct fabric *fabric)
{
	char *what = allocate_text("%s", recording->what);
	char *path = strchr(what, '=');
	int result;

	*path++ = '\0';
	if (!recording->trace)
		result = open_pcap(recording, what, path, fabric);
	else if (starts(what, FLOW_PREFIX))
		result = open_flow(recording, what + strlen(FLOW_PREFIX), path, fabric);
	else
		result = open_queue(recording, what + strlen(QUEUE_PREFIX), path, fabric);
	free(what);
	return result;
}

int recordings_open(struct recording *recordings, uint32_t count, struct fabric *fabric)
{
	int result = 0;

	for (uint32_t i = 0; i < count && result == 0; i++)
		result = recording_open(&recordings[i], fabric);
	if (result != 0)
		(void)recordings_close(recordings, count, false);
	return result;
}

int recordings_close(struct recording *recordings, uint32_t count, bool keep)
{
	int result = 0;

	for (uint32_t i = 0; i < count; i++) {
		int closed = recordings[i].trace ? trace_close(recordings[i].open, keep)
						 : pcap_close(recordings[i].open, keep);

		recordings[i].open = NULL;
		if (result == 0)
			result = closed;
	}
	return result;
}
