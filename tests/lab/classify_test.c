/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Classification end to end: frames go into a real leaf byte by byte, and both its counters and what
 * comes out are looked at. Identifiers such as CLS-DSCP-Q name the case of a switch tester's catalogue.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "tests/lab/harness.h"
#include "tools/lab/frame.h"

TestSuite(classify, .init = harness_start);

/* SONiC's map between two routed ports: DSCP 8, 5, 3, 4, 46, 48 to 0, 2, 3, 4, 5, 6, all else to 1. */
#define ROUTED                                                                    \
	"leaf: {router_mac: \"02:00:00:00:00:01\"}\n"                             \
	"ports:\n"                                                                \
	"  - {name: in, device: eth1, driver: kernel, speed: 100G, mtu: 4200,\n"  \
	"     address: [10.0.0.1/24, \"fd00:1::1/64\"]}\n"                        \
	"  - {name: out, device: eth2, driver: kernel, speed: 100G, mtu: 4200,\n" \
	"     address: [10.0.1.1/24, \"fd00:2::1/64\"]}\n"                        \
	"classes: sonic\n"                                                        \
	"neighbours:\n"                                                           \
	"  - {address: 10.0.1.2, mac: \"02:00:00:00:01:02\", port: out}\n"        \
	"  - {address: \"fd00:2::2\", mac: \"02:00:00:00:01:02\", port: out}\n"

static const uint8_t host_mac[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t router_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t next_mac[6] = {2, 0, 0, 0, 1, 2};

enum { IN, OUT };

/* Where SONiC's map puts a DSCP. */
static uint8_t sonic_queue(uint32_t dscp)
{
	switch (dscp) {
	case 8:
		return 0;
	case 5:
		return 2;
	case 3:
	case 4:
		return (uint8_t)dscp;
	case 46:
		return 5;
	case 48:
		return 6;
	default:
		return 1;
	}
}

static struct rig_packet routed_packet(uint8_t family, uint8_t tos)
{
	struct rig_packet packet = {
		.family = family,
		.tos = tos,
		.source_ip = {10, 0, 0, 2},
		.destination_ip = {10, 0, 1, 2},
		.source_port = 50000,
		.payload_bytes = 64,
	};

	if (family == 6) {
		static const uint8_t from[16] = {0xfd, 0, 0, 1, [15] = 2};
		static const uint8_t to[16] = {0xfd, 0, 0, 2, [15] = 2};

		memcpy(packet.source_ip, from, 16);
		memcpy(packet.destination_ip, to, 16);
	}
	memcpy(packet.source_mac, host_mac, 6);
	memcpy(packet.destination_mac, router_mac, 6);
	return packet;
}

static void send(struct rig *rig, uint16_t port, uint64_t time_ps, const struct rig_packet *packet)
{
	uint8_t bytes[RIG_FRAME_BYTES] = {0};
	uint32_t real, length = rig_build(packet, bytes, &real);

	rig_send(rig, port, time_ps, bytes, real, length);
}

static struct queue_totals queue(const struct rig *rig, uint16_t port, uint8_t priority)
{
	struct queue_totals totals;

	leaf_queue_totals(rig->leaf->leaf, port, priority, &totals);
	return totals;
}

/* One packet of every DSCP; the queues of the egress and the groups of the ingress count exactly. */
static void check_every_dscp(uint8_t family)
{
	struct rig *rig = rig_create(ROUTED);
	uint32_t expected[PRIORITY_COUNT] = {0};

	for (uint32_t dscp = 0; dscp < 64; dscp++) {
		struct rig_packet packet = routed_packet(family, (uint8_t)(dscp << 2));

		send(rig, IN, dscp * PS_PER_US, &packet);
		expected[sonic_queue(dscp)]++;
	}
	cr_assert_eq(expected[1], 58);
	rig_run(rig, 100 * PS_PER_US);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		cr_expect_eq(queue(rig, OUT, p).tx_packets, expected[p], "queue %u", p);
		cr_expect_eq(queue(rig, IN, p).rx_packets, expected[p], "priority group %u", p);
		cr_expect_eq(queue(rig, OUT, p).drop_packets, 0);
	}
	cr_assert_eq(rig->tester[OUT].received_count, 64);
	for (uint32_t dscp = 0; dscp < 64; dscp++) {
		const uint8_t *ip = rig->tester[OUT].received[dscp].bytes + 14;
		uint32_t tos = family == 4 ? ip[1] : (uint32_t)(ip[0] & 15) << 4 | ip[1] >> 4;

		cr_expect_eq(tos, dscp << 2, "DSCP %u", dscp);
	}
	rig_free(rig);
}

Test(classify, CLS_DSCP_Q_CLS_DSCP_PG_every_dscp_has_its_queue_and_its_group)
{
	check_every_dscp(4);
}

Test(classify, CLS_IPV6_traffic_classes_go_the_same_ways)
{
	check_every_dscp(6);
}

/* Each group in turn: it rises by exactly what was sent, and no other does. */
Test(classify, CLS_DSCP_PG_only_the_group_of_the_dscp_rises)
{
	static const uint8_t dscps[] = {8, 0, 5, 3, 4, 46, 48};

	for (uint32_t i = 0; i < sizeof(dscps); i++) {
		struct rig *rig = rig_create(ROUTED);
		struct rig_packet packet = routed_packet(4, (uint8_t)(dscps[i] << 2));

		for (uint64_t n = 0; n < 10; n++)
			send(rig, IN, n * PS_PER_US, &packet);
		rig_run(rig, 20 * PS_PER_US);
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			cr_expect_eq(queue(rig, IN, p).rx_packets,
				     p == sonic_queue(dscps[i]) ? 10 : 0, "DSCP %u, group %u",
				     dscps[i], p);
		rig_free(rig);
	}
}

Test(classify, CLS_ECN_BLIND_the_ecn_bits_do_not_classify)
{
	struct rig *rig = rig_create(ROUTED);

	for (uint32_t ecn = 0; ecn < 4; ecn++) {
		struct rig_packet packet = routed_packet(4, (uint8_t)(3 << 2 | ecn));

		send(rig, IN, ecn * PS_PER_US, &packet);
	}
	rig_run(rig, 10 * PS_PER_US);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		cr_expect_eq(queue(rig, OUT, p).tx_packets, p == 3 ? 4 : 0, "queue %u", p);
	rig_free(rig);
}

/* RFC 1071: the one's complement sum of a whole header is all ones. */
static uint32_t header_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 20; i += 2)
		sum += (uint32_t)ip[i] << 8 | ip[i + 1];
	while (sum > 0xFFFF)
		sum = (sum & 0xFFFF) + (sum >> 16);
	return sum;
}

/* Nothing but MAC addresses, TTL and checksum changes on the way. */
Test(classify, CLS_REMARK_NONE_dscp_and_ecn_stay_as_they_are)
{
	struct rig *rig = rig_create(ROUTED);
	struct tester *out = &rig->tester[OUT];

	for (uint32_t tos = 0; tos < 256; tos++) {
		struct rig_packet packet = routed_packet(4, (uint8_t)tos);

		send(rig, IN, tos * PS_PER_US, &packet);
	}
	rig_run(rig, 300 * PS_PER_US);
	cr_assert_eq(out->received_count, 256);
	for (uint32_t tos = 0; tos < 256; tos++) {
		const struct rig_frame *sent = &rig->tester[IN].plan[tos];
		const struct rig_frame *got = &out->received[tos];
		uint8_t expected[RIG_FRAME_BYTES];

		memcpy(expected, sent->bytes, sizeof(expected));
		memcpy(expected, next_mac, 6);
		memcpy(expected + 6, router_mac, 6);
		expected[14 + 8]--;
		memcpy(expected + 14 + 10, got->bytes + 14 + 10, 2);
		cr_expect_eq(header_sum(got->bytes + 14), 0xFFFF, "TOS %u", tos);
		cr_expect_eq(got->length, sent->length);
		cr_expect_eq(got->real, sent->real);
		cr_expect_arr_eq(got->bytes, expected, got->real, "TOS %u", tos);
		cr_expect_eq(got->bytes[15], tos);
	}
	rig_free(rig);
}

/* Two trunks that trust the tag's priority. */
#define BRIDGED                                                                               \
	"ports:\n"                                                                            \
	"  - {name: in, device: eth1, driver: kernel, speed: 100G, mtu: 4200, trust: pcp,\n"  \
	"     vlan: {trunk: [100]}}\n"                                                        \
	"  - {name: out, device: eth2, driver: kernel, speed: 100G, mtu: 4200, trust: pcp,\n" \
	"     vlan: {trunk: [100]}}\n"                                                        \
	"classes: sonic\n"

/* PCP 0 and 1 change places, 2 to 6 stay; no class of the map names 7: the default class, 1. */
Test(classify, CLS_DOT1P_Q_the_tag_s_priority_has_its_queue)
{
	static const uint8_t queue_of[8] = {1, 0, 2, 3, 4, 5, 6, 1};
	struct rig *rig = rig_create(BRIDGED);
	struct rig_packet packet = routed_packet(4, 0);
	uint32_t expected[PRIORITY_COUNT] = {0};

	packet.tagged = true;
	packet.vlan = 100;
	/* The bridge learns where the other station is, from a frame that it floods. */
	memcpy(packet.source_mac, next_mac, 6);
	memcpy(packet.destination_mac, host_mac, 6);
	send(rig, OUT, 0, &packet);
	memcpy(packet.source_mac, host_mac, 6);
	memcpy(packet.destination_mac, next_mac, 6);
	for (uint8_t pcp = 0; pcp < 8; pcp++) {
		packet.pcp = pcp;
		for (uint64_t n = 0; n < 5; n++)
			send(rig, IN, (1 + pcp * 5 + n) * PS_PER_US, &packet);
		expected[queue_of[pcp]] += 5;
	}
	rig_run(rig, 100 * PS_PER_US);
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		cr_expect_eq(queue(rig, OUT, p).tx_packets, expected[p], "queue %u", p);
		cr_expect_eq(queue(rig, IN, p).rx_packets, expected[p], "group %u", p);
	}
	cr_assert_eq(rig->tester[OUT].received_count, 40);
	/* The tag leaves as it came. */
	for (uint32_t i = 0; i < 40; i++)
		cr_expect_eq(rig->tester[OUT].received[i].bytes[14] >> 5, i / 5);
	rig_free(rig);
}

/* Frames without IP, of every kind that a rack sees. */
static void check_not_ip(const char *yaml, bool tagged)
{
	static const struct {
		uint8_t destination[6];
		uint16_t type;
	} kinds[] = {
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 0x0806}, /* ARP */
		{{0x01, 0x80, 0xc2, 0, 0, 0x0e}, 0x88cc},       /* LLDP */
		{{2, 0, 0, 0, 1, 2}, 0x88b5},                   /* local experiment, IEEE 802 */
		{{2, 0, 0, 0, 0, 1}, 0x88b5},                   /* the same, to the router */
	};
	struct rig *rig = rig_create(yaml);
	uint64_t time_ps = 0;

	for (uint32_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		uint8_t bytes[RIG_FRAME_BYTES] = {0};
		uint32_t at = 12;

		memcpy(bytes, kinds[i].destination, 6);
		memcpy(bytes + 6, host_mac, 6);
		if (tagged) {
			/* The priority that the lossless class 3 is named by. */
			memcpy(bytes + at, "\x81\x00\x60\x64", 4);
			at += 4;
		}
		bytes[at] = (uint8_t)(kinds[i].type >> 8);
		bytes[at + 1] = (uint8_t)kinds[i].type;
		for (uint32_t n = 0; n < 20; n++, time_ps += PS_PER_US)
			rig_send(rig, IN, time_ps, bytes, 64, 64);
	}
	rig_run(rig, time_ps + 10 * PS_PER_US);
	for (uint16_t port = 0; port <= rig->port_count; port++) {
		for (uint8_t p = 3; p <= 4; p++) {
			struct queue_totals totals = queue(rig, port, p);

			cr_expect_eq(totals.tx_packets + totals.drop_packets + totals.depth_packets,
				     0, "port %u, queue %u", port, p);
			cr_expect_eq(totals.rx_packets, 0, "port %u, group %u", port, p);
		}
	}
	/* LLDP goes nowhere (IEEE 802.1Q 8.6.3), and no pause was asked for. */
	for (uint32_t i = 0; i < rig->tester[OUT].received_count; i++) {
		const uint8_t *bytes = rig->tester[OUT].received[i].bytes;

		cr_expect_neq(bytes[0] << 8 | bytes[1], 0x0180);
	}
	cr_expect_eq(rig->tester[IN].received_count, 0);
	rig_free(rig);
}

Test(classify, CLS_NONIP_never_enters_a_lossless_queue)
{
	check_not_ip(ROUTED, false);
	check_not_ip(BRIDGED, true);
}

/* Notification packets in a queue of their own, while the data queue wants twice the link. */
Test(classify, CLS_CNP_Q_notifications_do_not_wait_behind_data)
{
	struct simulation *simulation = harness_simulate(
		"duration: 500us\n"
		"fabric: {leaf_spine: {leaves: 1, spines: 0, hosts_per_leaf: 4}}\n"
		"leaf: {memory: 8MiB}\n"
		"hosts: {mtu: 1024}\n"
		"traffic:\n"
		"  - flow: {from: leaf1.h1, to: leaf1.h4, class: roce}\n"
		"  - flow: {from: leaf1.h2, to: leaf1.h4, class: roce}\n"
		"  - flow: {name: cnp, from: leaf1.h3, to: leaf1.h4, class: cnp, payload: 16,\n"
		"           rate: 1G}\n",
		0, true);
	struct flow *cnp = harness_flow(simulation, "cnp");
	struct queue_totals totals;

	leaf_queue_totals(simulation->fabric->switches[0]->leaf, 3, 6, &totals);
	cr_expect_gt(totals.tx_packets, 100);
	cr_expect_eq(totals.drop_packets, 0);
	cr_expect_leq(totals.depth_bytes_max, 58 + 16 + 16, "never more than one in the queue");
	cr_expect_leq(cnp->sent_packets - cnp->received_packets, 1);
	leaf_queue_totals(simulation->fabric->switches[0]->leaf, 3, 3, &totals);
	cr_expect_eq(totals.drop_packets, 0, "it is lossless");
	cr_expect_gt(totals.depth_bytes_max, 100000,
		     "the data queue was short: nothing was tested");
	harness_finish(simulation);
}

/* The same with the packets that senders of real notifications use: BTH opcode 0x81, DSCP 48. */
Test(classify, CLS_CNP_Q_a_notification_packet_lands_in_its_class)
{
	struct rig *rig = rig_create(ROUTED);
	struct rig_packet packet = routed_packet(4, 48 << 2);

	packet.opcode = FRAME_CNP;
	packet.payload_bytes = 16;
	send(rig, IN, 0, &packet);
	rig_run(rig, 10 * PS_PER_US);
	cr_expect_eq(queue(rig, OUT, 6).tx_packets, 1);
	cr_expect_eq(rig->tester[OUT].received_count, 1);
	rig_free(rig);
}
