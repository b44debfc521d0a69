/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A daemon that only looks like one: what telemetry reads, in numbers that the tests know.
 */
#include "tests/unit/telemetry_fake.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/apply.h"
#include "control/history.h"
#include "control/steps.h"

struct fake fake;

void fake_reset(uint16_t ports)
{
	free(fake.ports);
	memset(&fake, 0, sizeof(fake));
	fake.ports = calloc(ports, sizeof(*fake.ports));
	fake.config.ports = fake.ports;
	fake.config.port_count = ports;
	fake.config.path = fake.path;
	strcpy(fake.path, "/etc/leaf.yaml");
	strcpy(fake.config.leaf.name, "leaf1");
	fake.config.class_count = 0;
	fake.snapshot.fdb_age_ps = 300 * PS_PER_S;
	fake.snapshot.neighbour = fake.slots;
	fake.snapshot.neighbour_mask = FAKE_NEIGHBOUR_SLOTS - 1;
	fake.snapshot.adjacency = fake.adjacencies;
	fake.snapshot.port_count = ports;
	fake.snapshot.port = fake.tables;
	fake.snapshot.buffer.pair = fake.pairs;
	fake.snapshot.buffer.mark = fake.marks;
	for (unsigned i = 0; i < PRIORITY_COUNT * PORT_COUNT_MAX; i++)
		fake.marks[i] = (struct mark_table){.ecn_min_bytes = UINT32_MAX,
						    .wred_min_bytes = UINT32_MAX};
	for (unsigned i = 0; i < FAKE_NEIGHBOUR_SLOTS; i++)
		fake.slots[i].interface = INTERFACE_NONE;
	fake.now_ps = 1000 * PS_PER_S;
	for (uint16_t p = 0; p < ports; p++) {
		snprintf(fake.ports[p].name, sizeof(fake.ports[p].name), "port%u", p);
		snprintf(fake.ports[p].device, sizeof(fake.ports[p].device), "veth%u", p);
		fake.ports[p].mtu_bytes = 1500;
	}
}

/* --- daemon.h --- */

void daemon_lock(struct daemon *daemon)
{
	(void)daemon;
	__atomic_add_fetch(&fake.locked, 1, __ATOMIC_SEQ_CST);
}

void daemon_unlock(struct daemon *daemon)
{
	(void)daemon;
	__atomic_sub_fetch(&fake.locked, 1, __ATOMIC_SEQ_CST);
}

const struct config *daemon_config(const struct daemon *daemon)
{
	(void)daemon;
	return &fake.config;
}

const struct snapshot *daemon_snapshot(const struct daemon *daemon)
{
	(void)daemon;
	return &fake.snapshot;
}

struct leaf *daemon_leaf(const struct daemon *daemon)
{
	(void)daemon;
	return NULL;
}

void daemon_info(const struct daemon *daemon, struct daemon_info *info)
{
	(void)daemon;
	*info = (struct daemon_info){.version = "0.1", .pid = 7, .started_ns = FAKE_STARTED_NS};
}

uint64_t daemon_now_ps(const struct daemon *daemon)
{
	(void)daemon;
	return fake.now_ps;
}

int daemon_port(const struct daemon *daemon, uint16_t port, struct daemon_port *out)
{
	(void)daemon;
	*out = (struct daemon_port){
		.driver = "packet_mmap",
		.rx_queues = 1,
		.link_up = true,
		.rate_bps = UINT64_C(100000000000),
		.stats.rx_missed_packets = fake.missed[port],
	};
	return 0;
}

uint16_t daemon_worker_count(const struct daemon *daemon)
{
	(void)daemon;
	return 1;
}

int daemon_worker(const struct daemon *daemon, uint16_t worker, struct daemon_worker *out)
{
	(void)daemon;
	(void)worker;
	*out = (struct daemon_worker){.cpu = 3,
				      .polls = 11,
				      .busy_ns = 4,
				      .idle_ns = 6,
				      .ring_packets_max = 96,
				      .stalls = 2,
				      .reactions = {[1] = 7, [11] = 1},
				      .poll_times = {[0] = 5, [3] = 4}};
	return 0;
}

uint16_t daemon_interface_count(const struct daemon *daemon)
{
	(void)daemon;
	return fake.interfaces;
}

int daemon_interface(const struct daemon *daemon, uint16_t interface, struct daemon_interface *out)
{
	(void)daemon;
	*out = (struct daemon_interface){.port = interface, .carrier = true};
	snprintf(out->name, sizeof(out->name), "if%u", interface);
	return interface < fake.interfaces ? 0 : -ERANGE;
}

uint32_t daemon_neighbours(const struct daemon *daemon, struct daemon_neighbour *out, uint32_t max)
{
	(void)daemon;
	for (uint32_t i = 0; i < fake.neighbours && i < max; i++)
		out[i] = (struct daemon_neighbour){
			.address = {.family = 6,
				    .bytes = {0xfd, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i}},
			.mac = {2, 0, 0, 0, (uint8_t)(i >> 8), (uint8_t)i},
			.interface = 0,
			.port = PORT_NONE,
			.state = DAEMON_NEIGHBOUR_RESOLVED,
		};
	return fake.neighbours;
}

void daemon_hold(const struct daemon *daemon, struct daemon_hold *out)
{
	(void)daemon;
	*out = (struct daemon_hold){.expired = fake.hold_expired};
}

struct events *daemon_events(struct daemon *daemon)
{
	(void)daemon;
	return NULL;
}

uint32_t daemon_steps(struct daemon *daemon, uint64_t after, struct step *out, uint32_t max)
{
	uint32_t n = 0;

	(void)daemon;
	for (uint64_t sequence = after + 1; sequence <= fake.steps && n < max; sequence++, n++) {
		out[n] = (struct step){
			.sequence = sequence,
			.running = sequence == fake.steps,
			.sum = {.tx_bytes = fake.large ? UINT64_MAX : sequence},
			.hottest = 0,
			.straggler = STEP_PORT_NONE,
		};
		memset(out[n].text, 'x', MARK_TEXT_BYTES);
	}
	return n;
}

const struct history *daemon_history(const struct daemon *daemon)
{
	static struct history *empty;

	(void)daemon;
	if (fake.history == NULL && empty == NULL)
		empty = history_create(1, 1);
	return fake.history != NULL ? fake.history : empty;
}

const struct recording *daemon_recording(const struct daemon *daemon)
{
	(void)daemon;
	return fake.recording;
}

/* --- events.h --- */

uint32_t events_read(struct events *events, uint64_t after, struct event *out, uint32_t max)
{
	uint32_t n = 0;

	(void)events;
	for (uint64_t sequence = after + 1; sequence <= fake.events && n < max; sequence++) {
		out[n] = (struct event){
			.sequence = sequence,
			.time_ns = sequence,
			.about = {.type = EVENT_WARNING,
				  .priority = EVENT_PRIORITY_NONE,
				  .port = EVENT_PORT_NONE},
		};
		memcpy(out[n].text, fake.event_text, sizeof(out[n].text));
		n++;
	}
	return n;
}

const char *event_name(enum event_type type)
{
	return type == EVENT_WARNING ? "warning" : type == EVENT_MARK ? "mark" : "?";
}

uint64_t events_count(struct events *events, enum event_type type)
{
	(void)events;
	return type == EVENT_WARNING ? 33 : 1;
}

uint64_t events_suppressed(struct events *events, enum event_type type)
{
	(void)events;
	return type == EVENT_WARNING ? 7 : 0;
}

/* --- leaf.h, fdb.h --- */

void leaf_port_totals(const struct leaf *leaf, uint16_t port, struct port_totals *totals)
{
	(void)leaf;
	memset(totals, 0, sizeof(*totals));
	totals->rx_packets = fake.large ? UINT64_MAX : port;
	totals->consumed = fake.consumed;
	totals->consumed_bytes = fake.consumed;
	totals->drop[DROP_TTL] = fake.drop_ttl[port];
	totals->drop[DROP_NO_ROUTE] = fake.drop_no_route[port];
}

void leaf_queue_totals(const struct leaf *leaf, uint16_t port, uint8_t priority,
		       struct queue_totals *totals)
{
	(void)leaf;
	memset(totals, fake.large ? 0xFF : 0, sizeof(*totals));
	totals->tx_packets = (uint64_t)port * PRIORITY_COUNT + priority;
}

void leaf_queue_rare_totals(const struct leaf *leaf, uint16_t port, uint8_t priority,
			    struct queue_rare_totals *totals)
{
	(void)leaf;
	*totals = (struct queue_rare_totals){
		.ecn_marked_bytes = 900,
		.wred_packets = port,
		.wred_bytes = priority,
		.watchdog_packets = port * 100u,
		.watchdog_bytes = priority,
		.headroom_packets = port * 1000u,
		.headroom_bytes = priority,
	};
}

uint32_t leaf_queue_average_bytes(const struct leaf *leaf, const struct snapshot *snapshot,
				  uint16_t port, uint8_t priority, uint64_t now_ps)
{
	(void)leaf;
	return snapshot_mark(snapshot, port, priority)->half_life_ps != 0
		       ? (uint32_t)(now_ps / PS_PER_S)
		       : 0;
}

void leaf_pfc_totals(const struct leaf *leaf, uint16_t port, uint8_t priority, uint64_t now_ps,
		     struct pfc_totals *totals)
{
	(void)leaf;
	*totals = (struct pfc_totals){
		.rx_frames = (uint64_t)port * PRIORITY_COUNT + priority,
		.rx_paused_ps = now_ps,
		.rx_paused = priority == 3,
		.rx_pauses = priority == 3,
		.rx_last_ps = now_ps - 3000 * PS_PER_S,
		.tx_pauses = priority == 4,
		.tx_last_ps = now_ps + PS_PER_S,
		.storms = port,
		.restored = 1,
	};
}

void leaf_pfc_port_totals(const struct leaf *leaf, uint16_t port, struct pfc_port_totals *totals)
{
	(void)leaf;
	*totals = (struct pfc_port_totals){.rx_bad = port};
}

void leaf_buffer_totals(const struct leaf *leaf, const struct snapshot *snapshot, uint16_t port,
			uint8_t priority, struct buffer_totals *totals)
{
	(void)leaf;
	(void)snapshot;
	*totals = (struct buffer_totals){
		.occupancy_bytes = port, .peak_bytes = priority, .reasons = fake.reasons};
}

void leaf_buffer_pool_totals(const struct leaf *leaf, const struct snapshot *snapshot,
			     struct buffer_pool_totals *totals)
{
	(void)leaf;
	(void)snapshot;
	*totals = (struct buffer_pool_totals){.shared_used_bytes = 11,
					      .shared_peak_bytes = 12,
					      .headroom_used_bytes = 13,
					      .headroom_peak_bytes = 14,
					      .guarded = true,
					      .guards = 4};
}

struct fdb *leaf_fdb(struct leaf *leaf)
{
	(void)leaf;
	return NULL;
}

uint32_t fdb_slot_count(const struct fdb *fdb)
{
	(void)fdb;
	return fake.fdb_slots;
}

bool fdb_entry_get(const struct fdb *fdb, uint32_t slot, struct fdb_entry *entry)
{
	(void)fdb;
	if (slot % fake.fdb_every != 0)
		return false;
	*entry = (struct fdb_entry){
		.mac = {2, 0, (uint8_t)(slot >> 24), (uint8_t)(slot >> 16), (uint8_t)(slot >> 8),
			(uint8_t)slot},
		.vlan = 100,
		.egress = 0,
		.seen_ps = fake.now_ps - slot * PS_PER_MS,
	};
	return true;
}

/* --- apply.h --- */

uint16_t apply_interface_count(const struct config *config)
{
	(void)config;
	return fake.interfaces;
}

void apply_interface(const struct config *config, uint16_t index, struct apply_interface *out)
{
	(void)config;
	*out = (struct apply_interface){
		.port = index,
		.mtu_bytes = 1500,
		.address = fake.address[index],
		.address_count = fake.address_count,
	};
	snprintf(out->name, sizeof(out->name), "if%u", index);
}

/* What only metrics show. */
void leaf_peaks(const struct leaf *leaf, uint16_t port, uint8_t priority, enum peak_kind kind,
		struct peak_totals *totals)
{
	(void)leaf;
	*totals = (struct peak_totals){.queue_bytes = port * 100u + kind,
				       .occupancy_bytes = priority,
				       .headroom_bytes = 5};
}

void leaf_pool_peaks(const struct leaf *leaf, enum peak_kind kind, struct pool_peak_totals *totals)
{
	(void)leaf;
	*totals = (struct pool_peak_totals){.shared_bytes = 12u + kind, .headroom_bytes = 14};
}

void leaf_flows(const struct leaf *leaf, uint64_t now_ps, struct leaf_flows *flows,
		uint64_t *port_bytes)
{
	(void)leaf;
	(void)now_ps;
	flows->bytes = 0;
	flows->count = fake.flows;
	for (uint32_t i = 0; i < fake.flows; i++) {
		flows->flow[i] = fake.flow;
		flows->flow[i].key.qp = i;
		flows->flow[i].bytes = 1000 * (fake.flows - i);
		flows->bytes += flows->flow[i].bytes;
	}
	if (port_bytes != NULL) {
		memset(port_bytes, 0, sizeof(*port_bytes) * (fake.config.port_count + 1u));
		port_bytes[1] = flows->bytes / 4 * 3;
		port_bytes[2] = flows->bytes / 4;
	}
}

uint64_t leaf_spread_bytes(const struct leaf *leaf, uint16_t port)
{
	(void)leaf;
	return port * 1000u;
}

uint8_t leaf_quality_band(const struct leaf *leaf, uint16_t port)
{
	(void)leaf;
	return (uint8_t)(port + 1);
}

void leaf_spray_totals(const struct leaf *leaf, struct spray_totals *totals)
{
	(void)leaf;
	*totals = (struct spray_totals){.held_bytes = 5,
					.held_bytes_max = 6,
					.restored = 40,
					.late = 2,
					.lost = {1, 0, 0, 0, 3}};
}

void leaf_balance_totals(const struct leaf *leaf, struct balance_totals *totals)
{
	(void)leaf;
	*totals = (struct balance_totals){.flowlets = 9};
}

void leaf_conservation(const struct leaf *leaf, struct leaf_conservation *sum)
{
	(void)leaf;
	*sum = (struct leaf_conservation){.queued = 77};
}
