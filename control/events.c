/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/events.h"

#include <inttypes.h>
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
	struct event_type_state {
		struct event_limit limit;
		uint64_t count, suppressed;
		uint64_t suppressed_told; /* up to its last event */
	} type[EVENT_COUNT];
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

bool event_limit_take(struct event_limit *limit, uint64_t now_ns, uint32_t burst,
		      uint64_t period_ns)
{
	uint64_t full_ns = limit->full_ns > now_ns ? limit->full_ns : now_ns;

	/* As many periods as tokens are missing. */
	if (full_ns - now_ns > (burst - 1) * period_ns)
		return false;
	limit->full_ns = full_ns + period_ns;
	return true;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	(void)clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Number it and keep it, unless there were too many. */
static bool keep_event(struct events *events, struct event *event, uint64_t now_ns)
{
	struct event_type_state *type = &events->type[event->about.type];
	bool is_mark = event->about.type == EVENT_MARK, taken;

	(void)pthread_mutex_lock(&events->lock);
	taken = event_limit_take(&type->limit, now_ns, is_mark ? EVENTS_MARK_BURST : EVENTS_BURST,
				 is_mark ? EVENTS_MARK_PERIOD_NS : EVENTS_PERIOD_NS);
	if (taken) {
		event->sequence = ++events->sequence;
		event->suppressed = type->suppressed - type->suppressed_told;
		type->suppressed_told = type->suppressed;
		type->count++;
		events->kept[event->sequence % EVENTS_KEPT] = *event;
	} else {
		type->suppressed++;
	}
	(void)pthread_mutex_unlock(&events->lock);
	return taken;
}

static void log_event(FILE *log, const struct event *event)
{
	char time[25], more[48] = "";

	event_time_text(event->time_ns, time);
	if (event->suppressed != 0)
		(void)snprintf(more, sizeof(more), " (and %" PRIu64 " before it)",
			       event->suppressed);
	(void)fprintf(log, "%s %s: %s%s\n", time, event_name((enum event_type)event->about.type),
		      event->text, more);
	(void)fflush(log);
}

__attribute__((format(printf, 4, 0))) static bool note(struct events *events,
						       const struct event_about *about,
						       uint64_t now_ns, const char *format,
						       va_list arguments)
{
	struct event event = {.about = *about, .time_ns = clock_ns(CLOCK_REALTIME)};

	(void)vsnprintf(event.text, sizeof(event.text), format, arguments);
	if (!keep_event(events, &event, now_ns))
		return false;
	if (events->log != NULL)
		log_event(events->log, &event);
	return true;
}

bool events_tell(struct events *events, const struct event_about *about, uint64_t now_ns,
		 const char *format, ...)
{
	va_list arguments;
	bool kept;

	va_start(arguments, format);
	kept = note(events, about, now_ns, format, arguments);
	va_end(arguments);
	return kept;
}

bool events_add(struct events *events, enum event_type type, uint16_t port, const char *format, ...)
{
	struct event_about about = {
		.type = (uint8_t)type, .priority = EVENT_PRIORITY_NONE, .port = port};
	va_list arguments;
	bool kept;

	va_start(arguments, format);
	kept = note(events, &about, clock_ns(CLOCK_MONOTONIC), format, arguments);
	va_end(arguments);
	return kept;
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

uint64_t events_newest(struct events *events)
{
	uint64_t sequence;

	(void)pthread_mutex_lock(&events->lock);
	sequence = events->sequence;
	(void)pthread_mutex_unlock(&events->lock);
	return sequence;
}

static struct event_type_state type_state(struct events *events, enum event_type type)
{
	struct event_type_state state = {.count = 0};

	if ((unsigned)type >= EVENT_COUNT)
		return state;
	(void)pthread_mutex_lock(&events->lock);
	state = events->type[type];
	(void)pthread_mutex_unlock(&events->lock);
	return state;
}

uint64_t events_count(struct events *events, enum event_type type)
{
	return type_state(events, type).count;
}

uint64_t events_suppressed(struct events *events, enum event_type type)
{
	return type_state(events, type).suppressed;
}
