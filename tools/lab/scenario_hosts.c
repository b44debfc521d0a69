/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Keys of hosts, and what they mean together.
 */
#include "tools/lab/scenario.h"

#include <inttypes.h>

#include "tools/lab/frame.h"
#include "tools/lab/host/receive_buffer.h"

static const struct schema_word preset_words[] = {
	{"nvidia", DCQCN_NVIDIA, "defaults of ConnectX NICs"},
	{"hpcc", DCQCN_HPCC, "the HPCC artifact's simulator; increases scale with the link"},
	{"paper", DCQCN_PAPER, "SIGCOMM 2015"},
	{0},
};

static const struct schema_word clamp_words[] = {
	{"after_increase", DCQCN_CLAMP_AFTER_INCREASE, "only if the rate rose since the last cut"},
	{"always", DCQCN_CLAMP_ALWAYS, "every time"},
	{0},
};

/* Ethernet header and tag of a frame. */
#define FRAME_LINK_BYTES 18

#define BY_PRESET .fallback_help = "the preset's"

static const struct schema_row dcqcn_rows[] = {
	{"preset", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_dcqcn, preset), .words = preset_words,
	 .fallback = "nvidia", .help = "All of the values below that aren't given."},
	{"g", SCHEMA_RATIO, SCHEMA_FIELD(struct scenario_dcqcn, g), .min = 1, .max = 1000000,
	 BY_PRESET, .help = "Gain of alpha: what one CNP weighs."},
	{"initial_alpha", SCHEMA_RATIO, SCHEMA_FIELD(struct scenario_dcqcn, initial_alpha),
	 .max = 1000000, BY_PRESET, .help = "Alpha at the first CNP."},
	{"alpha_timer", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_dcqcn, values.alpha_timer_ps),
	 .min = DCQCN_TIME_PS_MIN, .max = PS_PER_S, BY_PRESET,
	 .help = "Alpha sinks after each such time without a CNP."},
	{"cut_window", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_dcqcn, values.cut_window_ps),
	 SCHEMA_GIVEN(struct scenario_dcqcn, cut_window_given), .max = PS_PER_S, BY_PRESET,
	 .help = "Rates are cut at the end of each such time in which a CNP came; 0: at every CNP."},
	{"cnp_interval", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_dcqcn, values.cnp_interval_ps),
	 SCHEMA_GIVEN(struct scenario_dcqcn, cnp_interval_given), .max = PS_PER_S, BY_PRESET,
	 .help = "Receivers send at most one CNP per flow in this time; 0: one for each mark."},
	{"increase_timer", SCHEMA_TIME,
	 SCHEMA_FIELD(struct scenario_dcqcn, values.increase_timer_ps), .min = DCQCN_TIME_PS_MIN,
	 .max = PS_PER_S, BY_PRESET, .help = "Time between two increases."},
	{"byte_counter", SCHEMA_SIZE,
	 SCHEMA_FIELD(struct scenario_dcqcn, values.byte_counter_bytes),
	 SCHEMA_GIVEN(struct scenario_dcqcn, byte_counter_given), .max = UINT64_C(1) << 40,
	 BY_PRESET, .help = "Bytes sent between two increases; 0: the timer alone counts."},
	{"fast_recovery", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_dcqcn, values.fast_recovery),
	 .unit = "rounds", .min = 1, .max = 1000, BY_PRESET,
	 .help = "Increases towards the rate before the cut; further ones go beyond it."},
	{"additive", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_dcqcn, values.additive_bps),
	 .min = 1, .max = RATE_BPS_MAX, BY_PRESET,
	 .help = "Additive increase: a rate, or a share of the link's."},
	{"additive", SCHEMA_SHARE, SCHEMA_FIELD(struct scenario_dcqcn, values.additive_ppm),
	 .min = 1},
	{"hyper", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_dcqcn, values.hyper_bps), .min = 1,
	 .max = RATE_BPS_MAX, BY_PRESET, .help = "Hyper increase, likewise."},
	{"hyper", SCHEMA_SHARE, SCHEMA_FIELD(struct scenario_dcqcn, values.hyper_ppm), .min = 1},
	{"min_rate", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_dcqcn, values.min_rate_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, BY_PRESET, .help = "Cuts stop here."},
	{"clamp", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_dcqcn, values.clamp),
	 SCHEMA_GIVEN(struct scenario_dcqcn, clamp_given), .words = clamp_words, BY_PRESET,
	 .help = "When a cut makes the rate before it the target."},
	{0},
};

static void check_dcqcn(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_dcqcn *dcqcn = out;
	uint64_t window_ps = dcqcn->values.cut_window_ps;

	if (window_ps != 0 && window_ps < DCQCN_TIME_PS_MIN)
		schema_fail(document, schema_child(node, "cut_window"),
			    "cut_window %" PRIu64 " ps is shorter than %" PRIu64
			    " ns: 0 cuts at every CNP",
			    window_ps, DCQCN_TIME_PS_MIN / PS_PER_NS);
}

static const struct schema_table dcqcn_table = {
	"dcqcn",
	dcqcn_rows,
	.help = "Parameters of `cc: dcqcn`.",
	.check = check_dcqcn,
};

static const struct schema_row dctcp_rows[] = {
	{"g", SCHEMA_RATIO, SCHEMA_FIELD(struct scenario_dctcp, g), .min = 1, .max = 1000000,
	 .fallback = "1/16", .help = "Gain of alpha: what one window of packets weighs."},
	{0},
};

static const struct schema_table dctcp_table = {
	"dctcp",
	dctcp_rows,
	.help = "Parameters of `cc: dctcp`.",
};

#define CC_WORD_(upper, lower, help) {#lower, CC_##upper, help},
static const struct schema_word cc_words[] = {CC_ALGORITHMS(CC_WORD_){0}};

static const struct schema_word operation_words[] = {
	{"write", 0, "RDMA WRITE"},
	{"send", 1, "SEND"},
	{0},
};

static const struct schema_word cnp_words[] = {
	{"packet", 0, "by packets of their own, at most one per flow in dcqcn.cnp_interval"},
	{"ack", 1, "by a bit in the acknowledgement of what was marked, as some simulators do"},
	{0},
};

static const struct schema_word acks_words[] = {
	{"merged", 0, "one for all that came in the meantime, as NICs do"},
	{"apart", 1, "as many as were asked for"},
	{0},
};

static const struct schema_word pause_words[] = {
	{"timed", 0, "until their time is over: IEEE 802.1Qbb"},
	{"latched", 1, "until they are lifted, as in some simulators"},
	{0},
};

static const struct schema_row hosts_rows[] = {
	{"mtu", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_hosts, mtu_bytes), .min = 64,
	 .max = MTU_BYTES_MAX - FRAME_MTU_EXTRA_BYTES, .fallback = "4096",
	 .help = "RDMA MTU: payload of a packet at most. The ports' MTU is 104 bytes more."},
	{"cc", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_hosts, cc.kind), .words = cc_words,
	 .fallback = "none", .help = "Congestion control."},
	{"dcqcn", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_hosts, dcqcn), .table = &dcqcn_table,
	 .help = "Parameters of `cc: dcqcn`."},
	{"cnp_dscp", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_hosts, cnp_dscp), .max = 63,
	 .fallback = "48", .help = "DSCP of congestion notification packets."},
	{"dctcp", SCHEMA_MAP, SCHEMA_FIELD(struct scenario_hosts, dctcp), .table = &dctcp_table,
	 .help = "Parameters of `cc: dctcp`."},
	{"operation", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_hosts, transport.sends),
	 .words = operation_words, .fallback = "write", .help = "What messages are."},
	{"ack_every", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_hosts, transport.ack_every),
	 .unit = "packets", .max = 65536, .fallback = "4",
	 .help = "Packets of a message for one acknowledgement; its last one has one in any case. 0: "
		 "nothing is acknowledged, and what is lost is missing."},
	{"acks", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_hosts, transport.acks_apart),
	 .words = acks_words, .fallback = "merged",
	 .help = "What acknowledgements of a flow become that wait for the wire."},
	{"ack_timeout", SCHEMA_TIME, SCHEMA_FIELD(struct scenario_hosts, transport.timeout_ps),
	 .max = 60 * PS_PER_S, .fallback = "16777216ns",
	 .help = "Without progress for this time, and at most twice as long, a flow begins again with "
		 "its first packet that wasn't acknowledged; 0: never. NICs know 4.096 us * 2^n; the "
		 "default is n = 12."},
	{"ack_dscp", SCHEMA_UINT, SCHEMA_FIELD(struct scenario_hosts, transport.ack_dscp),
	 SCHEMA_GIVEN(struct scenario_hosts, transport.ack_dscp_given), .max = 63,
	 .fallback_help = "the data's", .help = "DSCP of acknowledgements."},
	{"window", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_hosts, transport.window_bytes),
	 .max = UINT64_C(1) << 40, .fallback = "0",
	 .help = "Bytes of a flow that may be outstanding; 0: any number."},
	{"cnp", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_hosts, transport.cnp_on_ack),
	 .words = cnp_words, .fallback = "packet",
	 .help = "How receivers tell of marks. `cc: dctcp` always hears of them by acknowledgements."},
	{"pauses", SCHEMA_ENUM, SCHEMA_FIELD(struct scenario_hosts, transport.pauses_latch),
	 .words = pause_words, .fallback = "timed", .help = "How long hosts obey pauses."},
	{"receive_buffer", SCHEMA_SIZE, SCHEMA_FIELD(struct scenario_hosts, receive_buffer_bytes),
	 .max = UINT64_C(1) << 34, .fallback = "0",
	 .help = "Bytes of frames of each priority that wait in a host to be taken at drain_rate; the "
		 "leaf is paused before it overflows. 0: hosts take everything at once."},
	{"receive_headroom", SCHEMA_SIZE,
	 SCHEMA_FIELD(struct scenario_hosts, receive_headroom_bytes),
	 SCHEMA_GIVEN(struct scenario_hosts, receive_headroom_given), .max = UINT64_C(1) << 34,
	 .fallback_help = "what can be under way",
	 .help = "Of that, what is left for frames that come though the leaf was paused."},
	{"drain_rate", SCHEMA_RATE, SCHEMA_FIELD(struct scenario_hosts, drain_rate_bps),
	 .min = RATE_BPS_MIN, .max = RATE_BPS_MAX, .fallback_help = "the link's",
	 .help = "Rate at which hosts take frames from their receive buffer, headers included."},
	{0},
};

static void check_hosts(struct schema_document *document, struct schema_node *node, void *out)
{
	const struct scenario_hosts *hosts = out;
	const struct transport_params *transport = &hosts->transport;
	bool hears = hosts->cc.kind == CC_DCTCP || transport->cnp_on_ack;

	if (transport->ack_every == 0 && hears)
		schema_fail(document, schema_child(node, "ack_every"),
			    "ack_every 0 leaves no acknowledgements: %s needs them",
			    transport->cnp_on_ack ? "cnp: ack" : "cc: dctcp");
	if (transport->ack_every == 0 && transport->window_bytes != 0)
		schema_fail(document, schema_child(node, "window"),
			    "window %" PRIu64 " bytes never opens again with ack_every 0",
			    transport->window_bytes);
	if (hosts->drain_rate_bps != 0 && hosts->receive_buffer_bytes == 0)
		schema_fail(document, schema_child(node, "drain_rate"),
			    "drain_rate says how fast a receive_buffer is emptied: give that too");
	if (hosts->receive_headroom_given &&
	    hosts->receive_headroom_bytes >= hosts->receive_buffer_bytes)
		schema_fail(document, schema_child(node, "receive_headroom"),
			    "receive_headroom %" PRIu64
			    " bytes leaves nothing of the receive_buffer, %" PRIu64 " bytes",
			    hosts->receive_headroom_bytes, hosts->receive_buffer_bytes);
}

const struct schema_table scenario_hosts_table = {
	"hosts",
	hosts_rows,
	.help = "All hosts.",
	.check = check_hosts,
};

static uint32_t ratio_q30(const struct schema_ratio *ratio)
{
	uint64_t scaled = (uint64_t)ratio->numerator * DCQCN_ONE_Q30;
	uint64_t value = (scaled + ratio->denominator / 2) / ratio->denominator;

	return value == 0 && ratio->numerator != 0 ? 1 : (uint32_t)value;
}

/* What was given stands; the rest is the preset's. */
static void complete_dcqcn(struct scenario_dcqcn *dcqcn, struct dcqcn_params *params)
{
	const struct dcqcn_params *given = &dcqcn->values;

	*params = *dcqcn_preset(dcqcn->preset);
	if (dcqcn->g.denominator != 0)
		params->gain_q30 = ratio_q30(&dcqcn->g);
	if (dcqcn->initial_alpha.denominator != 0)
		params->initial_alpha_q30 = ratio_q30(&dcqcn->initial_alpha);
	if (given->alpha_timer_ps != 0)
		params->alpha_timer_ps = given->alpha_timer_ps;
	if (dcqcn->cut_window_given)
		params->cut_window_ps = given->cut_window_ps;
	if (dcqcn->cnp_interval_given)
		params->cnp_interval_ps = given->cnp_interval_ps;
	if (given->increase_timer_ps != 0)
		params->increase_timer_ps = given->increase_timer_ps;
	if (dcqcn->byte_counter_given)
		params->byte_counter_bytes = given->byte_counter_bytes;
	if (given->fast_recovery != 0)
		params->fast_recovery = given->fast_recovery;
	if (given->additive_bps != 0 || given->additive_ppm != 0) {
		params->additive_bps = given->additive_bps;
		params->additive_ppm = given->additive_ppm;
	}
	if (given->hyper_bps != 0 || given->hyper_ppm != 0) {
		params->hyper_bps = given->hyper_bps;
		params->hyper_ppm = given->hyper_ppm;
	}
	if (given->min_rate_bps != 0)
		params->min_rate_bps = given->min_rate_bps;
	if (dcqcn->clamp_given)
		params->clamp = given->clamp;
}

/* Frames that can still come after the one that filled the buffer up to xoff, that one included. */
static uint64_t headroom_bytes(const struct scenario *scenario, const struct topology_link *link)
{
	/* A frame ahead of the pause, one that the leaf has begun, and the one that went beyond xoff. */
	uint64_t frames = 3 * (uint64_t)(scenario->hosts.mtu_bytes + FRAME_MTU_EXTRA_BYTES +
					 FRAME_LINK_BYTES);
	/* A leaf that polls sees the pause one poll late, when two more are in its transmit ring. */
	uint64_t time_ps = 2 * link->delay_ps + 3 * scenario->leaf.poll_ps;

	return frames + FRAME_BYTES_MIN + WIRE_OVERHEAD_BYTES +
	       (uint64_t)((unsigned __int128)time_ps * link->rate_bps / 8 / PS_PER_S);
}

void scenario_receive_buffer(const struct scenario *scenario, uint32_t host,
			     struct receive_buffer_params *params)
{
	const struct scenario_hosts *hosts = &scenario->hosts;
	const struct topology *topology = scenario->topology;
	const struct topology_link *link =
		&topology->links[topology->nodes[topology->hosts[host]].links[0]];
	uint64_t headroom = hosts->receive_headroom_given ? hosts->receive_headroom_bytes
							  : headroom_bytes(scenario, link);

	*params = (struct receive_buffer_params){
		.bytes = hosts->receive_buffer_bytes,
		.drain_bps = hosts->drain_rate_bps != 0 ? hosts->drain_rate_bps : link->rate_bps,
		.dscp_priority = hosts->dscp_priority,
	};
	if (headroom < params->bytes)
		params->xoff_bytes = params->bytes - headroom;
	params->xon_bytes = params->xoff_bytes / 2;
	for (uint32_t i = 0; i < scenario->leaf.config.class_count; i++)
		if (scenario->leaf.config.classes[i].lossless)
			params->lossless |=
				(uint8_t)(1u << scenario->leaf.config.classes[i].priority);
}

void scenario_check_hosts(const struct scenario *scenario, struct schema_document *document)
{
	for (uint32_t i = 0; i < scenario->topology->host_count; i++) {
		struct receive_buffer_params params;

		scenario_receive_buffer(scenario, i, &params);
		if (params.bytes == 0 || params.xoff_bytes != 0)
			continue;
		schema_fail(document, schema_at(document, "hosts.receive_buffer"),
			    "receive_buffer %" PRIu64
			    " bytes: more than that can be under way when host %s pauses its leaf",
			    params.bytes,
			    scenario->topology->nodes[scenario->topology->hosts[i]].name);
		return;
	}
}

void scenario_complete_hosts(struct scenario_hosts *hosts)
{
	complete_dcqcn(&hosts->dcqcn, &hosts->cc.dcqcn);
	hosts->cc.dctcp.gain_q30 = ratio_q30(&hosts->dctcp.g);
	if (hosts->cc.kind == CC_DCTCP)
		hosts->transport.cnp_on_ack = true;
}
