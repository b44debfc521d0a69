/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What congestion does to those who don't cause it: head-of-line blocking in the class that is paused,
 * and nothing at all elsewhere. Identifiers such as BUF-LOSSY-ISO name the case of a switch tester's
 * catalogue that a test covers.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/snapshot.h"
#include "tests/lab/stand.h"

TestSuite(isolation, .init = harness_start);

#define US       PS_PER_US
#define FRAME    STAND_FRAME
#define LOSSLESS 0x18u

/* --- head-of-line blocking --- */

/*
 * Host A sends 60G to B, whose port takes 25G, and 20G to C, whose port is idle, both in one class.
 * The leaf can pause only that class of A, so A sends either both or none of it. B's port is always
 * busy, so A's first flow gets 25 of 60: A may send for 25/60 of the time, whatever the
 * thresholds are, and then its second flow sends at 20G: theory says 20G * 25/60 = 8.33G.
 */
enum { A, B, C, D, PORTS };

struct rates {
	uint64_t blocked, victim, class, host; /* frames in 4 ms */
	uint64_t pauses, paused_ps;
};

#define RUN_PS (4000 * US)

static struct rates block_head(bool blocked)
{
	struct stand *stand = stand_create(&(struct stand_params){
		.ports = PORTS,
		.speed = {"100G", "25G", "100G", "100G"},
		.mtu = 1500,
		.packets = 4000,
		.rest = "classes:\n"
			"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 40,\n"
			"     rdma_mtu: 1024, ecn: off}\n"
			"  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 40,\n"
			"     rdma_mtu: 1024, ecn: off}\n"
			"  - {priority: 0, name: best-effort, weight: 20}\n"
			"buffer: {small_frames: 0%, xon_offset: 500KB}\n"});
	struct stream *stream[4] = {NULL};
	uint64_t paused_ps, frames[4] = {0};
	struct rates rates;

	if (blocked)
		stream[0] = stand_flow(stand, A, B, 3, 60000);
	stream[1] = stand_flow(stand, A, C, 3, 20000);
	stream[2] = stand_flow(stand, A, C, 4, 10000);
	stream[3] = stand_flow(stand, D, C, 3, 30000);
	stand_run(stand, 1500 * US);
	for (uint32_t i = blocked ? 0 : 1; i < 4; i++)
		frames[i] = stream[i]->received_frames;
	paused_ps = stand_pfc(stand, A, 3).tx_paused_ps;
	stand_run_for(stand, RUN_PS);
	for (uint32_t i = blocked ? 0 : 1; i < 4; i++)
		frames[i] = stream[i]->received_frames - frames[i];
	paused_ps = stand_pfc(stand, A, 3).tx_paused_ps - paused_ps;
	cr_expect_eq(stand_pauses(stand, 0xff), stand_pfc(stand, A, 3).tx_pauses,
		     "nobody but A, and only that class");
	rates = (struct rates){
		frames[0], frames[1], frames[2], frames[3], stand_pauses(stand, 0xff), paused_ps};
	stand_stop_all(stand);
	stand_run_for(stand, 2000 * US);
	cr_expect_eq(stand_all_drops(stand), 0);
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
	return rates;
}

/* Frames that a rate makes in RUN_PS. */
static double frames_of(double gbps)
{
	return gbps * (double)RUN_PS / PS_PER_NS / (8 * (FRAME + WIRE_OVERHEAD_BYTES));
}

static void expect_within(const char *what, uint64_t frames, double wanted, double ppm)
{
	double off = (double)frames - wanted;

	off = off < 0 ? -off : off;
	cr_expect_leq(off, wanted * ppm / 1e6, "%s: %" PRIu64 " frames, theory says %.1f", what,
		      frames, wanted);
}

Test(isolation, PFC_HOL_VICTIM_gets_as_much_as_its_host_may_send_and_others_all_they_want)
{
	struct rates alone = block_head(false), rates = block_head(true);

	/* First of all: without congestion all get what they want. */
	cr_expect_eq(alone.pauses, 0);
	expect_within("victim alone", alone.victim, frames_of(20), 1000);
	expect_within("other class alone", alone.class, frames_of(10), 1000);
	expect_within("other host alone", alone.host, frames_of(30), 1000);
	cr_expect_gt(rates.pauses, 10);
	/* B's port is never idle: to the frame. */
	expect_within("blocked", rates.blocked, frames_of(25), 1000);
	/*
	 * 30 cycles of 150 us, one more or less in the time; and each time it is let go, a stream's frame
	 * that is overdue goes at once. 3 % are for that.
	 */
	expect_within("victim", rates.victim, frames_of(20 * 25.0 / 60), 30000);
	cr_expect_leq(
		rates.class > alone.class ? rates.class - alone.class : alone.class - rates.class,
		1, "another class of the same host");
	cr_expect_leq(rates.host > alone.host ? rates.host - alone.host : alone.host - rates.host,
		      1, "the same class of another host");
	/* The leaf says so itself: A was paused for 35/60 of the time. */
	cr_expect(rates.paused_ps * 60 > RUN_PS / 100 * 35 * 97 &&
			  rates.paused_ps * 60 < RUN_PS / 100 * 35 * 103,
		  "paused for %" PRIu64 " us", rates.paused_ps / US);
}

/* --- lossy congestion --- */

/* xoff levels of all lossless pairs; they must not move. */
static void check_levels(const struct stand *stand, uint64_t level)
{
	for (uint16_t port = 0; port < stand->rig->port_count; port++)
		for (uint8_t p = 3; p <= 4; p++)
			cr_assert_eq(stand_buffer(stand, port, p).xoff_bytes, level,
				     "port %u, priority %u", port, p);
}

enum { LOSSLESS_SOURCE, LOSSLESS_SINK, LOSSY_SINK, LOSSY_SOURCE, LOSSY_SOURCES = 8 };

/*
 * The lossless port takes nothing any more, while the flood goes on: its source is paused where it would be
 * without, at its reserve and a half of what is shared (alpha is 1).
 */
static void check_xoff(struct stand *stand)
{
	uint64_t xoff = 8000 + stand_snapshot(stand)->buffer.shared_bytes / 2, at;
	struct buffer_totals totals;

	stand_storm(stand, LOSSLESS_SINK, LOSSLESS, 10 * PS_PER_S, true);
	stand_run_for(stand, 250 * US);
	totals = stand_buffer(stand, LOSSLESS_SOURCE, 3);
	at = totals.occupancy_bytes - totals.headroom_used_bytes;
	cr_expect_eq(stand_pauses(stand, 0xff), 1);
	cr_expect(at > xoff && at <= xoff + FRAME, "paused at %" PRIu64 ", wanted %" PRIu64, at,
		  xoff);
	stand_storm(stand, LOSSLESS_SINK, LOSSLESS, stand_now_ps(stand), true);
}

/* @return the lossless stream's worst latency; its frames in *frames */
static uint64_t run_lossy(uint16_t sources, uint64_t *frames)
{
	struct stand *stand = stand_create(&(struct stand_params){
		.ports = LOSSY_SOURCE + LOSSY_SOURCES,
		.speed = {"100G"},
		.mtu = 1500,
		.packets = 3000,
		.rest = "classes:\n"
			"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 40,\n"
			"     rdma_mtu: 1024, ecn: off}\n"
			"  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 40,\n"
			"     rdma_mtu: 1024, ecn: off}\n"
			"  - {priority: 0, name: best-effort, weight: 20, ecn: off}\n"
			"buffer: {small_frames: 0%, reserved: {roce: 8KB, other: 8KB}}\n"});
	uint64_t level = stand_buffer(stand, LOSSLESS_SOURCE, 3).xoff_bytes, latency_ps;
	struct stream *stream = stand_flow(stand, LOSSLESS_SOURCE, LOSSLESS_SINK, 3, 100000);

	for (uint16_t i = 0; i < sources; i++)
		stand_flow(stand, (uint16_t)(LOSSY_SOURCE + i), LOSSY_SINK, 0, 100000);
	for (uint32_t i = 0; i < 500; i++) {
		stand_run_for(stand, 2 * US);
		check_levels(stand, level);
	}
	cr_expect_eq(stand_pauses(stand, 0xff), 0, "%u sources", sources);
	/* Of 8 at line rate 7 are lost, less what the buffer holds. */
	if (sources != 0)
		cr_expect_gt(stand_all_drops(stand) * 10, 8 * stand_missing(stand, 1u << 0));
	cr_expect_eq(stand_all_drops(stand), stand_queue(stand, LOSSY_SINK, 0).drop_packets);
	latency_ps = stream->latency_max_ps;
	*frames = stream->received_frames;
	check_xoff(stand);
	stand_stop_all(stand);
	stand_run_for(stand, 1000 * US);
	cr_expect_eq(stand_missing(stand, 1u << 0), stand_all_drops(stand));
	stand_check_lossless(stand, LOSSLESS);
	stand_free(stand);
	return latency_ps;
}

Test(isolation, BUF_LOSSY_ISO_eight_lossy_sources_at_one_port_are_nothing_to_a_lossless_one)
{
	uint64_t frames_alone, frames, alone_ps = run_lossy(0, &frames_alone);
	uint64_t flooded_ps = run_lossy(LOSSY_SOURCES, &frames);

	cr_expect_eq(frames, frames_alone);
	cr_expect_eq(flooded_ps, alone_ps, "to the picosecond: %" PRIu64 " and %" PRIu64,
		     flooded_ps, alone_ps);
	/* Two wires of 3 m. */
	cr_expect_eq(alone_ps, 2 * ((FRAME + 24) * UINT64_C(80) + 15000));
}

/*
 * A checkpoint is written across a fabric: lossy frames of full length, at three of whose hops there is
 * more than the wire takes, and a lossless flow that goes the same way.
 *
 * Round robin by deficit: the lossy queue has weight 20, a quantum of 2560 bytes. It begins a frame
 * only while its deficit is above zero, so that with frames of 4154 bytes it sends one in a row. A
 * lossless packet that has its own weight left so waits for one frame of the port's MTU at each hop.
 */
#define HOPS     UINT64_C(3)
#define MTU_PS   ((4200 + 18 + 24) * UINT64_C(80)) /* at 100G */
#define FLOOD_PS (2 * PS_PER_MS)

#define CHECKPOINT                                                                              \
	"duration: 3ms\n"                                                                       \
	"fabric: {leaf_spine: {leaves: 3, spines: 1, hosts_per_leaf: 4, uplink_speed: 100G}}\n" \
	"leaf:\n"                                                                               \
	"  memory: 16MiB\n"                                                                     \
	"  buffer: {reserved: {roce: 12KB}}\n"                                                  \
	"  classes:\n"                                                                          \
	"    - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60}\n"             \
	"    - {priority: 0, name: best-effort, weight: 20, ecn: off}\n"                        \
	"hosts: {mtu: 4096}\n"                                                                  \
	"traffic:\n"                                                                            \
	"  - flow: {name: lossless, from: leaf1.h1, to: leaf2.h1, rate: %s, payload: %s}\n"

static const char flood[] = "  - flow: {from: leaf1.h2, to: leaf2.h1, class: best-effort}\n"
			    "  - flow: {from: leaf1.h3, to: leaf2.h1, class: best-effort}\n"
			    "  - flow: {from: leaf3.h1, to: leaf2.h1, class: best-effort}\n"
			    "  - flow: {from: leaf3.h2, to: leaf2.h2, class: best-effort}\n"
			    "  - flow: {from: leaf2.h3, to: leaf2.h1, class: best-effort}\n";

struct pairs {
	uint64_t level_bytes[3 + 1][16];
};

static void read_levels(struct simulation *simulation, struct pairs *pairs)
{
	for (uint32_t s = 0; s < simulation->scenario->topology->switch_count; s++) {
		const struct switch_node *node = simulation->fabric->switches[s];

		cr_assert(s < 4 && node->port_count <= 16);
		for (uint16_t port = 0; port < node->port_count; port++) {
			struct buffer_totals totals;

			leaf_buffer_totals(node->leaf, node->snapshot, port, 3, &totals);
			pairs->level_bytes[s][port] = totals.xoff_bytes;
		}
	}
}

struct checkpoint {
	uint64_t latency_max_ps, frames;
};

static struct checkpoint run_checkpoint(const char *rate, const char *payload, bool flooded)
{
	struct pairs before = {0}, now = {0};
	struct simulation *simulation;
	struct checkpoint result;
	uint64_t lossy_drops = 0;
	char text[4096];

	snprintf(text, sizeof(text), CHECKPOINT "%s", rate, payload, flooded ? flood : "");
	simulation = harness_begin(text);
	harness_run_to(simulation, 1);
	read_levels(simulation, &before);
	for (uint64_t t = 2 * US; t <= FLOOD_PS; t += 2 * US) {
		harness_run_to(simulation, t);
		read_levels(simulation, &now);
		cr_assert_eq(memcmp(&before, &now, sizeof(now)), 0,
			     "a level moved, at %" PRIu64 " us", t / US);
	}
	for (uint32_t s = 0; s < simulation->scenario->topology->switch_count; s++) {
		const struct switch_node *node = simulation->fabric->switches[s];
		uint64_t drops = 0;

		cr_expect_eq(harness_pauses(simulation, s, 0xff), 0);
		for (uint16_t port = 0; port < node->port_count; port++) {
			struct queue_totals queue;

			leaf_queue_totals(node->leaf, port, 3, &queue);
			cr_expect_eq(queue.drop_packets, 0);
			leaf_queue_totals(node->leaf, port, 0, &queue);
			drops += queue.drop_packets;
		}
		/* Each switch is one of its hops. */
		if (s != 2)
			cr_expect(!flooded || drops > 100, "switch %u: %" PRIu64, s, drops);
		lossy_drops += drops;
	}
	cr_expect_eq(harness_drops(simulation), lossy_drops);
	result.latency_max_ps = harness_flow(simulation, "lossless")->latency_max_ps;
	result.frames = harness_flow(simulation, "lossless")->received_packets;
	harness_finish(simulation);
	return result;
}

Test(isolation, a_lossy_flood_costs_a_lossless_flow_one_mtu_a_hop_and_moves_no_threshold)
{
	static const struct {
		const char *rate, *payload;
		uint32_t frame_bytes;
	} rows[] = {{"20G", "1024", 1082}, {"50G", "4096", 4154}, {"5G", "256", 314}};

	for (uint32_t i = 0; i < 3; i++) {
		struct checkpoint alone = run_checkpoint(rows[i].rate, rows[i].payload, false);
		struct checkpoint with = run_checkpoint(rows[i].rate, rows[i].payload, true);

		cr_expect_leq(with.latency_max_ps, alone.latency_max_ps + HOPS * MTU_PS,
			      "%s: %" PRIu64 " ns, alone %" PRIu64, rows[i].rate,
			      with.latency_max_ps / PS_PER_NS, alone.latency_max_ps / PS_PER_NS);
		/* Somebody has had to wait, or nothing was tested. */
		cr_expect_gt(with.latency_max_ps, alone.latency_max_ps + MTU_PS / 2);
		/* What is missing at the end is what waits: as many as an MTU a hop lasts. */
		cr_expect_leq(with.frames, alone.frames);
		cr_expect_geq((with.frames + 1) * rows[i].frame_bytes + HOPS * 4242,
			      alone.frames * rows[i].frame_bytes, "%s: %" PRIu64 " of %" PRIu64,
			      rows[i].rate, with.frames, alone.frames);
	}
}
