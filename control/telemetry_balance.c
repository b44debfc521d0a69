/* SPDX-License-Identifier: BSD-3-Clause */
/* How routed traffic is spread over uplinks: flows, and what each uplink gets. Sampled: balance/sketch.h. */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>

#include "control/telemetry_tables.h"

#define PPM 1000000u

uint64_t telemetry_ppm(uint64_t part, uint64_t whole)
{
	return whole == 0 ? 0 : (uint64_t)((unsigned __int128)part * PPM / whole);
}

/* --- flows --- */

static void flow_address(struct telemetry_page *page, const struct sketch_key *key,
			 const uint8_t *address)
{
	char text[INET6_ADDRSTRLEN] = "-";

	inet_ntop(key->kind == KIND_IPV4 ? AF_INET : AF_INET6, address, text, sizeof(text));
	telemetry_page_text(page, text);
}

static void flow_protocol(struct telemetry_page *page, const struct sketch_key *key)
{
	char text[8];

	snprintf(text, sizeof(text), "%u", key->protocol);
	if (key->protocol == IP_PROTOCOL_TCP)
		snprintf(text, sizeof(text), "tcp");
	if (key->protocol == IP_PROTOCOL_UDP)
		snprintf(text, sizeof(text), key->roce != 0 ? "roce" : "udp");
	telemetry_page_text(page, text);
}

static void flow_row(struct telemetry_page *page, const struct config *config,
		     const struct sketch_flow *flow, uint64_t all_bytes)
{
	const struct config_class *class = telemetry_class_of(config, flow->key.priority);
	uint32_t ports = ntohl(flow->key.ports);

	flow_address(page, &flow->key, flow->key.source);
	telemetry_page_number(page, ports >> 16);
	flow_address(page, &flow->key, flow->key.destination);
	telemetry_page_number(page, ports & 0xffff);
	flow_protocol(page, &flow->key);
	telemetry_page_number(page, flow->key.qp);
	telemetry_page_number(page, flow->key.priority);
	telemetry_page_text(page, class == NULL ? "-" : class->name);
	telemetry_page_text(page, flow->egress == SKETCH_EGRESS_SEVERAL
					  ? "several"
					  : telemetry_port_name(config, flow->egress));
	telemetry_page_number(page, flow->bytes * 8);
	telemetry_page_number(page, flow->over_bytes * 8);
	telemetry_page_number(page, telemetry_ppm(flow->bytes, all_bytes));
}

uint64_t telemetry_flows(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	struct leaf_flows *flows = calloc(1, sizeof(*flows));
	uint64_t i, count;

	telemetry_page_column(page, "source", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "source_port", TELEMETRY_KEY);
	telemetry_page_column(page, "destination", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "destination_port", TELEMETRY_KEY);
	telemetry_page_column(page, "protocol", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "qp", TELEMETRY_KEY);
	telemetry_page_column(page, "priority", TELEMETRY_KEY);
	telemetry_page_column(page, "class", TELEMETRY_TEXT);
	telemetry_page_column(page, "port", TELEMETRY_TEXT);
	telemetry_page_column(page, "rate_bps", 0);
	telemetry_page_column(page, "over_bps", 0);
	telemetry_page_column(page, "share_ppm", 0);

	if (flows == NULL) {
		page->failed = true;
		return 0;
	}
	daemon_lock(daemon);
	leaf_flows(daemon_leaf(daemon), daemon_now_ps(daemon), flows, NULL);
	count = flows->count;
	for (i = cursor; i < count && telemetry_page_row(page); i++)
		flow_row(page, daemon_config(daemon), &flows->flow[i], flows->bytes);
	daemon_unlock(daemon);
	free(flows);
	return i < count ? i : 0;
}

/* --- uplinks --- */

/* Ports of groups of several members. */
static void find_uplinks(const struct snapshot *snapshot, struct telemetry_uplinks *uplinks)
{
	for (uint32_t g = 0; g < snapshot->group_count; g++) {
		const struct group *group = &snapshot->group[g];
		uint32_t count = group->balanced != 0 ? group->balanced : group->count;
		uint32_t first = group->balanced != 0 ? group->members : group->first;

		for (uint32_t i = first; count > 1 && i < first + count; i++) {
			const struct adjacency *member = &snapshot->adjacency[i];

			if (member->egress >= snapshot->port_count)
				continue;
			uplinks->is_uplink[member->egress] = true;
			if (member->weight > uplinks->weight[member->egress])
				uplinks->weight[member->egress] = member->weight;
		}
	}
	for (uint16_t port = 0; port < snapshot->port_count; port++)
		uplinks->weights += uplinks->weight[port];
}

int telemetry_uplinks_read(struct daemon *daemon, struct telemetry_uplinks *uplinks)
{
	struct leaf_flows *flows = calloc(1, sizeof(*flows));

	*uplinks = (struct telemetry_uplinks){0};
	if (flows == NULL)
		return -1;
	find_uplinks(daemon_snapshot(daemon), uplinks);
	leaf_flows(daemon_leaf(daemon), daemon_now_ps(daemon), flows, uplinks->bytes);
	uplinks->all_bytes = flows->bytes;
	free(flows);
	return 0;
}

static const char *state_of(const struct daemon *daemon, const struct snapshot *snapshot,
			    uint16_t port)
{
	struct daemon_port state = {0};

	if (daemon_port(daemon, port, &state) == 0 && state.damped)
		return "damped";
	if (!snapshot->port[port].link_up)
		return "down";
	return state.stalled ? "stalled" : "up";
}

uint64_t telemetry_balance(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	const struct snapshot *snapshot;
	struct telemetry_uplinks uplinks;
	uint64_t port = 0;
	bool full = false;

	telemetry_page_column(page, "port", TELEMETRY_TEXT | TELEMETRY_KEY);
	telemetry_page_column(page, "state", TELEMETRY_TEXT);
	telemetry_page_column(page, "speed_bps", 0);
	telemetry_page_column(page, "weight_ppm", 0);
	telemetry_page_column(page, "rate_bps", 0);
	telemetry_page_column(page, "share_ppm", 0);
	telemetry_page_column(page, "fair_ppm", 0);
	telemetry_page_column(page, "band", 0);
	telemetry_page_counter(page, "spread_bytes", "bytes");

	daemon_lock(daemon);
	snapshot = daemon_snapshot(daemon);
	if (telemetry_uplinks_read(daemon, &uplinks) != 0)
		page->failed = true;
	for (port = cursor; port < snapshot->port_count && !full; port++) {
		if (!uplinks.is_uplink[port])
			continue;
		full = !telemetry_page_row(page);
		if (full)
			break;
		telemetry_page_text(page,
				    telemetry_port_name(daemon_config(daemon), (uint16_t)port));
		telemetry_page_text(page, state_of(daemon, snapshot, (uint16_t)port));
		telemetry_page_number(page, snapshot->port[port].rate_bps);
		telemetry_page_number(page,
				      telemetry_ppm(uplinks.weight[port], BALANCE_WEIGHT_MAX));
		telemetry_page_number(page, uplinks.bytes[port] * 8);
		telemetry_page_number(page, telemetry_ppm(uplinks.bytes[port], uplinks.all_bytes));
		telemetry_page_number(page, telemetry_ppm(uplinks.weight[port], uplinks.weights));
		telemetry_page_number(page, leaf_quality_band(daemon_leaf(daemon), (uint16_t)port));
		telemetry_page_number(page, leaf_spread_bytes(daemon_leaf(daemon), (uint16_t)port));
	}
	daemon_unlock(daemon);
	return full ? port : 0;
}

/* The uplink that has most of what would be fair, in ppm: PPM when all have their share. 0: nothing flows. */
static uint64_t imbalance_ppm(const struct telemetry_uplinks *uplinks)
{
	uint64_t most_ppm = 0;

	for (uint32_t port = 0; port < PORT_COUNT_MAX; port++) {
		uint64_t ppm =
			telemetry_ppm(telemetry_ppm(uplinks->bytes[port], uplinks->all_bytes),
				      telemetry_ppm(uplinks->weight[port], uplinks->weights));

		if (ppm > most_ppm)
			most_ppm = ppm;
	}
	return most_ppm;
}

uint64_t telemetry_spread(struct telemetry_page *page, struct daemon *daemon, uint64_t cursor)
{
	struct balance_totals totals;
	struct spray_totals spray;
	struct telemetry_uplinks uplinks;
	uint64_t lost = 0;

	telemetry_page_column(page, "rate_bps", 0);
	telemetry_page_column(page, "imbalance_ppm", 0);
#define COLUMN_(field, unit, help) telemetry_page_counter(page, #field, unit);
	BALANCE_COUNTERS(COLUMN_)
#undef COLUMN_
	telemetry_page_column(page, "held_bytes", 0);
	telemetry_page_column(page, "held_bytes_max", 0);
	telemetry_page_counter(page, "restored", "packets");
	telemetry_page_counter(page, "late", "packets");
	telemetry_page_counter(page, "given_up", "packets");

	daemon_lock(daemon);
	if (telemetry_uplinks_read(daemon, &uplinks) != 0)
		page->failed = true;
	leaf_balance_totals(daemon_leaf(daemon), &totals);
	leaf_spray_totals(daemon_leaf(daemon), &spray);
	if (cursor == 0 && telemetry_page_row(page)) {
		telemetry_page_number(page, uplinks.all_bytes * 8);
		telemetry_page_number(page, imbalance_ppm(&uplinks));
#define CELL_(field, unit, help) telemetry_page_number(page, totals.field);
		BALANCE_COUNTERS(CELL_)
#undef CELL_
		telemetry_page_number(page, spray.held_bytes);
		telemetry_page_number(page, spray.held_bytes_max);
		telemetry_page_number(page, spray.restored);
		telemetry_page_number(page, spray.late);
		for (uint32_t i = 0; i < RESEQUENCER_REASON_COUNT; i++)
			lost += spray.lost[i];
		telemetry_page_number(page, lost);
	}
	daemon_unlock(daemon);
	return 0;
}
