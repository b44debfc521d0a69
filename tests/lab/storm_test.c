/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pause storms and the watchdog, on exact wires. Identifiers such as WD-DROP name the case of a
 * switch tester's catalogue that a test covers.
 *
 * Ports run at 1G, where 200 ms are few frames. A pause lasts 33.6 ms there; storms repeat it at
 * half of that.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/stand.h"

TestSuite(storm, .init = harness_start);

#define MS PS_PER_MS

enum { ET1, ET2, ET3, ET4 };

#define DETECT_PS  (100 * MS)
#define RESTORE_PS (100 * MS)
#define POLL_PS    (100 * MS)

#define CLASSES                                                                              \
	"classes:\n"                                                                         \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 40, ecn: off}\n"  \
	"  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 40, ecn: off}\n" \
	"  - {priority: 0, name: best-effort, weight: 20}\n"

#define WATCHDOG(action_) \
	CLASSES "watchdog: {detect: 100ms, restore: 100ms, poll: 100ms, action: " action_ "}\n"

#define LOSSLESS 0x18u

static struct stand *open_ports(uint16_t ports, const char *rest)
{
	return stand_create(&(struct stand_params){
		.ports = ports, .speed = {"1G"}, .rest = rest, .packets = 4000});
}

/* @param mbps 0: line rate */
static uint64_t storms(const struct stand *stand, uint16_t port, uint8_t priority)
{
	return stand_pfc(stand, port, priority).storms;
}

/* Wire bits a second, in millionths of 1G, that a stream delivers from now on. */
static uint64_t rate_ppm(struct stand *stand, const struct stream *stream, uint64_t time_ps)
{
	uint64_t bytes = stream->received_bytes, frames = stream->received_frames;

	stand_run_for(stand, time_ps);
	bytes = stream->received_bytes - bytes +
		WIRE_OVERHEAD_BYTES * (stream->received_frames - frames);
	return bytes * 8 * 1000 / (time_ps / PS_PER_US); /* bits per us, times 1000 */
}

/* A storm that has been seen, or not, and then is over; all queues get empty. */
static void finish(struct stand *stand)
{
	stand_stop_all(stand);
	stand_run_for(stand, RESTORE_PS + 2 * POLL_PS + 50 * MS);
	stand_check_quiet(stand);
	stand_free(stand);
}

/* --- how long it takes --- */

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#define ITERATIONS 20

static void check_times(const char *what, uint64_t *times_ps, uint64_t nominal_ps, uint64_t step_ps)
{
	qsort(times_ps, ITERATIONS, sizeof(*times_ps), compare);
	cr_expect_geq(times_ps[0], nominal_ps, "%s: %" PRIu64 " us", what, times_ps[0] / PS_PER_US);
	cr_expect_leq(times_ps[ITERATIONS - 1], nominal_ps + POLL_PS + step_ps,
		      "%s: %" PRIu64 " us", what, times_ps[ITERATIONS - 1] / PS_PER_US);
	cr_expect_gt(times_ps[ITERATIONS / 2], nominal_ps);
	cr_expect_lt(times_ps[ITERATIONS / 2], nominal_ps + POLL_PS);
	/* Storms begin at any time between two looks, so that times differ. */
	cr_expect_gt(times_ps[ITERATIONS - 1] - times_ps[0], POLL_PS / 2);
}

static uint64_t run_until_counted(struct stand *stand, bool restored, uint64_t before,
				  uint64_t step_ps)
{
	uint64_t since_ps = stand_now_ps(stand);

	for (;;) {
		struct pfc_totals totals = stand_pfc(stand, ET2, 3);

		if ((restored ? totals.restored : totals.storms) != before)
			return stand_now_ps(stand) - since_ps;
		cr_assert_lt(stand_now_ps(stand) - since_ps, 2000 * MS, "nothing happened");
		stand_run_for(stand, step_ps);
	}
}

Test(storm, WD_DETECT_TIME_and_WD_RESTORE_TIME_lie_within_one_poll_of_what_is_set)
{
	const uint64_t step_ps = MS / 4;
	struct stand *stand = open_ports(
		3,
		CLASSES "watchdog: {detect: 150ms, restore: 120ms, poll: 100ms, action: drop}\n");
	uint64_t detect_ps[ITERATIONS], restore_ps[ITERATIONS];
	struct random random = {.state = 1};

	/* More than it takes, so that the queue has packets when its pauses begin. */
	stand_flow(stand, ET1, ET2, 3, 600);
	stand_flow(stand, ET1, ET2, 0, 100);
	stand_flow(stand, ET3, ET2, 3, 600);
	/* A third port that is always paused keeps the looks at a pace of their own. */
	stand_storm(stand, ET3, 1u << 4, UINT64_C(100000) * MS, false);
	for (uint32_t i = 0; i < ITERATIONS; i++) {
		struct pfc_totals before = stand_pfc(stand, ET2, 3);

		stand_run_for(stand, 20 * MS + random_below(&random, 100) * MS);
		stand_storm(stand, ET2, 1u << 3, UINT64_C(100000) * MS, false);
		detect_ps[i] = run_until_counted(stand, false, before.storms, step_ps);
		stand_run_for(stand, random_below(&random, 100) * MS);
		stand_storm(stand, ET2, 1u << 3, stand_now_ps(stand), true);
		restore_ps[i] = run_until_counted(stand, true, before.restored, step_ps);
	}
	check_times("detect", detect_ps, 150 * MS, step_ps);
	check_times("restore", restore_ps, 120 * MS, step_ps);
	cr_expect_eq(stand_pfc(stand, ET3, 4).storms, 0, "nothing waits there");
	stand_storm(stand, ET3, 1u << 4, stand_now_ps(stand), true);
	finish(stand);
}

/* --- what it does --- */

/* From the begin of a storm of 400 ms, in which the flow runs, to its end. */
#define STORM_PS (400 * MS)

static void detected(struct stand *stand)
{
	stand_run_for(stand, 10 * MS);
	stand_storm(stand, ET2, 1u << 3, stand_now_ps(stand) + STORM_PS, false);
	stand_run_for(stand, DETECT_PS + POLL_PS + MS);
	cr_assert_eq(storms(stand, ET2, 3), 1);
	cr_assert_eq(stand_pfc(stand, ET2, 3).restored, 0);
}

static void restored(struct stand *stand)
{
	/* Its last pause runs out by itself. */
	stand_run_for(stand, 10 * MS + STORM_PS - stand_now_ps(stand) + 34 * MS);
	cr_expect_eq(stand_pfc(stand, ET2, 3).restored, 0);
	stand_run_for(stand, RESTORE_PS + POLL_PS + MS);
	cr_assert_eq(storms(stand, ET2, 3), 1);
	cr_assert_eq(stand_pfc(stand, ET2, 3).restored, 1);
}

/* Afterwards it is a port as any other: all of the line rate, nothing lost. */
static void check_second_flow(struct stand *stand)
{
	struct stream *second = stand_flow(stand, ET1, ET2, 3, 0);

	stand_run_for(stand, MS);
	cr_expect_geq(rate_ppm(stand, second, 50 * MS), 990000);
	stand_stop_all(stand);
	stand_run_for(stand, 50 * MS);
	cr_expect_eq(second->received_frames, second->sent_frames);
}

Test(storm, WD_DROP_empties_the_queue_pauses_nobody_and_counts_what_it_drops)
{
	struct stand *stand = open_ports(3, WATCHDOG("drop"));
	struct stream *first = stand_flow(stand, ET1, ET2, 3, 0);
	uint64_t pauses, sent, before;

	detected(stand);
	pauses = stand_pauses(stand, 0xff);
	sent = first->sent_frames;
	before = stand_drops(stand, DROP_WATCHDOG);
	cr_expect_gt(before, 0, "what waited");
	cr_expect_gt(pauses, 0, "the sender was paused before");
	cr_expect_eq(stand_buffer(stand, ET1, 3).occupancy_bytes, 0);
	cr_expect_eq(stand->blaster[ET1].paused, 0);
	stand_run_for(stand, 100 * MS);
	cr_expect_eq(stand_pauses(stand, 0xff), pauses, "nobody is paused on its behalf");
	/* At line rate: 100 ms hold 11,301 frames of 1082 and 24 bytes. */
	cr_expect_gt(first->sent_frames - sent, 11000);
	restored(stand);
	stand_stop(stand, first);
	stand_run_for(stand, 50 * MS);
	cr_expect_eq(first->sent_frames - first->received_frames, stand_drops(stand, DROP_WATCHDOG),
		     "lost is what was counted");
	cr_expect_eq(stand_all_drops(stand), stand_drops(stand, DROP_WATCHDOG));
	check_second_flow(stand);
	finish(stand);
}

Test(storm, WD_FORWARD_delivers_everything_though_the_pauses_go_on)
{
	struct stand *stand = open_ports(3, WATCHDOG("forward"));
	struct stream *first = stand_flow(stand, ET1, ET2, 3, 900);
	uint64_t pauses;

	detected(stand);
	stand_run_for(stand, 50 * MS); /* what has waited leaves */
	pauses = stand_pauses(stand, 0xff);
	cr_expect_geq(rate_ppm(stand, first, 100 * MS), 890000);
	cr_expect_eq(stand_pauses(stand, 0xff), pauses);
	cr_expect(stand_pfc(stand, ET2, 3).rx_paused, "the storm goes on");
	restored(stand);
	stand_stop(stand, first);
	stand_run_for(stand, 50 * MS);
	cr_expect_eq(first->received_frames, first->sent_frames);
	cr_expect_eq(stand_all_drops(stand), 0);
	cr_expect_gt(stand->blaster[ET2].early_frames, 0, "sent while paused");
	stand->blaster[ET2].early_frames = 0;
	/* It obeys again. */
	check_second_flow(stand);
	stand_storm(stand, ET2, 1u << 3, stand_now_ps(stand) + 50 * MS, true);
	stand_flow(stand, ET1, ET2, 3, 0);
	stand_run_for(stand, 50 * MS);
	cr_expect_gt(stand_queue(stand, ET2, 3).depth_packets, 0);
	finish(stand);
}

Test(storm, an_alert_is_counted_and_changes_nothing)
{
	struct stand *stand = open_ports(3, WATCHDOG("alert"));
	struct stream *first = stand_flow(stand, ET1, ET2, 3, 0);
	uint64_t sent;

	detected(stand);
	sent = first->sent_frames;
	stand_run_for(stand, 100 * MS);
	cr_expect_eq(first->sent_frames, sent, "the sender stands");
	restored(stand);
	stand_stop_all(stand);
	stand_run_for(stand, 50 * MS);
	stand_check_lossless(stand, LOSSLESS);
	cr_expect_eq(stand_all_drops(stand), 0);
	stand_free(stand);
}

Test(storm, WD_SHORT_half_of_detect_is_no_storm)
{
	struct stand *stand = open_ports(3, WATCHDOG("drop"));
	struct stream *first = stand_flow(stand, ET1, ET2, 3, 0);

	stand_run_for(stand, 10 * MS);
	stand_storm(stand, ET2, 1u << 3, stand_now_ps(stand) + DETECT_PS / 2, true);
	stand_run_for(stand, 400 * MS);
	stand_stop(stand, first);
	stand_run_for(stand, 50 * MS);
	cr_expect_eq(storms(stand, ET2, 3), 0);
	check_second_flow(stand);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
}

Test(storm, WD_BURST_fifteen_short_bursts_of_pauses_are_no_storm)
{
	struct stand *stand = open_ports(3, WATCHDOG("drop"));

	stand_flow(stand, ET1, ET2, 3, 0);
	for (uint32_t i = 0; i < 15; i++) {
		stand_run_for(stand, POLL_PS + DETECT_PS + RESTORE_PS + 100 * MS);
		stand_storm(stand, ET2, 1u << 3, stand_now_ps(stand) + POLL_PS / 2, true);
		stand_run_for(stand, POLL_PS / 2);
		cr_expect_gt(stand_queue(stand, ET2, 3).depth_packets, 0, "burst %u", i);
	}
	cr_expect_eq(storms(stand, ET2, 3), 0);
	stand_stop_all(stand);
	stand_run_for(stand, 100 * MS);
	stand_check_lossless(stand, LOSSLESS);
	cr_expect_eq(stand_all_drops(stand), 0);
	stand_free(stand);
}

/* Of the two rules that switches have it is "packets queued and none sent". */
Test(storm, WD_NO_TRAFFIC_an_empty_queue_is_never_stormed)
{
	struct stand *stand = open_ports(3, WATCHDOG("drop"));
	struct stream *first;

	stand_storm(stand, ET2, 1u << 3, 2000 * MS, true);
	stand_run(stand, 1000 * MS);
	cr_expect_eq(storms(stand, ET2, 3), 0);
	cr_expect(stand_pfc(stand, ET2, 3).rx_paused);
	/* The first packet waits: from now on it counts. */
	first = stand_flow(stand, ET1, ET2, 3, 10);
	stand_run_for(stand, DETECT_PS);
	cr_expect_eq(storms(stand, ET2, 3), 0);
	stand_run_for(stand, 2 * POLL_PS);
	cr_expect_eq(storms(stand, ET2, 3), 1);
	stand_run(stand, 2000 * MS + RESTORE_PS + POLL_PS + MS);
	cr_expect_eq(stand_pfc(stand, ET2, 3).restored, 1);
	stand_stop(stand, first);
	finish(stand);
}

/* --- whom it concerns --- */

Test(storm, WD_ISO_only_the_stormed_queue_loses)
{
	struct stand *stand = open_ports(3, WATCHDOG("drop"));
	struct stream *stormed = stand_flow(stand, ET1, ET2, 3, 200), *other[7];
	static const char *const names[] = {"2 to 1",         "1 to 3",         "3 to 1",
					    "1 to 2 class 4", "2 to 1 class 4", "1 to 2 lossy",
					    "1 to 3 lossy"};
	uint64_t before[7];

	other[0] = stand_flow(stand, ET2, ET1, 3, 200);
	other[1] = stand_flow(stand, ET1, ET3, 3, 200);
	other[2] = stand_flow(stand, ET3, ET1, 3, 200);
	other[3] = stand_flow(stand, ET1, ET2, 4, 200);
	other[4] = stand_flow(stand, ET2, ET1, 4, 200);
	other[5] = stand_flow(stand, ET1, ET2, 0, 100);
	other[6] = stand_flow(stand, ET1, ET3, 0, 100);
	detected(stand);
	stand_run_for(stand, 20 * MS);
	for (uint32_t i = 0; i < 7; i++)
		before[i] = other[i]->received_bytes;
	stand_run_for(stand, 100 * MS);
	for (uint32_t i = 0; i < 7; i++) {
		/* What it wants for 100 ms, headers of the wire apart. */
		uint64_t wanted =
			other[i]->params.rate_bps / 8 / 10 * 1082 / (1082 + WIRE_OVERHEAD_BYTES);

		cr_expect_geq(other[i]->received_bytes - before[i], wanted / 100 * 95, "%s",
			      names[i]);
	}
	cr_expect_eq(storms(stand, ET2, 4), 0);
	restored(stand);
	stand_stop_all(stand);
	stand_run_for(stand, 50 * MS);
	for (uint32_t i = 0; i < 7; i++)
		cr_expect_eq(other[i]->received_frames, other[i]->sent_frames, "%s", names[i]);
	cr_expect_eq(stormed->sent_frames - stormed->received_frames, stand_all_drops(stand));
	cr_expect_gt(stand_all_drops(stand), 0);
	finish(stand);
}

Test(storm, WD_RT_ENABLE_switched_on_under_traffic_it_disturbs_nothing)
{
	struct stand *stand = open_ports(3, WATCHDOG("off"));
	struct stand_params params = {.ports = 3, .speed = {"1G"}, .rest = WATCHDOG("drop")};
	struct stream *first = stand_flow(stand, ET1, ET2, 3, 450);
	struct stream *second = stand_flow(stand, ET3, ET2, 4, 450);

	stand_run(stand, 100 * MS);
	cr_assert_eq(stand_reload(stand, &params), 0);
	cr_expect_geq(rate_ppm(stand, first, 500 * MS), 450000 * 95 / 100);
	cr_expect_geq(rate_ppm(stand, second, 500 * MS), 450000 * 95 / 100);
	cr_expect_eq(storms(stand, ET2, 3) + storms(stand, ET2, 4), 0);
	stand_stop_all(stand);
	stand_run_for(stand, 50 * MS);
	stand_check_lossless(stand, LOSSLESS);
	/* And it is on. */
	stand_restart(stand, first);
	stand_storm(stand, ET2, 1u << 3, stand_now_ps(stand) + STORM_PS, true);
	stand_run_for(stand, DETECT_PS + POLL_PS + MS);
	cr_expect_eq(storms(stand, ET2, 3), 1);
	stand_run_for(stand, STORM_PS + RESTORE_PS);
	finish(stand);
}

Test(storm, WD_MULTIPORT_all_ports_and_priorities_at_once_are_seen_and_restored)
{
	struct stand *stand = open_ports(8, WATCHDOG("drop"));

	for (uint16_t port = 0; port < 8; port++) {
		stand_flow(stand, port, (uint16_t)((port + 1) % 8), 3, 200);
		stand_flow(stand, port, (uint16_t)((port + 3) % 8), 4, 200);
		stand_flow(stand, port, (uint16_t)((port + 5) % 8), 0, 100);
	}
	stand_run(stand, 10 * MS);
	for (uint16_t port = 0; port < 8; port++)
		stand_storm(stand, port, LOSSLESS, 400 * MS, true);
	stand_run(stand, 10 * MS + DETECT_PS + POLL_PS + MS);
	for (uint16_t port = 0; port < 8; port++)
		for (uint8_t p = 3; p <= 4; p++)
			cr_expect_eq(storms(stand, port, p), 1, "port %u, priority %u", port, p);
	stand_run(stand, 400 * MS + RESTORE_PS + POLL_PS + 2 * MS);
	for (uint16_t port = 0; port < 8; port++)
		for (uint8_t p = 3; p <= 4; p++)
			cr_expect_eq(stand_pfc(stand, port, p).restored, 1, "port %u, priority %u",
				     port, p);
	/* Lossy traffic never noticed. */
	cr_expect_eq(stand_all_drops(stand), stand_drops(stand, DROP_WATCHDOG));
	stand_stop_all(stand);
	stand_run_for(stand, 50 * MS);
	cr_expect_eq(stand_missing(stand, 1u << 0), 0);
	cr_expect_eq(stand_missing(stand, LOSSLESS), stand_drops(stand, DROP_WATCHDOG));
	finish(stand);
}

Test(storm, WD_TOGGLE_a_port_that_comes_up_is_operational_until_the_storm_is_seen_again)
{
	struct stand *stand = open_ports(3, WATCHDOG("drop"));
	struct stream *first = stand_flow(stand, ET1, ET2, 3, 500);
	uint64_t before;

	stand_run(stand, 10 * MS);
	stand_storm(stand, ET2, 1u << 3, 1000 * MS, true);
	stand_run_for(stand, DETECT_PS + POLL_PS + MS);
	cr_assert_eq(storms(stand, ET2, 3), 1);
	stand_link(stand, ET2, false);
	stand_run_for(stand, 20 * MS);
	cr_expect_eq(stand_pfc(stand, ET2, 3).restored, 1, "what was, is over");
	cr_expect_not(stand_pfc(stand, ET2, 3).rx_paused);
	stand_link(stand, ET2, true);
	before = first->received_frames;
	/* The first frame of the storm comes within half of a pause; until then it sends. */
	stand_run_for(stand, 17 * MS);
	cr_expect_gt(first->received_frames, before, "operational");
	cr_expect_eq(storms(stand, ET2, 3), 1);
	stand_run_for(stand, DETECT_PS + POLL_PS);
	cr_expect_eq(storms(stand, ET2, 3), 2, "seen again");
	stand_run(stand, 1000 * MS + RESTORE_PS + POLL_PS + MS);
	cr_expect_eq(stand_pfc(stand, ET2, 3).restored, 2);
	finish(stand);
}

/* --- what a storm does to the others --- */

/*
 * Two senders, each with something for the storming host and something for another, in the same
 * class.
 * @return whether the watchdog had to act
 */
static void check_recovery(const char *rest, bool acts)
{
	struct stand *stand = open_ports(4, rest);
	struct stream *good[2];
	const uint64_t begin_ps = 10 * MS;

	stand_flow(stand, ET1, ET2, 3, 400);
	stand_flow(stand, ET3, ET2, 3, 400);
	good[0] = stand_flow(stand, ET1, ET4, 3, 400);
	good[1] = stand_flow(stand, ET3, ET4, 3, 400);
	stand_run(stand, begin_ps);
	stand_storm(stand, ET2, 1u << 3, 600 * MS, true);
	/* The buffer is full before long, and both senders stand still. */
	stand_run(stand, begin_ps + 50 * MS);
	cr_expect_eq(rate_ppm(stand, good[0], 40 * MS) + rate_ppm(stand, good[1], 5 * MS), 0);
	stand_run(stand, begin_ps + DETECT_PS + POLL_PS + MS);
	for (uint32_t i = 0; i < 2; i++)
		if (acts)
			cr_expect_geq(rate_ppm(stand, good[i], 50 * MS), 396000, "sender %u", i);
		else
			cr_expect_eq(rate_ppm(stand, good[i], 50 * MS), 0, "sender %u", i);
	stand_run(stand, 600 * MS + RESTORE_PS + POLL_PS + 2 * MS);
	cr_expect_eq(stand_pfc(stand, ET2, 3).restored, acts);
	stand_run_for(stand, 20 * MS);
	/* All as before. */
	for (uint32_t i = 0; i < 2; i++)
		cr_expect_geq(rate_ppm(stand, good[i], 50 * MS), 396000, "sender %u", i);
	stand_stop_all(stand);
	stand_run_for(stand, 50 * MS);
	cr_expect_eq(stand_missing(stand, LOSSLESS), stand_drops(stand, DROP_WATCHDOG));
	finish(stand);
}

Test(storm, without_a_watchdog_all_who_send_to_a_storming_host_stall)
{
	check_recovery(WATCHDOG("off"), false);
}

Test(storm, with_a_watchdog_they_are_back_within_detect_one_poll_and_a_millisecond)
{
	check_recovery(WATCHDOG("drop"), true);
}

/* --- what can be set --- */

Test(storm_config, WD_CFG_VALID_times_out_of_range_and_unknown_actions_are_refused)
{
	static const struct {
		const char *watchdog, *says;
	} bad[] = {
		{"{detect: 40ms}", "detect"},
		{"{detect: 4000s}", "detect"},
		{"{detect: 400a}", "detect"},
		{"{detect: 99ms}", "100ms"},
		{"{detect: 5001ms}", "5s"},
		{"{restore: 50ms}", "restore"},
		{"{restore: 50000s}", "restore"},
		{"{restore: 500c}", "restore"},
		{"{restore: 60001ms}", "1min"},
		{"{action: invalid}", "action"},
		{"{poll: 99ms}", "100ms"},
		{"{poll: 1001ms}", "1s"},
		{"{detect: 300ms, restore: 200ms, poll: 201ms}", "200ms"},
		{"{detect: 200ms, poll: 201ms}", "200ms"},
	};
	static const char *const good[] = {
		"{detect: 100ms, restore: 100ms, poll: 100ms, action: drop}",
		"{detect: 5000ms, restore: 60000ms, poll: 1000ms, action: forward}",
		"{detect: 200ms}",
	};
	struct config_errors errors;

	for (uint32_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char text[STAND_TEXT_MAX];
		struct config *config;

		snprintf(text, sizeof(text),
			 "ports: [{name: p1, device: eth1, speed: 1G}]\nwatchdog: %s\n",
			 bad[i].watchdog);
		errors = (struct config_errors){0};
		config = config_load_string("w.yaml", text, strlen(text), &errors);
		cr_expect_null(config, "%s", bad[i].watchdog);
		config_free(config);
		cr_assert_geq(errors.count, 1);
		cr_expect(strncmp(errors.error[0].text, "w.yaml:2:", 9) == 0 &&
				  strstr(errors.error[0].text, bad[i].says) != NULL,
			  "%s: %s", bad[i].watchdog, errors.error[0].text);
	}
	for (uint32_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		char text[STAND_TEXT_MAX];
		struct config *config;

		snprintf(text, sizeof(text),
			 "ports: [{name: p1, device: eth1, speed: 1G}]\nwatchdog: %s\n", good[i]);
		errors = (struct config_errors){0};
		config = config_load_string("w.yaml", text, strlen(text), &errors);
		cr_expect_not_null(config, "%s: %s", good[i], errors.error[0].text);
		config_free(config);
	}
}
