/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The headroom that the plan computes, against peers that use up all that the standard allows them:
 * they send at line rate, obey a pause just at the end of their response limit, and finish the
 * frame that they have begun, while our own port is busy with full frames when the pause wants to
 * leave. Identifiers such as HR-DELAY name the case of a switch tester's catalogue that a test
 * covers.
 *
 * One class must take the packets that no other names, and that one is lossy: so 1 to 7 of 8
 * priorities are lossless.
 */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mempool.h>

#include "config/headroom.h"
#include "dataplane/snapshot.h"
#include "tests/lab/stand.h"

static void start(void)
{
	harness_start_packets(getenv("ROCELEAF_TEST_MATRIX") != NULL ? 700000 : HARNESS_PACKETS);
}

TestSuite(headroom_matrix, .init = start);

#define GBPS UINT64_C(1000000000)

/* The sink keeps the first peer's port busy, the feeder the second's. */
enum { SINK, PEER, PEERS = 2, FEEDER = PEER + PEERS, PORTS };

/* Share of bytes in the smallest frames; the rest is full. */
enum mix { ALL_FULL, HALF_SMALL, ALL_SMALL, MIXES };
static const char *const small_frames[MIXES] = {"0%", "50%", "100%"};

struct corner {
	const char *speed, *cable;
	uint32_t mtu;
	uint32_t priorities; /* lossless, 1..7 */
	enum mix mix;
	const char *response;
	uint32_t divisor; /* of the headroom that the plan wants; 0: 1 */
};

static void classes(char *text, size_t size, const struct corner *corner)
{
	uint32_t rdma_mtu = corner->mtu >= 4200 ? 4096 : 1024;
	size_t used = (size_t)snprintf(text, size, "classes:\n");

	for (uint32_t p = 1; p <= corner->priorities; p++)
		used += (size_t)snprintf(
			text + used, size - used,
			"  - {priority: %u, name: c%u, dscp: [%u], lossless: true, "
			"weight: 10, rdma_mtu: %u, ecn: off}\n",
			p, p, 8 * p, rdma_mtu);
	used += (size_t)snprintf(text + used, size - used,
				 "  - {priority: 0, name: best-effort, weight: 10}\n"
				 "buffer: {small_frames: %s, lossy_max: 5%%}\n",
				 small_frames[corner->mix]);
	cr_assert_lt(used, size);
}

static uint32_t full_bytes(const struct corner *corner)
{
	return (corner->mtu + 14 - 58) / 4 * 4 + 58;
}

/* Of 256 frames so many small ones make up half of the bytes. */
static uint32_t small_share(const struct corner *corner)
{
	uint32_t full = full_bytes(corner);

	switch (corner->mix) {
	case ALL_SMALL:
		return 256;
	case HALF_SMALL:
		/* Somewhat fewer than half of the bytes: the plan's promise is kept at any time. */
		return 256 * full / (full + STAND_FRAME_MIN) - 2;
	default:
		return 0;
	}
}

/*
 * All peers send all lossless priorities to the sink. Lossy frames go to them at line rate, full
 * but for a few, lest a pause always meets them at the same place.
 */
static void add_streams(struct stand *stand, const struct corner *corner)
{
	for (uint16_t peer = PEER; peer < FEEDER; peer++) {
		for (uint8_t p = 1; p <= corner->priorities; p++)
			stand_stream(stand,
				     &(struct stream_params){.from = peer,
							     .to = SINK,
							     .priority = p,
							     .large_bytes = full_bytes(corner),
							     .small_share = small_share(corner)});
		stand_stream(stand, &(struct stream_params){.from = peer == PEER ? SINK : FEEDER,
							    .to = peer,
							    .small_share = 16,
							    .large_bytes = full_bytes(corner)});
	}
}

static void divide(struct stand *stand, uint32_t divisor)
{
	struct snapshot *snapshot = (struct snapshot *)(uintptr_t)stand_snapshot(stand);

	for (uint16_t port = 0; port < PORTS; port++)
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
			snapshot_pair(snapshot, port, p)->headroom_bytes /= divisor;
}

/* As many as cost some 20,000 frames. */
static uint32_t cycles(const struct stand *stand)
{
	uint32_t count = 20000 / stand->rig->packets_max;

	return count < 2 ? 2 : count > 40 ? 40 : count;
}

/* From the first frame until half as much again as the pool holds has been offered. */
static void fill(struct stand *stand)
{
	uint64_t rate_bps = stand->rig->config->ports[PEER].speed_bps;
	uint64_t pool_bytes = stand_pool_bytes(stand);
	/* Overhead and control frames take less than half of the smallest frames' wire time. */
	uint64_t time_ps = headroom_time_ps(rate_bps, pool_bytes * 3 / 2 * 3 / 2) / (PEERS - 1);
	uint64_t offered_bytes, cable_ps = cable_delay_ps(stand->rig->config->ports[PEER].cable_mm);

	time_ps += 4 * cable_ps + 40 * headroom_time_ps(rate_bps, 9300);
	stand_run(stand, time_ps);
	/* Line rate of all peers less what the sink took; a small frame is 62 of 86 bytes. */
	offered_bytes = headroom_bytes(rate_bps, time_ps) * (PEERS - 1) / 86 * 62;
	cr_expect_gt(offered_bytes, pool_bytes);
	/*
	 * While the sink takes nothing, all that comes stays: then a pause is met by the worst that
	 * can follow. Many pauses meet many situations.
	 */
	for (uint32_t i = 0; i < cycles(stand); i++) {
		stand_storm(stand, SINK, 0xfe, stand_now_ps(stand) + time_ps + 4 * cable_ps, true);
		/* Parts of a frame's time that differ as much as can be: by the golden section. */
		stand_run_for(stand,
			      time_ps + time_ps / 4 + 8 * cable_ps +
				      i * 618 % 1000 * headroom_time_ps(rate_bps, 9216) / 1000);
	}
	stand_stop_all(stand);
}

static const char *name(const struct corner *corner)
{
	static char text[128];

	snprintf(text, sizeof(text), "%s, %s, MTU %u, %u lossless, %s of the bytes in small frames",
		 corner->speed, corner->cable, corner->mtu, corner->priorities,
		 small_frames[corner->mix]);
	return text;
}

static void drain(struct stand *stand)
{
	uint64_t rate_bps = stand->rig->config->ports[PEER].speed_bps;

	stand_run_for(stand, 3 * headroom_time_ps(rate_bps, stand_pool_bytes(stand)) +
				     8 * cable_delay_ps(stand->rig->config->ports[PEER].cable_mm) +
				     PS_PER_MS);
}

/* @return the most of a headroom that was used, in thousandths; 0: it needs too many buffers */
static uint32_t check_corner(const struct corner *corner)
{
	char rest[2048];
	struct stand_params params = {
		.ports = PORTS,
		.speed = {corner->speed},
		.cable = {corner->cable},
		.mtu = corner->mtu,
		.response = corner->response != NULL ? corner->response : "auto",
		.rest = rest,
	};
	struct stand *stand;
	uint32_t permille;
	uint8_t lossless = (uint8_t)(((1u << corner->priorities) - 1) << 1);

	classes(rest, sizeof(rest), corner);
	params.packets = stand_packets_min(&params);
	params.packets += params.packets / 4;
	if (params.packets > harness_pool()->size / 4 * 3)
		return 0;
	stand = stand_create(&params);
	if (corner->divisor > 1)
		divide(stand, corner->divisor);
	add_streams(stand, corner);
	fill(stand);
	for (uint16_t peer = PEER; peer < FEEDER; peer++)
		for (uint8_t p = 1; p <= corner->priorities; p++)
			cr_expect_gt(stand_pfc(stand, peer, p).tx_pauses, 0,
				     "%s: priority %u of peer %u was never paused", name(corner), p,
				     peer);
	permille = stand_headroom_permille(stand);
	cr_expect_gt(permille, 0, "%s", name(corner));
	drain(stand);
	if (corner->divisor <= 1) {
		cr_expect_eq(stand_drops(stand, DROP_HEADROOM), 0, "%s: %" PRIu64 " lost",
			     name(corner), stand_drops(stand, DROP_HEADROOM));
		stand_check_lossless(stand, lossless);
	} else {
		/* The pair that lost says so, and nobody else. */
		cr_expect_gt(stand_drops(stand, DROP_HEADROOM), 0, "%s", name(corner));
		cr_expect_eq(stand_missing(stand, lossless), stand_drops(stand, DROP_HEADROOM));
		stand_check_quiet(stand);
	}
	stand_free(stand);
	return permille;
}

static const char *const speeds[] = {"1G", "10G", "25G", "100G", "400G"};
static const char *const cables[] = {"1m", "40m", "300m", "2km"};
static const uint32_t mtus[] = {1500, 4200, 9216};

Test(headroom_matrix, nothing_is_lost_and_the_headroom_is_used_at_the_corners)
{
	/* Every speed with every cable; MTU, priorities and mix in turn. */
	for (uint32_t i = 0; i < 5 * 4; i++) {
		struct corner corner = {
			.speed = speeds[i % 5],
			.cable = cables[i / 5],
			.mtu = mtus[(i + i / 5) % 3],
			.priorities = i % 7 + 1,
			.mix = (enum mix)((i / 2) % MIXES),
		};

		if (check_corner(&corner) == 0) {
			/* What takes too many buffers: fewer classes, full frames. */
			corner.priorities = 1;
			corner.mix = ALL_FULL;
			cr_expect_neq(check_corner(&corner), 0, "%s", name(&corner));
		}
	}
}

Test(headroom_matrix, at_least_60_percent_of_it_are_used_everywhere)
{
	for (uint32_t i = 0; i < 5 * 4 * 3; i++) {
		const struct corner corner = {
			.speed = speeds[i % 5],
			.cable = cables[i / 5 % 4],
			.mtu = mtus[i / 20],
			.priorities = 1,
			.mix = ALL_FULL,
		};
		uint32_t permille = check_corner(&corner);

		cr_expect_geq(permille, 600, "%s: %u", name(&corner), permille);
	}
}

Test(headroom_matrix, half_of_it_is_not_enough_anywhere)
{
	for (uint32_t i = 0; i < 5; i++) {
		for (uint32_t c = 0; c < 4; c++) {
			const struct corner corner = {
				.speed = speeds[i],
				.cable = cables[c],
				.mtu = mtus[(i + c) % 3],
				.priorities = 1, /* several divide the wire among them */
				.mix = ALL_FULL,
				.divisor = 2,
			};

			check_corner(&corner);
		}
	}
}

/*
 * The matrix of 5 speeds, 4 cables, 3 MTUs, 7 numbers of classes and 3 mixes: all of it with
 * ROCELEAF_TEST_MATRIX set, as in suite long, else one in 97.
 */
Test(headroom_matrix, nothing_is_lost_anywhere)
{
	bool all = getenv("ROCELEAF_TEST_MATRIX") != NULL;
	uint32_t done = 0, skipped = 0;

	for (uint32_t i = 0; i < 5 * 4 * 3 * 7 * MIXES; i += all ? 1 : 97) {
		const struct corner corner = {
			.speed = speeds[i % 5],
			.cable = cables[i / 5 % 4],
			.mtu = mtus[i / 20 % 3],
			.priorities = i / 60 % 7 + 1,
			.mix = (enum mix)(i / 420),
		};

		if (check_corner(&corner) != 0)
			done++;
		else
			skipped++;
	}
	/* What is left out takes more buffers than the lab's pool has. */
	cr_expect_geq(done * 10, (done + skipped) * (all ? 9 : 5), "%u of %u", done,
		      done + skipped);
}

/* --- a peer's delay --- */

Test(headroom_matrix, HR_DELAY_a_peer_within_its_response_loses_nothing_a_later_one_does)
{
	static const struct {
		uint64_t delay_ps;
		bool loses;
	} rows[] = {
		{0, false},
		{2 * PS_PER_US, false},
		{4 * PS_PER_US, false},
		/* Past 4 us by all that is there for frames that were begun, and one more. */
		{4 * PS_PER_US + 5 * 339 * PS_PER_NS, true},
		{8 * PS_PER_US, true},
	};
	const struct corner corner = {
		.speed = "100G", .cable = "3m", .mtu = 4200, .priorities = 1, .mix = ALL_FULL};
	char rest[2048];

	classes(rest, sizeof(rest), &corner);
	for (uint32_t i = 0; i < 5; i++) {
		struct stand *stand = stand_create(&(struct stand_params){.ports = PORTS,
									  .speed = {"100G"},
									  .response = "4us",
									  .rest = rest,
									  .packets = 600});

		for (uint16_t peer = PEER; peer < FEEDER; peer++)
			stand->blaster[peer].response_ps = rows[i].delay_ps;
		add_streams(stand, &corner);
		fill(stand);
		cr_expect_gt(stand_pauses(stand, 2), 0);
		cr_expect_eq(stand_drops(stand, DROP_HEADROOM) != 0, rows[i].loses,
			     "%" PRIu64 " ns: %" PRIu64 " lost", rows[i].delay_ps / PS_PER_NS,
			     stand_drops(stand, DROP_HEADROOM));
		drain(stand);
		stand_check_quiet(stand);
		stand_free(stand);
	}
}

Test(headroom_matrix, HR_CABLE_every_length_has_what_it_needs)
{
	static const char *const lengths[] = {"5m", "40m", "300m"};

	for (uint32_t i = 0; i < 3; i++) {
		const struct corner corner = {.speed = "100G",
					      .cable = lengths[i],
					      .mtu = 4200,
					      .priorities = 2,
					      .mix = ALL_FULL};

		cr_expect_gt(check_corner(&corner), 0);
	}
}

/* --- run time --- */

/* 100G (12.5 bytes a ns), MTU 4200, L metres, 394 quanta; see headroom.h. */
static uint64_t expected_100g(uint64_t metres)
{
	return 4242 + 84 + metres * 10 * 125 / 10 + 394 * 64 + 4218 + 4218;
}

/* 25G (3.125 bytes a ns), the same MTU, 80 quanta. */
static uint64_t expected_25g(uint64_t metres)
{
	return 4242 + 84 + metres * 10 * 3125 / 1000 + 80 * 64 + 4218 + 4218;
}

/* All ports at 100G and 4 m, their peers as slow as the standard allows. */
static struct stand_params at_100g(const char *rest, uint32_t packets)
{
	return (struct stand_params){.ports = PORTS,
				     .speed = {"100G"},
				     .cable = {"4m"},
				     .response = "auto",
				     .rest = rest,
				     .packets = packets};
}

Test(headroom_matrix, HR_SIZE_FORMULA_speed_and_cable_change_one_port_alone)
{
	struct corner corner = {.mtu = 4200, .priorities = 1, .mix = ALL_FULL};
	char rest[2048];
	struct stand_params params = at_100g(rest, 10000);
	struct stand *stand;

	classes(rest, sizeof(rest), &corner);
	stand = stand_create(&params);
	for (uint16_t port = 0; port < PORTS; port++)
		cr_expect_eq(snapshot_pair(stand_snapshot(stand), port, 1)->headroom_bytes,
			     expected_100g(4));
	params.cable[PEER] = "320m";
	cr_assert_eq(stand_reload(stand, &params), 0);
	stand_run_for(stand, PS_PER_US);
	cr_expect_eq(snapshot_pair(stand_snapshot(stand), PEER, 1)->headroom_bytes,
		     expected_100g(320));
	params.speed[PEER + 1] = "25G";
	params.cable[PEER + 1] = "32m";
	cr_assert_eq(stand_reload(stand, &params), 0);
	stand_run_for(stand, PS_PER_US);
	cr_expect_eq(snapshot_pair(stand_snapshot(stand), PEER + 1, 1)->headroom_bytes,
		     expected_25g(32));
	cr_expect_eq(snapshot_pair(stand_snapshot(stand), PEER, 1)->headroom_bytes,
		     expected_100g(320));
	for (uint16_t port = 0; port < PORTS; port++) {
		cr_expect_eq(snapshot_pair(stand_snapshot(stand), port, 1)->reserved_bytes, 4218);
		if (port != PEER && port != PEER + 1)
			cr_expect_eq(snapshot_pair(stand_snapshot(stand), port, 1)->headroom_bytes,
				     expected_100g(4));
	}
	stand_free(stand);
}

Test(headroom_matrix, HR_EXCEED_a_cable_too_long_is_refused_and_nothing_changes)
{
	struct corner corner = {.mtu = 4200, .priorities = 1, .mix = ALL_FULL};
	char rest[2048];
	struct stand_params params = at_100g(rest, 1000);
	const struct snapshot *before;
	struct stand *stand;

	classes(rest, sizeof(rest), &corner);
	stand = stand_create(&params);
	add_streams(stand, &corner);
	stand_run(stand, 100 * PS_PER_US);
	before = stand_snapshot(stand);
	/* 40 km: 400 us there and back, 5 MB; the pool has some 4. */
	params.cable[PEER] = "40km";
	cr_expect_eq(stand_reload(stand, &params), -EINVAL);
	cr_expect_eq(stand_snapshot(stand), before);
	stand_run(stand, 500 * PS_PER_US);
	cr_expect_gt(stand_pauses(stand, 2), 0);
	stand_stop_all(stand);
	drain(stand);
	stand_check_lossless(stand, 2);
	stand_free(stand);
}

/* --- one headroom for all --- */

/*
 * Twice oversubscribed: two of the five ports at once fit into what 5/2 of them need, and lose
 * nothing; a pair has nothing of its own but its reserve.
 */
Test(headroom_matrix, HR_SHARED_ports_that_fit_the_pool_at_once_lose_nothing)
{
	static const char *const rest =
		"classes:\n"
		"  - {priority: 1, name: c1, dscp: [8], lossless: true, weight: 10,\n"
		"     rdma_mtu: 4096, ecn: off}\n"
		"  - {priority: 0, name: best-effort, weight: 10}\n"
		"buffer: {small_frames: 0%, headroom_pool: {oversubscribe: 2}}\n";
	struct stand_params params = {.ports = 5,
				      .speed = {"100G"},
				      .cable = {"40m"},
				      .response = "auto",
				      .rest = rest,
				      .packets = 400};
	struct buffer_pool_totals pool;
	struct stand *stand = stand_create(&params);
	uint64_t each = expected_100g(40), peak = 0;

	cr_assert_eq(stand_snapshot(stand)->buffer.headroom_pool_bytes, 5 * each / 2);
	for (uint16_t peer = 1; peer <= 2; peer++)
		stand_stream(stand,
			     &(struct stream_params){
				     .from = peer, .to = 0, .priority = 1, .large_bytes = 4214});
	stand_stream(stand, &(struct stream_params){
				    .from = 0, .to = 1, .small_share = 16, .large_bytes = 4214});
	stand_stream(stand, &(struct stream_params){
				    .from = 3, .to = 2, .small_share = 16, .large_bytes = 4214});
	for (uint64_t t = PS_PER_US; t < 500 * PS_PER_US; t += PS_PER_US / 4) {
		if (stand_now_ps(stand) % (40 * PS_PER_US) == 0)
			stand_storm(stand, 0, 2, t + 20 * PS_PER_US, true);
		stand_run(stand, t);
		leaf_buffer_pool_totals(stand->rig->leaf->leaf, stand_snapshot(stand), &pool);
		cr_assert_leq(pool.headroom_used_bytes,
			      stand_snapshot(stand)->buffer.headroom_pool_bytes);
		peak = pool.headroom_used_bytes > peak ? pool.headroom_used_bytes : peak;
	}
	cr_expect_gt(stand_pauses(stand, 2), 0);
	cr_expect_gt(peak, each, "both at once: %" PRIu64 " of %" PRIu64, peak, each);
	stand_stop_all(stand);
	drain(stand);
	stand_check_lossless(stand, 2);
	stand_free(stand);
}

/* Peers that never obey: nothing is lost until the pool is used up, to the frame. */
Test(headroom_matrix, HR_POOL_nothing_is_lost_until_the_pool_is_used_up)
{
	static const char *const rest =
		"classes:\n"
		"  - {priority: 1, name: c1, dscp: [8], lossless: true, weight: 10,\n"
		"     rdma_mtu: 4096, ecn: off}\n"
		"  - {priority: 2, name: c2, dscp: [16], lossless: true, weight: 10,\n"
		"     rdma_mtu: 4096, ecn: off}\n"
		"  - {priority: 0, name: best-effort, weight: 10}\n"
		"buffer: {small_frames: 0%, headroom_pool: {oversubscribe: 2}}\n";
	struct stand_params params = {.ports = 10,
				      .speed = {"100G"},
				      .cable = {"40m"},
				      .response = "auto",
				      .rest = rest,
				      .packets = 600};
	struct stand *stand = stand_create(&params);
	uint64_t size = stand_snapshot(stand)->buffer.headroom_pool_bytes;
	struct buffer_pool_totals pool, before = {0};

	/* 18 pairs, 9 ports of 2; the sink takes nothing. */
	stand_storm(stand, 0, 6, 10 * PS_PER_MS, true);
	stand_run(stand, 10 * PS_PER_US);
	for (uint16_t peer = 1; peer <= 9; peer++) {
		stand->blaster[peer].response_ps = PS_PER_S;
		for (uint8_t p = 1; p <= 2; p++)
			stand_stream(stand, &(struct stream_params){.from = peer,
								    .to = 0,
								    .priority = p,
								    .start_ps = 10 * PS_PER_US,
								    .large_bytes = 1082});
	}
	for (;;) {
		cr_assert_lt(stand_now_ps(stand), 2 * PS_PER_MS);
		stand_run_for(stand, 10 * PS_PER_NS);
		leaf_buffer_pool_totals(stand->rig->leaf->leaf, stand_snapshot(stand), &pool);
		cr_assert_leq(pool.headroom_used_bytes, size);
		if (stand_drops(stand, DROP_HEADROOM) != 0)
			break;
		before = pool;
	}
	/* Frames come at most one per peer at once. */
	cr_expect_geq(before.headroom_used_bytes + 9 * 1082, size);
	cr_expect_gt(pool.headroom_used_bytes + 1082, size);
	cr_expect_eq(stand_all_drops(stand), stand_drops(stand, DROP_HEADROOM));
	for (uint8_t p = 1; p <= 2; p++)
		cr_expect_eq(stand_queue(stand, 0, p).tx_packets, 0);
	/* It counts at the pairs that lost, and all is free again afterwards. */
	for (uint16_t peer = 1; peer <= 9; peer++)
		stand->blaster[peer].response_ps = 0;
	stand_stop_all(stand);
	stand_run(stand, 12 * PS_PER_MS);
	stand_check_quiet(stand);
	stand_free(stand);
}
