/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/route.h"

#include <rte_byteorder.h>

#include "dataplane/balance.h"
#include "dataplane/enqueue.h"
#include "dataplane/forward.h"

const uint8_t route_octet_flags[256] = {
	[0] = ROUTE_OCTET_SOURCE_BAD | ROUTE_OCTET_DESTINATION_BAD,
	[127] = ROUTE_OCTET_SOURCE_BAD | ROUTE_OCTET_DESTINATION_BAD,
	[169] = ROUTE_OCTET_LINK_LOCAL,
	[224 ... 239] = ROUTE_OCTET_SOURCE_BAD | ROUTE_OCTET_MULTICAST,
	[240 ... 255] = ROUTE_OCTET_SOURCE_BAD | ROUTE_OCTET_DESTINATION_BAD,
};

static inline bool is_link_local(uint32_t address)
{
	return (uint16_t)address == rte_cpu_to_be_16(0xa9fe); /* 169.254/16 */
}

/* 0 when both addresses may be routed, else why not, plus one. */
static __rte_noinline uint32_t martian4(const struct parsed *parsed)
{
	uint8_t source = route_octet_flags[(uint8_t)parsed->source];
	uint8_t destination = route_octet_flags[(uint8_t)parsed->destination];

	if ((source & ROUTE_OCTET_SOURCE_BAD) != 0 || is_link_local(parsed->source))
		return DROP_MARTIAN_SOURCE + 1;
	if ((destination & ROUTE_OCTET_MULTICAST) != 0)
		return DROP_MULTICAST + 1;
	if ((destination & ROUTE_OCTET_DESTINATION_BAD) != 0 || is_link_local(parsed->destination))
		return DROP_MARTIAN_DESTINATION + 1;
	return 0;
}

/* ::, ::1 and ::ffff:0:0/96, IPv4 addresses in disguise: none may be on a wire (RFC 6890). */
static inline bool address6_is_special(const uint8_t *address)
{
	uint64_t low = load_u64(address + 8);

	return load_u64(address) == 0 && ((low & rte_cpu_to_be_64(~UINT64_C(1))) == 0 ||
					  (uint32_t)low == rte_cpu_to_be_32(0xffff));
}

static inline bool address6_is_link_local(const uint8_t *address)
{
	return address[0] == 0xfe && (address[1] & 0xc0) == 0x80;
}

static uint32_t martian6(const uint8_t *ip)
{
	const uint8_t *source = ip + 8, *destination = ip + 24;

	if (source[0] == 0xff || address6_is_special(source))
		return DROP_MARTIAN_SOURCE + 1;
	if (destination[0] == 0xff)
		return DROP_MULTICAST + 1;
	if (address6_is_special(destination))
		return DROP_MARTIAN_DESTINATION + 1;
	return 0;
}

/* The L3 interface through which the packet came, INTERFACE_NONE when it came from the kernel. */
static uint16_t ingress_interface(const struct burst *burst, uint32_t i)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct port_table *port = &snapshot->port[burst->port];
	uint16_t vlan = parsed_vlan(&burst->parsed[i]);

	if (port->mode == PORT_MODE_BRIDGED)
		return snapshot->vlan[snapshot->vlan_index[vlan != 0 ? vlan : port->native_vlan]]
			.interface;
	return port->interface;
}

/*
 * One hop less in an IPv4 header, whose TTL isn't 0: one less in the high byte of its word, one more
 * in the sum's. @param word bytes 8..11: TTL, protocol and checksum
 */
static inline void ipv4_decrement_ttl(uint8_t *ip, uint32_t word)
{
	/* RFC 1141; a sum that would become 0xffff becomes 0, the other zero (RFC 1624). */
	uint32_t carry = (uint32_t)(word >= 0xfffe0000) << 16;

	_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the TTL is the lowest byte");
	word += 0x10000 - 1 + carry;
	memcpy(ip + 8, &word, sizeof(word));
}

/* Out of a VLAN interface: which port is the bridge's business, unless the config said it. */
static void send_vlan(struct worker *worker, struct burst *burst, uint32_t i,
		      const struct adjacency *adjacency)
{
	if (adjacency->egress != PORT_NONE && burst->snapshot->port[adjacency->egress].link_up)
		bridge_send(worker, burst, i, adjacency->vlan, adjacency->egress);
	else
		bridge_deliver(worker, burst, i, adjacency->vlan, PORT_NONE);
}

/* Any packet to any next hop. */
static __rte_noinline void send_any(struct worker *worker, struct burst *burst, uint32_t i,
				    const struct adjacency *adjacency)
{
	struct rte_mbuf *packet = burst->packet[i];
	struct parsed *parsed = &burst->parsed[i];
	uint8_t *ip = packet_data(packet) + parsed->l3_offset;

	if (parsed->ttl <= 1) {
		burst_drop(worker, burst, i, DROP_TTL);
		return;
	}
	if ((uint32_t)parsed->length - parsed->l3_offset > adjacency->mtu_bytes) {
		burst_drop(worker, burst, i, DROP_MTU);
		return;
	}
	if (parsed->kind == KIND_IPV4)
		ipv4_decrement_ttl(ip, load_u32(ip + 8));
	else
		ip[7] = (uint8_t)(parsed->ttl - 1);
	/* A tag stays behind; the type before the IP header holds for the untagged frame too. */
	(void)frame_tag(packet, parsed, false, 0, 0);
	memcpy(ip - 14, adjacency, ADJACENCY_MAC_BYTES);
	if (adjacency->vlan == 0)
		enqueue_parsed(worker, burst, i, adjacency->egress);
	else
		send_vlan(worker, burst, i, adjacency);
}

/*
 * The usual packet at once, plain IPv4 out of a routed port; all others with send_any(). Hot.
 * @param plain_bytes length of the frame, UINT16_MAX when it isn't plain
 */
static inline __attribute__((always_inline)) void forward_to(struct worker *worker,
							     struct burst *burst, uint32_t i,
							     const struct adjacency *adjacency,
							     uint32_t plain_bytes)
{
	struct rte_mbuf *packet = burst->packet[i];
	uint16_t egress = adjacency->egress;
	struct packet_meta meta = {
		.flags = PACKET_IPV4,
		.l3_offset = 14,
		.priority = burst->priority[i],
		.cost_bytes = (uint16_t)plain_bytes,
	};
	uint8_t *frame = packet_data(packet);
	uint32_t word = load_u32(frame + 14 + 8);

	if (unlikely(plain_bytes > adjacency->plain_bytes_max || (uint8_t)word <= 1)) {
		send_any(worker, burst, i, adjacency);
		return;
	}
	ipv4_decrement_ttl(frame + 14, word);
	/* Destination and source lie side by side in both. */
	memcpy(frame, adjacency, ADJACENCY_MAC_BYTES);
	enqueue(worker, packet, egress, meta);
}

/* Everything but a route with next hops. */
static __rte_noinline void route_other(struct worker *worker, struct burst *burst, uint32_t i,
				       const struct group *group)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct parsed *parsed = &burst->parsed[i];
	const struct adjacency *adjacency;
	uint8_t address[16] = {0};

	switch (group->kind) {
	case GROUP_LOCAL:
		burst_punt(worker, burst, i, PUNT_LOCAL, group->interface);
		return;
	case GROUP_VIA: /* no next hop is resolved */
		if (parsed->ttl <= 1)
			burst_drop(worker, burst, i, DROP_TTL);
		else
			burst_punt(worker, burst, i, PUNT_NEIGHBOUR, group->interface);
		return;
	case GROUP_ATTACHED:
		if (parsed->kind == KIND_IPV4) {
			memcpy(address, &parsed->destination, sizeof(parsed->destination));
		} else {
			memcpy(address, packet_data(burst->packet[i]) + parsed->l3_offset + 24, 16);
		}
		adjacency = neighbour_find(snapshot, address, parsed->kind == KIND_IPV4 ? 4 : 6,
					   group->interface);
		if (likely(adjacency != NULL))
			send_any(worker, burst, i, adjacency);
		else if (parsed->ttl <= 1)
			burst_drop(worker, burst, i, DROP_TTL);
		else
			burst_punt(worker, burst, i, PUNT_NEIGHBOUR, group->interface);
		return;
	case GROUP_DROP:
		burst_drop(worker, burst, i, DROP_MARTIAN_DESTINATION);
		return;
	default:
		burst_drop(worker, burst, i, DROP_NO_ROUTE);
	}
}

static inline __attribute__((always_inline)) void
route_one(struct worker *worker, struct burst *burst, uint32_t i, const struct group *group,
	  const struct adjacency *adjacency, uint32_t plain_bytes)
{
	const struct parsed *parsed = &burst->parsed[i];

	adjacency += group->first;
	if (group->count != 1) {
		if (unlikely(group->count == 0)) {
			route_other(worker, burst, i, group);
			return;
		}
		adjacency += balance_member(
			balance_hash(parsed, packet_data(burst->packet[i]) + parsed->l3_offset,
				     burst->snapshot->hash_seed),
			group->count);
	}
	forward_to(worker, burst, i, adjacency, plain_bytes);
}

static __rte_noinline void route6(struct worker *worker, struct burst *burst, uint32_t packets)
{
	const struct snapshot *snapshot = burst->snapshot;

	for (uint32_t rest = packets; rest != 0; rest &= rest - 1) {
		uint32_t i = (uint32_t)__builtin_ctz(rest);
		const uint8_t *ip = packet_data(burst->packet[i]) + burst->parsed[i].l3_offset;
		uint32_t martian = martian6(ip);
		const struct group *group;

		if (unlikely(martian != 0)) {
			burst_drop(worker, burst, i, (enum drop_reason)(martian - 1));
			continue;
		}
		if (unlikely(address6_is_link_local(ip + 24))) {
			/* Never leaves its link: it is for us, or for nobody here. */
			uint16_t interface = ingress_interface(burst, i);

			if (interface != INTERFACE_NONE)
				burst_punt(worker, burst, i, PUNT_LOCAL, interface);
			else
				burst_drop(worker, burst, i, DROP_MARTIAN_DESTINATION);
			continue;
		}
		group = &snapshot->group[fib_find6(snapshot->fib[0], ip + 24)];
		/* To us it may speak with its link-local address, to others not (RFC 4291 2.5.6). */
		if (unlikely(address6_is_link_local(ip + 8)) && group->kind != GROUP_LOCAL)
			burst_drop(worker, burst, i, DROP_MARTIAN_SOURCE);
		else
			route_one(worker, burst, i, group, snapshot->adjacency, UINT16_MAX);
	}
}

void route_add_other(struct worker *worker, struct burst *burst, uint32_t i,
		     struct route_batch *batch)
{
	const struct parsed *parsed = &burst->parsed[i];
	uint32_t martian;

	if (parsed->kind == KIND_IPV6) {
		batch->six |= UINT32_C(1) << i;
		return;
	}
	martian = martian4(parsed);
	if (martian != 0) {
		burst_drop(worker, burst, i, (enum drop_reason)(martian - 1));
		return;
	}
	batch->group[batch->count] = fib_find4(batch->fib, rte_be_to_cpu_32(parsed->destination));
	batch->plain_bytes[batch->count] =
		parsed_is_plain_ipv4(parsed) ? parsed->length : UINT16_MAX;
	batch->index[batch->count++] = (uint8_t)i;
}

void route_batch(struct worker *worker, struct burst *burst, const struct route_batch *batch)
{
	const struct group *const groups = burst->snapshot->group;
	const struct adjacency *const adjacency = burst->snapshot->adjacency;
	const uint32_t count = batch->count;

	for (uint32_t k = 0; k < count; k++)
		route_one(worker, burst, batch->index[k], &groups[batch->group[k]], adjacency,
			  batch->plain_bytes[k]);
	if (unlikely(batch->six != 0))
		route6(worker, burst, batch->six);
}
