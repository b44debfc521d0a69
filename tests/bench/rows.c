/* SPDX-License-Identifier: BSD-3-Clause */
#include "tests/bench/bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rte_byteorder.h>
#include <rte_errno.h>
#include <rte_ip.h>
#include <rte_lpm.h>
#include <rte_mbuf.h>

#include "config/config.h"
#include "control/apply.h"
#include "dataplane/internal.h"
#include "dataplane/leaf.h"
#include "dataplane/packet.h"
#include "dataplane/parse_plain.h"
#include "dataplane/worker.h"

/* Buffers that the leaf divides; so many never wait in it. */
#define PACKETS_MAX 131072

/* Longer than a burst of the largest frames lasts on one port, so that nothing queues up. */
#define POLL_PS (4 * PS_PER_US)

/*
 * Rack ports and uplinks of a leaf, once routed and once bridged. Half of the prefixes are behind
 * one uplink, half behind all four.
 */
static const char config_l3[] =
	"leaf: {router_mac: '02:00:00:00:10:01', memory: 1GiB}\n"
	"ports:\n"
	"  - {name: in, device: net_null0, speed: 400G, mtu: 4200, address: 10.1.0.254/24}\n"
	"  - {name: up0, device: net_null1, speed: 400G, mtu: 4200, address: 10.255.0.0/31}\n"
	"  - {name: up1, device: net_null2, speed: 400G, mtu: 4200, address: 10.255.0.2/31}\n"
	"  - {name: up2, device: net_null3, speed: 400G, mtu: 4200, address: 10.255.0.4/31}\n"
	"  - {name: up3, device: net_null4, speed: 400G, mtu: 4200, address: 10.255.0.6/31}\n"
	"neighbours:\n"
	"  - {address: 10.255.0.1, mac: '02:00:00:00:20:00'}\n"
	"  - {address: 10.255.0.3, mac: '02:00:00:00:20:01'}\n"
	"  - {address: 10.255.0.5, mac: '02:00:00:00:20:02'}\n"
	"  - {address: 10.255.0.7, mac: '02:00:00:00:20:03'}\n"
	"routes:\n"
	"  - {to: 10.16.0.0/16, via: 10.255.0.1}\n"
	"  - {to: 10.17.0.0/16, via: 10.255.0.3}\n"
	"  - {to: 10.18.0.0/16, via: 10.255.0.5}\n"
	"  - {to: 10.19.0.0/16, via: 10.255.0.7}\n"
	"  - {to: 10.20.0.0/16, via: 10.255.0.1}\n"
	"  - {to: 10.21.0.0/16, via: 10.255.0.3}\n"
	"  - {to: 10.22.0.0/16, via: 10.255.0.5}\n"
	"  - {to: 10.23.0.0/16, via: 10.255.0.7}\n"
#define ALL_UPLINKS "via: [10.255.0.1, 10.255.0.3, 10.255.0.5, 10.255.0.7]}\n"
	"  - {to: 10.24.0.0/16, " ALL_UPLINKS "  - {to: 10.25.0.0/16, " ALL_UPLINKS
	"  - {to: 10.26.0.0/16, " ALL_UPLINKS "  - {to: 10.27.0.0/16, " ALL_UPLINKS
	"  - {to: 10.28.0.0/16, " ALL_UPLINKS "  - {to: 10.29.0.0/16, " ALL_UPLINKS
	"  - {to: 10.30.0.0/16, " ALL_UPLINKS "  - {to: 10.31.0.0/16, " ALL_UPLINKS;

/* Two lossless classes; where it counts, one marks all that leaves while anything waits. */
#define MARK_ALL ", ecn: {kmin: 1, kmax: 2, pmax: 100%}"
#define CONFIG_CLASSES(ecn)                                                              \
	"classes:\n"                                                                     \
	"  - {priority: 3, name: roce, dscp: [26], lossless: true, weight: 60" ecn "}\n" \
	"  - {priority: 4, name: other, dscp: [28], lossless: true, weight: 20}\n"       \
	"  - {priority: 6, name: cnp, dscp: [48], strict: true}\n"                       \
	"  - {priority: 7, name: control, dscp: [56], strict: true}\n"                   \
	"  - {priority: 0, name: best-effort, weight: 20}\n"

static const char config_l2[] =
	"leaf: {router_mac: '02:00:00:00:10:01', memory: 1GiB}\n"
	"ports:\n"
	"  - {name: in, device: net_null0, speed: 400G, mtu: 4200, vlan: {access: 100}}\n"
	"  - {name: up0, device: net_null1, speed: 400G, mtu: 4200, vlan: {access: 100}}\n"
	"  - {name: up1, device: net_null2, speed: 400G, mtu: 4200, vlan: {access: 100}}\n"
	"  - {name: up2, device: net_null3, speed: 400G, mtu: 4200, vlan: {access: 100}}\n"
	"  - {name: up3, device: net_null4, speed: 400G, mtu: 4200, vlan: {access: 100}}\n";

/* The other way: from an uplink to hosts, which are neighbours on routed ports. */
static const char config_down[] =
	"leaf: {router_mac: '02:00:00:00:10:01', memory: 1GiB}\n"
	"ports:\n"
	"  - {name: in, device: net_null0, speed: 400G, mtu: 4200, address: 10.255.0.0/31}\n"
	"  - {name: up0, device: net_null1, speed: 400G, mtu: 4200, address: 10.16.0.1/14}\n"
	"  - {name: up1, device: net_null2, speed: 400G, mtu: 4200, address: 10.20.0.1/14}\n"
	"  - {name: up2, device: net_null3, speed: 400G, mtu: 4200, address: 10.24.0.1/14}\n"
	"  - {name: up3, device: net_null4, speed: 400G, mtu: 4200, address: 10.28.0.1/14}\n"
	"routes:\n"
	"  - {to: 10.1.0.0/16, via: 10.255.0.1}\n";

static void supply(struct row *row, const struct frames *frames)
{
	row->port[0].supply = frames->packet;
	row->port[0].supply_left = frames->count;
}

/*
 * ---- the references: what any IPv4 forwarder has to do, and no more ----
 *
 * The one that others are compared with parses as the pipeline does when it must know all of a packet,
 * reference-plain as little as routing to a single next hop asks for.
 */

struct bundle {
	uint32_t count;
	struct rte_mbuf *packet[BURST_COUNT_MAX];
};

static inline void route_one(const struct adjacency *adjacency, struct rte_mbuf *packet,
			     uint32_t l3_offset, uint8_t ttl)
{
	uint8_t *ip = packet_data(packet) + l3_offset;
	uint32_t checksum = load_u16(ip + 10) + (uint32_t)rte_cpu_to_be_16(0x0100);
	uint16_t folded = (uint16_t)(checksum + (checksum >= 0xffff));

	ip[8] = (uint8_t)(ttl - 1);
	memcpy(ip + 10, &folded, sizeof(folded));
	memcpy(ip - l3_offset, adjacency->destination_mac, 12);
}

static inline __attribute__((always_inline)) void reference_burst(struct row *row, bool plain)
{
	struct port_io *in = &row->port[0].io;
	struct rte_mbuf *packet[BURST_COUNT_MAX];
	struct parsed parsed[BURST_COUNT_MAX];
	uint32_t destination[BURST_COUNT_MAX], hop[BURST_COUNT_MAX];
	uint8_t ttl[BURST_COUNT_MAX];
	struct bundle out[BENCH_PORTS];
	uint32_t count = in->ops->rx_burst(in, 0, packet, BURST_COUNT_MAX);
	uint32_t bad = plain ? 0 : parse_burst(packet, count, parsed);

	for (uint32_t port = 1; port < BENCH_PORTS; port++)
		out[port].count = 0;
	for (uint32_t i = 0; i < count && plain; i++) {
		struct ipv4_words ip = {0};

		if (unlikely(!parse_plain(packet_data(packet[i]), packet[i]->data_len,
					  packet_length(packet[i]), &ip)))
			bad |= UINT32_C(1) << i;
		destination[i] = rte_be_to_cpu_32(ip.w2);
		ttl[i] = (uint8_t)ip.w1;
	}
	for (uint32_t i = 0; i < count && !plain; i++)
		destination[i] = rte_be_to_cpu_32(parsed[i].destination);
	rte_lpm_lookup_bulk(row->lpm, destination, hop, count);
	for (uint32_t i = 0; i < count; i++) {
		const struct adjacency *adjacency;
		struct bundle *bundle;

		if (unlikely((bad >> i & 1) != 0 || (hop[i] & RTE_LPM_LOOKUP_SUCCESS) == 0 ||
			     (plain ? ttl[i] : parsed[i].ttl) <= 1)) {
			rte_pktmbuf_free(packet[i]);
			continue;
		}
		adjacency = &row->next_hop[hop[i] & 0xff];
		route_one(adjacency, packet[i], plain ? ETHERNET_BYTES : parsed[i].l3_offset,
			  plain ? ttl[i] : parsed[i].ttl);
		bundle = &out[adjacency->egress];
		bundle->packet[bundle->count++] = packet[i];
	}
	for (uint16_t port = 1; port < BENCH_PORTS; port++) {
		struct port_io *io = &row->port[port].io;

		if (out[port].count != 0)
			io->ops->tx_burst(io, 0, out[port].packet, (uint16_t)out[port].count);
	}
}

static void reference_pass(struct row *row, const struct frames *frames)
{
	supply(row, frames);
	row->moved = frames->count;
	while (row->port[0].supply_left != 0)
		reference_burst(row, false);
}

static void reference_plain_pass(struct row *row, const struct frames *frames)
{
	supply(row, frames);
	row->moved = frames->count;
	while (row->port[0].supply_left != 0)
		reference_burst(row, true);
}

static int reference_create(struct row *row)
{
	struct rte_lpm_config conf = {.max_rules = 1024, .number_tbl8s = 256};

	row->lpm = rte_lpm_create(row->name, 0, &conf);
	if (row->lpm == NULL)
		return -ENOMEM;
	for (uint32_t i = 0; i < BENCH_PREFIXES; i++) {
		struct adjacency *adjacency = &row->next_hop[i];

		if (rte_lpm_add(row->lpm, flow_destination(i), 16, i) != 0)
			return -EINVAL;
		uplink_neighbour(i % BENCH_UPLINKS, adjacency->destination_mac);
		memcpy(adjacency->source_mac, "\x02\0\0\0\x10\x01", 6);
		adjacency->egress = (uint16_t)(1 + i % BENCH_UPLINKS);
	}
	return 0;
}

/* ---- the pipelines ---- */

static void pipeline_pass(struct row *row, const struct frames *frames)
{
	supply(row, frames);
	row->moved = frames->count;
	worker_ready(row->worker, 0);
	while (row->port[0].supply_left != 0) {
		row->now_ps += POLL_PS;
		worker_poll(row->worker, row->now_ps);
	}
}

static struct config *load(const char *text)
{
	struct config_errors *errors = calloc(1, sizeof(*errors));
	struct config *config = NULL;

	if (errors != NULL)
		config = config_load_string("bench.yaml", text, strlen(text), errors);
	if (config == NULL && errors != NULL)
		config_print_errors(errors, stderr);
	free(errors);
	return config;
}

static const struct snapshot *snapshot_of(struct row *row, const char *text)
{
	struct config *config = load(text);
	struct apply_port port[BENCH_PORTS];
	struct apply_state state = {.port = port, .packets_max = PACKETS_MAX, .hash_seed = 1};
	const struct snapshot *snapshot = NULL;

	if (config == NULL)
		return NULL;
	for (uint32_t i = 0; i < BENCH_PORTS; i++)
		port[i] = (struct apply_port){
			.link_up = true,
			/* A queue that stands gets the wire's time to the picosecond. */
			.run_ahead_ps = row->kind == FRAMES_ECT ? 0 : POLL_PS,
			.catch_up_ps = row->kind == FRAMES_ECT ? POLL_PS : 0,
		};
	row->fib = fib_create(FIB_DIR24_8, apply_routes_max(config));
	if (row->fib != NULL)
		snapshot = apply_snapshot(config, &state, row->fib, false);
	config_free(config);
	return snapshot;
}

static int pipeline_create(struct row *row, const char *text, struct rte_mempool *pool)
{
	struct leaf_params params = {
		.port_count = BENCH_PORTS,
		.worker_count = 1,
		.pool = pool,
		.packets_max = pool->size,
	};
	uint64_t token;

	row->pool = pool;
	row->snapshot = snapshot_of(row, text);
	row->leaf = leaf_create(&params);
	if (row->snapshot == NULL || row->leaf == NULL)
		return -ENOMEM;
	for (uint16_t i = 0; i < BENCH_PORTS; i++)
		if (leaf_attach(row->leaf, i, &row->port[i].io, 0) != 0)
			return -EINVAL;
	leaf_publish(row->leaf, row->snapshot, &token);
	row->worker = leaf_worker(row->leaf, 0);
	for (uint32_t flow = 0; flow < BENCH_FLOWS && row->kind == FRAMES_BRIDGED; flow++) {
		uint8_t mac[6];

		flow_station(flow, mac);
		fdb_learn(leaf_fdb(row->leaf), fdb_key(mac, 100),
			  (uint16_t)(1 + flow % BENCH_UPLINKS), 0);
	}
	return 0;
}

/* ---- all of them ---- */

/* The routed pipeline, congested. */
static int congested_create(struct row rows[ROW_COUNT], struct rte_mempool *pool,
			    uint32_t frames_max)
{
	char marking[sizeof(config_l3) + sizeof(CONFIG_CLASSES(MARK_ALL))];
	char paused[sizeof(config_l3) + sizeof(CONFIG_CLASSES(""))];
	int rc;

	(void)snprintf(marking, sizeof(marking), "%s%s", config_l3, CONFIG_CLASSES(MARK_ALL));
	(void)snprintf(paused, sizeof(paused), "%s%s", config_l3, CONFIG_CLASSES(""));
	rc = pipeline_create(&rows[ROW_L3_MARKING], marking, pool);
	if (rc == 0)
		rc = marking_create(&rows[ROW_L3_MARKING], frames_max);
	if (rc == 0)
		rc = pipeline_create(&rows[ROW_L3_PAUSED], paused, pool);
	if (rc == 0)
		rc = paused_create(&rows[ROW_L3_PAUSED]);
	return rc;
}

/* Half of the routes have several next hops; their packets are balanced. */
static int balanced_create(struct row rows[ROW_COUNT], struct rte_mempool *pool)
{
	static const struct {
		uint32_t row;
		const char *mode;
	} modes[] = {{ROW_L3_FLOWLET, "flowlet"}, {ROW_L3_SPRAY, "spray-unordered"}};
	char text[sizeof(config_l3) + 64];
	int rc = 0;

	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]) && rc == 0; i++) {
		(void)snprintf(text, sizeof(text), "%sbalance: {mode: %s, gap: 1ms}\n", config_l3,
			       modes[i].mode);
		rc = pipeline_create(&rows[modes[i].row], text, pool);
	}
	return rc;
}

/* In-order spray, at its source: all RDMA flows of the balanced routes are sprayed. */
static void ordered_begin(struct row *row, const struct frames *frames)
{
	struct spray *spray = worker_spray(row->worker);
	struct spray_source *source = &spray->source;

	(void)frames;
	spray->leaf[0].hello_ps = row->now_ps; /* and no more */
	for (uint32_t i = 0; i <= source->mask; i++) {
		if (source->flow[i].state == SPRAY_FREE)
			continue;
		source->flow[i].state = SPRAY_SPRAYED;
		source->flow[i].begun = true;
		source->flow[i].last_ps = row->now_ps;
	}
}

/* Create a pipeline whose text names the key of in-order spray: it is read once, from a file that is gone then. */
#define KEY_PATH "/tmp/roceleaf-bench-XXXXXX"

static int keyed_create(struct row *row, char path[sizeof(KEY_PATH)], int fd, const char *text,
			struct rte_mempool *pool)
{
	int rc = -EIO;

	if (write(fd, "00112233445566778899aabbccddeeff", 32) == 32)
		rc = pipeline_create(row, text, pool);
	if (rc == 0)
		worker_poll(row->worker, row->now_ps); /* it says hello */
	close(fd);
	unlink(path);
	return rc;
}

static int ordered_create(struct row *row, struct rte_mempool *pool)
{
	char path[] = KEY_PATH, text[sizeof(config_l3) + 512];
	int fd = mkstemp(path);

	if (fd < 0)
		return -errno;
	(void)snprintf(
		text, sizeof(text),
		"%sbalance: {mode: spray, spray: {key_file: %s, peers: [{address: 10.24.0.1, "
		"prefixes: [10.24.0.0/16, 10.25.0.0/16, 10.26.0.0/16, 10.27.0.0/16, 10.28.0.0/16, "
		"10.29.0.0/16, 10.30.0.0/16, 10.31.0.0/16]}]}}\n",
		config_l3, path);
	return keyed_create(row, path, fd, text, pool);
}

/* ---- towards hosts ---- */

/* Every RDMA packet has the number that is due, as it comes from a leaf that sprays. */
static void number_frames(struct row *row, const struct frames *frames)
{
	for (uint32_t i = 0; i < frames->count; i++) {
		uint8_t *udp = packet_data(frames->packet[i]) + ETHERNET_BYTES + IPV4_BYTES_MIN;
		uint16_t *next = &row->number[frames->flow[i]], number = rte_cpu_to_be_16(*next);

		if (udp[-11] != IP_PROTOCOL_UDP)
			continue;
		memcpy(udp + 6, &number, sizeof(number));
		*next = sequence_next(*next);
	}
}

/* Agreements on all flows, as a leaf has asked for them. */
static int agree(struct row *row)
{
	struct spray *spray = worker_spray(row->worker);

	for (uint32_t flow = 0; flow < BENCH_FLOWS; flow++) {
		uint32_t addresses[2] = {rte_cpu_to_be_32(flow_source(flow)),
					 rte_cpu_to_be_32(flow_destination(flow))};
		struct balance_key key =
			balance_key_ipv4((const uint8_t *)addresses, flow, FRAMES_DSCP_ROCE);

		row->number[flow] = SEQUENCE_FIRST;
		if (resequencer_install(spray->resequencer, &key,
					&(struct resequencer_owner){.epoch = 1}, SEQUENCE_FIRST,
					(uint16_t)(1 + flow % BENCH_PREFIXES / 4), 0,
					row->now_ps) != RESEQUENCER_YES)
			return -EINVAL;
	}
	return 0;
}

static int down_create(struct row *row, bool numbered, struct rte_mempool *pool)
{
	char text[8192], path[] = KEY_PATH;
	size_t size = (size_t)snprintf(text, sizeof(text),
				       "%sneighbours:\n"
				       "  - {address: 10.255.0.1, mac: '02:00:00:00:40:00'}\n",
				       config_down);
	int fd, rc;

	for (uint32_t flow = 0; flow < BENCH_FLOWS; flow++)
		size += (size_t)snprintf(text + size, sizeof(text) - size,
					 "  - {address: 10.%u.1.%u, mac: '02:00:00:00:20:%02x'}\n",
					 16 + flow % BENCH_PREFIXES, 1 + flow,
					 flow % BENCH_PREFIXES / 4);
	if (!numbered)
		return pipeline_create(row, text, pool);
	fd = mkstemp(path);
	if (fd < 0)
		return -errno;
	(void)snprintf(text + size, sizeof(text) - size,
		       "balance: {mode: spray, spray: {key_file: %s, peers: [{address: "
		       "10.1.0.254, prefixes: [10.1.0.0/16]}]}}\n",
		       path);
	rc = keyed_create(row, path, fd, text, pool);
	return rc == 0 ? agree(row) : rc;
}

int rows_create(struct row rows[ROW_COUNT], struct rte_mempool *pool, uint32_t frames_max)
{
	int rc;

	memset(rows, 0, ROW_COUNT * sizeof(*rows));
	rows[ROW_REFERENCE].name = "reference-lpm";
	rows[ROW_REFERENCE].pass = reference_pass;
	rows[ROW_REFERENCE_PLAIN].name = "reference-plain";
	rows[ROW_REFERENCE_PLAIN].pass = reference_plain_pass;
	rows[ROW_PIPELINE_L3].name = "pipeline-l3";
	rows[ROW_PIPELINE_L3].pass = pipeline_pass;
	rows[ROW_PIPELINE_L2].name = "pipeline-l2";
	rows[ROW_PIPELINE_L2].pass = pipeline_pass;
	rows[ROW_PIPELINE_L2].kind = FRAMES_BRIDGED;
	rows[ROW_L3_MARKING] = (struct row){.name = "pipeline-l3",
					    .state = "marking",
					    .kind = FRAMES_ECT,
					    .begin = marking_begin,
					    .pass = marking_pass,
					    .end = marking_end};
	rows[ROW_L3_PAUSED] = (struct row){.name = "pipeline-l3",
					   .state = "paused",
					   .begin = paused_begin,
					   .pass = paused_pass};
	rows[ROW_L3_FLOWLET] = (struct row){.name = "pipeline-l3-flowlet", .pass = pipeline_pass};
	rows[ROW_L3_SPRAY] =
		(struct row){.name = "pipeline-l3-spray-unordered", .pass = pipeline_pass};
	rows[ROW_L3_SPRAY_ORDERED] = (struct row){
		.name = "pipeline-l3-spray", .begin = ordered_begin, .pass = pipeline_pass};
	rows[ROW_L3_DOWN] = (struct row){.name = "pipeline-l3-down", .pass = pipeline_pass};
	rows[ROW_L3_ORDER] = (struct row){
		.name = "pipeline-l3-order", .prepare = number_frames, .pass = pipeline_pass};
	for (uint32_t i = 0; i < ROW_COUNT; i++) {
		if (rows[i].state == NULL)
			rows[i].state = "idle";
		for (uint16_t port = 0; port < BENCH_PORTS; port++)
			bench_io_init(&rows[i].port[port], port);
	}
	rc = reference_create(&rows[ROW_REFERENCE]);
	if (rc == 0)
		rc = reference_create(&rows[ROW_REFERENCE_PLAIN]);
	if (rc == 0)
		rc = pipeline_create(&rows[ROW_PIPELINE_L3], config_l3, pool);
	if (rc == 0)
		rc = pipeline_create(&rows[ROW_PIPELINE_L2], config_l2, pool);
	if (rc == 0)
		rc = balanced_create(rows, pool);
	if (rc == 0)
		rc = ordered_create(&rows[ROW_L3_SPRAY_ORDERED], pool);
	if (rc == 0)
		rc = down_create(&rows[ROW_L3_DOWN], false, pool);
	if (rc == 0)
		rc = down_create(&rows[ROW_L3_ORDER], true, pool);
	if (rc == 0)
		rc = congested_create(rows, pool, frames_max);
	if (rc != 0) {
		fprintf(stderr, "roceleaf-bench: can't set up: %s\n", strerror(-rc));
		rows_free(rows);
	}
	return rc;
}

void rows_free(struct row rows[ROW_COUNT])
{
	for (uint32_t i = 0; i < ROW_COUNT; i++) {
		leaf_free(rows[i].leaf);
		snapshot_free(rows[i].snapshot);
		fib_free(rows[i].fib);
		rte_lpm_free(rows[i].lpm);
		free(rows[i].outside);
		free(rows[i].sent);
	}
}

/* Was a routed frame rewritten right? By its bytes, not by our own arithmetic. */
static bool frame_is_routed(struct rte_mbuf *packet)
{
	const uint8_t *frame = packet_data(packet);
	const struct rte_ipv4_hdr *ip = (const struct rte_ipv4_hdr *)(const void *)(frame + 14);

	return memcmp(frame, "\x02\0\0\0\x20", 5) == 0 && frame[5] < BENCH_UPLINKS &&
	       memcmp(frame + 6, "\x02\0\0\0\x10\x01", 6) == 0 && ip->time_to_live == 63 &&
	       rte_raw_cksum(ip, sizeof(*ip)) == 0xffff;
}

/* Every packet that left was marked, for two passes. */
static int marking_check(struct row *row, struct frames *frames)
{
	uint32_t unmarked = 0, moved = 0, uplinks;

	row->begin(row, frames);
	for (uint32_t pass = 0; pass < 2; pass++) {
		frames_restore(frames);
		row->pass(row, frames);
		moved += row->outside_count;
		for (uint32_t i = 0; i < row->outside_count; i++)
			unmarked += (packet_data(row->outside[i])[15] & 3) != 3;
	}
	uplinks = row->outside_count;
	row->end(row, frames);
	if (unmarked == 0 && moved >= frames->count / 2 && uplinks < frames->count &&
	    row->sent_count == frames->count)
		return 0;
	fprintf(stderr, "roceleaf-bench: marking: %u of %u frames unmarked, %u of %u came back\n",
		unmarked, moved, row->sent_count, frames->count);
	return -EINVAL;
}

void row_prepare(struct row *row, struct frames *frames)
{
	frames_restore(frames);
	if (row->prepare != NULL)
		row->prepare(row, frames);
}

int row_check(struct row *row, struct frames *frames)
{
	uint64_t before = 0, sent = 0;
	uint32_t wrong = 0;

	if (row->kind == FRAMES_ECT)
		return marking_check(row, frames);
	if (row->begin != NULL)
		row->begin(row, frames);
	row_prepare(row, frames);
	for (uint32_t port = 1; port < BENCH_PORTS; port++)
		before += row->port[port].sent;
	row->pass(row, frames);
	for (uint32_t port = 1; port < BENCH_PORTS; port++) {
		sent += row->port[port].sent;
		if (row->port[port].sent == 0)
			wrong++;
	}
	for (uint32_t i = 0; i < frames->count && row->kind == FRAMES_ROUTED; i++)
		wrong += !frame_is_routed(frames->packet[i]);
	if (row->begin == paused_begin && !paused_is_held(row)) {
		fprintf(stderr, "roceleaf-bench: paused: packets have left a paused queue\n");
		return -EINVAL;
	}
	if (sent - before == frames->count && wrong == 0)
		return 0;
	fprintf(stderr, "roceleaf-bench: %s sent %" PRIu64 " of %u frames, %u wrong\n", row->name,
		sent - before, frames->count, wrong);
	return -EINVAL;
}
