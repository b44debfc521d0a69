/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/drop.h"
#include "tools/lab/allocate.h"
#include "tools/lab/faults.h"
#include "tools/lab/ratio.h"
#include "tools/lab/simulation.h"
#include "tools/lab/waiting.h"

/* The four figures of a distribution, in order of the contract. */
static const struct {
	const char *key;
	uint32_t ppm;
} percentiles[] = {{"p50", 500000}, {"p99", 990000}, {"p999", 999000}, {"max", RATIO_PPM}};

#define PERCENTILES (sizeof(percentiles) / sizeof(percentiles[0]))

static void set_integer(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* --- flows --- */

struct flow_figures {
	uint64_t fct_ps, ideal_ps;
};

static void flow_figures(const struct simulation *simulation, const struct flow *flow,
			 struct flow_figures *figures)
{
	const struct scenario *scenario = simulation->scenario;
	const struct topology *topology = scenario->topology;
	const struct scenario_flow *from = &scenario->flows[flow->id];
	struct topology_train train;

	memset(figures, 0, sizeof(*figures));
	if (flow->params.bytes == 0)
		return;
	flow_train(flow, &train);
	figures->ideal_ps = topology_ideal_ps(topology, topology->hosts[from->source],
					      topology->hosts[from->destination], &train);
	if (flow->finished)
		figures->fct_ps = flow->finished_ps - flow->params.start_ps;
}

static const char *class_name(const struct scenario *scenario, uint8_t priority)
{
	for (uint32_t i = 0; i < scenario->leaf.config.class_count; i++)
		if (scenario->leaf.config.classes[i].priority == priority)
			return scenario->leaf.config.classes[i].name;
	return "";
}

static json_t *flow_result(const struct simulation *simulation, const struct flow *flow,
			   const struct flow_figures *figures)
{
	const struct scenario *scenario = simulation->scenario;
	const struct scenario_flow *from = &scenario->flows[flow->id];
	json_t *object = json_object();

	set_integer(object, "id", flow->id);
	json_object_set_new(object, "name", json_string(flow->params.name));
	json_object_set_new(object, "src", json_string(flow->params.source->params.name));
	json_object_set_new(object, "dst", json_string(flow->params.destination->params.name));
	json_object_set_new(object, "class", json_string(class_name(scenario, from->priority)));
	set_integer(object, "bytes", flow->params.bytes);
	set_integer(object, "sent_bytes", flow->sent_bytes);
	set_integer(object, "received_bytes", flow->received_bytes);
	set_integer(object, "retransmitted_bytes", flow->retransmitted_bytes);
	set_integer(object, "out_of_order", flow->out_of_order);
	set_integer(object, "marked", flow->marked_packets);
	set_integer(object, "cnps", flow->cnps);
	set_integer(object, "latency_max_ns", flow->latency_max_ps / PS_PER_NS);
	set_integer(object, "start_ns", from->start_ps / PS_PER_NS);
	if (flow->params.bytes == 0)
		return object;
	set_integer(object, "ideal_ns", figures->ideal_ps / PS_PER_NS);
	if (!flow->finished)
		return object;
	set_integer(object, "fct_ns", figures->fct_ps / PS_PER_NS);
	ratio_set(object, "slowdown", figures->fct_ps, figures->ideal_ps);
	return object;
}

static int compare(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return left < right ? -1 : left > right;
}

/* Nearest rank: the smallest value that at least this share is not above. */
static uint64_t percentile(const uint64_t *sorted, uint64_t count, uint32_t ppm)
{
	uint64_t rank = (uint64_t)(((unsigned __int128)count * ppm + RATIO_PPM - 1) / RATIO_PPM);

	return count == 0 ? 0 : sorted[rank == 0 ? 0 : rank - 1];
}

static void flows_result(const struct simulation *simulation, json_t *result)
{
	const struct traffic *traffic = &simulation->fabric->traffic;
	json_t *flows = json_array(), *slowdowns = json_object(), *times = json_object();
	uint64_t *slowdown = allocate(traffic->flow_count * sizeof(*slowdown));
	uint64_t *time_ns = allocate(traffic->flow_count * sizeof(*time_ns));
	uint64_t finished = 0;

	for (uint32_t i = 0; i < traffic->flow_count; i++) {
		const struct flow *flow = &traffic->flows[i];
		struct flow_figures figures;

		/* What a collective's flows were worth stands with the collective. */
		if (simulation->scenario->flows[i].collective != 0)
			continue;
		flow_figures(simulation, flow, &figures);
		json_array_append_new(flows, flow_result(simulation, flow, &figures));
		if (!flow->finished || figures.ideal_ps == 0)
			continue;
		slowdown[finished] = (uint64_t)((unsigned __int128)figures.fct_ps * RATIO_PPM /
						figures.ideal_ps);
		time_ns[finished++] = figures.fct_ps / PS_PER_NS;
	}
	qsort(slowdown, finished, sizeof(*slowdown), compare);
	qsort(time_ns, finished, sizeof(*time_ns), compare);
	for (size_t i = 0; i < PERCENTILES; i++) {
		ratio_set(slowdowns, percentiles[i].key,
			  percentile(slowdown, finished, percentiles[i].ppm), RATIO_PPM);
		set_integer(times, percentiles[i].key,
			    percentile(time_ns, finished, percentiles[i].ppm));
	}
	set_integer(result, "flows_finished", finished);
	set_integer(result, "flows_unfinished", traffic->flows_open);
	json_object_set_new(result, "fct", slowdowns);
	json_object_set_new(result, "fct_ns", times);
	free(slowdown);
	free(time_ns);
	json_object_set_new(result, "flows", flows);
}

/* What it took to bring everything in order. */
static void transport_result(const struct simulation *simulation, json_t *result)
{
	const struct fabric *fabric = simulation->fabric;
	uint64_t repeated_bytes = 0, acks = 0, naks = 0, timeouts = 0, duplicates = 0;
	json_t *transport = json_object();

	for (uint32_t i = 0; i < fabric->traffic.flow_count; i++) {
		const struct flow *flow = &fabric->traffic.flows[i];

		repeated_bytes += flow->retransmitted_bytes;
		timeouts += flow->timeouts;
		duplicates += flow->duplicates;
	}
	for (uint32_t i = 0; i < simulation->scenario->topology->host_count; i++) {
		acks += fabric->hosts[i].acks_sent;
		naks += fabric->hosts[i].naks_sent;
	}
	set_integer(result, "retransmitted_bytes", repeated_bytes);
	set_integer(transport, "acks", acks);
	set_integer(transport, "naks", naks);
	set_integer(transport, "timeouts", timeouts);
	set_integer(transport, "duplicates", duplicates);
	json_object_set_new(result, "transport", transport);
}

/* --- switches --- */

static void drops_result(const struct simulation *simulation, json_t *result)
{
	const struct fabric *fabric = simulation->fabric;
	uint64_t reasons[DROP_COUNT] = {0}, lossless = 0, host_drops = 0;
	struct fabric_ring_lost lost;
	json_t *drops = json_object();

	for (uint32_t i = 0; i < simulation->scenario->topology->switch_count; i++) {
		const struct switch_node *switch_node = fabric->switches[i];

		for (uint16_t port = 0; port <= switch_node->port_count; port++) {
			struct port_totals totals;

			leaf_port_totals(switch_node->leaf, port, &totals);
			for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
				reasons[reason] += totals.drop[reason];
		}
	}
	for (uint32_t i = 0; i < simulation->scenario->topology->host_count; i++) {
		const struct receive_buffer *buffer = fabric->hosts[i].buffer;

		host_drops += buffer == NULL ? 0 : buffer->dropped_packets;
		lossless += buffer == NULL ? 0 : buffer->lossless_dropped_packets;
	}
	fabric_ring_lost(fabric, &lost);
	/* What dead links, routes and watchdogs cost is no fault of the buffer. */
	lossless += lost.lossless_packets + reasons[DROP_HEADROOM];
	set_integer(drops, "host_buffer", host_drops);
	set_integer(drops, "rx_ring", lost.frames);
	for (uint32_t reason = 0; reason < DROP_COUNT; reason++)
		set_integer(drops, drop_name((enum drop_reason)reason), reasons[reason]);
	set_integer(drops, "fcs", faults_corrupted(fabric));
	set_integer(result, "lossless_drops", lossless);
	json_object_set_new(result, "drops", drops);
}

/* What the sampler has seen of a wire's queues. */
static void depth_result(const struct sampler *sampler, uint32_t wire, json_t *object)
{
	const uint32_t *depth_bytes = &sampler->depth_bytes[wire * sampler->samples];
	uint64_t *sorted = allocate(sampler->taken * sizeof(*sorted));
	uint64_t sum = 0;

	for (uint64_t i = 0; i < sampler->taken; i++) {
		sorted[i] = depth_bytes[i];
		sum += depth_bytes[i];
	}
	qsort(sorted, sampler->taken, sizeof(*sorted), compare);
	set_integer(object, "queue_mean_bytes", sampler->taken == 0 ? 0 : sum / sampler->taken);
	set_integer(object, "queue_p99_bytes", percentile(sorted, sampler->taken, 990000));
	free(sorted);
}

/* Marks, pauses and storms, over all switches. */
struct congestion {
	uint64_t marked, unmarked;
	uint64_t xoff_frames, pauses, paused_ps, storms;
};

static void add_port(struct congestion *congestion, const struct leaf *leaf, uint16_t port,
		     uint64_t now_ps)
{
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		struct queue_totals queue;
		struct pfc_totals pfc;

		leaf_queue_totals(leaf, port, p, &queue);
		leaf_pfc_totals(leaf, port, p, now_ps, &pfc);
		congestion->marked += queue.ecn_marked;
		congestion->unmarked += queue.ecn_unmarked;
		congestion->xoff_frames += pfc.tx_xoff;
		congestion->pauses += pfc.tx_pauses;
		congestion->paused_ps += pfc.tx_paused_ps;
		congestion->storms += pfc.storms;
	}
}

static uint64_t elapsed_ps(const struct simulation *simulation)
{
	const struct engine *engine = simulation->fabric->engine;

	return engine->now_ps - engine->start_ps;
}

static bool sent_data(const struct host *host)
{
	return host->sent_packets != host->cnps_sent;
}

/* Shares of the time that links were paused: those that hosts send on, and those between switches. */
static void pause_shares(const struct simulation *simulation, json_t *pfc)
{
	const struct topology *topology = simulation->scenario->topology;
	uint64_t host_ps = 0, hosts = 0, fabric_ps = 0, fabric = 0;

	for (uint32_t i = 0; i < 2 * topology->link_count; i++) {
		const struct topology_link *link = &topology->links[i / 2];
		const struct topology_node *from = &topology->nodes[link->node[i % 2]];

		if (from->host && sent_data(&simulation->fabric->hosts[from->index])) {
			host_ps += fabric_paused_ps(simulation->fabric, i);
			hosts++;
		} else if (link->transit != TOPOLOGY_NONE) {
			fabric_ps += fabric_paused_ps(simulation->fabric, i);
			fabric++;
		}
	}
	ratio_set(pfc, "pause_share", host_ps, hosts * elapsed_ps(simulation));
	ratio_set(pfc, "fabric_pause_share", fabric_ps, fabric * elapsed_ps(simulation));
}

static void congestion_result(const struct simulation *simulation, json_t *result)
{
	const struct fabric *fabric = simulation->fabric;
	const struct topology *topology = simulation->scenario->topology;
	json_t *ecn = json_object(), *pfc = json_object(), *watchdog = json_object();
	struct congestion congestion = {0};
	uint64_t cnps = 0, host_xoffs = 0;

	for (uint32_t i = 0; i < topology->switch_count; i++)
		for (uint16_t port = 0; port < fabric->switches[i]->port_count; port++)
			add_port(&congestion, fabric->switches[i]->leaf, port,
				 fabric->engine->now_ps);
	for (uint32_t i = 0; i < topology->host_count; i++) {
		const struct host *host = &fabric->hosts[i];

		cnps += host->cnps_sent;
		host_xoffs += host->buffer == NULL ? 0 : host->buffer->xoff_frames;
	}
	set_integer(ecn, "marked", congestion.marked);
	set_integer(ecn, "not_capable", congestion.unmarked);
	set_integer(ecn, "cnps", cnps);
	json_object_set_new(result, "ecn", ecn);
	set_integer(pfc, "xoff_sent", congestion.xoff_frames);
	set_integer(pfc, "host_xoff_sent", host_xoffs);
	set_integer(pfc, "pauses", congestion.pauses);
	set_integer(pfc, "pause_ns", congestion.paused_ps / PS_PER_NS);
	pause_shares(simulation, pfc);
	json_object_set_new(result, "pfc", pfc);
	set_integer(watchdog, "detected", congestion.storms);
	json_object_set_new(result, "watchdog", watchdog);
}

/* What went over a wire by class, as its switch counts it; classes without a packet are left out. */
static json_t *classes_result(const struct simulation *simulation, const struct leaf *leaf,
			      uint16_t port, bool sent)
{
	const struct scenario *scenario = simulation->scenario;
	json_t *classes = json_object();

	for (uint32_t i = 0; i < scenario->leaf.config.class_count; i++) {
		const struct config_class *class = &scenario->leaf.config.classes[i];
		struct queue_totals queue;
		json_t *object;

		leaf_queue_totals(leaf, port, class->priority, &queue);
		if ((sent ? queue.tx_packets + queue.drop_packets : queue.rx_packets) == 0)
			continue;
		object = json_object();
		json_object_set_new(object, "lossless", json_boolean(class->lossless));
		set_integer(object, "packets", sent ? queue.tx_packets : queue.rx_packets);
		set_integer(object, "bytes", sent ? queue.tx_bytes : queue.rx_bytes);
		if (sent) {
			set_integer(object, "dropped", queue.drop_packets);
			set_integer(object, "marked", queue.ecn_marked);
			set_integer(object, "queue_max_bytes", queue.depth_bytes_max);
		}
		json_object_set_new(classes, class->name, object);
	}
	return classes;
}

static json_t *link_result(const struct simulation *simulation, uint32_t wire)
{
	const struct fabric *fabric = simulation->fabric;
	const struct topology *topology = simulation->scenario->topology;
	const struct topology_link *link = &topology->links[wire / 2];
	const struct topology_node *from = &topology->nodes[link->node[wire % 2]];
	/* The end of it that is a switch: the one that sends, if it is. */
	uint32_t end = from->host ? 1 - wire % 2 : wire % 2;
	const struct topology_node *counts = &topology->nodes[link->node[end]];
	uint64_t max_bytes = 0, marked = 0;
	json_t *object = json_object();

	for (uint8_t p = 0; p < PRIORITY_COUNT && !from->host; p++) {
		struct queue_totals queue;

		leaf_queue_totals(fabric->switches[from->index]->leaf,
				  (uint16_t)link->port[wire % 2], p, &queue);
		if (queue.depth_bytes_max > max_bytes)
			max_bytes = queue.depth_bytes_max;
		marked += queue.ecn_marked;
	}
	json_object_set_new(object, "name", json_string(link->name));
	json_object_set_new(object, "direction", json_string(fabric->wires[wire].name));
	json_object_set_new(object, "from", json_string(from->name));
	json_object_set_new(object, "to",
			    json_string(topology->nodes[link->node[1 - wire % 2]].name));
	set_integer(object, "speed_bps", link->rate_bps);
	set_integer(object, "packets", fabric->wires[wire].sent_frames);
	set_integer(object, "bytes", fabric->wires[wire].sent_bytes);
	ratio_set(object, "utilisation", wire_busy_ps(&fabric->wires[wire]),
		  elapsed_ps(simulation));
	ratio_set(object, "paused_share", fabric_paused_ps(fabric, wire), elapsed_ps(simulation));
	set_integer(object, "marked", marked);
	set_integer(object, "queue_max_bytes", max_bytes);
	depth_result(&simulation->sampler, wire, object);
	json_object_set_new(object, "classes",
			    classes_result(simulation, fabric->switches[counts->index]->leaf,
					   (uint16_t)link->port[end], !from->host));
	return object;
}

static json_t *nodes_result(const struct topology *topology)
{
	json_t *nodes = json_array();

	for (uint32_t i = 0; i < topology->node_count; i++) {
		json_t *object = json_object();

		json_object_set_new(object, "name", json_string(topology->nodes[i].name));
		json_object_set_new(object, "kind",
				    json_string(topology->nodes[i].host ? "host" : "switch"));
		json_array_append_new(nodes, object);
	}
	return nodes;
}

/* Shares of the time that workers were late: never an ideal one. */
static json_t *workers_result(const struct simulation *simulation)
{
	const struct fabric *fabric = simulation->fabric;
	json_t *workers = json_array();

	for (uint32_t i = 0; i < simulation->scenario->topology->switch_count; i++) {
		const struct switch_node *switch_node = fabric->switches[i];

		for (uint16_t w = 0; w < switch_node->worker_count; w++) {
			json_t *object = json_object();

			json_object_set_new(object, "switch", json_string(switch_node->name));
			set_integer(object, "worker", w);
			ratio_set(object, "late_share", switch_node->worker[w].late_ps,
				  elapsed_ps(simulation));
			set_integer(object, "late_max_ns",
				    switch_node->worker[w].late_max_ps / PS_PER_NS);
			json_array_append_new(workers, object);
		}
	}
	return workers;
}

/* What went wrong, as planned: for pictures and for those who read a result without its scenario. */
static json_t *faults_result(const struct scenario *scenario)
{
	json_t *faults = json_array();

	for (uint32_t i = 0; i < scenario->fault_count; i++) {
		const struct scenario_fault *fault = &scenario->faults[i];
		uint64_t end_ps = fault->end_ps < scenario->duration_ps ? fault->end_ps
									: scenario->duration_ps;
		json_t *object = json_object();

		json_object_set_new(object, "kind", json_string(scenario_fault_word(fault->kind)));
		json_object_set_new(object, "target", json_string(scenario_fault_target(fault)));
		set_integer(object, "at_ns", fault->at_ps / PS_PER_NS);
		set_integer(object, "end_ns", end_ps / PS_PER_NS);
		json_array_append_new(faults, object);
	}
	return faults;
}

json_t *simulation_result(const struct simulation *simulation)
{
	const struct fabric *fabric = simulation->fabric;
	const struct scenario *scenario = simulation->scenario;
	json_t *result = json_object(), *latency = json_object(), *links = json_array();
	json_t *conservation = json_object(), *waiting;
	struct fabric_conservation sum;
	char digest[24];

	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)fabric_digest(fabric));
	json_object_set_new(result, "digest", json_string(digest));
	json_object_set_new(result, "scenario", json_string(scenario->name));
	set_integer(result, "seed", scenario->seed);
	set_integer(result, "duration_ns",
		    (fabric->engine->now_ps - fabric->engine->start_ps) / PS_PER_NS);
	set_integer(result, "events", fabric->engine->events);
	set_integer(result, "packet_hops", fabric_packet_hops(fabric));
	json_object_set_new(result, "wall_seconds", json_real((double)simulation->wall_ns / 1e9));
	json_object_set_new(result, "cpu_seconds", json_real((double)simulation->cpu_ns / 1e9));
	drops_result(simulation, result);
	congestion_result(simulation, result);
	transport_result(simulation, result);
	for (size_t i = 0; i < PERCENTILES; i++)
		set_integer(latency, percentiles[i].key,
			    histogram_percentile(&fabric->traffic.latency, percentiles[i].ppm));
	json_object_set_new(result, "latency_ns", latency);
	flows_result(simulation, result);
	collectives_result(&fabric->collectives, result);
	for (uint32_t i = 0; i < 2 * scenario->topology->link_count; i++)
		json_array_append_new(links, link_result(simulation, i));
	json_object_set_new(result, "links", links);
	json_object_set_new(result, "nodes", nodes_result(scenario->topology));
	json_object_set_new(result, "workers", workers_result(simulation));
	second_half_result(&simulation->second_half, result);
	uplinks_result(&simulation->uplinks, result);
	json_object_set_new(result, "faults", faults_result(scenario));
	if (simulation->series != NULL)
		json_object_set_new(result, "series", series_result(simulation->series));
	waiting = waiting_result(fabric);
	set_integer(result, "pause_cycles", json_array_size(json_object_get(waiting, "cycles")));
	json_object_set_new(result, "waiting", waiting);
	fabric_conservation(fabric, &sum);
	set_integer(conservation, "injected", sum.injected);
	set_integer(conservation, "copied", sum.copied);
	set_integer(conservation, "delivered", sum.delivered);
	set_integer(conservation, "dropped", sum.dropped);
	set_integer(conservation, "consumed", sum.consumed);
	set_integer(conservation, "in_flight", sum.in_flight);
	json_object_set_new(result, "conservation", conservation);
	return result;
}
