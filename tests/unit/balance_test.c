/* SPDX-License-Identifier: BSD-3-Clause */
/* Which next hop a flow takes. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dataplane/balance/hash.h"
#include "tests/unit/leaf_fixture.h"

#define HOST UINT64_C(0x02000000aa01)

enum { MEMBERS_MAX = 64 };

static uint32_t hash_of(const struct frame *frame, uint64_t seed)
{
	struct parsed parsed;

	cr_assert(parse_frame(frame->byte, frame->size, frame->size, &parsed));
	return balance_hash(&parsed, frame->byte + parsed.l3_offset, seed);
}

/* A flow by number; which of its fields differ from flow to flow is the pattern's business. */
struct pattern {
	const char *name;
	void (*vary)(struct frame_spec *spec, uint32_t flow);
};

static uint32_t scramble(uint32_t x)
{
	uint64_t state = x;

	draw(&state, 1);
	return draw(&state, UINT32_MAX);
}

static void vary_all(struct frame_spec *spec, uint32_t flow)
{
	spec->source = 0x0a000000 + (scramble(flow) & 0xffffff);
	spec->destination = 0x0b000000 + (scramble(flow + 1) & 0xffffff);
	spec->source_port = (uint16_t)scramble(flow + 2);
	spec->destination_port = (uint16_t)(scramble(flow + 3) % 1000);
}

static void vary_source(struct frame_spec *spec, uint32_t flow)
{
	spec->source += flow;
}

static void vary_destination(struct frame_spec *spec, uint32_t flow)
{
	spec->destination += flow;
}

static void vary_source_port(struct frame_spec *spec, uint32_t flow)
{
	spec->source_port = (uint16_t)(1024 + flow);
}

static void vary_destination_port(struct frame_spec *spec, uint32_t flow)
{
	spec->destination_port = (uint16_t)(8000 + flow);
}

static void vary_queue_pair(struct frame_spec *spec, uint32_t flow)
{
	spec->roce = true;
	spec->qp = 0x11 + flow;
}

static void vary_high_queue_pair(struct frame_spec *spec, uint32_t flow)
{
	spec->roce = true;
	spec->qp = (flow << 10 & 0xffffff) | 5;
}

static void vary_both_ends(struct frame_spec *spec, uint32_t flow)
{
	/* Each host talks to the one of its own number: an exclusive or would be the same. */
	spec->source += flow;
	spec->destination += flow;
}

static char source6[64], destination6[64];

static void vary_source6(struct frame_spec *spec, uint32_t flow)
{
	spec->family = 6;
	snprintf(source6, sizeof(source6), "fd00::%x", flow + 1);
	spec->source6 = source6;
}

static void vary_destination6(struct frame_spec *spec, uint32_t flow)
{
	spec->family = 6;
	snprintf(destination6, sizeof(destination6), "fd00:%x::1", flow + 1);
	spec->destination6 = destination6;
}

static void vary_queue_pair6(struct frame_spec *spec, uint32_t flow)
{
	spec->family = 6;
	vary_queue_pair(spec, flow);
}

static const struct pattern patterns[] = {
	{"all of the 5-tuple", vary_all},
	{"source address", vary_source},
	{"destination address", vary_destination},
	{"source and destination address alike", vary_both_ends},
	{"source port", vary_source_port},
	{"destination port", vary_destination_port},
	{"queue pair", vary_queue_pair},
	{"upper bits of the queue pair", vary_high_queue_pair},
	{"IPv6 source", vary_source6},
	{"IPv6 destination", vary_destination6},
	{"queue pair in IPv6", vary_queue_pair6},
};

static struct frame flow_of(const struct pattern *pattern, uint32_t flow)
{
	struct frame_spec spec = {
		.destination_mac = FIXTURE_ROUTER,
		.source_mac = HOST,
		.family = 4,
		.source = 0x0a000001,
		.destination = 0x0b000001,
		.source6 = "fd00::1",
		.destination6 = "fd00:1::1",
		.source_port = 49152,
		.destination_port = 5201,
		.payload_bytes = 20,
	};

	pattern->vary(&spec, flow);
	return frame_of(&spec);
}

/* 250 flows a member, each member within 25 % of the mean: four sigma of a fair draw. */
Test(balance, LB_ECMP_FAIR_members_get_equal_shares_of_flows)
{
	static const uint32_t counts[] = {2, 3, 4, 5, 8, 16, MEMBERS_MAX};

	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
			uint32_t flows[MEMBERS_MAX] = {0}, total = 250 * counts[c];

			for (uint32_t flow = 0; flow < total; flow++) {
				struct frame frame = flow_of(&patterns[p], flow);
				uint32_t member = balance_member(hash_of(&frame, 1), counts[c]);

				cr_assert_lt(member, counts[c]);
				flows[member]++;
			}
			for (uint32_t member = 0; member < counts[c]; member++)
				cr_expect(flows[member] > 187 && flows[member] < 313,
					  "%s: %u of %u flows to member %u of %u", patterns[p].name,
					  flows[member], total, member, counts[c]);
		}
	}
}

/*
 * Chi-square over 16 members, 1000 flows each: a fair draw exceeds 44.26 once in 10^4 (15 degrees of freedom),
 * and each pattern is one draw of a fixed hash.
 */
Test(balance, LB_ECMP_FAIR_chi_square_of_queue_pairs_and_source_ports)
{
	enum { COUNT = 16, FLOWS = 1000 * COUNT };

	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		uint32_t got[COUNT] = {0};
		double sum = 0;

		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			struct frame frame = flow_of(&patterns[p], flow);

			got[balance_member(hash_of(&frame, 1), COUNT)]++;
		}
		for (uint32_t i = 0; i < COUNT; i++) {
			double off = (double)got[i] - FLOWS / COUNT;

			sum += off * off / (FLOWS / COUNT);
		}
		cr_expect_lt(sum, 44.26, "%s: %f", patterns[p].name, sum);
	}
}

Test(balance, LB_POLARIZE_a_second_tier_with_another_seed_chooses_anew)
{
	for (size_t p = 0; p < sizeof(patterns) / sizeof(patterns[0]); p++) {
		uint32_t flows[4] = {0}, total = 0;

		/* Those that the first tier sent to its member 0. */
		for (uint32_t flow = 0; flow < 4000; flow++) {
			struct frame frame = flow_of(&patterns[p], flow);

			if (balance_member(hash_of(&frame, 1), 4) != 0)
				continue;
			flows[balance_member(hash_of(&frame, 2), 4)]++;
			total++;
		}
		for (uint32_t member = 0; member < 4; member++)
			cr_expect(flows[member] * 4 > total * 3 / 4 &&
					  flows[member] * 4 < total * 5 / 4,
				  "%s: %u of %u", patterns[p].name, flows[member], total);
	}
}

Test(balance, LB_HASH_FIELDS_what_differs_inside_a_flow_has_no_say)
{
	struct frame base =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		      .source = 0x0a000001, .destination = 0x0b000001, .source_port = 49152,
		      .roce = true, .qp = 0x123456, .payload_bytes = 64);
	uint32_t wanted = hash_of(&base, 1);
	static const struct {
		const char *name;
		uint32_t offset; /* byte of the frame */
		uint8_t bits;
	} rows[] = {
		{"destination MAC", 0, 0xfe},
		{"source MAC", 11, 0xff},
		{"DSCP and ECN", 15, 0xff},
		{"identification", 19, 0xff},
		{"don't fragment", 20, 0x40},
		{"TTL", 22, 0xff},
		{"UDP checksum", 41, 0xff},
		{"BTH opcode", 42, 0xff},
		{"BTH solicited event, migration, pad count, version", 43, 0xff},
		{"partition key", 45, 0xff},
		{"FECN", 46, 0x80},
		{"BECN", 46, 0x40},
		{"reserved bits beside them", 46, 0x3f},
		{"acknowledge request", 50, 0x80},
		{"PSN", 53, 0xff},
		{"payload", 60, 0xff},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct frame frame = base;

		frame.byte[rows[i].offset] ^= rows[i].bits;
		frame_checksum_set(&frame, 14);
		cr_expect_eq(hash_of(&frame, 1), wanted, "%s", rows[i].name);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct frame frame = base;

		frame.byte[47 + i] ^= 1;
		cr_expect_neq(hash_of(&frame, 1), wanted, "queue pair, byte %u", i);
	}
}

Test(balance, MAL_ROCE_SHORT_fragments_of_a_datagram_keep_together)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		      .source = 0x0a000001, .destination = 0x0b000001, .source_port = 49152,
		      .roce = true, .qp = 7, .payload_bytes = 64);
	uint32_t first;

	store_u16(frame.byte + 20, 0x2000); /* more fragments */
	frame_checksum_set(&frame, 14);
	first = hash_of(&frame, 1);
	for (uint32_t offset = 1; offset < 8192; offset += 63) {
		memset(frame.byte + 34, (int)offset, 40); /* data where the first has its ports */
		store_u16(frame.byte + 20, (offset < 8000 ? 0x2000 : 0) | offset);
		frame_checksum_set(&frame, 14);
		cr_assert_eq(hash_of(&frame, 1), first, "offset %u", offset * 8);
	}
}

Test(balance, MAL_ROCE_SHORT_without_a_base_transport_header_the_5_tuple_decides)
{
	struct frame frame =
		FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST, .family = 4,
		      .source = 0x0a000001, .destination = 0x0b000001, .source_port = 49152,
		      .destination_port = 4791, .payload_bytes = 11);
	uint32_t wanted = hash_of(&frame, 1);

	memset(frame.byte + 42, 0x5a, 11);
	cr_assert_eq(hash_of(&frame, 1), wanted);
	store_u16(frame.byte + 34, 49153);
	cr_assert_neq(hash_of(&frame, 1), wanted);
}

/* Where the hash sends each of many flows. @param weight of each member, in 1/4 of the largest */
static void spread(uint16_t *member, uint32_t flows, const uint32_t *weight, uint32_t count)
{
	struct adjacency adjacency[8] = {0};

	for (uint32_t i = 0; i < count; i++)
		adjacency[i].weight = weight[i] * (BALANCE_WEIGHT_MAX / 4);
	for (uint32_t flow = 0; flow < flows; flow++) {
		uint32_t hash = (uint32_t)(balance_mix(1, flow) >> 32);

		member[flow] = (uint16_t)balance_weighted(hash, adjacency, count);
		cr_assert_neq(weight[member[flow]], 0);
	}
}

Test(balance, LB_UNEQUAL_shares_are_as_the_weights)
{
	enum { FLOWS = 60000 };
	const uint32_t weight[3] = {1, 1, 4}; /* 100G, 100G, 400G */
	static uint16_t member[FLOWS];
	uint32_t got[3] = {0};

	spread(member, FLOWS, weight, 3);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		got[member[flow]]++;
	for (uint32_t i = 0; i < 3; i++) {
		uint32_t fair = FLOWS * weight[i] / 6;

		cr_assert_gt(got[i], fair - fair / 20, "%u", got[i]);
		cr_assert_lt(got[i], fair + fair / 20, "%u", got[i]);
	}
}

Test(balance, LF_DOWN_only_flows_of_a_lost_member_move_and_they_come_back)
{
	enum { FLOWS = 40000, COUNT = 8 };
	static uint16_t before[FLOWS], after[FLOWS];
	uint32_t weight[COUNT], moved = 0, taken[COUNT] = {0};

	for (uint32_t i = 0; i < COUNT; i++)
		weight[i] = 4;
	spread(before, FLOWS, weight, COUNT);
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		cr_assert_eq(before[flow],
			     balance_member((uint32_t)(balance_mix(1, flow) >> 32), COUNT),
			     "equal weights are no weights");
	weight[5] = 0;
	spread(after, FLOWS, weight, COUNT);
	for (uint32_t flow = 0; flow < FLOWS; flow++) {
		if (before[flow] != 5) {
			cr_assert_eq(after[flow], before[flow]);
			continue;
		}
		moved++;
		taken[after[flow]]++;
	}
	cr_assert_lt(moved, FLOWS / COUNT + FLOWS / 100, "1/n and 1 %%: %u", moved);
	/* They spread over all that are left. */
	for (uint32_t i = 0; i < COUNT; i++)
		if (i != 5)
			cr_assert(abs((int)taken[i] - (int)moved / 7) < (int)moved / 7 / 5, "%u",
				  taken[i]);
	weight[5] = 4;
	spread(after, FLOWS, weight, COUNT);
	cr_assert_arr_eq(after, before, sizeof(before));
}

Test(balance, member_numbers_stay_inside_the_group)
{
	for (uint32_t count = 1; count < 300; count++) {
		cr_assert_eq(balance_member(0, count), 0);
		cr_assert_eq(balance_member(UINT32_MAX, count), count - 1);
	}
}

/* --- through a leaf --- */

enum { IN, UPLINK, UPLINKS = 4, PORT_COUNT = UPLINK + UPLINKS };

static struct leaf_fixture f;

static void start(void)
{
	struct snapshot *snapshot;
	uint32_t group;

	fixture_start_eal();
	fixture_open(&f, PORT_COUNT);
	snapshot = snapshot_router(&f, PORT_COUNT);
	group = snapshot_group(snapshot, GROUP_VIA, UPLINK, UPLINK, UPLINKS);
	fixture_route(&f, "11.0.0.0/8", group);
	fixture_publish(&f, snapshot);
}

static void finish(void)
{
	fixture_close(&f);
}

LEAF_TEST(balance, FWD_ORDER_a_flow_stays_on_one_uplink_in_order)
{
	enum { FLOWS = 64, ROUNDS = 12 };
	uint16_t port_of[FLOWS];
	uint32_t next[FLOWS] = {0}, on_port[PORT_COUNT] = {0};

	for (uint32_t round = 0; round < ROUNDS; round++) {
		struct frame out;

		for (uint32_t flow = 0; flow < FLOWS; flow++) {
			struct frame in =
				FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = HOST,
				      .family = 4, .source = 0x0a000001, .destination = 0x0b000001,
				      .source_port = 49152, .roce = true, .qp = 0x20 + flow,
				      .psn = round, .opcode = (uint8_t)(round % 3),
				      .traffic_class = (uint8_t)(26 << 2 | round % 4),
				      .number = flow << 16 | round,
				      .payload_bytes = (uint16_t)(round * 40));

			fixture_inject(&f, IN, &in);
		}
		fixture_settle(&f);
		for (uint16_t port = UPLINK; port < PORT_COUNT; port++) {
			while (fixture_take(&f, port, &out)) {
				uint32_t flow = frame_number(&out) >> 16;

				cr_assert_eq(frame_number(&out) & 0xffff, next[flow]++);
				if (round == 0)
					port_of[flow] = port;
				cr_assert_eq(port_of[flow], port);
				on_port[port]++;
			}
		}
	}
	for (uint32_t flow = 0; flow < FLOWS; flow++)
		cr_assert_eq(next[flow], ROUNDS);
	for (uint16_t port = UPLINK; port < PORT_COUNT; port++)
		cr_assert_gt(on_port[port], 0, "uplink %u was never used", port);
}
