/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/events.h"

static struct event out[EVENTS_KEPT + 10];

Test(events, are_read_in_order_from_where_the_reader_was)
{
	struct events *events = events_create(NULL);

	events_add(events, EVENT_START, EVENT_PORT_NONE, "one");
	events_add(events, EVENT_LINK_DOWN, 7, "port %s", "h1");
	cr_assert_eq(events_read(events, 0, out, 10), 2);
	cr_assert_str_eq(out[0].text, "one");
	cr_assert_eq(out[0].sequence, 1);
	cr_assert_eq(out[1].about.port, 7);
	cr_assert_str_eq(out[1].text, "port h1");
	cr_assert_geq(out[1].time_ns, out[0].time_ns);
	cr_assert_eq(events_read(events, 1, out, 10), 1);
	cr_assert_eq(out[0].sequence, 2);
	cr_assert_eq(events_read(events, 2, out, 10), 0);
	cr_assert_eq(events_read(events, 99, out, 10), 0);
	cr_assert_eq(events_read(events, 0, out, 1), 1);
	cr_assert_eq(events_count(events, EVENT_LINK_DOWN), 1);
	events_free(events);
}

static struct event_about about(enum event_type type)
{
	return (struct event_about){
		.type = (uint8_t)type, .priority = EVENT_PRIORITY_NONE, .port = EVENT_PORT_NONE};
}

Test(events, lose_the_oldest_when_there_are_too_many)
{
	struct events *events = events_create(NULL);
	const struct event_about link = about(EVENT_LINK_UP);

	for (unsigned i = 1; i <= EVENTS_KEPT + 5; i++)
		cr_assert(events_tell(events, &link, i * EVENTS_PERIOD_NS, "%u", i));
	cr_assert_eq(events_read(events, 0, out, EVENTS_KEPT + 10), EVENTS_KEPT);
	cr_assert_eq(out[0].sequence, 6);
	cr_assert_str_eq(out[0].text, "6");
	cr_assert_eq(out[EVENTS_KEPT - 1].sequence, EVENTS_KEPT + 5);
	cr_assert_eq(events_newest(events), EVENTS_KEPT + 5);
	cr_assert_eq(events_count(events, EVENT_LINK_UP), EVENTS_KEPT + 5);
	cr_assert_eq(events_suppressed(events, EVENT_LINK_UP), 0);
	events_free(events);
}

/* 3 tokens, one more every 10 ns: at 0 ns three go; then one at 10 ns, not at 9. */
Test(events, limit_gives_a_burst_and_then_one_in_each_period)
{
	struct event_limit limit = {0};
	uint64_t at_ns = 1000;

	for (int i = 0; i < 3; i++)
		cr_assert(event_limit_take(&limit, at_ns, 3, 10), "token %d", i);
	cr_assert_not(event_limit_take(&limit, at_ns, 3, 10));
	cr_assert_not(event_limit_take(&limit, at_ns + 9, 3, 10));
	cr_assert(event_limit_take(&limit, at_ns + 10, 3, 10));
	cr_assert_not(event_limit_take(&limit, at_ns + 10, 3, 10));
	/* Empty at 1010; two periods later there are two, however long they are asked for in vain. */
	cr_assert(event_limit_take(&limit, at_ns + 30, 3, 10));
	cr_assert(event_limit_take(&limit, at_ns + 30, 3, 10));
	cr_assert_not(event_limit_take(&limit, at_ns + 39, 3, 10));
	/* Never more than three, after whatever time. */
	at_ns += 1000000;
	for (int i = 0; i < 3; i++)
		cr_assert(event_limit_take(&limit, at_ns, 3, 10), "token %d after a rest", i);
	cr_assert_not(event_limit_take(&limit, at_ns, 3, 10));
}

Test(events, of_one_type_that_come_too_fast_are_counted_and_crowd_out_no_other)
{
	struct events *events = events_create(NULL);
	const struct event_about flap = about(EVENT_LINK_DOWN), stall = about(EVENT_STALL);
	uint64_t at_ns = 7 * EVENTS_PERIOD_NS;

	for (unsigned i = 0; i < EVENTS_BURST + 100; i++)
		cr_assert_eq(events_tell(events, &flap, at_ns, "flap %u", i), i < EVENTS_BURST,
			     "event %u", i);
	cr_assert(events_tell(events, &stall, at_ns, "stall"));
	cr_assert_eq(events_count(events, EVENT_LINK_DOWN), EVENTS_BURST);
	cr_assert_eq(events_suppressed(events, EVENT_LINK_DOWN), 100);
	cr_assert_eq(events_suppressed(events, EVENT_STALL), 0);
	cr_assert_not(events_tell(events, &flap, at_ns + EVENTS_PERIOD_NS - 1, "too soon"));
	cr_assert(events_tell(events, &flap, at_ns + EVENTS_PERIOD_NS, "again"));
	cr_assert_eq(events_read(events, EVENTS_BURST, out, 10), 2);
	cr_assert_str_eq(out[0].text, "stall");
	cr_assert_eq(out[0].suppressed, 0);
	cr_assert_str_eq(out[1].text, "again");
	cr_assert_eq(out[1].suppressed, 101, "the next that is told says how many weren't");
	cr_assert_eq(out[1].sequence, EVENTS_BURST + 2, "what was left out has no number");
	events_free(events);
}

/* A step of a job may take some milliseconds, and has two marks. */
Test(events, are_marks_at_a_higher_rate)
{
	struct events *events = events_create(NULL);
	const struct event_about mark = about(EVENT_MARK);

	for (unsigned i = 0; i < EVENTS_MARK_BURST; i++)
		cr_assert(events_tell(events, &mark, EVENTS_PERIOD_NS, "step"));
	cr_assert_not(events_tell(events, &mark, EVENTS_PERIOD_NS, "step"));
	cr_assert(events_tell(events, &mark, EVENTS_PERIOD_NS + EVENTS_MARK_PERIOD_NS, "step"));
	events_free(events);
}

Test(events, keep_what_they_are_about)
{
	struct events *events = events_create(NULL);
	const struct event_about end = {.type = EVENT_PAUSE_STORM_END,
					.priority = 3,
					.port = 2,
					.packets = 26,
					.bytes = 2700,
					.duration_ns = 5};

	cr_assert(events_tell(events, &end, 1, "over"));
	cr_assert(events_add(events, EVENT_STOP, EVENT_PORT_NONE, "stops"));
	cr_assert_eq(events_read(events, 0, out, 2), 2);
	cr_assert_eq(memcmp(&out[0].about, &end, sizeof(end)), 0);
	cr_assert_eq(out[1].about.type, EVENT_STOP);
	cr_assert_eq(out[1].about.priority, EVENT_PRIORITY_NONE);
	events_free(events);
}

Test(events, cut_what_is_too_long)
{
	struct events *events = events_create(NULL);
	char text[EVENTS_TEXT_BYTES + 100];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	events_add(events, EVENT_MARK, EVENT_PORT_NONE, "%s", text);
	cr_assert_eq(events_read(events, 0, out, 1), 1);
	cr_assert_eq(strlen(out[0].text), EVENTS_TEXT_BYTES - 1);
	events_free(events);
}

/* 2026-01-31 12:34:56 UTC is 1769862896 (date -u -d ... +%s). */
Test(events, print_times_to_the_millisecond)
{
	char text[25];

	event_time_text(UINT64_C(1769862896) * 1000000000 + 789999999, text);
	cr_assert_str_eq(text, "2026-01-31T12:34:56.789Z");
	event_time_text(0, text);
	cr_assert_str_eq(text, "1970-01-01T00:00:00.000Z");
}

Test(events, are_lines_of_the_log)
{
	char *text = NULL;
	size_t size = 0;
	FILE *log = open_memstream(&text, &size);
	struct events *events = events_create(log);
	const struct event_about up = about(EVENT_LINK_UP);

	events_add(events, EVENT_RELOAD, EVENT_PORT_NONE, "done");
	for (unsigned i = 0; i < EVENTS_BURST + 2; i++)
		(void)events_tell(events, &up, EVENTS_PERIOD_NS, "up %u", i);
	(void)events_tell(events, &up, 2 * EVENTS_PERIOD_NS, "last");
	(void)fclose(log);
	cr_assert_not_null(strstr(text, "Z reload: done\n"), "%s", text);
	cr_assert_not_null(strstr(text, "Z link_up: last (and 2 before it)\n"), "%s", text);
	cr_assert_null(strstr(text, "up 32"), "what is left out isn't printed: %s", text);
	free(text);
	events_free(events);
}
