/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random fabrics with all that hosts can be told: every byte is delivered exactly once and in order, packets
 * add up, lossless classes lose nothing, and in the end nothing waits for anything.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/harness.h"
#include "tools/lab/random.h"

TestSuite(random_hosts, .init = harness_start, .timeout = 280);

#define TEXT_MAX 8192
#define RUNS     300

struct draw {
	struct random random;
	char text[TEXT_MAX];
	size_t length;
	uint32_t leaves, hosts; /* hosts: of each leaf */
	bool errors;            /* a link corrupts frames */
	bool lossy;             /* some flows are of a class that may drop */
};

static uint32_t below(struct draw *draw, uint32_t bound)
{
	return (uint32_t)random_below(&draw->random, bound);
}

__attribute__((format(printf, 2, 3))) static void add(struct draw *draw, const char *format, ...)
{
	va_list arguments;
	int length;

	va_start(arguments, format);
	length = vsnprintf(draw->text + draw->length, TEXT_MAX - draw->length, format, arguments);
	va_end(arguments);
	cr_assert(length >= 0 && (size_t)length < TEXT_MAX - draw->length);
	draw->length += (size_t)length;
}

static void draw_fabric(struct draw *draw)
{
	static const char *const speeds[] = {"10G", "25G", "100G", "400G"};

	draw->leaves = 1 + below(draw, 3);
	draw->hosts = 2 + below(draw, 4);
	add(draw,
	    "duration: 500ms\n"
	    "fabric: {leaf_spine: {leaves: %u, spines: %u, hosts_per_leaf: %u, host_speed: %s, "
	    "uplink_speed: %s, uplink_cable: %um}}\n",
	    draw->leaves, draw->leaves == 1 ? 0 : 1 + below(draw, 3), draw->hosts,
	    speeds[below(draw, 4)], speeds[1 + below(draw, 3)], 1 + below(draw, 300));
}

static void draw_hosts(struct draw *draw)
{
	static const char *const mtus[] = {"256", "1024", "4096"};
	static const char *const controls[] = {"none", "dctcp", "dcqcn, dcqcn: {preset: hpcc}",
					       "dcqcn, dcqcn: {preset: nvidia}",
					       "dcqcn, dcqcn: {preset: paper}"};

	add(draw, "hosts: {mtu: %s, cc: %s, operation: %s, ack_every: %u, ack_timeout: 5ms",
	    mtus[below(draw, 3)], controls[below(draw, 5)], below(draw, 2) == 0 ? "write" : "send",
	    1 + below(draw, 20));
	if (below(draw, 3) == 0)
		add(draw, ", window: %u", 1 + below(draw, 200000));
	if (below(draw, 3) == 0)
		add(draw, ", cnp: ack");
	if (below(draw, 3) == 0)
		add(draw, ", ack_dscp: %u", below(draw, 2) == 0 ? 48 : 0);
	if (below(draw, 3) == 0)
		add(draw, ", receive_buffer: %uKB, drain_rate: %uG", 200 + below(draw, 200),
		    5 + below(draw, 50));
	add(draw, "}\n");
}

static void draw_traffic(struct draw *draw)
{
	uint32_t count = 1 + below(draw, 8), all = draw->leaves * draw->hosts;

	draw->lossy = below(draw, 4) == 0;
	add(draw, "traffic:\n");
	for (uint32_t i = 0; i < count; i++) {
		uint32_t from = below(draw, all), to = (from + 1 + below(draw, all - 1)) % all;

		add(draw,
		    "  - flow: {from: leaf%u.h%u, to: leaf%u.h%u, bytes: %u, start: %uns, class: %s}\n",
		    from / draw->hosts + 1, from % draw->hosts + 1, to / draw->hosts + 1,
		    to % draw->hosts + 1, 1 + below(draw, 100000), below(draw, 100000),
		    draw->lossy && below(draw, 2) == 0 ? "best-effort" : "roce");
	}
	if (all > 3 && below(draw, 2) == 0)
		add(draw, "  - incast: {senders: %u, to: leaf1.h1, bytes: %u}\n",
		    2 + below(draw, all - 2), 1 + below(draw, 100000));
	draw->errors = below(draw, 3) == 0;
	if (draw->errors)
		add(draw,
		    "faults: [{link_errors: {link: leaf%u.h%u, bit_error_rate: 5e-6, at: 0us}}]\n",
		    1 + below(draw, draw->leaves), 1 + below(draw, draw->hosts));
}

static void check_flow(const struct draw *draw, uint64_t seed, const struct flow *flow)
{
	cr_assert(flow->finished, "seed %" PRIu64 ": %s has %" PRIu64 " of %" PRIu64 "\n%s", seed,
		  flow->params.name, flow->received_bytes, flow->params.bytes, draw->text);
	cr_assert_eq(flow->received_bytes, flow->params.bytes, "seed %" PRIu64, seed);
	cr_assert_eq(flow->sent_bytes, flow->params.bytes, "seed %" PRIu64, seed);
	cr_assert_eq(flow->acked.psn, flow->psn_expected, "seed %" PRIu64 "\n%s", seed, draw->text);
	if (!draw->errors && !draw->lossy) {
		cr_assert_eq(flow->retransmitted_bytes, 0, "seed %" PRIu64 "\n%s", seed,
			     draw->text);
		cr_assert_eq(flow->naks, 0, "seed %" PRIu64, seed);
	}
}

static void run(uint64_t seed, uint64_t *repeated)
{
	struct draw draw = {.random = {.state = seed}};
	struct simulation *simulation;
	const struct fabric *fabric;
	struct fabric_conservation sum;
	json_t *result;

	draw_fabric(&draw);
	draw_hosts(&draw);
	draw_traffic(&draw);
	simulation = harness_simulate(draw.text, UINT64_MAX - PS_PER_US, true);
	fabric = simulation->fabric;
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++) {
		check_flow(&draw, seed, &fabric->traffic.flows[i]);
		*repeated += fabric->traffic.flows[i].retransmitted_bytes;
	}
	fabric_conservation(fabric, &sum);
	cr_assert(fabric_conserved(&sum));
	cr_assert_eq(sum.in_flight, 0, "seed %" PRIu64 "\n%s", seed, draw.text);
	result = simulation_result(simulation);
	cr_assert_eq(json_integer_value(json_object_get(result, "lossless_drops")), 0,
		     "seed %" PRIu64 "\n%s", seed, draw.text);
	json_decref(result);
	harness_finish(simulation);
}

Test(random_hosts, every_byte_comes_exactly_once_and_nothing_is_stuck)
{
	uint64_t repeated = 0;

	for (uint64_t seed = 1; seed <= harness_number("ROCELEAF_TEST_RUNS", RUNS); seed++)
		run(seed, &repeated);
	/* Corrupted frames and lossy classes made something to do. */
	cr_expect_gt(repeated, 1000000, "%" PRIu64, repeated);
}
