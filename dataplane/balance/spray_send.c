/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages on their way out: frames of our own, which are admitted and queued like any other. */
#include <netinet/in.h>

#include <rte_ip.h>
#include <rte_udp.h>

#include "dataplane/balance/spray.h"
#include "dataplane/ecn.h"
#include "dataplane/enqueue.h"
#include "dataplane/internal.h"

#define TTL 64

/* In front of a message: room for tags. Buffers of the lab are small. */
#define HEADROOM_BYTES 32

/* Ethernet, IPv6, UDP. */
#define HEADER_BYTES_MAX (14 + 40 + 8)

/* @param bytes of what follows. @return size of the header */
static uint32_t write_ipv4(uint8_t *ip, const uint8_t *source, const uint8_t *destination,
			   uint8_t traffic_class, uint16_t bytes)
{
	struct rte_ipv4_hdr header = {
		.version_ihl = RTE_IPV4_VHL_DEF,
		.type_of_service = traffic_class,
		.total_length = rte_cpu_to_be_16((uint16_t)(sizeof(header) + bytes)),
		.fragment_offset = rte_cpu_to_be_16(RTE_IPV4_HDR_DF_FLAG),
		.time_to_live = TTL,
		.next_proto_id = IPPROTO_UDP,
	};

	memcpy(&header.src_addr, source, 4);
	memcpy(&header.dst_addr, destination, 4);
	header.hdr_checksum = rte_ipv4_cksum(&header);
	memcpy(ip, &header, sizeof(header));
	return sizeof(header);
}

static uint32_t write_ipv6(uint8_t *ip, const uint8_t *source, const uint8_t *destination,
			   uint8_t traffic_class, uint16_t bytes)
{
	struct rte_ipv6_hdr header = {
		.vtc_flow = rte_cpu_to_be_32(6u << 28 | (uint32_t)traffic_class << 20),
		.payload_len = rte_cpu_to_be_16(bytes),
		.proto = IPPROTO_UDP,
		.hop_limits = TTL,
	};

	memcpy(header.src_addr, source, 16);
	memcpy(header.dst_addr, destination, 16);
	memcpy(ip, &header, sizeof(header));
	return sizeof(header);
}

/* @return bytes of the frame */
static uint16_t write_frame(uint8_t *frame, const struct adjacency *adjacency,
			    const struct spray_table *table, const uint8_t *destination,
			    uint8_t dscp, const uint8_t *payload, uint16_t payload_bytes)
{
	const bool is_ipv4 = table->family == 4;
	const uint16_t ether_type = rte_cpu_to_be_16(is_ipv4 ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
	const uint16_t bytes = (uint16_t)(sizeof(struct rte_udp_hdr) + payload_bytes);
	const uint8_t traffic_class = (uint8_t)(dscp << 2 | ECN_ECT0);
	struct rte_udp_hdr header = {
		.src_port = rte_cpu_to_be_16(SPRAY_PORT),
		.dst_port = rte_cpu_to_be_16(SPRAY_PORT),
		.dgram_len = rte_cpu_to_be_16(bytes),
	};
	uint8_t *ip = frame + ETHERNET_BYTES, *udp;

	memcpy(frame, adjacency, ADJACENCY_MAC_BYTES);
	memcpy(frame + ADJACENCY_MAC_BYTES, &ether_type, sizeof(ether_type));
	if (is_ipv4)
		udp = ip + write_ipv4(ip, table->address, destination, traffic_class, bytes);
	else
		udp = ip + write_ipv6(ip, table->address, destination, traffic_class, bytes);
	memcpy(udp, &header, sizeof(header));
	memcpy(udp + sizeof(header), payload, payload_bytes);
	header.dgram_cksum = is_ipv4 ? rte_ipv4_udptcp_cksum((void *)ip, udp)
				     : rte_ipv6_udptcp_cksum((void *)ip, udp);
	memcpy(udp, &header, sizeof(header));
	return (uint16_t)(udp + bytes - frame);
}

/* Let it in and queue it, as if it came from the CPU's port; when that has no room it isn't sent. */
static bool queue_frame(struct worker *worker, struct rte_mbuf *packet, uint16_t egress,
			uint8_t priority, uint8_t family)
{
	uint16_t bytes = packet->data_len;

	packet->port = worker->leaf->port_count;
	worker->room_port = packet->port;
	if (buffer_admit(worker, priority, bytes) != DROP_COUNT) {
		rte_pktmbuf_free(packet);
		buffer_charge(worker);
		return false;
	}
	worker->room[priority] += bytes; /* enqueue() takes it again */
	counter_add(&worker->port_counters[packet->port].copied, 1);
	enqueue(worker, packet, egress,
		(struct packet_meta){
			.flags = family == 4 ? PACKET_IPV4 : PACKET_IPV6,
			.l3_offset = ETHERNET_BYTES,
			.priority = priority,
			.cost_bytes = bytes,
		});
	buffer_charge(worker);
	if (worker->handing != 0)
		handover_flush(worker);
	return true;
}

void spray_send(struct worker *worker, struct spray *spray, uint16_t peer, uint32_t uplink,
		uint8_t dscp, struct spray_message *message)
{
	const struct spray_table *table = &worker->snapshot->spray;
	const struct spray_peer *to = &table->peer[peer];
	const struct adjacency *adjacency = &worker->snapshot->adjacency[to->members + uplink];
	struct spray_leaf *state = &spray->leaf[peer];
	uint8_t payload[SPRAY_MESSAGE_BYTES_MAX];
	struct rte_mbuf *packet = NULL;
	struct spray_path path;
	uint32_t bytes;

	if (adjacency->weight != 0 && adjacency->egress != PORT_NONE && adjacency->vlan == 0)
		packet = rte_pktmbuf_alloc(worker->pool);
	if (packet == NULL) {
		counter_add(&spray->counters.messages_unsent, 1);
		return;
	}
	message->worker = (uint8_t)worker->id;
	message->uplink = (uint8_t)uplink;
	message->epoch = table->epoch;
	if (message->type != SPRAY_HELLO)
		message->receiver_epoch = state->epoch;
	message->counter = ++state->counter[uplink];
	memcpy(path.source, table->address, sizeof(path.source));
	memcpy(path.destination, to->address, sizeof(path.destination));
	bytes = spray_message_encode(message, &path, table->key, payload);
	packet->data_off = HEADROOM_BYTES;
	if (rte_pktmbuf_tailroom(packet) < bytes + HEADER_BYTES_MAX) {
		rte_pktmbuf_free(packet);
		counter_add(&spray->counters.messages_unsent, 1);
		return;
	}
	bytes = write_frame(packet_data(packet), adjacency, table, to->address, dscp, payload,
			    (uint16_t)bytes);
	packet->data_len = (uint16_t)bytes;
	packet->pkt_len = bytes;
	packet_virtual_bytes_set(packet, 0);
	if (queue_frame(worker, packet, adjacency->egress, worker->snapshot->by_dscp[dscp],
			table->family))
		counter_add(&spray->counters.messages_sent, 1);
	else
		counter_add(&spray->counters.messages_unsent, 1);
}

/* The lowest uplink that is up: what is said there arrives in order. */
void spray_send_word(struct worker *worker, struct spray *spray, uint16_t peer,
		     struct spray_message *message)
{
	struct spray_leaf *state = &spray->leaf[peer];

	state->busy_ps = worker->now_ps;
	if (state->mask == 0) {
		counter_add(&spray->counters.messages_unsent, 1);
		return;
	}
	spray_send(worker, spray, peer, (uint32_t)__builtin_ctz(state->mask),
		   worker->snapshot->spray.dscp, message);
}

void spray_send_any(struct worker *worker, struct spray *spray, uint16_t peer,
		    struct spray_message *message)
{
	struct spray_leaf *state = &spray->leaf[peer];
	const uint32_t count = state->weights.count;

	for (uint32_t i = 0; i < count; i++) {
		state->turn = (uint8_t)(state->turn + 1u < count ? state->turn + 1u : 0);
		if ((state->mask >> state->turn & 1) == 0)
			continue;
		spray_send(worker, spray, peer, state->turn, worker->snapshot->spray.dscp, message);
		return;
	}
	counter_add(&spray->counters.messages_unsent, 1);
}

static void say_hello(struct worker *worker, struct spray *spray, uint16_t peer, uint32_t uplink)
{
	const struct snapshot *snapshot = worker->snapshot;
	const struct spray_peer *to = &snapshot->spray.peer[peer];
	const struct adjacency *member = &snapshot->adjacency[to->members];
	struct spray_leaf *state = &spray->leaf[peer];
	struct spray_message hello = {
		.type = SPRAY_HELLO,
		.receiver_epoch = state->candidate > state->epoch ? state->candidate : state->epoch,
	};

	hello.hello.serial = ++state->said_serial;
	hello.hello.count = (uint8_t)to->count;
	for (uint32_t u = 0; u < to->count; u++) {
		if (member[u].weight == 0 || member[u].egress == PORT_NONE)
			continue;
		hello.hello.uplink[u].up = worker_link_serves(worker, member[u].egress);
		hello.hello.uplink[u].speed_mbps =
			(uint32_t)(snapshot->port[member[u].egress].rate_bps / 1000000);
	}
	spray_send(worker, spray, peer, uplink, snapshot->spray.dscp, &hello);
}

void spray_hello(struct worker *worker, struct spray *spray, uint16_t peer, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];

	for (uint32_t rest = state->mask; rest != 0; rest &= rest - 1)
		say_hello(worker, spray, peer, (uint32_t)__builtin_ctz(rest));
	state->hello_ps = now_ps;
}

void spray_probe(struct worker *worker, uint16_t port)
{
	const struct spray_table *table = &worker->snapshot->spray;
	struct spray *spray = worker_spray(worker);

	for (uint16_t peer = 0; spray != NULL && peer < table->peer_count; peer++) {
		const struct adjacency *member =
			&worker->snapshot->adjacency[table->peer[peer].members];

		for (uint32_t u = 0; u < table->peer[peer].count; u++)
			if (member[u].egress == port) {
				say_hello(worker, spray, peer, u);
				return;
			}
	}
}

void spray_hello_turn(struct worker *worker, struct spray *spray, uint16_t peer, uint64_t now_ps)
{
	struct spray_leaf *state = &spray->leaf[peer];
	uint32_t above = state->mask & ~((2u << state->hello_turn) - 1);
	uint32_t rest = above != 0 ? above : state->mask;

	state->hello_ps = now_ps;
	if (rest == 0)
		return;
	state->hello_turn = (uint8_t)__builtin_ctz(rest);
	say_hello(worker, spray, peer, state->hello_turn);
}

void spray_want_fences(struct worker *worker, struct spray *spray,
		       const struct resequencer_flow *flow)
{
	struct spray_message wanted = {.type = SPRAY_FENCE_WANTED};

	wanted.sequence.flow = spray->agreed[flow - spray->resequencer->flow];
	wanted.sequence.number = flow->expected;
	spray_send_any(worker, spray, flow->peer, &wanted);
}
