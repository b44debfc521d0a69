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
	cr_assert_eq(out[1].port, 7);
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

Test(events, lose_the_oldest_when_there_are_too_many)
{
	struct events *events = events_create(NULL);

	for (unsigned i = 1; i <= EVENTS_KEPT + 5; i++)
		events_add(events, EVENT_MARK, EVENT_PORT_NONE, "%u", i);
	cr_assert_eq(events_read(events, 0, out, EVENTS_KEPT + 10), EVENTS_KEPT);
	cr_assert_eq(out[0].sequence, 6);
	cr_assert_str_eq(out[0].text, "6");
	cr_assert_eq(out[EVENTS_KEPT - 1].sequence, EVENTS_KEPT + 5);
	cr_assert_eq(events_count(events, EVENT_MARK), EVENTS_KEPT + 5);
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

	events_add(events, EVENT_RELOAD, EVENT_PORT_NONE, "done");
	(void)fclose(log);
	cr_assert_not_null(strstr(text, "Z reload: done\n"), "%s", text);
	free(text);
	events_free(events);
}
