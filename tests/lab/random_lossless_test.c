/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random lossless fabrics, and what must hold in every one of them (the numbers of the invariants
 * are those of the checks below):
 *	1 every frame is counted once, after every step; every buffer comes back
 *	2 nothing of a lossless class is dropped, for any reason but a link that went down
 *	3 a queue sends nothing while its peer has paused it
 *	4 packets of a flow arrive in order, unless a link went down and they had another way
 *	5 the pool is never exceeded, headroom neither; when traffic ends all of it is free
 *	6 the same seed gives the same digest, wherever the clock starts
 *	7 no MAC control frame is forwarded
 *
 * A run with an incast offers more than all pools hold, and must have paused; nearly all of these
 * must have used headroom.
 *
 * One run:          ROCELEAF_TEST_SEED=n build/tests/lab/lab_random_lossless_test
 * More or less:     ROCELEAF_TEST_RUNS=10000 ...; under AddressSanitizer one in 20
 */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_errno.h>
#include <rte_mempool.h>

#include "dataplane/snapshot.h"
#include "tests/lab/harness.h"
#include "tests/lab/probe.h"
#include "tests/lab/random_fabric.h"

#define RUNS   500
#define PARTS  20 /* processes that they are divided into */
#define SLICES 40 /* of a run, to look in between */

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

struct run {
	struct random_fabric random;
	struct fabric *fabric;
	struct probe probe;
	uint32_t next_event;
	uint32_t faults;
	uint64_t digest;
	uint64_t pauses, headroom_peak;
};

/* Of all runs of a process. */
static struct {
	uint32_t runs, must_pause, flaps, storms, reloads, paused, headroom;
} seen;

static uint64_t now_ps(const struct run *run)
{
	return run->fabric->engine->now_ps - run->fabric->engine->start_ps;
}

/* --- how to do it again --- */

static char replay[512];

static void remember(uint64_t seed)
{
	char program[400];
	ssize_t length = readlink("/proc/self/exe", program, sizeof(program) - 1);

	program[length > 0 ? length : 0] = '\0';
	snprintf(replay, sizeof(replay), "replay: ROCELEAF_TEST_SEED=%" PRIu64 " %s\n", seed,
		 program);
}

/* A crash can't say by itself which run it was. */
static void say_replay(int signal_number)
{
	ssize_t written = write(STDERR_FILENO, replay, strlen(replay));

	(void)written;
	signal(signal_number, SIG_DFL);
	raise(signal_number);
}

static void __attribute__((format(printf, 2, 3))) fault(struct run *run, const char *format, ...)
{
	va_list arguments;

	if (run->faults++ == 0)
		fprintf(stderr, "%s", replay);
	va_start(arguments, format);
	fprintf(stderr, "  at %" PRIu64 " ns: ", now_ps(run) / PS_PER_NS);
	vfprintf(stderr, format, arguments);
	fputc('\n', stderr);
	va_end(arguments);
}

/* --- what must hold at any time --- */

static void check_buffer(struct run *run, uint32_t index)
{
	const struct switch_node *node = run->fabric->switches[index];
	const struct buffer_table *table = &node->snapshot->buffer;
	struct buffer_pool_totals pool;
	uint64_t headroom = 0;

	leaf_buffer_pool_totals(node->leaf, node->snapshot, &pool);
	if (pool.queued_packets > table->packets_max)
		fault(run, "%s holds %" PRIu64 " packets of %u", node->name, pool.queued_packets,
		      table->packets_max);
	for (uint16_t port = 0; port < node->port_count; port++) {
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			uint64_t most = snapshot_pair(node->snapshot, port, p)->headroom_bytes;
			struct buffer_totals totals;

			if ((node->snapshot->lossless_mask >> p & 1) == 0)
				continue;
			leaf_buffer_totals(node->leaf, node->snapshot, port, (uint8_t)p, &totals);
			headroom += totals.headroom_used_bytes;
			if (totals.headroom_peak_bytes > run->headroom_peak)
				run->headroom_peak = totals.headroom_peak_bytes;
			if (table->headroom_pool_bytes == 0 && totals.headroom_peak_bytes > most)
				fault(run,
				      "%s port %u priority %u used %" PRIu64 " of %" PRIu64
				      " bytes of headroom",
				      node->name, port, p, totals.headroom_peak_bytes, most);
		}
	}
	if (table->headroom_pool_bytes != 0 && headroom > table->headroom_pool_bytes)
		fault(run, "%s used %" PRIu64 " of %" PRIu64 " bytes of the headroom pool",
		      node->name, headroom, table->headroom_pool_bytes);
}

static void check_drops(struct run *run, uint32_t index)
{
	const struct switch_node *node = run->fabric->switches[index];

	for (uint16_t port = 0; port < node->port_count; port++) {
		struct port_totals totals;

		leaf_port_totals(node->leaf, port, &totals);
		if (totals.drop[DROP_HEADROOM] != 0)
			fault(run, "%s port %u dropped %" PRIu64 " lossless packets", node->name,
			      port, totals.drop[DROP_HEADROOM]);
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct queue_totals queue;

			leaf_queue_totals(node->leaf, port, p, &queue);
			if ((run->random.lossless >> p & 1) != 0 && queue.drop_packets != 0 &&
			    !run->random.flaps)
				fault(run, "%s port %u queue %u dropped %" PRIu64, node->name, port,
				      p, queue.drop_packets);
		}
	}
}

static void check_step(struct run *run)
{
	struct fabric_conservation sum;

	for (uint32_t s = 0; s < run->random.scenario->topology->switch_count; s++) {
		check_buffer(run, s);
		check_drops(run, s);
	}
	fabric_conservation(run->fabric, &sum);
	if (!fabric_conserved(&sum))
		fault(run, "packets don't add up, %" PRIu64 " steps were wrong", sum.violations);
	if (run->fabric->traffic.pool_empty != 0)
		fault(run, "the lab's own pool was empty");
	if (run->probe.sent_while_paused != 0)
		fault(run, "%" PRIu64 " packets left paused queues", run->probe.sent_while_paused);
	if (run->probe.forwarded_control != 0)
		fault(run, "%" PRIu64 " control frames forwarded", run->probe.forwarded_control);
	if (run->probe.lossy_pauses != 0)
		fault(run, "%" PRIu64 " pauses of lossy priorities", run->probe.lossy_pauses);
}

/* --- what happens meanwhile --- */

/*
 * A peer whose link comes up sends at once; what it had been told before is forgotten. So a link
 * comes up again when what came over it has left, as after the seconds that it takes real ones.
 */
static bool link_is_drained(const struct run *run, uint32_t link)
{
	const struct topology *topology = run->random.scenario->topology;

	for (uint32_t end = 0; end < 2; end++) {
		const struct topology_node *node =
			&topology->nodes[topology->links[link].node[end]];
		const struct switch_node *switch_node;

		if (node->host)
			continue;
		switch_node = run->fabric->switches[node->index];
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct buffer_totals totals;

			leaf_buffer_totals(switch_node->leaf, switch_node->snapshot,
					   (uint16_t)topology->links[link].port[end], p, &totals);
			if (totals.occupancy_bytes != 0 || totals.reasons != 0)
				return false;
		}
	}
	return true;
}

static void flap(struct run *run, uint32_t link, bool up)
{
	const struct topology *topology = run->random.scenario->topology;

	if (fabric_link(run->fabric, link, up) != 0)
		fault(run, "link %u can't be set", link);
	for (uint32_t end = 0; end < 2; end++) {
		const struct topology_node *node =
			&topology->nodes[topology->links[link].node[end]];

		if (!node->host)
			probe_forget(&run->probe, node->index, topology->links[link].port[end]);
	}
}

static void happen(struct run *run, const struct random_event *event)
{
	uint64_t start_ps = run->fabric->engine->start_ps;
	struct config config;

	switch (event->kind) {
	case EVENT_RELOAD:
		config = random_fabric_reload(run->random.scenario, event->draw);
		if (!random_fabric_fits(run->random.scenario, &config))
			break;
		if (fabric_reload(run->fabric, &config) != 0)
			fault(run, "a reload was refused");
		seen.reloads++;
		break;
	case EVENT_STORM:
		host_storm(&run->fabric->hosts[event->which], event->priorities,
			   start_ps + event->until_ps);
		seen.storms++;
		break;
	case EVENT_FLAP:
		flap(run, event->which, false);
		seen.flaps++;
		break;
	}
}

/* Until a time from the start, if it lies ahead. */
static void run_to(struct run *run, uint64_t time_ps)
{
	struct engine *engine = run->fabric->engine;

	if (time_ps > now_ps(run) && engine_run(engine, engine->start_ps + time_ps) != 0)
		fault(run, "time stands still");
}

/* Bring up what may come up. @return links that are still down */
static uint32_t raise_links(struct run *run)
{
	uint32_t down = 0;

	for (uint32_t i = 0; i < run->next_event; i++) {
		const struct random_event *event = &run->random.event[i];

		if (event->kind != EVENT_FLAP || !run->fabric->link_down[event->which])
			continue;
		if (now_ps(run) >= event->until_ps && link_is_drained(run, event->which))
			flap(run, event->which, true);
		else
			down++;
		/* Snapshots that were replaced must be let go before the next ones. */
		run_to(run, now_ps(run) + PS_PER_NS);
	}
	return down;
}

/* --- the end --- */

static bool is_quiet(const struct run *run)
{
	for (uint32_t s = 0; s < run->random.scenario->topology->switch_count; s++) {
		const struct switch_node *node = run->fabric->switches[s];
		struct buffer_pool_totals pool;

		leaf_buffer_pool_totals(node->leaf, node->snapshot, &pool);
		if (pool.queued_packets != 0 || pool.shared_used_bytes != 0 ||
		    pool.headroom_used_bytes != 0 || pool.lossy_used_bytes != 0 || pool.guarded)
			return false;
	}
	for (uint32_t i = 0; i < 2 * run->random.scenario->topology->link_count; i++)
		if (wire_frame_count(&run->fabric->wires[i]) != 0)
			return false;
	return true;
}

static void check_end(struct run *run)
{
	const struct topology *topology = run->random.scenario->topology;
	const struct random_fabric *random = &run->random;

	if (!is_quiet(run))
		fault(run, "something is left over");
	for (uint32_t i = 0; i < run->fabric->traffic.flow_count; i++) {
		const struct flow *flow = &run->fabric->traffic.flows[i];

		if (flow->out_of_order != 0 && !(random->flaps && random->multipath))
			fault(run, "flow %s: %" PRIu64 " packets out of order", flow->params.name,
			      flow->out_of_order);
		if ((random->lossless >> flow->params.priority & 1) != 0 && !random->flaps &&
		    flow->received_packets != flow->sent_packets)
			fault(run, "flow %s: %" PRIu64 " of %" PRIu64 " packets came",
			      flow->params.name, flow->received_packets, flow->sent_packets);
	}
	for (uint32_t s = 0; s < topology->switch_count; s++) {
		const struct switch_node *node = run->fabric->switches[s];

		for (uint16_t port = 0; port < node->port_count; port++) {
			for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
				struct buffer_totals totals;

				leaf_buffer_totals(node->leaf, node->snapshot, port, p, &totals);
				if (totals.occupancy_bytes != 0 || totals.reasons != 0)
					fault(run, "%s port %u priority %u isn't empty", node->name,
					      port, p);
			}
			run->pauses += run->probe.port[s][port].pauses;
		}
	}
	if (random->must_pause && run->pauses == 0)
		fault(run, "nobody was paused");
}

/* --- a run --- */

static void run_traffic(struct run *run)
{
	const struct random_fabric *random = &run->random;

	for (uint32_t slice = 1; slice <= SLICES; slice++) {
		uint64_t end_ps = random->stop_ps * slice / SLICES;

		while (run->next_event < random->event_count &&
		       random->event[run->next_event].at_ps < end_ps) {
			const struct random_event *event = &random->event[run->next_event++];

			run_to(run, event->at_ps);
			happen(run, event);
			run_to(run, now_ps(run) + PS_PER_NS);
		}
		run_to(run, time_max(end_ps,
				     run->fabric->engine->now_ps - run->fabric->engine->start_ps));
		raise_links(run);
		check_step(run);
	}
}

static void run_drain(struct run *run)
{
	uint64_t step_ps = run->random.stop_ps / SLICES + PS_PER_US;
	uint64_t end_ps = run->random.stop_ps + run->random.drain_ps;

	while (now_ps(run) < end_ps) {
		if (raise_links(run) == 0 && is_quiet(run) && now_ps(run) > run->random.stop_ps * 2)
			break;
		step_ps += step_ps / 4;
		run_to(run, now_ps(run) + step_ps);
	}
	check_step(run);
}

static void describe(const struct random_fabric *random)
{
	static const char *const kinds[] = {"reload", "storm of host", "flap of link"};

	fprintf(stderr, "%sworkers %u, memory %" PRIu64 " bytes, traffic until %" PRIu64 " ns\n",
		random->text, random->scenario->leaf.config.leaf.workers,
		random->scenario->leaf.config.leaf.memory_bytes, random->stop_ps / PS_PER_NS);
	for (uint32_t i = 0; i < random->event_count; i++) {
		const struct random_event *event = &random->event[i];

		fprintf(stderr, "%s %u, priorities %#x, from %" PRIu64 " to %" PRIu64 " ns\n",
			kinds[event->kind], event->which, event->priorities,
			event->at_ps / PS_PER_NS, event->until_ps / PS_PER_NS);
	}
}

static uint32_t run_seed(uint64_t seed, uint64_t start_ps, uint64_t *digest)
{
	struct run *run = calloc(1, sizeof(*run));
	struct fabric_options options = {.start_ps = start_ps, .check = true};
	uint32_t faults;

	remember(seed);
	random_fabric_draw(&run->random, seed, HARNESS_PACKETS);
	run->fabric = fabric_create(run->random.scenario, harness_pool(), &options);
	cr_assert_not_null(run->fabric, "%s: %s", replay, rte_strerror(rte_errno));
	probe_start(&run->probe, run->fabric);
	run_traffic(run);
	run_drain(run);
	check_end(run);
	*digest = fabric_digest(run->fabric);
	seen.runs++;
	seen.must_pause += run->random.must_pause;
	seen.paused += run->pauses != 0;
	seen.headroom += run->headroom_peak != 0;
	probe_stop(&run->probe);
	fabric_free(run->fabric);
	faults = run->faults;
	if (faults != 0)
		describe(&run->random);
	random_fabric_fini(&run->random);
	if (rte_mempool_in_use_count(harness_pool()) != 0) {
		fprintf(stderr, "%s  %u buffers are missing\n", replay,
			rte_mempool_in_use_count(harness_pool()));
		faults++;
	}
	free(run);
	return faults;
}

ParameterizedTestParameters(random_lossless, holds_every_invariant)
{
	static uint32_t parts[PARTS];

	for (uint32_t i = 0; i < PARTS; i++)
		parts[i] = i;
	return cr_make_param_array(uint32_t, parts,
				   getenv("ROCELEAF_TEST_SEED") != NULL || SANITIZED ? 1 : PARTS);
}

ParameterizedTest(uint32_t *part, random_lossless, holds_every_invariant, .init = harness_start)
{
	uint64_t only = harness_number("ROCELEAF_TEST_SEED", 0);
	uint64_t count = harness_number("ROCELEAF_TEST_RUNS", RUNS) / PARTS;
	uint64_t first = only != 0 ? only : *part * count + 1;
	uint64_t last = only != 0 ? only : first + count - 1;
	uint64_t digest, again;

	signal(SIGABRT, say_replay);
	signal(SIGSEGV, say_replay);
	for (uint64_t seed = first; seed <= last; seed++) {
		uint32_t faults = run_seed(seed, UINT64_MAX - 50 * PS_PER_US, &digest);

		cr_expect_eq(faults, 0, "%s", replay);
		if (seed % 10 != 0 && only == 0)
			continue;
		run_seed(seed, 12345, &again);
		cr_expect_eq(digest, again, "%s", replay);
	}
	/* They test what they are meant to. */
	if (only == 0 && seen.runs >= 20) {
		cr_expect_geq(seen.must_pause * 4, seen.runs, "%u of %u", seen.must_pause,
			      seen.runs);
		cr_expect_geq(seen.paused * 2, seen.runs);
		/* Others were paused by the pool's guard, or while nothing came. */
		cr_expect_geq(seen.headroom * 10, seen.paused * 8);
		cr_expect(seen.reloads != 0 && seen.storms != 0 && seen.flaps != 0);
	}
}
