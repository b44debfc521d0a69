/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/spray_talk.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HOST_MAC UINT64_C(0x02000000aa01)

struct talk talk;

void talk_clear(void)
{
	talk.messages = talk.frames = 0;
}

static struct spray_path path_of(uint32_t from, uint32_t to)
{
	struct spray_path path;

	spray_fixture_address(path.source, from);
	spray_fixture_address(path.destination, to);
	return path;
}

static uint16_t load16(const uint8_t *bytes)
{
	return (uint16_t)(bytes[0] << 8 | bytes[1]);
}

uint16_t checksum(const struct frame *frame)
{
	return load16(frame->byte + UDP_OFFSET + 6);
}

static void keep(uint16_t port, const struct frame *frame)
{
	struct spray_path path = path_of(OURS, THEIRS);

	if (load16(frame->byte + UDP_OFFSET + 2) != SPRAY_PORT) {
		cr_assert_lt(talk.frames, FRAMES);
		talk.frame_port[talk.frames] = port;
		talk.frame[talk.frames++] = *frame;
		return;
	}
	cr_assert_lt(talk.messages, MESSAGES);
	cr_assert_eq(frame->byte[14 + 1] & 3, 2, "ECT(0)");
	cr_assert_eq(spray_message_decode(frame->byte + UDP_OFFSET + 8,
					  load16(frame->byte + UDP_OFFSET + 4) - 8u, &path,
					  spray_fixture_key, &talk.message[talk.messages]),
		     SPRAY_ERROR_NONE);
	cr_assert_eq(talk.message[talk.messages].uplink, port - UP);
	talk.message_port[talk.messages++] = port;
}

void talk_poll(void)
{
	struct frame frame;

	for (uint32_t i = 0; i < 4; i++)
		fixture_poll(&talk.fixture);
	for (uint16_t port = 0; port < talk.fixture.port_count; port++)
		while (fixture_take(&talk.fixture, port, &frame))
			keep(port, &frame);
}

void talk_pass(uint64_t time_ps)
{
	fixture_run_until(&talk.fixture, talk.fixture.now_ps + time_ps);
	talk_poll();
}

const struct spray_message *last_said(enum spray_message_type type)
{
	for (uint32_t i = talk.messages; i-- > 0;)
		if (talk.message[i].type == type)
			return &talk.message[i];
	return NULL;
}

struct spray_message said(enum spray_message_type type)
{
	const struct spray_message *found = last_said(type);

	if (found == NULL) {
		cr_assert(false, "nothing of type %d", type);
		abort();
	}
	return *found;
}

struct frame message_frame(struct spray_message m, uint32_t uplink, uint32_t from)
{
	struct spray_path path = path_of(from, OURS);
	uint8_t payload[SPRAY_MESSAGE_BYTES_MAX];
	struct frame frame;
	uint32_t bytes;

	m.uplink = (uint8_t)uplink;
	m.epoch = talk.their_epoch;
	if (m.type != SPRAY_HELLO)
		m.receiver_epoch = OUR_EPOCH;
	m.counter = ++talk.counter[uplink];
	bytes = spray_message_encode(&m, &path, spray_fixture_key, payload);
	frame = FRAME(.destination_mac = FIXTURE_ROUTER,
		      .source_mac = router_peer((uint16_t)(UP + uplink)), .family = 4,
		      .source = from, .destination = OURS, .source_port = SPRAY_PORT,
		      .destination_port = SPRAY_PORT, .traffic_class = 56 << 2,
		      .payload_bytes = (uint16_t)bytes);
	memcpy(frame.byte + UDP_OFFSET + 8, payload, bytes);
	return frame;
}

void tell(struct spray_message m, uint32_t uplink)
{
	struct frame frame = message_frame(m, uplink, THEIRS);

	fixture_inject(&talk.fixture, (uint16_t)(UP + uplink), &frame);
	talk_poll();
}

struct spray_message hello_message(uint64_t receiver_epoch)
{
	struct spray_message m = {.type = SPRAY_HELLO, .receiver_epoch = receiver_epoch};

	m.hello.serial = ++talk.hello_serial;
	m.hello.count = UPLINKS;
	for (uint32_t u = 0; u < UPLINKS; u++)
		m.hello.uplink[u] = (struct spray_uplink){100000, true};
	return m;
}

void hello(uint64_t receiver_epoch)
{
	struct spray_message m = hello_message(receiver_epoch);

	for (uint32_t u = 0; u < UPLINKS; u++)
		tell(m, u);
}

void start(void)
{
	static struct spray_peer peer;
	const struct spray_side side = {
		.ours = OURS,
		.theirs = THEIRS,
		.epoch = OUR_EPOCH,
		.host_mac = HOST_MAC,
		.host = "12.0.0.5",
		.prefix = "12.0.0.0/24",
		.their_prefix = "11.0.0.0/8",
		.promote_bytes = PROMOTE,
		.peer = &peer,
	};

	fixture_start_eal();
	fixture_open(&talk.fixture, SPRAY_PORTS);
	talk.their_epoch = 900;
	talk.hello_serial = UINT32_MAX - 4; /* it wraps */
	spray_fixture_start(&talk.fixture, &side);
}

void finish(void)
{
	fixture_close(&talk.fixture);
}

void meet(void)
{
	talk_poll();
	hello(0);
	hello(OUR_EPOCH);
	fixture_run_until(&talk.fixture, talk.fixture.now_ps + SPRAY_START_PS + PS_PER_MS);
	hello(OUR_EPOCH);
	talk_clear();
}

void host_sends(uint8_t opcode, uint32_t qp, uint16_t sum)
{
	static uint32_t psn;
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST_MAC, .family = 4,
		      .source = HERE, .destination = THERE, .traffic_class = DSCP << 2 | 2,
		      .source_port = 50000, .roce = true, .opcode = opcode, .qp = qp,
		      .psn = psn + 1, .payload_bytes = PAYLOAD, .number = psn + 1);

	psn++;
	store_u16(frame.byte + UDP_OFFSET + 6, sum);
	fixture_inject(&talk.fixture, HOST, &frame);
	talk_poll();
}

struct spray_flow their_flow(uint32_t destination, uint32_t qp)
{
	struct spray_flow flow = {.family = 4, .dscp = DSCP, .qp = qp};

	spray_fixture_address(flow.source, THERE);
	spray_fixture_address(flow.destination, destination);
	return flow;
}

void they_send(uint32_t uplink, uint32_t qp, uint16_t sum)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER,
		      .source_mac = router_peer((uint16_t)(UP + uplink)), .family = 4,
		      .source = THERE, .destination = HERE, .traffic_class = DSCP << 2 | 2,
		      .source_port = 50000, .roce = true, .opcode = 4, .qp = qp, .psn = sum,
		      .payload_bytes = PAYLOAD, .number = sum);

	store_u16(frame.byte + UDP_OFFSET + 6, sum);
	fixture_inject(&talk.fixture, (uint16_t)(UP + uplink), &frame);
	talk_poll();
}

struct spray_message promote(uint32_t qp)
{
	for (uint32_t i = 0; i < 5 && last_said(SPRAY_REQUEST) == NULL; i++)
		host_sends(4, qp, 0);
	return said(SPRAY_REQUEST);
}

void answer(const struct spray_message *request, enum spray_answer say)
{
	struct spray_message m = {.type = SPRAY_ANSWER};

	m.answer.transaction = request->request.transaction;
	m.answer.worker = request->worker;
	m.answer.answer = (uint8_t)say;
	m.answer.flow = request->request.flow;
	tell(m, 0);
}

const struct spray_message *agree(uint32_t destination, uint32_t qp, uint16_t first)
{
	static uint32_t transaction;
	struct spray_message m = {.type = SPRAY_REQUEST};

	m.request.transaction = ++transaction;
	m.request.flow = their_flow(destination, qp);
	m.request.first = first;
	tell(m, 0);
	return last_said(SPRAY_ANSWER);
}
