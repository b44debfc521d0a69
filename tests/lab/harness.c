/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/lab/harness.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rte_errno.h>
#include <rte_mbuf.h>
#include <rte_mempool.h>

#include "control/apply.h"
#include "dataplane/packet.h"
#include "tools/lab/allocate.h"
#include "tools/lab/environment.h"
#include "tools/lab/frame.h"

#define METRE_PS (5 * PS_PER_NS)

static struct rte_mempool *pool;

void harness_start_packets(uint32_t packets)
{
	/* Tables of a few switches come on top. */
	cr_assert_eq(environment_start(environment_pool_bytes(packets) + (32u << 20)), 0);
	pool = fabric_pool_create(packets);
	cr_assert_not_null(pool, "%s", rte_strerror(rte_errno));
}

void harness_start(void)
{
	harness_start_packets(HARNESS_PACKETS);
}

struct rte_mempool *harness_pool(void)
{
	return pool;
}

uint64_t harness_number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

void harness_check_pool(void)
{
	cr_expect_eq(rte_mempool_in_use_count(pool), 0, "%u packets are missing",
		     rte_mempool_in_use_count(pool));
}

struct scenario *harness_scenario(const char *text)
{
	/* Most tests count the frames of what they send: without acknowledgements they know them all. */
	static const char *const silent[] = {"hosts.ack_every=0"};
	bool counted = strstr(text, "ack_every") == NULL;
	struct config_errors errors = {0};
	struct scenario_options options = {
		.assignments = silent,
		.assignment_count = counted ? 1 : 0,
	};
	struct scenario *scenario =
		scenario_load_string("test.yaml", text, strlen(text), &options, &errors);

	cr_assert_not_null(scenario, "%s", errors.error[0].text);
	return scenario;
}

struct simulation *harness_create(const char *text, uint64_t start_ps, bool check)
{
	struct scenario *scenario = harness_scenario(text);
	struct fabric_options options = {.start_ps = start_ps, .check = check};
	struct simulation *simulation;

	cr_assert_leq(fabric_packets(scenario), pool->size);
	simulation = simulation_create(scenario, pool, &options);
	cr_assert_not_null(simulation, "%s", rte_strerror(rte_errno));
	return simulation;
}

struct simulation *harness_simulate(const char *text, uint64_t start_ps, bool check)
{
	struct simulation *simulation = harness_create(text, start_ps, check);

	cr_assert_eq(simulation_run(simulation, NULL), 0);
	return simulation;
}

struct simulation *harness_begin(const char *text)
{
	return harness_create(text, UINT64_MAX - PS_PER_US, true);
}

void harness_run_to(struct simulation *simulation, uint64_t time_ps)
{
	struct engine *engine = simulation->fabric->engine;

	cr_assert_eq(engine_run(engine, engine->start_ps + time_ps), 0);
}

void harness_finish(struct simulation *simulation)
{
	struct scenario *scenario = (struct scenario *)(uintptr_t)simulation->scenario;

	simulation_free(simulation);
	scenario_free(scenario);
	harness_check_pool();
}

uint64_t harness_pauses(const struct simulation *simulation, uint32_t index, uint8_t priorities)
{
	const struct leaf *leaf = simulation->fabric->switches[index]->leaf;
	uint64_t sum = 0;

	for (uint16_t port = 0; port < leaf_port_count(leaf); port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct pfc_totals totals;

			leaf_pfc_totals(leaf, port, p, simulation->fabric->engine->now_ps, &totals);
			if ((priorities >> p & 1) != 0)
				sum += totals.tx_pauses;
		}
	}
	return sum;
}

uint64_t harness_drops(const struct simulation *simulation)
{
	struct fabric_conservation sum;

	fabric_conservation(simulation->fabric, &sum);
	return sum.dropped;
}

/* Nothing waits in a switch, nobody is paused by it. */
static void check_quiet_switch(const struct switch_node *node)
{
	struct buffer_pool_totals sum;

	leaf_buffer_pool_totals(node->leaf, node->snapshot, &sum);
	cr_expect_eq(sum.shared_used_bytes, 0);
	cr_expect_eq(sum.headroom_used_bytes, 0);
	cr_expect_eq(sum.lossy_used_bytes, 0);
	cr_expect_eq(sum.queued_packets, 0);
	for (uint16_t port = 0; port < node->port_count; port++) {
		for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
			struct buffer_totals totals;

			leaf_buffer_totals(node->leaf, node->snapshot, port, p, &totals);
			cr_expect_eq(totals.occupancy_bytes, 0, "%s port %u priority %u",
				     node->name, port, p);
			cr_expect_eq(totals.reasons, 0, "%s port %u priority %u", node->name, port,
				     p);
		}
	}
	cr_expect_eq(node->violations, 0, "%s: packets don't add up", node->name);
}

void harness_check_quiet(const struct simulation *simulation, bool all_received)
{
	struct fabric_conservation sum;

	for (uint32_t s = 0; s < simulation->scenario->topology->switch_count; s++)
		check_quiet_switch(simulation->fabric->switches[s]);
	fabric_conservation(simulation->fabric, &sum);
	cr_expect(fabric_conserved(&sum));
	for (uint32_t i = 0; i < simulation->fabric->traffic.flow_count; i++) {
		const struct flow *flow = &simulation->fabric->traffic.flows[i];

		cr_expect_eq(flow->out_of_order, 0, "flow %s", flow->params.name);
		if (all_received)
			cr_expect_eq(flow->received_packets, flow->sent_packets, "flow %s",
				     flow->params.name);
	}
}

struct flow *harness_flow(struct simulation *simulation, const char *name)
{
	struct traffic *traffic = &simulation->fabric->traffic;

	struct flow *found = NULL;

	for (uint32_t i = 0; i < traffic->flow_count; i++)
		if (strcmp(traffic->flows[i].params.name, name) == 0)
			found = &traffic->flows[i];
	cr_assert_not_null(found, "no flow %s", name);
	return found;
}

/* --- a rig --- */

static void tester_arrive(struct node *node, uint16_t port)
{
	struct tester *tester = (struct tester *)node;
	struct rte_mbuf *packet;

	(void)port;
	while (wire_receive(tester->rx, &packet, 1) == 1) {
		struct rig_frame *frame;

		tester->received = allocate_resize(tester->received,
						   (tester->received_count + 1) * sizeof(*frame));
		frame = &tester->received[tester->received_count++];
		memset(frame, 0, sizeof(*frame));
		frame->time_ps = node->engine->now_ps - node->engine->start_ps;
		frame->length = packet_length(packet);
		frame->real = packet->data_len;
		cr_assert_leq(frame->real, RIG_FRAME_BYTES);
		memcpy(frame->bytes, packet_data(packet), frame->real);
		rte_pktmbuf_free(packet);
	}
}

static void tester_send(struct tester *tester, const struct rig_frame *frame)
{
	struct rte_mbuf *packet = rte_pktmbuf_alloc(pool);

	cr_assert_not_null(packet);
	memcpy(rte_pktmbuf_append(packet, (uint16_t)frame->real), frame->bytes, frame->real);
	packet_virtual_bytes_set(packet, (uint16_t)(frame->length - frame->real));
	wire_send(tester->tx, packet);
}

static uint64_t tester_run(struct node *node, uint64_t now_ps)
{
	struct tester *tester = (struct tester *)node;
	const struct rig_frame *next;
	uint64_t start_ps = node->engine->start_ps;

	if (tester->plan_next == tester->plan_count)
		return now_ps + TIME_IDLE_PS;
	next = &tester->plan[tester->plan_next];
	if (!time_after(start_ps + next->time_ps, now_ps) && wire_free(tester->tx)) {
		tester_send(tester, next++);
		if (++tester->plan_next == tester->plan_count)
			return now_ps + TIME_IDLE_PS;
	}
	return time_max(time_max(start_ps + next->time_ps, tester->tx->free_ps), now_ps + 1);
}

static const struct node_ops tester_ops = {"tester", tester_arrive, tester_run};

int rig_publish(struct rig *rig)
{
	struct apply_port ports[RIG_PORTS_MAX];
	struct apply_state state = {.port = ports, .packets_max = rig->packets_max};
	bool filled = rig->leaf->fib != NULL;
	const struct snapshot *snapshot;

	for (uint16_t i = 0; i < rig->port_count; i++)
		ports[i] = (struct apply_port){.rate_bps = rig->config->ports[i].speed_bps,
					       .link_up = !rig->link_down[i]};
	if (!filled)
		rig->leaf->fib = fib_create(FIB_COMPACT, apply_routes_max(rig->config));
	cr_assert_not_null(rig->leaf->fib, "%s", rte_strerror(rte_errno));
	snapshot = apply_snapshot(rig->config, &state, rig->leaf->fib, filled);
	if (snapshot == NULL)
		return -rte_errno;
	cr_assert_eq(switch_publish(rig->leaf, snapshot, snapshot_free), 0);
	return 0;
}

int rig_reload(struct rig *rig, const char *yaml)
{
	struct config_errors errors = {0};
	struct config *before = rig->config;
	int result;

	rig->config = config_load_string("rig.yaml", yaml, strlen(yaml), &errors);
	cr_assert_not_null(rig->config, "%s", errors.error[0].text);
	result = rig_publish(rig);
	config_free(result == 0 ? before : rig->config);
	if (result != 0)
		rig->config = before;
	return result;
}

struct rig *rig_open(const char *yaml, uint32_t packets_max)
{
	struct config_errors errors = {0};
	struct rig *rig = allocate(sizeof(*rig));
	struct switch_params params = {
		.name = "rig",
		.worker_count = 1,
		.pool = pool,
		.packets_max = HARNESS_PACKETS,
		.fdb_entries = 64,
		.seed = 1,
		.check = true,
	};

	rig->config = config_load_string("rig.yaml", yaml, strlen(yaml), &errors);
	cr_assert_not_null(rig->config, "%s", errors.error[0].text);
	rig->engine = engine_create(UINT64_MAX - 20 * PS_PER_US); /* across the wrap */
	rig->port_count = rig->config->port_count;
	rig->packets_max = packets_max;
	cr_assert_leq(rig->port_count, RIG_PORTS_MAX);
	params.port_count = rig->port_count;
	params.mac = rig->config->leaf.router_mac;
	if (packets_max > params.packets_max)
		params.packets_max = packets_max;
	rig->leaf = switch_create(rig->engine, &params);
	cr_assert_not_null(rig->leaf, "%s", rte_strerror(rte_errno));
	return rig;
}

void rig_plug(struct rig *rig, uint16_t port, struct node *end, uint64_t delay_ps)
{
	struct link_params link = {rig->config->ports[port].speed_bps, delay_ps,
				   WIRE_OVERHEAD_BYTES};
	struct wire *wire = &rig->wire[2 * port];

	wire_init(&wire[0], rig->engine, &link, &rig->leaf->node, port);
	wire_init(&wire[1], rig->engine, &link, end, 0);
	cr_assert_eq(switch_attach(rig->leaf, port, &wire[1], &wire[0]), 0);
	/* Of its own, as a NIC's: pauses come from it. */
	memcpy(rig->leaf->io[port].io.mac, (const uint8_t[]){2, 0, 0, 0, 2, (uint8_t)port}, 6);
}

struct rig *rig_create(const char *yaml)
{
	struct rig *rig = rig_open(yaml, HARNESS_PACKETS / 2);

	for (uint16_t i = 0; i < rig->port_count; i++) {
		struct tester *tester = &rig->tester[i];

		engine_add(rig->engine, &tester->node, &tester_ops);
		rig_plug(rig, i, &tester->node, METRE_PS);
		tester->tx = &rig->wire[2 * i];
		tester->rx = &rig->wire[2 * i + 1];
	}
	cr_assert_eq(rig_publish(rig), 0, "%s", rte_strerror(rte_errno));
	return rig;
}

void rig_free(struct rig *rig)
{
	cr_expect_eq(rig->leaf->violations, 0, "packets were missing after %llu steps",
		     (unsigned long long)rig->leaf->violations);
	switch_free(rig->leaf);
	for (uint16_t i = 0; i < rig->port_count; i++) {
		wire_fini(&rig->wire[2 * i]);
		wire_fini(&rig->wire[2 * i + 1]);
		free(rig->tester[i].plan);
		free(rig->tester[i].received);
	}
	engine_free(rig->engine);
	config_free(rig->config);
	free(rig);
	harness_check_pool();
}

void rig_send(struct rig *rig, uint16_t port, uint64_t time_ps, const uint8_t *bytes, uint32_t real,
	      uint32_t length)
{
	struct tester *tester = &rig->tester[port];
	struct rig_frame *frame;

	cr_assert_leq(real, RIG_FRAME_BYTES);
	tester->plan =
		allocate_resize(tester->plan, (tester->plan_count + 1) * sizeof(*tester->plan));
	frame = &tester->plan[tester->plan_count++];
	memset(frame, 0, sizeof(*frame));
	frame->time_ps = time_ps;
	frame->real = real;
	frame->length = length;
	memcpy(frame->bytes, bytes, real);
	engine_wake(rig->engine, &tester->node, rig->engine->start_ps + time_ps);
}

void rig_run(struct rig *rig, uint64_t until_ps)
{
	cr_assert_eq(engine_run(rig->engine, rig->engine->start_ps + until_ps), 0);
}

uint32_t rig_build(const struct rig_packet *packet, uint8_t bytes[RIG_FRAME_BYTES], uint32_t *real)
{
	struct frame_path path = {
		.family = packet->family,
		.tos = packet->tos,
		.vlan = packet->tagged ? packet->vlan : 0,
		.pcp = packet->pcp,
		.source_port = packet->source_port,
		.queue_pair = 16,
	};
	struct frame_packet what = {
		.opcode = packet->opcode != 0 ? (enum frame_opcode)packet->opcode
					      : FRAME_WRITE_MIDDLE,
		.psn = packet->psn,
		.payload_bytes = packet->payload_bytes,
	};
	struct frame_template template;
	struct rte_mbuf *built;
	uint32_t length;

	memcpy(path.source_mac, packet->source_mac, 6);
	memcpy(path.destination_mac, packet->destination_mac, 6);
	memcpy(path.source_ip, packet->source_ip, 16);
	memcpy(path.destination_ip, packet->destination_ip, 16);
	frame_template_init(&template, &path);
	built = rte_mbuf_raw_alloc(pool);
	cr_assert_not_null(built);
	frame_build(&template, built, &what);
	*real = built->data_len;
	memcpy(bytes, packet_data(built), built->data_len);
	length = packet_length(built);
	rte_pktmbuf_free(built);
	return length;
}
