/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any frames through a whole leaf: routed and bridged ports, the CPU's port, links that come and go,
 * devices that take a part. Every packet is accounted for after every poll, every buffer comes back,
 * nothing crashes.
 *
 * The input is a list of steps: a byte that says which, and what it needs.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <rte_mbuf.h>

#include "tests/unit/leaf_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The first two are routed, the next three bridged, the last one is off. */
enum { ROUTED, UPLINK, ACCESS, TRUNK, TRUNK_NATIVE, UNUSED, PORT_COUNT };
enum { BUFFERS = 255, STEPS_MAX = 200 };

static struct leaf_fixture f;
static struct snapshot *snapshots[2]; /* the second with a link down and other rates */

/* Bytes of the input; zeros when it is used up. */
struct input {
	const uint8_t *data;
	size_t left;
};

static uint8_t next(struct input *input)
{
	if (input->left == 0)
		return 0;
	input->left--;
	return *input->data++;
}

static void make_snapshots(void)
{
	struct snapshot *snapshot = snapshot_router(&f, UPLINK + 1);
	uint16_t interface;
	uint32_t group;

	snapshot_bridged(snapshot, ACCESS, 100);
	snapshot_trunk(snapshot, TRUNK, 100);
	snapshot_trunk(snapshot, TRUNK, 200);
	snapshot_trunk(snapshot, TRUNK_NATIVE, 100);
	snapshot_bridged(snapshot, TRUNK_NATIVE, 200);
	snapshot->port[TRUNK].trust = PORT_TRUST_PCP;
	interface = snapshot_interface(snapshot, PORT_NONE, 100, 1500);
	group = snapshot_group(snapshot, GROUP_ATTACHED, interface, 0, 0);
	fixture_route(&f, "192.168.0.0/16", group);
	fixture_route(&f, "fd55::/16", group);
	snapshot_neighbour(snapshot, "192.168.0.1", interface,
			   snapshot_adjacency(snapshot, 0x020000000099, PORT_NONE, interface));
	fixture_route(&f, "10.9.0.0/16", snapshot_group(snapshot, GROUP_LOCAL, 0, 0, 0));
	fixture_route(&f, "10.8.0.0/16", snapshot_group(snapshot, GROUP_VIA, 1, 0, 2));
	for (uint32_t i = 0; i < snapshot->adjacency_count; i++)
		snapshot->adjacency[i].plain_bytes_max =
			adjacency_plain_bytes_max(&snapshot->adjacency[i]);
	snapshots[0] = snapshot;
	snapshots[1] = snapshot_copy(snapshot);
	snapshots[1]->port[TRUNK].link_up = false;
	snapshot_port_rate(snapshots[1], UPLINK, RATE_BPS_MIN, 0, 0);
}

/* What all inputs share: memory, addresses, devices. */
static void start(void)
{
	fixture_start_eal();
	f.port_count = f.cpu = PORT_COUNT;
	f.pool = rte_pktmbuf_pool_create("fuzz", BUFFERS, 0, 0,
					 RTE_PKTMBUF_HEADROOM + FRAME_ROOM_BYTES, 0);
	f.fib = fib_create(FIB_COMPACT, 100);
	assert(f.pool != NULL && f.fib != NULL);
	make_snapshots();
	for (uint16_t port = 0; port <= PORT_COUNT; port++)
		f.memory[port] = memory_io_create(port, 256);
}

static void publish(uint32_t which)
{
	uint64_t token;

	(void)leaf_publish(f.leaf, snapshots[which], &token);
}

static void open_leaf(void)
{
	struct leaf_params params = {
		.port_count = PORT_COUNT,
		.worker_count = 1,
		.pool = f.pool,
		.packets_max = BUFFERS,
		.fdb_entries = 64,
	};

	f.leaf = leaf_create(&params);
	assert(f.leaf != NULL);
	f.worker = leaf_worker(f.leaf, 0);
	for (uint16_t port = 0; port <= PORT_COUNT; port++) {
		memory_io_limit(f.memory[port], UINT16_MAX);
		assert(leaf_attach(f.leaf, port, memory_io_port(f.memory[port]), 0) == 0);
	}
	publish(0);
}

static void inject(struct input *input, bool checksum)
{
	uint16_t port = next(input) % (PORT_COUNT + 1);
	uint32_t size = next(input), virtual_bytes = next(input) * 8u;
	struct rte_mbuf *packet = rte_pktmbuf_alloc(f.pool);
	uint8_t *bytes;

	if (packet == NULL)
		return;
	bytes = (uint8_t *)rte_pktmbuf_append(packet, (uint16_t)size);
	for (uint32_t i = 0; i < size; i++)
		bytes[i] = next(input);
	/* Let most of the input past the checksum. */
	if (checksum && size >= 34 && (bytes[14] & 15u) * 4 + 14 <= size)
		store_u16(bytes + 24, ipv4_checksum(bytes + 14));
	if (checksum && size >= 38 && (bytes[18] & 15u) * 4 + 18 <= size)
		store_u16(bytes + 28, ipv4_checksum(bytes + 18));
	packet_virtual_bytes_set(packet, (uint16_t)virtual_bytes);
	*packet_meta(packet) = (struct packet_meta){.interface = (uint16_t)(virtual_bytes % 5),
						    .reason = (uint8_t)(size % 6)};
	if (memory_io_inject(f.memory[port], &packet, 1) != 1)
		rte_pktmbuf_free(packet);
}

static void poll(void)
{
	uint64_t due_ps = worker_poll(f.worker, f.now_ps);

	assert(!time_after(f.now_ps, due_ps));
	assert(leaf_conserved(f.leaf));
}

static void step(struct input *input)
{
	uint16_t port;

	switch (next(input) % 8) {
	case 0:
		inject(input, false);
		break;
	case 1:
		port = next(input) % (PORT_COUNT + 1);
		memory_io_limit(f.memory[port], next(input) % 4);
		break;
	case 2:
		f.now_ps += next(input) * PS_PER_US;
		break;
	case 3:
		f.now_ps += next(input) * 10 * PS_PER_S;
		break;
	case 4:
		publish(next(input) % 2);
		break;
	case 5:
		port = next(input) % (PORT_COUNT + 1);
		fixture_discard(&f, port);
		break;
	default:
		inject(input, true);
		break;
	}
	poll();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	static bool started;

	if (!started)
		start();
	started = true;
	f.now_ps = 0;
	open_leaf();
	for (uint32_t steps = 0; input.left != 0 && steps < STEPS_MAX; steps++)
		step(&input);
	worker_flush(f.worker);
	assert(leaf_conserved(f.leaf));
	leaf_free(f.leaf);
	for (uint16_t port = 0; port <= PORT_COUNT; port++)
		fixture_discard(&f, port);
	/* What no poll has received any more. */
	for (uint16_t port = 0; port <= PORT_COUNT; port++) {
		struct port_io *io = memory_io_port(f.memory[port]);
		struct rte_mbuf *packet;

		while (io->ops->rx_burst(io, 0, &packet, 1) == 1)
			rte_pktmbuf_free(packet);
	}
	assert(rte_mempool_avail_count(f.pool) == BUFFERS);
	return 0;
}
