/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * record - recordings of queue depths that a user asks for over the control socket.
 *
 *	start every=1us for=10ms [port=NAME] [priority=N] [trigger=xoff|trigger=BYTES]
 *	status		waiting, armed, running, or done: then telemetry has it
 *	stop		forget what was asked for
 *	last=1s [port=NAME] [priority=N]	of what was recorded anyway; done at once
 *
 * One at a time. Who asks comes for the status again and again; a recording that nobody asks for any more is stopped.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "config/schema.h"
#include "control/state.h"

#define FOR_PS_MAX     (60 * PS_PER_S)
#define EVERY_PS_MAX   PS_PER_S
#define ABANDONED_NS   (10 * S_NS)
#define RECORD_WHY_MAX 256

/* What a request asks for. */
struct record_words {
	struct record_request request;
	uint64_t last_ps;
	char why[RECORD_WHY_MAX]; /* "" when it is fine */
};

static uint64_t number_of(struct record_words *words, enum schema_type type, const char *key,
			  const char *text, uint64_t min, uint64_t max)
{
	char why[128];
	uint64_t value = 0;

	if (schema_parse_number(type, text, &value, why, sizeof(why)) != 0)
		(void)snprintf(words->why, sizeof(words->why), "%s %.32s %s", key, text, why);
	else if (value < min || value > max)
		(void)snprintf(words->why, sizeof(words->why), "%s %.32s is out of its range", key,
			       text);
	return value;
}

static uint16_t port_of(const struct daemon *daemon, struct record_words *words, const char *name)
{
	for (uint16_t i = 0; i < daemon->port_count; i++)
		if (strcmp(daemon->config->ports[i].name, name) == 0)
			return i;
	(void)snprintf(words->why, sizeof(words->why), "there is no port %.64s", name);
	return PORT_NONE;
}

static void read_word(const struct daemon *daemon, struct record_words *words, const char *key,
		      const char *value)
{
	struct record_request *request = &words->request;

	if (strcmp(key, "every") == 0) {
		request->every_ps =
			number_of(words, SCHEMA_TIME, key, value, RECORDER_EVERY_PS, EVERY_PS_MAX);
	} else if (strcmp(key, "for") == 0) {
		request->for_ps = number_of(words, SCHEMA_TIME, key, value, PS_PER_US, FOR_PS_MAX);
	} else if (strcmp(key, "last") == 0) {
		words->last_ps = number_of(words, SCHEMA_TIME, key, value, PS_PER_US, FOR_PS_MAX);
	} else if (strcmp(key, "port") == 0) {
		request->port = port_of(daemon, words, value);
	} else if (strcmp(key, "priority") == 0) {
		request->priority =
			(uint8_t)number_of(words, SCHEMA_UINT, key, value, 0, PRIORITY_COUNT - 1);
	} else if (strcmp(key, "trigger") == 0 && strcmp(value, "xoff") == 0) {
		request->trigger = RECORD_AT_XOFF;
	} else if (strcmp(key, "trigger") == 0) {
		request->trigger = RECORD_AT_DEPTH;
		request->depth_bytes = number_of(words, SCHEMA_SIZE, key, value, 1, UINT32_MAX);
	} else {
		(void)snprintf(words->why, sizeof(words->why), "what is %.32s?", key);
	}
}

static void read_words(const struct daemon *daemon, const char *text, struct record_words *words)
{
	char line[SOCKET_LINE_BYTES], *rest = line, *word;

	*words = (struct record_words){.request = {.every_ps = RECORDER_EVERY_PS,
						   .port = PORT_NONE,
						   .priority = PRIORITY_COUNT}};
	(void)snprintf(line, sizeof(line), "%s", text);
	while ((word = strsep(&rest, " ")) != NULL && words->why[0] == '\0') {
		char *value = strchr(word, '=');

		if (word[0] == '\0')
			continue;
		if (value == NULL) {
			(void)snprintf(words->why, sizeof(words->why), "what is %.32s?", word);
			return;
		}
		*value = '\0';
		read_word(daemon, words, word, value + 1);
	}
}

static void record_start(struct daemon *daemon, const char *text, FILE *reply)
{
	struct record_words words;

	read_words(daemon, text, &words);
	if (words.why[0] == '\0' && words.request.for_ps == 0)
		(void)snprintf(words.why, sizeof(words.why), "for how long?");
	if (words.why[0] == '\0' && daemon->record.asked)
		(void)snprintf(words.why, sizeof(words.why),
			       "somebody else records; try again later");
	if (words.why[0] != '\0') {
		(void)fprintf(reply, "error record: %s\n", words.why);
		return;
	}
	daemon->record.request = words.request;
	daemon->record.number = leaf_record(daemon->leaf, &words.request);
	daemon->record.asked = true;
	daemon->record.asked_ns = monotonic_ns();
	lcores_wake_all(daemon->lcores);
	(void)fprintf(reply, "ok waiting\n");
}

/* The state of all workers together, and the span once it is known. @return a word for it */
static const char *look_at_workers(const struct daemon *daemon, struct recording *span)
{
	bool waits = daemon->record.request.trigger != RECORD_NOW, found = false;
	uint64_t now_ps = lcores_now_ps(daemon->lcores);

	for (uint16_t w = 0; w < leaf_worker_count(daemon->leaf); w++) {
		struct record_state state;

		leaf_record_state(daemon->leaf, w, &state);
		if (state.request != daemon->record.number)
			return "waiting";
		if (state.phase == RECORD_ARMED)
			continue;
		if (!waits && state.phase == RECORD_RUNNING)
			return "running";
		/* Of triggers the first; without, from the first worker's begin to the last one's end. */
		if (!found || (waits && time_after(span->trigger_ps, state.trigger_ps))) {
			span->begin_ps = state.begin_ps;
			span->end_ps = state.end_ps;
			span->trigger_ps = state.trigger_ps;
			span->triggered = state.triggered;
			span->trigger_port = state.trigger_port;
			span->trigger_priority = state.trigger_priority;
		} else if (!waits) {
			span->begin_ps = time_min(span->begin_ps, state.begin_ps);
			span->end_ps = time_max(span->end_ps, state.end_ps);
		}
		found = true;
	}
	if (!found)
		return "armed";
	/* A poll's samples are in the ring soon after its time. */
	return time_after(span->end_ps + PS_PER_MS, now_ps) ? "running" : "done";
}

/* Replace the recording that readers see. */
static int keep_recording(struct daemon *daemon, const struct recording *span,
			  const struct record_request *request)
{
	struct recording next = *span;

	if (recording_take(&next, daemon->leaf, request->port, request->priority) != 0) {
		recording_free(&next);
		return -ENOMEM;
	}
	recording_free(&daemon->record.kept);
	daemon->record.kept = next;
	daemon->record.keeps = true;
	return 0;
}

/* Workers that still wait for a trigger shall not. */
static void record_disarm(struct daemon *daemon)
{
	const struct record_request nothing = {
		.every_ps = RECORDER_EVERY_PS, .port = PORT_NONE, .priority = PRIORITY_COUNT};

	if (daemon->record.asked)
		(void)leaf_record(daemon->leaf, &nothing);
	daemon->record.asked = false;
}

static void record_status(struct daemon *daemon, FILE *reply)
{
	struct recording span = {.every_ps = daemon->record.request.every_ps};
	const char *status;

	if (!daemon->record.asked) {
		(void)fprintf(reply, "error record: nothing is recorded now\n");
		return;
	}
	daemon->record.asked_ns = monotonic_ns();
	status = look_at_workers(daemon, &span);
	/* Those that sleep take it up when they wake. */
	if (strcmp(status, "waiting") == 0)
		lcores_wake_all(daemon->lcores);
	if (strcmp(status, "done") == 0) {
		int error = keep_recording(daemon, &span, &daemon->record.request);

		record_disarm(daemon);
		if (error != 0) {
			(void)fprintf(reply, "error record: %s\n", strerror(-error));
			return;
		}
	}
	(void)fprintf(reply, "ok %s\n", status);
}

static void record_last(struct daemon *daemon, const char *text, FILE *reply)
{
	uint64_t now_ps = lcores_now_ps(daemon->lcores);
	struct record_words words;
	struct recording span;

	read_words(daemon, text, &words);
	if (words.why[0] != '\0') {
		(void)fprintf(reply, "error record: %s\n", words.why);
		return;
	}
	span = (struct recording){.begin_ps = now_ps - words.last_ps,
				  .end_ps = now_ps,
				  .trigger_ps = now_ps - words.last_ps};
	if (keep_recording(daemon, &span, &words.request) != 0)
		(void)fprintf(reply, "error record: %s\n", strerror(ENOMEM));
	else
		(void)fprintf(reply, "ok done\n");
}

void record_command(struct daemon *daemon, const char *text, FILE *reply)
{
	if (strncmp(text, "start ", 6) == 0) {
		record_start(daemon, text + 6, reply);
	} else if (strcmp(text, "status") == 0) {
		record_status(daemon, reply);
	} else if (strcmp(text, "stop") == 0) {
		record_disarm(daemon);
		(void)fprintf(reply, "ok stopped\n");
	} else if (strncmp(text, "last=", 5) == 0) {
		record_last(daemon, text, reply);
	} else {
		(void)fprintf(reply, "error record: start, status, stop or last=TIME\n");
	}
}

void record_tick(struct daemon *daemon, uint64_t now_ns)
{
	if (daemon->record.asked && now_ns - daemon->record.asked_ns >= ABANDONED_NS)
		record_disarm(daemon);
}

const struct recording *daemon_recording(const struct daemon *daemon)
{
	return daemon->record.keeps ? &daemon->record.kept : NULL;
}

int daemon_record_last(const struct daemon *daemon, uint64_t last_ps, uint16_t port,
		       uint8_t priority, struct recording *recording)
{
	uint64_t now_ps = lcores_now_ps(daemon->lcores);

	*recording = (struct recording){
		.begin_ps = now_ps - last_ps, .end_ps = now_ps, .trigger_ps = now_ps - last_ps};
	return recording_take(recording, daemon->leaf, port, priority);
}
