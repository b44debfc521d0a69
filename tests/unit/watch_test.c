/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * WM-MODES: when periodic peaks start again. Around watch.c there is a leaf whose worker is polled by hand; what
 * it needs of the rest of the daemon is here.
 */
#include <criterion/criterion.h>

#include "control/state.h"
#include "control/telemetry_tables.h"
#include "tests/unit/pause_fixture.h"

#define FRAME_BYTES UINT64_C(1000)

const char *const telemetry_peak_names[PEAK_KINDS] = {"user", "periodic", "persistent"};

void ports_release_damped(struct daemon *daemon)
{
	(void)daemon;
}

static struct leaf_fixture f;
static struct daemon watched;

static void start(void)
{
	fixture_start_eal();
	pause_open(&f, &(struct pause_params){.senders = 1,
					      .shared_bytes = 600000,
					      .reserved_bytes = 3000,
					      .headroom_bytes = 100000,
					      .alpha_q8 = 256});
	watched.leaf = f.leaf;
	watched.lcores = lcores_create(f.leaf, false);
	cr_assert_not_null(watched.lcores);
}

static void finish(void)
{
	lcores_free(watched.lcores);
	fixture_close(&f);
}

TestSuite(watch, .init = start, .fini = finish);

/* That many frames wait at once for a peer that has paused them, and leave. */
static void fill(uint32_t frames)
{
	pause_receive(&f, SINK, 3, 65535);
	for (uint32_t i = 0; i < frames; i++)
		pause_send(&f, SENDER, 3, FRAME_BYTES);
	pause_receive(&f, SINK, 3, 0);
	fixture_settle(&f);
	(void)fixture_discard(&f, SINK);
}

static void look(uint64_t now_ns)
{
	watch_peaks(&watched, now_ns);
	fixture_poll(&f); /* a worker clears at its next poll */
}

static void expect_frames(enum peak_kind kind, uint64_t frames, const char *when)
{
	struct peak_totals peaks;

	leaf_peaks(f.leaf, SENDER, 3, kind, &peaks);
	cr_expect_eq(peaks.occupancy_bytes, frames * FRAME_BYTES, "%s: %s peak of %" PRIu64, when,
		     telemetry_peak_names[kind], peaks.occupancy_bytes);
}

/* 120 s: the default of SONiC's watermarks, doc/buffer-watermark/watermarks_HLD.md. */
Test(watch, periodic_peaks_start_again_every_120_s)
{
	const uint64_t begin_ns = 5 * S_NS; /* since the machine's start */

	look(begin_ns);
	fill(7);
	look(begin_ns + 119900 * MS_NS);
	expect_frames(PEAK_PERIODIC, 7, "after 119.9 s");
	look(begin_ns + 120 * S_NS);
	expect_frames(PEAK_PERIODIC, 0, "after 120 s");
	fill(3);
	look(begin_ns + 239900 * MS_NS);
	expect_frames(PEAK_PERIODIC, 3, "after 239.9 s");
	look(begin_ns + 240 * S_NS);
	expect_frames(PEAK_PERIODIC, 0, "after 240 s");
	expect_frames(PEAK_USER, 7, "meanwhile");
	expect_frames(PEAK_PERSISTENT, 7, "meanwhile");
}
