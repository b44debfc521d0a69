/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/events.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NS_PER_S  UINT64_C(1000000000)
#define NS_PER_MS UINT64_C(1000000)

struct events {
	pthread_mutex_t lock;
	FILE *log;
	uint64_t sequence; /* of the newest; 0: none yet */
	uint64_t count[EVENT_COUNT];
	struct event kept[EVENTS_KEPT]; /* event of sequence s in slot s % EVENTS_KEPT */
};

static const struct {
	const char *name, *help;
} event_text[EVENT_COUNT] = {
#define EVENT_TEXT_(id, name, help) {name, help},
	EVENT_TYPES(EVENT_TEXT_)
#undef EVENT_TEXT_
};

const char *event_name(enum event_type type)
{
	return (unsigned)type < EVENT_COUNT ? event_text[type].name : "?";
}

const char *event_help(enum event_type type)
{
	return (unsigned)type < EVENT_COUNT ? event_text[type].help : "?";
}

void event_time_text(uint64_t time_ns, char text[25])
{
	time_t seconds = (time_t)(time_ns / NS_PER_S);
	struct tm tm;
	char date[20] = "";

	if (gmtime_r(&seconds, &tm) != NULL)
		(void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm);
	(void)snprintf(text, 25, "%s.%03uZ", date, (unsigned)(time_ns % NS_PER_S / NS_PER_MS));
}

struct events *events_create(FILE *log)
{
	struct events *events = calloc(1, sizeof(*events));

	if (events == NULL)
		return NULL;
	events->log = log;
	(void)pthread_mutex_init(&events->lock, NULL);
	return events;
}

void events_free(struct events *events)
{
	if (events == NULL)
		return;
	(void)pthread_mutex_destroy(&events->lock);
	free(events);
}

void events_add(struct events *events, enum event_type type, uint16_t port, const char *format, ...)
{
	struct event event = {.type = (uint8_t)type, .port = port};
	struct timespec now;
	char time[25];
	va_list arguments;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	event.time_ns = (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
	va_start(arguments, format);
	(void)vsnprintf(event.text, sizeof(event.text), format, arguments);
	va_end(arguments);

	(void)pthread_mutex_lock(&events->lock);
	event.sequence = ++events->sequence;
	events->count[type]++;
	events->kept[event.sequence % EVENTS_KEPT] = event;
	(void)pthread_mutex_unlock(&events->lock);

	if (events->log != NULL) {
		event_time_text(event.time_ns, time);
		(void)fprintf(events->log, "%s %s: %s\n", time, event_name(type), event.text);
		(void)fflush(events->log);
	}
}

uint32_t events_read(struct events *events, uint64_t after, struct event *out, uint32_t max)
{
	uint32_t count = 0;
	uint64_t oldest;

	(void)pthread_mutex_lock(&events->lock);
	oldest = events->sequence > EVENTS_KEPT ? events->sequence - EVENTS_KEPT + 1 : 1;
	for (uint64_t s = after + 1 > oldest ? after + 1 : oldest;
	     s <= events->sequence && count < max; s++)
		out[count++] = events->kept[s % EVENTS_KEPT];
	(void)pthread_mutex_unlock(&events->lock);
	return count;
}

uint64_t events_count(struct events *events, enum event_type type)
{
	uint64_t count = 0;

	if ((unsigned)type >= EVENT_COUNT)
		return 0;
	(void)pthread_mutex_lock(&events->lock);
	count = events->count[type];
	(void)pthread_mutex_unlock(&events->lock);
	return count;
}
