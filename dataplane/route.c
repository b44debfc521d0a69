/* SPDX-License-Identifier: BSD-3-Clause */
#include "dataplane/route.h"

#include <rte_byteorder.h>

#include "dataplane/balance/balance.h"
#include "dataplane/balance/choose.h"
#include "dataplane/balance/hash.h"
#include "dataplane/classify.h"
#include "dataplane/enqueue.h"
#include "dataplane/forward.h"
#include "dataplane/parse_plain.h"

/* What the first octet of an IPv4 address says (RFC 1812 5.3.7, RFC 6890). */
#define OCTET_SOURCE_BAD      0x1u
#define OCTET_DESTINATION_BAD 0x2u
#define OCTET_MULTICAST       0x4u
#define OCTET_LINK_LOCAL      0x8u /* look at the second octet too */

static const uint8_t octet_flags[256] = {
	[0] = OCTET_SOURCE_BAD | OCTET_DESTINATION_BAD,
	[127] = OCTET_SOURCE_BAD | OCTET_DESTINATION_BAD,
	[169] = OCTET_LINK_LOCAL,
	[224 ... 239] = OCTET_SOURCE_BAD | OCTET_MULTICAST,
	[240 ... 255] = OCTET_SOURCE_BAD | OCTET_DESTINATION_BAD,
};

/* Both addresses of a packet, by their first octets: 0 for nearly all. */
static inline uint32_t octets_of(uint32_t source, uint32_t destination)
{
	return (uint32_t)octet_flags[(uint8_t)source] | octet_flags[(uint8_t)destination];
}

static inline bool is_link_local(uint32_t address)
{
	return (uint16_t)address == rte_cpu_to_be_16(0xa9fe); /* 169.254/16 */
}

/* 0 when both addresses may be routed, else why not, plus one. */
static __rte_noinline uint32_t martian4(const struct parsed *parsed)
{
	uint8_t source = octet_flags[(uint8_t)parsed->source];
	uint8_t destination = octet_flags[(uint8_t)parsed->destination];

	if ((source & OCTET_SOURCE_BAD) != 0 || is_link_local(parsed->source))
		return DROP_MARTIAN_SOURCE + 1;
	if ((destination & OCTET_MULTICAST) != 0)
		return DROP_MULTICAST + 1;
	if ((destination & OCTET_DESTINATION_BAD) != 0 || is_link_local(parsed->destination))
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

/* What routing changes of a plain packet. @param word bytes 8..11 of its IP header */
static inline void plain_rewrite(uint8_t *frame, const struct adjacency *adjacency, uint32_t word)
{
	ipv4_decrement_ttl(frame + ETHERNET_BYTES, word);
	memcpy(frame, adjacency, ADJACENCY_MAC_BYTES);
}

/* @param sprayed PARSED_SPRAYED or 0 */
static inline struct packet_meta plain_meta(uint8_t priority, uint32_t length, uint8_t sprayed)
{
	return (struct packet_meta){
		.flags = (uint8_t)(PACKET_IPV4 | sprayed),
		.l3_offset = ETHERNET_BYTES,
		.priority = priority,
		.cost_bytes = (uint16_t)length,
	};
}

/* Out of a VLAN interface: which port is the bridge's business, unless the config said it. */
static void send_vlan(struct worker *worker, struct burst *burst, uint32_t i,
		      const struct adjacency *adjacency)
{
	if (adjacency->egress != PORT_NONE && worker_link_up(worker, adjacency->egress))
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

	if (unlikely(burst->snapshot->port[burst->port].fabric) && spray_suspects(parsed, ip) &&
	    worker_spray(worker) != NULL)
		parsed->flags |= PARSED_SEQUENCED;
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
 * Everything but a route with next hops.
 * @return where to send the packet, or NULL: it is gone
 */
static __rte_noinline const struct adjacency *
route_special(struct worker *worker, struct burst *burst, uint32_t i, const struct group *group)
{
	const struct parsed *parsed = &burst->parsed[i];
	const struct adjacency *adjacency = NULL;

	switch (group->kind) {
	case GROUP_LOCAL:
		if (unlikely(spray_is_message(parsed)) && worker_spray(worker) != NULL)
			spray_message_arrived(worker, burst, i);
		else
			burst_punt(worker, burst, i, PUNT_LOCAL, group->interface);
		return NULL;
	case GROUP_ATTACHED:
		adjacency = parsed->kind == KIND_IPV4
				    ? neighbour_find4(burst->snapshot, parsed->destination,
						      group->interface)
				    : neighbour_find(burst->snapshot,
						     packet_data(burst->packet[i]) +
							     parsed->l3_offset + 24,
						     6, group->interface);
		break;
	case GROUP_VIA: /* no next hop is resolved */
		break;
	case GROUP_DROP:
		burst_drop(worker, burst, i, DROP_MARTIAN_DESTINATION);
		return NULL;
	default:
		burst_drop(worker, burst, i, DROP_NO_ROUTE);
		return NULL;
	}
	if (unlikely(adjacency == NULL)) {
		if (parsed->ttl <= 1)
			burst_drop(worker, burst, i, DROP_TTL);
		else
			burst_punt(worker, burst, i, PUNT_NEIGHBOUR, group->interface);
	}
	return adjacency;
}

/* Which of a group's several next hops, which are all alike. @param ip the packet's IP header */
static inline uint32_t choose_alike(uint64_t seed, const struct parsed *parsed, const uint8_t *ip,
				    const struct group *group)
{
	return balance_member(balance_hash(parsed, ip, seed), group->count);
}

/* The same, of those that are up. */
static uint32_t choose_up(const struct worker *worker, const struct parsed *parsed,
			  const uint8_t *ip, const struct group *group)
{
	const struct snapshot *snapshot = worker->snapshot;

	if (likely(!worker->links.any))
		return choose_alike(snapshot->hash_seed, parsed, ip, group);
	return balance_by_hash(worker, &snapshot->adjacency[group->first], group->count,
			       balance_hash(parsed, ip, snapshot->hash_seed));
}

/* Group of an IPv4 packet, or NULL: it is gone. */
static const struct group *group_of4(struct worker *worker, struct burst *burst, uint32_t i)
{
	const struct snapshot *snapshot = burst->snapshot;
	const struct parsed *parsed = &burst->parsed[i];
	uint32_t martian =
		octets_of(parsed->source, parsed->destination) != 0 ? martian4(parsed) : 0;

	if (martian != 0) {
		burst_drop(worker, burst, i, (enum drop_reason)(martian - 1));
		return NULL;
	}
	return &snapshot->group[fib_find4(snapshot->fib[0], rte_be_to_cpu_32(parsed->destination))];
}

/* Group of an IPv6 packet, or NULL: it is gone. */
static const struct group *group_of6(struct worker *worker, struct burst *burst, uint32_t i)
{
	const struct snapshot *snapshot = burst->snapshot;
	const uint8_t *ip = packet_data(burst->packet[i]) + burst->parsed[i].l3_offset;
	uint32_t martian = martian6(ip);
	const struct group *group;

	if (unlikely(martian != 0)) {
		burst_drop(worker, burst, i, (enum drop_reason)(martian - 1));
		return NULL;
	}
	if (unlikely(address6_is_link_local(ip + 24))) {
		/* Never leaves its link: it is for us, or for nobody here. */
		uint16_t interface = ingress_interface(burst, i);

		if (interface != INTERFACE_NONE)
			burst_punt(worker, burst, i, PUNT_LOCAL, interface);
		else
			burst_drop(worker, burst, i, DROP_MARTIAN_DESTINATION);
		return NULL;
	}
	group = &snapshot->group[fib_find6(snapshot->fib[0], ip + 24)];
	/* To us it may speak with its link-local address, to others not (RFC 4291 2.5.6). */
	if (unlikely(address6_is_link_local(ip + 8)) && group->kind != GROUP_LOCAL) {
		burst_drop(worker, burst, i, DROP_MARTIAN_SOURCE);
		return NULL;
	}
	return group;
}

void route_packet(struct worker *worker, struct burst *burst, uint32_t i)
{
	const struct group *group = burst->parsed[i].kind == KIND_IPV4
					    ? group_of4(worker, burst, i)
					    : group_of6(worker, burst, i);
	const struct snapshot *snapshot = burst->snapshot;
	struct parsed *parsed = &burst->parsed[i];
	uint8_t *ip = packet_data(burst->packet[i]) + parsed->l3_offset;
	const struct adjacency *adjacency;

	if (group == NULL)
		return;
	adjacency = &snapshot->adjacency[group->first];
	if (group->balanced != 0)
		adjacency = &snapshot->adjacency[group->members] +
			    balance_choose(worker, group, parsed, ip, burst->priority[i]);
	else if (group->count == 0)
		adjacency = route_special(worker, burst, i, group);
	else if (group->count != 1)
		adjacency += choose_up(worker, parsed, ip, group);
	if (adjacency == NULL)
		return;
	if ((group->balanced != 0 || group->count > 1) &&
	    !balance_passes(&worker->balance, parsed->length))
		balance_sample(worker, parsed, ip, burst->priority[i], adjacency->egress);
	send_any(worker, burst, i, adjacency);
}

/* Plain packets of a burst whose next hops balance.h says: all at once, behind the others. */
struct balanced {
	uint32_t count;
	struct balance_packet packet[BURST_COUNT_MAX];
};

/* One of them isn't just rewritten and queued, or it is the sketch's turn. */
static __rte_noinline void send_balanced(struct worker *worker, struct burst *burst,
					 const struct balance_packet *balanced)
{
	struct rte_mbuf *packet = balanced->packet;
	const uint8_t *frame = packet_data(packet), *ip = frame + ETHERNET_BYTES;
	const struct ipv4_words words = ipv4_words_at(ip);
	struct parsed *parsed;
	uint32_t i = 0;

	while (burst->packet[i] != packet)
		i++;
	parsed = &burst->parsed[i];
	parsed_set_plain(parsed, frame, packet->data_len, packet_length(packet), &words);
	parsed->flags |= balanced->sprayed;
	burst->priority[i] = balanced->priority;
	if (!balance_passes(&worker->balance, parsed->length))
		balance_sample(worker, parsed, ip, balanced->priority, balanced->adjacency->egress);
	send_any(worker, burst, i, balanced->adjacency);
}

/* Hot. */
static __rte_noinline void route_balanced(struct worker *worker, struct burst *burst,
					  struct balanced *balanced, struct classifier *classifier)
{
	const struct balance_packet *const end = balanced->packet + balanced->count;

	balance_choose_plain(worker, balanced->packet, balanced->count);
	balanced->count = 0;
	for (const struct balance_packet *at = balanced->packet; at != end; at++) {
		const struct adjacency *adjacency = at->adjacency;
		const uint8_t priority = at->priority;
		struct rte_mbuf *packet = at->packet;
		uint8_t *frame = packet_data(packet), *ip = frame + ETHERNET_BYTES;
		const uint32_t length = packet_length(packet);

		classifier_count(classifier, priority, length);
		if (unlikely(length > adjacency->plain_bytes_max ||
			     !balance_passes(&worker->balance, length))) {
			send_balanced(worker, burst, at);
			continue;
		}
		plain_rewrite(frame, adjacency, load_u32(ip + 8));
		enqueue(worker, packet, adjacency->egress,
			plain_meta(priority, length, at->sprayed));
	}
}

/*
 * A plain packet for a network of ours, to a neighbour behind a routed port; from another leaf it may carry a number.
 * Packets of a flow go all this way or all by route_other(), so none overtakes another.
 * @return false: it is none
 */
static __rte_noinline bool route_attached(struct worker *worker, struct burst *burst,
					  struct rte_mbuf *packet, const struct group *group,
					  struct classifier *classifier)
{
	const struct snapshot *snapshot = burst->snapshot;
	uint8_t *frame = packet_data(packet), *ip = frame + ETHERNET_BYTES;
	const struct ipv4_words words = ipv4_words_at(ip);
	const struct adjacency *adjacency = neighbour_find4(snapshot, words.w2, group->interface);
	const uint32_t length = packet_length(packet);
	const struct packet_meta meta =
		plain_meta(snapshot->by_dscp[ipv4_traffic_class(&words) >> 2], length, 0);
	struct spray *spray = worker_spray(worker);
	struct plain_roce roce;

	if (unlikely(adjacency == NULL || length > adjacency->plain_bytes_max ||
		     (uint8_t)words.w1 <= 1))
		return false;
	classifier_count(classifier, meta.priority, length);
	plain_rewrite(frame, adjacency, (uint32_t)words.w1);
	if (classifier->port->fabric && spray != NULL &&
	    plain_roce_at(frame, packet->data_len, &words, &roce) &&
	    plain_roce_checksum(&roce) != 0) {
		const struct balance_key key = balance_key_ipv4(ip + 12, plain_roce_qp(&roce),
								ipv4_traffic_class(&words) >> 2);
		uint8_t *checksum = ip + IPV4_BYTES_MIN + 6;
		struct resequencer_flow *flow = worker->leaf->owner[adjacency->egress] == worker->id
							? resequencer_find(spray->resequencer, &key)
							: NULL;

		if (flow == NULL || !spray_in_order(worker, spray, flow, packet->port, checksum)) {
			spray_deliver_flow(worker, packet, flow, checksum, meta, adjacency->egress);
			return true;
		}
	}
	enqueue(worker, packet, adjacency->egress, meta);
	return true;
}

/* Any packet that isn't just rewritten and queued; it mustn't overtake one of its flow that waits. */
static __rte_noinline void route_other(struct worker *worker, struct burst *burst, uint32_t i,
				       struct balanced *balanced, struct classifier *classifier)
{
	struct rte_mbuf *packet = burst->packet[i];
	struct parsed *parsed = &burst->parsed[i];

	if (balanced->count != 0)
		route_balanced(worker, burst, balanced, classifier);
	if (!parse_frame(packet_data(packet), packet->data_len, packet_length(packet), parsed))
		burst_drop_bad(worker, burst, i);
	else if (classify(worker, burst, i, classifier))
		forward_other(worker, burst, i);
}

void route_burst(struct worker *worker, struct burst *burst)
{
	const struct snapshot *const snapshot = burst->snapshot;
	/* Copies: the compiler can't know that writing to frames doesn't change the originals. */
	const struct fib_trie trie = snapshot->fib[0]->v4;
	const struct group *const groups = snapshot->group;
	const struct adjacency *const adjacencies = snapshot->adjacency;
	/* The six bytes of an address as the upper ones of a word. */
	const uint64_t router_mac = load_mac(snapshot->router_mac) << 16;
	const uint64_t hash_seed = snapshot->hash_seed;
	struct rte_mbuf *const *const end = burst->packet + burst->count;
	struct rte_mbuf *const *at = burst->packet;
	struct classifier classifier = classifier_of(burst);
	struct balanced balanced;

	balanced.count = 0;
	/* Once for the burst: cheaper than a look at each next hop. */
	for (; unlikely(worker->links.any) && at != end; at++)
		route_other(worker, burst, (uint32_t)(at - burst->packet), &balanced, &classifier);
	for (; at != end; at++) {
		struct rte_mbuf *packet = *at;
		uint8_t *frame = packet_data(packet);
		uint32_t length = packet_length(packet);
		const struct adjacency *adjacency;
		const struct group *group;
		struct ipv4_words ip;
		uint8_t priority;

		if (unlikely(!parse_plain(frame, packet->data_len, length, &ip) ||
			     load_u64(frame) << 16 != router_mac ||
			     length > classifier.length_max ||
			     octets_of((uint32_t)(ip.w1 >> 32), ip.w2) != 0)) {
			route_other(worker, burst, (uint32_t)(at - burst->packet), &balanced,
				    &classifier);
			continue;
		}
		group = &groups[fib_trie_find4(&trie, rte_be_to_cpu_32(ip.w2))];
		adjacency = &adjacencies[group->first];
		if (group->count != 1) {
			struct parsed parsed; /* in registers too */

			if (group->count == 0) {
				/* route_balanced() doesn't look at times to live. */
				if (likely(group->balanced != 0 && (uint8_t)ip.w1 > 1)) {
					balanced.packet[balanced.count].packet = packet;
					balanced.packet[balanced.count++].group = group;
				} else if (group->kind != GROUP_ATTACHED ||
					   !route_attached(worker, burst, packet, group,
							   &classifier)) {
					route_other(worker, burst, (uint32_t)(at - burst->packet),
						    &balanced, &classifier);
				}
				continue;
			}
			parsed_set_plain(&parsed, frame, packet->data_len, length, &ip);
			adjacency +=
				choose_alike(hash_seed, &parsed, frame + ETHERNET_BYTES, group);
			/* The sketch's turn: route_packet() will see to it. (Cheapest for all others.) */
			if (!balance_passes(&worker->balance, length))
				length = UINT32_MAX;
		}
		if (unlikely(length > adjacency->plain_bytes_max || (uint8_t)ip.w1 <= 1)) {
			route_other(worker, burst, (uint32_t)(at - burst->packet), &balanced,
				    &classifier);
			continue;
		}
		priority = snapshot->by_dscp[ipv4_traffic_class(&ip) >> 2];
		classifier_count(&classifier, priority, length);
		plain_rewrite(frame, adjacency, (uint32_t)ip.w1);
		enqueue(worker, packet, adjacency->egress, plain_meta(priority, length, 0));
	}
	if (balanced.count != 0)
		route_balanced(worker, burst, &balanced, &classifier);
	classifier_end(worker, burst->port, &classifier);
}
