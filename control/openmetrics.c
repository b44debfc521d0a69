/* SPDX-License-Identifier: BSD-3-Clause */
#include "control/openmetrics.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/daemon.h"
#include "control/events.h"
#include "control/telemetry_tables.h"

/* Bytes of port="...",priority="...",class="..." at most. */
#define LABELS_BYTES (2 * CONFIG_NAME_BYTES + 64)

/* Of one port and priority. */
struct queue_sample {
	struct queue_totals queue;
	struct queue_rare_totals rare;
	struct pfc_totals pfc;
	struct buffer_totals buffer;
	struct peak_totals peak[PEAK_KINDS];
	uint64_t rx_paused, tx_paused, headroom_bytes;
	bool lossless;
	char labels[LABELS_BYTES];
};

struct port_sample {
	struct port_totals port;
	struct pfc_port_totals pfc;
	struct port_io_stats device;
	uint64_t up, link_changes, speed_bytes;
	struct {
		uint64_t spread_bytes, share_ppm, fair_share_ppm, band;
	} uplink;
	bool is_cpu, is_uplink;
	char name[CONFIG_NAME_BYTES];
	char labels[LABELS_BYTES];
	struct queue_sample queue[PRIORITY_COUNT];
};

struct worker_sample {
	struct daemon_worker worker;
	char labels[LABELS_BYTES];
};

struct leaf_sample {
	struct balance_totals balance;
	struct buffer_pool_totals pool;
	struct pool_peak_totals peak[PEAK_KINDS];
	struct daemon_info info;
	uint64_t queued_packets, shared_bytes, buffers, buffers_free, guarded;
	char name[CONFIG_NAME_BYTES];
};

struct events_sample {
	uint64_t kept, suppressed;
};

struct samples {
	struct leaf_sample leaf;
	struct events_sample events[EVENT_COUNT];
	uint32_t port_count; /* the CPU's port among them */
	uint16_t worker_count;
	struct worker_sample worker[WORKER_COUNT_MAX];
	struct port_sample port[];
};

/* What a family has a sample of: each sample's labels and values lie in one of the structs above. */
enum scope { OF_LEAF, OF_WORKER, OF_PORT, OF_DEVICE, OF_UPLINK, OF_QUEUE, OF_PAIR };

enum family_type { COUNTER, GAUGE };

struct family {
	const char *prefix, *field, *unit, *help;
	enum family_type type;
	enum scope scope;
	size_t offset; /* of the uint64_t in the scope's struct */
};

#define FAMILY_(prefix, field, unit, help, type, scope, sample, member)                  \
	{                                                                                \
		prefix, #field, unit, help, type, scope, offsetof(struct sample, member) \
	}
#define LEAF_(prefix, member, field, unit, help, type) \
	FAMILY_(prefix, field, unit, help, type, OF_LEAF, leaf_sample, member)
#define GAUGE_(prefix, member, field, unit, help, scope) \
	FAMILY_(prefix, field, unit, help, GAUGE, scope, queue_sample, member)

/* For the lists of counters. */
#define BALANCE_(field, unit, help) LEAF_("balance_", balance.field, field, unit, help, COUNTER),
#define WORKER_(field, unit, help) \
	FAMILY_("worker_", field, unit, help, COUNTER, OF_WORKER, worker_sample, worker.field),
#define PORT_(field, unit, help) \
	FAMILY_("port_", field, unit, help, COUNTER, OF_PORT, port_sample, port.field),
#define UPLINK_(field, unit, help, type) \
	FAMILY_("uplink_", field, unit, help, type, OF_UPLINK, port_sample, uplink.field)
#define PFC_PORT_(field, unit, help) \
	FAMILY_("pfc_port_", field, unit, help, COUNTER, OF_DEVICE, port_sample, pfc.field),
#define DEVICE_(field, unit, help) \
	FAMILY_("device_", field, unit, help, COUNTER, OF_DEVICE, port_sample, device.field),
#define QUEUE_(field, unit, help) \
	FAMILY_("queue_", field, unit, help, COUNTER, OF_QUEUE, queue_sample, queue.field),
#define RARE_(field, unit, help) \
	FAMILY_("queue_", field, unit, help, COUNTER, OF_QUEUE, queue_sample, rare.field),
#define PFC_(field, unit, help) \
	FAMILY_("pfc_", field, unit, help, COUNTER, OF_QUEUE, queue_sample, pfc.field),

/* Each of the lists brings its own commas: clang-format can't lay that out. */
/* clang-format off */
static const struct family families[] = {
	LEAF_("", queued_packets, queued, "packets", "frames in queues and on their way to devices",
	      GAUGE),
	LEAF_("buffer_", shared_bytes, shared, "bytes", "what all lossless pairs may share", GAUGE),
	LEAF_("buffer_", pool.shared_used_bytes, shared_used_bytes, "bytes", "what they have of it",
	      GAUGE),
	LEAF_("buffer_", pool.headroom_used_bytes, headroom_used_bytes, "bytes",
	      "headroom in use, of all pairs", GAUGE),
	LEAF_("buffer_", pool.lossy_used_bytes, lossy_used_bytes, "bytes",
	      "what lossy packets have of the buffer", GAUGE),
	LEAF_("buffer_", pool.guards, guards, "times", "times that few packet buffers were left",
	      COUNTER),
	LEAF_("", guarded, guarded, "", "1 while few packet buffers are left", GAUGE),
	LEAF_("", buffers, packet, "buffers", "packet buffers in the pool", GAUGE),
	LEAF_("", buffers_free, packet_free, "buffers", "of them, those that are free", GAUGE),
	LEAF_("config_", info.reloads, reloads, "", "configurations taken over", COUNTER),
	LEAF_("config_", info.reloads_refused, reloads_refused, "", "configurations refused",
	      COUNTER),
	LEAF_("", info.started_ns, start_time_ns, "ns", "when the leaf started, since the epoch",
	      GAUGE),
	BALANCE_COUNTERS(BALANCE_)
	WORKER_COUNTERS(WORKER_)
	FAMILY_("worker_", ring_peak_packets, "packets",
		"the most that a ring into it from another worker has held, of 2047", GAUGE,
		OF_WORKER, worker_sample, worker.ring_packets_max),
	PORT_COUNTERS(PORT_)
	FAMILY_("port_", up, "", "1 while the link is up", GAUGE, OF_DEVICE, port_sample, up),
	FAMILY_("port_", speed_bytes_per_second, "", "speed of the port's wire", GAUGE, OF_DEVICE,
		port_sample, speed_bytes),
	FAMILY_("port_", link_changes, "changes", "ups and downs of the link", COUNTER, OF_DEVICE,
		port_sample, link_changes),
	UPLINK_(spread_bytes, "bytes", "bytes of which the leaf chose that they go by this uplink",
		COUNTER),
	UPLINK_(share_ppm, "ppm", "part of what all uplinks had in the last second", GAUGE),
	UPLINK_(fair_share_ppm, "ppm", "the part that its weight stands for", GAUGE),
	UPLINK_(band, "", "band of its quality, 0 is the best", GAUGE),
	PFC_PORT_COUNTERS(PFC_PORT_)
	DEVICE_LOSSES(DEVICE_)
	DEVICE_NOTES(DEVICE_)
	QUEUE_COUNTERS(QUEUE_)
	QUEUE_RARE_COUNTERS(RARE_)
	GAUGE_("queue_", queue.depth_packets, depth_packets, "packets",
	       "frames in the egress queue", OF_QUEUE),
	GAUGE_("queue_", queue.depth_bytes, depth_bytes, "bytes", "bytes in the egress queue",
	       OF_QUEUE),
	PFC_COUNTERS(PFC_)
	GAUGE_("pfc_", rx_paused, rx_paused, "", "1 while the peer pauses this queue", OF_QUEUE),
	GAUGE_("pfc_", tx_paused, tx_paused, "", "1 while we pause the peer", OF_QUEUE),
	GAUGE_("pair_", buffer.occupancy_bytes, occupancy, "bytes",
	       "what came in through the port and waits in the leaf", OF_PAIR),
	GAUGE_("pair_", buffer.xoff_bytes, xoff, "bytes", "above this the peer is paused", OF_PAIR),
	GAUGE_("pair_", buffer.headroom_used_bytes, headroom_used, "bytes",
	       "what came since the peer was paused", OF_PAIR),
	GAUGE_("pair_", headroom_bytes, headroom, "bytes", "headroom that the pair has", OF_PAIR),
};
/* clang-format on */

/* Events have a label of their own: their type. */
static const struct family event_families[] = {
	FAMILY_("", events, "", "events of the leaf that were told", COUNTER, OF_LEAF,
		events_sample, kept),
	FAMILY_("", events_suppressed, "",
		"events that were only counted: too many of their type at once", COUNTER, OF_LEAF,
		events_sample, suppressed),
};

/* Peaks have a label more. */
static const struct {
	const char *name, *help;
	size_t offset;
	enum scope scope;
} peaks[] = {
	{"queue_depth_peak_bytes", "the most that the egress queue held",
	 offsetof(struct peak_totals, queue_bytes), OF_QUEUE},
	{"pair_occupancy_peak_bytes", "the most that the pair had in the leaf",
	 offsetof(struct peak_totals, occupancy_bytes), OF_PAIR},
	{"pair_headroom_peak_bytes", "the most of its headroom that the pair used",
	 offsetof(struct peak_totals, headroom_bytes), OF_PAIR},
};

static const char *const reason_names[DROP_COUNT] = {
#define REASON_NAME_(id, name, help) [DROP_##id] = (name),
	DROP_REASONS(REASON_NAME_)
#undef REASON_NAME_
};

/* --- taking the samples --- */

static void sample_queue(struct daemon *daemon, uint16_t port, uint8_t priority, bool is_cpu,
			 struct port_sample *out)
{
	struct queue_sample *sample = &out->queue[priority];
	const struct snapshot *snapshot = daemon_snapshot(daemon);
	const struct config_class *class = telemetry_class_of(daemon_config(daemon), priority);
	const struct leaf *leaf = daemon_leaf(daemon);

	(void)snprintf(sample->labels, sizeof(sample->labels),
		       "port=\"%s\",priority=\"%u\",class=\"%s\"", out->name, priority,
		       class == NULL ? "-" : class->name);
	leaf_queue_totals(leaf, port, priority, &sample->queue);
	leaf_queue_rare_totals(leaf, port, priority, &sample->rare);
	leaf_pfc_totals(leaf, port, priority, daemon_now_ps(daemon), &sample->pfc);
	sample->rx_paused = sample->pfc.rx_paused;
	sample->tx_paused = sample->pfc.tx_paused;
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++)
		leaf_peaks(leaf, port, priority, (enum peak_kind)kind, &sample->peak[kind]);
	sample->lossless = !is_cpu && (snapshot->lossless_mask >> priority & 1) != 0;
	if (!sample->lossless)
		return;
	leaf_buffer_totals(leaf, snapshot, port, priority, &sample->buffer);
	sample->headroom_bytes = snapshot_pair(snapshot, port, priority)->headroom_bytes;
}

static void sample_port(struct daemon *daemon, uint16_t port, struct port_sample *sample)
{
	struct daemon_port state = {.driver = ""};

	sample->is_cpu = port == daemon_config(daemon)->port_count;
	if (!sample->is_cpu)
		(void)daemon_port(daemon, port, &state);
	(void)snprintf(sample->name, sizeof(sample->name), "%s",
		       telemetry_port_name(daemon_config(daemon), port));
	(void)snprintf(sample->labels, sizeof(sample->labels), "port=\"%s\"", sample->name);
	leaf_pfc_port_totals(daemon_leaf(daemon), port, &sample->pfc);
	sample->device = state.stats;
	sample->up = state.link_up;
	sample->link_changes = state.link_changes;
	sample->speed_bytes = state.rate_bps / 8;
	for (uint8_t p = 0; p < PRIORITY_COUNT; p++)
		sample_queue(daemon, port, p, sample->is_cpu, sample);
}

/* What has to add up is read in one go, without a lock. */
static void sample_sums(const struct leaf *leaf, struct samples *samples)
{
	struct leaf_conservation sums;

	for (uint32_t port = 0; port < samples->port_count; port++) {
		struct port_totals *totals = &samples->port[port].port;

		leaf_port_totals(leaf, (uint16_t)port, totals);
		telemetry_data_only(totals, port == samples->port_count - 1);
	}
	leaf_conservation(leaf, &sums);
	samples->leaf.queued_packets = sums.queued;
}

static void sample_leaf(struct daemon *daemon, struct leaf_sample *sample)
{
	const struct snapshot *snapshot = daemon_snapshot(daemon);

	(void)snprintf(sample->name, sizeof(sample->name), "%s", daemon_config(daemon)->leaf.name);
	daemon_info(daemon, &sample->info);
	leaf_balance_totals(daemon_leaf(daemon), &sample->balance);
	leaf_buffer_pool_totals(daemon_leaf(daemon), snapshot, &sample->pool);
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++)
		leaf_pool_peaks(daemon_leaf(daemon), (enum peak_kind)kind, &sample->peak[kind]);
	sample->shared_bytes = snapshot->buffer.shared_bytes;
	sample->guarded = sample->pool.guarded;
	sample->buffers = sample->info.buffer_count;
	sample->buffers_free = sample->info.buffer_free;
}

static void sample_uplinks(struct daemon *daemon, struct samples *samples)
{
	struct telemetry_uplinks *uplinks = calloc(1, sizeof(*uplinks));

	if (uplinks == NULL || telemetry_uplinks_read(daemon, uplinks) != 0) {
		free(uplinks);
		return;
	}
	for (uint32_t i = 0; i + 1 < samples->port_count; i++) {
		struct port_sample *port = &samples->port[i];

		port->is_uplink = uplinks->is_uplink[i];
		if (!port->is_uplink)
			continue;
		port->uplink.spread_bytes = leaf_spread_bytes(daemon_leaf(daemon), (uint16_t)i);
		port->uplink.share_ppm = telemetry_ppm(uplinks->bytes[i], uplinks->all_bytes);
		port->uplink.fair_share_ppm = telemetry_ppm(uplinks->weight[i], uplinks->weights);
		port->uplink.band = leaf_quality_band(daemon_leaf(daemon), (uint16_t)i);
	}
	free(uplinks);
}

/* @return for free(), or NULL */
static struct samples *sample_all(struct daemon *daemon)
{
	struct samples *samples;
	uint32_t ports;

	daemon_lock(daemon);
	ports = daemon_config(daemon)->port_count + 1u;
	daemon_unlock(daemon);
	samples = calloc(1, sizeof(*samples) + ports * sizeof(samples->port[0]));
	if (samples == NULL)
		return NULL;
	samples->port_count = ports;
	for (unsigned i = 0; i < EVENT_COUNT; i++) {
		enum event_type type = (enum event_type)i;

		samples->events[i].kept = events_count(daemon_events(daemon), type);
		samples->events[i].suppressed = events_suppressed(daemon_events(daemon), type);
	}
	sample_sums(daemon_leaf(daemon), samples);
	daemon_lock(daemon);
	sample_leaf(daemon, &samples->leaf);
	sample_uplinks(daemon, samples);
	samples->worker_count = daemon_worker_count(daemon);
	for (uint16_t i = 0; i < samples->worker_count; i++) {
		struct worker_sample *sample = &samples->worker[i];

		(void)daemon_worker(daemon, i, &sample->worker);
		(void)snprintf(sample->labels, sizeof(sample->labels), "worker=\"%u\"", i);
	}
	daemon_unlock(daemon);
	for (uint32_t port = 0; port < ports; port++) {
		daemon_lock(daemon);
		sample_port(daemon, (uint16_t)port, &samples->port[port]);
		daemon_unlock(daemon);
	}
	return samples;
}

/* --- the text --- */

struct text {
	FILE *file;
	bool classic;
	char name[128]; /* of the family, without _total */
	const char *suffix;
	uint64_t units_per; /* the value's units to one of the family's */
	int digits;         /* of what is left */
};

static bool ends_with(const char *name, const char *end)
{
	size_t length = strlen(name), end_length = strlen(end);

	return length > end_length && strcmp(name + length - end_length, end) == 0;
}

static void head(struct text *text, const char *type, const char *unit, const char *help)
{
	const char *total = text->classic ? text->suffix : "";

	(void)fprintf(text->file, "# TYPE %s%s %s\n", text->name, total, type);
	if (!text->classic && unit[0] != '\0')
		(void)fprintf(text->file, "# UNIT %s %s\n", text->name, unit);
	(void)fprintf(text->file, "# HELP %s%s %s\n", text->name, total, help);
}

/*
 * A family's name ends with its unit (OpenMetrics 1.0, "Unit"), and times are in seconds ("Units and Base
 * Units").
 */
static void head_of(struct text *text, const struct family *family)
{
	const char *unit = family->unit;
	int length = (int)strlen(family->field);

	text->units_per = 1;
	text->digits = 0;
	text->suffix = family->type == COUNTER ? "_total" : "";
	if (strcmp(unit, "ppm") == 0) {
		text->digits = 6;
		text->units_per = 1000000;
		length -= 4;
		unit = "ratio";
	} else if (strcmp(unit, "ps") == 0 || strcmp(unit, "ns") == 0) {
		text->digits = unit[0] == 'p' ? 12 : 9;
		text->units_per = unit[0] == 'p' ? PS_PER_S : PS_PER_S / PS_PER_NS;
		length -= 3;
		unit = "seconds";
	}
	(void)snprintf(text->name, sizeof(text->name), "roceleaf_%s%.*s", family->prefix, length,
		       family->field);
	if (unit[0] != '\0' && !ends_with(text->name, unit)) {
		size_t used = strlen(text->name);

		(void)snprintf(text->name + used, sizeof(text->name) - used, "_%s", unit);
	}
	head(text, family->type == COUNTER ? "counter" : "gauge", unit, family->help);
}

static void sample_line(struct text *text, const char *labels, uint64_t value)
{
	const char *open = labels[0] == '\0' ? "" : "{", *shut = labels[0] == '\0' ? "" : "}";

	if (text->digits == 0)
		(void)fprintf(text->file, "%s%s%s%s%s %" PRIu64 "\n", text->name, text->suffix,
			      open, labels, shut, value);
	else
		(void)fprintf(text->file, "%s%s%s%s%s %" PRIu64 ".%0*" PRIu64 "\n", text->name,
			      text->suffix, open, labels, shut, value / text->units_per,
			      text->digits, value % text->units_per);
}

static uint64_t value_at(const void *sample, size_t offset)
{
	uint64_t value;

	memcpy(&value, (const char *)sample + offset, sizeof(value));
	return value;
}

static void write_port(struct text *text, const struct family *family,
		       const struct port_sample *port)
{
	if (family->scope == OF_PORT || (family->scope == OF_DEVICE && !port->is_cpu) ||
	    (family->scope == OF_UPLINK && port->is_uplink))
		sample_line(text, port->labels, value_at(port, family->offset));
	if (family->scope != OF_QUEUE && family->scope != OF_PAIR)
		return;
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++) {
		const struct queue_sample *queue = &port->queue[p];

		if (family->scope == OF_QUEUE || queue->lossless)
			sample_line(text, queue->labels, value_at(queue, family->offset));
	}
}

static void write_family(struct text *text, const struct family *family,
			 const struct samples *samples)
{
	head_of(text, family);
	if (family->scope == OF_LEAF)
		sample_line(text, "", value_at(&samples->leaf, family->offset));
	for (uint32_t i = 0; family->scope == OF_WORKER && i < samples->worker_count; i++)
		sample_line(text, samples->worker[i].labels,
			    value_at(&samples->worker[i], family->offset));
	for (uint32_t port = 0; port < samples->port_count; port++)
		write_port(text, family, &samples->port[port]);
}

static void plain_gauge(struct text *text, const char *name, const char *unit, const char *help)
{
	(void)snprintf(text->name, sizeof(text->name), "roceleaf_%s", name);
	text->suffix = "";
	text->digits = 0;
	head(text, "gauge", unit, help);
}

static void write_peak(struct text *text, size_t peak, const struct queue_sample *queue)
{
	char labels[LABELS_BYTES + 32];

	if (peaks[peak].scope == OF_PAIR && !queue->lossless)
		return;
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++) {
		(void)snprintf(labels, sizeof(labels), "%s,kind=\"%s\"", queue->labels,
			       telemetry_peak_names[kind]);
		sample_line(text, labels, value_at(&queue->peak[kind], peaks[peak].offset));
	}
}

static void write_peaks(struct text *text, const struct samples *samples)
{
	char labels[64];

	for (size_t i = 0; i < sizeof(peaks) / sizeof(peaks[0]); i++) {
		plain_gauge(text, peaks[i].name, "bytes", peaks[i].help);
		for (uint32_t port = 0; port < samples->port_count; port++)
			for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
				write_peak(text, i, &samples->port[port].queue[p]);
	}
	plain_gauge(text, "buffer_shared_peak_bytes", "bytes", "the most that all pairs shared");
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++) {
		(void)snprintf(labels, sizeof(labels), "kind=\"%s\"", telemetry_peak_names[kind]);
		sample_line(text, labels, samples->leaf.peak[kind].shared_bytes);
	}
	plain_gauge(text, "buffer_headroom_peak_bytes", "bytes",
		    "the most of headroom that all pairs used");
	for (unsigned kind = 0; kind < PEAK_KINDS; kind++) {
		(void)snprintf(labels, sizeof(labels), "kind=\"%s\"", telemetry_peak_names[kind]);
		sample_line(text, labels, samples->leaf.peak[kind].headroom_bytes);
	}
}

/* Bounds are in seconds; there is no sum, nobody adds the times up. */
static void write_histogram(struct text *text, const char *name, const char *help, size_t offset,
			    const struct samples *samples)
{
	char labels[64];

	(void)snprintf(text->name, sizeof(text->name), "roceleaf_worker_%s_seconds", name);
	text->digits = 0;
	text->suffix = "";
	head(text, "histogram", "seconds", help);
	text->suffix = "_bucket";
	for (uint32_t w = 0; w < samples->worker_count; w++) {
		uint64_t count = 0;

		for (uint32_t bucket = 0; bucket < LCORE_BUCKETS; bucket++) {
			bool last = bucket == LCORE_BUCKETS - 1;

			count += value_at(&samples->worker[w], offset + bucket * sizeof(uint64_t));
			if (last)
				(void)snprintf(labels, sizeof(labels), "%s,le=\"+Inf\"",
					       samples->worker[w].labels);
			else
				(void)snprintf(labels, sizeof(labels), "%s,le=\"%.6f\"",
					       samples->worker[w].labels,
					       1e-6 * (double)(1u << bucket));
			sample_line(text, labels, count);
		}
	}
}

static void write_drops(struct text *text, const struct samples *samples)
{
	static const struct family drops = {
		"", "drop", "packets", "frames dropped, by reason", COUNTER, OF_PORT, 0};
	char labels[LABELS_BYTES + 64];

	head_of(text, &drops);
	for (uint32_t port = 0; port < samples->port_count; port++) {
		for (unsigned reason = 0; reason < DROP_COUNT; reason++) {
			(void)snprintf(labels, sizeof(labels), "%s,reason=\"%s\"",
				       samples->port[port].labels, reason_names[reason]);
			sample_line(text, labels, samples->port[port].port.drop[reason]);
		}
	}
}

static void write_events(struct text *text, const struct family *family,
			 const struct samples *samples)
{
	char labels[64];

	head_of(text, family);
	for (unsigned i = 0; i < EVENT_COUNT; i++) {
		(void)snprintf(labels, sizeof(labels), "type=\"%s\"",
			       event_name((enum event_type)i));
		sample_line(text, labels, value_at(&samples->events[i], family->offset));
	}
}

static void write_build(struct text *text, const struct leaf_sample *leaf)
{
	char labels[2 * CONFIG_NAME_BYTES + 64];

	(void)snprintf(labels, sizeof(labels), "leaf=\"%s\",version=\"%s\"", leaf->name,
		       leaf->info.version);
	(void)snprintf(text->name, sizeof(text->name), "roceleaf_build");
	text->suffix = "_info";
	text->digits = 0;
	head(text, text->classic ? "gauge" : "info", "", "the leaf and its version");
	sample_line(text, labels, 1);
}

char *openmetrics_text(struct daemon *daemon, bool classic, size_t *size)
{
	struct samples *samples = sample_all(daemon);
	char *memory = NULL;
	struct text text = {.file = open_memstream(&memory, size), .classic = classic};

	if (samples != NULL && text.file != NULL) {
		write_build(&text, &samples->leaf);
		for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++)
			write_family(&text, &families[i], samples);
		write_histogram(&text, "poll", "time from one poll to the next while awake",
				offsetof(struct worker_sample, worker.poll_times), samples);
		write_histogram(&text, "xoff_reaction",
				"time from the packet that crossed xoff to the pause that was sent",
				offsetof(struct worker_sample, worker.reactions), samples);
		write_peaks(&text, samples);
		write_drops(&text, samples);
		write_events(&text, &event_families[0], samples);
		write_events(&text, &event_families[1], samples);
		if (!classic)
			(void)fprintf(text.file, "# EOF\n");
	}
	if (text.file != NULL && (fclose(text.file) != 0 || samples == NULL)) {
		free(memory);
		memory = NULL;
	}
	free(samples);
	return memory;
}
