/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * In-order spray through a leaf, whose peer is the test: it speaks the protocol of spray_message.h, sends what it
 * likes, and looks at every frame.
 */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/internal.h"
#include "dataplane/links.h"
#include "tests/unit/spray_fixture.h"

enum {
	HOST = SPRAY_HOST,
	UP = SPRAY_UP,
	UPLINKS = SPRAY_UPLINKS,
	PORT_COUNT = SPRAY_PORTS,
	DSCP = SPRAY_TEST_DSCP
};

#define HOST_MAC   UINT64_C(0x02000000aa01)
#define OURS       0x0aff0001u /* 10.255.0.1 */
#define THEIRS     0x0aff0002u
#define HERE       0x0c000005u /* 12.0.0.5, a host of ours */
#define THERE      0x0b000001u /* 11.0.0.1, one of theirs */
#define OUR_EPOCH  77
#define PROMOTE    4000
#define PAYLOAD    1000
#define MESSAGES   256
#define FRAMES     1024
#define UDP_OFFSET (14 + 20)

static struct leaf_fixture f;
static uint64_t their_epoch, counter[UPLINKS];
static uint32_t hello_serial;

/* What the leaf has sent since clear(). */
static struct spray_message message[MESSAGES];
static uint16_t message_port[MESSAGES];
static uint32_t messages;
static struct frame data[FRAMES];
static uint16_t data_port[FRAMES];
static uint32_t count;

static void clear(void)
{
	messages = count = 0;
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

static uint16_t checksum(const struct frame *frame)
{
	return load16(frame->byte + UDP_OFFSET + 6);
}

static void keep(uint16_t port, const struct frame *frame)
{
	struct spray_path path = path_of(OURS, THEIRS);

	if (load16(frame->byte + UDP_OFFSET + 2) != SPRAY_PORT) {
		cr_assert_lt(count, FRAMES);
		data_port[count] = port;
		data[count++] = *frame;
		return;
	}
	cr_assert_lt(messages, MESSAGES);
	cr_assert_eq(frame->byte[14 + 1] & 3, 2, "ECT(0)");
	cr_assert_eq(spray_message_decode(frame->byte + UDP_OFFSET + 8,
					  load16(frame->byte + UDP_OFFSET + 4) - 8u, &path,
					  spray_fixture_key, &message[messages]),
		     SPRAY_ERROR_NONE);
	cr_assert_eq(message[messages].uplink, port - UP);
	message_port[messages++] = port;
}

/* Poll until workers have told each other everything; keep what left. */
static void poll(void)
{
	struct frame frame;

	for (uint32_t i = 0; i < 4; i++)
		fixture_poll(&f);
	for (uint16_t port = 0; port < PORT_COUNT; port++)
		while (fixture_take(&f, port, &frame))
			keep(port, &frame);
}

static void pass(uint64_t time_ps)
{
	fixture_run_until(&f, f.now_ps + time_ps);
	poll();
}

/* The last message of a type, or NULL. */
static const struct spray_message *last(enum spray_message_type type)
{
	for (uint32_t i = messages; i-- > 0;)
		if (message[i].type == type)
			return &message[i];
	return NULL;
}

/* The same, which must be there. */
static struct spray_message said(enum spray_message_type type)
{
	const struct spray_message *found = last(type);

	if (found == NULL) {
		cr_assert(false, "nothing of type %d", type);
		abort();
	}
	return *found;
}

static struct frame message_frame(struct spray_message m, uint32_t uplink, uint32_t from)
{
	struct spray_path path = path_of(from, OURS);
	uint8_t payload[SPRAY_MESSAGE_BYTES_MAX];
	struct frame frame;
	uint32_t bytes;

	m.uplink = (uint8_t)uplink;
	m.epoch = their_epoch;
	if (m.type != SPRAY_HELLO)
		m.receiver_epoch = OUR_EPOCH;
	m.counter = ++counter[uplink];
	bytes = spray_message_encode(&m, &path, spray_fixture_key, payload);
	frame = FRAME(.destination_mac = FIXTURE_ROUTER,
		      .source_mac = router_peer((uint16_t)(UP + uplink)), .family = 4,
		      .source = from, .destination = OURS, .source_port = SPRAY_PORT,
		      .destination_port = SPRAY_PORT, .traffic_class = 56 << 2,
		      .payload_bytes = (uint16_t)bytes);
	memcpy(frame.byte + UDP_OFFSET + 8, payload, bytes);
	return frame;
}

static void tell(struct spray_message m, uint32_t uplink)
{
	struct frame frame = message_frame(m, uplink, THEIRS);

	fixture_inject(&f, (uint16_t)(UP + uplink), &frame);
	poll();
}

static void hello(uint64_t receiver_epoch)
{
	struct spray_message m = {.type = SPRAY_HELLO, .receiver_epoch = receiver_epoch};

	m.hello.serial = ++hello_serial;
	m.hello.count = UPLINKS;
	for (uint32_t u = 0; u < UPLINKS; u++)
		m.hello.uplink[u] = (struct spray_uplink){100000, true};
	for (uint32_t u = 0; u < UPLINKS; u++)
		tell(m, u);
}

static void start(void)
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
	fixture_open(&f, PORT_COUNT);
	their_epoch = 900;
	hello_serial = UINT32_MAX - 4; /* it wraps */
	memset(counter, 0, sizeof(counter));
	clear();
	spray_fixture_start(&f, &side);
}

static void finish(void)
{
	fixture_close(&f);
}

/* They know each other, and what came before our start has come. */
static void meet(void)
{
	poll();
	hello(0);
	hello(OUR_EPOCH);
	fixture_run_until(&f, f.now_ps + SPRAY_START_PS + PS_PER_MS);
	hello(OUR_EPOCH);
	clear();
}

/* A packet of a host of ours to one of theirs. */
static void host_sends(uint8_t opcode, uint32_t qp, uint16_t sum)
{
	static uint32_t psn;
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST_MAC, .family = 4,
		      .source = HERE, .destination = THERE, .traffic_class = DSCP << 2 | 2,
		      .source_port = 50000, .roce = true, .opcode = opcode, .qp = qp,
		      .psn = psn + 1, .payload_bytes = PAYLOAD, .number = psn + 1);

	psn++;
	store_u16(frame.byte + UDP_OFFSET + 6, sum);
	fixture_inject(&f, HOST, &frame);
	poll();
}

static struct spray_flow their_flow(uint32_t destination, uint32_t qp)
{
	struct spray_flow flow = {.family = 4, .dscp = DSCP, .qp = qp};

	spray_fixture_address(flow.source, THERE);
	spray_fixture_address(flow.destination, destination);
	return flow;
}

/* A packet of theirs to our host comes by an uplink. */
static void they_send(uint32_t uplink, uint32_t qp, uint16_t sum)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER,
		      .source_mac = router_peer((uint16_t)(UP + uplink)), .family = 4,
		      .source = THERE, .destination = HERE, .traffic_class = DSCP << 2 | 2,
		      .source_port = 50000, .roce = true, .opcode = 4, .qp = qp, .psn = sum,
		      .payload_bytes = PAYLOAD, .number = sum);

	store_u16(frame.byte + UDP_OFFSET + 6, sum);
	fixture_inject(&f, (uint16_t)(UP + uplink), &frame);
	poll();
}

/* Until the leaf asks; @return the request */
static struct spray_message promote(uint32_t qp)
{
	for (uint32_t i = 0; i < 5 && last(SPRAY_REQUEST) == NULL; i++)
		host_sends(4, qp, 0);
	return said(SPRAY_REQUEST);
}

static void answer(const struct spray_message *request, enum spray_answer say)
{
	struct spray_message m = {.type = SPRAY_ANSWER};

	m.answer.transaction = request->request.transaction;
	m.answer.worker = request->worker;
	m.answer.answer = (uint8_t)say;
	m.answer.flow = request->request.flow;
	tell(m, 0);
}

LEAF_TEST(spray_leaf, says_hello_and_who_it_has_heard)
{
	const struct spray_message *m;

	poll();
	cr_assert_eq(messages, UPLINKS, "one by each uplink");
	cr_expect_neq(message_port[0], message_port[1]);
	m = last(SPRAY_HELLO);
	cr_assert_not_null(m);
	cr_expect_eq(m->epoch, OUR_EPOCH);
	cr_expect_eq(m->receiver_epoch, 0);
	cr_expect_eq(m->hello.count, UPLINKS);
	cr_expect_eq(m->hello.uplink[1].speed_mbps, 100000);
	cr_expect(m->hello.uplink[1].up);
	clear();
	hello(0);
	m = last(SPRAY_HELLO);
	cr_assert_not_null(m, "answered at once");
	cr_expect_eq(m->receiver_epoch, their_epoch);
	clear();
	hello(OUR_EPOCH);
	hello(0);
	cr_expect_null(last(SPRAY_HELLO), "not as often as it is told");
}

LEAF_TEST(spray_leaf, a_flow_is_asked_for_and_sprayed_by_numbers_from_then_on)
{
	struct spray_message request;
	uint32_t before, by[UPLINKS] = {0};
	uint16_t path, number;

	meet();
	request = promote(0x123456);
	before = count;
	cr_expect_eq(before, PROMOTE / PAYLOAD - 0u, "1062 bytes each: the fourth asks");
	path = data_port[0];
	cr_expect_eq(request.request.flow.qp, 0x123456);
	cr_expect_eq(request.request.flow.dscp, DSCP);
	cr_expect_arr_eq(request.request.flow.source, ((uint8_t[]){12, 0, 0, 5}), 4);
	cr_expect_arr_eq(request.request.flow.destination, ((uint8_t[]){11, 0, 0, 1}), 4);
	answer(&request, SPRAY_YES);
	for (uint32_t i = 0; i < 101; i++)
		host_sends(4, 0x123456, 0);
	for (uint32_t i = 0; i < before; i++) {
		cr_expect_eq(checksum(&data[i]), 0);
		cr_expect_eq(data_port[i], path);
	}
	cr_assert_eq(count, before + 101);
	cr_expect_eq(checksum(&data[before]), SEQUENCE_START);
	cr_expect_eq(data_port[before], path, "the start goes the old way");
	number = request.request.first;
	for (uint32_t i = before + 1; i < count; i++) {
		number = sequence_next(number);
		cr_expect_eq(checksum(&data[i]), number);
		by[data_port[i] - UP]++;
	}
	cr_expect_eq(by[0], 50);
	cr_expect_eq(by[1], 50);
}

/* The far end of one of two paths has a quarter of the other's speed: of 1000 flows 200, +- 4 sigma of 12.6. */
LEAF_TEST(spray_leaf, LB_UNEQUAL_flows_that_are_not_sprayed_keep_to_what_paths_carry_at_both_ends)
{
	struct spray_message m = {.type = SPRAY_HELLO, .receiver_epoch = OUR_EPOCH};
	uint32_t slow = 0;

	meet();
	m.hello.serial = ++hello_serial;
	m.hello.count = UPLINKS;
	for (uint32_t u = 0; u < UPLINKS; u++)
		m.hello.uplink[u] = (struct spray_uplink){u == 1 ? 25000 : 100000, true};
	for (uint32_t u = 0; u < UPLINKS; u++)
		tell(m, u);
	for (uint32_t qp = 1; qp <= 1000; qp++)
		host_sends(4, qp, 0);
	cr_assert_eq(count, 1000);
	for (uint32_t i = 0; i < count; i++)
		slow += data_port[i] == UP + 1;
	cr_expect_leq(slow, 200 + 51, "%u", slow);
	cr_expect_geq(slow, 200 - 51, "%u", slow);
}

/* An uplink of theirs went down; what they had said before comes late, by that uplink, whose wire was still full. */
LEAF_TEST(spray_leaf, LF_DOWN_an_old_hello_brings_no_dead_uplink_back)
{
	struct spray_message m = {.type = SPRAY_HELLO, .receiver_epoch = OUR_EPOCH};

	meet();
	m.hello.count = UPLINKS;
	m.hello.uplink[0] = m.hello.uplink[1] = (struct spray_uplink){100000, true};
	m.hello.uplink[1].up = false;
	m.hello.serial = hello_serial + 2;
	tell(m, 0);
	m.hello.uplink[1].up = true;
	m.hello.serial = hello_serial + 1;
	tell(m, 1);
	for (uint32_t qp = 1; qp <= 100; qp++)
		host_sends(4, qp, 0);
	cr_assert_eq(count, 100);
	for (uint32_t i = 0; i < count; i++)
		cr_expect_eq(data_port[i], UP, "%u", i);
	m.hello.serial = hello_serial + 3;
	tell(m, 1);
	for (uint32_t qp = 1; qp <= 100; qp++)
		host_sends(4, qp, 0);
	for (uint32_t i = 100; i < count; i++)
		if (data_port[i] != UP)
			return;
	cr_assert(false, "it is back");
}

LEAF_TEST(spray_leaf, a_no_is_no_and_a_cnp_has_no_number)
{
	struct spray_message request;

	meet();
	request = promote(5);
	answer(&request, SPRAY_FULL);
	host_sends(4, 5, 0);
	cr_expect_eq(checksum(&data[count - 1]), 0);
	clear();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&data[count - 1]), SEQUENCE_START);
	host_sends(0x81, 6, 0);
	cr_expect_eq(checksum(&data[count - 1]), 0);
	host_sends(0x81, 6, 0x4321);
	cr_expect_eq(checksum(&data[count - 1]), 0, "it could be taken for a number");
	host_sends(0x81, 7, 0x4321);
	cr_expect_eq(checksum(&data[count - 1]), 0x4321, "of this flow nothing was said");
}

LEAF_TEST(spray_leaf, a_host_that_computes_checksums_is_demoted_and_left_alone)
{
	struct spray_message request, word;
	uint16_t sum;

	meet();
	for (uint32_t i = 0; i < 10; i++)
		host_sends(4, 8, 0x5555);
	for (uint32_t i = 0; i < count; i++)
		cr_expect_eq(checksum(&data[i]), 0x5555, "never touched");
	cr_expect_null(last(SPRAY_REQUEST));
	request = promote(9);
	answer(&request, SPRAY_YES);
	host_sends(4, 9, 0);
	host_sends(4, 9, 0x5555);
	sum = checksum(&data[count - 1]);
	cr_expect_eq(sum, sequence_next(request.request.first));
	clear();
	for (uint32_t i = 0; i < 10; i++) {
		pass(PS_PER_MS);
		hello(OUR_EPOCH);
	}
	word = said(SPRAY_DEMOTE);
	cr_expect_eq(word.sequence.number, sequence_plus(sum, -1), "all before its pin");
	word.type = SPRAY_DRAINED;
	tell(word, 1);
	host_sends(4, 9, 0x5555);
	cr_expect_eq(checksum(&data[count - 1]), 0, "they may still look for numbers");
}

/* An agreement on a flow of theirs that begins at this number. */
static const struct spray_message *agree(uint32_t destination, uint32_t qp, uint16_t first)
{
	static uint32_t transaction;
	struct spray_message m = {.type = SPRAY_REQUEST};

	m.request.transaction = ++transaction;
	m.request.flow = their_flow(destination, qp);
	m.request.first = first;
	tell(m, 0);
	return last(SPRAY_ANSWER);
}

/* These numbers, and only they, have left for the host since clear(); their checksums are 0 again. */
static void expect_host(uint32_t numbers, const uint16_t *number)
{
	uint32_t seen = 0;

	for (uint32_t i = 0; i < count; i++) {
		if (data_port[i] != HOST)
			continue;
		cr_expect_eq(checksum(&data[i]), 0, "a number leaked");
		cr_assert_lt(seen, numbers, "%u too many", frame_number(&data[i]));
		cr_expect_eq(frame_number(&data[i]), number[seen], "%u instead of %u",
			     frame_number(&data[i]), number[seen]);
		seen++;
	}
	cr_expect_eq(seen, numbers);
	clear();
}

#define EXPECT_HOST(...) \
	expect_host(sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), (uint16_t[]){__VA_ARGS__})

LEAF_TEST(spray_leaf, restores_the_order_of_what_was_agreed_on)
{
	const struct spray_message *m;
	struct spray_totals totals;

	meet();
	m = agree(HERE, 7, 100);
	cr_assert_not_null(m);
	cr_expect_eq(m->answer.answer, SPRAY_YES);
	clear();
	they_send(0, 7, SEQUENCE_START);
	EXPECT_HOST(1);
	they_send(1, 7, 102);
	they_send(0, 7, 103);
	they_send(1, 7, 103);
	cr_expect_eq(count, 0);
	they_send(0, 7, 101);
	EXPECT_HOST(101, 102, 103);
	they_send(1, 7, 102);
	EXPECT_HOST(102); /* late, and sent */
	leaf_spray_totals(f.leaf, &totals);
	cr_expect_eq(totals.duplicates, 1);
	cr_expect_eq(totals.late, 1);
	cr_expect_eq(totals.restored, 6);
	cr_expect_eq(leaf_drops(f.leaf, DROP_DUPLICATE), 1);
	cr_expect_eq(totals.held_packets, 0);
}

LEAF_TEST(spray_leaf, LB_PKT_fences_on_all_uplinks_end_a_hole)
{
	struct spray_message fence;

	meet();
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	clear();
	they_send(0, 7, 102);
	pass(30 * PS_PER_US);
	fence = said(SPRAY_FENCE_WANTED);
	fence.type = SPRAY_FENCE;
	fence.sequence.number = 102;
	clear();
	tell(fence, 0);
	cr_expect_eq(count, 0, "101 may come by the other one");
	tell(fence, 1);
	EXPECT_HOST(102);
}

/* Nothing behind it shows that it is missing: who sent it asks, and proves that it is lost. */
LEAF_TEST(spray_leaf, a_lost_last_packet_is_fenced_when_its_source_asks)
{
	struct spray_message demote = {.type = SPRAY_DEMOTE}, fence;

	meet();
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	clear();
	demote.sequence.transaction = 1000;
	demote.sequence.flow = their_flow(HERE, 7);
	demote.sequence.number = 101; /* lost */
	tell(demote, 0);
	cr_expect_null(last(SPRAY_DRAINED));
	fence = said(SPRAY_FENCE_WANTED);
	cr_expect_eq(fence.sequence.number, 101);
	fence.type = SPRAY_FENCE;
	clear();
	for (uint32_t u = 0; u < UPLINKS; u++)
		tell(fence, u);
	demote.sequence.transaction++;
	tell(demote, 0);
	cr_expect_eq(said(SPRAY_DRAINED).sequence.transaction, 1001);
	they_send(0, 7, 101);
	EXPECT_HOST(101); /* late, if it comes after all */
}

LEAF_TEST(spray_leaf, a_flow_is_forgotten_when_its_source_lets_go_of_it_after_a_second)
{
	struct spray_message release = {.type = SPRAY_RELEASE};

	meet();
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	release.sequence.transaction = 1000;
	release.sequence.flow = their_flow(HERE, 7);
	release.sequence.number = 100;
	for (uint32_t i = 0; i < 99; i++) {
		pass(10 * PS_PER_MS);
		hello(OUR_EPOCH);
		clear();
	}
	tell(release, 0);
	cr_expect_null(last(SPRAY_RELEASED), "too early");
	pass(11 * PS_PER_MS);
	release.sequence.transaction++;
	tell(release, 0);
	cr_expect_eq(said(SPRAY_RELEASED).sequence.transaction, 1001, "at once");
	clear();
	they_send(0, 7, 101);
	cr_assert_eq(count, 1);
	cr_expect_eq(checksum(&data[0]), 101, "a host's own checksum, then");
}

/* No hello has come by the other uplink yet, which is up: a packet may. */
LEAF_TEST(spray_leaf, LB_PKT_fences_prove_nothing_while_an_uplink_is_unknown)
{
	struct spray_message fence = {.type = SPRAY_FENCE};
	struct spray_message m = {.type = SPRAY_HELLO, .receiver_epoch = OUR_EPOCH};

	poll();
	m.hello.count = UPLINKS;
	m.hello.uplink[0] = m.hello.uplink[1] = (struct spray_uplink){100000, true};
	for (uint32_t i = 0; i < 2; i++) {
		m.hello.serial = ++hello_serial;
		tell(m, 0);
	}
	fixture_run_until(&f, f.now_ps + SPRAY_START_PS + PS_PER_MS);
	m.hello.serial = ++hello_serial;
	tell(m, 0);
	agree(HERE, 7, 100);
	they_send(0, 7, SEQUENCE_START);
	clear();
	they_send(0, 7, 102);
	pass(30 * PS_PER_US);
	fence.sequence.flow = their_flow(HERE, 7);
	fence.sequence.number = 102;
	tell(fence, 0);
	cr_expect_eq(count, 0, "101 may come by the other one");
	they_send(1, 7, 101);
	EXPECT_HOST(101, 102);
}

LEAF_TEST(spray_leaf, agrees_on_its_own_hosts_alone)
{
	const struct spray_message *m;

	meet();
	m = agree(THERE, 7, 100);
	cr_assert_not_null(m);
	cr_expect_eq(m->answer.answer, SPRAY_FOREIGN);
	m = agree(HERE + 1, 7, 100);
	cr_expect_eq(m->answer.answer, SPRAY_FOREIGN, "a neighbour that isn't resolved");
}

LEAF_TEST(spray_leaf, what_was_not_agreed_on_passes_but_not_right_after_the_start)
{
	poll();
	hello(0);
	hello(OUR_EPOCH);
	clear();
	they_send(0, 7, 500);
	cr_expect_eq(count, 0);
	cr_expect_eq(leaf_drops(f.leaf, DROP_SEQUENCE), 1);
	they_send(0, 7, 0);
	cr_expect_eq(count, 1, "what has no number passes");
	fixture_run_until(&f, f.now_ps + SPRAY_START_PS);
	clear();
	they_send(0, 7, 500);
	cr_assert_eq(count, 1);
	cr_expect_eq(checksum(&data[0]), 500, "a host's own checksum");
}

LEAF_TEST(spray_leaf, a_peer_that_begins_anew_gets_no_numbers)
{
	struct spray_message request;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	host_sends(4, 6, 0);
	cr_expect_gt(checksum(&data[count - 1]), 1);
	their_epoch = 901;
	hello(0); /* proves nothing: it could be an old one */
	host_sends(4, 6, 0);
	cr_expect_gt(checksum(&data[count - 1]), 1);
	hello(OUR_EPOCH);
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&data[count - 1]), 0);
}

LEAF_TEST(spray_leaf, a_peer_that_is_silent_gets_no_numbers_after_a_while)
{
	struct spray_message request;
	uint64_t begun_ps, quiet_ps = 0;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	begun_ps = f.now_ps;
	while (f.now_ps < begun_ps + 2 * SPRAY_DEAD_PS && quiet_ps == 0) {
		host_sends(4, 6, 0);
		if (checksum(&data[count - 1]) == 0)
			quiet_ps = f.now_ps;
		clear();
		fixture_run_until(&f, f.now_ps + 100 * PS_PER_US);
	}
	cr_assert_neq(quiet_ps, 0);
	cr_expect_leq(quiet_ps - begun_ps, SPRAY_DEAD_PS + 300 * PS_PER_US);
	cr_expect_lt(SPRAY_DEAD_PS + 300 * PS_PER_US, SPRAY_START_PS,
		     "before a peer that has begun anew lets numbers pass");
}

/* Each byte changed, cut short, replayed, from elsewhere, of another life: nothing comes of it. */
LEAF_TEST(spray_leaf, forged_and_old_messages_do_nothing)
{
	struct spray_message request, m = {.type = SPRAY_ANSWER};
	struct spray_totals before, after;
	struct frame frame, bad;
	uint32_t sent = 0;

	meet();
	request = promote(6);
	m.answer.transaction = request.request.transaction;
	m.answer.worker = request.worker;
	m.answer.answer = SPRAY_YES;
	m.answer.flow = request.request.flow;
	frame = message_frame(m, 0, THEIRS);
	leaf_spray_totals(f.leaf, &before);
	for (uint32_t i = UDP_OFFSET + 8; i < frame.size; i++, sent++) {
		bad = frame;
		bad.byte[i] ^= 0x10;
		fixture_inject(&f, UP, &bad);
		poll();
	}
	for (uint32_t cut = 1; cut < frame.size - UDP_OFFSET - 8; cut += 7, sent++) {
		bad = frame;
		store_u16(bad.byte + UDP_OFFSET + 4, frame.size - UDP_OFFSET - cut);
		fixture_inject(&f, UP, &bad);
		poll();
	}
	their_epoch++;
	bad = message_frame(m, 0, THEIRS);
	fixture_inject(&f, UP, &bad);
	their_epoch--;
	poll();
	bad = message_frame(m, 0, THEIRS + 1);
	fixture_inject(&f, UP, &bad);
	poll();
	leaf_spray_totals(f.leaf, &after);
	cr_expect_geq(after.messages_refused - before.messages_refused, sent + 2);
	cr_expect_eq(after.messages_received, before.messages_received);
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&data[count - 1]), 0, "still waiting for an answer");
	/* And yet the true one counts, once. */
	fixture_inject(&f, UP, &frame);
	poll();
	host_sends(4, 6, 0);
	cr_expect_eq(checksum(&data[count - 1]), SEQUENCE_START);
	leaf_spray_totals(f.leaf, &before);
	fixture_inject(&f, UP, &frame);
	poll();
	leaf_spray_totals(f.leaf, &after);
	cr_expect_gt(after.messages_refused, before.messages_refused, "a replay");
}

/*
 * Slow uplinks, one of which goes down with packets in its queue: those with a number leave by the other one.
 * @param heard no snapshot tells it
 */
static void lose_uplink(bool heard)
{
	enum { PACKETS = 20 };
	struct spray_message request;
	struct snapshot *slow, *down;
	struct spray_totals totals;
	uint64_t said_before;
	uint32_t before;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	slow = snapshot_copy(f.snapshot);
	for (uint16_t u = 0; u < UPLINKS; u++)
		snapshot_port_rate(slow, (uint16_t)(UP + u), UINT64_C(1000000000), 0, 0);
	fixture_publish(&f, slow);
	clear();
	for (uint32_t i = 0; i < PACKETS; i++)
		host_sends(4, 6, 0);
	before = count;
	cr_assert_lt(before, PACKETS / 2, "the others wait");
	leaf_spray_totals(f.leaf, &totals);
	said_before = totals.messages_sent;
	if (heard) {
		leaf_link_set(f.leaf, UP, false);
		fixture_poll(&f);
	} else {
		down = snapshot_copy(f.snapshot);
		down->port[UP].link_up = false;
		down->adjacency[UP].weight = 0;
		fixture_publish(&f, down);
	}
	/* Moved, and all else that is sprayed goes there, too. */
	leaf_spray_totals(f.leaf, &totals);
	if (heard) {
		cr_expect_gt(totals.rerouted, 0);
		cr_expect_gt(totals.messages_sent, said_before, "the other leaf is told at once");
	}
	host_sends(4, 6, 0);
	pass(PS_PER_MS);
	cr_expect_not(said(SPRAY_HELLO).hello.uplink[0].up);
	cr_expect(said(SPRAY_HELLO).hello.uplink[1].up);
	leaf_spray_totals(f.leaf, &totals);
	cr_expect_gt(totals.rerouted, 0);
	cr_expect_eq(count, PACKETS + 1);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), 0);
	for (uint32_t i = before; i < count; i++)
		cr_expect_eq(data_port[i], UP + 1);
}

LEAF_TEST(spray_leaf, LF_DOWN_what_waits_for_a_dead_uplink_leaves_by_another_one)
{
	lose_uplink(false);
}

LEAF_TEST(spray_leaf, LF_DOWN_within_one_poll_of_the_word_that_a_link_is_down)
{
	lose_uplink(true);
}

/* Its device takes nothing, its link is up: what is sequenced moves, and a hello stays there to be taken. */
LEAF_TEST(spray_leaf, LF_DOWN_what_waits_for_an_uplink_that_takes_nothing_leaves_by_another_one)
{
	enum { PACKETS = 20 };
	struct spray_message request;
	struct spray_totals totals;

	meet();
	request = promote(6);
	answer(&request, SPRAY_YES);
	host_sends(4, 6, 0);
	clear();
	memory_io_limit(f.memory[UP], 0);
	for (uint32_t i = 0; i < PACKETS; i++)
		host_sends(4, 6, 0);
	cr_assert_lt(count, PACKETS);
	pass(PS_PER_MS);
	leaf_spray_totals(f.leaf, &totals);
	cr_expect_gt(totals.rerouted, 0);
	cr_expect_eq(count, PACKETS);
	cr_expect(leaf_link_stalled(f.leaf, UP), "a hello waits to be taken");
	cr_expect_not(said(SPRAY_HELLO).hello.uplink[0].up);
	/* It goes on, and everybody knows. */
	memory_io_limit(f.memory[UP], 32);
	pass(PS_PER_MS);
	cr_expect_eq(count, PACKETS);
	cr_expect(said(SPRAY_HELLO).hello.uplink[0].up);
	cr_expect_eq(leaf_drops(f.leaf, DROP_LINK_DOWN), 0);
}

/* Whoever doesn't hear of it sends into the void: a message may be lost, so it is said three times, 100 us apart. */
LEAF_TEST(spray_leaf, LF_DOWN_is_said_again_lest_it_was_lost)
{
	struct snapshot *down;
	uint32_t said_down = 0;

	meet();
	down = snapshot_copy(f.snapshot);
	down->port[UP].link_up = false;
	down->adjacency[UP].weight = 0;
	fixture_publish(&f, down);
	poll();
	pass(350 * PS_PER_US);
	for (uint32_t i = 0; i < messages; i++) {
		if (message[i].type != SPRAY_HELLO)
			continue;
		cr_expect_eq(message_port[i], UP + 1);
		cr_expect_not(message[i].hello.uplink[0].up);
		said_down++;
	}
	cr_expect_eq(said_down, 3, "%u", said_down);
}
