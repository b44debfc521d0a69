/* SPDX-License-Identifier: BSD-3-Clause */
/* What plain.c does for a burst at once, against what balance_choose() does for its packets one by one. */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/port_io.h"
#include "tests/unit/leaf_fixture.h"

#define HOST UINT64_C(0x02000000aa01)

enum { IN, UPLINK, UPLINKS = 4, PORT_COUNT = UPLINK + UPLINKS, LOSSLESS = 3, DSCP_LOSSLESS = 26 };

static struct leaf_fixture f;

/* Lossless packets to 11/8 go by the mode, others by hash over members of unequal weight. */
static void start(enum balance_mode mode)
{
	struct snapshot *snapshot;
	struct group *group;
	uint32_t index;

	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, PORT_COUNT);
	index = snapshot_group(snapshot, GROUP_VIA, UPLINK, 0, 0);
	group = &snapshot->group[index];
	group->members = UPLINK;
	group->balanced = UPLINKS;
	group->peer = PEER_NONE;
	for (uint32_t i = 0; i < UPLINKS; i++)
		snapshot->adjacency[UPLINK + i].weight = BALANCE_WEIGHT_MAX / (1 + i);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		snapshot->class[p].balance = BALANCE_ECMP;
	snapshot->class[LOSSLESS].balance = (uint8_t)mode;
	snapshot->balance = (struct balance_table){.gap_ps = PS_PER_S, .flows = 1024};
	fixture_route(&f, "11.0.0.0/8", index);
	fixture_publish(&f, snapshot);
}

/* Every other one is lossless, every third one isn't RDMA. A priority tag changes nothing but the way that it goes. */
static struct frame frame_numbered(uint32_t number, bool tagged)
{
	return FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .tagged = tagged,
		     .family = 4, .source = 0x0a000001, .destination = 0x0b000001 + number,
		     .source_port = (uint16_t)(1000 + number), .roce = number % 3 != 0,
		     .protocol = number % 9 == 0 ? 6 : 17, .qp = number,
		     .traffic_class = number % 2 == 0 ? DSCP_LOSSLESS << 2 : 0, .payload_bytes = 64,
		     .number = number);
}

static void collect(uint16_t uplink[BURST_COUNT_MAX])
{
	struct frame out;

	fixture_settle(&f);
	for (uint32_t port = UPLINK; port < PORT_COUNT; port++)
		while (fixture_take(&f, (uint16_t)port, &out))
			uplink[frame_number(&out)] = (uint16_t)port;
}

static void compare(enum balance_mode mode)
{
	uint16_t together[BURST_COUNT_MAX] = {0}, alone[BURST_COUNT_MAX] = {0};
	bool used[PORT_COUNT] = {false};

	start(mode);
	for (uint32_t i = 0; i < BURST_COUNT_MAX; i++) {
		struct frame frame = frame_numbered(i, false);

		fixture_inject(&f, IN, &frame);
	}
	collect(together);
	for (uint32_t i = 0; i < BURST_COUNT_MAX; i++) {
		struct frame frame = frame_numbered(i, true);

		fixture_inject(&f, IN, &frame);
		collect(alone);
		cr_expect_eq(together[i], alone[i], "mode %u packet %u", mode, i);
		used[together[i]] = true;
	}
	for (uint32_t port = UPLINK; port < PORT_COUNT; port++)
		cr_expect(used[port], "mode %u port %u", mode, port);
	fixture_close(&f);
}

Test(balance_burst, a_burst_goes_where_its_packets_would_go_one_by_one)
{
	compare(BALANCE_ECMP);
}

Test(balance_burst, flowlets_of_a_burst_keep_their_path)
{
	compare(BALANCE_FLOWLET);
}

Test(balance_burst, a_destination_of_a_burst_keeps_its_path)
{
	compare(BALANCE_STATIC);
}

/* The same with four bytes of options that do nothing (RFC 791 3.1: type 1). */
static struct frame with_options(const struct frame *frame)
{
	struct frame longer = *frame;
	uint8_t *ip = longer.byte + 14;

	memmove(ip + 24, ip + 20, frame->size - 34);
	memset(ip + 20, 1, 4);
	ip[0] = 0x46;
	ip[3] = (uint8_t)(ip[3] + 4); /* no carry: the frame is short */
	longer.size += 4;
	frame_checksum_set(&longer, 14);
	return longer;
}

/* What is looked at one by one doesn't overtake packets of its flow that wait for the burst's end. */
Test(balance_burst, packets_of_a_flow_keep_their_order_whatever_their_headers)
{
	struct frame out;
	uint32_t next = 0;

	start(BALANCE_FLOWLET);
	for (uint32_t i = 0; i < BURST_COUNT_MAX; i++) {
		struct frame frame =
			FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
			      .source = 0x0a000001, .destination = 0x0b000001, .source_port = 7,
			      .roce = true, .qp = 5, .traffic_class = DSCP_LOSSLESS << 2,
			      .payload_bytes = 64, .number = i);

		if (i % 3 == 2)
			frame = with_options(&frame);
		fixture_inject(&f, IN, &frame);
	}
	fixture_settle(&f);
	for (uint32_t port = UPLINK; port < PORT_COUNT; port++)
		while (fixture_take(&f, (uint16_t)port, &out))
			cr_assert_eq(frame_number(&out), next++);
	cr_expect_eq(next, BURST_COUNT_MAX);
	fixture_close(&f);
}
