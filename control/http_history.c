/* SPDX-License-Identifier: BSD-3-Clause */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/daemon.h"
#include "control/history.h"
#include "control/http_handler.h"
#include "control/json_text.h"

/* Two looks, and what a reader asked for. */
struct history_reader {
	struct daemon *daemon;
	uint16_t port_count;
	uint32_t priority; /* PRIORITY_COUNT: all together */
	struct history_look *before, *after;
	struct history_counters *growth; /* of each port */
};

/* One of the arrays of a second: a counter's growth for each port. */
static void write_growth(FILE *out, const char *name, const struct history_reader *reader,
			 size_t field_offset)
{
	(void)fprintf(out, ", \"%s\": [", name);
	for (uint16_t i = 0; i < reader->port_count; i++) {
		uint64_t value;

		memcpy(&value, (const uint8_t *)&reader->growth[i] + field_offset, sizeof(value));
		(void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ",", value);
	}
	(void)fputc(']', out);
}

static void write_second(FILE *out, const struct history_reader *reader)
{
	(void)fprintf(out,
		      "{\"sequence\": %" PRIu64 ", \"time_ns\": %" PRIu64
		      ", \"duration_ns\": %" PRIu64,
		      reader->after->sequence, reader->after->time_ns,
		      reader->after->monotonic_ns - reader->before->monotonic_ns);
	memset(reader->growth, 0, reader->port_count * sizeof(*reader->growth));
	for (uint16_t i = 0; i < reader->port_count; i++)
		history_add_growth(&reader->growth[i], &reader->before->port[i],
				   &reader->after->port[i], reader->priority);
#define WRITE_(field) write_growth(out, #field, reader, offsetof(struct history_counters, field));
	HISTORY_COUNTERS(WRITE_)
#undef WRITE_
	(void)fputs(", \"drop_packets\": [", out);
	for (uint16_t i = 0; i < reader->port_count; i++)
		(void)fprintf(out, "%s%" PRIu64, i == 0 ? "" : ",",
			      reader->after->port[i].drop_packets -
				      reader->before->port[i].drop_packets);
	(void)fputs("]}", out);
}

/* @return false: that look isn't there */
static bool copy_look(const struct history_reader *reader, uint64_t sequence,
		      struct history_look *out)
{
	const struct history_look *look;

	daemon_lock(reader->daemon);
	look = history_at(daemon_history(reader->daemon), sequence);
	if (look != NULL)
		memcpy(out, look, history_bytes(reader->port_count, 1));
	daemon_unlock(reader->daemon);
	return look != NULL;
}

/* A second is what was counted between its look and the one before, so the first look has none. */
static uint64_t write_seconds(FILE *out, struct history_reader *reader, uint64_t after)
{
	uint64_t oldest, newest;
	bool any = false, has_before = false;

	daemon_lock(reader->daemon);
	oldest = history_oldest(daemon_history(reader->daemon));
	newest = history_newest(daemon_history(reader->daemon));
	daemon_unlock(reader->daemon);
	if (after > newest)
		after = 0; /* of a leaf that was there before this one */
	for (uint64_t s = after > oldest ? after : oldest; s <= newest; s++) {
		struct history_look *swap = reader->before;

		if (!copy_look(reader, s, reader->after)) {
			has_before = false;
			continue;
		}
		if (has_before) {
			(void)fputs(any ? ",\n" : "\n", out);
			any = true;
			write_second(out, reader);
		}
		has_before = true;
		reader->before = reader->after;
		reader->after = swap;
	}
	return newest;
}

static void write_ports(FILE *out, const struct history_reader *reader)
{
	(void)fputs("{\"ports\": [", out);
	daemon_lock(reader->daemon);
	for (uint16_t i = 0; i < reader->port_count; i++) {
		(void)fputs(i == 0 ? "" : ",", out);
		json_write_text(out, daemon_config(reader->daemon)->ports[i].name);
	}
	daemon_unlock(reader->daemon);
	(void)fputs("],\n\"seconds\": [", out);
}

static void answer_history(struct history_reader *reader, uint64_t after,
			   struct http_answer *answer)
{
	FILE *out = open_memstream(&answer->text, &answer->size);
	uint64_t last;
	bool failed;

	if (out == NULL)
		return;
	write_ports(out, reader);
	last = write_seconds(out, reader, after);
	(void)fprintf(out, "],\n\"last\": %" PRIu64 "}\n", last);
	failed = ferror(out) != 0;
	answer->status = fclose(out) != 0 || failed ? 0 : 200;
	answer->type = HTTP_TYPE_JSON;
	if (answer->status == 0)
		free(answer->text);
}

void http_history(const struct http_request *request, struct http_answer *answer)
{
	struct history_reader reader = {.daemon = request->daemon};
	uint64_t after, priority;

	if (http_number(request, "after", 0, UINT64_MAX, &after) != 0 ||
	    http_number(request, "priority", PRIORITY_COUNT, PRIORITY_COUNT - 1, &priority) != 0) {
		http_say(answer, 400, "after must be a number, priority one from 0 to 7.\n");
		return;
	}
	daemon_lock(request->daemon);
	reader.port_count = daemon_config(request->daemon)->port_count;
	daemon_unlock(request->daemon);
	reader.priority = (uint32_t)priority;
	reader.before = malloc(history_bytes(reader.port_count, 1));
	reader.after = malloc(history_bytes(reader.port_count, 1));
	reader.growth = calloc(reader.port_count, sizeof(*reader.growth));
	if (reader.before != NULL && reader.after != NULL && reader.growth != NULL)
		answer_history(&reader, after, answer);
	free(reader.before);
	free(reader.after);
	free(reader.growth);
}
