/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * worker_threads - three workers of one leaf in threads of their own, for ThreadSanitizer too; without
 * Criterion, which can't start under it.
 *
 * Ports 1..4 send numbered frames of a lossless class to port 0 and to each other; port 0 is slow, so that
 * the threshold is crossed again and again, by charges of one worker and discharges of another. Frames
 * must come out of each port in the order in which each other port sent them, none may be lost, and in
 * the end accounts hold nothing. Pauses are decided and not sent (pfc: off): a frame that one thread
 * takes from DPDK's pool after another gave it back passes through code that isn't instrumented.
 */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <rte_eal.h>
#include <rte_mbuf.h>

#include "config/buffer_plan.h"
#include "config/config.h"
#include "control/apply.h"
#include "dataplane/fib.h"
#include "dataplane/io/memory.h"
#include "dataplane/leaf.h"
#include "dataplane/packet.h"

enum {
	PORTS = 5,
	WORKERS = 3,
	PACKETS = 16383,
	FRAME_BYTES = 200,
	FRAMES = 40000,
	IN_FLIGHT = 1500
};

static const char yaml[] =
	"leaf: {name: t, router_mac: \"02:00:00:00:00:01\"}\n"
	"classes:\n"
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, rdma_mtu: 256, ecn: off}\n"
	"  - {priority: 0, name: best-effort}\n"
	"buffer: {alpha: {roce: 1/64}}\n"
	"ports:\n"
	"  - {name: p0, device: net0, driver: vdev, speed: 100M, mtu: 1500, address: [10.0.0.1/24]}\n"
	"  - {name: p1, device: net1, driver: vdev, speed: 100G, mtu: 1500, address: [10.0.1.1/24]}\n"
	"  - {name: p2, device: net2, driver: vdev, speed: 100G, mtu: 1500, address: [10.0.2.1/24]}\n"
	"  - {name: p3, device: net3, driver: vdev, speed: 100G, mtu: 1500, address: [10.0.3.1/24]}\n"
	"  - {name: p4, device: net4, driver: vdev, speed: 100G, mtu: 1500, address: [10.0.4.1/24]}\n"
	"neighbours:\n"
	"  - {address: 10.0.0.2, mac: \"02:00:00:00:01:00\", port: p0}\n"
	"  - {address: 10.0.1.2, mac: \"02:00:00:00:01:01\", port: p1}\n"
	"  - {address: 10.0.2.2, mac: \"02:00:00:00:01:02\", port: p2}\n"
	"  - {address: 10.0.3.2, mac: \"02:00:00:00:01:03\", port: p3}\n"
	"  - {address: 10.0.4.2, mac: \"02:00:00:00:01:04\", port: p4}\n";

struct stage {
	struct leaf *leaf;
	struct memory_io *memory[PORTS + 1];
	struct rte_mbuf *unused[PACKETS];
	uint32_t unused_count;
	uint32_t sent[PORTS][PORTS], received[PORTS][PORTS]; /* [from][to] */
	_Atomic bool stop;
};

struct loop {
	struct stage *stage;
	uint16_t worker;
};

static void fail(const char *text)
{
	fprintf(stderr, "%s\n", text);
	exit(1);
}

static uint64_t now_ps(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * PS_PER_S + (uint64_t)now.tv_nsec * PS_PER_NS;
}

static void *poll_on(void *argument)
{
	const struct loop *loop = argument;
	struct worker *worker = leaf_worker(loop->stage->leaf, loop->worker);

	while (!atomic_load_explicit(&loop->stage->stop, memory_order_acquire)) {
		worker_poll(worker, now_ps());
		(void)worker_wakes(worker);
		sched_yield(); /* there may be fewer CPUs than workers */
	}
	return NULL;
}

/* An IPv4 frame with its number, from one port to the neighbour behind another. */
static void fill(struct rte_mbuf *packet, uint16_t from, uint16_t to, uint32_t number)
{
	uint8_t frame[FRAME_BYTES] = {0x02, 0, 0, 0, 0,    1, 0x02, 0,
				      0,    0, 1, 0, 0x08, 0, 0x45, 26 << 2};
	uint32_t sum = 0;

	frame[11] = (uint8_t)from;
	frame[16] = (FRAME_BYTES - 14) >> 8;
	frame[17] = (FRAME_BYTES - 14) & 0xff;
	frame[22] = 64;
	frame[23] = 17;
	frame[26] = frame[30] = 10;
	frame[28] = (uint8_t)from;
	frame[32] = (uint8_t)to;
	frame[29] = frame[33] = 2;
	for (uint32_t i = 14; i < 34; i += 2)
		sum += (uint32_t)frame[i] << 8 | frame[i + 1];
	sum = (sum & 0xffff) + (sum >> 16);
	sum = ~((sum & 0xffff) + (sum >> 16));
	frame[24] = (uint8_t)(sum >> 8);
	frame[25] = (uint8_t)sum;
	memcpy(frame + 60, &number, sizeof(number));
	frame[64] = (uint8_t)from;
	memcpy(packet_data(packet), frame, sizeof(frame));
	packet->data_len = FRAME_BYTES;
	packet->pkt_len = FRAME_BYTES;
	packet_virtual_bytes_set(packet, 0);
}

static void take(struct stage *stage, uint16_t to)
{
	struct rte_mbuf *packet;

	while (memory_io_take(stage->memory[to], &packet, 1) == 1) {
		uint16_t from = packet_data(packet)[64];
		uint32_t number;

		memcpy(&number, packet_data(packet) + 60, sizeof(number));
		if (from >= PORTS || number != stage->received[from][to])
			fail("a frame is out of order, or lost");
		stage->received[from][to]++;
		stage->unused[stage->unused_count++] = packet;
	}
}

static bool give(struct stage *stage, uint16_t from, uint16_t to)
{
	struct rte_mbuf *packet;

	if (stage->unused_count == 0)
		return false;
	packet = stage->unused[stage->unused_count - 1];
	fill(packet, from, to, stage->sent[from][to]);
	if (memory_io_inject(stage->memory[from], &packet, 1) == 0)
		return false;
	stage->unused_count--;
	stage->sent[from][to]++;
	return true;
}

static void send_and_receive(struct stage *stage)
{
	uint32_t total = 0;

	while (total < FRAMES) {
		for (uint16_t from = 1; from < PORTS; from++) {
			/* One in 32 to the slow port. */
			uint16_t to = total % 32 == 0 ? 0 : (uint16_t)(1 + (from + total % 3) % 4);

			total += give(stage, from, to);
		}
		for (uint16_t to = 0; to < PORTS; to++)
			take(stage, to);
	}
	while (stage->unused_count != IN_FLIGHT) {
		for (uint16_t to = 0; to < PORTS; to++)
			take(stage, to);
		sched_yield();
	}
}

static void check(const struct stage *stage, const struct snapshot *snapshot)
{
	struct leaf_conservation sum;

	leaf_conservation(stage->leaf, &sum);
	if (!leaf_conserved(stage->leaf) || sum.dropped != 0 || sum.queued != 0)
		fail("packets don't add up, or were dropped");
	for (uint16_t port = 0; port < PORTS; port++) {
		struct buffer_totals totals;

		leaf_buffer_totals(stage->leaf, snapshot, port, 3, &totals);
		if (totals.occupancy_bytes != 0 || totals.headroom_used_bytes != 0 ||
		    totals.reasons != 0)
			fail("an account isn't empty");
	}
	if (sum.rx_packets != sum.tx_packets || sum.rx_packets < FRAMES)
		fail("not all came");
}

static struct snapshot *build(const struct config *config, struct fib *fib,
			      struct config_errors *errors)
{
	struct buffer_plan plan;
	struct apply_port ports[PORTS];
	struct apply_state state = {.port = ports, .packets_max = PACKETS};

	for (uint32_t i = 0; i < PORTS; i++)
		ports[i] = (struct apply_port){.rate_bps = config->ports[i].speed_bps,
					       .run_ahead_ps = 20 * PS_PER_US,
					       .link_up = true};
	if (apply_plan(config, &state, &plan, errors) != 0)
		fail(errors->error[0].text);
	buffer_plan_free(&plan);
	return apply_snapshot(config, &state, fib, false);
}

int main(void)
{
	const char *eal[] = {"test",     "--no-huge",      "-m", "128", "--no-shconf",
			     "--no-pci", "--no-telemetry", "-l", "0",   "--log-level",
			     "error"};
	char *argv[sizeof(eal) / sizeof(eal[0])];
	static struct config_errors errors;
	static struct stage stage;
	struct leaf_params params = {
		.port_count = PORTS, .worker_count = WORKERS, .packets_max = PACKETS, .seed = 1};
	struct loop loop[WORKERS];
	pthread_t thread[WORKERS];
	struct snapshot *snapshot;
	struct config *config;
	struct fib *fib;
	uint64_t token;

	memcpy(argv, eal, sizeof(argv));
	if (rte_eal_init(sizeof(eal) / sizeof(eal[0]), argv) < 0)
		fail("EAL");
	params.pool = rte_pktmbuf_pool_create("threads", PACKETS, 0, 0, 2048, 0);
	config = config_load_string("threads.yaml", yaml, sizeof(yaml) - 1, &errors);
	if (config == NULL)
		fail(errors.error[0].text);
	fib = fib_create(FIB_COMPACT, apply_routes_max(config));
	stage.leaf = leaf_create(&params);
	snapshot = build(config, fib, &errors);
	if (params.pool == NULL || stage.leaf == NULL || snapshot == NULL)
		fail("out of memory");
	for (uint32_t i = 0; i < PORTS; i++)
		snapshot->port[i].pfc = 0;
	for (uint16_t port = 0; port <= PORTS; port++) {
		stage.memory[port] = memory_io_create(port, 2048);
		if (leaf_attach(stage.leaf, port, memory_io_port(stage.memory[port]),
				port % WORKERS) != 0)
			fail("attach");
	}
	for (uint32_t i = 0; i < IN_FLIGHT; i++)
		stage.unused[stage.unused_count++] = rte_pktmbuf_alloc(params.pool);
	(void)leaf_publish(stage.leaf, snapshot, &token);
	for (uint16_t w = 0; w < WORKERS; w++) {
		loop[w] = (struct loop){&stage, w};
		if (pthread_create(&thread[w], NULL, poll_on, &loop[w]) != 0)
			fail("threads");
	}
	send_and_receive(&stage);
	while (!leaf_quiet(stage.leaf, token))
		sched_yield();
	atomic_store_explicit(&stage.stop, true, memory_order_release);
	for (uint16_t w = 0; w < WORKERS; w++)
		pthread_join(thread[w], NULL);
	check(&stage, snapshot);
	leaf_free(stage.leaf);
	for (uint16_t port = 0; port <= PORTS; port++)
		port_io_close(memory_io_port(stage.memory[port]));
	snapshot_free(snapshot);
	fib_free(fib);
	config_free(config);
	for (uint32_t i = 0; i < stage.unused_count; i++)
		rte_pktmbuf_free(stage.unused[i]);
	return 0;
}
