/* SPDX-License-Identifier: BSD-3-Clause */
/* Events made of counters: each fault is told once, with what it cost. */
#include <criterion/criterion.h>
#include <string.h>

#include "control/faults.h"

#define PORTS 3

static struct event out[EVENTS_KEPT];
static struct events *events;
static struct faults *faults;
static uint64_t now_ns, last;
static struct config_watchdog watchdog;

static void start(void)
{
	events = events_create(NULL);
	faults = faults_create(PORTS, events);
	now_ns = 5 * FAULTS_TELL_NS;
	last = 0;
	watchdog = (struct config_watchdog){.detect_ps = 200 * PS_PER_MS,
					    .action = CONFIG_WATCHDOG_DROP};
}

static void stop(void)
{
	faults_free(faults);
	events_free(events);
}

TestSuite(faults, .init = start, .fini = stop);

/* Look at priority 3 of port 1, a while after the last time. @return how many events are new */
static uint32_t look(const struct fault_counters *now)
{
	const struct fault_place place = {1, 3, "h1", "roce"};
	uint32_t count;

	now_ns += FAULTS_LOOK_NS;
	faults_look(faults, &place, now, &watchdog, now_ns);
	count = events_read(events, last, out, EVENTS_KEPT);
	last += count;
	return count;
}

/* Event i of those that are new. */
static void expect(uint32_t i, enum event_type type, const char *words)
{
	cr_expect_eq(out[i].about.type, type, "%s", event_name(out[i].about.type));
	cr_expect_eq(out[i].about.port, 1);
	cr_expect_not_null(strstr(out[i].text, "port h1, priority 3 (roce): "), "%s", out[i].text);
	cr_expect_not_null(strstr(out[i].text, words), "%s", out[i].text);
}

Test(faults, nothing_is_told_of_what_does_not_change)
{
	struct fault_counters now = {0};

	for (int i = 0; i < 200; i++)
		cr_assert_eq(look(&now), 0);
}

Test(faults, a_storm_is_told_when_it_begins_and_when_it_ends_with_its_drops)
{
	struct fault_counters now = {.storms = 1, .watchdog_packets = 10, .watchdog_bytes = 1000};

	cr_assert_eq(look(&now), 1);
	expect(0, EVENT_PAUSE_STORM, "held the queue for 200 ms");
	expect(0, EVENT_PAUSE_STORM, "what comes for it is dropped");
	now.watchdog_packets = 25;
	now.watchdog_bytes = 2600;
	cr_assert_eq(look(&now), 0, "it goes on");
	now.watchdog_packets = 26;
	now.watchdog_bytes = 2700;
	now.restored = 1;
	cr_assert_eq(look(&now), 1);
	expect(0, EVENT_PAUSE_STORM_END,
	       "the pause storm is over; dropped: 26 packets, 2700 bytes");
	cr_expect_eq(out[0].about.priority, 3);
	cr_expect_eq(out[0].about.packets, 26);
	cr_expect_eq(out[0].about.bytes, 2700);
	cr_assert_eq(look(&now), 0);
	/* The next one counts from there. */
	now.storms = 2;
	now.watchdog_packets = 30;
	now.watchdog_bytes = 3000;
	cr_assert_eq(look(&now), 1);
	now.restored = 2;
	cr_assert_eq(look(&now), 1);
	expect(0, EVENT_PAUSE_STORM_END, "dropped: 4 packets, 300 bytes");
}

Test(faults, storms_between_two_looks_are_told_too)
{
	struct fault_counters now = {.storms = 1, .restored = 1, .watchdog_packets = 7};

	cr_assert_eq(look(&now), 2);
	expect(0, EVENT_PAUSE_STORM, "");
	expect(1, EVENT_PAUSE_STORM_END, "dropped: 7 packets");
	now.storms = 4;
	now.restored = 3;
	now.watchdog_packets = 17;
	cr_assert_eq(look(&now), 3);
	expect(0, EVENT_PAUSE_STORM, "");
	expect(1, EVENT_PAUSE_STORM_END, "2 pause storms are over; dropped: 10 packets");
	expect(2, EVENT_PAUSE_STORM, "");
	now.storms = 5;
	now.restored = 4;
	cr_assert_eq(look(&now), 2, "one has ended, another begun");
	expect(0, EVENT_PAUSE_STORM_END, "");
	expect(1, EVENT_PAUSE_STORM, "");
}

Test(faults, a_storm_says_what_is_done_about_it)
{
	static const struct {
		enum config_watchdog_action action;
		const char *words;
	} rows[] = {
		{CONFIG_WATCHDOG_ALERT, "nothing is done"},
		{CONFIG_WATCHDOG_DROP, "is dropped"},
		{CONFIG_WATCHDOG_FORWARD, "its pauses are ignored"},
	};
	struct fault_counters now = {0};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		watchdog.action = rows[i].action;
		now.storms++;
		cr_assert_eq(look(&now), 1);
		expect(0, EVENT_PAUSE_STORM, rows[i].words);
		now.restored++;
		cr_assert_eq(look(&now), 1);
	}
}

Test(faults, lossless_losses_name_port_priority_reason_and_count_and_are_not_told_too_often)
{
	struct fault_counters now = {.headroom_packets = 3, .headroom_bytes = 4000};
	uint32_t told = 0;

	cr_assert_eq(look(&now), 1);
	expect(0, EVENT_LOSSLESS_LOSS, "reason headroom: 3 packets, 4000 bytes");
	/* One more at each look, for 30 s. */
	for (uint64_t i = 0; i < 300; i++) {
		now.headroom_packets++;
		now.headroom_bytes += 100;
		told += look(&now);
	}
	cr_assert_eq(told, 3, "%u", told);
	expect(0, EVENT_LOSSLESS_LOSS, "reason headroom: 100 packets, 10000 bytes");
	cr_assert_eq(look(&now), 0);
}

Test(faults, ports_and_priorities_are_apart)
{
	const struct fault_counters now = {.storms = 1, .headroom_packets = 1};

	for (uint16_t port = 0; port < PORTS; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct fault_place place = {port, p, "x", NULL};

			faults_look(faults, &place, &now, &watchdog, now_ns);
		}
	cr_assert_eq(events_count(events, EVENT_PAUSE_STORM), PORTS * PRIORITY_COUNT);
	cr_assert_eq(events_count(events, EVENT_LOSSLESS_LOSS), PORTS * PRIORITY_COUNT);
}

static uint32_t look_wire(uint64_t stalls, bool stalled)
{
	const struct fault_wire now = {stalls, stalled};
	uint32_t count;

	faults_look_wire(faults, 1, "up1", &now);
	count = events_read(events, last, out, EVENTS_KEPT);
	last += count;
	return count;
}

Test(faults, a_device_that_takes_nothing_is_told_of_once_and_when_it_goes_on)
{
	cr_expect_eq(look_wire(0, false), 0);
	cr_expect_eq(look_wire(1, true), 1);
	cr_expect_eq(out[0].about.type, EVENT_WIRE_STALL);
	cr_expect_eq(out[0].about.port, 1);
	cr_expect_not_null(strstr(out[0].text, "port up1"));
	cr_expect_eq(look_wire(1, true), 0);
	cr_expect_eq(look_wire(1, false), 1);
	cr_expect_eq(out[0].about.type, EVENT_WIRE_STALL_END);
	cr_expect_eq(look_wire(1, false), 0);
	/* One that is over already. */
	cr_expect_eq(look_wire(2, false), 2);
	cr_expect_eq(out[0].about.type, EVENT_WIRE_STALL);
	cr_expect_eq(out[1].about.type, EVENT_WIRE_STALL_END);
}

static uint32_t look_guard(const struct fault_guard *now)
{
	uint32_t count;

	now_ns += FAULTS_LOOK_NS;
	faults_look_guard(faults, now, now_ns);
	count = events_read(events, last, out, EVENTS_KEPT);
	last += count;
	return count;
}

Test(faults, the_guard_is_told_when_it_acts_and_when_it_has_rested_for_a_second)
{
	struct fault_guard now = {
		.guarded = true, .guards = 1, .packets_max = 4519, .guard_packets = 1888};

	cr_assert_eq(look_guard(&now), 1);
	cr_expect_eq(out[0].about.type, EVENT_GUARD_ON);
	cr_expect_not_null(strstr(out[0].text, "as few as 1888 of 4519 packet buffers"));
	now.packets = 12;
	cr_assert_eq(look_guard(&now), 0);
	/* It turns on and off between looks for five seconds, then rests. */
	now.guarded = false;
	for (int i = 0; i < 50; i++) {
		now.guards++;
		now.packets++;
		cr_assert_eq(look_guard(&now), 0);
	}
	for (uint64_t i = 1; i < FAULTS_CALM_NS / FAULTS_LOOK_NS; i++)
		cr_assert_eq(look_guard(&now), 0);
	cr_assert_eq(look_guard(&now), 1);
	cr_expect_eq(out[0].about.type, EVENT_GUARD_OFF);
	cr_expect_not_null(strstr(out[0].text, "has dropped 62 lossy packets"), "%s", out[0].text);
	/* On and off again between two looks. */
	now.guards++;
	now.packets += 5;
	cr_assert_eq(look_guard(&now), 1);
	now_ns += FAULTS_CALM_NS;
	cr_assert_eq(look_guard(&now), 1);
	cr_expect_not_null(strstr(out[0].text, "has dropped 5 lossy packets"), "%s", out[0].text);
}

/* One look. @return how many events are new */
static uint32_t look_device(uint64_t pauses, uint64_t frames)
{
	uint32_t count;

	faults_look_device(faults, 2, "up1", pauses, frames);
	count = events_read(events, last, out, EVENTS_KEPT);
	last += count;
	return count;
}

Test(faults, a_device_that_keeps_pauses_is_told_once_until_frames_come)
{
	cr_assert_eq(look_device(0, 0), 0);
	cr_assert_eq(look_device(10, 0), 0, "the frames may be on their way");
	cr_assert_eq(look_device(10, 0), 0, "none since");
	cr_assert_eq(look_device(30, 0), 1);
	cr_expect_eq(out[0].about.type, EVENT_PAUSES_KEPT);
	cr_expect_eq(out[0].about.port, 2);
	cr_expect_not_null(strstr(out[0].text, "port up1: its device has counted 30 pauses"), "%s",
			   out[0].text);
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(look_device(30 + i, 0), 0, "told already");
	/* Somebody has set it up better, and then worse again. */
	cr_assert_eq(look_device(200, 1), 0);
	cr_assert_eq(look_device(201, 1), 0);
	cr_assert_eq(look_device(202, 1), 1);
	cr_expect_not_null(strstr(out[0].text, "has counted 2 pauses"), "%s", out[0].text);
}

Test(faults, a_device_whose_pauses_arrive_is_fine)
{
	/* Counted by the device a look earlier than by the worker, at times. */
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(look_device(10 * i, 10 * i - i % 2), 0);
	for (uint64_t i = 1; i < 100; i++)
		cr_assert_eq(look_device(990, 990 + i), 0, "a device that counts nothing");
}

static uint64_t stall_limit_ps = 2 * PS_PER_MS;

static uint32_t look_stalls(uint64_t stalls, uint64_t stall_ps, uint64_t after_ns)
{
	const struct fault_stalls now = {stalls, stall_ps, stall_limit_ps};
	uint32_t count;

	now_ns += after_ns;
	faults_look_stalls(faults, 1, &now, now_ns);
	count = events_read(events, last, out, EVENTS_KEPT);
	last += count;
	return count;
}

Test(faults, a_stall_is_told_with_its_length_and_more_of_them_together)
{
	cr_assert_eq(look_stalls(0, 0, 0), 0);
	cr_assert_eq(look_stalls(1, 5 * PS_PER_MS, FAULTS_LOOK_NS), 1);
	cr_expect_eq(out[0].about.type, EVENT_STALL);
	cr_expect_not_null(strstr(out[0].text, "worker 1 stood still for 5 ms"), "%s", out[0].text);
	cr_expect_not_null(strstr(out[0].text, "last 2 ms"), "%s", out[0].text);
	for (uint64_t i = 2; i < 10; i++)
		cr_assert_eq(look_stalls(i, (3 + 2 * i) * PS_PER_MS, FAULTS_LOOK_NS), 0,
			     "not each of them");
	cr_assert_eq(look_stalls(9, 21 * PS_PER_MS, FAULTS_TELL_NS), 1);
	cr_expect_not_null(strstr(out[0].text, "stood still 8 times, together for 16 ms"), "%s",
			   out[0].text);
	cr_assert_eq(look_stalls(9, 21 * PS_PER_MS, FAULTS_TELL_NS), 0);
}

/* All links may go down, or another port come up, between a stall and the look that finds it. */
Test(faults, a_stall_is_told_with_the_limit_that_it_was_longer_than)
{
	cr_assert_eq(look_stalls(0, 0, 0), 0);
	stall_limit_ps = UINT64_MAX;
	cr_assert_eq(look_stalls(1, 5 * PS_PER_MS, FAULTS_LOOK_NS), 1);
	cr_expect_not_null(strstr(out[0].text, "last 2 ms"), "%s", out[0].text);
	cr_assert_eq(look_stalls(1, 5 * PS_PER_MS, FAULTS_TELL_NS), 0);
	stall_limit_ps = 3 * PS_PER_MS;
	cr_assert_eq(look_stalls(1, 5 * PS_PER_MS, FAULTS_LOOK_NS), 0);
	stall_limit_ps = 4 * PS_PER_MS;
	cr_assert_eq(look_stalls(2, 10 * PS_PER_MS, FAULTS_LOOK_NS), 1);
	cr_expect_not_null(strstr(out[0].text, "last 3 ms"), "%s", out[0].text);
}

/* --- long pauses --- */

#define BOUND_PS (10 * PS_PER_MS)

static uint32_t look_pauses(const struct fault_pauses *by_peer)
{
	const struct fault_place place = {1, 3, "h1", "roce"};
	const struct fault_pauses now[FAULT_WAYS] = {[FAULT_BY_PEER] = *by_peer};
	uint32_t count;

	now_ns += FAULTS_LOOK_NS;
	faults_look_pauses(faults, &place, now, BOUND_PS, now_ns);
	count = events_read(events, last, out, EVENTS_KEPT);
	last += count;
	return count;
}

Test(faults, a_pause_is_told_when_it_lasts_longer_than_the_bound)
{
	struct fault_pauses now = {1, BOUND_PS, BOUND_PS};

	cr_assert_eq(look_pauses(&now), 0, "as long as the bound");
	now.paused_ps = now.lasts_ps = BOUND_PS + PS_PER_NS;
	cr_assert_eq(look_pauses(&now), 1, "longer than it");
	expect(0, EVENT_PAUSE_LONG, "its peer has paused the queue for 10 ms so far");
	cr_assert_eq(out[0].about.priority, 3);
	cr_assert_eq(out[0].about.duration_ns, BOUND_PS / PS_PER_NS + 1);
	now.paused_ps = now.lasts_ps = 4 * BOUND_PS;
	cr_assert_eq(look_pauses(&now), 0, "once in a while is enough");
	now_ns += FAULTS_TELL_NS;
	now.paused_ps = now.lasts_ps = 5 * BOUND_PS;
	cr_assert_eq(look_pauses(&now), 1, "it still lasts");
	expect(0, EVENT_PAUSE_LONG, "for 50 ms so far");
}

Test(faults, a_pause_that_began_and_ended_between_two_looks_is_told)
{
	struct fault_pauses now = {1, BOUND_PS + PS_PER_MS, 0};

	cr_assert_eq(look_pauses(&now), 1);
	expect(0, EVENT_PAUSE_LONG, "for 11 ms, longer than");
}

Test(faults, many_short_pauses_are_not_a_long_one)
{
	/* 50 of 1 ms, and one of 9 ms that lasts: none is longer than 10 ms, together they are. */
	struct fault_pauses now = {51, 59 * PS_PER_MS, 9 * PS_PER_MS};

	cr_assert_eq(look_pauses(&now), 0);
	/* That one ends after 12 ms: its whole time counts, though a part of it was seen before. */
	now.paused_ps = 62 * PS_PER_MS;
	now.lasts_ps = 0;
	cr_assert_eq(look_pauses(&now), 1);
	expect(0, EVENT_PAUSE_LONG, "for 12 ms, longer than");
	cr_assert_eq(look_pauses(&now), 0);
}

Test(faults, our_own_pauses_and_the_peers_are_told_apart)
{
	const struct fault_place place = {1, 3, "h1", "roce"};
	const struct fault_pauses now[FAULT_WAYS] = {[FAULT_TO_PEER] = {1, 20 * PS_PER_MS, 0}};

	faults_look_pauses(faults, &place, now, BOUND_PS, now_ns);
	cr_assert_eq(events_read(events, 0, out, EVENTS_KEPT), 1);
	expect(0, EVENT_PAUSE_LONG, "the leaf has paused its peer for 20 ms");
}
