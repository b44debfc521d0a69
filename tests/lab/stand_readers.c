/* SPDX-License-Identifier: BSD-3-Clause */
/* What a stand's leaf says, and what must hold of it. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "dataplane/snapshot.h"
#include "tests/lab/stand.h"

static const struct leaf *leaf_of(const struct stand *stand)
{
	return stand->rig->leaf->leaf;
}

const struct snapshot *stand_snapshot(const struct stand *stand)
{
	return stand->rig->leaf->snapshot;
}

struct pfc_totals stand_pfc(const struct stand *stand, uint16_t port, uint8_t priority)
{
	struct pfc_totals totals;

	leaf_pfc_totals(leaf_of(stand), port, priority, stand->rig->engine->now_ps, &totals);
	return totals;
}

struct queue_totals stand_queue(const struct stand *stand, uint16_t port, uint8_t priority)
{
	struct queue_totals totals;

	leaf_queue_totals(leaf_of(stand), port, priority, &totals);
	return totals;
}

struct buffer_totals stand_buffer(const struct stand *stand, uint16_t port, uint8_t priority)
{
	struct buffer_totals totals;

	leaf_buffer_totals(leaf_of(stand), stand_snapshot(stand), port, priority, &totals);
	return totals;
}

uint64_t stand_drops(const struct stand *stand, enum drop_reason reason)
{
	return leaf_drops(leaf_of(stand), reason);
}

uint64_t stand_all_drops(const struct stand *stand)
{
	struct leaf_conservation sum;

	leaf_conservation(leaf_of(stand), &sum);
	return sum.dropped;
}

uint64_t stand_pauses(const struct stand *stand, uint8_t priorities)
{
	uint64_t sum = 0;

	for (uint16_t port = 0; port < stand->rig->port_count; port++)
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
			if ((priorities >> p & 1) != 0)
				sum += stand_pfc(stand, port, p).tx_pauses;
	return sum;
}

uint64_t stand_missing(const struct stand *stand, uint8_t priorities)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < stand->stream_count; i++)
		if ((priorities >> stand->stream[i].params.priority & 1) != 0)
			sum += stand->stream[i].sent_frames - stand->stream[i].received_frames;
	return sum;
}

uint64_t stand_pool_bytes(const struct stand *stand)
{
	const struct snapshot *snapshot = stand_snapshot(stand);
	const struct buffer_table *table = &snapshot->buffer;
	uint64_t sum = table->shared_bytes + table->lossy_bytes + table->headroom_pool_bytes;

	for (uint16_t port = 0; port < stand->rig->port_count; port++) {
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			const struct buffer_pair *pair = snapshot_pair(snapshot, port, p);

			sum += pair->reserved_bytes;
			if (table->headroom_pool_bytes == 0)
				sum += pair->headroom_bytes;
		}
	}
	return sum;
}

uint32_t stand_headroom_permille(const struct stand *stand)
{
	uint64_t most = 0;

	for (uint16_t port = 0; port < stand->rig->port_count; port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			uint64_t has =
				snapshot_pair(stand_snapshot(stand), port, p)->headroom_bytes;
			uint64_t used = stand_buffer(stand, port, p).headroom_peak_bytes;

			if (has == 0)
				continue;
			cr_expect_leq(used, has, "port %u, priority %u", port, p);
			most = used * 1000 / has > most ? used * 1000 / has : most;
		}
	}
	return (uint32_t)most;
}

void stand_check_quiet(const struct stand *stand)
{
	struct buffer_pool_totals pool;

	leaf_buffer_pool_totals(leaf_of(stand), stand_snapshot(stand), &pool);
	cr_expect_eq(pool.shared_used_bytes, 0);
	cr_expect_eq(pool.headroom_used_bytes, 0);
	cr_expect_eq(pool.lossy_used_bytes, 0);
	cr_expect_eq(pool.queued_packets, 0);
	cr_expect_not(pool.guarded);
	for (uint16_t port = 0; port < stand->rig->port_count; port++) {
		const struct blaster *blaster = &stand->blaster[port];

		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct buffer_totals buffer = stand_buffer(stand, port, p);

			cr_expect_eq(buffer.occupancy_bytes, 0, "port %u, priority %u", port, p);
			cr_expect_eq(buffer.reasons, 0, "port %u, priority %u", port, p);
			cr_expect_eq(blaster->paused >> p & 1, 0, "port %u, priority %u", port, p);
		}
		cr_expect_eq(blaster->early_frames, 0, "port %u", port);
		cr_expect_eq(blaster->stray_frames, 0, "port %u", port);
		cr_expect_eq(blaster->misdrawn_frames, 0, "port %u", port);
	}
	for (uint32_t i = 0; i < stand->stream_count; i++)
		cr_expect_eq(stand->stream[i].misordered, 0, "stream %u", i);
	cr_expect_eq(stand->rig->leaf->violations, 0);
}

void stand_check_lossless(const struct stand *stand, uint8_t priorities)
{
	stand_check_quiet(stand);
	for (uint32_t i = 0; i < stand->stream_count; i++) {
		const struct stream *stream = &stand->stream[i];

		if ((priorities >> stream->params.priority & 1) != 0)
			cr_expect_eq(stream->received_frames, stream->sent_frames,
				     "stream %u: %" PRIu64 " of %" PRIu64, i,
				     stream->received_frames, stream->sent_frames);
	}
}
