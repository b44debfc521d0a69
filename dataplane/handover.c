/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/handover.h"

#include <stdlib.h>

#include <rte_errno.h>
#include <rte_ring.h>

#include "dataplane/balance/spray.h"
#include "dataplane/enqueue.h"
#include "dataplane/internal.h"

/* In the place of an egress port: the frame is for the owner of the port that it came through. */
#define EGRESS_CONTROL PORT_NONE
/* Likewise: it is a message of another leaf. */
#define EGRESS_MESSAGE (PORT_NONE - 1)

/* Packets taken from one worker in one poll, about. */
#define TAKE_PACKETS_MAX 512

struct station {
	uint64_t key;
	uint64_t port;
};

static inline struct handover *handover_of(const struct leaf *leaf, uint16_t from, uint16_t to)
{
	return &leaf->handover[(size_t)from * leaf->worker_count + to];
}

/* layer: control side */
static struct rte_ring *ring_create(uint32_t element_bytes, uint32_t count)
{
	ssize_t size = rte_ring_get_memsize_elem(element_bytes, count);
	void *memory = NULL;

	if (size < 0 || posix_memalign(&memory, RTE_CACHE_LINE_SIZE, (size_t)size) != 0)
		return NULL;
	if (rte_ring_init(memory, "handover", count, RING_F_SP_ENQ | RING_F_SC_DEQ) != 0) {
		free(memory);
		return NULL;
	}
	return memory;
}

/* layer: control side */
int handover_create(struct leaf *leaf)
{
	const uint16_t workers = leaf->worker_count;
	void *memory = NULL;

	if (workers == 1)
		return 0;
	if (posix_memalign(&memory, alignof(struct handover),
			   (size_t)workers * workers * sizeof(struct handover)) != 0)
		return -ENOMEM;
	leaf->handover = memset(memory, 0, (size_t)workers * workers * sizeof(struct handover));
	for (uint16_t from = 0; from < workers; from++) {
		for (uint16_t to = 0; to < workers; to++) {
			struct handover *handover = handover_of(leaf, from, to);

			if (from == to)
				continue;
			handover->spill_end = &handover->spill;
			handover->ring = ring_create(sizeof(void *), HANDOVER_RING_PACKETS);
			if (handover->ring == NULL)
				return -ENOMEM;
		}
		if (from != 0) {
			struct rte_ring *ring =
				ring_create(sizeof(struct station), HANDOVER_LEARN_COUNT);

			if (ring == NULL)
				return -ENOMEM;
			handover_of(leaf, from, 0)->stations = ring;
		}
	}
	return 0;
}

/* layer: control side */
void handover_free(struct leaf *leaf)
{
	if (leaf->handover == NULL)
		return;
	for (uint32_t i = 0; i < (uint32_t)leaf->worker_count * leaf->worker_count; i++) {
		free(leaf->handover[i].ring);
		free(leaf->handover[i].stations);
	}
	free(leaf->handover);
	leaf->handover = NULL;
}

/* --- giving --- */

/* Keep what the ring has no room for, behind what is kept already. */
static void spill(struct handover *handover, struct rte_mbuf *packet)
{
	packet->next = NULL;
	*handover->spill_end = packet;
	handover->spill_end = &packet->next;
}

/* Into the ring as far as it goes. @return how many it has taken, from the first on */
static uint32_t ring_put(struct handover *handover, struct rte_mbuf **packet, uint32_t count)
{
	uint32_t room, held;
	uint32_t taken = rte_ring_sp_enqueue_burst(handover->ring, (void **)packet, count, &room);

	held = HANDOVER_RING_PACKETS - 1 - room;
	if (held > atomic_load_explicit(&handover->ring_packets_max, memory_order_relaxed))
		atomic_store_explicit(&handover->ring_packets_max, held, memory_order_relaxed);
	return taken;
}

/* What was kept: as far as it goes. */
static void spill_offer(struct handover *handover)
{
	while (handover->spill != NULL) {
		struct rte_mbuf *packet = handover->spill, *next = packet->next;

		packet->next = NULL; /* its new owner wants it so */
		if (ring_put(handover, &packet, 1) == 0) {
			packet->next = next;
			return;
		}
		handover->spill = next;
	}
	handover->spill_end = &handover->spill;
}

static void hand_on(struct worker *worker, uint16_t to)
{
	struct handover *handover = handover_of(worker->leaf, worker->id, to);
	uint32_t taken = 0;

	spill_offer(handover);
	if (handover->spill == NULL)
		taken = ring_put(handover, handover->packet, handover->count);
	for (uint32_t i = taken; i < handover->count; i++)
		spill(handover, handover->packet[i]);
	handover->count = 0;
	worker->handing &= ~(UINT64_C(1) << to);
	worker->wakes |= UINT64_C(1) << to;
}

void handover_flush(struct worker *worker)
{
	for (uint64_t rest = worker->handing; rest != 0; rest &= rest - 1)
		hand_on(worker, (uint16_t)__builtin_ctzll(rest));
}

static void give(struct worker *worker, struct rte_mbuf *packet, uint16_t to)
{
	struct handover *handover = handover_of(worker->leaf, worker->id, to);

	if (handover->count == BURST_COUNT_MAX) {
		buffer_charge(worker); /* before anything is handed on */
		hand_on(worker, to);
	}
	handover->packet[handover->count++] = packet;
	worker->handing |= UINT64_C(1) << to;
	counter_add(&worker->given, 1);
}

void handover_packet(struct worker *worker, struct rte_mbuf *packet, uint16_t egress)
{
	packet->vlan_tci = egress;
	worker->admitted[packet_meta(packet)->priority]++;
	give(worker, packet, worker->leaf->owner[egress]);
}

void handover_control(struct worker *worker, struct rte_mbuf *packet)
{
	packet->vlan_tci = EGRESS_CONTROL;
	give(worker, packet, worker->leaf->owner[packet->port]);
}

void handover_message(struct worker *worker, struct rte_mbuf *packet, uint16_t to)
{
	packet->vlan_tci = EGRESS_MESSAGE;
	give(worker, packet, to);
}

static void touch(const struct worker *worker, struct handover *handover, uint16_t port)
{
	if (port_bits_empty(&handover->touched))
		handover->touched_ps = worker->now_ps;
	port_bits_set(&handover->touched, port);
}

void handover_tell(struct worker *worker, struct port_bits *dirty)
{
	const struct leaf *leaf = worker->leaf;
	uint16_t port;

	PORT_BITS_FOREACH(dirty, port)
	{
		uint16_t owner = leaf->owner[port];

		if (owner == worker->id)
			continue;
		port_bits_clear(dirty, port);
		touch(worker, handover_of(leaf, worker->id, owner), port);
		worker->telling |= UINT64_C(1) << owner;
	}
	for (uint64_t rest = worker->telling; rest != 0; rest &= rest - 1) {
		uint16_t to = (uint16_t)__builtin_ctzll(rest);
		struct handover *handover = handover_of(leaf, worker->id, to);

		if (atomic_load_explicit(&handover->told, memory_order_acquire))
			continue; /* not read yet */
		handover->ports = handover->touched;
		handover->since_ps = handover->touched_ps;
		memset(&handover->touched, 0, sizeof(handover->touched));
		atomic_store_explicit(&handover->told, true, memory_order_release);
		worker->telling &= ~(UINT64_C(1) << to);
		worker->wakes |= UINT64_C(1) << to;
	}
}

void handover_learn(struct worker *worker, uint64_t key, uint16_t port, uint64_t now_ps)
{
	const struct station station = {.key = key, .port = port};
	struct handover *handover = handover_of(worker->leaf, worker->id, 0);
	const struct fdb *fdb = worker->leaf->fdb;

	if (fdb_knows(fdb, key, port, now_ps))
		return;
	(void)rte_ring_sp_enqueue_elem(handover->stations, (void *)(uintptr_t)&station,
				       sizeof(station));
	/* That it is still there can wait. */
	if (fdb_lookup(fdb, key, now_ps, worker->snapshot->fdb_age_ps) != port)
		worker->wakes |= 1;
}

/* --- taking --- */

static void take_packet(struct worker *worker, struct rte_mbuf *packet, uint64_t now_ps)
{
	counter_add(&worker->taken, 1);
	if (packet->vlan_tci == EGRESS_CONTROL)
		pfc_take(worker, packet, now_ps);
	else if (packet->vlan_tci == EGRESS_MESSAGE)
		spray_message_given(worker, packet);
	else
		enqueue_given(worker, packet, packet->vlan_tci);
}

static bool take_packets(struct worker *worker, struct handover *handover, uint64_t now_ps)
{
	struct rte_mbuf *packet[BURST_COUNT_MAX];
	uint32_t count, total = 0;

	do {
		count = rte_ring_sc_dequeue_burst(handover->ring, (void **)packet, BURST_COUNT_MAX,
						  NULL);
		for (uint32_t i = 0; i < count; i++)
			rte_prefetch0(packet[i]);
		for (uint32_t i = 0; i < count; i++)
			take_packet(worker, packet[i], now_ps);
		total += count;
	} while (count == BURST_COUNT_MAX && total < TAKE_PACKETS_MAX);
	return count == BURST_COUNT_MAX;
}

static void take_told(struct worker *worker, struct handover *handover)
{
	if (!atomic_load_explicit(&handover->told, memory_order_acquire))
		return;
	for (uint32_t i = 0; i < PORT_BITS_WORDS; i++)
		worker->dirty.word[i] |= handover->ports.word[i];
	worker->dirty.any |= handover->ports.any;
	worker->dirty_ps = time_min(worker->dirty_ps, handover->since_ps);
	atomic_store_explicit(&handover->told, false, memory_order_release);
}

static void take_stations(struct worker *worker, struct handover *handover, uint64_t now_ps)
{
	struct station station;

	while (rte_ring_sc_dequeue_elem(handover->stations, &station, sizeof(station)) == 0)
		fdb_learn(worker->leaf->fdb, station.key, (uint16_t)station.port, now_ps);
}

bool handover_take(struct worker *worker, uint64_t now_ps)
{
	const struct leaf *leaf = worker->leaf;
	bool more = false;

	for (uint16_t i = 0; i < leaf->worker_count; i++) {
		struct handover *to, *from;

		if (i == worker->id)
			continue;
		from = handover_of(leaf, i, worker->id);
		more |= take_packets(worker, from, now_ps);
		take_told(worker, from);
		if (from->stations != NULL)
			take_stations(worker, from, now_ps);
		to = handover_of(leaf, worker->id, i);
		if (to->spill != NULL)
			hand_on(worker, i);
	}
	return more;
}

bool handover_waits(const struct worker *worker)
{
	if (worker->telling != 0)
		return true;
	for (uint16_t to = 0; to < worker->leaf->worker_count; to++)
		if (handover_of(worker->leaf, worker->id, to)->spill != NULL)
			return true;
	return false;
}

uint32_t handover_ring_packets_max(const struct leaf *leaf, uint16_t to)
{
	uint32_t most = 0;

	for (uint16_t from = 0; leaf->handover != NULL && from < leaf->worker_count; from++) {
		uint32_t packets = atomic_load_explicit(
			&handover_of(leaf, from, to)->ring_packets_max, memory_order_relaxed);

		if (packets > most)
			most = packets;
	}
	return most;
}

static void drop(struct worker *worker, struct rte_mbuf *packet)
{
	counter_add(&worker->taken, 1);
	if (packet->vlan_tci != EGRESS_CONTROL && packet->vlan_tci != EGRESS_MESSAGE)
		egress_discharge(worker, packet);
	packet_drop(worker, packet, DROP_STOPPED);
}

void handover_drop(struct worker *worker)
{
	struct leaf *leaf = worker->leaf;

	for (uint16_t i = 0; leaf->handover != NULL && i < leaf->worker_count; i++) {
		struct handover *from = handover_of(leaf, i, worker->id);
		struct rte_mbuf *packet;

		if (i == worker->id)
			continue;
		while (rte_ring_sc_dequeue(from->ring, (void **)&packet) == 0)
			drop(worker, packet);
		for (uint32_t p = 0; p < from->count; p++)
			drop(worker, from->packet[p]);
		from->count = 0;
		while ((packet = from->spill) != NULL) {
			from->spill = packet->next;
			packet->next = NULL;
			drop(worker, packet);
		}
		from->spill_end = &from->spill;
	}
}
