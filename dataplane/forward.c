/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * forward - by the ingress port's mode: bridge, route, or out of the kernel.
 */
#include "dataplane/forward.h"

#include <rte_byteorder.h>

#include "dataplane/classify.h"
#include "dataplane/enqueue.h"
#include "dataplane/route.h"

void burst_drop(struct worker *worker, struct burst *burst, uint32_t i, enum drop_reason reason)
{
	packet_drop(worker, burst->packet[i], reason);
}

void burst_drop_bad(struct worker *worker, struct burst *burst, uint32_t i)
{
	const struct parsed *parsed = &burst->parsed[i];

	counter_add(&worker->port_counters[burst->port].rx_bytes, parsed->length);
	burst_drop(worker, burst, i, (enum drop_reason)parsed->drop);
}

/* Drop what is bad and close the gaps. */
static __rte_noinline void drop_bad(struct worker *worker, struct burst *burst, uint32_t bad)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < burst->count; i++) {
		if ((bad >> i & 1) != 0) {
			burst_drop_bad(worker, burst, i);
		} else {
			burst->packet[kept] = burst->packet[i];
			burst->parsed[kept++] = burst->parsed[i];
		}
	}
	burst->count = kept;
}

/* All packets at once. */
static inline void parse(struct worker *worker, struct burst *burst)
{
	uint32_t bad = parse_burst(burst->packet, burst->count, burst->parsed);

	if (unlikely(bad != 0))
		drop_bad(worker, burst, bad);
}

/* For the kernel: an untagged frame, in the class of control, or of its DSCP when that is lossy. */
static void punt(struct worker *worker, const struct burst *burst, struct rte_mbuf *packet,
		 struct parsed parsed, uint8_t priority, enum punt_reason reason,
		 uint16_t interface)
{
	const struct snapshot *snapshot = burst->snapshot;

	(void)frame_tag(packet, &parsed, false, 0, 0);
	if (reason == PUNT_ARP || reason == PUNT_ND)
		priority = snapshot->priority_control;
	else if ((snapshot->lossless_mask >> priority & 1) != 0)
		priority = snapshot->priority_default;
	enqueue(worker, packet, snapshot->port_count,
		(struct packet_meta){
			.flags = PACKET_CPU | (parsed.kind & KIND_IP_MASK),
			.reason = (uint8_t)reason,
			.l3_offset = parsed.l3_offset,
			.priority = priority,
			.cost_bytes = parsed.length,
			.interface = interface,
		});
}

void burst_punt(struct worker *worker, struct burst *burst, uint32_t i, enum punt_reason reason,
		uint16_t interface)
{
	if (!policer_pass(&worker->punt_policer[reason], burst->now_ps)) {
		burst_drop(worker, burst, i, DROP_PUNT_POLICED);
		return;
	}
	punt(worker, burst, burst->packet[i], burst->parsed[i], burst->priority[i], reason,
	     interface);
}

struct rte_mbuf *burst_copy(struct worker *worker, struct burst *burst, uint32_t i)
{
	struct port_counters *counters = &worker->port_counters[burst->port];
	struct rte_mbuf *copy = packet_copy(burst->packet[i], worker->pool);

	counter_add(&counters->copied, 1);
	if (copy == NULL)
		counter_add(&counters->drop[DROP_NO_BUFFER], 1);
	return copy;
}

void burst_punt_copy(struct worker *worker, struct burst *burst, uint32_t i,
		     enum punt_reason reason, uint16_t interface)
{
	struct port_counters *counters = &worker->port_counters[burst->port];
	struct rte_mbuf *copy;

	if (!policer_pass(&worker->punt_policer[reason], burst->now_ps)) {
		counter_add(&counters->copied, 1);
		counter_add(&counters->drop[DROP_PUNT_POLICED], 1);
		return;
	}
	copy = burst_copy(worker, burst, i);
	if (copy != NULL)
		punt(worker, burst, copy, burst->parsed[i], burst->priority[i], reason, interface);
}

enum punt_reason punt_multicast_reason(const struct parsed *parsed, const uint8_t *frame)
{
	const uint8_t *ip = frame + parsed->l3_offset;

	if (parsed->kind == KIND_ARP)
		return PUNT_ARP;
	if (parsed->kind == KIND_IPV4 &&
	    (parsed->destination == UINT32_MAX ||
	     (parsed->destination & rte_cpu_to_be_32(0xffffff00)) == rte_cpu_to_be_32(0xe0000000)))
		return PUNT_BROADCAST; /* 255.255.255.255 and 224.0.0.0/24 */
	if (parsed->kind == KIND_IPV6 && ip[24] == 0xff && (ip[25] & 0x0f) == 2)
		return parsed->protocol == IP_PROTOCOL_ICMPV6 ? PUNT_ND : PUNT_BROADCAST;
	return PUNT_NONE;
}

void forward_other(struct worker *worker, struct burst *burst, uint32_t i)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct parsed *parsed = &burst->parsed[i];
	uint64_t destination = load_mac(packet_data(burst->packet[i]));
	uint16_t interface = snapshot->port[burst->port].interface;
	bool ours = destination == load_mac(snapshot->router_mac);
	enum punt_reason reason;

	if (mac_is_reserved(destination)) {
		burst_drop(worker, burst, i, DROP_RESERVED_MAC);
	} else if (parsed_vlan(parsed) != 0) {
		burst_drop(worker, burst, i, DROP_VLAN);
	} else if (!ours && !mac_is_multicast(destination)) {
		burst_drop(worker, burst, i, DROP_WRONG_MAC);
	} else if (ours) {
		if ((parsed->kind & KIND_IP_MASK) != 0)
			route_packet(worker, burst, i);
		else if (parsed->kind == KIND_ARP)
			burst_punt(worker, burst, i, PUNT_ARP, interface);
		else
			burst_drop(worker, burst, i, DROP_UNROUTABLE);
	} else {
		reason = punt_multicast_reason(parsed, packet_data(burst->packet[i]));
		if (reason != PUNT_NONE)
			burst_punt(worker, burst, i, reason, interface);
		else
			burst_drop(worker, burst, i,
				   (parsed->kind & KIND_IP_MASK) != 0 ? DROP_MULTICAST
								      : DROP_UNROUTABLE);
	}
}

/* From the kernel: frames to leave through an interface, and packets that waited for a neighbour. */
static void cpu_burst(struct worker *worker, struct burst *burst)
{
	const struct snapshot *snapshot = burst->snapshot;
	struct classifier classifier = classifier_of(burst);

	for (uint32_t i = 0; i < burst->count; i++) {
		struct packet_meta meta = *packet_meta(burst->packet[i]);
		const struct interface *interface;

		if (!classify(worker, burst, i, &classifier))
			continue;
		if (burst->parsed[i].kind == KIND_MAC_CONTROL) {
			/* Who may write to a TAP mustn't pause a neighbour. */
			burst_drop(worker, burst, i, DROP_RESERVED_MAC);
			continue;
		}
		if (meta.interface >= snapshot->interface_count) {
			/* It went away in a reload while the frame was on its way. */
			burst_drop(worker, burst, i, DROP_NO_MEMBER);
			continue;
		}
		interface = &snapshot->interface[meta.interface];
		if (meta.reason == PUNT_NEIGHBOUR && (burst->parsed[i].kind & KIND_IP_MASK) != 0)
			route_packet(worker, burst, i);
		else if (interface->port != PORT_NONE)
			enqueue_parsed(worker, burst, i, interface->port);
		else
			bridge_deliver(worker, burst, i, interface->vlan, burst->port);
	}
	classifier_end(worker, burst->port, &classifier);
}

/* To a port that takes nothing. */
static __rte_noinline void refuse_burst(struct worker *worker, struct burst *burst)
{
	for (uint32_t i = 0; i < burst->count; i++) {
		counter_add(&worker->port_counters[burst->port].rx_bytes, burst->parsed[i].length);
		burst_drop(worker, burst, i, DROP_LINK_DOWN);
	}
}

void forward_burst(struct worker *worker, struct burst *burst)
{
	uint8_t mode = burst->snapshot->port[burst->port].mode;

	if (mode == PORT_MODE_ROUTED) {
		route_burst(worker, burst); /* parses as it goes */
		return;
	}
	parse(worker, burst);
	if (mode == PORT_MODE_BRIDGED)
		bridge_burst(worker, burst);
	else if (mode == PORT_MODE_CPU)
		cpu_burst(worker, burst);
	else
		refuse_burst(worker, burst);
}
