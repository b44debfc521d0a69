/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Pauses of a host: those that it obeys, those that its buffer needs, and those that it sends for no reason.
 */
#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/pfc_frame.h"
#include "tools/lab/host/internal.h"

/* An xon is a pause that is over at once: host_resume() follows in the same run. */
void host_obey(struct host *host, const struct pfc_frame *frame, uint64_t now_ps)
{
	for (uint32_t rest = frame->enabled; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		if ((host->paused >> p & 1) == 0)
			host->pause_since_ps[p] = now_ps;
		host->pause_until_ps[p] =
			now_ps + pfc_quanta_ps(frame->quanta[p], host->tx->rate.rate_bps);
		/* Some simulators know no time: until it is lifted. */
		if (unlikely(host->traffic->transport.pauses_latch) && frame->quanta[p] != 0)
			host->pause_until_ps[p] = now_ps + TIME_IDLE_PS / 2;
	}
	host->paused |= frame->enabled;
}

uint64_t host_resume(struct host *host, uint64_t now_ps)
{
	uint64_t due_ps = now_ps + TIME_IDLE_PS;

	for (uint32_t rest = host->paused; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		if (time_after(host->pause_until_ps[p], now_ps)) {
			due_ps = time_min(due_ps, host->pause_until_ps[p]);
		} else {
			host->paused &= (uint8_t) ~(1u << p);
			host->paused_ps[p] += now_ps - host->pause_since_ps[p];
		}
	}
	return due_ps;
}

uint64_t host_paused_ps(const struct host *host, uint32_t priority)
{
	uint64_t paused_ps = host->paused_ps[priority];

	if ((host->paused >> priority & 1) != 0)
		paused_ps += host->node.engine->now_ps - host->pause_since_ps[priority];
	return paused_ps;
}

/* Put a pause frame on the wire. @return false: there is no buffer */
static bool pause_put(struct host *host, const struct pfc_frame *frame)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(host->params.pool);

	if (packet == NULL) {
		host->traffic->pool_empty++;
		return false;
	}
	pfc_frame_write((uint8_t *)rte_pktmbuf_append(packet, PFC_FRAME_BYTES), host->params.mac,
			frame);
	packet_virtual_bytes_set(packet, 0);
	wire_send(host->tx, packet);
	host->sent_packets++;
	return true;
}

void host_storm_send(struct host *host, uint64_t now_ps)
{
	struct host_storm *storm = &host->storm;
	struct pfc_frame frame = {.enabled = storm->priorities};
	bool over = !time_after(storm->until_ps, now_ps);

	if (time_after(storm->next_ps, now_ps))
		return;
	for (uint32_t p = 0; p < PRIORITY_COUNT && !over; p++)
		if ((storm->priorities >> p & 1) != 0)
			frame.quanta[p] = PFC_QUANTA_MAX;
	if (!pause_put(host, &frame)) {
		storm->next_ps = now_ps + POOL_RETRY_PS;
		return;
	}
	/* Refreshed at half of its time, so that it has no gaps. */
	storm->next_ps =
		time_min(storm->until_ps,
			 now_ps + pfc_quanta_ps(PFC_QUANTA_MAX, host->tx->rate.rate_bps) / 2);
	if (over)
		storm->priorities = 0;
}

uint64_t host_pause_send(struct host *host, uint64_t now_ps)
{
	struct receive_buffer *buffer = host->buffer;
	struct pfc_frame frame;

	if (wire_free(host->tx) &&
	    receive_buffer_pause(buffer, host->tx->rate.rate_bps, &frame, now_ps) &&
	    !pause_put(host, &frame)) {
		buffer->untold |= (uint8_t)frame.enabled;
		return now_ps + POOL_RETRY_PS;
	}
	return time_max(receive_buffer_pause_ps(buffer, now_ps), host->tx->free_ps);
}
