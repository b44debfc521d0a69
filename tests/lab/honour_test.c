/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pauses that a leaf receives under traffic, on exact wires. Identifiers such as HON-LL name the case of a
 * switch tester's catalogue that a test covers; those of single frames are in unit/pfc_honour_test.c.
 *
 * Two ports send to a third, all at 100G. Pauses hold for quanta of 512 bit times, 5120 ps.
 */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "tests/lab/stand.h"

TestSuite(honour, .init = harness_start);

enum { A, B, SINK, PORTS };

#define US       PS_PER_US
#define GBPS     UINT64_C(1000000000)
#define LINE_BPS (100 * GBPS)

#define QUANTUM_PS UINT64_C(5120)
#define PAUSE_PS   (65535 * QUANTUM_PS) /* 335.5 us */

#define FRAME_BYTES STAND_FRAME
#define FRAME_PS    ((FRAME_BYTES + WIRE_OVERHEAD_BYTES) * UINT64_C(80))

#define LOSSLESS 0x18u

#define CLASSES                                                                              \
	"classes:\n"                                                                         \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 15, ecn: off}\n"  \
	"  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 15, ecn: off}\n" \
	"  - {priority: 1, name: one, dscp: [8], weight: 14}\n"                              \
	"  - {priority: 2, name: two, dscp: [16], weight: 14}\n"                             \
	"  - {priority: 5, name: five, dscp: [40], weight: 14}\n"                            \
	"  - {priority: 0, name: best-effort, weight: 14}\n"

static struct stand *open_ports(void)
{
	return stand_create(&(struct stand_params){
		.ports = PORTS, .speed = {"100G"}, .rest = CLASSES, .packets = 6000});
}

/* Traffic and pauses are over; what waited leaves. */
static void finish(struct stand *stand)
{
	stand_stop_all(stand);
	stand_run_for(stand, 2000 * US);
	stand_check_lossless(stand, 0xff);
	cr_expect_eq(stand_all_drops(stand), 0);
	stand_free(stand);
}

/*
 * A peer hears just the pauses that the leaf means for it: none of those that it receives from others.
 */
static void check_no_leak(const struct stand *stand)
{
	for (uint16_t port = 0; port < PORTS; port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct pfc_totals totals = stand_pfc(stand, port, p);

			cr_expect_eq(stand->blaster[port].xoffs[p], totals.tx_xoff);
			cr_expect_eq(stand->blaster[port].xons[p], totals.tx_xon);
		}
	}
}

/* --- a storm --- */

static void check_storm(uint8_t priorities)
{
	const uint8_t others[] = {0, 1, 2, 5};
	struct stand *stand = open_ports();
	const struct blaster *sink = &stand->blaster[SINK];
	struct stream *held[2], *background[4];
	uint64_t sent[2], until_ps, first_ps;
	uint32_t count = 0;

	stand_storm(stand, SINK, priorities, 4000 * US, false);
	stand_run(stand, 100 * US);
	for (uint8_t p = 3; p <= 4; p++)
		if ((priorities >> p & 1) != 0)
			held[count++] = stand_flow(stand, A, SINK, p,
						   1000 * (45 / (priorities == LOSSLESS ? 2 : 1)));
	for (uint32_t i = 0; i < 4; i++)
		background[i] = stand_flow(stand, A, SINK, others[i], 11000);
	/* Until what the leaf has for them is full, and their senders are paused. */
	stand_run(stand, 1500 * US);
	for (uint32_t i = 0; i < count; i++)
		sent[i] = held[i]->sent_frames;
	stand_run(stand, 3900 * US);
	for (uint32_t i = 0; i < count; i++) {
		uint8_t p = held[i]->params.priority;
		const struct snapshot *snapshot = stand_snapshot(stand);
		const struct buffer_pair *pair =
			&snapshot->buffer.pair[p * (snapshot->port_count + 1u) + A];

		cr_expect_eq(held[i]->received_frames, 0);
		cr_expect_eq(stand_queue(stand, SINK, p).tx_packets, 0);
		cr_expect_eq(stand_pfc(stand, SINK, p).rx_pauses, 1, "one without a gap");
		cr_expect_geq(stand_pfc(stand, SINK, p).rx_frames, 3900 * US / (PAUSE_PS / 2));
		/* Upstream it is held for seven of its pauses, refreshed, without a gap either. */
		cr_expect_eq(held[i]->sent_frames, sent[i]);
		cr_expect_eq(stand_pfc(stand, A, p).tx_pauses, 1);
		cr_expect_geq(stand_pfc(stand, A, p).tx_xoff, 2400 * US / PAUSE_PS);
		cr_expect_leq(held[i]->sent_bytes, snapshot->buffer.shared_bytes +
							   pair->reserved_bytes +
							   pair->headroom_bytes);
	}
	for (uint32_t i = 0; i < 4; i++) {
		cr_expect_leq(background[i]->sent_frames - background[i]->received_frames, 8);
		/* 11G for 3.8 ms. */
		cr_expect_geq(background[i]->received_bytes * 100,
			      95 * (11 * GBPS / 8 * 3800 / 1000000) * FRAME_BYTES /
				      (FRAME_BYTES + WIRE_OVERHEAD_BYTES));
	}
	/* The last pause is never taken back: to the picosecond that it ends, the first frame begins. */
	for (uint32_t i = 0; i < 4; i++)
		stand_stop(stand, background[i]);
	stand_run(stand, 4000 * US);
	until_ps =
		sink->window[held[0]->params.priority][0].until_ps - stand->rig->engine->start_ps;
	first_ps = until_ps + FRAME_PS + sink->rx->delay_ps;
	stand_run(stand, first_ps - 1);
	cr_expect_eq(stand_missing(stand, LOSSLESS), sent[0] + (count > 1 ? sent[1] : 0));
	stand_run(stand, first_ps);
	cr_expect_eq(stand_missing(stand, LOSSLESS), sent[0] + (count > 1 ? sent[1] : 0) - 1);
	check_no_leak(stand);
	finish(stand);
}

Test(honour, HON_LL_a_paused_class_waits_and_holds_its_senders_and_others_go_on)
{
	check_storm(1u << 3);
	check_storm(1u << 4);
	check_storm(LOSSLESS);
}

/* 100 % of the line, half of it lossless; pauses take 15 % of the other direction. */
Test(honour, HON_EXT_STORM_nothing_is_lost_and_no_pause_is_forwarded)
{
	struct stand *stand = open_ports();
	struct stream *lossless[2], *lossy[2];
	uint64_t frames;

	for (uint16_t i = 0; i < 2; i++) {
		lossless[i] = stand_flow(stand, i, SINK, 3, 25000);
		lossy[i] = stand_flow(stand, i, SINK, 1, 25000);
	}
	stand_run(stand, 1000 * US);
	/* 84 bytes of every 560. */
	stand_storm(stand, SINK, 1u << 3, 2000 * US, true);
	stand->blaster[SINK].storm.interval_ps = 560 * 80;
	stand_run(stand, 1000 * US + PAUSE_PS);
	frames = lossless[0]->received_frames + lossless[1]->received_frames;
	stand_run(stand, 1990 * US);
	cr_expect_eq(lossless[0]->received_frames + lossless[1]->received_frames, frames);
	cr_expect_geq(stand_pfc(stand, SINK, 3).rx_frames, 990 * US / (560 * 80));
	for (uint32_t i = 0; i < 2; i++)
		cr_expect_leq(lossy[i]->sent_frames - lossy[i]->received_frames, 32);
	stand_run(stand, 3000 * US);
	check_no_leak(stand);
	cr_expect_gt(stand_pauses(stand, 1u << 3), 0, "senders were held");
	cr_expect_eq(stand_pauses(stand, 0xf7), 0);
	finish(stand);
}

/* Every 200 us a pause of a part of them. The lossy tenth has a place at any time. */
Test(honour, HON_THROTTLE_the_rate_follows_the_duty_cycle)
{
	static const uint32_t duty_percent[] = {10, 25, 50, 75};

	for (uint32_t i = 0; i < 4; i++) {
		struct stand *stand = open_ports();
		struct stream *lossless[2];
		uint64_t bytes, wanted;

		for (uint16_t from = 0; from < 2; from++) {
			lossless[from] = stand_flow(stand, from, SINK, 3, 60000);
			stand_flow(stand, from, SINK, 1, 5000);
		}
		stand_storm(stand, SINK, 1u << 3, 6200 * US, true);
		stand->blaster[SINK].storm.interval_ps = 200 * US;
		stand->blaster[SINK].storm.frame.quanta[3] =
			(uint16_t)(duty_percent[i] * 2 * US / QUANTUM_PS);
		stand_run(stand, 200 * US);
		bytes = lossless[0]->received_bytes + lossless[1]->received_bytes;
		stand_run(stand, 6200 * US);
		bytes = lossless[0]->received_bytes + lossless[1]->received_bytes - bytes;
		/* 6 ms of 100G; nine tenths of what isn't paused. */
		wanted = LINE_BPS / 8 * 6 / 1000 * (100 - duty_percent[i]) / 100 * 9 / 10 *
			 FRAME_BYTES / (FRAME_BYTES + WIRE_OVERHEAD_BYTES);
		cr_expect(bytes * 100 >= wanted * 95 && bytes * 100 <= wanted * 105,
			  "%u %%: %" PRIu64 ", wanted %" PRIu64, duty_percent[i], bytes, wanted);
		cr_expect_eq(stand_pfc(stand, SINK, 3).rx_pauses, 31);
		check_no_leak(stand);
		finish(stand);
	}
}
