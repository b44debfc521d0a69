/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/fabric.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/apply.h"
#include "dataplane/leaf.h"
#include "tools/lab/allocate.h"
#include "tools/lab/digest.h"
#include "tools/lab/fabric_config.h"
#include "tools/lab/faults.h"
#include "tools/lab/random.h"

/* ECN-capable transport, codepoint ECT(0) (RFC 3168 section 5). */
#define TOS_ECT0 2

/* Free buffers that EAL's main lcore may hoard, and copies of frames that are flooded. */
#define POOL_CACHE 512
#define POOL_SPARE 4096

static uint32_t bits_set(uint32_t bits)
{
	return (uint32_t)__builtin_popcount(bits);
}

/*
 * Packets of a collective that are under way at once. Rank r has sent at most window steps more than it has
 * received without a gap, so all ranks together have sent at most ranks * window messages more than have arrived.
 */
static uint64_t collective_packets(const struct scenario *scenario,
				   const struct scenario_collective *plan)
{
	const struct collective_shape *shape = &plan->shape;
	uint64_t bytes = 0;

	for (uint32_t rank = 0; rank < shape->ranks; rank++) {
		for (uint32_t step = 0; step < collective_steps(shape); step++) {
			struct collective_message message = collective_message(shape, rank, step);

			bytes = message.bytes > bytes ? message.bytes : bytes;
		}
	}
	return shape->ranks * (uint64_t)plan->window *
	       flow_packets(bytes, scenario->flows[plan->first_flow].payload_bytes);
}

uint64_t fabric_packets(const struct scenario *scenario)
{
	const struct topology *topology = scenario->topology;
	uint64_t sent = 0, held = 0;
	uint32_t priorities = 0;

	for (uint32_t i = 0; i < scenario->flow_count; i++) {
		const struct scenario_flow *flow = &scenario->flows[i];
		uint64_t end_ps = flow->stops && flow->stop_ps < scenario->duration_ps
					  ? flow->stop_ps
					  : scenario->duration_ps;
		uint64_t time_ps = end_ps > flow->start_ps ? end_ps - flow->start_ps : 0;
		/* As many as fit in its time, but no more than it has. */
		uint64_t bits = (uint64_t)((unsigned __int128)time_ps * flow->rate_bps / PS_PER_S);
		uint64_t packets = bits / 8 / (flow->payload_bytes + FRAME_BYTES_MIN / 2) + 2;

		if (flow->bytes != 0 && flow_packets(flow->bytes, flow->payload_bytes) < packets)
			packets = flow_packets(flow->bytes, flow->payload_bytes);
		sent += flow->collective == 0 ? packets : 0;
		priorities |= 1u << flow->priority;
	}
	for (uint32_t i = 0; i < scenario->collective_count; i++)
		sent += collective_packets(scenario, &scenario->collectives[i]);
	/* Each may be acknowledged, and sent again while the one before is under way. */
	if (scenario->hosts.transport.ack_every != 0) {
		sent *= 4;
		if (scenario->hosts.transport.ack_dscp_given)
			priorities |= 1u << scenario->hosts.transport.ack_priority;
	}
	/* Each may be answered by a CNP. */
	if (scenario->hosts.cc.kind != CC_NONE) {
		sent *= 2;
		priorities |= 1u << scenario->hosts.cnp_priority;
	}
	held = (uint64_t)fabric_switch_packets(scenario) * topology->switch_count *
	       bits_set(priorities);
	for (uint32_t i = 0; i < topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i];
		uint64_t bits =
			(uint64_t)((unsigned __int128)link->delay_ps * link->rate_bps / PS_PER_S);

		held += 2 * (bits / 8 / FRAME_BYTES_MIN + 4);
	}
	return (sent < held ? sent : held) + POOL_CACHE + TRAFFIC_SPARES + POOL_SPARE;
}

uint64_t fabric_table_bytes(const struct scenario *scenario)
{
	const struct topology *topology = scenario->topology;
	uint64_t routes = (uint64_t)topology->switch_count * 1000;

	for (uint32_t i = 0; i < topology->switch_count; i++)
		routes += topology->nodes[topology->switches[i]].link_count * UINT64_C(2);
	/* Two tries of small nodes per switch, each in a mempool. */
	return routes * 2 * 200 + (uint64_t)topology->switch_count * (1 << 19);
}

struct rte_mempool *fabric_pool_create(uint32_t packets)
{
	return rte_pktmbuf_pool_create("lab", packets, POOL_CACHE, 0, FABRIC_BUFFER_BYTES,
				       SOCKET_ID_ANY);
}

/* --- building --- */

static int create_switch(struct fabric *fabric, uint32_t index,
			 const struct fabric_options *options)
{
	const struct scenario *scenario = fabric->scenario;
	const struct topology *topology = scenario->topology;
	uint32_t node = topology->switches[index];
	struct random random = random_of(scenario->seed, RANDOM_SWITCH, index);
	uint8_t mac[6];
	struct switch_params params = {
		.name = topology->nodes[node].name,
		.port_count = (uint16_t)topology->nodes[node].link_count,
		.worker_count = scenario->leaf.config.leaf.workers,
		.poll_ps = scenario->leaf.poll_ps,
		.rx_ring_frames = scenario->leaf.rx_ring_frames,
		.pool = fabric->pool,
		.queue_pool = fabric->queue_pool,
		.packets_max = fabric_switch_packets(scenario),
		.fdb_entries = 4 * topology->nodes[node].link_count,
		.seed = random_next(&random),
		.mac = mac,
		.check = options->check,
	};

	topology_mac(topology, node, mac);
	fabric->switches[index] = switch_create(fabric->engine, &params);
	return fabric->switches[index] == NULL ? -rte_errno : 0;
}

static void create_host(struct fabric *fabric, uint32_t index)
{
	const struct topology *topology = fabric->scenario->topology;
	uint32_t node = topology->hosts[index];
	struct host_params params = {
		.name = topology->nodes[node].name,
		.pool = fabric->pool,
		.prefix_length = TOPOLOGY_PREFIX_LENGTH,
		.cnp_interval_ps = fabric->scenario->hosts.cc.dcqcn.cnp_interval_ps,
		.cnp_tos = (uint8_t)(fabric->scenario->hosts.cnp_dscp << 2),
		.cnp_priority = fabric->scenario->hosts.cnp_priority,
	};
	struct config_ip ip = topology_ip(topology, node);

	scenario_receive_buffer(fabric->scenario, index, &params.receive_buffer);
	topology_mac(topology, node, params.mac);
	topology_mac(topology, topology_gateway(topology, node), params.gateway_mac);
	memcpy(params.ip, ip.bytes, sizeof(params.ip));
	host_init(&fabric->hosts[index], fabric->engine, &params, &fabric->traffic);
}

static struct node *engine_node(struct fabric *fabric, uint32_t node)
{
	const struct topology_node *this = &fabric->scenario->topology->nodes[node];

	return this->host ? &fabric->hosts[this->index].node : &fabric->switches[this->index]->node;
}

static int attach(struct fabric *fabric, uint32_t node, uint32_t port, struct wire *tx,
		  struct wire *rx)
{
	const struct topology_node *this = &fabric->scenario->topology->nodes[node];

	if (!this->host)
		return switch_attach(fabric->switches[this->index], (uint16_t)port, tx, rx);
	host_attach(&fabric->hosts[this->index], tx, rx);
	return 0;
}

static int create_link(struct fabric *fabric, uint32_t index)
{
	const struct topology *topology = fabric->scenario->topology;
	const struct topology_link *link = &topology->links[index];
	struct wire *wire = &fabric->wires[(size_t)2 * index];
	struct link_params params = {
		.rate_bps = link->rate_bps,
		.delay_ps = link->delay_ps,
		.overhead_bytes = topology->overhead_bytes,
	};
	int result = 0;

	for (uint32_t end = 0; end < 2; end++) {
		wire_init(&wire[end], fabric->engine, &params,
			  engine_node(fabric, link->node[1 - end]), (uint16_t)link->port[1 - end]);
		snprintf(wire[end].name, sizeof(wire[end].name), "%s->%s",
			 topology->nodes[link->node[end]].name,
			 topology->nodes[link->node[1 - end]].name);
	}
	for (uint32_t end = 0; end < 2 && result == 0; end++)
		result = attach(fabric, link->node[end], link->port[end], &wire[end],
				&wire[1 - end]);
	return result;
}

/* Nothing is flooded at the start: a rack's bridge knows its hosts. */
static void teach(struct fabric *fabric, uint32_t index)
{
	const struct topology *topology = fabric->scenario->topology;
	uint32_t node = topology->switches[index];
	const struct topology_node *this = &topology->nodes[node];
	struct fdb *fdb = leaf_fdb(fabric->switches[index]->leaf);

	for (uint32_t port = 0; port < this->link_count; port++) {
		uint32_t other = topology_other(&topology->links[this->links[port]], node);
		uint8_t mac[6];

		if (!topology->nodes[other].host)
			continue;
		topology_mac(topology, other, mac);
		fdb_learn(fdb, fdb_key(mac, FABRIC_VLAN), (uint16_t)port, fabric->engine->now_ps);
	}
}

/* A link may run slower than planned. */
static void publish_rates(const struct fabric *fabric, uint32_t index, struct snapshot *snapshot)
{
	const struct topology *topology = fabric->scenario->topology;
	const struct topology_node *node = &topology->nodes[topology->switches[index]];

	for (uint32_t port = 0; port < node->link_count; port++)
		snapshot->port[port].rate_bps =
			fabric->wires[(size_t)2 * node->links[port]].rate.rate_bps;
}

static int publish(struct fabric *fabric, uint32_t index, const struct config *classes)
{
	const struct scenario *scenario = fabric->scenario;
	struct switch_node *switch_node = fabric->switches[index];
	struct config *config = fabric_config_create(scenario, index, classes);
	bool filled = switch_node->fib != NULL;
	struct snapshot *snapshot = NULL;
	int result;

	if (!filled)
		switch_node->fib = fib_create(FIB_COMPACT, apply_routes_max(config));
	if (switch_node->fib != NULL)
		snapshot = fabric_config_apply(scenario, index, config, fabric->link_down,
					       switch_node->fib, filled);
	fabric_config_free(config);
	if (snapshot == NULL)
		return rte_errno != 0 ? -rte_errno : -ENOMEM;
	publish_rates(fabric, index, snapshot);
	result = switch_publish(switch_node, snapshot, snapshot_free);
	if (result != 0)
		snapshot_free(snapshot);
	return result;
}

static int build(struct fabric *fabric, const struct fabric_options *options)
{
	const struct topology *topology = fabric->scenario->topology;
	uint32_t queues = 0;
	int result = 0;

	for (uint32_t i = 0; i < topology->switch_count; i++)
		queues += (topology->nodes[topology->switches[i]].link_count + 1) * PRIORITY_COUNT;
	fabric->queue_pool = queue_pool_create(fabric->pool->size, queues);
	if (fabric->queue_pool == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < topology->host_count; i++)
		create_host(fabric, i);
	for (uint32_t i = 0; i < topology->switch_count && result == 0; i++)
		result = create_switch(fabric, i, options);
	for (uint32_t i = 0; i < topology->link_count && result == 0; i++)
		result = create_link(fabric, i);
	for (uint32_t i = 0; i < topology->switch_count && result == 0; i++) {
		teach(fabric, i);
		result = publish(fabric, i, &fabric->classes);
	}
	return result;
}

/* A collective releases what its flows may send. */
static uint64_t released_bytes(const struct scenario_flow *flow)
{
	if (flow->collective != 0)
		return 0;
	return flow->bytes != 0 ? flow->bytes : UINT64_MAX;
}

static void create_flows(struct fabric *fabric)
{
	const struct scenario *scenario = fabric->scenario;
	uint64_t start_ps = fabric->engine->start_ps;

	fabric->traffic.transport = scenario->hosts.transport;
	fabric->traffic.flow_count = scenario->flow_count;
	fabric->traffic.flows = allocate(scenario->flow_count * sizeof(struct flow));
	for (uint32_t i = 0; i < scenario->flow_count; i++) {
		const struct scenario_flow *from = &scenario->flows[i];
		struct flow_params params = {
			.name = from->name,
			.source = &fabric->hosts[from->source],
			.destination = &fabric->hosts[from->destination],
			.bytes = from->bytes,
			.released_bytes = released_bytes(from),
			.rate_bps = from->rate_bps,
			.start_ps = start_ps + from->start_ps,
			.stop_ps = start_ps + from->stop_ps,
			.stops = from->stops,
			.payload_bytes = from->payload_bytes,
			.overhead_bytes = scenario->topology->overhead_bytes,
			.tos = (uint8_t)(from->dscp << 2 | TOS_ECT0),
			.priority = from->priority,
			.source_port = from->source_port,
			.psn = from->psn,
			.transport = &fabric->traffic.transport,
		};

		flow_init(&fabric->traffic.flows[i], i, &params);
		flow_control(&fabric->traffic.flows[i], &scenario->hosts.cc);
		host_start(params.source, &fabric->traffic.flows[i]);
	}
}

struct fabric *fabric_create(const struct scenario *scenario, struct rte_mempool *pool,
			     const struct fabric_options *options)
{
	const struct topology *topology = scenario->topology;
	struct fabric *fabric = allocate(sizeof(*fabric));
	int result;

	fabric->scenario = scenario;
	fabric->pool = pool;
	fabric->engine = engine_create(options->start_ps);
	fabric->switches = allocate(topology->switch_count * sizeof(struct switch_node *));
	fabric->hosts = allocate(topology->host_count * sizeof(*fabric->hosts));
	fabric->wires = allocate(2 * (size_t)topology->link_count * sizeof(*fabric->wires));
	fabric->link_down = allocate(topology->link_count * sizeof(*fabric->link_down));
	fabric->stale = allocate(topology->switch_count * sizeof(*fabric->stale));
	fabric->classes = scenario->leaf.config;
	result = build(fabric, options);
	if (result != 0) {
		fabric_free(fabric);
		rte_errno = -result;
		return NULL;
	}
	create_flows(fabric);
	collectives_init(&fabric->collectives, fabric);
	return fabric;
}

void fabric_free(struct fabric *fabric)
{
	const struct topology *topology;

	if (fabric == NULL)
		return;
	topology = fabric->scenario->topology;
	collectives_fini(&fabric->collectives);
	for (uint32_t i = 0; i < topology->switch_count; i++)
		switch_free(fabric->switches[i]);
	for (uint32_t i = 0; i < 2 * topology->link_count; i++)
		if (fabric->wires[i].engine != NULL)
			wire_fini(&fabric->wires[i]);
	for (uint32_t i = 0; i < topology->host_count; i++)
		if (fabric->hosts[i].node.engine != NULL)
			host_fini(&fabric->hosts[i]);
	queue_pool_free(fabric->queue_pool);
	engine_free(fabric->engine);
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++)
		flow_fini(&fabric->traffic.flows[i]);
	traffic_fini(&fabric->traffic);
	free(fabric->traffic.flows);
	free(fabric->link_down);
	free(fabric->stale);
	free(fabric->wires);
	free(fabric->hosts);
	free(fabric->switches);
	free(fabric);
}

int fabric_reload(struct fabric *fabric, const struct config *classes)
{
	int result = 0;

	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count && result == 0; i++)
		result = publish(fabric, i, classes);
	if (result == 0)
		fabric->classes = *classes;
	return result;
}

static void link_stale(struct fabric *fabric, uint32_t link)
{
	const struct topology *topology = fabric->scenario->topology;

	for (uint32_t end = 0; end < 2; end++) {
		const struct topology_node *node =
			&topology->nodes[topology->links[link].node[end]];

		if (!node->host)
			fabric->stale[node->index] = true;
	}
}

void fabric_link_set(struct fabric *fabric, uint32_t link, bool up)
{
	const struct topology *topology = fabric->scenario->topology;

	fabric->link_down[link] = !up;
	for (uint32_t end = 0; end < 2; end++) {
		const struct topology_node *node =
			&topology->nodes[topology->links[link].node[end]];

		if (node->host)
			host_link(&fabric->hosts[node->index], up);
	}
	link_stale(fabric, link);
}

void fabric_link_speed(struct fabric *fabric, uint32_t link, uint64_t rate_bps)
{
	wire_set_rate(&fabric->wires[(size_t)2 * link], rate_bps);
	wire_set_rate(&fabric->wires[(size_t)2 * link + 1], rate_bps);
	link_stale(fabric, link);
}

int fabric_refresh(struct fabric *fabric)
{
	int result = 0;

	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++) {
		int refused = fabric->stale[i] ? publish(fabric, i, &fabric->classes) : 0;

		if (refused == 0)
			fabric->stale[i] = false;
		else if (result == 0 || result == -EAGAIN)
			result = refused;
	}
	return result;
}

int fabric_link(struct fabric *fabric, uint32_t link, bool up)
{
	fabric_link_set(fabric, link, up);
	return fabric_refresh(fabric);
}

/* --- what became of it --- */

void fabric_ring_lost(const struct fabric *fabric, struct fabric_ring_lost *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint32_t i = 0; i < fabric->scenario->topology->switch_count; i++) {
		uint8_t lossless = fabric->switches[i]->snapshot->lossless_mask;
		struct switch_lost lost;

		switch_lost(fabric->switches[i], &lost);
		sum->frames += lost.control;
		for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
			sum->frames += lost.packets[p];
			if ((lossless >> p & 1) != 0)
				sum->lossless_packets += lost.packets[p];
		}
	}
}

void fabric_conservation(const struct fabric *fabric, struct fabric_conservation *sum)
{
	const struct topology *topology = fabric->scenario->topology;
	struct fabric_ring_lost lost;

	memset(sum, 0, sizeof(*sum));
	/* First: what is lost is no longer on its wire. */
	fabric_ring_lost(fabric, &lost);
	sum->dropped += lost.frames;
	for (uint32_t i = 0; i < topology->host_count; i++) {
		sum->injected += fabric->hosts[i].sent_packets;
		sum->delivered += fabric->hosts[i].received_packets;
	}
	for (uint32_t i = 0; i < topology->switch_count; i++) {
		struct leaf_conservation leaf;

		leaf_conservation(fabric->switches[i]->leaf, &leaf);
		sum->injected += leaf.generated;
		sum->copied += leaf.copied;
		sum->dropped += leaf.dropped;
		sum->consumed += leaf.consumed;
		sum->in_flight += leaf.queued;
		sum->violations += fabric->switches[i]->violations;
	}
	for (uint32_t i = 0; i < 2 * topology->link_count; i++)
		sum->in_flight += wire_frame_count(&fabric->wires[i]);
	sum->dropped += faults_corrupted(fabric);
}

bool fabric_conserved(const struct fabric_conservation *sum)
{
	return sum->violations == 0 &&
	       sum->injected + sum->copied ==
		       sum->delivered + sum->dropped + sum->consumed + sum->in_flight;
}

uint64_t fabric_paused_ps(const struct fabric *fabric, uint32_t wire)
{
	const struct topology *topology = fabric->scenario->topology;
	const struct topology_link *link = &topology->links[wire / 2];
	const struct topology_node *from = &topology->nodes[link->node[wire % 2]];
	uint64_t most_ps = 0;

	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		uint64_t paused_ps;

		if (from->host) {
			paused_ps = host_paused_ps(&fabric->hosts[from->index], p);
		} else {
			struct pfc_totals pfc;

			leaf_pfc_totals(fabric->switches[from->index]->leaf,
					(uint16_t)link->port[wire % 2], p, fabric->engine->now_ps,
					&pfc);
			paused_ps = pfc.rx_paused_ps;
		}
		most_ps = paused_ps > most_ps ? paused_ps : most_ps;
	}
	return most_ps;
}

uint64_t fabric_packet_hops(const struct fabric *fabric)
{
	uint64_t hops = 0;

	for (uint32_t i = 0; i < 2 * fabric->scenario->topology->link_count; i++)
		hops += fabric->wires[i].sent_frames;
	return hops;
}

static uint64_t digest_switch(uint64_t digest, const struct leaf *leaf)
{
	for (uint16_t port = 0; port <= leaf_port_count(leaf); port++) {
		struct port_totals totals;

		leaf_port_totals(leaf, port, &totals);
#define DIGEST_(field, unit, help) digest = digest_add(digest, totals.field);
		PORT_COUNTERS(DIGEST_)
		for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
			if (totals.drop[reason] != 0)
				digest =
					digest_add(digest_add(digest, reason), totals.drop[reason]);
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct queue_totals queue;

			leaf_queue_totals(leaf, port, p, &queue);
			digest = digest_add(digest, queue.tx_bytes);
			digest = digest_add(digest, queue.drop_packets);
			digest = digest_add(digest, queue.depth_bytes_max);
		}
#undef DIGEST_
	}
	return digest;
}

uint64_t fabric_digest(const struct fabric *fabric)
{
	const struct topology *topology = fabric->scenario->topology;
	uint64_t digest = DIGEST_START;
	struct fabric_ring_lost lost;

	/* What is lost counts, seen or not. */
	fabric_ring_lost(fabric, &lost);
	for (uint32_t i = 0; i < 2 * topology->link_count; i++) {
		digest = digest_add(digest, fabric->wires[i].digest);
		digest = digest_add(digest, fabric->wires[i].sent_bytes);
	}
	for (uint32_t i = 0; i < topology->switch_count; i++)
		digest = digest_switch(digest, fabric->switches[i]->leaf);
	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++) {
		const struct flow *flow = &fabric->traffic.flows[i];

		digest = digest_add(digest, flow->received_bytes);
		digest = digest_add(digest, flow->out_of_order);
		digest = digest_add(digest, flow->latency_max_ps);
	}
	return digest_add(digest, fabric->traffic.latency.max);
}
