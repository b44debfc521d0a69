/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/daemon.h"
#include "control/http_handler.h"
#include "control/json_text.h"
#include "control/recording.h"

#define LAST_MS_MAX 60000
#define SAMPLES_MAX 100000u

static void write_samples(FILE *out, const struct recording *recording)
{
	uint32_t count = recording->count < SAMPLES_MAX ? recording->count : SAMPLES_MAX;

	for (uint32_t i = 0; i < count; i++) {
		const struct record_sample *sample = &recording->sample[i];

		(void)fprintf(out, "%s[%" PRIu64 ",%u,%u,%" PRIu32 ",%u]", i == 0 ? "\n" : ",\n",
			      (sample->time_ps - recording->begin_ps) / PS_PER_NS, sample->port,
			      sample->priority, sample->depth_bytes, sample->flags);
	}
}

static void write_recording(FILE *out, const struct daemon *daemon,
			    const struct recording *recording, const char *ports)
{
	uint64_t length_ps = recording->end_ps - recording->begin_ps;
	uint64_t age_ps = daemon_now_ps(daemon) - recording->begin_ps;

	(void)fprintf(out,
		      "{\"ports\": [%s],\n\"age_ns\": %" PRIu64 ", \"duration_ns\": %" PRIu64
		      ", \"every_ns\": %" PRIu64 ", \"trigger_ns\": ",
		      ports, age_ps / PS_PER_NS, length_ps / PS_PER_NS,
		      recording->every_ps / PS_PER_NS);
	if (recording->triggered)
		(void)fprintf(out, "%" PRIu64,
			      (recording->trigger_ps - recording->begin_ps) / PS_PER_NS);
	else
		(void)fputs("null", out);
	(void)fprintf(out, ", \"complete\": %s,\n\"samples\": [",
		      recording->complete && recording->count <= SAMPLES_MAX ? "true" : "false");
	write_samples(out, recording);
	(void)fputs("]}\n", out);
}

/* "p1","up1"; under the lock. @return to be freed, or NULL */
static char *port_names(const struct daemon *daemon)
{
	const struct config *config = daemon_config(daemon);
	char *names = NULL;
	size_t size;
	FILE *out = open_memstream(&names, &size);

	if (out == NULL)
		return NULL;
	for (uint16_t i = 0; i < config->port_count; i++) {
		(void)fputs(i == 0 ? "" : ",", out);
		json_write_text(out, config->ports[i].name);
	}
	(void)fputs(config->port_count == 0 ? "\"cpu\"" : ",\"cpu\"", out);
	if (fclose(out) == 0)
		return names;
	free(names);
	return NULL;
}

/* A copy of what there is, so that the lock needn't be held while it is written. */
static int copy_recording(const struct daemon *daemon, struct recording *out)
{
	const struct recording *kept = daemon_recording(daemon);

	if (kept == NULL)
		return -ENOENT;
	*out = *kept;
	out->room = out->count;
	out->sample = malloc((out->count + 1) * sizeof(*out->sample));
	if (out->sample == NULL)
		return -ENOMEM;
	if (out->count != 0)
		memcpy(out->sample, kept->sample, out->count * sizeof(*out->sample));
	return 0;
}

static uint16_t find_port(const struct daemon *daemon, const char *name)
{
	const struct config *config = daemon_config(daemon);

	for (uint16_t i = 0; i < config->port_count; i++)
		if (strcmp(config->ports[i].name, name) == 0)
			return i;
	return PORT_NONE;
}

void http_record(const struct http_request *request, struct http_answer *answer)
{
	const char *name = http_argument(request, "port");
	struct recording recording = {0};
	uint16_t port = PORT_NONE;
	uint64_t last_ms, priority;
	char *names;
	int ret;

	if (http_number(request, "last_ms", 0, LAST_MS_MAX, &last_ms) != 0 ||
	    http_number(request, "priority", PRIORITY_COUNT, PRIORITY_COUNT - 1, &priority) != 0) {
		http_say(answer, 400, "last_ms must be from 0 to 60000, priority from 0 to 7.\n");
		return;
	}
	daemon_lock(request->daemon);
	if (name != NULL)
		port = find_port(request->daemon, name);
	names = port_names(request->daemon);
	if (name != NULL && port == PORT_NONE)
		ret = -EINVAL;
	else if (last_ms != 0)
		ret = daemon_record_last(request->daemon, last_ms * PS_PER_MS, port,
					 (uint8_t)priority, &recording);
	else
		ret = copy_recording(request->daemon, &recording);
	daemon_unlock(request->daemon);
	if (ret == 0 && names != NULL) {
		FILE *out = open_memstream(&answer->text, &answer->size);

		if (out != NULL) {
			write_recording(out, request->daemon, &recording, names);
			answer->type = HTTP_TYPE_JSON;
			answer->status = ferror(out) != 0 ? 0 : 200;
			if (fclose(out) != 0)
				answer->status = 0;
			if (answer->status == 0)
				free(answer->text);
		}
	} else if (ret == -ENOENT) {
		http_say(answer, 404,
			 "Nothing was recorded: 'roceleafctl record', or ?last_ms=N.\n");
	} else if (ret == -EINVAL) {
		http_say(answer, 404, "There is no such port.\n");
	}
	recording_free(&recording);
	free(names);
}
