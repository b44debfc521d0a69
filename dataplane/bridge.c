/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * bridge - VLAN-aware forwarding by MAC address (IEEE 802.1Q).
 *
 * Ingress: the VLAN of a frame is its tag's or the port's native one; the port must be a member.
 * Its source is learned. Towards the router's MAC in a VLAN with an interface it is routed.
 * Flooded frames leave in a lossy class, as real copies, at a bounded rate.
 */
#include "dataplane/classify.h"
#include "dataplane/enqueue.h"
#include "dataplane/forward.h"
#include "dataplane/route.h"

/* Sends a frame to a port of a VLAN, with or without tag as the port wants it. */
void bridge_send(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		 uint16_t egress)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct vlan_table *table = &snapshot->vlan[snapshot->vlan_index[vlan]];
	bool tagged = port_bits_test(&table->tagged, egress);

	if (unlikely((tagged || (burst->parsed[i].flags & PARSED_TAGGED) != 0) &&
		     frame_tag(burst->packet[i], &burst->parsed[i], tagged, vlan,
			       burst->priority[i]) != 0)) {
		burst_drop(worker, burst, i, DROP_NO_BUFFER);
		return;
	}
	if (unlikely(burst->parsed[i].length > snapshot->port[egress].frame_bytes_max)) {
		burst_drop(worker, burst, i, DROP_MTU);
		return;
	}
	enqueue_parsed(worker, burst, i, egress);
}

static void flood_copy(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		       const struct vlan_table *table, uint16_t egress)
{
	struct rte_mbuf *copy = burst_copy(worker, burst, i);
	struct parsed parsed = burst->parsed[i];

	if (copy == NULL)
		return;
	if (frame_tag(copy, &parsed, port_bits_test(&table->tagged, egress), vlan,
		      burst->priority[i]) != 0) {
		packet_drop(worker, copy, DROP_NO_BUFFER);
		return;
	}
	if (parsed.length > burst->snapshot->port[egress].frame_bytes_max) {
		packet_drop(worker, copy, DROP_MTU);
		return;
	}
	enqueue(worker, copy, egress,
		(struct packet_meta){
			.flags = parsed.kind,
			.l3_offset = parsed.l3_offset,
			.priority = burst->priority[i],
			.cost_bytes = parsed.length,
		});
}

void bridge_flood(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		  uint16_t from)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct vlan_table *table = &snapshot->vlan[snapshot->vlan_index[vlan]];
	uint16_t port, last = PORT_NONE;

	if (unlikely((burst->parsed[i].flags & PARSED_SEQUENCED) != 0)) {
		if (!spray_strip(worker, &burst->parsed[i],
				 packet_data(burst->packet[i]) + burst->parsed[i].l3_offset)) {
			burst_drop(worker, burst, i, DROP_SEQUENCE);
			return;
		}
		burst->parsed[i].flags &= (uint8_t)~PARSED_SEQUENCED;
	}
	if ((snapshot->lossless_mask >> burst->priority[i] & 1) != 0)
		burst->priority[i] = snapshot->priority_default;
	if (!policer_pass(&worker->flood_policer, burst->now_ps)) {
		burst_drop(worker, burst, i, DROP_FLOOD_POLICED);
		return;
	}
	counter_add(&worker->port_counters[burst->port].flooded, 1);
	PORT_BITS_FOREACH(&table->members, port)
	{
		if (port == from || !worker_link_up(worker, port))
			continue;
		if (last != PORT_NONE)
			flood_copy(worker, burst, i, vlan, table, last);
		last = port;
	}
	/* The original goes to the last one. */
	if (last != PORT_NONE)
		bridge_send(worker, burst, i, vlan, last);
	else
		burst_drop(worker, burst, i, DROP_NO_MEMBER);
}

/* To a group address: flooded, and to the kernel where it listens. */
static void bridge_multicast(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
			     uint64_t destination)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct vlan_table *table = &snapshot->vlan[snapshot->vlan_index[vlan]];

	if (mac_is_reserved(destination)) {
		burst_drop(worker, burst, i, DROP_RESERVED_MAC);
		return;
	}
	if (table->interface != INTERFACE_NONE && burst->port != snapshot->port_count) {
		enum punt_reason reason =
			punt_multicast_reason(&burst->parsed[i], packet_data(burst->packet[i]));

		if (reason != PUNT_NONE)
			burst_punt_copy(worker, burst, i, reason, table->interface);
	}
	bridge_flood(worker, burst, i, vlan, burst->port);
}

void bridge_deliver(struct worker *worker, struct burst *burst, uint32_t i, uint16_t vlan,
		    uint16_t from)
{
	const struct snapshot *snapshot = burst->snapshot;
	const uint8_t *frame = packet_data(burst->packet[i]);
	uint64_t destination = load_mac(frame);
	uint16_t egress;

	if (unlikely(mac_is_multicast(destination))) {
		bridge_multicast(worker, burst, i, vlan, destination);
		return;
	}
	egress = fdb_lookup(worker->leaf->fdb, fdb_key(frame, vlan), burst->now_ps,
			    snapshot->fdb_age_ps);
	if (unlikely(egress >= snapshot->port_count || !worker_link_up(worker, egress) ||
		     !port_bits_test(&snapshot->vlan[snapshot->vlan_index[vlan]].members, egress)))
		bridge_flood(worker, burst, i, vlan, from);
	else if (unlikely(egress == from))
		burst_drop(worker, burst, i, DROP_SAME_PORT);
	else
		bridge_send(worker, burst, i, vlan, egress);
}

/* Addressed to the router in a VLAN with an interface, and not IP. */
static void bridge_to_router(struct worker *worker, struct burst *burst, uint32_t i,
			     uint16_t interface)
{
	if (burst->parsed[i].kind == KIND_ARP)
		burst_punt(worker, burst, i, PUNT_ARP, interface);
	else
		burst_drop(worker, burst, i, DROP_UNROUTABLE);
}

void bridge_burst(struct worker *worker, struct burst *burst)
{
	const struct snapshot *snapshot = burst->snapshot;
	struct classifier classifier = classifier_of(burst);
	uint16_t native_vlan = classifier.port->native_vlan;
	uint64_t router_mac = load_mac(snapshot->router_mac);

	for (uint32_t i = 0; i < burst->count; i++) {
		const struct parsed *parsed = &burst->parsed[i];
		const uint8_t *frame = packet_data(burst->packet[i]);
		uint16_t tag = parsed_vlan(parsed), vlan = tag != 0 ? tag : native_vlan;
		const struct vlan_table *table = &snapshot->vlan[snapshot->vlan_index[vlan]];

		if (unlikely(!classify(worker, burst, i, &classifier)))
			continue;
		if (unlikely(!port_bits_test(&table->members, burst->port))) {
			burst_drop(worker, burst, i, DROP_VLAN);
			continue;
		}
		if (likely(worker->id == 0)) /* it has one writer */
			fdb_learn(worker->leaf->fdb, fdb_key(frame + 6, vlan), burst->port,
				  burst->now_ps);
		else
			handover_learn(worker, fdb_key(frame + 6, vlan), burst->port,
				       burst->now_ps);
		if (load_mac(frame) != router_mac || table->interface == INTERFACE_NONE)
			bridge_deliver(worker, burst, i, vlan, burst->port);
		else if (likely((parsed->kind & KIND_IP_MASK) != 0))
			route_packet(worker, burst, i);
		else
			bridge_to_router(worker, burst, i, table->interface);
	}
	classifier_end(worker, burst->port, &classifier);
}
