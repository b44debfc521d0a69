/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/telemetry_tables.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "control/events.h"

#define COUNTER_COLUMN_(field, unit, ...) telemetry_page_counter(page, #field, unit);

const char *const telemetry_peak_names[PEAK_KINDS] = {
#define PEAK_NAME_(id, name, help) [PEAK_##id] = (name),
	PEAK_KINDS_LIST(PEAK_NAME_)
#undef PEAK_NAME_
};

void telemetry_mac_text(const uint8_t mac[6], char text[TELEMETRY_MAC_BYTES])
{
	snprintf(text, TELEMETRY_MAC_BYTES, "%02x:%02x:%02x:%02x:%02x:%02x", mac[0], mac[1], mac[2],
		 mac[3], mac[4], mac[5]);
}

const char *telemetry_port_name(const struct config *config, uint16_t port)
{
	if (port == config->port_count)
		return "cpu";
	return port < config->port_count ? config->ports[port].name : "-";
}

const struct config_class *telemetry_class_of(const struct config *config, uint8_t priority)
{
	for (uint8_t i = 0; i < config->class_count; i++)
		if (config->classes[i].priority == priority)
			return &config->classes[i];
	return NULL;
}

void telemetry_pair_columns(struct telemetry_page *page)
{
	telemetry_page_column(page, "port", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "priority", TELEMETRY_KEY);
	telemetry_page_column(page, "class", TELEMETRY_TEXT);
}

void telemetry_pair_cells(struct telemetry_page *page, const struct config *config, uint64_t pair)
{
	uint8_t priority = (uint8_t)(pair % PRIORITY_COUNT);
	const struct config_class *class = telemetry_class_of(config, priority);

	telemetry_page_text(page, telemetry_port_name(config, (uint16_t)(pair / PRIORITY_COUNT)));
	telemetry_page_number(page, priority);
	telemetry_page_text(page, class == NULL ? "-" : class->name);
}

/*
 * Append the set bits as ranges, "0-25,27,48-50"; what doesn't fit becomes "...".
 */
static void ranges_text(char *text, size_t size, const uint64_t *bits, uint32_t bit_count)
{
	size_t used = 0;
	char range[16];

	text[0] = '\0';
	for (uint32_t first = 0, last; first < bit_count; first = last + 1) {
		last = first;
		if ((bits[first / 64] >> first % 64 & 1) == 0)
			continue;
		while (last + 1 < bit_count && (bits[(last + 1) / 64] >> (last + 1) % 64 & 1) != 0)
			last++;
		if (first == last)
			snprintf(range, sizeof(range), "%s%" PRIu32, used == 0 ? "" : ",", first);
		else
			snprintf(range, sizeof(range), "%s%" PRIu32 "-%" PRIu32,
				 used == 0 ? "" : ",", first, last);
		if (used + strlen(range) + sizeof(",...") > size) {
			snprintf(text + used, size - used, ",...");
			return;
		}
		used += (size_t)snprintf(text + used, size - used, "%s", range);
	}
}

uint64_t telemetry_info(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	struct daemon_info info;
	const struct config *config;

	telemetry_page_column(page, "name", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "version", TELEMETRY_TEXT);
	telemetry_page_column(page, "config", TELEMETRY_TEXT);
	telemetry_page_column(page, "pid", 0);
	telemetry_page_column(page, "started_ns", 0);
	telemetry_page_column(page, "uptime_ns", 0);
	telemetry_page_column(page, "reloads", 0);
	telemetry_page_column(page, "reloads_refused", 0);
	telemetry_page_column(page, "reload_ns", 0);
	telemetry_page_column(page, "ports", 0);
	telemetry_page_column(page, "workers", 0);
	telemetry_page_column(page, "hugepages", TELEMETRY_FLAG);
	telemetry_page_column(page, "idle_adaptive", TELEMETRY_FLAG);
	telemetry_page_column(page, "buffer_count", 0);
	telemetry_page_column(page, "buffer_free", 0);
	telemetry_page_column(page, "buffer_bytes", 0);
	telemetry_page_column(page, "data_bytes", 0);
	if (cursor != 0 || !telemetry_page_row(page))
		return 0;

	daemon_lock(daemon);
	config = daemon_config(daemon);
	daemon_info(daemon, &info);
	telemetry_page_text(page, config->leaf.name);
	telemetry_page_text(page, info.version);
	telemetry_page_text(page, config->path);
	telemetry_page_number(page, (uint64_t)info.pid);
	telemetry_page_number(page, info.started_ns);
	telemetry_page_number(page, info.uptime_ns);
	telemetry_page_number(page, info.reloads);
	telemetry_page_number(page, info.reloads_refused);
	telemetry_page_number(page, info.reload_ns);
	telemetry_page_number(page, config->port_count);
	telemetry_page_number(page, daemon_worker_count(daemon));
	telemetry_page_number(page, info.hugepages);
	telemetry_page_number(page, info.idle_adaptive);
	telemetry_page_number(page, info.buffer_count);
	telemetry_page_number(page, info.buffer_free);
	telemetry_page_number(page, info.buffer_bytes);
	telemetry_page_number(page, info.data_bytes);
	daemon_unlock(daemon);
	return 0;
}

/* --- ports --- */

/* "vlan 100", "trunk 100,200 native 5", "routed" */
static void mode_text(const struct config_port *port, char *text, size_t size)
{
	char vlans[96], native[24] = "";

	if (port->trunk) {
		ranges_text(vlans, sizeof(vlans), port->trunk_vlans, CONFIG_VLAN_MAX + 1);
		if (port->native_vlan != 0)
			snprintf(native, sizeof(native), " native %u", port->native_vlan);
		snprintf(text, size, "trunk %s%s", vlans, native);
	} else if (port->access_vlan != 0) {
		snprintf(text, size, "vlan %u", port->access_vlan);
	} else {
		snprintf(text, size, "routed");
	}
}

static void port_describe_real(struct telemetry_page *page, const struct config_port *port,
			       const struct daemon_port *state)
{
	char mac[TELEMETRY_MAC_BYTES], mode[TELEMETRY_TEXT_BYTES + 1];

	telemetry_mac_text(state->mac, mac);
	mode_text(port, mode, sizeof(mode));
	telemetry_page_text(page, port->device);
	telemetry_page_text(page, state->driver);
	telemetry_page_text(page, mac);
	telemetry_page_text(page, state->gone      ? "gone"
				  : state->link_up ? "up"
				  : state->damped  ? "damped"
						   : "down");
	telemetry_page_text(page, mode);
	telemetry_page_number(page, state->rate_bps);
	telemetry_page_number(page, state->device_bps);
	telemetry_page_number(page, port->mtu_bytes);
	telemetry_page_number(page, state->owner);
	telemetry_page_number(page, state->rx_queues);
	telemetry_page_number(page, state->link_changed_ns);
	telemetry_page_number(page, state->link_changes);
}

/* The same columns for the CPU's port, which has no device. */
static void port_describe_cpu(struct telemetry_page *page)
{
	telemetry_page_text(page, "-");
	telemetry_page_text(page, "-");
	telemetry_page_text(page, "-");
	telemetry_page_text(page, "up");
	telemetry_page_text(page, "kernel");
	for (int i = 0; i < 7; i++)
		telemetry_page_number(page, 0);
}

static void port_count(struct telemetry_page *page, const struct port_totals *totals,
		       const struct port_io_stats *stats)
{
	uint64_t drops = 0;

	for (unsigned reason = 0; reason < DROP_COUNT; reason++)
		drops += totals->drop[reason];
#define TOTAL_CELL_(field, ...) telemetry_page_number(page, totals->field);
	PORT_COUNTERS(TOTAL_CELL_)
#undef TOTAL_CELL_
	telemetry_page_number(page, drops);
#define DEVICE_CELL_(field, ...) telemetry_page_number(page, stats->field);
	DEVICE_LOSSES(DEVICE_CELL_)
	DEVICE_NOTES(DEVICE_CELL_)
#undef DEVICE_CELL_
}

uint64_t telemetry_ports(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct config *config;
	uint64_t port;
	uint16_t count;

	telemetry_page_column(page, "port", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "device", TELEMETRY_TEXT);
	telemetry_page_column(page, "driver", TELEMETRY_TEXT);
	telemetry_page_column(page, "mac", TELEMETRY_TEXT);
	telemetry_page_column(page, "state", TELEMETRY_TEXT);
	telemetry_page_column(page, "mode", TELEMETRY_TEXT);
	telemetry_page_column(page, "speed_bps", 0);
	telemetry_page_column(page, "device_bps", 0);
	telemetry_page_column(page, "mtu_bytes", 0);
	telemetry_page_column(page, "worker", 0);
	telemetry_page_column(page, "rx_queues", 0);
	telemetry_page_column(page, "link_changed_ns", 0);
	telemetry_page_counter(page, "link_changes", "changes");
	PORT_COUNTERS(COUNTER_COLUMN_)
	telemetry_page_counter(page, "drop_packets", "packets");
	DEVICE_LOSSES(COUNTER_COLUMN_)
	DEVICE_NOTES(COUNTER_COLUMN_)

	daemon_lock(daemon);
	config = daemon_config(daemon);
	count = config->port_count;
	for (port = cursor; port <= count && telemetry_page_row(page); port++) {
		struct daemon_port state = {.driver = ""};
		struct port_totals totals;

		leaf_port_totals(daemon_leaf(daemon), (uint16_t)port, &totals);
		telemetry_data_only(&totals, port == count);
		telemetry_page_text(page, telemetry_port_name(config, (uint16_t)port));
		if (port < count) {
			(void)daemon_port(daemon, (uint16_t)port, &state);
			port_describe_real(page, &config->ports[port], &state);
		} else {
			port_describe_cpu(page);
		}
		port_count(page, &totals, &state.stats);
	}
	daemon_unlock(daemon);
	return port <= count ? port : 0;
}

/* --- queues and classes --- */

uint64_t telemetry_queues(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct config *config;
	uint64_t queue, count;

	telemetry_pair_columns(page);
	telemetry_page_column(page, "lossless", TELEMETRY_FLAG);
	QUEUE_COUNTERS(COUNTER_COLUMN_)
	telemetry_page_column(page, "depth_packets", 0);
	telemetry_page_column(page, "depth_bytes", 0);
	telemetry_page_column(page, "depth_bytes_max", 0);

	daemon_lock(daemon);
	config = daemon_config(daemon);
	count = (uint64_t)(config->port_count + 1) * PRIORITY_COUNT;
	for (queue = cursor; queue < count && telemetry_page_row(page); queue++) {
		uint16_t port = (uint16_t)(queue / PRIORITY_COUNT);
		uint8_t priority = (uint8_t)(queue % PRIORITY_COUNT);
		const struct config_class *class = telemetry_class_of(config, priority);
		struct queue_totals totals;

		leaf_queue_totals(daemon_leaf(daemon), port, priority, &totals);
		telemetry_pair_cells(page, config, queue);
		telemetry_page_number(page, class != NULL && class->lossless);
#define TOTAL_CELL_(field, ...) telemetry_page_number(page, totals.field);
		QUEUE_COUNTERS(TOTAL_CELL_)
#undef TOTAL_CELL_
		telemetry_page_number(page, totals.depth_packets);
		telemetry_page_number(page, totals.depth_bytes);
		telemetry_page_number(page, totals.depth_bytes_max);
	}
	daemon_unlock(daemon);
	return queue < count ? queue : 0;
}

/* Sum of a class's queues over all ports. */
static void class_totals(const struct leaf *leaf, uint16_t ports, uint8_t priority,
			 struct queue_totals *sum)
{
	memset(sum, 0, sizeof(*sum));
	for (uint16_t port = 0; port < ports; port++) {
		struct queue_totals totals;

		leaf_queue_totals(leaf, port, priority, &totals);
#define TOTAL_SUM_(field, ...) sum->field += totals.field;
		QUEUE_COUNTERS(TOTAL_SUM_)
#undef TOTAL_SUM_
		sum->depth_packets += totals.depth_packets;
		sum->depth_bytes += totals.depth_bytes;
	}
}

uint64_t telemetry_classes(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct config *config;
	uint64_t i;
	uint8_t count;

	telemetry_page_column(page, "class", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "priority", TELEMETRY_KEY);
	telemetry_page_column(page, "lossless", TELEMETRY_FLAG);
	telemetry_page_column(page, "strict", TELEMETRY_FLAG);
	telemetry_page_column(page, "default", TELEMETRY_FLAG);
	telemetry_page_column(page, "weight", 0);
	telemetry_page_column(page, "max_rate_bps", 0);
	telemetry_page_column(page, "max_rate_ppm", 0);
	telemetry_page_column(page, "dscp", TELEMETRY_TEXT);
	telemetry_page_column(page, "pcp", TELEMETRY_TEXT);
	QUEUE_COUNTERS(COUNTER_COLUMN_)
	telemetry_page_column(page, "depth_packets", 0);
	telemetry_page_column(page, "depth_bytes", 0);

	daemon_lock(daemon);
	config = daemon_config(daemon);
	count = config->class_count;
	for (i = cursor; i < count && telemetry_page_row(page); i++) {
		const struct config_class *class = &config->classes[i];
		char dscp[TELEMETRY_TEXT_BYTES + 1], pcp[24];
		uint64_t pcp_bits = class->pcp;
		struct queue_totals totals;

		ranges_text(dscp, sizeof(dscp), &class->dscp, 64);
		ranges_text(pcp, sizeof(pcp), &pcp_bits, 8);
		class_totals(daemon_leaf(daemon), (uint16_t)(config->port_count + 1),
			     class->priority, &totals);
		telemetry_page_text(page, class->name);
		telemetry_page_number(page, class->priority);
		telemetry_page_number(page, class->lossless);
		telemetry_page_number(page, class->strict);
		telemetry_page_number(page, i == config->default_class);
		telemetry_page_number(page, class->weight);
		telemetry_page_number(page, class->max_rate_bps);
		telemetry_page_number(page, class->max_rate_ppm);
		telemetry_page_text(page, dscp);
		telemetry_page_text(page, pcp);
#define TOTAL_CELL_(field, ...) telemetry_page_number(page, totals.field);
		QUEUE_COUNTERS(TOTAL_CELL_)
#undef TOTAL_CELL_
		telemetry_page_number(page, totals.depth_packets);
		telemetry_page_number(page, totals.depth_bytes);
	}
	daemon_unlock(daemon);
	return i < count ? i : 0;
}

/* --- workers --- */

/* Names of a histogram's buckets. */
#define BUCKETS(name)                                                                              \
	{                                                                                          \
		name "_1us", name "_2us", name "_4us", name "_8us", name "_16us", name "_32us",    \
			name "_64us", name "_128us", name "_256us", name "_512us", name "_1024us", \
			name "_later"                                                              \
	}
static const char *const reaction_columns[LCORE_BUCKETS] = BUCKETS("xoff");
static const char *const poll_columns[LCORE_BUCKETS] = BUCKETS("poll");

static uint32_t ports_owned(const struct daemon *daemon, uint16_t ports, uint16_t worker)
{
	struct daemon_port state;
	uint32_t owned = 0;

	for (uint16_t port = 0; port < ports; port++)
		owned += daemon_port(daemon, port, &state) == 0 && state.owner == worker;
	return owned;
}

uint64_t telemetry_workers(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	uint64_t i;
	uint16_t count, ports;

	telemetry_page_column(page, "worker", TELEMETRY_KEY);
	telemetry_page_column(page, "cpu", TELEMETRY_TEXT);
	telemetry_page_column(page, "ports", 0);
	WORKER_COUNTERS(COUNTER_COLUMN_)
	for (uint32_t bucket = 0; bucket < LCORE_BUCKETS; bucket++)
		telemetry_page_counter(page, reaction_columns[bucket], "polls");
	for (uint32_t bucket = 0; bucket < LCORE_BUCKETS; bucket++)
		telemetry_page_counter(page, poll_columns[bucket], "polls");
	telemetry_page_column(page, "poll_ns_max", 0);
	telemetry_page_column(page, "ring_packets_max", 0);

	daemon_lock(daemon);
	count = daemon_worker_count(daemon);
	ports = daemon_config(daemon)->port_count;
	for (i = cursor; i < count && telemetry_page_row(page); i++) {
		struct daemon_worker worker = {.cpu = -1};
		char cpu[12] = "any";

		(void)daemon_worker(daemon, (uint16_t)i, &worker);
		if (worker.cpu >= 0)
			snprintf(cpu, sizeof(cpu), "%" PRId32, worker.cpu);
		telemetry_page_number(page, i);
		telemetry_page_text(page, cpu);
		telemetry_page_number(page, ports_owned(daemon, ports, (uint16_t)i));
#define WORKER_CELL_(field, ...) telemetry_page_number(page, worker.field);
		WORKER_COUNTERS(WORKER_CELL_)
#undef WORKER_CELL_
		for (uint32_t bucket = 0; bucket < LCORE_BUCKETS; bucket++)
			telemetry_page_number(page, worker.reactions[bucket]);
		for (uint32_t bucket = 0; bucket < LCORE_BUCKETS; bucket++)
			telemetry_page_number(page, worker.poll_times[bucket]);
		telemetry_page_number(page, worker.poll_ns_max);
		telemetry_page_number(page, worker.ring_packets_max);
	}
	daemon_unlock(daemon);
	return i < count ? i : 0;
}

/* --- events --- */

/* Columns that an event's text goes on in. */
#define TEXT_PIECES 4
_Static_assert(TEXT_PIECES *TELEMETRY_TEXT_BYTES >= EVENTS_TEXT_BYTES, "a text fits");

static void event_row(struct telemetry_page *page, const struct config *config,
		      const struct event *event)
{
	const struct event_about *about = &event->about;
	const char *text = event->text;
	char priority[4] = "-";

	if (about->priority != EVENT_PRIORITY_NONE)
		(void)snprintf(priority, sizeof(priority), "%u", about->priority);
	telemetry_page_number(page, event->sequence);
	telemetry_page_number(page, event->time_ns);
	telemetry_page_text(page, event_name((enum event_type)about->type));
	telemetry_page_text(page, telemetry_port_name(config, about->port));
	telemetry_page_text(page, priority);
	telemetry_page_number(page, about->packets);
	telemetry_page_number(page, about->bytes);
	telemetry_page_number(page, about->duration_ns);
	telemetry_page_number(page, event->suppressed);
	for (int piece = 0; piece < TEXT_PIECES; piece++) {
		telemetry_page_text(page, text);
		text += strnlen(text, TELEMETRY_TEXT_BYTES);
	}
}

/* The cursor is the sequence number of the last event that the client has. */
uint64_t telemetry_events(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	struct event events[16];
	uint64_t last = cursor;
	uint32_t count;

	telemetry_page_column(page, "sequence", TELEMETRY_KEY);
	telemetry_page_column(page, "at_ns", 0);
	telemetry_page_column(page, "type", TELEMETRY_TEXT);
	telemetry_page_column(page, "port", TELEMETRY_TEXT);
	telemetry_page_column(page, "priority", TELEMETRY_TEXT);
	telemetry_page_column(page, "packets", 0);
	telemetry_page_column(page, "bytes", 0);
	telemetry_page_column(page, "duration_ns", 0);
	telemetry_page_column(page, "suppressed", 0);
	telemetry_page_column(page, "text", TELEMETRY_TEXT);
	telemetry_page_column(page, "text_2", TELEMETRY_TEXT | TELEMETRY_MORE);
	telemetry_page_column(page, "text_3", TELEMETRY_TEXT | TELEMETRY_MORE);
	telemetry_page_column(page, "text_4", TELEMETRY_TEXT | TELEMETRY_MORE);
	do {
		bool full = false;

		count = events_read(daemon_events(daemon), last, events,
				    sizeof(events) / sizeof(events[0]));
		daemon_lock(daemon);
		for (uint32_t i = 0; i < count && !full; i++) {
			full = !telemetry_page_row(page);
			if (full)
				break;
			event_row(page, daemon_config(daemon), &events[i]);
			last = events[i].sequence;
		}
		daemon_unlock(daemon);
		if (full)
			return last > cursor ? last : 0;
	} while (count > 0);
	return 0;
}
