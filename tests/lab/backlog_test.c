/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A CPU that can't keep up. A worker is polled every 5 to 10 us and takes 32 frames of a port each time; at
 * 100 Gb/s 32 frames of 1086 bytes come in 2.9 us. So the receive rings fill, while the queues towards the
 * receivers, 100 Gb/s too, are nearly empty: nothing but what waits in the rings can mark, shed or pause.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <rte_common.h>

#include "dataplane/buffer.h"
#include "dataplane/packet.h"
#include "dataplane/snapshot.h"
#include "tests/lab/harness.h"

TestSuite(backlog, .init = harness_start);

#define TEXT_MAX 2048

#define LOSSLESS      3u
#define LOSSLESS_DSCP 26u
#define TOS_AT        15u /* in an untagged IPv4 frame */
#define SENDERS       2u

/* Traffic stops at 4 ms; at less than half of line rate what waits then is gone long before 8 ms. */
#define STOP_US 4000u
#define END_US  8000u

/* What a run has shown. */
struct seen {
	uint64_t pauses;        /* begun */
	uint64_t marked;        /* in the queues' counters */
	uint64_t backlog_marks; /* in the ingress ports' */
	uint64_t shed, other_drops;
	uint64_t ring_bytes_max; /* of any sender's ring, the lossless class */
	uint64_t xoff_bytes;     /* the most of any moment */
	uint64_t depth_max;      /* of any queue of the lossless class */
	uint8_t reasons;         /* PAUSE_* of any moment */
	uint64_t received_lossy;
};

static const struct wire *ring_of(const struct simulation *simulation, uint32_t sender)
{
	const struct fabric *fabric = simulation->fabric;
	char name[sizeof(fabric->wires[0].name)];

	snprintf(name, sizeof(name), "leaf1.h%u->leaf1", sender + 1);
	for (uint32_t w = 0; w < 2 * simulation->scenario->topology->link_count; w++)
		if (strcmp(fabric->wires[w].name, name) == 0)
			return &fabric->wires[w];
	cr_assert_fail("no wire %s", name);
	return NULL;
}

/* Bytes of the lossless class that have arrived and wait. */
static uint64_t ring_bytes(const struct wire *ring, uint32_t frames)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < frames; i++) {
		struct rte_mbuf *packet = ring->frames[(ring->head + i) & ring->mask].packet;

		if (packet_data(packet)[TOS_AT] >> 2 == LOSSLESS_DSCP)
			bytes += packet_length(packet);
	}
	return bytes;
}

/*
 * Now: what waits in the ring and in the leaf fits into what the plan of the buffer has for the pair. Of a
 * ring that classes share the leaf knows only an estimate, by what came last.
 */
static void check_ring(const struct simulation *simulation, uint32_t sender, bool shared,
		       struct seen *seen)
{
	const struct switch_node *node = simulation->fabric->switches[0];
	const struct wire *ring = ring_of(simulation, sender);
	uint16_t port = (uint16_t)sender;
	uint64_t waiting = ring_bytes(ring, wire_arrived_count(ring));
	uint64_t headroom = snapshot_pair(node->snapshot, port, LOSSLESS)->headroom_bytes;
	struct buffer_totals totals;

	leaf_buffer_totals(node->leaf, node->snapshot, port, LOSSLESS, &totals);
	seen->reasons |= totals.reasons;
	seen->ring_bytes_max = RTE_MAX(seen->ring_bytes_max, waiting);
	seen->xoff_bytes = RTE_MAX(seen->xoff_bytes, totals.xoff_bytes);
	if (shared)
		return;
	cr_assert_leq(waiting + totals.occupancy_bytes, totals.xoff_bytes + headroom,
		      "port %u: %" PRIu64 " bytes wait before %" PRIu64 ", xoff %" PRIu64
		      ", headroom %" PRIu64,
		      port, waiting, totals.occupancy_bytes, totals.xoff_bytes, headroom);
}

static void run_to(struct simulation *simulation, uint64_t until_us, bool shared, struct seen *seen)
{
	for (uint64_t time_us = 1; time_us <= until_us; time_us++) {
		harness_run_to(simulation, time_us * PS_PER_US);
		for (uint32_t sender = 0; sender < SENDERS; sender++)
			check_ring(simulation, sender, shared, seen);
	}
}

static void sum_up(const struct simulation *simulation, struct seen *seen)
{
	const struct leaf *leaf = simulation->fabric->switches[0]->leaf;

	for (uint16_t port = 0; port < leaf_port_count(leaf); port++) {
		struct port_totals totals;
		struct queue_totals queue;

		leaf_port_totals(leaf, port, &totals);
		leaf_queue_totals(leaf, port, LOSSLESS, &queue);
		seen->marked += queue.ecn_marked;
		seen->depth_max = RTE_MAX(seen->depth_max, queue.depth_bytes_max);
		seen->backlog_marks += totals.backlog_marks;
		for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
			*(reason == DROP_BACKLOG ? &seen->shed : &seen->other_drops) +=
				totals.drop[reason];
	}
	seen->pauses = harness_pauses(simulation, 0, 1u << LOSSLESS);
	cr_expect_eq(harness_pauses(simulation, 0, (uint8_t) ~(1u << LOSSLESS)), 0);
}

/* Of a lossless flow everything has come, of a lossy one what wasn't shed; all in order. */
static void check_flows(const struct simulation *simulation, struct seen *seen)
{
	const struct traffic *traffic = &simulation->fabric->traffic;
	uint64_t missing = 0;

	for (uint32_t i = 0; i < traffic->flow_count; i++) {
		const struct flow *flow = &traffic->flows[i];

		cr_expect_gt(flow->sent_packets, 0);
		if (flow->params.priority == LOSSLESS) {
			cr_expect_eq(flow->received_packets, flow->sent_packets, "flow %s",
				     flow->params.name);
		} else {
			seen->received_lossy += flow->received_packets;
			missing += flow->sent_packets - flow->received_packets;
		}
	}
	cr_expect_eq(missing, seen->shed);
}

/*
 * Hosts 1 and 2 send to 3 and 4.
 * @param lossy with a flow of the other class beside each, which alone the CPU could carry
 */
static struct seen run(uint32_t workers, const char *cc, bool lossy)
{
	static char text[TEXT_MAX];
	struct seen seen = {0};
	struct simulation *simulation;
	const char *rate = lossy ? "80G" : "100G";
	int used = snprintf(text, sizeof(text),
			    "name: backlog\n"
			    "duration: 8ms\n"
			    "fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4, "
			    "host_speed: 100G}}\n"
			    "leaf: {workers: %u, poll: 10us, memory: 16MiB}\n"
			    "hosts: {mtu: 1024, cc: %s}\n"
			    "traffic:\n",
			    workers, cc);

	for (uint32_t sender = 1; sender <= SENDERS; sender++) {
		used += snprintf(text + used, sizeof(text) - (size_t)used,
				 "  - flow: {name: lossless%u, from: leaf1.h%u, to: leaf1.h%u, "
				 "rate: %s, stop: %uus}\n",
				 sender, sender, sender + SENDERS, rate, STOP_US);
		if (lossy)
			used += snprintf(
				text + used, sizeof(text) - (size_t)used,
				"  - flow: {name: lossy%u, from: leaf1.h%u, to: leaf1.h%u, "
				"rate: 20G, stop: %uus, class: best-effort}\n",
				sender, sender, sender + SENDERS, STOP_US);
	}
	simulation = harness_begin(text);
	run_to(simulation, END_US, lossy, &seen);
	sum_up(simulation, &seen);
	harness_check_quiet(simulation, false);
	check_flows(simulation, &seen);
	/* It is the rings that were full: no queue held what is marked. */
	cr_expect_leq(seen.depth_max,
		      snapshot_mark(simulation->fabric->switches[0]->snapshot, SENDERS, LOSSLESS)
			      ->ecn_min_bytes);
	harness_finish(simulation);
	return seen;
}

/* Senders that react to nothing are held by pauses, and those come in time. */
Test(backlog, senders_that_react_to_nothing_are_paused_before_the_ring_holds_more_than_planned)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		struct seen seen = run(workers, "none", false);

		cr_expect_gt(seen.pauses, 0);
		cr_expect_eq(seen.reasons, PAUSE_BACKLOG, "nothing else was a reason");
		/* Not too early, either: what waited in the ring came close to the threshold. */
		cr_expect_gt(10 * seen.ring_bytes_max, 9 * seen.xoff_bytes);
		cr_expect_eq(seen.shed + seen.other_drops, 0);
	}
}

/* Marks reach senders that react, which then fit into what the CPU can do. */
Test(backlog, senders_that_react_to_marks_are_seldom_paused)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		struct seen none = run(workers, "none", false);
		struct seen seen = run(workers, "dcqcn", false);

		cr_expect_gt(seen.marked, 0);
		cr_expect_gt(seen.backlog_marks, 0);
		cr_expect_eq(seen.marked, seen.backlog_marks, "queues had nothing to mark");
		cr_expect_lt(4 * seen.pauses, none.pauses);
		cr_expect_eq(seen.shed + seen.other_drops, 0);
	}
}

/* Where both classes wait in one ring, only the lossy one loses packets. */
Test(backlog, lossy_packets_of_a_full_ring_are_shed_and_lossless_ones_all_come)
{
	for (uint32_t workers = 1; workers <= 2; workers++) {
		struct seen seen = run(workers, "none", true);

		cr_expect_gt(seen.shed, 0);
		cr_expect_eq(seen.other_drops, 0);
		cr_expect_gt(seen.received_lossy, 0);
	}
}
