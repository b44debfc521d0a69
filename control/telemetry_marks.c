/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fabric did between two marks of a job. */
#include <string.h>

#include "control/steps.h"
#include "control/telemetry_tables.h"

#define STEPS_AT_ONCE 16

/* Columns that a mark's text goes on in. */
#define TEXT_PIECES 3
_Static_assert(TEXT_PIECES *TELEMETRY_TEXT_BYTES >= MARK_TEXT_BYTES, "a text fits");

static void step_row(struct telemetry_page *page, const struct config *config,
		     const struct step *step)
{
	const char *text = step->text;

	telemetry_page_number(page, step->sequence);
	telemetry_page_number(page, step->begin_ns);
	telemetry_page_number(page, step->duration_ns);
	telemetry_page_number(page, step->running);
#define NUMBER_(field) telemetry_page_number(page, step->sum.field);
	HISTORY_COUNTERS(NUMBER_)
#undef NUMBER_
	telemetry_page_number(page, step->drop_packets);
	telemetry_page_text(page, telemetry_port_name(config, step->hottest));
	telemetry_page_number(page, step->hottest_ppm);
	telemetry_page_text(page, telemetry_port_name(config, step->straggler));
	telemetry_page_number(page, step->straggler_paused_ns);
	for (int piece = 0; piece < TEXT_PIECES; piece++) {
		telemetry_page_text(page, text);
		text += strnlen(text, TELEMETRY_TEXT_BYTES);
	}
}

/* The cursor is the number of the last step that the client has. */
uint64_t telemetry_marks(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	struct step steps[STEPS_AT_ONCE];
	uint64_t last = cursor;
	uint32_t count, i;

	telemetry_page_column(page, "sequence", TELEMETRY_KEY);
	telemetry_page_column(page, "begin_ns", 0);
	telemetry_page_column(page, "duration_ns", 0);
	telemetry_page_column(page, "running", TELEMETRY_FLAG);
#define COLUMN_(field) telemetry_page_column(page, #field, 0);
	HISTORY_COUNTERS(COLUMN_)
#undef COLUMN_
	telemetry_page_column(page, "drop_packets", 0);
	telemetry_page_column(page, "hottest", TELEMETRY_TEXT);
	telemetry_page_column(page, "hottest_ppm", 0);
	telemetry_page_column(page, "straggler", TELEMETRY_TEXT);
	telemetry_page_column(page, "straggler_paused_ns", 0);
	telemetry_page_column(page, "text", TELEMETRY_TEXT);
	telemetry_page_column(page, "text_2", TELEMETRY_TEXT | TELEMETRY_MORE);
	telemetry_page_column(page, "text_3", TELEMETRY_TEXT | TELEMETRY_MORE);

	daemon_lock(daemon);
	count = daemon_steps(daemon, cursor, steps, STEPS_AT_ONCE);
	for (i = 0; i < count && telemetry_page_row(page); i++) {
		step_row(page, daemon_config(daemon), &steps[i]);
		last = steps[i].sequence;
	}
	daemon_unlock(daemon);
	/* The step that runs is the last. */
	return i > 0 && !steps[i - 1].running ? last : 0;
}
