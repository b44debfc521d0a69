/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The routed pipeline under congestion: "marking", where a queue stands in front of every uplink and
 * each packet that leaves is marked, and "paused", where every uplink's peer has paused a class that
 * has packets, while the others run.
 */
#include "tests/bench/bench.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/leaf.h"
#include "dataplane/packet.h"
#include "dataplane/pfc_frame.h"
#include "dataplane/worker.h"

/* Of one uplink at 400G. */
#define BYTE_PS UINT64_C(20)

/* What a poll sends of a queue that stands: as much as comes in the mean. */
#define FRAMES_PER_POLL (BURST_COUNT_MAX / BENCH_UPLINKS)

/* A pause of 65535 quanta lasts 1008 frames of 4158 bytes; here it is said again after 768. */
#define PAUSED_POLL_FRAMES 12u
#define REFRESH_POLLS      64u
#define PAUSED_PRIORITY    4u
#define PAUSED_DSCP        28u
#define PAUSED_PACKETS     64u

static uint64_t frames_ps(const struct frames *frames, uint64_t count)
{
	return count * (frames->packet_bytes - FCS_BYTES + WIRE_OVERHEAD_BYTES) * BYTE_PS;
}

/* ---- marking ---- */

/* What has left is what comes next. */
static uint16_t collect(struct port_io *io, uint16_t queue, struct rte_mbuf **packets,
			uint16_t count)
{
	struct bench_io *bench = (struct bench_io *)io;
	struct bench_io *first = bench - io->port;
	struct row *row = (struct row *)(void *)((char *)first - offsetof(struct row, port));

	(void)queue;
	bench->sent += count;
	memcpy(&row->sent[row->sent_count], packets, count * sizeof(*packets));
	row->sent_count += count;
	return count;
}

int marking_create(struct row *row, uint32_t frames_max)
{
	row->collect_ops = *row->port[0].io.ops;
	row->collect_ops.tx_burst = collect;
	for (uint32_t port = 0; port < BENCH_PORTS; port++)
		row->port[port].io.ops = &row->collect_ops;
	row->outside = calloc(frames_max, sizeof(*row->outside));
	row->sent = calloc(frames_max, sizeof(*row->sent));
	return row->outside != NULL && row->sent != NULL ? 0 : -ENOMEM;
}

static void supply_outside(struct row *row, uint32_t count)
{
	row->port[0].supply = row->outside;
	row->port[0].supply_left = count;
	row->sent_count = 0;
	worker_ready(row->worker, 0);
}

static void outside_is_sent(struct row *row)
{
	struct rte_mbuf **swapped = row->outside;

	row->outside = row->sent;
	row->outside_count = row->sent_count;
	row->sent = swapped;
}

void marking_begin(struct row *row, const struct frames *frames)
{
	uint32_t standing = frames->count / 2;

	memcpy(row->outside, frames->packet, frames->count * sizeof(*frames->packet));
	row->step_ps = frames_ps(frames, FRAMES_PER_POLL);
	row->now_ps += PS_PER_MS;
	supply_outside(row, standing);
	while (row->port[0].supply_left != 0)
		worker_poll(row->worker, row->now_ps); /* time stands still: it stays */
	memcpy(&row->sent[row->sent_count], &row->outside[standing],
	       (frames->count - standing) * sizeof(*row->sent));
	row->sent_count += frames->count - standing;
	outside_is_sent(row);
}

void marking_pass(struct row *row, const struct frames *frames)
{
	(void)frames;
	row->moved = row->outside_count;
	supply_outside(row, row->outside_count);
	while (row->port[0].supply_left != 0) {
		row->now_ps += row->step_ps;
		worker_poll(row->worker, row->now_ps);
	}
	outside_is_sent(row);
}

void marking_end(struct row *row, const struct frames *frames)
{
	row->sent_count = row->outside_count;
	for (uint32_t i = 0; row->sent_count != frames->count && i < 2 * frames->count; i++) {
		row->now_ps += row->step_ps;
		worker_poll(row->worker, row->now_ps);
	}
	row->outside_count = 0;
}

/* ---- paused ---- */

static void pause_uplinks(struct row *row)
{
	static const uint8_t peer[6] = {0x02, 0, 0, 0, 0x20, 0};
	struct pfc_frame pause = {.enabled = 1u << PAUSED_PRIORITY};

	pause.quanta[PAUSED_PRIORITY] = UINT16_MAX;
	for (uint16_t port = 1; port < BENCH_PORTS; port++) {
		struct rte_mbuf *packet = rte_pktmbuf_alloc(row->pool);

		if (packet == NULL)
			continue;
		(void)pfc_frame_write((uint8_t *)rte_pktmbuf_append(packet, PFC_FRAME_BYTES), peer,
				      &pause);
		packet->port = port;
		packet_virtual_bytes_set(packet, 0);
		row->pause[port] = packet;
		row->port[port].supply = &row->pause[port];
		row->port[port].supply_left = 1;
		worker_ready(row->worker, port);
	}
}

/* Pause all uplinks, then send so many packets of that class there, which stay. */
int paused_create(struct row *row)
{
	struct frames frames;
	int rc = frames_create(&frames, row->pool, PAUSED_PACKETS);

	if (rc != 0)
		return rc;
	frames_prepare(&frames, FRAMES_PAUSED, 1086);
	pause_uplinks(row);
	worker_poll(row->worker, row->now_ps);
	row->port[0].supply = frames.packet;
	row->port[0].supply_left = frames.count;
	worker_ready(row->worker, 0);
	while (row->port[0].supply_left != 0)
		worker_poll(row->worker, ++row->now_ps);
	/* They are the leaf's now. */
	frames.count = 0;
	frames_free(&frames);
	return 0;
}

bool paused_is_held(const struct row *row)
{
	uint64_t packets = 0;

	for (uint16_t port = 1; port < BENCH_PORTS; port++) {
		struct queue_totals totals;

		leaf_queue_totals(row->leaf, port, PAUSED_PRIORITY, &totals);
		if (totals.depth_packets == 0)
			return false;
		packets += totals.depth_packets;
	}
	return packets == PAUSED_PACKETS;
}

void paused_begin(struct row *row, const struct frames *frames)
{
	row->step_ps = frames_ps(frames, PAUSED_POLL_FRAMES);
	pause_uplinks(row);
	worker_poll(row->worker, row->now_ps);
	row->polls = 0;
}

void paused_pass(struct row *row, const struct frames *frames)
{
	row->port[0].supply = frames->packet;
	row->port[0].supply_left = frames->count;
	row->moved = frames->count;
	worker_ready(row->worker, 0);
	while (row->port[0].supply_left != 0) {
		if (++row->polls % REFRESH_POLLS == 0)
			pause_uplinks(row);
		row->now_ps += row->step_ps;
		worker_poll(row->worker, row->now_ps);
	}
}
