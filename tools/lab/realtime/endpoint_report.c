/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/realtime/endpoint_report.h"

#include <inttypes.h>
#include <stdbool.h>

#include "dataplane/port_io.h"
#include "tools/lab/allocate.h"
#include "tools/lab/host/host.h"
#include "tools/lab/host/notification.h"

static uint64_t rate_of(uint64_t bytes, uint64_t time_ps)
{
	return time_ps == 0 ? 0 : (uint64_t)((unsigned __int128)bytes * 8 * PS_PER_S / time_ps);
}

static json_t *number(uint64_t value)
{
	return json_integer((json_int_t)value);
}

static bool serves(const struct endpoint_params *params, uint32_t id)
{
	return (params->served[id / 64] >> (id % 64) & 1) != 0;
}

static void totals_of(const struct endpoint_report *report, struct endpoint_totals *totals)
{
	const struct host *host = endpoint_host(report->endpoint);

	*totals = (struct endpoint_totals){.cnps_sent = host->cnps_sent};
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		totals->paused_ps += host_paused_ps(host, p);
	for (uint32_t i = 0; i < report->params->send_count; i++) {
		const struct endpoint_sender *sender = endpoint_sender(report->endpoint, i);

		if (!sender->resolved)
			continue;
		totals->acked_bytes += sender->flow->acked.offset_bytes;
		totals->retransmitted_bytes += sender->flow->retransmitted_bytes;
		totals->cnps_received += sender->flow->cnps;
		totals->rate_bps += sender->flow->cc->rate_bps;
	}
	for (uint32_t id = 0; id < ENDPOINT_QUEUE_PAIRS; id++) {
		const struct flow *flow = endpoint_served(report->endpoint, FLOW_QUEUE_PAIR + id);

		if (!serves(report->params, id))
			continue;
		totals->received_bytes += flow->received_bytes;
		totals->marked_packets += flow->marked_packets;
	}
}

void endpoint_report_init(struct endpoint_report *report, const struct endpoint *endpoint,
			  const struct endpoint_params *params, uint64_t now_ps)
{
	*report = (struct endpoint_report){
		.endpoint = endpoint,
		.params = params,
		.start_ps = now_ps,
		.last_ps = now_ps,
		.intervals = json_array(),
	};
}

void endpoint_report_fini(struct endpoint_report *report)
{
	json_decref(report->intervals);
}

/* "  send 941.2 Mb/s" */
static void print_rate(const char *what, uint64_t rate_bps, FILE *out)
{
	fprintf(out, "  %s %" PRIu64 ".%" PRIu64 " Mb/s", what, rate_bps / 1000000,
		rate_bps / 100000 % 10);
}

void endpoint_report_interval(struct endpoint_report *report, uint64_t now_ps, FILE *out)
{
	const struct endpoint_totals last = report->last;
	uint64_t time_ps = now_ps - report->last_ps;
	uint64_t sent_bps, received_bps;
	struct endpoint_totals now;

	totals_of(report, &now);
	sent_bps = rate_of(now.acked_bytes - last.acked_bytes, time_ps);
	received_bps = rate_of(now.received_bytes - last.received_bytes, time_ps);
	json_array_append_new(
		report->intervals,
		json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "time_ns",
			  number((now_ps - report->start_ps) / PS_PER_NS), "sent_bps",
			  number(sent_bps), "received_bps", number(received_bps), "rate_bps",
			  number(now.rate_bps), "marked",
			  number(now.marked_packets - last.marked_packets), "cnps_sent",
			  number(now.cnps_sent - last.cnps_sent), "cnps_received",
			  number(now.cnps_received - last.cnps_received), "paused_ns",
			  number((now.paused_ps - last.paused_ps) / PS_PER_NS),
			  "retransmitted_bytes",
			  number(now.retransmitted_bytes - last.retransmitted_bytes)));
	if (out != NULL) {
		fprintf(out, "%5" PRIu64 " s", (now_ps - report->start_ps) / PS_PER_S);
		if (report->params->send_count != 0) {
			print_rate("sent", sent_bps, out);
			print_rate("of", now.rate_bps, out);
		}
		print_rate("received", received_bps, out);
		fprintf(out,
			"  marks %" PRIu64 "  CNPs %" PRIu64 "/%" PRIu64 " out/in  paused %" PRIu64
			" ms  again %" PRIu64 " B\n",
			now.marked_packets - last.marked_packets, now.cnps_sent - last.cnps_sent,
			now.cnps_received - last.cnps_received,
			(now.paused_ps - last.paused_ps) / PS_PER_MS,
			now.retransmitted_bytes - last.retransmitted_bytes);
	}
	report->last = now;
	report->last_ps = now_ps;
}

static json_t *ip_text(const uint8_t *ip)
{
	return json_sprintf("%u.%u.%u.%u", ip[0], ip[1], ip[2], ip[3]);
}

static json_t *percentiles(const struct histogram *histogram)
{
	return json_pack(
		"{s:o, s:o, s:o, s:o}", "p50", number(histogram_percentile(histogram, 500000)),
		"p99", number(histogram_percentile(histogram, 990000)), "p999",
		number(histogram_percentile(histogram, 999000)), "max", number(histogram->max));
}

static json_t *send_json(const struct endpoint_sender *sender)
{
	const struct flow *flow = sender->flow;
	uint64_t bytes = sender->completed * sender->send.message_bytes;

	return json_pack(
		"{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "to",
		ip_text(sender->send.to), "qp", number(sender->send.queue_pair), "resolved",
		sender->resolved, "messages", number(sender->completed), "bytes", number(bytes),
		"goodput_bps", number(rate_of(bytes, sender->ended_ps - sender->begun_ps)),
		"rate_bps", number(flow->cc == NULL ? 0 : flow->cc->rate_bps), "completion_ns",
		percentiles(&sender->completion_ns), "sent_packets", number(flow->sent_packets),
		"cnps_received", number(flow->cnps), "retransmitted_bytes",
		number(flow->retransmitted_bytes), "acks", number(flow->acks), "naks",
		number(flow->naks), "timeouts", number(flow->timeouts));
}

static json_t *serve_json(const struct endpoint_report *report, uint32_t queue_pair)
{
	const struct flow *flow = endpoint_served(report->endpoint, queue_pair);

	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "qp", number(queue_pair), "from",
			 ip_text(flow->params.source->params.ip), "bytes",
			 number(flow->received_bytes), "packets", number(flow->received_packets),
			 "marked", number(flow->marked_packets), "out_of_order",
			 number(flow->out_of_order), "duplicates", number(flow->duplicates));
}

static json_t *host_json(const struct endpoint_report *report)
{
	const struct endpoint_counters *counters = endpoint_counters(report->endpoint);
	const struct host *host = endpoint_host(report->endpoint);
	struct port_io *io = report->params->io;
	struct port_io_stats stats = {0};
	json_t *paused = json_array();

	io->ops->stats(io, &stats);
	for (uint32_t p = 0; p < PRIORITY_COUNT; p++)
		json_array_append_new(paused, number(host_paused_ps(host, p) / PS_PER_NS));
	return json_pack(
		"{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
		"sent_packets", number(host->sent_packets), "received_packets",
		number(host->received_packets), "cnps_sent", number(host->cnps_sent), "acks_sent",
		number(host->acks_sent), "naks_sent", number(host->naks_sent), "paused_ns", paused,
		"connections", number(counters->connections), "foreign_packets",
		number(counters->foreign_packets + host->stray_packets), "crc_packets",
		number(counters->crc_packets), "corrupt_packets", number(counters->corrupt_packets),
		"port_held", number(counters->held), "rx_missed_packets",
		number(stats.rx_missed_packets), "tx_error_packets", number(stats.tx_error_packets),
		"buffers_missing", number(host->traffic->pool_empty), "stalls",
		number(counters->stalls), "stall_ns", number(counters->stall_ps / PS_PER_NS));
}

json_t *endpoint_report_json(struct endpoint_report *report, uint64_t now_ps)
{
	json_t *sends = json_array(), *served = json_array();

	for (uint32_t i = 0; i < report->params->send_count; i++)
		json_array_append_new(sends, send_json(endpoint_sender(report->endpoint, i)));
	for (uint32_t id = 0; id < ENDPOINT_QUEUE_PAIRS; id++)
		if (serves(report->params, id))
			json_array_append_new(served, serve_json(report, FLOW_QUEUE_PAIR + id));
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:O}", "address", ip_text(report->params->ip),
			 "time_ns", number((now_ps - report->start_ps) / PS_PER_NS), "send", sends,
			 "serve", served, "host", host_json(report), "intervals",
			 report->intervals);
}

static uint64_t get(json_t *object, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void print_time(const char *what, uint64_t ns, FILE *out)
{
	fprintf(out, "  %s %" PRIu64 ".%03" PRIu64 " ms", what, ns / 1000000, ns / 1000 % 1000);
}

void endpoint_report_print(json_t *result, FILE *out)
{
	json_t *host = json_object_get(result, "host"), *row;
	size_t i;

	json_array_foreach(json_object_get(result, "send"), i, row)
	{
		json_t *completion = json_object_get(row, "completion_ns");

		fprintf(out, "to %s qp %" PRIu64, json_string_value(json_object_get(row, "to")),
			get(row, "qp"));
		if (!json_is_true(json_object_get(row, "resolved"))) {
			fprintf(out, ": nobody has answered ARP for its next hop\n");
			continue;
		}
		fprintf(out, ": %" PRIu64 " messages, %" PRIu64 " bytes", get(row, "messages"),
			get(row, "bytes"));
		print_rate("goodput", get(row, "goodput_bps"), out);
		fprintf(out, "\n ");
		print_time("completion p50", get(completion, "p50"), out);
		print_time("p99", get(completion, "p99"), out);
		print_time("max", get(completion, "max"), out);
		fprintf(out,
			"  CNPs %" PRIu64 "  again %" PRIu64 " B  NAKs %" PRIu64
			"  timeouts %" PRIu64 "\n",
			get(row, "cnps_received"), get(row, "retransmitted_bytes"),
			get(row, "naks"), get(row, "timeouts"));
	}
	json_array_foreach(json_object_get(result, "serve"), i, row)
	{
		if (get(row, "packets") == 0)
			continue;
		fprintf(out,
			"from %s qp %" PRIu64 ": %" PRIu64 " bytes, %" PRIu64 " packets, %" PRIu64
			" marked, %" PRIu64 " early, %" PRIu64 " twice\n",
			json_string_value(json_object_get(row, "from")), get(row, "qp"),
			get(row, "bytes"), get(row, "packets"), get(row, "marked"),
			get(row, "out_of_order"), get(row, "duplicates"));
	}
	fprintf(out,
		"corrupt %" PRIu64 "  wrong CRC %" PRIu64 "  CNPs sent %" PRIu64 "  stalls %" PRIu64
		" (%" PRIu64 " ms)\n",
		get(host, "corrupt_packets"), get(host, "crc_packets"), get(host, "cnps_sent"),
		get(host, "stalls"), get(host, "stall_ns") / 1000000);
}
