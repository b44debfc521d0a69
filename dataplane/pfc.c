/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/pfc.h"

#include <string.h>

#include "dataplane/forward.h"
#include "dataplane/internal.h"
#include "dataplane/pfc_frame.h"
#include "dataplane/storm.h"

/* A frame that found no buffer, or a device that took none, is tried again after this time. */
#define RETRY_PS (2 * PS_PER_US)

/* How old a time may get. They are compared up to 106 days (units.h). */
#define TIMES_PS_MAX (UINT64_C(60) * 86400 * PS_PER_S)

/*
 * What a reader must see together changes between these two. All stores in between are releases, all
 * of the reader's loads acquires: who sees one of them sees that `sequence` is odd, or has moved.
 */
static void change_begin(struct pfc_port *pfc)
{
	uint32_t sequence = atomic_load_explicit(&pfc->sequence, memory_order_relaxed);

	atomic_store_explicit(&pfc->sequence, sequence + 1, memory_order_relaxed);
}

static void change_end(struct pfc_port *pfc)
{
	uint32_t sequence = atomic_load_explicit(&pfc->sequence, memory_order_relaxed);

	atomic_store_explicit(&pfc->sequence, sequence + 1, memory_order_release);
}

static void set_time(_Atomic uint64_t *time_ps, uint64_t value_ps)
{
	atomic_store_explicit(time_ps, value_ps, memory_order_release);
}

/* A pause that began at since_ps has ended. */
static void add_pause(_Atomic uint64_t *sum_ps, const _Atomic uint64_t *since_ps, uint64_t now_ps)
{
	set_time(sum_ps, counter_get(sum_ps) + now_ps - counter_get(since_ps));
}

void pfc_pause(struct worker *worker, uint16_t port, uint8_t priority, bool pause, uint64_t now_ps)
{
	struct pfc_port *pfc = &worker->leaf->pfc[port];
	struct pfc_counters *count = &pfc->count[priority];
	uint8_t bit = (uint8_t)(1u << priority), peer = pfc_paused_peer(pfc);

	/* Together with others that are to be told: the first counts. */
	if (pause && (pfc->send & peer) == 0)
		pfc->due_ps = worker->dirty_ps;
	if (((peer & bit) != 0) == pause)
		return;
	change_begin(pfc);
	atomic_store_explicit(&pfc->paused_peer, peer ^ bit, memory_order_release);
	if (pause)
		set_time(&pfc->tx_since_ps[priority], now_ps);
	else
		add_pause(&count->tx_paused_ps, &pfc->tx_since_ps[priority], now_ps);
	change_end(pfc);
	if (pause)
		counter_add(&count->tx_pauses, 1);
	pfc->send |= bit;
	port_wake(worker, port);
}

static void stop_queue(struct pfc_port *pfc, uint32_t priority, uint64_t until_ps, uint64_t now_ps)
{
	uint8_t bit = (uint8_t)(1u << priority), paused = pfc_paused(pfc);

	change_begin(pfc);
	set_time(&pfc->until_ps[priority], until_ps);
	if ((paused & bit) == 0) {
		set_time(&pfc->rx_since_ps[priority], now_ps);
		atomic_store_explicit(&pfc->paused, paused | bit, memory_order_release);
		counter_add(&pfc->count[priority].rx_pauses, 1);
	}
	change_end(pfc);
}

static void start_queue(struct pfc_port *pfc, uint32_t priority, uint64_t now_ps)
{
	uint8_t bit = (uint8_t)(1u << priority), paused = pfc_paused(pfc);

	if ((paused & bit) == 0)
		return;
	change_begin(pfc);
	atomic_store_explicit(&pfc->paused, paused & (uint8_t)~bit, memory_order_release);
	add_pause(&pfc->count[priority].rx_paused_ps, &pfc->rx_since_ps[priority], now_ps);
	change_end(pfc);
}

/* Queues that rest: those that the peer has paused, but for those whose pauses are ignored. */
static void set_paused(struct worker *worker, uint16_t port)
{
	struct egress_port *egress = &worker->leaf->egress[port];

	egress->paused = pfc_paused(&worker->leaf->pfc[port]) & (uint8_t)~egress->ignoring;
}

void pfc_obeyed(struct worker *worker, uint16_t port)
{
	const struct egress_port *egress = &worker->leaf->egress[port];

	set_paused(worker, port);
	/* Even if all stay paused: it may be for less time than the port's timer was armed for. */
	if ((egress->active | egress->staged) != 0)
		port_wake(worker, port);
}

static void obey(struct worker *worker, uint16_t port, const struct pfc_frame *frame,
		 uint64_t now_ps)
{
	struct pfc_port *pfc = &worker->leaf->pfc[port];
	const struct port_table *table = &worker->snapshot->port[port];

	/* Pauses that are over, and that nothing waited for, end here: this one is another. */
	pfc_release(worker, port, now_ps);
	for (uint32_t rest = frame->enabled; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		counter_add(&pfc->count[p].rx_frames, 1);
		if ((worker->lossless_mask >> p & 1) == 0)
			counter_add(&pfc->port_count.rx_not_lossless, 1);
		else if ((table->pfc & PORT_PFC_HONOUR) == 0)
			continue;
		else if (frame->quanta[p] == 0)
			start_queue(pfc, p, now_ps);
		else
			stop_queue(pfc, p,
				   now_ps + pfc_quanta_ps(frame->quanta[p], table->rate_bps),
				   now_ps);
	}
	if (pfc_paused(pfc) != 0)
		storm_watch(worker, port, now_ps);
	pfc_obeyed(worker, port);
}

void pfc_take(struct worker *worker, struct rte_mbuf *packet, uint64_t now_ps)
{
	struct port_counters *counters = &worker->port_counters[packet->port];
	struct pfc_port_counters *count = &worker->leaf->pfc[packet->port].port_count;
	struct pfc_frame frame;

	switch (pfc_frame_read(packet_data(packet), packet->data_len, &frame)) {
	case PFC_FRAME_PRIORITY:
		obey(worker, packet->port, &frame, now_ps);
		break;
	case PFC_FRAME_GLOBAL:
		counter_add(&count->rx_global, 1);
		break;
	case PFC_FRAME_OPCODE:
		counter_add(&count->rx_unknown, 1);
		break;
	default:
		counter_add(&count->rx_bad, 1);
		break;
	}
	counter_add(&counters->consumed, 1);
	counter_add(&counters->consumed_bytes, packet_length(packet));
	rte_pktmbuf_free(packet);
}

void pfc_receive(struct worker *worker, struct burst *burst, uint32_t i)
{
	if (worker->leaf->owner[burst->port] == worker->id)
		pfc_take(worker, burst->packet[i], burst->now_ps);
	else
		handover_control(worker, burst->packet[i]);
}

static struct rte_mbuf *build(struct worker *worker, uint16_t port, uint8_t say)
{
	const struct pfc_port *pfc = &worker->leaf->pfc[port];
	struct rte_mbuf *packet = rte_pktmbuf_alloc(worker->pool);
	struct pfc_frame frame = {.enabled = say};
	uint32_t bytes;

	if (packet == NULL)
		return NULL;
	for (uint32_t rest = say & pfc_paused_peer(pfc); rest != 0; rest &= rest - 1)
		frame.quanta[__builtin_ctz(rest)] = PFC_QUANTA_MAX;
	bytes = pfc_frame_write(packet_data(packet), worker->leaf->egress[port].io->mac, &frame);
	packet->data_len = (uint16_t)bytes;
	packet->pkt_len = bytes;
	packet->port = port;
	packet_virtual_bytes_set(packet, 0);
	packet_meta_set(packet, (struct packet_meta){.priority = PFC_FRAME_PRIORITY_NONE,
						     .cost_bytes = (uint16_t)bytes});
	return packet;
}

bool pfc_send(struct worker *worker, uint16_t port, uint64_t now_ps, uint64_t *due_ps)
{
	struct pfc_port *pfc = &worker->leaf->pfc[port];
	struct egress_port *egress = &worker->leaf->egress[port];
	bool refresh = pfc_paused_peer(pfc) != 0 && !time_after(pfc->refresh_ps, now_ps);
	uint8_t say = pfc->send | (refresh ? pfc_paused_peer(pfc) : 0);
	struct rte_mbuf *packet;

	if (say == 0)
		return true;
	if ((egress->io->flags & PORT_IO_EXACT) != 0 && time_after(egress->free_ps, now_ps)) {
		*due_ps = egress->free_ps; /* right behind the frame that is on the wire */
		return false;
	}
	/* Whenever one is told, all that are paused are: one frame, one time to refresh. */
	say |= pfc_paused_peer(pfc);
	packet = build(worker, port, say);
	if (packet == NULL) {
		counter_add(&pfc->port_count.tx_no_buffer, 1);
		*due_ps = now_ps + RETRY_PS;
		return false;
	}
	egress->free_ps =
		time_max(egress->free_ps, now_ps) +
		wire_rate_time_ps(&egress->rate, packet->data_len + egress->overhead_bytes);
	if (port_transmit(worker, port, &packet, 1) == 0) {
		rte_pktmbuf_free(packet);
		*due_ps = now_ps + RETRY_PS;
		return false;
	}
	for (uint32_t rest = say; rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		counter_add((pfc_paused_peer(pfc) >> p & 1) != 0 ? &pfc->count[p].tx_xoff
								 : &pfc->count[p].tx_xon,
			    1);
	}
	counter_add(&pfc->port_count.tx_frames, 1);
	if ((pfc->send & pfc_paused_peer(pfc)) != 0) {
		worker->reaction_ps =
			worker->reacted ? time_min(worker->reaction_ps, pfc->due_ps) : pfc->due_ps;
		worker->reacted = true;
	}
	pfc->send = 0;
	pfc->refresh_ps = now_ps + pfc->pause_ps / 2;
	return true;
}

void pfc_hold(struct worker *worker, uint16_t port, uint8_t priority, uint64_t now_ps)
{
	stop_queue(&worker->leaf->pfc[port], priority, now_ps + PFC_HOLD_PS, now_ps);
	storm_watch(worker, port, now_ps);
	set_paused(worker, port);
}

void pfc_release(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	struct pfc_port *pfc = &worker->leaf->pfc[port];

	for (uint32_t rest = pfc_paused(pfc); rest != 0; rest &= rest - 1) {
		uint32_t p = (uint32_t)__builtin_ctz(rest);

		if (!time_after(pfc_until_ps(pfc, p), now_ps))
			start_queue(pfc, p, pfc_until_ps(pfc, p));
	}
	set_paused(worker, port);
}

static void refresh_time(_Atomic uint64_t *time_ps, uint64_t oldest_ps)
{
	if (time_after(oldest_ps, counter_get(time_ps)))
		set_time(time_ps, oldest_ps);
}

void pfc_refresh(struct worker *worker, uint16_t port, uint64_t now_ps)
{
	struct pfc_port *pfc = &worker->leaf->pfc[port];
	uint64_t oldest_ps = now_ps - TIMES_PS_MAX;

	if (pfc_paused(pfc) != 0)
		pfc_release(worker, port, now_ps);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		/* Those of a pause that lasts are what its length is told by. */
		if ((pfc_paused(pfc) >> p & 1) == 0)
			refresh_time(&pfc->rx_since_ps[p], oldest_ps);
		if ((pfc_paused_peer(pfc) >> p & 1) == 0)
			refresh_time(&pfc->tx_since_ps[p], oldest_ps);
	}
}

uint64_t pfc_released_ps(const struct pfc_port *pfc, uint8_t paused, uint64_t now_ps)
{
	uint64_t due_ps = now_ps + TIME_IDLE_PS;

	for (uint32_t rest = paused; rest != 0; rest &= rest - 1)
		due_ps = time_min(due_ps, pfc_until_ps(pfc, (uint32_t)__builtin_ctz(rest)));
	return due_ps;
}

void pfc_configure(struct worker *worker, uint16_t port, bool was_up, uint64_t now_ps)
{
	struct pfc_port *pfc = &worker->leaf->pfc[port];
	struct egress_port *egress = &worker->leaf->egress[port];
	const struct port_table *table = &worker->snapshot->port[port];
	uint8_t honoured =
		egress->up && (table->pfc & PORT_PFC_HONOUR) != 0 ? worker->lossless_mask : 0;

	for (uint32_t rest = pfc_paused(pfc) & (uint32_t)~honoured; rest != 0; rest &= rest - 1)
		start_queue(pfc, (uint32_t)__builtin_ctz(rest), now_ps);
	storm_forget(worker, port, now_ps);
	set_paused(worker, port);
	pfc->pause_ps = table->rate_bps >= RATE_BPS_MIN
				? pfc_quanta_ps(PFC_QUANTA_MAX, table->rate_bps)
				: PS_PER_S;
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		bool pause = buffer_reasons(leaf_state(worker->leaf, port, p)) != 0;

		/* A peer that we don't pause any more is let go. */
		pfc_pause(worker, port, p, pause && (table->pfc & PORT_PFC_SEND) != 0, now_ps);
	}
	if (!egress->up)
		pfc->send = 0;
	else if (!was_up)
		pfc->send |= pfc_paused_peer(pfc); /* a peer that has come up knows nothing */
}
