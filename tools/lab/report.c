/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/report.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "tools/lab/collective_report.h"
#include "tools/lab/output.h"
#include "tools/lab/waiting.h"

#define BAR_CELLS    40
#define FLOWS_SHOWN  20
#define QUEUES_SHOWN 5

static int64_t integer(json_t *object, const char *key)
{
	return json_integer_value(json_object_get(object, key));
}

static double real(json_t *object, const char *key)
{
	return json_real_value(json_object_get(object, key));
}

static const char *text(json_t *object, const char *key)
{
	const char *value = json_string_value(json_object_get(object, key));

	return value == NULL ? "" : value;
}

/* 1234567 ns as 1.23 ms. */
static const char *time_text(int64_t ns, char *buffer, size_t size)
{
	if (ns < 1000)
		snprintf(buffer, size, "%" PRId64 " ns", ns);
	else if (ns < 1000000)
		snprintf(buffer, size, "%.2f us", (double)ns / 1e3);
	else if (ns < 1000000000)
		snprintf(buffer, size, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(buffer, size, "%.3f s", (double)ns / 1e9);
	return buffer;
}

static void print_flows(json_t *result, FILE *out)
{
	json_t *flows = json_object_get(result, "flows"), *flow;
	int64_t duration_ns = integer(result, "duration_ns");
	size_t index;

	if (json_array_size(flows) == 0)
		return;
	fprintf(out, "\n%-16s %-14s %-14s %-12s %12s %12s %9s %9s\n", "flow", "from", "to", "class",
		"received", "time", "slowdown", "Gb/s");
	json_array_foreach(flows, index, flow)
	{
		json_t *fct = json_object_get(flow, "fct_ns");
		int64_t time_ns = fct != NULL ? json_integer_value(fct)
					      : duration_ns - integer(flow, "start_ns");
		double gbps = time_ns <= 0 ? 0
					   : (double)integer(flow, "received_bytes") * 8 /
						     (double)time_ns;
		char time[32], slowdown[32] = "-";

		if (index == FLOWS_SHOWN) {
			fprintf(out, "... and %zu more\n", json_array_size(flows) - index);
			break;
		}
		if (fct != NULL)
			snprintf(slowdown, sizeof(slowdown), "%.3f", real(flow, "slowdown"));
		fprintf(out, "%-16s %-14s %-14s %-12s %12" PRId64 " %12s %9s %9.3f\n",
			text(flow, "name"), text(flow, "src"), text(flow, "dst"),
			text(flow, "class"), integer(flow, "received_bytes"),
			fct == NULL ? "unfinished" : time_text(time_ns, time, sizeof(time)),
			slowdown, gbps);
	}
}

static void print_queues(json_t *result, FILE *out)
{
	json_t *links = json_object_get(result, "links"), *link;
	json_t *top[QUEUES_SHOWN] = {NULL};
	size_t index;

	json_array_foreach(links, index, link)
	{
		/* Insert where it belongs; the first of equals stays first. */
		for (size_t i = 0; i < QUEUES_SHOWN; i++) {
			json_t *next = top[i];

			if (next != NULL &&
			    integer(next, "queue_max_bytes") >= integer(link, "queue_max_bytes"))
				continue;
			top[i] = link;
			if (next == NULL)
				break;
			link = next;
		}
	}
	fprintf(out, "\n%-32s %12s %14s %14s\n", "link", "utilisation", "queue max", "queue mean");
	for (size_t i = 0; i < QUEUES_SHOWN && top[i] != NULL; i++)
		fprintf(out, "%-32s %11.2f%% %14" PRId64 " %14" PRId64 "\n",
			text(top[i], "direction"), 100 * real(top[i], "utilisation"),
			integer(top[i], "queue_max_bytes"), integer(top[i], "queue_mean_bytes"));
}

/* What people look for first, one a line. */
#define LABEL "%-15s "

static void print_finished(json_t *result, FILE *out)
{
	int64_t finished = integer(result, "flows_finished");
	int64_t unfinished = integer(result, "flows_unfinished");
	json_t *fct = json_object_get(result, "fct");

	if (finished + unfinished == 0)
		return;
	fprintf(out, LABEL "%" PRId64 " of %" PRId64, "flows finished", finished,
		finished + unfinished);
	if (finished != 0)
		fprintf(out, ", slowdown p50 %.3f, p99 %.3f, max %.3f", real(fct, "p50"),
			real(fct, "p99"), real(fct, "max"));
	fputs("\n", out);
}

static void print_congestion(json_t *result, FILE *out)
{
	json_t *ecn = json_object_get(result, "ecn"), *pfc = json_object_get(result, "pfc");
	json_t *transport = json_object_get(result, "transport");
	int64_t storms = integer(json_object_get(result, "watchdog"), "detected");
	char time[32];

	fprintf(out, LABEL "%" PRId64 "\n", "lossless drops", integer(result, "lossless_drops"));
	fprintf(out, LABEL "%" PRId64 " packets, %" PRId64 " CNPs\n", "marked",
		integer(ecn, "marked"), integer(ecn, "cnps"));
	fprintf(out, LABEL "%" PRId64 ", %s in all; hosts %.3f%% of their time, fabric %.3f%%\n",
		"pauses", integer(pfc, "pauses"),
		time_text(integer(pfc, "pause_ns"), time, sizeof(time)),
		100 * real(pfc, "pause_share"), 100 * real(pfc, "fabric_pause_share"));
	if (storms != 0)
		fprintf(out, LABEL "%" PRId64 " pause storms\n", "watchdog", storms);
	if (integer(result, "retransmitted_bytes") != 0)
		fprintf(out, LABEL "%" PRId64 " bytes, %" PRId64 " NAKs, %" PRId64 " timeouts\n",
			"sent again", integer(result, "retransmitted_bytes"),
			integer(transport, "naks"), integer(transport, "timeouts"));
}

static void print_drops(json_t *result, FILE *out)
{
	const char *reason, *label = "drops";
	json_t *value;

	json_object_foreach(json_object_get(result, "drops"), reason, value)
	{
		if (json_integer_value(value) == 0)
			continue;
		fprintf(out, LABEL "%" PRId64 " %s\n", label, (int64_t)json_integer_value(value),
			reason);
		label = "";
	}
}

static void print_latency(json_t *result, FILE *out)
{
	json_t *latency = json_object_get(result, "latency_ns");
	char p50[32], p99[32], max[32];

	fprintf(out, LABEL "p50 %s, p99 %s, max %s\n", "latency",
		time_text(integer(latency, "p50"), p50, sizeof(p50)),
		time_text(integer(latency, "p99"), p99, sizeof(p99)),
		time_text(integer(latency, "max"), max, sizeof(max)));
}

void report_print(json_t *result, FILE *out)
{
	double wall = real(result, "wall_seconds"), cpu = real(result, "cpu_seconds");
	int64_t hops = integer(result, "packet_hops");
	char duration[32];

	fprintf(out, "%s, seed %" PRId64 ": %s of virtual time\n", text(result, "scenario"),
		integer(result, "seed"),
		time_text(integer(result, "duration_ns"), duration, sizeof(duration)));
	print_flows(result, out);
	collective_report_print(result, out);
	print_queues(result, out);
	fputs("\n", out);
	print_finished(result, out);
	print_congestion(result, out);
	print_drops(result, out);
	waiting_print(json_object_get(result, "waiting"), out);
	print_latency(result, out);
	fprintf(out,
		LABEL "%" PRId64
		      " packet-hops in %.3f s: %.2f million per second (%.2f by the core's "
		      "own time)\n",
		"speed", hops, wall, wall > 0 ? (double)hops / wall / 1e6 : 0.0,
		cpu > 0 ? (double)hops / cpu / 1e6 : 0.0);
	fprintf(out, LABEL "%s\n", "digest", text(result, "digest"));
}

int report_write_json(json_t *result, const char *path)
{
	struct output output;
	int error = 0, closed;

	closed = output_open(&output, path);
	if (closed != 0)
		return closed;
	errno = 0;
	if (json_dumpf(result, output.file, JSON_INDENT(2) | JSON_REAL_PRECISION(12)) != 0)
		error = errno != 0 ? errno : EIO;
	else
		fputc('\n', output.file);
	closed = output_close(&output, error == 0);
	if (closed == 0 && error != 0)
		fprintf(stderr, "%s: can't write %s: %s\n", program_invocation_short_name, path,
			strerror(error));
	return closed != 0 ? closed : -error;
}

void report_progress(uint32_t ppm)
{
	static uint32_t shown = UINT32_MAX;
	uint32_t percent = ppm / 10000;
	char bar[BAR_CELLS + 1];

	if (percent == shown)
		return;
	shown = percent;
	for (uint32_t i = 0; i < BAR_CELLS; i++)
		bar[i] = i < percent * BAR_CELLS / 100 ? '#' : '.';
	bar[BAR_CELLS] = '\0';
	fprintf(stderr, "\r[%s] %3u%%", bar, percent);
}

void report_progress_end(void)
{
	fprintf(stderr, "\r%*s\r", BAR_CELLS + 8, "");
}
