/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/realtime/endpoint.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "dataplane/parse.h"
#include "dataplane/port_io.h"
#include "tools/lab/allocate.h"
#include "tools/lab/engine.h"
#include "tools/lab/host/host.h"
#include "tools/lab/link.h"
#include "tools/lab/realtime/arp.h"
#include "tools/lab/realtime/payload.h"

/* ECN field: congestion can be told (RFC 3168 section 5). */
#define TOS_ECT0 2

/* A port that is full is asked again after this time. */
#define PORT_RETRY_PS (10 * PS_PER_US)

#define WAITING_MAX 64

/* The far end of the host's wires. */
struct bridge {
	struct node node;
	struct port_io *io;
	struct wire *from_host; /* so that the host doesn't send */
	struct rte_mbuf *waiting[WAITING_MAX];
	uint32_t count;
	struct endpoint_counters *counters;
};

struct endpoint {
	struct endpoint_params params;
	struct engine *engine;
	struct host host;
	struct bridge bridge;
	struct wire out, in; /* from the host and to it */
	struct traffic traffic;
	struct host *peers; /* [traffic.flow_count]: addresses only */
	struct endpoint_sender *senders;
	struct endpoint_counters counters;
	uint64_t skew_ps; /* the caller's clock less the engine's time */
};

/* --- to the port --- */

static void bridge_arrive(struct node *node, uint16_t port)
{
	(void)node;
	(void)port; /* a run follows */
}

static void bridge_flush(struct bridge *bridge, uint64_t now_ps)
{
	uint32_t sent = 0;
	uint16_t count, taken;

	do {
		count = (uint16_t)RTE_MIN(bridge->count - sent, (uint32_t)BURST_COUNT_MAX);
		taken = count == 0 ? 0
				   : bridge->io->ops->tx_burst(bridge->io, 0,
							       bridge->waiting + sent, count);
		sent += taken;
	} while (taken == BURST_COUNT_MAX);
	bridge->count -= sent;
	for (uint32_t i = 0; i < bridge->count; i++)
		bridge->waiting[i] = bridge->waiting[sent + i];
	if (bridge->count != 0) {
		bridge->counters->held++;
		wire_hold(bridge->from_host, now_ps + PORT_RETRY_PS);
	}
}

static uint64_t bridge_run(struct node *node, uint64_t now_ps)
{
	struct bridge *bridge = (struct bridge *)node;
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	uint16_t count, room;

	do {
		room = (uint16_t)RTE_MIN(WAITING_MAX - bridge->count, (uint32_t)BURST_COUNT_MAX);
		count = wire_receive(bridge->from_host, packets, room);
		for (uint16_t i = 0; i < count; i++) {
			if (payload_seal(packets[i]) != 0)
				rte_pktmbuf_free(packets[i]);
			else
				bridge->waiting[bridge->count++] = packets[i];
		}
		bridge_flush(bridge, now_ps);
	} while (count != 0 && count == room && bridge->count == 0);
	return now_ps + (bridge->count != 0 ? PORT_RETRY_PS : TIME_IDLE_PS);
}

static const struct node_ops bridge_ops = {
	.kind = "bridge",
	.arrive = bridge_arrive,
	.run = bridge_run,
};

/* --- next hops --- */

static void endpoint_say(struct endpoint *endpoint, const struct arp *arp)
{
	struct bridge *bridge = &endpoint->bridge;
	struct rte_mbuf *packet;

	if (bridge->count == WAITING_MAX)
		return;
	packet = rte_pktmbuf_alloc(endpoint->params.pool);
	if (packet == NULL)
		return;
	arp_write(packet, arp);
	bridge->waiting[bridge->count++] = packet;
	engine_wake(endpoint->engine, &bridge->node, endpoint->engine->now_ps);
}

static void endpoint_ask(struct endpoint *endpoint, struct endpoint_sender *sender, uint64_t now_ps)
{
	struct arp arp = {.request = true};

	memcpy(arp.sender_mac, endpoint->params.io->mac, 6);
	memcpy(arp.sender_ip, endpoint->params.ip, 4);
	memcpy(arp.target_ip, sender->send.next_hop, 4);
	endpoint_say(endpoint, &arp);
	sender->asked_ps = now_ps;
}

static void sender_begin(struct endpoint *endpoint, struct endpoint_sender *sender,
			 const uint8_t *mac)
{
	const struct endpoint_send *send = &sender->send;
	uint32_t id = send->queue_pair - FLOW_QUEUE_PAIR;
	struct host *peer = &endpoint->peers[id];
	struct flow_params params = {
		.source = &endpoint->host,
		.destination = peer,
		.rate_bps = endpoint->params.rate_bps,
		.start_ps = endpoint->engine->now_ps,
		.payload_bytes = endpoint->params.payload_bytes,
		.overhead_bytes = WIRE_OVERHEAD_BYTES,
		.transport = &endpoint->traffic.transport,
		.tos = (uint8_t)(send->dscp << 2 | TOS_ECT0),
		.priority = send->priority,
		.source_port = send->source_port,
	};

	memcpy(peer->params.ip, send->to, 4);
	memcpy(peer->params.mac, mac, 6);
	flow_init(sender->flow, id, &params);
	flow_control(sender->flow, &endpoint->params.cc);
	host_start(&endpoint->host, sender->flow);
	sender->resolved = true;
	sender->begun_ps = sender->ended_ps = endpoint->engine->now_ps + endpoint->skew_ps;
}

static void endpoint_hear(struct endpoint *endpoint, const struct arp *arp)
{
	struct arp reply = {.request = false};

	for (uint32_t i = 0; i < endpoint->params.send_count; i++) {
		struct endpoint_sender *sender = &endpoint->senders[i];

		if (!sender->resolved && memcmp(sender->send.next_hop, arp->sender_ip, 4) == 0)
			sender_begin(endpoint, sender, arp->sender_mac);
	}
	if (!arp->request || memcmp(arp->target_ip, endpoint->params.ip, 4) != 0)
		return;
	memcpy(reply.sender_mac, endpoint->params.io->mac, 6);
	memcpy(reply.sender_ip, endpoint->params.ip, 4);
	memcpy(reply.target_mac, arp->sender_mac, 6);
	memcpy(reply.target_ip, arp->sender_ip, 4);
	endpoint_say(endpoint, &reply);
}

/* --- from the port --- */

static bool endpoint_serves(const struct endpoint *endpoint, uint32_t queue_pair)
{
	uint32_t id = queue_pair - FLOW_QUEUE_PAIR;

	return id < ENDPOINT_QUEUE_PAIRS &&
	       (endpoint->params.served[id / 64] >> (id % 64) & 1) != 0;
}

/* A packet of data for a served queue pair. @return false: of no connection, and none begins with it */
static bool endpoint_connect(struct endpoint *endpoint, struct rte_mbuf *packet,
			     const struct frame_view *view)
{
	const uint8_t *data = packet_data(packet);
	struct flow *flow = &endpoint->traffic.flows[view->queue_pair - FLOW_QUEUE_PAIR];
	struct host *peer = flow->params.source;
	uint16_t source_port = (uint16_t)(data[34] << 8 | data[35]);

	if (source_port == flow->params.source_port && memcmp(peer->params.ip, data + 26, 4) == 0)
		return true;
	if (view->psn != 0)
		return false;
	memcpy(peer->params.ip, data + 26, 4);
	memcpy(peer->params.mac, data + 6, 6);
	flow->params.source_port = source_port;
	flow->params.tos = view->tos;
	flow->params.priority = endpoint->params.dscp_priority[view->tos >> 2];
	flow_connect(flow);
	endpoint->counters.connections++;
	return true;
}

/* A frame with our MAC address. @return true: the host takes it */
static bool endpoint_accept(struct endpoint *endpoint, struct rte_mbuf *packet)
{
	struct endpoint_counters *counters = &endpoint->counters;
	struct frame_view view;

	switch (payload_open(packet, &view)) {
	case PAYLOAD_FOREIGN:
		counters->foreign_packets++;
		return false;
	case PAYLOAD_CRC:
		counters->crc_packets++;
		return false;
	case PAYLOAD_CORRUPT:
		counters->corrupt_packets++;
		break;
	case PAYLOAD_RIGHT:
		break;
	}
	if (memcmp(view.destination_ip, endpoint->params.ip, 4) == 0 &&
	    (!frame_is_data(view.opcode) || !endpoint_serves(endpoint, view.queue_pair) ||
	     endpoint_connect(endpoint, packet, &view)))
		return true;
	counters->foreign_packets++;
	return false;
}

static bool is_type(const struct rte_mbuf *packet, uint16_t type)
{
	const uint8_t *data = rte_pktmbuf_mtod(packet, const uint8_t *);

	return packet->data_len >= 14 && data[12] == type >> 8 && data[13] == (type & 0xFF);
}

static void endpoint_take(struct endpoint *endpoint, struct rte_mbuf *packet)
{
	struct arp arp;

	if (is_type(packet, ETHERTYPE_MAC_CONTROL) ||
	    (packet->data_len >= 14 &&
	     memcmp(packet_data(packet), endpoint->params.io->mac, 6) == 0 &&
	     !is_type(packet, ETHERTYPE_ARP) && endpoint_accept(endpoint, packet))) {
		wire_send(&endpoint->in, packet);
		return;
	}
	if (arp_read(packet, &arp))
		endpoint_hear(endpoint, &arp);
	rte_pktmbuf_free(packet);
}

static void endpoint_receive(struct endpoint *endpoint)
{
	struct port_io *io = endpoint->params.io;
	struct rte_mbuf *packets[BURST_COUNT_MAX];
	uint16_t count;

	for (uint16_t queue = 0; queue < io->rx_queues; queue++) {
		/* A bound, so that nobody can keep us here. */
		for (uint32_t bursts = 0; bursts < 8; bursts++) {
			count = io->ops->rx_burst(io, queue, packets, BURST_COUNT_MAX);
			for (uint16_t i = 0; i < count; i++)
				endpoint_take(endpoint, packets[i]);
			if (count != BURST_COUNT_MAX)
				break;
		}
	}
}

/* --- messages --- */

static bool sender_over(const struct endpoint_sender *sender, uint64_t now_ps)
{
	const struct endpoint_send *send = &sender->send;

	return (send->count != 0 && sender->released == send->count) ||
	       (send->duration_ps != 0 &&
		!time_after(sender->begun_ps + send->duration_ps, now_ps));
}

static void sender_look(struct endpoint *endpoint, struct endpoint_sender *sender, uint64_t now_ps)
{
	uint64_t bytes = sender->send.message_bytes;
	uint32_t depth = sender->send.depth;

	if (!sender->resolved) {
		if (!time_after(sender->asked_ps + ENDPOINT_ASK_PS, now_ps))
			endpoint_ask(endpoint, sender, now_ps);
		return;
	}
	while (sender->completed != sender->released &&
	       sender->flow->acked.offset_bytes >= (sender->completed + 1) * bytes) {
		histogram_add(&sender->completion_ns,
			      (now_ps - sender->released_ps[sender->completed % depth]) /
				      PS_PER_NS);
		sender->completed++;
		sender->ended_ps = now_ps;
	}
	while (sender->released - sender->completed < depth && !sender_over(sender, now_ps)) {
		sender->released_ps[sender->released % depth] = now_ps;
		sender->released++;
		host_release(sender->flow, sender->released * bytes);
	}
}

/* When a sender has something to do that no frame tells. */
static uint64_t sender_due_ps(const struct endpoint_sender *sender, uint64_t now_ps)
{
	return sender->resolved ? now_ps + TIME_IDLE_PS : sender->asked_ps + ENDPOINT_ASK_PS;
}

bool endpoint_done(const struct endpoint *endpoint)
{
	uint64_t now_ps = endpoint->engine->now_ps + endpoint->skew_ps;

	for (uint32_t i = 0; i < endpoint->params.send_count; i++) {
		const struct endpoint_sender *sender = &endpoint->senders[i];

		if (!sender->resolved || !sender_over(sender, now_ps) ||
		    sender->completed != sender->released)
			return false;
	}
	return endpoint->params.send_count != 0;
}

/* --- time --- */

static uint64_t event_due_ps(const struct engine_event *event, uint64_t idle_ps)
{
	return event->place == ENGINE_NOWHERE ? idle_ps : event->time_ps;
}

static uint64_t node_due_ps(const struct node *node, uint64_t idle_ps)
{
	return node->waiting ? node->due_ps : idle_ps;
}

/* When the engine has something to do. */
static uint64_t engine_due_ps(const struct endpoint *endpoint)
{
	uint64_t idle_ps = endpoint->engine->now_ps + TIME_IDLE_PS / 2;
	uint64_t nodes_ps = time_min(node_due_ps(&endpoint->host.node, idle_ps),
				     node_due_ps(&endpoint->bridge.node, idle_ps));

	return time_min(nodes_ps, time_min(event_due_ps(&endpoint->out.arrival, idle_ps),
					   event_due_ps(&endpoint->in.arrival, idle_ps)));
}

/* The engine's time that belongs to the caller's clock; too late, and it stands still for a while. */
static uint64_t endpoint_time_ps(struct endpoint *endpoint, uint64_t now_ps)
{
	uint64_t latest_ps = engine_due_ps(endpoint) + ENDPOINT_LAG_PS;
	uint64_t time_ps = now_ps - endpoint->skew_ps, late_ps;

	if (!time_after(time_ps, latest_ps))
		return time_ps;
	late_ps = time_ps - latest_ps;
	endpoint->skew_ps += late_ps;
	endpoint->counters.stalls++;
	endpoint->counters.stall_ps += late_ps;
	return latest_ps;
}

uint64_t endpoint_poll(struct endpoint *endpoint, uint64_t now_ps)
{
	uint64_t due_ps, time_ps = endpoint_time_ps(endpoint, now_ps);
	int result;

	endpoint_receive(endpoint);
	result = engine_run(endpoint->engine, time_ps);
	assert(result == 0);
	(void)result;
	for (uint32_t i = 0; i < endpoint->params.send_count; i++)
		sender_look(endpoint, &endpoint->senders[i], now_ps);
	due_ps = engine_due_ps(endpoint) + endpoint->skew_ps;
	for (uint32_t i = 0; i < endpoint->params.send_count; i++)
		due_ps = time_min(due_ps, sender_due_ps(&endpoint->senders[i], now_ps));
	return time_max(due_ps, now_ps);
}

/* --- making one --- */

static void create_host(struct endpoint *endpoint)
{
	const struct endpoint_params *params = &endpoint->params;
	struct link_params out = {.rate_bps = params->rate_bps,
				  .overhead_bytes = WIRE_OVERHEAD_BYTES};
	/* What has come is there at once. */
	struct link_params in = {.rate_bps = RATE_BPS_MAX};
	struct host_params host = {
		.name = "host",
		.pool = params->pool,
		/* Every peer has the MAC address of its next hop: all are neighbours. */
		.prefix_length = 0,
		.cnp_interval_ps = params->cc.dcqcn.cnp_interval_ps,
		.cnp_tos = (uint8_t)(params->cnp_dscp << 2),
		.cnp_priority = params->dscp_priority[params->cnp_dscp],
	};

	memcpy(host.mac, params->io->mac, 6);
	memcpy(host.ip, params->ip, 4);
	endpoint->traffic.transport = params->transport;
	endpoint->bridge.io = params->io;
	endpoint->bridge.from_host = &endpoint->out;
	endpoint->bridge.counters = &endpoint->counters;
	/* First: at the end of a hold it runs before the host does, and may hold it again. */
	engine_add(endpoint->engine, &endpoint->bridge.node, &bridge_ops);
	host_init(&endpoint->host, endpoint->engine, &host, &endpoint->traffic);
	wire_init(&endpoint->out, endpoint->engine, &out, &endpoint->bridge.node, 0);
	wire_init(&endpoint->in, endpoint->engine, &in, &endpoint->host.node, 0);
	host_attach(&endpoint->host, &endpoint->out, &endpoint->in);
}

/* A served queue pair, whose peer isn't known. */
static void create_served(struct endpoint *endpoint, uint32_t id)
{
	struct flow_params params = {
		.source = &endpoint->peers[id],
		.destination = &endpoint->host,
		.rate_bps = endpoint->params.rate_bps,
		.start_ps = endpoint->engine->now_ps,
		.payload_bytes = endpoint->params.payload_bytes,
		.overhead_bytes = WIRE_OVERHEAD_BYTES,
		.transport = &endpoint->traffic.transport,
	};

	/* Its controller only says whether it listens to notifications. */
	endpoint->peers[id].tx = &endpoint->out;
	flow_init(&endpoint->traffic.flows[id], id, &params);
	flow_control(&endpoint->traffic.flows[id], &endpoint->params.cc);
}

struct endpoint *endpoint_create(const struct endpoint_params *params, uint64_t now_ps)
{
	struct endpoint *endpoint = allocate(sizeof(*endpoint));

	endpoint->params = *params;
	endpoint->engine = engine_create(now_ps);
	endpoint->traffic.flow_count = ENDPOINT_QUEUE_PAIRS;
	endpoint->traffic.flows = allocate(ENDPOINT_QUEUE_PAIRS * sizeof(struct flow));
	endpoint->peers = allocate(ENDPOINT_QUEUE_PAIRS * sizeof(struct host));
	endpoint->senders = allocate(params->send_count * sizeof(*endpoint->senders));
	create_host(endpoint);
	for (uint32_t id = 0; id < ENDPOINT_QUEUE_PAIRS; id++)
		if (endpoint_serves(endpoint, FLOW_QUEUE_PAIR + id))
			create_served(endpoint, id);
	for (uint32_t i = 0; i < params->send_count; i++) {
		struct endpoint_sender *sender = &endpoint->senders[i];

		sender->send = params->sends[i];
		sender->flow = &endpoint->traffic.flows[sender->send.queue_pair - FLOW_QUEUE_PAIR];
		sender->asked_ps = now_ps - ENDPOINT_ASK_PS;
	}
	return endpoint;
}

void endpoint_free(struct endpoint *endpoint)
{
	if (endpoint == NULL)
		return;
	for (uint32_t i = 0; i < ENDPOINT_QUEUE_PAIRS; i++)
		flow_fini(&endpoint->traffic.flows[i]);
	host_fini(&endpoint->host);
	engine_remove(endpoint->engine, &endpoint->bridge.node);
	wire_fini(&endpoint->out);
	wire_fini(&endpoint->in);
	traffic_fini(&endpoint->traffic);
	while (endpoint->bridge.count != 0)
		rte_pktmbuf_free(endpoint->bridge.waiting[--endpoint->bridge.count]);
	engine_free(endpoint->engine);
	free(endpoint->senders);
	free(endpoint->peers);
	free(endpoint->traffic.flows);
	free(endpoint);
}

const struct endpoint_counters *endpoint_counters(const struct endpoint *endpoint)
{
	return &endpoint->counters;
}

const struct host *endpoint_host(const struct endpoint *endpoint)
{
	return &endpoint->host;
}

const struct endpoint_sender *endpoint_sender(const struct endpoint *endpoint, uint32_t index)
{
	return &endpoint->senders[index];
}

const struct flow *endpoint_served(const struct endpoint *endpoint, uint32_t queue_pair)
{
	return &endpoint->traffic.flows[queue_pair - FLOW_QUEUE_PAIR];
}
