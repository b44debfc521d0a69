/* SPDX-License-Identifier: BSD-3-Clause */
/* A device that takes nothing, though its link is up and its peer lets us send; egress.h. */
#include "dataplane/balance/spray.h"
#include "dataplane/egress.h"
#include "dataplane/internal.h"

/* Frames of the largest size that may pass by without one being taken. */
#define STALL_FRAMES 16

/* What the device may have in its ring, four times over; frames on the wire; a few of our own offers. */
static uint64_t stall_ps(const struct egress_port *egress)
{
	struct wire_rate rate = wire_rate_of(egress->rate.rate_bps);

	return 4 * egress->run_ahead_ps +
	       STALL_FRAMES * wire_rate_time_ps(&rate, FRAME_BYTES_MAX + WIRE_OVERHEAD_BYTES) +
	       10 * EGRESS_RETRY_PS;
}

void egress_refused(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	/* We weren't there, or a pause was: no time of the device's. */
	if (!egress->refused || time_after(now_ps, egress->offered_ps + 4 * EGRESS_RETRY_PS))
		egress->refused_ps = now_ps;
	egress->refused = true;
	egress->offered_ps = now_ps;
	if (egress->stalled || time_after(egress->refused_ps + stall_ps(egress), now_ps))
		return;
	egress->stalled = true;
	counter_add(&worker->port_counters[port].tx_stalls, 1);
	links_stall_set(worker, port, true);
}

void egress_taken(struct worker *worker, uint16_t port)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	egress->refused = false;
	if (!egress->stalled)
		return;
	egress->stalled = false;
	links_stall_set(worker, port, false);
}

/* Send a packet by another uplink if it is sequenced. It is charged, and stays so if it stays. */
static bool moves(struct worker *worker, struct rte_mbuf *packet)
{
	if ((packet_meta(packet)->flags & PACKET_SPRAYED) == 0)
		return false;
	egress_discharge(worker, packet);
	if (spray_again(worker, packet))
		return true;
	packet_charge(worker, packet);
	return false;
}

static void move_staged(struct worker *worker, struct egress_port *egress, uint8_t priority)
{
	struct staging *staging = &egress->staging;
	uint8_t kept = 0;

	for (uint32_t i = 0; i < staging->count[priority]; i++)
		if (!moves(worker, staging->packet[priority][i]))
			staging->packet[priority][kept++] = staging->packet[priority][i];
	staging->count[priority] = kept;
	if (kept == 0)
		egress->staged &= (uint8_t) ~(1u << priority);
}

/* The first packet of a queue leaves it, or goes to its end. */
static void move_first(struct worker *worker, struct egress_queue *queue)
{
	struct queue_reader reader = queue_read(queue);
	struct rte_mbuf *packet = queue_read_next(&reader, worker->queue_pool);
	const uint32_t bytes = packet_length(packet);

	queue_read_end(queue, &reader, queue_depth_bytes(queue) - bytes);
	if (!moves(worker, packet))
		queue_append(queue, worker->queue_pool, packet, queue_depth_packets(queue) + 1,
			     queue_depth_bytes(queue) + bytes);
}

void egress_move_sprayed(struct worker *worker, uint16_t port)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		struct egress_queue *queue = leaf_queue(worker->leaf, port, p);

		move_staged(worker, egress, p);
		for (uint32_t left = queue_depth_packets(queue); left != 0; left--)
			move_first(worker, queue);
		if (queue_depth_packets(queue) == 0)
			egress->active &= (uint8_t) ~(1u << p);
		if ((egress->averaged >> p & 1) != 0)
			egress_average(worker, port, p);
	}
	/* Something must be left to offer, or nobody would see that the device goes on. */
	if ((egress->staged | egress->active) == 0)
		spray_probe(worker, port);
	if ((egress->staged | egress->active) == 0)
		egress_taken(worker, port);
}
