/* SPDX-License-Identifier: BSD-3-Clause */
/* CNT-DROP-REASON: every reason provoked, one at a time; no other counter moves. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/pfc_frame.h"
#include "tests/unit/leaf_fixture.h"

#define HOST      UINT64_C(0x02000000aa01)
#define OTHER     UINT64_C(0x02000000bb01)
#define BROADCAST UINT64_C(0xffffffffffff)

/* Two routed ports, three bridged ones in VLAN 100, one that is off. */
enum { ROUTED, UPLINK, BRIDGED, BRIDGED_2, BRIDGED_3, UNUSED, PORT_COUNT };

static struct leaf_fixture f;

static void open_leaf(void)
{
	struct snapshot *snapshot;

	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, UPLINK + 1);
	for (uint16_t port = BRIDGED; port <= BRIDGED_3; port++)
		snapshot_bridged(snapshot, port, 100);
	/* So that what is queued stays queued. */
	snapshot_port_rate(snapshot, UPLINK, RATE_BPS_MIN, 0, 0);
	fixture_publish(&f, snapshot);
}

static struct frame ipv4(uint32_t source, uint32_t destination)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		     .source = source, .destination = destination, .payload_bytes = 40);
}

static struct frame other(uint64_t destination, uint64_t source)
{
	return FRAME(.destination_mac = destination, .source_mac = source, .ether_type = 0x88b5);
}

static void send_in(uint16_t port, const struct frame *frame)
{
	fixture_inject(&f, port, frame);
	fixture_poll(&f);
	for (uint16_t i = 0; i <= f.port_count; i++)
		fixture_discard(&f, i);
}

/* Drops that one frame is enough for. @return false: not that kind of reason */
static bool provoke_by_frame(enum drop_reason reason)
{
	struct frame frame = ipv4(0x0a000001, 0x0a010001);
	uint16_t port = ROUTED;

	switch (reason) {
	case DROP_TOO_SHORT:
		frame.size = 13;
		break;
	case DROP_TOO_LONG:
		frame.virtual_bytes = 1500;
		break;
	case DROP_SOURCE_MAC:
		mac_store(frame.byte + 6, 0);
		break;
	case DROP_WRONG_MAC:
		mac_store(frame.byte, OTHER);
		break;
	case DROP_RESERVED_MAC:
		frame = other(UINT64_C(0x0180c200000e), HOST);
		break;
	case DROP_VLAN:
		frame = FRAME(.destination_mac = OTHER, .source_mac = HOST, .tagged = true,
			      .vlan = 77);
		port = BRIDGED;
		break;
	case DROP_IP_HEADER:
		frame.byte[14] = 0x35;
		break;
	case DROP_IP_CHECKSUM:
		frame.byte[25]++;
		break;
	case DROP_MARTIAN_SOURCE:
		frame = ipv4(0x7f000001, 0x0a010001);
		break;
	case DROP_MARTIAN_DESTINATION:
		frame = ipv4(0x0a000001, 0x7f000001);
		break;
	case DROP_MULTICAST:
		frame = ipv4(0x0a000001, 0xe0000001);
		break;
	case DROP_TTL:
		frame.byte[22] = 1;
		frame_checksum_set(&frame, 14);
		break;
	case DROP_NO_ROUTE:
		frame = ipv4(0x0a000001, 0x0b000001);
		break;
	case DROP_MTU:
		/* In it fits, the Ethernet header may have a tag; out it doesn't. */
		frame.virtual_bytes = (uint16_t)(1501 + 14 - frame.size);
		break;
	case DROP_UNROUTABLE:
		frame = other(FIXTURE_ROUTER, HOST);
		break;
	case DROP_LINK_DOWN:
		port = UNUSED;
		break;
	default:
		return false;
	}
	send_in(port, &frame);
	return true;
}

static void provoke_same_port(void)
{
	struct frame frame = other(HOST, OTHER);

	send_in(BRIDGED, &frame);
	frame = other(OTHER, HOST);
	send_in(BRIDGED, &frame);
}

static void provoke_flood_policed(void)
{
	struct frame frame = other(OTHER, HOST);

	while (drops_total(&f) == 0)
		send_in(BRIDGED, &frame);
}

static void provoke_no_buffer(void)
{
	static struct rte_mbuf *taken[FIXTURE_PACKETS + 1];
	struct frame frame = other(OTHER, HOST);
	uint32_t count = 0;

	while ((taken[count] = rte_pktmbuf_alloc(f.pool)) != NULL)
		count++;
	rte_pktmbuf_free(taken[--count]);
	send_in(BRIDGED, &frame);
	while (count != 0)
		rte_pktmbuf_free(taken[--count]);
}

static void provoke_no_member(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame frame = other(OTHER, HOST);

	snapshot->port[BRIDGED_2].link_up = false;
	snapshot->port[BRIDGED_3].link_up = false;
	fixture_publish(&f, snapshot);
	send_in(BRIDGED, &frame);
}

static void provoke_punt_policed(void)
{
	struct frame frame =
		FRAME(.destination_mac = BROADCAST, .source_mac = HOST, .ether_type = 0x0806);

	while (drops_total(&f) == 0)
		send_in(ROUTED, &frame);
}

/* A lossy share of so many halves of a frame. */
static struct frame lossy_room(uint32_t halves, uint32_t alpha_q8)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame frame = ipv4(0x0a000001, 0x0a010001);

	snapshot->buffer.lossy_bytes = halves * frame.size / 2;
	snapshot->buffer.class[0].alpha_q8 = alpha_q8;
	fixture_publish(&f, snapshot);
	return frame;
}

static void provoke_queue_full(void)
{
	/* With alpha 1 a queue of 3 leaves room for 3, so that a fourth is above its limit. */
	struct frame frame = lossy_room(12, 256);
	struct queue_totals totals;

	/* One is on the wire, three wait, the fifth is refused. */
	for (uint32_t i = 0; i < 4; i++) {
		send_in(ROUTED, &frame);
		cr_assert_eq(drops_total(&f), 0);
	}
	send_in(ROUTED, &frame);
	leaf_queue_totals(f.leaf, UPLINK, 0, &totals);
	cr_assert_eq(totals.drop_packets, 1);
	cr_assert_eq(totals.drop_bytes, frame.size);
	cr_assert_eq(totals.depth_packets, 3);
	cr_assert_eq(totals.depth_bytes, 3 * frame.size);
}

static void provoke_lossy_full(void)
{
	/* The half that is left lets any queue grow, but holds no frame. */
	struct frame frame = lossy_room(7, UINT32_MAX);

	for (uint32_t i = 0; i < 5; i++)
		send_in(ROUTED, &frame);
}

static void provoke_wred(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame frame = ipv4(0x0a000001, 0x0a010001);

	snapshot->buffer.mark[UPLINK].wred_min_bytes = frame.size;
	snapshot->buffer.mark[UPLINK].wred_max_bytes = 2 * frame.size;
	fixture_publish(&f, snapshot);
	/* One is on the wire, two wait, one would be above the upper threshold. */
	for (uint32_t i = 0; i < 4; i++)
		send_in(ROUTED, &frame);
}

static void provoke_guard(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame frame = ipv4(0x0a000001, 0x0a010001);

	snapshot->buffer.packets_max = 13;
	snapshot->buffer.guard_packets = 10;
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 5; i++)
		send_in(ROUTED, &frame);
}

/* A peer that pauses for ever. */
static void provoke_watchdog(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame frame = ipv4(0x0a000001, 0x0a010001), pause = {.size = PFC_FRAME_BYTES};
	const struct pfc_frame pfc = {.enabled = 1 << 3, .quanta = {[3] = 65535}};
	uint8_t mac[6];

	frame.byte[15] = 26 << 2; /* lossless */
	frame_checksum_set(&frame, 14);
	snapshot->port[UPLINK].pfc = PORT_PFC_HONOUR;
	snapshot->watchdog = (struct watchdog_table){
		.action = WATCHDOG_DROP,
		.detect_ps = 100 * PS_PER_MS,
		.restore_ps = 100 * PS_PER_MS,
		.poll_ps = 100 * PS_PER_MS,
	};
	fixture_publish(&f, snapshot);
	mac_store(mac, OTHER);
	(void)pfc_frame_write(pause.byte, mac, &pfc);
	send_in(UPLINK, &pause);
	send_in(ROUTED, &frame);
	/* 65535 quanta of a port of 1 Mb/s last 33 s. */
	fixture_run_until(&f, f.now_ps + 300 * PS_PER_MS);
}

/* A peer that doesn't obey: one frame in reserve, the one that crosses xoff, one in headroom. */
static void provoke_headroom(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame frame = ipv4(0x0a000001, 0x0a010001);

	frame.byte[15] = 26 << 2; /* lossless */
	frame_checksum_set(&frame, 14);
	snapshot->buffer.shared_bytes = 0;
	snapshot->buffer.pair[3 * (f.port_count + 1) + ROUTED] =
		(struct buffer_pair){.reserved_bytes = frame.size, .headroom_bytes = frame.size};
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 5; i++)
		send_in(ROUTED, &frame);
}

/* A worker that is late: a lossless class is about to be paused for what waits in its ring, with one lossy frame. */
static void provoke_backlog(void)
{
	struct snapshot *snapshot = snapshot_copy(f.snapshot);
	struct frame lossy = ipv4(0x0a000001, 0x0a010001), lossless = lossy;

	lossless.byte[15] = 26 << 2;
	frame_checksum_set(&lossless, 14);
	snapshot->buffer.shared_bytes = 0;
	snapshot->buffer.pair[3 * (f.port_count + 1) + ROUTED] =
		(struct buffer_pair){.reserved_bytes = 0, .headroom_bytes = 1000 * lossless.size};
	fixture_publish(&f, snapshot);
	for (uint32_t i = 0; i < 3 * BURST_COUNT_MAX; i++)
		fixture_inject(&f, ROUTED, i == BURST_COUNT_MAX ? &lossy : &lossless);
	for (uint32_t i = 0; i < 3; i++)
		fixture_poll(&f);
}

static void provoke_stopped(void)
{
	struct frame frame = ipv4(0x0a000001, 0x0a010001);

	send_in(ROUTED, &frame);
	send_in(ROUTED, &frame);
	for (uint16_t w = 0; w < f.worker_count; w++)
		worker_flush(leaf_worker(f.leaf, w));
}

static void provoke(enum drop_reason reason)
{
	if (provoke_by_frame(reason))
		return;
	switch (reason) {
	case DROP_SAME_PORT:
		provoke_same_port();
		break;
	case DROP_FLOOD_POLICED:
		provoke_flood_policed();
		break;
	case DROP_NO_BUFFER:
		provoke_no_buffer();
		break;
	case DROP_NO_MEMBER:
		provoke_no_member();
		break;
	case DROP_PUNT_POLICED:
		provoke_punt_policed();
		break;
	case DROP_QUEUE_FULL:
		provoke_queue_full();
		break;
	case DROP_LOSSY_FULL:
		provoke_lossy_full();
		break;
	case DROP_WRED:
		provoke_wred();
		break;
	case DROP_GUARD:
		provoke_guard();
		break;
	case DROP_WATCHDOG:
		provoke_watchdog();
		break;
	case DROP_HEADROOM:
		provoke_headroom();
		break;
	case DROP_BACKLOG:
		provoke_backlog();
		break;
	case DROP_STOPPED:
		provoke_stopped();
		break;
	default:
		cr_assert_fail("no test for %s", drop_name(reason));
	}
}

static void check(enum drop_reason reason)
{
	for (uint32_t i = 0; i < DROP_COUNT; i++)
		cr_expect_eq(drops_of(&f, (enum drop_reason)i), i == reason,
			     "provoking %s: %s counted %" PRIu64, drop_name(reason),
			     drop_name((enum drop_reason)i), drops_of(&f, (enum drop_reason)i));
}

Test(drops, CNT_DROP_REASON_each_reason_has_its_own_counter)
{
	fixture_start_eal();
	for (uint32_t reason = 0; reason < DROP_COUNT; reason++) {
		/* spray_order_test.c provokes these: it takes a peer. */
		if (reason == DROP_DUPLICATE || reason == DROP_SEQUENCE)
			continue;
		open_leaf();
		provoke((enum drop_reason)reason);
		check((enum drop_reason)reason);
		fixture_close(&f);
	}
}

/* What a port has sent one of its queues has; what it has received is in one priority, or was dropped before. */
static void check_queues(uint16_t port)
{
	struct port_totals totals;
	uint64_t tx_packets = 0, rx_packets = 0, dropped = 0;

	leaf_port_totals(f.leaf, port, &totals);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		struct queue_totals queue;

		leaf_queue_totals(f.leaf, port, p, &queue);
		tx_packets += queue.tx_packets;
		rx_packets += queue.rx_packets;
	}
	for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
		dropped += totals.drop[reason];
	cr_expect_eq(tx_packets, totals.tx_packets, "port %u", port);
	cr_expect_leq(rx_packets, totals.rx_packets, "port %u", port);
	cr_expect_geq(rx_packets + dropped, totals.rx_packets, "port %u", port);
}

Test(drops, CNT_CONSERVE_what_goes_in_comes_out)
{
	struct leaf_conservation sum;
	uint64_t state = 1;

	fixture_start_eal();
	open_leaf();
	/* Anything into anywhere; the fixture checks the sum after each poll. */
	for (uint32_t i = 0; i < 3000; i++) {
		struct frame frame = ipv4(0x0a000001, 0x0a000000 | draw(&state, 1 << 17));

		if (draw(&state, 2) == 0)
			frame = other(HOST + draw(&state, 5), HOST + draw(&state, 5));
		frame.byte[draw(&state, 40)] ^= (uint8_t)(draw(&state, 4) == 0);
		fixture_inject(&f, (uint16_t)draw(&state, PORT_COUNT), &frame);
		fixture_poll(&f);
		for (uint16_t port = 0; port <= f.port_count; port++)
			if (draw(&state, 10) == 0)
				fixture_discard(&f, port);
	}
	leaf_conservation(f.leaf, &sum);
	cr_assert_eq(sum.rx_packets, 3000);
	cr_assert_gt(sum.copied, 0);
	cr_assert_gt(sum.tx_packets, 0);
	cr_assert_gt(sum.dropped, 0);
	cr_assert_gt(sum.queued, 0);
	for (uint16_t port = 0; port <= f.port_count; port++)
		check_queues(port);
	fixture_close(&f);
}

Test(drops, reasons_have_names_and_help)
{
	for (uint32_t i = 0; i < DROP_COUNT; i++) {
		cr_expect_neq(strlen(drop_name((enum drop_reason)i)), 0);
		cr_expect_neq(strlen(drop_help((enum drop_reason)i)), 0);
		for (uint32_t k = 0; k < i; k++)
			cr_expect_str_neq(drop_name((enum drop_reason)i),
					  drop_name((enum drop_reason)k));
	}
	cr_expect_str_eq(drop_name(DROP_COUNT), "?");
	cr_expect_str_eq(drop_help(DROP_COUNT), "?");
}
