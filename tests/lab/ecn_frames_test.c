/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Marks of frames that are looked at byte by byte, on exact wires: routed and bridged, IPv4 and IPv6, with
 * and without a tag. Identifiers such as ECN-DEQ name the case of a switch tester's catalogue.
 *
 * The receiver pauses the port, 101 frames come and wait, and go when it lets them: the i-th leaves 100 - i
 * behind, and is marked when these are more than 50,000 bytes.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "dataplane/pfc_frame.h"
#include "tests/lab/harness.h"

TestSuite(ecn_frames, .init = harness_start);

#define US PS_PER_US

#define KMIN_BYTES 50000u
#define FRAMES     101u

#define CLASSES                                                                   \
	"classes:\n"                                                              \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 10,\n" \
	"     ecn: {kmin: 50000, kmax: 50000, pmax: 100%}}\n"                     \
	"  - {priority: 0, name: best-effort, weight: 10}\n"

#define ROUTED                                                                    \
	"leaf: {router_mac: \"02:00:00:00:00:01\"}\n"                             \
	"ports:\n"                                                                \
	"  - {name: in, device: eth1, driver: kernel, speed: 100G, mtu: 4200,\n"  \
	"     address: [10.0.0.1/24, \"fd00:1::1/64\"]}\n"                        \
	"  - {name: out, device: eth2, driver: kernel, speed: 100G, mtu: 4200,\n" \
	"     address: [10.0.1.1/24, \"fd00:2::1/64\"]}\n"                        \
	"neighbours:\n"                                                           \
	"  - {address: 10.0.1.2, mac: \"02:00:00:00:01:02\", port: out}\n"        \
	"  - {address: \"fd00:2::2\", mac: \"02:00:00:00:01:02\", port: out}\n" CLASSES

#define BRIDGED                                                                   \
	"ports:\n"                                                                \
	"  - {name: in, device: eth1, driver: kernel, speed: 100G, mtu: 4200,\n"  \
	"     vlan: {trunk: [100]}}\n"                                            \
	"  - {name: out, device: eth2, driver: kernel, speed: 100G, mtu: 4200,\n" \
	"     vlan: {trunk: [100]}}\n" CLASSES

enum { IN, OUT };

static const uint8_t host_mac[6] = {2, 0, 0, 0, 0, 2};
static const uint8_t router_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t next_mac[6] = {2, 0, 0, 0, 1, 2};

static struct rig_packet packet_of(uint8_t family, bool tagged, uint8_t ecn)
{
	struct rig_packet packet = {
		.family = family,
		.tos = (uint8_t)(26 << 2 | ecn),
		.tagged = tagged,
		.vlan = 100,
		.pcp = 3,
		.source_ip = {10, 0, 0, 2},
		.destination_ip = {10, 0, 1, 2},
		.source_port = 50000,
		.payload_bytes = 1024,
	};

	if (family == 6) {
		memcpy(packet.source_ip, (uint8_t[16]){0xfd, 0, 0, 1, [15] = 2}, 16);
		memcpy(packet.destination_ip, (uint8_t[16]){0xfd, 0, 0, 2, [15] = 2}, 16);
	}
	memcpy(packet.source_mac, host_mac, 6);
	memcpy(packet.destination_mac, tagged ? next_mac : router_mac, 6);
	return packet;
}

static void send_pause(struct rig *rig, uint64_t time_ps, uint16_t quanta)
{
	uint8_t bytes[PFC_FRAME_BYTES];

	pfc_frame_write(bytes, next_mac,
			&(struct pfc_frame){.enabled = 1u << 3, .quanta = {[3] = quanta}});
	rig_send(rig, OUT, time_ps, bytes, sizeof(bytes), sizeof(bytes));
}

/* The bridge learns where the receiver is. */
static void teach(struct rig *rig)
{
	struct rig_packet packet = packet_of(4, true, 0);
	uint8_t bytes[RIG_FRAME_BYTES] = {0};
	uint32_t real, length;

	memcpy(packet.source_mac, next_mac, 6);
	memcpy(packet.destination_mac, host_mac, 6);
	packet.tos = 0;
	length = rig_build(&packet, bytes, &real);
	rig_send(rig, OUT, 0, bytes, real, length);
}

/* One's complement of the one's complement sum of the header (RFC 791). */
static uint16_t header_sum(const uint8_t *ip)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < 20; i += 2)
		sum += i == 10 ? 0u : (uint32_t)(ip[i] << 8 | ip[i + 1]);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t) ~((sum & 0xffff) + (sum >> 16));
}

/* What differs from hop to hop, and what a mark is, made equal to the frame that was sent. */
static void undo(uint8_t *frame, const struct rig_frame *sent, uint32_t l3, uint8_t family)
{
	const uint8_t *as_sent = sent->bytes;

	memcpy(frame, as_sent, 12);
	if (family == 4) {
		cr_assert_eq(frame[l3 + 10] << 8 | frame[l3 + 11], header_sum(frame + l3));
		frame[l3 + 1] = (uint8_t)((frame[l3 + 1] & 0xfc) | (as_sent[l3 + 1] & 3));
		frame[l3 + 8] = as_sent[l3 + 8];
		memcpy(frame + l3 + 10, as_sent + l3 + 10, 2);
	} else {
		frame[l3 + 1] = (uint8_t)((frame[l3 + 1] & 0xcf) | (as_sent[l3 + 1] & 0x30));
		frame[l3 + 7] = as_sent[l3 + 7];
	}
}

static void check_frames(bool bridged, uint8_t family, uint8_t ecn)
{
	struct rig *rig = rig_create(bridged ? BRIDGED : ROUTED);
	struct rig_packet packet = packet_of(family, bridged, ecn);
	uint32_t l3 = bridged ? 18 : 14, seen = 0, marks = 0;
	struct rig_frame sent = {0};

	if (bridged)
		teach(rig);
	send_pause(rig, US, PFC_QUANTA_MAX);
	sent.length = rig_build(&packet, sent.bytes, &sent.real);
	for (uint32_t i = 0; i < FRAMES; i++)
		rig_send(rig, IN, 2 * US + i, sent.bytes, sent.real, sent.length);
	send_pause(rig, 50 * US, 0);
	rig_run(rig, 100 * US);
	for (uint32_t i = 0; i < rig->tester[OUT].received_count; i++) {
		struct rig_frame *frame = &rig->tester[OUT].received[i];
		uint32_t behind = (FRAMES - 1 - seen) * sent.length;
		uint8_t codepoint;

		codepoint = family == 4 ? frame->bytes[l3 + 1] & 3 : frame->bytes[l3 + 1] >> 4 & 3;
		cr_assert_eq(codepoint, behind > KMIN_BYTES && ecn != 0 ? 3 : ecn,
			     "IPv%u, %s, frame %u", family, bridged ? "tagged" : "routed", seen);
		marks += codepoint == 3 && ecn != 3;
		undo(frame->bytes, &sent, l3, family);
		cr_assert_eq(frame->length, sent.length);
		cr_assert_arr_eq(frame->bytes, sent.bytes, sent.real,
				 "not another bit of IPv%u, %s, frame %u", family,
				 bridged ? "tagged" : "routed", seen);
		seen++;
	}
	cr_assert_eq(seen, FRAMES);
	/* behind > Kmin: the first 100 - floor(Kmin / length). */
	cr_assert_eq(marks, ecn == 1 || ecn == 2 ? FRAMES - 1 - KMIN_BYTES / sent.length : 0);
	rig_free(rig);
}

/* ECN-DEQ, ECN-CODEPOINT, ECN-IPV6-VLAN: the first out is marked and the last is not, in all of them. */
Test(ecn_frames, ECN_IPV6_VLAN_the_same_frames_are_marked_and_nothing_else_changes)
{
	for (uint8_t ecn = 0; ecn < 4; ecn++)
		for (uint32_t i = 0; i < 4; i++)
			check_frames(i % 2 != 0, i / 2 == 0 ? 4 : 6, ecn);
}
