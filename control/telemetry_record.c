/* SPDX-License-Identifier: BSD-3-Clause */
/* The recording that roceleafctl asked for: what it is, and its samples. */
#include "control/recording.h"
#include "control/telemetry_tables.h"

static uint64_t ns_since(const struct recording *recording, uint64_t time_ps)
{
	return (time_ps - recording->begin_ps) / PS_PER_NS;
}

uint64_t telemetry_recording(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct recording *recording;

	(void)cursor;
	telemetry_page_column(page, "duration_ns", 0);
	telemetry_page_column(page, "every_ns", 0);
	telemetry_page_column(page, "triggered", TELEMETRY_FLAG);
	telemetry_page_column(page, "trigger_ns", 0);
	telemetry_page_column(page, "trigger_port", TELEMETRY_TEXT);
	telemetry_page_column(page, "trigger_priority", 0);
	telemetry_page_column(page, "complete", TELEMETRY_FLAG);
	telemetry_page_column(page, "samples", 0);

	daemon_lock(daemon);
	recording = daemon_recording(daemon);
	if (recording != NULL && telemetry_page_row(page)) {
		telemetry_page_number(page, ns_since(recording, recording->end_ps));
		telemetry_page_number(page, recording->every_ps / PS_PER_NS);
		telemetry_page_number(page, recording->triggered);
		telemetry_page_number(page, ns_since(recording, recording->trigger_ps));
		telemetry_page_text(page, telemetry_port_name(daemon_config(daemon),
							      recording->triggered
								      ? recording->trigger_port
								      : PORT_NONE));
		telemetry_page_number(page, recording->triggered ? recording->trigger_priority : 0);
		telemetry_page_number(page, recording->complete);
		telemetry_page_number(page, recording->count);
	}
	daemon_unlock(daemon);
	return 0;
}

uint64_t telemetry_record(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct recording *recording;
	uint64_t i = cursor, count = 0;

	telemetry_page_column(page, "at_ns", 0);
	telemetry_page_column(page, "port", TELEMETRY_TEXT);
	telemetry_page_column(page, "priority", 0);
	telemetry_page_column(page, "depth_bytes", 0);
	telemetry_page_column(page, "paused", TELEMETRY_FLAG);
	telemetry_page_column(page, "peer_paused", TELEMETRY_FLAG);

	daemon_lock(daemon);
	recording = daemon_recording(daemon);
	if (recording != NULL)
		count = recording->count;
	for (; i < count && telemetry_page_row(page); i++) {
		const struct record_sample *sample = &recording->sample[i];

		telemetry_page_number(page, ns_since(recording, sample->time_ps));
		telemetry_page_text(page, telemetry_port_name(daemon_config(daemon), sample->port));
		telemetry_page_number(page, sample->priority);
		telemetry_page_number(page, sample->depth_bytes);
		telemetry_page_number(page, (sample->flags & RECORD_PAUSED) != 0);
		telemetry_page_number(page, (sample->flags & RECORD_PEER_PAUSED) != 0);
	}
	daemon_unlock(daemon);
	return i < count ? i : 0;
}
