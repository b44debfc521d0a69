/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/host/receive_buffer.h"

#include <stdlib.h>
#include <string.h>

#include <rte_byteorder.h>
#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/parse.h"
#include "dataplane/pfc_frame.h"
#include "tools/lab/allocate.h"

struct receive_buffer *receive_buffer_create(const struct receive_buffer_params *params)
{
	struct receive_buffer *buffer = allocate(sizeof(*buffer));

	buffer->params = *params;
	buffer->drain = wire_rate_of(params->drain_bps);
	return buffer;
}

void receive_buffer_free(struct receive_buffer *buffer)
{
	if (buffer == NULL)
		return;
	for (; buffer->head != buffer->tail; buffer->head++)
		rte_pktmbuf_free(buffer->packets[buffer->head & (buffer->size - 1)]);
	free(buffer->packets);
	free(buffer);
}

/* Twice the room, unrolled. */
static void buffer_grow(struct receive_buffer *buffer)
{
	uint32_t count = buffer->tail - buffer->head;
	uint32_t size = buffer->size == 0 ? 64 : 2 * buffer->size;
	struct rte_mbuf **packets = allocate(size * sizeof(struct rte_mbuf *));

	for (uint32_t i = 0; i < count; i++)
		packets[i] = buffer->packets[(buffer->head + i) & (buffer->size - 1)];
	free(buffer->packets);
	buffer->packets = packets;
	buffer->size = size;
	buffer->head = 0;
	buffer->tail = count;
}

static struct rte_mbuf *buffer_first(const struct receive_buffer *buffer)
{
	return buffer->packets[buffer->head & (buffer->size - 1)];
}

/* By its DSCP; what has none is of the default class, DSCP 0. */
static uint8_t buffer_priority(const struct receive_buffer *buffer, struct rte_mbuf *packet)
{
	const uint8_t *data = packet_data(packet);
	uint8_t dscp = 0;

	if (packet->data_len >= 34 && load_u16(data + 12) == rte_cpu_to_be_16(ETHERTYPE_IPV4))
		dscp = data[15] >> 2;
	return buffer->params.dscp_priority[dscp];
}

/* The first one's turn begins. */
static void buffer_drain(struct receive_buffer *buffer, uint64_t from_ps)
{
	buffer->done_ps =
		from_ps + wire_rate_time_ps(&buffer->drain, packet_length(buffer_first(buffer)));
}

void receive_buffer_add(struct receive_buffer *buffer, struct rte_mbuf *packet, uint64_t now_ps)
{
	uint8_t priority = buffer_priority(buffer, packet);
	bool lossless = (buffer->params.lossless >> priority & 1) != 0;
	uint64_t held_bytes = buffer->held_bytes[priority] + packet_length(packet);

	if (held_bytes > buffer->params.bytes) {
		buffer->dropped_packets++;
		buffer->lossless_dropped_packets += lossless;
		rte_pktmbuf_free(packet);
		return;
	}
	buffer->held_bytes[priority] = held_bytes;
	if (held_bytes > buffer->held_bytes_max[priority])
		buffer->held_bytes_max[priority] = held_bytes;
	if (buffer->tail - buffer->head == buffer->size)
		buffer_grow(buffer);
	buffer->packets[buffer->tail & (buffer->size - 1)] = packet;
	if (buffer->tail++ == buffer->head)
		buffer_drain(buffer, now_ps);
	if (lossless && held_bytes > buffer->params.xoff_bytes) {
		buffer->untold |= (uint8_t)(1u << priority & ~buffer->pausing);
		buffer->pausing |= (uint8_t)(1u << priority);
	}
}

struct rte_mbuf *receive_buffer_take(struct receive_buffer *buffer, uint64_t now_ps)
{
	struct rte_mbuf *packet;
	uint8_t priority;

	if (buffer->head == buffer->tail || time_after(buffer->done_ps, now_ps))
		return NULL;
	packet = buffer_first(buffer);
	buffer->head++;
	if (buffer->head != buffer->tail)
		buffer_drain(buffer, buffer->done_ps);
	priority = buffer_priority(buffer, packet);
	buffer->held_bytes[priority] -= packet_length(packet);
	if (buffer->held_bytes[priority] <= buffer->params.xon_bytes) {
		buffer->untold |= (uint8_t)(1u << priority & buffer->pausing);
		buffer->pausing &= (uint8_t) ~(1u << priority);
	}
	return packet;
}

uint64_t receive_buffer_due_ps(const struct receive_buffer *buffer, uint64_t now_ps)
{
	return buffer->head == buffer->tail ? now_ps + TIME_IDLE_PS : buffer->done_ps;
}

uint64_t receive_buffer_pause_ps(const struct receive_buffer *buffer, uint64_t now_ps)
{
	if (buffer->untold != 0)
		return now_ps;
	return buffer->pausing != 0 ? buffer->refresh_ps : now_ps + TIME_IDLE_PS;
}

bool receive_buffer_pause(struct receive_buffer *buffer, uint64_t rate_bps, struct pfc_frame *frame,
			  uint64_t now_ps)
{
	if (time_after(receive_buffer_pause_ps(buffer, now_ps), now_ps))
		return false;
	memset(frame, 0, sizeof(*frame));
	frame->enabled = buffer->untold | buffer->pausing;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		if ((buffer->pausing >> p & 1) != 0)
			frame->quanta[p] = PFC_QUANTA_MAX;
	buffer->untold = 0;
	buffer->xoff_frames += buffer->pausing != 0;
	buffer->refresh_ps = now_ps + pfc_quanta_ps(PFC_QUANTA_MAX, rate_bps) / 2;
	return true;
}
