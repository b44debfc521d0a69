/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/leaf_fixture.h"

#include <criterion/criterion.h>
#include <arpa/inet.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_eal.h>
#include <rte_errno.h>
#include <rte_mbuf.h>

#include "dataplane/internal.h"

#define DATA_ROOM_BYTES (RTE_PKTMBUF_HEADROOM + FRAME_ROOM_BYTES)

uint32_t draw(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)((*state >> 33) % below);
}

void fixture_start_eal(void)
{
	const char *arguments[] = {"test",     "--no-huge",      "-m", "64", "--no-shconf",
				   "--no-pci", "--no-telemetry", "-l", "0",  "--log-level",
				   "error"};
	enum { COUNT = sizeof(arguments) / sizeof(arguments[0]) };
	char *argv[COUNT];

	for (size_t i = 0; i < COUNT; i++)
		argv[i] = (char *)(uintptr_t)arguments[i];
	cr_assert_geq(rte_eal_init(COUNT, argv), 0);
}

/* Each test program runs with one worker; those of the packet path again with more. */
static uint16_t worker_count(void)
{
	const char *text = getenv("ROCELEAF_TEST_WORKERS");
	int count = text != NULL ? atoi(text) : 1;

	cr_assert(count >= 1 && count <= WORKER_COUNT_MAX);
	return (uint16_t)count;
}

void fixture_open_at(struct leaf_fixture *fixture, uint16_t port_count, uint64_t now_ps)
{
	struct leaf_params params = {
		.port_count = port_count,
		.worker_count = worker_count(),
		.packets_max = FIXTURE_PACKETS,
		.fdb_entries = 256,
		.seed = 1,
	};
	static uint32_t pools; /* a test may have several leaves */
	char name[24];

	memset(fixture, 0, sizeof(*fixture));
	fixture->port_count = fixture->cpu = port_count;
	fixture->now_ps = now_ps;
	snprintf(name, sizeof(name), "fixture%u", ++pools);
	fixture->pool = rte_pktmbuf_pool_create(name, FIXTURE_PACKETS, 0, 0, DATA_ROOM_BYTES, 0);
	cr_assert_not_null(fixture->pool, "%s", rte_strerror(rte_errno));
	fixture->fib = fib_create(FIB_COMPACT, 1000);
	cr_assert_not_null(fixture->fib, "%s", rte_strerror(rte_errno));
	params.pool = fixture->pool;
	fixture->leaf = leaf_create(&params);
	cr_assert_not_null(fixture->leaf, "%s", rte_strerror(rte_errno));
	fixture->worker = leaf_worker(fixture->leaf, 0);
	fixture->worker_count = params.worker_count;
	for (uint16_t port = 0; port <= port_count; port++) {
		fixture->memory[port] = memory_io_create(port, FIXTURE_BUFFERS);
		cr_assert_not_null(fixture->memory[port]);
		cr_assert_eq(leaf_attach(fixture->leaf, port, memory_io_port(fixture->memory[port]),
					 port == port_count ? 0 : port % params.worker_count),
			     0);
	}
}

void fixture_open(struct leaf_fixture *fixture, uint16_t port_count)
{
	fixture_open_at(fixture, port_count, PS_PER_S);
}

void fixture_close(struct leaf_fixture *fixture)
{
	for (uint16_t w = 0; w < fixture->worker_count; w++)
		worker_flush(leaf_worker(fixture->leaf, w));
	cr_assert(leaf_conserved(fixture->leaf), "packets of a flushed leaf");
	cr_assert_eq(fixture_queued(fixture), 0);
	leaf_free(fixture->leaf);
	snapshot_drop(fixture->snapshot);
	fib_free(fixture->fib);
	for (uint16_t port = 0; port <= fixture->port_count; port++)
		port_io_close(memory_io_port(fixture->memory[port]));
	cr_assert_eq(rte_mempool_avail_count(fixture->pool), FIXTURE_PACKETS, "%u buffers of %u",
		     rte_mempool_avail_count(fixture->pool), FIXTURE_PACKETS);
	rte_mempool_free(fixture->pool);
}

static void free_retired(struct leaf_fixture *fixture, const struct snapshot *snapshot,
			 uint64_t token)
{
	fixture_poll(fixture);
	cr_assert(leaf_quiet(fixture->leaf, token), "a poll has passed");
	snapshot_drop(snapshot);
}

void fixture_publish(struct leaf_fixture *fixture, struct snapshot *snapshot)
{
	const struct snapshot *before;
	uint64_t token;

	for (uint32_t i = 0; i < snapshot->adjacency_count; i++)
		snapshot->adjacency[i].plain_bytes_max =
			adjacency_plain_bytes_max(&snapshot->adjacency[i]);
	before = leaf_publish(fixture->leaf, snapshot, &token);
	cr_assert_eq(before, fixture->snapshot);
	fixture->snapshot = snapshot;
	free_retired(fixture, before, token);
}

void fixture_inject(struct leaf_fixture *fixture, uint16_t port, const struct frame *frame)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(fixture->pool);

	cr_assert_not_null(packet, "the pool is empty");
	memcpy(packet_data(packet), frame->byte, frame->size);
	packet->data_len = (uint16_t)frame->size;
	packet->pkt_len = frame->size;
	packet_virtual_bytes_set(packet, frame->virtual_bytes);
	*packet_meta(packet) = frame->meta;
	cr_assert_eq(memory_io_inject(fixture->memory[port], &packet, 1), 1, "port %u is full",
		     port);
}

/* What waits is what is charged: in each account, and in every sum that is kept of them. */
static void check_accounts(const struct leaf_fixture *fixture)
{
	struct spray_totals spray;
	static uint64_t bytes[PRIORITY_COUNT][PORT_COUNT_MAX];
	const struct worker *worker = fixture->worker;
	uint64_t shared_sum = 0, headroom_sum = 0;
	const struct leaf *leaf = fixture->leaf;
	const struct buffer_use use = buffer_use(leaf);
	int64_t packets = 0, lossy = 0;
	uint64_t shared = 0, headroom = 0;

	memset(bytes, 0, sizeof(bytes));
	for (uint16_t port = 0; port < leaf->ports; port++) {
		const struct staging *staging = &leaf->egress[port].staging;

		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			const struct egress_queue *queue = leaf_queue(leaf, port, p);
			struct queue_reader reader = {queue->head, queue_depth_packets(queue)};

			packets += reader.left + staging->count[p];
			while (reader.left != 0) {
				/* Without giving chunks back: this only looks. */
				struct rte_mbuf *packet = *reader.slot++;

				if (--reader.left != 0 && queue_slot_ends(reader.slot))
					reader.slot = queue_slot_chunk(reader.slot)->next->packet;
				bytes[p][packet->port] += packet_meta(packet)->cost_bytes;
			}
			for (uint32_t i = 0; i < staging->count[p]; i++)
				bytes[p][staging->packet[p][i]->port] +=
					packet_meta(staging->packet[p][i])->cost_bytes;
		}
	}
	for (uint16_t port = 0; port < leaf->ports; port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			const struct buffer_state *state = leaf_state(leaf, port, p);

			cr_assert_eq(buffer_occupancy(worker, port, p), bytes[p][port],
				     "poll %" PRIu64 ", port %u, priority %u: %" PRIu64
				     " bytes charged, %" PRIu64 " wait",
				     fixture->polls, port, p, buffer_occupancy(worker, port, p),
				     bytes[p][port]);
			if ((worker->lossless_mask >> p & 1) == 0)
				lossy += (int64_t)bytes[p][port];
			shared += state->shared_bytes;
			headroom += state->headroom_bytes;
			cr_assert(bytes[p][port] != 0 || (state->reasons & PAUSE_BUFFER) == 0,
				  "nothing waits, and the peer is paused");
		}
	}
	leaf_spray_totals(leaf, &spray);
	cr_assert_eq(use.packets, packets + (int64_t)spray.held_packets);
	cr_assert_eq(use.lossy_bytes, lossy);
	for (uint16_t w = 0; w < fixture->worker_count; w++) {
		shared_sum += leaf->worker[w]->shared_bytes;
		headroom_sum += leaf->worker[w]->headroom_bytes;
	}
	cr_assert_eq(shared_sum, shared);
	cr_assert_eq(headroom_sum, headroom);
}

/* Every worker once, and those that got something from others again. @return when the next is due */
static uint64_t poll_workers(struct leaf_fixture *fixture)
{
	uint64_t wakes = UINT64_MAX, next = 0, due_ps = fixture->now_ps + TIME_IDLE_PS;
	uint64_t due_of[WORKER_COUNT_MAX];

	for (uint32_t rounds = 0; wakes != 0; rounds++) {
		cr_assert_lt(rounds, 100, "workers wake each other without end");
		for (uint16_t w = fixture->worker_count; w-- > 0;) {
			struct worker *worker = leaf_worker(fixture->leaf, w);

			if ((wakes >> w & 1) == 0)
				continue;
			wakes &= ~(UINT64_C(1) << w);
			due_of[w] = worker_poll(worker, fixture->now_ps);
			next |= worker_wakes(worker);
		}
		wakes = next;
		next = 0;
	}
	for (uint16_t w = 0; w < fixture->worker_count; w++)
		due_ps = time_min(due_ps, due_of[w]);
	return due_ps;
}

uint64_t fixture_poll(struct leaf_fixture *fixture)
{
	struct leaf_conservation sum;

	fixture->due_ps = poll_workers(fixture);
	fixture->polls++;
	leaf_conservation(fixture->leaf, &sum);
	cr_assert(leaf_conserved(fixture->leaf),
		  "poll %" PRIu64 ": %" PRIu64 " received + %" PRIu64 " copied, %" PRIu64
		  " sent + %" PRIu64 " consumed + %" PRIu64 " dropped + %" PRIu64 " queued",
		  fixture->polls, sum.rx_packets, sum.copied, sum.tx_packets, sum.consumed,
		  sum.dropped, sum.queued);
	check_accounts(fixture);
	return fixture->due_ps;
}

uint64_t fixture_queued(const struct leaf_fixture *fixture)
{
	struct leaf_conservation sum;

	leaf_conservation(fixture->leaf, &sum);
	return sum.queued;
}

void fixture_settle(struct leaf_fixture *fixture)
{
	uint32_t polls = 0;

	fixture_poll(fixture);
	while (fixture->due_ps == fixture->now_ps || fixture_queued(fixture) != 0) {
		cr_assert_lt(polls++, 100000, "never settles");
		fixture->now_ps = time_max(fixture->now_ps, fixture->due_ps);
		fixture_poll(fixture);
	}
}

void fixture_run_until(struct leaf_fixture *fixture, uint64_t until_ps)
{
	fixture_poll(fixture);
	while (!time_after(fixture->due_ps, until_ps)) {
		cr_assert(!time_after(fixture->now_ps, fixture->due_ps), "due before now");
		fixture->now_ps = fixture->due_ps;
		fixture_poll(fixture);
	}
	fixture->now_ps = until_ps;
	fixture_poll(fixture);
}

bool fixture_guarded(const struct leaf_fixture *fixture)
{
	bool guarded = false;

	for (uint16_t w = 0; w < fixture->worker_count; w++)
		guarded |= fixture->leaf->worker[w]->guarded;
	return guarded;
}

uint64_t fixture_headroom(const struct leaf_fixture *fixture)
{
	uint64_t bytes = 0;

	for (uint16_t w = 0; w < fixture->worker_count; w++)
		bytes += fixture->leaf->worker[w]->headroom_bytes;
	return bytes;
}

bool fixture_take(struct leaf_fixture *fixture, uint16_t port, struct frame *frame)
{
	struct rte_mbuf *packet;

	if (memory_io_take(fixture->memory[port], &packet, 1) == 0)
		return false;
	cr_assert_eq(packet->nb_segs, 1);
	cr_assert_eq(packet->pkt_len, packet->data_len);
	cr_assert_leq(packet->data_len, sizeof(frame->byte));
	memset(frame, 0, sizeof(*frame));
	frame->size = packet->data_len;
	frame->virtual_bytes = packet_virtual_bytes(packet);
	frame->meta = *packet_meta(packet);
	memcpy(frame->byte, packet_data(packet), frame->size);
	rte_pktmbuf_free(packet);
	return true;
}

uint32_t fixture_discard(struct leaf_fixture *fixture, uint16_t port)
{
	struct rte_mbuf *packet;
	uint32_t count = 0;

	while (memory_io_take(fixture->memory[port], &packet, 1) != 0) {
		rte_pktmbuf_free(packet);
		count++;
	}
	return count;
}

uint64_t drops_of(const struct leaf_fixture *fixture, enum drop_reason reason)
{
	return leaf_drops(fixture->leaf, reason);
}

uint64_t drops_total(const struct leaf_fixture *fixture)
{
	struct leaf_conservation sum;

	leaf_conservation(fixture->leaf, &sum);
	return sum.dropped;
}

void expect_silence(struct leaf_fixture *fixture, const char *what)
{
	struct frame frame;

	for (uint16_t port = 0; port <= fixture->port_count; port++)
		cr_assert_not(fixture_take(fixture, port, &frame), "%s: port %u sent %s", what,
			      port, frame_text(&frame));
}

void expect_sent(struct leaf_fixture *fixture, const char *what, uint16_t from,
		 const struct frame *in, uint16_t to, const struct frame *out)
{
	uint64_t drops = drops_total(fixture);
	struct frame frame;

	fixture_inject(fixture, from, in);
	fixture_settle(fixture);
	for (uint32_t reason = 0; reason < DROP_COUNT && drops_total(fixture) != drops; reason++)
		cr_assert_eq(drops_of(fixture, (enum drop_reason)reason), 0, "%s: dropped as %s",
			     what, drop_name((enum drop_reason)reason));
	cr_assert(fixture_take(fixture, to, &frame), "%s: nothing came out of port %u", what, to);
	cr_assert(frame_equal(&frame, out), "%s:\n  is     %s\n  wanted %s", what,
		  frame_text(&frame), frame_text(out));
	expect_silence(fixture, what);
}

void expect_drop(struct leaf_fixture *fixture, const char *what, uint16_t from,
		 const struct frame *in, enum drop_reason reason)
{
	struct port_totals before, after;
	uint64_t total = drops_total(fixture);

	leaf_port_totals(fixture->leaf, from, &before);
	fixture_inject(fixture, from, in);
	fixture_settle(fixture);
	leaf_port_totals(fixture->leaf, from, &after);
	expect_silence(fixture, what);
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		cr_assert_eq(after.drop[i] - before.drop[i], i == reason, "%s: %s counted %" PRIu64,
			     what, drop_name((enum drop_reason)i), after.drop[i] - before.drop[i]);
	cr_assert_eq(drops_total(fixture) - total, 1, "%s: counted once, at one port", what);
	cr_assert_eq(after.rx_packets - before.rx_packets, 1, "%s", what);
	cr_assert_eq(after.consumed, before.consumed, "%s", what);
}
