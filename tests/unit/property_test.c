/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random leaves under random traffic. Whatever the configuration, the frames and the devices do:
 * every packet is accounted for after every poll, a flow stays in order, every buffer comes back.
 *
 * PROPERTY_SEED=n runs one seed, PROPERTY_COUNT=n that many.
 */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dataplane/egress.h"
#include "dataplane/pfc_frame.h"
#include "dataplane/punt.h"
#include "tests/unit/leaf_fixture.h"

#define SEEDS     300
#define STEPS     80
#define PORTS_MAX 12
#define FLOWS_MAX 40
#define MAC       UINT64_C(0x020000000100) /* of host 0 */

struct flow {
	uint16_t port;
	struct frame_spec spec;
	uint32_t next;
};

struct world {
	uint64_t seed;
	uint64_t state;
	struct leaf_fixture f;
	struct flow flow[FLOWS_MAX];
	uint32_t flow_count;
	/* Last number seen, plus one: [flow][port][priority]. */
	uint32_t seen[FLOWS_MAX][PORTS_MAX + 1][PRIORITY_COUNT];
	uint64_t in_order;
	uint64_t pauses; /* PFC frames that the leaf sent */
};

static struct world world;

static uint32_t pick(uint32_t below)
{
	return draw(&world.state, below);
}

static bool chance(uint32_t one_in)
{
	return pick(one_in) == 0;
}

static void tell_seed(void)
{
	if (world.seed != 0)
		cr_log_error("seed %" PRIu64 " fails: PROPERTY_SEED=%" PRIu64
			     " build/tests/unit/property_test",
			     world.seed, world.seed);
}

TestSuite(property, .fini = tell_seed, .timeout = 600);

/* --- a random snapshot --- */

static void random_rate(struct snapshot *snapshot, uint16_t port)
{
	static const uint64_t rates[] = {1000000,    100000000,    1000000000,
					 3000000000, 100000000000, 400000000000};
	static const uint64_t aheads[] = {0, 1000, PS_PER_US, 100 * PS_PER_US};

	snapshot_port_rate(snapshot, port, rates[pick(6)], aheads[pick(4)],
			   chance(2) ? 0 : pick(1000) * PS_PER_US);
}

static void random_classes(struct snapshot *snapshot)
{
	snapshot->lossless_mask = 0;
	snapshot->strict_mask = 0;
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++) {
		struct class_table *class = &snapshot->class[p];

		memset(class, 0, sizeof(*class));
		class->strict = chance(3);
		class->lossless = p != 0 && chance(3);
		if (!class->strict)
			class->quantum_bytes = (1 + pick(100)) * SCHEDULE_QUANTUM_BYTES;
		else if (chance(3))
			class->max_rate_ppm = 1 + pick(1000000);
		else if (chance(3))
			class->max_rate_bps = 1000 + pick(1000000000);
		snapshot->strict_mask |= (uint8_t)(class->strict << p);
		snapshot->lossless_mask |= (uint8_t)(class->lossless << p);
	}
	snapshot->priority_default = 0;
	snapshot->priority_control = 0;
	for (uint8_t dscp = 0; dscp < 64; dscp++)
		snapshot->by_dscp[dscp] = (uint8_t)pick(8);
	for (uint8_t pcp = 0; pcp < 8; pcp++)
		snapshot->by_pcp[pcp] = (uint8_t)pick(8);
}

/* Thresholds from none to more than comes; a queue may mark and drop at any depth. */
static void random_buffer(struct snapshot *snapshot)
{
	struct buffer_table *buffer = &snapshot->buffer;
	uint32_t pairs = PRIORITY_COUNT * (snapshot->port_count + 1u);

	buffer->shared_bytes = pick(chance(2) ? 20000 : 2000000);
	buffer->lossy_bytes = pick(chance(2) ? 20000 : 2000000);
	buffer->headroom_pool_bytes = chance(3) ? pick(100000) : 0;
	buffer->packets_max = chance(3) ? 50 + pick(500) : FIXTURE_PACKETS;
	buffer->guard_packets = chance(2) ? 0 : pick(buffer->packets_max);
	snapshot->watchdog = (struct watchdog_table){
		.action = (uint8_t)pick(4),
		.detect_ps = (1 + pick(100)) * PS_PER_US,
		.restore_ps = (1 + pick(100)) * PS_PER_US,
		.poll_ps = (1 + pick(50)) * PS_PER_US,
	};
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		buffer->class[p].alpha_q8 = 1u << pick(16);
		buffer->class[p].xon_offset_bytes = pick(10000);
	}
	for (uint32_t i = 0; i < pairs; i++) {
		struct mark_table *mark = &buffer->mark[i];

		buffer->pair[i].reserved_bytes = chance(2) ? 0 : pick(5000);
		buffer->pair[i].headroom_bytes = chance(4) ? 0 : pick(50000);
		*mark = (struct mark_table){.ecn_min_bytes = UINT32_MAX,
					    .wred_min_bytes = UINT32_MAX};
		if (chance(2)) {
			mark->ecn_min_bytes = pick(5000);
			mark->ecn_max_bytes = mark->ecn_min_bytes + pick(5000);
			mark->ecn_chance = UINT32_MAX >> pick(8);
		}
		if (chance(3)) {
			mark->wred_min_bytes = pick(5000);
			mark->wred_max_bytes = mark->wred_min_bytes + pick(5000);
			mark->wred_chance = UINT32_MAX >> pick(8);
		}
	}
}

static void random_ports(struct snapshot *snapshot)
{
	for (uint16_t port = 0; port < world.f.port_count; port++) {
		struct port_table *table = &snapshot->port[port];

		switch (pick(10)) {
		case 0:
			break;
		case 1:
		case 2:
			snapshot_bridged(snapshot, port, (uint16_t)(1 + pick(4)));
			break;
		case 3:
		case 4:
			for (uint32_t i = 0; i < 3; i++)
				snapshot_trunk(snapshot, port, (uint16_t)(1 + pick(4)));
			break;
		default:
			snapshot_interface(snapshot, port, 0, 68 + pick(2000));
		}
		table->trust = (uint8_t)pick(3);
		table->pfc = (uint8_t)pick(4);
		table->link_up = !chance(12);
		table->frame_bytes_max = chance(3) ? 100 + pick(2000) : FRAME_BYTES_MAX;
		random_rate(snapshot, port);
	}
	for (uint16_t vlan = 1; vlan <= 4; vlan++)
		if (chance(2))
			snapshot_interface(snapshot, PORT_NONE, vlan, 68 + pick(2000));
}

/* Adjacencies of all interfaces, and groups over them. */
static void random_routing(struct snapshot *snapshot)
{
	uint16_t interfaces = snapshot->interface_count;

	for (uint32_t i = 0; interfaces != 0 && i < 16; i++) {
		uint16_t interface = (uint16_t)pick(interfaces);
		uint16_t egress = snapshot->interface[interface].port;
		uint32_t adjacency;
		char address[32];

		if (egress == PORT_NONE && chance(3))
			egress = (uint16_t)pick(world.f.port_count);
		adjacency = snapshot_adjacency(snapshot, MAC + pick(30), egress, interface);
		snprintf(address, sizeof(address), i % 2 == 0 ? "10.0.%u.%u" : "fd00::%u:%u",
			 pick(4), pick(4));
		snapshot_neighbour(snapshot, address, interface, adjacency);
	}
	while (snapshot->group_count < 9) {
		uint8_t kind = (uint8_t)(chance(2) ? GROUP_VIA : GROUP_VIA + pick(4));
		uint32_t first = pick(8);

		if (interfaces == 0)
			kind = GROUP_DROP;
		snapshot_group(snapshot, kind, (uint16_t)(interfaces == 0 ? 0 : pick(interfaces)),
			       first, kind == GROUP_VIA ? (uint16_t)pick(9) : 0);
	}
}

static struct snapshot *random_snapshot(void)
{
	struct snapshot *snapshot = snapshot_of(&world.f);

	random_classes(snapshot);
	random_buffer(snapshot);
	random_ports(snapshot);
	random_routing(snapshot);
	snapshot->fdb_age_ps = (1 + pick(300)) * PS_PER_S;
	snapshot->hash_seed = pick(1000);
	return snapshot;
}

/* The same with links, rates or classes changed, or all of it. */
static struct snapshot *changed_snapshot(void)
{
	struct snapshot *snapshot;
	uint16_t port = (uint16_t)pick(world.f.port_count);

	/* Another configuration: what is queued, learned and on its way meets it. */
	if (chance(4))
		return random_snapshot();
	snapshot = snapshot_copy(world.f.snapshot);
	switch (pick(5)) {
	case 4:
		random_buffer(snapshot);
		break;
	case 0:
		snapshot->port[port].link_up = !snapshot->port[port].link_up;
		break;
	case 1:
		random_rate(snapshot, port);
		break;
	case 2:
		random_classes(snapshot);
		break;
	default:
		break; /* a reload that changes nothing */
	}
	return snapshot;
}

static void random_routes(void)
{
	for (uint32_t i = 0; i < 12; i++) {
		char prefix[48];

		if (chance(2))
			snprintf(prefix, sizeof(prefix), "10.0.%u.0/%u", pick(4), 8 + pick(25));
		else
			snprintf(prefix, sizeof(prefix), "fd00::%u:0/%u", pick(4), 16 + pick(113));
		fixture_route(&world.f, prefix, 1 + pick(8));
	}
}

/* --- traffic --- */

/* Let a flow suit the port that it comes to. */
static void fit_flow(struct flow *flow)
{
	const struct snapshot *snapshot = world.f.snapshot;
	uint16_t vlan = (uint16_t)(1 + pick(4));

	flow->spec.tagged = false;
	if (snapshot->port[flow->port].mode == PORT_MODE_ROUTED) {
		flow->spec.destination_mac = FIXTURE_ROUTER;
		flow->spec.family = chance(2) ? 4 : 6;
	} else if (port_bits_test(&snapshot->vlan[snapshot->vlan_index[vlan]].tagged, flow->port)) {
		flow->spec.tagged = true;
		flow->spec.vlan = vlan;
	}
}

static void random_flows(void)
{
	static char address6[FLOWS_MAX][2][32];

	world.flow_count = 1 + pick(FLOWS_MAX);
	for (uint32_t i = 0; i < world.flow_count; i++) {
		struct flow *flow = &world.flow[i];
		static const uint8_t families[] = {4, 4, 6, 0};

		snprintf(address6[i][0], sizeof(address6[i][0]), "fd00::%u:%u", pick(4), pick(4));
		snprintf(address6[i][1], sizeof(address6[i][1]), "fd00::%u:%u", pick(4), pick(4));
		flow->port = (uint16_t)pick(world.f.port_count);
		flow->next = 0;
		flow->spec = (struct frame_spec){
			.destination_mac = chance(2) ? FIXTURE_ROUTER : MAC + pick(30),
			.source_mac = MAC + pick(30),
			.tagged = chance(3),
			.pcp = (uint8_t)pick(8),
			.vlan = (uint16_t)pick(6),
			.family = families[pick(4)],
			.ether_type = chance(3) ? 0x0806 : 0x88b5,
			.source = 0x0a000000 | pick(4) << 8 | pick(4),
			.destination = 0x0a000000 | pick(4) << 8 | pick(4),
			.source6 = address6[i][0],
			.destination6 = address6[i][1],
			.traffic_class = (uint8_t)pick(256),
			.ttl = (uint8_t)(1 + pick(64)),
			.source_port = (uint16_t)pick(65536),
			.roce = chance(2),
			.qp = pick(1000),
			.payload_bytes = 30,
		};
		if (!chance(4))
			fit_flow(flow);
		if (chance(10))
			flow->spec.destination_mac =
				chance(2) ? UINT64_C(0xffffffffffff) : UINT64_C(0x333300000001);
	}
}

static void send_flow_frame(void)
{
	uint32_t number = pick(world.flow_count);
	struct flow *flow = &world.flow[number];
	struct frame frame;

	flow->spec.psn = flow->next;
	flow->spec.number = number << 20 | flow->next++;
	flow->spec.virtual_bytes = (uint16_t)(chance(2) ? 0 : pick(1400));
	frame = frame_of(&flow->spec);
	fixture_inject(&world.f, flow->port, &frame);
}

/* A frame that somebody bent, cut or made up. Its number belongs to no flow. */
static void send_garbage(void)
{
	struct frame frame;

	world.flow[0].spec.number = UINT32_MAX;
	frame = frame_of(&world.flow[0].spec);
	for (uint32_t changes = pick(5); changes != 0; changes--)
		frame.byte[pick(60)] = (uint8_t)pick(256);
	if (chance(8))
		store_u16(frame.byte + 12, 0x8808);
	if (chance(8))
		mac_store(frame.byte, UINT64_C(0x0180c2000000) | pick(16));
	if (chance(3))
		frame.size = pick(frame.size + 1);
	if (frame.size >= 4)
		store_u32(frame.byte + frame.size - 4, UINT32_MAX);
	fixture_inject(&world.f, (uint16_t)pick(world.f.port_count), &frame);
}

/* A neighbour pauses some queues, or lets them go. */
static void send_pause(void)
{
	struct frame frame = {.size = PFC_FRAME_BYTES};
	struct pfc_frame pfc = {.enabled = (uint8_t)pick(256)};
	uint8_t mac[6];

	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		pfc.quanta[p] = (uint16_t)(chance(3) ? 0 : pick(65536));
	mac_store(mac, MAC);
	(void)pfc_frame_write(frame.byte, mac, &pfc);
	fixture_inject(&world.f, (uint16_t)pick(world.f.port_count), &frame);
}

static void send_from_kernel(void)
{
	struct frame_spec spec = world.flow[pick(world.flow_count)].spec;
	struct frame frame;

	spec.number = UINT32_MAX;
	spec.tagged = false; /* as TAPs have it */
	frame = frame_of(&spec);
	frame.meta = (struct packet_meta){
		.interface = (uint16_t)(chance(10) ? pick(65536) : pick(8)),
		.reason = (uint8_t)(chance(2) ? PUNT_NONE : PUNT_NEIGHBOUR),
	};
	fixture_inject(&world.f, world.f.cpu, &frame);
}

/* --- what comes out --- */

/* A pause is ours: to the address that nobody forwards, of classes that are lossless or were. */
static void check_pause(uint16_t port, const struct frame *frame)
{
	struct pfc_frame pfc;

	cr_assert_eq(pfc_frame_read(frame->byte, frame->size, &pfc), PFC_FRAME_PRIORITY);
	cr_assert_neq(port, world.f.cpu);
	cr_assert_neq(pfc.enabled, 0);
	world.pauses++;
}

static void check_sent(uint16_t port, const struct frame *frame)
{
	uint32_t type = (uint32_t)frame->byte[12] << 8 | frame->byte[13], l3 = 14;
	uint32_t number = frame_number(frame), flow = number >> 20;
	uint32_t *seen;

	if (type == 0x8100) {
		type = (uint32_t)frame->byte[16] << 8 | frame->byte[17];
		l3 = 18;
		cr_assert_neq((uint32_t)(frame->byte[14] & 0xf) << 8 | frame->byte[15], 0,
			      "a priority tag never leaves");
	}
	if (type == 0x8808) {
		check_pause(port, frame);
		return;
	}
	cr_assert(memcmp(frame->byte, "\x01\x80\xc2\x00\x00", 5) != 0 || frame->byte[5] > 15,
		  "a reserved address");
	if (type == 0x0800)
		cr_assert_eq((uint32_t)frame->byte[l3 + 10] << 8 | frame->byte[l3 + 11],
			     ipv4_checksum(frame->byte + l3));
	if (port == world.f.cpu)
		cr_assert_eq(l3, 14, "a tag goes to the kernel");
	if (flow >= world.flow_count || (number & 0xfffff) >= world.flow[flow].next)
		return;
	/* In order, and each once, in each class: a class may change with the configuration. */
	seen = &world.seen[flow][port][frame->meta.priority];
	cr_assert_geq((number & 0xfffff) + 1, *seen + 1, "flow %u, port %u", flow, port);
	*seen = (number & 0xfffff) + 1;
	world.in_order++;
}

static void take_sent(void)
{
	struct frame frame;

	for (uint16_t port = 0; port <= world.f.port_count; port++) {
		/* A device that isn't emptied takes no more some time. */
		if (chance(6))
			continue;
		while (fixture_take(&world.f, port, &frame))
			check_sent(port, &frame);
	}
}

static void step(void)
{
	struct leaf_fixture *f = &world.f;
	uint32_t frames = chance(5) ? pick(80) : pick(10);

	for (uint32_t i = 0; i < frames; i++) {
		uint32_t kind = pick(20);

		if (kind == 0)
			send_from_kernel();
		else if (kind == 1)
			send_pause();
		else if (kind < 4)
			send_garbage();
		else
			send_flow_frame();
	}
	if (chance(4))
		memory_io_limit(f->memory[pick(f->port_count + 1u)],
				(uint16_t)(chance(2) ? UINT16_MAX : pick(8)));
	if (chance(15))
		fixture_publish(f, changed_snapshot());
	/* As it is due, or late, or early; now and then much later. */
	for (uint32_t polls = 1 + pick(4); polls != 0; polls--) {
		fixture_poll(f);
		if (chance(2) && time_after(f->now_ps + PS_PER_MS, f->due_ps))
			f->now_ps = f->due_ps;
		else
			f->now_ps += pick(1000) * (chance(20) ? PS_PER_MS : PS_PER_NS);
	}
	take_sent();
}

static void run_world(uint64_t seed)
{
	memset(&world, 0, sizeof(world));
	world.seed = seed;
	world.state = seed;
	fixture_open_at(&world.f, (uint16_t)(1 + pick(PORTS_MAX)),
			chance(4) ? UINT64_MAX - pick(1000) * PS_PER_US : (uint64_t)pick(1000));
	random_routes();
	fixture_publish(&world.f, random_snapshot());
	random_flows();
	for (uint32_t i = 0; i < STEPS; i++)
		step();
	fixture_close(&world.f);
	world.seed = 0;
}

Test(property, any_leaf_accounts_for_every_packet_and_keeps_flows_in_order)
{
	const char *one = getenv("PROPERTY_SEED"), *count = getenv("PROPERTY_COUNT");
	uint64_t first = one != NULL ? strtoull(one, NULL, 10) : 1;
	uint64_t seeds = one != NULL ? 1 : count != NULL ? strtoull(count, NULL, 10) : SEEDS;
	uint64_t in_order = 0, pauses = 0;

	fixture_start_eal();
	for (uint64_t seed = first; seed < first + seeds; seed++) {
		run_world(seed);
		in_order += world.in_order;
		pauses += world.pauses;
	}
	/* Not all leaves forward much, or have to pause anybody, but many do. */
	if (seeds >= 100)
		cr_assert_gt(pauses, seeds / 2, "%" PRIu64 " pauses were sent", pauses);
	cr_assert_gt(in_order, seeds * 100, "%" PRIu64 " frames of flows came out", in_order);
}
