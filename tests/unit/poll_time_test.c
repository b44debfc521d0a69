/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What worker_poll() returns: to poll at those times and at arrivals must be as good as to poll all
 * the time. The lab steps a leaf by that alone, and an idle daemon sleeps by it.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "tests/unit/egress_fixture.h"

#define G UINT64_C(1000000000)
#define M UINT64_C(1000000)

static struct leaf_fixture f;

/* --- the same traffic, polled sparsely and densely --- */

static struct snapshot *random_snapshot(uint64_t *state)
{
	static const uint64_t rates[] = {100 * M, G, 3 * G, 25 * G, 100 * G};
	static const uint64_t aheads[] = {0, 0, 1, 700, PS_PER_US, 30 * PS_PER_US};
	struct snapshot *snapshot = egress_snapshot(&f);
	uint64_t rate_bps = rates[draw(state, 5)];

	snapshot_port_rate(snapshot, OUT, rate_bps, aheads[draw(state, 6)],
			   draw(state, 2) * 50 * PS_PER_US);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		if (draw(state, 3) != 0)
			egress_weight(snapshot, p, 1 + draw(state, 100));
		else
			egress_strict(snapshot, p,
				      draw(state, 2) * (rate_bps / (2 + draw(state, 20))));
	}
	return snapshot;
}

/* Poll up to a time; every 100 ns too, or only when it is due. */
static void run_until(struct recorder *sent, uint64_t until_ps, bool dense)
{
	uint64_t next_ps;

	for (;;) {
		fixture_poll(&f);
		record_now(&f, sent);
		next_ps = dense ? time_min(f.due_ps, f.now_ps + 100 * PS_PER_NS) : f.due_ps;
		if (time_after(next_ps, until_ps))
			break;
		f.now_ps = next_ps;
	}
	f.now_ps = until_ps;
}

static struct recorder traffic(uint64_t seed, bool dense)
{
	struct recorder sent = {0};
	uint64_t state = seed;
	uint32_t events = 60;

	egress_open(&f, G);
	fixture_publish(&f, random_snapshot(&state));
	memory_io_limit(f.memory[OUT], (uint16_t)(draw(&state, 3) == 0 ? 2 : UINT16_MAX));
	while (events-- != 0) {
		uint32_t frames = draw(&state, 4) == 0 ? draw(&state, 60) : draw(&state, 3);

		for (uint32_t i = 0; i < frames; i++)
			egress_inject(&f, (uint8_t)draw(&state, 8), 60 + draw(&state, 3000),
				      events << 16 | i);
		if (draw(&state, 15) == 0)
			fixture_publish(&f, random_snapshot(&state));
		run_until(&sent, f.now_ps + draw(&state, 8000) * PS_PER_NS, dense);
	}
	while (fixture_queued(&f) != 0)
		run_until(&sent, f.now_ps + PS_PER_MS, false);
	fixture_close(&f);
	return sent;
}

Test(poll_time, polls_when_due_send_what_polls_all_the_time_send)
{
	fixture_start_eal();
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct recorder sparse = traffic(seed, false), dense = traffic(seed, true);

		cr_assert_eq(sparse.count, dense.count, "seed %" PRIu64, seed);
		for (uint32_t i = 0; i < sparse.count; i++) {
			cr_assert_eq(sparse.record[i].number, dense.record[i].number,
				     "seed %" PRIu64 ", frame %u", seed, i);
			cr_assert_eq(sparse.record[i].at_ps, dense.record[i].at_ps,
				     "seed %" PRIu64 ", frame %u: %" PRIu64 " and %" PRIu64, seed,
				     i, sparse.record[i].at_ps, dense.record[i].at_ps);
		}
		record_free(&sparse);
		record_free(&dense);
	}
}

/* --- a device that counts how often it is asked --- */

struct counting_io {
	struct port_io io;
	uint32_t calls;
	struct rte_mbuf *waiting[100];
	uint32_t count;
};

static struct counting_io *counting;

static uint16_t counting_rx(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			    uint16_t count)
{
	struct counting_io *self = (struct counting_io *)io;
	uint16_t taken = self->count < count ? (uint16_t)self->count : count;

	(void)queue;
	self->calls++;
	memcpy(packets, self->waiting, taken * sizeof(packets[0]));
	memmove(self->waiting, self->waiting + taken,
		(self->count - taken) * sizeof(self->waiting[0]));
	self->count -= taken;
	return taken;
}

static uint16_t counting_tx(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			    uint16_t count)
{
	struct counting_io *self = (struct counting_io *)io;

	(void)queue;
	self->calls++;
	for (uint16_t i = 0; i < count; i++)
		rte_pktmbuf_free(packets[i]);
	return count;
}

static const struct port_io_ops counting_ops = {
	.name = "counting", .rx_burst = counting_rx, .tx_burst = counting_tx};

enum { MANY = 300 };

/* A leaf of many routed ports that say themselves when they have something. */
static void start(void)
{
	struct snapshot *snapshot;

	fixture_start_eal();
	fixture_open(&f, MANY);
	counting = calloc(MANY + 1, sizeof(*counting));
	for (uint16_t port = 0; port <= MANY; port++) {
		counting[port].io =
			(struct port_io){.ops = &counting_ops, .port = port, .rx_queues = 1};
		cr_assert_eq(leaf_attach(f.leaf, port, &counting[port].io, 0), 0);
	}
	snapshot = snapshot_router(&f, FIXTURE_INTERFACES);
	fixture_publish(&f, snapshot);
}

static void finish(void)
{
	fixture_close(&f);
	free(counting);
}

static uint32_t calls(void)
{
	uint32_t sum = 0;

	for (uint16_t port = 0; port <= MANY; port++) {
		sum += counting[port].calls;
		counting[port].calls = 0;
	}
	return sum;
}

static void arrive(uint16_t port, uint32_t count)
{
	while (count-- != 0) {
		struct rte_mbuf *packet = rte_pktmbuf_alloc(f.pool);
		struct frame frame =
			FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = 2, .family = 4,
			      .source = 0x0a010001, .destination = 0x0a020001, .payload_bytes = 30);

		memcpy(rte_pktmbuf_append(packet, (uint16_t)frame.size), frame.byte, frame.size);
		packet->port = port;
		packet_virtual_bytes_set(packet, 0);
		counting[port].waiting[counting[port].count++] = packet;
	}
	worker_ready(f.worker, port);
}

LEAF_TEST(poll_time, an_idle_poll_asks_no_device)
{
	calls();
	for (uint32_t i = 0; i < 1000; i++) {
		f.now_ps += 100 * PS_PER_NS;
		fixture_poll(&f);
	}
	cr_assert_eq(calls(), 0);
	/* And nothing is due but the sweep of addresses: 256 steps in 300 s. */
	cr_assert_geq(f.due_ps - f.now_ps, PS_PER_S);
	cr_assert_leq(f.due_ps - f.now_ps, 300 * PS_PER_S / 256);
}

LEAF_TEST(poll_time, a_poll_asks_only_devices_that_have_something)
{
	calls();
	arrive(7, 3);
	fixture_poll(&f);
	cr_assert_eq(counting[7].calls, 1);
	cr_assert_eq(counting[2].calls, 1, "one burst out");
	cr_assert_eq(calls(), 2);
	fixture_poll(&f);
	cr_assert_eq(calls(), 0);
}

LEAF_TEST(poll_time, a_port_stays_ready_until_a_burst_comes_back_short)
{
	calls();
	arrive(7, 70);
	cr_assert_eq(fixture_poll(&f), f.now_ps, "32 taken, more may wait");
	cr_assert_eq(fixture_poll(&f), f.now_ps, "64 taken");
	cr_assert_neq(fixture_poll(&f), f.now_ps, "70");
	cr_assert_eq(counting[7].calls, 3);
	arrive(7, 32);
	cr_assert_eq(fixture_poll(&f), f.now_ps, "a full burst: nobody knows");
	cr_assert_neq(fixture_poll(&f), f.now_ps);
	cr_assert_eq(counting[7].calls, 5);
	fixture_settle(&f);
}

LEAF_TEST(poll_time, without_a_snapshot_a_worker_rests)
{
	uint64_t token;
	const struct snapshot *before = leaf_publish(f.leaf, NULL, &token);

	arrive(7, 3);
	cr_assert_eq(worker_poll(f.worker, f.now_ps), f.now_ps + TIME_IDLE_PS);
	cr_assert(leaf_quiet(f.leaf, token));
	cr_assert_eq(counting[7].count, 3);
	leaf_publish(f.leaf, before, &token);
	fixture_poll(&f);
	cr_assert_eq(counting[7].count, 0, "it still knows that they wait");
	cr_assert(leaf_quiet(f.leaf, token));
	fixture_settle(&f);
}

LEAF_TEST(poll_time, a_week_without_traffic_takes_few_polls)
{
	uint64_t end_ps = f.now_ps + UINT64_C(7) * 86400 * PS_PER_S;
	uint32_t polls = 0;

	for (; time_after(end_ps, f.now_ps); polls++) {
		uint64_t due_ps = worker_poll(f.worker, f.now_ps);

		cr_assert(time_after(due_ps, f.now_ps));
		f.now_ps = due_ps;
	}
	/* 256 steps in 300 s. */
	cr_assert_leq(polls, 7u * 86400 * 256 / 300 + 2);
}
