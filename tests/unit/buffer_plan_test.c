/* SPDX-License-Identifier: BSD-3-Clause */
/* Expected values are worked out by hand from the formulas of buffer_plan.h and headroom.h. */
#include <criterion/criterion.h>

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "config/buffer_plan.h"

#define G UINT64_C(1000000000)

#define PORTS_MAX 64

struct fixture {
	struct config *config;
	struct config_errors errors;
	struct buffer_machine_port port[PORTS_MAX];
	struct buffer_machine machine;
	struct buffer_plan plan;
};

static struct fixture fixture;

/* A config, on an ideal leaf of one worker with so many buffers. */
static void load(const char *text, uint32_t buffers)
{
	fixture = (struct fixture){.machine = {.workers = 1, .buffers = buffers}};
	fixture.machine.port = fixture.port;
	fixture.config = config_load_string("b.yaml", text, strlen(text), &fixture.errors);
	cr_assert_not_null(fixture.config, "%s", fixture.errors.error[0].text);
	for (uint32_t i = 0; i < PORTS_MAX; i++)
		fixture.port[i].rate_bps = 10 * G;
}

static const struct buffer_plan *plan(void)
{
	cr_assert_eq(buffer_plan_create(fixture.config, &fixture.machine, &fixture.plan,
					&fixture.errors),
		     0, "%s", fixture.errors.error[0].text);
	cr_assert_eq(fixture.errors.count, 0);
	return &fixture.plan;
}

static void drop(void)
{
	buffer_plan_free(&fixture.plan);
	config_free(fixture.config);
}

/* Refused with one message that has all of these in it. */
static void refused(const char *text, uint32_t buffers, const char *const *words)
{
	load(text, buffers);
	cr_assert_eq(buffer_plan_create(fixture.config, &fixture.machine, &fixture.plan,
					&fixture.errors),
		     -EINVAL, "%s was taken", text);
	cr_assert_eq(fixture.errors.count, 1);
	for (; *words != NULL; words++)
		cr_expect_not_null(strstr(fixture.errors.error[0].text, *words), "no \"%s\" in: %s",
				   *words, fixture.errors.error[0].text);
	cr_expect_null(fixture.plan.pair, "nothing is left behind");
	drop();
}

#define CLASSES(roce)                                                                         \
	"classes:\n"                                                                          \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, rdma_mtu: 4096" roce "}\n" \
	"  - {priority: 0, name: be}\n"
#define TWO                                                                   \
	"ports:\n"                                                            \
	"  - {name: a, device: eth1, speed: 100G, mtu: 4200, nic_delay: 0}\n" \
	"  - {name: b, device: eth2, speed: 25G, mtu: 4200, cable: 40m, nic_delay: 0}\n"

/* One over (0.1/60 + 0.9/F): F 1082 400.29, 4154 530.9; s 0: F; s 1: 60. */
Test(buffer_plan, knows_the_mean_of_frames_that_keep_the_promise)
{
	cr_expect_eq(buffer_plan_mean_bytes(100000, 1082), 400);
	cr_expect_eq(buffer_plan_mean_bytes(100000, 4154), 530);
	cr_expect_eq(buffer_plan_mean_bytes(0, 4154), 4154);
	cr_expect_eq(buffer_plan_mean_bytes(1000000, 4154), 60);
	cr_expect_eq(buffer_plan_mean_bytes(500000, 60), 60);
}

/*
 * TWO, small_frames 0: m = 4096 + 58 = 4154.
 * Headroom a, 100G: 4242 + 84 + 2*3 m*5 ns = 375 + 394*64 = 25216 + 2*4218 = 38353
 *	     b, 25G:  4242 + 84 + 2*40 m*5 ns = 400 ns = 1250 + 80*64 = 5120 + 2*4218 = 19132
 * guard     ceil(38353/4154) = 10, ceil(19132/4154) = 5, held 100: 115
 * space     (10000 - 115) * 4154 = 41,062,290
 * reserved  2 * 4218 = 8436; overshoot 32 * 4218 = 134,976
 * lossy     30 % = 12,318,687
 * B         41,062,290 - 8436 - 134,976 - 12,318,687 = 28,600,191
 * T         B / 3 = 9,533,397; alone B/2 = 14,300,095; in a row B/4 = 7,150,047
 */
Test(buffer_plan, divides_a_small_pool_as_worked_out_by_hand)
{
	const struct buffer_plan *p;

	load(TWO CLASSES("") "buffer: {small_frames: 0%}\n", 10000);
	fixture.machine.held_buffers = 100;
	p = plan();
	cr_expect_eq(p->pair_count, 2);
	cr_expect_eq(p->mean_bytes, 4154);
	cr_expect_eq(buffer_plan_pair(p, 3, 0)->headroom_bytes, 38353);
	cr_expect_eq(buffer_plan_pair(p, 3, 1)->headroom_bytes, 19132);
	cr_expect_eq(buffer_plan_pair(p, 3, 0)->reserved_bytes, 4218);
	cr_expect_eq(buffer_plan_pair(p, 0, 0)->headroom_bytes, 0, "lossy");
	cr_expect_eq(buffer_plan_pair(p, 0, 0)->reserved_bytes, 0, "lossy");
	cr_expect_eq(p->headroom_buffers, 15);
	cr_expect_eq(p->guard_buffers, 115);
	cr_expect_eq(p->headroom_bytes, 38353 + 19132);
	cr_expect_eq(p->reserved_bytes, 8436);
	cr_expect_eq(p->overshoot_bytes, 134976);
	cr_expect_eq(p->lossy_bytes, 12318687);
	cr_expect_eq(p->lossy_buffers, 12318687 / 4154);
	cr_expect_eq(p->shared_bytes, 28600191);
	cr_expect_eq(p->pool_bytes, 41062290 + 38353 + 19132);
	cr_expect_eq(p->class[3].equal_bytes, 9533397);
	cr_expect_eq(p->class[3].alone_bytes, 14300095);
	cr_expect_eq(p->class[3].floor_bytes, 7150047, "two floors on the way: %" PRIu64,
		     p->class[3].floor_bytes);
	cr_expect_eq(p->class[3].xon_offset_bytes, 2 * (4096 + 98));
	drop();
}

/* ecn auto: 1 KB per Gb/s; three frames of 4218 where that is more (25G: 25 KB, 1G: 12,654). */
Test(buffer_plan, marks_by_the_speed_of_the_egress_port)
{
	const struct buffer_plan *p;

	load(TWO "  - {name: c, device: eth3, speed: 1G, mtu: 4200}\n" CLASSES(""), 100000);
	p = plan();
	cr_expect_eq(buffer_plan_queue(p, 3, 0)->ecn_curve.min_bytes, 100000);
	cr_expect_eq(buffer_plan_queue(p, 3, 0)->ecn_curve.max_bytes, 400000);
	cr_expect_eq(buffer_plan_queue(p, 3, 0)->ecn_curve.pmax_ppm, 200000);
	cr_expect_eq(buffer_plan_queue(p, 3, 1)->ecn_curve.min_bytes, 25000);
	cr_expect_eq(buffer_plan_queue(p, 3, 2)->ecn_curve.min_bytes, 3 * 4218);
	cr_expect_eq(buffer_plan_queue(p, 3, 2)->ecn_curve.max_bytes, 12 * 4218);
	cr_expect_not(buffer_plan_queue(p, 3, 0)->scaled);
	cr_expect_eq(buffer_plan_queue(p, 3, 0)->k, p->class[3].equal_bytes / 100000);
	cr_expect_not(buffer_plan_queue(p, 0, 0)->ecn, "lossy, by default");
	drop();
}

/*
 * As in the first test with 400 buffers, held 0: space (400 - 15) * 4154 = 1,599,290, lossy 479,787,
 * B = 1,599,290 - 8436 - 134,976 - 479,787 = 976,091, T = 325,363. Kmax 400,000 and two frames don't fit:
 * Kmin = (325,363 - 8436) / 4 = 79,231.
 */
Test(buffer_plan, scales_marking_down_until_it_is_complete_before_a_pause)
{
	const struct buffer_plan_queue *queue;

	load(TWO CLASSES("") "buffer: {small_frames: 0%}\n", 400);
	cr_assert_eq(plan()->class[3].equal_bytes, 325363);
	queue = buffer_plan_queue(&fixture.plan, 3, 0);
	cr_expect(queue->scaled);
	cr_expect_eq(queue->ecn_curve.min_bytes, 79231);
	cr_expect_eq(queue->ecn_curve.max_bytes, 4 * 79231);
	cr_expect_eq(queue->k, 325363 / 79231);
	cr_expect_not(buffer_plan_queue(&fixture.plan, 3, 1)->scaled, "25G needs 100 KB");
	drop();
}

Test(buffer_plan, refuses_a_kmax_that_lies_above_the_worst_xoff)
{
	/* T - 2 frames = 325,363 - 8436 = 316,927. */
	static const char *const words[] = {"b.yaml:5:98: ",        "class roce",
					    "kmax 316.9 KB",        "325.3 KB",
					    "at most 316927 bytes", NULL};

	load(TWO CLASSES(", ecn: {kmin: 1KB, kmax: 316927}") "buffer: {small_frames: 0%}\n", 400);
	(void)plan();
	drop();
	refused(TWO CLASSES(", ecn: {kmin: 1KB, kmax: 316928}") "buffer: {small_frames: 0%}\n", 400,
		words);
	load(TWO CLASSES(
		     ", ecn: {kmin: 1KB, kmax: 316928}") "buffer: {small_frames: 0%, allow_pfc_before_ecn: true}\n",
	     400);
	(void)plan();
	drop();
}

/* With 100 buffers T = (85 * 4154 * 0.7 - 143,412) / 3 = 34,583: kmin of 3 frames needs 59,052. */
Test(buffer_plan, refuses_to_scale_marking_under_three_frames)
{
	static const char *const words[] = {"class roce", "port a",     "3 frames", "12.6 KB",
					    "50.6 KB",    "8436 bytes", "34.5 KB",  NULL};

	refused(TWO CLASSES("") "buffer: {small_frames: 0%}\n", 100, words);
	load(TWO CLASSES("") "buffer: {small_frames: 0%, allow_pfc_before_ecn: true}\n", 100);
	(void)plan();
	cr_expect_eq(buffer_plan_queue(&fixture.plan, 3, 0)->ecn_curve.min_bytes, 3 * 4218);
	drop();
	load(TWO CLASSES(", ecn: off") "buffer: {small_frames: 0%}\n", 100);
	(void)plan();
	cr_expect_not(buffer_plan_queue(&fixture.plan, 3, 0)->ecn);
	drop();
}

Test(buffer_plan, refuses_headroom_that_does_not_fit)
{
	static const char *const guard[] = {
		"headroom of 2 pairs", "57.4 KB",     "15 buffers", "4154 bytes",
		"all of the 15",       "more memory", NULL};
	static const char *const space[] = {"headroom of 2 pairs",
					    "57.4 KB",
					    "reserve 8.4 KB",
					    "bursts 134.9 KB",
					    "leave nothing of",
					    "more memory",
					    NULL};

	refused(TWO CLASSES("") "buffer: {small_frames: 0%}\n", 15, guard);
	refused(TWO CLASSES("") "buffer: {small_frames: 0%}\n", 16, space);
	/* (60 - 15) * 4154 * 0.7 < 8436 + 134,976. */
	refused(TWO CLASSES("") "buffer: {small_frames: 0%}\n", 60, space);
}

Test(buffer_plan, refuses_an_xon_that_is_not_below_xoff)
{
	static const char *const equal[] = {"class roce on port a", "xon at 9536209 bytes",
					    "xoff at 9536209", NULL};
	static const char *const deep[] = {"xon_offset 20000000 bytes", "class roce", "port a",
					   NULL};

	/* Without reserve B = 28,600,191 + 8436 + 0, T = 9,536,209 (held 0: + 100 * 4154 * 0.7). */
	refused(TWO CLASSES("") "buffer: {small_frames: 0%, xon_offset: 0, reserved: {roce: 0}}\n",
		9900, equal);
	refused(TWO CLASSES("") "buffer: {small_frames: 0%, xon_offset: 20MB}\n", 9900, deep);
	load(TWO CLASSES("") "buffer: {small_frames: 0%, xon_offset: 0}\n", 9900);
	(void)plan();
	drop();
}

/*
 * Alphas 2 and 1/2 on four ports each: T = alpha B / (1 + 4*2 + 4/2) = alpha B / 11; alone
 * 2B/3 and B/3; in a row B / (3^4 * 1.5^4) = B / 410.06 times alpha.
 */
Test(buffer_plan, weighs_classes_by_their_alphas)
{
	const struct buffer_plan *p;
	uint64_t b;

	load("ports:\n"
	     "  - {name: a, device: eth1}\n  - {name: b, device: eth2}\n"
	     "  - {name: c, device: eth3}\n  - {name: d, device: eth4}\n"
	     "classes: sonic\nbuffer: {alpha: {tc3: 2, tc4: 1/2}}\n",
	     100000);
	p = plan();
	b = p->shared_bytes;
	cr_expect_eq(p->pair_count, 8);
	cr_expect_eq(p->class[3].equal_bytes, 2 * b / 11);
	cr_expect_eq(p->class[4].equal_bytes, b / 22);
	cr_expect_eq(p->class[3].alone_bytes, 2 * b / 3);
	cr_expect_eq(p->class[4].alone_bytes, b / 3);
	/* Floors: at most a byte a step below. */
	cr_expect_leq(p->class[3].floor_bytes, 2 * b * 16 / 6561);
	cr_expect_geq(p->class[3].floor_bytes + 2 * 8, 2 * b * 16 / 6561);
	drop();
}

Test(buffer_plan, has_no_headroom_where_no_pause_is_sent_and_no_pair_where_nothing_is_trusted)
{
	const struct buffer_plan *p;

	load("ports:\n"
	     "  - {name: a, device: eth1, pfc: off}\n"
	     "  - {name: b, device: eth2, pfc: honour-only}\n"
	     "  - {name: c, device: eth3, trust: none}\n"
	     "  - {name: d, device: eth4, trust: pcp, pfc: software}\n",
	     50000);
	p = plan();
	cr_expect_eq(p->pair_count, 3);
	cr_expect(buffer_plan_pair(p, 3, 0)->lossless);
	cr_expect_eq(buffer_plan_pair(p, 3, 0)->headroom_bytes, 0);
	cr_expect_eq(buffer_plan_pair(p, 3, 0)->reserved_bytes, 1518);
	cr_expect_eq(buffer_plan_pair(p, 3, 1)->headroom_bytes, 0);
	cr_expect_not(buffer_plan_pair(p, 3, 2)->lossless);
	cr_expect_eq(buffer_plan_pair(p, 3, 2)->reserved_bytes, 0);
	cr_expect_gt(buffer_plan_pair(p, 3, 3)->headroom_bytes, 0);
	cr_expect(buffer_plan_queue(p, 3, 2)->ecn, "queues mark, whatever is trusted");
	drop();
}

/* The pool: half of the sum, but never less than one pair needs. */
Test(buffer_plan, shares_headroom_in_a_pool)
{
	load(TWO CLASSES("") "buffer: {small_frames: 0%, headroom_pool: {oversubscribe: 1}}\n",
	     10000);
	cr_expect_eq(plan()->headroom_bytes, 38353 + 19132);
	drop();
	load(TWO CLASSES("") "buffer: {small_frames: 0%, headroom_pool: {oversubscribe: 2}}\n",
	     10000);
	cr_expect_eq(plan()->headroom_bytes, 38353, "28742 wouldn't do for port a");
	cr_expect_eq(fixture.plan.headroom_buffers, 10);
	cr_expect_eq(fixture.plan.headroom_pairs_bytes, 38353 + 19132);
	cr_expect_eq(buffer_plan_pair(&fixture.plan, 3, 0)->headroom_bytes, 38353);
	drop();
}

Test(buffer_plan, gives_lossy_classes_all_when_there_are_no_others)
{
	const struct buffer_plan *p;

	load("ports: [{name: a, device: eth1}]\nclasses: [{priority: 0, name: be, wred: "
	     "{min: 1KB, max: 9KB}}]\n",
	     10000);
	p = plan();
	cr_expect_eq(p->pair_count, 0);
	cr_expect_eq(p->shared_bytes, 0);
	cr_expect_eq(p->lossy_bytes, 10000u * 400 - 32 * 1518);
	cr_expect(buffer_plan_queue(p, 0, 0)->wred);
	cr_expect_eq(buffer_plan_queue(p, 0, 0)->wred_curve.pmax_ppm, 100000);
	drop();
}

static uint64_t state = 1;

static uint32_t below(uint32_t bound)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((state >> 33) % bound);
}

/* A random config as a file would have it; @return its text */
static const char *random_config(char *text, size_t size)
{
	static const char *const speeds[] = {"100M", "1G", "10G", "25G", "56G", "100G", "400G"};
	static const char *const responses[] = {"auto", "roceleaf", "3us"};
	static const char *const alphas[] = {"1/64", "1/3", "1", "4", "128"};
	static const char *const mtus[] = {"256", "1024", "4096"};
	uint32_t ports = 1 + below(32), lossless = 1 + below(4);
	size_t used = (size_t)snprintf(text, size, "leaf: {memory: 1GiB}\nports:\n");

	for (uint32_t i = 0; i < ports; i++)
		used += (size_t)snprintf(text + used, size - used,
					 "  - {name: p%u, device: e%u, speed: %s, mtu: %u, cable: "
					 "%um, peer_response: %s, trust: %s}\n",
					 i, i, speeds[below(7)], 1500 + below(7716),
					 1 + below(2000), responses[below(3)],
					 below(8) == 0 ? "none" : "dscp");
	used += (size_t)snprintf(text + used, size - used, "classes:\n");
	for (uint32_t i = 0; i < lossless; i++)
		used += (size_t)snprintf(
			text + used, size - used,
			"  - {priority: %u, name: c%u, dscp: [%u], lossless: true, "
			"rdma_mtu: %s}\n",
			i + 1, i, i + 1, mtus[below(3)]);
	(void)snprintf(text + used, size - used,
		       "  - {priority: 0, name: be}\n"
		       "buffer: {alpha: {c0: %s}, small_frames: %u%%, lossy_max: %u%%%s%s}\n",
		       alphas[below(5)], below(101), 1 + below(60),
		       below(2) == 0 ? ", headroom_pool: {oversubscribe: 2}" : "",
		       below(4) == 0 ? ", allow_pfc_before_ecn: true" : "");
	return text;
}

static void check_marks(const struct buffer_plan *p, const char *text)
{
	for (uint32_t i = 0; i < p->port_count; i++) {
		for (uint32_t c = 1; c < PRIORITY_COUNT; c++) {
			const struct buffer_plan_queue *queue = buffer_plan_queue(p, c, i);

			if (!queue->ecn)
				continue;
			cr_assert_eq(queue->ecn_curve.max_bytes, 4 * queue->ecn_curve.min_bytes);
			cr_assert_geq(queue->ecn_curve.min_bytes,
				      3 * (fixture.config->ports[i].mtu_bytes + 18));
			cr_assert(fixture.config->buffer.allow_pfc_before_ecn ||
					  queue->ecn_curve.max_bytes + 2 * p->frame_bytes_max <=
						  p->class[c].equal_bytes,
				  "%s", text);
		}
	}
}

static void check_sums(const struct buffer_plan *p, const char *text)
{
	uint64_t reserved = 0, headroom = 0, guard = 0;

	for (uint32_t i = 0; i < PRIORITY_COUNT * (uint32_t)p->port_count; i++) {
		reserved += p->pair[i].reserved_bytes;
		headroom += p->pair[i].headroom_bytes;
		guard += p->pair[i].guard_buffers;
		/* What may still come in frames of the pair's mean fits what the guard has for it. */
		cr_assert_geq((uint64_t)p->pair[i].guard_buffers * p->pair[i].mean_bytes,
			      p->pair[i].headroom_bytes);
	}
	cr_assert_eq(p->reserved_bytes, reserved);
	cr_assert_eq(p->headroom_pairs_bytes, headroom);
	cr_assert_leq(p->headroom_bytes, headroom);
	cr_assert_eq(p->headroom_bytes + p->reserved_bytes + p->overshoot_bytes + p->lossy_bytes +
			     p->shared_bytes,
		     p->pool_bytes, "%s", text);
	/* All but headroom fits the buffers that the guard leaves. */
	cr_assert_lt(p->guard_buffers, p->buffers);
	cr_assert_leq(p->pool_bytes - p->headroom_bytes,
		      (uint64_t)(p->buffers - p->guard_buffers) * p->mean_bytes);
	if (fixture.config->buffer.oversubscribe == 0)
		cr_assert_eq(p->guard_buffers, guard + p->held_buffers);
}

Test(buffer_plan, keeps_its_promises_in_random_configs)
{
	uint32_t taken = 0, refused_count = 0;
	char text[8192];

	for (uint32_t i = 0; i < 2000; i++) {
		load(random_config(text, sizeof(text)), 100 + below(1000) * below(1000));
		fixture.machine.poll_ps = below(3) * 5 * PS_PER_US;
		fixture.machine.workers = 1 + below(8);
		fixture.machine.held_buffers = below(2000);
		for (uint32_t j = 0; j < PORTS_MAX; j++) {
			fixture.port[j].run_ahead_ps = below(20) * PS_PER_US;
			fixture.port[j].nic_delay_ps = below(3) * PS_PER_US;
		}
		if (buffer_plan_create(fixture.config, &fixture.machine, &fixture.plan,
				       &fixture.errors) == 0) {
			check_sums(&fixture.plan, text);
			check_marks(&fixture.plan, text);
			taken++;
		} else {
			cr_assert_geq(fixture.errors.count, 1, "%s", text);
			refused_count++;
		}
		drop();
	}
	cr_expect_gt(taken, 400, "%u taken, %u refused", taken, refused_count);
	cr_expect_gt(refused_count, 100, "%u taken, %u refused", taken, refused_count);
}

/* More pairs, lower T; also when they take nothing else. */
Test(buffer_plan, pauses_earlier_the_more_pairs_there_are)
{
	uint64_t before = UINT64_MAX;
	char text[4096];

	for (uint32_t ports = 1; ports <= 48; ports++) {
		size_t used = (size_t)snprintf(text, sizeof(text), "ports:\n");

		for (uint32_t i = 0; i < ports; i++)
			used += (size_t)snprintf(text + used, sizeof(text) - used,
						 "  - {name: p%u, device: e%u}\n", i, i);
		load(text, 100000);
		cr_assert_lt(plan()->class[3].equal_bytes, before, "%u ports", ports);
		before = fixture.plan.class[3].equal_bytes;
		cr_assert_geq(before, fixture.plan.class[3].floor_bytes);
		cr_assert_leq(before, fixture.plan.class[3].alone_bytes);
		drop();
	}
}

/* Extremes of every range at once: a refusal or a plan whose sums hold, never a wrapped number. */
Test(buffer_plan, survives_the_extremes_of_every_range)
{
	static const char text[] =
		"leaf: {memory: 1GiB}\n"
		"ports:\n"
		"  - {name: a, device: e1, speed: 1.6T, mtu: 9216, cable: 40km, nic_delay: 10ms,\n"
		"     peer_response: 10ms}\n"
		"  - {name: b, device: e2, speed: 1M, mtu: 68}\n"
		"buffer: {alpha: {roce: 128}, reserved: {roce: 1GiB}, small_frames: 100%}\n";
	static const char *const words[] = {"port a needs 6.", "GB of headroom", NULL};

	/* 1.6T: 200 bytes a ns; 10 ms + 2 * 10 ms + 2 * 200 us: 6.08 GB. */
	refused(text, UINT32_MAX, words);
	load("ports:\n  - {name: b, device: e2, speed: 1M, mtu: 68}\n", UINT32_MAX);
	fixture.machine.workers = 64;
	(void)plan();
	check_sums(&fixture.plan, text);
	drop();
}
