/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Storms against the bounds of the header. A queue of the model sends a packet each microsecond
 * while it isn't paused. Identifiers such as WD-SHORT name the case of a switch tester's catalogue.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "dataplane/pfc_watchdog.h"

#define MS     PS_PER_MS
#define PHASES 41

/* Detect, restore and poll of the watchdog; the first row is what switches have by default. */
static const struct setting {
	uint64_t detect_ms, restore_ms, poll_ms;
} settings[] = {
	{200, 200, 200}, {100, 100, 100},    {200, 400, 100},   {300, 500, 200},
	{250, 350, 150}, {5000, 1000, 1000}, {100, 60000, 100},
};
enum { SETTINGS = sizeof(settings) / sizeof(settings[0]) };

/* Pauses of `length_ps`, once every `cycle_ps`, `count` times. */
struct pauses {
	uint64_t start_ps, length_ps, cycle_ps;
	uint32_t count;
};

struct model {
	struct pauses pauses;
	uint64_t traffic_ps; /* the queue has packets from then on */
	bool starved;        /* and never gets its turn */
	uint64_t base_ps;    /* all times of the model start here: past the wrap of the clock */
	struct pfc_watchdog watchdog;
	struct pfc_watchdog_rule rule;
};

/* How much of 0..now_ps was paused. */
static uint64_t paused_until(const struct pauses *pauses, uint64_t now_ps, bool *paused)
{
	uint64_t total_ps = 0;

	*paused = false;
	for (uint32_t i = 0; i < pauses->count; i++) {
		uint64_t start_ps = pauses->start_ps + i * pauses->cycle_ps;

		if (now_ps <= start_ps)
			break;
		*paused = now_ps < start_ps + pauses->length_ps;
		total_ps += *paused ? now_ps - start_ps : pauses->length_ps;
	}
	return total_ps;
}

static struct pfc_watchdog_input input_at(const struct model *model, uint64_t now_ps)
{
	struct pfc_watchdog_input input = {.queued = now_ps >= model->traffic_ps};
	uint64_t total_ps = paused_until(&model->pauses, now_ps, &input.paused), before_ps;
	bool unused;

	/* Both counters wrap at some time. */
	input.paused_ps = total_ps - 7;
	input.sent_packets = UINT64_MAX - 3;
	if (input.queued && !model->starved) {
		before_ps = paused_until(&model->pauses, model->traffic_ps, &unused);
		input.sent_packets +=
			(now_ps - model->traffic_ps - (total_ps - before_ps)) / PS_PER_US;
	}
	return input;
}

static void start(struct model *model, const struct setting *setting)
{
	struct pfc_watchdog_input input = input_at(model, 0);

	model->base_ps = UINT64_MAX - setting->poll_ms * MS / 2;
	model->rule = (struct pfc_watchdog_rule){setting->detect_ms * MS, setting->restore_ms * MS};
	pfc_watchdog_init(&model->watchdog, model->base_ps, &input);
}

static enum pfc_watchdog_event evaluate(struct model *model, uint64_t now_ps)
{
	struct pfc_watchdog_input input = input_at(model, now_ps);

	return pfc_watchdog_evaluate(&model->watchdog, &model->rule, model->base_ps + now_ps,
				     &input);
}

/* The first evaluation up to end_ps that says so, and its time; all before say nothing. */
static uint64_t expect_event(struct model *model, uint64_t *now_ps, uint64_t poll_ps,
			     uint64_t end_ps, enum pfc_watchdog_event wanted)
{
	while (*now_ps < end_ps) {
		enum pfc_watchdog_event event;

		*now_ps += poll_ps;
		event = evaluate(model, *now_ps);
		if (event == PFC_WATCHDOG_NONE)
			continue;
		cr_assert_eq(event, wanted, "event %d at %" PRIu64 " ps", (int)event, *now_ps);
		return *now_ps;
	}
	cr_assert_eq(wanted, PFC_WATCHDOG_NONE, "no event until %" PRIu64 " ps", end_ps);
	return end_ps;
}

static void expect_silence(struct model *model, uint64_t poll_ps, uint64_t end_ps)
{
	uint64_t now_ps = 0;

	expect_event(model, &now_ps, poll_ps, end_ps, PFC_WATCHDOG_NONE);
	cr_assert_not(model->watchdog.stormed);
}

Test(pfc_watchdog, WD_DETECT_TIME_and_WD_RESTORE_TIME_lie_within_one_poll)
{
	for (uint32_t s = 0; s < SETTINGS; s++)
		for (uint32_t phase = 0; phase < PHASES; phase++) {
			uint64_t poll_ps = settings[s].poll_ms * MS, now_ps = 0, at_ps, end_ps;
			uint64_t detect_ps = settings[s].detect_ms * MS;
			uint64_t restore_ps = settings[s].restore_ms * MS;
			struct model model = {
				.pauses = {.start_ps = 3 * poll_ps + phase * poll_ps / PHASES,
					   .length_ps = 4 * detect_ps + phase * poll_ps / 7,
					   .count = 1},
			};

			start(&model, &settings[s]);
			end_ps = model.pauses.start_ps + model.pauses.length_ps;
			at_ps = expect_event(&model, &now_ps, poll_ps, end_ps,
					     PFC_WATCHDOG_DETECTED) -
				model.pauses.start_ps;
			cr_expect(at_ps >= detect_ps && at_ps < detect_ps + poll_ps,
				  "row %u, phase %u: detected after %" PRIu64 " ps", s, phase,
				  at_ps);
			cr_expect(model.watchdog.stormed);
			at_ps = expect_event(&model, &now_ps, poll_ps,
					     end_ps + restore_ps + 2 * poll_ps,
					     PFC_WATCHDOG_RESTORED) -
				end_ps;
			cr_expect(at_ps >= restore_ps && at_ps < restore_ps + poll_ps,
				  "row %u, phase %u: restored after %" PRIu64 " ps", s, phase,
				  at_ps);
			cr_expect_not(model.watchdog.stormed);
		}
}

Test(pfc_watchdog, WD_SHORT_a_storm_below_detect_is_none)
{
	static const uint32_t percent[] = {10, 50, 90};

	for (uint32_t s = 0; s < SETTINGS; s++)
		for (uint32_t phase = 0; phase < PHASES; phase++)
			for (uint32_t i = 0; i < 4; i++) {
				uint64_t poll_ps = settings[s].poll_ms * MS;
				uint64_t detect_ps = settings[s].detect_ms * MS;
				struct model model = {
					.pauses = {.start_ps =
							   3 * poll_ps + phase * poll_ps / PHASES,
						   .length_ps = i < 3 ? detect_ps / 100 * percent[i]
								      : detect_ps - 1,
						   .count = 1},
				};

				start(&model, &settings[s]);
				expect_silence(&model, poll_ps, 5 * poll_ps + 2 * detect_ps);
			}
}

Test(pfc_watchdog, WD_BURST_short_pauses_again_and_again_are_no_storm)
{
	for (uint32_t s = 0; s < SETTINGS; s++)
		for (uint32_t phase = 0; phase < PHASES; phase++) {
			const struct setting *setting = &settings[s];
			uint64_t poll_ps = setting->poll_ms * MS;
			struct model model = {
				.pauses = {.start_ps = poll_ps + phase * poll_ps / PHASES,
					   .length_ps = poll_ps / 2,
					   .cycle_ps = (setting->poll_ms + setting->detect_ms +
							setting->restore_ms + 100) *
						       MS,
					   .count = 15},
			};

			start(&model, setting);
			expect_silence(&model, poll_ps, 16 * model.pauses.cycle_ps);
		}
}

Test(pfc_watchdog, pauses_that_let_packets_through_are_no_storm)
{
	/* 90 % of the time, and 99.9 %: three packets get through each 3 ms. */
	static const uint64_t cycle_us[] = {1000, 3000}, length_us[] = {900, 2997};

	for (uint32_t i = 0; i < 2; i++) {
		struct model model = {.pauses = {.length_ps = length_us[i] * PS_PER_US,
						 .cycle_ps = cycle_us[i] * PS_PER_US,
						 .count = 2000}};

		start(&model, &settings[1]);
		expect_silence(&model, 100 * MS, model.pauses.count * model.pauses.cycle_ps);
	}
}

Test(pfc_watchdog, gaps_that_let_nothing_through_are_part_of_the_storm)
{
	/* 500 ns of each 2 ms: less than the model's packet takes. */
	struct model model = {.pauses = {.start_ps = 230 * MS,
					 .length_ps = 2 * MS - 500 * PS_PER_NS,
					 .cycle_ps = 2 * MS,
					 .count = 1000},
			      .starved = true};
	uint64_t now_ps = 1 * MS;

	start(&model, &settings[0]);
	now_ps = expect_event(&model, &now_ps, 200 * MS, 2000 * MS, PFC_WATCHDOG_DETECTED);
	cr_assert_eq(now_ps, 601 * MS, "171 ms of the first interval, less its gaps, and 200");
}

Test(pfc_watchdog, WD_NO_TRAFFIC_an_empty_queue_is_never_stormed)
{
	for (uint32_t s = 0; s < SETTINGS; s++)
		for (uint32_t phase = 0; phase < PHASES; phase++) {
			uint64_t poll_ps = settings[s].poll_ms * MS, now_ps = 0, at_ps;
			uint64_t detect_ps = settings[s].detect_ms * MS;
			struct model model = {
				.pauses = {.length_ps = 3600 * PS_PER_S, .count = 1},
				.traffic_ps = 30 * poll_ps + phase * poll_ps / PHASES,
			};

			start(&model, &settings[s]);
			expect_event(&model, &now_ps, poll_ps, 30 * poll_ps - 1, PFC_WATCHDOG_NONE);
			/* Then a packet comes. */
			at_ps = expect_event(&model, &now_ps, poll_ps, 3600 * PS_PER_S,
					     PFC_WATCHDOG_DETECTED) -
				model.traffic_ps;
			cr_expect(at_ps >= detect_ps && at_ps < detect_ps + 2 * poll_ps,
				  "row %u, phase %u: %" PRIu64 " ps", s, phase, at_ps);
		}
}

Test(pfc_watchdog, a_queue_that_waits_for_others_is_not_stormed)
{
	struct model model = {.starved = true};

	start(&model, &settings[0]);
	expect_silence(&model, 200 * MS, 10 * PS_PER_S);
	/* Nor when it is paused for half of the time as well. */
	model.pauses = (struct pauses){
		.start_ps = 1 * MS, .length_ps = 10 * MS, .cycle_ps = 20 * MS, .count = 500};
	start(&model, &settings[0]);
	expect_silence(&model, 200 * MS, 10 * PS_PER_S);
}

Test(pfc_watchdog, a_storm_with_calms_below_restore_goes_on)
{
	/* 300 ms paused, 150 ms calm; restore takes 200. */
	struct model model = {.pauses = {.start_ps = 50 * MS,
					 .length_ps = 300 * MS,
					 .cycle_ps = 450 * MS,
					 .count = 20}};
	uint64_t now_ps = 0, end_ps = (50 + 19 * 450 + 300) * MS;

	start(&model, &(struct setting){200, 200, 50});
	expect_event(&model, &now_ps, 50 * MS, 1000 * MS, PFC_WATCHDOG_DETECTED);
	expect_event(&model, &now_ps, 50 * MS, end_ps + 150 * MS, PFC_WATCHDOG_NONE);
	cr_assert_eq(
		expect_event(&model, &now_ps, 50 * MS, end_ps + 300 * MS, PFC_WATCHDOG_RESTORED),
		end_ps + 200 * MS);
}

Test(pfc_watchdog, storms_may_follow_each_other)
{
	struct model model = {.pauses = {.start_ps = 10 * MS,
					 .length_ps = 1000 * MS,
					 .cycle_ps = 2000 * MS,
					 .count = 10}};
	uint64_t now_ps = 0;

	start(&model, &settings[0]);
	for (uint32_t i = 0; i < 10; i++) {
		expect_event(&model, &now_ps, 200 * MS, (i * 2000 + 1010) * MS,
			     PFC_WATCHDOG_DETECTED);
		expect_event(&model, &now_ps, 200 * MS, (i * 2000 + 2010) * MS,
			     PFC_WATCHDOG_RESTORED);
	}
}

Test(pfc_watchdog, WD_TOGGLE_starts_at_ok_and_detects_again)
{
	struct model model = {.pauses = {.length_ps = 3600 * PS_PER_S, .count = 1}};
	struct pfc_watchdog_input input;
	uint64_t now_ps = 0;

	start(&model, &settings[0]);
	expect_event(&model, &now_ps, 200 * MS, 1000 * MS, PFC_WATCHDOG_DETECTED);
	input = input_at(&model, now_ps);
	pfc_watchdog_init(&model.watchdog, model.base_ps + now_ps, &input);
	cr_assert_not(model.watchdog.stormed);
	cr_assert_eq(evaluate(&model, now_ps + 199 * MS), PFC_WATCHDOG_NONE);
	cr_assert_eq(evaluate(&model, now_ps + 200 * MS), PFC_WATCHDOG_DETECTED);
}

Test(pfc_watchdog, late_early_and_repeated_evaluations_lose_no_time)
{
	struct model model = {.pauses = {.start_ps = 100 * MS, .length_ps = 900 * MS, .count = 1}};

	start(&model, &settings[0]);
	cr_assert_eq(evaluate(&model, 110 * MS), PFC_WATCHDOG_NONE);
	cr_assert_eq(evaluate(&model, 110 * MS), PFC_WATCHDOG_NONE, "no time has passed");
	cr_assert_eq(evaluate(&model, 109 * MS), PFC_WATCHDOG_NONE, "nor backwards");
	for (uint32_t ms = 111; ms < 300; ms++)
		cr_assert_eq(evaluate(&model, ms * MS), PFC_WATCHDOG_NONE);
	cr_assert_eq(evaluate(&model, 300 * MS), PFC_WATCHDOG_DETECTED, "at 200 ms exactly");
	cr_assert_eq(evaluate(&model, 5000 * MS), PFC_WATCHDOG_RESTORED, "four seconds late");
}

Test(pfc_watchdog, more_pause_than_time_counts_as_all_of_it)
{
	struct pfc_watchdog_rule rule = {200 * MS, 200 * MS};
	struct pfc_watchdog_input input = {.paused = true, .queued = true};
	struct pfc_watchdog watchdog;

	pfc_watchdog_init(&watchdog, 0, &input);
	input.paused_ps = 1000 * MS;
	cr_assert_eq(pfc_watchdog_evaluate(&watchdog, &rule, 199 * MS, &input), PFC_WATCHDOG_NONE);
	input.paused_ps = 2000 * MS;
	cr_assert_eq(pfc_watchdog_evaluate(&watchdog, &rule, 200 * MS, &input),
		     PFC_WATCHDOG_DETECTED);
}

/* --- interval by interval, detect and restore 200 ms --- */

struct step {
	int32_t elapsed_ms;
	uint32_t paused_ms;
	uint32_t sent;
	bool queued, paused;
	enum pfc_watchdog_event event;
};

#define HELD(ms)  .elapsed_ms = (ms), .paused_ms = (ms), .queued = true, .paused = true
#define CALM(ms)  .elapsed_ms = (ms), .queued = true, .sent = 9
#define DETECTED  .event = PFC_WATCHDOG_DETECTED
#define RESTORED  .event = PFC_WATCHDOG_RESTORED
#define STEPS_MAX 6

static const struct {
	const char *name;
	struct step step[STEPS_MAX]; /* up to one that lasts 0 ms */
} rows[] = {
	{"held", {{HELD(150)}, {HELD(49)}, {HELD(1), DETECTED}}},
	{"a packet got through, the counter wrapped by it", {{HELD(150)}, {HELD(100), .sent = 1}}},
	{"which starts it again", {{HELD(150)}, {HELD(100), .sent = 1}, {HELD(100), DETECTED}}},
	{"emptied without sending",
	 {{HELD(150)},
	  {.elapsed_ms = 100, .paused_ms = 100, .paused = true},
	  {HELD(150)},
	  {HELD(199)},
	  {HELD(1), DETECTED}}},
	{"not paused at this moment",
	 {{HELD(150)},
	  {.elapsed_ms = 100, .paused_ms = 99, .queued = true},
	  {HELD(199)},
	  {HELD(1), DETECTED}}},
	{"paused for half of the time",
	 {{.elapsed_ms = 100, .paused_ms = 50, .queued = true, .paused = true},
	  {.elapsed_ms = 300, .paused_ms = 150, .queued = true, .paused = true},
	  {.elapsed_ms = 640, .paused_ms = 629, .queued = true, .paused = true}}},
	{"but for one part in 64",
	 {{.elapsed_ms = 640, .paused_ms = 630, .queued = true, .paused = true, DETECTED}}},
	{"a clock that stands or steps back",
	 {{HELD(150)},
	  {.elapsed_ms = -1, .queued = true, .paused = true},
	  {HELD(49)},
	  {HELD(2), DETECTED}}},
	{"calm begins at 0", {{HELD(300), DETECTED}, {CALM(199)}, {CALM(1), RESTORED}}},
	{"and so does the next hold",
	 {{HELD(300), DETECTED}, {CALM(200), RESTORED}, {HELD(199)}, {HELD(1), DETECTED}}},
	{"a pause that came and went",
	 {{HELD(300), DETECTED},
	  {CALM(150)},
	  {CALM(100), .paused_ms = 20},
	  {CALM(119)},
	  {CALM(1), RESTORED}}},
	{"a pause that ended with the interval",
	 {{HELD(300), DETECTED}, {CALM(150)}, {HELD(50)}, {CALM(199)}, {CALM(1), RESTORED}}},
	{"an empty queue in calm", {{HELD(300), DETECTED}, {.elapsed_ms = 200, RESTORED}}},
};

Test(pfc_watchdog, WD_BURST_interval_by_interval)
{
	static const struct pfc_watchdog_rule rule = {200 * MS, 200 * MS};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct pfc_watchdog_input input = {
			.sent_packets = UINT64_MAX, .paused = true, .queued = true};
		uint64_t now_ps = UINT64_MAX - 170 * MS;
		struct pfc_watchdog watchdog;

		pfc_watchdog_init(&watchdog, now_ps, &input);
		for (uint32_t n = 0; n < STEPS_MAX && rows[i].step[n].elapsed_ms != 0; n++) {
			const struct step *step = &rows[i].step[n];
			enum pfc_watchdog_event event;

			now_ps += (uint64_t)step->elapsed_ms * MS;
			input.paused_ps += step->paused_ms * MS;
			input.sent_packets += step->sent;
			input.queued = step->queued;
			input.paused = step->paused;
			event = pfc_watchdog_evaluate(&watchdog, &rule, now_ps, &input);
			cr_expect_eq(event, step->event, "%s, step %u: event %d", rows[i].name, n,
				     (int)event);
		}
	}
}
