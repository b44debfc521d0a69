/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hosts in real time over ports in memory, with a clock that the test drives.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/io/memory.h"
#include "dataplane/packet.h"
#include "dataplane/pfc_frame.h"
#include "tools/lab/environment.h"
#include "tools/lab/host/host.h"
#include "tools/lab/realtime/endpoint.h"
#include "tools/lab/realtime/payload.h"

#define POOL_PACKETS 4095
#define DATA_ROOM    2304
#define RATE_BPS     UINT64_C(1000000000)
#define PAYLOAD      1024u
#define QUEUE_PAIR   20u
/* Ethernet 14, IPv4 20, UDP 8, BTH 12, RETH 16, invariant CRC 4; and preamble, FCS, gap. */
#define FRAME_FIRST  (14u + 20 + 8 + 12 + 16 + PAYLOAD + 4)
#define FRAME_MIDDLE (FRAME_FIRST - 16)
#define STEP_PS      (5 * PS_PER_US)
#define US           PS_PER_US

static struct rte_mempool *pool;

static void start(void)
{
	cr_assert_eq(environment_start(32u << 20), 0);
	pool = rte_pktmbuf_pool_create("realtime", POOL_PACKETS, 0, 0, DATA_ROOM, SOCKET_ID_ANY);
	cr_assert_not_null(pool);
}

TestSuite(realtime, .init = start);

/* Endpoint 0 sends, endpoint 1 serves; between them a cable that the test carries frames over. */
struct side {
	struct memory_io *memory;
	struct endpoint_send send;
	struct endpoint_params params;
	struct endpoint *endpoint;
};

struct stand {
	struct side side[2];
	uint64_t now_ps;
};

static void stand_create(struct stand *stand, uint64_t count, uint32_t depth)
{
	memset(stand, 0, sizeof(*stand));
	stand->now_ps = UINT64_MAX - PS_PER_US; /* the clock wraps soon */
	for (uint8_t i = 0; i < 2; i++) {
		struct side *side = &stand->side[i];
		struct endpoint_params *params = &side->params;

		side->memory = memory_io_create(0, 1024);
		cr_assert_not_null(side->memory);
		*params = (struct endpoint_params){
			.io = memory_io_port(side->memory),
			.pool = pool,
			.rate_bps = RATE_BPS,
			.ip = {10, 0, 0, (uint8_t)(1 + i)},
			.payload_bytes = PAYLOAD,
			.transport = {.ack_every = 4, .timeout_ps = 2 * PS_PER_MS},
			.cc = {.kind = CC_NONE},
			.cnp_dscp = 48,
		};
		memcpy(params->io->mac, (uint8_t[]){2, 0, 0, 0, 0, (uint8_t)(1 + i)}, 6);
		params->dscp_priority[26] = 3;
		if (i == 0) {
			side->send = (struct endpoint_send){
				.to = {10, 0, 0, 2},
				.next_hop = {10, 0, 0, 2},
				.queue_pair = QUEUE_PAIR,
				.depth = depth,
				.message_bytes = 10 * PAYLOAD,
				.count = count,
				.dscp = 26,
				.priority = 3,
				.source_port = 50000,
			};
			params->sends = &side->send;
			params->send_count = 1;
		} else {
			params->served[0] = UINT64_C(1) << (QUEUE_PAIR - FLOW_QUEUE_PAIR);
		}
		side->endpoint = endpoint_create(params, stand->now_ps);
	}
}

static void stand_free(struct stand *stand)
{
	for (uint32_t i = 0; i < 2; i++) {
		endpoint_free(stand->side[i].endpoint);
		port_io_close(stand->side[i].params.io);
	}
	cr_expect_eq(rte_mempool_in_use_count(pool), 0);
}

/* Carry what one has sent to the other, but for the frame with that number. @return how many there were */
static uint32_t carry(struct stand *stand, uint32_t from, uint32_t lose)
{
	struct rte_mbuf *packets[256];
	uint32_t count = memory_io_take(stand->side[from].memory, packets, 256);

	for (uint32_t i = 0; i < count; i++) {
		if (i == lose)
			rte_pktmbuf_free(packets[i]);
		else
			cr_assert_eq(memory_io_inject(stand->side[1 - from].memory, &packets[i], 1),
				     1);
	}
	return count;
}

static void poll_both(struct stand *stand)
{
	stand->now_ps += STEP_PS;
	endpoint_poll(stand->side[0].endpoint, stand->now_ps);
	endpoint_poll(stand->side[1].endpoint, stand->now_ps);
}

/* @return data and other frames that endpoint 0 sent in that time */
static uint32_t run_for(struct stand *stand, uint64_t time_ps)
{
	uint32_t sent = 0;

	for (uint64_t ps = 0; ps < time_ps; ps += STEP_PS) {
		poll_both(stand);
		sent += carry(stand, 0, UINT32_MAX);
		carry(stand, 1, UINT32_MAX);
	}
	return sent;
}

/* Past ARP: the first data has been sent. */
static void begin(struct stand *stand)
{
	poll_both(stand);
	poll_both(stand);
	cr_assert_eq(carry(stand, 0, UINT32_MAX), 1, "a request for the next hop");
	poll_both(stand);
	cr_assert_eq(carry(stand, 1, UINT32_MAX), 1, "its answer");
	poll_both(stand);
	cr_assert(endpoint_sender(stand->side[0].endpoint, 0)->resolved);
}

static const struct flow *served(const struct stand *stand)
{
	return endpoint_served(stand->side[1].endpoint, QUEUE_PAIR);
}

static void expect_clean(const struct stand *stand)
{
	for (uint32_t i = 0; i < 2; i++) {
		const struct endpoint_counters *counters =
			endpoint_counters(stand->side[i].endpoint);

		cr_expect_eq(counters->corrupt_packets, 0);
		cr_expect_eq(counters->crc_packets, 0);
		cr_expect_eq(counters->stalls, 0);
	}
}

Test(realtime, every_message_arrives_whole_and_its_sender_knows)
{
	struct stand stand;
	const struct endpoint_sender *sender;

	stand_create(&stand, 20, 2);
	begin(&stand);
	run_for(&stand, 10 * PS_PER_MS);
	sender = endpoint_sender(stand.side[0].endpoint, 0);
	cr_expect(endpoint_done(stand.side[0].endpoint));
	cr_expect_eq(sender->completed, 20);
	cr_expect_eq(sender->completion_ns.count, 20);
	cr_expect_eq(served(&stand)->received_bytes, 20 * 10 * PAYLOAD);
	cr_expect_eq(served(&stand)->msn, 20);
	cr_expect_eq(sender->flow->retransmitted_bytes, 0);
	expect_clean(&stand);
	stand_free(&stand);
}

Test(realtime, frames_leave_at_the_speed_and_not_before)
{
	struct stand stand;
	uint64_t time_ps = (FRAME_FIRST + 24 + 9 * (FRAME_MIDDLE + 24)) * UINT64_C(8000);
	uint32_t count;

	stand_create(&stand, 1, 1);
	begin(&stand);
	/* The message was released at the end of the last poll. */
	stand.now_ps += time_ps - 1;
	endpoint_poll(stand.side[0].endpoint, stand.now_ps);
	count = carry(&stand, 0, UINT32_MAX);
	cr_expect_eq(count, 9, "%u frames a picosecond before the tenth has left", count);
	stand.now_ps += 1;
	endpoint_poll(stand.side[0].endpoint, stand.now_ps);
	cr_expect_eq(carry(&stand, 0, UINT32_MAX), 1);
	stand_free(&stand);
}

Test(realtime, a_frame_on_the_port_is_whole)
{
	struct stand stand;
	struct rte_mbuf *packet;
	struct frame_view view;
	uint8_t *data;

	stand_create(&stand, 1, 1);
	begin(&stand);
	stand.now_ps += 20 * US;
	endpoint_poll(stand.side[0].endpoint, stand.now_ps);
	cr_assert_geq(memory_io_take(stand.side[0].memory, &packet, 1), 1);
	cr_expect_eq(packet->data_len, FRAME_FIRST);
	cr_expect_eq(packet_virtual_bytes(packet), 0);
	data = packet_data(packet);
	/* What routers change doesn't count: type of service, time to live, IP and UDP checksum, BTH byte 4. */
	data[15] |= 3;
	data[22]--;
	data[24] ^= 0xFF;
	data[40] ^= 0xFF;
	data[46] ^= 0x80;
	cr_expect_eq(payload_open(packet, &view), PAYLOAD_RIGHT);
	cr_expect_eq(view.payload_bytes, PAYLOAD);
	cr_expect_eq(packet->data_len, FRAME_FIRST - 4 - PAYLOAD);
	cr_expect_eq(packet_length(packet), FRAME_FIRST);
	/* What is taken apart can be made whole, and every other bit counts. */
	cr_assert_eq(payload_seal(packet), 0);
	for (uint32_t i = 26; i < FRAME_FIRST; i += 7) {
		if (i == 40)
			continue;
		data[i] ^= 0x10;
		cr_expect_neq(payload_open(packet, &view), PAYLOAD_RIGHT, "byte %u", i);
		data[i] ^= 0x10;
		packet->data_len = FRAME_FIRST;
		packet->pkt_len = FRAME_FIRST;
		packet_virtual_bytes_set(packet, 0);
	}
	rte_pktmbuf_free(packet);
	stand_free(&stand);
}

Test(realtime, what_is_lost_is_sent_again)
{
	struct stand stand;

	stand_create(&stand, 10, 1);
	begin(&stand);
	stand.now_ps += 40 * US; /* four frames */
	endpoint_poll(stand.side[0].endpoint, stand.now_ps);
	cr_assert_geq(carry(&stand, 0, 2), 3);
	run_for(&stand, 20 * PS_PER_MS);
	cr_expect(endpoint_done(stand.side[0].endpoint));
	cr_expect_eq(served(&stand)->received_bytes, 10 * 10 * PAYLOAD);
	cr_expect_gt(endpoint_sender(stand.side[0].endpoint, 0)->flow->retransmitted_bytes, 0);
	stand_free(&stand);
}

static void pause_sender(struct stand *stand, uint16_t quanta)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);
	struct pfc_frame frame = {.enabled = 1 << 3};
	const uint8_t mac[6] = {2, 0, 0, 0, 0, 9};

	frame.quanta[3] = quanta;
	cr_assert_not_null(packet);
	pfc_frame_write((uint8_t *)rte_pktmbuf_append(packet, PFC_FRAME_BYTES), mac, &frame);
	packet_virtual_bytes_set(packet, 0);
	cr_assert_eq(memory_io_inject(stand->side[0].memory, &packet, 1), 1);
}

Test(realtime, a_pause_holds_what_was_due_since_the_poll_before)
{
	struct stand stand;

	stand_create(&stand, 0, 2);
	begin(&stand);
	run_for(&stand, 100 * US);
	pause_sender(&stand, 65535); /* 33.6 ms */
	/* The frame that the wire had begun may still come. */
	cr_expect_leq(run_for(&stand, 50 * US), 1);
	cr_expect_eq(run_for(&stand, 30 * PS_PER_MS), 0);
	pause_sender(&stand, 0);
	cr_expect_gt(run_for(&stand, 100 * US), 0);
	expect_clean(&stand);
	stand_free(&stand);
}

Test(realtime, a_full_port_holds_the_host_and_loses_nothing)
{
	struct stand stand;
	const struct host *host;
	uint64_t sent;

	stand_create(&stand, 20, 2);
	begin(&stand);
	memory_io_limit(stand.side[0].memory, 0);
	run_for(&stand, PS_PER_MS);
	host = endpoint_host(stand.side[0].endpoint);
	sent = host->sent_packets;
	/* One waits for the port, and perhaps one that the wire had begun. */
	cr_expect_leq(sent, 3);
	cr_expect_gt(endpoint_counters(stand.side[0].endpoint)->held, 0);
	memory_io_limit(stand.side[0].memory, 32);
	run_for(&stand, 10 * PS_PER_MS);
	cr_expect(endpoint_done(stand.side[0].endpoint));
	cr_expect_eq(served(&stand)->received_bytes, 20 * 10 * PAYLOAD);
	expect_clean(&stand);
	stand_free(&stand);
}

Test(realtime, a_stall_is_no_burst)
{
	struct stand stand;
	uint32_t frame_ps = (FRAME_MIDDLE + 24) * 8000, count;

	stand_create(&stand, 0, 64);
	begin(&stand);
	run_for(&stand, 50 * US);
	stand.now_ps += 5 * PS_PER_MS; /* 590 frames' time */
	endpoint_poll(stand.side[0].endpoint, stand.now_ps);
	count = carry(&stand, 0, UINT32_MAX);
	cr_expect_leq(count, ENDPOINT_LAG_PS / frame_ps + 2, "%u frames at once", count);
	cr_expect_eq(endpoint_counters(stand.side[0].endpoint)->stalls, 1);
	cr_expect_gt(endpoint_counters(stand.side[0].endpoint)->stall_ps, 4 * PS_PER_MS);
	run_for(&stand, 100 * US);
	cr_expect_eq(endpoint_counters(stand.side[0].endpoint)->stalls, 1, "time goes on");
	stand_free(&stand);
}

Test(realtime, who_comes_late_is_no_connection)
{
	struct stand stand;

	stand_create(&stand, 1, 1);
	begin(&stand);
	stand.now_ps += 40 * US;
	endpoint_poll(stand.side[0].endpoint, stand.now_ps);
	cr_assert_geq(carry(&stand, 0, 0), 3); /* PSN 0 is missing */
	stand.now_ps += STEP_PS;
	endpoint_poll(stand.side[1].endpoint, stand.now_ps);
	stand.now_ps += 20 * US;
	endpoint_poll(stand.side[1].endpoint, stand.now_ps);
	cr_expect_eq(carry(&stand, 1, UINT32_MAX), 0, "nobody is there to be answered");
	cr_expect_gt(endpoint_counters(stand.side[1].endpoint)->foreign_packets, 0);
	/* The sender's timeout mends it. */
	run_for(&stand, 10 * PS_PER_MS);
	cr_expect_eq(served(&stand)->received_bytes, 10 * PAYLOAD);
	cr_expect_eq(endpoint_counters(stand.side[1].endpoint)->connections, 1);
	stand_free(&stand);
}
