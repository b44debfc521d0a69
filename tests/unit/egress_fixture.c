/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/unit/egress_fixture.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/egress.h"

static const uint8_t dscp_of[PRIORITY_COUNT] = {0, 8, 16, 26, 32, 40, 48, 56};

void egress_open_at(struct leaf_fixture *fixture, uint64_t rate_bps, uint64_t now_ps)
{
	struct snapshot *snapshot;

	fixture_open_at(fixture, EGRESS_PORTS, now_ps);
	snapshot = snapshot_router(fixture, EGRESS_PORTS);
	for (uint16_t port = 0; port < EGRESS_PORTS; port++) {
		snapshot->port[port].frame_bytes_max = FRAME_BYTES_MAX;
		snapshot->adjacency[port].mtu_bytes = MTU_BYTES_MAX;
	}
	snapshot_port_rate(snapshot, OUT, rate_bps, 0, 0);
	fixture_publish(fixture, snapshot);
}

void egress_open(struct leaf_fixture *fixture, uint64_t rate_bps)
{
	egress_open_at(fixture, rate_bps, PS_PER_S);
}

struct snapshot *egress_snapshot(const struct leaf_fixture *fixture)
{
	return snapshot_copy(fixture->snapshot);
}

void egress_weight(struct snapshot *snapshot, uint8_t priority, uint32_t weight)
{
	snapshot->class[priority].strict = false;
	snapshot->class[priority].quantum_bytes = weight * SCHEDULE_QUANTUM_BYTES;
	snapshot->class[priority].max_rate_bps = 0;
	snapshot->strict_mask &= (uint8_t) ~(1u << priority);
}

void egress_strict(struct snapshot *snapshot, uint8_t priority, uint64_t max_rate_bps)
{
	snapshot->class[priority].strict = true;
	snapshot->class[priority].quantum_bytes = 0;
	snapshot->class[priority].max_rate_bps = max_rate_bps;
	snapshot->strict_mask |= (uint8_t)(1u << priority);
}

void egress_inject(struct leaf_fixture *fixture, uint8_t priority, uint32_t bytes, uint32_t number)
{
	struct frame frame;

	cr_assert(bytes >= EGRESS_FRAME_BYTES_MIN && bytes <= MTU_BYTES_MAX + 14);
	frame = FRAME(.destination_mac = FIXTURE_ROUTER, .source_mac = router_peer(IN), .family = 4,
		      .source = 0x0a010001, .destination = 0x0a000001,
		      .traffic_class = (uint8_t)(dscp_of[priority] << 2), .number = number,
		      .payload_bytes = EGRESS_FRAME_BYTES_MIN - 42,
		      .virtual_bytes = (uint16_t)(bytes - EGRESS_FRAME_BYTES_MIN));
	fixture_inject(fixture, IN, &frame);
}

void record_now(struct leaf_fixture *fixture, struct recorder *recorder)
{
	struct rte_mbuf *packets[32];
	uint32_t count;

	while ((count = memory_io_take(fixture->memory[OUT], packets, 32)) != 0) {
		if (recorder->count + count > recorder->room) {
			recorder->room = recorder->room * 2 + 1024;
			recorder->record =
				realloc(recorder->record, recorder->room * sizeof(struct record));
			cr_assert_not_null(recorder->record);
		}
		for (uint32_t i = 0; i < count; i++) {
			const uint8_t *end = packet_data(packets[i]) + packets[i]->data_len;

			recorder->record[recorder->count++] = (struct record){
				.at_ps = fixture->now_ps,
				.number = (uint32_t)end[-4] << 24 | (uint32_t)end[-3] << 16 |
					  (uint32_t)end[-2] << 8 | end[-1],
				.bytes = packet_length(packets[i]),
				.priority = packet_meta(packets[i])->priority,
			};
			rte_pktmbuf_free(packets[i]);
		}
	}
}

void record_until(struct leaf_fixture *fixture, struct recorder *recorder, uint64_t until_ps)
{
	fixture_poll(fixture);
	record_now(fixture, recorder);
	while (!time_after(fixture->due_ps, until_ps)) {
		cr_assert(!time_after(fixture->now_ps, fixture->due_ps), "due before now");
		fixture->now_ps = fixture->due_ps;
		fixture_poll(fixture);
		record_now(fixture, recorder);
	}
	fixture->now_ps = until_ps;
	fixture_poll(fixture);
	record_now(fixture, recorder);
}

void record_all(struct leaf_fixture *fixture, struct recorder *recorder)
{
	uint32_t polls = 0;

	fixture_poll(fixture);
	record_now(fixture, recorder);
	while (fixture->due_ps == fixture->now_ps || fixture_queued(fixture) != 0) {
		cr_assert_lt(polls++, 1000000, "never empty");
		cr_assert(!time_after(fixture->now_ps, fixture->due_ps), "due before now");
		fixture->now_ps = fixture->due_ps;
		fixture_poll(fixture);
		record_now(fixture, recorder);
	}
}

void record_free(struct recorder *recorder)
{
	free(recorder->record);
	memset(recorder, 0, sizeof(*recorder));
}
