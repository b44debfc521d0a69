/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * punt - frames between the dataplane and the kernel, and packets that wait for a neighbour.
 */
#include <string.h>

#include <rte_mbuf.h>

#include "control/state.h"
#include "dataplane/packet.h"
#include "dataplane/punt.h"

/* Frames taken from the worker before other work gets its turn. */
#define PUNT_PER_RUN 256

/* The worker that owns the CPU's port. */
#define CPU_OWNER 0

/*
 * A neighbour that has been resolved for longer than this is in the snapshot in force. What is
 * punted for it all the same (its link is down) would go round for ever.
 */
#define KNOWN_NS S_NS

#define ETHER_TYPE_IPV4   0x0800
#define ETHER_TYPE_IPV6   0x86dd
#define ETHER_HEADER_SIZE 14

/* Hand frames to the worker; what its ring doesn't take is dropped and counted. */
static void inject(struct daemon *daemon, struct rte_mbuf **packets, uint16_t count)
{
	uint16_t taken = cpu_io_send(daemon->cpu, packets, count);

	if (taken > 0)
		lcores_wake(daemon->lcores, CPU_OWNER);
	daemon->inject_refused += count - taken;
	for (uint16_t i = taken; i < count; i++) {
		uint16_t interface = packet_meta(packets[i])->interface;

		if (interface < daemon->interfaces.count)
			counter_add(&daemon->interfaces.tap[interface]->kernel_drops, 1);
		rte_pktmbuf_free(packets[i]);
	}
}

void punt_tap_ready(struct daemon *daemon, struct tap *tap)
{
	struct rte_mbuf *packets[TAP_BURST];
	uint16_t count = tap_read(tap, daemon->pool, daemon->memory.data_bytes, packets);

	if (count > 0)
		inject(daemon, packets, count);
}

/* Destination of a punted IP packet. False when the frame isn't one. */
static bool destination_of(struct rte_mbuf *packet, struct config_ip *destination)
{
	const uint8_t *frame = packet_data(packet);
	uint16_t type;

	memset(destination, 0, sizeof(*destination));
	if (packet->data_len < ETHER_HEADER_SIZE)
		return false;
	type = (uint16_t)(frame[12] << 8 | frame[13]);
	if (type == ETHER_TYPE_IPV4 && packet->data_len >= ETHER_HEADER_SIZE + 20) {
		destination->family = 4;
		memcpy(destination->bytes, frame + ETHER_HEADER_SIZE + 16, 4);
		return true;
	}
	if (type == ETHER_TYPE_IPV6 && packet->data_len >= ETHER_HEADER_SIZE + 40) {
		destination->family = 6;
		memcpy(destination->bytes, frame + ETHER_HEADER_SIZE + 24, 16);
		return true;
	}
	return false;
}

static struct hold_key key_of(uint32_t ifindex, const struct config_ip *address)
{
	struct hold_key key = {.ifindex = ifindex, .family = address->family};

	memcpy(key.address, address->bytes, sizeof(key.address));
	return key;
}

/* A packet whose next hop isn't resolved: keep it and ask the kernel. */
static void hold_packet(struct daemon *daemon, struct rte_mbuf *packet, uint64_t now_ns)
{
	struct config_ip destination;
	struct apply_next_hop hop;
	const struct neighbour_entry *known = NULL;
	struct hold_key key;
	uint32_t ifindex = 0;
	bool routed = destination_of(packet, &destination) &&
		      apply_resolve(daemon->config, &destination, &hop) == 0 &&
		      hop.interface < daemon->interfaces.count;

	if (routed) {
		ifindex = daemon->interfaces.tap[hop.interface]->ifindex;
		known = neighbours_find(daemon->neighbours, ifindex, &hop.address);
	}
	if (!routed ||
	    (known != NULL && known->resolved && now_ns - known->resolved_ns > KNOWN_NS)) {
		daemon->hold_unroutable++;
		rte_pktmbuf_free(packet);
		return;
	}
	key = key_of(ifindex, &hop.address);
	if (hold_put(daemon->hold, &key, packet, now_ns) < 0) {
		rte_pktmbuf_free(packet);
		return;
	}
	if (known != NULL && known->resolved)
		publish_soon(daemon, now_ns); /* since the worker looked */
	else
		(void)neighbours_need(daemon->neighbours, ifindex, &hop.address, now_ns);
}

void punt_run(struct daemon *daemon, uint64_t now_ns)
{
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	uint16_t count = BURST_COUNT_MAX;

	for (uint32_t taken = 0; taken < PUNT_PER_RUN && count == BURST_COUNT_MAX; taken += count) {
		count = cpu_io_receive(daemon->cpu, packets, BURST_COUNT_MAX);
		for (uint16_t i = 0; i < count; i++) {
			const struct packet_meta *meta = packet_meta(packets[i]);

			if (meta->reason == PUNT_NEIGHBOUR) {
				hold_packet(daemon, packets[i], now_ns);
				continue;
			}
			if (meta->interface < daemon->interfaces.count)
				tap_write(daemon->interfaces.tap[meta->interface], packets[i]);
			rte_pktmbuf_free(packets[i]);
		}
	}
}

void punt_release(struct daemon *daemon)
{
	uint32_t known = neighbours_count(daemon->neighbours);
	struct hold_stats stats;

	hold_stats(daemon->hold, &stats);
	for (uint32_t i = 0; i < known && stats.packets > 0; i++) {
		const struct neighbour_entry *entry = neighbours_entry(daemon->neighbours, i);
		struct hold_key key = key_of(entry->ifindex, &entry->address);
		struct rte_mbuf *packets[BURST_COUNT_MAX];
		uint32_t count;

		if (!entry->resolved || hold_count(daemon->hold, &key) == 0)
			continue;
		do {
			count = hold_take(daemon->hold, &key, (void **)packets, BURST_COUNT_MAX);
			for (uint32_t p = 0; p < count; p++) {
				struct packet_meta *meta = packet_meta(packets[p]);

				meta->flags = PACKET_CPU;
				meta->reason = PUNT_NEIGHBOUR;
			}
			inject(daemon, packets, (uint16_t)count);
		} while (count == BURST_COUNT_MAX);
		hold_stats(daemon->hold, &stats);
	}
}

void punt_expire(struct daemon *daemon, uint64_t now_ns)
{
	void *packets[BURST_COUNT_MAX];
	uint32_t count;

	do {
		count = hold_expire(daemon->hold, now_ns, packets, BURST_COUNT_MAX);
		for (uint32_t i = 0; i < count; i++)
			rte_pktmbuf_free(packets[i]);
	} while (count == BURST_COUNT_MAX);
}

void punt_end(struct daemon *daemon)
{
	if (daemon->hold != NULL)
		punt_expire(daemon, UINT64_MAX);
}
