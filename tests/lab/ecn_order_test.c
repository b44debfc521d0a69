/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ECN-PFC-ORDER: in whatever config the checker accepts, marks come before pauses. One to eight senders
 * that react to nothing meet at one port, a little faster than it is and slowly more so; the first packet that
 * leaves marked must leave before the leaf first decides to pause anybody.
 *
 * Configs are random: speeds, cables, MTU, lossless classes, alpha, reserves, memory, thresholds. What the
 * checker refuses doesn't count. Half of those that it accepts get just the memory that it insists on, so
 * that they lie at the border. Memory is scarce in all of them, and the test fails unless most come to a pause.
 *
 * One config:    ROCELEAF_TEST_SEED=n build/tests/lab/lab_ecn_order_test
 * More or less:  ROCELEAF_TEST_RUNS=10000 ...; under AddressSanitizer one in ten
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/lab/stand.h"

#define CONFIGS 1000
#define PARTS   10 /* processes that they are divided into */

#define GBPS UINT64_C(1000000000)

#define SENDERS_MAX   8
#define PACKETS_MIN   1000
#define PACKETS_MAX   12000
#define POOL_PACKETS  30000 /* with what is on the wires */
#define FRAMES_A_STEP 24    /* of the slow port, between two rates */
#define STEPS_MAX     800   /* then it counts as one without a pause */

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

static const struct {
	const char *text;
	uint32_t gbps;
} speeds[] = {{"10G", 10}, {"25G", 25}, {"40G", 40}, {"50G", 50}, {"100G", 100}, {"400G", 400}};

struct experiment {
	struct random random;
	struct stand_params params;
	char rest[2048];
	uint32_t senders, sink_gbps;
	uint32_t frame_bytes;
	uint32_t refused; /* before one was accepted */
	bool at_border;
};

/* What the stand tells while it runs. */
struct watch {
	bool marked;
	uint64_t marked_ps; /* when the first marked packet began to leave */
};

static void start(void)
{
	harness_start_packets(POOL_PACKETS);
}

static struct {
	uint32_t runs, paused, refused, border;
} seen;

static uint64_t draw(struct experiment *experiment, uint64_t low, uint64_t high)
{
	return low + random_below(&experiment->random, high - low + 1);
}

/* --- a config --- */

static void __attribute__((format(printf, 2, 3)))
add(struct experiment *experiment, const char *format, ...)
{
	size_t used = strlen(experiment->rest);
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(experiment->rest + used, sizeof(experiment->rest) - used, format, arguments);
	va_end(arguments);
}

static void draw_ports(struct experiment *experiment)
{
	static const char *const cables[] = {"1m", "3m", "30m", "300m", "2km"};
	static const char *const responses[] = {NULL, "auto", "1us"};
	struct stand_params *params = &experiment->params;
	uint32_t from = (uint32_t)draw(experiment, 0, 4), sum_gbps = 0;

	experiment->senders = (uint32_t)draw(experiment, 1, SENDERS_MAX);
	experiment->sink_gbps = speeds[from].gbps;
	params->ports = (uint16_t)(experiment->senders + 1);
	params->response = responses[draw(experiment, 0, 2)];
	for (uint32_t i = 0; i < experiment->senders; i++) {
		uint32_t speed = (uint32_t)draw(experiment, 0, 5);

		/* Together twice as fast as the sink, at least. */
		if (i + 1 == experiment->senders)
			while (sum_gbps + speeds[speed].gbps < 2 * experiment->sink_gbps)
				speed++;
		sum_gbps += speeds[speed].gbps;
		params->speed[i] = speeds[speed].text;
		params->cable[i] = cables[draw(experiment, 0, 4)];
	}
	params->speed[experiment->senders] = speeds[from].text;
	params->cable[experiment->senders] = "3m";
}

static void draw_ecn(struct experiment *experiment)
{
	uint64_t kmin, kmax;

	if (draw(experiment, 0, 3) == 0) {
		add(experiment, "auto");
		return;
	}
	/* Both on a logarithmic scale. */
	kmin = (draw(experiment, 1024, 2047) << draw(experiment, 0, 9)) * 4;
	kmax = kmin + kmin * draw(experiment, 0, 40) / 10;
	add(experiment, "{kmin: %" PRIu64 ", kmax: %" PRIu64 ", pmax: %" PRIu64 "%%}", kmin, kmax,
	    draw(experiment, 1, 100));
}

static void draw_classes(struct experiment *experiment)
{
	static const uint32_t rdma_mtus[] = {1024, 2048, 4096};
	static const char *const alphas[] = {"1/8", "1/4", "1/2", "1", "2", "4", "8"};
	uint32_t rdma_mtu = rdma_mtus[draw(experiment, 0, 2)];
	uint32_t lossless = (uint32_t)draw(experiment, 1, 4);

	experiment->frame_bytes = rdma_mtu + 58;
	experiment->params.mtu = (uint32_t)(draw(experiment, 0, 1) == 0 ? rdma_mtu + 104 : 9216);
	add(experiment, "classes:\n");
	for (uint32_t i = 0; i < lossless; i++) {
		add(experiment,
		    "  - {priority: %u, name: c%u, dscp: [%u], lossless: true, weight: 10, "
		    "rdma_mtu: %u, ecn: ",
		    3 + i, i, 26 + i, rdma_mtu);
		draw_ecn(experiment);
		add(experiment, "}\n");
	}
	add(experiment, "  - {priority: 0, name: best-effort, weight: 10}\nbuffer:\n  alpha: {");
	for (uint32_t i = 0; i < lossless; i++)
		add(experiment, "%sc%u: %s", i == 0 ? "" : ", ", i, alphas[draw(experiment, 0, 6)]);
	add(experiment, "}\n  lossy_max: %" PRIu64 "%%\n  small_frames: %" PRIu64 "%%\n",
	    draw(experiment, 1, 50), draw(experiment, 0, 20));
	if (draw(experiment, 0, 1) == 0)
		add(experiment, "  reserved: {c0: %" PRIu64 "}\n", draw(experiment, 0, 40000));
	if (draw(experiment, 0, 3) == 0)
		add(experiment, "  headroom_pool: {oversubscribe: 2}\n");
}

/* Fewest packets that are accepted, of up to those that are. */
static uint32_t border(const struct experiment *experiment, uint32_t packets)
{
	uint32_t refused = PACKETS_MIN / 2;

	while (packets - refused > packets / 100 + 1) {
		uint32_t middle = refused + (packets - refused) / 2;

		if (stand_accepts(&experiment->params, middle))
			packets = middle;
		else
			refused = middle;
	}
	return packets;
}

static void draw_experiment(struct experiment *experiment, uint64_t seed)
{
	experiment->random = random_of(seed, RANDOM_PATTERN, 0);
	for (;; experiment->refused++) {
		uint32_t packets;

		experiment->rest[0] = '\0';
		experiment->params = (struct stand_params){.rest = experiment->rest};
		draw_ports(experiment);
		draw_classes(experiment);
		packets = (uint32_t)draw(experiment, PACKETS_MIN, PACKETS_MAX);
		experiment->at_border = draw(experiment, 0, 1) == 0;
		if (!stand_accepts(&experiment->params, packets))
			continue;
		experiment->params.packets =
			experiment->at_border ? border(experiment, packets) : packets;
		return;
	}
}

/* --- a run --- */

static void look(struct stand *stand, const struct stream *stream, const struct frame_view *view)
{
	const struct blaster *blaster = &stand->blaster[stream->params.to];
	struct watch *watch = stand->seen_context;
	struct wire_rate rate = blaster->rx->rate;

	if (watch->marked || (view->tos & 3) != 3)
		return;
	rate.remainder = 0;
	watch->marked = true;
	watch->marked_ps =
		stand->rig->engine->now_ps - blaster->rx->delay_ps -
		wire_rate_time_ps(&rate, stream->params.large_bytes + WIRE_OVERHEAD_BYTES);
}

/* Of all senders together, in thousandths of the sink's speed, evenly. */
static void set_rate(struct experiment *experiment, struct stand *stand, uint32_t permille)
{
	uint64_t left_bps = experiment->sink_gbps * (GBPS / 1000) * permille;

	for (uint32_t i = 0; i < experiment->senders; i++) {
		struct stream *stream = &stand->stream[i];
		uint64_t rate_bps = left_bps / (experiment->senders - i);

		if (rate_bps > stand->blaster[i].tx->rate.rate_bps)
			rate_bps = stand->blaster[i].tx->rate.rate_bps;
		left_bps -= rate_bps;
		stream->pace = wire_rate_of(rate_bps);
	}
}

/*
 * The first pause of any of them, nobody having been paused at since_ps. @return false: nor is anybody now
 */
static bool first_pause(const struct experiment *experiment, const struct stand *stand,
			uint64_t since_ps, uint64_t *first_ps)
{
	bool any = false;

	for (uint16_t i = 0; i < experiment->senders; i++) {
		struct pfc_totals totals = stand_pfc(stand, i, 3);

		if (totals.tx_pauses == 0)
			continue;
		/* Of several only the last is told. */
		if (totals.tx_pauses > 1)
			totals.tx_last_ps = since_ps;
		if (!any || time_after(*first_ps, totals.tx_last_ps))
			*first_ps = totals.tx_last_ps;
		any = true;
	}
	return any;
}

/* @return true: it came to a pause, and no mark had come before it */
static bool run_experiment(struct experiment *experiment)
{
	uint64_t frame_ps = (experiment->frame_bytes + WIRE_OVERHEAD_BYTES) * UINT64_C(8000) /
			    experiment->sink_gbps;
	struct stand *stand = stand_create(&experiment->params);
	struct watch watch = {0};
	uint64_t paused_ps = 0;
	bool paused = false, wrong;

	stand->seen = look;
	stand->seen_context = &watch;
	for (uint32_t i = 0; i < experiment->senders; i++)
		stand_stream(stand, &(struct stream_params){
					    .from = (uint16_t)i,
					    .to = (uint16_t)experiment->senders,
					    .priority = 3,
					    .start_ps = draw(experiment, 0, 8) * frame_ps / 8,
					    .large_bytes = experiment->frame_bytes});
	/* From 101 % by a half a step, up to 150 %. */
	for (uint32_t step = 0; step < STEPS_MAX && !paused; step++) {
		if (step <= 98)
			set_rate(experiment, stand, 1010 + 5 * step);
		for (uint32_t frame = 0; frame < FRAMES_A_STEP && !paused; frame++) {
			uint64_t since_ps = stand->rig->engine->now_ps;

			stand_run_for(stand, frame_ps);
			paused = first_pause(experiment, stand, since_ps, &paused_ps);
		}
	}
	/* What left before has come then. */
	stand_run_for(stand, 2 * frame_ps + stand->blaster[experiment->senders].rx->delay_ps);
	wrong = paused && (!watch.marked || !time_after(paused_ps, watch.marked_ps));
	seen.runs++;
	seen.paused += paused;
	seen.refused += experiment->refused;
	seen.border += experiment->at_border;
	stand_free(stand);
	return wrong;
}

static void fail_with_replay(const struct experiment *experiment, uint64_t seed)
{
	char program[400], text[STAND_TEXT_MAX];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[length > 0 ? length : 0] = '\0';
	stand_yaml(&experiment->params, text);
	cr_expect_fail("paused before a mark; replay: ROCELEAF_TEST_SEED=%" PRIu64
		       " %s\n%s# %u buffers",
		       seed, program, text, experiment->params.packets);
}

ParameterizedTestParameters(ecn_order, ECN_PFC_ORDER_the_first_mark_precedes_the_first_pause)
{
	static uint32_t parts[PARTS];

	for (uint32_t i = 0; i < PARTS; i++)
		parts[i] = i;
	return cr_make_param_array(uint32_t, parts,
				   getenv("ROCELEAF_TEST_SEED") != NULL || SANITIZED ? 1 : PARTS);
}

ParameterizedTest(uint32_t *part, ecn_order, ECN_PFC_ORDER_the_first_mark_precedes_the_first_pause,
		  .init = start)
{
	uint64_t only = harness_number("ROCELEAF_TEST_SEED", 0);
	uint64_t count = harness_number("ROCELEAF_TEST_RUNS", CONFIGS) / PARTS;
	uint64_t first = only != 0 ? only : *part * count + 1;
	uint64_t last = only != 0 ? only : first + count - 1;

	for (uint64_t seed = first; seed <= last; seed++) {
		struct experiment experiment = {.refused = 0};

		draw_experiment(&experiment, seed);
		if (run_experiment(&experiment))
			fail_with_replay(&experiment, seed);
	}
	/* They test what they are meant to. */
	if (only == 0 && seen.runs >= 20) {
		cr_expect_geq(seen.paused * 10, seen.runs * 9, "%u of %u came to a pause",
			      seen.paused, seen.runs);
		cr_expect_gt(seen.refused, 0, "the checker refused some");
		cr_expect_gt(seen.border, 0);
	}
}
