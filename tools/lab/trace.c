/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lab/trace.h"

#include <inttypes.h>
#include <stdlib.h>

#include <rte_mbuf.h>

#include "dataplane/packet.h"
#include "tools/lab/allocate.h"
#include "tools/lab/fabric.h"
#include "tools/lab/output.h"

/* ECN field (RFC 3168 section 5), and the kinds of an AETH's syndrome: 011 is a NAK (IBA 9.7.5.1). */
#define ECN_MASK            3
#define ECN_CE              3
#define SYNDROME_KIND(syn_) ((syn_) >> 5 & 3)
#define SYNDROME_NAK        3

struct trace_side {
	struct wire_tap tap;
	struct trace *trace;
};

struct trace {
	struct output output;
	struct fabric *fabric;
	/* A flow. */
	const struct flow *flow;
	struct trace_side *sides; /* of all wires */
	/* A queue. */
	struct switch_observer observer;
	struct switch_node *sender;
	uint16_t port;
	uint8_t priority;
	bool paused;
	struct queue_totals last;
};

static struct trace *trace_open(struct fabric *fabric, const char *path)
{
	struct trace *trace = allocate(sizeof(*trace));

	if (output_open(&trace->output, path) != 0) {
		free(trace);
		return NULL;
	}
	trace->fabric = fabric;
	return trace;
}

static uint64_t trace_time_ps(const struct trace *trace, uint64_t time_ps)
{
	return time_ps - trace->fabric->engine->start_ps;
}

/* --- a flow --- */

static const char *frame_word(const struct frame_view *view)
{
	if (view->opcode == FRAME_CNP)
		return "cnp";
	if (view->opcode != FRAME_ACK)
		return "data";
	return SYNDROME_KIND(view->syndrome) == SYNDROME_NAK ? "nak" : "ack";
}

static void trace_frame(struct wire_tap *tap, const struct wire *wire, struct rte_mbuf *packet,
			uint64_t start_ps, uint64_t arrival_ps)
{
	struct trace *trace = ((struct trace_side *)tap)->trace;
	const struct flow *flow = trace->flow;
	struct frame_view view;

	if (!frame_read(packet, &view) || view.queue_pair != FLOW_QUEUE_PAIR + flow->id)
		return;
	fprintf(trace->output.file,
		"%" PRIu64 ",%s,%s,%" PRIu32 ",%" PRIu32 ",%d,%" PRIu64 ",%" PRIu64 "\n",
		trace_time_ps(trace, start_ps), frame_word(&view), wire->name,
		packet_length(packet), view.psn, (view.tos & ECN_MASK) == ECN_CE,
		trace_time_ps(trace, arrival_ps),
		flow->cc != NULL ? flow->cc->rate_bps : flow->params.rate_bps);
}

struct trace *trace_open_flow(struct fabric *fabric, uint32_t flow, const char *path)
{
	uint32_t wires = 2 * fabric->scenario->topology->link_count;
	struct trace *trace = trace_open(fabric, path);

	if (trace == NULL)
		return NULL;
	trace->flow = &fabric->traffic.flows[flow];
	trace->sides = allocate(wires * sizeof(*trace->sides));
	for (uint32_t i = 0; i < wires; i++) {
		trace->sides[i] = (struct trace_side){{.frame = trace_frame}, trace};
		wire_listen(&fabric->wires[i], &trace->sides[i].tap);
	}
	fputs("time_ps,what,link,bytes,psn,ce,arrival_ps,rate_bps\n", trace->output.file);
	return trace;
}

/* --- a queue --- */

static void trace_row(struct trace *trace, uint64_t now_ps, const char *what, uint64_t amount,
		      uint64_t depth_bytes)
{
	fprintf(trace->output.file, "%" PRIu64 ",%s,%" PRIu64 ",%" PRIu64 "\n",
		trace_time_ps(trace, now_ps), what, amount, depth_bytes);
}

static void trace_step(struct switch_observer *observer, uint64_t now_ps)
{
	struct trace *trace = observer->context;
	const struct leaf *leaf = trace->sender->leaf;
	const struct queue_totals last = trace->last;
	struct queue_totals now;
	struct pfc_totals pfc;
	uint64_t sent, came;

	leaf_queue_totals(leaf, trace->port, trace->priority, &now);
	leaf_pfc_totals(leaf, trace->port, trace->priority, now_ps, &pfc);
	sent = now.tx_bytes - last.tx_bytes;
	came = now.depth_bytes + sent - last.depth_bytes;
	if (pfc.rx_paused != trace->paused)
		trace_row(trace, now_ps, pfc.rx_paused ? "pause" : "resume", 0, last.depth_bytes);
	if (came != 0 && came <= INT64_MAX)
		trace_row(trace, now_ps, "enqueue", came, last.depth_bytes + came);
	if (now.drop_bytes != last.drop_bytes)
		trace_row(trace, now_ps, "drop", now.drop_bytes - last.drop_bytes, now.depth_bytes);
	if (now.ecn_marked != last.ecn_marked)
		trace_row(trace, now_ps, "mark", now.ecn_marked - last.ecn_marked, now.depth_bytes);
	if (sent != 0)
		trace_row(trace, now_ps, "send", sent, now.depth_bytes);
	if (came > INT64_MAX)
		trace_row(trace, now_ps, "flush", 0 - came, now.depth_bytes);
	trace->last = now;
	trace->paused = pfc.rx_paused;
}

struct trace *trace_open_queue(struct fabric *fabric, uint32_t sender, uint16_t port,
			       uint8_t priority, const char *path)
{
	struct trace *trace = trace_open(fabric, path);

	if (trace == NULL)
		return NULL;
	trace->sender = fabric->switches[sender];
	trace->port = port;
	trace->priority = priority;
	trace->observer = (struct switch_observer){.step = trace_step, .context = trace};
	switch_observe(trace->sender, &trace->observer);
	fputs("time_ps,what,bytes,depth_bytes\n", trace->output.file);
	return trace;
}

int trace_close(struct trace *trace, bool keep)
{
	int result;

	if (trace == NULL)
		return 0;
	result = output_close(&trace->output, keep);
	free(trace->sides);
	free(trace);
	return result;
}
