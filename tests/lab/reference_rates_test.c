/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Two flows to one host, and marks for every packet above a threshold: nothing is random, so that rates, targets
 * and alphas can be compared sample by sample.
 */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>

#include "tests/lab/reference.h"

TestSuite(reference_rates, .init = harness_start);

#define MIB   UINT64_C(1048576)
#define FLOWS 2u

/* Columns of rate_step.csv. */
enum { T_US = 1, FLOW = 2, RATE = 3, TARGET = 4, ALPHA = 5, SENT = 6, RECEIVED = 7 };

static struct simulation *two_flows(const char *preset)
{
	static char rest[4096];
	int at = snprintf(rest, sizeof(rest), "duration: 100ms\n");

	at += reference_cc_text(reference_cc(preset), rest + at, sizeof(rest) - (size_t)at);
	snprintf(rest + at, sizeof(rest) - (size_t)at,
		 "traffic:\n"
		 "  - flow: {from: n0, to: n2, bytes: %u, payload: 990, start: 0us, class: roce}\n"
		 "  - flow: {from: n1, to: n2, bytes: %u, payload: 990, start: 0us, class: roce}\n",
		 20000 * 990, 20000 * 990);
	return reference_star(FLOWS + 1, 32 * MIB, rest);
}

/* How far apart, as a share of theirs, keeping the most. */
static void apart(double ours, double theirs, double *most)
{
	double share = fabs(ours - theirs) / theirs;

	*most = share > *most ? share : *most;
}

static void compare_rates(const char *preset)
{
	struct simulation *simulation = two_flows(preset);
	struct reference_table table = reference_read("rate_step", preset);
	double rate = 0, target = 0, alpha = 0, sent = 0, received = 0;

	for (uint32_t i = 0; i < table.count; i++) {
		const struct reference_row *row = &table.rows[i];
		struct flow *flow = &simulation->fabric->traffic
					     .flows[(uint32_t)reference_number(row, FLOW) - 1];
		struct dcqcn_view view;

		harness_run_to(simulation, (uint64_t)reference_number(row, T_US) * PS_PER_US);
		flow->cc->ops->advance(flow->cc, simulation->fabric->engine->now_ps);
		dcqcn_look(flow->cc, &view);
		apart((double)view.rate_bps / 1e9 / REFERENCE_SCALE, reference_number(row, RATE),
		      &rate);
		apart((double)view.target_bps / 1e9 / REFERENCE_SCALE,
		      reference_number(row, TARGET), &target);
		apart(view.alpha_q30 / (double)DCQCN_ONE_Q30, reference_number(row, ALPHA), &alpha);
		/* A rate that rises moves the next packet here, and the one after that there. */
		apart((double)flow->sent_bytes / REFERENCE_PAYLOAD_BYTES * 1000 + 20000,
		      reference_number(row, SENT) + 20000, &sent);
		apart((double)flow->received_bytes / REFERENCE_PAYLOAD_BYTES * 1000 + 20000,
		      reference_number(row, RECEIVED) + 20000, &received);
	}
	printf("# %s, %u samples, at most apart: rate %.4f %%, target %.4f %%, alpha %.4f %%, "
	       "sent %.2f %%, received %.2f %%\n",
	       preset, table.count, 100 * rate, 100 * target, 100 * alpha, 100 * sent,
	       100 * received);
	cr_expect_leq(rate, 0.001);
	cr_expect_leq(target, 0.001);
	cr_expect_leq(alpha, 0.002); /* five digits, of small ones */
	/* 5.4 us from packet to packet at 1.56 Gb/s, when the rate rises to 50 Gb/s: 34 KB of 1.7 MB. */
	cr_expect_leq(sent, 0.025);
	cr_expect_leq(received, 0.025);
	reference_free(&table);
	harness_finish(simulation);
}

Test(reference_rates, of_a_fast_reaction)
{
	compare_rates("step");
}

Test(reference_rates, of_the_papers_reaction)
{
	compare_rates("step5");
}
