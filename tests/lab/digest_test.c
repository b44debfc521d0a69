/* SPDX-License-Identifier: BSD-3-Clause */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/lab/harness.h"
#include "tools/lab/digest.h"

TestSuite(digest, .init = harness_start);

/* Bridging, routing, ECMP, all schedulers, drops; long enough to pass any corner of the clock. */
#define BUSY                                                                                 \
	"duration: 150us\n"                                                                  \
	"fabric: {leaf_spine: {leaves: 2, spines: 2, hosts_per_leaf: 4, host_speed: 100G,\n" \
	"                      uplink_speed: 40G}}\n"                                        \
	"leaf: {memory: 2MiB}\n"                                                             \
	"hosts: {mtu: 1000}\n"                                                               \
	"traffic:\n"                                                                         \
	"  - incast: {senders: 5, to: leaf1.h1, rate: 30G}\n"                                \
	"  - permutation: {bytes: 40KB, class: best-effort, rate: 50G}\n"                    \
	"  - flow: {from: leaf2.h1, to: leaf1.h2, class: cnp, payload: 64, rate: 30G}\n"

static uint64_t digest_of(const char *text, uint64_t start_ps)
{
	struct simulation *simulation = harness_simulate(text, start_ps, true);
	uint64_t digest = fabric_digest(simulation->fabric);

	cr_expect_gt(fabric_packet_hops(simulation->fabric), 1000);
	harness_finish(simulation);
	return digest;
}

Test(digest, the_same_seed_gives_the_same_and_another_seed_another)
{
	uint64_t first = digest_of("seed: 1\n" BUSY, 0);

	cr_expect_eq(digest_of("seed: 1\n" BUSY, 0), first);
	cr_expect_neq(digest_of("seed: 2\n" BUSY, 0), first);
	cr_expect_neq(digest_of("seed: 3\n" BUSY, 0), digest_of("seed: 2\n" BUSY, 0));
}

Test(digest, does_not_depend_on_where_the_clock_starts)
{
	uint64_t first = digest_of(BUSY, 0);

	/* The wrap comes first of all, in the middle, at the end; and half of the clock's round. */
	cr_expect_eq(digest_of(BUSY, UINT64_MAX), first);
	cr_expect_eq(digest_of(BUSY, UINT64_MAX - 70 * PS_PER_US), first);
	cr_expect_eq(digest_of(BUSY, UINT64_MAX - 149 * PS_PER_US), first);
	cr_expect_eq(digest_of(BUSY, (UINT64_C(1) << 63) - 50 * PS_PER_US), first);
	cr_expect_eq(digest_of(BUSY, 123456789), first);
}

Test(digest, an_element_of_traffic_more_changes_it)
{
	cr_expect_neq(digest_of(BUSY "  - flow: {from: leaf1.h1, to: leaf2.h4, bytes: 1}\n", 0),
		      digest_of(BUSY, 0));
}

Test(digest, one_bit_of_a_header_changes_it)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(harness_pool());

	for (uint32_t length = 1; length <= 90; length++) {
		uint8_t *data = packet_data(packet);
		uint64_t first;

		memset(data, 0x5a, 128);
		packet->data_len = (uint16_t)length;
		packet->pkt_len = length;
		packet_virtual_bytes_set(packet, 100);
		first = digest_frame(DIGEST_START, 1000, packet);
		for (uint32_t bit = 0; bit < length * 8 && bit < DIGEST_FRAME_BYTES * 8; bit++) {
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
			cr_assert_neq(digest_frame(DIGEST_START, 1000, packet), first,
				      "%u bytes, bit %u", length, bit);
			data[bit / 8] ^= (uint8_t)(1 << bit % 8);
		}
		cr_assert_eq(digest_frame(DIGEST_START, 1000, packet), first);
		cr_assert_neq(digest_frame(DIGEST_START, 1001, packet), first, "the time counts");
		packet_virtual_bytes_set(packet, 101);
		cr_assert_neq(digest_frame(DIGEST_START, 1000, packet), first, "the length counts");
		/* What lies behind the frame in its buffer doesn't. */
		packet_virtual_bytes_set(packet, 100);
		memset(data + length, 0xa5, 128 - length);
		cr_assert_eq(digest_frame(DIGEST_START, 1000, packet), first);
	}
	rte_pktmbuf_free(packet);
}

/*
 * Every frame that came in is queued, was sent, consumed or dropped, after every step of every
 * switch; harness_simulate() has that checked. Here it must also be able to fail.
 */
Test(digest, conservation_holds_after_every_step_and_a_missing_frame_is_found)
{
	struct simulation *simulation = harness_simulate(BUSY, 0, true);
	struct fabric_conservation sum;

	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	cr_expect_gt(sum.dropped, 0);
	cr_expect_gt(sum.in_flight, 0);
	cr_expect_gt(sum.delivered, 0);
	sum.delivered--;
	cr_expect_not(fabric_conserved(&sum));
	sum.delivered++;
	sum.violations = 1;
	cr_expect_not(fabric_conserved(&sum));
	harness_finish(simulation);
}

/* What the sampler does between two frames must not show. */
Test(digest, results_come_out_the_same_twice)
{
	struct simulation *simulation = harness_simulate(BUSY, 0, false);
	json_t *first = simulation_result(simulation), *second = simulation_result(simulation);

	json_object_del(first, "wall_seconds");
	json_object_del(first, "cpu_seconds");
	json_object_del(second, "wall_seconds");
	json_object_del(second, "cpu_seconds");
	cr_expect(json_equal(first, second));
	json_decref(first);
	json_decref(second);
	harness_finish(simulation);
}
