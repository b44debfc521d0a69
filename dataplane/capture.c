/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/capture.h"

#include "dataplane/internal.h"

void capture_init(struct capture *capture, void *memory, uint16_t workers, uint16_t port)
{
	const struct capture_header *header = memory;

	*capture = (struct capture){
		.memory = memory,
		.port = port,
		.slots = header->slots,
		.slot_bytes = header->slot_bytes,
		.snap_bytes = header->snap_bytes,
	};
	for (uint16_t w = 0; w < workers; w++) {
		capture->worker[w].ring = capture_ring_of(memory, w);
		capture->worker[w].slot =
			capture_slots_of(memory, workers, header->slots, header->slot_bytes, w);
	}
}

uint64_t leaf_capture(struct leaf *leaf, struct capture *capture)
{
	atomic_store_explicit(&leaf->capture, capture, memory_order_release);
	return rte_rcu_qsbr_start(leaf->qsbr);
}

static void copy_frame(const struct worker *worker, const struct capture *capture,
		       struct capture_slot *slot, struct rte_mbuf *packet, uint8_t direction)
{
	uint32_t captured =
		packet->data_len < capture->snap_bytes ? packet->data_len : capture->snap_bytes;

	slot->time_ps = worker->now_ps;
	slot->bytes = packet_length(packet);
	slot->captured_bytes = (uint16_t)captured;
	slot->direction = direction;
	memcpy(slot->data, packet_data(packet), captured);
}

/* Behind head, as many as there is room for. @return how many */
static uint32_t write_frames(const struct worker *worker, const struct capture *capture,
			     struct rte_mbuf *const *packet, uint32_t count, uint8_t direction)
{
	const struct capture_worker *part = &capture->worker[worker->id];
	uint64_t used = part->head - atomic_load_explicit(&part->ring->tail, memory_order_acquire);
	uint32_t room = used < capture->slots ? capture->slots - (uint32_t)used : 0;
	uint32_t written = 0;

	for (; written < count && written < room; written++) {
		uint64_t index = (part->head + written) & (capture->slots - 1);

		copy_frame(
			worker, capture,
			(struct capture_slot *)(void *)(part->slot + index * capture->slot_bytes),
			packet[written], direction);
	}
	return written;
}

/* Of `count` frames so many copies were written. */
static void publish_frames(const struct worker *worker, struct capture *capture, uint32_t written,
			   uint32_t count)
{
	struct capture_worker *part = &capture->worker[worker->id];
	uint32_t kept = written < count ? written : count;

	part->head += kept;
	atomic_store_explicit(&part->ring->head, part->head, memory_order_release);
	if (kept < count)
		counter_add(&part->ring->dropped, count - kept);
}

__rte_noinline void capture_received(struct worker *worker, uint16_t port,
				     struct rte_mbuf *const *packet, uint32_t count)
{
	struct capture *capture = leaf_capturing(worker->leaf);

	if (capture != NULL && capture->port == port)
		publish_frames(worker, capture,
			       write_frames(worker, capture, packet, count, CAPTURE_IN), count);
}

__rte_noinline uint32_t capture_transmit(struct worker *worker, uint16_t port,
					 struct rte_mbuf **packet, uint32_t count)
{
	struct capture *capture = leaf_capturing(worker->leaf);
	struct port_io *io = worker->leaf->egress[port].io;
	bool ours = capture != NULL && capture->port == port;
	/* Before they are the device's; those that it doesn't take are written over. */
	uint32_t written = ours ? write_frames(worker, capture, packet, count, CAPTURE_OUT) : 0;
	uint32_t taken = io->ops->tx_burst(io, 0, packet, (uint16_t)count);

	if (ours)
		publish_frames(worker, capture, written, taken);
	return taken;
}
