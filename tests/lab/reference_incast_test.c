/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * N hosts send to one, and stop for nothing but pauses: how long it takes, how deep the queue gets, who is
 * paused when and how often, compared with the reference.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/reference.h"

TestSuite(reference_incast, .init = harness_start);

#define MIB          UINT64_C(1048576)
#define PACKETS      10000u
#define SENDERS_MAX  32u
#define STAGGER_NS   1037u
#define EVENTS       20u
#define LOOK_PS      (10 * PS_PER_NS)
#define EVENT_FIELDS 3 /* columns before t_ns in the staggered events */

struct event {
	double time_ns;
	uint32_t host;
	bool pause;
};

static struct simulation *incast(uint32_t senders, uint64_t mib, uint32_t packets,
				 uint32_t stagger_ns)
{
	static char rest[16384];
	int at = snprintf(rest, sizeof(rest), "duration: 100ms\n" REFERENCE_PFC_ONLY "traffic:\n");

	for (uint32_t i = 0; i < senders; i++)
		at += snprintf(rest + at, sizeof(rest) - (size_t)at,
			       "  - flow: {name: f%u, from: n%u, to: n%u, bytes: %u, payload: %u, "
			       "start: %uns, class: roce}\n",
			       i, i, senders, packets * REFERENCE_PAYLOAD_BYTES,
			       REFERENCE_PAYLOAD_BYTES, i * stagger_ns);
	return reference_star(senders + 1, mib * MIB, rest);
}

/* Run on, and note pauses as hosts see them. @return how many */
static uint32_t watch(struct simulation *simulation, uint32_t senders, double until_ns,
		      struct event *events, uint32_t events_max)
{
	const struct fabric *fabric = simulation->fabric;
	bool was[SENDERS_MAX] = {false};
	uint32_t count = 0;

	for (uint64_t t = LOOK_PS; (double)t < until_ns * PS_PER_NS; t += LOOK_PS) {
		harness_run_to(simulation, t);
		for (uint32_t i = 0; i < senders; i++) {
			const struct host *host = &fabric->hosts[i];
			bool now = (host->paused >> REFERENCE_PRIORITY & 1) != 0;

			if (now == was[i] || count == events_max)
				continue;
			was[i] = now;
			events[count++] = (struct event){
				.time_ns = now ? (double)(host->pause_since_ps[REFERENCE_PRIORITY] -
							  fabric->engine->start_ps) /
							   PS_PER_NS
					       : (double)t / PS_PER_NS,
				.host = i,
				.pause = now};
		}
	}
	return count;
}

/* What came of a run, as the reference says it. */
struct outcome {
	double last_ns; /* of the flow that took longest */
	double queue_bytes;
	double pauses, paused_ns;
};

static struct outcome outcome_of(struct simulation *simulation, uint32_t senders,
				 uint32_t stagger_ns)
{
	const struct fabric *fabric = simulation->fabric;
	const struct leaf *leaf = fabric->switches[0]->leaf;
	struct outcome outcome = {0};
	struct queue_totals queue;

	for (uint32_t i = 0; i < senders; i++) {
		const struct flow *flow = &fabric->traffic.flows[i];
		struct pfc_totals pfc;
		double end_ns;

		cr_assert(flow->finished, "flow %u", i);
		/* There, a flow ends when the last acknowledgement of 60 bytes has come. */
		end_ns = (double)(flow->finished_ps - fabric->engine->start_ps) / PS_PER_NS + 2000 +
			 2 * 4.8 - i * (double)stagger_ns;
		if (end_ns > outcome.last_ns)
			outcome.last_ns = end_ns;
		outcome.paused_ns +=
			(double)host_paused_ps(&fabric->hosts[i], REFERENCE_PRIORITY) / PS_PER_NS;
		leaf_pfc_totals(leaf, (uint16_t)i, REFERENCE_PRIORITY, fabric->engine->now_ps,
				&pfc);
		outcome.pauses += (double)pfc.tx_pauses;
	}
	leaf_queue_totals(leaf, (uint16_t)senders, REFERENCE_PRIORITY, &queue);
	outcome.queue_bytes = (double)queue.depth_bytes_max / REFERENCE_SCALE;
	return outcome;
}

/*
 * The same hosts are paused, or let go, in the same order. Ours look at all thresholds in every poll, theirs at a
 * port's when a packet of its own comes or goes: of hosts whose thresholds are passed at the same time, ours hear of
 * it at once, theirs one after the other as their packets come, within the time of one each.
 * @param late_ns so much later at most
 */
static void compare_events(const struct event *events, uint32_t count,
			   const struct reference_table *table, double late_ns)
{
	cr_assert_geq(count, EVENTS);
	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct reference_row *row = &table->rows[i];

		printf("#   %10.1f host %u %-6s %10.1f host %s %s\n", events[i].time_ns,
		       events[i].host, events[i].pause ? "pause" : "resume",
		       reference_number(row, EVENT_FIELDS), row->field[EVENT_FIELDS + 1],
		       row->field[EVENT_FIELDS + 2][0] == '1' ? "pause" : "resume");
	}
	for (uint32_t i = 0; i < EVENTS; i++) {
		const struct reference_row *row = &table->rows[i];
		bool pause = row->field[EVENT_FIELDS + 2][0] == '1';
		uint32_t host = (uint32_t)reference_number(row, EVENT_FIELDS + 1);

		cr_expect_eq(events[i].host, host, "event %u", i);
		cr_expect_eq(events[i].pause, pause, "event %u", i);
		cr_expect_float_eq(events[i].time_ns, reference_number(row, EVENT_FIELDS), late_ns);
	}
}

/* Each sender is paused when the reference pauses it, or up to a packet before: ours pause several at once. */
static void compare_first_pauses(const struct event *events, uint32_t count,
				 const struct reference_table *table, uint32_t senders)
{
	/* From one packet of a sender to the next. */
	const double packet_ns = 83.84;

	cr_assert_geq(count, senders);
	for (uint32_t i = 0; i < senders; i++) {
		const struct reference_row *row = &table->rows[i];
		double theirs_ns = reference_number(row, EVENT_FIELDS), ours_ns = -1;
		uint32_t host = (uint32_t)reference_number(row, EVENT_FIELDS + 1);

		for (uint32_t k = 0; k < senders; k++)
			if (events[k].host == host && events[k].pause)
				ours_ns = events[k].time_ns;
		printf("#   host %u paused at %10.1f %10.1f\n", host, ours_ns, theirs_ns);
		cr_expect_float_eq(ours_ns, theirs_ns, packet_ns, "host %u: %.1f, %.1f ns", host,
				   ours_ns, theirs_ns);
	}
}

static void compare_staggered(uint32_t senders, uint32_t mib)
{
	char begin[64];
	struct simulation *simulation = incast(senders, mib, PACKETS, STAGGER_NS);
	struct reference_table summary, table = {0};
	struct event events[2 * EVENTS];
	struct outcome ours;
	uint32_t count = 0;

	snprintf(begin, sizeof(begin), "off,%u,%u", mib, senders);
	summary = reference_read("incast_stagger_summary", begin);
	if (mib == 4 && senders <= 8) {
		table = reference_read("pause_events_stagger", begin);
		count = watch(simulation, senders,
			      reference_number(&table.rows[EVENTS - 1], EVENT_FIELDS) + 2000,
			      events, 2 * EVENTS);
	}
	harness_run_to(simulation, 50 * PS_PER_MS);
	ours = outcome_of(simulation, senders, STAGGER_NS);
	printf("# %2u senders, %2u MiB %36s %14s\n", senders, mib, "ours", "reference");
	reference_compare("longest flow, ns", ours.last_ns, reference_number(&summary.rows[0], 5),
			  0.02);
	reference_compare("deepest queue, bytes", ours.queue_bytes,
			  reference_number(&summary.rows[0], 6), 0.10);
	reference_compare("pauses", ours.pauses, reference_number(&summary.rows[0], 11), 0.10);
	reference_compare("time paused, ns", ours.paused_ns, reference_number(&summary.rows[0], 12),
			  0.02);
	if (table.count != 0 && senders == 2)
		compare_events(events, count, &table, 2 * LOOK_PS / (double)PS_PER_NS);
	else if (table.count != 0)
		compare_first_pauses(events, count, &table, senders);
	reference_free(&table);
	reference_free(&summary);
	harness_finish(simulation);
}

Test(reference_incast, staggered_senders_small_buffer)
{
	compare_staggered(2, 4);
	compare_staggered(8, 4);
	compare_staggered(16, 4);
}

Test(reference_incast, staggered_senders_large_buffer)
{
	compare_staggered(2, 32);
	compare_staggered(8, 32);
	compare_staggered(16, 32);
}

/*
 * All begin at once, and stay in step: packets of all senders come at the same instants. Who goes first then
 * is each simulator's own affair. Where ours looks at all thresholds once, theirs does so sender by sender, after
 * each packet: it pauses fewer of them, for longer. With many senders that is up to a third of the number of pauses,
 * and nothing of the time paused; without the ties, above, the numbers agree.
 */
static void compare_synchronized(uint32_t mib)
{
	char begin[64];
	struct reference_table table;

	snprintf(begin, sizeof(begin), "ps,off,%u,1000", mib);
	table = reference_read("incast_summary", begin);
	for (uint32_t i = 0; i < table.count; i++) {
		const struct reference_row *row = &table.rows[i];
		uint32_t senders = (uint32_t)reference_number(row, 4);
		uint32_t packets = (uint32_t)(reference_number(row, 5) / 1000);
		struct simulation *simulation = incast(senders, mib, packets, 0);
		struct outcome ours;

		harness_run_to(simulation, 50 * PS_PER_MS);
		ours = outcome_of(simulation, senders, 0);
		printf("# %2u senders, %2u MiB, %5u packets each %21s %14s\n", senders, mib,
		       packets, "ours", "reference");
		reference_compare("longest flow, ns", ours.last_ns, reference_number(row, 9), 0.02);
		reference_compare("deepest queue, bytes", ours.queue_bytes,
				  reference_number(row, 11), senders == 1 ? 1 : 0.10);
		reference_compare("pauses", ours.pauses, reference_number(row, 17),
				  senders <= 8 ? 0.10 : 0.35);
		reference_compare("time paused, ns", ours.paused_ns, reference_number(row, 19),
				  0.02);
		harness_finish(simulation);
	}
	reference_free(&table);
}

Test(reference_incast, synchronized_senders_small_buffer)
{
	compare_synchronized(4);
}

Test(reference_incast, synchronized_senders_large_buffer)
{
	compare_synchronized(32);
}
