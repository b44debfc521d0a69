/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The arithmetic of the packet buffer, term by term (config/buffer_plan.h, config/headroom.h). Ports
 * with the same figures share a row.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "control/check_internal.h"
#include "control/ports.h"
#include "dataplane/pfc_frame.h"

#define LABEL_BYTES 96
#define CELL_BYTES  24

/* Longest pause time that a frame can ask for, in bytes at the port's speed. */
#define PAUSE_BYTES_MAX (UINT64_C(1) * PFC_QUANTA_MAX * PAUSE_QUANTUM_BITS / 8)

struct report {
	const struct config *config;
	const struct apply_state *state;
	const struct buffer_plan *plan;
	uint16_t *group; /* [port]: first port with the same figures */
	FILE *out;
};

static uint64_t rate_of(const struct report *report, uint32_t port)
{
	uint64_t rate_bps = report->config->ports[port].speed_bps;

	return rate_bps != 0 ? rate_bps : report->state->port[port].rate_bps;
}

/* A column: its bytes, and below it the time they take; NONE in both where it doesn't apply. */
#define NONE UINT64_MAX

static void print_bytes(const uint64_t *bytes, uint32_t count, FILE *out)
{
	(void)fprintf(out, "  bytes");
	for (uint32_t i = 0; i < count; i++) {
		if (bytes[i] == NONE)
			(void)fprintf(out, " %9s", "-");
		else
			(void)fprintf(out, " %9" PRIu64, bytes[i]);
	}
	(void)fprintf(out, "\n");
}

static void print_times(const uint64_t *bytes, uint32_t count, uint64_t rate_bps, FILE *out)
{
	char text[CHECK_TEXT_BYTES];

	(void)fprintf(out, "  time ");
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(out, " %9s",
			      bytes[i] == NONE ? "-"
					       : check_bytes_time_text(bytes[i], rate_bps, text,
								       sizeof(text)));
	(void)fprintf(out, "\n");
}

static void print_header(const char *title, const char *const *columns, uint32_t count, FILE *out)
{
	(void)fprintf(out, "%s\n       ", title);
	for (uint32_t i = 0; i < count; i++)
		(void)fprintf(out, " %9s", columns[i]);
	(void)fprintf(out, "\n");
}

static void print_line(const struct report *report, const char *name, uint64_t bytes,
		       uint64_t rate_bps, const char *why)
{
	char text[CHECK_TEXT_BYTES];

	(void)fprintf(report->out, "  %-12s %12" PRIu64 "  %10s  %s\n", name, bytes,
		      check_bytes_time_text(bytes, rate_bps, text, sizeof(text)), why);
}

static void print_guard(const struct report *report)
{
	const struct buffer_plan *plan = report->plan;
	FILE *out = report->out;

	(void)fprintf(out, "pool guard\n");
	(void)fprintf(out, "  buffers      %12" PRIu32 "\n", plan->buffers);
	(void)fprintf(out,
		      "  headroom     %12" PRIu64
		      "  what may still come once all are paused, at the mean frame\n",
		      plan->headroom_buffers);
	(void)fprintf(out, "  held         %12" PRIu32 "  by rings, and by caches of %u threads\n",
		      plan->held_buffers, report->config->leaf.workers + 1u);
	(void)fprintf(out,
		      "  guard        %12" PRIu32
		      "  as few free: all lossless senders are paused, lossy frames dropped\n",
		      plan->guard_buffers);
	(void)fprintf(out,
		      "  mean frame   %12" PRIu32
		      "  bytes: %.4g%% of them in frames of %u, the rest in RDMA packets. While\n"
		      "  %27sframes average at least this, bytes decide and not the guard\n\n",
		      plan->mean_bytes, report->config->buffer.small_frames_ppm / 1e4,
		      FRAME_BYTES_MIN, "");
}

static void print_pool(const struct report *report)
{
	const struct buffer_plan *plan = report->plan;
	const struct config *config = report->config;
	uint64_t rate_bps = 0;
	char why[128];

	for (uint32_t i = 0; i < plan->port_count; i++)
		rate_bps += rate_of(report, i);
	(void)fprintf(report->out, "%-14s %12s  %10s  %s\n", "SHARES OF POOL", "BYTES", "TIME",
		      "TIME: of all ports together at full speed");
	(void)snprintf(why, sizeof(why), "of %u pairs (lossless class and port)", plan->pair_count);
	if (config->buffer.oversubscribe != 0)
		(void)snprintf(why, sizeof(why),
			       "one pool: %" PRIu64 " of %u pairs, oversubscribed %u times",
			       plan->headroom_pairs_bytes, plan->pair_count,
			       config->buffer.oversubscribe);
	print_line(report, "headroom", plan->headroom_bytes, rate_bps, why);
	print_line(report, "reserved", plan->reserved_bytes, rate_bps, "of the same pairs");
	(void)snprintf(why, sizeof(why), "a burst of %u of the longest frames a worker",
		       BUFFER_BURST_PACKETS);
	print_line(report, "overshoot", plan->overshoot_bytes, rate_bps, why);
	if (plan->hold_bytes != 0) {
		(void)snprintf(why, sizeof(why),
			       "to restore the order of sprayed flows; %u frames, of %" PRIu64
			       " bytes together",
			       plan->hold_buffers, plan->hold_max_bytes);
		print_line(report, "hold", plan->hold_bytes, rate_bps, why);
	}
	if (plan->pair_count > 0)
		(void)snprintf(why, sizeof(why),
			       "lossy_max %.4g%% of what these leave; %u frames of the mean",
			       config->buffer.lossy_max_ppm / 1e4, plan->lossy_buffers);
	else
		(void)snprintf(why, sizeof(why), "all: there are no lossless classes");
	print_line(report, "lossy", plan->lossy_bytes, rate_bps, why);
	print_line(report, "shared (B)", plan->shared_bytes, rate_bps,
		   "among lossless pairs, by alpha");
	print_line(report, "pool", plan->pool_bytes, rate_bps,
		   "(buffers - guard) * mean frame + headroom");
	(void)fprintf(report->out, "\n");
}

static void print_levels(const struct report *report)
{
	const struct buffer_plan *plan = report->plan;
	char alpha[CHECK_TEXT_BYTES];

	if (plan->pair_count == 0)
		return;
	(void)fprintf(report->out, "%4s  %-16s %7s %12s %12s %12s %12s %10s\n", "PRIO",
		      "PAUSE LEVELS", "ALPHA", "ONE PAIR", "T: ALL ALIKE", "IN A ROW", "PAIRS",
		      "XON OFFSET");
	for (unsigned p = PRIORITY_COUNT; p-- > 0;) {
		const struct buffer_plan_class *class = &plan->class[p];

		if (!class->lossless)
			continue;
		(void)snprintf(alpha, sizeof(alpha), "%.6g", class->alpha_q8 / 256.0);
		(void)fprintf(report->out,
			      "%4u  %-16s %7s %12" PRIu64 " %12" PRIu64 " %12" PRIu64
			      " %12u %10u\n",
			      p, class->class->name, alpha, class->alone_bytes, class->equal_bytes,
			      class->floor_bytes, plan->pair_count, class->xon_offset_bytes);
	}
	(void)fprintf(
		report->out,
		"Shared bytes that a pair may hold before it is paused, n being the pairs: alone "
		"alpha*B/(1+alpha);\nT = alpha*B/(1+n*alpha), all congested alike; the last one "
		"after all others have filled up in a row\nalpha*B/(1+alpha)^n.\n\n");
}

/* Do two ports have the same figures? */
typedef bool same_function(const struct report *report, uint32_t a, uint32_t b, uint32_t priority);

static void make_groups(struct report *report, same_function *same, uint32_t priority)
{
	for (uint16_t i = 0; i < report->plan->port_count; i++) {
		report->group[i] = i;
		for (uint16_t j = 0; j < i; j++) {
			if (report->group[j] != j || !same(report, j, i, priority))
				continue;
			report->group[i] = j;
			break;
		}
	}
}

static bool same_headroom(const struct report *report, uint32_t a, uint32_t b, uint32_t priority)
{
	const struct buffer_plan_pair *x = buffer_plan_pair(report->plan, priority, a);
	const struct buffer_plan_pair *y = buffer_plan_pair(report->plan, priority, b);

	return rate_of(report, a) == rate_of(report, b) && x->lossless == y->lossless &&
	       x->headroom_bytes == y->headroom_bytes &&
	       memcmp(&x->headroom, &y->headroom, sizeof(x->headroom)) == 0 &&
	       ports_ring_frames(&report->config->ports[a]) ==
		       ports_ring_frames(&report->config->ports[b]) &&
	       report->config->ports[a].cable_mm == report->config->ports[b].cable_mm;
}

static const char *port_label(const struct report *report, uint16_t port, char *label, size_t size)
{
	char rate[CHECK_TEXT_BYTES], names[LABEL_BYTES];

	(void)snprintf(label, size, "%s: %s%s",
		       check_names_text(report->config, report->group, port, names, 72),
		       check_rate_text(rate_of(report, port), rate, sizeof(rate)),
		       report->config->ports[port].speed_bps == 0 ? " unless the device says else"
								  : "");
	return label;
}

/* A lossless priority, whose pairs have headrooms; all have the same. */
static uint32_t any_lossless(const struct buffer_plan *plan)
{
	uint32_t p = PRIORITY_COUNT - 1;

	while (p > 0 && !plan->class[p].lossless)
		p--;
	return p;
}

static void print_headroom(struct report *report)
{
	static const char *const columns[] = {"POLL",  "RUN-AHEAD", "OWN FRAME", "PAUSE",
					      "CABLE", "RESPONSE",  "PEER'S",    "ARRIVING",
					      "NIC",   "HEADROOM"};
	const uint32_t count = sizeof(columns) / sizeof(columns[0]);
	const uint32_t priority = any_lossless(report->plan);
	char label[2 * LABEL_BYTES];

	make_groups(report, same_headroom, priority);
	print_header("HEADROOM of each lossless class: what comes after the decision to pause",
		     columns, count, report->out);
	for (uint16_t i = 0; i < report->plan->port_count; i++) {
		const struct buffer_plan_pair *pair = buffer_plan_pair(report->plan, priority, i);
		const struct headroom *h = &pair->headroom;
		const uint64_t terms[] = {
			h->poll_bytes,  h->run_ahead_bytes,  h->own_frame_bytes,  h->pause_bytes,
			h->cable_bytes, h->response_bytes,   h->peer_frame_bytes, h->arriving_bytes,
			h->nic_bytes,   pair->headroom_bytes};

		if (report->group[i] != i)
			continue;
		(void)fprintf(report->out, "%s%s\n", port_label(report, i, label, sizeof(label)),
			      !pair->lossless ? ", trust none: nothing lossless comes in"
			      : pair->headroom_bytes == 0
				      ? ", sends no pauses: no headroom, may lose packets"
				      : "");
		if (!pair->lossless)
			continue;
		print_bytes(terms, count, report->out);
		print_times(terms, count, rate_of(report, i), report->out);
	}
	(void)fprintf(report->out, "\n");
}

/* How long until frames of this length have filled the ring. */
static const char *ring_time_text(const struct report *report, uint16_t port, uint32_t frame_bytes,
				  char *text, size_t size)
{
	uint64_t wire_bytes = (uint64_t)ports_ring_frames(&report->config->ports[port]) *
			      (frame_bytes + WIRE_OVERHEAD_BYTES);

	return check_bytes_time_text(wire_bytes, rate_of(report, port), text, size);
}

/* What can't be known before devices are open. */
static void print_ways(const struct config *config, FILE *out)
{
	bool hardware = false, open = false;

	for (uint16_t i = 0; i < config->port_count; i++) {
		hardware |= config->ports[i].pfc == CONFIG_PFC_HARDWARE;
		open |= config->ports[i].pfc == CONFIG_PFC_AUTO &&
			config->ports[i].driver == CONFIG_DRIVER_VFIO;
	}
	if (hardware)
		(void)fprintf(out, "Ports with pfc: hardware: the NIC obeys, within the standard's "
				   "limit.\n");
	if (open)
		(void)fprintf(
			out,
			"NICs with pfc: auto: decided at the start. Software, as above, where "
			"the NIC hands MAC control\nframes over; where it doesn't and can obey "
			"by priority itself, hardware, within the standard's limit.\n");
}

/* By the groups of print_headroom(). */
static void print_peers(const struct report *report)
{
	const uint32_t priority = any_lossless(report->plan);
	char name[LABEL_BYTES], text[7][CELL_BYTES];

	(void)fprintf(report->out, "%-31s %10s %10s %20s %6s %9s %8s %8s\n",
		      "THE OTHER DIRECTION, AND STALLS", "WE OBEY IN", "STANDARD",
		      "PEER MUST GRANT", "RING", "64 BYTES", "MEAN", "PAUSE");
	for (uint16_t i = 0; i < report->plan->port_count; i++) {
		const struct buffer_plan_pair *pair = buffer_plan_pair(report->plan, priority, i);
		const struct headroom *h = &pair->headroom;
		uint64_t rate_bps = rate_of(report, i);

		if (report->group[i] != i || !pair->lossless)
			continue;
		(void)fprintf(
			report->out, "%-31.31s %10s %10s %9" PRIu64 " %10s %6u %9s %8s %8s\n",
			check_names_text(report->config, report->group, i, name, 32),
			check_time_text(h->our_response_ps, text[0], CELL_BYTES),
			check_time_text(h->standard_response_ps, text[1], CELL_BYTES),
			h->granted_bytes,
			check_bytes_time_text(h->granted_bytes, rate_bps, text[2], CELL_BYTES),
			ports_ring_frames(&report->config->ports[i]),
			ring_time_text(report, i, FRAME_BYTES_MIN, text[3], CELL_BYTES),
			ring_time_text(report, i, pair->mean_bytes, text[4], CELL_BYTES),
			check_bytes_time_text(PAUSE_BYTES_MAX / 2, rate_bps, text[5], CELL_BYTES));
	}
	(void)fprintf(
		report->out,
		"WE OBEY IN: from a pause's arrival to our last frame but one; the standard's limit; "
		"the headroom that this\nneeds at the peer. A worker may stall without loss until "
		"the RING's frames have come, of 64 bytes or of the\nmean, or until a PAUSE of "
		"its peers (65535 quanta) that was about to be refreshed, at half, has run out;\na "
		"stall longer than those of MEAN or PAUSE is an event.\n");
	print_ways(report->config, report->out);
	(void)fprintf(report->out, "\n");
}

static bool same_thresholds(const struct report *report, uint32_t a, uint32_t b, uint32_t priority)
{
	const struct buffer_plan_pair *x = buffer_plan_pair(report->plan, priority, a);
	const struct buffer_plan_pair *y = buffer_plan_pair(report->plan, priority, b);
	const struct buffer_plan_queue *q = buffer_plan_queue(report->plan, priority, a);
	const struct buffer_plan_queue *r = buffer_plan_queue(report->plan, priority, b);

	return rate_of(report, a) == rate_of(report, b) && x->lossless == y->lossless &&
	       x->reserved_bytes == y->reserved_bytes && x->headroom_bytes == y->headroom_bytes &&
	       q->scaled == r->scaled && q->k == r->k &&
	       memcmp(&q->ecn_curve, &r->ecn_curve, sizeof(q->ecn_curve)) == 0;
}

static const char *curve_text(bool used, const struct config_curve *curve, char *text, size_t size)
{
	(void)snprintf(text, size, "-");
	if (used)
		(void)snprintf(text, size, "%.4g%%", curve->pmax_ppm / 1e4);
	return text;
}

static void print_threshold(const struct report *report, uint32_t p, uint16_t port)
{
	const struct buffer_plan_class *class = &report->plan->class[p];
	const struct buffer_plan_pair *pair = buffer_plan_pair(report->plan, p, port);
	const struct buffer_plan_queue *queue = buffer_plan_queue(report->plan, p, port);
	uint64_t xon_bytes = class->equal_bytes > class->xon_offset_bytes
				     ? class->equal_bytes - class->xon_offset_bytes
				     : 0;
	const uint64_t bytes[] = {
		pair->lossless ? pair->reserved_bytes : NONE,
		pair->lossless ? pair->headroom_bytes : NONE,
		pair->lossless ? pair->reserved_bytes + class->equal_bytes : NONE,
		!pair->lossless                    ? NONE
		: xon_bytes > pair->reserved_bytes ? xon_bytes
						   : pair->reserved_bytes,
		queue->ecn ? queue->ecn_curve.min_bytes : NONE,
		queue->ecn ? queue->ecn_curve.max_bytes : NONE,
		queue->wred ? queue->wred_curve.min_bytes : NONE,
		queue->wred ? queue->wred_curve.max_bytes : NONE,
	};
	char label[2 * LABEL_BYTES], pmax[CHECK_TEXT_BYTES], drop[CHECK_TEXT_BYTES],
		life[CHECK_TEXT_BYTES];

	(void)fprintf(report->out, "%u %s on %s; pmax %s", p, class->class->name,
		      port_label(report, port, label, sizeof(label)),
		      curve_text(queue->ecn, &queue->ecn_curve, pmax, sizeof(pmax)));
	if (queue->wred)
		(void)fprintf(report->out, ", of wred %s",
			      curve_text(true, &queue->wred_curve, drop, sizeof(drop)));
	if (queue->half_life_ps != 0)
		(void)fprintf(report->out, "; by the average, half-life %s",
			      check_time_text(queue->half_life_ps, life, sizeof(life)));
	if (queue->k != 0)
		(void)fprintf(report->out, "; k %" PRIu64, queue->k);
	(void)fprintf(report->out, "%s\n", queue->scaled ? "; scaled down" : "");
	print_bytes(bytes, sizeof(bytes) / sizeof(bytes[0]), report->out);
	print_times(bytes, sizeof(bytes) / sizeof(bytes[0]), rate_of(report, port), report->out);
}

static void print_thresholds(struct report *report)
{
	static const char *const columns[] = {"RESERVED", "HEADROOM", "XOFF",     "XON",
					      "KMIN",     "KMAX",     "WRED MIN", "WRED MAX"};

	print_header("THRESHOLDS; xoff and xon with all pairs congested alike; k: queues that one "
		     "sender may fill unmarked",
		     columns, sizeof(columns) / sizeof(columns[0]), report->out);
	for (unsigned p = PRIORITY_COUNT; p-- > 0;) {
		const struct config_class *class = report->plan->class[p].class;

		if (class == NULL ||
		    (!class->lossless && !class->wred && class->ecn == CONFIG_ECN_OFF))
			continue;
		make_groups(report, same_thresholds, p);
		for (uint16_t i = 0; i < report->plan->port_count; i++)
			if (report->group[i] == i)
				print_threshold(report, p, i);
	}
}

void check_print_buffer(const struct config *config, const struct apply_state *state,
			const struct buffer_plan *plan, FILE *out)
{
	struct report report = {
		.config = config,
		.state = state,
		.plan = plan,
		.group = calloc(plan->port_count, sizeof(*report.group)),
		.out = out,
	};

	if (report.group == NULL)
		return;
	print_guard(&report);
	print_pool(&report);
	print_levels(&report);
	if (plan->pair_count > 0) {
		print_headroom(&report);
		print_peers(&report);
	}
	print_thresholds(&report);
	free(report.group);
}
