/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/daemon.h"
#include "control/events.h"
#include "control/http_handler.h"
#include "control/json_text.h"

static void write_event(FILE *out, const struct event *event, const char *port)
{
	const struct event_about *about = &event->about;
	char time[25], priority[8] = "null";

	event_time_text(event->time_ns, time);
	if (about->priority != EVENT_PRIORITY_NONE)
		(void)snprintf(priority, sizeof(priority), "%u", about->priority);
	(void)fprintf(out,
		      "{\"sequence\": %" PRIu64 ", \"time\": \"%s\", \"time_ns\": %" PRIu64
		      ", \"type\": \"%s\", \"port\": ",
		      event->sequence, time, event->time_ns,
		      event_name((enum event_type)about->type));
	if (port != NULL)
		json_write_text(out, port);
	else
		(void)fputs("null", out);
	(void)fprintf(out,
		      ", \"priority\": %s, \"packets\": %" PRIu64 ", \"bytes\": %" PRIu64
		      ", \"duration_ns\": %" PRIu64 ", \"suppressed\": %" PRIu64 ", \"text\": ",
		      priority, about->packets, about->bytes, about->duration_ns,
		      event->suppressed);
	json_write_text(out, event->text);
	(void)fputc('}', out);
}

/* @return the number of the last event written; *lost: how many were overwritten before they were read */
static uint64_t write_events(FILE *out, struct daemon *daemon, uint64_t after, uint64_t *lost)
{
	struct event events[16];
	bool any = false;
	uint32_t count;

	*lost = 0;
	while ((count = events_read(daemon_events(daemon), after, events,
				    sizeof(events) / sizeof(events[0]))) > 0) {
		daemon_lock(daemon);
		for (uint32_t i = 0; i < count; i++) {
			const struct config *config = daemon_config(daemon);
			uint16_t port = events[i].about.port;

			(void)fputs(any ? ",\n" : "\n", out);
			any = true;
			write_event(out, &events[i],
				    port < config->port_count ? config->ports[port].name : NULL);
			*lost += events[i].sequence - after - 1;
			after = events[i].sequence;
		}
		daemon_unlock(daemon);
	}
	return after;
}

void http_events(const struct http_request *request, struct http_answer *answer)
{
	uint64_t after, last, lost, newest = events_newest(daemon_events(request->daemon));
	FILE *out;
	bool failed;

	if (http_number(request, "after", 0, UINT64_MAX, &after) != 0) {
		http_say(answer, 400, "after must be the number of an event.\n");
		return;
	}
	/* Of a leaf that was there before this one: from its start. */
	if (after > newest)
		after = 0;
	out = open_memstream(&answer->text, &answer->size);
	if (out == NULL)
		return;
	(void)fputs("{\"events\": [", out);
	last = write_events(out, request->daemon, after, &lost);
	(void)fprintf(out, "],\n\"lost\": %" PRIu64 ", \"last\": %" PRIu64 "}\n", lost, last);
	failed = ferror(out) != 0;
	answer->status = fclose(out) != 0 || failed ? 0 : 200;
	answer->type = HTTP_TYPE_JSON;
	if (answer->status == 0)
		free(answer->text);
}
